//! Reno: RFC 5681 and nothing more. Fast recovery ends with the first acknowledgement of new data.
//!
//! With several losses in a window that acknowledgement is partial: the window deflates, and the next loss needs three
//! duplicate ACKs of its own, which halve the window once more, or the timer if fewer arrive. This is the Reno of
//! 4.3BSD and of the simulators of the 1990s.

use super::Recovery;
use super::classic::{Algorithmic, Classic, WindowRule, over_classic};

/// The window of Reno.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reno {
    pub(super) classic: Classic,
}

impl Algorithmic for Reno {
    const RECOVERY: Recovery = Recovery::FirstAck;

    fn new(classic: Classic) -> Self {
        Self { classic }
    }
}

impl WindowRule for Reno {
    over_classic!();

    /// RFC 5681 section 3.2 step 4.
    fn on_duplicate_ack(&mut self) {
        self.classic.window.grow(self.classic.window.mss);
    }
}
