//! BA-TA over target wake time: the service periods of an agreement follow the path's bottleneck, as the triggers of BA-TA do.
//!
//! An access point can be asked for other periods now and then only (the firmware of ath11k adds one a second and removes one in five), so
//! BA-TA's controller, which changes its interval each second by a few percent, has nothing to act on. What it knows is used at
//! once instead: the station learns the bottleneck's rate while it is awake, asks for periods that fit it, and corrects them after
//! [`BaTaTwtConfig::renegotiate_after`] by what they have brought.
//!
//! # States
//! * *Idle*: an agreement with [`BaTaTwtConfig::idle_interval`] holds. A frame of the user, or a packet in a period, ends it.
//! * *Active*: the station is awake, as under `timeout`, and sleeps again after a time without traffic. Traffic that lasts longer than
//!   [`BaTaTwtConfig::probe`] is worth an agreement of its own.
//! * *Paced*: that agreement holds. Frames of the user are sent at once and change nothing. After
//!   [`BaTaTwtConfig::forget_after`] without a packet the station asks for the idle agreement again.
//!
//! # The agreement
//! * Its interval is the time in which the bottleneck delivers [`BURST_BITS`], between `int_min` and `int_max` ([`plan`]).
//! * Its duration is twice the time that the air needs for that, by the share of the air that the traffic took in active mode; the
//!   period ends earlier by EOSP as a rule.
//! * Its phase is that of the traffic if there is one: bursts at equal distances that the station does not acknowledge (`rhythm`) get periods at
//!   their distance that begin after them (Demand TWT). Windows of TCP come a round trip after the period that has acknowledged the last
//!   one, so that the station sets their phase itself.
//! * A path-limited download fills every period. If its throughput is below `ratio_min` of what it was in active mode, a window was too
//!   small for the interval: throughput is then a window for each interval, and the interval shrinks in proportion. If that is less than
//!   `int_min`, the station stays in active mode for `retry_after`. If the throughput is above, the interval grows by a quarter. An
//!   application that leaves a quarter of the periods empty has all it wants: the interval stays. BA-TA compares with the peak rate and
//!   takes a call for a slow path.
//!
//! Without an agreement, because the access point refuses or does not answer, the policy is `timeout`, and asks again after `retry_after`.
//!
//! Left out: several agreements, one for each rhythm, and uplink traffic, which needs no service period.

mod config;
mod rhythm;
#[cfg(test)]
mod tests;

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Span};

pub use self::config::BaTaTwtConfig;
use self::rhythm::Rhythm;
use super::Policy;
use super::estimator::PeakRate;
use super::rate::rate_bps;
use crate::powersave::Ratio;
use crate::powersave::estimate::{Dozing, Estimate, Trial};
use crate::powersave::interface::{Adaptation, AirTime, StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};
use crate::powersave::wake_agreement::{WakeAgreement, WakeProposal, WakeRequest};

/// What the bottleneck delivers in an interval at first: half of the largest window without window scaling, so that a window covers two
/// intervals (RFC 9293 3.1).
const BURST_BITS: u64 = 8 * 32_768;
/// The time over which the peak rate is measured at least, which is BA-TA's update time.
const MEASURE: Span = Span::from_millis(100);
/// The least time awake for the next frame of the access point, as under `timeout`.
const NEXT_FRAME: Span = Span::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A negotiation goes on, in which the station is awake.
    Asking,
    Idle,
    /// Since when.
    Active(Instant),
    Paced,
}

/// What the service periods of an agreement have brought since the last decision, or what active mode has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Harvest {
    since: Instant,
    bits: u64,
    /// Periods with a packet.
    filled: u64,
    /// The number of the last of these, from the beginning of the agreement.
    last: Option<u64>,
}

impl Harvest {
    const fn begin(now: Instant) -> Self {
        Self { since: now, bits: 0, filled: 0, last: None }
    }

