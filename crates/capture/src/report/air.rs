//! The power save that the 802.11 frames show: cells and stations.

use std::collections::BTreeMap;

use airwatt_base::Span;
use airwatt_dot11::MacAddress;
use airwatt_energy::Radio;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Basis, LIST_LIMIT};
use crate::capture::Capture;
use crate::clock;
use crate::power_save::{Observations, ObservedCounts, StationRecord};
use crate::stations::Station;

/// The power save that the 802.11 frames show.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AirReport {
    /// Cells.
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
    /// Beacon interval.
    pub beacon_interval_s: f64,
    /// DTIM period in beacons; zero if no beacon was captured.
    pub dtim_period: u8,
    /// Whether it announces U-APSD.
    pub uapsd: Option<bool>,
}

/// The power save of a station.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StationReport {
    /// Its address.
    pub mac: String,
    /// Its cell.
    pub bssid: Option<String>,
    /// Association identifier.
    pub aid: Option<u16>,
    /// Whether it uses U-APSD.
    pub uapsd: Option<bool>,
    /// Time with a known mode.
    pub mode_known_s: f64,
    /// Of that, in power save.
    pub in_power_save_s: f64,
    /// Its frames and changes, counted.
    #[serde(flatten)]
    pub counts: ObservedCounts,
    /// Its measured energy; `null` if the rates are unknown or no radio was given.
    pub measured: Option<MeasuredReport>,
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
    /// If it slept whenever it could.
    pub energy_low_j: f64,
    /// If it never slept.
    pub energy_high_j: f64,
}

/// What the frames show of networks and stations. A station's radio is the one that the capture names, if it names one.
pub(super) fn air(
    capture: &Capture,
    observations: &Observations,
    station: Option<&Station>,
    (radio, named): (Option<&Radio>, &BTreeMap<MacAddress, Radio>),
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
                beacon_interval_s: network.interval.as_secs_f64(),
                dtim_period: network.dtim_period,
                uapsd: network.uapsd,
            })
            .collect(),
        stations: list
            .iter()
            .take(LIST_LIMIT)
            .map(|record| station_report(record, covered, named.get(&record.mac).or(radio)))
            .collect(),
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
        mode_known_s: record.mode_known.as_secs_f64(),
        in_power_save_s: record.in_power_save.as_secs_f64(),
        counts: record.counts,
        measured,
    }
}
