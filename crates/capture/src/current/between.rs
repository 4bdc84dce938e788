//! What a device without traffic takes between the beacons that it receives, from its trace alone.
//!
//! One average does not tell a current that lasts from the charge of a wake-up, and a trace does: beacons come at multiples of their
//! interval, and all that comes between them has another cause. It is the current of sleep, with the pulses of a host that wakes up for
//! itself.
//!
//! A load of the board that is switched (`switched`) is taken out before, since it lies beside the radio's wake-ups too, and its mean is added
//! to what is between them.
//!
//! The wake-ups also show how many beacon intervals are from one to the next, which is the DTIM period, and which of them are far longer
//! than those for beacons: those of traffic, which is in no average of an idle device.
//!
//! Nothing is told from samples that are too long, and where no pulses come as beacons do. Left out: a meter whose clock errs by more
//! than 100 ppm.

use std::ops::Range;

use super::pulses::{LONGEST_SAMPLE_S, OFF_EACH_S, OFF_S, median};
use super::switched::{Floor, Switched};
use super::trace::{FINE_BIN, Trace};

/// Bins of one beacon interval, at least: a beacon fills three of them with what is around it.
const LEAST_BINS_EACH: f64 = 8.0;
/// Beacons that are needed, and the share of those that are expected.
const LEAST_BEACONS: usize = 5;
const LEAST_SHARE: f64 = 0.5;
/// Beacons before and after a pulse with which it is compared.
const COMPARED: f64 = 10.0;
/// A pulse is a beacon's if it has this share of the neighbours at multiples of the interval that any has.
const LIKE_BEST: f64 = 0.5;
/// Seconds before and after a pulse that belong to its wake-up in any case.
const BEFORE_S: f64 = 5e-3;
const AFTER_S: f64 = 5e-3;
/// Beacon intervals from one wake-up to the next that are sought, at least, and the share of the wake-ups that have to agree.
const MOST_APART: u32 = 10;
const AGREE: f64 = 0.5;
/// Standard deviations of the noise below which a current is that of the floor, and below which a beacon's is not seen.
const NOISE: f64 = 4.0;
/// The median of absolute deviations of a normal distribution, in its standard deviations.
const MAD: f64 = 0.6745;
/// The longest that a wake-up extends on either side of its pulse, and the least of the time that has to be left, as shares.
const MOST_EXTENDED: f64 = 0.25;
const LEAST_LEFT: f64 = 0.1;

/// A wake-up is long if it is as many times as long as the usual one, and as long as this at least: neither a beacon that is late nor
/// frames to everyone after it take as long.
const LONG: usize = 8;
const LEAST_LONG_S: f64 = 20e-3;

/// Wake-ups that are far longer than those for beacons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongWakeUps {
    /// Their number.
    pub count: usize,
    /// Begin of the first, as time of the trace in seconds.
    pub from_s: f64,
    /// How long it lasts, in seconds.
    pub length_s: f64,
    /// Share of the charge that they take above the current asleep.
    pub share: f64,
}

/// The current between beacons, in amperes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenBeacons {
    /// The usual one: that of the device asleep.
    pub floor_a: f64,
    /// The mean, with other wake-ups of the host.
    pub mean_a: f64,
}

impl Trace {
    /// The current between beacons from `from_s` to `until_s`, in which the device receives one each `every_s`; `None` if the trace does not
    /// show them.
    pub fn between_beacons(&self, from_s: f64, until_s: f64, every_s: f64) -> Option<BetweenBeacons> {
        let Device { bins, bin_s, load_a, asleep } = Device::of(&self.part(from_s, until_s), every_s)?;
        let pulses = asleep.pulses(&bins);
        let beacons = on_interval(&pulses, every_s / bin_s, bin_s);
        let expected = bins.len() as f64 * bin_s / every_s;
        if beacons.len() < LEAST_BEACONS.max((LEAST_SHARE * expected) as usize) {
            return None;
        }
        let mut is_outside = vec![true; bins.len()];
        let bins_of = |time_s: f64| (time_s / bin_s).ceil() as usize;
        let most = (MOST_EXTENDED * every_s / bin_s) as usize;
        let is_above = |bin: &&f64| **bin > asleep.limit_a;
        for beacon in beacons {
            let before = bins[..beacon.start].iter().rev().take(most).take_while(is_above).count();
            let after = bins[beacon.end..].iter().take(most).take_while(is_above).count();
            let first = beacon.start.saturating_sub(before.max(bins_of(BEFORE_S)));
            let last = (beacon.end + after.max(bins_of(AFTER_S))).min(bins.len());
            is_outside[first..last].fill(false);
        }
        let outside = bins.iter().zip(is_outside).filter(|(bin, is_outside)| *is_outside && bin.is_finite());
        let outside: Vec<f64> = outside.map(|(bin, _)| *bin).collect();
        if (outside.len() as f64) < LEAST_LEFT * bins.len() as f64 {
            return None;
        }
        let mean_a = load_a + outside.iter().sum::<f64>() / outside.len() as f64;
        let floor_a = median(outside.into_iter().filter(|bin| *bin <= asleep.rise_a).collect())?;
        (floor_a > 0.0 && mean_a > 0.0).then_some(BetweenBeacons { floor_a, mean_a })
    }

