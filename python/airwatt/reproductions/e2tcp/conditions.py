"""Other links, other traffic, partial reliability: Tahoe and E2TCP, and what lets data go."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from airwatt.reproductions import claims
from airwatt.reproductions.e2tcp.figures import Averages, ClaimsOf, Curves, averages, figure, points_of, table
from airwatt.reproductions.e2tcp.setup import (
    AVERAGED,
    CALIBRATED,
    DATA,
    E2TCP,
    NAMES,
    PRTP_WINDOW,
    RADIO,
    RELIABILITY_WINDOW,
    TAHOE,
    Curve,
    Settings,
)
from airwatt.reproductions.publication import At, Claim, Outcome, Reproduction, Results, Table, Value
from airwatt.reproductions.series import mean_text
from airwatt.statistics import mean_ci95

# Links.

_RATES = (0.5, 1.0, 2.0, 5.0)
_DELAYS = (40, 50, 60, 70)


def _with_rate(transport: str, rate: float) -> Curve:
    settings: Settings = () if rate == 1.0 else (("link.rate", f"{round(1000 * rate)}kbps"),)
    return Curve(f"{NAMES[transport]} {rate:g}", transport, settings, rate_mbps=rate)


def _with_delay(transport: str, delay: int) -> Curve:
    settings: Settings = () if delay == 50 else (("link.delay", f"{delay}ms"),)
    return Curve(f"{NAMES[transport]} {delay}", transport, settings, delay_ms=float(delay))


_RATES_OF = {transport: tuple(_with_rate(transport, rate) for rate in _RATES) for transport in ("tahoe", "e2tcp")}
_DELAYS_OF = tuple(_with_delay(transport, delay) for transport in ("tahoe", "e2tcp") for delay in _DELAYS)

_WORST_S = 1.0
"""The good state of the worst channel, for which the thesis prints numbers."""

Numbers = Sequence[tuple[float, float]]
"""A parameter and what is printed for it."""

_RATES_PRINTED, _DELAYS_PRINTED, _CBR_PRINTED = (
    DATA["printed"][what] for what in ("rates_mbps", "delays_ms", "constant_rates_mbps")
)


def _printed_at(error: str, key: str, numbers: Numbers) -> list[Value]:
    """Printed overheads of Tahoe in the worst channel, by the parameter `key`."""
    at: At = {"error": error, "transport": "tahoe", "radio": RADIO, "good_s": _WORST_S}
    return [Value("EO", {**at, key: value}, printed, None, "%") for value, printed in numbers]


def _tahoe_at(home: str, curves: Curves, numbers: Numbers, unit: str) -> list[Claim]:
    """Tahoe's overhead in the worst channel within a factor of two of the printed one."""
    return [
        claims.by_factor(
            f"{home}.{value:g}",
            f"Tahoe at {value:g} {unit}, good state 1 s",
            printed,
            curves[f"Tahoe {value:g}"].mean(_WORST_S),
            2,
            "%",
        )
        for value, printed in numbers
    ]


def _e2tcp_lower(home: str, curves: Curves, values: Sequence[float]) -> list[Claim]:
    """E2TCP lower than Tahoe at every good state, a claim for each value of the figure's parameter."""
    return [
        claims.lower_everywhere(f"{home}.lower.{value:g}", curves[f"E2TCP {value:g}"], [curves[f"Tahoe {value:g}"]])
        for value in values
    ]


def _tahoe_rates_b(home: str, curves: Curves, _results: Results) -> list[Claim]:
    return _tahoe_at(home, curves, _RATES_PRINTED["B"], "Mb/s")


def _tahoe_rates(home: str, curves: Curves, _results: Results) -> list[Claim]:
    two, five = curves["Tahoe 2"].mean(_WORST_S), curves["Tahoe 5"].mean(_WORST_S)
    judged = _tahoe_at(home, curves, _RATES_PRINTED["A"], "Mb/s")
    judged.append(claims.within(f"{home}.ratio", "5 Mb/s over 2 Mb/s, good state 1 s", 2.6, five / two, 0.3))
    for slow, fast in pairwise(_RATES):
        id_ = f"{home}.rises.{fast:g}"
        judged.append(claims.lower_everywhere(id_, curves[f"Tahoe {slow:g}"], [curves[f"Tahoe {fast:g}"]]))
    judged += [claims.rises(f"{home}.rises-with-errors.{rate:g}", curves[f"Tahoe {rate:g}"]) for rate in _RATES]
    return judged


