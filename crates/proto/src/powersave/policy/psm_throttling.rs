//! PSM-Throttling: a stream that its server throttles is shaped into bursts, so that the radio sleeps in between (Tan,
//! Guo, Chen, Zhang: *PSM-throttling*, ICNP 2007, as far as the BA-TA paper describes it).
//!
//! 1. **Idle**: power save, beacons heard, what they announce fetched by PS-Polls. The first frame, either way, ends it.
//! 2. **Measuring**, 5 s in active mode: the rate at which the application delivers, and the bandwidth of the path, which is
//!    that of the fastest train of packets. A train is long enough (32 packets) for the bursts in which the access
//!    point sends, some milliseconds, to count little.
//! 3. A rate below half of the bandwidth is a stream that is throttled, and is **shaped**: once in a period the station
//!    leaves power save and grants its peer a window of rate times period, and sleeps again when that has come, or
//!    nothing more comes. The window is closed in between ([`Window`]), so the server collects what it would have sent,
//!    and the mean rate stays.
//! 4. Any other traffic is **greedy**, and gets active mode until it is over. So does an upload: no window of ours
//!    shapes it.
//!
//! The first seconds may mislead: a player fills its buffer before its stream is throttled, and a download is slow to
//! start. So the rate is that of the second half of the measurement, and the window follows: one that was not used up
//! within three quarters of a period was too large, and the next is for what came. After several that were, each further one is
//! doubled; who uses up half of the bandwidth is greedy after all. A burst in which packets came singly, because nothing
//! was waiting at the server, is followed by a longer sleep, so that something is.
//!
//! Shaping has to keep the mean rate. A download over a long path, with few round trips in a burst, does not keep its own;
//! if three bursts bring less than three quarters of what was measured, the traffic is let go as well.
//!
//! Left out: shaping connections apart from each other. The station's traffic is measured and shaped as one.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

use super::{Rules, rate_bps, within};
use crate::powersave::link::Link;
use crate::powersave::station::{StationTimer, Uplink, Window};
use crate::powersave::{BadOption, Ratio, ServiceFlags};

/// IP and TCP headers with timestamps: what a packet brings beyond the window that it uses up.
const HEADER_BYTES: u64 = 52;

/// Bursts that have to keep the mean rate together: one alone may fall between two blocks of a stream.
const BURSTS: u32 = 3;

/// Parameters of PSM-Throttling. The 5 s and the half are from the paper, the rest is ours, since it gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct PsmThrottling {
    /// How long traffic is measured.
    pub measure: Span,
    /// The share of the path's bandwidth below which traffic counts as throttled by its server.
    pub throttled_below: Ratio,
    /// Packets of a train whose rate counts as bandwidth.
    pub train: u32,
    /// Time between two bursts.
    pub period: Span,
    /// How long nothing has to come for a burst to be over. A round trip to the server has to fit.
    pub quiet: Span,
    /// From so many windows used up one after another on each further one is doubled.
    pub used_up_max: u32,
    /// The time without data after which the traffic is over.
    pub forget_after: Span,
}

impl Default for PsmThrottling {
    fn default() -> Self {
        Self {
            measure: Span::from_secs(5),
            throttled_below: Ratio::from_permille(500),
            train: 32,
            period: Span::from_secs(1),
            quiet: Span::from_millis(400),
            used_up_max: 5,
            forget_after: Span::from_secs(10),
        }
    }
}

impl PsmThrottling {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// The first option whose value is not allowed.
    pub fn check(&self) -> Result<(), BadOption> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        within("measure", self.measure, ms(100), s(600))?;
        within("throttled_below", self.throttled_below, Ratio::ZERO, Ratio::ONE)?;
        within("train", self.train, 2, 1_000)?;
        within("period", self.period, ms(100), s(60))?;
        within("quiet", self.quiet, ms(1), self.period)?;
        within("used_up_max", self.used_up_max, 1, 1_000)?;
        within("forget_after", self.forget_after, self.period, s(3_600))
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
    /// The last packets: when each came, and the bits up to and with it.
    train: VecDeque<(Instant, u64)>,
    bandwidth_bps: u64,
}

impl Measurement {
    fn new(since: Instant) -> Self {
        let train = VecDeque::new();
        Self { since, received_bits: 0, late_bits: 0, sent_bits: 0, train, bandwidth_bps: 0 }
    }

