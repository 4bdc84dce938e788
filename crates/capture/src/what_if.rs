//! What a station's radio would have spent on its packets under other policies.
//!
//! The packets go, at the times of the capture, through the simulator's cell with one station: the access point,
//! contention and power-save machines of every other run. Each policy is compared with the radio that never sleeps, packet
//! by packet: the difference is the delay that the policy adds. Left out: rate adaptation, noise, the traffic of other
//! stations, and what TCP would do about the added delay.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use airwatt_base::settings::{NoSettings, SettingError};
use airwatt_base::{Energy, Instant, Rate, Span};
use airwatt_dot11::{AccessParameters, Standard};
use airwatt_energy::{Cause, LISTEN_SHARE, ProfileAccount, Radio, RadioState, StateSeconds};
use airwatt_proto::powersave::PowerSaveConfig;
use airwatt_sim::net::RunProgress;
use airwatt_sim::record::EnergyByCause;
use airwatt_sim::replay::idle::WINDOW;
use airwatt_sim::replay::{
    Arrival, Delay, Destination, RadioPeriod, ReplayCell, ReplayOptions, Replayed, replay,
};
use airwatt_sim::scenario::{
    Aggregation, Checked, IDEAL, ListenInterval, RadioChoice, Scenario, Wifi, list_ideal, policy_kinds,
    without_numbers,
};
use tracing::debug;

use crate::clock;
use crate::error::AnalyzeError;
use crate::phy::{ASSUMED_FAST, ASSUMED_SLOW, FAST_BEACONS, Phy, beacon_rate_of, he_mode_below};
use crate::replay::{SegmentArrivals, TAIL, Traffic};
use crate::report::{AssumptionReport, Basis, CellReport, DelayReport, LIST_LIMIT, PolicyReport};
use crate::timeline::PERIOD_BYTES;

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

/// The arbitration of a cell whose beacons announce none: best effort's (802.11-2020 table 9-155), with the PHY's windows and one access.
const AIFSN: u32 = 3;

/// Keys that have an effect on a replay of group-addressed packets, or with a chip that wakes up for DTIM beacons, which no key of its
/// scenario tells of. They describe the cell, whatever was captured in it.
const KEYS_OF_GROUPS: [&str; 2] = ["ap.dtim_period", "wifi.group_rate"];

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

/// A policy, or the lower bound of one, and the text that named it.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    name: String,
    policy: PowerSaveConfig,
    lower_bound: bool,
}

/// The policy of chips: what is reported first if none is seen on the air.
pub(crate) const USUAL_POLICY: &str = "timeout";

const ACTIVE: PowerSaveConfig = PowerSaveConfig::Active(NoSettings {});

impl Choice {
    /// Reads `psm`, `uapsd:interval=40ms` or `ideal`.
    pub(crate) fn parse(text: &str) -> Result<Self, SettingError> {
        let lower_bound = text == IDEAL.name;
        let policy = if lower_bound { ACTIVE } else { text.parse().map_err(list_ideal)? };
        Ok(Self { name: text.to_owned(), policy, lower_bound })
    }
}

/// Whether a policy or the lower bound is replayed if no policy is named. Not replayed are those that need a target wake time agreement:
/// no capture says which agreement its access point would have made.
pub fn is_replayed_by_default(name: &str) -> bool {
    Choice::parse(name).is_ok_and(|choice| choice.policy.wake_request().is_none())
}

/// Reads the names of policies. If there are none, they are those that are replayed by default.
pub(crate) fn choices(names: &[String]) -> Result<Vec<Choice>, SettingError> {
    if names.is_empty() {
        let usual = policy_kinds().map(|kind| kind.name).filter(|name| is_replayed_by_default(name));
        return usual.map(Choice::parse).collect();
    }
    names.iter().map(|name| Choice::parse(name)).collect()
}

