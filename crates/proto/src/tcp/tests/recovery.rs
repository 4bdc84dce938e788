//! Tests of loss recovery, segment by segment: NewReno's fast recovery with one to four losses in a window, and the
//! timer.
//!
//! Segments have 1000 bytes, the round trip takes 20 ms, the first window has ten segments. The ladders show what A sends;
//! every segment that arrives at B is acknowledged at once.

use airwatt_base::Seq;

use super::*;

/// A sends `segments` full segments, and those in `lost` (counted from 1) are lost the first time.
fn losing(config: TcpConfig, segments: u64, lost: &'static [u32]) -> Pair<InLengths> {
    let mut gone = Vec::new();
    let mut pair = Pair::established(&config, millis(10)).with(move |who, _, segment| {
        let number = segment.seq.value() / 1000 + 1;
        if who == A && lost.contains(&number) && !gone.contains(&number) {
            gone.push(number);
            return Fate::Lose;
        }
        Fate::Arrive
    });
    pair.input(A, Input::Write(segments * 1000));
    pair
}

/// The transmissions of A: time in ms and the numbers of the segments sent then, lost ones in parentheses.
fn sent(pair: &Pair<InLengths>) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in pair.ladder.iter().filter(|line| line.contains(" A> ")) {
        let (time, rest) = line.split_once(" A> ").expect("a line of A");
        let range = rest.split(' ').nth(1).expect("a range");
        let seq: u32 = range.split(':').next().expect("a start").parse().expect("a number");
        let mut number = (seq / 1000 + 1).to_string();
        if rest.ends_with("/lost/") {
            number = format!("({number})");
        }
        match lines.last_mut().filter(|(last, _)| last == time) {
            Some((_, numbers)) => *numbers = format!("{numbers} {number}"),
            None => lines.push((time.to_owned(), number)),
        }
    }
    lines.into_iter().map(|(time, numbers)| format!("{time}: {numbers}")).collect()
}

/// The windows of A in segments: congestion window, and the threshold once it is set.
fn windows(pair: &Pair<InLengths>) -> Vec<String> {
    let show = |(cwnd, ssthresh): &(u32, u32)| {
        let cwnd = format!("{}", f64::from(*cwnd) / 1000.0);
        if *ssthresh == u32::MAX { cwnd } else { format!("{cwnd}/{}", ssthresh / 1000) }
    };
    pair.windows.iter().map(show).collect()
}

#[test]
fn one_loss_costs_one_round_trip() {
    let mut pair = losing(plain(), 22, &[3]);
    pair.run_out();
    assert_eq!(
        sent(&pair),
        ["0: 1 2 (3) 4 5 6 7 8 9 10", "20: 11 12 13 14 3 15", "40: 16 17 18 19 20 21", "60: 22"]
    );
    // Twelve segments are in flight at the third duplicate; four more inflate the window to 13, which releases segment
    // 15, then the four that 11 to 14 cause. The full ACK deflates it to the threshold.
    let expected =
        ["10", "11", "12", "9/6", "10/6", "11/6", "12/6", "13/6", "14/6", "15/6", "16/6", "17/6", "6/6"];
    assert_eq!(windows(&pair), expected);
    let statistics = pair.ends[A].statistics();
    assert_eq!((statistics.fast_retransmits, statistics.partial_acks, statistics.timeouts), (1, 0, 0));
    assert_eq!((statistics.segments_sent, statistics.segments_retransmitted), (23, 1));
    assert_eq!(statistics.duplicate_acks, 11);
    assert_eq!((statistics.rtt_count, statistics.rtt_sum), (10, millis(200)), "none across the repair");
    assert_eq!(pair.delivered(B), 22_000);
}

#[test]
fn two_losses_take_a_partial_ack() {
    let mut pair = losing(plain(), 24, &[3, 5]);
    pair.run_out();
    assert_eq!(
        sent(&pair),
        ["0: 1 2 (3) 4 (5) 6 7 8 9 10", "20: 11 12 13 14 3", "40: 15 16 17 18 5 19", "60: 20 21 22 23 24",]
    );
    // The partial ACK covers 3 and 4: 16 - 2 + 1.
    let expected = [
        "10", "11", "12", "9/6", "10/6", "11/6", "12/6", "13/6", "14/6", "15/6", "16/6", "15/6", "16/6",
        "17/6", "18/6", "19/6", "6/6",
    ];
    assert_eq!(windows(&pair), expected);
    assert_eq!(pair.ends[A].statistics().partial_acks, 1);
}

