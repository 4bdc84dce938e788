"""The two forms of the simulated results: a figure over good-state lengths, and a table of averages over them."""

from collections.abc import Callable, Mapping, Sequence

from airwatt.reproductions.e2tcp.setup import AVERAGED, GRID, RADIO, UNITS, Curve
from airwatt.reproductions.publication import (
    At,
    Bars,
    Claim,
    Lines,
    Outcome,
    Point,
    Reproduction,
    Results,
    Table,
    Value,
)
from airwatt.reproductions.series import Series, mean_text
from airwatt.statistics import mean_ci95

Curves = Mapping[str, Series]
"""By the names of the curves."""

ClaimsOf = Callable[[str, Curves, Results], list[Claim]]
"""Gives the claims of a figure, for the id that they begin with."""

Averages = Mapping[str, Mapping[str, Sequence[float]]]
"""By the scenario of errors and the name of the curve: the average over good states, for each seed."""

_LABELS = {
    "EO": "energy overhead (%)",
    "EE": "energy efficiency (%)",
    "DO": "data overhead (%)",
    "TO": "time overhead (%)",
    "throughput": "throughput (Mb/s)",
    "latency": "latency (ms)",
}
_WIDE = 4
"""With more curves than this a table has no room for intervals."""


def no_claims(_home: str, _curves: Curves, _results: Results) -> list[Claim]:
    """For figures of which nothing is known but that they were printed."""
    return []


def figure(
    place: str,
    shows: str,
    error: str,
    curves: Sequence[Curve],
    what: str = "EO",
    claims_of: ClaimsOf = no_claims,
    *,
    radio: str = RADIO,
    by: Sequence[str] = ("transport",),
    also: Sequence[Point] = (),
    printed: Sequence[Value] = (),
    log_y: bool = False,
    notes: Sequence[str] = (),
) -> Reproduction:
    """A figure: one quantity of several curves over the good states of a scenario of errors.

    `by` names the parameters that tell the curves apart; `also` are points that only the claims need.
    """
    points = tuple(dict.fromkeys([*(point for curve in curves for point in curve.points(error)), *also]))

    def compute(item: Reproduction, results: Results) -> Outcome:
        series = {curve.name: curve.series(results, error, what, radio) for curve in curves}
        values = [value for one in series.values() for value in one.values()]
        for one in series.values():
            for over, good_states in (("averaged set", AVERAGED[error]), ("all good states", GRID[error])):
                mean, ci95 = mean_ci95(one.average([float(good) for good in good_states]))
                values.append(Value(f"average {what}", {**one.at, "over": over}, mean, ci95, one.unit))
        held_ = claims_of(f"e2tcp/{item.place}", series, results)
        return Outcome(values, held_, [_figure_table(error, series)], list(printed), list(notes))

    bad = "bad 0.1 s" if error == "A" else "bad = good/10"
    picture = Lines(
        what,
        "good_s",
        by,
        f"good-state length (s), {bad}",
        _LABELS[what],
        falling=True,
        log_y=log_y,
        where=(("error", error),),
    )
    return Reproduction(place, f"{shows}, scenario {error}", compute, points, picture)


def _figure_table(error: str, series: Curves) -> Table:
    wide = len(series) > _WIDE
    rows = []
    for good in GRID[error]:
        cells = [one.samples[float(good)] for one in series.values()]
        rows.append([f"{good} s", *(mean_text(cell).split(" ")[0] if wide else mean_text(cell) for cell in cells)])
    averages = [one.average([float(good) for good in AVERAGED[error]]) for one in series.values()]
    rows.append(["average", *(mean_text(cell).split(" ")[0] if wide else mean_text(cell) for cell in averages)])
    return Table(["good state", *series], rows)


def averages(
    curves: Sequence[Curve], results: Results, what: str = "EO", whole: bool = False
) -> dict[str, dict[str, list[float]]]:
    """The averages of the tables, seed by seed; over all good states of the figures if `whole`."""
    good_states = GRID if whole else AVERAGED
    return {
        error: {
            curve.name: curve.series(results, error, what, RADIO).average([float(good) for good in good_states[error]])
            for curve in curves
        }
        for error in GRID
    }


def points_of(curves: Sequence[Curve], scenarios: Sequence[str] = ("A", "B")) -> tuple[Point, ...]:
    """All points of curves in both scenarios of errors."""
    return tuple(point for error in scenarios for curve in curves for point in curve.points(error))


def table(
    place: str,
    shows: str,
    curves: Sequence[Curve],
    what: str,
    printed: Mapping[str, tuple[float, float]],
    claims_of: Callable[[str, Averages], list[Claim]],
    by: Sequence[str] = ("transport",),
    calibrated: str = "",
) -> Reproduction:
    """A table: averages of one quantity in both scenarios, with the printed ones by the names of the curves."""
    unit = UNITS.get(what, "%")
    radio: At = {"radio": RADIO} if what in ("EO", "EE") else {}

    def compute(item: Reproduction, results: Results) -> Outcome:
        means = averages(curves, results, what)
        values, published = [], []
        for error, mine in means.items():
            for curve in curves:
                at: At = {"error": error, **curve.at, **radio}
                values.append(Value(what, at, *mean_ci95(mine[curve.name]), unit))
                if curve.name in printed:
                    published.append(Value(what, at, printed[curve.name]["AB".index(error)], None, unit))
        for error, mine in averages(curves, results, what, whole=True).items():
            for curve in curves:
                at = {"error": error, **curve.at, **radio, "over": "all good states"}
                values.append(Value(what, at, *mean_ci95(mine[curve.name]), unit))
        shown = [_averages_table(curves, means, printed, unit)]
        return Outcome(values, claims_of(f"e2tcp/{item.place}", means), shown, published)

    picture = Bars(what, "error", by, _LABELS[what])
    return Reproduction(place, shows, compute, points_of(curves), picture, calibrated)


def _averages_table(
    curves: Sequence[Curve], means: Averages, printed: Mapping[str, tuple[float, float]], unit: str
) -> Table:
    rows = []
    for curve in curves:
        row = [curve.name]
        for column, error in enumerate(means):
            row.append(mean_text(means[error][curve.name]))
            if printed:
                row.append(f"{printed[curve.name][column]:g}" if curve.name in printed else "-")
        rows.append(row)
    heads = [[f"{error} here ({unit})", *([f"{error} paper"] if printed else [])] for error in means]
    return Table(["", *heads[0], *heads[1]], rows)
