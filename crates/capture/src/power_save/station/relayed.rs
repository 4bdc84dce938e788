//! Beacons after a frame for a station had come to the access point from another station of the cell, until the station fetched it.

use super::flickers::{CUT, LEFT};
use super::{Delivery, StationState};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{FindingKind, Findings, Verdict, find};
use crate::power_save::wait::Promise;
use crate::power_save::{Mark, PROMPT};

/// What a verdict assumes.
const AT_ONCE: &str = "the access point forwards within its cell at once, and another frame like it, which came later, was not missed";
/// The same for QoS data ([`StationState::assumption`]).
const AT_ONCE_NOR_MISSED: &str = "the access point forwards within its cell at once, another frame like it, which came later, was not missed, and \
                                  no frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";

impl StationState {
    /// A frame that the station fetched, with what had brought it to the access point since `from`, the last frame to the station or the one by which
    /// it entered power save. Whether that says something of the beacons in between.
    pub(super) fn note_relayed(
        &mut self,
        delivery: &Delivery<'_>,
        (cell, aid): (&Cell, u16),
        from: Mark,
        findings: &mut Findings,
    ) -> bool {
        let came = delivery.mark();
        let Some(brought) = delivery.brought_by.filter(|(at, _)| *at > from.0) else { return false };
        // What the station has asked for may be on its way.
        let until = self.polls.first.unwrap_or(came.0);
        let announcing = cell.with_tim(brought.0, until, aid);
        let end = announcing.map_or(until, |(at, _)| at);
        let is_late = |beacon: &Mark| cell.least_elapsed(brought.0, cell.due(*beacon)) > PROMPT;
        let concealing: Vec<Mark> = cell.without_tim(brought.0, end, aid).filter(is_late).collect();
        if concealing.is_empty() {
            let Some(beacon) = announcing else { return false };
            self.report_announced(brought, beacon, came, findings);
            return true;
        }
        let doubt = self
            .doubt_of_bits(delivery, cell, brought.0)
            .or((cell.unknown_tims(brought.0, end) > 0).then_some(CUT))
            .or(self.uplink.sends_qos_nulls.then_some(LEFT));
        let promise = Promise::of_relay(brought, concealing);
        self.conceals((promise, came), doubt, [AT_ONCE, AT_ONCE_NOR_MISSED], (cell, aid, from));
        true
    }

    /// The first beacon after it announced it.
    fn report_announced(&self, brought: Mark, beacon: Mark, came: Mark, findings: &mut Findings) {
        let key = (FindingKind::TimNeverSet, Verdict::Kept, self.record.mac);
        find(findings, key, came, &[brought.1, beacon.1, came.1], || {
            format!(
                "packet {} brought it to the access point, and the beacon of packet {} announced it",
                brought.1, beacon.1
            )
        });
    }
}
