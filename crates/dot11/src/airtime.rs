//! How long a captured frame was on the air, from its rate, its physical header and its length.
//!
//! Covers what a capture may hold: DSSS, OFDM, HT, VHT and HE, at any rate. Frames of one aggregate share one physical
//! header; each is charged a whole one here, which is an upper bound for all but the first.

use crate::Preamble;
use airwatt_base::{Rate, Span};

/// SERVICE and tail bits (802.11-2020 17.3.2); HE and VHT have the same within a symbol.
const SERVICE_AND_TAIL_BITS: u64 = 22;

/// Length of the physical header, and of the symbol that the body is padded to.
const fn header_and_symbol(preamble: Preamble) -> (Span, Span) {
    let micros = Span::from_micros;
    match preamble {
        Preamble::LongDsss => (micros(192), micros(1)),
        Preamble::ShortDsss => (micros(96), micros(1)),
        Preamble::Ofdm => (micros(20), micros(4)),
        // Legacy part 20, HT-SIG 8, HT-STF 4, one training field of 4 a stream (19.3.9).
        Preamble::HtMixed(streams) => (micros(32 + 4 * training_fields(streams)), micros(4)),
        // HT-GF-STF 8, first training field 8, HT-SIG 8, further training fields.
        Preamble::HtGreenfield(streams) => (micros(24 + 4 * (training_fields(streams) - 1)), micros(4)),
        // Legacy part 20, VHT-SIG-A 8, VHT-STF 4, training fields, VHT-SIG-B 4 (21.3.2).
        Preamble::Vht(streams) => (micros(36 + 4 * training_fields(streams)), micros(4)),
        // Legacy part 20, RL-SIG 4, HE-SIG-A 8, HE-STF 4, training fields of 8 (802.11ax-2021 27.3.4).
        Preamble::He(streams) => (micros(36 + 8 * training_fields(streams)), Span::from_nanos(13_600)),
    }
}

/// Training fields for a number of streams: an even number beyond one (table 19-13, table 21-13).
const fn training_fields(streams: u8) -> u64 {
    match streams {
        0 | 1 => 1,
        streams => (streams as u64).next_multiple_of(2),
    }
}

/// Time on the air of `bytes` (MAC header to FCS). Zero if the rate is zero.
pub fn frame_time(preamble: Preamble, rate: Rate, bytes: u32) -> Span {
    if rate.as_bps() == 0 {
        return Span::ZERO;
    }
    let (header, symbol) = header_and_symbol(preamble);
    let fixed = match preamble {
        Preamble::LongDsss | Preamble::ShortDsss => 0,
        _ => SERVICE_AND_TAIL_BITS,
    };
    let bits = u128::from(u64::from(bytes) * 8 + fixed);
    // Nanoseconds without padding, then whole symbols.
    let nanos = (bits * 1_000_000_000).div_ceil(u128::from(rate.as_bps())) as u64;
    header + symbol * Span::from_nanos(nanos).covering(symbol)
}

#[cfg(test)]
mod tests;
