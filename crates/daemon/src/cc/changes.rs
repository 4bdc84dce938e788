//! What was changed on the host, written down before it is done, so that it can be undone by a later process.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::route::Identity;

/// One change, and what was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(super) enum Change {
    /// A route got a congestion control.
    Route {
        /// The network namespace, by its inode.
        namespace: u64,
        /// Which route.
        route: Identity,
        /// The congestion control that it had, if any.
        before: Option<String>,
    },
    /// Connections of a network namespace got another congestion control.
    Default {
        /// The network namespace, by its inode.
        namespace: u64,
        /// The one they had.
        before: String,
    },
    /// The BPF file system was mounted.
    Mount,
}

impl Change {
    pub(super) fn namespace(&self) -> Option<u64> {
        match self {
            Self::Route { namespace, .. } | Self::Default { namespace, .. } => Some(*namespace),
            Self::Mount => None,
        }
    }

    /// Whether both are about the same thing: then the older one knows what was there first.
    fn same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Route { namespace: a, route: x, .. }, Self::Route { namespace: b, route: y, .. }) => {
                a == b && x == y
            }
            (Self::Default { namespace: a, .. }, Self::Default { namespace: b, .. }) => a == b,
            (Self::Mount, Self::Mount) => true,
            _ => false,
        }
    }
}

/// All changes, oldest first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    schema: u32,
    version: String,
    pub(super) changes: Vec<Change>,
}

impl Changes {
    /// Those of a file; none if it does not exist.
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::none()),
            Err(error) => return Err(Failure::of_io(&file.display().to_string(), &error)),
        };
        let read: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::Input(format!("{}: {error}: not written by this program", file.display()))
        })?;
        if read.schema != 1 {
            return Err(Failure::Input(format!(
                "{}: schema = {}: allowed is 1",
                file.display(),
                read.schema
            )));
        }
        Ok(read)
    }

    fn none() -> Self {
        Self { schema: 1, version: env!("CARGO_PKG_VERSION").to_owned(), changes: Vec::new() }
    }

    /// Adds one and writes them all, unless what was there before is known already.
    pub(super) fn remember(&mut self, change: Change, file: &Path) -> Result<(), Failure> {
        if self.changes.iter().any(|known| known.same_place(&change)) {
            return Ok(());
        }
        self.changes.push(change);
        self.write(file)
    }

    /// Writes them, or removes the file if there are none.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        let of_file = |error| Failure::of_io(&file.display().to_string(), &error);
        if self.changes.is_empty() {
            return match fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(of_file(error)),
                _ => {
                    // The folder too if nothing else is in it.
                    let _ = file.parent().map(fs::remove_dir);
                    Ok(())
                }
            };
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(of_file)?;
        }
        // A crash leaves the old file or the new one.
        let draft = file.with_extension("new");
        let text = serde_json::to_string_pretty(self).expect("strings and numbers") + "\n";
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, file)).map_err(of_file)
    }
}

#[cfg(test)]
mod tests;
