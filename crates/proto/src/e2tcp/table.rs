//! The connections between two hosts, up to 256, and the negotiation of their identifiers.
//!
//! The end that opens a connection proposes the lowest identifier that is free on its side, with full addresses. The
//! other end accepts it or, if it is in use there, answers the SYN with one that is free; the opening end then takes
//! that one, or proposes another. If both ends propose the same identifier at the same time for different connections,
//! the proposal of the lower endpoint stands and the other end changes its own. If both open the same connection at the
//! same time, the identifier of the lower endpoint is used.
//!
//! The 257th connection is refused: on the opening side by [`TableOutput::Refused`] before a packet is sent, on the
//! other side by a reset. A closed connection keeps its identifier while it lingers ([`super::E2tcpConfig::linger`]), unless
//! another needs it: the one that has lingered longest gives its identifier up once it has lingered for its timeout, in which
//! the peer would have repeated a FIN whose acknowledgement was lost. The two ends may choose different ones, so that one that the peer
//! proposes is given up at once if its connection only lingers here: the peer has done with it. A packet that comes later all the same is none of the new
//! connection's: its SYN carries addresses, and its sequence numbers are others.
//!
//! A packet with addresses is matched by them alone, one without by its identifier. A packet without addresses and with
//! an unknown identifier is dropped without an answer. A SYN with another sequence number for an established connection
//! means that the peer has restarted: the old connection is reset, and a new one begins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Machine, Seq, Timeout};

use super::config::E2tcpConfig;
use super::connection::{Connection, Input, Output};
use super::timer::E2tcpTimer;
use super::wire::{Addresses, E2tcpPacket, Endpoint};
use crate::event::Event;
use crate::lifecycle::State;
use crate::tcp::{Lengths, ReceiveBuffer, SendBuffer};

/// Number of identifiers.
pub const IDENTIFIERS: usize = 256;

/// Key of a connection in a table, independent of its identifier on the wire. A key is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionKey(u64);

/// Settings of a table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TableConfig {
    /// The settings of each connection. Initial sequence numbers increase from `initial_sequence` by one every 4 us
    /// (RFC 9293 section 3.4.1), so that a connection does not mistake packets of a predecessor for its own.
    pub connection: E2tcpConfig,
}

/// Inputs of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableInput<D = u64, P = ()> {
    /// Accepts connections to this endpoint from now on.
    Listen(Endpoint),
    /// Stops accepting connections to this endpoint.
    Unlisten(Endpoint),
    /// Opens a connection from the sender to the receiver of the addresses.
    Open(Addresses),
    /// The same with a reliability of its own, in per cent: of what this end receives, and, if it is not all, of what it sends.
    OpenWith(Addresses, u8, Option<u8>),
    /// A packet has arrived, with its addresses if it carries them, and its payload.
    Packet(E2tcpPacket, Option<Addresses>, P),
    /// A user call. Ignored if there is no such connection.
    Call(ConnectionKey, Input<D, P>),
}

/// The reason why a connection was not opened or accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All 256 identifiers are in use.
    Full,
    /// There is already a connection between these endpoints.
    InUse,
}

/// Outputs of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableOutput {
    /// A connection was opened by [`TableInput::Open`]; its SYN follows.
    Opened(ConnectionKey, Addresses),
    /// The peer opened a connection; its events follow.
    Accepted(ConnectionKey, Addresses),
    /// A connection was not opened, or not accepted.
    Refused(Addresses, Refusal),
    /// A packet to send, the connection that holds its payload, and the addresses if the packet carries them. A refusal
    /// has no connection.
    Transmit(Option<ConnectionKey>, E2tcpPacket, Option<Addresses>),
    /// A notification for the application.
    Event(ConnectionKey, Event),
}

/// One connection of a table.
#[derive(Clone, Debug)]
struct Slot<S: SendBuffer, R: ReceiveBuffer> {
    connection: Connection<S, R>,
    /// Addresses from this end to the other.
    addresses: Addresses,
    /// Whether this end opened the connection.
    active: bool,
    /// Number of identifiers proposed after the first.
    proposals: usize,
    /// The timeout of the connection as `ConnectionTable::timeouts` has it.
    due: Option<Instant>,
}

