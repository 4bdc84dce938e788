//! The library's times, which are made of ours.

#![expect(clippy::disallowed_types, reason = "the library has no other")]

use std::sync::LazyLock;
use std::time::{Duration, Instant as LibraryInstant};

use airwatt_base::{Instant, Span};

/// The time zero of all runs. Only differences from it are used.
static ZERO: LazyLock<LibraryInstant> = LazyLock::new(LibraryInstant::now);

pub(super) fn to_library(now: Instant) -> LibraryInstant {
    *ZERO + Duration::from_nanos(now.as_nanos())
}

pub(super) fn from_library(at: LibraryInstant) -> Instant {
    let since = at.saturating_duration_since(*ZERO).as_nanos();
    Instant::ZERO + Span::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
}
