//! One station: what is known of its mode, its requests and its frames at one time.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};

use super::cell::Cell;
use super::finding::{Excess, FindingKind, Findings, Verdict, find, seconds};
use super::record::{AirTotal, StationRecord, Stays};
use super::sequence::Counter;
use super::wait::{Concealed, Delay, EndedPolls, Fetch, Promise, Request, Unkept, Wait};
use super::{Mark, PROMPT};
use crate::packet::{AirFrame, CapturedPacket};

mod announced;
mod awake;
mod deliveries;
mod evidence;
mod flickers;
mod ignored;
mod modes;
mod pm_changes;
mod polls;
mod promises;
mod relayed;
mod service;
mod stuck;
mod uplink;
mod waits;
mod wake_times;

use awake::Stretch;
use modes::Modes;
use pm_changes::PmChanges;
use polls::Polls;
use service::ServicePeriods;
use uplink::Uplink;
use wake_times::{Agreed, Periods};

/// Time by which a beacon and the frames after it may be late, so that a station is not.
const LATE: Span = Span::from_millis(20);

/// The first beacon with the TIM bit since the last delivery.
#[derive(Clone, Copy, Debug)]
struct Announcement {
    beacon: Mark,
    /// Its target time.
    due: Instant,
    interval: Span,
    /// The station's request for the frames.
    requested: Option<Request>,
}

/// A TIM bit, a PS-Poll, and a Null frame for an answer.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    beacon: Mark,
    poll: Mark,
    answer: Mark,
    /// From here on nothing may have been missed: the beacon was composed after it, and so was the last frame before the beacon sent.
    since: Instant,
    excess: Excess,
}

/// A frame to a station that had not requested it.
#[derive(Clone, Debug)]
struct Suspect {
    mark: Mark,
    asleep: Span,
    /// Which rule it is about, by the station's agreements.
    agreed: Agreed,
    /// The service periods around it.
    periods: Vec<(Instant, Instant)>,
    sequence_control: Option<u16>,
    /// Whether a frame may have been announced: a request of the station leaves no gap in any numbers if it is missed.
    may_have_asked: bool,
    /// Whether an earlier transmission of it was missed.
    is_copy: bool,
    /// Whether the station may have opened a service period for it.
    may_have_uapsd: bool,
    /// Transmissions of which none was acknowledged; `None` if the station or the capture leaves that open.
    unheard: Option<u32>,
    /// The packets of the last beacon before it, and of its last transmission.
    beside: [Option<u32>; 2],
}

/// A frame to a station, and what is known of it.
pub(super) struct Delivery<'a> {
    pub(super) packet: &'a CapturedPacket,
    pub(super) frame: &'a AirFrame,
    /// `None` if the capture has no acknowledgements.
    pub(super) acknowledged: Option<bool>,
    /// Whether the acknowledgement is its own, and not that of a retransmission.
    pub(super) at_once: Option<bool>,
    pub(super) cell: Option<&'a Cell>,
    pub(super) counter: Option<Counter>,
    /// Since when no frame with the same counter was missed.
    pub(super) unbroken_since: Option<Instant>,
    /// The frame of the station that it answers: it did not arrive at the access point before that.
    pub(super) not_before: Option<Mark>,
    /// The frame of another station of the cell that brought what it carries: it was at the access point from then on.
    pub(super) brought_by: Option<Mark>,
}

impl<'a> Delivery<'a> {
    /// A frame, whether an acknowledgement followed it and at once, the station's cell, and the frames that it answers and that brought it.
    pub(super) fn new(
        (packet, frame): (&'a CapturedPacket, &'a AirFrame),
        (acknowledged, at_once): (Option<bool>, Option<bool>),
        cell: Option<&'a Cell>,
        [not_before, brought_by]: [Option<Mark>; 2],
    ) -> Self {
        let counter = Counter::of(frame);
        let unbroken_since = counter.zip(cell).and_then(|(counter, cell)| {
            let shared = cell.sequences.nothing_missed_since(frame.transmitter?);
            let is_plain = matches!(counter, Counter::Plain(_));
            let since = shared.filter(|_| is_plain).or_else(|| cell.sequences.unbroken_since(counter));
            since.map(|since| cell.seen_since(since))
        });
        Self { packet, frame, acknowledged, at_once, cell, counter, unbroken_since, not_before, brought_by }
    }

