//! Tests of partial reliability: the bytes that are skipped, the notifications of the application, and the effect on a
//! sender.

use airwatt_base::Seq;
use airwatt_base::settings::Settings;
use proptest::prelude::*;

use super::*;
use crate::bad_path::{Badness, bad_path};

fn wants(reliability: u8) -> TcpConfig {
    TcpConfig { reliability, ..plain() }
}

/// The peer's stream as an application knows it from the events alone.
#[derive(Default)]
struct Told {
    /// Whether each byte arrived.
    arrived: Vec<bool>,
}

impl Told {
    fn of(events: &[Event]) -> Self {
        let mut told = Self::default();
        events.iter().for_each(|event| told.take(*event));
        told
    }

    fn take(&mut self, event: Event) {
        let end = self.arrived.len();
        match event {
            Event::Delivered { bytes } => self.arrived.resize(end + bytes as usize, true),
            Event::Gap { at, bytes } => {
                assert_eq!(at as usize, end, "gaps are told in order of the stream");
                self.arrived.resize(end + bytes as usize, false);
            }
            Event::Late { at, bytes } => {
                for place in &mut self.arrived[at as usize..(at + bytes) as usize] {
                    assert!(!*place, "only what is missing comes late");
                    *place = true;
                }
            }
            _ => {}
        }
    }

    fn missing(&self) -> u64 {
        self.arrived.iter().filter(|arrived| !**arrived).count() as u64
    }
}

/// Delivers segments of 1000 bytes by number to a receiver with this reliability in per cent.
fn fed(reliability: u8, numbers: impl IntoIterator<Item = u32>) -> Pair<InBytes> {
    let end = |config: &TcpConfig| Connection::established(config.clone(), &plain());
    let mut pair = Pair::new(end(&plain()), end(&wants(reliability)), millis(1));
    for number in numbers {
        feed(&mut pair, number);
    }
    pair
}

fn feed(pair: &mut Pair<InBytes>, number: u32) {
    let segment = Segment {
        seq: Seq::new((number - 1) * 1000 + 1),
        ack: Seq::new(1),
        window: 50_000,
        len: 1000,
        flags: Flags::ACK,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    };
    pair.input(B, Input::Segment(segment, vec![number as u8; 1000]));
}

/// The last acknowledgement that B sent, in segments.
fn acknowledged(pair: &Pair<InBytes>) -> u32 {
    (pair.ends[B].receiver.acknowledgement().value() - 1) / 1000
}

#[test]
fn at_90_per_cent_one_in_ten_may_be_missing() {
    let mut pair = fed(90, 2..=9);
    assert_eq!(acknowledged(&pair), 0, "8 of 9 are less than 90 per cent");
    feed(&mut pair, 10);
    assert_eq!(acknowledged(&pair), 10, "9 of 10 are enough");
    assert_eq!(pair.events[B], [Event::Gap { at: 0, bytes: 1000 }, Event::Delivered { bytes: 9000 }]);
    let read = pair.ends[B].front(u64::MAX);
    assert_eq!(read.len(), 10_000);
    assert_eq!((&read[..1000], read[1000], read[9999]), (&[0; 1000][..], 2, 10));
    let b = pair.ends[B].statistics();
    assert_eq!((b.bytes_delivered, b.bytes_skipped, b.bytes_late), (9000, 1000, 0));
    assert_eq!(pair.ladder.len(), 9, "each was acknowledged at once");
}

#[test]
fn the_limits_of_the_share() {
    assert_eq!(acknowledged(&fed(100, 2..=60)), 0, "at 100 nothing may be missing");
    assert_eq!(acknowledged(&fed(0, [50])), 50, "at 0 everything, even before anything has arrived");
    assert_eq!(acknowledged(&fed(1, [60])), 60, "1 of 60");
    assert_eq!(acknowledged(&fed(99, (1..50).chain(51..100))), 49, "98 of 99");
    assert_eq!(acknowledged(&fed(99, (1..50).chain(51..101))), 100, "99 of 100");
    let problem = wants(101).check().expect_err("more than all").to_string();
    assert_eq!(problem, "reliability: expected 0 to 100, got 101");
}

