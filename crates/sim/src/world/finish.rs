//! From the machines at the end of a run to its result document.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Rate, Size, Span};
use airwatt_energy::fairness::{self, Index, sliding_window};
use airwatt_energy::{Ledger, Radio, State, overhead};
use airwatt_models::max_throughput;
use airwatt_proto::powersave::{PolicyConfig, StationCounts, StationId};

use super::{Flow, FlowState, Hop, Wire, World, WorldSpec};
use crate::apps::{BIN, Datagrams, Transfer};
use crate::engine::{Fingerprint, Fingerprints};
use crate::media::Pipe;
use crate::media::cell::StationConfig;
use crate::record::{
    BlockTimes, CellResult, CellSetting, EnergyOverhead, Fairness, FlowResult, Responses, RunResult,
    RunTrace, Setting, StateSeconds, StationResult, StationSetting, WindowFairness,
};
use crate::replay::Replayed;
use crate::run::Run;
use crate::scenario::{Scenario, Transport, Wifi};

impl World {
    /// Closes the accounts and writes the result document.
    pub(crate) fn finish(mut self, scenario: &Scenario, seed: u64) -> Run {
        let end = self.close();
        let flows = (0..self.flows.len()).map(|index| self.application_result(index, scenario)).collect();
        self.conclude(end, flows, scenario, seed)
    }

    /// The same where what became of each flow is known from outside.
    pub(crate) fn finish_observed(mut self, flows: Vec<FlowResult>, scenario: &Scenario, seed: u64) -> Run {
        let end = self.close();
        self.conclude(end, flows, scenario, seed)
    }

    fn conclude(mut self, end: Instant, mut flows: Vec<FlowResult>, scenario: &Scenario, seed: u64) -> Run {
        for (flow, result) in self.flows.iter().zip(&mut flows) {
            result.measured_bps = self.measured_bps(flow, scenario);
        }
        let stations = (0..self.spec.stations.len())
            .map(|id| self.station_result(id as StationId, end, &flows))
            .collect();
        let result = RunResult {
            schema: 1,
            version: env!("CARGO_PKG_VERSION"),
            scenario: scenario.name.clone(),
            seed,
            simulated_s: end.as_secs_f64(),
            wall_s: 0.0,
            events: self.events,
            fairness: self.fairness(&flows, scenario),
            stations,
            cell: self.cell_result(end),
            flows,
        };
        let trace = self.windows.is_some().then(|| self.take_trace(end, scenario, seed));
        let (frames, radios) = match &self.hop {
            Hop::Cell(cell) => cell.fingerprints(),
            Hop::Link(_) => (Fingerprint::default(), Fingerprint::default()),
        };
        let mut fingerprints = Fingerprints { events: self.print, frames, radios, ..Fingerprints::default() };
        fingerprints
            .results
            .add_text(&serde_json::to_string(&result).expect("a document of numbers and names"));
        Run { result, trace, fingerprints }
    }

    /// Ends the hop's accounts. Returns when the last radio was done with its last frame.
    fn close(&mut self) -> Instant {
        match &mut self.hop {
            Hop::Cell(cell) => cell.finish(self.now),
            Hop::Link(_) => self.now,
        }
    }

    /// Closes the accounts of a replay: its one flow and its one station.
    pub(crate) fn into_replayed(mut self) -> Replayed {
        let end = self.close();
        let ledger = self.ledger(0, end);
        ledger.check(end);
        let (delays, lost) = match self.flows.pop().map(|flow| flow.application) {
            Some(FlowState::Replay(replay)) => (replay.delays, replay.lost),
            _ => (Vec::new(), 0),
        };
        let wakeups = match &self.hop {
            Hop::Cell(cell) => wakeups_of(cell.power_save(0).counts(), &ledger),
            Hop::Link(_) => BTreeMap::new(),
        };
        let radio = self.radio(0).clone();
        Replayed { ledger, radio, wakeups, delays, lost, events: self.events }
    }

