//! `airwattd genkey` and `airwattd pubkey`: keys of peers, as `wg genkey` and `wg pubkey` have them.

use std::io::Read as _;

use airwatt_linux::random;
use airwatt_proto::session::SecretKey;

use crate::failure::Failure;
use crate::output;

/// Longest input of `pubkey`: a key, and blanks around it.
const INPUT_BYTES_MAX: u64 = 256;

/// A new private key.
pub(crate) fn new() -> Result<SecretKey, Failure> {
    let mut bytes = random::bytes()?;
    // The bits that X25519 sets anyway (RFC 7748, section 5), so that other programs show the same key.
    bytes[0] &= 248;
    bytes[31] = bytes[31] & 127 | 64;
    Ok(SecretKey::from_bytes(bytes))
}

/// Prints a new private key.
pub(crate) fn generate() -> Result<(), Failure> {
    output::print(&format!("{}\n", new()?.to_text()));
    Ok(())
}

/// Prints the public key of the private key on standard input.
pub(crate) fn public() -> Result<(), Failure> {
    let mut text = String::new();
    let read = std::io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| Failure::Input(format!("standard input: {error}")))?;
    let key: SecretKey = text.parse().map_err(|error| Failure::Input(format!("standard input: {error}")))?;
    output::print(&format!("{}\n", key.public()));
    Ok(())
}
