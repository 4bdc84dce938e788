//! The number of packets that may be in flight: the window management of the thesis, and the detector with which the
//! thesis compares it.
//!
//! A wireless link loses packets in two ways. Static noise destroys single packets and requires a small reduction; a
//! burst error destroys all packets for some time and requires the sender to stop. The number of packets that one
//! acknowledgement shows to be lost distinguishes them, and a timeout always counts as a burst.
//!
//! The earlier detector dates each burst, remembers the lengths of the last ones, and in a burst that it predicts to be
//! long keeps almost silent until the predicted end. The thesis found no gain, so it is off by default. The thesis
//! describes it in words; this module is one interpretation.
//!
//! Left out: congestion, because there is only one hop.

use airwatt_base::{Instant, Span};

use super::config::{BurstReaction, DetectorConfig, E2tcpConfig, Increase, WindowField};

/// The state of the link that an acknowledgement or a timeout indicates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// Number of packets newly found lost.
    pub(super) errors: u32,
    /// Time at which the first of the missing packets was sent: the assumed beginning of the burst.
    pub(super) since: Instant,
    pub(super) now: Instant,
    /// The mean round-trip time; `None` before the first sample.
    pub(super) rtt: Option<Span>,
}

/// The window in packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SendWindow {
    pub(super) size: u32,
    max: u32,
    configured_max: u32,
    /// Packets that the peer's window has room for.
    offered: u32,
    /// Whether the largest window is learned from the hop.
    learns: bool,
    min: u32,
    after_timeout: u32,
    error_limit: u32,
    increase: Increase,
    increase_every: u32,
    increase_step: u32,
    decrease_step: u32,
    field: WindowField,
    /// Acknowledgements without errors since the window last grew.
    acks_without_errors: u32,
    detector: Option<BurstDetector>,
}

impl SendWindow {
    pub(super) fn new(config: &E2tcpConfig) -> Self {
        Self {
            size: config.min_window,
            max: config.max_window,
            configured_max: config.max_window,
            offered: config.assumed_window / u32::from(config.payload),
            learns: config.learn_window,
            min: config.min_window,
            after_timeout: config.after_timeout,
            error_limit: config.error_limit,
            increase: config.increase,
            increase_every: config.increase_every,
            increase_step: config.increase_step,
            decrease_step: config.decrease_step,
            field: config.window_field,
            acks_without_errors: 0,
            detector: match config.burst_reaction {
                BurstReaction::Windows => None,
                BurstReaction::Detector(settings) => Some(BurstDetector::new(settings)),
            },
        }
    }

    pub(super) fn max(&self) -> u32 {
        self.max
    }

    pub(super) fn is_burst(&self, errors: u32) -> bool {
        errors > self.error_limit
    }

    pub(super) fn burst_state(&self) -> Option<BurstState> {
        self.detector.as_ref().map(|detector| detector.state)
    }

    /// The predicted end of the current burst; `None` without a prediction.
    pub(super) fn burst_end(&self) -> Option<Instant> {
        match self.detector.as_ref()?.state {
            BurstState::Burst { until, .. } => until,
            BurstState::Normal | BurstState::Possible => None,
        }
    }

    /// Limits the window to this many packets, by the peer's window field. The limit is at least one, because the limit
    /// in bytes handles a window below one packet.
    pub(super) fn limit(&mut self, packets: u32) {
        self.offered = packets;
        self.max = match self.field {
            // What is learned replaces it with the next round trip.
            _ if self.learns => packets.min(self.max.max(self.configured_max)),
            WindowField::Replaces => packets,
            WindowField::Caps => packets.min(self.configured_max),
        }
        .max(1);
        self.size = self.size.min(self.max);
    }

    /// Sets the largest window to what the hop is found to hold, if it is to be learned.
    pub(super) fn learn(&mut self, packets: u32) {
        if self.learns {
            self.max = packets.max(self.configured_max).min(self.offered).max(1);
            self.size = self.size.min(self.max);
        }
    }

    /// Adapts the window after an acknowledgement.
    pub(super) fn on_ack(&mut self, report: Report) {
        let short = self.notify_detector(report, self.is_burst(report.errors));
        if report.errors == 0 {
            self.grow();
        } else if !self.is_burst(report.errors) {
            self.shrink(report.errors);
        } else if short == Some(true) {
            self.shrink(1);
        } else {
            // A burst never increases the window: after a timeout it may lie below the minimum.
            self.size = self.size.min(self.min);
        }
        self.apply_tiny_window();
    }

    /// Adapts the window after a timeout.
    pub(super) fn on_timeout(&mut self, report: Report) {
        if self.notify_detector(report, true) == Some(true) {
            self.shrink(1);
        } else {
            self.size = self.after_timeout.min(self.max);
        }
        self.apply_tiny_window();
    }

