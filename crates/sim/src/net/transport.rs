//! From a scenario's transports to the ends of connections.

use airwatt_base::{QueueLimit, Size};
use airwatt_proto::cc::{self, AckLossConfig, Algorithm, Growth, SegmentsPerAck, StretchConfig};
use airwatt_proto::e2tcp::{self, E2tcpConfig, IpVersion};
use airwatt_proto::tcp::{self, DelayedAck, InitialWindow, TcpConfig};

use crate::scenario::{
    AckLoss, AckLossRule, BurstReaction, Counted, E2tcp, FlowGroup, HeaderForm, Increase, MinRtoOf,
    PartialAckTimer, RtoClock, Scenario, Tcp, Transport, WindowGrowth,
};
use crate::stack::transport::Transport as Endpoint;

/// One connection of a flow, by the settings of its endpoints.
#[derive(Clone, Debug)]
pub enum ConnectionPlan {
    /// TCP.
    Tcp {
        /// The endpoint on the server's side.
        server_side: Box<TcpConfig>,
        /// The endpoint on the station's side.
        station_side: Box<TcpConfig>,
    },
    /// E2TCP.
    E2tcp {
        /// The endpoint on the server's side.
        server_side: Box<E2tcpConfig>,
        /// The endpoint on the station's side.
        station_side: Box<E2tcpConfig>,
        /// Whether packets are charged with TCP's headers.
        tcp_headers: bool,
    },
}

impl ConnectionPlan {
    /// The endpoint on the server's side and the one on the station's: closed before a handshake, otherwise established.
    pub(super) fn endpoints(&self, handshake: bool) -> (Endpoint, Endpoint) {
        match self {
            Self::Tcp { server_side, station_side } => {
                let end = |own: &TcpConfig, peer: &TcpConfig| {
                    Endpoint::Tcp(Box::new(if handshake {
                        tcp::Connection::new(own.clone())
                    } else {
                        tcp::Connection::established(own.clone(), peer)
                    }))
                };
                (end(server_side, station_side), end(station_side, server_side))
            }
            Self::E2tcp { server_side, station_side, tcp_headers } => {
                let end = |own: &E2tcpConfig, peer: &E2tcpConfig| Endpoint::E2tcp {
                    connection: Box::new(if handshake {
                        e2tcp::Connection::new(own.clone(), 0, IpVersion::V4)
                    } else {
                        e2tcp::Connection::established(own.clone(), peer, 0)
                    }),
                    tcp_headers: *tcp_headers,
                };
                (end(server_side, station_side), end(station_side, server_side))
            }
        }
    }
}

/// The connections of a flow of `group`, from the server to the station: one from end to end, or two that a gateway joins.
pub(super) fn connections(
    scenario: &Scenario,
    group: &FlowGroup,
    tcp: &TcpConfig,
    down: bool,
) -> Vec<ConnectionPlan> {
    let with = |congestion, ackloss: bool| TcpConfig {
        congestion,
        ackloss: ackloss.then(|| ackloss_config(&scenario.ackloss)),
        ..tcp.clone()
    };
    let gateway = || match scenario.gateway.transport {
        Transport::Tcp { congestion, ackloss } => with(congestion, ackloss),
        _ => unreachable!("checked: a gateway speaks TCP"),
    };
    // Where the base station reads, data wait until there is room for them on the other side.
    let relay = |reads: bool| TcpConfig { read_at_once: !reads, ..gateway() };
    let to_server =
        || ConnectionPlan::Tcp { server_side: Box::new(gateway()), station_side: Box::new(relay(down)) };
    match group.transport {
        Transport::Split => {
            let to_station = ConnectionPlan::Tcp {
                server_side: Box::new(relay(!down)),
                station_side: Box::new(gateway()),
            };
            vec![to_server(), to_station]
        }
        Transport::E2tcp => {
            let behind_wire = scenario.wired.is_some() || group.wired.is_some();
            let end = e2tcp_config(&scenario.e2tcp, &scenario.tcp, group.reliability);
            let near = E2tcpConfig { read_at_once: down || !behind_wire, ..end.clone() };
            let hop = ConnectionPlan::E2tcp {
                server_side: Box::new(near),
                station_side: Box::new(end),
                tcp_headers: scenario.e2tcp.header == HeaderForm::Tcp,
            };
            if behind_wire { vec![to_server(), hop] } else { vec![hop] }
        }
        Transport::Tcp { congestion, ackloss } => vec![whole(with(congestion, ackloss))],
        Transport::Prtp => {
            vec![whole(TcpConfig { reliability: group.reliability, ..with(Algorithm::NewReno, false) })]
        }
        Transport::Udp => unreachable!("datagrams have no connection"),
    }
}

