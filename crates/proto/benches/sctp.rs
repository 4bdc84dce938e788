//! Packets of 1,400 bytes through two ends of a tunnel over SCTP, by a path without delay or loss. What is measured is the processor
//! time of both ends together.
//!
//! `cargo bench --package airwatt-proto` has the released dcsctp; `packaging/dcsctp` has a patch for it, and how to measure
//! with that.

use airwatt_base::{Instant, Machine, RandomStream, Span};
use airwatt_proto::tunnel::wire::OuterIp;
use airwatt_proto::tunnel::{
    AssociationKind, Input, IpPacket, Output, Sctp, Tunnel, TunnelConfig, TunnelEnd,
};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// Bytes of a packet.
const PACKET_BYTES: u16 = 1_400;
/// Packets of one measurement.
const PACKETS: u64 = 5_000;
/// Time between packets: 333 packets/s, as ten uploads have them.
const GAP: Span = Span::from_millis(3);

type End = Tunnel<Sctp<IpPacket>>;

/// A datagram of UDP from 10.77.0.2 to 10.77.0.1.
fn packet() -> IpPacket {
    let mut bytes = vec![0; usize::from(PACKET_BYTES)];
    bytes[0] = 0x45;
    bytes[2..4].copy_from_slice(&PACKET_BYTES.to_be_bytes());
    (bytes[8], bytes[9]) = (64, 17);
    bytes[12..20].copy_from_slice(&[10, 77, 0, 2, 10, 77, 0, 1]);
    bytes[24..26].copy_from_slice(&(PACKET_BYTES - 20).to_be_bytes());
    IpPacket::parse(bytes).expect("an IP packet")
}

/// Passes datagrams on until neither end has one. Returns the number of packets delivered.
fn exchange(ends: &mut [End; 2], now: Instant) -> u64 {
    let mut delivered = 0;
    loop {
        let mut is_quiet = true;
        for from in [0, 1] {
            while let Some(output) = ends[from].poll_output() {
                is_quiet = false;
                match output {
                    Output::Transmit(datagram) => ends[1 - from].handle_input(Input::Outer(datagram), now),
                    Output::Deliver(_) => delivered += 1,
                    Output::Dropped(..) => {}
                }
            }
        }
        if is_quiet {
            return delivered;
        }
    }
}

/// Uploads a number of packets. Returns the number that arrived.
fn upload(ends: &mut [End; 2], packets: u64) -> u64 {
    let (mut delivered, packet) = (0, packet());
    for number in 0..packets {
        let until = Instant::ZERO + GAP.saturating_mul(number);
        while let Some((at, end)) =
            [0, 1].into_iter().filter_map(|end| Some((ends[end].poll_timeout()?.at, end))).min()
            && at <= until
        {
            ends[end].handle_timeout(at);
            delivered += exchange(ends, at);
        }
        ends[0].handle_input(Input::Inner(packet.clone()), until);
        delivered += exchange(ends, until);
    }
    delivered
}

#[divan::bench(sample_count = 10)]
fn messages(bencher: Bencher) {
    let config = TunnelConfig { association: AssociationKind::Sctp, ..TunnelConfig::default() };
    let sctp = config.sctp(1_500 - config.overhead_bytes(OuterIp::V4)).expect("an association over SCTP");
    let end = |end| Tunnel::new(config, end, Sctp::new(sctp, RandomStream::new(1, "bench")));
    let ends = || [end(TunnelEnd::Client), end(TunnelEnd::Concentrator)];
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(ends).bench_local_refs(|ends| {
        let delivered = upload(ends, PACKETS);
        assert!(delivered + 5 >= PACKETS, "{delivered} of {PACKETS} packets have arrived");
    });
}
