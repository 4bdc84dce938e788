"""The hosts of `airwattd tunnel`: routes, forwarding, privileges, and what is left after every end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

import tunnel_lab
from tunnel_lab import FORWARD, INNER, OUTER, OUTER_V6, left_in_run

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = tunnel_lab.pair


def test_nobody_looks_for_routers_in_an_idle_tunnel(pair):
    """A device with a link-local address solicits routers in its first 12 s, and here all goes into the tunnel.

    What is sent is the handshake of the client's start.
    """
    for end in OUTER:
        pair.write(end, allowed='"0.0.0.0/0", "::/0"' if end == "client" else '"192.0.2.0/24"')
    pair.up("ap")
    pair.up("client")
    await_true(lambda: pair.show("ap")["peers"][0]["datagrams_received"] + pair.show("ap")["peers"][0]["handshakes"])
    sent = {end: pair.show(end)["socket"]["sent"] for end in OUTER}
    # An initiation may have been repeated.
    assert 2 <= sent["client"] <= 4
    time.sleep(15)
    assert {end: pair.show(end)["socket"]["sent"] for end in OUTER} == sent
    assert "inet6 fe80" not in pair.run("client", "ip", "address", "show", "dev", pair.interfaces["client"])


ADVERTISEMENT = """
import socket, sys
router = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("cable"))
# RFC 4861, section 4.2: hop limit 64, a router for half an hour.
router.sendto(bytes([134, 0, 0, 0, 64, 0, 0x07, 0x08]) + bytes(8), ("ff02::1", 0, 0, socket.if_nametoindex("cable")))
"""


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGKILL])
def test_a_host_that_forwards_keeps_its_route_from_a_router_advertisement(pair, with_signal):
    for end, name in pair.names.items():
        call("ip", "-n", name, "address", "add", f"{OUTER_V6[end]}/64", "dev", "cable", "nodad")
        pair.write(end, v6=True)
    setting = "net.ipv6.conf.cable.accept_ra"
    # What an interface that appears later begins with.
    default = "net.ipv6.conf.default.accept_ra"

    def has_route() -> bool:
        return "default" in pair.run("ap", "ip", "-6", "route", "show", "default")

    def advertised() -> bool:
        pair.run("client", sys.executable, "-c", ADVERTISEMENT, check=False)
        return has_route()

    await_true(advertised, 10)
    planned = pair.run("ap", DAEMON, "tunnel", "up", pair.file("ap"), "--dry-run")
    for interface in ("cable", "default", pair.interfaces["ap"]):
        assert f"sysctl -w net.ipv6.conf.{interface}.accept_ra=2\n" in planned, interface
    process = pair.up("ap")
    own = f"net.ipv6.conf.{pair.interfaces['ap']}.accept_ra"
    assert pair.run("ap", "sysctl", "-n", own).strip() == "2"
    assert pair.run("ap", "sysctl", "-n", "net.ipv6.conf.all.forwarding", setting, default).split() == ["1", "2", "2"]
    assert has_route()
    # One that comes and stays, and one that had its own value meanwhile.
    for name in ("later", "other"):
        call("ip", "-n", pair.names["ap"], "link", "add", name, "type", "veth", "peer", "name", f"{name}-end")
    appeared = [f"net.ipv6.conf.{name}.accept_ra" for name in ("later", "later-end", "other")]
    pair.run("ap", "sysctl", "-w", f"{appeared[2]}=0")
    assert pair.run("ap", "sysctl", "-n", *appeared).split() == ["2", "2", "0"]
    process.send_signal(with_signal)
    process.wait()
    settings = ["net.ipv6.conf.all.forwarding", setting, default, *appeared]
    await_true(lambda: pair.run("ap", "sysctl", "-n", *settings).split() == ["0", "1", "1", "1", "1", "0"], 2)
    assert has_route()


def test_a_host_that_forwards_takes_its_first_router_advertisement(pair):
    """At boot a tunnel may be up before the first advertisement, or before the cable is in."""
    for end, name in pair.names.items():
        call("ip", "-n", name, "address", "add", f"{OUTER_V6[end]}/64", "dev", "cable", "nodad")
        pair.write(end, v6=True)

    def has_route() -> bool:
        return "default" in pair.run("ap", "ip", "-6", "route", "show", "default")

    def advertised() -> bool:
        pair.run("client", sys.executable, "-c", ADVERTISEMENT, check=False)
        return has_route()

    process = pair.up("ap")
    assert not has_route()
    await_true(advertised, 10)
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert pair.run("ap", "sysctl", "-n", "net.ipv6.conf.cable.accept_ra").strip() == "1"


@pytest.mark.parametrize(("own", "network"), [("192.0.2.7", "192.0.2.0/24"), ("fd99::7", "fd99::/64")])
def test_a_prefix_that_another_route_leads_to_is_an_error(pair, own, network):
    """A client in the network that it would reach through the tunnel: of two routes of IPv6 the link's is taken."""
    length = network.partition("/")[2]
    call("ip", "-n", pair.names["client"], "address", "add", f"{own}/{length}", "dev", "cable", "nodad")
    pair.write("client", allowed=f'"{network}"')
    words = pair.inside("client", DAEMON, "tunnel", "up", pair.file("client"))
    done = call(*words, check=False)
    assert done.returncode == 1
    first = f"allowed_ips: {network} is reached by another route already, which would come first: {network} dev cable"
    assert first in done.stderr
    assert not pair.has_device("client")
    checked = call(*words, "--check", check=False)
    assert (checked.returncode, first in checked.stderr) == (1, True)
    assert "nothing is wrong with this configuration itself, but on this host" in checked.stderr
    call("ip", "-n", pair.names["client"], "address", "delete", f"{own}/{length}", "dev", "cable")
    pair.up("client")


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_host_is_restored_after_every_end(pair, with_signal):
    assert pair.forwards() == "0"
    process = pair.up("ap")
    assert pair.forwards() == "1"
    assert pair.has_device("ap")
    process.send_signal(with_signal)
    assert process.wait(5) == (-signal.SIGKILL if with_signal == signal.SIGKILL else 0)
    await_true(lambda: pair.forwards() == "0" and not pair.has_device("ap"), 2)
    await_true(lambda: left_in_run(pair) == [], 2)


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGKILL])
def test_a_host_forwards_until_the_last_of_two_tunnels_ends(pair, with_signal):
    first = pair.up("ap")
    file, own = pair.file("ap"), pair.interfaces["ap"]
    other = file.read_text().replace(own, f"{own}b").replace("10.77.0", "10.78.0").replace("4646", "4747")
    file.write_text(other.replace("192.0.2.0/24", "192.0.3.0/24"))
    second = pair.up("ap")
    assert pair.forwards() == "1"
    first.send_signal(with_signal)
    first.wait(5)
    await_true(lambda: left_in_run(pair) == [])
    assert pair.forwards() == "1"
    second.send_signal(with_signal)
    second.wait(5)
    await_true(lambda: pair.forwards() == "0", 2)


