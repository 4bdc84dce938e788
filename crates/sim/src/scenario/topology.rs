//! The general form of a scenario: nodes, links and cells between them, and flows from node to node.
//!
//! ```toml
//! node = [{ name = "server" }, { name = "access-point" }, { name = "phone" }]
//! link = [{ name = "wire", between = ["server", "access-point"], delay = "10ms", forward = { rate = "16Mbps" }, reverse = { rate = "1Mbps" } }]
//! cell = [{ name = "air", wifi = "fast-wifi", access_point = { node = "access-point" }, station = [{ node = "phone" }] }]
//! flow = [{ from = "server", to = "phone", application = { kind = "bulk", size = "50MB" } }]
//! ```
//!
//! A network is made of this form alone. Names become numbers in [`super::resolve`].

use airwatt_base::settings::{SettingError, Settings};
use airwatt_base::{QueueLimit, Rate, Span, kinds};
use airwatt_energy::HostEnergyConfig;
use airwatt_proto::tunnel::TunnelConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::transport::GatewayConfig;
use super::{AccessPoint, FlowGroup, Names, RadioChoice, Scenario, StationGroup, Wifi, WiredDirection};
use crate::media::errors::ErrorConfig;
use crate::stack::impairment::ImpairmentConfig;

/// The general form of a scenario, without what holds for the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Nodes and groups of nodes.
    pub node: Vec<NodeGroup>,
    /// Links.
    pub link: Vec<Link>,
    /// Cells.
    pub cell: Vec<Cell>,
    /// Flows.
    pub flow: Vec<FlowGroup>,
}

impl Topology {
    /// The general tables of a scenario.
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self {
            node: scenario.node.clone(),
            link: scenario.links().to_vec(),
            cell: scenario.cell.clone(),
            flow: scenario.flow.clone(),
        }
    }
}

/// A node, or a group of like nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    /// Its name. The members of a group are called by it and their numbers: `station0`, `station1`, ...
    pub name: String,
    /// Number of nodes in a group. Default: a single node with the bare name.
    pub count: Option<u32>,
    /// The number of the first member of a group.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first: u32,
    /// Whether it forwards packets of others although it has a single interface. Access points and nodes with several interfaces
    /// always forward.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forward: bool,
    /// Routes that take the place of the ones with fewest hops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<StaticRoute>,
    /// What it runs for packets that arrive at it. Such a packet goes through the list in its order, to the first program that wants it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<ProgramConfig>,
    /// What the host draws beside its radio. Default: it is not accounted for.
    pub host_energy: Option<HostEnergyConfig>,
}

impl NodeGroup {
    /// A single node.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// A route of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticRoute {
    /// The node or group to which packets go.
    pub to: String,
    /// The neighbour to which they are sent.
    pub via: String,
    /// The link or cell by which they leave, if several lead to that neighbour.
    pub over: Option<String>,
}

kinds! {
    /// What a node runs for packets that arrive at it.
    pub enum ProgramConfig by "kind" {
        "gateway" => Gateway(GatewayConfig), "ends TCP connections and continues them over the last hop, for split, e2tcp and e2tcp-base; keeps copies for snoop";
        "impairment" => Impairment(ImpairmentConfig), "delay, loss and reordering of the packets that the node forwards";
        "tunnel" => Tunnel(TunnelProgramConfig), "all packets between the node and stations of its cells or links, in bursts";
    }
}

/// Tunnels between a node and stations. The other end stands at the station, behind the programs that it has itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TunnelProgramConfig {
    /// The stations at the other ends: a name, a group, a range such as `station1..station3`, or a list.
    pub peer: Option<Names>,
    /// The settings at both ends, as `[tunnel]` has them in the short form.
    pub settings: TunnelConfig,
}

impl Settings for TunnelProgramConfig {
    fn check(&self) -> Result<(), SettingError> {
        if self.peer.is_none() {
            return Err(SettingError::missing("peer", "the name of a station at the other end"));
        }
        self.settings.check().map_err(|error| error.under("settings"))
    }
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub kind: LinkKind,
    /// Its two nodes; of a point-to-point link the base station first, the station second.
    pub between: Vec<String>,
    /// Propagation, one way.
    pub delay: Span,
    /// Of a wire: from the first node to the second.
    pub forward: Option<WiredDirection>,
    /// Of a wire: from the second node to the first.
    pub reverse: Option<WiredDirection>,
    /// Of a point-to-point link: rate of each direction, counted over whole packets.
    pub rate: Option<Rate>,
    /// Of a point-to-point link: drop-tail queue before either transmitter; the packet in transmission is not counted. Default:
    /// 1000 packets.
    pub queue: Option<QueueLimit>,
    /// Of a point-to-point link: whether a packet arrives `delay` after its first bit was sent instead of after its last.
    pub cut_through: Option<bool>,
    /// Of a point-to-point link: which packets are damaged. Default: none.
    pub errors: Option<ErrorConfig>,
    /// Of a point-to-point link: the radio profile of the station. Default: `broadcom-4311`.
    #[schemars(with = "Option<String>")]
    pub radio: Option<RadioChoice>,
}

/// Kinds of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Two directions with a rate, a queue and a delay each.
    #[default]
    Wire,
    /// A full-duplex wireless link to one station, whose radio is accounted for.
    PointToPoint,
}

/// An 802.11 cell: an access point with its stations, or an ad-hoc network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// How its members use the air: a name of a shipped set, or a table.
    pub wifi: Wifi,
    /// Its radio channel, by any name. Cells on one channel share it and receive each other. Default: a channel of its own.
    pub channel: Option<String>,
    /// Whether it has an access point.
    #[serde(default)]
    pub mode: CellMode,
    /// The access point.
    pub access_point: Option<AccessPoint>,
    /// Its stations.
    #[serde(default)]
    pub station: Vec<StationGroup>,
    /// Of an ad-hoc cell: the pairs of nodes that send to each other. All members receive each other in any case. Default: all
    /// pairs.
    pub links: Option<Vec<Vec<String>>>,
}

/// Kinds of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellMode {
    /// An access point and its stations (a BSS).
    #[default]
    Infrastructure,
    /// Stations that send to each other (an IBSS), awake all the time and without beacons.
    AdHoc,
}

impl Cell {
    /// The name of its channel.
    pub fn channel(&self) -> Option<&str> {
        self.channel.as_deref().or(self.wifi.channel.as_deref())
    }
}

const fn is_zero(number: &u32) -> bool {
    *number == 0
}

const fn is_false(value: &bool) -> bool {
    !*value
}
