//! The document that `analyze` prints: schema 1, numbers in SI base units with the unit in the key.

use std::collections::BTreeMap;

use airwatt_base::{Span, Voltage, percentile};
use airwatt_energy::{Radio, StateSeconds};
use airwatt_sim::record::EnergyByCause;
use serde::Serialize;

use crate::clock;
use crate::current::CurrentReport;
use crate::file::{Capture, Format};
use crate::flows::{self, ByteClasses, Flow};
use crate::group::GroupReport;
use crate::packet::Packet;
use crate::power_save::{self, Certainty, Finding, Observations, StationRecord};
use crate::stations::{self, Candidate, Station};
use crate::timeline::Timeline;

/// Flows and candidates beyond this many are left out of the document, which counts them.
const LIST_LIMIT: usize = 20;
/// Peers whose lone exchanges are reported.
const LONE_LIMIT: usize = 5;
/// Lone exchanges with one peer from which on they are a finding.
const LONE_COUNT: u64 = 3;

/// Where a figure of energy comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// From a replay of the packets at an assumed rate.
    Inferred,
    /// From a replay of the packets at the rate of most of the captured bytes.
    Simulated,
    /// From the frames' time on the air, which follows from the rates in radiotap headers.
    Measured,
}

/// The analysis of one capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// 1.
    pub schema: u32,
    /// The project's version.
    pub version: &'static str,
    /// The file.
    pub capture: CaptureReport,
    /// The station; `null` if the capture leaves doubt and none was named.
    pub station: Option<String>,
    /// The addresses to choose from, those with most bytes first.
    pub candidates: Vec<CandidateReport>,
    /// IP bytes by class: of the station, or of the whole capture without one.
    pub bytes: ByteClasses,
    /// Number of flows.
    pub flow_count: usize,
    /// The flows with most bytes.
    pub flows: Vec<FlowReport>,
    /// Radio profile.
    pub radio: Option<String>,
    /// The supply voltage of its profile, which turns powers into currents.
    pub radio_voltage_v: Option<f64>,
    /// The source of the frames' rates, in words.
    pub phy: Option<String>,
    /// The times of the station's packets; `null` without a station.
    pub pace: Option<PaceReport>,
    /// What each policy would have spent.
    pub policies: Vec<PolicyReport>,
    /// What 802.11 frames show of each station; `null` for other captures.
    pub air: Option<AirReport>,
    /// Findings.
    pub findings: Vec<FindingReport>,
    /// What group-addressed frames cost the station if it sleeps; `null` if there are none.
    pub group: Option<GroupReport>,
    /// A measured current beside the prediction, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentReport>,
    /// Who slept when, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// About the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaptureReport {
    /// Its name as given.
    pub file: String,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// Names of the link types.
    pub link_types: Vec<&'static str>,
    /// Its files in order of time, if they are several, each with its first packet's number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, u32)>,
    /// Packets.
    pub packets: u32,
    /// Packets with a readable frame or IP packet.
    pub packets_used: u64,
    /// Their bytes on the link.
    pub bytes: u64,
    /// When it began, in seconds since 1970.
    pub start_unix_s: f64,
    /// Time that it covers, without the gaps between segments.
    pub covered_s: f64,
    /// Its segments.
    pub segments: Vec<SegmentReport>,
    /// Packets that were left out because they state an impossible length.
    pub oversized_packets: u32,
    /// Defects of the file, a sentence each.
    pub notes: Vec<String>,
}

/// A segment of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SegmentReport {
    /// Seconds since the capture's earliest packet.
    pub from_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Packets in it.
    pub packets: usize,
}

