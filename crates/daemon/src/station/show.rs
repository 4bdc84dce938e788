//! `status` and `report`: what the daemon does, what it has measured before it acted and since, and what it costs itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use airwatt_linux::control;
use airwatt_linux::metrics::Page;
use serde::Serialize;
use serde_json::Value;

use super::account::{Band, PeriodRow};
use super::config::Config;
use super::doze::Doze;
use super::supply::Supply;
use super::verdict;
use super::{KIND, Show, Status, instance, on_or_off, state, waiting, wifi};
use crate::failure::Failure;
use crate::output::{self, band, number};

/// Energy of a wake-up of the processor, and power of a processor that works: what the daemon is charged for itself.
pub(super) const WAKEUP_J: f64 = 200e-6;
pub(super) const CPU_W: f64 = 1.0;

/// What the daemon reports.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Document {
    pub(super) schema: u32,
    pub(super) version: &'static str,
    pub(super) interface: String,
    pub(super) driver: Option<String>,
    pub(super) access_point: Option<String>,
    pub(super) beacon_interval_s: Option<f64>,
    pub(super) policy: &'static str,
    /// The power supply of this host, and the time awake that a packet of a peer is worth with it; `null` for a policy without that price.
    pub(super) supply: Supply,
    pub(super) worth_s: Option<f64>,
    /// `before`, `acting` or `aside`.
    pub(super) state: &'static str,
    pub(super) power_save: bool,
    pub(super) power_save_found: bool,
    /// Why active mode is demanded now.
    pub(super) demand: Option<&'static str>,
    /// Whether the radio sleeps in power save, and the arrivals that say so.
    pub(super) radio_in_power_save: Doze,
    pub(super) arrivals: usize,
    /// The radio profile that powers are of; `null` if none is known, and with it no power.
    pub(super) radio: Option<String>,
    /// Whether the configuration names it; otherwise it is that of the interface's radio.
    pub(super) radio_is_chosen: bool,
    pub(super) before: PeriodRow,
    pub(super) with: PeriodRow,
    /// Power that the setting as found would have taken for the packets of `with`.
    pub(super) as_found_power_w: Option<Band>,
    /// The same with the kernel's default, power save on without the daemon.
    pub(super) default_power_w: Option<Band>,
    /// The share of the time for which that keeps the radio awake for the packets of `before` and of `with`.
    pub(super) default_awake_share: [Option<Band>; 2],
    /// Flows that had a packet lately, by class.
    pub(super) flows: BTreeMap<&'static str, u64>,
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) reaction: Reaction,
    #[serde(rename = "self")]
    pub(super) own: Own,
}

/// The time from a packet that asks for active mode to the driver's answer.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Reaction {
    pub(super) bound_s: f64,
    pub(super) count: u64,
    pub(super) max_s: f64,
    pub(super) over_bound: u64,
}

/// What the daemon costs.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Own {
    pub(super) uptime_s: f64,
    pub(super) wakeups: u64,
    pub(super) wakeups_by_reason: BTreeMap<&'static str, u64>,
    pub(super) cpu_s: f64,
    pub(super) power_w: f64,
}

impl Own {
    pub(super) fn new(
        uptime_s: f64,
        wakeups: u64,
        by_reason: BTreeMap<&'static str, u64>,
        cpu_s: f64,
    ) -> Self {
        let joules = wakeups as f64 * WAKEUP_J + cpu_s * CPU_W;
        Self { uptime_s, wakeups, wakeups_by_reason: by_reason, cpu_s, power_w: joules / uptime_s.max(1e-3) }
    }
}

