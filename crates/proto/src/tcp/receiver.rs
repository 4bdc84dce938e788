//! The receive half: reassembly, the offered window and acknowledgements.

use airwatt_base::Seq;

mod partial;

use self::partial::Partial;
use super::buffer::ReceiveBuffer;
use super::config::{DelayedAck, TcpConfig};
use super::reassembly::{OUT_OF_ORDER_MAX, Text, count_new, join};
use super::sack::SackBlocks;
use super::statistics::Statistics;
use crate::reliability::ByteRange;

/// Number of recently touched ranges that are remembered: twice as many as an acknowledgement can report, so that
/// enough remain after ranges have merged.
const RECENT: usize = 6;

/// Whether an acknowledgement is due, and how soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckDue {
    No,
    /// Within the delayed-ACK timeout.
    Later,
    Now,
}

/// The receive half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver<R> {
    pub(super) buffer: R,
    irs: Seq,
    /// Next expected position (`RCV.NXT`); the SYN is position 0.
    pub(super) next: u64,
    /// Right edge of the window: the position after the last one that was ever offered, up to which text is accepted.
    /// It never moves back (RFC 9293 section 3.8.6).
    edge: u64,
    pub(super) capacity: u32,
    /// Position after the last one that the current grant permits to offer, which may shrink the window; `u64::MAX`
    /// without a grant.
    granted: u64,
    mss: u32,
    /// Bytes in order that the application has not read.
    readable: u64,
    read_at_once: bool,
    /// Ranges received out of order, sorted by position, neither overlapping nor adjacent.
    pub(super) out_of_order: Vec<ByteRange>,
    /// Position of the peer's FIN, once it is known.
    pub(super) fin: Option<u64>,
    /// State for skipping gaps; `None` if every byte has to arrive.
    pub(super) partial: Option<Box<Partial>>,
    delayed: Option<DelayedAck>,
    /// Segments received since the last acknowledgement.
    waiting: u32,
    /// Next expected position when the last acknowledgement was sent (Last.ACK.sent of RFC 7323).
    last_ack: u64,
    pub(super) due: AckDue,
    /// Whether SACK and D-SACK blocks are sent.
    reports_sack: bool,
    /// A position in each of the ranges that segments touched last, the most recent first (RFC 2018 section 4).
    recent: [u64; RECENT],
    /// The range that the last segment repeated (RFC 2883).
    repeated: Option<ByteRange>,
}

