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

/// The handshake as the sum over all numbers of failed attempts, i there and j back: each row of k failures waits 2^k - 1
/// times the first timeout. Its probability is p^i (1-p) p^j (1-p).
#[test]
fn the_handshake_is_the_sum_over_all_failures() {
    for p in [0.01_f64, 0.1, 0.3] {
        let waits = |k: i32| 2_f64.powi(k) - 1.0;
        let share = |k: i32| p.powi(k) * (1.0 - p);
        let each =
            |i: i32| (0..300).map(|j| share(i) * share(j) * (0.1 + 3.0 * (waits(i) + waits(j)))).sum::<f64>();
        let mean: f64 = (0..300).map(each).sum();
        let output = solve(&Params { p, ..Params::default() }).unwrap();
        assert!(near(output.handshake_s, mean, 1e-6), "p {p}: {} {mean}", output.handshake_s);
    }
}

/// E(d_ss) as the mean over where the first loss is: k packets before it, or all d; and the lost one itself.
#[test]
fn packets_of_slow_start_are_the_mean_over_the_first_loss() {
    for (p, packets) in [(0.001_f64, 700), (0.02, 69), (0.3, 12)] {
        let sent: f64 = (0..packets).map(|k| (1.0 - p).powi(k) * p * f64::from(k)).sum::<f64>()
            + (1.0 - p).powi(packets) * f64::from(packets);
        let file_bytes = 1460.0 * f64::from(packets);
        let output = solve(&Params { p, file_bytes, ..Params::default() }).unwrap();
        assert!(near(output.slow_start_packets, (sent + 1.0).min(f64::from(packets)), 1e-9), "p {p}");
    }
}

/// Rounds that grow by half: where the packets fill whole rounds the logarithm counts them, from any initial window.
#[test]
fn whole_rounds_are_counted() {
    for initial_packets in [1.0, 2.0, 10.0] {
        for rounds in 1..12 {
            let packets: f64 = (0..rounds).map(|k| initial_packets * 1.5_f64.powi(k)).sum();
            let params =
                Params { p: 1e-13, initial_packets, file_bytes: 1460.0 * packets, ..Params::default() };
            let output = solve(&params).unwrap();
            assert!(near(output.slow_start_s, 0.1 * f64::from(rounds), 1e-6), "{initial_packets} {rounds}");
            // The window of the last round.
            assert!(near(output.reached_packets, initial_packets * 1.5_f64.powi(rounds - 1), 1e-6));
        }
    }
}

/// All parts at one point, evaluated apart from this code with 40 digits: p = 0.02, RTT 80 ms, 200 packets, T0 = 0.5 s, b = 2,
/// w1 = 2, Wmax = 16, a handshake timer of 1 s.
#[test]
fn a_point_with_forty_digits() {
    let params = Params {
        p: 0.02,
        rtt_s: 0.08,
        file_bytes: 200.0 * 1460.0,
        rto_s: 0.5,
        syn_timeout_s: 1.0,
        b: 2,
        initial_packets: 2.0,
        window_packets: 16.0,
        delayed_ack_s: 0.0,
        ..Params::default()
    };
    let output = solve(&params).unwrap();
    for (value, expected) in [
        (output.handshake_s, 0.121_666_666_666_667),
        (output.slow_start_s, 0.515_973_663_005_947),
        (output.recovery_s, 0.183_746_794_961_904),
        (output.avoidance_s, 2.777_282_194_991_86),
    ] {
        assert!(near(value, expected, 1e-10), "{value} {expected}");
    }
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
