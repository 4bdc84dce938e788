//! What a total rests on that neither the capture nor the caller says, and how far it moves with other assumptions.

use airwatt_dot11::Standard;
use airwatt_energy::{Cause, LISTEN_SHARE, ProfileAccount};

use super::total::Total;
use crate::phy::{ASSUMED_FAST, ASSUMED_SLOW, FAST_BEACONS, Phy, beacon_rate_of};
use crate::report::AssumptionReport;

/// The energies of replays with other assumptions.
#[derive(Clone, Debug, Default)]
pub(super) struct Bands {
    /// At the fast and at the slow end of the data rates; empty if the rate is known.
    pub(super) data_rate_j: Vec<f64>,
    /// With fast beacons, if their rate is assumed.
    pub(super) fast_beacons_j: Option<f64>,
    /// With the DTIM beacons alone and their period, if it is assumed that the station wakes up for each beacon.
    pub(super) dtims_j: Option<(u8, f64)>,
    /// The assumptions whose replays the limit of events excludes.
    pub(super) left_out: Vec<&'static str>,
}

pub(super) const DATA_RATE: &str = "data rate";
pub(super) const BEACON_RATE: &str = "beacon rate";
pub(super) const BEACONS: &str = "beacons received";
const RADIO_PROFILE: &str = "radio profile";

/// An assumption that moves the total by less is not reported.
const LEAST_SHARE: f64 = 0.02;

impl Bands {
    /// The assumptions of the total that neither the capture nor the caller replaces, as far as they move it by 2 % or more.
    pub(super) fn assumptions(&self, phy: &Phy, standard: Standard, total: &Total) -> Vec<AssumptionReport> {
        let energy_j = total.energy_j();
        let mut list = Vec::new();
        let mut add = |what: &str, assumed: String, other: String, energies: &[f64]| {
            let low = energies.iter().copied().fold(energy_j, f64::min);
            let high = energies.iter().copied().fold(energy_j, f64::max);
            let share = if energy_j > 0.0 { (high - low) / energy_j } else { 0.0 };
            if share >= LEAST_SHARE {
                let what = what.to_owned();
                list.push(AssumptionReport {
                    what,
                    assumed,
                    other,
                    energy_low_j: low,
                    energy_high_j: high,
                    share,
                });
            }
        };
        let other = format!("{ASSUMED_SLOW} to {ASSUMED_FAST}");
        add(DATA_RATE, phy.rate.to_string(), other, &self.data_rate_j);
        if let Some(fast_j) = self.fast_beacons_j {
            let fast = beacon_rate_of(standard, FAST_BEACONS).unwrap_or(FAST_BEACONS);
            add(BEACON_RATE, phy.beacon_rate.to_string(), fast.to_string(), &[fast_j]);
        }
        if let Some((period, dtims_j)) = self.dtims_j {
            add(BEACONS, "each".to_owned(), format!("DTIM beacons, each of {period}"), &[dtims_j]);
        }
        let Some(radio) = &total.radio else { return list };
        if let Some(account) = ProfileAccount::if_any(radio, &total.states, energy_j) {
            let ends = [energy_j * (1.0 - account.band_low), energy_j * (1.0 + account.band_high)];
            add(RADIO_PROFILE, radio.name.clone(), of_profile(&account), &ends);
            return list;
        }
        let is_assumed = |key: &str| radio.assumed.keys().any(|assumed| assumed == key);
        if is_assumed("listen") {
            let less = (radio.receive.as_watts() * LISTEN_SHARE).min(radio.listen.as_watts());
            let saved_j = (radio.listen.as_watts() - less) * total.states.listen;
            let other = format!("{:.0} % of receive", 100.0 * LISTEN_SHARE);
            add("listen", "as receive".to_owned(), other, &[energy_j - saved_j]);
        }
        if is_assumed("wake_up") {
            let wake_up_j = total.causes.get(&Cause::WakeUp).map_or(0.0, |energy| energy.as_joules());
            let both = [energy_j - wake_up_j, energy_j + wake_up_j];
            add("wake-up charge", "that of the profile".to_owned(), "none to twice".to_owned(), &both);
        }
        list
    }
}

/// What else a profile's values may be, by the parts of its band.
fn of_profile(account: &ProfileAccount) -> String {
    let mut parts = vec!["its error".to_owned()];
    parts.extend(account.assumed.iter().map(|key| match key.as_str() {
        "listen" => format!("listening at {:.0} % of receive", 100.0 * LISTEN_SHARE),
        _ => "a wake-up of none to twice".to_owned(),
    }));
    if !account.borrowed.is_empty() {
        parts.push("what it borrows".to_owned());
    }
    parts.join(", ")
}
