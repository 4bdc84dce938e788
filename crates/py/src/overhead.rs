//! What a transfer costs beyond its payload: `airwatt_energy::overhead`, so that Python computes no overhead of its own.
//!
//! Sizes are bytes, overheads and efficiencies are fractions. Left out: radios' powers, which results have.

use airwatt_base::{Rate, Size, Span};
use airwatt_energy::overhead::{self, MIXES, Mix, OverheadError};
use pyo3::prelude::*;

use crate::errors::InputError;

fn wrong(error: OverheadError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The extra bytes sent over the payload's (2.3), as a fraction.
#[pyfunction]
pub(crate) fn data_overhead(sent_bytes: u64, payload_bytes: u64) -> PyResult<f64> {
    overhead::data_overhead(Size::from_bytes(sent_bytes), Size::from_bytes(payload_bytes)).map_err(wrong)
}

/// The extra time over the payload's at `rate_bps` (2.4), as a fraction.
#[pyfunction]
pub(crate) fn time_overhead(elapsed_ns: u64, payload_bytes: u64, rate_bps: u64) -> PyResult<f64> {
    let (elapsed, rate) = (Span::from_nanos(elapsed_ns), Rate::from_bps(rate_bps));
    overhead::time_overhead(elapsed, Size::from_bytes(payload_bytes), rate).map_err(wrong)
}

/// The two overheads weighed for a kind of radio (2.5).
#[pyfunction]
pub(crate) fn energy_overhead(data_overhead: f64, time_overhead: f64, radio: &str) -> PyResult<f64> {
    Ok(overhead::energy_overhead(data_overhead, time_overhead, mix(radio)?))
}

/// The efficiency that belongs to an overhead (2.8, 2.10).
#[pyfunction]
pub(crate) fn efficiency(overhead: f64) -> f64 {
    overhead::efficiency(overhead)
}

/// The two efficiencies weighed for a kind of radio (2.12).
#[pyfunction]
pub(crate) fn energy_efficiency(data_overhead: f64, time_overhead: f64, radio: &str) -> PyResult<f64> {
    Ok(overhead::energy_efficiency(data_overhead, time_overhead, mix(radio)?))
}

/// The kinds of radio: name, weight of the data overhead, weight of the time overhead.
#[pyfunction]
pub(crate) fn radio_mixes() -> Vec<(&'static str, f64, f64)> {
    MIXES.iter().map(|mix| (mix.name, mix.data, mix.time)).collect()
}

fn mix(radio: &str) -> PyResult<Mix> {
    MIXES.iter().find(|mix| mix.name == radio).copied().ok_or_else(|| {
        let names: Vec<_> = MIXES.iter().map(|mix| mix.name).collect();
        InputError::new_err(format!("radio: expected one of {}, got {radio:?}", names.join(", ")))
    })
}
