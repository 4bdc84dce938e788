//! Tests of losses, timers and windows, packet by packet.

use super::*;

/// Sends `packets` full packets from A to B; the first transmission of those in `lost` is lost. The connection is not
/// new: the window has grown to its maximum by the 40th packet.
fn transfer(packets: usize, config: &E2tcpConfig, lost: &'static [u32]) -> Pair {
    let mut left = lost.to_vec();
    let mut pair = Pair::established(config, config).with(move |who, _, packet| {
        let place = left.iter().position(|n| who == A && *n == number(packet));
        place.map_or(Fate::Arrive, |place| {
            left.remove(place);
            Fate::Lose
        })
    });
    pair.input(A, Input::Write(pattern(packets * 1000)));
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(packets * 1000));
    pair
}

#[test]
fn without_loss_every_packet_is_sent_once_and_acknowledged_at_once() {
    let pair = transfer(100, &plain(), &[]);
    let (a, b) = (pair.ends[A].statistics(), pair.ends[B].statistics());
    assert_eq!((a.data_packets_sent, a.bytes_sent), (100, 100 * 1008));
    assert_eq!((b.packets_sent, b.bytes_sent), (100, 100 * 8));
    assert_eq!((a.packets_resent, a.transmission_timeouts), (0, 0));
    // The window grows by one packet with each acknowledgement, up to the maximum.
    assert_eq!(pair.windows, (12..=25).collect::<Vec<_>>());
    assert_eq!(pair.ends[A].rtt().mean(), Some(Span::from_millis(100)));
    assert_eq!(pair.ends[A].rto(), Span::from_millis(135));
    assert_eq!(pair.events[A], [Event::AllAcknowledged]);
}

#[test]
fn acknowledgements_are_thinned_while_nothing_is_lost() {
    let thin = E2tcpConfig { ack_every: 4, ..plain() };
    let acks = |pair: &Pair| pair.ends[B].statistics().packets_sent;
    let timeouts = |pair: &Pair| {
        let a = pair.ends[A].statistics();
        a.transmission_timeouts + a.retransmission_timeouts
    };
    // One for each of the first 64, and then for each four, and for the 25th of each window, which waits for 5 ms.
    let pair = transfer(1_000, &thin, &[]);
    assert!(
        (64 + 936 / 4..=64 + 936 / 4 + 936 / 25).contains(&acks(&pair)),
        "{} acknowledgements",
        acks(&pair)
    );
    assert_eq!(timeouts(&pair), 0);
    // Round trips are measured all the same, nearly one in each.
    let count = pair.ends[A].statistics().rtt_count;
    assert!((30..=45).contains(&count), "{count} samples in some 40 round trips");
    // The last two of these are waited for, for 5 ms.
    let pair = transfer(66, &thin, &[]);
    assert_eq!((acks(&pair), timeouts(&pair)), (65, 0));
    // A loss is reported at once, and the next 64 packets are acknowledged one by one again.
    let pair = transfer(1_000, &thin, &[500]);
    let a = pair.ends[A].statistics();
    assert_eq!((a.packets_resent, timeouts(&pair)), (1, 0));
    let window = 25;
    let few = 64 + 435 / 4 + 64 + (1_000 - 500 - 64 - window) / 4;
    assert!((few..=few + 3 * window).contains(&acks(&pair)), "{} acknowledgements", acks(&pair));
}

/// The path of these tests has no rate of its own, so that nothing but the peer's window of 65,535 bytes limits what it holds.
#[test]
fn a_learned_window_grows_until_the_hop_or_the_peer_limits_it() {
    let learning = E2tcpConfig { learn_window: true, ..plain() };
    let pair = transfer(2_000, &learning, &[]);
    assert_eq!((pair.ends[A].window(), pair.ends[A].largest_window()), (65, 65));
    let apart = transfer(2_000, &plain(), &[]);
    assert_eq!((apart.ends[A].window(), apart.ends[A].largest_window()), (25, 25));
    assert!(pair.now.saturating_since(Instant::ZERO) * 2 < apart.now.saturating_since(Instant::ZERO));
    // The least that is learned is `max_window`: one packet at a time says nothing of the hop.
    let mut pair = Pair::established(&learning, &learning);
    for _ in 0..10 {
        pair.input(A, Input::Write(pattern(10)));
        pair.finish();
    }
    assert_eq!(pair.ends[A].largest_window(), 25);
}

