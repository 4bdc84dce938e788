//! The peers of a tunnel or a gateway: what a configuration says of them, with the private key of this end beside it, and how datagrams
//! get to them.

use std::fmt;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use airwatt_base::{Instant, Machine as _, Span, Timeout, read_text, reason_of};
use airwatt_linux::{clock, random};
use airwatt_proto::session::{self, PeerConfig, PublicKey, SecretKey, Sessions};
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::warn;

use crate::endpoint::PeerEndpoint;
use crate::failure::Failure;
use crate::settings::{Prefix, from_text, input, is_private};

/// The other end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeerSettings {
    /// Its name in reports.
    pub(crate) name: String,
    /// Its public key (`airwattd pubkey`).
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(crate) public_key: Option<PublicKey>,
    /// A key that both share beforehand, beside the others.
    #[serde(default, deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub(crate) preshared_key: Option<SecretKey>,
    /// Its address or host name, and its port; without them it is found by its first datagram. A name is resolved at the start, and
    /// again while the peer is silent.
    pub(crate) endpoint: Option<PeerEndpoint>,
    /// Of a tunnel: inner sources that it may send, and inner destinations that are sent to it. At a base station: the mobile's
    /// addresses.
    #[serde(default)]
    pub(crate) allowed_ips: Vec<Prefix>,
}

impl PeerSettings {
    /// Its address, as far as it is known.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.endpoint.as_ref().and_then(PeerEndpoint::address)
    }

    /// Whether this is one of its addresses.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.allowed_ips.iter().any(|prefix| prefix.contains(address))
    }
}

/// A configuration with peers, and with a private key, which may be in a file of its own.
pub(crate) trait Peering: Sized {
    /// Reads a text.
    fn parse(text: &str) -> Result<Self, Failure>;
    /// Checks the whole.
    fn check(&self) -> Result<(), Failure>;
    /// The file of the private key, relative to the folder of the configuration, and the place for the key.
    fn key(&mut self) -> (Option<PathBuf>, &mut Option<SecretKey>);
    /// The peers.
    fn peers(&mut self) -> &mut [PeerSettings];
    /// What it says of the sessions with the peers.
    fn sessions(&self) -> SessionSettings<'_>;

    /// Reads a file, and the file of the private key.
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

    /// Resolves the names of the peers, and checks what depends on their addresses.
    ///
    /// # Errors
    /// If a name has no address, or one that does not fit the configuration.
    fn resolve(&mut self) -> Result<(), Failure> {
        self.peers()
            .iter_mut()
            .filter_map(|peer| peer.endpoint.as_mut())
            .try_for_each(PeerEndpoint::resolve)?;
        self.check()
    }
}

/// What a configuration says of the sessions with its peers.
#[derive(Clone, Copy)]
pub(crate) struct SessionSettings<'a> {
    pub(crate) private_key: Option<&'a SecretKey>,
    /// The file of the key of this end, which may not have been read yet.
    pub(crate) key_file: Option<&'a Path>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) peers: &'a [PeerSettings],
}

