//! The wiring: which machine's output is which machine's input, and the loop that wakes them.
//!
//! ```text
//!  server end --> down link --> access point ~ air ~ station --> station end
//!             <--  up link  <--      (one cell)
//! ```
//! Every input is a message. One message is delivered at a time, and its machine is drained into further messages
//! before the next one is taken, as the machine contract asks. At equal times the cell is served first, then the links,
//! then the flows in order of their number.

mod build;
mod finish;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine, Span, Stream};
use airwatt_proto::powersave::StationId;
use airwatt_proto::tcp::{self, Segment};

pub use build::{FlowSpec, Traffic, WorldSpec};

use crate::air::{Cell, CellInput, CellOutput};
use crate::apps::{Arrival, Delay, Replay, Saturation, TcpFlow};
use crate::engine::{Fingerprint, Schedule, Slot};
use crate::packet::{Body, FlowId, Packet};
use crate::path::{Link, LinkOutput};

const CELL: Slot = 0;
const DOWN_LINK: Slot = 1;
const UP_LINK: Slot = 2;
const FIRST_FLOW: Slot = 3;
/// Slots of a flow: its application, its end at the server, its end at the station.
const SLOTS_PER_FLOW: Slot = 3;

/// How often, in events, the run asks whether to go on.
const EVENTS_BETWEEN_REPORTS: u64 = 1 << 16;

/// One flow of a run.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) station: StationId,
    pub(crate) down: bool,
    pub(crate) application: FlowState,
}

/// What a flow is made of.
#[derive(Clone, Debug)]
pub(crate) enum FlowState {
    Tcp(Box<TcpFlow>),
    Saturated(Saturation),
    Replay(Replay),
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

/// An input on its way to its machine.
#[derive(Clone, Copy, Debug)]
enum Message {
    Cell(CellInput),
    DownLink(Packet),
    UpLink(Packet),
    Segment { flow: FlowId, at_server: bool, segment: Segment },
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
    pub(crate) cell: Cell,
    pub(crate) down: Link,
    pub(crate) up: Link,
    pub(crate) flows: Vec<Flow>,
    pub(crate) windows: Option<Vec<WindowSample>>,
    pub(crate) events: u64,
    pub(crate) print: Fingerprint,
    pub(crate) now: Instant,
    spec: WorldSpec,
    schedule: Schedule,
    messages: VecDeque<Message>,
    unfinished: usize,
}

impl World {
    /// The machines of `spec`, at the beginning.
    pub fn new(spec: WorldSpec, seed: u64) -> Self {
        let flows: Vec<Flow> = spec.flows.iter().map(build::flow).collect();
        let unfinished = flows
            .iter()
            .filter(|flow| matches!(&flow.application, FlowState::Tcp(tcp) if tcp.size.is_some()))
            .count();
        let replays = flows.iter().filter(|flow| matches!(flow.application, FlowState::Replay(_))).count();
        let mut world = Self {
            cell: Cell::new(spec.cell.clone(), spec.stations.clone(), seed),
            down: Link::new(spec.down),
            up: Link::new(spec.up),
            flows,
            windows: None,
            events: 0,
            print: Fingerprint::default(),
            now: Instant::ZERO,
            schedule: Schedule::new(FIRST_FLOW as usize + SLOTS_PER_FLOW as usize * spec.flows.len()),
            messages: VecDeque::new(),
            unfinished: unfinished + replays,
            spec,
        };
        world.schedule.put(CELL, world.cell.poll_timeout().map(|t| t.at));
        for index in 0..world.flows.len() {
            let spec = &world.spec.flows[index];
            let drawn =
                Stream::new(seed, &format!("flow/{index}/start")).unit() * spec.start_spread.as_secs_f64();
            let start = Instant::ZERO + spec.start + Span::from_secs_f64(drawn);
            let start = match &world.flows[index].application {
                FlowState::Replay(replay) => replay.due().unwrap_or(Instant::FOREVER),
                _ => start,
            };
            world.schedule.set(application_slot(index), start);
        }
        world
    }