    fn received(&mut self, bits: u64, agreement: &WakeAgreement, now: Instant) {
        let period = now.saturating_since(agreement.first).whole(agreement.request.interval);
        self.filled += u64::from(self.last.replace(period) != Some(period));
        self.bits += bits;
    }
}

/// What follows from a harvest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renegotiation {
    Keep,
    /// Another interval fits better.
    Change(Span),
    StayAwake,
}

/// The agreement that fits a path: its interval is the time in which the bottleneck delivers [`BURST_BITS`].
fn plan(config: &BaTaTwtConfig, peak_bps: u64, utilization: Ratio) -> WakeRequest {
    let nanos = u128::from(BURST_BITS) * 1_000_000_000 / u128::from(peak_bps.max(1));
    let interval = Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    request(config, interval.clamp(config.int_min, config.int_max), utilization)
}

/// The request for this interval. The traffic needs its share of the air in each; twice that leaves room for others.
fn request(config: &BaTaTwtConfig, interval: Span, utilization: Ratio) -> WakeRequest {
    let twice = utilization.of(2 * i128::from(interval.as_nanos())) as u64;
    let duration = Span::from_nanos(twice).min(interval - interval / 8).max(config.duration);
    WakeRequest::nearest(interval, duration, true)
}

/// Whether the interval fits what its periods have brought to traffic that had this rate in active mode.
fn judge(
    config: &BaTaTwtConfig,
    harvest: &Harvest,
    interval: Span,
    active_bps: u64,
    now: Instant,
) -> Renegotiation {
    let elapsed = now.saturating_since(harvest.since);
    if harvest.filled * 4 < elapsed.whole(interval) * 3 {
        return Renegotiation::Keep;
    }
    let ratio = Ratio::share(rate_bps(harvest.bits, elapsed), active_bps);
    if ratio < config.ratio_min {
        let shorter = Span::from_nanos(ratio.of(i128::from(interval.as_nanos())) as u64);
        return if shorter < config.int_min {
            Renegotiation::StayAwake
        } else {
            Renegotiation::Change(shorter)
        };
    }
    let longer = (interval + interval / 4).min(config.int_max);
    // The upper half of what is above the aim: a change has to leave room for its effect.
    let is_ample = ratio - config.ratio_min >= Ratio::ONE - ratio;
    if is_ample && longer > interval { Renegotiation::Change(longer) } else { Renegotiation::Keep }
}

/// BA-TA over target wake time.
#[derive(Clone, Debug)]
pub(in crate::powersave) struct BaTaTwt {
    config: BaTaTwtConfig,
    mode: Mode,
    agreement: Option<WakeAgreement>,
    /// Whether the last agreement was asked for traffic, and whether for its rhythm.
    for_traffic: bool,
    for_rhythm: bool,
    peak: PeakRate,
    rhythm: Rhythm,
    harvest: Harvest,
    /// The rate that the traffic had in active mode.
    active_bps: u64,
    last_data: Instant,
    /// When the access point may be asked for another agreement.
    may_ask_at: Instant,
    /// When periods for the traffic are worth another attempt.
    may_doze_at: Instant,
    /// Air time when the station became active.
    busy: Option<Span>,
    /// Share of the air that the traffic took in active mode.
    utilization: Ratio,
}

