//! A full-duplex point-to-point wireless link between a base station and one station, without a medium to share.
//!
//! Two [`Pipe`]s of the same rate and delay, with errors whose state they share ([`super::errors`]). The station's radio never
//! sleeps: it transmits while it sends, receives while a packet reaches it and it does not send, and listens otherwise.
//! Full duplex is the sources' assumption; where both directions are busy the radio is charged for transmitting alone.
//!
//! Left out: contention, acknowledgements of the link layer, power save. Those are the cell's ([`crate::media::cell`]).

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, QueueLimit, Rate, Span, Timeout};
use airwatt_energy::{Cause, Causes, Ledger, LowerBound, Radio, RadioState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::errors::{ErrorConfig, ErrorProcess};
use super::link_queue::LinkDiscipline;
use super::pipe::{Pipe, PipeConfig, PipeOutput, PipeTimer};
use crate::direction::Direction;
use crate::packet::{FlowLabel, Packet, cause_of};
use crate::pending::Pending;

/// A full-duplex wireless link between the base station and one station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PointToPoint")]
pub struct PointToPointConfig {
    /// Rate of each direction, counted over whole packets.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Span,
    /// Drop-tail queue before either transmitter; the packet in transmission is not counted.
    #[serde(default = "large_queue")]
    pub queue: QueueLimit,
    /// Whether a packet arrives `delay` after its first bit was sent instead of after its last.
    #[serde(default)]
    pub cut_through: bool,
    /// Which packets are damaged: `model`, and the settings of that model.
    #[serde(default)]
    pub errors: ErrorConfig,
}

/// The queue before a link where none is set.
pub(crate) const fn large_queue() -> QueueLimit {
    QueueLimit::Packets(1_000)
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointToPointInput {
    /// Down is towards the station.
    pub direction: Direction,
    /// The packet.
    pub packet: Packet,
}

/// What one of the directions does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointToPointOutput {
    /// Which one: down is towards the station.
    pub direction: Direction,
    /// What it does.
    pub output: PipeOutput,
}

/// Both directions.
#[derive(Clone, Debug)]
pub struct PointToPointMedium {
    config: PointToPointConfig,
    down: Pipe,
    up: Pipe,
    radio: RadioTime,
    begun: Instant,
}

impl PointToPointMedium {
    /// An idle link of the run with this seed, to a station with this radio. Its random streams are called after `name`.
    pub fn new(name: &str, config: PointToPointConfig, radio: &Radio, seed: u64) -> Self {
        let PointToPointConfig { rate, delay, queue, cut_through, .. } = config;
        let link = |direction| {
            let errors = ErrorProcess::new(config.errors.clone(), seed, name, direction);
            let (rate, jitter, discipline) = (Some(rate), Span::ZERO, LinkDiscipline::DropTail);
            let config = PipeConfig { rate, delay, queue, discipline, cut_through, cross: None, jitter };
            Pipe::new(config, errors)
        };
        let (down, up) = (link("down"), link("up"));
        Self { config, down, up, radio: RadioTime::new(radio), begun: Instant::ZERO }
    }

    /// Towards the station.
    pub const fn down(&self) -> &Pipe {
        &self.down
    }

    /// Away from the station.
    pub const fn up(&self) -> &Pipe {
        &self.up
    }

    /// The outputs and the timer of both directions together.
    pub(super) fn pending(&self) -> Pending {
        let [down, up] = [self.down.pending(), self.up.pending()];
        Pending { has_output: down.has_output || up.has_output, due: down.due.min(up.due) }
    }

    /// Keeps both queues' lengths over time from now on.
    pub fn trace(&mut self) {
        self.down.trace();
        self.up.trace();
    }

    /// What its traces so far occupy, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.down.kept_bytes() + self.up.kept_bytes()
    }

    /// The queues' lengths after each change, up to `now`: towards the station, and away from it.
    pub(crate) fn take_traces(&mut self, now: Instant) -> [Vec<(Instant, u32)>; 2] {
        [self.down.take_trace(now), self.up.take_trace(now)]
    }

    /// What the station's radio did up to `end`, the present time.
    pub fn ledger(&self, end: Instant) -> Ledger {
        let (transmitting, receiving) = self.radio.until(end);
        let mut ledger = Ledger::new(self.begun);
        ledger.spend(RadioState::Transmit, self.begun + transmitting);
        ledger.spend_awake(end, receiving);
        ledger
    }

    /// The ledger that the station's radio would have if it knew its own traffic, up to `end`, the present time. `radio` is the
    /// profile of [`PointToPointMedium::new`].
    pub fn lower_bound(&self, radio: &Radio, end: Instant) -> Ledger {
        let mut time = self.radio.clone();
        time.feed(end);
        time.bound.finish(radio, end).0
    }

    /// What the time of the station's radio was spent on up to `end`, the present time: packets of flows, or nothing.
    pub fn causes(&self, end: Instant) -> Causes {
        let mut time = self.radio.clone();
        time.feed(end);
        time.causes
    }

    /// How long at least one direction was busy up to `end`, as the station's radio sees it.
    pub fn busy(&self, end: Instant) -> Span {
        let (transmitting, receiving) = self.radio.until(end);
        transmitting + receiving
    }
}

