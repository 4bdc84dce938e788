# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Writes the tables of docs/pacing.md: python tests/reference/pacing_page.py

The tables stand between marks in the page (`<!-- NAME -->`). Every cell is the mean of three runs.
"""

import sys
from pathlib import Path
from typing import Any

from airwatt.laboratory import run

PAGE = Path(__file__).parents[2] / "docs" / "pacing.md"
SENDERS = {
    "CUBIC": {"transport": "cubic"},
    "CUBIC, paced": {"transport": "cubic", "tcp.paced": "true"},
    "BBRv1": {"transport": "bbr1"},
    "BBRv3": {"transport": "bbr3"},
}
POLICIES = ("active", "timeout", "psm", "uapsd", "ba-ta")
JOBS = {
    "download": ("fast-dsl", {"flow.application.size": "20MB"}),
    "stream": ("streaming", {"flow.application.media": "60s"}),
}
SEEDS = (1, 2, 3)


def measured(job: str, sender: str, policy: str, seed: int) -> dict[str, float]:
    """One run: J/MB, goodput in Mbit/s, time asleep in per cent, delays of data in ms, and packets that went up."""
    scenario, keys = JOBS[job]
    own = {"tcp.profile": "linux", "latency_percentiles": "true", "policy": policy}
    document: Any = run(scenario, seed=seed, set={**keys, **own, **SENDERS[sender]}).to_dict()
    flow, station = document["flows"][0], document["stations"][0]
    return {
        "energy": 1e6 * station["energy_j"] / flow["bytes_delivered"],
        "goodput": flow["goodput_bps"] / 1e6,
        "asleep": 100 * station["state_s"]["sleep"] / sum(station["state_s"].values()),
        "p50": 1e3 * flow["latency_s_p50"],
        "p99": 1e3 * flow["latency_s_p99"],
        "up": document["links"][0]["reverse"]["packets"],
        "resent": flow["segments_retransmitted"],
    }


def mean(job: str, sender: str, policy: str) -> dict[str, float]:
    """The means over the seeds."""
    found = [measured(job, sender, policy, seed) for seed in SEEDS]
    return {key: sum(one[key] for one in found) / len(found) for key in found[0]}


def row(job: str, policy: str, sender: str) -> str:
    """A row of the table of a job."""
    one = mean(job, sender, policy)
    return (
        f"| {policy} | {sender} | {one['energy']:.3f} | {one['goodput']:.2f} | {one['asleep']:.0f} % | "
        f"{one['p50']:.0f} | {one['p99']:.0f} | {one['up']:.0f} | {one['resent']:.0f} |"
    )


def table(job: str) -> str:
    """The table of a job."""
    rows = [
        "| policy | sender | J/MB | Mbit/s | asleep | delay p50 (ms) | p99 (ms) | packets up | resent |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows += [row(job, policy, sender) for policy in POLICIES for sender in SENDERS]
    return "\n".join(rows)


def marked(text: str, name: str, rows: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{rows}\n{end}{tail}"


def main() -> int:
    """Writes the page."""
    text = PAGE.read_text()
    for job in JOBS:
        text = marked(text, job, table(job))
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
