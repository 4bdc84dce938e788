//! Saturation throughput of the 802.11 distributed coordination function.
//!
//! G. Bianchi, *Performance Analysis of the IEEE 802.11 Distributed Coordination Function*, IEEE JSAC 18(3), 2000. Each
//! of n stations always has a frame to send and attempts in any slot with probability tau; an attempt fails with
//! probability p whenever another station attempts too. Both follow from one fixed point:
//!
//! ```text
//! p   = 1 - (1 - tau)^(n-1)                                                               (Bianchi eq. 9)
//! tau = 2 / (1 + W + p W sum_{i<m} (2p)^i)                                                (Bianchi eq. 7, 8)
//! S   = Ps Ptr E[P] / ((1 - Ptr) sigma + Ptr Ps Ts + Ptr (1 - Ps) Tc)                     (Bianchi eq. 13)
//! Ptr = 1 - (1 - tau)^n,   Ps Ptr = n tau (1 - tau)^(n-1)                                 (Bianchi eq. 10, 11)
//! ```
//!
//! W is the first contention window in slots (CWmin + 1), doubled after each failure m times at most. Equation 7 is used
//! in its form as a sum, which has no singular point at p = 1/2. With a retry limit R a frame is dropped after R + 1
//! attempts and the window starts anew; then, by the renewal argument of Kumar, Altman, Miorandi and Goyal (*New insights
//! from a fixed-point analysis of single cell IEEE 802.11 WLANs*, IEEE/ACM Trans. Networking 15(3), 2007),
//!
//! ```text
//! tau = sum_{i<=R} p^i / sum_{i<=R} p^i (W_i + 1) / 2,   W_i = W 2^min(i, m)
//! ```
//!
//! which is the first form as R grows without bound. tau falls with p and p rises with tau, so there is exactly one
//! fixed point; it is bracketed and bisected.
//!
//! The model holds for saturated stations of equal parameters that all hear each other, without bit errors and capture.
//! The independence of attempts is an approximation. Compared with a simulation of the slots with W = 16 or more, tau
//! and S are within 1 % from two stations on, p within 2 % from five and within 5 % from two; with W = 4 and eight
//! doublings p is up to 11 % off and S up to 4 %. As in the paper, a slot also counts down in busy periods, in which
//! 802.11 freezes the counter.
//!
//! Left out: unsaturated traffic, access categories, hidden stations, errors, aggregation, and the frame times
//! themselves, which are parameters: Ts and Tc express basic access, RTS/CTS and EIFS after collisions.

use crate::fields::{outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

parameters! {
    /// Parameters of the model. The defaults are ten stations of 802.11a at 54 Mb/s with packets of 1500 bytes.
    pub struct Params {
        /// n, the number of saturated stations, 1 to 100 000. The access point counts if it is saturated.
        pub stations: u32 = 10,
        /// W, the first contention window in slots, CWmin + 1; 1 to 65 536.
        pub window: u32 = 16,
        /// m, the largest number of doublings of the window; 0 to 16.
        pub stages: u32 = 6,
        /// R, retries after the first attempt before a frame is dropped, 0 to 255; none for the unlimited retries of the paper.
        pub retries: Option<u32> = Some(7),
        /// sigma, the length of an idle slot.
        pub slot_s: f64 = 9e-6,
        /// Ts, duration of a success on the channel, with the interframe spaces around it.
        pub success_s: f64 = 330e-6,
        /// Tc, duration of a collision on the channel.
        pub collision_s: f64 = 331e-6,
        /// The mean payload of a frame, E(P) in the paper.
        pub payload_bits: f64 = 12_000.0,
    }
}

outputs! {
    /// The fixed point and derived quantities.
    pub struct Output {
        /// tau, the probability that a station attempts in a slot.
        pub attempt_probability: f64,
        /// p, the probability that an attempt collides.
        pub collision_probability: f64,
        /// Ptr, the probability that a slot is not idle.
        pub busy_probability: f64,
        /// Ps, the probability that a slot that is not idle is a success.
        pub success_probability: f64,
        /// The mean length of a slot of the model, idle or not.
        pub mean_slot_s: f64,
        /// S, payload of all stations together.
        pub throughput_bps: f64,
        /// The probability that a frame is dropped at the retry limit, p^(R+1); zero without a limit.
        pub drop_probability: f64,
    }
}

/// Solves the fixed point.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents. Times and payload have to be finite
/// and above zero (an idle slot may last zero time).
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let tau = attempt_probability(params);
    let p = collision_probability(tau, params.stations);
    let drop_probability = params.retries.map_or(0.0, |retries| p.powf(f64::from(retries) + 1.0));
    Ok(Output { drop_probability, ..channel(params, tau) })
}

fn check(params: &Params) -> Result<(), ModelError> {
    let Params { stations, window, stages, retries, .. } = *params;
    require((1..=100_000).contains(&stations), "stations", f64::from(stations), "1 to 100000")?;
    require((1..=65_536).contains(&window), "window", f64::from(window), "1 to 65536 slots")?;
    require(stages <= 16, "stages", f64::from(stages), "0 to 16")?;
    let retries = retries.unwrap_or(0);
    require(retries <= 255, "retries", f64::from(retries), "0 to 255, or none")?;
    not_negative("slot_s", params.slot_s)?;
    positive("success_s", params.success_s)?;
    positive("collision_s", params.collision_s)?;
    positive("payload_bits", params.payload_bits)
}

/// The state of the channel if every station attempts with probability `tau`. The drop probability is left at zero.
fn channel(params: &Params, tau: f64) -> Output {
    let stations = f64::from(params.stations);
    let collision_probability = collision_probability(tau, params.stations);
    // The same powers are used throughout, (1 - tau)^n = (1 - tau)^(n-1) (1 - tau), so that the shares are consistent.
    let idle = (1.0 - collision_probability) * (1.0 - tau);
    let success = stations * tau * (1.0 - collision_probability);
    let busy_probability = 1.0 - idle;
    let collision = (busy_probability - success).max(0.0);
    let mean_slot_s = idle * params.slot_s + success * params.success_s + collision * params.collision_s;
    Output {
        attempt_probability: tau,
        collision_probability,
        busy_probability,
        success_probability: success / busy_probability,
        mean_slot_s,
        throughput_bps: success * params.payload_bits / mean_slot_s,
        drop_probability: 0.0,
    }
}

/// p for a given tau. It is computed by logarithms, because 1 - (1 - tau)^(n-1) loses digits if tau is small.
fn collision_probability(tau: f64, stations: u32) -> f64 {
    if stations == 1 {
        return 0.0;
    }
    -(f64::from(stations - 1) * (-tau).ln_1p()).exp_m1()
}

/// The tau of a station whose attempts fail with probability `p`.
fn response(params: &Params, p: f64) -> f64 {
    let window = f64::from(params.window);
    let Some(retries) = params.retries else {
        let doubled: f64 = (0..params.stages).map(|stage| (2.0 * p).powi(stage as i32)).sum();
        return 2.0 / (1.0 + window + p * window * doubled);
    };
    let (mut attempts, mut slots, mut reached, mut stage_window) = (0.0, 0.0, 1.0, window);
    for stage in 0..=retries {
        attempts += reached;
        slots += reached * (stage_window + 1.0) / 2.0;
        reached *= p;
        if stage < params.stages {
            stage_window *= 2.0;
        }
    }
    attempts / slots
}

/// Finds the fixed point: the response falls with tau, so the difference changes its sign exactly once in [0, 1].
fn attempt_probability(params: &Params) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // Each step halves the bracket, until it cannot be halved any more.
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if response(params, collision_probability(middle, params.stations)) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
}
