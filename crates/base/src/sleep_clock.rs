//! The clock by which a dozing radio finds the next beacon, and the guard time that its error requires.
//!
//! A dozing radio switches its crystal oscillator off and counts a slow clock, often an RC oscillator. It wakes up
//! early by a guard time, so that it is ready although its clock may be late. The guard has three parts:
//!
//! * a **fixed** part, for the resolution of the clock and for whatever does not depend on the time slept;
//! * a part **proportional** to the time slept, for an error of frequency that the station does not correct;
//! * a part that grows with the **square root** of the time slept. Each beacon carries the access point's timestamp, from
//!   which a station learns the frequency error of its clock. What remains is noise: the periods of a free-running
//!   oscillator vary independently, so the error after `n` periods has the standard deviation of one period times the
//!   square root of `n` (white frequency noise; the Allan deviation falls with the square root of the interval).
//!
//! The error itself is no part of a profile, since each chip has its own. Where none is set, a station wakes up early by its guard and finds the
//! beacon where the mean error puts it, at the target time. [`time_shown`] is for a clock whose error is set.

use crate::units::{Instant, Span};

/// What the guard time of a sleep clock is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepClock {
    /// The part of the guard that does not depend on the time slept.
    pub guard: Span,
    /// Uncorrected error of the frequency, in parts per billion.
    pub accuracy_ppb: u64,
    /// Error that the clock accumulates over one second by its noise, in parts per billion of that second.
    pub wander_ppb: u64,
}

const BILLION: u128 = 1_000_000_000;

impl SleepClock {
    /// A clock whose guard is always the same.
    pub const fn fixed(guard: Span) -> Self {
        Self { guard, accuracy_ppb: 0, wander_ppb: 0 }
    }

    /// The guard time after `slept`, in whole nanoseconds, rounded down.
    pub fn guard_after(&self, slept: Span) -> Span {
        let slept = u128::from(slept.as_nanos());
        // sqrt(T x 1 s) in nanoseconds.
        let root = (slept * BILLION).isqrt();
        let linear = slept * u128::from(self.accuracy_ppb);
        let grown = linear.saturating_add(root * u128::from(self.wander_ppb)) / BILLION;
        self.guard.saturating_add(Span::from_nanos(u64::try_from(grown).unwrap_or(u64::MAX)))
    }
}

/// The time at which a clock that was right at `set`, and whose frequency is off by `error_ppb` parts per billion, shows `at`: earlier if it is fast.
pub fn time_shown(set: Instant, at: Instant, error_ppb: i64) -> Instant {
    if at <= set {
        return at;
    }
    let rate = (BILLION as i128 + i128::from(error_ppb)).max(1) as u128;
    let passed = u128::from((at - set).as_nanos()) * BILLION / rate;
    set.saturating_add(Span::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX)))
}

impl Default for SleepClock {
    /// A guard of 0.5 ms: what a station here uses for a radio whose source says nothing of its clock.
    fn default() -> Self {
        Self::fixed(Span::from_micros(500))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 ppm of 102.4 ms are 2.048 us. With 800 us over one second the guard is 800 us x sqrt(0.1024) = 256 us after 102.4 ms.
    #[test]
    fn the_guard_has_its_three_parts() {
        let clock = SleepClock { guard: Span::from_micros(10), accuracy_ppb: 20_000, wander_ppb: 0 };
        assert_eq!(clock.guard_after(Span::from_micros(102_400)), Span::from_nanos(12_048));
        assert_eq!(clock.guard_after(Span::ZERO), Span::from_micros(10));
        let noisy = SleepClock { guard: Span::ZERO, accuracy_ppb: 0, wander_ppb: 800_000 };
        assert_eq!(noisy.guard_after(Span::from_micros(102_400)), Span::from_micros(256));
        assert_eq!(noisy.guard_after(Span::from_secs(1)), Span::from_micros(800));
        assert_eq!(noisy.guard_after(Span::from_secs(4)), Span::from_micros(1_600));
        assert_eq!(SleepClock::default().guard_after(Span::from_secs(100)), Span::from_micros(500));
    }

    /// A clock that is fast by 100 ppm shows 600 s after 600 s / 1.0001 = 599.940 006 s, and one that is slow by as much after 600.060 006 s.
    #[test]
    fn a_fast_clock_shows_a_time_early() {
        let (set, at) = (Instant::from_secs(5), Instant::from_secs(605));
        assert_eq!(time_shown(set, at, 0), at);
        assert_eq!(time_shown(set, at, 100_000), Instant::from_nanos(604_940_005_999));
        assert_eq!(time_shown(set, at, -100_000), Instant::from_nanos(605_060_006_000));
        assert_eq!(time_shown(at, set, 100_000), set);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let clock = SleepClock { guard: Span::MAX, accuracy_ppb: u64::MAX, wander_ppb: u64::MAX };
        assert_eq!(clock.guard_after(Span::MAX), Span::MAX);
    }
}
