//! The power-save policies of a station, one file each.
//!
//! A policy decides what to do when a beacon, a frame or a timer comes. It holds its own state and asks the [`PowerSaveRadio`] for
//! triggers, polls, mode switches and timers; the radio does the rest, and alone decides to doze. A new policy is a file with
//! its settings and its [`Policy`], and a row in [`PowerSaveConfig`]. The policy says itself what it needs, whether it runs over a
//! device's driver, and how equations estimate it.

mod active;
mod ba_ta;
mod ba_ta_twt;
mod estimator;
mod latency_guard;
mod psm;
mod psm_legacy;
mod psm_throttling;
mod rate;
mod timeout;
mod twt;
mod uapsd;

use airwatt_base::settings::{NoSettings, Settings};
use airwatt_base::{Instant, Span, kinds};

pub use self::ba_ta::{BaTaConfig, BaTaStrConfig, StreamConfig};
pub use self::ba_ta_twt::BaTaTwtConfig;
pub use self::psm_throttling::PsmThrottlingConfig;
pub use self::timeout::TimeoutConfig;
pub use self::twt::{TwtConfig, WakeDevice};
pub use self::uapsd::UapsdConfig;
use super::estimate::Estimate;
use super::guard::{LatencyGuard, LatencyGuardConfig, Reach};
use super::interface::Adaptation;
use super::radio::{Abilities, Fact, PowerSaveRadio};
use super::wake_agreement::WakeRequest;

kinds! {
    /// How a station saves power: a policy with its settings.
    #[derive(Copy, Eq)]
    pub enum PowerSaveConfig by "policy" (
        needs: Abilities = NEEDS, runs_on_drivers: bool = DRIVER, estimate: Estimate = ESTIMATE
    ) =>
    /// A policy at work.
    pub enum PowerSavePolicy: Policy (start: Instant), match by with_policy {
        "active" => Active(NoSettings) by active::Active, "never sleeps (CAM)";
        "timeout" => Timeout(TimeoutConfig) by timeout::Timeout,
            "awake during traffic, asleep between beacons after a time without (what phones and Linux do)";
        "psm" => Psm(NoSettings) by psm::Psm,
            "U-APSD at beacons: one trigger for each beacon that announces frames, uplink frames trigger too";
        "psm-legacy" => PsmLegacy(NoSettings) by psm_legacy::PsmLegacy,
            "one PS-Poll for each frame that a beacon or the More Data bit announces";
        "uapsd" => Uapsd(UapsdConfig) by uapsd::Uapsd,
            "U-APSD at beacons, and a trigger at a fixed interval after the last uplink frame";
        "ba-ta" => BaTa(BaTaConfig) by Box<ba_ta::BaTa>,
            "U-APSD with a trigger interval that follows the path's bottleneck, awake where that pays";
        "ba-ta+str" => BaTaStr(BaTaStrConfig) by Box<ba_ta::BaTaStr>,
            "as ba-ta, and distinguishes application-limited streams from slow paths";
        "latency-guard" => LatencyGuard(LatencyGuardConfig) by Box<latency_guard::GuardedTimeout>,
            "as timeout, and within reach of flows that would wait longer than a bound (airwattd station)";
        "twt" => Twt(TwtConfig) by twt::Twt,
            "target wake time: asleep from one agreed service period to the next, past beacons";
        "ba-ta-twt" => BaTaTwt(BaTaTwtConfig) by Box<ba_ta_twt::BaTaTwt>,
            "target wake time whose service periods follow the path's bottleneck and the traffic, awake where that pays";
        "psm-throttling" => PsmThrottling(PsmThrottlingConfig) by psm_throttling::PsmThrottling,
            "active, but shapes streams that their server throttles into bursts";
    }
}

/// How a station saves power, as a machine without timers of its own: facts come in, and it acts through the radio.
pub trait Policy: Sized {
    /// Its settings.
    type Config: Settings;
    /// What the device has to see and do, without which the policy does not work.
    const NEEDS: Abilities;
    /// Whether it works over a driver that saves power by itself ([`Abilities::DYNAMIC_PS`]), as `airwattd station` runs it.
    /// Policies that say when to doze have nothing to say there, those that trigger on a quiet link wake it, and the windows of
    /// the kernel's connections cannot be set.
    const DRIVER: bool = false;
    /// How equations estimate it, and the settings that are tried when a policy is sought.
    const ESTIMATE: Estimate = Estimate::BY_RUNS;

    /// The policy at the beginning. Panics if a setting is out of range.
    fn new(config: Self::Config, start: Instant) -> Self;

    /// Handles something that happened. Facts that the policy does not use change nothing.
    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant);

    /// What an adaptive policy has estimated; `None` if it does not adapt.
    fn adaptation(&self, _radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        None
    }

    /// The latency guard of a policy that has one.
    fn guard(&self) -> Option<&LatencyGuard> {
        None
    }

    /// The same, for whoever changes what is worth its cost.
    fn guard_mut(&mut self) -> Option<&mut LatencyGuard> {
        None
    }
}

/// Large policies are kept behind a pointer, so that a station that runs a small one stays small.
impl<P: Policy> Policy for Box<P> {
    type Config = P::Config;
    const NEEDS: Abilities = P::NEEDS;
    const DRIVER: bool = P::DRIVER;
    const ESTIMATE: Estimate = P::ESTIMATE;

    fn new(config: P::Config, start: Instant) -> Self {
        Self::new(P::new(config, start))
    }
    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        P::fact(self, radio, fact, now);
    }
    fn adaptation(&self, radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        P::adaptation(self, radio)
    }
    fn guard(&self) -> Option<&LatencyGuard> {
        P::guard(self)
    }
    fn guard_mut(&mut self) -> Option<&mut LatencyGuard> {
        P::guard_mut(self)
    }
}

impl PowerSavePolicy {
    /// Hands a fact to the policy.
    pub fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        with_policy!(self, policy => policy.fact(radio, fact, now));
    }

    /// What the policy has estimated; `None` if it does not adapt.
    pub fn adaptation(&self, radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        with_policy!(self, policy => policy.adaptation(radio))
    }

    /// The latency guard of a policy that has one.
    pub fn guard(&self) -> Option<&LatencyGuard> {
        with_policy!(self, policy => policy.guard())
    }

    /// Has a packet of a peer be worth this much time awake from now on, if the policy has a latency guard. The device follows it at the next
    /// [`Update`](super::radio::PolicyTimer::Update).
    pub fn set_worth(&mut self, worth: Span, now: Instant) {
        if let Some(guard) = with_policy!(self, policy => policy.guard_mut()) {
            guard.set_worth(worth, now);
        }
    }
}

impl PowerSaveConfig {
    /// Whether the access point has to offer U-APSD, on all access categories.
    pub fn needs_uapsd(&self) -> bool {
        match self {
            Self::LatencyGuard(guard) => guard.reach == Reach::Triggers,
            other => other.needs().contains(Abilities::TRIGGER),
        }
    }

    /// The target wake time agreement that the policy asks the access point for.
    pub fn wake_request(&self) -> Option<WakeRequest> {
        match self {
            Self::Twt(config) => Some(config.request()),
            Self::BaTaTwt(config) => Some(config.idle_request()),
            _ => None,
        }
    }
}
