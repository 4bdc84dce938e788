//! The send half with selective acknowledgements: RFC 6675's loss recovery, and RFC 2883's undoing of one that was
//! spurious.
//!
//! Choices where the RFCs leave some: the retransmission timer restarts with every acknowledgement of new data, as RFC 6298
//! has it; without the option, Limited Transmit (step 3 of RFC 6675 section 5) is not done; a segment that was sent again
//! and lost again waits for the timer; after a timeout the scoreboard is cleared (RFC 2018 section 8), fills anew, and what
//! the peer then reports is not sent again.

use airwatt_base::{Instant, Seq};

use super::buffer::SendBuffer;
use super::connection::Timers;
use super::sack::Range;
use super::segment::Segment;
use super::sender::{Doubt, FIRST, Sender};
use super::statistics::Statistics;
use crate::cc::Recovery;

impl<S: SendBuffer> Sender<S> {
    /// An acceptable acknowledgement up to `ack` (RFC 6675 section 5). Not inlined, lest it slow the senders without.
    #[inline(never)]
    pub(super) fn acknowledge_selectively(
        &mut self,
        ack: u64,
        segment: &Segment,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) {
        self.doubt_loss(ack, segment, statistics);
        if ack > self.una {
            self.acknowledge_new(ack, now, timers, statistics);
            self.board.release(self.una);
        }
        let fresh = !segment.sack.is_empty() && self.take_blocks(segment);
        if fresh {
            self.board.judge();
            self.duplicates += 1;
            statistics.duplicate_acks += 1;
            let lost = self.duplicates >= self.threshold || self.board.is_lost(self.una);
            if !self.recovering && lost && self.tells_of_loss() {
                self.begin_repair(statistics);
            }
        }
        if self.recovering {
            self.board.measure(self.una, self.max);
        }
    }

    /// Bytes in flight by the scoreboard's reckoning, in recovery.
    pub(super) fn pipe(&self) -> Option<u64> {
        (self.recovering && self.recovery == Recovery::Scoreboard).then_some(self.board.pipe)
    }

    /// Enters the blocks of new data. True if there are any that were not known.
    fn take_blocks(&mut self, segment: &Segment) -> bool {
        let mut fresh = false;
        for (start, end) in segment.sack.iter() {
            if let Some(range) = self.range(start, end).filter(|range| range.end > self.una) {
                fresh |= self.board.insert(Range { start: range.start.max(self.una), ..range });
            }
        }
        fresh
    }

    /// The positions of a block, if it lies where one can.
    fn range(&self, start: Seq, end: Seq) -> Option<Range> {
        let near = |seq: Seq| self.una.checked_add_signed(i64::from(self.distance(seq)));
        let (start, end) = (near(start)?, near(end)?);
        (FIRST <= start && start < end && end <= self.max).then_some(Range { start, end })
    }

    fn begin_repair(&mut self, statistics: &mut Statistics) {
        let before = self.control.clone();
        self.doubt = Some(Doubt { before, from: self.una, to: self.max, pending: 0 });
        self.board.repaired = self.una;
        self.board.rescued = false;
        self.retransmit_fast(statistics);
    }

    /// `len` bytes at `at` are sent again in recovery.
    pub(super) fn note_repair(&mut self, at: u64, len: u64) {
        self.board.pipe += len;
        // A FIN alone takes a position too.
        self.board.repaired = self.board.repaired.max(at + len.max(1));
        if let Some(doubt) = &mut self.doubt {
            doubt.pending += 1;
        }
    }

    /// RFC 2883: a first block below the acknowledgement, or inside the second, tells of data that arrived twice. When all
    /// that was sent again has, the loss was none (as Linux concludes) and the window is what it was.
    fn doubt_loss(&mut self, ack: u64, segment: &Segment, statistics: &mut Statistics) {
        let Some(doubt) = &self.doubt else { return };
        let mut blocks = segment.sack.iter();
        let Some(first) = blocks.next().and_then(|(start, end)| self.range(start, end)) else { return };
        let second = blocks.next().and_then(|(start, end)| self.range(start, end));
        let within = second.is_some_and(|second| second.start <= first.start && first.end <= second.end);
        let twice = first.end <= ack || within;
        if !twice || doubt.pending == 0 || first.start < doubt.from || first.end > doubt.to {
            return;
        }
        let pending = doubt.pending - 1;
        if pending > 0 {
            self.doubt = self.doubt.take().map(|doubt| Doubt { pending, ..doubt });
        } else if let Some(doubt) = self.doubt.take() {
            self.control.undo(&doubt.before);
            self.recovering = false;
            self.resend = false;
            // Whatever else is missing may be noticed anew.
            self.recover = self.una;
            self.duplicates = 0;
            statistics.spurious_retransmits += 1;
        }
    }

    /// NextSeg of RFC 6675 section 4, while a segment has room in the window beside what is in flight: position, length,
    /// and whether the FIN goes with it. Not inlined for the same reason.
    #[inline(never)]
    pub(super) fn next_repair(&mut self) -> Option<(u64, u64, bool)> {
        let mss = u64::from(self.mss);
        let room = u64::from(self.control.cwnd()).saturating_sub(self.board.pipe);
        if room < mss {
            return None;
        }
        let hole = self.board.hole(self.board.repaired.max(self.una));
        // Rule (1): what is lost.
        if let Some(hole) = hole.filter(|hole| self.board.is_lost(hole.start)) {
            return Some(self.repair(hole));
        }
        // Rule (2): new data.
        if let Some((len, fin)) = self.permitted(room) {
            self.board.pipe += len;
            return Some((self.nxt, len, fin));
        }
        // Rule (3): what may be lost.
        if let Some(hole) = hole {
            return Some(self.repair(hole));
        }
        // Rule (4): the last segment, once in a recovery, lest its loss wait for the timer.
        if self.board.rescued || self.una >= self.recover {
            return None;
        }
        let hole =
            self.board.last_hole(self.una, self.max).filter(|hole| hole.start >= self.board.repaired)?;
        self.board.rescued = true;
        let repaired = self.board.repaired;
        let rescue = self.repair(hole);
        self.board.repaired = repaired;
        Some(rescue)
    }

    /// The first segment of a hole.
    fn repair(&mut self, hole: Range) -> (u64, u64, bool) {
        let end = hole.end.min(self.end).min(hole.start + u64::from(self.mss));
        let len = end.saturating_sub(hole.start);
        self.note_repair(hole.start, len);
        (hole.start, len, self.is_last(end.max(hole.start)))
    }

    /// After a timeout, what the peer has by now is skipped.
    pub(super) fn skip_known(&mut self) {
        if self.nxt < self.max && !self.board.is_empty() {
            self.nxt = self.board.skip(self.nxt);
        }
    }
}