/// All connections of this host with another host.
#[derive(Clone, Debug)]
pub struct ConnectionTable<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    config: TableConfig,
    slots: BTreeMap<ConnectionKey, Slot<S, R>>,
    /// The timeouts of all connections, the earliest first. At equal times the oldest connection comes first.
    timeouts: BTreeSet<(Instant, ConnectionKey)>,
    identifiers: [Option<ConnectionKey>; IDENTIFIERS],
    listening: BTreeSet<Endpoint>,
    next_key: u64,
    outputs: VecDeque<TableOutput>,
    dropped: u64,
    /// Whether a connection has closed since closed ones were removed.
    has_closed: bool,
}

impl<S: SendBuffer, R: ReceiveBuffer> ConnectionTable<S, R> {
    /// Creates a table without connections. Panics if the settings do not pass [`E2tcpConfig::check`].
    pub fn new(config: TableConfig) -> Self {
        if let Err(problem) = config.connection.check() {
            panic!("{problem}");
        }
        Self {
            config,
            slots: BTreeMap::new(),
            timeouts: BTreeSet::new(),
            identifiers: [None; IDENTIFIERS],
            listening: BTreeSet::new(),
            next_key: 0,
            outputs: VecDeque::new(),
            dropped: 0,
            has_closed: false,
        }
    }

    /// The connection with this key. A closed connection is available until the next input.
    pub fn connection(&self, key: ConnectionKey) -> Option<&Connection<S, R>> {
        self.slots.get(&key).map(|slot| &slot.connection)
    }

    /// Number of identifiers in use.
    pub fn in_use(&self) -> usize {
        self.slots.values().filter(|slot| slot.connection.state() != State::Closed).count()
    }

    /// Whether every identifier is in use, and none can be given up.
    pub fn is_full(&self, now: Instant) -> bool {
        self.in_use() == IDENTIFIERS && self.longest_lingering(now).is_none()
    }

    /// The connection that has lingered longest, if that was long enough.
    fn longest_lingering(&self, now: Instant) -> Option<ConnectionKey> {
        let since = |slot: &Slot<S, R>| slot.connection.lingers_since();
        let lingering = self.slots.iter().filter_map(|(key, slot)| Some((since(slot)?, *key)));
        let (since, key) = lingering.min()?;
        let rto = self.slots.get(&key)?.connection.rto();
        (now >= since.saturating_add(rto)).then_some(key)
    }

    /// Frees an identifier if all are in use and one can be given up.
    fn make_room(&mut self, now: Instant) {
        if self.lowest_free().is_none()
            && let Some(key) = self.longest_lingering(now)
        {
            self.end(key);
        }
    }

    /// Frees an identifier that the peer proposes if its connection only lingers here: the peer has given that connection up.
    fn end_lingering(&mut self, id: u8) {
        if let Some(key) = self.identifiers[usize::from(id)]
            && self.slots.get(&key).is_some_and(|slot| slot.connection.lingers_since().is_some())
        {
            self.end(key);
        }
    }

    /// The connection to which a packet of the peer belongs: by its addresses if it carries them, otherwise by its identifier.
    pub fn key_of(&self, addresses: Option<Addresses>, id: u8) -> Option<ConnectionKey> {
        addresses.map_or(self.identifiers[usize::from(id)], |addresses| self.find(addresses.swapped()))
    }

    /// Whether a packet with these addresses opens a connection that this end considers open: the peer has restarted.
    pub fn restarts(&self, addresses: Addresses, packet: &E2tcpPacket) -> bool {
        self.find(addresses.swapped()).is_some_and(|key| self.peer_has_restarted(key, packet))
    }

    /// The largest payload of a packet in bytes: that of the settings, or less if the path turned out to carry no more.
    pub const fn payload_max(&self) -> u16 {
        self.config.connection.payload
    }

