"""A host with cable and Wi-Fi in one LAN: two interfaces, `cable` and `wifi`, with routes to the same prefixes."""

import os
import subprocess

from lab import DAEMON, await_true, call

INTERFACES = ("cable", "wifi")
PREFIX = "192.168.1.0/24"
PREFIX6 = "2001:db8:1::/64"
ROUTER, ROUTER6 = "192.168.1.1", "2001:db8:1::1"
ADDRESS = {"cable": "192.168.1.10", "wifi": "192.168.1.11", "third": "192.168.1.12"}
ADDRESS6 = {"cable": "2001:db8:1::10", "wifi": "2001:db8:1::11", "third": "2001:db8:1::12"}
# Where packets can go: within the LAN and beyond, over whichever interface and over each of them.
DESTINATIONS = (ROUTER, "198.51.100.7", ROUTER6, "2001:db8:ffff::7")


class Lan:
    """`with Lan(metrics) as lan:` sets it up and leaves nothing behind. 0 is the metric of the kernel's own choice."""

    def __init__(self, metrics: tuple[int, ...] = (0, 0), names: tuple[str, ...] = INTERFACES):
        self.interfaces = dict(zip(names, metrics, strict=True))
        self.name = f"airwatt-laptop-{os.getpid()}"
        self.router = f"airwatt-router-{os.getpid()}"

    def __enter__(self) -> "Lan":
        for name in (self.name, self.router):
            call("ip", "netns", "add", name)
            call("ip", "-n", name, "link", "set", "lo", "up")
        router = ("ip", "-n", self.router)
        call(*router, "link", "add", "lan", "type", "bridge")
        call(*router, "link", "set", "lan", "up")
        call(*router, "address", "add", f"{ROUTER}/24", "dev", "lan")
        call(*router, "address", "add", f"{ROUTER6}/64", "dev", "lan", "nodad")
        call(*router, "address", "add", "fe80::1/64", "dev", "lan", "nodad")
        for port, interface in enumerate(self.interfaces):
            self.ip("link", "add", interface, "type", "veth", "peer", "name", f"port{port}", "netns", self.router)
            call(*router, "link", "set", f"port{port}", "master", "lan", "up")
            own = f"net.ipv6.conf.{interface}"
            self.run("sysctl", "-qw", f"{own}.addr_gen_mode=1", f"{own}.accept_ra=0")
            self.ip("link", "set", interface, "up")
        for interface in self.interfaces:
            self.configure(interface)
        await_true(
            lambda: all(f"ff00::/8 dev {interface} " in "\n".join(self.routes()) for interface in self.interfaces)
        )
        return self

    def __exit__(self, *_: object) -> None:
        for name in (self.name, self.router):
            call("ip", "netns", "delete", name, check=False)

    def configure(self, interface: str, metric: int | None = None) -> None:
        """Gives an interface its addresses and routes, behind those that there are."""
        metric = self.interfaces[interface] if metric is None else metric
        of = ("metric", metric) if metric else ()
        # The kernel's own choice for prefixes of IPv6.
        of6 = of or ("metric", 256)
        for address, length, prefix, router, options in (
            (ADDRESS, 24, PREFIX, ROUTER, ("scope", "link", "src", ADDRESS[interface])),
            (ADDRESS6, 64, PREFIX6, ROUTER6, ()),
        ):
            family = "-6" if length == 64 else "-4"
            own = ("noprefixroute", "nodad") if length == 64 else ("noprefixroute",)
            self.ip(family, "address", "add", f"{address[interface]}/{length}", "dev", interface, *own)
            words = (*options, *(of6 if length == 64 else of))
            self.ip(family, "route", "append", prefix, "dev", interface, "proto", "kernel", *words)
            # Two of IPv6 with equal metrics would become one of two paths.
            if length == 24 or metric:
                self.ip(family, "route", "append", "default", "via", router, "dev", interface, "proto", "dhcp", *of)

    def ip(self, *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        return call("ip", "-n", self.name, *words, check=check)

    def inside(self, *command: object) -> list[str]:
        """Gives a command line that runs there, with the host's file systems."""
        return ["nsenter", f"--net=/run/netns/{self.name}", *map(str, command)]

    def run(self, *command: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        return call(*self.inside(*command), check=check)

    def cc(self, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(DAEMON, "cc", *arguments, check=check)

    def routes(self) -> list[str]:
        """Lists the routes of both families in order, without the seconds until they expire."""
        listed = self.ip("-4", "-d", "route", "show", "table", "all").stdout
        listed += self.ip("-6", "-d", "route", "show", "table", "all").stdout
        return [" ".join(word for word in line.split() if not word.endswith("sec")) for line in listed.splitlines()]

    def decisions(self) -> list[str]:
        """Lists where packets go, bound to no interface and to each of them."""
        bound = [(), *(("oif", interface) for interface in self.interfaces)]
        asked = [self.ip("route", "get", to, *by, check=False) for to in DESTINATIONS for by in bound]
        return [(done.stdout.split(" uid ")[0] or done.stderr).strip() for done in asked]
