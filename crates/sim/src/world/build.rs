//! From a checked scenario to machines.

use airwatt_base::{Distance, Instant, QueueLimit, Size, Span, Stream};
use airwatt_energy::{Radio, RadioError};
use airwatt_proto::cc::Growth;
use airwatt_proto::powersave::{self, AccessPointConfig, StationId};
use airwatt_proto::tcp::{self, DelayedAck, InitialWindow, TcpConfig};

use super::{Flow, FlowState};
use crate::air::contention::{Access, Counting};
use crate::air::{CellConfig, StationConfig};
use crate::apps::{Arrival, Replay, Saturation, TcpFlow};
use crate::path::LinkConfig;
use crate::scenario::{
    Application, Direction, FlowGroup, PartialAckTimer, RtoClock, Scenario, Wifi, WindowGrowth,
    WiredDirection,
};

/// Everything that a run is made of.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// The cell.
    pub cell: CellConfig,
    /// Its stations.
    pub stations: Vec<StationConfig>,
    /// The wire towards the stations.
    pub down: LinkConfig,
    /// The wire towards the server.
    pub up: LinkConfig,
    /// TCP at both ends.
    pub tcp: TcpConfig,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Stop after this time.
    pub duration: Option<Span>,
    /// Give up after this time.
    pub time_limit: Span,
}

/// One flow of a [`WorldSpec`].
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Whose.
    pub station: StationId,
    /// Towards the station.
    pub down: bool,
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
    /// A transfer of so many bytes, or without end.
    Transfer {
        /// How many bytes.
        size: Option<u64>,
        /// Both ends.
        tcp: Box<TcpConfig>,
        /// Whether it begins with a SYN exchange.
        handshake: bool,
    },
    /// Packets of this length without end.
    Saturated {
        /// Length of the IP packets in bytes.
        packet_bytes: u32,
    },
    /// The packets of a capture.
    Replay(Vec<Arrival>),
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
        let tcp = tcp_config(scenario);
        let half = scenario.wired.rtt / 2;
        let flows =
            scenario.flow.iter().flat_map(|group| flows(scenario, group, &tcp, stations.len())).collect();
        Ok(Self {
            cell: cell_config(scenario, first_beacon),
            stations,
            down: link(&scenario.wired.down, half),
            up: link(&scenario.wired.up, half),
            tcp,
            flows,
            duration: scenario.duration,
            time_limit: scenario.time_limit,
        })
    }
}

fn link(direction: &WiredDirection, delay: Span) -> LinkConfig {
    LinkConfig { rate: Some(direction.rate), delay, queue: direction.queue }
}

fn packets(limit: QueueLimit) -> u32 {
    match limit {
        QueueLimit::Packets(count) => count,
        QueueLimit::Bytes(_) => unreachable!("checked: a queue of the air counts packets"),
    }
}

fn cell_config(scenario: &Scenario, first_beacon: Instant) -> CellConfig {
    let Wifi { standard, data_rate, .. } = scenario.wifi;
    let wifi = &scenario.wifi;
    let timing = standard.timing();
    let access = Access {
        aifs: timing.sifs + timing.slot * u64::from(wifi.aifsn),
        cw_min: wifi.cw_min.unwrap_or(timing.cw_min),
        cw_max: wifi.cw_max.unwrap_or(timing.cw_max),
    };
    let bytes = |size: Size| u32::try_from(size.as_bytes()).unwrap_or(u32::MAX);
    let ap_buffer = packets(scenario.ap.buffer);
    CellConfig {
        standard,
        data_rate,
        control_rate: wifi.control_rate.unwrap_or_else(|| standard.control_rate(data_rate)),
        beacon_rate: wifi.beacon_rate.unwrap_or(timing.lowest_rate),
        counting: Counting::from(wifi.access),
        ap_access: access,
        station_access: access,
        txop: wifi.txop,
        retry_limit: wifi.retry_limit,
        station_rts_threshold: wifi.station_rts_threshold.map(bytes),
        ap_rts_threshold: wifi.ap_rts_threshold.map(bytes),
        mac_overhead: bytes(wifi.mac_overhead),
        frame_error_rate: wifi.frame_error_rate,
        ap_buffer,
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
            ..powersave::StationConfig::default()
        };
        let policy = Scenario::policy(group).expect("a checked scenario names policies that exist");
        let propagation = Distance::propagation(group.distance);
        let station = StationConfig { power_save, policy, radio, propagation };
        stations.extend(std::iter::repeat_n(station, group.count as usize));
    }
    for (index, station) in stations.iter_mut().enumerate() {
        let drawn = Stream::new(seed, &format!("station/{index}/power-save-start")).unit();
        station.power_save.start = Instant::ZERO + Span::from_secs_f64(drawn * POWER_SAVE_START_SPREAD_S);
    }
    Ok(stations)
}

