//! Tests of the congestion controls that estimate a rate or a backlog: Westwood+, Veno and TCP-Jersey. The numbers are worked
//! out by hand from the publications.

use super::*;
use crate::cc::Delivered;

const RTT: Span = Span::from_millis(100);

/// A congestion control in congestion avoidance with a window of `segments`.
fn avoiding(algorithm: Algorithm, segments: u32) -> CongestionControl {
    CongestionControl::new(&CongestionConfig {
        algorithm,
        mss: MSS,
        initial_window: segments * MSS,
        initial_ssthresh: segments * MSS,
        growth: Growth::Bytes,
        slow_start_at_threshold: false,
    })
}

/// An acknowledgement at `at` ms that shows `segments` to have arrived, over a round trip of `rtt`.
fn delivered(segments: u32, at: u64, rtt: Span) -> Delivered {
    let now = Instant::ZERO + Span::from_millis(at);
    Delivered { bytes: segments * MSS, rtt: Some(rtt), srtt: rtt, now }
}

/// Window and threshold after a loss, in bytes. `control` stays as it is.
fn after_loss(control: &CongestionControl) -> (u32, u32) {
    let mut control = control.clone();
    let cwnd = control.cwnd();
    control.enter_recovery(cwnd, 3);
    control.leave_recovery();
    (control.cwnd(), control.ssthresh())
}

/// The first round trip has 10 segments in 110 ms, 90,909 B/s, which fill both filters: with a least round trip of 100 ms the window is
/// 9,090 bytes. The second has 20, 181,818 B/s: (7 * 90,909 + 181,818) / 8 = 102,272 after the first filter, (7 * 90,909 + 102,272)
/// / 8 = 92,329 after the second.
#[test]
fn westwood_fills_the_path_at_the_measured_rate() {
    let mut control = avoiding(Algorithm::Westwood, 40);
    assert_eq!(after_loss(&control), (2 * MSS, 2 * MSS), "nothing is measured yet");
    // What the acknowledgement at 0 covers was sent before the round.
    control.on_delivered(delivered(5, 0, RTT));
    for at in 1..=11 {
        control.on_delivered(delivered(1, 10 * at, RTT));
    }
    assert_eq!(after_loss(&control), (9_090, 9_090));
    // The acknowledgement at 110 ms counts in the second round.
    for at in 1..=19 {
        control.on_delivered(delivered(1, 110 + 5 * at, RTT));
    }
    assert_eq!(after_loss(&control), (9_090, 9_090), "a round trip is not over");
    control.on_delivered(delivered(1, 220, RTT));
    assert_eq!(after_loss(&control), (9_232, 9_232));
    let mut small = control.clone();
    small.limit(5 * MSS);
    assert_eq!(after_loss(&small), (5 * MSS, 9_232), "a loss enlarges no window");
}

/// A round trip of 10 ms is measured over 50: 5 segments in the 60 ms up to the sixth are 83,333 B/s, 833 bytes in a round trip.
#[test]
fn westwood_measures_no_time_shorter_than_50_ms() {
    let mut control = avoiding(Algorithm::Westwood, 40);
    for at in 0..=6 {
        control.on_delivered(delivered(if at == 6 { 30 } else { 1 }, 10 * at, Span::from_millis(10)));
    }
    let CongestionControl::Westwood(rule) = &control else { panic!("it is Westwood+") };
    assert_eq!(rule.rate(), Some(83_333));
    assert_eq!(after_loss(&control), (2 * MSS, 2 * MSS), "but no window is smaller than two segments");
}

#[test]
fn westwood_begins_the_least_round_trip_anew_at_a_timeout() {
    let mut control = avoiding(Algorithm::Westwood, 40);
    for at in 0..=11 {
        control.on_delivered(delivered(1, 10 * at, RTT));
    }
    control.on_timeout(40 * MSS, true, false);
    assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 9_090));
    control.on_timeout(MSS, false, false);
    assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 9_090));
    control.on_delivered(delivered(1, 120, RTT * 2));
    control.on_timeout(MSS, true, false);
    assert_eq!(control.ssthresh(), 18_181, "90,909 B/s over 200 ms");
}

/// Section III-B: with a window of 15 segments the backlog is three of them where the round trip is 125 ms instead of 100, N = 15 * 25 /
/// 125. Below, a loss takes a fifth; there, half.
#[test]
fn veno_takes_a_fifth_for_a_loss_without_a_backlog() {
    let mut control = avoiding(Algorithm::Veno, 15);
    control.on_delivered(delivered(1, 0, RTT));
    control.on_delivered(delivered(1, 10, RTT * 2));
    assert_eq!(after_loss(&control), (12 * MSS, 12 * MSS), "two samples are too few");
    control.on_delivered(delivered(1, 20, Span::from_millis(125)));
    assert_eq!(after_loss(&control), (7_500, 7_500));
    control.on_delivered(Delivered { rtt: None, ..delivered(1, 25, RTT) });
    assert_eq!(
        after_loss(&control),
        (7_500, 7_500),
        "an acknowledgement without a round-trip time says nothing"
    );
    control.on_delivered(delivered(1, 30, Span::from_nanos(124_999_999)));
    assert_eq!(after_loss(&control), (12 * MSS, 12 * MSS));
    control.on_timeout(15 * MSS, true, false);
    assert_eq!((control.cwnd(), control.ssthresh()), (MSS, 12 * MSS), "as in Linux");
}

