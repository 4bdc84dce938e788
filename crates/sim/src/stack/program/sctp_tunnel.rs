//! One end of a tunnel whose association is SCTP.
//!
//! A message is as long as the packet that it stands for and begins with the packet's number in the network's store; the rest is
//! zeros. SCTP's own packets are its real bytes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use airwatt_base::{Instant, Machine, RandomStream, Seq};
use airwatt_proto::tunnel::sctp::{InnerMessage, SctpConfig};
use airwatt_proto::tunnel::wire::{OuterIp, carrier_bytes};
use airwatt_proto::tunnel::{
    DropReason, Inner, Input, Output as TunnelOutput, Sctp, Tunnel, TunnelConfig, TunnelEnd,
};

use super::tunnel::{PORT, TunnelCounts, TunnelEnds, acknowledged};
use super::{NodeProgram, Output, Report};
use crate::packet::Store;
use crate::packet::{Endpoints, Packet, Payload};
use crate::route::Address;

/// Bytes of an inner packet up to which none is divided: those of Ethernet.
const PACKET_BYTES: u32 = 1_500;
/// Bytes of a number.
const NUMBER_BYTES: usize = 8;

/// A packet in the store.
#[derive(Clone, Copy, Debug)]
struct Admitted {
    number: u64,
    bytes: u32,
    endpoints: Endpoints,
    /// The acknowledgement number of a packet that only acknowledges.
    acknowledges: Option<Seq>,
}

impl Inner for Admitted {
    type Flow = Endpoints;

    fn flow(&self) -> Endpoints {
        self.endpoints
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn supersedes(&self, older: &Self) -> bool {
        let later = self.acknowledges.zip(older.acknowledges).is_some_and(|(new, old)| new.after(old));
        later && self.endpoints == older.endpoints
    }
}

impl InnerMessage for Admitted {
    fn to_payload(&self) -> Vec<u8> {
        let mut payload = vec![0; (self.bytes as usize).max(NUMBER_BYTES)];
        payload[..NUMBER_BYTES].copy_from_slice(&self.number.to_be_bytes());
        payload
    }

    fn from_payload(payload: Vec<u8>) -> Option<Self> {
        let number = u64::from_be_bytes(*payload.first_chunk()?);
        let nobody = (Address(0), 0, Address(0), 0);
        Some(Self { number, bytes: payload.len() as u32, endpoints: nobody, acknowledges: None })
    }

    fn stream(&self) -> u16 {
        let (src, sport, dst, dport) = self.endpoints;
        // Its keys are fixed.
        let mut hasher = DefaultHasher::new();
        (src.0, sport, dst.0, dport).hash(&mut hasher);
        hasher.finish() as u16
    }
}

/// One end of a tunnel over SCTP.
#[derive(Clone, Debug)]
pub(crate) struct SctpTunnelProgram {
    machine: Tunnel<Sctp<Admitted>>,
    ends: TunnelEnds,
    /// Bytes that an outer packet has beside those of SCTP.
    overhead: u32,
    outer_bytes: u64,
}

impl SctpTunnelProgram {
    /// One end of a tunnel, if its settings have SCTP. `random` is the source of the association's tags.
    pub(crate) fn new(
        config: TunnelConfig,
        end: TunnelEnd,
        ends: TunnelEnds,
        random: RandomStream,
    ) -> Option<Self> {
        let sctp: SctpConfig = config.sctp(PACKET_BYTES)?;
        let machine = Tunnel::new(config, end, Sctp::new(sctp, random));
        Some(Self { machine, ends, overhead: carrier_bytes(OuterIp::V4, config.plain), outer_bytes: 0 })
    }

    fn counts(&self) -> TunnelCounts {
        TunnelCounts {
            machine: *self.machine.counts(),
            outer_bytes: self.outer_bytes,
            lost_from_peer: 0,
            repeated: Some(self.machine.association().retransmissions()),
        }
    }
}

impl NodeProgram for SctpTunnelProgram {
    fn wants(&self, packet: &Packet) -> bool {
        matches!(packet.payload, Payload::Sctp(_)) && self.ends.are_of(packet)
    }

    fn handle_packet(&mut self, packet: Packet, store: &mut Store, now: Instant) {
        let input = match packet.payload {
            Payload::Sctp(ticket) if self.ends.are_of(&packet) => Input::Outer(store.take_bytes(ticket)),
            _ => Input::Inner(Admitted {
                number: store.admit(packet),
                bytes: packet.bytes,
                endpoints: packet.endpoints(),
                acknowledges: acknowledged(&packet),
            }),
        };
        self.machine.handle_input(input, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }

    fn poll_output(&mut self, store: &mut Store, now: Instant) -> Option<Output> {
        loop {
            let output = match self.machine.poll_output()? {
                TunnelOutput::Transmit(packet) => {
                    let bytes = packet.len() as u32 + self.overhead;
                    self.outer_bytes += u64::from(bytes);
                    let payload = Payload::Sctp(store.put_bytes(&packet));
                    return Some(self.ends.transmit(payload, PORT, bytes, now));
                }
                TunnelOutput::Deliver(inner) => store.claim(inner.number).map(Output::Arrive),
                TunnelOutput::Dropped(inner, DropReason::Superseded) => {
                    store.claim(inner.number).map(Output::Discard)
                }
                TunnelOutput::Dropped(inner, DropReason::QueueFull | DropReason::Abandoned) => {
                    store.claim(inner.number).map(Output::Lose)
                }
            };
            if output.is_some() {
                return output;
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.machine.poll_timeout().map(|timeout| timeout.at)
    }

    fn report(&self) -> Report {
        Report::Tunnel(self.counts())
    }
}
