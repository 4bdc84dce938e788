//! Tests of the machine contract with scripted and with arbitrary inputs.

use airwatt_base::Seq;
use airwatt_base::settings::Settings;
use airwatt_base::testkit::check_machine;
use proptest::prelude::*;

use super::*;

fn at(millis: u64, input: Input) -> (Instant, Input) {
    (Instant::from_millis(millis), input)
}

fn segment(seq: u32, ack: u32, window: u32, len: u16, flags: Flags) -> Input {
    Input::Segment(
        Segment {
            seq: Seq::new(seq),
            ack: Seq::new(ack),
            window,
            len,
            flags,
            ecn: Ecn::NONE,
            sack: SackBlocks::NONE,
            timestamps: None,
        },
        (),
    )
}

#[test]
fn an_active_end_keeps_the_contract() {
    let inputs = [
        at(0, Input::Open),
        at(5, Input::Write(30_000)),
        at(1500, segment(700, 1, 4000, 0, Flags::SYN | Flags::ACK)),
        at(1600, segment(701, 1001, 4000, 0, Flags::ACK)),
        at(1610, segment(701, 1001, 4000, 0, Flags::ACK)),
        at(1620, segment(701, 1001, 4000, 0, Flags::ACK)),
        at(1630, segment(701, 1001, 4000, 0, Flags::ACK)),
        at(4000, segment(701, 3001, 0, 0, Flags::ACK)),
        at(9000, segment(701, 3001, 9000, 500, Flags::ACK)),
        at(9000, Input::Close),
        at(9100, segment(1201, 6001, 60_000, 0, Flags::FIN | Flags::ACK)),
    ];
    let done = check_machine(|| Connection::<Lengths>::new(plain()), &inputs, Instant::from_secs(2000));
    assert_eq!(done.last().map(|(_, output)| *output), Some(Output::Event(Event::TimedOut)));
}

#[test]
fn a_passive_end_keeps_the_contract() {
    let config = || TcpConfig { delayed_ack: Some(DelayedAck::default()), ..plain() };
    let inputs = [
        at(0, Input::Listen),
        at(10, segment(9, 0, 5000, 0, Flags::SYN)),
        at(1200, segment(10, 1, 5000, 100, Flags::ACK)),
        at(1300, segment(1110, 1, 5000, 1000, Flags::ACK)),
        at(1301, segment(110, 1, 5000, 1000, Flags::ACK)),
        at(1310, segment(2110, 1, 5000, 1000, Flags::ACK)),
        at(1400, Input::Write(1)),
        at(1420, segment(3110, 2, 5000, 0, Flags::ACK | Flags::FIN)),
        at(1500, Input::Close),
        at(1520, segment(3111, 3, 5000, 0, Flags::ACK)),
    ];
    let done = check_machine(|| Connection::<Lengths>::new(config()), &inputs, Instant::from_secs(100));
    assert_eq!(done.last().map(|(_, output)| *output), Some(Output::Event(Event::Closed)));
}

fn any_flags() -> impl Strategy<Value = Flags> {
    prop_oneof![
        12 => Just(Flags::ACK),
        2 => Just(Flags::ACK | Flags::FIN),
        1 => Just(Flags::SYN),
        1 => Just(Flags::SYN | Flags::ACK),
        1 => Just(Flags::RST),
        1 => any::<u8>().prop_map(Flags::from_wire),
    ]
}

/// Sequence numbers that are mostly near the expected one, and sometimes arbitrary.
fn near() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0_u32..20_000, 1 => any::<u32>()]
}

