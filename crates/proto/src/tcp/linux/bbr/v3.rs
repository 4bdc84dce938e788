//! BBR version 3: the bandwidth is probed less often, and losses bound the rate and what is in flight.

use airwatt_base::RandomStream;

use super::{
    Ack, BURST_ROUNDS, Bursts, Decided, Full, Least, MINIMUM_COUNTS, Measuring, Rounds, UNIT, WINDOW_MIN,
    bandwidth_of, bytes_a_second, product,
};
use crate::tcp::linux::rate::RateSample;
use crate::tcp::linux::state::{CaState, is_excess};

/// The gain of the rate at the start: 4 ln 2.
pub(super) const STARTUP_PACING: u64 = UNIT * 277 / 100 + 1;
const DRAIN_PACING: u64 = UNIT * 1000 / 2885;
/// The gains of the rate while the bandwidth is probed, before that, and otherwise.
const UP_PACING: u64 = UNIT * 5 / 4;
const DOWN_PACING: u64 = UNIT * 91 / 100;
/// The gains of the window: when the bandwidth is probed, and otherwise.
const UP_WINDOW: u64 = UNIT * 9 / 4;
const WINDOW: u64 = 2 * UNIT;
/// What is left for others below the bound of what is in flight: 15 %.
const HEADROOM: u64 = UNIT * 15 / 100;
/// The decrease of the bounds after losses: to 70 %.
const BETA: u64 = UNIT * 7 / 10;
/// How long the bandwidth is not probed: 2 s, and up to 1 s more at random.
const PROBE_WAIT: (u64, u32) = (2_000_000, 1_000_000);
/// Rounds after which it is probed at the latest, as Reno would.
const PROBE_ROUNDS: u32 = 63;
/// How long the least round trip is not measured: 5 s.
const MEASURE_AFTER: u64 = 5_000_000;
/// Acknowledgements with losses in a round that may end the start.
const STARTUP_LOSSES: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// From which transmissions the acknowledgements in hand stem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    /// A probe has begun, and its first acknowledgements have not come.
    Starting,
    /// They come.
    Probe,
    /// The probe has ended, and its last acknowledgements come.
    Stopping,
}

/// The state.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct Bbr3 {
    mode: Mode,
    rounds: Rounds,
    full: Full,
    bursts: Bursts,
    /// The largest samples of this probe's cycle and of the last one.
    high: [u64; 2],
    /// The bounds that losses gave: of the bandwidth, and of what is in flight, for the short term; the same for the long term.
    bandwidth_low: Option<u64>,
    flight_low: Option<u32>,
    flight_high: Option<u32>,
    /// The bounds before a reduction that may be a mistake.
    undo: (Option<u64>, Option<u32>, Option<u32>),
    /// The largest sample of this round of losses, and what was delivered in it.
    latest: (u64, u64),
    loss_rounds: Rounds,
    /// Acknowledgements with losses in the round.
    losses: u32,
    feedback: Feedback,
    /// Whether losses of the segments that arrive concern the bound of what is in flight.
    samples_bound: bool,
    previous_too_high: bool,
    /// Growth of the bound: segments acknowledged, how many each takes, and rounds of growth.
    grown: u32,
    growth: u32,
    growth_rounds: u32,
    phase_since: u64,
    wait: u64,
    rounds_since: u32,
    least: Least,
    /// The same for a shorter time, after which it is measured.
    recent: Least,
    measuring: Measuring,
    random: RandomStream,
    before: CaState,
    saved: u32,
    restarts: bool,
    has_rtt: bool,
}

