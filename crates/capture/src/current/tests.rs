//! Traces of known currents, aligned and divided.

mod places;
mod replays;

use airwatt_base::{Instant, Span};
use airwatt_energy::Radio;

use super::*;

fn read(text: &str) -> Result<Trace, String> {
    Trace::read("trace.csv", text.as_bytes(), &mut |_| true).map_err(|error| error.to_string())
}

#[test]
fn traces_of_both_meters() {
    let ppk =
        read("Timestamp(ms),Current(uA),D0-D7\n0.00,1000,0\n0.01,3000,0\n1.00,500,0\n3.00,100,0\n").unwrap();
    assert_eq!(ppk.samples, 4);
    let lengths: Vec<f32> = ppk.intervals.iter().map(|interval| interval.length_s * 1e3).collect();
    // The last sample lasts as long as usual.
    assert!(lengths.iter().zip([0.01, 0.99, 2.0, 0.99]).all(|(a, b)| (a - b).abs() < 1e-5), "{lengths:?}");
    // 10 us of 1 mA and 990 us of 3 mA; the sample at 1 ms holds for two.
    let grid = ppk.grid(1e-3);
    assert!(
        grid.iter().zip([2.98e-3, 5e-4, 5e-4, 1e-4]).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-8),
        "{grid:?}"
    );
    let otii = read("\"Timestamp\";\"Main current (A)\"\n5.000;0.1\n5.001;0.2\n").unwrap();
    assert_eq!(otii.intervals.iter().map(|interval| interval.current_a).collect::<Vec<_>>(), [0.1, 0.2]);
    let european = read("Timestamp(ms);Current(uA)\n0,0;1000,5\n0,5;2000\n").unwrap();
    assert!((european.intervals[0].current_a - 1.0005e-3).abs() < 1e-9 && european.samples == 2);
    let exported = read("Timestamp,Value\n0.00000,0.1\n0.00100,0.2\n").unwrap();
    assert_eq!(exported.intervals.len(), 2);
    for (text, problem) in [
        ("", "Timestamp(ms),Current(uA)"),
        ("a,b\n1,2\n", "Timestamp(ms),Current(uA)"),
        ("Timestamp(days),Current(uA)\n", "Timestamp(ms)"),
        ("Timestamp(ms),Current(uA)\n0,1\nx,2\n", "line 3"),
        ("Timestamp(ms),Current(uA)\n2,1\n1,2\n", "line 3: expected times in order"),
        ("Timestamp(ms),Current(uA)\n0;1\n", "divided by ','"),
        ("Timestamp(ms),Current(uA)\n0,1\n", "at two times"),
        ("Timestamp(ms),Current(uA)\n5,1\n5,2\n5,3\n", "at two times"),
        ("Timestamp,Value\n0,1\n1,1e308\n", "line 3: expected a current of at most 1000 A"),
        ("Timestamp(ms),Current(uA)\n0,1\n1e12,2\n", "three hours"),
        ("Timestamp(ms),Current(uA)\n0,inf\n", "line 2"),
        // Microamperes below a name that says milliamperes.
        (
            "time,current\n0,1.7\n1,1.7\n",
            "names no unit, and a mean of at most 1 A, got 1.70 A; hint: name the unit",
        ),
        ("Timestamp(ms),Current(mA)\n0,84000\n1,84000\n", "got 84.0 A; hint: are the values in the unit"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(problem) && error.starts_with("trace.csv: "), "{error}");
    }
}

/// Half of two seconds is missing: the mean is that of what is there.
#[test]
fn of_a_gap_nothing_is_known() {
    let mut text = "Timestamp(ms),Current(uA)\n".to_owned();
    for ms in (0..500).chain(1_500..2_000) {
        text += &format!("{ms},{}\n", if ms < 1_000 { 1_000 } else { 3_000 });
    }
    let trace = read(&text).unwrap();
    assert!((trace.covered_s() - 1.0).abs() < 1e-4 && (trace.gaps_s() - 1.0).abs() < 1e-4);
    assert!((trace.charge_c() - 2e-3).abs() < 1e-7);
    // A gap does not hide the place of a trace: it takes no part in the correlation.
    let periods = periods();
    let mut holed = metered(&periods, 1_000, 0.0, predicted);
    holed.intervals.retain(|interval| !(1.0..2.5).contains(&interval.start_s));
    let report = compared(&holed, &periods, None);
    assert!(
        report.offset_s.unwrap().abs() < 3e-5 && report.correlation.unwrap() > 0.999,
        "{:?}",
        report.offset_s
    );
}

