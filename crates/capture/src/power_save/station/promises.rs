//! What More Data obliges an access point to: another frame is buffered, beacons announce it until it is fetched, and who asks receives it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};

use super::evidence::NO_NULL;
use super::{Delivery, StationState};
use crate::packet::{AirFrame, CapturedPacket};
use crate::power_save::cell::{Cell, NOT_FREE};
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided};
use crate::power_save::sequence::Counter;
use crate::power_save::wait::{Announcer, Concealed, Promise, Unkept};
use crate::power_save::{IN_FLIGHT, Mark, NEVER, PROMPT};

/// What the verdict about a beacon without the bit assumes: a frame that was discarded leaves no trace, since it never had a number.
const NOT_DISCARDED: &str =
    "the access point did not discard the frame that it announced, and buffer this one later";
/// The same for QoS data ([`StationState::assumption`]).
const NOT_DISCARDED_NOR_MISSED: &str = "the access point did not discard the frame that it announced, and buffer this one later, and \
                                        no frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";

/// The same for a station that sends QoS Null frames, which have no number.
const NOR_WOKEN: &str = "the access point did not discard the frame that it announced, and buffer this one later, no frame was missed of \
                         a traffic identifier, or of management, whose numbers the capture does not show, and no QoS Null frames with their acknowledgements were missed by which the \
                         station left power save for each of these beacons and entered it again";

/// An access point keeps a frame for the listen interval after it arrived.
pub(super) const DISCARDED: &str = "the announced one may have been discarded for its age before, since it may have waited for the listen interval";

/// An access point that sets bits with nothing behind them may have done so there.
const UNTRUE: &str = "the bit before may have announced nothing, as another one of the access point did";

/// Why a frame of another station need not have been buffered when it came.
const MAY_HAVE_BEEN_AWAKE: &str =
    "no frames show that the station was in power save when it came to the access point";

/// Why More Data may have been right, although a request brought nothing.
const WOKEN: &str = "the station left power save instead of asking by a PS-Poll, and an access point that has discarded the frame owes no answer to that";
const AGED: &str = "the frame may have been discarded for its age before the request, which came later than the listen interval allows";
const GONE: &str = "a beacon before the request had the station's TIM bit clear: the frame was gone by then, as one that is discarded";
const OTHER_CATEGORY: &str = "the station may be served by U-APSD, and More Data be about an access category that its request was not for";
const UNSEEN: &str = "no beacon after the request shows whether the frame was still there";

/// Beacons that are kept of each station whose frame is not announced: a minute and a half of them. A capture may have thousands of stations.
const MOST_CONCEALING: usize = 1_000;

/// A frame that the station asked for within this time before a beacon may be on its way, and not in the buffer any more.
pub(super) const TAKEN: Span = Span::from_millis(20);

impl StationState {
    /// The beacons up to `last`.
    ///
    /// Once a beacon had the bit, one without it may say that an exchange emptied the buffer that the monitor missed, of another traffic
    /// identifier or of management.
    pub(super) fn read_promise(&mut self, cell: &Cell, last: Instant, aid: u16) {
        let Some(promise) =
            self.promised.as_mut().filter(|promise| !promise.is_settled && !promise.has_woken)
        else {
            return;
        };
        let end = last + Span::from_nanos(1);
        let until = cell.with_tim(promise.mark.0, end, aid).map_or(end, |(at, _)| end.min(at));
        // A beacon that waited for the channel was composed before its target time.
        let (read_until, announced, asked) = (promise.read_until, promise.mark.0, promise.asked);
        // The clock of the capture may have been set in between.
        let is_within = |since: Instant, due: Instant, time: Span| cell.least_elapsed(since, due) <= time;
        // For a request right before a beacon the frame may have left the buffer already, and follow the beacon.
        let is_taken = |due: Instant| asked.is_some_and(|asked| is_within(asked, due, TAKEN));
        let judged = |beacon: &Mark| {
            let due = cell.due(*beacon);
            !is_within(announced, due, IN_FLIGHT) && !is_taken(due)
        };
        let room = MOST_CONCEALING.saturating_sub(promise.concealing.len());
        promise.concealing.extend(cell.without_tim(read_until, until, aid).filter(judged).take(room));
        promise.read_until = promise.read_until.max(last);
        promise.is_settled = until < end;
    }

