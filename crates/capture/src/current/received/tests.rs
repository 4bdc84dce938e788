//! Devices that miss beacons, or receive more of them than they have to.

use airwatt_base::{Instant, Span};
use airwatt_energy::RadioState;

use super::super::tests::{compared, device, metered, predicted};
use super::super::{CurrentReport, CurrentVerdictKind};
use super::*;

/// The same device without the wake-ups for beacons that `misses` names by their numbers.
fn without(periods: &[RadioPeriod], misses: impl Fn(usize) -> bool) -> Vec<RadioPeriod> {
    let mut list = periods.to_vec();
    for (number, range) in beacons_alone(periods).enumerate() {
        if misses(number) {
            list[range].iter_mut().for_each(|period| period.state = RadioState::Sleep);
        }
    }
    list
}

fn report(truth: &[RadioPeriod], planned: &[RadioPeriod], hertz: u32) -> CurrentReport {
    compared(&metered(truth, hertz, 0.0, predicted), planned, Some(0.0))
}

/// Each seventh beacon is missed; the report says so, at 1 and 10 kHz, and that all are received where they are.
#[test]
fn missed_beacons_are_counted() {
    let planned = device(1, false);
    let all = beacons_alone(&planned).count();
    let truth = without(&planned, |number| number % 7 == 3);
    let missed = (0..all).filter(|number| number % 7 == 3).count();
    for hertz in [1_000, 10_000] {
        let whole = report(&planned, &planned, hertz);
        let found = whole.beacons.unwrap();
        // The last one may lie beyond the last sample.
        assert!(all - found.expected <= 1 && found.received == found.expected, "{found:?}, {all}");
        assert_eq!(whole.verdict.kind, CurrentVerdictKind::AsPredicted);
        assert!(!whole.verdict.text.contains("beacons"), "{}", whole.verdict.text);
        let some = report(&truth, &planned, hertz);
        let found = some.beacons.unwrap();
        assert!(all - found.expected <= 1, "{found:?}, {all}");
        assert_eq!(found.expected - found.received, missed, "{found:?}");
        let says = format!("{} of the {} beacons that it should receive", found.received, found.expected);
        assert!(some.verdict.text.contains(&says), "{}", some.verdict.text);
    }
}

/// A chip that receives a third of what it should, and one that receives each beacon where each third is enough.
#[test]
fn a_chip_with_another_listen_interval_is_seen() {
    let each = device(1, false);
    let third = without(&each, |number| number % 3 != 0);
    let all = beacons_alone(&each).count();
    let seldom = report(&third, &each, 1_000);
    assert!(seldom.verdict.text.contains(", one in 3: if"), "{}", seldom.verdict.text);
    let few = seldom.beacons.unwrap();
    assert!(few.received.abs_diff(all / 3) <= 1 && few.expected.abs_diff(all) <= 1, "{few:?}, {all}");
    let many = report(&each, &third, 1_000);
    let found = many.beacons.unwrap();
    assert!(found.received == found.expected && found.expected.abs_diff(all / 3) <= 1, "{found:?}, {all}");
    assert!(found.others.abs_diff(all - all / 3) <= 2, "{found:?}, {all}");
    // What a wake-up takes is measured although each third is predicted.
    let beacon = many.beacon.unwrap();
    assert!((beacon.every_s / 0.1024 - 1.0).abs() < 0.01, "{beacon:?}");
    assert!((beacon.measured_c / beacon.predicted_c - 1.0).abs() < 0.03, "{beacon:?}");
    assert!(many.verdict.text.contains("other times, as for beacons"), "{}", many.verdict.text);
}

/// Clocks that differ by 250 ppm, 5 ms in this trace, lose no beacon.
#[test]
fn clocks_drift() {
    let planned = device(1, false);
    let slower = |time: Span| Span::from_nanos(time.as_nanos() + time.as_nanos() / 4_000);
    let drifted = |period: &RadioPeriod| RadioPeriod {
        start: Instant::ZERO + slower(period.start - Instant::ZERO),
        duration: slower(period.duration),
        ..*period
    };
    let truth: Vec<RadioPeriod> = planned.iter().map(drifted).collect();
    let found = report(&truth, &planned, 1_000).beacons.unwrap();
    assert_eq!(found.received, found.expected, "{found:?}");
}

/// A radio that is on all the time, samples that do not show a beacon, and a trace at another place count none.
#[test]
fn what_cannot_be_told_is_not_counted() {
    let planned = device(1, false);
    let on = metered(&planned, 1_000, 0.0, |_| 45e-3);
    assert_eq!(compared(&on, &planned, Some(0.0)).beacons, None);
    assert_eq!(report(&planned, &planned, 200).beacons, None);
    let elsewhere = metered(&planned, 1_000, 0.0, predicted);
    assert_eq!(compared(&elsewhere, &planned, Some(0.043)).beacons, None);
}
