//! From a checked scenario to machines.

use airwatt_base::{Distance, Instant, QueueLimit, Size, Span, Stream};
use airwatt_energy::{Radio, RadioError};
use airwatt_proto::powersave::{self, AccessPointConfig, StationId};
use airwatt_proto::tcp::TcpConfig;

use super::FlowState;
use super::transport::{self, LegSpec};
use crate::apps::{
    Arrival, Datagrams, Dialogue, DialogueConfig, Foreign, Replay, Replies, Saturation, Source, SourceConfig,
    Transfer,
};
use crate::media::cell::contention::{Access, Counting};
use crate::media::cell::fq_codel::FqCodelConfig;
use crate::media::cell::propagation;
use crate::media::cell::{ApQueueing, CellConfig, StationConfig};
use crate::media::errors::ErrorConfig;
use crate::media::{CrossTraffic, PipeConfig, PointToPointConfig};
use crate::scenario::{
    Application, Direction, ErrorKind, Errors, FlowGroup, QueueDiscipline, Scenario, Transport, Wifi, Wired,
    WiredDirection,
};

/// Everything that a run is made of.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// The last hop.
    pub hop: HopSpec,
    /// Its stations.
    pub stations: Vec<StationConfig>,
    /// Wires between servers and base station, each towards the stations and towards the server: the one that flows share,
    /// if there is one, then those that groups of flows have for themselves.
    pub wires: Vec<(PipeConfig, PipeConfig)>,
    /// TCP at both ends.
    pub tcp: TcpConfig,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Stop after this time.
    pub duration: Option<Span>,
    /// Give up after this time.
    pub time_limit: Span,
    /// When throughputs begin to be measured.
    pub measure_from: Span,
    /// Whether what arrives is kept in bins.
    pub bins: bool,
}

/// The last hop of a [`WorldSpec`].
#[derive(Clone, Debug)]
pub enum HopSpec {
    /// A Wi-Fi cell.
    Cell(Box<CellConfig>),
    /// A point-to-point link.
    Link(PointToPointConfig),
}

/// One flow of a [`WorldSpec`].
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Whose; of a neighbour on the wire none.
    pub station: Option<StationId>,
    /// Its place in [`WorldSpec::wires`]; none if its server is at the base station.
    pub wire: Option<usize>,
    /// Towards the station.
    pub down: bool,
    /// Over which transport.
    pub transport: Transport,
    /// What it carries.
    pub traffic: Traffic,
    /// When it begins.
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
        /// Instead: who asks and who replies.
        dialogue: Option<DialogueConfig>,
        /// The connections, from the server to the station.
        legs: Vec<LegSpec>,
        /// What the base station holds for a connection at most, in bytes.
        relay_buffer: u64,
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
    /// Packets of this length without end.
    Saturated {
        /// Length of the IP packets in bytes.
        packet_bytes: u32,
    },
    /// The packets of a capture.
    Replay(Vec<Arrival>),
    /// Packets of somebody else.
    Foreign,
}

impl WorldSpec {
    /// The world of a scenario.
    ///
    /// # Errors
    /// A radio profile that could not be read since the scenario was checked.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, RadioError> {
        // Beacons and traffic start with no fixed phase between them.
        let phase = Stream::new(seed, "access-point/beacon-phase").unit();
        let interval = scenario.ap.beacon_interval;
        let first_beacon = Instant::ZERO + Span::from_secs_f64(phase * interval.as_secs_f64());
        let stations = stations(scenario, first_beacon, seed)?;
        let tcp = transport::tcp_config(&scenario.tcp);
        let mut wires: Vec<_> = scenario.wired.iter().map(|shared| wire(shared, "wire", seed)).collect();
        let shared = scenario.wired.is_some().then_some(0);
        let mut all = Vec::new();
        for (index, group) in scenario.flow.iter().enumerate() {
            let own = group.wired.as_ref().map(|own| {
                wires.push(wire(own, &format!("flow/{index}/wire"), seed));
                wires.len() - 1
            });
            all.extend(flows(scenario, group, &tcp, stations.len(), own.or(shared)));
        }
        Ok(Self {
            hop: hop(scenario, first_beacon),
            stations,
            wires,
            tcp,
            flows: all,
            duration: scenario.duration,
            time_limit: scenario.time_limit,
            measure_from: scenario.measure_from.unwrap_or_default(),
            bins: !scenario.fairness_windows.is_empty(),
        })
    }
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

fn hop(scenario: &Scenario, first_beacon: Instant) -> HopSpec {
    match (&scenario.wifi, &scenario.link) {
        (Some(wifi), _) => HopSpec::Cell(Box::new(cell_config(scenario, wifi, first_beacon))),
        (None, Some(link)) => HopSpec::Link(PointToPointConfig {
            rate: link.rate,
            delay: link.delay,
            queue: link.queue,
            cut_through: link.cut_through,
            errors: errors(&link.errors),
        }),
        (None, None) => unreachable!("a checked scenario has a last hop"),
    }
}

