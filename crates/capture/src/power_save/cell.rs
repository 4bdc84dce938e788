//! The beacons and the group-addressed frames of one cell.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use super::Mark;
use super::finding::{Certainty, FindingKind, Findings, find};
use super::record::AirTotal;
use crate::packet::{AirFrame, Beacon, CapturedPacket};

/// A beacon that is transmitted this long after its target time is late. A busy channel delays beacons by some frames.
const LATE_BEACON: Span = Span::from_millis(10);
/// Beacons from which on their usual offset from the target time, and the share that was captured, are known well enough.
const ENOUGH_BEACONS: usize = 20;
/// The share of a cell's beacons in percent that a monitor must have captured for one that is missing to be reported.
const CAPTURED_PERCENT: u64 = 90;
/// More missing beacons in a row say that the monitor or the access point was away.
const MOST_MISSING: u64 = 10;

/// The beacons of one cell, in order of time, and the group-addressed frames since the last one.
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) marks: Vec<Mark>,
    /// The total up to each beacon, itself included.
    air: Vec<AirTotal>,
    /// By association identifier, the places in `marks` of the beacons that have its TIM bit set.
    tim: BTreeMap<u16, Vec<u32>>,
    /// The access point's clock at each beacon in microseconds.
    timestamps_us: Vec<u64>,
    /// The first beacon of the present segment, as a place in `marks`.
    segment_from: usize,
    /// Time between beacons, as the last one states it.
    interval: Span,
    /// DTIM count and period of the last beacon.
    dtim: Option<(u8, u8)>,
    /// A DTIM beacon that announced group-addressed frames, of which none has followed so far.
    group_announced: Option<Mark>,
    /// The last group-addressed frame since the last beacon: place, sequence control, and More Data.
    group_frame: Option<(Mark, Option<u16>, bool)>,
    /// Whether data frames of the access point were captured.
    has_data: bool,
}

impl Cell {
    /// Enters a beacon and compares it with the one before it.
    pub(super) fn beacon(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        beacon: &Beacon,
        findings: &mut Findings,
    ) {
        let mark = (packet.at, packet.number);
        let found = |kind| (kind, Certainty::Found, beacon.bssid);
        let interval = beacon.interval;
        let last = self.marks[self.segment_from..].last().copied();
        let is_next = last.is_some_and(|(at, _)| {
            let after = packet.at.saturating_since(at);
            after * 2 > interval && after * 2 < interval * 3
        });
        if let Some(announced) = self.group_announced.take().filter(|_| is_next && self.has_data) {
            let key = (FindingKind::GroupNotSent, Certainty::Possible, beacon.bssid);
            find(findings, key, announced, || {
                "a DTIM beacon announced group-addressed frames, and none was captured before the next beacon"
                    .to_owned()
            });
        }
        if beacon.is_tim_missing {
            find(findings, found(FindingKind::TimMissing), mark, || {
                "a beacon without a TIM element".to_owned()
            });
        }
        let restarted = self.timestamps_us.last().is_some_and(|last| *last > beacon.timestamp_us);
        if let (Some((count, period)), Some((before, same))) = (beacon.dtim, self.dtim.filter(|_| is_next))
            && period == same
            && !restarted
        {
            let expected = if before == 0 { period.saturating_sub(1) } else { before - 1 };
            if count != expected {
                find(findings, found(FindingKind::DtimSkipped), mark, || {
                    format!(
                        "DTIM count {count} after {before}, with a DTIM period of {period}: expected {expected}"
                    )
                });
            }
        }
        self.dtim = beacon.dtim;
        self.interval = interval;
        self.group_frame = None;
        let is_dtim = beacon.dtim.is_some_and(|(count, _)| count == 0);
        self.group_announced = Some(mark).filter(|_| is_dtim && beacon.group);
        self.log(mark, frame, beacon);
    }

    fn log(&mut self, mark: Mark, frame: &AirFrame, beacon: &Beacon) {
        let place = self.marks.len() as u32;
        let mut air = self.air.last().copied().unwrap_or_default();
        air.add(frame);
        self.marks.push(mark);
        self.air.push(air);
        self.timestamps_us.push(beacon.timestamp_us);
        for aid in &beacon.aids {
            self.tim.entry(*aid).or_default().push(place);
        }
    }

