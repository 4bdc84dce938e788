//! The cost of a transfer beyond its payload, without watts: bytes, time, and a weighted sum of both.
//!
//! From the E2TCP thesis (section 2.2, its equations in parentheses): the data overhead counts every byte that was sent in
//! both directions, with headers, acknowledgements and retransmissions, against the payload (2.3); the time overhead
//! compares the time until the sender knows that everything arrived with the time that the payload alone takes at the
//! link's rate (2.4); the energy overhead weighs them as a radio would (2.5). Efficiencies are the inverse view (2.6 to
//! 2.12). All are fractions: 0.08 is 8 %.
//!
//! Left out: real powers, which the ledger uses. The weights here are those of the thesis for three kinds of radio.

use std::fmt;

use airwatt_base::{Rate, Size, Span};

#[cfg(test)]
mod tests;

/// The weights of bytes and of time for a kind of radio: fractions that add up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// The name in results.
    pub name: &'static str,
    /// The share of energy that depends on the bytes sent.
    pub data: f64,
    /// The share of energy that depends on the time spent.
    pub time: f64,
}

/// A radio with nearly the same power in all states: time dominates.
pub const ALWAYS_ACTIVE: Mix = Mix { name: "always-active", data: 0.1, time: 0.9 };
/// A radio between the other two, which is the default of the thesis.
pub const INTERMEDIATE: Mix = Mix { name: "intermediate", data: 0.5, time: 0.5 };
/// A radio with almost no power unless it sends or receives: bytes dominate.
pub const IDEAL: Mix = Mix { name: "ideal", data: 0.9, time: 0.1 };
/// The three radios of the thesis (table 2.2), in the order of the results.
pub const MIXES: [Mix; 3] = [ALWAYS_ACTIVE, INTERMEDIATE, IDEAL];

/// The reason why an overhead is not defined. Its display names the parameter and what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverheadError {
    /// The payload is zero.
    NoPayload,
    /// The rate of the link is zero.
    NoRate,
}

impl fmt::Display for OverheadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPayload => f.write_str("payload: expected more than 0B, got 0B"),
            Self::NoRate => f.write_str("rate: expected more than 0bps, got 0bps"),
        }
    }
}

impl std::error::Error for OverheadError {}

/// The data overhead (2.3): `sent` over `payload`, less one. `sent` is every byte of both directions. It is negative
/// only if less was sent than the payload.
///
/// # Errors
/// Returns an error if the payload is zero.
pub fn data_overhead(sent: Size, payload: Size) -> Result<f64, OverheadError> {
    if payload == Size::ZERO {
        return Err(OverheadError::NoPayload);
    }
    // The difference is computed in integers, because a quotient less one would lose digits close to zero.
    let extra = i128::from(sent.as_bytes()) - i128::from(payload.as_bytes());
    Ok(extra as f64 / payload.as_bytes() as f64)
}

/// The time overhead (2.4): `elapsed` over the time of `payload` at `rate`, less one. It is negative only if the
/// transfer was faster than the rate.
///
/// # Errors
/// Returns an error if the payload or the rate is zero.
pub fn time_overhead(elapsed: Span, payload: Size, rate: Rate) -> Result<f64, OverheadError> {
    if payload == Size::ZERO {
        return Err(OverheadError::NoPayload);
    }
    if rate == Rate::ZERO {
        return Err(OverheadError::NoRate);
    }
    // Compares elapsed x rate with the payload in nanobits. The product of two 64-bit counts may need the 128th bit, so
    // the difference is computed without sign.
    let possible = u128::from(elapsed.as_nanos()) * u128::from(rate.as_bps());
    let needed = u128::from(payload.as_bytes()) * 8_000_000_000;
    let extra = possible.abs_diff(needed) as f64 / needed as f64;
    Ok(if possible < needed { -extra } else { extra })
}

/// The energy overhead (2.5): the sum of the two overheads with the weights of `mix`.
pub fn energy_overhead(data_overhead: f64, time_overhead: f64, mix: Mix) -> f64 {
    mix.data * data_overhead + mix.time * time_overhead
}

/// The data or time efficiency for an overhead (2.8, 2.10): 1 / (1 + overhead).
pub fn efficiency(overhead: f64) -> f64 {
    1.0 / (1.0 + overhead)
}

/// The energy efficiency (2.12): the sum of the two efficiencies with the weights of `mix`. It is not [`efficiency`] of
/// the energy overhead, which section 5.5.5 of the thesis quotes in per cent.
pub fn energy_efficiency(data_overhead: f64, time_overhead: f64, mix: Mix) -> f64 {
    mix.data * efficiency(data_overhead) + mix.time * efficiency(time_overhead)
}
