//! The notation of a radio profile in TOML, and how it becomes a [`Radio`].
//!
//! Required are `name`, `description`, `source`, `transmit`, `receive` and `sleep`. Powers are written as powers
//! (`"390mW"`) or, with `voltage`, as currents (`"273mA"`); `transmit` may be a table by rate. A transition that is left
//! out is immediate and free. [`TEMPLATE`] has every key with its meaning.

use std::collections::BTreeMap;

use airwatt_base::settings::{SettingError, in_range};
use airwatt_base::{Charge, Current, Energy, Power, Rate, SleepClock, Span, Voltage};
use serde::{Deserialize, Deserializer};

use super::modes::BORROWABLE;
use super::{Average, BeaconReception, HostMode, Radio, RadioError, Transition};

/// A profile to start from: every key, with a comment.
pub const TEMPLATE: &str = include_str!("template.toml");

/// Time for which a beacon is waited for if the profile does not say: three transmission opportunities of 3 ms that
/// others may hold before it, and its own contention.
const BEACON_WAIT: Span = Span::from_millis(10);

/// The longest time that a radio takes for anything: a thousand times what is published, and far from where sums overflow.
const LONGEST: Span = Span::from_secs(10);

/// Parses a profile. `file` names it in errors.
pub(super) fn parse(text: &str, file: &str) -> Result<Radio, RadioError> {
    let syntax = |error: toml::de::Error, key: String| RadioError::Invalid {
        file: file.to_owned(),
        line: error.span().map(|span| text[..span.start].matches('\n').count() + 1),
        error: SettingError::refused(&key, error.message().replace('\n', "; ")),
    };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| syntax(error, String::new()))?;
    let profile: Profile = serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = error.path().to_string();
        syntax(error.into_inner(), if key == "." { String::new() } else { key })
    })?;
    profile.resolve().map_err(|error| RadioError::Invalid { file: file.to_owned(), line: None, error })
}

/// The bands for which a profile may hold.
const BANDS: [&str; 3] = ["2.4GHz", "5GHz", "6GHz"];

fn known_band(band: String) -> Result<String, SettingError> {
    if BANDS.contains(&band.as_str()) {
        return Ok(band);
    }
    Err(SettingError::out_of_range("band", band, BANDS.join(", ")))
}

/// A power in the notation of a file.
#[derive(Clone, Copy)]
enum Draw {
    Power(Power),
    Current(Current),
}

impl<'de> Deserialize<'de> for Draw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Draw;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a power or a current with its unit, for example \"390mW\" or \"273mA\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Draw, E> {
                draw(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

fn draw(text: &str) -> Result<Draw, airwatt_base::ParseQuantityError> {
    if text.trim_end().ends_with('A') {
        return text.parse().map(Draw::Current);
    }
    text.parse().map(Draw::Power)
}

/// A power with half a unit of its last digit, if that is not finer than what a power is counted in.
#[derive(Clone, Copy)]
struct Published(Draw, Option<Draw>);

impl<'de> Deserialize<'de> for Published {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        draw(&text).map(|power| Self(power, draw(&half_a_unit(&text)).ok())).map_err(serde::de::Error::custom)
    }
}

/// `0.005mA` of `1.40mA`, and `0.5mA` of `63mA`.
fn half_a_unit(text: &str) -> String {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let zeros: String = number.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    format!("{zeros}{}5{unit}", if number.contains('.') { "" } else { "." })
}

/// The power while transmitting: one figure, or one for each rate.
enum Transmit {
    One(Draw),
    ByRate(BTreeMap<Rate, Draw>),
}

