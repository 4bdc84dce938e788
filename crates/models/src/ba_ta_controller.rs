//! The trigger-interval controller of BA-TA as a linear system: fixed point, stability, and times.
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
//! The factor 1 - G ratio_min determines the behaviour: unstable up to G = 0, monotone up to 1/ratio_min, at which one
//! step suffices, oscillating up to 2/ratio_min, and unstable beyond. Symbols: G and ratio have no unit; interval, B, T
//! in s; MTU in bytes. B is the throughput of one trigger over the peak rate; the appendix also divides it by
//! ratio_min, which contradicts its error term.
//!
//! The model holds while throughput is inversely proportional to the interval, that is, between int_min and int_max.
//! Left out: the limits, the smoothing of the throughput, the errors of the estimator and the rule for empty triggers
//! except for its equilibrium. The mechanism itself is a power-save policy, not a model.

use crate::fields::{choice, outputs, parameters};
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

choice! {
    /// Behaviour of the interval over the steps.
    pub enum Stability {
        /// The interval moves away from the fixed point.
        Unstable = "unstable",
        /// The interval approaches the fixed point from one side.
        Monotone = "monotone",
        /// The interval reaches the fixed point in one step.
        DeadBeat = "dead-beat",
        /// The interval approaches the fixed point from both sides in turn.
        Oscillating = "oscillating",
    }
}

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// G, the gain; any finite number.
        pub gain: f64 = 0.9,
        /// ratio_min, the target share of the peak rate; above 0, at most 1.
        pub ratio_min: f64 = 0.9,
        /// B, the interval at which the throughput would reach the peak rate.
        pub b_s: f64 = 0.036,
        /// The initial interval.
        pub interval_s: f64 = 0.1,
        /// k, number of steps, at most 1000000.
        pub steps: u32 = 10,
        /// T_update, time between two steps.
        pub update_s: f64 = 0.1,
        /// N_max, number of attempts before a wrong mode is left.
        pub attempts: u32 = 3,
        /// count_max, number of updates in an attempt.
        pub count: u32 = 10,
        /// n_trig_max, number of triggers in T_update that is too large, 2 or more.
        pub triggers: u32 = 4,
        /// step_min, the least change of an interval.
        pub step_min_s: f64 = 0.01,
        /// N, packets received between two triggers.
        pub packets: f64 = 10.0,
        /// dt, time between these two triggers.
        pub spacing_s: f64 = 0.1,
        /// MTU, the size of a packet.
        pub mtu_bytes: f64 = 1500.0,
    }
}

outputs! {
    /// Fixed point, stability, times and bounds.
    pub struct Output {
        /// B / ratio_min, the fixed point of the interval.
        pub fixed_point_s: f64,
        /// 1 - G ratio_min, the factor by which the distance to the fixed point changes in a step.
        pub multiplier: f64,
        /// Behaviour of the interval over the steps.
        pub stability: Stability,
        /// The interval after k steps.
        pub after_s: f64,
        /// G above which the interval oscillates, 1 / ratio_min.
        pub dead_beat_gain: f64,
        /// G from which on the controller is unstable, 2 / ratio_min.
        pub unstable_gain: f64,
        /// The longest time in a wrong mode, N_max count_max T_update.
        pub recovery_s: f64,
        /// The shortest interval at which empty triggers settle, T_update / n_trig_max.
        pub empty_low_s: f64,
        /// The longest interval at which empty triggers settle, T_update / (n_trig_max - 1) + step_min.
        pub empty_high_s: f64,
        /// Lower bound of the bottleneck's rate (7).
        pub rate_low_bps: f64,
        /// Upper bound of the bottleneck's rate, if the line was never idle (8).
        pub rate_high_bps: f64,
    }
}

/// Computes the behaviour of the controller.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents, and if an unstable interval overflows
/// in the given number of steps.
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
    // The product of 1 / ratio_min and ratio_min may differ from one in the last digit.
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
