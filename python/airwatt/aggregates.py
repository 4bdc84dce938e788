"""A run in a handful of numbers: sums over its flows and stations, for tables and pictures side by side."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airwatt.statistics import mean_ci95

Estimate = tuple[float | None, float | None]
"""A mean and the half width of its 95 % interval. No mean: absent from some run. No interval: a single run."""


def energy_j(document: Mapping[str, Any]) -> float:
    """All stations' energy, in joules."""
    return math.fsum(station["energy_j"] for station in document["stations"])


def goodput_bps(document: Mapping[str, Any]) -> float:
    """All flows' goodput, in bit/s."""
    return math.fsum(flow["goodput_bps"] for flow in document["flows"])


def completed_s(document: Mapping[str, Any]) -> float | None:
    """When the last transfer was complete, in simulated seconds; None if one was not."""
    times = [flow["completed_s"] for flow in document["flows"]]
    return None if not times or None in times else max(times)


PERCENTILES = ("p50", "p95", "p99")
"""Of the times that pages, responses and blocks of a stream took."""


def answers(document: Mapping[str, Any]) -> bool:
    """Whether all flows are of applications that wait for answers."""
    return bool(document["flows"]) and all("responses" in flow for flow in document["flows"])


def streams(document: Mapping[str, Any]) -> bool:
    """Whether all flows are streams in blocks."""
    return bool(document["flows"]) and all("blocks" in flow for flow in document["flows"])


def response_s(document: Mapping[str, Any], percentile: str) -> float:
    """How long that share of the answers or blocks took at most, of the flow that waited longest."""
    what = "response" if answers(document) else "block"
    return max(float(flow[f"{what}_s_{percentile}"]) for flow in document["flows"])


def share(document: Mapping[str, Any], state: str) -> float:
    """Share of all stations' time that was spent in a radio state, from 0 to 1."""
    spent = math.fsum(station["state_s"][state] for station in document["stations"])
    total = math.fsum(math.fsum(station["state_s"].values()) for station in document["stations"])
    return spent / total if total else 0.0


def wakeups(document: Mapping[str, Any]) -> float:
    """How often stations' radios woke up. `wakeups` of a station is a count, or counts by reason."""
    return sum(count(station["wakeups"]) for station in document["stations"])


def retransmitted(document: Mapping[str, Any]) -> float:
    """Segments that were sent again."""
    return math.fsum(flow["segments_retransmitted"] for flow in document["flows"])


def count(value: Any) -> float:
    """A count that may be split by reason."""
    return math.fsum(value.values()) if isinstance(value, Mapping) else float(value)


def over(documents: Sequence[Mapping[str, Any]], number: Callable[[Mapping[str, Any]], float | None]) -> Estimate:
    """The mean and interval of one number over several runs."""
    values = [number(document) for document in documents]
    present = [value for value in values if value is not None]
    return mean_ci95(present) if present and len(present) == len(values) else (None, None)
