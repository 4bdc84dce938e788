//! `doctor`: one line a fact, and what to do about it; with `--explain` also how it is known. Nothing is changed.
//!
//! What the host is like is reported without Wi-Fi as well: the kernel, eBPF, privileges, and who else sets power save.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use airwatt_base::Span;
use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::clock::Clock;
use airwatt_linux::wireless::{WirelessAssociation, WirelessInterface};
use airwatt_linux::{seccomp, user};
use serde::Serialize;

use super::benefit;
use super::config::Config;
use super::drivers::Sleeps;
use super::observer::Observer;
use super::others::{self, Other};
use super::supply::{self, Supply};
use super::target::NEEDS;
use super::uapsd::Triggers;
use super::wifi::Found;
use super::{Doctor, Interface, drivers, show, state, target_wake, verdict, waiting, wifi};
use crate::failure::Failure;
use crate::output;

/// The release of the running kernel, and the capabilities of this process.
const KERNEL: &str = "/proc/sys/kernel/osrelease";
const CAPABILITIES: &str = "/proc/thread-self/status (CapEff)";

/// What is known of the Wi-Fi interface.
#[derive(Clone, Debug, Serialize)]
struct InterfaceDocument {
    interface: String,
    driver: Option<String>,
    /// What is known of the driver beforehand.
    driver_power_save: Option<&'static str>,
    driver_uapsd: Option<&'static str>,
    driver_faults: Option<&'static str>,
    driver_source: Option<&'static str>,
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
    /// What the daemon that runs on it says of itself, for a user who may ask it.
    daemon: Option<Running>,
    /// What the daemon can bring, by what is known of the driver and by what an earlier daemon measured.
    brings: String,
    measured: Option<String>,
    /// Whether enabling it costs anything here, by what an earlier daemon counted.
    case: Option<String>,
    /// Whether U-APSD triggers can be sent.
    triggers: &'static str,
    /// The files of the driver that take requests for target wake time; `None` if debugfs cannot be read.
    target_wake_time_files: Option<Vec<&'static str>>,
    can_measure: bool,
    /// Other Wi-Fi interfaces.
    other_interfaces: Vec<String>,
}

/// A daemon that runs.
#[derive(Clone, Debug, Serialize)]
struct Running {
    /// `before`, `acting` or `aside`.
    state: String,
    /// The setting now, why, and as it was found.
    power_save: String,
}

impl Running {
    fn on(name: &str) -> Option<Self> {
        let document = show::of_running(name)?;
        let state = document["state"].as_str().unwrap_or("-").to_owned();
        Some(Self { state, power_save: show::power_save(&document) })
    }
}

/// What is known of the host.
#[derive(Clone, Debug, Serialize)]
struct HostDocument {
    kernel: String,
    /// Whether the program that counts packets loads; `None` without the privilege to try.
    bpf: Option<bool>,
    /// Why it does not load.
    bpf_error: Option<String>,
    /// The first capability that the daemon needs and this process lacks.
    missing_capability: Option<&'static str>,
    /// Whether this process is root's.
    is_root: bool,
    /// Whether the daemon can give up all other privileges and system calls; `None` without those that it needs.
    confined: Option<bool>,
    /// Why it cannot.
    confined_error: Option<String>,
    others: Vec<Other>,
    /// Whether `airwattd station off` was said, and not yet `on`.
    switched_off: bool,
    /// What is wrong with the configuration.
    config_error: Option<String>,
    /// What the host lives on.
    supply: Supply,
    /// What the daemon would do if it were started now.
    would: String,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: u32,
    version: &'static str,
    /// `None` without Wi-Fi.
    #[serde(flatten)]
    wifi: Option<InterfaceDocument>,
    #[serde(flatten)]
    host: HostDocument,
}

/// A line of the table.
struct Fact {
    name: &'static str,
    value: String,
    /// How it is known.
    by: String,
    advice: Option<String>,
}

