//! Openings of a peer's side that arrive as plain TCP, with the addresses of a connection that this end has.
//!
//! * The connection does not stand: the peer did not learn that this end had connected, and fell back to plain TCP. The connection
//!   is given up, and the SYN goes on.
//! * The connection stands: its host has lost it, because the peer's daemon was killed or the host has restarted, or the SYN is
//!   somebody else's. It is answered as RFC 5961 (section 4.2) demands of the connection that it meets, by an acknowledgement
//!   with a number that only a host on the path can learn. A host that opens a new connection resets the old one with that
//!   number; the connection ends, and the next SYN goes on. A host that still has the connection ignores the acknowledgement.

use airwatt_base::{Instant, Seq};

use super::super::ending::ConnectionEnding;
use super::super::message::address_bytes;
use super::super::note::{ConnectionFate, Why};
use super::super::opening::Opening;
use super::super::relay::Side;
use super::{ConnectionId, Entry, Origin, SplitProxy, SplitProxyOutput};
use crate::e2tcp::Addresses;
use crate::keyed::keyed;

impl SplitProxy {
    pub(super) fn take_plain_opening(&mut self, peer: usize, opening: Opening, now: Instant) {
        self.withdraw(peer, opening.addresses(), now);
        let output = match self.between(peer, opening.addresses()) {
            Some(id) => SplitProxyOutput::Challenge(self.challenge_of(id, opening.addresses()), opening),
            None => {
                self.book.note(opening.addresses(), ConnectionFate::Passed, Why::Plain);
                SplitProxyOutput::Pass(opening)
            }
        };
        self.book.outputs.push_back(output);
    }

    /// A reset of a peer's side that arrives as plain TCP: it ends a connection if it answers the challenge.
    pub(super) fn take_plain_reset(&mut self, peer: usize, addresses: Addresses, number: Seq, now: Instant) {
        if let Some(id) = self.between(peer, addresses)
            && self.challenge_of(id, addresses) == number
        {
            self.book.counters.replaced += 1;
            self.abort(id, ConnectionEnding::Lost, Why::Anew, now);
        }
    }

    /// The peer's opening with these addresses went as plain TCP. A connection that stands was not, whatever a SYN says that
    /// anybody can send.
    pub(super) fn withdraw(&mut self, peer: usize, addresses: Addresses, now: Instant) {
        let Some(id) = self.by_addresses.get(&(peer, addresses)).copied() else { return };
        let is_opening =
            |entry: &Entry| matches!(entry.origin, Origin::Peer(_)) && !entry.stands[Side::Wireless as usize];
        if self.entries.get(&id).is_some_and(is_opening) {
            self.abort(id, |_| ConnectionEnding::Unanswered, Why::Plain, now);
        }
    }

    /// The connection between these addresses, whichever side opened it.
    fn between(&self, peer: usize, addresses: Addresses) -> Option<ConnectionId> {
        let of = |addresses| self.by_addresses.get(&(peer, addresses)).copied();
        of(addresses).or_else(|| of(addresses.swapped()))
    }

    fn challenge_of(&self, id: ConnectionId, addresses: Addresses) -> Seq {
        let drawn = keyed(&self.config.secret, &[&address_bytes(addresses), &id.to_be_bytes()]);
        Seq::new(u32::from_be_bytes([drawn[0], drawn[1], drawn[2], drawn[3]]))
    }
}
