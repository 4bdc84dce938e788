//! The send half with selective acknowledgements: loss recovery of RFC 6675 with detection of spurious recovery by RFC 2883, or
//! the older rule of the pipe ([`SackRecovery::Pipe`]).
//!
//! Choices that the RFCs leave open: the retransmission timer restarts with every acknowledgement of new data, as in
//! RFC 6298; Limited Transmit (step 3 of RFC 6675 section 5) happens only if the option is set; a retransmission that
//! is lost again waits for the timer; after a timeout the scoreboard is cleared (RFC 2018 section 8) and filled anew,
//! and the data that the peer then reports is not sent again. The rule of the pipe shares these but for the last, and does not use
//! D-SACK blocks, which it is older than.

use airwatt_base::{Instant, Seq};

use super::{FIRST, Sender, UndoState};
use crate::cc::Recovery;
use crate::reliability::ByteRange;
use crate::tcp::buffer::SendBuffer;
use crate::tcp::config::{SackRecovery, WindowRules};
use crate::tcp::sack::Turn;
use crate::tcp::segment::Segment;
use crate::tcp::statistics::Statistics;
use crate::tcp::timer::{TcpTimer, Timers};

impl<S: SendBuffer> Sender<S> {
    /// Processes an acceptable acknowledgement up to `ack` (RFC 6675 section 5). It is not inlined, to keep the other
    /// senders fast.
    #[inline(never)]
    pub(super) fn acknowledge_selectively(
        &mut self,
        ack: u64,
        segment: &Segment,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) {
        if self.sack_recovery != SackRecovery::Rfc6675 {
            return self.acknowledge_by_pipe(ack, segment, now, timers, statistics);
        }
        self.detect_spurious_recovery(ack, segment, statistics);
        if ack > self.una {
            self.acknowledge_new(ack, segment, now, timers, statistics);
            self.scoreboard.release(self.una);
        }
        if !segment.sack.is_empty() && self.take_blocks(segment, now) {
            self.scoreboard.mark_lost();
            self.duplicates += 1;
            statistics.duplicate_acks += 1;
            let lost = self.duplicates >= self.threshold || self.scoreboard.is_lost(self.una);
            if !self.recovering && lost && self.indicates_loss() {
                self.enter_sack_recovery(statistics);
            }
        }
        if self.recovering {
            self.scoreboard.set_pipe(self.una, self.max);
        }
    }

    /// Processes an acceptable acknowledgement by the rule of the pipe (Fall and Floyd 1996, section 4). As in 4.4BSD, only an
    /// acknowledgement without new data counts as a duplicate.
    fn acknowledge_by_pipe(
        &mut self,
        ack: u64,
        segment: &Segment,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) {
        let mss = u64::from(self.mss);
        let is_duplicate = ack == self.una && self.is_duplicate(segment);
        if ack > self.una {
            self.acknowledge_new(ack, segment, now, timers, statistics);
            self.scoreboard.release(self.una);
            // The retransmission and the segment that it replaces have both left the network.
            self.scoreboard.pipe = self.scoreboard.pipe.saturating_sub(2 * mss);
            self.scoreboard.turn = Turn::Hole;
        }
        self.take_blocks(segment, now);
        if !is_duplicate {
            return;
        }
        self.duplicates += 1;
        statistics.duplicate_acks += 1;
        if self.recovering {
            self.scoreboard.pipe = self.scoreboard.pipe.saturating_sub(mss);
            self.scoreboard.turn = Turn::Hole;
        } else if self.duplicates == self.threshold && self.indicates_loss() {
            // The rule has the congestion window for what is in flight, which is the same unless the data or the peer's window
            // ends before it. OpenBSD does not count the first retransmission.
            let uncounted = u64::from(self.sack_recovery == SackRecovery::OpenBsd);
            let left = (u64::from(self.duplicates) + uncounted) * mss;
            self.scoreboard.pipe = u64::from(self.flight()).saturating_sub(left);
            self.scoreboard.high_rxt = self.una;
            // Rule (4) of NextSeg is newer.
            self.scoreboard.rescued = true;
            self.scoreboard.turn = Turn::Over;
            self.retransmit_fast(statistics);
            if self.window_rules != WindowRules::Rfc5681 {
                timers.set(TcpTimer::Retransmission, now.saturating_add(self.rtt.rto()));
            }
        } else if self.duplicates == self.threshold {
            self.ignore_duplicates();
        }
    }

    /// Bytes in flight by the scoreboard during recovery; otherwise `None`.
    pub(in crate::tcp) fn pipe(&self) -> Option<u64> {
        (self.recovering && self.recovery == Recovery::Scoreboard).then_some(self.scoreboard.pipe)
    }

    /// Adds the blocks of new data to the scoreboard. Returns true if any of them was not known.
    fn take_blocks(&mut self, segment: &Segment, now: Instant) -> bool {
        let mut fresh = 0;
        for (start, end) in segment.sack.iter() {
            if let Some(range) = self.range(start, end).filter(|range| range.end > self.una) {
                let start = range.start.max(self.una);
                if self.sack_recovery == SackRecovery::OpenBsd {
                    self.scoreboard.note_report(start);
                }
                fresh += self.scoreboard.insert(ByteRange { start, ..range });
            }
        }
        self.deliver(fresh, None, now);
        fresh > 0
    }

    /// The positions of a block, if it lies within the data sent.
    fn range(&self, start: Seq, end: Seq) -> Option<ByteRange> {
        let near = |seq: Seq| self.una.checked_add_signed(i64::from(self.distance(seq)));
        let (start, end) = (near(start)?, near(end)?);
        (FIRST <= start && start < end && end <= self.max).then_some(ByteRange { start, end })
    }