    fn ledger(&self, station: StationId, end: Instant) -> Ledger {
        match &self.hop {
            Hop::Cell(cell) => cell.ledger(station).clone(),
            Hop::Link(link) => link.ledger(end),
        }
    }

    fn radio(&self, station: StationId) -> &Radio {
        match &self.hop {
            Hop::Cell(cell) => cell.radio(station),
            Hop::Link(_) => &self.spec.stations[station as usize].radio,
        }
    }

    fn take_trace(&mut self, end: Instant, scenario: &Scenario, seed: u64) -> RunTrace {
        let setting = self.setting(scenario, seed);
        let (mut cell, mut link_queues) = Default::default();
        match &mut self.hop {
            Hop::Cell(air) => cell = air.take_trace().unwrap_or_default(),
            Hop::Link(link) => link_queues = link.take_traces(end),
        }
        let [link_down_queue, link_up_queue] = link_queues;
        let (down_queue, up_queue) = self
            .wires
            .first_mut()
            .map_or_else(Default::default, |wire| (wire.down.take_trace(end), wire.up.take_trace(end)));
        RunTrace {
            end,
            setting,
            frames: cell.frames,
            radios: cell.radios,
            windows: self.windows.take().unwrap_or_default(),
            deliveries: (
                Instant::ZERO + self.spec.measure_from,
                self.flows.iter().map(|flow| flow.meter.bins(self.now)).collect(),
            ),
            down_queue,
            up_queue,
            ap_queue: cell.ap_queue,
            ap_power_save: cell.ap_power_save,
            adaptations: cell.adaptations,
            link_down_queue,
            link_up_queue,
        }
    }

    /// What a reader of this run's trace must know of it.
    pub(crate) fn setting(&self, scenario: &Scenario, seed: u64) -> Setting {
        let of = |station: &StationConfig| StationSetting {
            to_sleep: station.radio.to_sleep.time,
            uapsd: station.policy.needs_uapsd(),
            own_frames_only: station.policy == PolicyConfig::Ideal,
            powers: State::ALL.map(|state| station.radio.power(state)),
        };
        let cell = scenario.wifi.as_ref().map(|wifi| CellSetting {
            standard: wifi.standard,
            beacon_interval: scenario.ap.beacon_interval,
            dtim_period: scenario.ap.dtim_period,
            uapsd: scenario.ap.uapsd,
        });
        Setting {
            scenario: scenario.name.clone(),
            seed,
            // Without frames there is no telling what a radio did when.
            stations: if cell.is_some() { self.spec.stations.iter().map(of).collect() } else { Vec::new() },
            cell,
            mtu_bytes: self.spec.tcp.mss + self.spec.tcp.header_bytes,
            header_bytes: self.spec.tcp.header_bytes,
            receive_window_bytes: self.spec.tcp.receive_window,
            packets: Vec::new(),
        }
    }

    fn measured_bps(&self, flow: &Flow, scenario: &Scenario) -> Option<f64> {
        let interval = self.now.saturating_since(Instant::ZERO + scenario.measure_from?);
        Some(rate_of(flow.meter.bytes(), interval.as_secs_f64()))
    }

    fn application_result(&self, index: usize, scenario: &Scenario) -> FlowResult {
        let flow = &self.flows[index];
        let id = index as u32;
        match &flow.application {
            FlowState::Transfer(transfer) => self.transfer_result(id, flow, transfer, scenario),
            FlowState::Datagrams(datagrams) => self.datagrams_result(id, flow, datagrams, scenario),
            FlowState::Saturated(saturation) => {
                let elapsed = self.now.saturating_since(Instant::ZERO + self.spec.flows[index].start);
                FlowResult {
                    bytes_delivered: saturation.delivered,
                    goodput_bps: rate_of(saturation.delivered, elapsed.as_secs_f64()),
                    ..FlowResult::empty(id, flow.station, flow.down, Transport::Udp.name())
                }
            }
            // What became of it is known where its ends are.
            FlowState::Foreign(_) => FlowResult::empty(id, flow.station, flow.down, Transport::Udp.name()),
            FlowState::Replay(replay) => {
                let sum: Span = replay.delays.iter().map(|delay| delay.delay).sum();
                let latency_s_mean = mean_s(sum, replay.delays.len() as u64);
                FlowResult {
                    latency_s_mean,
                    ..FlowResult::empty(id, flow.station, flow.down, Transport::Udp.name())
                }
            }
        }
    }

