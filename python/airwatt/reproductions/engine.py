"""Runs what reproductions need: every point once, as tasks (`airwatt.tasks`), and a few numbers kept of each run.

A run that fails (a connection given up) fails its point and the reproductions that need it, and no other.
"""

import functools
import hashlib
import inspect
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airwatt import _core
from airwatt._core import Control, InputError, Run, RunError, Scenario
from airwatt.parallel import Progress
from airwatt.reproductions.catalogue import Chosen
from airwatt.reproductions.publication import Claim, Document, Numbers, Outcome, Point, Reproduction, Results
from airwatt.results import FinishedRun
from airwatt.tasks import Simulate, StorePath, Task, run_tasks, simulate


class World:
    """Where points are run: the simulator, as many at a time as there are processors."""

    at_once: int | None = None
    is_repeatable = True
    """Whether an equal point has equal runs, which a store may keep."""
    simulate: Simulate = staticmethod(simulate)

    def load(self, point: Point) -> Scenario:
        """The scenario of a point. Raises `InputError`."""
        if isinstance(point.scenario, Scenario):
            return point.scenario.replace(list(point.overrides))
        return Scenario.load(point.scenario, list(point.overrides))


class RealKernels(World):
    """Real kernels over the simulated air, in real time: one run at a time, and each as short as asked for.

    Throughput is measured over the same share of a run, and windows are those that fit.
    """

    at_once = 1
    is_repeatable = False

    def __init__(self, length: str, lateness: str = "2ms") -> None:
        self._length = length
        self._lateness = lateness
        self.simulate = self._emulate

    def load(self, point: Point) -> Scenario:
        """The scenario of a point, made as short as asked for. Raises `InputError`."""
        return super().load(point).shortened(self._length)

    def _emulate(self, task: Task[Any], seed: int, trace: bool, limit: str | None, control: Control) -> Run:
        """Emulates one run. Raises `RunError` where the clock was not kept."""
        run = _core.emulate(task.scenario, seed, bound=self._lateness, trace=trace, control=control)
        answer = json.loads(run.json)
        if answer.get("interrupted"):
            raise KeyboardInterrupt
        realtime = answer["realtime"]
        if not realtime["trusted"]:
            late = f"{realtime['late']} of {realtime['deliveries']} packets were late"
            raise RunError(f"{late}; this machine is too slow or too busy for it")
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
    damaged_readings: int = 0
    """How many readings of the store were damaged; their runs were made again."""


def cores() -> int:
    """How many runs go on at a time."""
    return os.cpu_count() or 1


def reproduce(
    chosen: Sequence[Chosen],
    runs: int,
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    over: World | None = None,
    store: StorePath = None,
) -> Batch:
    """Runs all points of the chosen reproductions with seeds seed, seed + 1, ... and computes what they give.

    What `store` has is not run again, unless nothing can be computed from it: a reading with a right sum may still be
    that of no run. Raises `InputError`.
    """
    points = [point for _, item in chosen for point in item.points]
    there, interrupted = run_points(points, runs, seed, on_progress, over, store)
    traced = [point for point in points if point.traced is not None]
    is_made = store is None or not traced
    try:
        finished = _finished(chosen, there)
        is_made = is_made or all(map(_is_finite, finished))
    except Exception:
        if is_made:
            raise
    if not is_made:
        again, interrupted = run_points(traced, runs, seed, on_progress, over, store, read_again=True)
        there = there.replaced(traced, again)
        finished = _finished(chosen, there)
    return Batch(finished, interrupted, there.damaged_readings)


def _is_finite(item: Finished) -> bool:
    """Whether all numbers of a reproduction are finite, without which no document has them."""
    numbers: list[float | str | None] = [one for value in item.outcome.values for one in (value.value, value.ci95)]
    numbers += [one for claim in item.outcome.claims for one in (claim.paper, claim.here)]
    return all(math.isfinite(one) for one in numbers if isinstance(one, int | float))


def _finished(chosen: Sequence[Chosen], there: Results) -> list[Finished]:
    """What the reproductions give whose points are all there."""
    return [
        Finished(document, item, _outcome(document, item, there))
        for document, item in chosen
        if all(point in there or point in there.failures for point in item.points)
    ]


def run_points(
    points: Sequence[Point],
    runs: int,
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    over: World | None = None,
    store: StorePath = None,
    name: str = "reproduce",
    *,
    read_again: bool = False,
) -> tuple[Results, bool]:
    """Runs every point once with each seed; gives what is finished, and whether an interrupt came before the end.

    `name` is what the store calls the runs. `read_again` makes traced runs, whatever the store has of them.
    """
    over = over or World()
    if store is not None and not over.is_repeatable:
        raise InputError("--store: expected simulated runs, got an emulation, which is never the same twice")
    points = list(dict.fromkeys(points))
    # All scenarios, before anything runs: a wrong one ends the command at once.
    tasks = [_task(over.load(point), point, range(seed, seed + runs)) for point in points]
    done = run_tasks(
        tasks, store=store, name=name, on_progress=on_progress, at_once=over.at_once, simulate=over.simulate,
        keep_failures=True, read_again=read_again,
    )  # fmt: skip
    results: dict[Point, list[Numbers]] = {}
    failures: dict[Point, str] = {}
    for index, point in enumerate(points):
        error = done.failure(index)
        if error is not None:
            overrides = " ".join(f"{key}={value}" for key, value in point.overrides)
            failures[point] = f"{tasks[index].scenario.name} {overrides}: {error}"
        elif done.is_complete(index):
            results[point] = done.finished(index)
    return Results(results, failures, done.damaged_readings), done.interrupted


def _task(scenario: Scenario, point: Point, seeds: range) -> Task[Numbers]:
    chosen = seeds[:1] if point.only_first else seeds

    def numbers(finished: FinishedRun) -> Numbers:
        further = {} if point.traced is None or finished.run is None else point.traced(finished.run)
        return {**point.measure(finished.document), **further}

    if point.traced is None:
        return Task(scenario, chosen, numbers, settings=dict(point.overrides))
    read_by = f"{_identity(point.measure)} {_identity(point.traced)}"
    return Task(scenario, chosen, numbers, traced=len(chosen), read_by=read_by)


@functools.cache
def _identity(function: Callable[..., Numbers]) -> str:
    """The name of a function of a module, with a hash of the module's source."""
    source = Path(inspect.getfile(function)).read_bytes()
    return f"{function.__module__}.{function.__qualname__} {hashlib.sha256(source).hexdigest()}"


def _outcome(document: Document, item: Reproduction, results: Results) -> Outcome:
    failed = [results.failures[point] for point in item.points if point in results.failures]
    if failed:
        claim = Claim(f"{document.id(item)}.runs", "every run comes to its end", "", failed[0], "", False)
        return Outcome(claims=[claim])
    outcome = item.compute(item, results)
    if item.calibrated:
        outcome.claims = [replace(claim, calibrated=True) for claim in outcome.claims]
        outcome.notes.append(f"Calibrated: {item.calibrated}")
    return outcome
