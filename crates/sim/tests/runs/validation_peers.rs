//! ns-2.35 on the same jobs, and ns-3.37 on ten uploads. Their numbers are data in `tests/reference/peers.csv`;
//! docs/validation.md states the reason for each difference. Downloads are compared with ns-3 in `tests/reference/ns3`.

use std::path::Path;

use crate::support::{Mean, difference, in_parallel, scenario, simulate};

fn reference(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference").join(file);
    path.to_str().expect("a readable path").to_owned()
}

/// What a peer gave for a job.
fn peer(job: &str, simulator: &str, quantity: &str) -> f64 {
    let text = std::fs::read_to_string(reference("peers.csv")).expect("the file ships");
    let row = text.lines().find_map(|line| line.strip_prefix(&format!("{job},{simulator},{quantity},")));
    let value = row.unwrap_or_else(|| panic!("{job} {simulator} {quantity} is not on file"));
    value.split(',').next().and_then(|value| value.parse().ok()).expect("a number")
}

/// Mean goodput in Mbit/s over five seeds.
fn download(set: &[(&str, &str)]) -> Mean {
    let scenario = scenario("reference-download", set);
    Mean::of(&in_parallel(&[1, 2, 3, 4, 5], |seed| {
        simulate(&scenario, *seed).result.flows[0].goodput_bps / 1e6
    }))
}

/// A receive window of 128 KiB keeps more in flight than the path holds and overflows no buffer: what is compared is
/// the air.
#[test]
fn one_download_is_that_of_ns2() {
    let window = ("tcp.receive_window", "128KiB");
    let each = download(&[window, ("tcp.delayed_ack", "false")]);
    let second = download(&[window]);
    let lossy = download(&[]);
    show(&format!(
        "b = 1: {:.2} +- {:.2} Mbit/s; b = 2: {:.2} +- {:.2} Mbit/s; window 1.5 MB: {:.2} +- {:.2}",
        each.mean, each.ci95, second.mean, second.ci95, lossy.mean, lossy.ci95
    ));
    assert!(difference(each.mean, peer("download-b1", "ns-2.35", "goodput_mbps")).abs() < 0.02, "{each:?}");
    assert!(
        difference(second.mean, peer("download-b2", "ns-2.35", "goodput_mbps")).abs() < 0.01,
        "{second:?}"
    );
}

/// Ten stations up: the sum lies between the peers', and a few flows starve as in ns-3.
#[test]
fn ten_stations_up_share_as_unfairly_as_in_ns3() {
    let scenario = scenario(&reference("ten-up.toml"), &[]);
    let runs = in_parallel(&[1, 2, 3, 4, 5, 6], |seed| {
        let result = simulate(&scenario, *seed).result;
        let total: f64 = result.flows.iter().map(|flow| flow.goodput_bps / 1e6).sum();
        let starved = result.flows.iter().filter(|flow| flow.goodput_bps < 0.3e6).count();
        (total, result.fairness.jain, starved as f64)
    });
    let mean = |part: fn(&(f64, f64, f64)) -> f64| Mean::of(&runs.iter().map(part).collect::<Vec<_>>());
    let (total, jain, starved) = (mean(|run| run.0), mean(|run| run.1), mean(|run| run.2));
    show(&format!("total {total:?} Mbit/s, Jain {jain:?}, flows below 0.3 Mbit/s {starved:?}"));
    let [low, high] = ["ns-3.37", "ns-2.35"].map(|name| peer("ten-up", name, "goodput_mbps"));
    assert!(low * 0.98 < total.mean && total.mean < high, "{total:?}");
    assert!((0.25..0.6).contains(&jain.mean), "{jain:?}");
}

#[expect(clippy::print_stdout, reason = "figures to be read with --nocapture")]
fn show(figures: &str) {
    println!("{figures}");
}
