//! The power-save policies of a station, one file each.
//!
//! A policy is a set of [`Rules`]: what to do when a beacon, a frame or a timer comes. It holds its own state and asks
//! the [`Link`] for triggers, polls, mode switches and timers; the link does the rest, and alone decides to doze. A new
//! policy is a file with its `Rules`, an arm in [`PolicyConfig`], one in `Policy`'s kinds and a line in [`Policy::NAMES`].

mod active;
mod ba_ta;
mod psm;
mod psm_legacy;
mod psm_throttling;
mod timeout;
mod uapsd;

use std::fmt;

use airwatt_base::{Instant, Span};

use self::active::Active;
use self::ba_ta::BandwidthAware;
pub use self::ba_ta::{BaTa, Streaming};
use self::psm::Psm;
use self::psm_legacy::PsmLegacy;
pub use self::psm_throttling::PsmThrottling;
use self::psm_throttling::Throttling;
use self::timeout::Timeout;
use self::uapsd::Uapsd;
use super::ServiceFlags;
use super::link::Link;
use super::station::{Adaptation, AirTime, StationTimer, Uplink};

/// A policy and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyConfig {
    /// Never sleeps and never says otherwise.
    Active,
    /// Awake during traffic, in power save after a time without.
    Timeout {
        /// The time without traffic. Default 100 ms, as in Linux mac80211's dynamic power save.
        timeout: Span,
    },
    /// U-APSD at beacons: one trigger for each beacon that announces buffered frames.
    Psm,
    /// One PS-Poll for each frame that a beacon or a More Data bit announces.
    PsmLegacy,
    /// As [`PolicyConfig::Psm`], and a trigger whenever this long has passed since the last uplink frame.
    Uapsd {
        /// The time between triggers. Default 20 ms, the packet interval of common voice codecs.
        interval: Span,
    },
    /// U-APSD with an interval between triggers that follows the path's bottleneck.
    BaTa(BaTa),
    /// As [`PolicyConfig::BaTa`], and streams that have all they want are told from slow paths.
    BaTaStr(BaTa, Streaming),
    /// Active mode, but for streams that their server throttles: those are shaped into bursts.
    PsmThrottling(PsmThrottling),
    /// Never sleeps, as [`PolicyConfig::Active`]; its account is drawn up as if it had slept whenever it had nothing to do.
    Ideal,
}

/// An option of a policy whose value is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOption {
    /// The option.
    pub key: &'static str,
    /// What it was set to.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is out of range; allowed are {}", self.key, self.value, self.allowed)
    }
}

impl std::error::Error for BadOption {}

/// Checks that an option lies in its range, both ends included.
fn within<T: PartialOrd + fmt::Display>(
    key: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), BadOption> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(BadOption { key, value: value.to_string(), allowed: format!("{least} to {most}") })
}