def _e2tcp_rates(home: str, curves: Curves, results: Results) -> list[Claim]:
    tahoe = {curve.name: curve.series(results, "A", "EO") for curve in _RATES_OF["tahoe"]}
    judged, factors = [], []
    for rate in _RATES:
        ours, theirs = curves[f"E2TCP {rate:g}"], tahoe[f"Tahoe {rate:g}"]
        judged.append(claims.lower_everywhere(f"{home}.lower.{rate:g}", ours, [theirs]))
        factors += [theirs.mean(x) / ours.mean(x) for x in ours.xs]
    share = sum(factor >= 2 for factor in factors) / len(factors)
    text = "share of all points at which Tahoe spends at least twice as much"
    judged.append(claims.between(f"{home}.twice", text, "usually", share, 0.5, 1.0))
    over = [float(good) for good in AVERAGED["A"]]
    growth = [
        [
            fast - slow
            for fast, slow in zip(
                found[f"{name} {_RATES[-1]:g}"].average(over), found[f"{name} {_RATES[0]:g}"].average(over), strict=True
            )
        ]
        for name, found in (("E2TCP", curves), ("Tahoe", tahoe))
    ]
    text = "what 5 Mb/s add to the average at 0.5 Mb/s, in points: E2TCP grows no faster"
    judged.append(claims.ascending(f"{home}.scales", text, dict(zip(("E2TCP", "Tahoe"), growth, strict=True))))
    return judged


def _e2tcp_rates_b(home: str, curves: Curves, results: Results) -> list[Claim]:
    tahoe = {curve.name: curve.series(results, "B", "EO") for curve in _RATES_OF["tahoe"]}
    return _e2tcp_lower(home, {**curves, **tahoe}, _RATES)


def _delays(error: str) -> ClaimsOf:
    def claims_of(home: str, curves: Curves, _results: Results) -> list[Claim]:
        found = _tahoe_at(home, curves, _DELAYS_PRINTED[error], "ms")
        if error == "A":
            text = "Tahoe at 40 ms, good state 1 s"
            found.append(
                claims.between(f"{home}.40", text, "below 140", curves["Tahoe 40"].mean(_WORST_S), 0.0, 140.0, "%")
            )
        growth = {f"{delay} ms": curves[f"Tahoe {delay}"].samples[_WORST_S] for delay in _DELAYS}
        found.append(claims.ascending(f"{home}.growth", "Tahoe, good state 1 s: grows with the delay", growth))
        found += _e2tcp_lower(home, curves, _DELAYS)
        added = {
            name: curves[f"{name} {_DELAYS[-1]}"].mean(_WORST_S) - curves[f"{name} {_DELAYS[0]}"].mean(_WORST_S)
            for name in ("E2TCP", "Tahoe")
        }
        text = "what 70 ms add to the overhead at 40 ms, good state 1 s: E2TCP over Tahoe"
        share = added["E2TCP"] / added["Tahoe"]
        found.append(claims.between(f"{home}.sensitive", text, "far less sensitive", share, -1.0, 0.5))
        return found

    return claims_of


def _rates() -> tuple[Reproduction, ...]:
    rows: tuple[tuple[str, str, str, ClaimsOf], ...] = (
        ("fig5.33", "tahoe", "A", _tahoe_rates),
        ("fig5.34", "e2tcp", "A", _e2tcp_rates),
        ("fig5.35", "tahoe", "B", _tahoe_rates_b),
        ("fig5.36", "e2tcp", "B", _e2tcp_rates_b),
    )
    return (
        *(
            figure(
                place,
                f"{NAMES[transport]} on faster links",
                error,
                _RATES_OF[transport],
                claims_of=claims_of,
                by=("rate_mbps",),
                # The claims about E2TCP compare it with Tahoe, of which alone numbers are printed.
                also=points_of(_RATES_OF["tahoe"], (error,)),
                printed=_printed_at(error, "rate_mbps", _RATES_PRINTED[error]) if transport == "tahoe" else (),
                log_y=True,
            )
            for place, transport, error, claims_of in rows
        ),
        *(
            figure(
                place,
                "Longer delays",
                error,
                _DELAYS_OF,
                claims_of=_delays(error),
                by=("delay_ms", "transport"),
                printed=_printed_at(error, "delay_ms", _DELAYS_PRINTED[error]),
            )
            for place, error in (("fig5.37", "A"), ("fig5.38", "B"))
        ),
    )


