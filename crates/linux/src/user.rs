//! Users of this machine, and giving a process up to one of them.
//!
//! A process that was started as root opens what only root may open and then becomes an ordinary user for good: its
//! user and group IDs change in all threads, its supplementary groups are those of the user, and the kernel clears its
//! capabilities (capabilities(7), "Effect of user ID changes on capabilities").

use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid, getgrouplist, setgroups, setresgid, setresuid};

use crate::Error;

/// The user ID that the kernel itself calls `nobody` (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: String,
    home: PathBuf,
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl User {
    /// Returns the user of this name; `None` if there is none.
    ///
    /// # Errors
    /// If the user or group database cannot be read.
    pub fn named(name: &str) -> Result<Option<Self>, Error> {
        let Ok(text) = CString::new(name) else { return Ok(None) };
        let found = nix::unistd::User::from_name(name).map_err(Error::of("the user database"))?;
        let Some(nix::unistd::User { name, uid, gid, dir: home, .. }) = found else { return Ok(None) };
        let groups = getgrouplist(&text, gid).map_err(Error::of("the group database"))?;
        Ok(Some(Self { name, home, uid, gid, groups }))
    }

    /// The user `nobody`, who owns no file. The user database need not list it.
    pub fn nobody() -> Self {
        Self::named("nobody").ok().flatten().unwrap_or_else(|| Self {
            name: "nobody".to_owned(),
            home: "/".into(),
            uid: Uid::from_raw(NOBODY),
            gid: Gid::from_raw(NOBODY),
            groups: Vec::new(),
        })
    }

    /// The user's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user's home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Whether this is root, whose processes have all capabilities.
    pub fn is_root(&self) -> bool {
        self.uid.is_root()
    }

    /// Gives this process to the user, for good. It makes system calls only, so it may be called between fork and exec.
    ///
    /// The kernel clears the parent-death signal of the process (prctl(2)); set it afterwards if it is needed.
    ///
    /// # Errors
    /// If the process may not do so. It must not go on then, because a part may have changed.
    pub fn become_user(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setresgid(self.gid, self.gid, self.gid)?;
        setresuid(self.uid, self.uid, self.uid)?;
        Ok(())
    }
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[cfg(test)]
mod tests;
