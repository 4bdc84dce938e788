//! A base station on a device for mobiles that are unchanged: a connection ends at the kernel's TCP of this host and is carried on
//! over another one, so that each leg has its own flow control, congestion control and recovery (I-TCP; RFC 3135, section 3.1.1).
//!
//! ```text
//!  host that opens ==TCP== TcpProxy ==TCP== host beyond
//! ```
//! The machine has the inputs and outputs of a [`super::SplitProxy`], but a [`ConnectionId`] names a socket: connection `n` has the
//! sockets `2 n`, to the host that opened it, and `2 n + 1`, to the host beyond. Of a [`Relay`], the first is the wireless leg.
//!
//! A SYN is held until the host beyond has accepted, and then admitted, refused, reported unreachable, or left unanswered. A SYN with
//! the addresses of a connection that stands goes to its socket, which challenges it (RFC 5961, section 4.2). Beyond the limit of
//! half-open connections, and while this end drains, connections go as plain TCP.
//!
//! Left out: E2TCP, peers and their messages; inputs that are about them have no effect.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, Span, Timeout};

use super::connection_book::ConnectionBook;
use super::ending::{BUFFER, ConnectionEnding, HALF_OPEN, IDLE};
use super::note::{Fate, Note, Why};
use super::opening::Opening;
use super::proxy_interface::{
    ConnectFailure, ConnectionId, ConnectionRow, ProxyCounters, ProxyTimer, SplitProxyInput, SplitProxyOutput,
};
use super::relay::{Relay, Side, Verdict};
use super::socket_leg::{SocketLeg, room};
use crate::e2tcp::Addresses;
use crate::end::{EndEvent, Stream as _};

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpProxyConfig {
    /// Data that a connection holds in each direction, in bytes, from 4 KiB: half at either leg. Default 256 KiB.
    pub buffer: u32,
    /// Connections that have not been set up on both legs, at most. Default 4,096.
    pub half_open: usize,
    /// Time without data that ends a connection. Default 2 hours and 4 minutes.
    pub idle: Span,
    /// Time for the kernel's connection to be established after it was admitted. Default 10 s.
    pub admission: Span,
}

impl Default for TcpProxyConfig {
    fn default() -> Self {
        Self { buffer: BUFFER, half_open: HALF_OPEN, idle: IDLE, admission: Span::from_secs(10) }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    addresses: Addresses,
    /// The SYN, until it may be answered.
    opening: Option<Opening>,
    relay: Relay,
    /// The sockets: to the host that opened the connection, and to the host beyond.
    legs: [SocketLeg; 2],
    stands: [bool; 2],
    is_over: [bool; 2],
    began: Instant,
}

impl Entry {
    fn is_half_open(&self) -> bool {
        self.stands != [true; 2]
    }
}

/// The socket of a connection on one side.
const fn socket(connection: u64, side: usize) -> ConnectionId {
    2 * connection + side as u64
}

const fn place(id: ConnectionId) -> (u64, usize) {
    (id / 2, (id % 2) as usize)
}

const fn side_of(leg: usize) -> Side {
    if leg == 0 { Side::Wireless } else { Side::Wired }
}

/// A proxy.
#[derive(Clone, Debug)]
pub struct TcpProxy {
    config: TcpProxyConfig,
    entries: BTreeMap<u64, Entry>,
    by_addresses: BTreeMap<Addresses, u64>,
    next: u64,
    book: ConnectionBook,
}

impl TcpProxy {
    /// A proxy without connections.
    pub fn new(config: TcpProxyConfig) -> Self {
        Self {
            config,
            entries: BTreeMap::new(),
            by_addresses: BTreeMap::new(),
            next: 0,
            book: ConnectionBook::default(),
        }
    }

    // Getters, and methods of the host between inputs, as those of a split proxy.

    /// The counters.
    pub const fn counters(&self) -> &ProxyCounters {
        &self.book.counters
    }

    /// Connections, and how many of them do not stand on both legs yet.
    pub fn connections(&self) -> (usize, usize) {
        (self.entries.len(), self.book.half_open)
    }

