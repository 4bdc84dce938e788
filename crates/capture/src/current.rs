//! A measured current beside a prediction: what it is on the average, where its clock stands (`align`), the current of each state
//! of the radio (`fit`), and what that says (`verdict`).
//!
//! A trace that does not vary, or not as the prediction does, has no place on the capture's clock; what it says is its mean
//! current, and that the radio or the host does not sleep.
//!
//! Left out: meters whose clock runs faster or slower than that of the capture, and a prediction that is refined by the
//! measurement.

mod align;
mod fit;
mod trace;
mod verdict;
mod windows;

use airwatt_energy::{Radio, RadioState};
use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::Serialize;

use self::align::Aligned;
use self::fit::Fit;
pub use self::trace::{Interval, Trace, TraceError};
pub use self::verdict::{CurrentVerdict, CurrentVerdictKind};
pub use self::windows::Window;

/// A correlation below this says that trace and capture do not belong together.
pub const LEAST_CORRELATION: f64 = 0.5;
/// A current whose means of 10 ms deviate from their mean by less than this share of it does not vary.
const FLAT: f64 = 0.05;

/// The current in each state, in amperes.
type StateCurrents = [f64; RadioState::ALL.len()];

/// A measured current beside a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurrentReport {
    /// The file of the trace.
    pub file: String,
    /// Samples in it.
    pub samples: u64,
    /// The prediction that the measurement is compared with: a policy, or `as captured`.
    pub prediction: String,
    /// Mean current of the whole trace.
    pub mean_a: f64,
    /// Charge of the whole trace.
    pub charge_c: f64,
    /// Time that the trace covers, without its gaps.
    pub covered_s: f64,
    /// Gaps in it: times without samples, of which nothing is known.
    pub gaps_s: f64,
    /// The current that it falls below for 5 % of the time, over means of 1 ms.
    pub low_a: f64,
    /// The capture's time at which the trace begins, in seconds; negative if it begins before the first packet. `null` if the
    /// trace does not vary, so that it has no place.
    pub offset_s: Option<f64>,
    /// Whether the caller gave it.
    pub offset_given: bool,
    /// Correlation of both currents over bins of 10 ms.
    pub correlation: Option<f64>,
    /// The first of `other_offsets`.
    pub other_offset_s: Option<f64>,
    /// The correlation there.
    pub other_correlation: Option<f64>,
    /// Other offsets that are as likely, since the current repeats itself: beacons alone have the same pattern every 102.4 ms.
    /// Empty if there is none, and if the offset was given.
    pub other_offsets: Vec<OtherOffset>,
    /// Time that both cover.
    pub overlap_s: f64,
    /// Measured charge in that time.
    pub measured_c: f64,
    /// Predicted charge in that time.
    pub predicted_c: f64,
    /// Predicted mean current, of the whole prediction where the trace has no place in it.
    pub predicted_a: f64,
    /// The measured charge by the predicted state of the radio.
    pub states: Vec<StateCharge>,
    /// What it says.
    pub verdict: CurrentVerdict,
    /// Both currents in short times worth looking at, if time lines are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
}

/// An offset that is as likely as the one that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OtherOffset {
    /// The offset.
    pub offset_s: f64,
    /// The correlation there.
    pub correlation: f64,
}

/// The charge while the radio is predicted to be in one state.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StateCharge {
    /// `transmit`, `receive`, `listen`, `sleep`, `to-sleep` or `wake-up`.
    pub state: &'static str,
    /// Time in it.
    pub time_s: f64,
    /// Predicted charge.
    pub predicted_c: f64,
    /// Measured charge: the current of least squares times the time; the mean current where that is not determined.
    pub measured_c: f64,
    /// Share of the measured charge, 0 to 1.
    pub share: f64,
    /// The current of least squares; `null` if the time in the state is too short to tell: less than 1 ms, or than a sample.
    pub measured_a: Option<f64>,
    /// Its standard error, as far as samples err independently.
    pub error_a: Option<f64>,
}

/// The current in each state; `None` if the radio's profile has no voltage.
fn currents(radio: &Radio) -> Option<StateCurrents> {
    let volts = radio.voltage?.as_volts();
    Some(RadioState::ALL.map(|state| radio.power(state).as_watts() / volts))
}

