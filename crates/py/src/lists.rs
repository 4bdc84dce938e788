//! What there is to choose from, as JSON lists.

use airwatt_base::settings::KindInfo;
use airwatt_base::{Power, Rate, Span, Voltage};
use airwatt_energy::{Average, BeaconReception, HostMode, Radio, RadioState, Transition};
use airwatt_proto::powersave::PowerSaveConfig;
use airwatt_sim::record::RunResult;
use airwatt_sim::scenario::{Scenario, Transport, policy_kinds, shipped};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{AirwattError, InputError};

/// The JSON schema of scenario files.
#[pyfunction]
pub(crate) fn schema() -> String {
    Scenario::json_schema().to_string()
}

/// The JSON schema of the document of one run.
#[pyfunction]
pub(crate) fn result_schema() -> String {
    RunResult::json_schema().to_string()
}

/// The JSON schema of the document of an analysis.
#[pyfunction]
pub(crate) fn analysis_schema() -> String {
    airwatt_capture::report::schema().to_value().to_string()
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
    Value::Array(Radio::shipped().iter().map(profile).collect()).to_string()
}

/// One radio profile, by the name of one that ships or by the path of a file, as JSON.
#[pyfunction]
pub(crate) fn radio(name: &str) -> PyResult<String> {
    Ok(profile(&found(name)?).to_string())
}

/// The TOML text of the file of a radio profile, named as for `radio`. Raises `InputError`.
#[pyfunction]
pub(crate) fn radio_text(name: &str) -> PyResult<String> {
    Radio::find_text(name).map_err(|error| InputError::new_err(error.to_string()))
}

/// A commented profile to start from, as TOML.
#[pyfunction]
pub(crate) const fn radio_template() -> &'static str {
    airwatt_energy::radio::TEMPLATE
}

/// Fits a profile on averages of the idle, associated device, each a DTIM period and a power: the shortest and the longest period,
/// or of one average the wake-up alone. `powers` replace those of states before. `between` is the lowest and the mean power between
/// the beacons of a trace, the second of which sleep then has. Without it one average leaves open what is asleep, and `is_own` says
/// whether the profile is that of the board's chip, whose wake-up then is one end of it. What was measured asleep above the chip is a load
/// of the board, which all states have that were not measured, but for wake-ups of the host. Returns the profile as JSON, and says of
/// every average what it predicts. Raises `InputError`.
#[pyfunction]
pub(crate) fn radio_fit(
    name: &str,
    averages: Vec<(u32, f64)>,
    powers: Vec<(String, f64)>,
    between: Option<(f64, f64)>,
    is_own: bool,
) -> PyResult<String> {
    let mut radio = found(name)?;
    let chip = radio.clone();
    let was_fitted = radio.averages.iter().any(|average| average.is_fitted);
    let has_sleep = between.is_some() || powers.iter().any(|(state, _)| state == "sleep");
    if has_sleep || !averages.is_empty() {
        radio.other_sleep = None;
    }
    let watts = |watts: f64| Power::from_nanowatts((watts * 1e9).round() as u64);
    for (state, power_w) in &powers {
        let power = watts(*power_w);
        match state.as_str() {
            "transmit" => (radio.transmit, radio.transmit_by_rate) = (power, Vec::new()),
            "receive" => {
                if radio.assumed.contains_key("listen") {
                    radio.listen = power;
                }
                radio.receive = power;
            }
            "listen" => {
                radio.listen = power;
                radio.assumed.remove("listen");
            }
            _ => (radio.sleep, radio.housekeeping) = (power, Power::ZERO),
        }
        radio.borrowed.retain(|key| key != state);
    }
    let mut averages: Vec<Average> = averages
        .into_iter()
        .map(|(dtim_period, power_w)| Average {
            dtim_period,
            power: watts(power_w),
            is_fitted: false,
            within: Power::ZERO,
        })
        .collect();
    averages.sort_by_key(|average| average.dtim_period);
    if let Some((_, power_w)) = powers.iter().find(|(state, _)| state == "sleep") {
        let refused = |text| InputError::new_err(format!("--state sleep: {text}"));
        chip.check_asleep(watts(*power_w)).map_err(refused)?;
    }
    if let Some((floor_w, _)) = between {
        let refused = |text| InputError::new_err(format!("averages, between beacons: {text}"));
        chip.check_asleep(watts(floor_w)).map_err(refused)?;
    }
    // Whether the host sleeps is seen from the sleep of the chip.
    let before = radio.clone();
    if let Some((floor_w, mean_w)) = between {
        radio.sleep = watts(mean_w);
        radio.housekeeping = watts((mean_w - floor_w).max(0.0));
        radio.borrowed.retain(|key| key != "sleep");
    }
    // The mean of a sleep without beacons does not say what share of it are wake-ups of the host.
    let above = |own: Power, chip: Power| own.as_nanowatts().saturating_sub(chip.as_nanowatts());
    let load = Power::from_nanowatts(match between {
        Some((floor_w, _)) => above(watts(floor_w), chip.doze()),
        None if has_sleep => above(radio.sleep, chip.sleep),
        None => 0,
    });
    let measured: Vec<&str> = powers.iter().map(|(state, _)| state.as_str()).collect();
    radio = radio.with_load(load, &measured);
    if !averages.is_empty() {
        let refused = |text| InputError::new_err(format!("averages: {text}"));
        let fit = radio.fit(&averages).map_err(refused)?;
        before.check_fit(&averages, fit).map_err(refused)?;
        let is_open = averages.len() == 1 && !has_sleep;
        let other_sleep = is_open.then(|| before.sleep_with_load(&averages[0], is_own && was_fitted));
        let ends = [averages[0].dtim_period, averages[averages.len() - 1].dtim_period];
        averages.iter_mut().for_each(|average| average.is_fitted = ends.contains(&average.dtim_period));
        // With a sleep that was measured the doze is, too.
        let housekeeping = radio.housekeeping;
        radio = radio.fitted(fit);
        if between.is_some() {
            radio.housekeeping = housekeeping;
        }
        radio.averages = averages;
        if let Some(power) = other_sleep {
            radio = radio.with_other_sleep(power);
        }
    }
    let mut found = profile(&radio.with_board_above(chip.sleep));
    found["load_w"] = load.as_watts().into();
    Ok(found.to_string())
}