/// A connection from end to end.
fn whole(end: TcpConfig) -> ConnectionPlan {
    ConnectionPlan::Tcp { server_side: Box::new(end.clone()), station_side: Box::new(end) }
}

/// The detector of lost acknowledgements as a scenario sets it.
pub(crate) fn ackloss_config(ackloss: &AckLoss) -> AckLossConfig {
    AckLossConfig {
        threshold: ackloss.threshold,
        beta_shift: ackloss.beta_shift,
        segments_per_ack: ackloss.segments_per_ack.map_or(SegmentsPerAck::Estimated, SegmentsPerAck::Fixed),
        rule: match ackloss.rule {
            AckLossRule::Published => cc::AckLossRule::Published,
            AckLossRule::Stretch => cc::AckLossRule::Stretch(StretchConfig::default()),
        },
        ..AckLossConfig::default()
    }
}

fn bytes(size: Size) -> u32 {
    u32::try_from(size.as_bytes()).unwrap_or(u32::MAX)
}

/// E2TCP as a scenario sets it.
pub(crate) fn e2tcp_config(e2tcp: &E2tcp, tcp: &Tcp, reliability: u8) -> E2tcpConfig {
    let window = bytes(e2tcp.receive_window);
    E2tcpConfig {
        payload: u16::try_from(bytes(tcp.mtu) - bytes(tcp.header)).unwrap_or(u16::MAX),
        min_window: e2tcp.min_window,
        max_window: e2tcp.max_window,
        after_timeout: e2tcp.after_timeout,
        error_limit: e2tcp.error_limit,
        increase: match e2tcp.increase {
            Increase::Ack => e2tcp::Increase::PerAck,
            Increase::Window => e2tcp::Increase::PerWindow,
        },
        counted: match e2tcp.counted {
            Counted::Travelling => e2tcp::Counted::Travelling,
            Counted::Missing => e2tcp::Counted::Missing,
            Counted::Span => e2tcp::Counted::Span,
        },
        infer_relost: e2tcp.infer_relost,
        rto_percent: e2tcp.rto_percent,
        rto_margin: e2tcp.rto_margin,
        initial_rto: e2tcp.initial_rto,
        back_off: e2tcp.back_off,
        selective: e2tcp.selective,
        burst_reaction: match e2tcp.burst_reaction {
            BurstReaction::Windows => e2tcp::BurstReaction::Windows,
            BurstReaction::Detector => e2tcp::BurstReaction::Detector(e2tcp::DetectorConfig::default()),
        },
        reliability,
        receive_window: window,
        receive_buffer: window.saturating_mul(2),
        assumed_window: window,
        ..E2tcpConfig::default()
    }
}

/// TCP as a scenario sets it.
pub(super) fn tcp_config(tcp: &Tcp) -> TcpConfig {
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
        min_rto_of: match tcp.min_rto_of {
            MinRtoOf::Timeout => tcp::MinRtoOf::Timeout,
            MinRtoOf::Variance => tcp::MinRtoOf::Variance,
        },
        min_rto: tcp.min_rto,
        initial_rto: tcp.initial_rto,
        max_rto: tcp.max_rto,
        ..TcpConfig::default()
    }
}
