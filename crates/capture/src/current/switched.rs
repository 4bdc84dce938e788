//! A load of the board that is switched: an LED that blinks, a sensor that is read every few seconds. It adds the same current to
//! whatever the radio and its host draw while it is on, and keeps no step with beacons.
//!
//! Wake-ups are short and rise. The opening of a current, which is the largest of the least values in all windows that contain a time,
//! removes them and keeps what lasts for longer than a window: the floor. Otsu's rule divides the floor into two classes, whose medians
//! are its levels. Its steps are the begins and ends of the load. The floor is not known while the radio is on for longer than a
//! window. A step that happens meanwhile is put where the period of the others, or their length, has it, otherwise in the middle of
//! that time.
//!
//! A host also works before or after its radio does. Where most begins or ends are beside a time awake, or the begins are beacon
//! intervals apart, there is no load. Where the floor has more than two levels, or noise hides the step, none is recognised. Where it
//! has two levels that change faster than the samples of the meter resolve, the reader is told so, and nothing is taken out.
//!
//! Left out: a load that is on for less than a window (16 ms, or three samples), as one that is dimmed by pulses; a load that draws as
//! much as a radio that listens; several loads that are switched independently; and a pulse that lies within one time awake of the radio.

use schemars::JsonSchema;
use serde::Serialize;

use super::trace::{Interval, Trace};
use super::{LONGEST_SAMPLE_S, align, period, pulses};

/// The least length of a window, in bins of a millisecond, and in samples.
const WINDOW_BINS: usize = 16;
const WINDOW_SAMPLES: f64 = 3.0;
/// A step is larger than this, in amperes, and than this many standard deviations of the noise.
const LEAST_STEP_A: f64 = 0.2e-3;
const NOISES: f64 = 8.0;
/// A current belongs to a level if it is within this share of the step, and all but a few do that stay for longer than a sample.
const NEAR: f64 = 0.25;
const MOST: f64 = 0.95;
/// A load is switched on as often as this.
const LEAST_PULSES: usize = 3;
/// Samples of the meter in the usual time for which it is on, and in that for which it is off. A step within a sample is known to half of
/// it where a beacon shares the sample, which is 2.5 % of a time of 20 samples.
const LEAST_SAMPLES: f64 = 20.0;
/// The least share of its begins, and of its ends, that are beside no time awake.
const FREE: f64 = 0.3;
/// Share of the distances between begins that are beacon intervals, from which on they are those of a host.
const ON_BEACONS: f64 = 0.8;

/// A load of the board that is switched on and off, whatever the radio does.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SwitchedLoad {
    /// What it draws while it is on, in amperes.
    pub current_a: f64,
    /// How often it is on.
    pub count: usize,
    /// The usual time from one begin to the next; `null` if it is not periodic.
    pub period_s: Option<f64>,
    /// The usual time for which it is on.
    pub on_s: f64,
    /// The share of the trace for which it is on.
    pub duty: f64,
    /// Its charge in the whole trace.
    pub charge_c: f64,
    /// What it adds to the mean current, in amperes.
    pub mean_a: f64,
    /// Its share of the charge of the whole trace.
    pub share: f64,
    /// Its time in what trace and capture both cover, in seconds; 0 if the trace has no place on the capture's clock.
    pub overlap_s: f64,
    /// Its charge in that time.
    pub overlap_c: f64,
    /// The mode of the host that takes as much: a task or a lock that keeps the host awake looks the same.
    pub like_mode: Option<String>,
}

/// When a load is on.
pub(super) struct Switched {
    pub step_a: f64,
    /// The floor without it.
    pub floor_a: f64,
    /// Begins and ends in seconds since the first sample.
    on_s: Vec<(f64, f64)>,
    /// The usual time from one begin to the next; `None` if it is not periodic.
    period_s: Option<f64>,
}

/// What the floor of a trace has.
pub(super) enum Floor {
    /// One level, more than two, or those of a host that works beside its radio.
    Plain,
    /// Two levels, which change too fast for the meter: the lower one and the step in amperes, and the length of a sample in seconds.
    TooFast { low_a: f64, step_a: f64, sample_s: f64 },
    /// A load that is switched.
    Load(Switched),
}

