//! The clock of a capture, which may jump: it was set, or files were concatenated.
//!
//! If it jumps ahead by more than [`GAP_LIMIT`], or back by more than [`REORDER_LIMIT`], nothing is known of the time in
//! between: the capture is divided into segments, and idle power is never integrated between two of them. Within a
//! segment packets are sorted by time, since captures of several interfaces are slightly out of order.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};

use crate::capture::{Capture, SteadyPart};

/// A longer silence is a gap in the capture rather than idle time. A quiet connection sends TCP keep-alives every two
/// hours (RFC 9293 3.8.4), and a device on standby may be quiet for days; a week of silence is more often a clock that
/// was set, or files that were concatenated.
pub const GAP_LIMIT: Span = Span::from_secs(7 * 24 * 3_600);

/// A packet that is late by at most this much was delivered late to the capture; a larger jump back is a clock that was
/// set.
pub const REORDER_LIMIT: Span = Span::from_secs(1);

/// Divides the capture into segments, sorts each, and lets times count from the earliest packet.
pub(crate) fn divide(capture: &mut Capture) {
    let Some(earliest) = capture.packets.iter().map(|p| p.at).min() else { return };
    capture.start_unix_ns = earliest.as_nanos();
    for packet in &mut capture.packets {
        packet.at = Instant::ZERO + packet.at.saturating_since(earliest);
    }
    let mut latest = capture.packets[0].at;
    let mut bounds = vec![0];
    for (index, packet) in capture.packets.iter().enumerate() {
        let jump = packet.at.saturating_since(latest) > GAP_LIMIT
            || latest.saturating_since(packet.at) > REORDER_LIMIT;
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
