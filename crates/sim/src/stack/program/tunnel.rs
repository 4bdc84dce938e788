//! One end of the tunnel of [`airwatt_proto::tunnel`]: a virtual interface of its node, as a TUN device is.
//!
//! A route to the virtual interface leads packets into the tunnel; it holds them and sends them in outer packets, which
//! carry them in the network's store and take the route of the node without the tunnel. The peer's outer packets are those that the
//! program wants. Outer packets are as long as those of `airwattd tunnel` over UDP and IPv4.

use airwatt_base::{Instant, Machine, Seq};
use airwatt_proto::tunnel::wire::OuterIp;
use airwatt_proto::tunnel::{
    Counts, Datagram, DropReason, Inner, Input, Output as TunnelOutput, Plain, Tunnel, TunnelConfig,
    TunnelEnd,
};

use super::{NodeProgram, Output, Report};
use crate::packet::Store;
use crate::packet::{Endpoints, Packet, Payload, TUNNELLED};
use crate::route::{Address, Route};

/// The UDP port of tunnels, at either end.
pub(super) const PORT: u16 = 51_900;

impl Inner for Packet {
    type Flow = Endpoints;

    fn flow(&self) -> Endpoints {
        self.endpoints()
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn supersedes(&self, older: &Self) -> bool {
        let later = acknowledged(self).zip(acknowledged(older)).is_some_and(|(new, old)| new.after(old));
        later && self.endpoints() == older.endpoints()
    }
}

/// The acknowledgement number of a packet that only acknowledges, without blocks.
pub(super) fn acknowledged(packet: &Packet) -> Option<Seq> {
    let Payload::Tcp(segment) = &packet.payload else { return None };
    (segment.is_pure_ack() && segment.sack.is_empty()).then_some(segment.ack)
}

/// Where the outer packets of one end come from, and where they go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunnelEnds {
    pub(crate) local: Address,
    pub(crate) peer: Address,
    /// The route of outer packets.
    pub(crate) route: Route,
}

impl TunnelEnds {
    /// Whether this is a packet from the other end.
    pub(super) fn are_of(&self, packet: &Packet) -> bool {
        packet.src == self.peer && packet.dst == self.local
    }

    /// An outer packet.
    pub(super) fn transmit(&self, payload: Payload, port: u16, bytes: u32, now: Instant) -> Output {
        let packet = Packet {
            src: self.local,
            dst: self.peer,
            sport: port,
            dport: port,
            flow: TUNNELLED,
            bytes,
            sent: now,
            dscp: 0,
            payload,
        };
        Output::SendBy { route: self.route, packet }
    }
}

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub(crate) struct TunnelProgram {
    machine: Tunnel<Plain<Packet>>,
    ends: TunnelEnds,
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
    /// Packets of SCTP that this end repeated.
    pub(crate) repeated: Option<u64>,
}

impl TunnelProgram {
    /// One end of a tunnel of datagrams.
    pub(crate) fn new(config: TunnelConfig, end: TunnelEnd, ends: TunnelEnds) -> Self {
        let association = Plain::new(config.bundle_bytes(OuterIp::V4));
        Self {
            machine: Tunnel::new(config, end, association),
            ends,
            overhead: config.overhead_bytes(OuterIp::V4),
            outer_bytes: 0,
        }
    }

    fn counts(&self) -> TunnelCounts {
        TunnelCounts {
            machine: *self.machine.counts(),
            outer_bytes: self.outer_bytes,
            lost_from_peer: self.machine.association().lost(),
            repeated: None,
        }
    }
}

impl NodeProgram for TunnelProgram {
    fn wants(&self, packet: &Packet) -> bool {
        matches!(packet.payload, Payload::Carried(..)) && self.ends.are_of(packet)
    }

    fn handle_packet(&mut self, packet: Packet, store: &mut Store, now: Instant) {
        let input = match packet.payload {
            Payload::Carried(ticket, header) if self.ends.are_of(&packet) => {
                Input::Outer(Datagram { header, packets: store.take_packets(ticket) })
            }
            _ => Input::Inner(packet),
        };
        self.machine.handle_input(input, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }

    fn poll_output(&mut self, store: &mut Store, now: Instant) -> Option<Output> {
        Some(match self.machine.poll_output()? {
            TunnelOutput::Transmit(Datagram { header, packets }) => {
                let inner: u32 = packets.iter().map(|packet| packet.bytes).sum();
                let bytes = inner + self.overhead;
                self.outer_bytes += u64::from(bytes);
                let payload = Payload::Carried(store.put_packets(packets), header);
                self.ends.transmit(payload, PORT, bytes, now)
            }
            TunnelOutput::Deliver(packet) => Output::Arrive(packet),
            TunnelOutput::Dropped(packet, DropReason::Superseded) => Output::Discard(packet),
            TunnelOutput::Dropped(packet, DropReason::QueueFull | DropReason::Abandoned) => {
                Output::Lose(packet)
            }
        })
    }

    fn due(&self) -> Option<Instant> {
        self.machine.poll_timeout().map(|timeout| timeout.at)
    }

    fn report(&self) -> Report {
        Report::Tunnel(self.counts())
    }
}
