//! The network namespaces of this host: which there are, and doing something within one.
//!
//! A namespace is known by the inode of its file in `/proc/PROCESS/ns`. Found are those that a process is in and those that
//! ip-netns(8) has given a name. Left out: namespaces that only an open file or a socket keeps alive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Error;

/// The network namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";
/// Where ip-netns(8) keeps names.
const NAMED: &str = "/run/netns";

/// Returns the inode of this thread's network namespace.
///
/// # Errors
/// If `/proc` does not show it.
pub fn current() -> Result<u64, Error> {
    fs::metadata(OWN).map(|file| file.ino()).map_err(Error::of(OWN))
}

/// Returns the name that ip-netns(8) has given to the namespace with this inode, or else how the kernel writes it.
pub fn name(inode: u64) -> String {
    let entries = fs::read_dir(NAMED).into_iter().flatten().flatten();
    let named = entries
        .map(|entry| entry.path())
        .find(|path| is_namespace(path) && fs::metadata(path).is_ok_and(|file| file.ino() == inode));
    let name = named.as_deref().and_then(Path::file_name);
    name.map_or_else(|| format!("net:[{inode}]"), |name| name.to_string_lossy().into_owned())
}

/// Returns the network namespaces that can be entered, by inode, with a path of each.
pub fn reachable() -> BTreeMap<u64, PathBuf> {
    let files_of = |folder: &str| {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let of_processes = files_of("/proc")
        .into_iter()
        .filter(|path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
        })
        .map(|path| path.join("ns/net"));
    let mut found = BTreeMap::new();
    for path in files_of(NAMED).into_iter().chain(of_processes) {
        // A name whose namespace was never mounted is a plain file, with an inode of another file system.
        if let Ok(file) = fs::metadata(&path)
            && is_namespace(&path)
        {
            found.entry(file.ino()).or_insert(path);
        }
    }
    found
}

fn is_namespace(path: &Path) -> bool {
    /// NSFS_MAGIC, statfs(2).
    const NSFS: u64 = 0x6e73_6673;
    rustix::fs::statfs(path).is_ok_and(|fs| fs.f_type as u64 == NSFS)
}

/// Runs `job` on a thread of its own within the network namespace at `path`, and returns what it returns.
///
/// # Errors
/// If the namespace cannot be entered.
///
/// # Panics
/// If the job does.
pub fn within<T: Send>(path: &Path, job: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let what = path.display().to_string();
    let namespace = File::open(path).map_err(Error::of(&what))?;
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(job())
        });
        match thread.join() {
            Ok(done) => done.map_err(|error: rustix::io::Errno| Error::new(what, error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Runs `job` on a thread of its own within a new network namespace, which ends with what the job leaves open there.
///
/// # Errors
/// If none can be created, which takes CAP_SYS_ADMIN.
///
/// # Panics
/// If the job does.
pub fn isolated<T: Send>(job: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)
                .map_err(Error::of("a network namespace"))?;
            Ok(job())
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs a test in a network namespace of its own; without the privilege for that it does nothing.
    pub(crate) fn isolated(test: impl FnOnce() + Send) {
        if let Err(error) = super::isolated(test) {
            assert!(error.to_string().contains("not permitted"), "{error}");
        }
    }

    #[test]
    fn an_isolated_job_has_a_namespace_of_its_own() {
        let own = current().unwrap();
        isolated(|| assert_ne!(current().unwrap(), own));
        assert_eq!(current().unwrap(), own);
    }
}