impl<R: ReceiveBuffer> Receiver<R> {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            buffer: R::default(),
            irs: Seq::new(0),
            next: 0,
            edge: 0,
            capacity: config.receive_window,
            granted: u64::MAX,
            mss: config.mss,
            readable: 0,
            read_at_once: config.read_at_once && !R::KEEPS,
            out_of_order: Vec::new(),
            fin: None,
            partial: (config.reliability < 100)
                .then(|| Box::new(Partial::new(config.reliability, config.reliability_window))),
            delayed: config.delayed_ack,
            waiting: 0,
            last_ack: 0,
            due: AckDue::No,
            reports_sack: config.reports_sack(),
            recent: [0; RECENT],
            repeated: None,
        }
    }

    /// Records the sequence number of the peer's SYN.
    pub(super) fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.next = 1;
        self.last_ack = 1;
        self.edge = (1 + u64::from(self.capacity)).min(self.granted);
    }

    /// The next expected sequence number.
    pub(super) fn acknowledgement(&self) -> Seq {
        self.irs + self.next as u32
    }

    /// The next expected position.
    pub(super) fn next(&self) -> i64 {
        self.next as i64
    }

    /// The right edge of the window.
    pub(super) fn edge(&self) -> i64 {
        (self.edge as i64).max(self.next as i64)
    }

    /// The position of `seq` in the peer's stream: among all positions with this sequence number, the one nearest to
    /// the next expected.
    pub(super) fn position(&self, seq: Seq) -> i64 {
        self.next() + i64::from(self.acknowledgement().distance_to(seq) as i32)
    }

    /// Whether a segment that begins at `seq` begins at or before the last acknowledgement sent.
    pub(super) fn acknowledges_from(&self, seq: Seq) -> bool {
        self.position(seq) <= self.last_ack as i64
    }

    pub(super) fn readable(&self) -> u64 {
        self.readable
    }

    /// The window to offer in a segment that is sent now, in bytes.
    ///
    /// RFC 9293 section 3.8.6.2.2: the edge moves only by a segment or by half of the space, to avoid the silly window
    /// syndrome.
    pub(super) fn offer(&mut self) -> u32 {
        let edge = self.room();
        if edge >= self.edge + u64::from(self.mss.min(self.capacity.div_ceil(2))) {
            self.edge = edge;
        }
        self.offered() as u32
    }

    /// The window that is currently offered, in bytes.
    fn offered(&self) -> u64 {
        self.edge.min(self.granted).saturating_sub(self.next)
    }

    /// The right edge that the free space and the grant permit.
    fn room(&self) -> u64 {
        let edge = self.next + u64::from(self.capacity).saturating_sub(self.readable);
        edge.min(self.granted)
    }

    /// Limits the offered window to `bytes` beyond the data in order; `None` removes the limit. This may shrink the
    /// window, which a receiver should not do and a sender must tolerate (RFC 9293 section 3.8.6); text in flight is
    /// accepted all the same. An acknowledgement is due if the window changes by a segment or by half of the space.
    pub(super) fn grant(&mut self, bytes: Option<u64>) {
        let before = self.offered();
        self.granted = bytes.map_or(u64::MAX, |bytes| self.next.max(1).saturating_add(bytes));
        let moved = self.room().saturating_sub(self.next).abs_diff(before);
        if self.next > 0 && moved >= u64::from(self.mss.min(self.capacity.div_ceil(2))) {
            self.due = AckDue::Now;
        }
    }

    /// The application has read up to `bytes`. An acknowledgement is due if that opens the window by two segments or by
    /// half of the space, or opens a closed window, because the peer may be waiting for it.
    pub(super) fn read(&mut self, bytes: u64) {
        let bytes = bytes.min(self.readable);
        self.readable -= bytes;
        self.buffer.consume(bytes);
        let edge = self.room();
        let offered = self.offered();
        let segments = if offered < u64::from(self.mss) { 1 } else { 2 };
        let step = (segments * self.mss).min(self.capacity.div_ceil(2));
        if bytes > 0 && self.next > 0 && edge >= self.edge + u64::from(step) {
            self.due = AckDue::Now;
        }
    }

    /// An acknowledgement was sent.
    pub(super) fn acknowledged(&mut self) {
        self.waiting = 0;
        self.last_ack = self.next;
        self.due = AckDue::No;
        self.repeated = None;
    }

    /// Whether an acknowledgement that is sent now carries blocks.
    pub(super) fn has_blocks(&self) -> bool {
        self.reports_sack && (!self.out_of_order.is_empty() || self.repeated.is_some())
    }

    /// The SACK blocks of an acknowledgement that is sent now: the repeated range (RFC 2883 section 4), then the ranges
    /// that segments touched last, the most recent first (RFC 2018 section 4). Called only if there are any.
    #[inline(never)]
    pub(super) fn blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let repeated = self.repeated;
        if let Some(range) = repeated {
            blocks.push(self.sequence(range.start), self.sequence(range.end));
            // A repeated range inside an out-of-order range is followed by the latter, so that the peer can distinguish
            // it from new data.
            if let Some(around) = self.range_at(range.start) {
                blocks.push(self.sequence(around.start), self.sequence(around.end));
            }
        }
        for range in self.recent.into_iter().filter_map(|position| self.range_at(position)) {
            if !repeated.is_some_and(|repeated| (range.start..range.end).contains(&repeated.start)) {
                blocks.push(self.sequence(range.start), self.sequence(range.end));
            }
        }
        blocks
    }

    fn sequence(&self, position: u64) -> Seq {
        self.irs + position as u32
    }

    /// The out-of-order range that contains `position`. Positions of ranges are above zero.
    fn range_at(&self, position: u64) -> Option<ByteRange> {
        let index = self.out_of_order.partition_point(|range| range.end <= position);
        self.out_of_order.get(index).filter(|range| range.start <= position).copied()
    }

    /// Records which part of an arriving segment, `len` bytes of payload from `start` on, was received before. Called
    /// before the segment is stored.
    #[inline(never)]
    fn note_repetition(&mut self, start: i64, len: u16) {
        let behind = start + i64::from(len);
        // Data begins at position 1.
        let from = start.max(1) as u64;
        let known = if start < self.next() {
            Some(self.next.min(behind.max(0) as u64))
        } else {
            self.range_at(from).map(|range| range.end.min(behind as u64))
        };
        self.repeated = known.filter(|end| *end > from).map(|end| ByteRange { start: from, end });
    }

    /// Moves the range at `position` to the front of the recently touched ones.
    #[inline(never)]
    fn note_recent(&mut self, position: u64) {
        let Some(range) = self.range_at(position) else { return };
        let others = self.recent.into_iter().filter(|other| !(range.start..range.end).contains(other));
        let mut recent = [0; RECENT];
        for (place, position) in recent.iter_mut().zip(std::iter::once(position).chain(others)) {
            *place = position;
        }
        self.recent = recent;
    }

    /// Records the repetition of a segment that lies wholly below the next expected position.
    pub(super) fn reject(&mut self, start: i64, len: u16) {
        if self.reports_sack && start < self.next() {
            self.note_repetition(start, len);
        }
    }

    /// Takes the text of an acceptable segment. Returns how many bytes became in order before any skipped gap, and
    /// whether the peer's stream became complete up to its FIN.
    pub(super) fn receive(
        &mut self,
        text: Text,
        payload: &R::Payload,
        statistics: &mut Statistics,
    ) -> (u64, bool) {
        if self.partial.is_some() {
            self.receive_partial(text, payload, statistics)
        } else {
            self.receive_text::<false>(text, payload, statistics)
        }
    }

    /// The case with partial reliability, separate so that the common case does not pay for it.
    #[inline(never)]
    fn receive_partial(
        &mut self,
        text: Text,
        payload: &R::Payload,
        statistics: &mut Statistics,
    ) -> (u64, bool) {
        self.receive_text::<true>(text, payload, statistics)
    }

    #[inline(always)]
    fn receive_text<const PARTIAL: bool>(
        &mut self,
        text: Text,
        payload: &R::Payload,
        statistics: &mut Statistics,
    ) -> (u64, bool) {
        let behind = text.start + i64::from(text.len);
        let start = text.start.clamp(self.next(), self.edge()) as u64;
        let end = behind.clamp(start as i64, self.edge()) as u64;
        let late = if PARTIAL { self.take_late(text, payload, statistics) } else { 0 };
        if self.reports_sack && text.len > 0 && late == 0 {
            self.note_repetition(text.start, text.len);
        }
        let ahead = start > self.next;
        let gaps = !self.out_of_order.is_empty();
        if text.fin && behind >= self.next() && behind < self.edge() {
            self.fin = Some(behind as u64);
        }
        let before = self.next;
        let range = ByteRange { start, end };
        let new = if PARTIAL { count_new(&self.out_of_order, range) } else { 0 };
        if end > start && self.queue_range(range) {
            let from = (start as i64 - text.start) as usize;
            self.buffer.store(start - before, payload, from, (end - start) as usize);
            if let Some(partial) = self.partial.as_mut().filter(|_| PARTIAL) {
                partial.reliability.note_arrived(new);
            }
        }
        let delivered = self.next - before;
        if delivered > 0 {
            self.deliver(delivered);
            statistics.bytes_delivered += delivered;
        }
        if PARTIAL {
            statistics.bytes_delivered += self.skip_gaps(statistics);
        }
        let finished = self.fin == Some(self.next);
        if finished {
            self.next += 1;
            self.fin = None;
        }
        if ahead && self.reports_sack {
            self.note_recent(start);
        }
        self.schedule_ack(delivered > 0 && !gaps && !text.fin && text.start >= before as i64);
        (delivered, finished)
    }

    /// Hands the next `bytes` of the stream, which have just become in order, to the application.
    pub(super) fn deliver(&mut self, bytes: u64) {
        self.buffer.advance(bytes);
        if self.read_at_once {
            self.buffer.consume(bytes);
        } else {
            self.readable += bytes;
        }
    }

    /// Decides when to acknowledge. RFC 5681 section 4.2: plain data in order may wait; a segment that lies beyond a
    /// gap, fills one, repeats data or ends the stream is acknowledged at once.
    fn schedule_ack(&mut self, plain: bool) {
        self.waiting += 1;
        let may_wait = plain && self.delayed.is_some_and(|delayed| self.waiting < delayed.every);
        self.due = if may_wait && self.due != AckDue::Now { AckDue::Later } else { AckDue::Now };
    }

    /// Adds a range, and advances the next expected position over everything that is now in order. Returns false if the
    /// range is not kept.
    fn queue_range(&mut self, range: ByteRange) -> bool {
        if range.start == self.next && self.out_of_order.is_empty() {
            self.next = range.end;
            return true;
        }
        let most = if range.start > self.next { OUT_OF_ORDER_MAX } else { usize::MAX };
        if !join(&mut self.out_of_order, range, most) {
            return false;
        }
        if self.out_of_order[0].start == self.next {
            self.next = self.out_of_order.remove(0).end;
        }
        true
    }
}
