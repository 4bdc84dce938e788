//! Percentiles by the nearest-rank method: the least sample that the given share of all samples does not exceed.
//!
//! A percentile is always one of the samples; nothing is interpolated. A [`Histogram`] gives the
//! end of the bucket that has it.

use crate::Span;

/// The rank, from 1 to `count`, of the sample that is the percentile. Zero if there are no samples.
pub const fn rank(count: u64, percent: u64) -> u64 {
    let rank = (count as u128 * percent as u128).div_ceil(100);
    if rank == 0 && count > 0 { 1 } else { rank as u64 }
}

/// The ranks of the ends of a percentile's 95 % confidence interval, by the normal approximation of the binomial distribution. One that is
/// zero, or more than `count`, is beyond the samples.
///
/// ```
/// use airwatt_base::percentile::interval_ranks;
/// // 90 less and more 1.96 times the root of 100 times 0.9 times 0.1.
/// assert_eq!(interval_ranks(100, 90), [84, 97]);
/// assert_eq!(interval_ranks(10, 95)[1], 12);
/// // The least number of samples of which one is the upper end for the 95th percentile.
/// assert!(interval_ranks(109, 95)[1] > 109 && interval_ranks(110, 95)[1] <= 110);
/// ```
pub fn interval_ranks(count: u64, percent: u64) -> [u64; 2] {
    const Z95: f64 = 1.96;
    let (count, share) = (count as f64, percent as f64 / 100.0);
    let (middle, half) = (count * share, Z95 * (count * share * (1.0 - share)).sqrt());
    [(middle - half).floor() as u64, (middle + half).ceil() as u64 + 1]
}

/// The percentile of samples in ascending order; `None` if there are none.
///
/// ```
/// use airwatt_base::percentile::of_sorted;
/// assert_eq!(of_sorted(&[1, 2, 3, 4], 50), Some(&2));
/// assert_eq!(of_sorted(&[1, 2, 3, 4], 51), Some(&3));
/// assert_eq!(of_sorted::<u32>(&[], 50), None);
/// ```
pub fn of_sorted<T>(sorted: &[T], percent: u64) -> Option<&T> {
    let rank = rank(sorted.len() as u64, percent) as usize;
    sorted.get(rank.checked_sub(1)?)
}

/// The index of the bucket that holds the percentile of a histogram; `None` if it is empty.
///
/// ```
/// use airwatt_base::percentile::of_buckets;
/// assert_eq!(of_buckets(&[9, 0, 1], 90), Some(0));
/// assert_eq!(of_buckets(&[9, 0, 1], 91), Some(2));
/// ```
pub fn of_buckets(counts: &[u64], percent: u64) -> Option<usize> {
    bucket_of_rank(counts, rank(counts.iter().sum(), percent))
}

/// The index of the bucket that holds the sample of a rank, from 1 on; `None` if there is none.
///
/// ```
/// use airwatt_base::percentile::bucket_of_rank;
/// assert_eq!(bucket_of_rank(&[9, 0, 1], 10), Some(2));
/// assert_eq!(bucket_of_rank(&[9, 0, 1], 0), None);
/// ```
pub fn bucket_of_rank(counts: &[u64], rank: u64) -> Option<usize> {
    let mut seen = 0;
    counts.iter().position(|count| {
        seen += count;
        seen >= rank && rank > 0
    })
}

/// Times in buckets of equal ratio, from a microsecond on, for percentiles of any number of samples in little memory.
///
/// ```
/// use airwatt_base::{Span, percentile::Histogram};
/// let mut times = Histogram::default();
/// (1..=100).for_each(|ms| times.add(Span::from_millis(ms)));
/// let p95_s = times.percentile_s(95).unwrap();
/// assert!((0.095..0.096).contains(&p95_s));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    greatest: Span,
}

impl Histogram {
    /// The binary digits of a time that tell buckets apart, after the first: a percentile is at most 1/128 too high.
    const DIGITS: u32 = 7;

    /// Adds a time.
    pub fn add(&mut self, time: Span) {
        let bucket = Self::bucket(time);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.greatest = self.greatest.max(time);
    }

    /// A percentile in seconds, to the precision of a bucket; `None` if it is empty.
    pub fn percentile_s(&self, percent: u64) -> Option<f64> {
        let bucket = of_buckets(&self.counts, percent)?;
        Some(Self::upper(bucket).min(self.greatest).as_secs_f64())
    }

    /// Times below a microsecond share the first bucket.
    fn bucket(time: Span) -> usize {
        let units = (time.as_nanos() >> 3).max(1 << Self::DIGITS);
        let shift = units.ilog2() - Self::DIGITS;
        ((shift as usize) << Self::DIGITS) + ((units >> shift) as usize - (1 << Self::DIGITS))
    }

    /// The upper end of a bucket.
    fn upper(bucket: usize) -> Span {
        let (shift, digits) = (bucket >> Self::DIGITS, bucket & ((1 << Self::DIGITS) - 1));
        let end = ((1 << Self::DIGITS) + digits as u128 + 1) << (shift + 3);
        Span::from_nanos(u64::try_from(end - 1).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_within_the_samples() {
        assert_eq!([rank(0, 50), rank(1, 1), rank(1, 99), rank(100, 95), rank(101, 95)], [0, 1, 1, 95, 96]);
        assert_eq!([rank(7, 0), rank(7, 100), rank(u64::MAX, 100)], [1, 7, u64::MAX]);
    }

    /// A histogram with one sample in each bucket agrees with the sorted samples.
    #[test]
    fn both_forms_agree() {
        let (samples, counts) = ((0..37).collect::<Vec<usize>>(), vec![1; 37]);
        for percent in 0..=100 {
            assert_eq!(of_sorted(&samples, percent).copied(), of_buckets(&counts, percent));
        }
        assert_eq!(of_buckets(&[], 50), None);
        assert_eq!(of_buckets(&[0, 0], 50), None);
    }
}
