//! The wiring: which machine's output is which machine's input, and the loop that wakes them.
//!
//! ```text
//!  server ends --> down link --> access point ~ air ~ station --> station ends
//!              <--  up link  <--      (one cell)
//! ```
//! The hop at the right is a cell or a point-to-point link; the wire at the left may be missing, and flows may have wires of
//! their own there. A flow whose connection ends at the base station has two ends there ([`crate::apps::Side`]). A
//! neighbour's flow has its station's end on a wire behind the base station, which takes no time: it shares the
//! wire at the left and leaves the hop alone.
//!
//! Every input is a message. One message is delivered at a time, and its machine is drained into further messages
//! before the next one is taken, as the machine contract asks. At equal times the hop is served first, then the wires,
//! then the flows in order of their number.

mod build;
mod finish;
mod foreign;
mod transport;
mod wiring;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine, Schedule, Slot, Span, Stream};
use airwatt_proto::powersave::StationId;

pub use build::{FlowSpec, HopSpec, Traffic, WorldSpec};
pub use transport::LegSpec;
pub(crate) use transport::{ackloss_config, e2tcp_config};
use wiring::{Message, Way};

use crate::apps::{Crossing, Datagrams, Foreign, Meter, Replay, Saturation, Transfer};
use crate::engine::Fingerprint;
use crate::media::cell::frame::AirFrame;
use crate::media::cell::{Cell, RadioEvent};
use crate::media::errors::{ErrorConfig, ErrorModel};
use crate::media::{Pipe, PointToPoint};
use crate::packet::FlowId;

const HOP: Slot = 0;
/// Of the first wire; each further one has the next two.
const DOWN_LINK: Slot = 1;
const UP_LINK: Slot = 2;
/// Slots of a flow at least: its application, and the two ends of a connection.
const LEAST_SLOTS: usize = 3;

/// How often, in events, the run asks whether to go on.
const EVENTS_BETWEEN_REPORTS: u64 = 1 << 16;

/// One flow of a run.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Whose; of a neighbour on the wire none.
    pub(crate) station: Option<StationId>,
    /// The wire between its server and the base station.
    pub(crate) wire: Option<usize>,
    pub(crate) down: bool,
    pub(crate) application: FlowState,
    /// What it delivered in the measured interval.
    pub(crate) meter: Meter,
    /// The slot of its application; those of its ends follow.
    first_slot: Slot,
}

impl Flow {
    /// Over what its packets go.
    const fn way(&self) -> Way {
        Way { station: self.station, wire: self.wire }
    }

    fn slot_of_end(&self, end: usize) -> Slot {
        self.first_slot + 1 + end as Slot
    }

    /// Whether it is a transfer that has begun and is not over.
    fn is_under_way(&self) -> bool {
        match &self.application {
            FlowState::Transfer(transfer) => transfer.progress.started.is_some() && !transfer.is_over(),
            _ => false,
        }
    }

    /// Whether it ends by itself.
    fn is_finite(&self) -> bool {
        match &self.application {
            FlowState::Transfer(transfer) => transfer.is_finite(),
            FlowState::Datagrams(datagrams) => datagrams.source.size().is_some(),
            FlowState::Replay(_) => true,
            FlowState::Saturated(_) | FlowState::Foreign(_) => false,
        }
    }
}

/// What a flow is made of.
#[derive(Clone, Debug)]
pub(crate) enum FlowState {
    Transfer(Box<Transfer>),
    Datagrams(Box<Datagrams>),
    Saturated(Saturation),
    Replay(Replay),
    Foreign(Foreign),
}

/// The last hop, between base station and stations.
#[derive(Clone, Debug)]
pub(crate) enum Hop {
    Cell(Box<Cell>),
    Link(Box<PointToPoint>),
}

/// A wire between server and base station.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) down: Pipe,
    pub(crate) up: Pipe,
}

impl Wire {
    /// Towards the stations, or towards the server.
    fn direction(&mut self, down: bool) -> &mut Pipe {
        if down { &mut self.down } else { &mut self.up }
    }
}

