//! The send half: transmission and retransmission of packets, and their timers.
//!
//! A packet keeps its boundaries when it is retransmitted, so that the blocks of an acknowledgement can be compared
//! with a list of packets. Losses are detected in three ways. By blocks: packets arrive over one hop in the order of
//! transmission, so a packet that is not reported, lies below a reported one and was sent before it is lost, and is
//! retransmitted at once. By the transmission timer, for packets sent for the first time: each of them restarts it. By
//! the retransmission timer, for retransmitted packets: each of those restarts it. There are two timers because with
//! one that every packet restarts, new packets would hide the loss of an old one.
//!
//! [`super::window`] limits the number of packets in flight; the receiver's window field limits the number of bytes.
//!
//! Each packet records the ordinal of its last transmission. If a packet was sent more than once, only the last
//! transmission is known: after a timeout caused by a burst of lost acknowledgements, a report may therefore be
//! attributed to a later transmission, at the cost of an unnecessary packet. What a timeout costs that only came too early
//! is kept small by [`doubt`].

mod doubt;
mod payload;

use std::collections::VecDeque;

use airwatt_base::{Instant, Seq, Span};

use self::doubt::Doubt;
use self::payload::PayloadSearch;
use super::config::{Counted, DuplicateAck, E2tcpConfig};
use super::hop::HopEstimate;
use super::rtt::RttEstimator;
use super::statistics::Statistics;
use super::timer::{E2tcpTimer, Timers};
use super::window::{Report, SendWindow};
use super::wire::{Acknowledgement, ControlFlags};
use crate::tcp::SendBuffer;

/// Position of the first byte of data: the SYN is position 0.
const FIRST: u64 = 1;

/// Least number of probes, approximately, that a silent peer gets before the connection is aborted.
const PROBES_MIN: u64 = 16;

/// Longest time after which a window that has just closed is probed for the first time, where a timeout is shorter: the least
/// timeout of Linux' TCP, which waits as long.
const FIRST_PROBE_MAX: Span = Span::from_millis(200);

/// The state of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    /// In flight, sent for the first time or again after the transmission timer expired.
    Sent,
    /// In flight, retransmitted after it was found lost.
    Retransmitted,
    /// To be sent again, after the transmission timer expired.
    TimedOut,
    /// To be retransmitted, because it was found lost.
    Lost,
    /// Reported as received.
    Reported,
}

/// A packet that was sent and is not yet cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Position of its first byte, and position after its last.
    start: u64,
    end: u64,
    control: ControlFlags,
    state: PacketState,
    /// Ordinal of its last transmission; 0 if only a probe of a closed window has carried its first byte.
    order: u64,
    /// Time of its first transmission.
    sent: Instant,
    /// Whether it is sent at once, whatever else is in flight.
    at_once: bool,
    /// Whether it was sent more than once, so that an acknowledgement does not say which transmission has arrived.
    repeated: bool,
}

impl Record {
    fn payload(&self) -> u16 {
        if self.control == ControlFlags::NONE { (self.end - self.start) as u16 } else { 0 }
    }
}

/// A packet that the send half releases for transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// Sequence number of the last byte.
    pub(super) seq: Seq,
    pub(super) len: u16,
    pub(super) control: ControlFlags,
    pub(super) urgent: Option<u16>,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Whether everything written became acknowledged.
    pub(super) all_acknowledged: bool,
}

/// The packet whose round-trip time is measured.
#[derive(Clone, Copy, Debug)]
struct Sample {
    order: u64,
    sent: Instant,
    /// Number of packets that had arrived when it was sent.
    arrived: u64,
}

