//! One direction of a link: a queue, a transmitter with a rate, and a delay.
//!
//! The queue holds the packets that wait; the one in transmission is not counted, as in routers and in ns-2. Because a
//! first-in-first-out transmitter at a fixed rate knows at arrival when each packet will leave, the only wake-up is a
//! packet's arrival at the far end: one a packet. A damaged packet takes its time like any other and is dropped where it
//! arrives. Cross traffic shares the queue and the transmitter and is heard of nowhere else, so it needs no wake-ups: what
//! has come since is taken in before each packet. Jitter delays each packet by a random time, and packets keep their order, as
//! behind a queue of others. Left out: framing overhead, reordering.
//!
//! A queue that chooses ([`LinkDiscipline`]) is asked for the next packet when the transmitter is free, which is a second wake-up a packet.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, QueueLimit, RandomStream, Rate, Size, Span, Timeout};

use super::errors::ErrorProcess;
use super::link_queue::{LinkDiscipline, LinkQueue};
use crate::packet::Packet;
use crate::pending::Pending;

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeConfig {
    /// The transmitter's rate; `None` for a link that only delays.
    pub rate: Option<Rate>,
    /// Propagation and processing, one way.
    pub delay: Span,
    /// What waits for the transmitter at most.
    pub queue: QueueLimit,
    /// Which packet is next. One that chooses has a rate, a queue in packets and no cross traffic.
    pub discipline: LinkDiscipline,
    /// A packet arrives `delay` after its first bit left, not after its last: the rate limits, but adds nothing to a
    /// packet's own way. So did the wireless hops of simulators of the year 2000.
    pub cut_through: bool,
    /// Traffic of others.
    pub cross: Option<CrossTraffic>,
    /// Mean of a random delay of each packet beside `delay`.
    pub jitter: Span,
}

/// Packets of others at a constant rate, which take their place in the queue and their time on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossTraffic {
    /// When the first one comes.
    pub first: Instant,
    /// From one to the next; not zero.
    pub interval: Span,
    /// Length of each, in bytes.
    pub bytes: u32,
}

airwatt_base::timer_kinds! {
    /// Why a link wakes up.
    pub enum PipeTimer {
        /// When to hand a packet over at the far end.
        Arrival = "arrival",
        /// When to begin with the next packet of a queue that chooses.
        Departure = "departure",
    }
}

/// What a link does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PipeOutput {
    /// The packet has arrived at the far end.
    Arrived {
        /// The packet.
        packet: Packet,
        /// When its transmission began.
        began: Instant,
    },
    /// The packet has arrived at the far end, damaged.
    Damaged {
        /// The packet.
        packet: Packet,
        /// When its transmission began.
        began: Instant,
    },
    /// The queue was full.
    Dropped(Packet),
}

/// What a link counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipeStatistics {
    /// Packets taken in, those dropped included.
    pub offered: u64,
    /// Packets dropped at the full queue.
    pub dropped: u64,
    /// Packets damaged on the way.
    pub damaged: u64,
}