impl Fact {
    fn new(name: &'static str, value: impl Into<String>, by: impl Into<String>) -> Self {
        Self { name, value: value.into(), by: by.into(), advice: None }
    }

    fn advice(self, advice: Option<impl Into<String>>) -> Self {
        Self { advice: advice.map(Into::into), ..self }
    }

    fn text(&self, explain: bool) -> String {
        let mut text = output::fact(self.name, &self.value);
        if explain && !self.by.is_empty() {
            text += &output::fact("", &format!("by: {}", self.by));
        }
        if let Some(advice) = &self.advice {
            text += &output::fact("", &format!("-> {advice}"));
        }
        text
    }
}

/// `airwattd station doctor`.
///
/// # Errors
/// Without Wi-Fi and with a wrong configuration, after the report.
pub(super) fn doctor(options: &Doctor) -> Result<(), Failure> {
    let (found, failure) = match wifi::find(&options.interface) {
        Ok(found) => (Some(found), None),
        Err(failure @ Failure::Missing(_)) => (None, Some(failure)),
        Err(other) => return Err(other),
    };
    let missing = capability::first_missing(&NEEDS)?;
    let mut triggers = Triggers::Unknown;
    let mut wifi = None;
    if let Some(Found { mut wireless, interface, others, .. }) = found {
        let association = wireless.association(interface.index)?;
        // A driver without power save refuses the question.
        let power_save = wireless.power_save(interface.index).ok();
        triggers = Triggers::find(&mut wireless, interface.index, &interface.name, association.as_ref());
        let association = association.as_ref();
        let mut document = of_interface(&interface, association, power_save, triggers, missing.is_none());
        document.other_interfaces = others;
        wifi = Some(document);
    }
    let host = of_host(wifi.as_ref(), missing, &options.interface)?;
    let wrong = host.config_error.clone().map(Failure::Input);
    let document = Document { schema: 1, version: env!("CARGO_PKG_VERSION"), wifi, host };
    output::print_document(&document, options.json, |document| {
        let mut facts = document.wifi.as_ref().map_or_else(Vec::new, |wifi| interface_facts(wifi, triggers));
        let daemon = document.wifi.as_ref().and_then(|wifi| wifi.daemon.as_ref());
        facts.extend(host_facts(&document.host, daemon, options.explain));
        facts.iter().map(|fact| fact.text(options.explain)).collect()
    });
    wrong.or(failure).map_or(Ok(()), Err)
}

fn of_interface(
    interface: &WirelessInterface,
    association: Option<&WirelessAssociation>,
    power_save: Option<bool>,
    triggers: Triggers,
    is_privileged: bool,
) -> InterfaceDocument {
    let driver = wifi::driver(&interface.name);
    let known = driver.as_deref().and_then(drivers::known);
    let sleeps = if power_save.is_some() {
        known.map_or(Sleeps::Unknown, |driver| driver.sleeps)
    } else {
        Sleeps::Never
    };
    let stored = state::read(&interface.name).map(|stored| stored.document);
    InterfaceDocument {
        interface: interface.name.clone(),
        driver_power_save: known.map(|driver| driver.power_save),
        driver_uapsd: known.map(|driver| driver.uapsd.text()),
        driver_faults: known.and_then(|driver| driver.faults),
        driver_source: known.map(|driver| driver.source),
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
        daemon: Running::on(&interface.name),
        brings: benefit::expected(sleeps, stored.as_ref()),
        measured: stored.as_ref().and_then(benefit::measured),
        case: stored.as_ref().and_then(verdict::case),
        triggers: triggers.text().0,
        target_wake_time_files: target_wake::files(wifi::debugfs(&interface.name).as_deref()),
        can_measure: is_privileged && power_save.is_some() && association.is_some(),
        other_interfaces: Vec::new(),
    }
}

