//! The network: nodes, media between them, routes, and the loop that wakes machines.
//!
//! * `node`: what is at a node.
//! * [`plan`]: nodes, media and flows as indices and settings, made of a scenario.
//! * `ends`: applications and their sockets.
//!
//! Every input of a machine is a message. One message is delivered at a time, and its machine is drained into further
//! messages before the next one is taken, as the machine contract demands. A packet is forwarded while its medium is
//! drained: only what enters a machine is a message. At equal times the media are served first (cells and point-to-point
//! hops, then wires), then flow by flow the application and its sockets, then the programs of nodes.

mod build;
mod ends;
pub mod external;
pub(crate) mod node;
pub mod plan;
mod transport;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine, Schedule, Size, Slot, Span};
use airwatt_energy::HostLedger;
use airwatt_proto::powersave::{ReceiveWindow, StationId};
use airwatt_proto::tcp;

pub use external::Delivery;
pub use plan::{FlowPlan, MediumKind, NetworkPlan, ProgramKind, ProgramPlan, Traffic};
pub use transport::{ConnectionPlan, LegPlan};

use crate::direction::Direction;
use crate::engine::Fingerprint;
use crate::media::cell::frame::{BeaconContent, Node as AirNode, TracedFrame};
use crate::media::cell::{CellTrace, RadioEvent};
use crate::media::{Medium, MediumOutput};
use crate::packet::{FlowLabel, Packet, Payload, QuicPacket, Store};
use crate::pending::Pending;
use crate::route::{Interface, InterfaceId, MediumId, Member, NodeId, Route, Routes, VIRTUAL};
use crate::stack::application::{Application, ApplicationId, Connection, Replay};
use crate::stack::flow::FlowRecord;
use crate::stack::program::{Mark, NodeProgram, Output, Program, ProgramId, Report};
use crate::stack::role::Role;
use crate::stack::socket::{Socket, SocketId};
use crate::stack::transport::SocketTransport;
use node::{Node, Stack};

/// Number of events after which the caller of a run is asked whether to go on.
const EVENTS_BETWEEN_REPORTS: u64 = 1 << 16;
/// Number of messages at one instant after which they count as so many events, and the caller is asked whether to go on.
const MESSAGES_AT_ONCE: u64 = 1 << 20;

/// An input on its way to its machine.
#[derive(Clone, Copy, Debug)]
enum Message {
    /// An interface transmits a packet to a member of its medium.
    Transmit { interface: InterfaceId, next: Member, packet: Packet },
    /// A packet with this payload has arrived at a connection.
    Deliver { socket: SocketId, payload: Payload },
    /// A packet enters a program of a node.
    Enter { program: ProgramId, packet: Packet },
}

/// What a slot of the schedule wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Medium(MediumId, Direction),
    Application(ApplicationId),
    Socket(SocketId),
    Program(ProgramId),
}

/// A source of wake-ups, by the slot of the schedule.
#[derive(Clone, Copy, Debug)]
struct Source {
    owner: Owner,
    /// The hash of its name, by which fingerprints know it: a further source changes no fingerprint of the others.
    name: u64,
}

impl Source {
    fn new(owner: Owner, name: &str) -> Self {
        let mut print = Fingerprint::default();
        print.add_text(name);
        Self { owner, name: print.value() }
    }
}

/// A medium with its place in the network.
#[derive(Clone, Debug)]
pub(crate) struct MediumEntry {
    pub(crate) medium: Medium,
    /// The slots of its timers: of each direction of a wire, and twice the same of any other medium.
    slots: [Slot; 2],
    /// The interface of member 0; those of the others follow.
    first_interface: InterfaceId,
}

/// An application with its sockets.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationEntry {
    pub(crate) machine: Application,
    /// The first of its sockets: for each connection the one that listens, then the one that opens.
    first_socket: SocketId,
    /// Number of connections.
    connections: Connection,
    /// The direction of its data: down, from the sockets that listen.
    data: Direction,
    /// Whether connections begin with a handshake.
    handshake: bool,
    slot: Slot,
    /// Whether it is finite and was over after the last event.
    finished: bool,
}

impl ApplicationEntry {
    /// The sockets of a connection: the one that listens, and the one that opens.
    const fn pair(&self, connection: Connection) -> [SocketId; 2] {
        let listening = self.first_socket + 2 * connection as SocketId;
        [listening, listening + 1]
    }

