//! Fingerprints of every shipped scenario under every policy: a change that moves results has to say so.
//!
//! `fingerprints.csv` beside this file holds, for seed 1, the hash of each trajectory in four projections, so that one
//! line tells what moved: `events` (which machine was woken when), `frames` (what was on the air when, and whether it was
//! received), `radios` (which radio dozed and woke when) and `results` (the result document). Runs are cut to 20 s of
//! simulated time: enough for slow start, recovery and a few hundred beacons.
//!
//! If a difference is intended:
//!
//! 1. `AIRWATT_BLESS=1 cargo test -p airwatt-sim --test runs fingerprints` writes the file anew;
//! 2. look at its difference: a change of the results alone, without frames, is a change of accounting, and one that
//!    touches scenarios which the change should not concern is a bug;
//! 3. add a line to the CHANGELOG under *Results* that says what moves and why.

use std::fmt::Write;
use std::path::Path;

use airwatt_sim::scenario::{Scenario, shipped};

use crate::support::{cut, in_parallel, policies_of, simulate};

const POLICIES: [&str; 8] =
    ["active", "timeout", "psm-legacy", "psm", "uapsd", "ba-ta", "ba-ta+str", "psm-throttling"];
const HEAD: &str = "scenario,policy,events,frames,radios,results\n";

fn fingerprints() -> String {
    let mut jobs = Vec::new();
    for shipped in shipped() {
        jobs.extend(policies_of(shipped.name, &POLICIES));
    }
    let rows = in_parallel(&jobs, |&(name, policy)| {
        let prints = simulate(&cut(name, policy, "20s"), 1).fingerprints;
        [prints.events, prints.frames, prints.radios, prints.results]
            .map(airwatt_sim::engine::Fingerprint::value)
    });
    let mut text = HEAD.to_owned();
    for ((name, policy), row) in jobs.into_iter().zip(rows) {
        let [events, frames, radios, results] = row;
        writeln!(text, "{name},{policy},{events:016x},{frames:016x},{radios:016x},{results:016x}")
            .expect("a string takes what is written");
    }
    text
}

