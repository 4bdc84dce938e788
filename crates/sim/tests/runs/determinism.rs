//! A run depends on the scenario and the seed and on nothing else.

use airwatt_sim::media::cell::frame::{CellFrameKind, Node};
use airwatt_sim::scenario::{Checked, Scenario, shipped};

use crate::support::{cut, in_parallel, policies_of, scenario, simulate, simulate_traced};

/// Short runs: what is compared is every event, not a figure.
fn short(name: &str, policy: &str) -> Checked {
    let mut scenario = Scenario::clone(&cut(name, policy, "3s"));
    if scenario.point_to_point().is_some() {
        // Long enough for its bad times, which a seed decides.
        scenario.duration = Some(airwatt_base::Span::from_secs(30));
    }
    scenario.time_limit = scenario.time_limit.max(airwatt_base::Span::from_secs(3));
    Checked::new(scenario).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_and_without_traces() {
    let mut jobs = Vec::new();
    for shipped in shipped() {
        jobs.extend(policies_of(
            shipped.name,
            &["active", "timeout", "psm", "psm-legacy", "uapsd", "ba-ta+str", "psm-throttling", "ideal"],
        ));
    }
    in_parallel(&jobs, |&(name, policy)| {
        let scenario = short(name, policy);
        let [first, again] = [1, 1].map(|seed| simulate(&scenario, seed));
        let traced = simulate_traced(&scenario, 1, true);
        let document = |run: &airwatt_sim::Run| serde_json::to_string(&run.result).expect("a document");
        assert_eq!(document(&first), document(&again), "{name} {policy}");
        assert_eq!(document(&first), document(&traced), "{name} {policy}, traced");
        assert_eq!(first.fingerprints, again.fingerprints, "{name} {policy}");
        assert_eq!(first.fingerprints, traced.fingerprints, "{name} {policy}, traced");
        let other = simulate(&scenario, 2);
        assert_ne!(first.fingerprints.events, other.fingerprints.events, "{name} {policy}: the seed matters");
    });
}

/// Backoffs come from a stream for each station, named after it. So another station, which stays silent, changes nothing
/// of what the first ones do, down to the nanosecond of each of their frames.
#[test]
fn another_station_changes_nobody_elses_numbers() {
    let frames = |count: &str| {
        let set = [("station.0.count", count), ("flow.0.stations", "[0, 1, 2]"), ("duration", "2s")];
        let run = simulate_traced(&scenario("saturation", &set), 1, true);
        let frames = run.trace.expect("it was asked for").frames;
        let of_stations = frames.into_iter().filter(|frame| frame.kind == CellFrameKind::Data);
        of_stations.map(|frame| (frame.start, frame.from, frame.received)).collect::<Vec<_>>()
    };
    let three = frames("3");
    assert!(three.len() > 1000 && three.iter().any(|(_, from, _)| *from == Node::Station(2)));
    // Up to eight stations have the same beacon: its TIM grows by a byte for each eight.
    assert_eq!(three, frames("4"));
    assert_eq!(three, frames("7"));
}
