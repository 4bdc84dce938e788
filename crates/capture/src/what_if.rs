//! What a station's radio would have spent on its packets under other policies.
//!
//! The packets go, at the times of the capture, through the simulator's cell with one station: the access point,
//! contention and power-save machines of every other run. Each policy is compared with the radio that never sleeps, packet
//! by packet: the difference is the delay that the policy adds. Left out: rate adaptation, noise, the traffic of other
//! stations, and what TCP would do about the added delay.

mod assumptions;
mod cell;
mod choice;
mod total;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use airwatt_base::{Instant, Rate, Span};
use airwatt_dot11::Standard;
use airwatt_energy::ProfileAccount;
use airwatt_sim::net::RunProgress;
use airwatt_sim::replay::idle::WINDOW;
use airwatt_sim::replay::{
    Arrival, Delay, Destination, RadioPeriod, ReplayCell, ReplayOptions, Replayed, replay,
};
use airwatt_sim::scenario::{Checked, ListenInterval};
use tracing::debug;

use self::assumptions::{BEACON_RATE, BEACONS, Bands, DATA_RATE};
use self::cell::{Assumed, ReplaySettings};
use self::choice::ACTIVE;
use self::total::Total;
use crate::captured_radio::BeaconsWanted;
use crate::clock;
use crate::error::AnalyzeError;
use crate::phy::{FAST_BEACONS, Phy};
use crate::replay::{SegmentArrivals, TAIL, Traffic};
use crate::report::{AssumptionReport, Basis, CellReport, DelayReport, PolicyReport};
use crate::timeline::PERIOD_BYTES;
pub(crate) use cell::CellChoice;
pub use choice::is_replayed_by_default;
pub(crate) use choice::{Choice, USUAL_POLICY, choices};

/// Memory that a packet of a replay takes, in bytes: the list, the replay's copy of it and its working set, and the delays
/// under two policies.
pub(crate) const ARRIVAL_BYTES: u64 =
    (3 * size_of::<Arrival>() + size_of::<Delay>() + 3 * size_of::<Option<Span>>() + size_of::<u32>() + 8)
        as u64;

/// Memory that an event of a traced replay takes until its replay ends, in bytes: frames on the air and changes of the radio's state.
const TRACED_EVENT_BYTES: u64 = 128;

/// Memory for periods of a radio's states, in bytes.
fn periods_bytes(periods: &[RadioPeriod]) -> u64 {
    periods.len() as u64 * PERIOD_BYTES
}

/// Idle time that a command simulates in full: gaps of at least [`GAP`] that add up to no more over all of its stations. It is ten times
/// the window in which idle time is measured otherwise.
const SIMULATED_IDLE_TIME: Span = Span::from_secs(600);

/// Gaps that are simulated in part if a capture has more idle time.
const GAP: Span = Span::from_millis(200);

/// Events that the set-up of a replay counts as: it costs about as much.
const SETUP_EVENTS: u64 = 100;

/// The gaps of at least [`GAP`] between the arrivals of the segments, and at their ends, together.
fn idle_time(segments: &[SegmentArrivals]) -> Span {
    let mut idle = Span::ZERO;
    for segment in segments {
        let mut before = Instant::ZERO;
        let times = segment.arrivals.iter().map(|arrival| arrival.at);
        for at in times.chain([Instant::ZERO + segment.duration]) {
            let gap = at.saturating_since(std::mem::replace(&mut before, at));
            idle = idle.saturating_add(if gap < GAP { Span::ZERO } else { gap });
        }
    }
    idle
}

/// The share of the limit of events that bands may use; the rest is for the costs of keep-alives.
const BAND_SHARE: (u64, u64) = (4, 5);

