//! Percentiles of delays with confidence intervals that assume nothing about their distribution.
//!
//! The interval of a percentile lies between two order statistics, whose ranks come from the binomial distribution of the
//! number of samples below it (Conover, *Practical Nonparametric Statistics*, 3.2), by the normal approximation. Probes are
//! taken as independent of each other.

use airwatt_base::{Span, percentile};
use serde::Serialize;

use super::schedule::Setting;
use crate::station::doze::Doze;

/// Fewer probes say nothing about the slowest in a hundred.
const P99_SAMPLES: usize = 300;

/// A percentile in seconds, with the ends of its 95 % confidence interval where the samples suffice for them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    pub(super) value_s: f64,
    pub(super) low_s: Option<f64>,
    pub(super) high_s: Option<f64>,
}

/// The delays under one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    pub(super) setting: Setting,
    /// Share of the time of its blocks with power save on; `None` if none of them came.
    pub(super) power_save_share: Option<f64>,
    pub(super) probes: usize,
    pub(super) lost: usize,
    pub(super) p50: Option<Estimate>,
    pub(super) p95: Option<Estimate>,
    /// Only from 300 probes on.
    pub(super) p99: Option<Estimate>,
}

impl Summary {
    /// Summarises the probes under one setting; `None` stands for a probe that was lost.
    pub(super) fn new(
        setting: Setting,
        power_save_share: Option<f64>,
        delays: impl Iterator<Item = Option<Span>>,
    ) -> Self {
        let delays: Vec<Option<Span>> = delays.collect();
        let mut known: Vec<Span> = delays.iter().flatten().copied().collect();
        known.sort_unstable();
        let p99 = (known.len() >= P99_SAMPLES).then(|| estimate(&known, 99)).flatten();
        Self {
            setting,
            power_save_share,
            probes: delays.len(),
            lost: delays.len() - known.len(),
            p50: estimate(&known, 50),
            p95: estimate(&known, 95),
            p99,
        }
    }
}

/// The percentile of samples in ascending order.
fn estimate(sorted: &[Span], percent: u64) -> Option<Estimate> {
    let value = percentile::of_sorted(sorted, percent)?.as_secs_f64();
    let [low_s, high_s] = percentile::interval_ranks(sorted.len() as u64, percent)
        .map(|rank| sorted.get((rank as usize).checked_sub(1)?).map(|delay| delay.as_secs_f64()));
    Some(Estimate { value_s: value, low_s, high_s })
}

impl Doze {
    /// Compares the medians. A radio that sleeps between beacons lets an answer wait for half an interval on average, and a
    /// quarter of one is the line.
    pub(super) fn judge(off: &Summary, on: &Summary, beacon_interval: Span) -> Self {
        let line = beacon_interval.as_secs_f64() / 4.0;
        let (Some(off), Some(on)) = (off.p50, on.p50) else { return Self::Unknown };
        match (off.low_s, off.high_s, on.low_s, on.high_s) {
            (_, Some(off_high), Some(on_low), _) if on_low - off_high > line => Self::Sleeps,
            (Some(off_low), _, _, Some(on_high)) if on_high - off_low < line => Self::StaysAwake,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEACON: Span = Span::from_micros(102_400);

    fn summary(delays_ms: impl Iterator<Item = u64>) -> Summary {
        Summary::new(Setting::On, Some(1.0), delays_ms.map(|ms| Some(Span::from_millis(ms))))
    }

    #[test]
    fn the_median_of_a_hundred_has_the_textbook_interval() {
        let found = summary(1..=100).p50.unwrap();
        // Ranks 40 and 61 (Conover, table A3: 0.95 for n = 100).
        assert_eq!(
            [found.value_s, found.low_s.unwrap(), found.high_s.unwrap()].map(|s| (s * 1e3).round()),
            [50.0, 40.0, 61.0]
        );
    }

    #[test]
    fn few_samples_have_no_interval_and_no_p99() {
        let found = summary(1..=20);
        assert_eq!((found.p95.unwrap().high_s, found.p99), (None, None));
        assert_eq!(summary(1..=299).p99, None);
        assert!(summary(1..=300).p99.is_some());
        assert_eq!(summary(0..0).p50, None);
    }

    #[test]
    fn the_interval_covers_the_true_percentile_as_often_as_it_says() {
        let mut random = airwatt_base::RandomStream::new(7, "coverage");
        let covered = (0..1_000)
            .filter(|_| {
                let found = Summary::new(
                    Setting::On,
                    Some(1.0),
                    (0..200).map(|_| Some(Span::from_nanos((random.unit() * 1e9) as u64))),
                );
                let p95 = found.p95.unwrap();
                p95.low_s.unwrap() <= 0.95 && p95.high_s.is_none_or(|high| high >= 0.95)
            })
            .count();
        assert!((930..=990).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn lost_probes_are_counted() {
        let found =
            Summary::new(Setting::Off, Some(0.0), [None, Some(Span::from_millis(3)), None].into_iter());
        assert_eq!((found.probes, found.lost, found.p50.unwrap().value_s), (3, 2, 0.003));
    }

    #[test]
    fn a_radio_that_sleeps_is_told_from_one_that_does_not() {
        let awake = || summary((0..100).map(|index| 1 + index % 3));
        let asleep = summary((0..100).map(|index| 2 + index));
        assert_eq!(Doze::judge(&awake(), &asleep, BEACON), Doze::Sleeps);
        assert_eq!(Doze::judge(&awake(), &awake(), BEACON), Doze::StaysAwake);
        let few = summary([1, 90, 40, 20].into_iter());
        assert_eq!(Doze::judge(&awake(), &few, BEACON), Doze::Unknown);
        assert_eq!(Doze::judge(&awake(), &summary(0..0), BEACON), Doze::Unknown);
    }
}
