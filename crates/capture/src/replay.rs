//! From a station's packets to the arrivals that the simulator replays.
//!
//! A downlink packet arrives at the access point, an uplink packet at the station's own queue, at the time at which the
//! capture has it. A capture taken elsewhere has other times: at a server, half a round trip of the wired path is
//! missing on one side; that does not change what the radio spends, only when.

use airwatt_base::{Instant, Span};

use crate::clock::Segment;
use crate::file::Capture;
use crate::stations::{Direction, Station};

/// One packet as the replay needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, since the segment began.
    pub at: Instant,
    /// Towards the station.
    pub down: bool,
    /// IP bytes. A bundle that the kernel captured before cutting it is cut here, to packets of at most [`MTU`].
    pub bytes: u32,
}

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
    capture.segments.iter().map(|segment| segment_arrivals(capture, station, segment)).collect()
}

fn segment_arrivals(capture: &Capture, station: &Station, segment: &Segment) -> SegmentArrivals {
    let mut arrivals = Vec::new();
    for packet in capture.packets[segment.first..segment.end].iter().filter(|packet| !packet.repeated) {
        let Some(direction) = station.direction(capture, packet) else { continue };
        let hidden = || capture.frame(packet).map(|frame| frame.msdu_bytes);
        let Some(bytes) = packet.ip.as_ref().map(|ip| ip.bytes).or_else(hidden).filter(|bytes| *bytes > 0)
        else {
            continue;
        };
        let at = Instant::ZERO + packet.at.saturating_since(segment.from);
        let down = direction == Direction::Down;
        arrivals.extend(pieces(bytes).map(|bytes| Arrival { at, down, bytes }));
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
