//! From a station's packets to the arrivals that the simulator replays.
//!
//! A downlink packet arrives at the access point, an uplink packet at the station's own queue, at its time in the
//! capture. Times differ if the capture was taken elsewhere: at a server, they are off by half a round trip of the wired
//! path, which changes when the radio spends energy but not how much. A TCP segment that acknowledges data waits for that
//! data, as the simulator's replay does. Arrival times count from the first packet of the capture's segment. A bundle that
//! was captured before segmentation (GSO) or after reassembly (GRO) is divided here into packets of at most [`MTU`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airwatt_base::{Instant, Seq, Span};
use airwatt_sim::replay::Arrival;

use crate::clock::Segment;
use crate::file::Capture;
use crate::flows::{Endpoint, endpoints};
use crate::packet::{Ip, Packet, TcpFields, Transport};
use crate::stations::{Direction, Station};

/// The largest IP packet of a replay in bytes: that of Ethernet.
pub const MTU: u32 = 1_500;

/// The headers that are repeated in each packet of a bundle, in bytes: IPv4 20, TCP 20, timestamps 12.
const BUNDLE_HEADERS: u32 = 52;

/// The arrivals of one segment of the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentArrivals {
    /// In order of time.
    pub arrivals: Vec<Arrival>,
    /// Time from the segment's first packet to its last, of any station: idle time at both ends counts.
    pub duration: Span,
}

/// The station's arrivals, segment by segment; 802.11 retransmissions are left out, since the replay makes its own.
pub fn arrivals(capture: &Capture, station: &Station) -> Vec<SegmentArrivals> {
    arrivals_without(capture, station, &BTreeSet::new())
}

/// The same without the packets of these numbers: the traffic if an application had not sent them.
pub fn arrivals_without(
    capture: &Capture,
    station: &Station,
    left_out: &BTreeSet<u32>,
) -> Vec<SegmentArrivals> {
    capture.segments.iter().map(|segment| segment_arrivals(capture, station, segment, left_out)).collect()
}

/// The number of arrivals of the station, without building them.
pub(crate) fn count_arrivals(capture: &Capture, station: &Station) -> u64 {
    let packets = capture.packets.iter().filter(|packet| !packet.repeated);
    let of_station = packets.filter(|packet| station.direction(capture, packet).is_some());
    of_station.filter_map(|packet| length(capture, packet)).map(|bytes| segments(bytes).count() as u64).sum()
}

/// Bytes of the IP packet, also of an encrypted one; `None` if there is nothing to send.
fn length(capture: &Capture, packet: &Packet) -> Option<u32> {
    let encrypted = || capture.frame(packet).map(|frame| frame.msdu_bytes);
    packet.ip.as_ref().map(|ip| ip.bytes).or_else(encrypted).filter(|bytes| *bytes > 0)
}

fn segment_arrivals(
    capture: &Capture,
    station: &Station,
    segment: &Segment,
    left_out: &BTreeSet<u32>,
) -> SegmentArrivals {
    let mut arrivals: Vec<Arrival> = Vec::new();
    let mut received: BTreeMap<(Endpoint, Endpoint), Unacknowledged> = BTreeMap::new();
    for packet in capture.packets[segment.first..segment.end].iter().filter(|packet| !packet.repeated) {
        if left_out.contains(&packet.number) {
            continue;
        }
        let Some(direction) = station.direction(capture, packet) else { continue };
        let Some(bytes) = length(capture, packet) else { continue };
        let at = Instant::ZERO + packet.at.saturating_since(segment.from);
        let down = direction == Direction::Down;
        let tcp = packet.ip.as_ref().and_then(|ip| Some((ip, tcp(ip)?)));
        let after = tcp.filter(|_| !down).and_then(|(ip, tcp)| {
            let (_, source, destination) = endpoints(ip);
            received.get_mut(&(destination, source))?.acknowledge(&tcp)
        });
        arrivals.extend(segments(bytes).map(|bytes| Arrival { at, down, bytes, after }));
        if let Some((ip, tcp)) = tcp.filter(|_| down) {
            let (_, source, destination) = endpoints(ip);
            let place = arrivals.len() as u64 - 1;
            received.entry((source, destination)).or_default().segment(&tcp, place);
        }
    }
    SegmentArrivals { arrivals, duration: segment.duration() }
}

/// The lengths of the packets that a bundle of `bytes` is divided into; one if it fits.
fn segments(bytes: u32) -> impl Iterator<Item = u32> {
    let mut rest = bytes;
    let mut first = true;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let headers = if first { 0 } else { BUNDLE_HEADERS };
        first = false;
        let payload = rest.min(MTU - headers);
        rest -= payload;
        Some(payload + headers)
    })
}

fn tcp(ip: &Ip) -> Option<TcpFields> {
    match ip.transport {
        Transport::Tcp(tcp) => Some(tcp),
        _ => None,
    }
}

/// The segments to the station on one connection that it has not acknowledged yet, and the last one that it has.
#[derive(Default)]
struct Unacknowledged {
    /// Endpoint in sequence space and place among the arrivals, in order of both.
    segments: VecDeque<(Seq, u64)>,
    last: Option<u64>,
}

impl Unacknowledged {
    fn segment(&mut self, tcp: &TcpFields, place: u64) {
        let end = tcp.sequence + tcp.sequence_length();
        let new = self.segments.back().is_none_or(|(highest, _)| end.after(*highest));
        if tcp.sequence_length() > 0 && new {
            self.segments.push_back((end, place));
        }
    }

    /// The arrival that the station must have received before it can send this acknowledgement.
    fn acknowledge(&mut self, tcp: &TcpFields) -> Option<u64> {
        if !tcp.has(TcpFields::ACK) {
            return None;
        }
        while let Some((end, place)) = self.segments.front() {
            if end.after(tcp.acknowledgement) {
                break;
            }
            self.last = Some(*place);
            self.segments.pop_front();
        }
        self.last
    }
}
