"""A measured current over the predicted one: the whole trace, one beacon, one exchange, and the largest difference."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from airwatt.plots import style

_LANE = (-0.09, 0.07)
"""Bottom and height of the lane of states, as shares of the panel."""


def draw(document: Mapping[str, Any], path: Path) -> None:
    """Draws the current of an analysis that has windows. Raises `OSError`."""
    current = document["current"]
    windows = current["windows"]
    with style.styled():
        figure = Figure(figsize=(11, 3.4 * len(windows)), layout="constrained")
        panels = figure.subplots(len(windows), 1, squeeze=False)[:, 0]
        for axes, window in zip(panels, windows, strict=True):
            _window(axes, window)
        panels[0].legend(loc="upper right", frameon=False)
        states = {name: colour for name, colour in style.STATES.items() if name != "transition"}
        states["wake-up, to sleep"] = style.STATES["transition"]
        lane = [Patch(color=colour, label=name) for name, colour in states.items()]
        figure.legend(handles=lane, loc="outside lower center", ncols=len(lane), handlelength=1.0)
        name = Path(current["file"]).name
        title = f"{name} beside {current['prediction']}, {document['radio']}: {1e3 * current['mean_a']:.3g} mA measured"
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)


def _window(axes: Axes, window: Mapping[str, Any]) -> None:
    """Both curves as steps, in milliseconds where the window is short, over the lane of predicted states."""
    is_short = window["until_s"] - window["from_s"] < 1.0
    scale, unit = (1e3, "ms") if is_short else (1.0, "s")
    origin_s = window["from_s"] if is_short else 0.0
    end = scale * (window["until_s"] - origin_s)
    times = [scale * (point[0] - origin_s) for point in window["measured"]]
    means, lows, highs = ([1e3 * point[index] for point in window["measured"]] for index in (1, 2, 3))
    predicted = [1e3 * value for value in window["predicted_mean_a"]]
    if times:
        times, means, lows, highs, predicted = (
            [*values, last]
            for values, last in zip(
                (times, means, lows, highs, predicted),
                (end, means[-1], lows[-1], highs[-1], predicted[-1]),
                strict=True,
            )
        )
        axes.fill_between(times, lows, highs, step="post", color=style.GREY, alpha=0.35, linewidth=0)
        axes.step(
            times, predicted, where="post", color=style.BLUE, linewidth=1.2, label="predicted, over the same times"
        )
        axes.step(times, means, where="post", color=style.INK, linewidth=1.0, label="measured")
    begin = f" from {window['from_s']:.4f} s" if is_short else ""
    axes.set_title(f"{window['what']}{begin} (mA over {unit})")
    axes.set_xlim(scale * (window["from_s"] - origin_s), end)
    axes.set_ylim(bottom=0)
    if not window["states"]:
        return
    lane = axes.inset_axes((0, *_LANE[:1], 1, _LANE[1]), sharex=axes)
    starts = [scale * (state[0] - origin_s) for state in window["states"]]
    for start, until, state in zip(starts, [*starts[1:], end], window["states"], strict=True):
        colour = style.STATES.get(state[1], style.STATES["transition"])
        lane.axvspan(start, until, color=colour, linewidth=0)
    lane.set_axis_off()
    axes.tick_params(axis="x", pad=18)
