//! Accuracy of the timing: the difference between the time that the machines decided on and the time of the delivery.

use airwatt_base::{Span, percentile};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;

/// Buckets for each doubling of the lateness: a percentile is at most 6 % too high.
const PER_OCTAVE: u32 = 16;

/// Lateness of deliveries, in logarithmic buckets from a microsecond on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness {
    buckets: Vec<u64>,
    count: u64,
    late: u64,
    worst: Span,
}

impl Lateness {
    pub(crate) fn add(&mut self, lateness: Span, bound: Span) {
        let bucket = bucket(lateness);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.late += u64::from(lateness > bound);
        self.worst = self.worst.max(lateness);
    }

    /// A percentile in seconds, to the precision of a bucket; `None` if nothing was delivered.
    fn percentile_s(&self, percent: u64) -> Option<f64> {
        let bucket = percentile::of_buckets(&self.buckets, percent)?;
        Some(upper_s(bucket).min(self.worst.as_secs_f64()))
    }
}

fn bucket(lateness: Span) -> usize {
    let us = lateness.as_secs_f64() * 1e6;
    (us.max(1.0).log2() * f64::from(PER_OCTAVE)).ceil() as usize
}

fn upper_s(bucket: usize) -> f64 {
    (bucket as f64 / f64::from(PER_OCTAVE)).exp2() * 1e-6
}

/// Timing of an emulation. Nothing but the lateness of deliveries, which moves packets, affects the results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Realtime {
    /// Packets delivered to kernels.
    pub deliveries: u64,
    /// Median lateness of deliveries, after the time that the machines decided on, in seconds.
    pub lateness_s_p50: Option<f64>,
    /// 99th percentile of the lateness in seconds.
    pub lateness_s_p99: Option<f64>,
    /// Largest lateness in seconds.
    pub lateness_s_max: f64,
    /// Number of deliveries later than the bound.
    pub late: u64,
    /// The bound in seconds.
    pub bound_s: f64,
    /// Whether at most one delivery of a hundred was late.
    pub trusted: bool,
    /// Number of wake-ups of the bridge.
    pub wakeups: u64,
    /// CPU time of the bridge divided by the elapsed time; a write to a kernel's device includes that kernel's work on
    /// the packet.
    pub cpu_share: f64,
}

impl Realtime {
    pub(crate) fn new(lateness: &Lateness, bound: Span, wakeups: u64, elapsed: Span, cpu_s: f64) -> Self {
        Self {
            deliveries: lateness.count,
            lateness_s_p50: lateness.percentile_s(50),
            lateness_s_p99: lateness.percentile_s(99),
            lateness_s_max: lateness.worst.as_secs_f64(),
            late: lateness.late,
            bound_s: bound.as_secs_f64(),
            trusted: lateness.late * 100 <= lateness.count,
            wakeups,
            cpu_share: if elapsed.is_zero() { 0.0 } else { cpu_s / elapsed.as_secs_f64() },
        }
    }
}

/// CPU time of the calling thread in seconds, in user and kernel mode.
pub(crate) fn cpu_s() -> f64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0.0, |usage| {
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e-6
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds_within_six_per_cent() {
        let mut lateness = Lateness::default();
        let bound = Span::from_micros(980);
        (1..=1_000).for_each(|us| lateness.add(Span::from_micros(us), bound));
        let realtime = Realtime::new(&lateness, bound, 0, Span::from_secs(1), 0.25);
        for (value, exact) in [(realtime.lateness_s_p50, 500e-6), (realtime.lateness_s_p99, 990e-6)] {
            let value = value.unwrap();
            assert!(value >= exact * (1.0 - 1e-12) && value <= exact * 1.06, "{value} {exact}");
        }
        assert_eq!((realtime.lateness_s_max, realtime.late, realtime.trusted), (1e-3, 20, false));
        assert_eq!(realtime.cpu_share, 0.25);
    }

    #[test]
    fn nothing_delivered_is_nothing_late() {
        let realtime = Realtime::new(&Lateness::default(), Span::from_millis(1), 3, Span::ZERO, 0.0);
        assert_eq!((realtime.lateness_s_p50, realtime.late, realtime.trusted), (None, 0, true));
    }

    #[test]
    fn one_of_a_hundred_may_be_late() {
        let mut lateness = Lateness::default();
        let bound = Span::from_millis(1);
        lateness.add(Span::from_millis(2), bound);
        (0..99).for_each(|_| lateness.add(Span::from_micros(3), bound));
        assert!(Realtime::new(&lateness, bound, 0, Span::ZERO, 0.0).trusted);
    }
}
