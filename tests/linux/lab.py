"""Two hosts as network namespaces with a slow link between them, on which acknowledgements are lost on the return
path."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DAEMON = ROOT / "target/release/airwattd"
ADDRESS = {"sender": "10.99.0.1", "receiver": "10.99.0.2"}


def missing() -> str | None:
    """Returns the reason why kernels cannot be tested here; None if they can."""
    if os.geteuid() != 0:
        return "root is needed for network namespaces and BPF"
    if not DAEMON.exists():
        return f"{DAEMON} is not built: make build"
    for program in ("ip", "tc", "ss", "ethtool", "clang"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel has no BTF"
    return None


def check_exposure(unit: Path) -> None:
    """Asks systemd how much a unit is exposed: 2.5 of 10 at most."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", unit]
    done = call(*words, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]


def call(*command: object, check: bool = True, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a program and returns its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
    return done


def await_true(condition: Callable[[], Any], seconds: float = 10.0, what: object = "", interval: float = 0.01) -> Any:
    """Returns the first true value of a condition, or fails with `what` after some seconds without one.

    A condition that starts a program is worth a longer `interval` between two looks.
    """
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, what
        time.sleep(interval)
    return value


def may_suspend() -> bool:
    """Whether a test may suspend this kernel, which is so in a user-mode kernel only: see `in-user-mode-kernel`."""
    return "AIRWATT_MAY_SUSPEND" in os.environ and Path("/sys/class/rtc/rtc0/wakealarm").exists()


def suspend(seconds: int) -> float:
    """Suspends this kernel to memory until its clock wakes it up.

    Returns the time in seconds for which CLOCK_MONOTONIC stood still.
    """

    def time_suspended() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()

    before = time_suspended()
    Path("/sys/class/rtc/rtc0/wakealarm").write_text(f"+{seconds}")
    Path("/sys/power/state").write_text("mem")
    return time_suspended() - before


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Holds the kernel's congestion controls for one process at a time, and leaves none of ours."""
    with Path(tempfile.gettempdir(), "airwatt-cc.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if json.loads(call(DAEMON, "cc", "status", "--json").stdout)["loaded"]:
            raise RuntimeError("ackloss is loaded on this host: airwattd cc unload")
        try:
            yield
        finally:
            call(DAEMON, "cc", "unload", "--force")


@dataclass
class Transfer:
    """Statistics of the sender for its own connection."""

    congestion: str
    seconds: float
    bytes_acked: int
    round_trips: float
    cwnd_mean: float
    cwnd_min: int
    retransmitted: int
    # Its entry of `airwattd cc status`; empty for the kernel's own congestion controls.
    counters: dict[str, int]
    acks_dropped: int

    @property
    def goodput_bps(self) -> float:
        return self.bytes_acked * 8 / self.seconds


class Lab:
    """`with Lab() as lab:` creates the laboratory and removes it at the end."""

    def __init__(self, rate: str = "50mbit", queue_bytes: int = 400_000, offloads: bool = False):
        self.names = {role: f"airwatt-{role}-{os.getpid()}" for role in ADDRESS}
        self.rate, self.queue_bytes, self.offloads = rate, queue_bytes, offloads
        self.build = Path(tempfile.gettempdir(), f"airwatt-lab-{os.getpid()}")

    def __enter__(self) -> "Lab":
        self.build.mkdir(exist_ok=True)
        sender, receiver = self.names["sender"], self.names["receiver"]
        for name in (sender, receiver):
            call("ip", "netns", "add", name)
        call("ip", "-n", sender, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", receiver)
        for role, name in self.names.items():
            call("ip", "-n", name, "address", "add", f"{ADDRESS[role]}/24", "dev", "veth0")
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("ip", "-n", name, "link", "set", "veth0", "up")
            if not self.offloads:
                self.run(role, "ethtool", "-K", "veth0", "gro", "off", "gso", "off", "tso", "off")
        if self.rate:
            call(
                "tc",
                "-n",
                sender,
                "qdisc",
                "add",
                "dev",
                "veth0",
                "root",
                "tbf",
                "rate",
                self.rate,
                "burst",
                3000,
                "limit",
                self.queue_bytes,
            )
        call("tc", "-n", sender, "qdisc", "add", "dev", "veth0", "clsact")
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names.values():
            call("ip", "netns", "delete", name, check=False)
        shutil.rmtree(self.build, ignore_errors=True)

    def inside(self, role: str, *command: object) -> list[str]:
        """Returns a command line that runs in that host, with the host's file systems."""
        return ["nsenter", f"--net=/run/netns/{self.names[role]}", *map(str, command)]

    def run(self, role: str, *command: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        return call(*self.inside(role, *command), check=check)

    def lose_acks(self, per_mille: int) -> None:
        """Drops this share of the pure acknowledgements on their way to the sender."""
        sender = self.names["sender"]
        call("tc", "-n", sender, "filter", "delete", "dev", "veth0", "ingress", check=False)
        if per_mille:
            dropper = self.build / f"lose-{per_mille}.o"
            call(
                "clang",
                "-O2",
                "-target",
                "bpf",
                f"-DPER_MILLE={per_mille}",
                "-c",
                HERE / "lose_acks.bpf.c",
                "-o",
                dropper,
            )
            call(
                "tc", "-n", sender, "filter", "add", "dev", "veth0", "ingress", "bpf", "da", "obj", dropper, "sec", "tc"
            )

    def dropped(self) -> int:
        listed = json.loads(call("tc", "-n", self.names["sender"], "-s", "-j", "qdisc", "show", "dev", "veth0").stdout)
        return sum(qdisc.get("drops", 0) for qdisc in listed if qdisc["kind"] == "clsact")

    def status(self, role: str = "sender") -> dict:
        return json.loads(self.run(role, DAEMON, "cc", "status", "--json").stdout)

    def transfer(self, congestion: str, seconds: float = 3, then=None) -> Transfer:
        """Sends for this many seconds; `then` is called while the connection is still open."""
        receiver = subprocess.Popen(
            self.inside("receiver", sys.executable, HERE / "peer.py", "receive", ADDRESS["receiver"]),
            stdout=subprocess.PIPE,
            text=True,
        )
        dropped = self.dropped()
        try:
            port = int(receiver.stdout.readline())
            sender = subprocess.Popen(
                self.inside(
                    "sender", sys.executable, HERE / "peer.py", "send", ADDRESS["receiver"], port, congestion, seconds
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            try:
                answer = sender.stdout.readline()
                if not answer:
                    raise RuntimeError("the sender failed")
                seen = json.loads(answer)
                entries = self.status()["connections"] if seen["congestion"].startswith("ackloss") else []
                mine = [entry for entry in entries if entry["remote"] == f"{ADDRESS['receiver']}:{port}"]
                if then:
                    then()
            finally:
                sender.communicate(timeout=20)
        finally:
            receiver.kill()
            receiver.communicate()
        return Transfer(**seen, counters=mine[0] if mine else {}, acks_dropped=self.dropped() - dropped)
