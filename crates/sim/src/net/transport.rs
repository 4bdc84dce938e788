//! From a scenario's transports to the ends of connections.

use airwatt_proto::any_end::AnyEnd;
use airwatt_proto::cc::{Algorithm, OwnCongestionControl};
use airwatt_proto::e2tcp::{self, E2tcpConfig, IpVersion};
use airwatt_proto::gateway::Translated;
use airwatt_proto::quic::{QuicConfig, QuicEnd};
use airwatt_proto::tcp::linux::{KeepAlive, LinuxConfig, LinuxEnd};
use airwatt_proto::tcp::{self, TcpConfig};

use crate::direction::Direction;
use crate::scenario::resolve::{Ends, FlowGateway};
use crate::scenario::{FlowGroup, Scenario, TcpControl};
use crate::stack::transport::SocketTransport;

/// A connection of a flow, by the settings of its endpoints: from the node that listens to the one that opens.
#[derive(Clone, Debug)]
pub enum ConnectionPlan {
    /// TCP or E2TCP from end to end.
    Whole(LegPlan),
    /// Two connections that a gateway joins.
    Relayed([LegPlan; 2]),
    /// TCP of hosts with Linux, with equal settings but for keep-alives.
    Linux {
        /// The settings of both.
        config: Box<LinuxConfig>,
        /// The keep-alives of the endpoint on the server's side, and of the one on the station's.
        keep_alive: [Option<KeepAlive>; 2],
    },
    /// QUIC, with equal settings.
    Quic(Box<QuicConfig>),
}

/// A connection that a gateway can relay, by the settings of its endpoints.
#[derive(Clone, Debug)]
pub enum LegPlan {
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
    },
    /// E2TCP's rules at the server's side, TCP at the station's.
    Translated {
        /// The endpoint on the server's side.
        server_side: Box<E2tcpConfig>,
        /// The endpoint on the station's side.
        station_side: Box<TcpConfig>,
    },
}

/// The transports of a connection: at its server, at its client, and the two legs of a gateway if it has one.
pub(super) struct Endpoints {
    pub(super) server: SocketTransport,
    pub(super) client: SocketTransport,
    pub(super) relay: Option<[AnyEnd; 2]>,
}

impl ConnectionPlan {
    /// The congestion control from outside that its senders use, if there is one.
    pub fn own_congestion(&self) -> Option<&OwnCongestionControl> {
        match self {
            Self::Whole(LegPlan::Tcp { server_side, .. }) => server_side.own_congestion.as_ref(),
            _ => None,
        }
    }

    /// Its endpoints: closed before a handshake, otherwise established. What they do at random follows from `seed`.
    pub(super) fn endpoints(&self, handshake: bool, seed: u64) -> Endpoints {
        let whole = |server, client| Endpoints { server, client, relay: None };
        match self {
            Self::Whole(leg) => {
                let (server, client) = leg.ends(handshake);
                whole(server.into(), client.into())
            }
            Self::Relayed(legs) => {
                let [(server, wired), (wireless, client)] = legs.each_ref().map(|leg| leg.ends(handshake));
                Endpoints { server: server.into(), client: client.into(), relay: Some([wired, wireless]) }
            }
            Self::Linux { config, keep_alive: [server, station] } => {
                let end = |seed, keep_alive| {
                    let config = LinuxConfig { seed, keep_alive, ..(**config).clone() };
                    SocketTransport::Linux(Box::new(LinuxEnd::new(config)))
                };
                whole(end(seed, *server), end(!seed, *station))
            }
            Self::Quic(config) => {
                let end = |seed| SocketTransport::Quic(Box::new(QuicEnd::new(config, seed)));
                whole(end(seed), end(!seed))
            }
        }
    }
}

