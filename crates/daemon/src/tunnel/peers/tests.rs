use airwatt_base::testkit::check_machine;
use airwatt_proto::session::{PeerConfig, SecretKey};
use airwatt_proto::tunnel::{Plain, TunnelConfig, TunnelEnd};

use super::*;

const MS: Span = Span::from_millis(1);

/// An IPv4 packet without a transport.
fn packet(source: [u8; 4], destination: [u8; 4], length: u8) -> IpPacket {
    let mut bytes = vec![0; usize::from(length)];
    bytes[..4].copy_from_slice(&[0x45, 0, 0, length]);
    bytes[9] = 253;
    bytes[12..16].copy_from_slice(&source);
    bytes[16..20].copy_from_slice(&destination);
    IpPacket::parse(bytes).unwrap()
}

fn tunnel(end: TunnelEnd, plain: bool) -> PeerTunnel {
    let config = TunnelConfig { burst: Some(3), plain, ..TunnelConfig::default() };
    Tunnel::new(config, end, PeerAssociation::Datagrams(Plain::new(0)))
}

fn peer(end: TunnelEnd, plain: bool, prefix: &str) -> Peer {
    Peer::new(tunnel(end, plain), vec![prefix.parse().unwrap()])
}

fn address(last: u8) -> SocketAddr {
    ([192, 168, 0, last], 4_646).into()
}

#[test]
fn it_keeps_the_contract_and_each_peers_packets_apart() {
    let make = || {
        let peers = (0..3).map(|n| peer(TunnelEnd::Concentrator, true, &format!("10.0.{n}.0/24"))).collect();
        Peers::new(peers, Carrier::Plain((0..3).map(|n| Some(address(n))).collect()), 1_400, MS)
    };
    let inputs: Vec<_> = (0..30_u8)
        .map(|n| {
            let packet = packet([10, 9, 9, 9], [10, 0, n % 3, 1], 40 + n % 3);
            (Instant::from_millis(u64::from(n)), Input::Packet(packet))
        })
        .collect();
    let out = check_machine(make, &inputs, Instant::from_millis(1_000));
    assert_eq!(out.len(), 30);
    for (_, output) in out {
        let Output::Transmit { to, bytes, .. } = output else { panic!("{output:?}") };
        let (_, mut packets) = wire::parse(&bytes).unwrap();
        let packet = IpPacket::parse(packets.next().unwrap().to_vec()).unwrap();
        assert_eq!(packet.flow().destination, IpAddr::from([10, 0, packet.as_bytes()[3] - 40, 1]));
        assert_eq!(to, address(packet.as_bytes()[3] - 40));
    }
}

/// A tunnel of all destinations is no link: who asks its neighbours or its routers wakes nobody at the other end.
#[test]
fn packets_for_groups_of_a_link_do_not_cross() {
    let peers = vec![peer(TunnelEnd::Client, true, "0.0.0.0/0")];
    let mut peers = Peers::new(peers, Carrier::Plain(vec![Some(address(1))]), 1_400, MS);
    let mut sent = |destination: [u8; 4]| {
        peers.handle_input(Input::Packet(packet([10, 0, 0, 1], destination, 40)), Instant::ZERO);
        peers.handle_timeout(Instant::from_millis(1_000));
        std::iter::from_fn(|| peers.poll_output()).count()
    };
    assert_eq!(sent([224, 0, 0, 251]), 0);
    assert_eq!(sent([239, 1, 2, 3]), 1, "a group that is routed");
    assert_eq!(sent([192, 0, 2, 1]), 1);
    let groups =
        [("ff02::2", true), ("ff01::1", true), ("ff05::2", false), ("fe80::1", false), ("224.0.1.1", false)];
    for (text, expected) in groups {
        assert_eq!(is_of_link(text.parse().unwrap()), expected, "{text}");
    }
}

