//! Tests of the receiver: closed and small windows, delayed acknowledgements, and Nagle's algorithm with them.

use super::*;

/// B has room for 3000 bytes and does not read by itself.
fn small_room(script: impl FnMut(usize, u64, &Segment) -> Fate + 'static) -> Pair<InLengths> {
    let config = TcpConfig { receive_window: 3000, read_at_once: false, ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10)).with(script);
    pair.input(A, Input::Write(5000));
    pair
}

#[test]
fn a_closed_window_is_probed_and_its_opening_told() {
    let mut pair = small_room(|_, _, _| Fate::Arrive);
    pair.run(millis(700));
    pair.input(B, Input::Read(3000));
    pair.run(millis(100));
    pair.expect(
        "0 A> . 1:1001(1000) ack 1 win 3000
         0 A> . 1001:2001(1000) ack 1 win 3000
         0 A> . 2001:3001(1000) ack 1 win 3000
         10 <B . 1:1(0) ack 1001 win 2000
         10 <B . 1:1(0) ack 2001 win 1000
         10 <B . 1:1(0) ack 3001 win 0
         220 A> . 3001:3002(1) ack 1 win 3000
         230 <B . 1:1(0) ack 3001 win 0
         620 A> . 3001:3002(1) ack 1 win 3000
         630 <B . 1:1(0) ack 3001 win 0
         700 <B . 1:1(0) ack 3001 win 3000
         710 A> . 3001:4001(1000) ack 1 win 3000
         710 A> P. 4001:5001(1000) ack 1 win 3000
         720 <B . 1:1(0) ack 4001 win 2000
         720 <B . 1:1(0) ack 5001 win 1000",
    );
    let statistics = pair.ends[A].statistics();
    assert_eq!((statistics.probes_sent, statistics.timeouts, statistics.fast_retransmits), (2, 0, 0));
    assert_eq!(pair.ends[A].timer(TcpTimer::Persist), None);
    assert_eq!(pair.ends[B].readable_bytes(), 2000);
}

#[test]
fn a_lost_window_update_is_made_good_by_a_probe() {
    let mut pair = small_room(|who, nth, _| if (who, nth) == (B, 4) { Fate::Lose } else { Fate::Arrive });
    pair.run(millis(100));
    pair.input(B, Input::Read(3000));
    pair.run(millis(400));
    pair.ladder.drain(..6);
    pair.expect(
        "100 <B . 1:1(0) ack 3001 win 3000 /lost/
         220 A> . 3001:3002(1) ack 1 win 3000
         230 <B . 1:1(0) ack 3002 win 2999
         240 A> . 3002:4002(1000) ack 1 win 3000
         240 A> P. 4002:5001(999) ack 1 win 3000
         250 <B . 1:1(0) ack 4002 win 1999
         250 <B . 1:1(0) ack 5001 win 1000",
    );
    assert_eq!(pair.delivered(B), 5000);
}

#[test]
fn probes_back_off_and_never_give_up() {
    let mut pair = small_room(|_, _, _| Fate::Arrive);
    pair.run(Span::from_secs(3600));
    assert_eq!(pair.ends[A].state(), State::Established);
    // The probes are 0.2 + 0.4 + ... + 51.2 s apart, then one a minute.
    assert_eq!(pair.ends[A].statistics().probes_sent, 9 + 58);
}

/// B closes its window while ten segments are in flight, which it accepts, opens it for two of the four that wait, and
/// then without limit.
#[test]
fn a_window_is_opened_by_grants() {
    let config = TcpConfig { receive_window: 10_000, ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10));
    pair.input(A, Input::Write(14_000));
    pair.run(millis(5));
    pair.ladder.clear();
    pair.input(B, Input::Grant(Some(0)));
    pair.run(millis(95));
    assert_eq!(pair.delivered(B), 10_000);
    assert_eq!(pair.ladder.len(), 11, "each segment is acknowledged, and the closing told at once");
    assert!(pair.ladder.iter().all(|line| line.ends_with("win 0")), "{:?}", pair.ladder);
    pair.ladder.clear();
    pair.input(B, Input::Grant(Some(2_500)));
    pair.run(millis(50));
    pair.expect(
        "100 <B . 1:1(0) ack 10001 win 2500
         110 A> . 10001:11001(1000) ack 1 win 10000
         110 A> . 11001:12001(1000) ack 1 win 10000
         120 <B . 1:1(0) ack 11001 win 1500
         120 <B . 1:1(0) ack 12001 win 500",
    );
    pair.ladder.clear();
    pair.input(B, Input::Grant(None));
    pair.run(millis(50));
    pair.expect(
        "150 <B . 1:1(0) ack 12001 win 10000
         160 A> . 12001:13001(1000) ack 1 win 10000
         160 A> P. 13001:14001(1000) ack 1 win 10000
         170 <B . 1:1(0) ack 13001 win 10000
         170 <B . 1:1(0) ack 14001 win 10000",
    );
}

