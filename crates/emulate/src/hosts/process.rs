//! A process in a host that ends with the emulation, like all its descendants.
//!
//! Two processes of a few lines each stand between the emulator and the command:
//! ```text
//! emulator -> keeper -> init of a PID namespace -> command -> descendants
//! ```
//! The keeper dies with the emulator, for whatever reason that ends; the init dies with the keeper; and with the init
//! of a PID namespace the kernel kills everything in it. A signal from the terminal affects the command alone, because
//! the other two ignore it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use airwatt_linux::user::User;
use nix::libc;

/// Starts `command` in the namespaces of the calling thread, as `user` or else as the user of this process. The thread
/// must live as long as the command is to live.
#[expect(
    unsafe_code,
    reason = "what happens between fork and exec is outside of the library's safe interface"
)]
pub(crate) fn start(command: &mut Command, user: Option<User>) -> io::Result<Child> {
    if let Some(user) = &user {
        command.env("HOME", user.home()).env("USER", user.name()).env("LOGNAME", user.name());
    }
    let prepare = move || {
        become_command()?;
        user.as_ref().map_or(Ok(()), User::become_user)
    };
    // SAFETY: `prepare` only makes system calls: no allocation and no lock, as required between fork and exec.
    unsafe { command.pre_exec(prepare) }.spawn()
}

/// Turns the forked process into the keeper, and returns in the command.
fn become_command() -> io::Result<()> {
    die_with_parent()?;
    check(raw::unshare_pids_and_mounts())?;
    match check(raw::fork())? {
        0 => {}
        init => raw::wait_and_leave(init),
    }
    die_with_parent()?;
    check(raw::mount_proc())?;
    match check(raw::fork())? {
        0 => Ok(()),
        command => raw::wait_and_leave(command),
    }
}

fn die_with_parent() -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    Ok(())
}

fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

#[expect(unsafe_code, reason = "system calls between fork and exec")]
mod raw {
    use nix::libc;

    pub(super) fn unshare_pids_and_mounts() -> libc::c_int {
        // SAFETY: no memory is involved.
        unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS) }
    }

    pub(super) fn fork() -> libc::c_int {
        // SAFETY: the process is a forked one with a single thread, and both sides only make system calls.
        unsafe { libc::fork() }
    }

    /// Mounts a `/proc` that shows the processes of the PID namespace.
    pub(super) fn mount_proc() -> libc::c_int {
        // SAFETY: the strings are constants with terminators.
        unsafe { libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, std::ptr::null()) }
    }

    /// Waits for `child`, and exits with its status in the convention of shells.
    pub(super) fn wait_and_leave(child: libc::pid_t) -> ! {
        let mut status = 0;
        // SAFETY: `status` outlives the calls. Files are closed because this process reads none of them and others wait
        // for end-of-file; standard input, output and error stay open.
        unsafe {
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP] {
                libc::signal(signal, libc::SIG_IGN);
            }
            libc::close_range(3, libc::c_uint::MAX, 0);
            // The init also reaps orphans of the command.
            loop {
                let gone = libc::waitpid(-1, &raw mut status, 0);
                if gone == child || gone < 0 && *libc::__errno_location() != libc::EINTR {
                    break;
                }
            }
            let code = if libc::WIFSIGNALED(status) {
                128 + libc::WTERMSIG(status)
            } else {
                libc::WEXITSTATUS(status)
            };
            libc::_exit(code)
        }
    }
}
