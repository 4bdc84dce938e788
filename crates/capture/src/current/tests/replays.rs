//! Traces beside replays, which do not know when beacons were sent.

use super::*;

/// Exchanges that wait for their beacon, each after some beacons alone: `beacons` and up to four more. The beacons are at `phase` of
/// their interval, in microseconds, and the exchanges where they are.
fn exchanges(phase: u64, count: u64, beacons: u64) -> Vec<RadioPeriod> {
    let mut at = Instant::ZERO;
    let mut list = Vec::new();
    let mut put = |state, micros: u64| {
        let duration = Span::from_micros(micros);
        list.push(RadioPeriod { start: at, duration, state, is_simulated: true });
        at += duration;
    };
    put(RadioState::Sleep, 1_000 + phase);
    for number in 0..count {
        // An exchange has a length of its own, and ends where it began in the interval.
        for _ in 0..=beacons + number * 7 % 5 {
            put(RadioState::WakeUp, 1_000);
            put(RadioState::Listen, 588);
            put(RadioState::Receive, 712);
            put(RadioState::Sleep, 100_100);
        }
        put(RadioState::Sleep, 40_000 - phase);
        put(RadioState::WakeUp, 1_000);
        put(RadioState::Transmit, 400);
        put(RadioState::Listen, 50_000 + 900 * (number % 7));
        put(RadioState::Sleep, 11_000 - 900 * (number % 7) + phase);
    }
    list
}

/// The comparison with a replay, which does not know when beacons were sent.
fn replayed(measured: impl Fn(RadioState) -> f64) -> CurrentReport {
    let trace = metered(&exchanges(0, 12, 40), 1_000, 0.0, measured);
    let radio = radio();
    let periods = exchanges(23_000, 12, 40);
    let load = Load::default();
    let prediction =
        Prediction { name: "timeout", periods: &periods, radio: &radio, knows_beacons: false, load };
    compare(&trace, &prediction, None, false).unwrap()
}

/// Sleep with beacons is compared with sleep with beacons: 0.5 mA more are 0.5 mA more.
#[test]
fn what_is_more_is_told_where_beacons_count_with_sleep() {
    for load_a in [0.5e-3, 60e-3] {
        let report = replayed(|state| predicted(state) + load_a);
        let text = &report.verdict.text;
        assert_eq!(report.verdict.kind, CurrentVerdictKind::Load, "{text}");
        assert!((report.verdict.more_a.unwrap() / load_a - 1.0).abs() < 0.03, "{:?}", report.verdict);
        // A device that sleeps beside a load is asleep.
        assert!(report.asleep_share.unwrap() > 0.9, "{:?}", report.asleep_share);
        assert!(text.contains("84.0 mA are predicted") || text.contains("45.5 mA are predicted"), "{text}");
    }
    let host = replayed(|state| if state == RadioState::Sleep { 20.56e-3 } else { predicted(state) });
    let text = &host.verdict.text;
    assert_eq!(host.verdict.kind, CurrentVerdictKind::HostAwake, "{text}");
    assert!(text.contains("it takes 20.6 mA asleep"), "{text}");
    assert!(text.contains("Modem-sleep takes 20.6 mA"), "{text}");
}

/// The same with a radio that listens for so much longer after each exchange.
fn with_tail(periods: Vec<RadioPeriod>, tail: Span) -> Vec<RadioPeriod> {
    let mut left = Span::ZERO;
    let mut list = Vec::new();
    for one in periods {
        let listens = one.duration.min(left);
        if !listens.is_zero() {
            list.push(RadioPeriod { duration: listens, state: RadioState::Listen, ..one });
        }
        left = left.saturating_sub(listens);
        if one.duration > listens {
            let (start, duration) = (one.start + listens, one.duration.saturating_sub(listens));
            list.push(RadioPeriod { start, duration, ..one });
        }
        if one.state == RadioState::Listen && one.duration > Span::from_millis(40) {
            left = tail;
        }
    }
    list
}

/// What is predicted under `timeout`, without a load.
fn under_timeout<'a>(periods: &'a [RadioPeriod], radio: &'a Radio) -> Prediction<'a> {
    Prediction { name: "timeout", periods, radio, knows_beacons: false, load: Load::default() }
}

/// A radio that is awake for longer after traffic is no sleep that takes more: its beacons and the sleep between them are as predicted.
#[test]
fn a_longer_time_awake_after_traffic_is_named() {
    let radio = radio();
    let periods = exchanges(23_000, 12, 40);
    let prediction = under_timeout(&periods, &radio);
    let trace = metered(&with_tail(exchanges(0, 12, 40), Span::from_millis(150)), 1_000, 0.0, predicted);
    let text = compare(&trace, &prediction, None, false).unwrap().verdict.text;
    assert!(text.contains("time awake after traffic, longer than the policy's"), "{text}");
}

