//! Two proxies with a path between them, and hosts on either side.

use etherparse::PacketBuilder;

use super::super::{
    ConnectFailure, ConnectionEnding, ConnectionId, GatewayMessage, Opening, Shares, SplitProxy,
    SplitProxyConfig, SplitProxyInput as In, SplitProxyOutput as Out, parse_reset,
};
use crate::e2tcp::{Addresses, E2tcpConfig, Endpoint};
use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine as _, RandomStream, Seq, Span};

const DELAY: Span = Span::from_millis(5);
/// The mobile's end, and the base station's.
const M: usize = 0;
const B: usize = 1;

pub(super) fn opening(port: u16) -> Opening {
    numbered(port, 7)
}

fn numbered(port: u16, number: u32) -> Opening {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 2], [192, 0, 2, 1], 64).tcp(port, 80, number, 64_000).syn();
    builder.write(&mut bytes, &[]).unwrap();
    Opening::parse(&bytes).unwrap()
}

fn config(epoch: u64) -> SplitProxyConfig {
    let wireless =
        E2tcpConfig { obeys_peer: epoch == 1, linger: Span::from_secs(1), ..E2tcpConfig::default() };
    SplitProxyConfig { wireless, epoch, asks_first: epoch != 1, ..SplitProxyConfig::default() }
}

/// What the server does with a connection.
#[derive(Clone, Copy)]
enum Server {
    Answers,
    Fails(ConnectFailure),
    Silent,
}

struct Rig {
    now: Instant,
    ends: [SplitProxy; 2],
    path: std::collections::BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    order: u64,
    loss: f64,
    draw: RandomStream,
    server: Server,
    /// What each end's host has read of each connection, and whether it has ended.
    read: [std::collections::BTreeMap<ConnectionId, (Vec<u8>, bool)>; 2],
    log: Vec<String>,
    /// What each end was given.
    inputs: [Vec<(Instant, In)>; 2],
    /// Connections that the server has.
    served: Vec<ConnectionId>,
    admitted: Vec<ConnectionId>,
    /// How often each end has asked the other.
    asked: [u32; 2],
    /// Connections that the mobile's host reads by [`Rig::take`] only.
    slow: std::collections::BTreeSet<ConnectionId>,
}

impl Rig {
    fn new() -> Self {
        Self {
            now: Instant::ZERO,
            ends: [SplitProxy::new(config(0), 1), SplitProxy::new(config(1), 1)],
            path: Default::default(),
            order: 0,
            loss: 0.0,
            draw: RandomStream::new(1, "path"),
            server: Server::Answers,
            read: Default::default(),
            log: Vec::new(),
            inputs: Default::default(),
            served: Vec::new(),
            admitted: Vec::new(),
            asked: [0; 2],
            slow: Default::default(),
        }
    }

    fn input(&mut self, end: usize, input: In) {
        self.give(end, input);
        self.settle(end);
    }

    fn give(&mut self, end: usize, input: In) {
        self.inputs[end].push((self.now, input.clone()));
        self.ends[end].handle_input(input, self.now);
    }

    fn settle(&mut self, end: usize) {
        loop {
            let mut follows = Vec::new();
            while let Some(output) = self.ends[end].poll_output() {
                self.carry_out(end, output, &mut follows);
            }
            for id in self.ends[end].take_changed() {
                if end == B || !self.slow.contains(&id) {
                    self.take(end, id);
                }
            }
            let idle = follows.is_empty();
            for input in follows {
                self.give(end, input);
            }
            if idle && self.ends[end].clone().poll_output().is_none() {
                return;
            }
        }
    }

    /// The host takes what the connection has for it, and then its end.
    fn take(&mut self, end: usize, id: ConnectionId) {
        let bytes = self.ends[end].outgoing(id).to_vec();
        let stream = self.read[end].entry(id).or_default();
        stream.0.extend_from_slice(&bytes);
        if !bytes.is_empty() {
            self.ends[end].note_written(id, bytes.len(), self.now);
        }
        if self.ends[end].is_to_shut(id) {
            self.ends[end].note_shut(id, self.now);
            self.read[end].entry(id).or_default().1 = true;
        }
    }