#[test]
fn up_to_the_limit_losses_are_noise_and_above_it_a_burst() {
    const LOST: [u32; 6] = [45, 46, 47, 48, 49, 50];
    for (count, least) in [(1, 24), (2, 23), (3, 22), (4, 21), (5, 20), (6, 12)] {
        let pair = transfer(200, &plain(), &LOST[..count]);
        let a = pair.ends[A].statistics();
        assert_eq!(a.packets_resent, count as u64, "each is sent again once");
        assert_eq!((a.transmission_timeouts, a.retransmission_timeouts), (0, 0));
        let drop = pair.windows.windows(2).find(|pair| pair[1] < pair[0]).map(|pair| pair[1]);
        assert_eq!(drop, Some(least), "{count} lost");
        // All are retransmitted at once, when the first packet beyond the gap is reported, a round trip after it was
        // sent.
        let again = pair.lines("S 45000(1000)");
        assert_eq!(again.len(), 2);
        assert_eq!((again[0], again[1]), ("200 A> 0 S 45000(1000) /lost/", "300 A> 0 S 45000(1000)"));
        assert_eq!(pair.lines("300 A> 0 S 45000(1000)").len(), 1);
    }
}

/// With growth for each fifth acknowledgement the window reaches its largest size after five times as many.
#[test]
fn the_window_may_grow_with_each_fifth_acknowledgement() {
    let config = E2tcpConfig { increase_every: 5, ..plain() };
    let pair = transfer(60, &config, &[]);
    assert_eq!(pair.windows, (12..=24).collect::<Vec<_>>());
}

/// Without blocks, the first duplicate acknowledgement sends everything unacknowledged again, and further ones nothing.
#[test]
fn without_blocks_a_duplicate_acknowledgement_may_go_back() {
    for (duplicate_ack, resent, timeouts) in
        [(DuplicateAck::Ignored, 1, true), (DuplicateAck::GoBack, 12, false)]
    {
        let config = E2tcpConfig { selective: false, duplicate_ack, max_window: 12, ..plain() };
        let pair = transfer(40, &config, &[20]);
        let a = pair.ends[A].statistics();
        assert_eq!(
            (a.packets_resent >= resent, a.transmission_timeouts > 0),
            (true, timeouts),
            "{duplicate_ack:?}"
        );
    }
}

/// Without blocks, one lost packet is sent again alone; the acknowledgement that shows a second one missing sends everything
/// again.
#[test]
fn without_blocks_a_second_loss_may_show_a_burst() {
    for (lost, resent) in [(&[20][..], 1..=1), (&[20, 22], 8..=40)] {
        let duplicate_ack = DuplicateAck::OneThenAll;
        let config = E2tcpConfig { selective: false, duplicate_ack, max_window: 12, ..plain() };
        let pair = transfer(40, &config, lost);
        let a = pair.ends[A].statistics();
        assert!(resent.contains(&a.packets_resent), "{lost:?}: {a:?}");
        assert_eq!((a.transmission_timeouts, a.retransmission_timeouts), (0, 0), "{lost:?}");
    }
}

#[test]
fn the_ladder_of_one_lost_packet() {
    let mut pair = Pair::established(&plain(), &plain())
        .with(|who, n, _| if who == A && n == 2 { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(4000)));
    pair.finish();
    let want = [
        "0 A> 0 S 1000(1000)",
        "0 A> 0 S 2000(1000) /lost/",
        "0 A> 0 S 3000(1000)",
        "0 A> 0 S 4000(1000)",
        "50 <B 0 ack 1000",
        "50 <B 0 ack 1000 [2001-3000]",
        "50 <B 0 ack 1000 [2001-4000]",
        "100 A> 0 S 2000(1000)",
        "150 <B 0 ack 4000",
    ];
    assert_eq!(pair.ladder, want);
    assert_eq!(pair.now, Instant::from_millis(200), "no timer is left");
}

