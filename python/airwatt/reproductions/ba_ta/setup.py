"""The points that all simulated figures are made of, by the tables of `publication.toml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwatt.reproductions import data
from airwatt.reproductions.publication import Numbers, Point, Results
from airwatt.reproductions.series import Series

DATA = data.read(__package__)
"""The tables of the publication."""

BUFFERS, RTTS, SLOW_DSL_BUFFERS, SLOW_DSL_RTTS = (
    tuple(DATA["grid"][key]) for key in ("buffers_packets", "rtts_ms", "slow_dsl_buffers_packets", "slow_dsl_rtts_ms")
)
ACCESS: dict[str, str] = {key: item["scenario"] for key, item in DATA["access"].items()}
ACCESS_NAMES: dict[str, str] = {key: item["name"] for key, item in DATA["access"].items()}
NAMES: dict[str, str] = DATA["policies"]
UNITS = {"throughput": "Mbps", "energy": "J", "page": "s", "thr index": "", "energy index": ""}

COMMON = (("tcp.min_rto_of", "variance"),)
Settings = tuple[tuple[str, str], ...]


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: means over its stations and flows."""
    flows, stations = document["flows"], document["stations"]
    numbers = {
        "throughput": sum(flow["goodput_bps"] for flow in flows) / len(flows) / 1e6,
        "energy": sum(station["energy_j"] for station in stations) / len(stations),
        "timeouts": float(sum(flow["timeouts"] for flow in flows)),
    }
    for index, flow in enumerate(flows):
        if "response_s_mean" in flow:
            numbers["page"] = float(flow["response_s_mean"])
        if flow.get("measured_bps") is not None:
            numbers[f"measured {index}"] = flow["measured_bps"] / 1e6
    return numbers


def point(access: str, policy: str, settings: Sequence[tuple[str, str]] = (), cost_s: float = 0.06) -> Point:
    """A point; settings in one order, so that equal points are one."""
    overrides = (("policy", policy), *sorted((*COMMON, *settings)))
    return Point(ACCESS[access], overrides, measure, cost_s)


def buffer_setting(access: str, packets: float) -> tuple[str, str]:
    """The buffer before the bottleneck."""
    return ("ap.buffer" if access == "wifi" else "wired.down.queue", f"{packets:g}packets")


@dataclass(frozen=True)
class Axis:
    """What a figure varies, and where."""

    name: str
    label: str
    places: tuple[float, ...]

    def setting(self, access: str, x: float) -> Settings:
        """The scenario's keys at one place."""
        if self.name == "buffer_packets":
            return (buffer_setting(access, x),)
        return (("wired.rtt", f"{x:g}ms"),)


def buffers(access: str) -> Axis:
    """Figures 2 and 13, left: the buffer before the bottleneck."""
    places = SLOW_DSL_BUFFERS if access == "slow" else BUFFERS
    return Axis("buffer_packets", "buffer before the bottleneck (packets)", tuple(map(float, places)))


def rtts(access: str) -> Axis:
    """Figures 6 and 13, right: the round-trip time without power save."""
    places = SLOW_DSL_RTTS if access == "slow" else RTTS
    return Axis("rtt_ms", "round-trip time without power save (ms)", tuple(map(float, places)))


class Curve:
    """A policy with settings, over an axis of an access line."""

    def __init__(
        self,
        access: str,
        policy: str,
        axis: Axis,
        settings: Sequence[tuple[str, str]] = (),
        name: str = "",
        /,
        **at: str | float,
    ) -> None:
        self.access, self.policy, self.axis, self.settings = access, policy, axis, tuple(settings)
        self.name = name or NAMES[policy]
        self.at = {"policy": NAMES[policy], **at}

    def points(self) -> tuple[Point, ...]:
        """One for each place of the axis."""
        return tuple(
            point(self.access, self.policy, (*self.axis.setting(self.access, x), *self.settings))
            for x in self.axis.places
        )

    def series(self, results: Results, what: str) -> Series:
        """One quantity over the axis."""
        pairs = zip(self.axis.places, self.points(), strict=True)
        samples = {x: results.column(point_, what) for x, point_ in pairs}
        return Series(self.name, what, UNITS[what], self.at, self.axis.name, samples)
