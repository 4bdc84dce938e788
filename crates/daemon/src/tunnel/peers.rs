//! The tunnels to all peers as one machine: packets of this host and datagrams of the network go in, and come out.
//!
//! ```text
//!  packet   -> the peer by its destination -> its tunnel -> its session -> datagram
//!  datagram -> its session -> the peer's tunnel, if the sources of its packets are the peer's -> packet
//! ```
//! Everything about who may send what is decided here, without a socket. With `plain = true` there are no sessions: a datagram
//! is taken for the peer's whose address it comes from, or who may send its first packet; a handshake of SCTP from an unknown
//! address for the only peer's, if there is one.
//!
//! No datagram is taken from an address inside the tunnel, however genuine: its answer would be routed into the device, and the tunnel
//! would run through itself. A client's kernel chooses such a source for outer packets while the client has no other address.
//!
//! The next timeout is found by looking at all peers, which is right for the tens of clients of one access point.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use airwatt_base::{Instant, Machine, Span, Timeout, TimerKind as _};
use airwatt_proto::session::{self, Sessions};
use airwatt_proto::tunnel::{self, Datagram, DropReason, Inner as _, IpPacket, Tunnel, sctp, wire};
use serde::Serialize;

use super::association::{PeerAssociation, PeerDatagram};
use super::config::Config;
use crate::path_watch::Path;
use crate::peering::Carrier;
use crate::settings::{Prefix, is_private};

pub(super) type PeerTunnel = Tunnel<PeerAssociation>;

/// An input.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A packet of this host.
    Packet(IpPacket),
    /// A datagram from the network, for this address of this host.
    Datagram { from: SocketAddr, asked: Option<IpAddr>, bytes: Vec<u8> },
    /// The host was suspended for this time.
    Resumed(Span),
    /// This end has started or has another address: a peer whose address is known learns at once where this host is.
    Here,
    /// The tunnels end: what they hold is sent.
    Ending,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// A datagram for the network, from this address of this host or from that which the kernel chooses.
    Transmit { to: SocketAddr, source: Option<IpAddr>, bytes: Vec<u8> },
    /// A packet for this host.
    Deliver(IpPacket),
    /// A packet that goes no further.
    Dropped { peer: usize, packet: IpPacket, why: DropReason },
    /// A handshake with this peer was completed.
    Connected(usize),
    /// A peer has answered none of this many initiations.
    Unanswered(usize, u32),
    /// A peer has another address.
    Moved(usize, SocketAddr),
    /// For the first time a datagram of a peer had the form of another association.
    OtherForm(usize),
}

/// Why the machine wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Tunnel(tunnel::Reason),
    Session(session::Reason),
}

impl Reason {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tunnel(reason) => reason.name(),
            Self::Session(reason) => reason.name(),
        }
    }
}

/// A peer, beside its session.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) tunnel: PeerTunnel,
    /// Inner sources that it may send, and inner destinations that are sent to it.
    pub(super) allowed_ips: Vec<Prefix>,
    /// Its packets whose source is not among its `allowed_ips`.
    pub(super) refused_sources: u64,
    /// Datagrams received.
    pub(super) datagrams_received: u64,
    /// Datagrams of the peer in the form of another association.
    pub(super) other_form: u64,
    /// Wake-ups of the radio for what this host sends, with the tunnel and without it, if the radio stays awake for the shortest and
    /// for the longest tail after a packet.
    wakeups: [WakeUps; 2],
}

/// The tail of mac80211's dynamic power save, the longest that is looked at. The shortest is that of the radio itself.
pub(super) const LONG_TAIL: Span = Span::from_millis(100);

/// The wake-ups of a radio that falls asleep a tail after the last packet in either direction.
#[derive(Clone, Copy, Debug, Default)]
struct WakeUps {
    /// Without the tunnel each packet of this host is sent as it comes.
    without: AwakeRadio,
    /// With it datagrams are sent.
    with: AwakeRadio,
}

