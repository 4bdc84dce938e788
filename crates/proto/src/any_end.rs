//! An end of TCP, of E2TCP, or of E2TCP in TCP's segments, for callers that choose the transport at run time: the legs of gateways.
//!
//! Left out: the TCP of Linux hosts and QUIC, which no gateway relays.

use airwatt_base::Instant;

use crate::end::{End, EndOutput, SenderCounts, SenderWindow, Stream, stream_of_inner};
use crate::gateway::Translated;
use crate::tcp::{Lengths, ReceiveBuffer, SendBuffer};
use crate::{e2tcp, tcp};

/// An end of one of the three.
#[derive(Clone, Debug)]
pub enum AnyEnd<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    /// TCP.
    Tcp(Box<tcp::Connection<S, R>>),
    /// E2TCP.
    E2tcp(Box<e2tcp::Connection<S, R>>),
    /// E2TCP's rules in TCP's segments, for a peer that knows TCP alone.
    Translated(Box<Translated<S, R>>),
}

/// A packet of an [`AnyEnd`], with its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyPacket<P = ()> {
    /// A TCP segment.
    Tcp(tcp::Segment, P),
    /// An E2TCP packet.
    E2tcp(e2tcp::E2tcpPacket, P),
}

macro_rules! each {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            AnyEnd::Tcp($end) => $call,
            AnyEnd::E2tcp($end) => $call,
            AnyEnd::Translated($end) => $call,
        }
    };
}

stream_of_inner!(AnyEnd, each);

impl<S, R> End for AnyEnd<S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    type Packet = AnyPacket<R::Payload>;

    /// Ignores a packet of the other transport.
    fn receive(&mut self, packet: Self::Packet, now: Instant) {
        match (self, packet) {
            (Self::Tcp(end), AnyPacket::Tcp(segment, payload)) => end.receive((segment, payload), now),
            (Self::Translated(end), AnyPacket::Tcp(segment, payload)) => end.receive((segment, payload), now),
            (Self::E2tcp(end), AnyPacket::E2tcp(packet, payload)) => end.receive((packet, payload), now),
            _ => {}
        }
    }

    fn refusal(packet: &Self::Packet) -> Option<Self::Packet> {
        let nothing = || S::default().payload(0, 0);
        match packet {
            AnyPacket::Tcp(segment, _) => Some(AnyPacket::Tcp(segment.reset()?, nothing())),
            AnyPacket::E2tcp(packet, _) => Some(AnyPacket::E2tcp(packet.refusal()?, nothing())),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        each!(self, end => End::handle_timeout(&mut **end, now));
    }

    #[inline]
    fn poll(&mut self) -> Option<EndOutput<Self::Packet>> {
        Some(match self {
            Self::Tcp(end) => end.poll()?.map(|(segment, payload)| AnyPacket::Tcp(segment, payload)),
            Self::E2tcp(end) => end.poll()?.map(|(packet, payload)| AnyPacket::E2tcp(packet, payload)),
            Self::Translated(end) => end.poll()?.map(|(segment, payload)| AnyPacket::Tcp(segment, payload)),
        })
    }

    fn due(&self) -> Option<Instant> {
        each!(self, end => end.due())
    }

    fn packet_bytes(&self, packet: &Self::Packet) -> u32 {
        match (self, packet) {
            (Self::Tcp(end), AnyPacket::Tcp(segment, _)) => end.config().packet_bytes(segment),
            (Self::E2tcp(end), AnyPacket::E2tcp(packet, _)) => end.config().packet_bytes(packet),
            (Self::Translated(end), AnyPacket::Tcp(segment, _)) => end.segment_bytes(segment),
            _ => unreachable!("an end sends packets of its own transport"),
        }
    }

    fn counts(&self) -> SenderCounts {
        each!(self, end => end.counts())
    }

    fn sender_window(&self) -> SenderWindow {
        each!(self, end => end.sender_window())
    }
}
