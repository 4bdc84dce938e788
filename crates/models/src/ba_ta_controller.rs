//! The trigger-interval controller of BA-TA as a linear system: fixed point, stability, and its times.
//!
//! D. Camps-Mur, S. Sallent-Ribes, *Enhancing the performance of TCP over Wi-Fi Power Saving Mechanisms*, equations 7 to 11,
//! sections 4.1 and 4.2, and the appendix:
//!
//! ```text
//! interval(n+1) = (1 + G (ratio - ratio_min)) interval(n),     ratio = B / interval(n)                      (9)
//! interval(n+k) = (interval(n) - B/ratio_min) (1 - G ratio_min)^k + B/ratio_min                      (appendix)
//! (N - 1) MTU / dt <= R_bott <= (N + 1) MTU / dt                      N packets between two triggers     (7, 8)
//! ```
//!
//! 1 - G ratio_min decides: up to G = 0 unstable, to 1/ratio_min monotone, there in one step, to 2/ratio_min with
//! oscillations, beyond unstable. Symbols: G, ratio without unit; interval, B, T in s; MTU in bytes. B is the throughput
//! that one trigger brings over the peak rate; the appendix divides it by ratio_min too, which contradicts its error term.
//!
//! Holds while throughput is inversely proportional to the interval, so between int_min and int_max. Left out: the
//! limits, the smoothing of the throughput, the estimator's errors and the rule for empty triggers except for its
//! equilibrium; the mechanism itself is a power-save policy, not a model.

use crate::fields::{choice, outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// How the interval moves.
    pub enum Stability {
        /// Away from the fixed point.
        Unstable = "unstable",
        /// To the fixed point, from one side.
        Monotone = "monotone",
        /// To the fixed point in one step.
        DeadBeat = "dead-beat",
        /// To the fixed point, from both sides in turn.
        Oscillating = "oscillating",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// G, the gain; any finite number.
        pub gain: f64 = 0.9,
        /// ratio_min, the share of the peak rate that is aimed at; above 0, at most 1.
        pub ratio_min: f64 = 0.9,
        /// B, the interval at which the throughput would reach the peak rate.
        pub b_s: f64 = 0.036,
        /// The interval at the start.
        pub interval_s: f64 = 0.1,
        /// k, steps from there, at most 1000000.
        pub steps: u32 = 10,
        /// T_update, between two steps.
        pub update_s: f64 = 0.1,
        /// N_max, attempts before a wrong mode is left.
        pub attempts: u32 = 3,
        /// count_max, updates an attempt.
        pub count: u32 = 10,
        /// n_trig_max, triggers in T_update that are too many, 2 or more.
        pub triggers: u32 = 4,
        /// step_min, the least change of an interval.
        pub step_min_s: f64 = 0.01,
        /// N, packets received between two triggers.
        pub packets: f64 = 10.0,
        /// dt, between these two triggers.
        pub spacing_s: f64 = 0.1,
        /// MTU, a packet.
        pub mtu_bytes: f64 = 1500.0,
    }
}

outputs! {
    /// Fixed point, stability, times and bounds.
    pub struct Output {
        /// B / ratio_min, where the interval stays.
        pub fixed_point_s: f64,
        /// 1 - G ratio_min, by which the distance to it changes in a step.
        pub multiplier: f64,
        /// How the interval moves.
        pub stability: Stability,
        /// The interval after k steps.
        pub after_s: f64,
        /// G above which the interval oscillates, 1 / ratio_min.
        pub dead_beat_gain: f64,
        /// G from which on it is unstable, 2 / ratio_min.
        pub unstable_gain: f64,
        /// The longest time in a wrong mode, N_max count_max T_update.
        pub recovery_s: f64,
        /// The shortest interval at which empty triggers settle, T_update / n_trig_max.
        pub empty_low_s: f64,
        /// The longest, T_update / (n_trig_max - 1) + step_min.
        pub empty_high_s: f64,
        /// The bottleneck's rate is at least this (7).
        pub rate_low_bps: f64,
        /// And at most this, if the line never ran dry (8).
        pub rate_high_bps: f64,
    }
}

/// Throughput over the better of the two extremes (10).
pub fn normalized_throughput(throughput: f64, active: f64, psm: f64) -> f64 {
    throughput / active.max(psm)
}

/// The better of the two extremes' energies over the energy, so that more is better (11).
pub fn normalized_energy(energy: f64, active: f64, psm: f64) -> f64 {
    active.min(psm) / energy
}

/// The controller's behaviour.
///
/// # Errors
/// A parameter outside the range that [`Params`] gives for it, or steps so many that an unstable interval overflows.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let Params { gain, ratio_min, b_s, interval_s, update_s, .. } = *params;
    let multiplier = 1.0 - gain * ratio_min;
    let fixed_point_s = b_s / ratio_min;
    let after_s = (interval_s - fixed_point_s) * multiplier.powi(params.steps as i32) + fixed_point_s;
    require(after_s.is_finite(), "steps", f64::from(params.steps), "fewer with an unstable gain")?;
    let packet_bps = 8.0 * params.mtu_bytes / params.spacing_s;
    let triggers = f64::from(params.triggers);
    Ok(Output {
        fixed_point_s,
        multiplier,
        stability: stability(multiplier),
        after_s,
        dead_beat_gain: 1.0 / ratio_min,
        unstable_gain: 2.0 / ratio_min,
        recovery_s: f64::from(params.attempts) * f64::from(params.count) * update_s,
        empty_low_s: update_s / triggers,
        empty_high_s: update_s / (triggers - 1.0) + params.step_min_s,
        rate_low_bps: (params.packets - 1.0).max(0.0) * packet_bps,
        rate_high_bps: (params.packets + 1.0) * packet_bps,
    })
}

fn stability(multiplier: f64) -> Stability {
    // 1 / ratio_min times ratio_min may miss one by the last digit.
    if multiplier.abs() < 1e-12 {
        Stability::DeadBeat
    } else if multiplier.abs() >= 1.0 - 1e-12 {
        Stability::Unstable
    } else if multiplier > 0.0 {
        Stability::Monotone
    } else {
        Stability::Oscillating
    }
}

fn check(params: &Params) -> Result<(), ModelError> {
    require(params.gain.is_finite(), "gain", params.gain, "a finite number")?;
    let ratio_holds = params.ratio_min > 0.0 && params.ratio_min <= 1.0;
    require(ratio_holds, "ratio_min", params.ratio_min, "above 0 and at most 1")?;
    positive("b_s", params.b_s)?;
    positive("interval_s", params.interval_s)?;
    require(params.steps <= 1_000_000, "steps", f64::from(params.steps), "0 to 1000000")?;
    positive("update_s", params.update_s)?;
    require(params.triggers >= 2, "triggers", f64::from(params.triggers), "2 or more")?;
    not_negative("step_min_s", params.step_min_s)?;
    not_negative("packets", params.packets)?;
    positive("spacing_s", params.spacing_s)?;
    positive("mtu_bytes", params.mtu_bytes)
}
