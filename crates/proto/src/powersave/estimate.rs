//! What a policy says of itself to equations: how it dozes, and which of its settings are worth trying.

use airwatt_base::Span;

/// How a policy dozes, as far as equations for its energy and delay need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dozing {
    /// Never while there is traffic.
    Never,
    /// From beacon to beacon.
    BetweenBeacons(Fetch),
    /// From beacon to beacon, with triggers at an interval, which is the setting that is tried.
    BetweenTriggers,
    /// From beacon to beacon after a time without traffic, which is the setting that is tried.
    AfterTimeout,
    /// It adapts to the traffic, so that no equation describes it.
    Adaptive,
}

impl Dozing {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::BetweenBeacons(_) => "between beacons",
            Self::BetweenTriggers => "between triggers",
            Self::AfterTimeout => "after timeout",
            Self::Adaptive => "adaptive",
        }
    }
}

/// How frames that a beacon announces are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// All by one U-APSD trigger.
    Trigger,
    /// Each by a PS-Poll.
    Poll,
}

/// A choice of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The setting that differs from the policy's defaults: its key and value.
    pub setting: Option<(&'static str, Span)>,
    /// Whether it is tried with longer listen intervals too.
    pub skips_beacons: bool,
}

impl Trial {
    /// The policy's defaults, with every beacon received.
    pub const DEFAULTS: Self = Self { setting: None, skips_beacons: false };

    /// One setting, with every beacon received.
    pub const fn of(key: &'static str, value: Span) -> Self {
        Self { setting: Some((key, value)), skips_beacons: false }
    }

    /// The same, with longer listen intervals too.
    #[must_use]
    pub const fn skipping_beacons(self) -> Self {
        Self { skips_beacons: true, ..self }
    }
}

/// How equations estimate a policy, and with which settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// How it dozes.
    pub dozing: Dozing,
    /// The settings that are tried; none of a policy that is not sought.
    pub trials: &'static [Trial],
}

impl Estimate {
    /// A policy that only runs describe, with its defaults.
    pub const BY_RUNS: Self = Self::of_defaults(Dozing::Adaptive);

    /// A policy that is tried with its defaults.
    pub const fn of_defaults(dozing: Dozing) -> Self {
        Self { dozing, trials: &[Trial::DEFAULTS] }
    }
}