#[derive(Clone, Copy, Debug, Default)]
struct AwakeRadio {
    last: Option<Instant>,
    wakeups: u64,
}

impl AwakeRadio {
    /// Something is sent.
    fn send(&mut self, tail: Span, now: Instant) {
        let is_awake = self.last.is_some_and(|last| now.saturating_since(last) <= tail);
        self.wakeups += u64::from(!is_awake);
        self.last = Some(now);
    }
}

impl Peer {
    pub(super) const fn new(tunnel: PeerTunnel, allowed_ips: Vec<Prefix>) -> Self {
        Self {
            tunnel,
            allowed_ips,
            refused_sources: 0,
            datagrams_received: 0,
            other_form: 0,
            wakeups: [WakeUps {
                without: AwakeRadio { last: None, wakeups: 0 },
                with: AwakeRadio { last: None, wakeups: 0 },
            }; 2],
        }
    }

    /// Wake-ups of the radio for packets of this host that bursts have saved, from the least to the most over the two tails: those of
    /// the packets as they came, less those of the datagrams as they left. Below zero if triggers and keep-alives cost more.
    pub(super) fn saved_wakeups(&self) -> [i64; 2] {
        let mut saved =
            self.wakeups.map(|radio| radio.without.wakeups.cast_signed() - radio.with.wakeups.cast_signed());
        saved.sort_unstable();
        saved
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.allowed_ips.iter().any(|prefix| prefix.contains(address))
    }

    /// Reads a datagram; packets with sources that are not allowed are left out and counted.
    fn parse(&mut self, bytes: &[u8]) -> Option<PeerDatagram> {
        let (header, packets) = wire::parse(bytes).ok()?;
        let mut accepted = Vec::new();
        for packet in packets {
            match IpPacket::parse(packet.to_vec()) {
                Ok(packet) if self.allows(packet.flow().source) => accepted.push(packet),
                _ => self.refused_sources += 1,
            }
        }
        Some(PeerDatagram::Datagram(Datagram { header, packets: accepted }))
    }
}

/// Whether a destination is a group of hosts on one link, which a tunnel is not: solicitations of routers, reports of group membership,
/// and names that are asked of neighbours would keep an idle tunnel awake (224.0.0.0/24 of RFC 5771, scopes 1 and 2 of RFC 4291).
fn is_of_link(destination: IpAddr) -> bool {
    match destination {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.is_multicast() && matches!(address.octets()[1] & 15, 1 | 2),
    }
}

/// Whether a payload only shows that its path carries a datagram of this size. A datagram begins with its version, and a packet of SCTP
/// with a port, neither of which is zero.
fn is_probe(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)
}

/// Whether bytes are a datagram that carries IP packets, as without SCTP.
fn is_in_form_of_datagrams(bytes: &[u8]) -> bool {
    let first = wire::parse(bytes).ok().and_then(|(_, mut packets)| packets.next().map(<[u8]>::to_vec));
    first.is_some_and(|packet| IpPacket::parse(packet).is_ok())
}

/// What concerns no peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Packets of this host for which there is no peer, or whose peer's address is unknown.
    pub(super) unroutable: u64,
    /// Datagrams that had no effect: forged, damaged, not from a peer, or from an address inside the tunnel.
    pub(super) strange_datagrams: u64,
    /// Replies to handshakes under load.
    pub(super) cookies: u64,
}

/// The tunnels to all peers.
#[derive(Clone, Debug)]
pub(super) struct Peers {
    pub(super) peers: Vec<Peer>,
    pub(super) carrier: Carrier,
    /// The networks of this host's addresses in the tunnel.
    networks: Vec<Prefix>,
    unroutable: u64,
    strange_datagrams: u64,
    /// Largest inner packet that fits the path; segments of TCP connections are kept below it.
    mtu: u16,
    /// Time after which a radio without a tunnel would sleep: its transitions.
    sleeps_after: Span,
    outputs: VecDeque<Output>,
}

