//! The E2TCP header, bit by bit.
//!
//! One header replaces those of TCP and IP: fields that follow from the link or never change are left out, and every
//! other field is present only when it is needed. The order of the fields is fixed:
//!
//! ```text
//! flags 1 | extra flags 1 | connection 1 | addresses 4+4 (or 16+16) | ports 2+2 | sequence 4 | urgent 2 |
//! acknowledgement 4 | first block 2+2 | second block 2+2 | window 2 | reliability 1 | checksum 2
//! ```
//!
//! Numbers are big-endian. The bits of the flags, from the most significant: `R` addresses are IPv6, `E` extra flags, `F`
//! addresses and ports, `S` sequence number, `U` urgent pointer, `AA` acknowledgement (00 none, 01 number, 10 number and one
//! block, 11 number and two blocks), `W` window. Of the extra flags the last four are used: L (a reliability is present), RST,
//! SYN, FIN.
//!
//! The thesis reserves `R` for IPv6 without defining its use, has no reset, and does not say how a base station learns the
//! reliability of an upload. All three are defined by this project and described in `docs/e2tcp.md`. Left out: IP options and fragments, which a single hop does not need.
//!
//! Bytes from the network are hostile: [`Header::decode`] returns an error for anything that is not exactly a header of
//! this form, and never panics.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU8;

use airwatt_base::Seq;

/// Addresses are IPv6.
const FLAG_R: u8 = 0x80;
/// Extra flags are present.
const FLAG_E: u8 = 0x40;
/// Addresses and ports are present.
const FLAG_F: u8 = 0x20;
/// A sequence number is present.
const FLAG_S: u8 = 0x10;
/// An urgent pointer is present.
const FLAG_U: u8 = 0x08;
/// Position of the two bits that encode the parts of the acknowledgement.
const SHIFT_A: u8 = 1;
/// A window is present.
const FLAG_W: u8 = 0x01;

/// A reliability is present.
const EXTRA_LEVEL: u8 = 0x08;
const EXTRA_RST: u8 = 0x04;
const EXTRA_SYN: u8 = 0x02;
const EXTRA_FIN: u8 = 0x01;

/// One end's address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The IP address.
    pub ip: IpAddr,
    /// The port.
    pub port: u16,
}

/// The sender's and the receiver's endpoint, both of one IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addresses {
    sender: Endpoint,
    receiver: Endpoint,
}

impl Addresses {
    /// Returns `None` if one is IPv4 and the other IPv6.
    pub fn new(sender: Endpoint, receiver: Endpoint) -> Option<Self> {
        (sender.ip.is_ipv6() == receiver.ip.is_ipv6()).then_some(Self { sender, receiver })
    }

    /// The endpoint that sends the packet.
    pub fn sender(&self) -> Endpoint {
        self.sender
    }

    /// The endpoint to which the packet is sent.
    pub fn receiver(&self) -> Endpoint {
        self.receiver
    }

    /// The addresses of the opposite direction.
    pub fn swapped(self) -> Self {
        Self { sender: self.receiver, receiver: self.sender }
    }

    /// The IP version of both.
    pub fn version(&self) -> IpVersion {
        if self.sender.ip.is_ipv6() { IpVersion::V6 } else { IpVersion::V4 }
    }
}

/// The IP version of a packet's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4, with addresses of 4 bytes.
    V4,
    /// IPv6, with addresses of 16 bytes.
    V6,
}

impl IpVersion {
    /// Size of two addresses and two ports in bytes.
    const fn field_bytes(self) -> usize {
        match self {
            Self::V4 => 12,
            Self::V6 => 36,
        }
    }
}

/// A range of bytes that arrived beyond a gap, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Sequence number of its first byte.
    pub first: Seq,
    /// Sequence number of its last byte.
    pub last: Seq,
}

/// An acknowledgement: the data that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Sequence number of the last byte in order.
    pub number: Seq,
    /// The two lowest ranges beyond it, ascending. There is a second one only if there is a first.
    pub blocks: [Option<Block>; 2],
}

impl Acknowledgement {
    /// Creates an acknowledgement without blocks.
    pub fn plain(number: Seq) -> Self {
        Self { number, blocks: [None, None] }
    }

