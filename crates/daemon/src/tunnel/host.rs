//! The host of the tunnels: packets between the TUN device and the peers, and between the peers and the UDP socket.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;

use airwatt_base::{Instant, TimerKind};
use airwatt_linux::Error;
use airwatt_linux::control::Control;
use airwatt_linux::driver::Host;
use airwatt_linux::event_loop::{Ready, Token};
use airwatt_linux::metrics::{Metrics, Page};
use airwatt_linux::signals::{Signal, Signals};
use airwatt_linux::udp;
use airwatt_proto::tunnel::wire;
use airwatt_proto::tunnel::{Datagram, Input, IpPacket, Output, Reason};
use serde::Serialize;
use tracing::{debug, info, warn};
use tun_rs::SyncDevice;

use super::config::{Config, Peer};
use super::peers::{PeerInput, PeerOutput, PeerTunnel, Peers};

/// Sources of the event loop.
pub(super) const DEVICE: Token = Token(0);
pub(super) const SOCKET: Token = Token(1);
pub(super) const SIGNALS: Token = Token(2);
pub(super) const CONTROL: Token = Token(3);
pub(super) const METRICS: Token = Token(4);
pub(super) const GUARDIAN: Token = Token(5);

/// Packets read from the device before the other sources have their turn.
const BATCH: usize = 64;
/// Largest packet.
const PACKET_BYTES_MAX: usize = 65_535;

/// What is known of a peer beside its machine.
#[derive(Clone, Debug)]
pub(super) struct PeerState {
    pub(super) config: Peer,
    /// Where its last acceptable datagram came from, or its configured endpoint.
    pub(super) endpoint: Option<SocketAddr>,
    /// Its packets whose source is not among its `allowed_ips`.
    pub(super) refused_sources: u64,
    /// Datagrams received.
    pub(super) datagrams_received: u64,
}

/// What concerns no peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Packets of this host for which there is no peer, or whose peer's address is unknown.
    pub(super) unroutable: u64,
    /// Datagrams that are none, or whose sender is no peer.
    pub(super) strange_datagrams: u64,
    /// Packets that the device did not take.
    pub(super) device_failures: u64,
}

pub(super) struct TunnelHost {
    pub(super) device: SyncDevice,
    pub(super) socket: udp::Socket,
    pub(super) signals: Signals,
    pub(super) control: Control,
    pub(super) metrics: Option<Metrics>,
    pub(super) config: Config,
    pub(super) file: std::path::PathBuf,
    pub(super) peers: Vec<PeerState>,
    pub(super) counts: Counts,
    /// Timeouts served, by reason.
    pub(super) wakeups: BTreeMap<&'static str, u64>,
    buffer: Vec<u8>,
    /// Bytes of the datagram that is being sent.
    datagram: Vec<u8>,
    /// What `settle` has to do, since it needs the machine.
    asked: Asked,
}

#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    control: bool,
    metrics: bool,
    reload: bool,
}

impl TunnelHost {
    pub(super) fn new(
        config: Config,
        file: std::path::PathBuf,
        device: SyncDevice,
        socket: udp::Socket,
        signals: Signals,
        control: Control,
        metrics: Option<Metrics>,
    ) -> Self {
        let peers = config.peer.iter().cloned().map(PeerState::new).collect();
        Self {
            device,
            socket,
            signals,
            control,
            metrics,
            config,
            file,
            peers,
            counts: Counts::default(),
            wakeups: BTreeMap::new(),
            buffer: vec![0; PACKET_BYTES_MAX],
            datagram: Vec::new(),
            asked: Asked::default(),
        }
    }

