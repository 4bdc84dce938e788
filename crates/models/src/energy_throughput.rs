//! Energy of a sender as a function of its throughput.
//!
//! H. Singh, *Analysis of Energy Consumption of TCP Reno, Newreno, and SACK in multi-hop wireless network*, master's thesis,
//! Portland State University, 2002, chapters 5 and 7:
//!
//! ```text
//! E   = P_idle (t_total - t_Tx - t_Rx) + P_Tx t_Tx + P_Rx t_Rx
//! E   = (B / theta) P_idle + (B / r) (P_Tx - P_idle)                            without reception
//! E_I = E - P_idle t_idle
//! ```
//!
//! Symbols: B bytes, mean throughput theta and line rate r (here in bit/s), powers in W, E in J; t_total = B / theta,
//! t_Tx = B / r; t_idle is the time in which the sender neither sends, receives nor processes. If P_idle dominates, E
//! is inversely proportional to theta: E times theta / B is then P_idle. The defaults are the thesis's laptop: 1.2 A at
//! 15 V idle, and the radio's additional 0.61 W (284 - 156 mA at 4.74 V) and 0.16 W (190 - 156 mA).
//!
//! The model holds for one sender of bulk data whose power has these three levels. Left out: sleep, the power of
//! processing (it counts as idle power for a time), retransmissions (B counts the data sent).

use crate::fields::{outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

/// The supply of the thesis's radio, in volts.
const RADIO_V: f64 = 4.74;

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// B, data sent.
        pub file_bytes: f64 = 10e6,
        /// theta, the mean throughput, at most the line rate.
        pub throughput_bps: f64 = 1e6,
        /// r, the line rate.
        pub line_rate_bps: f64 = 2e6,
        /// Data received at the same time, at the line rate.
        pub received_bytes: f64 = 0.0,
        /// Processing time of the sender, besides sending and receiving.
        pub processing_s: f64 = 0.0,
        /// P_idle, of the whole system.
        pub idle_w: f64 = 18.0,
        /// P_Tx, of the whole system while it sends.
        pub transmit_w: f64 = 18.0 + RADIO_V * (0.284 - 0.156),
        /// P_Rx, of the whole system while it receives.
        pub receive_w: f64 = 18.0 + RADIO_V * (0.190 - 0.156),
    }
}

outputs! {
    /// The energy and its parts.
    pub struct Output {
        /// E, the total energy.
        pub total_j: f64,
        /// E_I, the energy without idle time.
        pub idealized_j: f64,
        /// Part of E: idle, with processing.
        pub idle_j: f64,
        /// Part of E: sending.
        pub transmit_j: f64,
        /// Part of E: receiving.
        pub receive_j: f64,
        /// E / 8 B.
        pub energy_per_bit_j: f64,
        /// E_I / 8 B.
        pub idealized_per_bit_j: f64,
        /// Energy per bit times throughput: close to P_idle if energy is inversely proportional to throughput.
        pub inverse_constant_w: f64,
        /// Duration.
        pub total_s: f64,
        /// Part of the duration without sending, receiving or processing.
        pub idle_s: f64,
    }
}

/// Computes the energy.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents, and if sending, receiving and
/// processing take longer than the duration.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let Params { file_bytes, throughput_bps, line_rate_bps, idle_w, .. } = *params;
    let bits = 8.0 * file_bytes;
    let total_s = bits / throughput_bps;
    let (transmit_s, receive_s) = (bits / line_rate_bps, 8.0 * params.received_bytes / line_rate_bps);
    let waiting_s = total_s - transmit_s - receive_s;
    let fits = waiting_s >= -1e-12 * total_s;
    require(fits, "received_bytes", params.received_bytes, "what the line carries beside the data")?;
    let idle_s = waiting_s - params.processing_s;
    let fits = idle_s >= -1e-12 * total_s;
    require(fits, "processing_s", params.processing_s, "at most the time without sending and receiving")?;
    let (idle_j, transmit_j) = (idle_w * waiting_s, params.transmit_w * transmit_s);
    let receive_j = params.receive_w * receive_s;
    let total_j = idle_j + transmit_j + receive_j;
    let idealized_j = total_j - idle_w * idle_s;
    Ok(Output {
        total_j,
        idealized_j,
        idle_j,
        transmit_j,
        receive_j,
        energy_per_bit_j: total_j / bits,
        idealized_per_bit_j: idealized_j / bits,
        inverse_constant_w: total_j / bits * throughput_bps,
        total_s,
        idle_s,
    })
}

fn check(params: &Params) -> Result<(), ModelError> {
    positive("file_bytes", params.file_bytes)?;
    positive("throughput_bps", params.throughput_bps)?;
    positive("line_rate_bps", params.line_rate_bps)?;
    let carried = params.throughput_bps <= params.line_rate_bps;
    require(carried, "throughput_bps", params.throughput_bps, "at most line_rate_bps")?;
    not_negative("received_bytes", params.received_bytes)?;
    not_negative("processing_s", params.processing_s)?;
    not_negative("idle_w", params.idle_w)?;
    not_negative("transmit_w", params.transmit_w)?;
    not_negative("receive_w", params.receive_w)
}
