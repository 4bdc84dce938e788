//! The send half: what may be sent, what has to be sent again, and when.
//!
//! Every packet stays what it was when it first left: the same bytes, so that an acknowledgement's blocks can be read
//! against a list of packets. Three things tell of a loss. The blocks: packets of one hop arrive in the order in which they
//! were sent, so that one that is not reported, below one that is, and sent before it, is lost, and is sent again at once.
//! The transmission timer, for packets sent for the first time: it restarts with each of them. The retransmission timer, for
//! those sent again: it restarts with each of those. Two timers, because one that restarts with every packet would let new
//! packets hide the loss of an old one.
//!
//! How many packets may be out is [`super::window`]'s business; how many bytes the receiver has room for is its window
//! field's.
//!
//! Of the order in which things were sent, the sender keeps a count in each packet. Where a packet was sent more than once,
//! its last sending stands for it: after a timeout that a burst of lost acknowledgements brought about, a report may thus be
//! read as later than it is, at the price of a needless packet.

use std::collections::VecDeque;

use airwatt_base::{Instant, Seq, Span};

use super::config::{Counted, E2tcpConfig};
use super::connection::{E2tcpTimer, Timers};
use super::rtt::RttEstimator;
use super::statistics::Statistics;
use super::window::{Report, SendWindow};
use super::wire::{Acknowledgement, ControlFlags};
use crate::tcp::SendBuffer;

/// Position of the first byte of data: the SYN is position 0.
const FIRST: u64 = 1;

/// A peer that does not answer is probed about so many times, at least, before it is given up.
const PROBES_MIN: u64 = 16;

/// Where a packet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    /// Sent, for what counts as the first time.
    Sent,
    /// Sent again, after it was found lost.
    Retransmitted,
    /// To be sent again, after the transmission timer expired.
    TimedOut,
    /// To be sent again, found lost.
    Lost,
    /// Reported as received.
    Reported,
}

/// A packet that was sent and is not yet acknowledged by number.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Position of its first byte, and behind its last.
    start: u64,
    end: u64,
    control: ControlFlags,
    state: PacketState,
    /// Counts sendings: when it was sent last.
    order: u64,
    /// Its first sending.
    sent: Instant,
    /// To be sent at once, whatever else is on its way.
    at_once: bool,
}

impl Record {
    fn payload(&self) -> u16 {
        if self.control == ControlFlags::NONE { (self.end - self.start) as u16 } else { 0 }
    }
}

/// What the send half wants to have sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// Sequence number of the last byte.
    pub(super) seq: Seq,
    pub(super) len: u16,
    pub(super) control: ControlFlags,
    pub(super) urgent: Option<u16>,
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Everything written is now acknowledged, and was not before.
    pub(super) all_acknowledged: bool,
}

/// The packet whose round trip is measured.
#[derive(Clone, Copy, Debug)]
struct Sample {
    order: u64,
    sent: Instant,
}

/// The send half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender<S> {
    pub(super) buffer: S,
    pub(super) window: SendWindow,
    pub(super) rtt: RttEstimator,
    iss: Seq,
    payload: u64,
    counted: Counted,
    infer_relost: bool,
    back_off: bool,
    give_up_after: Span,

    /// First position that is not acknowledged.
    una: u64,
    /// Position behind all that was ever sent.
    nxt: u64,
    /// Behind the last byte written.
    end: u64,
    /// Position of the first byte that the buffer holds.
    held: u64,
    /// Behind the last urgent byte.
    urgent: Option<u64>,
    /// The SYN is to be sent.
    opening: bool,
    /// A FIN follows the last byte.
    closing: bool,
    /// Bytes that the peer is ready to receive behind what it acknowledged.
    offered: u32,

    /// Packets sent and not acknowledged by number, in order of position.
    records: VecDeque<Record>,
    /// How many of them stand where, by [`PacketState`].
    counts: [u32; 5],
    /// Sendings so far.
    order: u64,
    sample: Option<Sample>,
    /// The first timeout since the peer last spoke.
    silent_since: Option<Instant>,
    /// A closed window is to be probed.
    probe: bool,
    /// Probes in a row.
    probes: u32,
}

impl<S: SendBuffer> Sender<S> {
    pub(super) fn new(config: &E2tcpConfig) -> Self {
        Self {
            buffer: S::default(),
            window: SendWindow::new(config),
            rtt: RttEstimator::new(config),
            iss: config.initial_sequence,
            payload: u64::from(config.payload),
            counted: config.counted,
            infer_relost: config.infer_relost,
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
            silent_since: None,
            probe: false,
            probes: 0,
        }
    }

