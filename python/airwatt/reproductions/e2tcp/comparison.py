"""The default set-up: E2TCP against Tahoe, Reno and NewReno in bytes, time, energy, throughput and latency."""

from collections.abc import Callable
from dataclasses import replace

from airwatt.reproductions import claims
from airwatt.reproductions.e2tcp.figures import Averages, ClaimsOf, Curves, averages, figure, points_of, table
from airwatt.reproductions.e2tcp.setup import (
    CALIBRATED,
    DATA,
    FOUR,
    GRID,
    NAMES,
    NEWRENO,
    RENO,
    TAHOE,
    TCPS,
    UNITS,
    Curve,
)
from airwatt.reproductions.publication import Claim, Outcome, Reproduction, Results, Table, Value
from airwatt.reproductions.series import Series
from airwatt.statistics import mean_ci95

_OTHERS = [NAMES[transport] for transport in TCPS]


def e2tcp_lowest(home: str, curves: Curves, _results: Results) -> list[Claim]:
    """E2TCP below the three others at every point."""
    return [claims.lower_everywhere(f"{home}.lowest", curves["E2TCP"], [curves[name] for name in _OTHERS])]


def _e2tcp_highest(home: str, curves: Curves, _results: Results) -> list[Claim]:
    return [
        claims.lower_everywhere(f"{home}.highest.{name.lower()}", curves[name], [curves["E2TCP"]]) for name in _OTHERS
    ]


def _throughput_a(home: str, curves: Curves, results: Results) -> list[Claim]:
    """With scenario A's shape: the gap widens, and no transport exceeds the link."""
    ours, others = curves["E2TCP"], [curves[name] for name in _OTHERS]
    gap = {x: [v - max(o.samples[x][i] for o in others) for i, v in enumerate(ours.samples[x])] for x in ours.xs}
    most = max(curve.mean(x) for curve in curves.values() for x in curve.xs)
    return [
        *_e2tcp_highest(home, curves, results),
        claims.rises(f"{home}.gap", Series("gap of E2TCP to the best TCP", "throughput", "Mbps", {}, "good_s", gap)),
        claims.between(f"{home}.link", "largest throughput", "1 at most", most, 0.0, 1.0, "Mbps"),
    ]


def _do_a(home: str, curves: Curves, results: Results) -> list[Claim]:
    judged = e2tcp_lowest(home, curves, results)
    judged += [claims.rises(f"{home}.rises.{name.lower()}", curves[name]) for name in (*_OTHERS, "E2TCP")]
    spread = 0.0
    for x in curves["Tahoe"].xs:
        means = [curves[name].mean(x) for name in _OTHERS]
        spread = max(spread, max(means) / min(means))
    text = "largest ratio of two TCPs' data overheads at a point: they behave alike"
    judged.append(claims.between(f"{home}.alike", text, "alike", spread, 1.0, 1.5))
    return judged


def _do_b(home: str, curves: Curves, results: Results) -> list[Claim]:
    ours = curves["E2TCP"]
    means = {x: ours.mean(x) for x in ours.xs}
    last = ours.xs[-1]
    top = max(means, key=means.__getitem__)
    here = f"{claims.number(means[last])} at {last:g} s, highest {claims.number(means[top])} at {top:g} s"
    text = "E2TCP's data overhead falls again where the bad states are shortest"
    fall = claims.ordered(f"{home}.falls", text, "falls", here, [(ours.samples[last], ours.samples[top])])
    return [*e2tcp_lowest(home, curves, results), fall]


def _to(home: str, curves: Curves, results: Results) -> list[Claim]:
    ours, others = curves["E2TCP"], [curves[name] for name in _OTHERS]
    ratios = {x: ours.mean(x) / min(other.mean(x) for other in others) for x in ours.xs}
    worst = max(ratios, key=ratios.__getitem__)
    text = f"E2TCP's time overhead over the best TCP's where it is least favourable (here {worst:g} s)"
    judged = [claims.between(f"{home}.half", text, "about half at most", ratios[worst], 0.0, 0.6)]
    gaps = Series(
        "gap between the best TCP and E2TCP",
        "TO",
        "%",
        {},
        "good_s",
        {x: [min(o.samples[x][i] for o in others) - v for i, v in enumerate(ours.samples[x])] for x in ours.xs},
    )
    return [*judged, claims.rises(f"{home}.gap", gaps)]


def _to_a(home: str, curves: Curves, results: Results) -> list[Claim]:
    """With scenario A's shape: TCP loses time rather than bytes."""
    judged = _to(home, curves, results)
    for curve in (TAHOE, RENO, NEWRENO):
        data = curve.series(results, "A", "DO").average()
        time = curves[curve.name].average()
        ratio = mean_ci95(time)[0] / mean_ci95(data)[0]
        text = f"{curve.name}: time overhead over data overhead, average of the figure"
        judged.append(claims.between(f"{home}.time.{curve.transport}", text, "much larger", ratio, 2.0, 1000.0))
    return judged


