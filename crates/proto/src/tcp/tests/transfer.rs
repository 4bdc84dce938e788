//! Tests of whole transfers over bad paths: every byte arrives once and in order, and every transfer ends.

use airwatt_base::{RandomStream, Seq};
use proptest::prelude::*;

use super::*;
use crate::bad_path::{Badness, bad_path};

fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut stream = RandomStream::new(seed, "test/bytes");
    (0..len).map(|_| stream.below(256) as u8).collect()
}

/// Both ends write, read data as it comes, and close. Returns the data that each has read.
fn exchange(mut pair: Pair<InBytes>, data: [Vec<u8>; 2]) -> (Pair<InBytes>, [Vec<u8>; 2]) {
    let mut read = [Vec::new(), Vec::new()];
    pair.input(B, Input::Listen);
    pair.input(A, Input::Open);
    for (who, bytes) in data.into_iter().enumerate() {
        for chunk in bytes.chunks(3000) {
            pair.input(who, Input::Write(chunk.to_vec()));
        }
    }
    let mut closed = [false; 2];
    let mut steps = 0;
    while pair.step(Instant::FOREVER) {
        steps += 1;
        assert!(steps < 2_000_000, "never ends");
        for who in [A, B] {
            let ready = pair.ends[who].readable_bytes();
            if ready > 0 {
                read[who].extend(pair.ends[who].front(ready));
                pair.input(who, Input::Read(ready));
            }
            if !closed[who] && pair.events[who].contains(&Event::Connected) {
                closed[who] = true;
                pair.input(who, Input::Close);
            }
        }
    }
    (pair, read)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random loss, duplication and reordering in both directions, with small and large windows, with every congestion
    /// control.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        seed in 0_u64..u64::MAX,
        lens in [0_usize..60_000, 0_usize..60_000],
        lose in 0_u32..150,
        double in 0_u32..150,
        delay in 0_u32..300,
        mss in 100_u32..1500,
        receive_window in 50_u32..40_000,
        initial_sequence in any::<u32>(),
        congestion in prop::sample::select(Algorithm::ALL),
        ((delayed, nagle), (limited_transmit, coarse), ackloss) in any::<((bool, bool), (bool, bool), bool)>(),
    ) {
        let config = TcpConfig {
            mss,
            receive_window,
            initial_sequence: Seq::new(initial_sequence),
            delayed_ack: delayed.then(DelayedAck::default),
            nagle,
            congestion,
            limited_transmit,
            ackloss: ackloss.then(Default::default),
            rto_clock: if coarse { COARSE } else { RtoClock::Fine },
            // A path this bad may lose one segment fifteen times, and aborting is not the subject of this test.
            give_up_after: 1000,
            syn_give_up_after: 1000,
            ..TcpConfig::default()
        };
        let end = || Connection::new(config.clone());
        let pair = Pair::new(end(), end(), millis(20)).with(bad_path(seed, Badness { lose, double, delay }));
        let data = [pattern(seed, lens[A]), pattern(!seed, lens[B])];
        let (pair, read) = exchange(pair, data.clone());
        prop_assert!(read[B] == data[A], "what A wrote is what B read");
        prop_assert!(read[A] == data[B], "what B wrote is what A read");
        for who in [A, B] {
            prop_assert_eq!(pair.ends[who].state(), State::Closed);
            prop_assert_eq!(pair.ends[who].unacknowledged_bytes(), 0);
            prop_assert_eq!(pair.ends[who].poll_timeout(), None);
        }
    }
}

#[test]
fn sequence_numbers_wrap() {
    let config = TcpConfig { initial_sequence: Seq::new(u32::MAX - 10_000), ..plain() };
    let end = || Connection::new(config.clone());
    let pair =
        Pair::new(end(), end(), millis(5)).with(bad_path(3, Badness { lose: 30, double: 10, delay: 30 }));
    let data = [pattern(1, 100_000), pattern(2, 100_000)];
    let (_, read) = exchange(pair, data.clone());
    assert!(read[B] == data[A] && read[A] == data[B]);
}

/// Each congestion control transfers a file over the same bad path; better repair finishes sooner.
#[test]
fn every_algorithm_finishes_on_the_same_bad_path() {
    for congestion in Algorithm::ALL {
        let config = TcpConfig { congestion: *congestion, ..plain() };
        let badness = Badness { lose: 20, double: 5, delay: 10 };
        let mut pair: Pair<InLengths> = Pair::established(&config, millis(20)).with(bad_path(11, badness));
        pair.input(A, Input::Write(2_000_000));
        pair.run_out();
        assert_eq!(pair.delivered(B), 2_000_000, "{}", congestion.name());
        assert_eq!(pair.events[A], [Event::AllAcknowledged]);
    }
}

#[test]
fn more_than_four_gigabytes_in_lengths() {
    let config = TcpConfig {
        mss: 65_000,
        receive_window: 1 << 28,
        initial_window: InitialWindow::Segments(1000),
        ..TcpConfig::default()
    };
    let bytes = 5_u64 << 30;
    let mut pair: Pair<InLengths> = Pair::established(&config, millis(1));
    let mut sent = 0_u64;
    pair = pair.with(move |_, _, segment| {
        sent += u64::from(segment.len > 0);
        if segment.len > 0 && sent.is_multiple_of(10_007) { Fate::Lose } else { Fate::Arrive }
    });
    pair.input(A, Input::Write(bytes));
    while pair.step(Instant::FOREVER) {
        pair.ladder.clear();
        pair.events[B].clear();
    }
    assert_eq!(pair.delivered(B), bytes);
    assert_eq!(pair.events[A], [Event::AllAcknowledged]);
    assert!(pair.ends[A].statistics().fast_retransmits > 0);
    assert_eq!(pair.ends[A].statistics().timeouts, 0);
}

/// A full pipe stays full: 1000-byte segments, 40 ms round trip, a window of 100 segments.
#[test]
fn the_receiver_window_sets_the_rate() {
    let mut pair: Pair<InLengths> = Pair::established(&plain(), millis(20));
    pair.input(A, Input::Write(100_000_000));
    pair.run(Span::from_secs(10));
    let before = pair.delivered(B);
    pair.run(Span::from_secs(10));
    let rate = pair.delivered(B) - before;
    assert_eq!(rate, 100_000 * 250, "a window each round trip");
    assert_eq!(pair.ends[A].srtt(), Some(millis(40)));
    assert_eq!(pair.ends[A].statistics().segments_retransmitted, 0);
}
