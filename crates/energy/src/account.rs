//! What a profile says of an energy beside its amount: the mode of the host that it assumes and the same time in the others, how
//! much rests on values of another chip, and how far the profile may be off.

use std::sync::LazyLock;

use airwatt_base::Span;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ledger::StateSeconds;
use crate::radio::average::BEACON_INTERVAL;
use crate::radio::{HostMode, Radio};

/// Share of a charge that may rest on values of another chip in an answer in days.
pub const MOST_BORROWED: f64 = 0.05;
/// A band from which on a profile is no basis for an answer in days.
pub const WIDE_BAND: f64 = 0.5;

/// A share of the energy below which a key is not named.
const LEAST_PART: f64 = 0.001;
/// The lowest listen power that published profiles of modules have, as a share of that of receiving (SiWx917: 16.5 of 22 mA).
pub const LISTEN_SHARE: f64 = 0.75;

/// What a profile says of an energy: the mode that it assumes, the power in the others, and how far it may be off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ProfileAccount {
    /// The maker's name of the assumed mode; `None` if the profile has no modes.
    pub mode: Option<String>,
    /// The same time in each mode.
    pub modes: Vec<ModeAccount>,
    /// Share of the energy that depends on values of another chip, at most.
    pub borrowed_share: f64,
    /// The borrowed keys of which that share consists.
    pub borrowed: Vec<String>,
    /// Largest error of the profile's predictions of published averages that it is not fitted on, as a share; `None` if
    /// there is none to compare with.
    pub error: Option<f64>,
    /// Keys whose values the profile assumes and on which this energy depends: `listen` beyond that of beacons, `wake_up` without an
    /// average that it was fitted on, and `sleep` with no more than one.
    pub assumed: Vec<String>,
    /// What half a unit in the last digit of the averages leaves open on which the profile is fitted, as a share, where `error` and what is
    /// known of other profiles are less; left out where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digits: Option<f64>,
    /// By how much the energy is larger, as a share of it, if a load of the board makes the one average on which the profile is fitted, and
    /// not its wake-up; left out where nothing of that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_instead: Option<f64>,
    /// The DTIM period whose average would narrow the band most if it was measured, where `error` is `null`.
    pub next_average: Option<u32>,
    /// How far the energy, the current and the days' inverse may be below and above, as shares: `error`, or without one the largest
    /// error of the profiles that ship, as far as the profile's averages leave room for it, and no less than the digits of these; what the borrowed values would make if they were those of another chip, what the assumed
    /// ones may make, and `load_instead`. These are independent of each other, so that it is the root of the sum of their squares.
    pub band_low: f64,
    /// See `band_low`.
    pub band_high: f64,
}

/// What a time costs with the host in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeAccount {
    /// The name after the colon of a radio's name.
    pub id: String,
    /// The maker's name.
    pub name: String,
    /// Mean power.
    pub average_power_w: f64,
    /// The largest error of the profile where it predicts a published average of this mode, as a share; `null` if it predicts none.
    pub error: Option<f64>,
}

impl ProfileAccount {
    /// What the profile says of a time whose energy is `energy_j`; `None` if it ships, knows no modes, borrows nothing and is compared
    /// with nothing. A profile of the user's has a band in any case, since it is made for an answer in days.
    pub fn if_any(radio: &Radio, spent: &StateSeconds, energy_j: f64) -> Option<Self> {
        let ships = Radio::shipped().iter().any(|shipped| shipped.name == radio.name);
        let says =
            !(ships && radio.modes.is_empty() && radio.borrowed.is_empty() && radio.averages.is_empty());
        says.then(|| Self::of(radio, spent, energy_j))
    }