/// The replays of one station's packets.
pub(crate) struct WhatIf<'a> {
    traffic: &'a Traffic<'a>,
    segments: Vec<SegmentArrivals>,
    /// Gaps longer than this are simulated in part, in segments with more of them than the window that is measured; none if `None`.
    skip_gaps: Option<Span>,
    cell: ReplaySettings<'a>,
    seed: u64,
    watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
    /// Replays so far, and an estimate of all.
    done: usize,
    runs: usize,
    /// Events so far, the limit, and the part of it that bands and costs of keep-alives may use.
    pub(crate) events: u64,
    events_limit: u64,
    events_share: u64,
    /// The states of the radio under each policy, if they are kept.
    radio_states: Option<Vec<(String, Vec<RadioPeriod>)>>,
    /// Memory that is left for them, in bytes.
    trace_bytes: u64,
    /// Whether the replay was ended because its trace exceeds that memory.
    is_trace_full: bool,
    /// Policies whose states are not kept for that reason.
    untraced: Vec<String>,
}

impl<'a> WhatIf<'a> {
    /// Replays of `traffic` with the radio of that name, within a limit of events for this station and `others` after it. Idle time
    /// beyond a share of [`SIMULATED_IDLE_TIME`] is simulated in part ([`airwatt_sim::replay::idle`]).
    pub(crate) fn new(
        traffic: &'a Traffic<'a>,
        phy: Phy,
        cell: CellChoice<'a>,
        seed: u64,
        (events_limit, others): (u64, u64),
        watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<Self, AnalyzeError> {
        let segments = traffic.arrivals(&BTreeSet::new());
        let skip_gaps = Some(GAP).filter(|_| idle_time(&segments) > SIMULATED_IDLE_TIME / (others + 1));
        let (done, runs, events) = (0, 1, 0);
        let cell = ReplaySettings::new(phy, cell)?;
        let radio_states = None;
        Ok(Self {
            traffic,
            segments,
            skip_gaps,
            cell,
            seed,
            watch,
            done,
            runs,
            events,
            events_limit,
            events_share: events_limit / (others + 1),
            radio_states,
            trace_bytes: 0,
            is_trace_full: false,
            untraced: Vec::new(),
        })
    }

    /// Keeps the states of the radio under the policies of [`WhatIf::run`], as far as they take no more than this memory.
    pub(crate) fn trace(&mut self, memory_bytes: u64) {
        self.radio_states = Some(Vec::new());
        self.trace_bytes = memory_bytes;
    }

    /// The policies whose states would have taken more memory than was left.
    pub(crate) fn untraced(&self) -> &[String] {
        &self.untraced
    }

    /// Simulates idle time in full, so that every beacon has its place.
    pub(crate) const fn simulate_idle_time(&mut self) {
        self.skip_gaps = None;
    }

    /// Takes the states of the radio by policy, as times of the capture.
    pub(crate) fn take_radio_states(&mut self) -> Vec<(String, Vec<RadioPeriod>)> {
        self.radio_states.take().unwrap_or_default()
    }

    /// The packets that are replayed.
    pub(crate) fn segments(&self) -> &[SegmentArrivals] {
        &self.segments
    }

    /// Leaves what is left of the limit of events beyond this station's share to other stations.
    pub(crate) fn keep_to_share(&mut self) {
        self.events_limit = self.events_limit.min(self.events_share.max(self.events));
    }

    /// The PHY of the replays: the one that the caller sets, or that of the capture.
    pub(crate) const fn standard(&self) -> Standard {
        self.cell.standard
    }

    /// The cell of the replays.
    pub(crate) fn cell(&self) -> Result<CellReport, AnalyzeError> {
        let active = Choice::active();
        let scenario = self.scenario(&active, self.cell.assumed())?;
        let wifi = scenario.wifi.as_ref().expect("the cell of a replay is one of Wi-Fi");
        let rate_bps = |rate: Rate| rate.as_bps() as f64;
        let beacon_rate = wifi.beacon_rate.unwrap_or_else(|| wifi.standard.default_beacon_rate());
        Ok(CellReport {
            beacon_interval_s: scenario.ap.beacon_interval.as_secs_f64(),
            beacon_rate_bps: rate_bps(beacon_rate),
            beacon_bytes: self.cell.beacon_bytes(&scenario),
            data_rate_bps: rate_bps(ReplayCell::new(&scenario).map_err(AnalyzeError::Option)?.data().rate()),
            listen_interval: scenario.station[0].listening().beacons(scenario.ap.dtim_period),
            dtim_period: scenario.ap.dtim_period,
        })
    }

    /// For which beacons the station is taken to wake up: those of a listen interval that the caller sets.
    pub(crate) fn beacons_wanted(&self) -> Result<BeaconsWanted, AnalyzeError> {
        if !self.cell.is_set("station.listen_interval") {
            return Ok(BeaconsWanted::Dtims);
        }
        let scenario = self.scenario(&Choice::active(), self.cell.assumed())?;
        let station = &scenario.station[0];
        Ok(match station.listening() {
            ListenInterval::Dtim => BeaconsWanted::Dtims,
            ListenInterval::Beacons(beacons) => BeaconsWanted::Each { beacons, dtims: station.receive_dtims },
        })
    }

    /// Replays the packets without those of these numbers from now on.
    pub(crate) fn leave_out(&mut self, packets: &BTreeSet<u32>) {
        self.segments = self.traffic.arrivals(packets);
    }

    /// The report of each policy. What is reported is replayed under all policies first, then what the bands need, as far as the
    /// limit of events permits.
    pub(crate) fn run(&mut self, choices: &[Choice]) -> Result<Vec<PolicyReport>, AnalyzeError> {
        // Some more for the keep-alives, whose number follows from the capture.
        self.runs = (4 + choices.len() * (self.cell.phy.rates().len() + 1)) * self.segments.len().max(1);
        let active = Choice::active();
        let awake = self.total(&active)?;
        let mut totals = Vec::new();
        for choice in choices {
            let is_awake = choice.is_active() && self.radio_states.is_none();
            let mut total = if is_awake { awake.clone() } else { self.replay_kept(choice)? };
            if let Some(kept) = self.radio_states.as_mut().filter(|_| !total.radio_states.is_empty()) {
                kept.push((choice.name.clone(), std::mem::take(&mut total.radio_states)));
            }
            let added = total.added_delay(&awake);
            // The delays of all policies together would take more memory than the packets.
            total.delays = Vec::new();
            totals.push((total, added));
        }
        let mut reports = Vec::new();
        for (choice, (total, added)) in choices.iter().zip(&totals) {
            let bands = self.bands(choice, total)?;
            let assumptions = bands.assumptions(&self.cell.phy, self.cell.standard, total);
            reports.push(self.report(&choice.name, total, *added, assumptions, bands.left_out));
        }
        Ok(reports)
    }

    /// The replays under one policy with other assumptions. One that would exceed the limit of events is left out: it takes about
    /// as many as that of `total`.
    fn bands(&mut self, choice: &Choice, total: &Total) -> Result<Bands, AnalyzeError> {
        let mut bands = Bands::default();
        let rates = self.cell.phy.rates();
        let fits = |what_if: &Self, replays: u64| {
            let events = total.events.saturating_mul(replays);
            what_if.events.saturating_add(events) <= what_if.events_share / BAND_SHARE.1 * BAND_SHARE.0
        };
        if let [_, fast, slow] = rates[..] {
            if fits(self, 2) {
                for rate in [fast, slow] {
                    let assumed = Assumed { rate, ..self.cell.assumed() };
                    bands.data_rate_j.push(self.replay_all(choice, assumed, false)?.energy_j());
                }
            } else {
                bands.left_out.push(DATA_RATE);
            }
        }
        if self.cell.assumes_beacon_rate() {
            if fits(self, 1) {
                let assumed = Assumed { beacon_rate: FAST_BEACONS, ..self.cell.assumed() };
                bands.fast_beacons_j = Some(self.replay_all(choice, assumed, false)?.energy_j());
            } else {
                bands.left_out.push(BEACON_RATE);
            }
        }
        if let Some(period) = self.cell.assumes_each_beacon().filter(|_| choice.policy != ACTIVE) {
            if fits(self, 1) {
                let assumed = Assumed { dtims_alone: true, ..self.cell.assumed() };
                bands.dtims_j = Some((period, self.replay_all(choice, assumed, false)?.energy_j()));
            } else {
                bands.left_out.push(BEACONS);
            }
        }
        Ok(bands)
    }

    /// Replays the packets, and keeps the states of the radio if they are asked for and there is memory left.
    fn replay_kept(&mut self, choice: &Choice) -> Result<Total, AnalyzeError> {
        if self.radio_states.is_some() {
            match self.replay_traced(choice, true) {
                Err(_) if std::mem::take(&mut self.is_trace_full) => self.untraced.push(choice.name.clone()),
                Ok(total) => {
                    self.trace_bytes = self.trace_bytes.saturating_sub(periods_bytes(&total.radio_states));
                    return Ok(total);
                }
                failed => return failed,
            }
        }
        self.replay_traced(choice, false)
    }

    fn replay_traced(&mut self, choice: &Choice, trace: bool) -> Result<Total, AnalyzeError> {
        self.replay_all(choice, self.cell.assumed(), trace)
    }

    /// The sum under one policy at the rate to report.
    pub(crate) fn total(&mut self, choice: &Choice) -> Result<Total, AnalyzeError> {
        self.replay_traced(choice, false)
    }

    /// Whether group-addressed packets are replayed.
    fn has_groups(&self) -> bool {
        let mut arrivals = self.segments.iter().flat_map(|segment| &segment.arrivals);
        arrivals.any(|arrival| arrival.to == Destination::Group)
    }

    /// The cell of a replay.
    fn scenario(&self, choice: &Choice, assumed: Assumed) -> Result<Checked, AnalyzeError> {
        self.cell.scenario(&self.traffic.capture.file, self.has_groups(), choice, assumed)
    }

    fn replay_all(&mut self, choice: &Choice, assumed: Assumed, trace: bool) -> Result<Total, AnalyzeError> {
        let scenario = self.scenario(choice, assumed)?;
        let cell = ReplayCell::new(&scenario).map_err(AnalyzeError::Option)?;
        let (rate, beacon_bytes) = (assumed.rate, self.cell.beacon_bytes(&scenario));
        let mut total = Total::default();
        for index in 0..self.segments.len() {
            let replayed = self.replay_segment(&cell, beacon_bytes, index, choice, rate, trace)?;
            let events = replayed.events.saturating_add(SETUP_EVENTS);
            self.events = self.events.saturating_add(events);
            total.events = total.events.saturating_add(events);
            self.check_events(0, choice, rate)?;
            let from = self.traffic.capture.segments.get(index).map_or(Instant::ZERO, |segment| segment.from);
            total.add(&self.segments[index], from, &replayed);
            if trace && periods_bytes(&total.radio_states) > self.trace_bytes {
                self.is_trace_full = true;
                return Err(AnalyzeError::Interrupted);
            }
            debug!(policy = choice.name, %rate, segment = index, events = replayed.events, "segment replayed");
            self.done += 1;
            if (self.watch)((self.done as f64 / self.runs as f64).min(1.0)).is_break() {
                return Err(AnalyzeError::Interrupted);
            }
        }
        Ok(total)
    }

    fn replay_segment(
        &mut self,
        cell: &ReplayCell<'_>,
        beacon_bytes: u32,
        index: usize,
        choice: &Choice,
        rate: Rate,
        trace: bool,
    ) -> Result<Replayed, AnalyzeError> {
        let segment = &self.segments[index];
        let (done, runs) = (self.done as f64, self.runs as f64);
        let (duration, arrivals) = (segment.duration.saturating_add(TAIL), segment.arrivals.clone());
        // A segment with less of it would cost more than it saves: the window is simulated in each.
        let skip_gaps = self.skip_gaps.filter(|_| idle_time(std::slice::from_ref(segment)) > WINDOW);
        let options = ReplayOptions { skip_gaps, trace, beacon_bytes: Some(beacon_bytes) };
        let events_left = self.events_limit.saturating_sub(self.events);
        let events_traced = if trace { self.trace_bytes / TRACED_EVENT_BYTES } else { u64::MAX };
        let mut events = 0;
        let mut watch = |progress: RunProgress| {
            events = progress.events;
            if events > events_left || events > events_traced {
                return ControlFlow::Break(());
            }
            (self.watch)(((done + progress.share.clamp(0.0, 1.0)) / runs).min(1.0))
        };
        if let Some(replayed) = replay(cell, self.seed, arrivals, duration, options, &mut watch) {
            return Ok(replayed);
        }
        self.check_events(events, choice, rate)?;
        self.is_trace_full = events > events_traced;
        self.events = self.events.saturating_add(events);
        Err(AnalyzeError::Interrupted)
    }

    /// Whether the limit of events still holds with `more` events.
    fn check_events(&self, more: u64, choice: &Choice, rate: Rate) -> Result<(), AnalyzeError> {
        if self.events.saturating_add(more) <= self.events_limit {
            return Ok(());
        }
        let packets: usize = self.segments.iter().map(|segment| segment.arrivals.len()).sum();
        Err(AnalyzeError::Limit(format!(
            "{}: the replays exceed the limit of {} events, under policy {} at {rate}: the station has {packets} packets in \
             {:.0} s of {} segments; hint: set a higher limit, as with --limit events={}, or name fewer policies",
            self.traffic.capture.file,
            self.events_limit,
            choice.name,
            clock::covered(self.traffic.capture).as_secs_f64(),
            self.segments.len(),
            self.events_limit.saturating_mul(10),
        )))
    }

    fn report(
        &self,
        policy: &str,
        total: &Total,
        added_delay_s: Option<DelayReport>,
        assumptions: Vec<AssumptionReport>,
        left_out: Vec<&'static str>,
    ) -> PolicyReport {
        let energy_j = total.energy_j();
        // Assumptions are independent of each other: at worst all of them err to the same side, each by its factor.
        let factors = |end: fn(&AssumptionReport) -> f64| -> f64 {
            assumptions
                .iter()
                .map(|assumption| if energy_j > 0.0 { end(assumption) / energy_j } else { 1.0 })
                .product()
        };
        let low_j = energy_j * factors(|assumption| assumption.energy_low_j);
        let high_j = energy_j * factors(|assumption| assumption.energy_high_j);
        let has_band = self.cell.phy.basis == Basis::Inferred || !assumptions.is_empty();
        // A band without one of its assumptions would claim too much.
        let band = has_band && left_out.is_empty();
        let elapsed_s = total.elapsed.as_secs_f64();
        let peers = self.traffic.peers();
        let share = |part: f64| if elapsed_s > 0.0 { part / elapsed_s } else { 0.0 };
        PolicyReport {
            policy: policy.to_owned(),
            basis: self.cell.phy.basis,
            energy_j: total.energy_j(),
            energy_low_j: band.then_some(low_j),
            energy_high_j: band.then_some(high_j),
            assumptions,
            left_out,
            energy_by_cause_j: total.energy_by_cause(),
            energy_by_peer_j: total.energy_by_peer(&peers),
            timeout_tail_by_flow_j: total.timeout_tail_by_flow(),
            timeout_tail_by_peer_j: total.timeout_tail_by_peer(&peers),
            idealized_energy_j: total.idealized.as_joules(),
            average_power_w: share(total.energy_j()),
            sleep_share: share(total.asleep.as_secs_f64()),
            state_s: total.states,
            profile: ProfileAccount::if_any(self.cell.choice.radio.profile(), &total.states, energy_j),
            added_delay_s,
            wakeups: total.wakeups.clone(),
            packets: total.packets,
            lost: total.lost,
        }
    }
}
