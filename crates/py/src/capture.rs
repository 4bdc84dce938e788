//! Analysis of a real capture.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use airwatt_capture::{AnalyzeError, Limits, Question};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::control::Control;
use crate::errors::{AirwattError, InputError, RunError};

/// Analyses a capture; returns the document. Raises `InputError`, `RunError` if a limit is exceeded or the capture holds
/// nothing to analyse, or `KeyboardInterrupt` when stopped.
#[pyfunction]
#[pyo3(signature = (path, *, station = None, radio = None, policies = Vec::new(), seed = 1, limit = None, control = None))]
pub(crate) fn analyze(
    py: Python<'_>,
    path: PathBuf,
    station: Option<&str>,
    radio: Option<&str>,
    policies: Vec<String>,
    seed: u64,
    limit: Option<&str>,
    control: Option<&Control>,
) -> PyResult<String> {
    let shared = control.map(|control| Arc::clone(&control.shared)).unwrap_or_default();
    let limits = limit.map(str::parse::<Limits>).transpose();
    let limits =
        limits.map_err(|error| InputError::new_err(format!("--limit: {error}")))?.unwrap_or_default();
    if runs_as_root() {
        tracing::info!("analyze runs as root, and needs no privilege");
    }
    let question = Question { station, radio, policies: &policies, seed, limits };
    let mut signal = Ok(());
    let outcome = py.detach(|| {
        airwatt_capture::analyze(&path, &question, &mut |share| {
            // Python checks signals in the main thread only; others are stopped through their control.
            signal = Python::attach(|py| py.check_signals());
            let goes_on = shared.report(0, share, 0);
            if goes_on && signal.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    signal?;
    let analysis = outcome.map_err(|error| match error {
        AnalyzeError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        error if error.is_wrong_input() => InputError::new_err(error.to_string()),
        error => RunError::new_err(error.to_string()),
    })?;
    serde_json::to_string(&analysis).map_err(|error| AirwattError::new_err(format!("analysis: {error}")))
}

/// Whether this process is root's, as far as the system says.
fn runs_as_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