    /// What the profile says of a time whose energy is `energy_j`.
    pub fn of(radio: &Radio, spent: &StateSeconds, energy_j: f64) -> Self {
        let elapsed = spent.total();
        let power_w = |energy_j: f64| if elapsed > 0.0 { energy_j / elapsed } else { 0.0 };
        let in_mode = |mode: &HostMode| {
            let more_w = mode.sleep.as_watts() - radio.sleep.as_watts();
            ModeAccount {
                id: mode.id.clone(),
                name: mode.name.clone(),
                average_power_w: power_w(energy_j + more_w * spent.sleep),
                error: radio.clone().in_mode(&mode.id).and_then(|radio| radio.error()),
            }
        };
        let error = radio.error();
        let model = error.map_or_else(|| others_error(radio, spent, energy_j), |error| (error, error));
        let digits = digits(radio, spent, energy_j);
        let mut band = SquaredBand { low: model.0.max(digits).powi(2), high: model.1.max(digits).powi(2) };
        let (borrowed, borrowed_share) = borrowed(radio, spent, energy_j, &mut band);
        let mut assumed = Vec::new();
        for (key, less, more) in assumptions(radio, spent, &borrowed) {
            let share = |part_j: f64| if energy_j > 0.0 { part_j / energy_j } else { 0.0 };
            if share(less.max(more)) > LEAST_PART {
                assumed.push(key.to_owned());
            }
            band.widen(share(less), share(more));
        }
        let load_instead = load_instead(radio, spent, energy_j);
        band.widen(load_instead.min(0.0), load_instead.max(0.0));
        Self {
            mode: radio.modes.get(radio.mode).map(|mode| mode.name.clone()),
            modes: radio.modes.iter().map(in_mode).collect(),
            borrowed_share,
            borrowed,
            error,
            assumed,
            digits: (digits > model.0.min(model.1)).then_some(digits),
            load_instead: (load_instead.abs() >= LEAST_PART).then_some(load_instead),
            next_average: if error.is_none() { next_average(radio, spent) } else { None },
            band_low: band.low.sqrt().min(1.0),
            band_high: band.high.sqrt(),
        }
    }
}

/// How far an energy may be below and above, as squares of shares: the sums over errors that are independent of each other.
struct SquaredBand {
    low: f64,
    high: f64,
}

impl SquaredBand {
    fn widen(&mut self, below: f64, above: f64) {
        self.low += below.powi(2);
        self.high += above.powi(2);
    }
}

/// The borrowed keys of which an energy has a part that is worth a name, and the share of it that depends on any. The band gets how far
/// the values of another chip may be off.
fn borrowed(
    radio: &Radio,
    spent: &StateSeconds,
    energy_j: f64,
    band: &mut SquaredBand,
) -> (Vec<String>, f64) {
    let (held_receive_s, held_listen_s) = held_s(radio, spent);
    let (guard_s, least_awake_s) = listened_s(radio, spent);
    let depends_j = |key: &str| match key {
        "transmit" => radio.transmit.as_watts() * spent.transmit,
        "receive" => radio.receive.as_watts() * (spent.receive - held_receive_s).abs(),
        "listen" => radio.listen.as_watts() * (spent.listen - held_listen_s).abs(),
        "sleep_clock" => radio.listen.as_watts() * guard_s,
        "min_awake" => radio.listen.as_watts() * least_awake_s,
        "sleep" => radio.sleep.as_watts() * spent.sleep,
        "wake_up" => radio.wake_up.power.as_watts() * spent.transition,
        _ => radio.to_sleep.power.as_watts() * spent.transition,
    };
    let mut keys: Vec<&str> = radio.borrowed.iter().map(String::as_str).collect();
    // What is borrowed to receive stands for listening too, if nothing is known of that.
    if keys.contains(&"receive") && radio.assumed.contains_key("listen") && !keys.contains(&"listen") {
        keys.push("listen");
    }
    let (mut share, mut listening): (f64, f64) = (0.0, 0.0);
    let mut named = Vec::new();
    for key in keys {
        let part = if energy_j > 0.0 { depends_j(key) / energy_j } else { 0.0 };
        if part >= LEAST_PART {
            named.push(key.to_owned());
        }
        // Several keys decide on listening, of which no part counts twice.
        if matches!(key, "listen" | "min_awake" | "sleep_clock") {
            listening = listening.max(part);
        } else {
            share += part;
        }
        let (least, most) = spread(radio, key);
        band.widen(part * (1.0 - least), part * (most - 1.0));
    }
    (named, (share + listening).min(1.0))
}

/// The mean time from one wake-up to the next, of which most are for beacons; `None` if wake-ups take no time.
fn wakes_every(radio: &Radio, spent: &StateSeconds) -> Option<(f64, Span)> {
    let wakeups = spent.transition / (radio.wake_up.time + radio.to_sleep.time).as_secs_f64();
    let elapsed_s = spent.total();
    let is_known = wakeups.is_finite() && wakeups > 0.0;
    is_known.then(|| (wakeups, Span::from_secs_f64(elapsed_s / wakeups)))
}

