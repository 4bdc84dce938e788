//! Keys of peers: 32 bytes, as text in base64, as WireGuard's are.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::dh;

/// Length of a key in bytes.
pub const KEY_BYTES: usize = 32;

/// Why text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl fmt::Display for KeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("expected a key of 32 bytes in base64 (44 characters)")
    }
}

impl std::error::Error for KeyError {}

fn decode(text: &str) -> Result<[u8; KEY_BYTES], KeyError> {
    let mut bytes = [0; KEY_BYTES + 1];
    match STANDARD.decode_slice(text.trim(), &mut bytes) {
        Ok(KEY_BYTES) => Ok(std::array::from_fn(|index| bytes[index])),
        _ => Err(KeyError),
    }
}

/// The public key of a peer, by which it is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    /// A key of these bytes.
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self)
    }
}

/// A secret: the private key of a peer, or a key that two peers share beforehand. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; KEY_BYTES]);

impl SecretKey {
    /// A key of these bytes, which have to be random.
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The public key of a private key (X25519, RFC 7748).
    pub fn public(&self) -> PublicKey {
        let mut pair = dh::pair();
        pair.set(&self.0);
        PublicKey(pair.pubkey().try_into().expect("X25519 has public keys of 32 bytes"))
    }

    /// The key as text.
    pub fn to_text(&self) -> String {
        STANDARD.encode(self.0)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

impl FromStr for SecretKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> [u8; KEY_BYTES] {
        std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
    }

    /// RFC 7748, section 6.1.
    #[test]
    fn public_keys_are_those_of_the_rfc() {
        let pairs = [
            (
                "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
                "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
            ),
            (
                "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
                "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
            ),
        ];
        for (private, public) in pairs {
            assert_eq!(SecretKey(bytes(private)).public(), PublicKey(bytes(public)));
        }
    }

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let key = SecretKey::from_bytes([7; 32]);
        assert_eq!(key.to_text().len(), 44);
        assert_eq!(key.to_text().parse(), Ok(key.clone()));
        assert_eq!(format!("{}\n", key.public()).parse(), Ok(key.public()));
        for wrong in
            ["", "AAAA", "not base64 at all, and much too long to be a key of any kind", &"A".repeat(44)]
        {
            assert_eq!(wrong.parse::<PublicKey>(), Err(KeyError), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", SecretKey::from_bytes([7; 32])), "(secret)");
    }
}
