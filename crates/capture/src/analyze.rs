//! The whole analysis: from a file and a question to the document.
//!
//! The document describes the capture ([`report`]) and, if the station is known, what its radio would have spent under
//! each policy ([`WhatIf`]).

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use airwatt_base::{Instant, Rate, Size, Span, reason_of};
use airwatt_energy::Radio;
use airwatt_sim::replay::{Arrival, Destination, RadioPeriod};
use airwatt_sim::scenario::{IDEAL, RadioChoice};
use tracing::debug;

use crate::capture::Capture;
use crate::captured_radio::{self, BeaconsWanted};
use crate::current::{self, CurrentReport, Trace};
use crate::decrypt::NetworkKey;
use crate::error::AnalyzeError;
use crate::file::Reading;
use crate::group;
use crate::limits::Limits;
use crate::phy::Phy;
use crate::power_save::{self, FindingKind, Observations};
use crate::replay::{SegmentArrivals, TAIL, Traffic};
use crate::report::{self, Analysis, GapReport, PaceReport};
use crate::stations::{self, Station};
use crate::timeline::Timeline;
use crate::what_if::{ARRIVAL_BYTES, CellChoice, Choice, USUAL_POLICY, WhatIf, choices};

/// The radio of an analysis that names none.
pub const DEFAULT_RADIO: &str = "broadcom-4311";

/// The question that an analysis answers about a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// The station by its IP or MAC address; `None` for the only one that the capture leaves no doubt about.
    pub station: Option<&'a str>,
    /// Radio profile: a name or a file; `None` for [`DEFAULT_RADIO`].
    pub radio: Option<&'a str>,
    /// Policies, each with the settings that differ from the defaults (`uapsd:interval=40ms`). All policies if empty.
    pub policies: &'a [String],
    /// Keys of the cell and of the station, with their values, as a scenario has them (`ap.dtim_period`).
    pub settings: &'a [(String, String)],
    /// Seed of the backoff and of the beacons' phase.
    pub seed: u64,
    /// Whether the document has the time line.
    pub trace: bool,
    /// A measured current to lay beside the prediction.
    pub current: Option<Current<'a>>,
    /// Passphrases and keys of networks whose frames are encrypted.
    pub keys: &'a [NetworkKey],
    /// Upper bounds of memory and events.
    pub limits: Limits,
}

/// A trace of a current meter.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// Its CSV file.
    pub path: &'a Path,
    /// The capture's time at which it begins, in seconds; `None` to find it by correlation.
    pub offset_s: Option<f64>,
    /// What the meter measured beside the radio.
    pub load: current::Load,
}

/// The stage that an analysis has reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnalysisProgress {
    /// It reads the capture.
    Reading(Reading),
    /// It replays packets; the share that is done, from 0 to 1.
    Replaying(f64),
}

/// Gets the progress of an analysis, and answers whether to go on.
pub type Watch<'a> = &'a mut dyn FnMut(AnalysisProgress) -> ControlFlow<()>;

/// Analyses the capture at `path` (`-` is standard input). `watch` gets the progress and answers
/// whether to go on. If the station is unknown, the document lists the candidates and has no policies.
///
/// # Errors
/// [`AnalyzeError`]: the capture cannot be read, lacks the station or exceeds a limit, or an option is wrong.
pub fn analyze(path: &Path, question: &Question<'_>, watch: Watch<'_>) -> Result<Analysis, AnalyzeError> {
    analyze_then(path, question, || Ok(()), watch)
}

/// As [`analyze`], but `opened` is called when all files are open and nothing of them has been read, so that the caller can
/// give up privileges there ([`Capture::open_then`]).
///
/// # Errors
/// As [`analyze`], and with the error of `opened`.
pub fn analyze_then(
    path: &Path,
    question: &Question<'_>,
    opened: impl FnOnce() -> io::Result<()>,
    watch: Watch<'_>,
) -> Result<Analysis, AnalyzeError> {
    // Like the capture, the trace is opened before privileges are given up, and read afterwards.
    let file = question.current.map(|current| open_trace(current.path)).transpose()?;
    let (options, capture) = open(path, question, opened, watch)?;
    let trace = question.current.zip(file).map(|(current, file)| {
        let of = file.metadata().ok().map(|metadata| metadata.len());
        let mut is_stopped = false;
        let mut goes_on = |bytes| {
            is_stopped = watch(AnalysisProgress::Reading(Reading { bytes, of })).is_break();
            !is_stopped
        };
        let trace = Trace::read(&current.path.display().to_string(), file, &mut goes_on);
        trace.map_err(|error| {
            if is_stopped { AnalyzeError::Interrupted } else { AnalyzeError::Option(error.to_string()) }
        })
    });
    let trace = trace.transpose()?;
    let seen = power_save::observe(&capture);
    analyze_with((&capture, &seen), question, &options, trace.as_ref(), &mut Spent::default(), watch)
}

