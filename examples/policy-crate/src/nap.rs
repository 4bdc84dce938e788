//! Policy `nap`: as `timeout`, but the time without traffic before it sleeps is a share of the last pause.
//!
//! Left out: a bound from above. A pause of a minute keeps the radio awake for long after the next packet.

use airwatt_base::settings::{NoSettings, SettingError, Settings};
use airwatt_base::{Instant, Span};
use airwatt_proto::powersave::{Abilities, Fact, Policy, PolicyTimer, PowerSaveRadio, StationTimer, Uplink};

/// Settings of policy `nap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NapConfig {
    /// The shortest time without traffic before the radio sleeps.
    pub shortest: Span,
    /// The pause between packets is divided by this.
    pub divisor: u64,
}

impl Default for NapConfig {
    fn default() -> Self {
        Self { shortest: Span::from_millis(10), divisor: 4 }
    }
}

impl Settings for NapConfig {
    fn check(&self) -> Result<(), SettingError> {
        NoSettings {}.check()
    }
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Nap {
    config: NapConfig,
    last: Instant,
}

impl Nap {
    fn traffic(&mut self, radio: &mut dyn PowerSaveRadio, why: StationTimer, now: Instant) {
        let pause = now.saturating_since(self.last);
        self.last = now;
        let wait = Span::from_nanos(pause.as_nanos() / self.config.divisor).max(self.config.shortest);
        radio.set_power_save(false, why);
        radio.set_timer(PolicyTimer::Inactivity, Some(now + wait));
    }
}

impl Policy for Nap {
    type Config = NapConfig;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::SEE_TIM);

    fn new(config: NapConfig, start: Instant) -> Self {
        Self { config, last: start }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start => radio.set_timer(PolicyTimer::Inactivity, Some(now + self.config.shortest)),
            Fact::Beacon { tim: true } | Fact::Received { null: false, .. } => {
                self.traffic(radio, StationTimer::Beacon, now);
            }
            Fact::Sent { frame: Uplink::Data { .. }, .. } => {
                self.traffic(radio, StationTimer::Inactivity, now)
            }
            Fact::Backlog if radio.backlog() > 0 => self.traffic(radio, StationTimer::Inactivity, now),
            Fact::Timer(_) if radio.backlog() == 0 => radio.set_power_save(true, StationTimer::Announce),
            Fact::Timer(_) => radio.set_timer(PolicyTimer::Inactivity, Some(now + self.config.shortest)),
            _ => {}
        }
    }
}
