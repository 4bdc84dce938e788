//! Radio profiles: the power of a radio in each state, and the cost of transitions between awake and asleep.
//!
//! A profile is a TOML file: `name`, `description`, `source`; `transmit`, `receive`, `listen` and `sleep` as power
//! (`"390mW"`) or, with `voltage`, as current (`"273mA"`); `to_sleep` and `wake_up` as tables of `time` with `power` or
//! `energy`. A transition that is left out is immediate and free. The profiles that ship are compiled in; each value has
//! its source beside it in the file.
//!
//! Left out: different depths of sleep, power per rate, per chain or per transmit power, and the warm-up of amplifiers:
//! no published profile that we know of gives them together with the rest.

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use airwatt_base::settings::SettingError;
use airwatt_base::{Current, Energy, Power, Span, Voltage};
use serde::{Deserialize, Deserializer};

use crate::ledger::State;

#[cfg(test)]
mod tests;

/// The shipped files: stem and text. A test compares the list with the folder.
const SHIPPED: &[(&str, &str)] = &[
    ("ar5004", include_str!("../../../radios/ar5004.toml")),
    ("broadcom-4311", include_str!("../../../radios/broadcom-4311.toml")),
    ("halperin-2010", include_str!("../../../radios/halperin-2010.toml")),
    ("lucent-wavelan", include_str!("../../../radios/lucent-wavelan.toml")),
    ("wavelan-2001", include_str!("../../../radios/wavelan-2001.toml")),
];

/// A transition between awake and asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Transition {
    /// Duration of the transition.
    pub time: Span,
    /// Power during the transition.
    pub power: Power,
}

impl Transition {
    /// Energy of one complete transition: power times time.
    pub fn energy(self) -> Energy {
        self.power * self.time
    }
}

/// The powers of one radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radio {
    /// The name that scenarios use.
    pub name: String,
    /// A description in one line.
    pub description: String,
    /// The source of the figures.
    pub source: String,
    /// The supply voltage, which converts currents to powers; `None` if the source gives none.
    pub voltage: Option<Voltage>,
    /// Power while transmitting.
    pub transmit: Power,
    /// Power while receiving a frame.
    pub receive: Power,
    /// Power while awake without transmitting or receiving (idle, carrier sense).
    pub listen: Power,
    /// Power while asleep.
    pub sleep: Power,
    /// The transition from awake to sleep.
    pub to_sleep: Transition,
    /// The transition from sleep to awake.
    pub wake_up: Transition,
}

impl Radio {
    /// The power in `state`.
    pub const fn power(&self, state: State) -> Power {
        match state {
            State::Transmit => self.transmit,
            State::Receive => self.receive,
            State::Listen => self.listen,
            State::Sleep => self.sleep,
            State::ToSleep => self.to_sleep.power,
            State::WakeUp => self.wake_up.power,
        }
    }

    /// The shipped profiles, by name in alphabetical order.
    pub fn shipped() -> &'static [Self] {
        static RADIOS: LazyLock<Vec<Radio>> = LazyLock::new(|| {
            let read = |&(stem, text): &(&str, &str)| {
                Radio::from_toml(text, &format!("radios/{stem}.toml"))
                    .unwrap_or_else(|error| panic!("{error}"))
            };
            SHIPPED.iter().map(read).collect()
        });
        &RADIOS
    }

    /// Returns the shipped profile of this name, or the profile in the file at this path. A text that contains a `/` or
    /// ends in `.toml` is a path.
    ///
    /// # Errors
    /// Returns an error if there is no such name or file, or the file is not a profile.
    pub fn find(name_or_path: &str) -> Result<Self, RadioError> {
        if Self::is_file(name_or_path) {
            let text = std::fs::read_to_string(name_or_path).map_err(|error| RadioError::Unreadable {
                file: name_or_path.to_owned(),
                reason: error.to_string(),
            })?;
            return Self::from_toml(&text, name_or_path);
        }
        let found = Self::shipped().iter().find(|radio| radio.name == name_or_path);
        found.cloned().ok_or_else(|| RadioError::Unknown { name: name_or_path.to_owned() })
    }

    /// Whether a text is the path of a profile, and not the name of one that ships.
    pub fn is_file(name_or_path: &str) -> bool {
        name_or_path.contains('/') || has_toml_extension(name_or_path)
    }

    /// Parses a profile. `file` names it in errors.
    ///
    /// # Errors
    /// Returns an error for text that is not TOML, an unknown or missing key, a value that is not a quantity of the
    /// right kind, a current without `voltage`, and a transition with energy and without time.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, RadioError> {
        let syntax = |error: toml::de::Error, key: String| RadioError::Invalid {
            file: file.to_owned(),
            line: error.span().map(|span| text[..span.start].matches('\n').count() + 1),
            error: SettingError::Refused { key, why: error.message().replace('\n', "; ") },
        };
        let deserializer = toml::Deserializer::parse(text).map_err(|error| syntax(error, String::new()))?;
        let profile: Profile = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let key = error.path().to_string();
            syntax(error.into_inner(), if key == "." { String::new() } else { key })
        })?;
        profile.resolve().map_err(|error| RadioError::Invalid { file: file.to_owned(), line: None, error })
    }
}

