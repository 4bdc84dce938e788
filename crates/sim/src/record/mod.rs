//! What a run leaves behind: the result document, and traces where they were asked for.
//!
//! A trace is kept as the machines tell it ([`RunTrace`]) and shown in four forms: tables of columns
//! ([`RunTrace::tables`]), a capture of the air ([`RunTrace::write_pcapng`]), a time line for the Perfetto viewer
//! ([`RunTrace::write_perfetto`]) and text ([`RunTrace::ladder`]).

mod ladder;
mod pcapng;
mod perfetto;
mod result;
mod tables;
mod timeline;

pub use result::{
    BlockTimes, CellResult, EnergyOverhead, Fairness, FlowResult, Responses, RunResult, StateSeconds,
    StationResult, WindowFairness,
};
pub use tables::{Column, Table, Values};
pub use timeline::{Outcome, RadioInterval};

use airwatt_base::{Instant, Power, Span};
use airwatt_energy::State;
use airwatt_proto::powersave::{Adaptation, StationId};

use crate::media::cell::RadioEvent;
use crate::media::cell::frame::AirFrame;
use crate::world::WindowSample;
use airwatt_dot11::phy::Standard;

/// A queue's length in packets after each change.
pub type QueueTrace = Vec<(Instant, u32)>;

/// What a reader of a trace must know of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of the run.
    pub seed: u64,
    /// The cell, if the last hop is one.
    pub cell: Option<CellSetting>,
    /// Largest IP packet in bytes.
    pub mtu_bytes: u32,
    /// IP and TCP headers together in bytes.
    pub header_bytes: u32,
    /// Receive window of both ends of a connection in bytes.
    pub receive_window_bytes: u32,
    /// The stations of the cell in order of their numbers.
    pub stations: Vec<StationSetting>,
    /// The bytes of foreign packets by number; empty where everything is simulated.
    pub packets: Vec<Vec<u8>>,
}

/// What a reader of a trace must know of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSetting {
    /// The PHY.
    pub standard: Standard,
    /// Time between beacons.
    pub beacon_interval: Span,
    /// Every how many beacons one is a DTIM beacon.
    pub dtim_period: u8,
    /// Whether the access point announces U-APSD.
    pub uapsd: bool,
}

/// What a reader of a trace must know of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationSetting {
    /// How long its radio takes from awake to asleep.
    pub to_sleep: Span,
    /// Whether its data frames trigger service periods while it is in power save.
    pub uapsd: bool,
    /// Whether its radio receives what is for it and nothing else (policy `ideal`).
    pub own_frames_only: bool,
    /// What its radio takes in each state, in the order of [`State::ALL`].
    pub powers: [Power; State::ALL.len()],
}

impl StationSetting {
    /// What its radio takes in this state.
    pub const fn power(&self, state: State) -> Power {
        self.powers[state as usize]
    }
}

/// Everything that was recorded of one run, in order of time within each list.
#[derive(Clone, Debug)]
pub struct RunTrace {
    /// When the run ended.
    pub end: Instant,
    /// What the run was.
    pub setting: Setting,
    /// Frames on the air, in the order of the decisions to send them: a beacon may stand before the acknowledgement
    /// that precedes it.
    pub frames: Vec<AirFrame>,
    /// Radios that dozed and woke.
    pub radios: Vec<RadioEvent>,
    /// Congestion windows.
    pub windows: Vec<WindowSample>,
    /// From when on each flow's deliveries were counted, and its bytes in each 100 ms from there.
    pub deliveries: (Instant, Vec<Vec<u64>>),
    /// The wired queue towards the stations: the DSLAM's.
    pub down_queue: QueueTrace,
    /// The wired queue towards the server: the modem's.
    pub up_queue: QueueTrace,
    /// The access point's transmission queue.
    pub ap_queue: QueueTrace,
    /// The access point's power-save buffers together.
    pub ap_power_save: QueueTrace,
    /// What the policies of stations that adapt made of their traffic, after each change.
    pub adaptations: Vec<(Instant, StationId, Adaptation)>,
    /// A point-to-point link's queue towards the station.
    pub link_down_queue: QueueTrace,
    /// A point-to-point link's queue away from the station.
    pub link_up_queue: QueueTrace,
}
