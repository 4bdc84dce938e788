//! Analysis of a real capture.

use std::ops::ControlFlow;
use std::sync::Arc;

use airwatt_capture::{AnalyzeError, Question};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::control::Control;
use crate::errors::{AirwattError, InputError};

/// Analyses a capture; returns the document. Raises `InputError`, or `KeyboardInterrupt` when stopped.
#[pyfunction]
#[pyo3(signature = (path, *, station = None, radio = None, policies = Vec::new(), seed = 1, control = None))]
pub(crate) fn analyze(
    py: Python<'_>,
    path: &str,
    station: Option<&str>,
    radio: Option<&str>,
    policies: Vec<String>,
    seed: u64,
    control: Option<&Control>,
) -> PyResult<String> {
    let shared = control.map(|control| Arc::clone(&control.shared)).unwrap_or_default();
    let question = Question { station, radio, policies: &policies, seed };
    let mut signal = Ok(());
    let outcome = py.detach(|| {
        airwatt_capture::analyze(path, &question, &mut |share| {
            // Heard in the main thread only; others are stopped through their control.
            signal = Python::attach(|py| py.check_signals());
            let goes_on = shared.report(0, share, 0);
            if goes_on && signal.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    signal?;
    let analysis = outcome.map_err(|error| match error {
        AnalyzeError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        other => InputError::new_err(other.to_string()),
    })?;
    serde_json::to_string(&analysis).map_err(|error| AirwattError::new_err(format!("analysis: {error}")))
}
