mod estimators;

use super::*;

const MSS: u32 = 1_000;

fn newreno(initial_window: u32, initial_ssthresh: u32, growth: Growth) -> CongestionControl {
    CongestionControl::new(&CongestionConfig {
        algorithm: Algorithm::NewReno,
        mss: MSS,
        initial_window,
        initial_ssthresh,
        growth,
        slow_start_at_threshold: false,
    })
}

fn of(algorithm: Algorithm, initial_window: u32) -> CongestionControl {
    let (initial_ssthresh, growth) = (UNLIMITED, Growth::Bytes);
    CongestionControl::new(&CongestionConfig {
        algorithm,
        mss: MSS,
        initial_window,
        initial_ssthresh,
        growth,
        slow_start_at_threshold: false,
    })
}

fn acked(bytes: u32, flight: u32) -> Acknowledged {
    Acknowledged { bytes, flight, now: Instant::ZERO, srtt: Span::ZERO }
}

/// Acknowledges one segment of a fully used window.
fn ack_one(control: &mut CongestionControl) {
    let flight = control.cwnd();
    control.on_ack(acked(MSS, flight));
}

#[test]
fn slow_start_doubles_in_a_round_trip() {
    let mut control = newreno(2 * MSS, UNLIMITED, Growth::Bytes);
    for round in 1..=5 {
        for _ in 0..control.cwnd() / MSS {
            ack_one(&mut control);
        }
        assert_eq!(control.cwnd(), (2 << round) * MSS);
    }
}

#[test]
fn slow_start_grows_by_at_most_a_segment_an_ack() {
    let mut control = newreno(4 * MSS, UNLIMITED, Growth::Bytes);
    control.on_ack(acked(4 * MSS, 4 * MSS));
    assert_eq!(control.cwnd(), 5 * MSS);
    control.on_ack(acked(10, 5 * MSS));
    assert_eq!(control.cwnd(), 5 * MSS + 10);
}

#[test]
fn congestion_avoidance_grows_by_a_segment_a_round_trip() {
    let mut control = newreno(8 * MSS, 8 * MSS, Growth::Bytes);
    for round in 1..=20 {
        for _ in 0..control.cwnd() / MSS {
            ack_one(&mut control);
        }
        assert_eq!(control.cwnd(), (8 + round) * MSS);
    }
}

#[test]
fn counted_by_acks_a_stretch_ack_grows_as_little_as_any() {
    let mut control = newreno(10 * MSS, 10 * MSS, Growth::Acks);
    control.on_ack(acked(2 * MSS, 10 * MSS));
    assert_eq!(control.cwnd(), 10 * MSS + MSS / 10);
    let mut wide = newreno(1 << 29, 1 << 29, Growth::Acks);
    ack_one(&mut wide);
    assert_eq!(wide.cwnd(), (1 << 29) + 1, "at least one byte");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut control = newreno(10 * MSS, UNLIMITED, Growth::Bytes);
    control.on_ack(acked(MSS, 9 * MSS));
    assert_eq!(control.cwnd(), 10 * MSS);
    control.on_ack(acked(MSS, 9 * MSS + 1));
    assert_eq!(control.cwnd(), 11 * MSS);
}

#[test]
fn recovery_inflates_deflates_and_ends_at_the_threshold() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.enter_recovery(20 * MSS, 3);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, 13 * MSS));
    for _ in 0..6 {
        control.on_duplicate_ack();
    }
    assert_eq!(control.cwnd(), 19 * MSS);
    control.on_partial_ack(acked(5 * MSS, 20 * MSS));
    assert_eq!(control.cwnd(), 15 * MSS);
    control.on_partial_ack(acked(400, 20 * MSS));
    assert_eq!(control.cwnd(), 15 * MSS - 400, "less than a segment adds nothing back");
    control.leave_recovery();
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, 10 * MSS));
}

#[test]
fn a_timeout_falls_to_one_segment_and_repeated_ones_keep_the_threshold() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.on_timeout(20 * MSS, true, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, MSS));
    control.on_timeout(MSS, false, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, MSS));
    control.on_timeout(MSS, true, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (2 * MSS, MSS), "never below two segments");
}