/// How far below and above an energy may be by the largest error of other profiles, as shares: the part of it that the device takes
/// without traffic no further than its averages leave room for.
fn others_error(radio: &Radio, spent: &StateSeconds, energy_j: f64) -> (f64, f64) {
    let most = largest_profile_error();
    let Some((wakeups, every)) = wakes_every(radio, spent).filter(|_| energy_j > 0.0) else {
        return (most, most);
    };
    let Some((least_w, most_w)) = radio.idle_bounds_w(every) else { return (most, most) };
    let idle_w = radio.idle_w(every);
    let idle = (idle_w * every.as_secs_f64() * wakeups / energy_j).min(1.0);
    let part = |bound: f64| idle * bound.clamp(0.0, most) + (1.0 - idle) * most;
    (part(1.0 - least_w / idle_w), part(most_w / idle_w - 1.0))
}

/// What the digits of the averages leave open of an energy, as a share, of which they have the part that the device takes without traffic.
fn digits(radio: &Radio, spent: &StateSeconds, energy_j: f64) -> f64 {
    let Some((wakeups, every)) = wakes_every(radio, spent).filter(|_| energy_j > 0.0) else { return 0.0 };
    let idle_j = radio.idle_w(every) * every.as_secs_f64() * wakeups;
    radio.digits(every) * (idle_j / energy_j).min(1.0)
}

/// By how much an energy is larger, as a share, if a load of the board makes the one average on which the profile is fitted.
fn load_instead(radio: &Radio, spent: &StateSeconds, energy_j: f64) -> f64 {
    if energy_j <= 0.0 {
        return 0.0;
    }
    let elapsed_s = spent.total();
    let wakeups = wakes_every(radio, spent).map_or(0.0, |(wakeups, _)| wakeups);
    radio.load_instead_j(elapsed_s, wakeups) / energy_j
}

/// The DTIM period of the average to measure next: that of this time, or else the usual one that is furthest from those that are known.
fn next_average(radio: &Radio, spent: &StateSeconds) -> Option<u32> {
    let every = wakes_every(radio, spent)?.1;
    let known = |period: u32| radio.averages.iter().any(|average| average.dtim_period == period);
    let own = (every.as_secs_f64() / BEACON_INTERVAL.as_secs_f64()).round().clamp(1.0, 255.0) as u32;
    if !known(own) {
        return Some(own);
    }
    radio.usual_period_unknown()
}

/// The time of receiving and of listening that a fit holds. An average on which a profile is fitted has the sum of a beacon's wake-up,
/// guard and reception. Where reception took more than the profile has, its wake-up would have been fitted to take less.
fn held_s(radio: &Radio, spent: &StateSeconds) -> (f64, f64) {
    let Some((wakeups, every)) = wakes_every(radio, spent) else { return (0.0, 0.0) };
    let beacon_s = radio.fitted_beacon_s(every);
    beacon_s.map_or((0.0, 0.0), |(receive_s, listen_s)| (wakeups * receive_s, wakeups * listen_s))
}

/// The time of guards before beacons, and of the rest of the least time awake for each of them, as far as no fit holds them. They are
/// listening, but not all listening is one of them: a radio that does not sleep has neither. Where wake-ups take no time, so that nothing
/// says how many there were, all listening of a radio that sleeps may be.
fn listened_s(radio: &Radio, spent: &StateSeconds) -> (f64, f64) {
    let Some((wakeups, every)) = wakes_every(radio, spent) else {
        let is_unknown = spent.sleep > 0.0 && (radio.wake_up.time + radio.to_sleep.time).is_zero();
        let all_s = if is_unknown { spent.listen } else { 0.0 };
        return (all_s, all_s);
    };
    let guard_s = radio.sleep_clock.guard_after(every).as_secs_f64();
    let rest_s = radio.beacon_listening(every).as_secs_f64() - guard_s;
    let part = |each_s: f64| (wakeups * each_s).abs().min(spent.listen);
    let Some((_, held_s)) = radio.fitted_beacon_s(every) else { return (part(guard_s), part(rest_s)) };
    // The rest does not depend on the time between beacons.
    (part(guard_s + rest_s - held_s), 0.0)
}

