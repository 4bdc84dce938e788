//! Traces with a load and the same without it.

use super::super::tests::{add_noise, compared, device, metered, predicted};
use super::super::{CurrentReport, CurrentVerdictKind, Load, Prediction, compare};
use super::*;
use airwatt_energy::{Radio, RadioState};

/// What a load draws: a current from a time on, for a time, every so often.
#[derive(Clone, Copy)]
pub(in super::super) struct Pulsed {
    pub(in super::super) current_a: f64,
    pub(in super::super) first_s: f64,
    pub(in super::super) on_s: f64,
    pub(in super::super) period_s: f64,
}

impl Pulsed {
    /// Its time since the first sample.
    fn until_s(&self, at_s: f64) -> f64 {
        let since_s = at_s - self.first_s;
        let periods = (since_s / self.period_s).floor();
        periods * self.on_s + (since_s - periods * self.period_s).min(self.on_s)
    }

    pub(in super::super) fn add_to(&self, trace: &mut Trace) {
        for one in &mut trace.intervals {
            let on_s = self.until_s(one.end_s()) - self.until_s(one.start_s);
            one.current_a += (self.current_a * on_s / f64::from(one.length_s)) as f32;
        }
    }
}

fn is_close(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within * b.abs()
}

/// All that is said of radio and host is that of the same trace without the load.
fn assert_alike(with: &CurrentReport, without: &CurrentReport, case: &str) {
    assert_eq!(with.overlap_s, without.overlap_s, "{case}");
    let asleep = (with.asleep_share.unwrap(), without.asleep_share.unwrap());
    assert!(is_close(asleep.0, asleep.1, 0.03), "{case}: asleep {asleep:?}");
    let kind = match without.verdict.kind {
        CurrentVerdictKind::AsPredicted => CurrentVerdictKind::Load,
        kind => kind,
    };
    assert_eq!(with.verdict.kind, kind, "{case}: {}", with.verdict.text);
    let mean_a = with.mean_a - with.switched_load.as_ref().map_or(0.0, |load| load.mean_a);
    assert!(is_close(mean_a, without.mean_a, 0.03), "{case}: {mean_a} {}", without.mean_a);
    let charges = (with.beacon.map(|one| one.measured_c), without.beacon.map(|one| one.measured_c));
    match charges {
        (Some(with_c), Some(without_c)) => assert!(is_close(with_c, without_c, 0.03), "{case}: {charges:?}"),
        (with_c, without_c) => assert_eq!(with_c, without_c, "{case}"),
    }
    for (with, without) in with.states.iter().zip(&without.states) {
        let off_c = (with.measured_c - without.measured_c).abs();
        // A state is as uncertain as its standard errors say.
        let error_c = (without.error_a.unwrap_or(0.0) + with.error_a.unwrap_or(0.0)) * without.time_s;
        assert!(off_c <= 0.03 * without.measured_c + error_c, "{case}: {with:?} {without:?}");
        assert_eq!(with.undetermined, without.undetermined, "{case}");
    }
}

/// An LED that blinks and a sensor that is read: their current, period, duty and charge are found, from samples of 10 ms to 100 us, and what
/// is said of the radio and its host is that of the trace without them. An LED of 5 mA at 1 Hz halved the share asleep.
#[test]
fn a_load_that_is_switched_is_taken_out() {
    let periods = device(1, false);
    for hertz in [100, 250, 1_000, 10_000] {
        let quiet = metered(&periods, hertz, 0.0, predicted);
        let without = compared(&quiet, &periods, Some(0.0));
        assert_eq!(without.switched_load, None, "{hertz}");
        let loads = [
            (0.5e-3, 0.5, 1.0),
            (5e-3, 0.5, 1.0),
            (9e-3, 0.5, 1.0),
            (5e-3, 0.05, 1.0),
            (5e-3, 0.1, 0.2),
            (2e-3, 0.3, 5.0),
            (8e-3, 1.7, 2.0),
        ];
        for (current_a, on_s, period_s) in loads {
            let load = Pulsed { current_a, first_s: 0.3217, on_s, period_s };
            let case = format!("{hertz} Hz, {current_a} A for {on_s} s every {period_s} s");
            let mut trace = quiet.clone();
            load.add_to(&mut trace);
            let with = compared(&trace, &periods, Some(0.0));
            if f64::from(hertz) * on_s < LEAST_SAMPLES {
                assert_eq!(with.switched_load, None, "{case}");
                let says = with.verdict.text.contains("do not tell whether a load is switched");
                assert!(says, "{case}: {}", with.verdict.text);
                continue;
            }
            let found =
                with.switched_load.as_ref().unwrap_or_else(|| panic!("{case}: {}", with.verdict.text));
            assert!(is_close(found.current_a, current_a, 0.03), "{case}: {found:?}");
            assert!(is_close(found.on_s, on_s, 0.03), "{case}: {found:?}");
            assert!(is_close(found.period_s.unwrap(), period_s, 0.03), "{case}: {found:?}");
            let charge_c = trace.charge_c() - quiet.charge_c();
            assert!(is_close(found.charge_c, charge_c, 0.03), "{case}: {found:?}, {charge_c}");
            assert!(is_close(found.share, charge_c / trace.charge_c(), 0.03), "{case}: {found:?}");
            assert!(is_close(with.mean_a, trace.charge_c() / trace.covered_s(), 1e-9), "{case}");
            let shares: f64 = with.states.iter().map(|state| state.share).sum();
            let sum = shares + found.overlap_c / with.measured_c;
            // A sample that is partly beyond the capture counts in one of both.
            assert!(is_close(sum, 1.0, 1e-3), "{case}: {sum}");
            assert_alike(&with, &without, &case);
        }
    }
}

