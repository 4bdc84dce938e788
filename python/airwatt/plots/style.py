"""What all pictures share: light axes, 150 dpi, and colours that the colour-blind can tell apart (Okabe and Ito)."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import matplotlib

from airwatt._core import __version__

matplotlib.use("Agg")  # draws into files; a display is not needed

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
INK, FAINT = "#222222", "#D0D0D0"

STATES = {
    "transmit": VERMILION,
    "receive": BLUE,
    "listen": ORANGE,
    "sleep": "#DDE3E8",
    "transition": PURPLE,
}
"""One colour a radio state, the same in every picture."""

DPI = 150

_SETTINGS: dict[str, Any] = {
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
    with matplotlib.rc_context(cast(Any, _SETTINGS)):
        yield


def save(figure: Any, path: Path) -> None:
    """Writes a picture; raises `OSError`."""
    # A time stamp would make two equal runs differ.
    metadata = {
        ".png": {"Software": f"airwatt {__version__}"},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    figure.savefig(path, metadata=metadata[path.suffix.lower()])