/// An address that may be the station.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateReport {
    /// IP or MAC address.
    pub address: String,
    /// `ip` or `mac`.
    pub kind: &'static str,
    /// Packets to and from it.
    pub packets: u64,
    /// Bytes that it sent.
    pub bytes_sent: u64,
    /// Bytes that were sent to it.
    pub bytes_received: u64,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Protocol.
    pub protocol: String,
    /// The endpoint that sent the first packet.
    pub first: String,
    /// The other endpoint.
    pub second: String,
    /// Seconds since the capture's earliest packet.
    pub from_s: f64,
    /// Last packet.
    pub until_s: f64,
    /// IP bytes from first to second.
    pub bytes_forth: u64,
    /// IP bytes from second to first.
    pub bytes_back: u64,
    /// TCP segments that were retransmitted, in both directions.
    pub retransmissions: u64,
    /// Round trip of the handshake.
    pub handshake_rtt_s: Option<f64>,
    /// Whether packets of only one direction were captured.
    pub one_sided: bool,
}

/// A delay's distribution in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DelayReport {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 % are at most this.
    pub p95: f64,
    /// 99 % are at most this.
    pub p99: f64,
}

impl DelayReport {
    /// Mean and percentiles of samples in any order; `None` if there are none.
    pub fn of(samples: &mut [Span]) -> Option<Self> {
        samples.sort_unstable();
        let at = |percent| percentile::of_sorted(samples, percent).map(|sample| sample.as_secs_f64());
        let (p50, p95, p99) = (at(50)?, at(95)?, at(99)?);
        let sum: f64 = samples.iter().map(|sample| sample.as_secs_f64()).sum();
        Some(Self { mean: sum / samples.len() as f64, p50, p95, p99 })
    }
}

/// The times of a station's packets, which the timers of a policy depend on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaceReport {
    /// Time covered, with the tail of a replay.
    pub elapsed_s: f64,
    /// Packets to the station.
    pub packets_down: u64,
    /// Packets from it.
    pub packets_up: u64,
    /// Gaps between packets, by their least length.
    pub gaps: Vec<GapReport>,
    /// Gaps between packets from the station. Each such packet, of any size, may trigger the delivery of buffered frames.
    pub gaps_up: Vec<GapReport>,
}

/// Gaps that are longer than a bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GapReport {
    /// The bound.
    pub longer_than_s: f64,
    /// Number of gaps.
    pub count: u64,
    /// Their total length.
    pub time_s: f64,
    /// Number of gaps that end with a packet to the station, which has to wait if the station sleeps.
    pub before_down: u64,
}

impl GapReport {
    /// The bounds: the timers of the policies, and values around them.
    const BOUNDS_MS: [u64; 10] = [1, 5, 10, 20, 40, 50, 80, 100, 200, 1_000];

    /// The reports of gaps in any order, each with whether it ends with a packet to the station.
    pub fn of(gaps: &[(Span, bool)]) -> Vec<Self> {
        let bounds = Self::BOUNDS_MS.map(Span::from_millis);
        let report = |bound: Span| {
            let longer = gaps.iter().filter(|(gap, _)| *gap > bound);
            let time: Span = longer.clone().map(|(gap, _)| *gap).sum();
            Self {
                longer_than_s: bound.as_secs_f64(),
                count: longer.clone().count() as u64,
                time_s: time.as_secs_f64(),
                before_down: longer.filter(|(_, down)| *down).count() as u64,
            }
        };
        bounds.map(report).to_vec()
    }
}

/// The replay of the capture's arrivals under one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyReport {
    /// Its name, with its time if one was stated.
    pub policy: String,
    /// Where the energy comes from.
    pub basis: Basis,
    /// Energy at the stated rate.
    pub energy_j: f64,
    /// If all assumptions err towards less; `null` if the rate is known and nothing of weight is assumed.
    pub energy_low_j: Option<f64>,
    /// If all assumptions err towards more.
    pub energy_high_j: Option<f64>,
    /// What the band consists of.
    pub assumptions: Vec<AssumptionReport>,
    /// The energy by what it was spent on; all packets of the capture are one flow.
    pub energy_by_cause_j: EnergyByCause,
    /// Energy without what idle listening costs.
    pub idealized_energy_j: f64,
    /// Energy over time covered.
    pub average_power_w: f64,
    /// Share of the time asleep, 0 to 1.
    pub sleep_share: f64,
    /// Time in each state.
    pub state_s: StateSeconds,
    /// Delay beyond what the same packets take with the radio always awake.
    pub added_delay_s: Option<DelayReport>,
    /// Wake-ups by reason.
    pub wakeups: BTreeMap<String, u64>,
    /// Packets replayed.
    pub packets: u64,
    /// Packets lost on the way.
    pub lost: u64,
}

