"""Advice: energy over added delay, each candidate a mark, with what the models said of it hollow beside it.

A line has what a larger budget would buy.
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airwatt.advice import Advice, Row
from airwatt.plots import style


def draw(found: Advice, path: Path) -> None:
    """Draws the advice. Raises `OSError`."""
    curve = found.tunnel_curve
    with style.styled():
        figure = Figure(figsize=(11.2 if curve else 7.6, 3.8), layout="constrained")
        grid = figure.subplots(1, 2 if curve else 1, squeeze=False)[0]
        _candidates(grid[0], found)
        if curve:
            _tunnel(grid[1], found)
        figure.suptitle(f"{found.source}, radio {found.radio}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)


def _candidates(axes: Axes, found: Advice) -> None:
    rows = [row for row in found.rows if row.simulation]
    policies = list(dict.fromkeys(row.candidate.policy for row in rows))
    for index, policy in enumerate(policies):
        mine = [row.simulation for row in rows if row.candidate.policy == policy and row.simulation]
        colour, mark = style.LINES[index % len(style.LINES)], "os^DvPX*"[index % 8]
        for row in rows:
            if row.candidate.policy == policy and row.model and row.simulation:
                delays_ms = [1e3 * max(0.0, delay_s) for delay_s in (row.model.judged_s, row.simulation.judged_s)]
                energies_j = [row.model.energy_j, row.simulation.energy_j]
                axes.plot(delays_ms, energies_j, ":", color=colour, linewidth=0.7)
                axes.plot(delays_ms[:1], energies_j[:1], mark, color=colour, markersize=4, markerfacecolor="white")
        axes.errorbar(
            [1e3 * max(0.0, figures.judged_s) for figures in mine],
            [figures.energy_j for figures in mine],
            yerr=[figures.energy_ci95_j or 0.0 for figures in mine],
            fmt=mark,
            color=colour,
            markersize=5,
            elinewidth=0.9,
            label=policy,
        )
    steps = [(1e3 * delay, _energy_j(row)) for delay, row in found.curve]
    if steps:
        last = max(1.1 * steps[-1][0], 1.1e3 * found.budget_s)
        xs, ys = zip(*steps, (last, steps[-1][1]), strict=True)
        axes.step(xs, ys, where="post", color=style.GREY, linewidth=1.2, zorder=0, label="least for a budget")
    axes.axvline(1e3 * found.budget_s, color=style.INK, linewidth=0.9, linestyle="--", label="budget")
    if any(row.model for row in rows):
        axes.plot([], [], "o", color=style.GREY, markersize=4, markerfacecolor="white", label="by the model")
    most = [figures.energy_j for row in rows for figures in (row.simulation, row.model) if figures]
    delays_ms = [1e3 * figures.judged_s for row in rows for figures in (row.simulation, row.model) if figures]
    # The budget is in the picture too: a large one would press all candidates onto its edge.
    style.decades(axes, [*delays_ms, 1e3 * found.budget_s])
    if min(most, default=0.0) > 0 and max(most) >= 20 * min(most):
        axes.set_yscale("log")
        axes.set_ylim(0.8 * min(most), 1.2 * max(most))
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(0, 1.06 * max(most, default=1.0))
    axes.set_xlabel("added delay at the 95th percentile (ms)")
    axes.set_title("energy (J)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _energy_j(row: Row) -> float:
    return row.simulation.energy_j if row.simulation else 0.0


def _tunnel(axes: Axes, found: Advice) -> None:
    axes.plot(
        [1e3 * bound for bound, _ in found.tunnel_curve], [power for _, power in found.tunnel_curve], "o-", markersize=4
    )
    axes.axvline(1e3 * found.budget_s, color=style.INK, linewidth=0.9, linestyle="--")
    axes.set_ylim(0, 1.06 * max(power for _, power in found.tunnel_curve))
    axes.set_xlabel("delay bound (ms)")
    axes.set_title("a tunnel of bursts, by the model alone (W)")
