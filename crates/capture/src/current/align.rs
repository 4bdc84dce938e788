//! The offset of a trace's clock: the one at which measured and predicted current correlate best.
//!
//! Both are reduced to means of equal bins: first coarse ones, then finer ones around the best offset, down to a millisecond. From
//! there the offset is the one that leaves the least after a fit of the states' currents ([`super::fit`]), to a hundredth of a
//! millisecond, since a beacon takes one or two. A radio that only receives beacons has the same current in each beacon
//! interval, and strictly periodic traffic the same in each period, so that many offsets are as likely. Each is refined to bins of 10 ms
//! before they are compared, since coarse bins may be half a bin off at the right one. The best one is that whose
//! correlation is least likely to be an accident (Fisher's transformation times the square root of the bins that overlap). Where the
//! begins of the times awake tell places apart that are a period of the traffic from each other ([`Onsets`]), those at which they do not
//! fit are left out. Of the others that correlate as well but for noise those are taken at which the shorter one lies inside the longer
//! one, and of them the one nearest to zero, since meters and captures are started together.
//!
//! Where a prediction has no beacons but the trace has, bins are about as long as a beacon interval: nearly each has one beacon,
//! which then is a constant.

use airwatt_base::{Instant, Span};
use airwatt_sim::replay::RadioPeriod;

use super::StateCurrents;
use super::fit::Fit;
use super::onsets::Onsets;
pub(super) use super::trace::FINE_BIN;
use super::trace::{Interval, Trace};

/// Bins of the coarsest comparison, at most.
const COARSE_BINS: usize = 8_000;
/// Bins over which the correlation is reported and other offsets are looked for.
pub(super) const REPORT_BIN: Span = Span::from_millis(10);
/// The same if the prediction has no beacons.
pub(super) const BEACONS_BIN: Span = Span::from_millis(100);
/// An offset that is further from the one that is found is another one.
const ANOTHER: Span = Span::from_millis(50);
/// Another offset that correlates less by no more than this is as likely.
const AS_LIKELY: f64 = 0.05;
/// One that leaves no more of the variance unexplained than this many standard errors of it differs by noise alone.
const NOISE_ERRORS: f64 = 4.0;
/// Offsets from which on a pattern repeats itself, if they are as far from each other.
const REPEATS: usize = 3;
/// Share of the shorter series that must overlap.
const LEAST_OVERLAP: f64 = 0.5;
/// Share of the shorter series that overlaps if it lies inside the longer one, but for what was cut off at its ends.
const INSIDE: f64 = 0.99;
/// Other offsets that are named.
const MOST_OTHERS: usize = 4;
/// Offsets that are looked at in fine bins.
const CANDIDATES: usize = 8;
/// Offsets that are looked at over bins of 10 ms before that: at the right one the coarse bins may be half a bin off.
const MOST_NEARLY: usize = 64;
/// The begins of the times awake tell places apart that correlate less than the best by no more than this, since a device that is awake
/// for longer than predicted may correlate better at another place, and that are no more than so many.
const MAY_BE: f64 = 0.3;
const MOST_PLACES: usize = 512;
/// Correlations from here on are as good as 1.
const MOST: f64 = 0.999;
/// Intervals from which the last digits of the offset are found.
const REFINED: usize = 200_000;

/// An offset in bins and the correlation there.
type Shift = (i64, f64);

/// The beginning of a trace on the clock of the capture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aligned {
    /// The capture's time at which it begins.
    pub offset_s: f64,
    pub correlation: f64,
    /// Others that are as likely, with their correlations, the nearest first.
    pub others: Vec<(f64, f64)>,
    /// The time after which the pattern repeats itself, if those that are as likely are as far from each other.
    pub repeats_s: Option<f64>,
}

/// The currents that a prediction expects, as means of bins of [`FINE_BIN`], in amperes.
pub(super) fn predicted(periods: &[RadioPeriod], currents: &StateCurrents) -> Vec<f32> {
    let end = periods.last().map_or(Instant::ZERO, |last| last.start + last.duration);
    let bin = FINE_BIN.as_nanos();
    let mut current_a = vec![0.0f32; (end.as_nanos() / bin) as usize + 1];
    for period in periods {
        let current = currents[period.state as usize];
        let (mut at, end) = (period.start.as_nanos(), (period.start + period.duration).as_nanos());
        while at < end {
            let until = end.min((at / bin + 1) * bin);
            current_a[(at / bin) as usize] += (current * (until - at) as f64 / bin as f64) as f32;
            at = until;
        }
    }
    current_a
}

/// Means of `count` neighbouring bins, as far as there is something in them.
fn coarser(series: &[f32], count: usize) -> Vec<f32> {
    let mean = |chunk: &[f32]| {
        let known = || chunk.iter().filter(|each| !each.is_nan());
        known().sum::<f32>() / known().count() as f32
    };
    series.chunks(count).map(mean).collect()
}

