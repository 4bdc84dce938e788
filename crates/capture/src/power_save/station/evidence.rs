//! What the sequence numbers of frames prove: whether a frame was sent to the station that the capture does not have.
//!
//! Nothing here changes the state of the station; the rules of its other files call it.

use super::{Delivery, StationState};
use crate::power_save::sequence::Counter;
use airwatt_base::Instant;

/// What a verdict about QoS data assumes.
pub(super) const NO_NULL: &str = "the access point did not discard the frame, say so in a QoS Null frame that was missed, and buffer another one, and no \
                       frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";

impl StationState {
    /// Whether nothing but the frame was sent to the station since `since`: its counter is unbroken, and so are all others of the station, as
    /// those of other traffic identifiers, by their frames before and after.
    pub(super) fn is_next_since(&self, delivery: &Delivery<'_>, since: Instant) -> bool {
        let is_complete = |counter: &Counter| {
            delivery.cell.is_some_and(|cell| cell.numbers.is_complete(*counter, since, delivery.packet.at))
        };
        let mut others = self.counters.iter().filter(|counter| Some(**counter) != delivery.counter);
        others.all(is_complete) && delivery.unbroken_since.is_some_and(|unbroken| unbroken <= since)
    }

    /// What remains assumed where nothing but the frame is said to have been sent to the station: each traffic identifier of QoS data has
    /// a counter of its own, and so has management where beacons have theirs. No number shows that all frames of one were missed, or the first
    /// or last ones.
    pub(in crate::power_save) fn assumption(&self) -> Option<&'static str> {
        let is_qos = self.counters.iter().any(|counter| matches!(counter, Counter::Qos(..)));
        is_qos.then_some(
            "no frame was missed of a traffic identifier, or of management, whose numbers the capture does not show",
        )
    }

    /// Whether the monitor missed nothing for the station since `since`: also no retransmission, which leaves no gap, of the last frame
    /// before, or of one that was missed since that.
    pub(super) fn missed_none_since(&self, delivery: &Delivery<'_>, since: Instant) -> bool {
        !self.is_unheard && !delivery.is_copy() && self.is_next_since(delivery, self.last_before(since))
    }

    /// Whether no frame without a QoS counter was missed since `since`, such as one of management for the station. Where beacons have a counter
    /// of their own those frames show it alone, also those that come later.
    pub(super) fn missed_no_management_since(&self, delivery: &Delivery<'_>, since: Instant) -> bool {
        let plain = || delivery.cell?.sequences.unbroken_since(Counter::Plain(self.record.bssid?));
        let is_unbroken = self.nothing_missed_since.or_else(plain).is_some_and(|unbroken| unbroken <= since);
        is_unbroken && !self.missed_management_since(delivery, since)
    }

    /// Whether a number of a frame without a QoS counter is missing, by those before and after: one of management may have been for the station.
    pub(super) fn missed_management_since(&self, delivery: &Delivery<'_>, since: Instant) -> bool {
        let all = |bssid| delivery.cell?.numbers.has_all_management(bssid, since, delivery.packet.at);
        self.record.bssid.and_then(all) == Some(false)
    }

    /// A time, or that of the last frame before it.
    pub(super) fn last_before(&self, since: Instant) -> Instant {
        self.beacons_from.map_or(since, |(last, _)| last.min(since))
    }
}
