//! U-APSD with a fixed trigger interval: what voice stations do, and BA-TA without its adaptation.
//!
//! As `psm`, and besides a trigger whenever the interval has passed since the last uplink frame, whether data or
//! trigger, delivered or not (the trigger rule of Hashimoto's tunnelling). Frequent uplink frames thus leave no scheduled
//! triggers. A trigger that would fall into an open service period is left out, since the period empties the buffer;
//! the interval then runs from the period's end.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span};

use super::Policy;
use crate::powersave::Control;
use crate::powersave::ServiceFlags;
use crate::powersave::link::Link;
use crate::powersave::station::{StationTimer, Uplink};

/// Settings of policy `uapsd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UapsdConfig {
    /// Time between triggers. Default 20 ms, the packet interval of common voice codecs.
    pub interval: Span,
}

impl Default for UapsdConfig {
    fn default() -> Self {
        Self { interval: Span::from_millis(20) }
    }
}

impl Settings for UapsdConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("interval", self.interval, Span::from_millis(1), Span::from_secs(10))
    }
}

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Uapsd {
    interval: Span,
    /// A scheduled trigger fell into the service period that is open.
    left_out: bool,
}

impl Policy for Uapsd {
    type Config = UapsdConfig;
    const NEEDS_UAPSD: bool = true;

    fn new(config: UapsdConfig, _start: Instant) -> Self {
        assert!(!config.interval.is_zero(), "a trigger interval is longer than zero");
        Self { interval: config.interval, left_out: false }
    }

    fn start(&mut self, link: &mut Link) {
        link.start_in_power_save();
    }

    fn beacon(&mut self, link: &mut Link, tim: bool, _now: Instant) {
        if tim {
            link.trigger(StationTimer::Beacon);
        }
    }

    fn sent(&mut self, link: &mut Link, frame: Uplink, _delivered: bool, now: Instant) {
        if frame != Uplink::Control(Control::PmNull { pm: false }) {
            self.left_out = false;
            link.schedule_trigger(now + self.interval);
        }
    }

    fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, now: Instant) {
        if last.is_some_and(|flags| flags.more_data) {
            link.trigger(StationTimer::ServicePeriod);
        } else if self.left_out {
            link.schedule_trigger(now + self.interval);
        }
        self.left_out = false;
    }

    /// With frames of the user waiting no trigger goes out: the first of them restarts the interval when it is sent.
    fn timer(&mut self, link: &mut Link, _timer: StationTimer, _now: Instant) {
        if link.in_service() {
            self.left_out = true;
        } else {
            link.trigger(StationTimer::Trigger);
        }
    }
}
