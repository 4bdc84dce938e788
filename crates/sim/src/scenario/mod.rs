//! What is simulated: one type, from which the TOML form, the JSON schema and the error texts come.
//!
//! A scenario has two forms. The **short form** describes the usual path: a server, a wire, an access point or a point-to-point
//! link, and stations. The **general form** (`topology`) names nodes, links, cells and the ends of flows. `short` expands the
//! first into the second, which is the only one that a network is made of; tables of the general form in a short file are
//! appended to its expansion. `resolve` turns names into numbers and finds the routes.
//!
//! A scenario is a file, or one that ships, with keys changed on the way (`--set`). [`load`](Scenario::load) reads,
//! merges, types and checks it; what it returns can run. Every error is one line that names the file and line or the
//! flag, the key, the value and what is allowed.

mod check;
mod choice;
mod effect;
mod general;
mod keys;
mod link;
mod listen_interval;
mod load;
mod lower_bound;
pub(crate) mod modes;
mod names;
mod own;
mod packet_limit;
mod radio;
pub(crate) mod resolve;
mod shipped;
pub(crate) mod short;
pub(crate) mod topology;
mod transport;
mod typed;
mod valid;
mod wake_schedule;

use airwatt_base::{Distance, Power, QueueLimit, Rate, Size, Span, with_defaults};
use airwatt_proto::cc::AckLossConfig;
use airwatt_proto::e2tcp::E2tcpConfig;
use airwatt_proto::powersave::{Observable, PowerSaveConfig, ScanConfig, StationPolicy, WakeLimits};
use airwatt_proto::quic::QuicConfig;
use airwatt_proto::tcp::TcpSettings;
use airwatt_proto::tunnel::TunnelConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::names::Names;
pub use choice::{Mechanism, Own, OwnChoice, OwnKind, OwnMechanism, PolicyChoice, TransportChoice};
pub use keys::without_numbers;
pub use link::Links;
pub use listen_interval::ListenInterval;
pub use load::ScenarioError;
pub use lower_bound::{IDEAL, list_ideal, policy_kinds};
pub use own::Ready;
pub use packet_limit::PacketLimit;
pub use radio::RadioChoice;
pub use shipped::{Shipped, shipped, shipped_text};
pub use topology::{
    Cell, CellMode, Link, LinkKind, NodeGroup, ProgramConfig, StaticRoute, Topology, TunnelProgramConfig,
};
pub use transport::{GatewayConfig, TcpControl, Transport};
pub use valid::Checked;
pub use wake_schedule::WakeSchedule;

pub use crate::direction::Direction;
pub use crate::media::PointToPointConfig;
use crate::media::cell::access::category::CategoryParameters;
pub use crate::media::cell::access::contention::AccessMethod;
pub use crate::media::cell::{
    Aggregation, ErrorModel, GroupTraffic, MsduLifetime, QueueDiscipline, RateControl, WaitsFrom,
};
use crate::media::{LinkDiscipline, large_queue};
pub use crate::packet::GroupKind;
use crate::stack::application::Pattern;
pub use crate::stack::application::{
    ApplicationConfig, BulkConfig, CbrConfig, InteractiveConfig, RequestResponseConfig, StreamingConfig,
    WebConfig,
};
use crate::stack::role::Role;

use airwatt_dot11::{Standard, TxVector};

