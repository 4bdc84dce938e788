//! Where a peer is: an address with a port, or the name of a host with a port. A name is resolved when the daemon starts, and again while
//! the peer is silent, on a thread of its own: a resolver may take many seconds, in which packets of other peers have to pass.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{self, Receiver, Sender};

use airwatt_base::reason_of;
use airwatt_linux::event_loop::Waker;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use tracing::{debug, info};

use crate::failure::Failure;

/// The longest name of a host (RFC 1035, section 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// The address of a peer as the configuration has it. Two are equal if their texts are.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct PeerEndpoint {
    text: String,
    /// `None` for a name that has not been resolved.
    address: Option<SocketAddr>,
}

impl PartialEq for PeerEndpoint {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PeerEndpoint {}

impl From<SocketAddr> for PeerEndpoint {
    fn from(address: SocketAddr) -> Self {
        Self { text: address.to_string(), address: Some(address) }
    }
}

impl<'de> Deserialize<'de> for PeerEndpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if let Some(address) = text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0) {
            return Ok(address.into());
        }
        let is_name = |name: &str| {
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            (1..=NAME_BYTES_MAX).contains(&name.len())
                && name.bytes().all(is_of_name)
                // An address with something wrong about it is no name.
                && name.bytes().any(|byte| byte.is_ascii_alphabetic())
        };
        match text.rsplit_once(':') {
            Some((name, port)) if is_name(name) && port.parse().is_ok_and(|port: u16| port > 0) => {
                Ok(Self { text, address: None })
            }
            _ => Err(de::Error::custom(format!(
                "expected an address and a port as 192.168.1.1:4646 or [fd00::1]:4646, or a host name and a port, got {text}"
            ))),
        }
    }
}

impl PeerEndpoint {
    pub(crate) const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Whether this is a name, which may get another address.
    fn is_name(&self) -> bool {
        self.text.parse::<SocketAddr>().is_err()
    }

    /// Resolves a name, for as long as that takes.
    ///
    /// # Errors
    /// If it has no address, in one line.
    pub(crate) fn resolve(&mut self) -> Result<(), Failure> {
        if self.address.is_none() {
            self.address = Some(
                lookup(&self.text, None)
                    .map_err(|why| Failure::Failed(format!("endpoint: {}: {why}", self.text)))?,
            );
        }
        Ok(())
    }

    /// Takes the address of `text`, if this is it. Whether it has another one now.
    pub(crate) fn take(&mut self, text: &str, address: SocketAddr) -> bool {
        self.text == text && self.address.replace(address) != Some(address)
    }
}

/// The first address of a name with a port; of one IP version, if one is given.
fn lookup(text: &str, is_v6: Option<bool>) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| reason_of(&error))?;
    let fits = |address: &SocketAddr| is_v6.is_none_or(|is_v6| address.is_ipv6() == is_v6);
    found.find(fits).ok_or_else(|| "it has no address of the socket's IP version".to_owned())
}

/// What a lookup has found for a text.
type Found = (String, Result<SocketAddr, String>);

/// Resolves names without holding up the event loop, which it wakes up when there is something to take.
#[derive(Debug)]
pub(crate) struct Resolver {
    waker: Waker,
    /// The IP version of the socket.
    is_v6: bool,
    sender: Sender<Found>,
    receiver: Receiver<Found>,
    /// Texts that are being looked up.
    asked: BTreeSet<String>,
}

impl Resolver {
    pub(crate) fn new(waker: Waker, is_v6: bool) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { waker, is_v6, sender, receiver, asked: BTreeSet::new() }
    }

    /// Looks an endpoint up again, if it is a name.
    pub(crate) fn ask(&mut self, endpoint: Option<&PeerEndpoint>) {
        let Some(endpoint) = endpoint.filter(|endpoint| endpoint.is_name()) else { return };
        if !self.asked.insert(endpoint.text.clone()) {
            return;
        }
        let (text, is_v6) = (endpoint.text.clone(), self.is_v6);
        let (sender, waker) = (self.sender.clone(), self.waker.clone());
        let look_up = move || {
            let found = lookup(&text, Some(is_v6));
            // The daemon may have ended.
            let _ = sender.send((text, found));
            waker.wake();
        };
        if let Err(error) = std::thread::Builder::new().name("resolver".to_owned()).spawn(look_up) {
            debug!(%error, "no thread for a resolver");
            self.asked.remove(&endpoint.text);
        }
    }

    /// The names that have been resolved since.
    pub(crate) fn take(&mut self) -> Vec<(String, SocketAddr)> {
        let mut addresses = Vec::new();
        while let Ok((text, found)) = self.receiver.try_recv() {
            self.asked.remove(&text);
            match found {
                Ok(address) => addresses.push((text, address)),
                Err(why) => info!(name = text, why, "the peer's name is not resolved"),
            }
        }
        addresses
    }
}

#[cfg(test)]
mod tests;
