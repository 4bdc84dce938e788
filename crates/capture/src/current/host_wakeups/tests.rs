//! Traces with wake-ups of a host, and the same without them.

use super::super::switched::tests::Pulsed;
use super::super::tests::{add_noise, compared, device, metered, predicted};

/// lwIP's timer, one of 40 ms, and one of a second are found by their period and their charge, from samples of 0.1 and 1 ms and beside
/// noise, and the verdict says what they are of the mean.
#[test]
fn a_timer_of_the_host_is_named_with_its_period_and_its_charge() {
    let periods = device(1, false);
    for (hertz, deviation_a) in [(1_000, 0.0), (1_000, 0.1e-3), (10_000, 0.3e-3)] {
        for (current_a, on_s, period_s) in
            [(14e-3, 2.2e-3, 0.25), (9e-3, 1e-3, 0.25), (12e-3, 3e-3, 1.0), (10e-3, 1e-3, 0.04)]
        {
            let case = format!("{hertz} {deviation_a} {period_s}");
            let mut trace = metered(&periods, hertz, 0.0, predicted);
            if deviation_a > 0.0 {
                add_noise(&mut trace, deviation_a);
            }
            let without = compared(&trace, &periods, Some(0.0));
            assert_eq!(without.host_wakeups, None, "{case}");
            Pulsed { current_a, first_s: 0.017, on_s, period_s }.add_to(&mut trace);
            let with = compared(&trace, &periods, Some(0.0));
            let found = with.host_wakeups.unwrap_or_else(|| panic!("{case}: {}", with.verdict.text));
            assert!((found.period_s / period_s - 1.0).abs() < 2e-3, "{case}: {found:?}");
            assert!((found.charge_c / (current_a * on_s) - 1.0).abs() < 0.05, "{case}: {found:?}");
            assert!((found.mean_a / (with.mean_a - without.mean_a) - 1.0).abs() < 0.06, "{case}: {found:?}");
            assert_eq!(with.verdict.text.contains("lwIP"), period_s == 0.25, "{case}: {}", with.verdict.text);
        }
    }
}

/// Beacons that a radio receives for less than a millisecond, with rises as low as a host's, are not a timer; nor are wake-ups that come
/// at any time, nor those as high as the radio's.
#[test]
fn beacons_and_other_rises_are_no_timer() {
    let periods = device(1, false);
    let pulsed = |current_a: f64, period_s: f64| {
        let mut trace = metered(&periods, 1_000, 0.0, predicted);
        Pulsed { current_a, first_s: 0.05, on_s: 2e-3, period_s }.add_to(&mut trace);
        compared(&trace, &periods, Some(0.0)).host_wakeups
    };
    assert!(pulsed(10e-3, 0.15).is_some());
    assert_eq!(pulsed(10e-3, 0.1024), None);
    assert_eq!(pulsed(10e-3, 0.3072), None);
    assert_eq!(pulsed(80e-3, 0.15), None);
    let mut trace = metered(&periods, 1_000, 0.0, predicted);
    for at in [0.05, 0.17, 0.55, 0.61, 1.3, 1.33, 1.9, 2.45, 2.6, 3.17, 3.3, 3.85, 4.6, 4.75, 5.7] {
        Pulsed { current_a: 10e-3, first_s: at, on_s: 2e-3, period_s: 1e6 }.add_to(&mut trace);
    }
    assert_eq!(compared(&trace, &periods, Some(0.0)).host_wakeups, None);
}
