//! Group-addressed packets: which protocol sends them, and what they cost a station that sleeps.
//!
//! An access point sends group-addressed frames after DTIM beacons, and each station of the cell that listens to these
//! receives all of them, whoever wants them. A packet to a group on Ethernet becomes one such frame, also one of the station itself,
//! which the access point relays to the whole cell. The cost of a frame to a
//! sleeping station is its time on the air at the power of receiving, and the wait before it at that of listening: the beacon
//! that precedes the frames is received anyway. The replays of policies have the same packets ([`crate::replay`]): this is
//! what they consist of, by the same law. The wait is that of the standard's PHY, whatever the frame's rate, and a frame whose 802.11
//! header is not captured has no encryption. Left out are collisions, filters of the access point, and its conversion of multicast to unicast.

use std::collections::BTreeMap;

use airwatt_base::{Rate, Span};
use airwatt_dot11::{Layout, MacAddress, Standard};
use airwatt_energy::Radio;
use airwatt_sim::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture::Capture;
use crate::clock;
use crate::packet::{CapturedPacket, GroupProtocol};
use crate::phy::beacon_layout;
use crate::power_save::{ModeSpan, Observations, Stays};
use crate::stations::Station;

/// The cost of group-addressed frames to a station that sleeps.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupReport {
    /// The rate at which they are sent, in words.
    pub rate: String,
    /// Time over which they were counted: the whole capture, or the time in which the station was in power save.
    pub elapsed_s: f64,
    /// The cost by protocol, the highest first.
    pub protocols: Vec<GroupCost>,
    /// All together.
    pub energy_j: f64,
    /// Energy over the time.
    pub average_power_w: f64,
}

/// The frames of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupCost {
    /// `arp`, `mdns`, `ssdp`, `llmnr`, `ipv6-nd`, `igmp-mld`, `dhcp`, `other-ip`, `other`, `encrypted`.
    pub protocol: &'static str,
    /// Frames.
    pub frames: u64,
    /// Their bytes on the air.
    pub bytes: u64,
    /// Their time on the air.
    pub air_s: f64,
    /// Their energy.
    pub energy_j: f64,
    /// That over the time.
    pub average_power_w: f64,
}

/// The sending of group-addressed frames where the capture does not say: the rate, and the mean wait for the medium.
#[derive(Clone, Copy, Debug)]
struct Sending {
    layout: Layout,
    wait: Span,
}

impl Sending {
    /// The wait is a DIFS and half the smallest contention window of the standard: 50 us and 15.5 slots of 20 us for 802.11b, else 28 or
    /// 34 us and 7.5 slots of 9 us, also of frames at a rate of 802.11b (802.11-2020 tables 16-4, 17-21 and 18-5).
    fn at(standard: Standard, rate: Rate) -> Self {
        let timing = standard.timing();
        let wait = timing.sifs + timing.slot * 2 + timing.slot * u64::from(timing.cw_min) / 2;
        Self { layout: beacon_layout(standard, rate), wait }
    }
}

/// MAC header, LLC and SNAP, and FCS of a frame, beyond the body of an Ethernet frame.
const MAC_BYTES: u32 = 24 + 8 + 4;
const ETHERNET_BYTES: u32 = 14;

/// The group-addressed frames of a capture, as a sleeping station receives them. `rate` is that of beacons where the capture
/// does not state a frame's own. `None` if there are none.
pub(crate) fn report(
    capture: &Capture,
    seen: &Observations,
    station: &Station,
    radio: &Radio,
    (standard, rate): (Standard, Rate),
) -> Option<GroupReport> {
    let sending = Sending::at(standard, rate);
    let spans = match station {
        Station::Mac(mac) => seen.modes.get(mac).filter(|_| capture.is_air()),
        Station::Ip(_) => None,
    };
    let groups = CellGroups::of(own_address(capture, station), seen);
    let asleep = |packet: &CapturedPacket| spans.is_none_or(|spans| is_asleep(spans, packet));
    let mut by_protocol: BTreeMap<GroupProtocol, (u64, u64, Span)> = BTreeMap::new();
    let mut stated = false;
    for packet in capture.packets.iter().filter(|packet| !packet.repeated) {
        let Some(protocol) = groups.protocol(capture, packet).filter(|_| asleep(packet)) else {
            continue;
        };
        let (bytes, air) = match capture.frame(packet) {
            Some(frame) => {
                let known = frame.air_time();
                stated |= known.is_some();
                (frame.air_bytes, known.unwrap_or_else(|| sending.layout.time(frame.air_bytes)))
            }
            None => {
                let bytes = msdu_bytes(capture, packet) + MAC_BYTES;
                (bytes, sending.layout.time(bytes))
            }
        };
        let entry = by_protocol.entry(protocol).or_default();
        entry.0 += 1;
        entry.1 += u64::from(bytes);
        entry.2 += air;
    }
    if by_protocol.is_empty() {
        return None;
    }
    let elapsed = spans.map_or_else(
        || clock::covered(capture),
        |spans| {
            spans
                .iter()
                .filter(|span| span.is_known && span.in_power_save)
                .map(|span| span.until.saturating_since(span.from))
                .sum()
        },
    );
    let elapsed_s = elapsed.as_secs_f64();
    let power = |energy_j: f64| if elapsed_s > 0.0 { energy_j / elapsed_s } else { 0.0 };
    let cost = |(protocol, (frames, bytes, air)): (GroupProtocol, (u64, u64, Span))| {
        let energy_j = (radio.receive * air + radio.listen * (sending.wait * frames)).as_joules();
        let (protocol, air_s) = (protocol.name(), air.as_secs_f64());
        GroupCost { protocol, frames, bytes, air_s, energy_j, average_power_w: power(energy_j) }
    };
    let mut protocols: Vec<GroupCost> = by_protocol.into_iter().map(cost).collect();
    protocols.sort_by(|a, b| b.energy_j.total_cmp(&a.energy_j));
    let energy_j = protocols.iter().map(|cost| cost.energy_j).sum();
    let rate = if stated { "as captured".to_owned() } else { format!("at {rate}, that of beacons") };
    Some(GroupReport { rate, elapsed_s, protocols, energy_j, average_power_w: power(energy_j) })
}

