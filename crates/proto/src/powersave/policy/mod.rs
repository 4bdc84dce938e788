//! The power-save policies of a station, one file each.
//!
//! A policy says what to do when a beacon, a frame or a timer comes. It holds its own state and asks the [`Link`] for
//! triggers, polls, mode switches and timers; the link does the rest, and alone decides to doze. A new policy is a file with
//! its settings and its [`Policy`], and a row in [`PowerSaveConfig`].

mod active;
mod ba_ta;
mod psm;
mod psm_legacy;
mod psm_throttling;
mod timeout;
mod uapsd;

use airwatt_base::settings::{NoSettings, Settings};
use airwatt_base::{Instant, Span, kinds};

pub use self::ba_ta::{BaTaConfig, BaTaStrConfig, StreamConfig};
pub use self::psm_throttling::PsmThrottlingConfig;
pub use self::timeout::TimeoutConfig;
pub use self::uapsd::UapsdConfig;
use super::ServiceFlags;
use super::link::Link;
use super::station::{Adaptation, AirTime, StationTimer, Uplink};

kinds! {
    /// How a station saves power: a policy with its settings.
    #[derive(Copy, Eq)]
    pub enum PowerSaveConfig by "policy" (needs_uapsd: bool = NEEDS_UAPSD) =>
    /// A policy at work.
    pub(super) enum PowerSavePolicy: Policy (start: Instant), match by with_policy {
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
        "psm-throttling" => PsmThrottling(PsmThrottlingConfig) by psm_throttling::PsmThrottling,
            "active, but shapes streams that their server throttles into bursts";
        "ideal" => Ideal(NoSettings) by active::Active,
            "timing of active, energy of a radio that sleeps whenever it has nothing to send or receive";
    }
}

/// The rate in bit/s at which `bits` take `elapsed`; zero if no time elapsed.
fn rate_bps(bits: u64, elapsed: Span) -> u64 {
    let nanos = u128::from(elapsed.as_nanos());
    let rate = (u128::from(bits) * 1_000_000_000).checked_div(nanos).unwrap_or(0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// What a policy does at each event. The link has processed the event before; it decides to doze afterwards.
pub(super) trait Policy: Sized {
    /// Its settings.
    type Config: Settings;
    /// Whether the access point has to offer U-APSD, on all access categories.
    const NEEDS_UAPSD: bool;

    /// The policy at the beginning. Panics if a setting is not allowed.
    fn new(config: Self::Config, start: Instant) -> Self;
    /// Acts before anything happens: only timers and the initial mode may be set.
    fn start(&mut self, _link: &mut Link) {}
    /// Handles a beacon; `tim`: it announces buffered frames for this station.
    fn beacon(&mut self, _link: &mut Link, _tim: bool, _now: Instant) {}
    /// Handles a unicast frame: a packet of `bytes`, or a Null frame.
    fn received(&mut self, _link: &mut Link, _bytes: u32, _flags: ServiceFlags, _null: bool, _now: Instant) {}
    /// Handles the end of an own frame, acknowledged or given up.
    fn sent(&mut self, _link: &mut Link, _frame: Uplink, _delivered: bool, _now: Instant) {}
    /// Handles a change of [`Link::backlog`], the user's frames in the MAC.
    fn backlog(&mut self, _link: &mut Link, _now: Instant) {}
    /// Handles the end of a service period, or of the wait for a poll's answer. It comes after `received` of the frame that
    /// ended it, whose flags are `last`; `None` if that frame did not come in time.
    fn period_ended(&mut self, _link: &mut Link, _last: Option<ServiceFlags>, _now: Instant) {}
    /// Handles the answer to [`Link::measure_air_time`].
    fn air_time(&mut self, _link: &mut Link, _air_time: AirTime, _now: Instant) {}
    /// Handles the expiry of a timer that the policy set.
    fn timer(&mut self, _link: &mut Link, _timer: StationTimer, _now: Instant) {}
    /// What an adaptive policy has estimated; `None` if it does not adapt.
    fn adaptation(&self, _link: &Link) -> Option<Adaptation> {
        None
    }
}

/// Large policies are kept behind a pointer, so that a station that runs a small one stays small.
impl<P: Policy> Policy for Box<P> {
    type Config = P::Config;
    const NEEDS_UAPSD: bool = P::NEEDS_UAPSD;

    fn new(config: P::Config, start: Instant) -> Self {
        Self::new(P::new(config, start))
    }
    fn start(&mut self, link: &mut Link) {
        P::start(self, link);
    }
    fn beacon(&mut self, link: &mut Link, tim: bool, now: Instant) {
        P::beacon(self, link, tim, now);
    }
    fn received(&mut self, link: &mut Link, bytes: u32, flags: ServiceFlags, null: bool, now: Instant) {
        P::received(self, link, bytes, flags, null, now);
    }
    fn sent(&mut self, link: &mut Link, frame: Uplink, delivered: bool, now: Instant) {
        P::sent(self, link, frame, delivered, now);
    }
    fn backlog(&mut self, link: &mut Link, now: Instant) {
        P::backlog(self, link, now);
    }
    fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, now: Instant) {
        P::period_ended(self, link, last, now);
    }
    fn air_time(&mut self, link: &mut Link, air_time: AirTime, now: Instant) {
        P::air_time(self, link, air_time, now);
    }
    fn timer(&mut self, link: &mut Link, timer: StationTimer, now: Instant) {
        P::timer(self, link, timer, now);
    }
    fn adaptation(&self, link: &Link) -> Option<Adaptation> {
        P::adaptation(self, link)
    }
}

impl PowerSavePolicy {
    pub(super) fn start(&mut self, link: &mut Link) {
        with_policy!(self, policy => policy.start(link));
    }

    pub(super) fn beacon(&mut self, link: &mut Link, tim: bool, now: Instant) {
        with_policy!(self, policy => policy.beacon(link, tim, now));
    }

    pub(super) fn received(
        &mut self,
        link: &mut Link,
        bytes: u32,
        flags: ServiceFlags,
        null: bool,
        now: Instant,
    ) {
        with_policy!(self, policy => policy.received(link, bytes, flags, null, now));
    }

    pub(super) fn sent(&mut self, link: &mut Link, frame: Uplink, delivered: bool, now: Instant) {
        with_policy!(self, policy => policy.sent(link, frame, delivered, now));
    }

    pub(super) fn backlog(&mut self, link: &mut Link, now: Instant) {
        with_policy!(self, policy => policy.backlog(link, now));
    }

    pub(super) fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, now: Instant) {
        with_policy!(self, policy => policy.period_ended(link, last, now));
    }

    pub(super) fn air_time(&mut self, link: &mut Link, air_time: AirTime, now: Instant) {
        with_policy!(self, policy => policy.air_time(link, air_time, now));
    }

    pub(super) fn timer(&mut self, link: &mut Link, timer: StationTimer, now: Instant) {
        with_policy!(self, policy => policy.timer(link, timer, now));
    }

    pub(super) fn adaptation(&self, link: &Link) -> Option<Adaptation> {
        with_policy!(self, policy => policy.adaptation(link))
    }
}
