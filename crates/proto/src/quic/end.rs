//! One end of a connection: the library's endpoint and connection, and the loop around them.

use std::collections::VecDeque;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airwatt_base::{Instant, Span};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, FrameStats,
    MtuDiscoveryConfig, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};

use super::chrome::Thinning;
use super::clock::{from_library, to_library};
use super::config::{FIRST_MTU, QuicAckRule, QuicConfig};
use super::control::{Factory, Measured, QuicController};
use super::tls::Null;
use crate::end::{EndEvent, SenderCounts, SenderWindow};

/// Data are zeros: pieces of this.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// The address of the peer. A network that carries the datagrams has its own.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 443);
/// Bytes of a connection identifier, as quinn's.
const IDENTIFIER_BYTES: usize = 8;
/// Headers of IPv4 and UDP in bytes.
const HEADER_BYTES: u32 = 28;

/// What a QUIC end hands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuicOutput {
    /// A datagram with this UDP payload is to be sent.
    Transmit(Vec<u8>, QuicContent),
    /// Something happened.
    Event(EndEvent),
    /// All of the peer's stream with this number has arrived. Streams are numbered in the order of their writes, from 0.
    StreamEnded(u64),
}

/// What is in a packet, as the network counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicContent {
    /// Data of the user.
    Data,
    /// An acknowledgement, and nothing else.
    Acknowledgement,
    /// Handshake, probes, and what concerns the connection.
    Control,
}

/// A write that has no stream yet.
#[derive(Clone, Copy, Debug)]
struct Write {
    bytes: u64,
    urgency: u8,
}

/// The urgency of a stream without one (RFC 9218 section 4.1).
const URGENCY: u8 = 3;

/// Identifiers in the order in which they are needed.
struct Counted(u64);

impl ConnectionIdGenerator for Counted {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        ConnectionId::new(&self.0.to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        IDENTIFIER_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// One end of a QUIC connection. It cannot be copied, since the state of the library cannot.
pub struct QuicEnd {
    endpoint: Endpoint,
    client: ClientConfig,
    connection: Option<(ConnectionHandle, Connection)>,
    is_connected: bool,
    waiting: VecDeque<Write>,
    /// Streams with bytes that the library has not taken yet.
    sending: Vec<(StreamId, u64)>,
    /// Streams that are not acknowledged to their end.
    unfinished: u64,
    data_packets: u64,
    timeouts: u64,
    /// Chrome's rule for acknowledgements, if the end has it.
    thinning: Option<Thinning>,
    outputs: VecDeque<QuicOutput>,
    due: Option<Instant>,
}

impl fmt::Debug for QuicEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_connected, waiting, sending, unfinished, due, .. } = self;
        formatter
            .debug_struct("QuicEnd")
            .field("is_connected", is_connected)
            .field("waiting", waiting)
            .field("sending", sending)
            .field("unfinished", unfinished)
            .field("due", due)
            .finish_non_exhaustive()
    }
}

