//! A measured current beside a prediction: what it is on the average, where its clock stands (`align`), the current of each state
//! of the radio (`fit`), and what that says (`verdict`).
//!
//! A trace that does not vary, or not as the prediction does, has no place on the capture's clock. What it says is its mean
//! current, and for how much of the time the device sleeps, which follows from the trace alone.
//!
//! A replay has no knowledge of when the access point sent its beacons, and of a station that does not wake up for each no frame says which
//! ones it takes. There the times awake for beacons alone count with sleep, in the prediction and in the fit.
//!
//! Left out: meters whose clock runs faster or slower than that of the capture, and a prediction that is refined by the
//! measurement.

mod align;
mod between;
mod compared;
mod drift;
mod fit;
mod host_wakeups;
mod onsets;
mod period;
mod pulses;
mod received;
mod switched;
mod trace;
mod verdict;
mod windows;

use std::borrow::Cow;

use airwatt_base::Span;
use airwatt_energy::{Radio, RadioState};
use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::Serialize;

use self::align::Aligned;
pub use self::between::BetweenBeacons;
use self::compared::{Compared, Placed};
pub use self::fit::Undetermined;
use self::fit::{Fit, Parts};
pub use self::host_wakeups::HostWakeups;
pub use self::pulses::BeaconCharge;
pub use self::received::ReceivedBeacons;
pub use self::switched::SwitchedLoad;
use self::switched::{Floor, Switched};
pub use self::trace::{Interval, Trace, TraceError};
pub use self::verdict::{CurrentVerdict, CurrentVerdictKind};
pub use self::windows::Window;

/// A correlation below this says that trace and capture do not belong together.
pub const LEAST_CORRELATION: f64 = 0.5;
/// A correlation below this leaves doubt whether they do.
const DOUBTFUL_CORRELATION: f64 = 0.8;
/// A current whose means of 10 ms deviate from their mean by less than this share of it does not vary.
const FLAT: f64 = 0.05;

/// Standard deviations of the meter's noise beyond which a current is not one of sleep.
const NOISE: f64 = 4.0;
/// Share of a trace from which on it is compared as a whole.
const WHOLE: f64 = 0.99;

/// Samples that are longer do not show the doze between beacons.
const LONGEST_SAMPLE_S: f64 = 0.02;
/// A time awake without a transmission that is longer is not one for a beacon.
const LONGEST_BEACON_S: f64 = 0.05;

/// A replay's times are off by a few milliseconds, since contention is not repeated: shorter states are not told from their neighbours.
const REPLAY_PRECISION_S: f64 = 0.005;

/// Below this correlation the times awake of a replay are not those of the trace closely enough for a current of their own.
const REPLAY_CORRELATION: f64 = 0.95;

