//! The estimator, the controller and the note of streams, each alone: what the paper says they do.

use airwatt_base::{Instant, RandomStream, Span};
use proptest::prelude::*;

use super::*;

const fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

const PEAK_BPS: u64 = 16_000_000;

/// An update of 100 ms at this share of [`PEAK_BPS`], in power save.
fn seen(share_permille: u64) -> Seen {
    Seen {
        bits: PEAK_BPS / 10 * share_permille / 1_000,
        elapsed: ms(100),
        empty_triggers: 0,
        active: false,
        utilization: Ratio::ZERO,
    }
}

fn update(controller: &mut Controller, seen: &Seen) -> Option<Switch> {
    controller.measure(seen);
    controller.decide(seen, PEAK_BPS)
}

/// Acts at every update, on what was just measured.
fn prompt() -> BaTaConfig {
    BaTaConfig { count_max: 1, alpha: Ratio::ZERO, ..BaTaConfig::default() }
}

/// As [`prompt`], at the shortest interval from the beginning: every update below the ratio is an attempt.
fn attempting() -> BaTaConfig {
    BaTaConfig { int_min: ms(20), int_max: ms(20), ..prompt() }
}

/// Intervals after each of `updates`, where the throughput is inverse to the interval: `share` of the peak rate at an
/// interval of 30 ms is all of it.
fn recursion(config: BaTaConfig, updates: usize) -> Vec<f64> {
    let mut controller = Controller::new(config);
    let mut step = || {
        let interval = controller.interval().as_nanos();
        update(&mut controller, &seen((ms(30).as_nanos() * 1_000 / interval).min(1_000)));
        controller.interval().as_secs_f64() * 1e3
    };
    (0..updates).map(|_| step()).collect()
}

/// The first of `n_max` opportunities is taken at once, or the last one.
#[test]
fn the_first_attempt_is_the_first_or_the_last_of_n_max() {
    for (attempt_at_once, attempts) in [(true, 1), (false, 3)] {
        let mut controller = Controller::new(BaTaConfig { attempt_at_once, ..attempting() });
        let first = (1..=10).find(|_| update(&mut controller, &seen(500)) == Some(Switch::Enter));
        assert_eq!(first, Some(attempts), "{attempt_at_once}");
    }
}

/// Smoothed from zero, the throughput of the first update is a tenth of what came.
#[test]
fn the_throughput_starts_from_zero_or_from_its_first_sample() {
    for (first_sample, share) in [(true, 10), (false, 1)] {
        let mut controller = Controller::new(BaTaConfig { first_sample, ..BaTaConfig::default() });
        controller.measure(&seen(1_000));
        assert_eq!(controller.throughput_bps, PEAK_BPS * share / 10);
    }
}

/// Active mode that brings no more is left, or only once it brings less.
#[test]
fn active_mode_is_left_below_a_change_of_the_ratio() {
    let active = |share| Seen { active: true, ..seen(share) };
    for (leave_below, stays, falls) in [(None, true, true), (Some(-Ratio::from_permille(100)), false, true)] {
        let mut controller = Controller::new(BaTaConfig { leave_below, ..attempting() });
        update(&mut controller, &active(500));
        assert_eq!(update(&mut controller, &active(500)) == Some(Switch::Leave), stays, "{leave_below:?}");
        assert_eq!(update(&mut controller, &active(300)) == Some(Switch::Leave), falls, "{leave_below:?}");
    }
}

/// s001.appendix: with ratio = B / interval the interval goes to B / `ratio_min`, whatever the gain below 2 / `ratio_min`.
#[test]
fn the_interval_settles_where_the_ratio_is_what_is_aimed_at() {
    for (ratio_min, expected) in [(900, 30.0 / 0.9), (700, 30.0 / 0.7)] {
        let config = BaTaConfig { ratio_min: Ratio::from_permille(ratio_min), ..prompt() };
        let last = *recursion(config, 60).last().unwrap();
        assert!((last - expected).abs() < 0.1, "{ratio_min}: {last} ms instead of {expected} ms");
    }
    // Smoothed and with a count of ten the same, only later.
    let last = *recursion(BaTaConfig::default(), 2_000).last().unwrap();
    assert!((last - 30.0 / 0.9).abs() < 0.1, "{last} ms");
}