    /// Up to when the access point keeps what was buffered at a time: for the listen interval after it arrived (802.11-2020 11.2.3.6), which was
    /// after a beacon said that nothing was there, or after frames did at `emptied_at`. Without either it may have been there since the association,
    /// or before the capture began. `None` if the listen interval is not known.
    pub(super) fn kept_until(
        &self,
        (cell, aid): (&Cell, u16),
        emptied_at: Option<Instant>,
        buffered: Instant,
    ) -> Option<Instant> {
        let kept_for = cell.interval * u64::from(self.association.listen_interval?.max(1));
        let clear = cell.without_tim(Instant::ZERO, buffered, aid).next_back();
        let arrived_after = clear.map(|beacon| cell.due(beacon)).max(emptied_at.filter(|at| *at < buffered));
        Some(arrived_after.unwrap_or(Instant::ZERO) + kept_for + IN_FLIGHT)
    }

    /// Another transmission of a frame: the access point sets More Data anew in each, by what is buffered then.
    pub(in crate::power_save) fn promises_again(
        &mut self,
        (packet, frame): (&CapturedPacket, &AirFrame),
        answers: [Option<bool>; 2],
    ) {
        let counter = Counter::of(frame);
        let Some((_, _, more_at_first)) =
            self.last_data.filter(|last| (last.0, last.1) == (counter, frame.sequence_control))
        else {
            return;
        };
        let control = &frame.control;
        if control.more_fragments {
            return;
        }
        if let Some(promise) = &mut self.promised {
            promise.repeated(control.more_data, answers[1]);
        } else if control.more_data && !more_at_first && !self.is_awake() {
            let mark = (packet.at, packet.number);
            self.promised = Some(Promise::new(mark, counter, self.emptied_at, answers));
        }
    }

    /// A frame to the station after one with More Data. Whether it is judged: beacons in between had to announce a frame, and did not.
    ///
    /// `has_just_woken` says that the station left power save right before it.
    pub(super) fn note_concealed(
        &mut self,
        delivery: &Delivery<'_>,
        (cell, aid): (&Cell, u16),
        has_just_woken: bool,
        findings: &Findings,
    ) -> bool {
        let came = delivery.mark();
        if let Some(promise) = &mut self.promised {
            // The monitor may have missed such a request, which has no number: the frame comes soon after the beacon, and nothing asks for it.
            let is_answer = |(at, _): &mut Mark| {
                came.0.saturating_since(*at) <= PROMPT && promise.asked.is_none_or(|asked| asked < *at)
            };
            promise.concealing.pop_if(is_answer);
        }
        let Some(promise) = self.promised.as_ref().filter(|promise| !promise.concealing.is_empty()) else {
            return false;
        };
        let mut promise = promise.clone();
        let kept_until = self.kept_until((cell, aid), promise.emptied_at, promise.mark.0);
        let is_kept = |beacon: &Mark| kept_until.is_none_or(|until| cell.due(*beacon) <= until);
        let is_aged = !promise.concealing.first().is_some_and(is_kept);
        if !is_aged {
            promise.concealing.retain(is_kept);
        }
        let assumption = self.assumption();
        let concealed = Concealed {
            doubt: is_aged
                .then_some(DISCARDED.into())
                .or_else(|| self.doubt_of_promise(&promise, delivery, cell, has_just_woken)),
            assumption: match assumption {
                Some(_) => NOT_DISCARDED_NOR_MISSED,
                None => NOT_DISCARDED,
            },
            hears_naps: self.hears_naps(&promise, delivery, findings),
            was_unseen: assumption.is_some() && self.was_unseen_since(promise.mark.0),
            times: cell.times_of(&promise.concealing, (promise.mark.0, came.0), aid),
            promise,
            came,
        };
        self.concealed.push(concealed);
        true
    }

