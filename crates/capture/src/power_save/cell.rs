//! The beacons and the group-addressed frames of one cell.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Not, Range};

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};

use super::finding::{Excess, FindingKind, Findings, LateBeacon, Verdict, find, seconds};
use super::record::AirTotal;
use super::sequence::{Counter, Numbers, Sequences};
use super::targets::{LATE_BEACON, Targets};
use super::{ENOUGH_BEACONS, Mark, PROMPT};
use crate::packet::{AirFrame, Beacon, CapturedPacket};

/// The group address of frames that are sent again for groups with a retry policy (GCR, 802.11-2020 11.21.16.3): also between DTIM beacons, for
/// stations that have agreed on that.
pub(crate) const GCR_CONCEALMENT: MacAddress = MacAddress([0x01, 0x0f, 0xac, 0x47, 0x43, 0x52]);
/// By this much the clocks of the capture and of an access point may differ between two beacons.
const UNSTEADY: Span = Span::from_millis(10);
/// The share of a cell's beacons in percent that a monitor must have captured for one that is missing to be reported.
const CAPTURED_PERCENT: u64 = 90;
/// Beacons that are late by the same time show that the access point's clock was set.
const SAME_DELAY: Span = Span::from_millis(1);
/// More missing beacons in a row say that the monitor or the access point was away.
const MOST_MISSING: u64 = 10;

/// Why an access point that sent nothing may keep the rules.
pub(super) const NOT_FREE: &str =
    "the access point may have waited for the channel, which was in use, reserved, to be quiet or to be left";

/// A capture of beacons alone says nothing about the frames between them.
const NO_DATA: &str = "no data of the access point had been captured, so that the monitor may capture none";

/// The beacons of one cell, in order of time, and the group-addressed frames since the last one.
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) marks: Vec<Mark>,
    /// The total up to each beacon, itself included.
    air: Vec<AirTotal>,
    /// By association identifier, the places in `marks` of the beacons that have its TIM bit set.
    tim: BTreeMap<u16, Vec<u32>>,
    /// The places of the beacons whose TIM was not captured, as behind a short snap length.
    unknown: Vec<u32>,
    /// Whether nothing was missed between each beacon and the one before, by their sequence numbers.
    follows: Vec<bool>,
    /// Whether the numbers up to the last beacon showed that beacons and other frames have one counter.
    is_shared: bool,
    /// How long after its target time each beacon was transmitted.
    late_by: Vec<Span>,
    /// The access point's clock at each beacon in microseconds.
    timestamps_us: Vec<u64>,
    /// The first beacon of the present segment, as a place in `marks`.
    segment_from: usize,
    /// The first beacon since the beacon interval last changed, likewise.
    steady_from: usize,
    /// Time between beacons, as the last one states it.
    pub(super) interval: Span,
    /// DTIM count and period of the last beacon.
    dtim: Option<(u8, u8)>,
    /// The count that the last beacon should have had, if it had another one.
    due_count: Option<u8>,
    /// A DTIM beacon that announced group-addressed frames, of which none has followed so far.
    group_announced: Option<Mark>,
    /// The last group-addressed frame since the last beacon: place, sequence control, and More Data.
    group_frame: Option<(Mark, Option<u16>, bool)>,
    /// Whether the last group-addressed frame before the last beacon announced another one, which may follow that beacon.
    group_goes_on: bool,
    /// Whether the last beacon announced group-addressed frames, itself a DTIM beacon or after one that did.
    is_group_announced: bool,
    /// Whether data frames of the access point were captured.
    has_data: bool,
    /// Whether the access point has several links (802.11be).
    pub(super) is_multi_link: bool,
    /// The first beacon after its clock went back, in the present segment.
    pub(super) restarted_at: Option<Instant>,
    /// Whether its access point answers requests for target wake time.
    pub(super) is_twt_responder: bool,
    /// Whether its beacons announce broadcast target wake times.
    pub(super) has_broadcast_twt: bool,
    /// Whether its access point may serve stations by U-APSD: its beacons announce that, or their elements were not captured.
    pub(super) may_have_uapsd: bool,
    /// When its beacons were due.
    pub(super) targets: Targets,
    /// The numbers of its frames.
    pub(super) sequences: Sequences,
    /// The numbers of all of them in the present segment, also of those to come.
    pub(super) numbers: Numbers,
    /// When a station last acknowledged a frame of the access point that was not captured.
    pub(super) unseen: Option<Instant>,
    /// The stations that had a frame since all of them were deauthenticated at once.
    pub(super) members: BTreeSet<MacAddress>,
    /// Group-addressed frames that no sleeping station would have received. Whether one slept is known later.
    pub(super) doubts: Vec<Doubt>,
}

