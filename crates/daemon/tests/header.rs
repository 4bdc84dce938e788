//! The C form of the detector (`bpf/ackloss.h`, built for this host) against the Rust form: by the decision vectors that both
//! are held to, and by random sequences of events.

#![allow(missing_docs, reason = "tests")]

mod host;

use airwatt_base::RandomStream;
use airwatt_proto::cc::{
    AckLoss, AckLossConfig, AckLossRule, AckLossState, Advance, Counting, SegmentsPerAck,
};
use airwatt_proto::cc::{StretchConfig, TimestampEvidence};
use host::{Config, Detector};
use proptest::prelude::*;

fn c_config(config: &AckLossConfig) -> Config {
    let (stretch, shares) = match config.rule {
        AckLossRule::Published => (0, StretchConfig::default()),
        AckLossRule::Stretch(shares) => (1, shares),
    };
    Config {
        threshold: config.threshold,
        fixed_b: match config.segments_per_ack {
            SegmentsPerAck::Estimated => 0,
            SegmentsPerAck::Fixed(b) => b,
        },
        beta_shift: config.beta_shift,
        listing: u8::from(config.counting == Counting::Listing),
        stretch,
        regular_sixteenths: shares.regular_sixteenths,
        single_sixteenths: shares.single_sixteenths,
        ..Config::default()
    }
}

/// The Rust form's state as the C form has it: positions and counters of 32 bits.
fn narrow(state: &AckLossState) -> [u64; 14] {
    let low = |value: u64| value & 0xffff_ffff;
    [
        state.smoothed,
        state.b,
        low(state.count),
        u64::from(state.data_loss),
        u64::from(state.waiting),
        low(state.round_end),
        low(state.recover),
        state.regular,
        state.single,
        state.proven,
        u64::from(state.pending),
        low(state.losses),
        low(state.gaps),
        low(state.halvings),
    ]
}

const SEGMENT: u64 = 1000;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// Bytes acknowledged, window in bytes behind it, duplicates, what the timestamp tells.
    Ack(u64, u64, u32, u32),
    DataLoss,
    Timeout,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let bytes = prop_oneof![
        10 => Just(SEGMENT),
        10 => Just(2 * SEGMENT),
        4 => (1..50_u64).prop_map(|segments| segments * SEGMENT),
        2 => 1..5000_u64,
        1 => 1..100_000_000_u64,
    ];
    let ack = (
        bytes,
        1..200_u64,
        prop_oneof![8 => Just(0_u32), 2 => 0..300_u32],
        prop_oneof![4 => Just(0_u32), 1 => 1..4_u32],
    );
    let event = prop_oneof![
        30 => ack.prop_map(|(bytes, window, duplicates, number)| Event::Ack(bytes, window * SEGMENT, duplicates, number)),
        1 => Just(Event::DataLoss),
        1 => Just(Event::Timeout),
    ];
    prop::collection::vec(event, 1..400)
}

fn configs() -> impl Strategy<Value = AckLossConfig> {
    let b =
        prop_oneof![3 => Just(SegmentsPerAck::Estimated), 1 => (1..1000_u32).prop_map(SegmentsPerAck::Fixed)];
    let stretch = (0..=16_u8, 0..=16_u8).prop_map(|(regular_sixteenths, single_sixteenths)| {
        AckLossRule::Stretch(StretchConfig { regular_sixteenths, single_sixteenths })
    });
    let rule = prop_oneof![
        1 => Just(AckLossRule::Published),
        1 => Just(AckLossRule::Stretch(StretchConfig::default())),
        1 => stretch,
    ];
    let counting = prop_oneof![Just(Counting::PerAck), Just(Counting::Listing)];
    (1..20_u32, 1..=10_u8, b, counting, rule).prop_map(
        |(threshold, beta_shift, segments_per_ack, counting, rule)| AckLossConfig {
            threshold,
            beta_shift,
            segments_per_ack,
            counting,
            rule,
        },
    )
}

