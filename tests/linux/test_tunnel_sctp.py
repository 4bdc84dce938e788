"""`airwattd tunnel` over SCTP: between two daemons, and with usrsctp."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from lab import missing

import test_tunnel
from test_tunnel import OUTER, await_true

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = test_tunnel.pair
HERE = Path(__file__).parent
# RFC 6951; also the port of SCTP at either end.
UDP_PORT = 9899
TSCTP = Path("/usr/lib/usrsctp/tsctp")


@contextlib.contextmanager
def running(words: list[str], **options):
    """A program that is killed in the end."""
    process = subprocess.Popen(words, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def towards_others(pair) -> None:
    """The client's configuration for a peer that is not airwatt."""
    pair.write("client", 'association = "sctp", burst = 4, hold = "10ms"', plain=True)
    text = pair.file("client").read_text().replace(f"{OUTER['ap']}:4646", f"{OUTER['ap']}:{UDP_PORT}")
    listen = f'end = "client"\nlisten = "{OUTER["client"]}:{UDP_PORT}"'
    pair.file("client").write_text(text.replace('end = "client"', listen))


@pytest.mark.parametrize(("association", "plain"), [("sctp", False), ("sctp-reliable", True)])
def test_two_daemons(pair, association, plain):
    for end in OUTER:
        pair.write(end, f'association = "{association}", burst = 4, hold = "10ms"', plain=plain)
        pair.up(end)
    assert pair.ping()
    pair.carry(300_000)
    client, ap = pair.show("client"), pair.show("ap")
    assert client["association"] == association
    # Ethernet's 1,500 less IP 20, UDP 8, SCTP 12, chunk headers 16, 16 and 8, and what encryption adds.
    assert client["mtu_bytes"] == 1_500 - 80 - (0 if plain else 32)
    assert ap["peers"][0]["packets_delivered"] == client["peers"][0]["packets_sent"] > 200
    await_true(lambda: pair.is_silent_for(0.7), 20)


@pytest.mark.long
@pytest.mark.skipif(not TSCTP.exists(), reason="libusrsctp-examples is not installed")
def test_usrsctp_takes_what_the_tunnel_sends(pair):
    towards_others(pair)
    words = ["ip", "netns", "exec", pair.names["ap"], TSCTP, "-E", UDP_PORT, "-U", UDP_PORT, "-p", UDP_PORT]
    with running([*map(str, words), "-L", OUTER["ap"]], stdout=subprocess.DEVNULL):
        pair.up("client")
        pair.ping(attempts=60)
        await_true(lambda: pair.show("client")["peers"][0]["held_packets"] == 0)
        (peer,) = pair.show("client")["peers"]
        # tsctp discards messages and acknowledges them: others would be repeated and given up.
        assert peer["packets_sent"] >= 50
        assert peer["datagrams_received"] > 5
        assert (peer["datagrams_repeated"], peer["dropped"], peer["held_packets"]) == (0, 0, 0)
