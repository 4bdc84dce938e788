"""The cost of the shipped scenarios as whole processes: simulated seconds per wall second, events/s, peak memory.

Each row is a process of its own, so that its peak resident memory is its own; the interpreter's is the first row. The
best of three runs counts, because disturbances only make a run slower.
"""

import json
import resource
import subprocess
import sys

import airwatt

REPEATS = 3


def measure(scenario: str) -> None:
    """Runs in the child: prints one JSON line."""
    result = airwatt.run(scenario) if scenario else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    numbers = {"peak": peak}
    if result is not None:
        numbers |= {"simulated_s": result.simulated_s, "wall_s": result.wall_s, "events": result.events}
    print(json.dumps(numbers))


def best(scenario: str) -> dict[str, float]:
    """Returns the fastest of some runs."""
    command = [sys.executable, __file__, "--one", scenario]
    answers = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(REPEATS)]
    return min(answers, key=lambda answer: answer.get("wall_s", 0))


def main() -> None:
    """Prints the table."""
    print(f"{'scenario':<20} {'simulated':>10} {'wall':>9} {'sim s/s':>8} {'events/s':>10} {'peak':>9}")
    print(f"{'(interpreter)':<20} {'':>10} {'':>9} {'':>8} {'':>10} {best('')['peak'] / 1e6:>6.1f} MB")
    for scenario in airwatt.scenarios():
        at = best(scenario.name)
        print(
            f"{scenario.name:<20} {at['simulated_s']:>8.1f} s {at['wall_s'] * 1e3:>6.0f} ms "
            f"{at['simulated_s'] / at['wall_s']:>8.0f} {at['events'] / at['wall_s'] / 1e6:>8.2f} M "
            f"{at['peak'] / 1e6:>6.1f} MB"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
    else:
        main()
