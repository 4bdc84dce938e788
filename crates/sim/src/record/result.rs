//! The result document, schema 1, as the interface has it.
//!
//! Numbers are SI base units with the unit in the key. `wall_s` apart, a document depends on the scenario and the seed
//! alone. A mean over nothing is `null`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use airwatt_base::percentile::{self, Histogram};
use airwatt_base::{Energy, Span};
use airwatt_energy::{Cause, HostSeconds, ProfileAccount, StateSeconds};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::tunnels::TunnelResult;
use crate::stack::application::Viewing;
use crate::stack::flow::FlowRecord;

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunResult {
    /// Version of the document's schema.
    pub schema: u32,
    /// Version of the program.
    pub version: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time in seconds, until the last radio has finished its current frame.
    pub simulated_s: f64,
    /// Wall-clock time of the run in seconds; the caller sets it.
    pub wall_s: f64,
    /// Wake-ups of machines.
    pub events: u64,
    /// Flows by number.
    pub flows: Vec<FlowResult>,
    /// Stations by number.
    pub stations: Vec<StationResult>,
    /// The first cell, or the point-to-point link, with the drops of all wires.
    pub cell: CellResult,
    /// The cells, in the order of the scenario.
    pub cells: Vec<NamedCell>,
    /// The access points, in the order of their cells.
    pub access_points: Vec<AccessPointResult>,
    /// The links: point-to-point links, then wires.
    pub links: Vec<LinkResult>,
    /// What impairments of forwarding paths did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<ImpairmentResult>,
    /// Hosts whose energy beside the radio is accounted for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostResult>,
    /// The tunnels, if the scenario has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<TunnelResult>,
    /// Fairness between the flows.
    pub fairness: Fairness,
}

impl RunResult {
    /// The JSON schema of the document as it is written: what may be left out is not required.
    pub fn json_schema() -> serde_json::Value {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        generator.into_root_schema_for::<Self>().to_value()
    }
}

/// One flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FlowResult {
    /// Its number.
    pub id: u32,
    /// The station that receives its data, or else the one that sends them; `null` if neither end is a station.
    pub station: Option<u32>,
    /// The node that sends its data.
    pub from: String,
    /// The node that receives them.
    pub to: String,
    /// `down` if its station receives the data, otherwise `up`; between nodes that are no stations, `down` is towards an access
    /// point, or else from the node that waits for the connection.
    pub direction: &'static str,
    /// Transport's name.
    pub transport: Cow<'static, str>,
    /// Payload delivered in order to the receiving application, in bytes. Headers never count.
    pub bytes_delivered: u64,
    /// Payload in bytes that the receiver acknowledged without having it, as permitted by `reliability`.
    pub bytes_skipped: u64,
    /// Delivered bits over the time from the flow's start until it was complete, or until the run ended, whatever `measure_from` is.
    pub goodput_bps: f64,
    /// Delivered bits over the time from the scenario's `measure_from` until the run ended, if it is set: then this is the goodput
    /// that tables, comparisons and reports show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_bps: Option<f64>,
    /// Time at which the receiver had all data, in seconds since the beginning of the run.
    pub completed_s: Option<f64>,
    /// Whether the connection was given up or reset before everything had arrived.
    pub connection_lost: bool,
    /// Mean time of data packets from host to host; of a flow whose connection ends at the base station, over the last leg.
    pub latency_s_mean: Option<f64>,
    /// Percentiles of these times, if the scenario asks for them.
    #[serde(flatten)]
    pub latencies: Option<Latencies>,
    /// Times once the connection is open, if the scenario asks for percentiles.
    #[serde(flatten)]
    pub steady: Option<Steady>,
    /// Over a point-to-point link: mean time of data packets from the first bit of their first sending to their arrival,
    /// without the time that the transmission itself takes. Not known of a flow with several connections.
    pub delivery_s_mean: Option<f64>,
    /// The same mean with the time of the transmission.
    pub delivery_full_s_mean: Option<f64>,
    /// Mean of the sender's measurements of the round-trip time; of several connections the mean of theirs, by the segments of each.
    pub rtt_s_mean: Option<f64>,
    /// Segments with data that the sender sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among them.
    pub segments_retransmitted: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Pure acknowledgements lost on the way.
    pub acks_lost: u64,
    /// Acknowledgements that the sender counted as lost; 0 with transports that do not detect such losses.
    pub ack_losses_seen: u64,
    /// Number of times that they halved its window.
    pub ack_loss_halvings: u64,
    /// Durations of pages or responses; only of applications with requests.
    #[serde(flatten)]
    pub responses: Option<Responses>,
    /// When pages were rendered; only of application `page`.
    #[serde(flatten)]
    pub rendering: Option<Rendering>,
    /// Durations of the blocks; only of streams.
    #[serde(flatten)]
    pub blocks: Option<BlockTimes>,
    /// What the viewer saw; only of videos whose player adapts their rate.
    #[serde(flatten)]
    pub playback: Option<Playback>,
    /// Bytes sent both ways on the last hop over payload carried, less one.
    pub data_overhead: Option<f64>,
    /// Time until all data was acknowledged, over the time that the slowest link needs for the payload or the
    /// application for producing it, less one.
    pub time_overhead: Option<f64>,
    /// Both overheads, weighted for three kinds of radio.
    pub energy_overhead: Option<EnergyOverhead>,
}

