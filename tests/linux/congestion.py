"""Running `airwattd cc`, and what it may change of this host."""

import subprocess
from pathlib import Path

import pytest
from lab import DAEMON, call, exclusive

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
STATE = Path("/run/airwatt/cc.jsonl")
PINS = Path("/sys/fs/bpf")


def cc(*arguments, check=True, within=()) -> subprocess.CompletedProcess[str]:
    return call(*within, DAEMON, "cc", *arguments, check=check)


def host() -> tuple:
    """What `cc` may change of this host."""
    mounts = [line.split(" - ")[1] for line in Path("/proc/self/mountinfo").read_text().splitlines() if "/bpf" in line]
    routes = call("ip", "-d", "route", "show", "table", "all").stdout + call("ip", "-6", "route", "show").stdout
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text()
    return (
        sorted(AVAILABLE.read_text().split()),
        mounts,
        default,
        Path("/run/airwatt").exists(),
        len(routes.splitlines()),
    )


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
        before = host()
        yield
        cc("unload", "--force")
        assert host() == before
