//! Common parts of the TCP models: the window, the probability of a timeout, the first slow start.
//!
//! J. Padhye, V. Firoiu, D. Towsley, J. Kurose, *Modeling TCP Throughput: A Simple Model and its Empirical Validation*,
//! SIGCOMM 1998, and N. Cardwell, S. Savage, T. Anderson, *Modeling TCP Latency*, INFOCOM 2000; Hashimoto 2013 repeats them
//! for b = 1 as equations 3.51 to 3.58. A window is a real number of packets; p is the probability that a packet is
//! lost, given that none before it in its round was; b packets share an acknowledgement.
//!
//! Two equations of the thesis are used in the form of their sources. In 3.57 the "+ 1" belongs under the root. In 3.52
//! the numerator is `1 + (1-p)^3 (1 - (1-p)^(w-3))`; the printed product of two brackets falls as 6p for small p, where
//! the probability has to approach 3/w.

use crate::{ModelError, require};

/// 1 - (1 - p)^w, computed without loss of precision for small p.
pub fn fails(p: f64, packets: f64) -> f64 {
    -(packets * (-p).ln_1p()).exp_m1()
}

/// E(W), the window at a loss (Padhye eq. 13; Hashimoto 3.57 for b = 1).
pub fn window(p: f64, b: f64) -> f64 {
    let constant = (2.0 + b) / (3.0 * b);
    constant + (8.0 * (1.0 - p) / (3.0 * b * p) + constant * constant).sqrt()
}

/// The p for which the window is `window`, with b = 1: the inverse of Hashimoto 3.57.
pub fn p_of_window(window: f64) -> f64 {
    1.0 / (1.0 + 3.0 / 8.0 * ((window - 1.0).powi(2) - 1.0))
}

/// Q, the probability that a loss in a window of `w` packets ends in a timeout (Padhye 1998; Hashimoto 3.52).
pub fn timeout_probability(w: f64, p: f64) -> f64 {
    if w < 3.0 {
        return 1.0;
    }
    // These are (1-p)^3 and 1 - (1-p)^3; 1 - (1-p)^w is then computed from 1 - (1-p)^(w-3), to save a logarithm and two
    // exponentials.
    let three = (1.0 - p) * (1.0 - p) * (1.0 - p);
    let first = p * (3.0 - p * (3.0 - p));
    let rest = fails(p, w - 3.0);
    let share = (1.0 + three * rest) * first / (first + three * rest);
    share.min(1.0)
}

/// G(p), where G(p) T0 / (1 - p) is the mean duration of consecutive timeouts with doubling (Padhye 1998; Hashimoto
/// 3.55).
pub fn backoff_factor(p: f64) -> f64 {
    // Horner's form of 1 + p + 2 p^2 + 4 p^3 + 8 p^4 + 16 p^5 + 32 p^6.
    let doubled = 2.0 * p;
    1.0 + p * (1.0 + doubled * (1.0 + doubled * (1.0 + doubled * (1.0 + doubled * (1.0 + doubled)))))
}

/// The first slow start of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct SlowStart {
    /// l_ss, the probability that the transfer loses a packet at all (3.51).
    pub loss: f64,
    /// E(d_ss), packets sent before the loss (3.54).
    pub packets: f64,
    /// E(W_ss), the window reached (3.53).
    pub window: f64,
    /// Number of rounds (3.13).
    pub rounds: f64,
}

/// The first slow start of `packets` packets from a window of `initial` packets. Each round is `growth` times the
/// previous one, up to `limit` packets.
pub fn slow_start(p: f64, packets: f64, initial: f64, growth: f64, limit: f64) -> SlowStart {
    let loss = fails(p, packets);
    let sent = (loss * (1.0 - p) / p + 1.0).min(packets);
    let window = sent * (growth - 1.0) / growth + initial / growth;
    let rounds = if window <= limit {
        (sent * (growth - 1.0) / initial + 1.0).log2() / growth.log2()
    } else {
        let below = (growth * limit - initial) / (growth - 1.0);
        (limit / initial).log2() / growth.log2() + 1.0 + (sent - below) / limit
    };
    SlowStart { loss, packets: sent, window, rounds }
}

/// Rejects a loss probability that is not above 0 and below 1.
pub fn check_p(p: f64) -> Result<(), ModelError> {
    require(p > 0.0 && p < 1.0, "p", p, "above 0 and below 1")
}

/// Rejects a window below one packet.
pub fn check_window(parameter: &'static str, packets: f64) -> Result<(), ModelError> {
    require(packets.is_finite() && packets >= 1.0, parameter, packets, "a finite number of 1 or more packets")
}