/// A number for each state: its current in amperes, or its time in seconds.
type PerState = [f64; RadioState::ALL.len()];
/// The current in each state, in amperes.
type StateCurrents = PerState;

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
    /// The standard deviation of the meter's noise in means of 1 ms, in amperes; 0 where it has none or no such means.
    pub noise_a: f64,
    /// The largest mean of 1 ms.
    pub high_a: f64,
    /// Whether means of 10 ms vary by more than 5 %.
    pub varies: bool,
    /// Share of the time near the profile's current of sleep, or within the meter's noise above it, over means of 1 ms, beside a load if
    /// the verdict finds one; `null` if samples are longer than 20 ms, or noise hides a radio that is on.
    pub asleep_share: Option<f64>,
    /// The same share of the time that trace and capture both cover, for which the verdict and the prediction are; `null` if the trace
    /// has no place on the capture's clock, and then they are for all of both.
    pub overlap_asleep_share: Option<f64>,
    /// Share of the time at 60 % of the current of listening or more.
    pub radio_on_share: Option<f64>,
    /// Share of the time in which the radio is predicted to sleep, of that in which there are both.
    pub predicted_asleep_share: f64,
    /// The capture's time at which the trace begins, in seconds; negative if it begins before the first packet. `null` if the
    /// trace does not vary, or correlates with the prediction by less than 0.5, so that it has no place.
    pub offset_s: Option<f64>,
    /// Whether the caller gave it.
    pub offset_given: bool,
    /// By how many millionths the trace's clock goes fast beside the capture's, for which its times were corrected; `null` if that makes no
    /// difference.
    pub clock_fast_ppm: Option<f64>,
    /// Correlation of both currents, over bins of 10 ms, or of 100 ms with `beacons_in_sleep`. Below 0.5 there are no `states`,
    /// unless the trace does not vary.
    pub correlation: Option<f64>,
    /// Whether the times awake for beacons alone count with the state `sleep`, since a replay does not know the beacons' times, or no frame says
    /// which ones a station takes that does not wake up for each.
    pub beacons_in_sleep: bool,
    /// The first of `other_offsets`.
    pub other_offset_s: Option<f64>,
    /// The correlation there.
    pub other_correlation: Option<f64>,
    /// The time after which the pattern repeats itself, as that of beacons alone does every 102.4 ms: the offset may be wrong by any
    /// multiple of it. `null` if it does not repeat itself, and if the offset was given.
    pub repeats_s: Option<f64>,
    /// Other offsets that are as likely, since the current repeats itself, those nearest to the one that was taken. Empty if there is
    /// none, and if the offset was given.
    pub other_offsets: Vec<OtherOffset>,
    /// Time that both cover.
    pub overlap_s: f64,
    /// Measured charge in that time.
    pub measured_c: f64,
    /// Predicted charge in that time.
    pub predicted_c: f64,
    /// Predicted mean current with the load, of the whole prediction where the trace has no place in it.
    pub predicted_a: f64,
    /// The part of every predicted current that is the load of the board, as the caller gave it.
    pub load_a: f64,
    /// A load of the board that is switched, which the trace shows; `null` if there is none. It is included in the means and charges of
    /// the trace and of the time of both, and not in states, shares of time, the charge of a beacon and the verdict.
    pub switched_load: Option<SwitchedLoad>,
    /// Wake-ups of the host by a timer; `null` if the trace shows none, samples are longer than 2 ms, or noise hides a radio that is on.
    pub host_wakeups: Option<HostWakeups>,
    /// The measured charge by the predicted state of the radio.
    pub states: Vec<StateCharge>,
    /// What it says.
    pub verdict: CurrentVerdict,
    /// What a wake-up for a beacon takes; `null` if the trace shows none, or samples are longer than 2 ms.
    pub beacon: Option<BeaconCharge>,
    /// Beacons that the radio should receive, and for how many of them it woke up; `null` if the capture does not have them, the trace has no
    /// place in it, or samples are longer than 2 ms.
    pub beacons: Option<ReceivedBeacons>,
    /// Both currents in short times worth looking at, if time lines are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
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
    /// Measured charge: the current of least squares times the time; the mean current where `undetermined` says `too-short` or
    /// `impossible`.
    pub measured_c: f64,
    /// Share of the measured charge, 0 to 1.
    pub share: f64,
    /// The current of least squares; `null` if the trace does not determine it.
    pub measured_a: Option<f64>,
    /// Its standard error: the larger one of what independent samples give and of a jackknife over 20 parts of the trace.
    pub error_a: Option<f64>,
    /// Why there is none.
    pub undetermined: Option<Undetermined>,
}

/// What a measurement is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Prediction<'a> {
    /// A policy, or `as captured`.
    pub name: &'a str,
    /// The states of the radio, as times of the capture.
    pub periods: &'a [RadioPeriod],
    /// The radio at the rate of the station's frames.
    pub radio: &'a Radio,
    /// Whether the beacons that the station receives are at their times.
    pub knows_beacons: bool,
    /// What is drawn beside the radio.
    pub load: Load,
}

/// What the board draws all the time beside the radio and its host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// As a current, in amperes.
    pub current_a: f64,
    /// As a power at the voltage of the radio, in watts.
    pub power_w: f64,
}

