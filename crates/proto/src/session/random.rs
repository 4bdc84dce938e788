//! Random numbers of sessions: a generator whose seed comes from outside, so that a simulated run is repeatable.
//!
//! BLAKE2s with a key that each draw replaces: what was drawn does not follow from the state left behind.

use std::fmt;

use crate::keyed::keyed;

/// The generator. A clone draws the same numbers again: a daemon has exactly one.
#[derive(Clone)]
pub(super) struct Random {
    key: [u8; 32],
}

impl Random {
    pub(super) const fn new(seed: [u8; 32]) -> Self {
        Self { key: seed }
    }

    /// 32 random bytes.
    pub(super) fn draw(&mut self) -> [u8; 32] {
        let drawn = keyed(&self.key, &[b"drawn"]);
        self.key = keyed(&self.key, &[b"next"]);
        drawn
    }

    pub(super) fn draw_u32(&mut self) -> u32 {
        let [a, b, c, d, ..] = self.draw();
        u32::from_le_bytes([a, b, c, d])
    }

    /// The first `N` of 32 random bytes.
    pub(super) fn draw_bytes<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= 32, "one draw") };
        let drawn = self.draw();
        std::array::from_fn(|index| drawn[index])
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_and_depend_on_the_seed_alone() {
        let draws = |seed: u8| {
            let mut random = Random::new([seed; 32]);
            (random.draw(), random.draw(), random.draw_u32(), random.draw_bytes::<24>())
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1).0, draws(1).1);
        assert_ne!(draws(1), draws(2));
    }
}
