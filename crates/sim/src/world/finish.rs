//! From the machines at the end of a run to its result document.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Rate, Size};
use airwatt_energy::{State, fairness, overhead};
use airwatt_models::max_throughput;
use airwatt_proto::powersave::StationId;

use super::{Flow, FlowState, World};
use crate::air::StationConfig;
use crate::apps::TcpFlow;
use crate::engine::Fingerprints;
use crate::record::{
    CellResult, EnergyOverhead, Fairness, FlowResult, RunResult, RunTrace, Setting, StateSeconds,
    StationResult, StationSetting,
};
use crate::replay::Replayed;
use crate::run::Run;
use crate::scenario::{Direction, Scenario, Transport};

impl World {
    /// Closes the accounts and writes the result document.
    pub(crate) fn finish(mut self, scenario: &Scenario, seed: u64) -> Run {
        let end = self.cell.finish(self.now);
        let flows: Vec<FlowResult> =
            (0..self.flows.len()).map(|index| self.flow_result(index, scenario)).collect();
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
            fairness: fairness_of(&flows, scenario),
            stations,
            cell: self.cell_result(end),
            flows,
        };
        let trace = self.windows.is_some().then(|| self.take_trace(end, scenario, seed));
        let (frames, radios) = self.cell.fingerprints();
        let mut fingerprints = Fingerprints { events: self.print, frames, radios, ..Fingerprints::default() };
        fingerprints
            .results
            .add_text(&serde_json::to_string(&result).expect("a document of numbers and names"));
        Run { result, trace, fingerprints }
    }

    /// Closes the accounts of a replay: its one flow and its one station.
    pub(crate) fn into_replayed(mut self) -> Replayed {
        let end = self.cell.finish(self.now);
        let ledger = self.cell.ledger(0).clone();
        ledger.check(end);
        let (delays, lost) = match self.flows.pop().map(|flow| flow.application) {
            Some(FlowState::Replay(replay)) => (replay.delays, replay.lost),
            _ => (Vec::new(), 0),
        };
        Replayed {
            ledger,
            radio: self.cell.radio(0).clone(),
            wakeups: self.cell.power_save(0).counts().wakeups().collect(),
            delays,
            lost,
            events: self.events,
        }
    }

    fn take_trace(&mut self, end: Instant, scenario: &Scenario, seed: u64) -> RunTrace {
        let cell = self.cell.take_trace().unwrap_or_default();
        RunTrace {
            end,
            setting: self.setting(scenario, seed),
            frames: cell.frames,
            radios: cell.radios,
            windows: self.windows.take().unwrap_or_default(),
            down_queue: self.down.take_trace(end),
            up_queue: self.up.take_trace(end),
            ap_queue: cell.ap_queue,
            ap_power_save: cell.ap_power_save,
        }
    }

    fn setting(&self, scenario: &Scenario, seed: u64) -> Setting {
        let of = |station: &StationConfig| StationSetting {
            to_sleep: station.radio.to_sleep.time,
            uapsd: station.policy.needs_uapsd(),
            powers: State::ALL.map(|state| station.radio.power(state)),
        };
        Setting {
            scenario: scenario.name.clone(),
            seed,
            standard: scenario.wifi.standard,
            beacon_interval: scenario.ap.beacon_interval,
            dtim_period: scenario.ap.dtim_period,
            uapsd: scenario.ap.uapsd,
            mtu_bytes: self.spec.tcp.mss + self.spec.tcp.header_bytes,
            header_bytes: self.spec.tcp.header_bytes,
            receive_window_bytes: self.spec.tcp.receive_window,
            stations: self.spec.stations.iter().map(of).collect(),
        }
    }

    fn flow_result(&self, index: usize, scenario: &Scenario) -> FlowResult {
        let flow = &self.flows[index];
        let id = index as u32;
        match &flow.application {
            FlowState::Tcp(tcp) => self.transfer_result(id, flow, tcp, scenario),
            FlowState::Saturated(saturation) => {
                let elapsed = self.now.saturating_since(Instant::ZERO + self.spec.flows[index].start);
                datagram_result(id, flow, saturation.delivered, elapsed.as_secs_f64(), None)
            }
            FlowState::Replay(replay) => {
                let count = replay.delays.len() as f64;
                let sum: f64 = replay.delays.iter().map(|delay| delay.delay.as_secs_f64()).sum();
                datagram_result(id, flow, 0, 0.0, (count > 0.0).then(|| sum / count))
            }
        }
    }

    fn transfer_result(&self, id: u32, flow: &Flow, tcp: &TcpFlow, scenario: &Scenario) -> FlowResult {
        let progress = &tcp.progress;
        let statistics = tcp.sender().statistics();
        let started = progress.started.unwrap_or(self.now);
        let elapsed = progress.completed.unwrap_or(self.now).saturating_since(started).as_secs_f64();
        let delivered = progress.delivered;
        let payload = Size::from_bytes(delivered);
        let rate = slowest_link(scenario, flow.down);
        let known = progress.acknowledged.unwrap_or(self.now).saturating_since(started);
        let data = overhead::data_overhead(Size::from_bytes(progress.bytes_sent), payload).ok();
        let time = overhead::time_overhead(known, payload, rate).ok();
        FlowResult {
            id,
            station: flow.station,
            direction: direction(flow.down),
            transport: tcp.sender().config().congestion.name(),
            bytes_delivered: delivered,
            goodput_bps: rate_of(delivered, elapsed),
            completed_s: progress.completed.map(Instant::as_secs_f64),
            connection_lost: progress.failed,
            latency_s_mean: (progress.packets_arrived > 0)
                .then(|| progress.latency.as_secs_f64() / progress.packets_arrived as f64),
            rtt_s_mean: statistics.rtt_mean().map(|mean| mean.as_secs_f64()),
            segments_sent: statistics.segments_sent,
            segments_retransmitted: statistics.segments_retransmitted,
            timeouts: statistics.timeouts,
            acks_lost: progress.acks_lost,
            data_overhead: data,
            time_overhead: time,
            energy_overhead: data.zip(time).map(|(data, time)| EnergyOverhead {
                always_active: overhead::energy_overhead(data, time, overhead::ALWAYS_ACTIVE),
                intermediate: overhead::energy_overhead(data, time, overhead::INTERMEDIATE),
                ideal: overhead::energy_overhead(data, time, overhead::IDEAL),
            }),
        }
    }

    fn station_result(&self, id: StationId, end: Instant, flows: &[FlowResult]) -> StationResult {
        let ledger = self.cell.ledger(id);
        ledger.check(end);
        let radio = self.cell.radio(id);
        let counts = self.cell.power_save(id).counts();
        let energy_j = ledger.energy(radio).as_joules();
        let bits: u64 =
            flows.iter().filter(|flow| flow.station == id).map(|flow| flow.bytes_delivered * 8).sum();
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
            wakeups: counts.wakeups_total(),
            wakeups_by_reason: counts.wakeups().collect::<BTreeMap<_, _>>(),
            triggers: counts.triggers,
            ps_polls: counts.polls,
            service_periods: counts.periods,
            beacons_missed: counts.beacons_missed,
        }
    }

    fn cell_result(&self, end: Instant) -> CellResult {
        let statistics = self.cell.statistics();
        let elapsed = end.as_secs_f64();
        let airborne = self.cell.airborne(end).as_secs_f64();
        CellResult {
            airtime_utilization: if elapsed > 0.0 { airborne / elapsed } else { 0.0 },
            frames: statistics.frames,
            retries: statistics.retries,
            collisions: statistics.collisions,
            ap_drops: statistics.ap_drops,
            retry_limit_drops: statistics.given_up,
            down_queue_drops: self.down.statistics().dropped,
            up_queue_drops: self.up.statistics().dropped,
        }
    }
}