fn open_trace(path: &Path) -> Result<File, AnalyzeError> {
    let failed = |error| format!("--current {}: cannot be read: {}", path.display(), reason_of(&error));
    File::open(path).map_err(|error| AnalyzeError::Option(failed(error)))
}

/// Stations that are analysed if all are asked for.
const MOST_STATIONS: usize = 100;

/// What the stations of a command have used of its limits, which hold for all of them together.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// Memory of their time lines, in bytes.
    traced_bytes: u64,
    /// Events of their replays.
    events: u64,
    /// Stations that follow.
    others: u64,
    /// Whether there are no replays any more.
    is_exhausted: bool,
}

/// As [`analyze_then`], one analysis for each of `stations`, which are addresses, or `all` alone for every station of the
/// capture, up to 100 with most bytes: a note says how many are left out. The tables of the capture are in the first one's time line alone. The limits are those of all
/// together: stations for whose replays no events are left have no policies, and a note says so.
///
/// # Errors
/// As [`analyze_then`].
pub fn analyze_stations(
    path: &Path,
    question: &Question<'_>,
    stations: &[String],
    opened: impl FnOnce() -> io::Result<()>,
    watch: Watch<'_>,
) -> Result<Vec<Analysis>, AnalyzeError> {
    let is_all = stations.iter().any(|name| name == "all");
    for name in stations.iter().filter(|_| !is_all) {
        Station::parse(name)?;
    }
    let (options, capture) = open(path, question, opened, watch)?;
    // What the stations did is the same whichever is asked about, and reads all frames.
    let seen = power_save::observe(&capture);
    let mut names: Vec<String> = if is_all {
        all_stations(&capture, &seen).iter().map(Station::to_string).collect()
    } else {
        stations.to_vec()
    };
    let left_out = if is_all { names.len().saturating_sub(MOST_STATIONS) } else { 0 };
    names.truncate(names.len() - left_out);
    let mut spent = Spent::default();
    if names.is_empty() {
        // What access points did is there without any.
        let question = Question { station: None, ..*question };
        let read = (&capture, &seen);
        return Ok(vec![analyze_with(read, &question, &options, None, &mut spent, watch)?]);
    }
    let count = names.len() as f64;
    let of_station = |(index, name): (usize, &String)| {
        let mut watch = |progress| {
            watch(match progress {
                AnalysisProgress::Replaying(share) => {
                    AnalysisProgress::Replaying((index as f64 + share) / count)
                }
                reading => reading,
            })
        };
        let question = Question { station: Some(name), ..*question };
        spent.others = (names.len() - index - 1) as u64;
        let read = (&capture, &seen);
        let mut analysis = match analyze_with(read, &question, &options, None, &mut spent, &mut watch) {
            // Of the stations before it there is something to say.
            Err(AnalyzeError::Limit(_)) if index > 0 => {
                spent.is_exhausted = true;
                analyze_with(read, &question, &options, None, &mut spent, &mut watch)?
            }
            done => done?,
        };
        if left_out > 0 {
            analysis.capture.notes.push(format!(
                "`--station all` takes the {MOST_STATIONS} stations with most bytes: {left_out} more were not analysed; hint: name them by their \
                 addresses"
            ));
        }
        if let Some(line) = &mut analysis.timeline {
            if index > 0 {
                line.keep_own();
            }
            spent.traced_bytes += line.memory_bytes();
        }
        Ok(analysis)
    };
    names.iter().enumerate().map(of_station).collect()
}

