//! Whether an access point ignored PS-Polls: the verdict about a sequence of them that nothing answered for long.
//!
//! The acknowledgement shows that the access point received one. That it had a frame then follows from More Data of the last one, or from
//! the beacon before; that it still had that, from a beacon long after; and that it sent nothing meanwhile, from its numbers. An acknowledged PS-Poll for
//! which nothing of the kind is known is undecidable.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use super::StationState;
use super::announced::{Evidence, evidence};
use super::evidence::NO_NULL;
use super::polls::is_late;
use super::stuck::may_have_waited;
use crate::power_save::cell::{Cell, NOT_FREE};
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided, seconds};
use crate::power_save::sequence::Counter;
use crate::power_save::times::packets;
use crate::power_save::wait::EndedPolls;
use crate::power_save::{IN_FLIGHT, Mark, NEVER, PROMPT};

const AGED: &str = "the announced frame may have been discarded for its age before the PS-Poll, since it may have waited for the listen interval, and \
                    another one have arrived later";
const OTHER_LINK: &str = "the station may have been served on another of its links (802.11be)";
const RESTARTED: &str = "the access point's clock began anew meanwhile, and with it perhaps its buffer";
const NOT_STILL_ANNOUNCED: &str = "no beacon in between has the station's TIM bit, so that the monitor may have missed a Null frame that said that there was nothing";
const COPY: &str = "the Retry bit of the response says that the monitor missed an earlier transmission of it";
const UNHEARD: &str = "nobody acknowledged the frame before to the station, and the response may have been a retransmission of that, which leaves no gap";
const JUMPED: &str = "by the beacons around it the clock of the capture jumped";
/// What a verdict about other data assumes.
const NOT_DISCARDED: &str =
    "the access point did not discard the frame, and buffer another one before the next beacon";

/// The first beacon that was due long after a PS-Poll and has the bit.
fn still_announced(ended: &EndedPolls, cell: &Cell, poll: Instant) -> Option<Mark> {
    let mut from = poll;
    loop {
        let beacon = cell.with_tim(from, ended.until, ended.aid)?;
        if cell.due(beacon).saturating_since(poll) > PROMPT {
            return Some(beacon);
        }
        from = beacon.0;
    }
}

/// The last beacon with the bit from one that has it up to a time.
fn last_announced(ended: &EndedPolls, cell: &Cell, first: Mark, until: Instant) -> Instant {
    let mut last = first.0;
    while let Some(beacon) = cell.with_tim(last, until + Span::from_nanos(1), ended.aid) {
        last = beacon.0;
    }
    last
}

/// Why an access point that sent nothing may be innocent; the time up to which it is known that it sent nothing otherwise.
fn doubt_of(
    ended: &EndedPolls,
    cell: &Cell,
    (evidence, poll): (Evidence, Instant),
    findings: &Findings,
) -> Result<Instant, String> {
    let of = &ended.of;
    let until = ended.answer.map_or(poll + NEVER, |answer| answer.0.min(poll + NEVER));
    let since = match evidence {
        Evidence::MoreData((at, _)) => at,
        Evidence::Beacon(beacon) => cell.due(beacon).saturating_sub(IN_FLIGHT),
    };
    let has_jumped = !cell.is_clock_steady(poll, ended.until) && cell.elapsed(poll, ended.until) <= NEVER;
    let doubts = [
        (cell.restarted(since, ended.until), RESTARTED),
        (has_jumped, JUMPED),
        (ended.is_multi_link.unwrap_or(cell.is_multi_link), OTHER_LINK),
        (may_have_waited(cell, (ended.aid, ended.listen_interval), of.emptied_at, poll), AGED),
        (findings.pauses.between(Some(ended.bssid), poll, until) <= PROMPT, NOT_FREE),
        (ended.is_copy, COPY),
        (of.is_unheard, UNHEARD),
    ];
    if let Some((_, why)) = doubts.into_iter().find(|(holds, _)| *holds) {
        return Err(why.to_owned());
    }
    let complete = cell.numbers.complete_until((ended.bssid, &ended.counters), since, until);
    complete.map_err(|missing| missing.to_string())
}

