//! A table of timers, one for each reason for which a machine wakes up.
//!
//! The reasons are an enum made by [`timer_kinds!`](crate::timer_kinds); the doc line of each variant begins with "When
//! to". At equal times the variant that is declared first is served first.

use std::fmt::Debug;

use crate::machine::Timeout;
use crate::units::Instant;

/// A set of reasons, as made by [`timer_kinds!`](crate::timer_kinds).
pub trait TimerKind: Copy + Debug + PartialEq + 'static {
    /// Every reason, in the order in which equal times are served.
    const ALL: &'static [Self];

    /// The index of this reason in [`TimerKind::ALL`].
    fn index(self) -> usize;

    /// The name in results, as in `wakeups.beacon`.
    fn name(self) -> &'static str;
}

/// Declares the reasons of a machine: an enum that implements [`TimerKind`].
///
/// ```
/// airwatt_base::timer_kinds! {
///     /// Why a sender wakes up.
///     pub enum Timer {
///         /// When to give up waiting for an acknowledgement and send again.
///         Retransmission = "retransmission",
///         /// When to probe a closed window.
///         Persist = "persist",
///     }
/// }
/// let mut timers = airwatt_base::TimerTable::<Timer, 2>::new();
/// timers.set(Timer::Persist, airwatt_base::Instant::from_millis(5));
/// assert_eq!(timers.next().unwrap().reason, Timer::Persist);
/// ```
#[macro_export]
macro_rules! timer_kinds {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $crate::TimerKind for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            fn index(self) -> usize {
                self as usize
            }
            fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

/// A table with at most one running timer for each reason. `N` is the number of reasons.
#[derive(Clone, Debug)]
pub struct TimerTable<K, const N: usize> {
    at: [Instant; N],
    /// A timer was set, moved or stopped since [`TimerTable::take_changed`].
    changed: bool,
    kind: std::marker::PhantomData<K>,
}

impl<K: TimerKind, const N: usize> TimerTable<K, N> {
    /// Creates a table without running timers.
    pub fn new() -> Self {
        const { assert!(K::ALL.len() == N, "one slot for each reason") };
        Self { at: [Instant::FOREVER; N], changed: true, kind: std::marker::PhantomData }
    }

    /// Starts the timer, or moves it.
    pub fn set(&mut self, kind: K, at: Instant) {
        let timer = &mut self.at[kind.index()];
        self.changed |= *timer != at;
        *timer = at;
    }

    /// Stops the timer.
    pub fn stop(&mut self, kind: K) {
        self.set(kind, Instant::FOREVER);
    }

    /// Whether a timer was set to another time or stopped since the last call, or since the table was created.
    #[inline]
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// The time at which the timer expires; `None` if it is stopped.
    pub fn get(&self, kind: K) -> Option<Instant> {
        Some(self.at[kind.index()]).filter(|at| *at != Instant::FOREVER)
    }

    /// Whether the timer runs.
    pub fn is_running(&self, kind: K) -> bool {
        self.at[kind.index()] != Instant::FOREVER
    }

    /// The running timer that expires first.
    #[inline]
    pub fn next(&self) -> Option<Timeout<K>> {
        let mut first = (Instant::FOREVER, 0);
        for (index, &at) in self.at.iter().enumerate() {
            first = if at < first.0 { (at, index) } else { first };
        }
        (first.0 != Instant::FOREVER).then(|| Timeout { at: first.0, reason: K::ALL[first.1] })
    }

    /// The time of the running timer that expires first; [`Instant::FOREVER`] if none runs.
    #[inline]
    pub fn due(&self) -> Instant {
        self.at.iter().fold(Instant::FOREVER, |first, &at| first.min(at))
    }

    /// Takes the first timer that is due at `now`, and stops it. Call it until it returns `None` to serve all of them.
    pub fn expire(&mut self, now: Instant) -> Option<K> {
        let due = self.next().filter(|timeout| timeout.at <= now)?;
        self.stop(due.reason);
        Some(due.reason)
    }
}

impl<K: TimerKind, const N: usize> Default for TimerTable<K, N> {
    fn default() -> Self {
        Self::new()
    }
}
