//! The receive half: reassembly, the offered window, and when to acknowledge.

use airwatt_base::Seq;

use super::buffer::ReceiveBuffer;
use super::config::{DelayedAck, TcpConfig};
use super::partial::Partial;
use super::sack::SackBlocks;
use super::statistics::Statistics;
use crate::reliability::ByteRange;

/// Pieces of data behind gaps that are kept at most. A segment that would make one more is dropped like a lost one, so that
/// a hostile peer cannot make the list long; a window of 5.8 MB with every second segment lost needs as many.
const OUT_OF_ORDER_MAX: usize = 2048;

/// Pieces whose order is remembered: twice what an acknowledgement can tell, so that there is something left to tell when
/// some have joined.
const RECENT: usize = 6;

/// Whether, and how soon, an acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckDue {
    No,
    /// Within the delayed-ACK timeout.
    Later,
    Now,
}

/// A segment's text, by positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    /// Position of the first byte; negative or below what is expected where it repeats.
    pub(super) start: i64,
    pub(super) len: u16,
    pub(super) fin: bool,
}

/// The receive half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver<R> {
    pub(super) buffer: R,
    irs: Seq,
    /// Next position expected; the SYN is position 0.
    pub(super) next: u64,
    /// Behind the last position that was ever offered, up to which text is taken. It never moves back: room never shrinks
    /// (RFC 9293 section 3.8.6).
    edge: u64,
    pub(super) capacity: u32,
    /// Behind the last position that may be offered, by a grant, which may take back; `u64::MAX` without one.
    granted: u64,
    mss: u32,
    /// Bytes in order that the application has not read.
    readable: u64,
    read_at_once: bool,
    /// What arrived behind gaps, in order of position, without overlap or note_recent.
    pub(super) out_of_order: Vec<ByteRange>,
    /// Position of the peer's FIN, once it is known.
    pub(super) fin: Option<u64>,
    /// What it takes to let gaps be; none where every byte has to arrive, so that this costs nothing there.
    pub(super) partial: Option<Box<Partial>>,
    delayed: Option<DelayedAck>,
    /// Segments received since the last acknowledgement.
    waiting: u32,
    pub(super) due: AckDue,
    /// Whether gaps and repetitions are told.
    reports_sack: bool,
    /// A position in each piece that a segment touched lately, the latest first (RFC 2018 section 4).
    recent: [u64; RECENT],
    /// What the last segment brought a second time (RFC 2883).
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
            partial: (config.reliability < 100).then(|| Box::new(Partial::new(config.reliability))),
            delayed: config.delayed_ack,
            waiting: 0,
            due: AckDue::No,
            reports_sack: config.reports_sack(),
            recent: [0; RECENT],
            repeated: None,
        }
    }

    /// The peer's SYN has this sequence number.
    pub(super) fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.next = 1;
        self.edge = (1 + u64::from(self.capacity)).min(self.granted);
    }

    /// The next sequence number expected.
    pub(super) fn acknowledgement(&self) -> Seq {
        self.irs + self.next as u32
    }

    /// The next position expected.
    pub(super) fn next(&self) -> i64 {
        self.next as i64
    }

    /// Behind the last position that was offered.
    pub(super) fn edge(&self) -> i64 {
        (self.edge as i64).max(self.next as i64)
    }

    /// Where `seq` lies in the peer's stream: of all positions that it may mean, the one nearest to what is expected.
    pub(super) fn position(&self, seq: Seq) -> i64 {
        self.next() + i64::from(self.acknowledgement().distance_to(seq) as i32)
    }

    pub(super) fn readable(&self) -> u64 {
        self.readable
    }

    /// The window to offer in a segment that leaves now, in bytes.
    ///
    /// RFC 9293 section 3.8.6.2.2: the edge moves only by a segment, or by half of the space, so that the window does not
    /// become silly.
    pub(super) fn offer(&mut self) -> u32 {
        let edge = self.room();
        if edge >= self.edge + u64::from(self.mss.min(self.capacity.div_ceil(2))) {
            self.edge = edge;
        }
        self.offered() as u32
    }

    /// What was offered last and stands.
    fn offered(&self) -> u64 {
        self.edge.min(self.granted).saturating_sub(self.next)
    }

    /// Behind the last position that there is room for, and leave to offer.
    fn room(&self) -> u64 {
        let edge = self.next + u64::from(self.capacity).saturating_sub(self.readable);
        edge.min(self.granted)
    }

    /// From now on the peer may be offered so many bytes beyond what is in order, or what there is room for. What was
    /// offered beyond is taken back, which a receiver should not do and a sender has to bear (RFC 9293 section 3.8.6):
    /// text that is on its way is taken all the same. An acknowledgement is due if that moves the window by much.
    pub(super) fn grant(&mut self, bytes: Option<u64>) {
        let before = self.offered();
        self.granted = bytes.map_or(u64::MAX, |bytes| self.next.max(1).saturating_add(bytes));
        let moved = self.room().saturating_sub(self.next).abs_diff(before);
        if self.next > 0 && moved >= u64::from(self.mss.min(self.capacity.div_ceil(2))) {
            self.due = AckDue::Now;
        }
    }

    /// The application has read up to `bytes`. An acknowledgement is due if that opens the window by two segments, or by
    /// half of the space, or opens a closed one: the peer may be waiting for it.
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

    /// An acknowledgement has left.
    pub(super) fn acknowledged(&mut self) {
        self.waiting = 0;
        self.due = AckDue::No;
        self.repeated = None;
    }

    /// Whether an acknowledgement that leaves now has blocks to carry.
    pub(super) fn has_blocks(&self) -> bool {
        self.reports_sack && (!self.out_of_order.is_empty() || self.repeated.is_some())
    }

    /// The blocks of an acknowledgement that leaves now: what was repeated (RFC 2883 section 4), then the pieces that
    /// segments touched last, the latest first (RFC 2018 section 4). To be asked where there are any.
    #[inline(never)]
    pub(super) fn blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let repeated = self.repeated;
        if let Some(range) = repeated {
            blocks.push(self.sequence(range.start), self.sequence(range.end));
            // A repetition inside a piece is followed by that piece, so that the peer can tell it from new data.
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

    /// The piece that holds `position`. Positions of pieces are above zero.
    fn range_at(&self, position: u64) -> Option<ByteRange> {
        let index = self.out_of_order.partition_point(|range| range.end <= position);
        self.out_of_order.get(index).filter(|range| range.start <= position).copied()
    }

    /// A segment with `len` bytes of payload from `start` on has arrived, and is not stored yet: notes what of it is here
    /// already.
    #[inline(never)]
    fn note_repetition(&mut self, start: i64, len: u16) {
        let behind = start + i64::from(len);
        // Nothing of a position below one was ever sent.
        let from = start.max(1) as u64;
        let known = if start < self.next() {
            Some(self.next.min(behind.max(0) as u64))
        } else {
            self.range_at(from).map(|range| range.end.min(behind as u64))
        };
        self.repeated = known.filter(|end| *end > from).map(|end| ByteRange { start: from, end });
    }

    /// The piece at `position` is now the one that a segment touched last.
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

    /// A segment lies wholly before what is expected, and repeats what has arrived.
    pub(super) fn reject(&mut self, start: i64, len: u16) {
        if self.reports_sack && start < self.next() {
            self.note_repetition(start, len);
        }
    }

    /// Takes the text of an acceptable segment. Returns how many bytes became in order before any gap that is let be, and
    /// whether the peer's stream is now complete up to its FIN and was not before.
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

    /// Apart from the common case, so that this does not pay for it.
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
        if text.len > 0 && end == start && late == 0 {
            statistics.useless_segments_received += 1;
        }
        let before = self.next;
        let range = ByteRange { start, end };
        let new = if PARTIAL { self.count_new(range) } else { 0 };
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
        statistics.segments_out_of_order += u64::from(ahead && text.len > 0);
        self.schedule_ack(delivered > 0 && !gaps && !text.fin && text.start >= before as i64);
        (delivered, finished)
    }

    /// The next `bytes` of the stream, which were just moved over, are the application's.
    pub(super) fn deliver(&mut self, bytes: u64) {
        self.buffer.advance(bytes);
        if self.read_at_once {
            self.buffer.consume(bytes);
        } else {
            self.readable += bytes;
        }
    }

    /// RFC 5681 section 4.2: plain data in order may wait; anything that is ahead of a gap, fills one, repeats, or ends the
    /// stream is acknowledged at once.
    fn schedule_ack(&mut self, plain: bool) {
        self.waiting += 1;
        let may_wait = plain && self.delayed.is_some_and(|delayed| self.waiting < delayed.every);
        self.due = if may_wait && self.due != AckDue::Now { AckDue::Later } else { AckDue::Now };
    }

    /// Books a piece, and moves what is expected over everything that is now in order. False if it is not kept.
    fn queue_range(&mut self, range: ByteRange) -> bool {
        if range.start == self.next && self.out_of_order.is_empty() {
            self.next = range.end;
            return true;
        }
        let first = self.out_of_order.partition_point(|other| other.end < range.start);
        let behind = self.out_of_order.partition_point(|other| other.start <= range.end);
        if first == behind {
            if self.out_of_order.len() >= OUT_OF_ORDER_MAX && range.start > self.next {
                return false;
            }
            self.out_of_order.insert(first, range);
        } else {
            let merged = ByteRange {
                start: range.start.min(self.out_of_order[first].start),
                end: range.end.max(self.out_of_order[behind - 1].end),
            };
            self.out_of_order[first] = merged;
            self.out_of_order.drain(first + 1..behind);
        }
        if self.out_of_order[0].start == self.next {
            self.next = self.out_of_order.remove(0).end;
        }
        true
    }
}
