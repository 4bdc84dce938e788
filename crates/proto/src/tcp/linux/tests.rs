//! Two ends over a path that loses, repeats and delays packets, and the contract of machines.

use std::collections::BTreeMap;

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, Seq, Span};
use proptest::prelude::*;

use super::*;
use crate::cc::AckLossConfig;
use crate::event::Event;
use crate::tcp::State;

/// Two ends and the packets between them.
struct Pair {
    now: Instant,
    ends: [Connection; 2],
    path: BTreeMap<(Instant, u64), (usize, Packet)>,
    order: u64,
    delivered: [u64; 2],
    closed: [bool; 2],
    /// What happens to each packet in turn: 0 it is lost, 1 it comes twice, 2 it comes late, otherwise it arrives.
    fates: Vec<u8>,
    /// Each so manieth acknowledgement of the second end is lost; none if it is zero.
    loses_each: u64,
}

impl Pair {
    fn new(config: &LinuxConfig, fates: Vec<u8>) -> Self {
        let end =
            |seq: u32| Connection::new(LinuxConfig { initial_sequence: Seq::new(seq), ..config.clone() });
        let ends = [end(0xffff_0000), end(77)];
        let (delivered, closed) = ([0; 2], [false; 2]);
        Self {
            now: Instant::ZERO,
            ends,
            path: BTreeMap::new(),
            order: 0,
            delivered,
            closed,
            fates,
            loses_each: 0,
        }
    }

    fn input(&mut self, who: usize, input: Input) {
        self.ends[who].handle_input(input, self.now);
        self.settle(who);
    }

    fn settle(&mut self, who: usize) {
        while let Some(output) = self.ends[who].poll_output() {
            match output {
                Output::Transmit(packet) => self.transmit(who, packet),
                Output::Event(Event::Delivered { bytes }) => self.delivered[who] += bytes,
                Output::Event(Event::Closed) => self.closed[who] = true,
                Output::Event(Event::PeerClosed) => {
                    self.ends[who].handle_input(Input::Close, self.now);
                }
                Output::Event(_) => {}
            }
        }
    }

    fn transmit(&mut self, who: usize, packet: Packet) {
        self.order += 1;
        if who == 1 && packet.len == 0 && self.loses_each > 0 && self.order.is_multiple_of(self.loses_each) {
            return;
        }
        let fate = self.fates.get(self.order as usize % self.fates.len().max(1)).copied().unwrap_or(9);
        let arrives = self.now + Span::from_millis(20);
        let times: &[u64] = match fate {
            0 => &[],
            1 => &[0, 3],
            2 => &[15],
            _ => &[0],
        };
        for late in times {
            self.order += 1;
            self.path.insert((arrives + Span::from_millis(*late), self.order), (1 - who, packet));
        }
    }

    /// Runs until nothing happens any more. Returns the time.
    fn run_out(&mut self) -> Instant {
        for _ in 0..200_000 {
            if !self.step() {
                return self.now;
            }
        }
        panic!("never ends");
    }

    /// Runs for so many milliseconds.
    fn run_for(&mut self, millis: u64) {
        let until = self.now + Span::from_millis(millis);
        while self.next().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = until;
    }

    /// When something happens next.
    fn next(&self) -> Option<Instant> {
        let timers = self.ends.iter().filter_map(|end| end.poll_timeout().map(|timeout| timeout.at));
        self.path.keys().map(|(at, _)| *at).take(1).chain(timers).min()
    }

    /// Does what happens next. Returns whether there was something.
    fn step(&mut self) -> bool {
        let Some(next) = self.next() else { return false };
        self.now = self.now.max(next);
        if self.path.first_key_value().is_some_and(|((at, _), _)| *at == next) {
            let (_, (who, packet)) = self.path.pop_first().expect("an arrival");
            self.input(who, Input::Packet(packet));
        } else {
            let first = self.ends[0].poll_timeout().map(|timeout| timeout.at);
            let who = usize::from(first != Some(next));
            self.ends[who].handle_timeout(self.now);
            self.settle(who);
        }
        true
    }

    /// Opens the connection, sends so many bytes each way, and closes it.
    fn transfer(&mut self, bytes: [u64; 2]) {
        self.input(1, Input::Listen);
        self.input(0, Input::Open);
        let mut left = bytes;
        while left != [0, 0] || self.ends[0].state() == State::SynSent {
            for (who, left) in left.iter_mut().enumerate() {
                let is_open = matches!(self.ends[who].state(), State::Established | State::CloseWait);
                let part = if is_open { (*left).min(self.ends[who].room()) } else { 0 };
                if part > 0 {
                    *left -= part;
                    self.input(who, Input::Write { bytes: part, more: false, record: false });
                }
            }
            let before = self.now;
            if self.run_out() == before && left != [0, 0] {
                break;
            }
        }
        self.input(0, Input::Close);
        self.run_out();
    }
}

