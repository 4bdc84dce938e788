//! PS-Polls that nothing answers.
//!
//! A station without a response asks again, mostly after the next beacon: its PS-Polls up to the next response are one sequence. `ignored`
//! decides about it.

use super::{Delivery, StationState};
use crate::packet::{AirFrame, CapturedPacket};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{FindingKind, Findings, Verdict, find, seconds};
use crate::power_save::wait::{EndedPolls, Promise, Request, Unanswered, Unheard};
use crate::power_save::{IN_FLIGHT, Mark, NEVER, PROMPT};
use airwatt_base::{Instant, Span};

/// Why More Data of a frame says nothing of what is buffered later.
const WOKEN: &str = "the station left power save after the frame with More Data, so that the announced one may have been sent unseen";

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
            match self.unanswered.as_mut().and_then(|polls| polls.polls.last_mut()) {
                Some((_, was_heard)) => *was_heard |= is_heard,
                None => self.wait_for_answer(mark, is_heard),
            }
            return;
        }
        self.record.counts.ps_polls += 1;
        self.is_awake_at(mark, findings);
        if let Some(aid) = frame.aid {
            self.record.has_aid(aid);
        }
        if self.unanswered.as_ref().is_some_and(|polls| polls.gone.is_some()) {
            self.end_polls(packet.at, None, false);
        }
        let request = Request::new(packet, frame, is_heard);
        self.polled = Some(request);
        self.poll_air = frame.air_time().unwrap_or_default();
        self.request_buffered(request);
        self.wait_for_answer(mark, is_heard);
        self.shows_mode(packet, frame, true, acknowledged);
    }

    /// Enters a PS-Poll in its sequence, which begins with one that was acknowledged.
    fn wait_for_answer(&mut self, mark: Mark, is_heard: bool) {
        if let Some(polls) = &mut self.unanswered {
            polls.polls.push((mark, is_heard));
        } else if is_heard {
            let promise = self.promised.as_ref().map(|promise| {
                let doubt = promise.doubt.or(promise.has_woken.then_some(WOKEN));
                (promise.mark, doubt)
            });
            let last = self.beacons_from.map(|(at, _)| at);
            self.unanswered = Some(Unanswered {
                polls: vec![(mark, true)],
                promise,
                from: last.max(self.managed_at),
                emptied_at: self.emptied_at,
                is_unheard: self.is_unheard,
                is_still_announced: None,
                gone: None,
                air: self.poll_air,
            });
        }
    }

    /// The first PS-Poll without a response, as the request for what a later beacon announces.
    pub(super) fn outstanding(&self) -> Option<Request> {
        let mark = self.unanswered.as_ref()?.first();
        Some(Request { mark, is_heard: true, received_us: None, is_asked_again: false, is_unanswered: true })
    }

    /// The beacons of the cell from the place `from` up to `last`, all after the PS-Polls so far. One without the bit says that the
    /// frame is gone.
    pub(super) fn read_polls(&mut self, cell: &Cell, from: usize, last: Instant) {
        let (Some(polls), Some(aid)) = (&mut self.unanswered, self.record.aid) else { return };
        if polls.gone.is_some() {
            return;
        }
        let (asked, end) = (polls.last().0, last + Span::from_nanos(1));
        polls.gone = cell.without_tim(asked, end, aid).next();
        let until = polls.gone.map_or(end, |gone| gone.0);
        let is_long_after = |beacon: &Mark| cell.due(*beacon).saturating_since(polls.first().0) > PROMPT;
        let Some(first) = cell.marks[from..].iter().copied().find(is_long_after) else { return };
        let is_announced =
            polls.is_still_announced == Some(true) || announced_from(cell, aid, first.0, until).is_some();
        polls.is_still_announced = Some(is_announced);
    }

    /// PS-Polls that have waited for too long.
    pub(super) fn expire_polls(&mut self, now: Instant, findings: &mut Findings) {
        let has_expired = |at: Instant| now.saturating_since(at) > NEVER;
        self.polled.take_if(|poll| has_expired(poll.mark.0));
        if self.unheard.is_some_and(|polls| has_expired(polls.last.0)) {
            self.judge_unheard(None, findings);
        }
        if self.unanswered.as_ref().is_some_and(|polls| polls.gone.is_some() && has_expired(polls.first().0))
        {
            self.end_polls(now, None, false);
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
        let has_lasted = |polls: Unheard| mark.0.saturating_since(polls.first.0) > NEVER;
        if self.unheard.is_some_and(has_lasted) {
            self.judge_unheard(Some(mark), findings);
        }
        self.unheard = None;
        self.end_polls(mark.0, Some(mark), delivery.is_copy());
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
        self.unheard = None;
        self.end_polls(mark.0, Some(mark), frame.control.retry);
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

    /// A sequence of PS-Polls ends, with a response or without. Of the response an earlier transmission may have been missed (`is_copy`).
    pub(super) fn end_polls(&mut self, at: Instant, answer: Option<Mark>, is_copy: bool) {
        let Some(polls) = self.unanswered.take() else { return };
        let (Some(bssid), Some(aid)) = (self.record.bssid, self.record.aid) else { return };
        let first = polls.first().0;
        if at.saturating_since(first) <= NEVER {
            return;
        }
        if let Some(promise) = &mut self.promised
            && polls.is_still_announced == Some(true)
        {
            // What More Data announced was there: the PS-Polls are at fault, or nothing is.
            promise.requested = None;
        }
        self.ended_polls.push(EndedPolls {
            until: polls.gone.map_or(at, |gone| gone.0.min(at)),
            of: polls,
            answer,
            is_copy,
            bssid,
            aid,
            counters: self.counters.clone(),
            listen_interval: self.listen_interval,
            is_multi_link: self.is_multi_link,
        });
    }
}

/// The first beacon from a time on and before another that has the bit.
pub(super) fn announced_from(cell: &Cell, aid: u16, from: Instant, until: Instant) -> Option<Mark> {
    cell.with_tim(from.saturating_sub(Span::from_nanos(1)), until, aid)
}
