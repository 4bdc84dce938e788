//! By how much the clock of a meter goes fast beside that of a capture.
//!
//! Quartz clocks differ by some ten parts in a million. A beacon takes a few milliseconds of a hundred, so that samples that are half a
//! millisecond off at the end of a minute give the sleep between them a part of its charge. Near one offset of the whole trace the best
//! places of its parts are looked for: first by correlation in bins of a millisecond, from part to part, then by what a fit of the
//! states' currents leaves. A line through them is the drift: that of the median of the slopes between any two (Theil and Sen), which a few
//! parts at a wrong place do not move.

use airwatt_sim::replay::RadioPeriod;

use super::StateCurrents;
use super::align::{FINE_BIN, correlation, least_left, predicted};
use super::pulses::median;
use super::trace::{Interval, Trace, put_together};

/// Parts of the trace, and their length in bins.
const MOST_PARTS: usize = 48;
const LEAST_PARTS: usize = 4;
const PART_BINS: usize = 5_000;
/// A shorter trace does not have so many.
pub(super) const LEAST_TRACE_S: f64 = LEAST_PARTS as f64 * PART_BINS as f64 * 1e-3;
/// How far a part is looked for from the offset of the whole, and from the part before it, in bins: half a beacon interval is farther.
const REACH_BINS: i64 = 45;
const STEP_BINS: i64 = 12;
/// A part that correlates less shows nothing.
const LEAST_CORRELATION: f64 = 0.5;
/// Samples that are shorter are put together to find the place of a part.
const PUT_TOGETHER_S: f64 = 5e-4;
/// A drift has to move the ends of the trace by this against each other, in seconds, and by so many standard errors.
const LEAST_S: f64 = 1e-4;
const ERRORS: f64 = 4.0;
/// Parts that are farther from the line than this, in seconds, say that there is none.
const SCATTER_S: f64 = 1e-3;
/// No clock is off by more.
const MOST: f64 = 5e-4;

/// The drift: so many seconds of the capture pass for each second of the trace beyond one. `None` if it makes no difference, or the
/// parts of the trace do not show it. `offset_s` is near the capture's time at which the trace begins.
pub(super) fn of(
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    offset_s: f64,
) -> Option<f64> {
    let bin_s = FINE_BIN.as_secs_f64();
    let (predicted, measured) = (predicted(periods, currents), trace.grid(bin_s));
    let offset = (offset_s / bin_s).round() as i64;
    let (from, until) = ((-offset).max(0), (predicted.len() as i64 - offset).min(measured.len() as i64));
    let inside = usize::try_from(until - from).ok()?;
    let count = (inside / PART_BINS).min(MOST_PARTS);
    if count < LEAST_PARTS {
        return None;
    }
    let apart = (inside - PART_BINS) / (count - 1);
    let starts: Vec<usize> = (0..count).map(|part| from as usize + part * apart).collect();
    let best = |start: usize, around: i64, reach: i64| {
        let part = &measured[start..start + PART_BINS];
        let shifts = around - reach..=around + reach;
        let with = shifts
            .filter_map(|shift| Some((shift, correlation(&predicted, part, start as i64 + offset + shift)?)));
        with.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, correlation)| *correlation >= LEAST_CORRELATION)
    };
    // From the part that fits best to both sides.
    let wide = (0..count).filter_map(|part| Some((part, best(starts[part], 0, REACH_BINS)?)));
    let (first, (shift, _)) = wide.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let mut places: Vec<(usize, i64)> = Vec::new();
    let mut follow = |parts: &mut dyn Iterator<Item = usize>| {
        let mut last = shift;
        for part in parts {
            if let Some((shift, _)) = best(starts[part], last, STEP_BINS) {
                last = shift;
                places.push((part, shift));
            }
        }
    };
    follow(&mut (first..count));
    follow(&mut (0..first).rev());
    let points = places.into_iter().filter_map(|(part, shift)| {
        let (from_s, length_s) = (starts[part] as f64 * bin_s, PART_BINS as f64 * bin_s);
        let at = refined(trace, periods, (from_s, from_s + length_s), offset_s + shift as f64 * bin_s)?;
        Some((from_s + length_s / 2.0, at - offset_s))
    });
    line(&points.collect::<Vec<_>>()).filter(|drift| drift.abs() < MOST)
}

/// The offset near one at which a fit of a part of the trace leaves the least, to 5 us.
fn refined(
    trace: &Trace,
    periods: &[RadioPeriod],
    (from_s, until_s): (f64, f64),
    offset_s: f64,
) -> Option<f64> {
    let first = trace.intervals.partition_point(|interval: &Interval| interval.start_s < from_s);
    let end = trace.intervals.partition_point(|interval: &Interval| interval.end_s() <= until_s);
    let mut part: Vec<Interval> = Vec::new();
    trace.intervals.get(first..end)?.iter().for_each(|next| put_together(&mut part, *next, PUT_TOGETHER_S));
    let begin_s = part.first()?.start_s + offset_s - 0.1;
    let before = periods
        .partition_point(|period: &RadioPeriod| (period.start + period.duration).as_secs_f64() < begin_s);
    Some(least_left(&periods[before..], &part, offset_s, (8, &[2e-4, 4e-5, 5e-6])))
}

/// The slope of the line through points, if it matters and they show it.
fn line(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < LEAST_PARTS {
        return None;
    }
    let slopes = points.iter().enumerate().flat_map(|(at, (x, y))| {
        let later = points[at + 1..].iter();
        later.filter(move |(u, _)| u != x).map(move |(u, v)| (v - y) / (u - x))
    });
    let slope = median(slopes.collect())?;
    let level = median(points.iter().map(|(x, y)| y - slope * x).collect())?;
    let scatter = median(points.iter().map(|(x, y)| (y - level - slope * x).abs()).collect())?;
    let (first, last) = points.iter().fold((f64::MAX, f64::MIN), |(a, b), (x, _)| (a.min(*x), b.max(*x)));
    let mean = points.iter().map(|(x, _)| x).sum::<f64>() / points.len() as f64;
    let spread = points.iter().map(|(x, _)| (x - mean).powi(2)).sum::<f64>().sqrt();
    // The median of what is normally distributed is 0.67 of its standard deviation.
    let error = scatter / 0.67 / spread;
    let matters = slope.abs() * (last - first) > LEAST_S && slope.abs() > ERRORS * error;
    (matters && scatter < SCATTER_S).then_some(slope)
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_is_that_of_most_points() {
        let on = |slope: f64| (0..20).map(|at| (f64::from(at), slope * f64::from(at))).collect::<Vec<_>>();
        assert!((line(&on(2e-5)).unwrap() - 2e-5).abs() < 1e-9);
        let mut wrong = on(2e-5);
        (wrong[3].1, wrong[11].1) = (0.03, -0.02);
        assert!((line(&wrong).unwrap() - 2e-5).abs() < 1e-6);
        // Less than a tenth of a millisecond from end to end makes no difference.
        assert_eq!(line(&on(4e-6)), None);
        // Points that lie nowhere near a line show none.
        let scattered: Vec<_> = (0..20).map(|at| (f64::from(at), f64::from(at * at % 7) * 2e-3)).collect();
        assert_eq!(line(&scattered), None);
    }
}