# Traffic.

_GAPS = (0.5, 0.2, 0.1, 0.05)
_CBR = (0.25, 0.5, 1.0)


def _interactive(transport: str, gap: float) -> Curve:
    settings: Settings = (
        ("flow.application.kind", "interactive"),
        ("flow.application.mean_gap", f"{round(1000 * gap)}ms"),
        ("flow.application.size", "1MB"),
    )
    return Curve(f"{NAMES[transport]} {gap:g}", transport, settings, cost_s=0.001, mean_gap_s=gap)


def _constant(transport: str, rate: float) -> Curve:
    settings: Settings = (
        ("flow.application.kind", "cbr"),
        ("flow.application.rate", f"{round(1000 * rate)}kbps"),
        ("flow.application.size", f"{round(20_000 * rate)}kB"),
    )
    return Curve(f"{NAMES[transport]} {rate:g}", transport, settings, cost_s=0.01 * rate, rate_mbps=rate)


_INTERACTIVE = tuple(_interactive(transport, gap) for transport in ("tahoe", "e2tcp") for gap in _GAPS)
_CONSTANT = tuple(_constant(transport, rate) for transport in ("tahoe", "e2tcp") for rate in _CBR)


def _ratios(curves: Curves, error: str) -> dict[float, list[float]]:
    """Tahoe's average over E2TCP's for each seed, by the gap."""
    over = [float(good) for good in AVERAGED[error]]
    average = {name: series.average(over) for name, series in curves.items()}
    return {gap: claims.ratios(average[f"Tahoe {gap:g}"], average[f"E2TCP {gap:g}"]) for gap in _GAPS}


def _interactive_a(home: str, curves: Curves, _results: Results) -> list[Claim]:
    judged = []
    over = [float(good) for good in AVERAGED["A"]]
    means = {name: mean_ci95(series.average(over))[0] for name, series in curves.items()}
    for gap in _GAPS:
        ratio = means[f"Tahoe {gap:g}"] / means[f"E2TCP {gap:g}"]
        text = f"Tahoe's average over E2TCP's, a packet every {gap:g} s"
        judged.append(claims.between(f"{home}.ratio.{gap:g}", text, "about 2", ratio, 1.5, 3.0))
    for name in ("Tahoe", "E2TCP"):
        mine = [means[f"{name} {gap:g}"] for gap in _GAPS]
        text = f"{name}: highest over lowest average of the four gaps, which barely matter"
        judged.append(claims.between(f"{home}.gap.{name.lower()}", text, "about 1", max(mine) / min(mine), 1.0, 1.5))
    rates = [8 / gap for gap in (_GAPS[0], _GAPS[-1])]
    text = "data rates of the slowest and the fastest traffic"
    judged.append(claims.exactly(f"{home}.rates", text, "16 to 160", f"{rates[0]:g} to {rates[1]:g}", "kb/s"))
    return judged


def _interactive_b(home: str, curves: Curves, results: Results) -> list[Claim]:
    judged = [
        claims.lower_everywhere(f"{home}.lower.{gap:g}", curves[f"E2TCP {gap:g}"], [curves[f"Tahoe {gap:g}"]])
        for gap in _GAPS
    ]
    in_a = _ratios({curve.name: curve.series(results, "A", "EO") for curve in _INTERACTIVE}, "A")
    for gap, ratio in _ratios(curves, "B").items():
        text = f"Tahoe's average over E2TCP's is smaller than in scenario A, a packet every {gap:g} s"
        here = f"{mean_ci95(ratio)[0]:.2f}, in A {mean_ci95(in_a[gap])[0]:.2f}"
        judged.append(claims.ordered(f"{home}.gap.{gap:g}", text, "smaller", here, [(ratio, in_a[gap])]))
    return judged


_LONG_S = 10.0
"""Good states from here on have bad ones of a second and more in scenario B: the long ones."""
_EQUAL = 0.5
"""Overheads of two transports are equal, as far as a curve shows it, within this share of the larger one."""


