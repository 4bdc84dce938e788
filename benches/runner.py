"""What the runner costs beside the runs themselves: `python benches/runner.py [RUNS] [PAIRS]`.

Downloads of 50 MB over `fast-dsl` are made by the pool alone, and as a sweep into a store, in alternation and in one
process. The overhead is the difference of processor time, the parallel efficiency the ratio of elapsed times on all
processors, so that other work on the machine is in both. Medians over the pairs, with their extremes.
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


def bare(runs: int) -> None:
    """Makes runs without keeping them."""
    scenario = airwatt.Scenario.load("fast-dsl", [])
    jobs = (lambda control, seed=seed: _core.run(scenario, seed, control=control) for seed in range(1, runs + 1))
    run_each(jobs, runs, lambda *_: None)


def swept(runs: int) -> None:
    """Makes the same runs as a sweep."""
    with tempfile.TemporaryDirectory() as folder:
        airwatt.sweep("fast-dsl", runs=runs, store=Path(folder) / "store")


def timed(work: Callable[[int], None], runs: int) -> tuple[float, float]:
    """Elapsed and processor time in seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work(runs)
    return time.perf_counter() - wall, time.process_time() - cpu


def main(runs: int, pairs: int) -> None:
    """Prints the overhead and the efficiency."""
    swept(2)  # imports
    found = [(timed(bare, runs), timed(swept, runs)) for _ in range(pairs)]
    each = [1e3 * own[1] / runs for own, _ in found]
    overheads = [1e3 * (kept[1] - own[1]) / runs for own, kept in found]
    efficiencies = [own[0] / kept[0] for own, kept in found]
    for what, values, unit in (
        ("a run alone", each, "ms of CPU"),
        ("the runner beside it", overheads, "ms of CPU a run"),
        (f"parallel efficiency on {os.cpu_count()} processors", efficiencies, ""),
    ):
        print(f"{what}: {statistics.median(values):.3g} {unit} ({min(values):.3g} to {max(values):.3g})")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]), *(100, 7)[len(sys.argv) - 1 :])