const fn direction(down: bool) -> &'static str {
    if down { "down" } else { "up" }
}

fn rate_of(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

fn datagram_result(
    id: u32,
    flow: &Flow,
    bytes: u64,
    seconds: f64,
    latency_s_mean: Option<f64>,
) -> FlowResult {
    FlowResult {
        id,
        station: flow.station,
        direction: direction(flow.down),
        transport: Transport::Udp.name(),
        bytes_delivered: bytes,
        goodput_bps: rate_of(bytes, seconds),
        completed_s: None,
        connection_lost: false,
        latency_s_mean,
        rtt_s_mean: None,
        segments_sent: 0,
        segments_retransmitted: 0,
        timeouts: 0,
        acks_lost: 0,
        data_overhead: None,
        time_overhead: None,
        energy_overhead: None,
    }
}

/// The slowest link of a flow's data: wire or air.
fn slowest_link(scenario: &Scenario, down: bool) -> Rate {
    let wired = if down { scenario.wired.down.rate } else { scenario.wired.up.rate };
    wired.min(scenario.wifi.data_rate)
}

/// Payload rate that the flows could have together: on the wire of their directions, and over the air for a single
/// sender without collisions and without bursts.
fn capacity_bps(scenario: &Scenario) -> f64 {
    let payload_share = 1.0 - scenario.tcp.header.as_bytes() as f64 / scenario.tcp.mtu.as_bytes() as f64;
    let any = |wanted| scenario.flow.iter().any(|group| group.direction == wanted);
    let wire = |used: bool, rate: Rate| if used { rate.as_bps() as f64 * payload_share } else { 0.0 };
    let wired = wire(any(Direction::Down), scenario.wired.down.rate)
        + wire(any(Direction::Up), scenario.wired.up.rate);
    wired.min(air_capacity_bps(scenario))
}

/// Jun et al. (2003) for this cell's frames of the largest size.
fn air_capacity_bps(scenario: &Scenario) -> f64 {
    let wifi = &scenario.wifi;
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

fn fairness_of(flows: &[FlowResult], scenario: &Scenario) -> Fairness {
    let shares: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
    let capacity_bps = capacity_bps(scenario);
    Fairness {
        capacity_bps,
        jain: fairness::jain(&shares).unwrap_or(0.0),
        fair_utilization: fairness::fair_utilization(&shares, capacity_bps).unwrap_or(0.0),
        fair_utilization_alpha1: fairness::fair_utilization_alpha(&shares, capacity_bps, 1.0).unwrap_or(0.0),
    }
}
