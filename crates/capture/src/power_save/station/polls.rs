//! PS-Polls that nothing answers.
//!
//! A station without a response asks again, mostly after the next beacon: its PS-Polls up to the next response are one sequence, whose
//! wait begins with the first one that the access point acknowledged.

use super::{Delivery, StationState};
use crate::packet::{AirFrame, CapturedPacket};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided, seconds};
use crate::power_save::sequence::Counter;
use crate::power_save::wait::{Promise, Request, Unanswered, Unheard};
use crate::power_save::{IN_FLIGHT, Mark, NEVER, PROMPT};
use airwatt_base::{Instant, Span};

/// A PS-Poll this soon after another one without a response is the same one, sent again. Control frames need not have the
/// Retry bit (802.11-2020 9.2.4.1).
const POLL_AGAIN: Span = Span::from_millis(20);

impl StationState {
    /// `acknowledged` is `None` if the capture has no acknowledgements.
    pub(in crate::power_save) fn ps_poll(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        acknowledged: Option<bool>,
        findings: &mut Findings,
    ) {
        self.count_air(frame, true);
        let mark = (packet.at, packet.number);
        let is_heard = acknowledged == Some(true);
        let follows = |poll: &Request| packet.at.saturating_since(poll.mark.0) <= POLL_AGAIN;
        self.last_poll = Some(mark);
        self.count_unheard(mark, acknowledged);
        if packet.repeated || self.polled.as_ref().is_some_and(follows) {
            if let Some(poll) = &mut self.polled {
                poll.is_heard |= is_heard;
            }
            if let Some(promise) = &mut self.promised {
                promise.asked = Some(packet.at);
            }
            self.wait_for_answer(mark, is_heard);
            return;
        }
        self.record.counts.ps_polls += 1;
        self.is_awake_at(mark, findings);
        if let Some(aid) = frame.aid {
            self.record.has_aid(aid);
        }
        if let Some(polls) = &mut self.unanswered {
            polls.listened += packet.at.saturating_since(polls.last).min(NEVER);
            (polls.last, polls.polls) = (packet.at, polls.polls + 1);
        }
        let request = Request::new(packet, frame, is_heard);
        self.polled = Some(request);
        self.poll_air = frame.air_time().unwrap_or_default();
        self.request_buffered(request);
        self.wait_for_answer(mark, is_heard);
        self.shows_mode(packet, frame, true, acknowledged);
    }

    /// Begins a sequence with a PS-Poll that was acknowledged, if a beacon announced a frame. One that More Data announced is another finding.
    fn wait_for_answer(&mut self, mark: Mark, is_heard: bool) {
        let before = self.announced.map(|announced| announced.beacon).filter(|beacon| beacon.0 < mark.0);
        let (Some(before), true, None, None) = (before, is_heard, &self.promised, self.unanswered) else {
            return;
        };
        self.unanswered = Some(Unanswered {
            first: mark,
            before,
            after: None,
            buffered_until: before.0,
            last: mark.0,
            polls: 1,
            listened: Span::ZERO,
            is_proven: false,
        });
    }

    /// The beacons of the cell from the place `from` up to `last`, all after the PS-Polls so far. One without the bit says that the
    /// frame is gone.
    pub(super) fn read_polls(&mut self, cell: &Cell, from: usize, last: Instant, findings: &mut Findings) {
        let (Some(polls), Some(aid)) = (&mut self.unanswered, self.record.aid) else { return };
        let beacons = cell.marks[from..].iter().copied();
        let gone = cell.without_tim(polls.last, last + Span::from_nanos(1), aid).next();
        let is_left = |beacon: &Mark| gone.is_none_or(|gone| beacon.0 < gone.0);
        for beacon in beacons.take_while(is_left).filter(|beacon| beacon.0 > polls.last) {
            if cell.due(beacon).saturating_since(polls.first.0) > PROMPT {
                polls.after.get_or_insert(beacon);
            }
            polls.buffered_until = beacon.0;
        }
        if let Some((gone, _)) = gone {
            self.expire_polls(gone, findings);
            self.end_polls(gone, None, findings);
        }
    }