/// s001.appendix: monotone below 1 / `ratio_min`, oscillating up to 2 / `ratio_min`, unstable beyond.
#[test]
fn the_gain_decides_how_the_interval_settles() {
    let target = 30.0 / 0.9;
    let errors = |gain: i64| -> Vec<f64> {
        let config = BaTaConfig { gain: Ratio::from_permille(gain), int_min: ms(1), ..prompt() };
        // The linear region begins at 30 ms: below it the ratio is cut off at 1.
        recursion(config, 40).into_iter().map(|interval| interval - target).collect()
    };
    let monotone = errors(900);
    assert!(monotone.windows(2).all(|pair| pair[1] <= pair[0] + 0.04 && pair[1] > -0.05), "{monotone:?}");
    let oscillating = errors(1_700);
    assert!(oscillating.windows(2).filter(|pair| pair[0] * pair[1] < 0.0).count() >= 3);
    assert!(oscillating.last().unwrap().abs() < 0.5, "{oscillating:?}");
    let unstable = errors(2_600);
    assert!(unstable[20..].iter().any(|error| error.abs() > 1.0), "{unstable:?}");
}

/// s001.sec4.2.recovery, and line 37 of the paper's listing for a fresh controller: gains of zero are not greater than zero,
/// so only the `n_max`-th attempt is let in.
#[test]
fn the_first_switch_to_active_mode_is_the_last_of_the_attempts() {
    for n_max in [1, 3, 8] {
        let mut controller = Controller::new(BaTaConfig { n_max, ..attempting() });
        let switches: Vec<_> = (0..n_max).map(|_| update(&mut controller, &seen(500))).collect();
        let (last, before) = switches.split_last().unwrap();
        assert!(before.iter().all(Option::is_none), "{n_max}: {switches:?}");
        assert_eq!(*last, Some(Switch::Enter));
    }
    let config = BaTaConfig { n_max: 5, count_max: 10, ..attempting() };
    let mut controller = Controller::new(config);
    let updates = (1..).find(|_| update(&mut controller, &seen(500)) == Some(Switch::Enter)).unwrap();
    // The first update is a rise from nothing, not a fall, so it does not hasten the count.
    assert_eq!(updates, 50, "N_max x count_max x T_update = 5 s");
}

/// Line 37, the other half: active mode brought a rise, power save did not, and the next attempt succeeds at once.
#[test]
fn an_attempt_succeeds_at_once_where_active_mode_has_paid() {
    let config = BaTaConfig { n_max: 8, alpha: Ratio::from_permille(500), ..attempting() };
    let mut controller = Controller::new(config);
    while update(&mut controller, &seen(200)).is_none() {}
    for share in [400, 600, 800, 850] {
        let active = Seen { active: true, utilization: Ratio::ONE, ..seen(share) };
        assert_eq!(update(&mut controller, &active), None, "it rises by more than gamma");
    }
    let active = Seen { active: true, utilization: Ratio::ONE, ..seen(700) };
    while update(&mut controller, &active).is_none() {}
    let attempts = (1..).find(|_| update(&mut controller, &seen(400)) == Some(Switch::Enter)).unwrap();
    assert!(attempts <= 2, "{attempts} of 8 attempts");
}

/// Line 23: a fall by more than twice gamma is acted on at once; a smaller one waits for the count.
#[test]
fn a_sudden_fall_is_acted_on_at_once() {
    let config = BaTaConfig { alpha: Ratio::ZERO, ..BaTaConfig::default() };
    for (share, acts) in [(790, true), (810, false)] {
        let mut controller = Controller::new(config);
        for _ in 0..10 {
            update(&mut controller, &seen(1_000));
        }
        let before = controller.interval();
        update(&mut controller, &seen(share));
        assert_eq!(controller.interval() != before, acts, "a fall to {share} of a thousand");
    }
}

/// Lines 33 and 40.
#[test]
fn active_mode_is_left_where_it_does_not_pay() {
    let active = |share, busy| Seen { active: true, utilization: Ratio::from_permille(busy), ..seen(share) };
    let after = |share, busy| update(&mut Controller::new(attempting()), &active(share, busy));
    assert_eq!(after(950, 300), Some(Switch::Leave), "the path is the bottleneck");
    assert_eq!(after(950, 900), Some(Switch::Leave), "util_min itself is not beyond it");
    assert_eq!(after(950, 901), None, "the air is the bottleneck");
    assert_eq!(after(500, 901), None, "it rose by more than gamma");
    let mut controller = Controller::new(attempting());
    update(&mut controller, &active(500, 901));
    assert_eq!(update(&mut controller, &active(599, 901)), Some(Switch::Leave), "by less than gamma");
}