/// One sample of a sender's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSample {
    /// When.
    pub at: Instant,
    /// Which flow.
    pub flow: FlowId,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow-start threshold in bytes.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
}

/// How far a run has come, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunProgress {
    /// Simulated time so far.
    pub simulated: Instant,
    /// Share of the run that is done, 0 to 1, as far as it can be known.
    pub share: f64,
    /// Wake-ups so far.
    pub events: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its duration is over, or every flow with a size is complete.
    Complete,
    /// The time limit came first.
    TimeLimit,
    /// A connection gave up.
    ConnectionLost(FlowId),
    /// Whoever watched it broke it off.
    Interrupted,
}

/// All machines of one run.
#[derive(Debug)]
pub struct World {
    pub(crate) hop: Hop,
    /// The wires; that of the scenario, if it has one, comes first.
    pub(crate) wires: Vec<Wire>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) windows: Option<Vec<WindowSample>>,
    pub(crate) events: u64,
    pub(crate) print: Fingerprint,
    pub(crate) now: Instant,
    spec: WorldSpec,
    schedule: Schedule,
    /// Behind the slots of the hop and the wires.
    first_flow: Slot,
    /// The flow of each slot from there on.
    owners: Vec<FlowId>,
    messages: VecDeque<Message>,
    /// Foreign packets that have come to their end.
    crossings: VecDeque<Crossing>,
    unfinished: usize,
}

impl World {
    /// The machines of `spec`, at the beginning.
    pub fn new(spec: WorldSpec, seed: u64) -> Self {
        let mut owners: Vec<FlowId> = Vec::new();
        let mut flows: Vec<Flow> = Vec::with_capacity(spec.flows.len());
        let first_flow = UP_LINK + 1 + 2 * (spec.wires.len().max(1) as Slot - 1);
        for (index, flow) in spec.flows.iter().enumerate() {
            let application = build::flow(flow, seed, index);
            let ends = match &application {
                FlowState::Transfer(transfer) => transfer.ends(),
                _ => 0,
            };
            let first_slot = first_flow + owners.len() as Slot;
            owners.extend(std::iter::repeat_n(index as FlowId, LEAST_SLOTS.max(1 + ends)));
            let mut meter = Meter::new(Instant::ZERO + spec.measure_from);
            if spec.bins {
                meter.keep_bins();
            }
            let FlowSpec { station, wire, down, .. } = *flow;
            flows.push(Flow { station, wire, down, application, meter, first_slot });
        }
        let hop = match &spec.hop {
            HopSpec::Cell(cell) => {
                Hop::Cell(Box::new(Cell::new((**cell).clone(), spec.stations.clone(), seed)))
            }
            HopSpec::Link(link) => Hop::Link(Box::new(PointToPoint::new(link.clone(), seed))),
        };
        let no_errors = || ErrorModel::new(ErrorConfig::None, seed, "wire", "");
        let mut world = Self {
            hop,
            wires: spec
                .wires
                .iter()
                .map(|&(down, up)| Wire {
                    down: Pipe::new(down, no_errors()),
                    up: Pipe::new(up, no_errors()),
                })
                .collect(),
            unfinished: flows.iter().filter(|flow| flow.is_finite()).count(),
            windows: None,
            events: 0,
            print: Fingerprint::default(),
            now: Instant::ZERO,
            schedule: Schedule::new(first_flow as usize + owners.len()),
            first_flow,
            owners,
            messages: VecDeque::new(),
            crossings: VecDeque::new(),
            flows,
            spec,
        };
        if let Hop::Cell(cell) = &world.hop {
            world.schedule.put(HOP, cell.poll_timeout().map(|t| t.at));
        }
        for index in 0..world.flows.len() {
            let spec = &world.spec.flows[index];
            let drawn =
                Stream::new(seed, &format!("flow/{index}/start")).unit() * spec.start_spread.as_secs_f64();
            let start = Instant::ZERO + spec.start + Span::from_secs_f64(drawn);
            let start = match &world.flows[index].application {
                FlowState::Replay(replay) => replay.due(),
                FlowState::Foreign(_) => None,
                _ => Some(start),
            };
            world.schedule.put(world.flows[index].first_slot, start);
        }
        world
    }

