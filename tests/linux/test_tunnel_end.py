"""The end of `airwattd tunnel`: it sends what it holds, and one that is killed as it starts leaves nothing."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

import tunnel_lab
from tunnel_lab import INNER

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = tunnel_lab.pair

SEND_ONE = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'last', (%r, 9))"


def test_packets_held_at_sigterm_are_sent(pair):
    pair.write("client", 'burst = 20, hold = "2s"')
    daemon = pair.up("client")
    pair.up("ap")
    # The session is set up by a full burst.
    for _ in range(20):
        pair.run("client", sys.executable, "-c", SEND_ONE % INNER["ap"])
    await_true(lambda: pair.show("ap")["peers"][0]["packets_delivered"] == 20)
    pair.run("client", sys.executable, "-c", SEND_ONE % INNER["ap"])
    assert pair.show("client")["peers"][0]["packets_sent"] == 20
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(5) == 0
    await_true(lambda: pair.show("ap")["peers"][0]["packets_delivered"] == 21)


def test_a_guardian_whose_daemon_has_died_already_cleans_up():
    name = f"awgone{os.getpid() % 100_000}"
    namespace = Path("/proc/self/ns/net").stat().st_ino
    left = Path(f"/run/airwatt/tunnel-{name}.{namespace}.sock")
    left.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(left))
    dead = subprocess.Popen(["true"])
    process = os.pidfd_open(dead.pid)
    dead.wait()
    reader, writer = os.pipe()
    os.close(reader)
    try:
        guard = [DAEMON, "tunnel", "guard", name]
        done = subprocess.run(guard, stdin=process, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=20)
        assert (done.returncode, done.stderr) == (0, "")
        assert not left.exists()
    finally:
        os.close(process)
        os.close(writer)
        left.unlink(missing_ok=True)


def test_where_peers_were_is_forgotten_with_the_namespace(pair):
    """A daemon that is killed with its whole namespace, as an emulation's, has nobody who removes its files."""
    folder = Path("/run/airwatt")
    folder.mkdir(mode=0o700, exist_ok=True)
    here, gone = Path("/proc/self/ns/net").stat().st_ino, 1
    stale = [folder / f"tunnel-awgone.{gone}.peers{ending}" for ending in ("", ".new")]
    kept = folder / f"tunnel-awkept{os.getpid() % 100_000}.{here}.peers"
    try:
        for file in (*stale, kept):
            file.write_text("{}")
        pair.up("client")
        assert [file.exists() for file in (*stale, kept)] == [False, False, True]
    finally:
        for file in (*stale, kept):
            file.unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["tunnel", "gateway"])
def test_restore_of_a_name_that_nothing_has_fails(kind):
    """A service manager restores after each end, when nothing may be left."""
    done = subprocess.run([DAEMON, kind, "restore", "nothing0"], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"nothing0: no {kind} of this name has left anything on this host" in done.stderr
    managed = {"env": os.environ | {"SERVICE_RESULT": "success"}}
    done = subprocess.run([DAEMON, kind, "restore", "nothing0"], capture_output=True, text=True, timeout=20, **managed)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["tunnel", "gateway"])
