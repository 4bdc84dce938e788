"""Keep-alives priced: what one costs under each candidate, and what other intervals would save.

A keep-alive is that of MQTT over TLS, the same flow as `application = { kind = "mqtt" }` of a scenario. Its cost is the
difference of energy to a station without traffic, divided by their number. A longer interval saves in proportion, since
one costs the same as long as the interval is longer than the time-outs of the policy. A scenario without a wired path
gets the one of `--flow`, so that a keep-alive has one price: the radio waits for its answer for as long as the path
takes. Left out: keep-alives of the access point and of TCP, and batching with other traffic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from airwatt import _core, aggregates, laboratory
from airwatt._core import InputError, Scenario
from airwatt.advice.candidate import Candidate
from airwatt.advice.question import LINE
from airwatt.battery import SECONDS_A_DAY
from airwatt.results import FinishedRun, Result
from airwatt.tasks import StorePath, Task, run_tasks

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
    flow = {"direction": "up", "application": {"kind": "mqtt", "keep_alive": f"{interval_s}s"}}
    found = []
    wired = _wired(scenario)
    rtt_s = None if wired is None else float(_core.Quantity(str(wired["rtt"]), "time").value)
    pairs = _beside_none(scenario, candidates, flow, _COUNT * interval_s, seed, store)
    for candidate, (idle, loaded) in zip(candidates, pairs, strict=True):
        one_j = max(0.0, loaded.energy_j - idle.energy_j) / loaded.answered if loaded.answered else 0.0
        found.append(KeepAlives(candidate, interval_s, one_j, idle.power_w, loaded.voltage_v, loaded.profile, rtt_s))
    return found


def beside_none(
    scenario: Scenario, candidate: Candidate, flow: Mapping[str, Any], duration_s: float, seed: int, store: StorePath
) -> tuple[Kept, Kept]:
    """Runs a candidate without traffic, and with one flow alone."""
    return _beside_none(scenario, [candidate], flow, duration_s, seed, store)[0]


def _beside_none(
    scenario: Scenario,
    candidates: Sequence[Candidate],
    flow: Mapping[str, Any],
    duration_s: float,
    seed: int,
    store: StorePath,
) -> list[tuple[Kept, Kept]]:
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


def _scenario(
    scenario: Scenario, candidate: Candidate, flows: Sequence[Mapping[str, Any]], duration_s: float
) -> Scenario:
    keys = scenario.to_dict() | {"duration": f"{duration_s}s", "flow": list(flows)}
    wired = _wired(scenario)
    if wired is not None:
        keys["wired"] = wired
    for key in ("measure_from", "fairness_windows", "fairness_capacity"):
        keys.pop(key, None)
    return Scenario.of(keys, candidate.overrides, name="--keep-alive")


def _wired(scenario: Scenario) -> dict[str, Any] | None:
    """The wired path of the keep-alives; None for a network in the general form, which has its own paths."""
    keys = scenario.to_dict()
    if keys.get("cell") or keys.get("node"):
        return None
    return dict(keys.get("wired") or LINE)


class Kept(NamedTuple):
    """What is kept of a run."""

    energy_j: float
    power_w: float
    answered: int
    """How many keep-alives were answered."""
    voltage_v: float | None
    profile: Mapping[str, Any] | None


def _kept(run: FinishedRun) -> Kept:
    result = Result.of(run)
    station = result.stations[0]
    power_w, current_a = station.average_power_w, station.average_current_a
    answered = sum(flow.responses or 0 for flow in result.flows)
    volts = power_w / current_a if current_a else None
    return Kept(aggregates.energy_j(result), power_w, answered, volts, station.profile)


def interval_of(text: str) -> float:
    """Reads `--keep-alive`, a time from 1 s to a day. Raises `InputError`."""
    try:
        interval_s = float(_core.Quantity(text, "time").value)
    except InputError:
        interval_s = 0.0
    if not 1 <= interval_s <= SECONDS_A_DAY / 4:
        raise InputError(f"--keep-alive {text!r}: expected a time from 1s to 6h, got another")
    return interval_s
