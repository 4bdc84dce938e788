//! ns-2.35 and ns-3.37 on the same jobs. Their numbers are data in `tests/reference/peers.csv`; docs/validation.md states
//! the reason for each difference.

mod validation;

use std::path::Path;

use validation::{Mean, difference, in_parallel, scenario, simulate};

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

/// Mean goodput in Mbit/s and energy in joules over five seeds.
fn download(set: &[(&str, &str)]) -> (Mean, Mean) {
    let scenario = scenario("reference-download", set);
    let runs = in_parallel(&[1, 2, 3, 4, 5], |seed| {
        let result = simulate(&scenario, *seed).result;
        (result.flows[0].goodput_bps / 1e6, result.stations[0].energy_j)
    });
    let (goodput, energy): (Vec<f64>, Vec<f64>) = runs.into_iter().unzip();
    (Mean::of(&goodput), Mean::of(&energy))
}

/// A receive window of 128 KiB keeps more in flight than the path holds and overflows no buffer: what is compared is
/// the air.
#[test]
fn one_download_is_that_of_ns2_and_ns3() {
    let window = ("tcp.receive_window", "128KiB");
    let (each, _) = download(&[window, ("tcp.delayed_ack", "false")]);
    let (second, energy) = download(&[window]);
    let lossy = download(&[]).0;
    show(&format!(
        "b = 1: {:.2} +- {:.2} Mbit/s; b = 2: {:.2} +- {:.2} Mbit/s, {:.2} +- {:.2} J; window 1.5 MB: {:.2} +- {:.2}",
        each.mean, each.ci95, second.mean, second.ci95, energy.mean, energy.ci95, lossy.mean, lossy.ci95
    ));
    assert!(difference(each.mean, peer("download-b1", "ns-2.35", "goodput_mbps")).abs() < 0.02, "{each:?}");
    assert!(
        difference(second.mean, peer("download-b2", "ns-2.35", "goodput_mbps")).abs() < 0.01,
        "{second:?}"
    );
    assert!(
        difference(second.mean, peer("download-b2", "ns-3.37", "goodput_mbps")).abs() < 0.01,
        "{second:?}"
    );
    // ns-3 charges a frame's preamble, 20 us, as listening. 0.02 J of beacons that ns-3's set-up may lack are within
    // the margin.
    let frames = 50e6 / 1460.0 * 1.5;
    let preambles_j = frames * 20e-6 * (1.5 - 0.39);
    let there = peer("download-b2", "ns-3.37", "energy_j");
    assert!(difference(energy.mean - preambles_j, there).abs() < 0.03, "{energy:?} less {preambles_j}");
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