/// What a burst holds when the daemon ends leaves at once, for each peer; nothing is sent where nothing is held.
#[test]
fn what_tunnels_hold_is_sent_when_they_end() {
    let peers = (0..3).map(|n| peer(TunnelEnd::Client, true, &format!("10.0.{n}.0/24"))).collect();
    let carrier = Carrier::Plain((0..3).map(|n| Some(address(n))).collect());
    let mut peers = Peers::new(peers, carrier, 1_400, MS);
    for n in [0, 2] {
        peers.handle_input(Input::Packet(packet([10, 9, 9, 9], [10, 0, n, 1], 40)), Instant::ZERO);
    }
    assert_eq!(peers.poll_output(), None, "bursts have three packets");
    peers.handle_input(Input::Ending, Instant::ZERO);
    let sent: Vec<_> = std::iter::from_fn(|| peers.poll_output())
        .map(|output| match output {
            Output::Transmit { to, bytes, .. } => (to, wire::parse(&bytes).unwrap().1.count()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sent, [(address(0), 1), (address(2), 1)]);
    assert_eq!(peers.poll_timeout().map(|timeout| timeout.at), None);
}

fn secret(of: u8) -> SecretKey {
    SecretKey::from_bytes([of; 32])
}

/// A machine with sessions: its own key, and of each peer the key, the address and the prefix.
fn sealed(end: TunnelEnd, own: u8, others: &[(u8, Option<SocketAddr>, &str)]) -> Peers {
    let mut sessions = Sessions::new(secret(own), [own; 32], Span::from_secs(1_795_219_200));
    let config = |(key, endpoint, _): &(u8, Option<SocketAddr>, &str)| PeerConfig {
        public_key: secret(*key).public(),
        preshared_key: None,
        endpoint: *endpoint,
    };
    sessions.set_peers(others.iter().map(config).collect());
    let peers = others.iter().map(|(.., prefix)| peer(end, false, prefix)).collect();
    Peers::new(peers, Carrier::Sealed(Box::new(sessions)), 1_400, MS)
}

/// Two clients (1 and 2) and a concentrator (9) at the addresses of these numbers, on a network without delay.
struct World {
    now: Instant,
    machines: Vec<(SocketAddr, Peers)>,
    delivered: Vec<(SocketAddr, IpPacket)>,
}

impl World {
    fn new() -> Self {
        let client = |own| {
            let concentrator: &[(u8, Option<SocketAddr>, &str)] = &[(9, Some(address(9)), "10.0.0.0/8")];
            (address(own), sealed(TunnelEnd::Client, own, concentrator))
        };
        let of_clients: &[(u8, Option<SocketAddr>, &str)] =
            &[(1, None, "10.0.1.0/24"), (2, None, "10.0.2.0/24")];
        let concentrator = (address(9), sealed(TunnelEnd::Concentrator, 9, of_clients));
        let machines = vec![client(1), client(2), concentrator];
        Self { now: Instant::ZERO, machines, delivered: Vec::new() }
    }

    fn put(&mut self, at: u8, input: Input) {
        let now = self.now;
        let (_, machine) = self.machines.iter_mut().find(|(here, _)| *here == address(at)).unwrap();
        machine.handle_input(input, now);
        self.drain();
    }

    fn drain(&mut self) {
        let mut on_the_way = VecDeque::new();
        loop {
            for (here, machine) in &mut self.machines {
                while let Some(output) = machine.poll_output() {
                    match output {
                        Output::Transmit { to, bytes, .. } => on_the_way.push_back((*here, to, bytes)),
                        Output::Deliver(packet) => self.delivered.push((*here, packet)),
                        _ => {}
                    }
                }
            }
            let Some((from, to, bytes)) = on_the_way.pop_front() else { return };
            if let Some((_, machine)) = self.machines.iter_mut().find(|(here, _)| *here == to) {
                machine.handle_input(Input::Datagram { from, asked: None, bytes }, self.now);
            }
        }
    }

    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(next) =
            self.machines.iter().filter_map(|(_, machine)| Some(machine.poll_timeout()?.at)).min()
            && next <= end
        {
            self.now = next;
            for (_, machine) in &mut self.machines {
                machine.handle_timeout(next);
            }
            self.drain();
        }
        self.now = end;
    }
}

#[test]
fn packets_of_each_client_cross_encrypted_and_only_with_its_own_sources() {
    let mut world = World::new();
    let (one, two) = (packet([10, 0, 1, 1], [10, 9, 9, 9], 40), packet([10, 0, 2, 1], [10, 9, 9, 9], 50));
    world.put(1, Input::Packet(one.clone()));
    world.put(2, Input::Packet(two.clone()));
    world.pass(MS * 100);
    assert_eq!(world.delivered, [(address(9), one), (address(9), two)]);
    // And back, by their prefixes.
    let back = packet([10, 9, 9, 9], [10, 0, 2, 7], 60);
    world.put(9, Input::Packet(back.clone()));
    world.pass(MS * 100);
    assert_eq!(world.delivered[2..], [(address(2), back)]);
    // Client 2 with a source of client 1.
    world.put(2, Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)));
    world.pass(MS * 100);
    assert_eq!(world.delivered.len(), 3);
    let concentrator = &world.machines[2].1;
    assert_eq!(concentrator.peers[1].refused_sources, 1);
    assert_eq!(concentrator.counts(), Counts::default());
    // To nobody.
    world.put(9, Input::Packet(packet([10, 9, 9, 9], [10, 0, 3, 1], 60)));
    assert_eq!(world.machines[2].1.counts().unroutable, 1);
    // An idle hour: nothing wakes up but the dropping of keys.
    world.pass(Span::from_secs(3_600));
    assert!(world.machines.iter().all(|(_, machine)| machine.poll_timeout().is_none()));
}