/// Gauges of Prometheus: the name after [`PREFIX`], the meaning, and the place in the document. A text counts as true if it is `acting`.
const GAUGES: [(&str, &str, &str); 9] = [
    ("power_save", "1 if power save is on, 0 otherwise.", "/power_save"),
    ("acting", "1 if the policy decides, 0 otherwise.", "/state"),
    ("asleep_share", "Estimated share of the time asleep under the daemon.", "/with/asleep_share/likely"),
    ("power_watts", "Estimated power of the radio under the daemon.", "/with/power_w/likely"),
    ("self_power_watts", "Power of the daemon itself.", "/self/power_w"),
    ("delay_p50_seconds", "Median of round trips under the daemon.", "/with/delay/p50_s"),
    ("delay_p95_seconds", "95th percentile of round trips under the daemon.", "/with/delay/p95_s"),
    (
        "peer_wait_p50_seconds",
        "Median of what peers waited for this host under the daemon.",
        "/with/peers/p50_s",
    ),
    ("peer_wait_p95_seconds", "95th percentile of what peers waited for this host.", "/with/peers/p95_s"),
];
/// Counters: the name in `counts`, which stands between [`PREFIX`] and `_total`, and the meaning.
const COUNTERS: [(&str, &str); 11] = [
    ("switches", "Switches of power save."),
    ("triggers", "Frames sent as triggers."),
    ("reach", "Times that a flow was given reach over its pauses."),
    ("answer", "Times that active mode was kept for an answer."),
    ("unsolicited", "Packets of peers after a silence that may have waited for a beacon."),
    ("rewrites", "Changes of power save by other programs."),
    ("refusals", "Switches that the driver has refused."),
    ("roams", "Changes of the access point."),
    ("scans", "Scans, each of which delays packets."),
    ("suspends", "Suspends of this host."),
    ("vanished", "Times that the interface was removed."),
];
const PREFIX: &str = "airwatt_station_";
/// Gauges of requests of this host, by `kind` and by whether its `radio` was asleep: the name after [`PREFIX`], the meaning, and the
/// place in the times of one kind.
const REQUEST_GAUGES: [(&str, &str, &str); 2] = [
    ("request_p50_seconds", "Median from a request of this host to its answer under the daemon.", "p50_s"),
    ("request_p95_seconds", "95th percentile from a request of this host to its answer.", "p95_s"),
];
const REQUESTS: (&str, &str) = ("requests_total", "Requests of this host that were answered.");
/// Packets of peers, of which some are not timed: the name between [`PREFIX`] and `_total`, the meaning, and the place in the document.
const PEER_COUNTERS: [(&str, &str, &str); 2] = [
    ("peer_packets", "Packets of peers after a pause.", "/with/peers/packets"),
    ("peer_packets_timed", "Those whose wait is known, by time stamps; UDP has none.", "/with/peers/timed"),
];
/// Requests of this host as documents name them, and as people do.
const KINDS: [(&str, &str); 3] = [("udp", "UDP, as DNS"), ("ping", "ping"), ("handshake", "TCP handshake")];
const RADIO: [&str; 2] = ["awake", "asleep"];

/// The metrics with their meanings, for the manual page.
pub(super) fn metric_names() -> Vec<(String, &'static str)> {
    let gauges = GAUGES.iter().map(|(name, help, _)| (format!("{PREFIX}{name}"), *help));
    let (waiting, help) = waiting::GAUGE;
    let requests = REQUEST_GAUGES.iter().map(|(name, help, _)| (*name, *help)).chain([REQUESTS]);
    let peers = PEER_COUNTERS.iter().map(|(name, help, _)| (format!("{PREFIX}{name}_total"), *help));
    std::iter::once((waiting.to_owned(), help))
        .chain(gauges)
        .chain(requests.map(|(name, help)| (format!("{PREFIX}{name}"), help)))
        .chain(peers)
        .chain(COUNTERS.iter().map(|(name, help)| (format!("{PREFIX}{name}_total"), *help)))
        .collect()
}

