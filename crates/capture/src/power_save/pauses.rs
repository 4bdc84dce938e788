//! How long the channel was free for an access point: whether it could have sent what it had.
//!
//! An access point waits while a frame is on the air, for as long as another cell has reserved the medium (802.11-2020 10.3.2.4), in the
//! quiet intervals and in the absences (Wi-Fi Direct) that its beacons announce, and from a beacon that announces another channel until its next one.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{MacAddress, QuietInterval, TIME_UNIT};

use crate::packet::{AirFrame, Beacon};

/// In a longer pause between frames an access point that waits for the medium sends: DIFS and the first contention window of
/// 802.11b, 50 µs and 31 slots of 20 µs, are 0.67 ms (802.11-2020 15.4.2), and other PHYs have shorter ones.
const PAUSE: Span = Span::from_millis(1);
/// The longest PPDU (aPPDUMaxTime, 802.11-2020 table 21-29) and a SIFS: so long the channel may have been busy with what an acknowledgement
/// answers, if that was not captured.
const UNSEEN: Span = Span::from_micros(5_500);
/// Longer than any quiet interval, whose length has 16 bits.
const QUIET_AT_MOST: Span = Span::from_nanos(TIME_UNIT.as_nanos() << 16);
/// A channel is checked for 60 s for radar before an access point sends on it; that is how long its next beacon is waited for.
const AWAY: Span = Span::from_secs(61);

/// Times apart from each other, in order: the end of each, with the sum of all up to it.
#[derive(Debug, Default)]
struct Spans(Vec<(Instant, Span)>);

impl Spans {
    fn push(&mut self, from: Instant, until: Instant) {
        let before = self.0.last().map_or(Span::ZERO, |(_, sum)| *sum);
        self.0.push((until, before + until.saturating_since(from)));
    }

    /// The sum up to a time.
    fn until(&self, at: Instant) -> Span {
        let past = self.0.partition_point(|(end, _)| *end <= at);
        let before = past.checked_sub(1).map_or(Span::ZERO, |index| self.0[index].1);
        let part = self.0.get(past).map_or(Span::ZERO, |(end, sum)| {
            at.saturating_since(end.saturating_sub(sum.saturating_sub(before)))
        });
        before + part
    }

    fn between(&self, from: Instant, until: Instant) -> Span {
        self.until(until).saturating_sub(self.until(from))
    }
}

/// The pauses between the frames of a segment, of whichever cell.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    silences: Spans,
    /// Those in which nobody has reserved the medium.
    free: Spans,
    /// By access point, what its own cell alone had reserved: it may send then.
    own: BTreeMap<MacAddress, Spans>,
    /// When the last frame ended; `None` before the first one.
    busy_until: Option<Instant>,
    /// The reservation that ends last, with its cell, and the last one of other cells.
    reserved: [(Option<MacAddress>, Instant); 2],
    /// The quiet intervals of each cell, by their beginnings.
    quiet: BTreeMap<MacAddress, BTreeMap<Instant, Instant>>,
    /// The last beacon of each access point that announced another channel.
    leaves: BTreeMap<MacAddress, Instant>,
}

impl Pauses {
    /// A frame of the capture, in order of time, and the access point that it is of or for, if one is known. `answers_unseen` says that it
    /// answers one that the monitor did not receive.
    pub(super) fn frame(
        &mut self,
        at: Instant,
        frame: &AirFrame,
        cell: Option<MacAddress>,
        answers_unseen: bool,
    ) {
        let from = self.busy_until.unwrap_or(at);
        if at.saturating_since(from) > PAUSE {
            self.silences.push(from, at);
            let until = if answers_unseen { from.max(at.saturating_sub(UNSEEN)) } else { at };
            if until.saturating_since(from) > PAUSE {
                self.divide(from, until);
            }
        }
        let end = at + frame.air_time().unwrap_or(Span::ZERO);
        self.busy_until = Some(from.max(end));
        if !frame.damaged && !frame.reserves.is_zero() {
            self.reserve(cell, end + frame.reserves);
        }
    }

