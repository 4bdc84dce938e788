//! The host of the tunnels: packets between the TUN device and the peers, and between the peers and the UDP socket.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine as _, RandomStream};
use airwatt_linux::driver::MachineHost;
use airwatt_linux::event_loop::{ReadySource, Token};
use airwatt_linux::signals::Signal;
use airwatt_linux::{Error, clock, interface, random, tun, udp};
use airwatt_proto::tunnel::{IpPacket, Plain, Sctp, Tunnel, TunnelEnd};
use tracing::{debug, info, warn};
use tun_rs::SyncDevice;

use super::association::PeerAssociation;
use super::config::{Config, End};
use super::known_paths::KnownPaths;
use super::own_address::OwnAddress;
use super::peers::{Input, Output, Peer, PeerTunnel, Peers, Reason};
use super::{routing, show};
use crate::failure::Failure;
use crate::path_watch::{Path, PathWatch};
use crate::peering::{Carrier, PeerSettings, Peering as _};
use crate::services::{DEVICE, FIRST_OWN, Occasion, Services};
use crate::settings::Prefix;

/// The news of addresses and routes.
pub(super) const NEWS: Token = Token(FIRST_OWN);

/// What a tunnel works with.
pub(super) struct Parts {
    pub(super) device: SyncDevice,
    pub(super) socket: udp::Socket,
    pub(super) services: Services,
}

pub(super) struct TunnelHost {
    pub(super) parts: Parts,
    pub(super) config: Config,
    pub(super) file: std::path::PathBuf,
    /// Packets that the device did not take.
    pub(super) device_failures: u64,
    buffer: Vec<u8>,
    /// What `settle` has to do, since it needs the machine.
    has_to_reload: bool,
    has_names: bool,
    has_news: bool,
    /// Of a client.
    own_address: Option<OwnAddress>,
    path_watch: PathWatch,
    known_paths: KnownPaths,
}

impl TunnelHost {
    pub(super) fn new(
        config: Config,
        file: std::path::PathBuf,
        parts: Parts,
        own_address: Option<OwnAddress>,
    ) -> Self {
        Self {
            parts,
            config,
            file,
            device_failures: 0,
            buffer: vec![0; tun::PACKET_BYTES_MAX],
            has_to_reload: false,
            has_names: false,
            // To compare with later.
            has_news: true,
            own_address,
            path_watch: PathWatch::default(),
            known_paths: KnownPaths::default(),
        }
    }

    /// Reads packets of this host.
    fn read_device(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        tun::read(&self.parts.device, &mut self.buffer, |packet| {
            inputs.extend(IpPacket::parse(packet.to_vec()).ok().map(Input::Packet));
        })
    }

    /// Reads datagrams of the network.
    fn read_socket(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        self.parts.socket.receive(|datagram| {
            let (from, asked) = (datagram.from, datagram.to);
            inputs.push(Input::Datagram { from, asked, bytes: datagram.bytes.to_vec() });
        })?;
        Ok(())
    }

    /// The mark of datagrams, where all destinations lead into the tunnel.
    fn mark(&self) -> Option<u32> {
        (!self.config.default_routes().is_empty()).then_some(self.config.fwmark)
    }

    /// Has the peers learn a new address of this host.
    fn follow_address(&mut self, machine: &mut Peers, now: Instant) -> Result<(), Error> {
        let mark = self.mark();
        let Some(own_address) = &mut self.own_address else { return Ok(()) };
        let endpoints = (0..machine.peers.len()).filter_map(|peer| machine.carrier.endpoint(peer));
        if own_address.has_moved(endpoints, mark)? {
            info!("datagrams leave from another address: the peers learn of it");
            machine.handle_input(Input::Here, now);
            self.send_outputs(machine, now)?;
        }
        Ok(())
    }

    /// Has the MTU of the device follow the narrowest of the paths to the peers.
    fn follow_paths(&mut self, machine: &mut Peers, now: Instant) -> Result<(), Error> {
        let mark = self.mark();
        let endpoints =
            (0..machine.peers.len()).filter_map(|peer| Some((peer, machine.carrier.endpoint(peer)?)));
        let paths = self.path_watch.look(&self.parts.socket, mark, endpoints, now);
        if paths.is_empty() {
            return Ok(());
        }
        for path in paths {
            let path = Path { mtu: path.mtu.min(self.config.outer_mtu()), ..path };
            let peer = &machine.peers[path.peer];
            let exchanged = peer.tunnel.counts().datagrams + peer.datagrams_received;
            if self.known_paths.take(path, exchanged, now) {
                self.probe(path, machine, now)?;
            }
        }
        let Some(Path { mtu: path, to, .. }) = self.known_paths.narrowest() else { return Ok(()) };
        let had_to_fragment = self.config.fragment_above().is_some();
        let change = self.config.follow_path(path);
        let (mtu, fragment_above) = (self.config.mtu(), self.config.fragment_above());
        match change {
            Ordering::Equal => return Ok(()),
            Ordering::Less => {
                warn!(%to, path, mtu, "the path carries smaller packets: the tunnel's MTU is lowered");
            }
            Ordering::Greater => {
                info!(%to, path, mtu, "the path carries larger packets: the tunnel's MTU is raised");
            }
        }
        if let Err(error) = self.parts.device.set_mtu(mtu) {
            warn!(%error, "the device keeps its MTU");
        }
        if fragment_above.is_some() && !had_to_fragment {
            warn!("IPv6 has no smaller MTU: packets that do not fit the path are divided into fragments");
        }
        self.fragment_above(fragment_above);
        machine.resize(&self.config, now);
        self.send_outputs(machine, now)
    }

