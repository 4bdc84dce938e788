//! Fairness at a bottleneck: Jain's index, and two indices that also account for the use of its capacity.
//!
//! For throughputs x_1 ... x_n and a capacity C in the same unit, with the fair share x_f = C/n:
//!
//! * Jain, Chiu and Hawe 1984: (sum x)^2 / (n sum x^2). It measures only the spread, not the utilization.
//! * Hashimoto 2013 (PhD thesis, eq. 2.10): 1 / (1 + g^2), where g is the root mean square distance from x_f, divided
//!   by x_f. It equals Jain's index if the flows fill the capacity. This is `fair_utilization` of a result.
//! * Hashimoto 2010 (master thesis, eq. 6, 7): the same times (sum x / C)^alpha, with alpha = 1 by default in the
//!   thesis. These are two metrics; values of one cannot be compared with values of the other.
//!
//! [`sliding_window`] averages any of them over the positions of a window, for short-term and long-term fairness.
//!
//! Left out: max-min fairness and weights. A total above the capacity is not an error here, because it can occur in a
//! window of time; it counts as distance from the fair share. [`check_capacity_holds`] rejects it. With alpha = 1 a
//! larger total at the same Jain index can lower the master index (at a total u C it falls once u^2 > 2 J); from alpha
//! = 2 on it cannot. That is a property of the published definition.

use std::fmt;

mod sliding;
#[cfg(test)]
mod tests;

pub use sliding::{Index, sliding_window};

/// The reason why an index cannot be computed. Its display names the parameter, its value and what is expected.
#[derive(Clone, Debug, PartialEq)]
pub enum FairnessError {
    /// There is no flow.
    NoFlows,
    /// A throughput is negative, infinite or not a number.
    Throughput {
        /// Index of the flow, counted from zero.
        flow: usize,
        /// Its throughput.
        value: f64,
    },
    /// The capacity is zero, negative, infinite or not a number.
    Capacity(f64),
    /// The exponent of the utilization is negative, infinite or not a number.
    Alpha(f64),
    /// The throughputs exceed the capacity by so many orders of magnitude that the index leaves the range of `f64`.
    Overflow,
    /// The sum of the throughputs exceeds the capacity.
    Exceeded {
        /// The capacity.
        capacity: f64,
        /// The sum of the throughputs.
        total: f64,
    },
    /// The flows have different numbers of bins.
    Uneven {
        /// Index of the flow, counted from zero.
        flow: usize,
        /// Its number of bins.
        bins: usize,
        /// The number of bins of the first flow.
        first: usize,
    },
    /// The length of a bin is zero, negative, infinite or not a number.
    Bin(f64),
    /// The window has no bins, or more than the trace.
    Window {
        /// Number of bins of the window.
        window: usize,
        /// Number of bins of the trace.
        bins: usize,
    },
}

impl fmt::Display for FairnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlows => f.write_str("throughputs: expected one or more, got none"),
            Self::Throughput { flow, value } => {
                write!(f, "throughputs[{flow}]: expected a finite value of zero or more, got {value}")
            }
            Self::Capacity(value) => {
                write!(f, "capacity: expected a finite value above zero, got {value}")
            }
            Self::Alpha(value) => write!(f, "alpha: expected a finite value of zero or more, got {value}"),
            Self::Overflow => f.write_str("throughputs: too far above the capacity for an index"),
            Self::Exceeded { capacity, total } => {
                write!(f, "capacity: expected the sum of the throughputs, {total}, or more, got {capacity}")
            }
            Self::Uneven { flow, bins, first } => {
                write!(f, "amounts[{flow}]: expected {first} bins, as of the first flow, got {bins}")
            }
            Self::Bin(value) => write!(f, "bin: expected a finite value above zero, got {value}"),
            Self::Window { window, bins } => {
                write!(f, "window: expected 1 to {bins} bins, the length of the trace, got {window}")
            }
        }
    }
}

impl std::error::Error for FairnessError {}

/// Jain's index of `throughputs` (in any one unit): 1 if all are equal, 1/n if one flow has everything. If all are
/// zero, the quotient is 0/0, and the index is 1, because all flows are equal.
///
/// # Errors
/// Returns an error without flows, or if a throughput is not a finite number of zero or more.
pub fn jain(throughputs: &[f64]) -> Result<f64, FairnessError> {
    check(throughputs)?;
    // The values are divided by the largest, so that squares neither overflow nor underflow.
    let largest = throughputs.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Ok(1.0);
    }
    let sum: f64 = throughputs.iter().map(|x| x / largest).sum();
    let squares: f64 = throughputs.iter().map(|x| (x / largest) * (x / largest)).sum();
    Ok(sum * sum / (throughputs.len() as f64 * squares))
}

/// Hashimoto's two-argument index of 2013: 1 if every flow has its fair share of `capacity` (same unit), 1/n if one
/// flow has all of it, 1/2 if all are zero.
///
/// # Errors
/// Returns the errors of [`jain`], and an error if the capacity is not a finite number above zero.
pub fn fair_utilization(throughputs: &[f64], capacity: f64) -> Result<f64, FairnessError> {
    check(throughputs)?;
    check_capacity(capacity)?;
    let flows = throughputs.len() as f64;
    let distance = |x: &f64| {
        let relative = flows * (x / capacity) - 1.0;
        relative * relative
    };
    let mean_square = throughputs.iter().map(distance).sum::<f64>() / flows;
    Ok(1.0 / (1.0 + mean_square))
}

/// Hashimoto's index of 2010: [`fair_utilization`] times (total / capacity)^alpha. It is zero if all throughputs are
/// zero, unless alpha is zero, when the factor is always 1.
///
/// # Errors
/// Returns the errors of [`fair_utilization`], and errors for an alpha that is not a finite number of zero or more and
/// for an index out of range.
pub fn fair_utilization_alpha(throughputs: &[f64], capacity: f64, alpha: f64) -> Result<f64, FairnessError> {
    let index = fair_utilization(throughputs, capacity)?;
    if !(alpha.is_finite() && alpha >= 0.0) {
        return Err(FairnessError::Alpha(alpha));
    }
    let utilization: f64 = throughputs.iter().map(|x| x / capacity).sum();
    let value = index * utilization.powf(alpha);
    if value.is_finite() { Ok(value) } else { Err(FairnessError::Overflow) }
}

/// Checks that the sum of `throughputs` does not exceed `capacity`, to a relative precision of 10^-9.
///
/// # Errors
/// Returns the errors of [`fair_utilization`], and an error if the sum exceeds the capacity.
pub fn check_capacity_holds(throughputs: &[f64], capacity: f64) -> Result<(), FairnessError> {
    check(throughputs)?;
    check_capacity(capacity)?;
    let total: f64 = throughputs.iter().sum();
    if total <= capacity * (1.0 + 1e-9) { Ok(()) } else { Err(FairnessError::Exceeded { capacity, total }) }
}

fn check(throughputs: &[f64]) -> Result<(), FairnessError> {
    if throughputs.is_empty() {
        return Err(FairnessError::NoFlows);
    }
    let bad = throughputs.iter().position(|x| !(x.is_finite() && *x >= 0.0));
    bad.map_or(Ok(()), |flow| Err(FairnessError::Throughput { flow, value: throughputs[flow] }))
}

fn check_capacity(capacity: f64) -> Result<(), FairnessError> {
    if capacity.is_finite() && capacity > 0.0 { Ok(()) } else { Err(FairnessError::Capacity(capacity)) }
}
