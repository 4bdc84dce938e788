//! Adaptive power save, as phones and Linux mac80211 (`dynamic_ps`) do it: active during traffic, asleep after a time
//! without.
//!
//! In active mode every received or sent packet restarts the inactivity timer. When it runs out the station announces
//! PM = 1 by a Null frame and, once that is acknowledged, sleeps between beacons. A TIM bit, or a frame of the user, ends
//! that: with PM = 0 in a Null frame for the former, and on the user's own frames for the latter, which saves a
//! frame. The access point sends buffered frames when it has received PM = 0, without polls.
//!
//! Left out: exceptions by port or kind of traffic that vendors add, since none is published.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span};

use super::Policy;
use crate::powersave::estimate::{Dozing, Estimate, Trial};
use crate::powersave::interface::{StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};

/// Settings of policy `timeout`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutConfig {
    /// Time without traffic before the radio sleeps. Default: the timeout with which the chip comes, if its profile has one, otherwise
    /// 100 ms, as in Linux mac80211's dynamic power save.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl TimeoutConfig {
    const USUAL: Span = Span::from_millis(100);

    /// The settings with the timeout of a chip, unless they have one of their own.
    #[must_use]
    pub fn of_chip(self, timeout: Option<Span>) -> Self {
        Self { timeout: self.timeout.or(timeout) }
    }
}

impl Settings for TimeoutConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("timeout", self.timeout.unwrap_or(Self::USUAL), Span::ZERO, Span::from_secs(3_600))
    }
}

/// The least time awake for the first frame that a beacon has announced, and for the next one after a frame. Shorter timeouts would
/// announce power save again before the access point has sent what it holds; drivers without a timeout fetch it by PS-Polls
/// at once.
const FIRST_FRAME: Span = Span::from_millis(10);
pub(super) const NEXT_FRAME: Span = Span::from_millis(5);

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Timeout {
    timeout: Span,
}

impl Timeout {
    fn traffic(&self, radio: &mut dyn PowerSaveRadio, why: StationTimer, awake: Span, now: Instant) {
        radio.set_power_save(false, why);
        radio.set_timer(PolicyTimer::Inactivity, Some(now + awake.max(self.timeout)));
    }
}

impl Policy for Timeout {
    type Config = TimeoutConfig;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::SEE_TIM);
    /// Each is tried with longer listen intervals too: where the timeout outlasts the round trip no answer waits for a beacon, so that
    /// beacons may be skipped. 50 ms is what ESP-IDF does if nothing is set. 1.5 s and 2 s are what drivers of Linux have whose firmware
    /// saves power (wl18xx, brcmfmac).
    const ESTIMATE: Estimate = Estimate {
        dozing: Dozing::AfterTimeout,
        trials: &[
            Trial::of("timeout", Span::from_millis(10)).skipping_beacons(),
            Trial::of("timeout", Span::from_millis(50)).skipping_beacons(),
            Trial::of("timeout", Span::from_millis(100)).skipping_beacons(),
            Trial::of("timeout", Span::from_millis(200)).skipping_beacons(),
            Trial::of("timeout", Span::from_millis(1_000)).skipping_beacons(),
            Trial::of("timeout", Span::from_millis(1_500)).skipping_beacons(),
            Trial::of("timeout", Span::from_millis(2_000)).skipping_beacons(),
        ],
    };

    fn new(config: TimeoutConfig, _start: Instant) -> Self {
        Self { timeout: config.timeout.unwrap_or(TimeoutConfig::USUAL) }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start => radio.set_timer(PolicyTimer::Inactivity, Some(now + self.timeout)),
            Fact::Beacon { tim: true } => self.traffic(radio, StationTimer::Beacon, FIRST_FRAME, now),
            Fact::Received { null: false, .. } => self.traffic(radio, StationTimer::Beacon, NEXT_FRAME, now),
            Fact::Sent { frame: Uplink::Data { .. }, .. } => {
                self.traffic(radio, StationTimer::Inactivity, Span::ZERO, now);
            }
            Fact::Backlog if radio.backlog() > 0 => {
                self.traffic(radio, StationTimer::Inactivity, Span::ZERO, now);
            }
            Fact::Timer(_) if radio.backlog() > 0 => {
                radio.set_timer(PolicyTimer::Inactivity, Some(now + self.timeout.max(NEXT_FRAME)));
            }
            Fact::Timer(_) => radio.set_power_save(true, StationTimer::Announce),
            _ => {}
        }
    }
}