#[test]
fn more_than_two_runs_leave_the_rest_unknown() {
    let pair = transfer(8, &plain(), &[1, 3, 5]);
    // Packets 2, 4, 6, 7 and 8 arrived: 1 and 3 are known to be lost; packet 5 is not reported until 1 has arrived.
    let resent: Vec<_> = pair.lines("A>").split_off(8);
    assert_eq!(resent, ["100 A> 0 S 1000(1000)", "100 A> 0 S 3000(1000)", "200 A> 0 S 5000(1000)"]);
    assert!(pair.lines("ack 0 [1001-2000] [3001-4000]").len() >= 2);
}

#[test]
fn a_timeout_takes_the_window_to_five() {
    let mut pair = Pair::established(&plain(), &plain())
        .with(|who, n, _| if who == A && n <= 12 { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(12_000)));
    assert_eq!(pair.ends[A].timer(E2tcpTimer::Transmission), Some(Instant::from_secs(1)));
    pair.run(1000);
    assert_eq!(pair.ends[A].window(), 5);
    assert_eq!(pair.lines("1000 A>").len(), 5, "those inside the window at once, the others later");
    pair.finish();
    let a = pair.ends[A].statistics();
    assert_eq!((a.transmission_timeouts, a.retransmission_timeouts), (1, 0));
    assert_eq!(a.packets_resent, 12);
    assert_eq!(pair.windows, [12, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    assert_eq!(pair.streams[B].bytes, pattern(12_000));
}

#[test]
fn noise_does_not_lift_a_window_that_a_timeout_made_small() {
    // All packets are lost, and after the timeout packet 2 once more.
    let mut pair = Pair::established(&plain(), &plain())
        .with(|who, n, _| if who == A && (n <= 12 || n == 14) { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(12_000)));
    pair.finish();
    assert_eq!(pair.windows[..4], [12, 5, 6, 7], "one clean acknowledgement, one error, clean ones");
}

/// Example 4.4 of the thesis: a packet is retransmitted at 1, a new one is sent at 5, and the timers run for 6. One
/// timer for both would expire at 11.
#[test]
fn two_timers_find_a_lost_retransmission_at_7() {
    let config = E2tcpConfig { initial_rto: Span::from_secs(6), ..plain() };
    let mut end: Connection = Connection::established(config.clone(), &config, 0);
    let at = Instant::from_secs;
    end.handle_input(Input::Write(2000), at(0));
    let ack = |number, block| {
        let blocks = [block, None];
        let acknowledgement = Some(Acknowledgement { number: Seq::new(number), blocks });
        Input::Packet(E2tcpPacket { header: Header { acknowledgement, ..Header::new(0) }, len: 0 }, ())
    };
    end.handle_input(ack(0, Some(Block { first: Seq::new(1001), last: Seq::new(2000) })), at(1));
    end.handle_input(Input::Write(1000), at(5));
    assert_eq!(end.timer(E2tcpTimer::Retransmission), Some(at(7)));
    assert_eq!(end.timer(E2tcpTimer::Transmission), Some(at(11)));
    while end.poll_output().is_some() {}
    end.handle_timeout(at(7));
    let Some(Output::Transmit(packet)) = end.poll_output() else { panic!("sends again") };
    assert_eq!(packet.header.sequence, Some(Seq::new(1000)));
    assert_eq!((end.poll_output(), end.window()), (None, 5));
    // The new packet's timer has not moved; the acknowledgement of both packets stops both timers.
    assert_eq!(end.timer(E2tcpTimer::Transmission), Some(at(11)));
    end.handle_input(ack(3000, None), at(8));
    assert_eq!(end.poll_timeout(), None);
}

/// Loses packet 3, and its first retransmission.
fn lost_twice(config: &E2tcpConfig) -> Pair {
    transfer(60, config, &[3, 3])
}

#[test]
fn a_lost_retransmission_waits_for_its_timer() {
    let pair = lost_twice(&plain());
    let a = pair.ends[A].statistics();
    assert_eq!((a.retransmission_timeouts, a.transmission_timeouts), (1, 0));
    let sent = pair.lines("S 3000(1000)");
    // The loss is found at 100; the timer expires 1.25 round trips and 10 ms later.
    assert_eq!(sent[1..], ["100 A> 0 S 3000(1000) /lost/", "235 A> 0 S 3000(1000)"]);
}

#[test]
fn a_lost_retransmission_can_be_inferred_if_asked_for() {
    let pair = lost_twice(&E2tcpConfig { infer_relost: true, ..plain() });
    assert_eq!(pair.ends[A].statistics().retransmission_timeouts, 0);
    assert_eq!(pair.lines("S 3000(1000)").last(), Some(&"200 A> 0 S 3000(1000)"));
}

#[test]
fn the_sample_is_that_of_the_measured_packet_or_none() {
    // Packet 1 is measured and lost, and an acknowledgement of later packets gives no sample.
    let pair = transfer(2, &plain(), &[1]);
    assert_eq!(pair.ends[A].statistics().rtt_count, 0);
    assert_eq!(pair.ends[A].rto(), Span::from_secs(1));
    let pair = transfer(13, &plain(), &[]);
    assert_eq!(pair.ends[A].statistics().rtt_count, 2, "one at a time");
}

#[test]
fn the_timeout_comes_from_the_last_five_samples() {
    let mut rtt = RttEstimator::new(&plain());
    assert_eq!((rtt.mean(), rtt.rto()), (None, Span::from_secs(1)));
    for millis in [400, 100, 110, 120, 130] {
        rtt.sample(Span::from_millis(millis));
    }
    assert_eq!((rtt.mean(), rtt.rto()), (Some(Span::from_millis(172)), Span::from_millis(510)));
    rtt.sample(Span::from_millis(140));
    assert_eq!((rtt.mean(), rtt.rto()), (Some(Span::from_millis(120)), Span::from_millis(185)));
    rtt.back_off();
    rtt.back_off();
    assert_eq!(rtt.rto(), Span::from_millis(740));
    rtt.restore();
    assert_eq!(rtt.rto(), Span::from_millis(185));
}

#[test]
fn timeouts_double_only_if_asked_for() {
    for (back_off, times) in [(false, [1000, 2000, 3000, 4000]), (true, [1000, 3000, 7000, 15_000])] {
        let config = E2tcpConfig { back_off, give_up_after: Span::from_secs(30), ..plain() };
        let mut pair = Pair::established(&config, &config).with(|_, _, _| Fate::Lose);
        pair.input(A, Input::Write(pattern(100)));
        pair.finish();
        let sent: Vec<_> = times.iter().map(|at| format!("{at} A> 0 S 100(100) /lost/")).collect();
        assert_eq!(pair.ladder[1..5], sent);
        assert_eq!(pair.events[A], [Event::TimedOut], "and it ends");
    }
}

/// A round trip that becomes longer than the timeout is learned, since the acknowledgements of copies do not end the back-off.
#[test]
fn a_slower_path_is_not_filled_with_copies() {
    let config = E2tcpConfig::default();
    let slower = Fate::Delay(Span::from_millis(700));
    let mut pair = Pair::established(&config, &config)
        .with(move |who, n, _| if who == A && n > 20 { slower.clone() } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(200_000)));
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(200_000));
    let a = pair.ends[A].statistics();
    assert!(a.packets_resent < 100, "{} of 200 packets were sent again", a.packets_resent);
    assert!(pair.ends[A].rto() >= Span::from_millis(800), "{}", pair.ends[A].rto());
}

