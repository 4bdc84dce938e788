//! The cost and the benefit of the daemon on this host, and the case of docs/station.md in which the host is: for `status`, `report` and `doctor`.
//!
//! The cost is compared with the setting as it was found and with the kernel's default, which is power save on without the daemon. Where
//! no profile is known of the radio, the time awake stands for its power.

use serde::Deserialize;
use serde_json::{Value, json};

use super::supply::Supply;
use crate::output::{self, band, number};

/// A share of the time awake that is no more than the default's.
const SAME: f64 = 0.01;
/// Shares of the time with power save on at which a period was under one setting.
const ON: f64 = 0.9;
const OFF: f64 = 0.1;

/// The supply of the host, and the price that holds.
pub(super) fn supply(document: &Value) -> String {
    let supply = Supply::deserialize(&document["supply"]).map_or("not known", Supply::text);
    let key =
        if document["supply"] == "battery" { "worth_on_battery, or worth if that is less" } else { "worth" };
    let price = document["worth_s"].as_f64();
    price.map_or_else(
        || supply.to_owned(),
        |worth| format!("{supply}: up to {worth} s awake a packet of a peer ({key})"),
    )
}

/// Whether enabling the daemon costs anything on this host, by what it has counted; `None` before it has counted for a minute.
pub(super) fn case(document: &Value) -> Option<String> {
    if document["radio_in_power_save"] == "stays-awake" {
        return Some("enabling brings nothing: the radio stays awake although power save is on".to_owned());
    }
    let counted = |period: &Value| period["elapsed_s"].as_f64().is_some_and(|elapsed| elapsed >= 60.0);
    if counted(&document["with"]) {
        with(document)
    } else {
        before(document).filter(|_| counted(&document["before"]))
    }
}

fn with(document: &Value) -> Option<String> {
    let period = &document["with"];
    let elapsed = period["elapsed_s"].as_f64()?;
    let awake = 1.0 - period["asleep_share"]["likely"].as_f64()?;
    let default = document["default_awake_share"][1]["likely"].as_f64()?;
    let packets = period["peers"]["packets"].as_u64()?;
    let more = (awake - default).max(0.0);
    if more <= SAME {
        return Some(
            "enabling costs nothing: the radio is awake no longer than with the kernel's default".to_owned(),
        );
    }
    let times = awake / default.max(1e-3);
    let radio = format!("the radio is awake {times:.1} times as long as with the kernel's default");
    if packets == 0 {
        return Some(format!("enabling costs: {radio}, for answers to this host"));
    }
    Some(format!(
        "enabling costs: {radio}, {:.1} s more for each packet of a peer after a pause (one each {:.1} s); if nobody waits for these: a lower \
         worth (worth_on_battery on battery)",
        more * elapsed / packets as f64,
        elapsed / packets as f64,
    ))
}

/// Peers whose packets come more often than they are worth are those that the radio would stay awake for.
fn before(document: &Value) -> Option<String> {
    let period = &document["before"];
    let elapsed = period["elapsed_s"].as_f64()?;
    let packets = period["peers"]["packets"].as_u64()?;
    if packets < 3 {
        return Some(format!("enabling would cost nothing so far: {packets} packets of peers after a pause"));
    }
    let each = elapsed / packets as f64;
    let worth = document["worth_s"].as_f64()?;
    let so_far =
        format!("so far a packet of a peer after a pause each {each:.1} s, worth up to {worth} s awake");
    Some(if each <= worth {
        format!(
            "enabling would cost: {so_far}: the radio would be awake for most of the time if they wait for beacons and are of one peer"
        )
    } else {
        format!(
            "enabling would cost little: {so_far}: the radio would be awake about when they come, if they are regular, and else sleep"
        )
    })
}

/// The case, and two lines for a changelog.
pub(super) fn lines(document: &Value) -> String {
    let case = case(document).unwrap_or_else(|| "not known before a minute is counted".to_owned());
    let mut lines = "\n".to_owned() + &output::fact("this host", &case);
    if document["with"]["elapsed_s"].as_f64().is_some_and(|elapsed| elapsed > 0.0) {
        lines += &output::fact("it costs", &costs(document));
        lines += &output::fact("it brings", &brings(document));
    }
    lines
}

/// The power of the radio with the daemon, as found, and with the kernel's default.
fn costs(document: &Value) -> String {
    let is_on = document["power_save_found"] == true;
    let minutes = number(&document["with"]["elapsed_s"], 1.0 / 60.0, 1);
    let (ours, found, default, by) = match document["radio"].as_str() {
        Some(radio) => {
            let power = |value: &Value| band(value, 1e3, 0) + " mW";
            let [ours, found, default] =
                [&document["with"]["power_w"], &document["as_found_power_w"], &document["default_power_w"]]
                    .map(power);
            (ours, found, default, format!("estimated by the radio profile {radio}"))
        }
        None => {
            let asleep = &document["with"]["asleep_share"];
            let awake = |of: &str| asleep[of].as_f64().map(|asleep| 1.0 - asleep);
            let ours = json!({ "low": awake("high"), "likely": awake("likely"), "high": awake("low") });
            let share = |value: &Value| band(value, 100.0, 1) + " % of the time awake";
            let default = share(&document["default_awake_share"][1]);
            let found = if is_on { default.clone() } else { "100 %".to_owned() };
            (share(&ours), found, default, "estimated".to_owned())
        }
    };
    let others = if is_on {
        format!("the kernel's default, as found (power save on), {default}")
    } else {
        format!("as found (power save off) {found}; the kernel's default (power save on) {default}")
    };
    format!(
        "{ours} with airwatt; {others}; {by} for the same packets in {minutes} min; in brackets: tails of 20 to 250 ms"
    )
}

