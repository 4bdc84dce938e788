//! Findings: what follows from the frames, and small exchanges that wake the radio for themselves alone.

use std::collections::{BTreeMap, BTreeSet};

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;
use airwatt_energy::Radio;
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture::Capture;
use crate::flows;
use crate::power_save::{Excess, Finding, FindingKind, Observations, StationRecord, Stay, Verdict};
use crate::stations::Station;

/// Peers whose lone exchanges are reported.
const LONE_LIMIT: usize = 5;
/// Access points of a station whose rules are checked. A forged capture may have thousands.
const MOST_ACCESS_POINTS: usize = 100;
/// Lone exchanges with one peer from which on they are a finding.
const LONE_COUNT: u64 = 3;
/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FindingReport {
    /// Its kind.
    pub kind: &'static str,
    /// Of [`KEEP_ALIVE`] what its exchanges are by their size: `keep-alives`, or `reports` where packets have more data than any known
    /// keep-alive. `null` of other kinds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exchanges: Option<&'static str>,
    /// The clause of the standard that has the rule; empty if none has.
    pub clause: &'static str,
    /// `error` if the standard does not allow it, `warning` if it wastes energy or time, `note` otherwise.
    pub severity: &'static str,
    /// `found` if an occurrence violated the rule, as captured frames prove; `possible` if all are undecidable.
    pub certainty: &'static str,
    /// The device that causes it: `access point`, `station` or `peer`. Keep-alives are of the one that begins most of them.
    pub whose: &'static str,
    /// Address and port of the peer of keep-alives; `null` of other findings.
    pub peer: Option<String>,
    /// The station concerned.
    pub station: String,
    /// The access point that the station was with, if that was the same at all occurrences that violated the rule, or that are undecidable if
    /// none did; `null` if there were several or none is known: each occurrence has its own.
    pub access_point: Option<String>,
    /// Number of occurrences that violated the rule.
    pub count: u64,
    /// Number of those that the captured frames do not decide.
    pub undecidable: u64,
    /// How often the rule was kept.
    pub kept: u64,
    /// A description.
    pub text: String,
    /// What is different without the fault; the cost is the difference.
    pub without: &'static str,
    /// Its cost to the radio of one station. Of keep-alives under the policy of [`FindingReport::policy`]: the energy of the replay less
    /// that of one without them. Of what frames show: the energy as captured less that without the faults. `null` if it is not
    /// known, or no occurrence violated the rule.
    pub cost_j: Option<f64>,
    /// The radio of that cost: the one of [`super::Analysis::radio`], or the one that the capture of a run names for the station.
    pub radio: Option<String>,
    /// The least cost among the radio profiles that ship, if neither the question nor the capture named a radio.
    pub cost_low_j: Option<f64>,
    /// The highest of them.
    pub cost_high_j: Option<f64>,
    /// Time for which the station was awake for it, and would have slept otherwise; `null` as the cost.
    pub awake_s: Option<f64>,
    /// The policy of that cost: the one whose frames the station's are, `null` if they do not show it. Of keep-alives the same, if it was
    /// asked for; or `timeout`, which chips run; or else of those asked for the one that spends least.
    pub policy: Option<String>,
    /// The cost under each policy that was asked for; `null` if it is smaller than what the replays can tell apart.
    pub costs_j: BTreeMap<String, Option<f64>>,
    /// Time by which frames were late, over all occurrences that violated the rule; `null` if it is not known.
    pub delay_s: Option<f64>,
    /// The first few times, each with a description.
    pub examples: Vec<ExampleReport>,
    /// All that violated the rule or are undecidable, and the first few that kept it.
    pub occurrences: Vec<OccurrenceReport>,
}

/// The place of one occurrence of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OccurrenceReport {
    /// Seconds since the capture's earliest packet.
    pub time_s: f64,
    /// Packet number, as Wireshark counts. In a folder it counts through all files.
    pub packet: u32,
    /// `violated`, `kept` or `undecidable`; of a keep-alive, which no rule forbids, `cost`.
    pub verdict: &'static str,
    /// The access point that the station was with then; `null` if no frame shows one.
    pub access_point: Option<String>,
    /// The station's association identifier there; left out if no frame shows one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aid: Option<u16>,
    /// The packets that decide that, without acknowledgements: that of each of them which had to be acknowledged decides too, if it was
    /// captured. It is one of the four captured packets after its frame, mostly the first.
    pub packets: Vec<u32>,
    /// A description of the first few of each verdict: of what is undecidable, why it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detail: Option<String>,
    /// The times from and until which a frame was in the access point's buffer, as far as that is proven.
    pub buffered_s: Option<(f64, f64)>,
    /// The target times of beacons that came late, or not at all.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub due_s: Vec<f64>,
    /// The beginnings and ends of the service periods around it, if the rule is about target wake time: from the last one before it to the
    /// first one after it, and the first and the last four of many.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub periods_s: Vec<(f64, f64)>,
    /// What the verdict assumes, since no frame can show it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub assumes: Option<&'static str>,
}

