//! Tests of opening and closing, with the loss of every segment once.

use super::*;

/// A opens a connection to B, which listens, with a one-way delay of 10 ms.
fn opening(script: impl FnMut(usize, u64, &Segment) -> Fate + 'static) -> Pair<InLengths> {
    let mut pair = Pair::new(Connection::new(plain()), Connection::new(plain()), millis(10)).with(script);
    pair.input(B, Input::Listen);
    pair.input(A, Input::Open);
    pair
}

#[test]
fn opens_transfers_and_closes() {
    let mut pair = opening(|_, _, _| Fate::Arrive);
    pair.input(A, Input::Write(1500));
    pair.input(A, Input::Close);
    pair.run(millis(50));
    pair.input(B, Input::Close);
    pair.run(millis(50));
    pair.expect(
        "0 A> S 0:0(0) win 100000
         10 <B S. 0:0(0) ack 1 win 100000
         20 A> . 1:1001(1000) ack 1 win 100000
         20 A> FP. 1001:1501(500) ack 1 win 100000
         30 <B . 1:1(0) ack 1001 win 100000
         30 <B . 1:1(0) ack 1502 win 99499
         50 <B F. 1:1(0) ack 1502 win 99499
         60 A> . 1502:1502(0) ack 2 win 99999",
    );
    assert_eq!(pair.events[A], [Event::Connected, Event::AllAcknowledged, Event::PeerClosed]);
    let delivered = |bytes| Event::Delivered { bytes };
    assert_eq!(
        pair.events[B],
        [Event::Connected, delivered(1000), delivered(500), Event::PeerClosed, Event::Closed]
    );
    assert_eq!((pair.ends[A].state(), pair.ends[B].state()), (State::TimeWait, State::Closed));
    pair.run_out();
    assert_eq!(pair.ends[A].state(), State::Closed);
    assert_eq!(pair.now, Instant::from_millis(60_060), "TIME-WAIT lasts a minute");
    assert_eq!(pair.events[A].last(), Some(&Event::Closed));
    assert_eq!(pair.ends[A].statistics().rtt_count, 3, "the SYN gives a sample too");
}

#[test]
fn a_lost_syn_is_sent_again_and_the_connection_begins_carefully() {
    let mut pair = opening(|who, nth, _| if (who, nth) == (A, 1) { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(5000));
    pair.run(millis(1045));
    pair.expect(
        "0 A> S 0:0(0) win 100000 /lost/
         1000 A> S 0:0(0) win 100000
         1010 <B S. 0:0(0) ack 1 win 100000
         1020 A> . 1:1001(1000) ack 1 win 100000
         1030 <B . 1:1(0) ack 1001 win 100000
         1040 A> . 1001:2001(1000) ack 1 win 100000
         1040 A> . 2001:3001(1000) ack 1 win 100000",
    );
    assert_eq!(pair.ends[A].statistics().timeouts, 1);
    assert_eq!(pair.ends[A].statistics().rtt_count, 1, "none from the SYN that was sent twice");
}

#[test]
fn the_timeout_is_three_seconds_after_a_lost_syn() {
    let mut pair = opening(
        |who, nth, segment| {
            if (who, nth) == (A, 1) || segment.len > 0 { Fate::Lose } else { Fate::Arrive }
        },
    );
    pair.run(millis(1100));
    assert_eq!(pair.ends[A].rto(), Span::from_secs(3));
    pair.input(A, Input::Write(1000));
    pair.run(millis(3001));
    assert_eq!(pair.ends[A].statistics().timeouts, 2);
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut pair = opening(|who, nth, _| if (who, nth) == (B, 1) { Fate::Lose } else { Fate::Arrive });
    pair.run(millis(2000));
    // Both timers expire; the repeated SYN and the repeated SYN-ACK cross.
    pair.expect(
        "0 A> S 0:0(0) win 100000
         10 <B S. 0:0(0) ack 1 win 100000 /lost/
         1000 A> S 0:0(0) win 100000
         1010 <B S. 0:0(0) ack 1 win 100000
         1010 <B S. 0:0(0) ack 1 win 100000
         1020 A> . 1:1(0) ack 1 win 100000
         1020 A> . 1:1(0) ack 1 win 100000",
    );
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established; 2]);
}

