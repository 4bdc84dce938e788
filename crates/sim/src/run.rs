//! One run: a scenario and a seed in, a result document and what was recorded out.

use std::fmt;
use std::io;
use std::ops::ControlFlow;

use tracing::{debug, warn};

use crate::net::{Network, NetworkPlan, RunEnding, RunProgress};
use crate::record::{PcapngStream, Run, RunResult};
use crate::scenario::{Checked, Scenario};

/// What a run keeps and who watches it.
pub struct RunOptions<'a> {
    /// Keep windows, queues, radio states and frames.
    pub trace: bool,
    /// Called every 65,536 events; `Break` ends the run.
    pub on_progress: &'a mut dyn FnMut(RunProgress) -> ControlFlow<()>,
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
    /// A mechanism from outside that the scenario names is missing.
    Mechanism(String),
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
            Self::Mechanism(message) => f.write_str(message),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `scenario` with `seed`.
///
/// # Errors
/// [`RunError`] where the run did not come to its end, or lacks a mechanism from outside that the scenario names.
pub fn run(scenario: &Checked, seed: u64, options: &mut RunOptions) -> Result<Run, RunError> {
    let ready = scenario.ready().map_err(RunError::Mechanism)?;
    let mut network = Network::new(NetworkPlan::new(&ready, seed), seed);
    if options.trace {
        network.trace();
    }
    begin(scenario, seed);
    let ending = network.run(options.on_progress);
    finish(network, ending, scenario, seed)
}

/// Runs `scenario` with `seed` and writes its frames as pcapng while it goes on. Nothing else is kept, so that memory does
/// not grow with the run. `out` is best buffered.
///
/// # Errors
/// [`StreamError`] where the run did not come to its end, or `out` failed.
pub fn run_to_pcapng(
    scenario: &Checked,
    seed: u64,
    out: &mut dyn io::Write,
    on_progress: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
) -> Result<Run, StreamError> {
    let ready = scenario.ready().map_err(RunError::Mechanism)?;
    let mut network = Network::new(NetworkPlan::new(&ready, seed), seed);
    let mut stream = PcapngStream::new(network.setting(scenario, seed), out).map_err(StreamError::Output)?;
    network.keep_frames();
    begin(scenario, seed);
    let mut written = Ok(());
    let ending = network.run_watched(&mut |network, progress| {
        let (frames, radios) = network.take_frames();
        written = stream.take(frames, &radios, progress.simulated);
        if written.is_err() { ControlFlow::Break(()) } else { on_progress(progress) }
    });
    written.map_err(StreamError::Output)?;
    let (frames, radios) = network.take_frames();
    let run = finish(network, ending, scenario, seed)?;
    stream.finish(frames, &radios).map_err(StreamError::Output)?;
    Ok(run)
}

/// Why a run whose frames were to be written has no result.
#[derive(Debug)]
pub enum StreamError {
    /// The run did not come to its end.
    Run(RunError),
    /// The output failed.
    Output(io::Error),
}

impl From<RunError> for StreamError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

fn begin(scenario: &Scenario, seed: u64) {
    debug!(scenario = scenario.name, seed, simulated_s = 0.0, "run begins");
}

/// Levels: a run that fails is a WARN, since its caller decides what follows; the rest is DEBUG.
fn finish(network: Network, ending: RunEnding, scenario: &Scenario, seed: u64) -> Result<Run, RunError> {
    let result = outcome(network, ending, scenario, seed);
    match &result {
        Ok(run) => {
            let RunResult { simulated_s, events, .. } = run.result;
            debug!(scenario = scenario.name, seed, simulated_s, events, "run complete");
        }
        Err(RunError::Interrupted) => debug!(scenario = scenario.name, seed, "run interrupted"),
        Err(error) => warn!(scenario = scenario.name, seed, %error, "run failed"),
    }
    result
}

fn outcome(network: Network, ending: RunEnding, scenario: &Scenario, seed: u64) -> Result<Run, RunError> {
    match ending {
        RunEnding::Complete => Ok(network.finish(scenario, seed)),
        RunEnding::Interrupted => Err(RunError::Interrupted),
        RunEnding::ConnectionLost(flow) => {
            Err(RunError::ConnectionLost { scenario: scenario.name.clone(), flow })
        }
        RunEnding::TimeLimit => {
            let message =
                format!("not complete after its time limit of {}; raise time_limit", scenario.time_limit);
            Err(RunError::TimeLimit { scenario: scenario.name.clone(), message })
        }
    }
}
