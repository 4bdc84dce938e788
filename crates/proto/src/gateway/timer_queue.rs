//! Timers of many connections, in order of time. Each timer runs once.

use std::collections::{BTreeMap, BTreeSet};

use airwatt_base::Instant;

/// Timers named by `T`.
#[derive(Clone, Debug)]
pub(super) struct TimerQueue<T> {
    order: BTreeSet<(Instant, T)>,
    at: BTreeMap<T, Instant>,
}

impl<T> Default for TimerQueue<T> {
    fn default() -> Self {
        Self { order: BTreeSet::new(), at: BTreeMap::new() }
    }
}

impl<T: Copy + Ord> TimerQueue<T> {
    /// Sets a timer, or stops it with `None`.
    pub(super) fn put(&mut self, timer: T, at: Option<Instant>) {
        let old = match at {
            Some(at) => self.at.insert(timer, at),
            None => self.at.remove(&timer),
        };
        if old == at {
            return;
        }
        if let Some(old) = old {
            self.order.remove(&(old, timer));
        }
        if let Some(at) = at {
            self.order.insert((at, timer));
        }
    }

    /// The timer that expires first.
    pub(super) fn first(&self) -> Option<(Instant, T)> {
        self.order.first().copied()
    }
}
