"""`airwattd tunnel` between two hosts: encrypted bursts, silence when idle, strangers, restarts, changes of address,
and the host restored after every end."""

import contextlib
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

OUTER = {"client": "10.98.0.2", "ap": "10.98.0.1"}
INNER = {"client": "10.77.0.2", "ap": "10.77.0.1"}
OUTER_V6 = {"client": "fd98::2", "ap": "fd98::1"}
INNER_V6 = {"client": "fd77::2", "ap": "fd77::1"}
# RFC 7748, section 6.1, in base64: the private keys of Alice and Bob, and their public keys.
KEYS = {
    "client": ("dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=", "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="),
    "ap": ("XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=", "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="),
}
PORT = 4646
FORWARD = "net.ipv4.ip_forward"


class Pair:
    """Two hosts with a cable between them, and a tunnel in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.names = {end: f"airwatt-{end}-{os.getpid()}" for end in OUTER}
        self.interfaces = {end: f"aw{end}{os.getpid() % 100_000}" for end in OUTER}
        self.running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> "Pair":
        for name in self.names.values():
            call("ip", "netns", "add", name)
            call("ip", "-n", name, "link", "set", "lo", "up")
        client, ap = self.names["client"], self.names["ap"]
        call("ip", "-n", client, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", ap)
        for end, name in self.names.items():
            call("ip", "-n", name, "address", "add", f"{OUTER[end]}/24", "dev", "cable")
            call("ip", "-n", name, "link", "set", "cable", "up")
            self.write(end)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            process.kill()
            process.communicate()
        # The addresses of the peers are kept after a kill.
        for file in Path("/run").glob(f"airwatt/tunnel-{self.interfaces['ap']}.*.peers"):
            file.unlink()
        for name in self.names.values():
            call("ip", "netns", "delete", name)

    def file(self, end: str) -> Path:
        return self.folder / f"{end}.toml"

    def write(
        self,
        end: str,
        tunnel: str = 'burst = 4, hold = "10ms"',
        *,
        extra_peer: str = "",
        top: str = "",
        allowed: str = '"192.0.2.0/24"',
        v6: bool = False,
        plain: bool = False,
    ) -> None:
        other = "ap" if end == "client" else "client"
        outer, inner, length = (OUTER_V6, INNER_V6, 64) if v6 else (OUTER, INNER, 24)
        address = {name: f"[{outer[name]}]:{PORT}" if v6 else f"{outer[name]}:{PORT}" for name in OUTER}
        own = "" if plain else f'private_key = "{KEYS[end][0]}"'
        its = "" if plain else f'public_key = "{KEYS[other][1]}"'
        self.file(end).write_text(
            f"""
            interface = "{self.interfaces[end]}"
            addresses = ["{inner[end]}/{length}"]
            end = "{"client" if end == "client" else "concentrator"}"
            {own}
            {f'listen = "{address[end]}"' if end == "ap" else ""}
            {"forward = true" if end == "ap" else ""}
            {top}
            tunnel = {{ {"plain = true," if plain else ""} {tunnel} }}
            [[peer]]
            name = "{other}"
            {its}
            {f'endpoint = "{address[other]}"' if end == "client" else ""}
            allowed_ips = ["{inner[other]}/{128 if v6 else 32}", {allowed}]
            {extra_peer}
            """
        )
        self.file(end).chmod(0o600)

    def run(self, end: str, *command: object, check: bool = True) -> str:
        return call("ip", "netns", "exec", self.names[end], *command, check=check).stdout

    @contextlib.contextmanager
    def program(self, end: str, *command: object) -> Iterator[subprocess.Popen[str]]:
        """A program at one end with pipes for input and output; it is killed at the end."""
        words = ["ip", "netns", "exec", self.names[end], *map(str, command)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def up(self, end: str) -> subprocess.Popen[str]:
        words = ["ip", "netns", "exec", self.names[end], str(DAEMON), "tunnel", "up", str(self.file(end)), "-v"]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        assert process.stderr is not None
        # The one line that says so; what comes after it is read by those who want it.
        line = process.stderr.readline()
        while "tunnel is up" not in line:
            assert line, f"the tunnel of {end} ended with {process.wait()}"
            line = process.stderr.readline()
        return process

    def ping(self, source: str = INNER["client"], attempts: int = 10, target: str = INNER["ap"]) -> bool:
        words = [sys.executable, "-c", PING, target, source, attempts]
        return call("ip", "netns", "exec", self.names["client"], *words, check=False).returncode == 0

    def carry(self, length: int) -> None:
        """Sends this many bytes from the client to the access point by TCP; they have to arrive unchanged."""
        data = random.Random(1).randbytes(length)
        file = self.folder / "data"
        file.write_bytes(data)
        serving = ["ip", "netns", "exec", self.names["ap"], sys.executable, "-c", SERVE, INNER["ap"]]
        with subprocess.Popen(serving) as server:
            answer = self.run("client", sys.executable, "-c", SEND, INNER["ap"], file)
            assert answer.strip() == hashlib.sha256(data).hexdigest()
            assert server.wait(10) == 0

    def show(self, end: str) -> dict:
        return json.loads(call(DAEMON, "tunnel", "show", self.interfaces[end], "--json").stdout)["tunnels"][0]

    def settled(self) -> tuple[dict, dict]:
        """Both reports, once the access point has delivered all that the client sent."""

        def reports():
            client, ap = self.show("client"), self.show("ap")
            arrived = ap["peers"][0]["packets_delivered"] == client["peers"][0]["packets_sent"]
            return (client, ap) if arrived else None

        return await_true(reports)

    def is_silent_for(self, seconds: float) -> bool:
        """Whether no timeout is served for this time at either end."""
        before = [self.show(end)["wakeups"] for end in OUTER]
        time.sleep(seconds)
        return [self.show(end)["wakeups"] for end in OUTER] == before

    def forwards(self) -> str:
        return self.run("ap", "sysctl", "-n", FORWARD).strip()

    def has_device(self, end: str) -> bool:
        return self.interfaces[end] in self.run(end, "ip", "-br", "link")


@pytest.fixture
def pair(tmp_path):
    with Pair(tmp_path) as pair:
        yield pair


# A datagram to a closed port: the answer of the other kernel (ICMP) is an error of the socket.
PING = """
import socket, sys
here = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
here.settimeout(0.3)
here.bind((sys.argv[2], 0))
here.connect((sys.argv[1], 9))
for attempt in range(int(sys.argv[3])):
    try:
        here.send(b"x")
        here.recv(10)
    except ConnectionRefusedError:
        break
    except TimeoutError:
        pass
