//! Answers of nl80211 as the kernel of a laptop gave them.

use airwatt_base::Span;

use super::{HardwareAddress, Wireless, association, interface};
use crate::netlink::attribute;

fn attributes(list: &[(u16, &[u8])]) -> Vec<(u16, Vec<u8>)> {
    list.iter().map(|(kind, value)| (*kind, value.to_vec())).collect()
}

fn bytes(list: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    list.iter().for_each(|(kind, value)| attribute::push(&mut bytes, *kind, value));
    bytes
}

#[test]
fn an_interface_is_read() {
    let number = 3_u32.to_ne_bytes();
    let found = interface(&attributes(&[
        (3, &number),
        (4, b"wlan0\0"),
        (5, &2_u32.to_ne_bytes()),
        (52, b"office"),
        (38, &2437_u32.to_ne_bytes()),
    ]))
    .unwrap();
    assert_eq!((found.index, found.name.as_str(), found.is_station), (3, "wlan0", true));
    assert_eq!((found.ssid.as_deref(), found.frequency_mhz), (Some("office"), Some(2437)));
    // A device for peer-to-peer has a number of its own and no name: it is not listed.
    assert_eq!(interface(&attributes(&[(3, &number)])), None);
}

#[test]
fn an_association_is_read() {
    let bss = bytes(&[(4, &[3]), (5, &100_u16.to_ne_bytes())]);
    let station = bytes(&[(7, &[0xc4]), (15, &bss), (18, &7_u32.to_ne_bytes())]);
    let found = association(&attributes(&[(6, &[2, 0, 0, 0, 0, 1]), (21, &station)])).unwrap();
    assert_eq!(found.bssid, HardwareAddress([2, 0, 0, 0, 0, 1]));
    assert_eq!(found.bssid.to_string(), "02:00:00:00:00:01");
    assert_eq!(found.signal_dbm, Some(-60));
    assert_eq!(found.beacon_interval, Some(Span::from_micros(102_400)));
    assert_eq!((found.dtim_period, found.beacon_losses), (Some(3), Some(7)));
}

#[test]
fn malformed_answers_are_none() {
    assert_eq!(association(&attributes(&[(6, &[2, 0]), (21, &[1])])), None);
    assert_eq!(association(&attributes(&[(21, &[0, 0, 0])])), None);
    let short = association(&attributes(&[(6, &[0; 6]), (21, &bytes(&[(7, &[]), (15, &[9])]))])).unwrap();
    assert_eq!((short.signal_dbm, short.beacon_interval), (None, None));
}

#[test]
fn a_kernel_without_wifi_is_no_error() {
    // Where there is Wi-Fi, its interfaces are listed; both are fine.
    if let Some(mut wireless) = Wireless::open().unwrap() {
        wireless.interfaces().unwrap();
    }
}
