//! Congestion controls from outside this crate: of another crate, or written in another language.
//!
//! A [`TcpConfig`](crate::tcp::TcpConfig) that holds an [`OwnCongestionControl`] uses it in place of its
//! [`Algorithm`](super::Algorithm). The sender calls such a rule through a pointer, so it is somewhat slower than the algorithms of
//! this crate.
//!
//! Left out: own kinds of loss repair. A rule takes one of [`Recovery`], as the algorithms of this crate do.

use std::fmt;
use std::sync::Arc;

use super::Recovery;
use super::classic::{Algorithmic, Classic, WindowRule};

type Make = dyn Fn(Classic) -> Box<dyn WindowRule> + Send + Sync;

/// A congestion control from outside this crate: its name, and how the rule of a new connection is made.
#[derive(Clone)]
pub struct OwnCongestionControl {
    name: Arc<str>,
    recovery: Recovery,
    make: Arc<Make>,
}

impl OwnCongestionControl {
    /// A congestion control whose rules `make` makes, one for each sender. Results carry `name`.
    pub fn new(
        name: &str,
        recovery: Recovery,
        make: impl Fn(Classic) -> Box<dyn WindowRule> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), recovery, make: Arc::new(make) }
    }

    /// A congestion control written as those of this crate are.
    pub fn of<A: Algorithmic + 'static>(name: &str) -> Self {
        Self::new(name, A::RECOVERY, |classic| Box::new(A::new(classic)))
    }

    /// The name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the sender repairs losses.
    pub const fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// The rule of a new connection.
    pub(super) fn make(&self, classic: Classic) -> OwnRule {
        OwnRule((self.make)(classic))
    }
}

/// Two are equal if they are the same one.
impl PartialEq for OwnCongestionControl {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl Eq for OwnCongestionControl {}

impl fmt::Debug for OwnCongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnCongestionControl").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A rule at work, of any type.
#[derive(Debug)]
pub struct OwnRule(Box<dyn WindowRule>);

impl OwnRule {
    /// The rule.
    pub(super) fn as_rule(&self) -> &dyn WindowRule {
        &*self.0
    }

    /// The rule, to be changed.
    pub(super) fn as_rule_mut(&mut self) -> &mut dyn WindowRule {
        &mut *self.0
    }
}

impl Clone for OwnRule {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

/// Two are equal if their windows are: the rest of a rule's state is its own.
impl PartialEq for OwnRule {
    fn eq(&self, other: &Self) -> bool {
        self.0.classic() == other.0.classic()
    }
}

impl Eq for OwnRule {}
