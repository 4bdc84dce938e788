//! U-APSD with a fixed trigger interval: what voice stations do, and BA-TA without its adaptation.
//!
//! As `psm`, and besides a trigger whenever the interval has passed since the last uplink frame, whether data or
//! trigger, delivered or not (the trigger rule of Hashimoto's tunnelling). Frequent uplink frames thus leave no scheduled
//! triggers. A trigger that would fall into an open service period is left out, since the period empties the buffer;
//! the interval then runs from the period's end. Where the TIM is hidden, triggers at the interval are all that fetches
//! frames, and where service periods are hidden, none of them is left out.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span, with_defaults};

use super::Policy;
use crate::powersave::PowerSaveFrame;
use crate::powersave::estimate::{Dozing, Estimate, Trial};
use crate::powersave::interface::{StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};

with_defaults! {
    /// Settings of policy `uapsd`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct UapsdConfig {
        /// Time between triggers. Default 20 ms, the packet interval of common voice codecs.
        pub interval: Span = Span::from_millis(20),
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

impl Uapsd {
    fn schedule(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        radio.set_timer(PolicyTimer::Trigger, Some(now + self.interval));
    }
}

impl Policy for Uapsd {
    type Config = UapsdConfig;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::TRIGGER);
    const ESTIMATE: Estimate = Estimate {
        dozing: Dozing::BetweenTriggers,
        trials: &[
            Trial::of("interval", Span::from_millis(5)),
            Trial::of("interval", Span::from_millis(10)),
            Trial::of("interval", Span::from_millis(20)),
            Trial::of("interval", Span::from_millis(40)),
            Trial::of("interval", Span::from_millis(80)),
        ],
    };

    fn new(config: UapsdConfig, _start: Instant) -> Self {
        assert!(!config.interval.is_zero(), "a trigger interval is longer than zero");
        Self { interval: config.interval, left_out: false }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start => radio.set_power_save(true, StationTimer::Announce),
            Fact::Beacon { tim: true } => radio.trigger(StationTimer::Beacon),
            Fact::Sent { frame, .. } if frame != Uplink::Control(PowerSaveFrame::PmNull { pm: false }) => {
                self.left_out = false;
                self.schedule(radio, now);
            }
            Fact::ServiceEnded { last } => {
                if last.is_some_and(|flags| flags.more_data) {
                    radio.trigger(StationTimer::ServicePeriod);
                } else if self.left_out {
                    self.schedule(radio, now);
                }
                self.left_out = false;
            }
            Fact::Timer(_) if radio.in_service() == Some(true) => self.left_out = true,
            // With frames of the user waiting no trigger goes out: the first of them restarts the interval when it is sent.
            Fact::Timer(_) => radio.trigger(StationTimer::Trigger),
            _ => {}
        }
    }
}
