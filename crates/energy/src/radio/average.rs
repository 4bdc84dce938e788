//! The average of an associated device without traffic: what a profile predicts, and how a profile is fitted on it.
//!
//! The device receives one beacon in each `every`, and pays for it a wake-up, a guard that depends on `every`, and the longer of
//! the beacon's reception and the least time awake, in which it receives as long as the beacon is on the air. Otherwise it dozes, housekeeping included. Averages of two intervals give the
//! wake-up's energy and the power of sleep with its housekeeping; other averages then show how good that is.
//!
//! Left out: contention before a beacon, which is within the least time awake, missed beacons, and group-addressed frames.

use airwatt_base::{Power, Span};

use super::Radio;

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
            return Err(format!(
                "expected averages that leave something for {what} beside receiving at {:.3} W, got less than nothing; \
                 a smaller min_awake in the profile, or reception = \"tim\" of its beacon, leaves more",
                self.receive.as_watts()
            ));
        }
        Ok(Fit { wake_up_j, sleep_w })
    }

    /// The same profile with what a fit found.
    #[must_use]
    pub fn fitted(mut self, fit: Fit) -> Self {
        let nanowatts = |watts: f64| Power::from_nanowatts((watts * 1e9).round() as u64);
        if self.wake_up.time.is_zero() {
            self.wake_up.time = Span::from_millis(1);
        }
        self.wake_up.power = nanowatts(fit.wake_up_j / self.wake_up.time.as_secs_f64());
        let less =
            |a: Power, b: Power| Power::from_nanowatts(a.as_nanowatts().saturating_sub(b.as_nanowatts()));
        let doze = less(self.sleep, self.housekeeping);
        self.sleep = nanowatts(fit.sleep_w);
        self.housekeeping = less(self.sleep, doze);
        self
    }
}
