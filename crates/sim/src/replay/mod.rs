//! The packets of a capture through a cell with one station, under one power-save policy.
//!
//! Cell, station and radio come from a scenario without flows. What comes out is the station's ledger and what became of each packet. See [`crate::stack::application::Replay`] for what a replay cannot tell,
//! and [`idle`] for long times without packets.

pub mod idle;

use std::ops::ControlFlow;

use airwatt_base::{Instant, Span};

use self::idle::IdleSkip;
use crate::direction::Direction;
use crate::net::{FlowPlan, MediumKind, Network, NetworkPlan, RunProgress, Traffic};
pub use crate::record::{RadioPeriod, Replayed};
use crate::run::RunError;
use crate::scenario::{Checked, Transport};
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

/// Replays `arrivals` at the only station of the cell of `scenario`, which has no flows of its own, for `duration`. Packets that are still
/// waiting then are neither in `delays` nor in `lost`. `watch` is asked now and then whether to go on.
///
/// # Errors
/// [`RunError::Interrupted`] where `watch` says so, [`RunError::NotOneStation`] for another scenario, and
/// [`RunError::Mechanism`] where its policy is a class that was not made.
pub fn replay(
    scenario: &Checked,
    seed: u64,
    arrivals: Vec<Arrival>,
    duration: Span,
    options: ReplayOptions,
    watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
) -> Result<Replayed, RunError> {
    scenario.has_own().map_err(RunError::Mechanism)?;
    let mut plan = NetworkPlan::new(scenario, seed);
    if !add_replay(&mut plan, arrivals, duration) {
        return Err(RunError::NotOneStation(scenario.name.clone()));
    }
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
        return Err(RunError::Interrupted);
    }
    let states = if traces {
        network.take_radio_states(Instant::ZERO + network.plan.duration.unwrap_or_default(), scenario, seed)
    } else {
        Vec::new()
    };
    let mut replayed = network.into_replayed();
    replayed.radio_states = idle_skip.in_capture_time(&states);
    idle_skip.charge(&mut replayed);
    Ok(replayed)
}

/// Adds the packets of a capture to the plan of an idle network, whose only medium is a cell with one station; `false` for another one.
fn add_replay(plan: &mut NetworkPlan, arrivals: Vec<Arrival>, duration: Span) -> bool {
    let [cell] = &plan.media[..] else { return false };
    let ([access_point, station], true) = (&cell.members[..], plan.flows.is_empty()) else { return false };
    let (access_point, station) = (*access_point, *station);
    plan.flows.push(FlowPlan {
        station: Some(0),
        path: vec![(0, Direction::Down)],
        gateway: None,
        server: access_point,
        client: station,
        data: Direction::Down,
        is_download: true,
        transport: Transport::Udp,
        dscp: 0,
        traffic: Traffic::Replay(arrivals),
        start: Span::ZERO,
        start_spread: Span::ZERO,
    });
    plan.duration = Some(duration);
    true
}

#[cfg(test)]
mod tests;
