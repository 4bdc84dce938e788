//! What a transfer costs beyond its payload, without watts: bytes, time, and a weighted sum of both.
//!
//! From the E2TCP thesis (section 2.2, its equations in parentheses): the data overhead counts every byte that was sent in
//! both directions, with headers, acknowledgements and retransmissions, against the payload (2.3); the time overhead
//! compares the time until the sender knows that everything arrived with the time that the payload alone takes at the
//! link's rate (2.4); the energy overhead weighs them as a radio would (2.5). Efficiencies are the inverse view (2.6 to
//! 2.12). All are fractions: 0.08 is 8 %.
//!
//! Left out: real powers. Those are the ledger's; the weights here are the thesis's three kinds of radio.

use std::fmt;

use airwatt_base::{Rate, Size, Span};

#[cfg(test)]
mod tests;

/// How a kind of radio weighs bytes against time: fractions that add up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// The name in results.
    pub name: &'static str,
    /// The share of energy that goes with the bytes sent.
    pub data: f64,
    /// The share of energy that goes with the time spent.
    pub time: f64,
}

/// A radio that costs nearly the same whatever it does: time counts.
pub const ALWAYS_ACTIVE: Mix = Mix { name: "always-active", data: 0.1, time: 0.9 };
/// Between the other two; the default of the thesis.
pub const INTERMEDIATE: Mix = Mix { name: "intermediate", data: 0.5, time: 0.5 };
/// A radio that costs nearly nothing unless it sends or receives: bytes count.
pub const IDEAL: Mix = Mix { name: "ideal", data: 0.9, time: 0.1 };
/// The three radios of the thesis (table 2.2), in the order of the results.
pub const MIXES: [Mix; 3] = [ALWAYS_ACTIVE, INTERMEDIATE, IDEAL];

/// Why an overhead is not defined. Its display names the parameter and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverheadError {
    /// There is no payload to compare with.
    NoPayload,
    /// The link has no rate to compare with.
    NoRate,
}

impl fmt::Display for OverheadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPayload => f.write_str("payload: \"0B\"; allowed is more than zero"),
            Self::NoRate => f.write_str("rate: \"0bps\"; allowed is more than zero"),
        }
    }
}

impl std::error::Error for OverheadError {}

/// The data overhead (2.3): `sent` over `payload`, less one. `sent` is every byte of both directions. Below zero only if
/// less was sent than the payload.
///
/// # Errors
/// A payload of zero.
pub fn data_overhead(sent: Size, payload: Size) -> Result<f64, OverheadError> {
    if payload == Size::ZERO {
        return Err(OverheadError::NoPayload);
    }
    // The difference is taken in integers: close to zero a quotient less one would lose digits.
    let extra = i128::from(sent.as_bytes()) - i128::from(payload.as_bytes());
    Ok(extra as f64 / payload.as_bytes() as f64)
}

/// The time overhead (2.4): `elapsed` over the time of `payload` at `rate`, less one. Below zero only if the transfer
/// was faster than the rate.
///
/// # Errors
/// A payload or a rate of zero.
pub fn time_overhead(elapsed: Span, payload: Size, rate: Rate) -> Result<f64, OverheadError> {
    if payload == Size::ZERO {
        return Err(OverheadError::NoPayload);
    }
    if rate == Rate::ZERO {
        return Err(OverheadError::NoRate);
    }
    // In nanobits: elapsed x rate against payload. The product of two 64-bit counts may need the 128th bit, so the
    // difference is taken without sign.
    let possible = u128::from(elapsed.as_nanos()) * u128::from(rate.as_bps());
    let needed = u128::from(payload.as_bytes()) * 8_000_000_000;
    let extra = possible.abs_diff(needed) as f64 / needed as f64;
    Ok(if possible < needed { -extra } else { extra })
}

/// The energy overhead (2.5): the two overheads weighed by `mix`.
pub fn energy_overhead(data_overhead: f64, time_overhead: f64, mix: Mix) -> f64 {
    mix.data * data_overhead + mix.time * time_overhead
}

/// The data or time efficiency that belongs to an overhead (2.8, 2.10): 1 / (1 + overhead).
pub fn efficiency(overhead: f64) -> f64 {
    1.0 / (1.0 + overhead)
}

/// The energy efficiency (2.12): the two efficiencies weighed by `mix`. It is not [`efficiency`] of the energy overhead;
/// the percentages quoted in section 5.5.5 of the thesis are that one.
pub fn energy_efficiency(data_overhead: f64, time_overhead: f64, mix: Mix) -> f64 {
    mix.data * efficiency(data_overhead) + mix.time * efficiency(time_overhead)
}