/// One experiment: nodes, the links and 802.11 cells between them, and the flows that they carry.
///
/// In the short form: a wired path, a cell or a point-to-point link, stations and their flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the result document calls it; the file's name without ending where it is not given.
    #[serde(default)]
    pub name: String,
    /// One line for `airwatt scenarios`.
    #[serde(default)]
    pub description: String,
    /// Where the values come from.
    #[serde(default)]
    pub source: String,
    /// Stop after this time. Without it the run ends when every flow with a size is complete.
    pub duration: Option<Span>,
    /// A run without `duration` that is not complete by then has failed.
    #[serde(default = "default_time_limit")]
    pub time_limit: Span,
    /// From when on throughputs and fairness are measured: `measured_bps` of each flow and of a run, which tables, comparisons and
    /// reports show. Default: a flow's throughput from its start.
    pub measure_from: Option<Span>,
    /// Whether the result has percentiles of the time of data packets from host to host, beside its mean.
    pub latency_percentiles: Option<bool>,
    /// Windows of the sliding-window method, which averages each fairness index over the positions of a window: whole
    /// multiples of 100 ms.
    #[serde(default)]
    pub fairness_windows: Vec<Span>,
    /// What the flows could have together, for the fairness indices. Default: from the wire's and the air's rates.
    pub fairness_capacity: Option<Rate>,
    /// The path between the server and the base station, which all flows share that have none of their own. Without it
    /// the server is at the base station.
    pub wired: Option<Wired>,
    /// The 802.11 air. A name of a shipped set (`wifi = "fast-wifi"`) or a table, which may begin from one
    /// (`base = "fast-wifi"`).
    pub wifi: Option<Wifi>,
    /// Short form: a point-to-point wireless link to the one station, instead of `wifi`. General form: the links between nodes,
    /// as `[[link]]`.
    pub link: Option<Links>,
    /// The access point.
    #[serde(default)]
    pub ap: AccessPoint,
    /// TCP at both ends of each flow.
    #[serde(default)]
    pub tcp: TcpSettings,
    /// How senders with `+ackloss` detect lost acknowledgements.
    #[serde(default)]
    pub ackloss: AckLossConfig,
    /// E2TCP at both ends of its flows. A packet carries `tcp.mtu` less `tcp.header` bytes.
    #[serde(default)]
    pub e2tcp: E2tcpConfig,
    /// QUIC at both ends of its flows.
    #[serde(default)]
    pub quic: QuicConfig,
    /// The gateway at the access point, for `split`, `snoop`, `e2tcp` and `e2tcp-base`.
    #[serde(default)]
    pub gateway: GatewayConfig,
    /// A tunnel between the access point and each station: all packets between them pass through it, in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<TunnelConfig>,
    /// Stations, one table a group of like ones; numbered from 0 in order.
    #[serde(default = "one_station")]
    pub station: Vec<StationGroup>,
    /// General form: nodes, and groups of like ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<NodeGroup>,
    /// General form: 802.11 cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cell: Vec<Cell>,
    /// Flows, one table a group.
    #[serde(default)]
    pub flow: Vec<FlowGroup>,
    /// What hosts run in an emulation, one table a host; a simulation has no use for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostCommands>,
}

/// The commands of one host of an emulation, each as the shell reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCommands {
    /// `server`, or `station0` and so on.
    pub name: String,
    /// Run until the emulation ends, as servers do.
    #[serde(default)]
    pub serve: Vec<String>,
    /// Start when the servers listen; the emulation ends when all of them have ended.
    #[serde(default)]
    pub run: Vec<String>,
}

/// A wired path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wired {
    /// Round-trip time between server and access point without queueing and transmission; half of it each way.
    pub rtt: Span,
    /// Towards the stations.
    pub down: WiredDirection,
    /// Towards the server.
    pub up: WiredDirection,
}

/// One direction of the wired path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WiredDirection {
    /// Rate of the slowest link, counted over IP packets.
    pub rate: Rate,
    /// Queue before that link; the packet in transmission is not counted.
    #[serde(default = "large_queue")]
    pub queue: QueueLimit,
    /// How packets wait in it: `drop-tail`, the default, `fq-codel` (RFC 8290), `fq` (flows take turns), `cake` (hosts and flows do), or
    /// `cake-ack-filter`, which drops acknowledgements that two newer ones cover.
    pub discipline: Option<LinkDiscipline>,
    /// Traffic of others over that link, which never comes to the air.
    pub cross: Option<Cross>,
    /// Mean of a random delay of each packet beside the fixed one, exponentially distributed; packets keep their order.
    pub jitter: Option<Span>,
}

/// Packets of others at a constant rate over a wired link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cross {
    /// Their rate, at most the link's.
    pub rate: Rate,
    /// Length of each IP packet.
    #[serde(default = "thousand_bytes")]
    pub packet: Size,
}