/// How often a rule was checked, by verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckReport {
    /// The kind of the finding that it would be.
    pub kind: &'static str,
    /// An access point of the station in question if the rule is about what that sends to its whole cell, whichever station was with it
    /// when: analyses of several stations of it all have this check. `null` otherwise.
    pub bssid: Option<String>,
    /// Times that it was violated.
    pub violated: u64,
    /// Times that it was kept.
    pub kept: u64,
    /// Times that the captured frames do not decide it.
    pub undecidable: u64,
    /// What the capture lacks, where it decides nothing about the rule and that is known; `null` otherwise.
    pub lacks: Option<String>,
}

/// The checks of every kind, also of those that had no occasion, and of what a whole cell gets for each access point of the station.
/// `records` are the stations that they are about: the one in question, or all.
pub(super) fn checks<'f>(
    findings: impl Iterator<Item = &'f Finding> + Clone,
    (capture, seen): (&Capture, &Observations),
    records: &[&StationRecord],
) -> Vec<CheckReport> {
    let mut stays: Vec<(&StationRecord, Vec<Stay>)> =
        records.iter().map(|record| (*record, seen.stays_of(record.mac).access_points())).collect();
    if let [(_, own)] = &mut stays[..] {
        own.truncate(MOST_ACCESS_POINTS);
    }
    let own = if let [(_, own)] = &stays[..] { &own[..] } else { &[] };
    let check = |(kind, stay): (FindingKind, Option<&Stay>)| {
        let bssid = stay.map(|stay| stay.bssid);
        let is_meant =
            |finding: &&Finding| finding.kind == kind && bssid.is_none_or(|bssid| finding.station == bssid);
        let of_kind = findings.clone().filter(is_meant);
        let count = |verdict| of_kind.clone().map(|finding| finding.count(verdict)).sum();
        let (violated, kept) = (count(Verdict::Violated), count(Verdict::Kept));
        CheckReport {
            kind: kind.name(),
            bssid: bssid.map(|bssid| bssid.to_string()),
            violated,
            kept,
            undecidable: count(Verdict::Undecidable),
            lacks: if violated + kept > 0 { None } else { lacks((kind, stay), capture, &stays) },
        }
    };
    let each = |kind: FindingKind| {
        let is_of_each = kind.is_of_cell() && !own.is_empty();
        let of_cells = own.iter().filter(move |_| is_of_each).map(Some);
        of_cells.chain((!is_of_each).then_some(None)).map(move |stay| (kind, stay))
    };
    FindingKind::ALL.into_iter().flat_map(each).map(check).collect()
}

/// Names what a rule needs of a capture and none of these stations has, with that access point if there is one; `None` if one has it all.
fn lacks(
    (kind, with): (FindingKind, Option<&Stay>),
    capture: &Capture,
    stays: &[(&StationRecord, Vec<Stay>)],
) -> Option<String> {
    let of_station = |(record, stays): &(&StationRecord, Vec<Stay>)| {
        if with.is_some() || stays.is_empty() {
            return lacks_of(kind, capture, (record, with));
        }
        let of_each = stays.iter().map(|stay| lacks_of(kind, capture, (record, Some(stay))));
        of_each.collect::<Option<Vec<_>>>()?.pop()
    };
    let lacking: Vec<String> = stays.iter().map(of_station).collect::<Option<_>>()?;
    let others = match lacking.len() {
        0 | 1 => String::new(),
        count => format!(" (and so on, for {count} stations)"),
    };
    Some(lacking.first()?.clone() + &others)
}

