//! Tests of the machine contract with scripted and with arbitrary inputs, and tests that garbage delivers no wrong
//! byte.

use airwatt_base::testkit::check_machine;
use proptest::prelude::*;

use super::*;
use crate::tcp::Lengths;

fn at(millis: u64, input: Input) -> (Instant, Input) {
    (Instant::from_millis(millis), input)
}

fn packet(header: Header, len: u16) -> Input {
    Input::Packet(E2tcpPacket { header, len }, ())
}

fn ack(number: u32) -> Header {
    Header { acknowledgement: Some(Acknowledgement::plain(Seq::new(number))), ..Header::new(0) }
}

fn data(last: u32) -> Header {
    Header { sequence: Some(Seq::new(last)), ..Header::new(0) }
}

#[test]
fn an_end_keeps_the_contract() {
    let inputs = [
        at(0, Input::Write(30_000)),
        at(100, packet(ack(1000), 0)),
        at(110, packet(ack(3000), 0)),
        at(400, packet(data(2000), 1000)),
        at(900, packet(Header { window: Some(0), ..ack(5000) }, 0)),
        at(4000, packet(Header { window: Some(9000), ..ack(5000) }, 0)),
        at(4100, Input::Close),
    ];
    let make = || Connection::<Lengths>::established(plain(), &plain(), 0);
    let done = check_machine(make, &inputs, Instant::from_secs(2000));
    assert_eq!(done.last().map(|(_, output)| *output), Some(Output::Event(Event::TimedOut)));
}

fn any_seq() -> impl Strategy<Value = Seq> {
    prop_oneof![8 => (0_u32..40).prop_map(|n| n * 500), 1 => any::<u32>()].prop_map(Seq::new)
}

prop_compose! {
    fn any_header()(
        id in prop_oneof![9 => Just(0_u8), 1 => any::<u8>()],
        control in prop_oneof![8 => Just(0_u8), 1 => 1_u8..4],
        sequence in prop::option::of(any_seq()),
        number in prop::option::of(any_seq()),
        blocks in any::<[(u16, u16); 2]>(),
        with_blocks in any::<bool>(),
        window in prop::option::weighted(0.2, any::<u16>()),
        urgent in prop::option::weighted(0.1, any::<u16>()),
        addressed in prop::bool::weighted(0.2),
    ) -> Header {
        let block = |(begin, len): (u16, u16), after: Seq| {
            let first = after + 2 + u32::from(begin % 4000);
            Some(Block { first, last: first + u32::from(len % 4000) }).filter(|_| with_blocks)
        };
        let acknowledgement = number.map(|number| {
            let first = block(blocks[0], number);
            let blocks = [first, first.and_then(|first| block(blocks[1], first.last))];
            Acknowledgement { number, blocks }
        });
        let control = [ControlFlags::NONE, ControlFlags::SYN, ControlFlags::FIN, ControlFlags::RST][usize::from(control)];
        let addresses = Some(IpVersion::V4).filter(|_| addressed || control.syn());
        Header { connection: id, addresses, control, sequence, urgent, acknowledgement, window, reliability: None }
    }
}

fn any_input() -> impl Strategy<Value = Input> {
    let len = prop_oneof![Just(0_u16), Just(1000), any::<u16>()];
    prop_oneof![
        12 => (any_header(), len).prop_map(|(header, len)| {
            let plain = header.control == ControlFlags::NONE && header.sequence.is_some();
            packet(header, if plain { len } else { 0 })
        }),
        3 => (0_u64..40_000).prop_map(Input::Write),
        2 => (0_u64..5_000).prop_map(Input::Read),
        1 => Just(Input::Urgent),
        1 => Just(Input::Close),
        1 => Just(Input::Open),
        1 => Just(Input::Listen),
    ]
}