/// A document for Prometheus. What is not known yet has no line.
pub(super) fn metrics(document: &Value) -> Page {
    let mut page = waiting::metrics(document["interface"].as_str(), is_waiting(document));
    let labels = [("interface", text(&document["interface"]))];
    if is_waiting(document) {
        return page;
    }
    for (name, help, place) in GAUGES {
        let value = match document.pointer(place) {
            Some(Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
            Some(Value::String(state)) => Some(f64::from(u8::from(state == "acting"))),
            other => other.and_then(Value::as_f64),
        };
        page.gauge(&format!("{PREFIX}{name}"), help, value.map(|value| (&labels[..], value)));
    }
    request_metrics(&mut page, document);
    for (name, help, place) in PEER_COUNTERS {
        let count = document.pointer(place).and_then(Value::as_u64);
        page.counter(&format!("{PREFIX}{name}_total"), help, count.map(|count| (&labels[..], count)));
    }
    for (name, help) in COUNTERS {
        let count = document["counts"][name].as_u64().unwrap_or(0);
        page.counter(&format!("{PREFIX}{name}_total"), help, [(&labels[..], count)]);
    }
    page
}

/// The times of requests under the daemon.
fn request_metrics(page: &mut Page, document: &Value) {
    let interface = text(&document["interface"]);
    let sets = KINDS.iter().flat_map(|(kind, _)| {
        RADIO.map(|radio| {
            let labels = [("interface", interface), ("kind", kind), ("radio", radio)];
            (labels, &document["with"]["requests"][kind][radio])
        })
    });
    let sets: Vec<_> = sets.collect();
    for (name, help, place) in REQUEST_GAUGES {
        let values = sets.iter().filter_map(|(labels, times)| Some((&labels[..], times[place].as_f64()?)));
        page.gauge(&format!("{PREFIX}{name}"), help, values);
    }
    let (name, help) = REQUESTS;
    let counts =
        sets.iter().filter_map(|(labels, times)| Some((&labels[..], times["round_trips"].as_u64()?)));
    page.counter(&format!("{PREFIX}{name}"), help, counts);
}

/// The interface that is asked for, or the only one on which a daemon runs, or for which one waits.
fn interface(options: &Show) -> Result<String, Failure> {
    if let Some(name) = &options.interface.interface {
        return Ok(name.clone());
    }
    let running = crate::instance::running(KIND)?;
    let mut known = if running.is_empty() { waiting::names()? } else { running };
    // Nobody has named an interface to the daemon that waits for the first one.
    if let Some(first) = known.iter().position(|name| name == waiting::FIRST) {
        let first = known.swap_remove(first);
        if !known.is_empty() {
            known.sort();
            output::progress(&others_line(&known));
        }
        return Ok(first);
    }
    match known.len() {
        1 => Ok(known.remove(0)),
        // Where there is no Wi-Fi, a daemon may be switched off all the same.
        0 => wifi::named(&options.interface).or_else(|failure| {
            waiting::switched_off(&options.interface, None).map(str::to_owned).ok_or(failure)
        }),
        _ => Err(Failure::Input(format!("--interface: expected one of {}, got none", known.join(", ")))),
    }
}

/// A line about daemons that wait for interfaces of their own.
fn others_line(names: &[String]) -> String {
    let wait = if names.len() == 1 { "a daemon waits" } else { "daemons wait" };
    let (first, names) = (waiting::described(waiting::FIRST), names.join(", "));
    format!("this is of the daemon for {first}; {wait} for {names} too; hint: --interface")
}

/// Whether a document is that of a daemon that waits for its interface.
fn is_waiting(document: &Value) -> bool {
    document["state"] == "waits"
}

/// What a daemon says of itself: the one that runs on the interface, or the one that waits for it.
fn ask(name: &str, options: &Show) -> Result<Value, Failure> {
    control::ask(&instance(name).control_socket(), "status").or_else(|error| match error.io().kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
            control::ask(&waiting::instance(name).control_socket(), "status")
                .map_err(|_| nobody(name, options))
        }
        _ => Err(error.into()),
    })
}

/// What the daemon that runs on an interface says of itself; `None` without one, or for a user who may not ask.
pub(super) fn of_running(name: &str) -> Option<Value> {
    control::ask(&instance(name).control_socket(), "status").ok().filter(|document| !is_waiting(document))
}

/// The setting of power save now, why it is so, and as the daemon found it.
pub(super) fn power_save(document: &Value) -> String {
    let found = on_or_off(document["power_save_found"] == true);
    let demand =
        document["demand"].as_str().map_or(String::new(), |why| format!(", because of {why} traffic"));
    let now = on_or_off(document["power_save"] == true);
    format!("{now}{demand} (found {found})")
}

/// No daemon is about this interface.
fn nobody(name: &str, options: &Show) -> Failure {
    let hint = if waiting::switched_off(&options.interface, Some(name)).is_some() {
        "; it was switched off: airwattd station on".to_owned()
    } else if waiting::names().is_ok_and(|names| names.iter().any(|name| name == waiting::FIRST)) {
        format!("; one waits for {}", waiting::described(waiting::FIRST))
    } else {
        String::new()
    };
    Failure::Failed(format!("no station daemon runs on {}{hint}", waiting::described(name)))
}

/// Why nothing runs is in its file, if no daemon can begin with that, and this user may read it.
fn with_its_file(failure: Failure, options: &Show) -> Failure {
    let file = Config::file(None, &options.interface);
    if file.is_none_or(|file| std::fs::File::open(file).is_err()) {
        return failure;
    }
    match Config::of_command(None, &options.interface) {
        Err(Failure::Input(line)) => failure.with(&format!("; a daemon would end with status 2: {line}")),
        _ => failure,
    }
}

