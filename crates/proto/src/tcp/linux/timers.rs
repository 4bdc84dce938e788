//! The one timer of the send half, with the reason for which it runs, and what it has tried in vain.
//!
//! Timeout, tail loss probe, reordering and the probe of a closed window exclude each other, as in the kernel.

use super::clock::Clock;
use super::queue::Queue;
use super::rtt::Rtt;

/// The least wait between probes of a closed window, in microseconds.
/// The least wait of a timer beyond what was computed, in microseconds.
pub(super) const TIMEOUT_MIN: u64 = 2000;
const PROBE_LEAST: u64 = 200_000;

/// Why the timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// To retransmit what was not acknowledged.
    Timeout,
    /// To probe the tail.
    TailProbe,
    /// To take for lost what was only late so far.
    Reorder,
    /// To probe a closed window.
    WindowProbe,
}

/// The timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    pub(super) reason: Reason,
    /// When it expires, in microseconds.
    pub(super) at: u64,
}

/// A probe of the tail that is not answered: the position at which it ends, and whether it was a retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    pub(super) until: u64,
    pub(super) resent: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    pub(super) clock: Clock,
    pub(super) timer: Option<Timer>,
    /// Doublings of the wait.
    pub(super) backoff: u32,
    /// Timeouts in a row, and since the beginning.
    pub(super) retransmits: u32,
    pub(super) timeouts: u64,
    /// Probes of a closed window that are unanswered, and since when.
    pub(super) probes: u32,
    pub(super) probing_since: Option<u64>,
    pub(super) tail_probe: Option<TailProbe>,
}

impl Timers {
    pub(super) fn runs_for(&self, reason: Reason) -> bool {
        self.timer.is_some_and(|timer| timer.reason == reason)
    }

    pub(super) fn set(&mut self, reason: Reason, span: u64, now: u64) {
        self.timer = Some(Timer { reason, at: self.clock.expiry(now, span) });
    }

    /// What is left of the timeout of the oldest segment; zero if nothing is.
    pub(super) fn timeout_left(&self, queue: &Queue, rtt: &Rtt, now: u64) -> u64 {
        let rto = self.clock.span(self.clock.covering(rtt.rto()));
        queue.head().map_or(rto, |head| (head.sent + rto).saturating_sub(now))
    }

    /// Sets the timeout anew. If it replaces another reason, it counts from the transmission of the oldest segment.
    pub(super) fn rearm(&mut self, queue: &Queue, rtt: &Rtt, now: u64) {
        if queue.is_empty() {
            self.timer = None;
            return;
        }
        let replaces = self.runs_for(Reason::TailProbe) || self.runs_for(Reason::Reorder);
        let span = if replaces { self.timeout_left(queue, rtt, now).max(1) } else { rtt.rto() };
        self.set(Reason::Timeout, span, now);
    }

    /// Sets the next probe of a closed window, which waits for `most` microseconds at most.
    pub(super) fn set_window_probe(&mut self, rtt: &Rtt, most: u64, now: u64) {
        let span = rtt.base().max(PROBE_LEAST).saturating_mul(1 << self.backoff.min(9)).min(most);
        self.set(Reason::WindowProbe, span, now);
    }

    /// The peer has answered: probes of a closed window begin anew.
    pub(super) fn answered(&mut self) {
        (self.probes, self.probing_since) = (0, None);
    }
}
