//! The station whose radio is analysed: the candidates in a capture, and the one that it leaves no doubt about.
//!
//! A candidate is an IP or a MAC address. In an 802.11 capture the DS bits of the frames distinguish stations from access
//! points. Elsewhere the station is the one address that takes part in nearly all traffic; if there are two, the private
//! one, since access points translate addresses. If neither rule yields one address, the user has to choose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use airwatt_dot11::MacAddress;
use airwatt_sim::Direction;

use crate::capture::Capture;
use crate::decrypt::DecryptionReport;
use crate::error::CaptureError;
use crate::packet::{AirFrame, CapturedPacket};

/// The share of the bytes in percent that an address must take part in to be the station without doubt. The rest is room for
/// background traffic: name lookups of neighbours, discovery.
const CLEAR_PERCENT: u64 = 80;

/// The address of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Station {
    /// By IP address.
    Ip(IpAddr),
    /// By MAC address.
    Mac(MacAddress),
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Mac(address) => address.fmt(f),
        }
    }
}

/// An address that may be the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationCandidate {
    /// Its address.
    pub station: Station,
    /// Packets to and from it.
    pub packets: u64,
    /// Bytes that it sent: IP bytes for an IP address, bytes on the link for a MAC address.
    pub bytes_sent: u64,
    /// Bytes that were sent to it.
    pub bytes_received: u64,
}

impl StationCandidate {
    /// Bytes in both directions.
    pub const fn bytes(&self) -> u64 {
        self.bytes_sent + self.bytes_received
    }
}

impl Station {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, CaptureError> {
        let ip = text.parse().map(Self::Ip);
        ip.or_else(|_| text.parse().map(Self::Mac)).map_err(|_| CaptureError::StationText(text.to_owned()))
    }

    /// The direction of `packet` for this station; `None` if it is not the station's, or is an 802.11 frame without a body or
    /// not on the hop between station and access point. A group-addressed packet is the station's if the station sent it.
    pub fn direction(&self, capture: &Capture, packet: &CapturedPacket) -> Option<Direction> {
        let hop = match packet.frame {
            Some(_) => Some(capture.frame(packet)?),
            None => None,
        };
        if let Some(frame) = hop
            && !frame.control.kind.has_payload()
        {
            return None;
        }
        match (self, hop) {
            (Self::Mac(mac), Some(frame)) => air_direction(*mac, frame),
            (Self::Mac(mac), None) => {
                let (source, destination) = packet.macs?;
                pick(source == *mac, destination == *mac)
            }
            (Self::Ip(ip), hop) => {
                let found = packet.ip.as_ref()?;
                let direction = pick(found.source == *ip, found.destination == *ip)?;
                // Packets between two stations of one cell pass the access point: each is on the air twice.
                let right_hop = hop.is_none_or(|frame| match direction {
                    Direction::Up => !frame.control.from_ds,
                    Direction::Down => !frame.control.to_ds,
                });
                right_hop.then_some(direction)
            }
        }
    }
}

fn pick(up: bool, down: bool) -> Option<Direction> {
    match (up, down) {
        (true, false) => Some(Direction::Up),
        (false, true) => Some(Direction::Down),
        _ => None,
    }
}

fn air_direction(mac: MacAddress, frame: &AirFrame) -> Option<Direction> {
    let up = frame.transmitter == Some(mac) && !frame.control.from_ds;
    let down = frame.receiver == mac && !frame.control.to_ds;
    pick(up, down)
}

/// Whether an address translator may hide this address: private, shared, link-local or unique local (RFC 1918,
/// RFC 6598, RFC 3927, RFC 4193, RFC 4291 2.5.6).
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private() || v4.is_link_local() || (a == 100 && b & 0xc0 == 64)
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

fn is_one_host(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !ip.is_multicast() && !ip.is_unspecified() && !broadcast
}

