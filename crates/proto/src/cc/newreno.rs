//! NewReno: slow start and congestion avoidance of RFC 5681 with the fast recovery of RFC 6582.
//!
//! At the end of fast recovery the window becomes the slow-start threshold: option (2) of RFC 6582 section 3.2 step 3.
//! Option (1) avoids a burst if little is in flight, but continues from there in slow start; the simulations with which
//! this project is compared use option (2).

use super::classic::{Algorithmic, Classic, WindowRule, over_classic};
use super::{Acknowledged, Recovery};

/// The window of NewReno.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReno {
    pub(super) classic: Classic,
}

impl Algorithmic for NewReno {
    const RECOVERY: Recovery = Recovery::PartialAcks;

    fn new(classic: Classic) -> Self {
        Self { classic }
    }
}

impl WindowRule for NewReno {
    over_classic!();

    /// RFC 5681 section 3.2 step 4: inflates the window by the segment that has left the network.
    fn on_duplicate_ack(&mut self) {
        self.classic.window.grow(self.classic.window.mss);
    }

    /// RFC 6582 section 3.2 step 3: deflates the window by the data acknowledged, and adds back one segment if at least
    /// one was acknowledged, so that about the threshold is in flight when recovery ends.
    fn on_partial_ack(&mut self, ack: Acknowledged) {
        let window = &mut self.classic.window;
        let back = if ack.bytes >= window.mss { window.mss } else { 0 };
        window.cwnd = window.cwnd.saturating_sub(ack.bytes).saturating_add(back).max(window.mss);
    }
}
