"""The points that all simulated tables and figures are made of, by the tables of `publication.toml`."""

from collections.abc import Mapping, Sequence
from typing import Any

from airwatt import _core
from airwatt.reproductions import data
from airwatt.reproductions.publication import Numbers, Point, Results
from airwatt.reproductions.series import Series

SCENARIO = "e2tcp"

COST_S = 0.01
"""About what 20 MB take to simulate."""

DATA = data.read(__package__)
"""The tables of the publication."""

GRID: Mapping[str, Sequence[int]] = DATA["grid"]["figures"]
"""Good-state lengths in seconds of the figures, from the best channel to the worst."""

AVERAGED: Mapping[str, Sequence[int]] = DATA["grid"]["averaged"]
"""Those that the tables average over."""

RADIOS = ("always-active", "intermediate", "ideal")
RADIO = "intermediate"
"""Unless another is named."""

TCPS = ("tahoe", "reno", "newreno")
NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "e2tcp": "E2TCP", "prtp": "PRTP"}

LINK_BPS = 1_000_000
"""Rate of the default link, which throughput is a share of."""

RELIABILITY_WINDOW = ("flow.reliability_window", "50")
"""E2TCP's reliability is a share of the last packets."""

PRTP_WINDOW = ("flow.reliability_window", "200")
"""PRTP's is a share of more of them."""

CALIBRATED = (
    "E2TCP's window grows with each fifth acknowledgement, its reliability is a share of 50 packets and PRTP's of 200, "
    "and averages are over some of the good states: all this was chosen because the averages of tables 5.2 to 5.4 come "
    "out near what is printed."
)
"""Why the claims of tables 5.2 to 5.4 are counted apart."""

Settings = tuple[tuple[str, str], ...]
"""Overrides of the scenario."""


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: overheads and efficiencies in per cent, delays in milliseconds."""
    flow = document["flows"][0]
    data, time = float(flow["data_overhead"]), float(flow["time_overhead"])
    numbers = overheads(flow) | {
        "latency with own bits": 1000 * float(flow["delivery_full_s_mean"]),
        "resent": float(flow["segments_retransmitted"]),
        "timeouts": float(flow["timeouts"]),
    }
    for radio in RADIOS:
        numbers[f"EE {radio}"] = 100 * _core.energy_efficiency(data, time, radio)
    return numbers


def overheads(flow: Mapping[str, Any]) -> Numbers:
    """Overheads of a flow in per cent, its throughput in Mb/s, its latency in ms, and the bytes that it skipped."""
    data, time = float(flow["data_overhead"]), float(flow["time_overhead"])
    return {
        "DO": 100 * data,
        "TO": 100 * time,
        "throughput": 1e-6 * LINK_BPS / (1 + time),
        "latency": 1000 * float(flow["delivery_s_mean"]),
        "skipped": float(flow["bytes_skipped"]),
        **{f"EO {radio}": 100 * float(flow["energy_overhead"][radio]) for radio in RADIOS},
    }


UNITS = {"throughput": "Mbps", "latency": "ms", "latency with own bits": "ms"}
"""Per cent for the others."""


def seconds(value: float) -> str:
    """A time as a scenario has it: in milliseconds, so that 0.1 s of 3 s is no fraction of binary digits."""
    return f"{round(1000 * value)}ms"


def errors(error: str, good_s: float, link: str = "link") -> Settings:
    """The error model of scenario A or B at a good-state length; `link` is the table of the link."""
    bad_s = 0.1 if error == "A" else good_s / 10
    return ((f"{link}.errors.good", seconds(good_s)), (f"{link}.errors.bad", seconds(bad_s)))


def point(transport: str, error: str, good_s: float, settings: Settings = (), cost_s: float = COST_S) -> Point:
    """A point of the evaluation; settings in one order, so that equal points are one."""
    overrides = (*errors(error, good_s), ("flow.transport", transport), *sorted(settings))
    return Point(SCENARIO, overrides, measure, cost_s)


class Curve:
    """A transport with settings, over the good states of a scenario."""

    def __init__(
        self,
        name: str,
        transport: str,
        settings: Sequence[tuple[str, str]] = (),
        cost_s: float = COST_S,
        **at: str | float,
    ) -> None:
        self.name = name
        self.transport = transport
        self.settings = tuple(settings)
        self.cost_s = cost_s
        self.at = {"transport": transport, **at}

    def points(self, error: str) -> tuple[Point, ...]:
        """One for each good state."""
        return tuple(point(self.transport, error, good, self.settings, self.cost_s) for good in GRID[error])

    def series(self, results: Results, error: str, what: str, radio: str = RADIO) -> Series:
        """One quantity over the good states, in the unit of the thesis."""
        weighed = what in ("EO", "EE")
        key = f"{what} {radio}" if weighed else what
        samples = {
            float(good): results.column(point_, key)
            for good, point_ in zip(GRID[error], self.points(error), strict=True)
        }
        at = {"error": error, **self.at, **({"radio": radio} if weighed else {})}
        return Series(self.name, what, UNITS.get(what, "%"), at, "good_s", samples)


def plain(transport: str) -> Curve:
    """A transport as it is."""
    return Curve(NAMES[transport], transport)


FOUR = tuple(plain(transport) for transport in (*TCPS, "e2tcp"))
"""The four transports that are compared with each other."""
TAHOE, RENO, NEWRENO, E2TCP = FOUR