    /// Wake-ups from `from_s` to `until_s` that are far longer than those for beacons, of which the device receives one each `every_s`;
    /// `None` if there are none, or if the trace does not show them.
    pub fn long_wake_ups(&self, from_s: f64, until_s: f64, every_s: f64) -> Option<LongWakeUps> {
        let part = self.part(from_s, until_s);
        let begin_s = part.intervals.first()?.start_s;
        let Device { bins, bin_s, asleep, .. } = Device::of(&part, every_s)?;
        let pulses = asleep.pulses(&bins);
        let usual = median(pulses.iter().map(|pulse| pulse.len() as f64).collect())?;
        let least = (LONG as f64 * usual).max(LEAST_LONG_S / bin_s);
        let long: Vec<&Range<usize>> = pulses.iter().filter(|pulse| pulse.len() as f64 >= least).collect();
        let first = long.first()?;
        let charge = |bins: &[f64], floor_a: f64| {
            bins.iter().filter(|bin| bin.is_finite()).map(|bin| bin - floor_a).sum::<f64>()
        };
        let added: f64 = long.iter().map(|pulse| charge(&bins[(*pulse).clone()], asleep.low_a)).sum();
        Some(LongWakeUps {
            count: long.len(),
            from_s: begin_s + first.start as f64 * bin_s,
            length_s: first.len() as f64 * bin_s,
            share: added / charge(&bins, 0.0),
        })
    }

    /// Beacon intervals of `interval_s` from one wake-up to the next from `from_s` to `until_s`, as most of those have them that come at
    /// multiples of it; `None` if the trace does not show them. More than ten, or than `said`, are not sought.
    pub fn beacons_apart(&self, from_s: f64, until_s: f64, interval_s: f64, said: u32) -> Option<u32> {
        let part = self.part(from_s, until_s);
        let sample_s = part.sample_s();
        if sample_s > LONGEST_SAMPLE_S {
            return None;
        }
        let bin_s = FINE_BIN.as_secs_f64().max(sample_s);
        let bins: Vec<f64> = part.grid(bin_s).into_iter().map(f64::from).collect();
        let (most, interval) = (MOST_APART.max(said), interval_s / bin_s);
        // Each of these times has a beacon.
        let asleep = Asleep::of(&bins, (f64::from(most) * interval).ceil() as usize)?;
        let pulses = asleep.pulses(&bins);
        let next = |at: usize| {
            let distances = pulses[at + 1..].iter().map(|other| (other.start - pulses[at].start) as f64);
            let near = distances.take_while(|distance| *distance < (f64::from(most) + 0.5) * interval);
            let multiples = near.filter_map(|distance| multiple(distance, interval, bin_s));
            multiples.min().and_then(|count| u32::try_from(count).ok())
        };
        let apart: Vec<u32> = (0..pulses.len()).filter_map(next).collect();
        let count = |of: u32| apart.iter().filter(|one| **one == of).count();
        let usual = (1..=most).max_by_key(|intervals| count(*intervals))?;
        let enough = LEAST_BEACONS.max((AGREE * apart.len() as f64).ceil() as usize);
        (count(usual) >= enough).then_some(usual)
    }
}

/// The current of a device in bins, without a load that is switched.
struct Device {
    bins: Vec<f64>,
    bin_s: f64,
    /// The mean of that load, in amperes.
    load_a: f64,
    asleep: Asleep,
}

