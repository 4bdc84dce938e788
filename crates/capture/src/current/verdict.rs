//! What a measured current says of a device: it sleeps as predicted, its radio does not, or its host does not.
//!
//! Whether the device sleeps follows from the trace alone: from the share of the time near the profile's current of sleep, and from
//! the lowest current. A device whose lowest current is far above the profile's may still sleep beside something that does not. Its
//! pulses tell ([`Pulses`]), or the fitted states, where samples are too long for pulses and the trace follows the prediction: the radio
//! sleeps if the current rises as much as it does by its profile. What lies on the times awake, too, is a load of the board, since the
//! profile's currents awake have the host in them; what lies on sleep alone is compared with the modes of the host. Where both are
//! possible within what the trace and the profile tell, the verdict says so. An explanation of the kinds is in docs/same-current.md.

use airwatt_energy::{HostMode, LISTEN_SHARE, Radio, RadioState};
use schemars::JsonSchema;
use serde::Serialize;

use super::pulses::Pulses;
use super::switched::SwitchedLoad;
use super::{StateCharge, StateCurrents};

/// A mean this close to the prediction is as predicted, unless the profile's own error is larger.
const CLOSE: f64 = 0.1;
/// A current of this many times that of sleep, and more by [`LEAST_A`], is not sleep.
const AWAKE: f64 = 3.0;
const LEAST_A: f64 = 0.2e-3;
/// A current within this share of that of a mode is the mode's.
const LIKE_MODE: f64 = 0.15;
/// A current above the least one of listening but for this share is within its band.
const LIKE_LISTENING: f64 = 0.02;
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
    /// The part of it that is on the times awake as well, a load of the board; 0 if what the trace tells does not show one, `null` with
    /// `more_a`.
    pub on_all_states_a: Option<f64>,
}

/// Kinds of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CurrentVerdictKind {
    /// The mean is that of the prediction.
    AsPredicted,
    /// The device sleeps, and something beside the radio and its host draws current all the time.
    Load,
    /// The radio sleeps, or may sleep, beside a load of the board or a host that does not: the trace does not tell which.
    LoadOrHost,
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
    /// Whether samples are too long to show that.
    pub samples_are_long: bool,
    pub radio_on_share: Option<f64>,
    pub predicted_a: f64,
    pub predicted_asleep_share: f64,
    /// Whether the prediction is what the station's frames announced.
    pub is_announced: bool,
    pub states: &'a [StateCharge],
    /// Whether times awake for beacons count with sleep.
    pub beacons_in_sleep: bool,
    /// What the trace shows wherever it stands.
    pub pulses: Option<Pulses>,
    /// What wake-ups for beacons take beyond the prediction on the average, where the trace shows them.
    pub beacons_more_a: Option<f64>,
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

/// A radio that sleeps, as pulses or the fitted states show.
struct Sleeping {
    /// The measured current asleep.
    asleep_a: f64,
    /// What of it is not on the times awake as well, and how far that may be off.
    own_a: f64,
    tells_a: f64,
    /// What was seen, as a part of a sentence.
    seen: String,
}

