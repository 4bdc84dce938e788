# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Writes the tables of the processing cost of SACK in docs/reproductions/singh-2002.md.

    python tests/reference/sack_page.py

They stand between marks in the page (`<!-- NAME -->`). One is what `benches/sack_blocks.py` measured in a kernel, whose
numbers are in sack-blocks.csv beside this program; the other is where SACK pays in the thesis' experiment with that
cost. It takes two minutes of one core.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from airwatt.reproductions import engine
from airwatt.reproductions.publication import Numbers
from airwatt.reproductions.singh_2002 import setup
from airwatt.statistics import mean_ci95

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reproductions" / "singh-2002.md"
MEASURED = Path(__file__).with_name("sack-blocks.csv")
CLOCK_GHZ, CLOCK_2002_GHZ = 2.445, 0.6
"""Of the processor that was measured, and of the laptop."""
PACKET_2002_US, BUSY_2002_W = 33.0, 10.0
"""What the host laptop-2002 has for TCP's processing of a packet, and what it draws more when it works."""
LOSSES = (0.1, 0.2, 0.5, 1, 2, 5, 10)
"""In per cent."""
RUNS, MEGABYTES = 10, 5
Row = Mapping[str, float]


def measured() -> list[dict[str, str]]:
    """The rows that were measured."""
    with MEASURED.open(newline="") as file:
        return list(csv.DictReader(file))


def of_kernel(rows: Sequence[Mapping[str, str]]) -> str:
    """Table: what a packet costs."""
    heads = ["host", "packet", "blocks", "with SACK (ns)", "without (ns)", "difference (ns)"]
    lines = [f"| {' | '.join(heads)} |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        cells = [f"{row[f'{name}_ns']} ± {row[f'{name}_ci95_ns']}" for name in ("with_sack", "without", "difference")]
        lines.append(f"| {' | '.join([row['host'], row['place'], row['blocks'], *cells])} |")
    return "\n".join(lines)


def costs_us(rows: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """What an acknowledgement with blocks costs more at the laptop, by two readings of the measurement.

    Means over the places of a series, of the host that sends.
    """
    sender = [row for row in rows if row["host"] == "sender"]
    more, plain = (sum(float(row[f"{name}_ns"]) for row in sender) / len(sender) for name in ("difference", "without"))
    return {
        "as many cycles": more * CLOCK_GHZ / CLOCK_2002_GHZ / 1e3,
        "the same share": more / plain * PACKET_2002_US,
    }


def runs(block_us: float) -> dict[tuple[float, str], list[Numbers]]:
    """Transfers by loss and TCP with MTU 1500; each of the seeds as means over the round-trip times."""
    settings = (("node.a.host_energy.sack_block", f"{block_us:g}us"),)
    points = {
        (loss, tcp, rtt): setup.point(tcp, rtt, 1500, (*setup.loss(loss), *settings))
        for loss in LOSSES
        for tcp in setup.TCPS
        for rtt in setup.RTTS
    }
    found, _ = engine.run_points(list(points.values()), RUNS, 1)

    def over_rtts(loss: float, tcp: str) -> list[Numbers]:
        each = [found[points[loss, tcp, rtt]] for rtt in setup.RTTS]
        return [
            {key: sum(one[seed][key] for one in each) / len(each) for key in ("total", "sack")} for seed in range(RUNS)
        ]

    return {(loss, tcp): over_rtts(loss, tcp) for loss in LOSSES for tcp in setup.TCPS}


def of_turn(found: Mapping[tuple[float, str], Sequence[Numbers]], block_us: float, costs: Mapping[str, float]) -> str:
    """Table: what SACK spends less than the others in a transfer, and what a block may cost."""
    names = list(costs)
    heads = ["loss", "against", "blocks", "a block costs nothing (J)", *(f"{name} (J)" for name in names), "turns at"]
    lines = [f"| {' | '.join(heads)} |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    for loss in LOSSES:
        sack = found[loss, "sack"]
        blocks = [one["sack"] / block_us * 1e6 for one in sack]
        for tcp in ("newreno", "reno"):
            # Energies are in uJ per bit. The processor works longer for blocks and does nothing else later for it.
            saved = [
                8 * MEGABYTES * (other["total"] - one["total"]) + BUSY_2002_W * one["sack"]
                for one, other in zip(sack, found[loss, tcp], strict=True)
            ]
            cells = [
                said([each - BUSY_2002_W * 1e-6 * cost * count for each, count in zip(saved, blocks, strict=True)])
                for cost in (0.0, *costs.values())
            ]
            mean, _ = mean_ci95(saved)
            number, _ = mean_ci95(blocks)
            turns = f"{1e3 * mean / number / BUSY_2002_W:.2g} ms" if mean > 0 else "never pays"
            lines.append(f"| {loss:g} % | {setup.NAMES[tcp]} | {number:.0f} | {' | '.join(cells)} | {turns} |")
    return "\n".join(lines)


def said(saved: Sequence[float]) -> str:
    """A mean with its interval; a star says that the interval has zero in it."""
    mean, ci95 = mean_ci95(list(saved))
    return f"{mean:.2f} ± {ci95 or 0:.2f}{' *' if abs(mean) <= (ci95 or 0) else ''}"


def marked(text: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"


def main() -> int:
    """Writes the page."""
    rows = measured()
    costs = costs_us(rows)
    block_us = round(costs["as many cycles"], 1)
    text = marked(PAGE.read_text(), "kernel", of_kernel(rows))
    PAGE.write_text(marked(text, "turn", of_turn(runs(block_us), block_us, costs)))
    print(", ".join(f"{name}: {cost:.1f} us" for name, cost in costs.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
