//! What the configurations of daemons have in common: reading TOML, prefixes, and error texts.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use airwatt_energy::Radio;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, de};
use serde_path_to_error::Segment;

use crate::failure::Failure;

/// What is wrong with the syntax of a file, with the line where it is.
pub(crate) fn with_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

/// Longest name of an interface (IFNAMSIZ less its terminator).
pub(crate) const NAME_BYTES_MAX: usize = 15;

/// Reads a text as TOML. An error is one line with the key.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    let parsed = toml::Deserializer::parse(text).map_err(|error| input(with_line(text, &error)))?;
    serde_path_to_error::deserialize(parsed).map_err(|error| {
        let path: Vec<String> = error.path().iter().map(key_of).collect();
        let what = error.inner().message();
        if path.is_empty() { input(what) } else { input(format!("{}: {what}", path.join("."))) }
    })
}

/// A part of a key, as the other errors have it: `peer.0.endpoint`.
fn key_of(segment: &Segment) -> String {
    match segment {
        Segment::Seq { index } => index.to_string(),
        other => other.to_string(),
    }
}

/// Checks the name of an interface that a daemon creates. The kernel admits more, as `%d`, which it replaces by a number, and characters that a
/// terminal or a shell obeys in the commands of `--dry-run`.
pub(crate) fn check_interface(name: &str) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let has_form = (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain);
    if has_form && !name.starts_with('-') && !TAKEN.contains(&name) {
        return Ok(());
    }
    let taken = TAKEN.join(", ");
    let allowed =
        format!("a name of 1 to {NAME_BYTES_MAX} letters, digits, _ and - (not first), and none of {taken}");
    Err(input(format!("interface: expected {allowed}, got {name:?}")))
}

/// Names that the kernel gives to no other interface: that of the loopback, and those of its settings for all interfaces.
const TAKEN: [&str; 3] = ["lo", "all", "default"];

/// The radio profile of the key `radio`, if there is one, by which energy is estimated.
pub(crate) fn radio(name: Option<&str>) -> Result<Option<Radio>, Failure> {
    name.map(Radio::find).transpose().map_err(|error| input(format!("radio: {error}")))
}

/// An address as its packets have it: a socket of both versions of IP says those of IPv4 within IPv6.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// An address with the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct Prefix {
    pub(crate) address: IpAddr,
    pub(crate) length: u8,
}

impl Prefix {
    /// The IP version, as people say it.
    pub(crate) const fn version(self) -> &'static str {
        if self.address.is_ipv6() { "IPv6" } else { "IPv4" }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        let shared = |a: u128, b: u128, bits: u8| {
            let length = self.length.min(bits);
            length == 0 || (a ^ b) >> (bits - length) == 0
        };
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => shared(u32::from(a).into(), u32::from(b).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => shared(a.into(), b.into(), 128),
            _ => false,
        }
    }

    /// The prefix without the bits after it, as routes have it.
    pub(crate) fn network(self) -> Self {
        let masked = |bits: u128, width: u8| match width - self.length {
            0 => bits,
            shift if u32::from(shift) >= u128::BITS => 0,
            shift => bits >> shift << shift,
        };
        let address = match self.address {
            IpAddr::V4(address) => IpAddr::V4((masked(u32::from(address).into(), 32) as u32).into()),
            IpAddr::V6(address) => IpAddr::V6(masked(address.into(), 128).into()),
        };
        Self { address, ..self }
    }

    /// Bits of an address.
    pub(crate) const fn width(&self) -> u8 {
        if self.address.is_ipv6() { 128 } else { 32 }
    }

    /// The address as a prefix of its own.
    pub(crate) const fn alone(self) -> Self {
        Self { length: self.width(), ..self }
    }

    /// The prefixes of all addresses in this one but `address`, the largest first.
    pub(crate) fn without(self, address: IpAddr) -> Vec<Self> {
        let width = self.width();
        let other_half = |length: u8| {
            let bit = 1_u128 << (width - length);
            let address = match address {
                IpAddr::V4(address) => IpAddr::V4((u32::from(address) ^ bit as u32).into()),
                IpAddr::V6(address) => IpAddr::V6((u128::from(address) ^ bit).into()),
            };
            Self { address, length }.network()
        };
        (self.length + 1..=width).map(other_half).collect()
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a prefix as 10.77.0.2/24 or fd00::2/64, got {text}");
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if length > most { Err(wrong()) } else { Ok(Self { address, length }) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.length)
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A value that has a text.
pub(crate) fn from_text<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?.parse().map(Some).map_err(de::Error::custom)
}

/// An address of this host with a port.
pub(crate) fn socket_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong =
        || format!("expected an address and a port as 192.168.1.1:4646 or [fd00::1]:4646, got {text}");
    text.parse().map(Some).map_err(|_| de::Error::custom(wrong()))
}

/// Wrong input, in one line.
pub(crate) fn input(line: impl Into<String>) -> Failure {
    Failure::Input(line.into())
}

/// Checks the port at which peers find this end.
pub(crate) fn check_port(listen: Option<SocketAddr>) -> Result<(), Failure> {
    match listen.filter(|address| address.port() == 0) {
        Some(address) => Err(input(format!("listen: expected a port from 1 to 65535, got {address}"))),
        None => Ok(()),
    }
}

/// Whether the address is one of a private network, this host, or this link.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
        }
        IpAddr::V6(address) => {
            address.is_unique_local()
                || address.is_loopback()
                || address.is_unicast_link_local()
                || address.is_unspecified()
        }
    }
}
