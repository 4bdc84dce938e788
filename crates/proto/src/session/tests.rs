use std::collections::BTreeSet;

use airwatt_base::testkit::check_machine;
use proptest::prelude::*;

use super::*;

const MS: Span = Span::from_millis(1);
/// 2026-11-21.
const EPOCH: Span = Span::from_secs(1_795_219_200);

fn secret(of: u8) -> SecretKey {
    SecretKey::from_bytes([of; 32])
}

fn address(last: u8) -> SocketAddr {
    ([192, 0, 2, last], 4_646).into()
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// The client (key 1), which knows the server's address.
fn client(seed: u8) -> Sessions {
    let mut sessions = Sessions::new(secret(1), [seed; 32], EPOCH);
    sessions.set_peers(vec![PeerConfig {
        public_key: secret(2).public(),
        preshared_key: None,
        endpoint: Some(address(2)),
    }]);
    sessions
}

/// The server (key 2), which knows the keys 1 and 3.
fn server(seed: u8) -> Sessions {
    let mut sessions = Sessions::new(secret(2), [seed; 32], EPOCH);
    let peer = |of| PeerConfig { public_key: secret(of).public(), preshared_key: None, endpoint: None };
    sessions.set_peers(vec![peer(1), peer(3)]);
    sessions
}

fn payload(number: u32) -> Input {
    Input::Send { peer: 0, payload: number.to_be_bytes().to_vec(), expects_answer: true }
}

/// What a path does with a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrives,
    Lost,
    Doubled,
    /// Takes this time longer.
    Late(Span),
}

/// Decides about each datagram, by its number and its bytes.
type Path = Box<dyn FnMut(usize, &[u8]) -> Fate>;

/// Two machines and a path of 10 ms between them.
struct World {
    now: Instant,
    client: Sessions,
    server: Sessions,
    client_address: SocketAddr,
    /// Datagrams on the way: when they arrive, whether at the server, and the bytes.
    on_the_way: Vec<(Instant, bool, Vec<u8>)>,
    /// All datagrams that were sent: when, whether to the server, and the bytes.
    sent: Vec<(Instant, bool, Vec<u8>)>,
    /// Payloads delivered at the server and at the client, and when.
    at_server: Vec<(Instant, u32)>,
    at_client: Vec<(Instant, u32)>,
    /// When an end said that it had no answer, and to how many initiations.
    unanswered: Vec<(Instant, u32)>,
    fate: Path,
}

impl World {
    fn new() -> Self {
        Self {
            now: Instant::ZERO,
            client: client(7),
            server: server(8),
            client_address: address(1),
            on_the_way: Vec::new(),
            sent: Vec::new(),
            at_server: Vec::new(),
            at_client: Vec::new(),
            unanswered: Vec::new(),
            fate: Box::new(|_, _| Fate::Arrives),
        }
    }

    /// Initiations that the client has sent.
    fn initiations(&self) -> usize {
        self.sent.iter().filter(|(_, to_server, bytes)| *to_server && bytes[0] == INITIATION).count()
    }

    /// Gives one end an input.
    fn put(&mut self, to_server: bool, input: Input) {
        if to_server { &mut self.server } else { &mut self.client }.handle_input(input, self.now);
        self.collect();
    }

    fn send(&mut self, number: u32) {
        self.put(false, payload(number));
    }

    fn reply(&mut self, number: u32) {
        self.put(true, payload(number));
    }

    fn collect(&mut self) {
        for is_server in [false, true] {
            loop {
                let machine = if is_server { &mut self.server } else { &mut self.client };
                let Some(output) = machine.poll_output() else { break };
                match output {
                    Output::Transmit { to, bytes, .. } => self.transmit(is_server, to, bytes),
                    Output::Deliver { payload, .. } => {
                        let number = u32::from_be_bytes(payload.try_into().unwrap());
                        let list = if is_server { &mut self.at_server } else { &mut self.at_client };
                        list.push((self.now, number));
                    }
                    Output::Unanswered(_, count) => self.unanswered.push((self.now, count)),
                    Output::Connected(_) | Output::Moved(..) => {}
                }
            }
        }
    }

