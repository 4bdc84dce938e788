//! How large packets the paths to the peers carry, as the kernel knows it: what the interface carries, or less if a router has reported so.
//!
//! The kernel is asked once a second while datagrams leave; an idle daemon does not wake up for it. Left out: paths whose routers do
//! not report what they drop (RFC 2923).

use std::net::SocketAddr;

use airwatt_base::{Instant, Span};
use airwatt_linux::udp;

/// Time between looks at the paths to the peers.
const LOOKS: Span = Span::from_secs(1);

/// A path that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path {
    /// Bytes of the largest packet.
    pub(crate) mtu: u16,
    pub(crate) to: SocketAddr,
    pub(crate) peer: usize,
}

/// When the paths were looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathWatch {
    /// System calls that had sent then.
    sends_seen: u64,
    next: Instant,
}

impl PathWatch {
    /// The paths to these peers, if it is time to look. Packets have this mark.
    pub(crate) fn look(
        &mut self,
        socket: &udp::Socket,
        mark: Option<u32>,
        endpoints: impl Iterator<Item = (usize, SocketAddr)>,
        now: Instant,
    ) -> Vec<Path> {
        let sent = socket.counts().send_calls;
        if sent == self.sends_seen || now < self.next {
            return Vec::new();
        }
        (self.sends_seen, self.next) = (sent, now + LOOKS);
        endpoints.filter_map(|(peer, to)| Some(Path { mtu: udp::path_mtu(to, mark)?, to, peer })).collect()
    }
}