/// A packet between its first bit's leaving and its arrival.
#[derive(Clone, Copy, Debug)]
struct Travelling {
    arrives: Instant,
    began: Instant,
    damaged: bool,
    packet: Packet,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Pipe {
    config: PipeConfig,
    /// When the transmitter begins with each waiting packet, and the packet's length.
    waiting: VecDeque<(Instant, u32)>,
    waiting_bytes: u64,
    /// A queue that chooses; the others are `waiting`.
    chosen: Option<Box<LinkQueue>>,
    /// When the transmitter is done with everything taken in so far; of a queue that chooses, with the packet in transmission.
    pub(super) free_at: Instant,
    errors: ErrorProcess,
    /// When the next packet of the cross traffic comes.
    next_cross: Option<Instant>,
    /// The mean of the random delay in seconds, its numbers, and when the last packet arrives.
    jitter: Option<(f64, RandomStream, Instant)>,
    in_flight: VecDeque<Travelling>,
    /// Packets that the full queue has dropped and that are not reported yet.
    dropped: VecDeque<Packet>,
    /// The time up to which arrivals may be reported.
    served: Instant,
    statistics: PipeStatistics,
    /// Queue length after each change, if a trace is wanted.
    trace: Option<Vec<(Instant, u32)>>,
}

impl Pipe {
    /// An empty link with these errors.
    pub fn new(config: PipeConfig, errors: ErrorProcess) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            chosen: match config.queue {
                QueueLimit::Packets(limit) => LinkQueue::new(config.discipline, limit).map(Box::new),
                QueueLimit::Bytes(_) => None,
            },
            free_at: Instant::ZERO,
            errors,
            next_cross: config.cross.map(|cross| cross.first),
            jitter: None,
            in_flight: VecDeque::new(),
            dropped: VecDeque::new(),
            served: Instant::ZERO,
            statistics: PipeStatistics::default(),
            trace: None,
        }
    }

    /// The same link with the random numbers of its jitter, without which it has none.
    #[must_use]
    pub(crate) fn with_jitter(self, numbers: RandomStream) -> Self {
        let mean_s = self.config.jitter.as_secs_f64();
        Self { jitter: (mean_s > 0.0).then_some((mean_s, numbers, Instant::ZERO)), ..self }
    }

    /// When a packet arrives that leaves the transmitter then.
    fn arrival(&mut self, leaves: Instant) -> Instant {
        let arrives = leaves + self.config.delay;
        let Some((mean_s, numbers, last)) = &mut self.jitter else { return arrives };
        // Packets do not overtake each other.
        *last = (arrives + Span::from_secs_f64(numbers.exponential(*mean_s))).max(*last);
        *last
    }

    /// Keeps the queue length over time from now on.
    pub fn trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// What its trace so far occupies, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.trace.as_ref().map_or(0, |trace| size_of_val(&trace[..]))
    }

    /// The queue length in packets after each change, up to `now`.
    pub(crate) fn take_trace(&mut self, now: Instant) -> Vec<(Instant, u32)> {
        self.pass(now);
        self.trace.take().unwrap_or_default()
    }

    /// What was counted so far.
    pub const fn statistics(&self) -> PipeStatistics {
        self.statistics
    }

    /// The packet of the next output, and whether it has arrived undamaged. [`Pipe::advance`] follows.
    #[inline]
    pub(super) fn front(&self) -> Option<(&Packet, bool)> {
        match self.dropped.front() {
            Some(packet) => Some((packet, false)),
            None => {
                let first = self.in_flight.front().filter(|first| first.arrives <= self.served)?;
                Some((&first.packet, !first.damaged))
            }
        }
    }

    /// Removes the output of [`Pipe::front`].
    #[inline]
    pub(super) fn advance(&mut self) {
        if self.dropped.pop_front().is_none() {
            self.in_flight.pop_front();
        }
    }

    /// The time of the next arrival; [`Instant::FOREVER`] if no packet is on its way.
    #[inline]
    pub(super) fn due(&self) -> Instant {
        let arrives = self.in_flight.front().map_or(Instant::FOREVER, |first| first.arrives);
        if self.begins_next() { arrives.min(self.free_at) } else { arrives }
    }

    /// Whether a queue that chooses is asked when the transmitter is free.
    #[inline]
    fn begins_next(&self) -> bool {
        self.chosen.as_ref().is_some_and(|queue| queue.len() > 0)
    }

    /// The outputs and the timer of the pipe.
    #[inline]
    pub(super) fn pending(&self) -> Pending {
        Pending { has_output: self.front().is_some(), due: self.due() }
    }

    /// Brings the queue to `now`: cross traffic that has come, packets that have left it.
    fn pass(&mut self, now: Instant) {
        if let Some(cross) = self.config.cross {
            while let Some(at) = self.next_cross.filter(|at| *at <= now) {
                self.leave_queue(at);
                let _overflows = self.enqueue(cross.bytes, at);
                self.next_cross = Some(at + cross.interval);
            }
        }
        self.leave_queue(now);
    }

    /// Gives the time at which the transmission of a packet begins that comes now, if there is room.
    fn enqueue(&mut self, bytes: u32, now: Instant) -> Option<Instant> {
        let begins = self.free_at.max(now);
        if begins > now {
            if !self.config.queue.admits(self.waiting.len(), self.waiting_bytes, u64::from(bytes)) {
                return None;
            }
            self.waiting.push_back((begins, bytes));
            self.waiting_bytes += u64::from(bytes);
            self.note(now);
        }
        let size = Size::from_bytes(u64::from(bytes));
        self.free_at = begins + self.config.rate.map_or(Span::ZERO, |rate| rate.time_for(size));
        Some(begins)
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
            let waiting = self.chosen.as_ref().map_or(self.waiting.len(), |queue| queue.len());
            trace.push((at, waiting as u32));
        }
    }

    /// Sends a packet whose transmission begins now, if it ends at `free_at`.
    fn send(&mut self, packet: Packet, begins: Instant) {
        let leaves = if self.config.cut_through { begins } else { self.free_at };
        let damaged = self.errors.corrupts(begins);
        self.statistics.damaged += u64::from(damaged);
        let arrives = self.arrival(leaves);
        self.in_flight.push_back(Travelling { arrives, began: begins, damaged, packet });
    }

    /// A queue that chooses takes a packet, if there is one, and gives the next one to a transmitter that is free.
    fn choose(&mut self, offered: Option<Packet>, now: Instant) {
        let Some(queue) = &mut self.chosen else { return };
        let mut dropped = Vec::new();
        if let Some(packet) = offered {
            queue.push(packet, now, &mut dropped);
        }
        let next = if self.free_at <= now { queue.pop(now, &mut dropped) } else { None };
        self.statistics.dropped += dropped.len() as u64;
        self.dropped.extend(dropped);
        if let Some(packet) = next {
            let size = Size::from_bytes(u64::from(packet.bytes));
            self.free_at = now + self.config.rate.map_or(Span::ZERO, |rate| rate.time_for(size));
            self.send(packet, now);
        }
        self.note(now);
    }
}

