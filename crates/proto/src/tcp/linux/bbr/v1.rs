//! BBR version 1, as in Linux since 4.9.

use airwatt_base::RandomStream;

use super::{
    Ack, BANDWIDTH_BITS, BURST_ROUNDS, Bursts, Decided, Full, Largest, Least, MINIMUM_COUNTS, Measuring,
    Rounds, UNIT, WINDOW_MIN, bandwidth_of, bytes_a_second, product,
};
use crate::tcp::linux::state::CaState;

/// 2 / ln 2: the least gain that doubles the rate each round.
pub(super) const HIGH_GAIN: u64 = 2885 * UNIT / 1000 + 1;
/// Its inverse, with which the queue of the start is drained.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// The gain of the window while the bandwidth is probed.
const WINDOW_GAIN: u64 = 2 * UNIT;
/// The cycle of gains of the rate; each lasts a least round trip.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The phase of the cycle that drains: a connection does not begin with it.
const DRAINS: usize = 1;
/// Rounds for which a sample of the bandwidth counts.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Below this rate, 1.2 Mbit/s, bursts are single segments.
const SMALL_RATE: u64 = 150_000;

/// The least size of a burst.
pub(super) fn burst_min(rate: u64) -> u32 {
    if rate < SMALL_RATE { 1 } else { 2 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// The state.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct Bbr1 {
    mode: Mode,
    rounds: Rounds,
    bandwidth: Largest,
    full: Full,
    bursts: Bursts,
    least: Least,
    measuring: Measuring,
    policer: Policer,
    /// The phase of the cycle, and since when.
    phase: usize,
    phase_since: u64,
    random: RandomStream,
    before: CaState,
    /// Whether what is in flight is kept as it is, in the first round of a recovery.
    conserves: bool,
    /// The window to which a recovery returns.
    saved: u32,
    /// Whether the connection begins to send after an idle time.
    restarts: bool,
    has_rtt: bool,
}

impl Bbr1 {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: Largest::of(BANDWIDTH_ROUNDS),
            full: Full::default(),
            bursts: Bursts::default(),
            least: Least::default(),
            measuring: Measuring::default(),
            policer: Policer::default(),
            phase: 0,
            phase_since: 0,
            random: RandomStream::new(seed, "bbr1"),
            before: CaState::Open,
            conserves: false,
            saved: 0,
            restarts: false,
            has_rtt: false,
        }
    }

    /// The bandwidth in use: that of a policer if there is one.
    fn bandwidth(&self) -> u64 {
        if self.policer.limits { self.policer.bandwidth } else { self.bandwidth.get() }
    }

    /// The gains of the rate and of the window.
    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.limits => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        }
    }

    pub(super) fn acknowledge(&mut self, ack: &Ack, decided: &mut Decided) {
        self.update_bandwidth(ack);
        let rounds = if self.full.reached { BURST_ROUNDS } else { u32::MAX };
        self.bursts.acknowledge(ack, self.rounds.began, rounds, self.bandwidth(), decided.cwnd);
        self.update_phase(ack, decided.rate);
        let limited = ack.sample.is_some_and(|sample| sample.limited);
        if self.rounds.began && !limited && !self.full.reached {
            self.full.round(self.bandwidth.get());
        }
        self.check_drain(ack, decided.rate);
        self.update_least(ack, decided);
        self.set_rate(ack, decided);
        self.set_window(ack, decided);
    }

    fn update_bandwidth(&mut self, ack: &Ack) {
        self.rounds.began = false;
        let Some(sample) = &ack.sample else { return };
        self.rounds.acknowledge(sample, ack.delivered);
        if self.rounds.began {
            self.conserves = false;
        }
        let probes = self.mode == Mode::ProbeBandwidth;
        if self.policer.acknowledge(ack, sample, self.rounds.began, probes) {
            self.begin_cycle(ack.now);
        }
        let bandwidth = bandwidth_of(sample);
        self.bandwidth.expire(self.rounds.count);
        if !sample.limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.push(bandwidth, self.rounds.count);
        }
    }

    /// Segments in flight that a gain wants, with room for the bursts of host and network card.
    fn target(&self, bandwidth: u64, gain: u64, rate: u64, ack: &Ack) -> u32 {
        self.rounded(self.product(bandwidth, gain, ack.initial_window), rate, ack.mss)
    }

    fn product(&self, bandwidth: u64, gain: u64, initial: u32) -> u32 {
        self.least.rtt.map_or(initial, |rtt| product(bandwidth, rtt, gain))
    }

    fn rounded(&self, window: u32, rate: u64, mss: u32) -> u32 {
        let burst = ((rate >> 10).min(65_216) / u64::from(mss)).max(u64::from(burst_min(rate))) as u32;
        let even = (window + 3 * burst).next_multiple_of(2);
        even + if self.mode == Mode::ProbeBandwidth && self.phase == 0 { 2 } else { 0 }
    }

    fn begin_cycle(&mut self, now: u64) {
        self.mode = Mode::ProbeBandwidth;
        let phase = self.random.below(CYCLE.len() as u32 - 1) as usize;
        (self.phase, self.phase_since) = (if phase < DRAINS { phase } else { phase + 1 }, now);
    }

    fn update_phase(&mut self, ack: &Ack, rate: u64) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let is_over = ack.now - self.phase_since > self.least.rtt.unwrap_or(0);
        let (gain, _) = self.gains();
        let bandwidth = self.bandwidth.get();
        let next = match gain {
            UNIT => is_over,
            gain if gain > UNIT => {
                is_over && (ack.lost > 0 || ack.flight >= self.target(bandwidth, gain, rate, ack))
            }
            _ => is_over || ack.flight <= self.target(bandwidth, UNIT, rate, ack),
        };
        if next {
            (self.phase, self.phase_since) = ((self.phase + 1) % CYCLE.len(), ack.now);
        }
    }

    fn check_drain(&mut self, ack: &Ack, rate: u64) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.flight <= self.target(self.bandwidth.get(), UNIT, rate, ack) {
            self.begin_cycle(ack.now);
        }
    }

    /// The least round trip, for which the window is small from time to time.
    fn update_least(&mut self, ack: &Ack, decided: &mut Decided) {
        let expired = self.least.has_expired(MINIMUM_COUNTS, ack.now);
        if let Some(rtt) = ack.rtt {
            self.least.take(rtt, expired && !ack.delayed, ack.now);
        }
        if expired && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save(decided.cwnd);
            self.measuring = Measuring::default();
        }
        if self.mode == Mode::ProbeRtt {
            decided.limits = true;
            if self.measuring.acknowledge(ack, WINDOW_MIN, &mut self.rounds) {
                self.end_measuring(ack.now, decided);
            }
        }
        if ack.sample.is_some_and(|sample| sample.delivered > 0) {
            self.restarts = false;
        }
    }

    fn end_measuring(&mut self, now: u64, decided: &mut Decided) {
        self.least.at = now;
        decided.cwnd = decided.cwnd.max(self.saved);
        if self.full.reached {
            self.begin_cycle(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_rate(&mut self, ack: &Ack, decided: &mut Decided) {
        let (gain, _) = self.gains();
        if let Some(srtt) = ack.srtt.filter(|_| !self.has_rtt) {
            self.has_rtt = true;
            let bandwidth = (u64::from(decided.cwnd) << BANDWIDTH_BITS) / srtt.max(1);
            decided.rate = bytes_a_second(bandwidth, HIGH_GAIN, ack.mss);
        }
        let rate = bytes_a_second(self.bandwidth(), gain, ack.mss);
        if self.full.reached || rate > decided.rate {
            decided.rate = rate;
        }
    }

    fn set_window(&mut self, ack: &Ack, decided: &mut Decided) {
        if ack.acked > 0 {
            let recovers = self.recover(ack, decided);
            if !recovers {
                let (_, gain) = self.gains();
                let bandwidth = self.bandwidth();
                let room = if self.full.reached { self.bursts.room(bandwidth) } else { 0 };
                let target = self.product(bandwidth, gain, ack.initial_window) + room;
                let target = self.rounded(target, decided.rate, ack.mss);
                if self.full.reached {
                    decided.cwnd = (decided.cwnd + ack.acked).min(target);
                } else if decided.cwnd < target || ack.delivered < u64::from(ack.initial_window) {
                    decided.cwnd += ack.acked;
                }
                decided.cwnd = decided.cwnd.max(WINDOW_MIN);
            }
        }
        if self.mode == Mode::ProbeRtt {
            decided.cwnd = decided.cwnd.min(WINDOW_MIN);
        }
    }

    /// The window in a recovery and after it. Returns whether nothing else changes it.
    fn recover(&mut self, ack: &Ack, decided: &mut Decided) -> bool {
        decided.cwnd = decided.cwnd.saturating_sub(ack.lost).max(1);
        if ack.state == CaState::Recovery && self.before != CaState::Recovery {
            self.conserves = true;
            self.rounds.restart(ack.delivered);
            decided.cwnd = ack.flight + ack.acked;
        } else if self.before >= CaState::Recovery && ack.state < CaState::Recovery {
            decided.cwnd = decided.cwnd.max(self.saved);
            self.conserves = false;
        }
        self.before = ack.state;
        if self.conserves {
            decided.cwnd = decided.cwnd.max(ack.flight + ack.acked);
        }
        self.conserves
    }

    pub(super) fn save(&mut self, window: u32) {
        let anew = self.before < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.saved = if anew { window } else { self.saved.max(window) };
    }

    pub(super) fn time_out(&mut self, delivered: u64, lost: u64, now: u64) {
        self.before = CaState::Loss;
        self.full.restart(0);
        self.rounds.began = true;
        self.policer.note_loss(delivered, lost, now);
    }

    pub(super) fn undo(&mut self, window: u32, delivered: u64, lost: u64, now: u64) -> u32 {
        self.full.restart(0);
        self.policer.reset(delivered, lost, now);
        window
    }

    pub(super) fn restart(&mut self, now: u64, mss: u32, decided: &mut Decided) {
        self.restarts = true;
        self.bursts.restart(now);
        match self.mode {
            // The queue is empty: it is sent at the bandwidth.
            Mode::ProbeBandwidth => {
                let rate = bytes_a_second(self.bandwidth(), UNIT, mss);
                if self.full.reached || rate > decided.rate {
                    decided.rate = rate;
                }
            }
            Mode::ProbeRtt if self.measuring.round_passed && self.measuring.until < Some(now) => {
                self.end_measuring(now, decided);
            }
            _ => {}
        }
    }
}

/// A token bucket on the path, which lets a burst pass and then drops what is above its rate. It shows as intervals that end
/// with many losses and have one bandwidth.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    samples: bool,
    /// Rounds of the interval, or with the limit.
    rounds: u32,
    /// What had been delivered and lost when the interval began, and when that was.
    delivered: u64,
    lost: u64,
    since: u64,
    /// The bandwidth of the last interval, or of the policer.
    bandwidth: u64,
    limits: bool,
}

/// Rounds of an interval, at least and at most.
const INTERVAL: (u32, u32) = (4, 16);
/// The share of losses, in 256ths.
const POLICER_LOSSES: u64 = 50;
/// The difference of two intervals of one rate: an eighth, or 4 kbit/s (in bytes a second).
const ALIKE: (u64, u64) = (8, 500);
/// Rounds for which the bandwidth of a policer counts.
const LIMIT_ROUNDS: u32 = 48;

impl Policer {
    fn begin(&mut self, delivered: u64, lost: u64, now: u64) {
        (self.delivered, self.lost, self.since, self.rounds) = (delivered, lost, now, 0);
    }

    fn reset(&mut self, delivered: u64, lost: u64, now: u64) {
        *self = Self::default();
        self.begin(delivered, lost, now);
    }

    /// A loss begins an interval.
    fn note_loss(&mut self, delivered: u64, lost: u64, now: u64) {
        if !self.samples && !self.limits {
            self.begin(delivered, lost, now);
            self.samples = true;
        }
    }

    /// Takes an acknowledgement. Returns whether a limit has ended.
    fn acknowledge(
        &mut self,
        ack: &Ack,
        sample: &super::RateSample,
        round_began: bool,
        probes: bool,
    ) -> bool {
        if self.limits {
            self.rounds += u32::from(probes && round_began);
            let ends = self.rounds >= LIMIT_ROUNDS;
            if ends {
                self.reset(ack.delivered, ack.lost_ever, ack.now);
            }
            return ends;
        }
        if !self.samples {
            if ack.lost == 0 {
                return false;
            }
            self.note_loss(ack.delivered, ack.lost_ever, ack.now);
        }
        if sample.limited {
            self.reset(ack.delivered, ack.lost_ever, ack.now);
            return false;
        }
        self.rounds += u32::from(round_began);
        if self.rounds > INTERVAL.1 {
            self.reset(ack.delivered, ack.lost_ever, ack.now);
            return false;
        }
        let (delivered, lost) = (ack.delivered - self.delivered, ack.lost_ever - self.lost);
        let span = ack.now - self.since;
        if self.rounds >= INTERVAL.0
            && ack.lost > 0
            && delivered > 0
            && span >= 1000
            && lost * UNIT >= POLICER_LOSSES * delivered
        {
            self.end_interval((delivered << BANDWIDTH_BITS) / span, ack);
        }
        false
    }

    fn end_interval(&mut self, bandwidth: u64, ack: &Ack) {
        let difference = bandwidth.abs_diff(self.bandwidth);
        let alike =
            difference * ALIKE.0 <= self.bandwidth || bytes_a_second(difference, UNIT, ack.mss) <= ALIKE.1;
        if self.bandwidth > 0 && alike {
            (self.bandwidth, self.limits, self.rounds) = (u64::midpoint(bandwidth, self.bandwidth), true, 0);
        } else {
            self.bandwidth = bandwidth;
            self.begin(ack.delivered, ack.lost_ever, ack.now);
        }
    }
}
