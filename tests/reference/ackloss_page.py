# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Writes the simulated tables of docs/ackloss.md: python tests/reference/ackloss_page.py [TABLE ...]

The tables stand between marks in the page (`<!-- NAME -->`). Every cell is over ten runs, with 95 % intervals.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from airwatt import run
from airwatt._core import toml_value
from airwatt.statistics import mean_ci95

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ackloss.md"
WIRED = str(ROOT / "tests" / "reference" / "wired.toml")
SEEDS = range(1, 11)

CONTROLS = {
    "Reno": "reno",
    "Reno, SACK": "sack",
    "CUBIC": "cubic",
    "Westwood+": "westwood",
    "Veno": "veno",
    "TCP-Jersey": "jersey",
}
"""The congestion controls, by what the page calls them."""

CELLS: Mapping[str, Mapping[str, str]] = {
    "ten uploads": {},
    "five and five": {
        "flow": toml_value(
            [
                {"direction": way, "stations": stations, "transport": "reno", "start_spread": "10s"}
                for way, stations in (("up", [0, 1, 2, 3, 4]), ("down", [5, 6, 7, 8, 9]))
            ]
        )
    },
}
"""The cell of the thesis (`ten-up`) with its two loads: keys that they change."""

LONG = {"from": "left", "to": "right", "count": 4, "start_spread": "2s"}
PAGES = {**LONG, "count": 16, "application": {"kind": "web", "mean_gap": "2s"}}
BACK = {"from": "right", "to": "left", "count": 20, "transport": "newreno", "start_spread": "2s"}
BURSTS = {"count": 140, "transport": "udp", "application": {"kind": "periodic", "packet": "1400B", "interval": "1s"}}
WIRES: Mapping[str, tuple[Sequence[Mapping[str, Any]], Mapping[str, str]]] = {
    "four transfers": ([LONG], {}),
    "bursts beside them": ([LONG, {"from": "left", "to": "right", **BURSTS}], {}),
    "bursts against them": ([LONG, {"from": "right", "to": "left", **BURSTS}], {}),
    "twenty transfers against them": ([LONG, BACK], {}),
    "a way back of 200 kbit/s": ([LONG], {"link.wire.reverse": '{ rate = "200kbps", queue = "60packets" }'}),
    "sixteen readers of pages beside them": ([LONG, PAGES], {}),
    "readers of pages alone": ([PAGES], {}),
}
"""What happens on the wire: flows, of which those without a transport have that of the row, and keys that change."""

RECEIVERS: Mapping[str, Mapping[str, str]] = {
    "each segment; published": {"tcp.delayed_ack": "false", "ackloss.segments_per_ack": "1"},
    "every second; extension": {"tcp.delayed_ack": "true", "tcp.timestamps": "true", "ackloss.rule": "stretch"},
    "Linux; published": {"tcp.profile": "linux"},
    "Linux; extension": {"tcp.profile": "linux", "ackloss.rule": "stretch"},
}
"""Which segments are acknowledged, and the rule that counts: keys of `wired.toml`."""


def interval(values: Sequence[float], digits: int, sign: str = "") -> str:
    """A mean with its interval."""
    mean, half = mean_ci95(values)
    return f"{mean:{sign}.{digits}f} ± {half:.{digits}f}"


def cell_row(load: str, name: str, method: bool) -> str:
    """A row of the table of a load of the cell."""
    transport = CONTROLS[name] + ("+ackloss" if method else "")
    found = [run("ten-up", transport=transport, seed=seed, set=CELLS[load]) for seed in SEEDS]
    rates = [[flow.measured_bps / 1e6 for flow in one.flows] for one in found]
    cells = [
        name,
        "with" if method else "without",
        interval([one.fairness.jain for one in found], 2),
        interval([sum(each) for each in rates], 1),
        interval([100 * sum(each) / 31.04 for each in rates], 0) + " %",
        interval([min(each) for each in rates], 2),
    ]
    if load == "five and five":
        cells += [interval([sum(each[part]) / 5 for each in rates], 2) for part in (slice(5), slice(5, 10))]
    return f"| {' | '.join(cells)} |"


def cell(load: str) -> str:
    """The table of a load of the cell."""
    heads = ["congestion control", "method", "Jain", "total (Mb/s)", "of the capacity", "least flow (Mb/s)"]
    heads += ["up (Mb/s)", "down (Mb/s)"] if load == "five and five" else []
    rows = [cell_row(load, name, method) for name in CONTROLS for method in (False, True)]
    return "\n".join([f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2), *rows])


def wire_row(case: str, receiver: str) -> str:
    """A row of the table of wires: the same senders without the method, all with it, and one of them alone."""
    flows, keys = WIRES[case]
    control = "cubic" if "Linux" in receiver else "reno"
    method = f"{control}+ackloss"

    def of(first: str, others: str, seed: int) -> Any:
        """The flows that have a transport of their own choice: of the first of them, and of the others."""
        one, rest = {**flows[0], "count": 1}, {**flows[0], "count": flows[0]["count"] - 1}
        given = [{"transport": first, **one}, *({"transport": others, **flow} for flow in (rest, *flows[1:]))]
        found = run(WIRED, seed=seed, set={**keys, **RECEIVERS[receiver], "flow": toml_value(given)}).flows
        return [flow for flow in found if flow.transport in (first, others)]

    def total(flows: Any) -> float:
        return sum(flow.measured_bps for flow in flows) / 1e6

    lost, seen, halvings, before, after, alone = [], [], [], [], [], []
    for seed in SEEDS:
        without, everyone, one = of(control, control, seed), of(method, method, seed), of(method, control, seed)
        thousand = sum(flow.segments_sent for flow in everyone) / 1000
        lost.append(sum(flow.acks_lost for flow in everyone) / thousand)
        seen.append(sum(flow.ack_losses_seen for flow in everyone) / thousand)
        halvings.append(sum(flow.ack_loss_halvings for flow in everyone) / len(everyone))
        before.append(total(without))
        after.append(total(everyone))
        alone.append(total(one[:1]) - total(without[:1]))
    cells = [
        case,
        receiver,
        interval(lost, 1),
        interval(seen, 1),
        interval(halvings, 1),
        interval(before, 1),
        interval(after, 1),
        interval([100 * (now / then - 1) for then, now in zip(before, after, strict=True)], 1, "+") + " %",
        interval(alone, 2, "+"),
    ]
    return f"| {' | '.join(cells)} |"


def wires() -> str:
    """The table of wires."""
    heads = [
        "on the wire",
        "acknowledged; rule",
        "ACKs lost",
        "counted",
        "halvings a minute",
        "without (Mb/s)",
        "with (Mb/s)",
        "change",
        "one alone (Mb/s)",
    ]
    rows = [wire_row(case, receiver) for case in WIRES for receiver in RECEIVERS]
    return "\n".join([f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2), *rows])


TABLES: Mapping[str, Callable[[], str]] = {
    "ten uploads": lambda: cell("ten uploads"),
    "five and five": lambda: cell("five and five"),
    "wires": wires,
}


def main(names: Sequence[str]) -> int:
    """Writes these tables, or all, into the page."""
    for name in names or TABLES:
        table = TABLES[name]()
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        head, rest = PAGE.read_text().split(begin)
        PAGE.write_text(f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
