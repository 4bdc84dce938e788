//! A sender whose queue at the head of the air never runs empty: each frame that leaves is replaced at once.

use airwatt_base::Instant;
use airwatt_base::settings::NoSettings;

use super::{ApplicationKind, Call, Pattern, SocketRequest};
use crate::stack::role::Role;

/// Fewest packets in the queue: one on the air, one waiting for it, and two so that a burst finds the next one.
const KEPT: u32 = 4;

/// The only application without settings.
impl ApplicationKind for NoSettings {
    /// No key ends it.
    fn end(&self) -> Result<(), &'static str> {
        Err("")
    }

    fn pattern(&self) -> Pattern {
        Pattern::Saturation
    }
}

/// A saturated sender of datagrams.
#[derive(Clone, Debug)]
pub struct Saturation {
    /// Length of each datagram in bytes, without the headers that the socket adds.
    bytes: u32,
    /// Datagrams in the queue.
    kept: u32,
    /// Datagrams to be sent now.
    pending: u32,
    /// Number of the last datagram.
    number: u32,
}

impl Saturation {
    /// A sender of datagrams of this length that keeps so many in its queue, or a few more.
    pub const fn new(bytes: u32, kept: u32) -> Self {
        let kept = if kept > KEPT { kept } else { KEPT };
        Self { bytes, kept, pending: 0, number: 0 }
    }

    pub(super) const fn begin(&mut self) {
        self.pending = self.kept;
    }

    /// Replaces a datagram that has arrived or was lost.
    pub(super) const fn replace(&mut self) {
        self.pending += 1;
    }

    pub(super) const fn poll_call(&mut self, now: Instant) -> Option<Call> {
        if self.pending == 0 {
            return None;
        }
        self.pending -= 1;
        self.number = self.number.wrapping_add(1);
        let request = SocketRequest::Send { number: self.number, bytes: self.bytes, since: now, flow: None };
        Some(Call { role: Role::Sender, request })
    }
}