impl Machine for PointToPointMedium {
    type Input = PointToPointInput;
    type Output = PointToPointOutput;
    type Reason = PipeTimer;

    fn handle_input(&mut self, input: PointToPointInput, now: Instant) {
        let link = match input.direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        let before = link.free_at.max(now);
        link.handle_input(input.packet, now);
        let after = link.free_at;
        if after <= before {
            return;
        }
        self.radio.forget(now);
        let flow = input.packet.flow;
        match input.direction {
            Direction::Down => {
                self.radio.receive(before + self.config.delay, after + self.config.delay, flow);
            }
            Direction::Up => self.radio.transmit(before, after, flow),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.down.handle_timeout(now);
        self.up.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<PointToPointOutput> {
        let down = self.down.poll_output().map(|output| (Direction::Down, output));
        let next = down.or_else(|| self.up.poll_output().map(|output| (Direction::Up, output)));
        next.map(|(direction, output)| PointToPointOutput { direction, output })
    }

    fn poll_timeout(&self) -> Option<Timeout<PipeTimer>> {
        [self.down.poll_timeout(), self.up.poll_timeout()]
            .into_iter()
            .flatten()
            .min_by_key(|timeout| timeout.at)
    }
}

/// Times with the flows of their packets, in order and apart.
type Periods = VecDeque<Period>;
type Period = (Instant, Instant, FlowLabel);

/// How long a radio transmits and receives, from periods that are known before they are over.
#[derive(Clone, Debug)]
struct RadioTime {
    transmitting: Span,
    receiving: Span,
    /// Receiving while transmitting.
    both: Span,
    /// Periods that are not over yet.
    transmissions: Periods,
    receptions: Periods,
    /// The account of a radio that knows its own traffic. The periods up to `fed` are in it, and in `causes`.
    bound: LowerBound,
    causes: Causes,
    fed: Instant,
}

impl RadioTime {
    fn new(radio: &Radio) -> Self {
        Self {
            transmitting: Span::ZERO,
            receiving: Span::ZERO,
            both: Span::ZERO,
            transmissions: Periods::new(),
            receptions: Periods::new(),
            bound: LowerBound::new(Instant::ZERO, radio),
            causes: Causes::default(),
            fed: Instant::ZERO,
        }
    }

    fn transmit(&mut self, from: Instant, to: Instant, flow: FlowLabel) {
        self.transmitting += to - from;
        self.both += overlap(&self.receptions, from, to);
        add(&mut self.transmissions, from, to, flow);
    }

    fn receive(&mut self, from: Instant, to: Instant, flow: FlowLabel) {
        self.receiving += to - from;
        self.both += overlap(&self.transmissions, from, to);
        add(&mut self.receptions, from, to, flow);
    }

    /// Adds the periods up to `now` to the lower bound and to the causes, in the order of time. Time in which the radio does both is transmission.
    fn feed(&mut self, now: Instant) {
        let next = |periods: &Periods, at: Instant| periods.iter().copied().find(|(_, to, _)| *to > at);
        while self.fed < now {
            let (sent, received) = (next(&self.transmissions, self.fed), next(&self.receptions, self.fed));
            let begins = |period: Option<Period>| period.map_or(now, |(from, ..)| from.min(now));
            let (send, receive) = (begins(sent), begins(received));
            let end = |period: Option<Period>| period.map_or(now, |(_, to, _)| to.min(now));
            let cause =
                |period: Option<Period>| period.map_or(Cause::External, |(_, _, flow)| cause_of(flow));
            let at = self.fed;
            if send <= at {
                self.fed = end(sent);
                self.bound.transmit(at, self.fed);
                self.causes.charge(cause(sent), RadioState::Transmit, self.fed - at);
            } else if receive <= at {
                self.fed = end(received).min(send);
                self.bound.receive(at, self.fed);
                self.causes.charge(cause(received), RadioState::Receive, self.fed - at);
            } else {
                self.fed = send.min(receive);
                self.causes.charge(Cause::Idle, RadioState::Listen, self.fed - at);
            }
        }
    }

    /// Periods over by `now` overlap nothing that is still to come.
    fn forget(&mut self, now: Instant) {
        self.feed(now);
        for periods in [&mut self.transmissions, &mut self.receptions] {
            while periods.front().is_some_and(|(_, to, _)| *to <= now) {
                periods.pop_front();
            }
        }
    }

    /// How long the radio transmitted, and how long it received and did not transmit, up to `end`.
    fn until(&self, end: Instant) -> (Span, Span) {
        let beyond = |periods: &Periods| overlap(periods, end, Instant::FOREVER);
        let both_beyond: Span = self
            .receptions
            .iter()
            .map(|&(from, to, _)| overlap(&self.transmissions, from.max(end), to))
            .sum();
        let transmitting = self.transmitting - beyond(&self.transmissions);
        let receiving = self.receiving - beyond(&self.receptions);
        (transmitting, receiving - (self.both - both_beyond))
    }
}

/// Adds a period behind the others; one that continues the last of the same flow is joined to it.
fn add(periods: &mut Periods, from: Instant, to: Instant, flow: FlowLabel) {
    match periods.back_mut() {
        Some(last) if last.1 == from && last.2 == flow => last.1 = to,
        _ => periods.push_back((from, to, flow)),
    }
}

/// How much of the time from `from` to `to` lies in `periods`.
fn overlap(periods: &Periods, from: Instant, to: Instant) -> Span {
    periods.iter().map(|&(start, end, _)| end.min(to).saturating_since(start.max(from))).sum()
}

#[cfg(test)]
mod tests {
    use airwatt_base::testkit::check_machine;

    use super::Direction::{Down, Up};
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
            errors: ErrorConfig::default(),
        }
    }