    fn transfer_result(&self, id: u32, flow: &Flow, transfer: &Transfer, scenario: &Scenario) -> FlowResult {
        let progress = &transfer.progress;
        let counts = transfer.end(transfer.sender()).counts();
        let started = progress.started.unwrap_or(self.now);
        let elapsed = progress.completed.unwrap_or(self.now).saturating_since(started).as_secs_f64();
        let delivered = progress.delivered();
        // What was given up had to be carried all the same, as far as the sender could know.
        let payload = Size::from_bytes(delivered + progress.given_up());
        let rate = slowest_link(scenario, &self.spec, flow);
        let known =
            progress.acknowledged.max(progress.completed).unwrap_or(self.now).saturating_since(started);
        let sent = Size::from_bytes(progress.bytes_sent);
        FlowResult {
            transport: self.spec.flows[id as usize].transport.name(),
            goodput_bps: rate_of(delivered, elapsed),
            bytes_delivered: delivered,
            bytes_skipped: progress.given_up(),
            completed_s: progress.completed.map(Instant::as_secs_f64),
            connection_lost: progress.failed,
            latency_s_mean: mean_s(progress.latency, progress.packets_arrived),
            delivery_s_mean: transfer.deliveries.mean_s(),
            delivery_full_s_mean: transfer.deliveries.full_mean_s(),
            rtt_s_mean: counts.rtt_mean.map(Span::as_secs_f64),
            segments_sent: counts.sent,
            segments_retransmitted: counts.retransmitted,
            timeouts: counts.timeouts,
            acks_lost: progress.acks_lost,
            ack_losses_seen: counts.ack_losses.0,
            ack_loss_halvings: counts.ack_losses.1,
            responses: transfer.dialogue.as_ref().and_then(|dialogue| Responses::of(&dialogue.durations)),
            blocks: transfer
                .blocks
                .as_ref()
                .and_then(|blocks| Responses::of(&blocks.durations))
                .map(BlockTimes::from),
            ..FlowResult::empty(id, flow.station, flow.down, Transport::Udp.name())
        }
        .with_overheads(
            sent,
            payload,
            time_over_needed(known, payload, rate, transfer.source.lasted()),
        )
    }

    fn datagrams_result(
        &self,
        id: u32,
        flow: &Flow,
        datagrams: &Datagrams,
        scenario: &Scenario,
    ) -> FlowResult {
        let started = datagrams.started.unwrap_or(self.now);
        let elapsed = datagrams.settled.unwrap_or(self.now).saturating_since(started);
        let payload = Size::from_bytes(datagrams.delivered);
        let rate = slowest_link(scenario, &self.spec, flow);
        FlowResult {
            bytes_delivered: datagrams.delivered,
            goodput_bps: rate_of(datagrams.delivered, elapsed.as_secs_f64()),
            completed_s: datagrams.settled.map(Instant::as_secs_f64),
            latency_s_mean: mean_s(datagrams.latency, datagrams.arrived),
            segments_sent: datagrams.sent,
            ..FlowResult::empty(id, flow.station, flow.down, Transport::Udp.name())
        }
        .with_overheads(
            Size::from_bytes(datagrams.bytes_sent),
            payload,
            time_over_needed(elapsed, payload, rate, datagrams.source.lasted()),
        )
    }

