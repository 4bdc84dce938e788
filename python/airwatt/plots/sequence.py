"""Sequence numbers over time, of a connection in several captures: what was sent over the air and acknowledged.

Captures are those that airwatt writes (`Result.write_pcapng`), whose times begin with the run.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from airwatt import _core
from airwatt.plots import style

_SYN = 0x02


class Connection(NamedTuple):
    """The data of a connection from its larger sender, counted from its first byte, and their acknowledgements."""

    data: list[tuple[float, int]]
    repeated: list[tuple[float, int]]
    acknowledged: list[tuple[float, int]]


def connection(capture: Path) -> Connection:
    """The connection with the most data in a capture. Repeated is what comes below the highest number before it."""
    found = _core.tcp_segments(capture)
    sent: Counter[tuple[str, str]] = Counter()
    for _, source, destination, _, _, length, _ in found:
        sent[source, destination] += length
    if not sent:
        return Connection([], [], [])
    forward = max(sent, key=lambda ends: sent[ends])
    base = next(sequence + bool(flags & _SYN) for _, *ends, sequence, _, _, flags in found if tuple(ends) == forward)
    one = Connection([], [], [])
    end = 0
    for time_s, source, destination, sequence, acknowledgement, length, flags in found:
        if (source, destination) == forward and length > 0:
            place = (sequence - base) & 0xFFFFFFFF
            (one.data if place >= end else one.repeated).append((time_s, place))
            end = max(end, place + length)
        elif (destination, source) == forward and not flags & _SYN:
            one.acknowledged.append((time_s, (acknowledgement - base) & 0xFFFFFFFF))
    return one


def draw(title: str, captures: Mapping[str, Path], path: Path) -> None:
    """Draws the largest connection of each capture, one above the other, over one axis of time. Raises `OSError`."""
    with style.styled():
        figure = Figure(figsize=(9.6, 1.2 + 2.9 * len(captures)), layout="constrained")
        rows = figure.subplots(len(captures), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (name, capture) in zip(rows, captures.items(), strict=True):
            one = connection(capture)
            for points, label, colour, marker in (
                (one.data, "data", style.BLUE, "."),
                (one.acknowledged, "acknowledged", style.GREEN, "."),
                (one.repeated, "sent again", style.VERMILION, "x"),
            ):
                times, places = [point[0] for point in points], [point[1] / 1e3 for point in points]
                axes.plot(times, places, marker, color=colour, markersize=3, label=f"{label} ({len(points)})")
            axes.set_ylabel(f"{name}\nsequence number (kB)")
            axes.legend(loc="lower right")
        rows[-1].set_xlabel("time (s)")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)
