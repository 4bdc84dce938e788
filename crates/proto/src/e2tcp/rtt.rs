//! The round-trip time from the last five samples, and the timeout that follows from it.
//!
//! The estimate is their mean. The timeout is to be "slightly higher" than a round trip: it is taken from the largest of
//! the five, so that one slow exchange among them is no timeout.

use airwatt_base::Span;

use super::config::E2tcpConfig;

/// Samples that are kept.
const SAMPLES: usize = 5;

/// Estimates the round-trip time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    /// A ring of samples; the first `count` are there.
    samples: [Span; SAMPLES],
    count: usize,
    next: usize,
    /// How often the timeout is doubled.
    doublings: u32,
    percent: u64,
    margin: Span,
    initial: Span,
    max: Span,
}

impl RttEstimator {
    /// No sample yet.
    pub fn new(config: &E2tcpConfig) -> Self {
        Self {
            samples: [Span::ZERO; SAMPLES],
            count: 0,
            next: 0,
            doublings: 0,
            percent: u64::from(config.rto_percent),
            margin: config.rto_margin,
            initial: config.initial_rto,
            max: config.max_rto,
        }
    }

    /// Takes a sample.
    pub fn sample(&mut self, rtt: Span) {
        self.samples[self.next] = rtt;
        self.next = (self.next + 1) % SAMPLES;
        self.count = (self.count + 1).min(SAMPLES);
    }

    /// The mean of the last five samples, or of as many as there are.
    pub fn mean(&self) -> Option<Span> {
        let sum: Span = self.samples[..self.count].iter().copied().sum();
        (self.count > 0).then(|| sum / self.count as u64)
    }

    /// The timeout.
    pub fn rto(&self) -> Span {
        self.doubled(self.doublings)
    }

    /// The timeout without its own doublings, doubled so many times.
    pub fn doubled(&self, times: u32) -> Span {
        let longest = self.samples[..self.count].iter().max();
        let base = longest.map_or(self.initial, |longest| {
            (longest.saturating_mul(self.percent) / 100).saturating_add(self.margin)
        });
        base.saturating_mul(1 << times.min(62)).min(self.max)
    }

    /// A timeout came, and the next is to be twice as long.
    pub fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(62);
    }

    /// The peer has spoken.
    pub fn restore(&mut self) {
        self.doublings = 0;
    }
}
