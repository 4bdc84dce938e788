//! The plan of a network: its nodes, media and flows as indices and settings of machines.
//!
//! A plan is made of the general form of a checked scenario (`from_topology`), or in code.

mod from_topology;

use std::borrow::Cow;

use airwatt_base::Span;
use airwatt_energy::{Host, Radio};
use airwatt_proto::powersave::StationId;
use airwatt_proto::tcp::TcpConfig;
use airwatt_proto::tunnel::{TunnelConfig, TunnelEnd};

use super::transport::ConnectionPlan;
use crate::direction::Direction;
use crate::media::cell::{Bss, CellConfig, CellStation};
use crate::media::{PipeConfig, PointToPointConfig};
use crate::route::{Adjacency, FixedRoute, Graph, Hop, Interface, MediumId, Member, NodeId};
use crate::scenario::{Ready, Transport};
use crate::stack::application::{self, Answers, Arrival, Connection, Content, Datagrams, Dialogue, Replay};
use crate::stack::application::{Saturation, Source, SourceConfig, Transfer};
use crate::stack::impairment::ImpairmentConfig;

/// Everything that a run is made of.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// The nodes.
    pub nodes: Vec<NodePlan>,
    /// The media: channels with their cells first, then point-to-point hops, then wires.
    pub media: Vec<MediumPlan>,
    /// The cells, in the order of the scenario.
    pub cells: Vec<CellPlan>,
    /// The stations, in the order of their numbers: cell by cell, then those of point-to-point hops.
    pub stations: Vec<StationPlan>,
    /// Routes that take the place of those with fewest hops.
    pub routes: Vec<FixedRoute>,
    /// The programs of nodes, in the order in which they are woken.
    pub programs: Vec<ProgramPlan>,
    /// TCP at both ends.
    pub tcp: TcpConfig,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Stop after this time.
    pub duration: Option<Span>,
    /// Give up after this time.
    pub time_limit: Span,
    /// The time at which throughputs begin to be measured.
    pub measure_from: Span,
    /// Whether the latencies of packets are kept for their percentiles.
    pub latency_percentiles: bool,
    /// Whether what arrives is kept in bins.
    pub bins: bool,
}

/// One node of a [`NetworkPlan`].
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Whether its network stack is outside.
    pub external: bool,
    /// Whether it sends on packets of others.
    pub forwards: bool,
    /// What its host draws beside the radio, if that is accounted for.
    pub host: Option<Host>,
}

/// One cell of a [`NetworkPlan`]: an access point with its stations, or an ad-hoc network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellPlan {
    /// Its name.
    pub name: String,
    /// The name of its channel, if it has one.
    pub channel: Option<String>,
    /// Its medium.
    pub medium: MediumId,
    /// The index of its BSS there; `None` for an ad-hoc network.
    pub bss: Option<usize>,
    /// Whether its access point offers U-APSD.
    pub uapsd: bool,
}

/// One wireless station of a [`NetworkPlan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationPlan {
    /// Its name: that of its node, with the cell behind a slash if the node is a station of several.
    pub name: String,
    /// Its node.
    pub node: NodeId,
    /// The name of its cell or point-to-point hop.
    pub cell: String,
    /// Its medium.
    pub medium: MediumId,
    /// Its number there.
    pub number: StationId,
    /// Whether its result reports the lower bound of its radio's energy instead of what was spent.
    pub lower_bound: bool,
}

/// One program of a node, beside the applications of flows.
#[derive(Clone, Debug)]
pub struct ProgramPlan {
    /// Its node.
    pub node: NodeId,
    /// Its place in the chain of its node.
    pub place: usize,
    /// Its name in fingerprints and in random streams.
    pub name: String,
    /// Its settings.
    pub kind: ProgramKind,
}

/// The kind of a program, with its settings.
#[derive(Clone, Debug)]
pub enum ProgramKind {
    /// A gateway on the way of flows.
    Gateway {
        /// The most that it holds for each connection, in bytes.
        buffer: u64,
        /// Whether connections begin with a SYN exchange.
        handshake: bool,
    },
    /// An impairment of what the node forwards.
    Impairment {
        /// Its settings.
        config: ImpairmentConfig,
        /// The destinations that its losses concern; `None` for all.
        towards: Option<Vec<NodeId>>,
    },
    /// One end of a tunnel: it takes everything for the other end, and what takes the route to it.
    Tunnel {
        /// Its settings.
        config: TunnelConfig,
        /// Which end it is.
        end: TunnelEnd,
        /// The node at the other end.
        peer: NodeId,
    },
}

/// One medium of a [`NetworkPlan`].
#[derive(Clone, Debug)]
pub struct MediumPlan {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: MediumKind,
    /// The nodes of its members.
    pub members: Vec<NodeId>,
}

