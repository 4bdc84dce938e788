//! PSM-Throttling: a stream that its server throttles is shaped into bursts, so that the radio sleeps in between (Tan,
//! Guo, Chen, Zhang: *PSM-throttling*, ICNP 2007, as far as the BA-TA paper describes it).
//!
//! 1. **Idle**: power save, beacons heard, what they announce fetched by PS-Polls. The first frame, either way, ends it.
//! 2. **Measuring**, 5 s in active mode: the rate at which the application delivers, and the bandwidth that is available to
//!    it, which is the rate while its server is not silent. TCP that has data waits for a round trip at most, so a
//!    longer silence is the application's. The round trip is that of the first exchange, if the station began it. The
//!    rate of the fastest packets would not do: a download whose window is too small for its path has fast trains in
//!    each round trip, and is not throttled.
//! 3. A rate below half of the bandwidth is a stream that is throttled, and is **shaped**: once in a period the station
//!    leaves power save and grants its peer a window of rate times period, and sleeps again when that has come, or
//!    nothing more comes. The window is closed in between ([`Window`]), so the server collects what it would have sent,
//!    and the mean rate stays.
//! 4. Any other traffic is **greedy**, and gets active mode until it is over. So does an upload: no window of ours
//!    shapes it. So does a dialogue, in which the station sends more than acknowledgements: its silences are its own, and
//!    somebody waits for the answers.
//!
//! The first seconds may mislead: a player fills its buffer before its stream is throttled, and a download is slow to
//! start. So the rate is that of the second half of the measurement, and the window follows: one that was not used up
//! within three quarters of a period was too large, and the next is for what came, but not below what was measured: a
//! stream in blocks may have none in a period. After several that were, each further one is
//! doubled; who uses up half of the bandwidth is greedy after all. A burst in which packets came singly, because nothing
//! was waiting at the server, is followed by a longer sleep, so that something is.
//!
//! Shaping has to keep the mean rate. A download over a long path, with few round trips in a burst, does not keep its own;
//! if three bursts bring less than three quarters of what was measured, the traffic is let go as well. A burst after which
//! nothing more came, although there was room, is not one of these three: then the server had nothing. Ten bursts of either
//! kind have to keep the rate, or the window is no good for another reason, as where several connections share it.
//!
//! Left out: shaping connections apart from each other. The station's traffic is measured and shaped as one.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span};

use super::{Policy, rate_bps};
use crate::powersave::Ratio;
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, Radio};
use crate::powersave::station::{StationTimer, Uplink, Window};

/// IP and TCP headers with timestamps: what a packet brings beyond the window that it uses up.
const HEADER_BYTES: u64 = 52;

/// Contention, beacons and bursts of other stations make gaps of some milliseconds, however short the round trip.
const LEAST_SILENCE: Span = Span::from_millis(20);

/// The largest TCP acknowledgement over IPv4, options included: a larger packet has data, and asks for something.
const LARGEST_ACK: u32 = 80;

/// Bursts that have to keep the mean rate together, used up and of any kind: one alone may fall between two blocks of a stream.
const BURSTS: u32 = 3;
const BURSTS_OF_ANY_KIND: u32 = 10;

/// Parameters of PSM-Throttling. The 5 s and the half are from the paper, the rest is ours, since it gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PsmThrottlingConfig {
    /// How long traffic is measured.
    pub measure: Span,
    /// The share of the path's bandwidth below which traffic counts as throttled by its server.
    pub throttled_below: Ratio,
    /// From so many round trips on without a packet the application is silent, not the path. Where the station did not
    /// begin, and so knows no round trip, from `quiet` on.
    pub round_trips: u32,
    /// Time between two bursts.
    pub period: Span,
    /// How long nothing has to come for a burst to be over, where `round_trips` do not say less. A round trip to the server
    /// has to fit.
    pub quiet: Span,
    /// From so many windows used up one after another on each further one is doubled.
    pub used_up_max: u32,
    /// The time without data after which the traffic is over.
    pub forget_after: Span,
}

