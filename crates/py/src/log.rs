//! Where the events of the Rust core go: to standard error, once somebody asks for them.

use pyo3::prelude::*;

use crate::errors::InputError;

/// Writes events of the core to standard error: `debug`, or levels by module as in `info,airwatt_sim=debug`. A second
/// call changes nothing. Raises `InputError`.
///
/// Releases have no level below `debug`. Lines carry simulated time; the wall clock says nothing about a simulation.
#[pyfunction]
pub(crate) fn log_to_stderr(levels: &str) -> PyResult<()> {
    airwatt_linux::log::to_stderr(levels).map_err(InputError::new_err)
}