fn tcp_config(scenario: &Scenario) -> TcpConfig {
    let tcp = &scenario.tcp;
    let bytes = |size: Size| u32::try_from(size.as_bytes()).unwrap_or(u32::MAX);
    let mss = bytes(tcp.mtu) - bytes(tcp.header);
    TcpConfig {
        mss,
        header_bytes: bytes(tcp.header),
        receive_window: match tcp.receive_window {
            QueueLimit::Bytes(window) => bytes(window),
            QueueLimit::Packets(segments) => segments * mss,
        },
        growth: match tcp.window_growth {
            WindowGrowth::Bytes => Growth::Bytes,
            WindowGrowth::Acks => Growth::Acks,
        },
        limited_transmit: tcp.limited_transmit,
        rto_clock: match tcp.rto_clock {
            RtoClock::Fine => tcp::RtoClock::Fine,
            RtoClock::Coarse => tcp::RtoClock::Coarse { tick: tcp.rto_tick, min_ticks: tcp.rto_min_ticks },
        },
        initial_window: tcp.initial_window.map_or(InitialWindow::Rfc6928, InitialWindow::Segments),
        initial_ssthresh: tcp.initial_ssthresh.map(bytes),
        delayed_ack: tcp
            .delayed_ack
            .then_some(DelayedAck { every: tcp.delayed_ack_segments, timeout: tcp.delayed_ack_timeout }),
        partial_ack_timer: match tcp.partial_ack_timer {
            PartialAckTimer::Impatient => tcp::PartialAckTimer::Impatient,
            PartialAckTimer::SlowButSteady => tcp::PartialAckTimer::SlowButSteady,
        },
        min_rto: tcp.min_rto,
        initial_rto: tcp.initial_rto,
        max_rto: tcp.max_rto,
        ..TcpConfig::default()
    }
}

fn flows(scenario: &Scenario, group: &FlowGroup, tcp: &TcpConfig, stations: usize) -> Vec<FlowSpec> {
    let all = || (0..stations as StationId).collect();
    let stations: Vec<StationId> = group.stations.clone().unwrap_or_else(all);
    let traffic = match group.application {
        Application::Bulk => Traffic::Transfer {
            size: group.size.map(Size::as_bytes),
            tcp: Box::new(TcpConfig {
                congestion: group.transport.congestion().expect("a checked scenario carries bulk over TCP"),
                ..tcp.clone()
            }),
            handshake: scenario.tcp.handshake,
        },
        Application::Saturated => Traffic::Saturated { packet_bytes: tcp.mss + tcp.header_bytes },
    };
    let spec = |station| FlowSpec {
        station,
        down: group.direction == Direction::Down,
        traffic: traffic.clone(),
        start: group.start,
        start_spread: group.start_spread,
    };
    stations.into_iter().map(spec).collect()
}

pub(super) fn flow(spec: &FlowSpec) -> Flow {
    let application = match &spec.traffic {
        Traffic::Transfer { size, tcp, handshake } => {
            FlowState::Tcp(Box::new(TcpFlow::new(tcp, *handshake, spec.down, *size)))
        }
        Traffic::Saturated { packet_bytes } => FlowState::Saturated(Saturation::new(*packet_bytes)),
        Traffic::Replay(arrivals) => FlowState::Replay(Replay::new(arrivals.clone())),
    };
    Flow { station: spec.station, down: spec.down, application }
}