fn of_host(
    wifi: Option<&InterfaceDocument>,
    missing: Option<ProcessCapability>,
    interface: &Interface,
) -> Result<HostDocument, Failure> {
    let may_load =
        capability::first_missing(&[ProcessCapability::Bpf, ProcessCapability::Perfmon])?.is_none();
    // It is attached to nothing, and ends with this process.
    let loaded = may_load.then(|| Observer::load(Clock::start()));
    // Last, since it is for good. What follows reads files and prints.
    let confine = || capability::keep_only(&NEEDS, None).and_then(|()| seccomp::keep_only_needed(true));
    let confined = missing.is_none().then(confine);
    let file = Config::file(None, interface);
    // A plain user may look at the rest.
    let denied = file
        .as_ref()
        .filter(|file| File::open(file).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
    let config = denied.map_or_else(|| Config::read(file.as_deref()), |_| Ok(Config::default()));
    let by_defaults = denied.map_or_else(String::new, |file| {
        format!("; this is by the defaults, since this user may not read {}", file.display())
    });
    let missing = missing.map(ProcessCapability::name);
    let supply = Supply::of_host();
    let switched_off = waiting::switched_off(interface, wifi.map(|wifi| wifi.interface.as_str())).is_some();
    Ok(HostDocument {
        kernel: std::fs::read_to_string(KERNEL)
            .map_or_else(|_| "-".to_owned(), |text| text.trim().to_owned()),
        bpf: loaded.as_ref().map(Result::is_ok),
        bpf_error: loaded.and_then(Result::err).map(|failure| failure.to_string()),
        missing_capability: missing,
        is_root: user::is_root(),
        confined: confined.as_ref().map(Result::is_ok),
        confined_error: confined.and_then(Result::err).map(|error| error.to_string()),
        others: others::find(Path::new("/")),
        switched_off,
        supply,
        would: match &config {
            Ok(_) if switched_off => {
                "end at once: `airwattd station off` was said, and not yet `on`".to_owned()
            }
            Ok(config) => would(wifi, missing, config, supply) + &by_defaults,
            Err(failure) => format!("end with status 2: {failure}"),
        },
        config_error: config.err().map(|failure| failure.to_string()),
    })
}

/// What the daemon would do if it were started now, by this user.
fn would(wifi: Option<&InterfaceDocument>, missing: Option<&str>, config: &Config, supply: Supply) -> String {
    let Some(wifi) = wifi else {
        return "wait for a Wi-Fi interface as a service, and otherwise end with status 4: there is none"
            .to_owned();
    };
    if wifi.driver_trouble.is_some() && !config.despite_trouble {
        return "end with status 4: power save may hang this device".to_owned();
    }
    if wifi.power_save.is_none() {
        return "end with status 4: the driver has no power save to switch".to_owned();
    }
    if let Some(name) = missing {
        return format!("end with status 4: the capability {name} is missing");
    }
    let begin = match (&wifi.access_point, config.observe) {
        (None, _) => "wait for a connection".to_owned(),
        (_, Span::ZERO) => "begin at once".to_owned(),
        (_, observe) => format!("count packets for {observe}, unless an earlier run has"),
    };
    let price = config
        .worth(supply)
        .map_or_else(String::new, |worth| format!(", for up to {worth} awake a packet of a peer"));
    let name = config.power_save.name();
    format!("{begin}; then leave power save on, and act for flows that wait because of it{price} ({name})")
}

fn interface_facts(document: &InterfaceDocument, triggers: Triggers) -> Vec<Fact> {
    let name = &document.interface;
    let mut facts = vec![Fact::new("interface", name, "nl80211, GET_INTERFACE")];
    if let [first, ..] = &document.other_interfaces[..] {
        let others = document.other_interfaces.join(", ");
        facts.push(Fact::new("also Wi-Fi", others, "nl80211, GET_INTERFACE").advice(Some(format!(
            "this page: --interface {first}; the daemon there: airwattd-station@{first}.service"
        ))));
    }
    facts.extend(driver_facts(document));
    facts.push(match &document.access_point {
        None => Fact::new("network", "not connected", "nl80211, GET_STATION")
            .advice(Some("connect it, then run this again")),
        Some(access_point) => {
            // The kernel does not know the name where wpa_supplicant itself authenticates and associates.
            let ssid = document.ssid.as_ref().map_or(String::new(), |ssid| format!("{ssid}, "));
            let channel = document.frequency_mhz.map_or(String::new(), |mhz| format!(", {mhz} MHz"));
            let signal = document.signal_dbm.map_or(String::new(), |dbm| format!(", {dbm} dBm"));
            let value = format!("{ssid}access point {access_point}{channel}{signal}");
            Fact::new("network", value, "nl80211, GET_INTERFACE and GET_STATION")
        }
    });
    if let Some(interval) = document.beacon_interval_s {
        let period = document.dtim_period.unwrap_or(1);
        let wait = format!("{:.1} ms", interval * 1e3);
        let group = format!("{:.1} ms", interval * 1e3 * period as f64);
        let value = format!("every {wait}; DTIM every {group} (period {period})");
        facts.push(Fact::new("beacons", value, "nl80211, GET_STATION (BSS_PARAM)"));
        let value =
            format!("a sleeping radio gets a packet after up to {wait}, a multicast after up to {group}");
        facts.push(Fact::new("", value, "these intervals; a driver may skip beacons, which cannot be read"));
    }
    let measure =
        "let it follow the traffic: airwattd station; what it costs in delay: airwattd station measure";
    let by = "nl80211, GET_POWER_SAVE: what the driver was told";
    facts.push(match (document.power_save, &document.daemon) {
        (None, _) => Fact::new("power save", "the driver has none", "it refuses GET_POWER_SAVE"),
        (_, Some(daemon)) => {
            let value = format!("{}: the daemon sets it", daemon.power_save);
            Fact::new("power save", value, "its control socket")
        }
        (Some(true), _) => Fact::new("power save", "on; whether the radio sleeps is not known from that", by),
        (Some(false), _) => Fact::new("power save", "off: the radio never sleeps", by).advice(Some(measure)),
    });
    facts.push(Fact::new(
        "it can bring",
        &document.brings,
        "the driver's tail by its sources, and simulation",
    ));
    for counted in [&document.measured, &document.case].into_iter().flatten() {
        facts.push(Fact::new("", counted, "the account of the last daemon: airwattd station report"));
    }
    facts.push(Fact::new(
        "its timeout",
        "not touched: it can be set, but not read, and so not restored (SIOCGIWPOWER)",
        "the sources of Linux: cfg80211_wext_giwpower reports on or off alone",
    ));
    let (verdict, advice) = triggers.text();
    let by = "debugfs (uapsd_queues) or the driver's name, and the access point's beacon (GET_SCAN)";
    facts.push(Fact::new("triggers", verdict, by).advice(advice));
    let by = "debugfs (twt and iwlmld of the interface); docs/twt.md says what nl80211 would have to offer";
    let files = document.target_wake_time_files.as_deref();
    facts.push(Fact::new("target wake", target_wake::text(files), by));
    let (can, advice) = measuring(document);
    facts.push(
        Fact::new("measuring", can, "power save, the network and the capabilities, all of this page")
            .advice(advice),
    );
    facts
}

fn driver_facts(document: &InterfaceDocument) -> Vec<Fact> {
    let name = &document.interface;
    let link = format!("/sys/class/net/{name}/device/driver");
    let Some(driver) = &document.driver else {
        return vec![Fact::new("driver", "not known: it has no device", link)];
    };
    let mut facts = vec![Fact::new("driver", driver, link)];
    let Some(source) = document.driver_source else {
        facts.push(Fact::new("", "nothing is known of it beforehand", "docs/station.md lists drivers"));
        return facts;
    };
    let mut known = |value: String| facts.push(Fact::new("", value, source));
    known(format!("power save: {}", document.driver_power_save.unwrap_or("-")));
    if let Some(uapsd) = document.driver_uapsd {
        known(uapsd.to_owned());
    }
    if let Some(faults) = document.driver_faults {
        known(format!("reported: {faults}"));
    }
    if let Some(report) = document.driver_trouble {
        let advice = "the daemon refuses it unless the configuration has despite_trouble = true";
        let value = format!("power save may hang this device: {report}");
        facts.push(Fact::new("", value, report).advice(Some(advice)));
    }
    facts
}

fn host_facts(host: &HostDocument, daemon: Option<&Running>, explain: bool) -> Vec<Fact> {
    let mut facts = vec![Fact::new("kernel", &host.kernel, KERNEL)];
    let counts = "packets are counted in the kernel";
    let tried = "the program was loaded, attached to nothing, and is gone again";
    facts.push(match (host.bpf, &host.bpf_error) {
        (Some(true), _) => Fact::new("eBPF", format!("works: {counts}"), tried),
        (_, Some(error)) => Fact::new("eBPF", error, tried).advice(Some(bpf_advice(error))),
        (_, None) => {
            Fact::new("eBPF", "not tried: the capabilities CAP_BPF and CAP_PERFMON are needed", CAPABILITIES)
                .advice((!host.is_root).then_some("run it as root"))
        }
    });
    facts.push(Fact::new("supply", host.supply.text(), supply::FOLDER));
    facts.push(match host.missing_capability {
        None => Fact::new("privileges", "all that the daemon needs", CAPABILITIES),
        Some(name) => Fact::new("privileges", format!("{name} is missing"), CAPABILITIES).advice(Some(
            if host.is_root {
                "root lacks it here: a container or a service manager withholds it"
            } else {
                "run the daemon as root, or by its unit"
            },
        )),
    });
    let tried = "this process has done it";
    match (host.confined, &host.confined_error) {
        (Some(true), _) => facts.push(Fact::new("restrictions", "the daemon's own take effect", tried)),
        (_, Some(error)) => facts.push(Fact::new("restrictions", error, tried).advice(Some(
            "a unit has to permit the system calls capset and seccomp, and the kernel needs CONFIG_SECCOMP_FILTER",
        ))),
        _ => {}
    }
    for (program, file) in others::KNOWN {
        let found: Vec<_> = host.others.iter().filter(|other| other.program == program).collect();
        for other in &found {
            let value = format!("{program}: {}", other.says);
            facts.push(Fact::new("also sets it", value, file).advice(other.advice.as_ref()));
        }
        if found.is_empty() && explain {
            let value = format!("{program}: no, or it leaves power save alone");
            facts.push(Fact::new("also sets it", value, format!("nothing of it in {file}")));
        }
    }
    if host.others.is_empty() && !explain {
        facts.push(Fact::new("also sets it", "nothing that is known here", ""));
    }
    let by = "all of the above, its configuration, and the files of `station off`";
    let advice = host.switched_off.then_some("airwattd station on");
    facts.push(match daemon {
        Some(daemon) => Fact::new("the daemon", format!("runs: {}", daemon.state), "its control socket")
            .advice(Some("what it does: airwattd station status")),
        None => Fact::new("the daemon", format!("would {}", host.would), by).advice(advice),
    });
    facts
}

/// What lets the program load. With all privileges a refusal is one of a filter of system calls, or of the kernel's lockdown(7).
fn bpf_advice(error: &str) -> &'static str {
    if error.contains("not permitted") {
        "a unit has to permit the system call bpf (SystemCallFilter=bpf), and lockdown has to"
    } else {
        "the kernel needs CONFIG_BPF_SYSCALL and ring buffers (Linux 5.8)"
    }
}

/// Returns whether `airwattd station measure` would run, and what to do about it if not.
const fn measuring(document: &InterfaceDocument) -> (&'static str, Option<&'static str>) {
    match document {
        InterfaceDocument { can_measure: true, .. } => ("possible", None),
        InterfaceDocument { power_save: None, .. } => {
            ("not possible: there is no power save to switch", None)
        }
        InterfaceDocument { access_point: None, .. } => ("not possible before it is connected", None),
        InterfaceDocument { .. } => ("not possible without privileges", Some("run it as root")),
    }
}
