"""The MTU of a tunnel follows its datagrams' path: down if a router or an interface carries less, and up again."""

import contextlib
import time
from collections.abc import Iterator

import pytest
from lab import await_true, call, missing

import tunnel_lab
from tunnel_lab import INNER, INNER_V6, OUTER

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = tunnel_lab.pair
HEADERS = 64
WIDE, NARROW = 1_500, 1_300
ROUTER = {"client": "10.98.1.1", "ap": "10.98.2.1"}
# Seconds after which these kernels forget what a router has reported; 600 without the setting.
FORGOTTEN_AFTER_S = 8


@contextlib.contextmanager
def router(pair) -> Iterator[str]:
    """Puts a router between the hosts. Its link to the access point is the device `ap`."""
    name = pair.names["client"].replace("client", "router")
    call("ip", "netns", "add", name)
    try:
        call("ip", "-n", pair.names["client"], "link", "delete", "cable")
        for end, host in pair.names.items():
            call("ip", "-n", host, "link", "add", "cable", "type", "veth", "peer", "name", end, "netns", name)
            call("ip", "-n", host, "address", "add", f"{OUTER[end]}/32", "dev", "cable")
            call("ip", "-n", host, "link", "set", "cable", "up")
            call("ip", "-n", host, "route", "add", ROUTER[end], "dev", "cable")
            call("ip", "-n", host, "route", "add", "default", "via", ROUTER[end], "dev", "cable")
            call("ip", "-n", name, "address", "add", f"{ROUTER[end]}/32", "dev", end)
            call("ip", "-n", name, "link", "set", end, "up")
            call("ip", "-n", name, "route", "add", OUTER[end], "dev", end)
            pair.run(end, "sysctl", "-qw", f"net.ipv4.route.mtu_expires={FORGOTTEN_AFTER_S}")
        call("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield name
    finally:
        call("ip", "netns", "delete", name)


def too_large(router: str) -> int:
    """Packets of which the router has reported that they do not fit."""
    names, numbers = call("ip", "netns", "exec", router, "grep", "^IcmpMsg:", "/proc/net/snmp").stdout.splitlines()
    return int(dict(zip(names.split(), numbers.split(), strict=True))["OutType3"])


def set_mtu(mtu: int, *links: tuple[str, str]) -> None:
    for namespace, device in links:
        call("ip", "-n", namespace, "link", "set", device, "mtu", mtu)


def await_mtu(pair, mtu: int, seconds: float) -> None:
    """Has packets in the tunnel until the client's MTU is that, for so long at most."""
    await_true(
        lambda: pair.ping() and pair.show("client")["mtu_bytes"] == mtu,
        seconds,
        f"the MTU is not {mtu}",
        interval=0.2,
    )
    assert f"mtu {mtu} " in pair.run("client", "ip", "link", "show", pair.interfaces["client"])


def test_the_mtu_follows_a_router_down_and_up(pair):
    with router(pair) as name:
        narrow_link = ((name, "ap"), (pair.names["ap"], "cable"))
        set_mtu(NARROW, *narrow_link)
        pair.up("ap")
        pair.up("client")
        # Segments of TCP fit from the beginning, because the access point knows its own interface.
        full = ("ping", "-c", "1", "-W", "1", "-s", WIDE - HEADERS - 28, INNER["ap"])
        await_true(lambda: pair.run("client", *full, check=False) and too_large(name) > 0)
        await_mtu(pair, NARROW - HEADERS, 5)
        # The kernel forgets the report, and a probe renews it before a packet is lost.
        before = too_large(name)
        await_true(lambda: pair.ping() and too_large(name) > before, 2 * FORGOTTEN_AFTER_S, interval=0.2)
        time.sleep(1.1)
        await_mtu(pair, NARROW - HEADERS, 2)
        assert too_large(name) == before + 1
        set_mtu(WIDE, *narrow_link)
        # An idle tunnel sends no probe, and does not wake up for one; triggers follow the last packets for a while.
        time.sleep(2)
        assert pair.is_silent_for(FORGOTTEN_AFTER_S)
        assert pair.show("client")["mtu_bytes"] == NARROW - HEADERS
        await_mtu(pair, WIDE - HEADERS, 15)
        assert pair.show("ap")["strange_datagrams"] == 0, "the probes are known"
        pair.carry(200_000)
        assert pair.show("client")["mtu_bytes"] == WIDE - HEADERS


def test_the_mtu_follows_an_interface_up(pair):
    cable = [(name, "cable") for name in pair.names.values()]
    set_mtu(NARROW, *cable)
    pair.up("ap")
    pair.up("client")
    pair.carry(200_000)
    assert pair.show("client")["mtu_bytes"] == NARROW - HEADERS
    set_mtu(WIDE, *cable)
    await_mtu(pair, WIDE - HEADERS, 10)
    # As large as the tunnel has a use for, which is less than this.
    set_mtu(9_000, *cable)
    pair.carry(200_000)
    assert pair.show("client")["mtu_bytes"] == WIDE - HEADERS


def test_packets_are_whole_again_when_the_path_has_room_for_1280_bytes(pair):
    for end in OUTER:
        text = pair.file(end).read_text().replace("addresses = [", f'addresses = ["{INNER_V6[end]}/64", ')
        other = INNER_V6["ap" if end == "client" else "client"]
        pair.file(end).write_text(text.replace("allowed_ips = [", f'allowed_ips = ["{other}/128", '))
    cable = [(name, "cable") for name in pair.names.values()]
    set_mtu(NARROW, *cable)
    pair.up("ap")
    pair.up("client")
    pair.carry(200_000)

    def fragments_after_full_packets() -> int:
        pair.run("client", "ping", "-c", "4", "-W", "5", "-s", 1_280 - 28, INNER["ap"])
        return int(pair.run("client", "sh", "-c", "grep ^Ip: /proc/net/snmp | tail -n 1 | cut -d' ' -f 20"))

    before = fragments_after_full_packets()
    assert before > 0
    set_mtu(WIDE, *cable)
    await_mtu(pair, WIDE - HEADERS, 10)
    # Fragments of the time before are in the same counter.
    begin = fragments_after_full_packets()
    assert fragments_after_full_packets() == begin
