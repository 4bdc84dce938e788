//! A measured current beside a prediction: alignment by correlation, and what the charge was spent on.
//!
//! A trace of a current meter has its own clock, whose offset from the capture's is not known. Both are reduced to mean
//! currents of equal bins, and the offset is the one at which they correlate best: first over coarse bins, then
//! over finer ones around it. Then the charge of each bin is divided among the radio's states as the prediction divides it.
//!
//! A radio that only receives beacons has the same current in each beacon interval, so that many offsets correlate. If another
//! one is as likely as the best, the report has it.
//!
//! Left out: meters whose clock runs faster or slower than that of the capture, and a prediction that is refined by the
//! measurement.

mod trace;

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_energy::{Radio, RadioState};
use airwatt_sim::replay::RadioPeriod;
use serde::Serialize;

pub use self::trace::{Trace, TraceError};

/// A correlation below this says that trace and capture do not belong together.
pub const LEAST_CORRELATION: f64 = 0.5;
/// Bins of the coarsest comparison, at most.
const COARSE_BINS: usize = 8_000;
/// Bins over which the correlation is reported and the last offset but one is found.
const REPORT_BIN: Span = Span::from_millis(10);
/// The finest bins: those of the trace.
const FINE_BIN: Span = Span::from_millis(1);
/// An offset that is further from the one that is found is another one.
const ANOTHER: Span = Span::from_millis(50);
/// Another offset that correlates less by no more than this is as likely.
const AS_LIKELY: f64 = 0.05;
/// Share of the shorter series that must overlap.
const LEAST_OVERLAP: f64 = 0.5;

/// A measured current beside a prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurrentReport {
    /// The file of the trace.
    pub file: String,
    /// Samples in it.
    pub samples: u64,
    /// The prediction that the measurement is compared with: a policy, or `as captured`.
    pub prediction: String,
    /// The capture's time at which the trace begins, in seconds; negative if it begins before the first packet.
    pub offset_s: f64,
    /// Whether the caller gave it.
    pub offset_given: bool,
    /// Correlation of both currents over bins of 10 ms.
    pub correlation: f64,
    /// Another offset that is as likely, since the current repeats itself: beacons alone have the same pattern every 102.4 ms. `null`
    /// if there is none, and if the offset was given.
    pub other_offset_s: Option<f64>,
    /// The correlation there.
    pub other_correlation: Option<f64>,
    /// Time that both cover.
    pub overlap_s: f64,
    /// Measured charge in that time.
    pub measured_c: f64,
    /// Predicted charge in that time.
    pub predicted_c: f64,
    /// The measured charge by the predicted state of the radio.
    pub states: Vec<StateCharge>,
}

/// The charge while the radio is predicted to be in one state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateCharge {
    /// `transmit`, `receive`, `listen`, `sleep`, `to-sleep` or `wake-up`.
    pub state: &'static str,
    /// Time in it.
    pub time_s: f64,
    /// Predicted charge.
    pub predicted_c: f64,
    /// Measured charge.
    pub measured_c: f64,
    /// Share of the measured charge, 0 to 1.
    pub share: f64,
}

/// The currents that a prediction expects, as means of bins of [`FINE_BIN`], in amperes.
struct Predicted {
    current_a: Vec<f32>,
}

/// The current in each state, in amperes; `None` if the radio's profile has no voltage.
fn currents(radio: &Radio) -> Option<[f64; RadioState::ALL.len()]> {
    let volts = radio.voltage?.as_volts();
    Some(RadioState::ALL.map(|state| radio.power(state).as_watts() / volts))
}

/// Calls `part` with each bin that a period covers a part of, and the length of that part in seconds.
fn bins_of(period: &RadioPeriod, mut part: impl FnMut(usize, f64)) {
    let bin = FINE_BIN.as_nanos();
    let (mut at, end) = (period.start.as_nanos(), period.start.as_nanos() + period.duration.as_nanos());
    while at < end {
        let index = at / bin;
        let until = end.min((index + 1) * bin);
        part(index as usize, (until - at) as f64 * 1e-9);
        at = until;
    }
}

impl Predicted {
    fn of(periods: &[RadioPeriod], currents: &[f64; RadioState::ALL.len()]) -> Self {
        let end = periods.last().map_or(Instant::ZERO, |last| last.start + last.duration);
        let bins = (end.as_nanos() / FINE_BIN.as_nanos()) as usize + 1;
        let mut current_a = vec![0.0f32; bins];
        let bin_s = FINE_BIN.as_secs_f64();
        for period in periods {
            let current = currents[period.state as usize];
            bins_of(period, |index, seconds| current_a[index] += (current * seconds / bin_s) as f32);
        }
        Self { current_a }
    }
}

