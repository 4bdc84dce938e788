//! What a trace shows by itself, wherever it stands on the capture's clock: a base that stays, and pulses of a radio that wakes up.
//!
//! A load of the board lies on all currents, so that pulses are as high upon it as the profile has them. A host that does not sleep
//! takes its current between pulses alone, since the profile's currents awake have it in them, and pulses are lower by as much.
//! Times awake of [`LONG_BINS`] and more have a level, which is compared with that of the prediction's; of short ones, as those for
//! beacons, the charge tells.

use airwatt_energy::RadioState;
use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::Serialize;

use super::trace::Trace;
use super::{StateCurrents, align};

/// Samples that are longer do not show a beacon.
pub(super) const LONGEST_SAMPLE_S: f64 = 2e-3;
/// A time awake that has a level, in bins of a millisecond, and what is left out of it at either end.
const LONG_BINS: usize = 8;
const EDGE_BINS: usize = 2;
/// Bins that a level needs.
const LEAST_BINS: usize = 10;
/// A time awake that may be one for a beacon.
const SHORT_BINS: usize = 6;
/// A pulse rises by this share of what listening is above a host that is awake: a beacon that is shorter than a bin does not fill it.
const RISE: f64 = 0.4;
/// In noise it rises by this many of its standard deviations at least; but if that is more than this share of what listening is above the
/// base, noise hides the pulses.
const NOISE: f64 = 4.0;
const HIGHEST_RISE: f64 = 0.5;
/// The median difference of two neighbours with normal noise, in standard deviations: 0.6745 times the root of two.
const NEIGHBOURS: f64 = 0.954;
/// The lowest 5 % of normal noise are at least this many standard deviations below its middle.
const LOWEST: f64 = 1.645;
/// Times awake for beacons: as many as this, and at least this share of those that are predicted, where beacons were captured, and
/// where the DTIM period is assumed.
const LEAST_PULSES: usize = 5;
const LEAST_ANNOUNCED: f64 = 0.5;
const LEAST_ASSUMED: f64 = 0.05;
/// Share of the distances between pulses that have to be beacon intervals, and how far they may be off: by a busy channel, and by the
/// clocks' difference for each second. Frames of an awake radio are pulses, too, and come at any time.
const ON_BEACONS: f64 = 0.5;
pub(super) const OFF_S: f64 = 2e-3;
pub(super) const OFF_EACH_S: f64 = 1e-4;
/// The charge of a pulse, as a share of what the profile has for it, within which it may be one: a host that is awake takes away
/// less than half, and a beacon's length is not known to a replay.
const LIKE_PULSE: std::ops::Range<f64> = 0.4..1.6;
/// The error of a beacon's charge where its frame was captured, and where its length is assumed. How much of it a board receives, for how long it
/// is awake before, and what the wake-up takes differs between boards of one chip; a profile has the sum of them as its maker measured it.
const ANNOUNCED_ERROR: f64 = 0.25;
const ASSUMED_ERROR: f64 = 0.35;
/// Bins before and after the begin of a time awake that have all of a wake-up for a beacon.
const BEFORE_BINS: usize = 10;
const AFTER_BINS: usize = 16;

/// A base with a radio's pulses upon it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pulses {
    /// The current between pulses.
    pub base_a: f64,
    /// What of the base is that of the device, asleep or awake: the rest lies on the pulses as well.
    pub own_a: f64,
    /// The error of `own_a`, without that of the profile.
    pub error_a: f64,
    /// The level of long times awake, as measured and as predicted.
    pub level: Option<(f64, f64)>,
    /// The charge of a short one above the base, as measured and as predicted.
    pub pulse_c: (f64, f64),
}

/// Times above a base, of a current in bins of a millisecond.
struct Above {
    levels: Vec<f64>,
    short_c: Vec<f64>,
    /// The begins of short ones, in seconds.
    starts_s: Vec<f64>,
}

