//! Group-addressed packets of neighbours: ARP requests, mDNS queries and neighbour solicitations, with their headers and without
//! what the simulator does not know: the names in a query. Each asks for an address that nobody has.

use std::net::Ipv4Addr;

use airwatt_dot11::MacAddress;

use super::headers::{Ends, IP_HEADER_BYTES, PROTOCOL_UDP, checksum};
use crate::packet::{GroupKind, GroupPacket, Packet};

const ETHER_TYPE_IPV4: u16 = 0x0800;
const ETHER_TYPE_ARP: u16 = 0x0806;
const ETHER_TYPE_IPV6: u16 = 0x86dd;
/// RFC 6762 section 3.
const MDNS_GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const MDNS_PORT: u16 = 5353;
const PROTOCOL_ICMPV6: u8 = 58;
/// The address that ARP requests and solicitations ask for ends with these bytes.
const ASKED: [u8; 3] = [0xfe, 0xff, 0xfe];

/// The hardware address of a neighbour.
pub(super) fn source(packet: GroupPacket) -> MacAddress {
    let [_, high, middle, low] = packet.host.to_be_bytes();
    MacAddress([2, 0, 1, high, middle, low])
}

/// The group address of the frame.
pub(super) fn destination(packet: GroupPacket) -> MacAddress {
    match packet.kind {
        GroupKind::Arp => MacAddress::BROADCAST,
        // RFC 1112 section 6.4.
        GroupKind::Mdns => MacAddress([0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb]),
        // The solicited-node address (RFC 4291 2.7.1) over Ethernet (RFC 2464 7).
        GroupKind::NeighbourDiscovery => MacAddress([0x33, 0x33, 0xff, ASKED[0], ASKED[1], ASKED[2]]),
    }
}

pub(super) const fn ether_type(packet: GroupPacket) -> u16 {
    match packet.kind {
        GroupKind::Arp => ETHER_TYPE_ARP,
        GroupKind::Mdns => ETHER_TYPE_IPV4,
        GroupKind::NeighbourDiscovery => ETHER_TYPE_IPV6,
    }
}

fn ip(packet: GroupPacket) -> Ipv4Addr {
    let [_, _, high, low] = (packet.host + 2).to_be_bytes();
    Ipv4Addr::new(10, 2, high, low)
}

/// Appends the packet without what follows its headers.
pub(super) fn encode(group: GroupPacket, packet: &Packet, out: &mut Vec<u8>) {
    match group.kind {
        GroupKind::Arp => arp(group, out),
        GroupKind::Mdns => {
            let ends = Ends { from: (ip(group), MDNS_PORT), to: (MDNS_GROUP, MDNS_PORT) };
            ends.ip(packet, PROTOCOL_UDP, IP_HEADER_BYTES, out);
            ends.udp(packet, out);
        }
        GroupKind::NeighbourDiscovery => solicitation(group, out),
    }
}

/// A request (RFC 826): Ethernet, IPv4, lengths 6 and 4, operation 1.
fn arp(packet: GroupPacket, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 1, 0x08, 0x00, 6, 4, 0, 1]);
    out.extend_from_slice(&source(packet).0);
    out.extend_from_slice(&ip(packet).octets());
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&[10, ASKED[0], ASKED[1], ASKED[2]]);
}

/// A neighbour solicitation with the option of the source's link-layer address (RFC 4861 4.3 and 4.6.1).
fn solicitation(packet: GroupPacket, out: &mut Vec<u8>) {
    const LENGTH: u8 = 32;
    let hardware = source(packet).0;
    let mut from = [0_u8; 16];
    from[..2].copy_from_slice(&[0xfe, 0x80]);
    from[10..].copy_from_slice(&hardware);
    let mut asked = [0_u8; 16];
    asked[..2].copy_from_slice(&[0xfe, 0x80]);
    asked[13..].copy_from_slice(&ASKED);
    let mut to = [0_u8; 16];
    to[..2].copy_from_slice(&[0xff, 0x02]);
    (to[11], to[12]) = (1, 0xff);
    to[13..].copy_from_slice(&ASKED);
    out.extend_from_slice(&[0x60, 0, 0, 0, 0, LENGTH, PROTOCOL_ICMPV6, 255]);
    out.extend_from_slice(&from);
    out.extend_from_slice(&to);
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&asked);
    message.extend_from_slice(&[1, 1]);
    message.extend_from_slice(&hardware);
    let words =
        |bytes: &[u8]| bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
    let pseudo = words(&from) + words(&to) + u32::from(LENGTH) + u32::from(PROTOCOL_ICMPV6);
    let sum = checksum(pseudo, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    out.extend_from_slice(&message);
}