def test_the_tunnel_ends_with_its_guardian_and_a_later_one_finds_what_both_left(pair):
    process = pair.up("ap")
    (guardian,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    # As `ps` and `top` have them.
    assert Path(f"/proc/{guardian}/comm").read_text() == "airwattd-guard\n"
    words = Path(f"/proc/{guardian}/cmdline").read_text().split("\0")
    assert words[:4] == [str(DAEMON), "tunnel", "guard", pair.interfaces["ap"]]
    os.kill(int(guardian), signal.SIGKILL)
    assert process.wait(5) == 1
    assert "the guardian: it has ended" in process.stderr.read()
    assert pair.forwards() == "0"
    process = pair.up("ap")
    (guardian,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGSTOP)
    os.kill(int(guardian), signal.SIGKILL)
    process.kill()
    process.wait()
    assert pair.forwards() == "1"
    pair.run("ap", DAEMON, "tunnel", "restore", pair.interfaces["ap"])
    assert pair.forwards() == "0"


def test_a_late_guardian_leaves_the_next_tunnel_alone(pair):
    process = pair.up("ap")
    (guardian,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(guardian), signal.SIGSTOP)
    process.kill()
    process.wait()
    pair.up("ap")
    os.kill(int(guardian), signal.SIGCONT)
    # Nobody waits for it here: it stays as a zombie where this process is its parent.
    await_true(
        lambda: not Path(f"/proc/{guardian}/cmdline").exists() or not Path(f"/proc/{guardian}/cmdline").read_bytes()
    )
    assert pair.forwards() == "1"
    assert pair.has_device("ap")
    assert pair.show("ap")["peers"]


def test_of_tunnels_started_at_the_same_time_one_runs(pair):
    words = ["ip", "netns", "exec", pair.names["ap"], str(DAEMON), "tunnel", "up", str(pair.file("ap"))]
    started = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    pair.running += started
    await_true(lambda: sum(process.poll() is not None for process in started) == 5)
    refused = [process for process in started if process.poll() is not None]
    assert {process.returncode for process in refused} == {5}
    assert all("another daemon listens there" in process.stderr.read() for process in refused)
    assert pair.show("ap")["peers"]
    assert pair.forwards() == "1"


# A process that was killed while another one has its socket, for as long as the argument says.
KILLED = """
import os, signal, socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
if os.fork() == 0:
    time.sleep(float(sys.argv[2]))
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_start_waits_for_the_socket_of_a_daemon_that_was_killed(pair):
    """As in the moment in which the kernel has killed a process and not closed its files."""
    Path("/run/airwatt").mkdir(mode=0o700, exist_ok=True)
    namespace = Path(f"/run/netns/{pair.names['ap']}").stat().st_ino
    path = f"/run/airwatt/tunnel-{pair.interfaces['ap']}.{namespace}.sock"
    killed = subprocess.run([sys.executable, "-c", KILLED, path, "0.7"], check=False)
    assert killed.returncode == -signal.SIGKILL
    began = time.monotonic()
    pair.up("ap")
    assert time.monotonic() - began > 0.3
    assert pair.show("ap")["peers"]


def test_only_the_privilege_for_restoring_stays(pair):
    process = pair.up("ap")
    (guardian,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for one in (process.pid, guardian):
        lines = Path(f"/proc/{one}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        net_admin = f"{1 << 12:016x}"
        assert [status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd")] == [net_admin] * 3
        assert status["NoNewPrivs"].strip() == "1"
        assert status["Seccomp"].strip() == "2"


def test_two_namespaces_may_have_an_interface_of_one_name(pair):
    name = f"aw{os.getpid() % 100_000}"
    pair.interfaces = dict.fromkeys(OUTER, name)
    for end in OUTER:
        pair.write(end)
        pair.up(end)
    assert pair.ping()
    for end in OUTER:
        assert INNER[end] in pair.run(end, "ip", "-br", "address")
        (shown,) = json.loads(pair.run(end, DAEMON, "tunnel", "show", name, "--json"))["tunnels"]
        assert shown["interface"] == name
    both = json.loads(call(DAEMON, "tunnel", "show", "--json").stdout)["tunnels"]
    assert [tunnel["interface"] for tunnel in both].count(name) == 2
    for end in OUTER:
        first = json.loads(pair.run(end, DAEMON, "tunnel", "show", "--json"))["tunnels"][0]
        assert (first["interface"], first["namespace"]) == (name, None), "the own one comes first"
    unclear = call(DAEMON, "tunnel", "show", name, check=False)
    assert (unclear.returncode, len(unclear.stderr.splitlines())) == (1, 1)
    assert "in other network namespaces" in unclear.stderr
    # Ending one leaves the other alone.
    pair.run("client", DAEMON, "tunnel", "down", pair.file("client"))
    assert not pair.has_device("client")
    client = ("ip", "netns", "exec", pair.names["client"])
    again = call(*client, DAEMON, "tunnel", "down", pair.file("client"), check=False)
    assert (again.returncode, len(again.stderr.splitlines())) == (1, 1)
    assert f"one runs in {pair.names['ap']}; hint: ip netns exec {pair.names['ap']} airwattd" in again.stderr
    assert pair.has_device("ap")


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGKILL])
def test_all_destinations_go_through_the_tunnel_but_its_own_packets(pair, with_signal):
    before = pair.run("client", "ip", "rule")
    pair.write("client", allowed='"0.0.0.0/0"')
    pair.up("ap")
    process = pair.up("client")
    # An address that only the other end has, reached by no route of this host.
    pair.run("ap", "ip", "address", "add", "203.0.113.7/32", "dev", "lo")
    assert pair.ping(target="203.0.113.7")
    rules = pair.run("client", "ip", "rule")
    assert "not from all fwmark 0x1226 lookup 4646" in rules
    assert "lookup main suppress_prefixlength 0" in rules
    assert "fwmark: 4646" in call(DAEMON, "tunnel", "show", pair.interfaces["client"]).stdout
    if with_signal == signal.SIGTERM:
        assert (
            call("ip", "netns", "exec", pair.names["client"], DAEMON, "tunnel", "down", pair.file("client")).stdout
            == ""
        )
        assert process.wait(5) == 0
    else:
        process.kill()
        process.wait()
    await_true(lambda: pair.run("client", "ip", "rule") == before and not pair.has_device("client"), 2)
    # Where nothing runs, there is nothing to end.
    call("ip", "netns", "exec", pair.names["client"], DAEMON, "tunnel", "down", pair.file("client"))


@pytest.mark.parametrize("asks", ["kernel", "firewall"])
def test_a_host_that_validates_sources_strictly_hears_a_peer_behind_a_router(pair, asks):
    """By the tables without the mark the way back to the peer is the tunnel, so that its datagrams were dropped."""
    far = "198.51.100.1"
    pair.run("ap", "ip", "address", "add", f"{far}/32", "dev", "lo")
    pair.run("client", "ip", "route", "add", "default", "via", OUTER["ap"])
    if asks == "kernel":
        for name in ("all", "cable"):
            pair.run("client", "sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=1")
    else:
        # As firewalld has it.
        lookup = "fib saddr . mark . iif oif missing drop"
        chain = "chain rpfilter { type filter hook prerouting priority -140; " + lookup + "; }"
        pair.run("client", "nft", "table inet firewall { " + chain + "; }")
    pair.write("client", allowed='"0.0.0.0/0"')
    for end in ("client", "ap"):
        pair.file(end).write_text(pair.file(end).read_text().replace(f"{OUTER['ap']}:", f"{far}:"))
    tables = pair.run("client", "nft", "list", "tables")
    pair.up("ap")
    process = pair.up("client")
    assert pair.ping()
    process.send_signal(signal.SIGKILL)
    process.wait()
    await_true(lambda: pair.run("client", "nft", "list", "tables") == tables and not pair.has_device("client"), 2)


@pytest.mark.parametrize("lost", ["rules", "interface"])
def test_what_leads_packets_into_the_tunnel_is_made_again(pair, lost):
    """A network manager that starts removes rules that it does not know; an interface goes down and up."""
    pair.write("client", allowed='"0.0.0.0/0", "::/0"')
    before = pair.run("client", "ip", "rule"), pair.run("client", "ip", "-6", "rule")
    pair.up("ap")
    process = pair.up("client")
    pair.run("ap", "ip", "address", "add", "203.0.113.7/32", "dev", "lo")
    assert pair.ping(target="203.0.113.7")
    state = [("rule",), ("-6", "rule"), ("route", "show", "table", "4646"), ("-6", "route", "show", "table", "4646")]
    made = [pair.run("client", "ip", *words) for words in state]
    if lost == "rules":
        for family in ("-4", "-6"):
            for priority in (32_764, 32_765):
                pair.run("client", "ip", family, "rule", "delete", "priority", priority)
    else:
        pair.run("client", "ip", "link", "set", pair.interfaces["client"], "down")
        pair.run("client", "ip", "link", "set", pair.interfaces["client"], "up")
    await_true(lambda: [pair.run("client", "ip", *words) for words in state] == made, 2)
    assert pair.ping(target="203.0.113.7")
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0
    said = process.stderr.read()
    assert said.count("somebody has removed what leads packets here; made again") == (4 if lost == "rules" else 3), said
    assert (pair.run("client", "ip", "rule"), pair.run("client", "ip", "-6", "rule")) == before


def test_restore_says_what_it_found_and_where(pair):
    """In the wrong network namespace it says so, too: interfaces of two namespaces may have one name."""
    pair.write("ap")
    process = pair.up("ap")
    name = pair.interfaces["ap"]
    inode = pair.run("ap", "stat", "-Lc", "%i", "/proc/self/ns/net").strip()
    running = call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "restore", name)
    assert (
        running.stderr == f"tunnel {name} in this network namespace (net:[{inode}]): is running; nothing was undone\n"
    )
    elsewhere = call("ip", "netns", "exec", pair.names["client"], DAEMON, "tunnel", "restore", name)
    assert elsewhere.stderr.endswith("): nothing to restore\n"), "the changes of one that runs are no work"
    # The guardian is killed first, so that nobody restores the host.
    (guardian,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(int(guardian), signal.SIGKILL)
    process.kill()
    process.wait()
    elsewhere = call("ip", "netns", "exec", pair.names["client"], DAEMON, "tunnel", "restore", name)
    here, hint = elsewhere.stderr.splitlines()
    assert re.fullmatch(rf"tunnel {name} in this network namespace \(net:\[\d+\]\): nothing to restore", here)
    place = pair.names["ap"]
    command = f"ip netns exec {place} airwattd tunnel restore {name}"
    assert hint == f"{place} has changes of a tunnel of this name; hint: {command}"
    # The next tunnel, of whatever network namespace, clears its socket away.
    socket = Path(f"/run/airwatt/tunnel-{name}.{inode}.sock")
    assert socket.exists()
    pair.write("client")
    pair.up("client")
    assert not socket.exists()
    restored = call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "restore", name)
    assert restored.stderr.endswith(f"(net:[{inode}]): undone: sysctl -w {FORWARD}=1\n"), restored.stderr
    # One that was killed while it wrote its first change down has changed nothing. It leaves the draft of its log.
    draft = Path(f"/run/airwatt/tunnel-{name}.{inode}.jsonl.new")
    draft.touch(mode=0o600)
    nothing = call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "restore", name)
    assert nothing.stderr.endswith("): nothing to restore\n")
    assert not draft.exists()
    assert pair.run("ap", "sysctl", "-n", FORWARD) == "0\n"


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGKILL])
def test_settings_that_the_kernel_resets_with_forwarding_are_restored(pair, with_signal):
    """A host that stops forwarding accepts redirects again, and no interface of it forwards by itself."""
    settings = "net.ipv4.conf.all.accept_redirects=0", "net.ipv4.conf.cable.forwarding=1"
    pair.run("ap", "sysctl", "-qw", *settings)

    def observed() -> str:
        return "".join(
            line for line in pair.run("ap", "sysctl", "-a").splitlines(keepends=True) if line.startswith("net.ipv")
        )

    before = observed()
    pair.write("ap")
    process = pair.up("ap")
    assert pair.run("ap", "sysctl", "-n", FORWARD) == "1\n"
    process.send_signal(with_signal)
    process.wait(5)
    await_true(lambda: pair.run("ap", "sysctl", "-n", FORWARD) == "0\n")
    await_true(lambda: observed() == before, 2, "the settings of before")
