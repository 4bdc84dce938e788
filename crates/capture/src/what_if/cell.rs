//! The cell of the replays: what the capture shows of it, what is assumed, and what the caller sets.

use airwatt_base::Rate;
use airwatt_dot11::{AccessParameters, Standard};
use airwatt_sim::scenario::{
    Aggregation, Checked, ListenInterval, RadioChoice, Scenario, Wifi, without_numbers,
};

use super::choice::Choice;
use crate::error::AnalyzeError;
use crate::phy::{Phy, beacon_rate_of, he_mode_below};

/// The arbitration of a cell whose beacons announce none: best effort's (802.11-2020 table 9-155), with the PHY's windows and one access.
const AIFSN: u32 = 3;

/// Keys that have an effect on a replay of group-addressed packets, or with a chip that wakes up for DTIM beacons, which no key of its
/// scenario tells of. They describe the cell, whatever was captured in it.
const KEYS_OF_GROUPS: [&str; 2] = ["ap.dtim_period", "wifi.group_rate"];

/// What a replay takes for the air and for the station where the capture leaves it open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assumed {
    pub(super) rate: Rate,
    pub(super) beacon_rate: Rate,
    /// Whether the station wakes up for DTIM beacons alone, whatever its chip does.
    pub(super) dtims_alone: bool,
}

/// The settings of the station and of its cell that the caller gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellChoice<'a> {
    /// Radio profile.
    pub(crate) radio: &'a RadioChoice,
    /// Keys of a scenario with their values.
    pub(crate) settings: &'a [(String, String)],
}

/// The tables whose keys may be set: the rest of a replay is the capture's.
const SETTABLE: [&str; 3] = ["ap.", "wifi.", "station."];

/// The keys of a station that a replay takes from elsewhere, and how they are set there.
const OWN: [(&str, &str); 4] = [
    ("station.power_save", "--policy, as in --policy timeout:timeout=30ms"),
    ("station.lower_bound", "--policy ideal"),
    ("station.count", "--station all for each station of the capture"),
    ("station.hidden_from", "a replay has one station"),
];

/// Refuses keys without an effect: those outside of the tables of a replay, and those of which it has its own values.
fn check_keys(settings: &[(String, String)]) -> Result<(), AnalyzeError> {
    for (key, _) in settings {
        if !SETTABLE.iter().any(|table| key.starts_with(table)) {
            let line = format!("--set {key}: expected a key of ap, wifi or station, got {key:?}");
            return Err(AnalyzeError::Option(line));
        }
        let plain = without_numbers(key);
        let is_of =
            |own: &str| plain.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if let Some((_, hint)) = OWN.iter().find(|(own, _)| is_of(own)) {
            return Err(AnalyzeError::Option(format!("--set {key}: no effect on a capture; hint: {hint}")));
        }
    }
    Ok(())
}

/// What is known of the cell.
#[derive(Debug)]
pub(super) struct ReplaySettings<'a> {
    pub(super) phy: Phy,
    pub(super) choice: CellChoice<'a>,
    /// The PHY that the caller sets, or that of the capture.
    pub(super) standard: Standard,
}

impl<'a> ReplaySettings<'a> {
    /// What the capture shows, and what the caller sets.
    ///
    /// # Errors
    /// A key that has no effect on a replay.
    pub(super) fn new(phy: Phy, choice: CellChoice<'a>) -> Result<Self, AnalyzeError> {
        check_keys(choice.settings)?;
        let set = Scenario::idle_cell(phy.standard).with_unchecked(choice.settings);
        let standard = set.and_then(|set| set.wifi).map_or(phy.standard, |wifi| wifi.standard);
        Ok(Self { phy, choice, standard })
    }

