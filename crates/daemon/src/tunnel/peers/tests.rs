use airwatt_base::testkit::check_machine;
use airwatt_proto::tunnel::{End, TunnelConfig};

use super::*;

/// An IPv4 packet without a transport.
fn packet(length: u8) -> IpPacket {
    let mut bytes = vec![0; usize::from(length)];
    bytes[..4].copy_from_slice(&[0x45, 0, 0, length]);
    bytes[9] = 253;
    IpPacket::parse(bytes).unwrap()
}

#[test]
fn it_keeps_the_contract_and_each_peers_packets_apart() {
    let config = TunnelConfig { burst: Some(3), plain: true, ..TunnelConfig::default() };
    let make = || {
        let tunnel = || Tunnel::new(config, End::Concentrator, Plain::new(0));
        Peers::new(vec![tunnel(), tunnel(), tunnel()])
    };
    let inputs: Vec<_> = (0..30_u8)
        .map(|n| (Instant::from_millis(u64::from(n)), (usize::from(n % 3), Input::Inner(packet(40 + n % 3)))))
        .collect();
    let out = check_machine(make, &inputs, Instant::from_millis(1_000));
    assert_eq!(out.len(), 30);
    for (_, (peer, output)) in out {
        let Output::Transmit(datagram) = output else { panic!("{output:?}") };
        assert_eq!(datagram.packets, [packet(40 + peer as u8)]);
    }
}
