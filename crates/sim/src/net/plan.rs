//! The plan of a network: its nodes, media and flows as indices and settings of machines.
//!
//! A plan is made of a checked scenario. A scenario's short form becomes this network; without a wire the server is the
//! access point, and a neighbour's flow ends at the access point.
//!
//! ```text
//!  server ---- wire ---- access point ~~~~ cell or point-to-point hop ~~~~ stations
//!  server of a flow's own wire ----
//! ```

use airwatt_base::{Distance, Instant, QueueLimit, Size, Span, Stream};
use airwatt_energy::{Radio, RadioError};
use airwatt_proto::powersave::{self, Abilities, AccessPointConfig, StationId};
use airwatt_proto::tcp::TcpConfig;

use super::route::{MediumId, Member, NodeId};
use super::transport::{self, ConnectionPlan};
use crate::media::cell::contention::{Access, Counting};
use crate::media::cell::fq_codel::FqCodelConfig;
use crate::media::cell::propagation;
use crate::media::cell::{ApQueueing, Bss, CellConfig, StationConfig};
use crate::media::{CrossTraffic, PipeConfig, PointToPointConfig};
use crate::scenario::{
    ApplicationConfig, Direction, FlowGroup, QueueDiscipline, Scenario, Transport, Wifi, Wired,
    WiredDirection,
};
use crate::stack::application::{self, Arrival, Datagrams, Dialogue, DialogueConfig, Replay, Replies};
use crate::stack::application::{Saturation, Source, SourceConfig, Transfer};

/// Everything that a run is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The nodes.
    pub nodes: Vec<NodePlan>,
    /// The node of the access point or base station.
    pub access_point: NodeId,
    /// The media: cells and point-to-point hops first, then wires.
    pub media: Vec<MediumPlan>,
    /// TCP at both ends.
    pub tcp: TcpConfig,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// The most that the gateway holds for each connection, in bytes.
    pub gateway_buffer: u64,
    /// Stop after this time.
    pub duration: Option<Span>,
    /// Give up after this time.
    pub time_limit: Span,
    /// The time at which throughputs begin to be measured.
    pub measure_from: Span,
    /// Whether what arrives is kept in bins.
    pub bins: bool,
}

/// One node of a [`Plan`].
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Whether its network stack is outside.
    pub external: bool,
}

/// One medium of a [`Plan`].
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
    PointToPoint(PointToPointConfig, Box<StationConfig>),
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
    pub stations: Vec<StationConfig>,
    /// The pairs of members that send to each other; `None` for all. All stations receive each other in any case.
    pub links: Option<Vec<[Member; 2]>>,
}

impl MediumPlan {
    /// Its wireless stations.
    pub fn stations(&self) -> Vec<&StationConfig> {
        match &self.kind {
            MediumKind::Wire(_) => Vec::new(),
            MediumKind::PointToPoint(_, station) => vec![station],
            MediumKind::Cell(bsss) => bsss.iter().flat_map(|bss| &bss.stations).collect(),
            MediumKind::AdHoc(network) => network.stations.iter().collect(),
        }
    }

    /// Whether member `from` sends directly to member `to`.
    pub fn reaches(&self, from: Member, to: Member) -> bool {
        match &self.kind {
            MediumKind::Wire(_) | MediumKind::PointToPoint(..) => true,
            MediumKind::Cell(bsss) => {
                let mut first = 0;
                bsss.iter().any(|bss| {
                    let access_point = first;
                    first += 1 + bss.stations.len() as Member;
                    let own = access_point..first;
                    own.contains(&from) && own.contains(&to) && (from == access_point || to == access_point)
                })
            }
            MediumKind::AdHoc(network) => network
                .links
                .as_ref()
                .is_none_or(|links| links.contains(&[from, to]) || links.contains(&[to, from])),
        }
    }
}

/// One flow of a [`Plan`].
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The number of its station in the plan; `None` for a wired neighbour.
    pub station: Option<StationId>,
    /// The wire between its server and the access point; `None` if the server is at the access point.
    pub wire: Option<MediumId>,
    /// The node that waits for the connection.
    pub server: NodeId,
    /// The node that opens it.
    pub client: NodeId,
    /// Whether data goes from the server to the client.
    pub down: bool,
    /// The transport.
    pub transport: Transport,
    /// What it carries.
    pub traffic: Traffic,
    /// The time at which it begins.
    pub start: Span,
    /// It begins up to this much later, drawn.
    pub start_spread: Span,
}

