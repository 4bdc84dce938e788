//! One station: what is known of its mode, its requests and its frames at one time.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress, TIME_UNIT};

use super::cell::Cell;
use super::finding::{Certainty, FindingKind, Findings, find};
use super::record::{AirTotal, ModeSpan, StationRecord};
use super::{FLAP_CHANGES, FLAP_INTERVAL, IN_FLIGHT, Mark, NEVER, PROMPT, WAS_WAITING};
use crate::packet::{AirFrame, CapturedPacket};

/// A pause that a radio cannot sleep in with a profit: waking up takes milliseconds.
const NAP: Span = Span::from_millis(10);
/// A station in power save that sends or acknowledges without such a pause for this long is awake.
const BUSY: Span = Span::from_millis(100);
/// A PS-Poll this soon after another one without a response is the same one, sent again. Control frames need not have the
/// Retry bit (802.11-2020 9.2.4.1).
const POLL_AGAIN: Span = Span::from_millis(20);
/// A trigger that follows the last frame of an open service period within this time belongs to it: uplink frames of a burst
/// are triggers each, and the access point has not had its turn (802.11-2020 11.2.3.5.2).
const SAME_PERIOD: Span = Span::from_millis(20);

/// A service period that a trigger has opened (U-APSD, 802.11-2020 11.2.3.5).
#[derive(Clone, Copy, Debug)]
struct ServicePeriod {
    trigger: Mark,
    /// Whether the access point sent anything in it.
    answered: bool,
    /// Time of its last frame so far, in either direction.
    last: Instant,
}

/// The state of a station at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct StationState {
    pub(super) record: StationRecord,
    /// Beacons of its cell that are accounted for.
    pub(super) beacons_read: usize,
    /// Whether it has frames in the present segment.
    pub(super) is_active: bool,
    /// PM bit and since when.
    mode: Option<(bool, Instant)>,
    /// Up to when the time in the mode is counted.
    counted: Instant,
    /// A PS-Poll without a response so far.
    polled: Option<Mark>,
    /// Whether that PS-Poll was acknowledged.
    poll_acknowledged: bool,
    /// Whether the station sent that PS-Poll again, as it does if it receives no response.
    poll_repeated: bool,
    /// The time of a frame whose More Data bit announced another buffered frame.
    buffered_since: Option<Instant>,
    /// A service period that is open.
    service: Option<ServicePeriod>,
    /// A frame with the More Data bit; and when the station requested what it announced.
    promised: Option<(Mark, Option<Instant>)>,
    /// The first beacon with the TIM bit since the last delivery; and when the station requested the frames.
    announced: Option<(Mark, Option<Instant>)>,
    /// Beacons since the station entered power save, and whether one had its TIM bit.
    beacons_asleep: u32,
    announced_asleep: bool,
    /// The time at which it left power save, with the two values above.
    woke: Option<(Instant, u32, bool)>,
    /// The last PM change, and the number of changes that followed each other closely.
    last_change: Option<Instant>,
    close_changes: u32,
    /// Frames that the station sent or acknowledged in power save, one within [`NAP`] of the other: the first of them and the
    /// time of the last.
    busy: Option<(Mark, Instant)>,
    /// Whether data was exchanged since the last PM change.
    has_data: bool,
    /// The modes so far.
    pub(super) modes: Vec<ModeSpan>,
}

impl StationState {
    /// Accounts for the beacons of the station's cell since its last frame. Its mode and identifiers did not change in
    /// between, so totals suffice. What expires does so at the last beacon, since the time of expiry is not reported.
    pub(super) fn read_beacons(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        let Some(cell) = self.record.bssid.and_then(|bssid| cells.get(&bssid)) else { return };
        let from = std::mem::replace(&mut self.beacons_read, cell.marks.len());
        let Some((last, _)) = cell.marks[from..].last() else { return };
        self.expire(*last, findings);
        let air = cell.air_since(from);
        self.add_air(air, false);
        let Some(aid) = self.record.aid else { return };
        let beacons = (cell.marks.len() - from) as u32;
        let (set, first) = cell.tim_since(from, aid);
        self.record.counts.beacons += beacons;
        self.record.counts.tim_set += set;
        if self.is_asleep() {
            self.beacons_asleep += beacons;
            self.announced_asleep |= set > 0;
            if let Some(first) = first {
                self.announced.get_or_insert((first, None));
            }
        }
    }

