//! Frames that a capture has twice: those of a second monitor whose capture was merged with that of a first.
//!
//! An access point stamps its beacons with its clock, so that two with one stamp and one number are the same. The time from one to the other
//! is that between the clocks of the monitors, by which the copies of other frames are found. The later ones are left out. A frame that one
//! monitor alone has received stays, as late as its clock has it.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};

use crate::capture::{Capture, Doubles};
use crate::packet::{AirFrame, CapturedPacket};

/// Beacons that have to be there twice, at least.
const LEAST: usize = 3;
/// The most that two monitors are apart.
const FARTHEST: Span = Span::from_secs(10);
/// How far the time between two copies may be off for a frame that has a number, and for one that has none.
const NUMBERED: Span = Span::from_millis(2);
const UNNUMBERED: Span = Span::from_micros(100);
/// Monitors of which the captures are told apart.
const MOST_MONITORS: usize = 4;

/// What is the same in two copies of a frame, and in no two numbered frames within seconds. A beacon has its stamp.
type Key = (FrameKind, [Option<MacAddress>; 2], [Option<u16>; 2], Option<u8>, (bool, u32, u64));

/// Leaves the copies of frames out.
pub(crate) fn leave_out(capture: &mut Capture) {
    for _ in 1..MOST_MONITORS {
        let Some(apart) = apart(capture) else { return };
        let copies = copies(capture, apart);
        let count = copies.iter().filter(|is_copy| **is_copy).count() as u32;
        if count == 0 {
            return;
        }
        remove(capture, &copies);
        capture.notes.doubles.get_or_insert(Doubles { frames: 0, apart }).frames += count;
    }
}

/// The usual time from a beacon to its copy, if enough have one.
fn apart(capture: &Capture) -> Option<Span> {
    let mut first: BTreeMap<Key, Instant> = BTreeMap::new();
    let mut apart: BTreeMap<Key, Span> = BTreeMap::new();
    for packet in &capture.packets {
        let beacon =
            capture.frame(packet).filter(|frame| frame.beacon.is_some() && frame.sequence_control.is_some());
        let Some(key) = beacon.map(|frame| key(capture, frame)).filter(|(.., (_, _, stamp))| *stamp > 0)
        else {
            continue;
        };
        let late = first.insert(key, packet.at).map(|before| packet.at.saturating_since(before));
        if let Some(late) = late.filter(|late| *late <= FARTHEST) {
            apart.entry(key).or_insert(late);
        }
    }
    let mut spans: Vec<Span> = apart.into_values().collect();
    spans.sort_unstable();
    (spans.len() >= LEAST).then(|| spans[spans.len() / 2])
}

fn key(capture: &Capture, frame: &AirFrame) -> Key {
    let stamp =
        frame.beacon.and_then(|at| capture.beacons.get(at as usize)).map_or(0, |one| one.timestamp_us);
    let ends = [Some(frame.receiver), frame.transmitter];
    let rest = (frame.control.retry, frame.air_bytes, stamp);
    (frame.control.kind, ends, [frame.sequence_control, frame.aid], frame.tid, rest)
}

/// Which of the packets are copies of one that came `apart` before.
fn copies(capture: &Capture, mut apart: Span) -> Vec<bool> {
    let mut waiting: BTreeMap<Key, VecDeque<Instant>> = BTreeMap::new();
    let is_copy = |packet: &CapturedPacket| {
        let Some(frame) = capture.frame(packet) else { return false };
        let near = if frame.sequence_control.is_some() { NUMBERED } else { UNNUMBERED };
        let of_key = waiting.entry(key(capture, frame)).or_default();
        let late = |at: &Instant| packet.at.saturating_since(*at);
        while of_key.front().is_some_and(|at| late(at) > apart + near) {
            of_key.pop_front();
        }
        let found = of_key.iter().position(|at| late(at) >= apart.saturating_sub(near) && *at <= packet.at);
        let Some(original) = found.and_then(|place| of_key.remove(place)) else {
            of_key.push_back(packet.at);
            return false;
        };
        if frame.sequence_control.is_some() {
            // Two clocks drift apart.
            apart = packet.at.saturating_since(original);
        }
        true
    };
    capture.packets.iter().map(is_copy).collect()
}

/// Takes packets out of the capture, and their beacons out of what is counted of networks.
fn remove(capture: &mut Capture, copies: &[bool]) {
    for (packet, _) in capture.packets.iter().zip(copies).filter(|(_, is_copy)| **is_copy) {
        let Some(frame) = packet.frame.and_then(|index| capture.frames.get(index as usize)) else { continue };
        let beacon = frame.beacon.and_then(|at| capture.beacons.get(at as usize));
        if let Some(network) = beacon.and_then(|beacon| capture.networks.get_mut(&beacon.bssid)) {
            network.beacons = network.beacons.saturating_sub(1);
            network.beacon_bytes = network.beacon_bytes.saturating_sub(frame.air_bytes.into());
        }
    }
    let mut left = 0;
    for segment in &mut capture.segments {
        let of_segment = copies[segment.first..segment.end].iter();
        segment.first = left;
        left += of_segment.filter(|is_copy| !**is_copy).count();
        segment.end = left;
    }
    let mut places = copies.iter();
    capture.packets.retain(|_| places.next().is_none_or(|is_copy| !is_copy));
    for segment in &mut capture.segments {
        if let Some(last) = segment.end.checked_sub(1).and_then(|last| capture.packets.get(last)) {
            segment.until = last.at;
        }
    }
}
