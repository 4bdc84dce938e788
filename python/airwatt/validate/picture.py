"""A model beside runs: lines for the model, marks with their 95 % intervals for the runs, a panel for each figure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter, NullFormatter, ScalarFormatter

from airwatt.plots import style
from airwatt.reproductions.publication import At
from airwatt.tables import PREFIXES
from airwatt.validate import Validated
from airwatt.validate.cases import Figure

Dash = Literal["-", "--", ":", "-."]

_MAX_PANELS = 4
_MARKS = "os^DvPX*"
_DASHES: tuple[Dash, ...] = ("-", "--", ":", "-.")
_LOGARITHMIC = 30.0
_WORDS = {"_ms": "ms", "_mbps": "Mb/s", "_kbytes": "kB/s", "_kb": "kB", "_s": "s"}

Key = tuple[str, ...]


def draw(found: Validated, path: Path) -> None:
    """Draws a validation. Raises `OSError`."""
    whats = [figure.what for figure in found.rows[0][1]][:_MAX_PANELS]
    keys = list(dict.fromkeys(_key(found, at) for at, _ in _rows(found)))
    with style.styled():
        columns = min(len(whats), 3)
        rows = (len(whats) + columns - 1) // columns
        picture = Picture(figsize=(max(3.3 * columns, 5.2) + 2.2, 3.3 * rows), layout="constrained")
        grid = picture.subplots(rows, columns, squeeze=False)
        for axes, what in zip(grid.flat, whats, strict=False):
            _panel(axes, found, what, keys)
        for axes in list(grid.flat)[len(whats) :]:
            axes.set_visible(False)
        picture.legend(handles=_legend(keys), loc="outside right upper")
        title = f"{found.validation.model}: the model (lines) and runs (marks)"
        picture.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(picture, path)


def _rows(found: Validated) -> list[tuple[At, list[Figure]]]:
    only = found.validation.drawn
    return [(at, figures) for at, figures in found.rows if all(at[place] == value for place, value in only)]


def _key(found: Validated, at: At) -> Key:
    """What a curve stands for: everything but the axis and what is the same in all of them."""
    same = {found.validation.axis, *(place for place, _ in found.validation.drawn)}
    return tuple(
        value if isinstance(value, str) else f"{_name(place)} {value:g}{_unit(place)}"
        for place, value in at.items()
        if place not in same
    )


def _name(place: str) -> str:
    for suffix in _WORDS:
        if place.endswith(suffix):
            return place.removesuffix(suffix).replace("_", " ")
    return place


def _unit(place: str) -> str:
    return next((f" {unit}" for suffix, unit in _WORDS.items() if place.endswith(suffix)), "")


def _looks(keys: list[Key], key: Key) -> tuple[str, str, Dash]:
    """Colour, mark and dash: the last part of a key has the colours, the parts before it the dashes."""
    lasts = list(dict.fromkeys(one[-1:] for one in keys))
    firsts = list(dict.fromkeys(one[:-1] for one in keys))
    last, first = lasts.index(key[-1:]), firsts.index(key[:-1])
    return style.LINES[last % len(style.LINES)], _MARKS[first % len(_MARKS)], _DASHES[first % len(_DASHES)]


def _panel(axes: Axes, found: Validated, what: str, keys: list[Key]) -> None:
    curves: dict[Key, list[tuple[float, Figure]]] = {}
    for at, figures in _rows(found):
        place = float(at[found.validation.axis])
        figure = next(figure for figure in figures if figure.what == what)
        curves.setdefault(_key(found, at), []).append((place, figure))
    everything = [figure for curve in curves.values() for _, figure in curve]
    largest = max(max(abs(figure.run), abs(figure.model)) for figure in everything)
    factor, prefix = next(((f, p) for f, p in PREFIXES if largest >= f), PREFIXES[-1])
    unit = everything[0].unit
    if unit in ("", "packets", "/s") or (unit == "s" and factor > 1):
        factor, prefix = 1.0, ""
    for key, curve in curves.items():
        curve.sort(key=lambda pair: pair[0])
        colour, mark, dash = _looks(keys, key)
        xs = [place for place, _ in curve]
        axes.plot(xs, [figure.model / factor for _, figure in curve], dash, color=colour, linewidth=1.2)
        axes.errorbar(
            xs,
            [figure.run / factor for _, figure in curve],
            yerr=[(figure.ci95 or 0.0) / factor for _, figure in curve],
            fmt=mark,
            color=colour,
            markersize=4,
            markerfacecolor="white",
            elinewidth=0.9,
        )
    places = sorted({place for curve in curves.values() for place, _ in curve})
    by_factors = len(places) > 2 and places[1] - places[0] < 0.5 * (places[-1] - places[-2])
    if by_factors and places[0] > 0 and places[-1] / places[0] > _LOGARITHMIC:
        axes.set_xscale("log")
    if found.validation.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(_sparse(figure.model / factor for figure in everything))
    else:
        axes.set_ylim(0, 1.06 * largest / factor)
    axis = found.validation.axis
    axes.set_xlabel(f"{_name(axis)}{f' ({_unit(axis).strip()})' if _unit(axis) else ''}")
    axes.set_title(f"{what} ({prefix}{unit})" if unit else what)


def _sparse(values: Iterable[float]) -> Formatter:
    """Marks between powers of ten have numbers only where there is hardly more than one power."""
    ordered = sorted(values)
    return ScalarFormatter() if ordered[-1] / ordered[0] < 5 else NullFormatter()


def _legend(keys: list[Key]) -> list[Line2D]:
    handles = []
    for key in keys:
        colour, mark, dash = _looks(keys, key)
        label = ", ".join(key) or "model and runs"
        handles.append(
            Line2D(
                [], [], color=colour, linestyle=dash, marker=mark, markersize=4, markerfacecolor="white", label=label
            )
        )
    return handles
