//! The gateway of the simulator and those of a device send the same packets over the hop.
//!
//! A script of writes and closes, and of losses, copies and delays of the hop's packets, runs once through a [`Gateway`], whose legs are
//! connections of this crate, and once through a [`SplitProxy`], with a peer or alone, whose sockets are those of a kernel. The kernel is
//! modelled by the same TCP, and its sockets are served as a device's host serves them: read as far as there is room, written at once.
//! Compared are the time, the header and the bytes of every packet of the hop. They are equal as long as half of a proxy's buffer has
//! room for the windows; below that a proxy leaves small pieces of room to grow.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, Seq, Span};

use super::split_proxy::{opening, pattern};
use crate::any_end::{AnyEnd, AnyPacket};
use crate::bad_path::{Badness, Fate, bad_path};
use crate::e2tcp::{self, E2tcpConfig, IpVersion};
use crate::end::{End, EndEvent, EndOutput, Stream};
use crate::gateway::{
    ConnectFailure, ConnectionId, Gateway, GatewayMessage, Input, Output, Side, SplitProxy, SplitProxyConfig,
    SplitProxyInput as In, SplitProxyOutput as Out,
};
use crate::tcp::{self, ReceiveBytes, SendBytes, TcpConfig};

type Tcp = tcp::Connection<SendBytes, ReceiveBytes>;
type E2tcp = e2tcp::Connection<SendBytes, ReceiveBytes>;
type Leg = AnyEnd<SendBytes, ReceiveBytes>;
type Packet = AnyPacket<Vec<u8>>;

/// One way.
const WIRE: Span = Span::from_millis(10);
const HOP: Span = Span::from_millis(5);
/// Of a connection in each direction: half of it is above every window.
const BUFFER: u32 = 1 << 20;
const LONG: Span = Span::from_secs(3_600);

/// A base station between the wire of a server and the hop of a mobile.
trait Base {
    fn take(&mut self, from: Side, packet: Packet, now: Instant);
    fn handle_timeout(&mut self, now: Instant);
    fn due(&self) -> Option<Instant>;
    fn sent(&mut self) -> Vec<(Side, Packet)>;
}