#[test]
fn three_losses_take_two_partial_acks() {
    let mut pair = losing(plain(), 24, &[3, 5, 6]);
    pair.run_out();
    assert_eq!(
        sent(&pair),
        [
            "0: 1 2 (3) 4 (5) (6) 7 8 9 10",
            "20: 11 12 13 14 3",
            "40: 15 16 17 5 18",
            "60: 19 20 21 6 22 23",
            "80: 24",
        ]
    );
    let expected = [
        "10", "11", "12", "9/6", "10/6", "11/6", "12/6", "13/6", "14/6", "15/6", "14/6", "15/6", "16/6",
        "17/6", "18/6", "19/6", "20/6", "21/6", "6/6",
    ];
    assert_eq!(windows(&pair), expected);
    assert_eq!(pair.ends[A].statistics().partial_acks, 2);
}

#[test]
fn four_losses_take_four_round_trips() {
    let mut pair = losing(plain(), 24, &[3, 4, 7, 9]);
    pair.run_out();
    assert_eq!(
        sent(&pair),
        [
            "0: 1 2 (3) (4) 5 6 (7) 8 (9) 10",
            "20: 11 12 13 14 3",
            "40: 15 16 4 17",
            "60: 18 19 7 20 21",
            "80: 22 23 9 24",
        ]
    );
    // The first partial ACK covers one segment and leaves the window; the second covers three (16 - 3 + 1), the third
    // two.
    let expected = [
        "10", "11", "12", "9/6", "10/6", "11/6", "12/6", "13/6", "14/6", "15/6", "16/6", "14/6", "15/6",
        "16/6", "17/6", "16/6", "17/6", "18/6", "19/6", "20/6", "6/6",
    ];
    assert_eq!(windows(&pair), expected);
    let statistics = pair.ends[A].statistics();
    assert_eq!((statistics.fast_retransmits, statistics.partial_acks, statistics.timeouts), (1, 3, 0));
}

#[test]
fn the_very_first_segment_can_be_retransmitted_fast() {
    let mut pair = losing(plain(), 10, &[1]);
    pair.run_out();
    assert_eq!(sent(&pair), ["0: (1) 2 3 4 5 6 7 8 9 10", "20: 1"]);
    assert_eq!(windows(&pair).last().map(String::as_str), Some("5/5"));
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    let mut pair = losing(plain(), 10, &[9, 10]);
    pair.run_out();
    // The RTT is 20 ms, so the least timeout applies, from the last ACK of new data on. The timer restarts at the ACK
    // of 9.
    assert_eq!(sent(&pair), ["0: 1 2 3 4 5 6 7 8 (9) (10)", "220: 9", "240: 10"]);
    assert_eq!(pair.ends[A].statistics().rtt_count, 8, "none from what was sent twice");
}

#[test]
fn after_a_timeout_everything_is_sent_again_in_slow_start() {
    let config = TcpConfig { initial_window: InitialWindow::Segments(4), ..plain() };
    let mut pair = losing(config, 12, &[2, 3, 4, 5, 6]);
    pair.run_out();
    assert_eq!(
        sent(&pair),
        ["0: 1 (2) (3) (4)", "20: (5) (6)", "220: 2", "240: 3 4", "260: 5 6 7", "280: 8 9 10 11", "300: 12",]
    );
    // The threshold is half of five segments: slow start to 3, then one segment for each window acknowledged.
    assert_eq!(windows(&pair)[..5], ["4", "5", "1/2", "2/2", "3/2"]);
    assert_eq!(pair.ends[A].statistics().timeouts, 1);
}

