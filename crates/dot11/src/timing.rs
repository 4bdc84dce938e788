//! The PHYs that scenarios name: timing of 802.11b to ax, and the transmit vectors of their rates and modes.
//!
//! Clauses are those of IEEE 802.11-2020 and 802.11ax-2021. A rate of 802.11n stands for HT-mixed format in a 20 MHz channel with the
//! long guard interval and binary convolutional coding; every other vector of 802.11n and all of 802.11ac and ax are named by their
//! [mode](crate::mode_name). Frames at non-HT rates (control responses, beacons) go out as OFDM, and at 2.4 GHz also as
//! DSSS and CCK, with the long preamble or the short one.
//! Left out: protection frames, the transmitters' turnaround inside SIFS.

use airwatt_base::{Rate, Span};
#[cfg(feature = "serde")]
use schemars::JsonSchema;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::tx_vector::{Band, Format, Guard, TxVector, Width};

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
    /// Very-high-throughput PHY at 5 GHz (clause 21), beside 802.11n.
    #[cfg_attr(feature = "serde", serde(rename = "802.11ac"))]
    Ac,
    /// High-efficiency PHY at 5 GHz (802.11ax clause 27), beside 802.11n and ac.
    #[cfg_attr(feature = "serde", serde(rename = "802.11ax"))]
    Ax,
    /// The same at 2.4 GHz, beside 802.11n.
    #[cfg_attr(feature = "serde", serde(rename = "802.11ax-2.4GHz"))]
    Ax24,
    /// The same at 6 GHz, where nothing older is.
    #[cfg_attr(feature = "serde", serde(rename = "802.11ax-6GHz"))]
    Ax6,
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
    /// Every PHY.
    pub const ALL: [Self; 9] =
        [Self::B, Self::A, Self::G, Self::N, Self::N24, Self::Ac, Self::Ax, Self::Ax24, Self::Ax6];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::B => "802.11b",
            Self::A => "802.11a",
            Self::G => "802.11g",
            Self::N => "802.11n",
            Self::N24 => "802.11n-2.4GHz",
            Self::Ac => "802.11ac",
            Self::Ax => "802.11ax",
            Self::Ax24 => "802.11ax-2.4GHz",
            Self::Ax6 => "802.11ax-6GHz",
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
            Self::A | Self::N | Self::Ac | Self::Ax | Self::Ax6 => ofdm,
            Self::G | Self::N24 | Self::Ax24 => Timing { sifs: micros(10), ..ofdm },
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
            Self::B | Self::G | Self::N24 | Self::Ax24 => Band::Ghz2,
            Self::A | Self::N | Self::Ac | Self::Ax => Band::Ghz5,
            Self::Ax6 => Band::Ghz6,
        }
    }

    /// The rates that a beacon or a control frame may have, ascending: at 2.4 GHz those of 802.11b too.
    pub fn control_rates(self) -> Vec<Rate> {
        let mut rates = self.rates();
        if matches!(self, Self::G | Self::N24 | Self::Ax24) {
            rates.extend(DSSS_RATES);
            rates.sort_unstable();
        }
        rates
    }

    /// The rates that a data frame may have, ascending. Those of 802.11ac and ax depend on the width, so that they are named by their
    /// mode.
    pub fn rates(self) -> Vec<Rate> {
        let mut rates: Vec<Rate> = match self {
            Self::B => DSSS_RATES.to_vec(),
            Self::A | Self::G | Self::Ac | Self::Ax | Self::Ax24 | Self::Ax6 => OFDM_RATES.to_vec(),
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
            _ => &[kbps(6_000), kbps(12_000), kbps(24_000)],
        };
        let rate = mandatory.iter().copied().filter(|rate| *rate <= data).max();
        rate.unwrap_or(self.timing().lowest_rate)
    }

    /// The same for data with this vector: not above its non-HT reference rate (10.6.11).
    pub fn response_rate(self, data: &TxVector) -> Rate {
        self.control_rate(data.non_ht_reference_rate().unwrap_or(data.rate()))
    }

    /// Whether a data frame may have this vector.
    pub fn has(self, vector: &TxVector) -> bool {
        let width = vector.width();
        match vector.format() {
            Format::Dsss { .. } => matches!(self, Self::B | Self::G | Self::N24 | Self::Ax24),
            Format::Ofdm => self != Self::B,
            Format::HtMixed => matches!(self, Self::N | Self::N24 | Self::Ac | Self::Ax | Self::Ax24),
            Format::Vht => matches!(self, Self::Ac | Self::Ax),
            Format::He(_) => match self {
                Self::Ax | Self::Ax6 => true,
                Self::Ax24 => width <= Width::Mhz40,
                _ => false,
            },
            Format::HtGreenfield | Format::Eht(_) => false,
        }
    }

    /// The modes that it has, in words; `None` of one that has rates alone.
    pub const fn modes(self) -> Option<&'static str> {
        match self {
            Self::B | Self::A | Self::G => None,
            Self::N | Self::N24 => Some("HT20 and HT40"),
            Self::Ac => Some("HT20, HT40, and VHT20 to VHT160"),
            Self::Ax => Some("HT20, HT40, VHT20 to VHT160, and HE20 to HE160"),
            Self::Ax24 => Some("HT20, HT40, HE20 and HE40"),
            Self::Ax6 => Some("HE20 to HE160"),
        }
    }

    /// The vector of a frame at `rate`, with the long preamble at a rate of 802.11b; of several ways to send at a rate of
    /// 802.11n, the one with the fewest streams. `None` if `rate` is not one of [`Standard::control_rates`].
    pub fn vector(self, rate: Rate) -> Option<TxVector> {
        let dsss = || TxVector::dsss(rate, false);
        let ofdm = || TxVector::ofdm(rate);
        match self {
            Self::B => dsss(),
            Self::A | Self::Ac | Self::Ax | Self::Ax6 => ofdm(),
            Self::G | Self::Ax24 => dsss().or_else(ofdm),
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