    fn station_result(&self, id: StationId, end: Instant, flows: &[FlowResult]) -> StationResult {
        let ledger = self.ledger(id, end);
        ledger.check(end);
        let radio = self.radio(id);
        let counts = match &self.hop {
            Hop::Cell(cell) => cell.power_save(id).counts().clone(),
            Hop::Link(_) => StationCounts::default(),
        };
        let wakeups = wakeups_of(&counts, &ledger);
        let energy_j = ledger.energy(radio).as_joules();
        let bits: u64 =
            flows.iter().filter(|flow| flow.station == Some(id)).map(|flow| flow.bytes_delivered * 8).sum();
        let seconds = |state| ledger.duration(state).as_secs_f64();
        let transition = ledger.duration(State::ToSleep) + ledger.duration(State::WakeUp);
        StationResult {
            id,
            policy: self.spec.stations[id as usize].policy.name(),
            radio: radio.name.clone(),
            energy_j,
            idealized_energy_j: ledger.idealized_energy(radio).as_joules(),
            energy_per_bit_j: (bits > 0).then(|| energy_j / bits as f64),
            average_power_w: if end == Instant::ZERO { 0.0 } else { energy_j / end.as_secs_f64() },
            state_s: StateSeconds {
                transmit: seconds(State::Transmit),
                receive: seconds(State::Receive),
                listen: seconds(State::Listen),
                sleep: seconds(State::Sleep),
                transition: transition.as_secs_f64(),
            },
            wakeups: wakeups.values().sum(),
            wakeups_by_reason: wakeups,
            triggers: counts.triggers,
            ps_polls: counts.polls,
            service_periods: counts.periods,
            beacons_missed: counts.beacons_missed,
        }
    }

    fn cell_result(&self, end: Instant) -> CellResult {
        let share =
            |busy: Span| if end == Instant::ZERO { 0.0 } else { busy.as_secs_f64() / end.as_secs_f64() };
        let wire =
            |link: fn(&Wire) -> &Pipe| self.wires.iter().map(|wire| link(wire).statistics().dropped).sum();
        let (down_queue_drops, up_queue_drops) = (wire(|wire| &wire.down), wire(|wire| &wire.up));
        match &self.hop {
            Hop::Cell(cell) => {
                let statistics = cell.statistics();
                CellResult {
                    airtime_utilization: share(cell.airborne(end)),
                    frames: statistics.frames,
                    retries: statistics.retries,
                    collisions: statistics.collisions,
                    ap_drops: statistics.ap_drops,
                    retry_limit_drops: statistics.given_up,
                    damaged: 0,
                    down_queue_drops,
                    up_queue_drops,
                }
            }
            Hop::Link(link) => {
                let (down, up) = (link.down().statistics(), link.up().statistics());
                CellResult {
                    airtime_utilization: share(link.busy(end)),
                    frames: down.offered + up.offered - down.dropped - up.dropped,
                    retries: 0,
                    collisions: 0,
                    ap_drops: down.dropped,
                    retry_limit_drops: 0,
                    damaged: down.damaged + up.damaged,
                    down_queue_drops,
                    up_queue_drops,
                }
            }
        }
    }
}

