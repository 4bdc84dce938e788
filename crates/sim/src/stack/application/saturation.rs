//! A sender whose queue at the head of the air never runs empty: each frame that leaves is replaced at once.

use airwatt_base::settings::NoSettings;
use airwatt_base::{Instant, Span};

use super::{ApplicationKind, Call, DatagramFate, Pattern, SocketRequest};
use crate::stack::role::Role;

/// Fewest packets in the queue: one on the air, one waiting for it, and two so that a burst finds the next one.
const KEPT: u32 = 4;
/// Time after which a datagram that found no room in a queue is replaced: at once there would be none either, and so without end. A frame lasts longer.
const RETRY: Span = Span::from_micros(100);

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
    /// Datagrams to be sent later, because there was no room for them, and when.
    waiting: u32,
    due: Option<Instant>,
    /// Number of the last datagram.
    number: u32,
    /// The time at which it was sent, and the number of the first one that was sent at that time.
    latest: (Instant, u32),
}

impl Saturation {
    /// A sender of datagrams of this length that keeps so many in its queue, or a few more.
    pub const fn new(bytes: u32, kept: u32) -> Self {
        let kept = if kept > KEPT { kept } else { KEPT };
        Self { bytes, kept, pending: 0, waiting: 0, due: None, number: 0, latest: (Instant::ZERO, 0) }
    }

    pub(super) const fn begin(&mut self) {
        self.pending = self.kept;
    }

    /// Replaces a datagram that has arrived or was lost.
    pub(super) fn settle(&mut self, number: u32, fate: DatagramFate, now: Instant) {
        let (sent, first) = self.latest;
        if fate == DatagramFate::Lost && now == sent && number >= first {
            self.waiting += 1;
            self.due.get_or_insert(now + RETRY);
        } else {
            self.pending += 1;
        }
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.pending += std::mem::take(&mut self.waiting);
        }
    }

    pub(super) fn poll_call(&mut self, now: Instant) -> Option<Call> {
        if self.pending == 0 {
            return None;
        }
        self.pending -= 1;
        self.number = self.number.wrapping_add(1);
        if self.latest.0 != now || self.number == 1 {
            self.latest = (now, self.number);
        }
        let request = SocketRequest::Send { number: self.number, bytes: self.bytes, since: now, flow: None };
        Some(Call { connection: 0, role: Role::Sender, request })
    }
}
