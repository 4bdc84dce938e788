//! NewReno: slow start and congestion avoidance of RFC 5681, the fast recovery of RFC 6582.
//!
//! At the end of fast recovery the window becomes the slow-start threshold: option (2) of RFC 6582 section 3.2 step 3.
//! Option (1) avoids a burst where little is in flight, but restarts from there in slow start; the simulations that this
//! project is compared with use option (2).

use super::Acknowledged;
use super::classic::{Classic, WindowRule, over_classic};

/// NewReno's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReno {
    pub(super) classic: Classic,
}

impl WindowRule for NewReno {
    over_classic!();

    /// RFC 6582 section 3.2 step 2, RFC 5681 section 3.2 steps 2 and 3.
    fn enter_recovery(&mut self, flight: u32, duplicates: u32) {
        self.classic.halve(flight);
        self.classic.inflate(duplicates);
    }

    /// RFC 5681 section 3.2 step 4: the window is inflated by what has left the network.
    fn on_duplicate_ack(&mut self) {
        self.classic.window.grow(self.classic.window.mss);
    }

    /// RFC 6582 section 3.2 step 3: the window is deflated by what was acknowledged, and a segment is added back if that
    /// was at least one, so that about the threshold is in flight when recovery ends.
    fn on_partial_ack(&mut self, ack: Acknowledged) {
        let window = &mut self.classic.window;
        let back = if ack.bytes >= window.mss { window.mss } else { 0 };
        window.cwnd = window.cwnd.saturating_sub(ack.bytes).saturating_add(back).max(window.mss);
    }
}
