//! What Camps-Mur and Sallent-Ribes (*Enhancing the performance of TCP over Wi-Fi Power Saving Mechanisms*) say of TCP
//! over Wi-Fi PSM in sections 2.1 and 2.2: figures 2 and 6, three access lines, two sets of Wi-Fi parameters.
//!
//! A claim is checked at each point of its figure. Where one does not hold, the point stands in [`MISSES`] with the place
//! in docs/validation.md that gives the evidence; every other point has to hold. The sweep of a plain `cargo test` has
//! two seeds and some of the points. `--ignored --nocapture` (with `--release`) runs all points with ten seeds and, with
//! `AIRWATT_BLESS=1`, writes `tests/reference/bata.csv`, from which `tests/reference/bata_figures.py` draws.

mod validation;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use validation::{Mean, in_parallel, scenario, simulate};

const SLOW_DSL: &str = "slow-dsl";
const FAST_DSL: &str = "fast-dsl";
const BOTTLENECK: &str = "wifi-bottleneck";
const ACCESS: [&str; 3] = [SLOW_DSL, FAST_DSL, BOTTLENECK];
const SLOW: &str = "slow-wifi";
const FAST: &str = "fast-wifi";
const WIFI: [&str; 2] = [SLOW, FAST];
const ACTIVE: &str = "active";
const PSM: &str = "psm";

/// Points at which a claim does not hold: claim, Wi-Fi set (empty: the claim concerns both), and values of the axis.
const MISSES: &[(&str, &str, &[u32])] = &[
    ("fig2b.slow ratio 4 to 6", FAST, &[0]),
    ("fig2a.fast slow Wi-Fi above fast", "", &[160]),
    ("fig2b.fast saves", SLOW, &[20]),
    ("fig2a.wifi fast Wi-Fi below slow", "", &[20, 120, 140, 160]),
    ("fig2b.wifi active spends less", SLOW, &[60, 80, 100, 120, 140, 160]),
    ("fig2b.wifi active spends less", FAST, &[120, 140, 160]),
    ("fig6a.fast not above active", SLOW, &[290]),
    ("fig6a.fast active falls", SLOW, &[110]),
    ("fig6a.fast active falls", FAST, &[110]),
    ("fig6a.wifi equation 6", FAST, &[10, 70, 170, 190, 270]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Axis {
    /// Packets in the buffer before the bottleneck.
    Buffer,
    /// Base round-trip time in milliseconds.
    Rtt,
    /// The same, from a slow-start threshold below the bottleneck's buffer: congestion avoidance from the beginning.
    RttAvoidance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    access: &'static str,
    wifi: &'static str,
    policy: &'static str,
    axis: Axis,
    x: u32,
}

/// Goodput in Mbit/s and energy in joules.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    goodput: Mean,
    energy: Mean,
}

struct Sweep {
    outcomes: BTreeMap<Point, Outcome>,
    buffers: Vec<u32>,
    rtts: Vec<u32>,
}

fn run_point(point: Point, seed: u64) -> (f64, f64) {
    let (packets, rtt) = (format!("{}packets", point.x), format!("{}ms", point.x));
    let buffer = if point.access == BOTTLENECK { "ap.buffer" } else { "wired.down.queue" };
    let mut set = vec![("wifi", point.wifi), ("policy", point.policy)];
    set.push(if point.axis == Axis::Buffer { (buffer, &packets) } else { ("wired.rtt", &rtt) });
    if point.axis == Axis::RttAvoidance {
        // 50 packets of 1448 bytes: half of the access point's buffer.
        set.push(("tcp.initial_ssthresh", "72400B"));
    }
    let result = simulate(&scenario(point.access, &set), seed).result;
    assert_eq!(result.flows[0].bytes_delivered, 50_000_000, "{point:?}");
    (result.flows[0].goodput_bps / 1e6, result.stations[0].energy_j)
}

impl Sweep {
    fn run(buffers: Vec<u32>, rtts: Vec<u32>, seeds: u64) -> Self {
        let mut points = Vec::new();
        for (access, wifi, policy) in cases() {
            let mut add = |axis, x| points.push(Point { access, wifi, policy, axis, x });
            buffers.iter().for_each(|x| add(Axis::Buffer, *x));
            rtts.iter().for_each(|x| add(Axis::Rtt, *x));
            if (access, policy) == (BOTTLENECK, PSM) {
                rtts.iter().for_each(|x| add(Axis::RttAvoidance, *x));
            }
        }
        let jobs: Vec<(Point, u64)> =
            points.iter().flat_map(|point| (1..=seeds).map(|seed| (*point, seed))).collect();
        let runs = in_parallel(&jobs, |(point, seed)| run_point(*point, *seed));
        let outcomes = points.iter().zip(runs.chunks(seeds as usize)).map(|(point, runs)| {
            let (goodput, energy): (Vec<f64>, Vec<f64>) = runs.iter().copied().unzip();
            (*point, Outcome { goodput: Mean::of(&goodput), energy: Mean::of(&energy) })
        });
        Self { outcomes: outcomes.collect(), buffers, rtts }
    }

    fn at(
        &self,
        access: &'static str,
        wifi: &'static str,
        policy: &'static str,
        axis: Axis,
        x: u32,
    ) -> Outcome {
        self.outcomes[&Point { access, wifi, policy, axis, x }]
    }

    fn goodput(
        &self,
        access: &'static str,
        wifi: &'static str,
        policy: &'static str,
        axis: Axis,
        x: u32,
    ) -> f64 {
        self.at(access, wifi, policy, axis, x).goodput.mean
    }

    fn energy(
        &self,
        access: &'static str,
        wifi: &'static str,
        policy: &'static str,
        axis: Axis,
        x: u32,
    ) -> f64 {
        self.at(access, wifi, policy, axis, x).energy.mean
    }

    fn xs(&self, axis: Axis) -> &[u32] {
        if axis == Axis::Buffer { &self.buffers } else { &self.rtts }
    }

    /// Goodput of all four curves of a figure at one point.
    fn curves(&self, access: &'static str, axis: Axis, x: u32) -> [f64; 4] {
        [(SLOW, ACTIVE), (SLOW, PSM), (FAST, ACTIVE), (FAST, PSM)]
            .map(|(wifi, policy)| self.goodput(access, wifi, policy, axis, x))
    }

    fn csv(&self) -> String {
        let mut text =
            "access,wifi,policy,axis,x,goodput_mbps,goodput_ci95,energy_j,energy_ci95\n".to_owned();
        for (point, outcome) in &self.outcomes {
            let Point { access, wifi, policy, axis, x } = point;
            let (goodput, energy) = (outcome.goodput, outcome.energy);
            writeln!(
                text,
                "{access},{wifi},{policy},{axis:?},{x},{:.4},{:.4},{:.3},{:.3}",
                goodput.mean, goodput.ci95, energy.mean, energy.ci95
            )
            .expect("a string takes what is written");
        }
        text
    }
}

fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    ACCESS.into_iter().flat_map(|access| {
        WIFI.into_iter().flat_map(move |wifi| [ACTIVE, PSM].map(move |policy| (access, wifi, policy)))
    })
}

