//! Where the events of a program go: to standard error, one line each.
//!
//! The service manager adds the time of a daemon's lines; those of a simulation carry simulated time. Levels are by
//! consequence: an error ends the program or a part of it, a warning may change a result or a connection, information is
//! what an operator wants to read once, the rest is for debugging. Releases have no level below `debug`.

use std::io;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// The environment variable with the levels.
pub const VARIABLE: &str = "AIRWATT_LOG";

/// Writes events to standard error: of `debug` and above, say, or of levels by module as in `info,airwatt_sim=debug`. A
/// second call changes nothing.
///
/// # Errors
/// If `levels` is something else: one line.
pub fn to_stderr(levels: &str) -> Result<(), String> {
    let targets: Targets = levels.parse().map_err(|_| {
        let expected = "expected error, warn, info or debug, also by module as in info,airwatt_sim=debug";
        format!("{VARIABLE}: {expected}, got {levels:?}")
    })?;
    let lines = fmt::layer().without_time().with_ansi(false).with_writer(io::stderr).with_filter(targets);
    // Fails if a subscriber is there already, which then stays.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}

/// Writes the events of a daemon to standard error: warnings, with one `-v` information, with two everything, or what
/// [`VARIABLE`] says.
///
/// # Errors
/// As [`to_stderr`].
pub fn of_daemon(verbosity: u8) -> Result<(), String> {
    match std::env::var(VARIABLE) {
        Ok(levels) if !levels.is_empty() => to_stderr(&levels),
        _ => to_stderr(["warn", "info", "debug"][usize::from(verbosity.min(2))]),
    }
}
