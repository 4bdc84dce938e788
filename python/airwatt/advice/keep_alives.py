"""Keep-alives priced: what one costs under each candidate, and what other intervals would save.

A keep-alive is a small question of the station over TCP that its server answers, at random times with the mean
interval. Its cost is the difference of energy to a station without traffic, divided by their number. A longer interval
saves in proportion, since one costs the same as long as the interval is longer than the time-outs of the policy. Left
out: keep-alives of the access point and of TCP, which come at fixed times, and batching with other traffic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airwatt import _core, aggregates, laboratory
from airwatt._core import InputError, Scenario
from airwatt.advice.candidate import Candidate
from airwatt.battery import SECONDS_A_DAY
from airwatt.results import FinishedRun, Result
from airwatt.tasks import StorePath, Task, run_tasks

FACTORS = (1, 2, 4)
"""Multiples of the interval that are priced."""
_COUNT = 40
"""Keep-alives in a run, on average."""
_MESSAGE = "2B"
"""Data of a PINGREQ and of a PINGRESP (MQTT 3.1.1 sections 3.12 and 3.13)."""


@dataclass(frozen=True)
class KeepAlives:
    """Keep-alives under one candidate."""

    candidate: Candidate
    interval_s: float
    one_j: float
    """What one costs."""

    @property
    def day_j(self) -> dict[float, float]:
        """What those of a day cost, by interval in seconds."""
        intervals = [factor * self.interval_s for factor in FACTORS]
        return {interval_s: self.one_j * SECONDS_A_DAY / interval_s for interval_s in intervals}

    @property
    def saved_j(self) -> dict[float, float]:
        """What a longer interval saves in a day."""
        return {interval_s: self.day_j[self.interval_s] - day_j for interval_s, day_j in self.day_j.items()}

    def to_dict(self) -> dict[str, Any]:
        """For the document."""
        return {
            "policy": self.candidate.policy,
            "parameters": dict(self.candidate.parameters),
            "listen_interval": self.candidate.listen_interval,
            "interval_s": self.interval_s,
            "one_j": self.one_j,
            "days": [{"interval_s": interval_s, "energy_j": day_j} for interval_s, day_j in self.day_j.items()],
        }


def price(
    scenario: Scenario, candidates: list[Candidate], interval_s: float, seed: int = 1, store: StorePath = None
) -> list[KeepAlives]:
    """Prices keep-alives of this mean interval, and of its multiples. Raises `InputError` or `RunError`."""
    tasks = [
        Task(
            _scenario(scenario, candidate, wanted, _COUNT * interval_s),
            range(seed, seed + 1),
            _kept,
            settings=dict(candidate.overrides),
        )
        for candidate in candidates
        for wanted in (None, interval_s)
    ]
    done = run_tasks(tasks, store=store, name="advise")
    if done.interrupted:
        raise laboratory.Interrupted(None)
    found = []
    for index, candidate in enumerate(candidates):
        (idle_j, _), (loaded_j, count) = (done.finished(2 * index + place)[0] for place in range(2))
        added_j = loaded_j - idle_j
        found.append(KeepAlives(candidate, interval_s, max(0.0, added_j) / count if count else 0.0))
    return found


def _scenario(scenario: Scenario, candidate: Candidate, interval_s: float | None, duration_s: float) -> Scenario:
    keep_alive = {
        "direction": "down",
        "application": {
            "kind": "request-response",
            "mean_gap": f"{interval_s}s",
            "request": _MESSAGE,
            "response": _MESSAGE,
        },
    }
    keys = scenario.to_dict() | {"duration": f"{duration_s}s", "flow": [] if interval_s is None else [keep_alive]}
    for key in ("measure_from", "fairness_windows", "fairness_capacity"):
        keys.pop(key, None)
    return Scenario.of(keys, candidate.overrides, name="--keep-alive")


def _kept(run: FinishedRun) -> tuple[float, int]:
    """Energy of a run, and how many keep-alives it had."""
    result = Result.of(run)
    return aggregates.energy_j(result), sum(flow.responses or 0 for flow in result.flows)


def interval_of(text: str) -> float:
    """Reads `--keep-alive`, a time from 1 s to a day. Raises `InputError`."""
    try:
        interval_s = float(_core.Quantity(text, "time").value)
    except InputError:
        interval_s = 0.0
    if not 1 <= interval_s <= SECONDS_A_DAY / 4:
        raise InputError(f"--keep-alive {text!r}: expected a time from 1s to 6h, got another")
    return interval_s
