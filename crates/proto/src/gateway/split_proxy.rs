//! One end of a gateway on a device: connections of the host's own TCP on one side, E2TCP with the other end on the other side. A
//! split-connection proxy (RFC 3135, section 3.1.1).
//!
//! ```text
//!  application ==TCP== SplitProxy ~~~E2TCP over a carrier~~~ SplitProxy ==TCP== server
//!              mobile's kernel                       base station's kernel
//! ```
//! Both ends are this machine. The kernel's connections are the host's: it opens them, reads them and writes them, as outputs say
//! and inputs report. The decisions about a connection are a [`Relay`]'s, as in [`super::Gateway`], whose wired legs are TCP
//! connections of this crate.
//!
//! * **Opening.** A SYN of the kernel's side is held ([`Opening`]) until the other end has connected, and then admitted, refused,
//!   reported unreachable, or left unanswered, as the host beyond did. An opening that the other end declines, or does not answer
//!   to for a time ([`SplitProxyConfig::fallback`]), goes as plain TCP, and so does everything while an end drains. The other end
//!   may have connected by then, with the same addresses and ports, and gives that connection up: when it is told so, or when it
//!   sees the plain SYN itself, whichever comes through first.
//! * **Who may open.** The host refuses what a peer may not open ([`ConnectFailure::Declined`]), before it connects.
//! * **Bounds.** A connection holds at most `buffer` bytes in each direction, half at either leg; half-open connections, and
//!   those of a peer (256, identifiers have a byte), are limited. Beyond the limits connections go as plain TCP.
//! * **Restarts.** Each end draws a number when it starts. A peer that comes with another number has forgotten its connections:
//!   they are reset. One that says nothing any more is asked, and given up after a time (`silence`).
//!
//! Left out: the carrier, which authenticates peers and knows their addresses; and urgent data.

mod messages;
mod plain;
mod silence;

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, Seq, Span, Timeout};

use self::silence::Silence;
use super::connection_book::ConnectionBook;
use super::ending::ConnectionEnding;
use super::message::GatewayMessage;
use super::note::{Fate, Note, Why};
use super::opening::Opening;
use super::proxy_interface::{
    ConnectFailure, ConnectionId, ConnectionRow, ProxyCounters, ProxyTimer, Shares, SplitProxyConfig,
    SplitProxyInput, SplitProxyOutput,
};
use super::relay::{Relay, Side, Verdict};
use super::socket_leg::{SocketLeg, room};
use super::table_leg::TableLeg;
use crate::e2tcp::{
    self, Addresses, ConnectionKey, ConnectionTable, E2tcpPacket, Event, TableInput, TableOutput,
};
use crate::end::{EndEvent, Stream as _};
use crate::tcp::{ReceiveBytes, SendBytes};

/// Time between two attempts to reach a silent peer; openings in between go as plain TCP at once.
const RETRY_SILENT: Span = Span::from_secs(5);

/// How a connection of the kernel's side came.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    /// By its SYN, held until it may be answered.
    Syn(Option<Opening>),
    /// By the call of an application.
    Call(Shares),
    /// From the peer: its SYN, held until it may be answered.
    Peer(Option<E2tcpPacket>),
}

#[derive(Clone, Debug)]
struct Entry {
    peer: usize,
    addresses: Addresses,
    origin: Origin,
    relay: Relay,
    leg: SocketLeg,
    key: Option<ConnectionKey>,
    stands: [bool; 2],
    /// The number of the SYN by which it came.
    number: Option<Seq>,
    began: Instant,
    /// The kernel's connection no longer exists.
    is_socket_over: bool,
}

impl Entry {
    fn is_half_open(&self) -> bool {
        self.stands != [true; 2]
    }
}

#[derive(Clone, Debug)]
struct Peer {
    table: ConnectionTable<SendBytes, ReceiveBytes>,
    /// The number of its start.
    epoch: Option<u64>,
    /// The number of this end's start, as this peer is told.
    own_epoch: u64,
    /// When anything last came from it.
    heard: Option<Instant>,
    /// When it was last found silent.
    silent_since: Option<Instant>,
    silence: Silence,
}

