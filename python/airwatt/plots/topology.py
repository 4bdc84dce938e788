"""The topology of a scenario: nodes from left to right as packets cross them, wires, channels, and who sends to whom.

Nodes that are connected form a row, in the order of their distance from its first node; nodes of equal distance stand
below each other. Groups of more than four like nodes are drawn as one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from airwatt.plots.style import GREY, INK, LINES, save, styled

_SHOWN = 4
"""Larger groups are drawn as one node."""
_FAN = 3
"""Of more stations than these the lines have no room for labels, which stand beside the stations."""
_HALF_BOX = 0.17
"""Half of a node's width in columns."""


@dataclass
class _Edge:
    ends: tuple[str, str]
    label: str
    colour: str
    wireless: bool
    in_fan: bool = False
    """Whether it is one of many lines from one node: its label stands beside its other end."""


@dataclass
class _Drawing:
    nodes: dict[str, str] = field(default_factory=dict)
    """The node that stands for each one."""
    captions: dict[str, str] = field(default_factory=dict)
    edges: list[_Edge] = field(default_factory=list)
    channels: dict[str, str] = field(default_factory=dict)
    """Colours by the caption of a channel."""
    hidden: set[frozenset[str]] = field(default_factory=set)
    """Pairs of stations that do not hear each other."""

    def resolve(self, names: str | Sequence[str]) -> Iterator[str]:
        """The drawn nodes of a name, a group, a range or a list."""
        for name in [names] if isinstance(names, str) else names:
            first, _, last = name.partition("..")
            if last:
                known = list(self.nodes)
                yield from dict.fromkeys(self.nodes[one] for one in known[known.index(first) : known.index(last) + 1])
            elif name in self.nodes:
                yield self.nodes[name]
            else:
                members = (one for one in self.nodes if one.removeprefix(name).isdigit() and one.startswith(name))
                yield from dict.fromkeys(self.nodes[one] for one in members)


def draw(name: str, general: Mapping[str, Any], path: Path) -> None:
    """Draws a scenario in the general form, as `Scenario.to_dict(expand=True)` gives it. Raises `OSError`."""
    drawing = _drawing(general)
    places = _places(drawing)
    columns = max((x for x, _ in places.values()), default=0) + 1
    rows = max((y for _, y in places.values()), default=0) + 1
    with styled():
        right = columns - (0.05 if any(edge.in_fan for edge in drawing.edges) else 0.45)
        figure = Figure(figsize=(max(4.5, 2.2 * (right + 0.45)), 0.95 + 0.8 * rows), layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(-0.55, right), ylim=(rows - 0.6, -0.75))
        axes.axis("off")
        for edge in drawing.edges:
            _draw_edge(axes, edge, places)
        for one, other in sorted(map(sorted, drawing.hidden)):
            _draw_edge(axes, _Edge((one, other), "hidden", GREY, True), places, linestyle=":")
        for node, (x, y) in places.items():
            axes.text(
                x,
                y,
                drawing.captions[node],
                ha="center",
                va="center",
                bbox={"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": INK},
                zorder=3,
            )
        for caption, colour in drawing.channels.items():
            axes.plot([], [], color=colour, linestyle="--", label=caption)
        if drawing.channels:
            axes.legend(loc="upper left", ncols=len(drawing.channels), borderaxespad=0.0)
        # A character of a title is 0.09 inches wide.
        flows = _flows(general)
        title = f"{name}: {flows}" if flows else name
        axes.set_title(textwrap.fill(title, int(figure.get_figwidth() / 0.09)))
        save(figure, path)


def _drawing(general: Mapping[str, Any]) -> _Drawing:
    drawing = _Drawing()
    for group in general.get("node", ()):
        count, first = group.get("count"), group.get("first", 0)
        members = [group["name"]] if count is None else [f"{group['name']}{first + one}" for one in range(count)]
        shown = members if len(members) <= _SHOWN else [members[0]] * len(members)
        drawing.nodes.update(zip(members, shown, strict=True))
        for one in dict.fromkeys(shown):
            drawing.captions[one] = one if shown == members else f"{members[0]} to\n{members[-1]}"
    for link in general.get("link", ()):
        one, other = (next(drawing.resolve(end)) for end in link["between"])
        wireless = link["kind"] == "point-to-point"
        rates = [link["rate"]] if wireless else [link["forward"]["rate"], link["reverse"]["rate"]]
        label = " / ".join(dict.fromkeys(map(str, rates)))
        drawing.edges.append(_Edge((one, other), f"{label}\n{link['delay']}", INK, wireless))
    for cell in general.get("cell", ()):
        _add_cell(drawing, cell)
    return drawing


