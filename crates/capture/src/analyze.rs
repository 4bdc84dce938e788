//! The whole analysis: from a file and a question to the document, with the replays under each policy.
//!
//! The station's packets go, at the times at which the capture has them, through the simulator's cell with one station:
//! the same access point, contention and power-save machines as in every other run. Each policy is compared with the
//! radio that never sleeps, packet by packet: the difference is the delay that it adds.
//!
//! Where radiotap tells the rate, the replay uses the one that carried most of the station's bytes. Elsewhere a physical
//! layer is assumed and said: 802.11n at [`ASSUMED`], with a band from replays at [`ASSUMED_FAST`] and
//! [`ASSUMED_SLOW`]. Left out: rate adaptation within a capture, noise, other stations' traffic, and what TCP would do
//! about the added delay.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use airwatt_base::{Energy, Instant, Rate, Span};
use airwatt_dot11::Preamble;
use airwatt_dot11::phy::Standard;
use airwatt_energy::{Radio, State};
use airwatt_proto::powersave::{Policy, PolicyConfig};
use airwatt_sim::replay::{Arrival, Delay, replay};
use airwatt_sim::scenario::Scenario;

use crate::error::CaptureError;
use crate::file::Capture;
use crate::power_save;
use crate::replay::{SegmentArrivals, arrivals, arrivals_without};
use crate::report::{self, Analysis, Basis, DelayReport, GapReport, PaceReport, PolicyReport, StateReport};
use crate::stations::{self, Station};

/// The rate that is assumed where a capture does not tell: one stream, the fastest index of 20 MHz (MCS 7).
pub const ASSUMED: Rate = Rate::from_bps(65_000_000);
/// The fast end of the band: two streams, as most of today's phones have (MCS 15).
pub const ASSUMED_FAST: Rate = Rate::from_bps(130_000_000);
/// The slow end of the band: one stream at the edge of a flat (MCS 1).
pub const ASSUMED_SLOW: Rate = Rate::from_bps(13_000_000);

/// The radio that is taken where none is named.
pub const DEFAULT_RADIO: &str = "broadcom-4311";

/// Time after a segment's last packet in which what is still buffered reaches the station: two beacon intervals and
/// some. It counts like the rest, under every policy alike.
pub const TAIL: Span = Span::from_millis(250);

/// Packets must be known to have gone at a rate for it to be called measured: this share of the station's, in percent.
const MEASURED_PERCENT: u64 = 50;

/// Beacon intervals outside this are not believed, in time units: they would be damage.
const BEACON_INTERVALS_TU: std::ops::RangeInclusive<u16> = 10..=5_000;

/// The cell of a replay: one access, best effort's arbitration (802.11-2020 table 9-155), the PHY's windows. The wired
/// path and the flow are there because a scenario has them; a replay uses neither.
const CELL: &str = r#"
name = "replay"
duration = "1s"
[wired]
rtt = "0ms"
down = { rate = "1Gbps" }
up = { rate = "1Gbps" }
[wifi]
standard = "802.11n"
data_rate = "65Mbps"
aifsn = 3
[[station]]
[[flow]]
direction = "down"
transport = "udp"
application = "saturated"
"#;

/// What is asked of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// Whose radio: an IP or MAC address. Without it the one that the capture leaves no doubt about.
    pub station: Option<&'a str>,
    /// Radio profile: a name or a file; [`DEFAULT_RADIO`] without it.
    pub radio: Option<&'a str>,
    /// Policies, `timeout` and `uapsd` with their time where it is not the usual one (`uapsd:40ms`); all that there are if
    /// empty.
    pub policies: &'a [String],
    /// Seed of the backoff and of the beacons' phase.
    pub seed: u64,
}

/// Why there is no analysis. Each prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnalyzeError {
    /// The capture.
    Capture(CaptureError),
    /// An option; the text names it.
    Option(String),
    /// Whoever watched broke it off.
    Interrupted,
}

impl fmt::Display for AnalyzeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(error) => error.fmt(f),
            Self::Option(text) => f.write_str(text),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for AnalyzeError {}

