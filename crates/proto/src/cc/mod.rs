//! Congestion control: the number of bytes that a sender may have in flight.
//!
//! The TCP sender ([`crate::tcp`]) keeps sequence numbers, timers and the state of fast recovery; a congestion control
//! keeps only the window and has one hook for each event. Each algorithm is one file and a row below that holds its window rule;
//! [`CongestionControl`] dispatches by enum, so that the hot path has no indirect call and the state can be copied.
//! Everything is in bytes and in integers: the same arithmetic runs in a kernel.
//!
//! The algorithm also determines how the sender repairs a loss (whether it enters fast recovery, and what ends that):
//! [`Algorithm::recovery`]. A detector of lost acknowledgements ([`AckLoss`]) can be combined with any of them.
//!
//! Left out: pacing (every algorithm here is clocked by acknowledgements).

mod ackloss;
mod classic;
mod cubic;
mod jersey;
mod newreno;
mod own;
mod reno;
mod sack;
mod tahoe;
#[cfg(test)]
mod tests;
mod veno;
mod westwood;

use airwatt_base::{Instant, Span};

pub use ackloss::{
    AckLoss, AckLossConfig, AckLossRule, AckLossState, Advance, Counting, SegmentsPerAck, StretchConfig,
    TimestampEvidence,
};
pub use classic::{Algorithmic, Classic, CloneRule, WindowRule};
pub use cubic::Cubic;
pub use jersey::Jersey;
pub use newreno::NewReno;
pub use own::{OwnCongestionControl, OwnRule};
pub use reno::Reno;
pub use sack::Sack;
pub use tahoe::Tahoe;
pub use veno::Veno;
pub use westwood::Westwood;

/// A slow-start threshold that has no effect yet.
///
/// RFC 5681 section 3.1: the initial value SHOULD be arbitrarily high, so that the network sets the first limit.
pub const UNLIMITED: u32 = u32::MAX;

/// Largest window in bytes. RFC 7323 section 2.3: the largest window that a header can offer is 2^30 bytes.
const WINDOW_MAX: u32 = 1 << 30;

/// The unit in which congestion avoidance counts acknowledgements (RFC 5681 section 3.1).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Growth {
    /// One segment for each window of bytes acknowledged: the recommended rule, independent of the number of ACKs.
    #[default]
    Bytes,
    /// `mss * mss / cwnd` for each ACK, equation (3), as in older kernels and simulators. A receiver that delays its
    /// ACKs, or a path that loses them, halves the growth.
    Acks,
}

/// How the sender repairs a loss that duplicate ACKs indicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Everything from the loss on counts as lost and is retransmitted in slow start.
    GoBack,
    /// Fast recovery until the first acknowledgement of new data.
    FirstAck,
    /// Fast recovery until everything in flight at its start is acknowledged; each partial ACK reveals the next loss.
    PartialAcks,
    /// Fast recovery until the same point; a scoreboard of selective acknowledgements determines what is lost and what
    /// is in flight.
    Scoreboard,
}

/// Initial settings of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionConfig {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The sender's maximum segment size in bytes.
    pub mss: u32,
    /// The first window in bytes.
    pub initial_window: u32,
    /// The first slow-start threshold in bytes, or [`UNLIMITED`].
    pub initial_ssthresh: u32,
    /// The unit in which congestion avoidance counts.
    pub growth: Growth,
    /// Whether a window as large as the threshold still grows by slow start. RFC 5681 section 3.1 leaves it open.
    pub slow_start_at_threshold: bool,
}

/// An acknowledgement of new data, as input of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Bytes acknowledged for the first time.
    pub bytes: u32,
    /// Bytes that were in flight before it arrived.
    pub flight: u32,
    /// Time of arrival.
    pub now: Instant,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
}

/// Data that an acknowledgement reports as arrived for the first time, cumulatively or selectively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its length in bytes.
    pub bytes: u32,
    /// The round-trip time that the acknowledgement shows; `None` if it shows none, as of retransmitted data.
    pub rtt: Option<Span>,
    /// The smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Time of arrival of the acknowledgement.
    pub now: Instant,
}

/// The bytes that pass at `rate` bytes per second in `time`.
fn carried(rate: u64, time: Span) -> u32 {
    let bytes = u128::from(rate) * u128::from(time.as_nanos()) / 1_000_000_000;
    bytes.min(u128::from(WINDOW_MAX)) as u32
}

/// The window and threshold that all algorithms control, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionWindow {
    /// The congestion window.
    pub cwnd: u32,
    /// The slow-start threshold.
    pub ssthresh: u32,
    /// The maximum segment size.
    pub mss: u32,
    /// See [`CongestionConfig::slow_start_at_threshold`].
    pub slow_start_at_threshold: bool,
}