/// What a flow carries.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Data over connections.
    Transfer {
        /// What the application sends.
        source: SourceConfig,
        /// Instead: the requests and replies of a dialogue.
        dialogue: Option<DialogueConfig>,
        /// The connections, from the server to the station: one, or two that a gateway joins.
        connections: Vec<ConnectionPlan>,
        /// Whether connections begin with a SYN exchange.
        handshake: bool,
    },
    /// Data in datagrams.
    Datagrams {
        /// What the application sends.
        source: SourceConfig,
        /// Headers of each packet in bytes.
        header_bytes: u32,
    },
    /// As many datagrams of this length as the air carries.
    Saturated {
        /// Payload of each datagram in bytes.
        payload_bytes: u32,
        /// Headers of each packet in bytes.
        header_bytes: u32,
    },
    /// The packets of a capture.
    Replay(Vec<Arrival>),
}

impl Plan {
    /// The plan of a scenario.
    ///
    /// # Errors
    /// A radio profile that could not be read since the scenario was checked.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, RadioError> {
        // Beacons and traffic start with no fixed phase between them.
        let phase = Stream::new(seed, "access-point/beacon-phase").unit();
        let interval = scenario.ap.beacon_interval;
        let first_beacon = Instant::ZERO + Span::from_secs_f64(phase * interval.as_secs_f64());
        let stations = stations(scenario, first_beacon, seed)?;
        let mut builder = Builder::default();
        let server = scenario.wired.as_ref().map(|_| builder.node("server".to_owned()));
        let access_point = builder.node("access-point".to_owned());
        let first_station = builder.nodes.len() as NodeId;
        let mut members = vec![access_point];
        members.extend((0..stations.len()).map(|station| builder.node(format!("station{station}"))));
        let name = if scenario.wifi.is_some() { "air" } else { "link" }.to_owned();
        builder.media.push(MediumPlan { name, kind: hop(scenario, stations, first_beacon), members });
        let shared = scenario
            .wired
            .as_ref()
            .zip(server)
            .map(|(shared, server)| (builder.wire("wire", shared, seed, server, access_point), server));
        let hosts = Hosts { access_point, first_station };
        let tcp = scenario.tcp.config();
        let mut flows = Vec::new();
        for (index, group) in scenario.flow.iter().enumerate() {
            let own = group.wired.as_ref().map(|own| {
                let server = builder.node(format!("server-of-flow{index}"));
                let name = format!("flow/{index}/wire");
                (builder.wire(&name, own, seed, server, access_point), server)
            });
            flows.extend(self::flows(scenario, group, &tcp, &hosts, own.or(shared)));
        }
        Ok(Self {
            nodes: builder.nodes,
            access_point,
            media: builder.media,
            tcp,
            flows,
            gateway_buffer: scenario.gateway.buffer.as_bytes(),
            duration: scenario.duration,
            time_limit: scenario.time_limit,
            measure_from: scenario.measure_from.unwrap_or_default(),
            bins: !scenario.fairness_windows.is_empty(),
        })
    }

    /// Replaces the flows by the packets of a capture at station 0, for `duration`. The other stations go.
    pub fn replay(&mut self, arrivals: Vec<Arrival>, duration: Span) {
        if let MediumKind::Cell(bsss) = &mut self.media[0].kind {
            bsss.truncate(1);
            bsss.iter_mut().for_each(|bss| bss.stations.truncate(1));
        }
        self.media[0].members.truncate(2);
        self.flows = vec![FlowPlan {
            station: Some(0),
            wire: None,
            server: self.access_point,
            client: self.media[0].members[1],
            down: true,
            transport: Transport::Udp,
            traffic: Traffic::Replay(arrivals),
            start: Span::ZERO,
            start_spread: Span::ZERO,
        }];
        self.duration = Some(duration);
    }

    /// The server: the node at the far end of the first wire, or the access point.
    pub fn server(&self) -> NodeId {
        let wire = self.media.iter().find(|medium| matches!(medium.kind, MediumKind::Wire(_)));
        wire.map_or(self.access_point, |wire| wire.members[0])
    }

    /// Every station with its medium and its number there, in the order of media.
    pub fn stations(&self) -> impl Iterator<Item = (MediumId, StationId, &StationConfig)> {
        self.media.iter().enumerate().flat_map(|(medium, plan)| {
            let stations = plan.stations().into_iter().enumerate();
            stations.map(move |(id, station)| (medium as MediumId, id as StationId, station))
        })
    }
}

