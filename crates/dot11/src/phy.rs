//! How long things take on the air: timing of 802.11b, a, g and n, and the length of a frame at a rate.
//!
//! Clauses are those of IEEE 802.11-2020. 802.11n is HT-mixed format in 20 MHz channels with long guard interval and
//! binary convolutional coding; frames at non-HT rates (control responses, beacons) go out as OFDM, and at 2.4 GHz also as
//! DSSS and CCK, with the long preamble or the short one.
//! Left out: 40 MHz, short guard interval, greenfield, protection frames, the transmitters' turnaround inside SIFS.

use airwatt_base::{Rate, Span};
#[cfg(feature = "serde")]
use schemars::JsonSchema;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

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

const OFDM_RATES: [(u64, u64); 8] = [
    (6_000, 24),
    (9_000, 36),
    (12_000, 48),
    (18_000, 72),
    (24_000, 96),
    (36_000, 144),
    (48_000, 192),
    (54_000, 216),
];

/// Rates of 802.11b in kbit/s (clauses 15 and 16).
const DSSS_RATES: [u64; 4] = [1_000, 2_000, 5_500, 11_000];

/// Data bits per 4 us symbol for one stream, MCS 0 to 7 (table 19-27).
const HT_BITS_PER_SYMBOL: [u64; 8] = [26, 52, 78, 104, 156, 208, 234, 260];
const HT_MAX_STREAMS: u64 = 4;

/// SERVICE (16) and tail (6) bits (17.3.2).
const OFDM_SERVICE_AND_TAIL_BITS: u64 = 22;
const OFDM_SYMBOL: Span = micros(4);
/// Training fields and SIGNAL (17.3.2.1).
const OFDM_PREAMBLE: Span = micros(20);
/// Silence that ERP-OFDM appends so that 802.11b's SIFS still fits a decoder (18.3.2.4).
const ERP_SIGNAL_EXTENSION: Span = micros(6);
/// Short PLCP preamble and header, for all rates but 1 Mbit/s (16.2.2.3).
const DSSS_SHORT_PREAMBLE: Span = micros(96);
/// Long PLCP preamble and header at 1 Mbit/s (16.2.2.2).
const DSSS_PREAMBLE: Span = micros(192);

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
        matches!(self, Self::B | Self::G | Self::N24)
    }

    /// The rate that beacons have in most access points: the lowest that every station of the band receives.
    pub const fn default_beacon_rate(self) -> Rate {
        Rate::from_bps(if self.is_2_4_ghz() { 1_000_000 } else { 6_000_000 })
    }

    /// The rates that a beacon or a control frame may have, ascending: at 2.4 GHz those of 802.11b too.
    pub fn control_rates(self) -> Vec<Rate> {
        let mut rates = self.rates();
        if matches!(self, Self::G | Self::N24) {
            rates.extend(DSSS_RATES.map(|kbps| Rate::from_bps(kbps * 1_000)));
            rates.sort_unstable();
        }
        rates
    }

    /// The rates that a data frame may have, ascending.
    pub fn rates(self) -> Vec<Rate> {
        let kbps = |count: u64| Rate::from_bps(count * 1_000);
        let ofdm = OFDM_RATES.iter().map(|(rate, _)| kbps(*rate));
        let mut rates: Vec<Rate> = match self {
            Self::B => DSSS_RATES.map(kbps).to_vec(),
            Self::A | Self::G => ofdm.collect(),
            Self::N | Self::N24 => {
                let ht = (1..=HT_MAX_STREAMS)
                    .flat_map(|streams| HT_BITS_PER_SYMBOL.map(|bits| kbps(bits * streams * 250)));
                ofdm.chain(ht).collect()
            }
        };
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// The highest of the PHY's mandatory rates that is not above `data`: the rate of a control response where
    /// nothing else is set (10.6.6.5.2).
    pub fn control_rate(self, data: Rate) -> Rate {
        let mandatory: &[u64] = match self {
            Self::B => &DSSS_RATES,
            Self::A | Self::G | Self::N | Self::N24 => &[6_000, 12_000, 24_000],
        };
        let rate =
            mandatory.iter().map(|kbps| Rate::from_bps(kbps * 1_000)).filter(|rate| *rate <= data).max();
        rate.unwrap_or(self.timing().lowest_rate)
    }

    /// How frames are laid out at `rate`; `None` if `rate` is not one of [`Standard::control_rates`].
    pub fn format(self, rate: Rate) -> Option<PhyFormat> {
        let kbps = rate.as_bps() / 1_000;
        if !self.control_rates().contains(&rate) {
            return None;
        }
        if DSSS_RATES.contains(&kbps) && self.is_2_4_ghz() {
            // 16.2.3.5: the LENGTH field counts whole microseconds, so a "symbol" of one microsecond fits.
            let bits_per_kilosymbol = kbps;
            return Some(PhyFormat {
                preamble: DSSS_PREAMBLE,
                extension: Span::ZERO,
                symbol: micros(1),
                bits_per_kilosymbol,
                fixed_bits: 0,
            });
        }
        let extension = if matches!(self, Self::G | Self::N24) { ERP_SIGNAL_EXTENSION } else { Span::ZERO };
        let (preamble, bits) = match OFDM_RATES.iter().find(|(ofdm, _)| *ofdm == kbps) {
            Some((_, bits)) => (OFDM_PREAMBLE + extension, *bits),
            None => high_throughput(kbps).map(|(streams, bits)| (ht_preamble(streams) + extension, bits))?,
        };
        let bits_per_kilosymbol = bits * 1_000;
        Some(PhyFormat {
            preamble,
            extension,
            symbol: OFDM_SYMBOL,
            bits_per_kilosymbol,
            fixed_bits: OFDM_SERVICE_AND_TAIL_BITS,
        })
    }

    /// Streams and MCS index of a high-throughput rate, for radiotap headers.
    pub fn mcs(self, rate: Rate) -> Option<u8> {
        let kbps = rate.as_bps() / 1_000;
        if !matches!(self, Self::N | Self::N24) || OFDM_RATES.iter().any(|(ofdm, _)| *ofdm == kbps) {
            return None;
        }
        let (streams, per_symbol) = high_throughput(kbps)?;
        let index = HT_BITS_PER_SYMBOL.iter().position(|bits| bits * streams == per_symbol)?;
        Some((8 * (streams - 1)) as u8 + index as u8)
    }
}

