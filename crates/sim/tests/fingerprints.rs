//! Fingerprints of every shipped scenario under every policy: a change that moves results has to say so.
//!
//! `fingerprints.csv` beside this file holds, for seed 1, the hash of each trajectory in four projections, so that one
//! line tells what moved: `events` (which machine was woken when), `frames` (what was on the air when, and whether it was
//! received), `radios` (which radio dozed and woke when) and `results` (the result document). Runs are cut to 20 s of
//! simulated time: enough for slow start, recovery and a few hundred beacons.
//!
//! If a difference is intended:
//!
//! 1. `AIRWATT_BLESS=1 cargo test -p airwatt-sim --test fingerprints` writes the file anew;
//! 2. look at its difference: a change of the results alone, without frames, is a change of accounting, and one that
//!    touches scenarios which the change should not concern is a bug;
//! 3. add a line to the CHANGELOG under *Results* that says what moves and why.

mod validation;

use std::fmt::Write;
use std::path::Path;

use airwatt_sim::scenario::shipped;

use validation::{cut, in_parallel, policies_of, simulate};

const POLICIES: [&str; 9] =
    ["active", "timeout", "psm-legacy", "psm", "uapsd", "ba-ta", "ba-ta+str", "psm-throttling", "ideal"];
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

#[test]
fn trajectories_are_those_on_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fingerprints.csv");
    let now = fingerprints();
    if std::env::var_os("AIRWATT_BLESS").is_some() {
        std::fs::write(&path, &now).expect("the file can be written");
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
