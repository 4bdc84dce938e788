//! A profile as the text of a file, so that what a run had from a file can be kept beside its results.
//!
//! Powers are written as powers, whatever the file had, and a housekeeping as its mean: reading the text gives the same profile. The
//! comments of the original are left out. Of a radio whose host is in another mode than the profile's own, that mode alone is written.

use std::collections::BTreeMap;

use airwatt_base::Power;
use serde::Serialize;

use super::{Average, BeaconReception, HostMode, Radio, Transition};

#[derive(Serialize)]
struct Written<'a> {
    name: &'a str,
    description: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    voltage: Option<String>,
    receive: String,
    listen: String,
    sleep: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deep_sleep: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    min_awake: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    band: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakes_for: Option<&'a str>,
    borrowed: &'a [String],
    transmit: WrittenTransmit,
    to_sleep: WrittenTransition,
    wake_up: WrittenTransition,
    sleep_clock: WrittenClock,
    beacon: WrittenBeacon,
    housekeeping: BTreeMap<&'static str, String>,
    averages: BTreeMap<String, WrittenAverage>,
    assumed: &'a BTreeMap<String, String>,
    mode: Vec<WrittenMode<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenTransmit {
    One(String),
    ByRate(BTreeMap<String, String>),
}

#[derive(Serialize)]
struct WrittenTransition {
    time: String,
    power: String,
}

#[derive(Serialize)]
struct WrittenClock {
    guard: String,
    accuracy_ppm: f64,
    wander_ppm: f64,
}

#[derive(Serialize)]
struct WrittenBeacon {
    reception: &'static str,
    wait: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenAverage {
    Power(String),
    Names(Vec<String>),
    Within(BTreeMap<String, String>),
}

#[derive(Serialize)]
struct WrittenMode<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sleep: Option<String>,
    set: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    averages: BTreeMap<String, WrittenAverage>,
}

impl Radio {
    /// The profile in the notation of a file, from which [`Radio::from_toml`] reads the same one. Where the power while transmitting
    /// depends on the rate, that is the one of the lowest rate until [`Radio::at_rate`] says another.
    pub fn to_toml(&self) -> String {
        let doze = self.sleep.as_nanowatts().saturating_sub(self.housekeeping.as_nanowatts());
        let transmit = if self.transmit_by_rate.is_empty() {
            WrittenTransmit::One(self.transmit.to_string())
        } else {
            let by_rate =
                self.transmit_by_rate.iter().map(|(rate, power)| (rate.to_string(), power.to_string()));
            WrittenTransmit::ByRate(by_rate.collect())
        };
        let written = Written {
            name: &self.name,
            description: &self.description,
            source: &self.source,
            voltage: self.voltage.map(|voltage| voltage.to_string()),
            receive: self.receive.to_string(),
            listen: self.listen.to_string(),
            sleep: Power::from_nanowatts(doze).to_string(),
            deep_sleep: self.deep_sleep.map(|power| power.to_string()),
            host: self.host.map(|power| power.to_string()),
            min_awake: self.min_awake.to_string(),
            band: self.band.as_deref(),
            timeout: self.timeout.map(|timeout| timeout.to_string()),
            wakes_for: self.wakes_for_dtims.then_some("dtim"),
            borrowed: &self.borrowed,
            transmit,
            to_sleep: transition(self.to_sleep),
            wake_up: transition(self.wake_up),
            sleep_clock: WrittenClock {
                guard: self.sleep_clock.guard.to_string(),
                accuracy_ppm: self.sleep_clock.accuracy_ppb as f64 / 1e3,
                wander_ppm: self.sleep_clock.wander_ppb as f64 / 1e3,
            },
            beacon: WrittenBeacon {
                reception: match self.beacon_reception {
                    BeaconReception::Whole => "whole",
                    BeaconReception::Tim => "tim",
                },
                wait: self.beacon_wait.to_string(),
            },
            housekeeping: BTreeMap::from([("power", self.housekeeping.to_string())]),
            averages: averages(&self.averages, self.other_sleep),
            assumed: &self.assumed,
            mode: if self.mode == 0 { modes(&self.modes) } else { Vec::new() },
        };
        toml::to_string(&written).expect("texts, numbers and tables of them are TOML")
    }
}

fn transition(change: Transition) -> WrittenTransition {
    WrittenTransition { time: change.time.to_string(), power: change.power.to_string() }
}

fn averages(list: &[Average], other_sleep: Option<Power>) -> BTreeMap<String, WrittenAverage> {
    let name = |average: &Average| format!("dtim{}", average.dtim_period);
    let powers = list.iter().map(|average| (name(average), WrittenAverage::Power(average.power.to_string())));
    let mut table: BTreeMap<String, WrittenAverage> = powers.collect();
    let fitted: Vec<String> = list.iter().filter(|average| average.is_fitted).map(name).collect();
    if !fitted.is_empty() {
        table.insert("fitted".to_owned(), WrittenAverage::Names(fitted));
    }
    if let Some(power) = other_sleep {
        table.insert("other_sleep".to_owned(), WrittenAverage::Power(power.to_string()));
    }
    // A power has other digits than the current that the file had.
    if !list.is_empty() {
        let within = list.iter().map(|average| (name(average), average.within.to_string()));
        table.insert("within".to_owned(), WrittenAverage::Within(within.collect()));
    }
    table
}

/// The first mode is that of the profile's own figures, which stand above.
fn modes(list: &[HostMode]) -> Vec<WrittenMode<'_>> {
    let mut written: Vec<WrittenMode<'_>> = Vec::new();
    for mode in list {
        let is_own = written.is_empty();
        written.push(WrittenMode {
            id: &mode.id,
            name: &mode.name,
            sleep: (!is_own).then(|| mode.sleep.to_string()),
            set: &mode.set,
            averages: if is_own { BTreeMap::new() } else { averages(&mode.averages, None) },
        });
    }
    written
}