    fn transmit(&mut self, by_server: bool, to: SocketAddr, bytes: Vec<u8>) {
        self.sent.push((self.now, !by_server, bytes.clone()));
        if to != if by_server { self.client_address } else { address(2) } {
            return;
        }
        let arrival = self.now + MS * 10;
        let arrivals = match (self.fate)(self.sent.len(), &bytes) {
            Fate::Arrives => vec![arrival],
            Fate::Lost => vec![],
            Fate::Doubled => vec![arrival, arrival + MS * 3],
            Fate::Late(by) => vec![arrival + by],
        };
        self.on_the_way.extend(arrivals.into_iter().map(|at| (at, !by_server, bytes.clone())));
    }

    /// Lets time pass.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let arrival = self.on_the_way.iter().map(|(at, ..)| *at).min();
            let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
            let timer = timers.into_iter().flatten().map(|timeout| timeout.at).min();
            let Some(next) = arrival.into_iter().chain(timer).min().filter(|next| *next <= end) else {
                break;
            };
            self.now = next.max(self.now);
            if let Some(index) =
                self.on_the_way.iter().position(|(at, ..)| Some(*at) == arrival && *at <= next)
            {
                let (_, to_server, bytes) = self.on_the_way.remove(index);
                let from = if to_server { self.client_address } else { address(2) };
                self.put(to_server, Input::Datagram { from, asked: None, bytes });
            }
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            self.collect();
        }
        self.now = end;
    }

    /// Payloads in both directions, one each in 100 ms.
    fn talk(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.send(0);
            self.reply(0);
            self.pass(MS * 100);
        }
    }

    fn numbers(list: &[(Instant, u32)]) -> Vec<u32> {
        list.iter().map(|(_, number)| *number).collect()
    }

    /// A pair that has exchanged payloads, and what the client sent last.
    fn connected() -> (Self, Vec<u8>) {
        let mut world = Self::new();
        world.talk(MS * 500);
        let (_, _, last) = world.sent.iter().rfind(|(_, to_server, _)| *to_server).unwrap().clone();
        (world, last)
    }
}

#[test]
fn payloads_that_wait_for_the_handshake_arrive_a_round_trip_later() {
    let mut world = World::new();
    (0..3).for_each(|number| world.send(number));
    assert_eq!(world.sent.len(), 1, "one initiation");
    assert_eq!(world.sent[0].2.len(), INITIATION_BYTES);
    world.pass(MS * 100);
    assert_eq!(world.at_server, [(at(30), 0), (at(30), 1), (at(30), 2)]);
    assert_eq!(world.sent[1].2.len(), RESPONSE_BYTES);
    assert_eq!(world.sent[2].2.len(), 4 + wire::HEADER_BYTES + wire::TAG_BYTES);
    world.reply(9);
    world.pass(MS * 10);
    assert_eq!(world.at_client, [(at(110), 9)]);
    assert_eq!(world.client.peer(0).counts.handshakes, 1);
    assert_eq!(world.server.peer(0).endpoint, Some(address(1)));
    assert_eq!(world.server.peer(1), client(0).peer(0).clone_with(None), "the other peer");
}

impl PeerStatus {
    fn clone_with(self, endpoint: Option<SocketAddr>) -> Self {
        Self { endpoint, ..self }
    }
}

#[test]
fn an_answer_is_sent_if_nothing_else_is_and_an_idle_pair_is_silent() {
    let mut world = World::new();
    world.send(1);
    world.pass(Span::from_secs(3_600));
    let kinds: Vec<(Instant, u8)> = world.sent.iter().map(|(at, _, bytes)| (*at, bytes[0])).collect();
    // Initiation, response, payload, and the answer 500 ms after its arrival.
    assert_eq!(kinds, [(at(0), 1), (at(10), 2), (at(20), 4), (at(530), 4)]);
    assert_eq!((world.client.poll_timeout(), world.server.poll_timeout()), (None, None));
    // A payload in the other direction is an answer too, and needs none: a request with its reply takes two datagrams.
    let mut world = World::new();
    world.send(1);
    world.pass(MS * 100);
    world.put(true, payload(2));
    world.pass(Span::from_secs(60));
    assert_eq!(world.sent.len(), 4);
}

