# /// script
# requires-python = ">=3.11"
# dependencies = ["matplotlib"]
# ///
"""Draws figures 2 and 6 of the BA-TA paper from bata.csv: python tests/reference/bata_figures.py

bata.csv comes from
AIRWATT_BLESS=1 cargo test --release -p airwatt-sim --test validation_bata -- --ignored
"""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
IMAGES = HERE.parent.parent / "docs" / "img"
ACCESS = {"slow-dsl": "slow DSL", "fast-dsl": "fast DSL", "wifi-bottleneck": "Wi-Fi bottleneck"}
CURVES = {
    ("slow-wifi", "active"): ("Slow Wi-Fi, active", "#56B4E9", "o-"),
    ("fast-wifi", "active"): ("Fast Wi-Fi, active", "#0072B2", "s-"),
    ("slow-wifi", "psm"): ("Slow Wi-Fi, PSM", "#E69F00", "o--"),
    ("fast-wifi", "psm"): ("Fast Wi-Fi, PSM", "#D55E00", "s--"),
}
FIGURES = {
    "bata-buffer.png": ("Buffer", "buffer before the bottleneck in packets"),
    "bata-rtt.png": ("Rtt", "base RTT in ms"),
}


def main() -> None:
    """Draws every figure."""
    with (HERE / "bata.csv").open() as file:
        rows = list(csv.DictReader(file))
    settings = {
        "font.size": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E6E6E6",
    }
    with pyplot.rc_context(settings):
        for name, (axis, label) in FIGURES.items():
            draw([row for row in rows if row["axis"] == axis], label, IMAGES / name)


def draw(rows: list[dict[str, str]], label: str, path: Path) -> None:
    """Goodput above, energy below, a column for each access line; bars are 95 % confidence intervals."""
    figure, panels = pyplot.subplots(2, 3, figsize=(9, 4.8), sharex=True, layout="constrained")
    for column, (access, title) in enumerate(ACCESS.items()):
        for row, (quantity, interval) in enumerate((("goodput_mbps", "goodput_ci95"), ("energy_j", "energy_ci95"))):
            panel = panels[row, column]
            for (wifi, policy), (name, colour, style) in CURVES.items():
                curve = [r for r in rows if (r["access"], r["wifi"], r["policy"]) == (access, wifi, policy)]
                x = [float(r["x"]) for r in curve]
                y = [float(r[quantity]) for r in curve]
                bars = [float(r[interval]) for r in curve]
                panel.errorbar(x, y, yerr=bars, fmt=style, color=colour, label=name, ms=3, lw=1, elinewidth=0.7)
            panel.set_ylim(bottom=0)
        panels[0, column].set_title(title, loc="left", fontweight="bold")
        panels[1, column].set_xlabel(label)
    panels[0, 0].set_ylabel("goodput in Mbit/s")
    panels[1, 0].set_ylabel("energy in J")
    panels[0, 0].legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


main()
