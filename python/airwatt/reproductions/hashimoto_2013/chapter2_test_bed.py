"""Section 2.6: the measurements of 2013, simulated: those of document 003 behind buffers of 2013, with its index."""

from collections.abc import Mapping
from dataclasses import replace

from airwatt.reproductions import claims
from airwatt.reproductions.hashimoto_2010 import indices
from airwatt.reproductions.hashimoto_2010 import test_bed as bed
from airwatt.reproductions.hashimoto_2010.figures import above, mixes, windows
from airwatt.reproductions.hashimoto_2010.setup import (
    BED_2013,
    ESTIMATED,
    METHOD,
    MIXES,
    PLAIN,
    behind,
)
from airwatt.reproductions.publication import Claim, Lines, Outcome, Point, Reproduction, Results, Table, Value
from airwatt.reproductions.series import Series, mean_text
from airwatt.statistics import mean_ci95

DOCUMENT = "hashimoto-2013"
INDEX = "index 2013"
at_access_point, delayed = BED_2013.at_access_point, BED_2013.delayed
_BUFFERS = (20, 50, 77, 100, 150, 243)


def _fig29(place: str, access_point: str) -> Reproduction:
    def claims_of(home: str, results: Results) -> list[Claim]:
        return bed.of_mixes(BED_2013, home, results, access_point)

    def of(up: int, method: str) -> Point:
        return at_access_point(up, method, access_point)

    shows = f"From ten down to ten up, {access_point} access point ({BED_2013.buffers[access_point]} packets)"
    one = mixes(DOCUMENT, place, shows, of, (PLAIN, METHOD), claims_of)
    # The gain behind one access point is compared with that behind the others.
    others = [of_all for name in BED_2013.buffers for of_all in _mixes_behind(name)] if access_point == "NEC" else []
    return replace(one, points=tuple(dict.fromkeys((*one.points, *others))))


def _mixes_behind(access_point: str) -> list[Point]:
    return [at_access_point(up, method, access_point) for up in MIXES for method in (PLAIN, METHOD)]


def _by_access_point(up: int) -> dict[str, dict[str, Point]]:
    return {
        name: {method: at_access_point(up, method, name) for method in (PLAIN, METHOD)} for name in BED_2013.buffers
    }


Curves = Mapping[str, Mapping[str, Series]]


def _better(home: str, curves: Curves) -> list[Claim]:
    return [
        above(f"{home}.{name.lower()}", curves[name][METHOD], curves[name][PLAIN], name) for name in ("Buffalo", "NEC")
    ]


def _fig210(home: str, curves: Curves) -> list[Claim]:
    judged = _better(home, curves)
    corega = curves["Corega"][PLAIN]
    for name in ("Buffalo", "NEC"):
        other = curves[name][PLAIN]
        pairs = {window: (other.samples[window], corega.samples[window]) for window in corega.xs}
        text = f"Reno behind the Corega access point above Reno behind the {name} one"
        judged.append(claims.by_places(f"{home}.corega.{name.lower()}", text, pairs))
    for name, two in curves.items():
        judged += [claims.rises(f"{home}.rises.{name.lower()}.{method}", one) for method, one in two.items()]
    return judged


def _buffer_point(packets: int) -> Point:
    """Ten up with Reno over the test bed, behind any buffer."""
    return behind(10, PLAIN, packets)


def _buffer(item: Reproduction, results: Results) -> Outcome:
    home = f"{DOCUMENT}/{item.place}"
    outcome, rows = Outcome(), []
    for packets in _BUFFERS:
        row = [str(packets)]
        for key in ("timeouts", "jain", INDEX, "starved"):
            column = results.column(_buffer_point(packets), key)
            outcome.values.append(Value(key, {"buffer": float(packets)}, *mean_ci95(column), ""))
            row.append(mean_text(column))
        rows.append(row)
    outcome.tables.append(Table(["AP buffer", "timeouts", "Jain", "index 2013", "starved"], rows))
    small, large = (_buffer_point(packets) for packets in (50, 243))
    for key, text, sign in (("timeouts", "fewer timeouts", -1), ("jain", "fairer (Jain)", 1)):
        a, b = (results.column(point, key) for point in (large, small))
        here = f"{mean_ci95(a)[0]:.3g}, {mean_ci95(b)[0]:.3g}"
        text = f"Reno behind 243 packets instead of 50: {text}"
        pair = (a, b) if sign < 0 else (b, a)
        outcome.claims.append(claims.ordered(f"{home}.{key}", text, "yes", here, [pair]))
    return outcome


def _nic(item: Reproduction, results: Results) -> Outcome:
    values = [
        Value("jain", {"access_point": name, "method": method}, *mean_ci95(results.column(one, "jain")), "")
        for name in BED_2013.buffers
        for method in (PLAIN, METHOD)
        for one in (at_access_point(10, method, name),)
    ]
    return Outcome(values, notes=["Both NICs are the same runs, so that nothing can be claimed of their difference."])


_DELAY = {
    **bed.delay_points(BED_2013, False, (PLAIN, ESTIMATED)),
    **bed.delay_points(BED_2013, True, (PLAIN, ESTIMATED)),
}


def _fig212(on: bool) -> Reproduction:
    letter, state = ("b", "on") if on else ("a", "off")
    shows = f"Ten flows with 50 ms of delay, delayed ACK {state}"
    return mixes(
        DOCUMENT,
        f"fig2.12{letter}",
        shows,
        lambda up, method: delayed(up, method, on),
        (PLAIN, ESTIMATED),
        lambda home, results: bed.in_delay(BED_2013, on, home, results, (PLAIN, ESTIMATED)),
        also=[delayed(up, method, False) for up in (5, 10) for method in (PLAIN, ESTIMATED)] if on else (),
    )


def _fig213(home: str, curves: Curves) -> list[Claim]:
    judged = []
    for part in ("five and five", "ten up"):
        on, off = (curves[f"{part}, delayed ACK {state}"][ESTIMATED] for state in ("on", "off"))
        pairs = {window: (off.samples[window], on.samples[window]) for window in on.xs}
        text = f"{part}: the method with delayed ACK above the method without"
        id_ = f"{home}.{part.replace(' ', '-')}"
        judged.append(claims.by_places(id_, text, pairs))
    return judged


TEST_BED = (
    indices.OF_2013[-1],
    _fig29("fig2.9a", "Buffalo"),
    _fig29("fig2.9b", "NEC"),
    _fig29("fig2.9c", "Corega"),
    Reproduction(
        "sec2.6.nic",
        "Two NICs",
        _nic,
        tuple(at_access_point(10, method, name) for name in BED_2013.buffers for method in (PLAIN, METHOD)),
    ),
    windows(DOCUMENT, "fig2.10", "The index over windows, ten up", _by_access_point(10), INDEX, _fig210),
    windows(DOCUMENT, "fig2.11", "The index over windows, five and five", _by_access_point(5), INDEX, _better),
    Reproduction(
        "sec2.6.buffer",
        "Reno behind larger buffers, ten up",
        _buffer,
        tuple(_buffer_point(packets) for packets in _BUFFERS),
        Lines("jain", "buffer", (), "buffer of the access point (packets)", "Jain's index", scale="linear"),
    ),
    _fig212(False),
    _fig212(True),
    windows(DOCUMENT, "fig2.13", "The index over windows, 50 ms of delay", _DELAY, INDEX, _fig213),
)
