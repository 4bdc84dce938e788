//! The association over SCTP (RFC 9260): the library `dcsctp`, under a tunnel.
//!
//! Each inner packet is a message, each flow has a stream, and the congestion control is SCTP's. Messages are unordered and
//! repeated once at most (RFC 3758), so that the association neither holds a flow back for another's loss nor hides losses from
//! the inner transports for long; [`Reliability::Full`] repeats them until they arrive, in the order of each flow. Packets are
//! bare SCTP packets: in UDP they are those of RFC 6951, as Linux and usrsctp understand them.
//!
//! * **No heartbeat**: an idle association has no timer. The handshake begins with the first packet.
//! * **Acknowledgements wait for the burst**: a SACK that reports no loss leaves with the data of the answer, at the latest
//!   [`SACK_DELAY`] after it was due, and only the last one does. The library would send one for every second packet.
//! * **No message is divided** if it fits: the library fills the rest of a packet with the beginning of the next message, so that
//!   it gets messages packet by packet, and only as the congestion window permits. Others stay in the tunnel's fair queues.
//! * **Time-outs are those of a local network**, and three in a row end the association, which begins anew with the next packet:
//!   a peer that was restarted does not answer the old one.
//! * **The end of a burst** is a payload protocol identifier of its own, at the last message. A trigger is a message of one byte.
//!
//! The library keeps its state in shared cells, so that an association can be moved but not copied: like an end of
//! QUIC it is a machine that is not `Clone`, and a clone panics. The numbers that it draws come from the
//! association's own generator. It writes each packet as text before it asks whether anybody logs that, which takes most of an
//! association's time; `packaging/dcsctp` has a patch, with its measurement.

mod packet;

pub use self::packet::{begins_association, expects_answer};

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use airwatt_base::{Instant, RandomStream, Span};
use dcsctp::api::{
    DcSctpSocket, Message as SctpMessage, Options, PpId, SendOptions, SocketEvent, SocketState, SocketTime,
    StreamId,
};

use self::packet::Chunk;
use super::{Association, AssociationOutput, Inner};

/// The port at both ends: that of SCTP tunnelling (RFC 6951).
pub const PORT: u16 = 9_899;
/// Bytes of a packet that are not for messages: the common header (12), and an acknowledgement (16) and a FORWARD-TSN (8) that
/// may share it.
const SHARED_BYTES: usize = 12 + 16 + 8;
/// Bytes of a message's chunk header.
const CHUNK_BYTES: usize = 16;
/// Bytes by which a packet is longer than the longest message that is not divided.
pub const OVERHEAD_BYTES: u32 = (SHARED_BYTES + CHUNK_BYTES) as u32;
/// Longest time for which an acknowledgement waits: shorter than any time-out of the peer.
pub const SACK_DELAY: Span = Span::from_millis(20);
/// The time for which an acknowledgement waits after the peer's burst: twice as long as what the host answers.
const SACK_ANSWER: Span = Span::from_micros(400);

/// Payload protocol identifiers: a packet, the last packet of a burst, a trigger.
const PPID_PACKET: PpId = PpId(0x0a57);
const PPID_LAST: PpId = PpId(0x0a58);
const PPID_TRIGGER: PpId = PpId(0x0a59);

/// Packets that the library sends at once: as many as the congestion window permits.
const BURST_PACKETS: i32 = 1_000;
/// Streams that flows are spread over, as far as the peer has as many.
const STREAMS: u16 = 256;
/// Retransmissions of a message under [`Reliability::Limited`].
const RETRANSMISSIONS: u16 = 1;
/// Time-outs after the first that end an association.
const TIMEOUTS: u32 = 2;

/// A packet that can be a message.
pub trait InnerMessage: Inner {
    /// The payload of the message. It is not empty.
    fn to_payload(&self) -> Vec<u8>;
    /// The packet of a payload; `None` if it is none.
    fn from_payload(payload: Vec<u8>) -> Option<Self>;
    /// A number that packets of a flow have in common, and seldom those of two.
    fn stream(&self) -> u16;
}

/// How often messages are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Once, and without order.
    Limited,
    /// Until they arrive, in the order of each flow.
    Full,
}

/// Settings of an association.
#[derive(Clone, Copy, Debug)]
pub struct SctpConfig {
    /// Largest packet in bytes, from the common header on. Longer messages are divided.
    pub packet_bytes: usize,
    /// Whether messages share packets.
    pub bundle: bool,
    /// How often messages are repeated.
    pub reliability: Reliability,
}

/// A message that is with the library.
#[derive(Clone, Debug)]
struct Sent<P> {
    /// `None` of a trigger, and of a packet that has arrived.
    packet: Option<P>,
    /// Bytes of its chunk.
    bytes: usize,
}