    /// PS-Polls that have waited for too long.
    ///
    /// The acknowledgement shows that the access point received one; its TIM bit, before and long after, that it had a frame and kept
    /// it; its sequence numbers, that the monitor missed none.
    pub(super) fn expire_polls(&mut self, now: Instant, findings: &mut Findings) {
        let has_expired = |at: Instant| now.saturating_since(at) > NEVER;
        self.polled.take_if(|poll| has_expired(poll.mark.0));
        if self.unheard.is_some_and(|polls| has_expired(polls.last.0)) {
            self.judge_unheard(None, findings);
        }
        let Some(polls) = self.unanswered.filter(|polls| !polls.is_proven && has_expired(polls.first.0))
        else {
            return;
        };
        let is_heard_after =
            self.heard_until.is_some_and(|until| until.saturating_since(polls.first.0) > NEVER);
        let could_send =
            findings.pauses.between(self.record.bssid, polls.first.0, polls.first.0 + NEVER) > PROMPT;
        let missed_none = !self.is_unheard
            && could_send
            && is_heard_after
            && self.nothing_missed_since.is_some_and(|since| since <= polls.first.0)
            && !self.counters.is_empty()
            && self.counters.iter().all(|counter| matches!(counter, Counter::Plain(_)));
        if missed_none && polls.after.is_some() {
            self.are_unanswered(polls);
        } else if self.is_unheard || self.assumption().is_none() {
            // What follows may be proven.
            self.end_polls(now, None, findings);
        }
    }

    /// QoS data: its numbers show whether any was missed since the first of the PS-Polls.
    pub(super) fn prove_polls(&mut self, delivery: &Delivery<'_>, findings: &Findings) {
        let Some(polls) = self.unanswered.filter(|polls| !polls.is_proven) else { return };
        let first = polls.first.0;
        let is_overdue = polls.after.is_some() && delivery.packet.at.saturating_since(first) > NEVER;
        let could_send = || findings.pauses.between(self.record.bssid, first, delivery.packet.at) > PROMPT;
        if is_overdue
            && could_send()
            && self.missed_none_since(delivery, first)
            && self.missed_no_management_since(delivery, first)
        {
            self.are_unanswered(polls);
        }
    }

    fn are_unanswered(&mut self, polls: Unanswered) {
        self.unanswered = Some(Unanswered { is_proven: true, ..polls });
        if let Some(request) = self.announced.as_mut().and_then(|one| one.requested.as_mut()) {
            request.is_unanswered = true;
        }
    }

    fn count_unheard(&mut self, mark: Mark, acknowledged: Option<bool>) {
        if acknowledged != Some(false) {
            self.unheard = None;
        } else if let Some(polls) = &mut self.unheard {
            (polls.last, polls.polls) = (mark, polls.polls + 1);
        } else {
            self.unheard = Some(Unheard { first: mark, last: mark, polls: 1 });
        }
    }

    /// PS-Polls that neither an acknowledgement nor data followed: no monitor sees whether the access
    /// point received them, and a station without a response asks again: if it did not, the monitor missed the response.
    pub(super) fn judge_unheard(&mut self, answer: Option<Mark>, findings: &mut Findings) {
        let Some(Unheard { first, last, polls }) = self.unheard.take() else { return };
        if self.promised.is_none() && polls > 1 {
            let key = (FindingKind::PsPollUnanswered, Verdict::Undecidable, self.record.mac);
            find(findings, key, first, &[first.1, last.1], || {
                let until = answer.map_or_else(String::new, |(at, packet)| {
                    format!(
                        " until packet {packet}, {} after the first",
                        seconds(at.saturating_since(first.0))
                    )
                });
                format!(
                    "the station sent its PS-Poll {polls} times, and neither an acknowledgement nor data followed{until}: the access point did \
                     not receive it, or the monitor missed the response"
                )
            });
        }
    }