#[test]
fn the_window_can_grow_by_one_a_window() {
    let config = E2tcpConfig { increase: Increase::PerWindow, ..plain() };
    let pair = transfer(60, &config, &[]);
    assert_eq!(pair.windows, [12, 13, 14, 15, 16]);
}

#[test]
fn without_blocks_only_the_timers_find_losses() {
    let config = E2tcpConfig { selective: false, ..plain() };
    let pair = transfer(30, &config, &[10]);
    assert_eq!(pair.ends[A].statistics().transmission_timeouts, 1);
    assert!(pair.ladder.iter().all(|line| !line.contains('[')));
}

#[test]
fn the_sequence_wraps() {
    let config = E2tcpConfig { initial_sequence: Seq::new(u32::MAX - 5499), ..plain() };
    let mut pair = Pair::established(&config, &config)
        .with(|who, n, _| if who == A && (3..8).contains(&n) { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(20_000)));
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(20_000));
    assert_eq!(pair.lines("S 500(1000)").len(), 2, "lost and sent again across the wrap");
    assert_eq!(pair.ends[A].statistics().transmission_timeouts, 0);
}

#[test]
fn a_stream_longer_than_the_sequence_space() {
    let config = E2tcpConfig { payload: 65_000, max_window: 12, ..plain() };
    let (receive_window, assumed_window) = (1 << 20, 1 << 20);
    let config = E2tcpConfig { receive_window, receive_buffer: 2 << 20, assumed_window, ..config };
    let total = 5_000_000_000_u64;
    let mut a: Connection = Connection::established(config.clone(), &config, 0);
    let mut b: Connection = Connection::established(config.clone(), &config, 0);
    a.handle_input(Input::Write(total), Instant::ZERO);
    let mut now = Instant::ZERO;
    let mut sent = 0_u32;
    while b.statistics().bytes_delivered < total {
        now += Span::from_millis(1);
        let mut arrived = false;
        while let Some(output) = a.poll_output() {
            sent += 1;
            if let Output::Transmit(packet) = output
                && !sent.is_multiple_of(1000)
            {
                b.handle_input(Input::Packet(packet, ()), now);
                arrived = true;
            }
        }
        while let Some(output) = b.poll_output() {
            if let Output::Transmit(packet) = output {
                a.handle_input(Input::Packet(packet, ()), now);
            }
        }
        if !arrived {
            now = a.poll_timeout().expect("data is missing").at;
            a.handle_timeout(now);
        }
    }
    assert!(a.statistics().packets_resent >= 70);
    assert_eq!(a.unacknowledged_bytes(), 0);
}