/// Names what a rule needs and the capture does not have of this station with one of its access points; `None` if it has it all.
fn lacks_of(
    kind: FindingKind,
    capture: &Capture,
    (record, stay): (&StationRecord, Option<&Stay>),
) -> Option<String> {
    let (needs, mac) = (kind.needs(), record.mac);
    // Of a station without one nothing is to be decided.
    if kind.is_of_wake_times() && capture.wake_times.is_empty() {
        return None;
    }
    let Some(&Stay { bssid, aid, .. }) = stay else {
        return Some(format!("no frame shows the access point of {mac}"));
    };
    let network = capture.networks.get(&bssid);
    let beacons = network.map_or(0, |network| network.beacons);
    if needs.beacons > 0 && beacons == 0 {
        return Some(format!(
            "no beacon of {bssid} was captured (a nontransmitted BSSID of several has none: its TIM is in those of another, \
             which is not read)"
        ));
    }
    if beacons < needs.beacons {
        let captured = match beacons {
            1 => format!("one beacon of {bssid} was"),
            _ => format!("{beacons} beacons of {bssid} were"),
        };
        return Some(format!("{captured} captured, and at least {} are needed", needs.beacons));
    }
    // A valid TIM has a DTIM period above zero.
    if needs.tim && network.is_none_or(|network| network.dtim_period == 0) {
        return Some(format!("no beacon of {bssid} was captured up to its TIM, as with a short snap length"));
    }
    let never_slept = !record.mode_known.is_zero() && record.in_power_save.is_zero();
    if needs.aid && aid.is_none() && !never_slept {
        return Some(format!(
            "the association identifier of {mac}, which says which bit of the TIM is its own, is unknown: neither its \
             association nor a PS-Poll was captured"
        ));
    }
    if needs.mode && record.mode_known.is_zero() {
        let counts = &record.counts;
        return Some(match counts.nulls + counts.data_up {
            0 if counts.ps_polls > 0 => {
                format!("of {mac} only PS-Polls show its power-management mode, which is that of the instant")
            }
            0 => format!("no frames of {mac} show its power-management mode"),
            1 if counts.ps_polls > 0 => format!(
                "one frame of {mac} shows its power-management mode beside its PS-Polls, which show that of the instant, and how long it kept that shows \
                 the next one"
            ),
            1 => format!(
                "one frame of {mac} alone shows its power-management mode, and how long it kept that shows the next one"
            ),
            _ => format!("no two frames of {mac} show its power-management mode between them"),
        });
    }
    if kind.is_of_polls() && record.uapsd == Some(true) && record.counts.ps_polls == 0 {
        return Some(format!("{mac} is served by U-APSD and sent no PS-Poll, which the rule is about"));
    }
    None
}

/// One occurrence of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
/// The stations and access points that findings have to be about: the one in question with its access points; `None` for all, where none is
/// named or it is named by IP.
pub(super) fn meant(station: Option<&Station>, seen: &Observations) -> Option<BTreeSet<MacAddress>> {
    let Some(Station::Mac(mac)) = station else { return None };
    let access_points = seen.stays_of(*mac).access_points();
    let own = access_points.iter().take(MOST_ACCESS_POINTS).map(|stay| stay.bssid);
    Some(std::iter::once(*mac).chain(own).collect())
}

/// A note about access points of the station that findings are not about, since it was with too many.
pub(super) fn left_out(station: Option<&Station>, seen: &Observations) -> Option<String> {
    let Some(Station::Mac(mac)) = station else { return None };
    let all = seen.stays_of(*mac).access_points().len();
    let left_out = all.saturating_sub(MOST_ACCESS_POINTS);
    (left_out > 0).then(|| {
        format!(
            "the station was with {all} access points: what {left_out} of them sent to their cells, those after the first \
             {MOST_ACCESS_POINTS}, were not analysed"
        )
    })
}

fn file_of(capture: &Capture, packet: u32) -> Option<(String, u32)> {
    capture.file_of(packet).map(|(name, number)| (name.to_owned(), number))
}

/// With which radio and under which policy the faults of a capture cost what they did.
pub(super) struct Costing<'a> {
    pub(super) radio: Option<&'a Radio>,
    /// Whether the radio is a default: the cost then has the band of all profiles that ship.
    pub(super) is_assumed: bool,
    /// The radios that the capture names, which replace the default.
    pub(super) named: &'a BTreeMap<MacAddress, Radio>,
    /// The stations: with which access points they were, and when they slept.
    pub(super) seen: &'a Observations,
    /// The station in question.
    pub(super) station: Option<MacAddress>,
}

