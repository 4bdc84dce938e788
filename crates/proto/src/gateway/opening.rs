//! The packet that opens a TCP connection, held until it may be answered, and the answers that refuse it.
//!
//! A base station or a mobile's end gets it from the kernel before a socket exists, so that the connection is answered as the
//! host beyond answers it: with SYN, with a reset, with an ICMP message, or not at all.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use airwatt_base::Seq;
use etherparse::{
    Icmpv4Type, Icmpv6Type, LaxNetSlice, LaxSlicedPacket, PacketBuilder, PacketBuilderStep, TcpHeader,
    TcpSlice, TransportSlice, icmpv4, icmpv6,
};

use crate::e2tcp::{Addresses, Endpoint};

/// Hops that an answer may take.
const TTL: u8 = 64;
/// Bytes of a packet that an ICMP message of IPv4 quotes at least (RFC 1812, section 4.3.2.3), and the whole packet with IPv6: a
/// SYN is shorter.
const QUOTED_MAX: usize = 1_024;

/// A SYN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    packet: Vec<u8>,
    addresses: Addresses,
    sequence: u32,
    /// Sequence numbers that it occupies.
    length: u32,
}

impl Opening {
    /// Reads an IP packet. Returns `None` for everything but a segment of TCP that opens a connection: of FIN, SYN, RST and ACK
    /// only SYN is set.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
        let (addresses, tcp) = segment(&sliced)?;
        if !tcp.syn() || tcp.ack() || tcp.rst() || tcp.fin() {
            return None;
        }
        let (sequence, length) = (tcp.sequence_number(), 1 + tcp.payload().len() as u32);
        Some(Self { packet: packet.to_vec(), addresses, sequence, length })
    }

    /// The packet.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// From the host that opens the connection to the other.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Its sequence number.
    pub const fn number(&self) -> Seq {
        Seq::new(self.sequence)
    }

    /// The packet that resets the connection: what a closed port answers (RFC 9293, section 3.10.7.1).
    pub fn reset(&self) -> Vec<u8> {
        self.answer(|tcp| tcp.rst().ack(self.sequence.wrapping_add(self.length)))
    }

    /// A challenge (RFC 5961, section 4.2): the acknowledgement that a connection with these addresses sends when a SYN arrives. A
    /// host that is opening a new one answers it with a reset that has this sequence number (RFC 9293, section 3.10.7.3).
    pub fn challenge(&self, number: Seq) -> Vec<u8> {
        self.answer(|tcp| tcp.ack(number.value()))
    }

    /// A segment without data in the other direction.
    fn answer(
        &self,
        flags: impl FnOnce(PacketBuilderStep<TcpHeader>) -> PacketBuilderStep<TcpHeader>,
    ) -> Vec<u8> {
        bare_segment(self.addresses.receiver(), self.addresses.sender(), flags)
    }

    /// The ICMP message that the receiver of the packet cannot be reached.
    pub fn unreachable(&self) -> Vec<u8> {
        let (to, from) = (self.addresses.sender(), self.addresses.receiver());
        let quoted = &self.packet[..self.packet.len().min(QUOTED_MAX)];
        let mut bytes = Vec::new();
        match (from.ip, to.ip) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let kind = Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::Host);
                write_v4(from, to, kind, quoted, &mut bytes);
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let kind = Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::Address);
                write_v6(from, to, kind, quoted, &mut bytes);
            }
            _ => unreachable!("both addresses are of one version"),
        }
        bytes
    }
}

/// A SYN with the addresses of a connection that the receiver may still have. If it has, it sends a challenge (RFC 5961, section 4.2),
/// whatever the sequence number: an acknowledgement with the number that a reset has to have. If it has not, it refuses the SYN, or
/// begins a connection of which it hears no more than a reset.
pub fn provocation(sender: SocketAddr, receiver: SocketAddr) -> Vec<u8> {
    let end = |address: SocketAddr| Endpoint { ip: address.ip(), port: address.port() };
    bare_segment(end(sender), end(receiver), PacketBuilderStep::syn)
}

/// A segment of TCP without data, as an IP packet. Both addresses are of one version.
fn bare_segment(
    from: Endpoint,
    to: Endpoint,
    flags: impl FnOnce(PacketBuilderStep<TcpHeader>) -> PacketBuilderStep<TcpHeader>,
) -> Vec<u8> {
    let builder = match (from.ip, to.ip) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), TTL),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), TTL),
        _ => unreachable!("both addresses are of one version"),
    };
    let mut bytes = Vec::new();
    let segment = flags(builder.tcp(from.port, to.port, 0, 0));
    segment.write(&mut bytes, &[]).expect("a segment without data fits");
    bytes
}

/// Reads an IP packet that resets a TCP connection: its addresses, and its sequence number. Returns `None` for all others.
pub fn parse_reset(packet: &[u8]) -> Option<(Addresses, Seq)> {
    let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
    let (addresses, tcp) = segment(&sliced)?;
    tcp.rst().then(|| (addresses, Seq::new(tcp.sequence_number())))
}

/// The addresses and the TCP header of a packet.
fn segment<'a>(sliced: &'a LaxSlicedPacket<'a>) -> Option<(Addresses, &'a TcpSlice<'a>)> {
    let (sender, receiver): (IpAddr, IpAddr) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        _ => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
    let end = |ip, port| Endpoint { ip, port };
    let addresses = Addresses::new(end(sender, tcp.source_port()), end(receiver, tcp.destination_port()))?;
    Some((addresses, tcp))
}

fn write_v4(from: Ipv4Addr, to: Ipv4Addr, kind: Icmpv4Type, quoted: &[u8], out: &mut Vec<u8>) {
    let builder = PacketBuilder::ipv4(from.octets(), to.octets(), TTL).icmpv4(kind);
    builder.write(out, quoted).expect("the quoted packet fits");
}

fn write_v6(from: Ipv6Addr, to: Ipv6Addr, kind: Icmpv6Type, quoted: &[u8], out: &mut Vec<u8>) {
    let builder = PacketBuilder::ipv6(from.octets(), to.octets(), TTL).icmpv6(kind);
    builder.write(out, quoted).expect("the quoted packet fits");
}