/// An assumption that moves the energy by 2 % or more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssumptionReport {
    /// `data rate`, `beacon rate`, `listen` or `wake-up charge`.
    pub what: String,
    /// What is assumed.
    pub assumed: String,
    /// What else is likely.
    pub other: String,
    /// Energy at the lower end.
    pub energy_low_j: f64,
    /// Energy at the upper end.
    pub energy_high_j: f64,
    /// The difference of both, as a share of the energy.
    pub share: f64,
}

/// The power save that the 802.11 frames show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AirReport {
    /// Cells.
    pub networks: Vec<NetworkReport>,
    /// Stations, the one in question first.
    pub stations: Vec<StationReport>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkReport {
    /// Its address.
    pub bssid: String,
    /// Its name.
    pub ssid: String,
    /// Beacons captured.
    pub beacons: u32,
    /// Beacon interval.
    pub beacon_interval_s: f64,
    /// DTIM period in beacons; zero if no beacon was captured.
    pub dtim_period: u8,
    /// Whether it announces U-APSD.
    pub uapsd: Option<bool>,
}

/// The power save of a station.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationReport {
    /// Its address.
    pub mac: String,
    /// Its cell.
    pub bssid: Option<String>,
    /// Association identifier.
    pub aid: Option<u16>,
    /// Whether it uses U-APSD.
    pub uapsd: Option<bool>,
    /// Changes of the PM bit.
    pub pm_changes: u32,
    /// Time with a known mode.
    pub mode_known_s: f64,
    /// Of that, in power save.
    pub in_power_save_s: f64,
    /// PS-Polls sent.
    pub ps_polls: u32,
    /// Service periods opened.
    pub triggers: u32,
    /// Null and QoS Null frames sent.
    pub nulls: u32,
    /// Data frames sent.
    pub data_up: u32,
    /// Data frames sent to it.
    pub data_down: u32,
    /// Its access point's beacons.
    pub beacons: u32,
    /// Of those with its TIM bit.
    pub tim_set: u32,
    /// Its measured energy; `null` if the rates are unknown or no radio was given.
    pub measured: Option<MeasuredReport>,
}

/// Energy from air time: between sleeping through all of power save and never sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredReport {
    /// `measured`.
    pub basis: Basis,
    /// Time sending.
    pub transmit_s: f64,
    /// Time receiving what was for it.
    pub receive_s: f64,
    /// If it slept whenever it could.
    pub energy_low_j: f64,
    /// If it never slept.
    pub energy_high_j: f64,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingReport {
    /// Its kind.
    pub kind: &'static str,
    /// The clause of the standard that has the rule; empty if none has.
    pub clause: &'static str,
    /// `error` if the standard does not allow it, `warning` if it wastes energy or time, `note` otherwise.
    pub severity: &'static str,
    /// `found` if it follows from captured frames, `possible` if it rests on one that the monitor may have missed or on a time
    /// that it cannot see.
    pub certainty: &'static str,
    /// The device that causes it: `access point`, `station` or `peer`.
    pub whose: &'static str,
    /// The station concerned.
    pub station: String,
    /// Number of occurrences.
    pub count: u64,
    /// A description.
    pub text: String,
    /// Its cost. Of keep-alives under the policy of [`FindingReport::policy`]: the energy of the replay less that of one without
    /// them. Of late deliveries: the station listened for the delay. `null` if nothing is known.
    pub cost_j: Option<f64>,
    /// Under which policy that is: `timeout`, which chips run, or else of those asked for the one that spends least.
    pub policy: Option<String>,
    /// The cost under each policy that was asked for; `null` if it is smaller than what the replays can tell apart.
    pub costs_j: BTreeMap<String, Option<f64>>,
    /// Time by which frames were late, over all occurrences; `null` if the kind has none.
    pub delay_s: Option<f64>,
    /// The first few times, each with a description.
    pub examples: Vec<ExampleReport>,
    /// All times.
    pub occurrences: Vec<OccurrenceReport>,
}