impl Peers {
    pub(super) const fn new(peers: Vec<Peer>, carrier: Carrier, mtu: u16, sleeps_after: Span) -> Self {
        Self {
            peers,
            carrier,
            networks: Vec::new(),
            unroutable: 0,
            strange_datagrams: 0,
            mtu,
            sleeps_after,
            outputs: VecDeque::new(),
        }
    }

    /// The same with these addresses of this host in the tunnel.
    pub(super) fn with_addresses(self, addresses: &[Prefix]) -> Self {
        Self { networks: addresses.to_vec(), ..self }
    }

    /// Whether packets to the address are routed into the device, so that no peer can be there. A prefix of all destinations does not
    /// count: datagrams have a mark that leads them past it.
    pub(super) fn is_inside(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let of_peers = self.peers.iter().flat_map(|peer| &peer.allowed_ips);
        of_peers.chain(&self.networks).any(|prefix| prefix.length > 0 && prefix.contains(address))
    }

    /// What was counted.
    pub(super) fn counts(&self) -> Counts {
        let strangers = match &self.carrier {
            Carrier::Sealed(sessions) => sessions.strangers(),
            Carrier::Plain(_) => session::StrangerCounts::default(),
        };
        Counts {
            unroutable: self.unroutable,
            strange_datagrams: self.strange_datagrams + strangers.silent,
            cookies: strangers.cookies,
        }
    }

    /// Follows the MTU of the configuration.
    pub(super) fn resize(&mut self, config: &Config, now: Instant) {
        self.mtu = config.fitting();
        for peer in 0..self.peers.len() {
            self.peers[peer].tunnel.association_mut().resize(config, now);
            self.pump(peer, now);
        }
    }

    /// Sends a probe: a datagram of zeros, as large as the path is said to carry.
    pub(super) fn probe(&mut self, path: Path, now: Instant) {
        let is_plain = matches!(self.carrier, Carrier::Plain(_));
        let headers = wire::carrier_bytes(wire::OuterIp::of(path.to.ip()), is_plain);
        let payload = vec![0; usize::from(path.mtu).saturating_sub(headers as usize)];
        match &mut self.carrier {
            Carrier::Sealed(sessions) => {
                let (peer, expects_answer) = (path.peer, false);
                sessions.handle_input(session::Input::Send { peer, payload, expects_answer }, now);
                self.drain_sessions(now);
            }
            Carrier::Plain(_) => {
                self.outputs.push_back(Output::Transmit { to: path.to, source: None, bytes: payload });
            }
        }
    }

    /// The times after the last packet at which a radio falls asleep, for which savings are estimated.
    pub(super) const fn tails(&self) -> [Span; 2] {
        [self.sleeps_after, LONG_TAIL]
    }

    /// The peer whose longest prefix contains the address.
    fn peer_of(&self, address: IpAddr) -> Option<usize> {
        let longest = |peer: &Peer| {
            let fitting = peer.allowed_ips.iter().filter(|prefix| prefix.contains(address));
            fitting.map(|prefix| prefix.length).max()
        };
        let fitting = self.peers.iter().enumerate().filter_map(|(index, peer)| Some((longest(peer)?, index)));
        fitting.max_by_key(|(length, index)| (*length, std::cmp::Reverse(*index))).map(|(_, index)| index)
    }

    /// A packet of this host.
    fn send(&mut self, mut packet: IpPacket, now: Instant) {
        if is_of_link(packet.flow().destination) {
            self.unroutable += 1;
            return;
        }
        match self.peer_of(packet.flow().destination).filter(|peer| self.carrier.endpoint(*peer).is_some()) {
            Some(peer) => {
                packet.clamp_segments(self.mtu);
                let tails = self.tails();
                for (radio, tail) in self.peers[peer].wakeups.iter_mut().zip(tails) {
                    radio.without.send(tail, now);
                }
                self.peers[peer].tunnel.handle_input(tunnel::Input::Inner(packet), now);
                self.pump(peer, now);
            }
            None => self.unroutable += 1,
        }
    }

