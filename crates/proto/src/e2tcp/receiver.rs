//! The receive half: reassembly, what to acknowledge, which gaps to let be, and the offered window.
//!
//! Every packet that takes sequence numbers is acknowledged at once, with the two lowest runs behind the gap: the sender
//! infers losses from each acknowledgement, so that none may be saved.
//!
//! **Partial reliability.** An application that can do without some bytes says how many per cent it must have. Where a gap
//! opens, the receiver acknowledges past it as long as the share of bytes that arrived, over the life of the connection,
//! does not fall below that: what is acknowledged is never sent again. The application is told of each gap. A skipped byte
//! that arrives all the same, because it was on its way, is handed over late and counts as arrived.
//!
//! The thesis counts packets; a byte stream has to guess where packets begin. The receiver skips in steps of the largest
//! payload that it has seen, so that with packets of one size it never acknowledges half of one, and decides as the
//! thesis' rule in packets does.

use std::collections::VecDeque;

use airwatt_base::Seq;

use super::buffer::GapBuffer;
use super::config::E2tcpConfig;
use super::connection::Event;
use super::statistics::Statistics;
use super::wire::{Acknowledgement, Block};

/// Pieces behind gaps, and skipped pieces, that are remembered at most, so that a hostile peer cannot make the lists long. A
/// packet that would make one piece more is dropped like a lost one.
const PIECES_MAX: usize = 2048;

/// A packet's text, by positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    /// Position of the first byte, or of the FIN; below what is expected where it repeats.
    pub(super) start: i64,
    pub(super) len: u16,
    pub(super) fin: bool,
}

/// A range of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
}

/// The receive half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver<R> {
    pub(super) buffer: R,
    irs: Option<Seq>,
    /// Next position expected; the SYN is position 0.
    next: u64,
    /// Behind the last position that was ever offered.
    edge: u64,
    capacity: u64,
    largest_window: u64,
    /// Bytes in order, gaps among them, that the application has not read.
    readable: u64,
    read_at_once: bool,
    /// What arrived ahead of a gap, in order of position, without overlap or touch.
    pieces: Vec<Piece>,
    /// What was skipped and may still arrive, in order of position.
    skipped_pieces: Vec<Piece>,
    /// Position of the peer's FIN, once it has arrived.
    fin: Option<u64>,
    finished: bool,
    urgent: u64,
    selective: bool,
    reliability: u64,
    /// Bytes that arrived, each counted once, and bytes skipped that have not arrived.
    received: u64,
    skipped: u64,
    /// The largest payload so far: the step in which gaps are skipped.
    step: u64,
    /// An acknowledgement is due.
    pub(super) ack_due: bool,
    /// The window that the peer knows of, and how many packets are still to carry the field.
    announced: u32,
    /// The field was sent at all.
    told: bool,
    repeat: u8,
    repeats: u8,
}

impl<R: GapBuffer> Receiver<R> {
    pub(super) fn new(config: &E2tcpConfig) -> Self {
        Self {
            buffer: R::default(),
            irs: None,
            next: 0,
            edge: 0,
            capacity: u64::from(config.receive_buffer),
            largest_window: u64::from(config.receive_window),
            readable: 0,
            read_at_once: config.read_at_once && !R::KEEPS,
            pieces: Vec::new(),
            skipped_pieces: Vec::new(),
            fin: None,
            finished: false,
            urgent: 0,
            selective: config.selective,
            reliability: u64::from(config.reliability),
            received: 0,
            skipped: 0,
            step: 1,
            ack_due: false,
            announced: config.assumed_window,
            told: false,
            repeat: 0,
            repeats: config.window_repeats,
        }
    }

    /// The peer's SYN has this sequence number.
    pub(super) fn synchronize(&mut self, irs: Seq) {
        self.irs = Some(irs);
        self.next = 1;
        self.edge = 1 + self.largest_window;
    }

    /// The sequence number of the peer's SYN, once it is known.
    pub(super) fn initial_sequence(&self) -> Option<Seq> {
        self.irs
    }

    pub(super) fn readable(&self) -> u64 {
        self.readable
    }