/// Every station of the capture, without access points and hosts behind them.
fn all_stations(capture: &Capture, seen: &Observations) -> Vec<Station> {
    let mut all = stations::all(capture);
    if capture.is_air() {
        all.retain(|station| seen.stations.iter().any(|own| *station == Station::Mac(own.mac)));
    }
    all
}

/// Opens the capture. An option that is wrong is reported before, and the profile of a radio is read before, since the caller may have to
/// give up privileges for the capture.
fn open(
    path: &Path,
    question: &Question<'_>,
    opened: impl FnOnce() -> io::Result<()>,
    watch: Watch<'_>,
) -> Result<(Options, Capture), AnalyzeError> {
    let options = Options::parse(question)?;
    let capture = Capture::open_then(path, &question.limits, question.keys, opened, &mut |reading| {
        watch(AnalysisProgress::Reading(reading))
    })?;
    Ok((options, capture))
}

/// What a capture lacks that has no station.
fn lacks_stations(capture: &Capture) -> String {
    let missing = if capture.is_air() {
        "none is a data frame, a Null frame or a PS-Poll of a station; hint: capture on the channel of the access point"
    } else {
        "none is an IP packet from one host to another"
    };
    format!("{}: of {} packets {missing}", capture.file, capture.packets_in_file)
}

/// The radio of a station that the simulator named in the capture.
fn radio_of(capture: &Capture, station: &Station) -> Option<Radio> {
    // Most captures name none, and the address of a station is looked for in all of its packets.
    if capture.radios.is_empty() {
        return None;
    }
    capture.named_radio(group::own_address(capture, station)?)
}

/// The options of a question.
struct Options {
    /// `None` if the question names none.
    radio: Option<RadioChoice>,
    choices: Vec<Choice>,
    /// The keys of the cell but for the radio.
    settings: Vec<(String, String)>,
}

/// The key that names the radio as [`Question::radio`] does.
const RADIO_KEY: &str = "station.radio";

impl Options {
    fn parse(question: &Question<'_>) -> Result<Self, AnalyzeError> {
        let option = |name: &str, text: &dyn fmt::Display| AnalyzeError::Option(format!("{name}: {text}"));
        let (radios, settings): (Vec<_>, Vec<_>) =
            question.settings.iter().cloned().partition(|(key, _)| key == RADIO_KEY);
        let by_key = radios.into_iter().next_back().map(|(_, name)| ("--set station.radio", name));
        let named = by_key.or_else(|| question.radio.map(|name| ("--radio", name.to_owned())));
        let read = |(by, name)| RadioChoice::try_from(name).map_err(|error| option(by, &error));
        let radio = named.map(read).transpose()?;
        let choices = choices(question.policies).map_err(|error| option("--policy", &error))?;
        if question.current.is_some() && choices.len() > 1 && !question.policies.is_empty() {
            let names = question.policies.join(", ");
            let expected = "expected one policy with --current, which it is compared with";
            return Err(option("--policy", &format!("{expected}, got {names}")));
        }
        question.station.map(Station::parse).transpose()?;
        Ok(Self { radio, choices, settings })
    }

    /// The keys that were set, as they continue a line; empty if there are none.
    fn keys_set(&self) -> String {
        let set: Vec<String> = self.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if set.is_empty() { String::new() } else { format!("; set: {}", set.join(", ")) }
    }
}

/// Analyses a capture that was read before, like [`analyze`].
///
/// # Errors
/// [`AnalyzeError`]: the capture has no station, lacks the one that is named or exceeds a limit, or an option is wrong.
pub fn analyze_capture(
    capture: &Capture,
    question: &Question<'_>,
    watch: Watch<'_>,
) -> Result<Analysis, AnalyzeError> {
    let (options, seen) = (Options::parse(question)?, power_save::observe(capture));
    analyze_with((capture, &seen), question, &options, None, &mut Spent::default(), watch)
}

