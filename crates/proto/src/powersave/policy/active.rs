//! Constantly awake mode: PM = 0 on every frame, no beacons, no timers, no sleep.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::Policy;
use crate::powersave::radio::{Abilities, Fact, Radio};

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Active;

impl Policy for Active {
    type Config = NoSettings;
    const NEEDS: Abilities = Abilities::NONE;

    fn new(_config: NoSettings, _start: Instant) -> Self {
        Self
    }

    fn fact(&mut self, _radio: &mut dyn Radio, _fact: Fact, _now: Instant) {}
}
