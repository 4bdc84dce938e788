//! The transport of a socket: what the network sees of TCP, E2TCP and UDP alike.
//!
//! It translates and decides nothing. A packet of another transport is ignored.

use airwatt_base::{Instant, Machine, Span};
use airwatt_proto::{e2tcp, tcp};

use crate::net::packet::Payload;

/// The transport of one socket.
#[derive(Clone, Debug)]
pub enum Transport {
    /// An end of a TCP connection.
    Tcp(Box<tcp::Connection>),
    /// An end of an E2TCP connection.
    E2tcp {
        /// The end.
        connection: Box<e2tcp::Connection>,
        /// Whether packets are charged with TCP's headers instead of their own.
        tcp_headers: bool,
    },
    /// Datagrams.
    Udp(Udp),
}

/// Datagrams: each is sent when it is written, and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// IP and UDP headers of each packet in bytes; 0 if the application counts IP packets.
    pub header_bytes: u32,
}

/// An output of a transport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TransportOutput {
    /// An IP packet with this payload and this length in bytes is to be sent.
    Transmit(Payload, u32),
    /// The application is notified.
    Event(SocketEvent),
}

/// What a socket reports to its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// This many bytes more are in order.
    Delivered(u64),
    /// This many bytes were given up, as permitted by the reliability.
    Skipped(u64),
    /// This many bytes that had been given up arrived after all.
    Late(u64),
    /// The peer has received, or has given up, everything written so far.
    AllAcknowledged,
    /// The connection was reset, refused or timed out.
    Lost,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Packets with data sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Acknowledgements of the peer that the sender took for lost, and the number of times that this halved its window.
    pub ack_losses: (u64, u64),
    /// Mean of the measurements of the round-trip time.
    pub rtt_mean: Option<Span>,
}

/// A sender's window in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderWindow {
    /// The congestion window.
    pub window: u32,
    /// The slow-start threshold; of E2TCP the largest window.
    pub threshold: u32,
    /// Bytes in flight.
    pub flight: u32,
}

impl Transport {
    /// Waits for the peer to open the connection.
    pub fn listen(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Listen, now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Listen, now),
            Self::Udp(_) => {}
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Open, now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Open, now),
            Self::Udp(_) => {}
        }
    }

    /// Sends `bytes` bytes of data.
    pub fn write(&mut self, bytes: u64, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Write(bytes), now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Write(bytes), now),
            Self::Udp(_) => {}
        }
    }

    /// Processes a packet of the peer.
    pub fn receive(&mut self, payload: Payload, now: Instant) {
        match (self, payload) {
            (Self::Tcp(end), Payload::Tcp(segment)) => {
                end.handle_input(tcp::Input::Segment(segment, ()), now);
            }
            (Self::E2tcp { connection, .. }, Payload::E2tcp(packet)) => {
                connection.handle_input(e2tcp::Input::Packet(packet, ()), now);
            }
            _ => {}
        }
    }

    /// Serves the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_timeout(now),
            Self::E2tcp { connection, .. } => connection.handle_timeout(now),
            Self::Udp(_) => {}
        }
    }

    /// The time of the next timer.
    pub fn due(&self) -> Option<Instant> {
        match self {
            Self::Tcp(end) => end.poll_timeout().map(|timeout| timeout.at),
            Self::E2tcp { connection, .. } => connection.poll_timeout().map(|timeout| timeout.at),
            Self::Udp(_) => None,
        }
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<TransportOutput> {
        loop {
            let translated = match self {
                Self::Tcp(end) => match end.poll_output()? {
                    tcp::Output::Transmit(segment) => {
                        let bytes = end.config().packet_bytes(&segment);
                        Some(TransportOutput::Transmit(Payload::Tcp(segment), bytes))
                    }
                    tcp::Output::Event(event) => tcp_event(event).map(TransportOutput::Event),
                },
                Self::E2tcp { connection, tcp_headers } => match connection.poll_output()? {
                    e2tcp::Output::Transmit(packet) => {
                        let bytes = e2tcp_bytes(&packet, *tcp_headers);
                        Some(TransportOutput::Transmit(Payload::E2tcp(packet), bytes))
                    }
                    e2tcp::Output::Event(event) => e2tcp_event(event).map(TransportOutput::Event),
                },
                Self::Udp(_) => return None,
            };
            if translated.is_some() {
                return translated;
            }
        }
    }

    /// The counters of a sender.
    pub fn counts(&self) -> SenderCounts {
        match self {
            Self::Tcp(end) => {
                let counted = end.statistics();
                SenderCounts {
                    sent: counted.segments_sent,
                    retransmitted: counted.segments_retransmitted,
                    timeouts: counted.timeouts,
                    ack_losses: (counted.ack_losses, counted.ack_loss_halvings),
                    rtt_mean: counted.rtt_mean(),
                }
            }
            Self::E2tcp { connection, .. } => {
                let counted = connection.statistics();
                SenderCounts {
                    sent: counted.data_packets_sent,
                    retransmitted: counted.packets_resent,
                    timeouts: counted.transmission_timeouts + counted.retransmission_timeouts,
                    ack_losses: (0, 0),
                    rtt_mean: counted.rtt_mean(),
                }
            }
            Self::Udp(_) => SenderCounts::default(),
        }
    }

    /// The window of a sender.
    pub fn window(&self) -> SenderWindow {
        match self {
            Self::Tcp(end) => {
                SenderWindow { window: end.cwnd(), threshold: end.ssthresh(), flight: end.flight() }
            }
            Self::E2tcp { connection, .. } => {
                let payload = u32::from(connection.config().payload);
                let bytes = |packets: u32| packets.saturating_mul(payload);
                SenderWindow {
                    window: bytes(connection.window()),
                    threshold: bytes(connection.largest_window()),
                    flight: bytes(connection.outstanding()),
                }
            }
            Self::Udp(_) => SenderWindow::default(),
        }
    }
}