    /// Keeps every trace from now on.
    pub fn trace(&mut self) {
        self.cell.trace();
        self.down.trace();
        self.up.trace();
        self.windows = Some(Vec::new());
    }

    /// Runs to the end. `watch` is asked now and then whether to go on.
    pub fn run(&mut self, watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>) -> Ending {
        let end = Instant::ZERO + self.spec.duration.unwrap_or(self.spec.time_limit);
        while let Some((at, slot)) = self.schedule.first().filter(|(at, _)| *at <= end) {
            self.schedule.serve();
            self.now = at;
            self.events += 1;
            self.print.add(at.as_nanos() ^ u64::from(slot) << 56);
            self.serve(slot);
            self.deliver_messages();
            if self.unfinished == 0 && self.spec.duration.is_none() {
                return self.failed_flow().map_or(Ending::Complete, Ending::ConnectionLost);
            }
            if self.events.is_multiple_of(EVENTS_BETWEEN_REPORTS) && watch(self.progress()).is_break() {
                return Ending::Interrupted;
            }
        }
        self.now = end;
        if self.spec.duration.is_some() {
            // A run of a given length measures what happened in it, a lost connection included.
            return Ending::Complete;
        }
        self.failed_flow().map_or(Ending::TimeLimit, Ending::ConnectionLost)
    }

    fn failed_flow(&self) -> Option<FlowId> {
        let failed = |flow: &Flow| matches!(&flow.application, FlowState::Tcp(tcp) if tcp.progress.failed);
        self.flows.iter().position(failed).map(|index| index as FlowId)
    }

    fn progress(&self) -> RunProgress {
        let share = match self.spec.duration {
            Some(duration) => self.now.as_secs_f64() / duration.as_secs_f64(),
            None => {
                let transfers = self.flows.iter().filter_map(|flow| match &flow.application {
                    FlowState::Tcp(tcp) => tcp.size.map(|size| (tcp.progress.delivered, size)),
                    _ => None,
                });
                let (done, all) =
                    transfers.fold((0, 0), |(done, all), (part, size)| (done + part, all + size));
                done as f64 / (all as f64).max(1.0)
            }
        };
        RunProgress { simulated: self.now, share, events: self.events }
    }

    fn serve(&mut self, slot: Slot) {
        let now = self.now;
        match slot {
            CELL => {
                self.cell.handle_timeout(now);
                self.drain_cell();
            }
            DOWN_LINK => {
                self.down.handle_timeout(now);
                self.drain_link(true);
            }
            UP_LINK => {
                self.up.handle_timeout(now);
                self.drain_link(false);
            }
            _ => {
                let flow = (slot - FIRST_FLOW) / SLOTS_PER_FLOW;
                match (slot - FIRST_FLOW) % SLOTS_PER_FLOW {
                    0 => self.act(flow),
                    end => {
                        self.connection(flow, end == 1).handle_timeout(now);
                        self.drain_connection(flow, end == 1);
                    }
                }
            }
        }
    }

    fn deliver_messages(&mut self) {
        while let Some(message) = self.messages.pop_front() {
            let now = self.now;
            match message {
                Message::Cell(input) => {
                    self.cell.handle_input(input, now);
                    self.drain_cell();
                }
                Message::DownLink(packet) => {
                    self.down.handle_input(packet, now);
                    self.drain_link(true);
                }
                Message::UpLink(packet) => {
                    self.up.handle_input(packet, now);
                    self.drain_link(false);
                }
                Message::Segment { flow, at_server, segment } => {
                    self.connection(flow, at_server).handle_input(tcp::Input::Segment(segment, ()), now);
                    self.drain_connection(flow, at_server);
                }
            }
        }
    }

    // Applications.

    /// A flow's application is due: it begins, or its next packet is.
    fn act(&mut self, flow: FlowId) {
        self.schedule.cancel(application_slot(flow as usize));
        let station = self.flows[flow as usize].station;
        match &mut self.flows[flow as usize].application {
            FlowState::Tcp(_) => self.begin_transfer(flow),
            FlowState::Saturated(saturation) => {
                for _ in 0..saturation.first_batch() {
                    self.send_saturated(flow);
                }
            }
            FlowState::Replay(replay) => {
                let taken = replay.take();
                let next = replay.due();
                self.schedule.put(application_slot(flow as usize), next);
                if let Some((number, arrival)) = taken {
                    self.send_replayed(flow, station, number, arrival);
                }
            }
        }
    }

