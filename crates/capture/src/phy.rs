//! The physical layer of a replay: that of the capture if radiotap states the rates, otherwise assumed.
//!
//! A captured layer has the rate or the mode that carried most of the station's bytes, and A-MPDUs if block acknowledgements were
//! captured. An assumed one is 802.11n at [`ASSUMED`], at 6 GHz 802.11ax with the next mode below, with a band from replays at [`ASSUMED_FAST`] and
//! [`ASSUMED_SLOW`]. Left out: rate adaptation within a capture, and modes that the simulator does not have, which the next lower rate of
//! 802.11n replaces.

use std::collections::BTreeMap;
use std::fmt;

use airwatt_base::{Rate, Span};
use airwatt_dot11::{
    AccessParameters, Band, Format, FrameKind, Guard, Layout, Standard, TIME_UNIT, TxVector, Width,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture::Capture;
use crate::packet::ObservedCell;
use crate::power_save::Observations;
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
    /// How data frames are sent, if their rate does not say it.
    pub(crate) mode: Option<TxVector>,
    /// Whether frames are sent in A-MPDUs.
    pub(crate) has_aggregates: bool,
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
    pub(crate) fn of((capture, seen): (&Capture, &Observations), station: &Station) -> Self {
        let network = network((capture, seen), station);
        let seen_band = MostSeen::of(capture);
        let captured_beacons = seen_band.beacon_rate.filter(|rate| rate.as_bps() > 0);
        let standard = match seen_band.band {
            Some(Band::Ghz5) => Standard::N,
            // The only one of the band.
            Some(Band::Ghz6) => Standard::Ax6,
            Some(Band::Ghz2) | None => Standard::N24,
        };
        let is_2ghz = standard == Standard::N24;
        let assumed = Self {
            basis: Basis::Inferred,
            standard,
            rate: ASSUMED,
            mode: None,
            has_aggregates: false,
            captured: None,
            beacon_interval: beacon_interval(network),
            dtim_period: network.map(|network| network.dtim_period).filter(|period| *period > 0),
            beacon_bytes: network.and_then(mean_beacon).unwrap_or(BEACON_BYTES),
            beacon_rate: captured_beacons.unwrap_or(if is_2ghz { ASSUMED_BEACONS } else { FAST_BEACONS }),
            knows_beacon_rate: captured_beacons.is_some() || !is_2ghz,
            group_rate: captured_group_rate(capture),
            access: network.and_then(|network| network.access).filter(is_plausible),
        };
        let Some(vector) = usual_vector(capture, station) else { return assumed };
        // Without a channel the rates of beacons tell the bands apart.
        let by_beacons = || if captured_beacons.is_some_and(is_dsss) { Band::Ghz2 } else { Band::Ghz5 };
        let band = seen_band.band.unwrap_or_else(by_beacons);
        let mode = Some(vector).filter(|vector| is_mode(vector, standard_of(vector.format(), band)));
        let standard = match mode {
            Some(mode) => standard_of(mode.format(), band),
            None => without_newer_modes(standard_of(vector.format(), band)),
        };
        let captured = vector.rate();
        // Of 802.11n most rates say how frames are sent.
        let mode = mode.filter(|mode| standard.vector(captured) != Some(*mode));
        let rates = standard.rates();
        let at_most = || rates.iter().rev().find(|rate| **rate <= captured).or(rates.first()).copied();
        let rate = match mode {
            Some(_) => captured,
            None => at_most().unwrap_or(rate_of(standard)),
        };
        let captured = (rate != captured).then_some(captured);
        let default = if standard.is_2_4_ghz() { ASSUMED_BEACONS } else { FAST_BEACONS };
        Self {
            basis: Basis::Simulated,
            standard,
            rate,
            mode,
            has_aggregates: standard.modes().is_some() && has_block_acks(capture, station),
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

/// The vector of most bytes of the station; `None` if the capture states those of too few packets.
fn usual_vector(capture: &Capture, station: &Station) -> Option<TxVector> {
    let mut by_vector: Vec<(TxVector, u64)> = Vec::new();
    let (mut timed, mut all) = (0, 0);
    for packet in &capture.packets {
        if station.direction(capture, packet).is_none() {
            continue;
        }
        all += 1;
        let Some(frame) = capture.frame(packet) else { continue };
        let Some(vector) = frame.vector.map(plain) else { continue };
        timed += 1;
        let bytes = u64::from(frame.air_bytes);
        match by_vector.iter_mut().find(|(known, _)| *known == vector) {
            Some((_, sum)) => *sum += bytes,
            None => by_vector.push((vector, bytes)),
        }
    }
    let most = by_vector.into_iter().max_by_key(|(vector, bytes)| (*bytes, vector.rate()));
    most.filter(|_| timed * 100 >= all * MEASURED_PERCENT).map(|(vector, _)| vector)
}

/// The vector without what takes no other time on the air, and without what the simulator does not have if a mode of the same rate and
/// width says the same: greenfield preambles of 802.11n, and the modes of 802.11be that 802.11ax has as well.
fn plain(vector: TxVector) -> TxVector {
    let (mcs, streams, width, guard) = (vector.mcs(), vector.streams(), vector.width(), vector.guard());
    let plain = match vector.format() {
        Format::Dsss { .. } => TxVector::dsss(vector.rate(), false),
        Format::Ofdm => TxVector::ofdm(vector.rate()),
        Format::HtMixed | Format::HtGreenfield => {
            vector.ht_index().and_then(|index| TxVector::ht(index, width, guard))
        }
        Format::Vht => TxVector::vht(mcs, streams, width, guard),
        Format::He(_) | Format::Eht(_) => TxVector::he(mcs, streams, width, guard),
    };
    plain.unwrap_or(vector)
}

/// The standard that has a format, or the newest one of the band before it.
const fn standard_of(format: Format, band: Band) -> Standard {
    match (format, band) {
        (Format::Dsss { .. }, _) => Standard::B,
        (Format::Ofdm, Band::Ghz2) => Standard::G,
        // Frames of OFDM have the same times at 5 and 6 GHz.
        (Format::Ofdm, Band::Ghz5 | Band::Ghz6) => Standard::A,
        (Format::He(_), Band::Ghz2) => Standard::Ax24,
        (Format::He(_), Band::Ghz5) => Standard::Ax,
        (Format::He(_), Band::Ghz6) => Standard::Ax6,
        (Format::Vht, Band::Ghz5 | Band::Ghz6) => Standard::Ac,
        (_, Band::Ghz2) => Standard::N24,
        (_, Band::Ghz5 | Band::Ghz6) => Standard::N,
    }
}

/// The standard whose rates replace modes that the simulator does not have.
const fn without_newer_modes(standard: Standard) -> Standard {
    match standard {
        Standard::Ax24 => Standard::N24,
        Standard::Ac | Standard::Ax | Standard::Ax6 => Standard::N,
        other => other,
    }
}

/// Whether a vector is a mode of 802.11n, ac or ax that the simulator has: resource units are none.
fn is_mode(vector: &TxVector, standard: Standard) -> bool {
    let is_whole = !matches!(vector.width(), Width::Tones26 | Width::Tones52 | Width::Tones106);
    standard.modes().is_some() && is_whole && standard.has(vector)
}

/// The fastest mode in 20 MHz that is not above `rate`, of a standard without other rates of data: that of 6 GHz. The slowest mode if all
/// are above; `None` of other standards.
pub(crate) fn he_mode_below(standard: Standard, rate: Rate) -> Option<TxVector> {
    if standard.band() != Band::Ghz6 {
        return None;
    }
    let modes = || (0..12).filter_map(|mcs| TxVector::he(mcs, 1, Width::Mhz20, Guard::Long));
    modes().rfind(|mode| mode.rate() <= rate).or_else(|| modes().next())
}

/// Whether the station's frames were answered by block acknowledgements, or the station sent them.
fn has_block_acks(capture: &Capture, station: &Station) -> bool {
    let is_station = |mac| matches!(station, Station::Mac(own) if *own == mac);
    let frames = capture.frames.iter().filter(|frame| frame.control.kind == FrameKind::BlockAck);
    frames
        .filter(|frame| !frame.damaged)
        .any(|frame| is_station(frame.receiver) || frame.transmitter.is_some_and(is_station))
}

/// The lowest rate of a standard, which it has.
fn rate_of(standard: Standard) -> Rate {
    standard.rates().first().copied().unwrap_or(ASSUMED)
}

/// The rate at which a cell of a standard sends the beacons that are sent at `rate`: that or the next rate below which it has for them.
/// None if all of its rates are above.
pub(crate) fn beacon_rate_of(standard: Standard, rate: Rate) -> Option<Rate> {
    standard.control_rates().into_iter().filter(|other| *other <= rate).max()
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
struct MostSeen {
    band: Option<Band>,
    beacon_rate: Option<Rate>,
}

impl MostSeen {
    fn of(capture: &Capture) -> Self {
        let mut bands: BTreeMap<Band, u64> = BTreeMap::new();
        let mut beacons: BTreeMap<Rate, u64> = BTreeMap::new();
        for frame in capture.frames.iter().filter(|frame| !frame.damaged) {
            if let Some(band) = frame.band {
                *bands.entry(band).or_default() += 1;
            }
            if let Some(rate) = frame.rate().filter(|_| frame.beacon.is_some()) {
                *beacons.entry(rate).or_default() += 1;
            }
        }
        // The lower one of two bands counts if both have equally many frames.
        let band = bands.into_iter().rev().max_by_key(|(_, count)| *count).map(|(band, _)| band);
        let beacon_rate = beacons.into_iter().max_by_key(|(_, count)| *count).map(|(rate, _)| rate);
        Self { band, beacon_rate }
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
                let (at, what) = match self.mode {
                    Some(mode) => (mode.to_string(), "mode"),
                    None => (self.rate.to_string(), "rate"),
                };
                write!(f, "{standard} at {at}, the {what} of most of the station's bytes")?;
            }
            (Basis::Simulated, Some(captured)) => write!(
                f,
                "most of the station's bytes went at {:.1} Mbit/s, replayed at {}, the next rate of {standard} below",
                captured.as_bps() as f64 * 1e-6,
                self.rate
            )?,
        }
        if self.has_aggregates {
            write!(f, ", in A-MPDUs, since block acknowledgements were captured")?;
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
fn network<'a>((capture, seen): (&'a Capture, &Observations), station: &Station) -> Option<&'a ObservedCell> {
    let of_station = || {
        let Station::Mac(mac) = station else { return None };
        let record = seen.stations.iter().find(|record| record.mac == *mac)?;
        capture.networks.get(&record.bssid?)
    };
    of_station().or_else(|| capture.networks.values().next().filter(|_| capture.networks.len() == 1))
}

/// The cell's beacon interval if beacons were captured, otherwise the usual hundred time units.
fn beacon_interval(network: Option<&ObservedCell>) -> Span {
    let interval = network.map(|network| network.interval);
    interval.filter(|interval| BEACON_INTERVALS.contains(interval)).unwrap_or(TIME_UNIT * 100)
}
