//! The numbers of E2TCP's connections, for openings of a peer that are held until the host beyond has answered.
//!
//! E2TCP agrees on a number by a SYN and its answer. Here the answer waits for a host, and both ends open connections meanwhile, as
//! many as strangers want to. So that none is refused for its number, whose end a program would take for a closed port:
//!
//! * **Promised.** A number is kept for each opening that is held: this side opens nothing for which one would have to be taken away.
//! * **Crossing.** If an opening of this side has the number that the peer proposed, the answer names another one. E2TCP itself would
//!   have one of the ends change its proposal, for which that end would have to learn of the other opening at once. Both ends propose
//!   low numbers; one names those from the middle upwards, and the other one those from the top downwards.
//! * **In use.** If the number of the answer is in use at the end that opens, this end proposes a second one, and from then on takes no
//!   other. The first proposal is answered as before when it comes again, though its number may be free by now. So the ends agree
//!   whatever comes twice or late.
//! * **None left**, or no second one: the opening is declined, and goes as plain TCP. The connection to the host beyond is reset.

use airwatt_base::{Instant, Machine as _};

use super::super::ending::ConnectionEnding;
use super::super::note::Why;
use super::{ConnectionId, Origin, Peer, ProxyTimer, SplitProxy};
use crate::e2tcp::{Addresses, Connection, E2tcpPacket, TableInput};
use crate::lifecycle::State;
use crate::tcp::{ReceiveBytes, SendBytes};

/// Numbers of a peer's connections.
const NUMBERS: usize = 1 << u8::BITS;

type Leg = Connection<SendBytes, ReceiveBytes>;

/// Whether a connection only lingers: E2TCP gives up its number for another one.
fn is_over(connection: &Leg) -> bool {
    matches!(connection.state(), State::TimeWait | State::Closed)
}

impl Peer {
    /// Whether there is no number for another connection.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        let in_use = self.table.in_use();
        self.table.is_full(now) || (in_use < NUMBERS && in_use + self.promised >= NUMBERS)
    }

    /// The connection that has a number.
    fn holder(&self, number: u8) -> Option<&Leg> {
        self.table.connection(self.table.key_of(None, number)?)
    }

    /// The number with which to answer a proposal; `None` if none is left.
    fn answer(&self, proposed: u8, upwards: bool) -> Option<u8> {
        let from = |step: u8| if upwards { (1_u8 << 7).wrapping_add(step) } else { u8::MAX - step };
        let mut others = (0..=u8::MAX).map(from).filter(|number| self.holder(*number).is_none());
        if self.holder(proposed).is_none_or(is_over) { Some(proposed) } else { others.next() }
    }
}

impl SplitProxy {
    /// Takes the SYN of an opening of the peer that is held, and the number that was promised for it.
    pub(super) fn take_held(&mut self, id: ConnectionId) -> Option<E2tcpPacket> {
        let entry = self.entries.get_mut(&id)?;
        let Origin::Peer(held) = &mut entry.origin else { return None };
        let held = held.take()?;
        self.peers[entry.peer].promised -= 1;
        Some(held)
    }

    /// The host beyond an opening of the peer has answered: so may this end.
    pub(super) fn admit_of_peer(&mut self, id: ConnectionId, now: Instant) {
        let Some(mut packet) = self.take_held(id) else { return };
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let (peer, addresses, at) = (entry.peer, entry.addresses, entry.addresses.receiver());
        entry.proposed = packet.header.connection;
        let Some(number) = self.peers[peer].answer(packet.header.connection, self.config.asks_first) else {
            self.decline(peer, addresses, Why::NoNumber);
            return self.remove(id, ConnectionEnding::Unanswered);
        };
        packet.header.connection = number;
        let table = &mut self.peers[peer].table;
        table.handle_input(TableInput::Listen(at), now);
        table.handle_input(TableInput::Packet(packet, Some(addresses), Vec::new()), now);
        table.handle_input(TableInput::Unlisten(at), now);
        self.book.timers.put(ProxyTimer::Opening(id), Some(now + self.config.admission));
        self.collect(peer, now);
    }

    /// An opening that was answered has come once more, and proposes this number. Returns that to which it leads; `None` if it was
    /// declined.
    pub(super) fn repeated(&mut self, id: ConnectionId, proposed: u8, now: Instant) -> Option<u8> {
        let entry = self.entries.get(&id)?;
        let own = entry.far.connection(&self.peers, entry.peer).map(Connection::id);
        if proposed == entry.proposed {
            return own.or(Some(proposed));
        }
        if own != Some(proposed) && self.peers[entry.peer].holder(proposed).is_some_and(|held| !is_over(held))
        {
            self.give_up_answered(id, Why::NoNumber, now);
            return None;
        }
        Some(proposed)
    }

    /// Whether an answer to an opening of this side names another number than the second one that was proposed.
    pub(super) fn is_late_answer(&self, peer: usize, addresses: Addresses, number: u8) -> bool {
        let id = self.by_addresses.get(&(peer, addresses));
        id.and_then(|id| self.entries.get(id)).is_some_and(|entry| {
            let connection = entry.far.connection(&self.peers, peer);
            connection.is_some_and(|connection| {
                let own = connection.id();
                connection.state() == State::SynSent && own != entry.proposed && own != number
            })
        })
    }

    /// Declines an opening of the peer that was answered. The peer may wait for another answer: a reset would count as that of the host
    /// beyond.
    pub(super) fn give_up_answered(&mut self, id: ConnectionId, why: Why, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let (peer, addresses) = (entry.peer, entry.addresses);
        entry.far.with(&mut self.peers, peer).stream().abort(now);
        while self.peers[peer].table.poll_output().is_some() {}
        self.collect(peer, now);
        self.decline(peer, addresses, why);
        self.remove(id, ConnectionEnding::Unanswered);
    }
}
