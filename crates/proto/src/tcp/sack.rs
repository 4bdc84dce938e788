//! Selective acknowledgements: the blocks that a segment carries (RFC 2018), and the sender's scoreboard of them (RFC 6675).

use std::collections::VecDeque;
use std::fmt;

use airwatt_base::Seq;

use crate::reliability::ByteRange;

/// Largest number of blocks in a segment: as many as fit beside the timestamps option (RFC 2018 section 3).
const BLOCKS: usize = 3;

/// Largest number of ranges in a scoreboard, so that a hostile peer cannot exhaust memory. Blocks that would need more
/// are dropped like a lost acknowledgement. Our receiver keeps no more ranges than this either.
const RANGES_MAX: usize = 2048;

/// The SACK option of a segment: up to three blocks of data that arrived beyond a gap, the most recent first. The first
/// block may instead report data that arrived twice (D-SACK, RFC 2883).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// First sequence number of each block, and the one after its last. An empty block ends the list.
    blocks: [(Seq, Seq); BLOCKS],
}

impl SackBlocks {
    /// No option.
    pub const NONE: Self = Self { blocks: [(Seq::new(0), Seq::new(0)); BLOCKS] };

    /// Appends a block that is not empty. Returns false if there is no room, or the block is empty.
    pub fn push(&mut self, start: Seq, end: Seq) -> bool {
        let free = self.blocks.iter_mut().find(|(start, end)| start == end);
        match free {
            Some(block) if start != end => {
                *block = (start, end);
                true
            }
            _ => false,
        }
    }

    /// Whether there is no block, and so no option.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].0 == self.blocks[0].1
    }

    /// Iterates over the blocks: the first sequence number, and the one after the last.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, Seq)> + '_ {
        self.blocks.iter().copied().take_while(|(start, end)| start != end)
    }

    /// Bytes that the option adds to the header: kind, length, eight for each block (RFC 2018 section 3), and two of
    /// padding to 32-bit words.
    pub fn option_bytes(&self) -> u32 {
        if self.is_empty() {
            return 0;
        }
        8 * self.iter().count() as u32 + 4
    }
}

/// Formats the blocks as `<3001:4001 6001:7001>`, or as nothing.
impl fmt::Display for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (start, end)) in self.iter().enumerate() {
            let open = if index == 0 { "<" } else { " " };
            write!(f, "{open}{}:{}", start.value(), end.value())?;
        }
        if self.is_empty() { Ok(()) } else { f.write_str(">") }
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The data beyond the cumulative acknowledgement that the peer has reported as received (RFC 6675 section 3).
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    /// Reported ranges, sorted by position, neither overlapping nor adjacent.
    ranges: VecDeque<ByteRange>,
    threshold: u32,
    mss: u64,
    /// Data below this position that is not acknowledged counts as lost.
    lost_below: u64,
    /// HighRxt: the position after the highest one that was retransmitted in this recovery.
    pub(super) high_rxt: u64,
    /// Whether the rescue retransmission of this recovery was sent.
    pub(super) rescued: bool,
    /// Estimate of the bytes in flight; maintained only in recovery.
    pub(super) pipe: u64,
    /// Starts of the blocks that acknowledgements reported, as often as they did: what OpenBSD counts for each hole below.
    /// Filled only by its rule.
    reports: Vec<u64>,
    /// What the last acknowledgement lets OpenBSD's rule send.
    pub(super) turn: Turn,
}

/// What one acknowledgement in recovery releases by OpenBSD's rule: a retransmission, or else new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A retransmission, if there is a hole to fill.
    Hole,
    /// New data, as far as the pipe has room.
    NewData,
    /// Nothing until the next acknowledgement.
    Over,
}

impl Scoreboard {
    pub(super) fn new(threshold: u32, mss: u32) -> Self {
        Self {
            ranges: VecDeque::new(),
            threshold,
            mss: u64::from(mss),
            lost_below: 0,
            high_rxt: 0,
            rescued: false,
            pipe: 0,
            reports: Vec::new(),
            turn: Turn::Over,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Clears the scoreboard after a timeout, because the peer may have discarded the data (RFC 2018 section 8).
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.reports.clear();
        self.lost_below = 0;
    }

    /// Notes that an acknowledgement reported a block from `start` on.
    pub(super) fn note_report(&mut self, start: u64) {
        if self.reports.len() < RANGES_MAX {
            self.reports.push(start);
        }
    }

    /// Whether OpenBSD retransmits a hole that ends at `end`: `threshold` blocks were reported above it, or as many segments lie
    /// between it and the end of one.
    pub(super) fn is_reported(&self, end: u64) -> bool {
        let above = self.reports.iter().filter(|start| **start >= end).count();
        let last = self.ranges.back().map_or(0, |range| range.end);
        above >= self.threshold as usize || last >= end + u64::from(self.threshold) * self.mss
    }

    /// Removes everything below `una`, which is acknowledged.
    pub(super) fn release(&mut self, una: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.end > una {
                first.start = first.start.max(una);
                break;
            }
            self.ranges.pop_front();
        }
        self.reports.retain(|start| *start > una);
    }

