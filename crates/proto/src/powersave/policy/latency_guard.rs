//! The driver's own power save under the [latency guard](LatencyGuard): what `airwattd station` runs on any interface.
//!
//! While the guard demands active mode the station is in active mode. Otherwise power save is left to the driver, which on
//! a device ([`Abilities::DYNAMIC_PS`]) sleeps after a time without traffic and fetches what a beacon announces. Where the
//! policy itself has to do that, as in a simulation, it runs [`Timeout`] for the driver.
//!
//! Where beacons come at least as often as [`LatencyGuardConfig::bound`], power save keeps the bound and the guard's
//! interactive flows change nothing; the policy is then the driver's.
//!
//! Left out: drivers with another power save than that of mac80211, such as the adaptive ones of some firmware.

use airwatt_base::Instant;

use super::Policy;
use super::timeout::{Timeout, TimeoutConfig};
use crate::powersave::guard::{LatencyGuard, LatencyGuardConfig};
use crate::powersave::interface::StationTimer;
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};

#[derive(Clone, Debug)]
pub(in crate::powersave) struct GuardedTimeout {
    config: LatencyGuardConfig,
    guard: LatencyGuard,
    driver: Timeout,
    /// Whether the station is in active mode because the guard demands it.
    active: bool,
}

impl GuardedTimeout {
    /// Carries out what the guard demands.
    fn follow(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let demanded = self.guard.demands_active_mode();
        radio.set_timer(PolicyTimer::Update, self.guard.next_look());
        if demanded == self.active {
            return;
        }
        self.active = demanded;
        if demanded {
            radio.set_timer(PolicyTimer::Inactivity, None);
            radio.set_power_save(false, StationTimer::Update);
        } else {
            self.leave_to_driver(radio, now);
        }
    }

    fn leave_to_driver(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if radio.abilities().contains(Abilities::DYNAMIC_PS) {
            radio.set_power_save(true, StationTimer::Announce);
        } else {
            self.driver.fact(radio, Fact::Start, now);
        }
    }
}

impl Policy for GuardedTimeout {
    type Config = LatencyGuardConfig;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::SEE_TIM).and(Abilities::SEE_FLOWS);

    fn new(config: LatencyGuardConfig, start: Instant) -> Self {
        let driver = Timeout::new(TimeoutConfig { timeout: config.timeout }, start);
        Self { config, guard: LatencyGuard::new(config), driver, active: false }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        let keeps_bound = radio.listening_interval() <= self.config.bound;
        match fact {
            // A start after others had the setting: what was demanded before them is not in force any more.
            Fact::Start => {
                self.active = false;
                self.leave_to_driver(radio, now);
            }
            Fact::Flow(sample) => {
                self.guard.observe(&sample, now);
                if !keeps_bound {
                    self.follow(radio, now);
                }
            }
            Fact::Timer(PolicyTimer::Update) => {
                self.guard.look(now);
                self.follow(radio, now);
            }
            _ if self.active || radio.abilities().contains(Abilities::DYNAMIC_PS) => {}
            fact => self.driver.fact(radio, fact, now),
        }
    }

    fn guard(&self) -> Option<&LatencyGuard> {
        Some(&self.guard)
    }
}