/// Correlation of `measured`, moved by `offset` bins, with `predicted`; `None` if they do not overlap enough, or one is constant.
pub(super) fn correlation(predicted: &[f32], measured: &[f32], offset: i64) -> Option<f64> {
    let from = offset.max(0);
    let until = (offset + measured.len() as i64).min(predicted.len() as i64);
    let shorter = predicted.len().min(measured.len()) as f64;
    let count = until - from;
    if count < 2 || (count as f64) < LEAST_OVERLAP * shorter {
        return None;
    }
    let predicted = &predicted[from as usize..until as usize];
    let measured = &measured[(from - offset) as usize..(until - offset) as usize];
    // What gaps leave empty takes no part.
    let pairs = || {
        let both = predicted.iter().zip(measured).filter(|(_, measured)| !measured.is_nan());
        both.map(|(a, b)| (f64::from(*a), f64::from(*b)))
    };
    let (n, x, y) = pairs().fold((0.0, 0.0, 0.0), |(n, x, y), (a, b)| (n + 1.0, x + a, y + b));
    if n < LEAST_OVERLAP * shorter || n < 2.0 {
        return None;
    }
    let (x, y) = (x / n, y / n);
    let (mut xx, mut yy, mut xy) = (0.0f64, 0.0f64, 0.0f64);
    for (a, b) in pairs() {
        let (a, b) = (a - x, b - y);
        (xx, yy, xy) = (xx + a * a, yy + b * b, xy + a * b);
    }
    // What rounding leaves of a constant is no variation.
    let varies = |squares: f64, mean: f64| squares > n * (1e-6 * mean).powi(2);
    (varies(xx, x) && varies(yy, y)).then(|| xy / (xx * yy).sqrt())
}

