//! What relays connections on a device: connections of the host's own TCP on one side, E2TCP with the other end of the gateway, or more
//! connections of the host, on the other side. A split-connection proxy (RFC 3135, section 3.1.1).
//!
//! ```text
//!  application ==TCP== SplitProxy ~~~E2TCP over a carrier~~~ SplitProxy ==TCP== server
//!              mobile's kernel                       base station's kernel
//! ```
//! Both ends are this machine. The kernel's connections are the host's: it opens them, reads them and writes them, as outputs say
//! and inputs report. The decisions about a connection are a [`Relay`]'s, as in [`super::Gateway`], whose wired legs are TCP
//! connections of this crate.
//!
//! Without peers ([`SplitProxy::alone`]) it is a base station for mobiles that are unchanged (I-TCP): a connection ends at one socket
//! of this host and is carried on over another one.
//!
//! ```text
//!  host that opens ==TCP== SplitProxy ==TCP== host beyond
//! ```
//! A [`ConnectionId`] of an output or input names a socket then: connection `n` has the sockets `2 n`, to the host that opened it, and
//! `2 n + 1`, to the host beyond. Inputs about peers have no effect.
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

mod far;
mod messages;
mod numbers;
mod openings;
mod plain;
mod silence;

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, Seq, Timeout};

use self::far::Far;
use self::silence::Silence;
use super::connection_book::ConnectionBook;
use super::ending::ConnectionEnding;
use super::message::GatewayMessage;
use super::note::{ConnectionFate, Note, Why};
use super::opening::Opening;
use super::proxy_interface::{
    ConnectFailure, ConnectionId, ConnectionRow, ProxyCounters, ProxyTimer, Shares, SplitProxyConfig,
    SplitProxyInput, SplitProxyOutput,
};
use super::relay::{Relay, RelayAction, Side};
use super::socket_leg::{SocketLeg, room};
use crate::e2tcp::{Addresses, ConnectionKey, ConnectionTable, E2tcpPacket, Event, TableOutput};
use crate::end::{EndEvent, Stream as _};
use crate::tcp::{ReceiveBytes, SendBytes};

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
    far: Far,
    stands: [bool; 2],
    /// The number of the SYN by which it came.
    number: Option<Seq>,
    /// The number of E2TCP that was proposed for it first.
    proposed: u8,
    began: Instant,
}

impl Entry {
    fn is_half_open(&self) -> bool {
        self.stands != [true; 2]
    }