    fn carry_out(&mut self, end: usize, output: Out, follows: &mut Vec<In>) {
        match output {
            Out::Transmit(_, bytes, _) => {
                let message = GatewayMessage::decode(&bytes);
                self.asked[end] +=
                    u32::from(matches!(message, Some(GatewayMessage::Started { answers: false, .. })));
                if !self.draw.chance(self.loss) {
                    self.order += 1;
                    self.path.insert((self.now + DELAY, self.order), (1 - end, bytes));
                }
            }
            Out::Connect(id, _, _) => match self.server {
                Server::Answers => {
                    self.served.push(id);
                    follows.push(In::Connected(id));
                }
                Server::Fails(failure) => follows.push(In::Failed(id, failure)),
                Server::Silent => {}
            },
            Out::Admit(id, _) => {
                self.admitted.push(id);
                follows.push(In::Accepted(id));
            }
            Out::Ended(..) | Out::Close(_) => {}
            other => {
                let text = format!("{other:?}");
                self.log.push(text.split('(').next().unwrap_or_default().to_owned());
            }
        }
    }

    /// Runs for a time.
    fn run(&mut self, span: Span) {
        let until = self.now + span;
        for _ in 0..2_000_000 {
            let arrival = self.path.keys().next().map_or(Instant::FOREVER, |(at, _)| *at);
            let timeout = |end: usize| self.ends[end].poll_timeout().map_or(Instant::FOREVER, |at| at.at);
            let next = arrival.min(timeout(M)).min(timeout(B));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            if arrival == next {
                let (_, (end, bytes)) = self.path.pop_first().unwrap();
                self.input(end, In::Message(0, bytes));
            } else {
                let end = if timeout(M) == next { M } else { B };
                self.ends[end].handle_timeout(next);
                self.settle(end);
            }
        }
        panic!("never silent");
    }

    fn open(&mut self, port: u16) -> ConnectionId {
        self.input(M, In::Opening(0, opening(port)));
        self.run(Span::from_millis(50));
        *self.admitted.last().expect("it was admitted")
    }
}

pub(super) fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn a_connection_is_answered_when_the_server_has_answered() {
    let mut rig = Rig::new();
    rig.server = Server::Silent;
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_secs(1));
    assert!(rig.admitted.is_empty() && rig.log.is_empty(), "{:?}", rig.log);
    rig.input(B, In::Connected(0));
    rig.run(Span::from_secs(1));
    assert_eq!(rig.admitted, [0]);
    assert_eq!((rig.ends[M].connections(), rig.ends[B].connections()), ((1, 0), (1, 0)));
}

#[test]
fn bytes_and_the_ends_of_streams_come_through_a_path_that_loses_a_fifth() {
    let mut rig = Rig::new();
    rig.loss = 0.2;
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_secs(20));
    let (id, served) = (rig.admitted[0], rig.served[0]);
    let data = pattern(300_000);
    for (end, id) in [(M, id), (B, served)] {
        let mut rest = data.as_slice();
        while !rest.is_empty() {
            let room = rig.ends[end].room(id) as usize;
            let (now, later) = rest.split_at(room.min(rest.len()));
            if now.is_empty() {
                rig.run(Span::from_millis(100));
                continue;
            }
            rig.input(end, In::Received(id, now.to_vec()));
            rest = later;
        }
    }
    rig.input(M, In::PeerClosed(id));
    rig.run(Span::from_secs(60));
    assert_eq!(rig.read[B][&served], (data.clone(), true), "half closed");
    assert_eq!(rig.ends[M].connections().0, 1, "the other direction goes on");
    rig.input(B, In::PeerClosed(served));
    rig.run(Span::from_secs(60));
    assert_eq!(rig.read[M][&id], (data, true));
    assert_eq!((rig.ends[M].connections(), rig.ends[B].connections()), ((0, 0), (0, 0)));
    assert_eq!(rig.ends[M].counters().undelivered + rig.ends[B].counters().undelivered, 0);
}