/// As [`analyze_capture`], with a measured current, and after other stations of the same command.
fn analyze_with(
    (capture, seen): (&Capture, &Observations),
    question: &Question<'_>,
    options: &Options,
    trace: Option<&Trace>,
    spent: &mut Spent,
    watch: Watch<'_>,
) -> Result<Analysis, AnalyzeError> {
    let station = match question.station {
        Some(text) => Some(stations::named(capture, text)?),
        None => stations::clear(capture),
    };
    let named = station.as_ref().and_then(|station| radio_of(capture, station));
    let named = named.filter(|_| options.radio.is_none());
    let radio = match (&options.radio, &named) {
        (Some(asked), _) => asked.clone(),
        (None, Some(named)) => RadioChoice::from(named.clone()),
        (None, None) => RadioChoice::from(Radio::find(DEFAULT_RADIO).expect("a profile that ships")),
    };
    let is_assumed = options.radio.is_none() && named.is_none();
    let mut document =
        report::describe_with((capture, seen), station.as_ref(), Some(radio.profile()), is_assumed);
    if question.station.is_none() {
        document.station_share = station.as_ref().map(|station| stations::share(capture, station));
    }
    if let Some(named) = named {
        document.capture.notes.push(format!(
            "radio {} is the one that the simulator named in the capture; --radio names another",
            named.name
        ));
    }
    let timeline = || Timeline::of(capture, seen, station.as_ref(), radio.profile());
    document.timeline = question.trace.then(timeline);
    let traced_bytes =
        spent.traced_bytes.saturating_add(fit_timeline(&mut document, capture, question, spent));
    if station.is_none() && document.candidates.is_empty() {
        // Beacons decide some rules alone.
        if document.air.as_ref().is_none_or(|air| air.networks.is_empty()) {
            return Err(AnalyzeError::Nothing(lacks_stations(capture)));
        }
        document.capture.notes.push(lacks_stations(capture));
    }
    if spent.is_exhausted {
        document.capture.notes.push(EXHAUSTED_NOTE.to_owned());
    } else if let Some(station) = station {
        let subject = Subject { capture, seen, station: &station, radio: &radio };
        subject.replay(&mut document, question, options, trace, (spent, traced_bytes), watch)?;
    }
    Ok(document)
}

/// Keeps the time line within the limit of memory. Returns what it takes, in bytes.
fn fit_timeline(document: &mut Analysis, capture: &Capture, question: &Question<'_>, spent: &Spent) -> u64 {
    let Some(line) = &mut document.timeline else { return 0 };
    let limit = question.limits.trace_bytes_for(capture.bytes, capture.memory_bytes());
    if line.fit(limit.saturating_sub(spent.traced_bytes)) {
        document.capture.notes.push(UNNAMED_NOTE.to_owned());
    }
    line.memory_bytes()
}

/// The station that an analysis is of, with its radio.
struct Subject<'a> {
    capture: &'a Capture,
    seen: &'a Observations,
    station: &'a Station,
    radio: &'a RadioChoice,
}

