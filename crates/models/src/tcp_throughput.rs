//! Steady throughput of one TCP connection with random losses.
//!
//! J. Padhye, V. Firoiu, D. Towsley, J. Kurose, *Modeling TCP Throughput: A Simple Model and its Empirical Validation*,
//! SIGCOMM 1998, and M. Mathis, J. Semke, J. Mahdavi, T. Ott, *The Macroscopic Behavior of the TCP Congestion Avoidance
//! Algorithm*, ACM CCR 27(3), 1997. In packets a second:
//!
//! ```text
//! E[W] = (2+b)/3b + sqrt(8 (1-p) / 3bp + ((2+b)/3b)^2)                                            (Padhye 13)
//! B    = ((1-p)/p + W + Q/(1-p)) / (RTT (b/2 W + 1) + Q G(p) T0 / (1-p))         W = E[W] < Wmax        (32)
//! B    = ((1-p)/p + W + Q/(1-p)) / (RTT (b/8 W + (1-p)/pW + 2) + Q G(p) T0 / (1-p))     W = Wmax         (32)
//! B    ~ min(Wmax/RTT, 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)))                 (33)
//! B    = C / (RTT sqrt(p)),   C = sqrt(3/2b)                                          (Mathis et al., eq. 3)
//! ```
//!
//! Symbols: p without unit, RTT and T0 in s, b packets an acknowledgement, Wmax in packets; Q is the share of losses
//! that end in a timeout and G(p) its backoff factor ([`crate::tcp_blocks`]). B counts packets sent, so 8 MSS B is an
//! upper bound of the goodput; `goodput_bps` is Padhye's later form for the goodput, which Cardwell's latency model
//! uses:
//!
//! ```text
//! T    = ((1-p)/p + W/2 + Q) / the same denominator                           (IEEE/ACM Trans. Networking 8(2), 2000)
//! ```
//!
//! The model holds for Reno with bulk data, RTT independent of the window, and losses that are correlated in a round
//! and independent between rounds; Mathis's form only for p below about 1 %, because it has no timeouts. Left out: slow
//! start after a timeout, SACK, CUBIC, the rate of the path (a result above it means that the path, not p, limits the
//! rate). E(W) replaces W in products and quotients: the process itself, simulated round by round, sends 5 % less at p
//! = 0.01 and 20 % less at 0.05.

use crate::fields::{outputs, parameters};
use crate::tcp_blocks::{backoff_factor, check_p, check_window, timeout_probability, window};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// p, the probability that a packet is lost; above 0, below 1.
        pub p: f64 = 0.01,
        /// RTT, the round-trip time.
        pub rtt_s: f64 = 0.1,
        /// T0, the retransmission timeout.
        pub rto_s: f64 = 1.0,
        /// b, packets that share an acknowledgement, 1 or more; 2 with delayed acknowledgements.
        pub b: u32 = 2,
        /// Payload of a packet.
        pub mss_bytes: f64 = 1460.0,
        /// Wmax, the limit by the receiver's window, 1 or more; the default has no effect.
        pub window_packets: f64 = 1e6,
    }
}

outputs! {
    /// Throughput by three formulas.
    pub struct Output {
        /// Throughput by Padhye's full model: payload sent.
        pub throughput_bps: f64,
        /// Throughput by Padhye's approximation (33).
        pub approximate_bps: f64,
        /// Throughput by Mathis's formula, limited by the window.
        pub mathis_bps: f64,
        /// Goodput by Padhye's full model: payload that arrives.
        pub goodput_bps: f64,
        /// The mean window when a loss is detected, E(W) or Wmax.
        pub loss_window_packets: f64,
        /// Q, the share of losses that end in a timeout.
        pub timeout_share: f64,
        /// The share of time spent waiting for timeouts.
        pub timeout_time_share: f64,
    }
}

/// Throughput, in packets per second, and its intermediate results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    pub(crate) sent: f64,
    pub(crate) arrived: f64,
    window: f64,
    timeout_share: f64,
    timeout_time_share: f64,
}

/// Equation 32. The parameters must have been checked.
pub(crate) fn steady(p: f64, rtt_s: f64, rto_s: f64, b: f64, limit: f64) -> Steady {
    let free = window(p, b);
    let good = (1.0 - p) / p;
    let (w, rounds) = if free < limit {
        (free, b / 2.0 * free + 1.0)
    } else {
        (limit, b / 8.0 * limit + good / limit + 2.0)
    };
    let timeout_share = timeout_probability(w, p);
    let waiting_s = timeout_share * backoff_factor(p) * rto_s / (1.0 - p);
    let period_s = rtt_s * rounds + waiting_s;
    Steady {
        sent: (good + w + timeout_share / (1.0 - p)) / period_s,
        arrived: (good + w / 2.0 + timeout_share) / period_s,
        window: w,
        timeout_share,
        timeout_time_share: waiting_s / period_s,
    }
}

/// Computes the throughput in the steady state.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    let Params { p, rtt_s, rto_s, b, mss_bytes, window_packets } = *params;
    check_p(p)?;
    positive("rtt_s", rtt_s)?;
    not_negative("rto_s", rto_s)?;
    require(b >= 1, "b", f64::from(b), "1 or more packets")?;
    positive("mss_bytes", mss_bytes)?;
    check_window("window_packets", window_packets)?;
    let b = f64::from(b);
    let steady = steady(p, rtt_s, rto_s, b, window_packets);
    let timeouts_s = rto_s * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    let approximate = 1.0 / (rtt_s * (2.0 * b * p / 3.0).sqrt() + timeouts_s);
    let mathis = (3.0 / (2.0 * b)).sqrt() / (rtt_s * p.sqrt());
    let (limit, bits) = (window_packets / rtt_s, 8.0 * mss_bytes);
    Ok(Output {
        throughput_bps: bits * steady.sent,
        approximate_bps: bits * approximate.min(limit),
        mathis_bps: bits * mathis.min(limit),
        goodput_bps: bits * steady.arrived,
        loss_window_packets: steady.window,
        timeout_share: steady.timeout_share,
        timeout_time_share: steady.timeout_time_share,
    })
}
