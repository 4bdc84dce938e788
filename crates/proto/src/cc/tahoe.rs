//! Tahoe: fast retransmit, then slow start from one segment, as after a timeout (4.3BSD-Tahoe, Jacobson 1988).
//!
//! The sender goes back to the loss and sends everything behind it again as the window grows, as the simulators of the time
//! have it. (4.3BSD sent one segment and went on where it had been, so that a second loss in the window waited for the
//! timer.)

use super::classic::{Classic, WindowRule, over_classic};

/// Tahoe's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tahoe {
    pub(super) classic: Classic,
}

impl WindowRule for Tahoe {
    over_classic!();

    fn enter_recovery(&mut self, flight: u32, _duplicates: u32) {
        let half = self.classic.window.half_of(flight);
        self.classic.enter_loss(half);
    }
}
