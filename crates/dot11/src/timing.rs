//! The PHYs that scenarios name: timing of 802.11b, a, g and n, and the transmit vectors of their rates.
//!
//! Clauses are those of IEEE 802.11-2020. 802.11n is HT-mixed format in 20 MHz channels with long guard interval and
//! binary convolutional coding; frames at non-HT rates (control responses, beacons) go out as OFDM, and at 2.4 GHz also as
//! DSSS and CCK, with the long preamble or the short one.
//! Left out: protection frames, the transmitters' turnaround inside SIFS.

use airwatt_base::{Rate, Span};
#[cfg(feature = "serde")]
use schemars::JsonSchema;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::tx_vector::{Band, Guard, TxVector, Width};

/// Which PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize, JsonSchema))]
pub enum Standard {
    /// High-rate DSSS at 2.4 GHz, long preamble (clause 16).
    #[cfg_attr(feature = "serde", serde(rename = "802.11b"))]
    B,
    /// OFDM at 5 GHz, 20 MHz channels (clause 17).
    #[cfg_attr(feature = "serde", serde(rename = "802.11a"))]
    A,
    /// Extended-rate PHY at 2.4 GHz with ERP-OFDM and short slots (clause 18).
    #[cfg_attr(feature = "serde", serde(rename = "802.11g"))]
    G,
    /// High-throughput PHY at 5 GHz, 20 MHz channels (clause 19).
    #[cfg_attr(feature = "serde", serde(rename = "802.11n"))]
    N,
    /// The same at 2.4 GHz, with short slots, in the presence of 802.11g (clauses 18 and 19).
    #[cfg_attr(feature = "serde", serde(rename = "802.11n-2.4GHz"))]
    N24,
}

/// The PHY's constants. Tables 16-2 (b), 17-21 (a), 18-5 (g) and 19-25 (n).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// aSlotTime.
    pub slot: Span,
    /// aSIFSTime.
    pub sifs: Span,
    /// aCWmin, in slots.
    pub cw_min: u32,
    /// aCWmax, in slots.
    pub cw_max: u32,
    /// aRxPHYStartDelay of the control response: how long after a frame begins its receiver can tell.
    pub rx_start_delay: Span,
    /// The lowest mandatory rate: what EIFS assumes of a lost acknowledgement (10.3.2.3.7).
    pub lowest_rate: Rate,
}

const fn micros(count: u64) -> Span {
    Span::from_micros(count)
}

const fn kbps(count: u64) -> Rate {
    Rate::from_bps(count * 1_000)
}

/// Rates of 802.11b (clauses 15 and 16), and of 802.11a and g (table 17-4).
const DSSS_RATES: [Rate; 4] = [kbps(1_000), kbps(2_000), kbps(5_500), kbps(11_000)];
const OFDM_RATES: [Rate; 8] = [
    kbps(6_000),
    kbps(9_000),
    kbps(12_000),
    kbps(18_000),
    kbps(24_000),
    kbps(36_000),
    kbps(48_000),
    kbps(54_000),
];

impl Standard {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::B => "802.11b",
            Self::A => "802.11a",
            Self::G => "802.11g",
            Self::N => "802.11n",
            Self::N24 => "802.11n-2.4GHz",
        }
    }

    /// The PHY's constants.
    pub const fn timing(self) -> Timing {
        let ofdm = Timing {
            slot: micros(9),
            sifs: micros(16),
            cw_min: 15,
            cw_max: 1023,
            rx_start_delay: micros(20),
            lowest_rate: Rate::from_bps(6_000_000),
        };
        match self {
            Self::B => Timing {
                slot: micros(20),
                sifs: micros(10),
                cw_min: 31,
                cw_max: 1023,
                rx_start_delay: micros(192),
                lowest_rate: Rate::from_bps(1_000_000),
            },
            Self::A | Self::N => ofdm,
            Self::G | Self::N24 => Timing { sifs: micros(10), ..ofdm },
        }
    }

    /// Whether the PHY is of the 2.4 GHz band.
    pub const fn is_2_4_ghz(self) -> bool {
        matches!(self.band(), Band::Ghz2)
    }

    /// The rate that beacons have in most access points: the lowest that every station of the band receives.
    pub const fn default_beacon_rate(self) -> Rate {
        Rate::from_bps(if self.is_2_4_ghz() { 1_000_000 } else { 6_000_000 })
    }

    /// The band of its channels.
    pub const fn band(self) -> Band {
        match self {
            Self::B | Self::G | Self::N24 => Band::Ghz2,
            Self::A | Self::N => Band::Ghz5,
        }
    }

    /// The rates that a beacon or a control frame may have, ascending: at 2.4 GHz those of 802.11b too.
    pub fn control_rates(self) -> Vec<Rate> {
        let mut rates = self.rates();
        if matches!(self, Self::G | Self::N24) {
            rates.extend(DSSS_RATES);
            rates.sort_unstable();
        }
        rates
    }

    /// The rates that a data frame may have, ascending.
    pub fn rates(self) -> Vec<Rate> {
        let mut rates: Vec<Rate> = match self {
            Self::B => DSSS_RATES.to_vec(),
            Self::A | Self::G => OFDM_RATES.to_vec(),
            Self::N | Self::N24 => {
                OFDM_RATES.into_iter().chain(ht_vectors().map(|vector| vector.rate())).collect()
            }
        };
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// The highest of the PHY's mandatory rates that is not above `data`: the rate of a control response where
    /// nothing else is set (10.6.6.5.2).
    pub fn control_rate(self, data: Rate) -> Rate {
        let mandatory: &[Rate] = match self {
            Self::B => &DSSS_RATES,
            Self::A | Self::G | Self::N | Self::N24 => &[kbps(6_000), kbps(12_000), kbps(24_000)],
        };
        let rate = mandatory.iter().copied().filter(|rate| *rate <= data).max();
        rate.unwrap_or(self.timing().lowest_rate)
    }

    /// The vector of a frame at `rate`, with the long preamble at a rate of 802.11b; of several ways to send at a rate of
    /// 802.11n, the one with the fewest streams. `None` if `rate` is not one of [`Standard::control_rates`].
    pub fn vector(self, rate: Rate) -> Option<TxVector> {
        let dsss = || TxVector::dsss(rate, false);
        let ofdm = || TxVector::ofdm(rate);
        match self {
            Self::B => dsss(),
            Self::A => ofdm(),
            Self::G => dsss().or_else(ofdm),
            Self::N => ofdm().or_else(|| ht_vector(rate)),
            Self::N24 => dsss().or_else(ofdm).or_else(|| ht_vector(rate)),
        }
    }

    /// The layout in time of a frame at `rate`, as [`Standard::vector`] sends it.
    pub fn layout(self, rate: Rate) -> Option<Layout> {
        Some(self.vector(rate)?.layout(self.band()))
    }
}

/// The vectors of 802.11n that scenarios have: mixed format in 20 MHz channels with the long guard interval, by index.
fn ht_vectors() -> impl Iterator<Item = TxVector> {
    (0..32).filter_map(|index| TxVector::ht(index, Width::Mhz20, Guard::Long))
}

fn ht_vector(rate: Rate) -> Option<TxVector> {
    ht_vectors().find(|vector| vector.rate() == rate)
}

#[cfg(test)]
mod tests;
