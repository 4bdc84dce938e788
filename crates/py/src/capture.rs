//! Analysis of a real capture.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use airwatt_capture::{AnalyzeError, Limits, Question};
use airwatt_linux::user::User;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::control::Control;
use crate::errors::{AirwattError, InputError, RunError};

/// Analyses a capture; returns the document. With `user` this process opens the file and then becomes that user for good,
/// and the kernel ends it with its parent. Raises `InputError`, `RunError` if a limit is exceeded or the capture holds
/// nothing to analyse, or `KeyboardInterrupt` when stopped.
#[pyfunction]
#[pyo3(signature = (path, *, station = None, radio = None, policies = Vec::new(), settings = Vec::new(), seed = 1, limit = None, user = None, control = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn analyze(
    py: Python<'_>,
    path: PathBuf,
    station: Option<&str>,
    radio: Option<&str>,
    policies: Vec<String>,
    settings: Vec<(String, String)>,
    seed: u64,
    limit: Option<&str>,
    user: Option<&str>,
    control: Option<&Control>,
) -> PyResult<String> {
    let shared = control.map(|control| Arc::clone(&control.shared)).unwrap_or_default();
    let limits = limit.map(str::parse::<Limits>).transpose();
    let limits =
        limits.map_err(|error| InputError::new_err(format!("--limit: {error}")))?.unwrap_or_default();
    let user = user.map(named).transpose()?;
    let question = Question { station, radio, policies: &policies, settings: &settings, seed, limits };
    let mut signal = Ok(());
    let outcome = py.detach(|| {
        let mut watch = |share| {
            // Python checks signals in the main thread only; others are stopped through their control.
            signal = Python::attach(|py| py.check_signals());
            let goes_on = shared.report(0, share, 0);
            if goes_on && signal.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match user {
            None => airwatt_capture::analyze(&path, &question, &mut watch),
            Some(user) => {
                end_with_parent();
                airwatt_capture::analyze_then(&path, &question, || give_up(&user), &mut watch)
            }
        }
    });
    signal?;
    let analysis = outcome.map_err(|error| match error {
        AnalyzeError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        error if error.is_wrong_input() => InputError::new_err(error.to_string()),
        error => RunError::new_err(error.to_string()),
    })?;
    serde_json::to_string(&analysis).map_err(|error| AirwattError::new_err(format!("analysis: {error}")))
}

/// The user of this name. `nobody` exists even where the user database does not list it.
fn named(name: &str) -> PyResult<User> {
    if name == "nobody" {
        return Ok(User::nobody());
    }
    let found = User::named(name).map_err(|error| RunError::new_err(error.to_string()))?;
    found.ok_or_else(|| {
        InputError::new_err(format!("--user: expected the name of a user of this machine, got {name:?}"))
    })
}

/// Gives this process to the user.
fn give_up(user: &User) -> io::Result<()> {
    user.become_user().map_err(|error| {
        let name = user.name();
        io::Error::other(format!("cannot become {name}: {error}; hint: --user root analyses it as root"))
    })?;
    // The change of user has cleared the setting.
    end_with_parent();
    tracing::debug!(user = user.name(), "privileges given up");
    Ok(())
}

/// Has the kernel kill this process when its parent ends (prctl(2), PR_SET_PDEATHSIG), which takes no privilege.
fn end_with_parent() {
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}