/// The place of one occurrence of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OccurrenceReport {
    /// Seconds since the capture's earliest packet.
    pub time_s: f64,
    /// Packet number, as Wireshark counts. In a folder it counts through all files.
    pub packet: u32,
}

/// One occurrence of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExampleReport {
    /// Seconds since the capture's earliest packet.
    pub time_s: f64,
    /// Packet number, as Wireshark counts. In a folder it counts through all files.
    pub packet: u32,
    /// In a folder: the file, and the packet's number in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<(String, u32)>,
    /// A description.
    pub detail: String,
}

/// The document without energy figures: everything that follows from the capture alone. `radio` adds what the
/// stations of a radiotap capture really spent.
pub fn describe(capture: &Capture, station: Option<&Station>, radio: Option<&Radio>) -> Analysis {
    let (mut list, bytes) = flows::flows(capture, station);
    let flow_count = list.len();
    list.sort_by_key(|flow| std::cmp::Reverse(flow.bytes()));
    let observations = power_save::observe(capture);
    let mut findings: Vec<FindingReport> = observations
        .findings
        .iter()
        .filter(|finding| concerns(finding, station, &observations))
        .map(|found| finding(capture, found, radio))
        .collect();
    if let Some(station) = station {
        findings.extend(lone_findings(capture, station));
    }
    Analysis {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        capture: capture_report(capture),
        station: station.map(Station::to_string),
        candidates: stations::candidates(capture).iter().take(LIST_LIMIT).map(candidate).collect(),
        bytes,
        flow_count,
        flows: list.iter().take(LIST_LIMIT).map(flow).collect(),
        radio: radio.map(|radio| radio.name.clone()),
        radio_voltage_v: radio.and_then(|radio| radio.voltage).map(Voltage::as_volts),
        phy: None,
        pace: None,
        policies: Vec::new(),
        air: capture.is_air().then(|| air(capture, &observations, station, radio)),
        findings,
        group: None,
        current: None,
        timeline: None,
    }
}

/// The time line of the capture alone.
pub(crate) fn timeline(capture: &Capture, station: Option<&Station>, radio: &Radio) -> Timeline {
    Timeline::of(capture, &power_save::observe(capture), station, radio)
}

/// Whether a finding is about the station in question or about its access point; all are where none is named or it is named
/// by IP.
fn concerns(finding: &Finding, station: Option<&Station>, seen: &Observations) -> bool {
    let Some(Station::Mac(mac)) = station else { return true };
    let is_access_point =
        |record: &StationRecord| record.mac == *mac && record.bssid == Some(finding.station);
    finding.station == *mac || seen.stations.iter().any(is_access_point)
}

fn capture_report(capture: &Capture) -> CaptureReport {
    CaptureReport {
        file: capture.file.clone(),
        format: if capture.format == Format::Pcap { "pcap" } else { "pcapng" },
        link_types: capture.link_types.iter().map(|link| link.name()).collect(),
        files: capture.files.iter().map(|file| (file.name.clone(), file.packets_before + 1)).collect(),
        packets: capture.packets_in_file,
        packets_used: used(capture),
        bytes: capture.bytes_on_link,
        start_unix_s: capture.start_unix_ns as f64 * 1e-9,
        covered_s: clock::covered(capture).as_secs_f64(),
        segments: capture
            .segments
            .iter()
            .map(|segment| SegmentReport {
                from_s: segment.from.as_secs_f64(),
                duration_s: segment.duration().as_secs_f64(),
                packets: segment.end - segment.first,
            })
            .collect(),
        oversized_packets: capture.notes.oversized.map_or(0, |oversized| oversized.count),
        notes: notes(capture),
    }
}

