//! The fixed point against its closed forms, against values computed by others, and against a simulation of the slots.

use airwatt_base::RandomStream;
use proptest::prelude::*;

use super::*;
use crate::max_throughput;

/// The frequency-hopping set-up of the paper (basic access): 8184 bits of payload at 1 Mb/s.
const PAPER: Params = Params {
    stations: 10,
    window: 32,
    stages: 3,
    retries: None,
    slot_s: 50e-6,
    success_s: 8982e-6,
    collision_s: 8713e-6,
    payload_bits: 8184.0,
};

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// Equation 7 as the paper prints it, with its singular point at p = 1/2.
fn printed(window: f64, stages: i32, p: f64) -> f64 {
    let tail = p * window * (1.0 - (2.0 * p).powi(stages));
    2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (window + 1.0) + tail)
}

#[test]
fn one_station_attempts_as_its_mean_backoff_says() {
    let alone = Params { stations: 1, ..PAPER };
    let output = solve(&alone).unwrap();
    assert!(near(output.attempt_probability, 2.0 / 33.0, 1e-14));
    assert_eq!(output.collision_probability, 0.0);
    assert!(near(output.throughput_bps, 8184.0 / (15.5 * 50e-6 + 8982e-6), 1e-12));
}

/// With one station both models describe the same: backoff, frame, acknowledgement, without collisions.
#[test]
fn one_station_agrees_with_the_maximum_throughput() {
    let params = max_throughput::Params::ofdm(54e6, 24e6, 1500.0);
    let expected = max_throughput::solve(&params).unwrap();
    let alone = Params {
        stations: 1,
        window: 16,
        stages: 6,
        retries: Some(7),
        slot_s: 9e-6,
        success_s: expected.cycle_s - expected.backoff_s,
        collision_s: 1e-3,
        payload_bits: 12_000.0,
    };
    assert!(near(solve(&alone).unwrap().throughput_bps, expected.throughput_bps, 1e-12));
}

/// Without doubling, tau is 2 / (W + 1) for any number of stations (the paper's eq. 8 with m = 0).
#[test]
fn a_constant_window_does_not_feel_collisions() {
    for stations in [1, 2, 50, 100_000] {
        for retries in [None, Some(0), Some(7)] {
            let output = solve(&Params { stations, stages: 0, retries, ..PAPER }).unwrap();
            assert!(near(output.attempt_probability, 2.0 / 33.0, 1e-12));
        }
    }
    let jam = solve(&Params { window: 1, stages: 0, ..PAPER }).unwrap();
    assert_eq!((jam.attempt_probability, jam.collision_probability, jam.throughput_bps), (1.0, 1.0, 0.0));
}

/// The reference values that ns-3 keeps for its Wi-Fi example (src/wifi/examples/wifi-bianchi.cc; computed by others from
/// the same paper, not simulated): 802.11ax, 20 MHz, MCS 0 and MCS 7, 1500 bytes, EIFS after collisions, Mb/s. They take
/// one slot more for a success.
#[test]
fn values_of_ns3_for_802_11ax() {
    let frame =
        |data_symbols: f64, ack_s: f64| 44e-6 + data_symbols * 13.6e-6 + 16e-6 + ack_s + 34e-6 + 0.1e-6;
    // 12 326 bits with service and tail: 106 symbols of 117.0 bits, 11 symbols of 1169.6.
    let slow = [(5, 6.3381), (10, 5.8172), (25, 5.1525), (50, 4.6317)];
    let fast = [(5, 34.1710), (10, 31.9398), (25, 28.7140), (50, 26.0271)];
    for (busy_s, table) in [(frame(106.0, 44e-6), slow), (frame(11.0, 28e-6), fast)] {
        for (stations, expected) in table {
            let params = Params {
                stations,
                window: 16,
                stages: 6,
                retries: None,
                slot_s: 9e-6,
                success_s: busy_s + 9e-6,
                collision_s: busy_s,
                payload_bits: 12_000.0,
            };
            let throughput = solve(&params).unwrap().throughput_bps / 1e6;
            assert!(near(throughput, expected, 1e-4), "{stations}: {throughput} {expected}");
        }
    }
}

/// What a simulation of the slots shows.
struct Seen {
    tau: f64,
    p: f64,
    throughput_bps: f64,
}

/// A simulation of the model's slots, without its independence assumption: every station counts down its own backoff,
/// and collides when others attempt in the same slot.
fn simulate(params: &Params, slots: u32) -> Seen {
    let mut stream = RandomStream::new(1, "models/dcf_saturation");
    let stations = params.stations as usize;
    let mut stage = vec![0; stations];
    let mut backoff: Vec<u32> = (0..stations).map(|_| stream.below(params.window)).collect();
    let (mut idle, mut successes, mut attempts) = (0_u32, 0_u32, 0_u64);
    for _ in 0..slots {
        let senders = backoff.iter().filter(|counter| **counter == 0).count();
        attempts += senders as u64;
        idle += u32::from(senders == 0);
        successes += u32::from(senders == 1);
        for (counter, stage) in backoff.iter_mut().zip(&mut stage) {
            if *counter > 0 {
                *counter -= 1;
                continue;
            }
            let dropped = params.retries.is_some_and(|retries| *stage == retries);
            *stage = if senders > 1 && !dropped { *stage + 1 } else { 0 };
            *counter = stream.below(params.window << (*stage).min(params.stages));
        }
    }
    let [idle, successes, slots, attempts] = [idle.into(), successes.into(), slots.into(), attempts as f64];
    let collisions: f64 = slots - idle - successes;
    let time_s = idle * params.slot_s + successes * params.success_s + collisions * params.collision_s;
    Seen {
        tau: attempts / slots / f64::from(params.stations),
        p: 1.0 - successes / attempts,
        throughput_bps: successes * params.payload_bits / time_s,
    }
}

