//! RACK: a segment is lost if one that was sent later has arrived, and a reordering window has passed (RFC 8985 as Linux has it).

use super::queue::{Queue, Record};
use super::rtt::Rtt;
use super::state::CaState;

/// Recoveries without a duplicate report after which the reordering window is its first again.
const RECOVERIES: u32 = 16;

/// The segment that was sent last among those that have arrived, and how far segments are reordered.
#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// When it was sent, and its end.
    sent: u64,
    end: u64,
    /// Its round-trip time.
    rtt: u64,
    /// Whether it has changed since losses were looked for.
    pub(super) advanced: bool,
    /// Quarters of the least round-trip time in the reordering window.
    steps: u64,
    /// Recoveries until `steps` is one again.
    persists: u32,
    /// Whether a duplicate report came that may widen the window, and the position at which the next may.
    duplicate: bool,
    widened_until: u64,
    /// Segments by which reordering has to be expected, and how often it was seen.
    pub(super) reordering: u32,
    pub(super) reorder_seen: u32,
}

impl Rack {
    /// Nothing has arrived; by this many segments reordering is expected.
    pub(super) fn new(reordering: u32) -> Self {
        Self { steps: 1, reordering, ..Self::default() }
    }

    /// A segment has arrived; `least` is the least round-trip time.
    pub(super) fn advance(&mut self, record: &Record, least: u64, now: u64) {
        let rtt = now - record.sent;
        // It cannot be known which transmission of it has arrived.
        if rtt < least && record.ever {
            return;
        }
        (self.advanced, self.rtt) = (true, rtt);
        (self.sent, self.end) = (self.sent, self.end).max((record.sent, record.end));
    }

    /// How long a segment may be late in microseconds. Zero once it is clear that nothing is reordered.
    fn window(&self, sacked: u32, rtt: &Rtt, state: CaState) -> u64 {
        let is_clear = self.reorder_seen == 0 && (state >= CaState::Recovery || sacked >= self.reordering);
        let least = rtt.minimum();
        if is_clear || least == u64::MAX {
            return 0;
        }
        (least / 4 * self.steps).min(rtt.srtt().unwrap_or(0))
    }

    /// How long until a segment that was sent at `sent` is late; zero if it is.
    pub(super) fn remaining(&self, sent: u64, window: u64, now: u64) -> u64 {
        (self.rtt + window + sent).saturating_sub(now)
    }

    /// Marks the segments that are lost by now. Returns how long until the last of those that may yet be late would be.
    pub(super) fn detect(&self, queue: &mut Queue, rtt: &Rtt, state: CaState, now: u64) -> u64 {
        let window = self.window(queue.sacked, rtt, state);
        let mut wait = 0;
        for index in 0..queue.len() {
            let Some(record) = queue.get(index) else { break };
            // Of segments that were sent at one time the one with the higher position is the later.
            let is_earlier = (record.sent, record.end) < (self.sent, self.end);
            if record.sacked || (record.lost && !record.resent) || !is_earlier {
                continue;
            }
            match self.remaining(record.sent, window, now) {
                0 => queue.mark_lost(index),
                remaining => wait = wait.max(remaining),
            }
        }
        wait
    }

    /// A report came of a duplicate that no probe explains.
    pub(super) fn note_duplicate(&mut self) {
        self.duplicate |= self.reorder_seen > 0;
    }

    /// Widens the reordering window once a round after reports of duplicates, and narrows it again.
    pub(super) fn update_window(&mut self, una_before: u64, nxt: u64) {
        if una_before < self.widened_until {
            self.duplicate = false;
        }
        if std::mem::take(&mut self.duplicate) {
            self.steps = (self.steps + 1).min(255);
            (self.widened_until, self.persists) = (nxt, RECOVERIES);
        } else if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// A recovery has ended without being undone.
    pub(super) fn recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
    }

    /// A segment has arrived this many segments after later ones.
    pub(super) fn note_reordering(&mut self, segments: u32, most: u32) {
        if segments > self.reordering {
            self.reordering = segments.min(most);
        }
        self.reorder_seen += 1;
    }
}
