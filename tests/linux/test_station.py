"""`airwattd station` where there is no Wi-Fi, and the reflector. What needs Wi-Fi is in `test_wifi.py`."""

import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest
from lab import DAEMON, call

pytestmark = pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")

PROBE = struct.Struct(">4sIQII")


def has_wifi() -> bool:
    return any((interface / "phy80211").exists() for interface in Path("/sys/class/net").iterdir())


@pytest.mark.skipif(has_wifi(), reason="this host has Wi-Fi")
@pytest.mark.parametrize("verb", ["doctor", "measure"])
def test_without_wifi_each_verb_says_so_in_one_line(verb):
    done = call(DAEMON, "station", verb, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Wi-Fi" in done.stderr


def test_wrong_input_is_one_line():
    for words in (
        ["measure", "--minutes", "0"],
        ["measure", "--reflector", "192.168.1.1"],
        ["measure", "--reflector", "192.168.1.1:1", "--target", "192.168.1.1"],
        ["reflect", "--listen", "here"],
    ):
        done = call(DAEMON, "station", *words, check=False)
        assert done.returncode == 2, words
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_what_a_killed_measurement_may_have_left_can_be_undone_where_there_is_nothing():
    done = call(DAEMON, "station", "restore", "--interface", "nothing0", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_reflector_answers_late_says_how_late_and_nothing_else():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    listen = f"{address[0]}:{address[1]}"
    reflector = subprocess.Popen([DAEMON, "station", "reflect", "--listen", listen], stderr=subprocess.PIPE, text=True)
    try:
        assert listen in reflector.stderr.readline()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.connect(address)
            sent = {}
            for number in range(20):
                client.send(PROBE.pack(b"AWR1", number, 7, 0, 0))
                sent[number] = time.monotonic()
            for stranger in (
                b"",
                b"AWR1",
                PROBE.pack(b"XXXX", 1, 7, 0, 0),
                PROBE.pack(b"AWR1", 99, 7, 1, 0),
                b"x" * 900,
            ):
                client.send(stranger)
            waits = []
            for _ in range(20):
                magic, number, nonce, kind, waited_us = PROBE.unpack(client.recv(100))
                took = time.monotonic() - sent.pop(number)
                assert (magic, nonce, kind) == (b"AWR1", 7, 1)
                # It may be delivered later than it was sent, never earlier.
                assert took >= waited_us / 1e6 - 0.005
                waits.append(waited_us / 1e6)
            client.settimeout(0.1)
            with pytest.raises(TimeoutError):
                client.recv(100)
        assert max(waits) - min(waits) > 0.3
    finally:
        reflector.send_signal(signal.SIGTERM)
        assert reflector.wait(5) == 0
        reflector.stderr.close()
