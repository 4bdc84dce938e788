//! The congestion window in segments: how it grows, what becomes of one that is not used, and the threshold after a loss.
//!
//! When it falls is in `sender/recovery.rs`, and by how much with each acknowledgement in `reduction.rs`.

use super::bbr::Bbr;
use super::clock::Clock;
use super::config::{Control, LinuxConfig};
use super::cubic::{Cubic, Sample};
use super::space::SendSpace;
use super::state::CaState;

/// A threshold that no window reaches (`TCP_INFINITE_SSTHRESH`).
pub(super) const INFINITE: u32 = 0x7fff_ffff;

/// The congestion control that runs, with its state.
#[derive(Clone, Debug, Default)]
pub(super) enum ControlState {
    #[default]
    Reno,
    Cubic(Cubic),
    Bbr(Box<Bbr>),
}

impl ControlState {
    pub(super) fn new(config: &LinuxConfig) -> Self {
        match config.control {
            Control::Reno => Self::Reno,
            Control::Cubic => Self::Cubic(Cubic::default()),
            Control::Bbr1 => Self::Bbr(Box::new(Bbr::v1(config.seed))),
            Control::Bbr3 => Self::Bbr(Box::new(Bbr::v3(config.seed))),
        }
    }

    /// CUBIC, which learns when a connection stands, is idle, or has a delay sample.
    pub(super) fn cubic(&mut self) -> Option<&mut Cubic> {
        match self {
            Self::Cubic(cubic) => Some(cubic),
            Self::Reno | Self::Bbr(_) => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Congestion {
    pub(super) control: ControlState,
    pub(super) state: CaState,
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    /// Segments acknowledged for which the window has not grown yet.
    count: u32,
    /// When the window was last changed or found to be in use.
    stamp: u64,
    /// The most segments that were outstanding since, if fewer than the window.
    used: u32,
    /// Whether the window limited in this round, the most segments that were outstanding in it, and the position at which it ends.
    pub(super) is_limited: bool,
    packets_max: u32,
    round_until: u64,
    /// Whether ECN is in use, and whether the next new data carries CWR.
    pub(super) ecn: bool,
    pub(super) send_cwr: bool,
}

impl Congestion {
    pub(super) fn new(config: &LinuxConfig) -> Self {
        Self {
            control: ControlState::new(config),
            cwnd: config.initial_window,
            ssthresh: INFINITE,
            ..Self::default()
        }
    }

    /// BBR, if it is the congestion control.
    pub(super) fn bbr(&mut self) -> Option<&mut Bbr> {
        if let ControlState::Bbr(bbr) = &mut self.control { Some(bbr) } else { None }
    }

    pub(super) fn is_bbr(&self) -> bool {
        matches!(self.control, ControlState::Bbr(_))
    }

    /// Whether the window is in slow start.
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The threshold that an undo may restore: at least three quarters of the window, unless it is being reduced.
    pub(super) fn current_threshold(&self) -> u32 {
        if self.state.reduces() { self.ssthresh } else { self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4) }
    }

    /// Segments that may go now: at most half of the window in one burst.
    pub(super) fn quota(&self, flight: u32) -> u32 {
        if flight >= self.cwnd { 0 } else { (self.cwnd / 2).max(1).min(self.cwnd - flight) }
    }

    /// Whether the window is used: it limits, or more than half of it was out in slow start.
    pub(super) fn is_used(&self) -> bool {
        self.is_limited || (self.in_slow_start() && self.cwnd < 2 * self.packets_max)
    }

    /// Notes whether the window limits with `packets` outstanding. Returns whether it is used (RFC 7661 in spirit): only a window
    /// that was used grows.
    pub(super) fn note_use(&mut self, limited: bool, packets: u32, space: &SendSpace, now: u64) -> bool {
        let ends = space.una >= self.round_until;
        if ends || limited || (!self.is_limited && packets > self.packets_max) {
            (self.is_limited, self.packets_max, self.round_until) = (limited, packets, space.nxt);
        }
        if self.is_used() {
            (self.used, self.stamp) = (0, now);
        } else {
            self.used = self.used.max(packets);
        }
        self.is_used()
    }

    /// A window that was not used for a timeout falls half-way to what was, at least to `initial`. It does not if the application
    /// had no room to write.
    pub(super) fn fall_unused(&mut self, rto: u64, initial: u32, no_space: bool, now: u64) {
        if now.saturating_sub(self.stamp) < rto {
            return;
        }
        if self.state == CaState::Open && !no_space {
            let used = self.used.max(initial);
            if used < self.cwnd {
                self.ssthresh = self.current_threshold();
                self.cwnd = (self.cwnd + used) / 2;
            }
            self.used = 0;
        }
        self.stamp = now;
    }

    /// After an `idle` time above a timeout the window is halved for each timeout of it, not below `initial`. Both in jiffies.
    pub(super) fn fall_idle(&mut self, mut idle: u64, rto: u64, initial: u32, now: u64) {
        if idle <= rto {
            return;
        }
        self.ssthresh = self.current_threshold();
        let least = initial.min(self.cwnd);
        while idle > rto && self.cwnd > least {
            idle -= rto;
            self.cwnd /= 2;
        }
        self.set(self.cwnd.max(least), now);
        self.used = 0;
    }

    /// Sets the window.
    pub(super) fn set(&mut self, cwnd: u32, now: u64) {
        (self.cwnd, self.stamp) = (cwnd, now);
    }

    /// Grows the window after `acked` segments arrived.
    pub(super) fn grow(&mut self, mut acked: u32, now: u64, clock: Clock) {
        if !self.is_used() {
            return;
        }
        if self.in_slow_start() {
            let grown = (self.cwnd + acked).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown;
            if acked == 0 {
                return;
            }
        }
        let each = match &mut self.control {
            ControlState::Reno => self.cwnd,
            ControlState::Cubic(cubic) => cubic.growth(self.cwnd, acked, clock.jiffy(now), clock),
            ControlState::Bbr(_) => return,
        };
        if self.count >= each {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        if self.count >= each {
            self.cwnd += self.count / each;
            self.count %= each;
        }
    }

    /// Takes a delay sample, after which HyStart may end slow start.
    pub(super) fn sample(&mut self, sample: &Sample, clock: Clock) {
        if self.control.cubic().is_some_and(|cubic| cubic.sample(sample, clock)) {
            self.ssthresh = self.cwnd;
        }
    }

    /// Sets the threshold after a loss.
    pub(super) fn lower_threshold(&mut self) {
        self.ssthresh = match &mut self.control {
            ControlState::Reno => (self.cwnd / 2).max(2),
            ControlState::Cubic(cubic) => cubic.threshold(self.cwnd),
            ControlState::Bbr(bbr) => {
                bbr.save(self.cwnd);
                self.ssthresh
            }
        }
    }

    /// Halves the window for lost acknowledgements. CUBIC begins a new epoch, with this window as its largest.
    pub(super) fn halve(&mut self) {
        self.lower_threshold();
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd;
    }

    /// A reduction begins.
    pub(super) fn begin_reduction(&mut self) {
        self.count = 0;
        self.lower_threshold();
        self.send_cwr = self.ecn;
    }

    /// The timer has expired with `flight` segments still in the network.
    pub(super) fn begin_loss(&mut self, flight: u32, delivered: u64, lost: u64, now: u64) {
        self.set(flight + 1, now);
        self.count = 0;
        self.state = CaState::Loss;
        self.send_cwr = self.ecn;
        match &mut self.control {
            ControlState::Reno => {}
            ControlState::Cubic(cubic) => cubic.reset(),
            ControlState::Bbr(bbr) => bbr.time_out(delivered, lost, now),
        }
    }

    /// Takes a reduction back from these values of window and threshold.
    pub(super) fn restore(&mut self, cwnd: u32, threshold: u32, delivered: u64, lost: u64, now: u64) {
        let present = self.cwnd;
        self.cwnd = match self.bbr() {
            Some(bbr) => bbr.undo(present, delivered, lost, now),
            None => present.max(cwnd),
        };
        if threshold > self.ssthresh {
            self.ssthresh = threshold;
            self.send_cwr = false;
        }
    }
}
