//! Tests of whole transfers over bad paths, in both directions: the reliability is kept, and every transfer ends.

use proptest::prelude::*;

use super::*;
use crate::bad_path::{Badness, bad_path};

/// Sets up, sends `lens` bytes each way, closes, and returns the pair when there are no more events.
fn exchange(configs: &[E2tcpConfig; 2], lens: [usize; 2], seed: u64, badness: Badness) -> Pair {
    let mut pair = Pair::apart(&configs[A], &configs[B]).with(bad_path(seed, badness));
    pair.input(A, Input::Open);
    for who in [A, B] {
        for chunk in pattern(lens[who]).chunks(3333) {
            pair.input(who, Input::Write(chunk.to_vec()));
        }
    }
    let mut closed = [false; 2];
    let mut steps = 0;
    while pair.step(Instant::FOREVER) {
        steps += 1;
        assert!(steps < 500_000, "never ends");
        for who in [A, B] {
            if !closed[who] && pair.events[who].contains(&Event::Connected) {
                closed[who] = true;
                pair.input(who, Input::Close);
            }
        }
    }
    pair
}

fn check(pair: &Pair, configs: &[E2tcpConfig; 2], lens: [usize; 2]) {
    for who in [A, B] {
        let (stream, sent) = (&pair.streams[who], pattern(lens[1 - who]));
        assert_eq!(pair.ends[who].state(), State::Closed);
        assert!(pair.events[who].contains(&Event::Closed), "{:?}", pair.events[who]);
        assert!(pair.events[who].contains(&Event::PeerClosed));
        assert_eq!((stream.bytes.len(), stream.arrived.len()), (sent.len(), sent.len()));
        assert!(stream.keeps(configs[who].reliability));
        for (at, arrived) in stream.arrived.iter().enumerate() {
            assert_eq!(stream.bytes[at], if *arrived { sent[at] } else { 0 }, "byte {at}");
        }
        let missing = stream.arrived.iter().filter(|arrived| !**arrived).count() as u64;
        assert_eq!(pair.ends[who].statistics().bytes_skipped, missing);
        if configs[who].reliability == 100 {
            assert_eq!(stream.bytes, sent);
        }
    }
}

