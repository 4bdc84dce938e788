"""Throughput of `airwattd tunnel` and processor time a byte in each end, beside other tunnels, over veth.

Needs root. Beside the tunnel in its forms: the cable without one, a forwarder without encryption (socat),
boringtun-cli, gotatun and wireguard-go if they are installed (PATH; `wg` sets them up), and the kernel's WireGuard
if it has one. All run at the same time, and one transfer at a time goes through each in turn, several times. Medians
are printed. `tunnel_speed.py [AIRWATTD] [MEGABYTES]`.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "linux"))

from gateway_speed import processor_s
from lab import DAEMON, await_true, call

from tunnel_lab import KEYS, OUTER, Pair

ROUNDS = 5
# Inner packets of WireGuard by custom; airwattd finds out its own.
WIREGUARD_MTU = 1_420
SINK = """
import socket
here = socket.create_server(("", 5000))
buffer = bytearray(1 << 18)
print("ready", flush=True)
while True:
    stream, _ = here.accept()
    while stream.recv_into(buffer): pass
    stream.sendall(b".")
"""
PUSH = """
import socket, sys, time
here, data = socket.create_connection((sys.argv[1], 5000), 10), bytes(1 << 18)
here.settimeout(300)
began = time.monotonic()
for _ in range(int(sys.argv[2]) * 4): here.sendall(data)
here.shutdown(socket.SHUT_WR)
assert here.recv(1) == b"."
print(time.monotonic() - began)
"""


@dataclass
class Way:
    """A tunnel between both hosts: where the receiver is in it, and the processes of sender and receiver."""

    target: str
    processes: list[subprocess.Popen] = field(default_factory=list)
    rows: list[tuple[float, list[float]]] = field(default_factory=list)


class Bench:
    """Tunnels between the hosts of a pair, each with an inner network and a port of its own."""

    def __init__(self, pair: Pair, daemon: Path):
        self.pair, self.daemon = pair, daemon
        self.count = 0
        self.ways: dict[str, Way] = {"no tunnel": Way(OUTER["ap"])}

    def start(self, end: str, *command: object) -> subprocess.Popen:
        """Starts a program at an end, which is killed in the end."""
        words = ["ip", "netns", "exec", self.pair.names[end], *map(str, command)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pair.running.append(process)
        return process

    def add(self, name: str, begin: Callable[[str, str, dict[str, str], int], subprocess.Popen]) -> None:
        """Adds a way by a function of an end, the name of its device, the inner addresses and a port."""
        self.count += 1
        inner = {"client": f"10.77.{self.count}.2", "ap": f"10.77.{self.count}.1"}
        ends = ("ap", "client")
        started = {end: begin(end, f"bench{self.count}{end[0]}", inner, 4700 + self.count) for end in ends}
        until = time.monotonic() + 20
        reach = ("python3", "-c", "import socket, sys; socket.create_connection((sys.argv[1], 5000), 1)", inner["ap"])
        while call("ip", "netns", "exec", self.pair.names["client"], *reach, check=False).returncode != 0:
            if time.monotonic() > until:
                print(f"{name}: carries nothing here", file=sys.stderr)
                return
        self.ways[name] = Way(inner["ap"], [started[end] for end in ("client", "ap") if started[end] is not None])

    def airwatt(self, settings: str) -> Callable[..., subprocess.Popen]:
        """`airwattd tunnel` with these settings of `[tunnel]`."""
        plain = "plain = true" in settings

        def begin(end: str, device: str, inner: dict[str, str], port: int) -> subprocess.Popen:
            other = "ap" if end == "client" else "client"
            place = f'listen = "{OUTER[end]}:{port}"' if end == "ap" else ""
            file = self.pair.folder / f"{device}.toml"
            file.write_text(f"""
                interface = "{device}"
                addresses = ["{inner[end]}/24"]
                end = "{"client" if end == "client" else "concentrator"}"
                {"" if plain else f'private_key = "{KEYS[end][0]}"'}
                {place}
                tunnel = {{ {settings} }}
                [[peer]]
                name = "{other}"
                {"" if plain else f'public_key = "{KEYS[other][1]}"'}
                {f'endpoint = "{OUTER[other]}:{port}"' if end == "client" else ""}
                allowed_ips = ["{inner[other]}/32"]
            """)
            file.chmod(0o600)
            return self.start(end, self.daemon, "tunnel", "up", file)

        return begin

    def wireguard(self, *command: str) -> Callable[..., subprocess.Popen | None]:
        """A program that implements WireGuard, whose last argument is the device; none for the kernel's."""

        def begin(end: str, device: str, inner: dict[str, str], port: int) -> subprocess.Popen | None:
            other = "ap" if end == "client" else "client"
            inside = ("ip", "netns", "exec", self.pair.names[end])
            process = None
            if command:
                process = self.start(end, *command, device)
                while call(*inside, "wg", "show", device, check=False).returncode != 0:
                    time.sleep(0.05)
            else:
                call(*inside, "ip", "link", "add", device, "type", "wireguard")
            key = self.pair.folder / f"{end}.key"
            key.write_text(KEYS[end][0])
            place = ("endpoint", f"{OUTER[other]}:{port}")
            peer = ("peer", KEYS[other][1], "allowed-ips", f"{inner[other]}/32", *place)
            call(*inside, "wg", "set", device, "listen-port", port, "private-key", key, *peer)
            call(*inside, "ip", "address", "add", f"{inner[end]}/24", "dev", device)
            call(*inside, "ip", "link", "set", device, "mtu", WIREGUARD_MTU, "up")
            return process

        return begin

    def forwarder(self, end: str, device: str, inner: dict[str, str], port: int) -> subprocess.Popen:
        """Packets of a TUN device in UDP, as they are."""
        other = "ap" if end == "client" else "client"
        device_of = f"TUN:{inner[end]}/24,tun-name={device},iff-no-pi,iff-up"
        process = self.start(end, "socat", device_of, f"UDP4-DATAGRAM:{OUTER[other]}:{port},bind={OUTER[end]}:{port}")
        words = ("ip", "-n", self.pair.names[end], "link", "set", device, "mtu", 1_472)
        await_true(lambda: call(*words, check=False).returncode == 0)
        return process

    def add_all(self) -> None:
        """Adds what there is here."""
        self.add("airwattd", self.airwatt("burst = 5"))
        self.add("airwattd, plain", self.airwatt("burst = 5, plain = true"))
        self.add("airwattd, sctp", self.airwatt('burst = 5, association = "sctp"'))
        if shutil.which("socat"):
            self.add("socat", self.forwarder)
        programs = {
            "boringtun": ("boringtun-cli", "--foreground", "--disable-drop-privileges"),
            "gotatun": ("gotatun", "--foreground", "--disable-drop-privileges"),
            "wireguard-go": ("wireguard-go", "-f"),
        }
        for name, command in programs.items():
            if shutil.which(command[0]):
                self.add(name, self.wireguard(*command))
        if call("ip", "link", "add", "bench-wg", "type", "wireguard", check=False).returncode == 0:
            call("ip", "link", "delete", "bench-wg")
            self.add("kernel WireGuard", self.wireguard())

    def measure(self, way: Way, megabytes: int) -> None:
        """One transfer."""
        before = [processor_s(process) for process in way.processes]
        took = float(self.pair.run("client", "python3", "-c", PUSH, way.target, megabytes))
        count = megabytes * (1 << 20)
        spent = [processor_s(process) - start for process, start in zip(way.processes, before, strict=True)]
        way.rows.append((count / took / 1e6, [seconds * 1e9 / count for seconds in spent]))


def main(daemon: Path, megabytes: int) -> int:
    """Measures and prints a line for each way."""
    with Pair(Path(tempfile.mkdtemp())) as pair:
        bench = Bench(pair, daemon)
        bench.start("ap", "python3", "-c", SINK)
        bench.add_all()
        begin_load = os.getloadavg()[0]
        for _ in range(ROUNDS):
            for way in bench.ways.values():
                bench.measure(way, megabytes)
        load = (begin_load + os.getloadavg()[0]) / 2
    shutil.rmtree(pair.folder)
    print(f"{megabytes} MB, medians of {ROUNDS}, load {load:.1f} on {os.cpu_count()} cores")
    print(f"{'':18}{'MB/s':>8}{'ns/byte: sender':>18}{'receiver':>10}")
    for name, way in bench.ways.items():
        rate = statistics.median(rate for rate, _ in way.rows)
        costs = [statistics.median(column) for column in zip(*(row for _, row in way.rows), strict=True)]
        print(
            f"{name:18}{rate:8.1f}"
            + "".join(f"{cost:{width}.2f}" for cost, width in zip(costs, (18, 10), strict=False))
        )
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(Path(arguments[0]) if arguments else DAEMON, int(arguments[1]) if arguments[1:] else 50))
