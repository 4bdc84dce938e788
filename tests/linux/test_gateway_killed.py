"""An end of `airwattd gateway` that is killed in the middle of transfers: no stream ends as if it were complete."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest
from lab import DAEMON, await_true, missing

from gateway_lab import HERE, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
SILENCE_S = 1.0


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        yield lab


def programs(lab: Lab, *words: object, host: str) -> subprocess.Popen:
    process = lab.start(host, sys.executable, HERE / "gateway_transfers.py", *words, **PIPES)
    assert process.stdout.readline() == "ready\n"
    return process


def kill_in_the_middle(lab: Lab, ends: tuple[str, ...], end: str, seed: int, most: int, wait_s: float) -> tuple:
    """Runs 16 transfers and kills an end after some time. Returns how many were complete at the client, and cut off."""
    lab.up(*ends)
    server = programs(lab, "serve", SERVER, 5000, host="server")
    client = programs(lab, "run", SERVER, 5000, 16, seed, most, host="mobile")
    time.sleep(wait_s)
    killed = time.monotonic()
    lab.end(end, signal.SIGKILL)
    seen, _ = client.communicate(timeout=30)
    assert time.monotonic() - killed < SILENCE_S + 5, "nothing hangs, however slow this machine is"
    # The server's side of the connections has ended then, or ends by the time of silence.
    time.sleep(1.5 * SILENCE_S)
    served = json.loads(server.communicate("end\n", timeout=30)[0])
    outcomes = json.loads(seen)
    complete = 0
    for name, (size, has_ended, count) in outcomes.items():
        is_up = name.startswith("up")
        has_arrived, arrived = served.get(name, (False, 0))
        line = f"{name}: {size} bytes, client {has_ended} {count}, server {has_arrived} {arrived}"
        # The server reads the line of the request beside an upload, not as a part of it.
        assert not has_ended or count == size, line
        assert not has_arrived or arrived == size, line
        assert not (is_up and has_ended) or has_arrived, line
        complete += has_ended
    for other in ends:
        if other != end:
            lab.end(other, signal.SIGKILL)
        await_true(lambda other=other: lab.left_over(other) == [])
    return complete, len(outcomes) - complete


def moments(count: int, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.uniform(0.05, 1.5) for _ in range(count)]


@pytest.mark.parametrize(
    ("ends", "end", "most", "rule"),
    [
        (("base", "mobile"), "base", 30_000_000, ""),
        (("base", "mobile"), "mobile", 30_000_000, ""),
        (("base",), "base", 60_000_000, ""),
        (("base",), "base", 60_000_000, "oifname wired masquerade"),
    ],
    ids=["base", "mobile", "base-only", "base-only-translated"],
)
@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.long)])
def test_a_killed_end_completes_nothing(lab, ends, end, most, rule, count):
    """At so many moments, each with 16 transfers in both directions."""
    if ends == ("base",):
        lab.write_alone()
    else:
        for each in ends:
            lab.write(each, gateway=f'silence = "{SILENCE_S:g}s"\nfallback = "30s"')
    if rule:
        lab.translate(rule)
    outcomes = [kill_in_the_middle(lab, ends, end, seed, most, at) for seed, at in enumerate(moments(count, count))]
    print("complete and cut off:", outcomes)
    assert sum(cut for _, cut in outcomes) > count, "the kills came in the middle"


def ends_after(lab: Lab, break_it) -> float:
    """Time in seconds from what breaks a connection without data to the reset at the mobile's program."""
    code = f"""
import socket
here = socket.create_connection(("{SERVER}", 5000))
here.sendall(b"a"); assert here.recv(9) == b"a"
print("open", flush=True)
try:
    print("end", here.recv(9))
except ConnectionResetError:
    print("reset", flush=True)
"""
    program = lab.start("mobile", sys.executable, "-c", code, **PIPES)
    assert program.stdout.readline() == "open\n"
    began = time.monotonic()
    break_it()
    assert program.stdout.readline() == "reset\n"
    return time.monotonic() - began


