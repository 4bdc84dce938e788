//! Indices of fairness for any throughputs, by the code that also writes result documents.

use airwatt_energy::fairness::{self, FairnessError, Index};
use pyo3::prelude::*;

use crate::errors::InputError;
use crate::whole::Whole;

fn wrong(error: FairnessError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// Which index the arguments ask for: Jain's without a capacity.
fn index(capacity: Option<f64>, alpha: Option<f64>) -> Index {
    match (capacity, alpha) {
        (None, _) => Index::Jain,
        (Some(capacity), None) => Index::FairUtilization(capacity),
        (Some(capacity), Some(alpha)) => Index::FairUtilizationAlpha(capacity, alpha),
    }
}

/// An index of throughputs. Raises `InputError`, also where they exceed the capacity together.
#[pyfunction]
#[pyo3(signature = (throughputs, capacity = None, alpha = None))]
pub(crate) fn fairness_index(
    throughputs: Vec<f64>,
    capacity: Option<f64>,
    alpha: Option<f64>,
) -> PyResult<f64> {
    if let Some(capacity) = capacity {
        fairness::check_capacity_holds(&throughputs, capacity).map_err(wrong)?;
    }
    index(capacity, alpha).of(&throughputs).map_err(wrong)
}

/// An index by the sliding-window method. Raises `InputError`, also where the flows exceed the capacity over the whole trace.
#[pyfunction]
#[pyo3(signature = (amounts, bin_s, window_bins, capacity = None, alpha = None))]
pub(crate) fn fairness_sliding(
    py: Python<'_>,
    amounts: Vec<Vec<f64>>,
    bin_s: f64,
    window_bins: Whole,
    capacity: Option<f64>,
    alpha: Option<f64>,
) -> PyResult<f64> {
    let window_bins = window_bins.within("window_bins", 1, usize::MAX)?;
    py.detach(|| {
        let value = fairness::sliding_window(&amounts, bin_s, window_bins, index(capacity, alpha))?;
        if let Some(capacity) = capacity {
            let mean = |amounts: &Vec<f64>| amounts.iter().sum::<f64>() / (bin_s * amounts.len() as f64);
            fairness::check_capacity_holds(&amounts.iter().map(mean).collect::<Vec<_>>(), capacity)?;
        }
        Ok(value)
    })
    .map_err(wrong)
}
