//! The round-trip time and the retransmission timeout: by RFC 6298 in whole nanoseconds, or as in 4.4BSD in whole
//! ticks.
//!
//! Karn's algorithm has two parts. The sender implements the first: it takes no sample from retransmitted data. The
//! second is here: a backed-off timeout stays backed off until the next sample.
//!
//! The coarse clock follows 4.4BSD's arithmetic (Stevens and Wright, TCP/IP Illustrated volume 2, section 25.10) as far
//! as the simulators of the year 2000 do: a sample is the number of clock ticks between transmission and
//! acknowledgement, at least one. The timer runs the whole timeout, as in these simulators; 4.4BSD counts ticks for it
//! too, which shortens it by up to one.

use airwatt_base::{Instant, Span};

use super::config::{MinRtoOf, RtoClock, TcpConfig};

/// The coarse clock doubles a timeout six times at most (4.4BSD's `tcp_backoff`).
const COARSE_DOUBLINGS_MAX: u32 = 6;
/// After more doublings than this, the coarse clock no longer trusts SRTT and moves it into RTTVAR.
const COARSE_TRUST: u32 = 3;

/// The state of the estimator.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Estimate {
    /// SRTT and RTTVAR; `None` before the first sample.
    Fine { smoothed: Option<(Span, Span)>, least_variance: Span },
    /// In ticks: SRTT times 8, zero before the first sample and after much back-off, and RTTVAR times 4.
    Coarse { tick: Span, min_ticks: u64, srtt: i64, rttvar: i64 },
}

/// Estimates the round-trip time and derives the retransmission timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    estimate: Estimate,
    /// The timeout before back-off.
    base: Span,
    /// Number of doublings of the timeout.
    backoff: u32,
    min: Span,
    max: Span,
}

impl RttEstimator {
    /// Creates an estimator without a sample, with the initial timeout (RFC 6298 section 2.1).
    pub fn new(config: &TcpConfig) -> Self {
        let (estimate, min) = match config.rto_clock {
            RtoClock::Fine => {
                let least_variance = match config.min_rto_of {
                    MinRtoOf::Timeout => config.clock_granularity,
                    MinRtoOf::Variance => config.clock_granularity.max(config.min_rto),
                };
                (Estimate::Fine { smoothed: None, least_variance }, config.min_rto)
            }
            RtoClock::Coarse => {
                let (tick, min_ticks) = (config.rto_tick, u64::from(config.rto_min_ticks));
                let least = config.min_rto.max(tick.saturating_mul(min_ticks));
                (Estimate::Coarse { tick, min_ticks, srtt: 0, rttvar: 0 }, least.min(config.max_rto))
            }
        };
        Self { estimate, base: config.initial_rto.min(config.max_rto), backoff: 0, min, max: config.max_rto }
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        match self.estimate {
            Estimate::Fine { smoothed, .. } => smoothed.map(|(srtt, _)| srtt),
            Estimate::Coarse { tick, srtt, .. } => (srtt > 0).then(|| tick * srtt as u64 / 8),
        }
    }

    /// The mean deviation of the round-trip time; `None` before the first sample.
    pub fn rttvar(&self) -> Option<Span> {
        match self.estimate {
            Estimate::Fine { smoothed, .. } => smoothed.map(|(_, rttvar)| rttvar),
            Estimate::Coarse { tick, rttvar, .. } => (rttvar > 0).then(|| tick * rttvar as u64 / 4),
        }
    }

    /// Whether only one segment is timed at a time instead of every segment.
    pub(super) fn times_one_segment(&self) -> bool {
        matches!(self.estimate, Estimate::Coarse { .. })
    }

    /// The current retransmission timeout, back-off included.
    pub fn rto(&self) -> Span {
        self.backed_off(self.backoff)
    }

    /// The timeout after this many doublings, limited to the maximum.
    pub fn backed_off(&self, doublings: u32) -> Span {
        let most = if self.times_one_segment() { COARSE_DOUBLINGS_MAX } else { 62 };
        self.base.saturating_mul(1 << doublings.min(most)).min(self.max)
    }

    /// Takes a sample from data that was sent once and is acknowledged at `now` (RFC 6298 sections 2.2 and 2.3).
    pub fn sample(&mut self, rtt: Span, now: Instant) {
        self.backoff = 0;
        let derived = match &mut self.estimate {
            Estimate::Fine { smoothed, least_variance } => {
                let (srtt, rttvar) = match *smoothed {
                    None => (rtt, rtt / 2),
                    Some((srtt, rttvar)) => {
                        let error = srtt.abs_diff(rtt);
                        ((srtt * 7 + rtt) / 8, (rttvar * 3 + error) / 4)
                    }
                };
                *smoothed = Some((srtt, rttvar));
                srtt + (*least_variance).max(rttvar * 4)
            }
            Estimate::Coarse { tick, min_ticks, srtt, rttvar } => {
                let clock = |at: Instant| at.saturating_since(Instant::ZERO).whole(*tick);
                let sent = Instant::ZERO + now.saturating_since(Instant::ZERO + rtt);
                let ticks = (clock(now) - clock(sent)).clamp(1, 1 << 32) as i64;
                sample_coarse(srtt, rttvar, ticks);
                // The stored value is four times RTTVAR.
                *tick * ((*srtt / 8 + *rttvar) as u64).max(*min_ticks)
            }
        };
        self.base = derived.clamp(self.min, self.max);
    }

    /// Doubles the timeout after the timer expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(62);
        if let Estimate::Coarse { srtt, rttvar, .. } = &mut self.estimate
            && self.backoff > COARSE_TRUST
        {
            // The timeout itself is kept; the next sample counts as the first.
            *rttvar += *srtt / 8;
            *srtt = 0;
        }
    }

    /// Sets the timeout to 3 s when the connection is established after a SYN was lost (RFC 6298 section 5.7).
    pub fn restart_after_lost_syn(&mut self) {
        if let Estimate::Fine { smoothed: None, .. } = self.estimate {
            self.base = Span::from_secs(3).clamp(self.min, self.max);
            self.backoff = 0;
        }
    }
}

/// `tcp_xmit_timer` of 4.4BSD, with a sample in whole ticks.
fn sample_coarse(srtt: &mut i64, rttvar: &mut i64, ticks: i64) {
    if *srtt == 0 {
        *srtt = ticks * 8;
        *rttvar = ticks * 2;
        return;
    }
    let error = ticks - *srtt / 8;
    *srtt = (*srtt + error).max(1);
    *rttvar = (*rttvar + error.abs() - *rttvar / 4).max(1);
}
