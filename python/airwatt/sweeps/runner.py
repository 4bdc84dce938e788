"""Runs what a store does not have: claims blocks of jobs, runs them in threads, and keeps each as it finishes."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from airwatt import _core
from airwatt._core import AirwattError, Control, InputError, Scenario
from airwatt.own import NONE, Mechanisms
from airwatt.parallel import Job, Progress, run_each
from airwatt.sweeps import journal
from airwatt.sweeps.claims import Runner
from airwatt.sweeps.journal import Entry, Journal
from airwatt.sweeps.plan import Plan
from airwatt.sweeps.store import Files, rows_of
from airwatt.sweeps.until import Until

CHUNK_RUNS = 2_000
CHUNK_BYTES = 16 << 20
"""A journal of so many runs or bytes becomes a chunk."""
MOST_IN_BLOCK = 64
WAIT_S = 0.2
"""How often a runner looks whether others have finished, or have ended before they had."""
_FSYNC_S = 5.0
_MISSING, _FINISHED, _FAILED, _NOT_NEEDED = 0, 1, 2, 3
_BY_WORTH = bytes.maketrans(bytes([_FAILED, _NOT_NEEDED, _FINISHED]), bytes([1, 2, 3]))
"""States in the order in which one of them counts for a job that several stores have."""
_NEEDS = (_NOT_NEEDED, _MISSING, _FAILED, _FINISHED)
"""States in the order in which one of them counts for a job that several plans have: one of them may need it,"""
_BY_NEED = bytes.maketrans(
    bytes([1, 2, 3, 0]), bytes([_NEEDS.index(state) for state in (_FAILED, _NOT_NEEDED, _FINISHED, _MISSING)])
)
"""as numbers of this order for those of the one above."""


class Shard(NamedTuple):
    """One part of several, counted from 1."""

    part: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Reads `i/N`. Raises `InputError`."""
        part, slash, of = text.partition("/")
        if not (slash and part.isdigit() and of.isdigit() and 1 <= int(part) <= int(of) <= 1_000_000):
            raise InputError(f"shard: expected i/N with 1 <= i <= N, got {text!r}")
        return cls(int(part), int(of))


class State(NamedTuple):
    """How far a plan has come."""

    jobs: int
    finished: int
    failed: int
    not_needed: int
    """Runs that an `until` rule saved."""

    @property
    def missing(self) -> int:
        """Runs that are still to be made."""
        return self.jobs - self.finished - self.failed - self.not_needed


class RunOutcome(NamedTuple):
    """What came of one run: its result document as JSON text, or what it wrote to standard error."""

    wall_s: float
    run: str | None
    error: str | None


class Work(Protocol):
    """Makes runs, here or elsewhere."""

    @property
    def at_once(self) -> int | None:
        """How many pieces of work it takes at once; None for one a processor."""

    def chunk(self) -> int:
        """How many runs it takes at a time."""

    def make(self, plan: Plan, jobs: Sequence[int], control: Control) -> Iterable[tuple[int, RunOutcome]]:
        """Makes runs, each handed on as it finishes. Raises `KeyboardInterrupt` when stopped."""

    def stop(self) -> None:
        """Has every `make` under way raise `KeyboardInterrupt`, unless its control does so."""

    def close(self) -> None:
        """Ends what it began."""


class LocalWork:
    """Makes runs in this process, in the thread that asks for them."""

    at_once = None

    def __init__(self, limit: str | None, loaded: Mapping[str, Scenario] | None = None) -> None:
        """Takes scenarios that are loaded already by the keys of their points."""
        self._limit = limit
        self._loaded = loaded or {}
        self._scenario = functools.lru_cache(maxsize=16)(lambda plan, point: plan.load(point))

    def chunk(self) -> int:
        """One: each run is kept as it finishes."""
        return 1

    def make(self, plan: Plan, jobs: Sequence[int], control: Control) -> Iterable[tuple[int, RunOutcome]]:
        """Makes runs one after the other."""
        for job in jobs:
            point, seed = plan.job(job)
            scenario = self._loaded.get(plan.points[point]) or self._scenario(plan, point)
            yield job, run_once(scenario, seed, self._limit, control)

    def stop(self) -> None:
        """Does nothing: a run ends by its control."""

    def close(self) -> None:
        """Does nothing: nothing was begun."""


def run_once(
    scenario: Scenario, seed: int, limit: str | None, control: Control | None, own: Mechanisms = NONE
) -> RunOutcome:
    """Makes one run; whatever goes wrong with it is its outcome. Raises `KeyboardInterrupt` when stopped."""
    begun = time.perf_counter()
    run, error = None, None
    try:
        run = _core.run(scenario, seed, limit=limit, own=own.made, control=control).json
    except BaseException as failure:  # a panic of the core is no `Exception`
        error = own.line_of(failure)
        if error is None and isinstance(failure, KeyboardInterrupt):
            raise
        if error is None:
            error = str(failure) if isinstance(failure, AirwattError) else traceback.format_exc()
    return RunOutcome(time.perf_counter() - begun, run, error)


