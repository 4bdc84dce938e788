//! Signals as a source of an event loop (signalfd(2)) instead of handlers.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::Error;

/// A signal that daemons answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: restore the host and end.
    Terminate,
    /// SIGHUP: read the configuration again.
    Reload,
}

/// The signals of this process.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGHUP. Call it in the first thread before others start, which inherit the mask;
    /// programs that the standard library starts do not.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn take() -> Result<Self, Error> {
        let set = set();
        set.thread_block().map_err(Error::of("signals"))?;
        SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map(Self)
            .map_err(Error::of("signals"))
    }

    /// Returns which signal has arrived since the last call, if there was one. Of several, an end comes before anything else.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn read(&self) -> Result<Option<Signal>, Error> {
        let mut found = None;
        while let Some(info) = self.0.read_signal().map_err(Error::of("signals"))? {
            let is_end = info.ssi_signo as i32 != nix::libc::SIGHUP || found == Some(Signal::Terminate);
            found = Some(if is_end { Signal::Terminate } else { Signal::Reload });
        }
        Ok(found)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Has this thread, and those that it starts, ignore the signals that a terminal or a service manager sends.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn block() -> Result<(), Error> {
    set().thread_block().map_err(Error::of("signals"))
}

/// Has a write beyond the limit of a file's size (setrlimit(2), `RLIMIT_FSIZE`) fail with EFBIG, as one to a full disk fails with
/// ENOSPC. Without it the process ends by SIGXFSZ. Call it in the first thread before others start; programs that the standard
/// library starts do not inherit it.
///
/// # Errors
/// If the kernel refuses.
pub fn survive_file_limit() -> Result<(), Error> {
    let set: SigSet = [nix::sys::signal::Signal::SIGXFSZ].into_iter().collect();
    set.thread_block().map_err(Error::of("signals"))
}

fn set() -> SigSet {
    use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
    [SIGTERM, SIGINT, SIGHUP].into_iter().collect()
}
