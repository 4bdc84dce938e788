//! Where the events of the Rust core go: to standard error, once somebody asks for them.

use std::io;

use pyo3::prelude::*;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::errors::InputError;

/// Writes events of the core to standard error: `debug`, or levels by module as in `info,airwatt_sim=debug`. A second
/// call changes nothing. Raises `InputError`.
///
/// Releases have no level below `debug`. Lines carry simulated time; the wall clock says nothing about a simulation.
#[pyfunction]
pub(crate) fn log_to_stderr(levels: &str) -> PyResult<()> {
    let targets: Targets = levels.parse().map_err(|_| {
        let expected = "expected error, warn, info or debug, also by module as in info,airwatt_sim=debug";
        InputError::new_err(format!("AIRWATT_LOG: {expected}, got {levels:?}"))
    })?;
    let lines = fmt::layer().without_time().with_ansi(false).with_writer(io::stderr).with_filter(targets);
    // Fails if a subscriber is there already, which then stays.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}
