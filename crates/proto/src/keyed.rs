//! The keyed hash BLAKE2s (RFC 7693): numbers that only who knows a key can compute.

use blake2::Blake2sMac;
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput as _, KeyInit as _, Update as _};

/// 32 bytes that only who knows the key can compute.
pub(crate) fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut state = Blake2sMac::<U32>::new(key.into());
    parts.iter().for_each(|part| state.update(part));
    state.finalize_fixed().into()
}
