"""The measurements of 2010, simulated: ten stations behind three access points, without and with 50 ms of delay."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from airwatt.reproductions import claims
from airwatt.reproductions.hashimoto_2010.figures import about, above, mixes, per_flow, windows
from airwatt.reproductions.hashimoto_2010.setup import (
    BED_2010,
    ESTIMATED,
    METHOD,
    MIXES,
    PLAIN,
    Bed,
    mean,
)
from airwatt.reproductions.publication import Claim, Outcome, Point, Reproduction, Results, Table, Value
from airwatt.reproductions.series import Series, mean_text
from airwatt.statistics import mean_ci95

DOCUMENT = "hashimoto-2010"
at_access_point, delayed = BED_2010.at_access_point, BED_2010.delayed
_PARTS = {"ten down": 0, "five and five": 5, "ten up": 10}
_SAME_NIC = "The same runs as with the Buffalo NIC: nothing is known that would tell the two apart on the air."


def of_mixes(bed: Bed, home: str, results: Results, access_point: str) -> list[Claim]:
    """What both documents say of throughputs over the mixes, for one access point."""

    def at(up: int, method: str, key: str) -> float:
        return mean(results, bed.at_access_point(up, method, access_point), key)

    mixed = [up for up in MIXES if 0 < up < 10]
    ratios = [at(up, PLAIN, "mean up") / max(at(up, PLAIN, "mean down"), 1e-9) for up in mixed]
    starved = sum(at(up, METHOD, "starved") for up in MIXES)

    def totals(up: int, method: str) -> list[float]:
        return results.column(bed.at_access_point(up, method, access_point), "total")

    total = {float(up): (totals(up, METHOD), totals(up, PLAIN)) for up in MIXES[1:]}
    unfair = sum(ratio > 5 for ratio in ratios) / len(ratios)
    down = at(0, METHOD, "total") / at(0, PLAIN, "total")
    return [
        claims.between(f"{home}.unfair", "Reno: share of mixes with up over five times down", "all", unfair, 0.85, 1.0),
        claims.between(f"{home}.starved", "the method: starved flows, all mixes together", "0", starved, 0.0, 1.0),
        claims.by_places(
            f"{home}.total", "slightly lower total with the method, over the flows up", total, slight=True
        ),
        claims.between(f"{home}.down", "ten down: total with the method over Reno's", "1", down, 0.95, 1.05),
        *(_small_gain if access_point == "NEC" else _large_gain)(bed, home, results, access_point),
    ]


def _gap(bed: Bed, results: Results, access_point: str) -> list[float]:
    """The gap between an up and a down flow with the method over Reno's, for each seed, in the mix where it is largest.

    The gaps are those of the throughputs' means over the seeds, of which each run has its share.
    """

    def apart(up: int, method: str) -> list[float]:
        point = bed.at_access_point(up, method, access_point)
        gaps = claims.differences(results.column(point, "mean up"), results.column(point, "mean down"))
        sign = 1 if mean_ci95(gaps)[0] >= 0 else -1
        return [sign * gap for gap in gaps]

    def over(up: int) -> list[float]:
        plain, _ = mean_ci95(apart(up, PLAIN))
        return [gap / plain for gap in apart(up, METHOD)]

    return max((over(up) for up in MIXES if 0 < up < 10), key=lambda ratios: mean_ci95(ratios)[0])


def _timeouts(bed: Bed, results: Results, access_point: str, method: str) -> float:
    """The most timeouts of an up flow in any mix."""
    return max(mean(results, bed.at_access_point(up, method, access_point), "timeouts up") / up for up in MIXES[1:])


def _large_gain(bed: Bed, home: str, results: Results, access_point: str) -> list[Claim]:
    plain, ours = (_timeouts(bed, results, access_point, method) for method in (PLAIN, METHOD))
    text = f"the method: most timeouts of an up flow in 180 s (Reno: {plain:.1f})"
    gap, _ = mean_ci95(_gap(bed, results, access_point))
    return [
        claims.between(f"{home}.gap", "the method's largest gap of up and down over Reno's", "small", gap, 0, 0.5),
        claims.between(f"{home}.timeouts", text, "0", ours, 0.0, 0.5),
    ]


def _small_gain(bed: Bed, home: str, results: Results, access_point: str) -> list[Claim]:
    """Behind the smallest buffer the method helps less, and does see timeouts."""
    mine = _gap(bed, results, access_point)
    judged = []
    for other in ("Buffalo", "Corega"):
        theirs = _gap(bed, results, other)
        text = f"the largest gap of up and down over Reno's: larger than behind the {other} access point"
        id_ = f"{home}.gap.{other.lower()}"
        here = f"{mean_ci95(mine)[0]:.2f}, {mean_ci95(theirs)[0]:.2f}"
        judged.append(claims.ordered(id_, text, "larger", here, [(theirs, mine)]))
    text = "the method: most timeouts of an up flow in 180 s"
    ours = _timeouts(bed, results, access_point, METHOD)
    return [*judged, claims.between(f"{home}.timeouts", text, "some", ours, 0.5, 1e3)]


def _fig7(home: str, results: Results) -> list[Claim]:
    judged = []
    for access_point in BED_2010.buffers:
        judged += of_mixes(BED_2010, f"{home}.{access_point.lower()}", results, access_point)
    return judged


def _all_mixes(place: str, shows: str, notes: tuple[str, ...] = ()) -> Reproduction:
    """One reproduction for the three access points; the picture has the Buffalo one."""
    one = mixes(DOCUMENT, place, shows, lambda up, method: at_access_point(up, method), (PLAIN, METHOD), _fig7, notes)
    points = [
        at_access_point(up, method, access_point)
        for access_point in BED_2010.buffers
        for up in MIXES
        for method in (PLAIN, METHOD)
    ]

    def compute(item: Reproduction, results: Results) -> Outcome:
        outcome = one.compute(item, results)
        for access_point in ("NEC", "Corega"):
            for up in MIXES:
                for method in (PLAIN, METHOD):
                    for key in ("mean up", "mean down", "total"):
                        column = results.column(at_access_point(up, method, access_point), key)
                        at: dict[str, str | float] = {"up": float(up), "method": method, "access_point": access_point}
                        outcome.values.append(Value(f"{key} {access_point}", at, *mean_ci95(column), "Mb/s"))
        return outcome

    return Reproduction(place, shows, compute, tuple(dict.fromkeys(points)), one.picture)


# Each flow by itself.


def _fig5(home: str, results: Results) -> list[Claim]:
    each = {name: results.column(at_access_point(10, PLAIN, name), "starved") for name in BED_2010.buffers}
    starved = {name: mean_ci95(column)[0] for name, column in each.items()}
    judged = [
        claims.between(f"{home}.{name.lower()}", f"{name}: starved flows of ten", "some", number, 0.5, 9.0)
        for name, number in starved.items()
    ]
    for other in ("Buffalo", "NEC"):
        here = f"{starved['Corega']:.1f}, {starved[other]:.1f}"
        text = f"fewer starved with the Corega than with the {other} access point"
        pair = [(each["Corega"], each[other])]
        judged.append(claims.ordered(f"{home}.fewer.{other.lower()}", text, "fewer", here, pair))
    return judged


def _fig6(home: str, results: Results) -> list[Claim]:
    return [
        claims.between(
            f"{home}.{name.lower()}",
            f"{name}: Jain's index with the method",
            "nearly equal throughputs",
            mean(results, at_access_point(10, METHOD, name), "jain"),
            0.9,
            1.0,
        )
        for name in BED_2010.buffers
    ]


def _each(method: str) -> dict[str, Point]:
    return {name: at_access_point(10, method, name) for name in BED_2010.buffers}


# Indices over windows.

Curves = Mapping[str, Mapping[str, Series]]


def _points(access_point: str) -> dict[str, dict[str, Point]]:
    return {
        part: {method: at_access_point(up, method, access_point) for method in (PLAIN, METHOD)}
        for part, up in _PARTS.items()
    }


def _better(home: str, curves: Curves, *, much: bool = False) -> list[Claim]:
    """Equal with ten down; the method better with flows up."""
    down = curves["ten down"]
    judged = [about(f"{home}.down", "ten down, Reno and the method", down[PLAIN], down[METHOD], 0.01)]
    for part in ("five and five", "ten up"):
        id_ = f"{home}.{part.replace(' ', '-')}"
        judged.append(above(id_, curves[part][METHOD], curves[part][PLAIN], part))
        if much:
            gain = curves[part][METHOD].mean(10.0) / curves[part][PLAIN].mean(10.0)
            judged.append(claims.between(f"{id_}.gain", f"{part}: gain at 10 s", "much", gain, 1.3, 100.0))
    return judged


def _fig9(home: str, curves: Curves) -> list[Claim]:
    judged = _better(home, curves, much=True)
    for part in ("five and five", "ten up"):
        text = f"the method, {part} and ten down at 10 s: ratio"
        ratio = curves[part][METHOD].mean(10.0) / curves["ten down"][METHOD].mean(10.0)
        judged.append(claims.between(f"{home}.as-down.{part.replace(' ', '-')}", text, "about 1", ratio, 0.85, 1.2))
    return judged


def _fig10(home: str, curves: Curves) -> list[Claim]:
    judged = _better(home, {part: curves[part] for part in _PARTS})
    for part in ("five and five", "ten up"):
        gains = [
            claims.differences(curves[prefix + part][METHOD].samples[10.0], curves[prefix + part][PLAIN].samples[10.0])
            for prefix in ("", "Buffalo, ")
        ]
        text = f"{part}: gain at 10 s below that with the Buffalo access point"
        here = ", ".join(f"{mean_ci95(gain)[0]:.3f}" for gain in gains)
        id_ = f"{home}.less.{part.replace(' ', '-')}"
        judged.append(claims.ordered(id_, text, "below", here, [(gains[0], gains[1])]))
    return judged


def _fig11(home: str, curves: Curves) -> list[Claim]:
    judged = [above(f"{home}.ten-up", curves["ten up"][METHOD], curves["ten up"][PLAIN], "ten up")]
    for other in ("Buffalo", "NEC"):
        theirs, ours = (curves[part][PLAIN].samples[10.0] for part in (f"{other}, ten up", "ten up"))
        text = f"Reno with ten up at 10 s: better than with the {other} access point"
        here = f"{mean_ci95(ours)[0]:.3f}, {mean_ci95(theirs)[0]:.3f}"
        judged.append(claims.ordered(f"{home}.{other.lower()}", text, "better", here, [(theirs, ours)]))
    return judged


def _fig15(home: str, curves: Curves) -> list[Claim]:
    return _better(home, curves, much=True)


def _fig17(home: str, curves: Curves) -> list[Claim]:
    """The gain in fairness offsets the loss of throughput."""
    return [
        claims.between(
            f"{home}.{part.replace(' ', '-')}",
            f"{part}: the method over Reno at 10 s",
            "about 1",
            curves[part][METHOD].mean(10.0) / curves[part][PLAIN].mean(10.0),
            0.8,
            1.25,
        )
        for part in _PARTS
    ]


def _windowed(
    place: str,
    access_point: str,
    index: str,
    claims_of: Callable[[str, Curves], list[Claim]],
    nic: str,
    others: tuple[str, ...] = (),
) -> Reproduction:
    name = "Jain's index" if index == "jain" else "The index of 2010"
    shows = f"{name} by the sliding-window method, {access_point} access point, {nic} NIC"
    also = {f"{other}, {part}": points for other in others for part, points in _points(other).items()}
    notes = (_SAME_NIC,) if nic == "NEC" else ()
    return windows(DOCUMENT, place, shows, _points(access_point), index, claims_of, notes, also)


# With the delay router.


_THREE = (PLAIN, METHOD, ESTIMATED)


def fig21a(home: str, results: Results) -> list[Claim]:
    """Delayed acknowledgements off: estimation changes nothing."""
    judged = []
    apart = {
        up: mean(results, delayed(up, ESTIMATED, False), "total") / mean(results, delayed(up, METHOD, False), "total")
        for up in MIXES[1:]
    }
    worst = max(apart, key=lambda up: abs(apart[up] - 1))
    text = f"total with estimation over total without, where they differ most (here {worst} up)"
    judged.append(claims.between(f"{home}.same", text, "1", apart[worst], 0.95, 1.05))
    for method in (METHOD, ESTIMATED):
        for up in (5, 10):
            jain = mean(results, delayed(up, method, False), "jain")
            id_ = f"{home}.fair.{method.replace(', b ', '-')}.{up}"
            judged.append(claims.between(id_, f"{method}: Jain's index, {up} up", "fair", jain, 0.85, 1.0))
    for up in (5, 10):
        jain = mean(results, delayed(up, PLAIN, False), "jain")
        judged.append(claims.between(f"{home}.unfair.{up}", f"Reno: Jain's index, {up} up", "not fair", jain, 0.1, 0.8))
    return judged


def in_delay(bed: Bed, on: bool, home: str, results: Results, methods: Sequence[str]) -> list[Claim]:
    """What delayed acknowledgements do to the totals and the fairness of Reno and of the method with estimation."""
    judged = []
    for up in (5, 10):
        for method in methods:
            name = f"{method.replace(', b ', '-')}.{up}"
            jain = mean(results, bed.delayed(up, method, on), "jain")
            low, high, paper = (0.1, 0.8, "not fair") if method == PLAIN else (0.85, 1.0, "fair")
            judged.append(
                claims.between(f"{home}.jain.{name}", f"{method}: Jain's index, {up} up", paper, jain, low, high)
            )
            if on:
                totals = [results.column(bed.delayed(up, method, is_on), "total") for is_on in (True, False)]
                text = f"{method}, {up} up: total with delayed ACK over that without"
                judged.append(claims.ratio(f"{home}.total.{name}", text, "above 1", totals[0], totals[1], 1.0, 2.0))
    return judged


def _fig21b(home: str, results: Results) -> list[Claim]:
    judged = []
    for up in (5, 10):
        for other in (PLAIN, ESTIMATED):
            ratio = mean(results, delayed(up, METHOD, True), "total") / mean(results, delayed(up, other, True), "total")
            text = f"{up} up: total of the method without estimation over that of {other}"
            id_ = f"{home}.collapse.{other.replace(', b ', '-')}.{up}"
            judged.append(claims.between(id_, text, "far below 1", ratio, 0.0, 0.5))
    # The text says nothing of the fairness of Reno here; figure 22 does.
    return judged + [
        claim for claim in in_delay(BED_2010, True, home, results, (PLAIN, ESTIMATED)) if ".jain.reno" not in claim.id
    ]


def _part(part: str, on: bool) -> str:
    return f"{part}, delayed ACK {'on' if on else 'off'}"


def _fig22(home: str, curves: Curves) -> list[Claim]:
    judged = []
    for part in ("five and five", "ten up"):
        name = part.replace(" ", "-")
        on, off = (curves[_part(part, is_on)] for is_on in (True, False))
        reno = [one[PLAIN].mean(10.0) for one in (on, off)]
        here = f"{reno[0]:.3f}, {reno[1]:.3f}"
        text = f"{part}: Reno at 10 s is fairer with delayed ACK than without"
        pair = [(off[PLAIN].samples[10.0], on[PLAIN].samples[10.0])]
        judged.append(claims.ordered(f"{home}.{name}.reno", text, "fairer", here, pair))
        text = f"{part}: Reno at 10 s with delayed ACK"
        judged.append(claims.between(f"{home}.{name}.limited", text, "limited", reno[0], 0.1, 0.8))
        text = f"{part}, delayed ACK: the method with and without estimation"
        judged.append(about(f"{home}.{name}.same", text, on[ESTIMATED], on[METHOD], 0.1))
        text = f"{part}, delayed ACK: the method with estimation at 10 s"
        judged.append(
            claims.between(f"{home}.{name}.fair", text, "nearly perfectly fair", on[ESTIMATED].mean(10.0), 0.85, 1.0)
        )
    return judged


def _fig23(home: str, curves: Curves) -> list[Claim]:
    down = curves[_part("ten down", True)]
    judged = [about(f"{home}.down", "ten down, delayed ACK: Reno and the method", down[PLAIN], down[ESTIMATED], 0.05)]
    for part in ("five and five", "ten up"):
        name = part.replace(" ", "-")
        on, off = (curves[_part(part, is_on)] for is_on in (True, False))
        at = {method: one.mean(10.0) for method, one in on.items()}
        here = ", ".join(f"{method} {index:.3f}" for method, index in at.items())
        ends = {method: one.samples[10.0] for method, one in on.items()}
        text = f"{part}, delayed ACK at 10 s: the method without estimation is worst"
        pairs = [(ends[METHOD], ends[other]) for other in (PLAIN, ESTIMATED)]
        judged.append(claims.ordered(f"{home}.{name}.worst", text, "worst", here, pairs))
        text = f"{part}: the method with estimation and delayed ACK is best of all at 10 s"
        others = [ends[PLAIN], ends[METHOD], *(one.samples[10.0] for one in off.values())]
        pairs = [(other, ends[ESTIMATED]) for other in others]
        judged.append(claims.ordered(f"{home}.{name}.best", text, "best", here, pairs))
        for method in (PLAIN, ESTIMATED):
            gain = f"{on[method].mean(10.0):.3f}, {off[method].mean(10.0):.3f}"
            text = f"{part}, {method}: higher with delayed ACK at 10 s"
            id_ = f"{home}.{name}.higher.{method.replace(', b ', '-')}"
            pair = [(off[method].samples[10.0], on[method].samples[10.0])]
            judged.append(claims.ordered(id_, text, "higher", gain, pair))
    return judged


def delay_points(bed: Bed, on: bool, methods: tuple[str, ...] = _THREE) -> dict[str, dict[str, Point]]:
    """Points of the three parts of figures 22 and 23."""
    return {
        f"{part}, delayed ACK {'on' if on else 'off'}": {method: bed.delayed(up, method, on) for method in methods}
        for part, up in _PARTS.items()
    }


def _head(item: Reproduction, results: Results) -> Outcome:
    home = f"{DOCUMENT}/{item.place}"
    outcome = Outcome()
    for name in BED_2010.buffers:
        for up in (5, 10):
            plain, ours = at_access_point(up, PLAIN, name), at_access_point(up, METHOD, name)
            for method, point in ((PLAIN, plain), (METHOD, ours)):
                at: dict[str, str | float] = {"access_point": name, "up": float(up), "method": method}
                for key, unit in (("jain", ""), ("total", "Mb/s"), ("starved", "flows")):
                    outcome.values.append(Value(key, dict(at), *mean_ci95(results.column(point, key)), unit))
            pair = [(results.column(plain, "jain"), results.column(ours, "jain"))]
            here = f"{mean(results, ours, 'jain'):.2f} over {mean(results, plain, 'jain'):.2f}"
            text = f"{name}, {up} up: the method is fairer (Jain)"
            outcome.claims.append(claims.ordered(f"{home}.fair.{name.lower()}.{up}", text, "fairer", here, pair))
            totals = [results.column(point, "total") for point in (ours, plain)]
            text = f"{name}, {up} up: total with the method over Reno's"
            id_ = f"{home}.total.{name.lower()}.{up}"
            outcome.claims.append(
                claims.ratio(id_, text, "slightly lower", totals[0], totals[1], 0.75, 1.0, slight=True)
            )
    for up in (5, 10):
        on, off = (delayed(up, ESTIMATED, is_on) for is_on in (True, False))
        text = f"{up} up: delayed ACK over none, total with estimation"
        totals = [results.column(point, "total") for point in (on, off)]
        outcome.claims.append(claims.ratio(f"{home}.delayed.{up}", text, "higher", totals[0], totals[1], 1.0, 2.0))
        text = f"{up} up: Jain's index with delayed ACK less that without, with estimation"
        change = mean(results, on, "jain") - mean(results, off, "jain")
        outcome.claims.append(claims.between(f"{home}.unhurt.{up}", text, "not hurt", change, -0.05, 1.0))
    return outcome


_HEAD_POINTS = tuple(
    dict.fromkeys(
        [at_access_point(up, method, name) for name in BED_2010.buffers for up in (5, 10) for method in (PLAIN, METHOD)]
        + [delayed(up, ESTIMATED, on) for up in (5, 10) for on in (True, False)]
    )
)
HEAD = Reproduction("head", "The method over three access points", _head, _HEAD_POINTS)


def _why(item: Reproduction, results: Results) -> Outcome:
    """What the total of the method costs: less data beside the acknowledgements."""
    home = f"{DOCUMENT}/{item.place}"
    outcome = Outcome()
    collisions = {}
    for method in (PLAIN, METHOD):
        point = at_access_point(10, method)
        collisions[method] = mean(results, point, "collisions")
        for key, unit in (("collisions", ""), ("total", "Mb/s")):
            outcome.values.append(Value(key, {"method": method}, *mean_ci95(results.column(point, key)), unit))
    outcome.notes.append(
        "2010 blames the balance of data and acknowledgements, 2013 collisions: ten up have "
        f"{collisions[PLAIN]:.0f} with Reno and {collisions[METHOD]:.0f} with the method."
    )
    totals = [results.column(at_access_point(10, method), "total") for method in (METHOD, PLAIN)]
    here = ", ".join(f"{mean_ci95(total)[0]:.2f}" for total in totals) + " Mb/s"
    text = "less data with the method, ten up"
    outcome.claims.append(claims.ordered(f"{home}.total", text, "less", here, [(totals[0], totals[1])]))
    return outcome


_LONG = at_access_point(10, PLAIN)
_LONG = replace(_LONG, overrides=(*_LONG.overrides, ("duration", "1000s")), cost_s=5 * _LONG.cost_s)
"""Ten up with Reno, for a thousand seconds instead of 180."""


def _duration(item: Reproduction, results: Results) -> Outcome:
    """Who gets nothing over 950 s has starved for that long."""
    outcome, rows = Outcome(), []
    for seconds, point in ((180, at_access_point(10, PLAIN)), (1000, _LONG)):
        row = [f"{seconds}"]
        for key, unit in (("starved", "flows"), ("least", "Mb/s"), ("jain", "")):
            column = results.column(point, key)
            outcome.values.append(Value(key, {"duration_s": float(seconds)}, *mean_ci95(column), unit))
            row.append(mean_text(column))
        rows.append(row)
    outcome.tables.append(Table(["until (s)", "starved of ten", "least Mb/s", "Jain"], rows))
    text = "flows of ten below a tenth of their share over 50 to 1000 s"
    starved = mean(results, _LONG, "starved")
    outcome.claims.append(
        claims.between(f"{DOCUMENT}/{item.place}.starved", text, "hundreds to thousands of seconds", starved, 0.5, 9.0)
    )
    return outcome


DURATION = Reproduction(
    "sec2.1.duration", "How long a flow starves, Buffalo access point", _duration, (at_access_point(10, PLAIN), _LONG)
)


def _fig21(on: bool) -> Reproduction:
    letter = "b" if on else "a"
    shows = f"Ten flows with 50 ms of delay, delayed ACK {'on' if on else 'off'}"
    judged = _fig21b if on else fig21a
    also = [delayed(up, method, False) for up in (5, 10) for method in (PLAIN, ESTIMATED)] if on else ()
    return mixes(
        DOCUMENT, f"fig21{letter}", shows, lambda up, method: delayed(up, method, on), _THREE, judged, also=also
    )


_DELAY_PARTS = {**delay_points(BED_2010, False), **delay_points(BED_2010, True)}

FIGURES = (
    per_flow(DOCUMENT, "fig5", "Ten up flows with Reno, three access points", _each(PLAIN), _fig5),
    per_flow(DOCUMENT, "fig6", "Ten up flows with the method, three access points", _each(METHOD), _fig6),
    _all_mixes("fig7", "From ten down to ten up, Buffalo NIC"),
    _all_mixes("fig8", "From ten down to ten up, NEC NIC", (_SAME_NIC,)),
    Reproduction(
        "sec5.3.1.why", "Why the total falls", _why, tuple(at_access_point(10, method) for method in (PLAIN, METHOD))
    ),
    _windowed("fig9", "Buffalo", "jain", _fig9, "Buffalo"),
    _windowed("fig10", "NEC", "jain", _fig10, "Buffalo", ("Buffalo",)),
    _windowed("fig11", "Corega", "jain", _fig11, "Buffalo", ("Buffalo", "NEC")),
    _windowed("fig12", "Buffalo", "jain", _fig9, "NEC"),
    _windowed("fig13", "NEC", "jain", _fig10, "NEC", ("Buffalo",)),
    _windowed("fig14", "Corega", "jain", _fig11, "NEC", ("Buffalo", "NEC")),
    _windowed("fig15", "Buffalo", "index 2010", _fig15, "Buffalo"),
    _windowed("fig16", "NEC", "index 2010", _better, "Buffalo"),
    _windowed("fig17", "Corega", "index 2010", _fig17, "Buffalo"),
    _windowed("fig18", "Buffalo", "index 2010", _fig15, "NEC"),
    _windowed("fig19", "NEC", "index 2010", _better, "NEC"),
    _windowed("fig20", "Corega", "index 2010", _fig17, "NEC"),
    _fig21(False),
    _fig21(True),
    windows(DOCUMENT, "fig22", "Jain's index, 50 ms of delay", _DELAY_PARTS, "jain", _fig22),
    windows(DOCUMENT, "fig23", "The index of 2010, 50 ms of delay", _DELAY_PARTS, "index 2010", _fig23),
)
