//! Document 004's expression and its consequence.

use proptest::prelude::*;

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// s004.eq.E: the short form without reception.
#[test]
fn s004_eq_e() {
    let params = Params::default();
    let expected = 80e6 / 1e6 * 18.0 + 80e6 / 2e6 * (params.transmit_w - 18.0);
    assert!(near(solve(&params).unwrap().total_j, expected, 1e-12));
}

/// s004.ch7.inverse: the sender idles at 18 W, and energy times throughput is nearly that.
#[test]
fn s004_ch7_inverse() {
    let defaults = Params::default();
    assert!(near(defaults.idle_w, 1.2 * 15.0, 1e-12));
    assert!(near(defaults.transmit_w - defaults.idle_w, 0.60672, 1e-9));
    for throughput_bps in [1e5, 5e5, 1e6, 2e6] {
        let output = solve(&Params { throughput_bps, ..defaults }).unwrap();
        assert!(near(output.inverse_constant_w, 18.0, 0.034 + 1e-3), "{output:?}");
    }
}

#[test]
fn idealized_energy_leaves_out_waiting() {
    let params = Params { received_bytes: 1e5, processing_s: 2.0, ..Params::default() };
    let output = solve(&params).unwrap();
    assert!(near(output.idle_s, 80.0 - 40.0 - 0.4 - 2.0, 1e-12));
    assert!(near(output.idealized_j, output.total_j - 18.0 * output.idle_s, 1e-12));
    assert!(near(output.idealized_per_bit_j, output.idealized_j / 80e6, 1e-12));
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    assert_eq!(error(Params { throughput_bps: 3e6, ..Params::default() }), "throughput_bps");
    assert_eq!(error(Params { throughput_bps: 0.0, ..Params::default() }), "throughput_bps");
    assert_eq!(error(Params { received_bytes: 1e9, ..Params::default() }), "received_bytes");
    assert_eq!(error(Params { processing_s: 50.0, ..Params::default() }), "processing_s");
}

proptest! {
    #[test]
    fn parts_add_up(share in 0.01..1.0_f64, line_rate_bps in 1e5..1e9_f64) {
        let output = solve(&Params { throughput_bps: share * line_rate_bps, line_rate_bps, ..Params::default() }).unwrap();
        prop_assert!(near(output.idle_j + output.transmit_j + output.receive_j, output.total_j, 1e-9));
    }
}
