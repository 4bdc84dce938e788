//! U-APSD at beacons: the *Wi-Fi PSM* of the BA-TA paper.
//!
//! Awake for every beacon; if the TIM bit is set one trigger fetches everything buffered, unless a frame of the user is
//! about to be sent and so triggers. Asleep again at EOSP. A trigger that is lost, or a beacon that is missed, is made
//! good at the next beacon. An EOSP with More Data (the access point ended the period early) is followed by another
//! trigger at once.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::Policy;
use crate::powersave::ServiceFlags;
use crate::powersave::link::Link;
use crate::powersave::station::StationTimer;

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Psm;

impl Policy for Psm {
    type Config = NoSettings;
    const NEEDS_UAPSD: bool = true;

    fn new(_config: NoSettings, _start: Instant) -> Self {
        Self
    }

    fn start(&mut self, link: &mut Link) {
        link.start_in_power_save();
    }

    fn beacon(&mut self, link: &mut Link, tim: bool, _now: Instant) {
        if tim {
            link.trigger(StationTimer::Beacon);
        }
    }

    fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, _now: Instant) {
        if last.is_some_and(|flags| flags.more_data) {
            link.trigger(StationTimer::ServicePeriod);
        }
    }
}
