"""`airwattd tunnel` between two hosts: bursts, silence when idle, strangers, and the host restored after every end."""

import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, call, missing

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

OUTER = {"client": "10.98.0.2", "ap": "10.98.0.1"}
INNER = {"client": "10.77.0.2", "ap": "10.77.0.1"}
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
        for name in self.names.values():
            call("ip", "netns", "delete", name)

    def file(self, end: str) -> Path:
        return self.folder / f"{end}.toml"

    def write(self, end: str, tunnel: str = 'burst = 4, hold = "10ms"', extra_peer: str = "", top: str = "") -> None:
        other = "ap" if end == "client" else "client"
        endpoint = f'endpoint = "{OUTER[other]}:{PORT}"' if end == "client" else ""
        listen = f'listen = "{OUTER[end]}:{PORT}"\nforward = true' if end == "ap" else ""
        self.file(end).write_text(
            f"""
            interface = "{self.interfaces[end]}"
            addresses = ["{INNER[end]}/24"]
            end = "{"client" if end == "client" else "concentrator"}"
            {listen}
            {top}
            tunnel = {{ plain = true, {tunnel} }}
            [[peer]]
            name = "{other}"
            {endpoint}
            allowed_ips = ["{INNER[other]}/32", "192.0.2.0/24"]
            {extra_peer}
            """
        )

    def run(self, end: str, *command: object, check: bool = True) -> str:
        return call("ip", "netns", "exec", self.names[end], *command, check=check).stdout

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

    def ping(self, source: str = INNER["client"], attempts: int = 10) -> bool:
        words = [sys.executable, "-c", PING, INNER["ap"], source, attempts]
        return call("ip", "netns", "exec", self.names["client"], *words, check=False).returncode == 0

    def show(self, end: str) -> dict:
        return json.loads(call(DAEMON, "tunnel", "show", self.interfaces[end], "--json").stdout)

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


def await_true(condition, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


# A datagram to a closed port: the answer of the other kernel (ICMP) is an error of the socket.
PING = """
import socket, sys
here = socket.socket(type=socket.SOCK_DGRAM)
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


def test_packets_cross_in_bursts_and_an_idle_tunnel_never_wakes(pair, tmp_path):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    data = random.Random(1).randbytes(1_000_000)
    (tmp_path / "data").write_bytes(data)
    serving = ["ip", "netns", "exec", pair.names["ap"], sys.executable, "-c", SERVE, INNER["ap"]]
    with subprocess.Popen(serving) as server:
        answer = pair.run("client", sys.executable, "-c", SEND, INNER["ap"], tmp_path / "data")
        assert answer.strip() == hashlib.sha256(data).hexdigest()
        assert server.wait(10) == 0
    client, ap = pair.show("client"), pair.show("ap")
    (sent,), (received,) = client["peers"], ap["peers"]
    assert received["packets_delivered"] == sent["packets_sent"] > 600
    assert sent["bursts_full"] + sent["bursts_awake"] > 10 * sent["bursts_timed_out"] > 0
    # Runs of datagrams of equal size leave with one system call.
    assert client["socket"]["send_calls"] < 0.6 * client["socket"]["sent"]
    # The concentrator learnt the client's address from its datagrams.
    assert received["endpoint"].startswith(f"{OUTER['client']}:")
    shown = call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
    assert "peer: client" in shown
    # The estimated rate of the peer, and triggers with it, fade within some seconds; then nothing wakes up any more.
    await_true(lambda: pair.is_silent_for(0.7), 20)


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_host_is_restored_after_every_end(pair, with_signal):
    assert pair.forwards() == "0"
    process = pair.up("ap")
    assert pair.forwards() == "1"
    assert pair.has_device("ap")
    process.send_signal(with_signal)
    assert process.wait(5) == (-signal.SIGKILL if with_signal == signal.SIGKILL else 0)
    await_true(lambda: pair.forwards() == "0" and not pair.has_device("ap"), 2)
    await_true(lambda: not list(Path("/run").glob(f"airwatt/tunnel-{pair.interfaces['ap']}.*")), 2)


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


def test_only_the_privilege_for_restoring_stays(pair):
    process = pair.up("ap")
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":" in line
    )
    net_admin = f"{1 << 12:016x}"
    assert [status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd")] == [net_admin] * 3
    assert status["NoNewPrivs"].strip() == "1"


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
# Well-formed, but from an inner address that is no peer's.
packet = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 198, 51, 100, 1, 10, 77, 0, 1])
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
    other = '[[peer]]\nname = "other"\nallowed_ips = ["10.77.0.3"]'
    pair.write("ap", extra_peer=other, top=f'metrics = "unix:{metrics}"')
    process.send_signal(signal.SIGHUP)
    await_true(lambda: len(pair.show("ap")["peers"]) == 2)
    kept = pair.show("ap")["peers"][0]
    assert kept["packets_delivered"] >= 1
    assert kept["endpoint"] is not None
    # A damaged one changes nothing.
    pair.file("ap").write_text("interface = 7")
    process.send_signal(signal.SIGHUP)
    assert pair.ping()
    with socket.socket(socket.AF_UNIX) as scrape:
        scrape.connect(str(metrics))
        scrape.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        page = b"".join(iter(lambda: scrape.recv(1 << 16), b"")).decode()
    assert f'airwatt_tunnel_packets_sent_total{{interface="{pair.interfaces["ap"]}",peer="client"}} ' in page


def test_what_is_wrong_is_said_before_anything_changes(pair):
    def up(*words: str) -> subprocess.CompletedProcess[str]:
        return call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "up", *words, check=False)

    file = str(pair.file("ap"))
    assert up(file, "--check").returncode == 0
    dry = up(file, "--dry-run").stdout
    assert f"[#] ip tuntap add {pair.interfaces['ap']} mode tun" in dry
    assert f"[#] sysctl -w {FORWARD}=1" in dry
    assert not pair.has_device("ap")
    unit = call(DAEMON, "tunnel", "unit", file).stdout
    assert f"ExecStart={DAEMON} tunnel up {file}" in unit
    pair.write("ap", tunnel='hold = "10h"')
    wrong = up(file)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "tunnel.hold" in wrong.stderr
    pair.write("ap", tunnel="bundle = '0B'")
    pair.file("ap").write_text(pair.file("ap").read_text().replace("plain = true, ", ""))
    assert up(file).returncode == 4
    pair.write("ap")
    pair.up("ap")
    second = up(file)
    assert second.returncode == 1
    assert "another daemon listens there" in second.stderr
    assert pair.forwards() == "1"
    absent = call(DAEMON, "tunnel", "show", "nothing0", check=False)
    assert (absent.returncode, absent.stderr) == (1, "airwattd: no tunnel runs on nothing0\n")
