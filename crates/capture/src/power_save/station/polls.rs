//! PS-Polls that nothing answers.
//!
//! A station without a response asks again, mostly after the next beacon: its PS-Polls up to the next response are one sequence. `ignored`
//! decides about it.

use super::announced::announced_from;
use super::{Delivery, StationState};
use crate::packet::{AirFrame, CapturedPacket};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{FindingKind, Findings, Verdict, find, seconds};
use crate::power_save::wait::{EndedPolls, Promise, Request, Unanswered, Unheard};
use crate::power_save::{Mark, NEVER, PROMPT};
use airwatt_base::{Instant, Span};

/// Why More Data of a frame says nothing of what is buffered later.
const WOKEN: &str = "the station left power save after the frame with More Data, so that the announced one may have been sent unseen";

/// A PS-Poll this soon after another one without a response is the same one, sent again. Control frames need not have the
/// Retry bit (802.11-2020 9.2.4.1).
const POLL_AGAIN: Span = Span::from_millis(20);

/// The PS-Polls of a station that nothing has answered so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Polls {
    /// The last one, as a request.
    pub(super) request: Option<Request>,
    /// The time of the first one since the last frame to the station.
    pub(super) first: Option<Instant>,
    /// The time that the last one takes on the air.
    pub(super) air: Span,
    /// Its last transmission, to which a response answers.
    pub(super) last: Option<Mark>,
    /// Those since the last that was acknowledged or answered.
    pub(super) unheard: Option<Unheard>,
    /// Those since the last response, from the first one on that was acknowledged.
    pub(super) unanswered: Option<Unanswered>,
}

impl Polls {
    /// Whether the access point acknowledged a PS-Poll long before a response that answers the last one at once.
    pub(super) fn asked_before(&self, answered: Instant) -> bool {
        let of = self.unanswered.as_ref();
        of.is_some_and(|polls| polls.polls.len() > 1 && is_late(answered.saturating_since(polls.first().0)))
    }
}

