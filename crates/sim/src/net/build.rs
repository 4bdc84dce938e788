//! From a plan to the machines of a network.

use airwatt_base::percentile::Histogram;
use airwatt_base::{Instant, RandomStream, Schedule, Slot, Span};

use super::node::{Node, Ports, Stack};
use super::plan::{self, FlowPlan, MediumKind, MediumPlan, NetworkPlan, ProgramKind, ProgramPlan, Traffic};
use super::transport::Endpoints;
use super::{ApplicationEntry, MediumEntry, Network, Owner, ProgramEntry, Source};
use crate::direction::Direction;
use crate::engine::Fingerprint;
use crate::media::cell::CellMedium;
use crate::media::errors::{ErrorConfig, ErrorProcess};
use crate::media::{Medium, Pipe, PointToPointMedium, Wire};
use crate::packet::FlowLabel;
use crate::route::{Address, Interface, InterfaceId, MediumId, NodeId, Route, Routes, VIRTUAL};
use crate::stack::application::{ApplicationId, Connection};
use crate::stack::flow::{FlowRecord, Meter};
use crate::stack::impairment::Impairment;
use crate::stack::program::{
    GatewayProgram, ImpairmentProgram, NodeProgram, Program, ProgramId, SctpTunnelProgram, ServedFlow,
    TunnelEnds, TunnelProgram,
};
use crate::stack::role::Role;
use crate::stack::socket::{Socket, SocketAddress, SocketId};
use crate::stack::transport::{SocketTransport, Udp};

/// The port at which the server of flow 0 listens; those of the other flows follow.
const FIRST_LISTENING_PORT: u16 = 50_000;
/// The port from which the client of flow 0 opens; those of the other flows follow.
const FIRST_OPENING_PORT: u16 = 40_000;
/// The port from which the first further connection is opened, and the number of such ports.
const FIRST_FURTHER_PORT: u16 = 10_000;
const FURTHER_PORTS: usize = 30_000;

impl Network {
    /// The machines of `plan`, at the beginning.
    pub fn new(plan: NetworkPlan, seed: u64) -> Self {
        let interfaces = plan.interfaces();
        let mut first_interface: InterfaceId = 0;
        let mut sources = Vec::new();
        let mut media = Vec::with_capacity(plan.media.len());
        for (id, medium) in plan.media.iter().enumerate() {
            let (id, first) = (id as MediumId, sources.len() as Slot);
            if matches!(medium.kind, MediumKind::Wire(_)) {
                for (direction, name) in [(Direction::Down, "down"), (Direction::Up, "up")] {
                    let owner = Owner::Medium(id, direction);
                    sources.push(Source::new(owner, &format!("{}/{name}", medium.name)));
                }
            } else {
                sources.push(Source::new(Owner::Medium(id, Direction::Down), &medium.name));
            }
            let slots = [first, sources.len() as Slot - 1];
            media.push(MediumEntry { medium: machine(medium, seed), slots, first_interface });
            first_interface += medium.members.len() as InterfaceId;
        }
        let routes = Routes::new(&plan.graph());
        let stack = |external| if external { Stack::External } else { Stack::Host(Ports::default()) };
        let nodes =
            plan.nodes.iter().map(|node| Node::new(stack(node.external), node.host.clone())).collect();
        let mut network = Self {
            media,
            applications: Vec::with_capacity(plan.flows.len()),
            sockets: Vec::with_capacity(2 * plan.flows.len()),
            records: Vec::with_capacity(plan.flows.len()),
            windows: None,
            events: 0,
            print: Fingerprint::default(),
            now: Instant::ZERO,
            store: Default::default(),
            nodes,
            interfaces,
            routes,
            programs: Vec::new(),
            schedule: Schedule::new(0),
            sources,
            messages: Default::default(),
            deliveries: Default::default(),
            unfinished: 0,
            plan,
        };
        let mut served = vec![Vec::new(); network.plan.programs.len()];
        for index in 0..network.plan.flows.len() {
            let connections = network.add_flow(index, seed);
            if let Some(gateway) = network.plan.flows[index].gateway {
                served[gateway].extend(connections);
            }
        }
        for (index, flows) in served.into_iter().enumerate() {
            network.add_program(index, flows, seed);
        }
        network.schedule = Schedule::new(network.sources.len());
        network.set_timers(seed);
        network.unfinished = network.applications.iter().filter(|entry| entry.machine.is_finite()).count();
        network
    }