/// Both forms through the same events; panics where they part.
fn compare(config: AckLossConfig, mss: u32, origin: u64, events: &[Event]) {
    let mut rust = AckLoss::new(config, mss);
    let mut c = Detector::new(c_config(&config), origin as u32);
    let (mut una, mut sent) = (origin, origin);
    for (index, event) in events.iter().enumerate() {
        let halve = match *event {
            Event::Ack(bytes, window, duplicates, number) => {
                let from = una;
                una += bytes;
                sent = sent.max(una + window);
                let evidence = [
                    TimestampEvidence::Absent,
                    TimestampEvidence::Lost,
                    TimestampEvidence::Stretched,
                    TimestampEvidence::Undecided,
                ][number as usize];
                let halve = rust.on_ack(Advance { from, to: una, sent, duplicates, evidence });
                assert_eq!(
                    c.on_ack(una as u32, sent as u32, mss, duplicates, number),
                    halve,
                    "event {index}"
                );
                halve
            }
            Event::DataLoss => {
                rust.on_data_loss(sent);
                c.on_data_loss(sent as u32);
                false
            }
            Event::Timeout => {
                rust.on_timeout(sent);
                c.on_timeout(sent as u32);
                false
            }
        };
        let mut expected = narrow(&rust.state());
        let found = c.columns();
        // Positions that were never set differ by where the connection began, and mean nothing.
        for at in [5, 6] {
            if expected[at] == 0 {
                expected[at] = found[at];
            }
        }
        assert_eq!(found, expected, "event {index}: {event:?}, halve {halve}");
    }
}

/// The test profile is slow; `make test-long` has an optimized build.
const CASES: u32 = if cfg!(debug_assertions) { 400 } else { 4000 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn both_forms_decide_alike(config in configs(), mss in 1..3000_u32, events in events()) {
        compare(config, mss, 1, &events);
    }

    #[test]
    fn positions_may_wrap(config in configs(), events in events()) {
        compare(config, 1000, (1 << 32) - 100_000, &events);
    }

    #[test]
    fn both_forms_read_timestamps_alike(first: u32, last in 0..4_u32, echo in 0..4_u32, far: u32) {
        for (last, echo) in [(first.wrapping_add(last), first.wrapping_add(echo).wrapping_sub(1)), (far, last)] {
            prop_assert_eq!(host::evidence(first, last, echo), TimestampEvidence::from_ticks(first, last, echo) as u32);
        }
    }
}

/// Positions four times around, as a long transfer has them, with losses seldom enough that a recovery's position is behind by
/// more than half the space.
#[test]
fn a_long_transfer_is_seen_to_its_end() {
    let config =
        AckLossConfig { rule: AckLossRule::Stretch(StretchConfig::default()), ..AckLossConfig::default() };
    let mut stream = RandomStream::new(1, "test/long");
    let events: Vec<_> = (0..20_000)
        .map(|index| match stream.below(200) {
            0 if index < 200 => Event::DataLoss,
            1 => Event::Ack(4 * SEGMENT, 900_000, 0, 1),
            _ => Event::Ack(900 * SEGMENT, 900_000, 0, 0),
        })
        .collect();
    compare(config, SEGMENT as u32, 1, &events);
}

#[test]
fn the_vectors_hold() {
    let text = include_str!("../../../tests/vectors/ackloss.csv");
    let mut detector = None;
    let mut mss = 0;
    let mut rows = 0;
    for (number, row) in text.lines().enumerate().filter(|(_, row)| !row.starts_with('#')) {
        let (event, fields) = row.split_once(',').expect("an event and fields");
        let fields: Vec<u64> = fields.split(',').map(|field| field.parse().expect("a number")).collect();
        if event == "S" {
            mss = fields[0] as u32;
            let config = Config {
                threshold: fields[1] as u32,
                beta_shift: fields[2] as u8,
                fixed_b: fields[3] as u32,
                listing: fields[4] as u8,
                stretch: fields[5] as u8,
                regular_sixteenths: fields[6] as u8,
                single_sixteenths: fields[7] as u8,
                ..Config::default()
            };
            detector = Some(Detector::new(config, 1));
            continue;
        }
        let detector = detector.as_mut().expect("a connection began");
        let (to, sent, duplicates, evidence) =
            (fields[1] as u32, fields[2] as u32, fields[3] as u32, fields[4] as u32);
        let halve = match event {
            "A" => detector.on_ack(to, sent, mss, duplicates, evidence),
            "L" => {
                detector.on_data_loss(sent);
                false
            }
            _ => {
                detector.on_timeout(sent);
                false
            }
        };
        let mut expected = fields[5..18].to_vec();
        let found = detector.columns();
        // `recover` before the first data loss: 0 there, where the connection began here.
        if expected[6] == 0 {
            expected[6] = found[6];
        }
        assert_eq!(
            (&found[..13], u64::from(halve)),
            (expected.as_slice(), fields[18]),
            "line {}",
            number + 1
        );
        rows += 1;
    }
    assert!(rows > 2000, "{rows}");
}
