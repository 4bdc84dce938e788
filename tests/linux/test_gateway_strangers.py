"""What strangers can send to a gateway: forged segments, replayed and truncated datagrams, noise, floods."""

import subprocess
import sys
import threading

import pytest
from lab import missing

from gateway_lab import BASE, HERE, MOBILE, PORT, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
STRANGER = (sys.executable, HERE / "stranger.py")


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        yield lab


class Program:
    """A connection of the mobile to the echo server that exchanges bytes when it is told to."""

    def __init__(self, lab: Lab):
        code = f"""
import socket, sys
here = socket.create_connection(("{SERVER}", 5000), 5)
print(here.getsockname()[1], flush=True)
for line in sys.stdin:
    here.sendall(b"x" * 5000)
    got = b""
    while len(got) < 5000: got += here.recv(5000 - len(got))
    print(got == b"x" * 5000, flush=True)
"""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = lab.start("mobile", sys.executable, "-c", code, **pipes)
        self.port = int(self.process.stdout.readline())

    def is_intact(self) -> bool:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == "True\n"


def test_forged_segments_neither_reset_nor_inject(lab):
    lab.up("base", "mobile")
    lab.serve()
    program = Program(lab)
    assert program.is_intact()
    # To the base station's socket, which has the mobile's address, and to the server's.
    lab.run("server", *STRANGER, "forge", SERVER, 5000, MOBILE, program.port)
    lab.run("base", *STRANGER, "forge", MOBILE, program.port, SERVER, 5000)
    assert program.is_intact()
    assert lab.status("base")["connections_relayed"] == 1


def test_noise_and_replayed_and_truncated_datagrams_have_no_effect(lab):
    lab.up("base", "mobile")
    lab.serve()
    file = lab.folder / "datagrams"
    words = (*STRANGER, "record", "air", PORT, 4, file)
    recorder = lab.start("base", *words, stdout=subprocess.PIPE, text=True)
    assert recorder.stdout.readline() == "ready\n"
    program = Program(lab)
    assert all(program.is_intact() for _ in range(4))
    recorder.communicate(timeout=10)
    before = lab.status("base")
    lab.run("mobile", *STRANGER, "replay", file)
    code = f"""
import os, socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for length in range(1, 400):
    here.sendto(os.urandom(length), ("{BASE["air"]}", {PORT}))
"""
    lab.run("server", sys.executable, "-c", code)
    after = lab.status("base")
    assert after["peers"][0]["endpoint"] == before["peers"][0]["endpoint"]
    assert [after["peers"][0][key] for key in ("moves", "datagram_bytes_received")] == [
        before["peers"][0][key] for key in ("moves", "datagram_bytes_received")
    ]
    assert after["strange_datagrams"] - before["strange_datagrams"] >= 399
    for key in ("connections_begun", "connections_relayed", "messages_dropped", "peer_restarts"):
        assert after[key] == before[key], key
    assert program.is_intact()


@pytest.mark.parametrize("end", ["mobile", "server"])
def test_a_flood_of_syns_stays_within_the_bound(lab, end):
    """From a mobile to an address that does not answer, and from the wired side to a closed port of a mobile."""
    for own in ("base", "mobile"):
        lab.write(own, gateway="half_open = 100")
    lab.up("base", "mobile")
    # Each refused connection is a line of the daemon's log: unread, the pipe would fill and stop it.
    said: dict[str, list[str]] = {own: [] for own in lab.running}
    for own, process in lab.running.items():
        threading.Thread(
            target=lambda into, log: into.extend(log), args=(said[own], process.stderr), daemon=True
        ).start()
    lab.serve()
    program = Program(lab)
    if end == "mobile":
        lab.run("mobile", *STRANGER, "flood", MOBILE, "10.96.0.77", 80, 10_000)
    else:
        lab.run("server", *STRANGER, "flood", SERVER, MOBILE, 80, 10_000)
    for own in ("base", "mobile"):
        status = lab.status(own)
        assert status["half_open"] <= 100
        assert len(status["connections"]) <= 257
    assert lab.echo(1_000) == "{'same': 1}\n", "relayed, or plain"
    assert program.is_intact()
    warnings = [line for line in said["mobile" if end == "mobile" else "base"] if "beyond a limit" in line]
    assert len(warnings) == 1, "ten thousand openings within a minute"
