//! The receive half: reassembly, acknowledgements, skipping of gaps, and the offered window.
//!
//! Every packet that occupies sequence numbers is acknowledged at once, with the two lowest ranges beyond the gap: the
//! sender infers losses from each acknowledgement. On a hop that has lost nothing for a while one acknowledgement may answer
//! several packets (`ack_every`). It waits for them for a bounded time. A packet that is shorter than others is acknowledged at
//! once, because its sender probably has nothing more to send.
//!
//! Partial reliability is that of [`crate::reliability`]: gaps are acknowledged as far as the application can do
//! without them, and it is notified of each.

use std::collections::VecDeque;

use airwatt_base::Seq;

use super::config::E2tcpConfig;
use super::statistics::Statistics;
use super::wire::{Acknowledgement, Block};
use crate::event::Event;
use crate::reliability::{ByteRange, Reliability};
use crate::tcp::ReceiveBuffer;
use crate::tcp::reassembly::{OUT_OF_ORDER_MAX, Text, count_new, join, store_late};

/// Number of consecutive packets in order after which acknowledgements may wait: more than two of the largest windows of the
/// thesis.
const CALM_AFTER: u32 = 64;

/// The receive half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver<R> {
    pub(super) buffer: R,
    irs: Option<Seq>,
    /// Next expected position; the SYN is position 0.
    next: u64,
    /// Right edge of the window: the position after the last one that was ever offered.
    edge: u64,
    capacity: u64,
    largest_window: u64,
    /// Bytes in order, skipped gaps included, that the application has not read.
    readable: u64,
    read_at_once: bool,
    /// Ranges received out of order, sorted by position, neither overlapping nor adjacent.
    out_of_order: Vec<ByteRange>,
    /// Position of the peer's FIN, once it has arrived.
    fin: Option<u64>,
    finished: bool,
    urgent: u64,
    selective: bool,
    reliability: Reliability,
    /// Whether an acknowledgement is due.
    pub(super) ack_due: bool,
    ack_every: u32,
    /// Packets whose acknowledgement waits for more.
    waiting: u32,
    /// Packets in order since the last one that was not.
    calm: u32,
    /// The window that the peer knows.
    announced: u32,
    /// Whether the window field was ever sent.
    window_sent: bool,
    /// Number of packets that still carry the window field.
    repeat: u8,
    repeats: u8,
}