class Ledger:
    """What of a plan is done, read from the store and kept up to date with what other runners finish."""

    def __init__(self, files: Files, plan: Plan, *, again: bool = False) -> None:
        self.plan = plan
        self.states = bytearray(plan.jobs)
        self.values: dict[int, float | None] = {}
        """With `until`, its number of each finished run."""
        self.until = None if plan.until is None else Until.parse(plan.until)
        self.damaged: dict[str, int] = {}
        """The lines that could not be read, by the name of the journal."""
        self._files = files
        self._numbers = {point: index for index, point in enumerate(plan.points)}
        self._read: dict[str, int] = {}
        self._chunks: set[str] = set()
        self._lock = threading.Lock()
        self.refresh()
        for point, seed in self._failed():
            self._set(point, seed, _FAILED)
        if again:
            self.states = self.states.replace(bytes([_FAILED]), bytes([_MISSING]))

    def job(self, point: str, seed: int) -> int | None:
        """The number of a job; None if it is not of this plan."""
        place, offset = self._numbers.get(point), seed - self.plan.seed
        return None if place is None or not 0 <= offset < self.plan.runs else place * self.plan.runs + offset

    def state(self) -> State:
        """How far the plan has come."""
        if self.until is not None:
            for point in range(len(self.plan.points)):
                self.settle(point)
        counts = [self.states.count(state) for state in (_FINISHED, _FAILED, _NOT_NEEDED)]
        return State(len(self.states), *counts)

    def is_missing(self, job: int) -> bool:
        """Whether a job is neither finished nor failed nor saved."""
        return self.states[job] == _MISSING

    def finish(self, job: int, value: float | None = None) -> None:
        """Notes a finished job."""
        if self.until is not None:
            self.values[job] = value
        self.states[job] = _FINISHED

    def fail(self, job: int) -> None:
        """Notes a failed job."""
        self.states[job] = _FAILED

    def restrict(self, wanted: Collection[tuple[str, int]]) -> None:
        """Has no other missing jobs made than these. A rule takes the others for failed ones, which end no point."""
        for job, state in enumerate(self.states):
            point, seed = self.plan.job(job)
            if state == _MISSING and (self.plan.points[point], seed) not in wanted:
                self.states[job] = _FAILED

    def settle(self, point: int) -> bool:
        """Whether a point needs no more runs by `until`; those that it does not need are noted."""
        if self.until is None:
            return False
        first = point * self.plan.runs
        values: list[float | None] = []
        for job in range(first, first + self.plan.runs):
            if self.states[job] != _FINISHED:
                return self.states[job] == _NOT_NEEDED
            values.append(self.values[job])
            if self.until.is_met(values):
                for rest in range(job + 1, first + self.plan.runs):
                    if self.states[rest] == _MISSING:
                        self.states[rest] = _NOT_NEEDED
                return True
        return False

    def refresh(self, own: str = "/") -> None:
        """Reads what has come to the store since the last time, but from the runner `own`. Raises `OSError`."""
        with self._lock:
            for name in self._files.journals():
                if name.startswith(own):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    start = self._read.get(name, 0)
                    if self._files.journal.status(name).st_size == start:
                        continue
                    found = journal.read(self._files.journal, name, start)
                    self._read[name] = found.end
                    if found.damaged:
                        self.damaged[name] = self.damaged.get(name, 0) + found.damaged
                    for entry in found.entries:
                        self._note(entry)
            for stem in self._files.chunks():
                if stem not in self._chunks and not stem.startswith(own):
                    with contextlib.suppress(FileNotFoundError):
                        self._read_chunk(stem)
                        self._chunks.add(stem)

    def _note(self, entry: Entry) -> None:
        value = self.until.number(entry.run) if self.until is not None and entry.run is not None else None
        self._set(entry.point, entry.seed, _FAILED if entry.run is None else _FINISHED, value)

    def _read_chunk(self, stem: str) -> None:
        keys, numbers = self._files.numbers(stem, None if self.until is None else self.until.key)
        for (point, seed), value in zip(keys, numbers, strict=True):
            self._set(point, seed, _FINISHED, value)

    def _set(self, point: str, seed: int, state: int, value: float | None = None) -> None:
        job = self.job(point, seed)
        if job is None or self.states[job] == _FINISHED:
            return
        if state == _FINISHED:
            self.finish(job, value)
        else:
            self.states[job] = state

    def _failed(self) -> list[tuple[str, int]]:
        table = self._files.failures().to_pydict()
        return list(zip(table["point"], table["seed"], strict=True))


