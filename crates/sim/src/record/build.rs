//! From a network at the end of a run to its result document.

use std::collections::BTreeMap;

use airwatt_base::{Energy, Instant, Rate, Size, Span};
use airwatt_dot11::TxVector;
use airwatt_energy::fairness::{self, Index, sliding_window};
use airwatt_energy::{Cause, Causes, Ledger, ProfileAccount, Radio, StateSeconds, overhead};
use airwatt_models::max_throughput;
use airwatt_proto::end::SenderCounts;
use airwatt_proto::powersave::{StationCounts, StationId};

use super::media::{air_of_cell, share_of};
use crate::direction::Direction;
use crate::engine::{Fingerprint, Fingerprints};
use crate::media::cell::{Bss, CellConfig, CellTrace};
use crate::media::{Medium, Pipe, PointToPointMedium, Wire};
use crate::net::plan::{PlannedStation, StationPlan};
use crate::net::{FlowPlan, MediumKind, Network, NetworkPlan};
use crate::record::{
    AirResult, BlockTimes, CellResult, EnergyByCause, EnergyOverhead, Fairness, FlowResult, Latencies,
    Observed, Playback, QueueTrace, RadioInterval, Rendering, Replayed, Responses, Run, RunResult, RunTrace,
    StationResult, Steady, WindowFairness,
};
use crate::route::{MediumId, NodeId};
use crate::scenario::{IDEAL, Scenario};
use crate::stack::application::Application;
use crate::stack::flow::{BIN, FlowRecord, Meter};

/// Queue lengths of wires and point-to-point hops: of the first of each kind, and of the others by name.
#[derive(Default)]
struct Queues {
    wire: Option<[QueueTrace; 2]>,
    hop: Option<[QueueTrace; 2]>,
    further: Vec<(String, QueueTrace)>,
}

/// What a result needs of a flow beyond its own entry.
struct Measured<'a> {
    /// The media that its data crosses.
    path: &'a [(MediumId, Direction)],
    meter: &'a Meter,
}

impl Network {
    /// Closes the accounts and returns the result document.
    pub(crate) fn finish(mut self, scenario: &Scenario, seed: u64) -> Run {
        let end = self.close();
        let flow = |(index, plan): (usize, &FlowPlan)| {
            let (from, to) = match plan.data {
                Direction::Down => (plan.server, plan.client),
                Direction::Up => (plan.client, plan.server),
            };
            self.flow_result(index).between(self.node_name(from), self.node_name(to))
        };
        let flows = self.plan.flows.iter().enumerate().map(flow).collect();
        let measured: Vec<_> = self.plan.flows.iter().zip(&self.records).map(measured_of).collect();
        let (result, prints) = self.conclude(end, flows, &measured, scenario, seed);
        let bins = self.records.iter().map(|record| record.meter.bins(self.now)).collect();
        self.into_run(end, result, prints, bins, scenario, seed)
    }

    /// Closes the accounts, and returns the result document with what was observed of flows outside.
    pub(crate) fn finish_observed(mut self, observed: Vec<Observed>, scenario: &Scenario, seed: u64) -> Run {
        let end = self.close();
        let paths: Vec<_> = observed.iter().map(|observed| self.observed_path(&observed.result)).collect();
        let measured: Vec<_> = observed
            .iter()
            .zip(&paths)
            .map(|(Observed { meter, .. }, path)| Measured { path, meter })
            .collect();
        let flows = observed.iter().map(|observed| self.observed_result(&observed.result)).collect();
        let (result, prints) = self.conclude(end, flows, &measured, scenario, seed);
        let bins = observed.iter().map(|observed| observed.meter.bins(self.now)).collect();
        self.into_run(end, result, prints, bins, scenario, seed)
    }