/// Packets that the analysis can use.
fn used(capture: &Capture) -> u64 {
    let mut last = None;
    let is_used = |packet: &&Packet| packet.ip.is_some() || capture.frame(packet).is_some();
    // An A-MSDU is several packets with one number.
    let numbers = capture.packets.iter().filter(is_used).map(|packet| packet.number);
    numbers.filter(|number| last.replace(*number) != Some(*number)).count() as u64
}

fn notes(capture: &Capture) -> Vec<String> {
    let notes = &capture.notes;
    let mut list = Vec::new();
    if notes.truncated {
        list.push("the last packet is cut short and was left out".to_owned());
    }
    if let Some((position, what)) = notes.damaged {
        list.push(format!("damaged at byte {position} ({what}): the rest was not read"));
    }
    if capture.segments.len() > 1 {
        list.push(format!(
            "the clock jumps: {} segments are analysed one by one, and the time between them is not counted",
            capture.segments.len()
        ));
    }
    if let Some(oversized) = notes.oversized {
        list.push(format!("left out: {oversized}"));
    }
    if notes.out_of_order > 0 {
        list.push(format!("{} packets were out of order and were sorted by time", notes.out_of_order));
    }
    if notes.without_time > 0 {
        list.push(format!("{} packets have no time and got that of the packet before", notes.without_time));
    }
    if notes.skipped_link_type > 0 {
        let supported = crate::LinkType::supported();
        list.push(format!(
            "{} packets of other link types were left out; supported are {supported}",
            notes.skipped_link_type
        ));
    }
    list
}

fn candidate(candidate: &Candidate) -> CandidateReport {
    CandidateReport {
        address: candidate.station.to_string(),
        kind: if matches!(candidate.station, Station::Ip(_)) { "ip" } else { "mac" },
        packets: candidate.packets,
        bytes_sent: candidate.bytes_sent,
        bytes_received: candidate.bytes_received,
    }
}

fn flow(flow: &Flow) -> FlowReport {
    FlowReport {
        protocol: flow.protocol_name(),
        first: flow.first.to_string(),
        second: flow.second.to_string(),
        from_s: flow.from.as_secs_f64(),
        until_s: flow.until.as_secs_f64(),
        bytes_forth: flow.forward.bytes,
        bytes_back: flow.reverse.bytes,
        retransmissions: flow.forward.retransmissions + flow.reverse.retransmissions,
        handshake_rtt_s: flow.handshake_rtt.map(Span::as_secs_f64),
        one_sided: flow.is_one_sided(),
    }
}

fn air(
    capture: &Capture,
    observations: &Observations,
    station: Option<&Station>,
    radio: Option<&Radio>,
) -> AirReport {
    let covered = clock::covered(capture);
    let mut list: Vec<&StationRecord> = observations.stations.iter().collect();
    list.sort_by_key(|record| (station != Some(&Station::Mac(record.mac)), record.mac));
    AirReport {
        networks: capture
            .networks
            .iter()
            .map(|(bssid, network)| NetworkReport {
                bssid: bssid.to_string(),
                ssid: network.ssid.clone(),
                beacons: network.beacons,
                beacon_interval_s: f64::from(network.interval_tu) * 1.024e-3,
                dtim_period: network.dtim_period,
                uapsd: network.uapsd,
            })
            .collect(),
        stations: list.iter().take(LIST_LIMIT).map(|record| station_report(record, covered, radio)).collect(),
    }
}

fn station_report(record: &StationRecord, covered: Span, radio: Option<&Radio>) -> StationReport {
    let measured = radio.zip(record.ledgers(covered)).map(|(radio, (low, high))| MeasuredReport {
        basis: Basis::Measured,
        transmit_s: record.transmit.as_secs_f64(),
        receive_s: record.receive.as_secs_f64(),
        energy_low_j: low.energy(radio).as_joules(),
        energy_high_j: high.energy(radio).as_joules(),
    });
    StationReport {
        mac: record.mac.to_string(),
        bssid: record.bssid.map(|bssid| bssid.to_string()),
        aid: record.aid,
        uapsd: record.uapsd,
        pm_changes: record.pm_changes,
        mode_known_s: record.mode_known.as_secs_f64(),
        in_power_save_s: record.in_power_save.as_secs_f64(),
        ps_polls: record.ps_polls,
        triggers: record.triggers,
        nulls: record.nulls,
        data_up: record.data_up,
        data_down: record.data_down,
        beacons: record.beacons,
        tim_set: record.tim_set,
        measured,
    }
}

