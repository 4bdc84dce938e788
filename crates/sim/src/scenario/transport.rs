//! The transports of a scenario, and the gateway where their connections meet.

use airwatt_base::settings::{SettingError, Settings, in_range, one_of};
use airwatt_base::{Size, with_defaults};
use airwatt_proto::cc::Algorithm;
use airwatt_proto::tcp::linux::Control;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Transport {
    /// TCP from end to end.
    Tcp(TcpControl),
    /// TCP from end to end with BBR version 1, on hosts with Linux.
    Bbr1,
    /// TCP from end to end with BBR version 3, on hosts with Linux.
    Bbr3,
    /// TCP whose receiver can do without a share of the data.
    Prtp,
    /// Two TCP connections that meet at the base station.
    Split,
    /// TCP from end to end, with a Snoop agent at the base station.
    Snoop,
    /// The energy-efficient TCP for the hop, behind a gateway where there is a wire.
    E2tcp,
    /// E2TCP's rules at the base station alone, with TCP at the station.
    E2tcpBase,
    /// QUIC from end to end.
    Quic,
    /// Datagrams without any control.
    Udp,
}

/// The congestion control of a TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Transport", try_from = "Transport")]
pub struct TcpControl {
    /// The algorithm.
    pub congestion: Algorithm,
    /// Whether lost acknowledgements halve its window.
    pub ackloss: bool,
}

impl From<TcpControl> for Transport {
    fn from(control: TcpControl) -> Self {
        Self::Tcp(control)
    }
}

impl TryFrom<Transport> for TcpControl {
    type Error = String;

    fn try_from(transport: Transport) -> Result<Self, String> {
        match transport {
            Transport::Tcp(control) => Ok(control),
            other => Err(format!("expected a TCP from end to end, got {:?}", other.name())),
        }
    }
}

impl Default for Transport {
    fn default() -> Self {
        Self::Tcp(TcpControl::default())
    }
}

impl Transport {
    /// What it is under the profile `linux`, and over the kernel's sockets: the congestion control, and whether there are
    /// selective acknowledgements. `None` if Linux does not have it.
    pub(crate) const fn on_linux(self) -> Option<(Control, bool)> {
        match self {
            Self::Tcp(TcpControl { congestion, .. }) => match congestion {
                Algorithm::Reno | Algorithm::NewReno => Some((Control::Reno, false)),
                Algorithm::Sack => Some((Control::Reno, true)),
                Algorithm::Cubic => Some((Control::Cubic, true)),
                _ => None,
            },
            Self::Bbr1 => Some((Control::Bbr1, true)),
            Self::Bbr3 => Some((Control::Bbr3, true)),
            _ => None,
        }
    }

    /// Whether it is one reliable connection from end to end, which carries requests and answers.
    pub(crate) const fn is_connection(self) -> bool {
        matches!(self, Self::Tcp(_) | Self::Bbr1 | Self::Bbr3 | Self::Quic)
    }

    /// Transports that are no congestion control of the RFCs, with names and a line each.
    const OTHERS: [(Self, &'static str, &'static str); 9] = [
        (Self::Bbr1, "bbr1", "TCP with BBR version 1 on hosts with tcp.profile \"linux\""),
        (Self::Bbr3, "bbr3", "TCP with BBR version 3 on hosts with tcp.profile \"linux\""),
        (Self::Prtp, "prtp", "NewReno whose receiver acknowledges past gaps down to its reliability (PRTP)"),
        (Self::Split, "split", "TCP to the base station, and TCP of its own from there (I-TCP)"),
        (Self::Snoop, "snoop", "TCP from end to end; the base station retransmits over the last hop (Snoop)"),
        (Self::E2tcp, "e2tcp", "E2TCP over the last hop, behind a gateway where a wire comes before it"),
        (
            Self::E2tcpBase,
            "e2tcp-base",
            "as e2tcp, but the station has TCP with SACK: only the base station is changed",
        ),
        (
            Self::Quic,
            "quic",
            "QUIC version 1 from end to end, each write a stream of its own (RFC 9000, 9002)",
        ),
        (Self::Udp, "udp", "datagrams without any control"),
    ];

