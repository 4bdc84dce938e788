//! How long the channel was free: whether an access point could have sent what it had.

use airwatt_base::{Instant, Span};

use crate::packet::AirFrame;

/// In a longer pause between frames an access point that waits for the medium sends: DIFS and the first contention window of
/// 802.11b, 50 µs and 31 slots of 20 µs, are 0.67 ms (802.11-2020 15.4.2), and other PHYs have shorter ones.
const PAUSE: Span = Span::from_millis(1);

/// The pauses between the frames of a segment, of whichever cell.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    /// The ends of pauses, each with the sum of all up to it.
    ends: Vec<(Instant, Span)>,
    /// When the last frame ended.
    busy_until: Instant,
}

impl Pauses {
    /// A frame of the capture, in order of time.
    pub(super) fn frame(&mut self, at: Instant, frame: &AirFrame) {
        let pause = at.saturating_since(self.busy_until);
        if pause > PAUSE {
            self.ends.push((at, self.until(at) + pause));
        }
        self.busy_until = self.busy_until.max(at + frame.air_time().unwrap_or(Span::ZERO));
    }

    /// The sum of the pauses that end after `from` and up to `until`, as far as they are after `from`.
    pub(super) fn between(&self, from: Instant, until: Instant) -> Span {
        let before = self.until(from);
        let next = self.ends.get(self.ends.partition_point(|(end, _)| *end <= from));
        let early = next.filter(|(end, _)| *end <= until).map(|(end, sum)| {
            let began = end.saturating_sub(sum.saturating_sub(before));
            from.saturating_since(began)
        });
        self.until(until).saturating_sub(before + early.unwrap_or_default())
    }

    /// The longest of the pauses that end after `from` and up to `until`.
    pub(super) fn longest(&self, from: Instant, until: Instant) -> Span {
        let first = self.ends.partition_point(|(end, _)| *end <= from);
        let last = self.ends.partition_point(|(end, _)| *end <= until).max(first);
        let sums = self.ends[first..last].iter().map(|(_, sum)| *sum);
        let before = std::iter::once(self.until(from)).chain(sums.clone());
        sums.zip(before).map(|(sum, before)| sum.saturating_sub(before)).max().unwrap_or(Span::ZERO)
    }

    fn until(&self, at: Instant) -> Span {
        let past = self.ends.partition_point(|(end, _)| *end <= at);
        past.checked_sub(1).map_or(Span::ZERO, |index| self.ends[index].1)
    }

    /// A segment of the capture ends.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
