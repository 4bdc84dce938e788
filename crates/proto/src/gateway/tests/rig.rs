//! A wired host, a base station and a mobile, with real bytes between them over two bad paths.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use airwatt_base::{Instant, Machine, Seq, Span};

use crate::bad_path::{Badness, Fate, bad_path};
use crate::e2tcp::{
    Addresses, ConnectionKey, ConnectionTable, E2tcpConfig, E2tcpPacket, Endpoint, Event,
    Input as E2tcpInput, TableConfig, TableInput, TableOutput,
};
use crate::gateway::*;
use crate::tcp::{self, ReceiveBytes, Segment, SendBytes, TcpConfig};

pub(super) const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
pub(super) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 80));

/// A connection of the mobile, from its side.
pub(super) fn addresses(port: u16) -> Addresses {
    let [sender, receiver] = [Endpoint { ip: MOBILE, port }, Endpoint { ip: SERVER, port: 80 }];
    Addresses::new(sender, receiver).expect("both are IPv4")
}

/// What becomes of each packet of a path.
pub(super) type Path = Box<dyn FnMut(usize, u64, &()) -> Fate>;

pub(super) type Base = BaseStation<SendBytes, ReceiveBytes>;

/// Bytes by which their place can be told.
pub(super) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 ^ (at / 251) as u8).collect()
}

#[derive(Clone, Debug)]
enum Arrival {
    BaseFromWired(Segment, Vec<u8>),
    Server(Segment, Vec<u8>),
    BaseFromMobile(E2tcpPacket, Option<Addresses>, Vec<u8>),
    Mobile(E2tcpPacket, Option<Addresses>, Vec<u8>),
}

/// What a host has learned.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    pub(super) received: Vec<u8>,
    pub(super) connected: bool,
    pub(super) peer_closed: bool,
    pub(super) reset: bool,
    pub(super) timed_out: bool,
    pub(super) closed: bool,
    to_send: Vec<u8>,
    closes: bool,
}

impl Host {
    pub(super) fn is_lost(&self) -> bool {
        self.reset || self.timed_out
    }
}

pub(super) struct Rig {
    pub(super) now: Instant,
    pub(super) base: Base,
    pub(super) server: tcp::Connection<SendBytes, ReceiveBytes>,
    pub(super) mobile: ConnectionTable<SendBytes, ReceiveBytes>,
    pub(super) key: Option<ConnectionKey>,
    /// The wired host, then the mobile.
    pub(super) hosts: [Host; 2],
    /// How connections ended at the base station.
    pub(super) endings: Vec<ConnectionEnding>,
    pub(super) passed: usize,
    /// Whether the host that does not open accepts connections.
    pub(super) listens: bool,
    /// Whether packets reach the server.
    pub(super) answers: bool,
    queue: BTreeMap<(Instant, u64), Arrival>,
    count: u64,
    paths: [Path; 2],
    pub(super) most_held: u64,
}

pub(super) const QUIET: Badness = Badness { lose: 0, double: 0, delay: 0 };

impl Rig {
    pub(super) fn new(config: BaseStationConfig, mobile: E2tcpConfig) -> Self {
        let wired = TcpConfig { initial_sequence: Seq::new(4_000_000_000), ..TcpConfig::default() };
        let server = tcp::Connection::new(wired);
        Self {
            now: Instant::from_millis(1),
            base: Base::new(config),
            server,
            mobile: ConnectionTable::new(TableConfig { connection: mobile }),
            key: None,
            hosts: Default::default(),
            endings: Vec::new(),
            passed: 0,
            listens: true,
            answers: true,
            queue: BTreeMap::new(),
            count: 0,
            paths: [Box::new(bad_path(0, QUIET)), Box::new(bad_path(0, QUIET))],
            most_held: 0,
        }
    }

    /// Makes both paths bad.
    pub(super) fn with(mut self, seed: u64, wired: Badness, wireless: Badness) -> Self {
        self.paths = [Box::new(bad_path(seed, wired)), Box::new(bad_path(seed ^ 0xABCD, wireless))];
        self
    }

    /// What each host sends before it closes.
    pub(super) fn with_data(mut self, from_server: usize, from_mobile: usize) -> Self {
        self.hosts[0].to_send = pattern(from_server);
        self.hosts[1].to_send = pattern(from_mobile);
        self
    }