/// Two connections that ended at one time, and whose readers are slow, are also forgotten at one time.
#[test]
fn slow_readers_get_all_bytes_before_the_end() {
    const BYTES: usize = 12_000;
    let data = pattern(BYTES);
    let mut rig = Rig::new();
    rig.ends = [0, 1].map(|epoch| SplitProxy::new(SplitProxyConfig { buffer: 16_384, ..config(epoch) }, 1));
    let ids = [rig.open(1), rig.open(2)];
    let served = rig.served.clone();
    rig.slow.extend(ids);
    for id in ids {
        rig.input(M, In::PeerClosed(id));
    }
    rig.run(Span::from_millis(100));
    let mut sent = 0;
    while sent < BYTES {
        let room = (rig.ends[B].room(served[0]) as usize).min(BYTES - sent);
        for id in &served {
            rig.input(B, In::Received(*id, data[sent..sent + room].to_vec()));
        }
        sent += room;
        rig.run(Span::from_millis(100));
    }
    for id in served {
        rig.input(B, In::PeerClosed(id));
    }
    // The base station has done with both, and the mobile's end no longer lingers.
    rig.run(Span::from_secs(3));
    assert_eq!((rig.ends[M].connections().0, rig.ends[B].connections().0), (2, 0));
    for id in ids {
        while !rig.read[M].get(&id).is_some_and(|(_, has_ended)| *has_ended) {
            rig.take(M, id);
            rig.settle(M);
        }
        assert_eq!(rig.read[M][&id].0.len(), BYTES);
        assert!(rig.read[M][&id].0 == data);
    }
    assert_eq!(rig.ends[M].connections().0, 0);
}

#[test]
fn both_ends_keep_the_contract() {
    let mut rig = Rig::new();
    rig.loss = 0.1;
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_secs(5));
    let (id, served) = (rig.admitted[0], rig.served[0]);
    rig.input(M, In::Received(id, pattern(20_000)));
    rig.input(B, In::Received(served, pattern(5_000)));
    rig.run(Span::from_secs(5));
    rig.input(M, In::PeerClosed(id));
    rig.server = Server::Silent;
    rig.input(M, In::Opening(0, opening(2)));
    rig.run(Span::from_secs(5));
    rig.input(B, In::PeerClosed(served));
    rig.run(Span::from_secs(30));
    for end in [M, B] {
        let make = || SplitProxy::new(config(end as u64), 1);
        let outputs = check_machine(make, &rig.inputs[end], rig.now + Span::from_secs(10_000));
        let sent = outputs.iter().filter(|(_, output)| matches!(output, Out::Transmit(..))).count();
        assert!(sent > 10, "{sent}");
    }
}

/// The host repeats its SYN each second while the first is held, and the last repetition may be read after the answer was given.
#[test]
fn a_repetition_of_the_syn_ends_no_connection_and_a_new_one_does() {
    let mut rig = Rig::new();
    let id = rig.open(1);
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_millis(100));
    assert_eq!((rig.ends[M].connections(), rig.admitted.as_slice()), ((1, 0), &[id][..]));
    assert!(rig.log.is_empty(), "{:?}", rig.log);
    rig.input(M, In::Opening(0, numbered(1, 8)));
    rig.run(Span::from_millis(100));
    assert!(rig.log.contains(&"Reset".to_owned()), "{:?}", rig.log);
    assert_eq!(rig.admitted.len(), 2, "the new one takes its place");
}