else:
    raise SystemExit("no answer")
"""
SERVE = """
import hashlib, socket, sys
here = socket.create_server((sys.argv[1], 5000))
stream, _ = here.accept()
digest = hashlib.sha256()
while data := stream.recv(1 << 16):
    digest.update(data)
stream.sendall(digest.hexdigest().encode())
"""
SEND = """
import socket, sys, time
for attempt in range(100):
    try:
        stream = socket.create_connection((sys.argv[1], 5000))
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
stream.sendall(open(sys.argv[2], "rb").read())
stream.shutdown(socket.SHUT_WR)
print(stream.recv(100).decode())
"""


def test_packets_cross_in_bursts_and_an_idle_tunnel_never_wakes(pair):
    pair.write("client", top='radio = "ar5004"')
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    pair.carry(1_000_000)
    client, ap = pair.settled()
    (sent,), (received,) = client["peers"], ap["peers"]
    assert sent["packets_sent"] > 600
    assert sent["bursts_full"] + sent["bursts_awake"] > 10 * sent["bursts_timed_out"] > 0
    # Runs of datagrams of equal size leave with one system call.
    assert client["socket"]["send_calls"] < 0.6 * client["socket"]["sent"]
    # The concentrator learnt the client's address from its datagrams.
    assert received["endpoint"].startswith(f"{OUTER['client']}:")
    shown = call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
    assert f"peer: client\n  public key: {KEYS['client'][1]}\n" in shown
    assert "latest handshake: " in shown
    # A wake-up of this radio takes 1 ms at 1.4 W, and sleeping 1 us at 0.8 W.
    assert sent["saved_j"] == pytest.approx([wakeups * 1.4008e-3 for wakeups in sent["saved_wakeups"]])
    assert "J by radio ar5004" in call(DAEMON, "tunnel", "show", pair.interfaces["client"]).stdout
    every = json.loads(call(DAEMON, "tunnel", "show", "--json").stdout)
    assert {pair.interfaces[end] for end in OUTER} <= {tunnel["interface"] for tunnel in every["tunnels"]}
    assert (sent["handshakes"], received["refused_sources"], ap["strange_datagrams"]) == (1, 0, 0)
    # The estimated rate of the peer, and triggers with it, fade within some seconds; then nothing wakes up any more.
    await_true(lambda: pair.is_silent_for(0.7), 20)


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


@pytest.mark.long
def test_an_idle_tunnel_sends_no_datagram_for_ten_minutes(pair):
    """It has been used before, so that there are sessions, whose keys are dropped after nine minutes."""
    for end in OUTER:
        pair.write(end, allowed='"0.0.0.0/0", "::/0"' if end == "client" else '"192.0.2.0/24"')
        pair.up(end)
    assert pair.ping()
    time.sleep(5)

    def datagrams() -> list[int]:
        """What the daemons have sent, and what the kernels have sent by UDP."""
        lines = [pair.run(end, "cat", "/proc/net/snmp") for end in OUTER]
        by_kernel = [int(re.findall(r"Udp: (\d.*)", line)[0].split()[3]) for line in lines]
        return [pair.show(end)["socket"]["sent"] for end in OUTER] + by_kernel

    before = datagrams()
    assert min(before) > 0
    time.sleep(600)
    assert datagrams() == before


ADVERTISEMENT = """
import socket, sys
router = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("cable"))
# RFC 4861, section 4.2: hop limit 64, a router for half an hour.
router.sendto(bytes([134, 0, 0, 0, 64, 0, 0x07, 0x08]) + bytes(8), ("ff02::1", 0, 0, socket.if_nametoindex("cable")))
"""


def test_a_host_that_forwards_keeps_its_route_from_a_router_advertisement(pair):
    for end, name in pair.names.items():
        call("ip", "-n", name, "address", "add", f"{OUTER_V6[end]}/64", "dev", "cable", "nodad")
        pair.write(end, v6=True)
    setting = "net.ipv6.conf.cable.accept_ra"

    def has_route() -> bool:
        return "default" in pair.run("ap", "ip", "-6", "route", "show", "default")

    def advertised() -> bool:
        pair.run("client", sys.executable, "-c", ADVERTISEMENT, check=False)
        return has_route()

    await_true(advertised, 10)
    process = pair.up("ap")
    assert pair.run("ap", "sysctl", "-n", "net.ipv6.conf.all.forwarding", setting).split() == ["1", "2"]
    assert has_route()
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert pair.run("ap", "sysctl", "-n", "net.ipv6.conf.all.forwarding", setting).split() == ["0", "1"]
    assert has_route()


def left_in_run(pair) -> list[str]:
    """The endings of the files of the concentrator's tunnel."""
    return sorted(path.suffix for path in Path("/run").glob(f"airwatt/tunnel-{pair.interfaces['ap']}.*"))


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