impl Sleeping {
    /// `None` if neither shows it. The trace by itself goes first, since its times are its own.
    fn seen(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> Option<Self> {
        let own = radio.modes.get(radio.mode).map_or_else(String::new, |mode| format!(" in {}", mode.name));
        let sleep_a = currents[RadioState::Sleep as usize];
        let says = |asleep_a: f64, awake: &str, predicted: &str| {
            format!(
                "it takes {} asleep and {awake}, where {} and {predicted} are predicted{own}",
                milli(asleep_a),
                milli(sleep_a)
            )
        };
        let Some(pulses) = measured.pulses else {
            return Self::of_states(measured, radio, currents, says);
        };
        let (seen, predicted_a) = match pulses.level {
            Some((level_a, predicted_a)) => {
                let awake = format!("{} awake", milli(level_a));
                (says(pulses.base_a, &awake, &milli(predicted_a)), predicted_a)
            }
            None => {
                let (pulse_c, predicted_c) = pulses.pulse_c;
                let micro = |charge_c: f64| format!("{:.0} uC", 1e6 * charge_c);
                let awake = format!("{} more for each beacon", micro(pulse_c));
                let seen = says(pulses.base_a, &awake, &micro(predicted_c));
                (seen, currents[RadioState::Listen as usize])
            }
        };
        // Pulses that are lower than any base explains are those of another radio current than the profile's.
        let own_a = pulses.own_a.min(pulses.base_a);
        let tells_a = (radio.error().unwrap_or(0.0) * predicted_a)
            .max(pulses.error_a)
            .max(pulses.own_a - own_a)
            .max(LEAST_A);
        Some(Self { asleep_a: pulses.base_a, own_a, tells_a, seen })
    }

    /// The same of the fitted states, where their times are those of the capture: a replay's may be off by more than they last.
    fn of_states(
        measured: &Measured<'_>,
        radio: &Radio,
        currents: &StateCurrents,
        says: impl Fn(f64, &str, &str) -> String,
    ) -> Option<Self> {
        let (asleep_a, _) = measured.fitted(RadioState::Sleep).filter(|_| !measured.beacons_in_sleep)?;
        let awake = [RadioState::Receive, RadioState::Listen];
        let (state, awake_a, error_a) = awake
            .into_iter()
            .filter_map(|state| {
                measured.fitted(state).map(|(current_a, error_a)| (state, current_a, error_a))
            })
            .min_by(|a, b| a.2.total_cmp(&b.2))?;
        let predicted_a = currents[state as usize];
        if awake_a - asleep_a < LISTENS * (predicted_a - most_asleep(radio, currents, measured.load_a)) {
            return None;
        }
        let tells_a = (radio.error().unwrap_or(0.0) * predicted_a).max(2.0 * error_a).max(LEAST_A);
        let own_a = (asleep_a - (awake_a - predicted_a)).min(asleep_a);
        let seen = says(asleep_a, &format!("{} awake", milli(awake_a)), &milli(predicted_a));
        Some(Self { asleep_a, own_a, tells_a, seen })
    }
}

/// The most that a host takes while the radio sleeps: what it takes awake is a part of the profile's currents awake.
pub(super) fn most_asleep(radio: &Radio, currents: &StateCurrents, load_a: f64) -> f64 {
    let hosts = radio.modes.iter().map(|mode| of_mode(mode, radio) + load_a);
    hosts.fold(currents[RadioState::Sleep as usize], f64::max)
}

/// A device that is as predicted since it was not to sleep.
const OFF: &str = "; the station's frames do not announce power save, or hardly: it is off, and the radio listens all the time (docs/same-current.md)";

pub(super) fn of(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let verdict = |kind, text| CurrentVerdict { kind, text, more_a: None, on_all_states_a: None };
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
    let is_off = measured.is_announced && !sleeps_by_plan;
    // Long samples of a device that sleeps may be as steady as those of one that does not, but not as high.
    let is_on = !measured.varies && measured.mean_a >= on_limit(currents, measured.load_a);
    let asleep = measured.asleep_share.or(is_on.then_some(0.0));
    let doze_a = doze_limit(currents, measured.load_a);
    let is_asleep = match measured.pulses {
        Some(pulses) => pulses.base_a <= doze_a,
        None => asleep.is_some_and(|asleep| asleep >= LEAST_ASLEEP) || measured.low_a <= doze_a,
    };
    // A mean may be that of the prediction by accident, with a radio that sleeps beside something.
    let is_beside = sleeps_by_plan && !is_asleep && measured.pulses.is_some();
    let is_close = measured.ratio().abs() <= radio.error().unwrap_or(0.0).max(CLOSE);
    if is_close && !is_beside && (asleep.is_some() || !sleeps_by_plan) {
        let text = if is_off { format!("{mean}{OFF}") } else { mean };
        return verdict(CurrentVerdictKind::AsPredicted, text);
    }
    // Of a radio that is on all the time a profile may know a band alone.
    if !sleeps_by_plan && !is_asleep && measured.ratio() < 0.0 {
        let least = least_listening(measured.mean_a, radio, measured.load_a);
        if !least.is_empty() {
            let listens = milli(currents[RadioState::Listen as usize]);
            let off = if is_off { OFF } else { "" };
            let text = format!("{mean}; listening takes {listens}{least} (docs/same-current.md){off}");
            return verdict(CurrentVerdictKind::AsPredicted, text);
        }
    }
    let Some(asleep) = asleep else {
        let hides = if measured.samples_are_long {
            "samples longer than 20 ms do not show"
        } else {
            "noise as large as what a radio takes does not show"
        };
        let text = format!("{mean}; {hides} whether the device sleeps between beacons");
        return verdict(CurrentVerdictKind::Undetermined, text);
    };
    if sleeps_by_plan && !is_asleep {
        return Sleeping::seen(measured, radio, currents).map_or_else(
            || awake(measured, radio, currents),
            |sleeping| beside_a_sleeping_radio(&sleeping, measured, radio, currents),
        );
    }
    verdict(CurrentVerdictKind::Differs, differs(measured, is_asleep.then_some(asleep), currents))
}

/// Whether the trace determines a state's current, and it is another one than predicted.
fn is_off(state: &StateCharge) -> bool {
    state.measured_a.is_some() && (state.measured_c / state.predicted_c - 1.0).abs() > CLOSE
}

/// Reasons for which a device is awake around beacons, and of which a prediction from a capture does not know.
const UNPREDICTED_BEACONS: &str = ": beacons that it misses and waits for, frames to everyone after them";

/// The mean is not the predicted one, and that is not because the device never sleeps.
fn differs(measured: &Measured<'_>, asleep: Option<f64>, currents: &StateCurrents) -> String {
    let mean = format!(
        "takes {} on the average instead of {}, {:+.0} %",
        milli(measured.mean_a),
        milli(measured.predicted_a),
        100.0 * measured.ratio()
    );
    let Some(asleep) = asleep else { return format!("the device {mean}, and sleeps neither here nor there") };
    let (awake, planned) = (1.0 - asleep, 1.0 - measured.predicted_asleep_share);
    let longer = if awake > planned + LONGER_AWAKE.0 && awake > LONGER_AWAKE.1 * planned {
        if measured.is_announced {
            // The station says when its radio sleeps, so that it is neither its traffic nor its timeout.
            "; its frames announce power save meanwhile, so that no traffic keeps it awake: wake-ups that take longer or more than the profile's, a lock of power management or a busy task"
        } else {
            "; more traffic or a longer timeout than predicted keeps it awake, or a lock of power management or a busy task"
        }
    } else {
        ""
    };
    let slept = |most: &str| {
        format!(
            "the device sleeps for {:.1} % of the time, where {:.1} % are predicted, and {mean}{longer}{most}",
            100.0 * asleep,
            100.0 * measured.predicted_asleep_share
        )
    };
    // A state can explain the difference of the means only if its charge differs in the same direction.
    let sign = measured.ratio().signum();
    let off = |state: &StateCharge| sign * (state.measured_c - state.predicted_c);
    let whole_c = measured.ratio().abs() * measured.states.iter().map(|state| state.predicted_c).sum::<f64>();
    let determined = measured.states.iter().filter(|state| state.measured_a.is_some());
    let has_most = |state: &&StateCharge| off(state) >= whole_c / 2.0;
    let takes = |state: &StateCharge| {
        let (measured_a, predicted_a) = (state.measured_c / state.time_s, state.predicted_c / state.time_s);
        format!("{} instead of {}", milli(measured_a), milli(predicted_a))
    };
    let most = determined.max_by(|a, b| off(a).total_cmp(&off(b))).filter(has_most);
    // Short pulses are those of beacons, and the base between them is the sleep.
    let sleep_a = currents[RadioState::Sleep as usize];
    let is_near = |measured: f64, predicted: f64| (measured / predicted - 1.0).abs() <= CLOSE;
    let is_base_right = measured.pulses.is_some_and(|pulses| is_near(pulses.base_a, sleep_a));
    let are_beacons_right =
        is_base_right && measured.pulses.is_some_and(|pulses| is_near(pulses.pulse_c.0, pulses.pulse_c.1));
    let unexplained = || {
        let longer = "; no state that the trace determines has most of the difference: a longer time awake after traffic would (`--policy timeout:timeout=TIME` tries one)";
        if sign > 0.0 { longer.to_owned() } else { String::new() }
    };
    let difference_a = (measured.mean_a - measured.predicted_a).abs();
    let has_beacons = |more_a: &f64| sign * more_a >= difference_a / 2.0;
    // With sleep count those of which the capture does not say how long they are.
    let of_beacons = measured.beacons_more_a.filter(|_| !measured.beacons_in_sleep);
    if let Some(more_a) = of_beacons.filter(has_beacons) {
        return slept(&format!(
            "; most of the difference is in its wake-ups for beacons, which take {} {} on the average than predicted",
            milli(more_a.abs()),
            if sign > 0.0 { "more" } else { "less" }
        ));
    }
    let most = most.map_or_else(unexplained, |state| {
        let name = state.state;
        if measured.beacons_in_sleep && name == RadioState::Sleep.name() && are_beacons_right {
            let (how, around) = if sign > 0.0 {
                ("longer", format!(", or around beacons{UNPREDICTED_BEACONS}"))
            } else {
                ("shorter", String::new())
            };
            format!(
                "; sleep and each short wake-up for a beacon take what is predicted, so that the rest is time awake after traffic, {how} \
                 than the policy's (`--policy timeout:timeout=TIME` tries one){around}"
            )
        } else if measured.beacons_in_sleep && name == RadioState::Sleep.name() {
            // Which of both has it, the states awake can hint at.
            let others = measured.states.iter().filter(|other| other.state != name && is_off(other));
            let others = others.map(|other| format!("; in {} it takes {}", other.state, takes(other)));
            let with = "sleep and the beacons that count with it";
            format!("; most of the difference is in {with}: {}{}", takes(state), others.collect::<String>())
        } else if name == RadioState::Sleep.name() && is_base_right && sign > 0.0 {
            format!(
                "; the current between wake-ups is as predicted, so that most of the difference is time awake where sleep is \
                 predicted{UNPREDICTED_BEACONS}, or traffic that the capture lacks"
            )
        } else {
            format!("; most of the difference is in {name}: {}", takes(state))
        }
    });
    slept(&most)
}

/// The least that a host takes that is awake, in amperes.
fn least_awake(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> Option<f64> {
    let sleep_a = currents[RadioState::Sleep as usize];
    let modes = radio.modes.iter().map(|mode| of_mode(mode, radio) + measured.load_a);
    modes.filter(|mode_a| *mode_a > AWAKE * sleep_a).min_by(f64::total_cmp)
}

/// What tells more than the charges of wake-ups for beacons.
const SHORT: &str = "; a trace with traffic tells it, since a time awake of 8 ms or more has a level";

/// Whether a current asleep is too little for a host that is awake.
fn is_too_little(own_a: f64, measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> bool {
    let sleep_a = currents[RadioState::Sleep as usize];
    least_awake(measured, radio, currents).is_some_and(|least_a| own_a - sleep_a < (least_a - sleep_a) / 2.0)
}

/// The radio sleeps as it is predicted to, and more than its current of sleep is drawn meanwhile: by the board or by the host.
fn beside_a_sleeping_radio(
    sleeping: &Sleeping,
    measured: &Measured<'_>,
    radio: &Radio,
    currents: &StateCurrents,
) -> CurrentVerdict {
    let &Sleeping { asleep_a, own_a, tells_a, ref seen } = sleeping;
    let sleep_a = currents[RadioState::Sleep as usize];
    let of_mode = |mode: &HostMode| of_mode(mode, radio) + measured.load_a;
    let (more_a, load_a) = (asleep_a - sleep_a, asleep_a - own_a);
    let load_a = if load_a > tells_a { load_a } else { 0.0 };
    let off = |mode: &&HostMode| (own_a / of_mode(mode) - 1.0).abs();
    let awake_modes = radio.modes.iter().filter(|mode| of_mode(mode) > AWAKE * sleep_a);
    let like = awake_modes
        .filter(|mode| (own_a - of_mode(mode)).abs() <= tells_a.max(LIKE_MODE * of_mode(mode)))
        .min_by(|a, b| off(a).total_cmp(&off(b)));
    let may_sleep = own_a - tells_a <= doze_limit(currents, measured.load_a);
    let on_all = if load_a > 0.0 {
        format!(", beside a constant {} on all states", milli(load_a))
    } else {
        String::new()
    };
    let draws = "a light, a regulator, a USB bridge, a sensor";
    let too_little = |current_a: f64| is_too_little(current_a, measured, radio, currents);
    let (kind, text) = match like {
        _ if may_sleep && load_a > 0.0 && (like.is_none() || too_little(asleep_a)) => {
            let what = format!("something that never sleeps draws it: {draws}");
            (CurrentVerdictKind::Load, format!("the radio and the host sleep{on_all}; {what}; {seen}"))
        }
        _ if too_little(asleep_a) || (!may_sleep && too_little(own_a + tells_a)) => {
            let too_little =
                format!("{} more is too little for a host that is awake", milli(more_a - load_a));
            let what = format!("{draws}, or a part of the chip that stays on draws it");
            (CurrentVerdictKind::Load, format!("the radio sleeps{on_all}: {seen}; {too_little}; {what}"))
        }
        _ if may_sleep => {
            let what = "load or host: undecided: the radio sleeps, and the board has a load or the host does not sleep";
            let why = format!("times awake tell what the device takes asleep to {} at best", milli(tells_a));
            let short = measured.pulses.is_some_and(|pulses| pulses.level.is_none());
            let more = if short { SHORT } else { "" };
            let most_a = most_asleep(radio, currents, measured.load_a);
            let least_load = if asleep_a > most_a + LEAST_A {
                let most = milli(most_a);
                format!(
                    "; {} of it at least is a load, since no mode of the host takes more than {most}",
                    milli(asleep_a - most_a)
                )
            } else {
                String::new()
            };
            (CurrentVerdictKind::LoadOrHost, format!("{what}: {seen}; {why}{least_load}{more}"))
        }
        Some(mode) => {
            let (name, takes) = (&mode.name, milli(of_mode(mode)));
            let who = "the radio sleeps, and the host does not";
            (CurrentVerdictKind::HostAwake, format!("{who}{on_all}: {seen}; {name} takes {takes}"))
        }
        None => {
            let who = "the radio sleeps, and the host does not";
            let none = "no mode of the host is known that takes as much";
            (CurrentVerdictKind::HostAwake, format!("{who}{on_all}: {seen}; {none}"))
        }
    };
    CurrentVerdict {
        kind,
        text: text + " (docs/same-current.md)",
        more_a: Some(more_a),
        on_all_states_a: Some(load_a),
    }
}

/// The device does not sleep when it is predicted to, as far as its lowest current tells.
fn awake(measured: &Measured<'_>, radio: &Radio, currents: &StateCurrents) -> CurrentVerdict {
    let (sleep_a, listen_a) = (currents[RadioState::Sleep as usize], currents[RadioState::Listen as usize]);
    let of_mode = |mode: &HostMode| of_mode(mode, radio) + measured.load_a;
    let own = radio.modes.get(radio.mode).map_or_else(String::new, |mode| format!(" in {}", mode.name));
    // The least of a current that does not vary is the meter's noise.
    let low_a = if measured.varies { measured.low_a } else { measured.mean_a };
    let like = radio.modes.iter().find(|mode| (low_a / of_mode(mode) - 1.0).abs() <= LIKE_MODE);
    let quiet = if measured.varies {
        format!("it never falls below {}", milli(low_a))
    } else {
        format!("the current is {} throughout", milli(measured.mean_a))
    };
    let most_a = most_asleep(radio, currents, measured.load_a);
    let is_above_hosts = !radio.modes.is_empty() && low_a > (1.0 + LIKE_MODE) * most_a;
    let (kind, who) = if is_too_little(low_a, measured, radio, currents) {
        let what = "a light, a regulator, a USB bridge, a sensor, or a part of the chip that stays on draws what is more";
        (CurrentVerdictKind::Load, format!("too little for a host that is awake: {what}"))
    } else if low_a < on_limit(currents, measured.load_a) {
        // What varies as no radio does, or with samples that do not show it, may lie on a load.
        if like.is_some() && !measured.varies {
            (CurrentVerdictKind::HostAwake, "the host does not sleep".to_owned())
        } else {
            let what = "load or host: undecided: the board has a load or the host does not sleep";
            (CurrentVerdictKind::LoadOrHost, what.to_owned())
        }
    } else if is_above_hosts {
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
        text += &format!(
            "; listening takes {}{}",
            milli(listen_a),
            least_listening(low_a, radio, measured.load_a)
        );
        for mode in radio.modes.iter().filter(|mode| of_mode(mode) > AWAKE * sleep_a) {
            text += &format!(", the host in {} {}", mode.name, milli(of_mode(mode)));
        }
    }
    if matches!(kind, CurrentVerdictKind::Awake | CurrentVerdictKind::LoadOrHost) {
        text += "; measure once with Wi-Fi off: what stays is not the radio's";
    }
    let planned = 1.0 - measured.predicted_asleep_share;
    let on = measured.radio_on_share.filter(|on| {
        matches!(kind, CurrentVerdictKind::HostAwake | CurrentVerdictKind::LoadOrHost)
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
            "; by the power save that the station announces its radio sleeps for {:.0} % of the time, so the setting is in force",
            100.0 * measured.predicted_asleep_share
        );
        if is_above_hosts {
            text += &format!(
                ": unless the radio listens all the same, the board has a load of {} beside a host that never sleeps, or up to {}",
                milli(low_a - most_a),
                milli(low_a - sleep_a)
            );
        }
    }
    CurrentVerdict { kind, text: text + " (docs/same-current.md)", more_a: None, on_all_states_a: None }
}

/// The mode of the host that takes a current while the radio dozes.
pub(super) fn like_mode(radio: &Radio, current_a: f64) -> Option<String> {
    let off = |mode: &HostMode| (current_a / of_mode(mode, radio) - 1.0).abs();
    let modes = radio.modes.iter().filter(|mode| off(mode) <= LIKE_MODE);
    Some(modes.min_by(|a, b| off(a).total_cmp(&off(b)))?.name.clone())
}

/// Two levels of a current between times awake which change too fast for the meter.
pub(super) fn too_fast(low_a: f64, step_a: f64, sample_s: f64) -> String {
    format!(
        "; between times awake the current has two levels, {} and {}, and samples of {} do not tell whether a load is switched, as an LED \
         or a sensor, or the host wakes up: it counts as the radio's and the host's",
        milli(low_a),
        milli(low_a + step_a),
        seconds(sample_s),
    )
}

/// The verdict of a device beside which a load is switched. A device that is as predicted without it is not as predicted with it.
pub(super) fn beside_switched(alone: CurrentVerdict, load: &SwitchedLoad) -> CurrentVerdict {
    let is_alone = alone.kind == CurrentVerdictKind::AsPredicted;
    let every = load.period_s.map_or_else(
        || format!("{} times, not periodically", load.count),
        |period_s| format!("every {}", seconds(period_s)),
    );
    let host = load.like_mode.as_ref().map_or_else(String::new, |mode| {
        format!(", or a task or a lock that keeps the host awake, since {mode} takes as much")
    });
    let found = format!(
        "a load beside radio and host draws {} for {} {every}, {:.1} % of the time and {:.1} % of the charge, {} on the average, and keeps no \
         step with beacons: an LED, a sensor{host}",
        milli(load.current_a),
        seconds(load.on_s),
        100.0 * load.duty,
        100.0 * load.share,
        milli(load.mean_a),
    );
    let kind = if is_alone { CurrentVerdictKind::Load } else { alone.kind };
    let text = format!("{found}; without it: {}", alone.text);
    CurrentVerdict { kind, text, ..alone }
}

fn seconds(time_s: f64) -> String {
    if time_s < 0.9995 { format!("{:.0} ms", 1e3 * time_s) } else { format!("{time_s:.2} s") }
}

/// How little listening may take by a profile that assumes it, if a current is within.
fn least_listening(current_a: f64, radio: &Radio, load_a: f64) -> String {
    let is_assumed = radio.assumed.contains_key("listen");
    let least_a = LISTEN_SHARE * radio.receive.as_watts() / volts(radio) + load_a;
    let within = (is_assumed && current_a >= (1.0 - LIKE_LISTENING) * least_a).then_some(least_a);
    within.map_or_else(String::new, |least_a| {
        format!(", or as little as {}, since the profile assumes it: a radio that listens all the time is possible", milli(least_a))
    })
}

fn volts(radio: &Radio) -> f64 {
    radio.voltage.map_or(1.0, airwatt_base::Voltage::as_volts)
}

/// The current of a mode of the host while the radio dozes, in amperes.
fn of_mode(mode: &HostMode, radio: &Radio) -> f64 {
    mode.sleep.as_watts() / volts(radio)
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
