"""The time line of one run: congestion window, queues, beacons and triggers, and radio states over one time axis.

The layout follows figure 3 of the BA-TA paper (document 001), top to bottom along the path of a packet. The left column
is the whole run, the right one a few beacon intervals of it, where single beacons, triggers and frames show. What
is denser than the picture's dots is drawn as the lowest to the highest value of each dot, and radio states as their
shares of each dot: nothing is left out by sampling.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from airwatt._documents import RunResult
from airwatt.plots import style
from airwatt.timelines import labelled

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.float64]
Series = tuple[Numbers, Numbers]

_DOTS = 900
_ZOOM_S = 0.5
_MOST_STATIONS = 6
_MOST_FLOWS = 6
# Both ways between awake and asleep cost energy and serve nothing: one colour.
_TRANSITIONS = {"to-sleep": "transition", "wake-up": "transition"}
# In the order in which packets towards a station meet them, and the one of their acknowledgements.
_QUEUES = {
    "wired down": "DSLAM\nqueue\n(packets)",
    "power save": "power-save\nbuffers\n(packets)",
    "access point": "access point\nqueue\n(packets)",
    "wired up": "modem\nqueue\n(packets)",
    "link down": "link down\nqueue\n(packets)",
    "link up": "link up\nqueue\n(packets)",
}


def draw(result: RunResult, traces: Mapping[str, "pa.Table"], path: Path) -> None:
    """Draws the traces of a run. Raises `OSError`."""
    end = max(result.simulated_s, 1e-6)
    whole = (0.0, end)
    states = traces["radio_states"]
    zoom = _zoom(end, _seconds(states)[_values(states["state"]) == "transmit"])
    windows = _by(traces["congestion_window"], "flow", "congestion_window_bytes", 1e-3, part="connection")
    recorded = _by(traces["queues"], "queue", "packets")
    labels = _queues_of(result)
    queues = {name: recorded[name] for name in labels if name in recorded and _matters(recorded[name])}
    radios = _states(traces["radio_states"])
    shown = list(radios)[:_MOST_STATIONS]
    # As tables call them: by number where nobody gave them a name.
    names = {str(one.id): one.name for one in result.stations if one.name != f"station{one.id}"}
    adapted = {names.get(one, one): lines for one, lines in _adaptations(traces["adaptations"]).items()}
    signals = _signals_of(traces)
    # Without a cell there is nothing to signal, and no telling what a radio did when.
    lanes = 1 if shown else 0
    control = 2 if adapted else 0
    # In an emulation windows are the kernels' own.
    opened = 1 if windows else 0
    rows = opened + len(queues) + control + lanes + len(shown)
    heights = [*([1.5] * opened), *([1.0] * (len(queues) + control)), *([0.55] * lanes), *([0.45] * len(shown))]
    with style.styled():
        figure = Figure(figsize=(11, 1.3 + 0.95 * sum(heights)), layout="constrained")
        grid = figure.subplots(rows, 2, sharex="col", height_ratios=heights, width_ratios=[2.1, 1], squeeze=False)
        for column, span in enumerate((whole, zoom)):
            axes = list(grid[:, column])
            if windows:
                _levels(axes[0], dict(list(windows.items())[:_MOST_FLOWS]), span, "congestion\nwindow\n(kB)")
            for panel, (name, level) in zip(axes[opened:], queues.items(), strict=False):
                _levels(panel, {name: level}, span, labels[name], fill=True)
            below = axes[opened + len(queues) :]
            if control:
                _control(below[0], below[1], adapted, span)
            if shown:
                _signals(below[control], signals, span)
            for panel, station in zip(below[control + lanes :], shown, strict=True):
                _radio(panel, radios[station], span, end, names.get(station, station))
            for panel in axes if column == 1 else ():
                legend = panel.get_legend()
                if legend is not None:
                    legend.remove()
            axes[-1].set_xlabel("time (s)" if "realtime" in result else "simulated time (s)")
            axes[-1].set_xlim(*span)
            for panel in axes:
                panel.grid(axis="x", visible=True)
                if column == 1:
                    panel.set_ylabel("")
        grid[0, 0].set_title("the whole run")
        grid[0, 1].set_title(f"{1000 * (zoom[1] - zoom[0]):.0f} ms of it")
        handles = [Patch(color=colour, label=state) for state, colour in style.STATES.items()]
        if shown:
            figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=1.2)
        figure.suptitle(_title(result, len(shown), len(radios)), x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.align_ylabels(grid[:, 0])
        style.save(figure, path)


def _queues_of(result: RunResult) -> dict[str, str]:
    """The labels of queues. A link with a name of its own is none of the DSL lines that the short form describes."""
    wire = next((link.name for link in result.get("links") or () if link.kind == "wire"), "wire")
    if wire == "wire":
        return _QUEUES
    ways = {"wired down": "forward", "wired up": "reverse"}
    return {**_QUEUES, **{name: f"{wire}\n{way} queue\n(packets)" for name, way in ways.items()}}


def _zoom(end: float, transmissions: Numbers) -> tuple[float, float]:
    """The time of the right column: two thirds in, past slow start and before the end, or around a transmission.

    A station that reports each 30 s sends nothing in most times of this length.
    """
    last = max(0.0, end - _ZOOM_S)
    start = min(0.66 * end, last)
    if len(transmissions) and not ((start <= transmissions) & (transmissions < start + _ZOOM_S)).any():
        nearest = transmissions[np.argmin(np.abs(transmissions - start))]
        # It may be the last one of an exchange.
        first = transmissions[transmissions > nearest - 0.8 * _ZOOM_S].min()
        start = min(max(0.0, float(first) - 0.1 * _ZOOM_S), last)
    return start, min(end, start + _ZOOM_S)


def _adaptations(table: "pa.Table") -> dict[str, dict[str, Series]]:
    """By station, the lines of its controller: interval in ms, rates in Mb/s."""
    stations = _values(table["station"])
    time = _seconds(table)
    lines: dict[str, dict[str, Series]] = {}
    for station in list(dict.fromkeys(stations))[:_MOST_STATIONS]:
        own = stations == station
        scales = {"interval_ns": 1e-6, "peak_rate_bps": 1e-6, "throughput_bps": 1e-6, "active": 1.0}
        lines[str(station)] = {
            name: (time[own], scale * table[name].to_numpy(zero_copy_only=False)[own].astype(np.float64))
            for name, scale in scales.items()
        }
    return lines


def _control(
    intervals: Axes, rates: Axes, stations: Mapping[str, Mapping[str, Series]], span: tuple[float, float]
) -> None:
    """The trigger interval, with a band where the station is in active mode; measured and estimated rates."""
    _levels(
        intervals,
        {name: lines["interval_ns"] for name, lines in stations.items()},
        span,
        "interval\n(ms)",
        kind="station",
    )
    if len(stations) == 1:
        (lines,) = stations.values()
        time, active = lines["active"]
        edges, on = np.append(time, span[1]), np.append(active, active[-1]) > 0
        band = intervals.get_xaxis_transform()
        intervals.fill_between(edges, 0, 1, where=on, step="post", transform=band, color=style.VERMILION, alpha=0.15)
        shown = {"estimated peak": lines["peak_rate_bps"], "throughput": lines["throughput_bps"]}
        _levels(rates, shown, span, "rates\n(Mb/s)", kind="")
    else:
        shown = {name: lines["throughput_bps"] for name, lines in stations.items()}
        _levels(rates, shown, span, "throughput\n(Mb/s)", kind="station")


def _title(result: RunResult, shown: int, stations: int) -> str:
    policies = dict.fromkeys(station.policy for station in result.stations)
    rest = f", {shown} of {stations} stations" if shown < stations else ""
    return f"{result.scenario}, {', '.join(policies)}, seed {result.seed}{rest}"


def _matters(level: tuple[Numbers, Numbers]) -> bool:
    """Whether a queue was ever more than passed through: else its panel would be an empty one."""
    return bool(level[1].max(initial=0.0) > 1)


def _by(
    table: "pa.Table", key: str, value: str, scale: float = 1.0, part: str | None = None
) -> dict[str, tuple[Numbers, Numbers]]:
    """Splits a trace of levels into one series a name, and `part` of it, in the order of their first appearance."""
    names = _values(table[key])
    if part in table.column_names:
        parts = _values(table[part])
        names = np.asarray([f"{name}.{one}" if one else name for name, one in zip(names, parts, strict=True)], object)
    time, level = _seconds(table), scale * table[value].to_numpy().astype(np.float64)
    return {str(name): (time[names == name], level[names == name]) for name in dict.fromkeys(names)}


def _values(column: "pa.ChunkedArray") -> NDArray[Any]:
    """The values of a column, each text once: one of its own for each of millions takes gigabytes."""
    indices, different = labelled(column)
    values: NDArray[Any] = np.asarray(different, dtype=object)[indices]
    return values


def _seconds(table: "pa.Table") -> Numbers:
    seconds: Numbers = table["time_ns"].to_numpy() / 1e9
    return seconds


def _states(table: "pa.Table") -> dict[str, tuple[Numbers, list[str]]]:
    names = _values(table["station"])
    states = _values(table["state"])
    for state, shown in _TRANSITIONS.items():
        states[states == state] = shown
    time = _seconds(table)
    return {str(name): (time[names == name], list(states[names == name])) for name in dict.fromkeys(names)}


def _levels(
    axes: Axes,
    series: Mapping[str, tuple[Numbers, Numbers]],
    span: tuple[float, float],
    label: str,
    fill: bool = False,
    kind: str = "flow",
) -> None:
    """Draws step lines; where there are more steps than dots, the band that they cover."""
    top = 0.0
    for colour, (name, (time, level)) in zip(style.LINES, series.items(), strict=False):
        envelope = _envelope(time, level, span)
        if envelope is None:
            continue
        dots, low, high = envelope
        top = max(top, float(np.nanmax(high)))
        if fill:
            axes.fill_between(dots, 0, high, step="post", color=colour, alpha=0.18, linewidth=0)
        axes.fill_between(dots, low, high, step="post", color=colour, alpha=0.45, linewidth=0)
        axes.plot(dots, high, drawstyle="steps-post", color=colour, linewidth=0.9, label=f"{kind} {name}".strip())
    axes.set_ylim(0, 1.08 * top or 1.0)
    axes.set_ylabel(label, rotation=0, ha="right", va="center")
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    if len(series) > 1:
        axes.legend(ncols=3, loc="lower right" if not kind else "upper right")


def _envelope(time: Numbers, level: Numbers, span: tuple[float, float]) -> tuple[Numbers, Numbers, Numbers] | None:
    """Gives times, lowest and highest level: the steps themselves, or one pair a dot."""
    first = max(int(np.searchsorted(time, span[0], side="right")) - 1, 0)
    last = int(np.searchsorted(time, span[1], side="right"))
    time, level = time[first:last], level[first:last]
    if len(time) == 0:
        return None
    time = np.clip(time, *span)
    if len(time) <= 2 * _DOTS:
        return np.append(time, span[1]), np.append(level, level[-1]), np.append(level, level[-1])
    edges = np.linspace(*span, _DOTS + 1)
    starts = np.searchsorted(time, edges[:-1], side="left")
    low, high = np.empty(_DOTS), np.empty(_DOTS)
    for dot, start in enumerate(starts):
        stop = starts[dot + 1] if dot + 1 < _DOTS else len(level)
        # The level that a dot begins with belongs to it as well.
        covered = level[max(start - 1, 0) : max(stop, 1)]
        low[dot], high[dot] = covered.min(), covered.max()
    return edges[:-1], low, high


def _signals_of(traces: Mapping[str, "pa.Table"]) -> dict[str, Numbers]:
    """Times of beacons, and of all stations' requests for buffered frames: triggers and polls, not mode switches."""
    kinds = _values(traces["triggers"]["kind"])
    asked = (kinds == "trigger") | (kinds == "ps-poll")
    return {"beacons": _seconds(traces["beacons"]), "triggers": _seconds(traces["triggers"])[asked]}


