//! Power save of the first 802.11: one PS-Poll for one frame.
//!
//! Awake for every beacon of the listen interval; if the TIM bit is set a PS-Poll asks for a frame, and another one as
//! long as the More Data bit says so (802.11-2020 11.2.3). The user's frames go out at once with PM = 1 and fetch
//! nothing. A lost poll, or one that is not answered in time, waits for the next beacon.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::Policy;
use crate::powersave::ServiceFlags;
use crate::powersave::link::Link;
use crate::powersave::station::StationTimer;

#[derive(Clone, Debug)]
pub(in crate::powersave) struct PsmLegacy;

impl Policy for PsmLegacy {
    type Config = NoSettings;
    const NEEDS_UAPSD: bool = false;

    fn new(_config: NoSettings, _start: Instant) -> Self {
        Self
    }

    fn start(&mut self, link: &mut Link) {
        link.start_in_power_save();
    }

    fn beacon(&mut self, link: &mut Link, tim: bool, _now: Instant) {
        if tim {
            link.poll(StationTimer::Beacon);
        }
    }

    fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, _now: Instant) {
        if last.is_some_and(|flags| flags.more_data) {
            link.poll(StationTimer::ServicePeriod);
        }
    }
}
