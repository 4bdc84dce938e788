//! What a data frame carries: LLC/SNAP and A-MSDU (802.11-2020 9.3.2.2, IEEE 802-2014 9.2).

use super::address::MacAddress;

/// DSAP and SSAP 0xaa, control 3 (unnumbered information), OUI 00-00-00: an Ethernet type follows (RFC 1042).
const RFC1042: [u8; 6] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00];
/// The same with OUI 00-00-f8, for the few types that bridges tunnel (802.1H); read alike.
const BRIDGE_TUNNEL: [u8; 6] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0xf8];

/// Ethernet type and payload of an unencrypted body that begins with LLC/SNAP; `None` for anything else.
pub fn snap_payload(body: &[u8]) -> Option<(u16, &[u8])> {
    let rest = body.strip_prefix(&RFC1042).or_else(|| body.strip_prefix(&BRIDGE_TUNNEL))?;
    let (kind, payload) = rest.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*kind), payload))
}

/// Appends an LLC/SNAP header for an Ethernet type.
pub fn encapsulate(ether_type: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&RFC1042);
    out.extend_from_slice(&ether_type.to_be_bytes());
}

/// One MSDU of an A-MSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmsduSubframe<'a> {
    /// Where it goes.
    pub destination: MacAddress,
    /// Where it came from.
    pub source: MacAddress,
    /// Its length as stated, in bytes; `body` is shorter where the capture cut it.
    pub length: usize,
    /// LLC/SNAP and payload.
    pub body: &'a [u8],
}

/// The MSDUs in the body of an A-MSDU; ends at the first that does not begin within the bytes.
pub fn amsdu_subframes(body: &[u8]) -> impl Iterator<Item = AmsduSubframe<'_>> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let (header, after) = rest.split_first_chunk::<14>()?;
        let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
        let body = &after[..length.min(after.len())];
        // All but the last subframe are padded to a multiple of four bytes.
        rest = rest.get((14 + length).next_multiple_of(4)..).unwrap_or(&[]);
        Some(AmsduSubframe {
            destination: MacAddress::at(header, 0),
            source: MacAddress::at(header, 6),
            length,
            body,
        })
    })
}
