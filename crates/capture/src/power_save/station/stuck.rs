//! TIM bits of which nothing was behind: a PS-Poll that a Null frame answered.
//!
//! A frame that the monitor missed may have emptied the buffer before. That none was is shown by the numbers of the Null frame where it
//! has the counter of the station's data, and by those of the next data otherwise.

use super::{Announcement, Delivery, StationState, Stuck};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided};
use crate::power_save::{IN_FLIGHT, Mark};
use airwatt_base::{Instant, Span};
use airwatt_dot11::FrameKind;

/// A frame that was delivered unseen explains an answer without data.
const MISSED: &str = "the monitor may have missed that it was delivered before";
/// So does one that was discarded for its age, when it had waited for the listen interval.
const AGED: &str =
    "the frame may have been discarded for its age, since it had waited for the listen interval";
/// So does a Null frame that was itself in the buffer: hostapd sends one to a station that was silent for `ap_max_inactivity`.
pub(super) const PROBE: &str = "the Null frame may have been what was buffered, as an access point probes a station that has been silent";
/// The least `ap_max_inactivity`, which is a number of seconds (300 as it comes).
const PROBED_AFTER: Span = Span::from_secs(1);

/// Whether what was buffered for a station before its PS-Poll may have waited for the listen interval, if nothing but beacons since then has
/// said that the buffer was empty.
pub(super) fn may_have_waited(
    cell: &Cell,
    (aid, listen_interval): (u16, Option<u16>),
    emptied_at: Option<Instant>,
    poll: Instant,
) -> bool {
    let Some(last) = cell.last_before(poll) else { return true };
    let kept_for = cell.interval * u64::from(listen_interval.unwrap_or(1).max(1));
    let from = cell.due(last).saturating_sub(kept_for + IN_FLIGHT);
    emptied_at.is_none_or(|at| at < from) && cell.without_tim(from, last.0, aid).next().is_none()
}

impl StationState {
    /// A Null frame is the answer to a PS-Poll if nothing is buffered (802.11-2020 11.2.3.6); the TIM bit is then clear.
    pub(super) fn check_stuck(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let (mark, frame) = (delivery.mark(), delivery.frame);
        let is_null = matches!(frame.control.kind, FrameKind::Null | FrameKind::QosNull);
        if !is_null || frame.control.more_data {
            return;
        }
        let (Some(_), Some(poll)) = (self.polls.request, self.polls.last) else { return };
        if let Some(announcement) = self.announced.take() {
            self.judge_answer(&announcement, poll, delivery, findings);
        }
        // Whatever was missed before it, the buffer is empty now, and the station knows that.
        if delivery.acknowledged != Some(false) {
            (self.beacons_from, self.is_unheard) = (Some(mark), false);
            self.emptied_at = Some(mark.0);
        }
    }

    /// A Null frame answered a PS-Poll after the beacon that announced a frame.
    fn judge_answer(
        &mut self,
        announcement: &Announcement,
        poll: Mark,
        delivery: &Delivery<'_>,
        findings: &mut Findings,
    ) {
        let (Announcement { beacon, due, .. }, answer) = (*announcement, delivery.mark());
        let null = delivery.frame.air_time().unwrap_or_default();
        let awake = Excess::awake(answer.0.saturating_since(poll.0) + null);
        let excess = Excess { sent: self.polls.air, received: null, ..awake };
        let since = self.last_before(due.saturating_sub(IN_FLIGHT));
        let stuck = Stuck { beacon, poll, answer, since, excess };
        // A beacon that was due right after a delivery was composed before it, and so may one be right after a gap.
        let is_fresh = self.beacons_from.is_none_or(|(last, _)| due.saturating_since(last) > IN_FLIGHT);
        let follows = self.managed_at.is_some_and(|managed| due.saturating_since(managed) <= IN_FLIGHT);
        if delivery.cell.is_some_and(|cell| self.may_be_aged(cell, poll.0)) {
            self.report_stuck(&stuck, Some(AGED), findings);
        } else if !is_fresh || follows || self.is_unheard {
            self.report_stuck(&stuck, Some(MISSED), findings);
        } else if self.was_silent_before(due) {
            self.report_stuck(&stuck, Some(PROBE), findings);
        } else if self.missed_none_since(delivery, since) {
            self.report_stuck(&stuck, None, findings);
        } else {
            self.stuck.push(stuck);
        }
    }

    /// Whether what the beacon before a PS-Poll announced may have waited for the listen interval: all beacons of that time that were captured
    /// had the bit, and nothing said that the buffer was empty.
    fn may_be_aged(&self, cell: &Cell, poll: Instant) -> bool {
        let Some(aid) = self.record.aid else { return true };
        may_have_waited(cell, (aid, self.association.listen_interval), self.emptied_at, poll)
    }

    /// Decides about Null frames by the numbers of the data after them; without any it is not known what came before.
    pub(super) fn judge_stuck(&mut self, delivery: Option<&Delivery<'_>>, findings: &mut Findings) {
        let all = std::mem::take(&mut self.stuck);
        if all.is_empty() {
            return;
        }
        for stuck in all {
            let is_sure = |delivery: &Delivery<'_>| {
                !delivery.is_copy()
                    && self.is_next_since(delivery, stuck.since)
                    && self.missed_no_management_since(delivery, stuck.since)
            };
            let doubt = (!delivery.is_some_and(is_sure)).then_some(MISSED);
            self.report_stuck(&stuck, doubt, findings);
        }
    }

    /// Whether the access point heard nothing of the station for so long before a time that it may have probed it.
    pub(super) fn was_silent_before(&self, time: Instant) -> bool {
        self.uplink.last_heard_before(time).is_none_or(|last| time.saturating_since(last) > PROBED_AFTER)
    }

    /// `doubt` is what leaves it open.
    fn report_stuck(&self, stuck: &Stuck, doubt: Option<&str>, findings: &mut Findings) {
        let Stuck { beacon, poll, answer, excess, .. } = *stuck;
        let verdict = if doubt.is_none() { Verdict::Violated } else { Verdict::Undecidable };
        let key = (FindingKind::TimStuck, verdict, self.record.mac);
        let found = find(findings, key, answer, &[beacon.1, poll.1, answer.1], || {
            let why = doubt.map_or_else(|| provided(self.assumption()), |doubt| format!("; {doubt}"));
            format!(
                "the beacon of packet {} had the station's TIM bit, and the answer to its PS-Poll was a Null frame without \
                 More Data{why}",
                beacon.1
            )
        });
        if let Some(finding) = found {
            finding.cost(excess);
            finding.assume(self.assumption());
        }
    }
}