/// The current in each state with the load, and the load in amperes; an error if the radio's profile has no voltage.
fn currents(radio: &Radio, load: Load) -> Result<(StateCurrents, f64), String> {
    let Some(voltage) = radio.voltage else {
        return Err(format!("--current: expected a radio whose profile has a voltage, got {}", radio.name));
    };
    let volts = voltage.as_volts();
    let load_a = load.current_a + load.power_w / volts;
    Ok((RadioState::ALL.map(|state| radio.power(state).as_watts() / volts + load_a), load_a))
}

/// Compares a trace with a prediction. `offset` is the capture's time at which the trace begins, in seconds; `traced` asks for
/// windows. What is said of the radio and its host is said of the trace without a load that is switched, if there is one.
///
/// # Errors
/// A sentence, if the radio has no voltage, the mean current is not above zero, or trace and capture do not overlap at `offset`.
pub fn compare(
    trace: &Trace,
    prediction: &Prediction<'_>,
    offset: Option<f64>,
    traced: bool,
) -> Result<CurrentReport, String> {
    let (own, _) = currents(prediction.radio, prediction.load)?;
    // A trace that is too short to show a drift need not be placed for one.
    let is_long = trace.intervals.last().is_some_and(|last| last.end_s() >= drift::LEAST_TRACE_S);
    let drift = is_long.then(|| Placed::near(trace, prediction, own, offset).drift(trace)).flatten();
    let Some(drift) = drift else { return compare_clocked(trace, prediction, offset, traced) };
    let mut report = compare_clocked(&trace.on_clock(drift), prediction, offset, traced)?;
    report.clock_fast_ppm = Some(-1e6 * drift);
    Ok(report)
}

/// The same with a trace whose clock goes as that of the capture does.
fn compare_clocked(
    trace: &Trace,
    prediction: &Prediction<'_>,
    offset: Option<f64>,
    traced: bool,
) -> Result<CurrentReport, String> {
    let radio = prediction.radio;
    let (own, load_a) = currents(radio, prediction.load)?;
    let rise_a = pulses::rise_a(&own, verdict::most_asleep(radio, &own, load_a));
    let alone = || Compared::of(trace, prediction, offset).map(|both| both.report(traced.then_some(trace)));
    match Switched::of(trace, rise_a, beacons_every_s(prediction.periods)) {
        Floor::Plain => alone(),
        Floor::TooFast { low_a, step_a, sample_s } => {
            let mut report = alone()?;
            report.verdict.text += &verdict::too_fast(low_a, step_a, sample_s);
            Ok(report)
        }
        Floor::Load(switched) => {
            let sleep_a = own[RadioState::Sleep as usize] - load_a;
            compare_without(&switched, trace, prediction, (sleep_a, load_a), offset, traced)
        }
    }
}

/// Compares a trace without the load that is switched in it. `sleep_a` is the current of the device asleep, and `load_a` the load that
/// the caller gave.
fn compare_without(
    switched: &Switched,
    trace: &Trace,
    prediction: &Prediction<'_>,
    (sleep_a, load_a): (f64, f64),
    offset: Option<f64>,
    traced: bool,
) -> Result<CurrentReport, String> {
    let radio = prediction.radio;
    let alone = switched.without(trace);
    let mut load = switched.report(trace, None, None);
    // The mean load that the caller gave is this one if no constant load of that size is there.
    let given_a = if switched.floor_a < sleep_a + load_a / 2.0 { load.mean_a.min(load_a) } else { 0.0 };
    let rest = Load { current_a: load_a - given_a, power_w: 0.0 };
    let prediction_alone = Prediction { load: rest, ..*prediction };
    let mut report = Compared::of(&alone, &prediction_alone, offset)?.report(traced.then_some(trace));
    let both = report.offset_s.map(|offset_s| of_both(trace, prediction.periods, offset_s));
    load = switched.report(trace, both, verdict::like_mode(radio, sleep_a + load.current_a));
    report.verdict = verdict::beside_switched(report.verdict, &load);
    report.mean_a = trace.charge_c() / trace.covered_s();
    report.charge_c = trace.charge_c();
    (report.low_a, report.high_a) = low_and_high(trace);
    report.varies = varies(trace);
    report.measured_c += load.overlap_c;
    report.predicted_a += given_a;
    report.predicted_c += given_a * report.overlap_s;
    report.load_a += given_a;
    for state in &mut report.states {
        state.share = state.measured_c / report.measured_c;
        state.predicted_c += given_a * state.time_s;
    }
    report.switched_load = Some(load);
    Ok(report)
}