/// How stations and access point use the air.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wifi {
    /// The PHY, which gives slot, SIFS and frame times.
    pub standard: Standard,
    /// Rate of data frames: of 802.11b, a and g, and of 802.11n in a channel of 20 MHz with the long guard interval. Required without
    /// `mode`, and without effect beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_rate: Option<Rate>,
    /// How data frames are sent, of 802.11n, ac and ax: format and width, MCS, streams (`x1` goes without saying; HT has them in its MCS)
    /// and guard interval (0.8 us goes without saying), as in `HE80 MCS 11 x2 GI 0.8us`. It replaces `data_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TxVector>,
    /// How the mode of data is chosen: `fixed`, it is `mode` or `data_rate`; `minstrel-ht`, among all modes of the format
    /// up to it in streams, width and MCS, by the algorithm of Linux, for each link by itself. With HE the algorithm is an
    /// assumption: there Linux leaves rates to firmware. Default: `fixed`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rate_control: RateControl,
    /// Rate of RTS, CTS and ACK. Default: the highest mandatory rate that is not above `data_rate`, or above the rate of 802.11a with the
    /// same modulation as `mode`.
    pub control_rate: Option<Rate>,
    /// Rate of beacons. Default: 1 Mbit/s at 2.4 GHz, as access points come, and 6 Mbit/s at 5 GHz.
    pub beacon_rate: Option<Rate>,
    /// Rate of group-addressed frames. Default: that of beacons.
    pub group_rate: Option<Rate>,
    /// Whether frames at 2, 5.5 and 11 Mbit/s have the short preamble of 96 us instead of 192 us. Frames at 1 Mbit/s never have.
    #[serde(default)]
    pub short_preamble: bool,
    /// How backoff slots are counted: `dcf` when they have passed idle, `edca` at their beginning.
    #[serde(default)]
    pub access: AccessMethod,
    /// Four access categories by the code points of packets (`flow.dscp`), each with a queue for each receiver and parameters of its own:
    /// `standard` has the defaults of 802.11-2020 table 9-155, `linux` those of hostapd for stations and for access points. They take the
    /// place of `aifsn`, `cw_min`, `cw_max` and `ap.priority`. Default: all data has one category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<CategoryParameters>,
    /// Slots of the arbitration inter-frame space; 2 makes it DIFS. (802.11-2020 table 9-155: best effort 3.)
    #[serde(default = "difs")]
    pub aifsn: u32,
    /// Smallest contention window, a power of two less one. Default: the PHY's.
    pub cw_min: Option<u32>,
    /// Largest contention window. Default: the PHY's.
    pub cw_max: Option<u32>,
    /// How long one access may last; `0ms` for one frame exchange.
    #[serde(default)]
    pub txop: Span,
    /// Retransmissions of a frame before it is given up.
    #[serde(default = "seven")]
    pub retry_limit: u32,
    /// Stations send RTS before MPDUs longer than this; default never.
    pub station_rts_threshold: Option<Size>,
    /// The access point sends RTS before MPDUs longer than this; default never.
    pub ap_rts_threshold: Option<Size>,
    /// Stations and access point send RTS before data that takes longer than this with its response: what 802.11ax announces as the TXOP
    /// Duration RTS Threshold of HE Operation, here with every standard. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txop_duration_rts_threshold: Option<Span>,
    /// Stations and access point send RTS before data after so many attempts at it in a row without a response, as Linux's rate control
    /// does behind the first rate of its chain. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_after_failures: Option<u32>,
    /// How long a packet waits in a transmission queue before it is discarded. Time in the power-save buffer and in the queues of flows and
    /// stations (`ap.queue`) does not count. Default: for ever, as in Linux; the standard and ns-3 have 500 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msdu_lifetime: Option<MsduLifetime>,
    /// Probability that one attempt at a frame fails for noise, 0 to below 1. Beacons and group-addressed frames, which nobody repeats, arrive.
    #[serde(default)]
    pub frame_error_rate: f64,
    /// Probability that the response to a frame fails for noise, 0 to below 1: the frame has arrived, and is sent again. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub response_error_rate: f64,
    /// Frames that one access sends together and one block acknowledgement answers (A-MPDUs), with 802.11n, ac and ax. Default: one frame
    /// an exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// What a data MPDU adds to an IP packet: QoS MAC header 26, LLC and SNAP 8, FCS 4 bytes.
    #[serde(default = "qos_overhead")]
    pub mac_overhead: Size,
    /// Signals that weaken over the distance. Default: every signal is strong enough, and of frames at once none is heard.
    pub path_loss: Option<PathLoss>,
    /// The radio channel, by any name. Cells on one channel share it and receive each other; a cell without a channel has one of
    /// its own.
    pub channel: Option<String>,
}