    /// The begin and end fields of each block that the wire can hold.
    ///
    /// `begin` counts from two bytes after the preceding end, because at least one byte is missing there. A gap too
    /// wide for 16 bits ends the list; of a range too long for 16 bits the beginning is reported.
    fn fields(&self) -> [Option<(u16, u16)>; 2] {
        let mut fields = [None, None];
        let mut before = self.number;
        for (field, block) in fields.iter_mut().zip(self.blocks) {
            let Some(block) = block else { break };
            let Ok(begin) = u16::try_from(before.distance_to(block.first).wrapping_sub(2)) else { break };
            let end = block.first.distance_to(block.last).min(u32::from(u16::MAX)) as u16;
            *field = Some((begin, end));
            before = block.first + u32::from(end);
        }
        fields
    }
}

/// The extra flags of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ControlFlags(u8);

impl ControlFlags {
    /// No extra flag.
    pub const NONE: Self = Self(0);
    /// Opens a connection.
    pub const SYN: Self = Self(EXTRA_SYN);
    /// Closes a direction.
    pub const FIN: Self = Self(EXTRA_FIN);
    /// Ends or refuses a connection.
    pub const RST: Self = Self(EXTRA_RST);

    /// Whether the packet opens a connection. The flag occupies one sequence number.
    pub const fn syn(self) -> bool {
        self.0 & EXTRA_SYN != 0
    }

    /// Whether the sender has nothing more to send. The flag occupies one sequence number.
    pub const fn fin(self) -> bool {
        self.0 & EXTRA_FIN != 0
    }

    /// Whether the packet ends or refuses a connection. The thesis has no such flag.
    pub const fn rst(self) -> bool {
        self.0 & EXTRA_RST != 0
    }
}

/// A reliability: the share of the data that must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// One more than the per cent, so that a header without one is no longer.
    above: NonZeroU8,
}

impl Level {
    /// A share in per cent; `None` above 100.
    pub fn new(percent: u8) -> Option<Self> {
        let above = NonZeroU8::new(percent.checked_add(1)?)?;
        (percent <= 100).then_some(Self { above })
    }

    /// The share in per cent.
    pub const fn percent(self) -> u8 {
        self.above.get() - 1
    }
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Identifier of the connection.
    pub connection: u8,
    /// The IP version of the full addresses that the packet carries until the connection's identifier is agreed; `None`
    /// if it carries none. The addresses themselves are arguments of the codec.
    pub addresses: Option<IpVersion>,
    /// The extra flags; the byte is left out if there are none.
    pub control: ControlFlags,
    /// Sequence number of the **last** byte of the payload, or of the SYN or FIN.
    pub sequence: Option<Seq>,
    /// Offset of the end of the urgent data from the first byte of the payload, as TCP's urgent pointer.
    pub urgent: Option<u16>,
    /// Acknowledgement of the data that the sender of this packet has received.
    pub acknowledgement: Option<Acknowledgement>,
    /// Window in bytes beyond the acknowledgement number, if it has changed.
    pub window: Option<u16>,
    /// Of a SYN: how much of its sender's data must arrive, if that is not all.
    pub reliability: Option<Level>,
}

impl Header {
    /// Creates a header with nothing but the identifier.
    pub fn new(connection: u8) -> Self {
        Self {
            connection,
            addresses: None,
            control: ControlFlags::NONE,
            sequence: None,
            urgent: None,
            acknowledgement: None,
            window: None,
            reliability: None,
        }
    }

    /// Size of the header in bytes.
    pub fn bytes(&self) -> usize {
        let addresses = self.addresses.map_or(0, IpVersion::field_bytes);
        let acknowledgement = self
            .acknowledgement
            .map_or(0, |ack| 4 + 4 * ack.fields().iter().filter(|field| field.is_some()).count());
        4 + usize::from(self.control != ControlFlags::NONE)
            + addresses
            + acknowledgement
            + 4 * usize::from(self.sequence.is_some())
            + 2 * usize::from(self.urgent.is_some())
            + 2 * usize::from(self.window.is_some())
            + usize::from(self.level().is_some())
    }