    /// The path carries packets with at most this payload: those of all connections are shorter from now on.
    pub fn narrow(&mut self, payload: u16, now: Instant) {
        if payload >= self.config.connection.payload {
            return;
        }
        self.config.connection.payload = payload;
        for key in self.slots.keys().copied().collect::<Vec<_>>() {
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.connection.narrow(payload, now);
            }
            self.collect(key);
        }
    }

    /// Number of packets that belonged to no connection and got no answer.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    // Identifiers.

    fn is_free(&self, id: u8) -> bool {
        self.identifiers[usize::from(id)].is_none()
    }

    /// The lowest free identifier.
    fn lowest_free(&self) -> Option<u8> {
        (0..=u8::MAX).find(|id| self.is_free(*id))
    }

    /// The next free identifier above this one, continuing from zero.
    fn next_free(&self, above: u8) -> Option<u8> {
        (1..IDENTIFIERS).map(|step| above.wrapping_add(step as u8)).find(|id| self.is_free(*id))
    }

    /// Removes the connections that have closed. Until the last output was taken, by which their owner learns it, they stay: he may have data
    /// of theirs to read.
    fn remove_closed(&mut self) {
        if !self.outputs.is_empty() || !std::mem::take(&mut self.has_closed) {
            return;
        }
        let (identifiers, timeouts) = (&mut self.identifiers, &mut self.timeouts);
        self.slots.retain(|key, slot| {
            let closed = slot.connection.state() == State::Closed;
            if closed {
                // It may have another already.
                let identifier = &mut identifiers[usize::from(slot.connection.id())];
                *identifier = identifier.filter(|holder| holder != key);
                if let Some(at) = slot.due {
                    timeouts.remove(&(at, *key));
                }
            }
            !closed
        });
    }

    fn set_identifier(&mut self, key: ConnectionKey, id: u8) {
        if let Some(slot) = self.slots.get_mut(&key) {
            self.identifiers[usize::from(slot.connection.id())] = None;
            self.identifiers[usize::from(id)] = Some(key);
            slot.connection.adopt(id);
        }
    }

    /// Proposes the next free identifier for a connection that this end opened. Returns false if there is none, or all
    /// were tried.
    fn propose_next(&mut self, key: ConnectionKey, now: Instant) -> bool {
        let Some(slot) = self.slots.get_mut(&key) else { return false };
        let old = slot.connection.id();
        slot.proposals += 1;
        let tried_all = slot.proposals >= IDENTIFIERS;
        let Some(id) = self.next_free(old).filter(|_| !tried_all) else { return false };
        self.set_identifier(key, id);
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.connection.propose(id, now);
        }
        self.collect(key);
        true
    }

    // Connections.

    fn add(&mut self, id: u8, addresses: Addresses, active: bool, now: Instant) -> ConnectionKey {
        let config = self.config.connection.clone();
        self.add_with(config, id, addresses, active, now)
    }

    fn add_with(
        &mut self,
        mut config: E2tcpConfig,
        id: u8,
        addresses: Addresses,
        active: bool,
        now: Instant,
    ) -> ConnectionKey {
        let key = ConnectionKey(self.next_key);
        self.next_key += 1;
        let ticks = (now.as_nanos() / 4_000) as u32;
        config.initial_sequence = Seq::new(config.initial_sequence.value()) + ticks;
        let connection = Connection::new(config, id, addresses.version());
        self.slots.insert(key, Slot { connection, addresses, active, proposals: 0, due: None });
        self.identifiers[usize::from(id)] = Some(key);
        key
    }

    fn call(&mut self, key: ConnectionKey, input: Input<S::Data, R::Payload>, now: Instant) {
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.connection.handle_input(input, now);
        }
        self.collect(key);
    }

    /// Moves the outputs of a connection to those of the table, and notes its timeout. It follows every change of a connection.
    fn collect(&mut self, key: ConnectionKey) {
        let Some(slot) = self.slots.get_mut(&key) else { return };
        self.has_closed |= slot.connection.state() == State::Closed;
        let due = slot.connection.poll_timeout().map(|timeout| timeout.at);
        if due != slot.due {
            if let Some(at) = std::mem::replace(&mut slot.due, due) {
                self.timeouts.remove(&(at, key));
            }
            self.timeouts.extend(due.map(|at| (at, key)));
        }
        while let Some(output) = slot.connection.poll_output() {
            self.outputs.push_back(match output {
                Output::Transmit(packet) => {
                    let addresses = packet.header.addresses.map(|_| slot.addresses);
                    TableOutput::Transmit(Some(key), packet, addresses)
                }
                Output::Event(event) => TableOutput::Event(key, event),
            });
        }
    }

    fn find(&self, addresses: Addresses) -> Option<ConnectionKey> {
        self.slots
            .iter()
            .find(|(_, slot)| slot.addresses == addresses && slot.connection.state() != State::Closed)
            .map(|(key, _)| *key)
    }

    fn open(&mut self, addresses: Addresses, config: E2tcpConfig, now: Instant) {
        if self.find(addresses).is_some() {
            self.outputs.push_back(TableOutput::Refused(addresses, Refusal::InUse));
            return;
        }
        self.make_room(now);
        let Some(id) = self.lowest_free() else {
            self.outputs.push_back(TableOutput::Refused(addresses, Refusal::Full));
            return;
        };
        let key = self.add_with(config, id, addresses, true, now);
        self.outputs.push_back(TableOutput::Opened(key, addresses));
        self.call(key, Input::Open, now);
    }

    // Packets.

    fn on_packet(
        &mut self,
        packet: E2tcpPacket,
        addresses: Option<Addresses>,
        payload: R::Payload,
        now: Instant,
    ) {
        let Some(addresses) = addresses else {
            match self.identifiers[usize::from(packet.header.connection)] {
                Some(key) => self.call(key, Input::Packet(packet, payload), now),
                None => self.dropped += 1,
            }
            return;
        };
        match self.find(addresses.swapped()) {
            Some(key) if self.peer_has_restarted(key, &packet) => {
                self.end(key);
                self.on_unknown_connection(packet, addresses, payload, now);
            }
            Some(key) => self.on_known_connection(key, packet, addresses, payload, now),
            None => self.on_unknown_connection(packet, addresses, payload, now),
        }
    }

    /// Whether the packet opens a connection that this end considers open, which means that the peer has restarted.
    fn peer_has_restarted(&self, key: ConnectionKey, packet: &E2tcpPacket) -> bool {
        let Some(slot) = self.slots.get(&key) else { return false };
        let header = &packet.header;
        header.control.syn()
            && header.acknowledgement.is_none()
            && slot.connection.state() != State::SynSent
            && slot.connection.receiver.initial_sequence() != header.sequence
    }

    /// Ends a connection, whose identifier is free from now on.
    fn end(&mut self, key: ConnectionKey) {
        if let Some(slot) = self.slots.get_mut(&key) {
            let closed = slot.connection.state() == State::TimeWait;
            slot.connection.finish(Some(if closed { Event::Closed } else { Event::Reset }));
            self.identifiers[usize::from(slot.connection.id())] = None;
        }
        self.collect(key);
    }

    /// Processes a packet with the addresses of an existing connection. Its identifier may be another.
    fn on_known_connection(
        &mut self,
        key: ConnectionKey,
        mut packet: E2tcpPacket,
        addresses: Addresses,
        payload: R::Payload,
        now: Instant,
    ) {
        let Some(slot) = self.slots.get(&key) else { return };
        let (id, proposed) = (slot.connection.id(), packet.header.connection);
        let opening = matches!(slot.connection.state(), State::SynSent | State::SynReceived);
        if proposed == id {
            return self.call(key, Input::Packet(packet, payload), now);
        }
        let control = packet.header.control;
        if control.rst() {
            // The reset answers a packet that was sent with an earlier identifier.
            packet.header.connection = id;
            return self.call(key, Input::Packet(packet, payload), now);
        }
        if !opening || !control.syn() {
            self.dropped += 1;
            return;
        }
        let both_opened = slot.active
            && (packet.header.acknowledgement.is_none() || slot.connection.state() == State::SynReceived);
        let ours_holds = both_opened && slot.addresses.sender() < slot.addresses.receiver();
        let active = slot.active;
        if !ours_holds {
            self.end_lingering(proposed);
        }
        if !ours_holds && self.is_free(proposed) {
            self.set_identifier(key, proposed);
        } else if ours_holds || !active {
            // The peer takes over our identifier when our SYN arrives.
            packet.header.connection = id;
        } else if self.propose_next(key, now) {
            return;
        } else {
            // No identifier is free on both sides.
            self.outputs.push_back(TableOutput::Refused(addresses.swapped(), Refusal::Full));
            self.refuse(&packet, addresses);
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.connection.finish(Some(Event::Refused));
            }
            return self.collect(key);
        }
        self.call(key, Input::Packet(packet, payload), now);
    }

    /// Processes a packet whose addresses belong to no connection.
    fn on_unknown_connection(
        &mut self,
        mut packet: E2tcpPacket,
        theirs: Addresses,
        payload: R::Payload,
        now: Instant,
    ) {
        let addresses = theirs.swapped();
        let opens = packet.header.control.syn() && packet.header.acknowledgement.is_none();
        if !opens || !self.listening.contains(&addresses.sender()) {
            return self.refuse(&packet, theirs);
        }
        match self.identifier_for(packet.header.connection, addresses, now) {
            IdentifierChoice::Take(id) => {
                packet.header.connection = id;
                let key = self.add(id, addresses, false, now);
                self.outputs.push_back(TableOutput::Accepted(key, addresses));
                if let Some(slot) = self.slots.get_mut(&key) {
                    slot.connection.handle_input(Input::Listen, now);
                }
                self.call(key, Input::Packet(packet, payload), now);
            }
            IdentifierChoice::Wait => self.dropped += 1,
            IdentifierChoice::Full => {
                self.outputs.push_back(TableOutput::Refused(addresses, Refusal::Full));
                self.refuse(&packet, theirs);
            }
        }
    }

    /// Selects the identifier for a connection for which the peer proposes `proposed`.
    fn identifier_for(&mut self, proposed: u8, addresses: Addresses, now: Instant) -> IdentifierChoice {
        self.end_lingering(proposed);
        self.make_room(now);
        let Some(holder) = self.identifiers[usize::from(proposed)] else {
            return IdentifierChoice::Take(proposed);
        };
        let rival =
            self.slots.get(&holder).filter(|slot| slot.active && slot.connection.state() == State::SynSent);
        let Some(rival) = rival else {
            return self.lowest_free().map_or(IdentifierChoice::Full, IdentifierChoice::Take);
        };
        // Both ends proposed it at the same time, for different connections.
        if rival.addresses.sender() < addresses.receiver() {
            return IdentifierChoice::Wait;
        }
        if self.propose_next(holder, now) { IdentifierChoice::Take(proposed) } else { IdentifierChoice::Full }
    }

    /// Refuses a packet that carried these addresses.
    fn refuse(&mut self, packet: &E2tcpPacket, theirs: Addresses) {
        match packet.refusal() {
            Some(refusal) => {
                self.outputs.push_back(TableOutput::Transmit(None, refusal, Some(theirs.swapped())))
            }
            None => self.dropped += 1,
        }
    }
}

