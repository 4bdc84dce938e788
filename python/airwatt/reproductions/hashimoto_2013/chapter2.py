"""Chapter 2: who gets the bandwidth of a cell, with Reno, a prioritised access point, and the ACK-loss method.

The runs and their one configuration are those of document 003 (`hashimoto_2010.setup`); the indices on paper too.
"""

import math
from collections.abc import Mapping

from airwatt._core import toml_value
from airwatt.reproductions import claims
from airwatt.reproductions.hashimoto_2010 import indices
from airwatt.reproductions.hashimoto_2010.figures import ClaimsOf, per_flow
from airwatt.reproductions.hashimoto_2010.setup import (
    CAPACITY_MBPS,
    FLOWS,
    METHOD,
    PLAIN,
    PRIORITY,
    mean,
    mixed,
    near_and_far,
    point,
)
from airwatt.reproductions.publication import Bars, Claim, Lines, Outcome, Point, Reproduction, Results, Table, Value
from airwatt.reproductions.series import mean_text
from airwatt.statistics import mean_ci95

DOCUMENT = "hashimoto-2013"
_LETTERS = {PLAIN: "a", PRIORITY: "b", METHOD: "c"}


def _jain(results: Results, point_: Point) -> float:
    return mean(results, point_, "jain")


def _fig24a(home: str, results: Results) -> list[Claim]:
    plain = point(FLOWS, PLAIN)
    least = mean(results, plain, "least")
    bound = 0.1 * CAPACITY_MBPS / FLOWS
    judged = [
        claims.between(f"{home}.starved", "least of ten throughputs", "nearly zero", least, 0.0, bound, "Mb/s"),
        claims.between(f"{home}.jain", "Jain's index", "clearly below the others'", _jain(results, plain), 0.1, 0.8),
    ]
    for other in (PRIORITY, METHOD):
        here = f"{_jain(results, plain):.3f}, {_jain(results, point(FLOWS, other)):.3f}"
        pair = [(results.column(plain, "jain"), results.column(point(FLOWS, other), "jain"))]
        id_ = f"{home}.below.{_LETTERS[other]}"
        judged.append(claims.ordered(id_, f"Jain's index below that with {other}", "below", here, pair))
    return judged


def _fig24(method: str) -> ClaimsOf:
    def claims_of(home: str, results: Results) -> list[Claim]:
        ours = point(FLOWS, method)
        starved = mean(results, ours, "starved")
        here = f"{_jain(results, ours):.3f}, {_jain(results, point(FLOWS, PLAIN)):.3f}"
        pair = [(results.column(point(FLOWS, PLAIN), "jain"), results.column(ours, "jain"))]
        return [
            claims.between(f"{home}.jain", "Jain's index", "fair", _jain(results, ours), 0.9, 1.0),
            claims.ordered(f"{home}.above", "Jain's index above Reno's", "above", here, pair),
            claims.between(f"{home}.starved", "starved flows", "0", starved, 0.0, 0.0),
        ]

    return claims_of


def _ratio(results: Results, point_: Point) -> float:
    return mean(results, point_, "mean up") / max(mean(results, point_, "mean down"), 1e-9)


def _fig25a(home: str, results: Results) -> list[Claim]:
    plain = point(5, PLAIN)
    bound = 0.1 * CAPACITY_MBPS / FLOWS
    return [
        claims.between(f"{home}.ratio", "up over down", "far above 1", _ratio(results, plain), 5.0, 1e9),
        claims.between(
            f"{home}.starved", "mean of the down flows", "starved", mean(results, plain, "mean down"), 0, bound, "Mb/s"
        ),
    ]


def _fig25(method: str) -> ClaimsOf:
    def claims_of(home: str, results: Results) -> list[Claim]:
        ours = point(5, method)
        found = [claims.between(f"{home}.ratio", "up over down", "about 1", _ratio(results, ours), 0.5, 2.0)]
        if method == METHOD:
            share = (1 - _jain(results, ours)) / (1 - _jain(results, point(5, PLAIN)))
            text = "unfairness (1 - Jain) over Reno's"
            found.append(claims.between(f"{home}.unfairness", text, "far below 1", share, 0.0, 0.5))
        return found

    return claims_of


def _one(place: str, up: int, method: str, claims_of: ClaimsOf) -> Reproduction:
    names = {10: "Ten up flows", 5: "Five up and five down flows"}
    also = tuple(point(up, other) for other in (PLAIN, PRIORITY, METHOD))
    return per_flow(DOCUMENT, place, f"{names[up]}, {method}", {method: point(up, method)}, claims_of, also=also)


_NEAR, _FAR = range(0, FLOWS, 2), range(1, FLOWS, 2)
"""Flows of the stations at 1 m and at 10 m."""