def _signals(axes: Axes, signals: Mapping[str, Numbers], span: tuple[float, float]) -> None:
    """Beacons and triggers as a rug of ticks, one lane each."""
    for lane, (time, colour) in enumerate(zip(signals.values(), (style.INK, style.VERMILION), strict=True)):
        ticks = time[(time >= span[0]) & (time <= span[1])]
        # Many ticks become a tint rather than a solid bar.
        width = 0.9 if len(ticks) < 200 else 0.35
        axes.vlines(ticks, lane + 0.12, lane + 0.88, color=colour, linewidth=width)
    axes.set_ylim(len(signals), 0)
    axes.set_yticks([0.5 + lane for lane in range(len(signals))], list(signals))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _radio(
    axes: Axes, states: tuple[Numbers, Sequence[str]], span: tuple[float, float], end: float, station: str
) -> None:
    """Radio states as shares of each dot: pure colours where states last, mixed heights where they change fast."""
    time, names = states
    knots = np.append(time, max(end, float(time[-1])))
    durations = np.diff(knots)
    edges = np.linspace(*span, _DOTS + 1)
    base = np.zeros(_DOTS + 1)
    for state, colour in style.STATES.items():
        of_state = np.array([name == state for name in names], dtype=np.float64)
        spent = np.concatenate([[0.0], np.cumsum(durations * of_state)])
        share = np.diff(np.interp(edges, knots, spent)) / (edges[1] - edges[0])
        upper = base + np.append(share, share[-1])
        axes.fill_between(edges, base, upper, step="post", color=colour, linewidth=0)
        base = upper
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.set_ylabel(f"radio of\nstation {station}", rotation=0, ha="right", va="center")
    axes.grid(axis="y", visible=False)