/// So many bits in this time, in bit/s; zero of no time.
fn rate_bps(bits: u64, elapsed: Span) -> u64 {
    let nanos = u128::from(elapsed.as_nanos());
    let rate = (u128::from(bits) * 1_000_000_000).checked_div(nanos).unwrap_or(0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// What there is to say of a policy that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// The name in scenarios and on the command line.
    pub name: &'static str,
    /// One line.
    pub description: &'static str,
    /// Whether the access point has to offer U-APSD.
    pub needs_uapsd: bool,
}

/// A name that is no policy's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(
    /// What was read.
    pub String,
);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Policy::NAMES.iter().map(|policy| policy.name).collect();
        write!(f, "{:?} is not a power-save policy; allowed are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

impl PolicyConfig {
    /// The policy of this name with its default parameters.
    pub fn parse(name: &str) -> Result<Self, UnknownPolicy> {
        Ok(match name {
            "active" => Self::Active,
            "timeout" => Self::Timeout { timeout: Span::from_millis(100) },
            "psm" => Self::Psm,
            "psm-legacy" => Self::PsmLegacy,
            "uapsd" => Self::Uapsd { interval: Span::from_millis(20) },
            "ba-ta" => Self::BaTa(BaTa::default()),
            "ba-ta+str" => Self::BaTaStr(BaTa::default(), Streaming::default()),
            "psm-throttling" => Self::PsmThrottling(PsmThrottling::default()),
            "ideal" => Self::Ideal,
            _ => return Err(UnknownPolicy(name.to_owned())),
        })
    }

    /// The name, as [`PolicyConfig::parse`] reads it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Timeout { .. } => "timeout",
            Self::Psm => "psm",
            Self::PsmLegacy => "psm-legacy",
            Self::Uapsd { .. } => "uapsd",
            Self::BaTa(_) => "ba-ta",
            Self::BaTaStr(..) => "ba-ta+str",
            Self::PsmThrottling(_) => "psm-throttling",
            Self::Ideal => "ideal",
        }
    }

    /// Checks the options' values against their ranges.
    ///
    /// # Errors
    /// The first option whose value is not allowed.
    pub fn check(&self) -> Result<(), BadOption> {
        match self {
            Self::Active | Self::Psm | Self::PsmLegacy | Self::Ideal => Ok(()),
            Self::Timeout { timeout } => within("timeout", *timeout, Span::ZERO, Span::from_secs(3_600)),
            Self::Uapsd { interval } => {
                within("interval", *interval, Span::from_millis(1), Span::from_secs(10))
            }
            Self::BaTa(ba_ta) => ba_ta.check(),
            Self::BaTaStr(ba_ta, streaming) => ba_ta.check().and(streaming.check()),
            Self::PsmThrottling(throttling) => throttling.check(),
        }
    }

    /// Whether the access point has to offer U-APSD, on all access categories.
    pub const fn needs_uapsd(&self) -> bool {
        match self {
            Self::Active | Self::Timeout { .. } | Self::PsmLegacy | Self::PsmThrottling(_) | Self::Ideal => {
                false
            }
            Self::Psm | Self::Uapsd { .. } | Self::BaTa(_) | Self::BaTaStr(..) => true,
        }
    }
}

impl std::str::FromStr for PolicyConfig {
    type Err = UnknownPolicy;
    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Self::parse(name)
    }
}

impl fmt::Display for PolicyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a policy does at each event. The link has taken note of the event before; it decides to doze after.
trait Rules {
    /// Before anything happens: only timers and the initial mode may be set.
    fn start(&mut self, _link: &mut Link) {}
    /// A beacon was heard; `tim`: it announces buffered frames for this station.
    fn beacon(&mut self, _link: &mut Link, _tim: bool, _now: Instant) {}
    /// A unicast frame was received: a packet of `bytes`, or a Null frame.
    fn received(&mut self, _link: &mut Link, _bytes: u32, _flags: ServiceFlags, _null: bool, _now: Instant) {}
    /// An own frame is done.
    fn sent(&mut self, _link: &mut Link, _frame: Uplink, _delivered: bool, _now: Instant) {}
    /// The user's frames in the MAC are now [`Link::backlog`].
    fn backlog(&mut self, _link: &mut Link, _now: Instant) {}
    /// A service period is over, or a poll answered. Comes after `received` of the frame that ended it, whose flags are
    /// `last`; none if that frame did not come in time.
    fn period_ended(&mut self, _link: &mut Link, _last: Option<ServiceFlags>, _now: Instant) {}
    /// The driver says what was asked for by [`Link::measure_air_time`].
    fn air_time(&mut self, _link: &mut Link, _air_time: AirTime, _now: Instant) {}
    /// A timer that the policy set is due.
    fn timer(&mut self, _link: &mut Link, _timer: StationTimer, _now: Instant) {}
}

#[derive(Clone, Debug)]
enum Kind {
    Active(Active),
    Timeout(Timeout),
    Psm(Psm),
    PsmLegacy(PsmLegacy),
    Uapsd(Uapsd),
    BaTa(Box<BandwidthAware>),
    Throttling(Throttling),
}

/// A policy at work: what a [`Station`](super::Station) follows.
#[derive(Clone, Debug)]
pub struct Policy {
    config: PolicyConfig,
    kind: Kind,
}