#[test]
fn a_client_that_has_started_is_reached_before_it_sends_a_packet_and_says_nothing_more() {
    let mut world = World::new();
    let down = packet([10, 9, 9, 9], [10, 0, 1, 1], 40);
    world.put(9, Input::Packet(down.clone()));
    assert_eq!(world.machines[2].1.counts().unroutable, 1, "nobody knows where it is");
    world.put(1, Input::Here);
    world.put(9, Input::Packet(down.clone()));
    world.pass(MS * 700);
    assert_eq!(world.delivered, [(address(1), down)]);
    let received = |world: &World| world.machines[2].1.carrier.session(0).unwrap().counts.received;
    let before = received(&world);
    world.pass(Span::from_secs(3_600));
    assert_eq!(received(&world), before);
}

#[test]
fn a_repeated_datagram_is_no_strangers() {
    let mut world = World::new();
    world.put(1, Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)));
    world.pass(MS * 700);
    let now = world.now;
    let client = &mut world.machines[0].1;
    client.handle_input(Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 50)), now);
    client.handle_input(Input::Ending, now);
    let Some(Output::Transmit { bytes, .. }) = client.poll_output() else { panic!("nothing was sent") };
    for _ in 0..3 {
        world.put(9, Input::Datagram { from: address(1), asked: None, bytes: bytes.clone() });
    }
    let concentrator = &world.machines[2].1;
    assert_eq!(concentrator.carrier.session(0).unwrap().counts.replayed, 2);
    assert_eq!(concentrator.counts().strange_datagrams, 0);
}

#[test]
fn strangers_have_no_effect() {
    let mut world = World::new();
    world.put(1, Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)));
    world.pass(MS * 700);
    let plain = Datagram {
        header: wire::TunnelHeader { number: 0, ends_burst: true },
        packets: vec![packet([10, 0, 1, 1], [10, 9, 9, 9], 40)],
    };
    world.put(9, Input::Datagram { from: address(1), asked: None, bytes: plain.encode() });
    for length in 0..200_u8 {
        world.put(
            9,
            Input::Datagram { from: address(1), asked: None, bytes: vec![length % 5; usize::from(length)] },
        );
    }
    assert_eq!(world.machines[2].1.counts().strange_datagrams, 201);
    assert_eq!(world.delivered.len(), 1);
}

#[test]
fn in_plain_form_a_public_address_is_a_stranger() {
    let peers = vec![peer(TunnelEnd::Concentrator, true, "10.0.1.0/24")];
    let mut machine = Peers::new(peers, Carrier::Plain(vec![None]), 1_400, MS);
    let datagram = Datagram {
        header: wire::TunnelHeader { number: 0, ends_burst: true },
        packets: vec![packet([10, 0, 1, 1], [10, 9, 9, 9], 40)],
    };
    let from =
        |octets: [u8; 4]| Input::Datagram { from: (octets, 9).into(), asked: None, bytes: datagram.encode() };
    machine.handle_input(from([203, 0, 113, 1]), Instant::ZERO);
    assert_eq!((machine.poll_output(), machine.counts().strange_datagrams), (None, 1));
    machine.handle_input(from([10, 98, 0, 1]), Instant::ZERO);
    assert_eq!(machine.poll_output(), Some(Output::Moved(0, ([10, 98, 0, 1], 9).into())));
}

