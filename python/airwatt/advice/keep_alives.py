"""Keep-alives priced: what one costs under each candidate, and what other intervals would save.

A keep-alive is that of MQTT over TLS, the same flow as `application = { kind = "mqtt" }` of a scenario. Its cost is the
difference of energy to a station without traffic, divided by their number. A longer interval saves in proportion, since
one costs the same as long as the interval is longer than the time-outs of the policy. Left out: keep-alives of the
access point and of TCP, and batching with other traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airwatt import _core
from airwatt._core import InputError, Scenario
from airwatt.advice import beside_none
from airwatt.advice.candidate import Candidate
from airwatt.battery import SECONDS_A_DAY
from airwatt.tasks import StorePath

FACTORS = (1, 2, 4)
"""Multiples of the interval that are priced."""
_COUNT = 40
"""Keep-alives in a run, on average."""


@dataclass(frozen=True)
class KeepAlives:
    """Keep-alives under one candidate."""

    candidate: Candidate
    interval_s: float
    one_j: float
    """What one costs."""
    idle_w: float
    """What the station draws without traffic."""
    voltage_v: float | None
    profile: Mapping[str, Any] | None
    """What the radio's profile says of the energy."""
    rtt_s: float | None
    """Round trip of the wired path; None where the network has other parts."""

    @property
    def day_j(self) -> dict[float, float]:
        """What those of a day cost, by interval in seconds."""
        intervals = [factor * self.interval_s for factor in FACTORS]
        return {interval_s: self.one_j * SECONDS_A_DAY / interval_s for interval_s in intervals}

    @property
    def saved_j(self) -> dict[float, float]:
        """What a longer interval saves in a day."""
        return {interval_s: self.day_j[self.interval_s] - day_j for interval_s, day_j in self.day_j.items()}

    @property
    def power_w(self) -> float:
        """What the station draws with them."""
        return self.idle_w + self.one_j / self.interval_s

    def to_dict(self) -> dict[str, Any]:
        """For the document."""
        return {
            "policy": self.candidate.policy,
            "parameters": dict(self.candidate.parameters),
            "listen_interval": self.candidate.listen_interval,
            "interval_s": self.interval_s,
            "rtt_s": self.rtt_s,
            "one_j": self.one_j,
            "power_w": self.power_w,
            "days": [{"interval_s": interval_s, "energy_j": day_j} for interval_s, day_j in self.day_j.items()],
        }


def price(
    scenario: Scenario, candidates: list[Candidate], interval_s: float, seed: int = 1, store: StorePath = None
) -> list[KeepAlives]:
    """Prices keep-alives of this mean interval, and of its multiples. Raises `InputError` or `RunError`."""
    each_s = beside_none.apart(interval_s)
    flow = {"direction": "up", "application": {"kind": "mqtt", "keep_alive": f"{each_s:.9f}s"}}
    found = []
    wired = beside_none.wired(scenario)
    rtt_s = None if wired is None else float(_core.Quantity(str(wired["rtt"]), "time").value)
    pairs = beside_none.runs(scenario, candidates, flow, _COUNT * each_s, seed, store)
    for candidate, (idle, loaded) in zip(candidates, pairs, strict=True):
        one_j = max(0.0, loaded.energy_j - idle.energy_j) / loaded.answered if loaded.answered else 0.0
        found.append(KeepAlives(candidate, interval_s, one_j, idle.power_w, loaded.voltage_v, loaded.profile, rtt_s))
    return found


def interval_of(text: str) -> float:
    """Reads `--keep-alive`, a time from 1 s to a day. Raises `InputError`."""
    try:
        interval_s = float(_core.Quantity(text, "time").value)
    except InputError:
        interval_s = 0.0
    if not 1 <= interval_s <= SECONDS_A_DAY / 4:
        raise InputError(f"--keep-alive {text!r}: expected a time from 1s to 6h, got another")
    return interval_s
