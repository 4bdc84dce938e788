//! The gateway of [`airwatt_proto::gateway`] at a base station, in the names of the hosts on either side: the connections that it
//! splits, and those for which it is a Snoop agent.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, Schedule, Slot};
use airwatt_proto::any_end::{AnyEnd, AnyPacket};
use airwatt_proto::end::End;
use airwatt_proto::gateway::{
    Gateway, Input, Output as GatewayOutput, RelayId, Side, Snoop, SnoopConfig, SnoopInput, SnoopOutput,
};

use super::{Mark, NodeProgram, Output};
use crate::packet::{Endpoints, FlowLabel, Packet, Payload, Store};
use crate::stack::socket::SocketAddress;

/// A connection that a gateway serves: its ends, its flow, and the gateway's two legs; without legs the connection stays whole.
#[derive(Clone, Debug)]
pub(crate) struct ServedFlow {
    pub(crate) server: SocketAddress,
    pub(crate) station: SocketAddress,
    pub(crate) flow: FlowLabel,
    /// The class of its packets (RFC 2474).
    pub(crate) dscp: u8,
    /// The wired and the wireless leg.
    pub(crate) legs: Option<[AnyEnd; 2]>,
}

/// The ends and the flow of a relay.
#[derive(Clone, Copy, Debug)]
struct RelayEnds {
    server: SocketAddress,
    station: SocketAddress,
    flow: FlowLabel,
    dscp: u8,
}

impl RelayEnds {
    const fn packet(&self, to: Side, payload: Payload, bytes: u32, sent: Instant) -> Packet {
        let (from, to) = match to {
            Side::Wireless => (self.server, self.station),
            Side::Wired => (self.station, self.server),
        };
        Packet {
            src: from.address,
            dst: to.address,
            sport: from.port,
            dport: to.port,
            flow: self.flow,
            bytes,
            sent,
            dscp: self.dscp,
            payload,
        }
    }
}

/// What is done with a connection.
#[derive(Clone, Copy, Debug)]
enum Service {
    Relay(RelayId),
    /// The index of its agent.
    Snoop(usize),
}

/// A gateway and the connections that it serves.
#[derive(Clone, Debug)]
pub(crate) struct GatewayProgram {
    machine: Gateway<AnyEnd>,
    ends: Vec<RelayEnds>,
    /// An agent for each connection that stays whole. Its payload is the packet, which goes on as it is.
    agents: Vec<Snoop<Packet>>,
    /// The timers of the agents.
    schedule: Schedule,
    /// What is done with each connection by the endpoints of its packets, and whether they come from the server.
    served: BTreeMap<Endpoints, (Service, bool)>,
}

impl GatewayProgram {
    /// A gateway of these connections, which holds `buffer` bytes for each at most. `stand` says whether they stand from the
    /// beginning.
    pub(crate) fn new(buffer: u64, stand: bool, flows: Vec<ServedFlow>) -> Self {
        let mut served = BTreeMap::new();
        let (mut ends, mut legs, mut agents) = (Vec::new(), Vec::new(), Vec::new());
        for ServedFlow { server, station, flow, dscp, legs: own } in flows {
            let service = match own {
                Some(own) => {
                    legs.push(own);
                    ends.push(RelayEnds { server, station, flow, dscp });
                    Service::Relay(ends.len() as RelayId - 1)
                }
                None => {
                    agents.push(Snoop::new(SnoopConfig { memory: buffer, ..SnoopConfig::default() }));
                    Service::Snoop(agents.len() - 1)
                }
            };
            let down = (server.address, server.port, station.address, station.port);
            let up = (station.address, station.port, server.address, server.port);
            served.insert(down, (service, true));
            served.insert(up, (service, false));
        }
        let schedule = Schedule::new(agents.len());
        Self { machine: Gateway::new(buffer, stand, legs), ends, agents, schedule, served }
    }

    fn update_timer(&mut self, agent: usize) {
        let due = self.agents[agent].poll_timeout().map(|timeout| timeout.at);
        self.schedule.put(agent as Slot, due);
    }
}

impl NodeProgram for GatewayProgram {
    fn wants(&self, packet: &Packet) -> bool {
        self.served.contains_key(&packet.endpoints())
    }

