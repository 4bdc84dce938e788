//! One run: started from Python, made without its lock, watched and stopped through a [`Control`].

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use airwatt_sim as sim;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;

use crate::control::{Control, Shared};
use crate::errors::{AirwattError, InputError, RunError};
use crate::scenario::Scenario;
use crate::trace::{self, Column};

/// One finished run.
#[pyclass(frozen, module = "airwatt")]
pub(crate) struct Run {
    pub(crate) json: String,
    pub(crate) trace: Option<sim::record::RunTrace>,
}

#[pymethods]
impl Run {
    /// The result document.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    /// The traces by name; empty unless the run was traced.
    fn traces(&self, py: Python<'_>) -> Vec<(&'static str, Vec<Column>)> {
        self.trace.as_ref().map_or_else(Vec::new, |recorded| trace::tables(py, recorded))
    }

    /// Writes the frames on the air as radiotap pcapng. Raises `OSError`.
    fn write_pcapng(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.write(py, path, |trace, out| trace.write_pcapng(out))
    }

    /// Writes radio states, frames, windows and queues for the Perfetto viewer. Raises `OSError`.
    fn write_perfetto(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.write(py, path, |trace, out| trace.write_perfetto(out))
    }
}

impl Run {
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        form: fn(&sim::record::RunTrace, &mut dyn io::Write) -> io::Result<()>,
    ) -> PyResult<()> {
        let Some(recorded) = &self.trace else {
            return Err(InputError::new_err("the run was not traced; frames are kept with trace=True"));
        };
        let written = py.detach(|| -> io::Result<()> {
            let mut out = io::BufWriter::new(std::fs::File::create(path)?);
            form(recorded, &mut out)?;
            io::Write::flush(&mut out)
        });
        // With the number, so that Python can tell a full disk from a wrong place.
        written.map_err(|error| match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        })
    }
}

/// Simulates. Lets other threads run meanwhile; raises `RunError`, or `KeyboardInterrupt` when stopped.
#[pyfunction]
#[pyo3(signature = (scenario, seed, *, trace = false, control = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    trace: bool,
    control: Option<&Control>,
) -> PyResult<Run> {
    let shared = control.map(|control| Arc::clone(&control.shared)).unwrap_or_default();
    py.detach(|| simulate(&scenario.checked, seed, trace, &shared))
}

// The one place that reads a clock: how long a run took is part of its document and decides nothing.
#[expect(clippy::disallowed_types, reason = "wall_s is measured here, outside of what is simulated")]
fn simulate(scenario: &sim::scenario::Scenario, seed: u64, trace: bool, shared: &Shared) -> PyResult<Run> {
    let mut signal = Ok(());
    let mut on_progress = |progress: sim::world::RunProgress| {
        // Heard in the main thread only; runs in other threads are stopped through their control.
        signal = Python::attach(|py| py.check_signals());
        let goes_on = shared.report(progress.simulated.as_nanos(), progress.share, progress.events);
        if goes_on && signal.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let started = std::time::Instant::now();
    let outcome = sim::run(scenario, seed, &mut sim::RunOptions { trace, on_progress: &mut on_progress });
    signal?;
    let sim::Run { mut result, trace, .. } = outcome.map_err(|error| match error {
        sim::RunError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        other => RunError::new_err(other.to_string()),
    })?;
    result.wall_s = started.elapsed().as_secs_f64();
    let json =
        serde_json::to_string(&result).map_err(|error| AirwattError::new_err(format!("result: {error}")))?;
    Ok(Run { json, trace })
}
