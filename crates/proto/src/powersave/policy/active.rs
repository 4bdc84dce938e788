//! Constantly awake mode: PM = 0 on every frame, no beacons, no timers, no sleep.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::Policy;
use crate::powersave::estimate::{Dozing, Estimate};
use crate::powersave::interface::StationTimer;
use crate::powersave::radio::{Abilities, Fact, PowerSaveRadio};

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Active;

impl Policy for Active {
    type Config = NoSettings;
    const NEEDS: Abilities = Abilities::NONE;
    const DRIVER: bool = true;
    const ESTIMATE: Estimate = Estimate::of_defaults(Dozing::Never);

    fn new(_config: NoSettings, _start: Instant) -> Self {
        Self
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, _now: Instant) {
        // A station begins in active mode; a driver may have been found in power save.
        if fact == Fact::Start {
            radio.set_power_save(false, StationTimer::Announce);
        }
    }
}