    pub(super) const fn is_asleep(&self) -> bool {
        matches!(self.mode, Some((true, _)))
    }

    pub(super) fn count_air(&mut self, frame: &AirFrame, up: bool) {
        let mut air = AirTotal::default();
        air.add(frame);
        self.add_air(air, up);
    }

    fn add_air(&mut self, air: AirTotal, up: bool) {
        self.record.timed_frames += air.timed_frames;
        self.record.untimed_frames += air.untimed_frames;
        *(if up { &mut self.record.transmit } else { &mut self.record.receive }) += air.span;
        if self.is_asleep() {
            self.record.awake_in_power_save += air.span;
        }
    }

    fn count_mode(&mut self, now: Instant) {
        if let Some((in_power_save, _)) = self.mode {
            let from = self.counted;
            let span = now.saturating_since(from);
            self.record.mode_known += span;
            if in_power_save {
                self.record.in_power_save += span;
            }
            match self.modes.last_mut() {
                Some(last) if last.until == from && last.in_power_save == in_power_save => last.until = now,
                _ if span.is_zero() => {}
                _ => self.modes.push(ModeSpan { from, until: now, in_power_save }),
            }
        }
        self.counted = now;
    }

    /// Ends a segment of the capture: what happens until the next one is not known.
    pub(super) fn end_segment(&mut self, until: Instant, findings: &mut Findings) {
        self.expire(until, findings);
        self.forget(until, findings);
    }

    /// The association ends: the mode and what was buffered are not known any more.
    pub(super) fn leave(&mut self, at: Instant, findings: &mut Findings) {
        self.forget(at, findings);
    }

    fn forget(&mut self, at: Instant, findings: &mut Findings) {
        self.end_busy(findings);
        self.count_mode(at);
        *self = Self {
            record: self.record,
            beacons_read: self.beacons_read,
            modes: std::mem::take(&mut self.modes),
            ..Self::default()
        };
    }

    /// Enters a frame that shows that the station is awake. It belongs to a stretch if it follows another one closely.
    fn is_awake_at(&mut self, mark: Mark, findings: &mut Findings) {
        if !self.is_asleep() {
            return;
        }
        if let Some((_, last)) = self.busy.as_mut().filter(|(_, last)| mark.0.saturating_since(*last) <= NAP)
        {
            *last = mark.0;
        } else {
            self.end_busy(findings);
            self.busy = Some((mark, mark.0));
        }
    }

    /// Ends a stretch in which the station was awake in power save.
    fn end_busy(&mut self, findings: &mut Findings) {
        let Some((first, last)) = self.busy.take() else { return };
        let awake = last.saturating_since(first.0);
        if awake >= BUSY {
            let key = (FindingKind::AwakeInPowerSave, Certainty::Found, self.record.mac);
            let finding = find(findings, key, first, || {
                format!("in power save it sent or acknowledged a frame at least every {NAP} for {awake}")
            });
            finding.awake += awake;
        }
    }

    /// Ends the waits that have lasted too long.
    pub(super) fn expire(&mut self, now: Instant, findings: &mut Findings) {
        if let Some(mark) = self.polled.filter(|(at, _)| now.saturating_since(*at) > NEVER) {
            self.polled = None;
            // A frame that was promised is another finding. A station without a response sends its PS-Poll again: if it
            // did not, the monitor missed the response.
            if self.poll_repeated && !self.poll_acknowledged && self.promised.is_none() {
                let key = (FindingKind::PsPollUnanswered, Certainty::Possible, self.record.mac);
                find(findings, key, mark, || {
                    "the station repeated its PS-Poll, and neither an acknowledgement nor data followed"
                        .to_owned()
                });
            }
        }
        if let Some((mark, Some(requested))) = self.promised
            && now.saturating_since(requested) > NEVER
        {
            self.promised = None;
            let key = (FindingKind::MoreDataThenNothing, Certainty::Possible, self.record.mac);
            find(findings, key, mark, || {
                "More Data was set, the station requested the frame, and none was captured".to_owned()
            });
        }
        if self.service.is_some_and(|period| now.saturating_since(period.trigger.0) > NEVER) {
            self.end_service(findings);
        }
    }