/// The offset in bins at which the correlation is highest, among those of `range`.
fn best(predicted: &[f32], measured: &[f32], range: impl Iterator<Item = i64>) -> Option<Shift> {
    let found = range.filter_map(|offset| Some((offset, correlation(predicted, measured, offset)?)));
    found.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Finds the offset of a trace; `None` if one of both currents is constant, or they do not overlap enough. Correlations are those
/// over bins of `report`.
pub(super) fn align(
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    report: Span,
) -> Option<Aligned> {
    let (predicted, measured) = (predicted(periods, currents), trace.grid(FINE_BIN.as_secs_f64()));
    let longest = predicted.len().max(measured.len());
    let report = fine_bins(report);
    let mut count = report;
    while longest / count > COARSE_BINS {
        count *= 2;
    }
    let (p, m) = (coarser(&predicted, count), coarser(&measured, count));
    let all =
        (-(m.len() as i64)..p.len() as i64).filter_map(|offset| Some((offset, correlation(&p, &m, offset)?)));
    let all: Vec<Shift> = all.collect();
    let overlap = |offset: i64, p: usize, m: usize| (offset + m as i64).min(p as i64) - offset.max(0);
    let sure = |shift: &Shift, bins: i64| shift.1.clamp(-MOST, MOST).atanh() * (bins.max(0) as f64).sqrt();
    let coarse = |shift: &Shift| sure(shift, overlap(shift.0, p.len(), m.len()));
    let apart = (fine_bins(ANOTHER) as i64 / count as i64).max(2);
    let mut peaks = peaks(&all, apart);
    peaks.sort_by(|a, b| coarse(b).total_cmp(&coarse(a)).then(a.0.cmp(&b.0)));
    peaks = told_by_begins(peaks, &Onsets::of(periods), &measured, count as i64);
    let highest = peaks.first()?.1;
    let mut likely: Vec<Shift> = peaks.iter().copied().filter(|peak| peak.1 >= highest - AS_LIKELY).collect();
    likely.sort_unstable_by_key(|(offset, _)| *offset);
    let repeats_s = repeats(&likely).map(|bins| bins * count as f64 * FINE_BIN.as_secs_f64());
    let may_be = peaks.iter().copied().filter(|peak| peak.1 >= highest - MAY_BE).collect();
    let mut nearly = placed(&predicted, &measured, surest_and_nearest(may_be, MOST_NEARLY), count, report);
    let fine = |shift: &Shift| sure(shift, overlap(shift.0, predicted.len(), measured.len()));
    nearly.sort_by(|a, b| fine(b).total_cmp(&fine(a)).then(a.0.cmp(&b.0)));
    nearly.dedup_by_key(|(offset, _)| *offset);
    let highest = nearly.first()?.1;
    nearly.retain(|shift| shift.1 >= highest - AS_LIKELY);
    let step = fine_bins(REPORT_BIN) as i64;
    let refine = |(offset, _)| {
        let (at, _) = best(&predicted, &measured, offset - 2 * step..=offset + 2 * step)?;
        Some((at, reported(&predicted, &measured, at, report)?))
    };
    let mut found: Vec<Shift> =
        surest_and_nearest(nearly, CANDIDATES).into_iter().filter_map(refine).collect();
    found.sort_by(|a, b| fine(b).total_cmp(&fine(a)));
    found.dedup_by_key(|(offset, _)| *offset);
    let surest = *found.first()?;
    let bins = overlap(surest.0, predicted.len(), measured.len()) as f64 / report as f64;
    let unexplained = |shift: &Shift| 1.0 - shift.1.clamp(0.0, MOST).powi(2);
    let most = unexplained(&surest) * (1.0 + NOISE_ERRORS * (2.0 / bins.max(1.0)).sqrt());
    let same = found.iter().filter(|other| unexplained(other) <= most);
    // What reaches beyond the capture is compared over less time, and with nothing beyond it.
    let shorter = predicted.len().min(measured.len()) as f64;
    let is_inside = |offset: i64| overlap(offset, predicted.len(), measured.len()) as f64 >= INSIDE * shorter;
    let best = same.min_by_key(|(offset, _)| (!is_inside(*offset), offset.abs())).copied().unwrap_or(surest);
    let bin_s = FINE_BIN.as_secs_f64();
    let is_other = |other: &Shift| other.0 != best.0 && other.1 >= surest.1 - AS_LIKELY;
    let mut others: Vec<Shift> = found.into_iter().filter(is_other).collect();
    others.sort_by_key(|(offset, _)| (offset - best.0).abs());
    others.truncate(MOST_OTHERS);
    Some(Aligned {
        offset_s: to_the_end(trace, periods, best.0 as f64 * bin_s),
        correlation: best.1,
        others: others.into_iter().map(|(bins, correlation)| (bins as f64 * bin_s, correlation)).collect(),
        repeats_s,
    })
}

/// Of the shifts, which are in bins of `count` fine bins, those at which the radio wakes up when it is predicted to; all where that does
/// not tell them apart.
fn told_by_begins(peaks: Vec<Shift>, onsets: &Onsets, measured: &[f32], count: i64) -> Vec<Shift> {
    let highest = peaks.iter().map(|peak| peak.1).fold(f64::NEG_INFINITY, f64::max);
    let may_be: Vec<Shift> = peaks.iter().copied().filter(|peak| peak.1 >= highest - MAY_BE).collect();
    if !(2..=MOST_PLACES).contains(&may_be.len()) {
        return peaks;
    }
    let offsets: Vec<i64> = may_be.iter().map(|(offset, _)| offset * count).collect();
    let Some(fits) = onsets.fit(measured, &offsets) else { return peaks };
    may_be.into_iter().zip(fits).filter(|(_, fits)| *fits).map(|(shift, _)| shift).collect()
}

/// The shifts, in order of their offsets, that correlate best among those nearer than `apart`.
fn peaks(all: &[Shift], apart: i64) -> Vec<Shift> {
    let is_peak = |index: &usize| {
        let (offset, correlation) = all[*index];
        let near = |other: &&Shift| (other.0 - offset).abs() < apart;
        let before = all[..*index].iter().rev().take_while(near);
        let after = all[index + 1..].iter().take_while(near);
        // Of equals the first one is the peak.
        before.into_iter().all(|other| other.1 < correlation)
            && after.into_iter().all(|other| other.1 <= correlation)
    };
    (0..all.len()).filter(is_peak).map(|index| all[index]).collect()
}

/// The distance in bins of shifts that are as far from each other, but for two bins; `None` if they are not.
fn repeats(shifts: &[Shift]) -> Option<f64> {
    let gaps = || shifts.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64);
    let mean = gaps().sum::<f64>() / gaps().count() as f64;
    (shifts.len() >= REPEATS && gaps().all(|gap| (gap - mean).abs() <= 2.0)).then_some(mean)
}

const fn fine_bins(span: Span) -> usize {
    (span.as_nanos() / FINE_BIN.as_nanos()) as usize
}

/// Both currents in bins that are finer than those before them.
struct Level {
    /// How many of its bins one of the bins before them has.
    ratio: i64,
    predicted: Vec<f32>,
    measured: Vec<f32>,
}

impl Level {
    /// The levels below bins of `count` fine ones, down to [`REPORT_BIN`].
    fn all(predicted: &[f32], measured: &[f32], count: usize, report: usize) -> Vec<Self> {
        let step = fine_bins(REPORT_BIN);
        let sizes = std::iter::successors(Some(count), |at| match *at {
            at if at > report => Some(at / 2),
            at if at > step => Some(step),
            _ => None,
        });
        let sizes: Vec<usize> = sizes.collect();
        let level = |pair: &[usize]| Self {
            ratio: (pair[0] / pair[1]) as i64,
            predicted: coarser(predicted, pair[1]),
            measured: coarser(measured, pair[1]),
        };
        sizes.windows(2).map(level).collect()
    }