#[test]
fn a_lost_third_ack_is_made_good_by_data() {
    let mut pair = opening(|who, nth, _| if (who, nth) == (A, 2) { Fate::Lose } else { Fate::Arrive });
    pair.run(millis(100));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established, State::SynReceived]);
    pair.input(A, Input::Write(10));
    pair.run(millis(100));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established; 2]);
    assert_eq!(pair.delivered(B), 10);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut lost = false;
    let mut pair = opening(move |who, _, segment| {
        let lose = who == A && segment.flags.has(Flags::FIN) && !lost;
        lost |= lose;
        if lose { Fate::Lose } else { Fate::Arrive }
    });
    pair.run(millis(100));
    pair.ladder.clear();
    pair.input(A, Input::Close);
    pair.run(millis(300));
    pair.expect(
        "100 A> F. 1:1(0) ack 1 win 100000 /lost/
         300 A> F. 1:1(0) ack 1 win 100000
         310 <B . 1:1(0) ack 2 win 99999",
    );
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::FinWait2, State::CloseWait]);
    pair.input(B, Input::Write(100));
    pair.input(B, Input::Close);
    pair.run(millis(100));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait, State::Closed]);
    assert_eq!(pair.delivered(A), 100, "a half-closed connection still carries data");
}

#[test]
fn a_lost_last_ack_is_made_good_from_time_wait() {
    let mut pair = opening(|_, _, _| Fate::Arrive);
    pair.run(millis(100));
    pair.input(A, Input::Close);
    pair.run(millis(50));
    pair.script = Box::new(|who, _, _| if who == A { Fate::Lose } else { Fate::Arrive });
    pair.input(B, Input::Close);
    pair.run(millis(50));
    pair.script = Box::new(|_, _, _| Fate::Arrive);
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait, State::LastAck]);
    pair.run(millis(300));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait, State::Closed]);
    let again = pair.ends[A].timer(TcpTimer::TimeWait).expect("waits");
    assert_eq!(again, Instant::from_millis(160 + 200 + 60_000), "the second FIN restarts the wait");
}

#[test]
fn both_close_at_once() {
    let mut pair = opening(|_, _, _| Fate::Arrive);
    pair.run(millis(100));
    pair.ladder.clear();
    pair.input(A, Input::Close);
    pair.input(B, Input::Close);
    pair.run(millis(15));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Closing; 2]);
    pair.run(millis(15));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait; 2]);
    pair.expect(
        "100 A> F. 1:1(0) ack 1 win 100000
         100 <B F. 1:1(0) ack 1 win 100000
         110 <B . 2:2(0) ack 2 win 99999
         110 A> . 2:2(0) ack 2 win 99999",
    );
    pair.run_out();
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Closed; 2]);
}

#[test]
fn both_open_at_once() {
    let mut pair: Pair<InLengths> = Pair::new(Connection::new(plain()), Connection::new(plain()), millis(10));
    pair.input(A, Input::Open);
    pair.input(B, Input::Open);
    pair.run(millis(15));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::SynReceived; 2]);
    pair.run(millis(100));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established; 2]);
    pair.input(A, Input::Write(100));
    pair.input(B, Input::Write(200));
    pair.run(millis(100));
    assert_eq!((pair.delivered(A), pair.delivered(B)), (200, 100));
    assert_eq!(pair.ends[A].statistics().timeouts, 0);
}

#[test]
fn a_closed_end_refuses() {
    let mut pair: Pair<InLengths> = Pair::new(Connection::new(plain()), Connection::new(plain()), millis(10));
    pair.input(A, Input::Open);
    pair.run_out();
    assert_eq!(pair.events[A], [Event::Reset]);
    pair.expect(
        "0 A> S 0:0(0) win 100000
         10 <B R. 0:0(0) ack 1 win 0",
    );
}

