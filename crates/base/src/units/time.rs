//! Instants and spans, in integer nanoseconds since the beginning of the run.
//!
//! 64 bits of nanoseconds cover 584 years. Arithmetic that leaves the range panics in debug builds like any integer;
//! the saturating forms have names.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

use super::operators::{assignments, operators};
use super::parse::{Notation, ParseQuantityError};

pub(super) const NOTATION: Notation = Notation {
    units: &[
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("µs", 1_000),
        ("ns", 1),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    print: &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
    example: "20ms",
    resolution: "1ns",
};

/// A point in time, in nanoseconds since the beginning of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A duration in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// What instants and spans have as counts of nanoseconds.
macro_rules! nanoseconds {
    ($name:ident, $what:literal) => {
        impl $name {
            #[doc = concat!("From nanoseconds ", $what, ".")]
            pub const fn from_nanos(nanos: u64) -> Self {
                Self(nanos)
            }

            #[doc = concat!("From microseconds ", $what, ".")]
            pub const fn from_micros(micros: u64) -> Self {
                Self(micros * 1_000)
            }

            #[doc = concat!("From milliseconds ", $what, ".")]
            pub const fn from_millis(millis: u64) -> Self {
                Self(millis * 1_000_000)
            }

            #[doc = concat!("From seconds ", $what, ".")]
            pub const fn from_secs(seconds: u64) -> Self {
                Self(seconds * 1_000_000_000)
            }

            #[doc = concat!("Nanoseconds ", $what, ".")]
            pub const fn as_nanos(self) -> u64 {
                self.0
            }

            #[doc = concat!("Seconds ", $what, ", for results and pictures.")]
            pub fn as_secs_f64(self) -> f64 {
                self.0 as f64 * 1e-9
            }
        }
    };
}
nanoseconds!(Instant, "since the beginning of the run");
nanoseconds!(Span, "from its beginning to its end");

impl Instant {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// A time later than any event: the value of a timer that is stopped.
    pub const FOREVER: Self = Self(u64::MAX);

    /// The span from `earlier` to this instant; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self + span`, or [`Instant::FOREVER`] if that is out of range.
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Returns `self - span`, or [`Instant::ZERO`] if that is out of range.
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// The span nearest to `seconds`, for random and computed durations. Negative numbers and NaN give zero, too large
    /// ones give [`Span::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    /// Whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `self - other`, or zero if that is negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The difference of the two, whichever is longer.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns `self + other`, or [`Span::MAX`] if that is out of range.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns `self * factor`, or [`Span::MAX`] if that is out of range.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Number of whole `step`s in the span. Panics if `step` is zero.
    pub const fn whole(self, step: Self) -> u64 {
        self.0 / step.0
    }

    /// Number of `step`s that cover the span: the quotient rounded up. Panics if `step` is zero.
    pub const fn covering(self, step: Self) -> u64 {
        self.0.div_ceil(step.0)
    }

    /// The span as people say it, for messages: `0s`, `20min`, `3h`, `1d`. Its display, which files and keys have, stays in seconds.
    pub fn spoken(self) -> String {
        let seconds = self.0 / 1_000_000_000;
        let unit = [("d", 86_400, 1), ("h", 3_600, 1), ("min", 60, 10)]
            .into_iter()
            .find(|(_, unit, least)| seconds.is_multiple_of(*unit) && seconds / unit >= *least)
            .filter(|_| self.0.is_multiple_of(1_000_000_000));
        match unit {
            _ if self.0 == 0 => "0s".to_owned(),
            Some((name, unit, _)) => format!("{}{name}", seconds / unit),
            None => self.to_string(),
        }
    }
}

operators! {
    Instant Add::add + Span.0 => Instant;
    Instant Sub::sub - Span.0 => Instant;
    Instant Sub::sub - Instant.0 => Span;
    Span Add::add + Span.0 => Span;
    Span Sub::sub - Span.0 => Span;
    Span Mul::mul * u64 => Span;
    Span Div::div / u64 => Span;
    Span Rem::rem % Span.0 => Span;
}

assignments! {
    Instant AddAssign::add_assign += Span;
    Span AddAssign::add_assign += Span;
    Span SubAssign::sub_assign -= Span;
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl std::str::FromStr for Span {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        NOTATION.parse(text).map(Self)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&NOTATION.print(self.0))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::FOREVER { f.write_str("forever") } else { fmt::Display::fmt(self, f) }
    }
}

#[cfg(feature = "serde")]
super::text::text_serde!(Span, "a length of time with its unit: s, ms, us, ns, min, h, d", "20ms");