impl Default for PsmThrottlingConfig {
    fn default() -> Self {
        Self {
            measure: Span::from_secs(5),
            throttled_below: Ratio::from_permille(500),
            round_trips: 3,
            period: Span::from_secs(1),
            quiet: Span::from_millis(400),
            used_up_max: 5,
            forget_after: Span::from_secs(10),
        }
    }
}

impl Settings for PsmThrottlingConfig {
    fn check(&self) -> Result<(), SettingError> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        in_range("measure", self.measure, ms(100), s(600))?;
        in_range("throttled_below", self.throttled_below, Ratio::ZERO, Ratio::ONE)?;
        in_range("round_trips", self.round_trips, 1, 1_000)?;
        in_range("period", self.period, ms(100), s(60))?;
        in_range("quiet", self.quiet, ms(1), self.period)?;
        in_range("used_up_max", self.used_up_max, 1, 1_000)?;
        in_range("forget_after", self.forget_after, self.period, s(3_600))
    }
}

/// What is known of the traffic in the first seconds.
#[derive(Clone, Debug)]
struct Measurement {
    since: Instant,
    received_bits: u64,
    /// Those of the second half.
    late_bits: u64,
    sent_bits: u64,
    /// The station sent more than acknowledgements in the second half.
    asks: bool,
    /// When the station's first packet was sent, if nothing had come before, and how long the answer took.
    asked: Option<Instant>,
    round_trip: Option<Span>,
    last: Option<Instant>,
    /// What came in the second half while the server was not silent, first packets after silences apart, and how long it
    /// took.
    busy_bits: u64,
    busy: Span,
    /// When a silence last ended, and the bits that had come by then.
    resumed: Option<(Instant, u64)>,
    /// From the end of one silence to that of another: bits and time of the last, and of all in the second half.
    last_cycle: (u64, Span),
    late_cycles: (u64, Span),
}

impl Measurement {
    fn new(since: Instant) -> Self {
        Self {
            since,
            received_bits: 0,
            late_bits: 0,
            sent_bits: 0,
            asks: false,
            asked: None,
            round_trip: None,
            last: None,
            busy_bits: 0,
            busy: Span::ZERO,
            resumed: None,
            last_cycle: (0, Span::ZERO),
            late_cycles: (0, Span::ZERO),
        }
    }

    fn sent(&mut self, bytes: u32, config: &PsmThrottlingConfig, now: Instant) {
        self.sent_bits += u64::from(bytes) * 8;
        self.asks |= bytes > LARGEST_ACK && now > self.since + config.measure / 2;
        if self.received_bits == 0 {
            self.asked.get_or_insert(now);
        }
    }

    fn received(&mut self, bits: u64, config: &PsmThrottlingConfig, now: Instant) {
        let late = self.since + config.measure / 2;
        if self.received_bits == 0 {
            self.round_trip = self.asked.map(|asked| now.saturating_since(asked));
        }
        let silence = self.silence(config);
        match self.last.replace(now).map(|last| now.saturating_since(last)) {
            Some(gap) if gap <= silence && now > late => {
                self.busy_bits += bits;
                self.busy += gap;
            }
            Some(gap) if gap > silence => self.resume(late, now),
            _ => {}
        }
        self.received_bits += bits;
        if now > late {
            self.late_bits += bits;
        }
    }

    /// How long nothing has to come for the server to be silent.
    fn silence(&self, config: &PsmThrottlingConfig) -> Span {
        let of_trip = |trip: Span| (trip * u64::from(config.round_trips)).max(LEAST_SILENCE);
        self.round_trip.map_or(config.quiet, of_trip)
    }

    /// A silence ends with a packet that is not counted yet.
    fn resume(&mut self, late: Instant, now: Instant) {
        let Some((began, before)) = self.resumed.replace((now, self.received_bits)) else { return };
        let cycle = (self.received_bits - before, now.saturating_since(began));
        self.last_cycle = cycle;
        if began > late {
            self.late_cycles = (self.late_cycles.0 + cycle.0, self.late_cycles.1 + cycle.1);
        }
    }

