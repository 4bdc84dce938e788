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
    /// chip takes the same whatever the host does.
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
        self
    }

    /// The chip on a board that takes `load` all the time, as was measured while the chip dozed: also while the radio is awake, and in deep
    /// sleep. The states in `measured` have it already, and the profile marks the others as assumed, since nobody measured them.
    #[must_use]
    pub fn with_load(mut self, load: Power, measured: &[&str]) -> Self {
        if load == Power::ZERO {
            return self;
        }
        let volts = self.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
        let beside = format!(
            "{:.3} uA that the board takes above the chip while it dozes",
            1e6 * load.as_watts() / volts
        );
        let sum =
            |power: Power| Power::from_nanowatts(power.as_nanowatts().saturating_add(load.as_nanowatts()));
        let mut assume = |key: &str, chip: &str, then: &str| {
            let before = self.assumed.get(key).map_or_else(|| chip.to_owned(), String::clone);
            self.assumed.insert(key.to_owned(), format!("{before}, and {beside}{then}"));
        };
        if !measured.contains(&"transmit") {
            assume("transmit", "that of the chip", "");
            self.transmit = sum(self.transmit);
            self.transmit_by_rate.iter_mut().for_each(|(_, power)| *power = sum(*power));
        }
        if let Some(chip) = self.deep_sleep {
            let own = format!("{:.3} uA of the chip", 1e6 * chip.as_watts() / volts);
            assume("deep_sleep", &own, ": measure it in deep sleep");
            self.deep_sleep = Some(sum(chip));
        }
        if !measured.contains(&"receive") {
            assume("receive", "that of the chip", "");
            self.receive = sum(self.receive);
        }
        // Listening that is assumed to be as receiving is measured with it.
        let is_as_receiving = self.assumed.contains_key("listen") && measured.contains(&"receive");
        if !measured.contains(&"listen") && !is_as_receiving {
            self.listen = sum(self.listen);
        }
        self.wake_up.power = sum(self.wake_up.power);
        self.to_sleep.power = sum(self.to_sleep.power);
        self
    }
}