    fn conclude(
        &self,
        end: Instant,
        mut flows: Vec<FlowResult>,
        measured: &[Measured<'_>],
        scenario: &Scenario,
        seed: u64,
    ) -> (RunResult, Fingerprints) {
        if let Some(from) = scenario.measure_from {
            let elapsed = self.since(from).as_secs_f64();
            for (flow, result) in measured.iter().zip(&mut flows) {
                result.measured_bps = Some(rate_of(flow.meter.bytes(), elapsed));
            }
        }
        let stations =
            (0..).zip(self.plan.stations()).map(|(id, place)| self.station_result(id, place, end, &flows));
        let result = RunResult {
            schema: 1,
            version: env!("CARGO_PKG_VERSION"),
            scenario: scenario.name.clone(),
            seed,
            simulated_s: end.as_secs_f64(),
            wall_s: 0.0,
            events: self.events,
            fairness: self.fairness(&flows, measured, scenario),
            stations: stations.collect(),
            cell: self.cell_result(end),
            cells: self.cell_results(end),
            access_points: self.access_point_results(),
            links: self.link_results(),
            impairments: self.impairment_results(),
            hosts: self.host_results(),
            tunnels: self.tunnel_results(),
            flows,
        };
        let (frames, radios) = self.air_fingerprints();
        let mut prints = Fingerprints { events: self.print, frames, radios, ..Fingerprints::default() };
        prints.results.add_text(&serde_json::to_string(&result).expect("a document of numbers and names"));
        (result, prints)
    }

    fn into_run(
        mut self,
        end: Instant,
        result: RunResult,
        fingerprints: Fingerprints,
        bins: Vec<Vec<u64>>,
        scenario: &Scenario,
        seed: u64,
    ) -> Run {
        let trace = self.windows.is_some().then(|| self.take_trace(end, bins, scenario, seed));
        Run { result, trace, fingerprints }
    }

    /// The nodes between which a flow ran that was observed from outside: its station and the server.
    fn observed_ends(&self, result: &FlowResult) -> Option<(NodeId, NodeId)> {
        let station = self.plan.stations.get(result.station? as usize)?.node;
        let server = self.plan.server();
        Some(if result.direction == "down" { (server, station) } else { (station, server) })
    }

    fn observed_path(&self, result: &FlowResult) -> Vec<(MediumId, Direction)> {
        self.observed_ends(result).map_or_else(Vec::new, |(from, to)| self.plan.path(from, to))
    }

    fn observed_result(&self, result: &FlowResult) -> FlowResult {
        match self.observed_ends(result) {
            Some((from, to)) => result.clone().between(self.node_name(from), self.node_name(to)),
            None => result.clone(),
        }
    }

    fn node_name(&self, node: NodeId) -> &str {
        &self.plan.nodes[usize::from(node)].name
    }

    /// Fingerprints of the frames and radios of all channels; those of a single one are its own.
    fn air_fingerprints(&self) -> (Fingerprint, Fingerprint) {
        let channels = self.media.iter().filter_map(|entry| match &entry.medium {
            Medium::Cell(cell) => Some(cell.fingerprints()),
            Medium::Wire(_) | Medium::PointToPoint(_) => None,
        });
        let joined = channels.reduce(|(mut frames, mut radios), (more_frames, more_radios)| {
            frames.add(more_frames.value().wrapping_add(1));
            radios.add(more_radios.value().wrapping_add(1));
            (frames, radios)
        });
        joined.unwrap_or_default()
    }

    fn wires(&self) -> impl Iterator<Item = &Wire> {
        self.media.iter().filter_map(|entry| match &entry.medium {
            Medium::Wire(wire) => Some(&**wire),
            Medium::Cell(_) | Medium::PointToPoint(_) => None,
        })
    }

    /// Ends the accounts of all radios at one time: when the last radio had finished its last frame. Returns that time.
    fn close(&mut self) -> Instant {
        let mut finish = |now: Instant| {
            let ends = self.media.iter_mut().filter_map(|entry| match &mut entry.medium {
                Medium::Cell(cell) => Some(cell.finish(now)),
                Medium::Wire(_) | Medium::PointToPoint(_) => None,
            });
            ends.fold(now, Instant::max)
        };
        // A channel that ended earlier than another goes on to the common end.
        let end = finish(self.now);
        let end = finish(end);
        self.close_hosts(end);
        end
    }

    /// Closes the accounts of a replay: its one flow and its one station.
    pub(crate) fn into_replayed(mut self) -> Replayed {
        let end = self.close();
        let (medium, id, station) = self.plan.stations().next().expect("a replay has a station");
        let (ledger, causes) = self.accounts(&self.plan.stations[0], end);
        let wakeups = wakeups_of(&self.station_counts(medium, id), &ledger);
        let radio = station.radio().clone();
        let (delays, lost) = match self.applications.pop().map(|entry| entry.machine) {
            Some(Application::Replay(replay)) => (replay.delays, replay.lost),
            _ => (Vec::new(), 0),
        };
        Replayed {
            ledger,
            causes,
            radio,
            wakeups,
            delays,
            lost,
            events: self.events,
            skipped: Span::ZERO,
            radio_states: Vec::new(),
        }
    }

    /// Takes the states of the first station's radio from the beginning to `end`, of a network that keeps its traces.
    pub(crate) fn take_radio_states(
        &mut self,
        end: Instant,
        scenario: &Scenario,
        seed: u64,
    ) -> Vec<RadioInterval> {
        self.take_trace(end, Vec::new(), scenario, seed).radio_intervals(0)
    }

    /// The time of a station by state and by cause, as its result reports it.
    fn accounts(&self, station: &StationPlan, end: Instant) -> (Ledger, Causes) {
        let (medium, number) = (station.medium, station.number);
        let (ledger, causes) = self.kept_accounts(medium, number, end);
        ledger.check(end);
        causes.check(&ledger);
        if !station.lower_bound {
            return (ledger, causes);
        }
        let bound = self.lower_bound(medium, number, end);
        bound.check(end);
        let causes = Causes::of_bound(&bound, &causes);
        (bound, causes)
    }

    /// The energy of the radio of a node by the nodes at the other ends of its flows. A flow that the node forwards for others
    /// has the names of both ends.
    fn energy_by_peer(&self, causes: &Causes, radio: &Radio, node: NodeId) -> BTreeMap<String, f64> {
        let mut peers: BTreeMap<String, Energy> = BTreeMap::new();
        for (cause, energy) in causes.energies(radio) {
            let flow = match cause {
                Cause::Flow(flow) => self.plan.flows.get(flow as usize),
                _ => None,
            };
            let peer = flow.map_or_else(
                || "none".to_owned(),
                |flow| {
                    let [server, client] = [flow.server, flow.client].map(|end| self.node_name(end));
                    match node {
                        _ if node == flow.client => server.to_owned(),
                        _ if node == flow.server => client.to_owned(),
                        _ => format!("{server}, {client}"),
                    }
                },
            );
            let sum = peers.entry(peer).or_insert(Energy::ZERO);
            *sum = [*sum, energy].into_iter().sum();
        }
        peers.into_iter().map(|(peer, energy)| (peer, energy.as_joules())).collect()
    }

    fn kept_accounts(&self, medium: MediumId, station: StationId, end: Instant) -> (Ledger, Causes) {
        match &self.media[usize::from(medium)].medium {
            Medium::Cell(cell) => (cell.ledger(station).clone(), cell.causes(station).clone()),
            Medium::PointToPoint(hop) => (hop.ledger(end), hop.causes(end)),
            Medium::Wire(_) => unreachable!("a wire has no stations"),
        }
    }

    /// The ledger that the station's radio would have if it knew its own traffic.
    fn lower_bound(&self, medium: MediumId, station: StationId, end: Instant) -> Ledger {
        match &self.media[usize::from(medium)].medium {
            Medium::Cell(cell) => cell.lower_bound(station, end),
            Medium::PointToPoint(hop) => hop.lower_bound(self.planned(medium, station).radio(), end),
            Medium::Wire(_) => unreachable!("a wire has no stations"),
        }
    }

    fn planned(&self, medium: MediumId, station: StationId) -> PlannedStation<'_> {
        self.plan.media[usize::from(medium)].stations()[station as usize]
    }

