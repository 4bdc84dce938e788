"""Throughput and energy of several choices side by side, and where the radios' time went."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airwatt import aggregates
from airwatt.compared import ComparedRow, names_of
from airwatt.plots import style

_RATES = ((1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))
"""Units of rates, of which a picture has the one of its largest."""


def draw(scenario: str, rows: Sequence[ComparedRow], path: Path) -> None:
    """Draws the rows of a comparison. Raises `OSError`."""
    labels = ["\n".join(names_of(row.choice)) for row in rows]
    with style.styled():
        lines = max(text.count("\n") + 1 for text in labels)
        height = 1.75 + len(rows) * (0.42 + 0.14 * (lines - 1))
        figure = Figure(figsize=(9.6, height), layout="constrained")
        throughput, energy, time = figure.subplots(1, 3, sharey=True)
        everything = [run for row in rows for run in row.runs]
        if not any(run.flows for run in everything):
            _causes(throughput, rows)
        elif all(map(aggregates.answers, everything)):
            _percentiles(throughput, rows, "answers")
        elif all(map(aggregates.streams, everything)):
            _percentiles(throughput, rows, "blocks")
        else:
            most_bps = max((aggregates.over(row.runs, aggregates.shown_bps).mean or 0.0 for row in rows), default=0.0)
            scale, unit = next((one for one in _RATES if most_bps >= one[0]), _RATES[-1])
            _bars(throughput, rows, aggregates.shown_bps, scale, f"{aggregates.goodput_head(everything)} ({unit})")
        _bars(energy, rows, aggregates.energy_j, 1.0, "energy (J) by cause", by_cause=True)
        legend = energy.get_legend()
        if legend is not None and throughput.get_legend() is not None:
            # The causes beside it have the same colours.
            legend.remove()
        _bound(energy, rows)
        states = [
            {
                state: aggregates.over(row.runs, partial(aggregates.share, state=state)).mean or 0.0
                for state in style.STATES
            }
            for row in rows
        ]
        style.state_shares(time, states)
        throughput.set_yticks(range(len(rows)), labels)
        throughput.invert_yaxis()
        figure.legend(*time.get_legend_handles_labels(), loc="outside lower right", ncols=5, handlelength=1.0)
        figure.suptitle(_title(scenario, rows), x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)


def _title(scenario: str, rows: Sequence[ComparedRow]) -> str:
    runs = max(len(row.runs) for row in rows)
    seed = rows[0].runs[0].seed
    note = f"mean of {runs} runs, 95 % confidence intervals" if runs > 1 else f"seed {seed}"
    return f"{scenario}: {' × '.join(rows[0].choice)}  ({note})"


def _causes(axes: Axes, rows: Sequence[ComparedRow]) -> None:
    """The causes of the energy in per cent, for scenarios without flows, whose throughput is nothing."""
    shares = [aggregates.causes(row.runs) for row in rows]
    style.cause_bars(axes, [{name: 100 * share for name, share in one} for one in shares])
    axes.set_xlim(0, 100)
    axes.set_title("energy by cause (%)")
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)


def _bound(axes: Axes, rows: Sequence[ComparedRow]) -> None:
    """A line at the energy of policy `ideal`, if it is one row among others."""
    ideal = [row for row in rows if row.choice.get("policy") == "ideal"]
    if len(ideal) == 1 and len(rows) > 1:
        least = aggregates.over(ideal[0].runs, aggregates.energy_j).mean
        axes.axvline(least or 0.0, color=style.INK, linewidth=0.9, linestyle=":", zorder=3)


def _percentiles(axes: Axes, rows: Sequence[ComparedRow], of: str) -> None:
    """How long pages, responses or blocks took: a bar up to the 95th percentile, ticks at the 50th and the 99th."""
    p50, p95, p99 = (
        [aggregates.over(row.runs, partial(aggregates.response_s, percentile=p)).mean or 0.0 for row in rows]
        for p in aggregates.PERCENTILES
    )
    room = max(p99) or 1.0
    scale, unit = (1e3, "ms") if room < 1 else (1.0, "s")
    places = range(len(rows))
    axes.barh(places, [scale * value for value in p95], height=0.62, color=style.THROUGHPUT)
    for values, marker in ((p50, "|"), (p99, "x")):
        axes.plot([scale * value for value in values], places, marker, color=style.INK, markersize=9)
    for index, three in enumerate(zip(p50, p95, p99, strict=True)):
        text = " · ".join(style.number(scale * value) for value in three)
        axes.text(scale * (max(three) + 0.06 * room), index, text, va="center", fontsize=8)
    axes.set_xlim(0, 1.65 * scale * room)
    axes.set_title(f"{of}: p50 · p95 · p99 ({unit})")
    style.bare_y(axes)


def _bars(
    axes: Axes,
    rows: Sequence[ComparedRow],
    number: aggregates.Number,
    scale: float,
    label: str,
    *,
    by_cause: bool = False,
) -> None:
    estimates = [aggregates.over(row.runs, number) for row in rows]
    means = [(mean or 0.0) / scale for mean, _ in estimates]
    spreads = [(ci95 or 0.0) / scale for _, ci95 in estimates]
    is_log = style.hides_small(means)
    if is_log:
        style.logarithmic(axes, means)
    if by_cause:
        shares = [aggregates.causes(row.runs) for row in rows]
        parts = [{name: mean * part for name, part in one} for mean, one in zip(means, shares, strict=True)]
        style.cause_bars(axes, parts)
    else:
        axes.barh(range(len(rows)), means, height=0.62, color=style.THROUGHPUT)
    if any(spreads):
        axes.errorbar(means, range(len(rows)), xerr=spreads, fmt="none", ecolor=style.INK, elinewidth=1, capsize=2.5)
    ends = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
    if not is_log:
        axes.set_xlim(0, 1.2 * (max(ends, default=0) or 1.0))
    for index, (mean, end) in enumerate(zip(means, ends, strict=True)):
        style.value(axes, max(end, axes.get_xlim()[0]), index, mean)
    axes.set_title(f"{label}, log scale" if is_log else label)
    style.bare_y(axes)