/// The time that a trace has in common with a prediction, in seconds since its first sample.
fn of_both(trace: &Trace, periods: &[RadioPeriod], offset_s: f64) -> (f64, f64) {
    let first_s = periods.first().map_or(0.0, |first| first.start.as_secs_f64());
    let last_s = periods.last().map_or(0.0, |last| (last.start + last.duration).as_secs_f64());
    let end_s = trace.intervals.last().map_or(0.0, Interval::end_s);
    ((first_s - offset_s).max(0.0), (last_s - offset_s).min(end_s))
}

/// The share of the time between two of the capture, or of all of it, in which the radio is predicted to sleep.
fn asleep_share(periods: &[RadioPeriod], between: Option<(f64, f64)>) -> f64 {
    let (from_s, until_s) = between.unwrap_or((f64::MIN, f64::MAX));
    let part_s = |period: &RadioPeriod| {
        let start_s = period.start.as_secs_f64();
        ((start_s + period.duration.as_secs_f64()).min(until_s) - start_s.max(from_s)).max(0.0)
    };
    let asleep = periods.iter().filter(|period| period.state == RadioState::Sleep);
    let whole_s: f64 = periods.iter().map(part_s).sum();
    asleep.map(part_s).sum::<f64>() / whole_s.max(f64::MIN_POSITIVE)
}

/// The place of a trace: at the offset that is given, or where it correlates best.
fn place(
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    offset: Option<f64>,
    bin: Span,
) -> Option<Aligned> {
    let Some(offset_s) = offset else { return align::align(trace, periods, currents, bin) };
    let correlation = align::correlation_at(trace, periods, currents, offset_s, bin).unwrap_or(0.0);
    Some(Aligned { offset_s, correlation, others: Vec::new(), repeats_s: None })
}

/// Times awake between two of sleep for beacons alone, as places in the list.
fn beacons_alone(periods: &[RadioPeriod]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = 0;
    let awake = move |run: &[RadioPeriod]| {
        let first = at;
        at += run.len();
        (first, run.len())
    };
    let runs = periods.chunk_by(|a, b| (a.state == RadioState::Sleep) == (b.state == RadioState::Sleep));
    let count = periods.len();
    runs.map(awake).map(|(first, length)| first..first + length).filter(move |range| {
        let run = &periods[range.clone()];
        let is_long = run.iter().map(|period| period.duration.as_secs_f64()).sum::<f64>() > LONGEST_BEACON_S;
        let sends = run.iter().any(|period| period.state == RadioState::Transmit);
        let is_inside = range.start > 0 && range.end < count;
        run[0].state != RadioState::Sleep && is_inside && !is_long && !sends
    })
}

