"""Who slept when in a capture, what each policy would have spent on its traffic, and the delay that it adds."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from airwatt.aggregates import cause_shares
from airwatt.plots import sleepers, style


def draw(document: Mapping[str, Any], path: Path, what_if: bool = True) -> None:
    """Draws what was captured, and with `what_if` what policies would have spent on it. Raises `OSError`."""
    policies = document["policies"] if what_if else []
    rows = sleepers.Sleepers(document, what_if=what_if)
    line_height = 1.1 + 0.62 * sum(rows.heights())
    bars_height = 1.7 + 0.3 * len(policies) if policies else 0.0
    with style.styled():
        figure = Figure(figsize=(11, 0.9 + line_height + bars_height), layout="constrained")
        upper: Figure | SubFigure = figure
        if policies:
            halves: Any = figure.subfigures(2, 1, height_ratios=[line_height, bars_height])
            upper, lower = halves
        grid = upper.subplots(
            rows.rows(), 2, sharex="col", height_ratios=rows.heights(), width_ratios=[2.1, 1], squeeze=False
        )
        rows.draw(grid)
        if policies:
            energy, delay, time = lower.subplots(1, 3, sharey=True)
            _energy(energy, policies)
            _delay(delay, policies)
            delay.set_title("added delay (ms): mean, 50 to 95 %")
            style.state_shares(time, [policy["state_s"] for policy in policies])
            energy.set_yticks(range(len(policies)), [policy["policy"] for policy in policies])
            energy.invert_yaxis()
        legend = sleepers.handles(document["air"] is not None, bool(policies))
        figure.legend(handles=legend, loc="outside lower center", ncols=len(legend), handlelength=1.0)
        figure.suptitle(_title(document, what_if), x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)


def draw_stations(documents: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draws several stations of a capture, a lane each; the first has the tables of the capture. Raises `OSError`."""
    rows = sleepers.Sleepers(*documents)
    with style.styled():
        figure = Figure(figsize=(11, 1.9 + 0.62 * sum(rows.heights())), layout="constrained")
        grid = figure.subplots(
            rows.rows(), 2, sharex="col", height_ratios=rows.heights(), width_ratios=[2.1, 1], squeeze=False
        )
        rows.draw(grid)
        legend = sleepers.handles(documents[0]["air"] is not None, what_if=False)
        figure.legend(handles=legend, loc="outside lower center", ncols=len(legend), handlelength=1.0)
        name = Path(documents[0]["capture"]["file"]).name
        shown = len(rows.stations or rows.wired)
        of = str(shown) if shown == len(documents) else f"{shown} of {len(documents)}"
        figure.suptitle(f"{name}: {of} stations as captured", x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)


def _title(document: Mapping[str, Any], what_if: bool) -> str:
    name = Path(document["capture"]["file"]).name
    if document["station"] is None:
        return f"{name}: stations as captured"
    if not what_if:
        return f"{name}: {document['station']} as captured"
    # A replay begins with a beacon interval of its own, so that its wake-ups do not stand at the captured beacons.
    simulated = "; lanes of policies are simulated, with beacons at times of their own" if document["air"] else ""
    radio = f"{document['radio']}; {document['phy']}{simulated}" if document["policies"] else ""
    return "\n".join([f"{name}: {document['station']}", *textwrap.wrap(radio, 100)])


def _energy(axes: Axes, policies: Sequence[Mapping[str, Any]]) -> None:
    """Bars at the stated rate, divided by cause; if it is assumed, the band from the fastest rate to the slowest."""
    means = [policy["energy_j"] for policy in policies]
    shares = [dict(cause_shares([policy["energy_by_cause_j"]])) for policy in policies]
    energies_j = [
        {name: mean_j * share for name, share in one.items()} for mean_j, one in zip(means, shares, strict=True)
    ]
    is_log = style.hides_small(means)
    if is_log:
        style.logarithmic(axes, means)
    style.cause_bars(axes, energies_j)
    lows = [policy["energy_j"] if policy["energy_low_j"] is None else policy["energy_low_j"] for policy in policies]
    highs = [policy["energy_j"] if policy["energy_high_j"] is None else policy["energy_high_j"] for policy in policies]
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
    if not is_log:
        axes.set_xlim(0, 1.2 * (max([*highs, *means]) or 1.0))
    for index, (mean, high) in enumerate(zip(means, highs, strict=True)):
        style.value(axes, max(mean, high), index, mean)
    basis = "with band" if inferred else "simulated"
    axes.set_title("energy (J, log), shares by cause" if is_log else f"energy (J) by cause, {basis}")
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
    known = [policy["added_delay_s"] for policy in policies if policy["added_delay_s"] is not None]
    if not style.decades(axes, [1000 * delay[key] for delay in known for key in ("mean", "p95")]):
        axes.set_xlim(-0.03 * (largest or 1.0), 1.25 * (largest or 1.0))
    style.bare_y(axes)