/// Bytes of the chunk of a message.
const fn chunk_bytes(payload: usize) -> usize {
    (CHUNK_BYTES + payload).next_multiple_of(4)
}

/// The library's state.
struct Socket(Box<dyn DcSctpSocket>);

// SAFETY: the library is not `Send` for its reference-counted cells. All references to these are inside the state itself, since
// its interface takes and returns values without them, so that they move to another thread together and no other thread is
// left with one. It keeps nothing in the thread but the generator of random numbers, which is seeded at each entry. The version
// is pinned, because this was read in its source.
#[allow(unsafe_code, reason = "machines are moved between threads")]
unsafe impl Send for Socket {}

/// The association.
pub struct Sctp<P> {
    config: SctpConfig,
    socket: Socket,
    random: RandomStream,
    is_connected: bool,
    /// Messages of the burst in the making.
    collected: Vec<SctpMessage>,
    /// Packets by stream whose messages have not left.
    waiting: BTreeMap<u16, VecDeque<Sent<P>>>,
    waiting_bytes: usize,
    /// Messages that left, with their transmission sequence numbers, from the first that is not acknowledged.
    in_flight: VecDeque<(u32, Sent<P>)>,
    in_flight_bytes: usize,
    /// The number of the last message that left; `None` before the first.
    last_sent: Option<u32>,
    /// An acknowledgement that waits for company, and until when.
    sack: Option<(Vec<u8>, Instant)>,
    retransmissions: u64,
    outputs: VecDeque<AssociationOutput<P, Vec<u8>>>,
}