impl<R: ReceiveBuffer> Receiver<R> {
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
            out_of_order: Vec::new(),
            fin: None,
            finished: false,
            urgent: 0,
            selective: config.selective,
            reliability: Reliability::new(config.reliability, config.reliability_window),
            ack_due: false,
            ack_every: config.ack_every,
            waiting: 0,
            calm: 0,
            announced: config.assumed_window,
            window_sent: false,
            repeat: 0,
            repeats: config.window_repeats,
        }
    }

    /// Records the sequence number of the peer's SYN.
    pub(super) fn synchronize(&mut self, irs: Seq) {
        self.irs = Some(irs);
        self.next = 1;
        self.edge = 1 + self.largest_window;
    }

    /// The share of the data that must arrive becomes another one. Nothing has arrived yet.
    pub(super) fn set_reliability(&mut self, percent: u8, window: Option<u32>) {
        self.reliability = Reliability::new(percent, window);
    }

    /// The sequence number of the peer's SYN; `None` before it arrives.
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

    /// The position of `seq` in the peer's stream: among all positions with this sequence number, the one nearest to
    /// the next expected.
    pub(super) fn position(&self, seq: Seq) -> i64 {
        self.next as i64 + i64::from(self.sequence(self.next).distance_to(seq) as i32)
    }

    /// Whether a packet can belong to this connection: it lies in the window, or not further below it than packets can
    /// still be in flight, or just above it, where a probe lies.
    pub(super) fn is_near(&self, text: &Text) -> bool {
        let reach = self.largest_window.max(u64::from(u16::MAX)) as i64;
        let end = text.start + i64::from(text.len);
        end >= self.next as i64 - reach && text.start <= self.edge as i64 + reach
    }

    /// The acknowledgement of everything that has arrived.
    pub(super) fn acknowledgement(&self) -> Acknowledgement {
        let mut ack = Acknowledgement::plain(self.sequence(self.next) - 1);
        if self.selective {
            for (block, range) in ack.blocks.iter_mut().zip(&self.out_of_order) {
                *block =
                    Some(Block { first: self.sequence(range.start), last: self.sequence(range.end - 1) });
            }
        }
        ack
    }

    // The window.

    /// The window field of a packet that is sent now; `None` if the packet carries none.
    pub(super) fn window_field(&mut self) -> Option<u16> {
        let window = self.offer();
        if window != self.announced {
            self.announced = window;
            self.window_sent = true;
            self.repeat = self.repeats;
        }
        let field = (self.repeat > 0).then(|| window.min(u32::from(u16::MAX)) as u16);
        self.repeat = self.repeat.saturating_sub(1);
        field
    }

    /// The current window in bytes. Below the maximum, its right edge moves up by a sufficient step or not at all, to
    /// avoid the silly window syndrome (RFC 9293 section 3.8.6.2.2). It never moves down.
    fn offer(&mut self) -> u32 {
        let room = self.room();
        let edge = self.next + room;
        if room == self.largest_window || edge >= self.edge + self.reliability.step().min(self.capacity / 2) {
            self.edge = self.edge.max(edge);
        }
        self.edge.saturating_sub(self.next) as u32
    }

    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.readable).min(self.largest_window)
    }

    /// The application has read up to `bytes`. The peer is notified if that opens the window by two packets or by half
    /// of it, or opens a window that had no room for a packet.
    pub(super) fn read(&mut self, bytes: u64) {
        let bytes = bytes.min(self.readable);
        self.readable -= bytes;
        self.buffer.consume(bytes);
        let offered = self.edge.saturating_sub(self.next);
        let step = self.reliability.step();
        let packets = if offered < step { 1 } else { u64::from(self.answered_by_one().max(2)) };
        let good = (packets * step).min(self.largest_window.div_ceil(2));
        if bytes > 0 && self.irs.is_some() && self.room() >= offered + good {
            self.ack_due = true;
        }
    }

    /// Repeats the window field, because the peer does not seem to know the window. Does nothing if it was never sent.
    fn remind(&mut self) {
        if self.window_sent {
            self.repeat = self.repeats;
        }
    }

    // Packets.

    /// Takes the text of a packet. Appends notifications for the application to `events`, in the order of the stream.
    pub(super) fn receive(
        &mut self,
        text: Text,
        payload: &R::Payload,
        events: &mut VecDeque<Event>,
        statistics: &mut Statistics,
    ) {
        let is_in_order = !text.fin && text.start == self.next as i64 && self.out_of_order.is_empty();
        let new = if text.fin {
            u64::from(self.take_fin(text.start))
        } else {
            self.reliability.note_packet(text.len);
            let late = self.take_late(text, payload, events, statistics);
            let ahead = self.take_ahead(text, payload);
            self.reliability.note_arrived(ahead);
            late + ahead
        };
        if new == 0 {
            self.remind();
        }
        self.advance(events, statistics);
        self.forget_old_gaps();
        self.calm = if is_in_order && new > 0 { self.calm.saturating_add(1) } else { 0 };
        let is_full = u64::from(text.len) >= self.reliability.step();
        self.waiting += 1;
        self.ack_due |= !is_full || self.waiting >= self.answered_by_one();
    }

    /// Packets that one acknowledgement may answer now.
    fn answered_by_one(&self) -> u32 {
        if self.calm > CALM_AFTER { self.ack_every } else { 1 }
    }

    /// Whether packets have come whose acknowledgement is not due yet.
    pub(super) fn ack_waits(&self) -> bool {
        self.waiting > 0 && !self.ack_due
    }

    /// Everything that has come is being acknowledged.
    pub(super) fn note_acknowledged(&mut self) {
        self.ack_due = false;
        self.waiting = 0;
    }

    /// Takes the FIN. Returns whether it is new and in the window.
    fn take_fin(&mut self, at: i64) -> bool {
        let reaches = self.out_of_order.last().map_or(self.next, |range| range.end.max(self.next));
        if self.fin.is_none() && !self.finished && at >= reaches as i64 && at <= self.edge as i64 {
            let at = at as u64;
            if at == self.next || self.queue_range(ByteRange { start: at, end: at + 1 }) {
                self.fin = Some(at);
                return true;
            }
        }
        false
    }

    /// Takes the data at or above the next expected position. Returns how many bytes of it are new.
    fn take_ahead(&mut self, text: Text, payload: &R::Payload) -> u64 {
        let last = self.fin.unwrap_or(self.edge).min(self.edge).max(self.next) as i64;
        let start = text.start.max(self.next as i64);
        let end = (text.start + i64::from(text.len)).min(last);
        if self.finished || end <= start {
            return 0;
        }
        let range = ByteRange { start: start as u64, end: end as u64 };
        let new = count_new(&self.out_of_order, range);
        if new == 0 || !self.queue_range(range) {
            return 0;
        }
        let from = (start - text.start) as usize;
        self.buffer.store(range.start - self.next, payload, from, range.len() as usize);
        new
    }

    /// Takes bytes that were skipped before and arrive now. Returns their number.
    fn take_late(
        &mut self,
        text: Text,
        payload: &R::Payload,
        events: &mut VecDeque<Event>,
        statistics: &mut Statistics,
    ) -> u64 {
        // The FIN has a position, but no byte in the buffer.
        let places = [self.next, self.next - u64::from(self.finished)];
        let halves = (&mut self.reliability, &mut self.buffer);
        let arrived = store_late(halves, text, payload, places, |event| events.push_back(event));
        statistics.bytes_skipped -= arrived;
        arrived
    }

    /// Adds a range. Returns false if there is no room for it.
    fn queue_range(&mut self, range: ByteRange) -> bool {
        let most = if range.start > self.next { OUT_OF_ORDER_MAX } else { usize::MAX };
        join(&mut self.out_of_order, range, most)
    }

    /// Advances the next expected position over everything that is in order, and over gaps as far as the reliability
    /// permits.
    fn advance(&mut self, events: &mut VecDeque<Event>, statistics: &mut Statistics) {
        if self.fin == Some(self.next) && self.out_of_order.is_empty() {
            self.finish();
        }
        while let Some(range) = self.out_of_order.first().copied() {
            if range.start > self.next {
                self.skip(range.start, events, statistics);
            }
            if range.start > self.next {
                return;
            }
            self.out_of_order.remove(0);
            let end = self.fin.filter(|fin| *fin < range.end).unwrap_or(range.end);
            let bytes = end - self.next;
            if bytes > 0 {
                self.deliver_bytes(bytes);
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
        self.out_of_order.clear();
    }

    /// Hands the next `bytes` to the application.
    fn deliver_bytes(&mut self, bytes: u64) {
        self.next += bytes;
        self.buffer.advance(bytes);
        if self.read_at_once {
            self.buffer.consume(bytes);
        } else {
            self.readable += bytes;
        }
    }

    /// Acknowledges past the gap before `until`, as far as the reliability permits.
    fn skip(&mut self, until: u64, events: &mut VecDeque<Event>, statistics: &mut Statistics) {
        let bytes = self.reliability.skip(self.next, until);
        if bytes == 0 {
            return;
        }
        // Positions count from the SYN; the application counts from the first byte of data.
        events.push_back(Event::Gap { at: self.next - 1, bytes });
        statistics.bytes_skipped += bytes;
        self.deliver_bytes(bytes);
    }

    /// Discards gaps more than a window below, which packets in flight can no longer fill.
    fn forget_old_gaps(&mut self) {
        self.reliability.forget_gaps(self.next.saturating_sub(self.largest_window));
    }

    /// Records that the peer's urgent data ends before `position`. Returns the position if it is new.
    pub(super) fn note_urgent(&mut self, position: i64) -> Option<u64> {
        let behind = u64::try_from(position).ok()?;
        if behind <= self.urgent.max(self.next) || self.finished {
            return None;
        }
        self.urgent = behind;
        Some(behind - 1)
    }
}

/// Adds bytes to the last delivery event, or appends one.
fn deliver(events: &mut VecDeque<Event>, more: u64) {
    if let Some(Event::Delivered { bytes }) = events.back_mut() {
        *bytes += more;
    } else {
        events.push_back(Event::Delivered { bytes: more });
    }
}