    /// Every transport, in the order in which lists show them.
    pub fn all() -> impl Iterator<Item = Self> {
        let tcp = |ackloss| {
            Algorithm::ALL
                .iter()
                .map(move |congestion| Self::Tcp(TcpControl { congestion: *congestion, ackloss }))
        };
        tcp(false).chain(tcp(true)).chain(Self::OTHERS.map(|(transport, ..)| transport))
    }

    fn other(self) -> (&'static str, &'static str) {
        let found = Self::OTHERS.iter().find(|(transport, ..)| *transport == self);
        found.map_or(("", ""), |(_, name, description)| (name, description))
    }

    /// The name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp(TcpControl { congestion, ackloss: false }) => congestion.name(),
            Self::Tcp(TcpControl { congestion, ackloss: true }) => congestion.name_with_ackloss(),
            other => other.other().0,
        }
    }

    /// One line that says what it is.
    pub fn description(self) -> &'static str {
        match self {
            Self::Tcp(TcpControl { congestion, ackloss: false }) => congestion.description(),
            Self::Tcp(TcpControl { ackloss: true, .. }) => "the same, and lost ACKs halve its window",
            other => other.other().1,
        }
    }

    /// Whether it uses a gateway that its packets pass.
    pub(crate) const fn uses_gateway(self) -> bool {
        matches!(self, Self::Split | Self::Snoop | Self::E2tcp | Self::E2tcpBase)
    }

    /// Whether it cannot do without a gateway.
    pub(crate) const fn needs_gateway(self) -> bool {
        matches!(self, Self::Split | Self::Snoop | Self::E2tcpBase)
    }

    /// Whether E2TCP's rules hold at one of its ends.
    pub(crate) const fn has_e2tcp(self) -> bool {
        matches!(self, Self::E2tcp | Self::E2tcpBase)
    }

    /// Whether its receiver can do without a share of the data.
    pub(crate) const fn is_partial(self) -> bool {
        matches!(self, Self::Prtp | Self::E2tcp)
    }
}

impl From<Transport> for String {
    fn from(transport: Transport) -> Self {
        transport.name().to_owned()
    }
}

impl TryFrom<String> for Transport {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name, "")
    }
}

impl Transport {
    /// The one of this name. `others` is what the error says that is accepted beside their names.
    pub(super) fn named(name: &str, others: &str) -> Result<Self, String> {
        Self::all().find(|known| known.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            format!("expected {}{others}, got {name:?}", one_of(&names))
        })
    }
}

impl JsonSchema for Transport {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Self::all().map(Self::name).collect();
        schemars::json_schema!({
            "description": "Transport protocols.",
            "type": "string",
            "enum": names,
        })
    }
}

with_defaults! {
    /// The gateway at the access point: where connections of `split`, `e2tcp` and `e2tcp-base` meet, and the agent of `snoop`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    #[schemars(rename = "Gateway")]
    pub struct GatewayConfig {
        /// TCP between server and gateway, on the last hop of `split`, and from end to end with `snoop`: a name that `airwatt
        /// transports` lists.
        #[schemars(with = "Transport")]
        pub transport: TcpControl = TcpControl::default(),
        /// Data that it holds for each connection at most, beside what it has not read yet; with `snoop`, copies that it keeps.
        pub buffer: Size = Size::from_bytes(65_536),
        /// The cell or point-to-point link for which it is: flows that leave its node over another one have end-to-end connections.
        /// Default: any.
        pub cell: Option<String> = None,
    }
}

impl Settings for GatewayConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("buffer", self.buffer, Size::from_bytes(1_500), Size::from_bytes(1 << 30))
    }
}
