//! What the host of a module does while the radio dozes.
//!
//! A mode is one current: what stays while the radio dozes. All else is taken to be the same in each mode: the radio's own times
//! and its currents while it is awake. Left out: a slower wake-up from deeper modes, which makes a profile's wake-up, made for its
//! own mode, too dear in the others; the averages of each mode say how much that is.

use airwatt_base::Power;

use super::{Average, Radio};

/// Keys that may be borrowed from another chip.
pub(super) const BORROWABLE: [&str; 8] =
    ["transmit", "receive", "listen", "sleep", "wake_up", "to_sleep", "min_awake", "sleep_clock"];

/// A mode of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMode {
    /// The name after the colon of a radio's name.
    pub id: String,
    /// The maker's name.
    pub name: String,
    /// Power while the radio dozes.
    pub sleep: Power,
    /// What sets it: configuration keys and calls, all of them.
    pub set: Vec<String>,
    /// Published averages in this mode.
    pub averages: Vec<Average>,
}

impl Radio {
    /// The same radio with its host in another mode; `None` if there is no such mode.
    #[must_use]
    pub fn in_mode(mut self, id: &str) -> Option<Self> {
        let place = self.modes.iter().position(|mode| mode.id == id)?;
        if place == self.mode {
            return Some(self);
        }
        let mode = &self.modes[place];
        if let Some((profile, _)) = self.name.split_once(':') {
            self.name = profile.to_owned();
        }
        if place > 0 {
            self.name = format!("{}:{id}", self.name);
        }
        // Of what stays in another mode, nothing is told apart.
        (self.sleep, self.housekeeping) = (mode.sleep, Power::ZERO);
        self.averages.clone_from(&mode.averages);
        self.other_sleep = None;
        self.mode = place;
        Some(self)
    }

    /// A board that was measured, with what it takes asleep beyond `chip`, the sleep of the profile before: what stands on it beside the
    /// chip takes the same whatever the host does. What of it wakes up an associated host is not there in deep sleep.
    #[must_use]
    pub fn with_board_above(mut self, chip: Power) -> Self {
        let more = self.sleep.as_nanowatts().saturating_sub(chip.as_nanowatts());
        for (place, mode) in self.modes.iter_mut().enumerate() {
            mode.sleep = if place == self.mode {
                self.sleep
            } else {
                Power::from_nanowatts(mode.sleep.as_nanowatts().saturating_add(more))
            };
        }
        let always = Power::from_nanowatts(more.saturating_sub(self.housekeeping.as_nanowatts()));
        if let Some(chip) = self.deep_sleep.filter(|_| always > Power::ZERO) {
            let volts = self.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
            let [own, board] = [chip, always].map(|power| 1e6 * power.as_watts() / volts);
            let why = format!(
                "{own:.3} uA of the chip, and {board:.3} uA that the board takes above the chip while it dozes: measure it in deep sleep"
            );
            self.assumed.insert("deep_sleep".to_owned(), why);
            self.deep_sleep =
                Some(Power::from_nanowatts(chip.as_nanowatts().saturating_add(always.as_nanowatts())));
        }
        self
    }
}
