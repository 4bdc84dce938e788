//! TIM bits that went out while the frame was still buffered: a beacon had the bit, a later one had not, and then the frame came.
//!
//! The bit says that a frame was buffered. If nothing was sent to the station since, which the numbers say, and nothing can have grown
//! too old, it is the frame that came. Without that a beacon without the bit may say that the first frame was fetched unseen or given up,
//! and that another one came later.

use airwatt_base::Span;

use super::promises::{DISCARDED, TAKEN};
use super::stuck::PROBE;
use super::{Delivery, StationState};
use crate::power_save::Mark;
use crate::power_save::cell::Cell;
use crate::power_save::wait::Promise;

/// What a verdict needs of the association.
const NO_LISTEN_INTERVAL: &str = "its association, which has the listen interval, was not captured, so that the announced one may have been discarded for \
                                  its age";
/// The numbers do not show that nothing was fetched.
const FETCHED: &str = "the announced one may have been fetched unseen, and this one have come later";
/// What a verdict assumes.
const ANNOUNCED: &str = "the bit before was true, and the access point did not discard the frame that it announced, and buffer this one later";
/// The same for QoS data ([`StationState::assumption`]).
const ANNOUNCED_NOR_MISSED: &str = "the bit before was true, the access point did not discard the frame that it announced, and buffer this one later, and \
                                    no frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";
pub(super) const LEFT: &str = "the station sends QoS Null frames, which have no number, so that it may have left power save unseen and been sent nothing";
const ASKED: &str = "the station had asked before the beacon, so that the announced one may have been on its way or discarded";
const ANSWERS: &str = "it answers what the station sent later, so that it is another frame";
pub(super) const CUT: &str = "the TIM of a beacon in between was not captured, or is one of several BSSIDs";

impl StationState {
    /// A frame that the station fetched. Whether it is judged: beacons before the request had no bit, after one that had it.
    /// `from` is the last frame before it.
    pub(super) fn note_flicker(
        &mut self,
        delivery: &Delivery<'_>,
        (cell, aid): (&Cell, u16),
        from: Mark,
    ) -> bool {
        let came = delivery.mark();
        let Some(first) = self.announced else { return false };
        // A beacon right after a frame was composed before that, and a frame is perhaps no more in the buffer when it was requested.
        let fresh = self.managed_at.map_or(from.0, |managed| managed.max(from.0)) + TAKEN;
        let requested = first.requested.or(self.polls.request);
        let until = requested.map_or(came.0, |request| request.mark.0);
        let since = fresh.max(first.beacon.0.saturating_sub(Span::from_nanos(1)));
        let announcing = cell.with_tim(since, until, aid).filter(|beacon| cell.due(*beacon) > fresh);
        let Some(announcing) = announcing else { return false };
        let mut clear: Vec<Mark> = cell.without_tim(announcing.0, until, aid).collect();
        let was_asked = clear.is_empty();
        if was_asked {
            clear.extend(cell.without_tim(announcing.0, came.0, aid));
            // Of a frame that the last beacon did not announce it is said that it arrived at an unknown time.
            let is_announced = clear.last().is_some_and(|last| cell.last_before(came.0) != Some(*last));
            if !is_announced {
                return false;
            }
        }
        let kept_until = self.kept_until((cell, aid), self.emptied_at, announcing.0);
        let is_kept = |beacon: &&Mark| kept_until.is_some_and(|until| cell.due(**beacon) <= until);
        let kept: Vec<Mark> = clear.iter().take_while(is_kept).copied().collect();
        let doubt = if was_asked {
            Some(ASKED)
        } else if kept_until.is_none() {
            Some(NO_LISTEN_INTERVAL)
        } else if kept.is_empty() {
            Some(DISCARDED)
        } else if self.uplink.sends_qos_nulls {
            Some(LEFT)
        } else {
            self.doubt_of_flicker(delivery, cell, announcing)
        };
        let promise = Promise::of_beacon(announcing, if kept.is_empty() { clear } else { kept });
        self.conceals((promise, came), doubt, [ANNOUNCED, ANNOUNCED_NOR_MISSED], (cell, aid, from));
        true
    }

    fn doubt_of_flicker(
        &self,
        delivery: &Delivery<'_>,
        cell: &Cell,
        announcing: Mark,
    ) -> Option<&'static str> {
        let since = cell.due(announcing);
        let doubt = self.doubt_of_bits(delivery, cell, since);
        if doubt.is_some() {
            doubt
        } else if cell.unknown_tims(since, delivery.packet.at) > 0 {
            Some(CUT)
        } else if !self.missed_none_since(delivery, since)
            || !self.missed_no_management_since(delivery, self.last_before(since))
        {
            Some(FETCHED)
        } else if delivery.not_before.is_some_and(|(asked, _)| asked > since) {
            Some(ANSWERS)
        } else if self.assumption().is_some() && self.was_silent_before(since) {
            // A QoS Null frame has no number.
            Some(PROBE)
        } else {
            None
        }
    }
}