def _fig26a(home: str, results: Results) -> list[Claim]:
    ours = near_and_far(FLOWS, PRIORITY)
    fairness = [results.column(one, "jain") for one in (ours, point(FLOWS, PRIORITY))]
    text = "Jain's index with the prioritised AP: lower than with all stations at 4 m"
    here = ", ".join(f"{mean_ci95(one)[0]:.3f}" for one in fairness)
    near, far = (math.fsum(mean(results, ours, f"flow {flow}") for flow in side) for side in (_NEAR, _FAR))
    text_far = "throughput of the near stations over that of the far ones: they differ"
    return [
        claims.ordered(f"{home}.lower", text, "lower", here, [(fairness[0], fairness[1])]),
        claims.true(f"{home}.far", text_far, "not 1", f"{near / far:.2f}", "10 %", abs(near / far - 1) > 0.1),
    ]


def _fig26b(home: str, results: Results) -> list[Claim]:
    ours, same, other = near_and_far(FLOWS, METHOD), point(FLOWS, METHOD), near_and_far(FLOWS, PRIORITY)
    apart = abs(_jain(results, ours) - _jain(results, same))
    here = f"{_jain(results, ours):.3f}, {_jain(results, other):.3f}"
    better = [(results.column(other, "jain"), results.column(ours, "jain"))]
    text = "Jain's index with the method, difference to that with all stations at 4 m"
    return [
        claims.between(f"{home}.same", text, "0", apart, 0.0, 0.05),
        claims.ordered(f"{home}.above", "fairer than with the prioritised AP", "fairer", here, better),
    ]


def _fig27(home: str, results: Results) -> list[Claim]:
    judged = []
    for up in (10, 5):
        ours = mean(results, point(up, METHOD), "rtt")
        for other in (PLAIN, PRIORITY):
            ratio = mean(results, point(up, other), "rtt") / ours
            text = f"{up} up: mean round-trip time with {other} over that with the method"
            id_ = f"{home}.{_LETTERS[other]}.{up}"
            judged.append(claims.between(id_, text, "above 1", ratio, 1.3, 100.0))
    return judged


def _mixed_distances(home: str, results: Results) -> list[Claim]:
    """With both directions as with ten up: the order of the two methods in fairness."""

    pairs = {up: [results.column(near_and_far(up, method), "jain") for method in (PRIORITY, METHOD)] for up in (5, 10)}
    gaps = {up: mean_ci95(claims.differences(method, rival))[0] for up, (rival, method) in pairs.items()}
    here = f"method less prioritised AP: {gaps[5]:+.3f} with both directions, {gaps[10]:+.3f} with ten up"
    orders = {claims.order(rival, method) for rival, method in pairs.values()}
    verdict = "tie" if "tie" in orders else "holds" if len(orders) == 1 else "missed"
    text = "the same order of the two in Jain's index as with ten up"
    return [claims.by_verdict(f"{home}.order", text, "same", here, verdict)]


def _head(item: Reproduction, results: Results) -> Outcome:
    home = f"{DOCUMENT}/{item.place}"
    outcome = Outcome()
    for up, name in ((10, "among up flows"), (5, "between up and down")):
        plain, ours = point(up, PLAIN), point(up, METHOD)
        for method, one in ((PLAIN, plain), (METHOD, ours)):
            for key, unit in (("jain", ""), ("index 2013", ""), ("rtt", "ms")):
                at: dict[str, str | float] = {"up": float(up), "method": method}
                outcome.values.append(Value(key, at, *mean_ci95(results.column(one, key)), unit))
        for key, text, sign in (("jain", f"fairer {name} (Jain)", 1), ("rtt", f"shorter round trips, {up} up", -1)):
            a, b = (results.column(one, key) for one in (ours, plain))
            here = f"{mean_ci95(a)[0]:.3g}, {mean_ci95(b)[0]:.3g}"
            pair = (a, b) if sign < 0 else (b, a)
            outcome.claims.append(claims.ordered(f"{home}.{key}.{up}", text, "yes", here, [pair]))
    return outcome


def _share(item: Reproduction, results: Results) -> Outcome:
    """Accesses of saturated stations and a saturated access point."""
    home = f"{DOCUMENT}/{item.place}"
    outcome = Outcome()
    for stations, saturated in _SATURATED.items():
        column = [
            up / (up + down)
            for up, down in zip(results.column(saturated, "up"), results.column(saturated, "down"), strict=True)
        ]
        outcome.values.append(Value("up share", {"stations": float(stations)}, *mean_ci95(column), ""))
        expected = stations / (stations + 1)
        text = f"share of the up flows, {stations} stations: n/(n+1)"
        outcome.claims.append(claims.within(f"{home}.{stations}", text, expected, mean_ci95(column)[0], 0.05))
    return outcome


