//! IEEE 802 MAC addresses.

use std::fmt;
use std::str::FromStr;

/// A 48-bit MAC address, in the order in which its octets are sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All ones: everybody.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Reads six octets at `at`; past the end reads as zero, so the caller checks the length first.
    pub(super) fn at(bytes: &[u8], at: usize) -> Self {
        let mut octets = [0; 6];
        if let Some(found) = bytes.get(at..at + 6) {
            octets.copy_from_slice(found);
        }
        Self(octets)
    }

    /// Whether the group bit is set: multicast or broadcast (802-2014 8.2.2).
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        f.pad(&format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"))
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not six pairs of hexadecimal digits with `:` or `-` between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseMacError;

impl fmt::Display for ParseMacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a MAC address: six pairs of hexadecimal digits, for example 00:1b:63:ab:cd:ef")
    }
}

impl std::error::Error for ParseMacError {}

impl FromStr for MacAddress {
    type Err = ParseMacError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()));
            *octet = part.and_then(|p| u8::from_str_radix(p, 16).ok()).ok_or(ParseMacError)?;
        }
        if parts.next().is_some() { Err(ParseMacError) } else { Ok(Self(octets)) }
    }
}
