//! Beacons for which a radio should have woken up, and those for which the measured current shows that it did.
//!
//! A predicted wake-up is there if the current rises as much as that of a radio which listens at that time, however long it stays. Clocks
//! of meter and capture drift apart, so that each is sought beside where the last one was.
//!
//! Left out: beacons within a time awake for something else, where the current tells nothing of them, and whether a beacon for which the
//! radio woke up was decoded.

use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::Serialize;

use super::pulses::Rises;
use super::{align, beacons_alone};

/// A wake-up may be off by this many bins of a millisecond from where the last one was.
const OFF_BINS: i64 = 3;
/// Fewer wake-ups say nothing.
const LEAST: usize = 5;
/// Share of the short wake-ups, or of those that are predicted, that have to be where they are predicted: otherwise the trace may be at the
/// wrong place.
const PLACED: f64 = 0.5;

/// A radio that receives every nth beacon receives up to this share more or fewer.
const REGULAR: f64 = 0.05;

/// Beacons that a radio should receive by its listen interval, where it wakes up for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReceivedBeacons {
    /// Beacons for which the prediction wakes the radio, in the time that trace and capture both cover.
    pub expected: usize,
    /// Those of them for which the measured current shows a radio that is on.
    pub received: usize,
    /// Times for which the radio is on for up to 6 ms elsewhere, as for other beacons.
    pub others: usize,
}

impl ReceivedBeacons {
    /// `None` if there are too few, or if the trace may be at the wrong place. `offset_s` is the capture's time at which it begins.
    pub(super) fn of(current: &Rises, periods: &[RadioPeriod], offset_s: f64) -> Option<Self> {
        let bin_s = align::FINE_BIN.as_secs_f64();
        let (mut expected, mut received, mut drift, mut usual) = (0, 0, 0, None);
        for range in beacons_alone(periods) {
            let run = &periods[range];
            let end = run.last().map(|last| last.start + last.duration)?;
            let at = |time_s: f64| ((time_s - offset_s) / bin_s).floor() as i64;
            let (first, last) = (at(run[0].start.as_secs_f64()), at(end.as_secs_f64()));
            let Some(from) = usize::try_from(first + drift - OFF_BINS).ok() else { continue };
            let Some(bins) = current.bins.get(from..(last + drift + OFF_BINS + 1) as usize) else { continue };
            if bins.iter().any(|bin| bin.is_nan()) {
                continue;
            }
            expected += 1;
            if let Some(place) = bins.iter().position(|bin| current.is_on(*bin)) {
                received += 1;
                // A radio that was on before tells nothing of the clocks.
                if place > 0 {
                    drift += (place as i64 - *usual.get_or_insert(place as i64)).signum();
                }
            }
        }
        let short = current.short_wakeups();
        let is_placed = received as f64 >= PLACED * short.min(expected) as f64;
        let others = short.saturating_sub(received);
        (received >= LEAST && is_placed).then_some(Self { expected, received, others })
    }

    /// What it says, as the end of a sentence; empty if the radio does what is predicted.
    pub(super) fn text(&self) -> String {
        let Self { expected, received, others } = *self;
        let more = if 2 * others >= expected {
            format!("; it woke up briefly {others} other times, as for beacons that it need not receive")
        } else {
            String::new()
        };
        if received == expected {
            return more;
        }
        let each = self.skips().map_or_else(String::new, |each| {
            format!(
                ", one in {each}: if it is set to that, the prediction is `--policy timeout --set \
                 station.listen_interval={each}`, times the DTIM period"
            )
        });
        format!(
            "; it woke up for {received} of the {expected} beacons that it should receive by its listen interval{each}{more}"
        )
    }

    /// Every how many of the expected beacons it received one, if it was regular and not each.
    fn skips(&self) -> Option<usize> {
        let each = (self.expected as f64 / self.received as f64).round();
        let is_near =
            (self.expected as f64 - each * self.received as f64).abs() <= REGULAR * self.expected as f64;
        (each > 1.0 && is_near && 2 * self.others < self.received).then_some(each as usize)
    }
}

#[cfg(test)]
mod tests;
