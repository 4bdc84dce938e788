"""Several pieces of work at once, in threads: the core releases the interpreter while it works.

This is the one pool of jobs: `run_each` takes jobs from an iterator and hands each result on, so that ten jobs and a
million take the same memory; `run_all` collects the results of a list.

The main thread waits, shows progress and receives Ctrl-C. An interrupt stops the work under way and keeps what is done.
A piece of work that does not stop, because it waits for a file or a pipe, is abandoned. Left out: processes and other
machines; a run holds everything it needs, so threads lose nothing.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from airwatt._core import AirwattError, Control

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


Keep = Callable[[int, T], None]
"""Takes the result of a job by its number, in the thread that did it."""


class _Work(Generic[T]):
    """The jobs and those under way. The lock guards everything but `stopped`, which only ever becomes true."""

    def __init__(self, jobs: Iterable[Job[T]], of: int, keep: Keep[T]) -> None:
        self._jobs = enumerate(jobs)
        self._of = of
        self._keep = keep
        self._active: dict[int, Control] = {}
        self._done = 0
        self._lock = threading.Lock()
        self.errors: dict[int, BaseException] = {}
        self.stopped = False
        self.threads = 0
        # Waited for instead of the threads: an interrupted `Thread.join` of Python 3.11 takes a live thread for ended.
        self.ended = threading.Event()

    def take_and_do(self) -> None:
        """Does one job after the other until none is left. The body of each thread."""
        index = -1
        try:
            while (taken := self._take()) is not None:
                index, job, control = taken
                try:
                    self._keep(index, job(control))
                finally:
                    with self._lock:
                        del self._active[index]
                        self._done += 1
        except BaseException as error:
            with self._lock:
                self.errors.setdefault(index, error)
            self.stopped = True
        with self._lock:
            self.threads -= 1
            if self.threads == 0:
                self.ended.set()

    def _take(self) -> tuple[int, Job[T], Control] | None:
        with self._lock:
            found = None if self.stopped else next(self._jobs, None)
            if found is None:
                return None
            control = Control()
            self._active[found[0]] = control
            return *found, control

    def lacks(self, threads: int) -> None:
        """Has the work end, since so many of its threads could not be started."""
        self.stopped = True
        with self._lock:
            self.threads -= threads
            if self.threads == 0:
                self.ended.set()

    def stop(self) -> None:
        """Has no job begin any more, and those under way end."""
        self.stopped = True
        with self._lock:
            for control in self._active.values():
                control.cancel()

    def progress(self, started: float) -> Progress:
        with self._lock:
            active, done = list(self._active.values()), self._done
        fraction = (done + sum(control.fraction for control in active)) / max(self._of, 1)
        simulated = min((control.simulated_s for control in active), default=0.0)
        read = sum(control.bytes_read for control in active)
        total = sum(control.bytes_total for control in active)
        return Progress(done, self._of, fraction, simulated, time.monotonic() - started, read, total)


def begin(thread: threading.Thread) -> None:
    """Starts a thread. Raises `AirwattError` with the limit where the system has none left, and `KeyboardInterrupt`."""
    try:
        thread.start()
    except RuntimeError as error:
        # The wait for the thread to begin releases a lock that it has not taken yet, if Ctrl-C comes in between.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise AirwattError(f"expected to start a thread, got none: {_limit_of_threads()}") from None


def _limit_of_threads() -> str:
    """The limit that most likely keeps threads from being started."""
    memory, _ = resource.getrlimit(resource.RLIMIT_AS)
    if memory != resource.RLIM_INFINITY:
        return f"memory is limited to {memory >> 10} KiB (ulimit -v)"
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY:
        return f"this user has at most {processes} processes and threads (ulimit -u), or the system's limit is lower"
    return "the system has a limit of processes and threads, or no memory left"


def run_all(
    jobs: Sequence[Job[T]],
    on_progress: Callable[[Progress], None] | None = None,
    stop_s: float = _STOP_S,
) -> Outcome[T]:
    """Runs all jobs, one a processor at a time. Raises what the first failing job raised.

    After an interrupt a job under way has `stop_s` seconds to end; then it is abandoned.
    """
    results: list[T | None] = [None] * len(jobs)
    interrupted = run_each(jobs, len(jobs), results.__setitem__, on_progress, stop_s=stop_s)
    # A copy: an abandoned job may still end.
    return Outcome(list(results), interrupted)


def run_each(
    jobs: Iterable[Job[T]],
    of: int,
    keep: Keep[T],
    on_progress: Callable[[Progress], None] | None = None,
    at_once: int | None = None,
    stop_s: float = _STOP_S,
    on_stop: Callable[[], None] | None = None,
) -> bool:
    """Runs jobs as an iterator gives them, of which there are at most `of`, and hands each result to `keep`.

    `at_once` jobs or one a processor are done at a time, otherwise as `run_all`. `on_stop` is called when jobs under
    way are to end, for those that wait for something else than their control. Returns whether an interrupt came before
    the end.
    """
    work = _Work(jobs, of, keep)
    # A daemon does not keep the program from ending while it waits for a pipe.
    count = min(of, at_once or os.cpu_count() or 1)
    threads = [threading.Thread(target=work.take_and_do, daemon=True) for _ in range(count)]
    work.threads = len(threads)
    started = time.monotonic()
    interrupted = False
    try:
        for number, thread in enumerate(threads):
            try:
                begin(thread)
            except AirwattError:
                work.lacks(count - number)
                raise
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
            if on_stop is not None:
                on_stop()
            work.ended.wait(stop_s)
    if interrupted:
        return True
    # The error of the job that failed, before those of jobs that were stopped because of it.
    failed = sorted(work.errors.items(), key=lambda item: (isinstance(item[1], KeyboardInterrupt), item[0]))
    if failed:
        raise failed[0][1]
    return False
