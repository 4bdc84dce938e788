//! Simulated hours over an air that loses frames at random, under every policy: everything comes to its end.
//!
//! Frames, polls, triggers, beacons' worth of announcements, mode switches and acknowledgements are all lost now and then, and
//! some for good at a small retry limit; the access point's buffers overflow. If power save ever came to a stop, a flow
//! would not be complete, its connection would be given up, or the run would last far longer than its sources.

use airwatt_proto::powersave::PowerSaveConfig;
use airwatt_sim::record::RunResult;
use airwatt_sim::scenario::Scenario;

use crate::support::{in_parallel, simulate};

/// An hour of sparse packets both ways, a stream, and bulk that comes back every ten minutes, at three stations.
fn hour(policy: &str, errors: f64, seed: u64) -> RunResult {
    let bulk: String = (0..6)
        .map(|part| {
            format!(
                "[[flow]]\nstations = [{}]\ndirection = \"down\"\napplication = {{ kind = \"bulk\", size = \"2MB\" }}\nstart = \"{}s\"\n",
                part % 3,
                600 * part
            )
        })
        .collect();
    // A buffer of 20 packets a second, which is the interval of `twt` by default, would be less than the stream needs.
    let setting = if policy == "twt" { ", interval = \"100ms\"" } else { "" };
    let text = format!(
        r#"
        base = "fast-dsl"
        time_limit = "5400s"
        wifi = {{ base = "slow-wifi", frame_error_rate = {errors}, retry_limit = 3 }}
        ap = {{ buffer = "30packets", power_save_buffer = "20packets" }}
        tcp = {{ delayed_ack = true }}
        [[station]]
        count = 3
        power_save = {{ policy = "{policy}"{setting} }}
        radio = "ar5004"
        [[flow]]
        stations = [0]
        direction = "down"
        application = {{ kind = "interactive", mean_gap = "700ms", size = "5MB" }}
        [[flow]]
        stations = [1]
        direction = "up"
        application = {{ kind = "interactive", mean_gap = "700ms", size = "5MB" }}
        [[flow]]
        stations = [2]
        direction = "down"
        application = {{ kind = "streaming", rate = "300kbps", media = "3600s" }}
        {bulk}
        "#
    );
    simulate(&Scenario::from_text(&text, "hour", &[]).expect("it can run"), seed).result
}

fn every_policy_through(errors: f64, seed: u64) {
    let names: Vec<&str> = PowerSaveConfig::KINDS.iter().map(|policy| policy.name).collect();
    assert!(names.len() >= 8);
    let results = in_parallel(&names, |policy| hour(policy, errors, seed));
    for (policy, result) in names.iter().zip(results) {
        for flow in &result.flows {
            assert!(!flow.connection_lost, "{policy}: flow {}", flow.id);
            assert!(flow.completed_s.is_some(), "{policy}: flow {} is complete", flow.id);
        }
        assert!((3_400.0..4_200.0).contains(&result.simulated_s), "{policy}: {} s", result.simulated_s);
        assert!(result.cell.air.retries > 10_000, "{policy}: {:?}", result.cell);
        let sleeps = *policy != "active";
        for station in result.stations.iter().filter(|_| sleeps) {
            assert!(station.state_s.sleep > 0.0, "{policy}: station {} sleeps", station.id);
        }
    }
}

/// One attempt in eight fails: losses for good are rare.
#[test]
fn an_hour_of_some_loss() {
    every_policy_through(0.125, 1);
}

/// Four in ten fail, one frame in forty for good: of polls, triggers and announcements as of data.
#[test]
fn an_hour_of_much_loss() {
    every_policy_through(0.4, 2);
}