#[test]
fn refusals_come_through_as_what_they_are() {
    let cases = [
        (ConnectFailure::Refused, "Refuse"),
        (ConnectFailure::Unreachable, "Unreachable"),
        (ConnectFailure::Declined, "Pass"),
    ];
    for (failure, answer) in cases {
        let mut rig = Rig::new();
        rig.server = Server::Fails(failure);
        rig.input(M, In::Opening(0, opening(1)));
        rig.run(Span::from_secs(3));
        assert_eq!(rig.log.first().map(String::as_str), Some(answer));
        assert_eq!((rig.ends[M].connections().0, rig.ends[B].connections().0), (0, 0), "{answer}");
    }
    let mut rig = Rig::new();
    rig.server = Server::Fails(ConnectFailure::TimedOut);
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_millis(500));
    assert!(!rig.log.iter().any(|line| line == "Refuse"), "{:?}", rig.log);
}

#[test]
fn without_a_base_station_connections_go_as_plain_tcp() {
    let mut rig = Rig::new();
    rig.loss = 1.0;
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_secs(1));
    assert!(rig.log.is_empty());
    rig.run(Span::from_secs(1));
    assert_eq!(rig.log, ["Reset", "Pass"].iter().rev().map(ToString::to_string).collect::<Vec<_>>());
    rig.log.clear();
    rig.input(M, In::Opening(0, opening(2)));
    assert_eq!(rig.log, ["Pass"], "at once, as long as it is silent");
    rig.loss = 0.0;
    rig.run(Span::from_secs(6));
    rig.open(3);
}

/// A mobile that hears nothing, while the base station hears everything and has connected to the server.
fn fallen_back() -> Rig {
    let mut rig = Rig::new();
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(DELAY * 3 / 2);
    assert_eq!(rig.served, [0]);
    rig.path.clear();
    rig.loss = 1.0;
    rig.run(Span::from_secs(2));
    assert_eq!(rig.log, ["Pass", "Reset"], "of the mobile alone: what it told the base station was lost");
    assert_eq!(rig.ends[B].connections().0, 1);
    rig.log.clear();
    rig
}

#[test]
fn a_plain_opening_ends_the_connection_that_the_base_station_has_in_its_place() {
    let mut rig = fallen_back();
    rig.input(B, In::PlainOpening(0, opening(1)));
    assert_eq!(rig.log, ["Reset", "Pass"], "the server has to forget the first before the second comes");
    assert_eq!(rig.ends[B].connections(), (0, 0));
}

#[test]
fn a_withdrawn_opening_ends_at_the_base_station_and_one_that_stands_does_not() {
    let mut rig = fallen_back();
    let message = GatewayMessage::Withdrawn(opening(1).addresses()).encode();
    rig.input(B, In::Message(0, message.clone()));
    assert_eq!((rig.log.as_slice(), rig.ends[B].connections()), (&["Reset".to_owned()][..], (0, 0)));
    let mut rig = Rig::new();
    rig.open(1);
    rig.input(B, In::PlainOpening(0, opening(1)));
    rig.input(B, In::Message(0, message));
    assert_eq!(rig.ends[B].connections(), (1, 0), "anybody can send a SYN");
    assert_eq!(rig.log, ["Challenge"]);
}

