"""Runs of a candidate without traffic and with one flow alone: the difference is what the flow costs.

Stations of a network without flows have been idle for long when its run begins, and the flow's first message comes at
the begin of the other one, so that both have as many times awake after traffic as there are messages. Messages each
minute would come at the same time after a beacon of 100 ms, and always or never save the wake-up for one: theirs are a
little further apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from airwatt import aggregates, laboratory
from airwatt._core import Scenario
from airwatt.advice.candidate import Candidate
from airwatt.advice.question import LINE
from airwatt.results import FinishedRun, Result
from airwatt.tasks import StorePath, Task, run_tasks

_APART = 1.0103
"""With a minute 0.618 s more, a part of a second whose multiples divide it evenly."""


def apart(interval_s: float) -> float:
    """The time between messages that stand for those of an interval, at any time between two beacons."""
    return _APART * interval_s


class Kept(NamedTuple):
    """What is kept of a run."""

    energy_j: float
    power_w: float
    answered: int
    """How many messages were answered."""
    voltage_v: float | None
    profile: Mapping[str, Any] | None


def runs(
    scenario: Scenario,
    candidates: Sequence[Candidate],
    flow: Mapping[str, Any],
    duration_s: float,
    seed: int,
    store: StorePath,
) -> list[tuple[Kept, Kept]]:
    """Runs each candidate without traffic, and with the flow alone. Raises `InputError` or `RunError`."""
    tasks = [
        Task(
            _scenario(scenario, candidate, flows, duration_s),
            range(seed, seed + 1),
            _kept,
            settings=dict(candidate.overrides),
        )
        for candidate in candidates
        for flows in ([], [flow])
    ]
    done = run_tasks(tasks, store=store, name="advise")
    if done.interrupted:
        raise laboratory.Interrupted(None)
    return [(done.finished(2 * index)[0], done.finished(2 * index + 1)[0]) for index in range(len(candidates))]


def wired(scenario: Scenario) -> dict[str, Any] | None:
    """The wired path of the flow; None for a network in the general form, which has its own paths.

    A scenario without one gets that of `--flow`, since a radio waits for an answer for as long as the path takes.
    """
    keys = scenario.to_dict()
    if keys.get("cell") or keys.get("node"):
        return None
    return dict(keys.get("wired") or LINE)


def _scenario(
    scenario: Scenario, candidate: Candidate, flows: Sequence[Mapping[str, Any]], duration_s: float
) -> Scenario:
    keys = scenario.to_dict() | {"duration": f"{duration_s}s", "flow": list(flows)}
    path = wired(scenario)
    if path is not None:
        keys["wired"] = path
    for key in ("measure_from", "fairness_windows", "fairness_capacity"):
        keys.pop(key, None)
    return Scenario.of(keys, candidate.overrides, name="--keep-alive")


def _kept(run: FinishedRun) -> Kept:
    result = Result.of(run)
    station = result.stations[0]
    power_w, current_a = station.average_power_w, station.average_current_a
    answered = sum(flow.responses or 0 for flow in result.flows)
    volts = power_w / current_a if current_a else None
    return Kept(aggregates.energy_j(result), power_w, answered, volts, station.profile)