#[test]
fn idleness_and_a_lost_syn_shrink_the_window_only() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.on_idle(10 * MSS);
    assert_eq!((control.ssthresh(), control.cwnd()), (UNLIMITED, 10 * MSS));
    control.on_idle(15 * MSS);
    assert_eq!(control.cwnd(), 10 * MSS);
    control.on_lost_syn();
    assert_eq!((control.ssthresh(), control.cwnd()), (UNLIMITED, MSS));
}

#[test]
fn no_window_grows_without_bound() {
    let mut control = newreno(WINDOW_MAX - 1, UNLIMITED, Growth::Bytes);
    ack_one(&mut control);
    ack_one(&mut control);
    assert_eq!(control.cwnd(), WINDOW_MAX);
}

/// In a timeout during fast recovery, the flight of 60 segments is due to the inflated window, not to the path.
#[test]
fn a_timeout_in_recovery_does_not_raise_the_threshold() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.enter_recovery(20 * MSS, 3);
    control.on_timeout(60 * MSS, true, true);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, MSS));
    control.on_timeout(8 * MSS, true, true);
    assert_eq!(control.ssthresh(), 4 * MSS, "but lowers it where less is in flight");
}

/// The window after a loss with 20 segments in flight, and after the end of recovery.
#[test]
fn each_algorithm_answers_a_loss_in_its_way() {
    for (algorithm, entered, left) in [
        (Algorithm::Tahoe, (10, 1), None),
        (Algorithm::Reno, (10, 13), Some(10)),
        (Algorithm::NewReno, (10, 13), Some(10)),
        (Algorithm::Sack, (10, 10), Some(10)),
        (Algorithm::Cubic, (14, 14), Some(14)),
        (Algorithm::Westwood, (2, 2), Some(2)),
        (Algorithm::Veno, (16, 16), Some(16)),
        (Algorithm::Jersey, (2, 2), Some(2)),
    ] {
        let mut control = of(algorithm, 20 * MSS);
        control.enter_recovery(20 * MSS, 3);
        assert_eq!((control.ssthresh() / MSS, control.cwnd() / MSS), entered, "{}", algorithm.name());
        if let Some(left) = left {
            control.leave_recovery();
            assert_eq!(control.cwnd(), left * MSS);
        }
        control.on_timeout(4 * MSS, true, false);
        let least = match algorithm {
            Algorithm::Cubic => 2_800,
            Algorithm::Veno => 3_200,
            _ => 2 * MSS,
        };
        assert_eq!(control.cwnd(), MSS);
        assert!(control.ssthresh() <= least);
    }
}

#[test]
fn an_undone_loss_leaves_no_trace() {
    for algorithm in Algorithm::ALL {
        let mut control = of(*algorithm, 20 * MSS);
        let before = control.clone();
        control.enter_recovery(20 * MSS, 3);
        control.undo(&before);
        assert_eq!(control, before);
        control.enter_recovery(20 * MSS, 3);
        control.leave_recovery();
        while control.cwnd() < 30 * MSS {
            ack_one(&mut control);
        }
        let grown = control.cwnd();
        control.undo(&before);
        assert_eq!((control.cwnd(), control.ssthresh()), (grown, UNLIMITED), "but no window shrinks");
    }
}