/// `airwattd station status`.
pub(super) fn status(options: &Status) -> Result<(), Failure> {
    let asked = interface(&options.show).and_then(|name| ask(&name, &options.show));
    let document = asked.map_err(|failure| with_its_file(failure, &options.show))?;
    if options.metrics {
        output::print(&metrics(&document).to_string());
        return Ok(());
    }
    output::print_document(&document, options.show.json, |document| {
        if is_waiting(document) { wait(document) } else { format!("{}\n{}", head(document), proof(document)) }
    });
    Ok(())
}

/// `airwattd station report`: as `status`, and of the last daemon if none runs.
pub(super) fn report(options: &Show) -> Result<(), Failure> {
    let name = interface(options)?;
    let stored = state::read(&name).map(|stored| stored.document).filter(|document| !document.is_null());
    let document = match (ask(&name, options), stored) {
        (Ok(document), Some(stored)) if is_waiting(&document) => {
            let shown = waiting::described(&name);
            output::progress(&format!("{shown}: a daemon waits for it; this is of the last one"));
            stored
        }
        (Ok(document), _) | (Err(_), Some(document)) => document,
        (Err(Failure::Failed(_)), None) => {
            return Err(Failure::Failed(format!(
                "{}: there is nothing to report yet; hint: run the daemon first (airwattd station)",
                waiting::described(&name)
            )));
        }
        (Err(failure), None) => return Err(failure),
    };
    output::print_document(&document, options.json, |document| {
        if is_waiting(document) { wait(document) } else { proof(document) }
    });
    Ok(())
}

