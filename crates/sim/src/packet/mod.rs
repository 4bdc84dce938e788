//! A packet on its way through a network: what the simulator carries instead of bytes.
//!
//! A packet is small and `Copy`. It consists of the addresses and ports by which it is routed, of its length, and of the
//! facts by which machines decide. A packet of an external host, and a packet that carries other packets, has a
//! [`Ticket`] that leads to them in the network's [`Store`].

mod store;
mod ticket;

use airwatt_base::{Instant, Seq};
use airwatt_energy::Cause;
use airwatt_proto::any_end::AnyPacket;
use airwatt_proto::e2tcp;
use airwatt_proto::quic::QuicContent;
use airwatt_proto::tcp::{Ecn, Segment};
use airwatt_proto::tunnel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use store::{Entry, Store};
pub use ticket::Ticket;

use crate::route::Address;

/// The number of a flow in its network: a label by which a packet is measured. No packet is routed by it.
pub type FlowLabel = u32;

/// The label of a packet that belongs to no measured flow.
pub const NO_FLOW: FlowLabel = FlowLabel::MAX;

/// The label of a tunnel's datagram, in which packets of several flows are.
pub const TUNNELLED: FlowLabel = FlowLabel::MAX - 1;

/// What the energy of a packet with a label is charged to.
pub(crate) const fn cause_of(flow: FlowLabel) -> Cause {
    match flow {
        NO_FLOW => Cause::External,
        TUNNELLED => Cause::Tunnel,
        flow => Cause::Flow(flow),
    }
}

/// One IP packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// The address of the sender.
    pub src: Address,
    /// The address of the receiver.
    pub dst: Address,
    /// The sender's port; 0 for a packet without ports.
    pub sport: u16,
    /// The receiver's port; 0 for a packet without ports.
    pub dport: u16,
    /// The flow that the packet belongs to, [`TUNNELLED`] or [`NO_FLOW`].
    pub flow: FlowLabel,
    /// Length of the IP packet in bytes, including headers.
    pub bytes: u32,
    /// The time at which the sender handed the packet to the network.
    pub sent: Instant,
    /// Differentiated services code point (RFC 2474), 0 to 63; 0 is best effort.
    pub dscp: u8,
    /// What the packet carries.
    pub payload: Payload,
}

// The size decides the speed of a run: 56 bytes are as fast as 80, and 120 bytes are slower by a tenth.
const _: () = assert!(size_of::<Packet>() <= 80);

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// A TCP segment.
    Tcp(Segment),
    /// An E2TCP packet.
    E2tcp(e2tcp::E2tcpPacket),
    /// A datagram with its number in the flow.
    Datagram(u32),
    /// Other packets, which the store holds, in a tunnel's datagram with this header.
    Carried(Ticket, tunnel::TunnelHeader),
    /// The bytes of an SCTP packet, which the store holds, in a tunnel's datagram.
    Sctp(Ticket),
    /// A QUIC packet.
    Quic(QuicPacket),
    /// The bytes of a packet of an external host, which the store holds, and the ECN field, which queues may change on the way.
    Bytes(Ticket, Ecn),
    /// A group-addressed packet of a neighbour. It exists at an access point only; one of a capture has the address of a station
    /// of the cell.
    Group(GroupPacket),
}

/// A QUIC packet, of which the network knows what its ends say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicPacket {
    /// The UDP payload, which the store holds.
    pub ticket: Ticket,
    /// What is in it.
    pub content: QuicContent,
}

/// A group-addressed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPacket {
    /// What it is.
    pub kind: GroupKind,
    /// The number of the neighbour that sent it.
    pub host: u32,
}

/// What a group-addressed packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupKind {
    /// An ARP request (RFC 826).
    Arp,
    /// Multicast DNS (RFC 6762).
    Mdns,
    /// A neighbour solicitation of IPv6 (RFC 4861).
    NeighbourDiscovery,
}

/// Addresses and ports of a packet, which tell flows apart in a queue.
pub type Endpoints = (Address, u16, Address, u16);