/// Which points of which claim failed.
#[derive(Default)]
struct Checks {
    held: u32,
    failed: Vec<(&'static str, &'static str, u32)>,
}

impl Checks {
    fn check(&mut self, claim: &'static str, wifi: &'static str, x: u32, holds: bool) {
        if holds {
            self.held += 1;
        } else {
            self.failed.push((claim, wifi, x));
        }
    }

    fn assert_only_known_misses(&self) {
        show(&format!("{} points hold; missed: {:?}", self.held, self.failed));
        let known = |(claim, wifi, x): &(&str, &str, u32)| {
            MISSES.iter().any(|miss| miss.0 == *claim && miss.1 == *wifi && miss.2.contains(x))
        };
        let new: Vec<_> = self.failed.iter().filter(|failure| !known(failure)).collect();
        assert!(new.is_empty(), "claims that used to hold: {new:?}");
    }
}

fn check_all(sweep: &Sweep) {
    let mut checks = Checks::default();
    slow_dsl(sweep, &mut checks);
    fast_dsl_buffers(sweep, &mut checks);
    bottleneck_buffers(sweep, &mut checks);
    fast_dsl_rtts(sweep, &mut checks);
    bottleneck_rtts(sweep, &mut checks);
    checks.assert_only_known_misses();
}