impl CongestionWindow {
    /// Whether the window still grows exponentially.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh || (self.slow_start_at_threshold && self.cwnd == self.ssthresh)
    }

    /// Whether the sender used the window: less than a segment of it was free.
    ///
    /// A window that the application or the receiver limits says nothing about the path and must not grow
    /// (RFC 7661 section 4).
    pub const fn is_used_by(&self, flight: u32) -> bool {
        flight.saturating_add(self.mss) > self.cwnd
    }

    /// Adds `bytes` to the window, up to the maximum.
    pub fn grow(&mut self, bytes: u32) {
        self.cwnd = self.cwnd.saturating_add(bytes).min(WINDOW_MAX);
    }

    /// Sets the loss window: one segment (RFC 5681 section 3.1).
    pub const fn set_loss_window(&mut self) {
        self.cwnd = self.mss;
    }

    /// RFC 5681 equation (4): half of the data in flight, but at least two segments.
    pub fn half_of(&self, flight: u32) -> u32 {
        (flight / 2).max(2 * self.mss)
    }
}

/// Declares the algorithms, one row each: the names, the machines, and the call of whichever machine it is.
macro_rules! algorithms {
    ($($(#[$mark:meta])? $name:literal => $algorithm:ident by $rule:ty, $text:literal;)+) => {
        /// The congestion control algorithms.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub enum Algorithm {
            $(#[doc = $text] $(#[$mark])? $algorithm),+
        }

        impl Algorithm {
            /// Every algorithm, in the order in which lists show them.
            pub const ALL: &'static [Self] = &[$(Self::$algorithm),+];

            /// The name in scenarios and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$algorithm => $name),+
                }
            }

            /// The name with the detector of lost acknowledgements beside it.
            pub const fn name_with_ackloss(self) -> &'static str {
                match self {
                    $(Self::$algorithm => concat!($name, "+ackloss")),+
                }
            }

            /// One line that says what it is.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$algorithm => $text),+
                }
            }

            /// How the sender repairs losses.
            pub const fn recovery(self) -> Recovery {
                match self {
                    $(Self::$algorithm => <$rule as Algorithmic>::RECOVERY),+
                }
            }
        }

        /// A congestion control of any algorithm.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum CongestionControl {
            $(#[doc = $text] $algorithm($rule),)+
            /// One from outside this crate.
            Own(OwnRule),
        }

        impl CongestionControl {
            /// Creates a congestion control for a new connection.
            pub fn new(config: &CongestionConfig) -> Self {
                let classic = Classic::new(config);
                match config.algorithm {
                    $(Algorithm::$algorithm => Self::$algorithm(<$rule as Algorithmic>::new(classic))),+
                }
            }

            /// Creates one from outside this crate for a new connection. The algorithm of `config` has no effect.
            pub fn own(own: &OwnCongestionControl, config: &CongestionConfig) -> Self {
                Self::Own(own.make(Classic::new(config)))
            }

            fn classic(&self) -> &Classic {
                match self {
                    $(Self::$algorithm(rule) => rule.classic(),)+
                    Self::Own(rule) => rule.as_rule().classic(),
                }
            }

            fn classic_mut(&mut self) -> &mut Classic {
                match self {
                    $(Self::$algorithm(rule) => rule.classic_mut(),)+
                    Self::Own(rule) => rule.as_rule_mut().classic_mut(),
                }
            }
        }

        algorithms!(@dispatch ($) $($algorithm)+);
    };
    (@dispatch ($d:tt) $($algorithm:ident)+) => {
        /// Calls the method of the algorithm in use.
        macro_rules! dispatch {
            ($d control:expr, $d rule:ident => $d call:expr) => {
                match $d control {
                    $(CongestionControl::$algorithm($d rule) => $d call,)+
                    CongestionControl::Own(own) => {
                        let $d rule = own.as_rule_mut();
                        $d call
                    }
                }
            };
        }
    };
}

algorithms! {
    "tahoe" => Tahoe by Tahoe, "TCP with fast retransmit and slow start after it (4.3BSD-Tahoe; RFC 6298)";
    "reno" => Reno by Reno, "TCP with fast recovery until the first new acknowledgement (RFC 5681, 6298)";
    #[default]
    "newreno" => NewReno by NewReno, "TCP with NewReno congestion control and recovery (RFC 5681, 6582, 6298)";
    "sack" => Sack by Sack, "TCP with selective acknowledgements (RFC 5681, 2018, 2883, 6675, 6298)";
    "cubic" => Cubic by Cubic, "TCP with CUBIC congestion control over selective acknowledgements (RFC 9438, 6675)";
    "westwood" => Westwood by Westwood, "TCP with Westwood+: after a loss, the window that the measured rate fills (RFC 6675)";
    "veno" => Veno by Veno, "TCP with Veno: a loss without a queue takes a fifth of the window (RFC 6675)";
    "jersey" => Jersey by Jersey, "TCP-Jersey without routers that warn: rate control at each loss (RFC 6675)";
}