/// The mobile's daemon was killed, and a program reuses addresses and ports that the base station still relays.
#[test]
fn a_plain_opening_with_the_addresses_of_a_connection_ends_it_if_its_host_has_forgotten_it() {
    let mut rig = Rig::new();
    let id = rig.open(1);
    let addresses = opening(1).addresses();
    rig.ends[B].handle_input(In::PlainOpening(0, opening(1)), rig.now);
    let Some(Out::Challenge(number, challenged)) = rig.ends[B].poll_output() else { panic!("no challenge") };
    assert_eq!(rig.ends[B].poll_output(), None, "the server is not to see this SYN beside its connection");
    // What a kernel that is opening a connection answers.
    let mut reset = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 2], [192, 0, 2, 1], 64);
    builder.tcp(1, 80, number.value(), 0).rst().write(&mut reset, &[]).unwrap();
    assert_eq!(parse_reset(&reset), Some((addresses, number)));
    assert_eq!(parse_reset(&challenged.challenge(number)), None);
    for wrong in [number + 1, number - 1, Seq::new(0)] {
        rig.input(B, In::PlainReset(0, addresses, wrong));
    }
    assert_eq!(rig.ends[B].connections(), (1, 0));
    rig.input(B, In::PlainReset(0, addresses, number));
    assert_eq!((rig.ends[B].connections(), rig.ends[B].counters().replaced), ((0, 0), 1));
    assert_eq!(rig.log, ["Reset"], "the server learns that its connection has ended");
    rig.input(B, In::PlainOpening(0, opening(1)));
    assert_eq!(rig.log, ["Reset", "Pass"]);
    // Another connection has another number.
    rig.run(Span::from_millis(50));
    assert!(rig.ends[M].rows().all(|row| row.id != id), "the other end was told");
    rig.open(1);
    rig.ends[B].handle_input(In::PlainOpening(0, opening(1)), rig.now);
    assert!(matches!(rig.ends[B].poll_output(), Some(Out::Challenge(other, _)) if other != number));
}

#[test]
fn limits_pass_connections_on() {
    let mut rig = Rig::new();
    for port in 0..256 {
        rig.open(port);
    }
    rig.input(M, In::Opening(0, opening(300)));
    assert_eq!(rig.log, ["Pass"]);
    assert_eq!(rig.ends[M].counters().over_limit, 1);
    rig.input(M, In::Drain);
    rig.input(M, In::Opening(0, opening(301)));
    assert_eq!(rig.log, ["Pass", "Pass"]);
}

/// A host whose server does not answer repeats the SYN of a connection that was passed.
#[test]
fn a_repeated_syn_is_one_connection_that_went_as_plain_tcp() {
    let mut rig = Rig::new();
    rig.loss = 1.0;
    let passed =
        |rig: &Rig| (rig.ends[M].counters().passed, rig.log.iter().filter(|line| *line == "Pass").count());
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_secs(2));
    assert_eq!(passed(&rig), (1, 1), "nobody has answered: {:?}", rig.log);
    for _ in 0..3 {
        rig.input(M, In::Opening(0, opening(1)));
    }
    assert_eq!(passed(&rig), (1, 4));
    assert_eq!(rig.ends[M].take_notes().len(), 1);
    // The same addresses again, and others.
    rig.input(M, In::Opening(0, numbered(1, 8)));
    rig.input(M, In::Opening(0, opening(2)));
    assert_eq!(passed(&rig), (3, 6));
    rig.ends[M].note_passed(&opening(3));
    rig.ends[M].note_passed(&opening(3));
    assert_eq!(passed(&rig).0, 4);
}

#[test]
fn more_connections_than_identifiers_are_never_refused_after_others_have_closed() {
    let mut rig = Rig::new();
    let ids: Vec<_> = (0..256).map(|port| rig.open(port)).collect();
    // The ends close in opposite orders, so that each has another connection that has lingered longest.
    for (at, id) in ids.iter().enumerate() {
        rig.input(M, In::PeerClosed(*id));
        rig.input(B, In::PeerClosed(rig.served[255 - at]));
        rig.run(Span::from_millis(1));
    }
    for port in 300..600 {
        rig.input(M, In::Opening(0, opening(port)));
        rig.run(Span::from_millis(3));
    }
    rig.run(Span::from_secs(2));
    assert!(!rig.log.iter().any(|line| line == "Refuse"), "{:?}", rig.log);
    assert_eq!(rig.log.iter().filter(|line| *line == "Pass").count() + rig.admitted.len(), 556);
}

#[test]
fn a_flood_of_openings_stays_within_the_limit() {
    let mut rig = Rig::new();
    rig.server = Server::Silent;
    rig.ends[M] = SplitProxy::new(SplitProxyConfig { half_open: 16, ..config(0) }, 1);
    for port in 0..1_000 {
        rig.input(M, In::Opening(0, opening(port)));
    }
    assert_eq!(rig.ends[M].connections(), (16, 16));
    assert_eq!(rig.log.len(), 984);
}

