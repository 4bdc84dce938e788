"""With `-v`, `airwattd gateway` gives the reason for each connection that it does not relay to its end."""

import re
import signal
import subprocess
import sys

import pytest
from lab import missing

from gateway_lab import MOBILE, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        yield lab


def said_by(lab: Lab, end: str) -> list[str]:
    """Ends a gateway and returns what it has said of connections, without the ports of the mobile."""
    process = lab.running.pop(end)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=15)
    lines = [line.split("note_log: ", 1)[1] for line in said.splitlines() if "note_log: connection " in line]
    return [re.sub(rf"{MOBILE}:\d+", "MOBILE", line) for line in lines]


def connection(lab: Lab, then: str) -> subprocess.Popen:
    """A program at the mobile with a relayed connection, which then goes on after a line on standard input."""
    code = f"""
import socket, struct, sys
here = socket.create_connection(("{SERVER}", 5000))
here.sendall(b"a"); assert here.recv(9) == b"a"
print("open", flush=True); sys.stdin.readline()
try:
    {then}
except ConnectionResetError:
    print("reset", flush=True)
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    program = lab.start("mobile", sys.executable, "-c", code, **pipes)
    assert program.stdout.readline() == "open\n"
    return program


ABORT = "here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); here.close()"


def test_each_connection_that_is_refused_reset_or_passed_on_has_a_reason(lab):
    lab.write("mobile", gateway='silence = "1s"\nfallback = "500ms"')
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(10, port=5001) == "{'ConnectionRefusedError': 1}\n"
    connection(lab, ABORT).communicate("\n", timeout=10)
    assert lab.echo(10) == "{'same': 1}\n", "one that is relayed to its end, of which nothing is said"
    waiting = connection(lab, "here.recv(9)")
    lab.running["base"].send_signal(signal.SIGSTOP)
    assert waiting.communicate("\n", timeout=10)[0] == "reset\n"
    assert lab.echo(10) == "{'same': 1}\n", "as plain TCP"
    of = f"from=MOBILE to={SERVER}"
    assert said_by(lab, "mobile") == [
        f'connection was refused {of}:5001 why="the host beyond refused it"',
        f'connection was reset {of}:5000 why="the host on this side reset it"',
        f'connection was reset {of}:5000 why="the peer is silent"',
        f'connection goes on as plain TCP {of}:5000 why="the peer is silent"',
    ]
    lab.running["base"].send_signal(signal.SIGCONT)
    assert said_by(lab, "base")[:2] == [
        f'connection was refused {of}:5001 why="the host beyond refused it"',
        f'connection was reset {of}:5000 why="the peer reset it"',
    ]


def test_a_base_station_alone_gives_reasons_too(lab):
    lab.write_alone()
    lab.up("base")
    lab.serve()
    assert lab.echo(10, port=5001) == "{'ConnectionRefusedError': 1}\n"
    connection(lab, ABORT).communicate("\n", timeout=10)
    waiting = connection(lab, "here.recv(9)")
    of = f"from=MOBILE to={SERVER}"
    assert said_by(lab, "base") == [
        f'connection was refused {of}:5001 why="the host beyond refused it"',
        f'connection was reset {of}:5000 why="the host that opened it reset it"',
        f'connection was reset {of}:5000 why="this gateway is being stopped"',
    ]
    assert waiting.communicate("\n", timeout=10)[0] == "reset\n"
