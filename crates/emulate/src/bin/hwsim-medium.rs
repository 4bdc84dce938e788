//! `hwsim-medium SCENARIO [SEED]`: the air of a scenario between the simulated Wi-Fi radios of this kernel.
//!
//! A program for a test bed, not for users: see docs/station.md.

use std::process::ExitCode;

use airwatt_emulate::{EmulateError, be_the_medium};
use airwatt_sim::scenario::Scenario;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(name), seed, None) = (words.next(), words.next(), words.next()) else {
        eprintln!("usage: hwsim-medium SCENARIO [SEED]");
        return ExitCode::from(2);
    };
    let Ok(seed) = seed.as_deref().unwrap_or("1").parse() else {
        eprintln!("SEED: expected a number, got {}", seed.unwrap_or_default());
        return ExitCode::from(2);
    };
    let scenario = match Scenario::load(&name, &[]) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match be_the_medium(&scenario, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, EmulateError::Input(_)) { 2 } else { 1 })
        }
    }
}
