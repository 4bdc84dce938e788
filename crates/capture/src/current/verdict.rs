//! What a measured current says of a device: it sleeps as predicted, its radio does not, or its host does not.
//!
//! Whether the device sleeps follows from the trace alone: from the share of the time near the profile's current of sleep, and from
//! the lowest current. A device whose lowest current is far above the profile's may still sleep beside something that does not. The
//! fitted states tell, where the trace follows the prediction: the radio sleeps if the current rises when it is predicted to wake up as
//! much as it does by its profile. What lies on the states awake, too, is a load of the board, since the profile's currents awake have
//! the host in them; what lies on sleep alone is compared with the modes of the host. An explanation of the kinds is in
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

/// The largest current that is one of sleep, where a load is a part of all currents.
pub(super) fn doze_limit(currents: &StateCurrents, load_a: f64) -> f64 {
    let sleep_a = currents[RadioState::Sleep as usize] - load_a;
    (AWAKE * sleep_a).max(sleep_a + LEAST_A).min(on_limit(currents, load_a) - load_a) + load_a
}

/// The least current of a radio that listens, where a load is a part of all currents.
pub(super) fn on_limit(currents: &StateCurrents, load_a: f64) -> f64 {
    LISTENS * (currents[RadioState::Listen as usize] - load_a) + load_a
}

/// What a measurement says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CurrentVerdict {
    /// The kind.
    pub kind: CurrentVerdictKind,
    /// The same as a sentence.
    pub text: String,
    /// What is drawn while the radio sleeps beyond the prediction for that time; `null` unless the states show a radio that sleeps
    /// beside something that does not.
    pub more_a: Option<f64>,
}

/// Kinds of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CurrentVerdictKind {
    /// The mean is that of the prediction.
    AsPredicted,
    /// The device sleeps, and something beside the radio and its host draws current all the time.
    Load,
    /// Something awake draws its current while the radio is predicted to doze, and it is too little for a radio, or the radio
    /// sleeps.
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
    /// Whether the prediction is what the station's frames announced.
    pub is_announced: bool,
    pub states: &'a [StateCharge],
    /// Whether times awake for beacons count with sleep; the predicted current of sleep with them, and the share of it that is
    /// sleep alone.
    pub beacons_in_sleep: bool,
    pub sleep_a: f64,
    pub sleep_alone_share: f64,
    /// The part of all predicted currents that is a load.
    pub load_a: f64,
}

impl Measured<'_> {
    fn ratio(&self) -> f64 {
        self.mean_a / self.predicted_a - 1.0
    }

    /// The current of a fitted state and its standard error, if the trace determines it.
    fn fitted(&self, state: RadioState) -> Option<(f64, f64)> {
        let fitted = self.states.iter().find(|charge| charge.state == state.name())?;
        Some((fitted.measured_a?, fitted.error_a?))
    }
}

/// A radio that sleeps, as the fitted states show.
struct Sleeping {
    /// The measured current asleep, with the beacons that count with it.
    asleep_a: f64,
    /// The same without them, and without `load_a`, if beacons take what is predicted.
    alone_a: f64,
    /// The measured current awake: of receiving, or else of listening.
    awake_a: f64,
    /// The predicted current awake.
    predicted_a: f64,
    /// What lies on the states awake as well; zero where it is less than the profile and the trace can tell.
    load_a: f64,
}

