//! The records of a run: the result document, and traces if they are requested.
//!
//! A trace stores the events as the machines report them ([`RunTrace`]) and has four forms: tables of columns
//! ([`RunTrace::tables`]), a capture of the air ([`RunTrace::write_pcapng`]), a time line for the Perfetto viewer
//! ([`RunTrace::write_perfetto`]) and text ([`RunTrace::ladder`]).

mod build;
mod finished;
mod ladder;
mod media;
mod pcapng;
mod perfetto;
mod result;
mod tables;
mod timeline;
mod tunnels;

pub use finished::{Observed, RadioPeriod, Replayed, Run};
pub(crate) use pcapng::PcapngStream;
pub use result::{
    AccessPointResult, AirResult, BlockTimes, CategoryResult, CellResult, EnergyByCause, EnergyOverhead,
    Fairness, FlowResult, HostResult, ImpairmentResult, Latencies, LinkDirection, LinkResult, NamedCell,
    Playback, Rendering, Responses, RunResult, StationResult, Steady, WindowFairness,
};
pub use tables::{Column, ResultTable, Values};
pub use timeline::{Outcome, RadioInterval};
pub use tunnels::{TunnelDirection, TunnelResult};

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airwatt_base::{Instant, Power, Span};
use airwatt_energy::RadioState;
use airwatt_proto::powersave::{Adaptation, StationId, WakeAgreement};

use crate::media::cell::RadioEvent;
use crate::media::cell::frame::TracedFrame;
use crate::net::WindowSample;
use crate::route::MediumId;
use airwatt_dot11::{AccessParameters, Standard};

/// A queue's length in packets after each change.
pub type QueueTrace = Vec<(Instant, u32)>;

/// The properties of a run that a reader of a trace needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of the run.
    pub seed: u64,
    /// The cells, in the order of the scenario.
    pub cells: Vec<CellSetting>,
    /// Largest IP packet in bytes.
    pub mtu_bytes: u32,
    /// Receive window of both ends of a connection in bytes.
    pub receive_window_bytes: u32,
    /// The stations of cells, in the order of their numbers.
    pub stations: Vec<StationSetting>,
    /// The name of each station's radio profile: of one that ships, or of one in `profiles`.
    pub radios: Vec<String>,
    /// The profiles that do not ship, as texts of files, by the names that stations have for them.
    pub profiles: BTreeMap<String, String>,
    /// The IP address of each node.
    pub addresses: Vec<Ipv4Addr>,
    /// The bytes of external packets by number; empty if everything is simulated.
    pub packets: Vec<Vec<u8>>,
}

/// The properties of a cell that a reader of a trace needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSetting {
    /// Its name.
    pub name: String,
    /// The medium that it shares with other cells on its channel.
    pub medium: MediumId,
    /// The name of its channel, if it has one.
    pub channel: Option<String>,
    /// The index of its BSS on the medium; 0 for an ad-hoc network.
    pub bss: u16,
    /// The node of its access point; `None` for an ad-hoc network.
    pub access_point: Option<String>,
    /// The station whose radio the access point shares.
    pub shared_radio: Option<StationId>,
    /// The PHY.
    pub standard: Standard,
    /// Whether frames at rates of 802.11b have the short preamble.
    pub short_preamble: bool,
    /// Time between beacons.
    pub beacon_interval: Span,
    /// Number of beacon intervals between DTIM beacons.
    pub dtim_period: u8,
    /// Whether the access point announces U-APSD.
    pub uapsd: bool,
    /// The service periods that it announces to all stations.
    pub schedule: Option<WakeAgreement>,
    /// How its stations contend for the medium with best effort, background, video and voice: in the same way where these are not told
    /// apart.
    pub access: [AccessParameters; 4],
}

impl Setting {
    /// The cell of a frame.
    pub(crate) fn cell_of(&self, frame: &TracedFrame) -> Option<&CellSetting> {
        self.cells.iter().find(|cell| cell.medium == frame.medium && cell.bss == frame.bss)
    }

    /// What an access point is called: by its node if there are several.
    pub(crate) fn access_point_of(&self, frame: &TracedFrame) -> Option<&str> {
        let several = self.cells.iter().filter(|cell| cell.access_point.is_some()).count() > 1;
        self.cell_of(frame).filter(|_| several)?.access_point.as_deref()
    }
}

/// The properties of a station that a reader of a trace needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationSetting {
    /// The medium of its cell.
    pub medium: MediumId,
    /// Its association identifier.
    pub aid: u16,
    /// Duration of its radio's transition from awake to asleep.
    pub to_sleep: Span,
    /// Whether its data frames trigger service periods while it is in power save.
    pub uapsd: bool,
    /// The power of its radio in each state, in the order of [`RadioState::ALL`].
    pub powers: [Power; RadioState::ALL.len()],
}

impl StationSetting {
    /// The power of its radio in this state.
    pub const fn power(&self, state: RadioState) -> Power {
        self.powers[state as usize]
    }
}

/// Everything that was recorded of one run, in order of time within each list.
#[derive(Clone, Debug)]
pub struct RunTrace {
    /// Time at which the run ended.
    pub end: Instant,
    /// The properties of the run.
    pub setting: Setting,
    /// Frames on the air, in the order of the decisions to send them: a beacon may come before the acknowledgement that
    /// precedes it on the air.
    pub frames: Vec<TracedFrame>,
    /// Transitions of radios between awake and asleep.
    pub radios: Vec<RadioEvent>,
    /// Congestion windows.
    pub windows: Vec<WindowSample>,
    /// Time from which the deliveries of flows were counted, and for each flow its bytes in each 100 ms from then on.
    pub deliveries: (Instant, Vec<Vec<u64>>),
    /// Length of the first wire's queue towards the stations (the DSLAM).
    pub down_queue: QueueTrace,
    /// Length of the first wire's queue towards the server (the modem).
    pub up_queue: QueueTrace,
    /// Length of the first access point's transmission queue.
    pub ap_queue: QueueTrace,
    /// Total length of the first access point's power-save buffers.
    pub ap_power_save: QueueTrace,
    /// The state of adaptive policies after each change.
    pub adaptations: Vec<(Instant, StationId, Adaptation)>,
    /// Length of the first point-to-point link's queue towards the station.
    pub link_down_queue: QueueTrace,
    /// Length of the first point-to-point link's queue away from the station.
    pub link_up_queue: QueueTrace,
    /// Lengths of the queues of further wires, links and access points, by name.
    pub further_queues: Vec<(String, QueueTrace)>,
}