impl Above {
    /// The times at which a current is `rise_a` above `base_a`.
    fn of(bins: &[f32], base_a: f64, rise_a: f64) -> Self {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let (mut levels, mut short_c, mut starts_s) = (Vec::new(), Vec::new(), Vec::new());
        let is_above = |bin: &f32| f64::from(*bin) > base_a + rise_a;
        let mut at = 0;
        for run in bins.chunk_by(|a, b| is_above(a) == is_above(b)) {
            let range = at..at + run.len();
            at = range.end;
            if !is_above(&run[0]) {
                continue;
            }
            if run.len() >= LONG_BINS {
                levels.extend(run[EDGE_BINS..run.len() - EDGE_BINS].iter().map(|bin| f64::from(*bin)));
            } else if run.len() <= SHORT_BINS
                && range.start >= EDGE_BINS
                && range.end + EDGE_BINS <= bins.len()
            {
                // The bins beside it have its ends and its wake-up.
                let with_ends = &bins[range.start - EDGE_BINS..range.end + EDGE_BINS];
                starts_s.push(bin_s * range.start as f64);
                short_c.push(with_ends.iter().map(|bin| bin_s * (f64::from(*bin) - base_a)).sum());
            }
        }
        Self { levels, short_c, starts_s }
    }

    /// The usual charge of a short one above a base, with all that comes before and after it.
    fn charge(&self, bins: &[f32], base_a: f64) -> Option<f64> {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let around = |start_s: &f64| {
            let start = (start_s / bin_s).round() as usize;
            bins.get(start.checked_sub(BEFORE_BINS)?..start + AFTER_BINS)
        };
        let charge = |bins: &[f32]| bins.iter().map(|bin| bin_s * (f64::from(*bin) - base_a)).sum::<f64>();
        let charges = self.starts_s.iter().filter_map(around).map(charge);
        median(charges.filter(|charge| charge.is_finite()).collect())
    }

    /// The usual time from one to the next: the mean of the distances that are about as long as the median, since the begins are those
    /// of bins, which are whole milliseconds.
    fn every_s(&self) -> Option<f64> {
        let distances = || self.starts_s.windows(2).map(|pair| pair[1] - pair[0]);
        let usual_s = median(distances().collect())?;
        let usual = || distances().filter(|distance_s| (distance_s - usual_s).abs() <= OFF_S);
        Some(usual().sum::<f64>() / usual().count() as f64)
    }

    /// The time from one beacon to the next, where one is predicted each `predicted_s`: the usual distance, if a radio receives more of them
    /// than predicted, so that it is a part of that.
    fn beacons_s(&self, predicted_s: f64) -> f64 {
        let part = |usual_s: &f64| {
            let parts = (predicted_s / usual_s).round();
            parts >= 2.0 && (parts * usual_s - predicted_s).abs() <= OFF_S
        };
        self.every_s().filter(part).unwrap_or(predicted_s)
    }

    /// The shares of the distances between short ones that are multiples of `every_s`.
    fn on_beacons(&self, every_s: f64) -> f64 {
        let distances = || self.starts_s.windows(2).map(|pair| pair[1] - pair[0]);
        let is_multiple = |distance_s: &f64| {
            let off_s = (distance_s - (distance_s / every_s).round() * every_s).abs();
            off_s < OFF_S + OFF_EACH_S * distance_s
        };
        distances().filter(is_multiple).count() as f64 / distances().count().max(1) as f64
    }
}

/// What a wake-up for a beacon takes above the current between wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BeaconCharge {
    /// Wake-ups in the trace that come at multiples of the beacon interval.
    pub count: usize,
    /// The usual time from one to the next, in seconds.
    pub every_s: f64,
    /// The same of the prediction, by the DTIM period and the listen interval that it has.
    pub predicted_every_s: f64,
    /// The usual charge of one, from before it until after it.
    pub measured_c: f64,
    /// The same of the prediction.
    pub predicted_c: f64,
    /// What the difference is of the mean current, in amperes.
    pub more_a: f64,
}

/// A measured current in bins of a millisecond, and how far a radio that is on rises in it.
pub(super) struct Rises {
    pub bins: Vec<f32>,
    pub base_a: f64,
    rise_a: f64,
    /// The standard deviation of the noise.
    pub noise_a: f64,
}