    /// Sends what the tunnels hold, as at a wake-up of the radio.
    fn send_held(&mut self, now: Instant) {
        for peer in 0..self.peers.len() {
            self.peers[peer].tunnel.handle_input(tunnel::Input::Awake, now);
            self.pump(peer, now);
        }
    }

    /// Takes the outputs of a tunnel.
    fn pump(&mut self, peer: usize, now: Instant) {
        while let Some(output) = self.peers[peer].tunnel.poll_output() {
            match output {
                tunnel::Output::Transmit(datagram) => self.transmit(peer, datagram, now),
                // Sources in datagrams were checked when these came; SCTP has its messages out only now.
                tunnel::Output::Deliver(packet) if !self.peers[peer].allows(packet.flow().source) => {
                    self.peers[peer].refused_sources += 1;
                }
                tunnel::Output::Deliver(mut packet) => {
                    packet.clamp_segments(self.mtu);
                    self.outputs.push_back(Output::Deliver(packet));
                }
                tunnel::Output::Dropped(packet, why) => {
                    self.outputs.push_back(Output::Dropped { peer, packet, why });
                }
            }
        }
    }

    fn transmit(&mut self, peer: usize, datagram: PeerDatagram, now: Instant) {
        let expects_answer = datagram.expects_answer();
        let tails = self.tails();
        for (radio, tail) in self.peers[peer].wakeups.iter_mut().zip(tails) {
            radio.with.send(tail, now);
        }
        let payload = datagram.into_bytes();
        match &mut self.carrier {
            Carrier::Sealed(sessions) => {
                sessions.handle_input(session::Input::Send { peer, payload, expects_answer }, now);
                self.drain_sessions(now);
            }
            Carrier::Plain(endpoints) => match endpoints[peer] {
                Some(to) => self.outputs.push_back(Output::Transmit { to, source: None, bytes: payload }),
                None => self.unroutable += 1,
            },
        }
    }

    /// Takes the outputs of the sessions.
    fn drain_sessions(&mut self, now: Instant) {
        while let Some(output) = self.carrier.sessions().and_then(Sessions::poll_output) {
            self.outputs.push_back(match output {
                session::Output::Transmit { to, source, bytes, .. } => Output::Transmit { to, source, bytes },
                session::Output::Connected(peer) => Output::Connected(peer),
                session::Output::Unanswered(peer, count) => Output::Unanswered(peer, count),
                session::Output::Moved(peer, to) => Output::Moved(peer, to),
                session::Output::Deliver { peer, payload } => {
                    self.receive(peer, &payload, now);
                    continue;
                }
            });
        }
    }

    /// A datagram of a peer.
    fn receive(&mut self, peer: usize, bytes: &[u8], now: Instant) {
        if is_probe(bytes) {
            return;
        }
        let state = &mut self.peers[peer];
        let datagram = match state.tunnel.association() {
            PeerAssociation::Datagrams(_) => state.parse(bytes),
            PeerAssociation::Sctp(_) => Some(PeerDatagram::Sctp(bytes.to_vec())),
        };
        // A session vouches for the peer, so that what cannot be read is its other association, and no stranger's.
        let is_of_peer = matches!(self.carrier, Carrier::Sealed(_));
        let is_other = datagram.is_none()
            || matches!(datagram, Some(PeerDatagram::Sctp(_))) && is_in_form_of_datagrams(bytes);
        if is_of_peer && is_other {
            state.other_form += 1;
            if state.other_form == 1 {
                self.outputs.push_back(Output::OtherForm(peer));
            }
            return;
        }
        let Some(datagram) = datagram else {
            self.strange_datagrams += 1;
            return;
        };
        state.datagrams_received += 1;
        for radio in &mut state.wakeups {
            (radio.without.last, radio.with.last) = (Some(now), Some(now));
        }
        state.tunnel.handle_input(tunnel::Input::Outer(datagram), now);
        self.pump(peer, now);
    }

