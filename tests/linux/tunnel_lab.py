"""Two hosts with a tunnel between them, and what crosses it."""

import contextlib
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call

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

    def inside(self, end: str, *command: object) -> list[str]:
        return ["ip", "netns", "exec", self.names[end], *map(str, command)]

    def run(self, end: str, *command: object, check: bool = True) -> str:
        return call(*self.inside(end, *command), check=check).stdout

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


def left_in_run(pair) -> list[str]:
    """The endings of the files of the concentrator's tunnel."""
    return sorted(path.suffix for path in Path("/run").glob(f"airwatt/tunnel-{pair.interfaces['ap']}.*"))


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