def test_a_base_station_that_does_not_come_back_or_starts_again(lab):
    for end in ("base", "mobile"):
        lab.write(end, gateway='fallback = "30s"')
    lab.up("base", "mobile")
    lab.serve()
    assert 4 < ends_after(lab, lambda: lab.end("base", signal.SIGKILL)) < 7
    assert lab.status("mobile")["peer_silences"] == 1
    await_true(lambda: lab.left_over("base") == [])
    lab.up("base")

    def restart() -> None:
        lab.end("base", signal.SIGKILL)
        await_true(lambda: lab.left_over("base") == [])
        lab.up("base")

    # It knows where the mobile was, and says that it has started.
    began = time.monotonic()
    took = ends_after(lab, restart)
    print(f"restarted: reset after {took:.2f} s, of {time.monotonic() - began:.2f}")
    assert took < 2.5, "before the mobile asks"
    assert lab.status("mobile")["peer_restarts"] >= 1


def test_a_program_learns_that_its_partial_stream_was_cut_off(lab):
    socket = lab.folder / "programs.sock"
    lab.write("mobile", top=f'local = "{socket}"')
    lab.up("base", "mobile")
    lab.serve()
    code = f"""
from airwatt import partial
with partial.connect("{socket}", "{SERVER}", 5000, wanted=90) as stream:
    stream.write(b"x" * 1000)
    pieces = iter(stream)
    print(next(pieces).length, flush=True)
    try:
        print(list(pieces))
    except ConnectionError as error:
        print(error)
"""
    program = lab.start("mobile", sys.executable, "-c", code, **PIPES)
    assert program.stdout.readline() == "1000\n"
    lab.end("mobile", signal.SIGKILL)
    assert program.communicate(timeout=10)[0] == "the connection was lost\n"
    # The guardian removes the socket of the killed gateway.
    await_true(lambda: not socket.exists())
    # A file of this name is somebody's.
    socket.write_text("mine")
    refused = lab.run("mobile", DAEMON, "gateway", "up", lab.file("mobile"), check=False)
    assert (refused.returncode, "which is left as it is" in refused.stderr) == (1, True), refused.stderr
    assert socket.read_text() == "mine"


def test_a_killed_base_station_alone_resets_the_host_beyond_first(lab):
    """A host without room challenges a reset: the host beyond answers if it no longer knows the connection."""
    lab.write_alone()
    lab.up("base")
    code = """
import socket, sys, threading, time
def wait(here):
    here.sendall(b"a"); here.recv(1)
    try: here.recv(1)
    except ConnectionResetError: times.append(time.monotonic())
times = []
if sys.argv[1] == "serve":
    server = socket.create_server((sys.argv[2], 5000), backlog=64); print("ready", flush=True)
    all = [server.accept()[0] for _ in range(8)]
else:
    all = [socket.create_connection((sys.argv[2], 5000)) for _ in range(8)]
threads = [threading.Thread(target=wait, args=(one,)) for one in all]
for thread in threads: thread.start()
print("open", flush=True)
for thread in threads: thread.join()
print(*times)
"""
    server = lab.start("server", sys.executable, "-c", code, "serve", SERVER, **PIPES)
    assert server.stdout.readline() == "ready\n"
    client = lab.start("mobile", sys.executable, "-c", code, "run", SERVER, **PIPES)
    assert server.stdout.readline() == client.stdout.readline() == "open\n"
    await_true(lambda: all(row["bytes_to_host"] == 1 for row in lab.status("base")["connections"]))
    lab.end("base", signal.SIGKILL)
    beyond, opener = ([float(word) for word in each.communicate(timeout=10)[0].split()] for each in (server, client))
    assert len(beyond) == len(opener) == 8
    assert sorted(beyond)[-1] < sorted(opener)[0]
