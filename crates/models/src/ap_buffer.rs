//! Estimate of the buffer of an access point from one connection that overflows it.
//!
//! M. Hashimoto 2013 (PhD thesis), equation 2.11 and table 2.3; M. Hashimoto, master's thesis, 2010, equation 12 and table 3:
//!
//! ```text
//! B_est = (cwnd_overflow - T minRTT / 8) / MSS
//! ```
//!
//! Symbols: cwnd_overflow, bytes in flight at the first loss of data of a connection that is alone; T, its throughput
//! just before, in bit/s; minRTT in s; MSS in bytes; B_est in packets. Data in flight that is not on the path is in the
//! buffer. The master's thesis prints the equation with errors.
//!
//! **Interpretation.** Both theses print the same three measurements and different buffers: the PhD thesis divides by
//! 1500 bytes with a megabit of 10^6 bit (the defaults, table 2.3 to 0.05 packets), the master's thesis by 1460 bytes
//! with 2^20 bit, and truncates the result to a tenth of a packet (`mss=1460B megabit=binary digits=cut`, table 3 to
//! the digit).
//!
//! The model holds for a drop-tail buffer counted in packets of one size. Left out: buffers counted in bytes, other
//! traffic, losses on the air.

use crate::fields::{choice, outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// Number of bits in the megabit of a measured throughput.
    pub enum Megabit {
        /// 10^6.
        Decimal = "decimal",
        /// 2^20: the throughput is 1.048576 times as large.
        Binary = "binary",
    }
}

choice! {
    /// Precision of the result.
    pub enum Digits {
        /// The exact result.
        All = "all",
        /// The result truncated to a tenth of a packet.
        Cut = "cut",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// cwnd_overflow, the data in flight at the first loss.
        pub overflow_bytes: f64 = 118_003.0,
        /// T, the throughput just before the loss.
        pub throughput_bps: f64 = 21.8e6,
        /// minRTT, the shortest round-trip time.
        pub min_rtt_s: f64 = 0.975e-3,
        /// MSS, the size of a packet.
        pub mss_bytes: f64 = 1500.0,
        /// Number of bits in the megabit of the throughput.
        pub megabit: Megabit = Megabit::Decimal,
        /// Precision of the result.
        pub digits: Digits = Digits::All,
    }
}

outputs! {
    /// The estimated buffer.
    pub struct Output {
        /// B_est, the buffer in packets.
        pub buffer_packets: f64,
        /// The buffer in bytes, without truncation.
        pub buffer_bytes: f64,
        /// Data on the path outside the buffer.
        pub pipe_bytes: f64,
    }
}

/// Estimates the buffer.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents, and if less data is in flight than the
/// path holds.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    positive("overflow_bytes", params.overflow_bytes)?;
    not_negative("throughput_bps", params.throughput_bps)?;
    positive("min_rtt_s", params.min_rtt_s)?;
    positive("mss_bytes", params.mss_bytes)?;
    let scale = match params.megabit {
        Megabit::Decimal => 1.0,
        Megabit::Binary => f64::from(1 << 20) / 1e6,
    };
    let pipe_bytes = params.throughput_bps * scale * params.min_rtt_s / 8.0;
    let buffer_bytes = params.overflow_bytes - pipe_bytes;
    let fills = buffer_bytes >= 0.0;
    require(fills, "overflow_bytes", params.overflow_bytes, "at least throughput times min_rtt")?;
    let packets = buffer_bytes / params.mss_bytes;
    let buffer_packets = match params.digits {
        Digits::All => packets,
        Digits::Cut => (10.0 * packets).floor() / 10.0,
    };
    Ok(Output { buffer_packets, buffer_bytes, pipe_bytes })
}
