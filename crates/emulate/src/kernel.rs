//! Requests to the kernel for which no library has a safe function.

#![expect(unsafe_code, reason = "system calls with structures of the kernel")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::libc;

/// Limits the window that a TCP socket advertises, in bytes.
pub(crate) fn clamp_window(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let length = size_of_val(&bytes) as libc::socklen_t;
    let value: *const u32 = &raw const bytes;
    // SAFETY: the value lives until the call returns, and has the given length.
    check(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            value.cast(),
            length,
        )
    })
}

/// Raises the calling thread above all others while the value lives; without the privilege nothing changes. Processes
/// and threads that it starts are not raised.
pub(crate) struct Priority {
    raised: bool,
}

impl Priority {
    /// The priority of the bridge, on which the timing of all packets depends.
    pub(crate) fn of_bridge() -> Self {
        Self { raised: schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 2).is_ok() }
    }

    /// The priority of the threads of flows, which should only wait for the network.
    pub(crate) fn of_traffic() -> Self {
        Self { raised: schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1).is_ok() }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if self.raised {
            let _ = schedule(libc::SCHED_OTHER, 0);
        }
    }
}

fn schedule(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread; the structure is only read.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}

fn check(returned: libc::c_int) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
