//! The host of a gateway: packets that open connections, sockets, and datagrams of the peers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine as _, Span};
use airwatt_linux::clock::{self, Clock};
use airwatt_linux::driver::MachineHost;
use airwatt_linux::event_loop::{Interest, ReadySource, Sources, Token, Waker};
use airwatt_linux::service;
use airwatt_linux::signals::Signal;
use airwatt_linux::transparent::{self, PacketSender};
use airwatt_linux::{Error, tun, udp};
use airwatt_proto::e2tcp::{Addresses, Endpoint};
use airwatt_proto::gateway::{
    ConnectFailure, ConnectionId, Opening, SplitProxyInput as In, SplitProxyOutput as Out, parse_reset,
};
use tracing::{debug, info, warn};
use tun_rs::SyncDevice;

use super::config::{Config, patience};
use super::ends::{Ends, Input, Output, Reason};
use super::local::{self, Frames, Local, Request};
use super::note_log::NoteLog;
use super::sockets::{FIRST_CONNECTION, Received, Sockets, socket_address};
use super::status::{self, KernelLists};
use crate::path_watch::{Path, PathWatch};
use crate::services::{DEVICE, FIRST_OWN, Occasion, SOCKET, Services};

/// Sources of the event loop, beside those of every daemon with peers.
pub(super) const LISTENERS: Token = Token(FIRST_OWN);
pub(super) const LOCAL: Token = Token(FIRST_OWN + 1);
pub(super) const END: Token = Token(FIRST_OWN + 2);

/// What a gateway works with.
pub(super) struct Parts {
    pub(super) device: SyncDevice,
    /// The socket of the peers; a base station alone has none.
    pub(super) socket: Option<udp::Socket>,
    pub(super) packets: PacketSender,
    pub(super) sockets: Sockets,
    pub(super) local: Option<Local>,
    pub(super) services: Services,
    /// Ends the driver when everything is drained.
    pub(super) waker: Waker,
}

pub(super) struct GatewayHost {
    pub(super) parts: Parts,
    pub(super) config: Config,
    /// The sources of the event loop.
    events: Sources,
    clock: Clock,
    /// Packets that the kernel did not take.
    packet_failures: u64,
    buffer: Vec<u8>,
    /// What follows from outputs, for the next time when the machine may be called.
    deferred: Vec<In>,
    /// Connections whose sockets have something to do.
    busy: BTreeSet<ConnectionId>,
    /// Programs whose connections are being opened, by the addresses of the connections.
    calls: BTreeMap<Addresses, (std::os::unix::net::UnixStream, std::os::fd::OwnedFd)>,
    is_draining: bool,
    is_over: bool,
    note_log: NoteLog,
    path_watch: PathWatch,
    lists: KernelLists,
}

impl GatewayHost {
    pub(super) fn new(parts: Parts, config: Config, events: Sources, clock: Clock) -> Self {
        Self {
            parts,
            config,
            events,
            clock,
            packet_failures: 0,
            buffer: vec![0; tun::PACKET_BYTES_MAX],
            deferred: Vec::new(),
            busy: BTreeSet::new(),
            calls: BTreeMap::new(),
            is_draining: false,
            is_over: false,
            note_log: NoteLog::default(),
            path_watch: PathWatch::default(),
            lists: KernelLists::default(),
        }
    }

    // Inputs.

    /// Reads the packets that open connections.
    fn read_device(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        let (mut openings, mut resets) = (Vec::new(), Vec::new());
        tun::read(&self.parts.device, &mut self.buffer, |packet| {
            openings.extend(Opening::parse(packet));
            resets.extend(parse_reset(packet).map(|reset| (reset, packet.to_vec())));
        })?;
        for ((addresses, number), packet) in resets {
            let peer = self.config.mobile_of(addresses);
            inputs.extend(peer.map(|peer| Input::Proxy(In::PlainReset(peer, addresses, number))));
            // It is for the server if it does not answer a challenge; one that does has a number that the server ignores.
            self.send_packet(addresses.receiver().ip, &packet);
        }
        for opening in openings {
            let addresses = opening.addresses();
            if let Some(peer) = self.config.peer_of(addresses) {
                inputs.push(Input::Proxy(In::Opening(peer, opening)));
            } else if let Some(peer) = self.config.mobile_of(addresses) {
                inputs.push(Input::Proxy(In::PlainOpening(peer, opening)));
            } else {
                self.send_packet(addresses.receiver().ip, opening.packet());
            }
        }
        Ok(())
    }

    fn read_socket(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        // A mobile has given up an opening that has waited for longer, as while this process was stopped: its connection goes as plain TCP
        // from the same port, and would be reset by another SYN. What is left out counts as lost on the way.
        let most = if self.config.is_base() { self.config.gateway.fallback / 2 } else { Span::MAX };
        if let Some(socket) = &mut self.parts.socket {
            socket.receive(|datagram| {
                if datagram.waited > most {
                    return;
                }
                let (from, asked) = (datagram.from, datagram.to);
                inputs.push(Input::Datagram { from, asked, bytes: datagram.bytes.to_vec() });
            })?;
        }
        Ok(())
    }