    /// What the application delivers, in bit/s: by whole cycles of data and silence where there are any.
    fn rate_bps(&self, config: &PsmThrottlingConfig, now: Instant) -> u64 {
        let half = now.saturating_since(self.since).saturating_sub(config.measure / 2);
        let (bits, time) = [self.late_cycles, self.last_cycle]
            .into_iter()
            .find(|(_, time)| !time.is_zero())
            .unwrap_or((self.late_bits, half));
        rate_bps(bits, time)
    }

    /// What it could deliver, in bit/s; zero if packets came one by one.
    fn available_bps(&self) -> u64 {
        rate_bps(self.busy_bits, self.busy)
    }
}

/// A stream that is shaped.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// How long nothing has to come for a burst to be over.
    quiet: Span,
    /// What is granted for a period, in bytes.
    window: u64,
    /// Who uses up so much in a period is greedy.
    greedy_window: u64,
    /// What was granted in the burst under way, and what is left of it.
    burst: Option<(u64, u64)>,
    /// When the last burst began.
    opened: Instant,
    /// When the last burst ended.
    closed: Instant,
    /// Up to when the stream has been granted what it produced.
    covered: Instant,
    /// What was measured, as bytes in a period, and the bursts that are held against it.
    measured: u64,
    full: Account,
    any: Account,
    /// Windows used up one after another.
    used_up: u32,
    /// The largest packet, without its headers: a smaller rest of a window is not used.
    packet_bytes: u64,
}

impl Shape {
    /// The burst is over; `dry` if nothing more came. True if this is no stream after all.
    fn settle(&mut self, config: &PsmThrottlingConfig, dry: bool, now: Instant) -> bool {
        let Some((granted, left)) = self.burst.take() else { return false };
        let received = granted.saturating_sub(left);
        let expected = (self.measured, config.period);
        if dry {
            self.full = Account::new(BURSTS, now);
        } else if !self.full.keeps(received, expected, now) {
            return true;
        }
        if !self.any.keeps(received, expected, now) {
            return true;
        }
        let produced_in = now.saturating_since(std::mem::replace(&mut self.closed, now));
        // At the bandwidth of the path the window of the greedy takes half a period.
        let trickled = now.saturating_since(self.opened) > config.period / 4 * 3;
        if trickled || left >= self.packet_bytes.max(1) {
            self.used_up = 0;
            self.covered = now;
            if received > 0 {
                self.window = scale(received, config.period, produced_in).max(self.measured);
            }
            return false;
        }
        self.used_up += 1;
        self.covered = self.opened;
        if self.used_up < config.used_up_max {
            return false;
        }
        let greedy = self.window >= self.greedy_window;
        self.window = self.window.saturating_mul(2).min(self.greedy_window);
        greedy
    }
}

/// Bursts that have to keep the mean rate together.
#[derive(Clone, Copy, Debug)]
struct Account {
    of: u32,
    bursts: u32,
    delivered: u64,
    since: Instant,
}

impl Account {
    fn new(of: u32, since: Instant) -> Self {
        Self { of, bursts: 0, delivered: 0, since }
    }

    /// Whether the mean rate is still the expected one, bytes in a time, as far as the last bursts can tell.
    fn keeps(&mut self, received: u64, expected: (u64, Span), now: Instant) -> bool {
        self.bursts += 1;
        self.delivered += received;
        if self.bursts < self.of {
            return true;
        }
        let wanted = scale(expected.0, now.saturating_since(self.since), expected.1);
        let delivered = self.delivered;
        *self = Self::new(self.of, now);
        delivered >= wanted / 4 * 3
    }
}

/// So many bytes times `part / whole`; as they are where that has no value.
fn scale(bytes: u64, part: Span, whole: Span) -> u64 {
    let scaled = (u128::from(bytes) * u128::from(part.as_nanos())).checked_div(u128::from(whole.as_nanos()));
    scaled.and_then(|scaled| u64::try_from(scaled).ok()).unwrap_or(bytes)
}

