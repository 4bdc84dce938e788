//! PSM-Throttling: a stream that its server throttles is shaped into bursts, so that the radio sleeps in between (Tan,
//! Guo, Chen, Zhang: *PSM-throttling*, ICNP 2007, as far as the BA-TA paper describes it).
//!
//! 1. **Idle**: the station is in power save, receives beacons, and fetches what they announce by PS-Polls. The first frame in either
//!    direction ends this phase.
//! 2. **Measuring**: for 5 s in active mode the station measures the rate at which the application delivers, and the bandwidth that is
//!    available to it, which is the rate while its server is not silent. A TCP sender with data waits for a round trip at most, so a
//!    longer silence is that of the application. The round trip is that of the first exchange, if the station began it. The rate of the
//!    fastest packets would not do: a download whose window is too small for its path has fast trains in each round trip, and is not
//!    throttled.
//! 3. Traffic with a rate below half of the bandwidth is a stream that is throttled, and is **shaped**: once in a period the station
//!    leaves power save and grants its peer a window of rate times period. It sleeps again when that has been received, or when nothing
//!    more arrives. The window is closed in between ([`ReceiveWindow`]), so the server collects what it would have sent, and the mean rate
//!    stays.
//! 4. Any other traffic is **greedy**, and gets active mode until it ends. So does an upload, which no window of the station shapes, and
//!    a dialogue, in which the station sends more than acknowledgements: its silences are those of the station, and a user waits for the
//!    answers.
//!
//! The first seconds may mislead: a player fills its buffer before its stream is throttled, and a download is slow to start. Therefore the
//! rate is that of the second half of the measurement, and the window is adapted. A window that was not used up within three quarters
//! of a period was too large; the next one is for what was received, but not below what was measured, since a stream in blocks may have
//! none in a period. After several windows that were used up, each further one is doubled, and traffic that uses up half of the bandwidth
//! is greedy. A burst in which packets arrived one by one, because nothing was waiting at the server, is followed by a longer sleep.
//!
//! Shaping has to keep the mean rate. A download over a long path, with few round trips in a burst, does not keep its own: if three
//! bursts bring less than three quarters of what was measured, shaping ends. A burst after which nothing more arrived, although
//! there was room, is not one of these three, since the server had no more data. Ten bursts of either kind have to keep the rate;
//! otherwise the window fails for another reason, for instance because several connections share it.
//!
//! Left out: shaping connections apart from each other. The station's traffic is measured and shaped as one.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span, with_defaults};

use super::Policy;
use super::rate::rate_bps;
use crate::powersave::Ratio;
use crate::powersave::estimate::{Dozing, Estimate};
use crate::powersave::interface::{ReceiveWindow, StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};

/// Bytes of the IP and TCP headers with timestamps, which a packet has beyond the window that it uses up.
const HEADER_BYTES: u64 = 52;

/// Contention, beacons and bursts of other stations make gaps of some milliseconds, however short the round trip.
const LEAST_SILENCE: Span = Span::from_millis(20);

/// Bytes of the largest TCP acknowledgement over IPv4, options included. A larger packet has data, and counts as a request.
const LARGEST_ACK: u32 = 80;

/// Number of bursts that have to keep the mean rate together: of those that were used up, and of any kind. A single one may fall
/// between two blocks of a stream.
const BURSTS: u32 = 3;
const BURSTS_OF_ANY_KIND: u32 = 10;

