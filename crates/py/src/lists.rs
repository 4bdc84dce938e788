//! What there is to choose from, as JSON lists.

use airwatt_energy::{Radio, State, Transition};
use airwatt_proto::powersave::Policy;
use airwatt_sim::scenario::{Scenario, Transport, shipped};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::AirwattError;

/// The JSON schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    Scenario::json_schema().to_string()
}

/// What ships, as a JSON list of `{name, description}`.
#[pyfunction]
pub(crate) fn scenarios() -> PyResult<String> {
    let described = shipped().iter().map(|item| {
        let scenario =
            Scenario::load(item.name, &[]).map_err(|error| AirwattError::new_err(error.to_string()))?;
        Ok(json!({ "name": item.name, "description": scenario.description, "source": scenario.source }))
    });
    Ok(Value::Array(described.collect::<PyResult<_>>()?).to_string())
}

/// The radio profiles that ship, as a JSON list.
#[pyfunction]
pub(crate) fn radios() -> String {
    let transition = |change: Transition| {
        json!({
            "time_s": change.time.as_secs_f64(),
            "power_w": change.power.as_watts(),
            "energy_j": change.energy().as_joules(),
        })
    };
    let profile = |radio: &Radio| {
        json!({
            "name": radio.name,
            "description": radio.description,
            "source": radio.source,
            "transmit_w": radio.power(State::Transmit).as_watts(),
            "receive_w": radio.power(State::Receive).as_watts(),
            "listen_w": radio.power(State::Listen).as_watts(),
            "sleep_w": radio.power(State::Sleep).as_watts(),
            "to_sleep": transition(radio.to_sleep),
            "wake_up": transition(radio.wake_up),
        })
    };
    Value::Array(Radio::shipped().iter().map(profile).collect()).to_string()
}

/// The power-save policies, as a JSON list of `{name, description, needs}`.
#[pyfunction]
pub(crate) fn policies() -> String {
    let policy = |info: &airwatt_proto::powersave::PolicyInfo| {
        let needs = info.needs_uapsd.then_some("U-APSD");
        json!({ "name": info.name, "description": info.description, "needs": needs })
    };
    Value::Array(Policy::NAMES.iter().map(policy).collect()).to_string()
}

/// The transports, as a JSON list of `{name, description}`.
#[pyfunction]
pub(crate) fn transports() -> String {
    let transport = |(_, name, description): &(Transport, &str, &str)| json!({ "name": name, "description": description });
    Value::Array(Transport::ALL.iter().map(transport).collect()).to_string()
}
