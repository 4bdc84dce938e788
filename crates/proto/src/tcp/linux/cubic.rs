//! CUBIC as Linux computes it, with HyStart: whole segments, jiffies and fixed point.
//!
//! It differs from RFC 9438, which `cc/cubic.rs` follows: the target is not bounded by 1.5 windows, the estimate of Reno grows by
//! a fixed share, and the window rather than the flight is reduced. The cube root is exact here; the kernel's is within 0.2 %.

use super::clock::Clock;

/// C of RFC 9438, 0.4 at a reference round trip of 100 ms: 41/1024, scaled by ten.
const CUBE_RTT_SCALE: u64 = 410;
/// The multiplicative decrease, 0.7, in 1024ths.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// Eight times the segments acknowledged for each segment that Reno would grow, as a share of the window.
const RENO_SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// HyStart does nothing below this window.
const HYSTART_WINDOW: u32 = 16;
/// Samples of a round before the delay counts.
const HYSTART_SAMPLES: u32 = 8;
/// Acknowledgements that follow within this time form a train, in microseconds.
const TRAIN_GAP: u64 = 2000;
/// The bounds of the rise of the delay that ends slow start, in microseconds.
const DELAY_RISE: (u64, u64) = (4000, 16_000);
/// Samples within this time after an epoch began are discarded, in microseconds.
const AFTER_RECOVERY: u64 = 1_000_000;

/// The state of CUBIC.
#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    /// Segments acknowledged for each that the window grows.
    cnt: u64,
    last_max: u64,
    last_window: u64,
    last_update: u64,
    origin: u64,
    k: u64,
    /// Least delay of the connection in microseconds; zero before a sample.
    delay_min: u64,
    /// The jiffy at which the epoch began.
    epoch: Option<u64>,
    acked: u64,
    /// The window that Reno would have.
    reno: u64,
    hystart: Hystart,
}

#[derive(Clone, Debug, Default)]
struct Hystart {
    found: bool,
    started: bool,
    round_start: u64,
    last_ack: u64,
    /// Position at which the round ends.
    end: u64,
    delay: u64,
    samples: u32,
}

/// What HyStart needs to know of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: u64,
    pub(super) rtt: u64,
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) window: u32,
    pub(super) slow_start: bool,
    /// The pacing rate in bytes a second; zero if it is not known.
    pub(super) rate: u64,
    pub(super) paced: bool,
    /// Which tests are made.
    pub(super) detect: u32,
}

impl Cubic {
    /// Forgets everything, after a timeout.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The threshold after a loss with this window. Ends the epoch.
    pub(super) fn threshold(&mut self, window: u32) -> u32 {
        let window = u64::from(window);
        self.epoch = None;
        self.last_max =
            if window < self.last_max { window * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { window };
        (window * BETA / BETA_SCALE).max(2) as u32
    }

    /// The first packet after an idle time, in jiffies since the last one: the epoch does not count it.
    pub(super) fn restart(&mut self, now: u64, idle: u64) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = (*epoch + idle).min(now);
        }
    }

    /// Segments acknowledged for each that the window grows, after `acked` more.
    pub(super) fn growth(&mut self, window: u32, acked: u32, now: u64, clock: Clock) -> u32 {
        let window = u64::from(window);
        self.acked += u64::from(acked);
        let unchanged = self.last_window == window;
        if unchanged && now - self.last_update <= clock.hz / 32 {
            return self.cnt as u32;
        }
        if self.epoch.is_none() || now != self.last_update {
            (self.last_window, self.last_update) = (window, now);
            self.update(window, u64::from(acked), now, clock);
        }
        let step = (window * RENO_SCALE) >> 3;
        while self.acked > step {
            self.acked -= step;
            self.reno += 1;
        }
        if self.reno > window {
            self.cnt = self.cnt.min(window / (self.reno - window));
        }
        self.cnt = self.cnt.max(2);
        self.cnt as u32
    }

    fn update(&mut self, window: u64, acked: u64, now: u64, clock: Clock) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.acked = acked;
            self.reno = window;
            let below = self.last_max.saturating_sub(window);
            self.k = cube_root(below * ((1 << 40) / CUBE_RTT_SCALE));
            self.origin = if below > 0 { self.last_max } else { window };
            now
        });
        // In 1024ths of a second, with the least delay ahead.
        let jiffies = now - epoch + clock.jiffy(self.delay_min);
        let t = (jiffies << 10) / clock.hz;
        let distance = u128::from(t.abs_diff(self.k));
        let delta = ((u128::from(CUBE_RTT_SCALE) * distance * distance * distance) >> 40) as u64;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta };
        self.cnt = if target > window { window / (target - window) } else { 100 * window };
        if self.last_max == 0 {
            self.cnt = self.cnt.min(20);
        }
    }

    /// Takes a delay sample. Returns whether slow start is to end.
    pub(super) fn sample(&mut self, sample: &Sample, clock: Clock) -> bool {
        let now = clock.jiffy(sample.now);
        if self.epoch.is_some_and(|epoch| now - epoch < clock.covering(AFTER_RECOVERY)) {
            return false;
        }
        let delay = sample.rtt.max(1);
        if self.delay_min == 0 || self.delay_min > delay {
            self.delay_min = delay;
        }
        !self.hystart.found
            && sample.slow_start
            && sample.detect != 0
            && sample.window >= HYSTART_WINDOW
            && self.hystart.ends_slow_start(sample, self.delay_min, delay)
    }

    /// Begins the first round of HyStart.
    pub(super) fn begin(&mut self, now: u64, nxt: u64) {
        self.hystart.begin_round(now, nxt);
    }
}

