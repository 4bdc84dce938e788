//! The E2TCP header, bit by bit.
//!
//! One header takes the place of TCP's and IP's together: fields that follow from the link or never change are gone, and
//! every other field is there only when it has something to say. The order of the fields is fixed:
//!
//! ```text
//! flags 1 | extra flags 1 | connection 1 | addresses 4+4 (or 16+16) | ports 2+2 | sequence 4 | urgent 2 |
//! acknowledgement 4 | first block 2+2 | second block 2+2 | window 2 | checksum 2
//! ```
//!
//! Numbers are big-endian. The bits of the flags, from the most significant: `R` addresses are IPv6, `E` extra flags, `F`
//! addresses and ports, `S` sequence number, `U` urgent pointer, `AA` acknowledgement (00 none, 01 number, 10 number and one
//! block, 11 number and two blocks), `W` window. Of the extra flags the last three are used: RST, SYN, FIN.
//!
//! The thesis reserves `R` and leaves IPv6 to it; it also has no reset. Both are readings of this project, described in
//! `docs/e2tcp.md`. Left out: IP options and fragments, which a single hop has no use for.
//!
//! Bytes from the network are hostile: [`Header::decode`] returns an error for anything that is not exactly a header of
//! this form, and never panics.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use airwatt_base::Seq;

/// Addresses are IPv6.
const FLAG_R: u8 = 0x80;
/// Extra flags are there.
const FLAG_E: u8 = 0x40;
/// Addresses and ports are there.
const FLAG_F: u8 = 0x20;
/// A sequence number is there.
const FLAG_S: u8 = 0x10;
/// An urgent pointer is there.
const FLAG_U: u8 = 0x08;
/// The two bits that count the acknowledgement's parts begin here.
const SHIFT_A: u8 = 1;
/// A window is there.
const FLAG_W: u8 = 0x01;

const EXTRA_RST: u8 = 0x04;
const EXTRA_SYN: u8 = 0x02;
const EXTRA_FIN: u8 = 0x01;

/// The longest header in bytes with IPv4 addresses: every field is there.
pub const HEADER_MAX_V4: usize = 37;
/// The longest header in bytes with IPv6 addresses.
pub const HEADER_MAX_V6: usize = 61;

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
    /// `None` if one is IPv4 and the other IPv6.
    pub fn new(sender: Endpoint, receiver: Endpoint) -> Option<Self> {
        (sender.ip.is_ipv6() == receiver.ip.is_ipv6()).then_some(Self { sender, receiver })
    }

    /// Who sends the packet.
    pub fn sender(&self) -> Endpoint {
        self.sender
    }

    /// Whom it is for.
    pub fn receiver(&self) -> Endpoint {
        self.receiver
    }

    /// The other direction.
    pub fn swapped(self) -> Self {
        Self { sender: self.receiver, receiver: self.sender }
    }

    /// Whether they are IPv6.
    pub fn is_v6(&self) -> bool {
        self.sender.ip.is_ipv6()
    }
}

/// A run of bytes that arrived behind a gap; both ends are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Sequence number of its first byte.
    pub first: Seq,
    /// Sequence number of its last byte.
    pub last: Seq,
}

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Sequence number of the last byte in order.
    pub number: Seq,
    /// The two lowest runs behind it, ascending; a second one only behind a first.
    pub blocks: [Option<Block>; 2],
}

impl Acknowledgement {
    /// Only the number.
    pub fn plain(number: Seq) -> Self {
        Self { number, blocks: [None, None] }
    }

    /// The begin and end fields of each block that the wire can hold.
    ///
    /// `begin` counts from two bytes behind what precedes it, because at least one byte is missing there. A gap too wide for
    /// 16 bits ends the list; a run too long is reported as far as 16 bits reach, which is true as far as it goes.
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

/// The extra flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ControlFlags {
    /// Opens a connection. Takes one sequence number.
    pub syn: bool,
    /// The sender has nothing more to send. Takes one sequence number.
    pub fin: bool,
    /// Ends or refuses a connection. Not in the thesis.
    pub rst: bool,
}

impl ControlFlags {
    /// No extra flag.
    pub const NONE: Self = Self { syn: false, fin: false, rst: false };
    /// Opens a connection.
    pub const SYN: Self = Self { syn: true, ..Self::NONE };
    /// Ends a direction.
    pub const FIN: Self = Self { fin: true, ..Self::NONE };
    /// Ends a connection.
    pub const RST: Self = Self { rst: true, ..Self::NONE };

    fn bits(self) -> u8 {
        u8::from(self.rst) * EXTRA_RST + u8::from(self.syn) * EXTRA_SYN + u8::from(self.fin) * EXTRA_FIN
    }
}

/// A header by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which connection.
    pub connection: u8,
    /// The full addresses, until the connection's identifier is agreed.
    pub addresses: Option<Addresses>,
    /// The extra flags; the byte is left out if there are none.
    pub control: ControlFlags,
    /// Sequence number of the **last** byte of the payload, or of the SYN or FIN.
    pub sequence: Option<Seq>,
    /// Bytes from the first one of the payload to behind the urgent data: TCP's urgent pointer, unchanged.
    pub urgent: Option<u16>,
    /// What the sender of this has received.
    pub acknowledgement: Option<Acknowledgement>,
    /// Bytes that the sender of this is ready to receive behind the acknowledgement number, when that has changed.
    pub window: Option<u16>,
}

impl Header {
    /// Nothing but the connection.
    pub fn new(connection: u8) -> Self {
        Self {
            connection,
            addresses: None,
            control: ControlFlags::NONE,
            sequence: None,
            urgent: None,
            acknowledgement: None,
            window: None,
        }
    }