/// The noise of a meter hides no step that is large enough, and makes none.
#[test]
fn noise_is_no_load_and_hides_none() {
    let periods = device(3, false);
    for deviation_a in [50e-6, 300e-6, 3e-3] {
        let mut quiet = metered(&periods, 1_000, 0.0, predicted);
        add_noise(&mut quiet, deviation_a);
        let without = compared(&quiet, &periods, Some(0.0));
        assert_eq!(without.switched_load, None, "{deviation_a}");
        let mut trace = quiet.clone();
        Pulsed { current_a: 5e-3, first_s: 0.3217, on_s: 0.5, period_s: 1.0 }.add_to(&mut trace);
        let with = compared(&trace, &periods, Some(0.0));
        // Noise of 3 mA hides a step of 5 mA, and nothing is said.
        assert_eq!(with.switched_load.is_some(), deviation_a < 1e-3, "{deviation_a}");
        if with.switched_load.is_some() {
            assert_alike(&with, &without, &deviation_a.to_string());
        }
    }
}

/// A host that works before or after its radio does is no load of the board, however often it does.
#[test]
fn a_host_that_works_beside_its_radio_is_no_load() {
    let periods = device(3, false);
    // Samples of 10 ms do not show a beacon beside which the host works.
    for (after_s, hertz) in [(0.02, 1_000), (0.06, 1_000), (0.25, 100)] {
        let mut trace = metered(&periods, hertz, 0.0, predicted);
        for ends in periods.windows(2).filter(|pair| pair[1].state == RadioState::Sleep) {
            let from_s = ends[1].start.as_secs_f64();
            let more = trace.intervals.iter_mut();
            let more = more.filter(|one| (from_s..from_s + after_s).contains(&one.start_s));
            more.for_each(|one| one.current_a += 10e-3);
        }
        let report = compared(&trace, &periods, Some(0.0));
        assert_eq!(report.switched_load, None, "{after_s}");
    }
}

/// A mean load that the caller declares is the one that is switched, and no news; a constant one beside it stays.
#[test]
fn a_declared_load_may_be_the_switched_one() {
    let (periods, radio) = (device(1, false), Radio::find("esp32-c3").unwrap());
    let own = |state: RadioState| super::super::currents(&radio, Load::default()).unwrap().0[state as usize];
    let light = Pulsed { current_a: 5e-3, first_s: 0.3217, on_s: 0.5, period_s: 1.0 };
    for (constant_a, declared_a) in [(0.0, 2.5e-3), (4e-3, 4e-3)] {
        let mut trace = metered(&periods, 2_000, 0.0, |state| own(state) + constant_a);
        light.add_to(&mut trace);
        let load = Load { current_a: declared_a, power_w: 0.0 };
        let prediction =
            Prediction { name: "psm", periods: &periods, radio: &radio, knows_beacons: true, load };
        let report = compare(&trace, &prediction, Some(0.0), false).unwrap();
        assert!(report.switched_load.is_some());
        assert!(report.verdict.text.contains("without it: "), "{}", report.verdict.text);
        let off = report.predicted_a / (report.mean_a - if constant_a > 0.0 { 2.5e-3 } else { 0.0 }) - 1.0;
        assert!(off.abs() < 0.02 && report.load_a == declared_a, "{off}: {report:?}");
        // Whether the declared load is switched or constant, the prediction has it in every state.
        for state in RadioState::ALL {
            let Some(found) = report.states.iter().find(|each| each.state == state.name()) else { continue };
            let by_hand_c = (own(state) + declared_a) * found.time_s;
            assert!(is_close(found.predicted_c, by_hand_c, 1e-3), "{by_hand_c}: {found:?}");
        }
        let sum_c: f64 = report.states.iter().map(|state| state.predicted_c).sum();
        assert!(
            !report.states.is_empty() && is_close(report.predicted_c, sum_c, 1e-3),
            "{sum_c}: {report:?}"
        );
        let alone = report.verdict.text.split("without it: ").nth(1).unwrap();
        assert!(alone.contains("% off the prediction"), "{alone}");
    }
}

/// A hidden begin or end is where the period has it, otherwise where the usual length of 2 s has it. If that is outside the time that hides
/// it, it stays in the middle of that time.
#[test]
fn a_hidden_step_is_where_period_or_length_have_it() {
    let seen = |at_s: f64| Step { at_s, hidden: None, is_placed: true };
    let hidden = |from_s: f64, until_s: f64| Step {
        at_s: (from_s + until_s) / 2.0,
        hidden: Some((from_s, until_s)),
        is_placed: false,
    };
    let pulses = [
        (seen(0.0), seen(2.0)),
        // 2 s before its end is 14 s. A period of 10 s before the nearest begin, which is the next one, is 11 s.
        (hidden(8.0, 15.0), seen(16.0)),
        (seen(21.0), hidden(22.0, 26.0)),
        // 2 s before its end is 38 s, and a period before the nearest begin is 41 s.
        (hidden(39.0, 39.8), seen(40.0)),
        (seen(51.0), seen(53.0)),
    ];
    let by_length = [(0.0, 2.0), (14.0, 16.0), (21.0, 23.0), (39.4, 40.0), (51.0, 53.0)];
    assert_eq!(uncovered(&pulses, None), by_length);
    let by_period = [(0.0, 2.0), (11.0, 16.0), (21.0, 23.0), (39.4, 40.0), (51.0, 53.0)];
    assert_eq!(uncovered(&pulses, Some(10.0)), by_period);
}