    /// Ends a service period without EOSP.
    fn end_service(&mut self, findings: &mut Findings) {
        let Some(period) = self.service.take() else { return };
        let what = if period.answered { "frames were sent" } else { "nothing was sent" };
        let key = (FindingKind::EospMissing, Certainty::Possible, self.record.mac);
        find(findings, key, period.trigger, || {
            format!("the station's trigger opened a service period, {what}, and no EOSP ended it")
        });
    }

    /// A trigger opens a service period, unless one is open in which frames are still being exchanged.
    fn trigger(&mut self, packet: &CapturedPacket, findings: &mut Findings) {
        match &mut self.service {
            Some(period) if packet.at.saturating_since(period.last) <= SAME_PERIOD => period.last = packet.at,
            _ => {
                self.end_service(findings);
                let trigger = (packet.at, packet.number);
                self.service = Some(ServicePeriod { trigger, answered: false, last: packet.at });
            }
        }
    }

    /// The station requests what is buffered: by PS-Poll, by trigger or by leaving power save.
    fn request_buffered(&mut self, at: Instant) {
        if let Some((_, requested)) = &mut self.promised {
            requested.get_or_insert(at);
        }
        if let Some((_, requested)) = &mut self.announced {
            requested.get_or_insert(at);
        }
    }

    /// `acknowledged` is `None` if the capture has no acknowledgements.
    pub(super) fn ps_poll(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        acknowledged: Option<bool>,
        findings: &mut Findings,
    ) {
        self.count_air(frame, true);
        let is_repetition = self.polled.is_some_and(|(at, _)| packet.at.saturating_since(at) <= POLL_AGAIN);
        if packet.repeated || is_repetition {
            self.poll_repeated = true;
            self.poll_acknowledged |= acknowledged != Some(false);
            return;
        }
        self.poll_repeated = false;
        self.record.counts.ps_polls += 1;
        self.is_awake_at((packet.at, packet.number), findings);
        self.record.aid = frame.aid.or(self.record.aid);
        self.polled = Some((packet.at, packet.number));
        self.poll_acknowledged = acknowledged != Some(false);
        self.request_buffered(packet.at);
    }

    pub(super) fn sent_by_station(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        findings: &mut Findings,
    ) {
        let kind = frame.control.kind;
        let asleep = frame.control.power_management;
        if !packet.repeated {
            self.record.counts.nulls += u32::from(matches!(kind, FrameKind::Null | FrameKind::QosNull));
            self.record.counts.data_up += u32::from(kind.has_payload());
        }
        self.has_data |= kind.has_payload();
        let before = self.mode.map(|(mode, _)| mode);
        if asleep && before == Some(true) {
            self.is_awake_at((packet.at, packet.number), findings);
        }
        if before != Some(asleep) {
            self.change_mode(packet, asleep, findings);
        } else if asleep && kind.is_qos() && self.record.uapsd == Some(true) && !packet.repeated {
            self.record.counts.triggers += 1;
            self.trigger(packet, findings);
            self.request_buffered(packet.at);
        }
    }