def together(plans: Iterable[Sequence[Ledger]]) -> State:
    """How far plans have come in several stores, each of which may have a part of their runs.

    Each plan has its ledger of every store. A job that several plans have counts once.
    """
    parts: dict[str, list[tuple[int, bytes]]] = {}
    for ledgers in plans:
        for ledger in ledgers:
            ledger.state()
        # What one store has finished nobody misses, and what one has tried and failed is not missing either.
        states = bytes(map(max, zip(*(ledger.states.translate(_BY_WORTH) for ledger in ledgers), strict=True)))
        plan = ledgers[0].plan
        for index, point in enumerate(plan.points):
            mine = states[index * plan.runs : (index + 1) * plan.runs].translate(_BY_NEED)
            parts.setdefault(point, []).append((plan.seed, mine))
    counts = [0] * len(_NEEDS)
    for found in parts.values():
        if len(found) == 1:
            counts = [count + found[0][1].count(state) for state, count in enumerate(counts)]
            continue
        jobs: dict[int, int] = {}
        for first, mine in found:
            for seed, state in enumerate(mine, first):
                jobs[seed] = max(state, jobs.get(seed, 0))
        for state in jobs.values():
            counts[state] += 1
    return State(sum(counts), *(counts[_NEEDS.index(state)] for state in (_FINISHED, _FAILED, _NOT_NEEDED)))


class Keeper:
    """Writes runs to the journal and, when there are enough, to a chunk."""

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._name = name
        self._count = 0
        self._chunks: list[str] = []
        self._lock = threading.Lock()
        self._closed = False
        self._journal = self._next()
        self._flushed = time.monotonic()

    def keep(self, text: bytes) -> None:
        """Keeps a line. Raises `OSError`."""
        full = None
        with self._lock:
            if self._closed:
                return  # A job that was abandoned has ended after all.
            self._journal.append(text)
            if time.monotonic() - self._flushed > _FSYNC_S:
                self._journal.flush()
                self._flushed = time.monotonic()
            if self._journal.lines >= CHUNK_RUNS or self._journal.bytes >= CHUNK_BYTES:
                full, self._journal = self._journal, self._next()
        if full is not None:
            full.close()
            self.compact(full.name)

    def adopt(self, name: str) -> None:
        """Makes a chunk of the journal of a runner that has ended, under a name of this one. Raises `OSError`."""
        with self._lock:
            self._count += 1
            mine = f"{self._name}-{self._count:06d}.jsonl"
        self._files.journal.rename(name, mine)
        self.compact(mine)

    def compact(self, name: str) -> None:
        """Makes a chunk of a journal that nobody writes any more. Raises `OSError`."""
        folder = self._files.journal
        found = journal.read(folder, name, complete=True)
        with self._lock:
            self._count += 1
            number = self._count
        rows = len({(entry.point, entry.seed) for entry in found.entries if entry.run is not None})
        stem = f"{self._name}-{number:06d}-{rows}"
        if found.entries:
            self._files.write_chunk(stem, found.entries)
        if found.damaged:
            # Kept for whoever wants to look at it, and reported, but no longer read as a journal.
            folder.rename(name, f"{name.removesuffix('.jsonl')}.damaged")
        else:
            folder.remove(name)
        with self._lock:
            self._chunks += [stem] if rows else []
            self._count += 1
            number, chunks = self._count, [one for one in self._chunks if self._files.has_chunk(one)]
        merged = self._files.merge(f"{self._name}-{number:06d}", chunks)
        if merged is not None:
            with self._lock:
                self._chunks = [merged, *(name for name in self._chunks if name not in chunks)]

    def close(self, others: list[str]) -> None:
        """Makes a chunk of the rest, and merges small chunks, also of runners that have ended. Raises `OSError`."""
        with self._lock:
            self._closed = True
        self._journal.close()
        self._chunks += [name for name in others if rows_of(name)]
        self.compact(self._journal.name)

    def _next(self) -> Journal:
        self._count += 1
        return Journal(self._files.journal, f"{self._name}-{self._count:06d}.jsonl")