with_defaults! {
    /// Parameters of PSM-Throttling. The 5 s and the half are those of the paper. The paper gives no other values; the rest is our
    /// choice.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct PsmThrottlingConfig {
        /// Duration of the measurement of traffic.
        pub measure: Span = Span::from_secs(5),
        /// The share of the path's bandwidth below which traffic counts as throttled by its server.
        pub throttled_below: Ratio = Ratio::from_permille(500),
        /// After this many round trips without a packet the application counts as silent, and not the path. If the station did not
        /// begin the exchange, no round trip is known, and `quiet` is used instead.
        pub round_trips: u32 = 3,
        /// Time between two bursts.
        pub period: Span = Span::from_secs(1),
        /// A burst ends after this time without a packet, or after `round_trips` if that is less. A round trip to the server has to
        /// fit.
        pub quiet: Span = Span::from_millis(400),
        /// After this many windows in succession that were used up, each further one is doubled.
        pub used_up_max: u32 = 5,
        /// The time without data after which the traffic is over.
        pub forget_after: Span = Span::from_secs(10),
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

/// What has been measured of the traffic in the first seconds.
#[derive(Clone, Debug)]
struct Measurement {
    since: Instant,
    received_bits: u64,
    /// Bits received in the second half.
    late_bits: u64,
    sent_bits: u64,
    /// Whether the station sent more than acknowledgements in the second half.
    asks: bool,
    /// The time at which the station's first packet was sent, if nothing had been received before, and the time that the answer
    /// took.
    asked: Option<Instant>,
    round_trip: Option<Span>,
    last: Option<Instant>,
    /// Bits received in the second half while the server was not silent, without the first packets after silences, and the time
    /// that they took.
    busy_bits: u64,
    busy: Span,
    /// The end of the last silence, and the bits received by then.
    resumed: Option<(Instant, u64)>,
    /// A cycle lasts from the end of one silence to that of the next: bits and time of the last cycle, and of all cycles in the
    /// second half.
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

    /// Returns the time without a packet after which the server counts as silent.
    fn silence(&self, config: &PsmThrottlingConfig) -> Span {
        let of_trip = |trip: Span| (trip * u64::from(config.round_trips)).max(LEAST_SILENCE);
        self.round_trip.map_or(config.quiet, of_trip)
    }

    /// Handles the end of a silence, by a packet that is not counted yet.
    fn resume(&mut self, late: Instant, now: Instant) {
        let Some((began, before)) = self.resumed.replace((now, self.received_bits)) else { return };
        let cycle = (self.received_bits - before, now.saturating_since(began));
        self.last_cycle = cycle;
        if began > late {
            self.late_cycles = (self.late_cycles.0 + cycle.0, self.late_cycles.1 + cycle.1);
        }
    }

    /// Returns the rate at which the application delivers, in bit/s: over whole cycles of data and silence if there are any.
    fn rate_bps(&self, config: &PsmThrottlingConfig, now: Instant) -> u64 {
        let half = now.saturating_since(self.since).saturating_sub(config.measure / 2);
        let (bits, time) = [self.late_cycles, self.last_cycle]
            .into_iter()
            .find(|(_, time)| !time.is_zero())
            .unwrap_or((self.late_bits, half));
        rate_bps(bits, time)
    }

    /// Returns the rate that it could reach, in bit/s; zero if packets arrived one by one.
    fn available_bps(&self) -> u64 {
        rate_bps(self.busy_bits, self.busy)
    }
}

/// A stream that is shaped.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// A burst ends after this time without a packet.
    quiet: Span,
    /// Bytes that are granted for a period.
    window: u64,
    /// Traffic that uses up this many bytes in a period is greedy.
    greedy_window: u64,
    /// Bytes granted in the burst under way, and those that are left of them.
    burst: Option<(u64, u64)>,
    /// The time at which the last burst began.
    opened: Instant,
    /// The time at which the last burst ended.
    closed: Instant,
    /// The time up to which the stream has been granted what it produced.
    covered: Instant,
    /// The measured rate in bytes a period, and the bursts that are compared with it.
    measured: u64,
    full: Account,
    any: Account,
    /// Number of windows in succession that were used up.
    used_up: u32,
    /// The largest packet, without its headers: a smaller rest of a window is not used.
    packet_bytes: u64,
}

impl Shape {
    /// Handles the end of a burst; `dry` if nothing more was received. Returns whether the traffic turned out to be no stream.
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

/// Number of bursts that have to keep the mean rate together: of those that were used up, and of any kind. A single one may fall
/// between two blocks of a stream.
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

    /// Returns whether the mean rate is still the expected one, given as bytes in a time, by the last bursts.
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

/// Returns `bytes` times `part / whole`, or `bytes` if `whole` is zero.
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
    /// Handles the first packet of new traffic.
    fn begin(&mut self, radio: &mut dyn PowerSaveRadio, reason: StationTimer, now: Instant) {
        radio.set_power_save(false, reason);
        self.phase = Phase::Measuring(Measurement::new(now));
        self.last_data = now;
        radio.set_timer(PolicyTimer::Update, Some(now + self.config.measure));
    }

