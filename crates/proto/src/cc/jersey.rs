//! TCP-Jersey: after a loss the window becomes what the connection gets of the path in a round trip (Xu, Tian and Ansari,
//! "TCP-Jersey for wireless IP communications", IEEE JSAC 22(4), 2004).
//!
//! The available bandwidth estimator averages over about a round trip, with each acknowledgement n: R(n) = (RTT R(n-1) + L) /
//! (t(n) - t(n-1) + RTT), where L is the data that it shows to have arrived and RTT is the smoothed round-trip time. Rate control
//! sets the threshold, and a larger window, to the optimum RTT R, at least two segments. Growth is Reno's.
//!
//! Left out is the other half of the publication, the congestion warning: routers that mark all packets while their average queue is
//! long. A sender that sees marks has rate control at a loss; one that sees none treats the loss as one of the air, retransmits,
//! and keeps its window. The TCP of the RFCs here has no ECN, and a path of today few such routers, so that each loss counts as if
//! with a warning: keeping the window whatever is lost would be no congestion control. Since RTT contains the queue, the optimum is about
//! what was in flight: without early warnings such a sender hardly makes room for others.
//!
//! The article itself was not available. This follows its abstract and two public implementations for simulators, which agree on the
//! formulas of R and of the optimum, and differ in how often R is updated: with each acknowledgement, as here, or once in a round
//! trip. Losses are repaired by RFC 6675, as with the other controls that expect random losses, where the article has the recovery of
//! NewReno.

use airwatt_base::{Instant, Span};

use super::classic::{Algorithmic, Classic, WindowRule, over_classic};
use super::{Delivered, Recovery, carried};

/// The window of TCP-Jersey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jersey {
    pub(super) classic: Classic,
    /// R in bytes per second. Truncated at each acknowledgement, it stays below the formula by less than (1 + RTT / d) bytes per
    /// second, where d is the time between acknowledgements.
    rate: u64,
    /// The smoothed round-trip time of the latest acknowledgement.
    srtt: Span,
    /// When data arrived last; `None` before the first sample of the round-trip time.
    last: Option<Instant>,
}

impl Jersey {
    /// R in bytes per second.
    #[cfg(test)]
    pub(super) const fn rate(&self) -> u64 {
        self.rate
    }

    /// The optimum window in bytes, at least two segments.
    fn optimum(&self) -> u32 {
        carried(self.rate, self.srtt).max(2 * self.classic.window.mss)
    }
}

impl Algorithmic for Jersey {
    const RECOVERY: Recovery = Recovery::Scoreboard;

    fn new(classic: Classic) -> Self {
        Self { classic, rate: 0, srtt: Span::ZERO, last: None }
    }
}

impl WindowRule for Jersey {
    over_classic!();

    fn on_delivered(&mut self, delivered: Delivered) {
        let Delivered { bytes, srtt, now, .. } = delivered;
        if srtt == Span::ZERO {
            return;
        }
        self.srtt = srtt;
        if let Some(last) = self.last.replace(now) {
            let rtt = u128::from(srtt.as_nanos());
            let arrived = u128::from(bytes) * 1_000_000_000;
            let elapsed = u128::from(now.saturating_since(last).as_nanos());
            self.rate = ((rtt * u128::from(self.rate) + arrived) / (elapsed + rtt)) as u64;
        }
    }

    fn enter_recovery(&mut self, _flight: u32, _duplicates: u32) {
        let optimum = self.optimum();
        self.classic.fall_to(optimum);
    }

    /// The window has fallen already.
    fn leave_recovery(&mut self) {}

    fn on_timeout(&mut self, _flight: u32, reduces: bool, _recovering: bool) {
        let ssthresh = if reduces { self.optimum() } else { self.classic.window.ssthresh };
        self.classic.enter_loss(ssthresh);
    }
}