/// Means of `count` neighbouring bins.
fn coarser(series: &[f32], count: usize) -> Vec<f32> {
    series.chunks(count).map(|chunk| chunk.iter().sum::<f32>() / chunk.len() as f32).collect()
}

/// Correlation of `measured`, moved by `offset` bins, with `predicted`; `None` if they do not overlap enough, or one is constant.
fn correlation(predicted: &[f32], measured: &[f32], offset: i64) -> Option<f64> {
    let from = offset.max(0);
    let until = (offset + measured.len() as i64).min(predicted.len() as i64);
    let shorter = predicted.len().min(measured.len()) as f64;
    let count = until - from;
    if count < 2 || (count as f64) < LEAST_OVERLAP * shorter {
        return None;
    }
    let predicted = &predicted[from as usize..until as usize];
    let measured = &measured[(from - offset) as usize..(until - offset) as usize];
    let (mut x, mut y, mut xx, mut yy, mut xy) = (0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for (a, b) in predicted.iter().zip(measured) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        (x, y, xx, yy, xy) = (x + a, y + b, xx + a * a, yy + b * b, xy + a * b);
    }
    let n = count as f64;
    let spread = (xx - x * x / n) * (yy - y * y / n);
    (spread > 0.0).then(|| (xy - x * y / n) / spread.sqrt())
}

/// An offset in bins and the correlation there.
type Fit = (i64, f64);

