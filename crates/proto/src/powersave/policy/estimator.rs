//! What the path can carry: the peak-rate estimator of BA-TA (Algorithm 1).
//!
//! A frame with EOSP says that the access point's buffer is empty. What arrives between two such moments came over the
//! bottleneck in that time, so that N packets of one size bound its rate from below by (N - 1) sizes over the time (the
//! paper's equation 7); the first packet is left out because the bottleneck may have been at it before. The estimate is
//! the largest bound seen. In active mode there is no EOSP, and the time goes on from the last moment in power save: a
//! fresh reference would count the access point's backlog, which leaves at the rate of the air, not of the bottleneck.
//!
//! An EOSP without a packet since the last one gives no bound, but is as good a reference as any. One with the More Data
//! bit is none: the buffer is not empty. Sizes are those of IP packets. The estimate never falls; the policy forgets it
//! after a time without data.

use airwatt_base::{Instant, Span};

use super::rate::rate_bps;

#[derive(Clone, Debug)]
pub(super) struct PeakRate {
    peak_bps: u64,
    /// When the access point's buffer was last known to be empty.
    reference: Instant,
    received_bits: u64,
    /// Size of the first packet since the reference.
    first_bits: u64,
}

impl PeakRate {
    pub(super) fn new(start: Instant) -> Self {
        Self { peak_bps: 0, reference: start, received_bits: 0, first_bits: 0 }
    }

    pub(super) fn bps(&self) -> u64 {
        self.peak_bps
    }

    pub(super) fn forget(&mut self) {
        self.peak_bps = 0;
    }

    /// Begins anew: no packet waits anywhere.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.reference, self.received_bits) = (now, 0);
    }

    /// A packet came.
    pub(super) fn received(&mut self, bits: u64) {
        if self.received_bits == 0 {
            self.first_bits = bits;
        }
        self.received_bits += bits;
    }

    /// The access point's buffer is empty, if `update` has passed since the last time that counted.
    pub(super) fn emptied(&mut self, now: Instant, update: Span) {
        if self.estimate(now, update) {
            self.reference = now;
            self.received_bits = 0;
        }
    }

    /// Takes note of the bound up to `now`. False if it is too early for one.
    pub(super) fn estimate(&mut self, now: Instant, update: Span) -> bool {
        let elapsed = now.saturating_since(self.reference);
        if elapsed <= update {
            return false;
        }
        let bits = self.received_bits.saturating_sub(self.first_bits);
        if self.received_bits > 0 {
            self.peak_bps = self.peak_bps.max(rate_bps(bits, elapsed));
        }
        true
    }
}