/// Figures 2 (left) and 6 (left): the line is full whatever the station does, so sleeping is free.
fn slow_dsl(sweep: &Sweep, checks: &mut Checks) {
    for (axis, claim) in [(Axis::Buffer, "fig2a.slow all equal"), (Axis::Rtt, "fig6a.slow all equal")] {
        for &x in sweep.xs(axis) {
            let curves = sweep.curves(SLOW_DSL, axis, x);
            let (low, high) =
                (curves.into_iter().fold(f64::MAX, f64::min), curves.into_iter().fold(0.0, f64::max));
            checks.check(claim, "", x, low > 0.95 * high && low > 0.9 && high < 1.024);
            for wifi in WIFI {
                let ratio = sweep.energy(SLOW_DSL, wifi, ACTIVE, axis, x)
                    / sweep.energy(SLOW_DSL, wifi, PSM, axis, x);
                checks.check("fig2b.slow, fig6b.slow PSM saves a factor of 3", wifi, x, ratio > 3.0);
            }
        }
    }
    for wifi in WIFI {
        let energy = |policy, x| sweep.energy(SLOW_DSL, wifi, policy, Axis::Buffer, x);
        let best = sweep.buffers.iter().map(|x| energy(ACTIVE, *x) / energy(PSM, *x)).fold(0.0, f64::max);
        checks.check("fig2b.slow ratio 4 to 6", wifi, 0, (4.0..6.0).contains(&best));
    }
}

/// Figure 2 (middle).
fn fast_dsl_buffers(sweep: &Sweep, checks: &mut Checks) {
    let goodput = |wifi, policy, x| sweep.goodput(FAST_DSL, wifi, policy, Axis::Buffer, x);
    let energy = |access, wifi, policy, x| sweep.energy(access, wifi, policy, Axis::Buffer, x);
    for wifi in WIFI {
        let ratio = |x| goodput(wifi, PSM, x) / goodput(wifi, ACTIVE, x);
        for &x in &sweep.buffers {
            checks.check("fig2a.fast below active", wifi, x, ratio(x) < 1.0);
            checks.check("fig2a.fast worst at small buffers", wifi, x, ratio(x) >= ratio(20));
            checks.check(
                "fig2b.fast saves",
                wifi,
                x,
                energy(FAST_DSL, wifi, PSM, x) < energy(FAST_DSL, wifi, ACTIVE, x),
            );
            let saving = |access| energy(access, wifi, PSM, x) / energy(access, wifi, ACTIVE, x);
            checks.check(
                "fig2b.fast saves less than on slow DSL",
                wifi,
                x,
                saving(FAST_DSL) > saving(SLOW_DSL),
            );
        }
        for pair in sweep.buffers.windows(2) {
            // A point may lie a percent, its confidence interval, below the one before.
            let rises = goodput(wifi, PSM, pair[1]) > 0.99 * goodput(wifi, PSM, pair[0]);
            checks.check("fig2a.fast rises with the buffer", wifi, pair[1], rises);
        }
    }
    for &x in &sweep.buffers {
        checks.check(
            "fig2a.fast slow Wi-Fi above fast",
            "",
            x,
            goodput(SLOW, PSM, x) > goodput(FAST, PSM, x),
        );
        for policy in [ACTIVE, PSM] {
            let less = energy(FAST_DSL, FAST, policy, x) < energy(FAST_DSL, SLOW, policy, x);
            checks.check("fig2b.fast fast Wi-Fi spends less", "", x, less);
        }
    }
    checks.check("fig2a.fast 20 packets", FAST, 20, goodput(FAST, PSM, 20) < 0.8 * goodput(FAST, ACTIVE, 20));
}

/// Figure 2 (right).
fn bottleneck_buffers(sweep: &Sweep, checks: &mut Checks) {
    let goodput = |wifi, policy, x| sweep.goodput(BOTTLENECK, wifi, policy, Axis::Buffer, x);
    let energy = |wifi, policy, x| sweep.energy(BOTTLENECK, wifi, policy, Axis::Buffer, x);
    for &x in &sweep.buffers {
        for wifi in WIFI {
            let ratio = |x| goodput(wifi, PSM, x) / goodput(wifi, ACTIVE, x);
            checks.check("fig2a.wifi below active", wifi, x, ratio(x) < 1.0);
            checks.check("fig2a.wifi worst at small buffers", wifi, x, ratio(x) >= ratio(20));
            checks.check(
                "fig2b.wifi active spends less",
                wifi,
                x,
                energy(wifi, ACTIVE, x) < energy(wifi, PSM, x),
            );
        }
        checks.check(
            "fig2a.wifi active gains by fast Wi-Fi",
            "",
            x,
            goodput(FAST, ACTIVE, x) > goodput(SLOW, ACTIVE, x),
        );
        checks.check(
            "fig2a.wifi fast Wi-Fi below slow",
            "",
            x,
            goodput(FAST, PSM, x) < goodput(SLOW, PSM, x),
        );
    }
}