/// Compares a trace with a prediction. `offset` is the capture's time at which the trace begins, in seconds; `traced` asks for
/// windows.
///
/// # Errors
/// A sentence, if the radio has no voltage, trace and capture do not overlap, or the current varies but correlates too weakly.
pub fn compare(
    trace: &Trace,
    prediction: &str,
    periods: &[RadioPeriod],
    radio: &Radio,
    offset: Option<f64>,
    traced: bool,
) -> Result<CurrentReport, String> {
    let Some(currents) = currents(radio) else {
        return Err(format!("--current: expected a radio whose profile has a voltage, got {}", radio.name));
    };
    let aligned = match offset {
        Some(offset_s) => {
            let correlation = align::correlation_at(trace, periods, &currents, offset_s).unwrap_or(0.0);
            Some(Aligned { offset_s, correlation, others: Vec::new() })
        }
        None => found(trace, prediction, periods, &currents)?,
    };
    let fit = aligned.as_ref().map(|aligned| Fit::of(periods, &trace.intervals, aligned.offset_s));
    if fit.is_some_and(|fit| fit.covered_s == 0.0) {
        return Err(format!("{}: expected a trace that overlaps with the capture, got none", trace.file));
    }
    let states = fit.as_ref().map_or_else(Vec::new, |fit| states(fit, &currents));
    let elapsed_s: f64 = periods.iter().map(|period| period.duration.as_secs_f64()).sum();
    let predicted_c = |period: &RadioPeriod| currents[period.state as usize] * period.duration.as_secs_f64();
    let overlap_s = fit.map_or(0.0, |fit| fit.covered_s);
    let of_states_c: f64 = states.iter().map(|state| state.predicted_c).sum();
    let predicted_a = match fit {
        Some(_) => of_states_c / overlap_s,
        None => periods.iter().map(predicted_c).sum::<f64>() / elapsed_s.max(f64::MIN_POSITIVE),
    };
    let (charge_c, covered_s) = (trace.charge_c(), trace.covered_s());
    let (mean_a, low_a) = (charge_c / covered_s, low(trace));
    let offset_s = aligned.as_ref().map(|aligned| aligned.offset_s);
    let others = aligned.as_ref().map_or(&[][..], |aligned| aligned.others.as_slice());
    let measured = verdict::Measured {
        mean_a: fit.map_or(mean_a, |fit| fit.mean_a()),
        low_a,
        varies: varies(trace),
        predicted_a,
        states: &states,
    };
    Ok(CurrentReport {
        file: trace.file.clone(),
        samples: trace.samples,
        prediction: prediction.to_owned(),
        mean_a,
        charge_c,
        covered_s,
        gaps_s: trace.gaps_s(),
        low_a,
        offset_s,
        offset_given: offset.is_some(),
        correlation: aligned.as_ref().map(|aligned| aligned.correlation),
        other_offset_s: others.first().map(|other| other.0),
        other_correlation: others.first().map(|other| other.1),
        other_offsets: others
            .iter()
            .map(|&(offset_s, correlation)| OtherOffset { offset_s, correlation })
            .collect(),
        overlap_s,
        measured_c: fit.map_or(0.0, |fit| fit.measured_c),
        predicted_c: of_states_c,
        predicted_a,
        verdict: verdict::of(&measured, radio, &currents),
        windows: match offset_s {
            Some(offset_s) if traced => windows::of(trace, periods, &currents, offset_s),
            _ => Vec::new(),
        },
        states,
    })
}

/// Finds the place of a trace; `None` of one that does not vary.
fn found(
    trace: &Trace,
    prediction: &str,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
) -> Result<Option<Aligned>, String> {
    match align::align(trace, periods, currents) {
        Some(aligned) if aligned.correlation >= LEAST_CORRELATION => Ok(Some(aligned)),
        _ if !varies(trace) => Ok(None),
        Some(aligned) => Err(format!(
            "{}: expected a current that correlates with the prediction {prediction} by {LEAST_CORRELATION} or more, got \
             {:.2} at best, at an offset of {:.3} s, with a mean of {:.4} mA; hint: --offset SECONDS if it is known, another \
             --policy or --radio",
            trace.file,
            aligned.correlation,
            aligned.offset_s,
            1e3 * trace.charge_c() / trace.covered_s()
        )),
        None => Err(format!(
            "{}: expected a current that overlaps with the capture for half of the shorter of both, got one with a mean of {:.4} \
             mA over {:.3} s",
            trace.file,
            1e3 * trace.charge_c() / trace.covered_s(),
            trace.covered_s()
        )),
    }
}

/// Whether a current varies, over means of 10 ms.
fn varies(trace: &Trace) -> bool {
    let mut means = trace.grid(align::REPORT_BIN.as_secs_f64());
    means.retain(|mean| !mean.is_nan());
    let n = means.len() as f64;
    let mean = means.iter().map(|mean| f64::from(*mean)).sum::<f64>() / n;
    let squares: f64 = means.iter().map(|each| (f64::from(*each) - mean).powi(2)).sum();
    (squares / n).sqrt() > FLAT * mean.abs()
}

/// The current below which it is for 5 % of the time, over means of 1 ms.
fn low(trace: &Trace) -> f64 {
    let mut means = trace.grid(align::FINE_BIN.as_secs_f64());
    means.retain(|mean| !mean.is_nan());
    if means.is_empty() {
        return trace.charge_c() / trace.covered_s();
    }
    let at = means.len() / 20;
    let (_, low, _) = means.select_nth_unstable_by(at, f32::total_cmp);
    f64::from(*low)
}

fn states(fit: &Fit, currents: &StateCurrents) -> Vec<StateCharge> {
    let fitted = fit.solve();
    let present = RadioState::ALL.into_iter().filter(|state| fit.time_s[*state as usize] > 0.0);
    let state = |state: RadioState| {
        let index = state as usize;
        let (time_s, measured_a) = (fit.time_s[index], fitted.current_a[index]);
        let measured_c = measured_a * time_s;
        StateCharge {
            state: state.name(),
            time_s,
            predicted_c: currents[index] * time_s,
            measured_c,
            share: if fit.measured_c > 0.0 { measured_c / fit.measured_c } else { 0.0 },
            measured_a: fit.determines(index).then_some(measured_a),
            error_a: fit.determines(index).then_some(fitted.error_a[index]),
        }
    };
    present.map(state).collect()
}

#[cfg(test)]
mod tests;
