//! Whether a radio that is in power save really sleeps, by the times at which packets arrive.
//!
//! The first packet of a peer after a silence arrives at any time if the radio is awake. If it sleeps, the packet waits at the
//! access point and arrives just after a beacon. So the arrival times modulo the beacon interval are spread evenly, or lie
//! close together; the Rayleigh test (Mardia and Jupp, *Directional Statistics*, 6.3.1) says which. No help of another
//! host is needed, and nothing is sent.
//!
//! Arrivals count from a look at the setting that found it as it was: another program may have switched it meanwhile, and those between
//! its switches come without a wait from a radio that sleeps otherwise.
//!
//! Left out: the drift of the access point's clock against this host's. At 20 ppm it is 6 ms in the [`SPAN`] over which arrivals
//! are compared, a sixteenth of a beacon interval.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};
use serde::Serialize;

/// Arrivals that are compared with each other, at most, and the time within which they came.
const ARRIVALS_MAX: usize = 64;
const SPAN: Span = Span::from_secs(300);
/// Arrivals from which on anything is said.
const ARRIVALS_MIN: usize = 10;
/// The statistic n R² above which equal spread is rejected: its probability is e^-8, 0.03 %.
const SURELY_CLUSTERED: f64 = 8.0;
/// The mean resultant length of arrivals after beacons: they come within a fifth of the interval.
const CLOSE: f64 = 0.7;
/// The mean resultant length below which arrivals after beacons are excluded, from [`ARRIVALS_SPREAD`] arrivals on.
const SPREAD: f64 = 0.4;
const ARRIVALS_SPREAD: usize = 20;

/// After another program has switched power save, arrivals say nothing for this time: who does it once may do it again.
const UNSETTLED: Span = Span::from_secs(10);

/// What is known of the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Doze {
    /// Packets wait for beacons: the radio sleeps.
    Sleeps,
    /// They do not, although power save is on.
    StaysAwake,
    /// The arrivals, or samples, do not decide it.
    Unknown,
}

/// Arrivals after a silence in power save.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    interval: Span,
    times: VecDeque<Instant>,
    verdict: Doze,
    /// Those since the last look at the setting.
    unconfirmed: Vec<Instant>,
    /// Nothing counts before this time.
    settled_at: Instant,
}

impl Arrivals {
    /// Of an access point whose beacons come at this interval.
    pub(super) const fn new(interval: Span) -> Self {
        Self {
            interval,
            times: VecDeque::new(),
            verdict: Doze::Unknown,
            unconfirmed: Vec::new(),
            settled_at: Instant::ZERO,
        }
    }

    /// Number of arrivals that are compared.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// Adds an arrival, which counts once the setting is seen to be the same.
    pub(super) fn add(&mut self, at: Instant) {
        if at >= self.settled_at {
            self.unconfirmed.push(at);
        }
    }

    /// The setting was read, and is or is not as it was set.
    pub(super) fn looked(&mut self, is_same: bool, now: Instant) {
        let arrivals = std::mem::take(&mut self.unconfirmed);
        if is_same {
            arrivals.into_iter().for_each(|at| self.count(at));
        } else {
            self.settled_at = now + UNSETTLED;
        }
    }

    fn count(&mut self, at: Instant) {
        self.times.push_back(at);
        let is_old = |first: &Instant| at.saturating_since(*first) > SPAN;
        while self.times.len() > ARRIVALS_MAX || self.times.front().is_some_and(is_old) {
            self.times.pop_front();
        }
        let (count, length) = (self.times.len(), self.resultant());
        if count >= ARRIVALS_MIN && length >= CLOSE && count as f64 * length * length >= SURELY_CLUSTERED {
            self.verdict = Doze::Sleeps;
        } else if count >= ARRIVALS_SPREAD && length < SPREAD {
            self.verdict = Doze::StaysAwake;
        }
    }

    /// The last decision. It stays until arrivals decide otherwise.
    pub(super) const fn verdict(&self) -> Doze {
        self.verdict
    }

    /// Whether a packet that arrived at this time came with a beacon: within a sixteenth of the interval around the times of those that
    /// did. `None` if no such times are known. Of packets that come at random, every eighth seems to have waited.
    pub(super) fn waited(&self, at: Instant) -> Option<bool> {
        match self.verdict {
            Doze::Unknown => None,
            Doze::StaysAwake => Some(false),
            Doze::Sleeps => {
                let (sin, cos) = self.sum();
                let (at_sin, at_cos) = self.direction(at);
                let turned = (at_sin * cos - at_cos * sin).atan2(at_cos * cos + at_sin * sin);
                Some(turned.abs() < std::f64::consts::TAU / 16.0)
            }
        }
    }

