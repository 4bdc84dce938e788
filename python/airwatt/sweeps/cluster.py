"""Runs on a Dask cluster: `airwatt sweep ... --dask ADDRESS`.

The scheduler takes about a millisecond a task, so that a task is as many runs as take 500 ms. Everything is
kept here, in the journal of this runner; a worker gets the text of a scenario and gives back documents. A worker with
another core library is refused, because its results would be those of other jobs.

A thread waits for each task on an event, which the callback of its future sets, or `stop`. No result is asked for with
a timeout: one that expires while the result arrives loses it in Dask ("cannot access local variable 'result'"). The
scheduler gives the tasks of a worker that ends to the others.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from airwatt._core import AirwattError, Control, InputError, MissingFeature, RunError
from airwatt.sweeps.plan import Plan, core_hash
from airwatt.sweeps.processes import loaded
from airwatt.sweeps.runner import RunOutcome, run_once

TASK_S = 0.5
_FEWEST_TASKS = 32
"""Tasks at once even on a small cluster, so that workers which join it later have work."""
_CONNECT_S = 10.0


class Cluster:
    """Makes runs on the workers of a cluster."""

    def __init__(self, address: str, limit: str | None, *, with_files: bool = False) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingFeature("dask is not installed; `pip install airwatt[cluster]` brings it") from None
        try:
            self._client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"--dask {address}: expected the address of a Dask scheduler, got no answer ({reason})"
            ) from None
        self._limit = limit
        self._with_files = with_files
        self._lock = threading.Lock()
        self._waiting: set[threading.Event] = set()
        """An event for each task under way."""
        self._stopped = False
        self._runs, self._wall_s = 0, 0.0

    @property
    def at_once(self) -> int:
        """Two tasks a thread that the cluster has at the beginning, so that none waits for this process."""
        threads: dict[str, int] = self._client.nthreads()
        return max(_FEWEST_TASKS, 2 * sum(threads.values()))

    def chunk(self) -> int:
        """As many runs as take 500 ms, by the runs so far."""
        with self._lock:
            return math.ceil(TASK_S * self._runs / self._wall_s) if self._wall_s > 0 else 1

    def make(self, plan: Plan, jobs: Sequence[int], control: Control) -> Iterable[tuple[int, RunOutcome]]:
        """Makes runs as one task. Raises `KeyboardInterrupt` when stopped, and `RunError` if the cluster fails."""
        assert plan.texts is not None
        texts: dict[int, tuple[str, str]] = {}
        work: list[tuple[int, int]] = []
        for job in jobs:
            point, seed = plan.job(job)
            if point not in texts:
                if not self._with_files and plan.may_name_files(point):
                    # Refused, and said why.
                    plan.load(point)
                texts[point] = plan.texts[point].as_py(), plan.points[point]
            work.append((point, seed))
        answer = self._answer(task, plan.scenario, texts, work, core_hash(), self._limit)
        found = [RunOutcome(*item) for item in answer]
        with self._lock:
            self._runs += len(found)
            self._wall_s += sum(item.wall_s for item in found)
        return zip(jobs, found, strict=True)

    def stop(self) -> None:
        """Has every `make` under way raise `KeyboardInterrupt`."""
        with self._lock:
            self._stopped = True
            for event in self._waiting:
                event.set()

    def close(self) -> None:
        """Leaves the cluster."""
        self._client.close()

    def _answer(self, *call: Any) -> list[tuple[float, str | None, str | None]]:
        """Has a function called by a worker, and waits for what it returns."""
        try:
            future = self._client.submit(*call, pure=False)
            self._wait(future)
            answer: list[tuple[float, str | None, str | None]] = future.result()
            return answer
        except (AirwattError, KeyboardInterrupt):
            raise
        except (Exception, asyncio.CancelledError) as error:
            raise RunError(f"--dask: {error}") from None

    def _wait(self, future: Any) -> None:
        """Waits until a future has a result, an error, or was cancelled. Raises `KeyboardInterrupt` when stopped."""
        ended = threading.Event()
        with self._lock:
            self._waiting.add(ended)
            if self._stopped:
                ended.set()
        future.add_done_callback(lambda _: ended.set())
        ended.wait()
        with self._lock:
            self._waiting.remove(ended)
            stopped = self._stopped
        if stopped:
            future.cancel()
            raise KeyboardInterrupt


def task(
    name: str, texts: dict[int, tuple[str, str]], work: list[tuple[int, int]], core: str, limit: str | None
) -> list[tuple[float, str | None, str | None]]:
    """Makes runs on a worker. Raises `InputError` for a worker with another core library."""
    if core_hash() != core:
        raise InputError(f"--dask: expected workers with the core library {core}, got one with {core_hash()}")
    prepared = {point: loaded(name, *about) for point, about in texts.items()}
    # Plain tuples: a worker and this process need not agree on more.
    done = [run_once(prepared[point][0], seed, limit, None, prepared[point][1]) for point, seed in work]
    return [(item.wall_s, item.run, item.error) for item in done]
