//! `airwatt._core`: the Rust core as Python sees it.
//!
//! Thin on purpose. Rust decides what is right and what an error says; Python presents. Documents cross as JSON text
//! (one serialisation, the one that the contract describes), columns of traces as raw little-endian buffers that Arrow
//! takes without looking at them. Nothing here knows a protocol, a default or a unit.
//!
//! Left out: streaming of traces while a run goes on, and pickling. Runs are fast, and threads share them as they are.

mod advise;
mod capture;
mod control;
mod e2tcp;
mod emulate;
mod errors;
mod fairness;
mod lists;
mod log;
mod models;
mod output;
mod overhead;
mod own;
mod quantity;
mod run;
mod scenario;
mod trace;
mod values;
mod whole;

use pyo3::prelude::*;

/// The native module. Its Python signatures stand in `python/airwatt/_core.pyi`, and a test compares the two.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::advise::{
        advise_added_delays, advise_analysis, advise_candidates, advise_change, advise_choose,
        advise_deep_sleep, advise_policies, advise_scenario, wake_request,
    };
    #[pymodule_export]
    use crate::capture::{analyze, annotate, anonymize, tcp_segments, trace_means, write_timeline_perfetto};
    #[pymodule_export]
    use crate::control::Control;
    #[pymodule_export]
    use crate::e2tcp::{E2tcpEndpoint, E2tcpTable, e2tcp_decode, e2tcp_encode, e2tcp_size};
    #[pymodule_export]
    use crate::emulate::emulate;
    #[pymodule_export]
    use crate::errors::{AirwattError, InputError, MissingFeature, RunError};
    #[pymodule_export]
    use crate::fairness::{fairness_index, fairness_sliding};
    #[pymodule_export]
    use crate::lists::{
        analysis_schema, finding_kinds, policies, radio, radio_fit, radio_template, radio_text, radios,
        result_schema, scenarios, schema, transports,
    };
    #[pymodule_export]
    use crate::log::log_to_stderr;
    #[pymodule_export]
    use crate::models::{ack_gaps, model_solve, model_values, models};
    #[pymodule_export]
    use crate::overhead::{
        data_overhead, efficiency, energy_efficiency, energy_overhead, radio_mixes, time_overhead,
    };
    #[pymodule_export]
    use crate::own::{Acknowledged, CongestionWindow, Radio, check_mechanisms};
    #[pymodule_export]
    use crate::quantity::Quantity;
    #[pymodule_export]
    use crate::run::{Run, run};
    #[pymodule_export]
    use crate::scenario::{Scenario, read_text};
    #[pymodule_export]
    use crate::trace::Column;
    #[pymodule_export]
    use crate::values::toml_value;

    /// The version that every document carries, the schema number of result documents, and thresholds that texts name.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SCHEMA", 1)?;
        module.add("LEAST_CORRELATION", airwatt_capture::current::LEAST_CORRELATION)?;
        module.add("NO_DELAY_S", airwatt_capture::advise::choice::NO_DELAY_S)?;
        module.add("CONFIRM", airwatt_capture::advise::CONFIRM)?;
        module.add("MOST_BORROWED", airwatt_energy::MOST_BORROWED)?;
        module.add("WIDE_BAND", airwatt_energy::WIDE_BAND)?;
        module.add("LARGEST_PROFILE_ERROR", airwatt_energy::largest_profile_error())
    }
}
