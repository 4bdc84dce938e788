"""What runs say of the candidates that the models put first, and those that no model describes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwatt import _core, aggregates, laboratory
from airwatt._core import InputError, Scenario
from airwatt.advise.answer import Advice, Candidate, Figures, rows_of
from airwatt.advise.beside import SETTINGS, Beside
from airwatt.parallel import Progress, run_all
from airwatt.results import Result
from airwatt.statistics import mean_ci95

CONFIRM = 4
"""How many of the models' best within the budget are simulated, beside those that the core asks for in any case."""


@dataclass(frozen=True)
class _Run:
    energy_j: float
    power_w: float
    goodput_bps: float
    delays_s: list[float | None]
    """Of each flow: the mean time of an answer, or of a packet."""
    p95s_s: list[float | None]
    """Of each flow the 95th percentile of these times."""
    p99s_s: list[float | None]
    causes_j: Sequence[Mapping[str, Any]]
    """Energy by cause of each station."""


def _job(scenario: Scenario, seed: int, limit: str | None) -> Callable[[_core.Control], _Run | str]:
    def job(control: _core.Control) -> _Run | str:
        try:
            result = Result(_core.run(scenario, seed, limit=limit, control=control))
        except _core.RunError as error:
            return str(error)
        energy = aggregates.energy_j(result)
        delays = [flow.latency_s_mean if flow.responses is None else flow.response_s_mean for flow in result.flows]
        p95s = [flow.latency_s_p95 if flow.responses is None else flow.response_s_p95 for flow in result.flows]
        p99s = [flow.latency_s_p99 if flow.responses is None else flow.response_s_p99 for flow in result.flows]
        causes_j = [station.energy_by_cause_j for station in result.stations]
        return _Run(energy, energy / result.simulated_s, aggregates.goodput_bps(result), delays, p95s, p99s, causes_j)

    return job


Delays = Callable[[_Run], list[float | None]]


def _added(runs: Sequence[_Run], awake: Sequence[_Run], delays: Delays) -> tuple[float, float | None] | None:
    """The delay that a candidate adds, of the flow that suffers most: differences are taken seed by seed."""
    found = []
    for index in range(len(delays(runs[0]))):
        pairs = [(delays(a)[index], delays(b)[index]) for a, b in zip(runs, awake, strict=True)]
        known = [a - b for a, b in pairs if a is not None and b is not None]
        if known:
            found.append(mean_ci95(known))
    return max(found, key=lambda each: each[0], default=None)


def _figures(runs: Sequence[_Run], awake: Sequence[_Run]) -> Figures:
    energy, ci95 = mean_ci95([run.energy_j for run in runs])
    delay, delay_ci95 = _added(runs, awake, lambda run: run.delays_s) or (0.0, None)
    p95 = _added(runs, awake, lambda run: run.p95s_s)
    p99 = _added(runs, awake, lambda run: run.p99s_s)
    power, _ = mean_ci95([run.power_w for run in runs])
    goodput, goodput_ci95 = mean_ci95([run.goodput_bps for run in runs])
    return Figures(
        energy,
        power,
        delay,
        goodput,
        ci95,
        delay_ci95,
        None if p95 is None else p95[0],
        None if p99 is None else p99[0],
        goodput_ci95_bps=goodput_ci95,
        causes=dict(aggregates.cause_shares([by_cause_j for run in runs for by_cause_j in run.causes_j])),
    )


def advise(
    scenario: laboratory.ScenarioLike,
    budget_s: float,
    *,
    runs: int = 3,
    seed: int = 1,
    confirm: int = CONFIRM,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    limit: str | None = None,
    keep_alive_s: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Finds what spends least on a scenario's traffic within a delay budget. Raises `InputError`, `RunError`.

    `limit` bounds each run, as in `airwatt.run`. With `keep_alive_s` keep-alives of this mean interval are priced.
    """
    laboratory.check_seeds(seed, runs)
    loaded = laboratory.load(scenario, (), set)
    text = loaded.to_dict()
    if "wifi" not in text:
        raise InputError(f"advise {loaded.name}: expected a scenario whose stations can sleep, got one without [wifi]")
    plan = json.loads(_core.advise_scenario(loaded, budget_s, confirm))
    rows = rows_of(plan)
    confirmed = [row for row in rows if row.confirm]
    measured = loaded.replace([("latency_percentiles", "true")])
    scenarios = [measured.replace(row.candidate.overrides) for row in confirmed]
    bound = measured.replace([("policy", "ideal")])
    jobs = [_job(one, seed + index, limit) for one in [*scenarios, bound] for index in range(runs)]
    outcome = run_all(jobs, on_progress)
    if outcome.interrupted:
        raise laboratory.Interrupted(None)
    results = [outcome.results[first : first + runs] for first in range(0, len(jobs), runs)]
    awake = _complete(results[[row.candidate.policy for row in confirmed].index("active")])
    if isinstance(awake, str):
        raise _core.RunError(awake)
    for row, mine in zip(confirmed, results, strict=False):
        done = _complete(mine)
        row.failure = done if isinstance(done, str) else None
        row.simulation = None if isinstance(done, str) else _figures(done, awake)
    least = _complete(results[-1])
    advice = Advice(
        budget_s, loaded.name, ", ".join(sorted({one["radio"] for one in text["station"]})), rows, runs, seed
    )
    advice.voltage_v = laboratory.radio(text["station"][0]["radio"]).voltage_v
    if keep_alive_s is not None:
        from airwatt.advise import keep_alives

        candidates = [row.candidate for row in confirmed if row.simulation]
        advice.keep_alives = keep_alives.price(loaded, candidates, keep_alive_s, seed)
    advice.bound = None if isinstance(least, str) else _figures(least, awake)
    advice.tunnel, advice.tunnel_curve = plan["tunnel"], plan["tunnel_curve"]
    advice.decide()
    if advice.ranked:
        best = advice.ranked[0]
        assert best.simulation is not None
        advice.beside = _beside(measured, best.candidate, best.simulation, awake, (runs, seed, limit), on_progress)
    return advice


def _beside(
    scenario: Scenario,
    candidate: Candidate,
    alone: Figures,
    awake: Sequence[_Run],
    how: tuple[int, int, str | None],
    on_progress: Callable[[Progress], None] | None,
) -> list[Beside]:
    """Runs what can be set beside a candidate, as far as it has an effect on the scenario."""
    runs, seed, limit = how
    possible = []
    for setting in SETTINGS:
        try:
            possible.append((setting, scenario.replace([*candidate.overrides, *setting.overrides])))
        except InputError:
            # A key without an effect: no TCP, a tunnel that is there already, or no place for one.
            continue
    jobs = [_job(one, seed + index, limit) for _, one in possible for index in range(runs)]
    outcome = run_all(jobs, on_progress)
    if outcome.interrupted:
        raise laboratory.Interrupted(None)
    found = []
    for index, (setting, _) in enumerate(possible):
        done = _complete(outcome.results[index * runs : (index + 1) * runs])
        if not isinstance(done, str):
            found.append(Beside(setting, candidate, _figures(done, awake), alone))
    return [one for one in found if one.has_effect]


def _complete(runs: Sequence[_Run | str | None]) -> list[_Run] | str:
    """All runs of a candidate, or why one failed."""
    failed = [run for run in runs if isinstance(run, str)]
    return failed[0] if failed else [run for run in runs if isinstance(run, _Run)]
