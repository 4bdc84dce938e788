//! A run and the analysis of its own capture under the same policy, cause by cause. A replay has the packets of one station at the
//! times at which the capture has them: what it cannot know are other stations, and what TCP would have done.

#![allow(clippy::print_stdout, reason = "the long test prints the table of the page")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use airwatt_capture::{Capture, Limits, Question, analyze_capture};
use airwatt_sim::record::{EnergyByCause, RunResult, StationResult};
use airwatt_sim::scenario::{Checked, IDEAL, Scenario, policy_kinds, shipped};
use airwatt_sim::{RunOptions, run};

/// The largest difference of the mean power.
const WITHIN: f64 = 0.02;
/// Causes that differ by less, as a share of the energy, are not listed.
const LISTED: f64 = 0.005;

/// Mean power of a station by cause, in watts.
type Powers = BTreeMap<String, f64>;

struct Both {
    run: Powers,
    replay: Powers,
    /// Mean powers between which the replay's is, if it has a band.
    band_w: Option<(f64, f64)>,
}

fn powers(energies: &EnergyByCause, elapsed_s: f64) -> Powers {
    let serde_json::Value::Object(causes) = serde_json::to_value(energies).unwrap() else { unreachable!() };
    let energy_j = |value: &serde_json::Value| match value {
        serde_json::Value::Object(flows) => flows.values().filter_map(serde_json::Value::as_f64).sum(),
        number => number.as_f64().unwrap_or(0.0),
    };
    causes.iter().map(|(cause, value)| (cause.clone(), energy_j(value) / elapsed_s)).collect()
}

impl Both {
    fn total(powers: &Powers) -> f64 {
        powers.values().sum()
    }

    /// By how much the replay is above the run.
    fn error(&self) -> f64 {
        Self::total(&self.replay) / Self::total(&self.run) - 1.0
    }

    /// The causes that differ, each with its difference as a share of the run's energy, the largest first.
    fn shares(&self) -> Vec<(f64, &String)> {
        let whole = Self::total(&self.run);
        let of = |powers: &Powers, cause: &str| powers.get(cause).copied().unwrap_or(0.0);
        let mut names: Vec<&String> = self.run.keys().chain(self.replay.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let mut terms: Vec<(f64, &String)> = names
            .into_iter()
            .map(|cause| ((of(&self.replay, cause) - of(&self.run, cause)) / whole, cause))
            .filter(|(share, _)| share.abs() >= LISTED)
            .collect();
        terms.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        terms
    }

    fn terms(&self) -> String {
        let terms: Vec<String> = self
            .shares()
            .iter()
            .map(|(share, cause)| format!("{} {:+.1} %", cause.replace('_', " "), 100.0 * share))
            .collect();
        terms.join(", ")
    }
}

/// Station 0 of a shipped scenario under a policy, in the run and in the replay of the run's capture. `None` if it cannot have the policy, or
/// has no packets on the air of a cell with an access point.
fn both(name: &str, policy: &str, duration: &str) -> Option<Both> {
    let whole = Scenario::load(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut keys = vec![("policy", policy), ("duration", duration)];
    if whole.measure_from.is_some() {
        keys.extend([("measure_from", "1s"), ("flow.start_spread", "1s"), ("fairness_windows", "[\"1s\"]")]);
    }
    let keys: Vec<(String, String)> =
        keys.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    both_of(&Scenario::load(name, &keys).ok()?, policy)
}

/// The result of a run, and its capture. `None` if nothing was on the air of a cell.
fn captured(scenario: &Checked) -> Option<(RunResult, Capture)> {
    let mut go_on = |_| ControlFlow::Continue(());
    let run = run(scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).ok()?;
    let mut bytes = Vec::new();
    run.trace?.write_pcapng(&mut bytes).ok()?;
    Some((run.result, Capture::read(&scenario.name, &bytes[..]).unwrap()))
}

/// The same of a scenario that has the policy.
fn both_of(scenario: &Checked, policy: &str) -> Option<Both> {
    let (result, capture) = captured(scenario)?;
    let StationResult { radio, energy_by_cause_j, .. } = result.stations.first()?;
    let policies = [policy.to_owned()];
    let limits = Limits { events: Some(u64::MAX), ..Limits::default() };
    let question = Question {
        station: Some("02:00:00:00:01:01"),
        radio: Some(radio),
        policies: &policies,
        seed: 1,
        limits,
        ..Question::default()
    };
    let analysis = analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).ok()?;
    let replayed = analysis.policies.first().filter(|replayed| replayed.packets > 0)?;
    let ends_j = replayed.energy_low_j.zip(replayed.energy_high_j);
    let elapsed_s = analysis.pace?.elapsed_s;
    Some(Both {
        run: powers(energy_by_cause_j, result.simulated_s),
        replay: powers(&replayed.energy_by_cause_j, elapsed_s),
        band_w: ends_j.map(|(low_j, high_j)| (low_j / elapsed_s, high_j / elapsed_s)),
    })
}

fn policies() -> impl Iterator<Item = &'static str> {
    policy_kinds().map(|kind| kind.name).filter(|name| *name != IDEAL.name)
}