    /// The last timeout came too early: the window is what it was before.
    pub(super) fn restore(&mut self, size: u32) {
        self.size = self.size.max(size.min(self.max));
    }

    /// The predicted end of the burst was reached.
    pub(super) fn on_burst_end(&mut self) {
        if let Some(detector) = &mut self.detector {
            detector.state = BurstState::Possible;
            self.size = self.min.min(self.max);
        }
    }

    fn grow(&mut self) {
        self.acks_without_errors += 1;
        let needed = match self.increase {
            Increase::PerAck => self.increase_every,
            Increase::PerWindow => self.size,
        };
        if self.acks_without_errors >= needed {
            self.acks_without_errors = 0;
            self.size = self.size.saturating_add(self.increase_step).min(self.max);
        }
    }

    /// Reduces the window after static noise, down to the minimum. A window below the minimum is kept.
    fn shrink(&mut self, errors: u32) {
        let floor = self.size.min(self.min);
        self.acks_without_errors = 0;
        self.size = self.size.saturating_sub(errors.saturating_mul(self.decrease_step)).max(floor);
    }

    /// Passes a report to the detector. Returns whether the current burst is predicted to be short; `None` without a
    /// detector or a burst.
    fn notify_detector(&mut self, report: Report, burst: bool) -> Option<bool> {
        let detector = self.detector.as_mut()?;
        if burst {
            return Some(detector.on_burst(report));
        }
        if report.errors > 0 {
            detector.on_few_errors()
        } else {
            detector.on_no_errors(report.now)
        }
        None
    }

    fn apply_tiny_window(&mut self) {
        if let Some(detector) = &self.detector
            && let BurstState::Burst { short: false, .. } = detector.state
        {
            self.size = detector.settings.tiny_window.min(self.max);
        }
    }
}

/// The state of the link, as the earlier detector estimates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstState {
    /// There is at most static noise.
    Normal,
    /// A few errors occurred: a burst may have begun, or may be ending.
    Possible,
    /// There is a burst.
    Burst {
        /// Assumed beginning of the burst.
        start: Instant,
        /// Whether it is predicted to be over soon.
        short: bool,
        /// Predicted end, if the burst is long and there is a prediction.
        until: Option<Instant>,
    },
}

/// The earlier burst-error detector.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BurstDetector {
    settings: DetectorConfig,
    state: BurstState,
    /// Lengths of the last bursts, the oldest first.
    lengths: Vec<Span>,
    /// Beginning of a burst that outlasted its predicted end.
    unfinished: Option<Instant>,
}

impl BurstDetector {
    fn new(settings: DetectorConfig) -> Self {
        Self { settings, state: BurstState::Normal, lengths: Vec::new(), unfinished: None }
    }

    /// Processes many errors or a timeout. Returns whether the burst is predicted to be short.
    fn on_burst(&mut self, report: Report) -> bool {
        if let BurstState::Burst { short, .. } = self.state {
            return short;
        }
        // A burst that outlasts its prediction is the same burst.
        let start = self.unfinished.take().unwrap_or(report.since).min(report.now);
        let predicted = self.predicted();
        let limit = report.rtt.map(|rtt| rtt.saturating_mul(u64::from(self.settings.short_round_trips)));
        let short = predicted.is_some_and(|length| limit.is_some_and(|limit| length <= limit));
        // A predicted end in the past is ignored.
        let until = predicted
            .filter(|_| !short)
            .map(|length| start.saturating_add(length))
            .filter(|until| *until > report.now);
        if until.is_some() {
            self.unfinished = Some(start);
        }
        self.state = BurstState::Burst { start, short, until };
        short
    }

    fn on_few_errors(&mut self) {
        if self.state == BurstState::Normal {
            self.state = BurstState::Possible;
        }
    }

    /// Processes an acknowledgement without errors: it ends a burst, whose length is then known.
    fn on_no_errors(&mut self, now: Instant) {
        let start = match self.state {
            BurstState::Burst { start, .. } => Some(start),
            BurstState::Normal | BurstState::Possible => self.unfinished,
        };
        self.unfinished = None;
        self.state = BurstState::Normal;
        if let Some(start) = start {
            if self.lengths.len() >= usize::from(self.settings.history) {
                self.lengths.remove(0);
            }
            self.lengths.push(now.saturating_since(start));
        }
    }

    /// The mean of the last lengths; `None` until enough are known.
    fn predicted(&self) -> Option<Span> {
        let known = self.lengths.len();
        let sum = self.lengths.iter().fold(Span::ZERO, |sum, length| sum.saturating_add(*length));
        (known >= usize::from(self.settings.history)).then(|| sum / known as u64)
    }
}
