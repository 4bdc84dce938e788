//! The latency model's limits: no loss, long transfers, and its parts.

use proptest::prelude::*;

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// Without loss 1 + 2 + 4 + 8 packets take four rounds, and the handshake one more.
#[test]
fn without_loss_the_window_doubles() {
    let params =
        Params { p: 1e-12, b: 1, file_bytes: 15.0 * 1460.0, delayed_ack_s: 0.0, ..Params::default() };
    let output = solve(&params).unwrap();
    assert!(near(output.slow_start_s, 0.4, 1e-6) && near(output.total_s, 0.5, 1e-6));
    assert!(near(output.reached_packets, 8.0, 1e-6));
    // With a limit of four the last eight packets take two rounds at it.
    let limited = solve(&Params { window_packets: 4.0, ..params }).unwrap();
    assert!(near(limited.slow_start_s, 0.1 * (2.0 + 1.0 + (15.0 - 7.0) / 4.0), 1e-6));
}

#[test]
fn a_long_transfer_goes_at_the_steady_rate() {
    let output = solve(&Params { file_bytes: 1e10, ..Params::default() }).unwrap();
    let steady = crate::tcp_throughput::Params { p: 0.01, ..Default::default() };
    let goodput_bps = crate::tcp_throughput::solve(&steady).unwrap().goodput_bps;
    assert!(near(output.throughput_bps, goodput_bps, 1e-3));
}

#[test]
fn the_handshake_waits_for_lost_packets() {
    let output = solve(&Params { p: 0.1, ..Params::default() }).unwrap();
    assert!(near(output.handshake_s, 0.1 + 3.0 * 2.0 * (0.9 / 0.8 - 1.0), 1e-12));
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    for p in [0.0, 0.5, 1.0, f64::NAN] {
        assert_eq!(error(Params { p, ..Params::default() }), "p");
    }
    assert_eq!(error(Params { initial_packets: 0.0, ..Params::default() }), "initial_packets");
    assert_eq!(
        error(Params { initial_packets: 10.0, window_packets: 5.0, ..Params::default() }),
        "window_packets"
    );
    assert_eq!(error(Params { file_bytes: 0.0, ..Params::default() }), "file_bytes");
}

proptest! {
    #[test]
    fn parts_add_up(log_p in -6.0..-0.4_f64, file_bytes in 1.0..1e8_f64, b in 1_u32..3) {
        let output = solve(&Params { p: 10_f64.powf(log_p), file_bytes, b, ..Params::default() }).unwrap();
        let parts = output.handshake_s + output.slow_start_s + output.recovery_s + output.avoidance_s + output.delayed_ack_s;
        prop_assert!(near(parts, output.total_s, 1e-12));
        prop_assert!(output.avoidance_s >= 0.0 && output.slow_start_s > 0.0);
    }
}
