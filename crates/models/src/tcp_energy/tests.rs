//! The regression values of the specification, the figures of the source, the sums of rounds term by term.

use proptest::prelude::*;

use super::*;
use crate::tcp_blocks::p_of_window;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn at(p: f64, rtt_s: f64, m: u32) -> Params {
    Params { p, rtt_s, m, ..Params::default() }
}

fn ratio(p: f64, rtt_s: f64, m: u32) -> f64 {
    solve(&at(p, rtt_s, m)).unwrap().ratio
}

/// W_bdp, W, r_td, r_ss, T, T with bursts, J_cam, J_sleep, ratio, T^s, n^st, Q, what is left for listening.
const GOLDEN: [(f64, u32, [f64; 13]); 10] = [
    (
        1e-4,
        1,
        [
            113.5945, 164.2942, 94.5729, 48.6777, 6.6038, 6.6038, 6.6208, 6.1700, 0.9319, 0.6245, 64.6670,
            0.0187, 0.2033,
        ],
    ),
    (
        1e-4,
        5,
        [
            148.5967, 164.2942, 84.0026, 38.9718, 5.4460, 6.3051, 5.6786, 5.1393, 0.9050, 0.7883, 131.2727,
            0.0187, 0.0714,
        ],
    ),
    (
        1e-3,
        1,
        [
            113.5945, 52.6236, 27.3118, 14.6286, 17.3053, 17.3053, 15.1826, 14.0716, 0.9268, 5.7782,
            5698.3917, 0.0613, 0.0564,
        ],
    ),
    (
        1e-3,
        5,
        [
            148.5967, 52.6236, 27.3118, 12.9431, 17.1367, 19.6097, 15.0312, 6.9207, 0.4604, 11.2803,
            1222.0058, 0.0613, 0.1672,
        ],
    ),
    (
        1e-2,
        1,
        [
            113.5945, 17.2788, 9.6394, 6.6582, 91.7267, 91.7267, 74.7193, 16.1216, 0.2158, 79.6559,
            6420.7139, 0.2105, -0.0886,
        ],
    ),
    (
        1e-2,
        5,
        [
            148.5967, 17.2788, 9.6394, 6.6582, 91.7267, 120.9803, 74.7031, 8.7692, 0.1174, 85.2707,
            1530.4940, 0.2105, 0.4649,
        ],
    ),
    (
        3e-2,
        1,
        [
            113.5945, 10.3393, 6.1696, 5.1015, 284.4604, 284.4604, 228.9052, 19.9107, 0.0870, 271.7905,
            6815.3926, 0.3823, 0.2039,
        ],
    ),
    (
        3e-2,
        5,
        [
            148.5967, 10.3393, 6.1696, 5.1015, 284.4604, 432.6893, 228.8899, 13.2588, 0.0579, 276.5473,
            1970.1105, 0.3823, 1.4996,
        ],
    ),
    (
        1e-1,
        1,
        [
            113.5945, 6.0000, 4.0000, 3.4594, 1268.3165, 1268.3165, 1015.9876, 33.7838, 0.0333, 1257.4265,
            6030.9633, 0.6926, -0.6022,
        ],
    ),
    (
        1e-1,
        5,
        [
            148.5967, 6.0000, 4.0000, 3.4594, 1268.3165, 2399.4396, 1015.9742, 28.7665, 0.0283, 1260.8995,
            2229.0811, 0.6926, 0.7820,
        ],
    ),
];

#[test]
fn golden_values() {
    for (p, m, expected) in GOLDEN {
        let output = solve(&Params { accounting: Accounting::Unclamped, ..at(p, 0.1, m) }).unwrap();
        let values = [
            output.pipe_packets,
            output.loss_window_packets,
            output.period_rounds,
            output.slow_start_rounds,
            output.total_s,
            output.burst_total_s,
            output.cam_j,
            output.ideal_j,
            output.ratio,
            output.sleep_s,
            output.sleeps,
            output.timeout_share,
            output.idle_s,
        ];
        for (index, (value, expected)) in values.iter().zip(expected).enumerate() {
            assert!((value - expected).abs() < 6e-5, "p {p} m {m}, {index}: {value} {expected}");
        }
    }
}

/// The default differs from the golden values only where listening would be negative, and there by listening only.
#[test]
fn the_clamp_moves_nothing_else() {
    for (p, m, _) in GOLDEN {
        let repaired = solve(&at(p, 0.1, m)).unwrap();
        let bare = solve(&Params { accounting: Accounting::Unclamped, ..at(p, 0.1, m) }).unwrap();
        assert_eq!(repaired.overlap_s, (-bare.idle_s).max(0.0));
        assert!(repaired.overlap_s < 0.001 * repaired.total_s + 0.01);
        assert!(near(repaired.ideal_j, bare.ideal_j + 0.8 * repaired.overlap_s, 1e-12));
    }
}