/// The send half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender<S> {
    pub(super) buffer: S,
    pub(super) window: SendWindow,
    pub(super) rtt: RttEstimator,
    iss: Seq,
    payload: u64,
    searches_payload: bool,
    search: PayloadSearch,
    undoes_timeouts: bool,
    doubt: Option<Doubt>,
    counted: Counted,
    infer_relost: bool,
    /// What an acknowledgement that repeats its number means; blocks make it superfluous.
    duplicate_ack: DuplicateAck,
    /// Up to this position duplicate acknowledgements mean nothing (RFC 6582's `recover`).
    recover: u64,
    /// Position after everything that had been sent when a duplicate acknowledgement showed one packet to be lost.
    repairing: Option<u64>,
    back_off: bool,
    give_up_after: Span,

    /// First position that is not acknowledged.
    una: u64,
    /// Position after the highest one that was ever sent.
    nxt: u64,
    /// Position after the last byte written.
    end: u64,
    /// Position of the first byte in the buffer.
    held: u64,
    /// Position after the last urgent byte.
    urgent: Option<u64>,
    /// Whether the SYN is to be sent.
    opening: bool,
    /// Whether a FIN follows the last byte.
    closing: bool,
    /// Window that the peer offers beyond the acknowledgement, in bytes.
    offered: u32,

    /// Packets sent and not cumulatively acknowledged, sorted by position.
    records: VecDeque<Record>,
    /// Number of packets in each [`PacketState`].
    counts: [u32; 5],
    /// Number of transmissions so far.
    order: u64,
    sample: Option<Sample>,
    /// Number of packets that were reported as received.
    arrived: u64,
    hop: HopEstimate,
    /// Whether an acknowledgement may answer several packets, the measured one not being the last of them.
    acks_are_thinned: bool,
    /// Time of the first timeout since the last acknowledgement.
    silent_since: Option<Instant>,
    /// Whether a closed window is to be probed.
    probe: bool,
    /// Doublings of the time until the next probe.
    probes: u32,
    /// Position after the last probe, while the window is closed.
    probed: Option<u64>,
}

impl<S: SendBuffer> Sender<S> {
    pub(super) fn new(config: &E2tcpConfig) -> Self {
        Self {
            buffer: S::default(),
            window: SendWindow::new(config),
            rtt: RttEstimator::new(config),
            iss: config.initial_sequence,
            payload: u64::from(config.payload),
            searches_payload: config.searches_payload,
            search: PayloadSearch::default(),
            undoes_timeouts: config.undoes_timeouts,
            doubt: None,
            counted: config.counted,
            infer_relost: config.infer_relost,
            duplicate_ack: if config.selective { DuplicateAck::Ignored } else { config.duplicate_ack },
            recover: 0,
            repairing: None,
            back_off: config.back_off,
            give_up_after: config.give_up_after,
            una: 0,
            nxt: 0,
            end: FIRST,
            held: FIRST,
            urgent: None,
            opening: false,
            closing: false,
            offered: config.assumed_window,
            records: VecDeque::new(),
            counts: [0; 5],
            order: 0,
            sample: None,
            arrived: 0,
            hop: HopEstimate::default(),
            acks_are_thinned: config.ack_every > 1,
            silent_since: None,
            probe: false,
            probes: 0,
            probed: None,
        }
    }

    /// Initializes the sender as if the SYN had been sent and acknowledged.
    pub(super) fn establish(&mut self) {
        (self.una, self.nxt) = (FIRST, FIRST);
    }

    // Getters.

    /// Packets in flight, as the sender estimates them.
    pub(super) fn outstanding(&self) -> u32 {
        self.counts[PacketState::Sent as usize] + self.counts[PacketState::Retransmitted as usize]
    }

    /// Packets that wait for retransmission.
    fn awaiting_retransmission(&self) -> u32 {
        self.counts[PacketState::TimedOut as usize] + self.counts[PacketState::Lost as usize]
    }

    /// Whether a SYN was sent, or is to be sent.
    pub(super) fn has_begun(&self) -> bool {
        self.opening || self.nxt > 0
    }

    /// Whether the SYN is acknowledged.
    pub(super) fn is_synchronized(&self) -> bool {
        self.una >= FIRST
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.closing && self.una > self.end
    }