impl LegPlan {
    /// The endpoint on the server's side and the one on the station's.
    fn ends(&self, handshake: bool) -> (AnyEnd, AnyEnd) {
        match self {
            Self::Tcp { server_side, station_side } => {
                let end = |own: &TcpConfig, peer: &TcpConfig| {
                    AnyEnd::Tcp(Box::new(if handshake {
                        tcp::Connection::new(own.clone())
                    } else {
                        tcp::Connection::established(own.clone(), peer)
                    }))
                };
                (end(server_side, station_side), end(station_side, server_side))
            }
            Self::E2tcp { server_side, station_side } => {
                let end = |own: &E2tcpConfig, peer: &E2tcpConfig| {
                    AnyEnd::E2tcp(Box::new(if handshake {
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
                (AnyEnd::Translated(Box::new(base)), AnyEnd::Tcp(Box::new(station)))
            }
        }
    }
}

/// The connection of a flow of `group` with these ends.
pub(super) fn connection(
    scenario: &Scenario,
    group: &FlowGroup,
    own: Option<&OwnCongestionControl>,
    data: Direction,
    ends: Ends,
) -> ConnectionPlan {
    let with = |TcpControl { congestion, ackloss }| TcpConfig {
        congestion,
        ackloss: ackloss.then_some(scenario.ackloss),
        ..scenario.tcp.config()
    };
    // Where the base station reads, data wait until there is room for them on the other side.
    let down = data == Direction::Down;
    let relay = |gateway: FlowGateway, reads: bool| {
        Box::new(TcpConfig { read_at_once: !reads, ..with(gateway.control) })
    };
    let to_server = |gateway: FlowGateway| LegPlan::Tcp {
        server_side: Box::new(with(gateway.control)),
        station_side: relay(gateway, down),
    };
    match ends {
        Ends::Quic => ConnectionPlan::Quic(Box::new(scenario.quic.clone())),
        Ends::Linux { control, sack, ackloss } => {
            let ackloss = ackloss.then_some(scenario.ackloss);
            ConnectionPlan::Linux {
                config: Box::new(LinuxConfig { ackloss, ..scenario.tcp.linux(control, sack) }),
                keep_alive: [false, true].map(|is_client| scenario.tcp.keep_alive_of(is_client)),
            }
        }
        Ends::Split(gateway) => {
            let to_station = LegPlan::Tcp {
                server_side: relay(gateway, !down),
                station_side: Box::new(with(gateway.control)),
            };
            ConnectionPlan::Relayed([to_server(gateway), to_station])
        }
        Ends::E2tcp(Some(gateway)) => {
            ConnectionPlan::Relayed([to_server(gateway), e2tcp_hop(scenario, group, down, true)])
        }
        Ends::E2tcp(None) => ConnectionPlan::Whole(e2tcp_hop(scenario, group, down, false)),
        Ends::E2tcpBase(gateway) => {
            let near = E2tcpConfig { read_at_once: down, ..e2tcp_end(scenario, group) };
            let control = TcpControl { congestion: Algorithm::Sack, ackloss: false };
            let station_side = Box::new(with(control));
            let hop = LegPlan::Translated { server_side: Box::new(near), station_side };
            ConnectionPlan::Relayed([to_server(gateway), hop])
        }
        Ends::Snoop(gateway) => whole(with(gateway.control)),
        Ends::Tcp(control) => whole(TcpConfig { own_congestion: own.cloned(), ..with(control) }),
        Ends::Prtp => whole(TcpConfig {
            reliability: group.reliability,
            reliability_window: group.reliability_window,
            ..with(TcpControl { congestion: Algorithm::NewReno, ackloss: false })
        }),
    }
}

/// A connection over E2TCP to a station, from the base station if it is relayed.
fn e2tcp_hop(scenario: &Scenario, group: &FlowGroup, down: bool, is_relayed: bool) -> LegPlan {
    let end = e2tcp_end(scenario, group);
    // The base station receives for somebody else, and so as much as the station's SYN asks for.
    let near = E2tcpConfig {
        read_at_once: down || !is_relayed,
        obeys_peer: is_relayed && scenario.tcp.handshake,
        ..end.clone()
    };
    let end = E2tcpConfig { asks: Some(end.reliability).filter(|asked| *asked < 100), ..end };
    LegPlan::E2tcp { server_side: Box::new(near), station_side: Box::new(end) }
}

/// The settings of either end of a flow's E2TCP.
fn e2tcp_end(scenario: &Scenario, group: &FlowGroup) -> E2tcpConfig {
    let payload = u16::try_from(scenario.tcp.mss()).unwrap_or(u16::MAX);
    let end = scenario.e2tcp.derived(payload, group.reliability);
    E2tcpConfig { reliability_window: group.reliability_window, ..end }
}

/// A connection from end to end.
fn whole(end: TcpConfig) -> ConnectionPlan {
    ConnectionPlan::Whole(LegPlan::Tcp { server_side: Box::new(end.clone()), station_side: Box::new(end) })
}
