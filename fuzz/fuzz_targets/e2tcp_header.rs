//! E2TCP headers: any bytes decode or are refused, and what decodes has exactly one encoding.
//!
//! The bytes are tried as they are, and once more with a checksum that fits, wherever the header says that it lies: a
//! fuzzer does not guess checksums.
#![no_main]

use airwatt_proto::e2tcp::Header;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|packet: &[u8]| {
    check(packet);
    if let Some(at) = checksum_at(packet)
        && at + 2 <= packet.len()
    {
        let mut sealed = packet.to_vec();
        sealed[at..at + 2].fill(0);
        let sum = checksum(&sealed);
        sealed[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        check(&sealed);
    }
});

fn check(packet: &[u8]) {
    if let Ok((header, payload)) = Header::decode(packet) {
        let mut again = Vec::new();
        header.encode(payload, &mut again);
        assert_eq!(again, packet);
        assert_eq!(header.bytes() + payload.len(), packet.len());
    }
}

/// Where the flags put the checksum.
fn checksum_at(packet: &[u8]) -> Option<usize> {
    let flags = usize::from(*packet.first()?);
    let bit = |shift: usize| flags >> shift & 1;
    let addresses = bit(5) * (12 + 24 * bit(7));
    Some(2 + bit(6) + addresses + 4 * bit(4) + 2 * bit(3) + 4 * (flags >> 1 & 3) + 2 * bit(0))
}

fn checksum(packet: &[u8]) -> u16 {
    let word = |word: &[u8]| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0));
    let mut sum: u64 = packet.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
