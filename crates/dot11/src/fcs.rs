//! The frame check sequence: CRC-32 over header and body (802.11-2020 9.2.4.8).

/// The check sequence of a frame that does not carry it yet.
pub fn fcs(frame: &[u8]) -> u32 {
    crc32fast::hash(frame)
}

/// Whether the last four bytes are the check sequence of the bytes before them. False for fewer than four bytes.
pub fn check_fcs(frame_with_fcs: &[u8]) -> bool {
    frame_with_fcs.split_last_chunk::<4>().is_some_and(|(frame, sum)| fcs(frame) == u32::from_le_bytes(*sum))
}

/// Appends the check sequence of the bytes from `start` on.
pub fn append_fcs(bytes: &mut Vec<u8>, start: usize) {
    let sum = fcs(&bytes[start.min(bytes.len())..]);
    bytes.extend_from_slice(&sum.to_le_bytes());
}