def _constant_a(home: str, curves: Curves, _results: Results) -> list[Claim]:
    judged = _tahoe_at(home, curves, _CBR_PRINTED["A"], "Mb/s")
    judged += _e2tcp_lower(home, curves, _CBR)
    over = [float(good) for good in AVERAGED["A"]]
    growth = {
        name: [
            fast - slow
            for slow, fast in zip(
                curves[f"{name} {_CBR[0]:g}"].average(over), curves[f"{name} {_CBR[-1]:g}"].average(over), strict=True
            )
        ]
        for name in ("E2TCP", "Tahoe")
    }
    text = "what 1 Mb/s adds to the average at 0.25 Mb/s, in points: E2TCP scales better"
    return [*judged, claims.ascending(f"{home}.scales", text, growth)]


def _constant_b(home: str, curves: Curves, _results: Results) -> list[Claim]:
    judged = _tahoe_at(home, curves, _CBR_PRINTED["B"], "Mb/s")
    for rate in _CBR:
        ours, theirs = curves[f"E2TCP {rate:g}"], curves[f"Tahoe {rate:g}"]
        low = rate < _CBR[-1]
        pairs = {x: (ours.samples[x], theirs.samples[x]) for x in ours.xs if not (low and x >= _LONG_S)}
        text = f"E2TCP lower than Tahoe at {rate:g} Mb/s" + (", long bad states apart" if low else "")
        judged.append(claims.by_places(f"{home}.lower.{rate:g}", text, pairs))
    slow = _CBR[0]
    apart = 0.0
    for x in (x for x in curves[f"E2TCP {slow:g}"].xs if x >= _LONG_S):
        both = [curves[f"{name} {slow:g}"].mean(x) for name in ("E2TCP", "Tahoe")]
        apart = max(apart, abs(both[0] - both[1]) / max(both))
    text = f"largest difference of the two at {slow:g} Mb/s and long bad states, over the larger one"
    return [*judged, claims.between(f"{home}.equal", text, "equal", apart, 0.0, _EQUAL)]


def _saturation(item: Reproduction, results: Results) -> Outcome:
    """Constant traffic at the link's rate against the mass transfer."""
    home = f"e2tcp/{item.place}"
    outcome, rows = Outcome(), []
    for mass, constant in zip((TAHOE, E2TCP), (_CONSTANT[2], _CONSTANT[5]), strict=True):
        means = averages((mass, constant), results)
        for error, mine in means.items():
            first, second = (mean_ci95(mine[curve.name]) for curve in (mass, constant))
            for application, (mean, ci95) in (("bulk", first), ("cbr", second)):
                at = {"error": error, **mass.at, "application": application, "radio": "intermediate"}
                outcome.values.append(Value("EO", at, mean, ci95, "%"))
            text = f"{mass.name}: average at 1 Mb/s over that of the mass transfer, scenario {error}"
            id_ = f"{home}.{mass.transport}.{error}"
            outcome.claims.append(claims.within(id_, text, 1.0, second[0] / first[0], 0.02))
            rows.append([f"{mass.name}, {error}", mean_text(mine[mass.name]), mean_text(mine[constant.name])])
    outcome.tables.append(Table(["average EO (%)", "mass transfer", "1 Mb/s"], rows))
    return outcome


def _traffic() -> tuple[Reproduction, ...]:
    gaps, rates = ("mean_gap_s", "transport"), ("rate_mbps", "transport")
    constant = (TAHOE, E2TCP, _CONSTANT[2], _CONSTANT[5])
    in_a = points_of(_INTERACTIVE, ("A",))
    return (
        figure("fig5.39", "Interactive traffic", "A", _INTERACTIVE, claims_of=_interactive_a, by=gaps),
        figure("fig5.40", "Interactive traffic", "B", _INTERACTIVE, claims_of=_interactive_b, by=gaps, also=in_a),
        *(
            figure(
                place,
                "Traffic at a constant rate",
                error,
                _CONSTANT,
                claims_of=claims_of,
                by=rates,
                printed=_printed_at(error, "rate_mbps", _CBR_PRINTED[error]),
            )
            for place, error, claims_of in (("fig5.41", "A", _constant_a), ("fig5.42", "B", _constant_b))
        ),
        Reproduction("sec5.6.4.saturation", "Constant traffic at the link's rate", _saturation, points_of(constant)),
    )


# Partial reliability.