def test_the_tunnel_ends_with_its_guardian_and_a_later_one_finds_what_both_left(pair):
    process = pair.up("ap")
    (guardian,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
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
    assert {process.returncode for process in refused} == {1}
    assert all("another daemon listens there" in process.stderr.read() for process in refused)
    assert pair.show("ap")["peers"]
    assert pair.forwards() == "1"


def test_only_the_privilege_for_restoring_stays(pair):
    process = pair.up("ap")
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":" in line
    )
    net_admin = f"{1 << 12:016x}"
    assert [status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd")] == [net_admin] * 3
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"


def test_a_wrong_key_is_named_after_three_handshakes(pair):
    text = pair.file("client").read_text()
    pair.file("client").write_text(text.replace(KEYS["ap"][1], KEYS["client"][0]))
    pair.up("ap")
    client = pair.up("client")
    assert not pair.ping(attempts=1)
    await_true(lambda: pair.show("client")["peers"][0]["unanswered"] > 3, what="three handshakes")
    shown = call(DAEMON, "tunnel", "show", pair.interfaces["client"]).stdout
    assert re.search(r"no answer to the last \d+ handshakes: .* or the keys of the two ends do not fit", shown, re.S)
    assert max(map(len, shown.splitlines())) <= 80
    client.send_signal(signal.SIGTERM)
    _, log = client.communicate(timeout=10)
    assert log.count("no answer to handshakes") == 1


def test_a_name_is_resolved_again_while_the_peer_is_silent(pair):
    # ip-netns(8) shows programs these files in place of those in /etc.
    folder = Path("/etc/netns", pair.names["client"])
    folder.mkdir(parents=True)
    hosts = folder / "hosts"
    try:
        hosts.write_text("10.98.0.9 ap.test\n")
        text = pair.file("client").read_text()
        pair.file("client").write_text(text.replace(f'endpoint = "{OUTER["ap"]}:', 'endpoint = "ap.test:'))
        pair.up("ap")
        pair.up("client")
        assert pair.show("client")["peers"][0]["endpoint"] == f"10.98.0.9:{PORT}"
        assert not pair.ping(attempts=1)
        hosts.write_text(f"{OUTER['ap']} ap.test\n")
        assert pair.ping(attempts=60)
        assert pair.show("client")["peers"][0]["endpoint"] == f"{OUTER['ap']}:{PORT}"
        pair.file("client").write_text(text.replace(f'endpoint = "{OUTER["ap"]}:', 'endpoint = "absent.invalid:'))
        absent = call(
            "ip", "netns", "exec", pair.names["client"], DAEMON, "tunnel", "up", pair.file("client"), check=False
        )
        assert (absent.returncode, len(absent.stderr.splitlines())) == (1, 1)
        assert "absent.invalid" in absent.stderr
    finally:
        hosts.unlink()
        folder.rmdir()


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
    assert f"one runs in {pair.names['ap']}; hint: ip netns exec" in again.stderr
    assert pair.has_device("ap")


def test_strangers_get_silence_and_peers_their_own_sources_only(pair):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    strange = """
import random, socket
here = socket.socket(type=socket.SOCK_DGRAM)
here.bind(("10.98.0.2", 0))
draw = random.Random(1)
for length in range(300):
    here.sendto(draw.randbytes(length % 60), ("10.98.0.1", 4646))
# Well-formed, but not encrypted.
packet = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1])
here.sendto(bytes([3, 0, 0, 0]) + packet, ("10.98.0.1", 4646))
here.settimeout(0.3)
try:
    here.recv(100)
    raise SystemExit("an answer")
except TimeoutError:
    pass
"""
    pair.run("client", sys.executable, "-c", strange)
    ap = pair.show("ap")
    assert ap["strange_datagrams"] == 301
    assert "  datagrams of strangers: 301\n" in call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
    # The client's own tunnel with a source that it may not use.
    pair.run("client", "ip", "address", "add", "198.51.100.9/32", "dev", "lo")
    assert not pair.ping("198.51.100.9", 1)
    await_true(lambda: pair.show("ap")["peers"][0]["refused_sources"] > 0)
    assert pair.ping()


def test_a_new_configuration_is_read_while_packets_flow(pair, tmp_path):
    metrics = tmp_path / "private/metrics.sock"
    pair.write("ap", top=f'metrics = "unix:{metrics}"')
    process = pair.up("ap")
    pair.up("client")
    assert pair.ping()
    other = '[[peer]]\nname = "other"\nallowed_ips = ["10.77.0.3", "10.88.0.0/24"]'
    other = other.replace("allowed", f'public_key = "{"A" * 43}="\nallowed')
    pair.write("ap", extra_peer=other, top=f'metrics = "unix:{metrics}"')
    process.send_signal(signal.SIGHUP)
    await_true(lambda: len(pair.show("ap")["peers"]) == 2)
    kept = pair.show("ap")["peers"][0]
    assert kept["packets_delivered"] >= 1
    assert kept["endpoint"] is not None
    assert f"10.88.0.0/24 dev {pair.interfaces['ap']}" in pair.run("ap", "ip", "route")
    pair.write("ap", extra_peer=other.replace("10.88", "10.99"), top=f'metrics = "unix:{metrics}"')
    process.send_signal(signal.SIGHUP)
    await_true(lambda: "10.99.0.0/24" in pair.run("ap", "ip", "route"), interval=0.05)
    assert "10.88.0.0/24" not in pair.run("ap", "ip", "route")
    # A damaged one changes nothing.
    pair.file("ap").write_text("interface = 7")
    process.send_signal(signal.SIGHUP)
    assert pair.ping()
    with socket.socket(socket.AF_UNIX) as scrape:
        scrape.connect(str(metrics))
        scrape.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        page = b"".join(iter(lambda: scrape.recv(1 << 16), b"")).decode()
    assert f'airwatt_tunnel_packets_sent_total{{interface="{pair.interfaces["ap"]}",peer="client"}} ' in page
    assert f'airwatt_tunnel_strange_datagrams_total{{interface="{pair.interfaces["ap"]}"}} 0' in page


def test_what_is_wrong_is_said_before_anything_changes(pair):
    def up(*words: str) -> subprocess.CompletedProcess[str]:
        return call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "up", *words, check=False)

    file = str(pair.file("ap"))
    assert up(file, "--check").returncode == 0
    pair.file("ap").chmod(0o644)
    assert "others can read the key" in up(file, "--check").stderr
    pair.file("ap").chmod(0o600)
    assert up(file, "--check").stderr == f"{file}: nothing is wrong with this configuration\n"
    dry = up(file, "--dry-run").stdout
    assert up(file, "--check", "--dry-run").stdout == dry
    assert f"[#] ip tuntap add {pair.interfaces['ap']} mode tun" in dry
    assert f"[#] sysctl -w {FORWARD}=1" in dry
    assert not pair.has_device("ap")
    unit = call(DAEMON, "tunnel", "unit", file).stdout
    assert f"ExecStart={DAEMON} tunnel up {file}" in unit
    pair.write("ap", tunnel='hold = "10h"')
    wrong = up(file)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "tunnel.hold" in wrong.stderr
    pair.write("ap")
    pair.file("ap").write_text(pair.file("ap").read_text().replace("private_key", "private_key_file"))
    wrong = up(file)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "private_key_file: " in wrong.stderr
    pair.write("ap")
    pair.up("ap")
    second = up(file)
    assert second.returncode == 1
    assert "another daemon listens there" in second.stderr
    assert pair.forwards() == "1"
    absent = call(DAEMON, "tunnel", "show", "nothing0", check=False)
    assert (absent.returncode, absent.stderr) == (1, "airwattd: no tunnel runs on nothing0\n")