impl<P: InnerMessage> Sctp<P> {
    /// An association that is not connected. `random` is the source of its tags and sequence numbers.
    pub fn new(config: SctpConfig, random: RandomStream) -> Self {
        Self {
            config,
            socket: socket(config),
            random,
            is_connected: false,
            collected: Vec::new(),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            last_sent: None,
            sack: None,
            retransmissions: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Ends the association, whose next one has packets of up to this size.
    pub fn set_packet_bytes(&mut self, packet_bytes: usize, now: Instant) {
        self.config.packet_bytes = packet_bytes;
        self.enter(now);
        self.socket.0.close();
        self.leave(now);
        self.socket = socket(self.config);
    }

    /// Data packets that were sent again, of all associations with the peer so far.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions + self.of_this_socket()
    }

    fn of_this_socket(&self) -> u64 {
        self.socket.0.get_metrics().map_or(0, |metrics| metrics.rtx_packets_count as u64)
    }

    /// The library's clock shows `now`, its timers have been served, and its random numbers are this association's.
    fn enter(&mut self, now: Instant) {
        fastrand::seed(self.random.next_u64());
        self.socket.0.advance_time(SocketTime::zero() + Duration::from_nanos(now.as_nanos()));
    }

    /// Takes what the library has to say.
    fn leave(&mut self, now: Instant) {
        let mut has_ended = false;
        while let Some(event) = self.socket.0.poll_event() {
            match event {
                SocketEvent::SendPacket(bytes) => self.transmit(bytes, now),
                SocketEvent::OnConnected() => self.is_connected = true,
                SocketEvent::OnConnectionRestarted() => self.abandon_all(),
                SocketEvent::OnAborted(..) | SocketEvent::OnClosed() => has_ended = true,
                _ => {}
            }
        }
        while let Some(message) = self.socket.0.get_next_message() {
            self.deliver(message, now);
        }
        if has_ended {
            self.is_connected = false;
            self.retransmissions += self.of_this_socket();
            self.socket = socket(self.config);
            self.abandon_all();
        }
    }

    /// Packets of an association that has ended are lost.
    fn abandon_all(&mut self) {
        (self.sack, self.last_sent) = (None, None);
        (self.waiting_bytes, self.in_flight_bytes) = (0, 0);
        self.collected.clear();
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten();
        let in_flight = std::mem::take(&mut self.in_flight).into_iter().map(|(_, sent)| sent);
        let packets = in_flight.chain(waiting).filter_map(|sent| sent.packet);
        self.outputs.extend(packets.map(AssociationOutput::Abandoned));
    }

    fn deliver(&mut self, message: SctpMessage, now: Instant) {
        let ends_burst = message.ppid != PPID_PACKET;
        if message.ppid != PPID_TRIGGER
            && let Some(packet) = P::from_payload(message.payload)
        {
            self.outputs.push_back(AssociationOutput::Deliver(packet));
        }
        if ends_burst {
            self.outputs.push_back(AssociationOutput::BurstEnded);
            if let Some((_, until)) = &mut self.sack {
                *until = (*until).min(now + SACK_ANSWER);
            }
        }
    }

    /// A packet of the library leaves, or waits for company.
    fn transmit(&mut self, bytes: Vec<u8>, now: Instant) {
        if packet::may_wait(&bytes) {
            let until = self.sack.take().map_or(now + SACK_DELAY, |(_, until)| until);
            self.sack = Some((bytes, until));
            return;
        }
        for chunk in packet::followed(&bytes) {
            match chunk {
                Chunk::Message { tsn, stream } => self.note_departure(tsn, stream),
                Chunk::GivenUp { cumulative } => self.note_given_up(cumulative),
                Chunk::Acknowledgement { .. } => {}
            }
        }
        let mut bytes = bytes;
        match self.sack.take() {
            // The new packet says what the old one says.
            Some(_) if packet::acknowledges(&bytes) => {}
            Some((sack, _))
                if packet::has_data(&bytes)
                    && bytes.len() + packet::joined_bytes(&sack) <= self.config.packet_bytes =>
            {
                bytes = packet::joined(&sack, &bytes);
            }
            waits => self.sack = waits,
        }
        self.outputs.push_back(AssociationOutput::Transmit(bytes));
    }

    /// A message has left; one with a number that has been used is a retransmission.
    fn note_departure(&mut self, tsn: u32, stream: u16) {
        if self.last_sent.is_some_and(|last| !is_after(tsn, last)) {
            return;
        }
        self.last_sent = Some(tsn);
        let Some(waiting) = self.waiting.get_mut(&stream) else { return };
        let Some(sent) = waiting.pop_front() else { return };
        if waiting.is_empty() {
            self.waiting.remove(&stream);
        }
        self.waiting_bytes -= sent.bytes;
        self.in_flight_bytes += sent.bytes;
        self.in_flight.push_back((tsn, sent));
    }

    fn note_acknowledgement(&mut self, cumulative: u32, ranges: &[(u32, u32)]) {
        // One of an association that has ended may still come.
        if self.last_sent.is_none_or(|last| is_after(cumulative, last)) {
            return;
        }
        while self.next_in_flight(cumulative).is_some() {}
        for (tsn, sent) in &mut self.in_flight {
            if ranges.iter().any(|(first, last)| !is_after(*first, *tsn) && !is_after(*tsn, *last)) {
                self.in_flight_bytes -= sent.bytes;
                *sent = Sent { packet: None, bytes: 0 };
            }
        }
    }

    /// Takes the first message in flight, if its number is not after `cumulative`.
    fn next_in_flight(&mut self, cumulative: u32) -> Option<Sent<P>> {
        let (tsn, _) = self.in_flight.front()?;
        if is_after(*tsn, cumulative) {
            return None;
        }
        let (_, sent) = self.in_flight.pop_front()?;
        self.in_flight_bytes -= sent.bytes;
        Some(sent)
    }

    fn note_given_up(&mut self, cumulative: u32) {
        while let Some(sent) = self.next_in_flight(cumulative) {
            self.outputs.extend(sent.packet.map(AssociationOutput::Abandoned));
        }
    }

    /// The stream of a flow. The peer may have few.
    fn stream(&self, of_flow: u16) -> u16 {
        let streams =
            self.socket.0.get_metrics().map_or(1, |metrics| metrics.negotiated_maximum_outgoing_streams);
        of_flow % streams.clamp(1, STREAMS)
    }

    fn message(&mut self, stream: u16, ppid: PpId, payload: Vec<u8>, packet: Option<P>) -> SctpMessage {
        let bytes = chunk_bytes(payload.len());
        self.waiting.entry(stream).or_default().push_back(Sent { packet, bytes });
        self.waiting_bytes += bytes;
        SctpMessage::new(StreamId(stream), ppid, payload)
    }

    fn options(&self) -> SendOptions {
        match self.config.reliability {
            Reliability::Limited => SendOptions {
                unordered: true,
                max_retransmissions: Some(RETRANSMISSIONS),
                ..SendOptions::default()
            },
            Reliability::Full => SendOptions::default(),
        }
    }

    /// Whether the library takes messages now. The tunnel asks before each.
    fn is_open(&self) -> bool {
        self.is_connected && self.socket.0.state() == SocketState::Connected
    }
}

/// Whether sequence number `a` follows `b` (RFC 1982).
fn is_after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

fn socket(config: SctpConfig) -> Socket {
    let millis = Duration::from_millis;
    let options = Options {
        local_port: PORT,
        remote_port: PORT,
        mtu: config.packet_bytes,
        announced_maximum_incoming_streams: STREAMS,
        announced_maximum_outgoing_streams: STREAMS,
        // Other implementations acknowledge a single packet after up to 200 ms (RFC 9260, section 6.2).
        rto_initial: millis(300),
        rto_min: millis(250),
        min_rtt_variance: millis(50),
        rto_max: Duration::from_secs(1),
        t1_init_timeout: millis(500),
        t1_cookie_timeout: millis(500),
        delayed_ack_max_timeout: Duration::from_nanos(SACK_DELAY.as_nanos()),
        heartbeat_interval: Duration::ZERO,
        immediate_sack_under_cwnd_mtus: 0,
        // A burst is not to be spread out: that is the tunnel's purpose.
        max_burst: BURST_PACKETS,
        max_retransmissions: Some(TIMEOUTS),
        max_init_retransmits: Some(TIMEOUTS),
        ..Options::default()
    };
    Socket(dcsctp::new_socket("tunnel", &options))
}

impl<P: InnerMessage> Association for Sctp<P> {
    type Inner = P;
    type Datagram = Vec<u8>;

