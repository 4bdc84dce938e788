//! Figure 3.13 and the design conditions of the source.

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn with(radio: RadioPowers) -> Output {
    solve(&Params { radio, ..Params::default() }).unwrap()
}

/// s000.fig3.13a: at the critical multipliers the reduction is within 2.5 % of its limit.
#[test]
fn s000_fig3_13a_critical_multipliers() {
    let radio = RadioPowers::default();
    assert!(near(with(radio).short_of_sleep_power, 0.0235, 0.01));
    let to_sleep =
        with(RadioPowers { to_sleep_w: 100.0 * radio.to_sleep_w, ..radio }).short_of_to_sleep_power;
    assert!(near(to_sleep, 0.0241, 0.01), "{to_sleep}");
    let wake_up = with(RadioPowers { wake_up_w: 0.05 * radio.wake_up_w, ..radio }).short_of_wake_up_power;
    assert!(near(wake_up, 0.0148, 0.01), "{wake_up}");
    // Falling above the knee.
    let reduction =
        |factor: f64| with(RadioPowers { wake_up_w: factor * radio.wake_up_w, ..radio }).reduction_j;
    assert!(reduction(0.01) / reduction(0.05) < 1.02 && reduction(0.05) / reduction(1.0) > 1.1);
}

/// s000.fig3.13b: no dependence on T^as, because P^as = P^l, and the knee of T^sa.
#[test]
fn s000_fig3_13b_times() {
    let radio = RadioPowers::default();
    let wake_up = with(RadioPowers { wake_up_s: 0.05 * radio.wake_up_s, ..radio }).short_of_wake_up_time;
    assert!(near(wake_up, 0.0077, 0.01), "{wake_up}");
    let slow = with(RadioPowers { to_sleep_s: 100.0 * radio.to_sleep_s, ..radio });
    assert!(near(slow.reduction_j, with(radio).reduction_j, 1e-12));
}

/// The text's 100 ms of sleep in each gap has no knee at the stated multipliers.
#[test]
fn the_literal_reading_has_no_knee() {
    let literal = |radio| solve(&Params { radio, gap_sleep_s: 0.1, ..Params::default() }).unwrap();
    let radio = RadioPowers::default();
    assert!(near(literal(radio).short_of_sleep_power, 0.0202, 0.01));
    let wake_up = literal(RadioPowers { wake_up_w: 0.05 * radio.wake_up_w, ..radio });
    assert!(wake_up.short_of_wake_up_power < 1e-3);
}

/// s000.eq3.47-49.
#[test]
fn s000_eq3_47_to_49_conditions() {
    let radio = RadioPowers::default();
    let improved =
        RadioPowers { to_sleep_w: 100.0 * radio.to_sleep_w, wake_up_w: 0.05 * radio.wake_up_w, ..radio };
    let output = with(improved);
    assert!(near(output.sleep_power_ratio, 0.02, 1e-12));
    assert!(near(output.to_sleep_cost_s, 1e-4, 1e-12));
    assert!(near(output.wake_up_cost_s, 8.75e-5, 1e-12));
    assert_eq!(output.conditions, 3.0);
    assert_eq!(with(radio).conditions, 2.0, "waking up costs 1.75 ms of listening");
}

/// 3.46 is the difference of 3.44 and 3.45, if the gaps' sleep is the round's.
#[test]
fn s000_eq3_46_is_the_difference_of_a_round() {
    for (window_packets, m) in [(20.0, 1), (20.0, 4), (7.0, 3)] {
        let first = solve(&Params { window_packets, m, ..Params::default() }).unwrap();
        let gaps = (window_packets / f64::from(m)).ceil();
        let gap_sleep_s = first.round_gap_sleep_s;
        let output = solve(&Params { window_packets, m, gaps, gap_sleep_s, ..Params::default() }).unwrap();
        assert!(near(output.round_cam_j - output.round_sleep_j, output.reduction_j, 1e-9));
    }
}

#[test]
fn too_many_packets_leave_no_sleep() {
    let output = solve(&Params { window_packets: 100.0, ..Params::default() }).unwrap();
    assert_eq!((output.round_gap_sleep_s, output.round_sleep_j), (0.0, output.round_cam_j));
}

/// 0.88 ms on the air for each packet and its acknowledgement: 200 of them take longer than 100 ms, and cost what they cost.
#[test]
fn a_round_that_does_not_fit_lasts_as_long_as_its_frames() {
    let round = |window_packets| solve(&Params { window_packets, ..Params::default() }).unwrap();
    let (one, two) = (round(200.0), round(400.0));
    assert!(near(two.round_cam_j, 2.0 * one.round_cam_j, 1e-12));
    assert_eq!(one.round_sleep_j, one.round_cam_j);
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    assert_eq!(error(Params { gaps: 0.0, ..Params::default() }), "gaps");
    assert_eq!(error(Params { window_packets: 0.5, ..Params::default() }), "window_packets");
    assert_eq!(error(Params { rtt_s: 0.0, ..Params::default() }), "rtt_s");
    assert_eq!(
        error(Params { radio: RadioPowers { listen_w: 0.0, ..RadioPowers::default() }, ..Params::default() }),
        "listen_w"
    );
}
