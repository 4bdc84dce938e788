//! Whether U-APSD triggers can be sent on an interface, and sending them.
//!
//! Three have to agree: the driver, the access point, which offers U-APSD in its beacons, and the station, which asks for it
//! when it associates. What it asks for is in debugfs, where the kernel has `CONFIG_MAC80211_DEBUGFS` (Debian's has not);
//! elsewhere the driver's name has to do.
//!
//! A trigger is an uplink frame in an access category with U-APSD (802.11-2020 11.2.3.5). It is sent to the access point with an
//! EtherType for local experiments, so that no host answers it.

use airwatt_linux::Error;
use airwatt_linux::packet_tap::FrameSender;
use airwatt_linux::wireless::{HardwareAddress, Wireless, WirelessAssociation, WirelessInterface};
use airwatt_proto::powersave::PowerSaveConfig;

use super::drivers::{self, Uapsd};
use super::wifi;
use crate::failure::Failure;

/// Bits of the access categories in `uapsd_queues`, each with a user priority of it: AC_VO, AC_VI, AC_BE, AC_BK. AC_VO is first,
/// since mac80211's power save stays awake after a frame of any other.
const CATEGORIES: [(u8, u8); 4] = [(1, 6), (1 << 1, 5), (1 << 3, 0), (1 << 2, 1)];
/// All of them.
const ALL_CATEGORIES: u8 = 15;
/// IEEE 802a: local experimental EtherType 1.
const ETHERTYPE: u16 = 0x88b5;

/// The state of triggers on an interface: possible, or the reason why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Triggers {
    /// In these access categories.
    Possible(u8),
    /// The driver has no U-APSD.
    NoDriver,
    /// The station did not ask for it.
    NotAsked,
    /// The access point does not offer it.
    NotOffered,
    /// The station is not associated.
    NotAssociated,
    /// Nothing says whether the station asks for it.
    Unknown,
}

impl Triggers {
    /// What is known of this interface. `association` is that with its present access point.
    pub(super) fn find(
        wireless: &mut Wireless,
        index: u32,
        name: &str,
        association: Option<&WirelessAssociation>,
    ) -> Self {
        let offered = association.and_then(|own| wireless.offers_uapsd(index, own.bssid).ok().flatten());
        let driver = wifi::driver(name).and_then(|driver| drivers::known(&driver)).map(|driver| driver.uapsd);
        Self::conclude(asked(name), driver, association.is_some(), offered)
    }

    fn conclude(asked: Option<u8>, driver: Option<Uapsd>, associated: bool, offered: Option<bool>) -> Self {
        let categories = match (asked, driver) {
            (Some(0), Some(Uapsd::None)) | (None, Some(Uapsd::None)) => return Self::NoDriver,
            (Some(0), _) => return Self::NotAsked,
            (Some(asked), _) => asked,
            (None, Some(Uapsd::On)) => ALL_CATEGORIES,
            (None, _) => return Self::Unknown,
        };
        match offered {
            _ if !associated => Self::NotAssociated,
            Some(false) => Self::NotOffered,
            _ => Self::Possible(categories),
        }
    }

    /// One line for the doctor, and what to do about it.
    pub(super) const fn text(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Possible(_) => ("possible: U-APSD is negotiated", Some("policy = \"ba-ta\" uses them")),
            Self::NoDriver => ("not possible: this driver has no U-APSD", None),
            Self::NotAsked => (
                "not possible: this interface did not ask for U-APSD (uapsd_queues is 0)",
                Some("echo 15 > uapsd_queues in debugfs (ieee80211/PHY/netdev:IF), then connect again"),
            ),
            Self::NotOffered => ("not possible: the access point does not offer U-APSD", None),
            Self::NotAssociated => ("not known: no access point", None),
            Self::Unknown => (
                "not known: the kernel does not say whether U-APSD is negotiated",
                Some("run it as root; the kernel needs CONFIG_MAC80211_DEBUGFS"),
            ),
        }
    }
}

/// Refuses a policy whose triggers cannot be sent on this interface. What an access point lacks that the interface is not
/// associated with is found out later, and then the guard takes its place.
pub(super) fn check(
    policy: &PowerSaveConfig,
    wireless: &mut Wireless,
    interface: &WirelessInterface,
    association: Option<&WirelessAssociation>,
) -> Result<(), Failure> {
    if !policy.needs_uapsd() {
        return Ok(());
    }
    match Triggers::find(wireless, interface.index, &interface.name, association) {
        Triggers::Possible(_) | Triggers::NotAssociated => Ok(()),
        other => Err(Failure::Missing(format!(
            "{}: the policy {} needs triggers, which are {}; hint: airwattd station doctor",
            interface.name,
            policy.name(),
            other.text().0
        ))),
    }
}

/// What the interface asks for, if this kernel and this user's rights show it.
fn asked(name: &str) -> Option<u8> {
    let text = std::fs::read_to_string(wifi::debugfs(name)?.join("uapsd_queues")).ok()?;
    u8::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// Sends short frames to the access point of an association: triggers, and what says that the station is awake.
#[derive(Debug)]
pub(super) struct ShortFrames {
    sender: FrameSender,
    access_point: HardwareAddress,
}

impl ShortFrames {
    /// Those that say that the station is awake.
    pub(super) fn announcing(index: u32, access_point: HardwareAddress) -> Result<Self, Error> {
        Self::new(index, access_point, ALL_CATEGORIES)
    }

    /// Triggers, in the best of these access categories.
    pub(super) fn new(index: u32, access_point: HardwareAddress, categories: u8) -> Result<Self, Error> {
        let priority =
            CATEGORIES.iter().find(|(bit, _)| categories & bit != 0).map_or(0, |(_, priority)| *priority);
        Ok(Self { sender: FrameSender::new(index, ETHERTYPE, priority)?, access_point })
    }

    /// Sends one.
    pub(super) fn send(&self) -> Result<(), Error> {
        self.sender.send(self.access_point.0, &[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let on = Some(Uapsd::On);
        for (asked, driver, associated, offered, expected) in [
            (Some(15), None, true, Some(true), Triggers::Possible(15)),
            (Some(1), Some(Uapsd::None), true, None, Triggers::Possible(1)),
            (None, on, true, Some(true), Triggers::Possible(15)),
            (None, on, true, Some(false), Triggers::NotOffered),
            (None, on, false, None, Triggers::NotAssociated),
            (Some(0), Some(Uapsd::OffByDefault), true, Some(true), Triggers::NotAsked),
            (None, Some(Uapsd::None), true, Some(true), Triggers::NoDriver),
            (Some(0), Some(Uapsd::None), false, None, Triggers::NoDriver),
            (None, Some(Uapsd::OffByDefault), true, Some(true), Triggers::Unknown),
            (None, None, true, Some(true), Triggers::Unknown),
        ] {
            assert_eq!(
                Triggers::conclude(asked, driver, associated, offered),
                expected,
                "{asked:?} {driver:?}"
            );
        }
    }
}
