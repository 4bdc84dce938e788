//! The buffer of an access point, from one connection that overflows it.
//!
//! M. Hashimoto 2013 (PhD thesis), equation 2.11 and table 2.3; M. Hashimoto, master's thesis, 2010, equation 12 and table 3:
//!
//! ```text
//! B_est = (cwnd_overflow - T minRTT / 8) / MSS
//! ```
//!
//! Symbols: cwnd_overflow, bytes in flight at the first loss of data of a connection that is alone; T, its throughput just
//! before, in bit/s; minRTT in s; MSS in bytes; B_est in packets. What is in flight and not on the way is in the buffer.
//! The master's thesis prints a garbled form of it.
//!
//! **The reading.** Both theses print the same three measurements and different buffers: the PhD divides by 1500 bytes
//! and takes a megabit for 10^6 bit (the defaults, table 2.3 to 0.05 packets), the master by 1460 bytes, with 2^20 bit, and cuts
//! the result to a tenth of a packet (`mss=1460B megabit=binary digits=cut`, table 3 to the digit).
//!
//! Holds for a drop-tail buffer counted in packets of one size. Left out: buffers counted in bytes, other traffic, losses
//! on the air.

use crate::fields::{choice, outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// How many bits the megabit of a measured throughput has.
    pub enum Megabit {
        /// 10^6.
        Decimal = "decimal",
        /// 2^20: the throughput is taken for 1.048576 times as much.
        Binary = "binary",
    }
}

choice! {
    /// How the result is written.
    pub enum Digits {
        /// As it is.
        All = "all",
        /// Cut to a tenth of a packet.
        Cut = "cut",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// cwnd_overflow, in flight at the first loss.
        pub overflow_bytes: f64 = 118_003.0,
        /// T, the throughput just before.
        pub throughput_bps: f64 = 21.8e6,
        /// minRTT, the shortest round-trip time.
        pub min_rtt_s: f64 = 0.975e-3,
        /// MSS, a packet.
        pub mss_bytes: f64 = 1500.0,
        /// How many bits the throughput's megabit has.
        pub megabit: Megabit = Megabit::Decimal,
        /// How the result is written.
        pub digits: Digits = Digits::All,
    }
}

outputs! {
    /// The buffer.
    pub struct Output {
        /// B_est.
        pub buffer_packets: f64,
        /// The same in bytes, not cut.
        pub buffer_bytes: f64,
        /// What is on the way and not in the buffer.
        pub pipe_bytes: f64,
    }
}

/// The estimate.
///
/// # Errors
/// A parameter outside the range that [`Params`] gives for it, or less in flight than the path holds.
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