impl Rises {
    /// `None` if samples are too long for a beacon, the host takes as much as a radio that listens, or noise hides that.
    pub(super) fn of(trace: &Trace, currents: &StateCurrents, most_asleep_a: f64) -> Option<Self> {
        if trace.sample_s() > LONGEST_SAMPLE_S {
            return None;
        }
        let bins = trace.grid(align::FINE_BIN.as_secs_f64());
        let noise_a = noise(&bins)?;
        let rise_a = rise_a(currents, most_asleep_a);
        let base_a = base(&bins, rise_a, noise_a)?;
        let listening_a = currents[RadioState::Listen as usize] - base_a;
        let is_seen = rise_a > 0.0 && NOISE * noise_a <= rise_a.max(HIGHEST_RISE * listening_a);
        is_seen.then_some(Self { bins, base_a, rise_a: rise_a.max(NOISE * noise_a), noise_a })
    }

    pub(super) fn is_on(&self, bin: f32) -> bool {
        f64::from(bin) > self.base_a + self.rise_a
    }

    /// How often the radio is on for a time that may be one for a beacon.
    pub(super) fn short_wakeups(&self) -> usize {
        Above::of(&self.bins, self.base_a, self.rise_a).starts_s.len()
    }
}

/// Times awake for beacons, as measured and as predicted.
pub(super) struct Wakeups<'a> {
    base_a: f64,
    rise_a: f64,
    sleep_a: f64,
    listen_a: f64,
    seen: Above,
    planned: Above,
    measured: &'a [f32],
    predicted: Vec<f32>,
}

impl<'a> Wakeups<'a> {
    /// `None` if there are no pulses that come as beacons do. `is_announced` says whether beacons are those of the capture.
    pub(super) fn of(
        rises: &'a Rises,
        periods: &[RadioPeriod],
        currents: &StateCurrents,
        is_announced: bool,
    ) -> Option<Self> {
        let (sleep_a, listen_a) =
            (currents[RadioState::Sleep as usize], currents[RadioState::Listen as usize]);
        let &Rises { bins: ref measured, base_a, rise_a, .. } = rises;
        let predicted_bins = align::predicted(periods, currents);
        let (seen, planned) =
            (Above::of(measured, base_a, rise_a), Above::of(&predicted_bins, sleep_a, rise_a));
        let seconds = |bins: &[f32]| bins.len().max(1) as f64 * align::FINE_BIN.as_secs_f64();
        let expected = planned.short_c.len() as f64 * seconds(measured) / seconds(&predicted_bins);
        let least = if is_announced { LEAST_ANNOUNCED } else { LEAST_ASSUMED };
        let enough = LEAST_PULSES.max((least * expected) as usize);
        let every_s = seen.beacons_s(super::beacons_every_s(periods)?);
        if seen.short_c.len() < enough || seen.on_beacons(every_s) < ON_BEACONS {
            return None;
        }
        Some(Self { base_a, rise_a, sleep_a, listen_a, seen, planned, measured, predicted: predicted_bins })
    }

    /// The current between them: that of all that is no pulse, with the noise on both sides of it. `base_a` leaves out the upper side of a
    /// noise that is as large as a pulse's beginning, and each of a charge's many bins would have what it is too low.
    fn between_a(&self) -> Option<f64> {
        let bins = self.measured.iter().map(|bin| f64::from(*bin));
        median(bins.filter(|bin| *bin <= self.base_a + self.rise_a).collect())
    }

    /// What one of them takes, measured beside predicted.
    pub(super) fn charge(&self) -> Option<BeaconCharge> {
        let starts_s = &self.seen.starts_s;
        let (every_s, predicted_every_s) = (self.seen.every_s()?, self.planned.every_s()?);
        let (measured_c, predicted_c) = (
            self.seen.charge(self.measured, self.between_a()?)?,
            self.planned.charge(&self.predicted, self.sleep_a)?,
        );
        let more_a = (measured_c - predicted_c) / every_s;
        Some(BeaconCharge {
            count: starts_s.len(),
            every_s,
            predicted_every_s,
            measured_c,
            predicted_c,
            more_a,
        })
    }
}