impl<'de> Deserialize<'de> for Transmit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> serde::de::Visitor<'de> for Any {
            type Value = Transmit;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a power or a current with its unit, or a table of them by rate")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Transmit, E> {
                draw(text).map(Transmit::One).map_err(E::custom)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Transmit, A::Error> {
                let mut table = BTreeMap::new();
                while let Some((rate, draw)) = map.next_entry::<Rate, Draw>()? {
                    table.insert(rate, draw);
                }
                Ok(Transmit::ByRate(table))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A transition in the notation of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileTransition {
    time: Span,
    power: Option<Draw>,
    energy: Option<Energy>,
    charge: Option<Charge>,
}

/// The clock in the notation of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileClock {
    guard: Option<Span>,
    accuracy_ppm: Option<f64>,
    wander_ppm: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileBeacon {
    reception: Option<ProfileReception>,
    wait: Option<Span>,
}

/// The beacons that a chip wakes up for in the power save that it comes with.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProfileBeacons {
    Dtim,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProfileReception {
    Whole,
    Tim,
}

/// What an associated host takes for wake-ups of its own: a mean, or a charge once in each period.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileHousekeeping {
    current: Option<Current>,
    power: Option<Power>,
    period: Option<Span>,
    charge: Option<Charge>,
}

/// Averages in the notation of a file: `dtim1 = "1.40mA"` and so on, the names of those on which the profile is fitted, how far they may
/// be off where that is not half a unit of the last digit, and the sleep that would explain a single one as well.
#[derive(Default, Deserialize)]
struct ProfileAverages {
    #[serde(default)]
    fitted: Vec<String>,
    #[serde(default)]
    within: BTreeMap<String, Draw>,
    other_sleep: Option<Draw>,
    #[serde(flatten)]
    by_period: BTreeMap<String, Published>,
}

/// A mode of the host in the notation of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileMode {
    id: String,
    name: String,
    sleep: Option<Draw>,
    #[serde(default)]
    averages: ProfileAverages,
    #[serde(default)]
    set: Vec<String>,
}

/// A profile in the notation of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    name: Option<String>,
    description: Option<String>,
    source: Option<String>,
    voltage: Option<Voltage>,
    transmit: Option<Transmit>,
    receive: Option<Draw>,
    listen: Option<Draw>,
    sleep: Option<Draw>,
    deep_sleep: Option<Draw>,
    host: Option<Draw>,
    to_sleep: Option<ProfileTransition>,
    wake_up: Option<ProfileTransition>,
    min_awake: Option<Span>,
    band: Option<String>,
    timeout: Option<Span>,
    wakes_for: Option<ProfileBeacons>,
    sleep_clock: Option<ProfileClock>,
    beacon: Option<ProfileBeacon>,
    #[serde(default)]
    assumed: BTreeMap<String, String>,
    housekeeping: Option<ProfileHousekeeping>,
    #[serde(default)]
    borrowed: Vec<String>,
    #[serde(default)]
    averages: ProfileAverages,
    #[serde(default)]
    mode: Vec<ProfileMode>,
}

/// The reason that stands in [`Radio::assumed`] for `listen` if a profile leaves it out.
const LISTEN_IS_RECEIVE: &str = "equal to receive, since the source gives no figure for idle listening";