    /// Keeps every trace from now on.
    pub fn trace(&mut self) {
        match &mut self.hop {
            Hop::Cell(cell) => cell.trace(),
            Hop::Link(link) => link.trace(),
        }
        for wire in &mut self.wires {
            wire.down.trace();
            wire.up.trace();
        }
        self.windows = Some(Vec::new());
        self.flows.iter_mut().for_each(|flow| flow.meter.keep_bins());
    }

    /// Keeps the frames on the air and what radios do from now on, for [`World::take_frames`] to take.
    pub(crate) fn keep_frames(&mut self) {
        if let Hop::Cell(cell) = &mut self.hop {
            cell.trace();
        }
    }

    /// Takes what was kept since the last call.
    pub(crate) fn take_frames(&mut self) -> (Vec<AirFrame>, Vec<RadioEvent>) {
        let Hop::Cell(cell) = &mut self.hop else { return Default::default() };
        let kept = cell.take_trace().unwrap_or_default();
        cell.trace();
        (kept.frames, kept.radios)
    }

    /// Runs to the end. `watch` is asked now and then whether to go on.
    pub fn run(&mut self, watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>) -> Ending {
        self.run_watched(&mut |_, progress| watch(progress))
    }

    /// As [`World::run`], with what was recorded so far at the hands of `watch`.
    pub(crate) fn run_watched(
        &mut self,
        watch: &mut dyn FnMut(&mut Self, RunProgress) -> ControlFlow<()>,
    ) -> Ending {
        let end = Instant::ZERO + self.spec.duration.unwrap_or(self.spec.time_limit);
        while let Some((at, slot)) = self.schedule.first().filter(|(at, _)| *at <= end) {
            self.wake(at, slot);
            if self.unfinished == 0 && self.spec.duration.is_none() {
                return self.failed_flow().map_or(Ending::Complete, Ending::ConnectionLost);
            }
            if self.events.is_multiple_of(EVENTS_BETWEEN_REPORTS) {
                let progress = self.progress();
                if watch(self, progress).is_break() {
                    return Ending::Interrupted;
                }
            }
        }
        self.now = end;
        if self.spec.duration.is_some() {
            // A run of a given length measures what happened in it, a lost connection included.
            return Ending::Complete;
        }
        self.failed_flow().map_or(Ending::TimeLimit, Ending::ConnectionLost)
    }

    /// The machine behind `slot` is due, and everything that follows from it at this instant.
    fn wake(&mut self, at: Instant, slot: Slot) {
        self.schedule.serve();
        self.now = at;
        self.events += 1;
        self.print.add(at.as_nanos() ^ u64::from(slot) << 56);
        self.serve(slot);
        self.deliver_messages();
    }

    fn failed_flow(&self) -> Option<FlowId> {
        let failed = |flow: &Flow| matches!(&flow.application, FlowState::Transfer(transfer) if transfer.progress.failed);
        self.flows.iter().position(failed).map(|index| index as FlowId)
    }

    fn progress(&self) -> RunProgress {
        let share = match self.spec.duration {
            Some(duration) => self.now.as_secs_f64() / duration.as_secs_f64(),
            None => {
                let transfers = self.flows.iter().filter_map(|flow| match &flow.application {
                    FlowState::Transfer(transfer) => {
                        if let Some(dialogue) = &transfer.dialogue {
                            let units = dialogue.durations.len() as u64;
                            return dialogue.count().map(|count| (units, u64::from(count)));
                        }
                        let settled = transfer.progress.received + transfer.progress.skipped;
                        transfer.source.size().map(|size| (settled, size))
                    }
                    _ => None,
                });
                let (done, all) =
                    transfers.fold((0, 0), |(done, all), (part, size)| (done + part, all + size));
                done as f64 / (all as f64).max(1.0)
            }
        };
        RunProgress { simulated: self.now, share, events: self.events }
    }
}
