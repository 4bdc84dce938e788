//! Data rates of HT, VHT and HE from their modulation and coding index, and the preambles frames begin with.
//!
//! A rate is data subcarriers times coded bits per subcarrier times coding rate times streams, per symbol. All in
//! integers, rounded down to a bit per second.

use airwatt_base::Rate;

/// The physical header that a frame begins with; with rate and length it gives the time on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preamble {
    /// 802.11b, 144 us preamble and 48 us header (802.11-2020 16.2.2.2).
    LongDsss,
    /// 802.11b, half of that (802.11-2020 16.2.2.3).
    ShortDsss,
    /// 802.11a and g (802.11-2020 17.3.2).
    Ofdm,
    /// 802.11n in mixed format, with the number of spatial streams (802.11-2020 19.3.2).
    HtMixed(u8),
    /// 802.11n greenfield, with the number of spatial streams.
    HtGreenfield(u8),
    /// 802.11ac, with the number of spatial streams (802.11-2020 21.3.2).
    Vht(u8),
    /// 802.11ax, with the number of space-time streams (802.11ax-2021 27.3.4).
    He(u8),
}

/// Width of the channel that a frame takes, or of its share of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bandwidth {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz, or twice 80.
    Mhz160,
    /// An HE resource unit of 26, 52 or 106 tones (the wider ones are the bandwidths above).
    Tones(u16),
}

/// Guard interval between symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 0.4 us, HT and VHT.
    Short,
    /// 0.8 us.
    Long,
    /// 1.6 us, HE.
    Double,
    /// 3.2 us, HE.
    Quadruple,
}

/// Coded bits per subcarrier and stream, and the coding rate as a fraction, of an MCS index (802.11-2020 table 19-27 on,
/// 802.11ax-2021 table 27-61 on).
fn modulation(mcs: u8) -> Option<(u64, u64, u64)> {
    Some(match mcs {
        0 => (1, 1, 2),
        1 => (2, 1, 2),
        2 => (2, 3, 4),
        3 => (4, 1, 2),
        4 => (4, 3, 4),
        5 => (6, 2, 3),
        6 => (6, 3, 4),
        7 => (6, 5, 6),
        8 => (8, 3, 4),
        9 => (8, 5, 6),
        10 => (10, 3, 4),
        11 => (10, 5, 6),
        _ => return None,
    })
}

fn rate(tones: u64, mcs: u8, streams: u8, symbol_ns: u64) -> Option<Rate> {
    if !(1..=8).contains(&streams) {
        return None;
    }
    let (bits, numerator, denominator) = modulation(mcs)?;
    let bits_per_second =
        tones * bits * u64::from(streams) * numerator * 1_000_000_000 / (denominator * symbol_ns);
    Some(Rate::from_bps(bits_per_second))
}

/// Symbol length of HT and VHT.
fn ofdm_symbol_ns(guard: GuardInterval) -> Option<u64> {
    match guard {
        GuardInterval::Short => Some(3_600),
        GuardInterval::Long => Some(4_000),
        _ => None,
    }
}

/// The rate of HT index 0 to 31, which counts streams too. `None` for unequal modulation (33 to 76), index 32 and
/// widths that HT lacks.
pub fn ht_rate(mcs: u8, bandwidth: Bandwidth, guard: GuardInterval) -> Option<Rate> {
    let tones = match bandwidth {
        Bandwidth::Mhz20 => 52,
        Bandwidth::Mhz40 => 108,
        _ => return None,
    };
    if mcs > 31 { None } else { rate(tones, mcs % 8, mcs / 8 + 1, ofdm_symbol_ns(guard)?) }
}

/// The rate of VHT index 0 to 11 with 1 to 8 streams.
pub fn vht_rate(mcs: u8, streams: u8, bandwidth: Bandwidth, guard: GuardInterval) -> Option<Rate> {
    let tones = match bandwidth {
        Bandwidth::Mhz20 => 52,
        Bandwidth::Mhz40 => 108,
        Bandwidth::Mhz80 => 234,
        Bandwidth::Mhz160 => 468,
        Bandwidth::Tones(_) => return None,
    };
    rate(tones, mcs, streams, ofdm_symbol_ns(guard)?)
}

/// The rate of HE index 0 to 11 with 1 to 8 streams, over the whole width or one resource unit; half of it with dual
/// carrier modulation.
pub fn he_rate(mcs: u8, streams: u8, bandwidth: Bandwidth, guard: GuardInterval, dcm: bool) -> Option<Rate> {
    let tones = match bandwidth {
        Bandwidth::Tones(26) => 24,
        Bandwidth::Tones(52) => 48,
        Bandwidth::Tones(106) => 102,
        Bandwidth::Tones(_) => return None,
        Bandwidth::Mhz20 => 234,
        Bandwidth::Mhz40 => 468,
        Bandwidth::Mhz80 => 980,
        Bandwidth::Mhz160 => 1_960,
    };
    let symbol_ns = match guard {
        GuardInterval::Long => 13_600,
        GuardInterval::Double => 14_400,
        GuardInterval::Quadruple => 16_000,
        GuardInterval::Short => return None,
    };
    rate(if dcm { tones / 2 } else { tones }, mcs, streams, symbol_ns)
}
