//! Duration of one TCP transfer, from the handshake on.
//!
//! N. Cardwell, S. Savage, T. Anderson, *Modeling TCP Latency*, INFOCOM 2000. A transfer of d packets is a handshake, a
//! first slow start, the recovery from its loss, and congestion avoidance at Padhye's rate:
//!
//! ```text
//! L_h    = RTT + Ts (2 (1-p)/(1-2p) - 2)                                            handshake, both ways lossy
//! l_ss   = 1 - (1-p)^d
//! d_ss   = min(l_ss (1-p)/p + 1, d),    W_ss = d_ss (g-1)/g + w1/g,    g = 1 + 1/b
//! T_ss   = RTT log_g(d_ss (g-1)/w1 + 1)                                                          W_ss <= Wmax
//! T_ss   = RTT (log_g(Wmax/w1) + 1 + (d_ss - (g Wmax - w1)/(g-1)) / Wmax)                           otherwise
//! T_loss = l_ss (Q(W_ss) G(p) T0/(1-p) + (1 - Q(W_ss)) RTT)
//! T_ca   = (d - d_ss) / R,   R = ((1-p)/p + W/2 + Q(W)) / (RTT (b/2 W + 1) + Q G(p) T0/(1-p))
//! ```
//!
//! plus the mean delay of the first acknowledgement by a receiver that waits for a second packet. Symbols: p without
//! unit, times in s, windows in packets, Q and G as in [`crate::tcp_blocks`], R as in [`crate::tcp_throughput`].
//!
//! The model holds for Reno or later senders whose application does not wait, RTT that does not depend on the window,
//! and p below 1/2 (towards which the mean of the handshake grows without bound). Left out: the transmission time of
//! the packets themselves, data on the SYN, losses of acknowledgements after the handshake, and the faster recovery of
//! SACK.

use crate::fields::{outputs, parameters};
use crate::tcp_blocks::{backoff_factor, check_window, slow_start, timeout_probability};
use crate::tcp_throughput::steady;
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// p, the probability that a packet is lost; above 0, below 1/2.
        pub p: f64 = 0.01,
        /// RTT, the round-trip time.
        pub rtt_s: f64 = 0.1,
        /// Data to transfer.
        pub file_bytes: f64 = 100e3,
        /// Payload of a packet.
        pub mss_bytes: f64 = 1460.0,
        /// T0, the retransmission timeout.
        pub rto_s: f64 = 1.0,
        /// Ts, the timeout of the packets of the handshake.
        pub syn_timeout_s: f64 = 3.0,
        /// b, packets that share an acknowledgement, 1 or more; 2 with delayed acknowledgements.
        pub b: u32 = 2,
        /// w1, the initial window, 1 or more.
        pub initial_packets: f64 = 1.0,
        /// Wmax, the limit by the receiver's window, at least w1; the default has no effect.
        pub window_packets: f64 = 1e6,
        /// The mean delay of the acknowledgement of a single first packet.
        pub delayed_ack_s: f64 = 0.1,
    }
}

outputs! {
    /// The duration of the transfer and its parts.
    pub struct Output {
        /// Duration of the whole transfer.
        pub total_s: f64,
        /// Duration of the handshake.
        pub handshake_s: f64,
        /// Duration of the first slow start.
        pub slow_start_s: f64,
        /// Duration of the recovery from the loss that ends it.
        pub recovery_s: f64,
        /// Duration of congestion avoidance.
        pub avoidance_s: f64,
        /// Delay of the first acknowledgement.
        pub delayed_ack_s: f64,
        /// d_ss, packets in the first slow start.
        pub slow_start_packets: f64,
        /// W_ss, the window at its end.
        pub reached_packets: f64,
        /// The data divided by the whole duration.
        pub throughput_bps: f64,
    }
}

/// Computes the duration of a transfer.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let Params { p, rtt_s, file_bytes, rto_s, initial_packets, window_packets, delayed_ack_s, .. } = *params;
    let b = f64::from(params.b);
    let packets = (file_bytes / params.mss_bytes).max(1.0);
    let start = slow_start(p, packets, initial_packets, 1.0 + 1.0 / b, window_packets);
    let timeout = timeout_probability(start.window, p);
    let timeouts_s = backoff_factor(p) * rto_s / (1.0 - p);
    let rate = steady(p, rtt_s, rto_s, b, window_packets).arrived;
    let handshake_s = rtt_s + 2.0 * params.syn_timeout_s * p / (1.0 - 2.0 * p);
    let slow_start_s = rtt_s * start.rounds;
    let recovery_s = start.loss * (timeout * timeouts_s + (1.0 - timeout) * rtt_s);
    let avoidance_s = (packets - start.packets).max(0.0) / rate;
    let total_s = handshake_s + slow_start_s + recovery_s + avoidance_s + delayed_ack_s;
    Ok(Output {
        total_s,
        handshake_s,
        slow_start_s,
        recovery_s,
        avoidance_s,
        delayed_ack_s,
        slow_start_packets: start.packets,
        reached_packets: start.window.min(window_packets),
        throughput_bps: 8.0 * file_bytes / total_s,
    })
}

fn check(params: &Params) -> Result<(), ModelError> {
    require(params.p > 0.0 && params.p < 0.5, "p", params.p, "above 0 and below 0.5")?;
    positive("rtt_s", params.rtt_s)?;
    positive("file_bytes", params.file_bytes)?;
    positive("mss_bytes", params.mss_bytes)?;
    not_negative("rto_s", params.rto_s)?;
    not_negative("syn_timeout_s", params.syn_timeout_s)?;
    require(params.b >= 1, "b", f64::from(params.b), "1 or more packets")?;
    check_window("initial_packets", params.initial_packets)?;
    check_window("window_packets", params.window_packets)?;
    let ordered = params.window_packets >= params.initial_packets;
    require(ordered, "window_packets", params.window_packets, "at least initial_packets")?;
    not_negative("delayed_ack_s", params.delayed_ack_s)
}
