//! The detector of lost acknowledgements beside the kernel's Reno or CUBIC, fed as the program for the running kernel feeds it
//! (`crates/daemon/bpf/ackloss.bpf.c`): an acknowledgement counts once its segments have left the queue and before the window
//! grows, and entering a state of congestion avoidance tells of a loss.

use super::queue::Queue;
use super::space::SendSpace;
use crate::cc::{AckLoss, AckLossConfig, Advance, TimestampEvidence};

/// The detector, and what it has to know of earlier acknowledgements.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    detector: AckLoss,
    /// What the last acknowledgement acknowledged.
    una: u64,
    /// Segments that the receiver held out of order then.
    early: u32,
    /// Acknowledgements that arrived since and had been overtaken.
    late: u32,
    /// When the first segment that the next acknowledgement covers was sent, in ticks of the time stamps.
    first: Option<u32>,
}

impl Watch {
    /// Begins with a connection that stands, of which everything below `una` is acknowledged.
    pub(super) fn new(config: AckLossConfig, mss: u32, una: u64) -> Self {
        Self { detector: AckLoss::new(config, mss), una, early: 0, late: 0, first: None }
    }

    /// An acknowledgement below what is acknowledged: an overtaken one.
    pub(super) fn overtaken(&mut self) {
        self.late += 1;
    }

    /// A loss of data was detected, and the window is reduced for it.
    pub(super) fn data_loss(&mut self, sent: u64) {
        self.detector.on_data_loss(sent);
    }

    /// The retransmission timer expired.
    pub(super) fn timeout(&mut self, sent: u64) {
        self.detector.on_timeout(sent);
    }

    /// Acknowledgements that are considered lost, and halvings of the window for them.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.detector.losses(), self.detector.halvings())
    }

    /// An acknowledgement that echoes `echo`; the newest segment that it newly acknowledges was sent at `newest`, in microseconds.
    /// Returns whether the window is to be halved.
    pub(super) fn acknowledged(
        &mut self,
        space: &SendSpace,
        queue: &Queue,
        echo: Option<u32>,
        newest: Option<u64>,
    ) -> bool {
        let mut halves = false;
        if space.una > self.una {
            let duplicates = self.early.saturating_sub(queue.sacked) + std::mem::take(&mut self.late);
            let evidence = match (echo, self.first, newest.map(tick)) {
                (None, ..) => TimestampEvidence::Absent,
                (Some(echo), Some(first), Some(last)) => TimestampEvidence::from_ticks(first, last, echo),
                _ => TimestampEvidence::Undecided,
            };
            let advance = Advance { from: self.una, to: space.una, sent: space.nxt, duplicates, evidence };
            halves = self.detector.on_ack(advance);
            self.una = space.una;
            self.first = queue.head().filter(|head| !head.ever).map(|head| tick(head.sent));
        }
        self.early = queue.sacked;
        halves
    }
}

/// The time stamp of a segment that leaves at this microsecond.
fn tick(micros: u64) -> u32 {
    (micros / 1000) as u32
}