    /// Whether the peer's stream is complete up to its FIN.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    fn sequence(&self, position: u64) -> Seq {
        self.irs.unwrap_or_default() + position as u32
    }

    /// Where `seq` lies in the peer's stream: of all positions that it may mean, the one nearest to what is expected.
    pub(super) fn position(&self, seq: Seq) -> i64 {
        self.next as i64 + i64::from(self.sequence(self.next).distance_to(seq) as i32)
    }

    /// Whether a packet can be of this connection: it lies in the window, or not further below it than packets are still on
    /// their way, or close above it, where a probe goes.
    pub(super) fn is_near(&self, text: &Text) -> bool {
        let reach = self.largest_window.max(u64::from(u16::MAX)) as i64;
        let end = text.start + i64::from(text.len);
        end >= self.next as i64 - reach && text.start <= self.edge as i64 + reach
    }

    /// What has arrived.
    pub(super) fn acknowledgement(&self) -> Acknowledgement {
        let mut ack = Acknowledgement::plain(self.sequence(self.next) - 1);
        if self.selective {
            for (block, piece) in ack.blocks.iter_mut().zip(&self.pieces) {
                *block =
                    Some(Block { first: self.sequence(piece.start), last: self.sequence(piece.end - 1) });
            }
        }
        ack
    }

    // The window.

    /// The window field of a packet that leaves now, if it is to have one.
    pub(super) fn window_field(&mut self) -> Option<u16> {
        let window = self.offer();
        if window != self.announced {
            self.announced = window;
            self.told = true;
            self.repeat = self.repeats;
        }
        let field = (self.repeat > 0).then(|| window.min(u32::from(u16::MAX)) as u16);
        self.repeat = self.repeat.saturating_sub(1);
        field
    }

    /// The window as it stands. Below the largest, its edge moves up by a good step or not at all, so that the window does
    /// not become silly (RFC 9293 section 3.8.6.2.2); it never moves down.
    fn offer(&mut self) -> u32 {
        let room = self.room();
        let edge = self.next + room;
        if room == self.largest_window || edge >= self.edge + self.step.min(self.capacity / 2) {
            self.edge = self.edge.max(edge);
        }
        self.edge.saturating_sub(self.next) as u32
    }

    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.readable).min(self.largest_window)
    }

    /// The application has read up to `bytes`. The peer is told if that opens the window by two packets, or by half of it,
    /// or opens one that had no room for a packet.
    pub(super) fn read(&mut self, bytes: u64) {
        let bytes = bytes.min(self.readable);
        self.readable -= bytes;
        self.buffer.consume(bytes);
        let offered = self.edge.saturating_sub(self.next);
        let packets = if offered < self.step { 1 } else { 2 };
        let good = (packets * self.step).min(self.largest_window.div_ceil(2));
        if bytes > 0 && self.irs.is_some() && self.room() >= offered + good {
            self.ack_due = true;
        }
    }

    /// The peer does not seem to know the window, if it was ever told one.
    fn remind(&mut self) {
        if self.told {
            self.repeat = self.repeats;
        }
    }

    // Packets.

    /// Takes the text of a packet. What the application is to know goes to `events`, in order of the stream.
    pub(super) fn receive(
        &mut self,
        text: Text,
        payload: &R::Payload,
        events: &mut VecDeque<Event>,
        statistics: &mut Statistics,
    ) {
        self.ack_due = true;
        let new;
        if text.fin {
            new = u64::from(self.take_fin(text.start));
        } else {
            self.step = self.step.max(u64::from(text.len));
            new = self.take_late(text, payload, events, statistics) + self.take_ahead(text, payload);
            self.received += new;
            statistics.useless_packets_received += u64::from(new == 0);
            statistics.packets_out_of_order += u64::from(text.start > self.next as i64);
        }
        if new == 0 {
            self.remind();
        }
        self.advance(events, statistics);
        self.forget_old_gaps();
    }

    /// Takes the FIN. Whether it is new and in the window.
    fn take_fin(&mut self, at: i64) -> bool {
        let reaches = self.pieces.last().map_or(self.next, |piece| piece.end.max(self.next));
        if self.fin.is_none() && !self.finished && at >= reaches as i64 && at <= self.edge as i64 {
            let at = at as u64;
            if at == self.next || self.keep(Piece { start: at, end: at + 1 }) {
                self.fin = Some(at);
                return true;
            }
        }
        false
    }

    /// Takes what lies at or above the next position expected. Returns how many bytes of it are new.
    fn take_ahead(&mut self, text: Text, payload: &R::Payload) -> u64 {
        let last = self.fin.unwrap_or(self.edge).min(self.edge).max(self.next) as i64;
        let start = text.start.max(self.next as i64);
        let end = (text.start + i64::from(text.len)).min(last);
        if self.finished || end <= start {
            return 0;
        }
        let piece = Piece { start: start as u64, end: end as u64 };
        let known: u64 = self
            .pieces
            .iter()
            .map(|other| other.end.min(piece.end).saturating_sub(other.start.max(piece.start)))
            .sum();
        let len = piece.end - piece.start;
        if known == len || !self.keep(piece) {
            return 0;
        }
        let from = (start - text.start) as usize;
        self.buffer.store(piece.start - self.next, payload, from, len as usize);
        len - known
    }

    /// Takes what was skipped before and arrives now. Returns how many bytes.
    fn take_late(
        &mut self,
        text: Text,
        payload: &R::Payload,
        events: &mut VecDeque<Event>,
        statistics: &mut Statistics,
    ) -> u64 {
        let end = text.start + i64::from(text.len);
        if self.skipped_pieces.is_empty() || text.start >= self.next as i64 || end <= 0 {
            return 0;
        }
        let (start, end) = (text.start.max(0) as u64, end as u64);
        // The FIN is a position, but no byte of the buffer.
        let data_end = self.next - u64::from(self.finished);
        let mut arrived = 0;
        let mut left = Vec::with_capacity(self.skipped_pieces.len() + 1);
        for gap in std::mem::take(&mut self.skipped_pieces) {
            let (from, to) = (gap.start.max(start), gap.end.min(end));
            if from >= to {
                left.push(gap);
                continue;
            }
            let len = to - from;
            let at = (from as i64 - text.start) as usize;
            self.buffer.store_late(from - 1, data_end - from, payload, at, len as usize);
            events.push_back(Event::Late { at: from - 1, bytes: len });
            arrived += len;
            left.extend(
                [Piece { start: gap.start, end: from }, Piece { start: to, end: gap.end }]
                    .into_iter()
                    .filter(|piece| piece.end > piece.start),
            );
        }
        self.skipped_pieces = left;
        self.skipped -= arrived;
        statistics.bytes_late += arrived;
        statistics.bytes_skipped -= arrived;
        arrived
    }

    /// Books a piece. False if there is no place for it.
    fn keep(&mut self, piece: Piece) -> bool {
        let first = self.pieces.partition_point(|other| other.end < piece.start);
        let behind = self.pieces.partition_point(|other| other.start <= piece.end);
        if first < behind {
            let merged = Piece {
                start: piece.start.min(self.pieces[first].start),
                end: piece.end.max(self.pieces[behind - 1].end),
            };
            self.pieces[first] = merged;
            self.pieces.drain(first + 1..behind);
            return true;
        }
        if self.pieces.len() >= PIECES_MAX && piece.start > self.next {
            return false;
        }
        self.pieces.insert(first, piece);
        true
    }

    /// Moves what is expected over everything that is in order, and over gaps as far as the reliability allows.
    fn advance(&mut self, events: &mut VecDeque<Event>, statistics: &mut Statistics) {
        if self.fin == Some(self.next) && self.pieces.is_empty() {
            self.finish();
        }
        while let Some(piece) = self.pieces.first().copied() {
            if piece.start > self.next {
                self.skip(piece.start, events, statistics);
            }
            if piece.start > self.next {
                return;
            }
            self.pieces.remove(0);
            let end = self.fin.filter(|fin| *fin < piece.end).unwrap_or(piece.end);
            let bytes = end - self.next;
            if bytes > 0 {
                self.pass(bytes);
                statistics.bytes_delivered += bytes;
                deliver(events, bytes);
            }
            if self.fin == Some(self.next) {
                self.finish();
            }
        }
    }

    fn finish(&mut self) {
        self.next += 1;
        self.finished = true;
        self.fin = None;
        self.pieces.clear();
    }

    /// The next `bytes` are the application's.
    fn pass(&mut self, bytes: u64) {
        self.next += bytes;
        self.buffer.advance(bytes);
        if self.read_at_once {
            self.buffer.consume(bytes);
        } else {
            self.readable += bytes;
        }
    }

    /// Acknowledges past the gap before `until`, as far as the reliability allows.
    fn skip(&mut self, until: u64, events: &mut VecDeque<Event>, statistics: &mut Statistics) {
        let gap = until - self.next;
        let spare = self.spare();
        let bytes = if gap <= spare { gap } else { spare / self.step * self.step };
        if bytes == 0 {
            return;
        }
        // Positions count from the SYN; the application counts from its first byte.
        events.push_back(Event::Gap { at: self.next - 1, bytes });
        self.skipped_pieces.push(Piece { start: self.next, end: self.next + bytes });
        self.skipped += bytes;
        statistics.bytes_skipped += bytes;
        self.pass(bytes);
    }

    /// Bytes that may still be skipped, so that received / (received + skipped) does not fall below the reliability.
    fn spare(&self) -> u64 {
        if self.reliability == 0 {
            return u64::MAX;
        }
        (self.received.saturating_mul(100) / self.reliability).saturating_sub(self.received + self.skipped)
    }

    /// Nothing on its way can still fill a gap that lies a window back.
    fn forget_old_gaps(&mut self) {
        let oldest = self.next.saturating_sub(self.largest_window);
        let old = self.skipped_pieces.partition_point(|piece| piece.end <= oldest);
        let many = self.skipped_pieces.len().saturating_sub(PIECES_MAX);
        self.skipped_pieces.drain(..old.max(many));
    }

    /// The peer's urgent data ends before `position`. Whether that is news.
    pub(super) fn note_urgent(&mut self, position: i64) -> Option<u64> {
        let behind = u64::try_from(position).ok()?;
        if behind <= self.urgent.max(self.next) || self.finished {
            return None;
        }
        self.urgent = behind;
        Some(behind - 1)
    }
}

/// Adds to a delivery that was just noted, or notes one.
fn deliver(events: &mut VecDeque<Event>, more: u64) {
    if let Some(Event::Delivered { bytes }) = events.back_mut() {
        *bytes += more;
    } else {
        events.push_back(Event::Delivered { bytes: more });
    }
}