impl Machine for Pipe {
    type Input = Packet;
    type Output = PipeOutput;
    type Reason = PipeTimer;

    fn handle_input(&mut self, packet: Packet, now: Instant) {
        self.pass(now);
        self.statistics.offered += 1;
        if self.chosen.is_some() {
            // What was due before it goes first.
            if self.begins_next() {
                self.choose(None, now);
            }
            return self.choose(Some(packet), now);
        }
        let Some(begins) = self.enqueue(packet.bytes, now) else {
            self.statistics.dropped += 1;
            self.dropped.push_back(packet);
            return;
        };
        self.send(packet, begins);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.served = now;
        if self.begins_next() && self.free_at <= now {
            self.choose(None, now);
        }
    }

    fn poll_output(&mut self) -> Option<PipeOutput> {
        if let Some(packet) = self.dropped.pop_front() {
            return Some(PipeOutput::Dropped(packet));
        }
        if self.in_flight.front()?.arrives > self.served {
            return None;
        }
        let Travelling { packet, began, damaged, .. } = self.in_flight.pop_front()?;
        Some(if damaged {
            PipeOutput::Damaged { packet, began }
        } else {
            PipeOutput::Arrived { packet, began }
        })
    }

    fn poll_timeout(&self) -> Option<Timeout<PipeTimer>> {
        let arrival =
            self.in_flight.front().map(|first| Timeout { at: first.arrives, reason: PipeTimer::Arrival });
        let departure = Timeout { at: self.free_at, reason: PipeTimer::Departure };
        match arrival {
            Some(arrival) if !self.begins_next() || arrival.at <= self.free_at => Some(arrival),
            None if !self.begins_next() => None,
            _ => Some(departure),
        }
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;

    use super::super::errors::{ErrorConfig, UniformErrors};
    use super::*;

    fn no_errors() -> ErrorProcess {
        ErrorProcess::new(ErrorConfig::default(), 1, "link", "down")
    }

    /// Packets that wait for the transmitter at `now`.
    fn queued(pipe: &mut Pipe, now: Instant) -> usize {
        pipe.pass(now);
        pipe.chosen.as_ref().map_or(pipe.waiting.len(), |queue| queue.len())
    }

    fn packet(number: u64) -> Packet {
        Packet::datagram(number as u32, 1500, Instant::ZERO)
    }

    fn arrived(number: u64, began_ms: u64) -> PipeOutput {
        PipeOutput::Arrived { packet: packet(number), began: Instant::from_millis(began_ms) }
    }

    /// 1500 bytes at 1 Mbit/s take 12 ms. One packet in transmission, two in the queue, the fourth is dropped:
    /// ```text
    /// in   1234
    /// wire |--1--|--2--|--3--|
    /// out        +5ms 1     2     3
    /// ```
    #[test]
    fn queue_rate_and_delay() {
        let config = PipeConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::from_millis(5),
            queue: QueueLimit::Packets(2),
            cut_through: false,
            cross: None,
            jitter: Span::ZERO,
            discipline: LinkDiscipline::DropTail,
        };
        let inputs: Vec<_> = (1..=4).map(|number| (Instant::ZERO, packet(number))).collect();
        let done = check_machine(|| Pipe::new(config, no_errors()), &inputs, Instant::from_secs(1));
        let expected = [
            (Instant::ZERO, PipeOutput::Dropped(packet(4))),
            (Instant::from_millis(17), arrived(1, 0)),
            (Instant::from_millis(29), arrived(2, 12)),
            (Instant::from_millis(41), arrived(3, 24)),
        ];
        assert_eq!(done, expected);
    }