    /// What the power save of a station counted.
    fn station_counts(&self, medium: MediumId, station: StationId) -> StationCounts {
        match &self.media[usize::from(medium)].medium {
            Medium::Cell(cell) => cell.counts(station),
            Medium::Wire(_) | Medium::PointToPoint(_) => StationCounts::default(),
        }
    }

    fn take_trace(&mut self, end: Instant, bins: Vec<Vec<u64>>, scenario: &Scenario, seed: u64) -> RunTrace {
        let mut setting = self.setting(scenario, seed);
        setting.packets = std::mem::take(&mut self.store).into_bytes();
        let mut queues = self.take_queues(end);
        let mut cell = CellTrace::default();
        for id in 0..self.media.len() as MediumId {
            let Some(trace) = self.take_cell_trace(id) else { continue };
            cell.frames.extend(trace.frames);
            cell.radios.extend(trace.radios);
            cell.adaptations.extend(trace.adaptations);
            if id == 0 {
                (cell.ap_queue, cell.ap_power_save) = (trace.ap_queue, trace.ap_power_save);
            } else {
                let name = &self.plan.media[usize::from(id)].name;
                queues.further.push((format!("access point {name}"), trace.ap_queue));
                queues.further.push((format!("power save {name}"), trace.ap_power_save));
            }
        }
        cell.radios.sort_by_key(|event| event.at);
        cell.adaptations.sort_by_key(|(at, ..)| *at);
        let [link_down_queue, link_up_queue] = queues.hop.unwrap_or_default();
        let [down_queue, up_queue] = queues.wire.unwrap_or_default();
        RunTrace {
            end,
            setting,
            frames: cell.frames,
            radios: cell.radios,
            windows: self.windows.take().unwrap_or_default(),
            deliveries: (Instant::ZERO + self.plan.measure_from, bins),
            down_queue,
            up_queue,
            ap_queue: cell.ap_queue,
            ap_power_save: cell.ap_power_save,
            adaptations: cell.adaptations,
            link_down_queue,
            link_up_queue,
            further_queues: queues.further,
        }
    }