/// Ten packets each 5 ms in bursts of three: ten wake-ups without a tunnel; three full bursts and one at its time-out with it.
#[test]
fn wake_ups_that_bursts_save_are_counted() {
    let mut machine = Peers::new(
        vec![peer(TunnelEnd::Client, true, "10.0.0.0/8")],
        Carrier::Plain(vec![Some(address(9))]),
        1_400,
        MS,
    );
    for number in 1..=10 {
        let now = Instant::ZERO + MS * 5 * number;
        machine.handle_timeout(now);
        machine.handle_input(Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)), now);
    }
    machine.handle_timeout(Instant::from_millis(100));
    // A radio that stays awake for 100 ms wakes up once either way.
    assert_eq!(machine.peers[0].saved_wakeups(), [0, 10 - 4]);
    // Packets within a millisecond share a wake-up without a tunnel too.
    for number in 0..3 {
        let now = Instant::from_secs(2) + Span::from_micros(100 * number);
        machine.handle_input(Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)), now);
    }
    assert_eq!(machine.peers[0].saved_wakeups(), [0, 10 - 4 + 1 - 1]);
}

/// A stream whose packets follow each other while the radio is awake has nothing to save, whatever its bursts are.
#[test]
fn bursts_of_a_radio_that_is_awake_anyway_cost_no_wake_up() {
    let peers = vec![peer(TunnelEnd::Client, true, "10.0.0.0/8")];
    let mut machine = Peers::new(peers, Carrier::Plain(vec![Some(address(9))]), 1_400, MS);
    for number in 0..300 {
        let now = Instant::from_secs(1) + Span::from_micros(300 * number);
        machine.handle_timeout(now);
        machine.handle_input(Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)), now);
    }
    assert!(machine.peers[0].tunnel.counts().full_bursts >= 99);
    assert_eq!(machine.peers[0].saved_wakeups(), [0, 0]);
}

/// A client whose outer address has gone sends from the only one that is left, its inner one. An answer would be routed into the device.
#[test]
fn a_peer_does_not_move_into_the_tunnel() {
    let mut world = World::new();
    world.machines[2].1 = world.machines[2].1.clone().with_addresses(&["10.9.9.9/24".parse().unwrap()]);
    world.put(1, Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)));
    world.pass(MS * 700);
    assert_eq!(world.delivered.len(), 1);
    let endpoint = world.machines[2].1.carrier.endpoint(0);
    assert_eq!(endpoint, Some(address(1)));
    let inside: [IpAddr; 3] =
        [[10, 0, 1, 1].into(), [10, 9, 9, 200].into(), "::ffff:10.0.1.1".parse().unwrap()];
    for (count, ip) in (1..).zip(inside) {
        // A genuine datagram of the client.
        let (now, client) = (world.now, &mut world.machines[0].1);
        client.handle_input(Input::Packet(packet([10, 0, 1, 1], [10, 9, 9, 9], 40)), now);
        client.handle_timeout(now + MS * 500);
        let sent = std::iter::from_fn(|| client.poll_output());
        let bytes =
            sent.filter_map(|out| if let Output::Transmit { bytes, .. } = out { Some(bytes) } else { None });
        let bytes = bytes.last().unwrap();
        let concentrator = &mut world.machines[2].1;
        concentrator.handle_input(Input::Datagram { from: (ip, 4_646).into(), asked: None, bytes }, now);
        assert_eq!(concentrator.poll_output(), None, "{ip}");
        assert_eq!(concentrator.carrier.endpoint(0), endpoint);
        assert_eq!(concentrator.counts().strange_datagrams, count);
    }
    // All destinations are not inside: the client reaches the concentrator itself outside.
    let whole =
        Peers::new(vec![peer(TunnelEnd::Client, true, "0.0.0.0/0")], Carrier::Plain(vec![None]), 1_400, MS);
    assert!(!whole.is_inside([192, 168, 0, 1].into()));
}
