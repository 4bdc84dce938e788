"""Runs what reproductions need: every point once, all of them in one pool, a few numbers kept of each run.

A job is a point with all its seeds, so that a scenario is read once and thousands of runs are hundreds of jobs. A run
that fails (a connection given up) fails its point and the reproductions that need it, and no other.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from airwatt import _core
from airwatt._core import Control, RunError, Scenario
from airwatt.parallel import Progress, run_all
from airwatt.reproduce.catalogue import Chosen
from airwatt.reproduce.model import Claim, Document, Numbers, Outcome, Point, Reproduction, Results


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
    chosen: Sequence[Chosen], runs: int, seed: int, on_progress: Callable[[Progress], None] | None = None
) -> Batch:
    """Runs all points of the chosen reproductions with seeds seed, seed + 1, ... and computes what they give."""
    there, interrupted = run_points([point for _, item in chosen for point in item.points], runs, seed, on_progress)
    finished = [
        Finished(document, item, _outcome(document, item, there))
        for document, item in chosen
        if all(point in there or point in there.failures for point in item.points)
    ]
    return Batch(finished, interrupted)


def run_points(
    points: Sequence[Point], runs: int, seed: int, on_progress: Callable[[Progress], None] | None = None
) -> tuple[Results, bool]:
    """Runs every point once with each seed; gives what is finished, and whether an interrupt came before the end."""
    points = list(dict.fromkeys(points))
    scenarios = _loaded(points)
    jobs = [_job(scenario, point, range(seed, seed + runs)) for scenario, point in zip(scenarios, points, strict=True)]

    def in_runs(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(replace(progress, done=progress.done * runs, of=progress.of * runs))

    outcome = run_all(jobs, in_runs) if jobs else None
    results: dict[Point, list[Numbers]] = {}
    failures: dict[Point, str] = {}
    for point, result in zip(points, outcome.results if outcome else [], strict=True):
        if isinstance(result, str):
            failures[point] = result
        elif result is not None:
            results[point] = result
    return Results(results, failures), outcome is not None and outcome.interrupted


def _loaded(points: Sequence[Point]) -> list[Scenario]:
    """All scenarios, before anything runs: a wrong one ends the command at once."""
    return [Scenario.load(point.scenario, list(point.overrides)) for point in points]


def _job(scenario: Scenario, point: Point, seeds: range) -> Callable[[Control], list[Numbers] | str]:
    def job(control: Control) -> list[Numbers] | str:
        try:
            return [_numbers(scenario, point, seed, control) for seed in (seeds[:1] if point.only_first else seeds)]
        except RunError as error:
            overrides = " ".join(f"{key}={value}" for key, value in point.overrides)
            return f"{point.scenario} {overrides}: {error}"

    return job


def _numbers(scenario: Scenario, point: Point, seed: int, control: Control) -> Numbers:
    run = _core.run(scenario, seed, trace=point.traced is not None, control=control)
    further = point.traced(run) if point.traced is not None else {}
    return {**point.measure(json.loads(run.json)), **further}


def _outcome(document: Document, item: Reproduction, results: Results) -> Outcome:
    failed = [results.failures[point] for point in item.points if point in results.failures]
    if failed:
        claim = Claim(f"{document.id(item)}.runs", "every run comes to its end", "", failed[0], "", False)
        return Outcome(claims=[claim])
    return item.compute(item, results)
