"""How `airwatt model NAME --validate` shows a model beside runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from airwatt.layout import filled
from airwatt.tables import quantity, table

if TYPE_CHECKING:
    from airwatt.layout import Table
    from airwatt.validate import Validated
    from airwatt.validate.cases import Figure

_COLUMNS = 80
_UNITS = {"_s": "s", "_ms": "ms", "_mbps": "Mb/s", "_kb": "kB", "_kbytes": "kB/s"}


def parts(found: Validated) -> Iterator[str | Table]:
    """Yields the table of all points, and for each figure how far the model is from the runs."""
    count = f"{found.runs} run{'s' if found.runs > 1 else ''} a point from seed {found.seed}"
    yield filled(f"{found.validation.model} against runs: {found.validation.against} ({count})", _COLUMNS)
    places = list(found.rows[0][0])
    whats = [figure.what for figure in found.rows[0][1]]
    # Several formulas for one number of the runs share its column.
    shared = len(whats) > 1 and all(figure.run == figures[0].run for _, figures in found.rows for figure in figures)
    heads = [_head(place) for place in places]
    heads += ["runs", *whats] if shared else [head for what in whats for head in (what, "model")]
    rows = []
    for at, figures in found.rows:
        row = [f"{value:g}" if isinstance(value, float) else value for value in at.values()]
        for index, figure in enumerate(figures):
            if index == 0 or not shared:
                row.append(_amount(figure))
            row.append(difference(figure))
        rows.append(row)
    yield table(heads, rows, left=0)
    yield "\n".join(_stated(found, what) for what in whats)
    if found.validation.note:
        yield filled(found.validation.note, _COLUMNS)


def _head(place: str) -> str:
    """Writes the heading `rtt (ms)` for `rtt_ms`."""
    for suffix, unit in _UNITS.items():
        if place.endswith(suffix):
            return f"{place.removesuffix(suffix).replace('_', ' ')} ({unit})"
    return place


def _amount(figure: Figure) -> str:
    if figure.unit in ("", "packets"):
        return f"{figure.run:.4g}"
    return quantity(figure.run, figure.unit)


def difference(figure: Figure) -> str:
    """Writes `+1.5 %`, with a mark if it is more than was stated."""
    return percent(figure.difference) + ("" if figure.holds else " !")


def percent(share: float) -> str:
    """Writes `+1.5 %`; from ten on without decimals."""
    value = 100 * share
    text = f"{value:+.1f}" if abs(value) < 9.95 else f"{value:+.0f}"
    return "0.0 %" if float(text) == 0 else f"{text} %"


def _bounds(low: float, high: float) -> str:
    return f"±{percent(high).lstrip('+')}" if low == -high else f"{100 * low:+g} to {percent(high)}"


def _stated(found: Validated, what: str) -> str:
    """Writes `time: model -1.3 to -0.1 % from runs; stated ±2.5 %; kept at 15 of 15 points`."""
    figures = [figure for _, figures in found.rows for figure in figures if figure.what == what]
    differences = [figure.difference for figure in figures]
    bounds = list(dict.fromkeys(figure.bounds for figure in figures))
    stated = ", ".join(_bounds(*pair) for pair in bounds)
    kept = sum(figure.holds for figure in figures)
    lowest, highest = percent(min(differences)), percent(max(differences))
    text = f"{what}: model {lowest.removesuffix(' %')} to {highest} from runs; stated {stated}"
    widest = max((figure.ci95 or 0.0) / abs(figure.run) for figure in figures)
    text += f"; kept at {kept} of {len(figures)} points"
    if widest > 0:
        text += f" (runs: 95 % intervals up to ±{percent(widest).lstrip('+')})"
    return filled(text, _COLUMNS, 2)