impl Bbr3 {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            mode: Mode::Startup,
            rounds: Rounds::default(),
            full: Full::default(),
            bursts: Bursts::default(),
            high: [0; 2],
            bandwidth_low: None,
            flight_low: None,
            flight_high: None,
            undo: (None, None, None),
            latest: (0, 0),
            loss_rounds: Rounds::default(),
            losses: 0,
            feedback: Feedback::None,
            samples_bound: false,
            previous_too_high: false,
            grown: 0,
            growth: u32::MAX,
            growth_rounds: 0,
            phase_since: 0,
            wait: 0,
            rounds_since: 0,
            least: Least::default(),
            recent: Least::default(),
            measuring: Measuring::default(),
            random: RandomStream::new(seed, "bbr3"),
            before: CaState::Open,
            saved: 0,
            restarts: false,
            has_rtt: false,
        }
    }

    fn largest(&self) -> u64 {
        self.high[0].max(self.high[1])
    }

    fn bandwidth(&self) -> u64 {
        self.largest().min(self.bandwidth_low.unwrap_or(u64::MAX))
    }

    /// The gains of the rate and of the window.
    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (STARTUP_PACING, WINDOW),
            Mode::Drain => (DRAIN_PACING, WINDOW),
            Mode::Down => (DOWN_PACING, WINDOW),
            Mode::Cruise | Mode::Refill => (UNIT, WINDOW),
            Mode::Up => (UP_PACING, UP_WINDOW),
            Mode::ProbeRtt => (UNIT, UNIT),
        }
    }

    fn probes_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    fn product(&self, bandwidth: u64, gain: u64, ack: &Ack) -> u32 {
        self.least.rtt.map_or(ack.initial_window, |rtt| product(bandwidth, rtt, gain))
    }

    /// What may be in flight at a gain, with room for the bursts of the host.
    fn target(&self, gain: u64, extra: u32, ack: &Ack) -> u32 {
        (self.product(self.bandwidth(), gain, ack) + extra).max(3 * ack.burst).max(WINDOW_MIN)
    }

    /// The bound of what is in flight, with room left for others.
    fn with_headroom(&self) -> u32 {
        self.flight_high.map_or(u32::MAX, |high| {
            let room = (u64::from(high) * HEADROOM / UNIT).max(1) as u32;
            high.saturating_sub(room).max(WINDOW_MIN)
        })
    }

    pub(super) fn acknowledge(&mut self, ack: &Ack, decided: &mut Decided) {
        self.rounds.began = false;
        self.loss_rounds.began = false;
        if let Some(sample) = &ack.sample {
            self.update_signals(ack, sample, decided.cwnd);
        }
        let rounds = if self.full.reached { BURST_ROUNDS } else { 1 };
        self.bursts.acknowledge(ack, self.rounds.began, rounds, self.bandwidth(), decided.cwnd);
        self.check_startup(ack);
        if self.mode == Mode::Drain && ack.flight <= self.target(UNIT, 0, ack) {
            self.begin_down(ack);
        }
        self.update_phase(ack, decided.cwnd);
        self.update_least(ack, decided);
        if let Some(sample) = ack.sample.filter(|_| self.loss_rounds.began) {
            self.latest = (bandwidth_of(&sample), sample.delivered);
            self.losses = 0;
        }
        self.set_rate(ack, decided);
        self.set_window(ack, decided);
    }

    // The model.

    fn update_signals(&mut self, ack: &Ack, sample: &RateSample, window: u32) {
        let bandwidth = bandwidth_of(sample);
        self.latest = (self.latest.0.max(bandwidth), self.latest.1.max(sample.delivered));
        self.loss_rounds.acknowledge(sample, ack.delivered);
        self.rounds.acknowledge(sample, ack.delivered);
        self.rounds_since += u32::from(self.rounds.began);
        if !sample.limited || bandwidth >= self.largest() {
            self.high[1] = self.high[1].max(bandwidth);
        }
        self.losses += u32::from(ack.lost > 0);
        // While the bandwidth is probed, losses say nothing of the short term.
        let bounds = !matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if self.loss_rounds.began && self.losses > 0 && bounds {
            let low = self.bandwidth_low.unwrap_or_else(|| self.largest());
            let flight = self.flight_low.unwrap_or(window);
            self.bandwidth_low = Some(self.latest.0.max(low * BETA / UNIT));
            let delivered = self.latest.1.min(u64::from(u32::MAX)) as u32;
            self.flight_low = Some(delivered.max((u64::from(flight) * BETA / UNIT) as u32));
        }
    }

    pub(super) fn note_losses(&mut self) {
        self.losses += 1;
    }

    fn clear_low(&mut self) {
        (self.bandwidth_low, self.flight_low) = (None, None);
    }

    /// The start ends when the bandwidth no longer grows, or at the end of a round with many losses.
    fn check_startup(&mut self, ack: &Ack) {
        if self.mode != Mode::Startup {
            return;
        }
        if let Some(sample) = ack.sample.filter(|sample| !sample.limited && self.rounds.began) {
            self.full.round(self.largest().max(bandwidth_of(&sample)));
        }
        let lossy = self.loss_rounds.began
            && ack.state == CaState::Recovery
            && self.losses >= STARTUP_LOSSES
            && ack.sample.is_some_and(|sample| is_excess(sample.lost, sample.flight));
        if lossy {
            self.full.reached = true;
            let delivered = self.latest.1.min(u64::from(u32::MAX)) as u32;
            self.flight_high = Some(self.product(self.largest(), UNIT, ack).max(delivered));
        }
        if self.full.reached {
            self.mode = Mode::Drain;
            self.clear_low();
        }
    }

    // The phases.

    fn begin_round(&mut self, ack: &Ack) {
        self.rounds.restart(ack.delivered);
    }

    fn begin_down(&mut self, ack: &Ack) {
        self.mode = Mode::Down;
        (self.losses, self.latest) = (0, (0, 0));
        self.growth = u32::MAX;
        self.wait = PROBE_WAIT.0 + u64::from(self.random.below(PROBE_WAIT.1));
        self.rounds_since = self.random.below(2);
        self.phase_since = ack.now;
        self.feedback = Feedback::Stopping;
        self.begin_round(ack);
    }

    fn begin_refill(&mut self, ack: &Ack) {
        self.mode = Mode::Refill;
        self.clear_low();
        (self.growth_rounds, self.grown) = (0, 0);
        self.feedback = Feedback::None;
        self.samples_bound = false;
        self.begin_round(ack);
    }

    fn begin_up(&mut self, ack: &Ack, window: u32) {
        self.mode = Mode::Up;
        self.samples_bound = true;
        self.feedback = Feedback::Starting;
        self.phase_since = ack.now;
        self.full.restart(ack.sample.map_or(0, |sample| bandwidth_of(&sample)));
        self.begin_round(ack);
        self.grow_faster(window);
    }

    fn update_phase(&mut self, ack: &Ack, window: u32) {
        if !self.full.reached {
            return;
        }
        self.update_bound(ack, window);
        if self.mode == Mode::Up && self.has_probed(ack, window) {
            self.previous_too_high = false;
            return self.begin_down(ack);
        }
        match self.mode {
            Mode::Down if self.is_time_to_probe(ack, window) => self.begin_refill(ack),
            Mode::Down => {
                let calm = self.with_headroom().min(self.target(UNIT, 0, ack));
                if ack.flight <= calm {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Cruise if self.is_time_to_probe(ack, window) => self.begin_refill(ack),
            Mode::Refill if self.rounds.began => self.begin_up(ack, window),
            _ => {}
        }
    }

    /// After some seconds, or after as many rounds as Reno would need to grow by the window.
    fn is_time_to_probe(&self, ack: &Ack, window: u32) -> bool {
        let rounds = self.goal(ack, window).min(PROBE_ROUNDS);
        ack.now - self.phase_since > self.wait || self.rounds_since >= rounds
    }

    /// What is in flight at the bandwidth, as the window permits.
    fn goal(&self, ack: &Ack, window: u32) -> u32 {
        self.product(self.bandwidth(), UNIT, ack).min(window)
    }

    /// A probe is over if the bandwidth has stopped growing, or what is in flight is where the last probe was too high.
    fn has_probed(&mut self, ack: &Ack, window: u32) -> bool {
        let high = self.flight_high.unwrap_or(u32::MAX);
        if self.previous_too_high && ack.flight >= high {
            return true;
        }
        let bandwidth = ack.sample.map_or(0, |sample| bandwidth_of(&sample));
        if ack.is_cwnd_limited && window >= high {
            // The bound, not the path, keeps the bandwidth from growing.
            self.full.restart(self.full.bandwidth.max(bandwidth));
        } else if self.rounds.began && !ack.sample.is_some_and(|sample| sample.limited) {
            self.full.round(self.latest.0.max(bandwidth));
        }
        self.full.rounds >= super::FULL_ROUNDS
    }

    // The bound of what is in flight.

    fn update_bound(&mut self, ack: &Ack, window: u32) {
        let Some(sample) = &ack.sample else { return };
        if self.rounds.began {
            match self.feedback {
                Feedback::Starting => self.feedback = Feedback::Probe,
                Feedback::Stopping => {
                    self.samples_bound = false;
                    self.feedback = Feedback::None;
                    if self.probes_bandwidth() && !sample.limited && self.high[1] > 0 {
                        self.high = [self.high[1], 0];
                    }
                }
                _ => {}
            }
        }
        let excess = match ack.excess {
            Some(excess) => Some((excess.flight, excess.limited)),
            None if is_excess(sample.lost, sample.flight) => Some((sample.flight, sample.limited)),
            None => None,
        };
        match excess {
            Some((flight, limited)) if self.samples_bound => self.lower_bound(flight, limited, ack, window),
            Some(_) => {}
            None => self.raise_bound(sample, ack, window),
        }
    }

    fn lower_bound(&mut self, flight: u32, limited: bool, ack: &Ack, window: u32) {
        self.samples_bound = false;
        if !limited {
            let least = (u64::from(self.goal(ack, window)) * BETA / UNIT) as u32;
            self.flight_high = Some(flight.max(least));
        }
        if self.mode == Mode::Up {
            self.previous_too_high = true;
            self.begin_down(ack);
        }
    }

    fn raise_bound(&mut self, sample: &RateSample, ack: &Ack, window: u32) {
        let Some(mut high) = self.flight_high else { return };
        high = high.max(sample.flight);
        if self.mode == Mode::Up && ack.is_cwnd_limited && window >= high {
            self.grown += ack.acked;
            if self.grown >= self.growth {
                high += self.grown / self.growth;
                self.grown %= self.growth;
            }
            if self.rounds.began {
                self.grow_faster(window);
            }
        }
        self.flight_high = Some(high);
    }

    /// The bound grows by 1, 2, 4, ... segments a round.
    fn grow_faster(&mut self, window: u32) {
        let each_round = 1 << self.growth_rounds.min(30);
        self.growth_rounds += 1;
        self.growth = (window / each_round).max(1);
    }

    // The round trip.

    fn update_least(&mut self, ack: &Ack, decided: &mut Decided) {
        let measure = self.recent.has_expired(MEASURE_AFTER, ack.now);
        if let Some(rtt) = ack.rtt {
            self.recent.take(rtt, measure && !ack.delayed, ack.now);
        }
        let expired = self.least.has_expired(MINIMUM_COUNTS, ack.now);
        if let Some(rtt) = self.recent.rtt
            && (expired || self.least.rtt.is_none_or(|least| rtt < least))
        {
            self.least = self.recent;
        }
        if measure && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save(decided.cwnd);
            self.measuring = Measuring::default();
            self.feedback = Feedback::Stopping;
            self.begin_round(ack);
        }
        if self.mode == Mode::ProbeRtt {
            decided.limits = true;
            let small = self.small(ack);
            if self.measuring.acknowledge(ack, small, &mut self.rounds) {
                self.end_measuring(ack, decided);
            }
        }
        if ack.sample.is_some_and(|sample| sample.delivered > 0) {
            self.restarts = false;
        }
    }

    /// The window while the round trip is measured.
    fn small(&self, ack: &Ack) -> u32 {
        self.product(self.bandwidth(), UNIT / 2, ack).max(WINDOW_MIN)
    }

    fn end_measuring(&mut self, ack: &Ack, decided: &mut Decided) {
        self.recent.at = ack.now;
        decided.cwnd = decided.cwnd.max(self.saved);
        self.clear_low();
        if self.full.reached {
            self.begin_down(ack);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    // What it decides.

    fn set_rate(&mut self, ack: &Ack, decided: &mut Decided) {
        let (gain, _) = self.gains();
        if let Some(srtt) = ack.srtt.filter(|_| !self.has_rtt) {
            self.has_rtt = true;
            let bandwidth = (u64::from(decided.cwnd) << super::BANDWIDTH_BITS) / srtt.max(1);
            decided.rate = bytes_a_second(bandwidth, STARTUP_PACING, ack.mss);
        }
        let rate = bytes_a_second(self.bandwidth(), gain, ack.mss);
        if self.full.reached || rate > decided.rate {
            decided.rate = rate;
        }
    }

    fn set_window(&mut self, ack: &Ack, decided: &mut Decided) {
        let (_, gain) = self.gains();
        if self.before >= CaState::Recovery && ack.state < CaState::Recovery {
            decided.cwnd = decided.cwnd.max(self.saved);
        }
        self.before = ack.state;
        if ack.acked > 0 {
            let extra = self.bursts.room(self.bandwidth());
            let target = self.target(gain, extra, ack);
            if self.full.reached {
                decided.cwnd = (decided.cwnd + ack.acked).min(target);
            } else if decided.cwnd < target || ack.delivered < u64::from(2 * ack.initial_window) {
                decided.cwnd += ack.acked;
            }
            decided.cwnd = decided.cwnd.max(WINDOW_MIN);
        }
        let bound = match self.mode {
            Mode::ProbeRtt => self.with_headroom().min(self.small(ack)),
            Mode::Cruise => self.with_headroom(),
            Mode::Down | Mode::Refill | Mode::Up => self.flight_high.unwrap_or(u32::MAX),
            Mode::Startup | Mode::Drain => u32::MAX,
        };
        let bound = bound.min(self.flight_low.unwrap_or(u32::MAX)).max(WINDOW_MIN);
        decided.cwnd = decided.cwnd.min(bound);
    }

    pub(super) fn save(&mut self, window: u32) {
        let anew = self.before < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.saved = if anew { window } else { self.saved.max(window) };
        self.undo = (self.bandwidth_low, self.flight_low, self.flight_high);
    }

    pub(super) fn time_out(&mut self) {
        self.before = CaState::Loss;
        if !self.full.reached {
            self.full.restart(0);
        }
        self.losses += 1;
    }

    pub(super) fn undo(&mut self, window: u32) -> u32 {
        let (bandwidth, low, high) = self.undo;
        // No bound is the largest.
        let larger = |one: Option<u32>, other: Option<u32>| one.zip(other).map(|(one, other)| one.max(other));
        self.bandwidth_low = self.bandwidth_low.zip(bandwidth).map(|(one, other)| one.max(other));
        self.flight_low = larger(self.flight_low, low);
        self.flight_high = larger(self.flight_high, high);
        self.losses = 0;
        window.max(self.saved)
    }

    pub(super) fn restart(&mut self, now: u64, mss: u32, decided: &mut Decided) {
        self.restarts = true;
        self.bursts.restart(now);
        if self.probes_bandwidth() {
            let rate = bytes_a_second(self.bandwidth(), UNIT, mss);
            if self.full.reached || rate > decided.rate {
                decided.rate = rate;
            }
        }
    }
}
