//! The far leg of a connection: E2TCP with a peer, or another socket of this host.

use super::super::socket_leg::SocketLeg;
use super::super::table_leg::TableLeg;
use super::Peer;
use crate::e2tcp::{Connection, ConnectionKey};
use crate::end::Stream;
use crate::tcp::{ReceiveBytes, SendBytes};

/// A far leg.
#[derive(Clone, Debug)]
pub(super) enum Far {
    /// A connection of the peer's table, once there is one.
    Peer(Option<ConnectionKey>),
    /// A socket.
    Socket(SocketLeg),
}

/// A far leg with what it needs for a call.
pub(super) enum FarStream<'a> {
    Peer(TableLeg<'a, SendBytes, ReceiveBytes>),
    Socket(&'a mut SocketLeg),
}

impl Far {
    /// The connection of the peer's table.
    pub(super) const fn key(&self) -> Option<ConnectionKey> {
        match self {
            Self::Peer(key) => *key,
            Self::Socket(_) => None,
        }
    }

    /// The connection of the peer's table.
    pub(super) fn connection<'a>(
        &self,
        peers: &'a [Peer],
        peer: usize,
    ) -> Option<&'a Connection<SendBytes, ReceiveBytes>> {
        peers.get(peer)?.table.connection(self.key()?)
    }

    /// Bytes that it has received, and bytes that it has sent and that are not acknowledged.
    pub(super) fn held(&self, peers: &[Peer], peer: usize) -> [u64; 2] {
        match self {
            Self::Peer(_) => self.connection(peers, peer).map_or([0; 2], |connection| {
                [connection.readable_bytes(), connection.unacknowledged_bytes()]
            }),
            Self::Socket(leg) => [leg.readable(), leg.unacknowledged()],
        }
    }

    pub(super) fn with<'a>(&'a mut self, peers: &'a mut [Peer], peer: usize) -> FarStream<'a> {
        match self {
            Self::Peer(key) => FarStream::Peer(TableLeg { table: &mut peers[peer].table, key: *key }),
            Self::Socket(leg) => FarStream::Socket(leg),
        }
    }
}

impl FarStream<'_> {
    pub(super) fn stream(&mut self) -> &mut dyn Stream<Data = Vec<u8>> {
        match self {
            Self::Peer(leg) => leg,
            Self::Socket(leg) => *leg,
        }
    }
}