/// All candidates, those with most bytes first; equal ones in order of address.
pub fn candidates(capture: &Capture) -> Vec<StationCandidate> {
    let mut ends = BTreeMap::new();
    let mut count = |station, bytes: u32, sent: bool| {
        let entry = ends.entry(station).or_insert(StationCandidate {
            station,
            packets: 0,
            bytes_sent: 0,
            bytes_received: 0,
        });
        entry.packets += 1;
        if sent {
            entry.bytes_sent += u64::from(bytes);
        } else {
            entry.bytes_received += u64::from(bytes);
        }
    };
    for packet in capture.packets.iter().filter(|packet| !packet.repeated) {
        let frame = capture.frame(packet);
        match frame {
            Some(frame) => {
                if let Some((mac, sent)) = station_of(frame) {
                    count(Station::Mac(mac), frame.msdu_bytes, sent);
                }
            }
            // Of 802.11 these are the further packets of an aggregate, which are counted with its frame.
            None if capture.is_air() => {}
            None => {
                let (source, destination) = packet.macs.unwrap_or_default();
                for (mac, sent) in [(source, true), (destination, false)] {
                    if !mac.is_group() && mac != MacAddress::default() {
                        count(Station::Mac(mac), packet.wire_bytes, sent);
                    }
                }
            }
        }
        if let Some(ip) = one_to_one(packet) {
            count(Station::Ip(ip.source), ip.bytes, true);
            count(Station::Ip(ip.destination), ip.bytes, false);
        }
    }
    let mut list: Vec<StationCandidate> = ends.into_values().collect();
    list.sort_by_key(|end| std::cmp::Reverse(end.bytes()));
    list
}

/// The packet's IP header, if it goes from one host to one host.
fn one_to_one(packet: &CapturedPacket) -> Option<&crate::packet::Ip> {
    let group = packet.macs.is_some_and(|(_, destination)| destination.is_group());
    packet.ip.as_ref().filter(|ip| !group && is_one_host(ip.source) && is_one_host(ip.destination))
}

/// The station (not access point) at one end of a data frame, and whether it sent it.
pub(crate) fn station_of(frame: &AirFrame) -> Option<(MacAddress, bool)> {
    if !frame.control.kind.is_data() {
        return None;
    }
    let (mac, sent) = match (frame.control.to_ds, frame.control.from_ds) {
        (true, false) => (frame.transmitter?, true),
        (false, true) => (frame.receiver, false),
        _ => return None,
    };
    let one_host = !mac.is_group() && mac != MacAddress::default();
    one_host.then_some((mac, sent))
}

/// The candidates to choose among: in an 802.11 capture each by its MAC address alone, since an IP address is that of the same
/// device or of a host behind the access point.
pub fn choices(capture: &Capture) -> Vec<StationCandidate> {
    let mut ends = candidates(capture);
    if capture.is_air() {
        ends.retain(|end| matches!(end.station, Station::Mac(_)));
    }
    ends
}

/// Every station of the capture, those with most bytes first: by MAC address in an 802.11 capture, otherwise the private IP
/// addresses, or all if there are none.
pub fn all(capture: &Capture) -> Vec<Station> {
    let of_kind = |end: &StationCandidate| matches!(end.station, Station::Mac(_)) == capture.is_air();
    let ends: Vec<Station> =
        candidates(capture).iter().filter(|end| of_kind(end)).map(|end| end.station).collect();
    let is_private = |station: &Station| matches!(station, Station::Ip(ip) if is_private(*ip));
    let private: Vec<Station> = ends.iter().copied().filter(is_private).collect();
    if private.is_empty() { ends } else { private }
}

/// The station that the user named.
pub fn named(capture: &Capture, text: &str) -> Result<Station, CaptureError> {
    let station = Station::parse(text)?;
    let ends = candidates(capture);
    if ends.iter().any(|end| end.station == station) {
        return Ok(station);
    }
    let candidates =
        ends.iter().take(3).map(|end| format!("{} ({} bytes)", end.station, end.bytes())).collect();
    let (file, station) = (capture.file.clone(), text.to_owned());
    let locked = capture.decryption.as_ref().and_then(DecryptionReport::locked);
    Err(CaptureError::NoStation { file, station, candidates, locked })
}

