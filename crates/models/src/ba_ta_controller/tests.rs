//! The appendix of the BA-TA paper: the recursion against its solution; the times of sections 4.1 and 4.2.

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn with(gain: f64, steps: u32) -> Params {
    Params { gain, steps, ..Params::default() }
}

/// Equation 9 step by step, with ratio = B / interval.
fn iterated(params: &Params) -> Vec<f64> {
    let mut interval_s = params.interval_s;
    (0..params.steps)
        .map(|_| {
            let ratio = params.b_s / interval_s;
            interval_s *= 1.0 + params.gain * (ratio - params.ratio_min);
            interval_s
        })
        .collect()
}

#[test]
fn s001_appendix_the_recursion_is_its_solution() {
    for gain in [-0.5, 0.1, 0.5, 0.9, 1.0, 1.5, 2.0, 2.5] {
        for steps in 1..12 {
            let params = with(gain, steps);
            let expected = *iterated(&params).last().unwrap();
            assert!((solve(&params).unwrap().after_s - expected).abs() < 1e-12 * (1.0 + expected.abs()));
        }
    }
}

#[test]
fn s001_appendix_stability() {
    let multipliers = [(0.1, 0.91), (0.5, 0.55), (0.9, 0.19)];
    for (gain, multiplier) in multipliers {
        let output = solve(&with(gain, 200)).unwrap();
        assert!(near(output.multiplier, multiplier, 1e-12));
        assert_eq!(output.stability, Stability::Monotone);
        assert!(near(output.after_s, output.fixed_point_s, 1e-6), "no error is left");
    }
    let stability = |gain| solve(&with(gain, 3)).unwrap().stability;
    assert_eq!([-0.1, 0.0, 2.0 / 0.9, 3.0].map(stability), [Stability::Unstable; 4]);
    assert_eq!(stability(1.0 / 0.9), Stability::DeadBeat);
    assert_eq!([1.2, 2.2].map(stability), [Stability::Oscillating; 2]);
    let output = solve(&Params::default()).unwrap();
    assert!(near(output.dead_beat_gain, 1.11, 2e-3) && near(output.unstable_gain, 2.22, 2e-3));
    assert!(near(output.fixed_point_s, 0.04, 1e-12));
    // What the words say, on the recursion itself.
    let distances =
        |gain| -> Vec<f64> { iterated(&with(gain, 8)).iter().map(|interval| interval - 0.04).collect() };
    assert!(distances(0.5).windows(2).all(|pair| pair[1] > 0.0 && pair[1] < pair[0]));
    assert!(distances(1.5).windows(2).all(|pair| pair[1] * pair[0] < 0.0 && pair[1].abs() < pair[0].abs()));
    assert!(distances(2.4).windows(2).all(|pair| pair[1].abs() > pair[0].abs()));
    assert!(near(iterated(&with(1.0 / 0.9, 1))[0], 0.04, 1e-12));
}

#[test]
fn s001_sec4_2_recovery() {
    let output = solve(&Params { attempts: 5, count: 10, ..Params::default() }).unwrap();
    assert!(near(output.recovery_s, 5.0, 1e-12));
}

#[test]
fn s001_sec4_1_empty_triggers() {
    let output = solve(&Params::default()).unwrap();
    assert!(near(output.empty_low_s, 0.025, 1e-12) && near(output.empty_high_s, 0.0433, 1e-2));
}

/// s001 equations 7 and 8: a line that sends back to back between two looks is within its bounds.
#[test]
fn s001_eq7_and_8_bound_the_rate() {
    let (rate, packet_s) = (16e6, 12e3 / 16e6_f64);
    for (offset, spacing_s) in [(0.0, 0.02), (0.3, 0.02), (0.9, 0.0333), (0.5, 0.1)] {
        // Packets whose end lies in the spacing.
        let packets = (spacing_s / packet_s + offset).floor();
        let output = solve(&Params { packets, spacing_s, ..Params::default() }).unwrap();
        assert!(output.rate_low_bps <= rate && rate <= output.rate_high_bps);
    }
    // Ten packets of 12 kbit in 20 ms: they may have been nine, or eleven.
    let output =
        solve(&Params { packets: 10.0, spacing_s: 0.02, mtu_bytes: 1_500.0, ..Params::default() }).unwrap();
    assert!(near(output.rate_low_bps, 5.4e6, 1e-12) && near(output.rate_high_bps, 6.6e6, 1e-12));
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    assert_eq!(error(with(f64::NAN, 1)), "gain");
    assert_eq!(error(Params { ratio_min: 0.0, ..Params::default() }), "ratio_min");
    assert_eq!(error(Params { triggers: 1, ..Params::default() }), "triggers");
    assert_eq!(error(with(1e6, 1_000_000)), "steps");
}
