//! Tests of tables: the negotiation of identifiers, and the 257th connection.

use super::*;
use crate::tcp::Lengths;

type Hosts = [ConnectionTable<Lengths, Lengths>; 2];

/// Two tables and a path without loss.
struct Net {
    now: Instant,
    hosts: Hosts,
    path: BTreeMap<(Instant, u64), (usize, E2tcpPacket, Option<Addresses>)>,
    order: u64,
    log: Vec<String>,
    keys: [Vec<ConnectionKey>; 2],
    events: [Vec<(ConnectionKey, Event)>; 2],
}

impl Net {
    fn new() -> Self {
        let host = || ConnectionTable::new(TableConfig::default());
        let mut net = Self {
            now: Instant::ZERO,
            hosts: [host(), host()],
            path: BTreeMap::new(),
            order: 0,
            log: Vec::new(),
            keys: [Vec::new(), Vec::new()],
            events: [Vec::new(), Vec::new()],
        };
        net.input(A, TableInput::Listen(endpoint(1, 80)));
        net.input(B, TableInput::Listen(endpoint(2, 80)));
        net
    }

    fn input(&mut self, who: usize, input: TableInput) {
        self.hosts[who].handle_input(input, self.now);
        self.settle(who);
    }

    fn settle(&mut self, who: usize) {
        while let Some(output) = self.hosts[who].poll_output() {
            match output {
                TableOutput::Opened(key, _) | TableOutput::Accepted(key, _) => self.keys[who].push(key),
                TableOutput::Refused(_, why) => {
                    self.log.push(format!("{} refuses: {why:?}", ["A", "B"][who]))
                }
                TableOutput::Event(key, event) => {
                    assert!(
                        self.hosts[who].connection(key).is_some(),
                        "its owner may want to read what has come"
                    );
                    self.events[who].push((key, event));
                }
                TableOutput::Transmit(_, packet, addresses) => {
                    self.log.push(format!("{} {packet}", ["A>", "<B"][who]));
                    self.order += 1;
                    self.path.insert((self.now + DELAY, self.order), (who, packet, addresses));
                }
            }
        }
        self.check_timeout(who);
    }

    /// The timeout of a table is the earliest one of its connections, and that of the oldest at equal times.
    fn check_timeout(&self, who: usize) {
        let table = &self.hosts[who];
        let of = |key: &ConnectionKey| Some((table.connection(*key)?.poll_timeout()?.at, *key));
        let earliest = self.keys[who].iter().filter_map(of).min();
        assert_eq!(table.poll_timeout().map(|timeout| (timeout.at, timeout.reason.0)), earliest);
    }

    fn run(&mut self, until: Instant) {
        loop {
            let timeout = |who: usize| self.hosts[who].poll_timeout().map_or(Instant::FOREVER, |t| t.at);
            let arrival = self.path.keys().next().map_or(Instant::FOREVER, |(at, _)| *at);
            let (a, b) = (timeout(A), timeout(B));
            let next = arrival.min(a).min(b);
            if next > until {
                break;
            }
            self.now = next;
            if arrival == next {
                if let Some((_, (whose, packet, addresses))) = self.path.pop_first() {
                    self.input(1 - whose, TableInput::Packet(packet, addresses, ()));
                }
            } else {
                let who = if a == next { A } else { B };
                self.hosts[who].handle_timeout(next);
                self.settle(who);
            }
        }
        self.now = until;
    }

    /// Runs for `millis` milliseconds.
    fn pass(&mut self, millis: u64) {
        self.run(self.now + Span::from_millis(millis));
    }

    /// The identifiers of all established connections at this host, in the order of their ports.
    fn identifiers(&self, who: usize) -> Vec<(u8, State)> {
        let ends = self.keys[who].iter().filter_map(|key| self.hosts[who].connection(*key));
        ends.filter(|end| end.state() != State::Closed).map(|end| (end.id(), end.state())).collect()
    }
}

/// Addresses from a port of host A to a port of host B.
fn between(port: u16, to: u16) -> Addresses {
    Addresses::new(endpoint(1, port), endpoint(2, to)).expect("both are IPv4")
}