/// Bursts of 3 to 40 ms at distances that do not repeat.
fn periods() -> Vec<RadioPeriod> {
    let mut list = Vec::new();
    let mut at = Instant::ZERO;
    for number in 0..60u64 {
        let spans = [
            (RadioState::Sleep, 80 + number * number % 97),
            (RadioState::WakeUp, 1),
            (RadioState::Listen, 3 + number * 7 % 37),
            (RadioState::Receive, 1 + number % 3),
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

/// Beacons alone, each 102.4 ms.
fn beacons() -> Vec<RadioPeriod> {
    let mut at = Instant::ZERO;
    let mut list = Vec::new();
    for _ in 0..100 {
        for (state, micros) in [
            (RadioState::Sleep, 100_100),
            (RadioState::WakeUp, 1_000),
            (RadioState::Listen, 588),
            (RadioState::Receive, 712),
        ] {
            let duration = Span::from_micros(micros);
            list.push(RadioPeriod { start: at, duration, state, is_simulated: true });
            at += duration;
        }
    }
    list
}

fn radio() -> Radio {
    // Listening has a current of its own, so that it is told from receiving.
    Radio { listen: "150mW".parse().unwrap(), ..Radio::find("esp32-c3").unwrap() }
}

/// What a meter shows that takes `hertz` means a second and starts `ahead_s` before the capture: `current` of each state.
pub(super) fn metered(
    periods: &[RadioPeriod],
    hertz: u32,
    ahead_s: f64,
    current: impl Fn(RadioState) -> f64,
) -> Trace {
    let end_s = periods.last().map_or(0.0, |last| (last.start + last.duration).as_secs_f64());
    let step_s = 1.0 / f64::from(hertz);
    let mut text = "Timestamp(ms),Current(uA)\n".to_owned();
    let mut first = 0;
    for number in 0..((end_s + ahead_s) / step_s) as u64 {
        let from_s = number as f64 * step_s - ahead_s;
        let until_s = from_s + step_s;
        let mut charge_c = current(RadioState::Sleep) * (0.0f64.min(until_s) - 0.0f64.min(from_s));
        while periods.get(first).is_some_and(|p| (p.start + p.duration).as_secs_f64() <= from_s) {
            first += 1;
        }
        for period in periods[first..].iter().take_while(|period| period.start.as_secs_f64() < until_s) {
            let (start_s, stop_s) =
                (period.start.as_secs_f64(), (period.start + period.duration).as_secs_f64());
            charge_c += current(period.state) * (stop_s.min(until_s) - start_s.max(from_s)).max(0.0);
        }
        text += &format!("{:.5},{:.6}\n", number as f64 * step_s * 1e3, charge_c / step_s * 1e6);
    }
    read(&text).unwrap()
}

pub(super) fn predicted(state: RadioState) -> f64 {
    currents(&radio(), Load::default()).unwrap().0[state as usize]
}

fn compared_with(
    trace: &Trace,
    periods: &[RadioPeriod],
    radio: &Radio,
    offset: Option<f64>,
) -> Result<CurrentReport, String> {
    let load = Load::default();
    let prediction = Prediction { name: "psm", periods, radio, knows_beacons: true, load };
    compare(trace, &prediction, offset, true)
}

pub(super) fn compared(trace: &Trace, periods: &[RadioPeriod], offset: Option<f64>) -> CurrentReport {
    compared_with(trace, periods, &radio(), offset).unwrap()
}

/// A constant current is the current of every state, whatever the samples span.
#[test]
fn a_constant_current_is_that_of_every_state() {
    for (hertz, offset_s) in [(1_000, 0.0), (100_000, 0.0), (50, 0.0), (1_000, 0.0371)] {
        for periods in [periods(), beacons()] {
            let report = compared(&metered(&periods, hertz, 0.0, |_| 63e-3), &periods, Some(offset_s));
            assert_eq!(report.states.len(), if periods.len() == 400 { 4 } else { 5 });
            for state in &report.states {
                assert!((state.measured_a.unwrap() - 63e-3).abs() < 1e-7, "{hertz}: {state:?}");
            }
            assert_eq!(report.verdict.kind, CurrentVerdictKind::Awake);
            let says = "the radio is awake, or the board has a load, since no mode of the host takes more than 20.6 mA: \
                        the current is 63.0 mA";
            assert!(report.verdict.text.contains(says), "{}", report.verdict.text);
        }
    }
}

/// Adds uniform noise with this standard deviation to each sample.
pub(super) fn add_noise(trace: &mut Trace, deviation_a: f32) {
    let mut random = 1u64;
    for interval in &mut trace.intervals {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        interval.current_a += ((random >> 40) as f32 / 16_777_216.0 - 0.5) * 12f32.sqrt() * deviation_a;
    }
}

/// The same current with and without power save is that of a radio that listens all the time, or of the host: the noise of a meter
/// takes neither from the verdict.
#[test]
fn noise_of_the_meter_does_not_change_what_a_constant_current_is() {
    let periods = beacons();
    for (current_a, says) in [
        (
            63e-3,
            "or as little as 63.0 mA, since the profile assumes it: a radio that listens all the time is possible",
        ),
        (20.6e-3, "the host does not sleep: the current is 20."),
    ] {
        for (hertz, deviation_a) in
            [(10_000, 1e-3), (10_000, 2e-3), (10_000, 5e-3), (10_000, 10e-3), (1_000, 2e-3)]
        {
            let mut trace = metered(&periods, hertz, 0.0, |_| current_a);
            add_noise(&mut trace, deviation_a);
            let text = compared(&trace, &periods, None).verdict.text;
            assert!(text.contains(says), "{current_a} {hertz} {deviation_a}: {text}");
        }
    }
}

/// A trace of a known profile gives the profile back within 1 %, from samples that are longer than the states, and with an offset
/// that is no multiple of a millisecond, which is found.
#[test]
fn a_known_profile_comes_back() {
    for (hertz, ahead_s) in [(100_000, 0.0), (1_000, 0.0), (1_000, 1.2345), (10_000, 0.00037), (250, 0.0)] {
        let periods = periods();
        let trace = metered(&periods, hertz, ahead_s, |state| 1.3 * predicted(state) + 2e-3);
        let offset = (hertz == 250).then_some(0.0);
        let report = compared(&trace, &periods, offset);
        assert!((report.offset_s.unwrap() + ahead_s).abs() < 3e-5, "{hertz}: {:?}", report.offset_s);
        for state in &report.states {
            let known = 1.3 * state.predicted_c / state.time_s + 2e-3;
            assert!(
                (state.measured_a.unwrap() / known - 1.0).abs() < 0.01,
                "{hertz}, {ahead_s}: {known} {state:?}"
            );
        }
        let sum: f64 = report.states.iter().map(|state| state.measured_c).sum();
        assert!((sum / report.measured_c - 1.0).abs() < 1e-9);
        let shares: f64 = report.states.iter().map(|state| state.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
    }
}

/// Noise of 1 mA moves a state's current by what its standard error says.
#[test]
fn noise_is_in_the_errors() {
    let periods = periods();
    let mut trace = metered(&periods, 10_000, 0.0, predicted);
    add_noise(&mut trace, 1e-3);
    for state in &compared(&trace, &periods, Some(0.0)).states {
        let (measured_a, error_a) = (state.measured_a.unwrap(), state.error_a.unwrap());
        let off_a = (measured_a - state.predicted_c / state.time_s).abs();
        assert!(off_a < 4.0 * error_a && error_a < 2e-4, "{state:?}");
        let expected_a = 1e-3 / (state.time_s * 1e4).sqrt();
        assert!(error_a > 0.8 * expected_a && error_a < 2.0 * expected_a, "{state:?} {expected_a}");
    }
}

/// A state that was there for less than a millisecond has no current of its own, and does not take one from the others.
#[test]
fn a_state_of_an_instant_is_not_determined() {
    let mut periods = beacons();
    let last = *periods.last().unwrap();
    let burst = RadioPeriod {
        start: last.start + last.duration,
        duration: Span::from_micros(150),
        state: RadioState::Transmit,
        is_simulated: true,
    };
    let rest = RadioPeriod {
        start: burst.start + burst.duration,
        duration: Span::from_millis(100),
        state: RadioState::Sleep,
        is_simulated: true,
    };
    periods.extend([burst, rest]);
    let mut trace = metered(&periods, 1_000, 0.0, predicted);
    // A glitch of the meter in the burst's sample: by the share of the burst it would be a current of 557 mA and more.
    let place = trace.intervals.iter().position(|one| one.end_s() > burst.start.as_secs_f64()).unwrap();
    trace.intervals[place].current_a += 80e-3;
    let report = compared(&trace, &periods, Some(0.0));
    for state in &report.states {
        let known = state.predicted_c / state.time_s;
        match state.measured_a {
            None => {
                assert_eq!((state.state, state.error_a), (RadioState::Transmit.name(), None));
                assert!((state.measured_c / state.time_s / report.mean_a - 1.0).abs() < 0.01, "{state:?}");
            }
            // The glitch is somebody's charge.
            Some(measured_a) => {
                assert!((measured_a - known).abs() < 2e-4 + 0.03 * known, "{known} {state:?}")
            }
        }
    }
    assert_eq!(report.states.iter().filter(|state| state.measured_a.is_none()).count(), 1);
}

/// A verdict is one of the time of both. A device that is awake beside the capture and sleeps for as long after it is awake, as the
/// prediction and the mean are of that time.
#[test]
fn a_verdict_is_of_the_time_of_both() {
    let periods = beacons();
    let mut trace = metered(&periods, 1_000, 0.0, |_| 63e-3);
    let end_s = trace.intervals.last().map_or(0.0, Interval::end_s);
    let later = (0..10_000).map(|ms| f64::from(ms) * 1e-3 + end_s);
    trace.intervals.extend(later.map(|start_s| Interval { start_s, length_s: 1e-3, current_a: 0.14e-3 }));
    let report = compared(&trace, &periods, Some(0.0));
    assert!((report.asleep_share.unwrap() - 0.49).abs() < 0.01, "{report:?}");
    assert_eq!(report.overlap_asleep_share, Some(0.0));
    assert_eq!(report.verdict.kind, CurrentVerdictKind::Awake, "{}", report.verdict.text);
    assert!(report.verdict.text.contains("; this is of the 10.2"), "{}", report.verdict.text);
    assert!(report.verdict.text.contains("the current is 63.0 mA throughout"), "{}", report.verdict.text);
    // Of a trace that ends with the capture there is one span only.
    let whole = compared(&metered(&periods, 1_000, 0.0, |_| 63e-3), &periods, Some(0.0));
    assert!(!whole.verdict.text.contains("of both"), "{}", whole.verdict.text);
}

/// Samples of 50 ms do not show sleep between beacons, however well the mean fits, and no current of a wake-up.
#[test]
fn long_samples_tell_no_state_from_its_neighbours() {
    let periods = periods();
    let report = compared(&metered(&periods, 20, 0.0, predicted), &periods, Some(0.0));
    assert_eq!(report.verdict.kind, CurrentVerdictKind::Undetermined, "{}", report.verdict.text);
    assert!(report.verdict.text.contains("samples longer than 20 ms"), "{}", report.verdict.text);
    let wake_up = report.states.iter().find(|state| state.state == RadioState::WakeUp.name()).unwrap();
    assert_eq!(wake_up.measured_a, None, "{wake_up:?}");
    // A steady current like that of listening is an answer all the same.
    let flat = compared(&metered(&periods, 20, 0.0, |_| 63e-3), &periods, None);
    assert_eq!(flat.verdict.kind, CurrentVerdictKind::Awake, "{}", flat.verdict.text);
}

#[test]
fn a_flat_trace_is_an_answer() {
    let beacons = beacons();
    let report = compared(&metered(&beacons, 1_000, 0.0, |_| 63e-3), &beacons, None);
    assert_eq!((report.offset_s, report.states.len()), (None, 0));
    assert!((report.mean_a - 63e-3).abs() < 1e-8 && (report.low_a - 63e-3).abs() < 1e-8);
    assert_eq!(report.verdict.kind, CurrentVerdictKind::Awake);
    // No host takes that much.
    let first = "the radio is awake, or the board has a load, since no mode of the host takes more than 20.6 mA: \
                 the current is 63.0 mA";
    assert!(report.verdict.text.starts_with(first), "{}", report.verdict.text);
    // The setting is in force: what is left is a radio that does not follow it, or 63.0 - 20.6 mA and more beside it.
    let left = "the board has a load of 42.4 mA beside a host that never sleeps, or up to 62.9 mA";
    assert!(report.verdict.text.contains(left), "{}", report.verdict.text);
    // The host of a modem sleep: what stays is 20.6 mA.
    let hosted = metered(&beacons, 1_000, 0.0, |state| predicted(state).max(20.6e-3));
    let report = compared(&hosted, &beacons, None);
    assert_eq!(report.verdict.kind, CurrentVerdictKind::HostAwake);
    assert!(report.verdict.text.contains("Modem-sleep"), "{}", report.verdict.text);
    let same = compared(&metered(&beacons, 1_000, 0.0, predicted), &beacons, None);
    assert_eq!(same.verdict.kind, CurrentVerdictKind::AsPredicted);
}

/// What a profile assumes of listening is a band, within which a radio that is always on takes what was predicted.
#[test]
fn an_active_radio_may_take_what_its_profile_leaves_open() {
    let radio = Radio::find("esp32-c3").unwrap();
    let (start, duration) = (Instant::ZERO, Span::from_secs(10));
    let listens = [RadioPeriod { start, duration, state: RadioState::Listen, is_simulated: true }];
    for (current_a, kind) in [(66e-3, CurrentVerdictKind::AsPredicted), (50e-3, CurrentVerdictKind::Differs)]
    {
        let trace = metered(&listens, 1_000, 0.0, |_| current_a);
        let verdict = compared_with(&trace, &listens, &radio, None).unwrap().verdict;
        assert_eq!(verdict.kind, kind, "{}", verdict.text);
        assert_eq!(verdict.text.contains("listening takes 84.0 mA, or as little as 63.0"), current_a > 60e-3);
    }
}

/// A state that takes less than predicted is no cause of a mean that is higher, by how much ever it is off.
#[test]
fn a_cause_has_the_sign_of_the_difference() {
    let beacons = beacons();
    let trace = metered(&beacons, 10_000, 0.0, |state| match state {
        RadioState::Sleep => 0.34e-3,
        RadioState::WakeUp => 44.8e-3,
        RadioState::Listen => 79e-3,
        _ => 42e-3,
    });
    let verdict = compared(&trace, &beacons, None).verdict;
    assert_eq!(verdict.kind, CurrentVerdictKind::Differs, "{}", verdict.text);
    assert!(verdict.text.contains("most of the difference is in "), "{}", verdict.text);
    assert!(!verdict.text.contains("in receive"), "{}", verdict.text);
}

/// A load of the board lies on all states. Neither the radio nor the host is accused of it, and one that is declared is no news.
#[test]
fn a_load_of_the_board_is_no_host_that_is_awake() {
    let beacons = beacons();
    for load_a in [0.3e-3, 0.5e-3, 1e-3, 2e-3, 5e-3, 30e-3] {
        let trace = metered(&beacons, 5_000, 0.0, |state| predicted(state) + load_a);
        let report = compared(&trace, &beacons, None);
        // From wake-ups for beacons alone a host that takes as much is not told from a load, since boards differ in what one takes.
        let is_small = load_a < 10e-3;
        let kind = if is_small { CurrentVerdictKind::Load } else { CurrentVerdictKind::LoadOrHost };
        assert_eq!(report.verdict.kind, kind, "{}", report.verdict.text);
        for part in ["9.58 mA of it at least is a load", "a trace with traffic tells it"] {
            assert_eq!(report.verdict.text.contains(part), !is_small, "{}", report.verdict.text);
        }
        let radio = radio();
        for load in [Load { current_a: load_a, power_w: 0.0 }, Load { current_a: 0.0, power_w: 3.3 * load_a }]
        {
            let declared =
                Prediction { name: "psm", periods: &beacons, radio: &radio, knows_beacons: true, load };
            let report = compare(&trace, &declared, None, false).unwrap();
            assert_eq!(report.verdict.kind, CurrentVerdictKind::AsPredicted, "{}", report.verdict.text);
            assert!((report.predicted_a / report.mean_a - 1.0).abs() < 0.01, "{report:?}");
        }
    }
    // A host in modem sleep on a board that takes 30 mA.
    let host = metered(&beacons, 5_000, 0.0, |state| predicted(state).max(20.6e-3) + 30e-3);
    let report = compared(&host, &beacons, None);
    assert_eq!(report.verdict.kind, CurrentVerdictKind::HostAwake);
    let text = &report.verdict.text;
    assert!(text.starts_with("the radio sleeps, and the host does not, beside a constant 30"), "{text}");
    assert!(text.contains("Modem-sleep takes"), "{text}");
}

#[test]
fn windows_show_what_is_worth_looking_at() {
    let periods = periods();
    let report = compared(&metered(&periods, 1_000, 0.0, |state| 1.5 * predicted(state)), &periods, None);
    let names: Vec<&str> = report.windows.iter().map(|window| window.what).collect();
    assert_eq!(names, ["whole trace", "one exchange", "largest difference"]);
    for window in &report.windows {
        assert!(window.measured.len() == window.predicted_mean_a.len() && window.from_s < window.until_s);
    }
    let beacons = beacons();
    let idle = compared(&metered(&beacons, 1_000, 0.0, predicted), &beacons, Some(0.0));
    assert_eq!(idle.windows[1].what, "one beacon");
    // Wake-up, guard and beacon take 2.3 ms; 5 ms stand on either side.
    assert!((idle.windows[1].until_s - idle.windows[1].from_s - 0.0123).abs() < 1e-9);
}

/// A trace that has nothing to do with the capture has no states, with an offset or without; its mean and what follows from it alone are
/// there.
#[test]
fn what_does_not_belong_together_has_no_states() {
    let periods = periods();
    let mut other = metered(&periods, 1_000, 0.0, predicted);
    let mut state = 1u64;
    for interval in &mut other.intervals {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        interval.current_a = (state >> 40) as f32 * 1e-8;
    }
    for offset in [None, Some(0.0)] {
        let report = compared(&other, &periods, offset);
        assert!(report.correlation.unwrap() < LEAST_CORRELATION && report.states.is_empty(), "{report:?}");
        assert_eq!(report.offset_s, offset);
        assert!((report.mean_a - 84e-3).abs() < 2e-3, "{}", report.mean_a);
        assert_eq!(report.verdict.kind, CurrentVerdictKind::LoadOrHost);
    }
    let error =
        |trace: &Trace, radio: &Radio, offset| compared_with(trace, &periods, radio, offset).unwrap_err();
    assert!(error(&other, &radio(), Some(1e4)).contains("overlaps with the capture"));
    let bare = Radio::shipped().iter().find(|radio| radio.voltage.is_none()).unwrap();
    assert!(error(&other, bare, None).contains("voltage"));
    other.intervals.iter_mut().for_each(|interval| interval.current_a = -interval.current_a);
    assert!(error(&other, &radio(), None).contains("expected a mean current above zero"));
}

/// A host that takes 20.6 mA in sleep, as the prediction has it, is as predicted: what it takes is no noise.
#[test]
fn a_host_that_stays_awake_is_as_predicted_in_its_mode() {
    let radio = Radio::find("esp32-c3:modem-sleep").unwrap();
    let (currents, _) = currents(&radio, Load::default()).unwrap();
    let periods = beacons();
    for (hertz, noise_a) in [(1_000, 0.0), (10_000, 0.1e-3)] {
        let mut trace = metered(&periods, hertz, 0.0, |state| currents[state as usize]);
        add_noise(&mut trace, noise_a);
        let report = compared_with(&trace, &periods, &radio, None).unwrap();
        assert_eq!(report.verdict.kind, CurrentVerdictKind::AsPredicted, "{}", report.verdict.text);
        assert!(report.asleep_share.unwrap() > 0.95, "{:?}", report.asleep_share);
    }
}

/// Fewer than ten beacon intervals, and samples longer than the doze between two beacons, get no firm verdict.
#[test]
fn too_little_is_no_verdict() {
    let beacons = beacons();
    let mut short = metered(&beacons, 10_000, 0.0, |_| 63e-3);
    short.intervals.truncate(30);
    let verdict = compared(&short, &beacons, None).verdict;
    assert_eq!(verdict.kind, CurrentVerdictKind::Undetermined, "{verdict:?}");
    let coarse = compared(&metered(&beacons, 2, 0.0, |state| 3.0 * predicted(state)), &beacons, None);
    // Every half second has nearly the same number of beacons.
    assert!(coarse.asleep_share.is_none());
    assert_ne!(coarse.verdict.kind, CurrentVerdictKind::Differs);
}

/// A device that stays awake for 10 ms instead of 50 sleeps, whatever the correlation.
#[test]
fn a_sleeping_device_is_not_awake() {
    let (truth, planned) = (periods(), beacons());
    let trace = metered(&truth, 1_000, 0.0, |state| predicted(state) * 0.7);
    for offset in [None, Some(0.0)] {
        let report = compared(&trace, &planned, offset);
        assert!(report.correlation.is_none_or(|correlation| correlation < LEAST_CORRELATION), "{report:?}");
        assert!(report.asleep_share.unwrap() > 0.5, "{report:?}");
        assert_eq!(report.verdict.kind, CurrentVerdictKind::Differs, "{}", report.verdict.text);
        assert!(report.verdict.text.contains("the device sleeps for"), "{}", report.verdict.text);
    }
}

/// Twenty seconds of a device that receives each `dtim`th beacon, with a report every few seconds, which is `late` by up to a beacon interval
/// or begins at once.
pub(super) fn device(dtim: u64, late: bool) -> Vec<RadioPeriod> {
    let mut list = Vec::new();
    let mut at = 0u64;
    let mut put = |state, until: u64| {
        if until > at {
            let start = Instant::ZERO + Span::from_micros(at);
            list.push(RadioPeriod {
                start,
                duration: Span::from_micros(until - at),
                state,
                is_simulated: true,
            });
            at = until;
        }
    };
    for number in 0..20_000_000 / (102_400 * dtim) {
        let beacon = 50_000 + number * 102_400 * dtim;
        put(RadioState::Sleep, beacon - 1_200);
        put(RadioState::WakeUp, beacon - 200);
        put(RadioState::Listen, beacon);
        put(RadioState::Receive, beacon + 1_000);
        if number % (39 / dtim) == 7 {
            let report = beacon + 10_000 + if late { number * 37 % 40 * 1_000 } else { 0 };
            put(RadioState::Sleep, report - 1_000);
            put(RadioState::WakeUp, report);
            put(RadioState::Transmit, report + 300);
            put(RadioState::Listen, report + 9_000 + 100 * (number % 17));
            put(RadioState::Receive, report + 11_000);
            put(RadioState::Listen, report + 51_000 - 700 * (number % 11));
        }
    }
    list
}

/// The meter's noise is no time awake: of a trace with 1 mA of it 59 % of the time was near sleep, which takes 97 %.
#[test]
fn noise_of_the_meter_is_no_time_awake() {
    let periods = device(1, false);
    let quiet = compared(&metered(&periods, 1_000, 0.0, predicted), &periods, None).asleep_share.unwrap();
    for deviation_a in [0.3e-3, 1e-3, 3e-3] {
        let mut trace = metered(&periods, 1_000, 0.0, predicted);
        add_noise(&mut trace, deviation_a);
        let noisy = compared(&trace, &periods, None).asleep_share.unwrap();
        assert!((noisy - quiet).abs() < 0.02, "{deviation_a}: {noisy} and {quiet}");
    }
    // A host that is awake at 20 mA is not asleep by noise.
    let awake = |state| if state == RadioState::Sleep { 20e-3 } else { predicted(state) };
    let mut trace = metered(&periods, 1_000, 0.0, awake);
    add_noise(&mut trace, 1e-3);
    assert!(compared(&trace, &periods, None).asleep_share.unwrap() < 0.01);
}

/// The wake-ups of a radio that listens at 41 mA are counted in noise up to an eighth of that, and what hides them is said: with 8 mA at 84 mA
/// one of 120 s had 834 more, and with 12 mA one each 5.79 ms.
#[test]
fn noise_of_the_meter_is_no_wake_up() {
    let periods = beacons();
    let of = |deviation_a| {
        let mut trace = metered(&periods, 1_000, 0.0, predicted);
        add_noise(&mut trace, deviation_a);
        compared(&trace, &periods, None)
    };
    let quiet = of(0.0).beacon.unwrap();
    for deviation_a in [3e-3, 4e-3, 5e-3] {
        let noisy = of(deviation_a);
        assert!(!noisy.verdict.text.contains("woke up"), "{deviation_a}: {}", noisy.verdict.text);
        let beacon = noisy.beacon.unwrap();
        assert!(beacon.count.abs_diff(quiet.count) <= 1, "{deviation_a}: {beacon:?}");
        assert!((beacon.every_s - quiet.every_s).abs() < 1e-4, "{deviation_a}: {beacon:?}");
    }
    let hidden = of(20e-3);
    assert!(
        hidden.beacon.is_none() && hidden.verdict.text.contains("noise as large as"),
        "{}",
        hidden.verdict.text
    );
}

/// What a wake-up takes is its charge above the current between: with wake-ups three times as long at 40 mA, and with the profile's.
#[test]
fn the_charge_of_a_beacon_is_measured() {
    let periods = beacons();
    let own = compared(&metered(&periods, 10_000, 0.0, predicted), &periods, None).beacon.unwrap();
    // Bins are whole milliseconds; the time between beacons is not.
    assert!((own.every_s - 0.1024).abs() < 5e-5 && own.count > 90, "{own:?}");
    // By hand: 1 ms of waking up, 0.588 ms of listening and 0.712 ms of receiving above sleep.
    let above = |state, seconds| (predicted(state) - predicted(RadioState::Sleep)) * seconds;
    let by_hand_c = above(RadioState::WakeUp, 1e-3)
        + above(RadioState::Listen, 588e-6)
        + above(RadioState::Receive, 712e-6);
    assert!((own.measured_c / by_hand_c - 1.0).abs() < 0.01, "{own:?}, {by_hand_c}");
    assert!((own.predicted_c / by_hand_c - 1.0).abs() < 0.01 && own.more_a.abs() < 2e-5, "{own:?}");
    let dearer =
        |state| if state == RadioState::WakeUp { predicted(state) + 50e-3 } else { predicted(state) };
    for (deviation_a, within) in [(0.0, 0.01), (1e-3, 0.05)] {
        let mut trace = metered(&periods, 1_000, 0.0, dearer);
        add_noise(&mut trace, deviation_a);
        let more = compared(&trace, &periods, None).beacon.unwrap();
        assert!((more.measured_c - by_hand_c - 50e-6).abs() < within * by_hand_c, "{more:?}");
        assert!((more.more_a - 50e-6 / 0.1024).abs() < 0.1e-3, "{more:?}");
    }
    // Noise on both sides of the current between wake-ups is no charge of them: with 5 mA of it those of an ESP32-C3
    // had 22 % more, which listens at twice the current here.
    let mut trace = metered(&periods, 1_000, 0.0, predicted);
    add_noise(&mut trace, 2e-3);
    let noisy = compared(&trace, &periods, None).beacon.unwrap();
    assert!((noisy.measured_c / by_hand_c - 1.0).abs() < 0.08, "{noisy:?}");
}