/// Line 40 does not undo line 38 in the same pass, although the ratio has not risen.
#[test]
fn who_has_just_entered_active_mode_stays() {
    let mut controller = Controller::new(BaTaConfig { n_max: 2, ..attempting() });
    assert_eq!(update(&mut controller, &seen(500)), None);
    assert_eq!(update(&mut controller, &seen(500)), Some(Switch::Enter));
}

/// Line 36: without data nobody tries.
#[test]
fn no_attempt_without_data() {
    let config = BaTaConfig { alpha: Ratio::from_permille(900), n_max: 1, ..attempting() };
    let mut controller = Controller::new(config);
    update(&mut controller, &seen(500));
    for _ in 0..20 {
        assert_eq!(update(&mut controller, &seen(0)), None);
    }
}

/// Lines 43 to 50.
#[test]
fn triggers_in_vain_lengthen_the_interval() {
    let config = BaTaConfig { int_max: ms(60), ..prompt() };
    let mut controller = Controller::new(config);
    while controller.interval() > ms(20) {
        update(&mut controller, &seen(100));
    }
    for expected in [30, 40, 50, 60, 60] {
        update(&mut controller, &Seen { empty_triggers: 4, ..seen(100) });
        assert_eq!(controller.interval(), ms(expected));
    }
    update(&mut controller, &Seen { empty_triggers: 3, ..seen(100) });
    assert!(controller.interval() < ms(60), "three of four are not in vain yet");
    controller.measure(&seen(100));
    assert_eq!(controller.decide(&seen(100), 0), None);
    assert_eq!(controller.interval(), ms(60), "data, and no idea of the path");
    let active = Seen { active: true, ..seen(0) };
    controller.measure(&active);
    assert_eq!(controller.decide(&active, 0), Some(Switch::Leave), "nothing at all in active mode");
}

/// s001.alg1: packets leave a bottleneck of 16 Mb/s back to back or with pauses, and are fetched at random moments: the
/// estimate neither falls nor goes beyond the bottleneck, and comes near it when the bottleneck is busy.
#[test]
fn the_peak_rate_is_never_overestimated() {
    let packet_time = Span::from_micros(750);
    for seed in 0..20 {
        let mut stream = RandomStream::new(seed, "estimator");
        let mut peak = PeakRate::new(Instant::ZERO);
        let (mut free_at, mut fetched, mut highest) = (Instant::ZERO, Instant::ZERO, 0);
        let mut waiting = 0_u64;
        for _ in 0..400 {
            let fetch = fetched + Span::from_secs_f64(0.02 + stream.exponential(0.06));
            while free_at + packet_time <= fetch {
                free_at += packet_time;
                waiting += 1;
                if stream.chance(0.002) {
                    free_at += Span::from_secs_f64(stream.exponential(0.2));
                }
            }
            for _ in 0..std::mem::take(&mut waiting) {
                peak.received(12_000);
            }
            peak.emptied(fetch, ms(100));
            assert!(peak.bps() >= highest, "it never falls");
            highest = peak.bps();
            fetched = fetch;
        }
        assert!(highest <= PEAK_BPS, "seed {seed}: {highest} bit/s of {PEAK_BPS}");
        assert!(highest > PEAK_BPS * 95 / 100, "seed {seed}: {highest} bit/s of {PEAK_BPS}");
    }
}

#[test]
fn the_estimator_waits_for_an_update_time_and_takes_empty_moments_for_references() {
    let at = Instant::from_millis;
    let mut peak = PeakRate::new(at(0));
    for _ in 0..11 {
        peak.received(12_000);
    }
    peak.emptied(at(100), ms(100));
    assert_eq!(peak.bps(), 0, "not later than an update time");
    peak.emptied(at(120), ms(100));
    assert_eq!(peak.bps(), 1_000_000, "ten of eleven packets in 120 ms");
    peak.emptied(at(5_000), ms(100));
    for _ in 0..21 {
        peak.received(12_000);
    }
    assert!(peak.estimate(at(5_120), ms(100)), "in active mode");
    assert_eq!(peak.bps(), 2_000_000, "the idle five seconds do not count");
    peak.estimate(at(6_000), ms(100));
    assert_eq!(peak.bps(), 2_000_000);
    peak.forget();
    assert_eq!(peak.bps(), 0);
}