impl Device {
    /// `None` if samples are too long for wake-ups each `every_s`, or none rise above the noise.
    fn of(part: &Trace, every_s: f64) -> Option<Self> {
        let bin_s = FINE_BIN.as_secs_f64().max(part.sample_s());
        if every_s < LEAST_BINS_EACH * bin_s {
            return None;
        }
        let grid = |trace: &Trace| trace.grid(bin_s).into_iter().map(f64::from).collect::<Vec<f64>>();
        let interval = (every_s / bin_s).ceil() as usize;
        let (mut bins, mut load_a) = (grid(part), 0.0);
        let mut asleep = Asleep::of(&bins, interval)?;
        // A load that is switched would count as a part of the wake-ups that it is beside. It is there whatever the radio does.
        if let Floor::Load(load) = Switched::of(part, asleep.rise_a - asleep.low_a, Some(every_s)) {
            let alone = load.without(part);
            load_a = (part.charge_c() - alone.charge_c()) / part.covered_s();
            bins = grid(&alone);
            asleep = Asleep::of(&bins, interval)?;
        }
        Some(Self { bins, bin_s, load_a, asleep })
    }
}

/// The lower mode of a current in bins.
struct Asleep {
    /// A current of the floor.
    low_a: f64,
    /// Above it a bin is one of a pulse.
    rise_a: f64,
    /// Up to it a bin is one of the floor and its noise.
    limit_a: f64,
}

impl Asleep {
    /// `None` if beacons, of which there is one in each `interval` bins, do not rise above the noise.
    fn of(bins: &[f64], interval: usize) -> Option<Self> {
        let mut known: Vec<f64> = bins.iter().copied().filter(|bin| bin.is_finite()).collect();
        known.sort_by(f64::total_cmp);
        let low_a = *known.get(known.len() / 20)?;
        let most = |chunk: &[f64]| chunk.iter().copied().filter(|bin| bin.is_finite()).reduce(f64::max);
        let high_a = median(bins.chunks(interval).filter_map(most).collect())?;
        let rise_a = f64::midpoint(low_a, high_a);
        let below = &known[..known.partition_point(|bin| *bin <= rise_a)];
        let floor_a = *below.get(below.len() / 2)?;
        let noise_a = median(below.iter().map(|bin| (bin - floor_a).abs()).collect())? / MAD;
        let limit_a = floor_a + NOISE * noise_a;
        (rise_a > limit_a).then_some(Self { low_a, rise_a, limit_a })
    }

    /// The ranges of bins that are pulses.
    fn pulses(&self, bins: &[f64]) -> Vec<Range<usize>> {
        let mut at = 0;
        let mut pulses = Vec::new();
        for run in bins.chunk_by(|a, b| (*a > self.rise_a) == (*b > self.rise_a)) {
            let range = at..at + run.len();
            at = range.end;
            if run[0] > self.rise_a {
                pulses.push(range);
            }
        }
        pulses
    }
}

/// How many times `interval` bins a distance is, if it is about a multiple.
fn multiple(distance: f64, interval: f64, bin_s: f64) -> Option<usize> {
    let multiple = (distance / interval).round();
    let off = (OFF_S.max(bin_s) + OFF_EACH_S * distance * bin_s) / bin_s;
    (multiple >= 1.0 && (distance - multiple * interval).abs() <= off).then_some(multiple as usize)
}

/// The pulses that come at multiples of `interval` bins.
fn on_interval(pulses: &[Range<usize>], interval: f64, bin_s: f64) -> Vec<Range<usize>> {
    let near = (COMPARED * interval) as usize;
    let neighbours: Vec<usize> = pulses
        .iter()
        .map(|pulse| {
            let first = pulses.partition_point(|other| other.start + near < pulse.start);
            let last = pulses.partition_point(|other| other.start <= pulse.start + near);
            let distances = pulses[first..last].iter().map(|other| other.start.abs_diff(pulse.start) as f64);
            distances.filter(|distance| multiple(*distance, interval, bin_s).is_some()).count()
        })
        .collect();
    let most = neighbours.iter().copied().max().unwrap_or(0);
    let is_beacon = |count: usize| count > 0 && count as f64 >= LIKE_BEST * most as f64;
    let kept = pulses.iter().zip(neighbours).filter(|(_, count)| is_beacon(*count));
    kept.map(|(pulse, _)| pulse.clone()).collect()
}