/// Bulk, web pages and keys, under the policies that fetch in each way.
#[test]
fn a_replay_of_a_run_s_own_capture_spends_what_the_run_spent() {
    let all: &[&str] = &["active", "timeout", "psm-legacy", "psm", "uapsd"];
    for (name, policies) in
        [("fast-dsl", all), ("ssh", &["timeout", "psm", "ba-ta"]), ("slow-dsl", &["ba-ta"])]
    {
        for policy in policies {
            let both = both(name, policy, "30s").unwrap();
            assert!(both.error().abs() < WITHIN, "{name} {policy}: {:+.3} ({})", both.error(), both.terms());
        }
    }
}

/// A device that reports over MQTT or pings: its current is the same from the scenario and from the capture of its run, whichever beacons
/// the chip wakes up for. The scenario has DTIM beacons alone, which no frame shows: of a chip whose profile does not say it, the band has both.
#[test]
fn devices_take_as_much_by_their_captures_as_by_their_scenarios() {
    const REPORTS: &str = r#"{ kind = "mqtt", interval = "30s", report = "60B" }"#;
    const PINGS: &str = r#"{ kind = "mqtt", keep_alive = "60s" }"#;
    for radio in ["esp32-c3", "esp32-c6", "nrf7002", "siwx917", "cyw43439", "esp32-c3:modem-sleep"] {
        for (dtim_period, policy, application) in
            [(1, "psm", REPORTS), (3, "timeout", REPORTS), (10, "timeout", PINGS), (10, "psm", REPORTS)]
        {
            let text = format!(
                "base = \"idle\"\nname = \"sensor\"\nduration = \"2min\"\n[[flow]]\ndirection = \"up\"\ntransport = \"cubic\"\n\
                 application = {application}\n"
            );
            let keys =
                [("ap.dtim_period", &*dtim_period.to_string()), ("station.radio", radio), ("policy", policy)];
            let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let both = both_of(&Scenario::from_text(&text, "sensor.toml", &keys).unwrap(), policy).unwrap();
            let which =
                format!("{radio}, DTIM {dtim_period}, {policy}: {:+.3} ({})", both.error(), both.terms());
            if radio != "siwx917" {
                assert!(both.error().abs() < WITHIN, "{which}");
            }
            // Without an assumption that moves it by 2 % it has no band.
            let Some((low_w, high_w)) = both.band_w else { continue };
            let run_w = Both::total(&both.run);
            assert!((low_w..=high_w).contains(&run_w), "{which}: {run_w} is not in {low_w} to {high_w}");
        }
    }
}