    /// Appends the packet of this header and `payload` to `out`. `addresses` are the packet's; they are written if the
    /// header asks for them. Panics if it asks for them and they are missing or of the other IP version.
    pub fn encode(&self, addresses: Option<Addresses>, payload: &[u8], out: &mut Vec<u8>) {
        let written = addresses.filter(|_| self.addresses.is_some());
        assert_eq!(written.map(|both| both.version()), self.addresses, "the header's addresses are given");
        let start = out.len();
        let extra = self.control.0 | if self.level().is_some() { EXTRA_LEVEL } else { 0 };
        out.push(self.flags());
        if extra != 0 {
            out.push(extra);
        }
        out.push(self.connection);
        if let Some(addresses) = written {
            push_ip(addresses.sender.ip, out);
            push_ip(addresses.receiver.ip, out);
            out.extend_from_slice(&addresses.sender.port.to_be_bytes());
            out.extend_from_slice(&addresses.receiver.port.to_be_bytes());
        }
        if let Some(sequence) = self.sequence {
            out.extend_from_slice(&sequence.value().to_be_bytes());
        }
        if let Some(urgent) = self.urgent {
            out.extend_from_slice(&urgent.to_be_bytes());
        }
        if let Some(ack) = self.acknowledgement {
            out.extend_from_slice(&ack.number.value().to_be_bytes());
            for (begin, end) in ack.fields().into_iter().flatten() {
                out.extend_from_slice(&begin.to_be_bytes());
                out.extend_from_slice(&end.to_be_bytes());
            }
        }
        if let Some(window) = self.window {
            out.extend_from_slice(&window.to_be_bytes());
        }
        out.extend(self.level().map(Level::percent));
        let at = out.len();
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(payload);
        let sum = checksum(&out[start..], at - start);
        out[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// The reliability as far as it is written: of a SYN.
    fn level(&self) -> Option<Level> {
        self.reliability.filter(|_| self.control.syn())
    }

    fn flags(&self) -> u8 {
        let mut flags = 0;
        if self.addresses == Some(IpVersion::V6) {
            flags |= FLAG_R;
        }
        if self.control != ControlFlags::NONE {
            flags |= FLAG_E;
        }
        if self.addresses.is_some() {
            flags |= FLAG_F;
        }
        if self.sequence.is_some() {
            flags |= FLAG_S;
        }
        if self.urgent.is_some() {
            flags |= FLAG_U;
        }
        if let Some(ack) = self.acknowledgement {
            let blocks = ack.fields().iter().filter(|field| field.is_some()).count() as u8;
            flags |= (1 + blocks) << SHIFT_A;
        }
        if self.window.is_some() {
            flags |= FLAG_W;
        }
        flags
    }

    /// Decodes a packet into header, addresses (if it carries them) and payload.
    pub fn decode(packet: &[u8]) -> Result<(Self, Option<Addresses>, &[u8]), HeaderError> {
        let mut reader = Reader { packet, at: 0 };
        let flags = reader.u8()?;
        let (control, level) =
            if flags & FLAG_E != 0 { reader.control()? } else { (ControlFlags::NONE, false) };
        let connection = reader.u8()?;
        let addresses = reader.addresses(flags)?;
        let sequence = if flags & FLAG_S != 0 { Some(Seq::new(reader.u32()?)) } else { None };
        let urgent = if flags & FLAG_U != 0 { Some(reader.u16()?) } else { None };
        let acknowledgement = reader.acknowledgement(flags >> SHIFT_A & 0b11)?;
        let window = if flags & FLAG_W != 0 { Some(reader.u16()?) } else { None };
        let reliability = if level { Some(reader.level()?) } else { None };
        let at = reader.at;
        let sum = reader.u16()?;
        if sum != checksum(packet, at) {
            return Err(HeaderError::Checksum);
        }
        let payload = &packet[reader.at..];
        let version = addresses.map(|both| both.version());
        let header = Self {
            connection,
            addresses: version,
            control,
            sequence,
            urgent,
            acknowledgement,
            window,
            reliability,
        };
        header.check(payload.len())?;
        Ok((header, addresses, payload))
    }

    /// Rejects combinations of fields that no sender produces.
    fn check(&self, payload: usize) -> Result<(), HeaderError> {
        let (syn, fin) = (self.control.syn(), self.control.fin());
        if payload > usize::from(u16::MAX) {
            return Err(HeaderError::Combination("a payload over 65535 bytes"));
        }
        if self.control.0.count_ones() > 1 {
            return Err(HeaderError::Combination("more than one of SYN, FIN and RST"));
        }
        if self.control != ControlFlags::NONE && payload > 0 {
            return Err(HeaderError::Combination("a payload with SYN, FIN or RST"));
        }
        if syn && self.addresses.is_none() {
            return Err(HeaderError::Combination("SYN without addresses"));
        }
        if self.sequence.is_some() != (payload > 0 || syn || fin) {
            return Err(HeaderError::Combination(
                "a sequence number belongs to a payload, SYN or FIN, and each of them needs one",
            ));
        }
        if self.urgent.is_some() && payload == 0 {
            return Err(HeaderError::Combination("an urgent pointer without payload"));
        }
        if self.window.is_some() && self.acknowledgement.is_none() && !syn {
            return Err(HeaderError::Combination("a window without acknowledgement"));
        }
        Ok(())
    }
}

fn push_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
}

/// TCP's checksum (RFC 9293 section 3.1) over the whole packet, with zeros for its two bytes at `field`. There is no
/// pseudo-header, because it would contain the addresses that this header leaves out.
fn checksum(packet: &[u8], field: usize) -> u16 {
    let mut sum: u64 = 0;
    // A word of 32 bits counts as the sum of its halves, since 2^16 is 1 modulo 2^16 - 1.
    let (words, rest) = packet.as_chunks::<4>();
    for word in words {
        sum += u64::from(u32::from_be_bytes(*word));
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_be_bytes(last));
    // Subtracts the bytes of the field itself, which may lie across two words.
    for (at, byte) in packet.iter().enumerate().skip(field).take(2) {
        sum -= u64::from(*byte) << (8 * (3 - at % 4));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Reads consecutive fields of a packet.
struct Reader<'a> {
    packet: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let have = self.packet.len();
        let rest = self.packet.get(self.at..).unwrap_or(&[]);
        let bytes = rest.first_chunk::<N>().ok_or(HeaderError::Truncated { needed: self.at + N, have })?;
        self.at += N;
        Ok(*bytes)
    }

    fn u8(&mut self) -> Result<u8, HeaderError> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, HeaderError> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        self.take().map(u32::from_be_bytes)
    }