    /// Whether the caller sets a key, with the number of the station or without.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.choice.settings.iter().any(|(set, _)| without_numbers(set) == key)
    }

    /// Whether the rate of beacons is assumed, and another one is as likely.
    pub(super) fn assumes_beacon_rate(&self) -> bool {
        !self.phy.knows_beacon_rate && !self.is_set("wifi.beacon_rate") && self.standard.is_2_4_ghz()
    }

    /// The DTIM period, if the station is taken to wake up for each beacon although it may as well for the DTIM beacons alone: no frame
    /// shows for which beacons a station wakes up.
    pub(super) fn assumes_each_beacon(&self) -> Option<u8> {
        let is_known = self.choice.radio.profile().wakes_for_dtims || self.is_set("station.listen_interval");
        self.phy.dtim_period.filter(|period| *period > 1 && !is_known)
    }

    pub(super) const fn assumed(&self) -> Assumed {
        Assumed { rate: self.phy.rate, beacon_rate: self.phy.beacon_rate, dtims_alone: false }
    }

    /// The cell of a replay: what the capture shows and what is assumed, and on top of it what the caller sets.
    pub(super) fn scenario(
        &self,
        file: &str,
        has_groups: bool,
        choice: &Choice,
        assumed: Assumed,
    ) -> Result<Checked, AnalyzeError> {
        let mut cell = Scenario::idle_cell(self.standard);
        cell.wifi = cell.wifi.map(|wifi| self.wifi(wifi, has_groups, assumed));
        cell.ap.beacon_interval = self.phy.beacon_interval;
        let cell = cell
            .changed(file, self.choice.settings, &KEYS_OF_GROUPS)
            .map_err(|error| AnalyzeError::Option(error.to_string()))?;
        let mut cell = Scenario::clone(&cell);
        // Afterwards, since keys are set in the text of a scenario, which names a profile that the capture has and cannot hold it.
        cell.station[0].radio = self.choice.radio.clone();
        cell.station[0].power_save = choice.policy.into();
        cell.station[0].lower_bound = choice.lower_bound;
        if assumed.dtims_alone {
            cell.station[0].listen_interval = Some(ListenInterval::Dtim);
        }
        // The DTIM period has an effect where the caller or the chip lets the station skip other beacons, and on group-addressed frames.
        let station = &cell.station[0];
        let skips = station.receive_dtims || station.listening() == ListenInterval::Dtim;
        if (has_groups || skips) && !self.is_set("ap.dtim_period") {
            cell.ap.dtim_period = self.phy.dtim_period.unwrap_or(cell.ap.dtim_period);
        }
        Checked::new(cell).map_err(|error| AnalyzeError::Option(error.to_string()))
    }

    /// The length of captured beacons, unless the caller sets another one.
    pub(super) fn beacon_bytes(&self, scenario: &Scenario) -> u32 {
        scenario.ap.beacon_length.map_or(self.phy.beacon_bytes, |set| set.as_bytes() as u32)
    }

    /// How the capture's radios use the air, with data at the rate of the PHY that is nearest below `rate`. The access point, whose own
    /// access parameters are not announced, is taken to use those that its beacons give to stations.
    fn wifi(&self, wifi: Wifi, has_groups: bool, assumed: Assumed) -> Wifi {
        let Assumed { rate, beacon_rate, .. } = assumed;
        let standard = wifi.standard;
        let rates = standard.rates();
        let nearest = rates.iter().rev().find(|other| **other <= rate).or(rates.first()).copied();
        let is_mode_set = self.is_set("wifi.data_rate") || self.is_set("wifi.mode");
        let captured = self.phy.mode.filter(|mode| standard.has(mode));
        let mode = captured.or_else(|| he_mode_below(standard, rate)).filter(|_| !is_mode_set);
        let has_rate = mode.is_none() && !self.is_set("wifi.mode");
        let is_group_rate = |rate: &Rate| has_groups && standard.control_rates().contains(rate);
        let has_aggregates = self.phy.has_aggregates && standard.modes().is_some();
        let mut wifi = Wifi {
            data_rate: has_rate.then(|| nearest.unwrap_or(rate)),
            mode,
            // Beacons at DSSS rates exist at 2.4 GHz only, and no others in 802.11b.
            beacon_rate: beacon_rate_of(standard, beacon_rate),
            group_rate: self.phy.group_rate.filter(is_group_rate),
            aggregation: has_aggregates.then(Aggregation::default),
            aifsn: AIFSN,
            ..wifi
        };
        if let Some(AccessParameters { aifsn, cw_min, cw_max, txop }) = self.phy.access {
            (wifi.aifsn, wifi.txop) = (aifsn.into(), txop);
            // The windows belong together: one that the caller sets replaces both.
            if !self.is_set("wifi.cw_min") && !self.is_set("wifi.cw_max") {
                (wifi.cw_min, wifi.cw_max) = (Some(cw_min), Some(cw_max));
            }
        }
        wifi
    }
}
