//! A full-duplex point-to-point wireless link between a base station and one station, without a medium to share.
//!
//! Two [`Pipe`]s of the same rate and delay, with errors whose state they share ([`super::errors`]). The station's radio never
//! sleeps: it transmits while it sends, receives while a packet reaches it and it does not send, and listens otherwise.
//! Full duplex is the sources' assumption; where both directions are busy the radio is charged for transmitting alone.
//!
//! Left out: contention, acknowledgements of the link layer, power save. Those are the cell's ([`crate::media::cell`]).

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, QueueLimit, Rate, Span, Timeout};
use airwatt_energy::{Ledger, State};

use super::errors::{ErrorConfig, ErrorModel};
use super::pipe::{Pipe, PipeConfig, PipeOutput, PipeTimer};
use crate::net::packet::Packet;

/// What a point-to-point link is like.
#[derive(Clone, Debug, PartialEq)]
pub struct PointToPointConfig {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Span,
    /// What waits for either transmitter at most.
    pub queue: QueueLimit,
    /// A packet arrives `delay` after its first bit left ([`PipeConfig::cut_through`]).
    pub cut_through: bool,
    /// Which packets are damaged.
    pub errors: ErrorConfig,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointToPointInput {
    /// Towards the station.
    pub down: bool,
    /// The packet.
    pub packet: Packet,
}

/// What one of the directions does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointToPointOutput {
    /// The direction towards the station.
    pub down: bool,
    /// What it does.
    pub output: PipeOutput,
}

/// Both directions.
#[derive(Clone, Debug)]
pub struct PointToPoint {
    config: PointToPointConfig,
    down: Pipe,
    up: Pipe,
    radio: RadioTime,
    begun: Instant,
}

impl PointToPoint {
    /// An idle link of the run with this seed.
    pub fn new(config: PointToPointConfig, seed: u64) -> Self {
        let PointToPointConfig { rate, delay, queue, cut_through, .. } = config;
        let link = |direction| {
            let errors = ErrorModel::new(config.errors.clone(), seed, "link", direction);
            Pipe::new(PipeConfig { rate: Some(rate), delay, queue, cut_through, cross: None }, errors)
        };
        let (down, up) = (link("down"), link("up"));
        Self { config, down, up, radio: RadioTime::default(), begun: Instant::ZERO }
    }

    /// Towards the station.
    pub const fn down(&self) -> &Pipe {
        &self.down
    }

    /// Away from the station.
    pub const fn up(&self) -> &Pipe {
        &self.up
    }

    /// Keeps both queues' lengths over time from now on.
    pub fn trace(&mut self) {
        self.down.trace();
        self.up.trace();
    }

    /// The queues' lengths after each change, up to `now`: towards the station, and away from it.
    pub fn take_traces(&mut self, now: Instant) -> [Vec<(Instant, u32)>; 2] {
        [self.down.take_trace(now), self.up.take_trace(now)]
    }

    /// What the station's radio did up to `end`, the present time.
    pub fn ledger(&self, end: Instant) -> Ledger {
        let (transmitting, receiving) = self.radio.until(end);
        let mut ledger = Ledger::new(self.begun);
        ledger.spend(State::Transmit, self.begun + transmitting);
        ledger.spend_awake(end, receiving);
        ledger
    }

    /// How long at least one direction was busy up to `end`, as the station's radio sees it.
    pub fn busy(&self, end: Instant) -> Span {
        let (transmitting, receiving) = self.radio.until(end);
        transmitting + receiving
    }
}

impl Machine for PointToPoint {
    type Input = PointToPointInput;
    type Output = PointToPointOutput;
    type Reason = PipeTimer;