impl Policy {
    /// Every policy that can be chosen.
    pub const NAMES: &'static [PolicyInfo] = &[
        PolicyInfo { name: "active", description: "never sleeps (CAM)", needs_uapsd: false },
        PolicyInfo {
            name: "timeout",
            description: "awake during traffic, asleep between beacons after a time without (what phones and Linux do)",
            needs_uapsd: false,
        },
        PolicyInfo {
            name: "psm",
            description: "U-APSD at beacons: one trigger for each beacon that announces frames, uplink frames trigger too",
            needs_uapsd: true,
        },
        PolicyInfo {
            name: "psm-legacy",
            description: "one PS-Poll for each frame that a beacon or the More Data bit announces",
            needs_uapsd: false,
        },
        PolicyInfo {
            name: "uapsd",
            description: "U-APSD at beacons, and a trigger at a fixed interval after the last uplink frame",
            needs_uapsd: true,
        },
        PolicyInfo {
            name: "ba-ta",
            description: "U-APSD with a trigger interval that follows the path's bottleneck, awake where that pays",
            needs_uapsd: true,
        },
        PolicyInfo {
            name: "ba-ta+str",
            description: "as ba-ta, and streams that have all they want are told from slow paths",
            needs_uapsd: true,
        },
        PolicyInfo {
            name: "psm-throttling",
            description: "active, but for streams throttled by their server: those are shaped into bursts",
            needs_uapsd: false,
        },
        PolicyInfo {
            name: "ideal",
            description: "timing of active, energy of a radio that sleeps whenever it has nothing to send or receive",
            needs_uapsd: false,
        },
    ];

    pub(super) fn new(config: PolicyConfig, start: Instant) -> Self {
        let kind = match config {
            PolicyConfig::Active | PolicyConfig::Ideal => Kind::Active(Active),
            PolicyConfig::Timeout { timeout } => Kind::Timeout(Timeout::new(timeout)),
            PolicyConfig::Psm => Kind::Psm(Psm),
            PolicyConfig::PsmLegacy => Kind::PsmLegacy(PsmLegacy),
            PolicyConfig::Uapsd { interval } => Kind::Uapsd(Uapsd::new(interval)),
            PolicyConfig::BaTa(ba_ta) => Kind::BaTa(Box::new(BandwidthAware::new(ba_ta, None, start))),
            PolicyConfig::BaTaStr(ba_ta, streaming) => {
                Kind::BaTa(Box::new(BandwidthAware::new(ba_ta, Some(streaming), start)))
            }
            PolicyConfig::PsmThrottling(throttling) => Kind::Throttling(Throttling::new(throttling)),
        };
        Self { config, kind }
    }

    /// Which policy, and its parameters.
    pub fn config(&self) -> PolicyConfig {
        self.config
    }

    pub(super) fn uapsd(&self) -> bool {
        self.config.needs_uapsd()
    }

    fn rules(&mut self) -> &mut dyn Rules {
        match &mut self.kind {
            Kind::Active(rules) => rules,
            Kind::Timeout(rules) => rules,
            Kind::Psm(rules) => rules,
            Kind::PsmLegacy(rules) => rules,
            Kind::Uapsd(rules) => rules,
            Kind::BaTa(rules) => &mut **rules,
            Kind::Throttling(rules) => rules,
        }
    }

    pub(super) fn adaptation(&self, link: &Link) -> Option<Adaptation> {
        match &self.kind {
            Kind::BaTa(rules) => rules.adaptation(link),
            _ => None,
        }
    }

    pub(super) fn start(&mut self, link: &mut Link) {
        self.rules().start(link);
    }

    pub(super) fn beacon(&mut self, link: &mut Link, tim: bool, now: Instant) {
        self.rules().beacon(link, tim, now);
    }

    pub(super) fn received(
        &mut self,
        link: &mut Link,
        bytes: u32,
        flags: ServiceFlags,
        null: bool,
        now: Instant,
    ) {
        self.rules().received(link, bytes, flags, null, now);
    }

    pub(super) fn sent(&mut self, link: &mut Link, frame: Uplink, delivered: bool, now: Instant) {
        self.rules().sent(link, frame, delivered, now);
    }

    pub(super) fn backlog(&mut self, link: &mut Link, now: Instant) {
        self.rules().backlog(link, now);
    }

    pub(super) fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, now: Instant) {
        self.rules().period_ended(link, last, now);
    }

    pub(super) fn air_time(&mut self, link: &mut Link, air_time: AirTime, now: Instant) {
        self.rules().air_time(link, air_time, now);
    }

    pub(super) fn timer(&mut self, link: &mut Link, timer: StationTimer, now: Instant) {
        self.rules().timer(link, timer, now);
    }
}