#[test]
fn the_timeout_doubles_up_to_its_maximum() {
    let mut pair: Pair<InLengths> = Pair::established(&plain(), millis(10))
        .with(|who, _, _| if who == A { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(20_000));
    pair.run_out();
    let times: Vec<u64> =
        sent(&pair).iter().map(|line| line.split(':').next().unwrap().parse().unwrap()).collect();
    let seconds = [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543, 603];
    assert_eq!(times, seconds.map(|second| second * 1000));
    assert_eq!(windows(&pair), ["10", "1/5"], "further timeouts leave the threshold alone");
    assert_eq!(pair.events[A], [Event::TimedOut]);
    assert_eq!(pair.now, Instant::from_secs(663));
}

/// 4.4BSD and ns-2 compute the threshold anew at each timeout: half of one segment, and so the least value of two.
#[test]
fn further_timeouts_may_reduce_the_threshold() {
    let config = TcpConfig { repeated_timeout: RepeatedTimeout::Reduce, ..plain() };
    let mut pair = Pair::<InLengths>::established(&config, millis(10))
        .with(|who, n, _| if who == A && n <= 12 { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(10_000));
    pair.run_out();
    assert_eq!(windows(&pair)[..3], ["10", "1/5", "1/2"]);
}

/// RFC 5681 equation (4) halves the data in flight; 4.4BSD and ns-2 leave whole segments, and two at least.
#[test]
fn stacks_halve_an_odd_window_differently() {
    for (window_rules, segments, threshold) in [
        (WindowRules::Rfc5681, 7, 3_500),
        (WindowRules::WholeSegments, 7, 3_000),
        (WindowRules::Bsd, 7, 3_000),
        (WindowRules::Bsd, 3, 2_000),
    ] {
        let initial_window = InitialWindow::Segments(segments);
        let config = TcpConfig { window_rules, initial_window, ..plain() };
        let mut pair = losing(config, u64::from(segments), &[1, 2, 3, 4, 5, 6, 7]);
        pair.run(millis(1100));
        assert_eq!(pair.ends[A].statistics().timeouts, 1);
        assert_eq!(pair.ends[A].ssthresh(), threshold, "{window_rules:?}");
    }
}

#[test]
fn a_backed_off_timeout_lasts_until_a_sample() {
    // The first two transmissions of 10 are lost, so the timeout is backed off twice when its ACK arrives.
    let mut lost = 0;
    let mut pair: Pair<InLengths> = Pair::established(&plain(), millis(10)).with(move |who, _, segment| {
        let lose = who == A && segment.seq == Seq::new(9001) && lost < 2;
        lost += u32::from(lose);
        if lose { Fate::Lose } else { Fate::Arrive }
    });
    pair.input(A, Input::Write(10_000));
    pair.run(Span::from_secs(2));
    assert_eq!(sent(&pair)[1..], ["220: (10)", "620: 10"][..]);
    assert_eq!(pair.ends[A].rto(), millis(800), "Karn: 10's ACK says nothing of the round trip");
    pair.input(A, Input::Write(1000));
    pair.run(millis(100));
    assert_eq!(pair.ends[A].rto(), millis(200));
}

/// RFC 6582 section 3.2 step 1: duplicate ACKs caused by unnecessary retransmissions after a timeout indicate no loss.
#[test]
fn a_spurious_timeout_brings_no_fast_retransmit() {
    let config = TcpConfig { initial_rto: millis(200), ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10))
        .with(|who, nth, _| if who == A && nth <= 10 { Fate::Delay(millis(260)) } else { Fate::Arrive });
    pair.input(A, Input::Write(40_000));
    pair.run_out();
    let statistics = pair.ends[A].statistics();
    assert!(statistics.duplicate_acks >= 3, "{statistics:?}");
    assert_eq!((statistics.timeouts, statistics.fast_retransmits), (1, 0));
    assert_eq!(pair.delivered(B), 40_000);
}

#[test]
fn reordering_below_the_threshold_is_no_loss() {
    for (threshold, retransmits) in [(3, 1), (8, 0)] {
        let config = TcpConfig { dup_ack_threshold: threshold, ..plain() };
        let mut pair: Pair<InLengths> = Pair::established(&config, millis(10))
            .with(|who, nth, _| if (who, nth) == (A, 3) { Fate::Delay(millis(1)) } else { Fate::Arrive });
        pair.input(A, Input::Write(10_000));
        pair.run_out();
        assert_eq!(pair.ends[A].statistics().fast_retransmits, retransmits);
    }
}

/// RFC 6582 section 4: with fifteen losses in a window, one segment for each round trip takes longer than the timer.
#[test]
fn impatience_ends_a_long_recovery() {
    const LOST: &[u32] = &[3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
    for (partial_ack_timer, timeouts) in
        [(PartialAckTimer::Impatient, 1), (PartialAckTimer::SlowButSteady, 0)]
    {
        let initial_window = InitialWindow::Segments(40);
        let mut pair = losing(TcpConfig { partial_ack_timer, initial_window, ..plain() }, 100, LOST);
        pair.run_out();
        assert_eq!(pair.ends[A].statistics().timeouts, timeouts, "{partial_ack_timer:?}");
        assert_eq!(pair.delivered(B), 100_000);
    }
}

#[test]
fn an_idle_window_falls_back() {
    for (slow_start_after_idle, window) in [(true, 10_000), (false, 21_000)] {
        let mut pair = losing(TcpConfig { slow_start_after_idle, ..plain() }, 30, &[]);
        pair.run(millis(100));
        assert_eq!(pair.ends[A].cwnd(), 21_000, "grew as long as it was used");
        pair.run(millis(500));
        pair.input(A, Input::Write(50_000));
        assert_eq!(pair.ends[A].flight(), window);
    }
}

#[test]
fn a_silent_peer_of_an_established_connection_costs_no_wakeup() {
    let mut pair: Pair<InLengths> = Pair::established(&plain(), millis(10));
    pair.input(A, Input::Write(100_000));
    pair.run_out();
    assert!(pair.now < Instant::from_secs(1));
    assert_eq!([pair.ends[A].poll_timeout(), pair.ends[B].poll_timeout()], [None, None]);
}

/// The worked numbers of RFC 6298 section 2.
#[test]
fn the_estimator_follows_rfc_6298() {
    let mut rtt = RttEstimator::new(&TcpConfig::default());
    assert_eq!((rtt.srtt(), rtt.rto()), (None, Span::from_secs(1)));
    let now = Instant::from_secs(1);
    rtt.sample(millis(100), now);
    assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(millis(100)), Some(millis(50)), millis(300)));
    rtt.sample(millis(180), now);
    let rttvar = Span::from_micros(57_500);
    assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(millis(110)), Some(rttvar), millis(340)));
    rtt.back_off();
    rtt.back_off();
    assert_eq!(rtt.rto(), millis(1360));
    rtt.sample(millis(110), now);
    assert_eq!(rtt.rto(), Span::from_nanos(110_000_000 + 4 * 43_125_000));
    for _ in 0..100 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(), Span::from_secs(60));
}

/// The variant of Linux: the least timeout bounds the part of the timeout beyond the smoothed round-trip time. On a
/// path with power save and round trips of 20 ms, a segment can be held for a further beacon interval of 100 ms without
/// a timeout.
#[test]
fn the_least_timeout_may_bound_the_variance_alone() {
    let timeout_after = |min_rto_of| {
        let mut rtt = RttEstimator::new(&TcpConfig { min_rto_of, ..TcpConfig::default() });
        (0..200).for_each(|_| rtt.sample(millis(20), Instant::from_secs(1)));
        rtt.rto()
    };
    assert_eq!(timeout_after(MinRtoOf::Timeout), millis(200));
    assert_eq!(timeout_after(MinRtoOf::Variance), millis(220));
    let mut rtt = RttEstimator::new(&TcpConfig { min_rto_of: MinRtoOf::Variance, ..TcpConfig::default() });
    rtt.sample(millis(100), Instant::from_secs(1));
    assert_eq!(rtt.rto(), millis(300));
    rtt.sample(millis(600), Instant::from_secs(1));
    // RTTVAR is 162.5 ms now, and four times that applies.
    assert_eq!(rtt.rto(), Span::from_micros(162_500 + 650_000));
}
