//! Tahoe: fast retransmit, then slow start from one segment, as after a timeout (4.3BSD-Tahoe, Jacobson 1988).
//!
//! The sender goes back to the loss and retransmits everything from there as the window grows, as in the simulators of
//! the time. (4.3BSD retransmitted one segment and continued where it had been, so that a second loss in the window
//! waited for the timer.)

use super::Recovery;
use super::classic::{Algorithmic, Classic, WindowRule, over_classic};

/// The window of Tahoe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tahoe {
    pub(super) classic: Classic,
}

impl Algorithmic for Tahoe {
    const RECOVERY: Recovery = Recovery::GoBack;

    fn new(classic: Classic) -> Self {
        Self { classic }
    }
}

impl WindowRule for Tahoe {
    over_classic!();

    fn enter_recovery(&mut self, flight: u32, _duplicates: u32) {
        let half = self.classic.window.half_of(flight);
        self.classic.enter_loss(half);
    }
}
