//! From a scenario's transports to the ends of connections.

use std::net::{IpAddr, Ipv4Addr};

use airwatt_base::{QueueLimit, Size};
use airwatt_proto::cc::{self, AckLossConfig, Algorithm, Growth, SegmentsPerAck, StretchConfig};
use airwatt_proto::e2tcp::{self, Addresses, E2tcpConfig, Endpoint};
use airwatt_proto::tcp::{self, DelayedAck, InitialWindow, TcpConfig};

use crate::apps::{End, Leg};
use crate::scenario::{
    AckLoss, AckLossRule, BurstReaction, Counted, E2tcp, FlowGroup, HeaderForm, Increase, MinRtoOf,
    PartialAckTimer, RtoClock, Scenario, Tcp, Transport, WindowGrowth,
};

/// One connection of a flow, by its ends.
#[derive(Clone, Debug)]
pub enum LegSpec {
    /// TCP.
    Tcp {
        /// The end towards the server.
        near: Box<TcpConfig>,
        /// The end towards the station.
        far: Box<TcpConfig>,
    },
    /// E2TCP.
    E2tcp {
        /// The end towards the server.
        near: Box<E2tcpConfig>,
        /// The end towards the station.
        far: Box<E2tcpConfig>,
        /// Whether packets are charged with TCP's headers.
        tcp_headers: bool,
    },
}

impl LegSpec {
    /// Both ends: about to open the connection, or with one that stands.
    pub(super) fn stand(&self, handshake: bool) -> Leg {
        match self {
            Self::Tcp { near, far } => {
                let end = |own: &TcpConfig, peer: &TcpConfig| {
                    End::Tcp(Box::new(if handshake {
                        tcp::Connection::new(own.clone())
                    } else {
                        tcp::Connection::established(own.clone(), peer)
                    }))
                };
                Leg { near: end(near, far), far: end(far, near) }
            }
            Self::E2tcp { near, far, tcp_headers } => {
                let end = |own: &E2tcpConfig, peer: &E2tcpConfig, addresses| End::E2tcp {
                    connection: Box::new(if handshake {
                        e2tcp::Connection::new(own.clone(), 0, addresses)
                    } else {
                        e2tcp::Connection::established(own.clone(), peer, 0)
                    }),
                    tcp_headers: *tcp_headers,
                };
                let addresses = addresses();
                Leg { near: end(near, far, addresses), far: end(far, near, addresses.swapped()) }
            }
        }
    }
}

/// Addresses of the two ends of an E2TCP connection, which its first packets carry: the base station's first.
fn addresses() -> Addresses {
    let endpoint = |host| Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port: 50_000 };
    Addresses::new(endpoint(1), endpoint(2)).expect("both are IPv4")
}

/// The connections of a flow of `group`, from the server to the station.
pub(super) fn legs(scenario: &Scenario, group: &FlowGroup, tcp: &TcpConfig, down: bool) -> Vec<LegSpec> {
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
    let to_server = || LegSpec::Tcp { near: Box::new(gateway()), far: Box::new(relay(down)) };
    match group.transport {
        Transport::Split => {
            let to_station = LegSpec::Tcp { near: Box::new(relay(!down)), far: Box::new(gateway()) };
            vec![to_server(), to_station]
        }
        Transport::E2tcp => {
            let behind_wire = scenario.wired.is_some() || group.wired.is_some();
            let end = e2tcp_config(&scenario.e2tcp, &scenario.tcp, group.reliability);
            let near = E2tcpConfig { read_at_once: down || !behind_wire, ..end.clone() };
            let hop = LegSpec::E2tcp {
                near: Box::new(near),
                far: Box::new(end),
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
fn whole(end: TcpConfig) -> LegSpec {
    LegSpec::Tcp { near: Box::new(end.clone()), far: Box::new(end) }
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