#[derive(Clone, Debug)]
enum Phase {
    Idle,
    Measuring(Measurement),
    Greedy,
    Shaping(Shape),
}

#[derive(Clone, Debug)]
pub(in crate::powersave) struct PsmThrottling {
    config: PsmThrottlingConfig,
    phase: Phase,
    last_data: Instant,
}

impl PsmThrottling {
    /// Traffic where none was.
    fn begin(&mut self, radio: &mut dyn Radio, reason: StationTimer, now: Instant) {
        radio.set_power_save(false, reason);
        self.phase = Phase::Measuring(Measurement::new(now));
        self.last_data = now;
        radio.set_timer(PolicyTimer::Update, Some(now + self.config.measure));
    }

    /// The traffic is over.
    fn end(&mut self, radio: &mut dyn Radio) {
        if matches!(self.phase, Phase::Shaping(_)) {
            radio.grant(Window::Open);
        }
        self.phase = Phase::Idle;
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, None);
        radio.set_power_save(true, StationTimer::Announce);
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_since(self.last_data) >= self.config.forget_after
    }

    fn measured(&mut self, radio: &mut dyn Radio, now: Instant) {
        let Phase::Measuring(measurement) = &self.phase else { return };
        let rate = measurement.rate_bps(&self.config, now);
        let greedy_bps = self.config.throttled_below.of(i128::from(measurement.available_bps())) as u64;
        if rate >= greedy_bps || measurement.asks || measurement.sent_bits >= measurement.received_bits {
            return self.stay_awake(radio, now);
        }
        let bytes = |rate_bps: u64| {
            (u128::from(rate_bps) * u128::from(self.config.period.as_nanos()) / 8_000_000_000) as u64
        };
        let (window, greedy_window) = (bytes(rate), bytes(greedy_bps));
        let quiet = measurement.silence(&self.config).min(self.config.quiet);
        self.phase = Phase::Shaping(Shape {
            quiet,
            window,
            greedy_window,
            burst: None,
            opened: now,
            closed: now,
            covered: now,
            measured: window,
            full: Account::new(BURSTS, now),
            any: Account::new(BURSTS_OF_ANY_KIND, now),
            used_up: 0,
            packet_bytes: 0,
        });
        self.sleep(radio, now + self.config.period);
    }

    fn stay_awake(&mut self, radio: &mut dyn Radio, now: Instant) {
        self.phase = Phase::Greedy;
        radio.set_power_save(false, StationTimer::Update);
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, Some((self.last_data + self.config.forget_after).max(now)));
    }

    fn begin_burst(&mut self, radio: &mut dyn Radio, now: Instant) {
        if self.is_over(now) {
            return self.end(radio);
        }
        let Phase::Shaping(shape) = &mut self.phase else { return };
        let grant = scale(shape.window, now.saturating_since(shape.covered), self.config.period);
        shape.burst = Some((grant, grant));
        shape.opened = now;
        radio.set_power_save(false, StationTimer::Update);
        radio.grant(Window::Grant { bytes: grant });
        radio.set_timer(PolicyTimer::Inactivity, Some(now + shape.quiet));
        radio.set_timer(PolicyTimer::Update, Some(now + self.config.period));
    }

    /// The burst is over; `dry` if nothing more came.
    fn end_burst(&mut self, radio: &mut dyn Radio, dry: bool, now: Instant) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        if shape.settle(&self.config, dry, now) {
            return self.let_go(radio, now);
        }
        let sleep = self.config.period / 4 * 3;
        let next = (shape.opened + self.config.period).max(now + sleep);
        self.sleep(radio, next);
    }

    /// Until the next burst.
    fn sleep(&mut self, radio: &mut dyn Radio, until: Instant) {
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, Some(until));
        radio.grant(Window::Grant { bytes: 0 });
        radio.set_power_save(true, StationTimer::Announce);
    }

    /// What was shaped is greedy.
    fn let_go(&mut self, radio: &mut dyn Radio, now: Instant) {
        radio.grant(Window::Open);
        self.stay_awake(radio, now);
    }

    /// A packet of a stream that is shaped.
    fn shaped(&mut self, radio: &mut dyn Radio, bytes: u32, now: Instant) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        let payload = u64::from(bytes).saturating_sub(HEADER_BYTES);
        shape.packet_bytes = shape.packet_bytes.max(payload);
        let Some((_, left)) = &mut shape.burst else { return };
        *left = left.saturating_sub(payload);
        if *left < shape.packet_bytes {
            return self.end_burst(radio, false, now);
        }
        let quiet = shape.quiet;
        radio.set_timer(PolicyTimer::Inactivity, Some(now + quiet));
    }

    /// Handles a packet that came.
    fn received(&mut self, radio: &mut dyn Radio, bytes: u32, now: Instant) {
        self.last_data = now;
        match &mut self.phase {
            Phase::Idle => self.begin(radio, StationTimer::Beacon, now),
            Phase::Measuring(measurement) => measurement.received(u64::from(bytes) * 8, &self.config, now),
            Phase::Greedy => {}
            Phase::Shaping(_) => self.shaped(radio, bytes, now),
        }
    }

    /// Handles a packet of the user that left.
    fn sent(&mut self, radio: &mut dyn Radio, bytes: u32, now: Instant) {
        match &mut self.phase {
            Phase::Measuring(measurement) => measurement.sent(bytes, &self.config, now),
            // An upload is traffic too; of a stream that is shaped the acknowledgements are not.
            Phase::Greedy => self.last_data = now,
            Phase::Shaping(_) if bytes > LARGEST_ACK => self.let_go(radio, now),
            Phase::Idle | Phase::Shaping(_) => {}
        }
    }

    fn timer(&mut self, radio: &mut dyn Radio, timer: PolicyTimer, now: Instant) {
        match (&self.phase, timer) {
            (Phase::Measuring(_), PolicyTimer::Update) => self.measured(radio, now),
            (Phase::Greedy, PolicyTimer::Update) if self.is_over(now) && radio.backlog() == 0 => {
                self.end(radio)
            }
            (Phase::Greedy, PolicyTimer::Update) => {
                let over = self.last_data + self.config.forget_after;
                // Frames of the user that wait longer than that are no end either.
                let again = now + self.config.period;
                radio.set_timer(PolicyTimer::Update, Some(if over > now { over } else { again }));
            }
            (Phase::Shaping(Shape { burst: None, .. }), PolicyTimer::Update) => self.begin_burst(radio, now),
            (Phase::Shaping(_), _) => self.end_burst(radio, timer == PolicyTimer::Inactivity, now),
            _ => {}
        }
    }
}

impl Policy for PsmThrottling {
    type Config = PsmThrottlingConfig;
    const NEEDS: Abilities =
        Abilities::SWITCH.and(Abilities::POLL).and(Abilities::GRANT).and(Abilities::SEE_TIM);

    fn new(config: PsmThrottlingConfig, _start: Instant) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Self { config, phase: Phase::Idle, last_data: Instant::ZERO }
    }

    fn fact(&mut self, radio: &mut dyn Radio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start => radio.set_power_save(true, StationTimer::Announce),
            Fact::Beacon { tim: true } if radio.in_power_save() => radio.poll(StationTimer::Beacon),
            Fact::Received { bytes, null: false, .. } => self.received(radio, bytes, now),
            Fact::Sent { frame: Uplink::Data { bytes }, .. } => self.sent(radio, bytes, now),
            Fact::Backlog if radio.backlog() > 0 && matches!(self.phase, Phase::Idle) => {
                self.begin(radio, StationTimer::Inactivity, now);
            }
            Fact::ServiceEnded { last: Some(flags) } if flags.more_data && radio.in_power_save() => {
                radio.poll(StationTimer::ServicePeriod);
            }
            Fact::Timer(timer) => self.timer(radio, timer, now),
            _ => {}
        }
    }
}
