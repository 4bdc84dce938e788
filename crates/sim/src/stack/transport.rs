//! The transport of a socket: what the network sees of TCP, E2TCP and UDP alike.
//!
//! It translates and decides nothing. A packet of another transport is ignored.

use airwatt_base::Instant;
use airwatt_proto::any_end::{AnyEnd, AnyPacket};
use airwatt_proto::end::{End, EndEvent, EndOutput, SenderCounts, SenderWindow, Stream};
use airwatt_proto::quic::{QuicContent, QuicEnd, QuicOutput};
use airwatt_proto::tcp::linux::LinuxEnd;
use airwatt_proto::{e2tcp, tcp};

use crate::packet::Payload;

/// The transport of one socket.
#[derive(Clone, Debug)]
pub enum SocketTransport {
    /// An end of a connection.
    Connection {
        /// The end.
        end: AnyEnd,
        /// Whether packets of E2TCP are charged with TCP's headers instead of their own.
        tcp_headers: bool,
    },
    /// An end of a connection between hosts with Linux.
    Linux(Box<LinuxEnd>),
    /// An end of a QUIC connection.
    Quic(Box<QuicEnd>),
    /// Datagrams.
    Udp(Udp),
}

/// Calls an end of a connection; there is none for datagrams.
macro_rules! of_connection {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            SocketTransport::Connection { end: $end, .. } => $call,
            SocketTransport::Linux($end) => $call,
            SocketTransport::Quic($end) => $call,
            SocketTransport::Udp(_) => {}
        }
    };
}

/// Datagrams: each is sent when it is written, and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// IP and UDP headers of each packet in bytes; 0 if the application counts IP packets.
    pub header_bytes: u32,
}

/// An output of a transport.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportOutput {
    /// An IP packet with this payload and this length in bytes is to be sent.
    Transmit(Payload, u32),
    /// A QUIC packet with this UDP payload is to be sent.
    TransmitQuic(Vec<u8>, QuicContent),
    /// The application is notified.
    Event(SocketEvent),
}

/// What a socket reports to its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// This many bytes more are in order.
    Delivered(u64),
    /// This many bytes were given up, as permitted by the reliability.
    GaveUp(u64),
    /// This many bytes that had been given up arrived after all.
    Late(u64),
    /// All of the peer's stream with this number has arrived (QUIC).
    StreamEnded(u64),
    /// The peer has received, or has given up, everything written so far.
    AllAcknowledged,
    /// The connection was reset, refused or timed out.
    Lost,
}

impl SocketTransport {
    /// An end of a TCP connection.
    pub fn tcp(end: tcp::Connection) -> Self {
        Self::Connection { end: AnyEnd::Tcp(Box::new(end)), tcp_headers: false }
    }

    /// The end of a connection of TCP or E2TCP, as a gateway relays them, and whether packets of E2TCP are charged with TCP's headers.
    pub(crate) fn into_connection(self) -> Option<(AnyEnd, bool)> {
        match self {
            Self::Connection { end, tcp_headers } => Some((end, tcp_headers)),
            Self::Linux(_) | Self::Quic(_) | Self::Udp(_) => None,
        }
    }

    /// Waits for the peer to open the connection. QUIC always does.
    pub fn listen(&mut self, now: Instant) {
        match self {
            Self::Connection { end, .. } => end.listen(now),
            Self::Linux(end) => end.listen(now),
            Self::Quic(_) | Self::Udp(_) => {}
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Instant) {
        of_connection!(self, end => end.open(now));
    }

    /// Sends `bytes` bytes of data.
    pub fn write(&mut self, bytes: u64, now: Instant) {
        of_connection!(self, end => end.write(bytes, now));
    }

    /// Sends `bytes` bytes as a stream of QUIC with an urgency. If `more` follow, nothing is sent before the last one.
    pub fn write_stream(&mut self, bytes: u64, urgency: u8, more: bool, now: Instant) {
        if let Self::Quic(end) = self {
            end.write_stream(bytes, urgency, more, now);
        }
    }

    /// Processes a packet of the peer.
    pub fn receive(&mut self, payload: Payload, now: Instant) {
        match (self, payload.of_connection()) {
            (Self::Connection { end, .. }, Some(packet)) => end.receive(packet, now),
            (Self::Linux(end), Some(AnyPacket::Tcp(segment, ()))) => end.receive(segment, now),
            _ => {}
        }
    }

    /// Processes the UDP payload of a QUIC packet of the peer.
    pub(crate) fn receive_datagram(&mut self, datagram: &[u8], now: Instant) {
        if let Self::Quic(end) = self {
            end.receive(datagram, now);
        }
    }

    /// Serves the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        of_connection!(self, end => end.handle_timeout(now));
    }

    /// The time of the next timer.
    pub fn due(&self) -> Option<Instant> {
        match self {
            Self::Connection { end, .. } => end.due(),
            Self::Linux(end) => end.due(),
            Self::Quic(end) => end.due(),
            Self::Udp(_) => None,
        }
    }