#[test]
fn keys_are_replaced_while_payloads_flow_and_never_otherwise() {
    let mut world = World::new();
    world.talk(Span::from_secs(600));
    // At 0, 120, 240, 360 and 480 s.
    assert_eq!(world.client.peer(0).counts.handshakes, 5);
    assert_eq!(world.at_server.len(), 6_000);
    let of_handshake = |world: &World| world.sent.iter().filter(|(.., bytes)| bytes[0] != 4).count();
    let before = (world.sent.len(), of_handshake(&world));
    assert_eq!(before.1, 10);
    world.pass(Span::from_secs(3_600));
    assert!(world.sent.len() <= before.0 + 2, "answers to the last payloads");
    assert_eq!(of_handshake(&world), 10);
    world.send(77);
    world.pass(MS * 30);
    assert_eq!(world.at_server.last().unwrap().1, 77);
    assert_eq!(world.client.peer(0).counts.handshakes, 6);
}

/// Aim: a restarted peer is reached within 2 s of the first payload.
#[test]
fn a_restart_of_either_end_is_noticed_within_two_seconds() {
    let (mut world, _) = World::connected();
    world.server = server(99);
    let restarted = world.now;
    world.talk(Span::from_secs(4));
    let first = world.at_server.iter().find(|(at, _)| *at > restarted).unwrap().0;
    assert!(first < restarted + MS * 1_400, "{first:?} after {restarted:?}");
    // The client, later on the wall clock and with nothing but its configuration.
    world.client = client(98);
    let restarted = world.now;
    world.send(5);
    world.pass(MS * 40);
    assert_eq!(world.at_server.last(), Some(&(restarted + MS * 30, 5)));
    world.reply(6);
    world.pass(MS * 10);
    assert_eq!(world.at_client.last().unwrap().1, 6);
}

#[test]
fn a_peer_moves_with_its_authenticated_datagrams_and_not_with_repetitions() {
    let (mut world, last) = World::connected();
    world.client_address = address(77);
    world.send(1);
    world.pass(MS * 10);
    assert_eq!(world.server.peer(0).endpoint, Some(address(77)));
    assert_eq!(world.server.peer(0).counts.moves, 1);
    world.reply(2);
    world.pass(MS * 10);
    assert_eq!(world.at_client.last().unwrap().1, 2);
    world.put(true, Input::Datagram { from: address(66), asked: None, bytes: last });
    assert_eq!(world.server.peer(0).endpoint, Some(address(77)));
    assert_eq!(world.server.peer(0).counts.replayed, 1);
}

/// A host with several addresses answers from the one that was asked, by an authenticated datagram, where the peer's is not configured.
#[test]
fn who_is_asked_answers_from_the_address_that_was_asked() {
    let own = |last: u8| Some(IpAddr::from([203, 0, 113, last]));
    let (mut client, mut server) = (client(1), server(2));
    let sent = |end: &mut Sessions| {
        let mut outputs = std::iter::from_fn(|| end.poll_output());
        let Some(Output::Transmit { source, bytes, .. }) =
            outputs.find(|output| matches!(output, Output::Transmit { .. }))
        else {
            panic!("nothing was sent")
        };
        (source, bytes)
    };
    let take = |end: &mut Sessions, asked, bytes: &[u8]| {
        end.handle_input(Input::Datagram { from: address(1), asked, bytes: bytes.to_vec() }, at(1));
    };
    client.handle_input(payload(1), at(1));
    let (source, initiation) = sent(&mut client);
    assert_eq!(source, None, "the kernel knows the route");
    take(&mut server, own(5), &initiation);
    let (source, response) = sent(&mut server);
    assert_eq!(source, own(5));
    client.handle_input(Input::Datagram { from: address(2), asked: own(9), bytes: response }, at(1));
    let (source, first) = sent(&mut client);
    assert_eq!(source, None, "the peer's address is configured");
    take(&mut server, own(6), &first);
    // Neither a repetition nor a forgery says where to answer.
    let mut forged = first.clone();
    *forged.last_mut().unwrap() ^= 1;
    take(&mut server, own(7), &first);
    take(&mut server, own(8), &forged);
    while server.poll_output().is_some() {}
    server.handle_input(payload(2), at(1));
    assert_eq!(sent(&mut server).0, own(6));
}

