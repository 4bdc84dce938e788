//! Comparison of the scoreboard with a slow and simple one: a set of bytes, and the definitions of RFC 6675 word by
//! word.

use proptest::prelude::*;

use crate::reliability::ByteRange;
use crate::tcp::sack::Scoreboard;

const MSS: u64 = 3;
const THRESHOLD: u32 = 3;

/// Whether the peer has reported each position, from 0 on.
struct Bytes(Vec<bool>);

impl Bytes {
    /// RFC 6675 section 4, IsLost: `threshold` discontiguous ranges above, or more than `threshold` - 1 segments of bytes.
    fn is_lost(&self, position: usize) -> bool {
        let above = &self.0[position..];
        let bytes = above.iter().filter(|has| **has).count() as u64;
        let ranges = (0..above.len()).filter(|at| above[*at] && (*at == 0 || !above[*at - 1])).count();
        ranges >= THRESHOLD as usize || bytes > u64::from(THRESHOLD - 1) * MSS
    }

    /// Section 4, SetPipe.
    fn pipe(&self, una: usize, high_rxt: usize) -> u64 {
        let holes = (una..self.0.len()).filter(|at| !self.0[*at]);
        holes.map(|at| u64::from(!self.is_lost(at)) + u64::from(at < high_rxt)).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_definitions(
        blocks in prop::collection::vec((1_usize..60, 1_usize..8), 0..14),
        una in 0_usize..40,
        high_rxt in 0_usize..60,
    ) {
        let mut scoreboard = Scoreboard::new(THRESHOLD, MSS as u32);
        let mut bytes = Bytes(vec![false; 64]);
        for (start, len) in blocks {
            let end = (start + len).min(64);
            let fresh = (start..end).filter(|at| !bytes.0[*at]).count() as u64;
            prop_assert_eq!(scoreboard.insert(ByteRange { start: start as u64, end: end as u64 }), fresh);
            bytes.0[start..end].fill(true);
        }
        // Acknowledged positions are neither reported nor a hole.
        let una = (una..64).find(|at| !bytes.0[*at]).unwrap_or(64);
        bytes.0[..una].fill(false);
        scoreboard.release(una as u64);
        scoreboard.mark_lost();
        let high_rxt = high_rxt.max(una);
        scoreboard.high_rxt = high_rxt as u64;
        scoreboard.set_pipe(una as u64, 64);
        prop_assert_eq!(scoreboard.pipe, bytes.pipe(una, high_rxt));
        for at in (una..64).filter(|at| !bytes.0[*at]) {
            prop_assert_eq!(scoreboard.is_lost(at as u64), bytes.is_lost(at), "at {}", at);
        }
        let highest = (una..64).rev().find(|at| bytes.0[*at]);
        let hole = (high_rxt..64).find(|at| !bytes.0[*at]).filter(|at| highest.is_some_and(|highest| *at < highest));
        prop_assert_eq!(scoreboard.hole(high_rxt as u64).map(|hole| hole.start as usize), hole);
        let below = (una..high_rxt).filter(|at| bytes.0[*at]).count();
        prop_assert_eq!(scoreboard.sacked_bytes_below(high_rxt as u64), below as u64);
        let next = (high_rxt..64).find(|at| !bytes.0[*at]).unwrap_or(64);
        prop_assert_eq!(scoreboard.skip(high_rxt as u64), next as u64);
        let last = (una..64).rev().find(|at| !bytes.0[*at]);
        prop_assert_eq!(scoreboard.last_hole(una as u64, 64).map(|hole| hole.end as usize), last.map(|last| last + 1));
    }
}

#[test]
fn a_hostile_peer_cannot_make_it_long() {
    let mut scoreboard = Scoreboard::new(THRESHOLD, 1000);
    let kept = (0..10_000)
        .filter(|index| scoreboard.insert(ByteRange { start: 2 * index + 1, end: 2 * index + 2 }) > 0)
        .count();
    assert_eq!(kept, 2048);
}
