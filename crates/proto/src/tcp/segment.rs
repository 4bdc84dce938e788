//! A TCP segment, reduced to what the protocol needs.
//!
//! The driver handles ports, checksum and the bytes of options: a connection never gets damaged segments or those of
//! another connection. The payload is a length; a driver that carries bytes keeps them beside the segment.

use std::fmt;
use std::ops::BitOr;

use airwatt_base::Seq;

use super::sack::SackBlocks;
use super::timestamps::{OPTION_BYTES, Timestamps};

/// The control bits (RFC 9293 section 3.1) that this TCP uses, with the values that they have on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// The sender has finished sending.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Hand the data to the application now.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field counts.
    pub const ACK: Self = Self(0x10);

    /// The flags with this value on the wire; bits that this TCP does not use are ignored.
    pub const fn from_wire(bits: u8) -> Self {
        Self(bits & 0x1f)
    }

    /// The value on the wire.
    pub const fn wire(self) -> u8 {
        self.0
    }

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters =
            [(Self::SYN, 'S'), (Self::FIN, 'F'), (Self::RST, 'R'), (Self::PSH, 'P'), (Self::ACK, '.')];
        for (_, letter) in letters.iter().filter(|(flag, _)| self.has(*flag)) {
            write!(f, "{letter}")?;
        }
        if self.0 == 0 { f.write_str("-") } else { Ok(()) }
    }
}

/// What a segment and its IP header say about congestion (RFC 3168, RFC 9768): the control bits AE, ECE and CWR, and the ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Ecn(u8);

impl Ecn {
    /// Of a connection without ECN.
    pub const NONE: Self = Self(0);
    /// The ECN field, whose greatest value says that congestion was experienced.
    const FIELD: u8 = 3;
    /// ECE and CWR where they stand among the control bits.
    const BITS: u16 = 0xc0;
    /// AE where it stands among the control bits, and in this byte.
    const AE: (u16, u8) = (0x100, 0x20);

    /// An ECN field (0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced), and AE, ECE and CWR of control bits with the values that they have on the wire.
    pub const fn new(field: u8, control_bits: u16) -> Self {
        let ae = if control_bits & Self::AE.0 == 0 { 0 } else { Self::AE.1 };
        Self(field & Self::FIELD | (control_bits & Self::BITS) as u8 | ae)
    }

    /// The ECN field of the IP header.
    pub const fn field(self) -> u8 {
        self.0 & Self::FIELD
    }

    /// AE, ECE and CWR, with the values that they have on the wire.
    pub const fn bits(self) -> u16 {
        let ae = if self.0 & Self::AE.1 == 0 { 0 } else { Self::AE.0 };
        self.0 as u16 & Self::BITS | ae
    }

    /// Marks the packet as one that experienced congestion. Returns whether it is capable of that.
    pub const fn mark(&mut self) -> bool {
        let is_capable = self.field() != 0;
        if is_capable {
            self.0 |= Self::FIELD;
        }
        is_capable
    }
}

/// One segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub seq: Seq,
    /// Next sequence number that the sender of this segment expects. Valid only with [`Flags::ACK`].
    pub ack: Seq,
    /// Bytes that the sender of this segment can receive from `ack` on, already scaled.
    pub window: u32,
    /// Bytes of payload.
    pub len: u16,
    /// Control bits.
    pub flags: Flags,
    /// Congestion: the marks of queues, and what the ends say about them.
    pub ecn: Ecn,
    /// SACK and D-SACK blocks.
    pub sack: SackBlocks,
    /// The timestamps option, if the segment carries it.
    pub timestamps: Option<Timestamps>,
}

/// Segments are copied on every hop of a simulated path.
const _: () = assert!(size_of::<Segment>() <= 48);

impl Segment {
    /// Sequence numbers that the segment occupies: its payload, and one each for SYN and FIN (RFC 9293 section 3.4).
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.len) + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }

    /// Bytes that the timestamps option adds to the header: 12, or none.
    pub fn timestamp_bytes(&self) -> u32 {
        if self.timestamps.is_some() { OPTION_BYTES } else { 0 }
    }

    /// Whether the segment carries nothing but an acknowledgement.
    pub fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags == Flags::ACK
    }

    /// The reset that answers a segment for which no connection exists (RFC 9293 section 3.10.7.1); `None` if the
    /// segment is a reset itself.
    pub fn reset(&self) -> Option<Self> {
        if self.flags.has(Flags::RST) {
            return None;
        }
        Some(if self.flags.has(Flags::ACK) {
            Self {
                seq: self.ack,
                ack: Seq::new(0),
                window: 0,
                len: 0,
                flags: Flags::RST,
                ecn: Ecn::NONE,
                sack: SackBlocks::NONE,
                timestamps: None,
            }
        } else {
            let ack = self.seq + self.sequence_length();
            Self {
                seq: Seq::new(0),
                ack,
                window: 0,
                len: 0,
                flags: Flags::RST | Flags::ACK,
                ecn: Ecn::NONE,
                sack: SackBlocks::NONE,
                timestamps: None,
            }
        })
    }
}

/// Formats a segment as tcpdump does: `P. 1001:2001(1000) ack 1 win 65535`.
impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.seq + u32::from(self.len);
        write!(f, "{:?} {}:{}({})", self.flags, self.seq.value(), end.value(), self.len)?;
        if self.flags.has(Flags::ACK) {
            write!(f, " ack {}", self.ack.value())?;
        }
        write!(f, " win {}", self.window)?;
        if !self.sack.is_empty() {
            write!(f, " sack {}", self.sack)?;
        }
        self.timestamps.map_or(Ok(()), |option| write!(f, " TS val {} ecr {}", option.value, option.echo))
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
