//! CUBIC (RFC 9438). The window is a cubic function of the time since the last loss, flat around the window at which
//! the loss occurred.
//!
//! Losses are repaired by RFC 6675, as in Linux. All arithmetic is in integers: windows in bytes, and times in units of
//! 2^-10 s, in which a cube of minutes still fits 64 bits; cube roots are computed by Newton's method. Fast convergence
//! (section 4.7) and the Reno-friendly region (section 4.3) are included.
//!
//! Left out: HyStart++ (RFC 9406), which ends slow start by delay, and ECN.

use airwatt_base::{Instant, Span};

use super::classic::{Algorithmic, Classic, WindowRule, over_classic};
use super::{Acknowledged, CongestionWindow, Recovery};

/// C = 0.4 segments per second cubed (RFC 9438 section 5.1), as a fraction.
const C: (u64, u64) = (4, 10);
/// The factor of the window after a loss (section 4.6): beta = 0.7.
const BETA: (u64, u64) = (7, 10);
/// The factor of the next W_max if the window was smaller than at the last loss, so that new flows get bandwidth
/// (section 4.7): (1 + beta) / 2.
const CONVERGENCE: (u64, u64) = (17, 20);
/// Growth in segments for each round trip at which a flow with factor beta is as fast as Reno (section 4.3): 3 (1 -
/// beta) / (1 + beta).
const ALPHA: (u64, u64) = (9, 17);
/// The unit of time is 2^-10 s.
const TIME_BITS: u32 = 10;
/// Times are limited to 256 s: beyond that the cubic exceeds any window, and its cube would exceed 64 bits.
const TIME_MAX: u64 = 1 << 18;

/// A period of congestion avoidance since the last loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    start: Instant,
    /// Time of the last acknowledgement, to exclude periods in which the window was not used.
    last: Instant,
    /// K: time from the start to the flat part, in 2^-10 s.
    k: u64,
    /// Window at the flat part in bytes.
    origin: u32,
    /// Window that Reno would have now, in bytes.
    estimate: u32,
    /// Remainders of the growth of the cubic and of the estimate.
    remainder: u64,
    estimate_remainder: u64,
}

/// The window of CUBIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubic {
    pub(super) classic: Classic,
    epoch: Option<Epoch>,
    /// W_max: the window at the last loss in bytes, reduced by fast convergence; `None` before the first loss and after
    /// a timeout.
    w_max: Option<u32>,
    /// The window just before the last loss in bytes.
    prior: u32,
}

fn scaled(bytes: u32, (numerator, denominator): (u64, u64)) -> u32 {
    (u64::from(bytes) * numerator / denominator) as u32
}

/// Returns the largest integer whose cube is at most `value`.
pub(super) fn cube_root(value: u64) -> u64 {
    if value == 0 {
        return 0;
    }
    // Newton's method starts from above, so that its steps decrease until the result would rise.
    let mut root = 1_u64 << (64 - value.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * root + value / (root * root)) / 3;
        if next >= root {
            return root;
        }
        root = next;
    }
}

/// Converts a span to units of 2^-10 s.
fn units(span: Span) -> u64 {
    // 2^10 / 10^9 is 2 / 1953125.
    (span.as_nanos().min(TIME_MAX * 2_000_000) * 2 / 1_953_125).min(TIME_MAX)
}

impl Epoch {
    /// Starts congestion avoidance with this window.
    fn new(window: &CongestionWindow, w_max: Option<u32>, now: Instant) -> Self {
        let cwnd = window.cwnd;
        let origin = w_max.unwrap_or(cwnd).max(cwnd);
        // K by equation (2): the cube root of the missing segments over C.
        let missing = u64::from(origin - cwnd) << (3 * TIME_BITS);
        let k = cube_root(missing / (C.0 * u64::from(window.mss)) * C.1);
        Self { start: now, last: now, k, origin, estimate: cwnd, remainder: 0, estimate_remainder: 0 }
    }

    /// The window in bytes that equation (1) gives at `time` after the start.
    fn target(&self, time: Span, mss: u32) -> u64 {
        let time = units(time);
        let off = time.abs_diff(self.k).min(TIME_MAX);
        let cube = (off * off * off) >> TIME_BITS;
        let offset = (cube * C.0 * u64::from(mss) / C.1) >> (2 * TIME_BITS);
        let origin = u64::from(self.origin);
        if time < self.k { origin.saturating_sub(offset) } else { origin + offset }
    }
}