def test_keys_are_those_of_wireguard():
    for private, public in KEYS.values():
        shown = subprocess.run([DAEMON, "pubkey"], input=private + "\n", capture_output=True, text=True, check=True)
        assert shown.stdout == public + "\n"
    keys = {call(DAEMON, "genkey").stdout for _ in range(3)}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {45}
    wrong = subprocess.run([DAEMON, "pubkey"], input="no key", capture_output=True, text=True, check=False)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("words", ["genkey", "--version", "completion bash", "cc --help", "tunnel example client"])
def test_a_result_that_a_full_disk_swallows_is_an_error(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([DAEMON, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "airwattd: standard output: No space left on device\n")


def test_what_crosses_the_cable_cannot_be_read(pair):
    # Both ends with other keys hear nothing of each other.
    pair.up("ap")
    pair.file("client").write_text(pair.file("client").read_text().replace(KEYS["client"][0], "A" * 43 + "="))
    client = pair.up("client")
    assert not pair.ping(attempts=2)
    assert pair.show("ap")["peers"][0]["endpoint"] is None
    client.terminate()
    assert client.wait(5) == 0
    pair.write("client")
    pair.up("client")
    listen = """
import socket, sys, time
here = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
here.bind(("cable", 0))
here.settimeout(0.1)
print("ready", flush=True)
until, seen = time.monotonic() + 1, b""
while time.monotonic() < until:
    try:
        seen += here.recv(2000)
    except TimeoutError:
        pass
print(len(seen), b"a secret of this test" in seen)
"""
    say = """
import socket, sys
here = socket.socket(type=socket.SOCK_DGRAM)
here.sendto(b"a secret of this test", (sys.argv[1], 9))
"""
    words = ["ip", "netns", "exec", pair.names["ap"], sys.executable, "-c", listen]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ear:
        assert ear.stdout is not None
        assert ear.stdout.readline() == "ready\n"
        pair.run("client", sys.executable, "-c", say, INNER["ap"])
        length, found = ear.stdout.read().split()
        assert int(length) > 148 + 92 + 32 + 21
        assert found == "False"


@pytest.mark.parametrize("end", ["ap", "client"])
def test_a_restarted_end_is_reached_again(pair, end):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    handshakes = pair.show("client")["peers"][0]["handshakes"]
    process = pair.running[0 if end == "ap" else 1]
    process.kill()
    process.wait()
    await_true(lambda: not pair.has_device(end))
    pair.up(end)
    begin = time.monotonic()
    assert pair.ping(attempts=30)
    # 1.2 s of silence and a handshake; the bound is for busy machines.
    assert time.monotonic() - begin < 5
    if end == "ap":
        assert pair.show("client")["peers"][0]["handshakes"] == handshakes + 1


def reaches_client(pair, attempts: int) -> bool:
    """Whether the concentrator's host, which speaks first, gets an answer from the client."""
    words = ["ip", "netns", "exec", pair.names["ap"], sys.executable, "-c", PING]
    return call(*words, INNER["client"], INNER["ap"], attempts, check=False).returncode == 0


def test_a_killed_concentrator_reaches_a_client_that_has_not_spoken_since(pair):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    before = pair.show("ap")["peers"][0]["endpoint"]
    process = pair.running[0]
    process.kill()
    process.wait()
    await_true(lambda: not pair.has_device("ap"))
    assert left_in_run(pair) == [".peers"]
    process = pair.up("ap")
    assert pair.show("ap")["peers"][0]["endpoint"] == before
    began = time.monotonic()
    assert reaches_client(pair, 30)
    print(f"the client answered {time.monotonic() - began:.2f} s after the first packet")
    assert time.monotonic() - began < 5
    # An orderly end forgets them.
    process.terminate()
    assert process.wait(5) == 0
    assert left_in_run(pair) == []


def test_a_restarted_client_that_only_listens_is_reached_at_its_new_port(pair):
    pair.up("ap")
    client = pair.up("client")
    assert pair.ping()
    client.kill()
    client.wait()
    await_true(lambda: not pair.has_device("client"))
    pair.up("client")
    await_true(lambda: pair.show("client")["peers"][0]["handshakes"] == 1)
    assert reaches_client(pair, 2)
    assert pair.show("client")["peers"][0]["packets_sent"] > 0, "answers alone"


def test_a_request_and_its_reply_take_two_datagrams(pair):
    pair.up("ap")
    pair.up("client")
    for _ in range(5):
        assert pair.ping(attempts=1)
        time.sleep(2)
    # Five each, and the handshake. The client begins it as it starts, and confirms it by a datagram of its own,
    # since no packet waits.
    assert [pair.show(end)["socket"]["sent"] for end in OUTER] == [7, 6]


def test_a_client_that_moves_keeps_its_session(pair):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    pair.run("client", "ip", "address", "add", "10.98.0.3/24", "dev", "cable")
    pair.run("client", "ip", "address", "delete", f"{OUTER['client']}/24", "dev", "cable")
    pair.run("client", "ip", "address", "add", "10.98.0.3/24", "dev", "cable", check=False)
    assert pair.ping()
    (client,) = pair.show("ap")["peers"]
    assert client["endpoint"].startswith("10.98.0.3:")
    assert client["moves"] == 1


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


def test_both_ip_versions_are_inside_and_outside(pair):
    for end, name in pair.names.items():
        call("ip", "-n", name, "address", "add", f"{OUTER_V6[end]}/64", "dev", "cable", "nodad")
        pair.write(end, v6=True, allowed=f'"{INNER["ap" if end == "client" else "client"]}/32"')
        text = pair.file(end).read_text().replace("addresses = [", f'addresses = ["{INNER[end]}/24", ')
        pair.file(end).write_text(text)
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    assert pair.ping(INNER_V6["client"], target=INNER_V6["ap"])
    ap = pair.show("ap")
    assert ap["mtu_bytes"] == 1_500 - 40 - 8 - 4 - 32
    assert ap["peers"][0]["endpoint"].startswith(f"[{OUTER_V6['client']}]:")


def test_a_path_that_carries_less_than_ethernet_neither_stalls_nor_fragments(pair):
    for end in OUTER:
        call("ip", "-n", pair.names[end], "link", "set", "cable", "mtu", "1400")
        pair.up(end)
    pair.carry(200_000)
    client = pair.show("client")
    assert client["mtu_bytes"] == 1_400 - 64
    assert "mtu 1336" in pair.run("client", "ip", "link", "show", pair.interfaces["client"])
    fragments = "grep ^Ip: /proc/net/snmp | tail -n 1 | cut -d' ' -f 20"
    assert pair.run("client", "sh", "-c", fragments).strip() == "0"


def test_the_plain_form_is_for_private_addresses(pair):
    for end in OUTER:
        pair.write(end, plain=True)
        pair.up(end)
    assert pair.ping()
    assert "neither encrypted nor authenticated" in call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout


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
    assert hint == f"net:[{inode}] has changes of a tunnel of this name; hint: ip netns exec"
    # The next tunnel, of whatever network namespace, clears its socket away.
    socket = Path(f"/run/airwatt/tunnel-{name}.{inode}.sock")
    assert socket.exists()
    pair.write("client")
    pair.up("client")
    assert not socket.exists()
    restored = call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "restore", name)
    assert restored.stderr.endswith(f"(net:[{inode}]): undone: sysctl -w {FORWARD}=1\n"), restored.stderr
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