    const fn mark(&self) -> Mark {
        (self.packet.at, self.packet.number)
    }

    /// Whether an acknowledgement of it was captured, and at once.
    const fn answers(&self) -> [Option<bool>; 2] {
        [self.acknowledged, self.at_once]
    }

    /// Whether a transmission of the frame was missed that came before it, as its Retry bit says: when the access point first sent it is not
    /// known. It repeats a number, so that none is missing.
    const fn is_copy(&self) -> bool {
        self.frame.control.retry
    }
}

/// What the last association request of a station says, as far as it was captured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Association {
    /// The listen interval, in beacon intervals.
    pub(super) listen_interval: Option<u16>,
    /// Whether it is about several links, of which the capture has one.
    pub(super) is_multi_link: Option<bool>,
    /// Whether the station may ask for target wake time.
    pub(super) is_twt_requester: Option<bool>,
}

/// What is decided when a segment of the capture ends: later frames show what the monitor missed, and whether the clock of the capture
/// jumped.
#[derive(Clone, Debug, Default)]
struct OpenCases {
    /// Frames that came late.
    waits: Vec<Wait>,
    /// Requests that came late after their beacons.
    fetches: Vec<Fetch>,
    /// What faults delayed.
    delays: Vec<Delay>,
    /// PS-Polls that nothing answered for long.
    ended_polls: Vec<EndedPolls>,
    /// Requests that did not bring what More Data had announced.
    unkept: Vec<Unkept>,
}

/// Why More Data of a frame may announce nothing.
const MAY_BE_AWAKE: &str = "no frame before shows that the station was in power save, and to one in active mode More Data says nothing";

/// The state of a station at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct StationState {
    pub(super) record: StationRecord,
    /// With which access points it was.
    pub(super) stays: Stays,
    /// Beacons of its cell that are accounted for.
    pub(super) beacons_read: usize,
    /// Whether it has frames in the present segment.
    pub(super) is_active: bool,
    pub(super) association: Association,
    /// The packet of its last association request.
    pub(super) association_request: Option<u32>,
    /// When its association was answered, if nothing ended that since.
    pub(super) associated_at: Option<Instant>,
    /// Whether an encrypted action frame was exchanged with it since.
    pub(super) has_unread_action: bool,
    pub(super) uplink: Uplink,
    open: OpenCases,
    /// Since when nothing was missed of what the access point sends without a QoS counter.
    nothing_missed_since: Option<Instant>,
    /// The time of the last such frame that was captured.
    heard_until: Option<Instant>,
    pub(super) modes: Modes,
    polls: Polls,
    /// Whether nobody acknowledged the last frame to the station, so that its retransmission may have been missed: it leaves no gap.
    is_unheard: bool,
    /// Beacons whose TIM bit nothing followed, unless the numbers of the next frame show that some was missed.
    stuck: Vec<Stuck>,
    /// When its access point first called it without data (RTS) since its last request.
    called_at: Option<Instant>,
    pub(super) service: ServicePeriods,
    promised: Option<Promise>,
    /// Counter, sequence control and More Data of the last data to the station, when that was first captured.
    last_data: Option<(Option<Counter>, Option<u16>, bool)>,
    announced: Option<Announcement>,
    /// The last frame to the station, or the one in which it entered power save, or a Null frame that answered its PS-Poll: beacons are counted
    /// from there.
    beacons_from: Option<Mark>,
    /// When a frame without More Data last said that nothing else is buffered, or the station was in active mode or associated.
    pub(super) emptied_at: Option<Instant>,
    /// The time of the last action frame to it in power save, which may be what a beacon right after it still announces.
    managed_at: Option<Instant>,
    /// The time at which it left power save.
    woke: Option<Instant>,
    suspects: Vec<Suspect>,
    concealed: Vec<Concealed>,
    /// All counters of data to the station from its access point that the capture has, also those of which the first frame comes later.
    pub(super) counters: Vec<Counter>,
    pm_changes: PmChanges,
    /// The frames that show that it is awake in power save.
    stretch: Stretch,
    /// What it exchanged lately, with regard to its agreed service periods.
    periods: Periods,
}