with_defaults! {
    /// Signals that weaken over the distance: frame errors, and capture.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct PathLoss {
        /// Transmission power of access point and stations.
        // 16 dBm: the limit of many 802.11a cards at 54 Mbit/s.
        pub tx_power: Power = Power::from_nanowatts(40_000_000),
        /// Exponent of the loss over distance. Default: ITU-R P.1238 for offices, 3.1 at 5 GHz and 3.0 at 2.4 GHz.
        pub exponent: Option<f64> = None,
        /// The access point hears one of several frames at once if it is so many decibels stronger than the others together.
        pub capture_db: f64 = 10.0,
        /// How errors follow from the signal: `sensitivity`, a tenth of the frames of 1000 bytes fails at what the standard
        /// demands of a receiver; by the signal-to-noise ratio, `nist`, a model of decoders, or `table`, a simulated receiver.
        /// The latter two are those of ns-3; 802.11b has `sensitivity` with each. Default: `sensitivity`.
        #[serde(skip_serializing_if = "is_zero")]
        pub errors: ErrorModel = ErrorModel::default(),
        /// What a receiver adds to thermal noise, in decibels, with `nist` and `table`. Default: 7.
        #[serde(skip_serializing_if = "is_usual_noise_figure")]
        pub noise_figure_db: f64 = USUAL_NOISE_FIGURE_DB,
        /// Standard deviation in decibels of what walls and furniture add to the loss of each station or take from it, normal
        /// and constant for a run. Default: 0.
        #[serde(skip_serializing_if = "is_zero")]
        pub shadowing_db: f64 = 0.0,
    }
}

/// That of ns-3.
const USUAL_NOISE_FIGURE_DB: f64 = 7.0;

fn is_usual_noise_figure(value: &f64) -> bool {
    *value == USUAL_NOISE_FIGURE_DB
}

