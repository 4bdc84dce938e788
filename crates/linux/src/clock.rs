//! The clock of a daemon: time since it started, as machines count it.
//!
//! It reads CLOCK_MONOTONIC, which stands still while the host is suspended: timers continue after a suspend as if it had
//! taken no time.

use airwatt_base::{Instant, Span};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A suspend that is shorter than this is left to the timers.
const SUSPEND_LEAST: Span = Span::from_secs(1);

/// A clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began_ns: u64,
}

impl Clock {
    /// Starts a clock.
    pub fn start() -> Self {
        Self { began_ns: monotonic_ns() }
    }

    /// The time since the start. It never goes back.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns() - self.began_ns)
    }

    /// What this clock showed when CLOCK_MONOTONIC showed `monotonic_ns`; zero for a time before the start.
    pub fn at_monotonic_ns(&self, monotonic_ns: u64) -> Instant {
        Instant::from_nanos(monotonic_ns.saturating_sub(self.began_ns))
    }

    /// The time on CLOCK_MONOTONIC at which this clock shows `at`.
    pub(crate) fn absolute(&self, at: Instant) -> Timespec {
        let ns = self.began_ns.saturating_add(at.as_nanos());
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
    }
}

/// The time for which this host has been suspended since it was booted.
pub fn time_suspended() -> Span {
    // The clock that stands still is read last, so that the difference is never below zero.
    let with_suspends = nanoseconds(ClockId::Boottime);
    Span::from_nanos(with_suspends.saturating_sub(monotonic_ns()))
}

/// Notices suspends of this host.
#[derive(Debug)]
pub struct SuspendWatch {
    suspended: Span,
}

impl SuspendWatch {
    /// Notices those that follow.
    pub fn start() -> Self {
        Self { suspended: time_suspended() }
    }

    /// The time for which the host was suspended since the last call; `None` for less than a second.
    pub fn check(&mut self) -> Option<Span> {
        let suspended = time_suspended();
        let span = suspended.saturating_sub(self.suspended);
        self.suspended = suspended;
        (span >= SUSPEND_LEAST).then_some(span)
    }
}

/// The wall-clock time since 1970 at which the clock that shows `now` showed zero.
pub fn epoch(now: Instant) -> Span {
    unix_time().saturating_sub(now.saturating_since(Instant::ZERO))
}

/// The wall-clock time since 1970.
pub fn unix_time() -> Span {
    Span::from_nanos(nanoseconds(ClockId::Realtime))
}

/// The CPU time of this process, all threads together.
pub fn cpu_time() -> Span {
    Span::from_nanos(nanoseconds(ClockId::ProcessCPUTime))
}

fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