    /// The connections, oldest first. Their bytes are those of the socket to the host that opened them.
    pub fn rows(&self) -> impl Iterator<Item = ConnectionRow> + '_ {
        self.entries.iter().map(|(connection, entry)| ConnectionRow {
            id: *connection,
            peer: 0,
            addresses: entry.addresses,
            is_own: true,
            stands: !entry.is_half_open(),
            socket_bytes: [entry.legs[0].received, entry.legs[0].sent],
            held_bytes: [1, 0]
                .map(|other: usize| entry.legs[1 - other].readable() + entry.legs[other].unacknowledged()),
            wireless: None,
            began: entry.began,
        })
    }

    /// Bytes that the host may read from the socket now; 0 if there is no room.
    pub fn room(&self, id: ConnectionId) -> u64 {
        let (connection, leg) = place(id);
        let Some(entry) = self.entries.get(&connection).filter(|entry| !entry.is_half_open()) else {
            return 0;
        };
        room(&entry.legs[leg], entry.legs[1 - leg].unacknowledged(), self.half())
    }

    /// Sockets that have something to do, since the last call.
    pub fn take_changed(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.book.changed)
    }

    /// What has become of connections that are not relayed to their end, since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.book.notes)
    }

    /// The next bytes for the socket.
    pub fn outgoing(&self, id: ConnectionId) -> &[u8] {
        let (connection, leg) = place(id);
        self.entries.get(&connection).map_or(&[], |entry| entry.legs[leg].outgoing())
    }

    /// The kernel has taken the first `bytes` of [`TcpProxy::outgoing`].
    pub fn note_written(&mut self, id: ConnectionId, bytes: usize, now: Instant) {
        let (connection, leg) = place(id);
        if let Some(entry) = self.entries.get_mut(&connection) {
            entry.legs[leg].note_written(bytes);
            entry.relay.note_packet(now);
            self.carry_on(connection, now);
        }
    }

    /// Whether the host is to close its direction of the socket: everything is written.
    pub fn is_to_shut(&self, id: ConnectionId) -> bool {
        let (connection, leg) = place(id);
        self.entries.get(&connection).is_some_and(|entry| entry.legs[leg].is_to_shut())
    }

    /// The host has closed its direction.
    pub fn note_shut(&mut self, id: ConnectionId, now: Instant) {
        let (connection, leg) = place(id);
        if let Some(entry) = self.entries.get_mut(&connection) {
            entry.legs[leg].shut = true;
            self.end_socket_if_closed(connection, leg, now);
        }
    }

    fn half(&self) -> u64 {
        u64::from(self.config.buffer.max(4_096) / 2)
    }

    // Connections.

    fn open(&mut self, opening: Opening, now: Instant) {
        let addresses = opening.addresses();
        if let Some(connection) = self.by_addresses.get(&addresses).copied() {
            let Some(entry) = self.entries.get(&connection) else { return };
            // While the first one is held, a repetition says nothing new.
            if entry.opening.is_none() && entry.is_half_open() {
                self.book.outputs.push_back(SplitProxyOutput::Admit(socket(connection, 0), opening));
            } else if !entry.is_half_open() {
                self.book.outputs.push_back(SplitProxyOutput::Present(opening));
            }
            return;
        }
        let is_full = self.book.half_open >= self.config.half_open;
        self.book.counters.over_limit += u64::from(is_full);
        if is_full || self.book.is_draining {
            self.book.counters.passed += 1;
            let why = if is_full { Why::HalfOpen } else { Why::Draining };
            self.book.note(addresses, Fate::Passed, why);
            return self.book.outputs.push_back(SplitProxyOutput::Pass(opening));
        }
        let connection = self.next;
        self.next += 1;
        let mut relay = Relay::new(self.half(), false);
        relay.begin(Side::Wireless, now);
        self.book.begin(connection, relay.idle_at(self.config.idle));
        let entry = Entry {
            addresses,
            opening: Some(opening),
            relay,
            legs: Default::default(),
            stands: [false; 2],
            is_over: [false; 2],
            began: now,
        };
        self.entries.insert(connection, entry);
        self.by_addresses.insert(addresses, connection);
        self.book.outputs.push_back(SplitProxyOutput::Connect(socket(connection, 1), 0, addresses));
    }

    fn remove(&mut self, connection: u64, ending: ConnectionEnding) {
        let Some(entry) = self.entries.remove(&connection) else { return };
        self.by_addresses.remove(&entry.addresses);
        self.book.end(connection, entry.is_half_open(), ending);
        for (leg, is_over) in entry.is_over.into_iter().enumerate() {
            if !is_over {
                self.book.outputs.push_back(SplitProxyOutput::Reset(socket(connection, leg)));
            }
        }
        self.book.outputs.push_back(SplitProxyOutput::Ended(connection, entry.addresses, ending));
    }

    /// Resets both legs.
    fn abort(&mut self, connection: u64, ending: fn(u64) -> ConnectionEnding, why: Why, now: Instant) {
        let Some(entry) = self.entries.get_mut(&connection) else { return };
        self.book.note(entry.addresses, Fate::Reset, why);
        let [near, far] = &mut entry.legs;
        let lost = entry.relay.abort(far, near, now);
        self.remove(connection, ending(lost));
    }

    fn on_event(&mut self, connection: u64, leg: usize, event: EndEvent, now: Instant) {
        let Some(entry) = self.entries.get_mut(&connection) else { return };
        if event == EndEvent::Connected && !entry.stands[leg] {
            entry.stands[leg] = true;
            if !entry.is_half_open() {
                self.book.stand(connection);
                self.book.changed.extend([0, 1].map(|leg| socket(connection, leg)));
            }
        }
        let (addresses, [near, far]) = (entry.addresses, &mut entry.legs);
        let verdict = entry.relay.on_event(side_of(leg), event, far, near, now);
        match verdict {
            Some(Verdict::Refuse(_)) => self.book.note(addresses, Fate::Refused, Why::HostRefused),
            Some(Verdict::Forget(_)) => self.book.note(addresses, Fate::Unanswered, Why::HostUnanswering),
            Some(Verdict::Lost(_)) => {
                let why = match (leg, event == EndEvent::TimedOut) {
                    (0, false) => Why::OpenerReset,
                    (0, true) => Why::OpenerTimedOut,
                    (_, false) => Why::FarReset,
                    (_, true) => Why::FarTimedOut,
                };
                self.book.note(addresses, Fate::Reset, why);
            }
            Some(Verdict::Admit(_) | Verdict::Done) | None => {}
        }
        match verdict {
            Some(Verdict::Admit(_)) => {
                let admit = |opening| SplitProxyOutput::Admit(socket(connection, 0), opening);
                self.book.outputs.extend(entry.opening.take().map(admit));
                self.book.timers.put(ProxyTimer::Opening(connection), Some(now + self.config.admission));
            }
            Some(Verdict::Refuse(_)) => {
                self.end_opening(connection, Some(SplitProxyOutput::Refuse), ConnectionEnding::Refused);
            }
            Some(Verdict::Forget(_)) => self.end_opening(connection, None, ConnectionEnding::Unanswered),
            Some(Verdict::Lost(bytes)) => self.remove(connection, ConnectionEnding::Lost(bytes)),
            Some(Verdict::Done) => self.remove(connection, ConnectionEnding::Closed),
            None => {}
        }
    }

    /// Ends an opening whose SYN is answered by `answer`.
    fn end_opening(
        &mut self,
        connection: u64,
        answer: Option<fn(Opening) -> SplitProxyOutput>,
        ending: ConnectionEnding,
    ) {
        let Some(entry) = self.entries.get_mut(&connection) else { return };
        if let Some(answer) = answer {
            self.book.outputs.extend(entry.opening.take().map(answer));
        }
        self.remove(connection, ending);
    }

    fn on_failure(&mut self, id: ConnectionId, failure: ConnectFailure, now: Instant) {
        let (connection, leg) = place(id);
        let Some(entry) = self.entries.get_mut(&connection) else { return };
        entry.is_over[leg] = true;
        let (addresses, is_opening) = (entry.addresses, entry.opening.is_some());
        match failure {
            ConnectFailure::Unreachable if is_opening => {
                self.book.note(addresses, Fate::Refused, Why::Unreachable);
                self.end_opening(
                    connection,
                    Some(SplitProxyOutput::Unreachable),
                    ConnectionEnding::Unreachable,
                );
            }
            ConnectFailure::Declined if is_opening => {
                self.book.note(addresses, Fate::Passed, Why::NotPermitted);
                self.book.counters.passed += 1;
                self.end_opening(connection, Some(SplitProxyOutput::Pass), ConnectionEnding::Unanswered);
            }
            ConnectFailure::TimedOut => self.on_event(connection, leg, EndEvent::TimedOut, now),
            _ => self.on_event(connection, leg, EndEvent::Reset, now),
        }
    }

    /// Carries on what has arrived on a connection, as far as the buffers have room.
    fn carry_on(&mut self, connection: u64, now: Instant) {
        let Some(entry) = self.entries.get_mut(&connection) else { return };
        let [near, far] = &mut entry.legs;
        while entry.relay.step(far, near, now) {}
        self.book.changed.extend([0, 1].map(|leg| socket(connection, leg)));
    }

    fn end_socket_if_closed(&mut self, connection: u64, leg: usize, now: Instant) {
        let Some(entry) = self.entries.get_mut(&connection) else { return };
        if entry.legs[leg].peer_closed && entry.legs[leg].shut && !entry.is_over[leg] {
            entry.is_over[leg] = true;
            self.book.outputs.push_back(SplitProxyOutput::Close(socket(connection, leg)));
            self.on_event(connection, leg, EndEvent::Closed, now);
        }
    }
}