impl From<CaptureError> for AnalyzeError {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

/// Analyses the capture at `path` (`-` is standard input). `watch` is told the share done, 0 to 1, and asked now and then
/// whether to go on. Without a station in question the document lists candidates and has no policies.
///
/// # Errors
/// [`AnalyzeError`]: the capture cannot be read, lacks the station, or an option is wrong.
pub fn analyze(
    path: &str,
    question: &Question<'_>,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Analysis, AnalyzeError> {
    let option = |name: &str, text: &dyn fmt::Display| AnalyzeError::Option(format!("{name}: {text}"));
    let radio_name = question.radio.unwrap_or(DEFAULT_RADIO);
    let radio = Radio::find(radio_name).map_err(|error| option("--radio", &error))?;
    let choices = choices(question.policies).map_err(|error| option("--policy", &error))?;
    let named = question.station.map(Station::parse).transpose()?;
    let capture = Capture::open(path)?;
    let station = match (named, question.station) {
        (Some(_), Some(text)) => Some(stations::named(&capture, text)?),
        _ => stations::clear(&capture),
    };
    let mut document = report::describe(&capture, station.as_ref(), Some(&radio));
    if let Some(station) = station {
        let segments = arrivals(&capture, &station);
        let phy = Phy::of(&capture, &station);
        document.phy = Some(phy.to_string());
        document.pace = Some(pace(&segments));
        let mut what_if = WhatIf { segments, phy, radio_name, seed: question.seed, watch, done: 0, runs: 1 };
        document.policies = what_if.run(&choices)?;
        keep_alive_costs(&capture, &station, &mut what_if, &mut document)?;
    }
    Ok(document)
}

/// What each peer's keep-alives cost under the policy that spends least, since that is where sleep is disturbed: the
/// replay's energy less that of a replay without them.
fn keep_alive_costs(
    capture: &Capture,
    station: &Station,
    what_if: &mut WhatIf<'_>,
    document: &mut Analysis,
) -> Result<(), AnalyzeError> {
    // `ideal` is a bound, and no policy that anybody could run.
    let real = document.policies.iter().filter(|policy| policy.policy != PolicyConfig::Ideal.name());
    let least = real.min_by(|a, b| a.energy_j.total_cmp(&b.energy_j));
    let Some((name, energy_j)) = least.map(|policy| (policy.policy.clone(), policy.energy_j)) else {
        return Ok(());
    };
    let Ok(choice) = Choice::parse(&name) else { return Ok(()) };
    let (list, _) = report::keep_alives(capture, station);
    let findings = document.findings.iter_mut().filter(|finding| finding.kind == "keep-alive");
    for (finding, lone) in findings.zip(list) {
        what_if.segments = arrivals_without(capture, station, &lone.packets);
        let without = what_if.total(choice.policy, what_if.phy.rate)?;
        let cost_j = energy_j - without.energy.as_joules();
        finding.text += &format!("; under {name} they cost {cost_j:.3} J of {energy_j:.3} J");
        finding.cost_j = Some(cost_j);
        finding.policy = Some(name.clone());
    }
    Ok(())
}

/// When the packets of all segments came. A segment's end is a gap, too, with the tail that a replay has.
fn pace(segments: &[SegmentArrivals]) -> PaceReport {
    let gaps_of = |counts: fn(&Arrival) -> bool| {
        let of_segment = |segment: &SegmentArrivals| {
            let end = Instant::ZERO + segment.duration + TAIL;
            let counted = segment.arrivals.iter().filter(|arrival| counts(arrival));
            let mut before = Instant::ZERO;
            let gap =
                |(at, down): (Instant, bool)| (at.saturating_since(std::mem::replace(&mut before, at)), down);
            let times = counted.map(|arrival| (arrival.at, arrival.down));
            times.chain([(end, false)]).map(gap).collect::<Vec<_>>()
        };
        segments.iter().flat_map(of_segment).collect::<Vec<_>>()
    };
    let all = || segments.iter().flat_map(|segment| &segment.arrivals);
    let elapsed: Span = segments.iter().map(|segment| segment.duration + TAIL).sum();
    PaceReport {
        elapsed_s: elapsed.as_secs_f64(),
        packets_down: all().filter(|arrival| arrival.down).count() as u64,
        packets_up: all().filter(|arrival| !arrival.down).count() as u64,
        gaps: GapReport::of(&gaps_of(|_| true)),
        gaps_up: GapReport::of(&gaps_of(|arrival| !arrival.down)),
    }
}

/// A policy as it was asked for.
#[derive(Clone, Debug)]
struct Choice {
    name: String,
    policy: PolicyConfig,
}

impl Choice {
    /// `psm`, `uapsd:40ms`.
    fn parse(text: &str) -> Result<Self, String> {
        let (name, time) = text.split_once(':').map_or((text, None), |(name, time)| (name, Some(time)));
        let policy = PolicyConfig::parse(name).map_err(|error| error.to_string())?;
        let policy = match time {
            None => policy,
            Some(time) => {
                let span: Span = time.parse().map_err(|error| format!("{text:?}: {error}"))?;
                with_time(policy, span).ok_or_else(|| {
                    format!("{text:?}: {name} has no time; allowed are timeout and uapsd with one")
                })?
            }
        };
        policy.check().map_err(|error| format!("{text:?}: {error}"))?;
        Ok(Self { name: text.to_owned(), policy })
    }
}

/// The policy with its one time, if it has one.
fn with_time(policy: PolicyConfig, time: Span) -> Option<PolicyConfig> {
    match policy {
        PolicyConfig::Timeout { .. } => Some(PolicyConfig::Timeout { timeout: time }),
        PolicyConfig::Uapsd { .. } => Some(PolicyConfig::Uapsd { interval: time }),
        _ => None,
    }
}

fn choices(names: &[String]) -> Result<Vec<Choice>, String> {
    if names.is_empty() {
        return Policy::NAMES.iter().map(|info| Choice::parse(info.name)).collect();
    }
    names.iter().map(|name| Choice::parse(name)).collect()
}

/// The physical layer of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phy {
    basis: Basis,
    standard: Standard,
    rate: Rate,
    /// What the capture really had, where the simulator has no such rate.
    captured: Option<Rate>,
    beacon_interval: Span,
}