    /// Size on the wire in bytes.
    pub fn bytes(&self) -> usize {
        let addresses = match self.addresses {
            None => 0,
            Some(addresses) if addresses.is_v6() => 36,
            Some(_) => 12,
        };
        let acknowledgement = self
            .acknowledgement
            .map_or(0, |ack| 4 + 4 * ack.fields().iter().filter(|field| field.is_some()).count());
        4 + usize::from(self.control != ControlFlags::NONE)
            + addresses
            + acknowledgement
            + 4 * usize::from(self.sequence.is_some())
            + 2 * usize::from(self.urgent.is_some())
            + 2 * usize::from(self.window.is_some())
    }

    /// Appends the packet of this header and `payload` to `out`.
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let extra = self.control.bits();
        out.push(self.flags());
        if extra != 0 {
            out.push(extra);
        }
        out.push(self.connection);
        if let Some(addresses) = self.addresses {
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
        let at = out.len();
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(payload);
        let sum = checksum(&out[start..], at - start);
        out[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    fn flags(&self) -> u8 {
        let mut flags = 0;
        if self.addresses.is_some_and(|addresses| addresses.is_v6()) {
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

    /// The header and the payload of a packet.
    pub fn decode(packet: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        let mut reader = Reader { packet, at: 0 };
        let flags = reader.u8()?;
        let control = if flags & FLAG_E != 0 { reader.control()? } else { ControlFlags::NONE };
        let connection = reader.u8()?;
        let addresses = reader.addresses(flags)?;
        let sequence = if flags & FLAG_S != 0 { Some(Seq::new(reader.u32()?)) } else { None };
        let urgent = if flags & FLAG_U != 0 { Some(reader.u16()?) } else { None };
        let acknowledgement = reader.acknowledgement(flags >> SHIFT_A & 0b11)?;
        let window = if flags & FLAG_W != 0 { Some(reader.u16()?) } else { None };
        let at = reader.at;
        let sum = reader.u16()?;
        if sum != checksum(packet, at) {
            return Err(HeaderError::Checksum);
        }
        let payload = &packet[reader.at..];
        let header = Self { connection, addresses, control, sequence, urgent, acknowledgement, window };
        header.check(payload.len())?;
        Ok((header, payload))
    }

    /// Combinations that no sender makes.
    fn check(&self, payload: usize) -> Result<(), HeaderError> {
        let ControlFlags { syn, fin, rst } = self.control;
        if payload > usize::from(u16::MAX) {
            return Err(HeaderError::Combination("a payload over 65535 bytes"));
        }
        if u8::from(syn) + u8::from(fin) + u8::from(rst) > 1 {
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

/// TCP's checksum (RFC 9293 section 3.1) over the whole packet, as if its two bytes at `field` were zero. There is no
/// pseudo-header: it would hold the addresses that this header leaves out.
fn checksum(packet: &[u8], field: usize) -> u16 {
    let mut sum: u64 = 0;
    let (words, last) = packet.as_chunks::<2>();
    for word in words {
        sum += u64::from(u16::from_be_bytes(*word));
    }
    if let [byte] = last {
        sum += u64::from(*byte) << 8;
    }
    // Takes the field's own bytes out again; they lie across two words where the header has an odd length before them.
    for (at, byte) in packet.iter().enumerate().skip(field).take(2) {
        sum -= u64::from(*byte) << (8 * (1 - at % 2));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Reads field after field.
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

    fn control(&mut self) -> Result<ControlFlags, HeaderError> {
        let bits = self.u8()?;
        if bits & !(EXTRA_RST | EXTRA_SYN | EXTRA_FIN) != 0 {
            return Err(HeaderError::Reserved);
        }
        if bits == 0 {
            return Err(HeaderError::Combination("extra flags without a flag"));
        }
        let (syn, fin) = (bits & EXTRA_SYN != 0, bits & EXTRA_FIN != 0);
        Ok(ControlFlags { syn, fin, rst: bits & EXTRA_RST != 0 })
    }

    fn addresses(&mut self, flags: u8) -> Result<Option<Addresses>, HeaderError> {
        let v6 = flags & FLAG_R != 0;
        if flags & FLAG_F == 0 {
            // Without addresses the bit means nothing, and is reserved as the thesis has it.
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

    /// `parts`: nothing, the number, the number and one block, the number and two blocks.
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

/// Why bytes are not an E2TCP packet. Such a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The bytes end before the header does.
    Truncated {
        /// Bytes needed, as far as they were understood.
        needed: usize,
        /// Bytes that there are.
        have: usize,
    },
    /// A reserved bit is set.
    Reserved,
    /// The checksum does not fit: the packet is damaged.
    Checksum,
    /// Fields that do not go together; the text says which.
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

/// A packet by what the protocol needs to know of it. Who carries bytes keeps them beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The header.
    pub header: Header,
    /// Bytes of payload.
    pub len: u16,
}

impl Packet {
    /// Size on the wire in bytes, header and payload.
    pub fn bytes(&self) -> usize {
        self.header.bytes() + usize::from(self.len)
    }

    /// Sequence numbers that it takes: its payload, and one for SYN or FIN.
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.len) + u32::from(self.header.control.syn) + u32::from(self.header.control.fin)
    }

    /// The reset that refuses what this packet wants, if it can be answered: it has addresses and a sequence number, and is
    /// no reset.
    pub fn refusal(&self) -> Option<Self> {
        let addresses = self.header.addresses?.swapped();
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

/// As in a ladder: `3 S 1000(1000) ack 5 [8-9] [11-11] win 500`.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.header.connection)?;
        let ControlFlags { syn, fin, rst } = self.header.control;
        for (set, name) in [(syn, "SYN"), (fin, "FIN"), (rst, "RST"), (self.header.addresses.is_some(), "F")]
        {
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