    /// Adds the application, the sockets and the record of a flow. Returns what a gateway on its way has to know of its connections.
    fn add_flow(&mut self, index: usize, seed: u64) -> Vec<ServedFlow> {
        let flow = self.plan.flows[index].clone();
        let mut meter = Meter::new(Instant::ZERO + self.plan.measure_from);
        if self.plan.bins {
            meter.keep_bins();
        }
        let mut record = FlowRecord::new(meter);
        record.later_latencies = self.plan.latency_percentiles.then(Histogram::default);
        self.records.push(record);
        let slot = self.sources.len() as Slot;
        self.sources.push(Source::new(
            Owner::Application(index as ApplicationId),
            &format!("flow/{index}/application"),
        ));
        self.applications.push(ApplicationEntry {
            machine: plan::application(&flow, seed, index),
            first_socket: self.sockets.len() as SocketId,
            connections: flow.connections(),
            data: flow.data,
            handshake: matches!(flow.traffic, Traffic::Transfer { handshake: true, .. }),
            slot,
            finished: false,
        });
        (0..flow.connections())
            .map(|connection| self.add_connection(index, &flow, connection, seed))
            .collect()
    }

    /// Adds both sockets of a connection of a flow. Returns what a gateway on its way has to know of it.
    fn add_connection(
        &mut self,
        index: usize,
        flow: &FlowPlan,
        connection: Connection,
        seed: u64,
    ) -> ServedFlow {
        // The names of the first connection have no number.
        let named = |name: &str| match connection {
            0 => format!("flow/{index}/{name}"),
            further => format!("flow/{index}/{name}/{further}"),
        };
        let server = SocketAddress { address: Address(flow.server), port: port(FIRST_LISTENING_PORT, index) };
        let client =
            SocketAddress { address: Address(flow.client), port: self.opening_port(index, connection) };
        let endpoints = endpoints(flow, || RandomStream::new(seed, &named("congestion")).next_u64());
        let label = index as FlowLabel;
        let served =
            ServedFlow { server, station: client, flow: label, dscp: flow.dscp, legs: endpoints.relay };
        let is_whole = served.legs.is_none();
        let (at_server, at_client) = match flow.data {
            Direction::Down => (Role::Sender, Role::Receiver),
            Direction::Up => (Role::Receiver, Role::Sender),
        };
        for (name, transport, local, remote, role, counted) in [
            ("server", endpoints.server, server, client, at_server, is_whole),
            ("client", endpoints.client, client, server, at_client, true),
        ] {
            let (slot, socket) = (self.sources.len() as Slot, self.sockets.len() as SocketId);
            let node = local.address.0;
            self.sources.push(Source::new(Owner::Socket(socket), &named(name)));
            self.sockets.push(Socket {
                transport,
                node,
                local,
                remote,
                flow: index as FlowLabel,
                dscp: flow.dscp,
                application: index as ApplicationId,
                connection,
                role,
                counted,
                slot,
            });
            if let Stack::Host(ports) = &mut self.nodes[usize::from(node)].stack {
                ports.bind(node, [local.port, remote.port], socket);
            }
        }
        served
    }

    /// The port from which a connection of a flow is opened. Those of further connections are taken in turn: together with the port at
    /// which the flow's server listens they are unique, since no flow has so many.
    fn opening_port(&self, flow: usize, connection: Connection) -> u16 {
        match connection {
            0 => port(FIRST_OPENING_PORT, flow),
            _ => FIRST_FURTHER_PORT + (self.sockets.len() / 2 % FURTHER_PORTS) as u16,
        }
    }

    /// Adds a program to the chain of its node. `flows` are those that it serves as a gateway.
    fn add_program(&mut self, index: usize, flows: Vec<ServedFlow>, seed: u64) {
        let ProgramPlan { node, place, name, kind } = self.plan.programs[index].clone();
        let (id, slot) = (index as ProgramId, self.sources.len() as Slot);
        let machine = match kind {
            ProgramKind::Gateway { buffer, handshake } => {
                Program::Gateway(Box::new(GatewayProgram::new(buffer, !handshake, flows)))
            }
            ProgramKind::Impairment { config, towards } => {
                let machine = Impairment::new(config, towards, &name, seed);
                Program::Impairment(Box::new(ImpairmentProgram::new(node, machine)))
            }
            ProgramKind::Tunnel { config, end, peer } => {
                let ends = self.add_virtual_interface(id, node, peer);
                let random = RandomStream::new(seed, &format!("{name}/sctp"));
                match SctpTunnelProgram::new(config, end, ends, random) {
                    Some(tunnel) => Program::SctpTunnel(Box::new(tunnel)),
                    None => Program::Tunnel(Box::new(TunnelProgram::new(config, end, ends))),
                }
            }
        };
        self.sources.push(Source::new(Owner::Program(id), &name));
        self.programs.push(ProgramEntry { machine, node, slot });
        let programs = &self.plan.programs;
        let chain = &mut self.nodes[usize::from(node)].chain;
        let behind = chain.partition_point(|other| programs[usize::from(*other)].place <= place);
        chain.insert(behind, id);
    }

