"""Several runs at once, in threads: the core lets go of the interpreter while it simulates.

The main thread waits, shows progress and hears Ctrl-C. An interrupt stops the runs that go on and keeps those that are
done. Left out: processes and other machines; a run holds everything it needs, so threads lose nothing.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import NamedTuple

from airwatt import _core
from airwatt._core import Control, Run, Scenario

# How long an interrupt or a progress bar may wait; a person does not feel it.
_LOOK_EVERY_S = 0.05


class Job(NamedTuple):
    """One run to make."""

    scenario: Scenario
    seed: int
    trace: bool = False
    frames: bool = False


@dataclass
class Progress:
    """Where a set of runs is."""

    done: int
    of: int
    fraction: float | None
    """Share of all work; None while no run knows its end."""
    simulated_s: float
    """Simulated time of the runs under way, the least advanced one."""
    elapsed_s: float


@dataclass
class Outcome:
    """The runs in the order of their jobs; None where an interrupt came first."""

    runs: list[Run | None] = field(default_factory=list)
    interrupted: bool = False


def run_all(jobs: Sequence[Job], on_progress: Callable[[Progress], None] | None = None) -> Outcome:
    """Runs all jobs, as many at a time as there are processors. Raises what the first failing run raised."""
    controls = [Control() for _ in jobs]
    started = time.monotonic()
    interrupted = False
    with ThreadPoolExecutor(max_workers=min(len(jobs), os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_run, job, control) for job, control in zip(jobs, controls, strict=True)]
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


def _run(job: Job, control: Control) -> Run:
    return _core.run(job.scenario, job.seed, trace=job.trace, frames=job.frames, control=control)


def _finished(future: Future[Run]) -> Run | None:
    return None if future.cancelled() or future.exception() is not None else future.result()


def _progress(futures: Sequence[Future[Run]], controls: Sequence[Control], started: float) -> Progress:
    done = sum(future.done() for future in futures)
    active = [c for c, future in zip(controls, futures, strict=True) if future.running()]
    fractions = [control.fraction for control in active]
    known = [fraction for fraction in fractions if fraction is not None]
    fraction = (done + sum(known)) / len(futures) if len(known) == len(fractions) or done else None
    simulated = min((control.simulated_s for control in active), default=0.0)
    return Progress(done, len(futures), fraction, simulated, time.monotonic() - started)