impl Machine for TcpProxy {
    type Input = SplitProxyInput;
    type Output = SplitProxyOutput;
    type Reason = ProxyTimer;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        match input {
            SplitProxyInput::Opening(_, opening) => self.open(opening, now),
            SplitProxyInput::Accepted(id) | SplitProxyInput::Connected(id) => {
                let (connection, leg) = place(id);
                self.on_event(connection, leg, EndEvent::Connected, now);
                self.carry_on(connection, now);
            }
            SplitProxyInput::Failed(id, failure) => self.on_failure(id, failure, now),
            SplitProxyInput::Received(id, data) => {
                let (connection, leg) = place(id);
                if let Some(entry) = self.entries.get_mut(&connection) {
                    entry.legs[leg].push(data);
                    entry.relay.note_packet(now);
                    self.carry_on(connection, now);
                }
            }
            SplitProxyInput::PeerClosed(id) => {
                let (connection, leg) = place(id);
                if let Some(entry) = self.entries.get_mut(&connection) {
                    entry.legs[leg].peer_closed = true;
                    self.on_event(connection, leg, EndEvent::PeerClosed, now);
                    self.carry_on(connection, now);
                    self.end_socket_if_closed(connection, leg, now);
                }
            }
            SplitProxyInput::Drain => self.book.is_draining = true,
            SplitProxyInput::Abort => {
                self.book.is_draining = true;
                let all: Vec<u64> = self.entries.keys().copied().collect();
                let abort = |connection| self.abort(connection, ConnectionEnding::Lost, Why::Draining, now);
                all.into_iter().for_each(abort);
            }
            SplitProxyInput::PlainOpening(..)
            | SplitProxyInput::PlainReset(..)
            | SplitProxyInput::Open(..)
            | SplitProxyInput::Message(..)
            | SplitProxyInput::SignOfLife(_)
            | SplitProxyInput::Greet(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.book.expire(now) {
            match timer {
                ProxyTimer::Peer(_) | ProxyTimer::Silence(_) => {}
                // It was admitted, and its client has gone.
                ProxyTimer::Opening(connection) => {
                    self.abort(connection, ConnectionEnding::Lost, Why::Unfinished, now);
                }
                ProxyTimer::Idle(connection) => {
                    let Some(entry) = self.entries.get(&connection) else { continue };
                    if !self.book.rearm_idle(connection, entry.relay.idle_at(self.config.idle), now) {
                        self.abort(connection, ConnectionEnding::Idle, Why::Idle, now);
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