/// Channels tell the bands of 5 and 6 GHz apart, and with them the standard: of frames that state how they were sent, and of a capture without
/// data, where it is assumed. Beacons are replayed at their length.
#[test]
fn a_capture_of_6_ghz_is_replayed_at_6_ghz() {
    const MQTT: &str = "[[flow]]\ndirection = \"up\"\ntransport = \"cubic\"\n\
                        application = { kind = \"mqtt\", interval = \"10s\", report = \"60B\" }\n";
    let question = Question { station: Some("02:00:00:00:01:01"), ..Question::default() };
    for (standard, flow, phy) in [
        (
            "802.11ax-6GHz",
            MQTT,
            "802.11ax-6GHz at HE20 MCS 7 x1 GI 0.8us, the mode of most of the station's bytes",
        ),
        ("802.11ax", MQTT, "802.11ax at HE20 MCS 7 x1 GI 0.8us, the mode of most of the station's bytes"),
        ("802.11ax-6GHz", "", "assumed: 802.11ax-6GHz at 65Mbps"),
        ("802.11ax", "", "assumed: 802.11n at 65Mbps"),
    ] {
        let text = format!("base = \"idle-6ghz\"\nname = \"six\"\nduration = \"1min\"\n{flow}");
        let keys = [("wifi.standard", standard), ("policy", "timeout")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let scenario = Scenario::from_text(&text, "six.toml", &keys).unwrap();
        let (_, capture) = captured(&scenario).unwrap();
        let analysis = analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).unwrap();
        let (found, cell) = (analysis.phy.unwrap(), analysis.cell.unwrap());
        assert!(found.starts_with(phy), "{standard}: {found}");
        assert!(found.contains("a beacon of 400 B every 102.4ms at 6Mbps"), "{found}");
        assert_eq!((cell.beacon_bytes, cell.beacon_rate_bps), (400, 6e6));
        if !flow.is_empty() {
            let both = both_of(&scenario, "timeout").unwrap();
            assert!(both.error().abs() < WITHIN, "{standard}: {:+.3} ({})", both.error(), both.terms());
        }
    }
}

/// A standard of 6 GHz, which has no rates of data but modes, may be set for any capture.
#[test]
fn any_capture_is_replayed_at_6_ghz() {
    let scenario = Scenario::load("ssh", &[("duration".to_owned(), "10s".to_owned())]).unwrap();
    let (_, capture) = captured(&scenario).unwrap();
    let (policies, settings) =
        (["psm".to_owned()], [("wifi.standard".to_owned(), "802.11ax-6GHz".to_owned())]);
    let question = Question { policies: &policies, settings: &settings, ..Question::default() };
    let analysis = analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).unwrap();
    // The scenario has 130 Mbit/s, and HE20 MCS 10 is the next mode below.
    assert_eq!(analysis.cell.unwrap().data_rate_bps, 129_044_117.0);
}

/// The table of docs/captures.md.
#[test]
#[ignore = "every scenario under every policy takes minutes"]
fn the_page_has_what_differs_by_more() {
    let (mut rows, mut all, mut within) = (Vec::new(), 0, 0);
    for shipped in shipped() {
        let (mut apart, mut terms): (Vec<String>, BTreeMap<String, (f64, f64)>) =
            (Vec::new(), BTreeMap::new());
        for policy in policies() {
            let Some(both) = both(shipped.name, policy, "30s") else { continue };
            let error = both.error();
            println!("{} {policy} {:+.1} %: {}", shipped.name, 100.0 * error, both.terms());
            all += 1;
            if error.abs() <= WITHIN {
                within += 1;
                continue;
            }
            apart.push(format!("{policy} {:+.1} %", 100.0 * error));
            for (share, cause) in both.shares().into_iter().filter(|(share, _)| share.abs() >= WITHIN) {
                let (low, high) = terms.entry(cause.replace('_', " ")).or_insert((share, share));
                (*low, *high) = (low.min(share), high.max(share));
            }
        }
        let term = |(cause, (low, high)): (String, (f64, f64))| {
            let ends = [low, high].map(|share| format!("{:+.1}", 100.0 * share));
            let range = if ends[0] == ends[1] { ends[0].clone() } else { ends.join(" to ") };
            format!("{cause} {range} %")
        };
        let terms: Vec<String> = terms.into_iter().map(term).collect();
        if !apart.is_empty() {
            rows.push(format!("| {} | {} | {} |", shipped.name, apart.join(", "), terms.join(", ")));
        }
    }
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/captures.md")).unwrap();
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    let counts = format!("{within} of {all}");
    println!("{counts} within {} %\n{}", 100.0 * WITHIN, rows.join("\n"));
    assert!(page.contains(&counts), "docs/captures.md: {counts}");
    assert!(missing.is_empty(), "docs/captures.md: {missing:#?}");
}
