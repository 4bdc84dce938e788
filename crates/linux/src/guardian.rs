//! A guardian: a second process that restores the host if a daemon dies without having done so.
//!
//! A daemon that ends by SIGTERM undoes its changes itself. One that is killed (SIGKILL, out of memory) or crashes cannot,
//! so the guardian sleeps on a descriptor of the daemon's process (pidfd_open(2)), which is readable as soon as the
//! daemon has ended, however it ended. Then it undoes what the undo log ([`crate::undo`]) still lists. The descriptor refers
//! to the process and not to its number, so a number that is used again cannot mislead it.
//!
//! The guardian is this program, started with arguments for which it calls [`watch`]. It ignores SIGTERM, SIGINT and
//! SIGHUP, because a service manager sends these to every process of a service. Left out: a SIGKILL to both at once, after
//! which the next start of the daemon, or the service manager, finds the log.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use crate::{Error, signals};

/// What the guardian writes when it is ready.
const READY: &[u8] = b"ready\n";

/// The guardian of this process.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    pidfd: OwnedFd,
}

impl Guardian {
    /// Starts this program with `arguments` as the guardian of this process, and returns when it watches. Call it before
    /// the first change, and before privileges that an undo needs are given up.
    ///
    /// # Errors
    /// If the program cannot be started or ends at once.
    pub fn start(arguments: &[&str]) -> Result<Self, Error> {
        // The link finds the program also after an upgrade has replaced its file; lists of processes have the name of this one.
        let name = std::env::args_os().next().unwrap_or_default();
        Self::start_program(Command::new("/proc/self/exe").arg0(name).args(arguments))
    }

    /// As [`Guardian::start`], with a program.
    ///
    /// # Errors
    /// As [`Guardian::start`].
    pub fn start_program(program: &mut Command) -> Result<Self, Error> {
        const WHAT: &str = "the guardian";
        let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(Error::of(WHAT))?;
        let mut child =
            program.stdin(Stdio::from(own)).stdout(Stdio::piped()).spawn().map_err(Error::of(WHAT))?;
        let mut said = [0; READY.len()];
        let heard = child.stdout.take().expect("it is a pipe").read_exact(&mut said);
        if heard.is_err() || said != *READY {
            let _ = child.kill();
            let ended = child.wait().map_err(Error::of(WHAT))?;
            return Err(Error::other(WHAT, &format!("it did not start: {ended}")));
        }
        let pid = rustix::process::Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(Error::of(WHAT))?;
        Ok(Self { child, pidfd })
    }

    /// The error of a daemon whose guardian has ended before it: nobody would restore the host.
    pub fn ended() -> Error {
        Error::other("the guardian", "it has ended; so does this")
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

/// Readable when the guardian has ended. A daemon that goes on without one should say so, or end.
impl AsFd for Guardian {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// In the guardian's process: returns when the daemon has ended.
///
/// # Errors
/// If this process was not started by [`Guardian::start`].
pub fn watch() -> Result<(), Error> {
    const WHAT: &str = "the guardian";
    signals::block()?;
    // In a session of its own no terminal sends it signals. It is an error for the leader of a group, who has one.
    let _ = rustix::process::setsid();
    let daemon = io::stdin();
    let mut watched = [PollFd::new(&daemon, PollFlags::IN)];
    let mut out = io::stdout();
    match out.write_all(READY).and_then(|()| out.flush()) {
        // The daemon has been killed already, which the descriptor of its process says.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.map_err(Error::of(WHAT))?,
    }
    loop {
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::new(WHAT, error)),
            Ok(_) if watched[0].revents().contains(PollFlags::NVAL) => {
                return Err(Error::other(WHAT, "standard input is closed"));
            }
            Ok(_) => return Ok(()),
        }
    }
}