#[test]
fn a_gap_is_skipped_as_far_as_it_goes_in_whole_segments() {
    let mut pair = fed(50, [1, 6]);
    // Two segments have arrived, so two may be missing: 2 and 3.
    assert_eq!(acknowledged(&pair), 3);
    feed(&mut pair, 7);
    assert_eq!(acknowledged(&pair), 4);
    feed(&mut pair, 8);
    assert_eq!(acknowledged(&pair), 8);
    assert_eq!(Told::of(&pair.events[B]).missing(), 4000);
}

#[test]
fn what_was_skipped_and_arrives_is_handed_over_late_and_once() {
    let mut pair = fed(50, [1, 3]);
    assert_eq!(acknowledged(&pair), 3);
    feed(&mut pair, 2);
    assert_eq!(pair.events[B].last(), Some(&Event::Late { at: 1000, bytes: 1000 }));
    assert_eq!(pair.ends[B].late(), [(1000, vec![2; 1000])]);
    feed(&mut pair, 2);
    assert_eq!(pair.ends[B].late(), [], "what the last input brought");
    assert_eq!(Told::of(&pair.events[B]).missing(), 0);
    let read = pair.ends[B].front(u64::MAX);
    assert_eq!((read[0], read[1000], read[1999], read[2000]), (1, 2, 2, 3), "it finds its place");
    let b = pair.ends[B].statistics();
    assert_eq!((b.bytes_skipped, b.bytes_late), (0, 1000));
    // It counts as arrived: 4 of 7 suffice.
    feed(&mut pair, 7);
    assert_eq!(acknowledged(&pair), 7);
}

#[test]
fn a_gap_before_the_end_may_be_skipped() {
    let mut pair = fed(50, [1]);
    let fin = Segment {
        seq: Seq::new(2001),
        ack: Seq::new(1),
        window: 50_000,
        len: 0,
        flags: Flags::ACK | Flags::FIN,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    };
    pair.input(B, Input::Segment(fin, Vec::new()));
    assert_eq!(pair.events[B][1..], [Event::Gap { at: 1000, bytes: 1000 }, Event::PeerClosed]);
    assert_eq!(pair.ends[B].state(), State::CloseWait);
    assert_eq!(pair.ends[B].readable_bytes(), 2000);
    feed(&mut pair, 2);
    assert_eq!(pair.ends[B].late(), [(1000, vec![2; 1000])], "after the end, too");
    let read = pair.ends[B].front(u64::MAX);
    assert_eq!((read.len(), read[1000], read[1999]), (2000, 2, 2));
}

#[test]
fn late_data_with_an_impossible_acknowledgement_is_not_taken() {
    let mut pair = fed(50, [1, 3]);
    let segment = |ack, flags| Segment {
        seq: Seq::new(1001),
        ack: Seq::new(ack),
        window: 50_000,
        len: 1000,
        flags,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    };
    for forged in [segment(999_999, Flags::ACK), segment(1, Flags::NONE), segment(1, Flags::SYN | Flags::ACK)]
    {
        pair.input(B, Input::Segment(forged, vec![9; 1000]));
        assert_eq!(pair.ends[B].statistics().bytes_late, 0, "{forged}");
    }
}

/// The segments that A sent with their times, whatever their outcome.
fn sent_by_a(pair: &Pair<InLengths>) -> Vec<String> {
    let lines = pair.ladder.iter().filter(|line| line.contains("A>"));
    lines.map(|line| line.trim_end_matches(" /lost/").to_owned()).collect()
}

