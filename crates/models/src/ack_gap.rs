//! The mean gap between acknowledgements of an upload, and the distribution of the gaps.
//!
//! M. Hashimoto 2013 (PhD thesis), section 3.4: equation 3.42, table 3.1 and figure 3.6. The throughput that cross
//! traffic leaves determines the window at a loss, the window determines p, and the rounds of one period determine the
//! gaps:
//!
//! ```text
//! E[W] = R RTT / (8 S_p)                                                                                (3.42)
//! p    from E[W] by the inverse of 3.57
//! (a)  r_td RTT / sum ceil(w_k/m),   w_k = min(W/2 + k, W_bdp), k = 0, 1, ... over r_td rounds, the last one in part
//! (b)  r_td RTT / (((1-p)/p + W/2) / m)
//! ```
//!
//! Symbols: R in bit/s, RTT in s, S_p in bytes, windows in packets; [`crate::tcp_energy`] has r_td and W_bdp. (a) is the
//! mean of the gaps' distribution, (b) a ratio of expectations.
//!
//! **Interpretation.** Rows 12, 22, 25 and 28 of table 3.1 follow from (a) within 0.35 %, rows 20 and 29 from (b)
//! within 0.5 %; the source does not say why. (a) is the default because it is the mean of the distribution in figure
//! 3.6. A megabit is 10^6 bit, contrary to the 1024^2 printed in 3.42, with which only row 12 would fit; R has to be
//! given accordingly.
//!
//! The model holds for an upload in congestion avoidance whose bottleneck is the wired path; both forms underestimate
//! the gaps if the window is only a few packets (rows 28 and 29: simulation 11.4 and 54.7 ms). Left out: timeouts,
//! jitter within a round.

use crate::fields::{choice, outputs, parameters};
use crate::mac_frame::Frames;
use crate::radio::RadioPowers;
use crate::tcp_blocks::p_of_window;
use crate::tcp_energy::period_rounds;
use crate::{ModelError, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// The kind of mean.
    pub enum GapAveraging {
        /// (a), the mean of the distribution of gaps.
        Distribution = "distribution",
        /// (b), the expected time over the expected number of acknowledgements.
        Expectations = "expectations",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// R, the throughput of the upload; 30 Mb/s less the cross traffic in the thesis.
        pub throughput_bps: f64 = 10e6,
        /// RTT, the round-trip time.
        pub rtt_s: f64 = 0.1,
        /// m, data packets for an acknowledgement, 1 or more.
        pub m: u32 = 1,
        /// The kind of mean.
        pub averaging: GapAveraging = GapAveraging::Distribution,
        /// The frames; S_p is its data packet.
        pub frames: Frames = Frames::default(),
    }
}

outputs! {
    /// The mean gap and its intermediate results.
    pub struct Output {
        /// The mean gap between acknowledgements.
        pub gap_s: f64,
        /// p, the loss probability at this throughput.
        pub p: f64,
        /// E(W), the window at a loss.
        pub loss_window_packets: f64,
        /// W_bdp, the packets that the path holds.
        pub pipe_packets: f64,
        /// r_td, the number of rounds in a period.
        pub period_rounds: f64,
    }
}

/// Largest number of rounds, which corresponds to a throughput of some 10^11 bit/s: the sum is over rounds.
const ROUNDS_MAX: f64 = 1e6;

/// The windows and rounds of one period.
struct Period {
    rtt_s: f64,
    m: f64,
    p: f64,
    window: f64,
    pipe: f64,
    rounds: f64,
}

impl Period {
    fn of(params: &Params) -> Result<Self, ModelError> {
        positive("throughput_bps", params.throughput_bps)?;
        positive("rtt_s", params.rtt_s)?;
        require(params.m >= 1, "m", f64::from(params.m), "1 or more packets")?;
        params.frames.check()?;
        let window = params.throughput_bps * params.rtt_s / (8.0 * params.frames.data_bytes);
        let enough = window > 2.0;
        require(enough, "throughput_bps", params.throughput_bps, "more than 2 packets in a round trip")?;
        let (m, p) = (f64::from(params.m), p_of_window(window));
        let air = params.frames.exchanges(&RadioPowers::default());
        let pipe = params.rtt_s / (air.uplink_s + air.downlink_s / m);
        let rounds = period_rounds((1.0 - p) / p, window, pipe);
        require(
            rounds <= ROUNDS_MAX,
            "throughput_bps",
            params.throughput_bps,
            "at most a million rounds a period",
        )?;
        Ok(Self { rtt_s: params.rtt_s, m, p, window, pipe, rounds })
    }

    /// The number of gaps in each round, and the share of the round that counts.
    fn rounds(&self) -> impl Iterator<Item = (f64, f64)> {
        let whole = self.rounds.floor();
        (0..=whole as u32).map(move |k| {
            let packets = (self.window / 2.0 + f64::from(k)).min(self.pipe);
            let share = if f64::from(k) < whole { 1.0 } else { self.rounds - whole };
            ((packets / self.m - 1e-9).ceil().max(1.0), share)
        })
    }
}

/// Computes the mean gap.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents, and for a throughput of less than two
/// packets in an RTT, for which no p exists.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    let period = Period::of(params)?;
    let acks = match params.averaging {
        GapAveraging::Distribution => period.rounds().map(|(gaps, share)| gaps * share).sum(),
        GapAveraging::Expectations => ((1.0 - period.p) / period.p + period.window / 2.0) / period.m,
    };
    Ok(Output {
        gap_s: period.rounds * period.rtt_s / acks,
        p: period.p,
        loss_window_packets: period.window,
        pipe_packets: period.pipe,
        period_rounds: period.rounds,
    })
}

/// Computes the distribution of the gaps: lengths in seconds, which fall as windows grow, and the expected number of
/// each in a period.
///
/// # Errors
/// Returns the errors of [`solve`].
pub fn distribution(params: &Params) -> Result<Vec<(f64, f64)>, ModelError> {
    let period = Period::of(params)?;
    Ok(period.rounds().map(|(gaps, share)| (period.rtt_s / gaps, gaps * share)).collect())
}
