//! The messages of a peer: signs of life, the number of its start, answers to openings, and packets of E2TCP.

use airwatt_base::{Instant, Machine as _};

use super::super::ending::ConnectionEnding;
use super::super::message::GatewayMessage;
use super::super::note::Why;
use super::super::relay::Side;
use super::{ConnectionId, Entry, Origin, SplitProxy, SplitProxyOutput};
use crate::e2tcp::{Addresses, E2tcpPacket, TableInput};

impl SplitProxy {
    pub(super) fn take_message(&mut self, peer: usize, bytes: &[u8], now: Instant) {
        self.note_sign_of_life(peer, now);
        match GatewayMessage::decode(bytes) {
            None => self.book.counters.dropped += 1,
            Some(GatewayMessage::Present) => {}
            Some(GatewayMessage::Started { epoch, answers }) => self.on_started(peer, epoch, answers, now),
            Some(GatewayMessage::Unreachable(addresses)) => {
                if let Some(id) = self.own_opening(peer, addresses) {
                    self.refuse_unreachable(id, now);
                }
            }
            Some(GatewayMessage::Declined(addresses)) => {
                if let Some(id) = self.own_opening(peer, addresses) {
                    self.pass(id, Why::PeerDeclined, now);
                } else if let Some(id) = self.by_addresses.get(&(peer, addresses)).copied()
                    && self.entries.get(&id).is_some_and(|entry| !matches!(entry.origin, Origin::Peer(_)))
                {
                    // This end has its answer, and the peer did not learn so.
                    self.abort(id, ConnectionEnding::Lost, Why::PeerReset, now);
                }
            }
            Some(GatewayMessage::Withdrawn(addresses)) => self.withdraw(peer, addresses, now),
            Some(GatewayMessage::Packet(packet, addresses, payload)) => {
                self.take_packet(peer, packet, addresses, payload, now);
            }
        }
    }

    fn on_started(&mut self, peer: usize, epoch: u64, answers: bool, now: Instant) {
        let before = self.peers[peer].epoch.replace(epoch);
        let has_none_older = self.has_none_older(peer);
        if before.is_some_and(|before| before != epoch) && !has_none_older {
            self.book.counters.restarts += 1;
            // Those that this end has just begun are on their way to the new one.
            let is_old = |entry: &&Entry| entry.peer == peer && entry.relay.opened_by() != Some(Side::Wired);
            let ids: Vec<ConnectionId> =
                self.entries.iter().filter(|(_, entry)| is_old(entry)).map(|(id, _)| *id).collect();
            for id in ids {
                self.abort(id, ConnectionEnding::Lost, Why::PeerRestarted, now);
            }
        }
        if answers {
            self.note_told(peer);
        } else {
            self.tell_epoch(peer, true);
        }
    }

    fn take_packet(
        &mut self,
        peer: usize,
        mut packet: E2tcpPacket,
        addresses: Option<Addresses>,
        payload: Vec<u8>,
        now: Instant,
    ) {
        let is_syn = packet.header.control.syn();
        let opens = is_syn && packet.header.acknowledgement.is_none();
        if let Some(addresses) = addresses.filter(|_| is_syn && !opens)
            && self.is_late_answer(peer, addresses.swapped(), packet.header.connection)
        {
            self.book.counters.dropped += 1;
            return;
        }
        if let Some(addresses) = addresses.filter(|_| opens) {
            if self.peers[peer].table.restarts(addresses, &packet)
                && let Some(id) = self.by_addresses.get(&(peer, addresses)).copied()
            {
                self.abort(id, ConnectionEnding::Lost, Why::Anew, now);
            }
            let Some(id) = self.by_addresses.get(&(peer, addresses)).copied() else {
                return self.open_for_peer(peer, packet, addresses, now);
            };
            if let Some(entry) = self.entries.get_mut(&id)
                && entry.relay.opened_by() == Some(Side::Wireless)
            {
                return entry.relay.note_packet(now);
            }
            let Some(number) = self.repeated(id, packet.header.connection, now) else { return };
            packet.header.connection = number;
        }
        let table = &mut self.peers[peer].table;
        let key = table.key_of(addresses, packet.header.connection);
        table.handle_input(TableInput::Packet(packet, addresses, payload), now);
        self.collect(peer, now);
        match key.and_then(|key| self.by_key.get(&(peer, key)).copied()) {
            Some(id) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.relay.note_packet(now);
                }
                self.expect(peer, now);
                self.carry_on(id, now);
            }
            None => self.book.counters.dropped += 1,
        }
    }

    fn open_for_peer(&mut self, peer: usize, packet: E2tcpPacket, addresses: Addresses, now: Instant) {
        let added = if self.book.is_draining {
            Err(Why::Draining)
        } else if self.peers[peer].is_full(now) {
            Err(Why::NoNumber)
        } else {
            self.add(peer, addresses, Origin::Peer(Some(packet)), now)
        };
        let id = match added {
            Ok(id) => id,
            Err(why) => return self.decline(peer, addresses, why),
        };
        self.peers[peer].promised += 1;
        if self.config.shows_presence {
            self.transmit(peer, &GatewayMessage::Present, false);
        }
        self.book.outputs.push_back(SplitProxyOutput::Connect(id, peer, addresses));
    }
}
