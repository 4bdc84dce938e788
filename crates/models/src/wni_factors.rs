//! The properties of a wireless interface that limit the energy saved by sleep.
//!
//! M. Hashimoto 2013 (PhD thesis), section 3.6, equations 3.44 to 3.49 and figure 3.13. In one RTT with N gaps, with
//! sleep in all of them:
//!
//! ```text
//! dJ = (P^l - P^s) N t^s - ((P^as - P^l) T^as + (P^sa - P^l) T^sa) N                                     (3.46)
//! P^s <= P^l / 50,   P^as T^as <= 10^-4 s P^l,   P^sa T^sa <= 10^-4 s P^l                      (3.47 to 3.49)
//! ```
//!
//! dJ is the difference of the energies of a round awake (3.44) and asleep in its gaps (3.45), which are results too,
//! with t^s = (RTT/N - m E[t^t] - E[t^r] - T^as - T^sa)^+ and N = ceil(w/m). Symbols: powers in W, times in s, dJ in J.
//! In 3.45 a "+" between t^s and T^as is missing in print.
//!
//! **Interpretation.** Figure 3.13 follows if N t^s, not t^s, is 100 ms: 20 gaps of 5 ms, the defaults. Then the
//! reductions at the critical multipliers named in the text (1 of P^s, 100 of P^as, 0.05 of P^sa and of T^sa) fall
//! short of their limits by 0.8 to 2.4 %. With t^s of 100 ms, as in the text, there is no visible knee there. t^s is
//! constant while T^as and T^sa vary.
//!
//! The model holds if every gap is longer than the transitions. Left out: the effect of sleep on the traffic.

use crate::fields::{outputs, parameters};
use crate::mac_frame::Frames;
use crate::radio::RadioPowers;
use crate::tcp_blocks::check_window;
use crate::{ModelError, not_negative, positive, require};

#[cfg(test)]
mod tests;

/// Largest P^s / P^l (3.47).
pub const SLEEP_POWER_LIMIT: f64 = 1.0 / 50.0;
/// Largest P^as T^as / P^l and P^sa T^sa / P^l, in seconds (3.48, 3.49).
pub const TRANSITION_LIMIT_S: f64 = 1e-4;

parameters! {
    /// Parameters of the model.
    pub struct Params {
        /// N^st, number of gaps in a round trip, with sleep in all of them.
        pub gaps: f64 = 20.0,
        /// t^s, sleep in a gap.
        pub gap_sleep_s: f64 = 0.005,
        /// The radio.
        pub radio: RadioPowers = RadioPowers::default(),
        /// w, the window of the round of 3.44 and 3.45, 1 or more. If it does not fit into the RTT, the round lasts as
        /// long as its frames.
        pub window_packets: f64 = 20.0,
        /// m, data packets in a burst of that round, 1 or more.
        pub m: u32 = 1,
        /// RTT of that round.
        pub rtt_s: f64 = 0.1,
        /// The frames of that round.
        pub frames: Frames = Frames::default(),
    }
}

outputs! {
    /// The reduction, its distance from its limits, and the design conditions.
    pub struct Output {
        /// dJ, the energy saved in a round (3.46).
        pub reduction_j: f64,
        /// Part of the reduction that is missing because P^s is above zero.
        pub short_of_sleep_power: f64,
        /// Part that is missing because P^as is above zero.
        pub short_of_to_sleep_power: f64,
        /// Part that is missing because P^sa is above zero.
        pub short_of_wake_up_power: f64,
        /// Part that is missing because T^as is above zero.
        pub short_of_to_sleep_time: f64,
        /// Part that is missing because T^sa is above zero.
        pub short_of_wake_up_time: f64,
        /// P^s / P^l; 3.47 requires at most 0.02.
        pub sleep_power_ratio: f64,
        /// P^as T^as / P^l; 3.48 requires at most 0.1 ms.
        pub to_sleep_cost_s: f64,
        /// P^sa T^sa / P^l; 3.49 requires at most 0.1 ms.
        pub wake_up_cost_s: f64,
        /// Number of the three conditions that hold.
        pub conditions: f64,
        /// Energy of the round awake (3.44).
        pub round_cam_j: f64,
        /// Energy of the round asleep in its gaps (3.45), or awake if they are too short.
        pub round_sleep_j: f64,
        /// t^s of that round.
        pub round_gap_sleep_s: f64,
    }
}

