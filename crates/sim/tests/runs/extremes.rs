//! Settings at the ends of their ranges, in any combination: no machine asks for a time that has passed, no sum overflows, and no table of
//! states loses time. The schedule and the ledger panic if one does.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use airwatt_sim::net::RunProgress;
use airwatt_sim::scenario::{Checked, Scenario, Transport, policy_kinds, shipped};
use airwatt_sim::{RunOptions, run};
use proptest::prelude::*;
use serde_json::Value;

/// Depth of tables in which keys are looked for.
const DEPTH: usize = 12;
/// A run ends after this many reports of progress, each of 65,536 events.
const REPORTS_MAX: u64 = 2;

/// A key of a scenario and a value that lies outside every range, so that the error names the range; or the words that it may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    path: String,
    values: Vec<String>,
}

/// Every key of the schema whose value is a quantity, a number or a word.
static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let schema = Scenario::json_schema();
    let mut keys = Vec::new();
    add_keys(&schema, &schema, "", DEPTH, &mut keys);
    keys.retain(|key| !["name", "description", "source"].contains(&key.path.as_str()));
    keys.sort();
    keys.dedup();
    keys
});

fn add_keys(node: &Value, root: &Value, path: &str, depth: usize, keys: &mut Vec<Key>) {
    if depth == 0 {
        return;
    }
    if let Some(place) = node["$ref"].as_str() {
        let target = root.pointer(place.trim_start_matches('#')).expect("a definition");
        add_keys(target, root, path, depth - 1, keys);
    }
    for part in ["anyOf", "oneOf", "allOf"] {
        node[part].as_array().into_iter().flatten().for_each(|node| add_keys(node, root, path, depth, keys));
    }
    for (name, below) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        add_keys(below, root, &path, depth - 1, keys);
    }
    add_keys_of_items(node, root, path, depth, keys);
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words = |list: &Value| -> Vec<String> { list.as_array().into_iter().flatten().map(word).collect() };
    let values = match (node["type"].as_str(), node["format"].as_str()) {
        _ if node["enum"].is_array() => words(&node["enum"]),
        (_, Some("quantity")) => {
            let units = words(&node["examples"]);
            let unit = |example: &String| {
                example.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
            };
            units.iter().map(|example| format!("1000000000000000{}", unit(example))).collect()
        }
        (Some("integer"), _) => vec!["4294967295".to_owned()],
        (Some("number"), _) => vec!["1e300".to_owned()],
        (Some("boolean"), _) => vec!["true".to_owned(), "false".to_owned()],
        _ => return,
    };
    keys.push(Key { path: path.to_owned(), values });
}

fn add_keys_of_items(node: &Value, root: &Value, path: &str, depth: usize, keys: &mut Vec<Key>) {
    // Lists of values, such as those of windows, have no single end.
    if node["items"]["$ref"].is_string() {
        add_keys(&node["items"], root, path, depth - 1, keys);
    }
}

/// The scenario with keys set, or the error.
fn load(name: &str, set: &[(String, String)]) -> Result<Checked, String> {
    Scenario::load(name, set).map_err(|error| error.to_string())
}

/// The ends of the range that an error names, as in `expected 1ms to 2s, got 3s`.
fn ends(error: &str) -> Option<[String; 2]> {
    let (_, expected) = error.lines().next()?.rsplit_once("expected ")?;
    let (range, _) = expected.split_once(", got ")?;
    let (least, most) = range.split_once(" to ")?;
    let first_word = |text: &str| text.split_whitespace().next().map(str::to_owned);
    Some([first_word(least)?, first_word(most)?])
}

/// Adds a value at an end of a key's range, if the scenario accepts it together with the ones before.
fn add_extreme(name: &str, set: &mut Vec<(String, String)>, key: &Key, pick: usize) {
    let mut value = key.values[pick % key.values.len()].clone();
    for _ in 0..2 {
        set.push((key.path.clone(), value));
        match load(name, set) {
            Ok(_) => return,
            Err(error) => {
                set.pop();
                let Some(ends) = ends(&error) else { return };
                value = ends[pick % 2].clone();
            }
        }
    }
}

