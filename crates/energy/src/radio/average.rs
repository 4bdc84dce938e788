//! The average of an associated device without traffic: what a profile predicts, and how a profile is fitted on it.
//!
//! The device receives one beacon in each `every`, and pays for it a wake-up, a guard that depends on `every`, and the longer of
//! the beacon's reception and the least time awake, in which it receives as long as the beacon is on the air. Otherwise it dozes, housekeeping included. Averages of two intervals give the
//! wake-up's energy and the power of sleep with its housekeeping; other averages then show how good that is.
//!
//! Left out: contention before a beacon, which is within the least time awake, missed beacons, and group-addressed frames.

use airwatt_base::{Power, Span};

use super::{Radio, Transition};

/// Time between beacons of the averages that makers publish: 100 TU.
pub const BEACON_INTERVAL: Span = Span::from_micros(102_400);
/// Air time of the part of such a beacon up to its TIM, and of all of it: 143 bytes at 1 Mb/s with the long preamble, of which 65
/// bytes come before the end of the TIM (docs/radios.md).
pub const BEACON_TO_TIM: Span = Span::from_micros(712);
/// See [`BEACON_TO_TIM`].
pub const BEACON: Span = Span::from_micros(1_336);

/// The same at 5 GHz, where beacons have 6 Mb/s.
const BEACON_TO_TIM_5GHZ: Span = Span::from_micros(112);
const BEACON_5GHZ: Span = Span::from_micros(216);

/// DTIM periods of averages that makers publish.
const USUAL_PERIODS: [u32; 3] = [1, 3, 10];
/// Two powers that differ by less are one.
const ALIKE: f64 = 0.01;

/// A published or measured average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Average {
    /// Beacon intervals from one received beacon to the next.
    pub dtim_period: u32,
    /// Mean power.
    pub power: Power,
    /// Whether the profile is fitted on it; otherwise it is predicted.
    pub is_fitted: bool,
    /// How far it may be off: half a unit of the last digit of what is written, unless the file says it.
    pub within: Power,
}

impl Average {
    /// Time from one received beacon to the next.
    pub fn every(&self) -> Span {
        BEACON_INTERVAL * u64::from(self.dtim_period)
    }
}

/// What a fit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Energy of one wake-up.
    pub wake_up_j: f64,
    /// Power of sleep, housekeeping included.
    pub sleep_w: f64,
}

/// What a beacon takes beside the wake-up, and for how long the radio is not asleep.
struct Awake {
    energy_j: f64,
    time_s: f64,
}

impl Radio {
    /// For how long a radio that wakes up for a beacon receives it, of which it needs `wanted` and which is on the air for `on_air`: what
    /// comes while it has to be awake, it receives too.
    pub fn beacon_received(&self, wanted: Span, on_air: Span) -> Span {
        wanted.max(self.min_awake).min(on_air)
    }

    /// The times of receiving and of listening for one beacon.
    fn of_beacon(&self, every: Span) -> (Span, Span) {
        let whole = self.beacon_reception == super::BeaconReception::Whole;
        let (to_tim, on_air) = match self.band.as_deref() {
            Some("5GHz") => (BEACON_TO_TIM_5GHZ, BEACON_5GHZ),
            _ => (BEACON_TO_TIM, BEACON),
        };
        let received = self.beacon_received(if whole { on_air } else { to_tim }, on_air);
        (received, self.sleep_clock.guard_after(every) + self.min_awake.saturating_sub(received))
    }

    /// Time for which the radio listens for one beacon in each `every`.
    pub(crate) fn beacon_listening(&self, every: Span) -> Span {
        self.of_beacon(every).1
    }

    /// The times of one beacon in each `every` in seconds, where the profile's wake-up is fitted on averages: as far as their intervals go.
    pub(crate) fn fitted_beacon_s(&self, every: Span) -> Option<(f64, f64)> {
        // Of other modes the host's current is fitted, not the wake-up.
        let fitted = self.averages.iter().filter(|average| average.is_fitted && self.mode == 0);
        let intervals = fitted.map(Average::every);
        let (shortest, longest) = (intervals.clone().min()?, intervals.max()?);
        let (received, listening) = self.of_beacon(every.clamp(shortest, longest));
        Some((received.as_secs_f64(), listening.as_secs_f64()))
    }

    fn awake(&self, every: Span) -> Awake {
        let (received, listening) = self.of_beacon(every);
        Awake {
            energy_j: (self.listen * listening + self.receive * received + self.to_sleep.energy())
                .as_joules(),
            time_s: (listening + received + self.to_sleep.time + self.wake_up.time).as_secs_f64(),
        }
    }

