//! The detector of lost acknowledgements beside the kernel's Reno or CUBIC, fed as the program for the running kernel feeds it
//! (`crates/daemon/bpf/ackloss.bpf.c`): an acknowledgement counts once its segments have left the queue and before the window
//! grows, and entering a state of congestion avoidance tells of a loss.

use super::recovery::News;
use super::{FIRST, Sender};
use crate::cc::{AckLoss, AckLossConfig, Advance, TimestampEvidence};
use crate::tcp::linux::queue::Record;

/// The detector, and what it has to know of earlier acknowledgements.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct Watch {
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
    pub(in crate::tcp::linux) fn new(config: AckLossConfig, mss: u32, una: u64) -> Self {
        Self { detector: AckLoss::new(config, mss), una, early: 0, late: 0, first: None }
    }

    /// An acknowledgement below what is acknowledged: an overtaken one.
    pub(in crate::tcp::linux) fn overtaken(&mut self) {
        self.late += 1;
    }

    /// A loss of data was detected, and the window is reduced for it.
    pub(in crate::tcp::linux) fn data_loss(&mut self, sent: u64) {
        self.detector.on_data_loss(sent);
    }

    /// The retransmission timer expired.
    pub(in crate::tcp::linux) fn timeout(&mut self, sent: u64) {
        self.detector.on_timeout(sent);
    }

    /// Acknowledgements that are considered lost, and halvings of the window for them.
    pub(in crate::tcp::linux) fn counts(&self) -> (u64, u64) {
        (self.detector.losses(), self.detector.halvings())
    }

    /// An acknowledgement up to `una` that echoes `echo`; the newest segment that it newly acknowledges was sent at `newest`, and
    /// the receiver holds `sacked` segments out of order. Returns whether the window is to be halved.
    fn acknowledged(
        &mut self,
        una: u64,
        sent: u64,
        sacked: u32,
        echo: Option<u32>,
        newest: Option<u32>,
        head: Option<&Record>,
    ) -> bool {
        let mut halves = false;
        if una > self.una {
            let duplicates = self.early.saturating_sub(sacked) + std::mem::take(&mut self.late);
            let evidence = match (echo, self.first, newest) {
                (None, ..) => TimestampEvidence::Absent,
                (Some(echo), Some(first), Some(last)) => TimestampEvidence::from_ticks(first, last, echo),
                _ => TimestampEvidence::Undecided,
            };
            halves = self.detector.on_ack(Advance { from: self.una, to: una, sent, duplicates, evidence });
            self.una = una;
            self.first = head.filter(|head| !head.ever).map(|head| tick(head.sent));
        }
        self.early = sacked;
        halves
    }
}

/// The time stamp of a segment that leaves at this microsecond.
fn tick(micros: u64) -> u32 {
    (micros / 1000) as u32
}

impl Sender {
    /// The connection stands: the detector begins, if there is one.
    pub(in crate::tcp::linux) fn begin_watch(&mut self) {
        self.ackloss =
            self.config.ackloss.map(|config| Box::new(Watch::new(config, self.mss, self.una.max(FIRST))));
    }

    /// Gives the detector an acknowledgement whose segments have left the queue, and halves the window if it says so.
    pub(in crate::tcp::linux) fn watch_acknowledgement(&mut self, news: &News, now: u64) {
        let Some(watch) = &mut self.ackloss else { return };
        let newest = news.rtt.map(|(rtt, _)| tick(now - rtt));
        let Self { una, nxt, queue, .. } = self;
        if watch.acknowledged(*una, *nxt, queue.sacked, news.stamp, newest, queue.head()) {
            self.halve_for_lost_acknowledgements();
        }
    }

    /// CUBIC begins a new epoch, with this window as its largest.
    fn halve_for_lost_acknowledgements(&mut self) {
        self.loss_threshold();
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd;
    }
}