/// A proxy.
#[derive(Clone, Debug)]
pub struct SplitProxy {
    config: SplitProxyConfig,
    peers: Vec<Peer>,
    entries: BTreeMap<ConnectionId, Entry>,
    by_addresses: BTreeMap<(usize, Addresses), ConnectionId>,
    by_key: BTreeMap<(usize, ConnectionKey), ConnectionId>,
    next_id: ConnectionId,
    book: ConnectionBook,
}

impl SplitProxy {
    /// A proxy with this many peers. Panics if the settings of E2TCP do not pass their checks.
    pub fn new(config: SplitProxyConfig, peers: usize) -> Self {
        let peer = |_| Peer {
            table: ConnectionTable::new(config.table()),
            epoch: None,
            own_epoch: config.epoch,
            heard: None,
            silent_since: None,
            silence: Silence::default(),
        };
        let peers = (0..peers).map(peer).collect();
        Self {
            config,
            peers,
            entries: BTreeMap::new(),
            by_addresses: BTreeMap::new(),
            by_key: BTreeMap::new(),
            next_id: 0,
            book: ConnectionBook::default(),
        }
    }

    // Getters.

    /// The counters.
    pub const fn counters(&self) -> &ProxyCounters {
        &self.book.counters
    }

    /// Connections, and how many of them do not stand on both legs yet.
    pub fn connections(&self) -> (usize, usize) {
        (self.entries.len(), self.book.half_open)
    }