    fn fragment_above(&mut self, bytes: Option<usize>) {
        if let Err(error) = self.parts.socket.fragment_above(bytes) {
            warn!(%error, "packets that do not fit the path are lost");
        }
    }

    /// Sends a probe of a path, which no router may divide.
    fn probe(&mut self, path: Path, machine: &mut Peers, now: Instant) -> Result<(), Error> {
        debug!(to = %path.to, bytes = path.mtu, "probe of a wider path");
        self.fragment_above(None);
        machine.probe(path, now);
        self.send_outputs(machine, now)?;
        self.fragment_above(self.config.fragment_above());
        Ok(())
    }

    fn send_outputs(&mut self, machine: &mut Peers, now: Instant) -> Result<(), Error> {
        while let Some(output) = machine.poll_output() {
            self.carry_out(output, now)?;
        }
        self.parts.socket.flush();
        Ok(())
    }

    /// Takes the configuration from its file again. What the device and the socket depend on cannot change.
    fn reload(&mut self, machine: &mut Peers) {
        airwatt_linux::service::reloading();
        match Config::read(&self.file) {
            Ok(config) if is_same_host(&config, &self.config) => match self.take_peers(config, machine) {
                Ok(()) => info!(peers = self.config.peer.len(), "configuration read again"),
                Err(failure) => warn!(%failure, "configuration not read; nothing has changed"),
            },
            Ok(_) => warn!("all but the peers and [tunnel] needs a restart; nothing has changed"),
            Err(failure) => warn!(%failure, "configuration not read; nothing has changed"),
        }
        airwatt_linux::service::ready(&format!("{} peers", self.config.peer.len()));
    }

    /// Replaces the peers. Those that have not changed keep what they hold and their sessions.
    fn take_peers(&mut self, mut config: Config, machine: &mut Peers) -> Result<(), Failure> {
        config.path = self.config.path;
        for peer in &mut config.peer {
            let known = self.config.peer.iter().find(|old| old.endpoint == peer.endpoint);
            match known {
                Some(old) => peer.endpoint = old.endpoint.clone(),
                None => self.parts.services.look_up(peer),
            }
        }
        let is_same_tunnel = config.tunnel == self.config.tunnel;
        let endpoints: Vec<_> = (0..machine.peers.len()).map(|peer| machine.carrier.endpoint(peer)).collect();
        let kept: Vec<Option<usize>> = config
            .peer
            .iter()
            .map(|peer| self.config.peer.iter().position(|old| is_same_tunnel && old == peer))
            .collect();
        let fresh: Vec<Option<Peer>> = config
            .peer
            .iter()
            .zip(&kept)
            .map(|(new, old)| match old {
                Some(_) => Ok(None),
                None => {
                    info!(peer = new.name, "peer is new or has changed");
                    Ok(Some(Peer::new(tunnel_of(&config)?, new.allowed_ips.clone())))
                }
            })
            .collect::<Result<_, Failure>>()?;
        let mut before: Vec<Option<Peer>> =
            std::mem::take(&mut machine.peers).into_iter().map(Some).collect();
        let peers = fresh.into_iter().zip(&kept);
        machine.peers = peers.filter_map(|(new, old)| new.or_else(|| before[(*old)?].take())).collect();
        match &mut machine.carrier {
            Carrier::Sealed(sessions) => sessions.set_peers(config.sessions().session_peers()),
            Carrier::Plain(addresses) => {
                let address = |(new, old): (&PeerSettings, &Option<usize>)| match old {
                    Some(old) => endpoints[*old],
                    None => new.address(),
                };
                *addresses = config.peer.iter().zip(&kept).map(address).collect();
            }
        }
        // Peers have other numbers now.
        self.known_paths = KnownPaths::default();
        let before = std::mem::replace(&mut self.config, config).routes();
        self.change_routes(&before);
        Ok(())
    }

    /// Has the kernel route what the peers now have into the device, and no longer what they had.
    fn change_routes(&mut self, before: &[Prefix]) {
        let Some(index) = interface::index(&self.config.interface) else { return };
        let now = self.config.routes();
        let route = |prefix: &Prefix| routing::route_of(prefix, index);
        let gone = before.iter().filter(|prefix| !now.contains(prefix)).map(|prefix| route(prefix).remove());
        let new = now.iter().filter(|prefix| !before.contains(prefix)).map(|prefix| route(prefix).add());
        for error in gone.chain(new).filter_map(Result::err) {
            warn!(%error, "a route of the peers could not be changed");
        }
        self.parts.services.ways.replace(routing::ways(&self.config, index));
    }
}

