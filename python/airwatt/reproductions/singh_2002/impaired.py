"""Bursts of loss and reordering: tables 4 and 5, figures 26 to 29."""

from airwatt.reproductions import claims
from airwatt.reproductions.publication import Claim, Panel, Results
from airwatt.reproductions.singh_2002.figures import averages, extreme, figure, mean
from airwatt.reproductions.singh_2002.setup import (
    LABELS,
    MTUS,
    REORDER_LOSSES,
    REORDERINGS,
    bursty,
    reordered,
)

BURSTY = bursty()
REORDERED = {
    (reorder, per_cent, mtu): reordered(reorder, per_cent, mtu)
    for reorder in REORDERINGS
    for per_cent in REORDER_LOSSES
    for mtu in MTUS
}
"""By reordering, loss and MTU."""
POINTS = tuple(
    point for curves in (BURSTY, *REORDERED.values()) for curve in curves.values() for point in curve.points()
)

_ALL = ("total", "idealized", "marginal", "goodput", "timeouts", "retransmitted")
_READ = {27: (1, 1, 1500), 28: (1, 1, 512)}
"""Reordering, loss and MTU of figures 27 and 28: their captions are the same; the MTU is taken for the difference."""


def _lowest(home: str, results: Results, number: int) -> list[Claim]:
    curves = REORDERED[_READ[number]]
    return [
        claim
        for what in ("total", "idealized")
        for claim in extreme(f"{home}.{what}", curves, results, what, f"{_READ[number][2]} bytes")
    ]


def _fig27(home: str, results: Results) -> list[Claim]:
    curves = REORDERED[_READ[27]]
    timeouts = averages(curves, results, "timeouts")
    resent = averages(curves, results, "retransmitted")
    found = _lowest(home, results, 27)
    text = "timeouts of SACK, mean over RTTs"
    found.append(claims.exactly(f"{home}.timeouts.sack", text, 0.0, mean(timeouts["SACK"])))
    text = "timeouts: NewReno fewer than Reno"
    found.append(
        claims.ascending(f"{home}.timeouts.reno", text, {name: timeouts[name] for name in ("NewReno", "Reno")})
    )
    text = "timeouts of NewReno, mean over RTTs: more than none"
    here = mean(timeouts["NewReno"])
    above = [([0.0] * len(timeouts["NewReno"]), timeouts["NewReno"])]
    found.append(claims.ordered(f"{home}.timeouts.newreno", text, "> 0", claims.number(here), above))
    for other in ("NewReno", "Reno"):
        order = {name: resent[name] for name in ("SACK", other)}
        text = f"retransmissions: SACK fewer than {other}"
        found.append(claims.ascending(f"{home}.retransmitted.{other.lower()}", text, order))
    return found


def _fig28(home: str, results: Results) -> list[Claim]:
    return _lowest(home, results, 28)


_REORDER_PANELS = tuple(
    Panel("goodput", f"{LABELS['goodput']}\n{one:g} % reordered", (("reorder_percent", one),)) for one in REORDERINGS
)

TABLE4 = figure("tab4", "All quantities under bursts of loss", [BURSTY], _ALL)
TABLE5 = figure(
    "tab5",
    "All quantities under reordering and loss",
    list(REORDERED.values()),
    _ALL,
    by=("transport", "mtu", "loss_percent"),
    panels=tuple(
        Panel("total", f"{LABELS['total']}\n{one:g} % reordered", (("reorder_percent", one), ("mtu", 1500)))
        for one in REORDERINGS
    ),
)
FIG26 = figure(
    "fig26",
    "Bursts of 85 % loss: total and idealized energy, goodput",
    [BURSTY],
    ("total", "idealized", "goodput"),
    notes=["The published outcome is not known here."],
)
FIG27 = figure(
    "fig27",
    "1 % reordering, 1 % loss, 1500 bytes: total and idealized energy",
    [REORDERED[_READ[27]]],
    ("total", "idealized", "timeouts", "retransmitted"),
    _fig27,
    panels=(Panel("total", LABELS["total"]), Panel("idealized", LABELS["idealized"])),
)
FIG28 = figure(
    "fig28",
    "1 % reordering, 1 % loss, 512 bytes; 5 % reordering beside it",
    [REORDERED[_READ[28]], REORDERED[5, 1, 512], REORDERED[5, 1, 1500]],
    ("total", "idealized", "timeouts", "retransmitted"),
    _fig28,
    by=("transport", "mtu", "reorder_percent"),
    panels=(Panel("total", LABELS["total"]), Panel("idealized", LABELS["idealized"])),
    notes=["Claims are held against 512 bytes and 1 % reordering; 5 % is given beside it."],
)
FIG29 = figure(
    "fig29",
    "Goodput under reordering without loss",
    [REORDERED[reorder, 0, mtu] for reorder in REORDERINGS for mtu in MTUS],
    ("goodput",),
    panels=_REORDER_PANELS,
    notes=["The published outcome is not known here."],
)