/// To a sender, skipped data looks like lost acknowledgements, and like nothing else.
#[test]
fn a_lost_segment_that_is_skipped_looks_like_a_lost_acknowledgement() {
    for congestion in Algorithm::ALL {
        let config = TcpConfig { congestion: *congestion, ..plain() };
        let transfer = |reliability, whose: usize| {
            let end = |config: &TcpConfig| Connection::established(config.clone(), &plain());
            let receiver = TcpConfig { reliability, ..config.clone() };
            let mut pair: Pair<InLengths> = Pair::new(end(&config), end(&receiver), millis(20))
                .with(move |who, n, _| if who == whose && n % 7 == 3 { Fate::Lose } else { Fate::Arrive });
            pair.input(A, Input::Write(499_000));
            pair.run_out();
            assert_eq!(pair.events[A], [Event::AllAcknowledged]);
            assert_eq!(pair.ends[A].statistics().segments_retransmitted, 0);
            pair
        };
        let (skipping, plain) = (transfer(0, A), transfer(100, B));
        assert_eq!(sent_by_a(&skipping), sent_by_a(&plain), "{}", congestion.name());
        assert_eq!(skipping.ends[B].statistics().bytes_skipped, 71_000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// On a path that loses, duplicates and reorders: the share holds at every moment, the events report exactly which
    /// bytes are missing, the others are correct, and both ends finish as usual.
    #[test]
    fn the_share_holds_and_every_gap_is_told(
        seed in any::<u64>(),
        len in 0_usize..60_000,
        reliability in prop_oneof![1 => Just(100_u8), 4 => 0_u8..100],
        (lose, double, delay) in (0_u32..200, 0_u32..100, 0_u32..200),
        mss in 100_u32..1500,
        receive_window in 500_u32..40_000,
        initial_sequence in any::<u32>(),
        congestion in prop::sample::select(Algorithm::ALL),
        delayed in any::<bool>(),
        reading in any::<bool>(),
    ) {
        let config = TcpConfig {
            mss,
            receive_window,
            initial_sequence: Seq::new(initial_sequence),
            delayed_ack: delayed.then(DelayedAck::default),
            congestion,
            give_up_after: 1000,
            syn_give_up_after: 1000,
            ..TcpConfig::default()
        };
        let badness = Badness { lose, double, delay };
        let receiver = Connection::new(TcpConfig { reliability, ..config.clone() });
        let mut pair: Pair<InBytes> =
            Pair::new(Connection::new(config), receiver, millis(20)).with(bad_path(seed, badness));
        let data: Vec<u8> = (0..len).map(|at| (at % 251) as u8 + 1).collect();
        pair.input(B, Input::Listen);
        pair.input(A, Input::Open);
        pair.input(A, Input::Write(data.clone()));
        pair.input(A, Input::Close);

        let (mut told, mut seen) = (Told::default(), 0);
        // The stream as received by an application that reads at once, and takes late bytes.
        let mut stream: Vec<u8> = Vec::new();
        let mut steps = 0;
        while pair.step(Instant::FOREVER) {
            steps += 1;
            prop_assert!(steps < 2_000_000, "never ends");
            pair.events[B][seen..].iter().for_each(|event| told.take(*event));
            if seen < pair.events[B].len() {
                for (at, piece) in pair.ends[B].late() {
                    let (at, known) = (*at as usize, stream.len());
                    if at < known {
                        let end = known.min(at + piece.len());
                        stream[at..end].copy_from_slice(&piece[..end - at]);
                    }
                }
            }
            seen = pair.events[B].len();
            let arrived = told.arrived.len() as u64 - told.missing();
            // Data beyond a gap counts for the share as well.
            let waiting: u64 = pair.ends[B].receiver.out_of_order.iter().map(|piece| piece.end - piece.start).sum();
            let total = told.arrived.len() as u64 + waiting;
            prop_assert!((arrived + waiting) * 100 >= u64::from(reliability) * total);
            let ready = pair.ends[B].readable_bytes();
            let closed = pair.events[B].contains(&Event::PeerClosed);
            if ready > 0 && (reading || closed || ready > u64::from(receive_window) / 2) {
                stream.extend(pair.ends[B].front(ready));
                pair.input(B, Input::Read(ready));
            }
            if closed {
                pair.input(B, Input::Close);
            }
        }
        prop_assert_eq!((stream.len(), told.arrived.len()), (len, len));
        for (at, arrived) in told.arrived.iter().enumerate() {
            prop_assert_eq!(stream[at], if *arrived { data[at] } else { 0 }, "byte {}", at);
        }
        let b = *pair.ends[B].statistics();
        prop_assert_eq!(b.bytes_skipped, told.missing());
        prop_assert_eq!(b.bytes_delivered + b.bytes_late + b.bytes_skipped, len as u64);
        prop_assert!(reliability < 100 || told.missing() == 0);
        prop_assert_eq!(pair.ends[A].unacknowledged_bytes(), 0);
        prop_assert_eq!(pair.ends[A].state(), State::Closed);
        prop_assert_eq!(pair.ends[B].state(), State::Closed);
    }
}