impl Costing<'_> {
    /// The policy on the air: that of the station of the finding, or of the one in question if it is about an access point.
    fn policy(&self, finding: &Finding) -> Option<&'static str> {
        let of = |mac| self.seen.stations.iter().find(|record| record.mac == mac);
        of(finding.station).or_else(|| of(self.station?))?.policy()
    }

    /// Whether what an access point does to its cell at a time and with a packet concerns the station in question, or one of all: it was
    /// there, and may have slept. Nothing is known of a cell without stations.
    fn concerns(&self, finding: &Finding, at: Instant, packet: u32) -> bool {
        let is_meant = |record: &&StationRecord| {
            self.station.is_none_or(|station| record.mac == station)
                && self.seen.stays_of(record.mac).ever_with(finding.station)
        };
        let may_sleep = |record: &StationRecord| {
            let modes = self.seen.modes.get(&record.mac).map_or(&[][..], Vec::as_slice);
            let span =
                modes.get(modes.partition_point(|span| span.until <= at)).filter(|span| span.from <= at);
            span.is_none_or(|span| span.in_power_save || !span.is_known)
        };
        let is_there = |record: &StationRecord| {
            let stays = self.seen.stays_of(record.mac);
            stays.is_with(finding.station, packet) && !stays.is_before(packet)
        };
        let mut meant = self.seen.stations.iter().filter(is_meant).peekable();
        meant.peek().is_none() || meant.any(|record| is_there(record) && may_sleep(record))
    }

    /// The radio that the finding cost energy, and whether it is a default. A finding about an access point concerns all of its stations:
    /// their radio is known if all have the same.
    fn radio(&self, finding: &Finding) -> (Option<&Radio>, bool) {
        if !self.is_assumed {
            return (self.radio, false);
        }
        let of_its_cell = |record: &&StationRecord| self.seen.stays_of(record.mac).ever_with(finding.station);
        let mut of_stations =
            self.seen.stations.iter().filter(of_its_cell).map(|record| self.named.get(&record.mac));
        let of_all =
            of_stations.next().flatten().filter(|first| of_stations.all(|other| other == Some(first)));
        match self.named.get(&finding.station).or(of_all) {
            Some(radio) => (Some(radio), false),
            None => (self.radio, true),
        }
    }
}

