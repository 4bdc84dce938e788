//! The association of a tunnel by its settings: numbered datagrams, or SCTP.

use super::config::Config;
use airwatt_base::Instant;
use airwatt_proto::tunnel::{Association, AssociationOutput, Datagram, IpPacket, Plain, Sctp, sctp};

/// The association to one peer.
#[derive(Clone, Debug)]
pub(super) enum PeerAssociation {
    Datagrams(Plain<IpPacket>),
    Sctp(Box<Sctp<IpPacket>>),
}

/// What it exchanges with the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeerDatagram {
    Datagram(Datagram<IpPacket>),
    /// An SCTP packet.
    Sctp(Vec<u8>),
}

impl PeerDatagram {
    /// Its bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Datagram(datagram) => datagram.encode(),
            Self::Sctp(bytes) => bytes,
        }
    }

    /// Whether the peer is going to send something because of it. A trigger or a keep-alive asks for nothing that is not there.
    pub(super) fn expects_answer(&self) -> bool {
        match self {
            Self::Datagram(datagram) => !datagram.packets.is_empty(),
            Self::Sctp(bytes) => sctp::expects_answer(bytes),
        }
    }
}

impl PeerAssociation {
    /// Follows a path whose packets have become smaller or larger.
    pub(super) fn resize(&mut self, config: &Config, now: Instant) {
        match (self, config.tunnel.sctp(config.mtu().into())) {
            (Self::Datagrams(plain), _) => plain.set_limit(config.bundle_bytes()),
            (Self::Sctp(sctp), Some(settings)) => sctp.set_packet_bytes(settings.packet_bytes, now),
            (Self::Sctp(_), None) => {}
        }
    }

    /// Datagrams of the peer that were lost; `None` if the association does not know.
    pub(super) const fn lost(&self) -> Option<u64> {
        match self {
            Self::Datagrams(plain) => Some(plain.lost()),
            Self::Sctp(_) => None,
        }
    }

    /// Packets that were sent again; `None` if the association never does.
    pub(super) fn repeated(&self) -> Option<u64> {
        match self {
            Self::Datagrams(_) => None,
            Self::Sctp(sctp) => Some(sctp.retransmissions()),
        }
    }
}

impl Association for PeerAssociation {
    type Inner = IpPacket;
    type Datagram = PeerDatagram;

    fn open(&mut self, now: Instant) {
        match self {
            Self::Datagrams(plain) => plain.open(now),
            Self::Sctp(sctp) => sctp.open(now),
        }
    }

    fn has_room(&self) -> bool {
        match self {
            Self::Datagrams(plain) => plain.has_room(),
            Self::Sctp(sctp) => sctp.has_room(),
        }
    }

    fn send(&mut self, packet: IpPacket, now: Instant) {
        match self {
            Self::Datagrams(plain) => plain.send(packet, now),
            Self::Sctp(sctp) => sctp.send(packet, now),
        }
    }

    fn end_burst(&mut self, now: Instant) {
        match self {
            Self::Datagrams(plain) => plain.end_burst(now),
            Self::Sctp(sctp) => sctp.end_burst(now),
        }
    }

    fn probe(&mut self, now: Instant) {
        match self {
            Self::Datagrams(plain) => plain.probe(now),
            Self::Sctp(sctp) => sctp.probe(now),
        }
    }

    fn receive(&mut self, datagram: PeerDatagram, now: Instant) {
        match (self, datagram) {
            (Self::Datagrams(plain), PeerDatagram::Datagram(datagram)) => plain.receive(datagram, now),
            (Self::Sctp(sctp), PeerDatagram::Sctp(bytes)) => sctp.receive(bytes, now),
            // The caller reads datagrams by the same settings.
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Datagrams(plain) => plain.handle_timeout(now),
            Self::Sctp(sctp) => sctp.handle_timeout(now),
        }
    }

    fn due(&self) -> Option<Instant> {
        match self {
            Self::Datagrams(plain) => plain.due(),
            Self::Sctp(sctp) => sctp.due(),
        }
    }

    fn poll(&mut self) -> Option<AssociationOutput<IpPacket, PeerDatagram>> {
        match self {
            Self::Datagrams(plain) => Some(convert(plain.poll()?, PeerDatagram::Datagram)),
            Self::Sctp(sctp) => Some(convert(sctp.poll()?, PeerDatagram::Sctp)),
        }
    }
}

/// An output with another kind of datagram.
fn convert<D>(
    output: AssociationOutput<IpPacket, D>,
    of: impl Fn(D) -> PeerDatagram,
) -> AssociationOutput<IpPacket, PeerDatagram> {
    match output {
        AssociationOutput::Transmit(datagram) => AssociationOutput::Transmit(of(datagram)),
        AssociationOutput::Deliver(packet) => AssociationOutput::Deliver(packet),
        AssociationOutput::BurstEnded => AssociationOutput::BurstEnded,
        AssociationOutput::Abandoned(packet) => AssociationOutput::Abandoned(packet),
    }
}
