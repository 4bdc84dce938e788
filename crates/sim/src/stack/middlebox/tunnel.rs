//! One end of the tunnel of [`airwatt_proto::tunnel`]: a virtual interface of its node, as a TUN device is.
//!
//! A route to the virtual interface leads packets into the tunnel; it holds them and sends them in outer packets, which
//! carry them in the network's store and take the route of the node without the tunnel. The peer's outer packets come by the
//! address of their sender. Outer packets are as long as those of `airwattd tunnel` over UDP and IPv4.

use airwatt_base::{Instant, Machine};
use airwatt_proto::tunnel::wire::OuterIp;
use airwatt_proto::tunnel::{
    Counts, Datagram, DropReason, End, Inner, Input, Output, Plain, Tunnel, TunnelConfig,
};

use super::MiddleboxOutput;
use crate::net::packet::{Endpoints, NO_FLOW, Packet, Payload};
use crate::net::route::{Address, Route};
use crate::net::store::Store;

/// The UDP port of tunnels, at either end.
const PORT: u16 = 51_900;

impl Inner for Packet {
    type Flow = Endpoints;

    fn flow(&self) -> Endpoints {
        self.endpoints()
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn supersedes(&self, older: &Self) -> bool {
        let (Payload::Tcp(new), Payload::Tcp(old)) = (&self.payload, &older.payload) else { return false };
        let plain = |segment: &airwatt_proto::tcp::Segment| segment.is_pure_ack() && segment.sack.is_empty();
        self.endpoints() == older.endpoints() && plain(new) && plain(old) && new.ack.after(old.ack)
    }
}

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub(crate) struct TunnelBox {
    machine: Tunnel<Plain<Packet>>,
    local: Address,
    peer: Address,
    /// The route of outer packets.
    route: Route,
    /// Bytes that an outer packet has beside those that it carries.
    overhead: u32,
    /// Bytes of outer packets sent.
    outer_bytes: u64,
}

/// What one end of a tunnel has sent, for results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunnelCounts {
    pub(crate) machine: Counts,
    pub(crate) outer_bytes: u64,
    /// Outer packets of the peer that were lost on the way.
    pub(crate) lost_from_peer: u64,
}

impl TunnelBox {
    /// The end at `local` of a tunnel to `peer`, whose outer packets take `route`.
    pub(crate) fn new(config: TunnelConfig, end: End, local: Address, peer: Address, route: Route) -> Self {
        let association = Plain::new(config.bundle_bytes(OuterIp::V4));
        Self {
            machine: Tunnel::new(config, end, association),
            local,
            peer,
            route,
            overhead: config.overhead_bytes(OuterIp::V4),
            outer_bytes: 0,
        }
    }

    pub(crate) fn counts(&self) -> TunnelCounts {
        TunnelCounts {
            machine: *self.machine.counts(),
            outer_bytes: self.outer_bytes,
            lost_from_peer: self.machine.association().lost(),
        }
    }

    pub(super) fn handle_packet(&mut self, packet: Packet, store: &mut Store, now: Instant) {
        let input = match packet.payload {
            Payload::Carried(ticket, header) if packet.src == self.peer && packet.dst == self.local => {
                Input::Outer(Datagram { header, packets: store.take_packets(ticket) })
            }
            _ => Input::Inner(packet),
        };
        self.machine.handle_input(input, now);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }

    pub(super) fn poll_output(&mut self, store: &mut Store, now: Instant) -> Option<MiddleboxOutput> {
        Some(match self.machine.poll_output()? {
            Output::Transmit(Datagram { header, packets }) => {
                let inner: u32 = packets.iter().map(|packet| packet.bytes).sum();
                let bytes = inner + self.overhead;
                self.outer_bytes += u64::from(bytes);
                let packet = Packet {
                    src: self.local,
                    dst: self.peer,
                    sport: PORT,
                    dport: PORT,
                    flow: NO_FLOW,
                    bytes,
                    sent: now,
                    class: 0,
                    ecn: 0,
                    payload: Payload::Carried(store.put_packets(packets), header),
                };
                MiddleboxOutput::TransmitBy { route: self.route, packet }
            }
            Output::Deliver(packet) => MiddleboxOutput::Arrive(packet),
            Output::Dropped(packet, DropReason::Superseded) => MiddleboxOutput::Discard(packet),
            Output::Dropped(packet, DropReason::QueueFull | DropReason::Abandoned) => {
                MiddleboxOutput::Lose(packet)
            }
        })
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.machine.poll_timeout().map(|timeout| timeout.at)
    }
}
