//! NewReno: slow start and congestion avoidance of RFC 5681, the fast recovery of RFC 6582.
//!
//! At the end of fast recovery the window becomes the slow-start threshold: option (2) of RFC 6582 section 3.2 step 3.
//! Option (1) avoids a burst where little is in flight, but restarts from there in slow start; the simulations that this
//! project is compared with use option (2).

use super::{Acknowledged, CongestionConfig, Growth, Window};

/// NewReno's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReno {
    window: Window,
    growth: Growth,
    /// Bytes acknowledged in congestion avoidance that have not made the window grow yet.
    counted: u32,
}

impl NewReno {
    /// NewReno at the beginning of its connection.
    pub fn new(config: &CongestionConfig) -> Self {
        let CongestionConfig { mss, initial_window, initial_ssthresh, growth, .. } = *config;
        let window = Window { cwnd: initial_window, ssthresh: initial_ssthresh, mss };
        Self { window, growth, counted: 0 }
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    pub(super) fn on_ack(&mut self, ack: Acknowledged) {
        if !self.window.is_used_by(ack.flight) {
            return;
        }
        if self.window.in_slow_start() {
            // RFC 5681 equation (2): at most a segment for each ACK, so that a receiver that splits its ACKs, or an
            // ACK for much that had arrived before a timeout, does not set off a burst.
            self.window.grow(ack.bytes.min(self.window.mss));
        } else {
            self.avoid_congestion(ack.bytes);
        }
    }

    /// Grows by about a segment for each round trip (RFC 5681 section 3.1).
    fn avoid_congestion(&mut self, bytes: u32) {
        let Window { cwnd, mss, .. } = self.window;
        match self.growth {
            Growth::Bytes => {
                self.counted = self.counted.saturating_add(bytes);
                if self.counted >= cwnd {
                    self.counted -= cwnd;
                    self.window.grow(mss);
                }
            }
            // Equation (3). RFC 5681 wants at least one byte where the quotient falls to zero.
            Growth::Acks => {
                self.window.grow(((u64::from(mss) * u64::from(mss) / u64::from(cwnd)) as u32).max(1))
            }
        }
    }

    /// RFC 6582 section 3.2 step 2, RFC 5681 section 3.2 steps 2 and 3.
    pub(super) fn enter_recovery(&mut self, flight: u32, duplicates: u32) {
        self.window.ssthresh = self.window.half_of(flight);
        self.window.cwnd = self.window.ssthresh;
        self.window.grow(duplicates.saturating_mul(self.window.mss));
        self.counted = 0;
    }

    /// RFC 5681 section 3.2 step 4: the window is inflated by what has left the network.
    pub(super) fn on_duplicate_ack(&mut self) {
        self.window.grow(self.window.mss);
    }

    /// RFC 6582 section 3.2 step 3: the window is deflated by what was acknowledged, and a segment is added back if that
    /// was at least one, so that about the threshold is in flight when recovery ends.
    pub(super) fn on_partial_ack(&mut self, ack: Acknowledged) {
        let mss = self.window.mss;
        let back = if ack.bytes >= mss { mss } else { 0 };
        self.window.cwnd = self.window.cwnd.saturating_sub(ack.bytes).saturating_add(back).max(mss);
    }

    pub(super) fn leave_recovery(&mut self) {
        self.window.cwnd = self.window.ssthresh;
        self.counted = 0;
    }

    /// RFC 5681 section 3.1, equation (4) and the loss window of one segment. A further timeout for the same segment
    /// leaves the threshold alone: it tells nothing new. In fast recovery the flight holds what the inflated window let
    /// out, several times what the path carries; equation (4) is a bound ("no more than"), so the threshold that the loss
    /// set at its first sign stays, as in Linux. Without this a recovery of many losses ends in ever the same overshoot.
    pub(super) fn on_timeout(&mut self, flight: u32, first: bool, recovering: bool) {
        if first {
            let half = self.window.half_of(flight);
            self.window.ssthresh = if recovering { half.min(self.window.ssthresh) } else { half };
        }
        self.window.cwnd = self.window.mss;
        self.counted = 0;
    }

    pub(super) fn on_idle(&mut self, restart_window: u32) {
        self.window.cwnd = self.window.cwnd.min(restart_window);
        self.counted = 0;
    }

    pub(super) fn on_lost_syn(&mut self) {
        self.window.cwnd = self.window.mss;
    }
}
