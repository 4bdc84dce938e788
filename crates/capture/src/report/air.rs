//! The power save that the 802.11 frames show: cells and stations.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{MacAddress, TwtSchedule, TwtSetup};
use airwatt_energy::Radio;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Basis, LIST_LIMIT};
use crate::capture::Capture;
use crate::clock;
use crate::packet::ObservedCell;
use crate::power_save::{
    HeldAgreement, Observations, ObservedCounts, SleepAgreement, StationRecord, Stay, Stays,
};
use crate::stations::Station;

/// The power save that the 802.11 frames show.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AirReport {
    /// Cells, at most 100: those of the stations, and those with most beacons.
    pub networks: Vec<NetworkReport>,
    /// Stations, the one in question first.
    pub stations: Vec<StationReport>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NetworkReport {
    /// Its address.
    pub bssid: String,
    /// Its name.
    pub ssid: String,
    /// Beacons captured.
    pub beacons: u32,
    /// Beacons that were due in the time that the capture covers; zero if none was captured.
    pub beacons_due: u64,
    /// Beacon interval.
    pub beacon_interval_s: f64,
    /// DTIM period in beacons; zero if no beacon was captured.
    pub dtim_period: u8,
    /// Whether it announces U-APSD.
    pub uapsd: Option<bool>,
    /// The broadcast target wake times that its beacons announce, in the order of their numbers.
    pub wake_schedules: Vec<WakeScheduleReport>,
}

/// A broadcast target wake time, as a beacon announced it last (802.11ax-2021 9.4.2.199).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WakeScheduleReport {
    /// Its number; 0 is for all stations, the others are for those that have joined.
    pub id: u8,
    /// Time from the beginning of a service period to that of the next.
    pub interval_s: f64,
    /// Least time that a station is awake in each.
    pub duration_s: f64,
    /// Whether a station says that it is awake before the access point sends to it.
    pub announced: bool,
    /// Whether the access point sends a Trigger frame in each.
    pub trigger: bool,
    /// Whether other stations end their transmissions before each (restricted target wake time, 802.11be).
    pub restricted: bool,
    /// Beacon intervals for which it will hold; `null` without an end.
    pub persistence: Option<u8>,
}

/// An access point that a station was with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccessPointReport {
    /// Its address.
    pub bssid: String,
    /// The station's last association identifier there.
    pub aid: Option<u16>,
}

/// The power save of a station.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StationReport {
    /// Its address.
    pub mac: String,
    /// Its cell: the last one, if it was in several.
    pub bssid: Option<String>,
    /// The access points that it was with, in the order in which it came to them first.
    pub access_points: Vec<AccessPointReport>,
    /// Association identifier.
    pub aid: Option<u16>,
    /// Whether it had another one earlier in the capture.
    pub aid_changed: bool,
    /// Whether it uses U-APSD.
    pub uapsd: Option<bool>,
    /// Time with a known mode.
    pub mode_known_s: f64,
    /// Of that, in power save.
    pub in_power_save_s: f64,
    /// Its agreements on other times at which it is awake, the first 20. While one holds, rules that depend on its sleep are undecidable.
    pub agreements: Vec<AgreementReport>,
    /// Their number.
    pub agreement_count: usize,
    /// Its frames and changes, counted.
    #[serde(flatten)]
    pub counts: ObservedCounts,
    /// Its measured energy; `null` if the rates are unknown or no radio was given.
    pub measured: Option<MeasuredReport>,
}

/// An agreement of a station with its access point on when it is awake.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgreementReport {
    /// `target-wake-time` or `wnm-sleep`.
    pub kind: &'static str,
    /// The time of the access point's answer that made it.
    pub from_s: f64,
    /// The packet of that answer.
    pub packet: u32,
    /// The time at which a frame ended it, or the association; `null` if it held up to the end of the capture.
    pub until_s: Option<f64>,
    /// Information frames that suspended it, for traffic of the station as a rule.
    pub suspensions: u32,
    /// The parameters of a target wake time; `null` of others.
    pub wake_time: Option<WakeTimeReport>,
}

/// An individual target wake time, as the access point accepted it (802.11ax-2021 9.4.2.199).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WakeTimeReport {
    /// Its flow identifier.
    pub flow: u8,
    /// Time from the beginning of a service period to that of the next.
    pub interval_s: f64,
    /// Least time that the station is awake in each, unless the access point ends it.
    pub duration_s: f64,
    /// Whether the station says that it is awake before the access point sends to it.
    pub announced: bool,
    /// Whether the access point sends a Trigger frame in each.
    pub trigger: bool,
    /// Whether service periods follow each other without a frame that names the next.
    pub implicit: bool,
    /// The beginning of the first service period by the access point's clock, in microseconds; `null` if the frame leaves it out.
    pub target_us: Option<u64>,
}

/// Energy from air time: between sleeping through all of power save and never sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredReport {
    /// `measured`.
    pub basis: Basis,
    /// Time sending.
    pub transmit_s: f64,
    /// Time receiving what was for it.
    pub receive_s: f64,
    /// If it slept whenever it could, also through beacons, and received nothing for others.
    pub energy_low_j: f64,
    /// If it never slept, and received what was for others as well.
    pub energy_high_j: f64,
}

/// Cells that are listed: a capture of a megabyte may have thousands, and each analysis of a document has the list.
const MOST_NETWORKS: usize = 100;

