"""`airwattd tunnel` over SCTP: between two daemons, and with the SCTP of others: usrsctp and Linux' own."""

import socket
import sys
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

import test_tunnel
from debian_kernel import passes_there
from test_tunnel import INNER, OUTER

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = test_tunnel.pair
HERE = Path(__file__).parent
# RFC 6951; also the port of SCTP at either end.
UDP_PORT = 9899
TSCTP = Path("/usr/lib/usrsctp/tsctp")


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
    client, _ = pair.settled()
    assert client["association"] == association
    # Ethernet's 1,500 less IP 20, UDP 8, SCTP 12, chunk headers 16, 16 and 8, and what encryption adds.
    assert client["mtu_bytes"] == 1_500 - 80 - (0 if plain else 32)
    assert client["peers"][0]["packets_sent"] > 200
    # What nobody counts is no zero.
    printed = call(DAEMON, "tunnel", "show", pair.interfaces["client"], "--metrics").stdout.splitlines()
    assert not any(line.startswith("airwatt_tunnel_datagrams_lost_total{") for line in printed)
    (repeated,) = [line for line in printed if line.startswith("airwatt_tunnel_datagrams_repeated_total{")]
    assert int(repeated.split()[-1]) == client["peers"][0]["datagrams_repeated"]
    await_true(lambda: pair.is_silent_for(0.7), 20)


@pytest.mark.parametrize("sctp", ["client", "ap"])
def test_two_daemons_with_different_associations_say_so(pair, sctp):
    for end in OUTER:
        pair.write(end, 'association = "sctp", burst = 4, hold = "10ms"' if end == sctp else "burst = 1")
    processes = {end: pair.up(end) for end in OUTER}
    assert not pair.ping(attempts=3)
    counts = {end: pair.show(end) for end in OUTER}
    assert counts["ap"]["peers"][0]["datagrams_other_form"] > 0, counts
    assert counts["ap"]["strange_datagrams"] == 0
    shown = call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
    assert "datagrams in the form of another association" in shown
    processes["ap"].terminate()
    assert processes["ap"].communicate(timeout=10)[1].count("`association`") == 1


@pytest.mark.long
@pytest.mark.skipif(not TSCTP.exists(), reason="libusrsctp-examples is not installed")
def test_usrsctp_takes_what_the_tunnel_sends(pair):
    towards_others(pair)
    # It prints less than its pipe takes.
    with pair.program("ap", TSCTP, "-E", UDP_PORT, "-U", UDP_PORT, "-p", UDP_PORT, "-L", OUTER["ap"]):
        pair.up("client")
        pair.ping(attempts=60)
        await_true(lambda: pair.show("client")["peers"][0]["held_packets"] == 0)
        (peer,) = pair.show("client")["peers"]
        # tsctp discards messages and acknowledges them: others would be repeated and given up.
        assert peer["packets_sent"] >= 50
        assert peer["datagrams_received"] > 5
        assert (peer["datagrams_repeated"], peer["dropped"], peer["held_packets"]) == (0, 0, 0)


def has_sctp() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


@pytest.mark.long
@pytest.mark.skipif(not has_sctp(), reason="this kernel has no SCTP")
def test_this_kernels_sctp_is_the_other_end(pair):
    towards_others(pair)
    for setting in ("udp_port", "encap_port"):
        pair.run("ap", "sysctl", "-q", "-w", f"net.sctp.{setting}={UDP_PORT}")
    # Linux 6.1 panics if several datagrams reach its SCTP as one packet, as only a virtual cable lets them.
    pair.run("client", "ethtool", "-K", "cable", "tx-udp-segmentation", "off", "gso", "off")
    with pair.program("ap", sys.executable, HERE / "sctp_peer.py", f"{INNER['ap']}/24", OUTER["ap"], UDP_PORT) as peer:
        assert peer.stdout.readline() == "ready\n"
        pair.up("client")
        assert all(pair.ping(attempts=30) for _ in range(20))
        pair.carry(100_000)
        (counts,) = pair.show("client")["peers"]
    assert counts["packets_sent"] > 20 + 70
    assert counts["packets_delivered"] > 20
    assert (counts["dropped"], counts["held_packets"]) == (0, 0)


@pytest.mark.long
@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")
def test_debians_kernel_is_the_other_end():
    words = ("tests/linux/test_tunnel_sctp.py", "-k", "this_kernels")
    assert "1 passed" in passes_there(*words, module="sctp")
