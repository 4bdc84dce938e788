//! Nodes: hosts and access points with their sockets.

use airwatt_base::Instant;
use airwatt_energy::{Host, HostLedger, HostPacket};

use crate::packet::Packet;
use crate::route::NodeId;
use crate::stack::program::ProgramId;
use crate::stack::socket::SocketId;

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) stack: Stack,
    /// The programs through which packets pass that arrive, in this order.
    pub(crate) chain: Vec<ProgramId>,
    /// The account of what the host draws beside its radio.
    pub(crate) host: Option<Box<HostLedger>>,
}

impl Node {
    pub(crate) fn new(stack: Stack, host: Option<Host>) -> Self {
        let host = host.map(|host| Box::new(HostLedger::new(host, Instant::ZERO)));
        Self { stack, chain: Vec::new(), host }
    }
}

/// A packet as the host of `node` accounts for it.
pub(crate) fn host_packet(node: NodeId, packet: &Packet) -> HostPacket {
    HostPacket {
        bytes: packet.bytes,
        is_own: packet.src.0 == node || packet.dst.0 == node,
        sack_blocks: packet.payload.sack_blocks(),
    }
}

/// What receives the packets for a node.
#[derive(Clone, Debug)]
pub(crate) enum Stack {
    /// Sockets of the network.
    Host(Ports),
    /// A network stack outside: whoever drives the network gets the packets.
    External,
}

/// The sockets of a node by their port and that of their peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports(Vec<([u16; 2], SocketId)>);

impl Ports {
    /// Binds a socket to its own port and that of its peer. Panics if both are in use, which the plan excludes.
    pub(crate) fn bind(&mut self, node: NodeId, ports: [u16; 2], socket: SocketId) {
        match self.0.binary_search_by_key(&ports, |(ports, _)| *ports) {
            Ok(_) => panic!("node {node}: ports {ports:?} have one socket"),
            Err(place) => self.0.insert(place, (ports, socket)),
        }
    }

    /// The sockets in the order of their ports.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = SocketId> {
        self.0.iter().map(|(_, socket)| *socket)
    }

    /// The socket with this port and this one of its peer.
    #[inline]
    pub(crate) fn get(&self, ports: [u16; 2]) -> Option<SocketId> {
        let place = self.0.binary_search_by_key(&ports, |(ports, _)| *ports).ok()?;
        Some(self.0[place].1)
    }
}