/// IP and TCP header without options in bytes.
const TCP_HEADERS: u32 = 40;
/// What a block costs in TCP, as the E2TCP thesis counts it (section 4.2.4): a SACK option of its own.
const TCP_BLOCK: u32 = 10;

/// The size of an E2TCP packet in bytes: with its own header, or with the one that TCP would need.
pub fn e2tcp_bytes(packet: &e2tcp::Packet, tcp_headers: bool) -> u32 {
    if !tcp_headers {
        return packet.bytes() as u32;
    }
    let blocks = packet.header.acknowledgement.map_or(0, |ack| ack.blocks.iter().flatten().count() as u32);
    TCP_HEADERS + TCP_BLOCK * blocks + u32::from(packet.len)
}

const fn tcp_event(event: tcp::Event) -> Option<SocketEvent> {
    match event {
        tcp::Event::Delivered { bytes } => Some(SocketEvent::Delivered(bytes)),
        tcp::Event::Gap { bytes, .. } => Some(SocketEvent::Skipped(bytes)),
        tcp::Event::Late { bytes, .. } => Some(SocketEvent::Late(bytes)),
        tcp::Event::AllAcknowledged => Some(SocketEvent::AllAcknowledged),
        tcp::Event::Reset | tcp::Event::TimedOut => Some(SocketEvent::Lost),
        tcp::Event::Connected | tcp::Event::PeerClosed | tcp::Event::Closed => None,
    }
}

const fn e2tcp_event(event: e2tcp::Event) -> Option<SocketEvent> {
    use e2tcp::Event;
    match event {
        Event::Delivered { bytes } => Some(SocketEvent::Delivered(bytes)),
        Event::Gap { bytes, .. } => Some(SocketEvent::Skipped(bytes)),
        Event::Late { bytes, .. } => Some(SocketEvent::Late(bytes)),
        Event::AllAcknowledged => Some(SocketEvent::AllAcknowledged),
        Event::Refused | Event::Reset | Event::TimedOut => Some(SocketEvent::Lost),
        Event::Connected | Event::Urgent { .. } | Event::PeerClosed | Event::Closed => None,
    }
}