    fn handle_packet(&mut self, packet: Packet, _: &mut Store, now: Instant) {
        let Some(&(service, from_server)) = self.served.get(&packet.endpoints()) else { return };
        let Some(inner) = packet.payload.of_connection() else { return };
        match (service, inner) {
            (Service::Relay(relay), packet) => {
                let from = if from_server { Side::Wired } else { Side::Wireless };
                self.machine.handle_input(Input { relay, from, packet }, now);
            }
            (Service::Snoop(agent), AnyPacket::Tcp(segment, ())) => {
                let input = if from_server { SnoopInput::FromWired } else { SnoopInput::FromWireless };
                self.agents[agent].handle_input(input(segment, packet), now);
                self.update_timer(agent);
            }
            (Service::Snoop(_), AnyPacket::E2tcp(..)) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
        while let Some((_, agent)) = self.schedule.first().filter(|(at, _)| *at <= now) {
            self.agents[agent as usize].handle_timeout(now);
            self.update_timer(agent as usize);
        }
    }

    fn poll_output(&mut self, _: &mut Store, now: Instant) -> Option<Output> {
        let Some(output) = self.machine.poll_output() else {
            return self.agents.iter_mut().find_map(|agent| agent.poll_output().map(snooped));
        };
        Some(match output {
            GatewayOutput::Transmit(relay, to, packet) => {
                let ends = &self.ends[relay as usize];
                let bytes = self.machine.leg(relay, to).packet_bytes(&packet);
                let packet = ends.packet(to, packet.into(), bytes, now);
                Output::Send { packet, counts: to == Side::Wireless }
            }
            GatewayOutput::GaveUp(relay, bytes) => {
                Output::Mark(self.ends[relay as usize].flow, Mark::GaveUp(bytes))
            }
            GatewayOutput::Lost(relay) => Output::Mark(self.ends[relay as usize].flow, Mark::Lost),
        })
    }

    fn due(&self) -> Option<Instant> {
        let relays = self.machine.poll_timeout().map(|timeout| timeout.at);
        let agents = self.schedule.first().map(|(at, _)| at);
        relays.into_iter().chain(agents).min()
    }
}

/// What an agent's output is for the network. A retransmission of the agent counts as sent for its flow.
const fn snooped(output: SnoopOutput<Packet>) -> Output {
    match output {
        SnoopOutput::ToWired(_, packet) => Output::Send { packet, counts: false },
        SnoopOutput::ToWireless { payload, copy, .. } => Output::Send { packet: payload, counts: copy },
    }
}

#[cfg(test)]
mod tests {
    use airwatt_proto::end::{EndOutput, Stream};
    use airwatt_proto::tcp::{Connection, TcpConfig};

    use super::*;
    use crate::route::Address;

    /// What a gateway sends of a flow has the class of that flow, on either side.
    #[test]
    fn relayed_packets_have_the_class_of_their_flow() {
        // A gateway reads what has arrived when it passes that on.
        let config = TcpConfig { read_at_once: false, ..TcpConfig::default() };
        let end = || AnyEnd::Tcp(Box::new(Connection::established(config.clone(), &config)));
        let [server, station] =
            [(0, 5001), (1, 40_000)].map(|(node, port)| SocketAddress { address: Address(node), port });
        let legs = Some([end(), end()]);
        let flow = ServedFlow { server, station, flow: 0, dscp: 46, legs };
        let mut gateway = GatewayProgram::new(1 << 20, true, vec![flow]);
        let mut sender = end();
        sender.write(3_000, Instant::ZERO);
        let Some(EndOutput::Transmit(segment)) = sender.poll() else { panic!("nothing to send") };
        let ends = RelayEnds { server, station, flow: 0, dscp: 0 };
        let packet = ends.packet(Side::Wireless, segment.into(), 1_500, Instant::ZERO);
        gateway.handle_packet(packet, &mut Store::default(), Instant::ZERO);
        gateway.handle_timeout(Instant::ZERO + airwatt_base::Span::from_secs(1));
        let sent = std::iter::from_fn(|| gateway.poll_output(&mut Store::default(), Instant::ZERO));
        let sent: Vec<_> = sent
            .filter_map(|output| match output {
                Output::Send { packet, .. } => Some((packet.dst == station.address, packet.dscp)),
                _ => None,
            })
            .collect();
        assert!(sent.contains(&(true, 46)) && sent.contains(&(false, 46)), "{sent:?}");
        assert!(sent.iter().all(|(_, dscp)| *dscp == 46), "{sent:?}");
    }
}
