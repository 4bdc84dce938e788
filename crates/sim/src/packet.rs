//! A packet on its way: what the simulator carries instead of bytes.
//!
//! Small and `Copy`. A packet is its length and the facts that machines decide by; in emulation its number leads to its
//! bytes.

use airwatt_base::{Instant, Seq};
use airwatt_proto::e2tcp;
use airwatt_proto::tcp::Segment;

/// Index of a flow in its run.
pub type FlowId = u32;

/// One IP packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Length of the IP packet, headers included, in bytes.
    pub bytes: u32,
    /// When its sender handed it to the network.
    pub sent: Instant,
    /// What it carries.
    pub body: Body,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// An E2TCP packet.
    E2tcp(e2tcp::Packet),
    /// A datagram with its number in the flow.
    Datagram(u64),
}

impl Body {
    /// Sequence number of the last byte of the data that it carries, if any.
    pub fn last_byte(&self) -> Option<Seq> {
        match self {
            Self::Tcp(segment) => (segment.len > 0).then(|| segment.seq + u32::from(segment.len) - 1),
            Self::E2tcp(packet) => packet.header.sequence.filter(|_| packet.len > 0),
            Self::Datagram(_) => None,
        }
    }

    /// Whether it carries data.
    pub const fn has_data(&self) -> bool {
        match self {
            Self::Tcp(segment) => segment.len > 0,
            Self::E2tcp(packet) => packet.len > 0,
            Self::Datagram(_) => true,
        }
    }

    /// Whether it only acknowledges.
    pub fn is_pure_ack(&self) -> bool {
        match self {
            Self::Tcp(segment) => segment.is_pure_ack(),
            Self::E2tcp(packet) => {
                packet.len == 0
                    && packet.header.control == e2tcp::ControlFlags::NONE
                    && packet.header.acknowledgement.is_some()
            }
            Self::Datagram(_) => false,
        }
    }
}