/// The nodes and media of a plan in the making.
#[derive(Default)]
struct Builder {
    nodes: Vec<NodePlan>,
    media: Vec<MediumPlan>,
}

impl Builder {
    fn node(&mut self, name: String) -> NodeId {
        self.nodes.push(NodePlan { name, external: false });
        (self.nodes.len() - 1) as NodeId
    }

    fn wire(&mut self, name: &str, settings: &Wired, seed: u64, from: NodeId, to: NodeId) -> MediumId {
        let (down, up) = wire(settings, name, seed);
        let (kind, members) = (MediumKind::Wire([down, up]), vec![from, to]);
        self.media.push(MediumPlan { name: name.to_owned(), kind, members });
        (self.media.len() - 1) as MediumId
    }
}

/// The nodes between which flows run.
struct Hosts {
    access_point: NodeId,
    first_station: NodeId,
}

fn link(direction: &WiredDirection, delay: Span) -> PipeConfig {
    PipeConfig { rate: Some(direction.rate), delay, queue: direction.queue, cut_through: false, cross: None }
}

/// Both directions of a wire.
fn wire(wired: &Wired, name: &str, seed: u64) -> (PipeConfig, PipeConfig) {
    let half = wired.rtt / 2;
    let [down, up] = [("down", &wired.down), ("up", &wired.up)].map(|(way, direction)| PipeConfig {
        cross: cross_traffic(direction, &format!("{name}/{way}"), seed),
        ..link(direction, half)
    });
    (down, up)
}

/// The traffic of others on the wire, with no fixed phase to ours.
fn cross_traffic(direction: &WiredDirection, name: &str, seed: u64) -> Option<CrossTraffic> {
    let cross = direction.cross.as_ref()?;
    let interval = cross.rate.time_for(cross.packet);
    let phase = Stream::new(seed, &format!("{name}/cross-phase")).unit();
    let first = Instant::ZERO + Span::from_secs_f64(phase * interval.as_secs_f64());
    Some(CrossTraffic { first, interval, bytes: cross.packet.as_bytes() as u32 })
}

fn hop(scenario: &Scenario, stations: Vec<StationConfig>, first_beacon: Instant) -> MediumKind {
    match (&scenario.wifi, &scenario.link) {
        (Some(wifi), _) => {
            let (name, config) = ("access-point".to_owned(), cell_config(scenario, wifi, first_beacon));
            MediumKind::Cell(vec![Bss { name, config, shared_radio: None, stations }])
        }
        (None, Some(link)) => {
            let config = PointToPointConfig {
                rate: link.rate,
                delay: link.delay,
                queue: link.queue,
                cut_through: link.cut_through,
                errors: link.errors.clone(),
            };
            let station = stations.into_iter().next().expect("a checked scenario has a station");
            MediumKind::PointToPoint(config, Box::new(station))
        }
        (None, None) => unreachable!("a checked scenario has a last hop"),
    }
}

fn packets(limit: QueueLimit) -> u32 {
    match limit {
        QueueLimit::Packets(count) => count,
        QueueLimit::Bytes(_) => unreachable!("checked: a queue of the air counts packets"),
    }
}

