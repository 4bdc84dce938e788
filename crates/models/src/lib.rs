//! Analytical models, one file each: the formula, its symbols with units, its source, and where it holds.
//!
//! Every model has the same shape: a `Params` of plain numbers in SI base units (the unit is the last part of a name),
//! an `Output`, and `solve(&Params) -> Result<Output, ModelError>`. A model is a pure function of its parameters, so that
//! arrays of points can be solved in any order and on any number of threads. Floating point belongs here and nowhere
//! below results: nothing that decides in a protocol calls a model.
//!
//! * [`dcf_saturation`]: n stations that always have a frame to send (Bianchi 2000), with and without a retry limit.
//! * [`max_throughput`]: one station alone on the channel (Jun, Peddabachagari, Sichitiu 2003).

use std::fmt;

pub mod dcf_saturation;
pub mod max_throughput;

/// A parameter that is outside a model's range. Its display is one line: parameter, value, what is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelError {
    /// The name of the parameter as in `Params`.
    pub parameter: &'static str,
    /// Its value.
    pub value: f64,
    /// The range that the model takes.
    pub allowed: &'static str,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; allowed is {}", self.parameter, self.value, self.allowed)
    }
}

impl std::error::Error for ModelError {}

/// Refuses what is not a finite number of zero or more.
fn not_negative(parameter: &'static str, value: f64) -> Result<(), ModelError> {
    let holds = value.is_finite() && value >= 0.0;
    require(holds, parameter, value, "a finite number of zero or more")
}

/// Refuses what is not a finite number above zero.
fn positive(parameter: &'static str, value: f64) -> Result<(), ModelError> {
    let holds = value.is_finite() && value > 0.0;
    require(holds, parameter, value, "a finite number above zero")
}

/// An error about `parameter` unless `holds`.
fn require(
    holds: bool,
    parameter: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), ModelError> {
    if holds { Ok(()) } else { Err(ModelError { parameter, value, allowed }) }
}
