//! Radio profiles: the power of a radio in each state, and what waking up, finding a beacon and dozing again cost.
//!
//! A profile is a TOML file, read in [`file`]. The profiles that ship are compiled in; each value has its source beside
//! it in the file. A value that no source gives is assumed, and [`Radio::assumed`] says so.
//!
//! What the host of a module does while the radio dozes has modes, as its maker names them ([`modes`]). An associated host wakes
//! up for other things than beacons; what that takes is `housekeeping`, and [`average`] fits it on published averages.
//!
//! Left out: power per chain or per transmit power, and the warm-up of amplifiers: no
//! published profile that we know of gives them together with the rest. Transmit power may depend on the rate; a station
//! is charged that of its data rate for all its frames, so ACKs and polls at lower rates cost slightly less than they
//! should.

pub mod average;
mod error;
mod file;
mod fit_check;
pub mod modes;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use airwatt_base::{Energy, Power, Rate, SleepClock, Span, Voltage, read_text, reason_of};

pub use self::average::Average;
pub use self::error::RadioError;
pub use self::file::TEMPLATE;
pub use self::modes::HostMode;
use crate::state::RadioState;

/// The shipped files: stem and text. A test compares the list with the folder.
const SHIPPED: &[(&str, &str)] = &[
    ("ar5004", include_str!("../../../radios/ar5004.toml")),
    ("broadcom-4311", include_str!("../../../radios/broadcom-4311.toml")),
    ("cc3130", include_str!("../../../radios/cc3130.toml")),
    ("cyw43439", include_str!("../../../radios/cyw43439.toml")),
    ("esp32", include_str!("../../../radios/esp32.toml")),
    ("esp32-c2", include_str!("../../../radios/esp32-c2.toml")),
    ("esp32-c3", include_str!("../../../radios/esp32-c3.toml")),
    ("esp32-c5", include_str!("../../../radios/esp32-c5.toml")),
    ("esp32-c5-5ghz", include_str!("../../../radios/esp32-c5-5ghz.toml")),
    ("esp32-c6", include_str!("../../../radios/esp32-c6.toml")),
    ("esp32-s3", include_str!("../../../radios/esp32-s3.toml")),
    ("halperin-2010", include_str!("../../../radios/halperin-2010.toml")),
    ("lucent-wavelan", include_str!("../../../radios/lucent-wavelan.toml")),
    ("nrf7002", include_str!("../../../radios/nrf7002.toml")),
    ("siwx917", include_str!("../../../radios/siwx917.toml")),
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

/// How much of a beacon a station receives before it dozes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BeaconReception {
    /// The whole frame, with its check sequence.
    #[default]
    Whole,
    /// The frame up to its TIM, if that has no bit for the station.
    Tim,
}

/// The powers and times of one radio.
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
    /// Power while transmitting at the station's data rate.
    pub transmit: Power,
    /// Power while transmitting by rate, in ascending order; empty if the source gives one figure.
    pub transmit_by_rate: Vec<(Rate, Power)>,
    /// Power while receiving a frame.
    pub receive: Power,
    /// Power while awake without transmitting or receiving (idle, carrier sense).
    pub listen: Power,
    /// Power while asleep, with `housekeeping`.
    pub sleep: Power,
    /// The part of `sleep` that an associated host takes on the average for wake-ups other than the radio's.
    pub housekeeping: Power,
    /// Power of the whole device while it keeps no association; `None` if the source gives none.
    pub deep_sleep: Option<Power>,
    /// The part of `sleep` that the host of a module draws, if the figures are those of a module and the source says it.
    pub host: Option<Power>,
    /// The transition from awake to sleep.
    pub to_sleep: Transition,
    /// The transition from sleep to awake.
    pub wake_up: Transition,
    /// Least time awake: after the guard time of a beacon, and after any other wake-up.
    pub min_awake: Span,
    /// The band for which its figures hold, as `2.4GHz`; `None` if they hold for all, or the source does not say.
    pub band: Option<String>,
    /// Time awake after traffic in the power save that the chip comes with; `None` if the source gives none.
    pub timeout: Option<Span>,
    /// Whether the power save that the chip comes with wakes it up for DTIM beacons only.
    pub wakes_for_dtims: bool,
    /// The clock that runs while the radio sleeps.
    pub sleep_clock: SleepClock,
    /// How much of a beacon is received.
    pub beacon_reception: BeaconReception,
    /// How long after its target time a beacon is waited for. A missed beacon costs listening for this time, and the next
    /// beacon is received whatever the listen interval.
    pub beacon_wait: Span,
    /// Keys whose values no source gives, each with the reason for the value that stands in the file.
    pub assumed: BTreeMap<String, String>,
    /// Keys whose values are those of another chip.
    pub borrowed: Vec<String>,
    /// Averages of the associated device without traffic that its maker publishes, or that were measured.
    pub averages: Vec<Average>,
    /// What sleep would take if a load of the board made the one average on which the profile is fitted, and not the wake-up: one
    /// average does not tell which. `None` if sleep was measured, or more averages were.
    pub other_sleep: Option<Power>,
    /// What the host may do while the radio dozes; the first is the one of the profile's figures. Empty if nothing is known.
    pub modes: Vec<HostMode>,
    /// The place in `modes` of the one that holds.
    pub mode: usize,
}

