//! From a scenario's transports to the ends of connections.

use airwatt_proto::cc::{Algorithm, OwnCongestionControl};
use airwatt_proto::e2tcp::{self, E2tcpConfig, IpVersion};
use airwatt_proto::gateway::Translated;
use airwatt_proto::quic::{QuicConfig, QuicEnd};
use airwatt_proto::tcp::linux::{KeepAlive, LinuxConfig, LinuxEnd};
use airwatt_proto::tcp::{self, TcpConfig, TcpProfile};

use crate::direction::Direction;
use crate::scenario::{FlowGroup, GatewayConfig, Scenario, Transport};
use crate::stack::transport::SocketTransport as Endpoint;

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
    /// TCP of hosts with Linux, with equal settings but for keep-alives.
    Linux {
        /// The settings of both.
        config: Box<LinuxConfig>,
        /// The keep-alives of the endpoint on the server's side, and of the one on the station's.
        keep_alive: [Option<KeepAlive>; 2],
    },
    /// E2TCP.
    E2tcp {
        /// The endpoint on the server's side.
        server_side: Box<E2tcpConfig>,
        /// The endpoint on the station's side.
        station_side: Box<E2tcpConfig>,
    },
    /// QUIC, with equal settings.
    Quic(Box<QuicConfig>),
    /// E2TCP's rules at the server's side, TCP at the station's.
    Translated {
        /// The endpoint on the server's side.
        server_side: Box<E2tcpConfig>,
        /// The endpoint on the station's side.
        station_side: Box<TcpConfig>,
    },
}

impl ConnectionPlan {
    /// The congestion control from outside that its senders use, if there is one.
    pub fn own_congestion(&self) -> Option<&OwnCongestionControl> {
        match self {
            Self::Tcp { server_side, .. } => server_side.own_congestion.as_ref(),
            Self::Linux { .. } | Self::Quic(_) | Self::E2tcp { .. } | Self::Translated { .. } => None,
        }
    }

    /// The endpoint on the server's side and the one on the station's: closed before a handshake, otherwise established. What
    /// they do at random follows from `seed`.
    pub(super) fn endpoints(&self, handshake: bool, seed: u64) -> (Endpoint, Endpoint) {
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
            Self::Linux { config, keep_alive: [server, station] } => {
                let end = |seed, keep_alive| {
                    let config = LinuxConfig { seed, keep_alive, ..(**config).clone() };
                    Endpoint::Linux(Box::new(LinuxEnd::new(config)))
                };
                (end(seed, *server), end(!seed, *station))
            }
            Self::Quic(config) => {
                let end = |seed| Endpoint::Quic(Box::new(QuicEnd::new(config, seed)));
                (end(seed), end(!seed))
            }
            Self::E2tcp { server_side, station_side } => {
                let end = |own: &E2tcpConfig, peer: &E2tcpConfig| {
                    Endpoint::E2tcp(Box::new(if handshake {
                        e2tcp::Connection::new(own.clone(), 0, IpVersion::V4)
                    } else {
                        e2tcp::Connection::established(own.clone(), peer, 0)
                    }))
                };
                (end(server_side, station_side), end(station_side, server_side))
            }
            Self::Translated { server_side, station_side } => {
                let headers = station_side.header_bytes;
                let base = (**server_side).clone();
                // What the station knows of the base station's end.
                let seen = TcpConfig {
                    initial_sequence: base.initial_sequence,
                    receive_window: base.receive_window,
                    ..(**station_side).clone()
                };
                let (base, station) = if handshake {
                    (Translated::new(base, headers), tcp::Connection::new((**station_side).clone()))
                } else {
                    let station = tcp::Connection::established((**station_side).clone(), &seen);
                    (Translated::established(base, headers, station_side.initial_sequence), station)
                };
                (Endpoint::Translated(Box::new(base)), Endpoint::Tcp(Box::new(station)))
            }
        }
    }
}

