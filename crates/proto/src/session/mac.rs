//! Hashes and message authentication codes: BLAKE2s (RFC 7693), with and without a key.

use blake2::digest::consts::U16;
use blake2::digest::{Digest as _, FixedOutput as _, KeyInit as _, Update as _};
use blake2::{Blake2s256, Blake2sMac};

/// Length of a message authentication code.
pub(super) const MAC_BYTES: usize = 16;

/// The hash of all parts.
pub(super) fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut state = Blake2s256::new();
    parts.iter().for_each(|part| blake2::digest::Update::update(&mut state, part));
    state.finalize_fixed().into()
}

/// A message authentication code of 16 bytes. The key has 16 or 32 bytes.
pub(super) fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC_BYTES] {
    let mut state = Blake2sMac::<U16>::new_from_slice(key).expect("16 and 32 bytes are allowed");
    parts.iter().for_each(|part| state.update(part));
    state.finalize_fixed().into()
}

/// Whether two codes are equal, in a time that does not depend on where they differ.
pub(super) fn is_equal(a: &[u8; MAC_BYTES], b: &[u8; MAC_BYTES]) -> bool {
    let differing = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differing) == 0
}