fn write(bytes: u64) -> Input {
    Input::Write { bytes, more: false, record: false }
}

/// A window update that is lost leaves a closed window, of which each probe asks, and the answer opens it.
#[test]
fn a_lost_window_update_is_asked_for() {
    let config =
        LinuxConfig { read_at_once: false, receive_buffer: (20_000, 20_000), ..LinuxConfig::default() };
    let mut pair = Pair::new(&config, Vec::new());
    pair.input(1, Input::Listen);
    pair.input(0, Input::Open);
    pair.run_for(100);
    pair.input(0, write(12_000));
    pair.run_for(100);
    assert!(pair.ends[1].readable() < 12_000, "the window is closed");
    pair.input(1, Input::Read(20_000));
    // The update is lost.
    pair.path.clear();
    pair.run_for(2_000);
    assert_eq!(pair.delivered[1], 12_000);
}

/// Both ends of an idle connection ask each other and are answered for as long as it lasts.
#[test]
fn keep_alives_are_answered() {
    let keep_alive = Some(KeepAlive { time: Span::from_secs(10), interval: Span::from_secs(1), probes: 2 });
    let mut pair = Pair::new(&LinuxConfig { keep_alive, ..LinuxConfig::default() }, Vec::new());
    pair.input(1, Input::Listen);
    pair.input(0, Input::Open);
    pair.run_for(3_600_000);
    assert_eq!([pair.ends[0].state(), pair.ends[1].state()], [State::Established; 2]);
    // A peer that is gone is not.
    pair.fates = vec![0];
    pair.run_for(13_000);
    assert_eq!([pair.ends[0].state(), pair.ends[1].state()], [State::Closed; 2]);
}

#[test]
fn a_transfer_without_losses_is_complete() {
    let mut pair = Pair::new(&LinuxConfig::default(), Vec::new());
    pair.transfer([300_000, 20_000]);
    assert_eq!(pair.delivered, [20_000, 300_000]);
    assert_eq!(pair.closed, [true, true]);
}

/// Downloads of 3 MB: how many acknowledgements count as lost, and how often the window was halved for them.
fn with_lost_acknowledgements(control: Control, loses_each: u64) -> (u64, u64) {
    let ackloss = Some(AckLossConfig::default());
    let config = LinuxConfig { control, ackloss, gso_max_size: 0, ..LinuxConfig::default() };
    let mut pair = Pair { loses_each, ..Pair::new(&config, Vec::new()) };
    pair.transfer([3_000_000, 0]);
    assert_eq!(pair.delivered, [0, 3_000_000]);
    pair.ends[0].ack_losses()
}

#[test]
fn lost_acknowledgements_and_nothing_else_halve_the_window() {
    for control in [Control::Reno, Control::Cubic] {
        assert_eq!(with_lost_acknowledgements(control, 0), (0, 0), "{control:?}");
        let (losses, halvings) = with_lost_acknowledgements(control, 9);
        assert!(losses > 10 && halvings > 0, "{control:?}: {losses} losses, {halvings} halvings");
    }
}

/// The times in milliseconds after which one segment each 100 ms is acknowledged by an application that reads at once.
fn waits(bytes: u64) -> Vec<u64> {
    let mut pair = Pair::new(&LinuxConfig::default(), Vec::new());
    pair.input(1, Input::Listen);
    pair.input(0, Input::Open);
    pair.run_out();
    let mut waits = Vec::new();
    for _ in 0..30 {
        let begin = pair.now;
        pair.input(0, write(bytes));
        while pair.ends[0].unacknowledged() > 0 {
            pair.step();
        }
        waits.push((pair.now - begin).as_nanos() / 1_000_000);
        pair.run_out();
        pair.now = begin + Span::from_millis(100);
    }
    waits
}

/// A segment that ends a write has PSH and is acknowledged when it is read, also after the first quick acknowledgements
/// (`tcp_cleanup_rbuf`).
#[test]
fn the_end_of_a_write_is_acknowledged_when_it_is_read() {
    assert_eq!(waits(1448), vec![40; 30]);
    assert_eq!(waits(100), vec![40; 30]);
}

