//! What carries a flow: a transport and an application that go together, with the hosts, and with the path.

use airwatt_base::Size;
use airwatt_base::settings::{SettingError, in_range};
use airwatt_proto::tcp::TcpProfile;
use airwatt_proto::tcp::linux::Control;

use super::Resolving;
use crate::route::NodeId;
use crate::scenario::{FlowGroup, Scenario, TcpControl, Transport};
use crate::stack::application::{Answers, Content, Pattern, SourceConfig};

/// What carries the data of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carrier {
    /// As many datagrams as the air carries.
    Saturation,
    /// Datagrams, and what answers them.
    Datagrams(SourceConfig, Option<Answers>),
    /// Connections.
    Connections(Content, Ends),
}

/// The ends of a flow's connections, with the gateway between them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    /// TCP from end to end.
    Tcp(TcpControl),
    /// TCP from end to end between hosts with Linux.
    Linux {
        /// Its congestion control.
        control: Control,
        /// Whether it has selective acknowledgements.
        sack: bool,
        /// Whether lost acknowledgements halve its window.
        ackloss: bool,
    },
    /// TCP whose receiver can do without a share of the data.
    Prtp,
    /// QUIC from end to end.
    Quic,
    /// Two TCP connections.
    Split(FlowGateway),
    /// TCP from end to end, with a Snoop agent.
    Snoop(FlowGateway),
    /// E2TCP from end to end, or behind a gateway.
    E2tcp(Option<FlowGateway>),
    /// E2TCP's rules at the gateway alone.
    E2tcpBase(FlowGateway),
}

/// A gateway that a flow uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowGateway {
    /// Its node.
    pub(crate) node: NodeId,
    /// Its place among the programs of that node.
    pub(crate) place: usize,
    /// The congestion control of its TCP.
    pub(crate) control: TcpControl,
    /// The most that it holds for each connection, in bytes.
    pub(crate) buffer: u64,
}

impl Carrier {
    /// What carries the flows of a group over a path with this gateway.
    pub(super) fn new(
        scenario: &Scenario,
        group: &FlowGroup,
        gateway: Option<FlowGateway>,
    ) -> Resolving<Self> {
        let transport = group.transport.like();
        let conflict = |key: &str, with: String, why: &str| Err(SettingError::conflict(key, with, why));
        let not_with =
            |why: &str| conflict("transport", format!("application {:?}", group.application.name()), why);
        let over_udp = "transport \"udp\"".to_owned();
        let content = match (group.application.pattern(), transport) {
            (Pattern::Saturation, Transport::Udp) => return Ok(Self::Saturation),
            (Pattern::Saturation, _) => {
                let with = format!("transport {:?}", group.transport.name());
                return conflict("application.kind", with, "\"saturated\" needs transport \"udp\"");
            }
            (Pattern::Source(source), Transport::Udp) => {
                check_datagrams(scenario, group)?;
                return Ok(Self::Datagrams(source, None));
            }
            (Pattern::Dialogue(dialogue), Transport::Udp) => {
                let Some((source, answers)) = dialogue.datagrams() else { return not_with(NEED_CONNECTION) };
                if dialogue.opener().is_some() {
                    return conflict("application.fresh", over_udp, "datagrams have no connections");
                }
                check_datagrams(scenario, group)?;
                return Ok(Self::Datagrams(source, Some(answers)));
            }
            (Pattern::Dialogue(_), transport) if !transport.is_connection() => {
                return not_with(NEED_CONNECTION);
            }
            (Pattern::Dialogue(dialogue), Transport::Quic) if dialogue.is_http_1() => {
                let why = "over QUIC it is HTTP/3; leave it out";
                return conflict("application.http", "transport \"quic\"".to_owned(), why);
            }
            (Pattern::Source(source), _) => Content::Source(source),
            (Pattern::Dialogue(dialogue), _) => Content::Dialogue(dialogue),
        };
        Ok(Self::Connections(content, Ends::new(scenario, group, gateway)?))
    }

    /// The gateway at which connections meet.
    pub(crate) const fn gateway(&self) -> Option<FlowGateway> {
        match *self {
            Self::Connections(_, Ends::Split(gateway) | Ends::Snoop(gateway) | Ends::E2tcpBase(gateway)) => {
                Some(gateway)
            }
            Self::Connections(_, Ends::E2tcp(gateway)) => gateway,
            _ => None,
        }
    }
}

const NEED_CONNECTION: &str = "requests need a TCP or QUIC from end to end";

/// Datagrams have a length, which fits into a packet.
fn check_datagrams(scenario: &Scenario, group: &FlowGroup) -> Resolving<()> {
    let Some(packet) = group.application.packet() else {
        let with = format!("application {:?}", group.application.name());
        let why = "\"udp\" carries packets of a length, as \"cbr\" and \"periodic\" have";
        return Err(SettingError::conflict("transport", with, why));
    };
    let room = scenario.tcp.mtu.as_bytes() - scenario.tcp.header.as_bytes();
    in_range("application.packet", packet, Size::from_bytes(1), Size::from_bytes(room))
}

impl Ends {
    fn new(scenario: &Scenario, group: &FlowGroup, gateway: Option<FlowGateway>) -> Resolving<Self> {
        let transport = group.transport.like();
        let conflict = |with: &str, why: &str| SettingError::conflict("transport", with, why);
        let needed = || {
            let why = format!("{:?} needs a gateway between its ends: node.program", transport.name());
            gateway.ok_or_else(|| conflict("this path", &why))
        };
        Ok(match transport {
            Transport::Quic => Self::Quic,
            _ if scenario.tcp.profile == Some(TcpProfile::Linux) => return Self::on_linux(group),
            Transport::Bbr1 | Transport::Bbr3 => {
                let why = "only hosts with tcp.profile \"linux\" have it";
                return Err(conflict("the TCP of the RFCs", why));
            }
            Transport::Tcp(control) => Self::Tcp(control),
            Transport::Prtp => Self::Prtp,
            Transport::Split => Self::Split(needed()?),
            Transport::Snoop => Self::Snoop(needed()?),
            Transport::E2tcp => Self::E2tcp(gateway),
            Transport::E2tcpBase => Self::E2tcpBase(needed()?),
            Transport::Udp => return Err(conflict("connections", "datagrams have none")),
        })
    }

    /// Hosts with Linux have some transports alone.
    fn on_linux(group: &FlowGroup) -> Resolving<Self> {
        let conflict = |why: &str| Err(SettingError::conflict("transport", "tcp.profile \"linux\"", why));
        let transport = group.transport.like();
        if group.transport.is_own() {
            return conflict(
                "a congestion control of your own runs on the TCP of the RFCs; take \"linux-settings\"",
            );
        }
        let Some((control, sack)) = transport.on_linux() else {
            return conflict(&format!(
                "its hosts have \"reno\", \"newreno\" (which is the same), \"sack\" and \"cubic\", each also with \"+ackloss\", \"bbr1\" and \"bbr3\"; the profile \"linux-settings\" has {:?}, too",
                transport.name()
            ));
        };
        let ackloss = matches!(transport, Transport::Tcp(TcpControl { ackloss: true, .. }));
        Ok(Self::Linux { control, sack, ackloss })
    }
}