    /// The socket on a side; E2TCP has none.
    fn socket(&mut self, side: Side) -> Option<&mut SocketLeg> {
        match (side, &mut self.far) {
            (Side::Wired, _) => Some(&mut self.leg),
            (Side::Wireless, Far::Socket(leg)) => Some(leg),
            (Side::Wireless, Far::Peer(_)) => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Peer {
    table: ConnectionTable<SendBytes, ReceiveBytes>,
    /// Openings of its that are held: each is to have a number of the table.
    promised: usize,
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
    /// Without any, far legs are sockets.
    is_alone: bool,
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
            promised: 0,
            epoch: None,
            own_epoch: config.epoch,
            heard: None,
            silent_since: None,
            silence: Silence::default(),
        };
        let peers = (0..peers).map(peer).collect();
        Self {
            config,
            is_alone: false,
            peers,
            entries: BTreeMap::new(),
            by_addresses: BTreeMap::new(),
            by_key: BTreeMap::new(),
            next_id: 0,
            book: ConnectionBook::default(),
        }
    }

    /// A proxy between sockets of this host. Of the settings `buffer`, `connections`, `half_open`, `idle` and `admission` have
    /// an effect.
    pub fn alone(config: SplitProxyConfig) -> Self {
        Self { is_alone: true, ..Self::new(config, 0) }
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
            let [readable, unacknowledged] = entry.far.held(&self.peers, entry.peer);
            let wireless = entry.far.connection(&self.peers, entry.peer);
            ConnectionRow {
                id: *id,
                peer: entry.peer,
                addresses: entry.addresses,
                is_own: !matches!(entry.origin, Origin::Peer(_)),
                stands: !entry.is_half_open(),
                socket_bytes: [entry.leg.received, entry.leg.sent],
                held_bytes: [entry.leg.readable() + unacknowledged, entry.leg.unacknowledged() + readable],
                wireless: wireless.map(|connection| *connection.statistics()),
                began: entry.began,
            }
        })
    }

    /// When anything last came from the peer.
    pub fn heard(&self, peer: usize) -> Option<Instant> {
        self.peers.get(peer)?.heard
    }

    /// Bytes that the host may read from the connection now; 0 if there is no room.
    pub fn room(&self, socket: ConnectionId) -> u64 {
        let (id, side) = self.place(socket);
        let Some(entry) = self.entries.get(&id).filter(|entry| !entry.is_half_open()) else { return 0 };
        let half = u64::from(self.config.half());
        match (side, &entry.far) {
            (Side::Wired, far) => room(&entry.leg, far.held(&self.peers, entry.peer)[1], half),
            (Side::Wireless, Far::Socket(leg)) => room(leg, entry.leg.unacknowledged(), half),
            (Side::Wireless, Far::Peer(_)) => 0,
        }
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

    /// The host passes an opening for a peer of which nothing was heard.
    pub fn note_passed(&mut self, opening: &Opening) {
        self.book.pass(opening.addresses(), opening.number(), Why::PeerUnknown);
    }

    /// The largest payload of a packet to this peer in bytes; `None` without peers.
    pub fn payload_max(&self, peer: usize) -> Option<u16> {
        self.peers.get(peer).map(|peer| peer.table.payload_max())
    }

    /// The path to this peer carries packets with at most this payload.
    pub fn narrow(&mut self, peer: usize, payload: u16, now: Instant) {
        if let Some(state) = self.peers.get_mut(peer) {
            state.table.narrow(payload, now);
            self.collect(peer, now);
        }
    }

    /// The next bytes for the kernel's connection.
    pub fn outgoing(&self, socket: ConnectionId) -> &[u8] {
        self.socket(socket).map_or(&[], SocketLeg::outgoing)
    }

    /// The kernel has taken the first `bytes` of [`SplitProxy::outgoing`].
    pub fn note_written(&mut self, socket: ConnectionId, bytes: usize, now: Instant) {
        self.on_socket(socket, now, |leg| leg.note_written(bytes));
    }

    /// Whether the host is to close its direction of the kernel's connection: everything is written.
    pub fn is_to_shut(&self, socket: ConnectionId) -> bool {
        self.socket(socket).is_some_and(SocketLeg::is_to_shut)
    }

    /// The host has closed its direction.
    pub fn note_shut(&mut self, socket: ConnectionId, now: Instant) {
        let (id, side) = self.place(socket);
        if let Some(leg) = self.entries.get_mut(&id).and_then(|entry| entry.socket(side)) {
            leg.shut = true;
            self.end_socket_if_closed(id, side, now);
        }
    }

    // Sockets.

    /// The connection of a socket, and the side on which it has it.
    const fn place(&self, socket: ConnectionId) -> (ConnectionId, Side) {
        match (self.is_alone, socket % 2) {
            (false, _) => (socket, Side::Wired),
            (true, 0) => (socket / 2, Side::Wired),
            (true, _) => (socket / 2, Side::Wireless),
        }
    }

    /// The name of the socket of a connection on a side.
    const fn socket_of(&self, id: ConnectionId, side: Side) -> ConnectionId {
        if self.is_alone { 2 * id + side as ConnectionId } else { id }
    }

    fn socket(&self, socket: ConnectionId) -> Option<&SocketLeg> {
        let (id, side) = self.place(socket);
        let entry = self.entries.get(&id)?;
        match (side, &entry.far) {
            (Side::Wired, _) => Some(&entry.leg),
            (Side::Wireless, Far::Socket(leg)) => Some(leg),
            (Side::Wireless, Far::Peer(_)) => None,
        }
    }

    /// Something has happened at a socket: what that makes room for is carried on.
    fn on_socket(&mut self, socket: ConnectionId, now: Instant, happens: impl FnOnce(&mut SocketLeg)) {
        let (id, side) = self.place(socket);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.relay.note_packet(now);
        if let Some(leg) = entry.socket(side) {
            happens(leg);
            self.carry_on(id, now);
        }
    }

    /// The host has to look at the sockets of a connection.
    fn note_changed(&mut self, id: ConnectionId) {
        let far = self.is_alone.then(|| self.socket_of(id, Side::Wireless));
        self.book.changed.push(self.socket_of(id, Side::Wired));
        self.book.changed.extend(far);
    }

    // Connections.

    /// Adds a connection whose opening is held, if the limits permit.
    fn add(
        &mut self,
        peer: usize,
        addresses: Addresses,
        origin: Origin,
        now: Instant,
    ) -> Result<ConnectionId, Why> {
        if self.entries.len() >= self.config.connections {
            return Err(Why::NoDescriptor);
        }
        if self.book.half_open >= self.config.half_open {
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
            far: if self.is_alone { Far::Socket(SocketLeg::default()) } else { Far::Peer(None) },
            stands: [false; 2],
            number: None,
            proposed: 0,
            began: now,
        };
        self.entries.insert(id, entry);
        self.by_addresses.insert((peer, addresses), id);
        self.book.begin(id, idle_at);
        if !self.is_alone {
            self.expect(peer, now);
        }
        Ok(id)
    }

    /// Declines an opening of the peer, which then goes as plain TCP.
    fn decline(&mut self, peer: usize, addresses: Addresses, why: Why) {
        self.book.counters.declined += 1;
        self.book.counters.over_limit += u64::from(why.is_limit());
        self.book.note(addresses, ConnectionFate::Declined, why);
        self.transmit(peer, &GatewayMessage::Declined(addresses), false);
    }

    fn remove(&mut self, id: ConnectionId, ending: ConnectionEnding) {
        self.take_held(id);
        let Some(mut entry) = self.entries.remove(&id) else { return };
        self.by_addresses.remove(&(entry.peer, entry.addresses));
        self.book.end(id, entry.is_half_open(), ending);
        if let Some(key) = entry.far.key() {
            self.by_key.remove(&(entry.peer, key));
        }
        for side in [Side::Wired, Side::Wireless] {
            if entry.socket(side).is_some_and(|leg| !leg.is_over) {
                self.book.outputs.push_back(SplitProxyOutput::Reset(self.socket_of(id, side)));
            }
        }
        self.book.outputs.push_back(SplitProxyOutput::Ended(id, entry.addresses, ending));
    }

    /// Resets both legs.
    fn abort(&mut self, id: ConnectionId, ending: fn(u64) -> ConnectionEnding, why: Why, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        self.book.note(entry.addresses, ConnectionFate::Reset, why);
        let peer = entry.peer;
        let mut far = entry.far.with(&mut self.peers, peer);
        let lost = entry.relay.abort(&mut entry.leg, far.stream(), now);
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
        entry.far.with(&mut self.peers, peer).stream().abort(now);
        self.remove(id, ending);
        self.collect(peer, now);
    }

    fn pass(&mut self, id: ConnectionId, why: Why, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        match entry.number {
            Some(number) => self.book.pass(entry.addresses, number, why),
            None => self.book.note(entry.addresses, ConnectionFate::Refused, why),
        }
        self.end_opening(id, Some(SplitProxyOutput::Pass), ConnectionEnding::Unanswered, now);
    }

    // Outputs of E2TCP.

    fn collect(&mut self, peer: usize, now: Instant) {
        while let Some(Peer { table, .. }) = self.peers.get_mut(peer) {
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
                    if packet.header.control.syn() && packet.header.acknowledgement.is_none() {
                        self.before_opening(peer);
                    }
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
            entry.far = Far::Peer(Some(key));
            self.by_key.insert((peer, key), id);
            if let (Origin::Syn(_) | Origin::Call(_), Some(connection)) =
                (&entry.origin, entry.far.connection(&self.peers, peer))
            {
                entry.proposed = connection.id();
            }
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
                let connection = entry.far.connection(&self.peers, entry.peer);
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
                self.note_changed(id);
            }
        }
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let mut far = entry.far.with(&mut self.peers, entry.peer);
        let verdict = entry.relay.on_event(side, event, &mut entry.leg, far.stream(), now);
        if let Some(verdict) = verdict {
            self.note_verdict(id, verdict, side, event);
            self.execute(id, verdict, now);
        }
    }

    fn note_verdict(&mut self, id: ConnectionId, verdict: RelayAction, side: Side, event: EndEvent) {
        let Some(entry) = self.entries.get(&id) else { return };
        let (fate, why) = match (verdict, side, event) {
            (RelayAction::Refuse(_), ..) => (ConnectionFate::Refused, Why::HostRefused),
            (RelayAction::Forget(_), ..) => (ConnectionFate::Unanswered, Why::HostUnanswering),
            (RelayAction::Lost(_), ..) => {
                (ConnectionFate::Reset, self.why_lost(side, event == EndEvent::TimedOut))
            }
            (RelayAction::Admit(_) | RelayAction::Done, ..) => return,
        };
        self.book.note(entry.addresses, fate, why);
    }

    const fn why_lost(&self, side: Side, timed_out: bool) -> Why {
        match (self.is_alone, side, timed_out) {
            (false, Side::Wired, false) => Why::SocketReset,
            (false, Side::Wired, true) => Why::SocketTimedOut,
            (false, Side::Wireless, false) => Why::PeerReset,
            (false, Side::Wireless, true) => Why::PeerTimedOut,
            (true, Side::Wired, false) => Why::OpenerReset,
            (true, Side::Wired, true) => Why::OpenerTimedOut,
            (true, Side::Wireless, false) => Why::FarReset,
            (true, Side::Wireless, true) => Why::FarTimedOut,
        }
    }

    fn execute(&mut self, id: ConnectionId, verdict: RelayAction, now: Instant) {
        let Some(entry) = self.entries.get(&id) else { return };
        let peer = entry.peer;
        match verdict {
            RelayAction::Admit(Side::Wired) => self.admit_own(id, now),
            RelayAction::Admit(Side::Wireless) => self.admit_of_peer(id, now),
            RelayAction::Refuse(Side::Wired) => {
                self.end_opening(id, Some(SplitProxyOutput::Refuse), ConnectionEnding::Refused, now);
            }
            RelayAction::Refuse(Side::Wireless) => {
                let addresses = entry.addresses;
                if let Some(refusal) = self.take_held(id).and_then(|held| held.refusal()) {
                    let message = GatewayMessage::Packet(refusal, Some(addresses.swapped()), Vec::new());
                    self.transmit(peer, &message, false);
                }
                self.remove(id, ConnectionEnding::Refused);
            }
            RelayAction::Forget(_) => self.end_opening(id, None, ConnectionEnding::Unanswered, now),
            RelayAction::Lost(bytes) => {
                self.collect(peer, now);
                self.remove(id, ConnectionEnding::Lost(bytes));
            }
            RelayAction::Done => self.remove(id, ConnectionEnding::Closed),
        }
    }

    /// The other end has connected: the opening of this side may be answered.
    fn admit_own(&mut self, id: ConnectionId, now: Instant) {
        let socket = self.socket_of(id, Side::Wired);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        match &mut entry.origin {
            Origin::Syn(opening) => {
                let admitted = opening.take().map(|opening| SplitProxyOutput::Admit(socket, opening));
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
            let mut far = entry.far.with(&mut self.peers, peer);
            if !entry.relay.step(&mut entry.leg, far.stream(), now) {
                break;
            }
            self.collect(peer, now);
        }
        self.note_changed(id);
    }

    fn end_socket_if_closed(&mut self, id: ConnectionId, side: Side, now: Instant) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let peer = entry.peer;
        if let Some(leg) = entry.socket(side)
            && leg.peer_closed
            && leg.shut
            && !leg.is_over
        {
            leg.is_over = true;
            self.book.outputs.push_back(SplitProxyOutput::Close(self.socket_of(id, side)));
            self.on_event(id, side, EndEvent::Closed, now);
            self.collect(peer, now);
        }
    }

    // Inputs.

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
            SplitProxyInput::PlainOpening(..)
            | SplitProxyInput::PlainReset(..)
            | SplitProxyInput::Open(..)
            | SplitProxyInput::Cancel(..)
            | SplitProxyInput::Message(..)
            | SplitProxyInput::SignOfLife(_)
            | SplitProxyInput::Greet(_)
                if self.is_alone => {}
            SplitProxyInput::PlainOpening(peer, opening) => self.take_plain_opening(peer, opening, now),
            SplitProxyInput::PlainReset(peer, addresses, number) => {
                self.take_plain_reset(peer, addresses, number, now);
            }
            SplitProxyInput::Open(peer, addresses, shares) => {
                self.open_for_application(peer, addresses, shares, now);
            }
            SplitProxyInput::Cancel(peer, addresses) => self.cancel(peer, addresses, now),
            SplitProxyInput::Accepted(socket) | SplitProxyInput::Connected(socket) => {
                let (id, side) = self.place(socket);
                self.on_event(id, side, EndEvent::Connected, now);
                self.carry_on(id, now);
            }
            SplitProxyInput::Failed(socket, failure) => self.on_failure(socket, failure, now),
            SplitProxyInput::Received(socket, data) => {
                let (id, _) = self.place(socket);
                if let Some(entry) = self.entries.get(&id).filter(|_| !self.is_alone) {
                    self.expect(entry.peer, now);
                }
                self.on_socket(socket, now, |leg| leg.push(data));
            }
            SplitProxyInput::PeerClosed(socket) => {
                let (id, side) = self.place(socket);
                if let Some(leg) = self.entries.get_mut(&id).and_then(|entry| entry.socket(side)) {
                    leg.peer_closed = true;
                    self.on_event(id, side, EndEvent::PeerClosed, now);
                    self.carry_on(id, now);
                    self.end_socket_if_closed(id, side, now);
                }
            }
            SplitProxyInput::Message(peer, bytes) => self.take_message(peer, &bytes, now),
            SplitProxyInput::SignOfLife(peer) => self.note_sign_of_life(peer, now),
            SplitProxyInput::Greet(peer) => {
                self.tell_epoch(peer, false);
                self.repeat_openings(peer, now);
            }
            SplitProxyInput::Drain => self.book.is_draining = true,
            SplitProxyInput::Abort => self.abort_all(now),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.book.expire(now) {
            match timer {
                ProxyTimer::Peer(peer) => {
                    let table = &mut self.peers[peer].table;
                    let before = table.payload_max();
                    table.handle_timeout(now);
                    if table.payload_max() < before {
                        let payload = table.payload_max();
                        self.book.outputs.push_back(SplitProxyOutput::Narrowed(peer, payload));
                    }
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