impl BaTaTwt {
    fn ask(&mut self, radio: &mut dyn PowerSaveRadio, proposal: WakeProposal, now: Instant) {
        self.may_ask_at = now + self.config.renegotiate_after;
        self.mode = Mode::Asking;
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, None);
        radio.agree_on(proposal);
    }

    fn ask_for_idle(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        (self.for_traffic, self.for_rhythm) = (false, false);
        let request = self.config.idle_request();
        self.ask(radio, WakeProposal { request, start: None }, now);
    }

    fn ask_for_traffic(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let beats = self.rhythm.beats(self.config.int_min, self.config.int_max);
        (self.for_traffic, self.for_rhythm) = (true, beats.is_some());
        let proposal = match beats {
            Some((interval, start)) => {
                let request = request(&self.config, interval, self.utilization);
                WakeProposal { request, start: Some(start) }
            }
            None => {
                let request = plan(&self.config, self.peak.bps(), self.utilization);
                WakeProposal { request, start: None }
            }
        };
        self.ask(radio, proposal, now);
    }

    /// Handles the outcome of a negotiation.
    fn agreed(&mut self, radio: &mut dyn PowerSaveRadio, agreement: Option<WakeAgreement>, now: Instant) {
        self.agreement = agreement;
        if agreement.is_none() {
            self.may_ask_at = now + self.config.retry_after;
        }
        self.sleep(radio, now);
    }

    /// Enters power save, with the agreement that holds.
    fn sleep(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        self.mode = if self.for_traffic && self.agreement.is_some() { Mode::Paced } else { Mode::Idle };
        self.harvest = Harvest::begin(now);
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, None);
        radio.set_power_save(true, StationTimer::Announce);
    }

    /// Stays awake from the first sign of traffic on.
    fn wake(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if now.saturating_since(self.last_data) >= self.config.forget_after {
            self.peak.forget();
        }
        self.mode = Mode::Active(now);
        self.harvest = Harvest::begin(now);
        self.peak.restart(now);
        self.rhythm = Rhythm::default();
        self.busy = None;
        radio.set_power_save(false, StationTimer::Inactivity);
        radio.measure_air_time();
        self.time_decision(radio, now);
        self.await_silence(radio, NEXT_FRAME, now);
    }

    /// Sets the time at which an agreement for the traffic may be asked for.
    fn time_decision(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let at = (now + self.config.probe).max(self.may_ask_at).max(self.may_doze_at);
        radio.set_timer(PolicyTimer::Update, Some(at));
    }

    fn await_silence(&self, radio: &mut dyn PowerSaveRadio, least: Span, now: Instant) {
        radio.set_timer(PolicyTimer::Inactivity, Some(now + self.config.timeout.max(least)));
    }

    /// Handles a sign of traffic.
    fn traffic(&mut self, radio: &mut dyn PowerSaveRadio, least: Span, now: Instant) {
        match self.mode {
            Mode::Idle => self.wake(radio, now),
            Mode::Active(_) => self.await_silence(radio, least, now),
            Mode::Asking | Mode::Paced => {}
        }
    }

    fn received(&mut self, radio: &mut dyn PowerSaveRadio, bytes: u32, now: Instant) {
        let bits = u64::from(bytes) * 8;
        self.peak.received(bits);
        match (self.mode, &self.agreement) {
            (Mode::Paced, Some(agreement)) => self.harvest.received(bits, agreement, now),
            (Mode::Active(_), _) => {
                self.harvest.bits += bits;
                self.rhythm.received(now);
                self.peak.emptied(now, MEASURE);
            }
            _ => {}
        }
        self.traffic(radio, NEXT_FRAME, now);
        self.last_data = now;
    }

    /// Handles the end of a service period, after which something else may be asked for.
    fn period_ended(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let (Mode::Paced, Some(agreement)) = (self.mode, self.agreement) else { return };
        if now < self.may_ask_at {
            return;
        }
        if now.saturating_since(self.last_data) >= self.config.forget_after {
            return self.ask_for_idle(radio, now);
        }
        if self.for_rhythm || now.saturating_since(self.harvest.since) < self.config.renegotiate_after {
            return;
        }
        let harvest = std::mem::replace(&mut self.harvest, Harvest::begin(now));
        match judge(&self.config, &harvest, agreement.request.interval, self.active_bps, now) {
            Renegotiation::Keep => {}
            Renegotiation::Change(interval) => {
                let request = request(&self.config, interval, self.utilization);
                self.ask(radio, WakeProposal { request, start: None }, now);
            }
            Renegotiation::StayAwake => {
                self.may_doze_at = now + self.config.retry_after;
                self.wake(radio, now);
            }
        }
    }

    /// Handles the air time: at the beginning of active mode, and when its end is due.
    fn air_time(&mut self, radio: &mut dyn PowerSaveRadio, air_time: AirTime, now: Instant) {
        let Mode::Active(since) = self.mode else { return };
        let Some(before) = self.busy else {
            self.busy = Some(air_time.total());
            return;
        };
        let spent = air_time.total().saturating_sub(before);
        let elapsed = now.saturating_since(since);
        self.utilization = Ratio::share(spent.as_nanos(), elapsed.as_nanos());
        self.active_bps = rate_bps(self.harvest.bits, elapsed);
        self.ask_for_traffic(radio, now);
    }

    /// Handles the time at which an agreement for the traffic may be asked for.
    fn decision_is_due(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if self.peak.bps() > 0 {
            radio.measure_air_time();
        } else {
            self.time_decision(radio, now);
        }
    }
}