fn any_config() -> impl Strategy<Value = E2tcpConfig> {
    let windows = (1_u32..20, 1_u32..20, 1_u32..20, 0_u32..10);
    let switches = any::<[bool; 5]>();
    let counted = prop_oneof![Just(Counted::Travelling), Just(Counted::Missing), Just(Counted::Span)];
    let sizes = (prop_oneof![Just(1000_u16), 1_u16..2000], prop_oneof![Just(65_535_u32), 1000_u32..60_000]);
    let reliability = prop_oneof![2 => Just(100_u8), 3 => 0_u8..=100];
    (windows, switches, counted, sizes, reliability, any::<u32>()).prop_map(
        |((min, after, more, error_limit), switch, counted, (payload, window), reliability, isn)| {
            let max_window = min.max(after) + more;
            E2tcpConfig {
                payload,
                min_window: min,
                max_window,
                after_timeout: after,
                error_limit,
                increase: if switch[0] { Increase::PerAck } else { Increase::PerWindow },
                counted,
                infer_relost: switch[1],
                burst_reaction: if switch[2] {
                    BurstReaction::Detector(DetectorConfig::default())
                } else {
                    BurstReaction::Windows
                },
                selective: switch[3],
                ack_every: 1 + isn % 4 % max_window,
                learn_window: isn & 4 == 4,
                searches_payload: isn & 8 == 8,
                undoes_timeouts: isn & 16 == 16,
                window_field: if switch[4] { WindowField::Caps } else { WindowField::Replaces },
                reliability,
                receive_window: window,
                receive_buffer: window + window / 2,
                initial_sequence: Seq::new(isn),
                // Losses may last for a while, but an end that waits for a peer that no longer exists ends as well. With
                // timeouts that double up to a minute, a last retransmission could come after that.
                back_off: false,
                linger: Span::from_secs(60),
                ..E2tcpConfig::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// A realistic hop: packets are lost or duplicated.
    #[test]
    fn transfers_over_a_bad_hop(
        a in any_config(), b in any_config(), lens in [0_usize..40_000, 0_usize..40_000],
        seed in any::<u64>(), lose in 0_u32..300, double in 0_u32..100,
    ) {
        let configs = [a, b];
        let pair = exchange(&configs, lens, seed, Badness { lose, double, delay: 0 });
        check(&pair, &configs, lens);
    }

    /// Worse than a hop: packets are delayed as well.
    #[test]
    fn transfers_over_a_path_that_reorders(
        a in any_config(), b in any_config(), lens in [0_usize..40_000, 0_usize..40_000],
        seed in any::<u64>(), lose in 0_u32..200, double in 0_u32..100, delay in 0_u32..300,
    ) {
        let configs = [a, b];
        let pair = exchange(&configs, lens, seed, Badness { lose, double, delay });
        check(&pair, &configs, lens);
    }
}

/// Acknowledgements are lost that would have said that a packet had arrived. What undoes a timeout by it must not take the time until
/// then for a round trip: three timeouts of a minute ended this connection.
#[test]
fn undone_timeouts_do_not_lengthen_the_next_ones_without_end() {
    let common = E2tcpConfig {
        payload: 1000,
        after_timeout: 1,
        error_limit: 0,
        increase: Increase::PerWindow,
        counted: Counted::Travelling,
        infer_relost: false,
        burst_reaction: BurstReaction::Windows,
        back_off: false,
        ack_every: 1,
        selective: false,
        receive_window: 65_535,
        receive_buffer: 98_302,
        window_field: WindowField::Replaces,
        linger: Span::from_secs(60),
        ..E2tcpConfig::default()
    };
    let first = E2tcpConfig {
        searches_payload: true,
        min_window: 1,
        max_window: 2,
        learn_window: true,
        initial_sequence: Seq::new(436_808_718),
        ..common.clone()
    };
    let second = E2tcpConfig {
        searches_payload: false,
        min_window: 15,
        max_window: 16,
        learn_window: false,
        reliability: 0,
        undoes_timeouts: true,
        initial_sequence: Seq::new(3_304_705_072),
        ..common
    };
    let (configs, lens) = ([first, second], [13_001, 31_001]);
    let pair =
        exchange(&configs, lens, 18_380_515_448_820_781_232, Badness { lose: 247, double: 50, delay: 0 });
    check(&pair, &configs, lens);
}

#[test]
fn a_long_transfer_with_the_default_settings() {
    let configs = [plain(), plain()];
    for seed in 0..5 {
        let badness = Badness { lose: 100, double: 10, delay: 0 };
        let pair = exchange(&configs, [500_000, 100_000], seed, badness);
        check(&pair, &configs, [500_000, 100_000]);
    }
}

/// The peer does not know the window, because its field is lost as often as it is sent. Data and FIN beyond the window
/// make the receiver repeat the field, and a probe finds out in any case.
#[test]
fn a_lost_window_field_stalls_no_end() {
    for seed in 0..200 {
        let a = E2tcpConfig { payload: 1484, selective: false, linger: Span::from_secs(60), ..plain() };
        let b = E2tcpConfig { receive_window: 1979, receive_buffer: 2968, ..a.clone() };
        let configs = [a, b];
        let pair = exchange(&configs, [8905, 2001], seed, Badness { lose: 267, double: 0, delay: 0 });
        check(&pair, &configs, [8905, 2001]);
    }
}

/// The window seems closed to an end whose peer only waits for its last data: probes and their answers are lost in
/// turn, for minutes. With probes a minute apart, three minutes of silence were over after a few probes.
#[test]
fn an_unlucky_path_is_no_reason_to_give_up() {
    for seed in [3314, 3771, 10_078] {
        let a = E2tcpConfig {
            payload: 1242,
            min_window: 1,
            max_window: 2,
            after_timeout: 1,
            error_limit: 0,
            increase: Increase::PerWindow,
            selective: false,
            receive_window: 1241,
            receive_buffer: 1861,
            linger: Span::from_secs(60),
            ..plain()
        };
        let b = E2tcpConfig { receive_window: 65_535, receive_buffer: 98_302, ..a.clone() };
        let configs = [a, b];
        let pair = exchange(&configs, [4001, 2484], seed, Badness { lose: 258, double: 86, delay: 0 });
        check(&pair, &configs, [4001, 2484]);
    }
}
