"""With a full folder for undo logs nothing on the host is changed: each change is written down before it is made."""

import os
import re
import subprocess

import pytest
from lab import DAEMON, call, missing

from congestion import AVAILABLE, kernel  # noqa: F401 - the fixture is asked for by name
from gateway_lab import KEYS

REASON = missing()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.usefixtures("kernel"),
    pytest.mark.xdist_group("kernel"),
]

TUNNEL = f"""
interface = "full"
end = "client"
addresses = ["10.77.0.2/24"]
forward = true
private_key = "{KEYS["mobile"][0]}"
[[peer]]
name = "ap"
public_key = "{KEYS["base"][1]}"
endpoint = "127.0.0.1:4646"
allowed_ips = ["0.0.0.0/0"]
"""
GATEWAY = 'interface = "full"\nmode = "base-only"\naddresses = ["192.0.2.0/24"]\n'
STATE = """
sysctl net.ipv4.ip_forward net.ipv4.conf.all.src_valid_mark net.ipv4.tcp_congestion_control
ip rule; ip route show table all; ip -br link; find /run -type f
"""


@pytest.fixture
def host():
    name = f"airwatt-full-{os.getpid()}"
    call("ip", "netns", "add", name)
    call("ip", "-n", name, "link", "set", "lo", "up")
    yield name
    call("ip", "netns", "delete", name)


def run_with(host: str, pages: int, free: int, *command: object) -> tuple[str, str, subprocess.CompletedProcess]:
    """Runs the daemon where /run has this many pages of memory, of which some are free.

    Returns the state of the host before and after, too.
    """
    script = f"""
        mount -t tmpfs -o size={4 * pages}k none /run && mkdir -m 700 /run/airwatt || exit 99
        head -c {4096 * (pages - free)} /dev/zero > /run/filler
        state() {{ {STATE.strip().replace(chr(10), "; ")}; }}
        state; echo ----; "$@" > /dev/null; status=$?; sleep 0.3; state; exit $status
    """
    words = ["ip", "netns", "exec", host, "sh", "-c", script, "sh", *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 99, done.stderr
    before, after = done.stdout.split("----\n")
    return before, after, done


@pytest.mark.parametrize("free", [0, 1])
@pytest.mark.parametrize(("kind", "config"), [("tunnel", TUNNEL), ("gateway", GATEWAY)])
def test_a_daemon_with_no_room_for_its_log_changes_nothing(host, tmp_path, kind, config, free):
    """The log is replaced by a longer one, which needs a second page: with one free page the first change is undone."""
    file = tmp_path / "daemon.toml"
    file.write_text(config)
    file.chmod(0o600)
    before, after, done = run_with(host, 2, free, "timeout", "10", DAEMON, kind, "up", file, "-v")
    assert after == before
    assert done.returncode == 1, done.stderr
    assert re.fullmatch(r"airwattd: /run/airwatt/.*jsonl: No space left on device\n", done.stderr), done.stderr


def test_without_room_for_its_log_no_congestion_control_is_loaded(host):
    ours = [name for name in AVAILABLE.read_text().split() if name.startswith("ackloss")]
    assert ours == []
    before, after, done = run_with(host, 1, 0, DAEMON, "cc", "load", "--default")
    assert after == before
    assert [name for name in AVAILABLE.read_text().split() if name.startswith("ackloss")] == []
    assert (done.returncode, done.stderr) == (1, "airwattd: /run/airwatt/cc.jsonl: No space left on device\n")