impl Subject<'_> {
    /// Adds to the document what follows from the station's packets under each policy. Time lines took `traced_bytes` before.
    fn replay(
        &self,
        document: &mut Analysis,
        question: &Question<'_>,
        options: &Options,
        trace: Option<&Trace>,
        (spent, traced_bytes): (&mut Spent, u64),
        watch: Watch<'_>,
    ) -> Result<(), AnalyzeError> {
        let Self { capture, seen, station, .. } = *self;
        let radio = self.radio.profile();
        let traffic = Traffic::of(capture, station);
        let memory_left = check_memory(&traffic, station, &question.limits)?.saturating_sub(traced_bytes);
        let phy = Phy::of((capture, seen), station);
        document.phy = Some(format!("{phy}{}", options.keys_set()));
        let events = question.limits.events_for(capture.bytes).saturating_sub(spent.events);
        debug!(file = capture.file, %station, phy = %phy, "replay begins");
        let cell = CellChoice { radio: self.radio, settings: &options.settings };
        let mut watch = |share| watch(AnalysisProgress::Replaying(share));
        let mut what_if =
            WhatIf::new(&traffic, phy, cell, question.seed, (events, spent.others), &mut watch)?;
        if question.trace || trace.is_some() {
            what_if.trace(memory_left);
        }
        if trace.is_some() {
            what_if.simulate_idle_time();
        }
        let cell = document.cell.insert(what_if.cell()?);
        let (beacon_rate, data_rate) =
            (Rate::from_bps(cell.beacon_rate_bps as u64), Rate::from_bps(cell.data_rate_bps as u64));
        document.pace = Some(pace(what_if.segments()));
        document.policies = what_if.run(&options.choices)?;
        what_if.keep_to_share();
        document.capture.notes.extend(timeout_note(document, radio));
        let states = what_if.take_radio_states();
        // Beside a measured current, a time line is for the prediction.
        let is_wanted = |name: &&String| {
            question.trace || question.policies.contains(name) || name.as_str() == USUAL_POLICY
        };
        let untraced: Vec<String> = what_if.untraced().iter().filter(is_wanted).cloned().collect();
        document.capture.notes.extend(untraced_note(&untraced, &question.limits, capture));
        document.group = group::report(capture, seen, station, radio, (what_if.standard(), beacon_rate));
        let wanted = what_if.beacons_wanted()?;
        let observed = captured_radio::as_captured(capture, seen, station, radio, wanted);
        let sent = captured_radio::radio_of_frames(capture, station, radio);
        let on_air = seen.policy_of(station);
        let of_others = observed
            .as_deref()
            .filter(|_| !document.policies.is_empty())
            .and_then(|periods| captured_radio::note_of_others(capture, periods, &sent, on_air));
        document.capture.notes.extend(of_others);
        if let Some(trace) = trace {
            let radios = (&sent, &radio.clone().at_rate(data_rate));
            document.current =
                Some(compare_current(trace, question, &states, (observed.as_deref(), wanted), radios)?);
        }
        if let Some(line) = &mut document.timeline {
            line.add_captured(observed.as_deref().unwrap_or_default());
            line.add_radio_states(states);
        }
        keep_alive_costs(capture, station, &mut what_if, on_air, document)?;
        spent.events = spent.events.saturating_add(what_if.events);
        ungranted_costs(document);
        Ok(())
    }
}

/// A measured current beside the prediction that decides: with the radio as it sent frames, or as it was replayed.
fn compare_current(
    trace: &Trace,
    question: &Question<'_>,
    states: &[(String, Vec<RadioPeriod>)],
    (observed, wanted): (Option<&[RadioPeriod]>, BeaconsWanted),
    (sent, replayed): (&Radio, &Radio),
) -> Result<CurrentReport, AnalyzeError> {
    let (name, periods, is_replayed) = prediction(question.policies, states, observed);
    let prediction = current::Prediction {
        name,
        periods,
        radio: if is_replayed { replayed } else { sent },
        knows_beacons: !is_replayed && wanted.are_known(),
        load: question.current.map_or_else(current::Load::default, |current| current.load),
    };
    let offset_s = question.current.and_then(|current| current.offset_s);
    let compared = current::compare(trace, &prediction, offset_s, question.trace);
    let mut compared = compared.map_err(AnalyzeError::Option)?;
    if is_replayed && observed.is_some() {
        compared.verdict.text += &format!(
            "; this is beside the replay of {name}, since it is the one policy that was asked for: without --policy it is \
             beside the times at which the station's frames say that it sleeps, and those decide"
        );
    }
    Ok(compared)
}

/// The prediction that a measured current is compared with, and whether it is a replay: the one policy that was asked for, else what was
/// captured, else the usual one.
fn prediction<'a>(
    policies: &[String],
    states: &'a [(String, Vec<RadioPeriod>)],
    observed: Option<&'a [RadioPeriod]>,
) -> (&'a str, &'a [RadioPeriod], bool) {
    let usual = states.iter().find(|(name, _)| name == USUAL_POLICY).or(states.first());
    let replayed =
        usual.map_or(("none", &[][..], true), |(name, periods)| (name.as_str(), periods.as_slice(), true));
    match observed {
        Some(periods) if policies.len() != 1 => ("as captured", periods, false),
        _ => replayed,
    }
}

