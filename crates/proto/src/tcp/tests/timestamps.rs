//! The timestamps option (RFC 7323): its negotiation, the timestamp that is echoed, and the evidence of lost
//! acknowledgements in it.

use airwatt_base::RandomStream;

use super::*;
use crate::cc::{AckLossConfig, AckLossRule, StretchConfig};

fn stamped() -> TcpConfig {
    TcpConfig { timestamps: true, ..plain() }
}

#[test]
fn both_syns_must_carry_the_option() {
    for (a, b, agreed) in [(true, true, true), (true, false, false), (false, true, false)] {
        let end = |timestamps| Connection::new(TcpConfig { timestamps, ..plain() });
        let mut pair: Pair<InLengths> = Pair::new(end(a), end(b), millis(10));
        pair.input(B, Input::Listen);
        pair.input(A, Input::Open);
        pair.input(A, Input::Write(2000));
        pair.run(millis(100));
        assert_eq!(pair.delivered(B), 2000);
        assert_eq!(pair.ladder[0].contains("TS val"), a, "the SYN offers what its sender supports");
        for line in &pair.ladder[1..] {
            assert_eq!(line.contains("TS val"), agreed, "{line}");
        }
    }
}

/// RFC 7323 section 4.3 (A): a delayed acknowledgement echoes the first segment that it acknowledges. (B) and (C): while
/// a segment is missing, the last timestamp in order is echoed, and that of the segment that fills the gap afterwards.
#[test]
fn the_echo_is_of_the_segment_that_advanced_the_window() {
    let config = TcpConfig { delayed_ack: Some(DelayedAck::default()), ..stamped() };
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(10))
        .with(|who, number, _| if who == A && number == 4 { Fate::Lose } else { Fate::Arrive });
    for _ in 0..6 {
        pair.input(A, Input::Write(1000));
        pair.run(millis(5));
    }
    pair.run(millis(1000));
    let echoes: Vec<&str> = pair
        .ladder
        .iter()
        .filter(|line| line.contains("<B"))
        .filter_map(|line| line.split("ecr ").nth(1))
        .collect();
    // Sent at 0, 5, 10, (15: lost), 20 and 25 ms, and the clock begins at 1. The first acknowledgement covers two
    // segments; the duplicates echo the third, the last in order; the retransmission fills the gap.
    assert_eq!(echoes[..3], ["1", "11", "11"], "{:#?}", pair.ladder);
    let retransmitted = pair.ladder.iter().rfind(|line| line.contains("A>")).expect("a retransmission");
    let value =
        retransmitted.split("val ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a timestamp");
    assert_eq!(echoes.last(), Some(&value), "{:#?}", pair.ladder);
}

#[test]
fn a_segment_without_the_agreed_option_is_dropped() {
    let mut pair: Pair<InLengths> = Pair::established(&stamped(), millis(10));
    let (seq, ack) = (airwatt_base::Seq::new(1), airwatt_base::Seq::new(1));
    let (flags, sack) = (Flags::ACK, SackBlocks::NONE);
    let bare = Segment { seq, ack, window: 50_000, len: 1000, flags, ecn: Ecn::NONE, sack, timestamps: None };
    pair.input(B, Input::Segment(bare, ()));
    assert_eq!((pair.delivered(B), pair.ladder.len()), (0, 0));
}

#[test]
fn the_option_adds_twelve_bytes() {
    let mut pair: Pair<InLengths> = Pair::established(&stamped(), millis(10));
    pair.input(A, Input::Write(1000));
    let segment = pair.path.values().next().expect("a segment in flight").1;
    assert_eq!(stamped().packet_bytes(&segment), 1052);
}

#[test]
fn the_clock_skips_zero_when_it_wraps() {
    let at = |count| crate::tcp::timestamps::clock(Instant::ZERO + millis(count)).get();
    assert_eq!([at(0), at(1), at(u64::from(u32::MAX) - 1), at(u64::from(u32::MAX))], [1, 2, u32::MAX, 1]);
}

/// Simulates an upload of 12 s at one segment a millisecond, with `loss` per cent of the acknowledgements lost; the
/// receiver acknowledges every eight segments, and `threshold` lost acknowledgements halve the window. Returns the number
/// of gaps that lost acknowledgements left, of acknowledgements counted as lost, and of window halvings.
fn upload(loss: u32, timestamps: bool, threshold: u32) -> (u64, u64, u64) {
    let rule = AckLossRule::Stretch(StretchConfig::default());
    let config = TcpConfig {
        ackloss: Some(AckLossConfig { rule, threshold, ..AckLossConfig::default() }),
        delayed_ack: Some(DelayedAck { every: 8, timeout: millis(40) }),
        timestamps,
        ..plain()
    };
    let gaps = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = gaps.clone();
    let mut in_gap = false;
    let mut stream = RandomStream::new(5, "test/acks");
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(20)).with(move |who, _, segment| {
        if who == A {
            return Fate::Arrive;
        }
        assert!(segment.is_pure_ack());
        let lose = stream.below(100) < loss;
        count.set(count.get() + u64::from(lose && !in_gap));
        in_gap = lose;
        if lose { Fate::Lose } else { Fate::Arrive }
    });
    for _ in 0..12_000 {
        pair.input(A, Input::Write(1000));
        pair.run(millis(1));
        pair.ladder.clear();
    }
    let counted = pair.ends[A].statistics();
    (gaps.get(), counted.ack_losses, counted.ack_loss_halvings)
}

/// A receiver that acknowledges eight segments at once is not mistaken for a lossy path, and its lost acknowledgements
/// are detected, because an echo proves each. Without timestamps most of them are missed: such a receiver is not regular.
#[test]
fn timestamps_tell_stretched_acknowledgements_from_lost_ones() {
    const NEVER: u32 = 1000;
    assert_eq!(upload(0, true, 1), (0, 0, 0));
    let (lost, counted, _) = upload(5, true, NEVER);
    assert!(lost > 40 && counted * 10 > lost * 9 && counted <= lost, "{counted} of {lost}");
    let (lost, counted, _) = upload(5, false, NEVER);
    assert!(lost > 40 && counted * 2 < lost, "{counted} of {lost}");
    let (lost, _, halvings) = upload(5, true, 1);
    assert!(halvings > 5, "{halvings} halvings for {lost} losses");
}
