//! The document that `analyze` prints: schema 1, numbers in SI base units with the unit in the key.

mod air;
mod capture;
mod finding;
mod policy;

use std::collections::BTreeMap;

use airwatt_base::Voltage;
use airwatt_energy::Radio;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde_json::{Value, json};

pub use self::air::{
    AccessPointReport, AgreementReport, AirReport, MeasuredReport, NetworkReport, StationReport,
    WakeTimeReport,
};
pub use self::capture::{CandidateReport, CaptureReport, FlowReport, SegmentReport};
pub(crate) use self::finding::keep_alives;
pub use self::finding::{
    CheckReport, ExampleReport, FindingReport, KEEP_ALIVE, OccurrenceReport, finding_kinds,
};
pub use self::policy::{AssumptionReport, CellReport, DelayReport, GapReport, PaceReport, PolicyReport};
use crate::capture::Capture;
use crate::current::CurrentReport;
use crate::flows::{self, ByteClasses};
use crate::group::GroupReport;
pub use crate::phy::Basis;
use crate::power_save::{self, Observations, Verdict};
use crate::stations::{self, Station};
use crate::timeline::Timeline;

/// Flows and candidates beyond this many are left out of the document, which counts them.
pub(crate) const LIST_LIMIT: usize = 20;
/// Findings that are listed, each a kind and a device: damaged beacons may be of a hundred thousand access points that never were.
const MOST_FINDINGS: usize = 1_000;

/// The analysis of one capture.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    /// 1.
    pub schema: u32,
    /// The project's version.
    pub version: &'static str,
    /// The file.
    pub capture: CaptureReport,
    /// The station; `null` if the capture leaves doubt and none was named.
    pub station: Option<String>,
    /// Its share of the capture's bytes, if it was chosen for that; `null` if it was named.
    pub station_share: Option<f64>,
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
    /// The cell of the replays; `null` without a station.
    pub cell: Option<CellReport>,
    /// The times of the station's packets; `null` without a station.
    pub pace: Option<PaceReport>,
    /// The energy that each policy would have spent.
    pub policies: Vec<PolicyReport>,
    /// The power save that 802.11 frames show of each station; `null` for other captures.
    pub air: Option<AirReport>,
    /// Findings.
    pub findings: Vec<FindingReport>,
    /// How often each rule about 802.11 frames was checked, by verdict; empty for other captures.
    pub checks: Vec<CheckReport>,
    /// The cost of group-addressed frames to the station if it sleeps; `null` if there are none.
    pub group: Option<GroupReport>,
    /// A measured current beside the prediction, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentReport>,
    /// The time line of stations and radios, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// The JSON schema of the document: that of one station, or `analyses` of several with what is of the capture alone.
pub fn schema() -> Schema {
    let mut schema = schema_for!(Analysis);
    let one = schema.clone();
    let document = schema.ensure_object();
    let required = document.remove("required");
    let of_either =
        json!([{ "required": required }, { "required": ["schema", "version", "capture", "analyses"] }]);
    document.insert("anyOf".to_owned(), of_either);
    let analysis = json!({ "type": "object", "properties": one.get("properties"), "required": required });
    let of_several = json!({
        "description": "The analysis of each station, where several were asked for.",
        "type": "array",
        "items": { "$ref": "#/$defs/Analysis" },
    });
    for (place, name, part) in [("$defs", "Analysis", analysis), ("properties", "analyses", of_several)] {
        if let Some(parts) = document.get_mut(place).and_then(Value::as_object_mut) {
            parts.insert(name.to_owned(), part);
        }
    }
    schema
}

/// The document without energy figures: everything that follows from the capture alone. `radio` adds what the
/// stations of a radiotap capture really spent.
pub fn describe(capture: &Capture, station: Option<&Station>, radio: Option<&Radio>) -> Analysis {
    describe_with((capture, &power_save::observe(capture)), station, radio, false)
}

/// As [`describe`]; `is_assumed` says that the radio is a default, which those replace that the capture names. What rests on it has a
/// band.
pub(crate) fn describe_with(
    (capture, observations): (&Capture, &Observations),
    station: Option<&Station>,
    radio: Option<&Radio>,
    is_assumed: bool,
) -> Analysis {
    let (list, bytes) = flows::by_bytes(capture, station);
    let flow_count = list.len();
    // Found once: a capture of many stations has many findings too.
    let ends = finding::meant(station, observations);
    let is_meant =
        |found: &&power_save::Finding| ends.as_ref().is_none_or(|ends| ends.contains(&found.station));
    let concerned = || observations.findings.iter().filter(is_meant);
    let is_kept = |found: &&power_save::Finding| {
        found.count(Verdict::Violated) + found.count(Verdict::Undecidable) == 0
    };
    let mac = station.and_then(|station| match station {
        Station::Mac(mac) => Some(*mac),
        Station::Ip(_) => None,
    });
    let checks = if capture.is_air() {
        let stations = observations.stations.iter();
        let meant: Vec<_> = stations.filter(|record| mac.is_none_or(|mac| record.mac == mac)).collect();
        finding::checks(concerned(), (capture, observations), &meant)
    } else {
        Vec::new()
    };
    let named = if is_assumed { capture.named_radios() } else { BTreeMap::new() };
    let costing = finding::Costing { radio, is_assumed, named: &named, seen: observations, station: mac };
    let mut listed: Vec<&power_save::Finding> = concerned().filter(|found| !is_kept(found)).collect();
    let unlisted = listed.len().saturating_sub(MOST_FINDINGS);
    if unlisted > 0 {
        // Checks count all of them. Those that violate a rule come first.
        let is_violated = |found: &&power_save::Finding| found.count(Verdict::Violated) > 0;
        let (violated, others): (Vec<_>, Vec<_>) = listed.into_iter().partition(is_violated);
        listed = violated.into_iter().chain(others).take(MOST_FINDINGS).collect();
    }
    let mut findings: Vec<FindingReport> =
        listed.into_iter().map(|found| finding::finding(capture, found, &costing)).collect();
    if let Some(station) = station {
        findings.extend(finding::lone_findings(capture, station));
    }
    let mut about = capture::capture_report(capture);
    about.notes.extend(finding::left_out(station, observations));
    if unlisted > 0 {
        about.notes.push(format!("{unlisted} findings are counted and not listed, beyond {MOST_FINDINGS}"));
    }
    Analysis {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        capture: about,
        station: station.map(Station::to_string),
        station_share: None,
        candidates: stations::choices(capture).iter().take(LIST_LIMIT).map(capture::candidate).collect(),
        bytes,
        flow_count,
        flows: list.iter().take(LIST_LIMIT).zip(0..).map(|(flow, id)| capture::flow(flow, id)).collect(),
        radio: radio.map(|radio| radio.name.clone()),
        radio_voltage_v: radio.and_then(|radio| radio.voltage).map(Voltage::as_volts),
        phy: None,
        cell: None,
        pace: None,
        policies: Vec::new(),
        air: capture.is_air().then(|| air::air(capture, observations, station, (radio, &named))),
        findings,
        checks,
        group: None,
        current: None,
        timeline: None,
    }
}