/// The region of validity that the module states, with and without a retry limit.
#[test]
fn simulated_slots_agree() {
    for (stations, window, stages, retries) in [
        (5, 16, 6, None),
        (10, 32, 3, None),
        (30, 16, 6, None),
        (10, 16, 6, Some(6)),
        (30, 32, 5, Some(3)),
        (5, 32, 5, Some(1)),
    ] {
        let params = Params { stations, window, stages, retries, ..PAPER };
        let output = solve(&params).unwrap();
        let seen = simulate(&params, 1_000_000);
        assert!(near(output.attempt_probability, seen.tau, 0.01), "tau {}: {params:?} {output:?}", seen.tau);
        assert!(near(output.collision_probability, seen.p, 0.02), "p {}: {params:?} {output:?}", seen.p);
        assert!(near(output.throughput_bps, seen.throughput_bps, 0.01), "{params:?} {output:?}");
    }
}

#[test]
fn errors_name_parameter_value_and_range() {
    let error = |params: Params| solve(&params).unwrap_err().to_string();
    assert_eq!(error(Params { stations: 0, ..PAPER }), "stations: expected 1 to 100000, got 0");
    assert_eq!(error(Params { window: 0, ..PAPER }), "window: expected 1 to 65536 slots, got 0");
    assert_eq!(error(Params { stages: 17, ..PAPER }), "stages: expected 0 to 16, got 17");
    assert_eq!(error(Params { retries: Some(256), ..PAPER }), "retries: expected 0 to 255, or none, got 256");
    assert_eq!(
        error(Params { slot_s: -1.0, ..PAPER }),
        "slot_s: expected a finite number of zero or more, got -1"
    );
    assert_eq!(
        error(Params { success_s: 0.0, ..PAPER }),
        "success_s: expected a finite number above zero, got 0"
    );
    let line = error(Params { collision_s: f64::NAN, ..PAPER });
    assert!(line.starts_with("collision_s: expected ") && line.ends_with(", got NaN"), "{line}");
    let line = error(Params { payload_bits: f64::INFINITY, ..PAPER });
    assert!(line.starts_with("payload_bits: expected ") && line.ends_with(", got inf"), "{line}");
}

fn params() -> impl Strategy<Value = Params> {
    (1..200_u32, 1..1025_u32, 0..9_u32, prop::option::of(0..20_u32))
        .prop_map(|(stations, window, stages, retries)| Params { stations, window, stages, retries, ..PAPER })
}

proptest! {
    #[test]
    fn the_fixed_point_is_one(params in params()) {
        let output = solve(&params).unwrap();
        let (tau, p) = (output.attempt_probability, output.collision_probability);
        prop_assert!((response(&params, p) - tau).abs() <= 1e-12 * tau.max(1e-3), "{output:?}");
        let power = 1.0 - (1.0 - tau).powi(params.stations as i32 - 1);
        prop_assert!((p - power).abs() < 1e-12);
        prop_assert!((0.0..=1.0).contains(&p) && tau > 0.0 && tau <= 1.0);
        prop_assert!((0.0..=1.0 + 1e-12).contains(&output.success_probability));
        prop_assert!(output.throughput_bps >= 0.0 && output.throughput_bps * 8982e-6 <= 8184.0 * (1.0 + 1e-12));
    }

    #[test]
    fn the_sum_is_the_printed_equation(window in 1..1025_u32, stages in 0..9_u32, p in 0.0..1.0_f64) {
        prop_assume!((p - 0.5).abs() > 1e-3);
        let params = Params { window, stages, ..PAPER };
        let expected = printed(f64::from(window), stages as i32, p);
        prop_assert!(near(response(&params, p), expected, 1e-9));
    }

    /// 255 retries are as good as no limit unless nearly every attempt collides.
    #[test]
    fn many_retries_are_like_no_limit(stations in 1..100_u32, window in 8..1025_u32, stages in 1..7_u32) {
        let unlimited = Params { stations, window, stages, ..PAPER };
        let (a, b) = (solve(&unlimited).unwrap(), solve(&Params { retries: Some(255), ..unlimited }).unwrap());
        prop_assume!(a.collision_probability < 0.9);
        prop_assert!(near(b.attempt_probability, a.attempt_probability, 1e-6), "{a:?} {b:?}");
        prop_assert!(b.drop_probability < 1e-11);
    }

    #[test]
    fn more_stations_attempt_less_and_collide_more(params in params()) {
        let (few, many) =
            (solve(&params).unwrap(), solve(&Params { stations: params.stations + 1, ..params }).unwrap());
        prop_assert!(many.attempt_probability <= few.attempt_probability + 1e-15);
        prop_assert!(many.collision_probability >= few.collision_probability - 1e-15);
    }
}
