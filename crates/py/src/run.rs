//! One run: started from Python, made without its lock, watched and stopped through a [`Control`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use airwatt_base::Size;
use airwatt_capture::Limits;
use airwatt_capture::limits::DEFAULT_EVENTS;
use airwatt_sim as sim;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::control::{Control, Shared};
use crate::errors::{AirwattError, InputError, RunError};
use crate::output;
use crate::own::{Failure, with_mechanisms};
use crate::scenario::Scenario;
use crate::trace::{self, Column};
use crate::whole::Whole;

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

    /// Writes the frames on the air as radiotap pcapng into a binary file object. Raises what it raises.
    fn write_pcapng(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<()> {
        let recorded = self.recorded()?;
        output::write(py, file, |out| recorded.write_pcapng(out))
    }

    /// Writes radio states, frames, windows and queues for the Perfetto viewer into a binary file object. Raises what it
    /// raises.
    fn write_perfetto(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<()> {
        let recorded = self.recorded()?;
        output::write(py, file, |out| recorded.write_perfetto(out))
    }
}

impl Run {
    fn recorded(&self) -> PyResult<&sim::record::RunTrace> {
        self.trace
            .as_ref()
            .ok_or_else(|| InputError::new_err("the run was not traced; frames are kept with trace=True"))
    }
}

/// Simulates. Lets other threads run meanwhile; raises `RunError`, or `KeyboardInterrupt` when stopped. Into `pcapng`, a
/// binary file object, the frames on the air are written while the run goes on; raises what it raises. `own` makes the mechanisms
/// written in Python that the scenario names, by their names; raises what they raise.
#[pyfunction]
#[pyo3(signature = (scenario, seed, *, trace = false, pcapng = None, limit = None, own = BTreeMap::new(), control = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Whole,
    trace: bool,
    pcapng: Option<Py<PyAny>>,
    limit: Option<&str>,
    own: BTreeMap<String, Bound<'_, PyAny>>,
    control: Option<&Control>,
) -> PyResult<Run> {
    let seed = seed.within("seed", 0, u64::MAX)?;
    let limits = RunLimits::of(limit)?;
    let shared = control.map(|control| Arc::clone(&control.shared)).unwrap_or_default();
    let checked = &scenario.checked;
    if !own.is_empty() {
        if pcapng.is_some() {
            return Err(InputError::new_err(
                "pcapng: expected a run without mechanisms in Python; hint: trace=True keeps frames",
            ));
        }
        let failure = Failure::default();
        let checked = with_mechanisms(checked, &own, &failure)?;
        return run_with(&checked, seed, trace, limits, &failure, &shared);
    }
    let Some(file) = pcapng else {
        return py.detach(|| {
            measured(&shared, limits, |on_progress| {
                sim::run(checked, seed, &mut sim::RunOptions { trace, on_progress })
            })
        });
    };
    if trace {
        return Err(InputError::new_err("pcapng: expected a run without trace=True, which keeps its frames"));
    }
    let mut finished = None;
    output::write(py, file, |out| {
        let mut failure = Ok(());
        finished = Some(measured(&shared, limits, |on_progress| {
            sim::run_to_pcapng(checked, seed, out, on_progress).map_err(|error| match error {
                sim::StreamError::Run(error) => error,
                sim::StreamError::Output(error) => {
                    failure = Err(error);
                    sim::RunError::Interrupted
                }
            })
        }));
        failure
    })?;
    finished.unwrap_or_else(|| Err(AirwattError::new_err("run: has no result")))
}

/// Simulates with mechanisms written in Python. It keeps the interpreter, since letting it go and taking it back for each call
/// would cost more than the calls.
fn run_with(
    checked: &sim::scenario::Checked,
    seed: u64,
    trace: bool,
    limits: RunLimits,
    failure: &Failure,
    shared: &Shared,
) -> PyResult<Run> {
    let outcome = measured(shared, limits, |on_progress| {
        let mut watch = |progress| {
            if failure.happened() { ControlFlow::Break(()) } else { on_progress(progress) }
        };
        sim::run(checked, seed, &mut sim::RunOptions { trace, on_progress: &mut watch })
    });
    // An exception explains whatever else went wrong.
    failure.take().map_or(outcome, Err)
}

