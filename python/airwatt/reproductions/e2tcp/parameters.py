"""E2TCP's four parameters: smallest and largest window, window after a timeout, error limit."""

from collections.abc import Sequence
from dataclasses import replace

from airwatt.reproductions import claims
from airwatt.reproductions.e2tcp.figures import ClaimsOf, Curves, figure, no_claims, points_of
from airwatt.reproductions.e2tcp.setup import AVERAGED, E2TCP, GRID, Curve
from airwatt.reproductions.publication import At, Claim, Outcome, Reproduction, Results, Table, Value
from airwatt.statistics import mean_ci95

_NAMES = {
    "min_window": "smallest window",
    "max_window": "largest window",
    "after_timeout": "window after a timeout",
    "error_limit": "error limit",
}
_SHORT = {"min_window": "min", "max_window": "max", "after_timeout": "after", "error_limit": "limit"}
_DEFAULTS = {"min_window": 12, "max_window": 25, "after_timeout": 5, "error_limit": 5}


def _curves(key: str, choices: Sequence[int]) -> tuple[Curve, ...]:
    """One for each choice; the default needs no setting, and so shares its points with all other figures."""
    return tuple(
        Curve(
            f"{_SHORT[key]} {choice}",
            "e2tcp",
            () if choice == _DEFAULTS[key] else ((f"e2tcp.{key}", str(choice)),),
            **{key: float(choice)},
        )
        for choice in choices
    )


_MIN = _curves("min_window", (5, 10, 15, 20))
_MAX = _curves("max_window", (15, 20, 25, 35, 45))
_AFTER = _curves("after_timeout", (1, 2, 5, 10))
_LIMIT = _curves("error_limit", (1, 2, 5, 10))
_LONG_S = 10
"""Good states from here on have bad ones of a second and more in scenario B: the long ones."""


def _averages(curves: Curves, error: str) -> dict[str, list[float]]:
    """Each choice's average, by the choice alone."""
    over = [float(good) for good in AVERAGED[error]]
    return {name.rsplit(" ", 1)[1]: series.average(over) for name, series in curves.items()}


def _in_order(error: str, order: Sequence[str], slight: bool = False) -> ClaimsOf:
    def claims_of(home: str, curves: Curves, _results: Results) -> list[Claim]:
        means = _averages(curves, error)
        text = "average energy overhead, from least to most"
        return [claims.ascending(f"{home}.order", text, {choice: means[choice] for choice in order}, slight)]

    return claims_of


def _do_grows(home: str, curves: Curves, _results: Results) -> list[Claim]:
    return [_over_long(f"{home}.long", "data overhead where bad states are long", curves, ("5", "10", "15", "20"))]


def _over_long(id_: str, text: str, curves: Curves, order: Sequence[str]) -> Claim:
    long = [float(good) for good in GRID["B"] if good >= _LONG_S]
    means = {name.rsplit(" ", 1)[1]: series.average(long) for name, series in curves.items()}
    return claims.ascending(id_, f"{text} (a second and more), least to most", {name: means[name] for name in order})


def _ideal(home: str, curves: Curves, _results: Results) -> list[Claim]:
    judged = []
    for other in ("5", "10", "15"):
        text = f"smallest window {other} against 20, energy overhead"
        judged.append(_over_long(f"{home}.{other}", text, curves, (other, "20")))
    return judged


def _max_a(home: str, curves: Curves, _results: Results) -> list[Claim]:
    means = _averages(curves, "A")
    judged = []
    for other in ("15", "35", "45"):
        for low in ("20", "25"):
            text = f"average energy overhead, largest window {low} against {other}"
            averages = {low: means[low], other: means[other]}
            judged.append(claims.ascending(f"{home}.{low}-{other}", text, averages, slight=True))
    return judged


def _after_a(home: str, curves: Curves, _results: Results) -> list[Claim]:
    means = _averages(curves, "A")
    return [
        claims.ascending(
            f"{home}.5-{other}",
            f"average energy overhead, window after a timeout 5 against {other}",
            {"5": means["5"], other: means[other]},
            slight=True,
        )
        for other in ("1", "2", "10")
    ]


def _after_b(home: str, curves: Curves, _results: Results) -> list[Claim]:
    means = _averages(curves, "B")
    judged = [
        claims.ascending(
            f"{home}.10-{other}",
            f"average energy overhead, window after a timeout 10 against {other}",
            {"10": means["10"], other: means[other]},
        )
        for other in ("1", "2", "5")
    ]
    choices = {name.rsplit(" ", 1)[1]: series for name, series in curves.items()}
    some = choices["10"]
    long, short = some.xs[0], some.xs[-1]
    gains = [claims.differences(choices["1"].samples[x], some.samples[x]) for x in (long, short)]
    first, last = (mean_ci95(gain)[0] for gain in gains)
    here = f"1 against 10: {first:+.2f} points at {long:g} s, {last:+.2f} at {short:g} s"
    text = "longer bad states favour smaller windows after a timeout"
    judged.append(claims.ordered(f"{home}.favour", text, "favour", here, [(gains[0], gains[1])]))
    return judged


