//! What can be wrong with bytes that claim to be a frame.

use std::fmt;

/// Why bytes could not be read as the frame that they claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedFrame {
    /// The bytes end before the field does.
    Truncated {
        /// Bytes that the format needs.
        needed: usize,
        /// Bytes that there are.
        have: usize,
    },
    /// A field holds a value that the format does not allow; the text names the field.
    Malformed(&'static str),
}

impl fmt::Display for MalformedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, have } => write!(f, "cut short: {needed} bytes needed, {have} there"),
            Self::Malformed(what) => write!(f, "malformed: {what}"),
        }
    }
}

impl std::error::Error for MalformedFrame {}

/// The first `needed` bytes, or the error that says how many are missing.
pub(super) fn take(bytes: &[u8], needed: usize) -> Result<&[u8], MalformedFrame> {
    bytes.get(..needed).ok_or(MalformedFrame::Truncated { needed, have: bytes.len() })
}

/// The 16-bit little-endian number at `at`. The caller has checked the length; past the end reads as zero.
pub(super) fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

/// The 32-bit little-endian number at `at`, as [`le16`].
pub(super) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from(le16(bytes, at)) | u32::from(le16(bytes, at + 2)) << 16
}

/// The 64-bit little-endian number at `at`, as [`le16`].
pub(super) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}