impl StationState {
    /// Decides about PS-Polls that nothing answered for long. The frames that came late after one that was ignored are no other finding.
    pub(super) fn judge_polls(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        for ended in std::mem::take(&mut self.open.ended_polls) {
            let Some(cell) = cells.get(&ended.bssid) else { continue };
            if let Some(answer) =
                ended.answer.filter(|(at, _)| is_late(at.saturating_since(ended.of.first().0)))
            {
                self.report_late(&ended, cell, answer, findings);
                continue;
            }
            let heard = ended.of.polls.iter().enumerate().filter(|(_, (_, is_heard))| *is_heard);
            let mut of_polls = heard
                .map(|(place, (poll, _))| (place, *poll, evidence((&ended.of, ended.aid), cell, poll.0)));
            let first = of_polls.clone().next();
            let is_long =
                |poll: Mark| ended.until.saturating_since(poll.0) > NEVER || ended.of.gone.is_some();
            let proven = of_polls.find(|(_, poll, known)| known.is_ok() && is_long(*poll));
            let Some((place, poll, evidence)) = proven.or(first) else { continue };
            let gone = ended.of.gone.filter(|gone| gone.0.saturating_since(poll.0) <= NEVER);
            let judged = match (gone, evidence) {
                // The rule about More Data is about that.
                (Some(_), _) if ended.of.promise.is_some() && ended.of.is_still_announced != Some(true) => {
                    continue;
                }
                (Some(gone), Ok(evidence)) => {
                    self.report_gone(&ended, cell, (evidence, poll, gone), findings);
                    continue;
                }
                (Some(_), Err(_)) => continue,
                (None, Ok(evidence)) => {
                    let known = doubt_of(&ended, cell, (evidence, poll.0), findings);
                    (Some(evidence), known)
                }
                (None, Err(why)) => (None, Err(why.to_owned())),
            };
            self.report_polls(&ended, cell, (place, poll), judged, findings);
        }
    }

    /// A response to a repeated PS-Poll: whether it is late for the first one, as the beacon in between says that still announced the frame.
    fn report_late(&self, ended: &EndedPolls, cell: &Cell, answer: Mark, findings: &mut Findings) {
        let first = ended.of.first();
        let after = still_announced(ended, cell, first.0);
        let known = evidence((&ended.of, ended.aid), cell, first.0).map_err(str::to_owned);
        let announced = known.as_ref().ok().map(|evidence| evidence.mark());
        let known = known.and_then(|evidence| doubt_of(ended, cell, (evidence, first.0), findings));
        let known = known.and_then(|_| after.ok_or_else(|| NOT_STILL_ANNOUNCED.to_owned()));
        let is_qos = ended.counters.iter().any(|counter| matches!(counter, Counter::Qos(..)));
        let assumption = if is_qos { NO_NULL } else { NOT_DISCARDED };
        let verdict = if known.is_ok() { Verdict::Violated } else { Verdict::Undecidable };
        let deciding = packets([announced, Some(first), after, Some(answer)]);
        let waited = answer.0.saturating_since(first.0);
        let found = find(
            findings,
            (FindingKind::LateDelivery, verdict, self.record.mac),
            answer,
            &deciding,
            || {
                let why = known.as_ref().map_or_else(
                    |why| format!("; {why}"),
                    |(_, packet)| {
                        let assumed = provided(Some(assumption));
                        format!("; the beacon of packet {packet} still has the station's TIM bit{assumed}")
                    },
                );
                let count = ended.of.polls.len();
                format!(
                    "the frame came {} after the access point acknowledged the PS-Poll for it, though the station asked {count} times{why}",
                    seconds(waited)
                )
            },
        );
        let Some(finding) = found else { return };
        finding.cost(Excess { delay: waited, ..Excess::awake(waited) });
        finding.buffered(announced.map_or(first.0, |(at, _)| at), answer.0);
        finding.assume(Some(assumption));
    }

