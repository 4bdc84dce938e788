//! A packet on its way: what the simulator carries instead of bytes.
//!
//! Small and `Copy`. A packet is its length and the facts that machines decide by; in emulation its number leads to its
//! bytes.

use airwatt_base::Instant;
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
    /// A datagram with its number in the flow.
    Datagram(u64),
}