    fn read_connection(&mut self, ready: ReadySource, inputs: &mut Vec<Input>) {
        let id = ready.token.0 - FIRST_CONNECTION;
        if let Some(outcome) = self.parts.sockets.finish_connecting(id) {
            inputs.push(Input::Proxy(match outcome {
                Ok(()) => In::Connected(id),
                Err(failure) => self.fail(id, failure),
            }));
            return;
        }
        self.busy.insert(id);
        if !ready.readable {
            return;
        }
        match self.parts.sockets.read(id) {
            Received::Data(data) => inputs.push(Input::Proxy(In::Received(id, data))),
            Received::End => inputs.push(Input::Proxy(In::PeerClosed(id))),
            Received::Nothing => {}
            Received::Lost => {
                let lost = self.fail(id, ConnectFailure::Refused);
                inputs.push(Input::Proxy(lost));
            }
        }
    }

    /// The socket of a connection has failed.
    fn fail(&mut self, id: ConnectionId, failure: ConnectFailure) -> In {
        self.parts.sockets.close(id, true, self.clock.now());
        In::Failed(id, failure)
    }

    /// Takes programs that want connections with a reliability.
    fn read_local(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        let Some(local) = &mut self.parts.local else { return Ok(()) };
        self.calls.retain(|addresses, (stream, _)| {
            let has_gone = local::has_gone(stream);
            if has_gone {
                inputs.push(Input::Proxy(In::Cancel(0, *addresses)));
            }
            !has_gone
        });
        for (mut stream, request) in local.accept(&self.events, LOCAL)? {
            let opened = request.and_then(|request| self.call_of(request));
            match opened {
                Ok((addresses, port, shares)) => {
                    inputs.push(Input::Proxy(In::Open(0, addresses, shares)));
                    // A program may end its direction before it is answered; one that has gone has ended both.
                    self.events.add(&stream, LOCAL, Interest::Errors)?;
                    self.calls.insert(addresses, (stream, port));
                }
                Err(why) => {
                    let line = format!("error {why}\n");
                    let _ = std::io::Write::write_all(&mut stream, line.as_bytes());
                }
            }
        }
        Ok(())
    }

    /// The addresses of a program's connection, and the port that is reserved for it.
    fn call_of(
        &self,
        request: Request,
    ) -> Result<(Addresses, std::os::fd::OwnedFd, airwatt_proto::gateway::Shares), String> {
        if transparent::is_local(request.to.ip()) {
            return Err("the address is this host's own, a broadcast or a group address".to_owned());
        }
        let is_same_version = |own: &&crate::settings::Prefix| own.address.is_ipv6() == request.to.is_ipv6();
        let own = self.config.addresses.iter().find(is_same_version);
        let own = own.ok_or_else(|| "this host relays no connections of that IP version".to_owned())?;
        let (port, from) = transparent::reserve_port(own.address).map_err(|error| error.to_string())?;
        let end = |address: std::net::SocketAddr| Endpoint { ip: address.ip(), port: address.port() };
        let addresses = Addresses::new(end(from), end(request.to)).ok_or("expected one IP version")?;
        Ok((addresses, port, request.shares))
    }

    /// SIGTERM: connections may finish; the second one ends them.
    fn stop(&mut self, inputs: &mut Vec<Input>) {
        if self.is_draining {
            self.is_over = true;
        } else {
            self.is_draining = true;
            service::ending_within(patience(self.config.gateway.drain));
            inputs.push(Input::DrainUntil(self.clock.now() + self.config.gateway.drain));
        }
    }

    /// A source of a gateway alone is ready.
    fn receive_own(&mut self, ready: ReadySource, inputs: &mut Vec<Input>) -> Result<ControlFlow<()>, Error> {
        match ready.token {
            DEVICE => self.read_device(inputs)?,
            SOCKET => self.read_socket(inputs)?,
            LISTENERS => {
                let accepted = self.parts.sockets.accept(&self.events)?;
                inputs.extend(accepted.into_iter().map(|id| Input::Proxy(In::Accepted(id))));
            }
            LOCAL => self.read_local(inputs)?,
            END => {
                inputs.push(Input::Proxy(In::Abort));
                return Ok(ControlFlow::Break(()));
            }
            _ => self.read_connection(ready, inputs),
        }
        Ok(ControlFlow::Continue(()))
    }

    // Outputs.

    fn send_packet(&mut self, to: IpAddr, packet: &[u8]) {
        if let Err(error) = self.parts.packets.send(to, packet) {
            self.packet_failures += 1;
            debug!(%to, %error, "packet not sent");
        }
    }