#[test]
fn each_connection_gets_the_lowest_free_identifier() {
    let mut net = Net::new();
    for port in 1..=3 {
        net.input(A, TableInput::Open(between(port, 80)));
    }
    net.pass(1000);
    let stand = [(0, State::Established), (1, State::Established), (2, State::Established)];
    assert_eq!(net.identifiers(A), stand);
    assert_eq!(net.identifiers(B), stand);
    let keys = net.keys.clone();
    net.input(A, TableInput::Call(keys[A][1], Input::Close));
    net.input(B, TableInput::Call(keys[B][1], Input::Close));
    net.pass(100);
    net.input(A, TableInput::Open(between(4, 80)));
    assert_eq!(net.hosts[A].connection(net.keys[A][3]).map(Connection::id), Some(3), "1 lingers");
    net.pass(10_000);
    net.input(A, TableInput::Open(between(5, 80)));
    assert_eq!(net.hosts[A].connection(net.keys[A][4]).map(Connection::id), Some(1), "1 is free again");
}

#[test]
fn the_257th_connection_is_refused_on_either_side() {
    let mut net = Net::new();
    for port in 1..=256 {
        net.input(A, TableInput::Open(between(port, 80)));
    }
    net.pass(1000);
    assert_eq!((net.hosts[A].in_use(), net.hosts[B].in_use()), (256, 256));
    net.log.clear();
    net.input(A, TableInput::Open(between(257, 80)));
    assert_eq!(net.log, ["A refuses: Full"], "without a packet");
    net.input(A, TableInput::Open(between(256, 80)));
    assert_eq!(net.log[1], "A refuses: InUse");
    // A host that has restarted still finds the other full.
    net.hosts[A] = ConnectionTable::new(TableConfig::default());
    net.keys[A].clear();
    net.input(A, TableInput::Open(between(300, 80)));
    net.pass(1000);
    assert_eq!(net.log[3], "B refuses: Full");
    assert!(net.log[4].starts_with("<B 0 RST F ack"));
    assert_eq!(net.events[A].last(), Some(&(net.keys[A][0], Event::Refused)));
    assert_eq!(net.hosts[B].in_use(), 256);
}

#[test]
fn a_connection_that_lingers_gives_its_identifier_up_when_all_are_in_use() {
    let mut net = Net::new();
    for port in 0..256 {
        net.input(A, TableInput::Open(between(port, 80)));
    }
    net.run(Instant::ZERO + DELAY * 10);
    let (ours, theirs) = (net.keys[A][7], net.keys[B][7]);
    net.input(A, TableInput::Call(ours, Input::Close));
    net.run(net.now + DELAY * 2);
    net.input(B, TableInput::Call(theirs, Input::Close));
    net.run(net.now + DELAY);
    assert_eq!(net.hosts[A].connection(ours).unwrap().state(), State::TimeWait);
    net.input(A, TableInput::Open(between(300, 80)));
    assert_eq!(net.log.pop().unwrap(), "A refuses: Full", "its acknowledgement may have been lost");
    let rto = net.hosts[A].connection(ours).unwrap().rto();
    assert!(rto < E2tcpConfig::default().linger, "{rto:?}");
    net.run(net.now + rto);
    net.input(A, TableInput::Open(between(300, 80)));
    net.run(net.now + DELAY * 3);
    let key = *net.keys[A].last().unwrap();
    let connection = net.hosts[A].connection(key).unwrap();
    assert_eq!((connection.state(), connection.id()), (State::Established, 7));
    assert!(net.events[A].contains(&(ours, Event::Closed)));
}

#[test]
fn what_has_come_can_be_read_when_the_identifier_is_given_up() {
    let mut net = Net::new();
    let connection = E2tcpConfig { read_at_once: false, ..E2tcpConfig::default() };
    net.hosts[A] = ConnectionTable::new(TableConfig { connection });
    net.input(A, TableInput::Listen(endpoint(1, 80)));
    net.input(A, TableInput::Open(between(1, 80)));
    net.pass(1000);
    let (ours, theirs) = (net.keys[A][0], net.keys[B][0]);
    net.input(A, TableInput::Call(ours, Input::Close));
    net.pass(100);
    net.input(B, TableInput::Call(theirs, Input::Write(1000)));
    net.input(B, TableInput::Call(theirs, Input::Close));
    net.pass(1000);
    assert_eq!(net.hosts[A].connection(ours).unwrap().state(), State::TimeWait);
    // B has done with the connection, and its identifier is free there.
    net.input(B, TableInput::Open(Addresses::new(endpoint(2, 1), endpoint(1, 80)).unwrap()));
    let (_, (_, packet, addresses)) = net.path.pop_first().unwrap();
    assert_eq!(packet.header.connection, 0);
    net.hosts[A].handle_input(TableInput::Packet(packet, addresses, ()), net.now);
    // The owner takes one output after the other, and may do something for another connection meanwhile.
    let mut read = 0;
    while let Some(output) = net.hosts[A].poll_output() {
        match output {
            TableOutput::Event(key, Event::Closed) if key == ours => {
                read = net.hosts[A].connection(ours).map_or(0, Connection::readable_bytes);
            }
            _ => net.hosts[A].handle_input(TableInput::Unlisten(endpoint(1, 81)), net.now),
        }
    }
    assert_eq!(read, 1000);
    assert_eq!(net.hosts[A].in_use(), 1);
    net.hosts[A].handle_input(TableInput::Unlisten(endpoint(1, 81)), net.now);
    assert!(net.hosts[A].connection(ours).is_none());
    let holder = net.hosts[A].key_of(None, 0).expect("the new connection has it");
    assert_ne!(holder, ours);
}

