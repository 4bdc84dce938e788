"""What each policy would have spent on a capture's traffic, and the delay that it adds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airwatt.plots import style


def draw(document: Mapping[str, Any], path: Path) -> None:
    """Draws an analysis document that has policies. Raises `OSError`."""
    policies = document["policies"]
    with style.styled():
        figure = Figure(figsize=(9.6, 2.0 + 0.42 * len(policies)), layout="constrained")
        energy, delay, time = figure.subplots(1, 3, sharey=True)
        _energy(energy, policies)
        _delay(delay, policies)
        style.state_shares(time, [policy["state_s"] for policy in policies])
        energy.set_yticks(range(len(policies)), [policy["policy"] for policy in policies])
        energy.invert_yaxis()
        figure.legend(*time.get_legend_handles_labels(), loc="outside upper right", ncols=5, handlelength=1.0)
        name = Path(document["capture"]["file"]).name
        figure.suptitle(f"{name}: {document['station']}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.supxlabel(f"{document['radio']}; {document['phy']}", x=0.01, ha="left", fontsize=8, color=style.INK)
        style.save(figure, path)


def _energy(axes: Axes, policies: Sequence[Mapping[str, Any]]) -> None:
    """Bars at the stated rate; where the rate is assumed, the band from the fastest to the slowest one."""
    means = [policy["energy_j"] for policy in policies]
    lows = [policy["energy_j"] if policy["energy_low_j"] is None else policy["energy_low_j"] for policy in policies]
    highs = [policy["energy_j"] if policy["energy_high_j"] is None else policy["energy_high_j"] for policy in policies]
    axes.barh(range(len(policies)), means, height=0.62, color=style.ENERGY)
    inferred = any(policy["energy_low_j"] is not None for policy in policies)
    if inferred:
        # A policy may happen to spend more at the fastest rate than at the stated one: a band has no negative side.
        spreads = [
            [max(mean - low, 0.0) for mean, low in zip(means, lows, strict=True)],
            [max(high - mean, 0.0) for mean, high in zip(means, highs, strict=True)],
        ]
        axes.errorbar(
            means, range(len(policies)), xerr=spreads, fmt="none", ecolor=style.INK, elinewidth=1, capsize=2.5
        )
    room = max([*highs, *means]) or 1.0
    for index, (mean, high) in enumerate(zip(means, highs, strict=True)):
        axes.text(max(mean, high) + 0.02 * room, index, style.number(mean), va="center", fontsize=8)
    axes.set_xlim(0, 1.2 * room)
    axes.set_title(f"energy (J), {'inferred, with band' if inferred else 'measured'}")
    style.bare_y(axes)


def _delay(axes: Axes, policies: Sequence[Mapping[str, Any]]) -> None:
    """Mean as a dot, median to 95 % as a line."""
    largest = 0.0
    for index, policy in enumerate(policies):
        delay = policy["added_delay_s"]
        if delay is None:
            continue
        p50, p95, mean = (1000 * delay[key] for key in ("p50", "p95", "mean"))
        largest = max(largest, p95, mean)
        axes.plot([p50, p95], [index, index], color=style.DELAY, linewidth=3, alpha=0.45, solid_capstyle="butt")
        axes.plot([mean], [index], marker="o", markersize=5, color=style.DELAY)
        axes.annotate(
            style.number(mean),
            (max(mean, p95), index),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_xlim(-0.03 * (largest or 1.0), 1.25 * (largest or 1.0))
    axes.set_title("added delay (ms): mean, 50 to 95 %")
    style.bare_y(axes)