    fn change_mode(&mut self, packet: &CapturedPacket, asleep: bool, findings: &mut Findings) {
        let at = packet.at;
        self.count_mode(at);
        self.end_busy(findings);
        let known = self.mode.is_some();
        let had_data = std::mem::take(&mut self.has_data);
        self.mode = Some((asleep, at));
        // A station in active mode has no service period and no PS-Poll open.
        (self.polled, self.service) = (None, None);
        if asleep {
            (self.beacons_asleep, self.announced_asleep, self.woke) = (0, false, None);
        } else {
            self.woke = known.then_some((at, self.beacons_asleep, self.announced_asleep));
            self.request_buffered(at);
        }
        if !known {
            return;
        }
        self.record.counts.pm_changes += 1;
        let close = self.last_change.is_some_and(|last| at.saturating_since(last) <= FLAP_INTERVAL);
        self.close_changes = if close { self.close_changes + 1 } else { 1 };
        let active = at.saturating_since(self.last_change.unwrap_or(at));
        self.last_change = Some(at);
        let key = (FindingKind::PmFlapping, Certainty::Found, self.record.mac);
        // Being awake served nothing if no data was exchanged.
        if self.close_changes > FLAP_CHANGES
            && asleep
            && !had_data
            && let Some(finding) = findings.get_mut(&key)
        {
            finding.awake += active;
        }
        if self.close_changes == FLAP_CHANGES {
            find(findings, key, (at, packet.number), || {
                format!("{FLAP_CHANGES} changes of PM or more, each within {FLAP_INTERVAL} of the last")
            });
        }
    }

    pub(super) fn sent_to_station(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        acknowledged: Option<bool>,
        cell: Option<&Cell>,
        findings: &mut Findings,
    ) {
        let mark = (packet.at, packet.number);
        if frame.eosp {
            self.record.uapsd = Some(true);
        }
        if acknowledged == Some(true) {
            self.is_awake_at(mark, findings);
        }
        self.has_data |= frame.control.kind.has_payload();
        if frame.control.kind.has_payload() {
            self.record.counts.data_down += 1;
            self.check_announced(mark, frame, cell, findings);
            self.check_waiting(mark, frame, findings);
            self.check_asleep(mark, acknowledged, findings);
            self.check_late(mark, findings);
            self.promised = None;
            self.buffered_since = None;
            if frame.control.more_data && self.is_asleep() {
                self.promised = Some((mark, None));
                self.buffered_since = Some(mark.0);
            }
        }
        self.check_stuck(mark, frame, findings);
        self.polled = None;
        if let Some(period) = &mut self.service {
            (period.answered, period.last) = (true, mark.0);
        }
        if frame.eosp {
            self.service = None;
        }
    }

    /// A Null frame is the answer to a PS-Poll if nothing is buffered (802.11-2020 11.2.3.6); the TIM bit is then clear.
    fn check_stuck(&mut self, mark: Mark, frame: &AirFrame, findings: &mut Findings) {
        let is_null = matches!(frame.control.kind, FrameKind::Null | FrameKind::QosNull);
        if !is_null || frame.control.more_data || self.polled.is_none() {
            return;
        }
        let Some((announcement, requested)) = self.announced.take() else { return };
        let key = (FindingKind::TimStuck, Certainty::Found, self.record.mac);
        let finding = find(findings, key, mark, || {
            format!(
                "the beacon of packet {} had the station's TIM bit, and the answer to its PS-Poll was a Null frame without \
                 More Data",
                announcement.1
            )
        });
        finding.awake += mark.0.saturating_since(requested.unwrap_or(announcement.0));
    }

    /// Data for a station in power save is allowed only as the response to a PS-Poll and in a service period.
    fn check_asleep(&self, mark: Mark, acknowledged: Option<bool>, findings: &mut Findings) {
        let Some((true, since)) = self.mode else { return };
        let allowed = self.polled.is_some() || self.service.is_some();
        // A station whose U-APSD is not known may have opened a service period by any QoS frame.
        if allowed
            || self.record.uapsd.is_none() && self.record.counts.ps_polls == 0 && acknowledged == Some(true)
        {
            return;
        }
        let asleep = mark.0.saturating_since(since);
        if asleep > IN_FLIGHT {
            // A station that acknowledges is awake: the frame in which it said so may not have been captured.
            let (certainty, reception) = match acknowledged {
                Some(true) => (Certainty::Possible, "it acknowledged"),
                Some(false) => (Certainty::Found, "no acknowledgement was captured"),
                None => (Certainty::Possible, "the capture has no acknowledgements"),
            };
            find(findings, (FindingKind::SentToSleeper, certainty, self.record.mac), mark, || {
                format!("data {:.3} s after the station set PM = 1; {reception}", asleep.as_secs_f64())
            });
        }
    }

