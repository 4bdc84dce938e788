//! At which of several places, all a period of the traffic apart, the radio wakes up when it is predicted to.
//!
//! Reports that come each half minute, but for some milliseconds of jitter, correlate nearly as well at each multiple of that, since
//! the bins of the correlation are longer than the jitter where beacons are not known, and the awake times may be longer than predicted.
//! The begins of the awake times tell: at the right place the measured ones are all as far from the predicted ones, at a wrong one as far
//! as two jitters differ.

use airwatt_energy::RadioState;
use airwatt_sim::replay::RadioPeriod;

use super::trace::FINE_BIN;

/// How far from a predicted begin the measured one is looked for, in bins of a millisecond.
const WITHIN_BINS: usize = 300;
/// The time before and after a begin over which currents are compared: a beacon takes one or two of these bins.
const STEP_BINS: usize = 20;
/// Begins that a decision needs, and at most looks at.
const LEAST: usize = 6;
const MOST: usize = 64;
/// Share of the largest rise from which on one is a begin.
const NEARLY: f64 = 0.7;
/// Share of the distances to their median that decides: a beacon just before a begin may move one, and beacons may take a fifth of the time.
const MOST_OF_THEM: f64 = 0.75;
/// Spreads in milliseconds: up to the first the measurement follows the prediction, and one that is larger than the least by no more than
/// the second is as likely.
const FOLLOWS_MS: f64 = 10.0;
const AS_LIKELY_MS: f64 = 2.0;

/// The predicted begins of awake times that come after a long sleep and are not for beacons, as fine bins.
pub(super) struct Onsets(Vec<i64>);

impl Onsets {
    pub(super) fn of(periods: &[RadioPeriod]) -> Self {
        let mut is_beacon = vec![false; periods.len()];
        super::beacons_alone(periods).for_each(|range| is_beacon[range].fill(true));
        let is_asleep = |at: usize| periods[at].state == RadioState::Sleep || is_beacon[at];
        let begins = (1..periods.len()).filter(|&at| is_asleep(at - 1) && !is_asleep(at));
        let bin = FINE_BIN.as_nanos();
        let begins: Vec<i64> = begins.map(|at| (periods[at].start.as_nanos() / bin).cast_signed()).collect();
        // An exchange with a pause in it begins once, with its first awake time.
        let is_first = |at: &usize| {
            at.checked_sub(1)
                .is_none_or(|before| begins[*at].abs_diff(begins[before]) > 2 * WITHIN_BINS as u64)
        };
        Self((0..begins.len()).filter(is_first).map(|at| begins[at]).collect())
    }

    /// Which of several offsets, in fine bins, are not worse than the best of them; `None` where the begins do not tell.
    pub(super) fn fit(&self, measured: &[f32], offsets: &[i64]) -> Option<Vec<bool>> {
        let sums = sums(measured);
        let spreads: Vec<Option<f64>> = offsets.iter().map(|offset| self.spread(&sums, *offset)).collect();
        let least = spreads.iter().flatten().copied().min_by(f64::total_cmp);
        let least = least.filter(|least| *least <= FOLLOWS_MS)?;
        // A place with too few begins in the time of both is none where another one fits to the bin.
        let fits = |spread: &Option<f64>| match spread {
            Some(spread) => *spread <= least + least.max(AS_LIKELY_MS),
            None => least > AS_LIKELY_MS,
        };
        Some(spreads.iter().map(fits).collect())
    }

    /// How far most measured begins are from the median of their distances to the predicted ones, in milliseconds; `None` if there are few.
    fn spread(&self, sums: &[(f64, u32)], offset: i64) -> Option<f64> {
        let reach = WITHIN_BINS + STEP_BINS;
        let inside = |at: &usize| *at >= reach && at + reach < sums.len();
        let centres: Vec<usize> =
            self.0.iter().filter_map(|at| usize::try_from(at - offset).ok()).filter(inside).collect();
        let every = centres.len().div_ceil(MOST).max(1);
        let rises = |at: usize| {
            let (before, after) = (mean(sums, at - STEP_BINS, at)?, mean(sums, at, at + STEP_BINS)?);
            Some((at, after - before))
        };
        let begin = |centre: usize| {
            let around: Vec<(usize, f64)> =
                (centre - WITHIN_BINS..=centre + WITHIN_BINS).filter_map(rises).collect();
            let most = around.iter().map(|(_, rise)| *rise).max_by(f64::total_cmp)?;
            // The first that is nearly as high as any: later ones are of the same exchange.
            let first = around.iter().position(|(_, rise)| *rise >= NEARLY * most)?;
            let near = &around[first..around.len().min(first + STEP_BINS)];
            near.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| *at as f64 - centre as f64)
        };
        let mut distances: Vec<f64> =
            centres.iter().step_by(every).filter_map(|centre| begin(*centre)).collect();
        if distances.len() < LEAST {
            return None;
        }
        distances.sort_by(f64::total_cmp);
        let median = distances[distances.len() / 2];
        let mut from: Vec<f64> = distances.iter().map(|distance| (distance - median).abs()).collect();
        from.sort_by(f64::total_cmp);
        Some(from[(MOST_OF_THEM * (from.len() - 1) as f64).ceil() as usize])
    }
}

/// Sums of a current up to each bin, and how many bins are known; a gap adds nothing.
fn sums(measured: &[f32]) -> Vec<(f64, u32)> {
    let add = |sum: &mut (f64, u32), bin: &f32| {
        if !bin.is_nan() {
            *sum = (sum.0 + f64::from(*bin), sum.1 + 1);
        }
        Some(*sum)
    };
    std::iter::once((0.0, 0)).chain(measured.iter().scan((0.0, 0), add)).collect()
}

/// The mean of the bins of a range; `None` in a gap.
fn mean(sums: &[(f64, u32)], from: usize, until: usize) -> Option<f64> {
    let ((before_a, before), (after_a, after)) = (sums.get(from)?, sums.get(until)?);
    (after > before).then(|| (after_a - before_a) / f64::from(after - before))
}
