//! The addresses of this host from which datagrams leave for the peers.
//!
//! A peer answers to where the last datagram came from. A client that only receives, as in a download, is lost to it when its address changes:
//! then it has to speak. Left out: a new address of a translator (NAT) on the way, of which this host learns nothing; `keep_alive` is for that.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use airwatt_linux::route::RouteNews;
use airwatt_linux::{Error, udp};

/// The addresses, and news that they may have changed.
pub(super) struct OwnAddress {
    pub(super) news: RouteNews,
    /// The address towards each endpoint. One that is out of reach keeps what it had.
    known: BTreeMap<SocketAddr, IpAddr>,
}

impl OwnAddress {
    /// Watches from now on.
    ///
    /// # Errors
    /// If the kernel tells no news.
    pub(super) fn watch() -> Result<Self, Error> {
        Ok(Self { news: RouteNews::watch()?, known: BTreeMap::new() })
    }

    /// Takes the news. Returns whether datagrams to an endpoint that was known leave from another address. Packets have this mark.
    ///
    /// # Errors
    /// If the news cannot be read.
    pub(super) fn has_moved(
        &mut self,
        endpoints: impl Iterator<Item = SocketAddr>,
        mark: Option<u32>,
    ) -> Result<bool, Error> {
        self.news.take()?;
        let now = endpoints.filter_map(|to| Some((to, udp::path_source(to, mark)?)));
        Ok(now.fold(false, |moved, (to, from)| {
            moved | self.known.insert(to, from).is_some_and(|before| before != from)
        }))
    }
}
