//! 32-bit sequence numbers that wrap (RFC 9293 section 3.4, RFC 1982).
//!
//! The type is not `Ord`, because there is no total order after a wrap. Comparisons have names, and hold within half of
//! the number space.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(u32);

impl Seq {
    /// The sequence number with this value.
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// The value on the wire.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Whether this comes before `other`.
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether this comes after `other`.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Whether this is `other` or before it.
    pub const fn at_or_before(self, other: Self) -> bool {
        !other.before(self)
    }

    /// Whether this is `other` or after it.
    pub const fn at_or_after(self, other: Self) -> bool {
        !self.before(other)
    }

    /// The later of the two.
    pub const fn later(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// Distance from this number to `later`, in bytes. Meaningful only if `self.at_or_before(later)`.
    pub const fn distance_to(self, later: Self) -> u32 {
        later.0.wrapping_sub(self.0)
    }
}

impl Add<u32> for Seq {
    type Output = Self;
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for Seq {
    type Output = Self;
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = Seq::new(u32::MAX);
        let first = last + 1;
        assert_eq!(first, Seq::new(0));
        assert!(last.before(first) && first.after(last));
        assert!(last.at_or_before(last) && last.at_or_after(last) && !last.before(last));
        assert_eq!(last.distance_to(first + 9), 10);
        assert_eq!(last.later(first), first);
        assert_eq!(first - 1, last);
    }
}