#[test]
fn an_identifier_in_use_is_answered_with_another() {
    let mut net = Net::new();
    net.input(A, TableInput::Open(between(1, 80)));
    net.pass(1000);
    // A restarts; B still uses 0, and answers with 1.
    net.hosts[A] = ConnectionTable::new(TableConfig::default());
    net.keys[A].clear();
    net.log.clear();
    net.input(A, TableInput::Open(between(2, 80)));
    net.pass(1000);
    assert!(net.log[0].starts_with("A> 0 SYN F"));
    assert!(net.log[1].starts_with("<B 1 SYN F"));
    assert!(net.log[2].starts_with("A> 1 ack"));
    assert_eq!(net.identifiers(A), [(1, State::Established)]);
}

#[test]
fn a_peer_that_forgot_its_connection_opens_it_anew() {
    let mut net = Net::new();
    net.input(A, TableInput::Open(between(1, 80)));
    net.pass(1000);
    net.hosts[A] = ConnectionTable::new(TableConfig::default());
    net.input(A, TableInput::Open(between(1, 80)));
    net.pass(1000);
    assert_eq!(net.events[B][1], (net.keys[B][0], Event::Reset));
    assert_eq!(net.identifiers(B), [(0, State::Established)]);
}

#[test]
fn both_propose_the_same_identifier_for_different_connections() {
    let mut net = Net::new();
    net.input(A, TableInput::Open(between(1, 80)));
    net.input(B, TableInput::Open(between(80, 1).swapped()));
    net.pass(3000);
    // A has the lower endpoint: its proposal stands, and B changes its own.
    assert_eq!(net.identifiers(A), [(0, State::Established), (1, State::Established)]);
    assert_eq!(net.identifiers(B), [(1, State::Established), (0, State::Established)]);
}

#[test]
fn both_open_the_same_connection_at_once() {
    for offset in [0, 1] {
        let mut net = Net::new();
        // If B proposes another identifier, that of A is used.
        for port in 0..offset {
            net.input(B, TableInput::Open(between(80, 500 + port).swapped()));
        }
        net.input(A, TableInput::Open(between(1, 9)));
        net.input(B, TableInput::Open(between(1, 9).swapped()));
        net.pass(5000);
        let find = |who: usize| {
            let key = net.keys[who].iter().copied().find(|key| {
                net.hosts[who].connection(*key).is_some_and(|end| end.state() == State::Established)
                    && net.events[who].iter().filter(|(k, e)| k == key && *e == Event::Connected).count() == 1
            });
            key.and_then(|key| net.hosts[who].connection(key)).map(Connection::id)
        };
        assert!(find(A).is_some());
        let ids = |who| {
            net.identifiers(who).into_iter().map(|(id, _)| id).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(ids(A), ids(B));
        assert!(net.events.iter().flatten().all(|(_, event)| *event == Event::Connected));
    }
}

#[test]
fn strangers_are_refused_or_dropped() {
    let mut net = Net::new();
    // No endpoint listens.
    net.input(A, TableInput::Open(between(1, 81)));
    net.pass(1000);
    assert_eq!(net.events[A], [(net.keys[A][0], Event::Refused)]);
    // A packet with an unknown identifier and without addresses gets no answer.
    net.log.clear();
    let header = Header { sequence: Some(Seq::new(5)), ..Header::new(9) };
    net.input(B, TableInput::Packet(E2tcpPacket { header, len: 5 }, None, ()));
    assert!(net.log.is_empty());
    assert_eq!(net.hosts[B].dropped(), 1);
    // With addresses it gets one, if it occupies sequence numbers.
    let header = Header { addresses: Some(IpVersion::V4), ..header };
    net.input(B, TableInput::Packet(E2tcpPacket { header, len: 5 }, Some(between(1, 80)), ()));
    assert_eq!(net.log, ["<B 9 RST F ack 5"]);
}
