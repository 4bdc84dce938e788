//! The clock of a capture, which may jump: it was set, or files were concatenated.
//!
//! If it jumps ahead by more than [`GAP_LIMIT`], or back by more than [`REORDER_LIMIT`], nothing is known of the time in
//! between: the capture is divided into segments, and idle power is never integrated between two of them. Beacons have the
//! clock of their access point, which shows smaller jumps: those of more than [`JUMP_LIMIT`]. Within a
//! segment packets are sorted by time, since captures of several interfaces are slightly out of order.

use std::collections::{BTreeMap, BTreeSet};

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use crate::capture::{Capture, ClockStep, SteadyPart};
use crate::packet::{Beacon, CapturedPacket};

/// A longer silence is a gap in the capture rather than idle time. A quiet connection sends TCP keep-alives every two
/// hours (RFC 9293 3.8.4), and a device on standby may be quiet for days; a week of silence is more often a clock that
/// was set, or files that were concatenated.
pub const GAP_LIMIT: Span = Span::from_secs(7 * 24 * 3_600);

/// A packet that is late by at most this much was delivered late to the capture; a larger jump back is a clock that was
/// set.
pub const REORDER_LIMIT: Span = Span::from_secs(1);

/// Time by which the distance of two beacons may differ from what their access point's clock says. More is a jump: crystals are right
/// to 0.01 % (802.11-2020 17.3.9.5), and packets are late by milliseconds.
pub const JUMP_LIMIT: Span = Span::from_millis(100);

/// Time by which a silence may be shorter than the jump in it: the other frames around it have come late, or the clock drifts.
const LATENESS: Span = Span::from_millis(10);

/// Beacons further apart show no jump: there, a clock that is wrong by little adds up.
const NEAR: Span = Span::from_secs(1);

/// The beacon that a packet is, if it arrived undamaged.
fn beacon_of<'a>(capture: &'a Capture, packet: &CapturedPacket) -> Option<&'a Beacon> {
    let frame = capture.frames.get(packet.frame? as usize).filter(|frame| !frame.damaged)?;
    capture.beacons.get(frame.beacon? as usize)
}

/// The indices of the packets before which the clock jumped, by the clocks of access points. Ahead: the longest silence between
/// two beacons, if it has room for what they are too far apart. Back: where time between two beacons that are too near runs backwards
/// the most, or least forwards.
fn jumps_by_beacons(capture: &Capture) -> BTreeSet<usize> {
    let mut last: BTreeMap<MacAddress, (usize, u64)> = BTreeMap::new();
    let mut jumps = BTreeSet::new();
    for (index, packet) in capture.packets.iter().enumerate() {
        let Some(beacon) = beacon_of(capture, packet) else { continue };
        let Some((before, timestamp_us)) = last.insert(beacon.bssid, (index, beacon.timestamp_us)) else {
            continue;
        };
        // It stands still in frames that a driver wrote, and begins anew with the access point.
        let own_us = beacon.timestamp_us.checked_sub(timestamp_us).filter(|own_us| *own_us > 0);
        let Some(own) = own_us.filter(|own_us| *own_us <= NEAR.as_nanos() / 1_000).map(Span::from_micros)
        else {
            continue;
        };
        let earlier = capture.packets[before].at;
        let excess = packet.at.saturating_since(earlier).saturating_sub(own);
        let silence = |at: &usize| capture.packets[*at].at.saturating_since(capture.packets[*at - 1].at);
        let back = |at: &usize| capture.packets[*at - 1].at.saturating_since(capture.packets[*at].at);
        if (earlier + own).saturating_since(packet.at) > JUMP_LIMIT {
            jumps.extend((before + 1..=index).max_by_key(|at| (back(at), std::cmp::Reverse(silence(at)))));
        } else if excess > JUMP_LIMIT
            && let Some(longest) = (before + 1..=index).max_by_key(silence)
            && silence(&longest) + LATENESS >= excess
        {
            jumps.insert(longest);
        }
    }
    jumps
}

/// A beacon by the clocks of the capture and of its access point.
struct Heard {
    packet: u32,
    at_ns: i128,
    own_us: u64,
}