/// The offset in bins at which the correlation is highest, among those of `range`.
fn best(predicted: &[f32], measured: &[f32], range: impl Iterator<Item = i64>) -> Option<Fit> {
    let found = range.filter_map(|offset| Some((offset, correlation(predicted, measured, offset)?)));
    found.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The offset of the trace in fine bins, and the correlation over bins of [`REPORT_BIN`]; then another offset that is as likely, if
/// there is one.
fn align(predicted: &[f32], measured: &[f32]) -> Option<(Fit, Option<Fit>)> {
    let longest = predicted.len().max(measured.len());
    let report = (REPORT_BIN.as_nanos() / FINE_BIN.as_nanos()) as usize;
    let mut count = report;
    while longest / count > COARSE_BINS {
        count *= 2;
    }
    let (p, m) = (coarser(predicted, count), coarser(measured, count));
    let all = || -(m.len() as i64)..p.len() as i64;
    let (coarse, _) = best(&p, &m, all())?;
    let found = refined(predicted, measured, coarse, count)?;
    let apart = ((ANOTHER.as_nanos() / FINE_BIN.as_nanos()) as i64 / count as i64).max(2);
    let others = all().filter(|offset| (offset - coarse).abs() >= apart);
    let other = best(&p, &m, others).and_then(|(other, _)| refined(predicted, measured, other, count));
    Some((found, other.filter(|other| other.1 >= found.1 - AS_LIKELY)))
}

/// The best offset near `offset`, which is in bins of `count` fine bins: in fine bins, with its correlation.
fn refined(predicted: &[f32], measured: &[f32], mut offset: i64, count: usize) -> Option<Fit> {
    let report = (REPORT_BIN.as_nanos() / FINE_BIN.as_nanos()) as usize;
    let mut at = count;
    // Each level halves the bins and looks around the place that the level before it found.
    while at > 1 {
        let finer = if at == report { 1 } else { (at / 2).max(report) };
        let ratio = (at / finer) as i64;
        let (p, m) = (coarser(predicted, finer), coarser(measured, finer));
        let centre = offset * ratio;
        (offset, _) = best(&p, &m, centre - 2 * ratio..=centre + 2 * ratio)?;
        at = finer;
    }
    Some((offset, reported(predicted, measured, offset)?))
}

/// The correlation over bins of [`REPORT_BIN`] at an offset in fine bins.
fn reported(predicted: &[f32], measured: &[f32], offset: i64) -> Option<f64> {
    let report = (REPORT_BIN.as_nanos() / FINE_BIN.as_nanos()) as usize;
    // The bins begin where the trace does.
    let (cut_p, cut_m) = if offset >= 0 { (offset as usize, 0) } else { (0, offset.unsigned_abs() as usize) };
    let (p, m) = (predicted.get(cut_p..)?, measured.get(cut_m..)?);
    let length = p.len().min(m.len());
    correlation(&coarser(&p[..length], report), &coarser(&m[..length], report), 0)
}

/// Compares a trace with a prediction. `offset` is the capture's time at which the trace begins, in seconds.
///
/// # Errors
/// A sentence, if the radio has no voltage, trace and capture do not overlap, or they correlate too weakly to be aligned.
pub fn compare(
    trace: &Trace,
    prediction: &str,
    periods: &[RadioPeriod],
    radio: &Radio,
    offset: Option<f64>,
) -> Result<CurrentReport, String> {
    let Some(currents) = currents(radio) else {
        return Err(format!("--current: expected a radio whose profile has a voltage, got {}", radio.name));
    };
    let predicted = Predicted::of(periods, &currents).current_a;
    let measured = &trace.current_a;
    let bin_s = FINE_BIN.as_secs_f64();
    let ((bins, correlation), other) = match offset {
        Some(seconds) => {
            let bins = (seconds / bin_s).round() as i64;
            ((bins, reported(&predicted, measured, bins).unwrap_or(0.0)), None)
        }
        None => match align(&predicted, measured) {
            Some(aligned) if aligned.0.1 >= LEAST_CORRELATION => aligned,
            Some(((bins, correlation), _)) => {
                return Err(format!(
                    "{}: expected a current that correlates with the prediction {prediction} by {LEAST_CORRELATION} or more, got \
                     {correlation:.2} at best, at an offset of {:.3} s; hint: --offset SECONDS if it is known, another \
                     --policy or --radio",
                    trace.file,
                    bins as f64 * bin_s
                ));
            }
            None => {
                return Err(format!(
                    "{}: expected a current that varies and overlaps with the capture for half of the shorter of both, got none",
                    trace.file
                ));
            }
        },
    };
    Ok(explain(
        trace,
        prediction,
        periods,
        &currents,
        &predicted,
        Aligned { bins, correlation, other, given: offset.is_some() },
    ))
}

/// An alignment: the offset in fine bins and what it is based on.
struct Aligned {
    bins: i64,
    correlation: f64,
    /// Another offset that is as likely, with its correlation.
    other: Option<Fit>,
    given: bool,
}

/// Divides the measured charge of each bin among the states in it, in proportion to their predicted charge.
fn explain(
    trace: &Trace,
    prediction: &str,
    periods: &[RadioPeriod],
    currents: &[f64; RadioState::ALL.len()],
    predicted: &[f32],
    aligned: Aligned,
) -> CurrentReport {
    let bin_s = FINE_BIN.as_secs_f64();
    let measured_at = |bin: usize| {
        let index = bin as i64 - aligned.bins;
        usize::try_from(index)
            .ok()
            .and_then(|index| trace.current_a.get(index))
            .map(|a| f64::from(*a) * bin_s)
    };
    let mut totals: BTreeMap<RadioState, (f64, f64, f64)> = BTreeMap::new();
    for period in periods {
        let entry = totals.entry(period.state).or_default();
        bins_of(period, |bin, seconds| {
            let Some(measured_c) = measured_at(bin) else { return };
            let charge_c = currents[period.state as usize] * seconds;
            let whole_c = f64::from(predicted[bin]) * bin_s;
            // A radio without any current still takes its share of time.
            let share = if whole_c > 0.0 { charge_c / whole_c } else { seconds / bin_s };
            *entry = (entry.0 + seconds, entry.1 + charge_c, entry.2 + measured_c * share);
        });
    }
    let measured_c: f64 = totals.values().map(|total| total.2).sum();
    let states = totals.iter().filter(|(_, total)| total.0 > 0.0).map(|(state, total)| StateCharge {
        state: state.name(),
        time_s: total.0,
        predicted_c: total.1,
        measured_c: total.2,
        share: if measured_c > 0.0 { total.2 / measured_c } else { 0.0 },
    });
    CurrentReport {
        file: trace.file.clone(),
        samples: trace.samples,
        prediction: prediction.to_owned(),
        offset_s: aligned.bins as f64 * bin_s,
        offset_given: aligned.given,
        correlation: aligned.correlation,
        other_offset_s: aligned.other.map(|(bins, _)| bins as f64 * bin_s),
        other_correlation: aligned.other.map(|(_, correlation)| correlation),
        overlap_s: totals.values().map(|total| total.0).sum(),
        measured_c,
        predicted_c: totals.values().map(|total| total.1).sum(),
        states: states.collect(),
    }
}

#[cfg(test)]
mod tests;