def _add_cell(drawing: _Drawing, cell: Mapping[str, Any]) -> None:
    channel = cell.get("channel") or cell["wifi"].get("channel")
    caption = f"{cell['name']}" if channel is None else f"channel {channel}"
    colour = drawing.channels.setdefault(caption, LINES[len(drawing.channels) % len(LINES)])
    labels = {one: _sent(cell["wifi"], group) for group in cell["station"] for one in drawing.resolve(group["node"])}
    stations = list(labels)
    if "access_point" in cell:
        access_point = next(drawing.resolve(cell["access_point"]["node"]))
        pairs = [(access_point, one) for one in stations]
    elif "links" in cell:
        pairs = [(next(drawing.resolve(one)), next(drawing.resolve(other))) for one, other in cell["links"]]
    else:
        pairs = [(one, other) for index, one in enumerate(stations) for other in stations[index + 1 :]]
    for group in cell["station"]:
        others = list(drawing.resolve(group.get("hidden_from", ())))
        drawing.hidden |= {
            frozenset((one, other)) for one in drawing.resolve(group["node"]) for other in others if one != other
        }
    in_fan = "access_point" in cell and len(stations) > _FAN
    above = "" if in_fan else f"{cell['name']}\n"
    drawing.edges += [_Edge(pair, above + labels[pair[1]], colour, True, in_fan) for pair in pairs]


def _sent(wifi: Mapping[str, Any], station: Mapping[str, Any]) -> str:
    """Gives the mode or rate by which data frames of a station are sent: its own, else that of its cell."""
    of = station if station.keys() & {"mode", "data_rate"} else wifi
    mode = str(of["mode"] if "mode" in of else of["data_rate"]).replace(" GI", "\nGI")
    return mode if wifi.get("rate_control", "fixed") == "fixed" else f"{wifi['rate_control']}\nup to {mode}"


def _places(drawing: _Drawing) -> dict[str, tuple[int, int]]:
    """Column and row of each node: its distance from the first node of its row, and the first free row there."""
    neighbours: dict[str, list[str]] = {node: [] for node in drawing.captions}
    for edge in drawing.edges:
        one, other = edge.ends
        neighbours[one].append(other)
        neighbours[other].append(one)
    # Rows begin at servers: nodes with one neighbour come before others.
    order = sorted(drawing.captions, key=lambda node: len(neighbours[node]) > 1)
    places: dict[str, tuple[int, int]] = {}
    free_row = 0
    for start in order:
        if start in places:
            continue
        distances, queue, first_row = {start: 0}, [start], free_row
        used: dict[int, int] = {}
        for node in queue:
            column = distances[node]
            places[node] = (column, first_row + used.get(column, 0))
            used[column] = used.get(column, 0) + 1
            for other in neighbours[node]:
                if other not in distances:
                    distances[other] = column + 1
                    queue.append(other)
        free_row = first_row + max(used.values())
    return places


def _draw_edge(axes: Any, edge: _Edge, places: Mapping[str, tuple[int, int]], linestyle: str = "") -> None:
    (x, y), (end_x, to_y) = (places[end] for end in edge.ends)
    to_x = float(end_x)
    style = linestyle or ("--" if edge.wireless else "-")
    share = 0.5 if y == to_y else 0.65
    label, side = (x + share * (to_x - x), y + share * (to_y - y)), "center"
    if edge.in_fan and to_x > x:
        # A line that goes on to the middle of its station crosses those above.
        to_x -= _HALF_BOX
        label, side = (to_x + 2.2 * _HALF_BOX, to_y), "left"
    axes.plot([x, to_x], [y, to_y], color=edge.colour, linestyle=style, linewidth=1.6, zorder=1)
    # The labels of two or three lines from one node stand where these are apart.
    axes.text(
        *label,
        edge.label,
        ha=side,
        va="center",
        fontsize=7,
        color=edge.colour if edge.wireless else GREY,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        zorder=2,
    )


def _flows(general: Mapping[str, Any]) -> str:
    """Who sends to whom, the first flows of many."""

    def shown(names: str | Sequence[str]) -> str:
        if isinstance(names, str):
            return names
        return ", ".join(names) if len(names) <= _SHOWN else f"{names[0]} and {len(names) - 1} more"

    flows = [f"{shown(flow['from'])} to {shown(flow['to'])}" for flow in general["flow"]]
    more = len(flows) - _SHOWN
    return "; ".join(flows[:_SHOWN]) + (f"; {more} more" if more > 0 else "")
