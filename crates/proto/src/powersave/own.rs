//! Power-save policies from outside this crate: of another crate, or written in another language.
//!
//! A [`StationPolicy`] is one of the policies listed in [`PowerSaveConfig`], or an [`OwnPolicy`], whose instances the station calls
//! through a pointer. Both are given the same [facts](Fact) in the same order and act through the same [`PowerSaveRadio`].

use std::fmt;
use std::sync::Arc;

use airwatt_base::Instant;

use super::interface::Adaptation;
use super::policy::{Policy, PowerSaveConfig, PowerSavePolicy};
use super::radio::{Abilities, Fact, PowerSaveRadio};
use super::wake_agreement::WakeRequest;

/// A [`Policy`] whose type is not known. Every `Policy` that can be copied is one.
pub trait AnyPolicy: fmt::Debug + Send {
    /// See [`Policy::fact`].
    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant);

    /// See [`Policy::adaptation`].
    fn adaptation(&self, _radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        None
    }

    /// A copy with the same state.
    fn boxed_clone(&self) -> Box<dyn AnyPolicy>;
}

impl<P: Policy + Clone + fmt::Debug + Send + 'static> AnyPolicy for P {
    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        Policy::fact(self, radio, fact, now);
    }

    fn adaptation(&self, radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        Policy::adaptation(self, radio)
    }

    fn boxed_clone(&self) -> Box<dyn AnyPolicy> {
        Box::new(self.clone())
    }
}

type Make = dyn Fn(Instant) -> Box<dyn AnyPolicy> + Send + Sync;

/// A policy from outside this crate: its name, what it needs, and how that of a station is made.
#[derive(Clone)]
pub struct OwnPolicy {
    name: Arc<str>,
    needs: Abilities,
    make: Arc<Make>,
}

impl OwnPolicy {
    /// A policy whose instances `make` makes, one for each station, given the time at which the station begins. Results carry
    /// `name`.
    pub fn new(
        name: &str,
        needs: Abilities,
        make: impl Fn(Instant) -> Box<dyn AnyPolicy> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), needs, make: Arc::new(make) }
    }

    /// A policy written as those of this crate are, with these settings.
    pub fn of<P>(name: &str, config: P::Config) -> Self
    where
        P: Policy + Clone + fmt::Debug + Send + 'static,
        P::Config: Clone + Send + Sync + 'static,
    {
        Self::new(name, P::NEEDS, move |start| Box::new(P::new(config.clone(), start)))
    }

    /// The name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the device has to see and do.
    pub const fn needs(&self) -> Abilities {
        self.needs
    }
}

/// Two are equal if they are the same one.
impl PartialEq for OwnPolicy {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl Eq for OwnPolicy {}

impl fmt::Debug for OwnPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnPolicy")
            .field("name", &self.name)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

/// The policy of a station: one of those listed, or one from outside this crate.
#[derive(Clone, Debug)]
pub enum StationPolicy {
    /// One that [`PowerSaveConfig`] lists.
    Listed(PowerSaveConfig),
    /// One from outside.
    Own(OwnPolicy),
}

impl From<PowerSaveConfig> for StationPolicy {
    fn from(config: PowerSaveConfig) -> Self {
        Self::Listed(config)
    }
}

impl StationPolicy {
    /// The name in results.
    pub fn name(&self) -> &str {
        match self {
            Self::Listed(config) => config.name(),
            Self::Own(own) => &own.name,
        }
    }

    /// What the device has to see and do.
    pub const fn needs(&self) -> Abilities {
        match self {
            Self::Listed(config) => config.needs(),
            Self::Own(own) => own.needs(),
        }
    }

    /// Whether the access point has to offer U-APSD, on all access categories.
    pub fn needs_uapsd(&self) -> bool {
        match self {
            Self::Listed(config) => config.needs_uapsd(),
            Self::Own(own) => own.needs().contains(Abilities::TRIGGER),
        }
    }

    /// The target wake time agreement that it asks the access point for.
    pub fn wake_request(&self) -> Option<WakeRequest> {
        match self {
            Self::Listed(config) => config.wake_request(),
            Self::Own(_) => None,
        }
    }

    /// Whether it never lets the radio sleep.
    pub const fn never_sleeps(&self) -> bool {
        matches!(self, Self::Listed(PowerSaveConfig::Active(_)))
    }

    /// The policy of a station that begins at `start`. Panics if a setting is out of range.
    pub(super) fn begin(&self, start: Instant) -> PolicyAtWork {
        match self {
            Self::Listed(config) => PolicyAtWork::Listed(PowerSavePolicy::new(*config, start)),
            Self::Own(own) => PolicyAtWork::Own((own.make)(start)),
        }
    }
}

/// A policy at work.
#[derive(Debug)]
pub(super) enum PolicyAtWork {
    Listed(PowerSavePolicy),
    Own(Box<dyn AnyPolicy>),
}

impl PolicyAtWork {
    pub(super) fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match self {
            Self::Listed(policy) => policy.fact(radio, fact, now),
            Self::Own(policy) => policy.fact(radio, fact, now),
        }
    }

    pub(super) fn adaptation(&self, radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        match self {
            Self::Listed(policy) => policy.adaptation(radio),
            Self::Own(policy) => policy.adaptation(radio),
        }
    }
}

impl Clone for PolicyAtWork {
    fn clone(&self) -> Self {
        match self {
            Self::Listed(policy) => Self::Listed(policy.clone()),
            Self::Own(policy) => Self::Own(policy.boxed_clone()),
        }
    }
}
