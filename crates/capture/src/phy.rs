//! The physical layer of a replay: measured where radiotap states the rates, assumed elsewhere.
//!
//! A measured layer has the rate that carried most of the station's bytes. An assumed one is 802.11n at [`ASSUMED`], with
//! a band from replays at [`ASSUMED_FAST`] and [`ASSUMED_SLOW`]. Left out: rate adaptation within a capture, and rates
//! that the simulator does not have, which the next lower one replaces.

use std::collections::BTreeMap;
use std::fmt;

use airwatt_base::{Rate, Span};
use airwatt_dot11::Preamble;
use airwatt_dot11::phy::Standard;

use crate::file::Capture;
use crate::power_save;
use crate::report::Basis;
use crate::stations::Station;

/// The rate that is assumed if the capture states none: one stream at the fastest index of 20 MHz (MCS 7).
pub const ASSUMED: Rate = Rate::from_bps(65_000_000);
/// The fast end of the band: two streams, as most phones have (MCS 15).
pub const ASSUMED_FAST: Rate = Rate::from_bps(130_000_000);
/// The slow end of the band: one stream at the edge of a flat (MCS 1).
pub const ASSUMED_SLOW: Rate = Rate::from_bps(13_000_000);

/// The share of the station's packets in percent whose rate must be stated for the rate to count as measured.
const MEASURED_PERCENT: u64 = 50;

/// Beacon intervals in time units that are believed; others are damage.
const BEACON_INTERVALS_TU: std::ops::RangeInclusive<u16> = 10..=5_000;

/// The physical layer of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phy {
    pub(crate) basis: Basis,
    pub(crate) standard: Standard,
    pub(crate) rate: Rate,
    /// The rate of the capture, if the simulator does not have it.
    captured: Option<Rate>,
    pub(crate) beacon_interval: Span,
}

impl Phy {
    /// The layer of the station's packets.
    pub(crate) fn of(capture: &Capture, station: &Station) -> Self {
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
    pub(crate) fn rates(&self) -> Vec<Rate> {
        match self.basis {
            Basis::Measured => vec![self.rate],
            Basis::Inferred => vec![self.rate, ASSUMED_FAST, ASSUMED_SLOW],
        }
    }
}

impl fmt::Display for Phy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standard = self.standard.name();
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
