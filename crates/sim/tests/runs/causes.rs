//! Energy by cause: it adds up in every scenario under every policy, and each cause gets what it should.
//!
//! That the causes of each state add up to the ledger to the nanosecond is checked at the end of every run.

use airwatt_sim::record::{EnergyByCause, RunResult, StationResult};
use airwatt_sim::scenario::shipped;

use crate::support::{cut, in_parallel, policies_of, scenario, simulate};

fn total(causes: &EnergyByCause) -> f64 {
    let EnergyByCause { doze, wake_up, beacon, group, service, contention, overhearing, .. } = causes;
    let EnergyByCause { retransmission, timeout_tail, idle, external, flow, scan, tunnel, .. } = causes;
    let fixed = [doze, wake_up, beacon, group, service, contention, overhearing, retransmission];
    fixed
        .into_iter()
        .chain([timeout_tail, idle, external])
        .chain(scan)
        .chain(tunnel)
        .chain(flow.values())
        .sum()
}

fn run(name: &str, set: &[(&str, &str)]) -> RunResult {
    simulate(&scenario(name, set), 1).result
}

fn station(result: &RunResult) -> &StationResult {
    &result.stations[0]
}

#[test]
fn both_tables_add_up_to_the_energy() {
    let mut jobs = Vec::new();
    for shipped in shipped() {
        let policies =
            ["active", "timeout", "psm-legacy", "psm", "uapsd", "ba-ta+str", "psm-throttling", "ideal"];
        jobs.extend(policies_of(shipped.name, &policies));
    }
    let results = in_parallel(&jobs, |&(name, policy)| simulate(&cut(name, policy, "2s"), 1).result.stations);
    for ((name, policy), stations) in jobs.into_iter().zip(results) {
        for station in stations {
            let by_peer: f64 = station.energy_by_peer_j.values().sum();
            for sum in [total(&station.energy_by_cause_j), by_peer] {
                let difference = (sum - station.energy_j).abs();
                assert!(
                    difference <= 1e-12 * station.energy_j,
                    "{name} under {policy}: {sum} J of {} J",
                    station.energy_j
                );
            }
        }
    }
}

/// The time of aggregates is divided over the flows in them and what comes again. Of two equal flows each pays half, and a tenth of what
/// is sent comes again.
#[test]
fn aggregates_of_two_flows_add_up_to_the_energy() {
    let flow = "{ direction = \"up\", transport = \"udp\", application = { kind = \"saturated\" } }";
    let flows = format!("[{flow}, {flow}]");
    let set = [
        ("station.0.count", "1"),
        ("wifi.standard", "802.11n"),
        ("wifi.data_rate", "130Mbps"),
        ("wifi.aggregation.mpdus", "64"),
        ("wifi.frame_error_rate", "0.1"),
        ("duration", "5s"),
        ("flow", &flows),
    ];
    let result = run("saturation", &set);
    let station = station(&result);
    let causes = &station.energy_by_cause_j;
    assert!((total(causes) - station.energy_j).abs() <= 1e-12 * station.energy_j, "{causes:?}");
    let [one, other] = [0, 1].map(|flow| causes.flow[&flow]);
    assert!((one / other - 1.0).abs() < 0.02, "{causes:?}");
    let again = causes.retransmission / (one + other + causes.retransmission);
    assert!((again - 0.1).abs() < 0.01, "{causes:?}");
}

/// An associated station without traffic: it sleeps, and is awake for beacons.
#[test]
fn an_idle_station_spends_on_beacons() {
    let set = [
        ("policy", "psm"),
        ("duration", "10s"),
        (
            "flow",
            "[{ direction = \"down\", transport = \"udp\", start = \"9999ms\", application = { kind = \"cbr\", rate = \"1kbps\" } }]",
        ),
    ];
    let result = run("fast-dsl", &set);
    let causes = &station(&result).energy_by_cause_j;
    assert!(causes.doze > 0.0 && causes.beacon > 0.0, "{causes:?}");
    // The announcement of power save is the only frame of its own.
    assert!(causes.service > 0.0 && causes.service < 0.01 * causes.beacon, "{causes:?}");
    assert_eq!(
        (causes.overhearing, causes.retransmission, causes.timeout_tail, causes.group),
        (0.0, 0.0, 0.0, 0.0)
    );
    assert!(causes.flow.is_empty(), "{causes:?}");
}

/// Frames of other stations are overheard, and each station's flow is its own.
#[test]
fn stations_overhear_each_other() {
    let result = simulate(&cut("ten-stations", "active", "3s"), 1).result;
    for station in &result.stations {
        let causes = &station.energy_by_cause_j;
        assert_eq!(causes.flow.keys().copied().collect::<Vec<_>>(), [station.id]);
        assert!(causes.overhearing > causes.flow[&station.id], "station {}: {causes:?}", station.id);
        assert_eq!(station.energy_by_peer_j["server"], causes.flow[&station.id]);
    }
}

/// Noise destroys one attempt in four: there are a third as many repetitions as first attempts.
#[test]
fn attempts_after_the_first_are_retransmissions() {
    let result = run(
        "fast-dsl",
        &[
            ("policy", "active"),
            ("duration", "5s"),
            ("wifi.frame_error_rate", "0.25"),
            ("wifi.retry_limit", "20"),
        ],
    );
    let causes = &station(&result).energy_by_cause_j;
    let share = causes.retransmission / causes.flow[&0];
    assert!((0.28..0.38).contains(&share), "{share}: {causes:?}");
    assert_eq!(
        run("fast-dsl", &[("policy", "active"), ("duration", "1s")]).stations[0]
            .energy_by_cause_j
            .retransmission,
        0.0
    );
}

/// The time-out of each silence is charged whole: with a longer one the tail grows in proportion.
#[test]
fn the_tail_is_that_of_the_timeout() {
    let tail = |timeout: &str| {
        let policy = format!("{{ policy = \"timeout\", timeout = \"{timeout}\" }}");
        let flow = "[{ direction = \"down\", transport = \"udp\", application = { kind = \"cbr\", rate = \"2400bps\" } }]";
        let set = [("station.power_save", policy.as_str()), ("duration", "20s"), ("flow", flow)];
        run("fast-dsl", &set).stations.swap_remove(0).energy_by_cause_j.timeout_tail
    };
    let (short, long) = (tail("50ms"), tail("200ms"));
    assert!((3.6..4.4).contains(&(long / short)), "{short} J and {long} J");
}
