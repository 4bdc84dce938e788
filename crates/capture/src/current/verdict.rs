//! What a measured current says of a device: it sleeps as predicted, its radio does not, or its host does not.
//!
//! The current that stays while the radio is predicted to doze decides, or of a trace without a place on the capture's clock its
//! lowest current. If it is far above the profile's, it is compared with the modes of the host that the profile has. An
//! explanation of the kinds is in docs/same-current.md.

use airwatt_energy::{HostMode, Radio, RadioState};
use schemars::JsonSchema;
use serde::Serialize;

use super::{StateCharge, StateCurrents};

/// A mean this close to the prediction is as predicted, unless the profile's own error is larger.
const CLOSE: f64 = 0.1;
/// A current of this many times that of sleep, and more by [`LEAST_A`], is not sleep.
const AWAKE: f64 = 3.0;
const LEAST_A: f64 = 0.2e-3;
/// A current within this share of that of a mode is the mode's.
const LIKE_MODE: f64 = 0.15;
/// From this share of the current of listening on, the radio may be listening.
const LISTENS: f64 = 0.6;

/// What a measurement says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurrentVerdict {
    /// The kind.
    pub kind: CurrentVerdictKind,
    /// The same as a sentence.
    pub text: String,
}

/// Kinds of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CurrentVerdictKind {
    /// The mean is that of the prediction.
    AsPredicted,
    /// Something awake draws its current while the radio is predicted to doze, and it is too little for a radio.
    HostAwake,
    /// The same, and it may be the radio, the host, or both.
    Awake,
    /// The mean is another one, and the device sleeps.
    Differs,
}

/// What was measured.
pub(super) struct Measured<'a> {
    pub mean_a: f64,
    pub low_a: f64,
    pub varies: bool,
    pub predicted_a: f64,
    pub states: &'a [StateCharge],
}

pub(super) fn of(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let (sleep_a, listen_a) = (currents[RadioState::Sleep as usize], currents[RadioState::Listen as usize]);
    let asleep = measured.states.iter().find(|state| state.state == RadioState::Sleep.name());
    let quiet_a = asleep.and_then(|state| state.measured_a).unwrap_or(measured.low_a);
    let ratio = measured.mean_a / measured.predicted_a - 1.0;
    let error = radio.error().unwrap_or(0.0);
    if ratio.abs() <= error.max(CLOSE) {
        let text =
            format!("{} on the average, {:+.1} % off the prediction", milli(measured.mean_a), 100.0 * ratio);
        return CurrentVerdict { kind: CurrentVerdictKind::AsPredicted, text };
    }
    if quiet_a > AWAKE * sleep_a && quiet_a > sleep_a + LEAST_A {
        return awake(measured, quiet_a, radio, (sleep_a, listen_a));
    }
    let most = measured.states.iter().max_by(|a, b| {
        let off = |state: &StateCharge| (state.measured_c - state.predicted_c).abs();
        off(a).total_cmp(&off(b))
    });
    let most = most.map_or_else(String::new, |state| {
        format!(
            "; most of the difference is in {}: {} instead of {}",
            state.state,
            milli(state.measured_c / state.time_s),
            milli(state.predicted_c / state.time_s)
        )
    });
    let text = format!(
        "the device sleeps, and takes {} on the average instead of {}, {:+.0} %{most}",
        milli(measured.mean_a),
        milli(measured.predicted_a),
        100.0 * ratio
    );
    CurrentVerdict { kind: CurrentVerdictKind::Differs, text }
}

/// The device does not sleep when it is predicted to.
fn awake(
    measured: &Measured<'_>,
    quiet_a: f64,
    radio: &Radio,
    (sleep_a, listen_a): (f64, f64),
) -> CurrentVerdict {
    let volts = radio.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
    let of_mode = |mode: &HostMode| mode.sleep.as_watts() / volts;
    let own = radio.modes.get(radio.mode).map_or_else(String::new, |mode| format!(" in {}", mode.name));
    let like = radio.modes.iter().find(|mode| (quiet_a / of_mode(mode) - 1.0).abs() <= LIKE_MODE);
    let quiet = if measured.varies {
        format!("{} stay while the radio should doze", milli(quiet_a))
    } else {
        format!("the current is {} throughout", milli(measured.mean_a))
    };
    let (kind, who) = if quiet_a < LISTENS * listen_a {
        (CurrentVerdictKind::HostAwake, "the host does not sleep")
    } else {
        (CurrentVerdictKind::Awake, "the radio or the host does not sleep")
    };
    let mut text = format!("{who}: {quiet}, where {} are predicted{own}", milli(sleep_a));
    if let Some(mode) = like {
        text += &format!("; it is what {} takes, {}", mode.name, milli(of_mode(mode)));
    } else {
        text += &format!("; listening takes {}", milli(listen_a));
        for mode in radio.modes.iter().filter(|mode| of_mode(mode) > AWAKE * sleep_a) {
            text += &format!(", the host in {} {}", mode.name, milli(of_mode(mode)));
        }
    }
    CurrentVerdict { kind, text: text + " (docs/same-current.md)" }
}

fn milli(amperes: f64) -> String {
    let value = 1e3 * amperes;
    let decimals = if value.abs() >= 10.0 {
        1
    } else if value.abs() >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.decimals$} mA")
}