/// A group-addressed frame that violates a rule if a station of the cell was in power save.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    pub(super) kind: FindingKind,
    pub(super) mark: Mark,
    /// The packets that decide it, but for those of the sleeping station.
    pub(super) deciding: Vec<u32>,
    /// What leaves it undecidable, if anything does.
    pub(super) unknown: Option<&'static str>,
    pub(super) detail: String,
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
        let verdict = |is_violated| if is_violated { Verdict::Violated } else { Verdict::Kept };
        let interval = beacon.interval;
        if self.timestamps_us.last().is_some_and(|before| *before > beacon.timestamp_us) {
            self.restarted_at = Some(packet.at);
        }
        if interval != self.interval {
            self.judge_times(beacon.bssid, findings);
        }
        let due = packet.at.saturating_sub(self.targets.late_by(beacon));
        findings.pauses.beacon(packet.at, due, beacon);
        let last = self.marks[self.segment_from..].last().copied();
        let is_one = |after: Span| after > interval / 2 && after < interval + interval / 2;
        let after = last.map(|(at, _)| packet.at.saturating_since(at));
        let by_clock = after.and_then(|_| self.clock_since_last(beacon));
        // From target time to target time: a beacon may be late by most of an interval.
        let late_before = self.late_by.last().copied().unwrap_or_default();
        let is_one = |after: Span| is_one((after + late_before).saturating_sub(self.targets.late_by(beacon)));
        // A monitor that stands still shows a beacon late, and one that it misses then leaves no gap: both clocks have to say it.
        let is_next = after.is_some_and(is_one) && by_clock.is_none_or(is_one);
        if after.zip(by_clock).is_some_and(|(after, by_clock)| after.abs_diff(by_clock) > UNSTEADY) {
            let since_last =
                self.doubts.iter_mut().filter(|doubt| last.is_some_and(|last| doubt.mark > last));
            for doubt in since_last {
                doubt
                    .unknown
                    .get_or_insert("the clocks of the capture and the access point do not agree around it");
            }
        }
        if let Some(announced) = self.group_announced.take().filter(|_| is_next) {
            let missed_none =
                self.sequences.nothing_missed_since(beacon.bssid).is_some_and(|since| since <= announced.0);
            let free = findings.pauses.between(Some(beacon.bssid), announced.0, packet.at);
            let is_busy = free <= PROMPT.min(packet.at.saturating_since(announced.0) / 2);
            let (verdict, why) = match missed_none {
                _ if !self.has_data => (Verdict::Undecidable, NO_DATA),
                false => (Verdict::Undecidable, "the monitor may have missed them"),
                true if is_busy => (Verdict::Undecidable, NOT_FREE),
                true => (Verdict::Violated, "the sequence numbers of both beacons leave no room for one"),
            };
            let key = (FindingKind::GroupNotSent, verdict, beacon.bssid);
            let found = find(findings, key, announced, &[announced.1, packet.number], || {
                format!(
                    "a DTIM beacon announced group-addressed frames, and none was captured up to the beacon of packet {}: {why}",
                    packet.number
                )
            });
            // Stations listen for them until the next beacon at most.
            if let Some(finding) = found {
                finding.cost(Excess::awake(mark.0.saturating_since(announced.0)));
            }
        }
        if beacon.dtim.is_some() || beacon.is_tim_missing {
            let key = (FindingKind::TimMissing, verdict(beacon.is_tim_missing), beacon.bssid);
            find(findings, key, mark, &[], || "a beacon without a TIM element that can be read".to_owned());
        }
        self.check_dtim((mark, last.filter(|_| is_next)), frame, beacon, findings);
        self.dtim = beacon.dtim;
        self.interval = interval;
        self.is_multi_link |= beacon.is_multi_link;
        self.is_twt_responder |= beacon.is_twt_responder;
        self.has_broadcast_twt |= beacon.has_broadcast_twt;
        // Frames that could not be sent before the next beacon are announced by it, too (802.11-2020 11.2.3.6).
        self.is_group_announced =
            beacon.group || beacon.group_goes_on && (self.is_group_announced || !is_next);
        let goes_on = self.group_frame.take().is_some_and(|(.., more)| more);
        self.group_goes_on = goes_on || beacon.group_goes_on && self.is_group_announced;
        let is_dtim = beacon.dtim.is_some_and(|(count, _)| count == 0);
        self.group_announced = Some(mark).filter(|_| is_dtim && beacon.group);
        self.log(mark, frame, beacon);
    }

    /// What has gone by on the access point's clock since the last beacon; `None` if that clock was set back, or does not run.
    fn clock_since_last(&self, beacon: &Beacon) -> Option<Span> {
        let after_us = beacon.timestamp_us.checked_sub(*self.timestamps_us.last()?)?;
        (after_us > 0).then(|| span_of_clock(after_us))
    }

    /// Whether the DTIM count of a beacon continues that of `last`, the one before it. After one with a wrong count it may continue as well
    /// what that should have been: it is one fault.
    fn check_dtim(
        &mut self,
        (mark, last): (Mark, Option<Mark>),
        frame: &AirFrame,
        beacon: &Beacon,
        findings: &mut Findings,
    ) {
        let due_before = self.due_count.take();
        let restarted = self.timestamps_us.last().is_some_and(|last| *last > beacon.timestamp_us);
        let (Some((count, period)), Some((before, same)), Some(last)) = (beacon.dtim, self.dtim, last) else {
            return;
        };
        if period != same || restarted {
            return;
        }
        let next = |count: u8| if count == 0 { period.saturating_sub(1) } else { count - 1 };
        let expected = next(before);
        let is_kept = count == expected || due_before.map(next) == Some(count);
        self.due_count = (!is_kept).then_some(expected);
        let verdict = if is_kept { Verdict::Kept } else { Verdict::Violated };
        let key = (FindingKind::DtimSkipped, verdict, beacon.bssid);
        let found = find(findings, key, mark, &[last.1, mark.1], || {
            format!("DTIM count {count} after {before}, with a DTIM period of {period}: expected {expected}")
        });
        if let Some(finding) = found.filter(|_| expected == 0) {
            let awake = frame.air_time().unwrap_or_default();
            finding.cost(Excess { wake_ups: 1, received: awake, ..Excess::awake(awake) });
        }
    }

    fn log(&mut self, mark: Mark, frame: &AirFrame, beacon: &Beacon) {
        let place = self.marks.len() as u32;
        let mut air = self.air.last().copied().unwrap_or_default();
        air.add(frame);
        let before = self.marks.last().map(|(at, _)| *at);
        // That the counter is shared has to be known before the gap: in it a frame and a beacon may have such numbers by chance.
        let shared = self.sequences.unbroken_since(Counter::Shared(beacon.bssid));
        let was_shared = std::mem::replace(&mut self.is_shared, shared.is_some());
        let since =
            [shared.filter(|_| was_shared), self.sequences.unbroken_since(Counter::Beacons(beacon.bssid))];
        self.follows
            .push(since.into_iter().flatten().any(|since| before.is_some_and(|before| since <= before)));
        self.marks.push(mark);
        self.air.push(air);
        self.timestamps_us.push(beacon.timestamp_us);
        self.late_by.push(self.targets.late_by(beacon));
        if !beacon.shows_bits() {
            self.unknown.push(place);
        }
        for aid in &beacon.aids {
            self.tim.entry(*aid).or_default().push(place);
        }
    }

    /// Enters a frame of the access point that is no beacon. `sleeps` says whether a station of the cell is in power save, as far
    /// as the frames so far show it.
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
        if !frame.receiver.is_group() || frame.receiver == GCR_CONCEALMENT {
            return;
        }
        let mark = (packet.at, packet.number);
        // What ends associations is buffered as action frames are, also if it has no PM bit.
        let is_buffered = is_data || frame.is_bufferable || frame.control.kind != FrameKind::Action;
        if let Some((_, announced)) = self.group_announced.take_if(|_| is_buffered) {
            let key = (FindingKind::GroupNotSent, Verdict::Kept, bssid);
            find(findings, key, mark, &[announced, packet.number], || "it was sent".to_owned());
        }
        if is_data && !packet.repeated {
            let before = self.group_frame.replace((mark, frame.sequence_control, frame.control.more_data));
            self.group_data(mark, frame, bssid, before, findings, sleeps);
        }
    }

    /// A group-addressed data frame, which comes after `before` in its beacon interval.
    fn group_data(
        &mut self,
        mark: Mark,
        frame: &AirFrame,
        bssid: MacAddress,
        before: Option<(Mark, Option<u16>, bool)>,
        findings: &mut Findings,
        sleeps: impl FnOnce() -> bool,
    ) {
        let (at, number) = mark;
        let (Some((count, _)), Some(&(beacon_at, beacon))) = (self.dtim, self.marks.last()) else { return };
        let after = at.saturating_since(beacon_at);
        if after > self.interval || !sleeps() {
            return;
        }
        // The machine that sends a frame captures it and the beacon when its driver hands them over or has them back,
        // which is not the order on the air. Late in the interval a beacon may be missing between both.
        let unknown = if frame.sent_here {
            Some("it was sent by the capturing machine, so that its time on the air is not known")
        } else if after * 2 > self.interval {
            Some("the next beacon may be missing between both")
        } else {
            None
        };
        let mut doubt = |kind, mark, deciding: &[u32], detail| {
            self.doubts.push(Doubt { kind, mark, deciding: deciding.to_vec(), unknown, detail });
        };
        let mut kept = |kind, mark, deciding: &[u32], detail: &str| {
            find(findings, (kind, Verdict::Kept, bssid), mark, deciding, || detail.to_owned());
        };
        // What began after a DTIM beacon goes on past the next one, as long as More Data says so (802.11-2020 11.2.3.6).
        if count > 0 && self.group_goes_on {
            self.group_goes_on = frame.control.more_data;
            kept(FindingKind::GroupNotAfterDtim, mark, &[beacon, number], "the frame before announced it");
            return;
        }
        if count > 0 {
            let after_ms = 1e3 * after.as_secs_f64();
            let detail = format!(
                "{after_ms:.1} ms after a beacon with DTIM count {count}, while a station was in power save"
            );
            doubt(FindingKind::GroupNotAfterDtim, mark, &[beacon, number], detail);
            return;
        }
        kept(FindingKind::GroupNotAfterDtim, mark, &[beacon, number], "after a DTIM beacon");
        let Some((last, sequence, more)) =
            before.filter(|(_, sequence, _)| *sequence != frame.sequence_control)
        else {
            return;
        };
        if more {
            kept(FindingKind::MoreDataMissing, last, &[last.1, number], "More Data was set");
        } else if sequence.is_some() {
            let detail = format!(
                "More Data was 0, and packet {number} brought another group-addressed frame in the same beacon interval"
            );
            doubt(FindingKind::MoreDataMissing, last, &[beacon, last.1, number], detail);
        }
    }

    /// Ends a segment of the capture: what happens until the next one is not known.
    pub(super) fn end_segment(&mut self, bssid: MacAddress, findings: &mut Findings) {
        self.judge_times(bssid, findings);
        self.segment_from = self.marks.len();
        (self.dtim, self.group_announced, self.group_frame, self.group_goes_on) = (None, None, None, false);
        self.due_count = None;
    }

    /// Decides about the times of the beacons since the beacon interval last changed.
    fn judge_times(&mut self, bssid: MacAddress, findings: &mut Findings) {
        let from = std::mem::replace(&mut self.steady_from, self.marks.len());
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
        // A clock that was set is no late beacon.
        let late_by = |timestamp: &u64| {
            // One that is not late may be earlier than usual, by no more than what counts as late.
            let late = Span::from_micros((relative(timestamp) + interval_us - usual) % interval_us);
            let is_late = timestamp >= &timestamps[0] && late + LATE_BEACON < self.interval;
            if is_late { late } else { Span::ZERO }
        };
        let late: Vec<Span> = timestamps.iter().map(late_by).collect();
        for (index, (late_by, mark)) in late.iter().zip(&self.marks[from..]).enumerate() {
            let is_as_late =
                |other: Option<&Span>| other.is_some_and(|other| other.abs_diff(*late_by) <= SAME_DELAY);
            let was_set = is_as_late(index.checked_sub(1).and_then(|before| late.get(before)))
                || is_as_late(late.get(index + 1));
            // A beacon waits for the channel as every frame does.
            let is_late = *late_by > LATE_BEACON;
            let due = mark.0.saturating_sub(*late_by);
            let is_busy = is_late && findings.pauses.between(Some(bssid), due, mark.0) <= LATE_BEACON;
            let (verdict, why) = match is_late {
                false => (Verdict::Kept, ""),
                true if was_set => (
                    Verdict::Undecidable,
                    "the beacon beside it is as late, so that its clock may have been set",
                ),
                true if is_busy => (Verdict::Undecidable, NOT_FREE),
                true => (Verdict::Violated, ""),
            };
            let found = find(findings, (FindingKind::BeaconLate, verdict, bssid), *mark, &[], || {
                format!(
                    "transmitted {} after its target time by the access point's clock{}{why}",
                    seconds(*late_by),
                    if why.is_empty() { "" } else { "; " }
                )
            });
            if let Some(finding) = found {
                finding.late(std::iter::once(LateBeacon { due, late_by: *late_by }));
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
        let timestamps = self.timestamps_us[from..].windows(2).zip(self.late_by[from..].windows(2));
        for ((pair, follows), (clock_us, late_by)) in
            marks.windows(2).zip(&self.follows[from + 1..]).zip(timestamps)
        {
            let gap = pair[1].0.saturating_since(pair[0].0);
            // From target time to target time.
            let within = |gap: Span| {
                let gap = (gap + late_by[0]).saturating_sub(late_by[1]);
                (gap + self.interval / 2).whole(self.interval).saturating_sub(1)
            };
            // The clock of the access point says whether that of the capture stood still or jumped, unless it began anew.
            let by_clock = clock_us[1].checked_sub(clock_us[0]).map(|gap_us| within(span_of_clock(gap_us)));
            let missing = match by_clock {
                Some(0) => 0,
                _ => within(gap),
            };
            if missing > MOST_MISSING {
                continue;
            }
            let could_send =
                |due: Instant| findings.pauses.between(Some(bssid), due, due + self.interval) > LATE_BEACON;
            let due = (1..=missing).map(|count| pair[0].0 + self.interval * count);
            let (verdict, why) = match (missing, follows) {
                (0, _) => (Verdict::Kept, ""),
                _ if by_clock.is_some_and(|other| other != missing) => {
                    (Verdict::Undecidable, ", but not by the clock of the access point")
                }
                (_, true) if !due.clone().any(could_send) => (
                    Verdict::Undecidable,
                    ", but the channel was in use, reserved, to be quiet or to be left, so that it could send none",
                ),
                (_, true) => (Verdict::Violated, ", and its sequence number follows that of the one before"),
                (_, false) => (Verdict::Undecidable, ", and the monitor may have missed them"),
            };
            let key = (FindingKind::BeaconMissing, verdict, bssid);
            let found = find(findings, key, pair[1], &[pair[0].1, pair[1].1], || {
                format!(
                    "no beacon was captured in the {} before this one: {missing} missing{why}",
                    seconds(gap)
                )
            });
            if let Some(finding) = found {
                finding.late(due.map(|due| LateBeacon { due, late_by: self.interval }));
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

    /// Whether the access point's clock agrees with that of the capture between the beacons around a time, as far as they are there and its
    /// clock goes on.
    pub(super) fn is_clock_steady(&self, since: Instant, until: Instant) -> bool {
        let Some([before, after]) = self.beside(since, until) else { return true };
        let by_capture = self.marks[after].0.saturating_since(self.marks[before].0);
        let gone_us = self.timestamps_us[after].saturating_sub(self.timestamps_us[before]);
        gone_us == 0 || by_capture.abs_diff(span_of_clock(gone_us)) <= UNSTEADY
    }

    /// The beacons of the segment before one time and after another.
    fn beside(&self, since: Instant, until: Instant) -> Option<[usize; 2]> {
        let (from, after) = (self.place(|at| at <= since), self.place(|at| at < until));
        let before = from.checked_sub(1).filter(|before| *before >= self.segment_from)?;
        (after < self.marks.len()).then_some([before, after])
    }

    /// The time between two times of the capture: by the access point's clock, if the beacons around them show that the other one
    /// jumped. Where it did so between a beacon and one of these times is not known: then it is the least that there can be.
    pub(super) fn elapsed(&self, since: Instant, until: Instant) -> Span {
        if self.is_clock_steady(since, until) {
            return until.saturating_since(since);
        }
        self.least_elapsed(since, until)
    }

    /// The least time between two times of the capture, if its clock may have jumped anywhere between the beacons around them by as
    /// little as the access point's clock shows.
    pub(super) fn least_elapsed(&self, since: Instant, until: Instant) -> Span {
        let by_capture = until.saturating_since(since);
        let goes_on = |[before, after]: [usize; 2]| self.timestamps_us[after] > self.timestamps_us[before];
        if !self.beside(since, until).is_some_and(goes_on) {
            return by_capture;
        }
        let clocks_us = |time: Instant| {
            let around = [self.place(|at| at <= time).saturating_sub(1), self.place(|at| at < time)];
            around.map(|place| {
                let (at, clock_us) = (self.marks[place].0.as_nanos(), self.timestamps_us[place]);
                i128::from(clock_us) + (i128::from(time.as_nanos()) - i128::from(at)) / 1_000
            })
        };
        let (from, to) = (clocks_us(since), clocks_us(until));
        let least_us = to[0].min(to[1]) - from[0].max(from[1]);
        span_of_clock(u64::try_from(least_us).unwrap_or(0)).min(by_capture)
    }

    /// Whether the access point's clock began anew between the last beacon up to `since` and the first one from `until` on.
    pub(super) fn restarted(&self, since: Instant, until: Instant) -> bool {
        let first = self.place(|at| at <= since);
        let end = self.place(|at| at < until).max(first);
        let around =
            first.saturating_sub(1).max(self.segment_from.min(first))..(end + 1).min(self.marks.len());
        let goes_back = self.timestamps_us[around].is_sorted_by(|before, after| before <= after).not();
        // Its clock counts from its start: that of the first beacon after `since` may say that it started later.
        let is_new = self.marks.get(first).is_some_and(|(at, _)| {
            let running = span_of_clock(self.timestamps_us[first]);
            !running.is_zero() && running < at.saturating_since(since)
        });
        goes_back || is_new
    }

    /// The places of the beacons after `since` and before `until`.
    fn between(&self, since: Instant, until: Instant) -> Range<usize> {
        let first = self.place(|at| at <= since);
        first..self.place(|at| at < until).max(first)
    }

    /// The place in `marks` of the first beacon of the segment whose time is not one of these. Times of other segments, between
    /// which the clock may have gone back, are not comparable.
    fn place(&self, is_before: impl Fn(Instant) -> bool) -> usize {
        let from = self.segment_from.min(self.marks.len());
        from + self.marks[from..].partition_point(|(at, _)| is_before(*at))
    }

    /// The beacons after `since` and before `until` that are known not to have the TIM bit of `aid`.
    pub(super) fn without_tim(
        &self,
        since: Instant,
        until: Instant,
        aid: u16,
    ) -> impl DoubleEndedIterator<Item = Mark> {
        let set = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let has = |places: &[u32], place: usize| places.binary_search(&(place as u32)).is_ok();
        let range = self.between(since, until);
        range
            .filter(move |place| !has(set, *place) && !has(&self.unknown, *place))
            .map(|place| self.marks[place])
    }

    /// The target time of a beacon of the segment: its TIM was composed before that, also if it waited for the channel.
    pub(super) fn due(&self, beacon: Mark) -> Instant {
        let late_by = self.late_by.get(self.place(|at| at < beacon.0)).copied();
        beacon.0.saturating_sub(late_by.unwrap_or_default())
    }

    /// The first beacon after `since` and before `until` with the TIM bit of `aid`.
    pub(super) fn with_tim(&self, since: Instant, until: Instant, aid: u16) -> Option<Mark> {
        let set = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let range = self.between(since, until);
        let first = set[set.partition_point(|place| (*place as usize) < range.start)..].first()?;
        range.contains(&(*first as usize)).then(|| self.marks[*first as usize])
    }

    /// For each beacon that concealed a frame which was announced at `since` and came at `came`: the time of the one up to which it delayed the frame, which is the next one with
    /// the bit or the last one before the frame, and the time since the announcement, by the access point's clock where that of the capture jumped.
    pub(super) fn times_of(
        &self,
        concealing: &[Mark],
        (since, came): (Instant, Instant),
        aid: u16,
    ) -> Vec<(Instant, Span)> {
        let times = concealing.iter().map(|(at, _)| {
            let next = self.with_tim(*at, came, aid).or_else(|| self.last_before(came));
            (next.map_or(*at, |(next, _)| next.max(*at)), self.elapsed(since, *at))
        });
        times.collect()
    }

    /// How many beacons after `since` and before `until` were captured without their TIM.
    pub(super) fn unknown_tims(&self, since: Instant, until: Instant) -> usize {
        let range = self.between(since, until);
        let before = |end: usize| self.unknown.partition_point(|place| (*place as usize) < end);
        before(range.end) - before(range.start)
    }

    /// Whether all beacons after `since` and before `until` were captured and had the TIM bit of `aid` clear. The next beacon after
    /// the last one is not due before `until`, also if the last one was late.
    pub(super) fn announces_nothing(&self, since: Instant, until: Instant, aid: u16) -> bool {
        let range = self.between(since, until);
        let last = self.last_before(until);
        let none_is_due =
            last.is_some_and(|(at, _)| until.saturating_since(at) + LATE_BEACON < self.interval);
        none_is_due
            && !self.misses_one(since, until)
            && self.without_tim(since, until, aid).count() == range.len()
    }

    /// Whether a beacon after `since` and before `until` was not captured, by the gaps between those that were.
    pub(super) fn misses_one(&self, since: Instant, until: Instant) -> bool {
        let beacons = self.marks[self.between(since, until)].iter().map(|(at, _)| *at);
        let mut pairs = std::iter::once(since).chain(beacons.clone()).zip(beacons.chain([until]));
        pairs.any(|(from, to)| to.saturating_since(from) * 2 > self.interval * 3)
    }

    /// The later of `since` and the last acknowledgement whose frame is missing. A retransmission repeats a number, and QoS data has
    /// numbers of its own, so that no gap shows that frame.
    pub(super) fn seen_since(&self, since: Instant) -> Instant {
        self.unseen.map_or(since, |unseen| since.max(unseen))
    }

    /// Since when no beacon of the cell was missed, and no other frame that shares their counter.
    pub(super) fn beacons_unbroken_since(&self, bssid: MacAddress) -> Option<Instant> {
        let counters = [Counter::Shared(bssid), Counter::Beacons(bssid)];
        counters.iter().find_map(|counter| self.sequences.unbroken_since(*counter))
    }

    /// The captured beacon of a target time.
    pub(super) fn beacon_of(&self, target: Instant) -> Option<Mark> {
        let half = self.interval / 2;
        let place = self.place(|at| at + half <= target);
        self.marks.get(place).copied().filter(|(at, _)| *at < target + half)
    }

    /// The last beacon before `until`.
    pub(super) fn last_before(&self, until: Instant) -> Option<Mark> {
        let end = self.place(|at| at < until);
        self.marks[self.segment_from..end].last().copied()
    }

    /// Whether a beacon was due after `since` and before `until`, by the last one before `since`.
    pub(super) fn was_due(&self, since: Instant, until: Instant) -> bool {
        let last = self.last_before(since).map_or(since, |(at, _)| at);
        if self.interval.is_zero() {
            return false;
        }
        let due = last + self.interval * (since.saturating_since(last).whole(self.interval) + 1);
        due < until
    }

    /// The access point's clock at a time in microseconds, by the last beacon before it, which is not older than two beacon intervals.
    pub(super) fn clock_us(&self, at: Instant) -> Option<u64> {
        let end = self.place(|beacon| beacon <= at);
        let last = end.checked_sub(1).filter(|last| *last >= self.segment_from)?;
        let after = at.saturating_since(self.marks[last].0);
        let is_near = after <= self.interval * 2;
        is_near.then(|| self.timestamps_us[last].saturating_add(after.as_nanos() / 1_000))
    }

    /// The last beacon from the place `from` on with the TIM bit of `aid`.
    pub(super) fn last_tim_since(&self, from: usize, aid: u16) -> Option<Mark> {
        let last = *self.tim.get(&aid)?.last()? as usize;
        (last >= from).then(|| self.marks[last])
    }

    /// The number of beacons from `from` on with the TIM bit of `aid`, and the first of them.
    pub(super) fn tim_since(&self, from: usize, aid: u16) -> (u32, Option<Mark>) {
        let places = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let set = &places[places.partition_point(|place| (*place as usize) < from)..];
        (set.len() as u32, set.first().map(|place| self.marks[*place as usize]))
    }
}

/// A time by the clock of an access point, in microseconds. Anybody can send a beacon with any number: one of more than 292 years, to which
/// no interval could be added, is one of 292.
fn span_of_clock(micros: u64) -> Span {
    Span::from_micros(micros.min(u64::MAX / 2_000))
}