impl Switched {
    /// Looks for a load. A radio that is on draws `rise_a` more than the floor; `beacons_s` is the time from one beacon to the next that
    /// the radio receives, if it receives any.
    pub(super) fn of(trace: &Trace, rise_a: f64, beacons_s: Option<f64>) -> Floor {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let sample_s = trace.sample_s();
        if sample_s > LONGEST_SAMPLE_S {
            return Floor::Plain;
        }
        let bins = trace.grid(bin_s);
        let window = WINDOW_BINS.max((WINDOW_SAMPLES * sample_s / bin_s).ceil() as usize);
        let mut floor = opening(&bins, window);
        leave_out_radio(&mut floor, rise_a, window);
        let sample = ((sample_s / bin_s - 1e-3).ceil() as usize).max(1);
        let found = Levels::of(&floor, &bins, sample).and_then(|levels| {
            let pulses = levels.pulses(&floor, &bins, sample);
            let is_host = is_beside_radio(&pulses) || keeps_step(&pulses, beacons_s, sample_s.max(bin_s));
            (pulses.len() >= LEAST_PULSES && !is_host).then_some((levels, pulses))
        });
        let Some((Levels { low_a, step_a, .. }, pulses)) = found else { return Floor::Plain };
        let period_s = period_s(&pulses);
        let on_s = uncovered(&pulses, period_s);
        let off_s = pulses::median(on_s.windows(2).map(|pair| pair[1].0 - pair[0].1).collect());
        let shortest_s = usual_s(&pulses, &on_s).min(off_s.unwrap_or(0.0));
        if shortest_s < LEAST_SAMPLES * sample_s {
            return Floor::TooFast { low_a, step_a, sample_s };
        }
        Floor::Load(Self { step_a, floor_a: low_a, on_s, period_s })
    }

    /// Its time between two, in seconds.
    fn between_s(&self, from_s: f64, until_s: f64) -> f64 {
        let first = self.on_s.partition_point(|on| on.1 <= from_s);
        let inside = self.on_s[first..].iter().take_while(|on| on.0 < until_s);
        inside.map(|on| on.1.min(until_s) - on.0.max(from_s)).sum()
    }

    /// The trace without it.
    pub(super) fn without(&self, trace: &Trace) -> Trace {
        let alone = |interval: &Interval| {
            let on_s = self.between_s(interval.start_s, interval.end_s());
            let share = on_s / f64::from(interval.length_s);
            let current_a = f64::from(interval.current_a) - self.step_a * share;
            Interval { current_a: current_a as f32, ..*interval }
        };
        Trace {
            file: trace.file.clone(),
            samples: trace.samples,
            intervals: trace.intervals.iter().map(alone).collect(),
        }
    }

    /// Its part of a trace that has `both` in common with the capture, in seconds since the first sample.
    pub(super) fn report(
        &self,
        trace: &Trace,
        both: Option<(f64, f64)>,
        like_mode: Option<String>,
    ) -> SwitchedLoad {
        let part_s = |from_s: f64, until_s: f64| {
            let inside =
                trace.intervals.iter().filter(|each| each.start_s >= from_s && each.end_s() <= until_s);
            inside.map(|each| self.between_s(each.start_s, each.end_s())).sum::<f64>()
        };
        let time_s = part_s(f64::MIN, f64::MAX);
        let overlap_s = both.map_or(0.0, |(from_s, until_s)| part_s(from_s, until_s));
        let (covered_s, charge_c) = (trace.covered_s(), self.step_a * time_s);
        SwitchedLoad {
            current_a: self.step_a,
            count: self.on_s.len(),
            period_s: self.period_s,
            on_s: pulses::median(self.on_s.iter().map(|on| on.1 - on.0).collect()).unwrap_or(0.0),
            duty: time_s / covered_s,
            charge_c,
            mean_a: charge_c / covered_s,
            share: charge_c / trace.charge_c(),
            overlap_s,
            overlap_c: self.step_a * overlap_s,
            like_mode,
        }
    }
}

/// A begin or an end of a load, in seconds since the first sample.
#[derive(Clone, Copy)]
struct Step {
    at_s: f64,
    /// The times between which it is, if a time awake, a beacon or a gap hides it.
    hidden: Option<(f64, f64)>,
    /// Whether it is known to a sample, since no more than a beacon hides it.
    is_placed: bool,
}