/// A span in seconds, as the number nearest to its decimal digits: a product with 1e-9 is beside it.
fn rounded_s(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// The access point of all occurrences with a verdict, if it is the same one.
fn one_access_point(finding: &Finding, verdict: Verdict) -> Option<MacAddress> {
    let mut of_verdict = finding.occurrences.iter().filter(|one| one.verdict == verdict);
    let first = of_verdict.next()?.access_point;
    first.filter(|_| of_verdict.all(|other| other.access_point == first))
}

pub(super) fn finding(capture: &Capture, finding: &Finding, costing: &Costing<'_>) -> FindingReport {
    let kind = finding.kind;
    let (count, undecidable) = (finding.count(Verdict::Violated), finding.count(Verdict::Undecidable));
    let is_found = count > 0;
    let shown = if is_found { Verdict::Violated } else { Verdict::Undecidable };
    let described = finding.occurrences.iter().filter(|occurrence| occurrence.verdict == shown);
    let described = described.filter_map(|occurrence| {
        let detail = occurrence.detail.clone()?;
        let file = file_of(capture, occurrence.packet);
        Some(ExampleReport { time_s: occurrence.at.as_secs_f64(), packet: occurrence.packet, file, detail })
    });
    let examples: Vec<ExampleReport> = described.collect();
    let policy = costing.policy(finding);
    // What an access point does to the sleep of its cell costs a station nothing that does not sleep.
    let is_awake = kind.is_of_cell() && policy == Some("active");
    let excess_with = |beacon_wait: Span| match is_awake {
        true => Excess::default(),
        false => finding
            .excess(beacon_wait, |at, packet| !kind.is_of_cell() || costing.concerns(finding, at, packet)),
    };
    let excess = Some(excess_with(Span::ZERO)).filter(|_| is_found);
    let spent = excess.filter(|_| kind.has_energy());
    let excess_of = |radio: &Radio| excess_with(radio.beacon_wait);
    let cost_j = |radio: &Radio| spent.map(|_| excess_of(radio).energy_j(radio));
    let (radio, is_assumed) = costing.radio(finding);
    let known: Vec<f64> = match radio {
        Some(_) if is_assumed => Radio::shipped().iter().filter_map(cost_j).collect(),
        _ => Vec::new(),
    };
    FindingReport {
        kind: kind.name(),
        exchanges: None,
        clause: kind.clause(),
        // What is not decided accuses nobody.
        severity: if is_found { kind.severity() } else { "note" },
        certainty: if is_found { "found" } else { "possible" },
        whose: kind.cause(),
        peer: None,
        station: finding.station.to_string(),
        access_point: one_access_point(finding, shown).map(|bssid| bssid.to_string()),
        count,
        undecidable,
        kept: finding.count(Verdict::Kept),
        text: examples.first().map(|example| example.detail.clone()).unwrap_or_default(),
        without: kind.remedy(),
        cost_j: radio.and_then(cost_j),
        radio: radio.filter(|_| spent.is_some()).map(|radio| radio.name.clone()),
        cost_low_j: known.iter().copied().reduce(f64::min),
        cost_high_j: known.iter().copied().reduce(f64::max),
        awake_s: spent.map(|excess| rounded_s(radio.map_or(excess, excess_of).awake)),
        policy: policy.map(str::to_owned),
        costs_j: BTreeMap::new(),
        delay_s: excess.filter(|_| kind.has_delay()).map(|excess| rounded_s(excess.delay)),
        examples,
        occurrences: finding
            .occurrences
            .iter()
            .map(|occurrence| OccurrenceReport {
                time_s: occurrence.at.as_secs_f64(),
                packet: occurrence.packet,
                verdict: occurrence.verdict.name(),
                access_point: occurrence.access_point.map(|bssid| bssid.to_string()),
                aid: occurrence.aid,
                packets: if occurrence.deciding.is_empty() {
                    vec![occurrence.packet]
                } else {
                    occurrence.deciding.clone()
                },
                detail: occurrence.detail.clone().filter(|detail| !detail.is_empty()),
                buffered_s: occurrence.buffered.as_ref().map(in_seconds),
                due_s: occurrence.late.iter().map(|beacon| beacon.due.as_secs_f64()).collect(),
                periods_s: occurrence.periods.iter().map(in_seconds).collect(),
                assumes: occurrence.assumption,
            })
            .collect(),
    }
}

fn in_seconds((from, until): &(Instant, Instant)) -> (f64, f64) {
    (from.as_secs_f64(), until.as_secs_f64())
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
/// Data of the largest keep-alive that has a name, an update of LwM2M in DTLS, in bytes (RFC 6347 and 7252; `sim/stack/application`).
const MOST_KEEP_ALIVE: u32 = 49;

/// The severity of keep-alives, which no rule forbids.
const KEEP_ALIVE_SEVERITY: &str = "note";

/// The names of all kinds of findings, with their severities.
pub fn finding_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = FindingKind::ALL.into_iter().map(|kind| (kind.name(), kind.severity()));
    kinds.chain([(KEEP_ALIVE, KEEP_ALIVE_SEVERITY)])
}

/// Small exchanges that woke the radio for themselves alone.
pub(super) fn lone_findings(capture: &Capture, station: &Station) -> Vec<FindingReport> {
    let (list, bursts) = keep_alives(capture, station);
    let report = |lone: &flows::LoneExchanges| {
        let every = lone.mean_interval().map_or(0.0, Span::as_secs_f64);
        let is_report = lone.most_data > MOST_KEEP_ALIVE;
        let text = format!(
            "{} with {}, woke the radio {} of {bursts} times, every {every:.1} s on average, for {} bytes",
            if is_report {
                format!(
                    "small exchanges, with more data than keep-alives have, up to {} bytes in a packet,",
                    lone.most_data
                )
            } else {
                "exchanges as small as keep-alives,".to_owned()
            },
            lone.peer,
            lone.count,
            lone.bytes
        );
        FindingReport {
            kind: KEEP_ALIVE,
            exchanges: Some(if is_report { "reports" } else { "keep-alives" }),
            clause: "",
            severity: KEEP_ALIVE_SEVERITY,
            certainty: "found",
            whose: if 2 * lone.begun_by_station > lone.count { "station" } else { "peer" },
            peer: Some(lone.peer.clone()),
            station: station.to_string(),
            access_point: None,
            count: lone.count,
            undecidable: 0,
            kept: 0,
            text: text.clone(),
            without: "the same packets without these exchanges",
            cost_j: None,
            cost_low_j: None,
            cost_high_j: None,
            radio: None,
            awake_s: None,
            policy: None,
            costs_j: BTreeMap::new(),
            delay_s: None,
            occurrences: lone
                .starts
                .iter()
                .map(|&(at, packet)| OccurrenceReport {
                    detail: None,
                    time_s: at.as_secs_f64(),
                    packet,
                    verdict: "cost",
                    access_point: None,
                    aid: None,
                    packets: vec![packet],
                    buffered_s: None,
                    due_s: Vec::new(),
                    periods_s: Vec::new(),
                    assumes: None,
                })
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
