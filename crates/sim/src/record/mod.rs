//! What a run leaves behind: the result document, and traces where they were asked for.

mod result;
mod tables;

pub use result::{CellResult, EnergyOverhead, Fairness, FlowResult, RunResult, StateSeconds, StationResult};
pub use tables::{Column, Table, Values};

use airwatt_base::Instant;

use crate::air::RadioEvent;
use crate::air::frame::AirFrame;
use crate::world::WindowSample;

/// A queue's length in packets after each change.
pub type QueueTrace = Vec<(Instant, u32)>;

/// Everything that was recorded of one run, in order of time within each list.
#[derive(Clone, Debug, Default)]
pub struct RunTrace {
    /// When the run ended.
    pub end: Instant,
    /// Number of stations.
    pub stations: u32,
    /// Frames on the air.
    pub frames: Vec<AirFrame>,
    /// Radios that dozed and woke.
    pub radios: Vec<RadioEvent>,
    /// Congestion windows.
    pub windows: Vec<WindowSample>,
    /// The wired queue towards the stations: the DSLAM's.
    pub down_queue: QueueTrace,
    /// The wired queue towards the server: the modem's.
    pub up_queue: QueueTrace,
    /// The access point's transmission queue.
    pub ap_queue: QueueTrace,
    /// The access point's power-save buffers together.
    pub ap_power_save: QueueTrace,
}
