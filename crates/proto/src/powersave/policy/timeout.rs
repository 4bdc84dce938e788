//! Adaptive power save, as phones and Linux mac80211 (`dynamic_ps`) do it: active during traffic, asleep after a time
//! without.
//!
//! In active mode every received or sent packet restarts the inactivity timer. When it runs out the station announces
//! PM = 1 by a Null frame and, once that is acknowledged, sleeps between beacons. A TIM bit, or a frame of the user, ends
//! that: with PM = 0 in a Null frame for the former, on the user's own frames for the latter, which tells the access
//! point as much and saves a frame. Frames buffered at the access point come when it hears PM = 0, without polls.
//!
//! Left out: exceptions by port or kind of traffic that vendors add, since none is published.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span};

use super::Policy;
use crate::powersave::ServiceFlags;
use crate::powersave::link::Link;
use crate::powersave::station::{StationTimer, Uplink};

/// Settings of policy `timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutConfig {
    /// Time without traffic before the radio sleeps. Default 100 ms, as in Linux mac80211's dynamic power save.
    pub timeout: Span,
}

impl Default for TimeoutConfig {
    fn default() -> Self {
        Self { timeout: Span::from_millis(100) }
    }
}

impl Settings for TimeoutConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("timeout", self.timeout, Span::ZERO, Span::from_secs(3_600))
    }
}

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Timeout {
    timeout: Span,
}

impl Timeout {
    fn traffic(&self, link: &mut Link, reason: StationTimer, now: Instant) {
        link.leave_power_save(reason);
        link.set_timer(StationTimer::Inactivity, now + self.timeout);
    }
}

impl Policy for Timeout {
    type Config = TimeoutConfig;
    const NEEDS_UAPSD: bool = false;

    fn new(config: TimeoutConfig, _start: Instant) -> Self {
        Self { timeout: config.timeout }
    }

    fn start(&mut self, link: &mut Link) {
        let start = link.config().start;
        link.set_timer(StationTimer::Inactivity, start + self.timeout);
    }

    fn beacon(&mut self, link: &mut Link, tim: bool, now: Instant) {
        if tim {
            self.traffic(link, StationTimer::Beacon, now);
        }
    }

    fn received(&mut self, link: &mut Link, _bytes: u32, _flags: ServiceFlags, null: bool, now: Instant) {
        if !null {
            self.traffic(link, StationTimer::Beacon, now);
        }
    }

    fn sent(&mut self, link: &mut Link, frame: Uplink, _delivered: bool, now: Instant) {
        if matches!(frame, Uplink::Data { .. }) {
            self.traffic(link, StationTimer::Inactivity, now);
        }
    }

    fn backlog(&mut self, link: &mut Link, now: Instant) {
        if link.backlog() > 0 {
            self.traffic(link, StationTimer::Inactivity, now);
        }
    }

    fn timer(&mut self, link: &mut Link, _timer: StationTimer, now: Instant) {
        if link.backlog() > 0 {
            link.set_timer(StationTimer::Inactivity, now + self.timeout);
        } else {
            link.enter_power_save();
        }
    }
}
