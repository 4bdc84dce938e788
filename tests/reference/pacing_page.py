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
    "QUIC": {"transport": "quic"},
}
ACKNOWLEDGEMENTS = {
    "2": {"quic.ack_every": "2"},
    "4": {"quic.ack_every": "4"},
    "10": {"quic.ack_every": "10"},
    "32": {"quic.ack_every": "32"},
    "Chrome": {"quic.ack_rule": "chrome"},
}
PROTOCOLS = {
    "HTTP/1.1": {"transport": "cubic", "flow.application.http": "http/1.1"},
    "HTTP/2": {"transport": "cubic"},
    "HTTP/2, 12 origins": {"transport": "cubic", "flow.application.origins": "12"},
    "HTTP/3": {"transport": "quic"},
    "HTTP/3, 12 origins": {"transport": "quic", "flow.application.origins": "12"},
    "HTTP/3, Chrome": {"transport": "quic", "quic.ack_rule": "chrome"},
}
BROWSING = ("active", "timeout", "psm", "uapsd")
POLICIES = ("active", "timeout", "psm", "uapsd", "ba-ta")
# Under these the radio is awake, sleeps between beacons, and asks for what comes.
THINNED = ("active", "psm", "uapsd")
JOBS = {
    "download": ("fast-dsl", {"flow.application.size": "20MB"}),
    "stream": ("streaming", {"flow.application.media": "60s"}),
    "pages": (
        "fast-dsl",
        {
            "flow.application.kind": "page",
            "flow.application.count": "10",
            "flow.application.mean_gap": "5s",
            "wired.down.queue": "1000packets",
        },
    ),
}
SEEDS = (1, 2, 3)


def measured(job: str, sender: dict[str, str], policy: str, seed: int) -> dict[str, float]:
    """One run: J/MB, goodput in Mbit/s, time asleep in per cent, delays of data in ms, and packets that went up."""
    scenario, keys = JOBS[job]
    own = {"tcp.profile": "linux", "latency_percentiles": "true", "policy": policy}
    document: Any = run(scenario, seed=seed, set={**keys, **own, **sender}).to_dict()
    flow, station = document["flows"][0], document["stations"][0]
    return {
        "energy": 1e6 * station["energy_j"] / flow["bytes_delivered"],
        "goodput": flow["goodput_bps"] / 1e6,
        "asleep": 100 * station["state_s"]["sleep"] / sum(station["state_s"].values()),
        "p50": 1e3 * flow["latency_s_p50"],
        "p99": 1e3 * flow["latency_s_p99"],
        "up": document["links"][0]["reverse"]["packets"],
        "resent": flow["segments_retransmitted"],
        "timeouts": flow["timeouts"],
        "joules": station["energy_j"],
        "rendered": flow.get("render_s_p50", 0.0),
        "page": flow.get("response_s_p50", 0.0),
    }


def mean(job: str, sender: dict[str, str], policy: str) -> dict[str, float]:
    """The means over the seeds."""
    found = [measured(job, sender, policy, seed) for seed in SEEDS]
    return {key: sum(one[key] for one in found) / len(found) for key in found[0]}


def row(job: str, policy: str, name: str, sender: dict[str, str]) -> str:
    """A row of the table of a job."""
    one = mean(job, sender, policy)
    return (
        f"| {policy} | {name} | {one['energy']:.3f} | {one['goodput']:.2f} | {one['asleep']:.0f} % | "
        f"{one['p50']:.0f} | {one['p99']:.0f} | {one['up']:.0f} | {one['resent']:.0f} |"
    )


def table(heading: str, rows: list[str]) -> str:
    """A table with this column beside the policy."""
    head = [
        f"| policy | {heading} | J/MB | Mbit/s | asleep | delay p50 (ms) | p99 (ms) | packets up | resent |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows])


def senders(job: str) -> str:
    """The table of senders for a job."""
    rows = [row(job, policy, name, sender) for policy in POLICIES for name, sender in SENDERS.items()]
    return table("sender", rows)


def acknowledgements(
    job: str, policies: tuple[str, ...] = THINNED, rules: tuple[str, ...] = tuple(ACKNOWLEDGEMENTS)
) -> str:
    """The table of what acknowledgements by these rules cost."""
    rows = [
        row(job, policy, rule, {"transport": "quic", **ACKNOWLEDGEMENTS[rule]}) for policy in policies for rule in rules
    ]
    return table("packets an ACK", rows)


def browsing(policy: str, protocol: str) -> str:
    """A row of the table of pages."""
    one = mean("pages", PROTOCOLS[protocol], policy)
    return (
        f"| {policy} | {protocol} | {one['joules']:.1f} | {one['asleep']:.0f} % | {one['rendered']:.2f} | "
        f"{one['page']:.2f} | {one['up']:.0f} | {one['resent']:.0f} | {one['timeouts']:.1f} |"
    )


def pages() -> str:
    """The table of pages by the version of HTTP."""
    head = [
        "| policy | protocol | J | asleep | rendered (s) | complete (s) | packets up | resent | time-outs |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *(browsing(policy, protocol) for policy in BROWSING for protocol in PROTOCOLS)])


def marked(text: str, name: str, rows: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{rows}\n{end}{tail}"


def main() -> int:
    """Writes the page."""
    text = PAGE.read_text()
    for job in ("download", "stream"):
        text = marked(text, job, senders(job))
    text = marked(text, "acknowledgements", acknowledgements("download"))
    text = marked(text, "pages", pages())
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
