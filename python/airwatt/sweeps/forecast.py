"""What a sweep will take, before it begins: its missing runs, their time, and their place on a disk.

A sample of runs is made and not kept. The time is that of this machine with all its processors free; runs of other
points may take longer, so that the more the sampled ones differ, the less the sum is worth (`least_s`, `most_s`).
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import NamedTuple

import numpy as np

from airwatt._core import RunError
from airwatt.own import mechanisms
from airwatt.sweeps.plan import Plan
from airwatt.sweeps.runner import Ledger, run_once
from airwatt.sweeps.store import Files

SAMPLES = 8
_ENOUGH_S = 10.0
"""No further run is sampled after this time."""
_TABLES = 290 / 125
"""The size of a store in relation to its result documents, as docs/sweeps.md has measured it."""
_KEEPING_S = 0.64e-3
"""What it takes to keep a run (benches/runner.py)."""


class Forecast(NamedTuple):
    """What is to be expected of a sweep."""

    jobs: int
    missing: int
    sampled: int
    run_s: float | None
    """Mean time of a run in seconds; None where none was sampled."""
    least_s: float | None
    most_s: float | None
    wall_s: float | None
    """Time of all missing runs on the processors of this machine."""
    disk_bytes: int | None
    """What their part of a store takes."""


def forecast(planned: Plan, folder: Path, limit: str | None) -> Forecast:
    """Samples a plan. Raises `InputError` for a folder that is no store, and `RunError` if every sampled run fails."""
    missing = range(planned.jobs)
    ledger = Ledger(Files.open(folder), planned) if folder.exists() and any(folder.iterdir()) else None
    open_jobs = [job for job in missing if ledger.is_missing(job)] if ledger is not None else missing
    walls: list[float] = []
    documents: list[str] = []
    error = None
    count = min(SAMPLES, len(open_jobs))
    # Spread over the grid: its first points are often its cheapest.
    for place in np.random.default_rng(1).permutation(np.linspace(0, len(open_jobs) - 1, count).astype(int)):
        if sum(walls) > _ENOUGH_S:
            break
        point, seed = planned.job(open_jobs[int(place)])
        scenario = planned.load(point, with_files=True)
        made = run_once(scenario, seed, limit, None, mechanisms(scenario))
        walls.append(made.wall_s)
        error = made.error or error
        documents += [made.run] if made.run is not None else []
    if walls and not documents:
        raise RunError(f"every one of {len(walls)} sampled runs failed: {error}")
    run_s = statistics.fmean(walls) if walls else None
    return Forecast(
        planned.jobs,
        len(open_jobs),
        len(walls),
        run_s,
        min(walls, default=None),
        max(walls, default=None),
        None if run_s is None else (run_s + _KEEPING_S) * len(open_jobs) / (os.cpu_count() or 1),
        None if not documents else round(_stored(documents) * len(open_jobs)),
    )


def _stored(documents: list[str]) -> float:
    """Bytes that one more run takes: what another document adds to compressed ones, and its part of the tables."""
    import pyarrow as pa

    def size(texts: list[str]) -> int:
        return len(pa.compress("".join(texts).encode(), codec="zstd", asbytes=True))

    more = (size(documents) - size(documents[:1])) / (len(documents) - 1) if len(documents) > 1 else size(documents)
    return more * _TABLES