def _eo(error: str, radio: str) -> ClaimsOf:
    def claims_of(home: str, curves: Curves, results: Results) -> list[Claim]:
        found = e2tcp_lowest(home, curves, results)
        if error == "A" and radio == "always-active":
            found += _factors(home, curves)
        if error == "A" and radio == "ideal":
            for other in ("always-active", "intermediate"):
                series = TAHOE.series(results, "A", "EO", other)
                worst = series.xs[-1]
                ratio = curves["Tahoe"].mean(worst) / series.mean(worst)
                text = f"Tahoe with the ideal radio over Tahoe with the {other} one, worst channel"
                found.append(claims.between(f"{home}.radio.{other}", text, "far below 1", ratio, 0.0, 0.5))
        return found

    return claims_of


def _factors(home: str, curves: Curves) -> list[Claim]:
    ours = curves["E2TCP"]
    least = [min(curves[name].mean(x) for name in _OTHERS) / ours.mean(x) for x in ours.xs]
    largest = max(max(curves[name].mean(x) for name in _OTHERS) / ours.mean(x) for x in ours.xs)
    share = sum(factor >= 2 for factor in least) / len(least)
    return [
        claims.between(f"{home}.half", "share of points with at most half of every TCP", "usually", share, 0.8, 1.0),
        claims.between(f"{home}.factor", "largest factor between a TCP and E2TCP", "up to 16", largest, 8.0, 32.0),
    ]


def _in_both(numbers: tuple[str, str], shows: str, what: str, a: ClaimsOf, b: ClaimsOf) -> list[Reproduction]:
    return [figure(numbers[0], shows, "A", FOUR, what, a), figure(numbers[1], shows, "B", FOUR, what, b)]


def _energy() -> list[Reproduction]:
    items = []
    for radio, numbers in (
        ("always-active", ("fig5.25", "fig5.26")),
        ("intermediate", ("fig5.27", "fig5.28")),
        ("ideal", ("fig5.29", "fig5.30")),
    ):
        for place, error in zip(numbers, "AB", strict=True):
            shows = f"Energy overhead, {radio} radio"
            items.append(figure(place, shows, error, FOUR, "EO", _eo(error, radio), radio=radio))
    return items


def _latency(home: str, curves: Curves, results: Results) -> list[Claim]:
    judged = e2tcp_lowest(home, curves, results)
    last = curves["E2TCP"].xs[-1]
    for name, printed in (("E2TCP", 20.0), ("Tahoe", 100.0)):
        text = f"what the worst channel adds to the 50 ms of the link, {name}"
        judged.append(
            claims.by_factor(f"{home}.added.{name.lower()}", text, printed, curves[name].mean(last) - 50, 2, "ms")
        )
    least = min(curve.mean(x) for curve in curves.values() for x in curve.xs)
    judged.append(claims.between(f"{home}.floor", "lowest latency of the figure", "50 ms", least, 49.9, 52.5, "ms"))
    return judged


# Tables.


def close(home: str, means: Averages, printed: dict[str, tuple[float, float]], share: float, unit: str) -> list[Claim]:
    """Every printed average within a share of it."""
    return [
        claims.within(
            f"{home}.{name.lower().replace(' ', '')}.{error}",
            f"average of {name}, scenario {error}",
            both["AB".index(error)],
            mean_ci95(list(means[error][name]))[0],
            share,
            unit,
        )
        for name, both in printed.items()
        for error in means
    ]


_EO, _THROUGHPUT, _LATENCY = (DATA["printed"][table] for table in ("tab5_3", "tab5_5", "tab5_6"))


def _tab53(home: str, means: Averages) -> list[Claim]:
    order = ("E2TCP", "Tahoe", "NewReno", "Reno")
    judged = [
        claims.ascending(f"{home}.order.{error}", f"from least to most, scenario {error}", {n: mine[n] for n in order})
        for error, mine in means.items()
    ]
    return judged + close(home, means, _EO, 0.3, "%")


def _tab55(home: str, means: Averages) -> list[Claim]:
    judged = []
    for error, mine in means.items():
        best = max(_OTHERS, key=lambda name: mean_ci95(list(mine[name]))[0])
        text = f"E2TCP is fastest, scenario {error}"
        judged.append(claims.ascending(f"{home}.fastest.{error}", text, {best: mine[best], "E2TCP": mine["E2TCP"]}))
    ours = {name: means["A"][name] for name in ("Reno", "NewReno", "Tahoe")}
    judged.append(claims.ascending(f"{home}.order.A", "from slowest to fastest TCP, scenario A", ours))
    three = [mean_ci95(list(means["B"][name]))[0] for name in _OTHERS]
    text = "fastest over slowest TCP, scenario B"
    judged.append(claims.between(f"{home}.equal.B", text, "about equal", max(three) / min(three), 1.0, 1.1))
    return judged + close(home, means, _THROUGHPUT, 0.15, "Mbps")