/// Figure 6 (middle).
fn fast_dsl_rtts(sweep: &Sweep, checks: &mut Checks) {
    let (first, last) = (sweep.rtts[0], sweep.rtts[sweep.rtts.len() - 1]);
    for wifi in WIFI {
        let goodput = |policy, x| sweep.goodput(FAST_DSL, wifi, policy, Axis::Rtt, x);
        let energy = |policy, x| sweep.energy(FAST_DSL, wifi, policy, Axis::Rtt, x);
        let gap = |x| energy(ACTIVE, x) - energy(PSM, x);
        for &x in &sweep.rtts {
            checks.check("fig6a.fast not above active", wifi, x, goodput(PSM, x) <= goodput(ACTIVE, x));
            checks.check("fig6b.fast saves", wifi, x, gap(x) > 0.0);
        }
        for pair in sweep.rtts.windows(2) {
            checks.check(
                "fig6a.fast active falls",
                wifi,
                pair[1],
                goodput(ACTIVE, pair[1]) < goodput(ACTIVE, pair[0]),
            );
        }
        let rtts: Vec<u32> = sweep.rtts.iter().copied().filter(|x| (110..=310).contains(x)).collect();
        let ripples = rtts.windows(2).any(|pair| {
            let before =
                rtts.iter().filter(|x| **x < pair[1]).map(|x| goodput(PSM, *x)).fold(f64::MAX, f64::min);
            goodput(PSM, pair[1]) > 1.15 * before
        });
        checks.check("fig6a.fast ripple", wifi, 0, ripples);
        checks.check(
            "fig6b.fast active grows",
            wifi,
            last,
            energy(ACTIVE, last) > 1.5 * energy(ACTIVE, first),
        );
        checks.check("fig6b.fast gap widens", wifi, last, gap(last) > 2.0 * gap(first));
    }
}

/// Figure 6 (right). Equation 6 is about congestion avoidance, so it is compared with runs that begin there: three
/// quarters of the buffer in each of the beacon intervals that a round trip takes.
fn bottleneck_rtts(sweep: &Sweep, checks: &mut Checks) {
    let (first, last) = (sweep.rtts[0], sweep.rtts[sweep.rtts.len() - 1]);
    for wifi in WIFI {
        let energy = |x| sweep.energy(BOTTLENECK, wifi, ACTIVE, Axis::Rtt, x);
        checks.check("fig6b.wifi active grows", wifi, last, energy(last) > 1.5 * energy(first));
    }
    for &x in sweep.rtts.iter().filter(|x| **x <= 300) {
        let equation_6 = 9.0 / f64::from(x / 100 + 1);
        let here = sweep.goodput(BOTTLENECK, FAST, PSM, Axis::RttAvoidance, x);
        checks.check("fig6a.wifi equation 6", FAST, x, (here / equation_6 - 1.0).abs() < 0.2);
    }
    let slow = |x| sweep.goodput(BOTTLENECK, SLOW, PSM, Axis::Rtt, x);
    checks.check("fig6a.wifi ripple", SLOW, 150, slow(150) > slow(110));
}

#[test]
fn figures_2_and_6_at_some_points() {
    check_all(&Sweep::run(vec![20, 60, 100, 160], vec![10, 50, 110, 150, 210, 250, 290], 2));
}

#[test]
#[ignore = "ten seeds at every point take minutes: make test-long"]
fn figures_2_and_6() {
    let sweep = Sweep::run((20..=160).step_by(20).collect(), (10..=310).step_by(20).collect(), 10);
    if std::env::var_os("AIRWATT_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/bata.csv");
        std::fs::write(path, sweep.csv()).expect("the file can be written");
    }
    check_all(&sweep);
}

#[expect(clippy::print_stdout, reason = "figures to be read with --nocapture")]
fn show(figures: &str) {
    println!("{figures}");
}
