//! One emulation: started from Python, driven without its lock, watched and stopped through a [`Control`].

use std::ops::Not;
use std::sync::Arc;

use airwatt_base::Span;
use airwatt_emulate::{
    Command, EmulateError, Emulated, EmulationOptions, EmulationProgress, Output, Realtime, Stop, Work,
};
use airwatt_sim::record::RunResult;
use pyo3::prelude::*;
use serde::Serialize;

use crate::control::Control;
use crate::errors::{AirwattError, InputError, MissingFeature, RunError};
use crate::run::Run;
use crate::scenario::Scenario;
use crate::whole::Whole;

/// Emulates. Lets other threads run meanwhile. Stopped through its control it returns what there is until then.
#[pyfunction]
#[pyo3(signature = (scenario, seed, *, bound, host = None, command = None, user = None, output_to_error = false, trace = false, control = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn emulate(
    py: Python<'_>,
    scenario: &Scenario,
    seed: Whole,
    bound: &str,
    host: Option<String>,
    command: Option<Vec<String>>,
    user: Option<String>,
    output_to_error: bool,
    trace: bool,
    control: Option<&Control>,
) -> PyResult<Run> {
    let seed = seed.within("seed", 0, u64::MAX)?;
    let shared = control.map(|control| Arc::clone(&control.shared)).unwrap_or_default();
    let bound: Span =
        bound.parse().map_err(|error| InputError::new_err(format!("lateness {bound:?}: {error}")))?;
    let work = command.map_or(Work::Scenario, |words| Work::Command(Command { host, words }));
    let output = if output_to_error { Output::Error } else { Output::Standard };
    let stop = Stop::new().map_err(|error| RunError::new_err(error.to_string()))?;
    shared.wake_on_cancel(stop.clone());
    let options = EmulationOptions { work, output, user, trace, bound, stop };
    let mut report = |progress: EmulationProgress| {
        shared.report(progress.elapsed.as_nanos(), progress.share, progress.events);
    };
    let emulated = py.detach(|| airwatt_emulate::emulate(&scenario.checked, seed, options, &mut report));
    let emulated = emulated.map_err(|error| match error {
        EmulateError::Input(line) => InputError::new_err(line),
        EmulateError::Missing(line) => MissingFeature::new_err(line),
        EmulateError::Failed(line) => RunError::new_err(line),
    })?;
    document(emulated)
}

/// The result document with what only an emulation has.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    result: RunResult,
    realtime: Realtime,
    command: Option<Ended>,
    #[serde(skip_serializing_if = "Not::not")]
    interrupted: bool,
}

/// How the command ended, or the first of several that failed.
#[derive(Serialize)]
struct Ended {
    status: i32,
}

fn document(emulated: Emulated) -> PyResult<Run> {
    let Emulated { run, realtime, status, interrupted } = emulated;
    let result = RunResult { wall_s: run.result.simulated_s, ..run.result };
    let command = status.map(|status| Ended { status });
    let json = serde_json::to_string(&Document { result, realtime, command, interrupted })
        .map_err(|error| AirwattError::new_err(format!("result: {error}")))?;
    Ok(Run { json, trace: run.trace })
}
