//! The time that each block of a stream takes, from the write of the server to its complete arrival at the player.
//!
//! The data that fill the player's buffer at the beginning are not a block. A block waits for all data written before it, so a
//! late block delays the next ones. Left out: the effect on the player, which tolerates any delay up to the ten seconds in
//! its buffer.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

/// The blocks of one stream.
#[derive(Clone, Debug, Default)]
pub struct StreamBlocks {
    /// The blocks that are not complete: the position in the stream at which each ends, and the time of its write.
    awaited: VecDeque<(u64, Instant)>,
    /// Duration of each block, in the order of the stream.
    pub durations: Vec<Span>,
}

impl StreamBlocks {
    /// Notes that the server has written a block, which ends at `end` bytes.
    pub fn written(&mut self, end: u64, now: Instant) {
        self.awaited.push_back((end, now));
    }

    /// Notes that the player has received all bytes before `bytes`.
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
        let mut blocks = StreamBlocks::default();
        blocks.written(100, at(10));
        blocks.written(200, at(20));
        blocks.arrived(99, at(25));
        assert!(blocks.durations.is_empty());
        blocks.arrived(150, at(30));
        blocks.arrived(200, at(50));
        assert_eq!(blocks.durations, [Span::from_millis(20), Span::from_millis(30)]);
    }
}