    fn report_polls(
        &mut self,
        ended: &EndedPolls,
        cell: &Cell,
        (place, poll): (usize, Mark),
        (evidence, known): (Option<Evidence>, Result<Instant, String>),
        findings: &mut Findings,
    ) {
        let Some(after) = still_announced(ended, cell, poll.0) else { return };
        let is_answered_by = |complete: Instant| ended.answer.filter(|(at, _)| *at <= complete);
        let buffered_until = match known {
            Ok(complete) => last_announced(ended, cell, after, complete.min(ended.until)),
            Err(_) => last_announced(ended, cell, after, ended.until),
        };
        let answer = known.as_ref().map_or(ended.answer, |complete| is_answered_by(*complete));
        let until = answer.map_or(buffered_until, |(at, _)| at);
        let is_qos = ended.counters.iter().any(|counter| matches!(counter, Counter::Qos(..)));
        let assumption = if is_qos { NO_NULL } else { NOT_DISCARDED };
        let verdict = if known.is_ok() { Verdict::Violated } else { Verdict::Undecidable };
        let polls = &ended.of.polls[place..];
        let before = evidence.map(|evidence| evidence.mark().1);
        let response = ended.answer.map(|(_, packet)| packet);
        let deciding: Vec<u32> = before.into_iter().chain([poll.1, after.1]).chain(response).collect();
        let key = (FindingKind::PsPollUnanswered, verdict, self.record.mac);
        let found = find(findings, key, poll, &deciding, || {
            let announced = match evidence {
                Some(Evidence::MoreData((_, packet))) => {
                    format!("More Data of packet {packet} announced a frame, and ")
                }
                _ => String::new(),
            };
            let waited = seconds(until.saturating_since(poll.0));
            // What came soon after the last one answers that.
            let in_vain = polls.iter().filter(|((at, _), _)| until.saturating_since(*at) > PROMPT).count();
            let again = match in_vain {
                0 | 1 => String::new(),
                count => format!(", though the station asked {count} times"),
            };
            let why = known.as_ref().map_or_else(|why| format!("; {why}"), |_| provided(Some(assumption)));
            let captured = if known.is_ok() { "sent nothing" } else { "nothing was captured" };
            format!(
                "{announced}the access point acknowledged the PS-Poll and {captured} for {waited}{again}; the beacon of packet {} still \
                 has the station's TIM bit{why}",
                after.1
            )
        });
        let Some(finding) = found else { return };
        let (last, _) = polls[polls.len() - 1];
        let gaps = polls.windows(2).map(|pair| pair[1].0.0.saturating_since(pair[0].0.0).min(NEVER));
        let listened = gaps.fold(Span::ZERO, |sum, gap| sum + gap);
        // A response that follows at once would have come in any case.
        let listens_until = answer.map_or(ended.until, |(at, _)| at);
        let rest = Some(listens_until.saturating_since(last.0));
        let rest = rest.filter(|rest| answer.is_none() || *rest > PROMPT);
        let sent = ended.of.air * (polls.len() as u64 - 1);
        finding.cost(Excess { sent, ..Excess::awake(listened + rest.unwrap_or_default().min(NEVER)) });
        finding.buffered(evidence.map_or(poll.0, |evidence| evidence.mark().0), until);
        finding.assume(Some(assumption));
        self.delays_others(FindingKind::PsPollUnanswered, poll.0, until);
        self.open.waits.retain(|wait| wait.request.0 < poll.0 || wait.request.0 > last.0);
    }

    /// The bit went out and nothing came. A frame that was missed says that, too: only numbers that follow each other leave something to report.
    fn report_gone(
        &self,
        ended: &EndedPolls,
        cell: &Cell,
        (evidence, poll, gone): (Evidence, Mark, Mark),
        findings: &mut Findings,
    ) {
        if doubt_of(ended, cell, (evidence, poll.0), findings).is_err() {
            return;
        }
        let deciding = [evidence.mark().1, poll.1, gone.1];
        let key = (FindingKind::PsPollUnanswered, Verdict::Undecidable, self.record.mac);
        find(findings, key, poll, &deciding, || {
            format!(
                "the access point acknowledged the PS-Poll and sent nothing to the station for {}; the beacon of packet {} has the station's TIM bit clear, \
                 so that it may have discarded the frame",
                seconds(NEVER),
                gone.1
            )
        });
    }
}