    /// Neither host writes or closes.
    pub(super) fn keep_open(&mut self) {
        self.hosts.iter_mut().for_each(|host| host.closes = true);
    }

    pub(super) fn open_from_mobile(&mut self) {
        if self.listens {
            self.server.handle_input(tcp::Input::Listen, self.now);
        }
        self.mobile.handle_input(TableInput::Open(addresses(5_000)), self.now);
        self.collect();
    }

    pub(super) fn open_from_server(&mut self) {
        self.base.handle_input(BaseStationInput::Mobile(MOBILE), self.now);
        if self.listens {
            let at = addresses(5_000).sender();
            self.mobile.handle_input(TableInput::Listen(at), self.now);
        }
        self.server.handle_input(tcp::Input::Open, self.now);
        self.collect();
    }

    /// The mobile, or the server, ends its connection.
    pub(super) fn abort(&mut self, who: usize) {
        if who == 0 {
            self.server.handle_input(tcp::Input::Abort, self.now);
        } else if let Some(key) = self.key {
            self.mobile.handle_input(TableInput::Call(key, E2tcpInput::Abort), self.now);
        }
        self.hosts[who].reset = true;
        self.collect();
    }

    fn send(&mut self, path: usize, arrival: Arrival) {
        const HOP: [Span; 2] = [Span::from_millis(10), Span::from_millis(2)];
        let mut delays = Vec::new();
        match (self.paths[path])(0, 0, &()) {
            Fate::Arrive => delays.push(Span::ZERO),
            Fate::Lose => {}
            Fate::Delay(more) => delays.push(more),
            Fate::Double(more) => delays.extend([Span::ZERO, more]),
        }
        for delay in delays {
            self.count += 1;
            self.queue.insert((self.now + HOP[path] + delay, self.count), arrival.clone());
        }
    }

    /// Takes the outputs of all machines, and lets the hosts write, read and close.
    fn collect(&mut self) {
        loop {
            self.collect_base();
            let mut more = self.collect_server();
            more |= self.collect_mobile();
            more |= self.act();
            if !more {
                break;
            }
        }
        if let Some(held) = self.base.held_bytes(addresses(5_000)) {
            self.most_held = self.most_held.max(held[0]).max(held[1]);
        }
    }

    fn collect_base(&mut self) {
        while let Some(output) = self.base.poll_output() {
            match output {
                BaseStationOutput::ToWired(at, segment, payload) => {
                    assert_eq!(usize::from(segment.len), payload.len());
                    if at == addresses(5_000) {
                        self.send(0, Arrival::Server(segment, payload));
                    }
                }
                BaseStationOutput::ToMobile(mobile, packet, addresses, payload) => {
                    assert_eq!((mobile, usize::from(packet.len)), (MOBILE, payload.len()));
                    self.send(1, Arrival::Mobile(packet, addresses, payload));
                }
                BaseStationOutput::Pass(..) => self.passed += 1,
                BaseStationOutput::Unreachable(_) => {}
                BaseStationOutput::Ended(_, ending) => self.endings.push(ending),
            }
        }
    }

    fn collect_server(&mut self) -> bool {
        let mut any = false;
        while let Some(output) = self.server.poll_output() {
            any = true;
            match output {
                tcp::Output::Transmit(segment) => {
                    let payload = self.server.payload_of(&segment);
                    self.send(0, Arrival::BaseFromWired(segment, payload));
                }
                tcp::Output::Event(event) => note(&mut self.hosts[0], event.into()),
            }
        }
        let before = self.hosts[0].received.len();
        self.server.received(&mut self.hosts[0].received);
        let read = (self.hosts[0].received.len() - before) as u64;
        if read > 0 {
            self.server.handle_input(tcp::Input::Read(read), self.now);
        }
        any || read > 0
    }

