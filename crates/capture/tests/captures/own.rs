//! Captures that the simulator writes, read back: the findings are about real faults only, and the simulator's access point
//! has none.

use std::ops::ControlFlow;

use airwatt_capture::{Capture, report};
use airwatt_energy::Radio;
use airwatt_sim::record::RunTrace;
use airwatt_sim::scenario::{Checked, Scenario, shipped};
use airwatt_sim::{RunOptions, run};

const POLICIES: [&str; 10] = [
    "active",
    "timeout",
    "psm-legacy",
    "psm",
    "uapsd",
    "ba-ta",
    "ba-ta+str",
    "psm-throttling",
    "twt",
    "ba-ta-twt",
];

/// How long each scenario runs: the test profile is slow, and `make test-long` has an optimized build.
const EACH: &str = if cfg!(debug_assertions) { "3s" } else { "6s" };

/// A shipped scenario under a policy, cut to some seconds; `None` if its stations cannot have the policy.
fn cut(name: &str, policy: &str) -> Option<Checked> {
    cut_to(name, policy, "6s")
}

fn cut_to(name: &str, policy: &str, duration: &str) -> Option<Checked> {
    let set = |keys: &[(&str, &str)]| -> Vec<(String, String)> {
        keys.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let whole = Scenario::load(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut keys = vec![("policy", policy), ("duration", duration)];
    if whole.measure_from.is_some() {
        keys.extend([("measure_from", "1s"), ("flow.start_spread", "1s"), ("fairness_windows", "[\"1s\"]")]);
    }
    Scenario::load(name, &set(&keys)).ok()
}

fn traced(scenario: &Checked) -> RunTrace {
    traced_with_drops(scenario).0
}

/// The trace of a run, and the packets that its access points dropped since a buffer was full.
fn traced_with_drops(scenario: &Checked) -> (RunTrace, u64) {
    let mut go_on = |_| ControlFlow::Continue(());
    let run = run(scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap();
    (run.trace.unwrap(), run.result.access_points.iter().map(|of| of.drops).sum())
}

/// The capture of a run; `None` if nothing of it is on the air of a cell.
fn captured(trace: &RunTrace) -> Option<Capture> {
    let mut bytes = Vec::new();
    trace.write_pcapng(&mut bytes).ok()?;
    Some(Capture::read(&trace.setting.scenario, &bytes[..]).unwrap())
}

/// Every shipped scenario, under every policy that it can have.
fn runs() -> impl Iterator<Item = (&'static str, &'static str, Checked)> {
    let all = shipped().iter().flat_map(|shipped| POLICIES.map(|policy| (shipped.name, policy)));
    all.filter_map(|(name, policy)| Some((name, policy, cut_to(name, policy, EACH)?)))
}

/// Published scenarios keep intervals that are no whole number of time units; a capture has the interval of its run all the same.
#[test]
fn the_interval_of_a_capture_is_that_of_its_run() {
    for (name, interval_ms) in [("fast-dsl", 100.0), ("web", 102.4), ("idle", 102.4)] {
        let capture = captured(&traced(&cut(name, "psm").unwrap())).unwrap();
        let air = report::describe(&capture, None, None).air.unwrap();
        assert_eq!(air.networks[0].beacon_interval_s, interval_ms / 1e3, "{name}");
    }
}

/// Packets that share frames are those of the run, also for an analysis.
#[test]
fn packets_that_share_frames_are_read() {
    let keys = [("duration", "2s"), ("wifi.aggregation.amsdu", "7935B")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let trace = traced(&Scenario::load("wifi4", &keys).unwrap());
    let sent = trace.frames.iter().filter(|frame| frame.received && !frame.retry);
    let packets: usize = sent.map(|frame| frame.packets().count()).sum();
    let shared = trace.frames.iter().filter(|frame| !frame.joined.is_empty()).count();
    let capture = captured(&trace).unwrap();
    let read = capture.packets.iter().filter(|packet| packet.ip.is_some()).count();
    assert!(
        shared > 100 && read >= packets,
        "{shared} frames with several of {packets} packets, {read} read"
    );
}

/// Of an access point that keeps the rules none is called violated. What its stations do is another thing: under a policy that
/// is not made for its traffic, one that sends without a pause is awake in power save, and one with a short timeout flaps.
/// An access point whose transmission queue is full drops what it announced and a station requested, and its answer waits behind the
/// frames of others: that is late, or never comes, and the capture shows it.
#[test]
fn no_capture_of_a_shipped_scenario_accuses_its_access_point() {
    let (mut captures, mut accused) = (0, Vec::new());
    for (name, policy, scenario) in runs() {
        let (trace, drops) = traced_with_drops(&scenario);
        let Some(capture) = captured(&trace) else { continue };
        captures += 1;
        for finding in report::describe(&capture, None, None).findings {
            let is_of_station =
                matches!(finding.kind, "pm-flapping" | "awake-in-power-save" | "twt-sent-outside");
            let is_of_full_queue =
                drops > 0 && matches!(finding.kind, "late-delivery" | "more-data-then-nothing");
            if finding.count > 0 && !is_of_station && !is_of_full_queue {
                accused.push(format!(
                    "{name} {policy}: {} {} times: {}",
                    finding.kind, finding.count, finding.text
                ));
            }
        }
    }
    assert!(captures > 100, "{captures}");
    assert!(accused.is_empty(), "{accused:#?}");
}

/// As it ships, a scenario has no finding at all.
#[test]
fn no_capture_of_a_shipped_scenario_has_a_finding() {
    for scenario in shipped() {
        let own = Scenario::load(scenario.name, &[("duration".to_owned(), EACH.to_owned())]);
        let Some(capture) = own.ok().and_then(|own| captured(&traced(&own))) else { continue };
        for finding in report::describe(&capture, None, None).findings {
            assert_eq!(finding.count, 0, "{}: {finding:?}", scenario.name);
        }
    }
}

/// An access point whose queue is full answers a trigger by a QoS Null frame with EOSP: that ends the wait, and is no late delivery.
#[test]
fn a_queue_that_is_full_is_no_late_delivery() {
    let (trace, drops) = traced_with_drops(&cut_to("ten-stations", "psm", "20s").unwrap());
    let document = report::describe(&captured(&trace).unwrap(), None, None);
    let found =
        document.findings.into_iter().filter(|finding| finding.whose == "access point" && finding.count > 0);
    assert_eq!(found.map(|finding| finding.kind).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(drops > 0, "{drops}");
}

/// No frame of a run assigns an association identifier: the capture names it, so that the rules about TIM bits are evaluated.
#[test]
fn a_capture_of_a_run_has_the_association_identifiers() {
    for (policy, kind) in [("psm", "late-fetch"), ("psm-legacy", "tim-never-set")] {
        let capture = captured(&traced(&cut("web", policy).unwrap())).unwrap();
        let checks = report::describe(&capture, None, None).checks;
        let kept: u64 = checks.iter().filter(|check| check.kind == kind).map(|check| check.kept).sum();
        assert!(kept > 0, "{policy}");
    }
}

/// The frames of a run that set up target wake time are read back, and rules about sleep accuse nobody.
#[test]
fn a_capture_of_a_run_has_the_target_wake_times() {
    let eight = |policy: &str| {
        let keys = [("policy", policy), ("duration", "8s")];
        let keys: Vec<_> = keys.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        captured(&traced(&Scenario::load("web", &keys).unwrap())).unwrap()
    };
    let late = |capture: &Capture| {
        let checks = report::describe(capture, None, None).checks;
        let check = checks.into_iter().find(|check| check.kind == "late-delivery").unwrap();
        (check.violated, check.undecidable)
    };
    let agreements = |capture: &Capture| {
        let air = report::describe(capture, None, None).air.unwrap();
        let held = air.stations.into_iter().flat_map(|station| station.agreements);
        held.filter_map(|held| Some((held.wake_time?.interval_s, held.until_s))).collect::<Vec<_>>()
    };
    let capture = eight("twt");
    assert_eq!(agreements(&capture), [(1.0, None)]);
    // What announces a period is no trigger of U-APSD.
    assert_eq!(late(&capture), (0, 0));
    // Without these frames the station has asked more than once, and the monitor may have missed the frame that ended its first period.
    let mut silent = capture;
    silent.wake_times.clear();
    assert_eq!(late(&silent), (0, 3));
    assert_eq!(agreements(&silent), []);
    assert_eq!(agreements(&eight("psm")), []);
}

/// What a run's station spent lies in the band of its capture: with frames for others that a radio which is awake receives, and with
/// beacons that one with a target wake time sleeps through.
#[test]
fn what_a_station_spent_is_in_its_band() {
    // As long as it takes until each has slept, sent and overheard.
    for (name, policy, duration) in [
        ("two-access-points", "timeout", "2500ms"),
        ("ten-stations", "psm", "1s"),
        ("call-today", "active", "1s"),
        ("web", "twt", "3s"),
        ("office", "twt", "2s"),
        ("web", "psm-legacy", "3s"),
    ] {
        let scenario = cut_to(name, policy, duration).unwrap();
        let mut go_on = |_| ControlFlow::Continue(());
        let run = run(&scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap();
        let capture = captured(&run.trace.unwrap()).unwrap();
        let radio = Radio::find(capture.radios.values().next().unwrap()).unwrap();
        let document = report::describe(&capture, None, Some(&radio));
        // The run goes on before the first frame and after the last one.
        let beyond_s = run.result.simulated_s - document.capture.covered_s;
        let stations = document.air.unwrap().stations;
        for (station, spent) in stations.iter().zip(&run.result.stations) {
            let measured = station.measured.unwrap();
            // The times on the air of subframes are right to some per cent.
            let low_j = 0.98 * measured.energy_low_j;
            let high_j = 1.02 * (measured.energy_high_j + 0.5 * beyond_s);
            assert!(
                (low_j..=high_j).contains(&spent.energy_j),
                "{name} {policy} {}: {} J, {low_j} to {high_j}",
                station.mac,
                spent.energy_j
            );
        }
    }
}