impl Algorithm {
    /// Whether a loss halves its window: the algorithms before CUBIC, for which stacks differ in how they compute it.
    pub const fn halves(self) -> bool {
        matches!(self, Self::Tahoe | Self::Reno | Self::NewReno | Self::Sack)
    }
}

impl CongestionControl {
    /// The current window and threshold.
    pub fn window(&self) -> &CongestionWindow {
        &self.classic().window
    }

    /// The congestion window in bytes.
    pub fn cwnd(&self) -> u32 {
        self.window().cwnd
    }

    /// The slow-start threshold in bytes, [`UNLIMITED`] before the first loss.
    pub fn ssthresh(&self) -> u32 {
        self.window().ssthresh
    }

    /// An acknowledgement reported data as arrived, in fast recovery or not. It is called before the other hooks of that
    /// acknowledgement.
    pub fn on_delivered(&mut self, delivered: Delivered) {
        dispatch!(self, control => control.on_delivered(delivered));
    }

    /// New data was acknowledged outside fast recovery.
    pub fn on_ack(&mut self, ack: Acknowledged) {
        dispatch!(self, control => control.on_ack(ack));
    }

    /// Duplicate ACKs indicated a loss with `flight` bytes in flight, and the lost segment is about to be
    /// retransmitted. By then `duplicates` segments have left the network.
    pub fn enter_recovery(&mut self, flight: u32, duplicates: u32) {
        dispatch!(self, control => control.enter_recovery(flight, duplicates));
    }

    /// One more duplicate ACK arrived in fast recovery: a segment has left the network.
    pub fn on_duplicate_ack(&mut self) {
        dispatch!(self, control => control.on_duplicate_ack());
    }

    /// New data was acknowledged in fast recovery, but not everything that was in flight when it began.
    pub fn on_partial_ack(&mut self, ack: Acknowledged) {
        dispatch!(self, control => control.on_partial_ack(ack));
    }

    /// Fast recovery is over: everything that was in flight when it began is acknowledged.
    pub fn leave_recovery(&mut self) {
        dispatch!(self, control => control.leave_recovery());
    }

    /// The retransmission timer expired with `flight` bytes in flight. `reduces` tells whether the threshold is computed
    /// anew: a stack may keep it at a further timeout of the same segment. `recovering` is true if fast recovery was under
    /// way.
    pub fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        dispatch!(self, control => control.on_timeout(flight, reduces, recovering));
    }

    /// Acknowledgements are being lost ([`AckLoss`]): halves the window, which then grows in congestion avoidance.
    pub fn on_ack_loss(&mut self) {
        dispatch!(self, control => control.on_ack_loss());
    }

    /// The window falls to at most so many bytes.
    pub fn limit(&mut self, bytes: u32) {
        let window = &mut self.classic_mut().window;
        window.cwnd = window.cwnd.min(bytes);
    }

    /// The window grows by a segment for a duplicate ACK outside fast recovery.
    pub fn add_segment(&mut self) {
        let window = &mut self.classic_mut().window;
        window.grow(window.mss);
    }

    /// The sender was idle for longer than the retransmission timeout and starts again. No ACKs clock it, so the window
    /// falls back to at most `restart_window` bytes (RFC 5681 section 4.1).
    pub fn on_idle(&mut self, restart_window: u32) {
        dispatch!(self, control => control.on_idle(restart_window));
    }

    /// The last loss was spurious: the retransmitted data had arrived. Restores the state of `before` the loss, without
    /// shrinking the window (RFC 3522; RFC 9438 section 4.9 for CUBIC's own state). What was estimated meanwhile stays.
    pub fn undo(&mut self, before: &Self) {
        let cwnd = self.cwnd();
        match self {
            Self::Westwood(_) | Self::Veno(_) | Self::Jersey(_) => {
                self.classic_mut().clone_from(before.classic());
            }
            _ => self.clone_from(before),
        }
        let window = &mut self.classic_mut().window;
        window.cwnd = window.cwnd.max(cwnd);
    }

    /// The maximum segment size is another from now on, as path MTU discovery finds.
    pub fn set_mss(&mut self, mss: u32) {
        self.classic_mut().window.mss = mss;
    }

    /// A SYN was lost: the first window is one segment (RFC 5681 section 3.1).
    pub fn on_lost_syn(&mut self) {
        self.classic_mut().window.set_loss_window();
    }
}
