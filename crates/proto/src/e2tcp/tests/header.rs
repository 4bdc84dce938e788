//! Tests of the encoded header: sizes and worked examples of the thesis, rejected headers, and round trips.

use std::net::Ipv6Addr;

use proptest::prelude::*;

use super::*;

fn seq(value: u32) -> Seq {
    Seq::new(value)
}

fn block(first: u32, last: u32) -> Option<Block> {
    Some(Block { first: seq(first), last: seq(last) })
}

fn bytes(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header.encode(Some(addresses()), payload, &mut out);
    assert_eq!(out.len(), header.bytes() + payload.len());
    out
}

fn acknowledging(number: u32, blocks: [Option<Block>; 2]) -> Header {
    Header { acknowledgement: Some(Acknowledgement { number: seq(number), blocks }), ..Header::new(5) }
}

#[test]
fn data_of_connection_5_up_to_byte_1000() {
    let header = Header { sequence: Some(seq(1000)), ..Header::new(5) };
    let packet = bytes(&header, &[0; 1000]);
    assert_eq!(packet[..6], [0x10, 0x05, 0x00, 0x00, 0x03, 0xe8]);
    // The words 1005, 0000 and 03e8 sum to 13ed; the payload adds nothing.
    assert_eq!(packet[6..8], (!0x13ed_u16).to_be_bytes());
}

#[test]
fn acknowledgements_of_connection_5() {
    // Bytes 1 to 5 and 8 to 9 were received.
    let one = bytes(&acknowledging(5, [block(8, 9), None]), &[]);
    assert_eq!(one[..10], [0x04, 0x05, 0, 0, 0, 5, 0, 1, 0, 1]);
    assert_eq!(one.len(), 12);
    let none = bytes(&acknowledging(5, [None, None]), &[]);
    assert_eq!((none[0], none.len()), (0x02, 8));
    // Bytes 1 to 5, 8 to 9, and 11 were received.
    let two = bytes(&acknowledging(5, [block(8, 9), block(11, 11)]), &[]);
    assert_eq!((two[0], two.len()), (0x06, 16));
    assert_eq!(two[6..14], [0, 1, 0, 1, 0, 0, 0, 0]);
    // Bytes 1 to 4 and 6 were received.
    assert_eq!(bytes(&acknowledging(4, [block(6, 6), None]), &[])[6..10], [0, 0, 0, 0]);
}

#[test]
fn sizes_are_those_of_the_thesis() {
    let data = Header { sequence: Some(seq(1)), ..Header::new(0) };
    assert_eq!(data.bytes(), 8);
    assert_eq!(acknowledging(1, [None, None]).bytes(), 8);
    assert_eq!(acknowledging(1, [block(3, 4), None]).bytes(), 12);
    assert_eq!(acknowledging(1, [block(3, 4), block(6, 7)]).bytes(), 16);
    assert_eq!(Header { sequence: Some(seq(1)), ..acknowledging(1, [None, None]) }.bytes(), 12);
    let full = Header {
        addresses: Some(IpVersion::V4),
        control: ControlFlags::SYN,
        sequence: Some(seq(1)),
        urgent: Some(1),
        window: Some(1),
        ..acknowledging(1, [block(3, 4), block(6, 7)])
    };
    assert_eq!(full.bytes(), 37);
    let v6 = |last| Endpoint { ip: IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last)), port: 9 };
    let full_v6 = Header { addresses: Addresses::new(v6(1), v6(2)).map(|both| both.version()), ..full };
    assert_eq!(full_v6.bytes(), 61);
    assert_eq!(Addresses::new(v6(1), endpoint(1, 1)), None);
}

#[test]
fn a_syn_byte_by_byte() {
    let syn = Header {
        addresses: Some(IpVersion::V4),
        control: ControlFlags::SYN,
        sequence: Some(seq(0x0102_0304)),
        ..Header::new(3)
    };
    let packet = bytes(&syn, &[]);
    let want = [0x70, 0x02, 0x03, 10, 0, 0, 1, 10, 0, 0, 2, 0x0f, 0xa0, 0, 80, 1, 2, 3, 4];
    assert_eq!(packet[..19], want);
    assert_eq!(Header::decode(&packet), Ok((syn, Some(addresses()), &[][..])));
}

