//! Middleboxes: machines through which packets pass on their way, and by which they are changed.
//!
//! Each is a machine of `airwatt-proto` with an adapter that gives all of them one face. A packet reaches a middlebox by
//! a tap at its node, as with TPROXY: the middlebox says which packets it wants.

mod gateway;

use airwatt_base::Instant;

use crate::net::packet::{FlowLabel, Packet};

pub(crate) use gateway::{GatewayBox, RelayPlan};

/// Index of a middlebox in its network.
pub(crate) type MiddleboxId = u16;

/// One middlebox.
#[derive(Clone, Debug)]
pub(crate) enum Middlebox {
    /// A gateway that splits connections.
    Gateway(Box<GatewayBox>),
}

/// An output of a middlebox.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MiddleboxOutput {
    /// The packet is to be forwarded. `counted` says whether it counts as sent for its flow.
    Transmit { packet: Packet, counted: bool },
    /// Bytes of the flow were given up, and zeros take their place.
    GaveUp(FlowLabel, u64),
    /// A connection of the flow was reset, refused or timed out.
    Lost(FlowLabel),
}

impl Middlebox {
    /// Whether the packet is for this middlebox.
    pub(crate) fn wants(&self, packet: &Packet) -> bool {
        match self {
            Self::Gateway(gateway) => gateway.wants(packet),
        }
    }

    /// Processes a packet that it wants.
    pub(crate) fn handle_packet(&mut self, packet: Packet, now: Instant) {
        match self {
            Self::Gateway(gateway) => gateway.handle_packet(packet, now),
        }
    }

    /// Opens the connections of a flow.
    pub(crate) fn open(&mut self, flow: FlowLabel, now: Instant) {
        match self {
            Self::Gateway(gateway) => gateway.open(flow, now),
        }
    }

    /// Serves the timers that are due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Gateway(gateway) => gateway.handle_timeout(now),
        }
    }

    /// The next output.
    pub(crate) fn poll_output(&mut self, now: Instant) -> Option<MiddleboxOutput> {
        match self {
            Self::Gateway(gateway) => gateway.poll_output(now),
        }
    }

    /// The time of the next timer.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Gateway(gateway) => gateway.due(),
        }
    }
}
