# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Writes the tables of rivals in docs/fairness.md: python tests/reference/rivals_page.py

The tables stand between marks in the page (`<!-- NAME -->`). Every cell is the mean of three runs.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from airwatt import run
from airwatt._core import toml_value

PAGE = Path(__file__).parents[2] / "docs" / "fairness.md"
SEEDS = (1, 2, 3)
STATIONS, BUFFER_PACKETS = 10, 100
RIVALS: Mapping[str, Mapping[str, str]] = {
    "drop tail": {},
    "ACK-loss method": {"transport": "reno+ackloss"},
    "priority": {"ap.priority": "true"},
    "window rewriting": {"tcp.receive_window": f"{BUFFER_PACKETS // STATIONS}packets"},
    "two queues": {"ap.queue": "two-queues"},
    "FQ-CoDel": {"ap.queue": "fq-codel"},
    "air time, AQL": {"ap.queue": "mac80211"},
    "air time, two PPDUs": {"ap.queue": "ath9k"},
}
"""By what the page calls them: keys of the scenario `ten-up`."""


def flow(direction: str, stations: range) -> dict[str, object]:
    """A flow of each of these stations."""
    return {"direction": direction, "stations": list(stations), "transport": "reno", "start_spread": "10s"}


CASES: Mapping[str, Mapping[str, str]] = {
    "ten up": {},
    "ten up over 20 ms": {"wired.rtt": "20ms"},
    "five and five": {"flow": toml_value([flow("up", range(5)), flow("down", range(5, STATIONS))])},
}


def row(case: str, rival: str) -> str:
    """A row of the table of a case."""
    found = [run("ten-up", seed=seed, set={**CASES[case], **RIVALS[rival]}) for seed in SEEDS]
    rates = [[flow.measured_bps / 1e6 for flow in one.flows] for one in found]
    fair = sum(sum(each) for each in rates) / len(rates) / STATIONS
    starved = sum(rate < fair / 10 for each in rates for rate in each) / len(rates)
    delivered = [sum(flow.bytes_delivered for flow in one.flows) / 1e6 for one in found]
    spent = [sum(station.energy_j for station in one.stations) for one in found]
    numbers = [
        f"{sum(one.fairness.jain for one in found) / len(found):.2f}",
        f"{starved:.1f}",
        f"{fair * STATIONS:.1f}",
        f"{100 * fair * STATIONS / 31.04:.0f} %",
        f"{sum(spent) / sum(delivered):.2f}",
    ]
    if case == "five and five":
        ways = [sum(sum(each[part]) for each in rates) / len(rates) / 5 for part in (slice(5), slice(5, None))]
        numbers += [f"{way:.2f}" for way in ways]
    return f"| {' | '.join([rival, *numbers])} |"


def table(case: str) -> str:
    """The table of a case."""
    heads = ["at the access point", "Jain", "starved", "total (Mb/s)", "of the capacity", "J/MB"]
    heads += ["up (Mb/s)", "down (Mb/s)"] if case == "five and five" else []
    ruler = "|" + "|".join(["---", *["---:"] * (len(heads) - 1)]) + "|"
    return "\n".join([f"| {' | '.join(heads)} |", ruler, *(row(case, rival) for rival in RIVALS)])


def main() -> int:
    """Writes the tables into the page."""
    text = PAGE.read_text()
    for case in CASES:
        begin, end = f"<!-- {case} -->", f"<!-- end of {case} -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{table(case)}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
