"""Two builds of the simulator side by side: CPU time and instructions of whole runs, as ratios to the first build.

    cargo build --release -p airwatt-sim --example whole_run    # in each checkout
    python benches/paired.py OLD/target/release/examples/whole_run target/release/examples/whole_run

Runs alternate, so that both builds meet the same disturbances, and the median of the ratios of pairs counts.
Instructions (`--instructions`, with valgrind) hardly depend on what else the machine does. The placement of a program
in memory alone moves a time by up to 3 %.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys

RUNS = {
    "fast-dsl": ["fast-dsl"],
    "fast-dsl psm": ["fast-dsl", "station.0.power_save.policy=psm"],
    "reference-download": ["reference-download"],
    "ten-stations": ["ten-stations"],
    "ten-up": ["ten-up"],
}
"""Arguments of the runs that are measured."""


def cpu_s(build: str, arguments: list[str]) -> float:
    """Returns the CPU time of one run in seconds."""
    child = os.posix_spawn(
        build,
        [build, *arguments],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, sys.stdout.fileno(), os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{build} {' '.join(arguments)}: failed")
    return used.ru_utime + used.ru_stime


def instructions(build: str, arguments: list[str]) -> float:
    """Returns the number of instructions of one run."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", build, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if counted is None:
        raise SystemExit(f"valgrind: expected a count of instructions, got {done.stderr!r}")
    return float(counted[1].replace(",", ""))


def main() -> None:
    """Prints a line for each run."""
    parser = argparse.ArgumentParser(description="Two builds of whole_run side by side.")
    parser.add_argument("builds", nargs=2, metavar="BUILD")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind, once each")
    options = parser.parse_args()
    old, new = options.builds
    for name, arguments in RUNS.items():
        if options.instructions:
            before, after = instructions(old, arguments), instructions(new, arguments)
            print(f"{name:<20} {before / 1e6:>9.1f} M {after / 1e6:>9.1f} M  {after / before:.3f}", flush=True)
            continue
        pairs = []
        for pair in range(options.pairs):
            first, second = (old, new) if pair % 2 == 0 else (new, old)
            times = {first: cpu_s(first, arguments)}
            times[second] = cpu_s(second, arguments)
            pairs.append((times[old], times[new]))
        before, after = (min(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(new_s / old_s for old_s, new_s in pairs)
        print(f"{name:<20} {before * 1e3:>8.1f} ms {after * 1e3:>8.1f} ms  {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
