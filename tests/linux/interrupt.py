"""Kills a program at a chosen system call, by ptrace(2): each moment between two changes of the host can be tried."""

import ctypes
import os
import platform
import signal
import subprocess

PTRACE_TRACEME, PTRACE_SYSCALL, PTRACE_SETOPTIONS, PTRACE_GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
PTRACE_O_TRACESYSGOOD, PTRACE_O_TRACEEXEC, PTRACE_O_EXITKILL = 1, 1 << 4, 1 << 20
ENTRY = 1
# What changes files, mounts, routes or programs in the kernel, and writes lines: by name, as the numbers differ.
CALLS = {
    "x86_64": {
        "write": 1, "sendto": 44, "fsync": 74, "mkdir": 83, "rmdir": 84, "unlink": 87, "chmod": 90, "fchmod": 91,
        "mount": 165, "umount2": 166, "openat": 257, "mkdirat": 258, "unlinkat": 263, "renameat": 264, "bpf": 321,
    },
    "aarch64": {
        "mkdirat": 34, "unlinkat": 35, "renameat": 38, "umount2": 39, "mount": 40, "fchmod": 52, "openat": 56,
        "write": 64, "fsync": 82, "sendto": 206, "bpf": 280,
    },
}  # fmt: skip

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class SyscallInfo(ctypes.Structure):
    """`struct ptrace_syscall_info`, as far as it is read here."""

    _fields_ = [
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    ]


def ptrace(request: int, process: int, address: int = 0, data=None) -> int:
    done = libc.ptrace(request, process, address, data)
    if done < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return done


def run(command: list[str], kill_before: int | None) -> tuple[int, int]:
    """Runs a command and kills it before its system call of this number among `CALLS`, counted from 0.

    Returns how many of them it came to, and its exit status; a negative one is the signal that ended it.
    """
    numbers = set(CALLS[platform.machine()].values())
    child = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: libc.ptrace(PTRACE_TRACEME, 0, None, None),
    )
    seen, status = 0, os.waitpid(child.pid, 0)[1]
    ptrace(PTRACE_SETOPTIONS, child.pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
    info = SyscallInfo()
    deliver = 0
    while True:
        ptrace(PTRACE_SYSCALL, child.pid, 0, deliver)
        status = os.waitpid(child.pid, 0)[1]
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            child.returncode = os.waitstatus_to_exitcode(status)
            return seen, child.returncode
        # With PTRACE_O_TRACESYSGOOD a stop at a system call is SIGTRAP with the highest bit set.
        stopped = os.WSTOPSIG(status)
        # Another program was executed: an event, no signal.
        deliver = 0 if stopped & ~0x80 == signal.SIGTRAP else stopped
        if stopped != signal.SIGTRAP | 0x80:
            continue
        ptrace(PTRACE_GET_SYSCALL_INFO, child.pid, ctypes.sizeof(info), ctypes.byref(info))
        if info.op == ENTRY and info.number in numbers:
            if seen == kill_before:
                child.kill()
                return seen, child.wait()
            seen += 1
