# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Writes the table of twenty jobs of docs/emulation.md: sudo .venv/bin/python tests/reference/kernel_page.py

The table stands between marks in the page (`<!-- NAME -->`). Every cell is the mean of three runs, simulated and over
the sockets of this machine's kernel with the same seeds. It takes twelve minutes. An emulation that was late is
repeated.
"""

from pathlib import Path
from typing import Any

from airwatt.laboratory import emulate, run

PAGE = Path(__file__).parents[2] / "docs" / "emulation.md"
MARKS = ("<!-- twenty -->", "<!-- end of twenty -->")
SEEDS = (1, 2, 3)
TRIES = 5
LATE_S = 0.005
# A window below the queue and the path loses nothing; 10 MB overflow the queue of 50 packets.
WITHOUT = {"flow.application.size": "4MB", "tcp.receive_window": "30kB"}
WITH = {"flow.application.size": "10MB"}
SENDERS = {"CUBIC": "cubic", "Reno": "sack", "BBRv1": "bbr1"}
POLICIES = ("active", "psm", "uapsd")
Job = tuple[str, str, str, str, dict[str, str]]


def jobs() -> list[Job]:
    """Kind, sender, policy, scenario and keys of each job."""
    found: list[Job] = []
    for kind, keys in (("no loss", WITHOUT), ("losses", WITH)):
        for name, transport in SENDERS.items():
            found += [(kind, name, policy, "fast-dsl", {**keys, "transport": transport}) for policy in POLICIES]
        if kind == "no loss":
            found.append((kind, "CUBIC, keys", "timeout", "ssh", {"transport": "cubic", "duration": "15s"}))
        else:
            found.append((kind, "Reno, no SACK", "active", "fast-dsl", {**keys, "transport": "reno"}))
    return found


def measured(document: Any) -> dict[str, float]:
    """Goodput in Mbit/s, packets sent again, packets that went up, and joules."""
    flow, station = document["flows"][0], document["stations"][0]
    return {
        "goodput": flow["goodput_bps"] / 1e6,
        "resent": flow["segments_retransmitted"],
        "up": document["links"][0]["reverse"]["packets"],
        "energy": station["energy_j"],
    }


def emulated(scenario: str, keys: dict[str, str], seed: int) -> dict[str, float]:
    """A job over the kernel, in time."""
    for _ in range(TRIES):
        document: Any = emulate(scenario, seed=seed, set=keys, lateness="50ms").to_dict()
        if (document["realtime"]["lateness_s_p99"] or 0.0) < LATE_S:
            return measured(document)
    raise SystemExit(f"{scenario}: this machine is too busy")


def mean(found: list[dict[str, float]]) -> dict[str, float]:
    """The means over the seeds."""
    return {key: sum(one[key] for one in found) / len(found) for key in found[0]}


def row(job: Job) -> str:
    """The row of a job."""
    kind, name, policy, scenario, own = job
    keys = {"tcp.profile": "linux", "policy": policy, **own}
    ours = mean([measured(run(scenario, seed=seed, set=keys).to_dict()) for seed in SEEDS])
    kernel = mean([emulated(scenario, keys, seed) for seed in SEEDS])

    def off(key: str) -> str:
        return f"{100 * (ours[key] / kernel[key] - 1):+.1f} %"

    cells = [kind, name, policy]
    cells += [f"{ours['goodput']:.2f}", f"{kernel['goodput']:.2f}", off("goodput")]
    cells += [f"{ours['energy']:.3f}", f"{kernel['energy']:.3f}", off("energy")]
    cells += [f"{ours['up']:.0f}", f"{kernel['up']:.0f}", off("up"), f"{ours['resent']:.0f}", f"{kernel['resent']:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Writes the page."""
    head = [
        "| | sender | policy | Mbit/s | kernel | | J | kernel | | packets up | kernel | | resent | kernel |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = []
    for job in jobs():
        rows.append(row(job))
        print(rows[-1], flush=True)
    text = PAGE.read_text()
    begin, end = (text.index(mark) for mark in MARKS)
    table = "\n".join([*head, *rows])
    PAGE.write_text(f"{text[:begin]}{MARKS[0]}\n{table}\n{text[end:]}")


if __name__ == "__main__":
    main()