#[test]
fn a_peer_that_has_forgotten_its_connections_resets_them() {
    let mut rig = Rig::new();
    rig.input(M, In::Greet(0));
    let id = rig.open(1);
    rig.input(M, In::Received(id, pattern(1_000)));
    rig.run(Span::from_millis(50));
    rig.ends[B] = SplitProxy::new(SplitProxyConfig { epoch: 9, ..config(1) }, 1);
    rig.input(M, In::Greet(0));
    rig.run(Span::from_millis(50));
    assert_eq!(rig.ends[M].counters().restarts, 1);
    assert_eq!(rig.ends[M].connections().0, 0);
    assert_eq!(rig.log, ["Reset"]);
    rig.open(2);
}

#[test]
fn a_silent_peer_is_given_up_within_the_time_of_silence() {
    for last in [0, 1, 2] {
        let mut rig = Rig::new();
        let id = rig.open(1);
        // The peer dies while nothing is said, after data for it, or after data from it.
        match last {
            0 => {}
            1 => rig.input(M, In::Received(id, pattern(1_000))),
            _ => rig.input(B, In::Received(rig.served[0], pattern(1_000))),
        }
        rig.run(Span::from_millis(50));
        rig.loss = 1.0;
        rig.run(Span::from_millis(4_800));
        assert_eq!(rig.log, [""; 0], "case {last}");
        rig.run(Span::from_millis(250));
        assert_eq!(rig.log, ["Reset"; 2], "case {last}: both ends");
        assert_eq!((rig.ends[M].connections().0, rig.ends[B].connections().0), (0, 0));
        assert_eq!(rig.ends[M].counters().silences, 1);
    }
}

#[test]
fn data_for_a_peer_that_died_while_nothing_was_said_are_not_waited_for() {
    let mut rig = Rig::new();
    let id = rig.open(1);
    rig.run(Span::from_secs(600));
    rig.loss = 1.0;
    rig.input(M, In::Received(id, pattern(1_000)));
    rig.run(Span::from_millis(5_050));
    assert_eq!(rig.ends[M].connections().0, 0);
    // The other end, which expects nothing, asks each minute.
    rig.run(Span::from_secs(64));
    assert_eq!(rig.ends[B].connections().0, 0);
}

#[test]
fn idle_connections_stay_and_cost_two_messages_a_minute() {
    let mut rig = Rig::new();
    rig.open(1);
    rig.run(Span::from_secs(600));
    let (before, [_, of_base]) = (rig.order, rig.asked);
    rig.run(Span::from_secs(3_600));
    assert_eq!(rig.order - before, 120);
    assert_eq!(rig.asked[B], of_base, "one end asks, and the other one is asked");
    assert_eq!((rig.ends[M].connections().0, rig.ends[B].connections().0), (1, 1));
    // Without connections nothing is said.
    rig.input(M, In::PeerClosed(0));
    rig.input(B, In::PeerClosed(0));
    rig.run(Span::from_secs(60));
    let before = rig.order;
    rig.run(Span::from_secs(3_600));
    assert_eq!(rig.order, before);
}

#[test]
fn a_restart_is_noticed_without_data() {
    let mut rig = Rig::new();
    rig.input(M, In::Greet(0));
    rig.open(1);
    rig.ends[B] = SplitProxy::new(SplitProxyConfig { epoch: 9, ..config(1) }, 1);
    rig.run(Span::from_millis(2_600));
    assert_eq!((rig.log.clone(), rig.ends[M].counters().restarts), (vec!["Reset".to_owned()], 1));
    // An end that greets as soon as it has started is heard at once.
    rig.open(2);
    rig.ends[B] = SplitProxy::new(SplitProxyConfig { epoch: 10, ..config(1) }, 1);
    rig.input(B, In::Greet(0));
    rig.run(Span::from_millis(20));
    assert_eq!((rig.log.len(), rig.ends[M].counters().restarts), (2, 2));
}