    /// The peer that a datagram in plain form is from, if its address is unknown.
    fn plain_peer(&self, bytes: &[u8]) -> Option<usize> {
        match (self.peers.first()?.tunnel.association(), self.peers.len()) {
            (PeerAssociation::Datagrams(_), _) => {
                let (_, mut packets) = wire::parse(bytes).ok()?;
                self.peer_of(IpPacket::parse(packets.next()?.to_vec()).ok()?.flow().source)
            }
            (PeerAssociation::Sctp(_), 1) => sctp::begins_association(bytes).then_some(0),
            (PeerAssociation::Sctp(_), _) => None,
        }
    }

    /// A datagram in plain form.
    fn receive_plain(&mut self, from: SocketAddr, bytes: &[u8], now: Instant) {
        let Carrier::Plain(endpoints) = &self.carrier else { return };
        let known = endpoints.iter().position(|endpoint| *endpoint == Some(from));
        let peer = known.or_else(|| self.plain_peer(bytes));
        let Some(peer) = peer.filter(|_| is_private(from.ip())) else {
            self.strange_datagrams += 1;
            return;
        };
        if self.carrier.set_endpoint(peer, from) {
            self.outputs.push_back(Output::Moved(peer, from));
        }
        self.receive(peer, bytes, now);
    }
}

impl Machine for Peers {
    type Input = Input;
    type Output = Output;
    type Reason = Reason;

    fn handle_input(&mut self, input: Input, now: Instant) {
        let is_inside = matches!(&input, Input::Datagram { from, .. } if self.is_inside(from.ip()));
        match (input, &mut self.carrier) {
            (Input::Packet(packet), _) => self.send(packet, now),
            // It is not given to the sessions either, whose answers to a handshake go to where it came from.
            (Input::Datagram { .. }, _) if is_inside => self.strange_datagrams += 1,
            (Input::Datagram { from, asked, bytes }, Carrier::Sealed(sessions)) => {
                sessions.handle_input(session::Input::Datagram { from, asked, bytes }, now);
            }
            (Input::Datagram { from, bytes, .. }, Carrier::Plain(_)) => self.receive_plain(from, &bytes, now),
            (Input::Resumed(suspended), carrier) => carrier.resume(suspended, now),
            (Input::Here, Carrier::Sealed(sessions)) => {
                for peer in 0..self.peers.len() {
                    if sessions.peer(peer).endpoint.is_some() {
                        let payload = Vec::new();
                        sessions
                            .handle_input(session::Input::Send { peer, payload, expects_answer: false }, now);
                    }
                }
            }
            (Input::Here, Carrier::Plain(_)) => {}
            (Input::Ending, _) => self.send_held(now),
        }
        self.drain_sessions(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for peer in 0..self.peers.len() {
            let tunnel = &mut self.peers[peer].tunnel;
            if tunnel.poll_timeout().is_some_and(|timeout| timeout.at <= now) {
                tunnel.handle_timeout(now);
                self.pump(peer, now);
            }
        }
        if let Some(sessions) = self.carrier.sessions() {
            sessions.handle_timeout(now);
        }
        self.drain_sessions(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        let of_tunnels = self.peers.iter().filter_map(|peer| peer.tunnel.poll_timeout());
        let tunnels =
            of_tunnels.map(|timeout| Timeout { at: timeout.at, reason: Reason::Tunnel(timeout.reason) });
        let sessions = self.carrier.poll_timeout();
        let sessions =
            sessions.map(|timeout| Timeout { at: timeout.at, reason: Reason::Session(timeout.reason) });
        tunnels.chain(sessions).min_by_key(|timeout| timeout.at)
    }
}

#[cfg(test)]
mod tests;