    /// Enters beacons that something other than More Data says to have concealed a frame, which then `came`; `from` is the last frame before it.
    /// Of the assumptions the second one is that of a station with QoS data.
    pub(super) fn conceals(
        &mut self,
        (promise, came): (Promise, Mark),
        doubt: Option<&'static str>,
        assumptions: [&'static str; 2],
        (cell, aid, from): (&Cell, u16, Mark),
    ) {
        let is_qos = self.assumption().is_some();
        self.concealed.push(Concealed {
            doubt: doubt.map(Into::into),
            assumption: assumptions[usize::from(is_qos)],
            hears_naps: false,
            was_unseen: is_qos && self.was_unseen_since(from.0),
            times: cell.times_of(&promise.concealing, (promise.mark.0, came.0), aid),
            promise,
            came,
        });
    }

    /// Whether a station that sends QoS Null frames, which have no number, can hardly have left power save unseen for these beacons: it would
    /// have done so for each of several, in so short times that the access point sent nothing on a free channel, and of all that it heard and
    /// acknowledged the monitor has every frame.
    fn hears_naps(&self, promise: &Promise, delivery: &Delivery<'_>, findings: &Findings) -> bool {
        let (Some(first), [_, .., last]) = (promise.concealing.first(), &promise.concealing[..]) else {
            return false;
        };
        delivery.acknowledged == Some(true)
            && !self.was_unseen_since(promise.mark.0)
            && findings.pauses.between(self.record.bssid, first.0, last.0) > PROMPT
    }

    /// Decides about beacons that concealed a frame. They violated the rule if it is the one that More Data announced and the station slept,
    /// which its later frames show too, as their numbers say whether one was missed in which it left power save.
    pub(super) fn judge_concealed(&mut self, findings: &mut Findings) {
        for concealed in std::mem::take(&mut self.concealed) {
            let Concealed { promise, came, doubt, assumption, hears_naps, was_unseen, times } = concealed;
            let untrue = promise.by == Announcer::Tim && findings.shows_untrue_bits(self.record.mac);
            let was_asleep =
                promise.by != Announcer::Relay || self.uplink.proves_sleep(promise.mark.0).is_some();
            let doubt = doubt
                .or(untrue.then_some(UNTRUE.into()))
                .or((!was_asleep).then_some(MAY_HAVE_BEEN_AWAKE.into()));
            let (mut violated, mut late) = (0, None);
            for (beacon, (announced, waited)) in
                promise.concealing.iter().zip(times).filter(|_| doubt.is_none())
            {
                let proven = self.uplink.proves_sleep(beacon.0).map(|asleep| (asleep, assumption));
                let by_numbers =
                    || self.uplink.shows_sleep_by_numbers(beacon.0).map(|asleep| (asleep, NOR_WOKEN));
                let asleep = match hears_naps && self.uplink.sends_qos_nulls {
                    _ if was_unseen => None,
                    true => by_numbers(),
                    false => proven,
                };
                let Some((asleep, assumption)) = asleep else { continue };
                let mut deciding = asleep;
                deciding.extend([promise.mark.1, beacon.1, came.1]);
                deciding.sort_unstable();
                deciding.dedup();
                let key = (FindingKind::TimNeverSet, Verdict::Violated, self.record.mac);
                let found = find(findings, key, *beacon, &deciding, || {
                    let packet = promise.mark.1;
                    let announced = match promise.by {
                        Announcer::MoreData => "More Data announced".to_owned(),
                        Announcer::Tim => format!("the bit in the beacon of packet {packet} announced"),
                        Announcer::Relay => format!("packet {packet} brought the access point"),
                    };
                    format!(
                        "a beacon without the station's TIM bit, {:.3} s after {announced} the frame of packet {}{}",
                        waited.as_secs_f64(),
                        came.1,
                        provided(Some(assumption))
                    )
                });
                violated += 1;
                let Some(finding) = found else { continue };
                finding.buffered(promise.mark.0, came.0);
                finding.assume(Some(assumption));
                if violated == 1 {
                    // From the first beacon with the bit on the station is at fault.
                    late = Some((beacon.0, announced));
                }
            }
            if violated == 0 {
                let why = doubt.unwrap_or("the station may have left power save unseen".into());
                let then = format!("and then the frame of packet {} came; {why}", came.1);
                self.leave_concealed(&promise, Some(came.1), &then, findings);
            }
            if let Some((since, until)) = late {
                self.delays_others(FindingKind::TimNeverSet, since, until);
            }
        }
    }

    /// Beacons that did not announce what More Data did: undecidable. `next` is the packet of the next frame.
    fn leave_concealed(&self, promise: &Promise, next: Option<u32>, then: &str, findings: &mut Findings) {
        let (Some(first), Some(last)) = (promise.concealing.first(), promise.concealing.last()) else {
            return;
        };
        let mut deciding: Vec<u32> = [promise.mark.1, first.1, last.1].into_iter().chain(next).collect();
        deciding.dedup();
        let key = (FindingKind::TimNeverSet, Verdict::Undecidable, self.record.mac);
        find(findings, key, *first, &deciding, || {
            let beacons = match promise.concealing.len() {
                1 => "the beacon after it was".to_owned(),
                count => format!("{count} beacons after it were"),
            };
            let packet = promise.mark.1;
            let announced = match promise.by {
                Announcer::MoreData => format!("More Data of packet {packet} announced a frame"),
                Announcer::Tim => format!("the station's TIM bit of packet {packet} announced a frame"),
                Announcer::Relay => format!("packet {packet} brought the access point a frame"),
            };
            format!("{announced}, {beacons} without the station's TIM bit, {then}")
        });
    }

    /// The frame that More Data announced is not expected any more: the capture or the association ends, or the station has asked in vain.
    pub(super) fn forget_promise(&mut self, findings: &mut Findings) {
        if let Some(promise) = self.promised.take() {
            let then = "and the frame was not captured: concealed, given up, or missed by the monitor";
            self.leave_concealed(&promise, None, then, findings);
        }
    }

    /// The capture ends. The station may have asked for the frame so long before that it was due.
    pub(super) fn leave_promise(&mut self, until: Instant, findings: &mut Findings) {
        let asked = self.promised.as_ref().and_then(|promise| Some((promise.mark, promise.requested?.mark)));
        let overdue = asked.filter(|(_, asked)| until.saturating_since(asked.0) > PROMPT);
        if let Some((mark, asked)) = overdue {
            let key = (FindingKind::MoreDataThenNothing, Verdict::Undecidable, self.record.mac);
            find(findings, key, mark, &[mark.1, asked.1], || {
                "More Data was set, the station requested the frame, and the capture ended".to_owned()
            });
        }
    }

    /// Why the frame does not have to be the one that More Data announced at `since`: another may have been sent to the station, with its
    /// counter or as management, which is numbered with all but QoS data, or it answers what the station sent later.
    fn doubt_of_next(&self, delivery: &Delivery<'_>, cell: &Cell, since: Instant) -> Option<String> {
        if let Some((_, asked)) = delivery.not_before.filter(|(asked, _)| *asked > since) {
            return Some(format!(
                "it may be another frame, since it answers packet {asked}, which came later"
            ));
        }
        let bssid = self.record.bssid;
        let shared =
            bssid.map_or([None; 2], |bssid| [Counter::Shared(bssid), Counter::Beacons(bssid)].map(Some));
        let own = delivery.counter.filter(|counter| !matches!(counter, Counter::Plain(_)));
        let missing = |of: &str, counters: &[Option<Counter>]| {
            // Beacons and other frames may have one counter or not.
            let is_one = |counter: &&Counter| cell.sequences.unbroken_since(**counter).is_some();
            let counter = counters.iter().flatten().find(is_one);
            let gap = counter.and_then(|counter| cell.sequences.gap_after(*counter, since));
            gap.map_or_else(
                || format!("it may be another frame, since one of {of} may have been missed"),
                |gap| format!("it may be another frame: of {of}, {gap}"),
            )
        };
        if !self.is_next_since(delivery, since) {
            return Some(match own {
                Some(own) => missing("the numbers of data to the station", &[Some(own)]),
                None => missing("the access point's numbers", &[shared[0], delivery.counter]),
            });
        }
        let beacons = bssid.and_then(|bssid| cell.beacons_unbroken_since(bssid));
        let is_complete = beacons.is_some_and(|unbroken| unbroken <= since)
            && !self.missed_management_since(delivery, since);
        (own.is_some() && !is_complete)
            .then(|| missing("the access point's numbers of beacons and management", &shared))
    }

    /// Why the frame that More Data announced does not have to be this one, or no beacon had to announce it.
    fn doubt_of_promise(
        &self,
        promise: &Promise,
        delivery: &Delivery<'_>,
        cell: &Cell,
        has_just_woken: bool,
    ) -> Option<Cow<'static, str>> {
        let since = promise.mark.0;
        if let Some(doubt) = promise.doubt.or_else(|| self.doubt_of_bits(delivery, cell, since)) {
            return Some(doubt.into());
        }
        if promise.has_woken && !has_just_woken {
            return Some("it may be another frame, since the station had left power save before it".into());
        }
        if promise.counter != delivery.counter {
            return Some(
                "it has another traffic identifier or counter, so that it may be another frame and the announced one was missed or given up".into(),
            );
        }
        self.doubt_of_next(delivery, cell, since).map(Cow::Owned)
    }

