"""Several pieces of work at once, in threads: the core lets go of the interpreter while it works.

The main thread waits, shows progress and hears Ctrl-C. An interrupt stops the work that goes on and keeps what is
done. Left out: processes and other machines; a run holds everything it needs, so threads lose nothing.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from airwatt._core import Control

T = TypeVar("T")

# How long an interrupt or a progress bar may wait; a person does not feel it.
_LOOK_EVERY_S = 0.05


Job = Callable[[Control], T]
"""A piece of work; it reports to its control, and stops when that is cancelled."""


@dataclass
class Progress:
    """Where a set of runs is."""

    done: int
    of: int
    fraction: float
    """Share of all work, from 0 to 1."""
    simulated_s: float
    """Simulated time of the runs under way, the least advanced one."""
    elapsed_s: float


@dataclass
class Outcome(Generic[T]):
    """What came of the jobs, in their order; None where an interrupt came first."""

    results: list[T | None] = field(default_factory=list)
    interrupted: bool = False


def run_all(
    jobs: Sequence[Job[T]], on_progress: Callable[[Progress], None] | None = None, at_once: int | None = None
) -> Outcome[T]:
    """Runs all jobs, `at_once` of them or one a processor at a time. Raises what the first failing run raised."""
    controls = [Control() for _ in jobs]
    started = time.monotonic()
    interrupted = False
    with ThreadPoolExecutor(max_workers=min(len(jobs), at_once or os.cpu_count() or 1)) as pool:
        futures = [pool.submit(job, control) for job, control in zip(jobs, controls, strict=True)]
        try:
            while True:
                done, waiting = wait(futures, timeout=_LOOK_EVERY_S, return_when=FIRST_EXCEPTION)
                if not waiting or any(future.exception() for future in done):
                    break
                if on_progress is not None:
                    on_progress(_progress(futures, controls, started))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Reached with runs under way after an interrupt or a failed run; harmless for those that are done.
            for control, future in zip(controls, futures, strict=True):
                future.cancel()
                control.cancel()
    if interrupted:
        return Outcome([_finished(future) for future in futures], interrupted=True)
    for future in futures:
        # The run that failed speaks, not those that were stopped on its account.
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, KeyboardInterrupt):
            raise error
    return Outcome([future.result() for future in futures])


def _finished(future: Future[T]) -> T | None:
    return None if future.cancelled() or future.exception() is not None else future.result()


def _progress(futures: Sequence[Future[T]], controls: Sequence[Control], started: float) -> Progress:
    done = sum(future.done() for future in futures)
    active = [c for c, future in zip(controls, futures, strict=True) if future.running()]
    fraction = (done + sum(control.fraction for control in active)) / len(futures)
    simulated = min((control.simulated_s for control in active), default=0.0)
    return Progress(done, len(futures), fraction, simulated, time.monotonic() - started)