/// The sum of the replays of all segments under one policy at one rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    energy: Energy,
    causes: BTreeMap<Cause, Energy>,
    tails: BTreeMap<u32, Energy>,
    idealized: Energy,
    elapsed: Span,
    asleep: Span,
    states: StateSeconds,
    wakeups: BTreeMap<String, u64>,
    /// Delay of each packet of all segments, in order; `None` if it was lost or not received in time.
    delays: Vec<Option<Span>>,
    packets: u64,
    lost: u64,
    /// Events that were simulated.
    events: u64,
    /// The states of the radio, as times of the capture, if they were traced.
    radio_states: Vec<RadioPeriod>,
    radio: Option<Radio>,
}

/// The energies of replays with other assumptions.
#[derive(Clone, Debug, Default)]
struct Bands {
    /// At the fast and at the slow end of the data rates; empty if the rate is known.
    data_rate_j: Vec<f64>,
    /// With fast beacons, if their rate is assumed.
    fast_beacons_j: Option<f64>,
    /// With the DTIM beacons alone and their period, if it is assumed that the station wakes up for each beacon.
    dtims_j: Option<(u8, f64)>,
    /// The assumptions whose replays the limit of events excludes.
    left_out: Vec<&'static str>,
}

const DATA_RATE: &str = "data rate";
const BEACON_RATE: &str = "beacon rate";
const BEACONS: &str = "beacons received";
const RADIO_PROFILE: &str = "radio profile";

/// The share of the limit of events that bands may use; the rest is for the costs of keep-alives.
const BAND_SHARE: (u64, u64) = (4, 5);

/// What a replay takes for the air and for the station where the capture leaves it open.
#[derive(Clone, Copy, Debug)]
struct Assumed {
    rate: Rate,
    beacon_rate: Rate,
    /// Whether the station wakes up for DTIM beacons alone, whatever its chip does.
    dtims_alone: bool,
}

/// The settings of the station and of its cell that the caller gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellChoice<'a> {
    /// Radio profile.
    pub(crate) radio: &'a RadioChoice,
    /// Keys of a scenario with their values.
    pub(crate) settings: &'a [(String, String)],
}

/// An assumption that moves the total by less is not reported.
const LEAST_SHARE: f64 = 0.02;

/// The tables whose keys may be set: the rest of a replay is the capture's.
const SETTABLE: [&str; 3] = ["ap.", "wifi.", "station."];

/// The keys of a station that a replay takes from elsewhere, and how they are set there.
const OWN: [(&str, &str); 4] = [
    ("station.power_save", "--policy, as in --policy timeout:timeout=30ms"),
    ("station.lower_bound", "--policy ideal"),
    ("station.count", "--station all for each station of the capture"),
    ("station.hidden_from", "a replay has one station"),
];

/// Refuses keys without an effect: those outside of the tables of a replay, and those of which it has its own values.
fn check_keys(settings: &[(String, String)]) -> Result<(), AnalyzeError> {
    for (key, _) in settings {
        if !SETTABLE.iter().any(|table| key.starts_with(table)) {
            let line = format!("--set {key}: expected a key of ap, wifi or station, got {key:?}");
            return Err(AnalyzeError::Option(line));
        }
        let plain = without_numbers(key);
        let is_of =
            |own: &str| plain.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if let Some((_, hint)) = OWN.iter().find(|(own, _)| is_of(own)) {
            return Err(AnalyzeError::Option(format!("--set {key}: no effect on a capture; hint: {hint}")));
        }
    }
    Ok(())
}

