//! One run as a whole process, for timing: `whole_run SCENARIO [KEY=VALUE]... [--seed N] [--trace] [--json]`.
//!
//! Prints simulated seconds per wall second, events per second and peak memory; with `--json` the result document.
#![expect(clippy::print_stdout, clippy::disallowed_types, reason = "a program that prints what it measured")]

use std::ops::ControlFlow;
use std::time::Instant;

use airwatt_sim::scenario::Scenario;
use airwatt_sim::{RunOptions, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("usage: whole_run SCENARIO [KEY=VALUE]...")?;
    let (mut seed, mut trace, mut json, mut overrides) = (1, false, false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seed" => seed = arguments.next().ok_or("--seed needs a number")?.parse()?,
            "--trace" => trace = true,
            "--json" => json = true,
            pair => {
                let (key, value) = pair.split_once('=').ok_or("expected KEY=VALUE")?;
                overrides.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    let scenario = Scenario::load(&name, &overrides)?;
    let begun = Instant::now();
    let mut go_on = |_| ControlFlow::Continue(());
    let done = run(&scenario, seed, &mut RunOptions { trace, on_progress: &mut go_on })?;
    let wall = begun.elapsed().as_secs_f64();
    if json {
        println!("{}", serde_json::to_string_pretty(&done.result)?);
    }
    let result = &done.result;
    println!(
        "{name}: {:.3} s simulated in {wall:.3} s ({:.0} per wall second), {:.2} M events ({:.1} M/s), peak {} MB",
        result.simulated_s,
        result.simulated_s / wall,
        result.events as f64 * 1e-6,
        result.events as f64 * 1e-6 / wall,
        peak_memory_mb().map_or_else(|| "?".to_owned(), |mb| format!("{mb:.1}")),
    );
    println!("{}", done.fingerprints);
    Ok(())
}

/// Peak resident memory, where the system tells.
fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1000.0)
}