/// The kind of a medium, with its settings.
#[derive(Clone, Debug)]
pub enum MediumKind {
    /// A wire, from member 0 to member 1 and back.
    Wire([PipeConfig; 2]),
    /// A point-to-point wireless hop, and the radio at its station.
    PointToPoint(PointToPointConfig, Box<Radio>),
    /// An 802.11 cell: access points in range of each other, each with its stations. Its members are, access point by access
    /// point, the access point and its stations.
    Cell(Vec<Bss>),
    /// An ad-hoc network of 802.11 stations.
    AdHoc(Box<AdHoc>),
}

/// The settings of an ad-hoc network.
#[derive(Clone, Debug)]
pub struct AdHoc {
    /// Its channel.
    pub channel: CellConfig,
    /// Its stations, which are its members.
    pub stations: Vec<CellStation>,
    /// The pairs of members that send to each other; `None` for all. All stations receive each other in any case.
    pub links: Option<Vec<[Member; 2]>>,
}

/// A wireless station on its medium.
#[derive(Clone, Copy, Debug)]
pub enum PlannedStation<'a> {
    /// One of a cell.
    Cell(&'a CellStation),
    /// The radio of a point-to-point hop, which is always awake and has no 802.11.
    PointToPoint(&'a Radio),
}

impl<'a> PlannedStation<'a> {
    /// Its radio profile.
    pub const fn radio(self) -> &'a Radio {
        match self {
            Self::Cell(station) => &station.radio,
            Self::PointToPoint(radio) => radio,
        }
    }

    /// Its settings in a cell, if it is in one.
    pub const fn in_cell(self) -> Option<&'a CellStation> {
        if let Self::Cell(station) = self { Some(station) } else { None }
    }
}

impl MediumPlan {
    /// Its wireless stations.
    pub fn stations(&self) -> Vec<PlannedStation<'_>> {
        let of_cell = PlannedStation::Cell;
        match &self.kind {
            MediumKind::Wire(_) => Vec::new(),
            MediumKind::PointToPoint(_, radio) => vec![PlannedStation::PointToPoint(radio)],
            MediumKind::Cell(bsss) => bsss.iter().flat_map(|bss| &bss.stations).map(of_cell).collect(),
            MediumKind::AdHoc(network) => network.stations.iter().map(of_cell).collect(),
        }
    }

    /// Which members send directly to each other.
    pub fn adjacency(&self) -> Adjacency {
        match &self.kind {
            MediumKind::Wire(_) | MediumKind::PointToPoint(..) => Adjacency::All,
            MediumKind::Cell(bsss) => {
                Adjacency::Bsss(bsss.iter().map(|bss| 1 + bss.stations.len() as Member).collect())
            }
            MediumKind::AdHoc(network) => network.links.clone().map_or(Adjacency::All, Adjacency::Pairs),
        }
    }
}

/// One flow of a [`NetworkPlan`].
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The number of the station at its end; `None` if it has none.
    pub station: Option<StationId>,
    /// The media that its data crosses, each with the direction in which it does so on a wire.
    pub path: Vec<(MediumId, Direction)>,
    /// The index of the program, a gateway, at which its connections meet.
    pub gateway: Option<usize>,
    /// The node that waits for the connection.
    pub server: NodeId,
    /// The node that opens it.
    pub client: NodeId,
    /// The direction of its data: down, from the server to the client.
    pub data: Direction,
    /// Whether data goes to the station, or to the access point where there is none: the direction in results.
    pub is_download: bool,
    /// The transport.
    pub transport: Transport,
    /// The differentiated services code point of its packets, in both directions.
    pub dscp: u8,
    /// What it carries.
    pub traffic: Traffic,
    /// The time at which it begins.
    pub start: Span,
    /// It begins up to this much later, drawn.
    pub start_spread: Span,
}

impl FlowPlan {
    /// Number of connections, or of pairs of ports that exchange datagrams.
    pub const fn connections(&self) -> Connection {
        match &self.traffic {
            Traffic::Transfer { content: Content::Dialogue(dialogue), .. } => dialogue.connections(),
            _ => 1,
        }
    }

    /// The name of its transport, or that of a congestion control from outside.
    pub(crate) fn transport_name(&self) -> Cow<'static, str> {
        let own = match &self.traffic {
            Traffic::Transfer { connection, .. } => connection.own_congestion(),
            _ => None,
        };
        own.map_or_else(|| self.transport.name().into(), |own| own.name().to_owned().into())
    }
}