    /// Mean power without traffic, if a beacon is received once in `every`.
    pub fn idle_w(&self, every: Span) -> f64 {
        let awake = self.awake(every);
        let every_s = every.as_secs_f64();
        let asleep_j = self.sleep.as_watts() * (every_s - awake.time_s);
        (asleep_j + awake.energy_j + self.wake_up.energy().as_joules()) / every_s
    }

    /// Seconds that a device sleeps in `every`, in which it receives one beacon.
    pub(crate) fn asleep_s(&self, every: Span) -> f64 {
        every.as_secs_f64() - self.awake(every).time_s
    }

    /// Between which powers the known averages leave that of a device without traffic, if a beacon is received once in `every`: a mean
    /// does not rise with the interval, and the energy of an interval does not fall, since neither sleep nor the guard before a beacon
    /// takes less for longer. `None` if none is known.
    pub(crate) fn idle_bounds_w(&self, every: Span) -> Option<(f64, f64)> {
        let bounds = self.averages.iter().map(|average| {
            let ratio = average.every().as_secs_f64() / every.as_secs_f64();
            let power_w = average.power.as_watts();
            (power_w * ratio.min(1.0), power_w * ratio.max(1.0))
        });
        bounds.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))
    }

    /// The usual DTIM period that is furthest from those of the known averages, and is none of them.
    pub(crate) fn usual_period_unknown(&self) -> Option<u32> {
        let known = |period: &u32| self.averages.iter().any(|average| average.dtim_period == *period);
        let distance = |period: &u32| {
            let ratio = |average: &Average| (f64::from(*period) / f64::from(average.dtim_period)).ln().abs();
            self.averages.iter().map(ratio).fold(f64::INFINITY, f64::min)
        };
        let others = USUAL_PERIODS.into_iter().filter(|period| !known(period));
        others.max_by(|one, other| distance(one).total_cmp(&distance(other)))
    }

    /// By how much the prediction of an average is above it, as a share.
    pub fn residual(&self, average: &Average) -> f64 {
        self.idle_w(average.every()) / average.power.as_watts() - 1.0
    }

    /// The largest error of the predictions of averages that it is not fitted on: a prediction with this share of itself on either side
    /// contains each of them.
    pub fn error(&self) -> Option<f64> {
        let predicted = self.averages.iter().filter(|average| !average.is_fitted);
        let off = |residual: f64| residual.abs().max((1.0 / (1.0 + residual) - 1.0).abs());
        predicted.map(|average| off(self.residual(average))).max_by(f64::total_cmp)
    }

    /// How far the mean power without traffic may be off, as a share of it, for the digits of the averages on which the profile is fitted, if
    /// a beacon is received once in `every`. It is a sum of what does not depend on `every` and of what is divided by it, of which one average
    /// has the second, or in another mode of the host the first.
    pub fn digits(&self, every: Span) -> f64 {
        let by_period = |average: &&Average| average.dtim_period;
        let fitted = || self.averages.iter().filter(|average| average.is_fitted);
        let (Some(first), Some(last)) = (fitted().min_by_key(by_period), fitted().max_by_key(by_period))
        else {
            return 0.0;
        };
        let rate = |every: Span| 1.0 / every.as_secs_f64();
        let (rate_here, most, least) = (rate(every), rate(first.every()), rate(last.every()));
        let (of_first, of_last) = if first.dtim_period < last.dtim_period {
            let share = (rate_here - least) / (most - least);
            (share, 1.0 - share)
        } else if self.mode == 0 {
            (rate_here / most, 0.0)
        } else {
            (1.0, 0.0)
        };
        let within_w = of_first.abs() * first.within.as_watts() + of_last.abs() * last.within.as_watts();
        within_w / self.idle_w(every)
    }

    /// The wake-up and the sleep with which the profile has these averages: of one average the wake-up alone, of more those of
    /// the shortest and of the longest interval both.
    ///
    /// # Errors
    /// A sentence, if there is none, two are of one interval, or no energy above zero has them.
    pub fn fit(&self, averages: &[Average]) -> Result<Fit, String> {
        let by_period = |average: &&Average| average.dtim_period;
        let (Some(first), Some(last)) =
            (averages.iter().min_by_key(by_period), averages.iter().max_by_key(by_period))
        else {
            return Err("expected an average, got none".to_owned());
        };
        // every x average = wake-up + awake + sleep x (every - time awake)
        let rest = |average: &Average| {
            let (awake, every_s) = (self.awake(average.every()), average.every().as_secs_f64());
            (every_s * average.power.as_watts() - awake.energy_j, every_s - awake.time_s)
        };
        let ((first_j, first_s), (last_j, last_s)) = (rest(first), rest(last));
        let sleep_w = if first.dtim_period == last.dtim_period {
            self.sleep.as_watts()
        } else {
            (last_j - first_j) / (last_s - first_s)
        };
        let wake_up_j = first_j - sleep_w * first_s;
        if sleep_w < 0.0 || wake_up_j < 0.0 {
            let what = if sleep_w < 0.0 { "the power of sleep" } else { "the wake-up" };
            let own = if self.borrowed.iter().any(|key| key == "receive") {
                "another receive in a copy of the profile, where it is that of another chip, "
            } else {
                ""
            };
            return Err(format!(
                "expected averages that leave something for {what} beside receiving at {:.3} W, got less than nothing; \
                 {own}a smaller min_awake in the profile, or reception = \"tim\" of its beacon, leaves more",
                self.receive.as_watts()
            ));
        }
        Ok(Fit { wake_up_j, sleep_w })
    }

    /// What sleep takes if the wake-up is as it stands in the profile, or without `wake_up_is_known` takes nothing: a load of the board makes
    /// all that an average has beside. With [`Radio::fit`], by which the wake-up makes it, it is the other end of what one average
    /// leaves open.
    pub fn sleep_with_load(&self, average: &Average, wake_up_is_known: bool) -> Power {
        let wake_up = if wake_up_is_known { self.wake_up } else { Transition::default() };
        let chip = Self { wake_up, ..self.clone() };
        let load_w = average.power.as_watts() - chip.idle_w(average.every());
        nanowatts((self.sleep.as_watts() + load_w).max(0.0))
    }

    /// What a load of the board takes, and the time from one beacon to the next of the average that it would explain, in seconds; `None`
    /// if nothing is left open. A board below its chip has less than nothing.
    fn load_w(&self) -> Option<(f64, f64)> {
        let average = self.averages.iter().find(|average| average.is_fitted)?;
        let load_w = self.other_sleep?.as_watts() - self.sleep.as_watts();
        Some((load_w, average.every().as_secs_f64()))
    }

    /// By how much an energy is larger, in joules, if what the one fitted average has above the chip is a load of the board, which lasts,
    /// and not a part of each of the `wakeups` in `elapsed_s`.
    pub(crate) fn load_instead_j(&self, elapsed_s: f64, wakeups: f64) -> f64 {
        self.load_w().map_or(0.0, |(load_w, every_s)| load_w * (elapsed_s - every_s * wakeups))
    }

    /// The same profile, fitted on one average alone, with `other_sleep` and a sentence about it, if the two make a difference at
    /// another DTIM period.
    #[must_use]
    pub fn with_other_sleep(mut self, other_sleep: Power) -> Self {
        self.other_sleep = Some(other_sleep);
        let (Some((load_w, every_s)), Some(period)) = (self.load_w(), self.usual_period_unknown()) else {
            return self;
        };
        let every = BEACON_INTERVAL * u64::from(period);
        let by_wake_up_w = self.idle_w(every);
        let by_load_w = by_wake_up_w + load_w * (1.0 - every_s / every.as_secs_f64());
        if (by_load_w / by_wake_up_w - 1.0).abs() < ALIKE {
            self.other_sleep = None;
            return self;
        }
        let volts = self.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
        let [by_wake_up, by_load] = [by_wake_up_w, by_load_w].map(|watts| 1e3 * watts / volts);
        let why = format!(
            "one average does not tell a load of the board from the charge of a wake-up: with DTIM {period} it is \
             {by_wake_up:.3} mA if wake-ups make the difference from the chip, {by_load:.3} mA if a load does, and bands have both; \
             measure dtim{period} beside it, or the current between beacons"
        );
        self.assumed.insert("sleep".to_owned(), why);
        self
    }

    /// The same profile with what a fit found.
    #[must_use]
    pub fn fitted(mut self, fit: Fit) -> Self {
        if self.wake_up.time.is_zero() {
            self.wake_up.time = Span::from_millis(1);
        }
        self.wake_up.power = nanowatts(fit.wake_up_j / self.wake_up.time.as_secs_f64());
        let doze = self.doze();
        self.sleep = nanowatts(fit.sleep_w);
        self.housekeeping =
            Power::from_nanowatts(self.sleep.as_nanowatts().saturating_sub(doze.as_nanowatts()));
        self
    }
}

fn nanowatts(watts: f64) -> Power {
    Power::from_nanowatts((watts * 1e9).round() as u64)
}
