//! The gateway of the simulator and those of a device send the same packets over the hop.
//!
//! A script of writes and closes, and of losses, copies and delays of the hop's packets, runs once through a [`Gateway`], whose legs are
//! connections of this crate, and once through a [`SplitProxy`] or a [`TcpProxy`], whose sockets are those of a kernel. The kernel is
//! modelled by the same TCP, and its sockets are served as a device's host serves them: read as far as there is room, written at once.
//! Compared are the time, the header and the bytes of every packet of the hop. They are equal as long as half of a proxy's buffer has
//! room for the windows; below that a proxy leaves small pieces of room to grow.

use std::collections::BTreeMap;
use std::fmt::Debug;

use airwatt_base::{Instant, Machine, Seq, Span};

use super::split_proxy::{opening, pattern};
use crate::bad_path::{Badness, Fate, bad_path};
use crate::e2tcp::{self, E2tcpConfig, IpVersion};
use crate::end::{End, EndEvent, EndOutput, Stream};
use crate::gateway::{
    ConnectFailure, ConnectionId, Gateway, GatewayMessage, Input, Output, SplitProxy, SplitProxyConfig,
    SplitProxyInput as In, SplitProxyOutput as Out, TcpProxy, TcpProxyConfig,
};
use crate::tcp::{self, ReceiveBytes, Segment, SendBytes, TcpConfig};

type Tcp = tcp::Connection<SendBytes, ReceiveBytes>;
type E2tcp = e2tcp::Connection<SendBytes, ReceiveBytes>;
type TcpPacket = (Segment, Vec<u8>);

/// One way.
const WIRE: Span = Span::from_millis(10);
const HOP: Span = Span::from_millis(5);
/// Of a connection in each direction: half of it is above every window.
const BUFFER: u32 = 1 << 20;
const LONG: Span = Span::from_secs(3_600);

/// A packet that a base station sends.
#[derive(Clone, Debug)]
enum Sent<P> {
    ToServer(TcpPacket),
    ToMobile(P),
}

/// A base station between the wire of a server and the hop of a mobile.
trait Base<P> {
    fn take_from_server(&mut self, packet: TcpPacket, now: Instant);
    fn take_from_mobile(&mut self, packet: P, now: Instant);
    fn handle_timeout(&mut self, now: Instant);
    fn due(&self) -> Option<Instant>;
    fn sent(&mut self) -> Vec<Sent<P>>;
}

impl<S: End<Data = Vec<u8>>> Base<S::Packet> for Gateway<Tcp, S> {
    fn take_from_server(&mut self, packet: TcpPacket, now: Instant) {
        self.handle_input(Input::FromWired(0, packet), now);
    }