    /// The next output.
    #[inline]
    pub fn poll_output(&mut self) -> Option<TransportOutput> {
        loop {
            let event = match self {
                Self::Connection { end, tcp_headers } => match end.poll()? {
                    EndOutput::Transmit(packet) => {
                        let bytes = packet_bytes(end, &packet, *tcp_headers);
                        return Some(TransportOutput::Transmit(packet.into(), bytes));
                    }
                    EndOutput::Event(event) => event,
                },
                Self::Linux(end) => match end.poll()? {
                    EndOutput::Transmit(segment) => {
                        let bytes = LinuxEnd::packet_bytes(&segment);
                        return Some(TransportOutput::Transmit(Payload::Tcp(segment), bytes));
                    }
                    EndOutput::Event(event) => event,
                },
                Self::Quic(end) => match end.poll()? {
                    QuicOutput::Transmit(datagram, content) => {
                        return Some(TransportOutput::TransmitQuic(datagram, content));
                    }
                    QuicOutput::StreamEnded(number) => {
                        return Some(TransportOutput::Event(SocketEvent::StreamEnded(number)));
                    }
                    QuicOutput::Event(event) => event,
                },
                Self::Udp(_) => return None,
            };
            if let Some(event) = socket_event(event) {
                return Some(TransportOutput::Event(event));
            }
        }
    }

    /// The counters of a sender.
    pub fn counts(&self) -> SenderCounts {
        match self {
            Self::Connection { end: AnyEnd::Tcp(end), .. } => {
                let counted = end.statistics();
                SenderCounts {
                    sent: counted.segments_sent,
                    retransmitted: counted.segments_retransmitted,
                    timeouts: counted.timeouts,
                    ack_losses: (counted.ack_losses, counted.ack_loss_halvings),
                    rtt_mean: counted.rtt_mean(),
                }
            }
            Self::Connection { end, .. } => {
                let Some(connection) = e2tcp_of(end) else { return SenderCounts::default() };
                let counted = connection.statistics();
                SenderCounts {
                    sent: counted.data_packets_sent,
                    retransmitted: counted.packets_resent,
                    timeouts: counted.transmission_timeouts + counted.retransmission_timeouts,
                    ack_losses: (0, 0),
                    rtt_mean: counted.rtt_mean(),
                }
            }
            Self::Linux(end) => end.counts(),
            Self::Quic(end) => end.counts(),
            Self::Udp(_) => SenderCounts::default(),
        }
    }

    /// The window of a sender.
    pub fn window(&self) -> SenderWindow {
        match self {
            Self::Connection { end: AnyEnd::Tcp(end), .. } => {
                SenderWindow { window: end.cwnd(), threshold: end.ssthresh(), flight: end.flight() }
            }
            Self::Connection { end, .. } => {
                let Some(connection) = e2tcp_of(end) else { return SenderWindow::default() };
                let payload = u32::from(connection.config().payload);
                let bytes = |packets: u32| packets.saturating_mul(payload);
                SenderWindow {
                    window: bytes(connection.window()),
                    threshold: bytes(connection.largest_window()),
                    flight: bytes(connection.outstanding()),
                }
            }
            Self::Linux(end) => end.window(),
            Self::Quic(end) => end.window(),
            Self::Udp(_) => SenderWindow::default(),
        }
    }
}

/// IP and TCP header without options in bytes.
const TCP_HEADERS: u32 = 40;
/// What a block costs in TCP, as the E2TCP thesis counts it (section 4.2.4): a SACK option of its own.
const TCP_BLOCK: u32 = 10;

/// The size of an E2TCP packet in bytes: with its own header, or with the one that TCP would need.
pub fn e2tcp_bytes(packet: &e2tcp::E2tcpPacket, tcp_headers: bool) -> u32 {
    if !tcp_headers {
        return packet.bytes() as u32;
    }
    let blocks = packet.header.acknowledgement.map_or(0, |ack| ack.blocks.iter().flatten().count() as u32);
    TCP_HEADERS + TCP_BLOCK * blocks + u32::from(packet.len)
}

/// The E2TCP connection of an end, if it has one.
fn e2tcp_of(end: &AnyEnd) -> Option<&e2tcp::Connection> {
    match end {
        AnyEnd::Tcp(_) => None,
        AnyEnd::E2tcp(connection) => Some(connection),
        AnyEnd::Translated(translated) => Some(translated.inner()),
    }
}

/// The length in bytes of the IP packet that `end` sends.
pub(crate) fn packet_bytes(end: &AnyEnd, packet: &AnyPacket, tcp_headers: bool) -> u32 {
    match (packet, end) {
        (AnyPacket::Tcp(segment, ()), AnyEnd::Tcp(end)) => end.config().packet_bytes(segment),
        (AnyPacket::Tcp(segment, ()), AnyEnd::Translated(end)) => end.packet_bytes(segment),
        (AnyPacket::Tcp(..), AnyEnd::E2tcp(_)) => unreachable!("an end of E2TCP sends E2TCP"),
        (AnyPacket::E2tcp(packet, ()), _) => e2tcp_bytes(packet, tcp_headers),
    }
}

const fn socket_event(event: EndEvent) -> Option<SocketEvent> {
    match event {
        EndEvent::Delivered(bytes) => Some(SocketEvent::Delivered(bytes)),
        EndEvent::GaveUp(bytes) => Some(SocketEvent::GaveUp(bytes)),
        EndEvent::Late(bytes) => Some(SocketEvent::Late(bytes)),
        EndEvent::AllAcknowledged => Some(SocketEvent::AllAcknowledged),
        EndEvent::Reset | EndEvent::TimedOut => Some(SocketEvent::Lost),
        EndEvent::Connected | EndEvent::Urgent | EndEvent::PeerClosed | EndEvent::Closed => None,
    }
}
