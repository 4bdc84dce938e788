//! Where a trace is placed in a capture: clocks that drift, currents that repeat themselves, reports that jitter.

use super::*;

/// A meter whose quartz goes fast or slow by 10 to 200 millionths shows the currents of the profile nonetheless: uncorrected, 0.6 ms at the
/// end of a minute gave sleep twice its current. One that goes as the capture's clock does is left as it is.
#[test]
fn a_clock_that_drifts_is_corrected() {
    let beacons = beacons();
    let whole = beacons.last().map_or(Instant::ZERO, |last| last.start + last.duration);
    let again = |round: u64| {
        beacons
            .iter()
            .map(move |one| RadioPeriod { start: one.start + (whole - Instant::ZERO) * round, ..*one })
    };
    let periods: Vec<RadioPeriod> = (0..6).flat_map(again).collect();
    let straight = metered(&periods, 2_000, 0.25, predicted);
    for ppm in [0.0, 10.0, -20.0, 200.0] {
        let mut trace = straight.clone();
        trace.intervals.iter_mut().for_each(|one| one.start_s *= 1.0 + 1e-6 * ppm);
        for offset in [None, Some(-0.25)] {
            let report = compared(&trace, &periods, offset);
            let fast = report.clock_fast_ppm;
            assert!(
                fast.is_none() == (ppm == 0.0) && (fast.unwrap_or(0.0) - ppm).abs() < 0.3 + 0.01 * ppm.abs(),
                "{ppm}: {fast:?}"
            );
            for state in &report.states {
                let known = state.predicted_c / state.time_s;
                assert!((state.measured_a.unwrap() / known - 1.0).abs() < 0.02, "{ppm}: {known} {state:?}");
            }
        }
    }
    let uncorrected = straight.on_clock(20e-6);
    let prediction = Prediction {
        name: "psm",
        periods: &periods,
        radio: &radio(),
        knows_beacons: true,
        load: Load::default(),
    };
    let report = compare_clocked(&uncorrected, &prediction, None, false).unwrap();
    let asleep = report.states.iter().find(|state| state.state == "sleep").unwrap();
    assert!(asleep.measured_a.unwrap() > 1.5 * asleep.predicted_c / asleep.time_s, "{asleep:?}");
}

#[test]
fn a_current_that_repeats_itself_fits_at_several_offsets() {
    let periods = periods();
    let sure = compared(&metered(&periods, 1_000, 0.0, predicted), &periods, None);
    assert_eq!((sure.other_offset_s, sure.other_offsets.len()), (None, 0));
    let beacons = beacons();
    let doubtful = compared(&metered(&beacons, 1_000, 0.0, predicted), &beacons, None);
    assert_eq!(doubtful.other_offsets.len(), 4);
    for other in &doubtful.other_offsets {
        let intervals = (other.offset_s - doubtful.offset_s.unwrap()).abs() / 0.1024;
        assert!(intervals > 0.5 && (intervals - intervals.round()).abs() < 0.02, "{other:?}");
        assert!(other.correlation > 0.9);
    }
}

/// Five bursts at distances that do not repeat, each of 40 packets 30 ms apart. Moved by 30 ms, 39 of 40 packets still coincide, but a
/// place 30 ms from the best one is not another one: only one further away than 50 ms is, and moved by 60 ms it correlates less.
#[test]
fn a_place_within_50_ms_of_the_best_one_is_no_other() {
    let mut periods = Vec::new();
    let mut at_ms = 0;
    let mut put = |state, until_ms: u64| {
        let start = Instant::ZERO + Span::from_millis(at_ms);
        let duration = Span::from_millis(until_ms - at_ms);
        periods.push(RadioPeriod { start, duration, state, is_simulated: true });
        at_ms = until_ms;
    };
    for burst_ms in [300, 3_100, 7_400, 11_000, 16_300] {
        for packet_ms in (0..40).map(|number| burst_ms + 30 * number) {
            put(RadioState::Sleep, packet_ms);
            put(RadioState::Listen, packet_ms + 10);
        }
    }
    put(RadioState::Sleep, 20_000);
    let currents = currents(&radio(), Load::default()).unwrap().0;
    let trace = metered(&periods, 1_000, 0.0, predicted);
    let found = align::align(&trace, &periods, &currents, align::REPORT_BIN).unwrap();
    assert!(found.offset_s.abs() < 1e-3 && found.correlation > 0.999, "{found:?}");
    assert_eq!((found.others, found.repeats_s), (Vec::new(), None));
}

/// Ten reports of 50 ms, one each 30 s.
fn reports() -> Vec<RadioPeriod> {
    let mut periods = Vec::new();
    for report in 0..10u64 {
        for (from_ms, length_ms, state) in [(0, 50, RadioState::Listen), (50, 29_950, RadioState::Sleep)] {
            let start = Instant::ZERO + Span::from_millis(report * 30_000 + from_ms);
            let duration = Span::from_millis(length_ms);
            periods.push(RadioPeriod { start, duration, state, is_simulated: true });
        }
    }
    periods
}

