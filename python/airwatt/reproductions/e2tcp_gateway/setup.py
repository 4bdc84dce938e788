"""The points of the grid in `publication.toml`: server, wired leg, base station, the published hop, mobile."""

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airwatt._core import Scenario
from airwatt.reproductions import data
from airwatt.reproductions.e2tcp.setup import AVERAGED, errors, overheads
from airwatt.reproductions.publication import Numbers, Point

_DATA = data.read(__package__)
COST_S = _DATA["publication"]["cost_s"]
WINDOWS = dict(zip(_DATA["path"]["delays_ms"], _DATA["path"]["windows"], strict=True))
"""Packets of TCP's window by the delay of the wired leg in milliseconds."""


@dataclass(frozen=True)
class Path:
    """A wired leg."""

    delay_ms: int
    loss: float

    @property
    def name(self) -> str:
        """As in pictures and tables."""
        return f"{self.delay_ms} ms" + (f", {100 * self.loss:g} %" if self.loss else "")


PATHS = tuple(Path(delay, loss) for loss in _DATA["path"]["losses"] for delay in WINDOWS)


@dataclass(frozen=True)
class Way:
    """A way to cross the path: its name, the transport, that of the gateway, and the reliability in per cent."""

    name: str
    transport: str
    gateway: str = ""
    reliability: int = 100


WAYS = tuple(Way(**way) for way in _DATA["way"])
"""TCPs from end to end, the known remedies at a base station, and the three stages."""

EXPECTED = tuple((item["way"], item["least"], item["most"]) for item in _DATA["expected"])
"""Stage, and how many times less energy overhead than Tahoe the thesis expects of it (its chapter 6)."""


def keys(way: Way, path: Path) -> dict[str, Any]:
    """The scenario of a way over a path, as the keys of its file. The lengths of the states of errors are a point's."""
    found: dict[str, Any] = copy.deepcopy(_DATA["scenario"])
    _, router, base, _ = found["node"]
    if path.loss:
        router["program"] = [{"kind": "impairment", "loss": path.loss, "step": "0ms"}]
    if way.gateway:
        base["program"] = [{"kind": "gateway", "transport": way.gateway, "buffer": "64kB"}]
    found["link"][0]["delay"] = f"{path.delay_ms}ms"
    found["tcp"]["receive_window"] = f"{WINDOWS[path.delay_ms]}packets"
    found["flow"][0]["transport"] = way.transport
    if way.reliability < 100:
        found["flow"][0] |= {"reliability": way.reliability, "reliability_window": 50}
    if way.transport.startswith("e2tcp"):
        found["e2tcp"] = dict(_DATA["with_e2tcp"])
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
