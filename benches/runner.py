"""What the runner costs beside the runs themselves: `python benches/runner.py [RUNS] [PAIRS]`.

The cost of a run in a sweep (its line in the journal, its part of a Parquet chunk, its share of claims and progress)
does not depend on how long the run takes. It is measured with downloads of 20 kB, which take less than that, as the
difference of processor time between a sweep into a store and the pool alone; in alternation and in one process. It is
then compared with a download of 50 MB over `fast-dsl`. The last line is the share of the workers' time that they are
inside runs: begin and end of the sweep, claims, files and waiting for each other are outside.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import airwatt
from airwatt import _core
from airwatt.parallel import run_each

SMALL = {"flow.application.size": "20kB"}
LARGE_RUNS = 10
SWEPT_RUNS = 160


def bare(runs: int, settings: dict[str, str]) -> None:
    """Makes runs without keeping them."""
    scenario = airwatt.Scenario.load("fast-dsl", list(settings.items()))
    jobs = (lambda control, seed=seed: _core.run(scenario, seed, control=control) for seed in range(1, runs + 1))
    run_each(jobs, runs, lambda *_: None)


def swept(runs: int, settings: dict[str, str]) -> None:
    """Makes the same runs as a sweep."""
    with tempfile.TemporaryDirectory() as folder:
        airwatt.sweep("fast-dsl", set=settings, runs=runs, store=Path(folder) / "store")


def cpu_ms(work: Callable[[int, dict[str, str]], None], runs: int, settings: dict[str, str]) -> float:
    """Processor time in milliseconds a run."""
    begun = time.process_time()
    work(runs, settings)
    return 1e3 * (time.process_time() - begun) / runs


def within_runs(runs: int) -> float:
    """The share of the workers' time that a sweep spends inside runs of 50 MB."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        store = airwatt.sweep("fast-dsl", runs=runs, store=Path(folder) / "store")
        whole_s = time.perf_counter() - begun
        return sum(store.to_arrow("runs", ["wall_s"]).column(0).to_pylist()) / (whole_s * (os.cpu_count() or 1))


def show(what: str, values: list[float]) -> float:
    """Prints the median with the extremes, in milliseconds of processor time; gives the median."""
    median = statistics.median(values)
    print(f"{what}: {median:.3g} ms of CPU ({min(values):.3g} to {max(values):.3g})")
    return median


def main(runs: int, pairs: int) -> None:
    """Prints the overhead, and its share."""
    swept(2, SMALL)  # imports
    found = [(cpu_ms(bare, runs, SMALL), cpu_ms(swept, runs, SMALL)) for _ in range(pairs)]
    large = show("50 MB over fast-dsl", [cpu_ms(bare, LARGE_RUNS, {}) for _ in range(pairs)])
    overhead = show("the runner beside a run", [kept - own for own, kept in found])
    print(f"share of the processors that makes runs: {large / (large + overhead):.3f}")
    print(f"share of the workers' time inside runs, of {SWEPT_RUNS} runs: {within_runs(SWEPT_RUNS):.3f}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]), *(2_000, 5)[len(sys.argv) - 1 :])