impl Hystart {
    fn begin_round(&mut self, now: u64, nxt: u64) {
        self.started = true;
        (self.round_start, self.last_ack, self.end) = (now, now, nxt);
        (self.delay, self.samples) = (u64::MAX, 0);
    }

    fn ends_slow_start(&mut self, sample: &Sample, delay_min: u64, delay: u64) -> bool {
        let now = sample.now;
        if sample.una > self.end || !self.started {
            self.begin_round(now, sample.nxt);
        }
        if sample.detect & 1 != 0 && now - self.last_ack <= TRAIN_GAP {
            self.last_ack = now;
            let burst =
                (65_536 * 4 * 1_000_000_u64).checked_div(sample.rate).map_or(0, |wait| wait.min(1000));
            let limit = (delay_min + burst) >> u32::from(!sample.paced);
            self.found |= now - self.round_start > limit;
        }
        if sample.detect & 2 != 0 {
            self.delay = self.delay.min(delay);
            if self.samples < HYSTART_SAMPLES {
                self.samples += 1;
            } else {
                self.found |= self.delay > delay_min + (delay_min / 8).clamp(DELAY_RISE.0, DELAY_RISE.1);
            }
        }
        self.found
    }
}

/// The whole part of the cube root.
fn cube_root(value: u64) -> u64 {
    let (mut root, mut step) = (0_u64, 1_u64 << 21);
    while step > 0 {
        let next = u128::from(root + step);
        if next * next * next <= u128::from(value) {
            root += step;
        }
        step >>= 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::linux::LinuxConfig;

    #[test]
    fn the_cube_root_is_exact() {
        for (value, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (1_000_000_007, 1000)] {
            assert_eq!(cube_root(value), root);
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    #[test]
    fn the_window_returns_to_its_maximum_at_k() {
        let mut cubic = Cubic::default();
        let clock = Clock::new(&LinuxConfig::default());
        assert_eq!(cubic.threshold(100), 70);
        // K is the cube root of 30 / (410 / 1024), 4.2158 s: 4316.9 of 1024ths.
        cubic.growth(70, 1, 10, clock);
        assert_eq!(cubic.k, 4316);
        // At K the target is the maximum, one segment away.
        cubic.growth(99, 1, 10 + 4216, clock);
        assert_eq!(cubic.cnt, 99);
    }

    #[test]
    fn fast_convergence_leaves_room_for_others() {
        let mut cubic = Cubic::default();
        cubic.threshold(100);
        cubic.threshold(80);
        assert_eq!(cubic.last_max, 80 * 1741 / 2048);
        assert_eq!(cubic.threshold(2), 2);
    }
}