/// A receiver that has restarted has no timestamps, and so no means to tell a recorded initiation from a new one.
#[test]
fn recorded_initiations_after_a_restart_move_nobody() {
    let mut world = World::new();
    world.talk(Span::from_secs(300));
    let of_client = |(_, to_server, bytes): &&(Instant, bool, Vec<u8>)| *to_server && bytes[0] == INITIATION;
    let recorded: Vec<Vec<u8>> =
        world.sent.iter().filter(of_client).map(|(.., bytes)| bytes.clone()).collect();
    assert_eq!(recorded.len(), 3);
    let mut server = server(99);
    server.set_endpoint(0, address(1));
    for bytes in recorded {
        server.handle_input(Input::Datagram { from: address(66), asked: None, bytes }, world.now);
        let outputs: Vec<Output> = std::iter::from_fn(|| server.poll_output()).collect();
        assert!(
            matches!(&outputs[..], [Output::Transmit { to, bytes, .. }] if *to == address(66) && bytes[0] == RESPONSE),
            "{outputs:?}"
        );
    }
    assert_eq!((server.peer(0).endpoint, server.peer(0).counts.moves), (Some(address(1)), 0));
    // Its next packet goes to the client, which comes back.
    world.server = server;
    world.reply(5);
    world.pass(Span::from_secs(2));
    assert_eq!(world.at_client.last().unwrap().1, 5);
    // Configured as before, without an address, it keeps the session and the address.
    let before = world.server.peer(0);
    assert!(before.handshake_at.is_some());
    let public_key = secret(1).public();
    world.server.set_peers(vec![PeerConfig { public_key, preshared_key: None, endpoint: None }]);
    let after = world.server.peer(0);
    assert_eq!((after.endpoint, after.handshake_at), (before.endpoint, before.handshake_at));
    // An idle peer had one, though its keys are erased.
    world.pass(Span::from_secs(3_600));
    assert_eq!(world.server.peer(0).handshake_at, before.handshake_at);
}

#[test]
fn a_host_that_was_suspended_begins_anew_with_its_first_payload() {
    for suspended in [10, 3_600] {
        let (mut world, _) = World::connected();
        // The server's time has passed, the client's has not.
        let mut server = std::mem::replace(&mut world.server, server(0));
        if suspended > 180 {
            server.handle_input(Input::Resumed(Span::from_secs(suspended)), world.now);
        }
        world.server = server;
        world.put(false, Input::Resumed(Span::from_secs(suspended)));
        let (resumed, count) = (world.now, world.at_server.len());
        assert_eq!(world.client.peer(0).counts.handshakes, 1);
        world.send(3);
        world.pass(MS * 40);
        assert_eq!(world.client.peer(0).counts.handshakes, 2);
        assert_eq!(World::numbers(&world.at_server[count..]), [3]);
        assert!(world.at_server.last().unwrap().0 <= resumed + MS * 30);
    }
}

/// A path that is gone for a while: initiations are repeated at growing distances, and end when payloads do.
#[test]
fn initiations_are_repeated_as_long_as_payloads_come() {
    let mut world = World::new();
    world.fate = Box::new(|_, _| Fate::Lost);
    world.send(1);
    world.pass(Span::from_secs(3_600));
    let times: Vec<f64> =
        world.sent.iter().map(|(at, ..)| at.saturating_since(Instant::ZERO).as_secs_f64()).collect();
    assert!((7..=8).contains(&times.len()), "{times:?}");
    for (pair, wait) in times.windows(2).zip([0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]) {
        assert!((wait..wait * 1.25).contains(&(pair[1] - pair[0])), "{times:?}");
    }
    assert_eq!(world.client.peer(0).counts.dropped, 1);
    assert_eq!(world.client.poll_timeout(), None);
    let initiations: BTreeSet<Vec<u8>> = world.sent.iter().map(|(.., bytes)| bytes[8..].to_vec()).collect();
    assert_eq!(initiations.len(), times.len(), "each with its own keys and timestamp");
    world.fate = Box::new(|_, _| Fate::Arrives);
    world.send(2);
    world.pass(MS * 30);
    assert_eq!(World::numbers(&world.at_server), [2]);
}