fn has_toml_extension(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// The reason why a radio is not available. Its display is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioError {
    /// There is no shipped profile of this name.
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The path of the file.
        file: String,
        /// The error of the operating system.
        reason: String,
    },
    /// The file is not a profile.
    Invalid {
        /// The path of the file.
        file: String,
        /// The line, counted from one, if the parser reports it.
        line: Option<usize>,
        /// The key, what is expected and what was found.
        error: SettingError,
    },
}

impl fmt::Display for RadioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let names: Vec<&str> = Radio::shipped().iter().map(|radio| radio.name.as_str()).collect();
                write!(f, "expected {} or the path of a .toml file, got {name:?}", names.join(", "))?;
                match nearest(name) {
                    Some(near) => write!(f, "; hint: {near:?} is similar"),
                    None => Ok(()),
                }
            }
            Self::Unreadable { file, reason } => write!(f, "{file}: {reason}"),
            Self::Invalid { file, line: Some(line), error } => write!(f, "{file}:{line}: {error}"),
            Self::Invalid { file, line: None, error } => write!(f, "{file}: {error}"),
        }
    }
}

impl std::error::Error for RadioError {}

/// The shipped name most similar to `name`: the one with the fewest edits, at most a third of the length of `name`.
fn nearest(name: &str) -> Option<&'static str> {
    let limit = name.chars().count().div_ceil(3);
    let distances = Radio::shipped().iter().map(|radio| (edits(name, &radio.name), radio.name.as_str()));
    distances.min().filter(|(distance, _)| *distance <= limit).map(|(_, name)| name)
}

/// The least number of inserted, deleted and replaced characters between two words (Levenshtein), without regard to case.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
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
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a power or a current with its unit, for example \"390mW\" or \"273mA\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Draw, E> {
                if text.trim_end().ends_with('A') {
                    return text.parse().map(Draw::Current).map_err(E::custom);
                }
                text.parse().map(Draw::Power).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A transition in the notation of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileTransition {
    time: Span,
    power: Option<Draw>,
    energy: Option<Energy>,
}

/// A profile in the notation of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    name: String,
    description: String,
    source: String,
    voltage: Option<Voltage>,
    transmit: Draw,
    receive: Draw,
    listen: Draw,
    sleep: Draw,
    to_sleep: Option<ProfileTransition>,
    wake_up: Option<ProfileTransition>,
}

impl Profile {
    fn resolve(self) -> Result<Radio, SettingError> {
        if self.name.trim().is_empty() {
            return Err(SettingError::syntax("name", "a text that is not empty", format!("{:?}", self.name)));
        }
        if self.voltage == Some(Voltage::ZERO) {
            return Err(SettingError::out_of_range("voltage", Voltage::ZERO, "more than 0V"));
        }
        let power = |key, draw| power(key, draw, self.voltage);
        let transition = |key, written: Option<ProfileTransition>| {
            written.map_or(Ok(Transition::default()), |written| written.resolve(key, self.voltage))
        };
        Ok(Radio {
            transmit: power("transmit", self.transmit)?,
            receive: power("receive", self.receive)?,
            listen: power("listen", self.listen)?,
            sleep: power("sleep", self.sleep)?,
            to_sleep: transition("to_sleep", self.to_sleep)?,
            wake_up: transition("wake_up", self.wake_up)?,
            name: self.name,
            description: self.description,
            source: self.source,
            voltage: self.voltage,
        })
    }
}

impl ProfileTransition {
    fn resolve(self, key: &'static str, voltage: Option<Voltage>) -> Result<Transition, SettingError> {
        let power = match (self.power, self.energy) {
            (Some(draw), None) => power(key, draw, voltage)?,
            (None, Some(energy)) => mean_power(energy, self.time).map_err(|error| error.under(key))?,
            (None, None) if self.time.is_zero() => Power::ZERO,
            (None, None) => {
                return Err(SettingError::missing("power", "power or energy beside time").under(key));
            }
            (Some(_), Some(_)) => {
                return Err(SettingError::conflict("energy", "power", "either gives the power").under(key));
            }
        };
        Ok(Transition { time: self.time, power })
    }
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