impl Packet {
    /// A datagram of node 0 to node 1.
    #[cfg(test)]
    pub(crate) const fn datagram(number: u32, bytes: u32, sent: Instant) -> Self {
        let payload = Payload::Datagram(number);
        let [src, dst] = [Address(0), Address(1)];
        Self { src, dst, sport: 0, dport: 0, flow: 0, bytes, sent, dscp: 0, payload }
    }

    /// A group-addressed packet of a neighbour, which no node routes.
    pub(crate) const fn group(kind: GroupKind, host: u32, bytes: u32, sent: Instant) -> Self {
        let payload = Payload::Group(GroupPacket { kind, host });
        let [src, dst] = [Address(0), Address(0)];
        Self { src, dst, sport: 0, dport: 0, flow: NO_FLOW, bytes, sent, dscp: 0, payload }
    }

    /// The ECN field of the IP header (RFC 3168).
    pub(crate) const fn ecn(&self) -> u8 {
        match &self.payload {
            Payload::Tcp(Segment { ecn, .. }) | Payload::Bytes(_, ecn) => ecn.field(),
            _ => 0,
        }
    }

    /// Marks the packet as one that experienced congestion (RFC 3168). Returns whether it is capable of that, which only TCP is here.
    pub(crate) const fn mark(&mut self) -> bool {
        match &mut self.payload {
            Payload::Tcp(Segment { ecn, .. }) | Payload::Bytes(_, ecn) => ecn.mark(),
            _ => false,
        }
    }

    /// Addresses and ports of sender and receiver.
    pub const fn endpoints(&self) -> Endpoints {
        (self.src, self.sport, self.dst, self.dport)
    }
}

impl From<AnyPacket> for Payload {
    fn from(packet: AnyPacket) -> Self {
        match packet {
            AnyPacket::Tcp(segment, ()) => Self::Tcp(segment),
            AnyPacket::E2tcp(packet, ()) => Self::E2tcp(packet),
        }
    }
}

impl Payload {
    /// The packet of a connection, if it is one.
    pub(crate) const fn of_connection(self) -> Option<AnyPacket> {
        match self {
            Self::Tcp(segment) => Some(AnyPacket::Tcp(segment, ())),
            Self::E2tcp(packet) => Some(AnyPacket::E2tcp(packet, ())),
            _ => None,
        }
    }

    /// Sequence number of the last byte of the data that the packet carries; `None` if it carries none.
    pub(crate) fn last_byte(&self) -> Option<Seq> {
        match self {
            Self::Tcp(segment) => (segment.len > 0).then(|| segment.seq + u32::from(segment.len) - 1),
            Self::E2tcp(packet) => packet.header.sequence.filter(|_| packet.len > 0),
            _ => None,
        }
    }

    /// Whether the packet carries data.
    pub const fn has_data(&self) -> bool {
        match self {
            Self::Tcp(segment) => segment.len > 0,
            Self::E2tcp(packet) => packet.len > 0,
            Self::Quic(packet) => matches!(packet.content, QuicContent::Data),
            Self::Datagram(_) | Self::Carried(..) | Self::Sctp(_) | Self::Bytes(..) | Self::Group(_) => true,
        }
    }

    /// Number of blocks of selective acknowledgements.
    pub fn sack_blocks(&self) -> u32 {
        match self {
            Self::Tcp(segment) => segment.sack.iter().count() as u32,
            Self::E2tcp(packet) => {
                packet.header.acknowledgement.map_or(0, |ack| ack.blocks.iter().flatten().count() as u32)
            }
            _ => 0,
        }
    }

    /// Whether the packet only acknowledges.
    pub fn is_pure_ack(&self) -> bool {
        match self {
            Self::Tcp(segment) => segment.is_pure_ack(),
            Self::E2tcp(packet) => {
                packet.len == 0
                    && packet.header.control == e2tcp::ControlFlags::NONE
                    && packet.header.acknowledgement.is_some()
            }
            Self::Quic(packet) => packet.content == QuicContent::Acknowledgement,
            Self::Datagram(_) | Self::Carried(..) | Self::Sctp(_) | Self::Bytes(..) | Self::Group(_) => false,
        }
    }
}