    fn open(&mut self, now: Instant) {
        if self.socket.0.state() == SocketState::Closed {
            self.enter(now);
            self.socket.0.connect();
            self.leave(now);
        }
    }

    fn has_room(&self) -> bool {
        let used = self.in_flight_bytes + self.waiting_bytes;
        let fits = |window: usize| used == 0 || used + self.config.packet_bytes <= window;
        self.is_open() && self.socket.0.get_metrics().is_some_and(|metrics| fits(metrics.cwnd_bytes))
    }

    fn send(&mut self, packet: P, _now: Instant) {
        let stream = self.stream(packet.stream());
        let message = self.message(stream, PPID_PACKET, packet.to_payload(), Some(packet));
        self.collected.push(message);
    }

    fn end_burst(&mut self, now: Instant) {
        let Some(last) = self.collected.last_mut() else { return };
        last.ppid = PPID_LAST;
        let (messages, options) = (std::mem::take(&mut self.collected), self.options());
        self.enter(now);
        let room = if self.config.bundle { self.config.packet_bytes - SHARED_BYTES } else { 0 };
        let mut messages = messages.into_iter().peekable();
        while let Some(first) = messages.next() {
            let mut bytes = chunk_bytes(first.payload.len());
            let mut of_packet = vec![first];
            while let Some(next) = messages.next_if(|next| bytes + chunk_bytes(next.payload.len()) <= room) {
                bytes += chunk_bytes(next.payload.len());
                of_packet.push(next);
            }
            // The library refuses messages of an association that has ended, which `leave` reports.
            let _ = self.socket.0.send_many(of_packet, &options);
        }
        self.leave(now);
    }

    fn probe(&mut self, now: Instant) {
        if !self.is_open() {
            return self.open(now);
        }
        let message = self.message(0, PPID_TRIGGER, vec![0], None);
        self.enter(now);
        let once = SendOptions { unordered: true, max_retransmissions: Some(0), ..SendOptions::default() };
        let _ = self.socket.0.send(message, &once);
        self.leave(now);
    }

    fn receive(&mut self, datagram: Vec<u8>, now: Instant) {
        self.enter(now);
        for chunk in packet::followed(&datagram) {
            if let Chunk::Acknowledgement { cumulative, ranges } = chunk {
                self.note_acknowledgement(cumulative, &ranges);
            }
        }
        self.socket.0.handle_input(&datagram);
        self.leave(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.enter(now);
        self.leave(now);
        if let Some((sack, _)) = self.sack.take_if(|(_, until)| *until <= now) {
            self.outputs.push_back(AssociationOutput::Transmit(sack));
        }
    }

    fn due(&self) -> Option<Instant> {
        let at = self.socket.0.poll_timeout();
        let is_set = at < SocketTime::infinite_future();
        let of_library = is_set.then(|| Instant::from_nanos((at - SocketTime::zero()).as_nanos() as u64));
        let of_sack = self.sack.as_ref().map(|(_, until)| *until);
        of_library.into_iter().chain(of_sack).min()
    }

    fn poll(&mut self) -> Option<AssociationOutput<P, Vec<u8>>> {
        self.outputs.pop_front()
    }
}

impl<P> fmt::Debug for Sctp<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sctp")
            .field("config", &self.config)
            .field("is_connected", &self.is_connected)
            .field("waiting_bytes", &self.waiting_bytes)
            .field("in_flight", &self.in_flight.len())
            .finish_non_exhaustive()
    }
}

impl<P> Clone for Sctp<P> {
    fn clone(&self) -> Self {
        panic!("an association of dcsctp cannot be copied")
    }
}

#[cfg(test)]
mod tests;
