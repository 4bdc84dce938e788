"""Running `airwattd cc`, and what it may change of this host."""

import contextlib
import re
import subprocess
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, exclusive

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
STATE = Path("/run/airwatt/cc.jsonl")
PINS = Path("/sys/fs/bpf")


def cc(*arguments, check=True, within=()) -> subprocess.CompletedProcess[str]:
    return call(*within, DAEMON, "cc", *arguments, check=check)


def host() -> dict:
    """What `cc` may change of this host."""
    mounts = [line.split(" - ")[1] for line in Path("/proc/self/mountinfo").read_text().splitlines() if "/bpf" in line]
    routes = call("ip", "-d", "route", "show", "table", "all").stdout.splitlines()
    return {
        "available": [name for name in AVAILABLE.read_text().split() if name.startswith("ackloss")],
        "mounts": mounts,
        "default": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(),
        "state": STATE.exists(),
        # The rest of a lifetime that a router has announced is another one at each look.
        "routes": sorted(re.sub(r" expires \d+sec", "", route) for route in routes),
    }


def is_one_line(done, status, *words) -> bool:
    """Whether a command failed with this status and one line of error that has the words."""
    lines = done.stderr.splitlines()
    return (
        done.returncode == status
        and done.stdout == ""
        and len(lines) == 1
        and lines[0].startswith("airwattd: ")
        and all(word in lines[0] for word in words)
    )


@pytest.fixture
def kernel():
    """One test at a time, in a kernel that has none of our congestion controls before and after."""
    with exclusive():
        # A daemon that was killed in a test before may have left the folder.
        with contextlib.suppress(OSError):
            STATE.parent.rmdir()
        before = host()
        yield
        cc("unload", "--force")
        # What the kernel frees only after the last reader of a list has gone takes some milliseconds.
        differences: dict = {}

        def is_as_before() -> bool:
            differences.clear()
            differences.update({name: (before[name], now) for name, now in host().items() if now != before[name]})
            return not differences

        await_true(is_as_before, 2.0, differences, interval=0.05)