impl Phy {
    fn of(capture: &Capture, station: &Station) -> Self {
        let beacon_interval = beacon_interval(capture, station);
        let assumed = Self {
            basis: Basis::Inferred,
            standard: Standard::N,
            rate: ASSUMED,
            captured: None,
            beacon_interval,
        };
        let mut by_rate: BTreeMap<(Rate, Preamble), u64> = BTreeMap::new();
        let (mut timed, mut all) = (0, 0);
        for packet in &capture.packets {
            if station.direction(capture, packet).is_none() {
                continue;
            }
            all += 1;
            let Some(frame) = capture.frame(packet) else { continue };
            if let (Some(rate), Some(preamble)) = (frame.rate, frame.preamble) {
                timed += 1;
                *by_rate.entry((rate, preamble)).or_default() += u64::from(frame.air_bytes);
            }
        }
        let most = by_rate.into_iter().max_by_key(|(_, bytes)| *bytes);
        let Some(((captured, preamble), _)) = most.filter(|_| timed * 100 >= all * MEASURED_PERCENT) else {
            return assumed;
        };
        let standard = match preamble {
            Preamble::LongDsss | Preamble::ShortDsss => Standard::B,
            Preamble::Ofdm => Standard::A,
            _ => Standard::N,
        };
        let rates = standard.rates();
        let rate =
            rates.iter().rev().find(|rate| **rate <= captured).or(rates.first()).copied().unwrap_or(ASSUMED);
        let captured = (rate != captured).then_some(captured);
        Self { basis: Basis::Measured, standard, rate, captured, beacon_interval }
    }

    /// The rates to replay at: the one to report, then the ends of the band.
    fn rates(&self) -> Vec<Rate> {
        match self.basis {
            Basis::Measured => vec![self.rate],
            Basis::Inferred => vec![self.rate, ASSUMED_FAST, ASSUMED_SLOW],
        }
    }
}

