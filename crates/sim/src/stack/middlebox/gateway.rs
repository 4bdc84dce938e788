//! The gateway of [`airwatt_proto::gateway`] at an access point, in the names of the hosts on either side.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine};
use airwatt_proto::gateway::{Gateway, Input, Output, RelayId, Wireless, WirelessPacket};
use airwatt_proto::tcp;

use super::MiddleboxOutput;
use crate::net::packet::{Endpoints, FlowLabel, Packet, Payload};
use crate::stack::socket::End;
use crate::stack::transport::{Transport, e2tcp_bytes};

/// A relay to be: the connection's ends, its flow, and the gateway's two legs.
#[derive(Clone, Debug)]
pub(crate) struct RelayPlan {
    pub(crate) server: End,
    pub(crate) station: End,
    pub(crate) flow: FlowLabel,
    pub(crate) wired: Transport,
    pub(crate) wireless: Transport,
}

/// The ends and the flow of a relay.
#[derive(Clone, Copy, Debug)]
struct RelayEnds {
    server: End,
    station: End,
    flow: FlowLabel,
    /// Whether E2TCP packets are charged with TCP's headers.
    tcp_headers: bool,
}

impl RelayEnds {
    const fn packet(&self, down: bool, payload: Payload, bytes: u32, sent: Instant) -> Packet {
        let (from, to) = if down { (self.server, self.station) } else { (self.station, self.server) };
        Packet {
            src: from.address,
            dst: to.address,
            sport: from.port,
            dport: to.port,
            flow: self.flow,
            bytes,
            sent,
            class: 0,
            ecn: 0,
            payload,
        }
    }
}

/// A gateway and the connections that it splits.
#[derive(Clone, Debug)]
pub(crate) struct GatewayBox {
    machine: Gateway<tcp::Connection, Wireless>,
    ends: Vec<RelayEnds>,
    /// The relay of each connection by the endpoints of its packets, and whether they come from the server.
    relays: BTreeMap<Endpoints, (RelayId, bool)>,
}

impl GatewayBox {
    /// A gateway of these connections, which holds `buffer` bytes for each at most.
    pub(crate) fn new(buffer: u64, plans: Vec<RelayPlan>) -> Self {
        let mut relays = BTreeMap::new();
        let mut ends = Vec::with_capacity(plans.len());
        let mut legs = Vec::with_capacity(plans.len());
        for RelayPlan { server, station, flow, wired, wireless } in plans {
            let id = ends.len() as RelayId;
            let down = (server.address, server.port, station.address, station.port);
            let up = (station.address, station.port, server.address, server.port);
            relays.insert(down, (id, true));
            relays.insert(up, (id, false));
            let Transport::Tcp(wired) = wired else { unreachable!("the wired leg of a relay is TCP") };
            let (wireless, tcp_headers) = match wireless {
                Transport::Tcp(leg) => (Wireless::Tcp(leg), false),
                Transport::E2tcp { connection, tcp_headers } => (Wireless::E2tcp(connection), tcp_headers),
                Transport::Udp(_) => unreachable!("datagrams are not relayed"),
            };
            legs.push((*wired, wireless));
            ends.push(RelayEnds { server, station, flow, tcp_headers });
        }
        Self { machine: Gateway::new(buffer, legs), ends, relays }
    }

    pub(super) fn wants(&self, packet: &Packet) -> bool {
        self.relays.contains_key(&packet.endpoints())
    }

    pub(super) fn handle_packet(&mut self, packet: Packet, now: Instant) {
        let Some(&(relay, from_server)) = self.relays.get(&packet.endpoints()) else { return };
        let input = match packet.payload {
            Payload::Tcp(segment) if from_server => Input::FromWired(relay, segment),
            Payload::Tcp(segment) => Input::FromWireless(relay, WirelessPacket::Tcp(segment)),
            Payload::E2tcp(inner) => Input::FromWireless(relay, WirelessPacket::E2tcp(inner)),
            Payload::Datagram(_) | Payload::Carried(..) | Payload::Bytes(_) => return,
        };
        self.machine.handle_input(input, now);
    }

    pub(super) fn open(&mut self, flow: FlowLabel, now: Instant) {
        if let Some(relay) = self.ends.iter().position(|ends| ends.flow == flow) {
            self.machine.handle_input(Input::Open(relay as RelayId), now);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }

    pub(super) fn poll_output(&mut self, now: Instant) -> Option<MiddleboxOutput> {
        Some(match self.machine.poll_output()? {
            Output::ToWired(relay, segment) => {
                let bytes = self.machine.wired(relay).config().packet_bytes(&segment);
                let packet = self.ends[relay as usize].packet(false, Payload::Tcp(segment), bytes, now);
                MiddleboxOutput::Transmit { packet, counted: false }
            }
            Output::ToWireless(relay, packet) => {
                let (payload, bytes) = self.wireless_packet(relay, packet);
                let packet = self.ends[relay as usize].packet(true, payload, bytes, now);
                MiddleboxOutput::Transmit { packet, counted: true }
            }
            Output::GaveUp(relay, bytes) => MiddleboxOutput::GaveUp(self.ends[relay as usize].flow, bytes),
            Output::Lost(relay) => MiddleboxOutput::Lost(self.ends[relay as usize].flow),
        })
    }

    /// The payload and the length in bytes of an IP packet to a station.
    fn wireless_packet(&self, relay: RelayId, packet: WirelessPacket) -> (Payload, u32) {
        match (packet, self.machine.wireless(relay)) {
            (WirelessPacket::Tcp(segment), Wireless::Tcp(leg)) => {
                (Payload::Tcp(segment), leg.config().packet_bytes(&segment))
            }
            (WirelessPacket::Tcp(_), Wireless::E2tcp(_)) => unreachable!("an E2TCP leg sends E2TCP"),
            (WirelessPacket::E2tcp(inner), _) => {
                (Payload::E2tcp(inner), e2tcp_bytes(&inner, self.ends[relay as usize].tcp_headers))
            }
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.machine.poll_timeout().map(|timeout| timeout.at)
    }
}
