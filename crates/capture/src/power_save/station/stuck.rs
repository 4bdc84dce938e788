//! TIM bits of which nothing was behind: a PS-Poll that a Null frame answered.
//!
//! A frame that the monitor missed may have emptied the buffer before. That none was is shown by the numbers of the Null frame where it
//! has the counter of the station's data, and by those of the next data otherwise.

use super::{Announcement, Delivery, StationState, Stuck};
use crate::power_save::IN_FLIGHT;
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided};
use airwatt_dot11::FrameKind;

impl StationState {
    /// A Null frame is the answer to a PS-Poll if nothing is buffered (802.11-2020 11.2.3.6); the TIM bit is then clear.
    pub(super) fn check_stuck(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let (mark, frame) = (delivery.mark(), delivery.frame);
        let is_null = matches!(frame.control.kind, FrameKind::Null | FrameKind::QosNull);
        if !is_null || frame.control.more_data {
            return;
        }
        let (Some(_), Some(poll)) = (self.polled, self.last_poll) else { return };
        let Some(Announcement { beacon, due, .. }) = self.announced.take() else { return };
        let excess = Excess { sent: self.poll_air, ..Excess::awake(mark.0.saturating_since(poll.0)) };
        let stuck = Stuck { beacon, poll, answer: mark, since: due.saturating_sub(IN_FLIGHT), excess };
        // A beacon that was due right after a delivery was composed before it, and so may one be right after a gap.
        let is_fresh = self.beacons_from.is_none_or(|(last, _)| due.saturating_since(last) > IN_FLIGHT);
        if !is_fresh || self.is_unheard {
            self.report_stuck(&stuck, None, findings);
        } else if self.missed_none_since(delivery, stuck.since) {
            self.report_stuck(&stuck, Some(self.assumption()), findings);
        } else {
            self.stuck.push(stuck);
        }
    }

    /// Decides about Null frames by the numbers of the data after them; without any it is not known what came before.
    pub(super) fn judge_stuck(&mut self, delivery: Option<&Delivery<'_>>, findings: &mut Findings) {
        let all = std::mem::take(&mut self.stuck);
        if all.is_empty() {
            return;
        }
        for stuck in all {
            let sure = delivery.filter(|delivery| self.missed_none_since(delivery, stuck.since));
            self.report_stuck(&stuck, sure.map(|_| self.assumption()), findings);
        }
        if let Some(finding) = findings.get_mut(FindingKind::TimStuck, self.record.mac) {
            finding.occurrences.sort_by_key(|one| (one.at, one.packet));
        }
    }

    /// `assumed` is what remains assumed where nothing was missed, and `None` where something may have been.
    fn report_stuck(&self, stuck: &Stuck, assumed: Option<Option<&'static str>>, findings: &mut Findings) {
        let Stuck { beacon, poll, answer, excess, .. } = *stuck;
        let verdict = if assumed.is_some() { Verdict::Violated } else { Verdict::Undecidable };
        let key = (FindingKind::TimStuck, verdict, self.record.mac);
        let found = find(findings, key, answer, &[beacon.1, poll.1, answer.1], || {
            let missed = "; the monitor may have missed that it was delivered before";
            let doubt = assumed.map_or_else(|| missed.to_owned(), provided);
            format!(
                "the beacon of packet {} had the station's TIM bit, and the answer to its PS-Poll was a Null frame without \
                 More Data{doubt}",
                beacon.1
            )
        });
        if let Some(finding) = found {
            finding.excess += excess;
            finding.assume(assumed.flatten());
        }
    }
}