    fn collect_mobile(&mut self) -> bool {
        let mut any = false;
        while let Some(output) = self.mobile.poll_output() {
            any = true;
            match output {
                TableOutput::Transmit(key, packet, addresses) => {
                    let connection = key.and_then(|key| self.mobile.connection(key));
                    let payload =
                        connection.map(|connection| connection.payload_of(&packet)).unwrap_or_default();
                    self.send(1, Arrival::BaseFromMobile(packet, addresses, payload));
                }
                TableOutput::Opened(key, _) | TableOutput::Accepted(key, _) => self.key = Some(key),
                TableOutput::Refused(..) => self.hosts[1].reset = true,
                TableOutput::Event(_, event) => {
                    assert!(!matches!(event, Event::Gap { .. }), "a mobile that wants everything gets it");
                    note(&mut self.hosts[1], event.into());
                }
            }
        }
        let Some(key) = self.key else { return any };
        let before = self.hosts[1].received.len();
        if let Some(connection) = self.mobile.connection(key) {
            connection.received(&mut self.hosts[1].received);
        }
        let read = (self.hosts[1].received.len() - before) as u64;
        if read > 0 {
            self.mobile.handle_input(TableInput::Call(key, E2tcpInput::Read(read)), self.now);
        }
        any || read > 0
    }

    /// A host that is connected writes all that it has, and closes.
    fn act(&mut self) -> bool {
        let mut any = false;
        for who in [0, 1] {
            if !self.hosts[who].connected || self.hosts[who].closes {
                continue;
            }
            any = true;
            self.hosts[who].closes = true;
            let data = self.hosts[who].to_send.clone();
            if who == 0 {
                self.server.handle_input(tcp::Input::Write(data), self.now);
                self.server.handle_input(tcp::Input::Close, self.now);
            } else if let Some(key) = self.key {
                self.mobile.handle_input(TableInput::Call(key, E2tcpInput::Write(data)), self.now);
                self.mobile.handle_input(TableInput::Call(key, E2tcpInput::Close), self.now);
            }
        }
        any
    }

    fn arrive(&mut self, arrival: Arrival) {
        let (now, to_server) = (self.now, addresses(5_000));
        match arrival {
            Arrival::BaseFromWired(segment, payload) => {
                let input = BaseStationInput::FromWired(to_server.swapped(), segment, payload);
                self.base.handle_input(input, now);
            }
            Arrival::BaseFromMobile(packet, addresses, payload) => {
                self.base.handle_input(BaseStationInput::FromMobile(MOBILE, packet, addresses, payload), now);
            }
            Arrival::Server(_, _) if !self.answers => {}
            Arrival::Server(segment, _) if self.server.state() == tcp::State::Closed => {
                if let Some(reset) = segment.reset() {
                    self.send(0, Arrival::BaseFromWired(reset, Vec::new()));
                }
            }
            Arrival::Server(segment, payload) => {
                self.server.handle_input(tcp::Input::Segment(segment, payload), now);
            }
            Arrival::Mobile(packet, addresses, payload) => {
                self.mobile.handle_input(TableInput::Packet(packet, addresses, payload), now);
            }
        }
    }

    /// Serves what is due next, up to `end`. Returns false if nothing is.
    pub(super) fn step(&mut self, end: Instant) -> bool {
        let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
        let timers = [
            self.base.poll_timeout().map(|timeout| timeout.at),
            self.server.poll_timeout().map(|timeout| timeout.at),
            self.mobile.poll_timeout().map(|timeout| timeout.at),
        ];
        let Some(next) = timers.into_iter().chain([arrival]).flatten().min().filter(|at| *at <= end) else {
            return false;
        };
        assert!(next >= self.now, "time goes on");
        self.now = next;
        if arrival == Some(next) {
            let (_, arrival) = self.queue.pop_first().expect("it was there");
            self.arrive(arrival);
        } else {
            self.base.handle_timeout(next);
            Machine::handle_timeout(&mut self.server, next);
            self.mobile.handle_timeout(next);
        }
        self.collect();
        true
    }

    pub(super) fn run(&mut self, until: Instant) {
        for _ in 0..400_000 {
            if !self.step(until) {
                return;
            }
        }
        panic!("never ends");
    }
}

fn note(host: &mut Host, event: crate::end::EndEvent) {
    use crate::end::EndEvent;
    match event {
        EndEvent::Connected => host.connected = true,
        EndEvent::PeerClosed => host.peer_closed = true,
        EndEvent::Reset => host.reset = true,
        EndEvent::TimedOut => host.timed_out = true,
        EndEvent::Closed => host.closed = true,
        _ => {}
    }
}