    /// The best offset in its bins near one in the bins before them.
    fn best_near(&self, offset: i64) -> Option<i64> {
        let centre = offset * self.ratio;
        let near = centre - 2 * self.ratio..=centre + 2 * self.ratio;
        best(&self.predicted, &self.measured, near).map(|(offset, _)| offset)
    }
}

/// The best places near shifts that are in bins of `count` fine bins: in fine bins, with the correlation there.
fn placed(
    predicted: &[f32],
    measured: &[f32],
    shifts: Vec<Shift>,
    count: usize,
    report: usize,
) -> Vec<Shift> {
    let levels = Level::all(predicted, measured, count, report);
    // Bins of 10 ms that begin at each fine one: a place that is half a bin off correlates less than a wrong one that is not.
    let step = fine_bins(REPORT_BIN);
    let begun = (0..step).map(|phase| coarser(predicted.get(phase..).unwrap_or_default(), step));
    let (begun, measured_bins): (Vec<_>, _) = (begun.collect(), coarser(measured, step));
    let step = step as i64;
    let correlates = |at: i64| {
        let bins = &begun[at.rem_euclid(step) as usize];
        Some((at, correlation(bins, &measured_bins, at.div_euclid(step))?))
    };
    let place = |(offset, _): Shift| {
        let near = levels.iter().try_fold(offset, |at, level| level.best_near(at))? * step;
        let around = (near - step..=near + step).filter_map(correlates);
        let (at, _) = around.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((at, reported(predicted, measured, at, report)?))
    };
    shifts.into_iter().filter_map(place).collect()
}

/// Of shifts, the surest first, so many, and as many that are nearest to zero.
fn surest_and_nearest(shifts: Vec<Shift>, count: usize) -> Vec<Shift> {
    let mut nearest = shifts.clone();
    nearest.sort_by_key(|(offset, _)| offset.abs());
    let mut some: Vec<Shift> =
        shifts.into_iter().take(count).chain(nearest.into_iter().take(count)).collect();
    some.sort_unstable_by_key(|(offset, _)| *offset);
    some.dedup_by_key(|(offset, _)| *offset);
    some
}

/// The correlation over bins of `report` fine bins at an offset in fine bins.
fn reported(predicted: &[f32], measured: &[f32], offset: i64, report: usize) -> Option<f64> {
    // The bins begin where the trace does.
    let (cut_p, cut_m) = if offset >= 0 { (offset as usize, 0) } else { (0, offset.unsigned_abs() as usize) };
    let (p, m) = (predicted.get(cut_p..)?, measured.get(cut_m..)?);
    let length = p.len().min(m.len());
    correlation(&coarser(&p[..length], report), &coarser(&m[..length], report), 0)
}

/// The correlation at an offset that the caller gives.
pub(super) fn correlation_at(
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    offset_s: f64,
    report: Span,
) -> Option<f64> {
    let bin_s = FINE_BIN.as_secs_f64();
    let offset = (offset_s / bin_s).round() as i64;
    reported(&predicted(periods, currents), &trace.grid(bin_s), offset, fine_bins(report))
}

/// The offset within 1.5 ms at which a fit leaves the least, to a hundredth of a millisecond.
fn to_the_end(trace: &Trace, periods: &[RadioPeriod], offset_s: f64) -> f64 {
    let overlapping =
        trace.intervals.partition_point(|interval: &Interval| interval.end_s() + offset_s < 0.0);
    let some = &trace.intervals[overlapping..];
    let some = &some[..some.len().min(REFINED)];
    least_left(periods, some, offset_s, (15, &[1e-4, 1e-5]))
}

/// The offset near one at which a fit leaves the least of some intervals: it is looked for within so many of the first steps, in seconds, and
/// around the best one within as many of the next.
pub(super) fn least_left(
    periods: &[RadioPeriod],
    intervals: &[Interval],
    offset_s: f64,
    (reach, steps_s): (i32, &[f64]),
) -> f64 {
    let left = |at: f64| {
        let fit = Fit::of(periods, intervals, at);
        fit.left() / fit.covered_s.max(f64::MIN_POSITIVE)
    };
    let mut best_s = offset_s;
    for step_s in steps_s {
        let around = (-reach..=reach).map(|step| best_s + f64::from(step) * step_s);
        let with_left = around.map(|at| (at, left(at)));
        best_s = with_left.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(best_s, |(at, _)| at);
    }
    best_s
}
