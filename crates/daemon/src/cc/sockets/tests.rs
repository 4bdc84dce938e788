//! Records as the kernel writes them.

use super::*;

fn record(family: u16) -> Vec<u8> {
    let mut record = vec![0; RECORD];
    record[..7].copy_from_slice(b"ackloss");
    record[16..20].copy_from_slice(&[192, 0, 2, 1]);
    record[32..36].copy_from_slice(&[198, 51, 100, 7]);
    record[48..50].copy_from_slice(&family.to_ne_bytes());
    record[50..52].copy_from_slice(&40_000_u16.to_ne_bytes());
    record[52..54].copy_from_slice(&443_u16.to_be_bytes());
    record[54..56].copy_from_slice(&1_u16.to_ne_bytes());
    for (at, value) in [(56, 10_u32), (60, 0x7fff_ffff), (64, 1448), (68, 0), (72, 1000), (76, 1)] {
        record[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    for (at, value) in [(12, 2_u32 << 16), (20, 5), (24, 9), (28, 3)] {
        record[STATE + at..STATE + at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    record[STATE + 43] = LAYOUT << 5 | 0x0b;
    record
}

#[test]
fn a_connection_is_read() {
    let read = decode(&record(AF_INET)).expect("a connection");
    assert_eq!(read.local.to_string(), "192.0.2.1:40000");
    assert_eq!(read.remote.to_string(), "198.51.100.7:443");
    assert_eq!((read.algorithm.as_str(), read.cwnd_segments, read.ssthresh_segments), ("ackloss", 10, None));
    assert_eq!(read.bytes_acknowledged, (1 << 32) + 1000);
    let counters = Counters { ack_losses: 5, ack_gaps: 9, ack_loss_halvings: 3, segments_per_ack_mean: 2.0 };
    assert_eq!(read.counters, Some(counters));
}

#[test]
fn mapped_addresses_are_shown_as_what_they_are() {
    let mut mapped = record(10);
    mapped[16..32].copy_from_slice(&Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets());
    assert_eq!(decode(&mapped).expect("a connection").local.to_string(), "192.0.2.1:40000");
}

#[test]
fn listeners_are_none_and_other_forms_have_no_counters() {
    let mut listening = record(AF_INET);
    listening[54..56].copy_from_slice(&LISTEN.to_ne_bytes());
    assert_eq!(decode(&listening), None);
    let mut older = record(AF_INET);
    older[STATE + 43] = 2 << 5;
    assert_eq!(decode(&older).expect("a connection").counters, None);
}