impl fmt::Display for Phy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standard = match self.standard {
            Standard::B => "802.11b",
            Standard::A => "802.11a",
            Standard::G => "802.11g",
            Standard::N => "802.11n",
        };
        match (self.basis, self.captured) {
            (Basis::Inferred, _) => {
                write!(f, "assumed: {standard} at {} (band: {ASSUMED_FAST} to {ASSUMED_SLOW})", self.rate)?;
            }
            (Basis::Measured, None) => {
                write!(f, "measured: {standard} at {}, the rate of most of the station's bytes", self.rate)?;
            }
            (Basis::Measured, Some(captured)) => write!(
                f,
                "measured: most of the station's bytes went at {captured}, replayed at {}, the next rate of {standard} \
                 below",
                self.rate
            )?,
        }
        write!(f, "; a beacon every {}", self.beacon_interval)
    }
}

/// The cell's beacon interval where beacons were captured, else the usual hundred time units.
fn beacon_interval(capture: &Capture, station: &Station) -> Span {
    let of_station = || {
        let Station::Mac(mac) = station else { return None };
        let record = power_save::observe(capture).stations.into_iter().find(|record| record.mac == *mac)?;
        capture.networks.get(&record.bssid?)
    };
    let only = || capture.networks.values().next().filter(|_| capture.networks.len() == 1);
    let units = of_station().or_else(only).map(|network| network.interval_tu);
    let units = units.filter(|units| BEACON_INTERVALS_TU.contains(units)).unwrap_or(100);
    Span::from_micros(1_024) * u64::from(units)
}

/// What the segments' replays under one policy at one rate came to.
#[derive(Clone, Debug, Default)]
struct Total {
    energy: Energy,
    idealized: Energy,
    elapsed: Span,
    asleep: Span,
    states: StateReport,
    wakeups: BTreeMap<String, u64>,
    /// Delay of each packet by segment and number.
    delays: BTreeMap<(usize, u64), Span>,
    packets: u64,
    lost: u64,
}

struct WhatIf<'a> {
    segments: Vec<SegmentArrivals>,
    phy: Phy,
    radio_name: &'a str,
    seed: u64,
    watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
    done: usize,
    runs: usize,
}