/// The legs of a connection of `group`, from the node that listens to the one that opens: one from end to end, or two that a
/// gateway joins.
pub(super) fn legs(
    scenario: &Scenario,
    group: &FlowGroup,
    own: Option<&OwnCongestionControl>,
    tcp: &TcpConfig,
    data: Direction,
    gateway: Option<&GatewayConfig>,
) -> Vec<ConnectionPlan> {
    let transport = group.transport.like();
    let with = |congestion, ackloss: bool| TcpConfig {
        congestion,
        ackloss: ackloss.then_some(scenario.ackloss),
        ..tcp.clone()
    };
    let at_gateway = || match gateway.map(|gateway| gateway.transport) {
        Some(Transport::Tcp { congestion, ackloss }) => with(congestion, ackloss),
        _ => unreachable!("checked: there is a gateway, and it speaks TCP"),
    };
    // Where the base station reads, data wait until there is room for them on the other side.
    let down = data == Direction::Down;
    let relay = |reads: bool| TcpConfig { read_at_once: !reads, ..at_gateway() };
    let to_server =
        || ConnectionPlan::Tcp { server_side: Box::new(at_gateway()), station_side: Box::new(relay(down)) };
    if transport == Transport::Quic {
        return vec![ConnectionPlan::Quic(Box::new(scenario.quic.clone()))];
    }
    if scenario.tcp.profile == Some(TcpProfile::Linux) {
        let (control, sack) = transport.on_linux().expect("checked: the hosts have the transport");
        let watches = matches!(transport, Transport::Tcp { ackloss: true, .. });
        let ackloss = watches.then_some(scenario.ackloss);
        return vec![ConnectionPlan::Linux {
            config: Box::new(LinuxConfig { ackloss, ..scenario.tcp.linux(control, sack) }),
            keep_alive: [false, true].map(|is_client| scenario.tcp.keep_alive_of(is_client)),
        }];
    }
    match transport {
        Transport::Split => {
            let to_station = ConnectionPlan::Tcp {
                server_side: Box::new(relay(!down)),
                station_side: Box::new(at_gateway()),
            };
            vec![to_server(), to_station]
        }
        Transport::E2tcp => {
            let hop = e2tcp_hop(scenario, group, down, gateway.is_some());
            if gateway.is_some() { vec![to_server(), hop] } else { vec![hop] }
        }
        Transport::E2tcpBase => {
            let near = E2tcpConfig { read_at_once: down, ..e2tcp_end(scenario, group) };
            let hop = ConnectionPlan::Translated {
                server_side: Box::new(near),
                station_side: Box::new(with(Algorithm::Sack, false)),
            };
            vec![to_server(), hop]
        }
        Transport::Snoop => vec![whole(at_gateway())],
        Transport::Tcp { congestion, ackloss } => {
            vec![whole(TcpConfig { own_congestion: own.cloned(), ..with(congestion, ackloss) })]
        }
        Transport::Prtp => {
            vec![whole(TcpConfig {
                reliability: group.reliability,
                reliability_window: group.reliability_window,
                ..with(Algorithm::NewReno, false)
            })]
        }
        Transport::Bbr1 | Transport::Bbr3 => unreachable!("checked: the hosts have the profile \"linux\""),
        Transport::Quic => unreachable!("QUIC has its own settings"),
        Transport::Udp => unreachable!("datagrams have no connection"),
    }
}

/// A connection over E2TCP to a station, from the base station if it is relayed.
fn e2tcp_hop(scenario: &Scenario, group: &FlowGroup, down: bool, is_relayed: bool) -> ConnectionPlan {
    let end = e2tcp_end(scenario, group);
    // The base station receives for somebody else, and so as much as the station's SYN asks for.
    let near = E2tcpConfig {
        read_at_once: down || !is_relayed,
        obeys_peer: is_relayed && scenario.tcp.handshake,
        ..end.clone()
    };
    let end = E2tcpConfig { asks: Some(end.reliability).filter(|asked| *asked < 100), ..end };
    ConnectionPlan::E2tcp { server_side: Box::new(near), station_side: Box::new(end) }
}

/// The settings of either end of a flow's E2TCP.
fn e2tcp_end(scenario: &Scenario, group: &FlowGroup) -> E2tcpConfig {
    let payload = u16::try_from(scenario.tcp.mss()).unwrap_or(u16::MAX);
    let end = scenario.e2tcp.derived(payload, group.reliability);
    E2tcpConfig { reliability_window: group.reliability_window, ..end }
}

/// A connection from end to end.
fn whole(end: TcpConfig) -> ConnectionPlan {
    ConnectionPlan::Tcp { server_side: Box::new(end.clone()), station_side: Box::new(end) }
}
