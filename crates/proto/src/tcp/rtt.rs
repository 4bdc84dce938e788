//! The round-trip time and the retransmission timeout, by RFC 6298, in whole nanoseconds.
//!
//! Karn's algorithm has two parts. The sender keeps the first: it takes no sample from data that was sent twice. The
//! second is here: a timeout that was backed off stays so until a sample comes.

use airwatt_base::Span;

use super::config::TcpConfig;

/// Estimates the round-trip time and derives the timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    /// SRTT and RTTVAR; `None` before the first sample.
    smoothed: Option<(Span, Span)>,
    /// The timeout before back-off.
    base: Span,
    /// How often the timeout is doubled.
    backoff: u32,
    granularity: Span,
    min: Span,
    max: Span,
}

impl RttEstimator {
    /// No sample yet: the timeout is the initial one (RFC 6298 section 2.1).
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            smoothed: None,
            base: config.initial_rto.min(config.max_rto),
            backoff: 0,
            granularity: config.clock_granularity,
            min: config.min_rto,
            max: config.max_rto,
        }
    }

    /// The smoothed round-trip time, once there is one.
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The mean deviation of the round-trip time, once there is one.
    pub fn rttvar(&self) -> Option<Span> {
        self.smoothed.map(|(_, rttvar)| rttvar)
    }

    /// The retransmission timeout as it stands, backed off.
    pub fn rto(&self) -> Span {
        self.backed_off(self.backoff)
    }

    /// The timeout doubled so many times, up to the largest.
    pub fn backed_off(&self, doublings: u32) -> Span {
        self.base.saturating_mul(1 << doublings.min(62)).min(self.max)
    }

    /// A sample from data that was sent once (RFC 6298 sections 2.2 and 2.3).
    pub fn sample(&mut self, rtt: Span) {
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                let error = srtt.saturating_sub(rtt).max(rtt.saturating_sub(srtt));
                ((srtt * 7 + rtt) / 8, (rttvar * 3 + error) / 4)
            }
        };
        self.smoothed = Some((srtt, rttvar));
        self.base = (srtt + self.granularity.max(rttvar * 4)).clamp(self.min, self.max);
        self.backoff = 0;
    }

    /// The timer expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(62);
    }

    /// The connection stands after a SYN was lost: the timeout is 3 s when data begins (RFC 6298 section 5.7).
    pub fn restart_after_lost_syn(&mut self) {
        if self.smoothed.is_none() {
            self.base = Span::from_secs(3).clamp(self.min, self.max);
            self.backoff = 0;
        }
    }
}
