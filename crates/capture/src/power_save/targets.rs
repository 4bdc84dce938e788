//! When an access point's beacons were due: their target times, by the access point's own clock.
//!
//! Target times are multiples of the beacon interval, up to an offset that access points with several cells have. A beacon that waits for the
//! channel has the timestamp of its transmission, and the TIM of its target time: it was composed before that. No beacon is
//! transmitted before its target time, so that the earliest offset of all is the latest that target times can have.

use std::collections::BTreeMap;

use airwatt_base::Span;

use crate::packet::Beacon;

/// The offsets of a cell's beacons from multiples of one beacon interval.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    /// The timestamp of the first beacon, to which offsets are relative, so that those around zero do not wrap.
    first_us: u64,
    /// The earliest, in microseconds after half an interval before the first beacon's.
    earliest_us: u64,
    beacons: u64,
}

/// The target times of one cell, by its beacon interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets(BTreeMap<Span, Offsets>);

/// The offset of a timestamp relative to the first one, in microseconds after half an interval before that.
fn offset_us(first_us: u64, timestamp_us: u64, interval: Span) -> u64 {
    let interval_us = i128::from(interval.as_nanos() / 1_000).max(1);
    let relative_us = i128::from(timestamp_us) - i128::from(first_us) + interval_us / 2;
    relative_us.rem_euclid(interval_us) as u64
}

impl Targets {
    /// Enters a beacon, of whichever part of the capture.
    pub(super) fn note(&mut self, beacon: &Beacon) {
        let first_us = beacon.timestamp_us;
        let fresh = Offsets { first_us, earliest_us: u64::MAX, beacons: 0 };
        let offsets = self.0.entry(beacon.interval).or_insert(fresh);
        let own_us = offset_us(offsets.first_us, beacon.timestamp_us, beacon.interval);
        offsets.earliest_us = offsets.earliest_us.min(own_us);
        offsets.beacons += 1;
    }

    /// How long after its target time a beacon was transmitted. Nothing says so of one that is alone: it may have been due an interval
    /// before.
    pub(super) fn late_by(&self, beacon: &Beacon) -> Span {
        let Some(offsets) = self.0.get(&beacon.interval).filter(|offsets| offsets.beacons > 1) else {
            return beacon.interval;
        };
        let own_us = offset_us(offsets.first_us, beacon.timestamp_us, beacon.interval);
        Span::from_micros(own_us - offsets.earliest_us)
    }
}
