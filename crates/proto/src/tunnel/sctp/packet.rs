//! What the association reads of SCTP packets (RFC 9260, section 3): which messages left, what was acknowledged, and whether a
//! packet is an acknowledgement that may wait for company.

/// Length of the common header: ports, verification tag and checksum.
const HEADER_BYTES: usize = 12;
const CHECKSUM: std::ops::Range<usize> = 8..12;
/// Length of a chunk's header.
const CHUNK_BYTES: usize = 4;

const DATA: u8 = 0;
const INIT: u8 = 1;
const SACK: u8 = 3;
const COOKIE_ECHO: u8 = 10;
const FORWARD_TSN: u8 = 192;
/// The flag of a DATA chunk that begins a message.
const BEGINS: u8 = 2;

/// A chunk that the association follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The beginning of a message, on this stream.
    Message { tsn: u32, stream: u16 },
    /// Everything up to `cumulative` was received, and the numbers of these ranges.
    Acknowledgement { cumulative: u32, ranges: Vec<(u32, u32)> },
    /// Everything up to this number was received or given up.
    GivenUp { cumulative: u32 },
}

/// The chunks of a packet: type, flags and body.
fn chunks(packet: &[u8]) -> impl Iterator<Item = (u8, u8, &[u8])> {
    let mut rest = packet.get(HEADER_BYTES..).unwrap_or_default();
    std::iter::from_fn(move || {
        let &[kind, flags, high, low] = rest.get(..CHUNK_BYTES)? else { return None };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let body = rest.get(CHUNK_BYTES..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, flags, body))
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The chunks of a packet that the association follows. What is damaged is left out: the library decides about packets.
pub(super) fn followed(packet: &[u8]) -> impl Iterator<Item = Chunk> {
    chunks(packet).filter_map(|(kind, flags, body)| match kind {
        DATA if flags & BEGINS != 0 => Some(Chunk::Message { tsn: word(body, 0)?, stream: half(body, 4)? }),
        SACK => {
            let cumulative = word(body, 0)?;
            let range = |index: usize| {
                let at = 12 + 4 * index;
                let number = |offset| cumulative.wrapping_add(u32::from(offset));
                Some((number(half(body, at)?), number(half(body, at + 2)?)))
            };
            let ranges = (0..usize::from(half(body, 8)?)).map_while(range).collect();
            Some(Chunk::Acknowledgement { cumulative, ranges })
        }
        FORWARD_TSN => Some(Chunk::GivenUp { cumulative: word(body, 0)? }),
        _ => None,
    })
}

/// Whether a packet consists of an acknowledgement that reports neither loss nor repetition, and may wait.
pub(super) fn may_wait(packet: &[u8]) -> bool {
    // Cumulative number, window, and the counts of ranges and of duplicates.
    let is_plain = |body: &[u8]| body.len() == 12 && body[8..] == [0; 4];
    let mut chunks = chunks(packet);
    matches!(chunks.next(), Some((SACK, _, body)) if is_plain(body)) && chunks.next().is_none()
}

/// Whether the peer answers a packet: it has data, or is the first or third of the handshake.
pub fn expects_answer(packet: &[u8]) -> bool {
    chunks(packet).any(|(kind, ..)| matches!(kind, DATA | INIT | COOKIE_ECHO))
}

/// Whether a packet begins an association.
pub fn begins_association(packet: &[u8]) -> bool {
    matches!(chunks(packet).next(), Some((INIT, ..)))
}

/// Whether a packet has an acknowledgement.
pub(super) fn acknowledges(packet: &[u8]) -> bool {
    chunks(packet).any(|(kind, ..)| kind == SACK)
}

/// Whether a packet has data.
pub(super) fn has_data(packet: &[u8]) -> bool {
    chunks(packet).any(|(kind, ..)| kind == DATA)
}

/// `packet` with the chunks of `first` before its own; both are of the same association.
pub(super) fn joined(first: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut bytes = [first, &packet[HEADER_BYTES..]].concat();
    bytes[CHECKSUM].fill(0);
    let checksum = crc32c(&bytes);
    bytes[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The number of bytes by which [`joined`] makes a packet longer.
pub(super) fn joined_bytes(first: &[u8]) -> usize {
    first.len() - HEADER_BYTES
}

/// CRC32c, the checksum of SCTP (RFC 9260, appendix A).
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { value >> 1 ^ 0x82f6_3b78 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}