    /// Why beacons since a time need not have the station's bit, or do not show it, whatever frame came then.
    pub(super) fn doubt_of_bits(
        &self,
        delivery: &Delivery<'_>,
        cell: &Cell,
        since: Instant,
    ) -> Option<&'static str> {
        if self.record.uapsd.is_none() && self.may_have_uapsd(cell) {
            Some(
                "without its association it may be a station with U-APSD, of which the TIM may leave out access categories",
            )
        } else if self.record.uapsd == Some(true) {
            Some("the TIM may leave out access categories of a station with U-APSD")
        } else if self.association.is_multi_link.unwrap_or(cell.is_multi_link) {
            Some("the station may have been awake on another of its links (802.11be)")
        } else if delivery.frame.sent_here {
            Some("the access point made the capture, whose times are not those on the air")
        } else if cell.restarted(since, delivery.packet.at) {
            Some("the access point's clock began anew meanwhile, and with it perhaps its buffer")
        } else if delivery.is_copy() {
            Some("its first transmission was not captured")
        } else {
            None
        }
    }

    /// A Null frame without More Data answers the request for a frame that More Data announced: an access point may have discarded it, as
    /// with a full queue, or the monitor missed it. The station waits no longer.
    pub(super) fn check_withdrawn(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let (mark, control) = (delivery.mark(), &delivery.frame.control);
        if !matches!(control.kind, FrameKind::Null | FrameKind::QosNull) || control.more_data {
            return;
        }
        let asked = self.promised.as_ref().and_then(|promise| Some((promise.mark, promise.requested?.mark)));
        let Some((promised, request)) = asked else { return };
        self.forget_promise(findings);
        let key = (FindingKind::MoreDataThenNothing, Verdict::Undecidable, self.record.mac);
        find(findings, key, promised, &[promised.1, request.1, mark.1], || {
            "More Data was set, and a Null frame without it answered the station's request: the access point discarded the frame, or the \
             monitor missed it"
                .to_owned()
        });
    }

    /// The station has asked for what More Data announced, and waited for too long.
    pub(super) fn expire_promise(&mut self, now: Instant, findings: &mut Findings) {
        let Some(Promise { mark, counter, requested: Some(request), doubt, .. }) = &self.promised else {
            return;
        };
        // As long as beacons announce the frame, it is there: the PS-Poll is what is at fault.
        let is_asked_for = self
            .polls
            .unanswered
            .as_ref()
            .is_some_and(|polls| polls.promise.is_some() && polls.may_be_buffered());
        if now.saturating_since(request.mark.0) <= NEVER || is_asked_for {
            return;
        }
        let (mark, counter, request, doubt) = (*mark, *counter, *request, *doubt);
        self.forget_promise(findings);
        let has_shared = matches!(counter, Some(Counter::Plain(_)));
        // A frame of the access point has to follow the time of the answer: without one, nothing shows that none was sent.
        let missed_none = !self.is_unheard
            && self.nothing_missed_since.is_some_and(|since| since <= mark.0)
            && self.heard_until.is_some_and(|until| until.saturating_since(request.mark.0) > PROMPT);
        let asked = request.mark.0;
        let doubt = if self.was_called(asked) {
            Some("the access point called the station in time, which may not have answered")
        } else if findings.pauses.between(self.record.bssid, asked, asked + NEVER) <= PROMPT {
            Some(NOT_FREE)
        } else {
            doubt
        };
        // QoS data has counters of its own, whose next numbers come later.
        let is_complete = (!has_shared || missed_none) && !self.is_unheard && request.is_heard;
        let by_waking = self.modes.since(false) == Some(request.mark);
        let doubt = doubt
            .or((!is_complete).then_some("the monitor may have missed it"))
            .or(by_waking.then_some(WOKEN));
        let Some(bssid) = self.record.bssid else { return };
        self.open.unkept.push(Unkept {
            promise: mark,
            request: request.mark,
            until: now,
            doubt,
            counters: if has_shared { Vec::new() } else { self.counters.clone() },
            bssid,
            aid: self.record.aid,
            listen_interval: self.association.listen_interval,
        });
    }

    /// Decides about what More Data announced and requests did not bring, by the beacons as well: they show whether the frame was still there.
    pub(super) fn judge_unkept(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        for unkept in std::mem::take(&mut self.open.unkept) {
            let cell = cells.get(&unkept.bssid);
            let by_beacons = || cell.and_then(|cell| unkept.doubt_by_beacons(cell));
            let of_qos = cell.filter(|_| !unkept.counters.is_empty());
            let by_category =
                || of_qos.is_some_and(|cell| self.may_have_uapsd(cell)).then_some(OTHER_CATEGORY);
            let doubt = unkept.doubt.or_else(by_beacons).or_else(by_category).map(str::to_owned);
            let doubt = doubt.or_else(|| unkept.doubt_by_counters(of_qos?));
            let verdict = if doubt.is_some() { Verdict::Undecidable } else { Verdict::Violated };
            let assumption = of_qos.map(|_| NO_NULL).filter(|_| doubt.is_none());
            let key = (FindingKind::MoreDataThenNothing, verdict, self.record.mac);
            let deciding = [unkept.promise.1, unkept.request.1];
            let found = find(findings, key, unkept.promise, &deciding, || {
                let why = doubt.as_deref().unwrap_or("by the access point's sequence numbers none was sent");
                let provided = provided(assumption);
                format!(
                    "More Data was set, the station requested the frame, and none was captured: {why}{provided}"
                )
            });
            if let Some(finding) = found {
                finding.cost(Excess::awake(NEVER));
                finding.assume(assumption);
            }
        }
    }
}