impl QuicEnd {
    /// An end without a connection. What it draws at random follows from `seed`.
    pub fn new(config: &QuicConfig, seed: u64) -> Self {
        let transport = Arc::new(transport(config));
        let mut shared = [0; 32];
        shared[..8].copy_from_slice(&seed.to_be_bytes());
        let mut endpoint = EndpointConfig::new(Arc::new(Null));
        endpoint.rng_seed(Some(shared));
        // The peer's datagrams are never longer than the network's.
        endpoint.max_udp_payload_size(u16::MAX - HEADER_BYTES as u16).expect("in the range of the RFC");
        endpoint.cid_generator(move || Box::new(Counted(seed & 0xffff_ffff_ffff_0000)));
        let mut server = ServerConfig::new(Arc::new(Null), Arc::new(Null));
        server.transport_config(transport.clone()).migration(false);
        let mut client = ClientConfig::new(Arc::new(Null));
        client.transport_config(transport);
        client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&seed.to_be_bytes())));
        Self {
            endpoint: Endpoint::new(Arc::new(endpoint), Some(Arc::new(server)), true, None),
            client,
            connection: None,
            is_connected: false,
            waiting: VecDeque::new(),
            sending: Vec::new(),
            unfinished: 0,
            data_packets: 0,
            timeouts: 0,
            thinning: (config.ack_rule == QuicAckRule::Chrome).then(Thinning::default),
            outputs: VecDeque::new(),
            due: None,
        }
    }

    /// Opens the connection. Does nothing if there is one.
    pub fn open(&mut self, now: Instant) {
        if self.connection.is_none() {
            let made = self.endpoint.connect(to_library(now), self.client.clone(), PEER, "server");
            self.connection = Some(made.expect("the settings are valid, and the first identifier is free"));
        }
        self.drive(now);
    }

    /// Sends `bytes` zeros as a stream, as soon as there is a connection and the peer permits a further stream.
    pub fn write(&mut self, bytes: u64, now: Instant) {
        self.write_stream(bytes, URGENCY, false, now);
    }

    /// The same with an urgency, 0 to 7 (RFC 9218): streams of a lower one are sent first. If `more` streams are written at the same time, nothing is
    /// sent before the last of them.
    pub fn write_stream(&mut self, bytes: u64, urgency: u8, more: bool, now: Instant) {
        self.waiting.push_back(Write { bytes, urgency });
        if !more {
            self.drive(now);
        }
    }

    /// Processes the UDP payload of the peer's datagram.
    pub fn receive(&mut self, datagram: &[u8], now: Instant) {
        let at = to_library(now);
        let mut answer = Vec::new();
        let datagram = match (&mut self.thinning, &self.connection) {
            (Some(thinning), Some((_, connection))) => {
                thinning.tell(datagram, IDENTIFIER_BYTES, connection.min_rtt())
            }
            _ => BytesMut::from(datagram),
        };
        match self.endpoint.handle(at, PEER, None, None, datagram, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                self.connection = self.endpoint.accept(incoming, at, &mut answer, None).ok();
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            // A stateless reset, or a version negotiation: neither end sends what they answer.
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.drive(now);
    }

    /// Serves the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            let before = self.probes();
            if let Some((_, connection)) = &mut self.connection {
                connection.handle_timeout(to_library(now));
            }
            self.drive(now);
            self.timeouts += u64::from(self.probes() > before);
        }
    }

    /// Frames that have been sent in packets which a time-out alone sends. The library counts no time-outs. What it sends by one asks for an
    /// immediate acknowledgement, as path MTU discovery does; before the handshake is over it is a PING or the handshake again, which a
    /// timer sends for no other reason.
    fn probes(&self) -> u64 {
        let Some((_, connection)) = &self.connection else { return 0 };
        let stats = connection.stats();
        let frames = stats.frame_tx;
        if connection.is_handshaking() {
            return frames.crypto + frames.ping;
        }
        frames.immediate_ack - stats.path.sent_plpmtud_probes
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<QuicOutput> {
        self.outputs.pop_front()
    }

    /// The time of the next timer.
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What was counted so far. Packets taken for lost are counted as retransmissions: what was in them is sent again in new packets. Time-outs
    /// are those of probes (RFC 9002 section 6.2). A round trip lasts until the acknowledgement that covers a packet first, the peer's
    /// wait included.
    pub fn counts(&self) -> SenderCounts {
        let Some((_, connection)) = &self.connection else { return SenderCounts::default() };
        let Measured { samples, rtt_sum } = control(connection).measured;
        SenderCounts {
            sent: self.data_packets,
            retransmitted: connection.stats().path.lost_packets,
            timeouts: self.timeouts,
            ack_losses: (0, 0),
            rtt_mean: rtt_sum.as_nanos().checked_div(samples).map(Span::from_nanos),
        }
    }

    /// The window of the sender.
    pub fn sender_window(&self) -> SenderWindow {
        let Some((_, connection)) = &self.connection else { return SenderWindow::default() };
        let state = connection.congestion_state();
        let bytes = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        SenderWindow {
            window: bytes(state.window()),
            threshold: state.metrics().ssthresh.map_or(u32::MAX, bytes),
            flight: bytes(control(connection).flight),
        }
    }

    /// The length in bytes of the IP packet around a datagram.
    pub const fn packet_bytes(datagram: &[u8]) -> u32 {
        datagram.len() as u32 + HEADER_BYTES
    }

    /// Serves what an input has set off, until nothing more comes of it.
    fn drive(&mut self, now: Instant) {
        let Some((handle, mut connection)) = self.connection.take() else { return };
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                self.handle_event(&mut connection, event);
            }
            self.fill_streams(&mut connection);
            if !self.transmit(&mut connection, now) {
                break;
            }
        }
        // What is due now was served: it is due as soon as time has passed.
        let next = now + Span::from_nanos(1);
        self.due = connection.poll_timeout().map(|at| from_library(at).max(next));
        self.connection = Some((handle, connection));
    }

    fn tell(&mut self, event: EndEvent) {
        self.outputs.push_back(QuicOutput::Event(event));
    }

    fn handle_event(&mut self, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected => {
                self.is_connected = true;
                self.tell(EndEvent::Connected);
            }
            Event::ConnectionLost { reason } => {
                self.is_connected = false;
                self.tell(match reason {
                    ConnectionError::TimedOut => EndEvent::TimedOut,
                    _ => EndEvent::Reset,
                });
            }
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = connection.streams().accept(dir) {
                    self.read(connection, id);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(connection, id),
            Event::Stream(StreamEvent::Finished { .. }) => {
                self.unfinished -= 1;
                if self.unfinished == 0 && self.waiting.is_empty() {
                    self.tell(EndEvent::AllAcknowledged);
                }
            }
            _ => {}
        }
    }

    /// Reads what has arrived on a stream.
    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        // A stream that was read to its end is no more.
        let Ok(mut chunks) = stream.read(true) else { return };
        let mut bytes = 0;
        let is_ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        // Whether windows are to be announced is found out when the connection is asked for datagrams.
        let _ = chunks.finalize();
        if bytes > 0 {
            self.tell(EndEvent::Delivered(bytes));
        }
        if is_ended {
            self.outputs.push_back(QuicOutput::StreamEnded(id.index()));
        }
    }

    /// Opens streams for writes, and gives the library what it takes of them.
    fn fill_streams(&mut self, connection: &mut Connection) {
        while self.is_connected
            && let Some(Write { bytes, urgency }) = self.waiting.front()
            && let Some(id) = connection.streams().open(Dir::Uni)
        {
            let priority = -i32::from(*urgency);
            connection.send_stream(id).set_priority(priority).expect("the stream was just opened");
            self.sending.push((id, *bytes));
            self.unfinished += 1;
            self.waiting.pop_front();
        }
        self.sending.retain_mut(|(id, left)| {
            let mut stream = connection.send_stream(*id);
            while *left > 0 {
                let piece = ZEROS.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                match stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..piece])]) {
                    Ok(written) => *left -= written.bytes as u64,
                    Err(WriteError::Blocked) => return true,
                    // The connection is lost, of which there is an event.
                    Err(_) => return false,
                }
            }
            let _ = stream.finish();
            false
        });
    }

    /// Takes the datagrams that the connection has to send. Returns whether there were any.
    fn transmit(&mut self, connection: &mut Connection, now: Instant) -> bool {
        let before = self.outputs.len();
        loop {
            let before_it = connection.stats().frame_tx;
            let mut datagram = Vec::new();
            if connection.poll_transmit(to_library(now), 1, &mut datagram).is_none() {
                return self.outputs.len() > before;
            }
            let after = connection.stats().frame_tx;
            let content = if after.stream > before_it.stream {
                self.data_packets += 1;
                QuicContent::Data
            } else if other_frames(&after) == other_frames(&before_it) {
                QuicContent::Acknowledgement
            } else {
                QuicContent::Control
            };
            self.outputs.push_back(QuicOutput::Transmit(datagram, content));
        }
    }
}

