//! The part that all algorithms share: the window of RFC 5681, which grows by slow start and congestion avoidance, and
//! the reactions to a timeout and to idleness. A [`WindowRule`] defines where an algorithm differs.

use std::fmt;

use super::{Acknowledged, CongestionConfig, CongestionWindow, Delivered, Growth, Recovery};

/// The window with RFC 5681's growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classic {
    /// The window and the threshold.
    pub window: CongestionWindow,
    growth: Growth,
    /// Bytes acknowledged in congestion avoidance that have not yet increased the window.
    counted: u32,
}

impl Classic {
    /// The window of a new connection.
    pub fn new(config: &CongestionConfig) -> Self {
        let CongestionConfig { mss, initial_window, initial_ssthresh, growth, .. } = *config;
        let slow_start_at_threshold = config.slow_start_at_threshold;
        let window = CongestionWindow {
            cwnd: initial_window,
            ssthresh: initial_ssthresh,
            mss,
            slow_start_at_threshold,
        };
        Self { window, growth, counted: 0 }
    }

    /// Grows the window by slow start or congestion avoidance, unless the sender did not use it.
    pub fn on_ack(&mut self, ack: Acknowledged) {
        if !self.window.is_used_by(ack.flight) {
            return;
        }
        if self.window.in_slow_start() {
            self.slow_start(ack.bytes);
        } else {
            self.avoid_congestion(ack.bytes);
        }
    }

    /// RFC 5681 equation (2): grows by at most one segment for each ACK. A receiver that splits its ACKs, or an ACK of
    /// much data that had arrived before a timeout, thus causes no burst.
    pub fn slow_start(&mut self, bytes: u32) {
        self.window.grow(bytes.min(self.window.mss));
    }

    /// Grows by about one segment for each round trip (RFC 5681 section 3.1).
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
            // Equation (3). RFC 5681 requires at least one byte if the quotient is zero.
            Growth::Acks => {
                self.window.grow(((u64::from(mss) * u64::from(mss) / u64::from(cwnd)) as u32).max(1))
            }
        }
    }

    /// RFC 5681 section 3.2 step 2: sets the threshold to half of the data in flight, and resets the count of
    /// acknowledged bytes.
    pub fn halve(&mut self, flight: u32) {
        self.window.ssthresh = self.window.half_of(flight);
        self.counted = 0;
    }

    /// RFC 5681 section 3.2 step 3: sets the window to the threshold plus the segments that have left the network.
    pub fn inflate(&mut self, duplicates: u32) {
        self.window.cwnd = self.window.ssthresh;
        self.window.grow(duplicates.saturating_mul(self.window.mss));
    }

    /// Sets the window to the threshold.
    pub fn deflate(&mut self) {
        self.window.cwnd = self.window.ssthresh;
        self.counted = 0;
    }

    /// Sets the threshold, and lowers a larger window to it.
    pub fn fall_to(&mut self, ssthresh: u32) {
        self.window.ssthresh = ssthresh;
        self.window.cwnd = self.window.cwnd.min(ssthresh);
        self.counted = 0;
    }

    /// Sets the loss window, and this threshold.
    pub fn enter_loss(&mut self, ssthresh: u32) {
        self.window.ssthresh = ssthresh;
        self.window.set_loss_window();
        self.counted = 0;
    }

    /// RFC 5681 section 3.1: sets the threshold by equation (4), and the loss window of one segment. Unless the timeout
    /// `reduces` the threshold, it is kept: a further timeout for the same segment carries no new information. In fast recovery the flight
    /// includes the data that the inflated window released, several times what the path carries. Equation (4) is a
    /// bound ("no more than"), so the threshold that the first loss set is kept, as in Linux. Otherwise a recovery of
    /// many losses would repeatedly end in the same overshoot.
    pub fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        let CongestionWindow { ssthresh, .. } = self.window;
        let half = self.window.half_of(flight);
        let lowered = if recovering { half.min(ssthresh) } else { half };
        self.enter_loss(if reduces { lowered } else { ssthresh });
    }

    /// Algorithm 1 of the thesis that [`super::AckLoss`] follows: halves the window, to at least one segment, and sets
    /// the threshold to it.
    pub fn on_ack_loss(&mut self) {
        let CongestionWindow { cwnd, mss, .. } = self.window;
        self.window.ssthresh = (cwnd / 2).max(mss);
        self.deflate();
    }

    /// RFC 5681 section 4.1: the window falls back to at most this number of bytes.
    pub fn on_idle(&mut self, restart_window: u32) {
        self.window.cwnd = self.window.cwnd.min(restart_window);
        self.counted = 0;
    }
}

/// The hooks of one algorithm; [`super::CongestionControl`] documents when each is called. What an algorithm does not
/// override is RFC 5681.
pub trait WindowRule: fmt::Debug + Send + Sync + CloneRule {
    /// The shared part.
    fn classic(&self) -> &Classic;

    /// The shared part, to be changed.
    fn classic_mut(&mut self) -> &mut Classic;

    /// See [`super::CongestionControl::on_delivered`]. Only algorithms that estimate something from it override this.
    fn on_delivered(&mut self, _delivered: Delivered) {}

    /// See [`super::CongestionControl::on_ack`].
    fn on_ack(&mut self, ack: Acknowledged) {
        self.classic_mut().on_ack(ack);
    }

    /// See [`super::CongestionControl::enter_recovery`]: RFC 5681 section 3.2 steps 2 and 3.
    fn enter_recovery(&mut self, flight: u32, duplicates: u32) {
        self.classic_mut().halve(flight);
        self.classic_mut().inflate(duplicates);
    }

    /// Only algorithms that inflate the window override this.
    fn on_duplicate_ack(&mut self) {}

    /// Only algorithms that inflate the window override this.
    fn on_partial_ack(&mut self, _ack: Acknowledged) {}

    /// See [`super::CongestionControl::leave_recovery`].
    fn leave_recovery(&mut self) {
        self.classic_mut().deflate();
    }

    /// See [`super::CongestionControl::on_timeout`].
    fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        self.classic_mut().on_timeout(flight, reduces, recovering);
    }

    /// See [`super::CongestionControl::on_ack_loss`].
    fn on_ack_loss(&mut self) {
        self.classic_mut().on_ack_loss();
    }

    /// See [`super::CongestionControl::on_idle`].
    fn on_idle(&mut self, restart_window: u32) {
        self.classic_mut().on_idle(restart_window);
    }
}

/// A [`WindowRule`] that a connection begins with.
pub trait Algorithmic: WindowRule + Sized {
    /// How the sender repairs losses.
    const RECOVERY: Recovery;

    /// The rule of a new connection.
    fn new(classic: Classic) -> Self;
}

/// Copies a rule whose type is not known. Implemented for every rule that is `Clone`.
pub trait CloneRule {
    /// A copy with the same state.
    fn boxed_clone(&self) -> Box<dyn WindowRule>;
}

impl<R: WindowRule + Clone + 'static> CloneRule for R {
    fn boxed_clone(&self) -> Box<dyn WindowRule> {
        Box::new(self.clone())
    }
}

/// Implements the two accessors that every rule has.
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