impl Cubic {
    /// Section 4.6: computes the threshold, and the W_max of the next cubic.
    fn reduce(&mut self, flight: u32) -> u32 {
        let CongestionWindow { cwnd, mss, .. } = self.classic.window;
        let converging = self.w_max.is_some_and(|last| cwnd < last);
        self.w_max = Some(if converging { scaled(cwnd, CONVERGENCE) } else { cwnd });
        self.prior = cwnd;
        self.epoch = None;
        scaled(flight.min(cwnd), BETA).max(2 * mss)
    }

    fn avoid_congestion(&mut self, ack: Acknowledged) {
        let window = &mut self.classic.window;
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(window, w_max, ack.now));
        epoch.last = ack.now;
        let cwnd = u64::from(window.cwnd);
        let bytes = u64::from(ack.bytes);
        // Section 4.3: the window that Reno would have now.
        let alpha = if epoch.estimate >= self.prior { (1, 1) } else { ALPHA };
        epoch.estimate_remainder += bytes * u64::from(window.mss) * alpha.0 / alpha.1;
        epoch.estimate = epoch.estimate.saturating_add((epoch.estimate_remainder / cwnd) as u32);
        epoch.estimate_remainder %= cwnd;
        // Sections 4.4 and 4.5: grows towards the cubic one round trip from now, by at most half of the window for each
        // round trip.
        let elapsed = ack.now.saturating_since(epoch.start);
        let target = epoch.target(elapsed.saturating_add(ack.srtt), window.mss).clamp(cwnd, cwnd + cwnd / 2);
        epoch.remainder += (target - cwnd) * bytes;
        let growth = epoch.remainder / cwnd;
        epoch.remainder %= cwnd;
        window.grow(growth as u32);
        if epoch.target(elapsed, window.mss) < u64::from(epoch.estimate) && window.cwnd < epoch.estimate {
            let missing = epoch.estimate - window.cwnd;
            window.grow(missing);
        }
    }
}

impl Algorithmic for Cubic {
    /// RFC 9438 leaves the recovery open (section 3.1 asks for RFC 6675 or better); the scoreboard is that of Linux.
    const RECOVERY: Recovery = Recovery::Scoreboard;

    fn new(classic: Classic) -> Self {
        Self { classic, epoch: None, w_max: None, prior: 0 }
    }
}

impl WindowRule for Cubic {
    over_classic!();

    fn on_ack(&mut self, ack: Acknowledged) {
        if !self.classic.window.is_used_by(ack.flight) {
            // Section 5.8: excludes the time in which the application, not the path, limited the rate.
            if let Some(epoch) = &mut self.epoch {
                epoch.start += ack.now.saturating_since(epoch.last);
                epoch.last = ack.now;
            }
        } else if self.classic.window.in_slow_start() {
            self.classic.slow_start(ack.bytes);
        } else {
            self.avoid_congestion(ack);
        }
    }

    fn enter_recovery(&mut self, flight: u32, _duplicates: u32) {
        self.classic.window.ssthresh = self.reduce(flight);
        self.classic.deflate();
    }

    /// Halves the window as in any algorithm, so that uploads with CUBIC take no more than others; the cubic treats it
    /// as a loss.
    fn on_ack_loss(&mut self) {
        let CongestionWindow { cwnd, mss, .. } = self.classic.window;
        self.reduce(cwnd);
        self.classic.window.ssthresh = (cwnd / 2).max(mss);
        self.classic.deflate();
    }

    /// Section 4.8: after slow start the cubic begins at its flat part.
    fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        let mut ssthresh = self.classic.window.ssthresh;
        if reduces {
            let reduced = self.reduce(flight);
            ssthresh = if recovering { reduced.min(ssthresh) } else { reduced };
        }
        self.w_max = None;
        self.epoch = None;
        self.classic.enter_loss(ssthresh);
    }

    fn on_idle(&mut self, restart_window: u32) {
        self.epoch = None;
        let window = &mut self.classic.window;
        window.cwnd = window.cwnd.min(restart_window);
    }
}