/// The congestion control of a connection.
fn control(connection: &Connection) -> Box<QuicController> {
    let control = connection.congestion_state().clone_box().into_any().downcast();
    control.expect("connections are made with this controller")
}

/// Frames that elicit an acknowledgement, or end the connection.
fn other_frames(sent: &FrameStats) -> u64 {
    let streams = sent.stream + sent.reset_stream + sent.stop_sending;
    let limits = sent.max_data + sent.max_stream_data + sent.max_streams_bidi + sent.max_streams_uni;
    let blocked =
        sent.data_blocked + sent.stream_data_blocked + sent.streams_blocked_bidi + sent.streams_blocked_uni;
    let identifiers = sent.new_connection_id + sent.retire_connection_id + sent.new_token;
    let path = sent.ping + sent.path_challenge + sent.path_response + sent.ack_frequency + sent.immediate_ack;
    let handshake = sent.crypto + u64::from(sent.handshake_done) + sent.connection_close;
    streams + limits + blocked + identifiers + path + handshake
}

fn transport(config: &QuicConfig) -> TransportConfig {
    let number = |value: u64| VarInt::from_u64(value).unwrap_or(VarInt::MAX);
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Factory(config.clone())));
    transport.max_idle_timeout(None);
    transport.stream_receive_window(number(config.stream_window.as_bytes()));
    transport.enable_segmentation_offload(false);
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(u16::try_from(config.mtu.as_bytes()).unwrap_or(u16::MAX));
    let probes = config.mtu.as_bytes() > u64::from(FIRST_MTU);
    transport.mtu_discovery_config(probes.then_some(discovery));
    if config.asks_for_acks() {
        let mut agreement = AckFrequencyConfig::default();
        agreement.ack_eliciting_threshold(VarInt::from_u32(config.ack_every - 1));
        agreement.max_ack_delay(Some(Duration::from_nanos(config.ack_delay.as_nanos())));
        transport.ack_frequency_config(Some(agreement));
    }
    transport
}