/// The usual time from one that is awake for a beacon alone to the next, in seconds.
fn beacons_every_s(periods: &[RadioPeriod]) -> Option<f64> {
    let starts_s: Vec<f64> =
        beacons_alone(periods).map(|range| periods[range.start].start.as_secs_f64()).collect();
    pulses::median(starts_s.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

fn has_beacons_alone(periods: &[RadioPeriod]) -> bool {
    beacons_alone(periods).next().is_some()
}

/// The same times with those awake for beacons alone as sleep, whose current is then the mean of both.
fn without_beacons(
    periods: &[RadioPeriod],
    mut currents: StateCurrents,
) -> (Cow<'_, [RadioPeriod]>, StateCurrents) {
    let mut list = periods.to_vec();
    for range in beacons_alone(periods) {
        list[range].iter_mut().for_each(|period| period.state = RadioState::Sleep);
    }
    let asleep = || periods.iter().zip(&list).filter(|(_, period)| period.state == RadioState::Sleep);
    let seconds = |period: &RadioPeriod| period.duration.as_secs_f64();
    let charge_c: f64 = asleep().map(|(own, _)| currents[own.state as usize] * seconds(own)).sum();
    let time_s: f64 = asleep().map(|(own, _)| seconds(own)).sum();
    currents[RadioState::Sleep as usize] = charge_c / time_s.max(f64::MIN_POSITIVE);
    (Cow::Owned(list), currents)
}

/// The time in each state, in seconds.
fn whole_time_s(periods: &[RadioPeriod]) -> PerState {
    let mut time_s = [0.0; RadioState::ALL.len()];
    for period in periods {
        time_s[period.state as usize] += period.duration.as_secs_f64();
    }
    time_s
}

/// The usual length of a period in each state, in seconds: the mean over time.
fn usual_s(periods: &[RadioPeriod]) -> PerState {
    let mut squares = [0.0; RadioState::ALL.len()];
    for period in periods {
        squares[period.state as usize] += period.duration.as_secs_f64().powi(2);
    }
    let time_s = whole_time_s(periods);
    std::array::from_fn(|state| squares[state] / time_s[state].max(f64::MIN_POSITIVE))
}

/// Share of the time in which means of 1 ms are such.
fn share_of_time(trace: &Trace, holds: &dyn Fn(f64) -> bool) -> f64 {
    let means = trace.grid(align::FINE_BIN.as_secs_f64());
    let known = means.iter().filter(|mean| !mean.is_nan());
    let (count, held) =
        known.fold((0u64, 0u64), |(count, held), mean| (count + 1, held + u64::from(holds((*mean).into()))));
    held as f64 / count.max(1) as f64
}

/// The largest current of a device that sleeps, over means of 1 ms: `doze_a` or, where the meter's noise reaches beyond it, what the noise
/// about the current asleep leaves below. `None` if that is the current of a radio that is on.
fn sleep_limit(trace: &Trace, doze_a: f64, on_a: f64) -> Option<f64> {
    let mut means = trace.grid(align::FINE_BIN.as_secs_f64());
    means.retain(|mean| f64::from(*mean) < on_a);
    means.sort_by(f32::total_cmp);
    let Some((base, low)) = means.get(means.len() / 2).zip(means.get(means.len() * 16 / 100)) else {
        return Some(doze_a);
    };
    // Nothing but noise is below the current asleep, a sixth of it by more than a standard deviation.
    let (base_a, deviation_a) = (f64::from(*base), f64::from(*base - *low));
    let noise_a = base_a + NOISE * deviation_a;
    if base_a > doze_a {
        return Some(doze_a);
    }
    (noise_a < on_a).then(|| doze_a.max(noise_a))
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

/// The current below which it is for 5 % of the time, and the largest, over means of 1 ms.
fn low_and_high(trace: &Trace) -> (f64, f64) {
    let mut means = trace.grid(align::FINE_BIN.as_secs_f64());
    means.retain(|mean| !mean.is_nan());
    if means.is_empty() {
        let mean_a = trace.charge_c() / trace.covered_s();
        return (mean_a, mean_a);
    }
    let at = means.len() / 20;
    let (_, low, rest) = means.select_nth_unstable_by(at, f32::total_cmp);
    let high = rest.iter().copied().fold(*low, f32::max);
    (f64::from(*low), f64::from(high))
}

fn states(parts: &Parts, fit: &Fit, currents: &StateCurrents) -> Vec<StateCharge> {
    let present = RadioState::ALL.into_iter().filter(|state| fit.time_s[*state as usize] > 0.0);
    let state = |state: RadioState| {
        let index = state as usize;
        let (time_s, measured_a) = (fit.time_s[index], parts.current_a[index]);
        let measured_c = measured_a * time_s;
        let undetermined = parts.undetermined[index];
        StateCharge {
            state: state.name(),
            time_s,
            predicted_c: currents[index] * time_s,
            measured_c,
            share: if fit.measured_c > 0.0 { measured_c / fit.measured_c } else { 0.0 },
            measured_a: undetermined.is_none().then_some(measured_a),
            error_a: undetermined.is_none().then_some(parts.error_a[index]),
            undetermined,
        }
    };
    present.map(state).collect()
}

#[cfg(test)]
mod tests;