/// Counted twice, as printed, listening comes out far below zero (equations.md 5.3).
#[test]
fn the_printed_accounting_counts_a_round_twice() {
    for (p, idle_s) in [(0.01, -4.9), (0.03, -14.0), (0.1, -40.77)] {
        let output = solve(&Params { accounting: Accounting::Printed, ..at(p, 0.1, 1) }).unwrap();
        assert!(near(output.idle_s, idle_s, 0.03), "{p}: {}", output.idle_s);
    }
}

/// 3.14 meets itself at W = W_bdp and W = 2 W_bdp.
#[test]
fn s000_eq3_14_is_continuous() {
    for (window, pipe) in [(101.0, 101.0), (120.0, 60.0)] {
        let good = (1.0 - p_of_window(window)) / p_of_window(window);
        let (below, above) = (pipe * (1.0 - 1e-9), pipe * (1.0 + 1e-9));
        assert!(near(period_rounds(good, window, below), period_rounds(good, window, above), 1e-6));
    }
    assert!(near(period_rounds((1.0 - p_of_window(101.0)) / p_of_window(101.0), 101.0, 101.0), 51.5, 1e-12));
}

#[test]
fn s000_fig3_7_sleep_pays_at_large_p_only() {
    let solved = |p, rtt_s| solve(&at(p, rtt_s, 1)).unwrap();
    let small = solved(1e-4, 0.1);
    assert!(near(small.cam_j, 6.62, 1e-3) && near(small.ideal_j, 6.17, 1e-3));
    assert!(small.ratio > 0.9);
    let large = solved(0.05, 0.1);
    assert!(near(large.cam_j, 420.0, 0.002) && near(large.ideal_j, 24.1, 0.005));
    assert!(large.ratio < 0.3);
    for p in [1e-4, 1e-3, 1e-2, 0.05] {
        for pair in [0.05, 0.1, 0.2, 0.3].windows(2) {
            let [short, long] = [solved(p, pair[0]), solved(p, pair[1])];
            assert!(short.cam_j <= long.cam_j && short.ideal_j <= 1.02 * long.ideal_j, "{p} {pair:?}");
        }
    }
}

#[test]
fn s000_fig3_10_reductions_at_p_of_a_thousandth() {
    for rto_s in [3.0, 6.0] {
        let ratio = |m| solve(&Params { rto_s, ..at(1e-3, 0.1, m) }).unwrap().ratio;
        assert!((1.0 - ratio(1) - 0.10).abs() <= 0.05);
        assert!((ratio(1) - ratio(5) - 0.50).abs() <= 0.06);
    }
    assert!((1.0 - ratio(1e-3, 0.1, 1) - 0.073).abs() < 5e-4);
    assert!((ratio(1e-3, 0.1, 1) - ratio(1e-3, 0.1, 5) - 0.466).abs() < 5e-4);
    let gains: Vec<f64> =
        [1, 2, 5, 10].windows(2).map(|m| ratio(1e-3, 0.1, m[0]) - ratio(1e-3, 0.1, m[1])).collect();
    assert!(gains.windows(2).all(|pair| pair[1] < pair[0]), "{gains:?}");
}

#[test]
fn s000_fig3_11_bursts_help_most_at_small_rtt() {
    let printed = [(0.05, 0.297, 0.154), (0.1, 0.216, 0.114), (0.2, 0.143, 0.079)];
    for (rtt_s, one, ten) in printed {
        assert!(
            (ratio(0.01, rtt_s, 1) - one).abs() < 1.5e-3 && (ratio(0.01, rtt_s, 10) - ten).abs() < 1.5e-3
        );
    }
    let gain = |rtt_s| ratio(0.01, rtt_s, 1) - ratio(0.01, rtt_s, 10);
    assert!(gain(0.05) > gain(0.1) && gain(0.1) > gain(0.2) && gain(0.2) > gain(0.3));
    for rtt_s in [0.05, 0.1, 0.2, 0.3] {
        assert!((ratio(0.01, rtt_s, 5) - ratio(0.01, rtt_s, 10)).abs() < 6e-3, "converges in m");
    }
}

#[test]
fn s000_fig3_12_latency_is_linear_in_m() {
    let latency = |rtt_s, m| solve(&at(0.01, rtt_s, m)).unwrap().burst_total_s;
    let slope = |rtt_s| latency(rtt_s, 2) - latency(rtt_s, 1);
    for m in 2..10 {
        assert!(near(latency(0.1, m + 1) - latency(0.1, m), slope(0.1), 1e-9));
    }
    assert!(slope(0.3) > slope(0.2) && slope(0.2) > slope(0.05));
}

