"""What is left of a stream when an end of `airwattd gateway` dies after it has passed the end on: the kernel
has the rest and no process the socket. Neither host waits for ever, and none sees an end without all bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, await_true, missing

from gateway_lab import SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
SIZE = 150_000
# The time that relayed connections have to finish (`drain`), and the silence after which an end resets its connections.
DRAIN_S, SILENCE_S = 5.0, 1.0
# One host writes all and ends its direction; the other reads slowly. Each prints how its connection ended, and when.
PROGRAM = f"""
import socket, sys, time
role, writes, rate, room = sys.argv[1], sys.argv[2] == "writes", int(sys.argv[3]), int(sys.argv[4])
# Room is set before the connection is opened, which else begins with 64 KiB of it.
here = socket.socket()
here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
if role == "server":
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    here.bind(("{SERVER}", 5000))
    here.listen()
    print("ready", flush=True)
    here = here.accept()[0]
else:
    here.connect(("{SERVER}", 5000))
began, count, how = time.monotonic(), 0, "end"
try:
    if sys.argv[2] == "half":
        here.shutdown(socket.SHUT_WR)
    if writes:
        here.sendall(bytes({SIZE}))
        here.shutdown(socket.SHUT_WR)
    while piece := here.recv(2048):
        count += len(piece)
        time.sleep(max(0, began + count / rate - time.monotonic()))
except ConnectionResetError:
    how = "reset"
print(how, count, time.monotonic(), flush=True)
"""


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        yield lab


def orphan_in_waiting(lab: Lab, end: str) -> bool:
    """Whether a socket of this end has ended its direction and not delivered everything."""
    states = ("state", "fin-wait-1", "state", "last-ack", "state", "closing")
    return f"{SERVER}:5000" in lab.run(end, "ss", "-Htn", *states).stdout


def break_in_a_tail(
    lab: Lab,
    ends: tuple[str, ...],
    end: str,
    writer: str,
    rate: int,
    with_signal: int,
    room: int = 16_384,
    reads: str = "reads",
    then: str = "",
) -> dict:
    """Kills an end while its kernel has the rest of a stream, with its guardian if a command comes then. Returns how
    either host's connection ended: seconds from the kill, how, and the bytes read."""
    if ends == ("base",):
        lab.write_alone()
    else:
        for each in ends:
            lab.write(each, gateway=f'silence = "{SILENCE_S:g}s"\nfallback = "30s"')
    lab.up(*ends)
    hosts = {"server": "server", "client": "mobile"}
    programs = {}
    for role, host in hosts.items():
        words = [role, "writes" if role == writer else reads, rate, room]
        programs[role] = lab.start(host, sys.executable, "-c", PROGRAM, *words, **PIPES)
        if role == "server":
            assert programs[role].stdout.readline() == "ready\n"
    await_true(lambda: orphan_in_waiting(lab, end), interval=0.05)
    killed = time.monotonic()
    if then:
        process = lab.running[end].pid
        (guardian,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        os.kill(int(guardian), signal.SIGKILL)
    lab.end(end, with_signal)
    if then == "up":
        lab.up(end)
        lab.end(end, signal.SIGTERM)
    elif then == "restore":
        lab.run(end, DAEMON, "gateway", "restore", lab.interfaces[end])
    found = {}
    for role, program in programs.items():
        how, count, at = program.communicate(timeout=40)[0].split()
        found[role] = (round(float(at) - killed, 2), how, int(count))
    await_true(lambda: lab.left_over(end) == [])
    assert "airwatt" not in lab.run(end, "nft", "list", "tables", check=False).stdout
    return found


each_end = pytest.mark.parametrize(
    ("ends", "end", "writer"),
    [
        pytest.param(("base",), "base", "server", id="alone-down"),
        pytest.param(("base",), "base", "client", id="alone-up"),
        pytest.param(("base", "mobile"), "base", "client", id="base-up"),
        pytest.param(("base", "mobile"), "mobile", "server", id="mobile-down"),
    ],
)
each_signal = pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGTERM])


@each_signal
@each_end
def test_a_tail_that_the_host_takes_in_time_arrives(lab, ends, end, writer, with_signal):
    found = break_in_a_tail(lab, ends, end, writer, 60_000, with_signal)
    print(found)
    reader = "client" if writer == "server" else "server"
    assert found[reader][1:] == ("end", SIZE), "all of it was written, and its end passed on"
    assert max(at for at, *_ in found.values()) < DRAIN_S + SILENCE_S + 3


@each_signal
@pytest.mark.parametrize("writer", ["server", "client"])
def test_a_tail_behind_a_translation_of_addresses_arrives(lab, writer, with_signal):
    lab.translate("oifname wired masquerade")
    found = break_in_a_tail(lab, ("base",), "base", writer, 60_000, with_signal)
    print(found)
    reader = "client" if writer == "server" else "server"
    assert found[reader][1:] == ("end", SIZE)
    assert max(at for at, *_ in found.values()) < DRAIN_S + SILENCE_S + 3


@each_signal
@each_end
def test_a_tail_of_a_slower_host_ends_with_a_reset(lab, ends, end, writer, with_signal):
    found = break_in_a_tail(lab, ends, end, writer, 8_000, with_signal)
    print(found)
    reader = "client" if writer == "server" else "server"
    at, how, count = found[reader]
    assert (how, count < SIZE) == ("reset", True)
    # The reader has had the rest of its own buffer before, of twice 16 KiB.
    # At SIGTERM connections have their time first, and what is left of them then another one.
    assert at < DRAIN_S * (1 + (with_signal == signal.SIGTERM)) + 32_768 / 8_000 + 4


@pytest.mark.parametrize("room", [1_024, 2_048])
@pytest.mark.parametrize("writer", ["server", "client"])
def test_a_host_with_little_room_gets_its_reset(lab, writer, room):
    """Its window is mostly closed, so that what it gets are probes, and its answers to them are limited in number."""
    found = break_in_a_tail(lab, ("base",), "base", writer, 8_000, signal.SIGKILL, room)
    print(found)
    at, how, count = found["client" if writer == "server" else "server"]
    assert (how, count < SIZE) == ("reset", True)
    assert at < DRAIN_S + 32_768 / 8_000 + 4


@each_signal
@pytest.mark.parametrize("writer", ["server", "client"])
def test_a_host_that_has_ended_its_own_direction_gets_its_reset(lab, writer, with_signal):
    """The gateway's socket is in LAST-ACK then, for which the kernel's own abort sends no reset."""
    found = break_in_a_tail(lab, ("base",), "base", writer, 8_000, with_signal, reads="half")
    print(found)
    at, how, count = found["client" if writer == "server" else "server"]
    assert (how, count < SIZE) == ("reset", True)
    assert at < DRAIN_S * (1 + (with_signal == signal.SIGTERM)) + 32_768 / 8_000 + 4


@pytest.mark.parametrize("then", ["restore", "up"])
@pytest.mark.parametrize("rate", [60_000, 8_000])
def test_nobody_waits_for_a_gateway_that_was_killed_with_its_guardian(lab, rate, then):
    """As a service manager does it, which then has `restore` run; or somebody starts the gateway again."""
    found = break_in_a_tail(lab, ("base",), "base", "server", rate, signal.SIGKILL, then=then)
    print(found)
    at, how, count = found["client"]
    assert (how, count) == ("end", SIZE) if rate == 60_000 else (how, count < SIZE) == ("reset", True)
    assert at < DRAIN_S + 32_768 / 8_000 + 4