/// Whether all but the peers and the settings of the tunnel are equal.
fn is_same_host(a: &Config, b: &Config) -> bool {
    let host = |config: &Config| Config { peer: Vec::new(), tunnel: b.tunnel, path: None, ..config.clone() };
    // What all destinations are routed by is set up once.
    host(a) == host(b)
        && a.tunnel.plain == b.tunnel.plain
        && a.tunnel.association == b.tunnel.association
        && a.default_routes() == b.default_routes()
}

impl MachineHost<Peers> for TunnelHost {
    const READS_FIRST: bool = true;

    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<Input>) -> Result<ControlFlow<()>, Error> {
        inputs.extend(self.parts.services.suspended().map(Input::Resumed));
        match self.parts.services.receive(ready.token)? {
            Occasion::Own if ready.token == DEVICE => self.read_device(inputs)?,
            Occasion::Own if ready.token == NEWS => self.has_news = true,
            Occasion::Own => self.read_socket(inputs)?,
            Occasion::Names => self.has_names = true,
            Occasion::Signal(Signal::Reload) => self.has_to_reload = true,
            Occasion::Signal(Signal::Terminate) => {
                self.read_device(inputs)?;
                inputs.push(Input::Ending);
                return Ok(ControlFlow::Break(()));
            }
            Occasion::Nothing => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, output: Output, _now: Instant) -> Result<(), Error> {
        let name = |peer: usize| self.config.peer[peer].name.as_str();
        match output {
            Output::Transmit { to, source, bytes } => self.parts.socket.send(to, source, &bytes),
            Output::Deliver(packet) => {
                if self.parts.device.send(packet.as_bytes()).is_err() {
                    self.device_failures += 1;
                }
            }
            Output::Dropped { peer, packet, why } => {
                debug!(peer = name(peer), bytes = packet.as_bytes().len(), ?why, "packet dropped");
            }
            Output::Connected(peer) => {
                debug!(peer = name(peer), "handshake completed");
                self.parts.services.note_connected(&self.config.peer[peer]);
            }
            Output::Unanswered(peer, count) => {
                self.parts.services.note_unanswered(&self.config.peer[peer], count);
            }
            Output::OtherForm(peer) => {
                warn!(
                    peer = name(peer),
                    "the peer's datagrams have the form of another `association`, and their packets are lost: it has to be the same at both ends"
                );
            }
            Output::Moved(peer, to) => {
                info!(peer = name(peer), %to, "peer has a new address");
                if self.config.peer[peer].endpoint.is_none() {
                    self.parts.services.endpoints.note(name(peer), to);
                }
            }
        }
        Ok(())
    }

    fn settle(&mut self, machine: &mut Peers, now: Instant) -> Result<(), Error> {
        self.parts.socket.flush();
        self.follow_paths(machine, now)?;
        if let Some(sessions) = machine.carrier.sessions() {
            sessions.set_epoch(clock::epoch(now));
        }
        if std::mem::take(&mut self.has_to_reload) {
            self.reload(machine);
            self.has_news = true;
        }
        if std::mem::take(&mut self.has_names) {
            for (peer, address) in self.parts.services.resolved(&mut self.config.peer) {
                if machine.is_inside(address.ip()) {
                    warn!(%address, "the name's address is inside the tunnel, where no datagram is sent");
                } else {
                    machine.carrier.set_endpoint(peer, address);
                }
            }
            self.has_news = true;
        }
        if std::mem::take(&mut self.has_news) {
            self.follow_address(machine, now)?;
        }
        let Self { parts, config, device_failures, .. } = self;
        let host = show::HostState {
            config,
            socket: &parts.socket,
            device_failures: *device_failures,
            wakeups: &parts.services.wakeups,
        };
        parts.services.doors.answer(|_| show::document(host, machine, now), show::metrics)?;
        Ok(())
    }

    fn wakes_up(&mut self, reason: Reason) {
        self.parts.services.note_wakeup(reason.name());
    }
}

/// The machine of one peer.
pub(super) fn tunnel_of(config: &Config) -> Result<PeerTunnel, Failure> {
    let end = match config.end {
        End::Client => TunnelEnd::Client,
        End::Concentrator => TunnelEnd::Concentrator,
    };
    let association = match config.tunnel.sctp(config.mtu().into()) {
        Some(sctp) => {
            let bytes = random::bytes()?;
            let seed = bytes.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte));
            PeerAssociation::Sctp(Box::new(Sctp::new(sctp, RandomStream::new(seed, "tunnel"))))
        }
        None => PeerAssociation::Datagrams(Plain::new(config.bundle_bytes())),
    };
    Ok(Tunnel::new(config.tunnel, end, association))
}