impl Policy for BaTaTwt {
    type Config = BaTaTwtConfig;
    const NEEDS: Abilities = Abilities::SWITCH
        .and(Abilities::WAKE_AGREEMENT)
        .and(Abilities::SEE_SERVICE)
        .and(Abilities::SEE_TIM)
        .and(Abilities::SEE_AIR_TIME);
    /// What traffic gets it adapts by itself; what it costs without, and how long the first packet waits, is a choice.
    const ESTIMATE: Estimate = Estimate {
        dozing: Dozing::Adaptive,
        trials: &[
            Trial::of("idle_interval", Span::from_millis(200)),
            Trial::of("idle_interval", Span::from_secs(1)),
            Trial::of("idle_interval", Span::from_secs(10)),
        ],
    };

    fn new(config: BaTaTwtConfig, start: Instant) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Self {
            config,
            mode: Mode::Asking,
            agreement: None,
            for_traffic: false,
            for_rhythm: false,
            peak: PeakRate::new(start),
            rhythm: Rhythm::default(),
            harvest: Harvest::begin(start),
            active_bps: 0,
            last_data: start,
            may_ask_at: start,
            may_doze_at: start,
            busy: None,
            utilization: Ratio::ZERO,
        }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start => {
                self.ask_for_idle(radio, now);
                self.may_ask_at = now;
            }
            Fact::Agreed { agreement } => self.agreed(radio, agreement, now),
            Fact::Received { bytes, service, null } => {
                if !null {
                    self.received(radio, bytes, now);
                }
                if service.is_some_and(|flags| flags.eosp && !flags.more_data) {
                    self.peak.emptied(now, MEASURE);
                }
            }
            Fact::Sent { frame: Uplink::Data { .. }, .. } => {
                self.rhythm.sent();
                self.traffic(radio, Span::ZERO, now);
            }
            Fact::Backlog if radio.backlog() > 0 => self.traffic(radio, Span::ZERO, now),
            Fact::ServiceEnded { last } => {
                if last.is_some() {
                    radio.end_wake_period();
                }
                self.period_ended(radio, now);
            }
            // Without an agreement, or after a period that the access point did not serve. Periods for traffic are near enough, and their
            // trigger may meet a beacon.
            Fact::Beacon { tim: true } if radio.in_power_save() && self.mode != Mode::Paced => {
                self.wake(radio, now);
            }
            Fact::AirTime(air_time) => self.air_time(radio, air_time, now),
            Fact::Timer(PolicyTimer::Update) => self.decision_is_due(radio, now),
            Fact::Timer(_) if radio.backlog() > 0 => self.await_silence(radio, NEXT_FRAME, now),
            Fact::Timer(_) => self.sleep(radio, now),
            _ => {}
        }
    }

    fn adaptation(&self, radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        Some(Adaptation {
            interval: self
                .agreement
                .map_or(self.config.idle_interval, |agreement| agreement.request.interval),
            peak_bps: self.peak.bps(),
            application_bps: None,
            throughput_bps: 0,
            active: !radio.in_power_save(),
        })
    }
}
