//! The association between two tunnels: over a path with losses, after a restart, and what it costs when idle.

use std::collections::BTreeSet;

use airwatt_base::{Machine, Timeout};

use super::packet::{crc32c, joined, may_wait};
use super::*;
use crate::tunnel::tests::Packet;
use crate::tunnel::{Input, Output, Tunnel, TunnelConfig, TunnelEnd};

/// One-way delay of the path.
const DELAY: Span = Span::from_millis(5);

impl InnerMessage for Packet {
    fn to_payload(&self) -> Vec<u8> {
        let mut payload = vec![0; self.bytes as usize];
        payload[..2].copy_from_slice(&self.flow.to_be_bytes());
        payload[2..6].copy_from_slice(&self.number.to_be_bytes());
        payload
    }

    fn from_payload(payload: Vec<u8>) -> Option<Self> {
        let flow = u16::from_be_bytes(payload.get(..2)?.try_into().ok()?);
        let number = u32::from_be_bytes(payload.get(2..6)?.try_into().ok()?);
        Some(Self { flow, number, bytes: payload.len() as u32 })
    }

    fn stream(&self) -> u16 {
        self.flow
    }
}

/// Two ends with a path between them, from which datagrams are lost by chance.
struct Pair {
    ends: [Tunnel<Sctp<Packet>>; 2],
    reliability: Reliability,
    now: Instant,
    /// Datagrams on the way: when they arrive, and where.
    path: VecDeque<(Instant, usize, Vec<u8>)>,
    loss: f64,
    chance: RandomStream,
    /// What each end transmitted, delivered and gave up.
    sent: [Vec<(Instant, Vec<u8>)>; 2],
    delivered: [Vec<Packet>; 2],
    abandoned: [Vec<Packet>; 2],
}

fn end(reliability: Reliability, index: usize, seed: u64) -> Tunnel<Sctp<Packet>> {
    let config = SctpConfig { packet_bytes: 1_400 + OVERHEAD_BYTES as usize, bundle: true, reliability };
    let association = Sctp::new(config, RandomStream::new(seed, &format!("end/{index}")));
    Tunnel::new(TunnelConfig::default(), [TunnelEnd::Client, TunnelEnd::Concentrator][index], association)
}

impl Pair {
    fn new(reliability: Reliability, loss: f64) -> Self {
        Self {
            ends: [0, 1].map(|index| end(reliability, index, 7)),
            reliability,
            now: Instant::ZERO,
            path: VecDeque::new(),
            loss,
            chance: RandomStream::new(1, "path"),
            sent: Default::default(),
            delivered: Default::default(),
            abandoned: Default::default(),
        }
    }

    fn input(&mut self, index: usize, input: Input<Packet, Vec<u8>>) {
        self.ends[index].handle_input(input, self.now);
        self.collect(index);
    }

    fn collect(&mut self, index: usize) {
        while let Some(output) = self.ends[index].poll_output() {
            match output {
                Output::Transmit(bytes) => {
                    self.sent[index].push((self.now, bytes.clone()));
                    if !self.chance.chance(self.loss) {
                        self.path.push_back((self.now + DELAY, 1 - index, bytes));
                    }
                }
                Output::Deliver(packet) => self.delivered[index].push(packet),
                Output::Dropped(packet, _) => self.abandoned[index].push(packet),
            }
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let arrival = self.path.front().map(|(at, ..)| *at);
            let timers = self.ends.iter().filter_map(|end| end.poll_timeout()).map(|Timeout { at, .. }| at);
            let Some(next) = timers.chain(arrival).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, index, bytes) = self.path.pop_front().unwrap();
                self.input(index, Input::Outer(bytes));
                continue;
            }
            for index in [0, 1] {
                self.ends[index].handle_timeout(self.now);
                self.collect(index);
            }
        }
        self.now = end;
    }

    /// An upload of `count` packets, one each 3 ms, in turns of three flows.
    fn upload(&mut self, count: u32) {
        for number in 0..count {
            self.run_until(self.now + Span::from_millis(3));
            self.input(0, Input::Inner(Packet { flow: (number % 3) as u16, number, bytes: 1_400 }));
        }
        self.run_until(self.now + Span::from_secs(10));
    }

    /// Transmission sequence numbers that the client used.
    fn numbers_used(&self) -> u32 {
        let chunks = self.sent[0].iter().flat_map(|(_, bytes)| packet::followed(bytes));
        let numbers: BTreeSet<u32> = chunks
            .filter_map(|chunk| match chunk {
                Chunk::Message { tsn, .. } => Some(tsn),
                Chunk::Acknowledgement { .. } | Chunk::GivenUp { .. } => None,
            })
            .collect();
        numbers.last().unwrap() - numbers.first().unwrap() + 1
    }

    fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.number).collect()
    }
}

#[test]
fn every_packet_arrives_in_bursts_and_acknowledgements_wait_for_them() {
    let mut pair = Pair::new(Reliability::Limited, 0.0);
    pair.upload(500);
    let numbers: BTreeSet<u32> = Pair::numbers(&pair.delivered[1]).into_iter().collect();
    assert_eq!((pair.delivered[1].len(), numbers.len()), (500, 500));
    assert_eq!(pair.abandoned, [vec![], vec![]]);
    assert_eq!(pair.numbers_used(), 500, "no message is divided");
    // A hundred bursts of five, one acknowledgement for each, and the handshake: the library alone sends two or three for a burst.
    assert!((500..=505).contains(&pair.sent[0].len()), "{} packets up", pair.sent[0].len());
    assert!((95..=110).contains(&pair.sent[1].len()), "{} packets down", pair.sent[1].len());
    // An hour without packets is silent.
    let before = [0, 1].map(|end: usize| pair.sent[end].len());
    assert_eq!(pair.ends.iter().filter_map(Machine::poll_timeout).count(), 0);
    pair.run_until(pair.now + Span::from_secs(3_600));
    assert_eq!([0, 1].map(|end: usize| pair.sent[end].len()), before);
}