/// Refuses a replay that would take more memory than the limit, before anything is allocated for it.
/// Returns the memory that is left for time lines, in bytes.
fn check_memory(traffic: &Traffic<'_>, station: &Station, limits: &Limits) -> Result<u64, AnalyzeError> {
    let (capture, packets) = (traffic.capture, traffic.count());
    let memory_bytes = packets.saturating_mul(ARRIVAL_BYTES).saturating_add(capture.memory_bytes());
    let limit_bytes = limits.memory_bytes_for(capture.bytes);
    if memory_bytes <= limit_bytes {
        return Ok(limits.trace_bytes_for(capture.bytes, memory_bytes));
    }
    let largest = traffic.flows.first().map_or_else(String::new, |flow| {
        format!("; the largest flow is {} to {} with {} bytes", flow.first, flow.second, flow.bytes())
    });
    Err(AnalyzeError::Limit(format!(
        "{}: to replay the {packets} packets of station {station} takes {}, and the limit is {}{largest}; hint: raise \
         --limit memory=SIZE, or cut the capture",
        capture.file,
        Size::from_bytes(memory_bytes),
        Size::from_bytes(limit_bytes)
    )))
}

/// What the time lines leave out for want of memory.
fn untraced_note(policies: &[String], limits: &Limits, capture: &Capture) -> Option<String> {
    let limit = Size::from_bytes(limits.trace_bytes_for(capture.bytes, 0));
    let names = policies.join(", ");
    (!policies.is_empty()).then(|| {
        format!("no time line of {names}: it would take more than the limit of {limit}; hint: raise --limit memory=SIZE, or choose fewer with --policy")
    })
}

/// Which timeout the policy stands for if it is that of the chip.
fn timeout_note(document: &Analysis, radio: &Radio) -> Option<String> {
    let timeout =
        radio.timeout.filter(|_| document.policies.iter().any(|policy| policy.policy == USUAL_POLICY))?;
    let name = &radio.name;
    let beacons = if radio.wakes_for_dtims { ", and wakes up for DTIM beacons" } else { "" };
    let other = if timeout == Span::from_millis(100) { "50ms" } else { "100ms" };
    Some(format!(
        "policy timeout is that of {name} as it comes, {timeout}{beacons}; timeout:timeout={other} is another"
    ))
}

const EXHAUSTED_NOTE: &str = "no policies of this station: with those of the stations before it, replays would exceed the limit of events; hint: \
    raise --limit events=COUNT, or choose fewer with --policy or --station";

const UNNAMED_NOTE: &str = "the time line leaves out which stations beacons name: they would take more than the limit of memory; hint: raise \
    --limit memory=SIZE";

/// What an access point costs that does not grant U-APSD: the replay with PS-Polls less that with triggers, if both were asked for.
fn ungranted_costs(document: &mut Analysis) {
    let of = |name: &str| document.policies.iter().find(|policy| policy.policy == name);
    let (Some(polls), Some(triggers)) = (of("psm-legacy"), of("psm")) else { return };
    let cost_j = (polls.energy_j - triggers.energy_j).max(0.0);
    let delay_s = polls.added_delay_s.zip(triggers.added_delay_s);
    let delay_s = delay_s.map(|(polls, triggers)| (polls.mean - triggers.mean).max(0.0));
    let packets = polls.packets as f64;
    let kind = FindingKind::UapsdNotGranted.name();
    for finding in document.findings.iter_mut().filter(|finding| finding.kind == kind && finding.count > 0) {
        (finding.cost_j, finding.delay_s) = (Some(cost_j), delay_s.map(|mean| mean * packets));
    }
}

