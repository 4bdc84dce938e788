//! How long the blocks of a stream take, from the server's writing them until the player has them whole.
//!
//! What fills the player's buffer at the beginning is no block. A block waits for all that was written before it, so one
//! that is late makes the next ones late. Left out: what the player makes of it; with ten seconds in its buffer it bears
//! any delay below.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

/// The blocks of one stream.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// Where each block ends in the stream that is not whole yet, and when it was written.
    awaited: VecDeque<(u64, Instant)>,
    /// How long each took, in the order of the stream.
    pub durations: Vec<Span>,
}

impl Blocks {
    /// The server has written a block, which ends at `end` bytes.
    pub fn written(&mut self, end: u64, now: Instant) {
        self.awaited.push_back((end, now));
    }

    /// The player has everything up to `bytes`.
    #[inline]
    pub fn arrived(&mut self, bytes: u64, now: Instant) {
        while let Some((_, written)) = self.awaited.front().filter(|(end, _)| *end <= bytes) {
            self.durations.push(now - *written);
            self.awaited.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_there_when_all_of_it_is() {
        let at = Instant::from_millis;
        let mut blocks = Blocks::default();
        blocks.written(100, at(10));
        blocks.written(200, at(20));
        blocks.arrived(99, at(25));
        assert!(blocks.durations.is_empty());
        blocks.arrived(150, at(30));
        blocks.arrived(200, at(50));
        assert_eq!(blocks.durations, [Span::from_millis(20), Span::from_millis(30)]);
    }
}
