//! The transport of a socket: what the network sees of TCP, E2TCP, QUIC and UDP alike.
//!
//! It translates and decides nothing. A packet of another transport is ignored.

use airwatt_base::Instant;
use airwatt_proto::any_end::AnyEnd;
use airwatt_proto::end::{End, EndEvent, EndOutput, SenderCounts, SenderWindow, Stream};
use airwatt_proto::gateway::Translated;
use airwatt_proto::quic::{QuicContent, QuicEnd, QuicOutput};
use airwatt_proto::tcp::linux::LinuxEnd;
use airwatt_proto::{e2tcp, tcp};

use crate::packet::Payload;

/// The transport of one socket.
#[derive(Debug)]
pub enum SocketTransport {
    /// An end of a TCP connection.
    Tcp(Box<tcp::Connection>),
    /// An end of an E2TCP connection.
    E2tcp(Box<e2tcp::Connection>),
    /// An end of E2TCP in TCP's segments.
    Translated(Box<Translated>),
    /// An end of a connection between hosts with Linux.
    Linux(Box<LinuxEnd>),
    /// An end of a QUIC connection.
    Quic(Box<QuicEnd>),
    /// Datagrams.
    Udp(Udp),
}

/// Calls an end of a connection; for datagrams there is `$none`.
macro_rules! of_connection {
    ($self:expr, $end:ident => $call:expr, $none:expr) => {
        match $self {
            SocketTransport::Tcp($end) => $call,
            SocketTransport::E2tcp($end) => $call,
            SocketTransport::Translated($end) => $call,
            SocketTransport::Linux($end) => $call,
            SocketTransport::Quic($end) => $call,
            SocketTransport::Udp(_) => $none,
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

impl From<AnyEnd> for SocketTransport {
    fn from(end: AnyEnd) -> Self {
        match end {
            AnyEnd::Tcp(end) => Self::Tcp(end),
            AnyEnd::E2tcp(end) => Self::E2tcp(end),
            AnyEnd::Translated(end) => Self::Translated(end),
        }
    }
}

impl SocketTransport {
    /// Waits for the peer to open the connection. QUIC always does.
    pub fn listen(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.listen(now),
            Self::E2tcp(end) => end.listen(now),
            Self::Translated(end) => end.listen(now),
            Self::Linux(end) => end.listen(now),
            Self::Quic(_) | Self::Udp(_) => {}
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Instant) {
        of_connection!(self, end => end.open(now), ());
    }

    /// Sends `bytes` bytes of data.
    pub fn write(&mut self, bytes: u64, now: Instant) {
        of_connection!(self, end => end.write(bytes, now), ());
    }

    /// Sends `bytes` bytes as a stream of QUIC with an urgency. If `more` follow, nothing is sent before the last one.
    pub fn write_stream(&mut self, bytes: u64, urgency: u8, more: bool, now: Instant) {
        if let Self::Quic(end) = self {
            end.write_stream(bytes, urgency, more, now);
        }
    }

    /// Processes a packet of the peer.
    pub fn receive(&mut self, payload: Payload, now: Instant) {
        match (self, payload) {
            (Self::Tcp(end), Payload::Tcp(segment)) => end.receive((segment, ()), now),
            (Self::E2tcp(end), Payload::E2tcp(packet)) => end.receive((packet, ()), now),
            (Self::Translated(end), Payload::Tcp(segment)) => end.receive((segment, ()), now),
            (Self::Linux(end), Payload::Tcp(segment)) => end.receive(segment, now),
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
        of_connection!(self, end => end.handle_timeout(now), ());
    }

    /// The time of the next timer.
    pub fn due(&self) -> Option<Instant> {
        of_connection!(self, end => end.due(), None)
    }

    /// The next output.
    #[inline]
    pub fn poll_output(&mut self) -> Option<TransportOutput> {
        match self {
            Self::Tcp(end) => output_of(&mut **end, |(segment, ())| Payload::Tcp(segment)),
            Self::E2tcp(end) => output_of(&mut **end, |(packet, ())| Payload::E2tcp(packet)),
            Self::Translated(end) => output_of(&mut **end, |(segment, ())| Payload::Tcp(segment)),
            Self::Linux(end) => output_of(&mut **end, Payload::Tcp),
            Self::Quic(end) => loop {
                let event = match end.poll()? {
                    QuicOutput::Transmit(datagram, content) => {
                        return Some(TransportOutput::TransmitQuic(datagram, content));
                    }
                    QuicOutput::StreamEnded(number) => Some(SocketEvent::StreamEnded(number)),
                    QuicOutput::Event(event) => socket_event(event),
                };
                if let Some(event) = event {
                    return Some(TransportOutput::Event(event));
                }
            },
            Self::Udp(_) => None,
        }
    }

    /// The counters of a sender.
    pub fn counts(&self) -> SenderCounts {
        of_connection!(self, end => end.counts(), SenderCounts::default())
    }

    /// The window of a sender.
    pub fn sender_window(&self) -> SenderWindow {
        of_connection!(self, end => end.sender_window(), SenderWindow::default())
    }
}

/// The next output of an end. Its packets are the payload of packets of the network.
#[inline]
fn output_of<E: End>(end: &mut E, payload: impl Fn(E::Packet) -> Payload) -> Option<TransportOutput> {
    loop {
        match end.poll()? {
            EndOutput::Transmit(packet) => {
                let bytes = end.packet_bytes(&packet);
                return Some(TransportOutput::Transmit(payload(packet), bytes));
            }
            EndOutput::Event(event) => {
                if let Some(event) = socket_event(event) {
                    return Some(TransportOutput::Event(event));
                }
            }
        }
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