fn cell_config(scenario: &Scenario, wifi: &Wifi, first_beacon: Instant) -> CellConfig {
    let Wifi { standard, data_rate, .. } = *wifi;
    let timing = standard.timing();
    let access = Access {
        aifs: timing.sifs + timing.slot * u64::from(wifi.aifsn),
        cw_min: wifi.cw_min.unwrap_or(timing.cw_min),
        cw_max: wifi.cw_max.unwrap_or(timing.cw_max),
    };
    let bytes = |size: Size| u32::try_from(size.as_bytes()).unwrap_or(u32::MAX);
    let ap_buffer = packets(scenario.ap.buffer);
    let first = Access { aifs: timing.sifs + timing.slot, cw_min: 0, cw_max: 0 };
    CellConfig {
        standard,
        data_rate,
        control_rate: wifi.control_rate.unwrap_or_else(|| standard.control_rate(data_rate)),
        beacon_rate: wifi.beacon_rate.unwrap_or(timing.lowest_rate),
        counting: Counting::from(wifi.access),
        ap_access: if scenario.ap.priority { first } else { access },
        station_access: access,
        txop: wifi.txop,
        retry_limit: wifi.retry_limit,
        station_rts_threshold: wifi.station_rts_threshold.map(bytes),
        ap_rts_threshold: wifi.ap_rts_threshold.map(bytes),
        mac_overhead: bytes(wifi.mac_overhead),
        frame_error_rate: wifi.frame_error_rate,
        ap_buffer,
        ap_queue: match scenario.ap.queue {
            QueueDiscipline::DropTail => ApQueueing::DropTail,
            QueueDiscipline::FqCodel => {
                ApQueueing::FqCodel(FqCodelConfig { limit: ap_buffer, ..FqCodelConfig::default() })
            }
        },
        capture_ratio: wifi.path_loss.as_ref().map(|loss| propagation::milliwatts(loss.capture_db)),
        station_buffer: scenario.stations().map(|group| packets(group.buffer)).max().unwrap_or(1),
        power_save: AccessPointConfig {
            ps_buffer: scenario.ap.power_save_buffer.map_or(ap_buffer, packets),
            beacon_interval: scenario.ap.beacon_interval,
            dtim_period: scenario.ap.dtim_period,
            first_beacon,
        },
    }
}

/// Stations enter power save within this time of the beginning: all at once they would only collide.
const POWER_SAVE_START_SPREAD_S: f64 = 0.01;

fn stations(scenario: &Scenario, first_beacon: Instant, seed: u64) -> Result<Vec<StationConfig>, RadioError> {
    let mut stations: Vec<StationConfig> = Vec::new();
    for group in &scenario.station {
        let radio = Radio::find(&group.radio)?;
        let power_save = powersave::StationConfig {
            beacon_interval: scenario.ap.beacon_interval,
            first_beacon,
            wake_guard: group.wake_guard,
            wake_time: radio.wake_up.time,
            listen_interval: group.listen_interval,
            dtim_period: group.receive_dtims.then_some(u32::from(scenario.ap.dtim_period)),
            hidden: group.hide.iter().fold(Abilities::NONE, |hidden, fact| hidden | fact.ability()),
            ..powersave::StationConfig::default()
        };
        let propagation = Distance::propagation(group.distance);
        let signal_dbm = scenario.wifi.as_ref().and_then(|wifi| signal_dbm(wifi, group.distance));
        let station = StationConfig { power_save, policy: group.power_save, radio, propagation, signal_dbm };
        stations.extend(std::iter::repeat_n(station, group.count as usize));
    }
    for (index, station) in stations.iter_mut().enumerate() {
        let drawn = Stream::new(seed, &format!("station/{index}/power-save-start")).unit();
        station.power_save.start = Instant::ZERO + Span::from_secs_f64(drawn * POWER_SAVE_START_SPREAD_S);
    }
    Ok(stations)
}

/// How strong a station's signal is at the access point, and the other way round.
fn signal_dbm(wifi: &Wifi, distance: Distance) -> Option<f64> {
    let loss = wifi.path_loss.as_ref()?;
    let exponent = loss.exponent.unwrap_or_else(|| propagation::office_exponent(wifi.standard));
    let metres = distance.as_millimetres() as f64 * 1e-3;
    Some(propagation::received_dbm(wifi.standard, loss.tx_power, exponent, metres))
}

/// IP and UDP header in bytes.
const UDP_HEADER_BYTES: u32 = 28;