#[test]
fn payloads_wait_in_bounded_number_and_without_an_address_not_at_all() {
    let mut world = World::new();
    world.fate = Box::new(|_, _| Fate::Lost);
    (0..100).for_each(|number| world.send(number));
    assert_eq!(world.client.peer(0).counts.dropped, 36);
    // An empty payload is none that a peer would miss: it takes the place of a real one and counts neither as waiting nor as dropped.
    let empty = || Input::Send { peer: 0, payload: Vec::new(), expects_answer: true };
    world.client.handle_input(empty(), world.now);
    assert_eq!((world.client.peer(0).counts.dropped, world.client.peer(0).waiting), (37, 63));
    (0..64).for_each(|_| world.client.handle_input(empty(), world.now));
    assert_eq!((world.client.peer(0).counts.dropped, world.client.peer(0).waiting), (100, 0));
    world.reply(1);
    assert_eq!(world.server.peer(0).counts.dropped, 1);
    assert_eq!(world.server.poll_timeout(), None);
}

#[test]
fn a_listed_key_and_the_shared_key_are_both_needed() {
    let mut world = World::new();
    let shared = |key: u8| PeerConfig {
        public_key: secret(2).public(),
        preshared_key: Some(secret(key)),
        endpoint: Some(address(2)),
    };
    world.client.set_peers(vec![shared(9)]);
    world.send(1);
    world.pass(Span::from_secs(60));
    assert_eq!(world.at_server, []);
    assert!(world.server.peer(0).handshake_at.is_none(), "the handshake is not confirmed");
    world.server.set_peers(vec![PeerConfig {
        public_key: secret(1).public(),
        preshared_key: Some(secret(9)),
        endpoint: None,
    }]);
    world.send(2);
    world.pass(Span::from_secs(60));
    assert_eq!(World::numbers(&world.at_server), [2]);
    // A key that the server does not list, which knows the server's.
    let mut stranger = Sessions::new(secret(50), [1; 32], EPOCH);
    stranger.set_peers(vec![PeerConfig { preshared_key: None, ..shared(0) }]);
    stranger.handle_input(payload(1), world.now);
    let Some(Output::Transmit { bytes, .. }) = stranger.poll_output() else { panic!("no initiation") };
    let before = format!("{:?}", (&world.server.peers, &world.server.indices, &world.server.random));
    world.server.handle_input(Input::Datagram { from: address(50), asked: None, bytes }, world.now);
    assert_eq!(world.server.poll_output(), None);
    assert_eq!(format!("{:?}", (&world.server.peers, &world.server.indices, &world.server.random)), before);
}

#[test]
fn peers_that_stay_in_a_new_list_keep_their_sessions() {
    let (mut world, _) = World::connected();
    let configs: Vec<PeerConfig> = world.server.peers.iter().map(|peer| peer.config.clone()).collect();
    let other = |of| PeerConfig { public_key: secret(of).public(), preshared_key: None, endpoint: None };
    world.server.set_peers(vec![other(40), other(41), configs[0].clone()]);
    world.send(6);
    world.pass(MS * 100);
    assert_eq!(world.at_server.last().unwrap().1, 6);
    assert_eq!(world.server.peer(2).counts.handshakes, 1);
    world.server.set_peers(vec![other(40)]);
    world.send(7);
    world.pass(MS * 100);
    assert_eq!(world.at_server.last().unwrap().1, 6, "it is no longer listed");
}

