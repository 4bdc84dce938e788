//! Reno's window with the recovery of RFC 6675: the scoreboard estimates the data in flight, so the window is not
//! inflated.

use super::Recovery;
use super::classic::{Algorithmic, Classic, WindowRule, over_classic};

/// The window of a sender with selective acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sack {
    pub(super) classic: Classic,
}

impl Algorithmic for Sack {
    const RECOVERY: Recovery = Recovery::Scoreboard;

    fn new(classic: Classic) -> Self {
        Self { classic }
    }
}

impl WindowRule for Sack {
    over_classic!();

    /// RFC 6675 section 5 step (4.2): reduces the window to half of the data in flight at once.
    fn enter_recovery(&mut self, flight: u32, _duplicates: u32) {
        self.classic.halve(flight);
        self.classic.deflate();
    }
}