impl Unkept {
    /// Why the monitor may have missed the frame among QoS data, by the numbers before and after.
    fn doubt_by_counters(&self, cell: &Cell) -> Option<String> {
        let until = self.request.0 + NEVER;
        let complete = cell.numbers.complete_until((self.bssid, &self.counters), self.promise.0, until);
        complete.err().map(|missing| missing.to_string())
    }

    /// Why the frame may have been there when More Data was set and gone when it was requested, or be there still.
    fn doubt_by_beacons(&self, cell: &Cell) -> Option<&'static str> {
        let (announced, requested) = (self.promise.0, self.request.0);
        let kept_for = cell.interval * u64::from(self.listen_interval.unwrap_or(1).max(1)) + IN_FLIGHT;
        if requested.saturating_since(announced) > kept_for {
            return Some(AGED);
        }
        let Some(aid) = self.aid else { return Some(UNSEEN) };
        let is_clear = |from, until, composed_after| {
            cell.without_tim(from, until, aid).any(|beacon| cell.due(beacon) > composed_after)
        };
        if is_clear(announced, requested, announced + IN_FLIGHT) {
            return Some(GONE);
        }
        let end = self.until + Span::from_nanos(1);
        (!is_clear(requested, end, requested)).then_some(UNSEEN)
    }
}
