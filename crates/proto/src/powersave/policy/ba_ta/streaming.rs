//! Detection of application-limited streams: the addition of BA-TA+Str.
//!
//! BA-TA triggers more often while the throughput is below the peak rate of the path. A stream that its server sends at the
//! rate of the media never reaches the peak rate, however often the station triggers. If the interval was shortened, or
//! active mode was entered, and the throughput of the last seconds did not change, then this throughput is the rate of the
//! application, and replaces the peak rate as the reference until the throughput exceeds it.
//!
//! The paper does not say when throughput counts as stable or the interval as reduced. Stable: the means over the parts of
//! the history lie within [`StreamConfig::tolerance`] of their own mean. Reduced: by more than the same share, because an
//! interval that matters moves the throughput by as much (the throughput of the controller's own model is inverse to the
//! interval), which a stable throughput would show.

use std::collections::VecDeque;

use airwatt_base::Span;

use super::config::StreamConfig;
use crate::powersave::policy::rate::rate_bps;

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    bits: u64,
    elapsed: Span,
    longest_interval: Span,
    entered: bool,
}

#[derive(Clone, Debug)]
pub(super) struct History {
    config: StreamConfig,
    /// The parts that are complete, the oldest first.
    parts: VecDeque<Part>,
    current: Part,
    application_bps: Option<u64>,
}

impl History {
    pub(super) fn new(config: StreamConfig) -> Self {
        Self { config, parts: VecDeque::new(), current: Part::default(), application_bps: None }
    }

    /// The rate of the application in bit/s; `None` while it is unknown.
    pub(super) fn application_bps(&self) -> Option<u64> {
        self.application_bps
    }

    pub(super) fn forget(&mut self) {
        *self = Self::new(self.config);
    }

    /// Drops the estimate if the smoothed throughput exceeds it.
    pub(super) fn measured(&mut self, throughput_bps: u64) {
        let limit = |rate: u64| self.config.surplus.of(i128::from(rate));
        if self.application_bps.is_some_and(|rate| i128::from(throughput_bps) > limit(rate)) {
            self.forget();
        }
    }

    /// Notes an update: `bits` received in `elapsed` at the interval `before`, which the update changed to `interval`.
    pub(super) fn record(&mut self, bits: u64, elapsed: Span, before: Span, interval: Span, entered: bool) {
        let part = &mut self.current;
        part.bits += bits;
        part.elapsed += elapsed;
        part.longest_interval = part.longest_interval.max(before);
        part.entered |= entered;
        if part.elapsed < self.config.part {
            return;
        }
        self.parts.push_back(std::mem::take(part));
        let wanted = self.config.history.whole(self.config.part) as usize;
        if self.parts.len() > wanted {
            self.parts.pop_front();
        }
        if self.parts.len() == wanted {
            self.estimate(interval);
        }
    }

    /// Takes the mean rate for that of the application, if the interval was reduced and the rate stayed stable.
    fn estimate(&mut self, interval: Span) {
        let longest = self.parts.iter().map(|part| part.longest_interval).max().unwrap_or_default();
        let slack = self.config.tolerance.of(i128::from(longest.as_nanos()));
        let reduced = i128::from(longest.as_nanos()) - i128::from(interval.as_nanos()) > slack;
        if !reduced && !self.parts.iter().any(|part| part.entered) {
            return;
        }
        let rates = || self.parts.iter().map(|part| rate_bps(part.bits, part.elapsed));
        let mean = rates().sum::<u64>() / self.parts.len() as u64;
        let spread = rates().max().unwrap_or(0) - rates().min().unwrap_or(0);
        if mean > 0 && i128::from(spread) <= self.config.tolerance.of(i128::from(mean)) {
            self.application_bps = Some(mean);
        }
    }
}
