//! What the machine sends and receives: a TCP header as on the wire, with options, and the length of the payload.
//!
//! A packet that is sent may be longer than a segment: the network card cuts it (TCP segmentation offload).

use airwatt_base::Seq;

/// The control bits with their values on the wire (RFC 9293 section 3.1, RFC 3168 section 6.1, RFC 9768 section 3.2).
pub mod bits {
    /// The sender has finished sending.
    pub const FIN: u16 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x02;
    /// Reset the connection.
    pub const RST: u16 = 0x04;
    /// Hand the data to the application now.
    pub const PSH: u16 = 0x08;
    /// The acknowledgement field counts.
    pub const ACK: u16 = 0x10;
    /// The urgent pointer counts.
    pub const URG: u16 = 0x20;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
    /// Accurate ECN; the lowest bit of the byte before the other ones.
    pub const AE: u16 = 0x100;
    /// The three bits that are a counter in AccECN.
    pub const ACE: u16 = AE | CWR | ECE;
    /// The bits with the letters that packetdrill and tcpdump use for them, in the order in which they are printed.
    pub const LETTERS: [(u16, char); 9] = [
        (FIN, 'F'),
        (SYN, 'S'),
        (RST, 'R'),
        (PSH, 'P'),
        (URG, 'U'),
        (ECE, 'E'),
        (CWR, 'W'),
        (AE, 'A'),
        (ACK, '.'),
    ];
}

/// Largest number of blocks in a SACK option: 40 bytes of options hold four (RFC 2018 section 3).
pub const BLOCKS_MAX: usize = 4;

/// Blocks of a SACK option, the most recent first; the first may report data that arrived twice (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    blocks: [(Seq, Seq); BLOCKS_MAX],
    count: u8,
}

impl Blocks {
    /// Appends a block if there is room.
    pub fn push(&mut self, start: Seq, end: Seq) {
        if usize::from(self.count) < BLOCKS_MAX {
            self.blocks[usize::from(self.count)] = (start, end);
            self.count += 1;
        }
    }

    /// Iterates over the blocks: the first sequence number, and the one after the last.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, Seq)> + '_ {
        self.blocks.iter().copied().take(usize::from(self.count))
    }

    /// Whether there is no block, and so no option.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keeps the first `count` blocks.
    pub(super) fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count as u8);
    }
}

/// The time stamps option (RFC 7323). The clock of this machine counts milliseconds, as the kernel's does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The sender's clock.
    pub value: u32,
    /// The peer's time stamp that is returned; zero without [`bits::ACK`].
    pub echo: u32,
}

/// The options of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment size in bytes; only with SYN.
    pub mss: Option<u16>,
    /// The shift of the windows of this end; only with SYN.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements are permitted; only with SYN.
    pub sack_permitted: bool,
    /// Time stamps.
    pub timestamps: Option<Stamps>,
    /// Selective acknowledgements.
    pub sack: Blocks,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Sequence number of the first byte, or of the SYN or FIN.
    pub seq: Seq,
    /// Next sequence number that the sender of this packet expects.
    pub ack: Seq,
    /// The window field as on the wire, unscaled.
    pub window: u16,
    /// Bytes of payload.
    pub len: u32,
    /// The control bits, see [`bits`].
    pub flags: u16,
    /// The ECN field of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced.
    pub ecn: u8,
    /// The urgent pointer.
    pub urgent: u16,
    /// The options.
    pub options: Options,
}

impl Packet {
    /// Whether every bit of `flags` is set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// Sequence numbers that the packet occupies: its payload, and one each for SYN and FIN.
    pub fn sequence_length(&self) -> u32 {
        self.len + u32::from(self.has(bits::SYN)) + u32::from(self.has(bits::FIN))
    }
}