    /// Takes the queue lengths of wires and point-to-point hops.
    fn take_queues(&mut self, end: Instant) -> Queues {
        let mut queues = Queues::default();
        for (entry, plan) in self.media.iter_mut().zip(&self.plan.media) {
            let (first, [down, up]) = match &mut entry.medium {
                Medium::Cell(_) => continue,
                Medium::PointToPoint(hop) => (&mut queues.hop, hop.take_traces(end)),
                Medium::Wire(wire) => {
                    (&mut queues.wire, wire.pipes.each_mut().map(|pipe| pipe.take_trace(end)))
                }
            };
            if first.is_none() {
                *first = Some([down, up]);
            } else {
                queues.further.push((format!("{} forward", plan.name), down));
                queues.further.push((format!("{} reverse", plan.name), up));
            }
        }
        queues
    }

    fn flow_result(&self, index: usize) -> FlowResult {
        let (flow, record, id) = (&self.plan.flows[index], &self.records[index], index as u32);
        match &self.applications[index].machine {
            Application::Transfer(_) | Application::Dialogue(_) => self.transfer_result(id),
            Application::Datagrams(datagrams) => {
                let result = FlowResult {
                    segments_sent: record.packets_sent,
                    responses: Responses::of(&datagrams.durations),
                    steady: self.steady(id, &datagrams.durations),
                    ..self.arrived_result(id, record.received)
                };
                self.with_overheads(id, result, record.received, record.completed)
            }
            Application::Saturation(_) => FlowResult {
                bytes_delivered: record.received,
                goodput_bps: rate_of(record.received, self.since(flow.start).as_secs_f64()),
                ..empty(id, flow)
            },
            Application::Replay(replay) => {
                let sum: Span = replay.delays.iter().map(|delay| delay.delay).sum();
                let latency_s_mean = mean_s(sum, replay.delays.len() as u64);
                FlowResult { latency_s_mean, ..empty(id, flow) }
            }
        }
    }

