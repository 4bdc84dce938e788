"""Advice: candidates with what models and runs say of them, and which one to take."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from airwatt import laboratory
from airwatt._core import SCHEMA, __version__

TIMEOUTS = ("10ms", "50ms", "100ms", "200ms")
INTERVALS = ("5ms", "10ms", "20ms", "40ms", "80ms")
DISAGREE = 0.25
"""From this share on, a model that differs from the simulation is said to disagree."""
LATE_S = 0.005
"""A model's delay that is off by less than this disagrees with nothing."""
UNDECIDED_S = 0.001
"""A model's delay that is over the budget by less than this is left to the simulation."""
NO_DELAY_S = 0.0001
"""A delay below this is none: a frame and its acknowledgement take longer."""


@dataclass(frozen=True)
class Candidate:
    """A policy with its parameters."""

    policy: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """As keys of a scenario."""
        return [("policy", self.policy), *((f"station.power_save.{key}", value) for key, value in self.parameters)]


@dataclass(frozen=True)
class Figures:
    """What a candidate costs, by a model or by runs; intervals are 95 %, None where there is none."""

    energy_j: float
    power_w: float
    delay_s: float
    goodput_bps: float | None = None
    energy_ci95_j: float | None = None
    delay_ci95_s: float | None = None
    delay_p95_s: float | None = None
    energy_low_j: float | None = None
    energy_high_j: float | None = None
    """The band that a capture's unknowns leave."""
    goodput_ci95_bps: float | None = None


@dataclass
class Row:
    """A candidate with what the models say and what runs say."""

    candidate: Candidate
    model: Figures | None = None
    simulation: Figures | None = None
    failure: str | None = None
    """Why its runs came to nothing."""

    @property
    def best(self) -> Figures | None:
        """The simulation's word where there is one."""
        return self.simulation or self.model

    @property
    def model_error(self) -> float | None:
        """By how much the model's energy differs from the simulation's, as a share of it."""
        if self.model is None or self.simulation is None or not self.simulation.energy_j:
            return None
        return self.model.energy_j / self.simulation.energy_j - 1.0

    @property
    def late(self) -> bool:
        """Whether the model's delay is off by more than `LATE_S` and as much as a half of the simulation's."""
        if self.model is None or self.simulation is None:
            return False
        off_s = abs(self.model.delay_s - self.simulation.delay_s)
        return off_s > LATE_S and off_s > 0.5 * abs(self.simulation.delay_s)


@dataclass
class Advice:
    """All candidates, and which of them to take."""

    budget_s: float
    source: str
    radio: str
    rows: list[Row]
    runs: int
    seed: int
    bound: Figures | None = None
    """Of policy `ideal`: the timing of a radio that never sleeps, with sleep in every gap."""
    tunnel: dict[str, float] | None = None
    """By the model alone: a tunnel with the largest burst within the budget."""
    tunnel_curve: list[tuple[float, float]] = field(default_factory=list)
    """Delay bounds in s, and the power of the tunnel in W."""
    from_capture: bool = False
    """Replayed packets take the place of simulated flows."""
    battery_j: float | None = None

    @property
    def ranked(self) -> list[Row]:
        """Those confirmed and within the budget, the least energy first."""
        inside = [
            row for row in self.rows if row.simulation and row.simulation.delay_s <= max(self.budget_s, NO_DELAY_S)
        ]
        return sorted(inside, key=lambda row: row.simulation.energy_j if row.simulation else math.inf)

    @property
    def alike(self) -> list[Row]:
        """Those that did exactly what the best one did."""
        ranked = self.ranked
        return [row for row in ranked[1:] if row.simulation == ranked[0].simulation]

    @property
    def runner_up(self) -> Row | None:
        """The next that did something else."""
        return next((row for row in self.ranked[1:] if row not in self.alike), None)

    @property
    def curve(self) -> list[tuple[float, Row]]:
        """What more delay buys: the delays at which a confirmed candidate undercuts all with less delay."""
        confirmed = sorted((row for row in self.rows if row.simulation), key=_delay)
        steps: list[tuple[float, Row]] = []
        for row in confirmed:
            if row.simulation and (not steps or row.simulation.energy_j < _energy(steps[-1][1])):
                steps.append((max(0.0, row.simulation.delay_s), row))
        return steps

    @property
    def models_choice(self) -> Row | None:
        """What the models alone would take."""
        inside = [row for row in self.rows if row.model and row.model.delay_s <= self.budget_s + UNDECIDED_S]
        return min(inside, key=lambda row: row.model.energy_j if row.model else math.inf, default=None)

    @property
    def disagreements(self) -> list[Row]:
        """Where the energies of model and simulation differ by more than `DISAGREE`."""
        return [row for row in self.rows if row.model_error is not None and abs(row.model_error) > DISAGREE]

    @property
    def late(self) -> list[Row]:
        """Where their delays differ."""
        return [row for row in self.rows if row.late]

    @property
    def battery_lasts_s(self) -> dict[str, float]:
        """How long the radio alone could run on the battery: with the advice, and always awake."""
        ranked, awake = self.ranked, [row for row in self.rows if row.candidate.policy == "active"]
        named = {"as advised": ranked[:1], "active": awake[:1]}
        if self.battery_j is None:
            return {}
        return {
            name: self.battery_j / row.simulation.power_w
            for name, rows in named.items()
            for row in rows
            if row.simulation and row.simulation.power_w > 0
        }

    def to_dict(self) -> dict[str, Any]:
        """The document of `airwatt advise --json`."""
        ranked = self.ranked
        return {
            "schema": SCHEMA,
            "version": __version__,
            "source": self.source,
            "radio": self.radio,
            "delay_budget_s": self.budget_s,
            "runs_per_candidate": self.runs,
            "seed": self.seed,
            "advice": _shown(ranked[0]) if ranked else None,
            "runner_up": None if self.runner_up is None else _shown(self.runner_up),
            "alike": [_shown(row) for row in self.alike],
            "candidates": [_shown(row) for row in self.rows],
            "curve": [{"delay_s": delay, **_shown(row)} for delay, row in self.curve],
            "models_choice": None if self.models_choice is None else _shown(self.models_choice),
            "disagreements": [_shown(row) for row in self.disagreements],
            "delay_disagreements": [_shown(row) for row in self.late],
            "ideal": None if self.bound is None else vars(self.bound),
            "battery_lasts_s": self.battery_lasts_s,
            "tunnel": self.tunnel,
            "tunnel_curve": [{"delay_bound_s": bound, "power_w": power} for bound, power in self.tunnel_curve],
        }


def _delay(row: Row) -> tuple[float, float]:
    return (row.simulation.delay_s, row.simulation.energy_j) if row.simulation else (math.inf, math.inf)


def _energy(row: Row) -> float:
    return row.simulation.energy_j if row.simulation else math.inf


def _shown(row: Row) -> dict[str, Any]:
    return {
        "policy": row.candidate.policy,
        "parameters": dict(row.candidate.parameters),
        "model": None if row.model is None else vars(row.model),
        "simulation": None if row.simulation is None else vars(row.simulation),
        "model_error": row.model_error,
        **({"failure": row.failure} if row.failure else {}),
    }


def candidates() -> list[Candidate]:
    """All policies that a station can have, with the parameters that are tried."""
    found = []
    for policy in (str(record.name) for record in laboratory.policies()):
        if policy == "timeout":
            found += [Candidate(policy, (("timeout", value),)) for value in TIMEOUTS]
        elif policy == "uapsd":
            found += [Candidate(policy, (("interval", value),)) for value in INTERVALS]
        elif policy != "ideal":
            found.append(Candidate(policy))
    return found