    fn send_replayed(&mut self, flow: FlowId, station: StationId, number: u64, arrival: Arrival) {
        let packet = Packet { flow, bytes: arrival.bytes, sent: arrival.at, body: Body::Datagram(number) };
        let input = if arrival.down {
            CellInput::Down { station, packet }
        } else {
            CellInput::Up { station, packet }
        };
        self.messages.push_back(Message::Cell(input));
    }

    fn begin_transfer(&mut self, flow: FlowId) {
        let now = self.now;
        let FlowState::Tcp(tcp) = &mut self.flows[flow as usize].application else { return };
        tcp.progress.started = Some(now);
        let (handshake, down, size) = (tcp.handshake, tcp.down, tcp.written());
        if handshake {
            tcp.server.handle_input(tcp::Input::Listen, now);
            self.drain_connection(flow, true);
            self.connection(flow, false).handle_input(tcp::Input::Open, now);
            self.drain_connection(flow, false);
        }
        self.connection(flow, down).handle_input(tcp::Input::Write(size), now);
        self.drain_connection(flow, down);
    }

    fn send_saturated(&mut self, flow: FlowId) {
        let Flow { station, down, application } = &mut self.flows[flow as usize];
        let FlowState::Saturated(saturation) = application else { return };
        let body = Body::Datagram(saturation.number());
        let packet = Packet { flow, bytes: saturation.packet_bytes, sent: self.now, body };
        let station = *station;
        let input =
            if *down { CellInput::Down { station, packet } } else { CellInput::Up { station, packet } };
        self.messages.push_back(Message::Cell(input));
    }

    // Outputs to messages.

    fn drain_cell(&mut self) {
        while let Some(output) = self.cell.poll_output() {
            match output {
                CellOutput::ToStation { packet, .. } => self.arrived(packet, false),
                CellOutput::ToWire { packet, .. } => match packet.body {
                    Body::Tcp(_) => self.messages.push_back(Message::UpLink(packet)),
                    Body::Datagram(_) => self.arrived(packet, true),
                },
                CellOutput::Lost { packet, .. } => self.lost(packet),
            }
        }
        self.schedule.put(CELL, self.cell.poll_timeout().map(|t| t.at));
    }

    fn drain_link(&mut self, down: bool) {
        loop {
            let link = if down { &mut self.down } else { &mut self.up };
            match link.poll_output() {
                Some(LinkOutput::Arrived(packet)) if down => {
                    let station = self.flows[packet.flow as usize].station;
                    self.messages.push_back(Message::Cell(CellInput::Down { station, packet }));
                }
                Some(LinkOutput::Arrived(packet)) => self.arrived(packet, true),
                Some(LinkOutput::Dropped(packet)) => self.lost(packet),
                None => {
                    let (slot, next) = (if down { DOWN_LINK } else { UP_LINK }, link.poll_timeout());
                    return self.schedule.put(slot, next.map(|t| t.at));
                }
            }
        }
    }

    fn drain_connection(&mut self, flow: FlowId, at_server: bool) {
        let now = self.now;
        let entry = &mut self.flows[flow as usize];
        let FlowState::Tcp(tcp) = &mut entry.application else { return };
        let was_over = tcp.is_over();
        loop {
            match tcp.end_mut(at_server).poll_output() {
                Some(tcp::Output::Transmit(segment)) => {
                    let bytes = tcp.end_mut(at_server).config().packet_bytes(&segment);
                    tcp.progress.bytes_sent += u64::from(bytes);
                    let packet = Packet { flow, bytes, sent: now, body: Body::Tcp(segment) };
                    self.messages.push_back(if at_server {
                        Message::DownLink(packet)
                    } else {
                        Message::Cell(CellInput::Up { station: entry.station, packet })
                    });
                }
                Some(tcp::Output::Event(event)) => tcp.note(at_server, event, now),
                None => break,
            }
        }
        if tcp.size.is_some() && tcp.is_over() && !was_over {
            self.unfinished -= 1;
        }
        if at_server == tcp.down
            && let Some(windows) = &mut self.windows
        {
            note_window(windows, flow, tcp.sender(), now);
        }
        let end = if at_server { &tcp.server } else { &tcp.station };
        self.schedule.put(connection_slot(flow, at_server), end.poll_timeout().map(|t| t.at));
    }

