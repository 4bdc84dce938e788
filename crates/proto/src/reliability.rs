//! How much of a stream may be missing: the counter behind partial reliability, the same for every receiver that has it
//! ([`crate::tcp`], [`crate::e2tcp`]).
//!
//! An application that can do without some bytes says how many per cent it must have. Where a gap opens, the receiver
//! acknowledges past it as long as the share of bytes that arrived, over the life of the connection, does not fall below
//! that: what is acknowledged is never sent again. A skipped byte that arrives all the same, because it was on its way or
//! had been sent again already, is handed over late and counts as arrived.
//!
//! The published rules count packets; a byte stream has to guess where packets begin. Gaps are skipped in steps of the
//! largest payload that was seen, so that with packets of one size none is acknowledged by half, and the decisions are those
//! of the rule in packets.
//!
//! Left out: an estimate that ages, as one of the published receivers has. Over the life of the connection the promise is one
//! that can be checked.

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

/// What arrived of a stream, and what was given up.
#[derive(Clone, Debug)]
pub(crate) struct Reliability {
    percent: u64,
    /// Bytes that arrived, each counted once, and bytes skipped that have not arrived.
    received: u64,
    skipped: u64,
    /// The largest payload so far.
    step: u64,
    /// What was skipped and may still arrive, in order of position.
    gaps: Vec<ByteRange>,
}

impl Reliability {
    /// At least so many per cent of the bytes are to arrive.
    pub(crate) fn new(percent: u8) -> Self {
        Self { percent: u64::from(percent), received: 0, skipped: 0, step: 1, gaps: Vec::new() }
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
        self.received += bytes;
    }

    /// How many bytes of the gap between `from` and `until` may go, and books them as skipped.
    pub(crate) fn skip(&mut self, from: u64, until: u64) -> u64 {
        let gap = until - from;
        let spare = self.spare();
        let bytes = if gap <= spare { gap } else { spare / self.step * self.step };
        if bytes > 0 {
            self.gaps.push(ByteRange { start: from, end: from + bytes });
            self.skipped += bytes;
        }
        bytes
    }

    /// Bytes that may still be skipped, so that received / (received + skipped) does not fall below the limit.
    fn spare(&self) -> u64 {
        if self.percent == 0 {
            return u64::MAX;
        }
        (self.received.saturating_mul(100) / self.percent).saturating_sub(self.received + self.skipped)
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
        self.skipped -= bytes;
        self.received += bytes;
        late
    }

    /// Nothing on its way can still fill a gap that ends at or before `position`.
    pub(crate) fn forget_gaps(&mut self, position: u64) {
        let old = self.gaps.partition_point(|gap| gap.end <= position);
        let many = self.gaps.len().saturating_sub(GAPS_MAX);
        self.gaps.drain(..old.max(many));
    }
}