/// What a flow carries.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Data over connections.
    Transfer {
        /// What the application sends.
        content: Content,
        /// The ends of each connection.
        connection: Box<ConnectionPlan>,
        /// Whether connections begin with a SYN exchange.
        handshake: bool,
    },
    /// Data in datagrams.
    Datagrams {
        /// What the application sends.
        source: SourceConfig,
        /// What the other end answers.
        answers: Option<Answers>,
        /// Headers of each packet in bytes.
        header_bytes: u32,
    },
    /// As many datagrams of this length as the air carries.
    Saturated {
        /// Payload of each datagram in bytes.
        payload_bytes: u32,
        /// Headers of each packet in bytes.
        header_bytes: u32,
        /// Packets that are kept in the queue.
        kept: u32,
    },
    /// The packets of a capture.
    Replay(Vec<Arrival>),
}

impl NetworkPlan {
    /// The plan of a scenario.
    pub fn new(scenario: &Ready<'_>, seed: u64) -> Self {
        from_topology::plan(scenario, seed)
    }

    /// The server: the node at the first end of the first wire, or without a wire the first member of the first medium.
    pub fn server(&self) -> NodeId {
        let wire = self.media.iter().find(|medium| matches!(medium.kind, MediumKind::Wire(_)));
        wire.unwrap_or(&self.media[0]).members[0]
    }

    /// Every station with its medium and its number there, in the order of their numbers.
    pub fn stations(&self) -> impl Iterator<Item = (MediumId, StationId, PlannedStation<'_>)> {
        self.stations.iter().map(|place| {
            let stations = self.media[usize::from(place.medium)].stations();
            (place.medium, place.number, stations[place.number as usize])
        })
    }

    /// The node of a cell's access point; `None` for an ad-hoc network.
    pub fn access_point(&self, cell: &CellPlan) -> Option<NodeId> {
        let medium = &self.media[usize::from(cell.medium)];
        let MediumKind::Cell(bsss) = &medium.kind else { return None };
        let first: usize = bsss[..cell.bss?].iter().map(|bss| 1 + bss.stations.len()).sum();
        Some(medium.members[first])
    }

    /// The number in the plan of a station of a medium.
    pub fn station_of(&self, medium: MediumId, number: StationId) -> Option<StationId> {
        let place =
            self.stations.iter().position(|place| (place.medium, place.number) == (medium, number))?;
        Some(place as StationId)
    }

    /// The interfaces of all media, in their order.
    pub fn interfaces(&self) -> Vec<Interface> {
        let of = |(medium, plan): (MediumId, &MediumPlan)| {
            let members = (0..).zip(plan.members.clone());
            members.map(move |(member, node)| Interface { node, medium, member }).collect::<Vec<_>>()
        };
        (0..).zip(&self.media).flat_map(of).collect()
    }

    /// The media from one node to another, each with the direction in which it is crossed; empty if there is no single path.
    pub fn path(&self, from: NodeId, to: NodeId) -> Vec<(MediumId, Direction)> {
        let interfaces = self.interfaces();
        let crossed = |hop: Hop| {
            let Interface { medium, member, .. } = interfaces[usize::from(hop.route.interface)];
            (medium, Direction::from_member(member))
        };
        self.graph()
            .path(from, to)
            .map_or_else(|_| Vec::new(), |hops| hops.into_iter().map(crossed).collect())
    }

    /// The neighbours of all nodes, and the routes that are fixed.
    pub(crate) fn graph(&self) -> Graph {
        let adjacency: Vec<Adjacency> = self.media.iter().map(MediumPlan::adjacency).collect();
        let forwards = self.nodes.iter().map(|node| node.forwards).collect();
        let reaches = |medium: MediumId, from, to| adjacency[usize::from(medium)].allows(from, to);
        let mut graph = Graph::new(&self.interfaces(), reaches, forwards);
        graph.fix(self.routes.iter().copied());
        graph
    }
}

/// The application of flow `index` at the beginning.
pub(super) fn application(plan: &FlowPlan, seed: u64, index: usize) -> application::Application {
    use application::Application;
    match &plan.traffic {
        Traffic::Transfer { content: Content::Dialogue(config), .. } => {
            let has_streams = plan.transport == Transport::Quic;
            Application::Dialogue(Box::new(Dialogue::new(*config, has_streams, seed, index)))
        }
        Traffic::Transfer { content: Content::Source(source), .. } => {
            Application::Transfer(Box::new(Transfer::new(Source::new(*source, seed, index))))
        }
        Traffic::Datagrams { source, answers, .. } => {
            Application::Datagrams(Box::new(Datagrams::new(Source::new(*source, seed, index), *answers)))
        }
        Traffic::Saturated { payload_bytes, kept, .. } => {
            Application::Saturation(Saturation::new(*payload_bytes, *kept))
        }
        Traffic::Replay(arrivals) => Application::Replay(Box::new(Replay::new(arrivals.clone()))),
    }
}
