//! Sleep and transitions summed over the rounds of a transfer (Hashimoto 2013, equations 3.22 to 3.27, 3.32 to 3.35).
//!
//! A round with a window of w packets has g = ceil(w/m) gaps of RTT/g each, and the radio sleeps in a gap that is
//! longer than the burst, its acknowledgement and both transitions, c seconds together. A round therefore contains g
//! (RTT/g - c) = RTT - g c seconds of sleep in g periods while g c < RTT, and none beyond: every sum ends there.

use crate::mac_frame::Exchanges;

/// Time and number of sleep periods in one or more rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slept {
    pub(super) time_s: f64,
    pub(super) times: f64,
}

impl Slept {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { time_s: self.time_s + other.time_s, times: self.times + other.times }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { time_s: self.time_s * factor, times: self.times * factor }
    }
}

/// The gaps of rounds of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    rtt_s: f64,
    m: f64,
    /// c, the length that a gap has to exceed.
    busy_s: f64,
    transition_s: f64,
    /// The largest number of gaps in which the radio can still sleep.
    most: f64,
}

impl Gaps {
    pub(super) fn new(rtt_s: f64, m: u32, air: &Exchanges, transition_s: f64) -> Self {
        let m = f64::from(m);
        let busy_s = m * air.uplink_s + air.downlink_s + transition_s;
        let mut most = (rtt_s / busy_s).floor();
        // The comparison is strict: a gap without time left contains no sleep.
        if most * busy_s >= rtt_s {
            most -= 1.0;
        }
        Self { rtt_s, m, busy_s, transition_s, most }
    }

    /// ceil(w/m). The margin prevents that a quotient which should be an integer costs an additional gap.
    fn count(&self, window: f64) -> f64 {
        (window / self.m - 1e-9).ceil()
    }

    fn round(&self, window: f64) -> Slept {
        let count = self.count(window);
        if count > self.most {
            return Slept::default();
        }
        Slept { time_s: self.rtt_s - count * self.busy_s, times: count }
    }

    /// Equations 3.26 and 3.33 over `rounds` rounds of slow start; of the last one the fraction counts. Windows are w1,
    /// w1, 2 w1, 4 w1 and so on (3.23), so the loop ends after some tens of rounds at most.
    pub(super) fn slow_start(&self, initial: f64, rounds: f64) -> Slept {
        let (mut sum, mut left, mut window, mut first) = (Slept::default(), rounds, initial, true);
        while left > 0.0 {
            let round = self.round(window);
            if round.times == 0.0 {
                break;
            }
            sum = sum.plus(round.scaled(left.min(1.0)));
            left -= 1.0;
            if !first {
                window *= 2.0;
            }
            first = false;
        }
        sum
    }

    /// The round of slow start in which a loss is detected.
    pub(super) fn slow_start_loss(&self, initial: f64, rounds: f64) -> Slept {
        let index = rounds.round_ties_even();
        let window = if index < 1.0 { initial } else { initial * (index - 1.0).exp2() };
        self.loss(window)
    }

    /// Equations 3.26 and 3.33 over `rounds` rounds of congestion avoidance, whose windows are W/2, W/2, W/2 + 1, W/2 +
    /// 2 and so on (3.24); of the last round the fraction counts.
    pub(super) fn avoidance(&self, window: f64, rounds: f64) -> Slept {
        if rounds <= 0.0 {
            return Slept::default();
        }
        let half = window / 2.0;
        let first = self.round(half).scaled(rounds.min(1.0));
        let more = rounds - 1.0;
        if more <= 0.0 {
            return first;
        }
        let whole = more.floor();
        let last = self.round(half + whole).scaled(more - whole);
        first.plus(self.growing(half, whole)).plus(last)
    }

    /// The sum over `rounds` rounds with windows of `from`, `from` + 1, ... packets. ceil((a + j)/m) = ceil((ceil(a) +
    /// j)/m) for integers j and m, so the sum is one over integer windows, which ends when gaps become too short.
    fn growing(&self, from: f64, rounds: f64) -> Slept {
        let start = (from - self.m * 1e-9).ceil();
        let end = (start + rounds - 1.0).min(self.most * self.m);
        if end < start {
            return Slept::default();
        }
        let gaps = self.gaps_up_to(end) - self.gaps_up_to(start - 1.0);
        let slept_rounds = end - start + 1.0;
        Slept { time_s: slept_rounds * self.rtt_s - gaps * self.busy_s, times: gaps }
    }

    /// The sum of ceil(i/m) for i = 1 to n.
    fn gaps_up_to(&self, n: f64) -> f64 {
        let full = (n / self.m).floor();
        let rest = n - full * self.m;
        self.m * full * (full + 1.0) / 2.0 + rest * (full + 1.0)
    }

    /// The round of congestion avoidance in which a loss is detected.
    pub(super) fn avoidance_loss(&self, window: f64, rounds: f64) -> Slept {
        let index = rounds.round_ties_even();
        let grown = if index < 1.0 { 0.0 } else { index - 1.0 };
        self.loss(window / 2.0 + grown)
    }

    /// Equations 3.27, 3.34 and 3.35: half a round of gaps, then half an RTT without gaps.
    fn loss(&self, window: f64) -> Slept {
        let rest_s = self.rtt_s / 2.0 - self.transition_s;
        let rest = if rest_s > 0.0 { Slept { time_s: rest_s, times: 1.0 } } else { Slept::default() };
        self.round(window).scaled(0.5).plus(rest)
    }
}
