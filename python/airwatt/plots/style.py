"""What all pictures share: light axes, 150 dpi, and colours that the colour-blind can tell apart (Okabe and Ito).

Pictures are `Figure`s that are saved without `pyplot`: they need no display, and a notebook keeps its own backend.
"""

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import matplotlib
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.text import Text

from airwatt._core import __version__
from airwatt.files import replacing
from airwatt.layout import printable

BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#8C8C8C",
)
LINES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
INK = "#222222"


def lines(count: int) -> Sequence[str]:
    """Colours of so many curves: those above, or a scale from dark to light where more are needed; none comes twice."""
    if count <= len(LINES):
        return LINES
    scale = matplotlib.colormaps["viridis"]
    return [to_hex(scale(0.92 * index / (count - 1))) for index in range(count)]


# Quantities that are no radio states, in colours that no radio state has.
THROUGHPUT, ENERGY, DELAY = "#4A5568", "#4A5568", "#4A5568"
# What stands at a place in time, or for one, and is neither a state nor a cause.
WRONG, BUFFERED = "#B0003A", "#B9C98A"

STATES = {
    "transmit": VERMILION,
    "receive": BLUE,
    "listen": ORANGE,
    "sleep": "#DDE3E8",
    "transition": PURPLE,
}
"""One colour a radio state, the same in every picture."""

CAUSES = {
    "packets of flows": "#332288",
    "tunnel": "#AA4499",
    "external": "#7F5FA8",
    "retransmission": "#661100",
    "contention": YELLOW,
    "service": SKY,
    "beacon": GREEN,
    "group": "#7FC9B1",
    "overhearing": "#C9A58C",
    "wake up": STATES["transition"],
    "timeout tail": "#8C6D1F",
    "scan": "#3F3F3F",
    "idle": GREY,
    "doze": STATES["sleep"],
}
"""One colour a cause of energy, in the order in which bars have them: the colours of a report's pages.

Waking up and dozing are states as well, and have the colours of those; no other cause has a colour of a state."""

DPI = 150

_SETTINGS: dict[str, Any] = {
    # A tick is the number that it stands at, also late in a capture.
    "axes.formatter.useoffset": False,
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same picture everywhere
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "airwatt",  # the same document gives the same file
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Applies the style without touching the caller's own settings."""
    # From the defaults: a matplotlibrc in the current folder would change pictures, or start TeX.
    with matplotlib.style.context(cast(Any, ["default", _SETTINGS])):
        yield


def number(value: float) -> str:
    """Three digits, as in 0.0123, 0.123, 1.50, 16.0, 1230."""
    if abs(value) < 0.1:
        return f"{value:.3g}"
    decimals = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{decimals}f}"


def value(axes: Axes, x: float, y: float, shown: float) -> None:
    """Writes a number beside the end of its bar."""
    axes.annotate(number(shown), (x, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)


def bare_y(axes: Axes) -> None:
    """For bars beside each other: the names on the left say all."""
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def state_shares(axes: Axes, rows: Sequence[Mapping[str, float]]) -> None:
    """Draws the share of time in each radio state, a bar a row, with labels for a legend."""
    left = [0.0] * len(rows)
    for state, colour in STATES.items():
        widths = [100 * row[state] / (sum(row.values()) or 1.0) for row in rows]
        axes.barh(range(len(rows)), widths, left=left, height=0.62, color=colour, label=state)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlim(0, 100)
    axes.set_title("radio state (% of time)")
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)


def cause_bars(axes: Axes, rows: Sequence[Mapping[str, float]]) -> None:
    """Draws amounts by cause, a bar a row, with a legend below.

    On a logarithmic axis, on which lengths do not add up, causes share the drawn length of a bar as they
    share its amount.
    """
    totals = [sum(row.values()) for row in rows]
    is_log = axes.get_xscale() == "log"
    low = axes.get_xlim()[0]
    before = [0.0] * len(rows)

    def edges() -> list[float]:
        if not is_log:
            return list(before)
        ends = zip(before, totals, strict=True)
        return [low * (total / low) ** (part / total) if total > 0 else low for part, total in ends]

    for name in [*CAUSES, *sorted({name for row in rows for name in row} - CAUSES.keys())]:
        parts = [row.get(name, 0.0) for row in rows]
        left = edges()
        before = [sum(pair) for pair in zip(before, parts, strict=True)]
        widths = [end - start for start, end in zip(left, edges(), strict=True)]
        # What nobody could see has no place in the legend.
        wholes = totals if is_log else [max(totals, default=0.0)] * len(rows)
        is_seen = any(part >= 0.005 * whole > 0 for part, whole in zip(parts, wholes, strict=True))
        label = name if is_seen else None
        axes.barh(range(len(rows)), widths, left=left, height=0.62, color=CAUSES.get(name, GREY), label=label)
    # Below the labels of the axis, whatever its height: the distance is in font sizes.
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=2.2, ncols=3, handlelength=1.0)


def hides_small(values: Sequence[float]) -> bool:
    """Whether the largest value is 20 times the least above zero, which a linear axis would hide."""
    seen = [value for value in values if value > 0]
    return bool(seen) and max(seen) >= 20 * min(seen)


def logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """Makes the x axis of bars logarithmic. Bars begin at the decade below the least value above zero."""
    seen = [value for value in values if value > 0]
    axes.set_xscale("log")
    axes.set_xlim(10.0 ** (math.ceil(math.log10(min(seen))) - 1), 8 * max(seen))
    axes.xaxis.set_major_formatter("{x:g}")


def decades(axes: Axes, values: Sequence[float]) -> bool:
    """Makes the x axis logarithmic, and linear below 1, if the values above it span two decades; says whether."""
    seen = [value for value in values if value > 0]
    if not seen or max(seen) < 100 * max(min(seen), 0.1):
        return False
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_xlim(-0.1, 5 * max(seen))
    axes.xaxis.set_major_formatter("{x:g}")
    return True


def _make_printable(figure: Any) -> None:
    """Escapes what names from elsewhere have in them, which a font lacks and XML forbids."""
    for text in figure.findobj(Text):
        if text.get_text() != (shown := printable(text.get_text(), newlines=True)):
            text.set_text(shown)


def save(figure: Any, path: Path) -> None:
    """Replaces a file by a picture; raises `OSError`."""
    # A time stamp would make two equal runs differ.
    metadata = {
        ".png": {"Software": f"airwatt {__version__}"},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    kind = path.suffix.lower()
    _make_printable(figure)
    with warnings.catch_warnings(), replacing(path) as out:
        # A name in letters that the font lacks is shown with boxes; nobody has to be told.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format=kind.removeprefix("."), metadata=metadata[kind])