    /// What has arrived of a flow, `delivered` bytes of it in order, and when.
    fn arrived_result(&self, id: u32, delivered: u64) -> FlowResult {
        let (flow, record) = (&self.plan.flows[id as usize], &self.records[id as usize]);
        let started = record.started.unwrap_or(self.now);
        let elapsed = record.completed.unwrap_or(self.now).saturating_since(started);
        FlowResult {
            goodput_bps: rate_of(delivered, elapsed.as_secs_f64()),
            bytes_delivered: delivered,
            completed_s: record.completed.map(Instant::as_secs_f64),
            latency_s_mean: mean_s(record.latency, record.packets_arrived),
            latencies: record.latencies().as_ref().and_then(Latencies::of),
            ..empty(id, flow)
        }
    }

    /// The times of a flow, of whose answers these are the durations, but for the first one.
    fn steady(&self, id: u32, answers: &[Span]) -> Option<Steady> {
        let record = &self.records[id as usize];
        if answers.is_empty() {
            return Steady::of_packets(record);
        }
        self.plan.latency_percentiles.then(|| Steady::of_answers(answers)).flatten()
    }

    /// With the overheads of what was sent for `payload` bytes, and of the time over what was needed until `end`.
    fn with_overheads(&self, id: u32, result: FlowResult, payload: u64, end: Option<Instant>) -> FlowResult {
        let (flow, record) = (&self.plan.flows[id as usize], &self.records[id as usize]);
        let elapsed = end.unwrap_or(self.now).saturating_since(record.started.unwrap_or(self.now));
        let (payload, rate) = (Size::from_bytes(payload), slowest_link(&self.plan, flow));
        let lasted = self.applications[id as usize].machine.lasted();
        let time = time_over_needed(elapsed, payload, rate, lasted);
        result.with_overheads(Size::from_bytes(record.bytes_sent), payload, time)
    }

    fn transfer_result(&self, id: u32) -> FlowResult {
        let (record, entry) = (&self.records[id as usize], &self.applications[id as usize]);
        let counts = entry.senders().map(|sender| self.sockets[sender as usize].transport.counts());
        let counts = counts.reduce(SenderCounts::and).unwrap_or_default();
        let (responses, blocks) = match &entry.machine {
            Application::Dialogue(dialogue) => (Responses::of(&dialogue.durations), None),
            Application::Transfer(transfer) => {
                (None, transfer.blocks.as_ref().and_then(|blocks| Responses::of(&blocks.durations)))
            }
            _ => (None, None),
        };
        let result = FlowResult {
            bytes_skipped: record.given_up(),
            connection_lost: record.failed,
            delivery_s_mean: record.deliveries.mean_s(),
            delivery_full_s_mean: record.deliveries.full_mean_s(),
            rtt_s_mean: counts.rtt_mean.map(Span::as_secs_f64),
            segments_sent: counts.sent,
            segments_retransmitted: counts.retransmitted,
            timeouts: counts.timeouts,
            acks_lost: record.acks_lost,
            ack_losses_seen: counts.ack_losses.0,
            ack_loss_halvings: counts.ack_losses.1,
            responses,
            steady: match &entry.machine {
                Application::Dialogue(dialogue) => self.steady(id, &dialogue.durations),
                _ => self.steady(id, &[]),
            },
            rendering: match &entry.machine {
                Application::Dialogue(dialogue) => Responses::of(&dialogue.renderings).map(Rendering::from),
                _ => None,
            },
            blocks: blocks.map(BlockTimes::from),
            playback: match &entry.machine {
                Application::Dialogue(dialogue) => {
                    dialogue.viewing(record.completed.unwrap_or(self.now)).map(Playback::from)
                }
                _ => None,
            },
            ..self.arrived_result(id, record.delivered())
        };
        // What was given up had to be carried as well, as far as the sender could know.
        let payload = record.delivered() + record.given_up();
        self.with_overheads(id, result, payload, record.acknowledged.max(record.completed))
    }