def test_down_of_a_name_that_nothing_has_fails(kind):
    done = subprocess.run([DAEMON, kind, "down", "nothing0"], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"nothing0: expected a configuration, or the interface of a {kind}" in done.stderr


@pytest.mark.parametrize("kind", ["tunnel", "gateway"])
def test_down_of_a_file_that_has_become_wrong_says_how_else(kind, tmp_path):
    (tmp_path / "wrong.toml").write_text("interface = 1\n")
    done = call(DAEMON, kind, "down", tmp_path / "wrong.toml", check=False)
    assert done.returncode == 2
    assert f"; hint: airwattd {kind} down NAME, without the file" in done.stderr


def test_down_takes_the_name_of_the_interface(pair):
    daemon = pair.up("client")
    # A user who may not see what is there is told so, and not that nothing is.
    for verb in ("down", "restore"):
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        words = [*user, DAEMON, "tunnel", verb, pair.interfaces["client"]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, cwd="/")
        assert (done.returncode, done.stdout, "permission denied" in done.stderr) == (4, "", True), done
    pair.run("client", DAEMON, "tunnel", "down", pair.interfaces["client"])
    assert daemon.wait(5) == 0
    assert not pair.has_device("client")


def test_what_a_killed_daemon_and_guardian_have_left_is_named(pair):
    daemon = pair.up("ap")
    guardian = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    for process in (*guardian, daemon.pid):
        os.kill(int(process), signal.SIGKILL)
    daemon.wait()
    name = pair.interfaces["ap"]
    for named in ((), (name,)):
        words = pair.inside("ap", DAEMON, "tunnel", "show", *named)
        shown = subprocess.run(words, capture_output=True, text=True, timeout=20)
        assert shown.returncode == (1 if named else 0)
        assert f"tunnel {name} was killed and has left changes of the host" in shown.stderr
        assert f"hint: airwattd tunnel restore {name}" in shown.stderr
    pair.run("ap", DAEMON, "tunnel", "down", name)
    assert pair.forwards() == "0"
    shown = subprocess.run(pair.inside("ap", DAEMON, "tunnel", "show"), capture_output=True, text=True, timeout=20)
    assert name not in shown.stderr


def test_what_undoes_its_changes_just_now_was_not_killed():
    """Between its last answer and the end of its log a daemon that ends looks as one that was killed."""
    name = f"awends{os.getpid() % 100_000}"
    log = Path(f"/run/airwatt/tunnel-{name}.{Path('/proc/self/ns/net').stat().st_ino}.jsonl")
    log.parent.mkdir(mode=0o700, exist_ok=True)
    log.touch(mode=0o600)
    try:
        show = subprocess.Popen([DAEMON, "tunnel", "show"], stderr=subprocess.PIPE, text=True)
        # It has read the folder by now, or reads it without the log.
        time.sleep(0.1)
    finally:
        log.unlink()
    assert name not in show.communicate(timeout=20)[1]


def test_restore_fails_where_its_log_cannot_be_read():
    name = f"awcut{os.getpid() % 100_000}"
    namespace = Path("/proc/self/ns/net").stat().st_ino
    log = Path(f"/run/airwatt/tunnel-{name}.{namespace}.jsonl")
    log.parent.mkdir(mode=0o700, exist_ok=True)
    head = '{"schema":1,"program":"airwattd","owns_folder":false}'
    log.write_text(head + '\n{"change": {"sett\n')
    log.chmod(0o600)
    try:
        # The log stays until somebody has looked at it.
        for _ in range(2):
            done = subprocess.run([DAEMON, "tunnel", "restore", name], capture_output=True, text=True, timeout=20)
            assert done.returncode == 1, done.stderr
            assert "cannot be read, so that changes of the host may be left" in done.stderr
        assert '{"change": {"sett' in log.read_text()
    finally:
        log.unlink(missing_ok=True)


def test_a_daemon_that_is_stopped_is_said_to_be_mute(pair):
    client = pair.up("client")
    interface = pair.interfaces["client"]

    def refused(*command: str) -> str:
        said = call(*pair.inside("client", DAEMON, "tunnel", *command), check=False)
        assert (said.returncode, said.stdout) == (1, ""), said
        return said.stderr

    client.send_signal(signal.SIGSTOP)
    assert "runs and does not answer" in refused("show")
    refused("show", interface)
    client.send_signal(signal.SIGCONT)
    assert pair.show("client")["peers"]
    client.send_signal(signal.SIGSTOP)
    assert "runs and does not answer" in refused("down", interface)
    # What it was asked is done once it goes on.
    client.send_signal(signal.SIGCONT)
    assert client.wait(10) == 0
