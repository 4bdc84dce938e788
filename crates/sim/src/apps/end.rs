//! One end of a transport connection, whichever transport it is: what the wiring sees of TCP and E2TCP alike.
//!
//! It translates and decides nothing. A packet of another transport, which the wiring never sends, is ignored.

use airwatt_base::{Instant, Machine, Span};
use airwatt_proto::{e2tcp, tcp};

use crate::packet::Body;

/// One end.
#[derive(Clone, Debug)]
pub enum End {
    /// Of a TCP connection.
    Tcp(Box<tcp::Connection>),
    /// Of an E2TCP connection.
    E2tcp {
        /// The end.
        connection: Box<e2tcp::Connection>,
        /// Whether packets are charged with TCP's headers instead of their own.
        tcp_headers: bool,
    },
}

/// What an end does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EndOutput {
    /// It sends an IP packet of so many bytes.
    Transmit(Body, u32),
    /// It tells its application something.
    Event(EndEvent),
}

/// What an application wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndEvent {
    /// So many bytes more are in order, or arrived after they were given up.
    Delivered(u64),
    /// So many bytes were given up, by leave of the reliability.
    Skipped(u64),
    /// So many bytes that were given up arrived all the same.
    Late(u64),
    /// The peer has everything that was written so far, or can do without.
    AllAcknowledged,
    /// The connection was given up, reset or refused.
    Lost,
}

/// What the sending end counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// Packets with data sent, those sent again included.
    pub sent: u64,
    /// Those sent again.
    pub retransmitted: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Acknowledgements of the peer taken for lost, where that is watched, and how often that halved the window.
    pub ack_losses: (u64, u64),
    /// Mean of the measurements of the round-trip time.
    pub rtt_mean: Option<Span>,
}

/// A sender's window in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndWindow {
    /// What may be on its way.
    pub window: u32,
    /// Slow-start threshold; of E2TCP the largest window.
    pub threshold: u32,
    /// What is on its way.
    pub flight: u32,
}

impl End {
    /// Waits for the peer to open.
    pub fn listen(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Listen, now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Listen, now),
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Open, now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Open, now),
        }
    }

    /// Takes `bytes` of data to send.
    pub fn write(&mut self, bytes: u64, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Write(bytes), now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Write(bytes), now),
        }
    }

    /// The application has read `bytes`.
    pub fn read(&mut self, bytes: u64, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_input(tcp::Input::Read(bytes), now),
            Self::E2tcp { connection, .. } => connection.handle_input(e2tcp::Input::Read(bytes), now),
        }
    }

    /// A packet from the peer.
    pub fn receive(&mut self, body: &Body, now: Instant) {
        match (self, body) {
            (Self::Tcp(end), Body::Tcp(segment)) => {
                end.handle_input(tcp::Input::Segment(*segment, ()), now);
            }
            (Self::E2tcp { connection, .. }, Body::E2tcp(packet)) => {
                connection.handle_input(e2tcp::Input::Packet(*packet, ()), now);
            }
            _ => {}
        }
    }

    /// Serves the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Tcp(end) => end.handle_timeout(now),
            Self::E2tcp { connection, .. } => connection.handle_timeout(now),
        }
    }

    /// When it wants to be woken.
    pub fn due(&self) -> Option<Instant> {
        match self {
            Self::Tcp(end) => end.poll_timeout().map(|timeout| timeout.at),
            Self::E2tcp { connection, .. } => connection.poll_timeout().map(|timeout| timeout.at),
        }
    }

    /// What it does next.
    pub fn poll_output(&mut self) -> Option<EndOutput> {
        loop {
            let translated = match self {
                Self::Tcp(end) => match end.poll_output()? {
                    tcp::Output::Transmit(segment) => {
                        let bytes = end.config().packet_bytes(&segment);
                        Some(EndOutput::Transmit(Body::Tcp(segment), bytes))
                    }
                    tcp::Output::Event(event) => tcp_event(event).map(EndOutput::Event),
                },
                Self::E2tcp { connection, tcp_headers } => match connection.poll_output()? {
                    e2tcp::Output::Transmit(packet) => {
                        let bytes = e2tcp_bytes(&packet, *tcp_headers);
                        Some(EndOutput::Transmit(Body::E2tcp(packet), bytes))
                    }
                    e2tcp::Output::Event(event) => e2tcp_event(event).map(EndOutput::Event),
                },
            };
            if translated.is_some() {
                return translated;
            }
        }
    }

    /// Bytes received in order and not yet read, given-up ones among them.
    pub fn readable(&self) -> u64 {
        match self {
            Self::Tcp(end) => end.readable_bytes(),
            Self::E2tcp { connection, .. } => connection.readable_bytes(),
        }
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        match self {
            Self::Tcp(end) => end.unacknowledged_bytes(),
            Self::E2tcp { connection, .. } => connection.unacknowledged_bytes(),
        }
    }

    /// What it counted as a sender.
    pub fn counts(&self) -> EndCounts {
        match self {
            Self::Tcp(end) => {
                let counted = end.statistics();
                EndCounts {
                    sent: counted.segments_sent,
                    retransmitted: counted.segments_retransmitted,
                    timeouts: counted.timeouts,
                    ack_losses: (counted.ack_losses, counted.ack_loss_halvings),
                    rtt_mean: counted.rtt_mean(),
                }
            }
            Self::E2tcp { connection, .. } => {
                let counted = connection.statistics();
                EndCounts {
                    sent: counted.data_packets_sent,
                    retransmitted: counted.packets_resent,
                    timeouts: counted.transmission_timeouts + counted.retransmission_timeouts,
                    ack_losses: (0, 0),
                    rtt_mean: counted.rtt_mean(),
                }
            }
        }
    }

    /// Its window as a sender.
    pub fn window(&self) -> EndWindow {
        match self {
            Self::Tcp(end) => {
                EndWindow { window: end.cwnd(), threshold: end.ssthresh(), flight: end.flight() }
            }
            Self::E2tcp { connection, .. } => {
                let payload = u32::from(connection.config().payload);
                let bytes = |packets: u32| packets.saturating_mul(payload);
                EndWindow {
                    window: bytes(connection.window()),
                    threshold: bytes(connection.largest_window()),
                    flight: bytes(connection.outstanding()),
                }
            }
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

const fn tcp_event(event: tcp::Event) -> Option<EndEvent> {
    match event {
        tcp::Event::Delivered { bytes } => Some(EndEvent::Delivered(bytes)),
        tcp::Event::Gap { bytes, .. } => Some(EndEvent::Skipped(bytes)),
        tcp::Event::Late { bytes, .. } => Some(EndEvent::Late(bytes)),
        tcp::Event::AllAcknowledged => Some(EndEvent::AllAcknowledged),
        tcp::Event::Reset | tcp::Event::TimedOut => Some(EndEvent::Lost),
        tcp::Event::Connected | tcp::Event::PeerClosed | tcp::Event::Closed => None,
    }
}

const fn e2tcp_event(event: e2tcp::Event) -> Option<EndEvent> {
    use e2tcp::Event;
    match event {
        Event::Delivered { bytes } => Some(EndEvent::Delivered(bytes)),
        Event::Gap { bytes, .. } => Some(EndEvent::Skipped(bytes)),
        Event::Late { bytes, .. } => Some(EndEvent::Late(bytes)),
        Event::AllAcknowledged => Some(EndEvent::AllAcknowledged),
        Event::Refused | Event::Reset | Event::TimedOut => Some(EndEvent::Lost),
        Event::Connected | Event::Urgent { .. } | Event::PeerClosed | Event::Closed => None,
    }
}
