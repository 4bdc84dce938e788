//! The packets of a capture through a cell with one station, under one power-save policy.
//!
//! Cell, station and radio come from a scenario without flows. What comes out is the station's ledger and what became of each packet. See [`crate::stack::application::Replay`] for what a replay cannot tell,
//! and [`idle`] for long times without packets.

pub mod idle;

use std::ops::ControlFlow;

use airwatt_base::{Instant, Span};
use airwatt_dot11::TxVector;

use self::idle::IdleSkip;
use crate::direction::Direction;
use crate::net::{FlowPlan, MediumKind, Network, NetworkPlan, RunProgress, Traffic};
pub use crate::record::{RadioPeriod, Replayed};
use crate::route::NodeId;
use crate::scenario::resolve::{Contents, Resolved, ResolvedMedium};
use crate::scenario::{Checked, Ready, Transport};
pub use crate::stack::application::{Arrival, Delay, Destination};

/// What a replay keeps and leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Gaps between arrivals that are longer are simulated in part, as [`idle`] says; `None` simulates everything.
    pub skip_gaps: Option<Span>,
    /// Whether the states of the radio are kept.
    pub trace: bool,
    /// Length of beacons, MAC header to FCS, in bytes, which may be less than a scenario can have; `None` for that of the scenario.
    pub beacon_bytes: Option<u32>,
}

/// A cell with one station and without flows, whose packets are those of a capture.
#[derive(Clone, Debug)]
pub struct ReplayCell<'a> {
    scenario: Ready<'a>,
    access_point: NodeId,
    station: NodeId,
    data: TxVector,
}

impl<'a> ReplayCell<'a> {
    /// The cell of a scenario.
    ///
    /// # Errors
    /// One line, if the scenario is another one, or its policy is a class that was not made.
    pub fn new(scenario: &'a Checked) -> Result<Self, String> {
        let Resolved { media, flows, .. } = &scenario.resolved;
        match &media[..] {
            [ResolvedMedium { contents: Contents::Channel(bsss), members, .. }] if flows.is_empty() => {
                if let ([bss], &[access_point, station]) = (&bsss[..], &members[..]) {
                    let data = bss.modes.data;
                    return Ok(Self { scenario: scenario.ready()?, access_point, station, data });
                }
            }
            _ => {}
        }
        let expected = "expected one station and no flows, for the packets of a capture";
        Err(format!("{}: {expected}", scenario.name))
    }

    /// How its data frames are sent.
    pub const fn data(&self) -> TxVector {
        self.data
    }

    /// The packets of a capture.
    fn flow(&self, arrivals: Vec<Arrival>) -> FlowPlan {
        FlowPlan {
            station: Some(0),
            path: vec![(0, Direction::Down)],
            gateway: None,
            server: self.access_point,
            client: self.station,
            data: Direction::Down,
            is_download: true,
            transport: Transport::Udp,
            dscp: 0,
            traffic: Traffic::Replay(arrivals),
            start: Span::ZERO,
            start_spread: Span::ZERO,
        }
    }
}

/// Replays `arrivals` at the station of `cell` for `duration`. Packets that are still waiting then are neither in `delays` nor in `lost`.
/// `watch` is asked now and then whether to go on; returns `None` if it says no.
pub fn replay(
    cell: &ReplayCell<'_>,
    seed: u64,
    arrivals: Vec<Arrival>,
    duration: Span,
    options: ReplayOptions,
    watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
) -> Option<Replayed> {
    let scenario = &cell.scenario;
    let mut plan = NetworkPlan::new(scenario, seed);
    plan.flows.push(cell.flow(arrivals));
    plan.duration = Some(duration);
    if let (MediumKind::Cell(cells), Some(_)) = (&mut plan.media[0].kind, options.beacon_bytes) {
        cells[0].config.beacon_bytes = options.beacon_bytes;
    }
    let mut idle_skip = IdleSkip::new(&plan, options.skip_gaps);
    let is_bound = plan.stations.first().is_some_and(|station| station.lower_bound);
    let mut network = Network::new(plan, seed);
    // The radio of a lower bound is not the one that is simulated.
    let traces = options.trace && !is_bound;
    if traces {
        network.trace();
    }
    if idle_skip.run(&mut network, watch).is_break() {
        return None;
    }
    let states = if traces {
        network.take_radio_states(Instant::ZERO + network.plan.duration.unwrap_or_default(), scenario, seed)
    } else {
        Vec::new()
    };
    let mut replayed = network.into_replayed();
    replayed.radio_states = idle_skip.in_capture_time(&states);
    idle_skip.charge(&mut replayed);
    Some(replayed)
}

#[cfg(test)]
mod tests;
