//! A host that a timer wakes up while the radio dozes: short rises of the current that are lower than those of a radio that is on, come
//! after equal times, and keep no step with beacons. lwIP's timer of TCP is one.
//!
//! Left out: wake-ups that are as high as a radio that listens, of which nothing tells whose they are; those of several timers, whose
//! distances are of no one period; and those as long as the window above which a load is a switched one.

use schemars::JsonSchema;
use serde::Serialize;

use super::pulses::{self, Rises};
use super::{align, period};

/// A wake-up rises by this, in amperes, and by this many standard deviations of the noise.
const LEAST_A: f64 = 0.2e-3;
const NOISES: f64 = 6.0;
/// The longest one, in bins of a millisecond: what lasts longer may be a switched load.
const LONGEST_BINS: usize = 15;
/// There are as many of them.
const LEAST_COUNT: usize = 10;
/// The shortest period, in bins.
const LEAST_PERIOD_BINS: f64 = 8.0;
/// lwIP's timer of TCP.
const LWIP_S: f64 = 0.25;
const LIKE_LWIP: f64 = 0.02;

/// Wake-ups of a host by a timer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostWakeups {
    /// Those that were seen: one beside a wake-up of the radio is not.
    pub count: usize,
    /// The time from one to the next, in seconds.
    pub period_s: f64,
    /// The usual time for which one lasts, in seconds, to a millisecond.
    pub on_s: f64,
    /// The usual charge of one above the current between them.
    pub charge_c: f64,
    /// The part of the mean current that they make, in amperes.
    pub mean_a: f64,
}

impl HostWakeups {
    /// `None` if there are none, or they keep step with the beacons that are predicted each `beacons_s`. A radio that is on takes `on_a` or
    /// more.
    pub(super) fn of(rises: &Rises, on_a: f64, beacons_s: Option<f64>) -> Option<Self> {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let bins = &rises.bins;
        let least_a = rises.base_a + LEAST_A.max(NOISES * rises.noise_a);
        let is_above = |bin: &f32| f64::from(*bin) > least_a;
        let (mut begins_s, mut on_s, mut charges_c) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = 0;
        for run in bins.chunk_by(|a, b| is_above(a) == is_above(b)) {
            let start = end;
            end += run.len();
            let is_host = is_above(&run[0])
                && run.len() <= LONGEST_BINS
                && !run.iter().any(|bin| f64::from(*bin) >= on_a);
            if !is_host {
                continue;
            }
            // The bins beside it have its ends.
            let Some(around) = start.checked_sub(1).and_then(|from| bins.get(from..=end)) else { continue };
            let charge_c: f64 = around.iter().map(|bin| bin_s * (f64::from(*bin) - rises.base_a)).sum();
            if charge_c.is_finite() {
                begins_s.push(bin_s * start as f64);
                on_s.push(bin_s * run.len() as f64);
                charges_c.push(charge_c);
            }
        }
        let count = begins_s.len();
        let distances_s: Vec<f64> = begins_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let median_s = pulses::median(distances_s.clone())?;
        if count < LEAST_COUNT || median_s < LEAST_PERIOD_BINS * bin_s {
            return None;
        }
        let period_s = period::of(&distances_s, median_s, 1.5 * bin_s)?;
        let error_s = 2.0 * bin_s / distances_s.len() as f64;
        if beacons_s.is_some_and(|beacons_s| period::is_of_beacons(period_s, beacons_s, error_s)) {
            return None;
        }
        let charge_c = pulses::median(charges_c)?;
        Some(Self { count, period_s, on_s: pulses::median(on_s)?, charge_c, mean_a: charge_c / period_s })
    }

    /// The same as the end of a sentence.
    pub(super) fn text(&self) -> String {
        let lwip = if (self.period_s / LWIP_S - 1.0).abs() < LIKE_LWIP {
            " (lwIP's timer of TCP has 250 ms)"
        } else {
            ""
        };
        format!(
            "; {} rises of {:.0} ms and {:.1} uC, one each {:.1} ms, are lower than those of the radio and keep no step with beacons: a timer \
             wakes the host up{lwip}, which is {:.3} mA of the mean",
            self.count,
            1e3 * self.on_s,
            1e6 * self.charge_c,
            1e3 * self.period_s,
            1e3 * self.mean_a
        )
    }
}

#[cfg(test)]
mod tests;
