//! The physical layer of a replay: that of the capture if radiotap states the rates, otherwise assumed.
//!
//! A captured layer has the rate that carried most of the station's bytes. An assumed one is 802.11n at [`ASSUMED`], with
//! a band from replays at [`ASSUMED_FAST`] and [`ASSUMED_SLOW`]. Left out: rate adaptation within a capture, and rates
//! that the simulator does not have, which the next lower one replaces.

use std::collections::BTreeMap;
use std::fmt;

use airwatt_base::{Rate, Span};
use airwatt_dot11::{AccessParameters, Format, Layout, Standard, TIME_UNIT};
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture::Capture;
use crate::packet::ObservedCell;
use crate::power_save;
use crate::stations::Station;

/// The rate that is assumed if the capture states none: one stream at the fastest index of 20 MHz (MCS 7).
pub const ASSUMED: Rate = Rate::from_bps(65_000_000);
/// The fast end of the band: two streams, as most phones have (MCS 15).
pub const ASSUMED_FAST: Rate = Rate::from_bps(130_000_000);
/// The slow end of the band: one stream at the edge of a flat (MCS 1).
pub const ASSUMED_SLOW: Rate = Rate::from_bps(13_000_000);

/// The share of the station's packets in percent whose rate must be stated for the rate to count as measured.
const MEASURED_PERCENT: u64 = 50;

/// Beacon intervals that are believed, 10 to 5,000 time units; others are damage.
const BEACON_INTERVALS: std::ops::RangeInclusive<Span> =
    Span::from_micros(10_240)..=Span::from_micros(5_120_000);

/// Beacons at 2.4 GHz if neither the capture nor the user says otherwise: the lowest basic rate of nearly all access points.
pub(crate) const ASSUMED_BEACONS: Rate = Rate::from_bps(1_000_000);
/// The other end of what is usual: the lowest OFDM rate, as at 5 GHz and where DSSS rates are disabled.
pub(crate) const FAST_BEACONS: Rate = Rate::from_bps(6_000_000);

/// The source of a figure of energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// From a replay of the packets at an assumed rate.
    Inferred,
    /// From a replay of the packets at the rate of most of the captured bytes.
    Simulated,
    /// From the frames' time on the air, which follows from the rates in radiotap headers.
    Measured,
}

/// The physical layer of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phy {
    pub(crate) basis: Basis,
    pub(crate) standard: Standard,
    pub(crate) rate: Rate,
    /// The rate of the capture, if the simulator does not have it.
    captured: Option<Rate>,
    pub(crate) beacon_interval: Span,
    /// DTIM period, if a beacon has it.
    pub(crate) dtim_period: Option<u8>,
    /// Mean length of the cell's beacons with FCS, in bytes; [`BEACON_BYTES`] if none was captured.
    pub(crate) beacon_bytes: u32,
    /// Rate of beacons.
    pub(crate) beacon_rate: Rate,
    /// Whether that was captured.
    pub(crate) knows_beacon_rate: bool,
    /// Rate of group-addressed frames, if one was captured.
    pub(crate) group_rate: Option<Rate>,
    /// How stations contend for the medium, if a beacon has it.
    pub(crate) access: Option<AccessParameters>,
}