fn errors(errors: &Errors) -> ErrorConfig {
    let (good_error_rate, bad_error_rate) = (errors.good_error_rate, errors.bad_error_rate);
    match errors.model {
        ErrorKind::None => ErrorConfig::None,
        ErrorKind::Uniform => ErrorConfig::Uniform { error_rate: errors.error_rate },
        ErrorKind::TwoState => ErrorConfig::TwoState {
            good: (errors.good, errors.good_max.unwrap_or(errors.good)),
            bad: (errors.bad, errors.bad_max.unwrap_or(errors.bad)),
            good_error_rate,
            bad_error_rate,
        },
        ErrorKind::GilbertElliott => ErrorConfig::GilbertElliott {
            to_bad: errors.to_bad,
            to_good: errors.to_good,
            good_error_rate,
            bad_error_rate,
        },
        ErrorKind::Listed => {
            ErrorConfig::Listed { down: errors.listed_down.clone(), up: errors.listed_up.clone() }
        }
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
            ..powersave::StationConfig::default()
        };
        let policy = Scenario::policy(group).expect("a checked scenario names policies that exist");
        let propagation = Distance::propagation(group.distance);
        let signal_dbm = scenario.wifi.as_ref().and_then(|wifi| signal_dbm(wifi, group.distance));
        let station = StationConfig { power_save, policy, radio, propagation, signal_dbm };
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
    stations: usize,
    wire: Option<usize>,
) -> Vec<FlowSpec> {
    let all = || (0..stations as StationId).collect();
    let of_stations = |named: Vec<StationId>| named.into_iter().map(Some).collect();
    let stations: Vec<Option<StationId>> = match group.neighbours {
        Some(count) => vec![None; count as usize],
        None => of_stations(group.stations.clone().unwrap_or_else(all)),
    };
    let down = group.direction == Direction::Down;
    let traffic = match (source(group), group.transport) {
        (None, _) => Traffic::Saturated { packet_bytes: tcp.mss + tcp.header_bytes },
        (Some(source), Transport::Udp) => Traffic::Datagrams { source, header_bytes: UDP_HEADER_BYTES },
        (Some(source), _) => Traffic::Transfer {
            source,
            dialogue: dialogue(group),
            legs: transport::legs(scenario, group, tcp, down),
            relay_buffer: scenario.gateway.buffer.as_bytes(),
            handshake: scenario.tcp.handshake,
        },
    };
    let spec = |station| FlowSpec {
        station,
        wire,
        down,
        transport: group.transport,
        traffic: traffic.clone(),
        start: group.start,
        start_spread: group.start_spread,
    };
    stations.into_iter().map(spec).collect()
}

/// What the application sends; `None` where the queue never runs empty.
fn source(group: &FlowGroup) -> Option<SourceConfig> {
    let size = group.size.map(Size::as_bytes);
    let packet = group.packet.as_bytes() as u32;
    match group.application {
        Application::Bulk => Some(SourceConfig::Bulk { size }),
        Application::Interactive => {
            Some(SourceConfig::Interactive { size, mean_gap: group.mean_gap, packet })
        }
        Application::Cbr => Some(SourceConfig::ConstantRate { size, rate: group.rate, packet }),
        Application::Streaming => {
            let bytes = |time: Span| {
                let bits = u128::from(group.rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
                u64::try_from(bits / 8).unwrap_or(u64::MAX)
            };
            let size = size.or_else(|| group.media.map(bytes));
            let block = group.block.as_bytes() as u32;
            Some(SourceConfig::Stream { size, rate: group.rate, startup: bytes(group.startup), block })
        }
        // A dialogue decides.
        Application::Web | Application::RequestResponse => Some(SourceConfig::Bulk { size: None }),
        Application::Saturated => None,
    }
}

/// A request for an object of a page, with the headers that browsers sent about 2010.
const WEB_REQUEST: Size = Size::from_bytes(400);
/// A key typed into a remote shell: 36 to 52 bytes with the cipher's block and its check (RFC 4253 section 6).
const KEY: Size = Size::from_bytes(48);

/// Who asks and who replies, if the application is one of these.
fn dialogue(group: &FlowGroup) -> Option<DialogueConfig> {
    let bytes = |given: Option<Size>, default: Size| given.unwrap_or(default).as_bytes() as u32;
    let (replies, request) = match group.application {
        Application::Web => (Replies::Pages, WEB_REQUEST),
        Application::RequestResponse => (Replies::Fixed(bytes(group.response, KEY)), KEY),
        _ => return None,
    };
    let request = bytes(group.request, request);
    Some(DialogueConfig { replies, request, think: group.mean_gap, count: group.count })
}

/// The state of flow `index` at the beginning.
pub(super) fn flow(spec: &FlowSpec, seed: u64, index: usize) -> FlowState {
    match &spec.traffic {
        Traffic::Transfer { source, dialogue, legs, relay_buffer, handshake } => {
            let legs = legs.iter().map(|leg| leg.stand(*handshake)).collect();
            let source = Source::new(*source, seed, index);
            let dialogue = dialogue.map(|config| Dialogue::new(config, seed, index));
            let transfer = Transfer::new(legs, *relay_buffer, *handshake, spec.down, source);
            FlowState::Transfer(Box::new(Transfer { dialogue, ..transfer }))
        }
        Traffic::Datagrams { source, header_bytes } => {
            let source = Source::new(*source, seed, index);
            FlowState::Datagrams(Box::new(Datagrams::new(source, *header_bytes)))
        }
        Traffic::Saturated { packet_bytes } => FlowState::Saturated(Saturation::new(*packet_bytes)),
        Traffic::Replay(arrivals) => FlowState::Replay(Replay::new(arrivals.clone())),
        Traffic::Foreign => FlowState::Foreign(Foreign::default()),
    }
}