    fn station_result(
        &self,
        id: StationId,
        (medium, member, station): (MediumId, StationId, PlannedStation<'_>),
        end: Instant,
        flows: &[FlowResult],
    ) -> StationResult {
        let place = &self.plan.stations[id as usize];
        let (ledger, causes) = self.accounts(place, end);
        let radio = station.radio();
        let counts = self.station_counts(medium, member);
        let wakeups = wakeups_of(&counts, &ledger);
        let energy_j = ledger.energy(radio).as_joules();
        let average_power_w = if end == Instant::ZERO { 0.0 } else { energy_j / end.as_secs_f64() };
        let bits: u64 =
            flows.iter().filter(|flow| flow.station == Some(id)).map(|flow| flow.bytes_delivered * 8).sum();
        StationResult {
            id,
            name: place.name.clone(),
            node: self.node_name(place.node).to_owned(),
            cell: place.cell.clone(),
            policy: match station {
                _ if place.lower_bound => IDEAL.name.into(),
                PlannedStation::Cell(station) => station.policy.name().to_owned().into(),
                PlannedStation::PointToPoint(_) => "active".into(),
            },
            radio: radio.name.clone(),
            energy_j,
            idealized_energy_j: ledger.idealized_energy(radio).as_joules(),
            lower_bound_j: self.lower_bound(medium, member, end).energy(radio).as_joules(),
            energy_by_cause_j: EnergyByCause::of(causes.energies(radio)),
            energy_by_peer_j: self.energy_by_peer(&causes, radio, place.node),
            energy_per_bit_j: (bits > 0).then(|| energy_j / bits as f64),
            average_power_w,
            average_current_a: radio.voltage.map(|voltage| average_power_w / voltage.as_volts()),
            state_s: StateSeconds::of(&ledger),
            profile: ProfileAccount::if_any(radio, &StateSeconds::of(&ledger), energy_j),
            wakeups: wakeups.values().sum(),
            wakeups_by_reason: wakeups,
            triggers: counts.triggers,
            ps_polls: counts.polls,
            service_periods: counts.periods,
            waits_given_up: counts.waits_given_up,
            beacons_missed: counts.beacons_missed,
        }
    }

    /// The first cell or point-to-point hop, with the drops of all wires. Without either there are only these.
    fn cell_result(&self, end: Instant) -> CellResult {
        let dropped =
            |pipe: fn(&Wire) -> &Pipe| self.wires().map(|wire| pipe(wire).statistics().dropped).sum();
        let (down_queue_drops, up_queue_drops) = (dropped(Wire::down), dropped(Wire::up));
        let (air, damaged) = match &self.media[0].medium {
            Medium::Cell(cell) => (air_of_cell(cell, end), 0),
            Medium::PointToPoint(hop) => air_of_hop(hop, end),
            Medium::Wire(_) => Default::default(),
        };
        CellResult { air, damaged, down_queue_drops, up_queue_drops }
    }

    fn fairness(&self, flows: &[FlowResult], measured: &[Measured<'_>], scenario: &Scenario) -> Fairness {
        let shares: Vec<f64> =
            flows.iter().map(|flow| flow.measured_bps.unwrap_or(flow.goodput_bps)).collect();
        let capacity_bps = scenario
            .fairness_capacity
            .map_or_else(|| capacity_bps(&self.plan, measured), |capacity| capacity.as_bps() as f64);
        let bins: Vec<Vec<f64>> = if scenario.fairness_windows.is_empty() {
            Vec::new()
        } else {
            let bits = |bytes: u64| bytes as f64 * 8.0;
            measured.iter().map(|flow| flow.meter.bins(self.now).into_iter().map(bits).collect()).collect()
        };
        let windows = scenario.fairness_windows.iter().map(|window| {
            // A checked scenario has windows within its interval, so that there is a value.
            let count = window.whole(BIN) as usize;
            let over = |index| sliding_window(&bins, BIN.as_secs_f64(), count, index).unwrap_or(0.0);
            WindowFairness {
                window_s: window.as_secs_f64(),
                jain: over(Index::Jain),
                fair_utilization: over(Index::FairUtilization(capacity_bps)),
                fair_utilization_alpha1: over(Index::FairUtilizationAlpha(capacity_bps, 1.0)),
            }
        });
        Fairness {
            capacity_bps,
            jain: fairness::jain(&shares).unwrap_or(0.0),
            fair_utilization: fairness::fair_utilization(&shares, capacity_bps).unwrap_or(0.0),
            fair_utilization_alpha1: fairness::fair_utilization_alpha(&shares, capacity_bps, 1.0)
                .unwrap_or(0.0),
            measured_from_s: scenario.measure_from.map(Span::as_secs_f64),
            windows: windows.collect(),
        }
    }
}

/// The result of a flow that has carried nothing.
fn empty(id: u32, flow: &FlowPlan) -> FlowResult {
    FlowResult::empty(id, flow.station, flow.is_download, flow.transport_name())
}

impl FlowResult {
    /// With the names of the nodes that send and receive its data.
    fn between(self, from: &str, to: &str) -> Self {
        Self { from: from.to_owned(), to: to.to_owned(), ..self }
    }

    /// With the overheads of `sent` bytes for `payload`, and of the time over what was needed.
    fn with_overheads(self, sent: Size, payload: Size, time: Option<f64>) -> Self {
        let data = overhead::data_overhead(sent, payload).ok();
        let energy = |data, time| EnergyOverhead {
            always_active: overhead::energy_overhead(data, time, overhead::ALWAYS_ACTIVE),
            intermediate: overhead::energy_overhead(data, time, overhead::INTERMEDIATE),
            ideal: overhead::energy_overhead(data, time, overhead::IDEAL),
        };
        Self {
            data_overhead: data,
            time_overhead: time,
            energy_overhead: data.zip(time).map(|(data, time)| energy(data, time)),
            ..self
        }
    }
}

/// The time overhead against the time that the payload needs at `rate`, or that its source took if that is longer.
fn time_over_needed(elapsed: Span, payload: Size, rate: Rate, source: Span) -> Option<f64> {
    if source > rate.time_for(payload) {
        return Some(elapsed.as_secs_f64() / source.as_secs_f64() - 1.0);
    }
    overhead::time_overhead(elapsed, payload, rate).ok()
}

/// Wake-ups by reason. A radio that never slept, and is only accounted for as if it had, has them in the account.
fn wakeups_of(counts: &StationCounts, ledger: &Ledger) -> BTreeMap<&'static str, u64> {
    counts.wakeups().chain(ledger.wakeups().iter().map(|(reason, count)| (*reason, *count))).collect()
}

fn mean_s(sum: Span, count: u64) -> Option<f64> {
    (count > 0).then(|| sum.as_secs_f64() / count as f64)
}

fn rate_of(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn measured_of<'a>((flow, record): (&'a FlowPlan, &'a FlowRecord)) -> Measured<'a> {
    Measured { path: &flow.path, meter: &record.meter }
}

/// The counts of the hop, and the packets that were damaged.
fn air_of_hop(hop: &PointToPointMedium, end: Instant) -> (AirResult, u64) {
    let (down, up) = (hop.down().statistics(), hop.up().statistics());
    let air = AirResult {
        airtime_utilization: share_of(hop.busy(end), end),
        frames: down.offered + up.offered - down.dropped - up.dropped,
        ap_drops: down.dropped,
        ..AirResult::default()
    };
    (air, down.damaged + up.damaged)
}

/// The rate of a medium in one direction: of a wire and of a point-to-point hop the transmitter's, of a channel that of the data of
/// its fastest station.
fn rate_over(plan: &NetworkPlan, medium: MediumId, direction: Direction) -> Rate {
    match &plan.media[usize::from(medium)].kind {
        MediumKind::Wire(pipes) => pipes[direction as usize].rate.unwrap_or(Rate::ZERO),
        MediumKind::PointToPoint(hop, _) => hop.rate,
        MediumKind::Cell(bsss) => fastest(bsss).map_or(Rate::ZERO, |vector| vector.rate()),
        MediumKind::AdHoc(network) => network.channel.data.rate(),
    }
}

/// The slowest link of a flow's data.
fn slowest_link(plan: &NetworkPlan, flow: &FlowPlan) -> Rate {
    let rates = flow.path.iter().map(|(medium, direction)| rate_over(plan, *medium, *direction));
    rates.min().unwrap_or(Rate::ZERO)
}

/// Payload rate that the flows could have together, the lesser of two bounds: over the wires, if all flows cross one, and over the
/// wireless media, if all flows cross one. Either is the sum of what its media carry, over the least number of them that a flow
/// crosses. A wire counts in the directions of the flows; a channel for a single sender without collisions and without bursts.
fn capacity_bps(plan: &NetworkPlan, flows: &[Measured<'_>]) -> f64 {
    if flows.is_empty() {
        return 0.0;
    }
    let payload_share = f64::from(plan.tcp.mss) / f64::from(plan.tcp.full_packet_bytes());
    let is_wire = |medium: MediumId| matches!(plan.media[usize::from(medium)].kind, MediumKind::Wire(_));
    let of_medium = |medium: MediumId| -> f64 {
        let crossed = |wanted| flows.iter().any(|flow| flow.path.contains(&(medium, wanted)));
        match &plan.media[usize::from(medium)].kind {
            MediumKind::Cell(bsss) => {
                let both = bsss.first().zip(fastest(bsss));
                both.map_or(0.0, |(bss, data)| air_capacity_bps(plan, &bss.config, data))
            }
            MediumKind::AdHoc(network) => air_capacity_bps(plan, &network.channel, network.channel.data),
            MediumKind::Wire(_) | MediumKind::PointToPoint(..) => [Direction::Down, Direction::Up]
                .into_iter()
                .filter(|direction| crossed(*direction))
                .map(|direction| rate_over(plan, medium, direction).as_bps() as f64 * payload_share)
                .sum(),
        }
    };
    let bound = |wires: bool| {
        let crossings =
            |flow: &Measured<'_>| flow.path.iter().filter(|(medium, _)| is_wire(*medium) == wires).count();
        let least = flows.iter().map(crossings).min().filter(|least| *least > 0)?;
        let used = |medium: &MediumId| {
            is_wire(*medium) == wires
                && flows.iter().any(|flow| flow.path.iter().any(|(other, _)| other == medium))
        };
        let media = (0..plan.media.len() as MediumId).filter(used);
        Some(media.map(of_medium).sum::<f64>() / least as f64)
    };
    [bound(true), bound(false)].into_iter().flatten().fold(f64::INFINITY, f64::min)
}

/// How data of the fastest station of a channel is sent; without stations that of the channel.
fn fastest(bsss: &[Bss]) -> Option<TxVector> {
    let vectors = bsss.iter().flat_map(|bss| &bss.stations).map(|station| station.data);
    vectors.max_by_key(TxVector::rate).or_else(|| Some(bsss.first()?.config.data))
}

/// Jun et al. (2003) for this cell's frames of the largest size at this rate.
fn air_capacity_bps(plan: &NetworkPlan, cell: &CellConfig, vector: TxVector) -> f64 {
    let timing = cell.standard.timing();
    let [control, data] = [cell.control, vector].map(|vector| vector.layout(cell.standard.band()));
    let slot_s = timing.slot.as_secs_f64();
    let access = cell.best_effort().access;
    let aifsn = (access.aifs - timing.sifs).whole(timing.slot);
    let params = max_throughput::Params {
        payload_bytes: f64::from(plan.tcp.mss),
        overhead_bytes: f64::from(plan.tcp.full_packet_bytes() - plan.tcp.mss + cell.mac_overhead),
        data_rate_bps: vector.rate().as_bps() as f64,
        preamble_s: data.preamble().as_secs_f64(),
        coding_bits: data.fixed_bits() as f64,
        symbol_s: data.symbol().as_secs_f64(),
        difs_s: timing.sifs.as_secs_f64() + aifsn as f64 * slot_s,
        sifs_s: timing.sifs.as_secs_f64(),
        slot_s,
        cw_min: access.cw_min,
        ack_s: control.time(14).as_secs_f64(),
        rts_cts_s: None,
        propagation_s: 0.0,
    };
    max_throughput::solve(&params).map_or(0.0, |output| output.throughput_bps)
}

#[cfg(test)]
mod tests {
    use super::rate_of;

    #[test]
    fn in_no_time_there_is_no_rate() {
        assert_eq!([rate_of(0, 0.0), rate_of(100, 0.0), rate_of(100, 2.0)], [0.0, 0.0, 400.0]);
    }
}