    /// A packet is with its receiving host.
    fn arrived(&mut self, packet: Packet, at_server: bool) {
        let now = self.now;
        let flow = packet.flow;
        match (&mut self.flows[flow as usize].application, packet.body) {
            (FlowState::Tcp(tcp), Body::Tcp(segment)) => {
                if segment.len > 0 && at_server != tcp.down {
                    tcp.progress.packets_arrived += 1;
                    tcp.progress.latency += now - packet.sent;
                }
                self.messages.push_back(Message::Segment { flow, at_server, segment });
            }
            (FlowState::Saturated(saturation), _) => {
                saturation.delivered += u64::from(packet.bytes);
                self.send_saturated(flow);
            }
            (FlowState::Replay(replay), Body::Datagram(number)) => {
                replay.delays.push(Delay { number, down: !at_server, delay: now - packet.sent });
                self.replay_progressed(flow, number);
            }
            (FlowState::Tcp(_), Body::Datagram(_)) | (FlowState::Replay(_), Body::Tcp(_)) => {}
        }
    }

    fn lost(&mut self, packet: Packet) {
        match (&mut self.flows[packet.flow as usize].application, packet.body) {
            (FlowState::Tcp(tcp), Body::Tcp(segment)) => {
                tcp.progress.acks_lost += u64::from(segment.is_pure_ack());
            }
            (FlowState::Saturated(_), _) => self.send_saturated(packet.flow),
            (FlowState::Replay(replay), Body::Datagram(number)) => {
                replay.lost += 1;
                self.replay_progressed(packet.flow, number);
            }
            (FlowState::Tcp(_), Body::Datagram(_)) | (FlowState::Replay(_), Body::Tcp(_)) => {}
        }
    }

    /// A packet of a replay is settled: those that waited for it go, and a replay without a duration is over when its
    /// last packet is.
    fn replay_progressed(&mut self, flow: FlowId, number: u64) {
        let Flow { station, application: FlowState::Replay(replay), .. } = &mut self.flows[flow as usize]
        else {
            return;
        };
        let station = *station;
        let released = replay.settle(number);
        if replay.due().is_none() && replay.is_over() {
            self.unfinished = self.unfinished.saturating_sub(1);
        }
        for (number, arrival) in released {
            self.send_replayed(flow, station, number, arrival);
        }
    }

    fn connection(&mut self, flow: FlowId, at_server: bool) -> &mut tcp::Connection {
        match &mut self.flows[flow as usize].application {
            FlowState::Tcp(tcp) => tcp.end_mut(at_server),
            _ => unreachable!("only a TCP flow has connections"),
        }
    }
}

fn note_window(windows: &mut Vec<WindowSample>, flow: FlowId, sender: &tcp::Connection, at: Instant) {
    let sample =
        WindowSample { at, flow, cwnd: sender.cwnd(), ssthresh: sender.ssthresh(), flight: sender.flight() };
    match windows.iter().rev().find(|last| last.flow == flow) {
        Some(last)
            if (last.cwnd, last.ssthresh, last.flight) == (sample.cwnd, sample.ssthresh, sample.flight) => {}
        _ => windows.push(sample),
    }
}

const fn application_slot(flow: usize) -> Slot {
    FIRST_FLOW + SLOTS_PER_FLOW * flow as Slot
}

const fn connection_slot(flow: FlowId, at_server: bool) -> Slot {
    application_slot(flow as usize) + if at_server { 1 } else { 2 }
}
