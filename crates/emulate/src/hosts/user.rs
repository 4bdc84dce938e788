//! The user as whom the commands of a scenario run.
//!
//! Namespaces and devices need root; most commands do not. A command of a scenario is given up to an ordinary user in the
//! last process before it, so that the processes that end it keep their privileges.

use std::ffi::CString;
use std::io;
use std::path::PathBuf;

use nix::unistd::{Gid, Uid, getgrouplist, setgroups, setresgid, setresuid};

use crate::error::{EmulateError, failed};

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) home: PathBuf,
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl User {
    /// The user of this name.
    ///
    /// # Errors
    /// [`EmulateError::Input`] if there is none.
    pub(crate) fn named(name: &str) -> Result<Self, EmulateError> {
        let unknown = || {
            EmulateError::Input(format!("--user: expected the name of a user of this machine, got {name:?}"))
        };
        let found =
            nix::unistd::User::from_name(name).map_err(|error| failed("the user database")(error.into()))?;
        let nix::unistd::User { name, uid, gid, dir: home, .. } = found.ok_or_else(unknown)?;
        let text = CString::new(name.as_str()).map_err(|_| unknown())?;
        let groups = getgrouplist(&text, gid).map_err(|error| failed("the group database")(error.into()))?;
        Ok(Self { name, home, uid, gid, groups })
    }

    /// Gives the calling process to this user, for good. Makes system calls only.
    pub(super) fn become_user(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setresgid(self.gid, self.gid, self.gid)?;
        setresuid(self.uid, self.uid, self.uid)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let root = User::named("root").unwrap();
        assert_eq!((root.uid, root.name.as_str()), (Uid::from_raw(0), "root"));
        for name in ["", "no-such-user", "a\0b"] {
            let error = User::named(name).unwrap_err();
            assert!(
                matches!(&error, EmulateError::Input(line) if line.starts_with("--user: expected")),
                "{error}"
            );
        }
    }
}
