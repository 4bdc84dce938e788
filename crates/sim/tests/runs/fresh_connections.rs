//! Requests that have a connection each: who opens it, and that the latency guard knows their peer again.

use airwatt_sim::record::RunResult;
use airwatt_sim::scenario::Scenario;

use crate::support::{scenario, simulate};

/// The server asks the station each 30 s, 60 times, over 102.4 ms between beacons.
fn asked(policy: &str, fresh: bool) -> RunResult {
    let application = format!(
        "{{ kind = \"periodic\", begins = \"receiver\", packet = \"200B\", reply = \"1kB\", interval = \"30s\", phase = \"1s\", jitter = \"200ms\", count = 60, fresh = {fresh} }}"
    );
    let flow = format!("[{{ direction = \"up\", transport = \"cubic\", application = {application} }}]");
    let set = [("flow", &*flow), ("policy", policy), ("ap.beacon_interval", "102.4ms"), ("time_limit", "1h")];
    simulate(&scenario("ssh", &set), 1).result
}

/// The handshake takes another round trip, and the radio is awake for what follows the first segment.
#[test]
fn a_fresh_connection_is_opened_by_who_asks_and_costs_a_round_trip() {
    let median = |fresh| asked("active", fresh).flows[0].responses.expect("it is answered").response_s_p50;
    let (standing, fresh) = (median(false), median(true));
    assert!((fresh - standing - 0.02).abs() < 0.002, "{fresh} s, and {standing} s over one that stands");
    let saving = asked("timeout", true);
    let (flow, late) = (&saving.flows[0], saving.flows[0].responses.expect("it is answered"));
    assert_eq!((flow.direction, &*flow.from, &*flow.to), ("up", "station0", "server"));
    assert!(late.response_s_p95 > fresh + 0.08, "the first segment waits for a beacon: {late:?}");
}

#[test]
fn the_guard_expects_a_monitor_that_opens_a_connection_for_each_question() {
    let (off, on) = (asked("active", true), asked("timeout", true));
    let guarded = asked("latency-guard", true);
    let [off_s, on_s, guarded_s] =
        [&off, &on, &guarded].map(|run| run.flows[0].responses.expect("it is answered").response_s_p50);
    assert!(on_s > off_s + 0.03 && guarded_s < off_s + 0.01, "{off_s}, {on_s} and {guarded_s} s");
    let [on_w, guarded_w] = [&on, &guarded].map(|run| run.stations[0].average_power_w);
    assert!(guarded_w < 1.5 * on_w, "{guarded_w} W, and {on_w} W with power save");
}

#[test]
fn fresh_connections_that_cannot_be_are_refused() {
    let error = |flow: &str| {
        let set = [("flow".to_owned(), format!("[{{ direction = \"up\", {flow} }}]"))];
        Scenario::load("ssh", &set).expect_err("this scenario cannot be").to_string()
    };
    let asking = |rest: &str| format!("application = {{ kind = \"request-response\", fresh = true{rest} }}");
    for (flow, expected) in [
        (asking(""), "application.count"),
        (asking(", count = 20_000"), "1 to 10000"),
        ("transport = \"udp\", application = { kind = \"periodic\", fresh = true, count = 2, reply = \"9B\" }".to_owned(), "no connections"),
    ] {
        assert!(error(&flow).contains(expected), "{flow}: {}", error(&flow));
    }
}