/// The result of a proposal.
#[derive(Clone, Copy, Debug)]
enum IdentifierChoice {
    /// The connection gets this identifier.
    Take(u8),
    /// The peer will change its own proposal when our SYN arrives.
    Wait,
    /// No identifier is left.
    Full,
}

impl<S: SendBuffer, R: ReceiveBuffer> Machine for ConnectionTable<S, R> {
    type Input = TableInput<S::Data, R::Payload>;
    type Output = TableOutput;
    type Reason = (ConnectionKey, E2tcpTimer);

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        self.remove_closed();
        match input {
            TableInput::Listen(endpoint) => {
                self.listening.insert(endpoint);
            }
            TableInput::Unlisten(endpoint) => {
                self.listening.remove(&endpoint);
            }
            TableInput::Open(addresses) => self.open(addresses, self.config.connection.clone(), now),
            TableInput::OpenWith(addresses, reliability, asks) => {
                let config = E2tcpConfig { reliability, asks, ..self.config.connection.clone() };
                self.open(addresses, config, now);
            }
            TableInput::Packet(packet, addresses, payload) => self.on_packet(packet, addresses, payload, now),
            TableInput::Call(key, input) => self.call(key, input, now),
        }
    }

    /// Serves the connections whose timeouts have come, the oldest first.
    fn handle_timeout(&mut self, now: Instant) {
        let come = self.timeouts.iter().take_while(|(at, _)| *at <= now);
        let keys: BTreeSet<_> = come.map(|(_, key)| *key).collect();
        for key in keys {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.connection.handle_timeout(now);
            let payload = slot.connection.payload_max();
            self.collect(key);
            // What one connection has found out is so for all of them.
            self.narrow(payload, now);
        }
    }

    fn poll_output(&mut self) -> Option<TableOutput> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Self::Reason>> {
        let (_, key) = self.timeouts.first()?;
        let timeout = self.slots.get(key)?.connection.poll_timeout()?;
        Some(Timeout { at: timeout.at, reason: (*key, timeout.reason) })
    }
}