#[test]
fn cube_roots_are_exact() {
    use super::cubic::cube_root;
    for root in (0..2_000_u64).chain([99_999, 2_642_244]) {
        let cube = root * root * root;
        assert_eq!(cube_root(cube), root);
        assert_eq!(cube_root(cube + 1), if root == 0 { 1 } else { root });
        if cube > 1 {
            assert_eq!(cube_root(cube - 1), root - 1);
        }
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}

/// Runs CUBIC in congestion avoidance for `rounds` round trips of `rtt`. Returns the window in bytes at the end of
/// each.
fn cubic_rounds(control: &mut CongestionControl, rtt: Span, now: &mut Instant, rounds: usize) -> Vec<u32> {
    let mut windows = Vec::new();
    for _ in 0..rounds {
        *now += rtt;
        let flight = control.cwnd();
        for _ in 0..flight / MSS {
            control.on_ack(Acknowledged { bytes: MSS, flight: control.cwnd(), now: *now, srtt: rtt });
        }
        windows.push(control.cwnd());
    }
    windows
}

/// RFC 9438 equations (1) and (2): after a loss at 1000 segments the window returns to this value after K, the cube
/// root of 300 over 0.4, which is 9.09 s, and is flat around it.
#[test]
fn cubic_is_back_after_k_and_flat_there() {
    let mut control = of(Algorithm::Cubic, 1000 * MSS);
    control.enter_recovery(1000 * MSS, 3);
    control.leave_recovery();
    assert_eq!(control.cwnd(), 700 * MSS);
    let (rtt, mut now) = (Span::from_millis(100), Instant::ZERO);
    let windows = cubic_rounds(&mut control, rtt, &mut now, 180);
    // The window lags by the round trip that it aims ahead, and gains the one by which the epoch began late, which
    // gives equation (1) at t.
    for (index, window) in windows.iter().enumerate().skip(5) {
        let time = index as f64 * 0.1;
        let ideal = 1000.0 + 0.4 * (time - (300.0_f64 / 0.4).cbrt()).powi(3);
        let is = f64::from(*window) / f64::from(MSS);
        assert!((is - ideal).abs() < 0.02 * ideal, "after {time:.1} s {is:.1} segments, not {ideal:.1}");
    }
    assert!(windows.is_sorted());
}

/// Section 4.3: on a short path CUBIC grows as Reno would, by 9/17 of a segment in a round trip up to the window of the loss
/// and by a segment beyond.
#[test]
fn cubic_keeps_up_with_reno_on_short_paths() {
    let mut control = of(Algorithm::Cubic, 20 * MSS);
    control.enter_recovery(20 * MSS, 3);
    control.leave_recovery();
    let (rtt, mut now) = (Span::from_millis(1), Instant::ZERO);
    let windows = cubic_rounds(&mut control, rtt, &mut now, 30);
    let growth = f64::from(windows[9] - 14 * MSS) / f64::from(MSS) / 10.0;
    assert!((growth - 9.0 / 17.0).abs() < 0.03, "{growth} segments a round trip");
    let beyond = f64::from(windows[29] - windows[19]) / f64::from(MSS) / 10.0;
    assert!((beyond - 1.0).abs() < 0.06, "{beyond} segments a round trip");
}

/// Section 4.7: a flow with a second loss before its window has recovered leaves room for others.
#[test]
fn cubic_converges_fast() {
    let mut control = of(Algorithm::Cubic, 100 * MSS);
    control.enter_recovery(100 * MSS, 3);
    control.leave_recovery();
    control.enter_recovery(70 * MSS, 3);
    control.leave_recovery();
    assert_eq!(control.cwnd(), 49 * MSS);
    // The flat part lies at 70 * 0.85 = 59.5: K is the cube root of 10.5 over 0.4, 2.97 s. The round trip is long enough that
    // Reno would be slower.
    let mut now = Instant::ZERO;
    let windows = cubic_rounds(&mut control, Span::from_millis(500), &mut now, 7);
    let flat = windows[6];
    assert!((58 * MSS..=61 * MSS).contains(&flat), "{flat}");
}

/// Section 5.8: time in which the window is not used does not advance the cubic.
#[test]
fn cubic_does_not_jump_after_a_pause() {
    let mut control = of(Algorithm::Cubic, 100 * MSS);
    control.enter_recovery(100 * MSS, 3);
    control.leave_recovery();
    let (rtt, mut now) = (Span::from_millis(100), Instant::ZERO);
    cubic_rounds(&mut control, rtt, &mut now, 5);
    let before = control.cwnd();
    now += Span::from_secs(100);
    control.on_ack(Acknowledged { bytes: MSS, flight: MSS, now, srtt: rtt });
    let after = cubic_rounds(&mut control, rtt, &mut now, 1)[0];
    assert!(after - before < 5 * MSS, "{before} to {after}");
}

/// Section 4.8: after a timeout the curve begins at its flat part, with the window at which slow start ends.
#[test]
fn cubic_begins_anew_after_a_timeout() {
    let mut control = of(Algorithm::Cubic, 100 * MSS);
    control.on_timeout(100 * MSS, true, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (70 * MSS, MSS));
    while control.cwnd() < 70 * MSS {
        ack_one(&mut control);
    }
    let mut now = Instant::ZERO;
    let windows = cubic_rounds(&mut control, Span::from_millis(100), &mut now, 10);
    assert!(windows[9] < 76 * MSS, "{windows:?}");
}
