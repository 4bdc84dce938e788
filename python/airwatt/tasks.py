"""Runs of scenarios with seeds: the one grid of jobs, under `run`, `compare`, `advise`, `reproduce` and all else.

A task is a checked scenario with the seeds of its runs, and what is kept of each of them. Every run is a job of the
pool (`parallel`), which shows progress and can be interrupted; a run that fails is kept as its error.

With a store (`sweeps`) a run is looked up by the checked scenario, the seed and the core library, and made only if it
is not there. What is made goes to the store as it finishes, so that an interrupted command goes on where it stopped,
and two commands on one store help each other. Traces are not kept; what a function has read from them is, by the name
and the source of the function, as a line with a sum like those of journals. Left out of stores, and made each time:
other runs with traces, and runs of mechanisms that are written in Python, which no hash of the core library covers.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Generic, NamedTuple, Protocol, TypeVar

from airwatt import _core
from airwatt._core import Control, Run, RunError, Scenario
from airwatt.own import mechanisms
from airwatt.parallel import Job, Progress, run_each
from airwatt.results import FinishedRun

T = TypeVar("T")

OnProgress = Callable[[Progress], None] | None
StorePath = str | os.PathLike[str] | None


class Task(NamedTuple, Generic[T]):
    """A checked scenario and the seeds of its runs."""

    scenario: Scenario
    seeds: range
    keep: Callable[[FinishedRun], T]
    """Makes of a run what is kept of it, in the thread that made it."""
    traced: int = 0
    """How many runs, from the first, have traces."""
    pcapng: BinaryIO | None = None
    """Where the frames of the first run go while it is made."""
    read_by: str = ""
    """What reads the traces, with a hash of its source; then what it gives, which JSON has to hold, goes to a store."""
    settings: Mapping[str, str] = MappingProxyType({})
    """The keys that distinguish it from others, which become columns of the tables of a store."""

    @property
    def stored(self) -> range:
        """The seeds whose runs a store may have."""
        if self.scenario.own():
            return self.seeds[:0]
        return self.seeds[max(self.traced, int(self.pcapng is not None)) :]


class Simulate(Protocol):
    """Makes a run of a task: the simulator, or something in its place."""

    def __call__(self, task: Task[Any], seed: int, trace: bool, limit: str | None, control: Control) -> Run:
        """Raises `RunError`, or `KeyboardInterrupt` when stopped."""


def simulate(task: Task[Any], seed: int, trace: bool, limit: str | None, control: Control) -> Run:
    """Makes a run of a task in the simulator. Raises `RunError` too for what a mechanism's file raised."""
    own = mechanisms(task.scenario)
    try:
        return _core.run(
            task.scenario,
            seed,
            trace=trace,
            pcapng=task.pcapng if seed == task.seeds[0] else None,
            limit=limit,
            own=own.made,
            control=control,
        )
    except BaseException as error:  # whatever a user's file raises
        line = own.line_of(error)
        if line is None:
            raise
        raise RunError(line) from error


class Done(Generic[T]):
    """What was kept of the runs of each task, in the order of the seeds; less than asked for after an interrupt."""

    def __init__(
        self, runs: Sequence[Sequence[T | RunError | None]], interrupted: bool, damaged_readings: int = 0
    ) -> None:
        # A copy: an abandoned job may still end.
        self._runs = [list(row) for row in runs]
        self.interrupted = interrupted
        self.damaged_readings = damaged_readings
        """How many readings of a store were damaged; their runs were made again."""

    def finished(self, task: int) -> list[T]:
        """What was kept of the finished runs of a task, by its number."""
        return [run for run in self._runs[task] if run is not None and not isinstance(run, RunError)]

    def is_complete(self, task: int) -> bool:
        """Whether every run of a task has finished or failed."""
        return None not in self._runs[task]

    def failure(self, task: int) -> RunError | None:
        """The first failure of a task."""
        return next((run for run in self._runs[task] if isinstance(run, RunError)), None)


def run_tasks(
    tasks: Sequence[Task[T]],
    *,
    limit: str | None = None,
    store: StorePath = None,
    name: str = "runs",
    on_progress: OnProgress = None,
    at_once: int | None = None,
    simulate: Simulate = simulate,
    keep_failures: bool = False,
    read_again: bool = False,
) -> Done[T]:
    """Makes all runs of all tasks, but those that a store has; `name` is what the store calls them.

    The first run that fails ends the others, and its error is raised; with `keep_failures` it is kept in its place.
    With a store the others are made all the same, so that a further call has to make only what failed. `read_again`
    makes the runs whose traces are read, whatever the store has of them.
    """
    for task in tasks:
        # What is wrong with a class is said before anything runs.
        mechanisms(task.scenario)
    runs: list[list[T | RunError | None]] = [[None] * len(task.seeds) for task in tasks]
    if store is not None and _fill(tasks, runs, Path(store), name, limit, on_progress):
        return Done(runs, True)
    readings = None if store is None else _Readings(Path(store))
    if readings is not None and not read_again:
        for row, task in enumerate(tasks):
            for place in range(task.traced if task.read_by else 0):
                runs[row][place] = readings.get(task, place)
    places = [(row, place) for row, found in enumerate(runs) for place, run in enumerate(found) if run is None]

    def keep(number: int, run: T | RunError) -> None:
        row, place = places[number]
        runs[row][place] = run

    def job(row: int, place: int) -> Job[T | RunError]:
        def make(control: Control) -> T | RunError:
            try:
                kept = _made(tasks[row], place, limit, simulate, control)
                if readings is not None and tasks[row].read_by:
                    readings.put(tasks[row], place, kept)
                return kept
            except RunError as error:
                if not keep_failures:
                    raise
                return error

        return make

    interrupted = bool(places) and run_each((job(*each) for each in places), len(places), keep, on_progress, at_once)
    if not keep_failures and not interrupted:
        for run in (run for row in runs for run in row):
            if isinstance(run, RunError):
                raise run
    return Done(runs, interrupted, 0 if readings is None else readings.damaged)