/// The cost of each peer's keep-alives under each policy: the energy of the replay less that of a replay without them. The two
/// replays differ in their backoff and, under a policy that adapts, in its decisions, so a difference below zero only says
/// that the cost is smaller than that. Beyond the limit of events the remaining costs are left out.
fn keep_alive_costs(
    capture: &Capture,
    station: &Station,
    what_if: &mut WhatIf<'_>,
    on_air: Option<&str>,
    document: &mut Analysis,
) -> Result<(), AnalyzeError> {
    // The lower bound is not reached by any policy.
    let real = || document.policies.iter().filter(|policy| policy.policy != IDEAL.name);
    let usual = real().find(|policy| Some(policy.policy.as_str()) == on_air);
    let usual = usual.or_else(|| real().find(|policy| policy.policy == USUAL_POLICY));
    let usual = usual.or_else(|| real().min_by(|a, b| a.energy_j.total_cmp(&b.energy_j)));
    let Some(usual) = usual.map(|policy| policy.policy.clone()) else { return Ok(()) };
    let energies: Vec<(String, f64)> =
        real().map(|policy| (policy.policy.clone(), policy.energy_j)).collect();
    let (list, _) = report::keep_alives(capture, station);
    let findings = document.findings.iter_mut().filter(|finding| finding.kind == report::KEEP_ALIVE);
    for (finding, lone) in findings.zip(list) {
        what_if.leave_out(&lone.packets);
        for (name, energy_j) in &energies {
            let Ok(choice) = Choice::parse(name) else { continue };
            let without = match what_if.total(&choice) {
                Ok(without) => without.energy_j(),
                Err(AnalyzeError::Limit(_)) => return Ok(()),
                Err(error) => return Err(error),
            };
            let cost_j = Some(energy_j - without).filter(|cost_j| *cost_j >= 0.0);
            finding.costs_j.insert(name.clone(), cost_j);
            if *name == usual {
                finding.cost_j = cost_j;
                finding.policy = Some(name.clone());
                finding.text += &match cost_j {
                    Some(cost_j) => format!("; under {name} they cost {cost_j:.3} J of {energy_j:.3} J"),
                    None => format!("; under {name} they cost less than {:.3} J", without - energy_j),
                };
            }
        }
    }
    Ok(())
}

/// The times of the packets of all segments. The end of a segment, with the tail of its replay, is a gap as well.
fn pace(segments: &[SegmentArrivals]) -> PaceReport {
    let gaps_of = |counts: fn(&Arrival) -> bool| {
        let of_segment = |segment: &SegmentArrivals| {
            let end = Instant::ZERO + segment.duration + TAIL;
            let own = segment.arrivals.iter().filter(|arrival| arrival.to != Destination::Group);
            let counted = own.filter(|arrival| counts(arrival));
            let mut before = Instant::ZERO;
            let gap =
                |(at, down): (Instant, bool)| (at.saturating_since(std::mem::replace(&mut before, at)), down);
            let times = counted.map(|arrival| (arrival.at, arrival.to == Destination::Station));
            times.chain([(end, false)]).map(gap).collect::<Vec<_>>()
        };
        segments.iter().flat_map(of_segment).collect::<Vec<_>>()
    };
    let count = |to| {
        let all = segments.iter().flat_map(|segment| &segment.arrivals);
        all.filter(|arrival| arrival.to == to).count() as u64
    };
    let elapsed: Span = segments.iter().map(|segment| segment.duration + TAIL).sum();
    PaceReport {
        elapsed_s: elapsed.as_secs_f64(),
        packets_down: count(Destination::Station),
        packets_up: count(Destination::AccessPoint),
        gaps: GapReport::of(&gaps_of(|_| true)),
        gaps_up: GapReport::of(&gaps_of(|arrival| arrival.to == Destination::AccessPoint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_between_packets_and_at_both_ends() {
        let arrival = |ms, to| Arrival { at: Instant::from_millis(ms), to, bytes: 100, after: None, flow: 0 };
        let (down, up) = (Destination::Station, Destination::AccessPoint);
        // Group-addressed packets of others are not the station's.
        let others = arrival(200, Destination::Group);
        let arrivals = vec![arrival(30, down), arrival(33, up), others, arrival(500, down)];
        let pace =
            pace(&[SegmentArrivals { arrivals, without_data: Vec::new(), duration: Span::from_millis(600) }]);
        assert_eq!((pace.packets_down, pace.packets_up), (2, 1));
        assert!((pace.elapsed_s - 0.85).abs() < 1e-12);
        // 30, 3, 467 and 350 ms; from the station 33 and 817.
        let longer = |gaps: &[GapReport], ms: f64| {
            let found = gaps.iter().find(|gap| (gap.longer_than_s - ms / 1e3).abs() < 1e-9).unwrap();
            (found.count, (1e3 * found.time_s).round(), found.before_down)
        };
        assert_eq!(longer(&pace.gaps, 1.0), (4, 850.0, 2));
        assert_eq!(longer(&pace.gaps, 20.0), (3, 847.0, 2));
        assert_eq!(longer(&pace.gaps, 200.0), (2, 817.0, 1));
        assert_eq!(longer(&pace.gaps_up, 40.0), (1, 817.0, 0));
        assert_eq!(longer(&pace.gaps_up, 1000.0), (0, 0.0, 0));
    }
}
