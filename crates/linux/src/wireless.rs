//! Wi-Fi interfaces of this network namespace, by the kernel's nl80211 (linux/nl80211.h): what they are, the access point
//! that a station is associated with, and the power-save setting.
//!
//! The setting is what the driver was told; whether the radio sleeps cannot be read. Left out: scans, keys, everything of an
//! access point's own, and the wireless extensions, by which alone the time-out of dynamic power save can be set.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use airwatt_base::Span;

use crate::Error;
use crate::netlink::attribute::{self, Attribute};
use crate::netlink::generic::{self, Answer, Events, Family, number, text, value};

// linux/nl80211.h: commands, attributes, and attributes of a station and of its BSS.
const NL80211_CMD_GET_INTERFACE: u8 = 5;
const NL80211_CMD_NEW_INTERFACE: u8 = 7;
const NL80211_CMD_DEL_INTERFACE: u8 = 8;
const NL80211_CMD_GET_STATION: u8 = 17;
const NL80211_CMD_GET_SCAN: u8 = 32;
const NL80211_CMD_TRIGGER_SCAN: u8 = 33;
const NL80211_CMD_CONNECT: u8 = 46;
const NL80211_CMD_ROAM: u8 = 47;
const NL80211_CMD_DISCONNECT: u8 = 48;
const NL80211_CMD_SET_POWER_SAVE: u8 = 61;
const NL80211_CMD_GET_POWER_SAVE: u8 = 62;
const NL80211_ATTR_IFINDEX: u16 = 3;
const NL80211_ATTR_IFNAME: u16 = 4;
const NL80211_ATTR_IFTYPE: u16 = 5;
const NL80211_ATTR_MAC: u16 = 6;
const NL80211_ATTR_STA_INFO: u16 = 21;
const NL80211_ATTR_WIPHY_FREQ: u16 = 38;
const NL80211_ATTR_BSS: u16 = 47;
const NL80211_ATTR_SSID: u16 = 52;
const NL80211_ATTR_PS_STATE: u16 = 93;
const NL80211_IFTYPE_STATION: u64 = 2;
const NL80211_STA_INFO_SIGNAL: u16 = 7;
const NL80211_STA_INFO_BSS_PARAM: u16 = 15;
const NL80211_STA_INFO_BEACON_LOSS: u16 = 18;
const NL80211_STA_BSS_PARAM_DTIM_PERIOD: u16 = 4;
const NL80211_STA_BSS_PARAM_BEACON_INTERVAL: u16 = 5;
const NL80211_BSS_BSSID: u16 = 1;
const NL80211_BSS_INFORMATION_ELEMENTS: u16 = 6;
/// A time unit of 802.11 in microseconds.
const TIME_UNIT_US: u64 = 1_024;

/// The kernel's interface to Wi-Fi.
#[derive(Debug)]
pub struct Wireless(Family);

/// An address of 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardwareAddress(pub [u8; 6]);

/// A Wi-Fi interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WirelessInterface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is a station of an infrastructure network (not an access point, a monitor, or a part of a mesh).
    pub is_station: bool,
    /// The name of its network, if it is in one.
    pub ssid: Option<String>,
    /// The centre of its channel in MHz.
    pub frequency_mhz: Option<u64>,
}

/// A station's association with its access point. What a driver does not report is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WirelessAssociation {
    /// Address of the access point.
    pub bssid: HardwareAddress,
    /// Strength of its signal.
    pub signal_dbm: Option<i8>,
    /// Time between its beacons.
    pub beacon_interval: Option<Span>,
    /// Each how manieth beacon is a DTIM.
    pub dtim_period: Option<u64>,
    /// Beacons that the driver missed.
    pub beacon_losses: Option<u64>,
}

/// Something that happened to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WirelessEvent {
    /// An interface was added or changed.
    Added,
    /// The interface with this number was removed.
    Removed(u32),
    /// The interface with this number was connected, has roamed, or was disconnected.
    Association(u32),
    /// The interface with this number scans.
    Scan(u32),
    /// Events were lost: anything may have happened.
    Lost,
}

/// Events of all Wi-Fi interfaces, as a source of an event loop.
#[derive(Debug)]
pub struct WirelessEvents(Events);

impl WirelessEvents {
    /// Returns what has happened, without waiting.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn read(&mut self) -> Result<Vec<WirelessEvent>, Error> {
        let Some(messages) = self.0.read()? else { return Ok(vec![WirelessEvent::Lost]) };
        Ok(messages.iter().filter_map(event).collect())
    }
}

impl AsFd for WirelessEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn event((command, attributes): &Answer) -> Option<WirelessEvent> {
    let index = number(attributes, NL80211_ATTR_IFINDEX).and_then(|index| u32::try_from(index).ok())?;
    match *command {
        NL80211_CMD_NEW_INTERFACE => Some(WirelessEvent::Added),
        NL80211_CMD_DEL_INTERFACE => Some(WirelessEvent::Removed(index)),
        NL80211_CMD_CONNECT | NL80211_CMD_ROAM | NL80211_CMD_DISCONNECT => {
            Some(WirelessEvent::Association(index))
        }
        NL80211_CMD_TRIGGER_SCAN => Some(WirelessEvent::Scan(index)),
        _ => None,
    }
}

