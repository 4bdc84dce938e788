//! The rhythm of traffic: bursts at equal distances, as those of a server that sends in real time.
//!
//! It is measured in active mode, in which packets arrive when they come. A burst begins with a packet after a gap. Traffic that the
//! station acknowledges has none: what it sends decides when the next burst comes.

use airwatt_base::{Instant, Span};

/// The time without a packet after which the next one begins a burst: as long as others may hold the air before it.
const GAP: Span = Span::from_millis(5);
/// Distances that have to agree.
const DISTANCES: u32 = 8;
/// What a service period leaves between the end of a burst and its beginning, for contention on the way.
const MARGIN: Span = Span::from_millis(2);
/// Packets received for each that the station sends, at least.
const ONE_WAY: u32 = 4;

/// The bursts since the station became active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rhythm {
    /// Beginning of the first burst, and of the last one.
    bursts: Option<(Instant, Instant)>,
    distances: u32,
    shortest: Span,
    longest: Span,
    /// The longest burst.
    length: Span,
    last: Instant,
    received: u32,
    sent: u32,
}

impl Rhythm {
    /// A packet was received.
    pub(super) fn received(&mut self, now: Instant) {
        self.received += 1;
        let Some((first, begun)) = self.bursts else {
            self.bursts = Some((now, now));
            self.last = now;
            return;
        };
        if now.saturating_since(self.last) < GAP {
            self.length = self.length.max(now.saturating_since(begun));
        } else {
            let distance = now.saturating_since(begun);
            self.shortest = if self.distances == 0 { distance } else { self.shortest.min(distance) };
            self.longest = self.longest.max(distance);
            self.distances += 1;
            self.bursts = Some((first, now));
        }
        self.last = now;
    }

    /// A frame of the user was sent.
    pub(super) fn sent(&mut self) {
        self.sent += 1;
    }

    /// The interval between service periods that fits the rhythm, and a time at which one would begin; `None` if there is no rhythm, or no
    /// multiple of its distance in these bounds.
    pub(super) fn beats(&self, least: Span, most: Span) -> Option<(Span, Instant)> {
        let (first, last) = self.bursts?;
        if self.distances < DISTANCES || self.sent > self.received / ONE_WAY {
            return None;
        }
        let mean = last.saturating_since(first) / u64::from(self.distances);
        if self.longest - self.shortest > mean / 4 {
            return None;
        }
        let interval = mean * least.covering(mean);
        (interval <= most).then_some((interval, last + self.length + MARGIN))
    }
}
