//! The system calls that a daemon of this project needs once it is set up (seccomp(2)): everything else fails with EPERM.
//!
//! The units of systemd have the group `@system-service` from the start of the process on. This list is a part of that group, which a
//! test checks with systemd's own table: without the calls of [`capability`](crate::capability) that only the start needs, and without
//! those that start programs or enter namespaces. It is installed in the process, so that a daemon that was started by hand has it too.
//!
//! A call that is not listed fails, and does not end the process: a C library that tries a newer call first falls back, and
//! connections that pass through the daemon survive.

use crate::Error;

macro_rules! numbers {
    ($($name:ident)*) => { [$((stringify!($name), nix::libc::$name)),*] };
}

/// The calls by name and number.
#[rustfmt::skip]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
const COMMON: [(&str, i64); 140] = numbers![
    SYS_accept SYS_accept4 SYS_bind SYS_brk SYS_capget SYS_chdir SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_clone
    SYS_clone3 SYS_close SYS_close_range SYS_connect SYS_copy_file_range SYS_dup SYS_dup3 SYS_epoll_create1 SYS_epoll_ctl
    SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2 SYS_exit SYS_exit_group SYS_faccessat SYS_faccessat2 SYS_fallocate SYS_fchmod
    SYS_fchmodat SYS_fcntl SYS_fdatasync SYS_flock SYS_fstat SYS_fstatfs SYS_fsync SYS_ftruncate SYS_futex SYS_get_robust_list
    SYS_getcpu SYS_getcwd SYS_getdents64 SYS_getegid SYS_geteuid SYS_getgid SYS_getgroups SYS_getpeername SYS_getpgid SYS_getpid
    SYS_getppid SYS_getpriority SYS_getrandom SYS_getresgid SYS_getresuid SYS_getrusage SYS_getsid SYS_getsockname SYS_getsockopt
    SYS_gettid SYS_gettimeofday SYS_getuid SYS_ioctl SYS_kill SYS_linkat SYS_listen SYS_lseek SYS_madvise SYS_membarrier
    SYS_memfd_create SYS_mkdirat SYS_mlock SYS_mmap SYS_mprotect SYS_mremap SYS_munlock SYS_munmap SYS_nanosleep SYS_newfstatat
    SYS_openat SYS_openat2 SYS_pidfd_open SYS_pidfd_send_signal SYS_pipe2 SYS_ppoll SYS_prctl SYS_pread64 SYS_preadv SYS_prlimit64
    SYS_pselect6 SYS_pwrite64 SYS_pwritev SYS_read SYS_readlinkat SYS_readv SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_renameat2
    SYS_restart_syscall SYS_rseq SYS_rt_sigaction SYS_rt_sigpending SYS_rt_sigprocmask SYS_rt_sigqueueinfo SYS_rt_sigreturn
    SYS_rt_sigsuspend SYS_rt_sigtimedwait SYS_sched_getaffinity SYS_sched_getparam SYS_sched_getscheduler SYS_sched_yield SYS_sendfile
    SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_set_robust_list SYS_set_tid_address SYS_setsid SYS_setsockopt SYS_shutdown SYS_sigaltstack
    SYS_signalfd4 SYS_socket SYS_socketpair SYS_splice SYS_statfs SYS_statx SYS_symlinkat SYS_sysinfo SYS_tgkill SYS_timerfd_create
    SYS_timerfd_gettime SYS_timerfd_settime SYS_umask SYS_uname SYS_unlinkat SYS_utimensat SYS_wait4 SYS_waitid SYS_write SYS_writev
];

/// Older forms of the same calls, which this architecture has beside them.
#[rustfmt::skip]
#[cfg(target_arch = "x86_64")]
const OLDER: [(&str, i64); 28] = numbers![
    SYS_access SYS_arch_prctl SYS_chmod SYS_creat SYS_dup2 SYS_epoll_create SYS_epoll_wait SYS_eventfd SYS_getdents SYS_getrlimit
    SYS_link SYS_lstat SYS_mkdir SYS_open SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_rename SYS_renameat SYS_rmdir SYS_select
    SYS_setrlimit SYS_signalfd SYS_stat SYS_symlink SYS_time SYS_unlink
];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const OLDER: [(&str, i64); 0] = [];

/// Forbids this thread, and those that it starts afterwards, every other system call, for good; with `maps` the calls of BPF are
/// permitted too. On architectures that the library does not know, nothing changes, and the unit's filter is the only one.
///
/// # Errors
/// If the kernel has no seccomp filters.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub fn keep_only_needed(maps: bool) -> Result<(), Error> {
    use rustix::io::Errno;
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let failed = |error: &dyn std::fmt::Display| Error::other("seccomp", &error.to_string());
    let bpf = numbers![SYS_bpf];
    let calls = COMMON.iter().chain(&OLDER).chain(bpf.iter().filter(|_| maps));
    // Without conditions on arguments.
    let rules = calls.map(|(_, number)| (*number, Vec::new())).collect();
    let refused = SeccompAction::Errno(Errno::PERM.raw_os_error().unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().map_err(|error| failed(&error))?;
    let filter =
        SeccompFilter::new(rules, refused, SeccompAction::Allow, arch).map_err(|error| failed(&error))?;
    let program = BpfProgram::try_from(filter).map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| failed(&error))
}

/// Does nothing: the list of system calls is that of other processors.
///
/// # Errors
/// None.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub fn keep_only_needed(_maps: bool) -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests;