    fn carry_out_proxy(&mut self, output: Out, now: Instant) -> Result<(), Error> {
        match output {
            Out::Connect(id, peer, addresses) => self.connect(id, peer, addresses),
            Out::Admit(id, opening) => {
                self.parts.sockets.expect(id, opening.addresses())?;
                if self.parts.device.send(opening.packet()).is_err() {
                    self.packet_failures += 1;
                }
            }
            Out::Pass(opening) => {
                self.parts.sockets.release(opening.addresses());
                self.send_packet(opening.addresses().receiver().ip, opening.packet());
            }
            Out::Challenge(number, opening) => {
                self.send_packet(opening.addresses().sender().ip, &opening.challenge(number));
            }
            Out::Present(opening) => {
                if self.parts.device.send(opening.packet()).is_err() {
                    self.packet_failures += 1;
                }
            }
            Out::Refuse(opening) => self.send_packet(opening.addresses().sender().ip, &opening.reset()),
            Out::Unreachable(opening) => {
                self.send_packet(opening.addresses().sender().ip, &opening.unreachable());
            }
            Out::Opened(id, addresses) => {
                let Some((stream, port)) = self.calls.remove(&addresses) else {
                    // The program was seen to have gone when the connection was open already.
                    let lost = self.fail(id, ConnectFailure::Refused);
                    self.deferred.push(lost);
                    return Ok(());
                };
                self.events.remove(&stream)?;
                self.parts.sockets.add_local(id, stream, port, &self.events)?;
                self.tell(id, |frames| frames.push_line("ok"));
            }
            Out::Gap(id, at, bytes) => {
                self.tell(id, |frames| frames.push(b'G', at, bytes, &[]));
            }
            Out::Late(id, at, data) => {
                self.tell(id, |frames| frames.push(b'L', at, data.len() as u64, &data));
            }
            Out::Narrowed(peer, payload) => {
                let (peer, mtu) = (&self.config.peer[peer].name, self.config.outer(payload));
                warn!(
                    peer,
                    mtu,
                    "long packets do not arrive, and nobody reports it: shorter ones are sent; hint: `mtu` in [gateway]"
                );
            }
            Out::Reset(id) => self.parts.sockets.close(id, true, now),
            Out::Close(id) => self.parts.sockets.close(id, false, now),
            Out::Ended(id, addresses, ending) => {
                let (from, to) = (socket_address(addresses.sender()), socket_address(addresses.receiver()));
                debug!(id, %from, %to, ?ending, "connection ended");
                if let Some((mut stream, _)) = self.calls.remove(&addresses) {
                    let line = format!("error {}\n", status::ending(ending));
                    let _ = std::io::Write::write_all(&mut stream, line.as_bytes());
                }
            }
            Out::Transmit(..) => {}
        }
        Ok(())
    }

    /// Adds to what the program of a connection is told beside its data.
    fn tell(&mut self, id: ConnectionId, push: impl FnOnce(&mut Frames)) {
        if let Some(frames) = self.parts.sockets.frames(id) {
            push(frames);
            self.busy.insert(id);
        }
    }

    /// Opens a connection for a peer, if it may.
    fn connect(&mut self, id: ConnectionId, peer: usize, addresses: Addresses) {
        // The kernel would take packets for an address of this host past the rules for those of the peer's network.
        let is_elsewhere = !self.config.is_base() || !transparent::is_local(addresses.receiver().ip);
        let permitted = is_elsewhere && self.config.permits(peer, addresses);
        let result = if permitted {
            self.parts.sockets.connect(id, addresses, &self.events)
        } else {
            Err(ConnectFailure::Declined)
        };
        if let Err(failure) = result {
            let failed = self.fail(id, failure);
            self.deferred.push(failed);
        }
    }

    // The paths to the peers.

    /// Shortens the packets to peers whose paths have become narrower.
    fn follow_paths(&mut self, machine: &mut Ends, now: Instant) {
        let Some(socket) = &self.parts.socket else { return };
        let endpoints =
            (0..self.config.peer.len()).filter_map(|peer| Some((peer, machine.carrier.endpoint(peer)?)));
        for Path { mtu: path, to, peer } in self.path_watch.look(socket, None, endpoints, now) {
            let payload = self.config.payload(path);
            if machine.proxy.payload_max(peer).is_some_and(|before| payload < before) {
                let (peer, mtu) = (&self.config.peer[peer].name, self.config.outer(payload));
                warn!(peer, %to, path, mtu, "the path carries smaller packets: shorter ones are sent");
            }
            machine.proxy.narrow(peer, payload, now);
        }
    }

