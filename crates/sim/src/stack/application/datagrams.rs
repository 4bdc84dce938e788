//! Datagrams: the data of a source, each write in a packet of its own that is sent once.

use airwatt_base::Instant;

use super::{Call, SocketRequest, Source};
use crate::stack::role::Role;

/// A flow of datagrams.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// What the sender writes.
    pub source: Source,
    /// Payload of a datagram to be sent now, in bytes.
    pending: Option<u64>,
    /// Number of the last datagram.
    number: u32,
}

impl Datagrams {
    /// A flow that has not begun.
    pub const fn new(source: Source) -> Self {
        Self { source, pending: None, number: 0 }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let bytes = self.source.take(now);
        self.pending = (bytes > 0).then_some(bytes);
    }

    pub(super) fn poll_call(&mut self, now: Instant) -> Option<Call> {
        let bytes = self.pending.take()? as u32;
        self.number += 1;
        let request = SocketRequest::Send { number: self.number, bytes, since: now };
        Some(Call { role: Role::Sender, request })
    }
}