with_defaults! {
    /// The access point.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct AccessPoint {
        /// Packets in the transmission queue, which all stations share, and as many in that of group-addressed packets.
        #[schemars(with = "QueueLimit")]
        pub buffer: PacketLimit = PacketLimit(1_000),
        /// How the transmission queue is served: `drop-tail` first come, first served, `two-queues` TCP's acknowledgements and all else take
        /// turns, each with half of `buffer` (Ha and Choi 2006), `fq-codel` flows take turns (RFC 8290), `mac80211` as in Linux FQ-CoDel for
        /// each station, turns of stations by air time and a limit in air time (AQL), `ath9k` the same with two PPDUs ahead instead of that
        /// limit. `buffer` bounds each.
        pub queue: QueueDiscipline = QueueDiscipline::DropTail,
        /// How long packets may wait before CoDel drops some. Default: 5 ms in `fq-codel` (RFC 8290), 20 ms in the queues of mac80211.
        pub codel_target: Option<Span> = None,
        /// For how long they may wait longer than that. Default 100 ms.
        pub codel_interval: Option<Span> = None,
        /// From when on they wait: from the `release` of a packet by power save, the default, or from its `arrival`, as in Linux, where packets of a dozing
        /// station are in the same queue.
        pub codel_since: Option<WaitsFrom> = None,
        /// Whether the access point's data goes ahead of the stations': after PIFS, without backoff.
        pub priority: bool = false,
        /// Drop-tail power-save buffer of each station. Default: as `buffer`.
        #[schemars(with = "Option<QueueLimit>")]
        pub power_save_buffer: Option<PacketLimit> = None,
        /// Whether frames wait in the power-save buffer until the transmission queue has room for them. Default: no, a released frame
        /// that finds the queue full is dropped.
        pub wait_for_room: bool = false,
        /// Time between beacons. Real access points have whole time units of 1.024 ms, 100 as a rule. Another interval, as publications
        /// have, is declared by a vendor-specific element in the beacons of a capture, since their field would round it.
        pub beacon_interval: Span = Span::from_micros(102_400),
        /// Length of beacons with MAC header and FCS. What exceeds the default follows the TIM. Default: the elements of 802.11n, 143 bytes for
        /// up to eight stations and one more for each further eight, which is also the least. Beacons with the elements of 802.11ax have some
        /// 200 to 400 bytes, and those of multi-link devices 300 to 600.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub beacon_length: Option<Size> = None,
        /// Every how many beacons group-addressed frames follow.
        pub dtim_period: u8 = 1,
        /// Group-addressed packets of neighbours, one table a kind. Default: none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub group: Vec<GroupTraffic> = Vec::new(),
        /// Whether the access point offers U-APSD.
        pub uapsd: bool = true,
        /// Most target wake time agreements that hold at a time; with 0 every request is rejected. Default 16, as the hardware of Linux's
        /// drivers mt7915 and mt7996 has.
        pub twt_agreements: u32 = WakeLimits::default().agreements,
        /// Least duration of the service periods of an agreement; a request for less is answered with it (Dictate TWT). Default
        /// 16.384 ms, as these drivers do.
        pub twt_least_duration: Span = WakeLimits::default().least_duration,
        /// Whether the access point takes information frames, by which a station suspends an agreement for its traffic. Default: it does not, as
        /// Linux's mac80211 and these drivers say.
        pub twt_information: bool = WakeLimits::default().information,
        /// The service periods that beacons announce to all stations (broadcast target wake time). Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub twt_schedule: Option<WakeSchedule> = None,
        /// In a `[[cell]]`: the node that is the access point.
        pub node: Option<String> = None,
        /// In a `[[cell]]`: `shared` if the access point uses the radio that its node has as a station of an earlier cell on the same
        /// channel. Default: it has a radio of its own, whose energy is not accounted for.
        pub radio: Option<AccessPointRadio> = None,
    }
}

/// The radio of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessPointRadio {
    /// That of a station at the same node.
    Shared,
}