    /// A frame for the station answers its PS-Poll.
    pub(super) fn answer_poll(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let mark = delivery.mark();
        if delivery.is_copy()
            && let Some(polls) = &mut self.unanswered
        {
            // When it was first sent is not known.
            polls.is_proven = false;
        }
        let has_lasted = |polls: Unheard| mark.0.saturating_since(polls.first.0) > NEVER;
        if self.unheard.is_some_and(has_lasted) {
            self.judge_unheard(Some(mark), findings);
        }
        self.unheard = None;
        self.end_polls(mark.0, Some(mark), findings);
        if let Some(Request { mark: poll, .. }) = self.polled.take() {
            let key = (FindingKind::PsPollUnanswered, Verdict::Kept, self.record.mac);
            find(findings, key, poll, &[poll.1, mark.1], || format!("packet {} answers it", mark.1));
            // Data answers it in the place of an acknowledgement: the access point heard that the station is in power save.
            if let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.packet == poll.1) {
                frame.heard = true;
            }
        }
    }

    /// A management frame that is buffered as data is (802.11-2020 11.2.3): it answers a PS-Poll, and is or may be what the TIM bit and More
    /// Data announced.
    pub(in crate::power_save) fn managed(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let Delivery { packet, frame, acknowledged, .. } = *delivery;
        if packet.repeated {
            self.is_unheard &= acknowledged != Some(true);
        } else {
            self.is_unheard |= acknowledged == Some(false);
        }
        self.fulfil(delivery, findings);
        if self.is_awake() {
            return;
        }
        let mark = (packet.at, packet.number);
        self.managed_at = Some(packet.at);
        self.announced = None;
        if frame.control.retry
            && let Some(polls) = &mut self.unanswered
        {
            // When it was first sent is not known.
            polls.is_proven = false;
        }
        self.unheard = None;
        self.end_polls(mark.0, Some(mark), findings);
        if let Some(poll) = self.polled.take() {
            let key = (FindingKind::PsPollUnanswered, Verdict::Kept, self.record.mac);
            find(findings, key, poll.mark, &[poll.mark.1, mark.1], || {
                format!("packet {} answers it", mark.1)
            });
        }
    }

    /// A management frame to a station: the one that More Data announced, or another one whose own More Data announces that.
    fn fulfil(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let (frame, mark) = (delivery.frame, delivery.mark());
        if delivery.packet.repeated {
            self.promises_again((delivery.packet, frame), delivery.at_once);
            return;
        }
        if let Some((cell, aid)) = delivery.cell.zip(self.record.aid) {
            self.note_concealed(delivery, (cell, aid), false, findings);
            if let (Some(from), true) = (self.beacons_from, self.polled.is_some()) {
                self.note_flicker(delivery, (cell, aid), from);
            }
        }
        if let Some(promise) = self.promised.take() {
            let key = (FindingKind::MoreDataThenNothing, Verdict::Kept, self.record.mac);
            find(findings, key, promise.mark, &[promise.mark.1, mark.1], || "it was sent".to_owned());
        }
        self.last_data = Some((delivery.counter, frame.sequence_control, frame.control.more_data));
        if frame.control.more_data && frame.is_bufferable && !self.is_awake() {
            self.promised = Some(Promise::new(mark, delivery.counter, mark.0 + IN_FLIGHT, delivery.at_once));
        }
    }

    /// A sequence of PS-Polls ends, with a response or without.
    pub(super) fn end_polls(&mut self, at: Instant, answer: Option<Mark>, findings: &mut Findings) {
        let Some(polls) = self.unanswered.take() else { return };
        let Some(after) = polls.after.filter(|_| at.saturating_since(polls.first.0) > NEVER) else { return };
        let Unanswered { first, before, buffered_until, .. } = polls;
        let verdict = if polls.is_proven { Verdict::Violated } else { Verdict::Undecidable };
        let until = answer.map_or(buffered_until, |(at, _)| at);
        let waited = until.saturating_since(first.0);
        let deciding: Vec<u32> =
            [before.1, first.1, after.1].into_iter().chain(answer.map(|(_, packet)| packet)).collect();
        let assumption = self.assumption();
        let key = (FindingKind::PsPollUnanswered, verdict, self.record.mac);
        let found = find(findings, key, first, &deciding, || {
            let again = match polls.polls {
                1 => String::new(),
                count => format!(", though the station asked {count} times"),
            };
            let missed = "; the monitor may have missed the response";
            let doubt = if polls.is_proven { provided(assumption) } else { missed.to_owned() };
            format!(
                "the access point acknowledged the PS-Poll and sent nothing for {}{again}; the beacon of packet {} still has the \
                 station's TIM bit{doubt}",
                seconds(waited),
                after.1
            )
        });
        if let Some(finding) = found {
            let last = if answer.is_some() { Span::ZERO } else { at.saturating_since(polls.last).min(NEVER) };
            let sent = self.poll_air * u64::from(polls.polls - 1);
            finding.excess += Excess { sent, ..Excess::awake(polls.listened + last) };
            finding.buffered(before.0, until);
            finding.assume(assumption);
            self.delays_others(FindingKind::PsPollUnanswered, first.0, until);
        }
    }
}