    /// The connections, oldest first.
    pub fn rows(&self) -> impl Iterator<Item = ConnectionRow> + '_ {
        self.entries.iter().map(|(id, entry)| {
            let wireless = entry.key.and_then(|key| self.peers[entry.peer].table.connection(key));
            let towards_peer = wireless.map_or(0, e2tcp::Connection::unacknowledged_bytes);
            let from_peer = wireless.map_or(0, e2tcp::Connection::readable_bytes);
            ConnectionRow {
                id: *id,
                peer: entry.peer,
                addresses: entry.addresses,
                is_own: !matches!(entry.origin, Origin::Peer(_)),
                stands: !entry.is_half_open(),
                socket_bytes: [entry.leg.received, entry.leg.sent],
                held_bytes: [entry.leg.readable() + towards_peer, entry.leg.unacknowledged() + from_peer],
                wireless: wireless.map(|connection| *connection.statistics()),
                began: entry.began,
            }
        })
    }

    /// When anything last came from the peer.
    pub fn heard(&self, peer: usize) -> Option<Instant> {
        self.peers[peer].heard
    }

    /// Bytes that the host may read from the connection now; 0 if there is no room.
    pub fn room(&self, id: ConnectionId) -> u64 {
        let Some(entry) = self.entries.get(&id).filter(|entry| !entry.is_half_open()) else { return 0 };
        let wireless = entry.key.and_then(|key| self.peers[entry.peer].table.connection(key));
        let held = wireless.map_or(0, e2tcp::Connection::unacknowledged_bytes);
        room(&entry.leg, held, u64::from(self.config.half()))
    }

    // Methods of the host between inputs, as settling permits them.

    /// Connections whose sockets have something to do, since the last call.
    pub fn take_changed(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.book.changed)
    }

    /// What has become of connections that are not relayed to their end, since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.book.notes)
    }

    /// The next bytes for the kernel's connection.
    pub fn outgoing(&self, id: ConnectionId) -> &[u8] {
        self.entries.get(&id).map_or(&[], |entry| entry.leg.outgoing())
    }

    /// The kernel has taken the first `bytes` of [`SplitProxy::outgoing`].
    pub fn note_written(&mut self, id: ConnectionId, bytes: usize, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.leg.note_written(bytes);
            entry.relay.note_packet(now);
            self.carry_on(id, now);
        }
    }

    /// Whether the host is to close its direction of the kernel's connection: everything is written.
    pub fn is_to_shut(&self, id: ConnectionId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.leg.is_to_shut())
    }

    /// The host has closed its direction.
    pub fn note_shut(&mut self, id: ConnectionId, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.leg.shut = true;
            self.end_socket_if_closed(id, now);
        }
    }

    // Connections.

    /// Adds a connection whose opening is held, if the limit permits.
    fn add(
        &mut self,
        peer: usize,
        addresses: Addresses,
        origin: Origin,
        now: Instant,
    ) -> Result<ConnectionId, Why> {
        if self.book.half_open >= self.config.half_open {
            self.book.counters.over_limit += 1;
            return Err(Why::HalfOpen);
        }
        let (id, side) = (
            self.next_id,
            match origin {
                Origin::Peer(_) => Side::Wireless,
                Origin::Syn(_) | Origin::Call(_) => Side::Wired,
            },
        );
        self.next_id += 1;
        let mut relay = Relay::new(u64::from(self.config.half()), false);
        relay.begin(side, now);
        let idle_at = relay.idle_at(self.config.idle);
        let entry = Entry {
            peer,
            addresses,
            origin,
            relay,
            leg: SocketLeg::default(),
            key: None,
            stands: [false; 2],
            number: None,
            began: now,
            is_socket_over: false,
        };
        self.entries.insert(id, entry);
        self.by_addresses.insert((peer, addresses), id);
        self.book.begin(id, idle_at);
        self.expect(peer, now);
        Ok(id)
    }

    fn remove(&mut self, id: ConnectionId, ending: ConnectionEnding) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.by_addresses.remove(&(entry.peer, entry.addresses));
        self.book.end(id, entry.is_half_open(), ending);
        if let Some(key) = entry.key {
            self.by_key.remove(&(entry.peer, key));
        }
        if !entry.is_socket_over {
            self.book.outputs.push_back(SplitProxyOutput::Reset(id));
        }
        self.book.outputs.push_back(SplitProxyOutput::Ended(id, entry.addresses, ending));
    }

    /// Resets both legs.
    fn abort(&mut self, id: ConnectionId, ending: fn(u64) -> ConnectionEnding, why: Why, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        self.book.note(entry.addresses, Fate::Reset, why);
        let peer = entry.peer;
        let mut wireless = TableLeg { table: &mut self.peers[peer].table, key: entry.key };
        let lost = entry.relay.abort(&mut entry.leg, &mut wireless, now);
        self.collect(peer, now);
        self.remove(id, ending(lost));
    }

    /// Ends an opening of this side whose SYN is answered by `answer`.
    fn end_opening(
        &mut self,
        id: ConnectionId,
        answer: Option<fn(Opening) -> SplitProxyOutput>,
        ending: ConnectionEnding,
        now: Instant,
    ) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let (Origin::Syn(opening), Some(answer)) = (&mut entry.origin, answer) {
            self.book.outputs.extend(opening.take().map(answer));
        }
        let peer = entry.peer;
        TableLeg { table: &mut self.peers[peer].table, key: entry.key }.abort(now);
        self.remove(id, ending);
        self.collect(peer, now);
    }

    fn pass(&mut self, id: ConnectionId, why: Why, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        self.book.note(entry.addresses, Fate::Passed, why);
        self.book.counters.passed += 1;
        self.end_opening(id, Some(SplitProxyOutput::Pass), ConnectionEnding::Unanswered, now);
    }

    // Outputs of E2TCP.

    fn collect(&mut self, peer: usize, now: Instant) {
        loop {
            let table = &mut self.peers[peer].table;
            let Some(output) = table.poll_output() else {
                let due = table.poll_timeout().map(|timeout| timeout.at);
                return self.book.timers.put(ProxyTimer::Peer(peer), due);
            };
            match output {
                TableOutput::Transmit(key, packet, addresses) => {
                    let connection = key.and_then(|key| table.connection(key));
                    let payload =
                        connection.map_or_else(Vec::new, |connection| connection.payload_of(&packet));
                    let expects_answer = packet.sequence_length() > 0;
                    self.transmit(peer, &GatewayMessage::Packet(packet, addresses, payload), expects_answer);
                }
                TableOutput::Opened(key, addresses) => self.note_key(peer, addresses, key),
                TableOutput::Accepted(key, addresses) => self.note_key(peer, addresses.swapped(), key),
                TableOutput::Refused(addresses, _) => self.pass_for_want_of_room(peer, addresses, now),
                TableOutput::Event(key, event) => {
                    if let Some(id) = self.by_key.get(&(peer, key)).copied() {
                        self.on_wireless_event(id, event, now);
                    }
                }
            }
        }
    }

    fn note_key(&mut self, peer: usize, addresses: Addresses, key: ConnectionKey) {
        if let Some(id) = self.by_addresses.get(&(peer, addresses)).copied()
            && let Some(entry) = self.entries.get_mut(&id)
        {
            entry.key = Some(key);
            self.by_key.insert((peer, key), id);
        }
    }

    fn transmit(&mut self, peer: usize, message: &GatewayMessage, expects_answer: bool) {
        self.book.outputs.push_back(SplitProxyOutput::Transmit(peer, message.encode(), expects_answer));
    }

    fn on_wireless_event(&mut self, id: ConnectionId, event: Event, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        let is_call = matches!(entry.origin, Origin::Call(_));
        match event {
            Event::Gap { at, bytes } => {
                self.book.counters.given_up += bytes;
                if is_call {
                    self.book.outputs.push_back(SplitProxyOutput::Gap(id, at, bytes));
                }
            }
            Event::Late { at, .. } if is_call => {
                let connection = entry.key.and_then(|key| self.peers[entry.peer].table.connection(key));
                let pieces = connection.map_or(&[][..], |connection| connection.late());
                let late = pieces.iter().find(|(place, _)| *place == at);
                self.book
                    .outputs
                    .extend(late.map(|(at, bytes)| SplitProxyOutput::Late(id, *at, bytes.clone())));
            }
            _ => {}
        }
        self.on_event(id, Side::Wireless, event.into(), now);
    }

    // The relay.

    fn on_event(&mut self, id: ConnectionId, side: Side, event: EndEvent, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if event == EndEvent::Connected && !entry.stands[side as usize] {
            entry.stands[side as usize] = true;
            if entry.stands == [true; 2] {
                self.book.stand(id);
                self.book.changed.push(id);
            }
        }
        let mut wireless = TableLeg { table: &mut self.peers[entry.peer].table, key: entry.key };
        let verdict = entry.relay.on_event(side, event, &mut entry.leg, &mut wireless, now);
        if let Some(verdict) = verdict {
            self.note_verdict(id, verdict, side, event);
            self.execute(id, verdict, now);
        }
    }

    fn note_verdict(&mut self, id: ConnectionId, verdict: Verdict, side: Side, event: EndEvent) {
        let Some(entry) = self.entries.get(&id) else { return };
        let (fate, why) = match (verdict, side, event) {
            (Verdict::Refuse(_), ..) => (Fate::Refused, Why::HostRefused),
            (Verdict::Forget(_), ..) => (Fate::Unanswered, Why::HostUnanswering),
            (Verdict::Lost(_), Side::Wired, EndEvent::TimedOut) => (Fate::Reset, Why::SocketTimedOut),
            (Verdict::Lost(_), Side::Wired, _) => (Fate::Reset, Why::SocketReset),
            (Verdict::Lost(_), Side::Wireless, EndEvent::TimedOut) => (Fate::Reset, Why::PeerTimedOut),
            (Verdict::Lost(_), Side::Wireless, _) => (Fate::Reset, Why::PeerReset),
            (Verdict::Admit(_) | Verdict::Done, ..) => return,
        };
        self.book.note(entry.addresses, fate, why);
    }

    fn execute(&mut self, id: ConnectionId, verdict: Verdict, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let peer = entry.peer;
        match verdict {
            Verdict::Admit(Side::Wired) => self.admit_own(id, now),
            Verdict::Admit(Side::Wireless) => {
                let Origin::Peer(packet) = &mut entry.origin else { return };
                let Some(packet) = packet.take() else { return };
                let (addresses, at) = (entry.addresses, entry.addresses.receiver());
                let table = &mut self.peers[peer].table;
                table.handle_input(TableInput::Listen(at), now);
                table.handle_input(TableInput::Packet(packet, Some(addresses), Vec::new()), now);
                table.handle_input(TableInput::Unlisten(at), now);
                self.collect(peer, now);
            }
            Verdict::Refuse(Side::Wired) => {
                self.end_opening(id, Some(SplitProxyOutput::Refuse), ConnectionEnding::Refused, now);
            }
            Verdict::Refuse(Side::Wireless) => {
                let Origin::Peer(packet) = &mut entry.origin else { return };
                let (refusal, addresses) =
                    (packet.take().and_then(|packet| packet.refusal()), entry.addresses);
                if let Some(refusal) = refusal {
                    let message = GatewayMessage::Packet(refusal, Some(addresses.swapped()), Vec::new());
                    self.transmit(peer, &message, false);
                }
                self.remove(id, ConnectionEnding::Refused);
            }
            Verdict::Forget(_) => self.end_opening(id, None, ConnectionEnding::Unanswered, now),
            Verdict::Lost(bytes) => {
                self.collect(peer, now);
                self.remove(id, ConnectionEnding::Lost(bytes));
            }
            Verdict::Done => self.remove(id, ConnectionEnding::Closed),
        }
    }

    /// The other end has connected: the opening of this side may be answered.
    fn admit_own(&mut self, id: ConnectionId, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        match &mut entry.origin {
            Origin::Syn(opening) => {
                let admitted = opening.take().map(|opening| SplitProxyOutput::Admit(id, opening));
                self.book.outputs.extend(admitted);
                self.book.timers.put(ProxyTimer::Opening(id), Some(now + self.config.admission));
            }
            Origin::Call(_) => {
                let addresses = entry.addresses;
                self.book.outputs.push_back(SplitProxyOutput::Opened(id, addresses));
                self.on_event(id, Side::Wired, EndEvent::Connected, now);
            }
            Origin::Peer(_) => {}
        }
    }

    /// Carries on what has arrived on a connection, as far as the buffers have room.
    fn carry_on(&mut self, id: ConnectionId, now: Instant) {
        while let Some(entry) = self.entries.get_mut(&id) {
            let peer = entry.peer;
            let mut wireless = TableLeg { table: &mut self.peers[peer].table, key: entry.key };
            if !entry.relay.step(&mut entry.leg, &mut wireless, now) {
                break;
            }
            self.collect(peer, now);
        }
        self.book.changed.push(id);
    }

    fn end_socket_if_closed(&mut self, id: ConnectionId, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if entry.leg.peer_closed && entry.leg.shut && !entry.is_socket_over {
            entry.is_socket_over = true;
            self.book.outputs.push_back(SplitProxyOutput::Close(id));
            let peer = entry.peer;
            self.on_event(id, Side::Wired, EndEvent::Closed, now);
            self.collect(peer, now);
        }
    }

    // Inputs.

    fn open_own(&mut self, peer: usize, opening: Opening, now: Instant) {
        let addresses = opening.addresses();
        if let Some(id) = self.by_addresses.get(&(peer, addresses)).copied() {
            // A repetition says nothing new while the first is held. Later the client did not get the answer to what was admitted, or
            // has begun anew, with another number: one with the same may have waited behind the answer.
            let Some(entry) = self.entries.get_mut(&id) else { return };
            if entry.relay.opened_by().is_some() {
                return;
            }
            if entry.is_half_open() {
                return self.book.outputs.push_back(SplitProxyOutput::Admit(id, opening));
            }
            if entry.number == Some(opening.number()) {
                return;
            }
            self.abort(id, ConnectionEnding::Lost, Why::Anew, now);
        }
        let state = &self.peers[peer];
        let is_silent = state.silent_since.is_some_and(|since| now.saturating_since(since) < RETRY_SILENT);
        let is_full = state.table.is_full(now);
        self.book.counters.over_limit += u64::from(is_full && !self.book.is_draining);
        let obstacle =
            [(self.book.is_draining, Why::Draining), (is_silent, Why::PeerSilent), (is_full, Why::NoNumber)];
        let added = match obstacle.into_iter().find(|(is_met, _)| *is_met) {
            Some((_, why)) => Err(why),
            None => self.add(peer, addresses, Origin::Syn(None), now),
        };
        let id = match added {
            Ok(id) => id,
            Err(why) => {
                self.book.counters.passed += 1;
                self.book.note(addresses, Fate::Passed, why);
                return self.book.outputs.push_back(SplitProxyOutput::Pass(opening));
            }
        };
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.number = Some(opening.number());
            entry.origin = Origin::Syn(Some(opening));
        }
        self.begin(id, peer, TableInput::Open(addresses), now);
    }

    fn open_for_application(&mut self, peer: usize, addresses: Addresses, shares: Shares, now: Instant) {
        let id = match self.add(peer, addresses, Origin::Call(shares), now) {
            Ok(id) => id,
            Err(why) => {
                self.book.note(addresses, Fate::Refused, why);
                let ended = SplitProxyOutput::Ended(self.next_id, addresses, ConnectionEnding::Refused);
                return self.book.outputs.push_back(ended);
            }
        };
        let asks = (shares.offered < 100).then_some(shares.offered);
        self.begin(id, peer, TableInput::OpenWith(addresses, shares.wanted, asks), now);
        if self.entries.get(&id).is_some_and(|entry| entry.key.is_none()) {
            self.end_opening(id, None, ConnectionEnding::Refused, now);
        }
    }

    fn begin(&mut self, id: ConnectionId, peer: usize, open: TableInput<Vec<u8>, Vec<u8>>, now: Instant) {
        self.book.timers.put(ProxyTimer::Opening(id), Some(now + self.config.fallback));
        self.peers[peer].table.handle_input(open, now);
        self.collect(peer, now);
    }

    fn on_failure(&mut self, id: ConnectionId, failure: ConnectFailure, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.is_socket_over = true;
        let (peer, addresses) = (entry.peer, entry.addresses);
        let is_opening = entry.relay.opened_by() == Some(Side::Wireless);
        match failure {
            ConnectFailure::Unreachable if is_opening => {
                self.book.note(addresses, Fate::Refused, Why::Unreachable);
                self.transmit(peer, &GatewayMessage::Unreachable(addresses), false);
                self.remove(id, ConnectionEnding::Unreachable);
            }
            ConnectFailure::Declined if is_opening => {
                self.decline(peer, addresses, Why::NotPermitted);
                self.remove(id, ConnectionEnding::Unanswered);
            }
            ConnectFailure::TimedOut => self.on_event(id, Side::Wired, EndEvent::TimedOut, now),
            _ => self.on_event(id, Side::Wired, EndEvent::Reset, now),
        }
    }

    /// The time for an opening is over.
    fn on_opening_timeout(&mut self, id: ConnectionId, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        if entry.relay.opened_by() != Some(Side::Wired) {
            // It was admitted, and its client has gone.
            return self.abort(id, ConnectionEnding::Lost, Why::Unfinished, now);
        }
        let peer = entry.peer;
        let is_there = self.peers[peer].heard.is_some_and(|heard| heard >= entry.began);
        if is_there {
            return;
        }
        self.peers[peer].silent_since = Some(now);
        self.pass_unanswered(id, Why::PeerUnanswering, now);
    }

    /// An opening of this side that the peer has not answered goes as plain TCP.
    fn pass_unanswered(&mut self, id: ConnectionId, why: Why, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        let (peer, addresses) = (entry.peer, entry.addresses);
        self.pass(id, why, now);
        self.transmit(peer, &GatewayMessage::Withdrawn(addresses), false);
    }

    /// The ends have no identifier that is free on both sides: an opening of this side goes as plain TCP.
    fn pass_for_want_of_room(&mut self, peer: usize, addresses: Addresses, now: Instant) {
        let id = self.by_addresses.get(&(peer, addresses)).copied();
        let is_held = |entry: &Entry| matches!(entry.origin, Origin::Syn(Some(_)));
        if let Some(id) = id.filter(|id| self.entries.get(id).is_some_and(is_held)) {
            self.book.counters.over_limit += 1;
            self.pass_unanswered(id, Why::NoNumber, now);
        }
    }

    fn abort_all(&mut self, now: Instant) {
        self.book.is_draining = true;
        let ids: Vec<ConnectionId> = self.entries.keys().copied().collect();
        for id in ids {
            self.abort(id, ConnectionEnding::Lost, Why::Draining, now);
        }
    }
}

