//! `doctor`: one line a fact, and what to do about it. Nothing is changed.

use std::path::Path;

use airwatt_linux::capability;
use airwatt_linux::wireless::{WirelessAssociation, WirelessInterface};
use serde::Serialize;

use super::others::{self, Other};
use super::target::NEEDS;
use super::uapsd::Triggers;
use super::{Doctor, drivers, wifi};
use crate::failure::Failure;
use crate::output;

/// What is known.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: u32,
    version: &'static str,
    interface: String,
    driver: Option<String>,
    /// What is known of the driver beforehand.
    driver_uapsd: Option<&'static str>,
    driver_note: Option<&'static str>,
    /// A report of power save that hangs the device.
    driver_trouble: Option<&'static str>,
    ssid: Option<String>,
    frequency_mhz: Option<u64>,
    access_point: Option<String>,
    signal_dbm: Option<i8>,
    beacon_interval_s: Option<f64>,
    dtim_period: Option<u64>,
    beacon_losses: Option<u64>,
    /// `None` if the driver has no power save.
    power_save: Option<bool>,
    /// Whether U-APSD triggers can be sent.
    triggers: &'static str,
    others: Vec<Other>,
    can_measure: bool,
}

/// `airwattd station doctor`.
pub(super) fn doctor(options: &Doctor) -> Result<(), Failure> {
    let (mut wireless, interface) = wifi::find(&options.interface)?;
    let association = wireless.association(interface.index)?;
    // A driver without power save refuses the question.
    let power_save = wireless.power_save(interface.index).ok();
    let triggers = Triggers::find(&mut wireless, interface.index, &interface.name, association.as_ref());
    let missing = capability::first_missing(&NEEDS)?;
    let document = document(&interface, association.as_ref(), power_save, triggers, missing.is_none());
    output::print_document(&document, options.json, |document| table(document, triggers));
    Ok(())
}

fn document(
    interface: &WirelessInterface,
    association: Option<&WirelessAssociation>,
    power_save: Option<bool>,
    triggers: Triggers,
    is_privileged: bool,
) -> Document {
    let driver = wifi::driver(&interface.name);
    let known = driver.as_deref().and_then(drivers::known);
    Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        interface: interface.name.clone(),
        driver_uapsd: known.map(|driver| driver.uapsd.text()),
        driver_note: known.and_then(|driver| driver.note),
        driver_trouble: known.and_then(|driver| driver.trouble),
        driver,
        ssid: interface.ssid.clone(),
        frequency_mhz: interface.frequency_mhz,
        access_point: association.map(|association| association.bssid.to_string()),
        signal_dbm: association.and_then(|association| association.signal_dbm),
        beacon_interval_s: association
            .and_then(|association| association.beacon_interval)
            .map(|interval| interval.as_secs_f64()),
        dtim_period: association.and_then(|association| association.dtim_period),
        beacon_losses: association.and_then(|association| association.beacon_losses),
        power_save,
        triggers: triggers.text().0,
        others: others::find(Path::new("/")),
        can_measure: is_privileged && power_save.is_some() && association.is_some(),
    }
}

fn table(document: &Document, triggers: Triggers) -> String {
    let mut text = String::new();
    let mut fact = |name: &str, value: String, advice: Option<&str>| {
        text.push_str(&output::fact(name, &value));
        if let Some(advice) = advice {
            text.push_str(&output::fact("", &format!("-> {advice}")));
        }
    };
    fact("interface", document.interface.clone(), None);
    let driver = document.driver.clone().unwrap_or_else(|| "not known: it has no device".to_owned());
    fact("driver", driver, None);
    for line in [document.driver_uapsd, document.driver_note].into_iter().flatten() {
        fact("", line.to_owned(), None);
    }
    if let Some(report) = document.driver_trouble {
        let advice = "the daemon refuses it unless the configuration has despite_trouble = true";
        fact("", format!("power save may hang this device: {report}"), Some(advice));
    }
    match &document.access_point {
        None => fact("network", "not connected".to_owned(), Some("connect it, then run this again")),
        Some(access_point) => {
            // The kernel does not know the name where wpa_supplicant itself authenticates and associates.
            let ssid = document.ssid.as_ref().map_or(String::new(), |ssid| format!("{ssid}, "));
            let channel = document.frequency_mhz.map_or(String::new(), |mhz| format!(", {mhz} MHz"));
            let signal = document.signal_dbm.map_or(String::new(), |dbm| format!(", {dbm} dBm"));
            fact("network", format!("{ssid}access point {access_point}{channel}{signal}"), None);
        }
    }
    if let Some(interval) = document.beacon_interval_s {
        let period = document.dtim_period.unwrap_or(1);
        let wait = format!("{:.1} ms", interval * 1e3);
        let group = format!("{:.1} ms", interval * 1e3 * period as f64);
        fact("beacons", format!("every {wait}; DTIM every {group} (period {period})"), None);
        fact(
            "",
            format!("a sleeping radio gets a packet after up to {wait}, a multicast after up to {group}"),
            None,
        );
    }
    match document.power_save {
        None => fact("power save", "the driver has none".to_owned(), None),
        Some(true) => {
            fact("power save", "on; whether the radio sleeps is not known from that".to_owned(), None)
        }
        Some(false) => fact(
            "power save",
            "off: the radio never sleeps".to_owned(),
            Some(
                "let it follow the traffic: airwattd station; what it costs in delay: airwattd station measure",
            ),
        ),
    }
    fact(
        "its timeout",
        "not touched: it can be set, but not read, and so not restored (SIOCGIWPOWER)".to_owned(),
        None,
    );
    let (verdict, advice) = triggers.text();
    fact("triggers", verdict.to_owned(), advice);
    if document.others.is_empty() {
        fact("also sets it", "nothing that is known here".to_owned(), None);
    }
    for other in &document.others {
        fact("also sets it", format!("{}: {}", other.program, other.says), other.advice);
    }
    let (can, advice) = measuring(document);
    fact("measuring", can.to_owned(), advice);
    text
}

/// Returns whether `airwattd station measure` would run, and what to do about it if not.
const fn measuring(document: &Document) -> (&'static str, Option<&'static str>) {
    match document {
        Document { can_measure: true, .. } => ("possible", None),
        Document { power_save: None, .. } => ("not possible: there is no power save to switch", None),
        Document { access_point: None, .. } => ("not possible before it is connected", None),
        Document { .. } => ("not possible without privileges", Some("run it as root")),
    }
}
