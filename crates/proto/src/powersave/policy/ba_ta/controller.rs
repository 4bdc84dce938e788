//! How often to trigger, and when to stay awake instead: the controller of BA-TA (Algorithm 2).
//!
//! Every update it compares the throughput with what the path can carry. Below `ratio_min` of it the interval between
//! triggers shrinks, above it grows, in proportion (the paper's equation 9). If the shortest interval is not enough,
//! active mode is tried, and kept only while it brings more. Numbers in comments are the lines of the published listing;
//! where its layout is damaged, the one reading is taken that agrees with every line that its text cites.
//!
//! Decisions where the paper is silent:
//! * The pass that enters active mode does not test whether to leave it again (line 40): the change of ratio at hand
//!   is still one of power save.
//! * The smoothed gains take in the last completed change at every update, not only when it is new (lines 26, 28).
//! * The utilisation relates to the time that has really passed, not to the nominal update time.

use airwatt_base::Span;

use super::config::BaTaConfig;
use crate::powersave::Ratio;
use crate::powersave::policy::rate::rate_bps;

/// What was seen since the last update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Bits of packets received.
    pub(super) bits: u64,
    /// How long that took.
    pub(super) elapsed: Span,
    /// Triggers that were answered without data.
    pub(super) empty_triggers: u32,
    /// Whether the station is in active mode.
    pub(super) active: bool,
    /// How much of that time the radio sent, received or contended; of no use in power save.
    pub(super) utilization: Ratio,
}

/// A change of mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Enter,
    Leave,
}

#[derive(Clone, Debug)]
pub(super) struct Controller {
    config: BaTaConfig,
    interval: Span,
    /// The smoothed throughput.
    pub(super) throughput_bps: u64,
    ratio_last: Ratio,
    /// The change of the ratio over the last completed count.
    change: Ratio,
    change_active: Ratio,
    change_power_save: Ratio,
    count: u32,
    attempts: u32,
}

impl Controller {
    pub(super) fn new(config: BaTaConfig) -> Self {
        Self {
            config,
            interval: config.int_max,
            throughput_bps: 0,
            ratio_last: Ratio::ZERO,
            change: Ratio::ZERO,
            change_active: Ratio::ZERO,
            change_power_save: Ratio::ZERO,
            count: 0,
            attempts: if config.attempt_at_once { config.n_max - 1 } else { 0 },
        }
    }

    /// The time between triggers.
    pub(super) fn interval(&self) -> Span {
        self.interval
    }

    /// What was learnt belongs to a connection that is over; the interval stays.
    pub(super) fn forget(&mut self) {
        *self = Self { interval: self.interval, ..Self::new(self.config) };
    }

    /// Line 19.
    pub(super) fn measure(&mut self, seen: &Seen) {
        let now_bps = rate_bps(seen.bits, seen.elapsed);
        if self.config.first_sample && self.throughput_bps == 0 {
            self.throughput_bps = now_bps;
            return;
        }
        let smoothed = self.config.alpha.smooth(i128::from(self.throughput_bps), i128::from(now_bps));
        self.throughput_bps = smoothed as u64;
    }

    /// Lines 20 to 50, after [`Controller::measure`]; `reference_bps` is what the throughput is compared with.
    pub(super) fn decide(&mut self, seen: &Seen, reference_bps: u64) -> Option<Switch> {
        let ratio = Ratio::share(self.throughput_bps, reference_bps);
        let in_vain = seen.empty_triggers >= self.config.n_trig_max;
        if reference_bps > 0 && self.throughput_bps > 0 && !in_vain {
            return self.adapt(seen, ratio);
        }
        if seen.bits == 0 || in_vain {
            self.ratio_last = ratio;
            if seen.active {
                return Some(Switch::Leave);
            }
            self.interval = (self.interval + self.config.step_min).min(self.config.int_max);
        } else {
            self.interval = self.config.int_max;
        }
        None
    }

    /// Lines 22 to 42.
    fn adapt(&mut self, seen: &Seen, ratio: Ratio) -> Option<Switch> {
        let BaTaConfig { gamma, alpha, count_max, .. } = self.config;
        self.count += 1;
        if ratio - self.ratio_last < -gamma - gamma {
            self.count = count_max;
        }
        let smoothed = if seen.active { &mut self.change_active } else { &mut self.change_power_save };
        *smoothed = alpha.smooth_ratio(*smoothed, self.change);
        // Line 29 tests for equality; a count that forgetting or a smaller count_max left above it must act as well.
        if self.count < count_max {
            return None;
        }
        self.count = 0;
        self.change = ratio - self.ratio_last;
        self.ratio_last = ratio;
        self.scale_interval(ratio);
        let switch = if ratio >= self.config.ratio_min {
            (seen.active && seen.utilization <= self.config.util_min).then_some(Switch::Leave)
        } else if seen.active {
            (self.change < self.config.leave_below.unwrap_or(gamma)).then_some(Switch::Leave)
        } else {
            self.try_active_mode(seen)
        };
        self.interval = self.interval.clamp(self.config.int_min, self.config.int_max);
        switch
    }

    /// Line 31.
    fn scale_interval(&mut self, ratio: Ratio) {
        let factor = Ratio::ONE + self.config.gain.times(ratio - self.config.ratio_min);
        let scaled = factor.of(i128::from(self.interval.as_nanos()));
        self.interval = Span::from_nanos(scaled.clamp(0, i128::from(u64::MAX)) as u64);
    }

    /// Lines 36 to 39: the attempt succeeds if active mode has brought more than power save of late, and in any case
    /// every `n_max`-th time.
    fn try_active_mode(&mut self, seen: &Seen) -> Option<Switch> {
        if self.interval >= self.config.int_min || seen.bits == 0 {
            return None;
        }
        let (active, power_save) = (self.change_active, self.change_power_save);
        let enter = active > power_save + power_save.abs() || self.attempts == self.config.n_max - 1;
        self.attempts = (self.attempts + 1) % self.config.n_max;
        enter.then_some(Switch::Enter)
    }
}