impl Profile {
    fn resolve(mut self) -> Result<Radio, SettingError> {
        self.check()?;
        let text = |text: Option<String>| text.unwrap_or_default();
        let voltage = self.voltage;
        let needed = |key, draw: Option<Draw>| match draw {
            Some(draw) => power(key, draw, voltage),
            None => unreachable!("{key} was required"),
        };
        let optional = |key, draw: Option<Draw>| draw.map(|draw| power(key, draw, voltage)).transpose();
        let transition = |key, written: Option<ProfileTransition>| {
            written.map_or(Ok(Transition::default()), |written| written.resolve(key, voltage))
        };
        let transmit_by_rate = transmit(self.transmit.as_ref(), voltage)?;
        let receive = needed("receive", self.receive)?;
        if self.listen.is_none() {
            self.assumed.entry("listen".to_owned()).or_insert_with(|| LISTEN_IS_RECEIVE.to_owned());
        }
        let housekeeping = self.housekeeping.map_or(Ok(Power::ZERO), |written| written.resolve(voltage))?;
        let doze = needed("sleep", self.sleep)?;
        // Two figures were confused, or a unit is a thousand times too large.
        for (awake, least) in [("receive", receive), ("transmit", transmit_by_rate[0].1)] {
            if doze > least {
                return Err(SettingError::out_of_range("sleep", doze, format!("at most {awake}, {least}")));
            }
        }
        let sleep = Power::from_nanowatts(doze.as_nanowatts().saturating_add(housekeeping.as_nanowatts()));
        let averages = self.averages.resolve("averages", voltage)?;
        let modes = (0..).zip(self.mode).map(|(place, mode)| mode.resolve(place, sleep, &averages, voltage));
        let modes = modes.collect::<Result<Vec<_>, _>>()?;
        let beacon = self.beacon.unwrap_or_default();
        Ok(Radio {
            name: text(self.name),
            description: text(self.description),
            source: text(self.source),
            voltage,
            transmit: transmit_by_rate[0].1,
            transmit_by_rate: if matches!(self.transmit, Some(Transmit::One(_))) {
                Vec::new()
            } else {
                transmit_by_rate
            },
            receive,
            listen: optional("listen", self.listen)?.unwrap_or(receive),
            sleep,
            housekeeping,
            borrowed: self.borrowed,
            other_sleep: optional("averages.other_sleep", self.averages.other_sleep)?,
            averages,
            modes,
            mode: 0,
            deep_sleep: optional("deep_sleep", self.deep_sleep)?,
            host: optional("host", self.host)?,
            to_sleep: transition("to_sleep", self.to_sleep)?,
            wake_up: transition("wake_up", self.wake_up)?,
            min_awake: bounded("min_awake", self.min_awake.unwrap_or_default())?,
            band: self.band.map(known_band).transpose()?,
            timeout: self.timeout.map(|timeout| bounded("timeout", timeout)).transpose()?,
            wakes_for_dtims: matches!(self.wakes_for, Some(ProfileBeacons::Dtim)),
            sleep_clock: self.sleep_clock.map_or(Ok(SleepClock::default()), ProfileClock::resolve)?,
            beacon_reception: match beacon.reception {
                Some(ProfileReception::Tim) => BeaconReception::Tim,
                Some(ProfileReception::Whole) | None => BeaconReception::Whole,
            },
            beacon_wait: bounded("beacon.wait", beacon.wait.unwrap_or(BEACON_WAIT))?,
            assumed: self.assumed,
        })
    }

    /// Checks what decides nothing about the powers: required keys, the name, the voltage and the keys that are borrowed.
    fn check(&self) -> Result<(), SettingError> {
        self.check_required()?;
        let name = self.name.as_deref().unwrap_or_default();
        if name.trim().is_empty() {
            return Err(SettingError::syntax("name", "a text that is not empty", format!("{name:?}")));
        }
        if self.voltage == Some(Voltage::ZERO) {
            return Err(SettingError::out_of_range("voltage", Voltage::ZERO, "more than 0V"));
        }
        let unknown = self.borrowed.iter().find(|key| !BORROWABLE.contains(&key.as_str()));
        unknown.map_or(Ok(()), |key| {
            Err(SettingError::out_of_range("borrowed", format!("{key:?}"), BORROWABLE.join(", ")))
        })
    }

    /// Names every required key that is missing, in one error.
    fn check_required(&self) -> Result<(), SettingError> {
        let required = [
            ("name", self.name.is_some()),
            ("description", self.description.is_some()),
            ("source", self.source.is_some()),
            ("transmit", self.transmit.is_some()),
            ("receive", self.receive.is_some()),
            ("sleep", self.sleep.is_some()),
        ];
        let missing: Vec<&str> = required.iter().filter(|(_, given)| !given).map(|(key, _)| *key).collect();
        match missing[..] {
            [] => Ok(()),
            [key] => Err(SettingError::missing(key, "a value")),
            _ => Err(SettingError::missing(&missing.join(", "), "values")),
        }
    }
}

