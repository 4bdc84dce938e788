//! When an access point's beacons were due: their target times, by the access point's own clock.
//!
//! Target times are multiples of the beacon interval, up to an offset that access points with several cells have. A beacon that waits for the
//! channel has the timestamp of its transmission, and the TIM of its target time: it was composed before that. No beacon is
//! transmitted before its target time, and most of them soon after it: the earliest of those that are about as late as most gives the latest
//! offset that target times can have. A beacon may be late by all of an interval but the last 10 ms.

use std::collections::BTreeMap;

use airwatt_base::Span;

use crate::packet::Beacon;

/// A beacon that is transmitted this long after its target time is late. A busy channel delays beacons by some frames.
pub(super) const LATE_BEACON: Span = Span::from_millis(10);

/// The offsets of a cell's beacons from multiples of one beacon interval.
#[derive(Clone, Debug)]
struct Offsets {
    /// Of each beacon in microseconds, in any order.
    all_us: Vec<u64>,
    /// That of target times.
    target_us: u64,
}

/// The target times of one cell, by its beacon interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets(BTreeMap<Span, Offsets>);

/// How far `later` is behind `earlier` on a circle of one interval, in microseconds.
const fn behind_us(earlier_us: u64, later_us: u64, interval_us: u64) -> u64 {
    (later_us + interval_us - earlier_us) % interval_us
}

fn micros(interval: Span) -> u64 {
    (interval.as_nanos() / 1_000).max(1)
}

impl Targets {
    /// Enters a beacon, of whichever part of the capture.
    pub(super) fn note(&mut self, beacon: &Beacon) {
        let fresh = || Offsets { all_us: Vec::new(), target_us: 0 };
        let offsets = self.0.entry(beacon.interval).or_insert_with(fresh);
        offsets.all_us.push(beacon.timestamp_us % micros(beacon.interval));
    }

    /// Finds the target times, once all beacons are entered.
    pub(super) fn settle(&mut self) {
        for (interval, Offsets { all_us, target_us }) in &mut self.0 {
            let interval_us = micros(*interval);
            // Half a circle from the first one, so that offsets around it do not wrap.
            let from = behind_us(interval_us / 2, all_us[0], interval_us);
            all_us.sort_unstable_by_key(|own| behind_us(from, *own, interval_us));
            let usual = all_us[all_us.len() / 2];
            let early = all_us.iter().map(|own| behind_us(*own, usual, interval_us));
            let earliest = early.filter(|early| *early <= LATE_BEACON.as_nanos() / 1_000).max();
            *target_us = behind_us(earliest.unwrap_or_default(), usual, interval_us);
        }
    }

    /// How long after its target time a beacon was transmitted. Nothing says so of one that is alone: it may have been due an interval
    /// before.
    pub(super) fn late_by(&self, beacon: &Beacon) -> Span {
        let Some(offsets) = self.0.get(&beacon.interval).filter(|offsets| offsets.all_us.len() > 1) else {
            return beacon.interval;
        };
        let interval_us = micros(beacon.interval);
        Span::from_micros(behind_us(offsets.target_us, beacon.timestamp_us % interval_us, interval_us))
    }
}
