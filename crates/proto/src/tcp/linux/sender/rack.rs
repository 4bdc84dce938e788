//! RACK: a segment is lost if one that was sent later has arrived, and a reordering window has passed (RFC 8985 as Linux has it).

use super::Sender;
use crate::tcp::linux::state::CaState;
use airwatt_base::with_defaults;

/// Recoveries without a duplicate report after which the reordering window is its first again.
const RECOVERIES: u32 = 16;
/// The least wait of a timer beyond what was computed, in microseconds.
pub(in crate::tcp::linux) const TIMEOUT_MIN: u64 = 2000;

with_defaults! {
    /// The segment that was sent last among those that have arrived.
    #[derive(Clone, Debug)]
    pub(in crate::tcp::linux) struct Rack {
        /// When it was sent, and its end.
        sent: u64 = 0,
        end: u64 = 0,
        /// Its round-trip time.
        pub(in crate::tcp::linux) rtt: u64 = 0,
        /// Whether it has changed since losses were looked for.
        pub(in crate::tcp::linux) advanced: bool = false,
        /// Quarters of the least round-trip time in the reordering window.
        steps: u64 = 1,
        /// Recoveries until `steps` is one again.
        persists: u32 = 0,
        /// Whether a duplicate report came that may widen the window, and the position at which the next may.
        pub(in crate::tcp::linux) duplicate: bool = false,
        widened_until: u64 = 0,
    }
}

/// Whether one segment was sent after another: at equal times by its position.
fn sent_after(one: (u64, u64), other: (u64, u64)) -> bool {
    one > other
}

impl Sender {
    /// A segment that ends at `end` and was sent at `sent` has arrived.
    pub(in crate::tcp::linux) fn rack_advance(&mut self, end: u64, sent: u64, ever_resent: bool, now: u64) {
        let rtt = now - sent;
        // It cannot be known which transmission of it has arrived.
        if rtt < self.rtt.minimum() && ever_resent {
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt = rtt;
        if sent_after((sent, end), (self.rack.sent, self.rack.end)) {
            (self.rack.sent, self.rack.end) = (sent, end);
        }
    }

    /// How long a segment may be late in microseconds. Zero once it is clear that nothing is reordered.
    fn reordering_window(&self) -> u64 {
        if self.reorder_seen == 0 && (self.state >= CaState::Recovery || self.queue.sacked >= self.reordering)
        {
            return 0;
        }
        let least = self.rtt.minimum();
        if least == u64::MAX {
            return 0;
        }
        (least / 4 * self.rack.steps).min(self.rtt.srtt().unwrap_or(0))
    }

    /// How long until the segment is late; zero if it is.
    pub(in crate::tcp::linux) fn rack_remaining(&self, sent: u64, window: u64, now: u64) -> u64 {
        (self.rack.rtt + window + sent).saturating_sub(now)
    }

    /// Marks the segments that are lost by now. Returns how long until the last of those that may yet be late would be.
    pub(in crate::tcp::linux) fn rack_detect(&mut self, now: u64) -> u64 {
        let window = self.reordering_window();
        let last = (self.rack.sent, self.rack.end);
        let mut wait = 0;
        for index in 0..self.queue.len() {
            let Some(record) = self.queue.get(index) else { break };
            if record.sacked
                || (record.lost && !record.resent)
                || !sent_after(last, (record.sent, record.end))
            {
                continue;
            }
            match self.rack_remaining(record.sent, window, now) {
                0 => self.queue.mark_lost(index),
                remaining => wait = wait.max(remaining),
            }
        }
        wait
    }

    /// Marks losses after an acknowledgement. Returns whether the reorder timer was set.
    pub(in crate::tcp::linux) fn rack_mark(&mut self, now: u64) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.rack_detect(now);
        if wait > 0 {
            self.set_reorder_timer(wait + TIMEOUT_MIN, now);
        }
        wait > 0
    }

    /// Widens the reordering window once a round after reports of duplicates, and narrows it again.
    pub(in crate::tcp::linux) fn rack_update_window(&mut self, una_before: u64) {
        if una_before < self.rack.widened_until {
            self.rack.duplicate = false;
        }
        if std::mem::take(&mut self.rack.duplicate) {
            self.rack.steps = (self.rack.steps + 1).min(255);
            self.rack.widened_until = self.nxt;
            self.rack.persists = RECOVERIES;
        } else if self.rack.persists == 0 {
            self.rack.steps = 1;
        }
    }

    /// A recovery has ended without being undone.
    pub(in crate::tcp::linux) fn rack_recovered(&mut self) {
        self.rack.persists = self.rack.persists.saturating_sub(1);
    }
}