fn flows(
    scenario: &Scenario,
    group: &FlowGroup,
    tcp: &TcpConfig,
    hosts: &Hosts,
    wire: Option<(MediumId, NodeId)>,
) -> Vec<FlowPlan> {
    let all = || (0..scenario.stations().count() as StationId).collect();
    let stations: Vec<Option<StationId>> = match group.neighbours {
        Some(count) => vec![None; count as usize],
        None => group.stations.clone().unwrap_or_else(all).into_iter().map(Some).collect(),
    };
    let down = group.direction == Direction::Down;
    let traffic = match (source(&group.application), group.transport) {
        (None, _) => Traffic::Saturated {
            payload_bytes: (tcp.mss + tcp.header_bytes).saturating_sub(UDP_HEADER_BYTES),
            header_bytes: UDP_HEADER_BYTES,
        },
        (Some(source), Transport::Udp) => Traffic::Datagrams { source, header_bytes: UDP_HEADER_BYTES },
        (Some(source), _) => Traffic::Transfer {
            source,
            dialogue: dialogue(&group.application),
            connections: transport::connections(scenario, group, tcp, down),
            handshake: scenario.tcp.handshake,
        },
    };
    // What is measured at the head of the air does not go on.
    let server = match (&traffic, wire) {
        (Traffic::Saturated { .. }, _) | (_, None) => hosts.access_point,
        (_, Some((_, server))) => server,
    };
    let spec = |station: Option<StationId>| FlowPlan {
        station,
        wire: wire.map(|(wire, _)| wire),
        server,
        client: station.map_or(hosts.access_point, |id| hosts.first_station + id as NodeId),
        down,
        transport: group.transport,
        traffic: traffic.clone(),
        start: group.start,
        start_spread: group.start_spread,
    };
    stations.into_iter().map(spec).collect()
}

/// What the application sends; `None` if the queue never runs empty.
fn source(application: &ApplicationConfig) -> Option<SourceConfig> {
    let bytes = |size: Option<Size>| size.map(Size::as_bytes);
    Some(match application {
        ApplicationConfig::Bulk(bulk) => SourceConfig::Bulk { size: bytes(bulk.size) },
        ApplicationConfig::Interactive(interactive) => SourceConfig::Interactive {
            size: bytes(interactive.size),
            mean_gap: interactive.mean_gap,
            packet: interactive.packet.as_bytes() as u32,
        },
        ApplicationConfig::Cbr(cbr) => SourceConfig::ConstantRate {
            size: bytes(cbr.size),
            rate: cbr.rate,
            packet: cbr.packet.as_bytes() as u32,
        },
        ApplicationConfig::Streaming(media) => {
            let of = |time: Span| {
                let bits = u128::from(media.rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
                u64::try_from(bits / 8).unwrap_or(u64::MAX)
            };
            let size = bytes(media.size).or_else(|| media.media.map(of));
            let block = media.block.as_bytes() as u32;
            SourceConfig::Stream { size, rate: media.rate, startup: of(media.startup), block }
        }
        // A dialogue decides.
        ApplicationConfig::Web(_) | ApplicationConfig::RequestResponse(_) => {
            SourceConfig::Bulk { size: None }
        }
        ApplicationConfig::Saturated(_) => return None,
    })
}

/// Who asks and who replies, if the application is one of these.
fn dialogue(application: &ApplicationConfig) -> Option<DialogueConfig> {
    let bytes = |size: Size| size.as_bytes() as u32;
    match application {
        ApplicationConfig::Web(web) => Some(DialogueConfig {
            replies: Replies::Pages,
            request: bytes(web.request),
            think: web.mean_gap,
            count: web.count,
        }),
        ApplicationConfig::RequestResponse(exchange) => Some(DialogueConfig {
            replies: Replies::Fixed(bytes(exchange.response)),
            request: bytes(exchange.request),
            think: exchange.mean_gap,
            count: exchange.count,
        }),
        _ => None,
    }
}

/// The application of flow `index` at the beginning.
pub(super) fn application(plan: &FlowPlan, seed: u64, index: usize) -> application::Application {
    use application::Application;
    match &plan.traffic {
        Traffic::Transfer { dialogue: Some(config), .. } => {
            Application::Dialogue(Box::new(Dialogue::new(*config, seed, index)))
        }
        Traffic::Transfer { source, .. } => {
            Application::Transfer(Box::new(Transfer::new(Source::new(*source, seed, index))))
        }
        Traffic::Datagrams { source, .. } => {
            Application::Datagrams(Box::new(Datagrams::new(Source::new(*source, seed, index))))
        }
        Traffic::Saturated { payload_bytes, .. } => Application::Saturation(Saturation::new(*payload_bytes)),
        Traffic::Replay(arrivals) => Application::Replay(Box::new(Replay::new(arrivals.clone()))),
    }
}
