//! What a measured current says of a device: it sleeps as predicted, its radio does not, or its host does not.
//!
//! Whether the device sleeps follows from the trace alone: from the share of the time near the profile's current of sleep, and from
//! the lowest current. Where the prediction's times are off, the current of a fitted state says nothing of it. A lowest current that is
//! far above the profile's is compared with the modes of the host that the profile has. An explanation of the kinds is in
//! docs/same-current.md.

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
/// A trace that is shorter has fewer than ten beacon intervals.
const LEAST_S: f64 = 1.0;
/// A device that is near the current of sleep for less of the time does not sleep, and one that is predicted to sleep for less is not
/// predicted to sleep.
const LEAST_ASLEEP: f64 = 0.05;
/// A share of the time awake that is larger than predicted by this, and by this factor, is worth a word.
const LONGER_AWAKE: (f64, f64) = (0.02, 1.5);

/// The largest current that is one of sleep.
pub(super) fn doze_limit(currents: &StateCurrents) -> f64 {
    let sleep_a = currents[RadioState::Sleep as usize];
    (AWAKE * sleep_a).max(sleep_a + LEAST_A).min(on_limit(currents))
}

/// The least current of a radio that listens.
pub(super) fn on_limit(currents: &StateCurrents) -> f64 {
    LISTENS * currents[RadioState::Listen as usize]
}

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
    /// The mean is another one, and the device sleeps, or was not predicted to.
    Differs,
    /// The trace is too short, or its samples too long, to tell.
    Undetermined,
}

/// What was measured, and what was predicted.
pub(super) struct Measured<'a> {
    pub mean_a: f64,
    pub covered_s: f64,
    pub low_a: f64,
    pub varies: bool,
    /// Share of the time up to [`doze_limit`] and from [`on_limit`] on; `None` if samples are too long.
    pub asleep_share: Option<f64>,
    pub radio_on_share: Option<f64>,
    pub predicted_a: f64,
    pub predicted_asleep_share: f64,
    pub states: &'a [StateCharge],
}

impl Measured<'_> {
    fn ratio(&self) -> f64 {
        self.mean_a / self.predicted_a - 1.0
    }
}

pub(super) fn of(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let verdict = |kind, text| CurrentVerdict { kind, text };
    let mean = format!(
        "{} on the average, {:+.1} % off the prediction",
        milli(measured.mean_a),
        100.0 * measured.ratio()
    );
    if measured.covered_s < LEAST_S {
        let text = format!(
            "{:.3} s of trace are too short for a verdict: expected {LEAST_S} s or more, ten beacon intervals",
            measured.covered_s
        );
        return verdict(CurrentVerdictKind::Undetermined, text);
    }
    if measured.ratio().abs() <= radio.error().unwrap_or(0.0).max(CLOSE) {
        return verdict(CurrentVerdictKind::AsPredicted, mean);
    }
    let Some(asleep) = measured.asleep_share.or((!measured.varies).then_some(0.0)) else {
        let text = format!(
            "{mean}; samples longer than 20 ms do not show whether the device sleeps between beacons"
        );
        return verdict(CurrentVerdictKind::Undetermined, text);
    };
    let is_asleep = asleep >= LEAST_ASLEEP || measured.low_a <= doze_limit(currents);
    let sleeps_by_plan = measured.predicted_asleep_share >= LEAST_ASLEEP;
    if sleeps_by_plan && !is_asleep {
        return awake(measured, radio, currents);
    }
    verdict(CurrentVerdictKind::Differs, differs(measured, is_asleep.then_some(asleep)))
}

/// The mean is not the predicted one, and that is not because the device never sleeps.
fn differs(measured: &Measured<'_>, asleep: Option<f64>) -> String {
    let mean = format!(
        "takes {} on the average instead of {}, {:+.0} %",
        milli(measured.mean_a),
        milli(measured.predicted_a),
        100.0 * measured.ratio()
    );
    let Some(asleep) = asleep else { return format!("the device {mean}, and sleeps neither here nor there") };
    let off = |state: &StateCharge| (state.measured_c - state.predicted_c).abs();
    let determined = measured.states.iter().filter(|state| state.measured_a.is_some());
    let most = determined.max_by(|a, b| off(a).total_cmp(&off(b))).map_or_else(String::new, |state| {
        format!(
            "; most of the difference is in {}: {} instead of {}",
            state.state,
            milli(state.measured_c / state.time_s),
            milli(state.predicted_c / state.time_s)
        )
    });
    let (awake, planned) = (1.0 - asleep, 1.0 - measured.predicted_asleep_share);
    let longer = if awake > planned + LONGER_AWAKE.0 && awake > LONGER_AWAKE.1 * planned {
        "; more traffic or a longer timeout than predicted keeps it awake"
    } else {
        ""
    };
    format!(
        "the device sleeps for {:.1} % of the time, where {:.1} % are predicted, and {mean}{longer}{most}",
        100.0 * asleep,
        100.0 * measured.predicted_asleep_share
    )
}

/// The device does not sleep when it is predicted to.
fn awake(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let (sleep_a, listen_a) = (currents[RadioState::Sleep as usize], currents[RadioState::Listen as usize]);
    let volts = radio.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
    let of_mode = |mode: &HostMode| mode.sleep.as_watts() / volts;
    let own = radio.modes.get(radio.mode).map_or_else(String::new, |mode| format!(" in {}", mode.name));
    let low_a = measured.low_a;
    let like = radio.modes.iter().find(|mode| (low_a / of_mode(mode) - 1.0).abs() <= LIKE_MODE);
    let quiet = if measured.varies {
        format!("it never falls below {}", milli(low_a))
    } else {
        format!("the current is {} throughout", milli(measured.mean_a))
    };
    let (kind, who) = if low_a < on_limit(currents) {
        (CurrentVerdictKind::HostAwake, "the host does not sleep")
    } else {
        (CurrentVerdictKind::Awake, "the radio or the host does not sleep")
    };
    let mut text = format!("{who}: {quiet}, where {} are predicted asleep{own}", milli(sleep_a));
    if let Some(mode) = like {
        text += &format!("; it is what {} takes, {}", mode.name, milli(of_mode(mode)));
    } else {
        text += &format!("; listening takes {}", milli(listen_a));
        for mode in radio.modes.iter().filter(|mode| of_mode(mode) > AWAKE * sleep_a) {
            text += &format!(", the host in {} {}", mode.name, milli(of_mode(mode)));
        }
    }
    let planned = 1.0 - measured.predicted_asleep_share;
    let on = measured.radio_on_share.filter(|on| {
        kind == CurrentVerdictKind::HostAwake
            && *on > planned + LONGER_AWAKE.0
            && *on > LONGER_AWAKE.1 * planned
    });
    if let Some(on) = on {
        text += &format!(
            "; besides, the radio is on for {:.0} % of the time, where {:.1} % are predicted",
            100.0 * on,
            100.0 * planned
        );
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
