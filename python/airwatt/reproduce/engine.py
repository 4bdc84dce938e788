"""Runs what reproductions need: every point once, all of them in one pool, a few numbers kept of each run.

A job is a point with all its seeds, so that a scenario is read once and thousands of runs are hundreds of jobs. A run
that fails (a connection given up) fails its point and the reproductions that need it, and no other.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airwatt import _core
from airwatt._core import Control, Run, RunError, Scenario
from airwatt.parallel import Progress, run_all
from airwatt.reproduce.catalogue import Chosen
from airwatt.reproduce.publication import Claim, Document, Numbers, Outcome, Point, Reproduction, Results


class World:
    """Where points are run: the simulator, as many at a time as there are processors."""

    at_once: int | None = None

    def load(self, point: Point) -> Scenario:
        """The scenario of a point. Raises `InputError`."""
        if isinstance(point.scenario, Scenario):
            return point.scenario.replace(list(point.overrides))
        return Scenario.load(point.scenario, list(point.overrides))

    def run(self, scenario: Scenario, point: Point, seed: int, control: Control) -> Run:
        """One run. Raises `RunError`."""
        return _core.run(scenario, seed, trace=point.traced is not None, control=control)


class RealKernels(World):
    """Real kernels over the simulated air, in real time: one run at a time, and each as short as asked for.

    Throughput is measured over the same share of a run, and windows are those that fit.
    """

    at_once = 1

    def __init__(self, length: str, lateness: str = "2ms") -> None:
        self._length = length
        self._lateness = lateness

    def load(self, point: Point) -> Scenario:
        """The scenario of a point, made as short as asked for. Raises `InputError`."""
        return super().load(point).shortened(self._length)

    def run(self, scenario: Scenario, point: Point, seed: int, control: Control) -> Run:
        """One emulation. Raises `RunError` where the clock was not kept."""
        run = _core.emulate(scenario, seed, bound=self._lateness, trace=point.traced is not None, control=control)
        answer = json.loads(run.json)
        if answer.get("interrupted"):
            raise KeyboardInterrupt
        realtime = answer["realtime"]
        if not realtime["trusted"]:
            raise RunError(f"{realtime['late']} of {realtime['deliveries']} packets were late; the machine is too busy")
        return run


@dataclass
class Finished:
    """A reproduction with what came of it."""

    document: Document
    reproduction: Reproduction
    outcome: Outcome

    @property
    def id(self) -> str:
        """As in `e2tcp/tab5.3`."""
        return self.document.id(self.reproduction)


@dataclass
class Batch:
    """What was finished, in the order of the pages; less than asked for after an interrupt."""

    finished: list[Finished]
    interrupted: bool


def cores() -> int:
    """How many runs go on at a time."""
    return os.cpu_count() or 1


def reproduce(
    chosen: Sequence[Chosen],
    runs: int,
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    over: World | None = None,
) -> Batch:
    """Runs all points of the chosen reproductions with seeds seed, seed + 1, ... and computes what they give."""
    points = [point for _, item in chosen for point in item.points]
    there, interrupted = run_points(points, runs, seed, on_progress, over)
    finished = [
        Finished(document, item, _outcome(document, item, there))
        for document, item in chosen
        if all(point in there or point in there.failures for point in item.points)
    ]
    return Batch(finished, interrupted)


def run_points(
    points: Sequence[Point],
    runs: int,
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    over: World | None = None,
) -> tuple[Results, bool]:
    """Runs every point once with each seed; gives what is finished, and whether an interrupt came before the end."""
    over = over or World()
    points = list(dict.fromkeys(points))
    # All scenarios, before anything runs: a wrong one ends the command at once.
    scenarios = [over.load(point) for point in points]
    seeds = range(seed, seed + runs)
    jobs = [_job(scenario, point, seeds, over) for scenario, point in zip(scenarios, points, strict=True)]

    def in_runs(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(progress._replace(done=progress.done * runs, of=progress.of * runs))

    outcome = run_all(jobs, in_runs, over.at_once) if jobs else None
    results: dict[Point, list[Numbers]] = {}
    failures: dict[Point, str] = {}
    for point, result in zip(points, outcome.results if outcome else [], strict=True):
        if isinstance(result, str):
            failures[point] = result
        elif result is not None:
            results[point] = result
    return Results(results, failures), outcome is not None and outcome.interrupted


def _job(scenario: Scenario, point: Point, seeds: range, over: World) -> Callable[[Control], list[Numbers] | str]:
    def job(control: Control) -> list[Numbers] | str:
        try:
            chosen = seeds[:1] if point.only_first else seeds
            return [_numbers(over.run(scenario, point, seed, control), point) for seed in chosen]
        except RunError as error:
            overrides = " ".join(f"{key}={value}" for key, value in point.overrides)
            return f"{scenario.name} {overrides}: {error}"

    return job


def _numbers(run: Run, point: Point) -> Numbers:
    further = point.traced(run) if point.traced is not None else {}
    return {**point.measure(json.loads(run.json)), **further}


def _outcome(document: Document, item: Reproduction, results: Results) -> Outcome:
    failed = [results.failures[point] for point in item.points if point in results.failures]
    if failed:
        claim = Claim(f"{document.id(item)}.runs", "every run comes to its end", "", failed[0], "", False)
        return Outcome(claims=[claim])
    return item.compute(item, results)