impl Base for Gateway<Leg> {
    fn take(&mut self, from: Side, packet: Packet, now: Instant) {
        self.handle_input(Input { relay: 0, from, packet }, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn due(&self) -> Option<Instant> {
        self.poll_timeout().map(|timeout| timeout.at)
    }

    fn sent(&mut self) -> Vec<(Side, Packet)> {
        let sent = |output| match output {
            Output::Transmit(_, side, packet) => (side, packet),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| self.poll_output()).map(sent).collect()
    }
}

/// A socket of the modelled kernel.
struct Socket {
    end: Leg,
    peer_closed: bool,
    is_shut: bool,
}

/// A proxy with its host.
struct Device {
    proxy: SplitProxy,
    /// The socket to the server.
    server: ConnectionId,
    sockets: BTreeMap<ConnectionId, Socket>,
    /// The SYN of the mobile that the kernel has not seen yet.
    held: Option<Packet>,
    sent: Vec<(Side, Packet)>,
}

impl Device {
    fn new(proxy: SplitProxy, server: ConnectionId) -> Self {
        Self { proxy, server, sockets: BTreeMap::new(), held: None, sent: Vec::new() }
    }

    fn input(&mut self, input: In, now: Instant) {
        self.proxy.handle_input(input, now);
        self.settle(now);
    }

    fn settle(&mut self, now: Instant) {
        loop {
            let mut has_changed = false;
            while let Some(output) = self.proxy.poll_output() {
                has_changed = true;
                self.carry_out(output, now);
            }
            for id in self.sockets.keys().copied().collect::<Vec<_>>() {
                has_changed |= self.serve(id, now);
            }
            if !has_changed {
                return;
            }
        }
    }

    fn carry_out(&mut self, output: Out, now: Instant) {
        match output {
            Out::Transmit(_, bytes, _) => {
                if let Some(GatewayMessage::Packet(packet, _, payload)) = GatewayMessage::decode(&bytes) {
                    self.sent.push((Side::Wireless, AnyPacket::E2tcp(packet, payload)));
                }
            }
            Out::Connect(id, ..) => self.socket(id).open(now),
            Out::Admit(id, _) => {
                let held = self.held.take().expect("a SYN that is admitted was held");
                let socket = self.socket(id);
                socket.listen(now);
                socket.receive(held, now);
            }
            Out::Close(_) | Out::Ended(..) => {}
            other => panic!("{other:?}"),
        }
    }

    fn socket(&mut self, id: ConnectionId) -> &mut Leg {
        let socket = Socket { end: tcp_leg(relayed_tcp()), peer_closed: false, is_shut: false };
        &mut self.sockets.entry(id).or_insert(socket).end
    }

    /// Serves a socket once. Returns whether there was anything to do.
    fn serve(&mut self, id: ConnectionId, now: Instant) -> bool {
        let Self { proxy, server, sockets, sent, .. } = self;
        let Some(Socket { end, peer_closed, is_shut }) = sockets.get_mut(&id) else { return false };
        if let Some(output) = End::poll(end) {
            match output {
                EndOutput::Transmit(packet) if id == *server => sent.push((Side::Wired, packet)),
                EndOutput::Transmit(packet) => sent.push((Side::Wireless, packet)),
                EndOutput::Event(EndEvent::Connected) => proxy.handle_input(In::Connected(id), now),
                EndOutput::Event(EndEvent::PeerClosed) => *peer_closed = true,
                EndOutput::Event(EndEvent::Reset | EndEvent::TimedOut) => {
                    proxy.handle_input(In::Failed(id, ConnectFailure::Refused), now);
                }
                EndOutput::Event(_) => {}
            }
            return true;
        }
        let bytes = end.readable().min(proxy.room(id));
        if bytes > 0 {
            let data = end.read(bytes, now);
            proxy.handle_input(In::Received(id, data), now);
            return true;
        }
        if std::mem::take(peer_closed) {
            assert_eq!(end.readable(), 0, "the buffer has room for every window");
            proxy.handle_input(In::PeerClosed(id), now);
            return true;
        }
        let outgoing = proxy.outgoing(id).to_vec();
        if !outgoing.is_empty() {
            proxy.note_written(id, outgoing.len(), now);
            end.write(outgoing, now);
            return true;
        }
        if proxy.is_to_shut(id) && !*is_shut {
            *is_shut = true;
            end.close(now);
            proxy.note_shut(id, now);
            return true;
        }
        false
    }
}

impl Base for Device {
    fn take(&mut self, from: Side, packet: Packet, now: Instant) {
        let socket = match (from, packet) {
            (_, AnyPacket::E2tcp(packet, payload)) => {
                let addresses = packet.header.addresses.map(|_| opening(1).addresses());
                let message = GatewayMessage::Packet(packet, addresses, payload);
                return self.input(In::Message(0, message.encode()), now);
            }
            (Side::Wired, packet) => self.sockets.get_mut(&self.server).zip(Some(packet)),
            (Side::Wireless, packet) if self.sockets.contains_key(&0) => {
                self.sockets.get_mut(&0).zip(Some(packet))
            }
            (Side::Wireless, packet) => {
                self.held.get_or_insert(packet);
                return self.input(In::Opening(0, opening(1)), now);
            }
        };
        if let Some((socket, packet)) = socket {
            socket.end.receive(packet, now);
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sockets.values_mut().for_each(|socket| socket.end.handle_timeout(now));
        self.proxy.handle_timeout(now);
        self.settle(now);
    }

    fn due(&self) -> Option<Instant> {
        let sockets = self.sockets.values().filter_map(|socket| socket.end.due());
        sockets.chain(self.proxy.poll_timeout().map(|timeout| timeout.at)).min()
    }

    fn sent(&mut self) -> Vec<(Side, Packet)> {
        std::mem::take(&mut self.sent)
    }
}

/// What either host does, and when.
#[derive(Clone, Copy)]
enum Step {
    Write(usize),
    Close,
}

const SERVER: usize = 0;
const MOBILE: usize = 1;

/// Uploads, downloads and half-closes: the mobile closes first, and the server goes on.
const SCRIPT: [(u64, usize, Step); 7] = [
    (20_000, MOBILE, Step::Write(900)),
    (20_100, SERVER, Step::Write(150_000)),
    (20_300, MOBILE, Step::Write(60_000)),
    (21_000, SERVER, Step::Write(3_000)),
    (22_000, MOBILE, Step::Close),
    (23_000, SERVER, Step::Write(40_000)),
    (24_000, SERVER, Step::Close),
];

/// What a run came to: the packets that were sent over the hop, and what each host has read.
#[derive(Debug, PartialEq)]
struct Seen {
    /// When, whether to the mobile, and what.
    hop: Vec<(Instant, bool, Packet)>,
    read: [Vec<u8>; 2],
}

/// Runs the script between a server and a mobile over this base station.
fn run(mut base: impl Base, mobile: Leg, seed: u64, badness: Badness) -> Seen {
    let server = tcp_leg(TcpConfig { initial_sequence: Seq::new(77), ..relayed_tcp() });
    let mut hosts = [server, mobile];
    let mut fate = bad_path::<()>(seed, badness);
    let mut seen = Seen { hop: Vec::new(), read: Default::default() };
    // Packets on their way: over the wire or the hop, and whether to the base station.
    let mut way: BTreeMap<(Instant, u64), (Side, bool, Packet)> = BTreeMap::new();
    let mut steps = SCRIPT.iter().copied().peekable();
    let (mut now, mut order) = (Instant::ZERO, 0);
    hosts[SERVER].listen(now);
    hosts[MOBILE].open(now);
    loop {
        let mut sent: Vec<(Side, bool, Packet)> = Vec::new();
        for (host, side) in hosts.iter_mut().zip([Side::Wired, Side::Wireless]) {
            while let Some(output) = host.poll() {
                if let EndOutput::Transmit(packet) = output {
                    sent.push((side, true, packet));
                }
            }
        }
        sent.extend(base.sent().into_iter().map(|(side, packet)| (side, false, packet)));
        for (side, to_base, packet) in sent {
            let (delay, fate) = match side {
                Side::Wired => (WIRE, Fate::Arrive),
                Side::Wireless => {
                    seen.hop.push((now, !to_base, packet.clone()));
                    (HOP, fate(0, 0, &()))
                }
            };
            let delays = match fate {
                Fate::Arrive => vec![Span::ZERO],
                Fate::Lose => vec![],
                Fate::Delay(more) => vec![more],
                Fate::Double(more) => vec![Span::ZERO, more],
            };
            for more in delays {
                order += 1;
                way.insert((now + delay + more, order), (side, to_base, packet.clone()));
            }
        }
        // Reading may open a window, which is an output.
        let readable = [hosts[SERVER].readable(), hosts[MOBILE].readable()];
        if readable != [0; 2] {
            for host in [SERVER, MOBILE] {
                seen.read[host].extend(hosts[host].read(readable[host], now));
            }
            continue;
        }
        let step = steps.peek().map(|(ms, ..)| Instant::from_millis(*ms));
        let arrival = way.keys().next().map(|(at, _)| *at);
        let timers = [hosts[SERVER].due(), hosts[MOBILE].due(), base.due()];
        let next = timers.into_iter().chain([step, arrival]).flatten().min();
        let Some(next) = next.filter(|at| *at <= Instant::from_millis(200_000)) else { return seen };
        now = next;
        if let Some((_, host, action)) = steps.next_if(|(ms, ..)| Instant::from_millis(*ms) == now) {
            match action {
                Step::Write(bytes) => hosts[host].write(pattern(bytes), now),
                Step::Close => hosts[host].close(now),
            }
        } else if arrival == Some(now) {
            match way.pop_first().expect("a packet arrives").1 {
                (side, true, packet) => base.take(side, packet, now),
                (Side::Wired, false, packet) => hosts[SERVER].receive(packet, now),
                (Side::Wireless, false, packet) => hosts[MOBILE].receive(packet, now),
            }
        } else {
            hosts.iter_mut().for_each(|host| host.handle_timeout(now));
            base.handle_timeout(now);
        }
    }
}

fn tcp_leg(config: TcpConfig) -> Leg {
    AnyEnd::Tcp(Box::new(Tcp::new(config)))
}

fn e2tcp_leg(config: E2tcpConfig) -> Leg {
    AnyEnd::E2tcp(Box::new(E2tcp::new(config, 0, IpVersion::V4)))
}

/// The TCP of the base station: data wait in its receive buffer until they are read.
fn relayed_tcp() -> TcpConfig {
    TcpConfig { read_at_once: false, ..TcpConfig::default() }
}

fn hop_e2tcp() -> E2tcpConfig {
    E2tcpConfig { receive_window: 60_000, read_at_once: false, ..E2tcpConfig::default() }
}

fn badnesses() -> impl Iterator<Item = (u64, Badness)> {
    let of = |lose| Badness { lose, double: lose / 3, delay: lose };
    let bad = (1..=12).flat_map(move |seed| [20, 60, 150].map(|lose| (seed, of(lose))));
    std::iter::once((0, of(0))).chain(bad)
}

/// Checks a pair of runs: they are equal, and everything has arrived.
fn check(simulated: &Seen, shipped: &Seen, what: &str) {
    let first = simulated.hop.iter().zip(&shipped.hop).position(|(one, other)| one != other);
    if let Some(first) = first {
        panic!(
            "{what}: packet {first} of the hop differs:\n{:?}\n{:?}",
            simulated.hop[first], shipped.hop[first]
        );
    }
    assert_eq!(simulated.hop.len(), shipped.hop.len(), "{what}");
    let written = |host| {
        let steps = SCRIPT.iter().filter(move |(_, by, _)| *by == host);
        steps.flat_map(|(.., step)| if let Step::Write(bytes) = step { pattern(*bytes) } else { Vec::new() })
    };
    for seen in [simulated, shipped] {
        assert!(seen.read[SERVER].iter().copied().eq(written(MOBILE)), "{what}: the upload");
        assert!(seen.read[MOBILE].iter().copied().eq(written(SERVER)), "{what}: the download");
    }
}

#[test]
fn a_split_proxy_sends_the_packets_of_the_simulated_gateway() {
    for (seed, badness) in badnesses() {
        let config = SplitProxyConfig {
            wireless: E2tcpConfig { obeys_peer: true, ..hop_e2tcp() },
            buffer: BUFFER,
            silence: LONG,
            admission: LONG,
            ..SplitProxyConfig::default()
        };
        let mobile = e2tcp_leg(hop_e2tcp());
        let shipped = run(Device::new(SplitProxy::new(config, 1), 0), mobile.clone(), seed, badness);
        // A table draws initial sequence numbers by its clock.
        let answer = shipped.hop.iter().find(|(_, down, _)| *down).expect("the SYN is answered");
        let AnyPacket::E2tcp(answer, _) = &answer.2 else { panic!("the mobile has E2TCP: {answer:?}") };
        let initial_sequence = answer.header.sequence.expect("a SYN has a number");
        let wireless =
            E2tcpConfig { obeys_peer: true, receive_buffer: BUFFER / 2, initial_sequence, ..hop_e2tcp() };
        let legs = [tcp_leg(relayed_tcp()), e2tcp_leg(wireless)];
        let simulated = run(Gateway::new(u64::from(BUFFER / 2), false, [legs]), mobile, seed, badness);
        check(&simulated, &shipped, &format!("seed {seed}, {badness:?}"));
    }
}

#[test]
fn a_base_station_alone_sends_the_packets_of_the_simulated_gateway() {
    for (seed, badness) in badnesses() {
        let config = SplitProxyConfig { buffer: BUFFER, admission: LONG, ..SplitProxyConfig::default() };
        let mobile = tcp_leg(TcpConfig { initial_sequence: Seq::new(7), ..relayed_tcp() });
        let shipped = run(Device::new(SplitProxy::alone(config), 1), mobile.clone(), seed, badness);
        let legs = || [tcp_leg(relayed_tcp()), tcp_leg(relayed_tcp())];
        let simulated = |buffer| run(Gateway::new(buffer, false, [legs()]), mobile.clone(), seed, badness);
        assert_ne!(simulated(2_000), shipped, "another bound shows in the packets");
        let simulated = simulated(u64::from(BUFFER / 2));
        check(&simulated, &shipped, &format!("seed {seed}, {badness:?}"));
    }
}
