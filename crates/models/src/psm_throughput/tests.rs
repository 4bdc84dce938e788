//! The numbers of the BA-TA paper's equations 1 to 6, and the model's own values that the specification lists.

use proptest::prelude::*;

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn at(rtt_ms: f64) -> Params {
    Params { rtt_s: rtt_ms * 1e-3, ..Params::default() }
}

fn megabits(params: Params) -> f64 {
    solve(&params).unwrap().window_limit_bps / 1e6
}

#[test]
fn s001_eq1_needed_window() {
    let needed = |rtt_ms, down_bps| solve(&Params { down_bps, ..at(rtt_ms) }).unwrap().needed_packets;
    assert!((needed(20.0, 1.024e6) - 8.53).abs() < 0.005);
    assert!((needed(20.0, 16e6) - 133.3).abs() < 0.05);
    assert_eq!(needed(310.0, 1.024e6).floor(), 34.0);
}

#[test]
fn s001_fn9_packet_time() {
    let output = solve(&Params { down_bps: 1e6, ..at(20.0) }).unwrap();
    assert!(near(output.effective_rtt_s / output.needed_packets, 12e-3, 1e-12));
}

#[test]
fn s001_eq2_largest_burst() {
    let burst = |queue_packets, up_bps, ack_bytes| {
        solve(&Params { queue_packets, up_bps, ack_bytes, ..Params::default() }).unwrap().burst_packets
    };
    assert_eq!(burst(40.0, 1e6, 52.0).floor(), 89.0);
    assert!(near(burst(40.0, 1e6, 40.0), 69.8, 1e-3), "without timestamps");
    assert!(near(burst(50.0, 1e6, 52.0), 112.3, 1e-3) && near(burst(50.0, 3e6, 52.0), 61.3, 1e-3));
}

#[test]
fn s001_eq2_trend() {
    for rtt_ms in [20.0, 50.0, 110.0, 150.0] {
        let solved = |up_bps| solve(&Params { up_bps, ..at(rtt_ms) }).unwrap();
        assert!(solved(1e6).burst_packets > solved(2e6).burst_packets);
        assert!(solved(1e6).throughput_bps > solved(3e6).throughput_bps);
    }
}

#[test]
fn s001_ackcomp_wifi() {
    let output = solve(&Params { bottleneck: Bottleneck::Wifi, ..Params::default() }).unwrap();
    assert!(near(output.compression, 1500.0 / 52.0, 1e-12));
    assert_eq!(output.regime, Regime::AccessPoint);
    assert!(near(output.window_limit_bps, 0.75 * 100.0 / 0.1 * 12e3, 1e-12), "equation 6");
    let far = solve(&Params { bottleneck: Bottleneck::Wifi, ..at(110.0) }).unwrap();
    assert!(near(far.window_limit_bps, 0.75 * 100.0 / 0.2 * 12e3, 1e-12));
}

#[test]
fn s001_sec2_2_3_time_to_the_beacon() {
    for (rtt_ms, left_s) in [(110.0, 0.09), (150.0, 0.05), (20.0, 0.08), (100.0, 0.1), (300.0, 0.1)] {
        assert!(near(solve(&at(rtt_ms)).unwrap().to_beacon_s, left_s, 1e-6), "{rtt_ms}");
    }
}

/// s001.fig8a, and every value that the specification lists for fast DSL with 50 packets.
#[test]
fn s001_fig8a_model_values() {
    let values =
        [(50.0, 9.6363), (110.0, 5.0524), (150.0, 8.3283), (210.0, 3.3683), (250.0, 8.1062), (310.0, 2.5262)];
    for (rtt_ms, expected) in values {
        assert!((megabits(at(rtt_ms)) - expected).abs() < 6e-5, "{rtt_ms}: {}", megabits(at(rtt_ms)));
    }
    let listed = [
        (10.0, 10.1),
        (30.0, 10.1),
        (70.0, 8.0),
        (90.0, 6.0),
        (130.0, 5.05),
        (140.0, 9.3),
        (190.0, 4.4),
        (230.0, 3.4),
        (240.0, 9.2),
        (290.0, 3.6),
    ];
    for (rtt_ms, expected) in listed {
        assert!((megabits(at(rtt_ms)) - expected).abs() < 0.06, "{rtt_ms}: {}", megabits(at(rtt_ms)));
    }
    for rtt_ms in (10..=310).step_by(10) {
        let slow = Params { up_bps: 3e6, ..at(f64::from(rtt_ms)) };
        assert!(megabits(slow) < 5.6 && megabits(slow) < megabits(at(f64::from(rtt_ms))));
    }
}

/// Equation 4 in its reading is continuous with its first case and with (3); the other averages differ as stated.
#[test]
fn s001_eq4_is_continuous() {
    // In-time packets follow from RTT, so the queue moves the burst across both borders.
    let in_time = solve(&at(20.0)).unwrap().in_time_packets;
    let rate = |burst: f64, averaging| {
        let params = Params { averaging, ..at(20.0) };
        line(&params, burst, in_time, 1.0)
    };
    for (border, regimes) in
        [(2.0, [Regime::OneMore, Regime::Mixed]), (1.0, [Regime::Mixed, Regime::OneInterval])]
    {
        let [above, below] =
            [1e-9, -1e-9].map(|step| rate(in_time * border * (1.0 + step), Averaging::PerRound));
        assert_eq!([above.0, below.0], regimes);
        assert!(near(above.1, below.1, 1e-6), "{border}");
    }
    for burst in [1.05, 1.3, 1.6, 1.95].map(|share| share * in_time) {
        let [round, time, printed] = Averaging::ALL else { panic!("three averages") };
        let [round, time, printed] = [round, time, printed].map(|averaging| rate(burst, *averaging).1);
        assert!(near(time, round, 0.05) && printed > 1.9 * round);
    }
}

#[test]
fn the_line_limits_the_result() {
    let slow = solve(&Params { down_bps: 1.024e6, ..at(20.0) }).unwrap();
    assert_eq!(slow.throughput_bps, 1.024e6);
    assert!(slow.window_limit_bps > 1.024e6);
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    assert_eq!(error(at(0.0)), "rtt_s");
    assert_eq!(error(Params { queue_packets: 0.5, ..at(20.0) }), "queue_packets");
    assert_eq!(error(Params { up_bps: 0.5e6, ..at(20.0) }), "up_bps");
    assert_eq!(error(Params { ack_bytes: 1500.0, ..at(20.0) }), "ack_bytes");
    assert_eq!(error(Params { beacon_s: f64::INFINITY, ..at(20.0) }), "beacon_s");
}

proptest! {
    #[test]
    fn throughput_is_sound(rtt_ms in 1.0..1000.0_f64, down in 1e6..50e6_f64, queue in 1.0..500.0_f64) {
        let output = solve(&Params { down_bps: down, up_bps: down, queue_packets: queue, ..at(rtt_ms) }).unwrap();
        prop_assert!(output.throughput_bps > 0.0 && output.throughput_bps <= down);
        prop_assert!(output.effective_rtt_s >= rtt_ms * 1e-3 * (1.0 - 1e-6));
    }
}