/// The powers by rate in ascending order; one entry if the profile has one figure.
fn transmit(
    written: Option<&Transmit>,
    voltage: Option<Voltage>,
) -> Result<Vec<(Rate, Power)>, SettingError> {
    match written {
        None => unreachable!("transmit was required"),
        Some(Transmit::One(draw)) => Ok(vec![(Rate::ZERO, power("transmit", *draw, voltage)?)]),
        Some(Transmit::ByRate(table)) if table.is_empty() => {
            Err(SettingError::syntax("transmit", "a power or a table of them by rate", "an empty table"))
        }
        Some(Transmit::ByRate(table)) => {
            table.iter().map(|(rate, draw)| Ok((*rate, power("transmit", *draw, voltage)?))).collect()
        }
    }
}

impl ProfileHousekeeping {
    fn resolve(self, voltage: Option<Voltage>) -> Result<Power, SettingError> {
        let needs =
            |key| SettingError::missing(key, "housekeeping as power, as current, or as period and charge");
        let volts = || {
            voltage.ok_or_else(|| SettingError::missing("voltage", "a voltage beside a current or a charge"))
        };
        match (self.power, self.current, self.period, self.charge) {
            (Some(power), None, None, None) => Ok(power),
            (None, Some(current), None, None) => Ok(current * volts()?),
            (None, None, Some(period), Some(charge)) => {
                mean_power(charge * volts()?, period).map_err(|error| error.under("housekeeping"))
            }
            _ => Err(needs("housekeeping")),
        }
    }
}

impl ProfileAverages {
    fn resolve(&self, key: &'static str, voltage: Option<Voltage>) -> Result<Vec<Average>, SettingError> {
        let expected = || "names such as dtim1 and dtim10, with a period from 1 to 255";
        let mut averages = Vec::new();
        for (name, Published(draw, digits)) in &self.by_period {
            let period = name.strip_prefix("dtim").and_then(|number| number.parse().ok());
            let Some(dtim_period) = period.filter(|period| (1..=255).contains(period)) else {
                return Err(SettingError::out_of_range(key, format!("{name:?}"), expected()));
            };
            let is_fitted = self.fitted.contains(name);
            let power = power(key, *draw, voltage)?;
            if power == Power::ZERO {
                return Err(SettingError::out_of_range(key, format!("{name} = {power}"), "more than 0W"));
            }
            let within = self.within.get(name).or(digits.as_ref());
            let within = within.map_or(Ok(Power::ZERO), |draw| self::power(key, *draw, voltage))?;
            averages.push(Average { dtim_period, power, is_fitted, within });
        }
        let named = self.fitted.iter().map(|name| ("fitted", name));
        let mut named = named.chain(self.within.keys().map(|name| ("within", name)));
        if let Some((what, unknown)) = named.find(|(_, name)| !self.by_period.contains_key(*name)) {
            let got = format!("{what} {unknown:?}");
            return Err(SettingError::out_of_range(key, got, "averages that stand beside it"));
        }
        averages.sort_by_key(|average| average.dtim_period);
        Ok(averages)
    }
}

impl ProfileMode {
    /// The first mode is that of the profile's own figures.
    fn resolve(
        self,
        place: usize,
        sleep: Power,
        averages: &[Average],
        voltage: Option<Voltage>,
    ) -> Result<HostMode, SettingError> {
        let own = self.averages.resolve("mode.averages", voltage)?;
        let (sleep, averages) = match (self.sleep, place) {
            (None, 0) => (sleep, averages.to_vec()),
            (None, _) => return Err(SettingError::missing("mode.sleep", "what stays while the radio dozes")),
            (Some(_), 0) => {
                return Err(SettingError::conflict(
                    "mode.sleep",
                    "the first mode",
                    "that is the profile's own",
                ));
            }
            (Some(draw), _) => (power("mode.sleep", draw, voltage)?, own),
        };
        Ok(HostMode { id: self.id, name: self.name, sleep, set: self.set, averages })
    }
}