/// Datagrams of strangers: random ones, genuine ones with a changed byte, of a wrong length, and repeated.
fn strange(count: u32) {
    let (mut world, _) = World::connected();
    world.talk(Span::from_secs(125));
    let genuine: Vec<Vec<u8>> =
        world.sent.iter().filter(|(_, to_server, _)| *to_server).map(|(.., bytes)| bytes.clone()).collect();
    assert!(genuine.iter().any(|bytes| bytes.len() == INITIATION_BYTES));
    let mut draw = Random::new([42; 32]);
    let state = |server: &Sessions| {
        format!("{:?}", (&server.indices, server.peers.iter().map(quiet).collect::<Vec<_>>()))
    };
    let before = state(&world.server);
    for number in 0..count {
        let pick = draw.draw();
        let place = usize::from(u16::from_le_bytes([pick[0], pick[1]]));
        let mut bytes = genuine[place % genuine.len()].clone();
        let at = usize::from(pick[2]) % bytes.len();
        match number % 4 {
            0 => bytes = pick[4..4 + at % 28].to_vec(),
            // The last 16 bytes of an initiation are unused without load.
            1 => bytes[at.min(INITIATION_BYTES - 17)] ^= pick[3].max(1),
            2 => bytes.truncate(at),
            _ => {}
        }
        let from = ([198, 51, 100, pick[5]], 99).into();
        // Some repeat a genuine initiation: few enough a second that none is worth a cookie.
        world.now += Span::from_micros(100);
        world.server.handle_input(Input::Datagram { from, asked: None, bytes }, world.now);
        assert_eq!(world.server.poll_output(), None, "number {number}");
    }
    assert_eq!(state(&world.server), before);
    // A counter that was received is found before the datagram is opened.
    let replayed = world.server.peer(0).counts.replayed;
    assert!(replayed > 0);
    assert_eq!(world.server.strangers().silent + replayed, u64::from(count));
    world.send(5);
    world.pass(MS * 100);
    assert_eq!(world.at_server.last().unwrap().1, 5);
}

/// A peer without its counters.
fn quiet(peer: &Peer) -> Peer {
    Peer { counts: PeerCounts::default(), ..peer.clone() }
}

#[test]
fn strangers_get_no_answer_and_leave_no_state() {
    strange(10_000);
}

/// 10^6 of them.
#[test]
#[ignore = "a minute"]
fn a_million_strangers_get_no_answer_and_leave_no_state() {
    strange(1_000_000);
}

/// A flood of initiations with a valid first code, from somebody who knows the server's public key and recorded one. A client
/// that gets a cookie instead of a response shows it in its repetition.
#[test]
fn a_client_connects_during_a_flood() {
    let mut world = World::new();
    let mut stranger = Sessions::new(secret(50), [1; 32], EPOCH);
    stranger.set_peers(vec![PeerConfig {
        public_key: secret(2).public(),
        preshared_key: None,
        endpoint: Some(address(2)),
    }]);
    stranger.handle_input(payload(1), world.now);
    let Some(Output::Transmit { bytes, .. }) = stranger.poll_output() else { panic!("no initiation") };
    let flood = |world: &mut World| {
        for last in 0..200 {
            let datagram =
                Input::Datagram { from: ([203, 0, 113, last], 9).into(), asked: None, bytes: bytes.clone() };
            world.server.handle_input(datagram, world.now);
        }
        world.collect();
    };
    flood(&mut world);
    assert!(world.server.strangers().cookies >= 150);
    assert_eq!(world.server.strangers().silent, 50, "Diffie-Hellman exchanges at most");
    world.send(4);
    for _ in 0..20 {
        world.pass(MS * 50);
        flood(&mut world);
    }
    assert_eq!(World::numbers(&world.at_server), [4]);
    assert_eq!(world.initiations(), 2, "the second with the cookie");
}

#[test]
fn sessions_keep_the_contract_of_machines() {
    let inputs: Vec<(Instant, Input)> =
        (0..40).map(|number| (at(u64::from(number) * 700), payload(number))).collect();
    let outputs = check_machine(|| client(3), &inputs, Instant::from_secs(3_600));
    assert!(outputs.len() > 5);
    // The server gets what the client sent in a world of two.
    let (world, _) = World::connected();
    let inputs: Vec<(Instant, Input)> = world
        .sent
        .iter()
        .filter(|(_, to_server, _)| *to_server)
        .map(|(at, _, bytes)| {
            (*at + MS * 10, Input::Datagram { from: address(1), asked: None, bytes: bytes.clone() })
        })
        .collect();
    let outputs = check_machine(|| server(8), &inputs, Instant::from_secs(3_600));
    let delivered = outputs.iter().filter(|(_, output)| matches!(output, Output::Deliver { .. })).count();
    assert_eq!(delivered, 5);
}

