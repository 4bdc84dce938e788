//! Tests of the reports of delivered data to a congestion control, and of what the estimates from them are good for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::bad_path::{Badness, bad_path};
use crate::cc::{Classic, Delivered, OwnCongestionControl, Recovery, WindowRule};

/// Adds up what arrives, with the window of RFC 5681.
#[derive(Clone, Debug)]
struct Counting {
    classic: Classic,
    bytes: Arc<AtomicU64>,
}

impl WindowRule for Counting {
    fn classic(&self) -> &Classic {
        &self.classic
    }

    fn classic_mut(&mut self) -> &mut Classic {
        &mut self.classic
    }

    fn on_delivered(&mut self, delivered: Delivered) {
        self.bytes.fetch_add(u64::from(delivered.bytes), Ordering::Relaxed);
    }
}

/// Whether losses are repaired by a scoreboard or not, each byte is reported once.
#[test]
fn each_byte_is_reported_once() {
    for recovery in [Recovery::PartialAcks, Recovery::Scoreboard] {
        let bytes = Arc::new(AtomicU64::new(0));
        let counter = bytes.clone();
        let own = OwnCongestionControl::new("counting", recovery, move |classic| {
            Box::new(Counting { classic, bytes: counter.clone() })
        });
        let config = TcpConfig { own_congestion: Some(own), ..plain() };
        // The path is in order, so that no recovery is spurious, and loses little, so that none ends by the timer, after
        // which the scoreboard is empty.
        let badness = Badness { lose: 3, double: 0, delay: 0 };
        let mut pair: Pair<InLengths> = Pair::established(&config, millis(20)).with(bad_path(4, badness));
        pair.input(A, Input::Write(2_000_000));
        pair.run_out();
        let statistics = pair.ends[A].statistics();
        assert!(statistics.fast_retransmits > 3 && statistics.timeouts == 0, "{statistics:?}");
        assert_eq!(bytes.load(Ordering::Relaxed), 2_000_000, "{recovery:?}");
    }
}

/// One segment in a hundred is lost at random, over a path without a queue: an algorithm that distinguishes such losses from a full queue
/// finishes sooner than one that halves the window.
#[test]
fn random_losses_cost_less_where_no_queue_is_seen() {
    let took = |congestion| {
        let config = TcpConfig { congestion, ..plain() };
        let badness = Badness { lose: 10, double: 0, delay: 0 };
        let mut pair: Pair<InLengths> = Pair::established(&config, millis(50)).with(bad_path(7, badness));
        pair.input(A, Input::Write(10_000_000));
        pair.run_out();
        assert_eq!(pair.delivered(B), 10_000_000);
        pair.now.saturating_since(Instant::ZERO).as_secs_f64()
    };
    let halving = took(Algorithm::Sack);
    for congestion in [Algorithm::Westwood, Algorithm::Veno, Algorithm::Jersey] {
        let estimating = took(congestion);
        assert!(estimating < 0.8 * halving, "{}: {estimating:.1} s, not {halving:.1}", congestion.name());
    }
}