    /// The same of packets after short silences, of which some may not have waited: their spread says nothing.
    pub(super) fn clustered(&self, at: Instant) -> Option<bool> {
        self.waited(at).filter(|_| self.verdict == Doze::Sleeps)
    }

    /// The sine and the cosine of a time as an angle.
    fn direction(&self, at: Instant) -> (f64, f64) {
        let interval = self.interval.as_nanos().max(1);
        ((at.as_nanos() % interval) as f64 / interval as f64 * std::f64::consts::TAU).sin_cos()
    }

    fn sum(&self) -> (f64, f64) {
        let directions = self.times.iter().map(|at| self.direction(*at));
        directions.fold((0.0, 0.0), |(sin, cos), (a, b)| (sin + a, cos + b))
    }

    /// The mean resultant length of the arrivals as angles: 1 if all have the same phase.
    fn resultant(&self) -> f64 {
        let (sin, cos) = self.sum();
        sin.hypot(cos) / self.times.len().max(1) as f64
    }
}
#[cfg(test)]
mod tests {
    use airwatt_base::RandomStream;

    use super::*;

    const BEACONS: Span = Span::from_micros(102_400);

    fn arrivals(count: u64, mut delay: impl FnMut(u64) -> u64) -> Doze {
        let mut arrivals = Arrivals::new(BEACONS);
        let mut random = RandomStream::new(7, "arrivals");
        for _ in 0..count {
            // Some second, at the next beacon of then.
            let beacon = u64::from(random.below(3_000));
            let us = 17_000 + beacon * 102_400;
            arrivals.add(Instant::from_micros(us + delay(us)));
        }
        arrivals.looked(true, Instant::ZERO);
        arrivals.verdict()
    }

    #[test]
    fn packets_that_wait_for_beacons_show_a_radio_that_sleeps() {
        let mut random = RandomStream::new(1, "air");
        assert_eq!(arrivals(12, |_| u64::from(random.below(9_000))), Doze::Sleeps);
        assert_eq!(arrivals(5, |_| 0), Doze::Unknown, "five arrivals say nothing");
    }

    #[test]
    fn packets_that_come_at_any_time_show_one_that_does_not() {
        let mut random = RandomStream::new(2, "air");
        assert_eq!(arrivals(60, |_| u64::from(random.below(102_400))), Doze::StaysAwake);
        let mut random = RandomStream::new(3, "air");
        assert_eq!(arrivals(15, |_| u64::from(random.below(102_400))), Doze::Unknown);
    }

    /// Of a thousand radios that stay awake none is taken for one that sleeps.
    #[test]
    fn chance_deceives_rarely() {
        let mut random = RandomStream::new(4, "air");
        for _ in 0..1_000 {
            let found = arrivals(40, |_| u64::from(random.below(102_400)));
            assert_ne!(found, Doze::Sleeps);
        }
    }

    /// A radio that sleeps, whose power save another program switches off and on: what arrived meanwhile, and soon after, says nothing.
    #[test]
    fn what_arrives_while_another_program_switches_says_nothing() {
        let mut arrivals = Arrivals::new(BEACONS);
        let mut random = RandomStream::new(5, "air");
        let at = |second: u64, us: u32| Instant::from_micros(second * 1_024_000 + u64::from(us));
        for round in 0..20 {
            (0..3).for_each(|second| arrivals.add(at(6 * round + second, random.below(102_400))));
            arrivals.looked(false, at(6 * round + 3, 0));
            (3..6).for_each(|second| arrivals.add(at(6 * round + second, random.below(102_400))));
            arrivals.looked(true, at(6 * round + 6, 0));
        }
        assert_eq!((arrivals.verdict(), arrivals.len()), (Doze::Unknown, 0));
        (0..12).for_each(|second| arrivals.add(at(140 + second, 5_000)));
        assert_eq!(arrivals.verdict(), Doze::Unknown, "the setting was not read yet");
        arrivals.looked(true, at(160, 0));
        assert_eq!(arrivals.verdict(), Doze::Sleeps);
    }

    #[test]
    fn the_clock_of_the_access_point_may_drift() {
        assert_eq!(arrivals(30, |us| us / 50_000), Doze::Sleeps);
    }
}