    /// Reads the extra flags: those of a connection's state, and whether a reliability follows.
    fn control(&mut self) -> Result<(ControlFlags, bool), HeaderError> {
        let bits = self.u8()?;
        if bits & !(EXTRA_LEVEL | EXTRA_RST | EXTRA_SYN | EXTRA_FIN) != 0 {
            return Err(HeaderError::Reserved);
        }
        // Without SYN the bit has no meaning and is reserved.
        if bits & EXTRA_LEVEL != 0 && bits & EXTRA_SYN == 0 {
            return Err(HeaderError::Reserved);
        }
        let control = ControlFlags(bits & !EXTRA_LEVEL);
        if control == ControlFlags::NONE {
            return Err(HeaderError::Combination("extra flags without a flag"));
        }
        Ok((control, bits & EXTRA_LEVEL != 0))
    }

    fn level(&mut self) -> Result<Level, HeaderError> {
        Level::new(self.u8()?).ok_or(HeaderError::Combination("a reliability above 100"))
    }

    fn addresses(&mut self, flags: u8) -> Result<Option<Addresses>, HeaderError> {
        let v6 = flags & FLAG_R != 0;
        if flags & FLAG_F == 0 {
            // Without addresses the bit has no meaning and is reserved, as in the thesis.
            return if v6 { Err(HeaderError::Reserved) } else { Ok(None) };
        }
        let [sender, receiver] = [self.ip(v6)?, self.ip(v6)?];
        let sender = Endpoint { ip: sender, port: self.u16()? };
        let receiver = Endpoint { ip: receiver, port: self.u16()? };
        Ok(Some(Addresses { sender, receiver }))
    }

