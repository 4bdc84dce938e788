"""With a full folder for undo logs nothing on the host is changed, and with one that became read-only all is undone."""

import os
import re
import subprocess
import sys

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


def test_where_the_folder_became_read_only_the_congestion_control_is_unloaded(host):
    control = "sysctl -n net.ipv4.tcp_congestion_control"
    script = f"""
        mount -t tmpfs none /run && mkdir -m 700 /run/airwatt || exit 99
        {control}; "$0" cc load --default 2> /dev/null || exit 98
        {control}; mount -o remount,ro /run
        "$0" cc unload; echo "$?"; {control}; cat {AVAILABLE}; echo ---- >&2
        mount -o remount,rw /run
        "$0" cc unload; echo "$?"; find /run -name 'airwatt*'
    """
    done = call("ip", "netns", "exec", host, "sh", "-c", script, DAEMON)
    before, loaded, status, restored, available, *afterwards = done.stdout.splitlines()
    assert (loaded, status, restored) == ("ackloss", "1", before)
    assert "ackloss" not in available
    first, second = done.stderr.split("----\n")
    assert first.splitlines()[-1].startswith(
        "airwattd: /run/airwatt/cc.jsonl: Read-only file system: all that it lists is"
    )
    assert "not undone" not in first
    assert second.endswith("nothing was loaded; what an interrupted `load` or `unload` had left is undone\n")
    assert afterwards == ["0"]


# A daemon that ends by a signal where /run has become read-only, and `restore` there and afterwards.
READ_ONLY = f"""
    mount -t tmpfs none /run && mkdir -m 700 /run/airwatt || exit 99
    state() {{ {STATE.replace("find /run -type f", "true").strip().replace(chr(10), "; ")}; }}
    state; echo ----
    "$DAEMON" "$KIND" up "$FILE" & daemon=$!
    for attempt in $(seq 200); do ip rule | grep -q "lookup $TABLE" && break; sleep 0.05; done
    sleep 0.5; state; echo ----
    mount -o remount,ro /run || exit 98
    kill -"$SIGNAL" $daemon; wait $daemon; sleep 1.5; state; echo ---- ; echo ---- >&2
    "$DAEMON" "$KIND" restore full; echo "$?"; state; echo ----; echo ---- >&2
    mount -o remount,rw /run
    "$DAEMON" "$KIND" restore full; echo "$?"; state; find /run -name 'airwatt*'
"""


@pytest.mark.parametrize("ends_by", ["KILL", "TERM"])
@pytest.mark.parametrize(("kind", "config"), [("tunnel", TUNNEL), ("gateway", GATEWAY)])
def test_where_the_folder_became_read_only_everything_is_undone(host, tmp_path, kind, config, ends_by):
    """The log can be read, and not removed: that is said once, and `restore` does nothing again."""
    file = tmp_path / "daemon.toml"
    file.write_text(config)
    file.chmod(0o600)
    table = {"tunnel": 4646, "gateway": 4747}[kind]
    words = {"DAEMON": DAEMON, "KIND": kind, "FILE": file, "SIGNAL": ends_by, "TABLE": table}
    environment = os.environ | {name: str(value) for name, value in words.items()}
    command = ["ip", "netns", "exec", host, "sh", "-c", READ_ONLY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    before, changed, ended, restored, afterwards = done.stdout.split("----\n")
    assert changed != before, done.stderr
    assert ended == before, done.stderr
    # The shell says "Killed".
    said = [[line for line in part.splitlines() if line != "Killed"] for part in done.stderr.split("----\n")]
    log = (
        r"airwattd: /run/airwatt/.*\.jsonl: Read-only file system: all that it lists is undone, but it stays; hint: .*"
    )
    assert len(said[0]) == 1, said
    assert re.fullmatch(log, said[0][0]), said
    assert restored == f"1\n{before}"
    assert said[1][0].endswith(": nothing to restore"), said
    assert re.fullmatch(log, said[1][1]), said
    assert afterwards == f"0\n{before}", "with the log the folder has gone"
    assert said[2][0].endswith(": nothing to restore"), said


def test_a_dead_socket_that_cannot_be_removed_is_said_so(host, tmp_path):
    """It was called another file, which is left as it is."""
    file = tmp_path / "daemon.toml"
    file.write_text(TUNNEL)
    file.chmod(0o600)
    script = f"""
        mount -t tmpfs none /run && mkdir -m 700 /run/airwatt || exit 99
        "$0" tunnel up {file} & daemon=$!
        for attempt in $(seq 200); do ls /run/airwatt/*.sock > /dev/null 2>&1 && break; sleep 0.05; done
        socket=$(ls /run/airwatt/*.sock); kill -TERM $daemon; wait $daemon
        mkdir -p -m 700 /run/airwatt
        {sys.executable} -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" "$socket"
        mount -o remount,ro /run || exit 98
        echo ---- >&2; "$0" tunnel up {file}; echo "$?"
    """
    done = call("ip", "netns", "exec", host, "sh", "-c", script, DAEMON)
    assert done.stdout.splitlines()[-1] == "1", done.stderr
    said = done.stderr.split("----\n")[1]
    assert re.fullmatch(r"airwattd: /run/airwatt/\S+\.sock: cannot be removed: Read-only file system\n", said), said
