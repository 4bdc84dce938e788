//! Percentiles by the nearest-rank method: the least sample that the given share of all samples does not exceed.
//!
//! A percentile is always one of the samples; nothing is interpolated.

/// The rank, from 1 to `count`, of the sample that is the percentile. Zero if there are no samples.
pub const fn rank(count: u64, percent: u64) -> u64 {
    let rank = (count as u128 * percent as u128).div_ceil(100);
    if rank == 0 && count > 0 { 1 } else { rank as u64 }
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
    let rank = rank(counts.iter().sum(), percent);
    let mut seen = 0;
    counts.iter().position(|count| {
        seen += count;
        seen >= rank && rank > 0
    })
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
