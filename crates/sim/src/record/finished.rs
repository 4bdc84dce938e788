//! What a network comes to, by who drove it: a run, a replay of a capture, and an emulation, in which flows are observed from outside.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_energy::{Causes, Ledger, Radio, RadioState};

use super::{FlowResult, RunResult, RunTrace};
use crate::engine::Fingerprints;
use crate::stack::application::Delay;
use crate::stack::flow::Meter;

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

/// What was observed of one flow from outside.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The result of its endpoints.
    pub result: FlowResult,
    /// What it delivered.
    pub meter: Meter,
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The station's time in each state; covers the replay's duration exactly.
    pub ledger: Ledger,
    /// What that time was spent on; adds up to the ledger.
    pub causes: Causes,
    /// The radio that it was spent with.
    pub radio: Radio,
    /// Wake-ups by reason.
    pub wakeups: BTreeMap<&'static str, u64>,
    /// Packets that crossed the air, in order of reception.
    pub delays: Vec<Delay>,
    /// Packets that were dropped on the way.
    pub lost: u64,
    /// Wake-ups of machines that were simulated.
    pub events: u64,
    /// The part of the duration that was not simulated but charged as other idle time was.
    pub skipped: Span,
    /// The states of the radio over the whole duration, if they were traced. A lower bound has none.
    pub radio_states: Vec<RadioPeriod>,
}

/// A period that the radio of a replay spent in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioPeriod {
    /// Its start, as time of the capture.
    pub start: Instant,
    /// Its duration.
    pub duration: Span,
    /// The state; of a period that was not simulated, the state in which idle time is spent for the most part.
    pub state: RadioState,
    /// Whether it was simulated rather than charged as other idle time was.
    pub is_simulated: bool,
}
