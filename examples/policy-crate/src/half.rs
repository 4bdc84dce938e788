//! Congestion control `half`: NewReno that grows by half a segment for each round trip in congestion avoidance.

use airwatt_proto::cc::{Acknowledged, Algorithmic, Classic, NewReno, Recovery, WindowRule};

/// The window.
#[derive(Clone, Debug)]
pub struct Half {
    inner: NewReno,
    skip: bool,
}

impl Algorithmic for Half {
    const RECOVERY: Recovery = Recovery::PartialAcks;

    fn new(classic: Classic) -> Self {
        Self { inner: NewReno::new(classic), skip: false }
    }
}

impl WindowRule for Half {
    fn classic(&self) -> &Classic {
        self.inner.classic()
    }

    fn classic_mut(&mut self) -> &mut Classic {
        self.inner.classic_mut()
    }

    /// Every second acknowledgement counts in congestion avoidance.
    fn on_ack(&mut self, ack: Acknowledged) {
        self.skip = !self.skip && !self.classic().window.in_slow_start();
        if !self.skip {
            self.inner.on_ack(ack);
        }
    }

    fn enter_recovery(&mut self, flight: u32, duplicates: u32) {
        self.inner.enter_recovery(flight, duplicates);
    }

    fn on_duplicate_ack(&mut self) {
        self.inner.on_duplicate_ack();
    }

    fn on_partial_ack(&mut self, ack: Acknowledged) {
        self.inner.on_partial_ack(ack);
    }
}
