//! Short times in which a measured and a predicted current are worth looking at: all of the trace, one beacon, one exchange with a
//! transmission, and the largest difference.

use airwatt_energy::RadioState;
use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::Serialize;

use super::StateCurrents;
use super::fit;
use super::trace::{Interval, Trace};

/// Time before and after what a window shows.
const MARGIN_S: f64 = 0.005;
/// Length of the window with the largest difference, and in beacons where these count with sleep: a shorter one would have one beacon more
/// or less than sleep has on the average.
const DIFFERENCE_S: f64 = 0.1;
const DIFFERENCE_BEACONS: f64 = 10.0;
/// Share of it that has to be covered.
const WHOLE: f64 = 0.9;
/// Points of a curve, at most.
const MOST_POINTS: usize = 2_000;

/// Both currents in a short time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Window {
    /// `whole trace`, `one beacon`, `one exchange` or `largest difference`.
    pub what: &'static str,
    /// Begin, as time of the capture.
    pub from_s: f64,
    /// End.
    pub until_s: f64,
    /// The measured current: times at which steps begin, and their means, least and largest values.
    pub measured: Vec<(f64, f64, f64, f64)>,
    /// The prediction: times at which states begin, their names and currents. Of a window with more than 2,000 there are none.
    pub states: Vec<(f64, &'static str, f64)>,
    /// The predicted mean over each step of `measured`.
    pub predicted_mean_a: Vec<f64>,
}

pub(super) fn of(
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    offset_s: f64,
    beacons_every_s: Option<f64>,
) -> Vec<Window> {
    let difference_s = beacons_every_s.map_or(DIFFERENCE_S, |every_s| DIFFERENCE_BEACONS * every_s);
    let Some((first, last)) = trace.intervals.first().zip(trace.intervals.last()) else { return Vec::new() };
    let end_s = periods.last().map_or(0.0, |period| (period.start + period.duration).as_secs_f64());
    let all = ((first.start_s + offset_s).max(0.0), (last.end_s() + offset_s).min(end_s));
    let within = |(from_s, until_s): (f64, f64)| {
        let part = (from_s.max(all.0), until_s.min(all.1));
        (part.0 < part.1).then_some(part)
    };
    let awake = stretches(periods);
    let inside = |stretch: &&Stretch| stretch.from_s >= all.0 && stretch.until_s <= all.1;
    let around = |stretch: &Stretch| (stretch.from_s - MARGIN_S, stretch.until_s + MARGIN_S);
    let beacon = awake.iter().filter(inside).find(|stretch| stretch.receives && !stretch.transmits);
    let exchange = awake.iter().filter(inside).find(|stretch| stretch.transmits);
    let list = [
        ("whole trace", Some(all)),
        ("one beacon", beacon.map(around)),
        ("one exchange", exchange.map(around)),
        ("largest difference", largest_difference(trace, periods, currents, offset_s, difference_s)),
    ];
    let windows = list.into_iter().filter_map(|(what, part)| Some((what, part.and_then(within)?)));
    windows.map(|(what, part)| window(what, part, trace, periods, currents, offset_s)).collect()
}

/// A time awake between two of sleep.
struct Stretch {
    from_s: f64,
    until_s: f64,
    receives: bool,
    transmits: bool,
}

fn stretches(periods: &[RadioPeriod]) -> Vec<Stretch> {
    let awake = periods.split(|period| period.state == RadioState::Sleep);
    let stretch = |list: &[RadioPeriod]| {
        let (first, last) = list.first().zip(list.last())?;
        let has = |state| list.iter().any(|period| period.state == state);
        Some(Stretch {
            from_s: first.start.as_secs_f64(),
            until_s: (last.start + last.duration).as_secs_f64(),
            receives: has(RadioState::Receive),
            transmits: has(RadioState::Transmit),
        })
    };
    awake.filter_map(stretch).collect()
}

/// The time of this length in which measured and predicted charge differ most.
fn largest_difference(
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    offset_s: f64,
    length_s: f64,
) -> Option<(f64, f64)> {
    let mut best = None;
    // Of the present one its number, the charge that is more, and the time that is covered.
    let mut present = (i64::MIN, 0.0f64, 0.0f64);
    let mut most_c = 0.0f64;
    let mut close = |(number, more_c, covered_s): (i64, f64, f64)| {
        // A part of one, as at either end, may have one beacon more or less than is usual.
        if covered_s > WHOLE * length_s && more_c.abs() > most_c {
            most_c = more_c.abs();
            best = Some((number as f64 * length_s, (number + 1) as f64 * length_s));
        }
    };
    fit::for_each(periods, &trace.intervals, offset_s, |part| {
        let bin = (part.start_s / length_s).floor() as i64;
        if bin != present.0 {
            close(present);
            present = (bin, 0.0, 0.0);
        }
        let expected_a: f64 = part.shares.iter().zip(currents).map(|(share, current)| share * current).sum();
        let interval_s = f64::from(part.interval.length_s);
        present.1 += (f64::from(part.interval.current_a) - expected_a) * interval_s;
        present.2 += interval_s;
    });
    close(present);
    best
}

fn window(
    what: &'static str,
    (from_s, until_s): (f64, f64),
    trace: &Trace,
    periods: &[RadioPeriod],
    currents: &StateCurrents,
    offset_s: f64,
) -> Window {
    let first = trace.intervals.partition_point(|interval| interval.end_s() + offset_s <= from_s);
    let last = trace.intervals.partition_point(|interval| interval.start_s + offset_s < until_s);
    let shown: &[Interval] = &trace.intervals[first..last.max(first)];
    let step = shown.len().div_ceil(MOST_POINTS).max(1);
    let mut measured = Vec::new();
    let mut predicted_mean_a = Vec::new();
    for chunk in shown.chunks(step) {
        let length_s: f64 = chunk.iter().map(|interval| f64::from(interval.length_s)).sum();
        let mean_a = chunk.iter().map(Interval::charge_c).sum::<f64>() / length_s;
        let each = || chunk.iter().map(|interval| f64::from(interval.current_a));
        let (low, high) = (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max));
        measured.push((chunk[0].start_s + offset_s, mean_a, low, high));
        let mut expected = (0.0, 0.0);
        let begin = periods.partition_point(|period| {
            (period.start + period.duration).as_secs_f64() <= chunk[0].start_s + offset_s
        });
        fit::for_each(&periods[begin..], chunk, offset_s, |part| {
            let length_s = f64::from(part.interval.length_s);
            let current_a: f64 = part.shares.iter().zip(currents).map(|(share, a)| share * a).sum();
            expected = (expected.0 + length_s * current_a, expected.1 + length_s);
        });
        predicted_mean_a.push(if expected.1 > 0.0 { expected.0 / expected.1 } else { 0.0 });
    }
    let begin = periods.partition_point(|period| (period.start + period.duration).as_secs_f64() <= from_s);
    let end = periods.partition_point(|period| period.start.as_secs_f64() < until_s);
    let inside = &periods[begin..end.max(begin)];
    let states = if inside.len() > MOST_POINTS { &[][..] } else { inside }.iter();
    let state = |period: &RadioPeriod| {
        (period.start.as_secs_f64().max(from_s), period.state.name(), currents[period.state as usize])
    };
    Window { what, from_s, until_s, measured, states: states.map(state).collect(), predicted_mean_a }
}