impl StationState {
    /// Accounts for the beacons of the station's cell since its last frame. Its mode and identifiers did not change in
    /// between, so totals suffice. What expires does so at the last beacon, since the time of expiry is not reported.
    pub(super) fn read_beacons(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        let Some((bssid, cell)) = self.record.bssid.and_then(|bssid| Some((bssid, cells.get(&bssid)?)))
        else {
            return;
        };
        let heard_all = |at| cell.sequences.nothing_missed_since(bssid).is_some_and(|since| since <= at);
        findings.agreements(self.record.mac).review(|at| !self.has_unread_action && heard_all(at));
        if cell.is_twt_responder || cell.has_broadcast_twt {
            findings.agreements(self.record.mac).may_have_twt = self.may_have_twt(bssid, cell);
        }
        let from = std::mem::replace(&mut self.beacons_read, cell.marks.len());
        let Some((last, _)) = cell.marks[from..].last() else { return };
        let unbroken = cell.sequences.nothing_missed_since(bssid);
        self.nothing_missed_since = unbroken.map(|since| cell.seen_since(since));
        self.heard_until = cell.sequences.heard_until(bssid);
        self.read_polls(cell, from, *last);
        self.expire(*last, findings);
        let air = cell.air_since(from);
        self.add_air(air, false);
        if self.is_asleep() {
            self.record.beacons_in_power_save += air.span;
        }
        let Some(aid) = self.record.aid else { return };
        let beacons = (cell.marks.len() - from) as u32;
        let (set, first) = cell.tim_since(from, aid);
        self.record.counts.beacons += beacons;
        self.record.counts.tim_set += set;
        self.read_promise(cell, *last, aid);
        if self.is_asleep()
            && let Some(beacon) = first
        {
            if let Some(last) = cell.last_tim_since(from, aid) {
                self.was_absent((beacon, last), cell, findings);
            }
            let (due, interval) = (cell.due(beacon), cell.interval);
            let requested = self.outstanding();
            self.announced.get_or_insert(Announcement { beacon, due, interval, requested });
        }
    }

    /// Whether it may be served by U-APSD. Without its association nothing excludes that for a station with QoS whose access point has it.
    fn may_have_uapsd(&self, cell: &Cell) -> bool {
        let has_qos = || {
            let is_qos = |counter: &Counter| matches!(counter, Counter::Qos(..));
            self.uplink.sends_qos_nulls || self.counters.iter().any(is_qos)
        };
        self.record.uapsd.unwrap_or_else(|| cell.may_have_uapsd && has_qos())
    }

    /// Whether a target wake time may have been set up with its access point, which supports that, and not been captured.
    fn may_have_twt(&self, bssid: MacAddress, cell: &Cell) -> bool {
        let heard_all = |at| cell.sequences.nothing_missed_since(bssid).is_some_and(|since| since <= at);
        let has_none = !self.has_unread_action && self.associated_at.is_some_and(heard_all);
        self.association.is_twt_requester != Some(false) && (!has_none || cell.has_broadcast_twt)
    }

    /// A packet shows the association identifier.
    pub(super) fn has_aid(&mut self, aid: u16, packet: u32) {
        self.record.aid_changed |= self.stays.has_aid(aid, packet);
        self.record.aid = Some(aid);
    }

    /// A PS-Poll with another association identifier than the last one: an association was missed, and with it what it said. What beacons said
    /// of the last one since then was about another station.
    pub(super) fn is_associated_anew(&mut self, poll: (&CapturedPacket, &AirFrame), findings: &mut Findings) {
        let (packet, frame) = poll;
        if self.record.aid.zip(frame.aid).is_some_and(|(before, now)| before != now) {
            self.leave(packet.at, findings);
            self.association = Association::default();
            self.record.aid = None;
        }
    }

    /// A PS-Poll shows the association identifier, which was not known before. What More Data announced meanwhile is compared with the beacons
    /// since then: the frames of the station show whether the monitor missed another association.
    pub(super) fn learn_aid(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        cells: &BTreeMap<MacAddress, Cell>,
    ) {
        let Some(aid) = frame.aid.filter(|_| self.record.aid.is_none() && !packet.repeated) else { return };
        self.has_aid(aid, packet.number);
        let cell = self.record.bssid.and_then(|bssid| cells.get(&bssid));
        if let Some((cell, (last, _))) = cell.and_then(|cell| Some((cell, cell.last_before(packet.at)?))) {
            self.read_promise(cell, last, aid);
        }
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.modes.is_asleep() == Some(true)
    }