_TAHOE = Curve("Tahoe", "tahoe", reliability=100.0)
_PRTP = Curve("PRTP 90", "prtp", (("flow.reliability", "90"), PRTP_WINDOW), reliability=90.0)
_E2TCP_95 = Curve("E2TCP 95", "e2tcp", (("flow.reliability", "95"), RELIABILITY_WINDOW), reliability=95.0)
_E2TCP_90 = Curve("E2TCP 90", "e2tcp", (("flow.reliability", "90"), RELIABILITY_WINDOW), reliability=90.0)
_PARTIAL = (_TAHOE, _PRTP, _E2TCP_95, _E2TCP_90)
_EO = DATA["printed"]["tab5_4"]


def _printed(error: str, points: Sequence[tuple[float, float]]) -> list[Value]:
    at: At = {"error": error, "transport": "tahoe", "reliability": 100.0, "radio": RADIO}
    return [Value("EO", {**at, "good_s": good}, printed, None, "%") for good, printed in points]


def _partial(error: str, points: Sequence[tuple[float, float]]) -> Callable[[str, Curves, Results], list[Claim]]:
    def claims_of(home: str, curves: Curves, _results: Results) -> list[Claim]:
        found = [
            claims.by_factor(
                f"{home}.{good:g}", f"Tahoe, good state {good:g} s", printed, curves["Tahoe"].mean(good), 2, "%"
            )
            for good, printed in points
        ]
        found += [
            claims.lower_everywhere(f"{home}.prtp", curves["PRTP 90"], [curves["Tahoe"]]),
            claims.lower_everywhere(f"{home}.lowest", curves["E2TCP 90"], [curves["Tahoe"], curves["PRTP 90"]]),
            # In good channels 95 % lets everything go as well, and the two are one.
            claims.lower_everywhere(f"{home}.lowest.95", curves["E2TCP 90"], [curves["E2TCP 95"]], slight=True),
            _but_worst(f"{home}.95", curves),
        ]
        if error == "A":
            found += [
                _flat(f"{home}.flat.{name.lower().replace(' ', '')}", curves, name) for name in ("PRTP 90", "E2TCP 90")
            ]
        return found

    return claims_of


def _but_worst(id_: str, curves: Curves) -> Claim:
    """The worst channels are the two shortest good states."""
    ours, theirs = curves["E2TCP 95"], curves["PRTP 90"]
    text = "E2TCP 95 lower than PRTP 90 except in the worst channels (good states up to 2 s)"
    return claims.by_places(id_, text, {x: (ours.samples[x], theirs.samples[x]) for x in ours.xs if x > 2})


def _flat(id_: str, curves: Curves, name: str) -> Claim:
    """How much of Tahoe's rise along the axis the curve has."""

    def rise(series: str) -> float:
        curve = curves[series]
        means = [curve.mean(x) for x in curve.xs]
        return max(means) - min(means)

    text = f"{name}: span of the curve over Tahoe's, almost flat"
    return claims.between(id_, text, "almost 0", rise(name) / rise("Tahoe"), 0.0, 0.15)


def _tab54(home: str, means: Averages) -> list[Claim]:
    judged = []
    for error, mine in means.items():
        text = f"from least to most, scenario {error}"
        order = {name: mine[name] for name in ("E2TCP 90", "E2TCP 95", "PRTP 90")}
        judged.append(claims.ascending(f"{home}.order.{error}", text, order))
    for name, both in _EO.items():
        for error, printed in zip("AB", both, strict=True):
            id_ = f"{home}.{name.lower().replace(' ', '')}.{error}"
            here = mean_ci95(list(means[error][name]))[0]
            judged.append(claims.within(id_, f"average of {name}, scenario {error}", printed, here, 0.3, "%"))
    return judged


def _reliability() -> tuple[Reproduction, ...]:
    by = ("transport", "reliability")
    items = []
    for place, error, points in (("fig5.43", "A", [(1.0, 211.0)]), ("fig5.44", "B", [(2.0, 57.0), (1.0, 212.0)])):
        judged, printed = _partial(error, points), _printed(error, points)
        items.append(figure(place, "Partial reliability", error, _PARTIAL, claims_of=judged, by=by, printed=printed))
    items.append(
        table(
            "tab5.4",
            "Average energy overhead under partial reliability",
            _PARTIAL,
            "EO",
            _EO,
            _tab54,
            by,
            calibrated=CALIBRATED,
        )
    )
    return tuple(items)


REPRODUCTIONS = (*_rates(), *_traffic(), *_reliability())