/// How a frame is laid out at one rate: a preamble (with any signal extension) and whole symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhyFormat {
    preamble: Span,
    /// The part of `preamble` that is silence behind the frame.
    extension: Span,
    symbol: Span,
    /// Data bits in a thousand symbols: 802.11b's 5.5 Mbit/s has no whole number of bits in a microsecond.
    bits_per_kilosymbol: u64,
    fixed_bits: u64,
}

impl PhyFormat {
    /// The same with the short preamble, if the rate is one of 802.11b above 1 Mbit/s.
    #[must_use]
    pub fn with_short_preamble(mut self) -> Self {
        let lowest = DSSS_RATES[0];
        if self.preamble == DSSS_PREAMBLE && self.bits_per_kilosymbol > lowest {
            self.preamble = DSSS_SHORT_PREAMBLE;
        }
        self
    }

    /// Training fields and headers, with any signal extension.
    pub const fn preamble(&self) -> Span {
        self.preamble
    }

    /// Training fields and headers: what a receiver hears before the body.
    pub fn training(&self) -> Span {
        self.preamble - self.extension
    }

    /// What the body is rounded up to.
    pub const fn symbol(&self) -> Span {
        self.symbol
    }

    /// Bits that the PHY adds to the body.
    pub const fn fixed_bits(&self) -> u64 {
        self.fixed_bits
    }

    /// The time from the beginning of a frame until a receiver has its first `bytes`, counted from the MAC header on. The
    /// delay of the decoder is left out.
    pub fn time_of_first(&self, bytes: u32) -> Span {
        self.time(bytes) - self.extension
    }

    /// How long a frame of `bytes` (MAC header to FCS) is on the air.
    pub const fn time(&self, bytes: u32) -> Span {
        let bits = bytes as u64 * 8 + self.fixed_bits;
        let symbols = (bits * 1_000).div_ceil(self.bits_per_kilosymbol);
        Span::from_nanos(self.preamble.as_nanos() + symbols * self.symbol.as_nanos())
    }
}

/// Streams and data bits per symbol of an HT rate; of several ways the one with the fewest streams.
fn high_throughput(kbps: u64) -> Option<(u64, u64)> {
    (1..=HT_MAX_STREAMS)
        .flat_map(|streams| HT_BITS_PER_SYMBOL.map(|bits| (streams, bits * streams)))
        .find(|(_, per_symbol)| per_symbol * 250 == kbps)
}

/// HT-mixed preamble: legacy training and SIGNAL 20 us, HT-SIG 8 us, HT-STF 4 us, one HT-LTF of 4 us a stream and four
/// of them for three streams (19.3.9).
fn ht_preamble(streams: u64) -> Span {
    let training_fields = if streams == 3 { 4 } else { streams };
    OFDM_PREAMBLE + micros(12) + micros(4) * training_fields
}

#[cfg(test)]
mod tests;