    fn enter_sack_recovery(&mut self, statistics: &mut Statistics) {
        let before = self.control.clone();
        self.undo = Some(UndoState { before, from: self.una, to: self.max, unreported: 0 });
        self.scoreboard.high_rxt = self.una;
        self.scoreboard.rescued = false;
        self.retransmit_fast(statistics);
    }

    /// Records that `len` bytes at `at` are retransmitted in recovery.
    pub(super) fn note_retransmission(&mut self, at: u64, len: u64) {
        self.scoreboard.pipe += len;
        // A FIN without data also takes a position.
        self.scoreboard.high_rxt = self.scoreboard.high_rxt.max(at + len.max(1));
        if let Some(undo) = &mut self.undo {
            undo.unreported += 1;
        }
    }

    /// RFC 2883: a first block below the acknowledgement number, or inside the second block, reports data that arrived
    /// twice. When all retransmitted data was reported so, the recovery was spurious (as Linux concludes), and the
    /// window is restored.
    fn detect_spurious_recovery(&mut self, ack: u64, segment: &Segment, statistics: &mut Statistics) {
        let Some(undo) = &self.undo else { return };
        let mut blocks = segment.sack.iter();
        let Some(first) = blocks.next().and_then(|(start, end)| self.range(start, end)) else { return };
        let second = blocks.next().and_then(|(start, end)| self.range(start, end));
        let within = second.is_some_and(|second| second.start <= first.start && first.end <= second.end);
        let twice = first.end <= ack || within;
        if !twice || undo.unreported == 0 || first.start < undo.from || first.end > undo.to {
            return;
        }
        let unreported = undo.unreported - 1;
        if unreported > 0 {
            self.undo = self.undo.take().map(|undo| UndoState { unreported, ..undo });
        } else if let Some(undo) = self.undo.take() {
            self.control.undo(&undo.before);
            self.recovering = false;
            self.resend = false;
            // Other missing data may start a new recovery.
            self.recover = self.una;
            self.duplicates = 0;
            statistics.spurious_retransmits += 1;
        }
    }

    /// NextSeg of RFC 6675 section 4, while the window has room for a segment beyond the pipe: returns position,
    /// length, and whether the FIN is included. It is not inlined for the same reason.
    #[inline(never)]
    pub(super) fn next_seg(&mut self) -> Option<(u64, u64, bool)> {
        let mss = u64::from(self.mss);
        let room = u64::from(self.control.cwnd()).saturating_sub(self.scoreboard.pipe);
        let hole = self.scoreboard.hole(self.scoreboard.high_rxt.max(self.una));
        if self.sack_recovery == SackRecovery::OpenBsd {
            return self.next_by_turn(hole, room);
        }
        if room < mss {
            return None;
        }
        // Rule (1): lost data. By the rule of the pipe every hole is.
        let by_pipe = self.sack_recovery == SackRecovery::Pipe;
        if let Some(hole) = hole.filter(|hole| by_pipe || self.scoreboard.is_lost(hole.start)) {
            return Some(self.retransmit_hole(hole));
        }
        // Rule (2): new data.
        if let Some((len, fin)) = self.permitted(room) {
            self.scoreboard.pipe += len;
            return Some((self.nxt, len, fin));
        }
        // Rule (3): data that may be lost.
        if let Some(hole) = hole {
            return Some(self.retransmit_hole(hole));
        }
        // Rule (4): the last segment, once in a recovery, so that its loss does not wait for the timer.
        if self.scoreboard.rescued || self.una >= self.recover {
            return None;
        }
        let hole = self
            .scoreboard
            .last_hole(self.una, self.max)
            .filter(|hole| hole.start >= self.scoreboard.high_rxt)?;
        self.scoreboard.rescued = true;
        let high_rxt = self.scoreboard.high_rxt;
        let rescue = self.retransmit_hole(hole);
        self.scoreboard.high_rxt = high_rxt;
        Some(rescue)
    }

    /// What OpenBSD sends: a retransmission for each acknowledgement, or else new data while the pipe has room.
    fn next_by_turn(&mut self, hole: Option<ByteRange>, room: u64) -> Option<(u64, u64, bool)> {
        let hole = hole.filter(|hole| self.scoreboard.is_reported(hole.end));
        match (self.scoreboard.turn, hole) {
            (Turn::Over, _) => None,
            (Turn::Hole, Some(hole)) => {
                self.scoreboard.turn = Turn::Over;
                Some(self.retransmit_hole(hole))
            }
            (Turn::Hole | Turn::NewData, _) => {
                self.scoreboard.turn = Turn::NewData;
                let (len, fin) = self.permitted(room).filter(|_| room >= u64::from(self.mss))?;
                self.scoreboard.pipe += len;
                Some((self.nxt, len, fin))
            }
        }
    }

    /// Retransmits the first segment of a hole.
    fn retransmit_hole(&mut self, hole: ByteRange) -> (u64, u64, bool) {
        let end = hole.end.min(self.end).min(hole.start + u64::from(self.mss));
        let len = end.saturating_sub(hole.start);
        self.note_retransmission(hole.start, len);
        (hole.start, len, self.is_last(end.max(hole.start)))
    }

    /// After a timeout, skips the data that the peer has reported since.
    pub(super) fn skip_sacked(&mut self) {
        if self.skips_reported_data() {
            self.nxt = self.scoreboard.skip(self.nxt);
        }
    }
}