    /// A frame is known to be buffered from the time of a frame before it with the More Data bit until it is sent. Each
    /// beacon in between has to have the station's TIM bit. Stations with U-APSD may have access categories that the TIM
    /// does not announce (802.11-2020 11.2.3.6), so theirs is possible only.
    fn check_announced(&self, mark: Mark, frame: &AirFrame, cell: Option<&Cell>, findings: &mut Findings) {
        let (Some(since), Some(aid), Some(cell)) = (self.buffered_since, self.record.aid, cell) else {
            return;
        };
        // The machine that sends a frame captures it and the beacons at other times than those on the air.
        let is_doubtful = self.record.uapsd == Some(true) || frame.sent_here;
        let certainty = if is_doubtful { Certainty::Possible } else { Certainty::Found };
        let key = (FindingKind::TimNeverSet, certainty, self.record.mac);
        let mut first = true;
        for beacon in cell.without_tim(since + IN_FLIGHT, mark.0, aid) {
            let waited = beacon.0.saturating_since(since);
            let finding = find(findings, key, beacon, || {
                format!(
                    "a beacon without the station's TIM bit, {:.3} s after More Data announced the frame of packet {}",
                    waited.as_secs_f64(),
                    mark.1
                )
            });
            if std::mem::take(&mut first) {
                finding.delay += mark.0.saturating_since(beacon.0);
            }
        }
    }

    /// A buffered frame whose arrival at the access point is not known was perhaps announced too late: enough beacons
    /// without the TIM bit were captured while the station slept.
    fn check_waiting(&mut self, mark: Mark, frame: &AirFrame, findings: &mut Findings) {
        let (beacons, announced) = match self.woke.take() {
            Some((woke, beacons, announced)) if mark.0.saturating_since(woke) <= WAS_WAITING => {
                (beacons, announced)
            }
            _ if self.polled.is_some() || self.is_asleep() && frame.control.more_data => {
                (self.beacons_asleep, self.announced_asleep)
            }
            _ => return,
        };
        if beacons >= 2 && !announced && self.record.aid.is_some() && self.buffered_since.is_none() {
            find(findings, (FindingKind::TimNeverSet, Certainty::Possible, self.record.mac), mark, || {
                format!(
                    "a frame was buffered since an unknown time, and none of the {beacons} beacons since the station's last \
                     frame had its TIM bit"
                )
            });
        }
        (self.beacons_asleep, self.announced_asleep) = (0, false);
    }

    fn check_late(&mut self, mark: Mark, findings: &mut Findings) {
        let requested = self.polled.map(|(at, _)| at).or(self.announced.and_then(|(_, requested)| requested));
        if let Some(waited) =
            requested.map(|at| mark.0.saturating_since(at)).filter(|waited| *waited > PROMPT)
        {
            let key = (FindingKind::LateDelivery, Certainty::Found, self.record.mac);
            let finding = find(findings, key, mark, || {
                format!("{:.3} s after the station requested it", waited.as_secs_f64())
            });
            finding.delay += waited;
            finding.awake += waited;
        }
        let Some((announcement, requested)) = self.announced.take() else { return };
        let fetched = requested.unwrap_or(mark.0).saturating_since(announcement.0);
        if fetched > TIME_UNIT * 210 {
            let key = (FindingKind::LateFetch, Certainty::Found, self.record.mac);
            let finding = find(findings, key, announcement, || {
                format!("announced by TIM, requested {:.3} s later", fetched.as_secs_f64())
            });
            finding.delay += fetched;
        }
    }
}