    /// Adds a range that the peer has reported. Returns the number of bytes of it that are new.
    pub(super) fn insert(&mut self, range: ByteRange) -> u64 {
        let first = self.ranges.partition_point(|other| other.end < range.start);
        let behind = self.ranges.partition_point(|other| other.start <= range.end);
        if first == behind {
            if self.ranges.len() >= RANGES_MAX {
                return 0;
            }
            self.ranges.insert(first, range);
            return range.len();
        }
        let known = self.ranges[first];
        if known.start <= range.start && range.end <= known.end {
            return 0;
        }
        let end = range.end.max(self.ranges[behind - 1].end);
        let before: u64 = self.ranges.range(first..behind).map(|range| range.len()).sum();
        let joined = ByteRange { start: range.start.min(known.start), end };
        self.ranges[first] = joined;
        self.ranges.drain(first + 1..behind);
        joined.len() - before
    }

    /// IsLost of RFC 6675 section 4 for all positions at once: data is lost if `threshold` ranges, or more than
    /// `threshold` - 1 segments of bytes, were reported above it.
    pub(super) fn mark_lost(&mut self) {
        let (mut above, mut bytes) = (0, 0);
        for range in self.ranges.iter().rev() {
            above += 1;
            bytes += range.len();
            if above >= self.threshold || bytes > u64::from(self.threshold - 1) * self.mss {
                self.lost_below = range.start;
                return;
            }
        }
        self.lost_below = 0;
    }

    /// Whether the unreported data at `position` is lost.
    pub(super) fn is_lost(&self, position: u64) -> bool {
        position < self.lost_below
    }

    /// SetPipe of RFC 6675 section 4: counts the data between `una` and `max` that is neither reported nor lost, and
    /// counts retransmitted data once more.
    pub(super) fn set_pipe(&mut self, una: u64, max: u64) {
        let (mut pipe, mut at) = (0, una);
        let behind = ByteRange { start: max, end: max };
        for range in self.ranges.iter().chain([&behind]) {
            // Holes end where ranges begin, and the lost ones are the lowest, so no hole is lost in part.
            if !self.is_lost(at) {
                pipe += range.start - at;
            }
            pipe += range.start.min(self.high_rxt).saturating_sub(at);
            at = range.end;
        }
        self.pipe = pipe;
    }

    /// The first hole from `from` on that ends below the highest reported position: the data that rules (1) and (3) of
    /// NextSeg may send.
    pub(super) fn hole(&self, from: u64) -> Option<ByteRange> {
        let mut from = from;
        let first = self.ranges.partition_point(|range| range.end <= from);
        for range in self.ranges.range(first..) {
            if from < range.start {
                return Some(ByteRange { start: from, end: range.start });
            }
            from = range.end;
        }
        None
    }

    /// The last hole below `max`, limited to one segment (rule (4) of NextSeg).
    pub(super) fn last_hole(&self, una: u64, max: u64) -> Option<ByteRange> {
        let mut end = max;
        let mut start = una;
        for range in self.ranges.iter().rev() {
            if range.end < end {
                start = range.end;
                break;
            }
            end = range.start;
        }
        let start = start.max(end.saturating_sub(self.mss));
        (start < end).then_some(ByteRange { start, end })
    }

    /// The position at which to continue after a timeout: `position`, or the end of the reported range that contains
    /// it.
    pub(super) fn skip(&self, position: u64) -> u64 {
        let index = self.ranges.partition_point(|range| range.end <= position);
        self.ranges.get(index).filter(|range| range.start <= position).map_or(position, |range| range.end)
    }

    /// The start of the next reported range at or after `position`.
    pub(super) fn next_start(&self, position: u64) -> Option<u64> {
        let index = self.ranges.partition_point(|range| range.start < position);
        self.ranges.get(index).map(|range| range.start)
    }

    /// Number of reported bytes below `position`.
    pub(super) fn sacked_bytes_below(&self, position: u64) -> u64 {
        let below = self.ranges.iter().take_while(|range| range.start < position);
        below.map(|range| range.end.min(position) - range.start).sum()
    }
}
