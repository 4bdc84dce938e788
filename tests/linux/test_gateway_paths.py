"""`airwattd gateway` over hops that carry less than Ethernet: the kernel knows it, or long packets vanish silently."""

import signal
import time

import pytest
from lab import call, missing

from gateway_lab import MOBILE_V6, PORT, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

BYTES = 300_000


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        yield lab


def warnings(lab: Lab, end: str) -> list[str]:
    """Ends a gateway and returns what it has warned of."""
    process = lab.running.pop(end)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=15)
    return [line for line in said.splitlines() if "WARN" in line]


def mtu_of(lab: Lab, end: str) -> int:
    return lab.status(end)["peers"][0]["mtu_bytes"]


def narrow(lab: Lab, mtu: int) -> None:
    for end in ("base", "mobile"):
        call("ip", "-n", lab.names[end], "link", "set", "air", "mtu", mtu)


def test_connections_pass_a_hop_whose_interfaces_carry_less(lab):
    narrow(lab, 1_400)
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(BYTES) == "{'same': 1}\n"
    assert [mtu_of(lab, end) for end in ("base", "mobile")] == [1_400, 1_400]
    assert lab.status("mobile")["connections_passed"] == 0
    for end in ("base", "mobile"):
        (line,) = warnings(lab, end)
        assert "the path carries smaller packets" in line, line
        assert "mtu=1400" in line, line


def test_a_connection_goes_on_when_its_hop_becomes_narrower(lab):
    lab.up("base", "mobile")
    lab.serve()
    # The bytes take several seconds at the rate of the hop.
    for end in ("base", "mobile"):
        rate = ("rate", "2mbit", "burst", "10k", "limit", "100k")
        call("tc", "-n", lab.names[end], "qdisc", "add", "dev", "air", "root", "tbf", *rate)
    running = lab.start("mobile", *lab.echo_words(BYTES), stdout=-1, text=True)
    time.sleep(0.5)
    assert mtu_of(lab, "mobile") == 1_500
    narrow(lab, 1_300)
    assert running.communicate(timeout=30)[0] == "{'same': 1}\n"
    assert [mtu_of(lab, end) for end in ("base", "mobile")] == [1_300, 1_300]


def test_long_packets_that_vanish_are_followed_by_shorter_ones(lab):
    for end, port in (("base", "dport"), ("mobile", "sport")):
        # A bundle that the device is to divide is longer than its datagrams.
        lab.run(end, "ethtool", "-K", "air", "gro", "off", "gso", "off", "tso", "off", "tx-udp-segmentation", "off")
        for rule in (
            "table inet hole",
            "chain inet hole in { type filter hook prerouting priority -300 ; }",
            f"rule inet hole in iifname air udp {port} {PORT} meta length > 1400 drop",
        ):
            lab.run(end, "nft", "add", *rule.split())
    lab.up("base", "mobile")
    lab.serve()
    began = time.monotonic()
    assert lab.echo(BYTES) == "{'same': 1}\n"
    assert lab.echo(BYTES) == "{'same': 1}\n"
    assert time.monotonic() - began < 15
    assert [mtu_of(lab, end) for end in ("base", "mobile")] == [1_151, 1_151]
    for end in ("base", "mobile"):
        (line,) = warnings(lab, end)
        assert "long packets do not arrive" in line, line


def test_a_hop_of_ipv6_that_carries_less(lab):
    lab.write("mobile", endpoint=f"[fd97::fe]:{PORT}")
    text = lab.file("base").read_text()
    lab.file("base").write_text(text.replace('listen = "10.97.0.254:', 'listen = "[::]:'))
    narrow(lab, 1_400)
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(BYTES) == "{'same': 1}\n"
    assert [mtu_of(lab, end) for end in ("base", "mobile")] == [1_400, 1_400]
    assert lab.status("base")["peers"][0]["endpoint"].startswith(f"[{MOBILE_V6}]")
