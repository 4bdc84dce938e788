//! Power save of the first 802.11: one PS-Poll for one frame.
//!
//! Awake for every beacon of the listen interval; if the TIM bit is set a PS-Poll asks for a frame, and another one as
//! long as the More Data bit says so (802.11-2020 11.2.3). The user's frames go out at once with PM = 1 and fetch
//! nothing. A lost poll, or one that is not answered in time, waits for the next beacon.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::Policy;
use super::psm::fetch_announced;
use crate::powersave::estimate::{Dozing, Estimate, Fetch, Trial};
use crate::powersave::radio::{Abilities, Fact, PowerSaveRadio};

#[derive(Clone, Debug)]
pub(in crate::powersave) struct PsmLegacy;

impl Policy for PsmLegacy {
    type Config = NoSettings;
    /// More Data, which is part of what is known of a service, alone says whether to poll again.
    const NEEDS: Abilities =
        Abilities::SWITCH.and(Abilities::POLL).and(Abilities::SEE_TIM).and(Abilities::SEE_SERVICE);
    const ESTIMATE: Estimate = Estimate {
        dozing: Dozing::BetweenBeacons(Fetch::Poll),
        trials: &[Trial::DEFAULTS.skipping_beacons()],
    };

    fn new(_config: NoSettings, _start: Instant) -> Self {
        Self
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, _now: Instant) {
        fetch_announced(radio, fact, |radio, cause| radio.poll(cause));
    }
}