    /// Answers those who ask for the state.
    fn answer(&mut self, machine: &Ends, now: Instant) -> Result<(), Error> {
        let Self { parts: Parts { services, sockets, .. }, config, lists, note_log, packet_failures, .. } =
            self;
        let (config, packet_failures, wakeups) = (&*config, *packet_failures, &services.wakeups);
        let state = |wanted| {
            lists.refresh(wanted, now, || sockets.kept_away(), || status::resent(config, machine));
            note_log.write_kept_away(&lists.kept_away);
            let host = status::HostState { config, lists, packet_failures, wakeups };
            status::document(host, wanted, machine, now)
        };
        services.doors.answer(state, status::metrics)
    }

    // Sockets.

    /// Writes what the connections have, and waits for what they can use.
    fn serve_connections(&mut self, machine: &mut Ends, now: Instant) -> Result<(), Error> {
        loop {
            self.busy.extend(machine.proxy.take_changed());
            let Some(id) = self.busy.pop_first() else { return Ok(()) };
            if !self.parts.sockets.has(id) {
                continue;
            }
            let waits = self.write(machine, id, now);
            if self.parts.sockets.has(id) {
                let room = machine.proxy.room(id);
                self.parts.sockets.wait_for(id, room, waits, &self.events)?;
            }
        }
    }

    /// Writes as much as goes. Returns whether more waits.
    fn write(&mut self, machine: &mut Ends, id: ConnectionId, now: Instant) -> bool {
        loop {
            let bytes = machine.proxy.outgoing(id);
            let length = bytes.len();
            match self.parts.sockets.write(id, bytes) {
                Ok(0) if length > 0 => return true,
                Ok(0) => break,
                Ok(count) => machine.proxy.note_written(id, count, now),
                Err(_) => {
                    let lost = self.fail(id, ConnectFailure::Refused);
                    machine.handle_input(Input::Proxy(lost), now);
                    return false;
                }
            }
        }
        let is_ending = machine.proxy.is_to_shut(id);
        if is_ending && !self.parts.sockets.shut(id) {
            return true;
        }
        if is_ending {
            machine.proxy.note_shut(id, now);
        }
        false
    }
}

impl MachineHost<Ends> for GatewayHost {
    const READS_FIRST: bool = true;

    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<Input>) -> Result<ControlFlow<()>, Error> {
        inputs.extend(self.parts.services.suspended().map(Input::Resumed));
        match self.parts.services.receive(ready.token)? {
            Occasion::Own => return self.receive_own(ready, inputs),
            Occasion::Nothing => {}
            Occasion::Signal(Signal::Reload) => {
                warn!("SIGHUP changes nothing: a gateway reads its configuration when it starts");
            }
            Occasion::Signal(Signal::Terminate) => self.stop(inputs),
            Occasion::Names => {
                let resolved = self.parts.services.resolved(&mut self.config.peer);
                inputs.extend(resolved.into_iter().map(|(peer, address)| Input::Resolved(peer, address)));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn carry_out(&mut self, output: Output, now: Instant) -> Result<(), Error> {
        match output {
            Output::Transmit { to, source, bytes } => {
                if let Some(socket) = &mut self.parts.socket {
                    socket.send(to, source, &bytes);
                }
            }
            Output::Proxy(output) => self.carry_out_proxy(output, now)?,
            Output::Moved(peer, to) => {
                let name = &self.config.peer[peer].name;
                info!(peer = name, %to, "peer has a new address");
                self.parts.services.endpoints.note(name, to);
            }
            Output::Connected(peer) => self.parts.services.note_connected(&self.config.peer[peer]),
            Output::Unanswered(peer, count) => {
                self.parts.services.note_unanswered(&self.config.peer[peer], count);
            }
            Output::Drained => self.is_over = true,
        }
        Ok(())
    }

    fn settle(&mut self, machine: &mut Ends, now: Instant) -> Result<(), Error> {
        self.follow_paths(machine, now);
        loop {
            for input in std::mem::take(&mut self.deferred) {
                machine.handle_input(Input::Proxy(input), now);
            }
            self.serve_connections(machine, now)?;
            machine.pump(now);
            while let Some(output) = machine.poll_output() {
                self.carry_out(output, now)?;
            }
            self.busy.extend(machine.proxy.take_changed());
            if self.deferred.is_empty() && self.busy.is_empty() {
                break;
            }
        }
        self.note_log.write(machine.proxy.take_notes(), now);
        self.parts.sockets.forget_flows(now);
        if let Some(sessions) = machine.carrier.sessions() {
            sessions.set_epoch(clock::epoch(now));
        }
        if let Some(socket) = &mut self.parts.socket {
            socket.flush();
        }
        self.answer(machine, now)?;
        if self.is_over || self.is_draining && machine.proxy.connections().0 == 0 {
            self.parts.waker.wake();
        }
        Ok(())
    }

    fn wakes_up(&mut self, reason: Reason) {
        self.parts.services.note_wakeup(reason.name());
    }
}