fn in_time(inputs: Vec<(u64, Input)>) -> Vec<(Instant, Input)> {
    let mut now = 0;
    let spread = inputs.into_iter().map(|(gap, input)| {
        // The gaps have every scale: bursts, round trips, timeouts.
        now += gap * gap / 1000;
        at(now, input)
    });
    spread.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// No packets of a hostile peer and no user calls cause a panic or violate the contract.
    #[test]
    fn any_inputs_keep_the_contract(
        inputs in prop::collection::vec((0_u64..3000, any_input()), 1..60),
        established in any::<bool>(),
        detector in any::<bool>(),
        reliability in 0_u8..=100,
    ) {
        let inputs = in_time(inputs);
        let burst_reaction =
            if detector { BurstReaction::Detector(DetectorConfig::default()) } else { BurstReaction::Windows };
        let config = E2tcpConfig { reliability, burst_reaction, read_at_once: false, ..plain() };
        let make = || -> Connection {
            if established {
                Connection::established(config.clone(), &config, 0)
            } else {
                Connection::new(config.clone(), 0, IpVersion::V4)
            }
        };
        let end = inputs.last().map_or(Instant::ZERO, |(at, _)| *at) + Span::from_secs(5000);
        check_machine(make, &inputs, end);
    }

    /// A table obeys the contract as well, and never loses an identifier.
    #[test]
    fn a_table_keeps_the_contract(
        inputs in prop::collection::vec((0_u64..3000, any_header(), 0_u8..12), 1..60),
    ) {
        let mut now = 0;
        let inputs: Vec<_> = inputs.into_iter().map(|(gap, header, kind)| {
            now += gap * gap / 1000;
            let other = Addresses::new(endpoint(1, u16::from(kind)), endpoint(2, 80)).expect("both are IPv4");
            let input = match kind {
                0 => TableInput::Open(addresses()),
                1 => TableInput::Listen(endpoint(1, 4000)),
                2..=4 => TableInput::Open(other),
                _ => {
                    let theirs = header.addresses.map(|_| addresses().swapped());
                    TableInput::Packet(E2tcpPacket { header, len: 0 }, theirs, ())
                }
            };
            (Instant::from_millis(now), input)
        }).collect();
        let make = || ConnectionTable::<Lengths, Lengths>::new(TableConfig::default());
        check_machine(make, &inputs, Instant::from_millis(now) + Span::from_secs(5000));
    }

    /// A transfer survives damaged packets, packets of other connections and stale ones: none of them is delivered as
    /// data.
    #[test]
    fn garbage_delivers_no_byte(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 1..20),
        stale_id in 1_u8..=255,
    ) {
        let mut pair = Pair::established(&plain(), &plain());
        pair.input(A, Input::Write(pattern(30_000)));
        let mut steps = 0;
        while pair.step(Instant::FOREVER) {
            steps += 1;
            let copies: Vec<_> = pair.path.values().take(1).cloned().collect();
            for (whose, bytes) in copies {
                let (at, bit) = damage[steps % damage.len()];
                let mut damaged = bytes.clone();
                damaged[at.index(bytes.len())] ^= 1 << bit;
                prop_assert!(Header::decode(&damaged).is_err());
                // Sends the same packet for another connection, and one of an earlier connection with the same
                // identifier.
                let (header, _, payload) = Header::decode(&bytes).expect("our own");
                let far = |seq: Seq| seq + (1 << 20) + u32::from(stale_id);
                let stale = Header {
                    sequence: header.sequence.map(far),
                    acknowledgement: header.acknowledgement.map(|ack| Acknowledgement::plain(far(ack.number))),
                    ..header
                };
                let len = payload.len() as u16;
                for header in [Header { connection: stale_id, ..header }, stale] {
                    pair.input(1 - whose, Input::Packet(E2tcpPacket { header, len }, vec![0xee; payload.len()]));
                }
            }
        }
        prop_assert_eq!(&pair.streams[B].bytes, &pattern(30_000));
    }
}
