"""Energy overhead, throughput and latency over the paths, and the expectations of the three stages."""

from collections.abc import Callable, Sequence

from airwatt.reproductions import claims
from airwatt.reproductions.e2tcp.setup import AVERAGED, RADIO
from airwatt.reproductions.e2tcp_gateway.setup import EXPECTED, PATHS, WAYS, Path, Way, point, points
from airwatt.reproductions.publication import Bars, Claim, Lines, Outcome, Point, Reproduction, Results, Table, Value
from airwatt.statistics import mean_ci95

_KEYS = {"EO": f"EO {RADIO}"}
_LABELS = {
    "EO": ("energy overhead", "%"),
    "throughput": ("throughput", "Mbps"),
    "latency": ("latency on the hop", "ms"),
    "energy": ("energy of the mobile's radio", "J"),
}
_BY_NAME = {way.name: way for way in WAYS}


def average(results: Results, way: Way, path: Path, error: str, what: str) -> list[float]:
    """The average over the good states of a scenario of errors, for each seed."""
    key = _KEYS.get(what, what)
    columns = [results.column(one, key) for one in points(way, path, error)]
    return [sum(seed) / len(seed) for seed in zip(*columns, strict=True)]


def _all_points(error: str) -> tuple[Point, ...]:
    return tuple(one for way in WAYS for path in PATHS for one in points(way, path, error))


def _grid(place: str, what: str, error: str, claims_of: Callable[[str, Results, str], list[Claim]]) -> Reproduction:
    """One quantity of all ways over all paths."""
    label, unit = _LABELS[what]

    def compute(item: Reproduction, results: Results) -> Outcome:
        values, rows = [], []
        for way in WAYS:
            row = [way.name]
            for path in PATHS:
                mean, ci95 = mean_ci95(average(results, way, path, error, what))
                values.append(Value(what, {"error": error, "path": path.name, "way": way.name}, mean, ci95, unit))
                row.append(claims.number(mean))
            rows.append(row)
        table = Table(["", *(path.name for path in PATHS)], rows, f"{label} ({unit}), average of scenario {error}")
        return Outcome(values, claims_of(f"e2tcp-gateway/{item.place}", results, error), [table])

    picture = Bars(what, "path", ("way",), f"{label} ({'Mb/s' if unit == 'Mbps' else unit})")
    shows = f"{label} by the wired leg (delay one way, loss), average of scenario {error}"
    return Reproduction(place, shows, compute, _all_points(error), picture)


def _factors(results: Results, way: Way, error: str) -> list[float]:
    """How many times Tahoe's energy overhead is that of another way, for each path."""
    means = [
        [mean_ci95(average(results, other, path, error, "EO"))[0] for other in (_BY_NAME["Tahoe"], way)]
        for path in PATHS
    ]
    return [tahoe / own for tahoe, own in means]


def _stages(home: str, results: Results, error: str) -> list[Claim]:
    """What the thesis expects of its stages against Tahoe: each factor on each path within the printed range."""
    judged = []
    for name, low, high in EXPECTED:
        for path, factor in zip(PATHS, _factors(results, _BY_NAME[name], error), strict=True):
            id_ = f"{home}.{name.replace(' %', '').replace(' ', '-')}.{path.name.replace(', ', '.').replace(' ', '')}"
            text = f"{name}, {path.name}: Tahoe's energy overhead over that of this stage"
            judged.append(claims.between(id_, text, f"{low:g} to {high:g}", factor, low, high))
    return judged


def _nothing(_home: str, _results: Results, _error: str) -> list[Claim]:
    return []


def _curves(error: str, path: Path) -> Reproduction:
    """Energy overhead over the good states on one path."""

    def compute(item: Reproduction, results: Results) -> Outcome:
        values = [
            Value(
                "EO",
                {"good_s": float(good), "way": way.name},
                *mean_ci95(results.column(point(way, path, error, good), _KEYS["EO"])),
                "%",
            )
            for way in WAYS
            for good in AVERAGED[error]
        ]
        rows = [
            [way.name, *(claims.number(value.value) for value in values if value.at["way"] == way.name)] for way in WAYS
        ]
        heads = ["", *(f"{good:g} s" for good in AVERAGED[error])]
        return Outcome(
            values, [], [Table(heads, rows, f"energy overhead (%), scenario {error}, wired leg {path.name}")]
        )

    picture = Lines("EO", "good_s", ("way",), "good-state length (s)", "energy overhead (%)", falling=True, log_y=True)
    shows = f"energy overhead over the good states of scenario {error}, wired leg of {path.name}"
    wanted = tuple(one for way in WAYS for one in points(way, path, error))
    return Reproduction(f"curve.{error}", shows, compute, wanted, picture)


def _reproductions() -> Sequence[Reproduction]:
    found = []
    for error in AVERAGED:
        found += [
            _grid(f"eo.{error}", "EO", error, _stages),
            _grid(f"throughput.{error}", "throughput", error, _nothing),
            _grid(f"latency.{error}", "latency", error, _nothing),
            _grid(f"energy.{error}", "energy", error, _nothing),
            _curves(error, PATHS[1]),
        ]
    return found


REPRODUCTIONS = tuple(_reproductions())