    /// Two flows of FQ-CoDel, of which one has come first with all its packets: they take turns, and what is in transmission goes on.
    /// ```text
    /// in   1111222
    /// wire |--1--|--1--|--2--|--2--|--1--|--2--|
    /// ```
    #[test]
    fn a_queue_that_chooses_is_asked_when_the_transmitter_is_free() {
        let config = PipeConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::from_millis(5),
            queue: QueueLimit::Packets(5),
            cut_through: false,
            cross: None,
            jitter: Span::ZERO,
            discipline: LinkDiscipline::FqCodel,
        };
        let of = |flow: u16, number| Packet { sport: flow, ..packet(number) };
        let inputs: Vec<_> = [of(1, 1), of(1, 2), of(1, 3), of(1, 4), of(2, 5), of(2, 6), of(2, 7)]
            .into_iter()
            .map(|packet| (Instant::ZERO, packet))
            .collect();
        let done = check_machine(|| Pipe::new(config, no_errors()), &inputs, Instant::from_secs(1));
        let ms = Instant::from_millis;
        let arrived =
            |flow, number, began| PipeOutput::Arrived { packet: of(flow, number), began: ms(began) };
        // Six wait, one more than may: of two equally long queues the first loses its first packet. A turn of 1514 bytes has a rest of 14 after
        // one packet, which lets a flow have another one.
        let expected = [
            (ms(0), PipeOutput::Dropped(of(1, 2))),
            (ms(17), arrived(1, 1, 0)),
            (ms(29), arrived(1, 3, 12)),
            (ms(41), arrived(2, 5, 24)),
            (ms(53), arrived(2, 6, 36)),
            (ms(65), arrived(1, 4, 48)),
            (ms(77), arrived(2, 7, 60)),
        ];
        assert_eq!(done, expected);
        let mut link = Pipe::new(config, no_errors());
        inputs.iter().for_each(|(at, packet)| link.handle_input(*packet, *at));
        assert_eq!((queued(&mut link, ms(0)), link.statistics().dropped, link.due()), (5, 1, ms(12)));
    }

    /// The first bit is there after the delay, and the rate still spaces the packets.
    #[test]
    fn cut_through_leaves_out_a_packets_own_time() {
        let config = PipeConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::from_millis(5),
            queue: QueueLimit::Packets(9),
            cut_through: true,
            cross: None,
            jitter: Span::ZERO,
            discipline: LinkDiscipline::DropTail,
        };
        let inputs = [(Instant::ZERO, packet(1)), (Instant::ZERO, packet(2))];
        let done = check_machine(|| Pipe::new(config, no_errors()), &inputs, Instant::from_secs(1));
        let ms = Instant::from_millis;
        assert_eq!(done, [(ms(5), arrived(1, 0)), (ms(17), arrived(2, 12))]);
    }

    /// A damaged packet keeps the transmitter as busy as a sound one.
    #[test]
    fn damaged_packets_take_their_time() {
        let config = PipeConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::ZERO,
            queue: QueueLimit::Packets(9),
            cut_through: false,
            cross: None,
            jitter: Span::ZERO,
            discipline: LinkDiscipline::DropTail,
        };
        let all =
            ErrorProcess::new(ErrorConfig::Uniform(UniformErrors { error_rate: 1.0 }), 1, "link", "down");
        let inputs = [(Instant::ZERO, packet(1)), (Instant::ZERO, packet(2))];
        let done = check_machine(|| Pipe::new(config, all.clone()), &inputs, Instant::from_secs(1));
        let ms = Instant::from_millis;
        let damaged = |number, began| PipeOutput::Damaged { packet: packet(number), began: ms(began) };
        assert_eq!(done, [(ms(12), damaged(1, 0)), (ms(24), damaged(2, 12))]);
    }

    #[test]
    fn the_trace_follows_the_queue() {
        let config = PipeConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::ZERO,
            queue: QueueLimit::Packets(9),
            cut_through: false,
            cross: None,
            jitter: Span::ZERO,
            discipline: LinkDiscipline::DropTail,
        };
        let mut link = Pipe::new(config, no_errors());
        link.trace();
        (1..=3).for_each(|number| link.handle_input(packet(number), Instant::ZERO));
        assert_eq!(queued(&mut link, Instant::from_millis(11)), 2);
        let ms = Instant::from_millis;
        assert_eq!(link.take_trace(ms(30)), [(ms(0), 1), (ms(0), 2), (ms(12), 1), (ms(24), 0)]);
    }

    #[test]
    fn a_queue_in_bytes_counts_bytes() {
        let limit = QueueLimit::Bytes(Size::from_bytes(3000));
        let config = PipeConfig {
            rate: Some(Rate::from_bps(8)),
            delay: Span::ZERO,
            queue: limit,
            cut_through: false,
            cross: None,
            jitter: Span::ZERO,
            discipline: LinkDiscipline::DropTail,
        };
        let mut link = Pipe::new(config, no_errors());
        (1..=4).for_each(|number| link.handle_input(packet(number), Instant::ZERO));
        assert_eq!(link.statistics().dropped, 1);
    }

    #[test]
    fn jitter_delays_packets_and_keeps_their_order() {
        let config = PipeConfig {
            rate: None,
            delay: Span::from_millis(5),
            queue: QueueLimit::Packets(9),
            cut_through: false,
            cross: None,
            jitter: Span::from_millis(10),
            discipline: LinkDiscipline::DropTail,
        };
        let inputs: Vec<_> =
            (0..2_000).map(|number| (Instant::from_millis(3 * number), packet(number))).collect();
        let link = || Pipe::new(config, no_errors()).with_jitter(RandomStream::new(1, "jitter"));
        let done = check_machine(link, &inputs, Instant::from_secs(60));
        let numbers: Vec<_> = done.iter().map(|(_, output)| *output).collect();
        let in_order: Vec<_> = (0..2_000).map(|number| arrived(number, 3 * number)).collect();
        assert_eq!(numbers, in_order);
        // Exponential delays of 10 ms each; who waits for a slower one before it arrives with it, so the mean is higher.
        let delays = done.iter().zip(&inputs).map(|((out, _), (into, _))| *out - *into);
        let mean_ms = 1e3 * delays.sum::<Span>().as_secs_f64() / 2_000.0 - 5.0;
        assert!((10.0..25.0).contains(&mean_ms), "{mean_ms} ms");
    }

    /// 1500 bytes take 12 ms, packets of others 6 ms. Theirs come at 1, 11 (the queue is full), 21 and 31 ms:
    /// ```text
    /// in   1 c       2 x         c
    /// wire |----1----|-c-|----2----|-c-|
    /// ```
    #[test]
    fn cross_traffic_takes_its_place() {
        let ms = Instant::from_millis;
        let cross = CrossTraffic { first: ms(1), interval: Span::from_millis(10), bytes: 750 };
        let config = PipeConfig {
            rate: Some(Rate::from_bps(1_000_000)),
            delay: Span::ZERO,
            queue: QueueLimit::Packets(2),
            cut_through: false,
            cross: Some(cross),
            jitter: Span::ZERO,
            discipline: LinkDiscipline::DropTail,
        };
        let inputs = [(ms(0), packet(1)), (ms(10), packet(2)), (ms(11), packet(3))];
        let done = check_machine(|| Pipe::new(config, no_errors()), &inputs, Instant::from_secs(1));
        let dropped = (ms(11), PipeOutput::Dropped(packet(3)));
        assert_eq!(done, [dropped, (ms(12), arrived(1, 0)), (ms(30), arrived(2, 18))]);

        let mut link = Pipe::new(config, no_errors());
        inputs[..2].iter().for_each(|(at, packet)| link.handle_input(*packet, *at));
        // At 25 ms our second packet is under way and theirs of 21 ms waits.
        assert_eq!(queued(&mut link, ms(25)), 1);
    }
}