    /// Bytes written and not yet acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.end - self.una.clamp(FIRST, self.end)
    }

    /// The offset in the buffer of a packet of `len` bytes whose last byte is `seq`.
    pub(super) fn offset(&self, seq: Seq, len: u16) -> usize {
        self.sequence(self.held).distance_to(seq + 1 - u32::from(len)) as usize
    }

    fn sequence(&self, position: u64) -> Seq {
        self.iss + position as u32
    }

    /// The position of `seq`: among all positions with this sequence number, the one nearest to the first
    /// unacknowledged.
    fn position(&self, seq: Seq) -> i64 {
        self.una as i64 + i64::from(self.sequence(self.una).distance_to(seq) as i32)
    }

    /// Whether an acknowledgement number is acceptable: not above the data sent, and not further below the acknowledged
    /// data than packets can still be in flight.
    pub(super) fn may_acknowledge(&self, number: Seq) -> bool {
        let next = self.position(number) + 1;
        (next <= self.nxt as i64) && (next >= self.una as i64 - i64::from(u16::MAX))
    }

    // User calls.

    pub(super) fn open(&mut self) {
        self.opening = true;
    }

    pub(super) fn write(&mut self, data: S::Data) {
        self.end += self.buffer.append(data);
    }

    /// Marks everything written so far as urgent.
    pub(super) fn mark_urgent(&mut self) {
        self.urgent = Some(self.end);
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Requests retransmission of the SYN, because the peer has not received it or its identifier was not accepted.
    pub(super) fn repeat_syn(&mut self) {
        if self.una == 0 && self.records.front().is_some_and(|record| record.state == PacketState::Sent) {
            self.sample = None;
            self.set_state(0, PacketState::TimedOut);
        }
    }

    // Acknowledgements.

    fn set_state(&mut self, index: usize, state: PacketState) {
        let old = self.records[index].state;
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
        self.records[index].state = state;
    }

    /// Processes an acceptable acknowledgement (see [`Sender::may_acknowledge`]), and the window field that came with
    /// it.
    pub(super) fn on_ack(
        &mut self,
        ack: &Acknowledgement,
        window: Option<u16>,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Progress {
        let next = self.position(ack.number) + 1;
        self.silent_since = None;
        if next < self.una as i64 {
            // The acknowledgement is outdated.
            return Progress::default();
        }
        let next = next as u64;
        if let Some(window) = window {
            self.on_window(window);
        }
        if self.probed.is_some_and(|end| end <= next) {
            // The peer has taken the probe: it had opened its window, and the news was lost.
            self.probes = 0;
        }
        let all_before = self.una >= self.end;
        let (reported, highest) = self.reported(next, ack);
        let is_proved = self.proves_early(&reported);
        let newest = self.mark_received(&reported, highest, now, statistics);
        self.resolve_doubt(is_proved, newest.is_some(), now, timers, statistics);
        let report = match self.lost_without_blocks(next) {
            0 => self.infer_losses(highest, newest, now),
            first => self.find_lost(first, now),
        };
        self.una = next;
        self.forget_acknowledged();
        self.window.on_ack(report);
        self.note_burst_end(timers);
        if self.counts[PacketState::Sent as usize] == 0 {
            timers.stop(E2tcpTimer::Transmission);
        }
        if self.counts[PacketState::Retransmitted as usize] == 0 {
            timers.stop(E2tcpTimer::Retransmission);
        }
        Progress { all_acknowledged: !all_before && self.una >= self.end && self.end > FIRST }
    }

    /// Updates the peer's window, in bytes.
    pub(super) fn on_window(&mut self, window: u16) {
        self.offered = u32::from(window);
        self.window.limit(u32::from(window) / self.payload as u32);
    }

    /// The ranges of positions that an acknowledgement reports, ascending, and the position after the highest of them.
    /// Impossible blocks are left out.
    fn reported(&self, next: u64, ack: &Acknowledgement) -> ([(u64, u64); 3], u64) {
        let mut ranges = [(0, next); 3];
        let mut highest = next;
        for (range, block) in ranges[1..].iter_mut().zip(ack.blocks) {
            *range = (0, 0);
            let Some(block) = block else { continue };
            let (start, end) = (self.position(block.first), self.position(block.last) + 1);
            if start > highest as i64 && end > start && end <= self.nxt as i64 {
                *range = (start as u64, end as u64);
                highest = end as u64;
            }
        }
        (ranges, highest)
    }

    /// Marks the packets that are reported for the first time, and takes an RTT sample if the measured packet is the
    /// last sent of them. Returns the ordinal of the last transmission among them.
    ///
    /// A packet that was sent once ends the back-off of the timeout. One that was repeated does not (Karn and Partridge 1987): its
    /// acknowledgement may be that of an early copy, and a timeout that is shorter than the queue of the link would go on
    /// filling it with copies.
    fn mark_received(
        &mut self,
        reported: &[(u64, u64); 3],
        highest: u64,
        now: Instant,
        statistics: &mut Statistics,
    ) -> Option<u64> {
        let mut newest = None;
        for index in 0..self.records.len() {
            let record = self.records[index];
            if record.start >= highest {
                break;
            }
            let covered = reported.iter().any(|(start, end)| *start <= record.start && record.end <= *end);
            if record.state != PacketState::Reported && covered {
                newest = newest.max(Some(record.order));
                if !record.repeated {
                    self.rtt.restore();
                }
                self.search.note_arrived(record.payload().into(), self.payload);
                self.set_state(index, PacketState::Reported);
                self.arrived += 1;
            }
        }
        if let (Some(sample), Some(newest)) = (self.sample, newest)
            && newest >= sample.order
        {
            if newest == sample.order || self.acks_are_thinned {
                let rtt = now.saturating_since(sample.sent);
                self.rtt.sample(rtt);
                self.hop.note(self.arrived - sample.arrived, rtt);
                self.window.learn(self.hop.window());
                statistics.rtt_count += 1;
                statistics.rtt_sum += rtt;
            }
            self.sample = None;
        }
        newest
    }

    /// Finds lost packets: those below a report that are not reported and were sent before the newly reported ones.
    fn infer_losses(&mut self, highest: u64, newest: Option<u64>, now: Instant) -> Report {
        let mut report = Report { errors: 0, since: now, now, rtt: self.rtt.mean() };
        let Some(newest) = newest else { return report };
        for index in 0..self.records.len() {
            let record = self.records[index];
            if record.end > highest {
                break;
            }
            let inferred = record.state == PacketState::Sent
                || self.infer_relost && record.state == PacketState::Retransmitted;
            if inferred && record.order < newest {
                if self.sample.is_some_and(|sample| sample.order == record.order) {
                    self.sample = None;
                }
                report.errors += 1;
                report.since = report.since.min(record.sent);
                self.set_state(index, PacketState::Lost);
            }
        }
        report
    }

    /// How many of the first packets an acknowledgement up to `next` shows to be lost, as far as they were sent for the first
    /// time, if the peer reports no blocks.
    fn lost_without_blocks(&mut self, next: u64) -> usize {
        let repeated = next == self.una;
        let partial = !repeated && self.repairing.take().is_some_and(|until| next < until);
        let counts = repeated && self.una >= self.recover && self.counts[PacketState::Sent as usize] > 0;
        match self.duplicate_ack {
            DuplicateAck::GoBack if counts => {
                self.recover = self.nxt;
                usize::MAX
            }
            DuplicateAck::OneThenAll if partial => usize::MAX,
            DuplicateAck::OneThenAll if counts && self.repairing.is_none() => {
                self.repairing = Some(self.nxt);
                1
            }
            DuplicateAck::Ignored | DuplicateAck::GoBack | DuplicateAck::OneThenAll => 0,
        }
    }

    /// Finds those of the `first` packets lost that were sent for the first time.
    fn find_lost(&mut self, first: usize, now: Instant) -> Report {
        let mut report = Report { errors: 0, since: now, now, rtt: self.rtt.mean() };
        for index in 0..self.records.len().min(first) {
            let record = self.records[index];
            if record.state == PacketState::Sent {
                self.sample = None;
                report.errors += 1;
                report.since = report.since.min(record.sent);
                self.set_state(index, PacketState::Lost);
            }
        }
        report
    }

    /// Removes the packets below `una`, and their bytes. A packet that is acknowledged in part is kept as a whole.
    fn forget_acknowledged(&mut self) {
        while let Some(record) = self.records.front().filter(|record| record.end <= self.una) {
            self.counts[record.state as usize] -= 1;
            self.records.pop_front();
        }
        let start = self.records.front().map_or(self.una, |record| record.start.min(self.una));
        let start = start.clamp(self.held, self.end);
        self.buffer.release(start - self.held);
        self.held = start;
    }

    // Timers.

    /// The transmission timer expired. Returns true if the peer has been silent for too long.
    pub(super) fn on_transmission_timeout(
        &mut self,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> bool {
        statistics.transmission_timeouts += 1;
        self.sample = None;
        let window = self.window.size;
        let is_given_up = self.on_timeout([PacketState::Sent, PacketState::TimedOut], now, timers);
        self.doubt_timeout(window);
        is_given_up
    }

    /// The retransmission timer expired. Returns true if the peer has been silent for too long.
    pub(super) fn on_retransmission_timeout(
        &mut self,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> bool {
        statistics.retransmission_timeouts += 1;
        self.on_timeout([PacketState::Retransmitted, PacketState::Lost], now, timers)
    }

    /// Marks the packets in state `from` for retransmission. Those inside the window, that is, among the first
    /// unacknowledged ones, are sent at once.
    fn on_timeout(&mut self, [from, to]: [PacketState; 2], now: Instant, timers: &mut Timers) -> bool {
        if self.back_off && !self.search.is_trying() {
            self.rtt.back_off();
        }
        self.search_payload();
        if self.duplicate_ack == DuplicateAck::OneThenAll {
            self.recover = self.nxt;
            self.repairing = None;
        }
        let first = self.records.iter().find(|record| record.state == from);
        let since = first.map_or(now, |record| record.sent);
        self.window.on_timeout(Report { errors: 0, since, now, rtt: self.rtt.mean() });
        let mut inside = self.window.size;
        for index in 0..self.records.len() {
            let record = self.records[index];
            if record.state == from {
                self.set_state(index, to);
                self.records[index].at_once = inside > 0 && self.has_room(&record);
            }
            inside = inside.saturating_sub(u32::from(record.state != PacketState::Reported));
        }
        self.note_burst_end(timers);
        self.is_given_up(now)
    }

    fn is_given_up(&mut self, now: Instant) -> bool {
        let since = *self.silent_since.get_or_insert(now);
        now.saturating_since(since) >= self.give_up_after
    }

    /// The predicted end of a burst was reached.
    pub(super) fn on_burst_end(&mut self) {
        self.window.on_burst_end();
    }

    fn note_burst_end(&self, timers: &mut Timers) {
        match self.window.burst_end() {
            Some(end) => timers.set(E2tcpTimer::BurstEnd, end),
            None => timers.stop(E2tcpTimer::BurstEnd),
        }
    }

    /// The probe timer expired. Returns true if the peer has been silent for too long.
    pub(super) fn on_probe_timeout(&mut self, now: Instant) -> bool {
        self.probe = true;
        self.probes = (self.probes + 1).min(62);
        self.is_given_up(now)
    }

    // Transmission.

    /// Right edge of the peer's window.
    fn edge(&self) -> u64 {
        self.una + u64::from(self.offered)
    }

    /// Whether a packet fits into the peer's window. A SYN needs no room, and a FIN needs none beyond the data before
    /// it.
    fn has_room(&self, record: &Record) -> bool {
        let needed = if record.control.fin() { record.start } else { record.end };
        record.control.syn() || needed <= self.edge()
    }

    /// Returns the next packet that may be sent now. New data requires that the connection is established (`open`).
    pub(super) fn next(
        &mut self,
        open: bool,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Option<Outgoing> {
        if self.opening && self.nxt == 0 {
            self.append(1, ControlFlags::SYN, now);
            return Some(self.transmit(0, now, timers, statistics));
        }
        self.give_up_doubt();
        if let Some(index) = self.next_retransmission() {
            self.complete_probe(index);
            return Some(self.transmit(index, now, timers, statistics));
        }
        if !open {
            return None;
        }
        if std::mem::take(&mut self.probe) {
            return self.next_probe(now, statistics);
        }
        let (len, control) = self.permitted()?;
        self.append(len, control, now);
        Some(self.transmit(self.records.len() - 1, now, timers, statistics))
    }

    /// The next packet to retransmit: one that a timeout released, or the lowest if the window permits.
    fn next_retransmission(&self) -> Option<usize> {
        if self.awaiting_retransmission() == 0 {
            return None;
        }
        let place = self.outstanding() < self.window.size;
        self.records.iter().position(|record| {
            let marked = matches!(record.state, PacketState::TimedOut | PacketState::Lost);
            marked && !self.is_held(record) && (record.at_once || place && self.has_room(record))
        })
    }

    /// Whether there is data, or a FIN, that was never sent.
    fn has_unsent(&self) -> bool {
        self.nxt < self.end || self.closing && self.nxt == self.end
    }

    /// Returns how much new data, or whether the FIN, may be sent now. A packet that only the peer's window makes
    /// shorter waits while others are in flight.
    fn permitted(&self) -> Option<(u64, ControlFlags)> {
        let counted = match self.counted {
            Counted::Travelling => self.outstanding(),
            Counted::Missing => self.outstanding() + self.awaiting_retransmission(),
            Counted::Span => self.records.len() as u32,
        };
        if self.una < FIRST || self.nxt > self.end || counted >= self.window.size {
            return None;
        }
        let data = self.end - self.nxt;
        if data == 0 {
            return (self.closing && self.nxt <= self.edge()).then_some((1, ControlFlags::FIN));
        }
        let wanted = data.min(self.payload);
        let len = wanted.min(self.edge().saturating_sub(self.nxt));
        (len > 0 && (len == wanted || self.records.is_empty())).then_some((len, ControlFlags::NONE))
    }

    /// Returns a packet that probes a closed window: the first one that waits, or one byte. It does not count as sent,
    /// so that neither timer runs for it.
    fn next_probe(&mut self, now: Instant, statistics: &mut Statistics) -> Option<Outgoing> {
        if self.outstanding() > 0 {
            return None;
        }
        let waits = |record: &Record| record.state != PacketState::Reported;
        let index = match self.records.iter().position(waits) {
            Some(index) => index,
            None if self.has_unsent() => {
                let control = if self.nxt < self.end { ControlFlags::NONE } else { ControlFlags::FIN };
                self.append(1, control, now);
                let index = self.records.len() - 1;
                self.set_state(index, PacketState::TimedOut);
                index
            }
            None => return None,
        };
        statistics.probes_sent += 1;
        let record = &mut self.records[index];
        record.repeated = true;
        self.probed = Some(record.end);
        let is_ahead = record.order == 0;
        let out = self.outgoing(index, statistics, !is_ahead);
        // The packet that begins with this byte carries it again.
        statistics.payload_resent += u64::from(out.len) * u64::from(is_ahead);
        Some(out)
    }

    /// The window has opened: the byte of a probe that the peer has not taken becomes the first one of a whole packet.
    fn complete_probe(&mut self, index: usize) {
        let last = self.edge().min(self.end);
        let record = &mut self.records[index];
        if record.order == 0 && record.payload() > 0 && record.end == self.nxt {
            record.end = last.min(record.start + self.payload).max(record.end);
            // What acknowledges more than the probe acknowledges this packet.
            record.repeated = record.end == self.nxt;
            self.nxt = record.end;
        }
    }

    /// Appends the record of a new packet.
    fn append(&mut self, len: u64, control: ControlFlags, now: Instant) {
        let (start, end) = (self.nxt, self.nxt + len);
        self.nxt = end;
        self.records.push_back(Record {
            start,
            end,
            control,
            state: PacketState::Sent,
            order: 0,
            sent: now,
            at_once: false,
            repeated: false,
        });
        self.counts[PacketState::Sent as usize] += 1;
    }

    /// Sends a packet that is new or marked for retransmission.
    fn transmit(
        &mut self,
        index: usize,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Outgoing {
        let record = &mut self.records[index];
        let again = record.order > 0;
        record.at_once = false;
        record.repeated |= again;
        let due = now.saturating_add(self.rtt.rto());
        if self.records[index].state == PacketState::Lost {
            self.set_state(index, PacketState::Retransmitted);
            timers.set(E2tcpTimer::Retransmission, due);
        } else {
            self.set_state(index, PacketState::Sent);
            timers.set(E2tcpTimer::Transmission, due);
        }
        self.order += 1;
        self.records[index].order = self.order;
        if !self.records[index].repeated && self.sample.is_none() {
            self.sample = Some(Sample { order: self.order, sent: now, arrived: self.arrived });
        }
        self.outgoing(index, statistics, again)
    }

    fn outgoing(&self, index: usize, statistics: &mut Statistics, again: bool) -> Outgoing {
        let record = &self.records[index];
        let len = record.payload();
        if len > 0 {
            statistics.data_packets_sent += 1;
            statistics.payload_sent += u64::from(len);
            statistics.packets_resent += u64::from(again);
            statistics.payload_resent += u64::from(len) * u64::from(again);
        }
        let urgent = self
            .urgent
            .filter(|end| len > 0 && *end > record.start)
            .map(|end| (end - record.start).min(u64::from(u16::MAX)) as u16);
        Outgoing { seq: self.sequence(record.end - 1), len, control: record.control, urgent }
    }

    /// Runs the probe timer exactly while the peer's window alone blocks transmission.
    pub(super) fn arrange_probe(&mut self, now: Instant, timers: &mut Timers) {
        let blocked = self.is_synchronized()
            && self.outstanding() == 0
            && (self.awaiting_retransmission() > 0 || self.has_unsent());
        if !blocked {
            // A peer that opened its window by itself is asked later when it closes the next one.
            while self.probes > 0 && self.rtt.doubled(self.probes) > FIRST_PROBE_MAX {
                self.probes -= 1;
            }
            self.probed = None;
            self.probe = false;
            timers.stop(E2tcpTimer::Probe);
        } else if !timers.is_running(E2tcpTimer::Probe) {
            // The connection is aborted after a period of silence, so the peer has to be probed often enough in that
            // period: on a link that loses every second exchange, three probes a minute apart prove nothing.
            let longest = (self.give_up_after / PROBES_MIN).max(self.rtt.doubled(0));
            timers.set(E2tcpTimer::Probe, now.saturating_add(self.rtt.doubled(self.probes).min(longest)));
        }
    }
}
