//! From a station's packets to the arrivals that the simulator replays.
//!
//! A downlink packet arrives at the access point, an uplink packet at the station's own queue, at the time at which the
//! capture has it. A capture taken elsewhere has other times: at a server, half a round trip of the wired path is
//! missing on one side; that does not change what the radio spends, only when. A segment that
//! acknowledges data waits for it, as the simulator's replay does. Arrival times count from the segment's
//! first packet. A bundle that the kernel captured before cutting it is cut here, to packets of at most [`MTU`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airwatt_base::{Instant, Seq, Span};
use airwatt_sim::replay::Arrival;

use crate::clock::Segment;
use crate::file::Capture;
use crate::flows::{End, ends};
use crate::packet::{Ip, TcpFields, Transport};
use crate::stations::{Direction, Station};

/// The largest IP packet that a frame carries without fragmentation of the capture's doing: Ethernet's.
pub const MTU: u32 = 1_500;

/// The IP and TCP headers that each packet of a bundle has again: IPv4 20 bytes, TCP 20, time stamps 12.
const BUNDLE_HEADERS: u32 = 52;

/// The arrivals of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentArrivals {
    /// In order of time.
    pub arrivals: Vec<Arrival>,
    /// How long the segment lasted, first to last packet of the capture (not only of the station): idle time at both
    /// ends counts.
    pub duration: Span,
}

/// The station's arrivals, segment by segment; 802.11 retransmissions are left out, since the replay makes its own.
pub fn arrivals(capture: &Capture, station: &Station) -> Vec<SegmentArrivals> {
    arrivals_without(capture, station, &BTreeSet::new())
}

/// The same without the packets of these numbers: what would be left if an application had not sent them.
pub fn arrivals_without(
    capture: &Capture,
    station: &Station,
    left_out: &BTreeSet<u32>,
) -> Vec<SegmentArrivals> {
    capture.segments.iter().map(|segment| segment_arrivals(capture, station, segment, left_out)).collect()
}

fn segment_arrivals(
    capture: &Capture,
    station: &Station,
    segment: &Segment,
    left_out: &BTreeSet<u32>,
) -> SegmentArrivals {
    let mut arrivals: Vec<Arrival> = Vec::new();
    let mut received: BTreeMap<(End, End), Unacknowledged> = BTreeMap::new();
    for packet in capture.packets[segment.first..segment.end].iter().filter(|packet| !packet.repeated) {
        if left_out.contains(&packet.number) {
            continue;
        }
        let Some(direction) = station.direction(capture, packet) else { continue };
        let hidden = || capture.frame(packet).map(|frame| frame.msdu_bytes);
        let Some(bytes) = packet.ip.as_ref().map(|ip| ip.bytes).or_else(hidden).filter(|bytes| *bytes > 0)
        else {
            continue;
        };
        let at = Instant::ZERO + packet.at.saturating_since(segment.from);
        let down = direction == Direction::Down;
        let tcp = packet.ip.as_ref().and_then(|ip| Some((ip, tcp(ip)?)));
        let after = tcp.filter(|_| !down).and_then(|(ip, tcp)| {
            let (_, source, destination) = ends(ip);
            received.get_mut(&(destination, source))?.acknowledge(&tcp)
        });
        arrivals.extend(pieces(bytes).map(|bytes| Arrival { at, down, bytes, after }));
        if let Some((ip, tcp)) = tcp.filter(|_| down) {
            let (_, source, destination) = ends(ip);
            let place = arrivals.len() as u64 - 1;
            received.entry((source, destination)).or_default().segment(&tcp, place);
        }
    }
    SegmentArrivals { arrivals, duration: segment.duration() }
}

/// The packets that a bundle of `bytes` went out as; one if it fits.
fn pieces(bytes: u32) -> impl Iterator<Item = u32> {
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

/// Segments to the station on one connection that it has not acknowledged yet, and the last that it has.
#[derive(Default)]
struct Unacknowledged {
    /// Ends in sequence space and places among the arrivals, in order of both.
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

    /// The arrival that the station must have received to acknowledge so much.
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