/// Memory of a traced run for each byte of its records, which are transferred, written and drawn as columns: 6.3 for ten uploads with
/// `--trace`, 6.4 with `--plot`.
const TRACE_FORMS: u64 = 7;
/// Memory that traces may take unless the user sets another limit.
const TRACE_BYTES: u64 = 4_000_000_000;

/// What a run may cost.
#[derive(Clone, Copy)]
struct RunLimits {
    events: u64,
    /// Bytes of all forms of its traces: the records, Arrow's columns, and what writes and draws them.
    memory_bytes: u64,
}

impl RunLimits {
    /// The limits that a text states, with the defaults of the others.
    fn of(text: Option<&str>) -> PyResult<Self> {
        let limits = text.map(str::parse::<Limits>).transpose();
        let Limits { events, memory_bytes } =
            limits.map_err(|error| InputError::new_err(format!("--limit: {error}")))?.unwrap_or_default();
        let memory_bytes = memory_bytes.unwrap_or(TRACE_BYTES);
        Ok(Self { events: events.unwrap_or(DEFAULT_EVENTS), memory_bytes })
    }

    /// Why the run is broken off, if it costs more; with what to do about it.
    fn exceeded(&self, progress: &sim::net::RunProgress) -> Option<String> {
        let (limit, raise) = if progress.events > self.events {
            (format!("of {} events", self.events), "events=COUNT")
        } else if progress.kept_bytes.saturating_mul(TRACE_FORMS) > self.memory_bytes {
            (format!("of {} for its traces", Size::from_bytes(self.memory_bytes)), "memory=SIZE")
        } else {
            return None;
        };
        Some(format!(
            "the run exceeds the limit {limit} after {:.3} s of simulated time, {:.1} % of it; hint: simulate less, or raise --limit \
             {raise}",
            progress.simulated.as_secs_f64(),
            100.0 * progress.share
        ))
    }
}

type Watch<'a> = &'a mut dyn FnMut(sim::net::RunProgress) -> ControlFlow<()>;

/// Makes a run, watched by `shared`, and measures how long it takes.
// The one place that reads a clock: how long a run took is part of its document and decides nothing.
#[expect(clippy::disallowed_types, reason = "wall_s is measured here, outside of what is simulated")]
fn measured(
    shared: &Shared,
    limits: RunLimits,
    simulate: impl FnOnce(Watch<'_>) -> Result<sim::Run, sim::RunError>,
) -> PyResult<Run> {
    let mut signal = Ok(());
    let mut exceeded = None;
    let mut on_progress = |progress: sim::net::RunProgress| {
        // Python checks signals in the main thread only; runs in other threads are stopped through their control.
        signal = Python::attach(|py| py.check_signals());
        let goes_on = shared.report(progress.simulated.as_nanos(), progress.share, progress.events);
        exceeded = limits.exceeded(&progress);
        let goes_on = goes_on && signal.is_ok() && exceeded.is_none();
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let started = std::time::Instant::now();
    let outcome = simulate(&mut on_progress);
    signal?;
    if let Some(message) = exceeded {
        return Err(RunError::new_err(message));
    }
    let sim::Run { mut result, trace, .. } = outcome.map_err(|error| match error {
        sim::RunError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        sim::RunError::Mechanism(message) => InputError::new_err(message),
        other => RunError::new_err(other.to_string()),
    })?;
    result.wall_s = started.elapsed().as_secs_f64();
    let json =
        serde_json::to_string(&result).map_err(|error| AirwattError::new_err(format!("result: {error}")))?;
    Ok(Run { json, trace })
}
