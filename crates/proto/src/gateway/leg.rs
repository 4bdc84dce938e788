//! What a gateway needs of a connection, and the connections that have it.

use std::fmt::Debug;

use airwatt_base::{Instant, Machine};

use crate::{e2tcp, tcp};

/// One connection of a relay.
pub trait Leg: Clone + Debug + Send {
    /// What it sends and receives.
    type Packet: Copy + Debug + PartialEq;

    /// Opens the connection.
    fn open(&mut self, now: Instant);
    /// Waits for the peer to open the connection.
    fn listen(&mut self, now: Instant);
    /// Processes a packet of the peer.
    fn receive(&mut self, packet: Self::Packet, now: Instant);
    /// Sends `bytes` bytes.
    fn write(&mut self, bytes: u64, now: Instant);
    /// Takes `bytes` bytes out of the receive buffer.
    fn read(&mut self, bytes: u64, now: Instant);
    /// Bytes in the receive buffer that can be read, given-up ones included.
    fn readable(&self) -> u64;
    /// Bytes written and not acknowledged yet.
    fn unacknowledged(&self) -> u64;
    /// Serves the timers that are due.
    fn handle_timeout(&mut self, now: Instant);
    /// The next output.
    fn poll(&mut self) -> Option<LegOutput<Self::Packet>>;
    /// The time of the next timer.
    fn due(&self) -> Option<Instant>;
}

/// An output of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegOutput<P> {
    /// A packet to send.
    Transmit(P),
    /// An event of the connection.
    Event(LegEvent),
}

/// What happened on a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegEvent {
    /// This many bytes were given up, as the reliability permits.
    GaveUp(u64),
    /// The connection was reset, refused or timed out.
    Lost,
    /// Anything else.
    Other,
}

impl Leg for tcp::Connection {
    type Packet = tcp::Segment;

    fn open(&mut self, now: Instant) {
        self.handle_input(tcp::Input::Open, now);
    }

    fn listen(&mut self, now: Instant) {
        self.handle_input(tcp::Input::Listen, now);
    }

    fn receive(&mut self, segment: tcp::Segment, now: Instant) {
        self.handle_input(tcp::Input::Segment(segment, ()), now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.handle_input(tcp::Input::Write(bytes), now);
    }

    fn read(&mut self, bytes: u64, now: Instant) {
        self.handle_input(tcp::Input::Read(bytes), now);
    }

    fn readable(&self) -> u64 {
        self.readable_bytes()
    }

    fn unacknowledged(&self) -> u64 {
        self.unacknowledged_bytes()
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll(&mut self) -> Option<LegOutput<tcp::Segment>> {
        Some(match self.poll_output()? {
            tcp::Output::Transmit(segment) => LegOutput::Transmit(segment),
            tcp::Output::Event(event) => LegOutput::Event(match event {
                tcp::Event::Gap { bytes, .. } => LegEvent::GaveUp(bytes),
                tcp::Event::Reset | tcp::Event::TimedOut => LegEvent::Lost,
                _ => LegEvent::Other,
            }),
        })
    }

    fn due(&self) -> Option<Instant> {
        self.poll_timeout().map(|timeout| timeout.at)
    }
}

impl Leg for e2tcp::Connection {
    type Packet = e2tcp::Packet;

    fn open(&mut self, now: Instant) {
        self.handle_input(e2tcp::Input::Open, now);
    }

    fn listen(&mut self, now: Instant) {
        self.handle_input(e2tcp::Input::Listen, now);
    }

    fn receive(&mut self, packet: e2tcp::Packet, now: Instant) {
        self.handle_input(e2tcp::Input::Packet(packet, ()), now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.handle_input(e2tcp::Input::Write(bytes), now);
    }

    fn read(&mut self, bytes: u64, now: Instant) {
        self.handle_input(e2tcp::Input::Read(bytes), now);
    }

    fn readable(&self) -> u64 {
        self.readable_bytes()
    }

    fn unacknowledged(&self) -> u64 {
        self.unacknowledged_bytes()
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll(&mut self) -> Option<LegOutput<e2tcp::Packet>> {
        Some(match self.poll_output()? {
            e2tcp::Output::Transmit(packet) => LegOutput::Transmit(packet),
            e2tcp::Output::Event(event) => LegOutput::Event(match event {
                e2tcp::Event::Gap { bytes, .. } => LegEvent::GaveUp(bytes),
                e2tcp::Event::Refused | e2tcp::Event::Reset | e2tcp::Event::TimedOut => LegEvent::Lost,
                _ => LegEvent::Other,
            }),
        })
    }

    fn due(&self) -> Option<Instant> {
        self.poll_timeout().map(|timeout| timeout.at)
    }
}

/// A wireless leg of either transport.
#[derive(Clone, Debug)]
pub enum Wireless {
    /// TCP: the connection is split (I-TCP).
    Tcp(Box<tcp::Connection>),
    /// E2TCP.
    E2tcp(Box<e2tcp::Connection>),
}

/// A packet of a [`Wireless`] leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WirelessPacket {
    /// A TCP segment.
    Tcp(tcp::Segment),
    /// An E2TCP packet.
    E2tcp(e2tcp::Packet),
}

macro_rules! either {
    ($self:expr, $leg:ident => $call:expr) => {
        match $self {
            Wireless::Tcp($leg) => $call,
            Wireless::E2tcp($leg) => $call,
        }
    };
}

impl Leg for Wireless {
    type Packet = WirelessPacket;

    fn open(&mut self, now: Instant) {
        either!(self, leg => Leg::open(&mut **leg, now));
    }

    fn listen(&mut self, now: Instant) {
        either!(self, leg => Leg::listen(&mut **leg, now));
    }

    /// Ignores a packet of the other transport.
    fn receive(&mut self, packet: WirelessPacket, now: Instant) {
        match (self, packet) {
            (Self::Tcp(leg), WirelessPacket::Tcp(segment)) => leg.receive(segment, now),
            (Self::E2tcp(leg), WirelessPacket::E2tcp(packet)) => leg.receive(packet, now),
            _ => {}
        }
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        either!(self, leg => Leg::write(&mut **leg, bytes, now));
    }

    fn read(&mut self, bytes: u64, now: Instant) {
        either!(self, leg => Leg::read(&mut **leg, bytes, now));
    }

    fn readable(&self) -> u64 {
        either!(self, leg => leg.readable())
    }

    fn unacknowledged(&self) -> u64 {
        either!(self, leg => leg.unacknowledged())
    }

    fn handle_timeout(&mut self, now: Instant) {
        either!(self, leg => Leg::handle_timeout(&mut **leg, now));
    }

    fn poll(&mut self) -> Option<LegOutput<WirelessPacket>> {
        Some(match self {
            Self::Tcp(leg) => match leg.poll()? {
                LegOutput::Transmit(segment) => LegOutput::Transmit(WirelessPacket::Tcp(segment)),
                LegOutput::Event(event) => LegOutput::Event(event),
            },
            Self::E2tcp(leg) => match leg.poll()? {
                LegOutput::Transmit(packet) => LegOutput::Transmit(WirelessPacket::E2tcp(packet)),
                LegOutput::Event(event) => LegOutput::Event(event),
            },
        })
    }

    fn due(&self) -> Option<Instant> {
        either!(self, leg => leg.due())
    }
}
