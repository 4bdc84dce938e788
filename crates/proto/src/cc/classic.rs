//! What the algorithms share: the window of RFC 5681, which grows by slow start and congestion avoidance, and what a
//! timeout and idleness make of it. A [`WindowRule`] says where an algorithm differs.

use super::{Acknowledged, CongestionConfig, CongestionWindow, Growth};

/// The window with RFC 5681's growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Classic {
    pub(super) window: CongestionWindow,
    growth: Growth,
    /// Bytes acknowledged in congestion avoidance that have not made the window grow yet.
    counted: u32,
}

impl Classic {
    pub(super) fn new(config: &CongestionConfig) -> Self {
        let CongestionConfig { mss, initial_window, initial_ssthresh, growth, .. } = *config;
        let window = CongestionWindow { cwnd: initial_window, ssthresh: initial_ssthresh, mss };
        Self { window, growth, counted: 0 }
    }

    pub(super) fn on_ack(&mut self, ack: Acknowledged) {
        if !self.window.is_used_by(ack.flight) {
            return;
        }
        if self.window.in_slow_start() {
            self.slow_start(ack.bytes);
        } else {
            self.avoid_congestion(ack.bytes);
        }
    }

    /// RFC 5681 equation (2): at most a segment for each ACK, so that a receiver that splits its ACKs, or an ACK for much
    /// that had arrived before a timeout, does not set off a burst.
    pub(super) fn slow_start(&mut self, bytes: u32) {
        self.window.grow(bytes.min(self.window.mss));
    }

    /// Grows by about a segment for each round trip (RFC 5681 section 3.1).
    fn avoid_congestion(&mut self, bytes: u32) {
        let CongestionWindow { cwnd, mss, .. } = self.window;
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

    /// RFC 5681 section 3.2 step 2: the threshold falls to half of what is in flight, and growth begins to count anew.
    pub(super) fn halve(&mut self, flight: u32) {
        self.window.ssthresh = self.window.half_of(flight);
        self.counted = 0;
    }

    /// RFC 5681 section 3.2 step 3: the threshold, and as many segments as have left the network.
    pub(super) fn inflate(&mut self, duplicates: u32) {
        self.window.cwnd = self.window.ssthresh;
        self.window.grow(duplicates.saturating_mul(self.window.mss));
    }

    /// The window is the threshold again.
    pub(super) fn deflate(&mut self) {
        self.window.cwnd = self.window.ssthresh;
        self.counted = 0;
    }

    /// The loss window, with this threshold.
    pub(super) fn enter_loss(&mut self, ssthresh: u32) {
        self.window.ssthresh = ssthresh;
        self.window.set_loss_window();
        self.counted = 0;
    }

    fn on_idle(&mut self, restart_window: u32) {
        self.window.cwnd = self.window.cwnd.min(restart_window);
        self.counted = 0;
    }
}

/// One algorithm's hooks; those of [`super::CongestionControl`] say when each is called.
pub(super) trait WindowRule {
    fn classic(&self) -> &Classic;

    fn classic_mut(&mut self) -> &mut Classic;

    fn on_ack(&mut self, ack: Acknowledged) {
        self.classic_mut().on_ack(ack);
    }

    fn enter_recovery(&mut self, flight: u32, duplicates: u32);

    /// Only algorithms that inflate the window have something to do.
    fn on_duplicate_ack(&mut self) {}

    /// As [`WindowRule::on_duplicate_ack`].
    fn on_partial_ack(&mut self, _ack: Acknowledged) {}

    fn leave_recovery(&mut self) {
        self.classic_mut().deflate();
    }

    /// RFC 5681 section 3.1, equation (4) and the loss window of one segment. A further timeout for the same segment
    /// leaves the threshold alone: it tells nothing new. In fast recovery the flight holds what the inflated window let
    /// out, several times what the path carries; equation (4) is a bound ("no more than"), so the threshold that the loss
    /// set at its first sign stays, as in Linux. Without this a recovery of many losses ends in ever the same overshoot.
    fn on_timeout(&mut self, flight: u32, first: bool, recovering: bool) {
        let CongestionWindow { ssthresh, .. } = self.classic().window;
        let half = self.classic().window.half_of(flight);
        let lowered = if recovering { half.min(ssthresh) } else { half };
        self.classic_mut().enter_loss(if first { lowered } else { ssthresh });
    }

    /// Algorithm 1 of the thesis that [`super::AckLoss`] follows: half of the window, one segment at least, and the threshold
    /// with it.
    fn on_ack_loss(&mut self) {
        let CongestionWindow { cwnd, mss, .. } = self.classic().window;
        self.classic_mut().window.ssthresh = (cwnd / 2).max(mss);
        self.classic_mut().deflate();
    }

    fn on_idle(&mut self, restart_window: u32) {
        self.classic_mut().on_idle(restart_window);
    }
}

/// The two accessors that every rule has.
macro_rules! over_classic {
    () => {
        fn classic(&self) -> &Classic {
            &self.classic
        }

        fn classic_mut(&mut self) -> &mut Classic {
            &mut self.classic
        }
    };
}
pub(super) use over_classic;