fn any_segment() -> impl Strategy<Value = Input> {
    let len = prop_oneof![3 => Just(0_u16), 3 => Just(1000), 1 => any::<u16>()];
    let window = prop_oneof![3 => Just(50_000_u32), 1 => Just(0), 1 => any::<u32>()];
    let blocks = prop::collection::vec((near(), near()), 0..4);
    (near(), near(), window, len, any_flags(), blocks).prop_map(|(seq, ack, window, len, flags, blocks)| {
        let grid = |number: u32| number / 500 * 500 + 1;
        let Input::Segment(mut segment, ()) = segment(grid(seq), grid(ack), window, len, flags) else {
            unreachable!()
        };
        for (start, end) in blocks {
            segment.sack.push(Seq::new(grid(start)), Seq::new(grid(end)));
        }
        Input::Segment(segment, ())
    })
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        12 => any_segment(),
        3 => (0_u64..40_000).prop_map(Input::Write),
        2 => (0_u64..5_000).prop_map(Input::Read),
        1 => Just(Input::Close),
        1 => Just(Input::Open),
        1 => Just(Input::Listen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// No segments of a hostile peer and no user calls cause a panic or violate the contract.
    #[test]
    fn any_inputs_keep_the_contract(
        inputs in prop::collection::vec((0_u64..3000, any_input()), 1..60),
        established in any::<bool>(),
        congestion in prop::sample::select(Algorithm::ALL),
        limited_transmit in any::<bool>(),
        coarse in any::<bool>(),
        read_at_once in any::<bool>(),
        reliability in prop_oneof![Just(100_u8), 0_u8..=100],
        ackloss in any::<bool>(),
    ) {
        let mut now = 0;
        let inputs: Vec<_> = inputs.into_iter().map(|(gap, input)| {
            // The gaps have every scale: bursts, round trips, timeouts.
            now += gap * gap / 1000;
            at(now, input)
        }).collect();
        let config = TcpConfig {
            read_at_once,
            reliability,
            ackloss: ackloss.then(Default::default),
            congestion,
            limited_transmit,
            rto_clock: if coarse { COARSE } else { RtoClock::Fine },
            delayed_ack: Some(DelayedAck::default()),
            ..plain()
        };
        let make = || -> Connection {
            if established {
                Connection::established(config.clone(), &config)
            } else {
                Connection::new(config.clone())
            }
        };
        check_machine(make, &inputs, Instant::from_millis(now) + Span::from_secs(5000));
    }
}

#[test]
fn segments_are_small_and_print_like_tcpdump() {
    assert_eq!(size_of::<Segment>(), 48);
    assert!(size_of::<Output>() <= 56);
    let Input::Segment(printed, ()) = segment(1, 2, 3, 4, Flags::ACK | Flags::PSH) else { unreachable!() };
    assert_eq!(printed.to_string(), "P. 1:5(4) ack 2 win 3");
    assert_eq!(TcpConfig::default().packet_bytes(&printed), 44);
    let mut telling = Segment { len: 0, ..printed };
    for (count, block) in [(1, (10, 20)), (2, (30, 40)), (3, (50, 60))] {
        assert!(telling.sack.push(Seq::new(block.0), Seq::new(block.1)));
        // RFC 2018 section 3: 8n + 2 bytes, and two of padding.
        assert_eq!(TcpConfig::default().packet_bytes(&telling), 40 + 8 * count + 4);
    }
    assert!(!telling.sack.push(Seq::new(70), Seq::new(80)), "no room for a fourth");
    assert_eq!(telling.to_string(), "P. 1:1(0) ack 2 win 3 sack <10:20 30:40 50:60>");
}

#[test]
fn settings_out_of_range_are_named() {
    let wrong = |config: TcpConfig| config.check().expect_err("wrong").to_string();
    assert_eq!(TcpConfig::default().check(), Ok(()));
    assert!(wrong(TcpConfig { mss: 0, ..plain() }).starts_with("mss: expected 1 to 65535"));
    assert!(wrong(TcpConfig { receive_window: 0, ..plain() }).starts_with("receive_window"));
    assert!(wrong(TcpConfig { min_rto: Span::ZERO, ..plain() }).starts_with("min_rto"));
    assert!(wrong(TcpConfig { initial_ssthresh: Some(1), ..plain() }).starts_with("initial_ssthresh"));
    let delayed_ack = Some(DelayedAck { every: 2, timeout: Span::from_secs(1) });
    assert!(wrong(TcpConfig { delayed_ack, ..plain() }).contains("at most 500ms"));
}
