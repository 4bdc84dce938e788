//! One run: a scenario and a seed in, a result document and what was recorded out.

use std::fmt;
use std::ops::ControlFlow;

use crate::engine::Fingerprints;
use crate::record::{RunResult, RunTrace};
use crate::scenario::Scenario;
use crate::world::{Ending, RunProgress, World, WorldSpec};

/// What a run keeps and who watches it.
pub struct RunOptions<'a> {
    /// Keep windows, queues, radio states and frames.
    pub trace: bool,
    /// Called every 65,536 events; `Break` ends the run.
    pub on_progress: &'a mut dyn FnMut(RunProgress) -> ControlFlow<()>,
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The result document.
    pub result: RunResult,
    /// What was recorded, if it was asked for.
    pub trace: Option<RunTrace>,
    /// Fingerprints of the trajectory.
    pub fingerprints: Fingerprints,
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Its time limit came before its flows were complete.
    TimeLimit {
        /// Which scenario.
        scenario: String,
        /// What had not arrived.
        message: String,
    },
    /// A connection was given up or reset.
    ConnectionLost {
        /// Which scenario.
        scenario: String,
        /// Which flow.
        flow: u32,
    },
    /// A radio profile could not be read.
    Radio(String),
    /// Whoever watched the run broke it off.
    Interrupted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeLimit { scenario, message } => write!(f, "{scenario}: {message}"),
            Self::ConnectionLost { scenario, flow } => {
                write!(f, "{scenario}: flow {flow} lost its connection before it was complete")
            }
            Self::Radio(message) => f.write_str(message),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `scenario` with `seed`.
///
/// # Errors
/// [`RunError`] where the run did not come to its end.
pub fn run(scenario: &Scenario, seed: u64, options: &mut RunOptions) -> Result<Run, RunError> {
    let spec = WorldSpec::new(scenario, seed).map_err(|error| RunError::Radio(error.to_string()))?;
    let mut world = World::new(spec, seed);
    if options.trace {
        world.trace();
    }
    match world.run(options.on_progress) {
        Ending::Complete => Ok(world.finish(scenario, seed)),
        Ending::Interrupted => Err(RunError::Interrupted),
        Ending::ConnectionLost(flow) => {
            Err(RunError::ConnectionLost { scenario: scenario.name.clone(), flow })
        }
        Ending::TimeLimit => {
            let message =
                format!("not complete after its time limit of {}; raise time_limit", scenario.time_limit);
            Err(RunError::TimeLimit { scenario: scenario.name.clone(), message })
        }
    }
}