/// The replays of one station's packets.
pub(crate) struct WhatIf<'a> {
    traffic: &'a Traffic<'a>,
    segments: Vec<SegmentArrivals>,
    /// Gaps longer than this are simulated in part, in segments with more of them than the window that is measured; none if `None`.
    skip_gaps: Option<Span>,
    phy: Phy,
    cell: CellChoice<'a>,
    /// The PHY that the caller sets, or that of the capture.
    pub(crate) standard: Standard,
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
        check_keys(cell.settings)?;
        let set = Scenario::idle_cell(phy.standard).with_unchecked(cell.settings);
        let standard = set.and_then(|set| set.wifi).map_or(phy.standard, |wifi| wifi.standard);
        let radio_states = None;
        Ok(Self {
            traffic,
            segments,
            skip_gaps,
            phy,
            cell,
            standard,
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

    /// The cell of the replays.
    pub(crate) fn cell(&self) -> Result<CellReport, AnalyzeError> {
        let active = Choice { name: "active".to_owned(), policy: ACTIVE, lower_bound: false };
        let scenario = self.scenario(&active, self.assumed())?;
        let wifi = scenario.wifi.as_ref().expect("the cell of a replay is one of Wi-Fi");
        let rate_bps = |rate: Rate| rate.as_bps() as f64;
        let beacon_rate = wifi.beacon_rate.unwrap_or_else(|| wifi.standard.default_beacon_rate());
        Ok(CellReport {
            beacon_interval_s: scenario.ap.beacon_interval.as_secs_f64(),
            beacon_rate_bps: rate_bps(beacon_rate),
            beacon_bytes: self.beacon_bytes(&scenario),
            data_rate_bps: rate_bps(ReplayCell::new(&scenario).map_err(AnalyzeError::Option)?.data().rate()),
            listen_interval: scenario.station[0].listening().beacons(scenario.ap.dtim_period),
            dtim_period: scenario.ap.dtim_period,
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
        self.runs = (4 + choices.len() * (self.phy.rates().len() + 1)) * self.segments.len().max(1);
        let active = Choice { name: "active".to_owned(), policy: ACTIVE, lower_bound: false };
        let awake = self.total(&active)?;
        let mut totals = Vec::new();
        for choice in choices {
            let is_awake = choice.policy == ACTIVE && !choice.lower_bound && self.radio_states.is_none();
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
            let assumptions = self.assumptions(total, &bands);
            reports.push(self.report(&choice.name, total, *added, assumptions, bands.left_out));
        }
        Ok(reports)
    }

    /// The replays under one policy with other assumptions. One that would exceed the limit of events is left out: it takes about
    /// as many as that of `total`.
    fn bands(&mut self, choice: &Choice, total: &Total) -> Result<Bands, AnalyzeError> {
        let mut bands = Bands::default();
        let rates = self.phy.rates();
        let fits = |what_if: &Self, replays: u64| {
            let events = total.events.saturating_mul(replays);
            what_if.events.saturating_add(events) <= what_if.events_share / BAND_SHARE.1 * BAND_SHARE.0
        };
        if let [_, fast, slow] = rates[..] {
            if fits(self, 2) {
                for rate in [fast, slow] {
                    let assumed = Assumed { rate, ..self.assumed() };
                    bands.data_rate_j.push(self.replay_all(choice, assumed, false)?.energy_j());
                }
            } else {
                bands.left_out.push(DATA_RATE);
            }
        }
        if self.assumes_beacon_rate() {
            if fits(self, 1) {
                let assumed = Assumed { beacon_rate: FAST_BEACONS, ..self.assumed() };
                bands.fast_beacons_j = Some(self.replay_all(choice, assumed, false)?.energy_j());
            } else {
                bands.left_out.push(BEACON_RATE);
            }
        }
        if let Some(period) = self.assumes_each_beacon().filter(|_| choice.policy != ACTIVE) {
            if fits(self, 1) {
                let assumed = Assumed { dtims_alone: true, ..self.assumed() };
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
        self.replay_all(choice, self.assumed(), trace)
    }

    /// The sum under one policy at the rate to report.
    pub(crate) fn total(&mut self, choice: &Choice) -> Result<Total, AnalyzeError> {
        self.replay_traced(choice, false)
    }

    /// Whether the caller sets a key, with the number of the station or without.
    fn is_set(&self, key: &str) -> bool {
        self.cell.settings.iter().any(|(set, _)| without_numbers(set) == key)
    }

    /// Whether group-addressed packets are replayed.
    fn has_groups(&self) -> bool {
        let mut arrivals = self.segments.iter().flat_map(|segment| &segment.arrivals);
        arrivals.any(|arrival| arrival.to == Destination::Group)
    }

    /// Whether the rate of beacons is assumed, and another one is as likely.
    fn assumes_beacon_rate(&self) -> bool {
        !self.phy.knows_beacon_rate && !self.is_set("wifi.beacon_rate") && self.standard.is_2_4_ghz()
    }

    /// The DTIM period, if the station is taken to wake up for each beacon although it may as well for the DTIM beacons alone: no frame
    /// shows for which beacons a station wakes up.
    fn assumes_each_beacon(&self) -> Option<u8> {
        let is_known = self.cell.radio.profile().wakes_for_dtims || self.is_set("station.listen_interval");
        self.phy.dtim_period.filter(|period| *period > 1 && !is_known)
    }

    const fn assumed(&self) -> Assumed {
        Assumed { rate: self.phy.rate, beacon_rate: self.phy.beacon_rate, dtims_alone: false }
    }

    /// The cell of a replay: what the capture shows and what is assumed, and on top of it what the caller sets.
    fn scenario(&self, choice: &Choice, assumed: Assumed) -> Result<Checked, AnalyzeError> {
        let mut cell = Scenario::idle_cell(self.standard);
        let has_groups = self.has_groups();
        cell.wifi = cell.wifi.map(|wifi| self.wifi(wifi, assumed.rate, assumed.beacon_rate));
        cell.ap.beacon_interval = self.phy.beacon_interval;
        let cell = cell
            .changed(&self.traffic.capture.file, self.cell.settings, &KEYS_OF_GROUPS)
            .map_err(|error| AnalyzeError::Option(error.to_string()))?;
        let mut cell = Scenario::clone(&cell);
        // Afterwards, since keys are set in the text of a scenario, which names a profile that the capture has and cannot hold it.
        cell.station[0].radio = self.cell.radio.clone();
        cell.station[0].power_save = choice.policy.into();
        cell.station[0].lower_bound = choice.lower_bound;
        if assumed.dtims_alone {
            cell.station[0].listen_interval = Some(ListenInterval::Dtim);
        }
        // The DTIM period has an effect where the caller or the chip lets the station skip other beacons, and on group-addressed frames.
        let station = &cell.station[0];
        let skips = station.receive_dtims || station.listening() == ListenInterval::Dtim;
        if (has_groups || skips) && !self.is_set("ap.dtim_period") {
            cell.ap.dtim_period = self.phy.dtim_period.unwrap_or(cell.ap.dtim_period);
        }
        Checked::new(cell).map_err(|error| AnalyzeError::Option(error.to_string()))
    }

    /// The length of captured beacons, unless the caller sets another one.
    fn beacon_bytes(&self, scenario: &Scenario) -> u32 {
        scenario.ap.beacon_length.map_or(self.phy.beacon_bytes, |set| set.as_bytes() as u32)
    }

    /// How the capture's radios use the air, with data at the rate of the PHY that is nearest below `rate`. The access point, whose own
    /// access parameters are not announced, is taken to use those that its beacons give to stations.
    fn wifi(&self, wifi: Wifi, rate: Rate, beacon_rate: Rate) -> Wifi {
        let standard = wifi.standard;
        let rates = standard.rates();
        let nearest = rates.iter().rev().find(|other| **other <= rate).or(rates.first()).copied();
        let is_mode_set = self.is_set("wifi.data_rate") || self.is_set("wifi.mode");
        let captured = self.phy.mode.filter(|mode| standard.has(mode));
        let mode = captured.or_else(|| he_mode_below(standard, rate)).filter(|_| !is_mode_set);
        let has_rate = mode.is_none() && !self.is_set("wifi.mode");
        let is_group_rate = |rate: &Rate| self.has_groups() && standard.control_rates().contains(rate);
        let has_aggregates = self.phy.has_aggregates && standard.modes().is_some();
        let mut wifi = Wifi {
            data_rate: has_rate.then(|| nearest.unwrap_or(rate)),
            mode,
            // Beacons at DSSS rates exist at 2.4 GHz only, and no others in 802.11b.
            beacon_rate: beacon_rate_of(standard, beacon_rate),
            group_rate: self.phy.group_rate.filter(is_group_rate),
            aggregation: has_aggregates.then(Aggregation::default),
            aifsn: AIFSN,
            ..wifi
        };
        if let Some(AccessParameters { aifsn, cw_min, cw_max, txop }) = self.phy.access {
            (wifi.aifsn, wifi.txop) = (aifsn.into(), txop);
            // The windows belong together: one that the caller sets replaces both.
            if !self.is_set("wifi.cw_min") && !self.is_set("wifi.cw_max") {
                (wifi.cw_min, wifi.cw_max) = (Some(cw_min), Some(cw_max));
            }
        }
        wifi
    }

    fn replay_all(&mut self, choice: &Choice, assumed: Assumed, trace: bool) -> Result<Total, AnalyzeError> {
        let scenario = self.scenario(choice, assumed)?;
        let cell = ReplayCell::new(&scenario).map_err(AnalyzeError::Option)?;
        let (rate, beacon_bytes) = (assumed.rate, self.beacon_bytes(&scenario));
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

    /// The assumptions of the total that neither the capture nor the caller replaces, as far as they move it by 2 % or more.
    fn assumptions(&self, total: &Total, bands: &Bands) -> Vec<AssumptionReport> {
        let energy_j = total.energy_j();
        let mut list = Vec::new();
        let mut add = |what: &str, assumed: String, other: String, energies: &[f64]| {
            let low = energies.iter().copied().fold(energy_j, f64::min);
            let high = energies.iter().copied().fold(energy_j, f64::max);
            let share = if energy_j > 0.0 { (high - low) / energy_j } else { 0.0 };
            if share >= LEAST_SHARE {
                let what = what.to_owned();
                list.push(AssumptionReport {
                    what,
                    assumed,
                    other,
                    energy_low_j: low,
                    energy_high_j: high,
                    share,
                });
            }
        };
        let other = format!("{ASSUMED_SLOW} to {ASSUMED_FAST}");
        add(DATA_RATE, self.phy.rate.to_string(), other, &bands.data_rate_j);
        if let Some(fast_j) = bands.fast_beacons_j {
            let fast = beacon_rate_of(self.standard, FAST_BEACONS).unwrap_or(FAST_BEACONS);
            add(BEACON_RATE, self.phy.beacon_rate.to_string(), fast.to_string(), &[fast_j]);
        }
        if let Some((period, dtims_j)) = bands.dtims_j {
            add(BEACONS, "each".to_owned(), format!("DTIM beacons, each of {period}"), &[dtims_j]);
        }
        let Some(radio) = &total.radio else { return list };
        if let Some(account) = ProfileAccount::if_any(radio, &total.states, energy_j) {
            let ends = [energy_j * (1.0 - account.band_low), energy_j * (1.0 + account.band_high)];
            add(RADIO_PROFILE, radio.name.clone(), of_profile(&account), &ends);
            return list;
        }
        let is_assumed = |key: &str| radio.assumed.keys().any(|assumed| assumed == key);
        if is_assumed("listen") {
            let less = (radio.receive.as_watts() * LISTEN_SHARE).min(radio.listen.as_watts());
            let saved_j = (radio.listen.as_watts() - less) * total.states.listen;
            let other = format!("{:.0} % of receive", 100.0 * LISTEN_SHARE);
            add("listen", "as receive".to_owned(), other, &[energy_j - saved_j]);
        }
        if is_assumed("wake_up") {
            let wake_up_j = total.causes.get(&Cause::WakeUp).map_or(0.0, |energy| energy.as_joules());
            let both = [energy_j - wake_up_j, energy_j + wake_up_j];
            add("wake-up charge", "that of the profile".to_owned(), "none to twice".to_owned(), &both);
        }
        list
    }

    /// The energy of timeout tails by peer.
    fn timeout_tail_by_peer(&self, total: &Total) -> BTreeMap<String, f64> {
        let peers = self.traffic.peers();
        let mut tails: BTreeMap<String, f64> = BTreeMap::new();
        for (flow, energy) in &total.tails {
            let peer = peers.get(*flow as usize).map_or("others", String::as_str);
            *tails.entry(peer.to_owned()).or_default() += energy.as_joules();
        }
        tails
    }

    /// The energy by peer: the same total as by cause.
    fn energy_by_peer(&self, total: &Total) -> BTreeMap<String, f64> {
        let peers = self.traffic.peers();
        let mut energies: BTreeMap<String, Energy> = BTreeMap::new();
        for (cause, energy) in &total.causes {
            let peer = match cause {
                Cause::Flow(flow) => peers.get(*flow as usize).map_or("others", String::as_str),
                _ => "none",
            };
            *energies.entry(peer.to_owned()).or_default() += *energy;
        }
        energies.into_iter().map(|(peer, energy)| (peer, energy.as_joules())).collect()
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
        // Assumptions are independent of each other: at worst all of them err to the same side.
        let below: f64 = assumptions.iter().map(|assumption| energy_j - assumption.energy_low_j).sum();
        let above: f64 = assumptions.iter().map(|assumption| assumption.energy_high_j - energy_j).sum();
        let has_band = self.phy.basis == Basis::Inferred || !assumptions.is_empty();
        // A band without one of its assumptions would claim too much.
        let band = has_band && left_out.is_empty();
        let elapsed_s = total.elapsed.as_secs_f64();
        let share = |part: f64| if elapsed_s > 0.0 { part / elapsed_s } else { 0.0 };
        PolicyReport {
            policy: policy.to_owned(),
            basis: self.phy.basis,
            energy_j: total.energy_j(),
            energy_low_j: band.then(|| (energy_j - below).max(0.0)),
            energy_high_j: band.then_some(energy_j + above),
            assumptions,
            left_out,
            energy_by_cause_j: total.energy_by_cause(),
            energy_by_peer_j: self.energy_by_peer(total),
            timeout_tail_by_flow_j: total.timeout_tail_by_flow(),
            timeout_tail_by_peer_j: self.timeout_tail_by_peer(total),
            idealized_energy_j: total.idealized.as_joules(),
            average_power_w: share(total.energy_j()),
            sleep_share: share(total.asleep.as_secs_f64()),
            state_s: total.states,
            profile: ProfileAccount::if_any(self.cell.radio.profile(), &total.states, energy_j),
            added_delay_s,
            wakeups: total.wakeups.clone(),
            packets: total.packets,
            lost: total.lost,
        }
    }
}

/// What else a profile's values may be, by the parts of its band.
fn of_profile(account: &ProfileAccount) -> String {
    let mut parts = vec!["its error".to_owned()];
    parts.extend(account.assumed.iter().map(|key| match key.as_str() {
        "listen" => format!("listening at {:.0} % of receive", 100.0 * LISTEN_SHARE),
        _ => "a wake-up of none to twice".to_owned(),
    }));
    if !account.borrowed.is_empty() {
        parts.push("what it borrows".to_owned());
    }
    parts.join(", ")
}

/// The number of a flow in the document: all flows after those of its list have the same.
fn listed(flow: u32) -> u32 {
    flow.min(LIST_LIMIT as u32)
}

impl Total {
    /// Energy in joules.
    pub(crate) fn energy_j(&self) -> f64 {
        self.energy.as_joules()
    }

    /// The energy by cause, with all flows after those of the document's list as one.
    fn energy_by_cause(&self) -> EnergyByCause {
        let mut causes: BTreeMap<Cause, Energy> = BTreeMap::new();
        for (cause, energy) in &self.causes {
            let cause = match *cause {
                Cause::Flow(flow) => Cause::Flow(listed(flow)),
                other => other,
            };
            *causes.entry(cause).or_default() += *energy;
        }
        EnergyByCause::of(causes)
    }

    /// The energy of timeout tails by flow, with all flows after those of the document's list as one.
    fn timeout_tail_by_flow(&self) -> BTreeMap<u32, f64> {
        let mut tails: BTreeMap<u32, Energy> = BTreeMap::new();
        for (flow, energy) in &self.tails {
            *tails.entry(listed(*flow)).or_default() += *energy;
        }
        tails.into_iter().map(|(flow, energy)| (flow, energy.as_joules())).collect()
    }

    /// The delay of each packet beyond that of a radio that is always awake.
    fn added_delay(&self, awake: &Self) -> Option<DelayReport> {
        let both = self.delays.iter().zip(&awake.delays);
        let mut added: Vec<Span> =
            both.filter_map(|(delay, awake)| Some((*delay)?.saturating_sub((*awake)?))).collect();
        DelayReport::of(&mut added)
    }

    /// Adds the replay of a segment that begins at `from`.
    fn add(&mut self, segment: &SegmentArrivals, from: Instant, replayed: &Replayed) {
        let SegmentArrivals { arrivals, without_data, .. } = segment;
        let (ledger, radio) = (&replayed.ledger, &replayed.radio);
        self.energy += ledger.energy(radio);
        self.radio.get_or_insert_with(|| radio.clone());
        for (cause, energy) in replayed.causes.energies(radio) {
            *self.causes.entry(cause).or_default() += energy;
        }
        for (flow, energy) in replayed.causes.tail_energies(radio) {
            *self.tails.entry(flow).or_default() += energy;
        }
        self.idealized += ledger.idealized_energy(radio);
        self.elapsed = self.elapsed.saturating_add(ledger.elapsed());
        self.asleep = self.asleep.saturating_add(ledger.duration(RadioState::Sleep));
        self.states += StateSeconds::of(ledger);
        for (reason, count) in &replayed.wakeups {
            *self.wakeups.entry((*reason).to_owned()).or_default() += count;
        }
        let first = self.delays.len();
        self.delays.resize(first + arrivals.len(), None);
        for Delay { number, delay, .. } in &replayed.delays {
            self.delays[first + *number as usize] = Some(*delay);
        }
        for place in without_data {
            self.delays[first + *place as usize] = None;
        }
        self.packets += arrivals.iter().filter(|arrival| arrival.to != Destination::Group).count() as u64;
        self.lost += replayed.lost;
        let shift = from - Instant::ZERO;
        let moved = |period: &RadioPeriod| RadioPeriod { start: period.start + shift, ..*period };
        self.radio_states.extend(replayed.radio_states.iter().map(moved));
    }
}

#[cfg(test)]
mod tests {
    use airwatt_proto::powersave::UapsdConfig;

    use super::*;

    #[test]
    fn policies_come_with_their_settings() {
        let parsed = |text: &str| Choice::parse(text).map(|choice| choice.policy);
        assert_eq!(parsed("psm"), Ok(PowerSaveConfig::Psm(NoSettings {})));
        let interval = Span::from_millis(40);
        assert_eq!(parsed("uapsd:interval=40ms"), Ok(PowerSaveConfig::Uapsd(UapsdConfig { interval })));
        for (text, problem) in [
            ("psm:interval=3ms", "no effect with policy \"psm\""),
            ("uapsd:40ms", "for example uapsd:interval=40ms"),
            ("uapsd:interval=5", "unit"),
            ("uapsd:interval=0ms", "expected 1ms to 10s"),
            ("frob:timeout=3ms", "expected active, timeout"),
            ("frob", "psm-throttling or ideal, got"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
