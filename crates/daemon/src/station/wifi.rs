//! The Wi-Fi interface that a command is about.

use std::path::{Path, PathBuf};

use airwatt_linux::wireless::{Wireless, WirelessInterface};

use super::Interface;
use crate::failure::Failure;
use crate::settings::NAME_BYTES_MAX;

/// A Wi-Fi interface, and the names of the others.
pub(super) struct Found {
    pub(super) wireless: Wireless,
    pub(super) interface: WirelessInterface,
    pub(super) is_connected: bool,
    pub(super) others: Vec<String>,
}

/// Opens the kernel's Wi-Fi and finds the station that `options` names, or the first that is connected, or the first: the one that the
/// kernel has had for the longest time. A host whose only interface was served stays served when a second adapter is plugged in.
pub(super) fn find(options: &Interface) -> Result<Found, Failure> {
    let missing = |what: &str| {
        let named = options.interface.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        Failure::Missing(format!("{named}{what}"))
    };
    let mut wireless =
        Wireless::open()?.ok_or_else(|| missing("this kernel has no Wi-Fi (nl80211 is missing)"))?;
    let mut stations = stations(&mut wireless)?;
    let mut names: Vec<String> = stations.iter().map(|(interface, _)| interface.name.clone()).collect();
    let index = match &options.interface {
        _ if names.is_empty() => return Err(missing("there is no Wi-Fi interface here")),
        // They are in this order.
        None => 0,
        Some(name) => names.iter().position(|known| known == name).ok_or_else(|| {
            let known = names.join(" or ");
            if is_something_else(name) {
                Failure::Input(format!("--interface: expected {known}, got {name:?}"))
            } else {
                // It may be plugged in later, or become a station.
                let is_there = Path::new("/sys/class/net").join(name).exists();
                let why = if is_there {
                    "it is not in the mode of a station"
                } else {
                    "there is no such interface"
                };
                missing(&format!("{why}; hint: --interface {known}"))
            }
        })?,
    };
    names.remove(index);
    let (interface, is_connected) = stations.swap_remove(index);
    Ok(Found { wireless, interface, is_connected, others: names })
}

/// The stations, and whether each is connected: those that are first, and the kernel's oldest before the others.
fn stations(wireless: &mut Wireless) -> Result<Vec<(WirelessInterface, bool)>, airwatt_linux::Error> {
    let interfaces = wireless.interfaces()?.into_iter().filter(|interface| interface.is_station);
    let mut stations: Vec<_> = interfaces
        .map(|interface| {
            // One that goes meanwhile is not connected.
            let is_connected = wireless.association(interface.index).is_ok_and(|found| found.is_some());
            (interface, is_connected)
        })
        .collect();
    in_order(&mut stations);
    Ok(stations)
}

fn in_order(stations: &mut [(WirelessInterface, bool)]) {
    stations.sort_by_key(|(interface, is_connected)| (!is_connected, interface.index));
}

/// The name of the first station that is connected.
pub(super) fn connected(wireless: &mut Wireless) -> Result<Option<String>, airwatt_linux::Error> {
    let first = stations(wireless)?.into_iter().next();
    Ok(first.filter(|(_, is_connected)| *is_connected).map(|(interface, _)| interface.name))
}

/// Checks a name as the kernel does (`dev_valid_name`). It becomes a part of the names of files.
pub(super) fn name_of(text: &str) -> Result<String, String> {
    let is_odd = |byte: u8| b"/:".contains(&byte) || byte.is_ascii_whitespace();
    if (1..=NAME_BYTES_MAX).contains(&text.len()) && ![".", ".."].contains(&text) && !text.bytes().any(is_odd)
    {
        return Ok(text.to_owned());
    }
    Err(format!(
        "expected the name of a Wi-Fi interface, 1 to {NAME_BYTES_MAX} bytes without / and :, got {text:?}"
    ))
}

/// The name of the interface for commands that work after it has gone.
pub(super) fn named(options: &Interface) -> Result<String, Failure> {
    match &options.interface {
        Some(name) => Ok(name.clone()),
        None => find(options).map(|found| found.interface.name),
    }
}

/// The names of all Wi-Fi interfaces, the first first; the named one alone if `options` names one.
pub(super) fn all(options: &Interface) -> Result<Vec<String>, Failure> {
    if let Some(name) = &options.interface {
        return Ok(vec![name.clone()]);
    }
    find(options).map(|found| [vec![found.interface.name], found.others].concat())
}

/// Whether there is an interface of this name that is not Wi-Fi. One that is not there may be plugged in later.
pub(super) fn is_something_else(interface: &str) -> bool {
    let folder = Path::new("/sys/class/net").join(interface);
    folder.exists() && !folder.join("phy80211").exists()
}

/// The driver's name, as sysfs has it; `None` for an interface without a device.
pub(super) fn driver(interface: &str) -> Option<String> {
    let link = std::fs::read_link(format!("/sys/class/net/{interface}/device/driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// The folder of an interface in debugfs, where the kernel has `CONFIG_MAC80211_DEBUGFS`; `None` for an interface that is not Wi-Fi.
pub(super) fn debugfs(interface: &str) -> Option<PathBuf> {
    let phy = std::fs::read_link(format!("/sys/class/net/{interface}/phy80211")).ok()?;
    let folder = Path::new("/sys/kernel/debug/ieee80211").join(phy.file_name()?);
    Some(folder.join(format!("netdev:{interface}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_connected_comes_first() {
        let order = |connected: &[(u32, bool)]| {
            let mut stations: Vec<_> = connected
                .iter()
                .map(|&(index, is_connected)| {
                    let name = format!("wlan{index}");
                    let interface =
                        WirelessInterface { index, name, is_station: true, ssid: None, frequency_mhz: None };
                    (interface, is_connected)
                })
                .collect();
            in_order(&mut stations);
            stations.iter().map(|(interface, _)| interface.index).collect::<Vec<_>>()
        };
        assert_eq!(order(&[(5, false), (3, false)]), [3, 5]);
        assert_eq!(order(&[(3, false), (5, true)]), [5, 3]);
        assert_eq!(order(&[(7, true), (3, false), (5, true)]), [5, 7, 3]);
    }
}
