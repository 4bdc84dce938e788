//! The round-trip time from the last five samples, and the timeout that is derived from it.
//!
//! The estimate is their mean. The timeout is to be "slightly higher" than a round trip: it is derived from the largest
//! of the five samples, so that one slow exchange among them causes no timeout.

use airwatt_base::Span;

use super::config::E2tcpConfig;

/// Number of samples that are kept.
const SAMPLES: usize = 5;
/// Largest margin that is learned: the least timeout of Linux' TCP.
const MARGIN_MAX: Span = Span::from_millis(200);

/// Estimates the round-trip time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    /// A ring of samples, of which the first `count` are valid.
    samples: [Span; SAMPLES],
    count: usize,
    next: usize,
    /// Number of doublings of the timeout.
    doublings: u32,
    percent: u64,
    margin: Span,
    /// The margin of the settings, below which it does not fall.
    least_margin: Span,
    initial: Span,
    max: Span,
}

impl RttEstimator {
    /// Creates an estimator without a sample.
    pub fn new(config: &E2tcpConfig) -> Self {
        Self {
            samples: [Span::ZERO; SAMPLES],
            count: 0,
            next: 0,
            doublings: 0,
            percent: u64::from(config.rto_percent),
            margin: config.rto_margin,
            least_margin: config.rto_margin,
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

    /// The mean of the last five samples, or of all if there are fewer; `None` without a sample.
    pub fn mean(&self) -> Option<Span> {
        let sum: Span = self.samples[..self.count].iter().copied().sum();
        (self.count > 0).then(|| sum / self.count as u64)
    }

    /// The current timeout, back-off included.
    pub fn rto(&self) -> Span {
        self.doubled(self.doublings)
    }

    /// The timeout without back-off, doubled `times` times.
    pub fn doubled(&self, times: u32) -> Span {
        let longest = self.samples[..self.count].iter().max();
        let base = longest.map_or(self.initial, |longest| {
            (longest.saturating_mul(self.percent) / 100).saturating_add(self.margin)
        });
        base.saturating_mul(1 << times.min(62)).min(self.max)
    }

    /// Doubles the timeout.
    pub fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(62);
    }

    /// A timeout has come too early: later ones wait longer.
    pub(super) fn widen(&mut self) {
        self.margin = self.margin.saturating_mul(2).min(MARGIN_MAX.max(self.least_margin));
    }

    /// A timeout has found a loss, so that a shorter one would have found it sooner.
    pub(super) fn tighten(&mut self) {
        self.margin = (self.margin / 2).max(self.least_margin);
    }

    /// Ends the back-off, after the acknowledgement of a packet that was sent once.
    pub fn restore(&mut self) {
        self.doublings = 0;
    }
}