/// A power-save policy closes the peer's window, and opens it for two segments and then without limit. What was in flight arrives.
#[test]
fn a_window_is_opened_by_grants() {
    let mut pair = Pair::new(&LinuxConfig { gso_max_size: 0, ..LinuxConfig::default() }, Vec::new());
    pair.input(1, Input::Listen);
    pair.input(0, Input::Open);
    pair.run_out();
    pair.input(1, Input::Grant(Some(0)));
    pair.run_for(150);
    pair.input(0, write(20_000));
    for (bytes, delivered) in [(Some(0), 0), (Some(3000), 2896), (Some(0), 2896), (None, 20_000)] {
        pair.input(1, Input::Grant(bytes));
        pair.run_for(150);
        assert_eq!(pair.delivered[1], delivered, "{bytes:?}");
    }
}

#[test]
fn a_device_that_refuses_packets_is_tried_again() {
    let mut pair = Pair::new(&LinuxConfig::default(), Vec::new());
    pair.input(1, Input::Listen);
    pair.input(0, Input::Open);
    pair.run_out();
    pair.input(0, Input::Device { refuses: true });
    pair.input(0, write(5000));
    let begin = pair.now;
    for _ in 0..20 {
        let due = pair.ends[0].poll_timeout().expect("a retry").at;
        pair.now = due;
        pair.ends[0].handle_timeout(due);
        assert_eq!(pair.ends[0].poll_output(), None);
    }
    assert!(pair.now - begin < Span::from_secs(12), "retries do not back off");
    pair.input(0, Input::Device { refuses: false });
    pair.run_out();
    assert_eq!(pair.delivered, [0, 5000]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the path does to a part of the packets, all bytes arrive once and both ends close.
    #[test]
    fn every_byte_arrives(
        fates in proptest::collection::vec(0_u8..24, 37..120),
        sack: bool,
        timestamps: bool,
        cubic: bool,
        offload: bool,
    ) {
        let config = LinuxConfig {
            sack,
            timestamps,
            control: if cubic { Control::Cubic } else { Control::Reno },
            gso_max_size: if offload { 65_536 } else { 0 },
            ..LinuxConfig::default()
        };
        let mut pair = Pair::new(&config, fates);
        pair.transfer([150_000, 10_000]);
        prop_assert_eq!(pair.delivered, [10_000, 150_000]);
        prop_assert!(pair.closed[0] && pair.closed[1]);
    }

    /// Arbitrary packets neither panic nor break the contract.
    #[test]
    fn arbitrary_packets_keep_the_contract(
        packets in proptest::collection::vec(
            (0_u64..400, prop_oneof![4 => 0_u32..9000, 1 => any::<u32>()], prop_oneof![4 => 0_u32..9000, 1 => any::<u32>()],
             any::<u16>(), 0_u32..3000, any::<u16>(), proptest::option::of((0_u32..9000, 0_u32..9000)), 0_u8..4),
            0..40,
        ),
        passive: bool,
        agreed in 0_u8..6,
    ) {
        let mut at = Instant::ZERO;
        let first = if passive { Input::Listen } else { Input::Open };
        let mut inputs = vec![(at, first)];
        let mut options = Options { mss: Some(1000), sack_permitted: true, ..Options::default() };
        let flags = bits::SYN | bits::CWR | if passive { bits::AE | bits::ECE } else { bits::ACK };
        let packet = |seq, ack, window, len, flags, options, ecn| {
            Input::Packet(Packet { seq: Seq::new(seq), ack: Seq::new(ack), window, len, flags, ecn, urgent: 0, options })
        };
        inputs.push((at, packet(0, 1, 9000, 0, flags, options, 0)));
        inputs.push((at, packet(1, 1, 9000, 0, bits::ACK, Options::default(), 0)));
        inputs.push((at, write(8000)));
        for (later, seq, ack, window, len, flags, block, ecn) in packets {
            at += Span::from_millis(later);
            options = Options::default();
            if let Some((start, end)) = block {
                options.sack.push(Seq::new(start), Seq::new(end));
            }
            let flags = if flags < 50_000 { bits::ACK | (flags & (bits::PSH | bits::ACE)) } else { flags };
            inputs.push((at, packet(seq, ack, window, len, flags, options, ecn)));
        }
        inputs.push((at, Input::Read(1000)));
        inputs.push((at, Input::Grant(Some(500))));
        inputs.push((at, Input::Close));
        let config = LinuxConfig { ecn: agreed, keep_alive: Some(KeepAlive::default()), ..LinuxConfig::default() };
        check_machine(|| Connection::new(config.clone()), &inputs, Instant::from_secs(4000));
    }
}