/// s000.sec3.5.summary, the four rules.
#[test]
fn s000_sec3_5_rules() {
    assert!(
        ratio(0.05, 0.1, 1) < 0.1 && ratio(1e-3, 0.1, 1) > 0.9,
        "large p: m = 1 is enough; small p: it is not"
    );
    assert!(ratio(1e-3, 0.1, 10) < 0.5, "bursts help where p is small");
    let delay = |rtt_s| {
        let output = solve(&at(0.01, rtt_s, 5)).unwrap();
        output.burst_total_s - output.total_s
    };
    let saved = |rtt_s| ratio(0.01, rtt_s, 1) - ratio(0.01, rtt_s, 5);
    assert!(saved(0.3) < saved(0.05) && delay(0.3) > delay(0.05));
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    for p in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(error(at(p, 0.1, 1)), "p");
    }
    for rtt_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(error(at(0.01, rtt_s, 1)), "rtt_s");
    }
    assert_eq!(error(at(0.01, 0.1, 0)), "m");
    assert_eq!(error(Params { initial_packets: 0.5, ..at(0.01, 0.1, 1) }), "initial_packets");
    let hopeless = Frames { q: 1.0, ..Frames::default() };
    assert_eq!(error(Params { frames: hopeless, ..at(0.01, 0.1, 1) }), "q");
}

/// 3.26 and 3.33 as they are printed: one round after the other.
fn summed(window: f64, rounds: f64, rtt_s: f64, m: u32) -> [f64; 2] {
    let air = Frames::default().exchanges(&RadioPowers::default());
    let m = f64::from(m);
    let busy_s = m * air.uplink_s + air.downlink_s + RadioPowers::default().transition_s();
    let (mut time_s, mut times, mut k) = (0.0, 0.0, 0);
    while f64::from(k) < rounds {
        let packets = if k == 0 { window / 2.0 } else { window / 2.0 + f64::from(k) - 1.0 };
        let gaps = (packets / m - 1e-9).ceil();
        let sleep_s = rtt_s / gaps - busy_s;
        let share = (rounds - f64::from(k)).min(1.0);
        if sleep_s > 0.0 {
            time_s += share * gaps * sleep_s;
            times += share * gaps;
        }
        k += 1;
    }
    [time_s, times]
}

proptest! {
    #[test]
    fn sums_have_a_closed_form(window in 2.0..400.0_f64, rounds in 0.0..300.0_f64, rtt_s in 0.005..0.5_f64, m in 1_u32..20) {
        let air = Frames::default().exchanges(&RadioPowers::default());
        let gaps = Gaps::new(rtt_s, m, &air, RadioPowers::default().transition_s());
        let slept = gaps.avoidance(window, rounds);
        let [time_s, times] = summed(window, rounds, rtt_s, m);
        prop_assert!((slept.time_s - time_s).abs() < 1e-9 * (1.0 + time_s), "{slept:?} {time_s}");
        prop_assert!((slept.times - times).abs() < 1e-6, "{slept:?} {times}");
    }

    /// Everything finite, parts that add up, sleep that never costs time.
    #[test]
    fn any_point_is_sound(log_p in -9.0..-0.01_f64, rtt_s in 0.001..2.0_f64, m in 1_u32..100, q in 0.0..0.95_f64, rto_s in 0.0..10.0_f64, w1 in 1.0..20.0_f64) {
        let p = 10_f64.powf(log_p);
        let frames = Frames { q, ..Frames::default() };
        let params = Params { rto_s, frames, initial_packets: w1, ..at(p, rtt_s, m) };
        let output = solve(&params).unwrap();
        let ideal_j = output.transmit_j + output.receive_j + output.idle_j + output.sleep_j + output.transition_j;
        prop_assert!(near(ideal_j, output.ideal_j, 1e-12));
        let ideal_s = output.transmit_s + output.receive_s + output.idle_s + output.sleep_s + output.transition_s;
        prop_assert!(near(ideal_s - output.overlap_s, output.total_s, 1e-9));
        // The path loses packets that have come through the air.
        let lost = output.air_loss + (1.0 - output.air_loss) * output.path_loss;
        prop_assert!((lost - params.p).abs() < 1e-12, "{lost} of {}", params.p);
        prop_assert!(output.total_s > 0.0 && output.sleep_s >= 0.0 && output.sleeps >= 0.0 && output.idle_s >= 0.0);
    }
}