    /// Reads packets of this host.
    fn read_device(&mut self, inputs: &mut Vec<(usize, PeerInput)>) -> Result<(), Error> {
        for _ in 0..BATCH {
            let length = match self.device.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                // Somebody brought the interface down.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => break,
                Err(error) => return Err(Error::new("TUN device", error)),
            };
            let Ok(packet) = IpPacket::parse(self.buffer[..length].to_vec()) else { continue };
            let to = address(packet.as_bytes(), Side::Destination);
            match to.and_then(|to| peer_of(&self.peers, to)) {
                Some(peer) if self.peers[peer].endpoint.is_some() => {
                    inputs.push((peer, Input::Inner(packet)))
                }
                _ => self.counts.unroutable += 1,
            }
        }
        Ok(())
    }

    /// Reads datagrams of the peers.
    fn read_socket(&mut self, inputs: &mut Vec<(usize, PeerInput)>) -> Result<(), Error> {
        let (peers, counts) = (&mut self.peers, &mut self.counts);
        self.socket.receive(|datagram| match accept(peers, datagram.from, datagram.bytes) {
            Some((peer, input)) => inputs.push((peer, input)),
            None => counts.strange_datagrams += 1,
        })?;
        Ok(())
    }

    /// Takes the configuration from its file again. What the device and the socket depend on cannot change.
    fn reload(&mut self, machine: &mut Peers) {
        airwatt_linux::service::reloading();
        match Config::read(&self.file) {
            Ok(config) if is_same_host(&config, &self.config) => {
                let before: Vec<(PeerState, PeerTunnel)> =
                    self.peers.drain(..).zip(std::mem::take(&mut machine.tunnels)).collect();
                let same_tunnel = config.tunnel == self.config.tunnel;
                let mut tunnels = Vec::new();
                for peer in &config.peer {
                    let kept = before.iter().find(|(state, _)| same_tunnel && state.config == *peer);
                    let (state, tunnel) = kept.cloned().unwrap_or_else(|| {
                        info!(peer = peer.name, "peer is new or has changed");
                        (PeerState::new(peer.clone()), super::run::tunnel(&config))
                    });
                    self.peers.push(state);
                    tunnels.push(tunnel);
                }
                *machine = Peers::new(tunnels);
                self.config = config;
                info!(peers = self.peers.len(), "configuration read again");
            }
            Ok(_) => warn!(
                "interface, addresses, listen, mtu, forward and metrics need a restart; nothing has changed"
            ),
            Err(failure) => warn!(%failure, "configuration not read; nothing has changed"),
        }
        airwatt_linux::service::ready(&format!("{} peers", self.peers.len()));
    }
}

/// Whether all but the peers and the settings of the tunnel are equal.
fn is_same_host(a: &Config, b: &Config) -> bool {
    let host = |config: &Config| Config { peer: Vec::new(), tunnel: b.tunnel, ..config.clone() };
    host(a) == host(b)
}