/// A report every 30 s: noise does not move the trace by periods. Silence before the first report shows its place.
#[test]
fn a_strictly_periodic_current_is_placed_nearest_to_zero() {
    let periods = reports();
    for (ahead_s, expected_s) in [(0.0, 0.0), (4.0, -4.0), (34.0, -34.0)] {
        let mut trace = metered(&periods, 1_000, ahead_s, predicted);
        // Every report but those at the end of the trace draws 3 % less.
        let end_s = trace.intervals.last().unwrap().end_s();
        for one in trace.intervals.iter_mut().filter(|one| one.end_s() < end_s - 100.0) {
            one.current_a *= 0.97;
        }
        let report = compared(&trace, &periods, None);
        assert!((report.offset_s.unwrap() - expected_s).abs() < 0.01, "{ahead_s}: {:?}", report.offset_s);
        assert!((report.repeats_s.unwrap() - 30.0).abs() < 0.1, "{:?}", report.repeats_s);
        let nearest = report.other_offsets.iter().map(|other| (other.offset_s - expected_s).abs());
        assert!(nearest.clone().any(|away| (away - 30.0).abs() < 0.1), "{:?}", report.other_offsets);
    }
}

/// Of a trace from 20 s on of something periodic, -10 s is nearer to zero than 20 s, and the capture has less of it.
#[test]
fn a_place_inside_the_capture_is_preferred() {
    let periods = reports();
    let mut trace = metered(&periods, 1_000, 0.0, predicted);
    trace.intervals.retain(|one| (20.0..80.0).contains(&one.start_s));
    trace.intervals.iter_mut().for_each(|one| one.start_s -= 20.0);
    let report = compared(&trace, &periods, None);
    assert!((report.offset_s.unwrap() - 20.0).abs() < 0.01, "{:?}", report.offset_s);
    assert!((report.overlap_s - 60.0).abs() < 0.1, "{report:?}");
}

/// A report each 6 s but for a jitter of up to 50 ms, with the tail of 50 ms that is predicted or one of another length.
fn jittered(tail_ms: u64) -> Vec<RadioPeriod> {
    let mut periods = Vec::new();
    let mut at = Instant::ZERO;
    let mut put = |state, until: Instant| {
        periods.push(RadioPeriod { start: at, duration: until - at, state, is_simulated: true });
        at = until;
    };
    for report in 0..20u64 {
        let begin = Instant::ZERO + Span::from_millis(report * 6_000 + 100 + report * report * 31 % 50);
        put(RadioState::Sleep, begin);
        put(RadioState::Listen, begin + Span::from_millis(20 + tail_ms));
    }
    put(RadioState::Sleep, Instant::ZERO + Span::from_millis(120_000));
    periods
}

/// Where reports jitter, their begins tell at which of them a trace began, though correlations of 100 ms do not, and though the device is
/// awake for longer than predicted. It was placed at the first report.
#[test]
fn jitter_tells_at_which_report_a_trace_began() {
    let (periods, currents) = (jittered(50), currents(&radio(), Load::default()).unwrap().0);
    for (tail_ms, host_a, from_s) in [(50, 0.0, 35.0), (200, 0.0, 35.0), (50, 20e-3, 47.0)] {
        let measured =
            |state| if state == RadioState::Sleep { predicted(state) + host_a } else { predicted(state) };
        let mut trace = metered(&jittered(tail_ms), 1_000, 0.0, measured);
        trace.intervals.retain(|one| (from_s..from_s + 60.0).contains(&one.start_s));
        trace.intervals.iter_mut().for_each(|one| one.start_s -= from_s);
        for bin in [align::REPORT_BIN, align::BEACONS_BIN] {
            let found = align::align(&trace, &periods, &currents, bin).unwrap();
            let off_s = found.offset_s - from_s;
            assert!(off_s.abs() < 0.2 && found.others.is_empty(), "{tail_ms} ms, {bin:?}: {found:?}");
        }
    }
}

/// A beacon each 102.4 ms for ten minutes, and a report each 30 s, which is no multiple of that.
fn sensor() -> Vec<RadioPeriod> {
    let mut periods = Vec::new();
    let mut at = Span::ZERO;
    let mut put = |state, until: Span| {
        let duration = until.saturating_sub(at);
        if !duration.is_zero() {
            periods.push(RadioPeriod { start: Instant::ZERO + at, duration, state, is_simulated: true });
            at = until;
        }
    };
    let awake_for = |beacon: Span| beacon + Span::from_micros(2_300);
    for beacon in (0..5_859).map(|number| Span::from_micros(102_400 * number)) {
        let report = Span::from_secs(30) * beacon.as_nanos().div_ceil(30_000_000_000);
        put(RadioState::Sleep, beacon);
        put(RadioState::Listen, awake_for(beacon));
        if report < beacon + Span::from_micros(102_400) {
            put(RadioState::Sleep, report);
            put(RadioState::Listen, report + Span::from_millis(130));
        }
    }
    periods
}

/// A trace is at the place that fits best, though reports come each 30 s and the coarse bins may be half a bin off there: it was at 35 s,
/// where the beacons are 3 ms from where they are.
#[test]
fn a_trace_is_where_it_fits_best() {
    let (periods, currents) = (sensor(), currents(&radio(), Load::default()).unwrap().0);
    let whole = metered(&periods, 1_000, 0.0, predicted);
    for from_s in [0.7, 5.0, 33.0] {
        let (file, samples) = (String::new(), whole.samples);
        let mut trace = Trace { file, samples, intervals: whole.intervals.clone() };
        trace.intervals.retain(|one| (from_s..from_s + 100.0).contains(&one.start_s));
        trace.intervals.iter_mut().for_each(|one| one.start_s -= from_s);
        let found = align::align(&trace, &periods, &currents, align::REPORT_BIN).unwrap();
        assert!((found.offset_s - from_s).abs() < 1e-3 && found.correlation > 0.999, "{from_s}: {found:?}");
    }
}