impl FlowResult {
    /// The result of a flow that has carried nothing.
    pub fn empty(
        id: u32,
        station: impl Into<Option<u32>>,
        down: bool,
        transport: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            id,
            station: station.into(),
            direction: if down { "down" } else { "up" },
            transport: transport.into(),
            ..Self::default()
        }
    }
}

/// Percentiles of the time of data packets from host to host, each at most 0.8 % too high.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latencies {
    /// Median in seconds.
    pub latency_s_p50: f64,
    /// 95th percentile in seconds.
    pub latency_s_p95: f64,
    /// 99th percentile in seconds.
    pub latency_s_p99: f64,
}

impl Latencies {
    /// The percentiles of these times; `None` if there are none.
    pub fn of(times: &Histogram) -> Option<Self> {
        Some(Self {
            latency_s_p50: times.percentile_s(50)?,
            latency_s_p95: times.percentile_s(95)?,
            latency_s_p99: times.percentile_s(99)?,
        })
    }
}

/// Durations of a flow's answers, or without answers times of its data packets, but for the first one: the opening of the connection is
/// its alone, and would weigh less the longer a run is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Steady {
    /// Their mean, in seconds.
    pub steady_s_mean: f64,
    /// Their 95th percentile, in seconds.
    pub steady_s_p95: f64,
    /// Their 99th percentile, in seconds.
    pub steady_s_p99: f64,
}

impl Steady {
    /// Of the durations of answers in their order; `None` if there are fewer than two.
    pub(crate) fn of_answers(durations: &[Span]) -> Option<Self> {
        let later = Responses::of(durations.get(1..)?)?;
        Some(Self {
            steady_s_mean: later.response_s_mean,
            steady_s_p95: later.response_s_p95,
            steady_s_p99: later.response_s_p99,
        })
    }

    /// Of the packets of a flow; `None` if there are fewer than two, or percentiles are not wanted.
    pub(crate) fn of_packets(record: &FlowRecord) -> Option<Self> {
        let (sum, times) = (record.latency - record.first_latency, record.later_latencies.as_ref()?);
        Some(Self {
            steady_s_p95: times.percentile_s(95)?,
            steady_s_p99: times.percentile_s(99)?,
            steady_s_mean: sum.as_secs_f64() / (record.packets_arrived - 1) as f64,
        })
    }
}

/// Durations of a flow's pages (applications `web` and `page`) or responses (`request-response`), from the first request to the
/// last byte of the response.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Responses {
    /// Number of complete pages or responses.
    pub responses: u64,
    /// Mean duration of a page or response, in seconds.
    pub response_s_mean: f64,
    /// Median duration of a page or response, in seconds.
    pub response_s_p50: f64,
    /// 95th percentile of the durations, in seconds.
    pub response_s_p95: f64,
    /// 99th percentile of the durations, in seconds.
    pub response_s_p99: f64,
}

