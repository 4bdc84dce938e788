//! A socket: one end of a conversation between two hosts.

use airwatt_base::Slot;

use super::application::{ApplicationId, Connection};
use super::role::Role;
use super::transport::SocketTransport;
use crate::packet::{FlowLabel, Packet, Payload};
use crate::route::{Address, NodeId};

/// Index of a socket in its network.
pub(crate) type SocketId = u32;

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SocketAddress {
    pub(crate) address: Address,
    pub(crate) port: u16,
}

/// One end of a conversation.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) transport: SocketTransport,
    pub(crate) node: NodeId,
    pub(crate) local: SocketAddress,
    pub(crate) remote: SocketAddress,
    /// The label of the packets that the socket sends.
    pub(crate) flow: FlowLabel,
    /// Their differentiated services code point.
    pub(crate) dscp: u8,
    pub(crate) application: ApplicationId,
    /// The connection of the application of which it is an end.
    pub(crate) connection: Connection,
    /// Whether the application's data leaves here or arrives here.
    pub(crate) role: Role,
    /// Whether its packets count as bytes sent: not on the wired side of a gateway.
    pub(crate) counted: bool,
    /// The slot of its timers.
    pub(crate) slot: Slot,
}

impl Socket {
    /// A copy of a socket of datagrams; `None` for an end of a connection.
    pub(crate) const fn copy(&self) -> Option<Self> {
        match self.transport {
            SocketTransport::Udp(udp) => Some(Self { transport: SocketTransport::Udp(udp), ..*self }),
            _ => None,
        }
    }

    /// A packet of `bytes` bytes to the peer.
    pub(crate) const fn packet(&self, payload: Payload, bytes: u32, sent: airwatt_base::Instant) -> Packet {
        Packet {
            src: self.local.address,
            dst: self.remote.address,
            sport: self.local.port,
            dport: self.remote.port,
            flow: self.flow,
            bytes,
            sent,
            dscp: self.dscp,
            payload,
        }
    }
}