    /// The socket at the `role` end of a connection.
    pub(crate) fn socket(&self, connection: Connection, role: Role) -> SocketId {
        let [listening, opening] = self.pair(connection);
        if (role == Role::Sender) == (self.data == Direction::Down) { listening } else { opening }
    }

    /// The sockets that send the data.
    pub(crate) fn senders(&self) -> impl Iterator<Item = SocketId> + '_ {
        (0..self.connections).map(|connection| self.socket(connection, Role::Sender))
    }
}

/// A program with its place in the network.
#[derive(Clone, Debug)]
struct ProgramEntry {
    machine: Program,
    node: NodeId,
    slot: Slot,
}

/// One sample of a sender's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSample {
    /// The time of the sample.
    pub at: Instant,
    /// The flow.
    pub flow: FlowLabel,
    /// The number of its connection.
    pub connection: Connection,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow-start threshold in bytes.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunProgress {
    /// Simulated time so far.
    pub simulated: Instant,
    /// Share of the run that is done, 0 to 1, as far as it can be known.
    pub share: f64,
    /// Wake-ups so far.
    pub events: u64,
    /// What the records of traces so far occupy, in bytes; 0 without a trace.
    pub kept_bytes: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnding {
    /// Its duration is over, or every finite flow is complete.
    Complete,
    /// The time limit came first.
    TimeLimit,
    /// A connection of this flow was lost.
    ConnectionLost(FlowLabel),
    /// The caller stopped it.
    Interrupted,
}

/// All machines of one run.
#[derive(Debug)]
pub struct Network {
    pub(crate) plan: NetworkPlan,
    pub(crate) media: Vec<MediumEntry>,
    pub(crate) applications: Vec<ApplicationEntry>,
    pub(crate) sockets: Vec<Socket>,
    /// The measurements of each flow. Flow n is that of application n.
    pub(crate) records: Vec<FlowRecord>,
    pub(crate) windows: Option<Vec<WindowSample>>,
    pub(crate) events: u64,
    pub(crate) print: Fingerprint,
    pub(crate) now: Instant,
    pub(crate) store: Store,
    nodes: Vec<Node>,
    interfaces: Vec<Interface>,
    routes: Routes,
    programs: Vec<ProgramEntry>,
    schedule: Schedule,
    /// What each slot of the schedule wakes.
    sources: Vec<Source>,
    messages: VecDeque<Message>,
    deliveries: VecDeque<Delivery>,
    /// Finite applications that are not over.
    unfinished: usize,
}

impl Network {
    /// Keeps every trace from now on.
    pub fn trace(&mut self) {
        self.media.iter_mut().for_each(|entry| entry.medium.trace());
        self.windows = Some(Vec::new());
        self.records.iter_mut().for_each(|record| record.meter.keep_bins());
        self.store.pin();
    }

    /// What the records of traces so far occupy, in bytes.
    fn kept_bytes(&self) -> u64 {
        let windows = self.windows.as_ref().map_or(0, |windows| size_of_val(&windows[..]));
        let media: usize = self.media.iter().map(|entry| entry.medium.kept_bytes()).sum();
        (windows + media + self.store.pinned_bytes()) as u64
    }

    /// Keeps the frames on the air and the states of radios from now on, for [`Network::take_frames`].
    pub(crate) fn keep_frames(&mut self) {
        for entry in &mut self.media {
            if let Medium::Cell(cell) = &mut entry.medium {
                cell.trace();
            }
        }
    }

    /// Takes the frames and the states of radios since the last call, in order of time.
    pub(crate) fn take_frames(&mut self) -> (Vec<TracedFrame>, Vec<RadioEvent>) {
        let mut kept = CellTrace::default();
        for id in 0..self.media.len() {
            let Some(trace) = self.take_cell_trace(id as MediumId) else { continue };
            kept.frames.extend(trace.frames);
            kept.radios.extend(trace.radios);
        }
        self.keep_frames();
        kept.radios.sort_by_key(|event| event.at);
        (kept.frames, kept.radios)
    }

    /// Takes what the medium recorded, if it is a channel. Stations have the numbers of the run.
    pub(crate) fn take_cell_trace(&mut self, id: MediumId) -> Option<CellTrace> {
        let Medium::Cell(cell) = &mut self.media[usize::from(id)].medium else { return None };
        let mut trace = cell.take_trace().unwrap_or_default();
        let stations = self.plan.media[usize::from(id)].stations().len() as StationId;
        let numbers: Vec<StationId> =
            (0..stations).map(|number| self.plan.station_of(id, number).unwrap_or(number)).collect();
        let number = |station: &mut StationId| *station = numbers[*station as usize];
        let node = |node: &mut AirNode| match node {
            AirNode::Station(station) => number(station),
            AirNode::AccessPoint | AirNode::All => {}
        };
        for frame in &mut trace.frames {
            frame.medium = id;
            node(&mut frame.from);
            node(&mut frame.to);
            if let Some(BeaconContent { marked, .. }) = &mut frame.beacon {
                marked.iter_mut().for_each(number);
            }
        }
        trace.radios.iter_mut().for_each(|event| number(&mut event.station));
        trace.adaptations.iter_mut().for_each(|(_, station, _)| number(station));
        Some(trace)
    }

    /// Runs to the end. `watch` is called now and then and decides whether to go on.
    pub fn run(&mut self, watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>) -> RunEnding {
        self.run_watched(&mut |_, progress| watch(progress))
    }

    /// As [`Network::run`]; `watch` also gets the network, to take what was recorded so far.
    pub(crate) fn run_watched(
        &mut self,
        watch: &mut dyn FnMut(&mut Self, RunProgress) -> ControlFlow<()>,
    ) -> RunEnding {
        let end = Instant::ZERO + self.plan.duration.unwrap_or(self.plan.time_limit);
        while self.advance(end) {
            if self.unfinished == 0 && self.plan.duration.is_none() {
                return self.failed_flow().map_or(RunEnding::Complete, RunEnding::ConnectionLost);
            }
            if self.events.is_multiple_of(EVENTS_BETWEEN_REPORTS) {
                let progress = self.progress();
                if watch(self, progress).is_break() {
                    return RunEnding::Interrupted;
                }
            }
        }
        self.now = end;
        if self.plan.duration.is_some() {
            // A run of a given length measures what happened in it, including a lost connection.
            return RunEnding::Complete;
        }
        self.failed_flow().map_or(RunEnding::TimeLimit, RunEnding::ConnectionLost)
    }

    /// Runs up to `end`, whatever ends before. `watch` is as in [`Network::run`]; the result breaks if it stopped the run.
    pub(crate) fn run_until(
        &mut self,
        end: Instant,
        watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.advance(end) {
            if self.events.is_multiple_of(EVENTS_BETWEEN_REPORTS) {
                watch(self.progress())?;
            }
        }
        self.now = end;
        ControlFlow::Continue(())
    }

    /// A copy of the network of a replay, whose sockets all have datagrams. No other can be copied, since an end of QUIC cannot.
    pub(crate) fn copy(&self) -> Self {
        let copied = self.sockets.iter().map(|socket| socket.copy().expect("a replay has datagrams alone"));
        Self {
            plan: self.plan.clone(),
            media: self.media.clone(),
            applications: self.applications.clone(),
            sockets: copied.collect(),
            records: self.records.clone(),
            windows: self.windows.clone(),
            events: self.events,
            print: self.print,
            now: self.now,
            store: self.store.clone(),
            nodes: self.nodes.clone(),
            interfaces: self.interfaces.clone(),
            routes: self.routes.clone(),
            programs: self.programs.clone(),
            schedule: self.schedule.clone(),
            sources: self.sources.clone(),
            messages: self.messages.clone(),
            deliveries: self.deliveries.clone(),
            unfinished: self.unfinished,
        }
    }

    /// Lets the packets of a replay that follow arrive earlier by `span`, and the run end as much earlier.
    pub(crate) fn skip_idle(&mut self, span: Span) {
        self.plan.duration = self.plan.duration.map(|duration| duration.saturating_sub(span));
        self.replay().skip(span);
        self.serve_calls(0);
    }

    /// The packets of a capture, in the network of a replay: its only application.
    pub(crate) fn replay(&mut self) -> &mut Replay {
        match &mut self.applications[..] {
            [ApplicationEntry { machine: Application::Replay(replay), .. }] => replay,
            _ => unreachable!("the application of a replay is one"),
        }
    }

    /// Serves every wake-up that is due at or before `now`, each at its own time.
    pub fn serve_until(&mut self, now: Instant) {
        while self.advance(now) {}
        self.now = self.now.max(now);
    }

    /// The time of the next wake-up.
    pub fn due(&self) -> Option<Instant> {
        self.schedule.first().map(|(at, _)| at)
    }

    /// Serves the next wake-up at or before `end`, or more of what follows from the last one. Returns whether there was any.
    #[inline(always)]
    fn advance(&mut self, end: Instant) -> bool {
        if self.messages.is_empty() {
            let Some((at, slot)) = self.schedule.serve_until(end) else { return false };
            self.wake(at, slot);
        } else {
            // Nothing that ends needs so many, and what does not end is stopped by the limit of events.
            self.events = (self.events + MESSAGES_AT_ONCE).next_multiple_of(EVENTS_BETWEEN_REPORTS);
            self.deliver_messages();
        }
        true
    }

    /// Wakes the machine of a slot, and handles what follows from it at this instant.
    fn wake(&mut self, at: Instant, slot: Slot) {
        self.now = at;
        self.events += 1;
        let source = self.sources[slot as usize];
        self.print.add(at.as_nanos() ^ source.name);
        match source.owner {
            Owner::Medium(id, direction) => {
                let pending = self.media[usize::from(id)].medium.handle_timeout(direction, at);
                self.settle_medium(id, direction, pending);
            }
            Owner::Application(id) => self.wake_application(id),
            Owner::Socket(id) => {
                self.wake_socket(id);
                self.drain_socket(id);
            }
            Owner::Program(id) => {
                self.programs[usize::from(id)].machine.handle_timeout(at);
                self.drain_program(id);
            }
        }
        self.deliver_messages();
    }

    fn deliver_messages(&mut self) {
        for _ in 0..MESSAGES_AT_ONCE {
            let Some(message) = self.messages.pop_front() else { return };
            let now = self.now;
            match message {
                Message::Transmit { interface, next, packet } => {
                    let Interface { node, medium, member } = self.interfaces[usize::from(interface)];
                    if medium == VIRTUAL {
                        self.enter_program(member, packet);
                        continue;
                    }
                    if let Some(host) = &mut self.nodes[usize::from(node)].host {
                        host.send(node::host_packet(node, &packet), now);
                    }
                    let pending = self.media[usize::from(medium)].medium.transmit(member, next, packet, now);
                    self.settle_medium(medium, Direction::from_member(member), pending);
                }
                Message::Deliver { socket, payload } => {
                    let transport = &mut self.sockets[socket as usize].transport;
                    match payload {
                        Payload::Quic(QuicPacket { ticket, .. }) => {
                            transport.receive_datagram(self.store.bytes(ticket), now);
                            self.store.free(ticket);
                        }
                        payload => transport.receive(payload, now),
                    }
                    self.drain_socket(socket);
                }
                Message::Enter { program, packet } => self.enter_program(program, packet),
            }
        }
    }

    // Packets.

    /// Takes the outputs of a medium, and sets its timer; of a wire, those of one direction.
    #[inline(always)]
    fn settle_medium(&mut self, id: MediumId, direction: Direction, pending: Pending) {
        let due = if pending.has_output { self.take_outputs(id, direction) } else { pending.due };
        self.schedule.set(self.media[usize::from(id)].slots[direction as usize], due);
    }

    /// The medium lends its packets while the rest of the network changes: its outputs lead to messages only. Returns the time
    /// of its next timer. Two of three times there is no output, so this stays out of the way.
    #[inline(never)]
    fn take_outputs(&mut self, id: MediumId, direction: Direction) -> Instant {
        let mut media = std::mem::take(&mut self.media);
        let MediumEntry { medium, first_interface, .. } = &mut media[usize::from(id)];
        medium.drain(direction, |output| self.handle_output(id, *first_interface, output));
        let due = medium.due(direction);
        // The vector that it replaces is empty, so that nothing has to be dropped.
        std::mem::forget(std::mem::replace(&mut self.media, media));
        due
    }

    /// Handles an output of the medium whose member 0 is `first_interface`.
    fn handle_output(&mut self, id: MediumId, first_interface: InterfaceId, output: MediumOutput<'_>) {
        match output {
            MediumOutput::Arrived { at, packet, began } => {
                if let Some(began) = began {
                    self.note_delivery(id, packet, began, true);
                }
                let node = self.interfaces[usize::from(first_interface + at)].node;
                self.arrive(node, packet);
            }
            MediumOutput::Lost { packet, began } => {
                if let Some(began) = began {
                    self.note_delivery(id, packet, began, false);
                }
                self.lose(packet);
            }
            MediumOutput::Grant { member, window } => {
                self.grant(self.interfaces[usize::from(first_interface + member)].node, window);
            }
        }
    }

    /// A packet has arrived at a node.
    #[inline]
    fn arrive(&mut self, node: NodeId, packet: &Packet) {
        let entry = &mut self.nodes[usize::from(node)];
        if let Some(host) = &mut entry.host {
            host.receive(node::host_packet(node, packet), self.now);
        }
        if entry.chain.is_empty() {
            return self.take_or_forward(node, packet);
        }
        self.pass(node, 0, packet);
    }

    /// Gives a packet to the first program of the node's chain, from place `from` on, that wants it, or else to the node itself.
    fn pass(&mut self, node: NodeId, from: usize, packet: &Packet) {
        let chain = &self.nodes[usize::from(node)].chain;
        let wants = |id: &&ProgramId| self.programs[usize::from(**id)].machine.wants(packet);
        match chain[from..].iter().find(wants) {
            Some(program) => {
                self.messages.push_back(Message::Enter { program: *program, packet: *packet });
            }
            None => self.take_or_forward(node, packet),
        }
    }

    /// No program wants the packet: it is for the node, or goes on by its route.
    #[inline]
    fn take_or_forward(&mut self, node: NodeId, packet: &Packet) {
        if packet.dst.0 == node { self.deliver(node, packet) } else { self.forward(node, packet) }
    }

    /// A node sends a packet on by its route.
    #[inline]
    fn forward(&mut self, node: NodeId, packet: &Packet) {
        match self.routes.get(node, packet.dst) {
            Some(Route { interface, next }) => {
                self.messages.push_back(Message::Transmit { interface, next, packet: *packet });
            }
            None => self.lose(packet),
        }
    }

    /// A packet is for the node at which it is.
    fn deliver(&mut self, node: NodeId, packet: &Packet) {
        let ports = match &self.nodes[usize::from(node)].stack {
            Stack::Host(ports) => ports,
            Stack::External => return self.leave(node, packet, true),
        };
        let Some(id) = ports.get([packet.dport, packet.sport]) else { return self.lose(packet) };
        let socket = &self.sockets[id as usize];
        if let SocketTransport::Udp(udp) = socket.transport {
            return self.receive_datagram(id, packet, udp.header_bytes);
        }
        if socket.role == Role::Receiver && packet.payload.has_data() {
            self.records[socket.flow as usize].arrive(self.now - packet.sent);
        }
        self.messages.push_back(Message::Deliver { socket: id, payload: packet.payload });
    }

    /// A packet was lost at a queue, on a wireless hop, or because there was no route or no socket.
    fn lose(&mut self, packet: &Packet) {
        match packet.payload {
            Payload::Bytes(..) => return self.leave(packet.dst.0, packet, false),
            Payload::Carried(ticket, _) => {
                for inner in self.store.take_packets(ticket) {
                    self.lose(&inner);
                }
            }
            // The association repeats the packets in it, or gives them up.
            Payload::Sctp(ticket) | Payload::Quic(QuicPacket { ticket, .. }) => self.store.free(ticket),
            Payload::Tcp(_) | Payload::E2tcp(_) | Payload::Datagram(_) | Payload::Group(_) => {}
        }
        if let Payload::Datagram(number) = packet.payload {
            return self.lose_datagram(packet, number);
        }
        if let Some(record) = self.records.get_mut(packet.flow as usize) {
            record.acks_lost += u64::from(packet.payload.is_pure_ack());
        }
    }

    /// A data packet has crossed a point-to-point hop, or was damaged on it.
    fn note_delivery(&mut self, medium: MediumId, packet: &Packet, began: Instant, sound: bool) {
        let MediumKind::PointToPoint(hop, _) = &self.plan.media[usize::from(medium)].kind else { return };
        // A place in the stream says which packet it is only if there is one stream.
        if self.plan.flows.get(packet.flow as usize).is_some_and(|flow| flow.connections() > 1) {
            return;
        }
        let (Some(last), Some(record)) =
            (packet.payload.last_byte(), self.records.get_mut(packet.flow as usize))
        else {
            return;
        };
        let own = hop.rate.time_for(Size::from_bytes(u64::from(packet.bytes)));
        record.deliveries.note(last, began, own, sound, self.now, hop.cut_through);
    }

    /// The power save of a station bounds what the senders of its downloads may send: the sockets of its downloads that are
    /// under way offer equal parts of it.
    fn grant(&mut self, node: NodeId, window: ReceiveWindow) {
        let Stack::Host(ports) = &self.nodes[usize::from(node)].stack else { return };
        let receives = |id: &SocketId| {
            let socket = &self.sockets[*id as usize];
            let is_other = matches!(socket.transport, SocketTransport::Quic(_) | SocketTransport::Udp(_));
            socket.role == Role::Receiver && !is_other
        };
        let downloads: Vec<SocketId> = ports.sockets().filter(receives).collect();
        let flow = |id: &SocketId| self.sockets[*id as usize].flow as usize;
        let under_way = downloads.iter().filter(|id| self.records[flow(id)].is_under_way()).count();
        let share = match window {
            ReceiveWindow::Open => None,
            ReceiveWindow::Grant { bytes } => Some(bytes / under_way.max(1) as u64),
        };
        for receiver in downloads {
            match &mut self.sockets[receiver as usize].transport {
                SocketTransport::Tcp(connection) => {
                    connection.handle_input(tcp::Input::Grant(share), self.now);
                }
                SocketTransport::Linux(end) => end.grant(share, self.now),
                _ => continue,
            }
            self.drain_socket(receiver);
        }
    }

    // Programs.

    fn enter_program(&mut self, id: ProgramId, packet: Packet) {
        self.programs[usize::from(id)].machine.handle_packet(packet, &mut self.store, self.now);
        self.drain_program(id);
    }

    /// Takes the outputs of a program.
    fn drain_program(&mut self, id: ProgramId) {
        let now = self.now;
        let node = self.programs[usize::from(id)].node;
        while let Some(output) = self.programs[usize::from(id)].machine.poll_output(&mut self.store, now) {
            match output {
                Output::Send { packet, counts } => {
                    if counts && let Some(record) = self.records.get_mut(packet.flow as usize) {
                        record.bytes_sent += u64::from(packet.bytes);
                    }
                    self.forward(node, &packet);
                }
                Output::SendBy { route: Route { interface, next }, packet } => {
                    self.messages.push_back(Message::Transmit { interface, next, packet });
                }
                Output::Pass(packet) => {
                    let place = self.nodes[usize::from(node)].chain.iter().position(|other| *other == id);
                    self.pass(node, place.map_or(0, |place| place + 1), &packet);
                }
                Output::Arrive(packet) => self.arrive(node, &packet),
                Output::Lose(packet) => self.lose(&packet),
                Output::Discard(packet) => self.leave(packet.dst.0, &packet, false),
                Output::Mark(flow, Mark::GaveUp(bytes)) => {
                    self.records[flow as usize].given_up_by_gateway += bytes;
                }
                Output::Mark(flow, Mark::Lost) => {
                    self.records[flow as usize].lose_connection();
                    self.note_end(flow);
                }
            }
        }
        let entry = &self.programs[usize::from(id)];
        self.schedule.put(entry.slot, entry.machine.due());
    }

    /// The nodes of all programs and what these have counted, in the order of the plan.
    pub(crate) fn reports(&self) -> impl Iterator<Item = (NodeId, Report)> {
        self.programs.iter().map(|entry| (entry.node, entry.machine.report()))
    }

    /// The accounts of hosts with the names of their nodes.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (&str, &HostLedger)> {
        let nodes = self.plan.nodes.iter().zip(&self.nodes);
        nodes.filter_map(|(plan, node)| Some((plan.name.as_str(), node.host.as_deref()?)))
    }

    /// Ends the accounts of all hosts.
    pub(crate) fn close_hosts(&mut self, end: Instant) {
        for host in self.nodes.iter_mut().filter_map(|node| node.host.as_mut()) {
            host.close(end);
        }
    }

    fn failed_flow(&self) -> Option<FlowLabel> {
        self.records.iter().position(|record| record.failed).map(|index| index as FlowLabel)
    }

    fn progress(&self) -> RunProgress {
        let share = match self.plan.duration {
            Some(duration) => self.now.as_secs_f64() / duration.as_secs_f64(),
            None => {
                let entries = self.applications.iter().zip(&self.records);
                let parts = entries.filter_map(|(entry, record)| entry.machine.progress(record));
                let (done, all) = parts.fold((0, 0), |(done, all), (part, size)| (done + part, all + size));
                done as f64 / (all as f64).max(1.0)
            }
        };
        RunProgress { simulated: self.now, share, events: self.events, kept_bytes: self.kept_bytes() }
    }

    /// The time since a point of the run.
    pub(crate) fn since(&self, from: Span) -> Span {
        self.now.saturating_since(Instant::ZERO + from)
    }
}

#[cfg(test)]
mod tests;
