"""Reproductions: curves with their 95 % intervals, or bars, with the printed numbers as diamonds where there are any.

Below them stands each claim, with what is printed and what came out: many are about averages or sums of the curves. A
picture is drawn from the result document alone, so that it cannot show what the document does not say.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from airwatt.plots import style
from airwatt.reproductions.claims import number
from airwatt.reproductions.engine import Finished
from airwatt.reproductions.publication import At, Bars, Claim, Lines, Value, tally

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_TRANSPORTS = {
    "none": "Tahoe",
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "e2tcp": "E2TCP",
    "prtp": "PRTP",
}
_FORMS = {
    "rate_mbps": "{:g} Mb/s",
    "delay_ms": "{:g} ms",
    "mean_gap_s": "a packet every {:g} s",
    "reliability": "{:g} %",
    "min_window": "smallest window {:g}",
    "max_window": "largest window {:g}",
    "after_timeout": "after a timeout {:g}",
    "error_limit": "error limit {:g}",
    "m": "m = {:g}",
    "q": "q = {:g}",
    "rtt_ms": "RTT {:g} ms",
    "delay_bound_ms": "delay below {:g} ms",
    "up_kbytes_per_s": "{:g} kB/s",
    "mtu": "{:g} bytes",
    "loss_percent": "{:g} % loss",
    "reorder_percent": "{:g} % reordered",
}
"""How parameters are said in a legend; others by their name."""
_SMOOTH = 20
"""With more points than this a curve has no marks."""
_LONGEST_LEGEND = 40
"""With more entries than this a legend has two columns."""
_MARGIN_INCHES = 0.1
_ALONE = "here"
"""What a legend calls the only curve of a picture."""
_LOW = 3
"""With more panels than this each is lower than its label is long, which then stands above it."""
_HEIGHT_INCHES = 4.4
"""The height of a picture with one panel."""
_ABOVE_INCHES = 0.75
_BELOW_INCHES = 0.6
_CLAIM_COLUMNS = (0.012, 0.085, 0.5, 0.75)
"""Where verdict, text, printed and own number of a claim begin, as shares of the width."""
_LETTER_INCHES = 0.056
_LINE_INCHES = 0.135
_HATCHES = ("", "/////", ".....", "xxxxx")
_DASHES = ("-", "--", ":", "-.")


def draw(item: Finished, path: Path) -> None:
    """Draws a finished reproduction that has a picture. Raises `OSError`."""
    picture = item.reproduction.picture
    with style.styled():
        units = _units(picture, item.outcome.values)
        several = picture.panels if isinstance(picture, Lines) else ()
        rows = len(several) or len(units)
        low = rows > _LOW
        # A fixed layout: a constrained one takes longer than all the drawing.
        height = _HEIGHT_INCHES + 1.3 * (rows - 1)
        figure = Figure(figsize=(8.4, height))
        panels = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
        figure.subplots_adjust(left=0.085, right=0.74, bottom=_BELOW_INCHES / height, top=1.0 - _ABOVE_INCHES / height)
        if low:
            figure.subplots_adjust(hspace=0.3)
        if isinstance(picture, Lines) and several:
            for axes, panel in zip(panels, several, strict=True):
                part = replace(picture, what=panel.what, where=(*picture.where, *panel.where))
                _lines(axes, part, item.outcome.values, item.outcome.published)
                if low:
                    axes.set_title(panel.y_label, loc="left", fontsize=8, pad=3.0)
                else:
                    axes.set_ylabel(panel.y_label)
                axes.label_outer()
        elif isinstance(picture, Lines):
            for axes, unit in zip(panels, units, strict=True):
                here, printed = (
                    [value for value in values if unit is None or value.unit == unit]
                    for values in (item.outcome.values, item.outcome.published)
                )
                _lines(axes, picture, here, printed)
                axes.set_ylabel(picture.y_label or f"in {unit}")
                axes.label_outer()
        elif isinstance(picture, Bars):
            _bars(panels[0], picture, item.outcome.values, item.outcome.published)
        _title(figure, item)
        make_room_for_legends(figure, panels)
        _claims(figure, item.outcome.claims)
        style.save(figure, path)


def _units(picture: Lines | Bars | None, values: Sequence[Value]) -> list[str | None]:
    """The units of a picture without a label of its own, one panel each; otherwise one panel for all."""
    if not isinstance(picture, Lines) or picture.y_label:
        return [None]
    return list(dict.fromkeys(value.unit for value in values if value.what == picture.what)) or [None]


def make_room_for_legends(figure: Figure, panels: Sequence[Axes]) -> None:
    """Puts legends to the right of their axes, and makes the figure as wide and as high as they need.

    Panels with the same curves have one legend, at the first; a single curve with nothing beside it has none.
    """
    labels = [axes.get_legend_handles_labels()[1] for axes in panels]
    boxes = []
    for index, (axes, mine) in enumerate(zip(panels, labels, strict=True)):
        if mine in ([], [_ALONE]) or (index and mine == labels[0]):
            continue
        columns = 2 if len(mine) > _LONGEST_LEGEND else 1
        legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, ncols=columns)
        boxes.append(legend.get_window_extent())
    if not boxes:
        figure.subplots_adjust(right=0.97)
        return
    width, height = figure.get_size_inches()
    frame = figure.subplotpars
    wider = max(0.0, max(box.x1 for box in boxes) / figure.dpi + _MARGIN_INCHES - width)
    higher = max(0.0, _MARGIN_INCHES - min(box.y0 for box in boxes) / figure.dpi)
    if wider or higher:
        figure.set_size_inches(width + wider, height + higher)
        # The axes keep their width and their distances from the edges.
        figure.subplots_adjust(
            left=frame.left * width / (width + wider),
            right=frame.right * width / (width + wider),
            bottom=frame.bottom * height / (height + higher),
            top=1.0 - (1.0 - frame.top) * height / (height + higher),
        )
        for text in figure.texts:
            x, y = text.get_position()
            from_right = text.get_horizontalalignment() == "right"
            x = 1.0 - (1.0 - x) * width / (width + wider) if from_right else x * width / (width + wider)
            text.set_position((x, 1.0 - (1.0 - y) * height / (height + higher)))


def _title(figure: Figure, item: Finished) -> None:
    height = figure.get_size_inches()[1]
    first, second = 1.0 - 0.2 / height, 1.0 - 0.42 / height
    figure.text(0.012, first, item.id, fontsize=11, fontweight="bold", va="center")
    figure.text(0.012, second, item.reproduction.shows, fontsize=9, va="center")
    total = tally(item.outcome.claims)
    judged = total.claims - total.undecidable
    missed = total.missed + total.strict_ties
    if item.outcome.claims:
        parts = [f"{judged - missed} of {judged} claims hold"] if judged else []
        parts += [f"{total.tie} ties"] if total.tie else []
        parts += [f"{total.undecidable} undecidable"] if total.undecidable else []
        parts += [f"{total.calibrated_holds} of {total.calibrated} calibrated hold"] if total.calibrated else []
        held = ", ".join(parts)
        colour = style.VERMILION if missed else style.GREEN
        figure.text(0.988, first, held, fontsize=9, va="center", ha="right", color=colour)


def _claims(figure: Figure, claims: Sequence[Claim]) -> None:
    """Lists claims in a strip below the axes: the verdict, what is claimed, what is printed, what came out."""
    width, height = figure.get_size_inches()
    columns = [int((right - left) * width / _LETTER_INCHES) - 2 for left, right in pairwise((*_CLAIM_COLUMNS, 1.0))]
    rows = []
    for claim in claims:
        cells = [
            "open" if claim.verdict == "undecidable" else claim.verdict,
            claim.text,
            f"printed {claim.amount('paper', number)}",
            f"here {claim.amount('here', number)}",
        ]
        rows.append([textwrap.wrap(cell, columns) for cell, columns in zip(cells, columns, strict=True)])
    lines = sum(max(map(len, row)) for row in rows)
    if not lines:
        return
    strip = lines * _LINE_INCHES + _MARGIN_INCHES
    _extend_below(figure, strip)
    line = _LINE_INCHES / (height + strip)
    y = strip / (height + strip)
    for claim, row in zip(claims, rows, strict=True):
        colour = style.GREEN if claim.holds else style.VERMILION
        for left, cell, ink in zip(_CLAIM_COLUMNS, row, (colour, style.INK, style.INK, style.INK), strict=True):
            figure.text(left, y, "\n".join(cell), fontsize=7, color=ink, va="top", linespacing=1.25)
        y -= max(map(len, row)) * line


def _extend_below(figure: Figure, inches: float) -> None:
    """Makes the figure higher; whatever it has keeps its size, and its distance from the upper edge."""
    width, height = figure.get_size_inches()
    share = height / (height + inches)
    frame = figure.subplotpars
    figure.set_size_inches(width, height + inches)
    figure.subplots_adjust(bottom=1.0 - (1.0 - frame.bottom) * share, top=1.0 - (1.0 - frame.top) * share)
    for text in figure.texts:
        text.set_y(1.0 - (1.0 - text.get_position()[1]) * share)


def _groups(values: Sequence[Value], what: str, by: Sequence[str]) -> dict[tuple[str | float, ...], list[Value]]:
    groups: dict[tuple[str | float, ...], list[Value]] = {}
    for value in values:
        if value.what == what and all(key in value.at for key in by):
            groups.setdefault(tuple(value.at[key] for key in by), []).append(value)
    return groups


def _belongs(value: Value, picture: Lines) -> bool:
    return all(value.at.get(key) == part for key, part in picture.where)


def _name(by: Sequence[str], key: Sequence[str | float]) -> str:
    """What the legend calls a curve: `2 Mb/s`, `Tahoe, 50 ms`."""
    parts = []
    for name, part in zip(by, key, strict=True):
        if isinstance(part, str):
            parts.append(_TRANSPORTS.get(part, part))
        else:
            parts.append(_FORMS.get(name, f"{name} {{:g}}").format(part))
    return ", ".join(parts)


def _lines(axes: Axes, picture: Lines, values: Sequence[Value], published: Sequence[Value]) -> None:
    values, published = ([v for v in some if _belongs(v, picture)] for some in (values, published))
    groups = _groups(values, picture.what, picture.by)
    # The first parameter has the colours, the second, if there is one, the dashes.
    firsts = list(dict.fromkeys(key[:1] for key in groups))
    seconds = list(dict.fromkeys(key[1:] for key in groups))
    places: list[float] = []
    for key, curve in groups.items():
        if any(picture.x not in value.at for value in curve):
            continue
        xs = [float(value.at[picture.x]) for value in curve]
        index = firsts.index(key[:1])
        colour = style.lines(len(firsts))[index]
        # Each colour is thinner than the one before, so that curves that coincide all show.
        above = (len(firsts) - 1 - index) / max(len(firsts) - 1, 1)
        axes.errorbar(
            xs,
            [value.value for value in curve],
            yerr=[value.ci95 or 0.0 for value in curve] if any(value.ci95 for value in curve) else None,
            color=colour,
            linestyle=_DASHES[seconds.index(key[1:]) % len(_DASHES)],
            marker=_MARKERS[index % len(_MARKERS)] if len(curve) <= _SMOOTH else None,
            markersize=3.4 + 2.2 * above,
            linewidth=1.2 + 1.2 * above,
            elinewidth=0.9,
            capsize=2,
            label=_name(picture.by, key) or _ALONE,
        )
        places += xs
    _published_points(axes, picture, groups, firsts, published)
    if picture.scale != "linear":
        axes.set_xscale("log")
    if picture.scale == "places":
        axes.xaxis.set_major_locator(FixedLocator(sorted(set(places))))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
    if picture.falling:
        axes.invert_xaxis()
    if picture.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ScalarFormatter())
    else:
        _show_zero(axes)
    axes.set_xlabel(picture.x_label)


def _show_zero(axes: Axes) -> None:
    """Extends the axis to zero, with room above the highest curve."""
    low, high = axes.get_ylim()
    bottom, highest = min(0.0, low), float(axes.dataLim.y1)
    flat = bool(axes.dataLim.y0 == highest == 0.0)
    axes.set_ylim(0.0 if flat else bottom, 1.0 if flat else max(high, highest + 0.04 * (highest - bottom)))


def _published_points(
    axes: Axes,
    picture: Lines,
    groups: dict[tuple[str | float, ...], list[Value]],
    firsts: list[tuple[str | float, ...]],
    published: Sequence[Value],
) -> None:
    label: str | None = "published"
    for key, marks in _groups(published, picture.what, picture.by).items():
        marks = [mark for mark in marks if picture.x in mark.at]
        if key not in groups or not marks:
            continue
        axes.plot(
            [float(mark.at[picture.x]) for mark in marks],
            [mark.value for mark in marks],
            linestyle="none",
            marker="D",
            markersize=7,
            markerfacecolor="none",
            markeredgewidth=1.4,
            markeredgecolor=style.lines(len(firsts))[firsts.index(key[:1])],
            label=label,
        )
        label = None


def _bars(axes: Axes, picture: Bars, values: Sequence[Value], published: Sequence[Value]) -> None:
    groups = _groups(values, picture.what, picture.by)
    places = list(dict.fromkeys(v.at[picture.group] for members in groups.values() for v in members if _in(picture, v)))
    printed = _groups(published, picture.what, picture.by)
    width = 0.8 / max(len(groups), 1)
    label: str | None = "published"
    for index, (key, members) in enumerate(groups.items()):
        offset = (index - (len(groups) - 1) / 2) * width
        shown = [value for value in members if _in(picture, value)]
        xs = [places.index(value.at[picture.group]) + offset for value in shown]
        axes.bar(
            xs,
            [value.value for value in shown],
            width=0.92 * width,
            yerr=[value.ci95 or 0.0 for value in shown],
            color=style.LINES[index % len(style.LINES)],
            # Colours come again with hatches.
            hatch=_HATCHES[index // len(style.LINES) % len(_HATCHES)],
            edgecolor="white",
            linewidth=0,
            error_kw={"elinewidth": 0.9, "capsize": 2, "ecolor": style.INK},
            label=_name(picture.by, key),
        )
        marks = [mark for mark in printed.get(key, []) if mark.at.get(picture.group) in places and _in(picture, mark)]
        if marks:
            axes.plot(
                [places.index(mark.at[picture.group]) + offset for mark in marks],
                [mark.value for mark in marks],
                linestyle="none",
                marker="D",
                markersize=6,
                markerfacecolor="white",
                markeredgecolor=style.INK,
                label=label,
            )
            label = None
    axes.set_xticks(range(len(places)), [_tick(picture.group, place) for place in places])
    if all(isinstance(place, float | int) for place in places):
        axes.set_xlabel(picture.group)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(picture.y_label)


def _in(picture: Bars, value: Value) -> bool:
    """Values that carry a further parameter, as an average over another set, belong to the document, not the bars."""
    named: At = value.at
    return picture.group in named and "over" not in named


def _tick(group: str, place: str | float) -> str:
    if isinstance(place, float | int):
        return f"{place:g}"
    name = _TRANSPORTS.get(place, place) if group == "transport" else place
    return f"scenario {place}" if group == "error" else textwrap.fill(name, 16)