    /// Divides a silence by who had reserved the medium.
    fn divide(&mut self, from: Instant, at: Instant) {
        let [(owner, others_until), (_, own_until)] = self.reserved;
        let after = |until: Instant| from.max(until).min(at);
        let (free, own) = (after(others_until), after(own_until));
        let is_free = at.saturating_since(free) > PAUSE;
        if is_free {
            self.free.push(free, at);
        }
        let until = if is_free { free } else { at };
        if let Some(owner) = owner.filter(|_| own < until && at.saturating_since(own) > PAUSE) {
            self.own.entry(owner).or_default().push(own, until);
        }
    }

    fn reserve(&mut self, cell: Option<MacAddress>, until: Instant) {
        let [first, second] = &mut self.reserved;
        if first.0 == cell {
            first.1 = first.1.max(until);
        } else if until > first.1 {
            *second = std::mem::replace(first, (cell, until));
        } else {
            second.1 = second.1.max(until);
        }
    }

    /// A beacon, and its target time: what it says of the times at which its access point does not transmit.
    pub(super) fn beacon(&mut self, at: Instant, due: Instant, beacon: &Beacon) {
        let is_plain = beacon.quiet.is_empty() && beacon.absences.is_empty();
        if is_plain && !beacon.switches_channel && !self.leaves.contains_key(&beacon.bssid) {
            return;
        }
        let quiet = self.quiet.entry(beacon.bssid).or_default();
        for QuietInterval { count, period, duration, offset } in &beacon.quiet {
            // The next beacon, which would announce the one after it, may be missed.
            for times in 0..=u64::from(*period > 0) {
                let target = due + beacon.interval * (u64::from(*count) + times * u64::from(*period));
                let end = quiet.entry(target + *offset).or_default();
                *end = (target + *offset + *duration).max(*end);
            }
        }
        // The next beacon may be missed.
        let announced = beacon.interval * 2;
        for (after, lasts) in beacon.absences.iter().flat_map(|one| one.after(beacon.timestamp_us, announced))
        {
            let end = quiet.entry(at + after).or_default();
            *end = (at + after + lasts).max(*end);
        }
        if let Some(left) = self.leaves.remove(&beacon.bssid) {
            quiet.insert(left, at);
        }
        if beacon.switches_channel {
            quiet.insert(at, at + AWAY);
            self.leaves.insert(beacon.bssid, at);
        }
    }

    /// For how long between two times the channel was free for an access point.
    pub(super) fn between(&self, cell: Option<MacAddress>, from: Instant, until: Instant) -> Span {
        let own = cell.and_then(|cell| self.own.get(&cell));
        let free = |from: Instant, until: Instant| {
            self.free.between(from, until) + own.map_or(Span::ZERO, |own| own.between(from, until))
        };
        let mut sum = free(from, until);
        let mut counted = from;
        let quiet = cell.and_then(|cell| self.quiet.get(&cell));
        for (begin, end) in
            quiet.into_iter().flat_map(|all| all.range(from.saturating_sub(QUIET_AT_MOST)..until))
        {
            let (begin, end) = (counted.max(*begin), until.min(*end));
            if begin < end {
                sum = sum.saturating_sub(free(begin, end));
                counted = end;
            }
        }
        sum
    }

    /// The longest silence that ends after `from` and up to `until`, reserved or not.
    pub(super) fn longest(&self, from: Instant, until: Instant) -> Span {
        let all = &self.silences.0;
        let first = all.partition_point(|(end, _)| *end <= from);
        let last = all.partition_point(|(end, _)| *end <= until).max(first);
        let sums = all[first..last].iter().map(|(_, sum)| *sum);
        let before = std::iter::once(first.checked_sub(1).map_or(Span::ZERO, |index| all[index].1));
        sums.clone()
            .zip(before.chain(sums))
            .map(|(sum, before)| sum.saturating_sub(before))
            .max()
            .unwrap_or(Span::ZERO)
    }

    /// A segment of the capture ends.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