/// RFC 9293 section 3.8.6.2: no end offers or uses a window that is smaller than a useful segment.
#[test]
fn the_window_is_never_silly() {
    let mut pair = small_room(|_, _, _| Fate::Arrive);
    pair.run(millis(100));
    pair.ladder.clear();
    for _ in 0..9 {
        pair.input(B, Input::Read(100));
    }
    pair.expect("");
    pair.input(B, Input::Read(100));
    pair.run(millis(15));
    pair.expect(
        "100 <B . 1:1(0) ack 3001 win 1000
         110 A> . 3001:4001(1000) ack 1 win 3000
         ",
    );
}

#[test]
fn a_fin_waits_for_room_too() {
    let config = TcpConfig { receive_window: 3000, read_at_once: false, ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10));
    pair.input(A, Input::Write(3000));
    pair.input(A, Input::Close);
    pair.run(millis(300));
    assert_eq!(pair.ends[B].state(), State::Established);
    pair.input(B, Input::Read(3000));
    pair.run(millis(100));
    assert_eq!(pair.ends[B].state(), State::CloseWait);
    assert_eq!(pair.ends[A].state(), State::FinWait2);
}

/// B may wait for a second segment, or 40 ms.
fn delaying(script: impl FnMut(usize, u64, &Segment) -> Fate + 'static) -> Pair<InLengths> {
    let config = TcpConfig { delayed_ack: Some(DelayedAck::default()), ..plain() };
    Pair::established(&config, millis(10)).with(script)
}

#[test]
fn acknowledgements_wait_for_a_second_segment_or_the_timer() {
    let mut pair = delaying(|_, _, _| Fate::Arrive);
    pair.input(A, Input::Write(3000));
    pair.run(millis(9));
    assert_eq!(pair.ends[B].poll_timeout(), None);
    pair.run(millis(100));
    pair.expect(
        "0 A> . 1:1001(1000) ack 1 win 100000
         0 A> . 1001:2001(1000) ack 1 win 100000
         0 A> P. 2001:3001(1000) ack 1 win 100000
         10 <B . 1:1(0) ack 2001 win 100000
         50 <B . 1:1(0) ack 3001 win 100000",
    );
}

#[test]
fn acknowledgements_ride_on_data() {
    let mut pair = delaying(|_, _, _| Fate::Arrive);
    pair.input(A, Input::Write(100));
    pair.run(millis(30));
    pair.input(B, Input::Write(200));
    pair.run(millis(15));
    pair.expect(
        "0 A> P. 1:101(100) ack 1 win 100000
         30 <B P. 1:201(200) ack 101 win 99900",
    );
    assert_eq!(pair.ends[B].timer(TcpTimer::DelayedAck), None);
}

/// RFC 5681 section 4.2: a gap, its filling, a repetition and the end of the stream are acknowledged at once.
#[test]
fn what_tells_of_loss_does_not_wait() {
    let mut pair = delaying(|who, nth, _| match (who, nth) {
        (A, 1) => Fate::Delay(millis(5)),
        (A, 3) => Fate::Double(millis(2)),
        _ => Fate::Arrive,
    });
    pair.input(A, Input::Write(3000));
    pair.run(millis(30));
    pair.input(A, Input::Close);
    pair.run(millis(10));
    pair.ladder.drain(..3);
    pair.expect(
        "10 <B . 1:1(0) ack 1 win 100000
         10 <B . 1:1(0) ack 1 win 100000
         12 <B . 1:1(0) ack 1 win 100000
         15 <B . 1:1(0) ack 3001 win 100000
         22 A> . 1:1001(1000) ack 1 win 100000
         30 A> F. 3001:3001(0) ack 1 win 100000
         32 <B . 1:1(0) ack 3001 win 100000
         40 <B . 1:1(0) ack 3002 win 99999",
    );
}

#[test]
fn nagle_collects_small_writes() {
    for (nagle, segments) in [(true, 2), (false, 10)] {
        let mut pair: Pair<InLengths> = Pair::established(&TcpConfig { nagle, ..plain() }, millis(10));
        for _ in 0..10 {
            pair.input(A, Input::Write(50));
        }
        pair.run_out();
        assert_eq!(pair.ends[A].statistics().segments_sent, segments);
        assert_eq!(pair.delivered(B), 500);
    }
}

#[test]
fn a_window_that_the_congestion_control_limits_is_filled_by_whole_segments() {
    let config = TcpConfig { initial_window: InitialWindow::Segments(3), ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10));
    pair.input(A, Input::Write(10_500));
    pair.run_out();
    let sent: Vec<&String> = pair.ladder.iter().filter(|line| line.contains("A>")).collect();
    assert_eq!(sent.len(), 11);
    assert!(sent[..10].iter().all(|line| line.contains("(1000)")));
}

#[test]
fn the_pieces_behind_gaps_are_bounded() {
    let config = TcpConfig { mss: 10, ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10));
    let piece = |index: u32| Segment {
        seq: airwatt_base::Seq::new(2 + 2 * index),
        ack: airwatt_base::Seq::new(1),
        window: 1000,
        len: 1,
        flags: Flags::ACK,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    };
    for index in (0..10_000).rev() {
        pair.input(B, Input::Segment(piece(index), ()));
    }
    let whole = Segment { seq: airwatt_base::Seq::new(1), len: 15_000, ..piece(0) };
    pair.input(B, Input::Segment(whole, ()));
    assert_eq!(pair.delivered(B), 15_000, "the pieces nearest to the edge came first and were kept");
}