impl Phy {
    /// The layer of the station's packets.
    pub(crate) fn of(capture: &Capture, station: &Station) -> Self {
        let network = network(capture, station);
        let band = Band::of(capture);
        let captured_beacons = band.beacon_rate.filter(|rate| rate.as_bps() > 0);
        let is_2ghz = band.is_2ghz.unwrap_or(true);
        let assumed = Self {
            basis: Basis::Inferred,
            standard: if is_2ghz { Standard::N24 } else { Standard::N },
            rate: ASSUMED,
            captured: None,
            beacon_interval: beacon_interval(network),
            dtim_period: network.map(|network| network.dtim_period).filter(|period| *period > 0),
            beacon_bytes: network.and_then(mean_beacon).unwrap_or(BEACON_BYTES),
            beacon_rate: captured_beacons.unwrap_or(if is_2ghz { ASSUMED_BEACONS } else { FAST_BEACONS }),
            knows_beacon_rate: captured_beacons.is_some() || !is_2ghz,
            group_rate: captured_group_rate(capture),
            access: network.and_then(|network| network.access).filter(is_plausible),
        };
        let mut by_rate: BTreeMap<(Rate, Generation), u64> = BTreeMap::new();
        let (mut timed, mut all) = (0, 0);
        for packet in &capture.packets {
            if station.direction(capture, packet).is_none() {
                continue;
            }
            all += 1;
            let Some(frame) = capture.frame(packet) else { continue };
            if let Some(vector) = frame.vector {
                timed += 1;
                let generation = Generation::of(vector.format());
                *by_rate.entry((vector.rate(), generation)).or_default() += u64::from(frame.air_bytes);
            }
        }
        let most = by_rate.into_iter().max_by_key(|(_, bytes)| *bytes);
        let Some(((captured, generation), _)) = most.filter(|_| timed * 100 >= all * MEASURED_PERCENT) else {
            return assumed;
        };
        // Without a channel the rates of beacons tell the bands apart.
        let is_2ghz = band.is_2ghz.unwrap_or_else(|| captured_beacons.is_some_and(is_dsss));
        let standard = match generation {
            Generation::Dsss => Standard::B,
            Generation::Ofdm if is_2ghz => Standard::G,
            Generation::Ofdm => Standard::A,
            Generation::Newer if is_2ghz => Standard::N24,
            Generation::Newer => Standard::N,
        };
        let rates = standard.rates();
        let rate = rates
            .iter()
            .rev()
            .find(|rate| **rate <= captured)
            .or(rates.first())
            .copied()
            .unwrap_or(rate_of(standard));
        let captured = (rate != captured).then_some(captured);
        let default = if has_dsss(standard) { ASSUMED_BEACONS } else { FAST_BEACONS };
        Self {
            basis: Basis::Simulated,
            standard,
            rate,
            captured,
            beacon_rate: captured_beacons.unwrap_or(default),
            knows_beacon_rate: captured_beacons.is_some(),
            ..assumed
        }
    }

    /// The rates to replay at: the one to report, then the ends of the band.
    pub(crate) fn rates(&self) -> Vec<Rate> {
        match self.basis {
            Basis::Simulated => vec![self.rate],
            Basis::Inferred | Basis::Measured => vec![self.rate, ASSUMED_FAST, ASSUMED_SLOW],
        }
    }
}

/// The standards that a format is replayed as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Generation {
    Dsss,
    Ofdm,
    /// 802.11n and everything after it.
    Newer,
}

impl Generation {
    const fn of(format: Format) -> Self {
        match format {
            Format::Dsss { .. } => Self::Dsss,
            Format::Ofdm => Self::Ofdm,
            _ => Self::Newer,
        }
    }
}

/// The lowest rate of a standard, which it has.
fn rate_of(standard: Standard) -> Rate {
    standard.rates().first().copied().unwrap_or(ASSUMED)
}

/// Whether a standard is one of 2.4 GHz, whose beacons may have DSSS rates.
pub(crate) const fn has_dsss(standard: Standard) -> bool {
    matches!(standard, Standard::B | Standard::G | Standard::N24)
}

pub(crate) fn is_dsss(rate: Rate) -> bool {
    [1_000_000, 2_000_000, 5_500_000, 11_000_000].contains(&rate.as_bps())
}

/// The bytes of a usual beacon with its FCS.
pub(crate) const BEACON_BYTES: u32 = 143;

/// How beacons and group-addressed frames are laid out at `rate`; at the lowest rate of the standard if it has no such rate.
pub(crate) fn beacon_layout(standard: Standard, rate: Rate) -> Layout {
    // Every access point of the band may send at the rates of all its PHYs.
    let standard = if standard.is_2_4_ghz() || is_dsss(rate) { Standard::N24 } else { Standard::N };
    let layout = standard.layout(rate).or_else(|| standard.layout(standard.timing().lowest_rate));
    layout.expect("the lowest rate is one of the PHY")
}