    /// Handles the end of the traffic.
    fn end(&mut self, radio: &mut dyn PowerSaveRadio) {
        if matches!(self.phase, Phase::Shaping(_)) {
            radio.grant(ReceiveWindow::Open);
        }
        self.phase = Phase::Idle;
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, None);
        radio.set_power_save(true, StationTimer::Announce);
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_since(self.last_data) >= self.config.forget_after
    }

    fn measured(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
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

    fn stay_awake(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        self.phase = Phase::Greedy;
        radio.set_power_save(false, StationTimer::Update);
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, Some((self.last_data + self.config.forget_after).max(now)));
    }

    fn begin_burst(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if self.is_over(now) {
            return self.end(radio);
        }
        let Phase::Shaping(shape) = &mut self.phase else { return };
        let grant = scale(shape.window, now.saturating_since(shape.covered), self.config.period);
        shape.burst = Some((grant, grant));
        shape.opened = now;
        radio.set_power_save(false, StationTimer::Update);
        radio.grant(ReceiveWindow::Grant { bytes: grant });
        radio.set_timer(PolicyTimer::Inactivity, Some(now + shape.quiet));
        radio.set_timer(PolicyTimer::Update, Some(now + self.config.period));
    }

    /// Ends a burst; `dry` if nothing more was received.
    fn end_burst(&mut self, radio: &mut dyn PowerSaveRadio, dry: bool, now: Instant) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        if shape.settle(&self.config, dry, now) {
            return self.let_go(radio, now);
        }
        let sleep = self.config.period / 4 * 3;
        let next = (shape.opened + self.config.period).max(now + sleep);
        self.sleep(radio, next);
    }

    /// Enters power save until the next burst.
    fn sleep(&mut self, radio: &mut dyn PowerSaveRadio, until: Instant) {
        radio.set_timer(PolicyTimer::Inactivity, None);
        radio.set_timer(PolicyTimer::Update, Some(until));
        radio.grant(ReceiveWindow::Grant { bytes: 0 });
        radio.set_power_save(true, StationTimer::Announce);
    }

    /// Stops shaping: the traffic is greedy.
    fn let_go(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        radio.grant(ReceiveWindow::Open);
        self.stay_awake(radio, now);
    }

    /// Handles a packet of a stream that is shaped.
    fn shaped(&mut self, radio: &mut dyn PowerSaveRadio, bytes: u32, now: Instant) {
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

    /// Handles a packet that was received.
    fn received(&mut self, radio: &mut dyn PowerSaveRadio, bytes: u32, now: Instant) {
        self.last_data = now;
        match &mut self.phase {
            Phase::Idle => self.begin(radio, StationTimer::Beacon, now),
            Phase::Measuring(measurement) => measurement.received(u64::from(bytes) * 8, &self.config, now),
            Phase::Greedy => {}
            Phase::Shaping(_) => self.shaped(radio, bytes, now),
        }
    }

    /// Handles a packet of the user that was sent.
    fn sent(&mut self, radio: &mut dyn PowerSaveRadio, bytes: u32, now: Instant) {
        match &mut self.phase {
            Phase::Measuring(measurement) => measurement.sent(bytes, &self.config, now),
            // An upload counts as traffic; the acknowledgements of a stream that is shaped do not.
            Phase::Greedy => self.last_data = now,
            Phase::Shaping(_) if bytes > LARGEST_ACK => self.let_go(radio, now),
            Phase::Idle | Phase::Shaping(_) => {}
        }
    }

    fn timer(&mut self, radio: &mut dyn PowerSaveRadio, timer: PolicyTimer, now: Instant) {
        match (&self.phase, timer) {
            (Phase::Measuring(_), PolicyTimer::Update) => self.measured(radio, now),
            (Phase::Greedy, PolicyTimer::Update) if self.is_over(now) && radio.backlog() == 0 => {
                self.end(radio)
            }
            (Phase::Greedy, PolicyTimer::Update) => {
                let over = self.last_data + self.config.forget_after;
                // Frames of the user that wait for longer than that do not end the burst either.
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
    /// Equations take its traffic as greedy, for which it stays awake.
    const ESTIMATE: Estimate = Estimate::of_defaults(Dozing::Never);

    fn new(config: PsmThrottlingConfig, _start: Instant) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Self { config, phase: Phase::Idle, last_data: Instant::ZERO }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
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