/// Without that it waits for a timer of E2TCP.
#[test]
fn an_opening_that_was_lost_before_a_session_is_sent_again_with_it() {
    let mut rig = Rig::new();
    rig.loss = 1.0;
    rig.input(M, In::Opening(0, opening(1)));
    rig.run(Span::from_millis(100));
    rig.loss = 0.0;
    rig.input(M, In::Greet(0));
    rig.run(Span::from_millis(50));
    assert_eq!(rig.admitted.len(), 1, "{:?}", rig.log);
    // One that is answered is not.
    let before = rig.served.len();
    rig.input(M, In::Greet(0));
    rig.run(Span::from_millis(50));
    assert_eq!((rig.admitted.len(), rig.served.len()), (1, before));
}

/// Both ends, or one of them, have given the other one up; what is opened then stands. If both have, also where the number before it is lost.
#[test]
fn what_is_opened_after_a_silence_is_not_taken_for_what_was_given_up() {
    for (silences, is_number_lost) in [([5, 5], false), ([5, 5], true), ([5, 100], false), ([100, 5], false)]
    {
        let mut rig = Rig::new();
        for end in [M, B] {
            let silence = Span::from_secs(silences[end]);
            rig.ends[end] = SplitProxy::new(SplitProxyConfig { silence, ..config(end as u64) }, 1);
        }
        rig.input(M, In::Greet(0));
        let id = rig.open(1);
        rig.loss = 1.0;
        rig.input(M, In::Received(id, pattern(1_000)));
        // Openings go as plain TCP for five seconds after an end was found silent.
        rig.run(Span::from_secs(11));
        rig.loss = 0.0;
        for port in 2..8 {
            rig.input(M, In::Opening(0, opening(port)));
        }
        if is_number_lost {
            let is_kept =
                |bytes: &[u8]| !matches!(GatewayMessage::decode(bytes), Some(GatewayMessage::Started { .. }));
            rig.path.retain(|_, (_, bytes)| is_kept(bytes));
        }
        rig.run(Span::from_millis(900));
        for end in [M, B] {
            let standing = rig.ends[end].rows().filter(|row| row.addresses.sender().port != 1).count();
            assert_eq!(standing, 6, "end {end} {silences:?} {is_number_lost} {:?}", rig.log);
        }
        assert_eq!(rig.admitted.len(), 7);
    }
}

#[test]
fn a_peer_that_was_out_of_reach_learns_that_it_was_given_up() {
    let mut rig = Rig::new();
    rig.ends[M] = SplitProxy::new(SplitProxyConfig { silence: Span::from_secs(100), ..config(0) }, 1);
    rig.input(M, In::Greet(0));
    rig.open(1);
    rig.loss = 1.0;
    rig.run(Span::from_secs(6));
    assert_eq!((rig.ends[M].connections().0, rig.ends[B].connections().0), (1, 0));
    rig.loss = 0.0;
    rig.input(M, In::Opening(0, opening(2)));
    rig.run(Span::from_millis(100));
    let left: Vec<u16> = rig.ends[M].rows().map(|row| row.addresses.sender().port).collect();
    assert_eq!(left, [2], "the old one was reset, and the new one stands");
    assert_eq!((rig.ends[M].connections(), rig.ends[B].connections()), ((1, 0), (1, 0)));
}

/// A program of the mobile opens a connection from this port.
fn call(port: u16) -> In {
    In::Open(0, called(port), Shares { wanted: 70, offered: 100 })
}

fn called(port: u16) -> Addresses {
    let end = |ip: [u8; 4], port| Endpoint { ip: ip.into(), port };
    Addresses::new(end([10, 0, 0, 2], port), end([192, 0, 2, 1], 80)).unwrap()
}

