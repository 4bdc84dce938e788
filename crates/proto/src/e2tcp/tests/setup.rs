//! Tests of set-up, refusal, half-close, reset and termination.

use airwatt_base::settings::Settings;

use super::*;

fn opened(script: impl FnMut(usize, u64, &E2tcpPacket) -> Fate + 'static) -> Pair {
    let mut pair = Pair::apart(&plain(), &plain()).with(script);
    pair.input(A, Input::Open);
    pair
}

#[test]
fn set_up_half_close_and_termination() {
    let mut pair = opened(|_, _, _| Fate::Arrive);
    pair.input(A, Input::Write(pattern(1500)));
    pair.run(1000);
    pair.input(A, Input::Close);
    pair.run(2000);
    // The other direction stays open.
    pair.input(B, Input::Write(pattern(500)));
    pair.run(3000);
    pair.input(B, Input::Close);
    pair.finish();
    let want = [
        // Packets carry full addresses until each end has seen the other use the identifier.
        "0 A> 7 SYN F S 0(0)",
        "50 <B 7 SYN F S 0(0) ack 0",
        "100 A> 7 S 1000(1000) ack 0",
        "100 A> 7 S 1500(500)",
        "150 <B 7 ack 1000",
        "150 <B 7 ack 1500",
        "1000 A> 7 FIN S 1501(0)",
        "1050 <B 7 ack 1501",
        "2000 <B 7 S 500(500)",
        "2050 A> 7 ack 500",
        "3000 <B 7 FIN S 501(0)",
        "3050 A> 7 ack 501",
    ];
    assert_eq!(pair.ladder, want);
    assert_eq!(
        pair.events[A],
        [
            Event::Connected,
            Event::AllAcknowledged,
            Event::Delivered { bytes: 500 },
            Event::PeerClosed,
            Event::Closed
        ]
    );
    assert_eq!(
        pair.events[B],
        [
            Event::Connected,
            Event::Delivered { bytes: 1000 },
            Event::Delivered { bytes: 500 },
            Event::PeerClosed,
            Event::AllAcknowledged,
            Event::Closed
        ]
    );
    assert_eq!(pair.now, Instant::from_millis(3050 + 5000), "A lingers, and forgets");
}

#[test]
fn lost_packets_of_the_set_up_are_sent_again() {
    // The SYN is lost, then the answer, then the first data, which carries the acknowledgement.
    let mut pair = opened(|who, n, _| {
        if (who == A && matches!(n, 1 | 4)) || (who == B && n == 1) { Fate::Lose } else { Fate::Arrive }
    });
    pair.input(A, Input::Write(pattern(1000)));
    pair.run(1990);
    assert_eq!(
        pair.ladder,
        ["0 A> 7 SYN F S 0(0) /lost/", "1000 A> 7 SYN F S 0(0)", "1050 <B 7 SYN F S 0(0) ack 0 /lost/"]
    );
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(1000));
}

#[test]
fn data_without_addresses_tells_that_the_answer_arrived() {
    // The first of two packets carries the acknowledgement of B's SYN, and is lost.
    let mut pair = opened(|who, n, _| if who == A && n == 2 { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(2000)));
    pair.run(160);
    assert_eq!(pair.ends[B].state(), State::Established);
    pair.finish();
    assert_eq!(pair.streams[B].bytes, pattern(2000));
}

#[test]
fn a_syn_that_nobody_answers_is_given_up() {
    let mut pair = opened(|_, _, _| Fate::Lose);
    pair.finish();
    assert_eq!(pair.events[A], [Event::TimedOut]);
    assert_eq!(pair.now, Instant::from_secs(181));
}

