//! One direction of a wired link: a drop-tail queue, a transmitter with a rate, and a delay.
//!
//! The queue holds the packets that wait; the one in transmission is not counted, as in routers and in ns-2. Because a
//! first-in-first-out transmitter at a fixed rate knows at arrival when each packet will leave, the only wake-up is a
//! packet's arrival at the far end: one a packet. Left out: framing overhead, bit errors, reordering.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, QueueLimit, Rate, Size, Span, Timeout};

use crate::packet::Packet;

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// The transmitter's rate; `None` for a link that only delays.
    pub rate: Option<Rate>,
    /// Propagation and processing, one way.
    pub delay: Span,
    /// What waits for the transmitter at most.
    pub queue: QueueLimit,
}

airwatt_base::timer_kinds! {
    /// Why a link wakes up.
    pub enum LinkTimer {
        /// When to hand a packet over at the far end.
        Arrival = "arrival",
    }
}

/// What a link does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkOutput {
    /// The packet has arrived at the far end.
    Arrived(Packet),
    /// The queue was full.
    Dropped(Packet),
}

/// What a link counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets taken in, those dropped included.
    pub offered: u64,
    /// Packets dropped at the full queue.
    pub dropped: u64,
    /// How long the transmitter was busy.
    pub busy: Span,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    config: LinkConfig,
    /// When the transmitter begins with each waiting packet, and the packet's length.
    waiting: VecDeque<(Instant, u32)>,
    waiting_bytes: u64,
    /// When the transmitter is done with everything taken in so far.
    free_at: Instant,
    in_flight: VecDeque<(Instant, Packet)>,
    outputs: VecDeque<LinkOutput>,
    statistics: LinkStatistics,
    /// Queue length after each change, if a trace is wanted.
    trace: Option<Vec<(Instant, u32)>>,
}

impl Link {
    /// An empty link.
    pub fn new(config: LinkConfig) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            free_at: Instant::ZERO,
            in_flight: VecDeque::new(),
            outputs: VecDeque::new(),
            statistics: LinkStatistics::default(),
            trace: None,
        }
    }

    /// Keeps the queue length over time from now on.
    pub fn trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The queue length in packets after each change, up to `now`.
    pub fn take_trace(&mut self, now: Instant) -> Vec<(Instant, u32)> {
        self.leave_queue(now);
        self.trace.take().unwrap_or_default()
    }

    /// What was counted so far.
    pub const fn statistics(&self) -> LinkStatistics {
        self.statistics
    }

    /// Packets that wait for the transmitter at `now`.
    pub fn queued(&mut self, now: Instant) -> usize {
        self.leave_queue(now);
        self.waiting.len()
    }

    /// Forgets the packets whose transmission has begun by `now`.
    fn leave_queue(&mut self, now: Instant) {
        while let Some(&(begins, bytes)) = self.waiting.front().filter(|(begins, _)| *begins <= now) {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
            self.note(begins);
        }
    }

    fn note(&mut self, at: Instant) {
        if let Some(trace) = &mut self.trace {
            trace.push((at, self.waiting.len() as u32));
        }
    }
}

impl Machine for Link {
    type Input = Packet;
    type Output = LinkOutput;
    type Reason = LinkTimer;

    fn handle_input(&mut self, packet: Packet, now: Instant) {
        self.leave_queue(now);
        self.statistics.offered += 1;
        let begins = self.free_at.max(now);
        if begins > now {
            if !self.config.queue.admits(self.waiting.len(), self.waiting_bytes, u64::from(packet.bytes)) {
                self.statistics.dropped += 1;
                self.outputs.push_back(LinkOutput::Dropped(packet));
                return;
            }
            self.waiting.push_back((begins, packet.bytes));
            self.waiting_bytes += u64::from(packet.bytes);
            self.note(now);
        }
        let size = Size::from_bytes(u64::from(packet.bytes));
        let transmission = self.config.rate.map_or(Span::ZERO, |rate| rate.time_for(size));
        self.statistics.busy += transmission;
        self.free_at = begins + transmission;
        self.in_flight.push_back((self.free_at + self.config.delay, packet));
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, packet)) = self.in_flight.front().filter(|(arrives, _)| *arrives <= now) {
            self.outputs.push_back(LinkOutput::Arrived(*packet));
            self.in_flight.pop_front();
        }
    }

    fn poll_output(&mut self) -> Option<LinkOutput> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<LinkTimer>> {
        self.in_flight.front().map(|(at, _)| Timeout { at: *at, reason: LinkTimer::Arrival })
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;

    use super::*;
    use crate::packet::Body;

    fn packet(number: u64) -> Packet {
        Packet { flow: 0, bytes: 1500, sent: Instant::ZERO, body: Body::Datagram(number) }
    }

    /// 1500 bytes at 1 Mbit/s take 12 ms. One packet in transmission, two in the queue, the fourth is dropped:
    /// ```text
    /// in   1234
    /// wire |--1--|--2--|--3--|
    /// out        +5ms 1     2     3
    /// ```
    #[test]
    fn queue_rate_and_delay() {
        let config = LinkConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::from_millis(5),
            queue: QueueLimit::Packets(2),
        };
        let inputs: Vec<_> = (1..=4).map(|number| (Instant::ZERO, packet(number))).collect();
        let done = check_machine(|| Link::new(config), &inputs, Instant::from_secs(1));
        let expected = [
            (Instant::ZERO, LinkOutput::Dropped(packet(4))),
            (Instant::from_millis(17), LinkOutput::Arrived(packet(1))),
            (Instant::from_millis(29), LinkOutput::Arrived(packet(2))),
            (Instant::from_millis(41), LinkOutput::Arrived(packet(3))),
        ];
        assert_eq!(done, expected);
    }

    #[test]
    fn the_trace_follows_the_queue() {
        let config = LinkConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::ZERO,
            queue: QueueLimit::Packets(9),
        };
        let mut link = Link::new(config);
        link.trace();
        (1..=3).for_each(|number| link.handle_input(packet(number), Instant::ZERO));
        assert_eq!(link.queued(Instant::from_millis(11)), 2);
        let ms = Instant::from_millis;
        assert_eq!(link.take_trace(ms(30)), [(ms(0), 1), (ms(0), 2), (ms(12), 1), (ms(24), 0)]);
    }

    #[test]
    fn a_queue_in_bytes_counts_bytes() {
        let limit = QueueLimit::Bytes(Size::from_bytes(3000));
        let mut link =
            Link::new(LinkConfig { rate: Some(Rate::from_bps(8)), delay: Span::ZERO, queue: limit });
        (1..=4).for_each(|number| link.handle_input(packet(number), Instant::ZERO));
        assert_eq!(link.statistics().dropped, 1);
    }
}
