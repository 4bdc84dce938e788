"""What strangers can send to a running tunnel: 10^6 datagrams without an answer and without a trace in its state."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import await_true, call, missing

import tunnel_lab
from test_tunnel_soak import SOAK, open_files, resident_kb
from tunnel_lab import INNER, KEYS, OUTER, PORT

REASON = missing()
pytestmark = [pytest.mark.long, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
pair = tunnel_lab.pair
STRANGER = (sys.executable, Path(__file__).parent / "stranger.py")
SOURCE = "10.98.0.66"
COUNT = 1_000_000
# The socket's buffer holds this many while the daemon does something else.
ROUND = 2_000
# One byte for each datagram would be more.
GROWTH_KB = 512
# A session is renewed after this time, whoever sends what.
SESSION_S = 120


def told(program: subprocess.Popen[str], number: int) -> str:
    """The answer of a program that reads numbers."""
    program.stdin.write(f"{number}\n")
    program.stdin.flush()
    return program.stdout.readline()


def state(document: dict) -> dict:
    """What `show` reports, without what changes with time and what counts refused datagrams.

    This host's kernel sends IPv6 packets over the device by itself, which no peer takes (`unroutable`).
    """
    peers = [
        {key: value for key, value in peer.items() if key not in ("handshake_age_s", "handshakes", "replayed")}
        for peer in document["peers"]
    ]
    ignored = ("strange_datagrams", "cookies", "socket", "wakeups", "unroutable")
    return {key: value for key, value in document.items() if key not in ignored} | {"peers": peers}


def resources(process: subprocess.Popen[str]) -> tuple[int, int]:
    # Until the daemon has closed the connection of the last `show`.
    time.sleep(0.2)
    return resident_kb(process), open_files(process)


@pytest.fixture
def strange(pair):
    """A tunnel between hosts, one of which has another address for a stranger."""
    call("ip", "-n", pair.names["client"], "address", "add", f"{SOURCE}/24", "dev", "cable")
    pair.process = pair.up("ap")
    return pair


def barrage_until(pair, stranger: subprocess.Popen[str], count: int) -> None:
    """Sends until the daemon has received this many; nothing may be answered."""
    begin = pair.show("ap")["socket"]["received"]
    while pair.show("ap")["socket"]["received"] < begin + count:
        for _ in range(10):
            assert told(stranger, ROUND) == "0\n"


def test_a_million_datagrams_get_no_answer_and_leave_no_state(strange, tmp_path):
    pair, file = strange, tmp_path / "datagrams"
    with pair.program("ap", *STRANGER, "record", "cable", PORT, 40, file) as recorder:
        assert recorder.stdout.readline() == "ready\n"
        pair.up("client")
        began = time.monotonic()
        assert all(pair.ping() for _ in range(50))
        recorder.wait(20)
    with pair.program("client", *STRANGER, "barrage", file, SOURCE) as stranger:
        # The buffers have their size after this.
        barrage_until(pair, stranger, COUNT // 10)
        await_true(lambda: pair.is_silent_for(0.5), 20)
        before, resident_before = pair.show("ap"), resources(pair.process)
        barrage_until(pair, stranger, COUNT)
        after, resident_after = pair.show("ap"), resources(pair.process)
        assert state(after) == state(before)
        assert after["wakeups"] == before["wakeups"]
        assert after["socket"]["sent"] == before["socket"]["sent"], "no answer to anybody"
        refused, replayed = (
            after["strange_datagrams"] - before["strange_datagrams"],
            after["peers"][0]["replayed"] - before["peers"][0]["replayed"],
        )
        print(f"{refused} of strangers, {replayed} repeated; kB and files {resident_before} {resident_after}")
        assert refused + replayed == after["socket"]["received"] - before["socket"]["received"] >= COUNT
        assert replayed > COUNT / 10
        assert resident_after[0] <= resident_before[0] + GROWTH_KB
        assert resident_after[1] == resident_before[1]
        # The same beside connections of the tunnel's hosts.
        with pair.program("ap", *SOAK, "serve", INNER["ap"]) as server:
            assert server.stdout.readline() == "ready\n"
            with pair.program("client", *SOAK, "exchange", INNER["ap"], 2, 5) as exchange:
                barrage_until(pair, stranger, COUNT // 10)
                flowed = json.loads(exchange.communicate(timeout=30)[0])
        print(flowed)
        assert flowed["lost"] == 0
        assert flowed["exchanges"] > 5
    (peer,) = pair.show("ap")["peers"]
    assert peer["moves"] == 0
    assert 1 <= peer["handshakes"] <= 1 + (time.monotonic() - began) / SESSION_S
    assert peer["endpoint"].startswith(f"{OUTER['client']}:")


def test_initiations_by_who_knows_the_public_key_get_cookies_and_nothing_else(strange):
    pair = strange
    pair.up("client")
    assert pair.ping()
    words = (*STRANGER, "initiate", SOURCE, OUTER["ap"], PORT, KEYS["ap"][1])
    with pair.program("client", *words) as stranger:
        told(stranger, ROUND)
        before, resident_before = pair.show("ap"), resources(pair.process)
        lengths = [length for _ in range(50) for length in told(stranger, ROUND).split()]
        # A client begins a session meanwhile: with the cookie that it is sent.
        client = pair.running[1]
        client.kill()
        client.wait()
        await_true(lambda: not pair.has_device("client"))
        told(stranger, ROUND)
        pair.up("client")
        told(stranger, ROUND)
        assert pair.ping(attempts=30)
    after, resident_after = pair.show("ap"), resources(pair.process)
    print(f"{len(lengths)} cookies; kB and files {resident_before} {resident_after}")
    assert set(lengths) == {"64"}
    assert after["cookies"] - before["cookies"] >= len(lengths) > 0
    assert after["peers"][0]["handshakes"] == before["peers"][0]["handshakes"] + 1
    assert resident_after[0] <= resident_before[0] + GROWTH_KB
    assert resident_after[1] == resident_before[1]