fn found(name: &str) -> PyResult<Radio> {
    Radio::find(name).map_err(|error| InputError::new_err(error.to_string()))
}

/// Averages beside what a profile predicts.
fn averages(radio: &Radio) -> Value {
    let average = |average: &Average| {
        json!({
            "dtim_period": average.dtim_period,
            "power_w": average.power.as_watts(),
            "fitted": average.is_fitted,
            "within_w": average.within.as_watts(),
            "predicted_w": radio.idle_w(average.every()),
            "residual": radio.residual(average),
        })
    };
    Value::Array(radio.averages.iter().map(average).collect())
}

fn mode(radio: &Radio, mode: &HostMode) -> Value {
    let own = radio.clone().in_mode(&mode.id);
    json!({
        "id": mode.id,
        "name": mode.name,
        "sleep_w": mode.sleep.as_watts(),
        "set": mode.set,
        "averages": own.as_ref().map(averages),
    })
}

fn profile(radio: &Radio) -> Value {
    let transition = |change: Transition| {
        json!({
            "time_s": change.time.as_secs_f64(),
            "power_w": change.power.as_watts(),
            "energy_j": change.energy().as_joules(),
        })
    };
    let clock = radio.sleep_clock;
    let by_rate =
        |(rate, power): &(Rate, Power)| json!({ "rate_bps": rate.as_bps(), "power_w": power.as_watts() });
    json!({
        "name": radio.name,
        "description": radio.description,
        "source": radio.source,
        "voltage_v": radio.voltage.map(Voltage::as_volts),
        "transmit_w": radio.power(RadioState::Transmit).as_watts(),
        "transmit_by_rate": radio.transmit_by_rate.iter().map(by_rate).collect::<Vec<_>>(),
        "receive_w": radio.power(RadioState::Receive).as_watts(),
        "listen_w": radio.power(RadioState::Listen).as_watts(),
        "sleep_w": radio.power(RadioState::Sleep).as_watts(),
        "deep_sleep_w": radio.deep_sleep.map(Power::as_watts),
        "host_w": radio.host.map(Power::as_watts),
        "to_sleep": transition(radio.to_sleep),
        "wake_up": transition(radio.wake_up),
        "min_awake_s": radio.min_awake.as_secs_f64(),
        "band": radio.band,
        "timeout_s": radio.timeout.map(Span::as_secs_f64),
        "wakes_for_dtims": radio.wakes_for_dtims,
        "sleep_clock": {
            "guard_s": clock.guard.as_secs_f64(),
            "accuracy_ppm": clock.accuracy_ppb as f64 * 1e-3,
            "wander_ppm": clock.wander_ppb as f64 * 1e-3,
        },
        "beacon": {
            "reception": match radio.beacon_reception {
                BeaconReception::Whole => "whole",
                BeaconReception::Tim => "tim",
            },
            "wait_s": radio.beacon_wait.as_secs_f64(),
        },
        "assumed": radio.assumed,
        "other_sleep_w": radio.other_sleep.map(Power::as_watts),
        "housekeeping_w": radio.housekeeping.as_watts(),
        "borrowed": radio.borrowed,
        "averages": averages(radio),
        "mode": radio.modes.get(radio.mode).map(|mode| &mode.id),
        "modes": radio.modes.iter().map(|each| mode(radio, each)).collect::<Vec<_>>(),
    })
}

/// The names of all kinds of findings about captures, with their severities.
#[pyfunction]
pub(crate) fn finding_kinds() -> Vec<(&'static str, &'static str)> {
    airwatt_capture::report::finding_kinds().collect()
}

/// The power-save policies and the lower bound, as a JSON list of `{name, description, needs, replayed_by_default}`.
#[pyfunction]
pub(crate) fn policies() -> String {
    let policy = |kind: KindInfo| {
        let needs = PowerSaveConfig::named(kind.name).ok().and_then(|policy| {
            let agreement = policy.wake_request().map(|_| "TWT");
            agreement.or(policy.needs_uapsd().then_some("U-APSD"))
        });
        json!({
            "name": kind.name,
            "description": kind.description,
            "needs": needs,
            "replayed_by_default": airwatt_capture::is_replayed_by_default(kind.name),
        })
    };
    Value::Array(policy_kinds().map(policy).collect()).to_string()
}

/// The transports, as a JSON list of `{name, description}`.
#[pyfunction]
pub(crate) fn transports() -> String {
    let transport =
        |transport: Transport| json!({ "name": transport.name(), "description": transport.description() });
    Value::Array(Transport::all().map(transport).collect()).to_string()
}