#[test]
fn nobody_answers() {
    let mut pair = opening(|_, _, _| Fate::Lose);
    pair.run_out();
    assert_eq!(pair.events[A], [Event::TimedOut]);
    assert_eq!(pair.sent[A], 8, "a SYN and seven repetitions");
    assert_eq!(
        pair.now,
        Instant::from_secs(1 + 2 + 4 + 8 + 16 + 32 + 60 + 60),
        "RFC 9293: 3 minutes at least"
    );
}

#[test]
fn abort_resets_the_peer() {
    let mut pair = opening(|_, _, _| Fate::Arrive);
    pair.input(A, Input::Write(10_000));
    pair.run(millis(100));
    pair.input(A, Input::Abort);
    pair.run_out();
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Closed; 2]);
    assert_eq!(pair.events[B].last(), Some(&Event::Reset));
}

/// RFC 5961: neither a SYN nor a reset that merely lies in the window ends a connection.
#[test]
fn blind_attacks_are_challenged() {
    let mut pair: Pair<InLengths> = Pair::established(&plain(), millis(10));
    let forged = |seq, flags| Segment {
        seq: airwatt_base::Seq::new(seq),
        ack: airwatt_base::Seq::new(1),
        window: 5,
        len: 0,
        flags,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    };
    pair.input(A, Input::Segment(forged(500, Flags::RST), ()));
    pair.input(A, Input::Segment(forged(500, Flags::SYN), ()));
    pair.input(A, Input::Segment(forged(1, Flags::SYN | Flags::ACK), ()));
    pair.input(A, Input::Segment(forged(200_000, Flags::RST), ()));
    assert_eq!(pair.ends[A].state(), State::Established);
    assert_eq!(pair.sent[A], 3);
    let mut unsent = forged(1, Flags::ACK);
    unsent.ack = airwatt_base::Seq::new(9);
    pair.input(A, Input::Segment(unsent, ()));
    assert_eq!(pair.sent[A], 3, "challenges are rationed");
    pair.input(A, Input::Segment(forged(1, Flags::RST), ()));
    assert_eq!(pair.events[A], [Event::Reset]);
}

#[test]
fn a_reset_handshake_leads_back_to_listening() {
    let mut pair = opening(|who, nth, _| if (who, nth) == (A, 2) { Fate::Lose } else { Fate::Arrive });
    pair.input(B, Input::Write(700));
    pair.run(millis(50));
    assert_eq!(pair.ends[B].state(), State::SynReceived);
    pair.input(A, Input::Abort);
    pair.run(millis(50));
    assert_eq!(pair.ends[B].state(), State::Listen);
    pair.ends[A] = Connection::new(plain());
    pair.input(A, Input::Open);
    pair.run(millis(100));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established; 2]);
    assert_eq!(pair.delivered(A), 700, "what was written before is still sent");
}

#[test]
fn a_peer_that_has_forgotten_the_connection_resets_it() {
    let mut pair: Pair<InLengths> =
        Pair::new(Connection::established(plain(), &plain()), Connection::new(plain()), millis(10));
    pair.input(A, Input::Write(1000));
    pair.run_out();
    assert_eq!(pair.events[A], [Event::Reset]);
}

#[test]
fn time_wait_can_be_skipped() {
    let config = TcpConfig { time_wait: Span::ZERO, ..plain() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10));
    pair.input(A, Input::Close);
    pair.run(millis(15));
    pair.input(B, Input::Close);
    pair.run_out();
    assert_eq!(pair.now, Instant::from_millis(35));
    assert_eq!(pair.events, [[Event::PeerClosed, Event::Closed], [Event::PeerClosed, Event::Closed]]);
}

#[test]
fn an_end_serves_one_connection() {
    let mut pair: Pair<InLengths> = Pair::established(&plain(), millis(10));
    pair.input(A, Input::Abort);
    pair.run_out();
    for input in [Input::Open, Input::Listen, Input::Write(100), Input::Close, Input::Abort] {
        pair.input(A, input);
    }
    assert_eq!(pair.ends[A].state(), State::Closed);
    assert_eq!((pair.sent[A], pair.ends[A].unacknowledged_bytes()), (1, 0), "the reset, and nothing since");
}