/// The times that peers wait with the daemon, and waited before.
fn brings(document: &Value) -> String {
    let wait = |period: &Value| {
        let peers = &period["peers"];
        let timed = peers["timed"].as_u64().filter(|timed| *timed > 0)?;
        let milliseconds = |value: &Value| number(value, 1e3, 0);
        let [low, high] = [0, 1].map(|end| milliseconds(&peers["p95_interval_s"][end]));
        let sure = if low == "-" {
            "too few for an interval".to_owned()
        } else {
            format!("{low} to {high}, 95 % confidence")
        };
        Some(format!("{} ms at the 95th percentile ({sure}; {timed} packets)", milliseconds(&peers["p95_s"])))
    };
    let ours = wait(&document["with"])
        .unwrap_or_else(|| "a time that is not known, since none was timed,".to_owned());
    let share =
        document["before"]["power_save_share"].as_f64().filter(|_| wait(&document["before"]).is_some());
    let before = wait(&document["before"]).unwrap_or_default();
    let unknown = |what: &str| {
        let beacons = document["beacon_interval_s"].as_f64();
        let up_to =
            beacons.map_or_else(String::new, |interval| format!(", up to {:.0} ms a beacon", interval * 1e3));
        format!("{what} not measured{up_to}")
    };
    let measure = "hint: airwattd station measure";
    let others = match share {
        Some(share) if share >= ON && document["power_save_found"] == true => {
            format!("before, with the kernel's default as found, {before}")
        }
        Some(share) if share >= ON => format!("before, with the kernel's default, {before}"),
        Some(share) if share <= OFF => {
            format!(
                "before, with power save off, {before}; {}; {measure}",
                unknown("with the kernel's default")
            )
        }
        Some(_) => format!("before, with power save on and off, {before}; {measure}"),
        None => format!(
            "before, {}; {measure}",
            unknown("with the setting as found and with the kernel's default,")
        ),
    };
    format!("peers wait {ours} with airwatt; {others}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(elapsed: f64, share: f64, asleep: f64, packets: u64, p95_s: f64) -> Value {
        // Fewer have no upper end.
        let interval_s = (packets >= 110).then_some([p95_s - 0.01, p95_s + 0.01]);
        json!({
            "elapsed_s": elapsed, "power_save_share": share, "power_w": { "low": 0.36, "likely": 0.377, "high": 0.38 },
            "asleep_share": { "low": asleep - 0.01, "likely": asleep, "high": asleep + 0.01 },
            "peers": { "packets": packets, "timed": packets, "p95_s": p95_s, "p95_interval_s": interval_s },
        })
    }

    /// Messages of a broker each 10 s.
    fn broker() -> Value {
        let default = json!({ "low": 0.003, "likely": 0.01, "high": 0.025 });
        json!({
            "supply": "mains", "worth_s": 20.0, "radio": "broadcom-4311", "radio_in_power_save": "sleeps", "beacon_interval_s": 0.1024,
            "power_save_found": false, "before": period(300.0, 0.0, 0.0, 30, 0.02), "with": period(3_000.0, 0.05, 0.04, 300, 0.021),
            "as_found_power_w": { "low": 0.392, "likely": 0.392, "high": 0.392 },
            "default_power_w": { "low": 0.025, "likely": 0.03, "high": 0.035 }, "default_awake_share": [default, default],
        })
    }

    fn said(document: &Value) -> String {
        let lines = lines(document);
        assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
        lines.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_maintainer_reads_what_it_costs_and_brings_beside_both_settings() {
        let mut document = broker();
        let text = said(&document);
        for part in [
            "awake 96.0 times as long as with the kernel's default, 9.5 s more for each packet of a peer after a pause (one each 10.0 s)",
            "377 (360 to 380) mW with airwatt; as found (power save off) 392 mW; the kernel's default (power save on) 30 (25 to 35) mW",
            "peers wait 21 ms at the 95th percentile (11 to 31, 95 % confidence; 300 packets) with airwatt; before, with power save off, 20 ms at the 95th percentile (too few for an interval; 30 packets)",
            "with the kernel's default not measured, up to 102 ms a beacon; hint: airwattd station measure",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        document["power_save_found"] = json!(true);
        document["before"] = period(300.0, 1.0, 0.9, 30, 0.116);
        document["radio"] = Value::Null;
        let text = said(&document);
        assert!(
            text.contains(
                "96.0 (95.0 to 97.0) % of the time awake with airwatt; the kernel's default, as found"
            ),
            "{text}"
        );
        assert!(text.contains("before, with the kernel's default as found, 116 ms"), "{text}");
        document["with"] = period(3_000.0, 1.0, 0.99, 300, 0.116);
        assert!(said(&document).contains("enabling costs nothing"));
        document["radio_in_power_save"] = json!("stays-awake");
        assert!(said(&document).contains("enabling brings nothing"));
    }

    #[test]
    fn a_host_knows_its_case_before_the_daemon_acts() {
        let mut document = broker();
        document["with"]["elapsed_s"] = json!(0.0);
        let text = said(&document);
        assert!(
            text.contains("enabling would cost: so far a packet of a peer after a pause each 10.0 s"),
            "{text}"
        );
        assert!(!text.contains("it costs"), "nothing is known of that yet: {text}");
        (document["supply"], document["worth_s"]) = (json!("battery"), json!(2.0));
        assert!(said(&document).contains("enabling would cost little"));
        assert!(
            supply(&document).starts_with("battery: up to 2 s awake a packet of a peer (worth_on_battery")
        );
        document["before"]["elapsed_s"] = json!(59.0);
        assert_eq!(case(&document), None);
        assert_eq!(supply(&json!({ "supply": "no-battery" })), "no battery in this host");
    }
}
