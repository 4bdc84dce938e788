//! The clock of the kernel: microseconds for measurements, jiffies for timers.

use airwatt_base::Instant;

use super::config::{LinuxConfig, TimerRule};

/// Microseconds since the clock began.
pub(super) fn micros(now: Instant) -> u64 {
    now.as_nanos() / 1000
}

/// Jiffies of a kernel, and when its timers expire.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub(super) hz: u64,
    rule: TimerRule,
}

impl Clock {
    pub(super) fn new(config: &LinuxConfig) -> Self {
        Self { hz: config.hz, rule: config.timers }
    }

    /// The jiffy in which `at` lies, in microseconds.
    pub(super) fn jiffy(&self, at: u64) -> u64 {
        at * self.hz / 1_000_000
    }

    /// Jiffies that cover so many microseconds.
    pub(super) fn covering(&self, span: u64) -> u64 {
        (span * self.hz).div_ceil(1_000_000)
    }

    /// So many jiffies in microseconds.
    pub(super) fn span(&self, jiffies: u64) -> u64 {
        jiffies * 1_000_000 / self.hz
    }

    /// The microsecond at which a timer expires that is set now, at `now`, to so many microseconds, rounded up to jiffies.
    ///
    /// The wheel has buckets of one jiffy for timers below 63 jiffies, of eight below 504, and so on by eight: a timer
    /// expires at the end of its bucket.
    pub(super) fn expiry(&self, now: u64, span: u64) -> u64 {
        let jiffies = self.covering(span).max(1);
        match self.rule {
            TimerRule::Exact => now + self.span(jiffies),
            TimerRule::Wheel => {
                let mut width = 1;
                let mut limit = 63;
                while jiffies >= limit && width < 1 << 24 {
                    (width, limit) = (width * 8, limit * 8);
                }
                let expiry = self.jiffy(now) + jiffies;
                self.span((expiry / width + 1) * width)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(hz: u64, timers: TimerRule) -> Clock {
        Clock::new(&LinuxConfig { hz, timers, ..LinuxConfig::default() })
    }

    #[test]
    fn the_wheel_is_late_by_a_bucket_at_most() {
        // HZ 250, 300.9 ms: 76 jiffies in buckets of eight, so at most 32 ms late.
        let wheel = clock(250, TimerRule::Wheel);
        assert_eq!(wheel.expiry(0, 300_900), 320_000);
        assert_eq!(wheel.expiry(12_000, 300_900), 320_000);
        assert_eq!(wheel.expiry(16_000, 300_900), 352_000);
        // Below 63 jiffies the buckets are single jiffies.
        assert_eq!(clock(1000, TimerRule::Wheel).expiry(500, 40_000), 41_000);
        assert_eq!(clock(1000, TimerRule::Exact).expiry(500, 40_000), 40_500);
        assert_eq!(clock(250, TimerRule::Exact).expiry(0, 40_001), 44_000);
    }
}
