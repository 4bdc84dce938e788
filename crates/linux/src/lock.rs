//! A lock that one process holds at a time: flock(2) on a folder. It ends with the process, however that ends.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use airwatt_base::Span;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::process::Pid;

use crate::folder::Folder;
use crate::{Error, process};

/// Time between two attempts.
const PAUSE: Span = Span::from_millis(50);

/// The lock, held as long as this lives. The folder is removed with it if it is empty then.
#[derive(Debug)]
pub struct Lock {
    folder: Folder,
}

/// Why there is no lock.
#[derive(Debug)]
pub enum LockError {
    /// Another process holds it: its number and its command line, as far as they can be seen.
    Held(String),
    /// The folder cannot be used.
    Folder(Error),
}

impl Lock {
    /// Locks the folder `path`, which is created if there is none, and waits for other processes for at most `patience`.
    ///
    /// # Errors
    /// If another process holds it all the time, or the folder cannot be used.
    pub fn acquire(path: &Path, patience: Span) -> Result<Self, LockError> {
        let mut waited = Span::from_nanos(0);
        loop {
            let folder = Folder::private(path).map_err(LockError::Folder)?;
            match rustix::fs::flock(folder.fd(), FlockOperation::NonBlockingLockExclusive) {
                // The holder before may have removed the folder; then the lock is one on nothing.
                Ok(()) if is_current(&folder) => return Ok(Self { folder }),
                Ok(()) => continue,
                Err(Errno::WOULDBLOCK) if waited < patience => {
                    std::thread::sleep(Duration::from_nanos(PAUSE.as_nanos()));
                    waited = waited.saturating_add(PAUSE);
                }
                Err(Errno::WOULDBLOCK) => return Err(LockError::Held(holder(&folder))),
                Err(error) => {
                    return Err(LockError::Folder(Error::new(path.display().to_string(), error)));
                }
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.folder.remove_if_empty();
    }
}

/// Whether the path still leads to the folder that is open.
fn is_current(folder: &Folder) -> bool {
    let open = rustix::fs::fstat(folder.fd());
    let named = fs::symlink_metadata(folder.path());
    matches!((open, named), (Ok(open), Ok(named)) if open.st_ino == named.ino() && open.st_dev == named.dev())
}

/// The process that holds the lock, as the kernel lists it.
fn holder(folder: &Folder) -> String {
    let unknown = || "a process that cannot be seen from here".to_owned();
    let (Ok(open), Ok(locks)) = (rustix::fs::fstat(folder.fd()), fs::read_to_string("/proc/locks")) else {
        return unknown();
    };
    let (major, minor) = (rustix::fs::major(open.st_dev), rustix::fs::minor(open.st_dev));
    let file = format!("{major:02x}:{minor:02x}:{}", open.st_ino);
    locks.lines().find_map(|line| process_of(line, &file)).map_or_else(unknown, process::describe)
}

/// The process in a line of `/proc/locks`, as `7: FLOCK ADVISORY WRITE 4711 00:19:815 0 EOF`, if it holds a lock on `file`.
fn process_of(line: &str, file: &str) -> Option<Pid> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [_, "FLOCK", _, _, process, found, ..] if found == file => {
            Pid::from_raw(process.parse().ok().filter(|id| *id > 0)?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