impl Wireless {
    /// Opens it in the network namespace of this thread; `None` if this kernel has no Wi-Fi.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn open() -> Result<Option<Self>, Error> {
        Ok(Family::open("nl80211")?.map(Self))
    }

    /// Subscribes to events of all Wi-Fi interfaces.
    ///
    /// # Errors
    /// If the kernel gives no socket.
    pub fn events(&self) -> Result<WirelessEvents, Error> {
        self.0.events(&["config", "mlme", "scan"]).map(WirelessEvents)
    }

    /// Returns the Wi-Fi interfaces.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub fn interfaces(&mut self) -> Result<Vec<WirelessInterface>, Error> {
        let answers = self.0.list(NL80211_CMD_GET_INTERFACE, &[])?;
        Ok(answers.iter().filter_map(|(_, attributes)| interface(attributes)).collect())
    }

    /// Returns the association of a station; `None` if it has none.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn association(&mut self, index: u32) -> Result<Option<WirelessAssociation>, Error> {
        let answers = self.0.list(NL80211_CMD_GET_STATION, &[ifindex(index)])?;
        Ok(answers.first().and_then(|(_, attributes)| association(attributes)))
    }

    /// Whether an access point offers U-APSD, as its last beacon or probe response says; `None` if the kernel has none of it.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn offers_uapsd(&mut self, index: u32, bssid: HardwareAddress) -> Result<Option<bool>, Error> {
        let answers = self.0.list(NL80211_CMD_GET_SCAN, &[ifindex(index)])?;
        Ok(answers.iter().find_map(|(_, attributes)| {
            let bss = attribute::parse(value(attributes, NL80211_ATTR_BSS)?);
            let elements = value(&bss, NL80211_BSS_INFORMATION_ELEMENTS)?;
            (value(&bss, NL80211_BSS_BSSID)? == bssid.0).then(|| has_uapsd(elements))
        }))
    }

    /// Whether the driver was told to save power.
    ///
    /// # Errors
    /// If the driver has no power save, or there is no such interface.
    pub fn power_save(&mut self, index: u32) -> Result<bool, Error> {
        const WHAT: &str = "reading power save";
        let answers = self.0.command(WHAT, NL80211_CMD_GET_POWER_SAVE, &[ifindex(index)])?;
        let state = answers.iter().find_map(|(_, attributes)| number(attributes, NL80211_ATTR_PS_STATE));
        state.map(|state| state != 0).ok_or_else(|| Error::other(WHAT, "the kernel names no state"))
    }

    /// Tells the driver to save power, or not to. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// If the driver refuses, or the privilege is missing.
    pub fn set_power_save(&mut self, index: u32, on: bool) -> Result<(), Error> {
        let what = if on { "switching power save on" } else { "switching power save off" };
        let state = (NL80211_ATTR_PS_STATE, u32::from(on).to_ne_bytes().to_vec());
        self.0.command(what, NL80211_CMD_SET_POWER_SAVE, &[ifindex(index), state]).map(drop)
    }
}

/// Whether the elements of a beacon have a WMM element of an access point that offers U-APSD (802.11-2020 9.4.2.37 has its
/// successor; the element itself is vendor-specific: OUI 00:50:f2, type 2).
fn has_uapsd(mut elements: &[u8]) -> bool {
    const VENDOR_SPECIFIC: u8 = 221;
    const UAPSD: u8 = 1 << 7;
    while let [id, length, rest @ ..] = elements {
        let Some((contents, behind)) = rest.split_at_checked(usize::from(*length)) else { return false };
        if let (VENDOR_SPECIFIC, [0x00, 0x50, 0xf2, 2, 0 | 1, _, information, ..]) = (*id, contents) {
            return information & UAPSD != 0;
        }
        elements = behind;
    }
    false
}

fn ifindex(index: u32) -> Attribute {
    (NL80211_ATTR_IFINDEX, index.to_ne_bytes().to_vec())
}

fn interface(attributes: &[Attribute]) -> Option<WirelessInterface> {
    Some(WirelessInterface {
        index: u32::try_from(number(attributes, NL80211_ATTR_IFINDEX)?).ok()?,
        name: text(attributes, NL80211_ATTR_IFNAME)?,
        is_station: number(attributes, NL80211_ATTR_IFTYPE) == Some(NL80211_IFTYPE_STATION),
        ssid: value(attributes, NL80211_ATTR_SSID).map(|name| String::from_utf8_lossy(name).into_owned()),
        frequency_mhz: number(attributes, NL80211_ATTR_WIPHY_FREQ),
    })
}

fn association(attributes: &[Attribute]) -> Option<WirelessAssociation> {
    let station = attribute::parse(value(attributes, NL80211_ATTR_STA_INFO)?);
    let bss = value(&station, NL80211_STA_INFO_BSS_PARAM).map(attribute::parse).unwrap_or_default();
    Some(WirelessAssociation {
        bssid: HardwareAddress(value(attributes, NL80211_ATTR_MAC)?.try_into().ok()?),
        signal_dbm: value(&station, NL80211_STA_INFO_SIGNAL)
            .and_then(|bytes| bytes.first())
            .map(|byte| byte.cast_signed()),
        beacon_interval: number(&bss, NL80211_STA_BSS_PARAM_BEACON_INTERVAL)
            .map(|units| Span::from_micros(units * TIME_UNIT_US)),
        dtim_period: generic::number(&bss, NL80211_STA_BSS_PARAM_DTIM_PERIOD),
        beacon_losses: number(&station, NL80211_STA_INFO_BEACON_LOSS),
    })
}

impl fmt::Display for HardwareAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

#[cfg(test)]
mod tests;