    fn ip(&mut self, v6: bool) -> Result<IpAddr, HeaderError> {
        Ok(if v6 {
            IpAddr::V6(Ipv6Addr::from(self.take::<16>()?))
        } else {
            IpAddr::V4(Ipv4Addr::from(self.take::<4>()?))
        })
    }

    /// Reads an acknowledgement with this number of `parts`: none, the number, the number and one block, or the number
    /// and two blocks.
    fn acknowledgement(&mut self, parts: u8) -> Result<Option<Acknowledgement>, HeaderError> {
        if parts == 0 {
            return Ok(None);
        }
        let number = Seq::new(self.u32()?);
        let mut blocks = [None, None];
        let mut before = number;
        for block in blocks.iter_mut().take(usize::from(parts) - 1) {
            let first = before + 2 + u32::from(self.u16()?);
            let last = first + u32::from(self.u16()?);
            *block = Some(Block { first, last });
            before = last;
        }
        Ok(Some(Acknowledgement { number, blocks }))
    }
}

/// The reason why bytes are not an E2TCP packet. Such a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes end before the header is complete.
    Truncated {
        /// Number of bytes needed, as far as the header was decoded.
        needed: usize,
        /// Number of bytes present.
        have: usize,
    },
    /// A reserved bit is set.
    Reserved,
    /// The checksum is wrong: the packet is damaged.
    Checksum,
    /// The fields contradict each other; the text names them.
    Combination(&'static str),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, have } => write!(f, "cut short: {needed} bytes needed, {have} there"),
            Self::Reserved => f.write_str("a reserved bit is set"),
            Self::Checksum => f.write_str("wrong checksum"),
            Self::Combination(what) => write!(f, "impossible header: {what}"),
        }
    }
}

impl std::error::Error for HeaderError {}

/// A packet, reduced to what the protocol needs. A driver that carries bytes keeps them beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct E2tcpPacket {
    /// The header.
    pub header: Header,
    /// Bytes of payload.
    pub len: u16,
}

impl E2tcpPacket {
    /// Size on the wire in bytes, header and payload.
    pub fn bytes(&self) -> usize {
        self.header.bytes() + usize::from(self.len)
    }

    /// Sequence numbers that the packet occupies: its payload, and one for SYN or FIN.
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.len) + u32::from(self.header.control.syn()) + u32::from(self.header.control.fin())
    }

    /// The reset that refuses this packet, for the opposite direction; `None` if the packet cannot be answered, because
    /// it carries no addresses or no sequence number or is itself a reset.
    pub fn refusal(&self) -> Option<Self> {
        let addresses = self.header.addresses?;
        let number = self.header.sequence?;
        let header = Header {
            addresses: Some(addresses),
            control: ControlFlags::RST,
            acknowledgement: Some(Acknowledgement::plain(number)),
            ..Header::new(self.header.connection)
        };
        Some(Self { header, len: 0 })
    }
}

/// Formats a packet as in a ladder diagram: `3 S 1000(1000) ack 5 [8-9] [11-11] win 500`.
impl fmt::Display for E2tcpPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.header.connection)?;
        let control = self.header.control;
        let flags = [
            (control.syn(), "SYN"),
            (control.fin(), "FIN"),
            (control.rst(), "RST"),
            (self.header.addresses.is_some(), "F"),
        ];
        for (set, name) in flags {
            if set {
                write!(f, " {name}")?;
            }
        }
        if let Some(sequence) = self.header.sequence {
            write!(f, " S {}({})", sequence.value(), self.len)?;
        }
        if let Some(urgent) = self.header.urgent {
            write!(f, " urg {urgent}")?;
        }
        if let Some(ack) = self.header.acknowledgement {
            write!(f, " ack {}", ack.number.value())?;
            for block in ack.blocks.iter().flatten() {
                write!(f, " [{}-{}]", block.first.value(), block.last.value())?;
            }
        }
        if let Some(window) = self.header.window {
            write!(f, " win {window}")?;
        }
        Ok(())
    }
}