def _measure_saturated(document: Mapping[str, object]) -> dict[str, float]:
    sides = {"up": 0.0, "down": 0.0}
    for flow in document["flows"]:  # type: ignore[attr-defined]
        sides[flow["direction"]] += flow["bytes_delivered"]
    return sides


def _saturated(stations: int) -> Point:
    groups = [
        {"stations": list(mine), "direction": way, "transport": "udp", "application": {"kind": "saturated"}}
        for way, mine in (("up", range(stations)), ("down", range(1)))
    ]
    overrides = (("station.count", str(stations)), ("flow", toml_value(groups)), ("wifi.access", "dcf"))
    return Point("saturation", overrides, _measure_saturated, 0.1)


_SATURATED = {stations: _saturated(stations) for stations in (1, 2, 5, 10)}

_THRESHOLDS = (1, 2, 4, 8)


def _thresholds(item: Reproduction, results: Results) -> Outcome:
    home = f"{DOCUMENT}/{item.place}"
    outcome, rows = Outcome(), []
    index = {threshold: mean(results, mixed(FLOWS, threshold), "index 2013") for threshold in _THRESHOLDS}
    for threshold in _THRESHOLDS:
        row = [str(threshold)]
        for key, unit in (("index 2013", ""), ("jain", ""), ("total", "Mb/s"), ("rtt", "ms")):
            column = results.column(mixed(FLOWS, threshold), key)
            outcome.values.append(Value(key, {"threshold": float(threshold)}, *mean_ci95(column), unit))
            row.append(mean_text(column))
        rows.append(row)
    outcome.tables.append(Table(["threshold", "index 2013", "Jain", "total Mb/s", "RTT ms"], rows))
    for threshold in _THRESHOLDS[1:]:
        text = f"index at threshold 1 less that at {threshold}"
        lead = index[1] - index[threshold]
        outcome.claims.append(claims.between(f"{home}.{threshold}", text, "1 is best", lead, -0.02, 1.0))
    return outcome


def _repeat(item: Reproduction, results: Results) -> Outcome:
    """How much the runs differ: who starves changes, how the shares are distributed does not."""
    home = f"{DOCUMENT}/{item.place}"
    outcome = Outcome()
    for method in (PLAIN, PRIORITY, METHOD):
        column = results.column(point(FLOWS, method), "jain")
        average, ci95 = mean_ci95(column)
        outcome.values.append(Value("jain", {"method": method}, average, ci95, ""))
        text = f"{method}: largest distance of a run's Jain index from the mean"
        apart = max(abs(value - average) for value in column)
        outcome.claims.append(claims.between(f"{home}.{_LETTERS[method]}", text, "alike", apart, 0.0, 0.2))
    return outcome


def _mechanism(item: Reproduction, results: Results) -> Outcome:
    home = f"{DOCUMENT}/{item.place}"
    outcome = Outcome()
    plain, ours = point(FLOWS, PLAIN), point(FLOWS, METHOD)
    for method, one in ((PLAIN, plain), (METHOD, ours)):
        for key in ("timeouts", "starved"):
            outcome.values.append(Value(key, {"method": method}, *mean_ci95(results.column(one, key)), ""))
    starved = mean(results, plain, "starved")
    timeouts = mean(results, plain, "timeouts")
    text = f"Reno, ten up: starved flows (with {timeouts:.0f} timeouts in all)"
    outcome.claims.append(claims.between(f"{home}.starved", text, "some stay starved", starved, 1.0, 9.0))
    fewer = mean(results, ours, "timeouts") / timeouts
    text = "timeouts with the method over Reno's"
    outcome.claims.append(claims.between(f"{home}.timeouts", text, "windows halve instead", fewer, 0.0, 0.5))
    grow = mean(results, point(5, PLAIN), "mean up") / (CAPACITY_MBPS / FLOWS)
    text = "five and five: an up flow over its fair share, as down flows shrink"
    outcome.claims.append(claims.between(f"{home}.grow", text, "grow", grow, 1.2, 10.0))
    return outcome


_CHANGED = (0, 2, 5, 8, 10)