#[test]
fn a_program_that_has_gone_takes_no_number() {
    let mut rig = Rig::new();
    rig.server = Server::Silent;
    for port in 0..256 {
        rig.input(M, call(port));
    }
    rig.run(Span::from_millis(50));
    assert_eq!((rig.ends[M].connections(), rig.ends[B].connections()), ((256, 256), (256, 256)));
    rig.ends[M].handle_input(call(300), rig.now);
    let ended = std::iter::from_fn(|| rig.ends[M].poll_output()).collect::<Vec<_>>();
    assert!(matches!(ended.last(), Some(Out::Ended(_, _, ConnectionEnding::BeyondLimit))), "{ended:?}");
    assert_eq!(rig.ends[M].counters().over_limit, 1);
    for port in 0..256 {
        rig.input(M, In::Cancel(0, called(port)));
    }
    rig.run(Span::from_millis(50));
    assert_eq!((rig.ends[M].connections(), rig.ends[B].connections()), ((0, 0), (0, 0)));
    rig.server = Server::Answers;
    rig.run(Span::from_secs(1));
    rig.input(M, call(301));
    rig.run(Span::from_millis(50));
    assert_eq!(rig.ends[M].connections(), (1, 0));
    // One that stands has a socket, which says that its program has gone.
    rig.input(M, In::Cancel(0, called(301)));
    assert_eq!(rig.ends[M].connections(), (1, 0));
}

#[test]
fn a_program_may_do_without_a_share_of_its_data() {
    let mut rig = Rig::new();
    rig.input(M, call(4_000));
    rig.run(Span::from_millis(50));
    let served = rig.served[0];
    rig.loss = 0.1;
    let data = pattern(60_000);
    rig.input(B, In::Received(served, data.clone()));
    rig.run(Span::from_secs(20));
    let gaps = rig.log.iter().filter(|line| *line == "Gap").count();
    assert!(gaps > 0, "{:?}", rig.log);
    let (read, _) = &rig.read[M][&0];
    assert_eq!(read.len(), data.len());
    let missing = read.iter().zip(&data).filter(|(got, sent)| got != sent).count();
    assert!(missing > 0 && missing <= 30 * data.len() / 100, "{missing} bytes");
}

#[test]
fn a_message_has_one_meaning() {
    let addresses = opening(1).addresses();
    let messages = [
        GatewayMessage::Started { epoch: 5, answers: true },
        GatewayMessage::Unreachable(addresses),
        GatewayMessage::Declined(addresses.swapped()),
        GatewayMessage::Present,
        GatewayMessage::Withdrawn(addresses),
    ];
    for message in messages {
        let bytes = message.encode();
        assert_eq!(GatewayMessage::decode(&bytes), Some(message));
        for length in 0..bytes.len() {
            assert_eq!(GatewayMessage::decode(&bytes[..length]), None);
        }
    }
}

#[test]
fn refusals_of_an_opening_are_what_kernels_send() {
    let opening = opening(5_555);
    let reset = opening.reset();
    let reset = etherparse::PacketHeaders::from_ip_slice(&reset).unwrap();
    let tcp = reset.transport.unwrap().tcp().unwrap();
    assert!(tcp.rst && tcp.ack && !tcp.syn);
    assert_eq!((tcp.source_port, tcp.destination_port, tcp.acknowledgment_number), (80, 5_555, 8));
    let unreachable = opening.unreachable();
    let headers = etherparse::PacketHeaders::from_ip_slice(&unreachable).unwrap();
    let icmp = headers.transport.unwrap().icmpv4().unwrap();
    assert_eq!((icmp.icmp_type.header_len(), &unreachable[20], &unreachable[21]), (8, &3, &1));
    assert!(unreachable.ends_with(opening.packet()));
    // What opens nothing is no opening.
    for flags in [0x12_u8, 0x06, 0x03, 0x10] {
        let mut other = opening.packet().to_vec();
        other[33] = flags;
        assert_eq!(Opening::parse(&other), None);
    }
    let mut with_ecn = opening.packet().to_vec();
    with_ecn[33] = 0xc2;
    assert!(Opening::parse(&with_ecn).is_some());
}