/// One segment in a round trip without a backlog, one in two with it, and slow start as ever.
#[test]
fn veno_grows_half_as_fast_with_a_backlog() {
    let grown = |rtt, acks, slow_start: bool| {
        let mut control =
            if slow_start { of(Algorithm::Veno, 15 * MSS) } else { avoiding(Algorithm::Veno, 15) };
        for rtt in [RTT, RTT, rtt] {
            control.on_delivered(delivered(1, 0, rtt));
        }
        (0..acks).for_each(|_| ack_one(&mut control));
        control.cwnd() / MSS
    };
    let (short, long) = (Span::from_millis(110), Span::from_millis(150));
    assert_eq!((grown(short, 14, false), grown(short, 15, false)), (15, 16));
    assert_eq!((grown(long, 29, false), grown(long, 30, false)), (15, 16));
    assert_eq!((grown(short, 15, true), grown(long, 15, true)), (30, 30));
}

#[test]
fn veno_begins_anew_after_idleness() {
    let mut control = avoiding(Algorithm::Veno, 15);
    for rtt in [RTT, RTT, RTT * 2] {
        control.on_delivered(delivered(1, 0, rtt));
    }
    assert_eq!(after_loss(&control).0, 7_500);
    control.on_idle(15 * MSS);
    for _ in 0..3 {
        control.on_delivered(delivered(1, 0, RTT * 2));
    }
    assert_eq!(after_loss(&control).0, 12 * MSS, "the path is as long as it is now");
}

/// Equation of the estimator: (0 + 1000) / 0.11 = 9,090 B/s, then (909 + 1000) / 0.11 = 17,354. A segment in 10 ms is 100,000 B/s, ten
/// segments in a round trip; a second of silence leaves (10,000 + 1000) / 1.1 = 10,000 of them.
#[test]
fn jersey_estimates_what_it_gets() {
    let mut control = avoiding(Algorithm::Jersey, 40);
    let rate = |control: &CongestionControl| {
        let CongestionControl::Jersey(rule) = control else { panic!("it is Jersey") };
        rule.rate()
    };
    control.on_delivered(delivered(1, 0, RTT));
    control.on_delivered(delivered(1, 10, RTT));
    assert_eq!(rate(&control), 9_090);
    control.on_delivered(delivered(1, 20, RTT));
    assert_eq!(rate(&control), 17_354);
    assert_eq!(after_loss(&control), (2 * MSS, 2 * MSS), "1,735 bytes are less than two segments");
    for at in 3..=300 {
        control.on_delivered(delivered(1, 10 * at, RTT));
    }
    assert!((99_989..=100_000).contains(&rate(&control)), "{}", rate(&control));
    let (cwnd, ssthresh) = after_loss(&control);
    assert!(cwnd == ssthresh && (9_998..=10_000).contains(&cwnd), "{cwnd} bytes");
    let mut small = control.clone();
    small.limit(5 * MSS);
    assert_eq!(after_loss(&small), (5 * MSS, ssthresh), "a loss enlarges no window");
    control.on_timeout(40 * MSS, true, false);
    assert_eq!((control.cwnd(), control.ssthresh()), (MSS, ssthresh));
    control.on_delivered(delivered(1, 4_000, RTT));
    assert!((9_998..=10_000).contains(&rate(&control)), "{}", rate(&control));
}

/// What arrives during a recovery that turns out to be spurious was measured all the same.
#[test]
fn an_undone_loss_keeps_the_estimate() {
    let mut control = avoiding(Algorithm::Westwood, 40);
    for at in 0..=5 {
        control.on_delivered(delivered(1, 10 * at, RTT));
    }
    let before = control.clone();
    control.enter_recovery(40 * MSS, 3);
    for at in 6..=11 {
        control.on_delivered(delivered(1, 10 * at, RTT));
    }
    control.undo(&before);
    assert_eq!((control.cwnd(), control.ssthresh()), (40 * MSS, 40 * MSS));
    assert_eq!(
        after_loss(&control),
        (9_090, 9_090),
        "10 segments in 110 ms, those in the recovery among them"
    );
}

/// Lost acknowledgements halve the window whatever the estimates say.
#[test]
fn the_method_halves_each_of_them() {
    for algorithm in [Algorithm::Westwood, Algorithm::Veno, Algorithm::Jersey] {
        let mut control = avoiding(algorithm, 40);
        for at in 0..=30 {
            control.on_delivered(delivered(4, 10 * at, RTT));
        }
        control.on_ack_loss();
        assert_eq!((control.cwnd(), control.ssthresh()), (20 * MSS, 20 * MSS), "{}", algorithm.name());
    }
}
