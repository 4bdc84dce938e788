//! Tests of partial reliability: the bytes that are skipped, the notifications of the application, and the bytes that
//! are never given up.

use proptest::prelude::*;

use super::*;

/// Delivers packets of 1000 bytes by number to a receiver with this reliability in per cent, and returns it.
fn fed(reliability: u8, numbers: impl IntoIterator<Item = u32>) -> Pair {
    let config = E2tcpConfig { reliability, ..plain() };
    let mut pair = Pair::established(&plain(), &config);
    for number in numbers {
        feed(&mut pair, number);
    }
    pair
}

fn feed(pair: &mut Pair, number: u32) {
    let header = Header { sequence: Some(Seq::new(number * 1000)), ..Header::new(0) };
    let payload = pattern(number as usize * 1000).split_off(number as usize * 1000 - 1000);
    pair.input(B, Input::Packet(E2tcpPacket { header, len: 1000 }, payload));
}

/// The number of the last acknowledgement, in packets.
fn acknowledged(pair: &Pair) -> u32 {
    let last = pair.ladder.last().expect("every packet is acknowledged");
    let number = last.split("ack ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
    number.parse::<u32>().expect("a number") / 1000
}

#[test]
fn at_90_per_cent_one_in_ten_may_be_missing() {
    let mut pair = fed(90, 2..=9);
    assert_eq!(acknowledged(&pair), 0, "8 of 9 are less than 90 per cent");
    feed(&mut pair, 10);
    assert_eq!(acknowledged(&pair), 10, "9 of 10 are enough");
    assert_eq!(pair.events[B], [Event::Gap { at: 0, bytes: 1000 }, Event::Delivered { bytes: 9000 }]);
    assert_eq!(pair.streams[B].bytes[..1000], [0; 1000]);
    assert_eq!(pair.streams[B].bytes[1000..], pattern(10_000)[1000..]);
    assert_eq!(pair.ends[B].statistics().bytes_skipped, 1000);
}

/// Over the life of the connection 90 packets that arrived let ten in a row go; over the last 20 packets only two.
#[test]
fn a_share_of_the_last_packets_lets_no_long_burst_go() {
    for (window, skipped) in [(None, 10), (Some(20), 2)] {
        let config = E2tcpConfig { reliability: 90, reliability_window: window, ..plain() };
        let mut pair = Pair::established(&plain(), &config);
        for number in (1..=90).chain(101..=110) {
            feed(&mut pair, number);
        }
        assert_eq!(pair.ends[B].statistics().bytes_skipped, skipped * 1000, "{window:?}");
    }
}

/// A packet that was skipped long ago no longer counts, and one that arrives late makes room for another.
#[test]
fn the_last_packets_are_the_last_ones() {
    let config = E2tcpConfig { reliability: 90, reliability_window: Some(10), ..plain() };
    let mut pair = Pair::established(&plain(), &config);
    for number in (1..=9).chain(11..=12) {
        feed(&mut pair, number);
    }
    assert_eq!(acknowledged(&pair), 12, "one of the last ten may be missing");
    feed(&mut pair, 14);
    assert_eq!(acknowledged(&pair), 12, "a second one may not");
    feed(&mut pair, 10);
    feed(&mut pair, 15);
    assert_eq!(acknowledged(&pair), 15, "the first one has arrived");
}

#[test]
fn at_100_per_cent_nothing_may() {
    let mut pair = fed(100, 2..=60);
    assert_eq!(acknowledged(&pair), 0);
    assert!(pair.events[B].is_empty());
    feed(&mut pair, 1);
    assert_eq!(acknowledged(&pair), 60);
    assert_eq!(pair.events[B], [Event::Delivered { bytes: 60_000 }]);
}

#[test]
fn at_0_per_cent_everything_may() {
    let pair = fed(0, [50]);
    assert_eq!(acknowledged(&pair), 50, "even before anything has arrived");
    assert_eq!(pair.events[B], [Event::Gap { at: 0, bytes: 49_000 }, Event::Delivered { bytes: 1000 }]);
}

#[test]
fn at_1_and_at_99_per_cent() {
    let pair = fed(1, [60]);
    assert_eq!(acknowledged(&pair), 60, "1 of 60");
    let mut pair = fed(99, (1..50).chain(51..100));
    assert_eq!(acknowledged(&pair), 49, "98 of 99");
    feed(&mut pair, 100);
    assert_eq!(acknowledged(&pair), 100, "99 of 100");
}

#[test]
fn a_gap_is_skipped_as_far_as_it_goes_in_whole_packets() {
    // Packet 1 arrived; of the gap 2 to 5 one packet may be skipped, as one of two is 50 per cent.
    let mut pair = fed(50, [1]);
    feed(&mut pair, 6);
    // Packet 2 arrived, so two may be skipped: 2 and 3.
    assert_eq!(acknowledged(&pair), 3);
    assert_eq!(pair.events[B][1..], [Event::Gap { at: 1000, bytes: 2000 }]);
    feed(&mut pair, 7);
    assert_eq!(acknowledged(&pair), 4);
    feed(&mut pair, 8);
    assert_eq!(acknowledged(&pair), 8);
    assert_eq!(pair.streams[B].gaps, [(1000, 2000), (3000, 1000), (4000, 1000)]);
    assert!(pair.streams[B].keeps(50));
}

#[test]
fn what_was_skipped_and_arrives_is_handed_over_late_and_once() {
    let mut pair = fed(50, [1, 3]);
    assert_eq!(acknowledged(&pair), 3);
    feed(&mut pair, 2);
    assert_eq!(pair.events[B].last(), Some(&Event::Late { at: 1000, bytes: 1000 }));
    feed(&mut pair, 2);
    assert_eq!(pair.events[B].iter().filter(|event| matches!(event, Event::Late { .. })).count(), 1);
    assert_eq!(pair.streams[B].bytes, pattern(3000));
    assert_eq!(pair.ends[B].statistics().bytes_skipped, 0);
    // It counts as arrived again: 3 of 3, so three may be missing.
    feed(&mut pair, 7);
    assert_eq!(acknowledged(&pair), 7);
}

#[test]
fn late_bytes_find_their_place_while_nobody_has_read() {
    let mut pair = fed(50, []);
    pair.reading = false;
    for number in [1, 3, 2] {
        feed(&mut pair, number);
    }
    let ready = pair.ends[B].readable_bytes();
    pair.read(B, ready);
    assert_eq!(pair.streams[B].bytes, pattern(3000));
}

#[test]
fn a_gap_before_the_end_may_be_skipped_but_the_end_may_not() {
    let config = E2tcpConfig { reliability: 50, ..plain() };
    let mut pair = Pair::established(&plain(), &config)
        .with(|who, n, _| if who == A && (n == 2 || n == 3) { Fate::Lose } else { Fate::Arrive });
    pair.input(A, Input::Write(pattern(2000)));
    pair.input(A, Input::Close);
    pair.run(1500);
    // Packet 2 and the FIN were lost. The timer retransmits the FIN, and the packet with it.
    assert!(pair.events[B].contains(&Event::PeerClosed));
    assert!(pair.streams[B].keeps(50));
    assert_eq!(pair.ends[A].state(), State::FinWait2);
}

/// The rule of the thesis, in packets.
struct Rule {
    reliability: u64,
    received: u64,
    skipped: u64,
    next: u32,
    there: Vec<u32>,
}

impl Rule {
    fn packet(&mut self, number: u32) -> u32 {
        if number >= self.next && !self.there.contains(&number) {
            self.there.push(number);
            self.received += 1;
        }
        while let Some(lowest) = self.there.iter().min().copied() {
            let spare = self.received * 100 >= self.reliability * (self.received + self.skipped + 1);
            if lowest == self.next {
                self.there.retain(|number| *number != lowest);
            } else if spare {
                self.skipped += 1;
            } else {
                break;
            }
            self.next += 1;
        }
        self.next - 1
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// With packets of one size, bytes are skipped exactly when the rule of the thesis skips packets.
    #[test]
    fn bytes_are_skipped_where_packets_would_be(
        reliability in 0_u8..=100,
        lost in prop::collection::vec(prop::bool::weighted(0.3), 60),
    ) {
        let mut pair = fed(reliability, []);
        let mut rule = Rule { reliability: reliability.into(), received: 0, skipped: 0, next: 1, there: vec![] };
        // The buffers hold 65 packets beyond a gap.
        for number in (1..=60).filter(|number| !lost[*number as usize - 1]) {
            feed(&mut pair, number);
            prop_assert_eq!(acknowledged(&pair), rule.packet(number));
            // Data beyond a gap counts as arrived as well, so the share refers to all data received.
            let skipped = pair.ends[B].statistics().bytes_skipped / 1000;
            prop_assert_eq!(skipped, rule.skipped);
            prop_assert!(rule.received * 100 >= rule.reliability * (rule.received + rule.skipped));
        }
    }
}
