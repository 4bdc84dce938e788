"""A server, a base station and a mobile as network namespaces, and `airwattd gateway` at the latter two."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from lab import DAEMON, call

# RFC 7748, section 6.1, in base64: the private keys of Alice and Bob, and their public keys.
KEYS = {
    "mobile": ("dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=", "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="),
    "base": ("XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=", "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="),
}
SERVER, MOBILE = "10.96.0.1", "10.97.0.2"
SERVER_V6, MOBILE_V6 = "fd96::1", "fd97::2"
BASE = {"wired": "10.96.0.254", "air": "10.97.0.254"}
BASE_V6 = {"wired": "fd96::fe", "air": "fd97::fe"}
PORT = 4747
HERE = Path(__file__).parent


class Lab:
    """`with Lab(folder) as lab:`; `lab.up("base")` starts an end."""

    def __init__(self, folder: Path, plain: bool = False):
        self.folder, self.plain = folder, plain
        self.names = {host: f"airwatt-{host}-{os.getpid()}" for host in ("server", "base", "mobile")}
        self.interfaces = {end: f"gw{end}{os.getpid() % 10_000}" for end in ("base", "mobile")}
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.others: list[subprocess.Popen] = []

    def __enter__(self) -> "Lab":
        for name in self.names.values():
            call("ip", "netns", "add", name)
            call("ip", "-n", name, "link", "set", "lo", "up")
        # A router asks for its neighbours from its link-local address, which it may not use before duplicate address
        # detection has ended, some seconds after the link is up. Until then they are unreachable.
        for host in self.names:
            self.run(host, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.accept_dad=0")
        server, base, mobile = self.names.values()
        call("ip", "-n", server, "link", "add", "wired", "type", "veth", "peer", "name", "wired", "netns", base)
        call("ip", "-n", base, "link", "add", "air", "type", "veth", "peer", "name", "air", "netns", mobile)
        addresses = [
            (server, "wired", SERVER, SERVER_V6),
            (base, "wired", BASE["wired"], BASE_V6["wired"]),
            (base, "air", BASE["air"], BASE_V6["air"]),
            (mobile, "air", MOBILE, MOBILE_V6),
        ]
        for name, device, v4, v6 in addresses:
            call("ip", "-n", name, "address", "add", f"{v4}/24", "dev", device)
            call("ip", "-n", name, "address", "add", f"{v6}/64", "dev", device, "nodad")
            call("ip", "-n", name, "link", "set", device, "up")
        for name, v4, v6 in ((server, BASE["wired"], BASE_V6["wired"]), (mobile, BASE["air"], BASE_V6["air"])):
            call("ip", "-n", name, "route", "add", "default", "via", v4)
            call("ip", "-n", name, "-6", "route", "add", "default", "via", v6)
        self.run("base", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for end in self.interfaces:
            self.write(end)
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.running.values(), *self.others]:
            process.kill()
            process.communicate()
        for end in self.interfaces:
            self.run(end, DAEMON, "gateway", "down", self.file(end), check=False)
        for name in self.names.values():
            call("ip", "netns", "delete", name)

    def file(self, end: str) -> Path:
        return self.folder / f"{end}.toml"

    def write(self, end: str, top: str = "", gateway: str = "", endpoint: str = f"{BASE['air']}:{PORT}") -> None:
        other = "base" if end == "mobile" else "mobile"
        own = "plain = true" if self.plain else f'private_key = "{KEYS[end][0]}"'
        its = "" if self.plain else f'public_key = "{KEYS[other][1]}"'
        addresses = f'["{MOBILE}/32", "{MOBILE_V6}/128"]'
        self.file(end).write_text(
            f"""
            interface = "{self.interfaces[end]}"
            mode = "{end}"
            {own}
            {f'listen = "{BASE["air"]}:{PORT}"' if end == "base" else f"addresses = {addresses}"}
            {top}
            [gateway]
            {gateway}
            [[peer]]
            name = "{other}"
            {its}
            {f"allowed_ips = {addresses}" if end == "base" else f'endpoint = "{endpoint}"'}
            """
        )
        self.file(end).chmod(0o600)

    def write_alone(self, top: str = "", gateway: str = "") -> None:
        """Has the base station without a daemon at the mobile."""
        self.file("base").write_text(
            f"""
            interface = "{self.interfaces["base"]}"
            mode = "base-only"
            addresses = ["{MOBILE}/32", "{MOBILE_V6}/128"]
            {top}
            [gateway]
            {gateway}
            """
        )

    def translate(self, rule: str) -> None:
        """Has the base station translate addresses as an access point does. The server has no route to the mobile."""
        chain = f"type nat hook postrouting priority 100; {rule};"
        self.run("base", "nft", f"table ip translation {{ chain leaving {{ {chain} }}; }}")
        self.run("server", "ip", "route", "del", "default")

    def left_over(self, end: str) -> list[str]:
        """What a gateway has added to this host."""
        rules = self.run(end, "ip", "rule").stdout + self.run(end, "ip", "-6", "rule").stdout
        routes = self.run(end, "ip", "route", "show", "table", "4748", check=False).stdout
        links = self.run(end, "ip", "-br", "link").stdout
        devices = [self.interfaces[end]] if self.interfaces[end] in links else []
        return re.findall("474[78]", rules) + routes.split() + devices

    def inside(self, host: str, *command: object) -> list[str]:
        return ["ip", "netns", "exec", self.names[host], *map(str, command)]

    def run(self, host: str, *command: object, check: bool = True, timeout: float = 60):
        return call(*self.inside(host, *command), check=check, timeout=timeout)

    def start(self, host: str, *command: object, **options) -> subprocess.Popen:
        process = subprocess.Popen(self.inside(host, *command), **options)
        self.others.append(process)
        return process

    def up(self, *ends: str, descriptors: int | None = None) -> None:
        """Starts gateways, which may have so many descriptors."""
        limit = () if descriptors is None else ("prlimit", f"--nofile={descriptors}:{descriptors}")
        for end in ends:
            words = self.inside(end, *limit, DAEMON, "gateway", "up", self.file(end), "-v")
            process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            self.running[end] = process
            line = process.stderr.readline()
            while "gateway is up" not in line:
                assert line, f"the gateway of {end} ended with {process.wait()}"
                line = process.stderr.readline()

    def end(self, end: str, signal: int) -> int:
        process = self.running.pop(end)
        process.send_signal(signal)
        process.communicate(timeout=15)
        return process.returncode

    def status(self, end: str) -> dict:
        return json.loads(call(DAEMON, "gateway", "status", self.interfaces[end], "--json").stdout)["gateways"][0]

    def serve(self, port: int = 5000, host: str = "server", address: str = "") -> subprocess.Popen:
        """An echo server of Python at this host, which answers each connection with what it has sent."""
        words = (sys.executable, HERE / "gateway_echo.py", address or SERVER, port)
        process = self.start(host, *words, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    def relay(self, *numbers: int) -> subprocess.Popen:
        """A relay that loses datagrams, at port 4000 of the mobile; see lossy_relay.py."""
        words = (sys.executable, HERE / "lossy_relay.py", MOBILE, 4000, BASE["air"], PORT, *numbers)
        process = self.start("mobile", *words, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    def echo_words(self, *arguments: object, address: str = "", port: int = 5000) -> tuple[object, ...]:
        return (sys.executable, HERE / "gateway_echo.py", address or SERVER, port, *arguments)

    def echo(self, *arguments: object, host: str = "mobile", address: str = "", port: int = 5000, timeout=60) -> str:
        """Sends bytes to the echo server and compares; see gateway_echo.py."""
        return self.run(host, *self.echo_words(*arguments, address=address, port=port), timeout=timeout).stdout