with_defaults! {
    /// A group of identical stations.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct StationGroup {
        /// Number of stations. In a `[[cell]]` it follows from `node`.
        pub count: u32 = 1,
        /// In a `[[cell]]`: the nodes that are these stations: a name, a group, a range such as `station1..station3`, or a list.
        pub node: Option<Names> = None,
        /// How the stations save power: `policy`, a name that `airwatt policies` lists, and the settings of that policy; or a class of
        /// your own, `FILE.py:CLASS`.
        pub power_save: PolicyChoice = PolicyChoice::default(),
        /// Radio profile: a name that `airwatt radios` lists, or a TOML file.
        #[schemars(with = "String")]
        pub radio: RadioChoice = "broadcom-4311".to_owned().try_into().expect("a profile that ships"),
        /// Distance to the access point.
        pub distance: Distance = Distance::from_millimetres(4_000),
        /// Stations of the same access point that these do not hear, and that do not hear these: a name, a group, a range such as
        /// `station1..station3`, or a list. The name of the own group says that its stations do not hear each other. All hear the access point.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hidden_from: Option<Names> = None,
        /// Rate of the data frames to and from these stations. Default: as `wifi` has it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub data_rate: Option<Rate> = None,
        /// How data frames to and from these stations are sent, as `wifi.mode`. It replaces `data_rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub mode: Option<TxVector> = None,
        /// Packets in a station's own transmission queue.
        #[schemars(with = "QueueLimit")]
        pub buffer: PacketLimit = PacketLimit(1_000),
        /// Beacons from one that is received to the next: 1 receives each, `"dtim"` the DTIM beacons only (`ap.dtim_period`). Default 1, or
        /// the DTIM beacons only, if the chip's own power save wakes up for these by its profile.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub listen_interval: Option<ListenInterval> = None,
        /// Whether every DTIM beacon is received as well (`ap.dtim_period`), as required to receive group-addressed frames.
        pub receive_dtims: bool = false,
        /// What the policy does not see: `service` (More Data, EOSP and the end of service periods), `tim`, `air-time`. An interface
        /// of Linux hides all three.
        pub hide: Vec<Observable> = Vec::new(),
        /// Error of the frequency of the stations' sleep clock in parts per million, positive if it is fast; from -1000 to 1000. The radio wakes up early
        /// by its guard time (`sleep_clock` of its profile), which the error may exceed. Default: the stations know the access point's time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub clock_error_ppm: Option<f64> = None,
        /// Probability that a beacon arrives broken at a station, at each one and for each beacon by itself; from 0 to below 1. The station has then missed it
        /// and listens to the end of its wait for a beacon (`beacon.wait` of its profile).
        pub beacon_error_rate: f64 = 0.0,
        /// How long a station waits for the next frame of a service period, for the answer to a PS-Poll and for the next group-addressed frame, before it
        /// sleeps without; at most 10 s. 802.11 has no such limit and chips do not say theirs. It should be longer than what the access point lets a frame wait behind others.
        pub frame_wait: Span = Span::from_millis(50),
        /// Scans of other channels, during which the station neither sends nor receives. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scan: Option<ScanConfig> = None,
        /// Whether the result reports the station's lower bound instead of what its radio spent under `active`. Policy `ideal` stands
        /// for both.
        pub lower_bound: bool = false,
    }
}

impl Wifi {
    /// How data frames are sent, if that is said.
    pub fn vector(&self) -> Option<TxVector> {
        self.mode.or_else(|| self.standard.vector(self.data_rate?))
    }
}

impl StationGroup {
    /// The power-save policy: `timeout` without a time has that of the chip.
    pub(crate) fn policy(&self) -> Result<StationPolicy, String> {
        Ok(match self.power_save.ready()? {
            Mechanism::Listed(PowerSaveConfig::Timeout(config)) => {
                PowerSaveConfig::Timeout(config.of_chip(self.radio.profile().timeout)).into()
            }
            Mechanism::Listed(policy) => policy.into(),
            Mechanism::Own(own) => StationPolicy::Own(own),
        })
    }

    /// Which beacons the stations receive: those that are set, or that the chip's own power save wakes up for. A chip wakes up for the
    /// same beacons under every policy, so that policies of one chip are compared with the same beacons.
    ///
    /// A listen interval counts beacon intervals (802.11-2020 9.4.1.6) and takes the place of the DTIM beacons: a station receives these
    /// beside its listen interval only if it is to receive group-addressed frames (`receive_dtims`; 802.11-2020 11.2.3.7). So have chips
    /// it: ESP-IDF's `WIFI_PS_MIN_MODEM` wakes up for each DTIM beacon, and `WIFI_PS_MAX_MODEM` each `listen_interval` beacons, whatever
    /// the DTIM period.
    pub fn listening(&self) -> ListenInterval {
        let usual = if self.radio.profile().wakes_for_dtims {
            ListenInterval::Dtim
        } else {
            ListenInterval::Beacons(1)
        };
        self.listen_interval.unwrap_or(usual)
    }
}