#[test]
fn blocks_wrap_with_the_sequence_numbers() {
    let header = acknowledging(u32::MAX - 3, [block(u32::MAX, 2), block(10, 20)]);
    let packet = bytes(&header, &[]);
    assert_eq!(packet[6..14], [0, 1, 0, 3, 0, 6, 0, 10]);
    assert_eq!(Header::decode(&packet).expect("decodes").0, header);
}

#[test]
fn blocks_that_do_not_fit_are_cut() {
    let decoded = |header: Header| Header::decode(&bytes(&header, &[])).expect("decodes").0.acknowledgement;
    let blocks = |header: Header| decoded(header).expect("acknowledges").blocks;
    assert_eq!(
        blocks(acknowledging(0, [block(2, 70_000), block(80_000, 80_001)])),
        [block(2, 65_537), block(80_000, 80_001)]
    );
    assert_eq!(blocks(acknowledging(0, [block(65_537, 65_538), None])), [block(65_537, 65_538), None]);
    assert_eq!(blocks(acknowledging(0, [block(65_538, 65_539), block(65_541, 65_541)])), [None, None]);
    // A block adjacent to the number before it is not encoded.
    assert_eq!(blocks(acknowledging(5, [block(6, 7), None])), [None, None]);
}

/// Sets the correct checksum.
fn sealed(mut packet: Vec<u8>, at: usize) -> Vec<u8> {
    packet.splice(at..at, [0, 0]);
    let words: Vec<u8> = packet.iter().copied().chain([0]).collect();
    let mut sum: u32 = words.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    packet.splice(at..at + 2, (!(sum as u16)).to_be_bytes());
    packet
}

#[test]
fn what_no_sender_makes_is_refused() {
    use HeaderError::{Checksum, Combination, Reserved, Truncated};
    let decode = |packet: &[u8]| Header::decode(packet).map(|(header, ..)| header);
    assert_eq!(decode(&[]), Err(Truncated { needed: 1, have: 0 }));
    assert_eq!(decode(&[0x10, 5, 0, 0]), Err(Truncated { needed: 6, have: 4 }));
    assert_eq!(decode(&sealed(vec![0x80, 5], 2)), Err(Reserved));
    for bit in [0x80, 0x40, 0x20, 0x10, 0x08] {
        assert_eq!(decode(&sealed(vec![0x52, bit | 1, 5, 0, 0, 0, 1, 0, 0, 0, 1], 11)), Err(Reserved));
    }
    let refused = |packet: Vec<u8>, at| match decode(&sealed(packet, at)) {
        Err(Combination(what)) => what,
        other => panic!("{other:?}"),
    };
    assert!(refused(vec![0x42, 0x00, 5, 0, 0, 0, 1], 7).contains("without a flag"));
    assert!(refused(vec![0x50, 0x02, 5, 0, 0, 0, 1], 7).contains("SYN without addresses"));
    assert!(refused(vec![0x50, 0x03, 5, 0, 0, 0, 1], 7).contains("more than one"));
    assert!(refused(vec![0x50, 0x01, 5, 0, 0, 0, 1, 9], 7).contains("payload with"));
    assert!(refused(vec![0x02, 5, 0, 0, 0, 1, 9], 6).contains("sequence number"));
    assert!(refused(vec![0x10, 5, 0, 0, 0, 1], 6).contains("sequence number"));
    assert!(refused(vec![0x0a, 5, 0, 3, 0, 0, 0, 1], 8).contains("urgent"));
    assert!(refused(vec![0x01, 5, 0, 3], 4).contains("window"));
    let mut damaged = bytes(&acknowledging(5, [None, None]), &[]);
    damaged[1] ^= 1;
    assert_eq!(decode(&damaged), Err(Checksum));
    assert_eq!(Checksum.to_string(), "wrong checksum");
}

/// The corpus of the fuzzer, by name: the first of these decode, and the others are rejected.
#[test]
fn the_corpus_is_read_or_refused() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/e2tcp_header");
    let entries = std::fs::read_dir(place).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let mut decoded = Vec::new();
    for path in &paths {
        let packet = std::fs::read(path).expect("readable");
        super::replay(&packet);
        if Header::decode(&packet).is_ok() {
            decoded.push(path.file_name().and_then(|name| name.to_str()).unwrap_or_default());
        }
    }
    assert!(paths.len() >= 25, "{} files", paths.len());
    for name in ["ack-two-blocks", "data-odd", "fin", "reset-v4", "syn-v4", "syn-v6", "wrapping-blocks"] {
        assert!(decoded.contains(&name), "{name} decodes");
    }
    for name in ["cut-addresses", "empty", "reserved-extra", "reserved-r", "syn-and-fin", "wrong-checksum"] {
        assert!(!decoded.contains(&name), "{name} is refused");
    }
}