    /// Adds the virtual interface of one end of a tunnel, to which everything goes that takes the route to the other end.
    fn add_virtual_interface(&mut self, id: ProgramId, node: NodeId, peer: NodeId) -> TunnelEnds {
        let route = self.routes.get(node, Address(peer)).expect("both ends of a tunnel are at one medium");
        let interface = self.interfaces.len() as InterfaceId;
        self.interfaces.push(Interface { node, medium: VIRTUAL, member: id });
        self.routes.redirect(node, route, Route { interface, next: 0 });
        TunnelEnds { local: Address(node), peer: Address(peer), route }
    }

    /// Sets the first timers of media, programs and applications. Sockets have none before their first packet.
    fn set_timers(&mut self, seed: u64) {
        for entry in &self.media {
            self.schedule.set(entry.slots[0], entry.medium.due(Direction::Down));
        }
        // A tunnel's keep-alive runs from the start of the run, not from the first packet.
        for entry in &self.programs {
            self.schedule.put(entry.slot, entry.machine.due());
        }
        for (index, entry) in self.applications.iter().enumerate() {
            let FlowPlan { start, start_spread, .. } = self.plan.flows[index];
            let drawn =
                RandomStream::new(seed, &format!("flow/{index}/start")).unit() * start_spread.as_secs_f64();
            let start = Instant::ZERO + start + Span::from_secs_f64(drawn);
            self.schedule.put(entry.slot, entry.machine.begins(start));
        }
    }
}

/// The machine of a medium.
fn machine(medium: &MediumPlan, seed: u64) -> Medium {
    match &medium.kind {
        MediumKind::Wire(pipes) => {
            let no_errors = || ErrorProcess::new(ErrorConfig::default(), seed, "wire", "");
            let [down, up] = pipes;
            let pipe = |way: &str, config| {
                let jitter = RandomStream::new(seed, &format!("{}/{way}/jitter", medium.name));
                Pipe::new(config, no_errors()).with_jitter(jitter)
            };
            Medium::Wire(Box::new(Wire { pipes: [pipe("down", *down), pipe("up", *up)] }))
        }
        MediumKind::PointToPoint(config, radio) => {
            Medium::PointToPoint(Box::new(PointToPointMedium::new(&medium.name, config.clone(), radio, seed)))
        }
        MediumKind::Cell(bsss) => {
            Medium::Cell(Box::new(CellMedium::with_access_points(&medium.name, bsss, seed)))
        }
        MediumKind::AdHoc(network) => Medium::Cell(Box::new(CellMedium::ad_hoc(
            &medium.name,
            &network.channel,
            &network.stations,
            seed,
        ))),
    }
}

fn port(first: u16, flow: usize) -> u16 {
    let port = u16::try_from(flow).ok().and_then(|flow| first.checked_add(flow));
    port.expect("a network has no more flows than ports")
}

fn endpoints(flow: &FlowPlan, seed: impl FnOnce() -> u64) -> Endpoints {
    let datagrams = |header_bytes| {
        let udp = || SocketTransport::Udp(Udp { header_bytes });
        Endpoints { server: udp(), client: udp(), relay: None }
    };
    match &flow.traffic {
        Traffic::Transfer { connection, handshake, .. } => connection.endpoints(*handshake, seed()),
        Traffic::Datagrams { header_bytes, .. } | Traffic::Saturated { header_bytes, .. } => {
            datagrams(*header_bytes)
        }
        // The lengths of a capture's packets are those of IP packets.
        Traffic::Replay(_) => datagrams(0),
    }
}

// A node, and what it needs of the plan, is found by its number.
const _: () = assert!(size_of::<NodeId>() == size_of::<Address>());