impl ProfileClock {
    fn resolve(self) -> Result<SleepClock, SettingError> {
        let ppb = |key, ppm: Option<f64>| {
            let ppm = ppm.unwrap_or_default();
            if (0.0..=100_000.0).contains(&ppm) {
                Ok((ppm * 1e3).round() as u64)
            } else {
                Err(SettingError::out_of_range(key, ppm, "0 to 100000"))
            }
        };
        Ok(SleepClock {
            accuracy_ppb: ppb("sleep_clock.accuracy_ppm", self.accuracy_ppm)?,
            wander_ppb: ppb("sleep_clock.wander_ppm", self.wander_ppm)?,
            guard: bounded("sleep_clock.guard", self.guard.unwrap_or_default())?,
        })
    }
}

impl ProfileTransition {
    fn resolve(self, key: &'static str, voltage: Option<Voltage>) -> Result<Transition, SettingError> {
        let power = match (self.power, self.energy, self.charge) {
            (Some(draw), None, None) => power(key, draw, voltage)?,
            (None, Some(energy), None) => mean_power(energy, self.time).map_err(|error| error.under(key))?,
            (None, None, Some(charge)) => {
                let Some(voltage) = voltage else {
                    let expected = "an energy, or voltage beside a charge";
                    let got = format!("{:?}", charge.to_string());
                    return Err(SettingError::syntax("charge", expected, got).under(key));
                };
                mean_power(charge * voltage, self.time).map_err(|error| error.under(key))?
            }
            (None, None, None) if self.time.is_zero() => Power::ZERO,
            (None, None, None) => {
                return Err(SettingError::missing("power", "power, energy or charge beside time").under(key));
            }
            (Some(_), _, _) => {
                return Err(
                    SettingError::conflict("power", "energy or charge", "one gives the power").under(key)
                );
            }
            (None, _, _) => {
                return Err(SettingError::conflict("energy", "charge", "either gives the power").under(key));
            }
        };
        let time = bounded("time", self.time).map_err(|error| error.under(key))?;
        Ok(Transition { time, power })
    }
}

/// A time that a radio may take.
fn bounded(key: &str, time: Span) -> Result<Span, SettingError> {
    in_range(key, time, Span::ZERO, LONGEST).map(|()| time)
}

fn power(key: &'static str, draw: Draw, voltage: Option<Voltage>) -> Result<Power, SettingError> {
    match (draw, voltage) {
        (Draw::Power(power), _) => Ok(power),
        (Draw::Current(current), Some(voltage)) => Ok(current * voltage),
        (Draw::Current(current), None) => {
            let expected = "a power, or voltage beside a current";
            Err(SettingError::syntax(key, expected, format!("{:?}", current.to_string())))
        }
    }
}

/// The power that gives `energy` in `time`, to the nearest nanowatt: the error stays below 1 nW x `time`.
fn mean_power(energy: Energy, time: Span) -> Result<Power, SettingError> {
    if time.is_zero() {
        return if energy == Energy::ZERO {
            Ok(Power::ZERO)
        } else {
            Err(SettingError::out_of_range("time", time, format!("more than 0s to spend {energy} in")))
        };
    }
    let nanos = u128::from(time.as_nanos());
    let nanowatts = (energy.as_attojoules() + nanos / 2) / nanos;
    let too_much = || {
        let most = Power::from_nanowatts(u64::MAX);
        SettingError::out_of_range("energy", energy, format!("at most {most} over {time}"))
    };
    u64::try_from(nanowatts).map(Power::from_nanowatts).map_err(|_| too_much())
}
