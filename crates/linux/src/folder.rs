//! A folder for state that only its owner may read: mode 0700, its files 0600, whatever the umask.
//!
//! Files are named relative to the opened folder and never reached through a symbolic link. A file is written beside the old one, flushed to
//! the disk and renamed over it, so that after a crash there is the old one or the new one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::Error;

/// Larger state files are not ours.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Attempts to open a folder that other processes create and remove meanwhile.
const OPEN_ATTEMPTS: u32 = 100;

/// Returns the name under which a file is written before it takes its place. A process that is killed in between leaves it.
pub fn draft_of(name: &str) -> String {
    format!("{name}.new")
}

/// A folder that nobody but its owner can write to.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder; `None` if there is none.
    ///
    /// # Errors
    /// If it is a symbolic link or no folder, or if somebody else may write to it.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let what = path.display().to_string();
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(Error::other(what, "expected a folder, got a symbolic link or a file"));
            }
            Err(error) => return Err(Error::new(what, error)),
        };
        let found = rustix::fs::fstat(&fd).map_err(Error::of(&what))?;
        let (owner, mode) = (found.st_uid, found.st_mode & 0o7777);
        let expected = rustix::process::geteuid().as_raw();
        if owner != expected || mode & 0o022 != 0 {
            let found = format!(
                "expected a folder of user {expected} that only its owner can write to, got one of user {owner} with mode {mode:04o}; hint: \
                 look at what is in it, then chown {expected} and chmod 0700"
            );
            return Err(Error::other(what, &found));
        }
        Ok(Some(Self { fd, path: path.to_owned() }))
    }

    /// Opens the folder, after creating it with mode 0700 if there is none.
    ///
    /// # Errors
    /// As [`Folder::open`], or if it cannot be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let what = path.display().to_string();
        for _ in 0..OPEN_ATTEMPTS {
            if let Some(folder) = Self::open(path)? {
                return Ok(folder);
            }
            match rustix::fs::mkdir(path, Mode::RWXU) {
                // The umask may have taken bits away.
                Ok(()) => rustix::fs::chmod(path, Mode::RWXU).map_err(Error::of(&what))?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(Error::new(what, error)),
            }
        }
        Err(Error::other(what, "it disappears again and again"))
    }

    /// Opens the folder as [`Folder::create`] does, and gives it mode 0700 if it has another. One that has it may be on a read-only file system.
    ///
    /// # Errors
    /// As [`Folder::create`].
    pub fn private(path: &Path) -> Result<Self, Error> {
        let folder = Self::create(path)?;
        let what = path.display().to_string();
        let found = rustix::fs::fstat(&folder.fd).map_err(Error::of(&what))?;
        if found.st_mode & 0o7777 != Mode::RWXU.as_raw_mode() {
            rustix::fs::fchmod(&folder.fd, Mode::RWXU).map_err(Error::of(&what))?;
        }
        Ok(folder)
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    fn describe(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Returns the bytes of a file; `None` if there is none.
    ///
    /// # Errors
    /// If it is no regular file, or cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let what = self.describe(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Error::other(what, "expected a file, got a symbolic link")),
            Err(error) => return Err(Error::new(what, error)),
        };
        let file = File::from(fd);
        let found = file.metadata().map_err(Error::of(&what))?;
        if !found.is_file() || found.len() > FILE_BYTES_MAX {
            return Err(Error::other(what, "expected a regular file of at most 16 MiB"));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(Error::of(&what))?;
        Ok(Some(bytes))
    }

    /// Writes a file in place of an older one, with mode 0600, and returns when it is on the disk.
    ///
    /// # Errors
    /// If that fails. The older file is unharmed then.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let what = self.describe(name);
        let draft = draft_of(name);
        // One that a killed process left, or that somebody planted. A symbolic link goes itself, not what it leads to.
        self.remove(&draft)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd =
            rustix::fs::openat(&self.fd, &draft, flags, Mode::RUSR | Mode::WUSR).map_err(Error::of(&what))?;
        let mut file = File::from(fd);
        let written: io::Result<()> = (|| {
            rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            rustix::fs::renameat(&self.fd, &draft, &self.fd, name)?;
            Ok(rustix::fs::fsync(&self.fd)?)
        })();
        written.map_err(|error| {
            let _ = self.remove(&draft);
            Error::new(what, error)
        })
    }

    /// Removes a file and its draft.
    ///
    /// # Errors
    /// As [`Folder::remove`].
    pub fn remove_with_draft(&self, name: &str) -> Result<(), Error> {
        self.remove(name)?;
        self.remove(&draft_of(name))
    }

    /// Removes a file, or the symbolic link of this name, if there is one.
    ///
    /// # Errors
    /// If that fails.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // The kernel says so before it looks for the file.
            Err(Errno::ROFS) if !self.has(name) => Ok(()),
            Err(error) => Err(Error::new(self.describe(name), error)),
        }
    }

    /// Whether there is a file or a symbolic link of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Removes the folder if it is empty.
    pub fn remove_if_empty(&self) {
        let _ = rustix::fs::rmdir(&self.path);
    }
}

#[cfg(test)]
mod tests;
