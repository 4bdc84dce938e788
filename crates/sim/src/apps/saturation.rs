//! A sender whose queue at the head of the air never runs empty: each frame that leaves is replaced at once.

/// Packets kept in the queue: one on the air, one behind it, and two so that a burst finds the next one.
const KEPT: u64 = 4;

/// A saturated sender of datagrams.
#[derive(Clone, Debug)]
pub struct Saturation {
    /// Length of each IP packet.
    pub packet_bytes: u32,
    /// Packets sent so far, for numbering.
    pub sent: u64,
    /// Payload delivered, in bytes.
    pub delivered: u64,
}

impl Saturation {
    /// A sender of packets of this length.
    pub const fn new(packet_bytes: u32) -> Self {
        Self { packet_bytes, sent: 0, delivered: 0 }
    }

    /// How many packets to begin with.
    pub const fn first_batch(&self) -> u64 {
        KEPT
    }

    /// The number of the next packet.
    pub fn number(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }
}
