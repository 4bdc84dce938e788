//! Attributes: a length, a type and a value each, padded to four bytes (`struct nlattr`).

/// The two highest bits of a type are flags: NLA_F_NESTED and NLA_F_NET_BYTEORDER.
const TYPE_MASK: u16 = 0x3fff;
const HEADER: usize = 4;

/// Type and value of one attribute.
pub type Attribute = (u16, Vec<u8>);

/// Returns the attributes in `bytes`. The list ends before the first one that is malformed.
pub fn parse(mut bytes: &[u8]) -> Vec<Attribute> {
    let mut list = Vec::new();
    while let Some((header, _)) = bytes.split_first_chunk::<HEADER>() {
        let size = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & TYPE_MASK;
        let Some(value) = bytes.get(HEADER..size) else { break };
        list.push((kind, value.to_vec()));
        bytes = bytes.get(size.next_multiple_of(4)..).unwrap_or(&[]);
    }
    list
}

/// Appends one attribute with its padding.
///
/// # Panics
/// If the value is longer than an attribute can be, which is 65,531 bytes.
pub fn push(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let size = u16::try_from(HEADER + value.len()).expect("attributes have at most 65,535 bytes");
    bytes.extend_from_slice(&size.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
