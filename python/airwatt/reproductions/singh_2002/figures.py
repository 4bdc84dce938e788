"""Forms that the figures share: curves of three TCPs over round-trip times, their table, picture and orders."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from airwatt.reproductions import claims
from airwatt.reproductions.publication import Claim, Lines, Outcome, Panel, Reproduction, Results, Table
from airwatt.reproductions.series import Series
from airwatt.reproductions.singh_2002.setup import LABELS, NAMES, Curve
from airwatt.statistics import mean_ci95

Curves = Mapping[str, Curve]
"""By the transport."""

Found = Callable[[str, Results], list[Claim]]
"""Gives the claims of a reproduction, for the id that they begin with."""

EQUAL = 0.05
"""Means within this share of the larger one are equal (table 7)."""


def figure(
    place: str,
    shows: str,
    sets: Sequence[Curves],
    whats: Sequence[str],
    found: Found | None = None,
    *,
    panels: Sequence[Panel] = (),
    by: Sequence[str] = ("transport", "mtu"),
    notes: Sequence[str] = (),
) -> Reproduction:
    """Quantities of sets of curves over round-trip times, a panel for each quantity unless `panels` has others."""
    curves = [curve for one in sets for curve in one.values()]
    points = tuple(dict.fromkeys(point for curve in curves for point in curve.points()))

    def compute(item: Reproduction, results: Results) -> Outcome:
        series = [curve.series(results, what) for what in whats for curve in curves]
        values = [value for one in series for value in one.values()]
        tables = [_table(one, whats, results) for one in sets]
        judged = found(f"singh-2002/{item.place}", results) if found else []
        return Outcome(values, judged, tables, notes=list(notes))

    shown = tuple(panels) or tuple(Panel(what, LABELS[what]) for what in whats)
    picture = Lines(shown[0].what, "rtt_ms", by, "round-trip time (ms)", "", scale="linear", panels=shown)
    return Reproduction(place, shows, compute, points, picture)


def _table(curves: Curves, whats: Sequence[str], results: Results) -> Table:
    """The means of each quantity, a row for each round-trip time, a column for each TCP."""
    first = next(iter(curves.values()))
    title = ", ".join(
        f"{key.removesuffix('_percent')} {value:g} %" for key, value in first.at.items() if "percent" in key
    )
    rows = []
    for what in whats:
        series = [curve.series(results, what) for curve in curves.values()]
        for place, rtt in enumerate(series[0].xs):
            cells = [claims.number(one.mean(rtt)) for one in series]
            rows.append([what if place == 0 else "", f"{rtt:g}", *cells])
    heads = ["", "RTT (ms)", *(NAMES[transport] for transport in curves)]
    return Table(heads, rows, f"{first.mtu} bytes{', ' + title if title else ''}")


def series(curves: Curves, results: Results, what: str) -> dict[str, Series]:
    """One quantity of every curve."""
    return {transport: curve.series(results, what) for transport, curve in curves.items()}


def averages(curves: Curves, results: Results, what: str) -> dict[str, list[float]]:
    """The mean over round-trip times of every curve, by the name of the TCP, for each seed."""
    return {NAMES[transport]: one.average() for transport, one in series(curves, results, what).items()}


def mean(samples: Sequence[float]) -> float:
    """The mean over the seeds."""
    return mean_ci95(list(samples))[0]


def extreme(
    id_: str, curves: Curves, results: Results, what: str, where: str, *, highest: bool = False, slight: bool = False
) -> list[Claim]:
    """SACK has the lowest, or highest, average of the three."""
    found = averages(curves, results, what)
    claimed = []
    for other in ("Reno", "NewReno"):
        ends = (other, "SACK") if highest else ("SACK", other)
        text = f"{what}, {where}: SACK {'above' if highest else 'below'} {other}"
        order = {name: found[name] for name in ends}
        claimed.append(claims.ascending(f"{id_}.{other.lower()}", text, order, slight))
    return claimed


def rank(id_: str, text: str, found: Mapping[str, Sequence[float]], printed: str) -> Claim:
    """An order such as `S < N = R`: means in this order, equal ones within 5 %."""
    letters = {"S": "SACK", "N": "NewReno", "R": "Reno"}
    first, *rest = printed.split()
    verdicts = set()
    for sign, second in zip(rest[::2], rest[1::2], strict=True):
        one, other = (found[letters[letter]] for letter in (first, second))
        a, b = mean(one), mean(other)
        if sign == "=":
            verdicts.add("holds" if abs(a - b) <= EQUAL * max(abs(a), abs(b)) else "missed")
        else:
            verdicts.add(claims.order(one, other) if sign == "<" else claims.order(other, one))
        first = second
    verdict = claims.worst(verdicts)
    here = ", ".join(f"{name[0]} {claims.number(mean(found[name]))}" for name in letters.values())
    return claims.by_verdict(id_, text, printed, here, verdict, of=f"= within {100 * EQUAL:g} %")


def ranking(found: Mapping[str, Sequence[float]]) -> str:
    """The order of three means as table 7 writes it, neighbours within 5 % as equal."""
    ordered = sorted(found, key=lambda name: mean(found[name]))
    text = ordered[0][0]
    for low, high in pairwise(ordered):
        a, b = mean(found[low]), mean(found[high])
        text += f" {'=' if b - a <= EQUAL * b else '<'} {high[0]}"
    return text


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Pearson's coefficient."""
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    both = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    spread = math.fsum((x - mean_x) ** 2 for x in xs) * math.fsum((y - mean_y) ** 2 for y in ys)
    return both / math.sqrt(spread)
