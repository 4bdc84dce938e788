//! Openings: those of the kernel's side and of applications, and what becomes of them if the other leg cannot be had.

use airwatt_base::{Instant, Machine as _, Span};

use super::super::ending::ConnectionEnding;
use super::super::message::GatewayMessage;
use super::super::note::{ConnectionFate, Why};
use super::super::opening::Opening;
use super::super::relay::Side;
use super::{
    ConnectFailure, ConnectionId, Entry, Origin, ProxyTimer, Shares, SplitProxy, SplitProxyOutput as Out,
};
use crate::e2tcp::{Addresses, Input, TableInput};
use crate::end::EndEvent;

/// Time between two attempts to reach a silent peer; openings in between go as plain TCP at once.
const RETRY_SILENT: Span = Span::from_secs(5);

impl SplitProxy {
    pub(super) fn open_own(&mut self, peer: usize, opening: Opening, now: Instant) {
        let addresses = opening.addresses();
        if let Some(id) = self.by_addresses.get(&(peer, addresses)).copied() {
            // A repetition says nothing new while the first is held. Later the client did not get the answer to what was admitted, or
            // has begun anew, with another number: one with the same may have waited behind the answer.
            let Some(entry) = self.entries.get_mut(&id) else { return };
            if entry.relay.opened_by().is_some() {
                return;
            }
            if entry.is_half_open() {
                let socket = self.socket_of(id, Side::Wired);
                return self.book.outputs.push_back(Out::Admit(socket, opening));
            }
            if self.is_alone {
                return self.book.outputs.push_back(Out::Present(opening));
            }
            if entry.number == Some(opening.number()) {
                return;
            }
            self.abort(id, ConnectionEnding::Lost, Why::Anew, now);
        }
        let state = self.peers.get(peer);
        let silent_since = state.and_then(|state| state.silent_since);
        let is_silent = silent_since.is_some_and(|since| now.saturating_since(since) < RETRY_SILENT);
        let is_full = state.is_some_and(|state| state.is_full(now));
        let obstacle =
            [(self.book.is_draining, Why::Draining), (is_silent, Why::PeerSilent), (is_full, Why::NoNumber)];
        let added = match obstacle.into_iter().find(|(is_met, _)| *is_met) {
            Some((_, why)) => Err(why),
            None => self.add(peer, addresses, Origin::Syn(None), now),
        };
        let id = match added {
            Ok(id) => id,
            Err(why) => {
                self.book.pass(addresses, opening.number(), why);
                return self.book.outputs.push_back(Out::Pass(opening));
            }
        };
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.number = Some(opening.number());
            entry.origin = Origin::Syn(Some(opening));
        }
        if self.is_alone {
            let socket = self.socket_of(id, Side::Wireless);
            return self.book.outputs.push_back(Out::Connect(socket, peer, addresses));
        }
        self.begin(id, peer, TableInput::Open(addresses), now);
    }

    pub(super) fn open_for_application(
        &mut self,
        peer: usize,
        addresses: Addresses,
        shares: Shares,
        now: Instant,
    ) {
        let id = match self.add(peer, addresses, Origin::Call(shares), now) {
            Ok(id) => id,
            Err(why) => {
                self.book.counters.over_limit += 1;
                self.book.note(addresses, ConnectionFate::Refused, why);
                let ended = Out::Ended(self.next_id, addresses, ConnectionEnding::BeyondLimit);
                return self.book.outputs.push_back(ended);
            }
        };
        let asks = (shares.offered < 100).then_some(shares.offered);
        self.begin(id, peer, TableInput::OpenWith(addresses, shares.wanted, asks), now);
    }

    /// The application of an opening has gone: its number is free again, and the peer opens nothing.
    pub(super) fn cancel(&mut self, peer: usize, addresses: Addresses, now: Instant) {
        let Some(id) = self.own_opening(peer, addresses) else { return };
        if self.entries.get(&id).is_some_and(|entry| matches!(entry.origin, Origin::Call(_))) {
            self.book.note(addresses, ConnectionFate::Reset, Why::SocketReset);
            self.end_opening(id, None, ConnectionEnding::Lost(0), now);
            self.transmit(peer, &GatewayMessage::Withdrawn(addresses), false);
        }
    }

    fn begin(&mut self, id: ConnectionId, peer: usize, open: TableInput<Vec<u8>, Vec<u8>>, now: Instant) {
        self.book.timers.put(ProxyTimer::Opening(id), Some(now + self.config.fallback));
        self.peers[peer].table.handle_input(open, now);
        self.collect(peer, now);
    }

    /// Openings of this side that the peer has not answered are sent again: they may have been lost before its session.
    pub(super) fn repeat_openings(&mut self, peer: usize, now: Instant) {
        let waiting = |entry: &&Entry| entry.peer == peer && entry.relay.opened_by() == Some(Side::Wired);
        let keys: Vec<_> =
            self.entries.values().filter(waiting).filter_map(|entry| entry.far.key()).collect();
        for key in keys {
            self.peers[peer].table.handle_input(TableInput::Call(key, Input::Open), now);
        }
        self.collect(peer, now);
    }

    pub(super) fn on_failure(&mut self, socket: ConnectionId, failure: ConnectFailure, now: Instant) {
        let (id, side) = self.place(socket);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Some(leg) = entry.socket(side) {
            leg.is_over = true;
        }
        let (peer, addresses) = (entry.peer, entry.addresses);
        let opened_by = entry.relay.opened_by().filter(|by| *by == side.other());
        match (failure, opened_by) {
            (ConnectFailure::Unreachable, Some(Side::Wireless)) => {
                self.book.note(addresses, ConnectionFate::Refused, Why::Unreachable);
                self.transmit(peer, &GatewayMessage::Unreachable(addresses), false);
                self.remove(id, ConnectionEnding::Unreachable);
            }
            (ConnectFailure::Unreachable, Some(Side::Wired)) => self.refuse_unreachable(id, now),
            (ConnectFailure::Declined, Some(Side::Wireless)) => {
                self.decline(peer, addresses, Why::NotPermitted);
                self.remove(id, ConnectionEnding::Unanswered);
            }
            (ConnectFailure::Declined, Some(Side::Wired)) => self.pass(id, Why::NotPermitted, now),
            (ConnectFailure::TimedOut, _) => self.on_event(id, side, EndEvent::TimedOut, now),
            _ => self.on_event(id, side, EndEvent::Reset, now),
        }
    }

    /// No route leads to the host beyond an opening of this side.
    pub(super) fn refuse_unreachable(&mut self, id: ConnectionId, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        self.book.note(entry.addresses, ConnectionFate::Refused, Why::Unreachable);
        self.end_opening(id, Some(Out::Unreachable), ConnectionEnding::Unreachable, now);
    }

    /// The time for an opening is over.
    pub(super) fn on_opening_timeout(&mut self, id: ConnectionId, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        let peer = entry.peer;
        if matches!(entry.origin, Origin::Peer(_)) {
            return self.give_up_answered(id, Why::PeerTimedOut, now);
        }
        if entry.relay.opened_by() != Some(Side::Wired) {
            // It was admitted, and its client has gone.
            return self.abort(id, ConnectionEnding::Lost, Why::Unfinished, now);
        }
        let is_there = self.peers[peer].heard.is_some_and(|heard| heard >= entry.began);
        if is_there {
            return;
        }
        self.peers[peer].silent_since = Some(now);
        self.pass_unanswered(id, Why::PeerUnanswering, now);
    }

    /// An opening of this side that the peer has not answered goes as plain TCP.
    pub(super) fn pass_unanswered(&mut self, id: ConnectionId, why: Why, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        let (peer, addresses) = (entry.peer, entry.addresses);
        self.pass(id, why, now);
        self.transmit(peer, &GatewayMessage::Withdrawn(addresses), false);
    }

    /// The ends have no identifier that is free on both sides: an opening of this side goes as plain TCP, and that of an application ends.
    pub(super) fn pass_for_want_of_room(&mut self, peer: usize, addresses: Addresses, now: Instant) {
        let Some(id) = self.own_opening(peer, addresses) else { return };
        match self.entries.get(&id).map(|entry| &entry.origin) {
            Some(Origin::Syn(Some(_))) => self.pass_unanswered(id, Why::NoNumber, now),
            Some(Origin::Call(_)) => {
                self.book.counters.over_limit += 1;
                self.book.note(addresses, ConnectionFate::Refused, Why::NoNumber);
                self.end_opening(id, None, ConnectionEnding::BeyondLimit, now);
            }
            _ => {}
        }
    }

    /// The opening of this side with these addresses that waits for the peer.
    pub(super) fn own_opening(&self, peer: usize, addresses: Addresses) -> Option<ConnectionId> {
        let id = *self.by_addresses.get(&(peer, addresses))?;
        (self.entries.get(&id)?.relay.opened_by() == Some(Side::Wired)).then_some(id)
    }
}
