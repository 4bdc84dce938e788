//! Limits and worked values of the throughput formulas, and the blocks under them.

use proptest::prelude::*;

use super::*;
use crate::tcp_blocks::{fails, p_of_window};

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// The specification's E(W) and Q, for b = 1.
#[test]
fn golden_blocks() {
    for (p, w, q) in [(1e-3, 52.6236, 0.06126), (1e-2, 17.2788, 0.21048), (1e-1, 6.0000, 0.69263)] {
        assert!((window(p, 1.0) - w).abs() < 6e-5);
        assert!((timeout_probability(window(p, 1.0), p) - q).abs() < 6e-6);
        assert!(near(p_of_window(w), p, 1e-4));
    }
    // 3/w for small p, not 6p.
    assert!(near(timeout_probability(1000.0, 1e-9), 3e-3, 1e-3));
    assert_eq!(timeout_probability(2.5, 0.01), 1.0);
    let p = 0.1_f64;
    let sum =
        1.0 + p + 2.0 * p.powi(2) + 4.0 * p.powi(3) + 8.0 * p.powi(4) + 16.0 * p.powi(5) + 32.0 * p.powi(6);
    assert!(near(backoff_factor(p), sum, 1e-15));
    assert!(near(fails(0.1, 3.0), 1.0 - 0.9_f64.powi(3), 1e-14));
}

/// Equation 32 by hand at p = 0.1, b = 1: W = 6, good = 9, Q as above.
#[test]
fn padhye_by_hand() {
    let q = 0.692_63;
    let wait_s = q * backoff_factor(0.1) * 1.0 / 0.9;
    let expected = 8.0 * 1460.0 * (9.0 + 6.0 + q / 0.9) / (0.1 * 4.0 + wait_s);
    let output = solve(&Params { p: 0.1, b: 1, ..Params::default() }).unwrap();
    assert!(near(output.throughput_bps, expected, 1e-5));
    assert!(near(output.goodput_bps, expected * (9.0 + 3.0 + q) / (15.0 + q / 0.9), 1e-5));
    assert!(near(output.timeout_time_share, wait_s / (0.4 + wait_s), 1e-5));
}

/// At small p everything is the square-root law, and sent is what arrives.
#[test]
fn small_p_is_the_square_root_law() {
    for b in [1, 2] {
        let output = solve(&Params { p: 1e-7, b, rto_s: 0.5, ..Params::default() }).unwrap();
        assert!(near(output.throughput_bps, output.mathis_bps, 0.01));
        assert!(near(output.approximate_bps, output.mathis_bps, 0.01));
        assert!(near(output.goodput_bps, output.mathis_bps, 0.01));
    }
    // Mathis et al.: C = 1.22 with an acknowledgement for each packet, 0.87 with delayed ones.
    let constant = |b| {
        solve(&Params { p: 1e-4, b, ..Params::default() }).unwrap().mathis_bps / (8.0 * 1460.0) * 0.1 * 0.01
    };
    assert!(near(constant(1), 1.22, 4e-3) && near(constant(2), 0.87, 6e-3));
}

#[test]
fn a_window_limits() {
    let output = solve(&Params { p: 1e-6, window_packets: 10.0, ..Params::default() }).unwrap();
    let limit = 8.0 * 1460.0 * 10.0 / 0.1;
    assert!(near(output.throughput_bps, limit, 0.01));
    assert_eq!((output.approximate_bps, output.mathis_bps), (limit, limit));
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    for p in [0.0, 1.0, f64::NAN] {
        assert_eq!(error(Params { p, ..Params::default() }), "p");
    }
    assert_eq!(error(Params { rtt_s: 0.0, ..Params::default() }), "rtt_s");
    assert_eq!(error(Params { b: 0, ..Params::default() }), "b");
    assert_eq!(error(Params { window_packets: 0.9, ..Params::default() }), "window_packets");
}

proptest! {
    #[test]
    fn more_loss_is_less_throughput(log_p in -6.0..-0.4_f64, rtt_s in 0.001..1.0_f64) {
        let solved = |p| solve(&Params { p, rtt_s, ..Params::default() }).unwrap();
        let (less, more) = (solved(10_f64.powf(log_p)), solved(10_f64.powf(log_p + 0.3)));
        prop_assert!(more.goodput_bps < less.goodput_bps);
        prop_assert!(less.goodput_bps <= less.throughput_bps * (1.0 + 1e-12));
    }
}