/// Paths, transports and applications that no shipped scenario has, each as `fast-dsl` with these keys.
const VARIANTS: [(&str, &str); 24] = [
    (
        "split-down",
        "tcp = { handshake = true }\nflow = [{ direction = \"down\", transport = \"split\", application = { kind = \"bulk\", size = \"2MB\" } }]",
    ),
    (
        "split-up",
        "flow = [{ direction = \"up\", transport = \"split\", application = { kind = \"bulk\", size = \"1MB\" } }]",
    ),
    (
        "split-many",
        "station = [{ count = 3, power_save = { policy = \"psm\" } }]\nflow = [{ direction = \"down\", transport = \"split\", application = { kind = \"bulk\", size = \"1MB\" } }]",
    ),
    (
        "e2tcp-down",
        "tcp = { handshake = true }\nflow = [{ direction = \"down\", transport = \"e2tcp\", application = { kind = \"bulk\", size = \"2MB\" } }]",
    ),
    (
        "e2tcp-up",
        "flow = [{ direction = \"up\", transport = \"e2tcp\", application = { kind = \"bulk\", size = \"1MB\" }, reliability = 90 }]",
    ),
    (
        "e2tcp-small-buffer",
        "gateway = { buffer = \"8kB\" }\nwifi = { base = \"fast-wifi\", frame_error_rate = 0.3, retry_limit = 1 }\nflow = [{ direction = \"down\", transport = \"e2tcp\", application = { kind = \"bulk\", size = \"1MB\" }, reliability = 80 }]",
    ),
    (
        "prtp",
        "wifi = { base = \"fast-wifi\", frame_error_rate = 0.3, retry_limit = 1 }\nflow = [{ direction = \"down\", transport = \"prtp\", application = { kind = \"bulk\", size = \"1MB\" }, reliability = 80 }]",
    ),
    (
        "udp",
        "duration = \"5s\"\nflow = [{ direction = \"down\", transport = \"udp\", application = { kind = \"cbr\", rate = \"2Mbps\" } }, { direction = \"up\", transport = \"udp\", application = { kind = \"interactive\" } }]",
    ),
    (
        "neighbours",
        "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { direction = \"up\", neighbours = 2, application = { kind = \"bulk\", size = \"500kB\" } }, { direction = \"down\", neighbours = 2, application = { kind = \"bulk\", size = \"2MB\" } }]",
    ),
    (
        "own-wires",
        "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" }, wired = { rtt = \"100ms\", down = { rate = \"3Mbps\", cross = { rate = \"1Mbps\" } }, up = { rate = \"1Mbps\" } } }]",
    ),
    (
        "fq-codel",
        "ap = { queue = \"fq-codel\", buffer = \"20packets\" }\nwired = { rtt = \"20ms\", down = { rate = \"100Mbps\" }, up = { rate = \"10Mbps\" } }\nstation = [{ count = 3 }]\nflow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { direction = \"down\", application = { kind = \"bulk\", size = \"2MB\" } }]",
    ),
    (
        "mac80211",
        "wifi = \"wifi4\"\nap = { queue = \"mac80211\", buffer = \"200packets\" }\nwired = { rtt = \"20ms\", down = { rate = \"100Mbps\" }, up = { rate = \"10Mbps\" } }\nstation = [{ count = 2 }, { mode = \"HT20 MCS 0\", power_save = { policy = \"uapsd\" } }]\nflow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { direction = \"up\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "ath9k",
        "wifi = { base = \"wifi4\", frame_error_rate = 0.05 }\nap = { queue = \"ath9k\", buffer = \"200packets\" }\nwired = { rtt = \"20ms\", down = { rate = \"100Mbps\" }, up = { rate = \"10Mbps\" } }\nstation = [{ count = 2 }, { mode = \"HT20 MCS 0\", power_save = { policy = \"uapsd\" } }]\nflow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { direction = \"up\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "rts",
        "station = [{ count = 2, power_save = { policy = \"uapsd\" } }]\nwifi = { base = \"fast-wifi\", station_rts_threshold = \"500B\", ap_rts_threshold = \"500B\", frame_error_rate = 0.1 }\nflow = [{ direction = \"up\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "path-loss",
        "station = [{ count = 2, distance = \"8m\" }, { distance = \"3m\" }]\nwifi = { base = \"fast-wifi\", path_loss = {} }\nflow = [{ direction = \"up\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "web",
        "duration = \"10s\"\nflow = [{ direction = \"down\", application = { kind = \"web\" } }, { direction = \"up\", application = { kind = \"request-response\" } }]",
    ),
    (
        "browser",
        "tcp = { handshake = true }\nstation = [{ power_save = { policy = \"uapsd\" } }]\nflow = [{ direction = \"down\", transport = \"sack\", application = { kind = \"web\", count = 2, connections = 6 } }, { direction = \"down\", start_spread = \"1s\", application = { kind = \"web\", count = 1, connections = 4 } }]",
    ),
    (
        "stream",
        "flow = [{ direction = \"down\", application = { kind = \"streaming\", media = \"10s\", startup = \"2s\" } }]",
    ),
    (
        "throttled",
        "station = [{ power_save = { policy = \"psm-throttling\" } }]\nflow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1MB\" } }, { direction = \"down\", transport = \"split\", application = { kind = \"bulk\", size = \"1MB\" } }]",
    ),
    (
        "saturated-both-ways",
        "duration = \"2s\"\nstation = [{ count = 2 }]\nwifi = { base = \"fast-wifi\", txop = \"3ms\", frame_error_rate = 0.05 }\nflow = [{ direction = \"down\", transport = \"udp\", application = { kind = \"saturated\" } }, { direction = \"up\", transport = \"udp\", application = { kind = \"saturated\" } }, { direction = \"down\" }]",
    ),
    (
        "handshake",
        "tcp = { handshake = true }\nflow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"500kB\" }, start_spread = \"1s\" }, { direction = \"up\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "snoop",
        "wifi = { base = \"fast-wifi\", frame_error_rate = 0.3, retry_limit = 1 }\nflow = [{ direction = \"down\", transport = \"snoop\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "e2tcp-base",
        "tcp = { handshake = true }\nwifi = { base = \"fast-wifi\", frame_error_rate = 0.3, retry_limit = 1 }\nflow = [{ direction = \"down\", transport = \"e2tcp-base\", application = { kind = \"bulk\", size = \"500kB\" } }]",
    ),
    (
        "tunnel-over-sctp",
        "tunnel = { burst = 5, delay_budget = \"10ms\", association = \"sctp\" }\nwifi = { base = \"fast-wifi\", frame_error_rate = 0.2, retry_limit = 1 }\nflow = [{ direction = \"up\", application = { kind = \"bulk\", size = \"300kB\" } }, { direction = \"down\", application = { kind = \"bulk\", size = \"300kB\" } }]",
    ),
];