#[test]
fn a_refusal_answers_the_syn() {
    let mut end: Connection = Connection::new(plain(), 3, IpVersion::V4);
    end.handle_input(Input::Open, Instant::ZERO);
    let Some(Output::Transmit(syn)) = end.poll_output() else { panic!("a SYN") };
    let refusal = syn.refusal().expect("it has addresses");
    assert_eq!(refusal.to_string(), "3 RST F ack 0");
    assert_eq!(refusal.refusal(), None, "a refusal is not refused");
    // An acknowledgement of other data does not belong to this connection.
    let mut stray = refusal;
    stray.header.acknowledgement = Some(Acknowledgement::plain(Seq::new(9)));
    end.handle_input(Input::Packet(stray, ()), Instant::from_millis(1));
    assert_eq!((end.poll_output(), end.state()), (None, State::SynSent));
    end.handle_input(Input::Packet(refusal, ()), Instant::from_millis(2));
    assert_eq!(end.poll_output(), Some(Output::Event(Event::Refused)));
    assert_eq!((end.poll_timeout(), end.state()), (None, State::Closed));
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = opened(|_, _, _| Fate::Arrive);
    pair.input(A, Input::Write(pattern(10)));
    pair.run(1000);
    pair.input(A, Input::Abort);
    pair.finish();
    assert_eq!(pair.lines("RST"), ["1000 A> 7 RST ack 0"]);
    assert_eq!(pair.events[B].last(), Some(&Event::Reset));
    assert_eq!(pair.ends[B].state(), State::Closed);
}

#[test]
fn both_may_close_at_once() {
    let mut pair = Pair::established(&plain(), &plain());
    pair.input(A, Input::Close);
    pair.input(B, Input::Close);
    pair.finish();
    assert_eq!(pair.ladder, ["0 A> 0 FIN S 1(0)", "0 <B 0 FIN S 1(0)", "50 <B 0 ack 1", "50 A> 0 ack 1"]);
    for who in [A, B] {
        assert_eq!(pair.events[who], [Event::PeerClosed, Event::Closed]);
    }
}

#[test]
fn a_lost_last_acknowledgement_is_repeated_while_the_other_end_lingers() {
    let mut pair = Pair::established(&plain(), &plain())
        .with(|who, n, packet| if who == A && n == 2 && packet.len == 0 { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Close);
    pair.run(500);
    pair.input(B, Input::Close);
    pair.finish();
    assert_eq!(pair.lines("FIN").len(), 3);
    assert_eq!(pair.events[B].last(), Some(&Event::Closed));
}

#[test]
fn closing_before_anything_was_said_says_nothing() {
    let mut pair = Pair::apart(&plain(), &plain());
    pair.input(B, Input::Close);
    assert_eq!(pair.events[B], [Event::Closed]);
    let mut pair = opened(|_, _, _| Fate::Lose);
    pair.input(A, Input::Close);
    assert_eq!((pair.ends[A].state(), pair.events[A].as_slice()), (State::Closed, &[Event::Closed][..]));
}

#[test]
fn impossible_settings_are_named() {
    let wrong = |config: E2tcpConfig| config.check().expect_err("wrong").to_string();
    assert_eq!(plain().check(), Ok(()));
    assert_eq!(
        wrong(E2tcpConfig { min_window: 26, ..plain() }),
        "min_window: expected 1 to max_window (25) packets, got 26"
    );
    assert_eq!(wrong(E2tcpConfig { reliability: 101, ..plain() }), "reliability: expected 0 to 100, got 101");
    assert!(wrong(E2tcpConfig { max_window: 0, ..plain() }).starts_with("max_window: expected "));
    assert!(wrong(E2tcpConfig { after_timeout: 0, ..plain() }).starts_with("after_timeout: expected "));
    assert!(wrong(E2tcpConfig { payload: 0, ..plain() }).starts_with("payload: expected "));
    assert!(wrong(E2tcpConfig { rto_percent: 99, ..plain() }).starts_with("rto_percent: expected "));
    assert!(wrong(E2tcpConfig { rto_margin: Span::ZERO, ..plain() }).starts_with("rto_margin: expected "));
    assert!(wrong(E2tcpConfig { receive_buffer: 5, ..plain() }).starts_with("receive_buffer: expected "));
    assert!(wrong(E2tcpConfig { window_repeats: 0, ..plain() }).starts_with("window_repeats: expected "));
    let burst_reaction = BurstReaction::Detector(DetectorConfig { history: 0, ..DetectorConfig::default() });
    assert!(
        wrong(E2tcpConfig { burst_reaction, ..plain() }).starts_with("burst_reaction.history: expected ")
    );
}

#[test]
fn both_ends_have_the_window_of_one_setting() {
    let config = E2tcpConfig { receive_window: 99_000, ..E2tcpConfig::default() };
    let end = config.derived(500, 90);
    assert_eq!((end.payload, end.reliability), (500, 90));
    assert_eq!((end.receive_window, end.assumed_window, end.receive_buffer), (99_000, 99_000, 198_000));
}
