# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt[plots]"]
# ///
"""Draws the tables of docs/mixed-cell.md: python tests/reference/mixed_cell_picture.py

Nothing is run: the numbers are those of the page, of which tests make rows again.
"""

import re
import sys
from pathlib import Path

from airwatt.plots import style

DOCS = Path(__file__).parents[2] / "docs"
SAVERS = (0, 1, 5, 9, 10)
POLICIES = ("timeout", "psm", "uapsd", "ba-ta")
CASES = ("wire, drop-tail", "wire, fq-codel", "cell, drop-tail", "cell, fq-codel")
AWAKE, SAVING = "awake", "saving"


def numbers(case: str) -> dict[tuple[str, int], dict[str, tuple[float, float]]]:
    """Mb/s and mJ/MB of each kind of station by policy and number of savers."""
    page = (DOCS / "mixed-cell.md").read_text()
    text = page.split(f"    bottleneck {case} at")[1].split("    bottleneck ")[0]
    found = {}
    for policy, savers, rest in re.findall(r"^    (\S+) +(\d+)  (.{14,})$", text, re.MULTILINE):
        cells = rest.split()
        kinds = zip((AWAKE, SAVING), (cells[:2], cells[2:]), strict=True)
        found[policy, int(savers)] = {kind: (float(a), float(b)) for kind, (a, b) in kinds if a != "-"}
    return found


def main() -> int:
    """Writes docs/img/mixed-cell.png."""
    import matplotlib.pyplot as plt

    with style.styled():
        figure, axes = plt.subplots(2, len(CASES), figsize=(11, 5.6), sharex=True, sharey="row")
        for column, case in zip(axes.T, CASES, strict=True):
            found = numbers(case)
            for policy, colour in zip(POLICIES, style.LINES, strict=False):
                for kind, line in ((SAVING, "-"), (AWAKE, "--")):
                    points = [
                        (savers, of[kind])
                        for savers in SAVERS
                        if kind in (of := found[policy if savers else "-", savers])
                    ]
                    for axis, place in zip(column, (0, 1), strict=True):
                        xs, ys = [x for x, _ in points], [pair[place] for _, pair in points]
                        axis.plot(xs, ys, line, marker="o", ms=3, color=colour, label=f"{policy}, {kind}")
            where, queue = case.split(", ")
            column[0].set_title(f"bottleneck: the {where}; {queue}", fontsize=9)
            column[1].set_xlabel("stations of ten that save power", fontsize=8)
            column[1].set_yscale("log")
            column[1].set_xticks(SAVERS)
        axes[0][0].set_ylabel("goodput of one (Mb/s)")
        axes[1][0].set_ylabel("energy (mJ/MB)")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, ncol=4, loc="lower center", fontsize=8, frameon=False)
        figure.subplots_adjust(left=0.07, right=0.99, top=0.93, bottom=0.2, hspace=0.12, wspace=0.06)
        figure.savefig(DOCS / "img" / "mixed-cell.png", dpi=110, metadata={"Software": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