def _made(task: Task[T], place: int, limit: str | None, simulate: Simulate, control: Control) -> T:
    """Makes one run and keeps what is kept of it."""
    run = simulate(task, task.seeds[place], place < task.traced, limit, control)
    return task.keep(FinishedRun(json.loads(run.json), run))


class _Readings:
    """What was read from traces, in a store: a file a run, written whole or not at all."""

    def __init__(self, store: Path) -> None:
        from airwatt.sweeps.folder import Folder

        self._folder = Folder(store / "readings")
        self._folder.create()
        self.damaged = 0
        """How many did not fit their sums, or were no numbers."""

    def get(self, task: Task[T], place: int) -> T | None:
        """What was read from a run; None if it is not there, or damaged, which is counted."""
        from airwatt.sweeps import journal

        try:
            with self._folder.reading(self._name(task, place)) as file:
                found: T = journal.unsummed(file.read().removesuffix(b"\n"))
        except FileNotFoundError:
            return None
        except ValueError:
            self.damaged += 1
            return None
        if _is_reading(found):
            return found
        self.damaged += 1
        return None

    def put(self, task: Task[T], place: int, kept: T) -> None:
        """Keeps what was read, if it can be told from damage. Raises `OSError`."""
        from airwatt.sweeps import journal

        if _is_reading(kept):
            with self._folder.replacing(self._name(task, place)) as out:
                out.write(journal.summed(json.dumps(kept).encode()))

    def _name(self, task: Task[T], place: int) -> str:
        from airwatt.sweeps.plan import key_of

        text = f"{key_of(task.scenario)} {task.seeds[place]} {task.read_by}"
        return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.jsonl"


def _is_reading(found: object) -> bool:
    """Whether a value is what a reading is: finite numbers by their names."""
    from airwatt.sweeps import columns

    return (
        isinstance(found, dict)
        and bool(found)
        and all(columns.is_number(value) and math.isfinite(value) for value in found.values())
    )


def _fill(
    tasks: Sequence[Task[T]],
    runs: list[list[T | RunError | None]],
    folder: Path,
    name: str,
    limit: str | None,
    on_progress: OnProgress,
) -> bool:
    """Makes the runs that a store does not have, and takes all from it; returns whether it was interrupted."""
    from airwatt.sweeps import plan as plans
    from airwatt.sweeps import sweep
    from airwatt.sweeps.runner import LocalWork, Shard
    from airwatt.sweeps.store import Files

    files = Files.create(folder)
    keys = [plans.key_of(task.scenario) if task.stored else "" for task in tasks]
    local = LocalWork(limit, {key: task.scenario for key, task in zip(keys, tasks, strict=True)})
    interrupted = False
    for seeds in dict.fromkeys(task.stored for task in tasks if task.stored):
        points = [(dict(task.settings), task.scenario) for task in tasks if task.stored == seeds]
        planned = plans.plan(points, seed=seeds.start, runs=len(seeds), name=name)
        files.add(planned)
        # A failure is tried again: the limit may be another one.
        interrupted = sweep.run(files, planned, local, Shard(), on_progress, again=True)
        if interrupted:
            break
    places: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row, (key, task) in enumerate(zip(keys, tasks, strict=True)):
        for seed in task.stored:
            places.setdefault((key, seed), []).append((row, seed - task.seeds.start))
    for row, place, run in _taken(tasks, files, places):
        runs[row][place] = run
    return interrupted


def _taken(
    tasks: Sequence[Task[T]], files: Any, places: Mapping[tuple[str, int], Sequence[tuple[int, int]]]
) -> Iterator[tuple[int, int, T | RunError]]:
    """Yields what a store has of tasks: the task by its number, the place of the seed, and what is kept of the run."""
    for failed in files.failures().to_pylist():
        for row, place in places.get((failed["point"], failed["seed"]), ()):
            yield row, place, RunError(failed["error"])
    for point, seed, document in files.documents(places):
        for row, place in places[point, seed]:
            yield row, place, tasks[row].keep(FinishedRun(document))