impl Responses {
    /// The summary of these durations; `None` if there are none. A percentile is the least duration that this share of all does
    /// not exceed.
    pub fn of(durations: &[Span]) -> Option<Self> {
        let mut sorted = durations.to_vec();
        sorted.sort_unstable();
        let count = sorted.len();
        let percentile = |percent| percentile::of_sorted(&sorted, percent).map(|took| took.as_secs_f64());
        Some(Self {
            responses: count as u64,
            response_s_p50: percentile(50)?,
            response_s_p95: percentile(95)?,
            response_s_p99: percentile(99)?,
            response_s_mean: sorted.iter().copied().sum::<Span>().as_secs_f64() / count as f64,
        })
    }
}

/// Time from the first request of a page until all that keeps a browser from painting it had come: document, style sheets, fonts and scripts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rendering {
    /// Its mean, in seconds.
    pub render_s_mean: f64,
    /// Its median, in seconds.
    pub render_s_p50: f64,
    /// Its 95th percentile, in seconds.
    pub render_s_p95: f64,
}

impl From<Responses> for Rendering {
    fn from(times: Responses) -> Self {
        Self {
            render_s_mean: times.response_s_mean,
            render_s_p50: times.response_s_p50,
            render_s_p95: times.response_s_p95,
        }
    }
}

/// Durations of a stream's blocks, from the write of the server to the arrival of the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlockTimes {
    /// Number of complete blocks.
    pub blocks: u64,
    /// Mean duration of a block, in seconds.
    pub block_s_mean: f64,
    /// Median duration of a block, in seconds.
    pub block_s_p50: f64,
    /// 95th percentile of the durations, in seconds.
    pub block_s_p95: f64,
    /// 99th percentile of the durations, in seconds.
    pub block_s_p99: f64,
}

impl From<Responses> for BlockTimes {
    fn from(times: Responses) -> Self {
        Self {
            blocks: times.responses,
            block_s_mean: times.response_s_mean,
            block_s_p50: times.response_s_p50,
            block_s_p95: times.response_s_p95,
            block_s_p99: times.response_s_p99,
        }
    }
}

/// What the viewer of a video saw (application `dash`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Playback {
    /// Number of segments of the video that arrived.
    pub video_segments: u64,
    /// Mean rate of these segments, in bit/s.
    pub video_bps_mean: f64,
    /// Number of times that the rate changed.
    pub video_switches: u64,
    /// Time from the first request until playing began, in seconds.
    pub video_startup_s: Option<f64>,
    /// Number of times that the buffer ran empty.
    pub video_stalls: u64,
    /// For how long nothing was played since then, in seconds.
    pub video_stalled_s: f64,
}

impl From<Viewing> for Playback {
    fn from(seen: Viewing) -> Self {
        let lasts = seen.media.as_secs_f64();
        Self {
            video_segments: seen.segments,
            video_bps_mean: if lasts > 0.0 { seen.bits as f64 / lasts } else { 0.0 },
            video_switches: seen.switches,
            video_startup_s: seen.startup.map(Span::as_secs_f64),
            video_stalls: seen.stalls,
            video_stalled_s: seen.stalled.as_secs_f64(),
        }
    }
}

/// Energy overhead for the three radio mixes of Donckers (2001), table 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct EnergyOverhead {
    /// A radio that is always on.
    pub always_active: f64,
    /// Half and half.
    pub intermediate: f64,
    /// A radio that draws power only for the data that it carries.
    pub ideal: f64,
}

/// One station.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StationResult {
    /// Its number.
    pub id: u32,
    /// Its name: that of its node, with the cell behind a slash if the node is a station of several cells.
    pub name: String,
    /// Its node.
    pub node: String,
    /// The name of its cell or point-to-point link.
    pub cell: String,
    /// Power-save policy.
    pub policy: Cow<'static, str>,
    /// Radio profile.
    pub radio: String,
    /// Energy over the whole run.
    pub energy_j: f64,
    /// Energy without that of idle listening (Singh, 2002).
    pub idealized_energy_j: f64,
    /// The least energy for the same frames of the station at the same times: that of a radio which knows them in advance and
    /// sleeps in every gap that is long enough.
    pub lower_bound_j: f64,
    /// The energy by what it was spent on.
    pub energy_by_cause_j: EnergyByCause,
    /// The same total by the node at the other end of each flow; `none` is everything that is no packet of a flow.
    pub energy_by_peer_j: BTreeMap<String, f64>,
    /// Energy over the bits that the station's flows delivered.
    pub energy_per_bit_j: Option<f64>,
    /// Energy over the simulated time.
    pub average_power_w: f64,
    /// The same over the supply voltage of the radio; `None` if its profile has none.
    pub average_current_a: Option<f64>,
    /// How long the radio was in each state.
    pub state_s: StateSeconds,
    /// What the radio's profile says of the energy: the same in other modes of the host, the share that rests on values of another
    /// chip, and the profile's error. Absent if it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileAccount>,
    /// Number of wake-ups of the radio.
    pub wakeups: u64,
    /// Number of wake-ups by reason.
    pub wakeups_by_reason: BTreeMap<&'static str, u64>,
    /// QoS Null frames that opened a service period.
    pub triggers: u64,
    /// PS-Polls.
    pub ps_polls: u64,
    /// Service periods, opened by triggers and by data.
    pub service_periods: u64,
    /// Service periods, and answers to PS-Polls, of which the station gave up waiting for a frame (`station.frame_wait`).
    pub waits_given_up: u64,
    /// Beacons that were expected and not received.
    pub beacons_missed: u64,
}