impl Pulses {
    /// `None` if no pulses are as those of a radio that wakes up for beacons.
    pub(super) fn of(
        wakeups: Wakeups<'_>,
        periods: &[RadioPeriod],
        currents: &StateCurrents,
        is_announced: bool,
    ) -> Option<Self> {
        let Wakeups { base_a, sleep_a, listen_a, seen, planned, .. } = wakeups;
        let pulse_c = (median(seen.short_c)?, median(planned.short_c)?);
        if !LIKE_PULSE.contains(&(pulse_c.0 / pulse_c.1)) {
            return None;
        }
        let level = level(seen.levels).zip(level(planned.levels));
        let (own_a, error_a) = match level {
            Some((level_a, predicted_a)) => (base_a - (level_a - predicted_a), 0.0),
            None => {
                let error = if is_announced { ANNOUNCED_ERROR } else { ASSUMED_ERROR };
                let charge = Beacon::of(periods, currents)?;
                // Pulses are compared with what the same bins have of the prediction.
                let share = pulse_c.0 / pulse_c.1;
                let [low_a, own_a, high_a] = [share + error, share, share - error]
                    .map(|share| charge.base_of(share, sleep_a, listen_a));
                (own_a, (own_a - low_a).max(high_a - own_a).max(error * (listen_a - own_a)))
            }
        };
        Some(Self { base_a, own_a, error_a, level, pulse_c })
    }
}

/// The usual times of a wake-up for a beacon, in seconds by state.
struct Beacon<'a> {
    times_s: StateCurrents,
    currents: &'a StateCurrents,
}

impl<'a> Beacon<'a> {
    fn of(periods: &[RadioPeriod], currents: &'a StateCurrents) -> Option<Self> {
        let mut times_s = [0.0; RadioState::ALL.len()];
        let mut count = 0u32;
        for range in super::beacons_alone(periods) {
            count += 1;
            for period in &periods[range] {
                times_s[period.state as usize] += period.duration.as_secs_f64();
            }
        }
        (count > 0).then(|| Self { times_s: times_s.map(|time_s| time_s / f64::from(count)), currents })
    }

    /// The charge above a base that is that of the device between beacons.
    fn charge_above(&self, base_a: f64) -> f64 {
        let states = self.times_s.iter().zip(self.currents);
        states.map(|(time_s, current_a)| time_s * (current_a - base_a).max(0.0)).sum()
    }

    /// The base above which a beacon has `share` of its charge above `sleep_a`.
    fn base_of(&self, share: f64, sleep_a: f64, listen_a: f64) -> f64 {
        let wanted_c = share * self.charge_above(sleep_a);
        let (mut low_a, mut high_a) = (sleep_a, listen_a);
        for _ in 0..40 {
            let middle_a = f64::midpoint(low_a, high_a);
            if self.charge_above(middle_a) > wanted_c {
                low_a = middle_a;
            } else {
                high_a = middle_a;
            }
        }
        low_a
    }
}

/// How far a radio that is on rises, at least, above a host that takes `most_asleep_a`.
pub(super) fn rise_a(currents: &StateCurrents, most_asleep_a: f64) -> f64 {
    RISE * (currents[RadioState::Listen as usize] - most_asleep_a)
}

/// The standard deviation of the noise: neighbours differ by it alone, but for the few at which something begins or ends.
pub(super) fn noise(bins: &[f32]) -> Option<f64> {
    let neighbours = bins.windows(2).map(|pair| f64::from((pair[1] - pair[0]).abs()));
    Some(median(neighbours.filter(|apart| apart.is_finite()).collect())? / NEIGHBOURS)
}

/// The current between pulses: the median of what is no further above the lowest 5 % than half a pulse, or noise.
fn base(bins: &[f32], rise_a: f64, noise_a: f64) -> Option<f64> {
    let mut known: Vec<f32> = bins.iter().copied().filter(|bin| !bin.is_nan()).collect();
    known.sort_by(f32::total_cmp);
    let low_a = f64::from(*known.get(known.len() / 20)?);
    let most_a = low_a + (0.5 * rise_a).max((LOWEST + NOISE) * noise_a);
    let between = known.partition_point(|bin| f64::from(*bin) <= most_a);
    Some(f64::from(*known.get(between / 2)?))
}

fn level(levels: Vec<f64>) -> Option<f64> {
    if levels.len() < LEAST_BINS { None } else { median(levels) }
}

pub(super) fn median(mut list: Vec<f64>) -> Option<f64> {
    let at = list.len() / 2;
    (!list.is_empty()).then(|| *list.select_nth_unstable_by(at, f64::total_cmp).1)
}
