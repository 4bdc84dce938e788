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
//! A stream that uses up its window in several periods one after another was measured too low, or is greedy but was slow to
//! start: its rate is doubled, and beyond half of the bandwidth it counts as greedy. Without that a mistake of the first
//! seconds would throttle a download for good.
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
    /// After so many windows used up one after another the rate is doubled.
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
            used_up_max: 3,
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
    sent_bits: u64,
    /// The last packets: when each came, and the bits up to and with it.
    train: VecDeque<(Instant, u64)>,
    bandwidth_bps: u64,
}

impl Measurement {
    fn new(since: Instant) -> Self {
        Self { since, received_bits: 0, sent_bits: 0, train: VecDeque::new(), bandwidth_bps: 0 }
    }

    fn received(&mut self, bits: u64, train: usize, now: Instant) {
        self.received_bits += bits;
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
    rate_bps: u64,
    /// At this rate the traffic is greedy.
    greedy_bps: u64,
    /// What is left of the window of the burst under way.
    burst: Option<u64>,
    used_up: u32,
    /// The largest packet, without its headers: a smaller rest of a window is not used.
    packet_bytes: u64,
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
        let Measurement { since, received_bits, sent_bits, bandwidth_bps, .. } = *measurement;
        let rate = rate_bps(received_bits, now.saturating_since(since));
        let greedy_bps = self.config.throttled_below.of(i128::from(bandwidth_bps)) as u64;
        if rate >= greedy_bps || sent_bits >= received_bits {
            return self.stay_awake(link, now);
        }
        let shape = Shape { rate_bps: rate, greedy_bps, burst: None, used_up: 0, packet_bytes: 0 };
        self.phase = Phase::Shaping(shape);
        self.begin_burst(link, now);
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
        let bits = u128::from(shape.rate_bps) * u128::from(self.config.period.as_nanos()) / 1_000_000_000;
        let window = (bits / 8) as u64;
        shape.burst = Some(window);
        link.leave_power_save(StationTimer::Update);
        link.wish(Window::Grant { bytes: window });
        link.set_timer(StationTimer::Inactivity, now + self.config.quiet);
        link.set_timer(StationTimer::Update, now + self.config.period);
    }

    fn end_burst(&mut self, link: &mut Link, now: Instant, used_up: bool) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        shape.burst = None;
        shape.used_up = if used_up { shape.used_up + 1 } else { 0 };
        if shape.used_up >= self.config.used_up_max {
            shape.used_up = 0;
            shape.rate_bps = shape.rate_bps.saturating_mul(2);
            if shape.rate_bps >= shape.greedy_bps {
                link.wish(Window::Open);
                return self.stay_awake(link, now);
            }
        }
        link.stop_timer(StationTimer::Inactivity);
        link.wish(Window::Grant { bytes: 0 });
        link.enter_power_save();
    }

    /// A packet of a stream that is shaped.
    fn shaped(&mut self, link: &mut Link, bytes: u32, now: Instant) {
        let Phase::Shaping(shape) = &mut self.phase else { return };
        let payload = u64::from(bytes).saturating_sub(HEADER_BYTES);
        shape.packet_bytes = shape.packet_bytes.max(payload);
        let Some(left) = &mut shape.burst else { return };
        *left = left.saturating_sub(payload);
        if *left < shape.packet_bytes {
            return self.end_burst(link, now, true);
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
        let train = self.config.train as usize;
        match &mut self.phase {
            Phase::Idle => self.begin(link, StationTimer::Beacon, now),
            Phase::Measuring(measurement) => measurement.received(u64::from(bytes) * 8, train, now),
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
            (Phase::Shaping(_), StationTimer::Update) => self.begin_burst(link, now),
            (Phase::Shaping(_), StationTimer::Inactivity) => self.end_burst(link, now, false),
            _ => {}
        }
    }
}
