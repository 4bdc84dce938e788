//! Both ends open connections at one time: their numbers cross on the hop, a flood takes all of them, and hosts answer late.

use std::collections::{BTreeMap, BTreeSet};

use etherparse::PacketBuilder;

use super::super::{
    ConnectFailure, ConnectionId, Opening, SplitProxy, SplitProxyConfig, SplitProxyInput as In,
    SplitProxyOutput as Out, Why,
};
use crate::e2tcp::{Addresses, E2tcpConfig};
use airwatt_base::{Instant, Machine as _, RandomStream, Span};

/// The mobile's end, and the base station's.
const M: usize = 0;
const B: usize = 1;
/// The port that is open at every host.
const OPEN: u16 = 80;
const HOP: Span = Span::from_millis(5);
/// The addresses of the hosts behind either end: that of the mobile is the lower or the higher one, which decides whose number stands.
const ORDERS: [[[u8; 4]; 2]; 2] = [[[10, 0, 0, 2], [192, 0, 2, 1]], [[192, 168, 1, 23], [10, 0, 0, 1]]];

#[derive(Clone)]
enum Event {
    Message(usize, Vec<u8>),
    /// The host beyond has answered.
    Answer(usize, In),
    Open(usize, Opening),
}

/// Two proxies, and hosts behind them.
struct World {
    now: Instant,
    ends: [SplitProxy; 2],
    hosts: [[u8; 4]; 2],
    events: BTreeMap<(Instant, u64), Event>,
    order: u64,
    draw: RandomStream,
    /// The shares of messages that are lost and that come twice, and by how much they may be late.
    badness: (f64, f64, Span),
    /// Whether nothing reaches an end.
    is_cut: [bool; 2],
    /// Time in which hosts answer.
    answer: Span,
    refused: Vec<Addresses>,
    passed: usize,
    /// Why connections were not relayed to their end.
    notes: Vec<Why>,
    /// Connections that the host beyond each end has.
    sockets: [BTreeSet<ConnectionId>; 2],
}

impl World {
    fn new(hosts: [[u8; 4]; 2], seed: u64) -> Self {
        let config = |end: usize| {
            let wireless = E2tcpConfig { linger: Span::from_secs(1), ..E2tcpConfig::default() };
            SplitProxyConfig {
                wireless,
                epoch: end as u64,
                asks_first: end == M,
                ..SplitProxyConfig::default()
            }
        };
        Self {
            now: Instant::ZERO,
            ends: [M, B].map(|end| SplitProxy::new(config(end), 1)),
            hosts,
            events: BTreeMap::new(),
            order: 0,
            draw: RandomStream::new(seed, "crossing"),
            badness: (0.0, 0.0, Span::ZERO),
            is_cut: [false; 2],
            answer: Span::from_millis(10),
            refused: Vec::new(),
            passed: 0,
            notes: Vec::new(),
            sockets: Default::default(),
        }
    }