impl Step {
    /// A hidden step is at `expected_s` if that is within the time that hides it.
    fn near(&self, expected_s: Option<f64>) -> f64 {
        let inside =
            |at_s: &f64| self.hidden.is_some_and(|(from_s, until_s)| (from_s..=until_s).contains(at_s));
        expected_s.filter(inside).unwrap_or(self.at_s)
    }
}

/// Begin and end.
type Pulse = (Step, Step);

/// The distances between begins that are known to a sample.
fn distances(pulses: &[Pulse]) -> Vec<f64> {
    let placed = pulses.iter().filter(|pulse| pulse.0.is_placed);
    let begins_s: Vec<f64> = placed.map(|pulse| pulse.0.at_s).collect();
    begins_s.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Whether most begins, or most ends, are beside a time awake.
fn is_beside_radio(pulses: &[Pulse]) -> bool {
    let least = FREE * pulses.len() as f64;
    let free = |step: &dyn Fn(&Pulse) -> Step| {
        pulses.iter().filter(|pulse| step(pulse).hidden.is_none()).count() as f64
    };
    free(&|pulse| pulse.0) < least || free(&|pulse| pulse.1) < least
}

/// Whether begins are whole beacon intervals apart, as those of a host that works for its radio are where samples do not show a beacon.
/// A begin is known to `sample_s`. The period of a load is known better than each distance.
fn keeps_step(pulses: &[Pulse], beacons_s: Option<f64>, sample_s: f64) -> bool {
    let distances = distances(pulses);
    let count = distances.len() as f64;
    let Some(beacons_s) = beacons_s else { return false };
    let is_multiple = |time_s: f64, error_s: f64| period::is_of_beacons(time_s, beacons_s, error_s);
    if let Some(period_s) = period_s(pulses) {
        return is_multiple(period_s, 2.0 * sample_s / count);
    }
    let multiples = distances.iter().filter(|distance_s| is_multiple(**distance_s, 2.0 * sample_s)).count();
    multiples as f64 >= ON_BEACONS * count.max(1.0)
}

/// The usual distance of begins; `None` if they are not periodic. Between two that are known to a sample there may be others.
fn period_s(pulses: &[Pulse]) -> Option<f64> {
    let median_s = pulses::median(pulses.windows(2).map(|pair| pair[1].0.at_s - pair[0].0.at_s).collect())?;
    period::of(&distances(pulses), median_s, 0.0)
}

/// The usual time for which a load is on, of those whose begin and end were seen if there are any.
fn usual_s(pulses: &[Pulse], on_s: &[(f64, f64)]) -> f64 {
    let whole = pulses.iter().filter(|(begin, end)| begin.hidden.is_none() && end.hidden.is_none());
    let all = || on_s.iter().map(|on| on.1 - on.0).collect();
    pulses::median(whole.map(|(begin, end)| end.at_s - begin.at_s).collect())
        .or_else(|| pulses::median(all()))
        .unwrap_or(0.0)
}

/// Begins and ends, with hidden ones where those that were seen have them.
fn uncovered(pulses: &[Pulse], period_s: Option<f64>) -> Vec<(f64, f64)> {
    let seen = pulses.iter().filter(|pulse| pulse.0.hidden.is_none());
    let begins_s: Vec<f64> = seen.map(|pulse| pulse.0.at_s).collect();
    let found: Vec<(f64, f64)> = pulses.iter().map(|(begin, end)| (begin.at_s, end.at_s)).collect();
    let usual_s = usual_s(pulses, &found);
    let on_s = |(begin, end): &Pulse| {
        let after = begins_s.partition_point(|at_s| *at_s < begin.at_s);
        let beside = [after.checked_sub(1), Some(after)].into_iter().flatten();
        let seen_s = beside.filter_map(|at| begins_s.get(at)).copied();
        let nearest_s = seen_s.min_by(|a, b| (a - begin.at_s).abs().total_cmp(&(b - begin.at_s).abs()));
        let later_s =
            |(seen_s, every_s): (f64, f64)| seen_s + ((begin.at_s - seen_s) / every_s).round() * every_s;
        let periods_s = nearest_s.zip(period_s).map(later_s);
        let before_end_s = end.hidden.is_none().then_some(end.at_s - usual_s);
        let begin_s = begin.near(periods_s.or(before_end_s));
        (begin_s, end.near(Some(begin_s + usual_s)).max(begin_s))
    };
    pulses.iter().map(on_s).collect()
}

/// The opening of a current by windows of so many bins; what is not known stays so.
fn opening(bins: &[f32], window: usize) -> Vec<f32> {
    let mut floor = vec![f32::NAN; bins.len()];
    let mut at = 0;
    for run in bins.chunk_by(|a, b| a.is_nan() == b.is_nan()) {
        if !run[0].is_nan() && run.len() >= window {
            let least = of_windows(run, window, |a, b| a <= b);
            // Every bin is in the windows that begin up to `window - 1` bins before it.
            let margin = vec![f32::NEG_INFINITY; window - 1];
            let padded = [&margin[..], &least, &margin].concat();
            floor[at..at + run.len()].copy_from_slice(&of_windows(&padded, window, |a, b| a >= b));
        }
        at += run.len();
    }
    floor
}

/// The extreme value of each window; `wins` says whether the first one is as extreme as the second.
fn of_windows(list: &[f32], window: usize, wins: impl Fn(f32, f32) -> bool) -> Vec<f32> {
    let mut candidates = std::collections::VecDeque::new();
    let mut extremes = Vec::with_capacity(list.len());
    for (at, value) in list.iter().enumerate() {
        while candidates.back().is_some_and(|last: &usize| wins(*value, list[*last])) {
            candidates.pop_back();
        }
        candidates.push_back(at);
        if candidates.front().is_some_and(|first| first + window <= at) {
            candidates.pop_front();
        }
        if at + 1 >= window {
            extremes.extend(candidates.front().map(|first| list[*first]));
        }
    }
    extremes
}

/// Leaves out of a floor the times at which a radio is on for longer than a window, with its wake-up and its end.
fn leave_out_radio(floor: &mut [f32], rise_a: f64, window: usize) {
    let mut known: Vec<f32> = floor.iter().copied().filter(|bin| !bin.is_nan()).collect();
    let at = known.len() / 20;
    if known.is_empty() {
        return;
    }
    let low_a = f64::from(*known.select_nth_unstable_by(at, f32::total_cmp).1);
    let mut until = 0;
    for at in 0..floor.len() {
        if f64::from(floor[at]) > low_a + rise_a {
            floor[at.saturating_sub(window)..at].fill(f32::NAN);
            until = at + window;
            floor[at] = f32::NAN;
        } else if at < until {
            floor[at] = f32::NAN;
        }
    }
}

/// Two levels of a floor.
struct Levels {
    low_a: f64,
    step_a: f64,
    /// What is above it by as much is no noise.
    tells_a: f64,
}

impl Levels {
    /// `None` if there is one, if there are more, or if noise may be the difference.
    fn of(floor: &[f32], bins: &[f32], sample: usize) -> Option<Self> {
        let mut known: Vec<f32> = floor.iter().copied().filter(|bin| !bin.is_nan()).collect();
        known.sort_unstable_by(f32::total_cmp);
        let split = classes(&known)?;
        let middle = |list: &[f32]| f64::from(list[list.len() / 2]);
        let (low_a, high_a) = (middle(&known[..split]), middle(&known[split..]));
        let step_a = high_a - low_a;
        let is_near = |a: f32, b_a: f64| (f64::from(a) - b_a).abs() <= NEAR * step_a;
        // A sample that a step divides is like none beside it.
        let is_steady = |at: usize| {
            let beside = [at.checked_sub(sample), Some(at + sample)].into_iter().flatten();
            beside.filter_map(|place| floor.get(place)).any(|bin| is_near(*bin, floor[at].into()))
        };
        let is_level = |level_a: f64, is_high: bool| {
            let of_class = || {
                (0..floor.len()).filter(|at| !floor[*at].is_nan() && (floor[*at] >= known[split]) == is_high)
            };
            let steady = || of_class().filter(|at| is_steady(*at));
            let near = steady().filter(|at| is_near(floor[*at], level_a)).count() as f64;
            near >= MOST * steady().count() as f64 && near >= 0.5 * of_class().count() as f64
        };
        if step_a < LEAST_STEP_A || !is_level(low_a, false) || !is_level(high_a, true) {
            return None;
        }
        // The opening is the lower side of the noise, by as much at both levels.
        let of_level = |from_a: f64| {
            let pairs = floor
                .iter()
                .zip(bins)
                .filter(|(floor, _)| (f64::from(**floor) - from_a).abs() <= NEAR * step_a);
            let mut own: Vec<f64> = pairs.map(|(_, bin)| f64::from(*bin)).collect();
            own.sort_unstable_by(f64::total_cmp);
            // A wake-up is above and does not reach the lower half.
            Some((*own.get(own.len() / 2)?, *own.get(own.len() * 16 / 100)?))
        };
        let ((low_a, below_a), (high_a, _)) = (of_level(low_a)?, of_level(high_a)?);
        let (noise_a, step_a) = (low_a - below_a, high_a - low_a);
        (step_a >= NOISES * noise_a).then_some(Self {
            low_a,
            step_a,
            tells_a: (NEAR * step_a).max(0.5 * NOISES * noise_a),
        })
    }

    /// When the higher one is there.
    fn pulses(&self, floor: &[f32], bins: &[f32], sample: usize) -> Vec<Pulse> {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let mut pulses: Vec<Pulse> = Vec::new();
        // The end of the last bin whose level is known.
        let mut known_until = 0;
        let mut is_on = false;
        for (at, level) in floor.iter().enumerate() {
            if level.is_nan() {
                continue;
            }
            let high = f64::from(*level) > self.low_a + 0.5 * self.step_a;
            if high != is_on {
                let seen = (known_until == at).then(|| self.step_s(bins, at, sample, high)).flatten();
                // A step that a time awake or a beacon hides is between two known levels, and within a sample of the floor's step.
                let (from, until) = (known_until.saturating_sub(sample), at + sample);
                let hidden = (bin_s * from as f64, bin_s * until as f64);
                let step = Step {
                    at_s: seen.unwrap_or(f64::midpoint(hidden.0, hidden.1)),
                    hidden: seen.is_none().then_some(hidden),
                    is_placed: known_until == at && at > 0,
                };
                if high {
                    pulses.push((step, step));
                } else if let Some(pulse) = pulses.last_mut() {
                    pulse.1 = step;
                }
                is_on = high;
            }
            known_until = at + 1;
        }
        if is_on && let Some(pulse) = pulses.last_mut() {
            let end_s = bin_s * known_until as f64;
            pulse.1 = Step { at_s: end_s, hidden: Some((end_s, end_s)), is_placed: false };
        }
        pulses
    }

    /// The time of a step up or down near a bin, by the charge beside it; `None` if a time awake hides it.
    fn step_s(&self, bins: &[f32], at: usize, sample: usize, up: bool) -> Option<f64> {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let from = at.checked_sub(sample + 1)?;
        let beside = bins.get(from..at + sample + 1)?;
        if beside.iter().any(|bin| bin.is_nan() || f64::from(*bin) > self.low_a + self.step_a + self.tells_a)
        {
            return None;
        }
        let more: f64 = beside.iter().map(|bin| (f64::from(*bin) - self.low_a) / self.step_a).sum();
        let on = more.clamp(0.0, beside.len() as f64);
        let bins_before = if up { beside.len() as f64 - on } else { on };
        Some(bin_s * (from as f64 + bins_before))
    }
}

/// The place in a sorted list that divides it into the two classes whose means differ most, by their weights.
fn classes(sorted: &[f32]) -> Option<usize> {
    let whole: f64 = sorted.iter().map(|value| f64::from(*value)).sum();
    let count = sorted.len() as f64;
    let (mut sum, mut best) = (0.0, (0.0, None));
    for (below, pair) in sorted.windows(2).enumerate() {
        sum += f64::from(pair[0]);
        let weight = (below + 1) as f64;
        let differ = sum / weight - (whole - sum) / (count - weight);
        let between = weight * (count - weight) * differ * differ;
        if between > best.0 {
            best = (between, Some(below + 1));
        }
    }
    best.1
}

#[cfg(test)]
pub(super) mod tests;