/// One host: what it drew beside its radio, from the beginning to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostResult {
    /// Its node.
    pub node: String,
    /// The profile of the host.
    pub profile: String,
    /// Energy over the whole run.
    pub energy_j: f64,
    /// Energy of the time for which its processor was busy, at the whole power (Singh, 2002).
    pub idealized_energy_j: f64,
    /// Energy beyond that of an idle host.
    pub marginal_energy_j: f64,
    /// How long it was idle, and busy with what.
    pub time_s: HostSeconds,
}

/// The energy of a radio by what it was spent on. Each nanosecond has one cause, by the precedence in `docs/causes.md`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct EnergyByCause {
    /// Sleep.
    pub doze: f64,
    /// Falling asleep and waking up.
    pub wake_up: f64,
    /// Beacons of its access point, and the time awake before they come.
    pub beacon: f64,
    /// Group-addressed frames.
    pub group: f64,
    /// Triggers, PS-Polls and Null frames, and silence in service periods.
    pub service: f64,
    /// Waiting for the medium with a frame to send, and the gaps within an exchange.
    pub contention: f64,
    /// Frames of others.
    pub overhearing: f64,
    /// Attempts after the first.
    pub retransmission: f64,
    /// The time without traffic after which the policy lets the radio sleep.
    pub timeout_tail: f64,
    /// Scans: the time on other channels. Left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<f64>,
    /// Silence for which nothing else is a cause.
    pub idle: f64,
    /// Datagrams of a tunnel, in which packets of several flows are. Left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<f64>,
    /// Packets that belong to no flow, as those of a host outside.
    pub external: f64,
    /// Packets of flows, by number.
    #[schemars(with = "BTreeMap<String, f64>")]
    pub flow: BTreeMap<u32, f64>,
}

impl EnergyByCause {
    /// The energies of all causes.
    pub fn of(energies: impl IntoIterator<Item = (Cause, Energy)>) -> Self {
        let mut sums = Self::default();
        for (cause, energy) in energies {
            let energy_j = energy.as_joules();
            let some_energy = Some(energy_j).filter(|energy_j| *energy_j > 0.0);
            match cause {
                Cause::Doze => sums.doze = energy_j,
                Cause::WakeUp => sums.wake_up = energy_j,
                Cause::Beacon => sums.beacon = energy_j,
                Cause::Group => sums.group = energy_j,
                Cause::Service => sums.service = energy_j,
                Cause::Contention => sums.contention = energy_j,
                Cause::Overhearing => sums.overhearing = energy_j,
                Cause::Retransmission => sums.retransmission = energy_j,
                Cause::TimeoutTail => sums.timeout_tail = energy_j,
                Cause::Scan => sums.scan = some_energy,
                Cause::Tunnel => sums.tunnel = some_energy,
                Cause::Idle => sums.idle = energy_j,
                Cause::External => sums.external = energy_j,
                Cause::Flow(flow) => drop(sums.flow.insert(flow, energy_j)),
            }
        }
        sums
    }
}

