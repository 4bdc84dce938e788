use std::ops::ControlFlow;

use airwatt_energy::Ledger;

use super::*;
use crate::media::Medium;
use crate::net::{Network, NetworkPlan};
use crate::scenario::Scenario;

/// A traced run and the ledger of each of its stations.
fn traced(scenario: &str, changes: &[(&str, &str)]) -> (RunTrace, Vec<Ledger>) {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load(scenario, &changes).unwrap();
    let mut network = Network::new(NetworkPlan::new(&scenario.ready().unwrap(), 1), 1);
    network.trace();
    network.run(&mut |_| ControlFlow::Continue(()));
    let places: Vec<_> = network.plan.stations().map(|(medium, number, _)| (medium, number)).collect();
    let mut end = network.now;
    for _ in 0..2 {
        for entry in &mut network.media {
            if let Medium::Cell(cell) = &mut entry.medium {
                end = cell.finish(end);
            }
        }
    }
    let ledger = |(medium, number): (u16, u32)| match &network.media[usize::from(medium)].medium {
        Medium::Cell(cell) => cell.ledger(number).clone(),
        other => unreachable!("{other:?} has no stations with traces"),
    };
    let ledgers = places.into_iter().map(ledger).collect();
    (network.finish(&scenario, 1).trace.unwrap(), ledgers)
}

fn check(what: &str, trace: &RunTrace, ledgers: &[Ledger]) {
    for (station, ledger) in (0..).zip(ledgers) {
        let intervals = trace.radio_intervals(station);
        let mut at = Instant::ZERO;
        let mut spent = [Span::ZERO; RadioState::ALL.len()];
        for (index, interval) in intervals.iter().enumerate() {
            assert_eq!(interval.start, at, "{what}, station {station}: gap or overlap");
            assert!(!interval.duration.is_zero());
            assert!(index == 0 || intervals[index - 1].state != interval.state);
            at = interval.start + interval.duration;
            spent[interval.state as usize] += interval.duration;
        }
        assert_eq!(at, trace.end, "{what}, station {station}");
        for state in RadioState::ALL {
            assert_eq!(spent[state as usize], ledger.duration(state), "{what}, station {station}: {state:?}");
        }
    }
    assert_eq!(trace.all_radio_intervals(&trace.frames_by_start()).len(), ledgers.len());
}

#[test]
fn radio_intervals_last_as_long_as_the_ledger_says() {
    for policy in
        ["active", "timeout:timeout=7ms", "psm", "psm-legacy", "uapsd", "ba-ta+str", "psm-throttling"]
    {
        // One radio whose transitions are free and one whose are not.
        for radio in ["broadcom-4311", "ar5004"] {
            for direction in ["down", "up"] {
                let changes = [
                    ("flow.application.size", "300kB"),
                    ("flow.direction", direction),
                    ("flow.start_spread", "50ms"),
                    ("policy", policy),
                    ("station.radio", radio),
                    ("station.count", "3"),
                    ("wifi.frame_error_rate", "0.05"),
                    ("wifi.station_rts_threshold", "500B"),
                ];
                let (trace, ledgers) = traced("fast-dsl", &changes);
                check(&format!("{policy} {radio} {direction}"), &trace, &ledgers);
            }
        }
    }
}

#[test]
fn radio_intervals_of_crowded_and_of_mixed_cells() {
    let crowded = [("station.count", "12"), ("duration", "500ms"), ("policy", "psm")];
    let (trace, ledgers) = traced("saturation", &crowded);
    assert!(trace.outcomes(&trace.frames_by_start()).contains(&Outcome::Collision));
    check("saturation", &trace, &ledgers);
    let (trace, ledgers) = traced("slow-dsl", &[("flow.application.size", "100kB"), ("wifi", "slow-wifi")]);
    check("slow-dsl", &trace, &ledgers);
}

#[test]
fn outcomes_tell_noise_from_collisions_from_sleep() {
    let noisy = [("flow.application.size", "100kB"), ("wifi.frame_error_rate", "0.3"), ("policy", "active")];
    let (trace, _) = traced("fast-dsl", &noisy);
    let frames = trace.frames_by_start();
    let outcomes = trace.outcomes(&frames);
    for (frame, outcome) in frames.iter().zip(&outcomes) {
        assert_eq!(frame.received, *outcome == Outcome::Received);
        assert_ne!(*outcome, Outcome::Asleep, "the station never slept: {frame:?}");
    }
    assert!(outcomes.contains(&Outcome::Noise));
}

#[test]
fn a_station_that_does_not_exist_did_nothing() {
    let (trace, _) = traced("fast-dsl", &[("flow.application.size", "10kB")]);
    assert_eq!(trace.radio_intervals(1), []);
}

/// With several cells each station has its own channel, and a shared radio sends as an access point too.
#[test]
fn radio_intervals_of_several_cells() {
    for (name, policy) in [
        ("two-hops", "active"),
        ("two-cells", "psm"),
        ("two-access-points", "uapsd"),
        ("two-access-points", "active"),
        ("four-in-a-row", "active"),
    ] {
        let changes = [("duration", "700ms"), ("measure_from", "100ms"), ("policy", policy)];
        let (trace, ledgers) = traced(name, &changes);
        assert!(ledgers.len() > 1, "{name}");
        check(name, &trace, &ledgers);
    }
}

/// A frame that nobody received was lost to noise, or its receiver slept, as the radio's last state before it says.
#[test]
fn a_frame_to_a_sleeping_station_did_not_fail_for_noise() {
    let (trace, _) = traced("fast-dsl", &[("flow.application.size", "100kB")]);
    let frames = trace.frames_by_start();
    let sent = frames.iter().find(|frame| frame.to == Node::Station(0) && frame.received).unwrap();
    let lost = TracedFrame { received: false, ..(*sent).clone() };
    let event = |at, state| RadioEvent { station: 0, at, state };
    let outcome = |events: &[RadioEvent]| {
        let mut receivers = Receivers::new(1);
        receivers.add(events);
        receivers.outcomes(&[&lost]).remove(0)
    };
    let before = Instant::ZERO + (lost.start - Instant::ZERO) / 2;
    assert_eq!(outcome(&[event(before, RadioState::Sleep)]), Outcome::Asleep);
    assert_eq!(
        outcome(&[event(before, RadioState::Sleep), event(lost.start, RadioState::Listen)]),
        Outcome::Noise
    );
    assert_eq!(outcome(&[event(lost.start + lost.duration, RadioState::Sleep)]), Outcome::Noise);
}
