//! The sliding-window method: an index of fairness over windows of one length, averaged over all of their positions.
//!
//! Hashimoto 2013 (PhD thesis, eq. 2.12) and 2010 (master thesis, eq. 13, 14), after Koksal, Kassab and Balakrishnan
//! 2000: in a short window an index measures short-term fairness, in a long one long-term fairness. Windows slide in
//! time, by one bin; the text speaks of time windows and leaves the step open.
//!
//! In a short window more data may arrive than the capacity carries, because a filled gap delivers all data beyond it
//! at once. The indices of 2013 and 2010 treat that as distance from the fair share, like too little data.

use super::{FairnessError, fair_utilization, fair_utilization_alpha, jain};

/// The index to average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    /// Jain's index.
    Jain,
    /// The index of 2013, with a capacity.
    FairUtilization(f64),
    /// The index of 2010, with a capacity and an exponent of the utilization.
    FairUtilizationAlpha(f64, f64),
}

impl Index {
    /// The value of the index.
    ///
    /// # Errors
    /// Returns the errors of the index.
    pub fn of(self, throughputs: &[f64]) -> Result<f64, FairnessError> {
        match self {
            Self::Jain => jain(throughputs),
            Self::FairUtilization(capacity) => fair_utilization(throughputs, capacity),
            Self::FairUtilizationAlpha(capacity, alpha) => {
                fair_utilization_alpha(throughputs, capacity, alpha)
            }
        }
    }
}

/// The mean of `index` over all positions of a window of `window` bins. `amounts` contains for each flow the amount
/// carried in each bin, in the unit of the capacity times that of `bin` (for example bits, from bit/s and seconds).
///
/// Windows in which nothing was carried have the value that the index defines: 1 for Jain's, 1/2 and 0 for the others.
///
/// # Errors
/// Returns an error without flows, for flows of different lengths, for an amount or a bin that is not a finite number
/// (of zero or more, above zero), for a window of no bins or longer than the trace, and the errors of the index.
pub fn sliding_window(
    amounts: &[Vec<f64>],
    bin: f64,
    window: usize,
    index: Index,
) -> Result<f64, FairnessError> {
    let bins = amounts.first().ok_or(FairnessError::NoFlows)?.len();
    for (flow, amounts) in amounts.iter().enumerate() {
        if amounts.len() != bins {
            return Err(FairnessError::Uneven { flow, bins: amounts.len(), first: bins });
        }
        if let Some(value) = amounts.iter().copied().find(|x| !(x.is_finite() && *x >= 0.0)) {
            return Err(FairnessError::Throughput { flow, value });
        }
    }
    if !(bin.is_finite() && bin > 0.0) {
        return Err(FairnessError::Bin(bin));
    }
    if window == 0 || window > bins {
        return Err(FairnessError::Window { window, bins });
    }
    let length = bin * window as f64;
    let positions = bins - window + 1;
    // Sums start at the first bin: differences of whole numbers of bytes are exact.
    let sums: Vec<Vec<f64>> = amounts.iter().map(|amounts| running_sums(amounts)).collect();
    let mut shares = vec![0.0; amounts.len()];
    let mut total = 0.0;
    for first in 0..positions {
        for (share, sums) in shares.iter_mut().zip(&sums) {
            *share = (sums[first + window] - sums[first]).max(0.0) / length;
        }
        total += index.of(&shares)?;
    }
    Ok(total / positions as f64)
}

fn running_sums(amounts: &[f64]) -> Vec<f64> {
    let mut sums = Vec::with_capacity(amounts.len() + 1);
    sums.push(0.0);
    let mut sum = 0.0;
    for amount in amounts {
        sum += amount;
        sums.push(sum);
    }
    sums
}