    /// Whether nothing shows that it is in power save, as a PS-Poll without an answer so far does: after an association it is in active mode.
    fn may_be_awake(&self) -> bool {
        self.modes.is_asleep() != Some(true) && self.polls.request.is_none()
    }

    /// Whether its last frame that shows its mode says that it is in active mode.
    fn is_awake(&self) -> bool {
        self.modes.is_asleep() == Some(false)
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

    /// Ends a segment of the capture: what happens until the next one is not known. `goes_on` says that there is a next one, so that
    /// what was under way is undecidable.
    pub(super) fn end_segment(
        &mut self,
        until: Instant,
        goes_on: bool,
        cells: &BTreeMap<MacAddress, Cell>,
        findings: &mut Findings,
    ) {
        self.expire(until, findings);
        self.end_polls(until, None, false);
        self.judge_polls(cells, findings);
        self.judge_unkept(cells, findings);
        self.judge_waits(cells, findings);
        self.judge_fetches(cells, findings);
        if goes_on {
            self.leave_open(findings);
        } else if let Some(cell) = self.record.bssid.and_then(|bssid| cells.get(&bssid)) {
            self.leave_overdue(until, cell, findings);
        }
        self.forget(until, findings);
        self.add_delays(cells, findings);
    }

    /// What was due when the capture ended, and had not come.
    fn leave_overdue(&mut self, until: Instant, cell: &Cell, findings: &mut Findings) {
        let is_promised = self.promised.as_ref().is_some_and(|promise| promise.requested.is_some());
        self.leave_promise(until, findings);
        let mac = self.record.mac;
        let waited = |poll: &Request| until.saturating_since(poll.mark.0);
        let is_heard = self.polls.unheard.is_none() && !is_promised;
        if let Some(poll) = self.polls.request.filter(|poll| is_heard && waited(poll) > PROMPT) {
            let key = (FindingKind::LateDelivery, Verdict::Undecidable, mac);
            find(findings, key, poll.mark, &[], || {
                format!(
                    "the station requested a frame, and none was captured in the {} up to the end of the capture",
                    seconds(waited(&poll))
                )
            });
        }
        let Some(Announcement { beacon, due, interval, requested: None }) = self.announced else { return };
        let after = until.saturating_since(beacon.0);
        if until > self.wakes_by(due, interval) + LATE && !self.was_emptied(cell, beacon.0, until) {
            let key = (FindingKind::LateFetch, Verdict::Undecidable, mac);
            find(findings, key, beacon, &[], || {
                format!(
                    "announced by TIM, and not requested in the {} up to the end of the capture, unless the monitor missed it",
                    seconds(after)
                )
            });
        }
    }

    /// What the clock of the capture jumped over is undecidable.
    fn leave_open(&mut self, findings: &mut Findings) {
        let mac = self.record.mac;
        let mut open = |kind, mark: Mark, what: &str| {
            find(findings, (kind, Verdict::Undecidable, mac), mark, &[], || {
                format!("{what}, and then the clock of the capture jumped")
            });
        };
        if let Some(promise) = self.promised.take() {
            open(FindingKind::TimNeverSet, promise.mark, "More Data announced a frame");
        }
        if let Some(announced) = self.announced {
            open(FindingKind::LateFetch, announced.beacon, "a beacon announced a frame");
        }
        if let Some(poll) = self.polls.request {
            open(FindingKind::LateDelivery, poll.mark, "the station requested a frame");
        }
    }

    /// The association ends: the mode and what was buffered are not known any more.
    pub(super) fn leave(&mut self, at: Instant, findings: &mut Findings) {
        self.forget(at, findings);
        findings.agreements(self.record.mac).end_all(at);
    }

    fn forget(&mut self, at: Instant, findings: &mut Findings) {
        let mac = self.record.mac;
        self.stretch.end((mac, &self.uplink), findings);
        self.judge_sleep(findings);
        self.judge_stuck(None, findings);
        self.judge_unheard(None, findings);
        self.end_polls(at, None, false);
        self.forget_promise(findings);
        self.pm_changes.end(mac, findings);
        // No frame shows what the station did after its last one.
        self.modes.forget(self.uplink.last(), at);
        self.uplink.leave();
        self.service.close();
        *self = Self {
            record: self.record,
            beacons_read: self.beacons_read,
            modes: std::mem::take(&mut self.modes),
            open: std::mem::take(&mut self.open),
            uplink: std::mem::take(&mut self.uplink),
            association: self.association,
            counters: std::mem::take(&mut self.counters),
            service: self.service,
            stays: std::mem::take(&mut self.stays),
            ..Self::default()
        };
    }

    /// Enters a frame that shows that the station is awake.
    fn is_awake_at(&mut self, mark: Mark, findings: &mut Findings) {
        if self.is_asleep() {
            self.stretch.awake_at(mark, (self.record.mac, &self.uplink), findings);
        }
    }

    /// Ends the waits that have lasted too long.
    pub(super) fn expire(&mut self, now: Instant, findings: &mut Findings) {
        self.expire_polls(now, findings);
        self.expire_promise(now, findings);
        self.service.expire(self.record.mac, now, findings);
    }

    /// It requests again what a beacon announced.
    fn asks_again(&mut self) {
        if let Some(request) = self.announced.as_mut().and_then(|one| one.requested.as_mut()) {
            request.is_asked_again = true;
        }
    }

    /// The station requests what is buffered: by PS-Poll, by trigger or by leaving power save.
    fn request_buffered(&mut self, request: Request) {
        if let Some(promise) = &mut self.promised {
            promise.requested.get_or_insert(request);
            promise.asked = Some(request.mark.0);
        }
        if let Some(announcement) = &mut self.announced {
            announcement.requested.get_or_insert(request);
        }
    }

    /// Its access point calls it before it sends data, or asks what it received: that the station does not answer is no fault of the access
    /// point, whose response this is.
    pub(super) fn is_called(&mut self, packet: &CapturedPacket) {
        self.called_at.get_or_insert(packet.at);
        self.polls.unheard = None;
        self.end_polls(packet.at, Some((packet.at, packet.number)), false);
    }

    /// Whether a frame to several stations is for it, too: one whose list was cut off may be for any, and so may one for a station whose
    /// association identifier is not known.
    pub(super) fn may_be_among(&self, aids: &[u16]) -> bool {
        aids.is_empty() || self.record.aid.is_none_or(|aid| aids.contains(&aid))
    }

    /// Whether the access point called it in time after a request.
    fn was_called(&self, request: Instant) -> bool {
        self.called_at.is_some_and(|at| at >= request && at.saturating_since(request) <= PROMPT)
    }

    /// Whether its access point acknowledged a frame of it since a time that was not captured.
    fn was_unseen_since(&self, at: Instant) -> bool {
        self.uplink.was_unseen_since(at)
    }

    /// The station asked for access points, on this channel and probably on others.
    pub(super) const fn probed(&mut self) {
        self.pm_changes.probed();
    }

    pub(super) fn sent_by_station(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        acknowledged: Option<bool>,
        findings: &mut Findings,
    ) {
        self.called_at = None;
        self.uplink.shows_mode((packet, frame), frame.control.power_management, acknowledged);
        let is_heard = acknowledged == Some(true);
        let kind = frame.control.kind;
        let asleep = frame.control.power_management;
        if !packet.repeated {
            self.record.counts.nulls += u32::from(matches!(kind, FrameKind::Null | FrameKind::QosNull));
            self.record.counts.data_up += u32::from(kind.has_payload());
        }
        if kind.has_payload() {
            self.pm_changes.exchanged();
        }
        let before = self.modes.is_asleep();
        if asleep && before == Some(true) {
            self.is_awake_at((packet.at, packet.number), findings);
        }
        if before != Some(asleep) {
            self.change_mode((packet, frame), asleep, is_heard, findings);
        } else if asleep && self.record.is_trigger(frame) && !packet.repeated {
            self.record.counts.triggers += 1;
            if self.service.trigger(self.record.mac, (packet.at, packet.number), findings) {
                self.asks_again();
            }
            self.request_buffered(Request::new(packet, frame, is_heard));
        }
    }

    fn change_mode(
        &mut self,
        (packet, frame): (&CapturedPacket, &AirFrame),
        asleep: bool,
        is_heard: bool,
        findings: &mut Findings,
    ) {
        let (at, mark, mac) = (packet.at, (packet.at, packet.number), self.record.mac);
        self.stretch.end((mac, &self.uplink), findings);
        let known = self.modes.is_asleep().is_some();
        let woke = self.modes.since(false);
        self.modes.enter(asleep, mark);
        // A station in active mode has no service period and no PS-Poll open.
        self.end_polls(at, None, false);
        (self.polls.request, self.polls.unheard) = (None, None);
        self.service.close();
        if asleep {
            (self.beacons_from, self.woke) = (Some(mark), None);
            // In active mode nothing was buffered.
            self.emptied_at = if known { Some(at) } else { self.emptied_at };
            // What it asked for by leaving power save is buffered again, and it waits no longer.
            if let Some(promise) = &mut self.promised {
                promise.requested = None;
            }
            let requested = self.announced.as_mut().and_then(|announced| announced.requested.as_mut());
            if let Some(request) = requested.filter(|request| Some(request.mark) == woke) {
                request.is_unanswered = true;
            }
        } else {
            self.judge_sleep(findings);
            self.woke = known.then_some(at);
            if let Some(promise) = &mut self.promised {
                promise.has_woken = true;
            }
            self.asks_again();
            self.request_buffered(Request::new(packet, frame, is_heard));
        }
        if !known {
            return self.pm_changes.shown();
        }
        self.record.counts.pm_changes += 1;
        let air = frame.air_time().unwrap_or_default();
        let skips = |since| self.uplink.skips_since(since);
        self.pm_changes.change(mac, mark, (asleep, air), skips, findings);
    }

    pub(super) fn sent_to_station(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let (mark, frame) = (delivery.mark(), delivery.frame);
        // It also ends service periods of target wake time.
        if frame.eosp && findings.agreements(self.record.mac).wake_times_since().is_none() {
            self.record.uapsd = Some(true);
        }
        if delivery.acknowledged == Some(true) {
            self.is_awake_at(mark, findings);
        }
        if frame.control.kind.has_payload() {
            self.pm_changes.exchanged();
            self.record.counts.data_down += 1;
            self.check_announced(delivery, findings);
            self.check_asleep(delivery, findings);
            self.check_late(delivery, findings);
            self.judge_stuck(Some(delivery), findings);
            self.is_unheard = delivery.acknowledged == Some(false);
            if !self.is_unheard && !frame.control.more_data {
                self.emptied_at = Some(mark.0);
            }
            self.last_data = Some((delivery.counter, frame.sequence_control, frame.control.more_data));
            if let Some(promise) = self.promised.take() {
                let key = (FindingKind::MoreDataThenNothing, Verdict::Kept, self.record.mac);
                find(findings, key, promise.mark, &[promise.mark.1, mark.1], || "it was sent".to_owned());
            }
            // Of a station whose mode no frame shows More Data says that the access point takes it to be in power save.
            if !self.is_awake() {
                // In a fragment the bit may be about the fragments that follow.
                let promises = frame.control.more_data && !frame.control.more_fragments;
                let (counter, answers) = (delivery.counter, delivery.answers());
                self.promised = promises.then(|| Promise::new(mark, counter, self.emptied_at, answers));
                let may_be_awake = self.may_be_awake();
                if let Some(promise) = self.promised.as_mut().filter(|_| may_be_awake) {
                    promise.doubt.get_or_insert(MAY_BE_AWAKE);
                }
                self.beacons_from = Some(mark);
            }
            self.polls.first = None;
        }
        self.check_withdrawn(delivery, findings);
        self.check_stuck(delivery, findings);
        // A QoS Null with EOSP ends a service period in which nothing was sent: the station sleeps until a beacon announces a frame.
        if frame.eosp && !frame.control.kind.has_payload() {
            self.announced = None;
            self.ends_wake_time(delivery, findings);
        }
        if let (Some(Request { mark: poll, .. }), true) =
            (self.polls.request, frame.control.kind.has_payload())
        {
            let key = (FindingKind::TimStuck, Verdict::Kept, self.record.mac);
            find(findings, key, mark, &[poll.1, mark.1], || "there was a frame".to_owned());
        }
        self.answer_poll(delivery, findings);
        self.service.delivered(self.record.mac, mark, frame.eosp, findings);
    }
}