#[test]
fn timestamps_grow_even_if_the_wall_clock_does_not() {
    let mut sessions = client(1);
    let mut before = sessions.next_timestamp(at(5_000));
    sessions.set_epoch(Span::from_secs(5));
    for _ in 0..300 {
        let next = sessions.next_timestamp(at(5_000));
        assert!(next > before);
        before = next;
    }
    sessions.set_epoch(Span::from_secs(1 << 33));
    // 2^62 + 10 + 2^33 + 5 s.
    assert_eq!(sessions.next_timestamp(at(5_000)), [0x40, 0, 0, 2, 0, 0, 0, 15, 0, 0, 0, 0]);
}

/// A payload within half a second of one from the peer counts as its answer, and no answer is expected in turn. If the peer is
/// started anew in that time, the end learns of it from its next payload.
#[test]
fn an_answer_to_a_peer_that_was_started_anew_is_lost_and_the_next_payload_finds_out() {
    let (mut world, _) = World::connected();
    world.pass(Span::from_secs(2));
    world.reply(1);
    world.pass(MS * 100);
    world.server = server(9);
    let before = world.initiations();
    world.send(2);
    world.pass(Span::from_secs(8));
    assert_eq!(world.initiations(), before);
    world.send(3);
    world.pass(Span::from_secs(2));
    assert_eq!(world.initiations(), before + 1);
    world.send(4);
    world.pass(MS * 100);
    assert_eq!(world.at_server.last().map(|(_, number)| *number), Some(4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever a path does, payloads arrive at most once, and once the path recovers the pair does within 8 s of a payload that is no
    /// answer.
    #[test]
    fn a_pair_recovers_from_any_path(
        fates in prop::collection::vec(0_u8..6, 1..60),
        steps in prop::collection::vec((0_u64..900, prop::bool::ANY, 0_u8..12), 1..60),
    ) {
        let mut world = World::new();
        world.fate = Box::new(move |count, _| match fates[count % fates.len()] {
            0 | 1 => Fate::Lost,
            2 => Fate::Doubled,
            3 => Fate::Late(MS * 40),
            _ => Fate::Arrives,
        });
        for (number, (millis, to_server, what)) in (0..).zip(steps) {
            match what {
                0 => world.server = server(number as u8),
                1 => world.client_address = address(100 + number as u8),
                2 => world.put(false, Input::Resumed(Span::from_secs(millis))),
                _ if to_server => world.send(number),
                _ => world.reply(number),
            }
            world.pass(MS * millis);
        }
        world.fate = Box::new(|_, _| Fate::Arrives);
        // The first may answer what the server sent before it was started anew; nobody watches an answer. The second is none.
        world.send(1_000);
        world.pass(Span::from_secs(8));
        world.send(1_001);
        world.pass(Span::from_secs(8));
        world.send(1_002);
        world.pass(Span::from_secs(1));
        prop_assert_eq!(world.at_server.last().unwrap().1, 1_002);
        for list in [&world.at_server, &world.at_client] {
            let distinct: BTreeSet<u32> = list.iter().map(|(_, number)| *number).collect();
            prop_assert_eq!(distinct.len(), list.len());
        }
    }
}

/// Initiations are repeated after 0.5, 1 and 2 s, each up to a quarter later; the third has no answer 3.5 to 4.4 s after the first.
#[test]
fn three_initiations_without_an_answer_are_reported_once() {
    let mut world = World::new();
    world.fate = Box::new(|_, _| Fate::Lost);
    world.send(1);
    world.pass(Span::from_secs(5));
    let [(at, 3)] = world.unanswered[..] else { panic!("{:?}", world.unanswered) };
    assert!((Instant::from_millis(3_500)..Instant::from_millis(4_400)).contains(&at), "{at:?}");
    assert!(world.client.peer(0).unanswered >= 3);
    // An address that was found meanwhile is used by the next one.
    world.client.set_endpoint(0, address(2));
    world.fate = Box::new(|_, _| Fate::Arrives);
    world.pass(Span::from_secs(10));
    assert_eq!((world.client.peer(0).unanswered, World::numbers(&world.at_server)), (0, vec![1]));
}