impl Heard {
    /// By how much the capture's clock went ahead of the access point's until a later beacon, in nanoseconds; `None` if that is too far away
    /// to tell, or its clock stood still or began anew.
    fn ahead_ns(&self, later: &Self) -> Option<i128> {
        let own_us = later.own_us.checked_sub(self.own_us).filter(|own_us| *own_us > 0)?;
        let is_near = own_us <= 2 * NEAR.as_nanos() / 1_000;
        is_near.then(|| later.at_ns - self.at_ns - 1_000 * i128::from(own_us))
    }
}

/// The step between the second and the third of four beacons. A beacon that was delivered late alone is none: the one before it or after it
/// is on time.
fn step_of(beacons: &[Heard]) -> Option<ClockStep> {
    let [before, last, next, after] = beacons else { return None };
    let (least, most) = (i128::from(LATENESS.as_nanos()), i128::from(JUMP_LIMIT.as_nanos()));
    let was_steady = before.ahead_ns(last)?.abs() < least / 2;
    let size_ns = last.ahead_ns(next)?;
    let stays = (size_ns - last.ahead_ns(after)?).abs() < least / 2;
    let is_step = was_steady && stays && (least + 1..=most).contains(&size_ns.abs());
    is_step.then(|| ClockStep { packet: next.packet, size: Span::from_nanos(size_ns.unsigned_abs() as u64) })
}

/// The steps of more than [`LATENESS`] and no more than [`JUMP_LIMIT`] that the beacons of one access point show: of that which shows the
/// most.
fn steps(capture: &Capture) -> Vec<ClockStep> {
    let mut heard: BTreeMap<MacAddress, Vec<Heard>> = BTreeMap::new();
    for packet in &capture.packets {
        let Some(beacon) = beacon_of(capture, packet) else { continue };
        let at_ns = i128::from(packet.at.as_nanos());
        let heard = heard.entry(beacon.bssid).or_default();
        heard.push(Heard { packet: packet.number, at_ns, own_us: beacon.timestamp_us });
    }
    let of = |beacons: &Vec<Heard>| beacons.windows(4).filter_map(step_of).collect::<Vec<_>>();
    heard.values().map(of).max_by_key(Vec::len).unwrap_or_default()
}

/// Divides the capture into segments, sorts each, and lets times count from the earliest packet.
pub(crate) fn divide(capture: &mut Capture) {
    let Some(earliest) = capture.packets.iter().map(|p| p.at).min() else { return };
    capture.start_unix_ns = earliest.as_nanos();
    for packet in &mut capture.packets {
        packet.at = Instant::ZERO + packet.at.saturating_since(earliest);
    }
    let mut latest = capture.packets[0].at;
    let mut bounds = vec![0];
    let jumps = jumps_by_beacons(capture);
    for (index, packet) in capture.packets.iter().enumerate() {
        let jump = packet.at.saturating_since(latest) > GAP_LIMIT
            || latest.saturating_since(packet.at) > REORDER_LIMIT
            || jumps.contains(&index);
        if jump {
            bounds.push(index);
            latest = packet.at;
        } else if packet.at < latest {
            capture.notes.out_of_order += 1;
        }
        latest = latest.max(packet.at);
    }
    bounds.push(capture.packets.len());
    for pair in bounds.windows(2) {
        let packets = &mut capture.packets[pair[0]..pair[1]];
        // The sort is stable: packets of one instant keep the order of the file.
        packets.sort_by_key(|packet| packet.at);
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else { continue };
        capture.segments.push(SteadyPart { first: pair[0], end: pair[1], from: first.at, until: last.at });
    }
    capture.notes.steps = steps(capture);
}

/// Marks 802.11 retransmissions of a frame that is in the capture: the sender, traffic identifier and sequence control of
/// the frame before, with the retry bit (802.11-2020 10.3.2.14).
pub(crate) fn mark_repeated(capture: &mut Capture) {
    let mut last = BTreeMap::new();
    for packet in &mut capture.packets {
        let Some(frame) = packet.frame.and_then(|index| capture.frames.get(index as usize)) else { continue };
        let (Some(transmitter), Some(sequence)) = (frame.transmitter, frame.sequence_control) else {
            continue;
        };
        if !frame.damaged {
            let before = last.insert((transmitter, frame.tid), sequence);
            packet.repeated = frame.control.retry && before == Some(sequence);
        }
    }
}

/// The time that the capture covers: its segments' durations together.
pub fn covered(capture: &Capture) -> Span {
    let spans = capture.segments.iter().map(SteadyPart::duration);
    spans.fold(Span::ZERO, Span::saturating_add)
}