impl Radio {
    /// What the chip takes asleep without wake-ups of its host.
    pub const fn doze(&self) -> Power {
        Power::from_nanowatts(self.sleep.as_nanowatts().saturating_sub(self.housekeeping.as_nanowatts()))
    }

    /// The power in `state`.
    pub const fn power(&self, state: RadioState) -> Power {
        match state {
            RadioState::Transmit => self.transmit,
            RadioState::Receive => self.receive,
            RadioState::Listen => self.listen,
            RadioState::Sleep => self.sleep,
            RadioState::ToSleep => self.to_sleep.power,
            RadioState::WakeUp => self.wake_up.power,
        }
    }

    /// The same radio in a station that transmits at `rate`: the power of the highest rate of the table that is not above
    /// it, or that of the lowest.
    #[must_use]
    pub fn at_rate(mut self, rate: Rate) -> Self {
        let not_above = self.transmit_by_rate.iter().rev().find(|(at, _)| *at <= rate);
        if let Some((_, power)) = not_above.or_else(|| self.transmit_by_rate.first()) {
            self.transmit = *power;
        }
        self
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

    /// The text of the shipped file of this name.
    pub fn shipped_text(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(stem, _)| *stem == name).map(|(_, text)| *text)
    }

    /// Returns the shipped profile of this name, or the profile in the file at this path. A text that contains a `/` or
    /// ends in `.toml` is a path. A mode of the host may follow after a colon: `esp32-c3:modem-sleep`.
    ///
    /// # Errors
    /// Returns an error if there is no such name, file or mode, or the file is not a profile.
    pub fn find(text: &str) -> Result<Self, RadioError> {
        let (profile, mode) = Self::split_mode(text);
        let radio = Self::profile(profile)?;
        let Some(mode) = mode else { return Ok(radio) };
        let modes = radio.modes.iter().map(|mode| mode.id.clone()).collect();
        let unknown = || RadioError::UnknownMode { radio: profile.to_owned(), mode: mode.to_owned(), modes };
        radio.in_mode(mode).ok_or_else(unknown)
    }

    /// Returns the text of the file that [`Radio::find`] reads: its keys as they are written, with the comments.
    ///
    /// # Errors
    /// Returns an error if there is no such name or file.
    pub fn find_text(text: &str) -> Result<String, RadioError> {
        let (profile, _) = Self::split_mode(text);
        if Self::is_file(profile) {
            return Self::file_text(profile);
        }
        let shipped = Self::shipped_text(profile).map(str::to_owned);
        shipped.ok_or_else(|| RadioError::Unknown { name: profile.to_owned() })
    }

    /// The name or path of a profile, and the mode of the host after it.
    fn split_mode(text: &str) -> (&str, Option<&str>) {
        match text.rsplit_once(':') {
            Some((profile, mode)) if !Self::is_file(mode) => (profile, Some(mode)),
            _ => (text, None),
        }
    }

    fn file_text(path: &str) -> Result<String, RadioError> {
        read_text(path)
            .map_err(|error| RadioError::Unreadable { file: path.to_owned(), reason: reason_of(&error) })
    }

    fn profile(name_or_path: &str) -> Result<Self, RadioError> {
        if Self::is_file(name_or_path) {
            let text = Self::file_text(name_or_path)?;
            return Self::from_toml(&text, name_or_path);
        }
        let found = Self::shipped().iter().find(|radio| radio.name == name_or_path);
        found.cloned().ok_or_else(|| RadioError::Unknown { name: name_or_path.to_owned() })
    }

    /// Whether a text is the path of a profile, perhaps with a mode, and not the name of one that ships.
    pub fn is_file(name_or_path: &str) -> bool {
        let path = name_or_path.rsplit_once(':').map_or(name_or_path, |(path, _)| path);
        name_or_path.contains('/') || has_toml_extension(name_or_path) || has_toml_extension(path)
    }

    /// Parses a profile. `file` names it in errors.
    ///
    /// # Errors
    /// Returns an error for text that is not TOML, an unknown key, a value that is not a quantity of the right kind, a
    /// current without `voltage`, and a transition with energy and without time; and one error that names every required
    /// key that is missing.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, RadioError> {
        file::parse(text, file)
    }
}

fn has_toml_extension(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}