/// What a time may cost less and more than with the values that a profile assumes without borrowing them, in joules.
fn assumptions<'a>(
    radio: &'a Radio,
    spent: &'a StateSeconds,
    borrowed: &'a [String],
) -> impl Iterator<Item = (&'static str, f64, f64)> + 'a {
    let is_assumed =
        move |key: &str| radio.assumed.contains_key(key) && !borrowed.iter().any(|one| one == key);
    let wakes_s = (radio.wake_up.time + radio.to_sleep.time).as_secs_f64();
    // The listening for beacons is a part of the averages that a profile was fitted on.
    let fitted_s = if radio.averages.is_empty() || wakes_s == 0.0 {
        0.0
    } else {
        spent.transition / wakes_s * radio.beacon_listening(BEACON_INTERVAL).as_secs_f64()
    };
    let less_w =
        radio.listen.as_watts() - (LISTEN_SHARE * radio.receive.as_watts()).min(radio.listen.as_watts());
    let listen_j = less_w * (spent.listen - fitted_s).max(0.0);
    let wake_up_j = radio.wake_up.power.as_watts() * spent.transition;
    let of = move |key, less, more| is_assumed(key).then_some((key, less, more));
    let wake_up = if radio.averages.is_empty() { of("wake_up", wake_up_j, wake_up_j) } else { None };
    let sleep = assumed_sleep_j(radio, spent).and_then(|(less, more)| of("sleep", less, more));
    of("listen", listen_j, 0.0).into_iter().chain(wake_up).chain(sleep)
}

/// Joules that a time may cost less and more if the assumed power of sleep was that of another chip. An average on which the wake-up
/// is fitted stays as it is: more for sleep is less for the wake-up, which is not below nothing. `None` if a fit or a load of the board
/// says what sleep takes.
fn assumed_sleep_j(radio: &Radio, spent: &StateSeconds) -> Option<(f64, f64)> {
    let mut fitted = radio.averages.iter().filter(|average| average.is_fitted);
    let average = fitted.next();
    if fitted.next().is_some() || radio.other_sleep.is_some() || radio.mode != 0 {
        return None;
    }
    let (least, most) = spread(radio, "sleep");
    let own_w = radio.sleep.as_watts();
    let (below_w, mut above_w) = (own_w * (1.0 - least), own_w * (most - 1.0));
    let mut depends_s = spent.sleep;
    if let Some(average) = average {
        above_w = above_w.min(radio.sleep_with_load(average, false).as_watts() - own_w).max(0.0);
        let wakeups = wakes_every(radio, spent).map_or(0.0, |(wakeups, _)| wakeups);
        depends_s -= wakeups * radio.asleep_s(average.every());
    }
    Some(if depends_s < 0.0 {
        (above_w * -depends_s, below_w * -depends_s)
    } else {
        (below_w * depends_s, above_w * depends_s)
    })
}

/// The largest error of the profiles that ship where they predict their makers' averages: that of a profile that predicts none.
pub fn largest_profile_error() -> f64 {
    static LARGEST: LazyLock<f64> =
        LazyLock::new(|| Radio::shipped().iter().filter_map(Radio::error).fold(0.0, f64::max));
    *LARGEST
}

/// By what factors a borrowed value may differ: of a power, those of the chips that have their own and averages to compare with;
/// of a time or a wake-up none to twice, since few sources have it.
fn spread(radio: &Radio, key: &str) -> (f64, f64) {
    let power = |radio: &Radio| match key {
        "transmit" => Some(radio.transmit),
        "receive" => Some(radio.receive),
        "listen" => Some(radio.listen),
        "sleep" => Some(radio.sleep),
        _ => None,
    };
    let Some(own) = power(radio).map(airwatt_base::Power::as_watts).filter(|watts| *watts > 0.0) else {
        return (0.0, 2.0);
    };
    let lends = |other: &&Radio| !other.averages.is_empty() && !other.borrowed.iter().any(|lent| lent == key);
    let ratios = Radio::shipped().iter().filter(lends).filter_map(power).map(|each| each.as_watts() / own);
    ratios.fold((1.0, 1.0), |(least, most), ratio| (f64::min(least, ratio), f64::max(most, ratio)))
}
