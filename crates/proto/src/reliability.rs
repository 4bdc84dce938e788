//! How much of a stream may be missing: the counter behind partial reliability, the same for every receiver that has it
//! ([`crate::tcp`], [`crate::e2tcp`]).
//!
//! An application that can do without some bytes says how many per cent it must have. If a gap opens, the receiver
//! acknowledges past it as long as the share of bytes that arrived does not fall below that: what is acknowledged is never
//! sent again. A skipped byte that arrives later, because it was in flight or had been retransmitted already, is delivered
//! late and counts as arrived.
//!
//! The share is counted over the life of the connection, or over the last packets. Over its life a connection may lose a
//! long burst at once if little was lost before; over the last packets it delivers the share in every part of the stream.
//!
//! The published rules count packets; a byte stream has to guess where packets begin. Gaps are skipped in steps of the
//! largest payload that was seen, so that with packets of one size none is acknowledged by half, and the decisions are those
//! of the rule in packets.
//!
//! Left out: an estimate that ages exponentially, as one of the published receivers has. A share over a known number of
//! packets can be checked.

use std::collections::VecDeque;

/// Skipped pieces that are remembered at most, so that a hostile peer cannot make the list long. What is forgotten stays
/// missing.
const GAPS_MAX: usize = 2048;

/// A range of positions in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl ByteRange {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }

    fn common(self, other: Self) -> Option<Self> {
        let common = Self { start: self.start.max(other.start), end: self.end.min(other.end) };
        (common.start < common.end).then_some(common)
    }
}

/// The fate of some bytes, as it counts among the last packets.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// The positions of skipped bytes; `None` for bytes that arrived.
    skipped: Option<ByteRange>,
    bytes: u64,
}

/// The last packets, over which the share is counted.
#[derive(Clone, Debug)]
struct Last {
    /// Number of packets, each of the largest payload so far.
    packets: u64,
    counted: VecDeque<Counted>,
}

/// What arrived of a stream, and what was given up.
#[derive(Clone, Debug)]
pub(crate) struct Reliability {
    percent: u64,
    /// Bytes that arrived, each counted once, and bytes skipped that have not arrived; of the last packets only, if `last` is
    /// set.
    received: u64,
    skipped: u64,
    last: Option<Last>,
    /// The largest payload so far.
    step: u64,
    /// What was skipped and may still arrive, in order of position.
    gaps: Vec<ByteRange>,
}

impl Reliability {
    /// At least `percent` per cent of the bytes are to arrive: of the last `window` packets, or over the life of the
    /// connection.
    pub(crate) fn new(percent: u8, window: Option<u32>) -> Self {
        let last = window.map(|packets| Last { packets: u64::from(packets), counted: VecDeque::new() });
        Self { percent: u64::from(percent), received: 0, skipped: 0, last, step: 1, gaps: Vec::new() }
    }

    /// The largest payload so far in bytes, at least 1: the step in which gaps are skipped.
    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// A packet with `len` bytes of payload has come, new or not.
    pub(crate) fn note_packet(&mut self, len: u16) {
        self.step = self.step.max(u64::from(len));
    }

    /// So many bytes have arrived for the first time.
    pub(crate) fn note_arrived(&mut self, bytes: u64) {
        self.count(Counted { skipped: None, bytes });
    }

    /// Counts bytes, and forgets those that are no longer among the last packets.
    fn count(&mut self, new: Counted) {
        if new.bytes == 0 {
            return;
        }
        *(if new.skipped.is_some() { &mut self.skipped } else { &mut self.received }) += new.bytes;
        let Some(last) = &mut self.last else { return };
        last.counted.push_back(new);
        let room = last.packets.saturating_mul(self.step);
        while self.received + self.skipped > room && last.counted.len() > 1 {
            let Some(old) = last.counted.pop_front() else { break };
            *(if old.skipped.is_some() { &mut self.skipped } else { &mut self.received }) -= old.bytes;
        }
    }

    /// How many bytes of the gap between `from` and `until` may be skipped, and counts them as skipped.
    pub(crate) fn skip(&mut self, from: u64, until: u64) -> u64 {
        let mut end = from;
        // Over the last packets, each packet that is skipped moves the window, so that each is counted for itself.
        while end < until {
            let most = if self.last.is_some() { until.min(end + self.step) } else { until };
            let (gap, spare) = (most - end, self.spare());
            let bytes = if gap <= spare { gap } else { spare / self.step * self.step };
            if bytes == 0 {
                break;
            }
            self.count(Counted { skipped: Some(ByteRange { start: end, end: end + bytes }), bytes });
            end += bytes;
            if self.last.is_none() {
                break;
            }
        }
        if end > from {
            self.gaps.push(ByteRange { start: from, end });
        }
        end - from
    }

    /// Bytes that may still be skipped, so that received / (received + skipped) does not fall below the limit.
    fn spare(&self) -> u64 {
        if self.percent == 0 {
            return u64::MAX;
        }
        let (mut received, mut skipped) = (self.received, self.skipped);
        // What the next skipped packet will push out of the window.
        if let Some(last) = &self.last
            && let Some(oldest) = last.counted.front()
            && received + skipped + self.step > last.packets.saturating_mul(self.step)
        {
            *(if oldest.skipped.is_some() { &mut skipped } else { &mut received }) -= oldest.bytes;
        }
        (received.saturating_mul(100) / self.percent).saturating_sub(received + skipped)
    }

    /// Whether something was skipped that may still arrive.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// What was skipped of `piece` has arrived: it counts as such from now on. Returns what, in order of position.
    pub(crate) fn take_late(&mut self, range: ByteRange) -> Vec<ByteRange> {
        let mut late = Vec::new();
        let mut left = Vec::with_capacity(self.gaps.len() + 1);
        for gap in std::mem::take(&mut self.gaps) {
            let Some(common) = gap.common(range) else {
                left.push(gap);
                continue;
            };
            late.push(common);
            let rests = [
                ByteRange { start: gap.start, end: common.start },
                ByteRange { start: common.end, end: gap.end },
            ];
            left.extend(rests.into_iter().filter(|rest| rest.start < rest.end));
        }
        self.gaps = left;
        let bytes: u64 = late.iter().map(|range| range.end - range.start).sum();
        let counted = if self.last.is_some() { self.recount(&late) } else { bytes };
        self.skipped -= counted;
        self.received += counted;
        late
    }

    /// Counts skipped bytes of the last packets as arrived, as far as they lie in `late`. Returns how many.
    fn recount(&mut self, late: &[ByteRange]) -> u64 {
        let Some(last) = &mut self.last else { return 0 };
        let mut arrived = 0;
        for counted in &mut last.counted {
            let Some(range) = counted.skipped else { continue };
            // A packet that arrives in part counts as a whole once all of it has come.
            if late.iter().any(|late| late.start <= range.start && range.end <= late.end) {
                counted.skipped = None;
                arrived += counted.bytes;
            }
        }
        arrived
    }

    /// Nothing on its way can still fill a gap that ends at or before `position`.
    pub(crate) fn forget_gaps(&mut self, position: u64) {
        let old = self.gaps.partition_point(|gap| gap.end <= position);
        let many = self.gaps.len().saturating_sub(GAPS_MAX);
        self.gaps.drain(..old.max(many));
    }
}