/// Runs the scenario for some hundred thousand events.
fn simulate(name: &str, set: &[(String, String)], seed: u64) {
    let scenario = load(name, set).expect("it was loaded before");
    let mut reports = 0;
    let mut on_progress = |_| {
        reports += 1;
        if reports < REPORTS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    // A run that is broken off, or does not come to its end, has an error.
    drop(run(&scenario, seed, &mut RunOptions { trace: false, on_progress: &mut on_progress }));
}

/// Combinations that are tried; `PROPTEST_CASES` overrides it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn extreme_settings_break_no_machine(
        scenario in any::<prop::sample::Index>(),
        policy in prop::option::of(any::<prop::sample::Index>()),
        transport in prop::option::of(any::<prop::sample::Index>()),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..64), 1..6),
        seed in 0_u64..1_000,
    ) {
        let name = scenario.get(shipped()).name;
        let policies: Vec<&str> = policy_kinds().map(|kind| kind.name).collect();
        let transports: Vec<&str> = Transport::all().map(Transport::name).collect();
        let mut set = Vec::new();
        for (key, value) in [("policy", policy.map(|index| *index.get(&policies))), ("transport", transport.map(|index| *index.get(&transports)))] {
            set.extend(value.map(|value| (key.to_owned(), value.to_owned())));
            if load(name, &set).is_err() {
                set.pop();
            }
        }
        for (key, pick) in picks {
            add_extreme(name, &mut set, key.get(&KEYS), pick);
        }
        simulate(name, &set, seed);
    }
}

/// Every single key at both ends of its range, in the scenarios that between them have every kind of node.
#[test]
fn single_extremes_break_no_machine() {
    assert!(KEYS.len() > 150, "{} keys", KEYS.len());
    let mut accepted = 0;
    for name in ["tunnel", "four-in-a-row", "ten-stations", "e2tcp", "web"] {
        for key in KEYS.iter() {
            for pick in 0..key.values.len().max(2) {
                let mut set = Vec::new();
                add_extreme(name, &mut set, key, pick);
                if !set.is_empty() {
                    accepted += 1;
                    simulate(name, &set, 1);
                }
            }
        }
    }
    assert!(accepted > 200, "{accepted} settings are accepted");
}

/// A keep-alive that is due before the first packet is sent in time. Its timer used to be noticed with the first packet only, and was in the
/// past by then.
#[test]
fn a_keep_alive_precedes_the_first_packet() {
    let set = [("tunnel.keep_alive", "1s"), ("flow.start", "2500ms"), ("duration", "4s")];
    let run = super::support::simulate(&super::support::scenario("tunnel", &set), 1);
    let clients = run.result.tunnels.iter().map(|tunnel| tunnel.up.keep_alives);
    assert!(clients.clone().all(|count| count >= 2), "{:?}", clients.collect::<Vec<_>>());
}

#[test]
fn ranges_are_checked_where_a_key_has_no_effect() {
    let refused =
        |key: &str, value: &str| load("four-in-a-row", &[(key.to_owned(), value.to_owned())]).expect_err(key);
    assert_eq!(
        refused("tunnel.keep_alive", "20ms"),
        "--set tunnel.keep_alive=20ms: expected 1s to 1h, got 20ms"
    );
    assert!(
        refused("tunnel.keep_alive", "20s").contains("no effect"),
        "an ad-hoc cell has no other end of the hop"
    );
    assert_eq!(refused("ap.dtim_period", "0"), "--set ap.dtim_period=0: expected 1 to 255, got 0");
}

/// A queue below what a saturated sender keeps in it refuses a datagram at the instant at which it is sent.
#[test]
fn a_saturated_sender_of_a_tiny_queue_goes_on() {
    for (direction, key) in [("up", "station.buffer"), ("down", "ap.buffer")] {
        for buffer in ["1packets", "2packets", "5packets"] {
            let keys = [(key, buffer), ("flow.direction", direction), ("duration", "1s")];
            let set: Vec<_> = keys.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            let scenario =
                Scenario::load("saturation", &set).unwrap_or_else(|error| panic!("{key} {buffer}: {error}"));
            let (mut reports, mut events) = (0, 0);
            let mut on_progress = |progress: RunProgress| {
                (reports, events) = (reports + 1, progress.events);
                if reports > REPORTS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let done = run(&scenario, 1, &mut RunOptions { trace: false, on_progress: &mut on_progress });
            let goodput = done.unwrap_or_else(|error| panic!("{key} {buffer}: {error}, {events} events"));
            let total: f64 = goodput.result.flows.iter().map(|flow| flow.goodput_bps).sum();
            // Ten stations share some 30 Mb/s, whatever the length of the queue.
            assert!((20e6..35e6).contains(&total), "{key} {buffer}: {total} b/s");
        }
    }
}