fn file_of(capture: &Capture, packet: u32) -> Option<(String, u32)> {
    capture.file_of(packet).map(|(name, number)| (name.to_owned(), number))
}

fn finding(capture: &Capture, finding: &Finding, radio: Option<&Radio>) -> FindingReport {
    let kind = finding.kind;
    let described = finding.occurrences.iter().filter_map(|occurrence| {
        let detail = occurrence.detail.clone()?;
        let file = file_of(capture, occurrence.packet);
        Some(ExampleReport { time_s: occurrence.at.as_secs_f64(), packet: occurrence.packet, file, detail })
    });
    let examples: Vec<ExampleReport> = described.collect();
    let awake = Some(finding.awake).filter(|awake| !awake.is_zero());
    FindingReport {
        kind: kind.name(),
        clause: kind.clause(),
        severity: kind.severity(),
        certainty: finding.certainty.name(),
        whose: kind.cause(),
        station: finding.station.to_string(),
        count: finding.occurrences.len() as u64,
        text: examples.first().map(|example| example.detail.clone()).unwrap_or_default(),
        cost_j: awake.zip(radio).map(|(awake, radio)| (radio.listen * awake).as_joules()),
        policy: None,
        costs_j: BTreeMap::new(),
        delay_s: Some(finding.delay).filter(|delay| !delay.is_zero()).map(Span::as_secs_f64),
        examples,
        occurrences: finding
            .occurrences
            .iter()
            .map(|occurrence| OccurrenceReport {
                time_s: occurrence.at.as_secs_f64(),
                packet: occurrence.packet,
            })
            .collect(),
    }
}

/// Peers with enough lone exchanges for a finding, the most frequent first, and the number of all bursts.
pub(crate) fn keep_alives(capture: &Capture, station: &Station) -> (Vec<flows::LoneExchanges>, u64) {
    let (mut list, bursts) = flows::lone_exchanges(capture, station);
    list.retain(|lone| lone.count >= LONE_COUNT);
    list.truncate(LONE_LIMIT);
    (list, bursts)
}

/// The kind of findings about small exchanges that wake the radio for themselves alone.
pub const KEEP_ALIVE: &str = "keep-alive";

/// The names of all kinds of findings.
pub fn finding_kinds() -> impl Iterator<Item = &'static str> {
    power_save::FindingKind::ALL.into_iter().map(power_save::FindingKind::name).chain([KEEP_ALIVE])
}

/// Small exchanges that woke the radio for themselves alone.
fn lone_findings(capture: &Capture, station: &Station) -> Vec<FindingReport> {
    let (list, bursts) = keep_alives(capture, station);
    let report = |lone: &flows::LoneExchanges| {
        let every = lone.mean_interval().map_or(0.0, Span::as_secs_f64);
        let text = format!(
            "small exchanges with {} woke the radio {} of {bursts} times, every {every:.1} s on average, for {} bytes",
            lone.peer, lone.count, lone.bytes
        );
        FindingReport {
            kind: KEEP_ALIVE,
            clause: "",
            severity: "note",
            certainty: Certainty::Found.name(),
            whose: "peer",
            station: station.to_string(),
            count: lone.count,
            text: text.clone(),
            cost_j: None,
            policy: None,
            costs_j: BTreeMap::new(),
            delay_s: None,
            occurrences: lone
                .starts
                .iter()
                .map(|&(at, packet)| OccurrenceReport { time_s: at.as_secs_f64(), packet })
                .collect(),
            examples: vec![ExampleReport {
                time_s: lone.from.as_secs_f64(),
                packet: lone.starts.first().map_or(0, |(_, packet)| *packet),
                file: lone.starts.first().and_then(|(_, packet)| file_of(capture, *packet)),
                detail: text,
            }],
        }
    };
    list.iter().map(report).collect()
}