def _sensitivity(item: Reproduction, results: Results) -> Outcome:
    """How much is at stake: the best windows for each channel against the default, and what each parameter moves."""
    home = f"e2tcp/{item.place}"
    outcome, rows = Outcome(), []
    gains: dict[tuple[str, float], float] = {}
    for error in GRID:
        default = E2TCP.series(results, error, "EO")
        tuned = [curve.series(results, error, "EO") for curve in (*_MIN, *_MAX)]
        for x in default.xs:
            best = min(series.mean(x) for series in tuned)
            gain = 100 * (1 - min(best, default.mean(x)) / default.mean(x))
            gains[error, x] = gain
            outcome.values.append(
                Value("largest gain of other windows", {"error": error, "good_s": x}, gain, None, "%")
            )
    spreads = {}
    for key, curves in (("min_window", _MIN), ("max_window", _MAX), ("after_timeout", _AFTER), ("error_limit", _LIMIT)):
        for error in GRID:
            over = [float(good) for good in AVERAGED[error]]
            means = [mean_ci95(curve.series(results, error, "EO").average(over))[0] for curve in curves]
            spreads[key, error] = max(means) - min(means)
            at: At = {"error": error, "parameter": key}
            outcome.values.append(Value("spread of average EO", at, spreads[key, error], None, "points"))
        rows.append([_NAMES[key], *(f"{spreads[key, error]:.2f}" for error in GRID)])
    outcome.tables.append(Table(["spread of average EO (points)", "A", "B"], rows))
    where = max(gains, key=gains.__getitem__)
    text = f"largest gain of other windows (scenario {where[0]}, good {where[1]:g} s)"
    outcome.claims.append(claims.between(f"{home}.gain", text, "about 25", gains[where], 15.0, 35.0, "%"))
    for error in GRID:
        windows = max(spreads["min_window", error], spreads["max_window", error])
        others = max(spreads["after_timeout", error], spreads["error_limit", error])
        text = f"spread of the average over the windows against that of the others, scenario {error}"
        here = f"{windows:.2f} against {others:.2f} points"
        claim = claims.true(
            f"{home}.windows.{error}", text, "much larger", here, "at least twice", windows >= 2 * others
        )
        outcome.claims.append(claim)
    return outcome


def _both(
    key: str, curves: Sequence[Curve], places: tuple[str, str], a: ClaimsOf, b: ClaimsOf
) -> tuple[Reproduction, ...]:
    shows = f"E2TCP's {_NAMES[key]}"
    return (
        figure(places[0], shows, "A", curves, claims_of=a, by=(key,)),
        figure(places[1], shows, "B", curves, claims_of=b, by=(key,)),
    )


def _data_overhead() -> Reproduction:
    """Scenario B is drawn, which has the long bad states that the text is about; the values have A too.

    The thesis's caption says A, where every bad state is short.
    """
    note = "The caption says scenario A; the text argues from long bad states, which B alone has. The values have both."
    shows = "Data overhead and the smallest window"
    drawn, other = (
        figure("fig5.5", shows, error, _MIN, "DO", claims_of, by=("min_window",), notes=[note])
        for error, claims_of in (("B", _do_grows), ("A", no_claims))
    )

    def compute(item: Reproduction, results: Results) -> Outcome:
        outcome = drawn.compute(item, results)
        outcome.values += other.compute(item, results).values
        return outcome

    return replace(drawn, compute=compute, points=drawn.points + other.points)


_LARGE_FIRST = ("20", "15", "10", "5")

REPRODUCTIONS = (
    *_both("min_window", _MIN, ("fig5.3", "fig5.4"), _in_order("A", _LARGE_FIRST), _in_order("B", _LARGE_FIRST)),
    _data_overhead(),
    figure(
        "fig5.6", "E2TCP's smallest window, ideal radio", "B", _MIN, "EO", _ideal, radio="ideal", by=("min_window",)
    ),
    *_both("max_window", _MAX, ("fig5.7", "fig5.8"), _max_a, _in_order("B", ("15", "20", "25", "35", "45"))),
    *_both("after_timeout", _AFTER, ("fig5.9", "fig5.10"), _after_a, _after_b),
    *_both(
        "error_limit",
        _LIMIT,
        ("fig5.11", "fig5.12"),
        _in_order("A", ("10", "5", "2", "1"), slight=True),
        _in_order("B", ("1", "2", "5", "10"), slight=True),
    ),
    Reproduction(
        "sec5.4.5",
        "What the parameters matter",
        _sensitivity,
        points_of((E2TCP, *_MIN, *_MAX, *_AFTER, *_LIMIT)),
    ),
)
