//! The round-trip time and the retransmission timeout as Linux computes them.
//!
//! Whole microseconds; the smoothed round-trip time is kept eight times, its deviation four times. The least timeout bounds the
//! allowance for the variance, not the timeout. A round trip that gets shorter hardly raises the deviation.

use std::collections::VecDeque;

/// How long a minimum counts: 300 s (`tcp_min_rtt_wlen`).
const MINIMUM_COUNTS: u64 = 300_000_000;
/// The timeout before a sample.
const INITIAL: u64 = 1_000_000;

/// The estimator.
#[derive(Clone, Debug, Default)]
pub(super) struct Rtt {
    /// Eight times the smoothed round-trip time; zero before a sample.
    srtt8: u64,
    mdev4: u64,
    rttvar4: u64,
    mdev_max: u64,
    /// Position at which the round ends for which `mdev_max` counts.
    until: u64,
    /// The timeout with its back-off.
    rto: u64,
    /// The least allowance for the variance.
    pub(super) least: u64,
    most: u64,
    /// Minima of the window of time, the least first: time and value.
    minima: VecDeque<(u64, u64)>,
    /// How many samples there were, and their sum.
    samples: (u64, u64),
}

impl Rtt {
    pub(super) fn new(least: u64, most: u64) -> Self {
        Self { mdev4: INITIAL, rto: INITIAL, least, most, ..Self::default() }
    }

    /// The smoothed round-trip time.
    pub(super) fn srtt(&self) -> Option<u64> {
        (self.srtt8 > 0).then_some(self.srtt8 / 8)
    }

    /// The mean of all samples.
    pub(super) fn mean(&self) -> Option<u64> {
        self.samples.1.checked_div(self.samples.0)
    }

    /// The deviation as `TCP_INFO` shows it.
    pub(super) fn mdev(&self) -> u64 {
        self.mdev4 / 4
    }

    /// The timeout before it is rounded to jiffies.
    pub(super) fn rto(&self) -> u64 {
        self.rto
    }

    /// Sets the timeout, for a handshake without a sample.
    pub(super) fn set_rto(&mut self, rto: u64) {
        self.rto = rto.min(self.most);
    }

    /// Doubles the timeout.
    pub(super) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.most);
    }

    /// The timeout after this many doublings of what it would be without.
    pub(super) fn base(&self) -> u64 {
        if self.srtt8 == 0 { self.rto } else { (self.srtt8 / 8 + self.rttvar4).min(self.most) }
    }

    /// The minimum of the last five minutes; the largest number before a sample.
    pub(super) fn minimum(&self) -> u64 {
        self.minima.front().map_or(u64::MAX, |(_, rtt)| *rtt)
    }

    /// Takes a sample for the minimum. One that may have waited for a delayed acknowledgement does not replace a lower one.
    pub(super) fn sample_minimum(&mut self, rtt: u64, now: u64, maybe_delayed: bool) {
        if maybe_delayed && rtt > self.minimum() {
            return;
        }
        let rtt = rtt.max(1);
        while self.minima.back().is_some_and(|(_, other)| *other >= rtt) {
            self.minima.pop_back();
        }
        self.minima.push_back((now, rtt));
        while self.minima.front().is_some_and(|(at, _)| now - at > MINIMUM_COUNTS) {
            self.minima.pop_front();
        }
    }

    /// Takes a sample when everything below `una` is acknowledged and everything below `nxt` sent.
    pub(super) fn sample(&mut self, rtt: u64, una: u64, nxt: u64) {
        self.samples = (self.samples.0 + 1, self.samples.1 + rtt);
        let mut error = rtt.max(1) as i64;
        if self.srtt8 == 0 {
            self.srtt8 = 8 * error as u64;
            self.mdev4 = 2 * error as u64;
            self.rttvar4 = self.mdev4.max(self.least);
            self.mdev_max = self.rttvar4;
            self.until = nxt;
        } else {
            error -= (self.srtt8 / 8) as i64;
            self.srtt8 = (self.srtt8 as i64 + error).max(1) as u64;
            if error < 0 {
                error = -error - (self.mdev4 / 4) as i64;
                error = if error > 0 { error / 8 } else { error };
            } else {
                error -= (self.mdev4 / 4) as i64;
            }
            self.mdev4 = (self.mdev4 as i64 + error).max(0) as u64;
            if self.mdev4 > self.mdev_max {
                self.mdev_max = self.mdev4;
                self.rttvar4 = self.rttvar4.max(self.mdev_max);
            }
            if una > self.until {
                if self.mdev_max < self.rttvar4 {
                    self.rttvar4 -= (self.rttvar4 - self.mdev_max) / 4;
                }
                self.until = nxt;
                self.mdev_max = self.least;
            }
        }
        self.rto = (self.srtt8 / 8 + self.rttvar4).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_allows_twice_itself_or_the_least() {
        for (rtt, rto) in [(10_000, 210_000), (100_000, 300_000), (150_000, 450_000)] {
            let mut estimator = Rtt::new(200_000, 120_000_000);
            estimator.sample(rtt, 1, 10);
            assert_eq!(estimator.rto(), rto);
        }
    }

    #[test]
    fn a_shorter_round_trip_hardly_raises_the_timeout() {
        let mut estimator = Rtt::new(200_000, 120_000_000);
        estimator.sample(400_000, 1, 10);
        // By hand: error -390 ms; less a quarter of 800 ms it is 190 ms, of which an eighth is added: 823.75 ms.
        estimator.sample(10_000, 2, 11);
        assert_eq!((estimator.srtt8, estimator.mdev4), (2_810_000, 823_750));
        assert_eq!(estimator.rto(), 351_250 + 823_750);
    }

    #[test]
    fn the_minimum_is_forgotten_after_five_minutes() {
        let mut estimator = Rtt::new(200_000, 120_000_000);
        estimator.sample_minimum(10, 0, false);
        estimator.sample_minimum(20, 5, false);
        estimator.sample_minimum(30, 6, true);
        assert_eq!(estimator.minimum(), 10);
        estimator.sample_minimum(40, MINIMUM_COUNTS + 1, false);
        assert_eq!(estimator.minimum(), 20);
    }
}