    /// Enters a frame of the access point that is no beacon. `sleeps` says whether a station of the cell is in power save.
    ///
    /// A group-addressed data frame then follows a DTIM beacon, and all but the last have the More Data bit.
    pub(super) fn frame(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        bssid: MacAddress,
        findings: &mut Findings,
        sleeps: impl FnOnce() -> bool,
    ) {
        let is_data = frame.control.kind.has_payload();
        self.has_data |= is_data;
        if !frame.receiver.is_group() {
            return;
        }
        self.group_announced = None;
        if !is_data || packet.repeated {
            return;
        }
        let mark = (packet.at, packet.number);
        let before = self.group_frame.replace((mark, frame.sequence_control, frame.control.more_data));
        let (Some((count, _)), Some((at, _))) = (self.dtim, self.marks.last()) else { return };
        let after = packet.at.saturating_since(*at);
        if after > self.interval || !sleeps() {
            return;
        }
        if count > 0 {
            // The machine that sends a frame captures it and the beacon when its driver hands them over or has them back,
            // which is not the order on the air.
            let (certainty, unknown) = if frame.sent_here {
                (
                    Certainty::Possible,
                    "; sent by the capturing machine, so that its time on the air is not known",
                )
            } else {
                (Certainty::Found, "")
            };
            find(findings, (FindingKind::GroupNotAfterDtim, certainty, bssid), mark, || {
                let after_ms = 1e3 * after.as_secs_f64();
                format!(
                    "{after_ms:.1} ms after a beacon with DTIM count {count}, while a station was in power save{unknown}"
                )
            });
        } else if let Some((last, sequence, false)) = before
            && sequence != frame.sequence_control
        {
            find(findings, (FindingKind::MoreDataMissing, Certainty::Found, bssid), last, || {
                format!(
                    "More Data was 0, and packet {} brought another group-addressed frame in the same beacon interval",
                    packet.number
                )
            });
        }
    }

    /// Ends a segment of the capture: what happens until the next one is not known.
    pub(super) fn end_segment(&mut self, bssid: MacAddress, findings: &mut Findings) {
        let from = std::mem::replace(&mut self.segment_from, self.marks.len());
        (self.dtim, self.group_announced, self.group_frame) = (None, None, None);
        if self.marks.len() - from < ENOUGH_BEACONS || self.interval.is_zero() {
            return;
        }
        self.find_late(from, bssid, findings);
        self.find_missing(from, bssid, findings);
    }

    /// Target times are multiples of the beacon interval by the access point's clock, up to an offset that access points
    /// with several cells have. The usual offset is the median.
    fn find_late(&self, from: usize, bssid: MacAddress, findings: &mut Findings) {
        let interval_us = (self.interval.as_nanos() / 1_000).max(1);
        let timestamps = &self.timestamps_us[from..];
        // Relative to the first beacon, so that offsets around zero do not wrap.
        let half = interval_us / 2;
        let relative =
            |timestamp: &u64| (timestamp.wrapping_sub(timestamps[0]).wrapping_add(half)) % interval_us;
        let mut sorted: Vec<u64> = timestamps.iter().map(relative).collect();
        sorted.sort_unstable();
        let usual = sorted[sorted.len() / 2];
        for (timestamp, mark) in timestamps.iter().zip(&self.marks[from..]) {
            let late = Span::from_micros(relative(timestamp).saturating_sub(usual));
            // A clock that was set is no late beacon.
            if late > LATE_BEACON && timestamp >= &timestamps[0] {
                let key = (FindingKind::BeaconLate, Certainty::Found, bssid);
                let finding = find(findings, key, *mark, || {
                    format!("transmitted {late} after its target time by the access point's clock")
                });
                finding.delay += late;
                finding.awake += late;
            }
        }
    }

    fn find_missing(&self, from: usize, bssid: MacAddress, findings: &mut Findings) {
        let marks = &self.marks[from..];
        let (first, last) = (marks[0].0, marks[marks.len() - 1].0);
        let expected = last.saturating_since(first).whole(self.interval) + 1;
        if marks.len() as u64 * 100 < expected * CAPTURED_PERCENT {
            return;
        }
        for pair in marks.windows(2) {
            let gap = pair[1].0.saturating_since(pair[0].0);
            let missing = (gap + self.interval / 2).whole(self.interval).saturating_sub(1);
            if (1..=MOST_MISSING).contains(&missing) {
                let key = (FindingKind::BeaconMissing, Certainty::Possible, bssid);
                let finding = find(findings, key, pair[1], || {
                    format!("no beacon was captured in the {gap} before this one: {missing} missing")
                });
                finding.delay += self.interval * missing;
            }
        }
    }

    /// Time on the air of the beacons from `from` on.
    pub(super) fn air_since(&self, from: usize) -> AirTotal {
        let before = from.checked_sub(1).map(|last| self.air[last]).unwrap_or_default();
        let all = self.air.last().copied().unwrap_or_default();
        AirTotal {
            span: all.span.saturating_sub(before.span),
            timed_frames: all.timed_frames - before.timed_frames,
            untimed_frames: all.untimed_frames - before.untimed_frames,
        }
    }

    /// The beacons after `since` and before `until` without the TIM bit of `aid`.
    pub(super) fn without_tim(&self, since: Instant, until: Instant, aid: u16) -> impl Iterator<Item = Mark> {
        let first = self.marks.partition_point(|(at, _)| *at <= since);
        let end = self.marks.partition_point(|(at, _)| *at < until);
        let set = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let range = first..end.max(first);
        range.filter(|place| set.binary_search(&(*place as u32)).is_err()).map(|place| self.marks[place])
    }

    /// The number of beacons from `from` on with the TIM bit of `aid`, and the first of them.
    pub(super) fn tim_since(&self, from: usize, aid: u16) -> (u32, Option<Mark>) {
        let places = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let set = &places[places.partition_point(|place| (*place as usize) < from)..];
        (set.len() as u32, set.first().map(|place| self.marks[*place as usize]))
    }
}