    /// Every state draws another power; the transitions take 1 ms each.
    fn radio() -> Radio {
        Radio::from_toml(
            "name = \"test\"\ndescription = \"\"\nsource = \"\"\ntransmit = \"7W\"\nreceive = \"5W\"\nlisten = \"3W\"\n\
             sleep = \"1W\"\nto_sleep = { time = \"1ms\", power = \"2W\" }\nwake_up = { time = \"1ms\", power = \"4W\" }\n",
            "test",
        )
        .unwrap()
    }

    /// A packet that takes `ms` milliseconds at 1 Mbit/s.
    fn packet(direction: Direction, ms: u32) -> PointToPointInput {
        let packet = Packet::datagram(0, 125 * ms, Instant::ZERO);
        PointToPointInput { direction, packet }
    }

    #[test]
    fn directions_do_not_wait_for_each_other() {
        let inputs = [(at(0), packet(Down, 10)), (at(0), packet(Up, 10)), (at(3), packet(Up, 2))];
        let done = check_machine(|| PointToPointMedium::new("link", config(), &radio(), 1), &inputs, at(100));
        let arrivals: Vec<_> = done.iter().map(|(when, output)| (*when, output.direction)).collect();
        assert_eq!(arrivals, [(at(15), Down), (at(15), Up), (at(17), Up)]);
    }

    /// ```text
    /// sends     0-----------10
    /// receives        5-----------15        (a packet of 10 ms that left at 0)
    /// ```
    #[test]
    fn the_radio_is_charged_once_for_two_things() {
        let mut duplex = PointToPointMedium::new("link", config(), &radio(), 1);
        duplex.handle_input(packet(Down, 10), at(0));
        duplex.handle_input(packet(Up, 10), at(0));
        for (end, transmit, receive) in [(3, 3, 0), (7, 7, 0), (12, 10, 2), (15, 10, 5), (20, 10, 5)] {
            let ledger = duplex.ledger(at(end));
            ledger.check(at(end));
            assert_eq!(ledger.duration(RadioState::Transmit), MS * transmit, "up to {end} ms");
            assert_eq!(ledger.duration(RadioState::Receive), MS * receive, "up to {end} ms");
        }
    }

    /// ```text
    /// sends     0-----------10             40-----44
    /// receives        5-----------15
    /// sleeps                        16--39           45---
    /// ```
    #[test]
    fn the_lower_bound_sleeps_between_packets() {
        let mut duplex = PointToPointMedium::new("link", config(), &radio(), 1);
        duplex.handle_input(packet(Down, 10), at(0));
        duplex.handle_input(packet(Up, 10), at(0));
        duplex.handle_input(packet(Up, 4), at(40));
        let ledger = duplex.lower_bound(&radio(), at(100));
        ledger.check(at(100));
        let expected = [14, 5, 0, 23 + 55, 2, 1].map(|ms| MS * ms);
        assert_eq!(RadioState::ALL.map(|state| ledger.duration(state)), expected);
        // The end of an account may cut a packet.
        let ledger = duplex.lower_bound(&radio(), at(42));
        ledger.check(at(42));
        assert_eq!(ledger.duration(RadioState::Transmit), MS * 12);
    }

    /// Periods that are over are forgotten, and the sums stay what they were.
    #[test]
    fn forgetting_changes_nothing() {
        let mut duplex = PointToPointMedium::new("link", config(), &radio(), 1);
        for step in 0..100 {
            duplex.handle_input(packet(if step % 3 == 0 { Up } else { Down }, 4), at(6 * step));
        }
        let ledger = duplex.ledger(at(1_000));
        ledger.check(at(1_000));
        // 34 packets up; 66 down, of which none meets one sent 6 ms before or after for longer than 3 ms.
        assert_eq!(ledger.duration(RadioState::Transmit), MS * (34 * 4));
        assert!(duplex.radio.transmissions.len() + duplex.radio.receptions.len() < 6);
        let overlaps: u64 = (0..100_u64).filter(|step| step % 3 != 0 && (step + 1) % 3 == 0).count() as u64;
        assert_eq!(ledger.duration(RadioState::Receive), MS * (66 * 4 - overlaps * 3));
    }
}