/// A group of identical flows: one for each of its stations or neighbours, or for each node that `from` and `to` name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// The nodes that send the data: a name, a group, a range such as `station1..station3`, or a list. With `to`, instead of
    /// `direction`.
    pub from: Option<Names>,
    /// The nodes that receive the data. Either `from` or `to` is a single node.
    pub to: Option<Names>,
    /// With `from` and `to`: number of flows between each pair of nodes. Default: 1.
    pub count: Option<u32>,
    /// The stations, by number. Default: all.
    pub stations: Option<Vec<u32>>,
    /// Number of hosts on a wire at the access point, instead of stations. Their flows share the wired path with those of
    /// the stations and never come to the air.
    pub neighbours: Option<u32>,
    /// A wired path that these flows share among themselves, instead of the scenario's.
    pub wired: Option<Wired>,
    /// Towards the station or from it; in the short form, instead of `from` and `to`. It is the
    /// direction of the data; who begins is said by the application's key `begins`. Of `web` and `request-response` the data are
    /// the responses: with `down` the station asks and the server answers, with `up` the server asks the station.
    pub direction: Option<Direction>,
    /// Transport: a name that `airwatt transports` lists, or a congestion control of your own, `FILE.py:CLASS`.
    #[serde(default)]
    pub transport: TransportChoice,
    /// The differentiated services code point of its packets in both directions, 0 to 63, which says their access category
    /// where a cell tells them apart (`wifi.categories`): 46 is voice (EF), 34 video (AF41), 8 background (CS1). Of a tunnel's packets it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dscp: u8,
    /// What the application does: `kind`, and the settings of that kind.
    #[serde(default)]
    pub application: ApplicationConfig,
    /// Transports `e2tcp` and `prtp`: the share of the data that has to arrive, in per cent.
    #[serde(default = "whole")]
    pub reliability: u8,
    /// Number of packets over which that share is counted, the last ones. Default: all of the connection's.
    pub reliability_window: Option<u32>,
    /// When the flow begins.
    #[serde(default)]
    pub start: Span,
    /// The beginning is drawn uniformly from this long after `start`.
    #[serde(default)]
    pub start_spread: Span,
}

impl FlowGroup {
    /// Whether its ends are named.
    pub(crate) const fn is_general(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The end that opens its connections, if that follows from who asks.
    pub(crate) fn opener(&self) -> Option<Role> {
        match self.application.pattern() {
            Pattern::Dialogue(dialogue) => dialogue.opener(),
            Pattern::Source(_) | Pattern::Saturation => None,
        }
    }
}

impl Scenario {
    /// Whether it has the short form, perhaps with general tables appended.
    pub const fn is_short(&self) -> bool {
        self.wifi.is_some() || matches!(self.link, Some(Links::PointToPoint(_)))
    }

    /// The point-to-point link of the short form.
    pub const fn point_to_point(&self) -> Option<&PointToPointConfig> {
        match &self.link {
            Some(Links::PointToPoint(link)) => Some(link),
            Some(Links::List(_)) | None => None,
        }
    }

    /// The links of the general form, or those appended to the short form.
    pub fn links(&self) -> &[Link] {
        match &self.link {
            Some(Links::List(links)) => links,
            Some(Links::PointToPoint(_)) | None => &[],
        }
    }

    /// Every station of the short form, in order of its number.
    pub fn stations(&self) -> impl Iterator<Item = &StationGroup> {
        self.station.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize))
    }

    /// The general form: nodes, links, cells and flows.
    pub fn topology(&self) -> Topology {
        if self.is_short() { short::expand(self) } else { Topology::of(self) }
    }

    /// The same scenario in the general form.
    #[must_use]
    pub fn expanded(&self) -> Self {
        let Topology { node, link, cell, flow } = self.topology();
        let link = (!link.is_empty()).then_some(Links::List(link));
        Self { wired: None, wifi: None, tunnel: None, node, link, cell, flow, ..self.clone() }
    }

    /// The JSON schema of a scenario file.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}

const fn default_time_limit() -> Span {
    Span::from_secs(3_600)
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn difs() -> u32 {
    2
}

const fn seven() -> u32 {
    7
}

const fn qos_overhead() -> Size {
    Size::from_bytes(38)
}

const fn thousand_bytes() -> Size {
    Size::from_bytes(1_000)
}

const fn whole() -> u8 {
    100
}

fn one_station() -> Vec<StationGroup> {
    vec![StationGroup::default()]
}
