//! Which datagrams of an authenticated peer are new: a window over their counters, as in RFC 6479.
//!
//! A counter is accepted once. One that is more than [`WINDOW`] behind the highest is refused, since nothing is known of it.
//! A counter is accepted only after its datagram was authenticated: otherwise a stranger could move the window.

/// Bits of one word.
const WORD_BITS: u64 = u64::BITS as u64;
/// Number of words. One of them is being overwritten while the window moves.
const WORDS: usize = 32;
/// Counters that may be behind the highest one: more than a queue of the path reorders.
pub(super) const WINDOW: u64 = (WORDS as u64 - 1) * WORD_BITS;

/// The counters that were accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplayWindow {
    /// One above the highest counter that was accepted.
    next: u64,
    /// A bit for each counter, in a ring of words.
    accepted: [u64; WORDS],
}

impl ReplayWindow {
    /// A window that has accepted nothing.
    pub(super) const fn new() -> Self {
        Self { next: 0, accepted: [0; WORDS] }
    }

    /// Whether the counter is new. The highest counter of all is refused: a key is replaced long before.
    pub(super) const fn is_new(&self, counter: u64) -> bool {
        if counter == u64::MAX || counter.saturating_add(WINDOW) < self.next {
            return false;
        }
        counter >= self.next || self.accepted[Self::word(counter)] & Self::bit(counter) == 0
    }

    const fn word(counter: u64) -> usize {
        (counter / WORD_BITS % WORDS as u64) as usize
    }

    const fn bit(counter: u64) -> u64 {
        1 << (counter % WORD_BITS)
    }

    /// Whether the counter is new, and marks it if it is.
    pub(super) fn accept(&mut self, counter: u64) -> bool {
        if !self.is_new(counter) {
            return false;
        }
        if counter >= self.next {
            // Words between the highest counter and this one are of counters that have not come.
            let last = self.next.saturating_sub(1) / WORD_BITS;
            let first = if self.next == 0 { 0 } else { last + 1 };
            for word in (first..=counter / WORD_BITS).rev().take(WORDS) {
                self.accepted[(word % WORDS as u64) as usize] = 0;
            }
            self.next = counter + 1;
        }
        self.accepted[Self::word(counter)] |= Self::bit(counter);
        true
    }
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_counter_is_accepted_once() {
        let mut window = ReplayWindow::new();
        for counter in [0, 1, 5, 3, 4, 2, 64, 63, 10_000] {
            assert!(window.accept(counter), "{counter}");
            assert!(!window.accept(counter), "{counter} again");
        }
    }

    #[test]
    fn what_is_too_far_behind_is_refused() {
        let mut window = ReplayWindow::new();
        assert!(window.accept(WINDOW + 99));
        assert!(window.accept(100), "the oldest counter of the window");
        assert!(!window.accept(99), "one before it");
        assert!(window.accept(u64::MAX - 1));
        assert!(!window.accept(u64::MAX));
        assert!(!window.accept(WINDOW + 100));
    }

    proptest! {
        /// A set of all counters, and the highest of them, decide the same.
        #[test]
        fn the_window_is_that_of_a_plain_set(
            steps in prop::collection::vec((prop::bool::ANY, 0_u64..5_000), 1..400),
        ) {
            let (mut window, mut seen, mut highest) = (ReplayWindow::new(), BTreeSet::new(), 0_u64);
            for (ahead, distance) in steps {
                let counter =
                    if ahead { highest + distance % 300 } else { highest.saturating_sub(distance) };
                let within = seen.is_empty() || counter + WINDOW > highest;
                let expected = within && seen.insert(counter);
                highest = if expected { highest.max(counter) } else { highest };
                prop_assert_eq!(window.is_new(counter), expected);
                prop_assert_eq!(window.accept(counter), expected, "{} at {}", counter, highest);
            }
        }
    }
}