/// The time of a beacon of `bytes` on the air.
pub(crate) fn beacon_time(standard: Standard, rate: Rate, bytes: u32) -> Span {
    beacon_layout(standard, rate).time(bytes)
}

/// The mean length of a cell's beacons.
fn mean_beacon(network: &ObservedCell) -> Option<u32> {
    let beacons = u64::from(network.beacons);
    let mean = (network.beacon_bytes + beacons / 2).checked_div(beacons)?;
    u32::try_from(mean).ok()
}

/// The band and the rate of beacons, as most frames show them.
struct Band {
    is_2ghz: Option<bool>,
    beacon_rate: Option<Rate>,
}

impl Band {
    fn of(capture: &Capture) -> Self {
        let (mut low, mut high) = (0u64, 0u64);
        let mut beacons: BTreeMap<Rate, u64> = BTreeMap::new();
        for frame in capture.frames.iter().filter(|frame| !frame.damaged) {
            match frame.is_2ghz {
                Some(true) => low += 1,
                Some(false) => high += 1,
                None => {}
            }
            if let Some(rate) = frame.rate().filter(|_| frame.beacon.is_some()) {
                *beacons.entry(rate).or_default() += 1;
            }
        }
        let is_2ghz = (low + high > 0).then_some(low >= high);
        let beacon_rate = beacons.into_iter().max_by_key(|(_, count)| *count).map(|(rate, _)| rate);
        Self { is_2ghz, beacon_rate }
    }
}

impl fmt::Display for Phy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standard = self.standard.name();
        match (self.basis, self.captured) {
            (Basis::Inferred | Basis::Measured, _) => {
                write!(f, "assumed: {standard} at {} (band: {ASSUMED_FAST} to {ASSUMED_SLOW})", self.rate)?;
            }
            (Basis::Simulated, None) => {
                write!(f, "{standard} at {}, the rate of most of the station's bytes", self.rate)?;
            }
            (Basis::Simulated, Some(captured)) => write!(
                f,
                "most of the station's bytes went at {:.1} Mbit/s, replayed at {}, the next rate of {standard} below",
                captured.as_bps() as f64 * 1e-6,
                self.rate
            )?,
        }
        let assumed = if self.knows_beacon_rate { "" } else { " (assumed)" };
        write!(
            f,
            "; a beacon of {} B every {} at {}{assumed}",
            self.beacon_bytes, self.beacon_interval, self.beacon_rate
        )
    }
}

/// The rate of most group-addressed frames of access points, if frames state one.
fn captured_group_rate(capture: &Capture) -> Option<Rate> {
    let mut counts: BTreeMap<Rate, u64> = BTreeMap::new();
    for packet in capture.packets.iter().filter(|packet| packet.group.is_some()) {
        if let Some(rate) = capture.frame(packet).and_then(|frame| frame.rate()) {
            *counts.entry(rate).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(rate, _)| rate)
}

/// Whether access parameters are ones that an access point may announce: 2 slots at least, and windows in order. Others are damage.
const fn is_plausible(access: &AccessParameters) -> bool {
    access.aifsn >= 2 && access.cw_min <= access.cw_max
}

/// The cell of the station, or the only one.
fn network<'a>(capture: &'a Capture, station: &Station) -> Option<&'a ObservedCell> {
    let of_station = || {
        let Station::Mac(mac) = station else { return None };
        let record = power_save::observe(capture).stations.into_iter().find(|record| record.mac == *mac)?;
        capture.networks.get(&record.bssid?)
    };
    of_station().or_else(|| capture.networks.values().next().filter(|_| capture.networks.len() == 1))
}

/// The cell's beacon interval if beacons were captured, otherwise the usual hundred time units.
fn beacon_interval(network: Option<&ObservedCell>) -> Span {
    let interval = network.map(|network| network.interval);
    interval.filter(|interval| BEACON_INTERVALS.contains(interval)).unwrap_or(TIME_UNIT * 100)
}
