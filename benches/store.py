"""How long a store of a million runs takes to open, and its report to write: `python benches/store.py [RUNS]`.

The store is made of copies of one real run with other numbers, in chunks of 50 000, as runners leave them.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import airwatt
from airwatt import reports
from airwatt.sweeps import plan
from airwatt.sweeps.store import SMALL_ROWS, Files

SEEDS = 30


def main(runs: int) -> None:
    """Makes the store and prints the times."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        make(place, runs)
        store = airwatt.open_store(place)
        names = ["policy", "wired.rtt_s", "seed", "energy_j", "goodput_bps"]
        for what, read in {
            "open and read five columns": lambda: airwatt.open_store(place).to_arrow("runs", names),
            "status": store.status,
            "all columns": store.to_arrow,
            "report": lambda: reports.write(Path(folder) / "report.html", [str(place)]),
        }.items():
            wall, cpu = time.perf_counter(), time.process_time()
            read()
            print(f"{what}: {time.perf_counter() - wall:.2f} s, {time.process_time() - cpu:.2f} s of CPU")
        size = sum(path.stat().st_size for path in place.rglob("*.parquet"))
        print(f"{runs} runs, {size / runs:.0f} bytes a run")


def make(place: Path, runs: int) -> None:
    """Fills a store."""
    points = -(-runs // SEEDS)
    one = airwatt.sweep("fast-dsl", set={"flow.application.size": "1MB"}, over={"wired.rtt": "20ms"}, policy=["psm"])
    models = {what: one.to_arrow(what).drop_columns(["policy", "wired.rtt_s"]) for what in ("runs", "stations")}
    files = Files.create(place)
    keys = [f"{index:024x}" for index in range(points)]
    settings = {"point": keys, "policy": ["psm"] * points, "wired.rtt_s": np.arange(points) * 1e-3}
    text = [airwatt.Scenario.load("fast-dsl", []).to_toml()] * points
    whole = plan.Plan("0", "fast-dsl", plan.core_hash(), keys, pa.table(settings), pa.array(text), [], 1, SEEDS)
    files.add(whole)
    random = np.random.default_rng(1)
    for number, first in enumerate(range(0, runs, SMALL_ROWS)):
        rows = min(SMALL_ROWS, runs - first)
        jobs = np.arange(first, first + rows)
        for what, row in models.items():
            columns = {
                name: values.take(pa.array(np.zeros(rows, np.int64)))
                for name, values in zip(row.schema.names, row.columns, strict=True)
            }
            columns["point"] = pa.array([keys[job // SEEDS] for job in jobs])
            columns["seed"] = pa.array(1 + jobs % SEEDS, pa.uint64())
            for name in ("energy_j", "goodput_bps", "completed_s", "wall_s") if what == "runs" else ():
                columns[name] = pa.array(random.random(rows))
            pq.write_table(pa.table(columns), files.chunk(what, f"x-0-{number:06d}-{rows}"), compression="zstd")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