def _tab56(home: str, means: Averages) -> list[Claim]:
    judged = []
    for error, mine in means.items():
        best = min(_OTHERS, key=lambda name: mean_ci95(list(mine[name]))[0])
        text = f"E2TCP has the lowest latency, scenario {error}"
        judged.append(claims.ascending(f"{home}.lowest.{error}", text, {"E2TCP": mine["E2TCP"], best: mine[best]}))
    ours = {name: means["A"][name] for name in ("NewReno", "Tahoe", "Reno")}
    judged.append(claims.ascending(f"{home}.order.A", "from least to most among TCPs, scenario A", ours))
    return judged + close(home, means, _LATENCY, 0.2, "ms")


# Statements of the text.


def _tahoe(item: Reproduction, results: Results) -> Outcome:
    """Which TCP is the most efficient one."""
    home = f"e2tcp/{item.place}"
    tcps: tuple[Curve, ...] = (TAHOE, NEWRENO, RENO)
    means = averages(tcps, results)
    outcome = Outcome()
    for error, mine in means.items():
        text = f"Tahoe spends least, Reno most, scenario {error}"
        order = {curve.name: mine[curve.name] for curve in tcps}
        outcome.claims.append(claims.ascending(f"{home}.{error}", text, order, slight=error == "B"))
        for curve in tcps:
            outcome.values.append(_value("EO", {"error": error, **curve.at, "radio": "intermediate"}, mine[curve.name]))
    first, second = (mean_ci95(means["B"][name])[0] for name in ("Tahoe", "NewReno"))
    text = "NewReno's average over Tahoe's, scenario B: hardly apart"
    outcome.claims.append(claims.within(f"{home}.B.close", text, 54.9 / 54.5, second / first, 0.05))
    rows = [[curve.name, *(f"{mean_ci95(means[error][curve.name])[0]:.1f} %" for error in means)] for curve in tcps]
    outcome.tables.append(Table(["average EO", "A", "B"], rows))
    return outcome


def _value(what: str, at: dict[str, str | float], samples: list[float]) -> Value:
    return Value(what, at, *mean_ci95(samples), UNITS.get(what, "%"))


def _head(item: Reproduction, results: Results) -> Outcome:
    """The abstract: E2TCP is best in energy, throughput and latency, wherever one looks."""
    home = f"e2tcp/{item.place}"
    outcome, rows = Outcome(), []
    for what, radio in (
        ("EO", "always-active"),
        ("EO", "intermediate"),
        ("EO", "ideal"),
        ("throughput", ""),
        ("latency", ""),
    ):
        name = f"{what} {radio}".strip()
        for error in GRID:
            series = {curve.name: curve.series(results, error, what, radio) for curve in FOUR}
            ours, others = series["E2TCP"], [series[other] for other in _OTHERS]
            turn: Callable[[float], float] = float.__neg__ if what == "throughput" else float.__pos__
            signed = [one.mapped(what, one.unit, turn) for one in (ours, *others)]
            judged = claims.lower_everywhere("", signed[0], signed[1:])
            text = f"E2TCP is best in {name} at every point of scenario {error}"
            id_ = f"{home}.{name.lower().replace(' ', '-')}.{error}"
            outcome.claims.append(replace(judged, id=id_, text=text))
            rows.append([name, error, str(judged.here)])
            outcome.values += [value for one in series.values() for value in one.values()]
    outcome.tables.append(Table(["E2TCP best in", "scenario", "points"], rows))
    return outcome


HEAD = Reproduction("head", "E2TCP against three TCPs, every point of both scenarios", _head, points_of(FOUR))

REPRODUCTIONS = (
    *_in_both(("fig5.21", "fig5.22"), "Data overhead", "DO", _do_a, _do_b),
    *_in_both(("fig5.23", "fig5.24"), "Time overhead", "TO", _to_a, _to),
    *_energy(),
    Reproduction("sec5.6.1.tahoe", "The most energy-efficient TCP", _tahoe, points_of((TAHOE, NEWRENO, RENO))),
    *_in_both(("fig5.31", "fig5.32"), "Energy efficiency, intermediate radio", "EE", _e2tcp_highest, _e2tcp_highest),
    table("tab5.3", "Average energy overhead", FOUR, "EO", _EO, _tab53, calibrated=CALIBRATED),
)

LATER = (
    *_in_both(("fig5.45", "fig5.46"), "Throughput", "throughput", _throughput_a, _e2tcp_highest),
    table("tab5.5", "Average throughput", FOUR, "throughput", _THROUGHPUT, _tab55),
    figure("fig5.47", "Average latency", "A", FOUR, "latency", _latency),
    figure("fig5.48", "Average latency", "B", FOUR, "latency", e2tcp_lowest),
    table("tab5.6", "Average latency", FOUR, "latency", _LATENCY, _tab56),
)
