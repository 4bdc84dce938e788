//! The frame check sequence: CRC-32 over header and body (802.11-2020 9.2.4.8).

/// The CRC-32 polynomial of IEEE 802, bit-reversed because the least significant bit is sent first.
const POLYNOMIAL: u32 = 0xedb8_8320;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

/// The check sequence of a frame that does not carry it yet.
pub fn fcs(frame: &[u8]) -> u32 {
    !frame.iter().fold(!0, |crc, byte| crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize])
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