/// Loads, hosts that are awake and radios that are, beside replays whose times are off and beside the capture's own: no verdict is wrong,
/// whatever the place of the trace.
#[test]
fn loads_hosts_and_radios_are_told_apart_beside_replays() {
    let radio = Radio::find("esp32-c3").unwrap();
    let own = |state: RadioState| currents(&radio, Load::default()).unwrap().0[state as usize];
    let kind_of = |dtim, known: bool, hertz, current: &dyn Fn(RadioState) -> f64| {
        let (truth, planned) = (device(dtim, true), device(if known { dtim } else { 1 }, known));
        let trace = metered(&truth, hertz, 0.0, current);
        let prediction = Prediction {
            name: "timeout",
            periods: &planned,
            radio: &radio,
            knows_beacons: known,
            load: Load::default(),
        };
        [None, Some(3.3)].map(|offset| {
            let verdict = compare(&trace, &prediction, offset, false).unwrap().verdict;
            (verdict.kind, verdict.text)
        })
    };
    for (dtim, known, hertz) in
        [(1, true, 2_000), (1, false, 2_000), (3, true, 2_000), (3, false, 2_000), (3, false, 1_000)]
    {
        let case = format!("DTIM {dtim}, beacons known: {known}, {hertz} Hz");
        for load_a in [0.3e-3, 1e-3, 3e-3, 5e-3, 10e-3, 30e-3, 62e-3] {
            for (kind, text) in kind_of(dtim, known, hertz, &|state| own(state) + load_a) {
                assert_eq!(kind, CurrentVerdictKind::Load, "{case}, {load_a}: {text}");
            }
        }
        for (host_a, board_a) in [(20.56e-3, 0.0), (10.18e-3, 0.0), (20.56e-3, 30e-3)] {
            for (kind, text) in kind_of(dtim, known, hertz, &|state| own(state).max(host_a) + board_a) {
                assert_eq!(kind, CurrentVerdictKind::HostAwake, "{case}, {host_a}: {text}");
            }
        }
        for listen_a in [63e-3, 84e-3] {
            let on = |state| if state == RadioState::Transmit { 285e-3 } else { listen_a };
            for (kind, text) in kind_of(dtim, known, hertz, &on) {
                assert_eq!(kind, CurrentVerdictKind::Awake, "{case}, {listen_a}: {text}");
            }
        }
    }
    // Samples of 5 ms show no beacon, and a replay's times are not those of the trace.
    for (kind, text) in kind_of(3, false, 200, &|state| own(state) + 10e-3) {
        assert_eq!(kind, CurrentVerdictKind::LoadOrHost, "{text}");
        assert!(text.starts_with("load or host: undecided"), "{text}");
    }
}

/// Less for reception is less in sleep, too, if beacons count with it.
#[test]
fn reception_and_sleep_are_not_told_apart_where_beacons_count_with_sleep() {
    let radio_on = [RadioState::Receive, RadioState::Listen];
    let report = replayed(|state| predicted(state) * if radio_on.contains(&state) { 0.7 } else { 1.0 });
    let text = &report.verdict.text;
    assert_eq!(report.verdict.kind, CurrentVerdictKind::Differs, "{text}");
    for part in ["sleep and the beacons that count with it: ", "in listen it takes"] {
        assert!(text.contains(part), "{text}");
    }
}

/// A replay with the access point's beacons at other times: what the trace does not determine has no current, and no current is
/// negative. Beacons that count with sleep give the currents of the traffic back.
#[test]
fn beacons_of_a_replay_are_not_where_they_were() {
    let (truth, replayed) = (exchanges(0, 40, 3), exchanges(23_000, 40, 3));
    for hertz in [1_000, 10_000] {
        let trace = metered(&truth, hertz, 0.0, predicted);
        let radio = radio();
        let prediction = under_timeout(&replayed, &radio);
        let report = compare(&trace, &prediction, None, false).unwrap();
        assert!(report.beacons_in_sleep && report.correlation.unwrap() > 0.9, "{report:?}");
        assert!(report.offset_s.unwrap().abs() < 2e-3, "{:?}", report.offset_s);
        assert_eq!(report.verdict.kind, CurrentVerdictKind::AsPredicted);
        assert!((report.predicted_a / report.mean_a - 1.0).abs() < 0.01, "{report:?}");
        for state in &report.states {
            let known = state.predicted_c / state.time_s;
            let Some(measured_a) = state.measured_a else { continue };
            assert!((measured_a / known - 1.0).abs() < 0.03, "{hertz}: {known} {state:?}");
        }
        let determined = |name| report.states.iter().any(|one| one.state == name && one.measured_a.is_some());
        assert!(determined("sleep") && determined("listen"), "{:?}", report.states);
        // With the beacons where the replay has them.
        let wrong =
            compare(&trace, &Prediction { knows_beacons: true, ..prediction }, Some(0.0), false).unwrap();
        assert!(wrong.states.iter().all(|state| state.measured_a.is_none_or(|a| a > 0.0)), "{wrong:?}");
    }
}

/// Beside a replay a beacon is no difference from sleep with beacons: the largest is where something else draws a current.
#[test]
fn the_largest_difference_beside_a_replay_is_no_beacon() {
    let (periods, radio) = (beacons(), radio());
    let mut trace = metered(&periods, 1_000, 0.0, predicted);
    let more = trace.intervals.iter_mut().filter(|each| (5.3..5.9).contains(&each.start_s));
    more.for_each(|each| each.current_a += 2e-3);
    let prediction = under_timeout(&periods, &radio);
    let report = compare(&trace, &prediction, Some(0.0), true).unwrap();
    let largest = report.windows.iter().find(|window| window.what == "largest difference").unwrap();
    assert!(
        (largest.until_s - largest.from_s - 1.024).abs() < 1e-6,
        "{:?}",
        (largest.from_s, largest.until_s)
    );
    assert!(largest.from_s < 5.9 && largest.until_s > 5.3, "{:?}", (largest.from_s, largest.until_s));
}