/// What the frames show of networks and stations. A station's radio is the one that the capture names, if it names one.
pub(super) fn air(
    capture: &Capture,
    observations: &Observations,
    station: Option<&Station>,
    (radio, named): (Option<&Radio>, &BTreeMap<MacAddress, Radio>),
) -> AirReport {
    let covered = clock::covered(capture);
    let due = beacons_due(capture);
    let mut list: Vec<&StationRecord> = observations.stations.iter().collect();
    list.sort_by_key(|record| (station != Some(&Station::Mac(record.mac)), record.mac));
    list.truncate(LIST_LIMIT);
    AirReport {
        networks: listed(capture, &list)
            .into_iter()
            .map(|(bssid, network)| NetworkReport {
                bssid: bssid.to_string(),
                ssid: network.ssid.clone(),
                beacons: network.beacons,
                beacons_due: due.get(bssid).copied().unwrap_or_default(),
                beacon_interval_s: network.interval.as_secs_f64(),
                dtim_period: network.dtim_period,
                uapsd: network.uapsd,
                wake_schedules: network.wake_schedules.values().map(schedule_report).collect(),
            })
            .collect(),
        stations: list
            .iter()
            .map(|record| {
                let held = observations.agreements.get(&record.mac).map_or(&[][..], Vec::as_slice);
                let stays = observations.stays_of(record.mac);
                station_report(record, held, stays, covered, named.get(&record.mac).or(radio))
            })
            .collect(),
    }
}

/// The cells that are listed beside these stations, by their addresses.
fn listed<'c>(
    capture: &'c Capture,
    stations: &[&StationRecord],
) -> BTreeMap<&'c MacAddress, &'c ObservedCell> {
    let mut networks: Vec<_> = capture.networks.iter().collect();
    if networks.len() > MOST_NETWORKS {
        let is_of_station = |bssid: &MacAddress| stations.iter().any(|record| record.bssid == Some(*bssid));
        networks.sort_by_cached_key(|(bssid, network)| Reverse((is_of_station(bssid), network.beacons)));
        networks.truncate(MOST_NETWORKS);
    }
    networks.into_iter().collect()
}

fn agreement_report(held: &HeldAgreement) -> AgreementReport {
    let (kind, wake_time) = match held.agreement {
        SleepAgreement::TargetWakeTime(setup) => ("target-wake-time", Some(wake_time_report(&setup))),
        SleepAgreement::WnmSleep => ("wnm-sleep", None),
    };
    AgreementReport {
        kind,
        from_s: held.from.0.as_secs_f64(),
        packet: held.from.1,
        until_s: held.until.map(|until| until.as_secs_f64()),
        suspensions: held.suspensions,
        wake_time,
    }
}

fn schedule_report(schedule: &TwtSchedule) -> WakeScheduleReport {
    WakeScheduleReport {
        id: schedule.id,
        interval_s: schedule.interval.span().as_secs_f64(),
        duration_s: schedule.duration.span().as_secs_f64(),
        announced: !schedule.unannounced,
        trigger: schedule.trigger,
        restricted: schedule.restricted,
        persistence: Some(schedule.persistence).filter(|beacons| *beacons < u8::MAX),
    }
}

fn wake_time_report(setup: &TwtSetup) -> WakeTimeReport {
    WakeTimeReport {
        flow: setup.flow,
        interval_s: setup.interval.span().as_secs_f64(),
        duration_s: setup.duration.span().as_secs_f64(),
        announced: !setup.unannounced,
        trigger: setup.trigger,
        implicit: setup.implicit,
        target_us: setup.target_us,
    }
}

fn access_point_report(stay: &Stay) -> AccessPointReport {
    AccessPointReport { bssid: stay.bssid.to_string(), aid: stay.aid }
}

fn station_report(
    record: &StationRecord,
    held: &[HeldAgreement],
    stays: &Stays,
    covered: Span,
    radio: Option<&Radio>,
) -> StationReport {
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
        access_points: stays.access_points().iter().map(access_point_report).collect(),
        aid: record.aid,
        aid_changed: record.aid_changed,
        uapsd: record.uapsd,
        mode_known_s: record.mode_known.as_secs_f64(),
        in_power_save_s: record.in_power_save.as_secs_f64(),
        agreements: held.iter().take(LIST_LIMIT).map(agreement_report).collect(),
        agreement_count: held.len(),
        counts: record.counts,
        measured,
    }
}

/// The beacons of each cell that were due: from the first and the last one in each steady part of the capture, before and after them as far
/// as it goes.
fn beacons_due(capture: &Capture) -> BTreeMap<MacAddress, u64> {
    let mut due: BTreeMap<MacAddress, u64> = BTreeMap::new();
    for part in &capture.segments {
        let mut bounds: BTreeMap<MacAddress, (Instant, Instant)> = BTreeMap::new();
        for packet in &capture.packets[part.first..part.end] {
            let beacon = capture.frame(packet).and_then(|frame| capture.beacons.get(frame.beacon? as usize));
            if let Some(beacon) = beacon {
                bounds.entry(beacon.bssid).or_insert((packet.at, packet.at)).1 = packet.at;
            }
        }
        for (bssid, network) in capture.networks.iter().filter(|(_, network)| !network.interval.is_zero()) {
            let interval = network.interval;
            *due.entry(*bssid).or_default() += match bounds.get(bssid) {
                None => part.duration().whole(interval),
                Some((first, last)) => {
                    let before = first.saturating_since(part.from).whole(interval);
                    let between = (last.saturating_since(*first) + interval / 2).whole(interval);
                    before + between + 1 + part.until.saturating_since(*last).whole(interval)
                }
            };
        }
    }
    due
}