impl World {
    fn fairness(&self, flows: &[FlowResult], scenario: &Scenario) -> Fairness {
        let shares: Vec<f64> =
            flows.iter().map(|flow| flow.measured_bps.unwrap_or(flow.goodput_bps)).collect();
        let capacity_bps = scenario.fairness_capacity.map_or_else(
            || capacity_bps(scenario, &self.spec, &self.flows),
            |capacity| capacity.as_bps() as f64,
        );
        let bins: Vec<Vec<f64>> = if scenario.fairness_windows.is_empty() {
            Vec::new()
        } else {
            let bits = |bytes: u64| bytes as f64 * 8.0;
            self.flows.iter().map(|flow| flow.meter.bins(self.now).into_iter().map(bits).collect()).collect()
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

impl FlowResult {
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

/// The slowest link of a flow's data: wire, air or point-to-point link.
fn slowest_link(scenario: &Scenario, spec: &WorldSpec, flow: &Flow) -> Rate {
    let wired = flow.wire.and_then(|wire| {
        let (down, up) = &spec.wires[wire];
        if flow.down { down.rate } else { up.rate }
    });
    let hop = flow.station.is_some();
    let air = scenario.wifi.as_ref().filter(|_| hop).map(|wifi| wifi.data_rate);
    let link = scenario.link.as_ref().filter(|_| hop).map(|link| link.rate);
    [wired, air, link].into_iter().flatten().min().unwrap_or(Rate::ZERO)
}

/// Payload rate that the flows could have together: on the wires of their directions, and, unless some are neighbours', over
/// the air for a single sender without collisions and without bursts.
fn capacity_bps(scenario: &Scenario, spec: &WorldSpec, flows: &[Flow]) -> f64 {
    let payload_share = 1.0 - scenario.tcp.header.as_bytes() as f64 / scenario.tcp.mtu.as_bytes() as f64;
    let both = |used: &dyn Fn(&Flow) -> bool, down: Rate, up: Rate| {
        let used = [(true, down), (false, up)]
            .into_iter()
            .filter(|(wanted, _)| flows.iter().any(|flow| used(flow) && flow.down == *wanted));
        used.map(|(_, rate)| rate.as_bps() as f64 * payload_share).sum::<f64>()
    };
    let on_wires = (0..).zip(&spec.wires).map(|(wire, (down, up))| {
        let [down, up] = [down, up].map(|link| link.rate.unwrap_or(Rate::ZERO));
        both(&|flow| flow.wire == Some(wire), down, up)
    });
    let wired = flows.iter().all(|flow| flow.wire.is_some()).then(|| on_wires.sum::<f64>());
    let hop = flows.iter().all(|flow| flow.station.is_some());
    let link = scenario.link.as_ref().filter(|_| hop).map(|link| both(&|_| true, link.rate, link.rate));
    let air = scenario.wifi.as_ref().filter(|_| hop).map(|wifi| air_capacity_bps(scenario, wifi));
    [wired, air, link].into_iter().flatten().fold(f64::INFINITY, f64::min)
}

/// Jun et al. (2003) for this cell's frames of the largest size.
fn air_capacity_bps(scenario: &Scenario, wifi: &Wifi) -> f64 {
    let timing = wifi.standard.timing();
    let format = |rate| wifi.standard.format(rate).expect("a checked scenario has rates of its PHY");
    let control = wifi.control_rate.unwrap_or_else(|| wifi.standard.control_rate(wifi.data_rate));
    let data = format(wifi.data_rate);
    let slot_s = timing.slot.as_secs_f64();
    let header = scenario.tcp.header.as_bytes();
    let params = max_throughput::Params {
        payload_bytes: (scenario.tcp.mtu.as_bytes() - header) as f64,
        overhead_bytes: (header + wifi.mac_overhead.as_bytes()) as f64,
        data_rate_bps: wifi.data_rate.as_bps() as f64,
        preamble_s: data.preamble().as_secs_f64(),
        coding_bits: data.fixed_bits() as f64,
        symbol_s: data.symbol().as_secs_f64(),
        difs_s: timing.sifs.as_secs_f64() + f64::from(wifi.aifsn) * slot_s,
        sifs_s: timing.sifs.as_secs_f64(),
        slot_s,
        cw_min: wifi.cw_min.unwrap_or(timing.cw_min),
        ack_s: format(control).time(14).as_secs_f64(),
        rts_cts_s: None,
        propagation_s: 0.0,
    };
    max_throughput::solve(&params).map_or(0.0, |output| output.throughput_bps)
}