impl WhatIf<'_> {
    fn run(&mut self, choices: &[Choice]) -> Result<Vec<PolicyReport>, AnalyzeError> {
        let rates = self.phy.rates();
        // Some more for the keep-alives, whose number follows from the capture.
        self.runs = (4 + choices.len() * rates.len()) * self.segments.len().max(1);
        let awake = self.total(PolicyConfig::Active, self.phy.rate)?;
        let mut reports = Vec::new();
        for choice in choices {
            let totals: Result<Vec<Total>, AnalyzeError> =
                rates.iter().map(|rate| self.total(choice.policy, *rate)).collect();
            reports.push(self.report(&choice.name, &totals?, &awake));
        }
        Ok(reports)
    }

    fn total(&mut self, policy: PolicyConfig, rate: Rate) -> Result<Total, AnalyzeError> {
        let broken = |error: &dyn fmt::Display| AnalyzeError::Option(error.to_string());
        let mut scenario = Scenario::from_text(CELL, "replay", &[]).map_err(|error| broken(&error))?;
        let Some(wifi) = &mut scenario.wifi else { unreachable!("the cell of a replay is one") };
        wifi.standard = self.phy.standard;
        wifi.data_rate = rate;
        scenario.ap.beacon_interval = self.phy.beacon_interval;
        scenario.station[0].policy = policy.name().to_owned();
        match policy {
            PolicyConfig::Timeout { timeout } => scenario.station[0].timeout = timeout,
            PolicyConfig::Uapsd { interval } => scenario.station[0].interval = interval,
            _ => {}
        }
        scenario.station[0].radio = self.radio_name.to_owned();
        let mut total = Total::default();
        for (index, segment) in self.segments.iter().enumerate() {
            let (done, runs) = (self.done as f64, self.runs as f64);
            let mut watch = |progress: airwatt_sim::world::RunProgress| {
                (self.watch)(((done + progress.share.clamp(0.0, 1.0)) / runs).min(1.0))
            };
            let packets = segment.arrivals.len() as u64;
            let duration = segment.duration + TAIL;
            let replayed = replay(&scenario, self.seed, segment.arrivals.clone(), duration, &mut watch);
            let replayed = replayed.map_err(|error| match error {
                airwatt_sim::RunError::Interrupted => AnalyzeError::Interrupted,
                other => broken(&other),
            })?;
            total.packets += packets;
            total.add(index, &replayed);
            self.done += 1;
            if (self.watch)((self.done as f64 / runs).min(1.0)).is_break() {
                return Err(AnalyzeError::Interrupted);
            }
        }
        Ok(total)
    }

    fn report(&self, policy: &str, totals: &[Total], awake: &Total) -> PolicyReport {
        let total = &totals[0];
        let mut added: Vec<Span> = total
            .delays
            .iter()
            .filter_map(|(packet, delay)| Some(delay.saturating_sub(*awake.delays.get(packet)?)))
            .collect();
        let joules = || totals.iter().map(|total| total.energy.as_joules());
        let band = totals.len() > 1;
        let elapsed_s = total.elapsed.as_secs_f64();
        let share = |part: f64| if elapsed_s > 0.0 { part / elapsed_s } else { 0.0 };
        PolicyReport {
            policy: policy.to_owned(),
            basis: self.phy.basis,
            energy_j: total.energy.as_joules(),
            energy_low_j: band.then(|| joules().fold(f64::INFINITY, f64::min)),
            energy_high_j: band.then(|| joules().fold(0.0, f64::max)),
            idealized_energy_j: total.idealized.as_joules(),
            average_power_w: share(total.energy.as_joules()),
            sleep_share: share(total.asleep.as_secs_f64()),
            state_s: total.states,
            added_delay_s: DelayReport::of(&mut added),
            wakeups: total.wakeups.clone(),
            packets: total.packets,
            lost: total.lost,
        }
    }
}

impl Total {
    fn add(&mut self, segment: usize, replayed: &airwatt_sim::replay::Replayed) {
        let (ledger, radio) = (&replayed.ledger, &replayed.radio);
        self.energy += ledger.energy(radio);
        self.idealized += ledger.idealized_energy(radio);
        self.elapsed += ledger.elapsed();
        self.asleep += ledger.duration(State::Sleep);
        self.states.add(&StateReport::of(ledger));
        for (reason, count) in &replayed.wakeups {
            *self.wakeups.entry((*reason).to_owned()).or_default() += count;
        }
        for Delay { number, delay, .. } in &replayed.delays {
            self.delays.insert((segment, *number), *delay);
        }
        self.lost += replayed.lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_come_with_their_time() {
        let parsed = |text: &str| Choice::parse(text).map(|choice| choice.policy);
        assert_eq!(parsed("psm"), Ok(PolicyConfig::Psm));
        assert_eq!(parsed("uapsd:40ms"), Ok(PolicyConfig::Uapsd { interval: Span::from_millis(40) }));
        assert_eq!(parsed("timeout:1s"), Ok(PolicyConfig::Timeout { timeout: Span::from_secs(1) }));
        for (text, problem) in [
            ("psm:3ms", "psm has no time"),
            ("uapsd:5", "unit"),
            ("uapsd:0ms", "out of range"),
            ("frob:3ms", "not a power-save policy"),
        ] {
            assert!(parsed(text).unwrap_err().contains(problem), "{text}");
        }
    }

    #[test]
    fn gaps_are_between_packets_and_at_both_ends() {
        let arrival = |ms, down| Arrival { at: Instant::from_millis(ms), down, bytes: 100, after: None };
        let arrivals = vec![arrival(30, true), arrival(33, false), arrival(500, true)];
        let pace = pace(&[SegmentArrivals { arrivals, duration: Span::from_millis(600) }]);
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