    fn handle_input(&mut self, input: PointToPointInput, now: Instant) {
        let link = if input.down { &mut self.down } else { &mut self.up };
        let before = link.free_at().max(now);
        link.handle_input(input.packet, now);
        let after = link.free_at();
        if after <= before {
            return;
        }
        self.radio.forget(now);
        if input.down {
            self.radio.receive(before + self.config.delay, after + self.config.delay);
        } else {
            self.radio.transmit(before, after);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.down.handle_timeout(now);
        self.up.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<PointToPointOutput> {
        if let Some(output) = self.down.poll_output() {
            return Some(PointToPointOutput { down: true, output });
        }
        self.up.poll_output().map(|output| PointToPointOutput { down: false, output })
    }

    fn poll_timeout(&self) -> Option<Timeout<PipeTimer>> {
        [self.down.poll_timeout(), self.up.poll_timeout()]
            .into_iter()
            .flatten()
            .min_by_key(|timeout| timeout.at)
    }
}

/// Times, in order and apart.
type Periods = VecDeque<(Instant, Instant)>;

/// How long a radio transmits and receives, from periods that are known before they are over.
#[derive(Clone, Debug, Default)]
struct RadioTime {
    transmitting: Span,
    receiving: Span,
    /// Receiving while transmitting.
    both: Span,
    /// Periods that are not over yet.
    transmissions: Periods,
    receptions: Periods,
}

impl RadioTime {
    fn transmit(&mut self, from: Instant, to: Instant) {
        self.transmitting += to - from;
        self.both += overlap(&self.receptions, from, to);
        add(&mut self.transmissions, from, to);
    }

    fn receive(&mut self, from: Instant, to: Instant) {
        self.receiving += to - from;
        self.both += overlap(&self.transmissions, from, to);
        add(&mut self.receptions, from, to);
    }

    /// Periods over by `now` overlap nothing that is still to come.
    fn forget(&mut self, now: Instant) {
        for periods in [&mut self.transmissions, &mut self.receptions] {
            while periods.front().is_some_and(|(_, to)| *to <= now) {
                periods.pop_front();
            }
        }
    }

    /// How long the radio transmitted, and how long it received and did not transmit, up to `end`.
    fn until(&self, end: Instant) -> (Span, Span) {
        let beyond = |periods: &Periods| overlap(periods, end, Instant::FOREVER);
        let both_beyond: Span =
            self.receptions.iter().map(|&(from, to)| overlap(&self.transmissions, from.max(end), to)).sum();
        let transmitting = self.transmitting - beyond(&self.transmissions);
        let receiving = self.receiving - beyond(&self.receptions);
        (transmitting, receiving - (self.both - both_beyond))
    }
}

/// Adds a period behind the others; one that continues the last is joined to it.
fn add(periods: &mut Periods, from: Instant, to: Instant) {
    match periods.back_mut() {
        Some(last) if last.1 == from => last.1 = to,
        _ => periods.push_back((from, to)),
    }
}

/// How much of the time from `from` to `to` lies in `periods`.
fn overlap(periods: &Periods, from: Instant, to: Instant) -> Span {
    periods.iter().map(|&(start, end)| end.min(to).saturating_since(start.max(from))).sum()
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;

    use super::*;

    const MS: Span = Span::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn config() -> PointToPointConfig {
        PointToPointConfig {
            rate: Rate::from_bps(1_000_000),
            delay: MS * 5,
            queue: QueueLimit::Packets(10),
            cut_through: false,
            errors: ErrorConfig::None,
        }
    }

    /// A packet that takes `ms` milliseconds at 1 Mbit/s.
    fn packet(down: bool, ms: u32) -> PointToPointInput {
        let packet = Packet::datagram(0, 125 * ms, Instant::ZERO);
        PointToPointInput { down, packet }
    }

    #[test]
    fn directions_do_not_wait_for_each_other() {
        let inputs = [(at(0), packet(true, 10)), (at(0), packet(false, 10)), (at(3), packet(false, 2))];
        let done = check_machine(|| PointToPoint::new(config(), 1), &inputs, at(100));
        let arrivals: Vec<_> = done.iter().map(|(when, output)| (*when, output.down)).collect();
        assert_eq!(arrivals, [(at(15), true), (at(15), false), (at(17), false)]);
    }

    /// ```text
    /// sends     0-----------10
    /// receives        5-----------15        (a packet of 10 ms that left at 0)
    /// ```
    #[test]
    fn the_radio_is_charged_once_for_two_things() {
        let mut duplex = PointToPoint::new(config(), 1);
        duplex.handle_input(packet(true, 10), at(0));
        duplex.handle_input(packet(false, 10), at(0));
        for (end, transmit, receive) in [(3, 3, 0), (7, 7, 0), (12, 10, 2), (15, 10, 5), (20, 10, 5)] {
            let ledger = duplex.ledger(at(end));
            ledger.check(at(end));
            assert_eq!(ledger.duration(State::Transmit), MS * transmit, "up to {end} ms");
            assert_eq!(ledger.duration(State::Receive), MS * receive, "up to {end} ms");
        }
    }

    /// Periods that are over are forgotten, and the sums stay what they were.
    #[test]
    fn forgetting_changes_nothing() {
        let mut duplex = PointToPoint::new(config(), 1);
        for step in 0..100 {
            duplex.handle_input(packet(step % 3 != 0, 4), at(6 * step));
        }
        let ledger = duplex.ledger(at(1_000));
        ledger.check(at(1_000));
        // 34 packets up; 66 down, of which none meets one sent 6 ms before or after for longer than 3 ms.
        assert_eq!(ledger.duration(State::Transmit), MS * (34 * 4));
        assert!(duplex.radio.transmissions.len() + duplex.radio.receptions.len() < 6);
        let overlaps: u64 = (0..100_u64).filter(|step| step % 3 != 0 && (step + 1) % 3 == 0).count() as u64;
        assert_eq!(ledger.duration(State::Receive), MS * (66 * 4 - overlaps * 3));
    }
}