/// Whether a response is late, and not so late that the PS-Poll was ignored.
pub(super) fn is_late(waited: Span) -> bool {
    waited > PROMPT && waited <= NEVER
}

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
        self.polls.last = Some(mark);
        self.polls.first.get_or_insert(packet.at);
        self.count_unheard(mark, acknowledged);
        if packet.repeated || self.polls.request.as_ref().is_some_and(follows) {
            if let Some(poll) = &mut self.polls.request {
                poll.is_heard |= is_heard;
            }
            if let Some(promise) = &mut self.promised {
                promise.asked = Some(packet.at);
            }
            match self.polls.unanswered.as_mut().and_then(|polls| polls.polls.last_mut()) {
                Some((_, was_heard)) => *was_heard |= is_heard,
                None => self.wait_for_answer(mark, is_heard),
            }
            return;
        }
        self.record.counts.ps_polls += 1;
        self.is_awake_at(mark, findings);
        if let Some(aid) = frame.aid {
            self.has_aid(aid, packet.number);
        }
        if self.polls.unanswered.as_ref().is_some_and(|polls| polls.gone.is_some()) {
            self.end_polls(packet.at, None, false);
        }
        let request = Request::new(packet, frame, is_heard);
        self.polls.request = Some(request);
        self.polls.air = frame.air_time().unwrap_or_default();
        self.request_buffered(request);
        self.wait_for_answer(mark, is_heard);
        self.called_at = None;
        self.uplink.shows_mode((packet, frame), true, acknowledged);
    }

    /// Enters a PS-Poll in its sequence, which begins with one that was acknowledged.
    fn wait_for_answer(&mut self, mark: Mark, is_heard: bool) {
        if let Some(polls) = &mut self.polls.unanswered {
            polls.polls.push((mark, is_heard));
        } else if is_heard {
            let promise = self.promised.as_ref().map(|promise| {
                let doubt = promise.doubt.or(promise.has_woken.then_some(WOKEN));
                (promise.mark, doubt)
            });
            let last = self.beacons_from.map(|(at, _)| at);
            self.polls.unanswered = Some(Unanswered {
                polls: vec![(mark, true)],
                promise,
                from: last.max(self.managed_at),
                emptied_at: self.emptied_at,
                is_unheard: self.is_unheard,
                is_still_announced: None,
                gone: None,
                air: self.polls.air,
            });
        }
    }

    /// The first PS-Poll without a response, as the request for what a later beacon announces.
    pub(super) fn outstanding(&self) -> Option<Request> {
        let mark = self.polls.unanswered.as_ref()?.first();
        Some(Request { mark, is_heard: true, received_us: None, is_asked_again: false, is_unanswered: true })
    }

    /// The beacons of the cell from the place `from` up to `last`, all after the PS-Polls so far. One without the bit says that the
    /// frame is gone.
    pub(super) fn read_polls(&mut self, cell: &Cell, from: usize, last: Instant) {
        let (Some(polls), Some(aid)) = (&mut self.polls.unanswered, self.record.aid) else { return };
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
        self.polls.request.take_if(|poll| has_expired(poll.mark.0));
        if self.polls.unheard.is_some_and(|polls| has_expired(polls.last.0)) {
            self.judge_unheard(None, findings);
        }
        if self
            .polls
            .unanswered
            .as_ref()
            .is_some_and(|polls| polls.gone.is_some() && has_expired(polls.first().0))
        {
            self.end_polls(now, None, false);
        }
    }

    fn count_unheard(&mut self, mark: Mark, acknowledged: Option<bool>) {
        if acknowledged != Some(false) {
            self.polls.unheard = None;
        } else if let Some(polls) = &mut self.polls.unheard {
            (polls.last, polls.polls) = (mark, polls.polls + 1);
        } else {
            self.polls.unheard = Some(Unheard { first: mark, last: mark, polls: 1 });
        }
    }

    /// PS-Polls that neither an acknowledgement nor data followed: no monitor sees whether the access
    /// point received them, and a station without a response asks again: if it did not, the monitor missed the response.
    pub(super) fn judge_unheard(&mut self, answer: Option<Mark>, findings: &mut Findings) {
        let Some(Unheard { first, last, polls }) = self.polls.unheard.take() else { return };
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
        if self.polls.unheard.is_some_and(has_lasted) {
            self.judge_unheard(Some(mark), findings);
        }
        self.polls.unheard = None;
        self.end_polls(mark.0, Some(mark), delivery.is_copy());
        if let Some(Request { mark: poll, .. }) = self.polls.request.take() {
            let key = (FindingKind::PsPollUnanswered, Verdict::Kept, self.record.mac);
            find(findings, key, poll, &[poll.1, mark.1], || format!("packet {} answers it", mark.1));
            // Data answers it in the place of an acknowledgement: the access point heard that the station is in power save.
            self.uplink.was_answered(poll.1);
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
        // Who asks by a PS-Poll is in power save, also if the frame that said so was missed.
        if self.is_awake() && self.polls.request.is_none() && self.polls.unanswered.is_none() {
            return;
        }
        let mark = (packet.at, packet.number);
        self.managed_at = Some(packet.at);
        self.announced = None;
        self.polls.unheard = None;
        self.end_polls(mark.0, Some(mark), frame.control.retry);
        if let Some(poll) = self.polls.request.take() {
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
            self.promises_again((delivery.packet, frame), delivery.answers());
            return;
        }
        if let Some((cell, aid)) = delivery.cell.zip(self.record.aid) {
            self.note_concealed(delivery, (cell, aid), false, findings);
            if let (Some(from), true) = (self.beacons_from, self.polls.request.is_some()) {
                self.note_flicker(delivery, (cell, aid), from);
            }
        }
        if let Some(promise) = self.promised.take() {
            let key = (FindingKind::MoreDataThenNothing, Verdict::Kept, self.record.mac);
            find(findings, key, promise.mark, &[promise.mark.1, mark.1], || "it was sent".to_owned());
        }
        self.last_data = Some((delivery.counter, frame.sequence_control, frame.control.more_data));
        if frame.control.more_data && frame.is_bufferable && !self.is_awake() {
            self.promised = Some(Promise::new(mark, delivery.counter, self.emptied_at, delivery.answers()));
        }
    }

    /// A sequence of PS-Polls ends, with a response or without. Of the response an earlier transmission may have been missed (`is_copy`).
    pub(super) fn end_polls(&mut self, at: Instant, answer: Option<Mark>, is_copy: bool) {
        let is_repeated = answer.is_some() && self.polls.asked_before(at);
        let Some(polls) = self.polls.unanswered.take() else { return };
        let (Some(bssid), Some(aid)) = (self.record.bssid, self.record.aid) else { return };
        let waited = at.saturating_since(polls.first().0);
        if waited <= NEVER && !is_repeated {
            return;
        }
        if let Some(promise) = &mut self.promised
            && waited > NEVER
            && polls.is_still_announced == Some(true)
        {
            // What More Data announced was there: the PS-Polls are at fault, or nothing is.
            promise.requested = None;
        }
        self.open.ended_polls.push(EndedPolls {
            until: polls.gone.map_or(at, |gone| gone.0.min(at)),
            of: polls,
            answer,
            is_copy,
            bssid,
            aid,
            counters: self.counters.clone(),
            listen_interval: self.association.listen_interval,
            is_multi_link: self.association.is_multi_link,
        });
    }
}
