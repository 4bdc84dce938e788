//! The machine that relays: with peers over E2TCP, or alone between two sockets of the kernel.

use airwatt_base::{Instant, Machine, Timeout};
use airwatt_proto::gateway::{
    ConnectionId, ConnectionRow, Note, ProxyCounters, ProxyTimer, SplitProxy, SplitProxyInput,
    SplitProxyOutput, TcpProxy,
};

/// Either of the two, which have the same methods.
#[derive(Clone, Debug)]
pub(super) enum Proxy {
    Split(Box<SplitProxy>),
    Tcp(Box<TcpProxy>),
}

macro_rules! of_either {
    ($self:expr, $proxy:ident => $call:expr) => {
        match $self {
            Proxy::Split($proxy) => $call,
            Proxy::Tcp($proxy) => $call,
        }
    };
}

impl Proxy {
    pub(super) fn counters(&self) -> &ProxyCounters {
        of_either!(self, proxy => proxy.counters())
    }

    pub(super) fn connections(&self) -> (usize, usize) {
        of_either!(self, proxy => proxy.connections())
    }

    pub(super) fn rows(&self) -> Vec<ConnectionRow> {
        of_either!(self, proxy => proxy.rows().collect())
    }

    pub(super) fn heard(&self, peer: usize) -> Option<Instant> {
        match self {
            Self::Split(proxy) => proxy.heard(peer),
            Self::Tcp(_) => None,
        }
    }

    pub(super) fn room(&self, id: ConnectionId) -> u64 {
        of_either!(self, proxy => proxy.room(id))
    }

    pub(super) fn take_changed(&mut self) -> Vec<ConnectionId> {
        of_either!(self, proxy => proxy.take_changed())
    }

    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        of_either!(self, proxy => proxy.take_notes())
    }

    pub(super) fn outgoing(&self, id: ConnectionId) -> &[u8] {
        of_either!(self, proxy => proxy.outgoing(id))
    }

    pub(super) fn note_written(&mut self, id: ConnectionId, bytes: usize, now: Instant) {
        of_either!(self, proxy => proxy.note_written(id, bytes, now));
    }

    pub(super) fn is_to_shut(&self, id: ConnectionId) -> bool {
        of_either!(self, proxy => proxy.is_to_shut(id))
    }

    pub(super) fn note_shut(&mut self, id: ConnectionId, now: Instant) {
        of_either!(self, proxy => proxy.note_shut(id, now));
    }
}

impl Machine for Proxy {
    type Input = SplitProxyInput;
    type Output = SplitProxyOutput;
    type Reason = ProxyTimer;

    fn handle_input(&mut self, input: SplitProxyInput, now: Instant) {
        of_either!(self, proxy => proxy.handle_input(input, now));
    }

    fn handle_timeout(&mut self, now: Instant) {
        of_either!(self, proxy => proxy.handle_timeout(now));
    }

    fn poll_output(&mut self) -> Option<SplitProxyOutput> {
        of_either!(self, proxy => proxy.poll_output())
    }

    fn poll_timeout(&self) -> Option<Timeout<ProxyTimer>> {
        of_either!(self, proxy => proxy.poll_timeout())
    }
}
