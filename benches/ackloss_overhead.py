"""The cost of `ackloss`: CPU time per byte compared with the kernel's `reno`, over veth, in pairs of consecutive runs.

Prints the ratio of CPU time per byte with its 95 % confidence interval, and the duration of a call as the kernel
measures it, including its time keeping. The first comparison is without a rate limit, with acknowledgements of a
hundred segments and more; the second is over a link of 500 Mb/s without offloads, with acknowledgements of two. The
time of both processes counts, including kernel time. The threshold is unreachable, so that both congestion controls
have the same windows. The program needs root.

.venv/bin/python benches/ackloss_overhead.py [PAIRS]
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/linux"))

from lab import ADDRESS, DAEMON, HERE, Lab, call, exclusive, missing  # noqa: E402

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
# Bytes of a transfer, with offloads and without.
SIZES = {True: 1_000_000_000, False: 50_000_000}
STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
PROGRAMS = ("al_acked", "al_cong_avoid")


def cost(lab: Lab, congestion: str) -> float:
    """Returns nanoseconds of CPU time per byte of one transfer, both ends together."""
    size = SIZES[lab.offloads]
    peer = [sys.executable, HERE / "peer.py"]
    receiver = subprocess.Popen(
        lab.inside("receiver", *peer, "receive", ADDRESS["receiver"]), stdout=subprocess.PIPE, text=True
    )
    port = int(receiver.stdout.readline())
    sent = lab.run("sender", *peer, "push", ADDRESS["receiver"], port, congestion, size).stdout
    read, _ = receiver.communicate(timeout=60)
    return (json.loads(sent)["cpu_s"] + json.loads(read)["cpu_s"]) / size * 1e9


def calls() -> dict[str, tuple[int, int]]:
    """Returns the nanoseconds and calls of our programs so far, if bpftool is installed."""
    if call("which", "bpftool", check=False).returncode:
        return {}
    ours = [
        entry for entry in json.loads(call("bpftool", "-j", "prog", "show").stdout) if entry.get("name") in PROGRAMS
    ]
    return {entry["name"]: (entry.get("run_time_ns", 0), entry.get("run_cnt", 0)) for entry in ours}


def compare(lab: Lab) -> None:
    """Prints the comparison under the lab's conditions."""
    print("with offloads" if lab.offloads else f"without offloads, {lab.rate}")
    ratios: list[float] = []
    absolute: dict[str, list[float]] = {"reno": [], "ackloss": []}
    for pair in range(-1, PAIRS):
        order = ("reno", "ackloss") if pair % 2 else ("ackloss", "reno")
        each = {congestion: cost(lab, congestion) for congestion in order}
        # The first pair is for warming up.
        if pair >= 0:
            ratios.append(each["ackloss"] / each["reno"])
            for congestion, value in each.items():
                absolute[congestion].append(value)
    for congestion, values in absolute.items():
        print(f"  {congestion:<8} {statistics.median(values):.3f} ns of CPU time per byte (median of {PAIRS})")
    mean, error = statistics.fmean(ratios), 1.96 * statistics.stdev(ratios) / len(ratios) ** 0.5
    print(f"  ackloss / reno: mean {mean:.4f} +- {error:.4f} (95 %), median {statistics.median(ratios):.4f}")
    before = calls()
    STATS.write_text("1")
    cost(lab, "ackloss")
    STATS.write_text("0")
    for name, (nanoseconds, count) in sorted(calls().items()):
        took, times = nanoseconds - before[name][0], count - before[name][1]
        if times:
            print(f"  {name}: {took / times:.0f} ns a call, {times} calls for {SIZES[lab.offloads] / 1e6:.0f} MB")


def main() -> None:
    """Prints both comparisons."""
    if reason := missing():
        print(f"skipped: {reason}")
        return
    with exclusive():
        call(DAEMON, "cc", "load", "--threshold", 1000)
        for offloads, rate in ((True, ""), (False, "500mbit")):
            with Lab(rate=rate, offloads=offloads, queue_bytes=2_000_000) as lab:
                compare(lab)


if __name__ == "__main__":
    main()
