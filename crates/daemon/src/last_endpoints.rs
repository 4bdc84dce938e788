//! Where the peers were last: a file by which a base station or a concentrator that was killed or restarted finds its peers when it starts again,
//! though its configuration does not say where they are. It is removed when a daemon ends that no service manager starts again, and by
//! `down`; `restore`, which a unit runs after each end, leaves it for the next start.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use airwatt_linux::Error;
use airwatt_linux::folder::Folder;
use tracing::warn;

use crate::instance::Instance;

/// The last address of each peer, by its name.
#[derive(Debug)]
pub(crate) struct LastEndpoints {
    folder: Option<Folder>,
    file: String,
    at: BTreeMap<String, SocketAddr>,
}

impl LastEndpoints {
    /// Those that an earlier daemon of this name left. A file without sense has none.
    pub(crate) fn open(instance: Instance<'_>) -> Result<Self, Error> {
        let (folder, file) = instance.peers_file()?;
        let bytes = folder.as_ref().map_or(Ok(None), |folder| folder.read(&file))?.unwrap_or_default();
        Ok(Self { folder, file, at: serde_json::from_slice(&bytes).unwrap_or_default() })
    }

    pub(crate) fn of(&self, peer: &str) -> Option<SocketAddr> {
        self.at.get(peer).copied()
    }

    /// A peer has another address.
    pub(crate) fn note(&mut self, peer: &str, at: SocketAddr) {
        if self.at.insert(peer.to_owned(), at) == Some(at) {
            return;
        }
        let bytes = serde_json::to_vec(&self.at).expect("names and addresses");
        if let Some(Err(error)) = self.folder.as_ref().map(|folder| folder.write(&self.file, &bytes)) {
            warn!(%error, "the peers' addresses are not kept");
        }
    }

    /// They are of no use any more.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        self.folder.as_ref().map_or(Ok(()), |folder| {
            folder.remove_with_draft(&self.file)?;
            folder.remove_if_empty();
            Ok(())
        })
    }
}
