//! IP packets of a run, and group-addressed packets, without payload.

use std::net::{IpAddr, Ipv4Addr};

use airwatt_proto::e2tcp::{Addresses, Endpoint};

use super::group;
use super::headers::{Ends, Headers, IP_HEADER_BYTES, PROTOCOL_TCP, PROTOCOL_UDP};
use crate::packet::{Packet, Payload, QuicPacket};
use crate::record::Setting;
use crate::route::Address;

/// The payload of all applications.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// Appends the packet's headers.
pub(super) fn encode(setting: &Setting, packet: &Packet, out: &mut Vec<u8>) {
    let address = |node: Address| setting.addresses[usize::from(node.0)];
    let ends = Ends { from: (address(packet.src), packet.sport), to: (address(packet.dst), packet.dport) };
    match &packet.payload {
        Payload::Tcp(segment) => {
            let headers = Headers::of((packet.bytes - u32::from(segment.len)) as usize);
            ends.ip(packet, PROTOCOL_TCP, headers.ip, out);
            ends.tcp(setting, packet, segment, &headers, out);
        }
        Payload::E2tcp(e2tcp) => {
            // The payload of zeros is encoded for the checksum, and then left out like any payload.
            let endpoint = |(ip, port): (Ipv4Addr, u16)| Endpoint { ip: IpAddr::V4(ip), port };
            let addresses = Addresses::new(endpoint(ends.from), endpoint(ends.to));
            e2tcp.header.encode(addresses, &ZEROS[..usize::from(e2tcp.len)], out);
            out.truncate(out.len() - usize::from(e2tcp.len));
        }
        Payload::Group(neighbour) => group::encode(*neighbour, packet, out),
        Payload::Bytes(ticket, _) => out.extend_from_slice(&setting.packets[ticket.index()]),
        Payload::Sctp(ticket) | Payload::Quic(QuicPacket { ticket, .. }) => {
            ends.ip(packet, PROTOCOL_UDP, IP_HEADER_BYTES, out);
            ends.udp(packet, out);
            out.extend_from_slice(&setting.packets[ticket.index()]);
        }
        Payload::Datagram(_) | Payload::Carried(..) => {
            ends.ip(packet, PROTOCOL_UDP, IP_HEADER_BYTES, out);
            ends.udp(packet, out);
        }
    }
}