/// Ten updates of 100 ms make a second; the interval falls by a fifth within them.
fn history(rates_kbps: &[u64], reduce: bool, entered: bool) -> Option<u64> {
    let mut history = History::new(StreamConfig::default());
    for (second, rate) in rates_kbps.iter().enumerate() {
        for _ in 0..10 {
            let now = if reduce { ms(100 - 4 * second as u64) } else { ms(100) };
            history.record(rate * 100, ms(100), now, now, entered && second == 2);
        }
    }
    history.application_bps()
}

#[test]
fn a_stream_is_what_stays_although_the_interval_falls() {
    assert_eq!(history(&[1_000; 5], true, false), Some(1_000_000));
    assert_eq!(history(&[1_000; 5], false, true), Some(1_000_000), "or active mode is entered");
    assert_eq!(history(&[1_000; 5], false, false), None, "no effort, no conclusion");
    assert_eq!(history(&[1_000; 4], true, false), None, "too early");
    assert_eq!(history(&[950, 1_000, 1_050, 1_000, 1_000], true, false), Some(1_000_000), "10 % apart");
    assert_eq!(history(&[940, 1_000, 1_050, 1_010, 1_000], true, false), None, "11 % apart");
    assert_eq!(history(&[0; 5], true, false), None, "nothing is no stream");
}

#[test]
fn a_stream_that_wants_more_is_none() {
    let mut history = History::new(StreamConfig::default());
    for _ in 0..50 {
        history.record(100_000, ms(100), ms(50), ms(30), false);
    }
    assert_eq!(history.application_bps(), Some(1_000_000));
    history.measured(1_200_000);
    assert_eq!(history.application_bps(), Some(1_000_000));
    history.measured(1_200_001);
    assert_eq!(history.application_bps(), None);
}

#[test]
fn options_are_checked() {
    BaTaConfig::default().check().unwrap();
    StreamConfig::default().check().unwrap();
    let bad = BaTaConfig { ratio_min: Ratio::ZERO, ..BaTaConfig::default() };
    assert_eq!(bad.check().unwrap_err().to_string(), "ratio_min: expected 0.01 to 1, got 0");
    let bad = BaTaConfig { int_max: ms(10), ..BaTaConfig::default() };
    assert_eq!(bad.check().unwrap_err().to_string(), "int_max: expected 20ms to 10s, got 10ms");
    let bad = StreamConfig { history: ms(500), ..StreamConfig::default() };
    assert_eq!(bad.check().unwrap_err().key(), "history");
}

proptest! {
    /// Whatever is seen, the interval stays between its ends, and a switch is one that the mode allows.
    #[test]
    fn the_controller_keeps_its_bounds(
        gain in 0_i64..10_000,
        ratio_min in 10_i64..=1_000,
        alpha in 0_i64..=999,
        updates in prop::collection::vec((0_u64..200_000_000, 1_u64..5_000, 0_u32..8, 0_i64..=1_000, any::<u64>()), 1..200),
    ) {
        let config = BaTaConfig {
            gain: Ratio::from_permille(gain),
            ratio_min: Ratio::from_permille(ratio_min),
            alpha: Ratio::from_permille(alpha),
            ..BaTaConfig::default()
        };
        config.check().unwrap();
        let mut controller = Controller::new(config);
        let mut active = false;
        for (bits, elapsed_ms, empty_triggers, busy, reference_bps) in updates {
            let utilization = Ratio::from_permille(busy);
            let seen = Seen { bits, elapsed: ms(elapsed_ms), empty_triggers, active, utilization };
            controller.measure(&seen);
            match controller.decide(&seen, reference_bps) {
                Some(Switch::Enter) => {
                    prop_assert!(!active);
                    active = true;
                }
                Some(Switch::Leave) => {
                    prop_assert!(active);
                    active = false;
                }
                None => {}
            }
            prop_assert!(controller.interval() >= config.int_min && controller.interval() <= config.int_max);
        }
    }
}