/// The same for networks in the general form: programs that share a node, and several of a kind.
const NETWORKS: [(&str, &str); 2] = [
    (
        "gateway-and-impairment",
        "node = [{ name = \"server\" }, { name = \"base\", forward = true, program = [{ kind = \"gateway\" }, { kind = \"impairment\", delay = \"5ms\", loss = 0.02 }] }, { name = \"phone\", count = 2 }]\nlink = [{ name = \"wire\", between = [\"server\", \"base\"], delay = \"10ms\", forward = { rate = \"16Mbps\" }, reverse = { rate = \"1Mbps\" } }]\ncell = [{ name = \"air\", wifi = \"fast-wifi\", access_point = { node = \"base\" }, station = [{ node = \"phone\" }] }]\nflow = [{ from = \"server\", to = \"phone0\", transport = \"split\", application = { kind = \"bulk\", size = \"500kB\" } }, { from = \"server\", to = \"phone0\", transport = \"snoop\", application = { kind = \"bulk\", size = \"300kB\" } }, { from = \"phone1\", to = \"server\", application = { kind = \"bulk\", size = \"300kB\" } }]",
    ),
    (
        "two-gateways",
        "node = [{ name = \"server\" }, { name = \"router\", forward = true }, { name = \"first\", forward = true, program = [{ kind = \"gateway\" }] }, { name = \"second\", forward = true, program = [{ kind = \"gateway\", buffer = \"16kB\" }] }, { name = \"phone\", count = 2 }]\nlink = [{ name = \"uplink\", between = [\"server\", \"router\"], delay = \"10ms\", forward = { rate = \"16Mbps\" }, reverse = { rate = \"1Mbps\" } }, { name = \"to-first\", between = [\"router\", \"first\"], delay = \"1ms\", forward = { rate = \"100Mbps\" }, reverse = { rate = \"100Mbps\" } }, { name = \"to-second\", between = [\"router\", \"second\"], delay = \"1ms\", forward = { rate = \"100Mbps\" }, reverse = { rate = \"100Mbps\" } }]\ncell = [{ name = \"air-first\", wifi = \"fast-wifi\", access_point = { node = \"first\" }, station = [{ node = \"phone0\" }] }, { name = \"air-second\", wifi = \"fast-wifi\", access_point = { node = \"second\" }, station = [{ node = \"phone1\" }] }]\nflow = [{ from = \"server\", to = \"phone1\", transport = \"e2tcp\", application = { kind = \"bulk\", size = \"500kB\" } }, { from = \"phone0\", to = \"server\", transport = \"split\", application = { kind = \"bulk\", size = \"300kB\" } }]",
    ),
];

/// The variants' scenarios, whose flows end within the time limit.
fn variants() -> String {
    let based = VARIANTS.map(|(name, keys)| (name, format!("base = \"fast-dsl\"\n{keys}")));
    let whole = NETWORKS.map(|(name, text)| (name, text.to_owned()));
    let jobs: Vec<(&str, String)> = based.into_iter().chain(whole).collect();
    let rows = in_parallel(&jobs, |(name, text)| {
        let scenario = Scenario::from_text(text, name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let prints = simulate(&scenario, 1).fingerprints;
        [prints.events, prints.frames, prints.radios, prints.results]
            .map(airwatt_sim::engine::Fingerprint::value)
    });
    let mut text = HEAD.to_owned();
    for ((name, _), [events, frames, radios, results]) in jobs.iter().zip(rows) {
        writeln!(text, "{name},,{events:016x},{frames:016x},{radios:016x},{results:016x}")
            .expect("a string takes what is written");
    }
    text
}

#[test]
fn trajectories_of_variants_are_those_on_file() {
    compare("tests/runs/fingerprints_variants.csv", &variants());
}

#[test]
fn trajectories_are_those_on_file() {
    compare("tests/runs/fingerprints.csv", &fingerprints());
}

/// Compares `now` with the file, or writes the file if that is asked for.
fn compare(file: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("AIRWATT_BLESS").is_some() {
        std::fs::write(&path, now).expect("the file can be written");
        return;
    }
    let on_file = std::fs::read_to_string(&path).expect("the file ships");
    let moved: Vec<&str> = now.lines().filter(|line| !on_file.lines().any(|other| other == *line)).collect();
    assert!(
        moved.is_empty() && now.lines().count() == on_file.lines().count(),
        "trajectories moved; if that is intended, see the head of this file. Now:\n{}",
        moved.join("\n")
    );
}