    /// As if the SYN had been sent and acknowledged.
    pub(super) fn establish(&mut self) {
        (self.una, self.nxt) = (FIRST, FIRST);
    }

    // Getters.

    /// Packets on their way, as far as the sender believes.
    pub(super) fn outstanding(&self) -> u32 {
        self.counts[PacketState::Sent as usize] + self.counts[PacketState::Retransmitted as usize]
    }

    /// Packets that wait to be sent again.
    fn awaiting_retransmission(&self) -> u32 {
        self.counts[PacketState::TimedOut as usize] + self.counts[PacketState::Lost as usize]
    }

    /// Whether a SYN was sent, or is to be.
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

    /// Where `seq`, the last byte of a packet of `len` bytes, begins in the buffer.
    pub(super) fn offset(&self, seq: Seq, len: u16) -> usize {
        self.sequence(self.held).distance_to(seq + 1 - u32::from(len)) as usize
    }

    fn sequence(&self, position: u64) -> Seq {
        self.iss + position as u32
    }

    /// Where `seq` lies: of all positions that it may mean, the one nearest to what is acknowledged.
    fn position(&self, seq: Seq) -> i64 {
        self.una as i64 + i64::from(self.sequence(self.una).distance_to(seq) as i32)
    }

    /// Whether an acknowledgement number can be meant for this end: not above what was sent, and not further below what is
    /// acknowledged than packets can still be on their way.
    pub(super) fn may_acknowledge(&self, number: Seq) -> bool {
        let next = self.position(number) + 1;
        (next <= self.nxt as i64) && (next >= self.una as i64 - i64::from(u16::MAX))
    }

    // The application.

    pub(super) fn open(&mut self) {
        self.opening = true;
    }

    pub(super) fn write(&mut self, data: S::Data) {
        self.end += self.buffer.append(data);
    }

