//! What a tunnel needs of the association that carries its packets to the peer.

use std::fmt::Debug;

use airwatt_base::Instant;

use super::Inner;

/// An output of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssociationOutput<P, D> {
    /// A datagram for the peer.
    Transmit(D),
    /// A packet of the peer's host.
    Deliver(P),
    /// The peer's burst has ended.
    BurstEnded,
    /// A packet that was given up.
    Abandoned(P),
}

/// Carries inner packets to the peer.
pub trait Association {
    /// The packets that it carries.
    type Inner: Inner;
    /// What it exchanges with the peer.
    type Datagram: Clone + Debug;

    /// A packet waits: opens the association if it is not open.
    fn open(&mut self, _now: Instant) {}
    /// Whether it takes another packet now, as far as congestion control and the send buffer allow.
    fn has_room(&self) -> bool;
    /// Takes a packet.
    fn send(&mut self, packet: Self::Inner, now: Instant);
    /// No packet follows for the moment: sends what was collected for a common datagram.
    fn end_burst(&mut self, now: Instant);
    /// Sends a datagram without packets.
    fn probe(&mut self, now: Instant);
    /// Processes a datagram of the peer.
    fn receive(&mut self, datagram: Self::Datagram, now: Instant);
    /// Serves the timers that are due.
    fn handle_timeout(&mut self, now: Instant);
    /// The time of the next timer.
    fn due(&self) -> Option<Instant>;
    /// The next output.
    fn poll(&mut self) -> Option<AssociationOutput<Self::Inner, Self::Datagram>>;
}
