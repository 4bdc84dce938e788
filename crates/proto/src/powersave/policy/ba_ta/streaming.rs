//! Whether the traffic is a stream that has all it wants: the addition of BA-TA+Str.
//!
//! BA-TA takes a throughput below the path's peak rate for a reason to trigger oftener. A stream that its server sends
//! at the rate of the media never reaches the peak rate, however often the station triggers. If the interval was
//! shortened, or active mode was entered, and the throughput of the last seconds stayed as it was, then that throughput
//! is what the application wants, and takes the peak rate's place as the reference. It gives it back as soon as more
//! comes than that.
//!
//! The paper does not say when throughput counts as stable or the interval as reduced. Stable: the means over the parts of
//! the history lie within [`StreamConfig::tolerance`] of their own mean. Reduced: by more than the same share, because an
//! interval that matters moves the throughput by as much (the throughput of the controller's own model is inverse to the
//! interval), which a stable throughput would show.

use std::collections::VecDeque;

use airwatt_base::Span;

use super::{StreamConfig, rate_bps};

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

    /// The rate that the application wants, if it is known.
    pub(super) fn application_bps(&self) -> Option<u64> {
        self.application_bps
    }

    pub(super) fn forget(&mut self) {
        *self = Self::new(self.config);
    }

    /// The smoothed throughput is this. More than the application was thought to want: it wants more.
    pub(super) fn measured(&mut self, throughput_bps: u64) {
        let limit = |rate: u64| self.config.surplus.of(i128::from(rate));
        if self.application_bps.is_some_and(|rate| i128::from(throughput_bps) > limit(rate)) {
            self.forget();
        }
    }

    /// An update is over: so many bits came in this time, at this interval, after which it is `interval`.
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
            self.judge(interval);
        }
    }

    fn judge(&mut self, interval: Span) {
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