def _coexist(item: Reproduction, results: Results) -> Outcome:
    home = f"{DOCUMENT}/{item.place}"
    outcome, rows = Outcome(), []
    shares: dict[tuple[int, int], list[list[float]]] = {}
    for changed in _CHANGED:
        for threshold in _THRESHOLDS if changed > 0 else (1,):
            one = mixed(changed, threshold)
            sides = [
                [sum(row) / len(row) for row in zip(*(results.column(one, f"flow {i}") for i in mine), strict=True)]
                for mine in (range(changed), range(changed, FLOWS))
            ]
            at: dict[str, str | float] = {"changed": float(changed), "threshold": float(threshold)}
            cells = []
            for name, column in zip(("with", "without"), sides, strict=True):
                if column:
                    outcome.values.append(Value("throughput", {**at, "senders": name}, *mean_ci95(column), "Mb/s"))
                cells.append(mean_text(column) if column else "")
            for key in ("jain", "total", "starved"):
                column = results.column(one, key)
                outcome.values.append(Value(key, dict(at), *mean_ci95(column), "Mb/s" if key == "total" else ""))
                cells.append(mean_text(column))
            shares[changed, threshold] = sides
            rows.append([str(changed), str(threshold), *cells])
    heads = ["changed", "threshold", "with Mb/s", "without Mb/s", "Jain", "total Mb/s", "starved"]
    outcome.tables.append(Table(heads, rows))
    cured = mean(results, mixed(5), "jain")
    outcome.claims.append(claims.between(f"{home}.cured", "Jain's index, five of ten", "not cured", cured, 0.1, 0.8))
    ours, theirs = shares[5, 1]
    below = f"{mean_ci95(ours)[0]:.2f}, {mean_ci95(theirs)[0]:.2f} Mb/s"
    text = "changed senders may get less than the others, five of ten"
    outcome.claims.append(claims.ordered(f"{home}.less", text, "less", below, [(ours, theirs)]))
    raised = mean_ci95(shares[5, _THRESHOLDS[-1]][0])[0] / mean_ci95(shares[0, 1][1])[0]
    text = "changed senders at threshold 8, five of ten, over what each of ten unchanged ones gets"
    outcome.claims.append(claims.between(f"{home}.raised", text, "restored", raised, 0.5, 1.5))
    return outcome


def _picture(what: str, by: tuple[str, ...], x: str, label: str, unit: str) -> Lines:
    return Lines(what, x, by, label, unit, scale="linear")


_COEXIST_POINTS = tuple(
    dict.fromkeys(mixed(changed, threshold) for changed in _CHANGED for threshold in (_THRESHOLDS if changed else (1,)))
)
_THREE = (PLAIN, PRIORITY, METHOD)

SIMULATED = (
    Reproduction("sec2.2.share", "Accesses of saturated stations", _share, tuple(_SATURATED.values())),
    Reproduction(
        "sec2.2.mechanism",
        "Why it is unfair",
        _mechanism,
        (point(FLOWS, PLAIN), point(FLOWS, METHOD), point(5, PLAIN)),
    ),
    *indices.OF_2013[:-1],
    _one("fig2.4a", 10, PLAIN, _fig24a),
    _one("fig2.4b", 10, PRIORITY, _fig24(PRIORITY)),
    _one("fig2.4c", 10, METHOD, _fig24(METHOD)),
    _one("fig2.5a", 5, PLAIN, _fig25a),
    _one("fig2.5b", 5, PRIORITY, _fig25(PRIORITY)),
    _one("fig2.5c", 5, METHOD, _fig25(METHOD)),
    *(
        per_flow(
            DOCUMENT,
            f"fig2.6{letter}",
            f"Ten up at 1 m (odd numbers) and 10 m (even), {method}",
            {method: near_and_far(10, method)},
            claims_of,
            also=(point(10, method), *(near_and_far(10, other) for other in (PRIORITY, METHOD))),
        )
        for letter, method, claims_of in (("a", PRIORITY, _fig26a), ("b", METHOD, _fig26b))
    ),
    per_flow(
        DOCUMENT,
        "fig2.6.mixed",
        "Five up and five down at 1 m and 10 m",
        {method: near_and_far(5, method) for method in (PRIORITY, METHOD)},
        _mixed_distances,
        also=tuple(near_and_far(10, method) for method in (PRIORITY, METHOD)),
    ),
    per_flow(
        DOCUMENT,
        "fig2.7",
        "Mean round-trip time of each flow",
        {f"{method}, {up} up": point(up, method) for up in (10, 5) for method in _THREE},
        _fig27,
        what="RTT",
    ),
    Reproduction(
        "sec2.5.thresh",
        "Thresholds of the method",
        _thresholds,
        tuple(mixed(FLOWS, threshold) for threshold in _THRESHOLDS),
        _picture("index 2013", (), "threshold", "lost acknowledgements that halve the window", "index"),
    ),
    Reproduction("sec2.5.repeat", "Ten runs look alike", _repeat, tuple(point(FLOWS, method) for method in _THREE)),
)
HEAD = Reproduction(
    "head.fairness",
    "Chapter 2 in short",
    _head,
    tuple(point(up, method) for up in (10, 5) for method in (PLAIN, METHOD)),
    Bars("jain", "up", ("method",), "Jain's index"),
)
COEXISTENCE = Reproduction(
    "sec2.7.coexist",
    "Senders with and without the method together",
    _coexist,
    _COEXIST_POINTS,
    _picture("throughput", ("senders", "threshold"), "changed", "senders with the method, of ten", "Mb/s a flow"),
)
