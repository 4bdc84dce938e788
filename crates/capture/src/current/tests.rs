//! Traces of known currents, aligned and divided.

use airwatt_energy::Radio;

use super::trace::Trace;
use super::*;

fn read(text: &str) -> Result<Trace, String> {
    Trace::read("trace.csv", text.as_bytes(), &mut |_| true).map_err(|error| error.to_string())
}

#[test]
fn traces_of_both_meters() {
    let ppk =
        read("Timestamp(ms),Current(uA),D0-D7\n0.00,1000,0\n0.01,3000,0\n1.00,500,0\n3.00,100,0\n").unwrap();
    assert_eq!((ppk.samples, ppk.current_a), (4, vec![2e-3, 5e-4, 5e-4, 1e-4]));
    let otii = read("\"Timestamp\";\"Main current (A)\"\n5.000;0.1\n5.001;0.2\n").unwrap();
    assert_eq!(otii.current_a, [0.1, 0.2]);
    let exported = read("Timestamp,Value\n0.00000,0.1\n0.00100,0.2\n").unwrap();
    assert_eq!(exported.current_a, [0.1, 0.2]);
    for (text, problem) in [
        ("", "Timestamp(ms),Current(uA)"),
        ("a,b\n1,2\n", "Timestamp(ms),Current(uA)"),
        ("Timestamp(days),Current(uA)\n", "Timestamp(ms)"),
        ("Timestamp(ms),Current(uA)\n0,1\nx,2\n", "line 3"),
        ("Timestamp(ms),Current(uA)\n2,1\n1,2\n", "line 3: expected times in order"),
        ("Timestamp(ms),Current(uA)\n0,1\n", "two samples"),
        ("Timestamp(ms),Current(uA)\n0,1\n1e12,2\n", "three hours"),
        ("Timestamp(ms),Current(uA)\n0,inf\n", "line 2"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(problem) && error.starts_with("trace.csv: "), "{error}");
    }
}

/// Bursts of 3 to 40 ms at distances that do not repeat.
fn periods() -> Vec<RadioPeriod> {
    let mut list = Vec::new();
    let mut at = Instant::ZERO;
    for number in 0..60u64 {
        let spans = [
            (RadioState::Sleep, 80 + number * number % 97),
            (RadioState::Listen, 3 + number * 7 % 37),
            (RadioState::Transmit, 1),
        ];
        for (state, millis) in spans {
            let duration = Span::from_millis(millis) + Span::from_micros(number * 13 % 700);
            list.push(RadioPeriod { start: at, duration, state, is_simulated: true });
            at += duration;
        }
    }
    list
}

fn radio() -> Radio {
    Radio::find("esp32-c3").unwrap()
}

/// What a meter shows that starts `ahead` bins before the capture, with a host's current beside the radio's.
fn measured(ahead: usize, host_a: f32, scale: f32) -> Trace {
    let predicted = Predicted::of(&periods(), &currents(&radio()).unwrap()).current_a;
    let sleep = predicted.iter().copied().fold(f32::INFINITY, f32::min);
    let mut current_a = vec![sleep + host_a; ahead];
    current_a.extend(predicted.iter().map(|current| current * scale + host_a));
    Trace { file: "trace.csv".to_owned(), samples: 1, current_a }
}

#[test]
fn an_offset_is_found_to_the_millisecond() {
    for ahead in [0, 1, 137, 2_500] {
        let report = compare(&measured(ahead, 2e-3, 1.1), "psm", &periods(), &radio(), None).unwrap();
        assert!((report.offset_s + ahead as f64 * 1e-3).abs() < 1e-9, "{ahead}: {}", report.offset_s);
        assert!(report.correlation > 0.999, "{}", report.correlation);
    }
    // A trace that begins in the middle of the capture.
    let mut late = measured(0, 0.0, 1.0);
    late.current_a.drain(..1_234);
    let report = compare(&late, "psm", &periods(), &radio(), None).unwrap();
    assert!((report.offset_s - 1.234).abs() < 1e-9, "{}", report.offset_s);
}

#[test]
fn a_current_that_repeats_itself_fits_at_several_offsets() {
    let sure = compare(&measured(0, 0.0, 1.0), "psm", &periods(), &radio(), None).unwrap();
    assert_eq!((sure.other_offset_s, sure.other_correlation), (None, None));
    // Beacons alone.
    let mut at = Instant::ZERO;
    let mut beacons = Vec::new();
    for _ in 0..100 {
        for (state, micros) in [(RadioState::Sleep, 100_000), (RadioState::Receive, 2_400)] {
            let duration = Span::from_micros(micros);
            beacons.push(RadioPeriod { start: at, duration, state, is_simulated: true });
            at += duration;
        }
    }
    let current_a = Predicted::of(&beacons, &currents(&radio()).unwrap()).current_a;
    let trace = Trace { file: "trace.csv".to_owned(), samples: 1, current_a };
    let doubtful = compare(&trace, "psm", &beacons, &radio(), None).unwrap();
    let away_s = (doubtful.other_offset_s.expect("another offset") - doubtful.offset_s).abs();
    let intervals = away_s / 0.1024;
    assert!(intervals > 0.5 && (intervals - intervals.round()).abs() < 0.02, "{away_s} s");
    assert!(doubtful.other_correlation.unwrap() > 0.9);
}

#[test]
fn the_charge_is_divided_by_state() {
    let report = compare(&measured(0, 0.0, 1.0), "psm", &periods(), &radio(), Some(0.0)).unwrap();
    assert!((report.measured_c / report.predicted_c - 1.0).abs() < 1e-4);
    for state in &report.states {
        let of_state: Span = periods()
            .iter()
            .filter(|period| period.state.name() == state.state)
            .map(|period| period.duration)
            .sum();
        assert!((state.time_s - of_state.as_secs_f64()).abs() < 1e-9, "{}", state.state);
        assert!((state.measured_c - state.predicted_c).abs() < 1e-3 * report.measured_c, "{state:?}");
    }
    let shares: f64 = report.states.iter().map(|state| state.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    // A host's current shows where the radio sleeps.
    let hosted = compare(&measured(0, 5e-3, 1.0), "psm", &periods(), &radio(), Some(0.0)).unwrap();
    let sleep = hosted.states.iter().find(|state| state.state == "sleep").unwrap();
    assert!((sleep.measured_c - sleep.predicted_c) / sleep.time_s > 4.9e-3);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let mut other = measured(0, 0.0, 1.0);
    let mut state = 1u64;
    for current in &mut other.current_a {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *current = (state >> 40) as f32 * 1e-8;
    }
    let error = compare(&other, "psm", &periods(), &radio(), None).unwrap_err();
    assert!(error.contains("by 0.5 or more") && error.contains("--offset"), "{error}");
    // An offset that is given is taken.
    assert!(compare(&other, "psm", &periods(), &radio(), Some(0.0)).is_ok());
    other.current_a.fill(0.1);
    assert!(compare(&other, "psm", &periods(), &radio(), None).unwrap_err().contains("varies"));
    let bare = Radio::shipped().iter().find(|radio| radio.voltage.is_none());
    if let Some(bare) = bare {
        assert!(compare(&other, "psm", &periods(), bare, None).unwrap_err().contains("voltage"));
    }
}
