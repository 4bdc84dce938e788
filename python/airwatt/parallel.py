"""Several pieces of work at once, in threads: the core releases the interpreter while it works.

The main thread waits, shows progress and receives Ctrl-C. An interrupt stops the work under way and keeps what is done.
A piece of work that does not stop, because it waits for a file or a pipe, is abandoned. Left out: processes and other
machines; a run holds everything it needs, so threads lose nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from airwatt._core import Control

T = TypeVar("T")

# How long an interrupt or a progress bar may wait; a person does not notice it.
_POLL_S = 0.05
# How long work that was told to stop may take for it. Whatever computes stops within milliseconds.
_STOP_S = 2.0


Job = Callable[[Control], T]
"""A piece of work; it reports to its control, and stops when that is cancelled."""


class Progress(NamedTuple):
    """The state of a set of runs."""

    done: int
    of: int
    fraction: float
    """Share of all work, from 0 to 1."""
    simulated_s: float
    """Simulated time of the least advanced run under way."""
    elapsed_s: float
    bytes_read: int = 0
    """Bytes of the file that is read."""
    bytes_total: int = 0
    """Its size; 0 if it is not known or nothing is read."""


class Outcome(NamedTuple, Generic[T]):
    """The results of the jobs in their order; None where an interrupt came first."""

    results: list[T | None]
    interrupted: bool = False


class _Work(Generic[T]):
    """The jobs, what is under way, and what came of them. The lock guards `next`; each result has one writer."""

    def __init__(self, jobs: Sequence[Job[T]]) -> None:
        self.jobs = jobs
        self.controls = [Control() for _ in jobs]
        self.results: list[T | None] = [None] * len(jobs)
        self.errors: list[BaseException | None] = [None] * len(jobs)
        self.done = [False] * len(jobs)
        self.next = 0
        self.stopped = False
        self.lock = threading.Lock()
        self.threads = 0
        # Waited for instead of the threads: an interrupted `Thread.join` of Python 3.11 takes a live thread for ended.
        self.ended = threading.Event()

    def take_and_do(self) -> None:
        """Does one job after the other until none is left. The body of each thread."""
        while (index := self._take()) is not None:
            try:
                self.results[index] = self.jobs[index](self.controls[index])
            except BaseException as error:
                self.errors[index] = error
                self.stopped = True
            self.done[index] = True
        with self.lock:
            self.threads -= 1
            if self.threads == 0:
                self.ended.set()

    def _take(self) -> int | None:
        with self.lock:
            if self.stopped or self.next >= len(self.jobs):
                return None
            self.next += 1
            return self.next - 1

    def stop(self) -> None:
        """Has no job begin any more, and those under way end."""
        self.stopped = True
        for control in self.controls:
            control.cancel()

    def progress(self, started: float) -> Progress:
        done = sum(self.done)
        active = [self.controls[index] for index in range(self.next) if not self.done[index]]
        fraction = (done + sum(control.fraction for control in active)) / len(self.jobs)
        simulated = min((control.simulated_s for control in active), default=0.0)
        read = sum(control.bytes_read for control in active)
        total = sum(control.bytes_total for control in active)
        return Progress(done, len(self.jobs), fraction, simulated, time.monotonic() - started, read, total)


def run_all(
    jobs: Sequence[Job[T]],
    on_progress: Callable[[Progress], None] | None = None,
    at_once: int | None = None,
    stop_s: float = _STOP_S,
) -> Outcome[T]:
    """Runs all jobs, `at_once` of them or one a processor at a time. Raises what the first failing job raised.

    After an interrupt a job under way has `stop_s` seconds to end; then it is abandoned.
    """
    work = _Work(jobs)
    # A daemon does not keep the program from ending while it waits for a pipe.
    count = min(len(jobs), at_once or os.cpu_count() or 1)
    threads = [threading.Thread(target=work.take_and_do, daemon=True) for _ in range(count)]
    work.threads = len(threads)
    started = time.monotonic()
    interrupted = False
    try:
        for thread in threads:
            thread.start()
        while threads and not work.ended.wait(_POLL_S) and not work.stopped:
            if on_progress is not None:
                on_progress(work.progress(started))
        if threads and on_progress is not None:
            on_progress(work.progress(started))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # Reached with jobs under way after an interrupt or a failed job; harmless for those that are done.
        if interrupted or work.stopped:
            work.stop()
            work.ended.wait(stop_s)
    if interrupted:
        return Outcome(list(work.results), interrupted=True)
    for error in work.errors:
        # The error of the job that failed, not of those that were stopped because of it.
        if error is not None and not isinstance(error, KeyboardInterrupt):
            raise error
    return Outcome(list(work.results))