    fn take_from_mobile(&mut self, packet: S::Packet, now: Instant) {
        self.handle_input(Input::FromWireless(0, packet), now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn due(&self) -> Option<Instant> {
        self.poll_timeout().map(|timeout| timeout.at)
    }

    fn sent(&mut self) -> Vec<Sent<S::Packet>> {
        let sent = |output| match output {
            Output::ToWired(_, packet) => Sent::ToServer(packet),
            Output::ToWireless(_, packet) => Sent::ToMobile(packet),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| self.poll_output()).map(sent).collect()
    }
}

/// What the host of either proxy does with it.
trait Proxy: Machine<Input = In, Output = Out> {
    /// The socket to the server.
    const SERVER: ConnectionId;
    fn room(&self, id: ConnectionId) -> u64;
    fn outgoing(&self, id: ConnectionId) -> &[u8];
    fn note_written(&mut self, id: ConnectionId, bytes: usize, now: Instant);
    fn is_to_shut(&self, id: ConnectionId) -> bool;
    fn note_shut(&mut self, id: ConnectionId, now: Instant);
}

macro_rules! proxy {
    ($proxy:ident, $server:literal) => {
        impl Proxy for $proxy {
            const SERVER: ConnectionId = $server;
            fn room(&self, id: ConnectionId) -> u64 {
                self.room(id)
            }
            fn outgoing(&self, id: ConnectionId) -> &[u8] {
                self.outgoing(id)
            }
            fn note_written(&mut self, id: ConnectionId, bytes: usize, now: Instant) {
                self.note_written(id, bytes, now);
            }
            fn is_to_shut(&self, id: ConnectionId) -> bool {
                self.is_to_shut(id)
            }
            fn note_shut(&mut self, id: ConnectionId, now: Instant) {
                self.note_shut(id, now);
            }
        }
    };
}

proxy!(SplitProxy, 0);
proxy!(TcpProxy, 1);

/// A socket of the modelled kernel.
struct Socket {
    end: Tcp,
    peer_closed: bool,
    is_shut: bool,
}

/// A proxy with its host.
struct Device<Q, P> {
    proxy: Q,
    sockets: BTreeMap<ConnectionId, Socket>,
    /// The SYN of the mobile that the kernel has not seen yet.
    held: Option<TcpPacket>,
    sent: Vec<Sent<P>>,
    /// Makes a packet of the hop of a message, or of a segment of the socket to the mobile.
    of_message: fn(GatewayMessage) -> Option<P>,
    of_segment: fn(TcpPacket) -> P,
}

impl<Q: Proxy, P> Device<Q, P> {
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
                let packet = GatewayMessage::decode(&bytes).and_then(self.of_message);
                self.sent.extend(packet.map(Sent::ToMobile));
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

    fn socket(&mut self, id: ConnectionId) -> &mut Tcp {
        let socket = Socket { end: Tcp::new(relayed_tcp()), peer_closed: false, is_shut: false };
        &mut self.sockets.entry(id).or_insert(socket).end
    }

    /// Serves a socket once. Returns whether there was anything to do.
    fn serve(&mut self, id: ConnectionId, now: Instant) -> bool {
        let Self { proxy, sockets, sent, of_segment, .. } = self;
        let Some(Socket { end, peer_closed, is_shut }) = sockets.get_mut(&id) else { return false };
        if let Some(output) = End::poll(end) {
            match output {
                EndOutput::Transmit(packet) if id == Q::SERVER => sent.push(Sent::ToServer(packet)),
                EndOutput::Transmit(packet) => sent.push(Sent::ToMobile(of_segment(packet))),
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

/// What a mobile's packet is for a device.
trait FromMobile<P> {
    fn take(&mut self, packet: P, now: Instant);
}

impl FromMobile<(e2tcp::E2tcpPacket, Vec<u8>)> for Device<SplitProxy, (e2tcp::E2tcpPacket, Vec<u8>)> {
    fn take(&mut self, (packet, payload): (e2tcp::E2tcpPacket, Vec<u8>), now: Instant) {
        let addresses = packet.header.addresses.map(|_| opening(1).addresses());
        let message = GatewayMessage::Packet(packet, addresses, payload);
        self.input(In::Message(0, message.encode()), now);
    }
}

impl FromMobile<TcpPacket> for Device<TcpProxy, TcpPacket> {
    fn take(&mut self, packet: TcpPacket, now: Instant) {
        match self.sockets.get_mut(&0) {
            Some(socket) => {
                socket.end.receive(packet, now);
                self.settle(now);
            }
            None => {
                self.held.get_or_insert(packet);
                self.input(In::Opening(0, opening(1)), now);
            }
        }
    }
}

impl<Q: Proxy, P> Base<P> for Device<Q, P>
where
    Self: FromMobile<P>,
{
    fn take_from_server(&mut self, packet: TcpPacket, now: Instant) {
        if let Some(socket) = self.sockets.get_mut(&Q::SERVER) {
            socket.end.receive(packet, now);
        }
        self.settle(now);
    }

    fn take_from_mobile(&mut self, packet: P, now: Instant) {
        self.take(packet, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sockets.values_mut().for_each(|socket| End::handle_timeout(&mut socket.end, now));
        self.proxy.handle_timeout(now);
        self.settle(now);
    }

    fn due(&self) -> Option<Instant> {
        let sockets = self.sockets.values().filter_map(|socket| End::due(&socket.end));
        sockets.chain(self.proxy.poll_timeout().map(|timeout| timeout.at)).min()
    }

    fn sent(&mut self) -> Vec<Sent<P>> {
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

/// A packet on its way.
enum OnWay<P> {
    Server(TcpPacket),
    BaseByWire(TcpPacket),
    BaseByHop(P),
    Mobile(P),
}

/// What a run came to: the packets that were sent over the hop, and what each host has read.
#[derive(Debug, PartialEq)]
struct Seen<P> {
    hop: Vec<(Instant, bool, P)>,
    read: [Vec<u8>; 2],
}

/// Runs the script between a server and a mobile over this base station.
fn run<M: End<Data = Vec<u8>>>(
    mut base: impl Base<M::Packet>,
    mut mobile: M,
    seed: u64,
    badness: Badness,
) -> Seen<M::Packet> {
    let mut server = Tcp::new(TcpConfig { initial_sequence: Seq::new(77), ..relayed_tcp() });
    let mut fate = bad_path::<()>(seed, badness);
    let mut seen = Seen { hop: Vec::new(), read: Default::default() };
    let mut way: BTreeMap<(Instant, u64), OnWay<M::Packet>> = BTreeMap::new();
    let mut steps = SCRIPT.iter().copied().peekable();
    let (mut now, mut order) = (Instant::ZERO, 0);
    server.listen(now);
    mobile.open(now);
    loop {
        let mut put = |way: &mut BTreeMap<_, _>, at, packet| {
            order += 1;
            way.insert((at, order), packet);
        };
        while let Some(output) = End::poll(&mut server) {
            if let EndOutput::Transmit(packet) = output {
                put(&mut way, now + WIRE, OnWay::BaseByWire(packet));
            }
        }
        let mut hop: Vec<(bool, M::Packet)> = Vec::new();
        while let Some(output) = mobile.poll() {
            if let EndOutput::Transmit(packet) = output {
                hop.push((false, packet));
            }
        }
        for sent in base.sent() {
            match sent {
                Sent::ToServer(packet) => put(&mut way, now + WIRE, OnWay::Server(packet)),
                Sent::ToMobile(packet) => hop.push((true, packet)),
            }
        }
        for (down, packet) in hop {
            seen.hop.push((now, down, packet.clone()));
            let delays = match fate(0, 0, &()) {
                Fate::Arrive => vec![Span::ZERO],
                Fate::Lose => vec![],
                Fate::Delay(more) => vec![more],
                Fate::Double(more) => vec![Span::ZERO, more],
            };
            for more in delays {
                let packet = packet.clone();
                let packet = if down { OnWay::Mobile(packet) } else { OnWay::BaseByHop(packet) };
                put(&mut way, now + HOP + more, packet);
            }
        }
        // Reading may open a window, which is an output.
        let readable = [server.readable(), mobile.readable()];
        if readable != [0; 2] {
            seen.read[SERVER].extend(server.read(readable[SERVER], now));
            seen.read[MOBILE].extend(mobile.read(readable[MOBILE], now));
            continue;
        }
        let step = steps.peek().map(|(ms, ..)| Instant::from_millis(*ms));
        let arrival = way.keys().next().map(|(at, _)| *at);
        let timers = [End::due(&server), mobile.due(), base.due()];
        let next = timers.into_iter().chain([step, arrival]).flatten().min();
        let Some(next) = next.filter(|at| *at <= Instant::from_millis(200_000)) else { return seen };
        now = next;
        if let Some((_, host, action)) = steps.next_if(|(ms, ..)| Instant::from_millis(*ms) == now) {
            match (host, action) {
                (SERVER, Step::Write(bytes)) => Stream::write(&mut server, pattern(bytes), now),
                (SERVER, Step::Close) => Stream::close(&mut server, now),
                (_, Step::Write(bytes)) => mobile.write(pattern(bytes), now),
                (_, Step::Close) => mobile.close(now),
            }
        } else if arrival == Some(now) {
            match way.pop_first().expect("a packet arrives").1 {
                OnWay::Server(packet) => server.receive(packet, now),
                OnWay::BaseByWire(packet) => base.take_from_server(packet, now),
                OnWay::BaseByHop(packet) => base.take_from_mobile(packet, now),
                OnWay::Mobile(packet) => mobile.receive(packet, now),
            }
        } else {
            End::handle_timeout(&mut server, now);
            mobile.handle_timeout(now);
            base.handle_timeout(now);
        }
    }
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
fn check<P: Debug + PartialEq>(simulated: &Seen<P>, shipped: &Seen<P>, what: &str) {
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
        let mobile = E2tcp::new(hop_e2tcp(), 0, IpVersion::V4);
        let device = Device {
            proxy: SplitProxy::new(config, 1),
            sockets: BTreeMap::new(),
            held: None,
            sent: Vec::new(),
            of_message: |message| match message {
                GatewayMessage::Packet(packet, _, payload) => Some((packet, payload)),
                _ => None,
            },
            of_segment: |_| unreachable!("the mobile has no socket here"),
        };
        let shipped = run(device, mobile.clone(), seed, badness);
        // A table draws initial sequence numbers by its clock.
        let answer = shipped.hop.iter().find(|(_, down, _)| *down).expect("the SYN is answered");
        let initial_sequence = answer.2.0.header.sequence.expect("a SYN has a number");
        let wireless =
            E2tcpConfig { obeys_peer: true, receive_buffer: BUFFER / 2, initial_sequence, ..hop_e2tcp() };
        let legs = (Tcp::new(relayed_tcp()), E2tcp::new(wireless, 0, IpVersion::V4));
        let simulated = run(Gateway::new(u64::from(BUFFER / 2), false, [legs]), mobile, seed, badness);
        check(&simulated, &shipped, &format!("seed {seed}, {badness:?}"));
    }
}

#[test]
fn a_base_station_alone_sends_the_packets_of_the_simulated_gateway() {
    for (seed, badness) in badnesses() {
        let config = TcpProxyConfig { buffer: BUFFER, admission: LONG, ..TcpProxyConfig::default() };
        let mobile = Tcp::new(TcpConfig { initial_sequence: Seq::new(7), ..relayed_tcp() });
        let device = Device {
            proxy: TcpProxy::new(config),
            sockets: BTreeMap::new(),
            held: None,
            sent: Vec::new(),
            of_message: |_| None,
            of_segment: |packet| packet,
        };
        let shipped = run(device, mobile.clone(), seed, badness);
        let legs = || (Tcp::new(relayed_tcp()), Tcp::new(relayed_tcp()));
        let simulated = |buffer| run(Gateway::new(buffer, false, [legs()]), mobile.clone(), seed, badness);
        assert_ne!(simulated(2_000), shipped, "another bound shows in the packets");
        let simulated = simulated(u64::from(BUFFER / 2));
        check(&simulated, &shipped, &format!("seed {seed}, {badness:?}"));
    }
}