    /// Everything written so far is urgent.
    pub(super) fn mark_urgent(&mut self) {
        self.urgent = Some(self.end);
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Has the SYN sent again, as the peer has not seen it or its identifier did not do.
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

    /// Takes an acknowledgement that [`Sender::may_acknowledge`] let pass, and the window field that came with it.
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
        self.rtt.restore();
        if next < self.una as i64 {
            // Older than what is known; it has nothing to say.
            return Progress::default();
        }
        let next = next as u64;
        if let Some(window) = window {
            self.on_window(window);
        }
        let all_before = self.una >= self.end;
        let (reported, highest) = self.reported(next, ack);
        let newest = self.mark_received(&reported, highest, now, statistics);
        let report = self.infer_losses(highest, newest, now, statistics);
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

    /// The peer's window has changed to so many bytes.
    pub(super) fn on_window(&mut self, window: u16) {
        self.offered = u32::from(window);
        self.window.limit(u32::from(window) / self.payload as u32);
    }

    /// The ranges of positions that an acknowledgement reports, ascending, and behind the highest of them. Blocks that
    /// cannot be are left out.
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

    /// Marks the packets that are reported for the first time, and takes the RTT sample if the packet that is measured is the
    /// last sent of them. Returns when the last of them was sent, by the count of sendings.
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
                self.set_state(index, PacketState::Reported);
            }
        }
        if let (Some(sample), Some(newest)) = (self.sample, newest)
            && newest >= sample.order
        {
            if newest == sample.order {
                let rtt = now.saturating_since(sample.sent);
                self.rtt.sample(rtt);
                statistics.rtt_count += 1;
                statistics.rtt_sum += rtt;
            }
            self.sample = None;
        }
        newest
    }

    /// Finds the packets that must be lost: below a report, not reported, and sent before what was just reported.
    fn infer_losses(
        &mut self,
        highest: u64,
        newest: Option<u64>,
        now: Instant,
        statistics: &mut Statistics,
    ) -> Report {
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
        statistics.losses_inferred += u64::from(report.errors);
        statistics.burst_errors += u64::from(self.window.is_burst(report.errors));
        statistics.static_errors += u64::from(report.errors > 0 && !self.window.is_burst(report.errors));
        report
    }

    /// Forgets the packets below `una`, and their bytes. A packet that is acknowledged in part stays whole.
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

    /// The transmission timer expired. True if the peer has been silent for too long.
    pub(super) fn on_transmission_timeout(
        &mut self,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> bool {
        statistics.transmission_timeouts += 1;
        self.sample = None;
        self.on_timeout([PacketState::Sent, PacketState::TimedOut], now, timers)
    }

    /// The retransmission timer expired. True if the peer has been silent for too long.
    pub(super) fn on_retransmission_timeout(
        &mut self,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> bool {
        statistics.retransmission_timeouts += 1;
        self.on_timeout([PacketState::Retransmitted, PacketState::Lost], now, timers)
    }

    /// Marks what stands at `from` to be sent again. Those inside the window, which is to say among the first that are not
    /// acknowledged, leave at once.
    fn on_timeout(&mut self, [from, to]: [PacketState; 2], now: Instant, timers: &mut Timers) -> bool {
        if self.back_off {
            self.rtt.back_off();
        }
        let first = self.records.iter().find(|record| record.state == from);
        let since = first.map_or(now, |record| record.sent);
        self.window.on_timeout(Report { errors: 0, since, now, rtt: self.rtt.mean() });
        let mut inside = self.window.size();
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

    /// The predicted end of a burst has come.
    pub(super) fn on_burst_end(&mut self) {
        self.window.on_burst_end();
    }

    fn note_burst_end(&self, timers: &mut Timers) {
        match self.window.burst_end() {
            Some(end) => timers.set(E2tcpTimer::BurstEnd, end),
            None => timers.stop(E2tcpTimer::BurstEnd),
        }
    }

    /// The probe timer expired. True if the peer has been silent for too long.
    pub(super) fn on_probe_timeout(&mut self, now: Instant) -> bool {
        self.probe = true;
        self.probes = (self.probes + 1).min(62);
        self.is_given_up(now)
    }

    // Sending.

    /// Behind the last position that the peer has room for.
    fn edge(&self) -> u64 {
        self.una + u64::from(self.offered)
    }

    /// Whether the peer has room for a packet. A SYN needs none, and a FIN only that all before it has.
    fn has_room(&self, record: &Record) -> bool {
        let needed = if record.control.fin { record.start } else { record.end };
        record.control.syn || needed <= self.edge()
    }

    /// The next packet that may be sent now; `open` once data may flow.
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
        if let Some(index) = self.next_retransmission() {
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

    /// The next packet to be sent again: one that a timeout wants sent now, or the lowest, if the window has a place.
    fn next_retransmission(&self) -> Option<usize> {
        if self.awaiting_retransmission() == 0 {
            return None;
        }
        let place = self.outstanding() < self.window.size();
        self.records.iter().position(|record| {
            let marked = matches!(record.state, PacketState::TimedOut | PacketState::Lost);
            marked && (record.at_once || place && self.has_room(record))
        })
    }

    /// Whether data, or the FIN, was never sent.
    fn has_unsent(&self) -> bool {
        self.nxt < self.end || self.closing && self.nxt == self.end
    }

    /// How much new data may leave now, or the FIN. A packet shorter than it could be waits while others are on their way,
    /// if it is only the peer's window that cuts it short.
    fn permitted(&self) -> Option<(u64, ControlFlags)> {
        let counted = match self.counted {
            Counted::Travelling => self.outstanding(),
            Counted::Missing => self.outstanding() + self.awaiting_retransmission(),
            Counted::Span => self.records.len() as u32,
        };
        if self.una < FIRST || self.nxt > self.end || counted >= self.window.size() {
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

    /// A packet in spite of a closed window, to make the peer say whether it is still closed: the first that waits, or one
    /// byte. It does not count as sent, so that neither timer runs for it.
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
        Some(self.outgoing(index, statistics, true))
    }

    /// Books a new packet behind all others.
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
        });
        self.counts[PacketState::Sent as usize] += 1;
    }

    /// Sends a packet: new, or marked to be sent again.
    fn transmit(
        &mut self,
        index: usize,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Outgoing {
        let again = self.records[index].state != PacketState::Sent;
        self.records[index].at_once = false;
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
        if !again && self.sample.is_none() {
            self.sample = Some(Sample { order: self.order, sent: now });
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

    /// Runs the probe timer exactly while the peer's window is all that keeps data back.
    pub(super) fn arrange_probe(&mut self, now: Instant, timers: &mut Timers) {
        let blocked = self.is_synchronized()
            && self.outstanding() == 0
            && (self.awaiting_retransmission() > 0 || self.has_unsent());
        if !blocked {
            self.probes = 0;
            self.probe = false;
            timers.stop(E2tcpTimer::Probe);
        } else if !timers.is_running(E2tcpTimer::Probe) {
            // The peer is given up after a time of silence, so that it has to be asked often enough in that time: on a link that
            // loses every second exchange, three probes a minute apart prove nothing.
            let longest = (self.give_up_after / PROBES_MIN).max(self.rtt.doubled(0));
            timers.set(E2tcpTimer::Probe, now.saturating_add(self.rtt.doubled(self.probes).min(longest)));
        }
    }
}
