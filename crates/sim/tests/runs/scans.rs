//! Scans of other channels: what they cost, whom they delay, and what they leave alone.

use airwatt_sim::record::RunResult;
use airwatt_sim::scenario::Scenario;

use crate::support::{in_parallel, scenario, simulate};

fn run(name: &str, set: &[(&str, &str)]) -> RunResult {
    simulate(&scenario(name, set), 1).result
}

/// 6 scans a minute of 7 absences of 125 ms, in which the radio listens; nothing without the key.
#[test]
fn the_time_away_is_listening_with_a_cause_of_its_own() {
    let idle = "[{ direction = \"down\", transport = \"udp\", start = \"59s\", application = { kind = \"cbr\", rate = \"1kbps\" } }]";
    for policy in ["active", "psm"] {
        let set = [("policy", policy), ("duration", "60s"), ("flow", idle)];
        let without = run("fast-dsl", &set).stations.swap_remove(0);
        assert_eq!(without.energy_by_cause_j.scan, None);
        let with = run("fast-dsl", &[&set[..], &[("station.scan.interval", "10s")]].concat());
        let station = &with.stations[0];
        let listen_w = without.energy_by_cause_j.idle.max(1e-9) / without.state_s.listen.max(1e-9);
        let away_s = 6.0 * 7.0 * 0.125;
        let scan_j = station.energy_by_cause_j.scan.expect("there are scans");
        if policy == "active" {
            let expected = listen_w * away_s;
            assert!((scan_j / expected - 1.0).abs() < 0.01, "{scan_j} J, {expected} J expected");
            assert!(
                (station.state_s.listen + station.state_s.receive + station.state_s.transmit - 60.0).abs()
                    < 1e-6
            );
        } else {
            let longer_s = station.state_s.listen - without.state_s.listen;
            // Beacons are missed in an absence, and the radio listens for none.
            assert!(
                (0.97 * away_s..1.02 * away_s).contains(&longer_s),
                "{longer_s} s longer, {away_s} s away"
            );
        }
    }
}

/// A ping that meets a scan waits for its end: 3 in 100 at a scan each 30 s, and so the 99th percentile, but not the 95th.
#[test]
fn a_scan_is_a_spike() {
    let response = |set: &[(&str, &str)]| {
        let result = run("scans", set);
        let times = result.flows[0].responses.expect("there are responses");
        [times.response_s_p50, times.response_s_p95, times.response_s_p99]
    };
    let jobs = ["30s", "3600s"];
    let [scans, rare] = in_parallel(&jobs, |interval| response(&[("station.scan.interval", interval)]))
        .try_into()
        .expect("there are two");
    assert!((scans[0] - rare[0]).abs() < 1e-4 && (scans[1] - rare[1]).abs() < 1e-3, "{scans:?} and {rare:?}");
    assert!(rare[2] < 0.03, "{rare:?}");
    // At most as long as an absence, on top of a round trip of 21 ms.
    assert!((0.06..0.16).contains(&scans[2]), "{scans:?}");
}

/// The access point buffers during an absence, so that a transfer in either direction loses nothing.
#[test]
fn nothing_is_lost_in_a_scan() {
    let flow = |direction: &str| {
        format!(
            "[{{ direction = \"{direction}\", transport = \"cubic\", application = {{ kind = \"bulk\", size = \"20MB\" }} }}]"
        )
    };
    let mut jobs = Vec::new();
    for policy in ["active", "timeout", "psm", "psm-legacy", "uapsd", "ba-ta", "latency-guard"] {
        jobs.extend(["down", "up"].map(|direction| (policy, direction)));
    }
    let results = in_parallel(&jobs, |&(policy, direction)| {
        let flow = flow(direction);
        let set = [
            ("policy", policy),
            ("flow", &flow),
            ("station.scan.interval", "4s"),
            ("wired.down.queue", "10000packets"),
        ];
        run("bulk", &set)
    });
    for ((policy, direction), result) in jobs.into_iter().zip(results) {
        let flow = &result.flows[0];
        assert_eq!(flow.bytes_delivered, 20_000_000, "{policy} {direction}");
        assert_eq!(result.cell.air.retry_limit_drops, 0, "{policy} {direction}");
        assert!(result.stations[0].energy_by_cause_j.scan.is_some(), "{policy} {direction}");
    }
}

#[test]
fn scans_that_cannot_be_are_refused() {
    let error = |name: &str, set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::load(name, &set).expect_err("this scenario cannot be").to_string()
    };
    assert_eq!(
        error("fast-dsl", &[("station.scan.interval", "2s")]),
        "--set station.scan.interval=2s: expected 2.275s to 1d, got 2s"
    );
    assert_eq!(
        error("four-in-a-row", &[("cell.0.station.0.scan.interval", "30s")]),
        "--set cell.0.station.0.scan.interval=30s: no effect with mode \"ad-hoc\"; hint: it belongs to \"infrastructure\""
    );
    assert_eq!(
        error("two-hops", &[("station.scan.interval", "30s")]),
        "two-hops:24: cell.0.access_point.radio: expected no scans, since an access point's radio does not leave its channel, got the scans of station \"station0\""
    );
}