#[test]
fn tcp_counts_from_the_first_byte() {
    // The packet holds bytes 5 to 8.
    assert_eq!(first_sequence(seq(8), 4), seq(5));
}

fn any_endpoint(v6: bool) -> impl Strategy<Value = Endpoint> {
    any::<(u128, u16)>().prop_map(move |(ip, port)| {
        let ip = if v6 { IpAddr::V6(Ipv6Addr::from(ip)) } else { IpAddr::V4(Ipv4Addr::from(ip as u32)) };
        Endpoint { ip, port }
    })
}

fn any_addresses() -> impl Strategy<Value = Addresses> {
    any::<bool>()
        .prop_flat_map(|v6| (any_endpoint(v6), any_endpoint(v6)))
        .prop_map(|(a, b)| Addresses::new(a, b).expect("of one version"))
}

fn any_acknowledgement() -> impl Strategy<Value = Acknowledgement> {
    (any::<u32>(), any::<[u16; 4]>(), 0_usize..3).prop_map(|(number, parts, count)| {
        let first = seq(number) + 2 + u32::from(parts[0]);
        let last = first + u32::from(parts[1]);
        let second = last + 2 + u32::from(parts[2]);
        let blocks = [
            Some(Block { first, last }).filter(|_| count > 0),
            Some(Block { first: second, last: second + u32::from(parts[3]) }).filter(|_| count > 1),
        ];
        Acknowledgement { number: seq(number), blocks }
    })
}

prop_compose! {
    fn any_packet()(
        connection in any::<u8>(),
        addresses in prop::option::of(any_addresses()),
        control in 0_u8..4,
        sequence in any::<u32>(),
        urgent in prop::option::of(any::<u16>()),
        acknowledgement in prop::option::of(any_acknowledgement()),
        window in prop::option::of(any::<u16>()),
        level in prop::option::of(0_u8..=100),
        payload in prop::collection::vec(any::<u8>(), 0..50),
    ) -> (Header, Option<Addresses>, Vec<u8>) {
        let control = [ControlFlags::NONE, ControlFlags::SYN, ControlFlags::FIN, ControlFlags::RST][usize::from(control)];
        let control = if control.syn() && addresses.is_none() { ControlFlags::NONE } else { control };
        let payload = if control == ControlFlags::NONE { payload } else { Vec::new() };
        let takes = !payload.is_empty() || control.syn() || control.fin();
        let header = Header {
            connection,
            addresses: addresses.map(|both| both.version()),
            control,
            sequence: Some(seq(sequence)).filter(|_| takes),
            urgent: urgent.filter(|_| !payload.is_empty()),
            acknowledgement,
            window: window.filter(|_| acknowledgement.is_some() || control.syn()),
            reliability: level.and_then(Level::new).filter(|_| control.syn()),
        };
        (header, addresses, payload)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Encoded packets decode to the same header and payload; a truncated packet or one with a damaged byte does not
    /// decode.
    #[test]
    fn headers_survive_the_round_trip((header, addresses, payload) in any_packet(), cut in any::<prop::sample::Index>(),
        bit in 0_u8..8) {
        let mut packet = Vec::new();
        header.encode(addresses, &payload, &mut packet);
        prop_assert_eq!(packet.len(), header.bytes() + payload.len());
        prop_assert_eq!(Header::decode(&packet), Ok((header, addresses, &payload[..])));
        let at = cut.index(packet.len());
        prop_assert!(at >= header.bytes() || Header::decode(&packet[..at]).is_err());
        let mut damaged = packet;
        damaged[at] ^= 1 << bit;
        prop_assert!(Header::decode(&damaged).is_err());
    }

    /// Any bytes either decode, with exactly one encoding, or are rejected.
    #[test]
    fn any_bytes_are_read_or_refused(packet in prop::collection::vec(any::<u8>(), 0..80)) {
        super::replay(&packet);
    }

    /// The same, for bytes whose checksum is right.
    #[test]
    fn any_sealed_bytes_are_read_or_refused(packet in prop::collection::vec(any::<u8>(), 0..80), at in 2_usize..64) {
        if at <= packet.len() {
            super::replay(&sealed(packet, at));
        }
    }
}