/// dJ (3.46).
fn reduction_j(radio: &RadioPowers, gaps: f64, sleep_s: f64) -> f64 {
    let listen_w = radio.listen_w;
    let transitions_j =
        (radio.to_sleep_w - listen_w) * radio.to_sleep_s + (radio.wake_up_w - listen_w) * radio.wake_up_s;
    (listen_w - radio.sleep_w) * gaps * sleep_s - transitions_j * gaps
}

/// Computes the reduction and its conditions.
///
/// # Errors
/// Returns an error for a parameter outside the range that [`Params`] documents, and for a radio that saves nothing
/// even in the limit.
pub fn solve(params: &Params) -> Result<Output, ModelError> {
    check(params)?;
    let Params { gaps, gap_sleep_s, radio, .. } = *params;
    let reduction = reduction_j(&radio, gaps, gap_sleep_s);
    let short_of = |better: RadioPowers| {
        let limit = reduction_j(&better, gaps, gap_sleep_s);
        if limit == 0.0 { 0.0 } else { 1.0 - reduction / limit }
    };
    let ratios = [
        radio.sleep_w / radio.listen_w,
        radio.to_sleep_w * radio.to_sleep_s / radio.listen_w,
        radio.wake_up_w * radio.wake_up_s / radio.listen_w,
    ];
    // A limit that is met to the last digit counts as met: 0.016 / 0.8 is 0.02 by definition of the limit.
    let limits = [SLEEP_POWER_LIMIT, TRANSITION_LIMIT_S, TRANSITION_LIMIT_S];
    let conditions =
        ratios.iter().zip(limits).filter(|(ratio, limit)| **ratio <= limit * (1.0 + 1e-12)).count();
    let round = round(params);
    Ok(Output {
        reduction_j: reduction,
        short_of_sleep_power: short_of(RadioPowers { sleep_w: 0.0, ..radio }),
        short_of_to_sleep_power: short_of(RadioPowers { to_sleep_w: 0.0, ..radio }),
        short_of_wake_up_power: short_of(RadioPowers { wake_up_w: 0.0, ..radio }),
        short_of_to_sleep_time: short_of(RadioPowers { to_sleep_s: 0.0, ..radio }),
        short_of_wake_up_time: short_of(RadioPowers { wake_up_s: 0.0, ..radio }),
        sleep_power_ratio: ratios[0],
        to_sleep_cost_s: ratios[1],
        wake_up_cost_s: ratios[2],
        conditions: conditions as f64,
        round_cam_j: round.cam_j,
        round_sleep_j: round.sleep_j,
        round_gap_sleep_s: round.gap_sleep_s,
    })
}

struct Round {
    cam_j: f64,
    sleep_j: f64,
    gap_sleep_s: f64,
}

/// 3.44 and 3.45.
fn round(params: &Params) -> Round {
    let Params { radio, window_packets, rtt_s, frames, .. } = params;
    let (air, m) = (frames.exchanges(radio), f64::from(params.m));
    let gaps = gaps(params);
    let work_j = window_packets * air.uplink_j + gaps * air.downlink_j;
    // Frames that do not fit into a round trip make the round longer.
    let idle_s = (rtt_s - window_packets * air.uplink_s - gaps * air.downlink_s).max(0.0);
    let cam_j = work_j + radio.listen_w * idle_s;
    let gap_sleep_s = rtt_s / gaps - m * air.uplink_s - air.downlink_s - radio.transition_s();
    if gap_sleep_s <= 0.0 {
        return Round { cam_j, sleep_j: cam_j, gap_sleep_s: 0.0 };
    }
    let left_s = idle_s - gaps * (gap_sleep_s + radio.transition_s());
    let asleep_j = gaps * (radio.sleep_w * gap_sleep_s + radio.transition_j());
    Round { cam_j, sleep_j: work_j + asleep_j + radio.listen_w * left_s, gap_sleep_s }
}

/// N of 3.44: the gaps of the round, one for each acknowledgement.
fn gaps(params: &Params) -> f64 {
    (params.window_packets / f64::from(params.m) - 1e-9).ceil()
}

fn check(params: &Params) -> Result<(), ModelError> {
    positive("gaps", params.gaps)?;
    not_negative("gap_sleep_s", params.gap_sleep_s)?;
    params.radio.check()?;
    check_window("window_packets", params.window_packets)?;
    require(params.m >= 1, "m", f64::from(params.m), "1 or more packets")?;
    positive("rtt_s", params.rtt_s)?;
    params.frames.check()
}