#[test]
fn a_lost_packet_is_repeated_once_or_until_it_arrives() {
    // At higher losses the congestion window is too small for this rate, and packets are dropped at the tunnel's queue.
    let mut limited = Pair::new(Reliability::Limited, 0.02);
    limited.upload(1_000);
    let delivered: BTreeSet<u32> = Pair::numbers(&limited.delivered[1]).into_iter().collect();
    assert_eq!(delivered.len(), limited.delivered[1].len(), "none twice");
    // Without repetition 20 of 1,000 would be lost.
    assert!((990..=1_000).contains(&delivered.len()), "{} arrived", delivered.len());
    assert_eq!(limited.numbers_used(), 1_000, "no message is divided");
    let abandoned: BTreeSet<u32> = Pair::numbers(&limited.abandoned[0]).into_iter().collect();
    let missing: BTreeSet<u32> = (0..1_000).filter(|number| !delivered.contains(number)).collect();
    assert!(missing.is_subset(&abandoned), "what was not delivered was given up: {missing:?}, {abandoned:?}");
    assert!(limited.ends[0].association().retransmissions() > 10);

    let mut full = Pair::new(Reliability::Full, 0.02);
    full.upload(1_000);
    assert_eq!(full.abandoned[0], []);
    for flow in 0..3 {
        let of_flow = full.delivered[1].iter().filter(|packet| packet.flow == flow);
        let numbers: Vec<u32> = of_flow.map(|packet| packet.number).collect();
        assert_eq!(numbers, (0..1_000).filter(|n| n % 3 == u32::from(flow)).collect::<Vec<_>>());
    }
}

#[test]
fn the_same_seed_gives_the_same_datagrams() {
    let run = |seed| {
        let mut pair = Pair::new(Reliability::Limited, 0.05);
        pair.ends = [0, 1].map(|index| end(pair.reliability, index, seed));
        pair.upload(200);
        pair.sent
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3)[0][0], run(4)[0][0], "verification tags are drawn");
}

#[test]
fn a_restarted_end_is_reached_within_two_seconds() {
    for restarted in [0, 1] {
        let mut pair = Pair::new(Reliability::Limited, 0.0);
        pair.upload(50);
        pair.ends[restarted] = end(pair.reliability, restarted, 99);
        pair.delivered = Default::default();
        let since = pair.now;
        let mut number = 1_000;
        while pair.delivered[1].is_empty() && pair.now < since + Span::from_secs(5) {
            pair.input(0, Input::Inner(Packet { flow: 0, number, bytes: 400 }));
            pair.run_until(pair.now + Span::from_millis(10));
            number += 1;
        }
        let took = pair.now.saturating_since(since);
        assert!(took < Span::from_secs(2), "end {restarted}: {took:?}");
    }
}

#[test]
fn damaged_datagrams_change_nothing() {
    let mut pair = Pair::new(Reliability::Limited, 0.0);
    pair.upload(20);
    let of_peer = pair.sent[0].last().unwrap().1.clone();
    let before = pair.sent[1].len();
    for length in 0..of_peer.len() {
        pair.input(1, Input::Outer(of_peer[..length].to_vec()));
        let mut flipped = of_peer.clone();
        flipped[length] ^= 0x10;
        pair.input(1, Input::Outer(flipped));
    }
    assert_eq!(pair.sent[1].len(), before, "a stranger gets no answer");
    pair.delivered = Default::default();
    pair.upload(20);
    assert_eq!(pair.delivered[1].len(), 20);
}

/// A peer without an address is known by the one datagram that begins its association.
#[test]
fn the_first_datagram_alone_begins_an_association() {
    let mut pair = Pair::new(Reliability::Limited, 0.0);
    pair.upload(20);
    let begins: Vec<bool> = pair.sent[0].iter().map(|(_, bytes)| begins_association(bytes)).collect();
    assert!(begins[0] && begins.len() > 3 && !begins[1..].contains(&true), "{begins:?}");
    assert!(!begins_association(&[]));
}

#[test]
fn acknowledgements_join_data_under_one_checksum() {
    // The check value of CRC-32C.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    let header = |chunks: &[u8]| [&[0x26, 0xab, 0x26, 0xab, 1, 2, 3, 4, 0, 0, 0, 0][..], chunks].concat();
    let sack = header(&[3, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert!(may_wait(&sack));
    let data = header(&[0, 7, 0, 17, 0, 0, 0, 1, 0, 5, 0, 0, 0, 0, 0x0a, 0x57, 9, 0, 0, 0]);
    assert!(!may_wait(&data));
    let both = joined(&sack, &data);
    assert_eq!(both.len(), 12 + 16 + 20);
    assert_eq!(both[12..28], sack[12..]);
    let mut zeroed = both.clone();
    zeroed[8..12].fill(0);
    assert_eq!(both[8..12], crc32c(&zeroed).to_le_bytes());
    let with_gap = header(&[3, 0, 0, 20, 0, 0, 0, 9, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 3]);
    assert!(!may_wait(&with_gap), "it reports a loss");
    let ranges = vec![(11, 12)];
    let read: Vec<Chunk> = packet::followed(&with_gap).collect();
    assert_eq!(read, [Chunk::Acknowledgement { cumulative: 9, ranges }]);
    assert_eq!(packet::followed(&data).collect::<Vec<_>>(), [Chunk::Message { tsn: 1, stream: 5 }]);
}