impl Sleeping {
    /// `None` if the radio does not sleep, or the states do not show it.
    fn seen(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> Option<Self> {
        let (asleep_a, _) = measured.fitted(RadioState::Sleep)?;
        let awake = [RadioState::Receive, RadioState::Listen];
        let (state, awake_a, error_a) = awake
            .into_iter()
            .filter_map(|state| {
                measured.fitted(state).map(|(current_a, error_a)| (state, current_a, error_a))
            })
            .min_by(|a, b| a.2.total_cmp(&b.2))?;
        let predicted_a = currents[state as usize];
        // What a host that is awake takes is there asleep, and a part of the profile's currents awake.
        let hosts = radio.modes.iter().map(|mode| of_mode(mode, radio) + measured.load_a);
        let most_asleep_a = hosts.fold(currents[RadioState::Sleep as usize], f64::max);
        if awake_a - asleep_a < LISTENS * (predicted_a - most_asleep_a) {
            return None;
        }
        let tells_a = (radio.error().unwrap_or(0.0) * predicted_a).max(2.0 * error_a).max(LEAST_A);
        let load_a = Some(awake_a - predicted_a).filter(|load_a| *load_a > tells_a).unwrap_or(0.0);
        // Beacons have the host in their currents, as all states awake have.
        let more_a = asleep_a - load_a - measured.sleep_a;
        let alone_a = currents[RadioState::Sleep as usize] + more_a / measured.sleep_alone_share;
        Some(Self { asleep_a, alone_a, awake_a, predicted_a, load_a })
    }
}

pub(super) fn of(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let verdict = |kind, text| CurrentVerdict { kind, text, more_a: None };
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
    let sleeps_by_plan = measured.predicted_asleep_share >= LEAST_ASLEEP;
    // Long samples of a device that sleeps may be as steady as those of one that does not, but not as high.
    let is_on = !measured.varies && measured.mean_a >= on_limit(currents, measured.load_a);
    let asleep = measured.asleep_share.or(is_on.then_some(0.0));
    let is_close = measured.ratio().abs() <= radio.error().unwrap_or(0.0).max(CLOSE);
    if is_close && (asleep.is_some() || !sleeps_by_plan) {
        return verdict(CurrentVerdictKind::AsPredicted, mean);
    }
    let Some(asleep) = asleep else {
        let text = format!(
            "{mean}; samples longer than 20 ms do not show whether the device sleeps between beacons"
        );
        return verdict(CurrentVerdictKind::Undetermined, text);
    };
    let is_asleep = asleep >= LEAST_ASLEEP || measured.low_a <= doze_limit(currents, measured.load_a);
    if sleeps_by_plan && !is_asleep {
        return Sleeping::seen(measured, radio, currents).map_or_else(
            || awake(measured, radio, currents),
            |sleeping| beside_a_sleeping_radio(&sleeping, measured, radio, currents),
        );
    }
    verdict(CurrentVerdictKind::Differs, differs(measured, is_asleep.then_some(asleep)))
}

/// Whether the trace determines a state's current, and it is another one than predicted.
fn is_off(state: &StateCharge) -> bool {
    state.measured_a.is_some() && (state.measured_c / state.predicted_c - 1.0).abs() > CLOSE
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
    let takes = |state: &StateCharge| {
        let (measured_a, predicted_a) = (state.measured_c / state.time_s, state.predicted_c / state.time_s);
        format!("{} instead of {}", milli(measured_a), milli(predicted_a))
    };
    let most = determined.max_by(|a, b| off(a).total_cmp(&off(b))).map_or_else(String::new, |state| {
        let name = state.state;
        if measured.beacons_in_sleep && name == RadioState::Sleep.name() {
            // Which of both has it, the states awake can hint at.
            let others = measured.states.iter().filter(|other| other.state != name && is_off(other));
            let others = others.map(|other| format!("; in {} it takes {}", other.state, takes(other)));
            let with = "sleep and the beacons that count with it, which a replay cannot tell apart";
            format!("; most of the difference is in {with}: {}{}", takes(state), others.collect::<String>())
        } else {
            format!("; most of the difference is in {name}: {}", takes(state))
        }
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

/// The radio sleeps as it is predicted to, and more than its current of sleep is drawn meanwhile: by the board or by the host.
fn beside_a_sleeping_radio(
    sleeping: &Sleeping,
    measured: &Measured<'_>,
    radio: &Radio,
    currents: &StateCurrents,
) -> CurrentVerdict {
    let &Sleeping { asleep_a, alone_a, awake_a, predicted_a, load_a } = sleeping;
    let sleep_a = currents[RadioState::Sleep as usize];
    let of_mode = |mode: &HostMode| of_mode(mode, radio) + measured.load_a;
    let own = radio.modes.get(radio.mode).map_or_else(String::new, |mode| format!(" in {}", mode.name));
    let more_a = asleep_a - measured.sleep_a;
    let (with, without) = if measured.beacons_in_sleep {
        (" with beacons", format!("; without them {} asleep", milli(alone_a)))
    } else {
        ("", String::new())
    };
    let seen = format!(
        "it takes {} asleep{with} and {} awake, where {} and {} are predicted{own}",
        milli(asleep_a),
        milli(awake_a),
        milli(measured.sleep_a),
        milli(predicted_a)
    );
    let awake_modes = || radio.modes.iter().filter(|mode| of_mode(mode) > AWAKE * sleep_a);
    let least_awake_a = awake_modes().map(of_mode).min_by(f64::total_cmp);
    let like = awake_modes().find(|mode| (alone_a / of_mode(mode) - 1.0).abs() <= LIKE_MODE);
    let on_all = if load_a > 0.0 {
        format!(", beside a constant {} on all states", milli(load_a))
    } else {
        String::new()
    };
    let (kind, text) = if alone_a <= doze_limit(currents, measured.load_a) {
        let what = "something that never sleeps draws it: a light, a regulator, a USB bridge, a sensor";
        let more = if load_a > 0.0 { on_all } else { format!(", beside {} more", milli(more_a)) };
        (CurrentVerdictKind::Load, format!("the radio and the host sleep{more}; {what}; {seen}"))
    } else if let Some(mode) = like {
        let (name, takes) = (&mode.name, milli(of_mode(mode)));
        let who = "the radio sleeps, and the host does not";
        (CurrentVerdictKind::HostAwake, format!("{who}{on_all}: {seen}{without}; {name} takes {takes}"))
    } else if least_awake_a.is_some_and(|least_a| alone_a - sleep_a < (least_a - sleep_a) / 2.0) {
        let too_little = format!("{} more is too little for a host that is awake", milli(more_a - load_a));
        let what =
            "a light, a regulator, a USB bridge, a sensor, or a part of the chip that stays on draws it";
        (CurrentVerdictKind::Load, format!("the radio sleeps{on_all}: {seen}; {too_little}; {what}"))
    } else {
        let what = format!("the radio sleeps, and the host or the board does not{on_all}");
        (CurrentVerdictKind::HostAwake, format!("{what}: {seen}{without}"))
    };
    CurrentVerdict { kind, text: text + " (docs/same-current.md)", more_a: Some(more_a) }
}

/// The device does not sleep when it is predicted to, as far as its lowest current tells.
fn awake(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let (sleep_a, listen_a) = (currents[RadioState::Sleep as usize], currents[RadioState::Listen as usize]);
    let of_mode = |mode: &HostMode| of_mode(mode, radio) + measured.load_a;
    let own = radio.modes.get(radio.mode).map_or_else(String::new, |mode| format!(" in {}", mode.name));
    let low_a = measured.low_a;
    let like = radio.modes.iter().find(|mode| (low_a / of_mode(mode) - 1.0).abs() <= LIKE_MODE);
    let quiet = if measured.varies {
        format!("it never falls below {}", milli(low_a))
    } else {
        format!("the current is {} throughout", milli(measured.mean_a))
    };
    let most_a = radio.modes.iter().map(of_mode).max_by(f64::total_cmp);
    let above_all = most_a.filter(|most_a| low_a > (1.0 + LIKE_MODE) * most_a);
    let (kind, who) = if low_a < on_limit(currents, measured.load_a) {
        (CurrentVerdictKind::HostAwake, "the host does not sleep".to_owned())
    } else if let Some(most_a) = above_all {
        let who = format!(
            "the radio is awake, or the board has a load, since no mode of the host takes more than {}",
            milli(most_a)
        );
        (CurrentVerdictKind::Awake, who)
    } else {
        (CurrentVerdictKind::Awake, "the radio or the host does not sleep".to_owned())
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
    if measured.is_announced && kind == CurrentVerdictKind::Awake {
        text += &format!(
            "; the station announces power save for {:.0} % of the time, so the setting is in force",
            100.0 * measured.predicted_asleep_share
        );
    }
    CurrentVerdict { kind, text: text + " (docs/same-current.md)", more_a: None }
}

/// The current of a mode of the host while the radio dozes, in amperes.
fn of_mode(mode: &HostMode, radio: &Radio) -> f64 {
    mode.sleep.as_watts() / radio.voltage.map_or(1.0, airwatt_base::Voltage::as_volts)
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
