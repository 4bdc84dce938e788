//! The format of plain datagrams.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------+-+-----------------------------------------------+
//! | version 1   |E|                    number                     |
//! +-------------+-+-----------------------------------------------+
//! |  whole IP packets, one after another, each as long as its own header says ...
//! ```
//! E is set on the last datagram of a burst. Numbers count datagrams modulo 2^24. A datagram without packets is a trigger or a
//! keep-alive. The header's 4 bytes, UDP and IPv4 add 32 bytes, as many as equation 4.12 of Hashimoto (2013) counts.

use std::fmt;
use std::net::IpAddr;

/// Numbers of datagrams are counted modulo this.
pub const NUMBERS: u32 = 1 << 24;
/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 4;
/// Most inner packets in a datagram: as many bare IPv4 headers as a UDP datagram holds would be 3,275, and no host sends these.
pub const PACKETS_MAX: usize = 256;
/// What an encrypted datagram adds: type, index of the receiver, counter (16 bytes) and authentication tag (16 bytes).
pub const SEAL_BYTES: u32 = 32;

const VERSION: u8 = 1;
const UDP_BYTES: u32 = 8;

/// The IP version of outer packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterIp {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl OuterIp {
    /// That of packets to or from this address. A socket of both versions has IPv4 addresses mapped into IPv6.
    pub const fn of(address: IpAddr) -> Self {
        if address.to_canonical().is_ipv6() { Self::V6 } else { Self::V4 }
    }
}

/// Bytes that an outer packet has beside the inner packets, IP header included.
pub const fn overhead_bytes(outer: OuterIp, plain: bool) -> u32 {
    carrier_bytes(outer, plain) + HEADER_BYTES as u32
}

/// Bytes that an outer packet has beside the association's: IP header, UDP header and what encryption adds.
pub const fn carrier_bytes(outer: OuterIp, plain: bool) -> u32 {
    let ip = match outer {
        OuterIp::V4 => 20,
        OuterIp::V6 => 40,
    };
    ip + UDP_BYTES + if plain { 0 } else { SEAL_BYTES }
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelHeader {
    /// Number of the datagram, below 2^24.
    pub number: u32,
    /// Whether it is the last one of a burst.
    pub ends_burst: bool,
}

/// Why bytes are no datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// There are fewer bytes than a header or a packet has.
    Truncated,
    /// Another version of this format, or none.
    Version(u8),
    /// An inner packet is neither IPv4 nor IPv6, or its length cannot be.
    NotIp,
    /// There are more than [`PACKETS_MAX`] packets.
    TooMany,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the datagram is truncated"),
            Self::Version(version) => write!(f, "version: expected {VERSION}, got {version}"),
            Self::NotIp => f.write_str("the datagram contains something that is no IP packet"),
            Self::TooMany => write!(f, "the datagram contains more than {PACKETS_MAX} packets"),
        }
    }
}

impl std::error::Error for WireError {}

impl TunnelHeader {
    /// Appends the header's bytes.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let [_, high, middle, low] = self.number.to_be_bytes();
        bytes.extend([VERSION << 1 | u8::from(self.ends_burst), high, middle, low]);
    }
}

/// The inner packets of a datagram, one after another.
#[derive(Clone, Debug)]
pub struct InnerPackets<'a> {
    /// Whole packets: they have been counted.
    bytes: &'a [u8],
}

impl<'a> Iterator for InnerPackets<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = packet_length(self.bytes).ok()?;
        let (packet, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(packet)
    }
}

/// Reads a datagram. All of its packets are whole, or none is returned.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(bytes: &[u8]) -> Result<(TunnelHeader, InnerPackets<'_>), WireError> {
    let (&[first, high, middle, low], packets) = bytes.split_first_chunk().ok_or(WireError::Truncated)?;
    if first >> 1 != VERSION {
        return Err(WireError::Version(first >> 1));
    }
    let header =
        TunnelHeader { number: u32::from_be_bytes([0, high, middle, low]), ends_burst: first & 1 == 1 };
    let mut rest = packets;
    let mut count = 0;
    while !rest.is_empty() {
        rest = rest.get(packet_length(rest)?..).ok_or(WireError::Truncated)?;
        count += 1;
        if count > PACKETS_MAX {
            return Err(WireError::TooMany);
        }
    }
    Ok((header, InnerPackets { bytes: packets }))
}

/// The length in bytes of the IP packet at the beginning of `bytes`, by its own header. Jumbograms (RFC 2675) are refused.
///
/// # Errors
/// The bytes are no IP packet, or end before its length is known.
pub fn packet_length(bytes: &[u8]) -> Result<usize, WireError> {
    let at = |index: usize| bytes.get(index).copied().ok_or(WireError::Truncated);
    let length_at = |index: usize| Ok(usize::from(u16::from_be_bytes([at(index)?, at(index + 1)?])));
    match at(0)? >> 4 {
        4 => {
            let (header, total) = (usize::from(at(0)? & 0xf) * 4, length_at(2)?);
            if header >= 20 && total >= header { Ok(total) } else { Err(WireError::NotIp) }
        }
        6 => match length_at(4)? {
            0 => Err(WireError::NotIp),
            payload => Ok(40 + payload),
        },
        _ => Err(WireError::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(length: u16) -> Vec<u8> {
        let mut packet = vec![0; usize::from(length)];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet
    }

    fn v6(payload: u16) -> Vec<u8> {
        let mut packet = vec![0; 40 + usize::from(payload)];
        packet[0] = 0x60;
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
        packet
    }

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        let header = TunnelHeader { number: 0xab_cdef, ends_burst: true };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        assert_eq!(bytes, [3, 0xab, 0xcd, 0xef]);
        bytes.extend(v4(52));
        bytes.extend(v6(20));
        let (read, packets) = parse(&bytes).unwrap();
        assert_eq!(read, header);
        assert_eq!(packets.map(<[u8]>::len).collect::<Vec<_>>(), [52, 60]);
    }

    #[test]
    fn what_is_wrong_is_refused_as_a_whole() {
        let begin = |packet: &[u8]| [&[2, 0, 0, 0][..], packet].concat();
        let refused = |bytes: &[u8]| parse(bytes).map(|_| ()).unwrap_err();
        assert_eq!(refused(&[2, 0, 0]), WireError::Truncated);
        assert_eq!(refused(&[4, 0, 0, 0]), WireError::Version(2));
        assert_eq!(refused(&begin(&v4(52)[..51])), WireError::Truncated);
        assert_eq!(refused(&begin(&[0x45])), WireError::Truncated);
        assert_eq!(refused(&begin(&[0x75; 40])), WireError::NotIp);
        // A length of zero would be read for ever.
        assert_eq!(refused(&begin(&[0x45, 0, 0, 0, 0, 0])), WireError::NotIp);
        assert_eq!(refused(&begin(&[0x44, 0, 0, 40])), WireError::NotIp, "a header of 16 bytes");
        assert_eq!(refused(&begin(&v6(0))), WireError::NotIp, "a jumbogram");
        assert_eq!(refused(&begin(&v4(20).repeat(PACKETS_MAX + 1))), WireError::TooMany);
        assert!(parse(&begin(&v4(20).repeat(PACKETS_MAX))).is_ok());
    }

    #[test]
    fn the_overhead_is_that_of_the_headers() {
        assert_eq!(overhead_bytes(OuterIp::V4, true), 20 + 8 + 4);
        assert_eq!(overhead_bytes(OuterIp::V4, false), 20 + 8 + 4 + 32);
        assert_eq!(overhead_bytes(OuterIp::V6, false), 40 + 8 + 4 + 32);
    }
}
