"""The cost of a million points of each model from Python, on one core. The program fails if `tcp-energy` takes a second
or more.

Parameters vary at random over the range in which each model is used; the time is that of this process, best of three.
"""

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from airwatt import models

POINTS = 1_000_000
REPEATS = 3
LIMIT_S = 1.0

_RNG = np.random.default_rng(1)
_P = 10 ** _RNG.uniform(-5, -1, POINTS)
_M = _RNG.integers(1, 20, POINTS)

VARIED: dict[str, dict[str, Any]] = {
    "mac-frame": {"q": _RNG.uniform(0, 0.7, POINTS)},
    "tcp-latency": {"p": _P, "file_bytes": 10 ** _RNG.uniform(3, 7, POINTS)},
    "tcp-throughput": {"p": _P},
    "tcp-energy": {"p": _P, "m": _M, "rtt_s": 0.1},
    "ack-gap": {"throughput_bps": _RNG.uniform(1e6, 18e6, POINTS)},
    "wni-factors": {"wake_up_s": _RNG.uniform(0, 1e-3, POINTS)},
    "sctp-tunnel": {"up_bps": _RNG.uniform(1e6, 8e6, POINTS), "m": _M},
    "psm-throughput": {"rtt_s": _RNG.uniform(0.01, 0.3, POINTS)},
    "ba-ta-controller": {"gain": _RNG.uniform(0, 2, POINTS)},
    "dcf-saturation": {"stations": _RNG.integers(1, 50, POINTS)},
    "max-throughput": {"packet_bytes": _RNG.uniform(40, 1500, POINTS)},
    "energy-throughput": {"throughput_bps": _RNG.uniform(1e5, 2e6, POINTS)},
    "ap-buffer": {"throughput_bps": _RNG.uniform(1e6, 3e7, POINTS)},
}


def seconds(name: str, varied: Mapping[str, Any]) -> float:
    """The processor time of a million points."""
    best = float("inf")
    for _ in range(REPEATS):
        started = time.process_time()
        models.find(name)(**varied)
        best = min(best, time.process_time() - started)
    return best


def main() -> int:
    """Prints the table."""
    print(f"{'model':<20} {'million points':>14}")
    taken = {name: seconds(name, varied) for name, varied in VARIED.items()}
    for name, each in taken.items():
        print(f"{name:<20} {each:>12.3f} s")
    return 0 if taken["tcp-energy"] < LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