impl Machine for SplitProxy {
    type Input = SplitProxyInput;
    type Output = SplitProxyOutput;
    type Reason = ProxyTimer;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        match input {
            SplitProxyInput::Opening(peer, opening) => self.open_own(peer, opening, now),
            SplitProxyInput::PlainOpening(peer, opening) => self.take_plain_opening(peer, opening, now),
            SplitProxyInput::PlainReset(peer, addresses, number) => {
                self.take_plain_reset(peer, addresses, number, now);
            }
            SplitProxyInput::Open(peer, addresses, shares) => {
                self.open_for_application(peer, addresses, shares, now);
            }
            SplitProxyInput::Accepted(id) | SplitProxyInput::Connected(id) => {
                self.on_event(id, Side::Wired, EndEvent::Connected, now);
                self.carry_on(id, now);
            }
            SplitProxyInput::Failed(id, failure) => self.on_failure(id, failure, now),
            SplitProxyInput::Received(id, data) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.leg.push(data);
                    entry.relay.note_packet(now);
                    let peer = entry.peer;
                    self.expect(peer, now);
                    self.carry_on(id, now);
                }
            }
            SplitProxyInput::PeerClosed(id) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.leg.peer_closed = true;
                    self.on_event(id, Side::Wired, EndEvent::PeerClosed, now);
                    self.carry_on(id, now);
                    self.end_socket_if_closed(id, now);
                }
            }
            SplitProxyInput::Message(peer, bytes) => self.take_message(peer, &bytes, now),
            SplitProxyInput::SignOfLife(peer) => self.note_sign_of_life(peer, now),
            SplitProxyInput::Greet(peer) => self.tell_epoch(peer, false),
            SplitProxyInput::Drain => self.book.is_draining = true,
            SplitProxyInput::Abort => self.abort_all(now),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.book.expire(now) {
            match timer {
                ProxyTimer::Peer(peer) => {
                    self.peers[peer].table.handle_timeout(now);
                    self.collect(peer, now);
                }
                ProxyTimer::Silence(peer) => self.on_silence(peer, now),
                ProxyTimer::Opening(id) => self.on_opening_timeout(id, now),
                ProxyTimer::Idle(id) => {
                    let Some(entry) = self.entries.get(&id) else { continue };
                    if !self.book.rearm_idle(id, entry.relay.idle_at(self.config.idle), now) {
                        self.abort(id, ConnectionEnding::Idle, Why::Idle, now);
                    }
                }
            }
        }
    }

    fn poll_output(&mut self) -> Option<SplitProxyOutput> {
        self.book.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<ProxyTimer>> {
        self.book.next_timeout()
    }
}