impl SessionSettings<'_> {
    /// The address of the UDP socket: without one in the file, any port of the IP version of the peers.
    pub(crate) fn listen(&self) -> SocketAddr {
        let is_v6 = self.peers.iter().find_map(PeerSettings::address).is_some_and(|peer| peer.is_ipv6());
        let any = if is_v6 { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() };
        self.listen.unwrap_or(any)
    }

    /// Warns if others can read a key: the private one in the file beside `path`, or whatever `path` holds itself.
    pub(crate) fn warn_of_readers(&self, path: &Path) {
        let beside = self.key_file.map(|key| path.parent().unwrap_or(Path::new(".")).join(key));
        let has_keys = self.peers.iter().any(|peer| peer.preshared_key.is_some())
            || self.private_key.is_some() && beside.is_none();
        for file in beside.into_iter().chain(has_keys.then(|| path.to_owned())) {
            if fs::metadata(&file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0) {
                warn!("{}: others can read the key in it; hint: chmod 600", file.display());
            }
        }
    }

    /// Checks that each peer has a name of its own.
    pub(crate) fn check_names(&self) -> Result<(), Failure> {
        for (index, PeerSettings { name, .. }) in self.peers.iter().enumerate() {
            if self.peers[..index].iter().any(|other| other.name == *name) {
                return Err(input(format!("peer.{index}.name: expected each name once, got {name} again")));
            }
        }
        Ok(())
    }

    /// Checks that there is a key of this end, and one of each peer, which is neither another peer's nor that of this end.
    pub(crate) fn check_keys(&self) -> Result<(), Failure> {
        if self.private_key.is_none() && self.key_file.is_none() {
            return Err(input(
                "private_key: expected the key of this end, got none; hint: airwattd genkey prints one",
            ));
        }
        let own = self.private_key.map(SecretKey::public);
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
        let has_own_key = self.private_key.is_some() || self.key_file.is_some();
        let has_keys = |peer: &PeerSettings| peer.public_key.is_some() || peer.preshared_key.is_some();
        if has_own_key || self.peers.iter().any(has_keys) {
            return Err(input(format!("{key}: expected no keys in a {what} without encryption, got some")));
        }
        let outer = self.listen.into_iter().chain(self.peers.iter().filter_map(PeerSettings::address));
        match outer.map(|address| address.ip()).find(|address| !is_private(*address)) {
            Some(address) => Err(input(format!(
                "{key}: expected private or loopback addresses for a {what} without encryption, got {address}"
            ))),
            None => Ok(()),
        }
    }

    /// The peers of the sessions; those without a key have none.
    pub(crate) fn session_peers(&self) -> Vec<PeerConfig> {
        let config = |peer: &PeerSettings| {
            let (preshared_key, endpoint) = (peer.preshared_key.clone(), peer.address());
            Some(PeerConfig { public_key: peer.public_key?, preshared_key, endpoint })
        };
        self.peers.iter().filter_map(config).collect()
    }

    /// How datagrams get to the peers: without a key of this end, without encryption.
    pub(crate) fn carrier(&self, now: Instant) -> Result<Carrier, Failure> {
        let Some(key) = self.private_key else {
            return Ok(Carrier::Plain(self.peers.iter().map(PeerSettings::address).collect()));
        };
        let mut sessions = Sessions::new(key.clone(), random::bytes()?, clock::epoch(now));
        sessions.set_peers(self.session_peers());
        Ok(Carrier::Sealed(Box::new(sessions)))
    }
}

/// How datagrams get to the peers.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// Authenticated and encrypted.
    Sealed(Box<Sessions>),
    /// Without encryption; the addresses of the peers, as far as they are known.
    Plain(Vec<Option<SocketAddr>>),
}

impl Carrier {
    /// The address of a peer, as far as it is known.
    pub(crate) fn endpoint(&self, peer: usize) -> Option<SocketAddr> {
        match self {
            Self::Sealed(sessions) => sessions.peer(peer).endpoint,
            Self::Plain(endpoints) => endpoints.get(peer).copied().flatten(),
        }
    }

    /// A peer has another address. Whether that is new.
    pub(crate) fn set_endpoint(&mut self, peer: usize, address: SocketAddr) -> bool {
        match self {
            Self::Sealed(sessions) => {
                sessions.set_endpoint(peer, address);
                true
            }
            Self::Plain(endpoints) => {
                endpoints.get_mut(peer).is_some_and(|known| known.replace(address) != Some(address))
            }
        }
    }

    /// The state of a peer's session; `None` without encryption.
    pub(crate) fn session(&self, peer: usize) -> Option<session::PeerStatus> {
        match self {
            Self::Sealed(sessions) => Some(sessions.peer(peer)),
            Self::Plain(_) => None,
        }
    }

    /// The sessions, if there are any.
    pub(crate) fn sessions(&mut self) -> Option<&mut Sessions> {
        match self {
            Self::Sealed(sessions) => Some(sessions),
            Self::Plain(_) => None,
        }
    }

    /// The host was suspended for this time.
    pub(crate) fn resume(&mut self, suspended: Span, now: Instant) {
        if let Self::Sealed(sessions) = self {
            sessions.handle_input(session::Input::Resumed(suspended), now);
        }
    }

    /// The next timeout of the sessions.
    pub(crate) fn poll_timeout(&self) -> Option<Timeout<session::Reason>> {
        match self {
            Self::Sealed(sessions) => sessions.poll_timeout(),
            Self::Plain(_) => None,
        }
    }
}