    fn received(&mut self, bits: u64, config: &PsmThrottling, now: Instant) {
        let train = config.train as usize;
        self.received_bits += bits;
        if now.saturating_since(self.since) > config.measure / 2 {
            self.late_bits += bits;
        }
        self.train.push_back((now, self.received_bits));
        if self.train.len() > train {
            self.train.pop_front();
        }
        if self.train.len() == train {
            // The first packet of a train began before its time.
            let (first, before) = self.train[0];
            let rate = rate_bps(self.received_bits - before, now.saturating_since(first));
            self.bandwidth_bps = self.bandwidth_bps.max(rate);
        }
    }
}

/// A stream that is shaped.
#[derive(Clone, Copy, Debug)]
struct Shape {
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
    /// What was measured, as bytes in a period, and the bursts that are held against it: how many, what came in them, and
    /// since when.
    measured: u64,
    bursts: u32,
    delivered: u64,
    held_since: Instant,
    /// Windows used up one after another.
    used_up: u32,
    /// The largest packet, without its headers: a smaller rest of a window is not used.
    packet_bytes: u64,
}

impl Shape {
    /// The burst is over. True if this is no stream after all.
    fn settle(&mut self, config: &PsmThrottling, now: Instant) -> bool {
        let Some((granted, left)) = self.burst.take() else { return false };
        if !self.keeps_its_rate(granted.saturating_sub(left), config.period, now) {
            return true;
        }
        let produced_in = now.saturating_since(std::mem::replace(&mut self.closed, now));
        // At the bandwidth of the path the window of the greedy takes half a period.
        let trickled = now.saturating_since(self.opened) > config.period / 4 * 3;
        if trickled || left >= self.packet_bytes.max(1) {
            self.used_up = 0;
            self.covered = now;
            let received = granted.saturating_sub(left);
            if received > 0 {
                self.window = scale(received, config.period, produced_in).max(2 * self.packet_bytes);
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

impl Shape {
    /// Whether the mean rate is still that which was measured, as far as the last bursts can tell.
    fn keeps_its_rate(&mut self, received: u64, period: Span, now: Instant) -> bool {
        self.bursts += 1;
        self.delivered += received;
        if self.bursts < BURSTS {
            return true;
        }
        let expected = scale(self.measured, now.saturating_since(self.held_since), period);
        let delivered = std::mem::take(&mut self.delivered);
        self.bursts = 0;
        self.held_since = now;
        delivered >= expected / 4 * 3
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
pub(super) struct Throttling {
    config: PsmThrottling,
    phase: Phase,
    last_data: Instant,
}

impl Throttling {
    /// Panics if an option is not allowed.
    pub(super) fn new(config: PsmThrottling) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Self { config, phase: Phase::Idle, last_data: Instant::ZERO }
    }

    /// Traffic where none was.
    fn begin(&mut self, link: &mut Link, reason: StationTimer, now: Instant) {
        link.leave_power_save(reason);
        self.phase = Phase::Measuring(Measurement::new(now));
        self.last_data = now;
        link.set_timer(StationTimer::Update, now + self.config.measure);
    }

    /// The traffic is over.
    fn end(&mut self, link: &mut Link) {
        if matches!(self.phase, Phase::Shaping(_)) {
            link.wish(Window::Open);
        }
        self.phase = Phase::Idle;
        link.stop_timer(StationTimer::Inactivity);
        link.stop_timer(StationTimer::Update);
        link.enter_power_save();
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_since(self.last_data) >= self.config.forget_after
    }

    fn measured(&mut self, link: &mut Link, now: Instant) {
        let Phase::Measuring(measurement) = &self.phase else { return };
        let Measurement { since, received_bits, late_bits, sent_bits, bandwidth_bps, .. } = *measurement;
        let half = now.saturating_since(since).saturating_sub(self.config.measure / 2);
        let rate = rate_bps(late_bits, half);
        let greedy_bps = self.config.throttled_below.of(i128::from(bandwidth_bps)) as u64;
        if rate >= greedy_bps || sent_bits >= received_bits {
            return self.stay_awake(link, now);
        }
        let bytes = |rate_bps: u64| {
            (u128::from(rate_bps) * u128::from(self.config.period.as_nanos()) / 8_000_000_000) as u64
        };
        let (window, greedy_window) = (bytes(rate), bytes(greedy_bps));
        self.phase = Phase::Shaping(Shape {
            window,
            greedy_window,
            burst: None,
            opened: now,
            closed: now,
            covered: now,
            measured: window,
            bursts: 0,
            delivered: 0,
            held_since: now,
            used_up: 0,
            packet_bytes: 0,
        });
        self.sleep(link, now + self.config.period);
    }

    fn stay_awake(&mut self, link: &mut Link, now: Instant) {
        self.phase = Phase::Greedy;
        link.leave_power_save(StationTimer::Update);
        link.stop_timer(StationTimer::Inactivity);
        link.set_timer(StationTimer::Update, (self.last_data + self.config.forget_after).max(now));
    }

    fn begin_burst(&mut self, link: &mut Link, now: Instant) {
        if self.is_over(now) {
            return self.end(link);
        }
        let Phase::Shaping(shape) = &mut self.phase else { return };
        let grant = scale(shape.window, now.saturating_since(shape.covered), self.config.period);
        shape.burst = Some((grant, grant));
        shape.opened = now;
        link.leave_power_save(StationTimer::Update);
        link.wish(Window::Grant { bytes: grant });
        link.set_timer(StationTimer::Inactivity, now + self.config.quiet);
        link.set_timer(StationTimer::Update, now + self.config.period);
    }

    fn end_burst(&mut self, link: &mut Link, now: Instant) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        if shape.settle(&self.config, now) {
            return self.let_go(link, now);
        }
        let sleep = self.config.period / 4 * 3;
        let next = (shape.opened + self.config.period).max(now + sleep);
        self.sleep(link, next);
    }

    /// Until the next burst.
    fn sleep(&mut self, link: &mut Link, until: Instant) {
        link.stop_timer(StationTimer::Inactivity);
        link.set_timer(StationTimer::Update, until);
        link.wish(Window::Grant { bytes: 0 });
        link.enter_power_save();
    }

    /// What was shaped is greedy.
    fn let_go(&mut self, link: &mut Link, now: Instant) {
        link.wish(Window::Open);
        self.stay_awake(link, now);
    }

    /// A packet of a stream that is shaped.
    fn shaped(&mut self, link: &mut Link, bytes: u32, now: Instant) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        let payload = u64::from(bytes).saturating_sub(HEADER_BYTES);
        shape.packet_bytes = shape.packet_bytes.max(payload);
        let Some((_, left)) = &mut shape.burst else { return };
        *left = left.saturating_sub(payload);
        if *left < shape.packet_bytes {
            return self.end_burst(link, now);
        }
        link.set_timer(StationTimer::Inactivity, now + self.config.quiet);
    }
}

impl Rules for Throttling {
    fn start(&mut self, link: &mut Link) {
        link.start_in_power_save();
    }

    fn beacon(&mut self, link: &mut Link, tim: bool, _now: Instant) {
        if tim && link.pm() {
            link.poll(StationTimer::Beacon);
        }
    }

    fn received(&mut self, link: &mut Link, bytes: u32, _flags: ServiceFlags, null: bool, now: Instant) {
        if null {
            return;
        }
        self.last_data = now;
        match &mut self.phase {
            Phase::Idle => self.begin(link, StationTimer::Beacon, now),
            Phase::Measuring(measurement) => measurement.received(u64::from(bytes) * 8, &self.config, now),
            Phase::Greedy => {}
            Phase::Shaping(_) => self.shaped(link, bytes, now),
        }
    }

    fn sent(&mut self, _link: &mut Link, frame: Uplink, _delivered: bool, now: Instant) {
        let Uplink::Data { bytes } = frame else { return };
        match &mut self.phase {
            Phase::Measuring(measurement) => measurement.sent_bits += u64::from(bytes) * 8,
            // An upload is traffic too; of a stream that is shaped the acknowledgements are not.
            Phase::Greedy => self.last_data = now,
            Phase::Idle | Phase::Shaping(_) => {}
        }
    }

    fn backlog(&mut self, link: &mut Link, now: Instant) {
        if link.backlog() > 0 && matches!(self.phase, Phase::Idle) {
            self.begin(link, StationTimer::Inactivity, now);
        }
    }

    fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, _now: Instant) {
        if link.pm() && last.is_some_and(|flags| flags.more_data) {
            link.poll(StationTimer::ServicePeriod);
        }
    }

    fn timer(&mut self, link: &mut Link, timer: StationTimer, now: Instant) {
        match (&self.phase, timer) {
            (Phase::Measuring(_), StationTimer::Update) => self.measured(link, now),
            (Phase::Greedy, StationTimer::Update) if self.is_over(now) && link.backlog() == 0 => {
                self.end(link)
            }
            (Phase::Greedy, StationTimer::Update) => {
                let over = self.last_data + self.config.forget_after;
                // Frames of the user that wait longer than that are no end either.
                let again = now + self.config.period;
                link.set_timer(StationTimer::Update, if over > now { over } else { again });
            }
            (Phase::Shaping(Shape { burst: None, .. }), StationTimer::Update) => self.begin_burst(link, now),
            (Phase::Shaping(_), _) => self.end_burst(link, now),
            _ => {}
        }
    }
}