/// The one station that the capture leaves little doubt about: it has most of the bytes, or is alone.
pub fn clear(capture: &Capture) -> Option<Station> {
    if capture.is_air() {
        clear_on_air(capture)
    } else {
        clear_by_ip(capture).or_else(|| clear_by_mac(capture))
    }
}

/// The share of the capture's bytes that come from a station or go to it; 1 if there are none.
pub(crate) fn share(capture: &Capture, station: &Station) -> f64 {
    let ends = candidates(capture);
    let of_kind = ends.iter().filter(|end| match end.station {
        Station::Mac(_) => matches!(station, Station::Mac(_)),
        Station::Ip(_) => matches!(station, Station::Ip(_)),
    });
    // A packet of a wire has two ends.
    let ends_each = if capture.is_air() { 1.0 } else { 2.0 };
    let total = of_kind.map(StationCandidate::bytes).sum::<u64>() as f64 / ends_each;
    let own = ends.iter().find(|end| end.station == *station).map_or(0, StationCandidate::bytes) as f64;
    if total > 0.0 { (own / total).min(1.0) } else { 1.0 }
}

fn clear_on_air(capture: &Capture) -> Option<Station> {
    let ends = candidates(capture);
    let stations = || ends.iter().filter(|end| matches!(end.station, Station::Mac(_)));
    let total: u64 = stations().map(StationCandidate::bytes).sum();
    let busiest = stations().next()?;
    if stations().count() == 1 {
        return Some(busiest.station);
    }
    (total > 0 && busiest.bytes() * 100 >= total * CLEAR_PERCENT).then_some(busiest.station)
}

fn clear_by_ip(capture: &Capture) -> Option<Station> {
    let mut total = 0;
    let mut ends: BTreeMap<IpAddr, u64> = BTreeMap::new();
    for ip in capture.packets.iter().filter_map(one_to_one) {
        total += u64::from(ip.bytes);
        *ends.entry(ip.source).or_default() += u64::from(ip.bytes);
        *ends.entry(ip.destination).or_default() += u64::from(ip.bytes);
    }
    let in_nearly_all =
        ends.into_iter().filter(|(_, bytes)| *bytes * 100 >= total * CLEAR_PERCENT && *bytes > 0);
    let in_nearly_all: Vec<IpAddr> = in_nearly_all.map(|(ip, _)| ip).collect();
    match in_nearly_all[..] {
        [one] => Some(Station::Ip(one)),
        [a, b] if is_private(a) != is_private(b) => Some(Station::Ip(if is_private(a) { a } else { b })),
        _ => None,
    }
}

/// A host with addresses of both IP versions: its MAC address takes part in everything, as its router's does, but a
/// host sends from few addresses (one version 4, some version 6) and a router from many.
fn clear_by_mac(capture: &Capture) -> Option<Station> {
    const ADDRESSES_OF_A_HOST: usize = 4;
    let mut total = 0;
    let mut bytes: BTreeMap<MacAddress, u64> = BTreeMap::new();
    let mut sends_from: BTreeMap<MacAddress, BTreeSet<IpAddr>> = BTreeMap::new();
    for packet in &capture.packets {
        let (Some(ip), Some((source, destination))) = (one_to_one(packet), packet.macs) else { continue };
        total += u64::from(ip.bytes);
        for mac in [source, destination] {
            *bytes.entry(mac).or_default() += u64::from(ip.bytes);
        }
        sends_from.entry(source).or_default().insert(ip.source);
    }
    let mut hosts = bytes.into_iter().filter(|(mac, bytes)| {
        let few = sends_from.get(mac).is_some_and(|from| from.len() <= ADDRESSES_OF_A_HOST);
        few && *bytes * 100 >= total * CLEAR_PERCENT && *mac != MacAddress::default()
    });
    let (host, _) = hosts.next()?;
    hosts.next().is_none().then_some(Station::Mac(host))
}
