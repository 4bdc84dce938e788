//! U-APSD at beacons: the *Wi-Fi PSM* of the BA-TA paper.
//!
//! Awake for every beacon; if the TIM bit is set one trigger fetches everything buffered, unless a frame of the user is
//! about to be sent and so triggers. Asleep again at EOSP. A trigger that is lost, or a beacon that is missed, is made
//! good at the next beacon. An EOSP with More Data (the access point ended the period early) is followed by another
//! trigger at once.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::Policy;
use crate::powersave::estimate::{Dozing, Estimate, Fetch, Trial};
use crate::powersave::interface::StationTimer;
use crate::powersave::radio::{Abilities, Fact, PowerSaveRadio};

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Psm;

impl Policy for Psm {
    type Config = NoSettings;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::TRIGGER).and(Abilities::SEE_TIM);
    const ESTIMATE: Estimate = Estimate {
        dozing: Dozing::BetweenBeacons(Fetch::Trigger),
        trials: &[Trial::DEFAULTS.skipping_beacons()],
    };

    fn new(_config: NoSettings, _start: Instant) -> Self {
        Self
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, _now: Instant) {
        fetch_announced(radio, fact, |radio, cause| radio.trigger(cause));
    }
}

/// Fetches what beacons and the More Data bit announce, by `fetch`.
pub(super) fn fetch_announced(
    radio: &mut dyn PowerSaveRadio,
    fact: Fact,
    fetch: fn(&mut dyn PowerSaveRadio, StationTimer),
) {
    match fact {
        Fact::Start => radio.set_power_save(true, StationTimer::Announce),
        Fact::Beacon { tim: true } => fetch(radio, StationTimer::Beacon),
        Fact::ServiceEnded { last: Some(flags) } if flags.more_data => {
            fetch(radio, StationTimer::ServicePeriod)
        }
        _ => {}
    }
}
