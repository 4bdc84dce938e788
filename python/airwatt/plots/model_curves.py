"""A model's results over one varied parameter, with a curve for each value of a second one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airwatt._core import InputError
from airwatt.plots import style
from airwatt.tables import PREFIXES

if TYPE_CHECKING:
    from airwatt.models import Model

_MAX_CURVES = 12
_MAX_PANELS = 4
# From this ratio on, values that grow by factors are drawn on a logarithmic axis.
_LOGARITHMIC = 50.0


def draw(document: Mapping[str, Any], model: Model, shown: Sequence[str] | None, path: Path) -> None:
    """Draws the results `shown`, or those of the model that vary. Raises `InputError` if there is none; `OSError`."""
    points = document["points"]
    x, curves = _axes_of(model, points)
    panels = [name for name in shown or model.columns if model.results[name].kind != "choice"][:_MAX_PANELS]
    if shown is None:
        panels = [name for name in panels if _varies(points, name, curves)] or panels
    if not panels:
        raise InputError("--show: expected at least one result that is a number, got names alone")
    with style.styled():
        figure = Figure(figsize=(4.8 * min(len(panels), 2), 3.2 * ((len(panels) + 1) // 2)), layout="constrained")
        grid = figure.subplots((len(panels) + 1) // 2, min(len(panels), 2), squeeze=False)
        for axes, name in zip(grid.flat, panels, strict=False):
            _panel(axes, model, points, (x, curves, name))
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        if curves is not None:
            handles, labels = grid.flat[0].get_legend_handles_labels()
            title = model.parameters[curves]["short_name"].replace("_", " ")
            figure.legend(handles, labels, loc="outside right upper", title=title)
        figure.suptitle(f"{model.name}: {model.summary}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)


def _axes_of(model: Model, points: Sequence[Mapping[str, Any]]) -> tuple[str, str | None]:
    """Chooses the parameter for the axis, the one with most values, and the one for curves."""
    varied = {name: len({str(point["at"][name]) for point in points}) for name in points[0]["at"]}
    if not 1 <= len(varied) <= 2:
        raise InputError(f"--plot: expected one or two parameters with several values, got {len(varied)}")
    numbers = [name for name in varied if model.parameters[name].kind != "choice"]
    if not numbers:
        raise InputError(
            "--plot: expected several values of a parameter with numbers for the axis, got several names alone"
        )
    x = max(numbers, key=lambda name: varied[name])
    curves = next((name for name in varied if name != x), None)
    if curves is not None and varied[curves] > _MAX_CURVES:
        raise InputError(f"--plot: expected at most {_MAX_CURVES} curves, got {varied[curves]} values of {curves}")
    return x, curves


def _varies(points: Sequence[Mapping[str, Any]], name: str, curves: str | None) -> bool:
    """Whether any curve of a result is more than a level."""
    levels: dict[Any, set[float]] = {}
    for point in points:
        levels.setdefault(point["at"][curves] if curves is not None else None, set()).add(point["results"][name])
    return any(len(level) > 1 for level in levels.values())


def _panel(axes: Axes, model: Model, points: Sequence[Mapping[str, Any]], what: tuple[str, str | None, str]) -> None:
    x, curves, name = what
    groups: dict[Any, list[tuple[float, float]]] = {}
    for point in points:
        key = point["at"][curves] if curves is not None else None
        groups.setdefault(key, []).append((point["at"][x], point["results"][name]))
    xs = [place for group in groups.values() for place, _ in group]
    ys = [value for group in groups.values() for _, value in group]
    (x_scale, x_prefix), (y_scale, y_prefix) = _scale(model.parameters[x], xs), _scale(model.results[name], ys)
    for index, (key, group) in enumerate(groups.items()):
        group.sort()
        label = "" if curves is None else _value(model.parameters[curves], key)
        line = "-" if index < len(style.LINES) else "--"
        axes.plot(
            [place / x_scale for place, _ in group],
            [value / y_scale for _, value in group],
            line,
            color=style.LINES[index % len(style.LINES)],
            linewidth=1.4,
            marker="o" if len(group) < 30 else None,
            markersize=3,
            label=label,
        )
    if _grows_by_factors(xs):
        axes.set_xscale("log")
    elif model.parameters[x].kind.startswith("whole"):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(_label(model.parameters[x], x_prefix))
    axes.set_title(_label(model.results[name], y_prefix))
    if min(ys) >= 0:
        axes.set_ylim(bottom=0)


def _grows_by_factors(values: Sequence[float]) -> bool:
    ordered = sorted(set(values))
    if len(ordered) < 3 or ordered[0] <= 0 or ordered[-1] / ordered[0] < _LOGARITHMIC:
        return False
    # Equal steps are equal steps, however far they lead.
    return (ordered[1] - ordered[0]) < 0.5 * (ordered[-1] - ordered[-2])


def _scale(field: Mapping[str, Any], values: Sequence[float]) -> tuple[float, str]:
    if field["unit"] in ("", "packets"):
        return 1.0, ""
    largest = max(abs(value) for value in values)
    factor, prefix = next(((f, p) for f, p in PREFIXES if largest >= f), (1.0, ""))
    return (1.0, "") if field["unit"] == "s" and factor > 1 else (factor, prefix)


def _label(field: Mapping[str, Any], prefix: str) -> str:
    name = field["short_name"].replace("_", " ")
    return f"{name} ({prefix}{field['unit']})" if field["unit"] not in ("", "packets") else name


def _value(field: Mapping[str, Any], value: Any) -> str:
    if value is None:
        return "no limit"
    if isinstance(value, str):
        return value
    scale, prefix = _scale(field, [value])
    return f"{value / scale:g} {prefix}{field['unit']}".strip() if field["unit"] != "packets" else f"{value:g}"