impl Host<Peers> for TunnelHost {
    fn receive(
        &mut self,
        ready: Ready,
        inputs: &mut Vec<(usize, PeerInput)>,
    ) -> Result<ControlFlow<()>, Error> {
        match ready.token {
            DEVICE => self.read_device(inputs)?,
            SOCKET => self.read_socket(inputs)?,
            CONTROL => self.asked.control = true,
            METRICS => self.asked.metrics = true,
            GUARDIAN => return Err(Error::other("the guardian", "it has ended; so does this")),
            _ => {
                while let Some(signal) = self.signals.next()? {
                    match signal {
                        Signal::Reload => self.asked.reload = true,
                        Signal::Terminate => return Ok(ControlFlow::Break(())),
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, (peer, output): (usize, PeerOutput), _now: Instant) -> Result<(), Error> {
        match output {
            Output::Transmit(datagram) => {
                self.datagram.clear();
                encode(&datagram, &mut self.datagram);
                match self.peers[peer].endpoint {
                    Some(to) => self.socket.send(to, None, &self.datagram),
                    None => self.counts.unroutable += 1,
                }
            }
            Output::Deliver(packet) => {
                if self.device.send(packet.as_bytes()).is_err() {
                    self.counts.device_failures += 1;
                }
            }
            Output::Dropped(packet, why) => debug!(bytes = packet.as_bytes().len(), ?why, "packet dropped"),
        }
        Ok(())
    }

    fn settle(&mut self, machine: &mut Peers, _now: Instant) -> Result<(), Error> {
        self.socket.flush();
        let asked = std::mem::take(&mut self.asked);
        if asked.reload {
            self.reload(machine);
        }
        if asked.control {
            let document = super::show::document(self, machine);
            self.control.serve(|command| match command {
                "status" => serde_json::to_value(&document).map_err(|error| error.to_string()),
                other => Err(format!("command: expected status, got {other}")),
            })?;
        }
        if asked.metrics {
            let page = super::show::metrics(&super::show::document(self, machine));
            let served = self.metrics.as_mut().map(|metrics| metrics.serve(|| Page::clone(&page)));
            served.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    fn wakes_up(&mut self, reason: Reason) {
        *self.wakeups.entry(reason.name()).or_default() += 1;
    }
}

impl PeerState {
    pub(super) fn new(config: Peer) -> Self {
        let endpoint = config.endpoint;
        Self { config, endpoint, refused_sources: 0, datagrams_received: 0 }
    }

    fn allows(&self, address: IpAddr) -> bool {
        self.config.allowed_ips.iter().any(|prefix| prefix.contains(address))
    }
}

/// The peer whose longest prefix contains the address.
fn peer_of(peers: &[PeerState], address: IpAddr) -> Option<usize> {
    let longest = |peer: &PeerState| {
        let fitting = peer.config.allowed_ips.iter().filter(|prefix| prefix.contains(address));
        fitting.map(|prefix| prefix.length).max()
    };
    let fitting = peers.iter().enumerate().filter_map(|(index, peer)| Some((longest(peer)?, index)));
    fitting.max_by_key(|(length, index)| (*length, std::cmp::Reverse(*index))).map(|(_, index)| index)
}

/// Reads a datagram: the peer that sent it, and what its tunnel gets. A sender that is no peer's endpoint is taken for the
/// peer that may send its first packet, which has moved or is new; encryption will know better.
fn accept(peers: &mut [PeerState], from: SocketAddr, bytes: &[u8]) -> Option<(usize, PeerInput)> {
    let (header, packets) = wire::parse(bytes).ok()?;
    let known = peers.iter().position(|peer| peer.endpoint == Some(from));
    let peer = known.or_else(|| {
        let first = packets.clone().next()?;
        peer_of(peers, address(first, Side::Source)?)
    })?;
    let state = &mut peers[peer];
    if state.endpoint != Some(from) {
        info!(peer = state.config.name, %from, "peer has a new address");
        state.endpoint = Some(from);
    }
    state.datagrams_received += 1;
    let mut accepted = Vec::new();
    for packet in packets {
        let allowed = address(packet, Side::Source).is_some_and(|source| state.allows(source));
        match IpPacket::parse(packet.to_vec()) {
            Ok(packet) if allowed => accepted.push(packet),
            _ => state.refused_sources += 1,
        }
    }
    Some((peer, Input::Outer(Datagram { header, packets: accepted })))
}

fn encode(datagram: &Datagram<IpPacket>, bytes: &mut Vec<u8>) {
    datagram.header.encode(bytes);
    for packet in &datagram.packets {
        bytes.extend_from_slice(packet.as_bytes());
    }
}

/// One of the two addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
}

fn address(packet: &[u8], side: Side) -> Option<IpAddr> {
    let second = usize::from(side == Side::Destination);
    match packet.first()? >> 4 {
        4 => packet.get(12 + 4 * second..16 + 4 * second)?.try_into().ok().map(|bytes: [u8; 4]| bytes.into()),
        6 => {
            packet.get(8 + 16 * second..24 + 16 * second)?.try_into().ok().map(|bytes: [u8; 16]| bytes.into())
        }
        _ => None,
    }
}
