//! The regression values of the specification, the double sum as it is printed, and components that add up.

use proptest::prelude::*;

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn with_q(q: f64) -> Params {
    Params { frames: Frames { q, ..Frames::default() }, ..Params::default() }
}

#[test]
fn golden_values() {
    let golden = [
        (0.0, [383.627, 130.267, 445.272, 106.525]),
        (0.1, [436.252, 154.741, 502.746, 126.361]),
        (0.2, [509.396, 192.696, 580.479, 157.046]),
        (0.3, [621.122, 259.203, 694.556, 210.663]),
        (0.5, [1160.820, 656.080, 1204.316, 529.468]),
        (0.7, [3075.807, 2279.960, 2895.291, 1831.227]),
    ];
    for (q, expected) in golden {
        let output = solve(&with_q(q)).unwrap();
        let values = [output.uplink_s, output.downlink_s, output.uplink_j, output.downlink_j];
        for (value, expected) in values.iter().zip(expected) {
            assert!((1e6 * value - expected).abs() < 6e-4, "q {q}: {value} {expected}");
        }
    }
}

/// s000.fig4.5: the packet-loss probabilities beside the pictures, and W_bdp of table 3.1.
#[test]
fn s000_fig4_5_loss() {
    for (q, printed) in [(0.1, 1.00e-8), (0.2, 2.56e-6), (0.5, 3.91e-3)] {
        assert!(near(solve(&with_q(q)).unwrap().loss, printed, 2e-3));
    }
    let exchanges = solve(&with_q(0.3)).unwrap();
    assert!(near(0.1 / (exchanges.uplink_s + exchanges.downlink_s), 113.594, 1e-5));
}

/// Equations 3.1 to 3.6 as they are printed, term by term.
fn printed(frames: &Frames) -> f64 {
    let attempt = |i: i32| {
        let window = (16.0 * 2_f64.powi(i - 1) - 1.0).min(1023.0);
        let bytes = RTS_BYTES + 1532.0 + CTS_BYTES + ACK_BYTES;
        3.0 * 16e-6 + 34e-6 + window * 9e-6 / 2.0 + 4.0 * frames.propagation_s + 8.0 * bytes / 54e6
    };
    let last = frames.retries as i32 + 1;
    (1..=last)
        .map(|i| {
            let share = frames.q.powi(i - 1) * if i < last { 1.0 - frames.q } else { 1.0 };
            share * (1..=i).map(attempt).sum::<f64>()
        })
        .sum()
}

#[test]
fn the_printed_double_sum_is_the_same_number() {
    for (q, retries) in [(0.0, 7), (0.3, 0), (0.3, 7), (0.9, 20)] {
        let frames = Frames { q, retries, ..Frames::default() };
        let output = solve(&Params { frames, ..Params::default() }).unwrap();
        assert!(near(output.uplink_s, printed(&frames), 1e-12));
    }
}

#[test]
fn rts_costs_two_frames_and_two_spaces() {
    let bare = Frames { q: 0.0, protection: Protection::None, ..Frames::default() };
    let [with, without] = [Frames { q: 0.0, ..Frames::default() }, bare]
        .map(|frames| solve(&Params { frames, ..Params::default() }).unwrap());
    let expected = 2.0 * 16e-6 + 2.0 * 4.0 / 3e8 + 8.0 * 34.0 / 54e6;
    assert!(near(with.uplink_s - without.uplink_s, expected, 1e-9));
    assert_eq!(with.downlink_s, without.downlink_s);
}

/// The standard's timing agrees with the other model that has it.
#[test]
fn ofdm_timing_is_that_of_the_maximum_throughput() {
    let frames = Frames {
        q: 0.0,
        timing: DurationRule::Ofdm,
        control_rate_bps: 24e6,
        protection: Protection::None,
        propagation_s: 0.0,
        ..Frames::default()
    };
    let cycle = crate::max_throughput::Params::ofdm(54e6, 24e6, 1500.0);
    let expected = crate::max_throughput::solve(&cycle).unwrap().cycle_s;
    assert!(near(solve(&Params { frames, ..Params::default() }).unwrap().uplink_s, expected, 1e-12));
}

#[test]
fn bad_parameters_are_named() {
    for (q, retries) in [(1.0, 7), (-0.1, 7), (f64::NAN, 7), (f64::INFINITY, 7), (0.1, 256)] {
        let frames = Frames { q, retries, ..Frames::default() };
        let error = solve(&Params { frames, ..Params::default() }).unwrap_err();
        assert_eq!(error.parameter, if retries > 255 { "retries" } else { "q" });
    }
    let narrow = Frames { cw_max: 7, ..Frames::default() };
    assert_eq!(solve(&Params { frames: narrow, ..Params::default() }).unwrap_err().parameter, "cw_max");
    let dark = Params { listen_w: -1.0, ..Params::default() };
    assert_eq!(solve(&dark).unwrap_err().parameter, "listen_w");
}

proptest! {
    #[test]
    fn components_add_up(q in 0.0..0.99_f64, retries in 0_u32..30) {
        let frames = Frames { q, retries, ..Frames::default() };
        let output = solve(&Params { frames, ..Params::default() }).unwrap();
        let uplink_s = output.uplink_transmit_s + output.uplink_receive_s + output.uplink_listen_s;
        prop_assert!(near(uplink_s, output.uplink_s, 1e-12));
        let uplink_j = 1.4 * output.uplink_transmit_s + 0.9 * output.uplink_receive_s + 0.8 * output.uplink_listen_s;
        prop_assert!(near(uplink_j, output.uplink_j, 1e-12));
        prop_assert!(output.attempts >= 1.0 && output.attempts <= f64::from(retries) + 1.0);
    }
}
