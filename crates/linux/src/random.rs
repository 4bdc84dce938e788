//! Random bytes of the kernel.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::Error;

/// 32 bytes of the kernel's generator (getrandom(2)), for a key or a seed. It waits until the generator is ready, early after a
/// boot.
///
/// # Errors
/// If the kernel has no such call.
pub fn bytes() -> Result<[u8; 32], Error> {
    let mut bytes = [0; 32];
    // Requests of up to 256 bytes are neither interrupted nor answered in part.
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(Error::of("random bytes"))?;
    Ok(bytes)
}