/// The facts about a daemon that waits, as lines for people.
fn wait(document: &Value) -> String {
    let name = document["interface"].as_str().unwrap_or(waiting::FIRST);
    let why = format!("waits: {}", text(&document["why"]));
    output::fact("interface", waiting::described(name)) + &output::fact("state", &why)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn head(document: &Value) -> String {
    let mut lines = String::new();
    let mut line = |name: &str, value: String| lines.push_str(&output::fact(name, &value));
    line("interface", format!("{} ({})", text(&document["interface"]), text(&document["driver"])));
    line("policy", text(&document["policy"]).to_owned());
    let state = match text(&document["state"]) {
        "before" => "counting only, to have something to compare with",
        "aside" => "standing aside: another program sets power save again and again",
        _ => "acting",
    };
    line("state", state.to_owned());
    line("power save", power_save(document));
    line("supply", verdict::supply(document));
    let flows: Vec<String> = document["flows"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(class, count)| format!("{count} {class}"))
        .collect();
    line("flows", if flows.is_empty() { "none".to_owned() } else { flows.join(", ") });
    let own = &document["self"];
    line(
        "own cost",
        format!(
            "{:.3} mW: {} wake-ups and {:.2} s of CPU in {:.0} s",
            own["power_w"].as_f64().unwrap_or(0.0) * 1e3,
            own["wakeups"],
            own["cpu_s"].as_f64().unwrap_or(0.0),
            own["uptime_s"].as_f64().unwrap_or(0.0)
        ),
    );
    lines
}

/// The table of before and with, and what it does not say.
fn proof(document: &Value) -> String {
    [table(document), sources(document), remarks(document), verdict::lines(document)].concat()
}

fn table(document: &Value) -> String {
    let mut lines = String::new();
    let periods = ["before", "with"].map(|period| &document[period]);
    let mut line = |name: &str, [before, with]: [String; 2]| {
        let row = format!("{name:<32} {before:>22} {with:>22}");
        writeln!(lines, "{}", row.trim_end()).expect("a string");
    };
    let count = |value: &Value| number(value, 1.0, 0);
    line("", ["before", "with airwatt"].map(str::to_owned));
    line("time [min]", periods.map(|period| number(&period["elapsed_s"], 1.0 / 60.0, 1)));
    let mut delays = |of: &str, rows: &[(&str, &str)]| {
        for (name, key) in rows {
            line(name, periods.map(|period| count(&period[of][key])));
        }
        for percent in ["p50", "p95", "p99"] {
            let delay = |period: &Value| number(&period[of][format!("{percent}_s")], 1e3, 1);
            line(&format!("  {percent} [ms], at most"), periods.map(delay));
        }
    };
    delays("delay", &[("round trips of this host", "round_trips")]);
    delays("peers", &[("packets of peers after a pause", "packets"), ("  whose wait is known", "timed")]);
    line("requests, p50 / p95 [ms] (number)", ["", ""].map(str::to_owned));
    for (kind, shown) in KINDS {
        for radio in RADIO {
            let times = periods.map(|period| requested(&period["requests"][kind][radio]));
            line(&format!("  {shown}, radio {radio}"), times);
        }
    }
    line("power save on [%]", periods.map(|period| number(&period["power_save_share"], 100.0, 1)));
    line("asleep [%], estimated", periods.map(|period| band(&period["asleep_share"], 100.0, 1)));
    if document["radio"].is_string() {
        line("power [mW], estimated", periods.map(|period| band(&period["power_w"], 1e3, 0)));
    }
    lines
}

/// The times of requests of one kind.
fn requested(times: &Value) -> String {
    match times["round_trips"].as_u64() {
        Some(count) if count > 0 => {
            let digits = |seconds: &Value| usize::from(seconds.as_f64().is_none_or(|seconds| seconds < 0.1));
            let [p50, p95] =
                ["p50_s", "p95_s"].map(|percent| number(&times[percent], 1e3, digits(&times[percent])));
            format!("{p50} / {p95} ({count})")
        }
        _ => "-".to_owned(),
    }
}

/// Where the numbers of the table are from.
fn sources(document: &Value) -> String {
    let mut lines = String::new();
    let mut line = |line: &str| writeln!(lines, "{line}").expect("a string");
    line("a peer's wait: how much longer its packet took than the quickest of the last");
    line("  minute or two, by the time stamps of TCP and ping; other queues on the way are");
    line("  in it; not known of what peers ask by UDP, nor of TCP without stamps of 1 ms;");
    line("  hint: on the peer, ping -i 2 THIS-HOST");
    line("requests: of this host, until their answer; radio asleep: power save was on, and");
    line("  no packet had come or gone for 100 ms");
    line("asleep: by the packets, with the tail of mac80211 (100 ms); bands: tails of 20");
    line("  to 250 ms");
    match document["radio"].as_str() {
        Some(radio) if document["radio_is_chosen"] == false => {
            line(&format!("power by the radio profile {radio}, which is of this radio"));
        }
        Some(radio) => line(&format!("power by the radio profile {radio}, as configured")),
        None => {
            line("no power: no profile is known of this radio; hint: radio = \"NAME\" in the");
            line("  configuration, a profile of your card (`airwatt radios` lists what ships)");
        }
    }
    lines
}

/// What was noticed.
fn remarks(document: &Value) -> String {
    let mut lines = String::new();
    let mut line = |line: String| writeln!(lines, "{line}").expect("a string");
    line(match text(&document["radio_in_power_save"]) {
        "sleeps" => "the radio sleeps in power save: packets after a silence arrive after beacons".to_owned(),
        "stays-awake" => "the radio STAYS AWAKE although power save is on: packets arrive at any time;\n  \
             nothing is saved with this driver, see docs/station.md"
            .to_owned(),
        _ => format!(
            "not known yet whether the radio sleeps in power save ({} of 10 to 20 arrivals)",
            document["arrivals"]
        ),
    });
    let count = |key: &str| document["counts"][key].as_u64().unwrap_or(0);
    let beacons = document["beacon_interval_s"].as_f64();
    line(format!(
        "first packets of peers that may have waited for a beacon{}: {}",
        beacons.map_or_else(String::new, |interval| format!(" (up to {:.0} ms)", interval * 1e3)),
        count("unsolicited"),
    ));
    let reaction = &document["reaction"];
    line(if reaction["count"] == 0 {
        "no packet has woken the daemon for active mode yet".to_owned()
    } else {
        format!(
            "active mode came within {} ms of the packet ({} times, {} over {} ms)",
            number(&reaction["max_s"], 1e3, 1),
            reaction["count"],
            reaction["over_bound"],
            number(&reaction["bound_s"], 1e3, 0),
        )
    });
    if count("rewrites") > 0 {
        line(format!("another program changed power save {} times", count("rewrites")));
    }
    if count("refusals") > 0 {
        line(format!("the driver refused to switch power save {} times", count("refusals")));
    }
    if count("scans") > 0 {
        line(format!("{} scans, each of which delays packets by up to 150 ms", count("scans")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use airwatt_proto::powersave::Demand;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_known_is_said_with_what_would_tell() {
        let period = json!({
            "elapsed_s": 60.0, "power_save_share": 1.0, "asleep_share": { "low": 0.8, "likely": 0.9, "high": 0.9 }, "power_w": null,
            "delay": { "round_trips": 7, "p50_s": 0.02, "p95_s": 0.03, "p99_s": null },
            "peers": { "packets": 9, "timed": 5, "p50_s": 0.05, "p95_s": 0.1, "p99_s": null },
        });
        let mut document = json!({
            "before": period, "with": period, "radio": null, "radio_is_chosen": false, "as_found_power_w": null,
        });
        let said = proof(&document);
        let rows: Vec<Vec<&str>> =
            said.lines().map(|line| line.split("  ").map(str::trim).collect()).collect();
        let has = |cells: &[&str]| rows.iter().any(|row| cells.iter().all(|cell| row.contains(cell)));
        assert!(
            has(&["packets of peers after a pause", "9"]) && has(&["whose wait is known", "5"]),
            "{said}"
        );
        assert!(has(&["p95 [ms], at most", "100.0"]) && has(&["p95 [ms], at most", "30.0"]), "{said}");
        assert!(
            said.contains("radio = \"NAME\"") && !said.contains("mW"),
            "no joules of a radio that nobody named: {said}"
        );
        document["radio"] = json!("ar5004");
        assert!(proof(&document).contains("power by the radio profile ar5004, which is of this radio"));
        // That of a daemon that did not time peers.
        document["with"].as_object_mut().unwrap().remove("peers");
        let said = proof(&document);
        assert_eq!(said.lines().find(|line| line.chars().count() > 80), None);
        assert!(said.contains("UDP, as DNS, radio asleep"), "{said}");
        document["with"]["requests"] = json!({ "udp": {
            "asleep": { "round_trips": 1_000_000, "p50_s": 0.04, "p95_s": 33.554 }, "awake": { "round_trips": 0 },
        } });
        let said = proof(&document);
        let row = |name: &str| said.lines().find(|line| line.contains(name)).map(str::to_owned);
        assert!(row("UDP, as DNS, radio asleep").unwrap().ends_with(" 40.0 / 33554 (1000000)"), "{said}");
        assert!(row("UDP, as DNS, radio awake").unwrap().ends_with(" -"), "{said}");
        assert_eq!(row("requests, p50").as_deref(), Some("requests, p50 / p95 [ms] (number)"));
        assert_eq!(said.lines().find(|line| line.chars().count() > 80), None);
        assert!(said.contains("not known of what peers ask by UDP"), "{said}");
    }

    #[test]
    fn the_page_for_prometheus_has_every_metric_of_the_manual() {
        let document = json!({
            "interface": "wlan0", "power_save": true, "state": "aside", "self": { "power_w": 0.5 },
            "with": { "asleep_share": { "likely": 0.25 }, "power_w": { "likely": 0.1 }, "delay": { "p50_s": 0.01, "p95_s": null },
                "peers": { "packets": 9, "timed": 5 }, "requests": { "udp": { "asleep": { "round_trips": 7, "p50_s": null, "p95_s": 0.04 } } } },
            "counts": { "scans": 3 },
        });
        let page = metrics(&document).to_string();
        for (name, help) in metric_names() {
            assert!(page.contains(&format!("# HELP {name} {help}\n")), "{name}: {page}");
        }
        assert!(page.contains("airwatt_station_power_save{interface=\"wlan0\"} 1\n"), "{page}");
        assert!(page.contains("airwatt_station_acting{interface=\"wlan0\"} 0\n"), "{page}");
        assert!(page.contains("airwatt_station_scans_total{interface=\"wlan0\"} 3\n"), "{page}");
        assert!(page.contains("airwatt_station_roams_total{interface=\"wlan0\"} 0\n"), "{page}");
        assert!(!page.contains("delay_p95_seconds{"), "not known yet: {page}");
        let udp = "interface=\"wlan0\",kind=\"udp\",radio=\"asleep\"";
        assert!(page.contains(&format!("airwatt_station_request_p95_seconds{{{udp}}} 0.04\n")), "{page}");
        assert!(page.contains("airwatt_station_peer_packets_timed_total{interface=\"wlan0\"} 5\n"), "{page}");
        assert!(page.contains(&format!("airwatt_station_requests_total{{{udp}}} 7\n")), "{page}");
        assert!(page.contains("airwatt_station_waiting{interface=\"wlan0\"} 0\n"), "{page}");
        let waits = metrics(&json!({ "interface": null, "state": "waits" })).to_string();
        assert!(waits.ends_with("airwatt_station_waiting{interface=\"-\"} 1\n"), "{waits}");
        assert_eq!(waits.lines().count(), 3, "nothing else is known: {waits}");
        assert!(Demand::ALL.iter().all(|demand| COUNTERS.iter().any(|(name, _)| *name == demand.name())));
    }
}