/// What was counted on the air of a last hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct AirResult {
    /// Share of the time during which a frame was on the air.
    pub airtime_utilization: f64,
    /// Attempts to send a data, control or beacon frame. RTS, CTS and acknowledgements are not counted.
    pub frames: u64,
    /// Frames in these attempts, where an aggregate has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpdus: Option<u64>,
    /// Attempts after the first.
    pub retries: u64,
    /// Number of times that several nodes began to send at once.
    pub collisions: u64,
    /// Packets dropped at the access point's buffers.
    pub ap_drops: u64,
    /// Packets given up at the retry limit.
    pub retry_limit_drops: u64,
    /// Packets discarded at the end of their lifetime, where they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime_drops: Option<u64>,
}

/// The last hop: the cell, or the point-to-point link with packets for frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CellResult {
    /// What was counted on its air.
    #[serde(flatten)]
    pub air: AirResult,
    /// Packets damaged on a point-to-point link.
    pub damaged: u64,
    /// Packets dropped at the wired queue towards the stations.
    pub down_queue_drops: u64,
    /// Packets dropped at the wired queue towards the server.
    pub up_queue_drops: u64,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NamedCell {
    /// Its name.
    pub name: String,
    /// Its channel; `null` if it has one of its own. Cells on one channel share what is counted of the air.
    pub channel: Option<String>,
    /// What was counted on its channel; packets dropped are those of its own access point.
    #[serde(flatten)]
    pub air: AirResult,
    /// What was sent in each access category on its channel, where they are told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<CategoryResult>>,
}

/// One access category of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CategoryResult {
    /// `background`, `best-effort`, `video` or `voice`.
    pub category: &'static str,
    /// Attempts to send a data or control frame.
    pub frames: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Number of times that a higher category of the same sender won the channel at the same moment, and sent first.
    pub internal_collisions: u64,
}

/// One access point.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AccessPointResult {
    /// Its node.
    pub node: String,
    /// Its cell.
    pub cell: String,
    /// The station whose radio it shares; `null` if it has one of its own, whose energy is not accounted for.
    pub shares_radio_of: Option<u32>,
    /// Packets dropped at its buffers.
    pub drops: u64,
    /// Packets that it gave up at the retry limit.
    pub retry_limit_drops: u64,
}

/// One wire or point-to-point link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkResult {
    /// Its name.
    pub name: String,
    /// `wire` or `point-to-point`.
    pub kind: &'static str,
    /// The nodes at its ends.
    pub between: [String; 2],
    /// From the first node to the second.
    pub forward: LinkDirection,
    /// From the second node to the first.
    pub reverse: LinkDirection,
}

/// The impairment of one node, in packets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ImpairmentResult {
    /// Its node.
    pub node: String,
    /// Forwarded.
    pub forwarded: u64,
    /// Lost at random outside bursts.
    pub lost: u64,
    /// Lost at random in bursts.
    pub lost_in_bursts: u64,
    /// Lost in outages.
    pub lost_in_outages: u64,
    /// Lost because too many were held.
    pub queue_drops: u64,
    /// Held until others had passed, or for the longest time.
    pub reordered: u64,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkDirection {
    /// Its rate.
    pub rate_bps: f64,
    /// Packets taken in and not dropped at the queue.
    pub packets: u64,
    /// Packets dropped at the full queue.
    pub queue_drops: u64,
    /// Packets damaged on the way.
    pub damaged: u64,
}

/// How the flows shared the capacity, by their throughputs over the measured interval, or each from its start where the
/// scenario sets none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fairness {
    /// Capacity that the flows share: the lowest of the payload rates of the wire and the air.
    pub capacity_bps: f64,
    /// Jain's index.
    pub jain: f64,
    /// Hashimoto (2013), equation 2.10: without the utilization term.
    pub fair_utilization: f64,
    /// Hashimoto (2010), equations 6 and 7, with alpha = 1.
    pub fair_utilization_alpha1: f64,
    /// The beginning of the measured interval, in seconds, if the scenario sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_from_s: Option<f64>,
    /// The same by the sliding-window method, for the scenario's windows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowFairness>,
}

/// Fairness in windows of one length: the mean over all positions of a window that slides by 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WindowFairness {
    /// Length of the window.
    pub window_s: f64,
    /// Jain's index.
    pub jain: f64,
    /// Hashimoto (2013).
    pub fair_utilization: f64,
    /// Hashimoto (2010), with alpha = 1.
    pub fair_utilization_alpha1: f64,
}