    /// Puts an event behind those of the same time.
    fn at(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    /// The host behind an end opens a connection to a port of the one behind the other.
    fn open(&mut self, at: Instant, end: usize, from: u16, to: u16) {
        let mut bytes = Vec::new();
        let ip = PacketBuilder::ipv4(self.hosts[end], self.hosts[1 - end], 64);
        ip.tcp(from, to, 7, 64_000).syn().write(&mut bytes, &[]).unwrap();
        self.at(at, Event::Open(end, Opening::parse(&bytes).unwrap()));
    }

    fn send(&mut self, to: usize, bytes: &[u8]) {
        let (loss, copies, late) = self.badness;
        let count = if self.is_cut[to] || self.draw.chance(loss) {
            0
        } else {
            1 + usize::from(self.draw.chance(copies))
        };
        for _ in 0..count {
            let late = Span::from_nanos((self.draw.unit() * late.as_nanos() as f64) as u64);
            self.at(self.now + HOP + late, Event::Message(to, bytes.to_vec()));
        }
    }

    fn carry_out(&mut self, end: usize, output: Out) {
        match output {
            Out::Transmit(_, bytes, _) => self.send(1 - end, &bytes),
            Out::Connect(id, _, addresses) => {
                let answer = match addresses.receiver().port {
                    OPEN => In::Connected(id),
                    _ => In::Failed(id, ConnectFailure::Refused),
                };
                self.at(self.now + self.answer, Event::Answer(end, answer));
            }
            Out::Admit(id, _) => self.at(self.now, Event::Answer(end, In::Accepted(id))),
            Out::Refuse(opening) => self.refused.push(opening.addresses()),
            Out::Pass(_) => self.passed += 1,
            Out::Reset(id) => {
                self.sockets[end].remove(&id);
            }
            _ => {}
        }
    }

    fn run(&mut self, span: Span) {
        let until = self.now + span;
        loop {
            let due = |end: usize| self.ends[end].poll_timeout().map_or(Instant::FOREVER, |at| at.at);
            let event = self.events.keys().next().map_or(Instant::FOREVER, |(at, _)| *at);
            let next = event.min(due(M)).min(due(B));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            let end = if event == next {
                let (_, event) = self.events.pop_first().unwrap();
                let (end, input) = match event {
                    Event::Message(end, bytes) => (end, In::Message(0, bytes)),
                    Event::Answer(end, input) => {
                        if let In::Connected(id) = input {
                            self.sockets[end].insert(id);
                        }
                        (end, input)
                    }
                    Event::Open(end, opening) => (end, In::Opening(0, opening)),
                };
                self.ends[end].handle_input(input, next);
                end
            } else {
                let end = if due(M) == next { M } else { B };
                self.ends[end].handle_timeout(next);
                end
            };
            while let Some(output) = self.ends[end].poll_output() {
                self.carry_out(end, output);
            }
            self.ends[end].take_changed();
            self.notes.extend(self.ends[end].take_notes().into_iter().map(|note| note.why));
        }
    }

    /// Nothing that was opened to an open port was refused, no end has a connection that the other one does not have, and no host one
    /// that its end does not have.
    fn check(&self, case: &str) {
        let wrong: Vec<_> =
            self.refused.iter().filter(|addresses| addresses.receiver().port == OPEN).collect();
        assert!(wrong.is_empty(), "{case}: refused {wrong:?}");
        let rows = |end: usize| {
            let rows = self.ends[end].rows();
            rows.map(|row| (row.addresses, row.stands)).collect::<BTreeSet<_>>()
        };
        let differ: Vec<_> = rows(M).symmetric_difference(&rows(B)).copied().collect();
        assert!(differ.is_empty(), "{case}: one end has {differ:?}");
        assert!(rows(M).iter().all(|(_, stands)| *stands), "{case}: {:?}", rows(M));
        for end in [M, B] {
            let of_peer = self.ends[end].rows().filter(|row| !row.is_own).map(|row| row.id);
            assert_eq!(of_peer.collect::<BTreeSet<_>>(), self.sockets[end], "{case}: sockets of {end}");
        }
    }
}

/// The host beyond answers when the flood has taken every number that was free as the opening came.
#[test]
fn numbers_that_run_out_while_a_host_is_asked_refuse_nothing() {
    for hosts in ORDERS {
        for end in [M, B] {
            let mut world = World::new(hosts, 1);
            world.open(Instant::ZERO, end, 1_000, OPEN);
            for port in 0..300 {
                world.open(Instant::from_millis(8), 1 - end, 2_000 + port, 2_000 + port);
            }
            world.run(Span::from_secs(3));
            world.check(&format!("{hosts:?} {end}"));
            assert_eq!(
                (world.ends[M].connections(), world.passed),
                ((1, 0), 45),
                "it has the number it was promised"
            );
        }
    }
}

/// Each end proposes the number that the other one proposes, for another connection, and hosts answer after that.
#[test]
fn one_number_for_two_connections_becomes_two() {
    for hosts in ORDERS {
        for port in [OPEN, 81] {
            let mut world = World::new(hosts, 1);
            for (end, to) in [(M, OPEN), (B, port)] {
                world.open(Instant::ZERO, end, 1_000, to);
            }
            world.run(Span::from_millis(100));
            world.check(&format!("{hosts:?} {port}"));
            assert_eq!(world.ends[M].connections().0, if port == OPEN { 2 } else { 1 });
        }
    }
}

/// The base station hears the mobile, and nothing of the connection that it has opened.
#[test]
fn an_answer_that_the_other_end_does_not_confirm_ends_in_seconds() {
    let mut world = World::new(ORDERS[0], 1);
    world.open(Instant::ZERO, M, 1_000, OPEN);
    world.run(HOP * 2);
    world.is_cut[B] = true;
    for _ in 0..12 {
        world.run(Span::from_secs(1));
        world.ends[B].handle_input(In::SignOfLife(0), world.now);
    }
    world.check("the number is free, and the server has no connection");
    assert_eq!(world.notes, [Why::PeerTimedOut, Why::PeerReset]);
}

/// Openings in both directions, most of them to closed ports, over a hop that loses, repeats and reorders for five seconds. In half of the
/// worlds they are so many that the numbers do not suffice.
#[test]
fn openings_of_both_ends_over_a_bad_hop_end_alike_at_both() {
    let (mut passed, mut timed_out) = (0, 0);
    for seed in 0..60 {
        let mut world = World::new(ORDERS[seed as usize % 2], seed);
        world.badness = (0.1, 0.2, Span::from_millis(20));
        world.answer = Span::from_millis(1 + seed % 7 * 5);
        let mut at = Instant::ZERO;
        for port in 0..600 {
            at += Span::from_micros(u64::from(port % 3) * if seed % 4 < 2 { 100 } else { 1_000 });
            let to = if port % 5 == 0 { OPEN } else { 2_000 + port };
            world.open(at, usize::from(port % 4 != 0), 1_000 + port, to);
        }
        world.run(Span::from_secs(5));
        world.badness = (0.0, 0.0, Span::ZERO);
        world.run(Span::from_secs(60));
        world.check(&format!("seed {seed}"));
        passed += world.passed;
        timed_out += world.notes.iter().filter(|why| **why == Why::PeerTimedOut).count();
    }
    // Of 36,000.
    assert!(passed > 1_000 && timed_out < 36, "{passed} passed, {timed_out} were not agreed on at once");
}
