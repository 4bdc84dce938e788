"""The paths, the transports and the points of the grid: server, wired leg, base station, the published hop, mobile."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airwatt._core import Scenario
from airwatt.reproduce.e2tcp.setup import AVERAGED, errors, overheads
from airwatt.reproduce.publication import Numbers, Point

CONFIGURATION = """\
A server sends 20 MB to the mobile: server - 100 Mb/s, 5, 20 or 100 ms one way, 0 or 1 % of packets lost in
either direction - base station - the hop of the thesis - mobile.
* The hop, its errors (scenarios A and B) and E2TCP are those of `reproduce e2tcp`, but for one rule: E2TCP's
  window grows by a packet with each window of acknowledgements here, with each fifth acknowledgement there.
  The averages are over the same good states: A 300 10 5 4 3 2 1 s, B 20 10 5 4 3 2 1 s.
* TCP has the timers of the ns-2 of 2001. Its window is the published one of 20 packets and, beyond it,
  what the wired leg holds at 1 Mb/s: 22, 25 and 45 packets at 5, 20 and 100 ms. With 20 packets a path of
  100 ms would be limited to half of the hop's rate, and splitting would gain from that alone.
* split is I-TCP with SACK on both legs. snoop is TCP Reno from end to end with an agent at the base station,
  as published. The three stages have TCP with SACK on the wired leg: base only has E2TCP's windows and
  retransmissions at the base station and an unchanged TCP with SACK at the mobile; both ends has E2TCP on the
  hop; with 95 and 90 % the application does without the rest (of the last 50 packets).
* A gateway holds 64 kB, and Snoop keeps as much.
* Energy overhead is the thesis' (eq. 2.5, intermediate radio) of the mobile's hop. A packet that the wire
  loses counts as sent: at most 1 point of data overhead at 1 % of loss. Latency is from the first bit of a
  packet's first sending on the hop to its arrival, without its own bits.
"""

COST_S = 0.03
"""About what 20 MB over two legs take to simulate."""

DELAYS_MS = (5, 20, 100)
LOSSES = (0.0, 0.01)

WINDOWS = {5: 22, 20: 25, 100: 45}
"""Packets of TCP's window by the delay of the wired leg: 20 and 2 * delay * 1 Mb/s / 1040 bytes, rounded up."""


@dataclass(frozen=True)
class Path:
    """A wired leg."""

    delay_ms: int
    loss: float

    @property
    def name(self) -> str:
        """As in pictures and tables."""
        return f"{self.delay_ms} ms" + (f", {100 * self.loss:g} %" if self.loss else "")


PATHS = tuple(Path(delay, loss) for loss in LOSSES for delay in DELAYS_MS)


@dataclass(frozen=True)
class Way:
    """A way to cross the path: its name, the transport, that of the gateway, and the reliability in per cent."""

    name: str
    transport: str
    gateway: str = ""
    reliability: int = 100


WAYS = (
    Way("Tahoe", "tahoe"),
    Way("Reno", "reno"),
    Way("NewReno", "newreno"),
    Way("SACK", "sack"),
    Way("CUBIC", "cubic"),
    Way("split", "split", "sack"),
    Way("Snoop", "snoop", "reno"),
    Way("base only", "e2tcp-base", "sack"),
    Way("both ends", "e2tcp", "sack"),
    Way("95 %", "e2tcp", "sack", 95),
    Way("90 %", "e2tcp", "sack", 90),
)
"""TCPs from end to end, the known remedies at a base station, and the three stages."""


def keys(way: Way, path: Path) -> dict[str, Any]:
    """The scenario of a way over a path, as the keys of its file. The lengths of the states of errors are a point's."""
    fast: dict[str, Any] = {"rate": "100Mbps", "queue": "1000packets"}
    router: dict[str, Any] = {"name": "router"}
    if path.loss:
        router["impairment"] = {"loss": path.loss, "step": "0ms"}
    base: dict[str, Any] = {"name": "base"}
    if way.gateway:
        base["middlebox"] = [{"kind": "gateway", "transport": way.gateway, "buffer": "64kB"}]
    flow: dict[str, Any] = {
        "from": "server",
        "to": "mobile",
        "transport": way.transport,
        "application": {"kind": "bulk", "size": "20MB"},
    }
    if way.reliability < 100:
        flow |= {"reliability": way.reliability, "reliability_window": 50}
    found: dict[str, Any] = {
        "node": [{"name": "server"}, router, base, {"name": "mobile"}],
        "link": [
            {
                "name": "wire",
                "between": ["server", "router"],
                "delay": f"{path.delay_ms}ms",
                "forth": fast,
                "back": fast,
            },
            {"name": "access", "between": ["router", "base"], "delay": "0ms", "forth": fast, "back": fast},
            {
                "name": "hop",
                "kind": "point-to-point",
                "between": ["base", "mobile"],
                "rate": "1Mbps",
                "delay": "50ms",
                "queue": "10000packets",
                "cut_through": True,
                "radio": "wavelan-2001",
                "errors": {
                    "model": "two-state",
                    "good": "10s",
                    "bad": "100ms",
                    "good_error_rate": 0.0005,
                    "bad_error_rate": 0.8,
                },
            },
        ],
        "tcp": {"profile": "ns2-2001", "mtu": "1040B", "receive_window": f"{WINDOWS[path.delay_ms]}packets"},
        "flow": [flow],
    }
    if way.transport.startswith("e2tcp"):
        found["e2tcp"] = {"back_off": False, "receive_window": "100MB", "counted": "span", "increase": "window"}
    return found


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: overheads in per cent, megabits per second, milliseconds, and the mobile's joules."""
    return overheads(document["flows"][0]) | {"energy": float(document["stations"][0]["energy_j"])}


@functools.cache
def scenario(way: Way, path: Path) -> Scenario:
    """The scenario of a way over a path."""
    return Scenario.of(keys(way, path))


def point(way: Way, path: Path, error: str, good_s: float) -> Point:
    """A point of the grid."""
    return Point(scenario(way, path), errors(error, good_s, "link.hop"), measure, COST_S)


def points(way: Way, path: Path, error: str) -> tuple[Point, ...]:
    """One for each good state that is averaged over."""
    return tuple(point(way, path, error, good) for good in AVERAGED[error])
