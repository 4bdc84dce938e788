//! The power-save policies of a station, one file each.
//!
//! A policy is a set of [`Rules`]: what to do when a beacon, a frame or a timer comes. It holds its own state and asks
//! the [`Link`] for triggers, polls, mode switches and timers; the link does the rest, and alone decides to doze. A new
//! policy is a file with its `Rules`, an arm in [`PolicyConfig`], one in `Policy`'s kinds and a line in [`Policy::NAMES`].

mod active;
mod psm;
mod psm_legacy;
mod timeout;
mod uapsd;

use std::fmt;

use airwatt_base::{Instant, Span};

use self::active::Active;
use self::psm::Psm;
use self::psm_legacy::PsmLegacy;
use self::timeout::Timeout;
use self::uapsd::Uapsd;
use super::ServiceFlags;
use super::link::Link;
use super::station::{StationTimer, Uplink};

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
        }
    }

    /// Whether the access point has to offer U-APSD, on all access categories.
    pub const fn needs_uapsd(&self) -> bool {
        match self {
            Self::Active | Self::Timeout { .. } | Self::PsmLegacy => false,
            Self::Psm | Self::Uapsd { .. } => true,
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
    ];

    pub(super) fn new(config: PolicyConfig) -> Self {
        let kind = match config {
            PolicyConfig::Active => Kind::Active(Active),
            PolicyConfig::Timeout { timeout } => Kind::Timeout(Timeout::new(timeout)),
            PolicyConfig::Psm => Kind::Psm(Psm),
            PolicyConfig::PsmLegacy => Kind::PsmLegacy(PsmLegacy),
            PolicyConfig::Uapsd { interval } => Kind::Uapsd(Uapsd::new(interval)),
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

    pub(super) fn timer(&mut self, link: &mut Link, timer: StationTimer, now: Instant) {
        self.rules().timer(link, timer, now);
    }
}