#[test]
fn the_earlier_detector_falls_silent_in_a_burst() {
    let config =
        E2tcpConfig { burst_reaction: BurstReaction::Detector(DetectorConfig::default()), ..plain() };
    let mut pair = Pair::established(&config, &config)
        .with(|who, n, _| if who == A && (30..60).contains(&n) { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(100_000)));
    let mut smallest = 25;
    let mut seen_burst = false;
    while pair.step(Instant::FOREVER) {
        smallest = smallest.min(pair.ends[A].window());
        seen_burst |= matches!(pair.ends[A].burst_state(), Some(BurstState::Burst { until: None, .. }));
    }
    assert!(seen_burst, "no prediction before five bursts are known");
    assert_eq!(smallest, 1);
    assert_eq!(pair.ends[A].burst_state(), Some(BurstState::Normal));
    assert_eq!(pair.streams[B].bytes, pattern(100_000));
}

#[test]
fn the_earlier_detector_predicts_after_five_bursts() {
    let detector = DetectorConfig { history: 2, ..DetectorConfig::default() };
    let config = E2tcpConfig { burst_reaction: BurstReaction::Detector(detector), ..plain() };
    // The link is dead for 800 ms of every two seconds.
    let mut pair = Pair::established(&config, &config);
    for second in 0..10 {
        pair.run(second * 2000);
        pair.script = Box::new(|_, _, _| Fate::Lose);
        pair.input(A, Input::Write(pattern(20_000)));
        pair.run(second * 2000 + 800);
        pair.script = Box::new(|_, _, _| Fate::Arrive);
        if second > 4 {
            let state = pair.ends[A].burst_state();
            let predicted = matches!(state, Some(BurstState::Burst { until: Some(_), short: false, .. }))
                || state == Some(BurstState::Possible);
            assert!(predicted, "{state:?}");
        }
    }
    pair.finish();
    assert_eq!(pair.streams[B].bytes.len(), 200_000);
}