/// Whether the station was in power save at the time of a packet.
fn is_asleep(spans: &[ModeSpan], packet: &CapturedPacket) -> bool {
    let after = spans.partition_point(|span| span.from <= packet.at);
    let span = after.checked_sub(1).and_then(|at| spans.get(at));
    span.is_some_and(|span| span.is_known && span.in_power_save && packet.at <= span.until)
}

/// The group-addressed frames that the access point of a station sends to its cell.
#[derive(Clone, Debug)]
pub(crate) struct CellGroups {
    /// With which access points the station was; `None` if nothing shows one.
    stays: Option<Stays>,
}

impl CellGroups {
    /// The group-addressed frames of the cell of a station that sends with the address `own`.
    pub(crate) fn of(own: Option<MacAddress>, seen: &Observations) -> Self {
        let stays = own.map(|mac| seen.stays_of(mac)).filter(|stays| stays.at(0).is_some());
        Self { stays: stays.cloned() }
    }

    /// The protocol of a packet that the access point sends to all stations; `None` of any other packet.
    pub(crate) fn protocol(&self, capture: &Capture, packet: &CapturedPacket) -> Option<GroupProtocol> {
        let is_of_other_cell =
            capture.frame(packet).zip(self.stays.as_ref()).is_some_and(|(frame, stays)| {
                frame.bssid.is_none_or(|bssid| !stays.is_with(bssid, packet.number))
            });
        packet.group.filter(|_| !is_of_other_cell)
    }
}

/// The bytes of a packet above LLC.
pub(crate) fn msdu_bytes(capture: &Capture, packet: &CapturedPacket) -> u32 {
    let frame = capture.frame(packet).map(|frame| frame.msdu_bytes);
    frame.unwrap_or_else(|| packet.wire_bytes.saturating_sub(ETHERNET_BYTES))
}

/// The MAC address of a station: of one that is known by its IP address that from which most of its packets come.
pub(crate) fn own_address(capture: &Capture, station: &Station) -> Option<MacAddress> {
    if let Station::Mac(mac) = station {
        return Some(*mac);
    }
    let mut counts = BTreeMap::new();
    for packet in &capture.packets {
        if station.direction(capture, packet) == Some(Direction::Up)
            && let Some((source, _)) = packet.macs
        {
            *counts.entry(source).or_insert(0u64) += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(mac, _)| mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_by_their_headers() {
        let ipv4 = |protocol: u8, payload: &[u8]| {
            let mut bytes = vec![0; 20];
            (bytes[0], bytes[9]) = (0x45, protocol);
            bytes.extend_from_slice(payload);
            bytes
        };
        let udp = |port: u16| ipv4(17, &[&[0x30, 0x39][..], &port.to_be_bytes(), &[0; 4]].concat());
        let ipv6 = |next: u8, payload: &[u8]| {
            let mut bytes = vec![0; 40];
            bytes[6] = next;
            bytes.extend_from_slice(payload);
            bytes
        };
        for (port, protocol) in
            [(5353, "mdns"), (1900, "ssdp"), (5355, "llmnr"), (67, "dhcp"), (9, "other-ip")]
        {
            assert_eq!(GroupProtocol::of(0x0800, &udp(port)).name(), protocol);
        }
        assert_eq!(GroupProtocol::of(0x0806, &[]).name(), "arp");
        assert_eq!(GroupProtocol::of(0x0800, &ipv4(2, &[0x11])).name(), "igmp-mld");
        assert_eq!(GroupProtocol::of(0x86dd, &ipv6(58, &[135, 0])).name(), "ipv6-nd");
        assert_eq!(GroupProtocol::of(0x86dd, &ipv6(58, &[128, 0])).name(), "other-ip");
        // MLD has a hop-by-hop option.
        assert_eq!(
            GroupProtocol::of(0x86dd, &ipv6(0, &[58, 0, 5, 2, 0, 0, 0, 0, 143, 0])).name(),
            "igmp-mld"
        );
        assert_eq!(GroupProtocol::of(0x8100, &[0, 5, 0x08, 0x06, 0, 1]).name(), "arp");
        assert_eq!(GroupProtocol::of(0x88cc, &[]).name(), "other");
        assert_eq!(GroupProtocol::of(0x0800, &[0x4f]).name(), "other-ip", "cut short");
    }
}
