//! Middleboxes: machines through which packets pass on their way, and by which they are changed.
//!
//! Each is a machine of `airwatt-proto` with an adapter that gives all of them one face. A packet reaches a middlebox
//!
//! * by a tap at its node, as with TPROXY: the middlebox says which packets it wants (`gateway`);
//! * by a route to the middlebox's virtual interface, as of a TUN device, or because it is one of the packets that the other
//!   end of a tunnel sends (`tunnel`).

mod gateway;
mod sctp_tunnel;
mod tunnel;

use airwatt_base::Instant;

use crate::net::packet::{FlowLabel, Packet};
use crate::net::route::Route;
use crate::net::store::Store;

pub(crate) use gateway::{GatewayBox, ServedFlow};
pub(crate) use sctp_tunnel::SctpTunnelBox;
pub(crate) use tunnel::{TunnelBox, TunnelCounts, TunnelEnds};

/// Index of a middlebox in its network.
pub(crate) type MiddleboxId = u16;

/// One middlebox.
#[derive(Clone, Debug)]
pub(crate) enum Middlebox {
    /// A gateway that splits connections, or keeps copies of what passes.
    Gateway(Box<GatewayBox>),
    /// One end of a tunnel of datagrams.
    Tunnel(Box<TunnelBox>),
    /// One end of a tunnel over SCTP.
    SctpTunnel(Box<SctpTunnelBox>),
}

/// An output of a middlebox.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MiddleboxOutput {
    /// The packet is to be forwarded. `counted` says whether it counts as sent for its flow.
    Transmit { packet: Packet, counted: bool },
    /// The packet leaves by this route, whatever other packets for its address do.
    TransmitBy { route: Route, packet: Packet },
    /// The packet came out of the middlebox's virtual interface, and has arrived at the node.
    Arrive(Packet),
    /// The packet is lost.
    Lose(Packet),
    /// The packet is superfluous.
    Discard(Packet),
    /// Bytes of the flow were given up, and zeros take their place.
    GaveUp(FlowLabel, u64),
    /// A connection of the flow was reset, refused or timed out.
    Lost(FlowLabel),
}

impl Middlebox {
    /// Whether a packet that passes the node is for this middlebox.
    pub(crate) fn wants(&self, packet: &Packet) -> bool {
        match self {
            Self::Gateway(gateway) => gateway.wants(packet),
            Self::Tunnel(_) | Self::SctpTunnel(_) => false,
        }
    }

    /// Processes a packet that it wants.
    pub(crate) fn handle_packet(&mut self, packet: Packet, store: &mut Store, now: Instant) {
        match self {
            Self::Gateway(gateway) => gateway.handle_packet(packet, now),
            Self::Tunnel(tunnel) => tunnel.handle_packet(packet, store, now),
            Self::SctpTunnel(tunnel) => tunnel.handle_packet(packet, store, now),
        }
    }

    /// Serves the timers that are due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Gateway(gateway) => gateway.handle_timeout(now),
            Self::Tunnel(tunnel) => tunnel.handle_timeout(now),
            Self::SctpTunnel(tunnel) => tunnel.handle_timeout(now),
        }
    }

    /// The next output.
    pub(crate) fn poll_output(&mut self, store: &mut Store, now: Instant) -> Option<MiddleboxOutput> {
        match self {
            Self::Gateway(gateway) => gateway.poll_output(now),
            Self::Tunnel(tunnel) => tunnel.poll_output(store, now),
            Self::SctpTunnel(tunnel) => tunnel.poll_output(store, now),
        }
    }

    /// The time of the next timer.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Gateway(gateway) => gateway.due(),
            Self::Tunnel(tunnel) => tunnel.due(),
            Self::SctpTunnel(tunnel) => tunnel.due(),
        }
    }
}
