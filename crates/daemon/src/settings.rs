//! What the configurations of daemons have in common: reading a file with the private key beside it, prefixes, and error texts.

use std::fmt;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use airwatt_base::{read_text, reason_of};
use airwatt_proto::session::{PeerConfig, PublicKey, SecretKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, de};
use serde_path_to_error::Segment;
use tracing::warn;

use crate::failure::Failure;

/// What is wrong with the syntax of a file, with the line where it is.
pub(crate) fn with_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

/// Longest name of an interface (IFNAMSIZ less its terminator).
const NAME_BYTES_MAX: usize = 15;

/// A configuration with a private key, which may be in a file of its own.
pub(crate) trait Keyed: Sized {
    /// Reads and checks a text.
    fn parse(text: &str) -> Result<Self, Failure>;
    /// The file of the private key, relative to the folder of the configuration, and the place for the key.
    fn key(&mut self) -> (Option<PathBuf>, &mut Option<SecretKey>);

    /// Reads and checks a file, and the file of the private key.
    fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let in_file = |failure| match failure {
            Failure::Input(line) => Failure::Input(format!("{name}: {line}")),
            other => other,
        };
        let text = read_text(path).map_err(|error| input(format!("{name}: {}", reason_of(&error))))?;
        let mut config = Self::parse(&text).map_err(in_file)?;
        if let (Some(file), key) = config.key() {
            if key.is_some() {
                return Err(in_file(input("private_key_file: expected none beside private_key")));
            }
            let file = path.parent().unwrap_or(Path::new(".")).join(file);
            let wrong = |error: &dyn fmt::Display| {
                in_file(input(format!("private_key_file: {}: {error}", file.display())))
            };
            let text = read_text(&file).map_err(|error| wrong(&reason_of(&error)))?;
            *key = Some(text.parse().map_err(|error| wrong(&error))?);
        }
        Ok(config)
    }
}

/// Warns if others can read a key: the private one in the file beside `path`, or whatever `path` holds itself.
pub(crate) fn warn_of_readers(path: &Path, key_file: Option<&PathBuf>, sessions: &SessionSettings) {
    use std::os::unix::fs::PermissionsExt as _;
    let beside = key_file.map(|key| path.parent().unwrap_or(Path::new(".")).join(key));
    let has_keys = sessions.peers.iter().any(|peer| peer.preshared_key.is_some())
        || sessions.private_key.is_some() && beside.is_none();
    for file in beside.into_iter().chain(has_keys.then(|| path.to_owned())) {
        if fs::metadata(&file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0) {
            warn!("{}: others can read the key in it; hint: chmod 600", file.display());
        }
    }
}

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
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('-') {
        return Ok(());
    }
    let allowed = format!("a name of 1 to {NAME_BYTES_MAX} letters, digits, _ and - (not first)");
    Err(input(format!("interface: expected {allowed}, got {name:?}")))
}

/// An address with the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct Prefix {
    pub(crate) address: IpAddr,
    pub(crate) length: u8,
}

impl Prefix {
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

/// What a configuration says of a peer's session.
pub(crate) struct SessionPeer {
    pub(crate) public_key: Option<PublicKey>,
    pub(crate) preshared_key: Option<SecretKey>,
    pub(crate) endpoint: Option<SocketAddr>,
}

/// What a configuration says of the sessions with its peers.
pub(crate) struct SessionSettings {
    pub(crate) private_key: Option<SecretKey>,
    /// Whether the key of this end is in a file, which may not have been read yet.
    pub(crate) is_in_file: bool,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) peers: Vec<SessionPeer>,
}

impl SessionSettings {
    /// Checks that there is a key of this end, and one of each peer, which is neither another peer's nor that of this end.
    pub(crate) fn check_keys(&self) -> Result<(), Failure> {
        if self.private_key.is_none() && !self.is_in_file {
            return Err(input(
                "private_key: expected the key of this end, got none; hint: airwattd genkey prints one",
            ));
        }
        let own = self.private_key.as_ref().map(SecretKey::public);
        for (index, peer) in self.peers.iter().enumerate() {
            let wrong = |text: &str| Err(input(format!("peer.{index}.public_key: {text}")));
            let Some(key) = peer.public_key else {
                return wrong(
                    "expected the key of the peer, got none; hint: airwattd pubkey prints it there",
                );
            };
            if Some(key) == own {
                return wrong("expected the key of the peer, got that of this end");
            }
            if self.peers[..index].iter().any(|other| other.public_key == Some(key)) {
                return wrong("expected each key once, got one again");
            }
        }
        Ok(())
    }

    /// Checks that a `what` without encryption has no keys, and private addresses only. `key` is the setting that asks for it.
    pub(crate) fn check_plain(&self, key: &str, what: &str) -> Result<(), Failure> {
        let has_own_key = self.private_key.is_some() || self.is_in_file;
        let has_keys = |peer: &SessionPeer| peer.public_key.is_some() || peer.preshared_key.is_some();
        if has_own_key || self.peers.iter().any(has_keys) {
            return Err(input(format!("{key}: expected no keys in a {what} without encryption, got some")));
        }
        let outer = self.listen.into_iter().chain(self.peers.iter().filter_map(|peer| peer.endpoint));
        match outer.map(|address| address.ip()).find(|address| !is_private(*address)) {
            Some(address) => Err(input(format!(
                "{key}: expected private or loopback addresses for a {what} without encryption, got {address}"
            ))),
            None => Ok(()),
        }
    }

    /// The peers of the sessions; those without a key have none.
    pub(crate) fn into_peers(self) -> Vec<PeerConfig> {
        let config = |SessionPeer { public_key, preshared_key, endpoint }| {
            Some(PeerConfig { public_key: public_key?, preshared_key, endpoint })
        };
        self.peers.into_iter().filter_map(config).collect()
    }
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