def block_jobs(plan: Plan) -> int:
    """How many jobs a block has: the same for every runner, and enough blocks for many runners."""
    return plan.runs if plan.until is not None else max(1, min(MOST_IN_BLOCK, plan.jobs // 256))


class Sweeper:
    """Runs the missing jobs of a plan; several of them, anywhere, help each other."""

    def __init__(self, files: Files, plan: Plan, work: Work, shard: Shard, *, again: bool = False) -> None:
        self._files = files
        self._plan = plan
        self._work = work
        self._size = block_jobs(plan)
        self._blocks = range(shard.part - 1, -(-plan.jobs // self._size), shard.of)
        self._runner = Runner(files.folder)
        self._keeper = Keeper(files, self._runner.name)
        self._left: dict[int, int] = {}
        self._lock = threading.Lock()
        self._adopt()
        self.ledger = Ledger(files, plan, again=again)

    def run(self, on_progress: Callable[[Progress], None] | None = None, at_once: int | None = None) -> bool:
        """Runs until no job of the shard is missing; returns whether an interrupt came before that."""
        started = time.monotonic()
        jobs = sum(len(self._jobs(block)) for block in self._blocks)

        def report(_: Progress | None = None) -> None:
            if on_progress is not None:
                done = jobs - self._missing()
                on_progress(Progress(done, jobs, done / max(jobs, 1), 0.0, time.monotonic() - started))

        try:
            while not run_each(self._take(), jobs, self._finish, report, at_once, on_stop=self._work.stop):
                self.ledger.refresh(self._runner.name)
                if not any(map(self._is_open, self._blocks)):
                    return False
                # What is missing is claimed by others; if they end before they are done it is taken over.
                time.sleep(WAIT_S)
                report()
        except KeyboardInterrupt:
            pass
        return True

    def close(self) -> None:
        """Brings everything to chunks and ends this runner. Raises `OSError`."""
        self._keeper.close([stem for stem in self._files.chunks() if self._has_ended(stem.rsplit("-", 2)[0])])
        self._runner.close()

    def _missing(self) -> int:
        """How many jobs of the shard are to be run; counted in C, since it is asked for twenty times a second."""
        states = self.ledger.states
        if self._blocks.step == 1:
            return states.count(_MISSING)
        mine = map(self._jobs, self._blocks)
        return sum(states[jobs.start : jobs.stop].count(_MISSING) for jobs in mine)

    def _jobs(self, block: int) -> range:
        return range(block * self._size, min((block + 1) * self._size, self._plan.jobs))

    def _is_open(self, block: int) -> bool:
        return any(map(self.ledger.is_missing, self._jobs(block))) and not self.ledger.settle(
            self._jobs(block)[0] // self._plan.runs
        )

    def _take(self) -> Iterator[Job[list[int]]]:
        """Yields pieces of work of blocks that nobody else has claimed; each gives the jobs that it was about."""
        pending: list[int] = []
        for block in self._blocks:
            if not self._is_open(block) or not self._runner.claim(self._name(block)):
                continue
            # Whoever had the claim before may have finished some of it: what he kept is read after his claim is gone.
            self.ledger.refresh(self._runner.name)
            missing = [job for job in self._jobs(block) if self.ledger.is_missing(job)] if self._is_open(block) else []
            if not missing:
                self._runner.release(self._name(block))
                continue
            with self._lock:
                self._left[block] = len(missing)
            if self.ledger.until is not None:
                yield self._one_by_one(missing)
                continue
            pending += missing
            while len(pending) >= (count := self._work.chunk()):
                yield self._together(pending[:count])
                del pending[:count]
        if pending:
            yield self._together(pending)

    def _together(self, jobs: list[int]) -> Job[list[int]]:
        def piece(control: Control) -> list[int]:
            for job, item in self._work.make(self._plan, jobs, control):
                self._keep(job, item)
            return jobs

        return piece

    def _one_by_one(self, jobs: list[int]) -> Job[list[int]]:
        """The missing runs of one point, as many as its `until` rule wants."""

        def piece(control: Control) -> list[int]:
            for job in jobs:
                if self.ledger.settle(job // self._plan.runs):
                    break
                for _, item in self._work.make(self._plan, [job], control):
                    self._keep(job, item)
            return jobs

        return piece

    def _keep(self, job: int, item: RunOutcome) -> None:
        point, seed = self._plan.job(job)
        self._keeper.keep(journal.line(self._plan.points[point], seed, *item))
        if item.run is None:
            self.ledger.fail(job)
        else:
            until = self.ledger.until
            self.ledger.finish(job, None if until is None else until.number(json.loads(item.run)))

    def _finish(self, _: int, jobs: list[int]) -> None:
        """Gives a block back when all of it is kept."""
        for block, mine in itertools.groupby(jobs, lambda job: job // self._size):
            with self._lock:
                self._left[block] -= len(list(mine))
                is_done = self._left[block] == 0
            if is_done:
                self._runner.release(self._name(block))

    def _name(self, block: int) -> str:
        return f"{self._plan.id}-{self._size}-{block}"

    def _adopt(self) -> None:
        """Takes over what runners that were killed left behind."""
        for name in self._files.journals():
            if self._has_ended(name.removesuffix(".jsonl").rpartition("-")[0]):
                with contextlib.suppress(FileNotFoundError):
                    self._keeper.adopt(name)
        self._runner.clear()

    def _has_ended(self, name: str) -> bool:
        return name != self._runner.name and self._runner.has_ended(name)
