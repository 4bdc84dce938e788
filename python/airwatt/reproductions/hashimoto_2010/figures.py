"""The forms of figures that both documents have: throughputs of each flow, of each mix, and an index over windows."""

from collections.abc import Callable, Mapping, Sequence

from airwatt.reproductions import claims
from airwatt.reproductions.hashimoto_2010.setup import FLOWS, MIXES, WINDOWS_S, mean
from airwatt.reproductions.publication import Bars, Claim, Lines, Outcome, Point, Reproduction, Results, Table, Value
from airwatt.reproductions.series import Series, mean_text
from airwatt.statistics import mean_ci95

ClaimsOf = Callable[[str, Results], list[Claim]]
"""Gives the claims of a figure, for the id that they begin with."""


def per_flow(
    document: str,
    place: str,
    shows: str,
    points: Mapping[str, Point],
    claims_of: ClaimsOf,
    what: str = "throughput",
    also: Sequence[Point] = (),
) -> Reproduction:
    """Bars for each of ten flows, one for each method; beside the means the indices of the runs."""
    key, unit = ("flow", "Mb/s") if what == "throughput" else ("rtt", "ms")

    def compute(item: Reproduction, results: Results) -> Outcome:
        values, rows = [], []
        for name, point in points.items():
            for flow in range(FLOWS):
                column = results.column(point, f"{key} {flow}")
                values.append(Value(what, {"flow": str(flow + 1), "method": name}, *mean_ci95(column), unit))
            row = [name]
            summed = ("jain", "index 2013", "total", "least", "starved", "timeouts", "rtt")
            for number in summed:
                column = results.column(point, number)
                values.append(Value(number, {"method": name}, *mean_ci95(column), _UNITS.get(number, "")))
                row.append(mean_text(column))
            rows.append(row)
        heads = ["", "Jain", "index 2013", "total Mb/s", "least Mb/s", "starved", "timeouts", "RTT ms"]
        return Outcome(values, claims_of(f"{document}/{place}", results), [Table(heads, rows)])

    picture = Bars(what, "flow", ("method",), f"{what} ({unit})")
    return Reproduction(place, shows, compute, (*points.values(), *also), picture)


_UNITS = {"total": "Mb/s", "least": "Mb/s", "rtt": "ms"}


def mixes(
    document: str,
    place: str,
    shows: str,
    point: Callable[[int, str], Point],
    methods: Sequence[str],
    claims_of: ClaimsOf,
    notes: Sequence[str] = (),
    also: Sequence[Point] = (),
) -> Reproduction:
    """Mean throughput of an up and of a down flow and the total, from no flow up to ten."""

    def compute(item: Reproduction, results: Results) -> Outcome:
        values, rows = [], []
        for up in MIXES:
            row = [f"{up} up, {FLOWS - up} down"]
            for method in methods:
                at: dict[str, str | float] = {"up": float(up), "method": method}
                for side in ("up", "down"):
                    if up == (0 if side == "up" else FLOWS):
                        continue
                    column = results.column(point(up, method), f"mean {side}")
                    values.append(Value("throughput", {**at, "direction": side}, *mean_ci95(column), "Mb/s"))
                total = results.column(point(up, method), "total")
                values.append(Value("total", dict(at), *mean_ci95(total), "Mb/s"))
                for number in ("timeouts", "starved", "jain"):
                    column = results.column(point(up, method), number)
                    values.append(Value(number, dict(at), *mean_ci95(column), ""))
                sides = [f"{mean(results, point(up, method), f'mean {side}'):.2f}" for side in ("up", "down")]
                row += [" / ".join(sides), mean_text(total), f"{mean(results, point(up, method), 'timeouts'):.0f}"]
            rows.append(row)
        heads = ["", *(head for name in methods for head in (f"{name}: up / down", "total", "timeouts"))]
        return Outcome(values, claims_of(f"{document}/{place}", results), [Table(heads, rows)], notes=list(notes))

    points = tuple(dict.fromkeys([*(point(up, method) for up in MIXES for method in methods), *also]))
    picture = Lines("throughput", "up", ("method", "direction"), "flows up, of ten", "Mb/s a flow", scale="linear")
    return Reproduction(place, shows, compute, points, picture)


def over_windows(name: str, results: Results, point: Point, index: str, **at: str | float) -> Series:
    """An index over the windows of the sliding-window method."""
    # Runs over real kernels are shorter, and have the windows that fit.
    fitting = [window for window in WINDOWS_S if results.has(point, f"{index} {window:g}")]
    samples = {window: results.column(point, f"{index} {window:g}") for window in fitting}
    return Series(name, "index", "", {"method": name, **at}, "window_s", samples)


def windows(
    document: str,
    place: str,
    shows: str,
    parts: Mapping[str, Mapping[str, Point]],
    index: str,
    claims_of: Callable[[str, Mapping[str, Mapping[str, Series]]], list[Claim]],
    notes: Sequence[str] = (),
    also: Mapping[str, Mapping[str, Point]] | None = None,
) -> Reproduction:
    """An index over windows: parts of a figure by their names, in each a curve for each method."""

    def compute(item: Reproduction, results: Results) -> Outcome:
        all_parts = {**parts, **(also or {})}
        curves = {
            part: {name: over_windows(name, results, point, index, part=part) for name, point in points.items()}
            for part, points in all_parts.items()
        }
        shown = [(part, one) for part in parts for one in curves[part].values()]
        values = [value for _, one in shown for value in one.values()]
        rows = [
            [
                f"{part}, {one.name}",
                *(f"{one.mean(window):.3f}" if window in one.xs else "-" for window in (0.1, 1.0, 10.0, 100.0)),
            ]
            for part, one in shown
        ]
        table = Table(["windows", "0.1 s", "1 s", "10 s", "100 s"], rows)
        return Outcome(values, claims_of(f"{document}/{place}", curves), [table], notes=list(notes))

    points = [point for mine in {**parts, **(also or {})}.values() for point in mine.values()]
    picture = Lines("index", "window_s", ("part", "method"), "window (s)", index, scale="log")
    return Reproduction(place, shows, compute, tuple(dict.fromkeys(points)), picture)


def above(id_: str, higher: Series, lower: Series, part: str) -> Claim:
    """One curve above another at every window."""
    pairs = {window: (lower.samples[window], higher.samples[window]) for window in higher.xs}
    return claims.by_places(id_, f"{part}: {higher.name} above {lower.name}", pairs)


def about(id_: str, text: str, first: Series, second: Series, most: float) -> Claim:
    """Two curves within `most` of each other."""
    apart = max(abs(first.mean(window) - second.mean(window)) for window in first.xs)
    return claims.between(id_, f"{text}: largest distance", "about equal", apart, 0.0, most)
