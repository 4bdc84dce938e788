"""Figure 12: a station beside an active one, on one DSL line and on lines of their own behind one access point.

Values are means over the time that both flows share, with the paper's times. The pictures show a shorter run of the
first seed, because what has to be kept of a run grows with it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from airwatt._core import Run, toml_value
from airwatt.reproductions import claims
from airwatt.reproductions.ba_ta.dynamics import STEPS, grid, held_over, tables
from airwatt.reproductions.ba_ta.setup import COMMON, NAMES, measure
from airwatt.reproductions.publication import Claim, Lines, Numbers, Outcome, Point, Reproduction, Results, Table, Value
from airwatt.reproductions.series import mean_text
from airwatt.statistics import mean_ci95

_POLICIES = ("active", "psm", "ba-ta")
_PICTURED = ("psm", "ba-ta")
_ETHERNET = {"wired": {"rtt": "20ms", "down": {"rate": "100Mbps"}, "up": {"rate": "100Mbps"}}}
_SETTLED_S = 2
"""The second flow's slow start is not counted."""
_PICTURE_S, _PICTURE_JOINS_S = 100, 60


def _overrides(
    policy: str, joins_s: int, end_s: int, ethernet: bool, n_max: int | None = None
) -> tuple[tuple[str, str], ...]:
    """`n_max` is 8 by default in figure 12a, for which it is printed, and that of all other figures in 12b."""

    def station(name: str) -> dict[str, object]:
        attempts = 8 if n_max is None and not ethernet else n_max
        options = {"n_max": attempts} if name == "ba-ta" and attempts is not None else {}
        return {"power_save": {"policy": name, **options}, "radio": "broadcom-4311", "distance": "4m"}

    def flow(number: int, start: str) -> dict[str, object]:
        return {"direction": "down", "transport": "newreno", "stations": [number], "start": start}

    second = {**flow(1, f"{joins_s}s"), **(_ETHERNET if ethernet else {})}
    return (
        *COMMON,
        ("duration", f"{end_s}s"),
        ("wifi", "fast-wifi"),
        ("flow", toml_value([flow(0, "0s"), second])),
        ("station", toml_value([station(policy), station("active")])),
    )


def throughputs(run: Run) -> Numbers:
    """Both flows' throughput in Mb/s, and the interval between triggers in ms, at the times of a picture."""
    arrived, adapted = tables(run, "deliveries", "adaptations")
    numbers: Numbers = {}
    edges = np.linspace(0.0, _PICTURE_S, STEPS + 2)
    for flow, name in enumerate(("station", "active station")):
        mine = arrived["flow"] == flow
        bits, _ = np.histogram(arrived["time_ns"][mine] / 1e9, bins=edges, weights=8.0 * arrived["bytes"][mine])
        for step, value in enumerate(bits / np.diff(edges) / 1e6):
            numbers[f"line {name} {step}"] = float(value)
    if len(adapted["time_ns"]):
        time, active = adapted["time_ns"] / 1e9, adapted["active"].astype(float)
        grid(numbers, "line interval", time, adapted["interval_ns"] / 1e6, _PICTURE_S)
        shared = _PICTURE_JOINS_S + _SETTLED_S
        numbers["active share"] = 100 * held_over(time, active, shared, _PICTURE_S, lambda level: level)
        numbers["switches"] = float(np.count_nonzero(np.diff(active[time >= shared])))
    return numbers


def _lines(results: Results, points: dict[str, Point]) -> list[Value]:
    values = []
    for policy, point in points.items():
        shown = [("station", "Mb/s"), ("active station", "Mb/s")] + [("interval", "ms")] * (policy == "ba-ta")
        for name, unit in shown:
            for step in range(STEPS + 1):
                at: dict[str, str | float] = {
                    "policy": NAMES[policy],
                    "line": name,
                    "time_s": _PICTURE_S * step / STEPS,
                }
                values.append(Value("line", at, results.first(point, f"line {name} {step}"), None, unit))
    return values


Traced = Mapping[str, list[float]]
"""What is read from the runs that are like that of the picture, by seed."""
_LINE_MBPS = 16.0 * 1448 / 1500
"""What the DSL line carries of payload."""


def _on_one_line(home: str, shared: Mapping[str, tuple[float, float]], lines: Traced) -> list[Claim]:
    """Both flows get something, and the station changes between power save and active mode."""
    least = min(shared["ba-ta"]) / _LINE_MBPS
    many, few = ("N_max 8", lines["switches"]), ("N_max 2", lines["switches, n_max 2"])
    return [
        claims.between(f"{home}.least", "the lesser flow's share of the line", "no starvation", least, 0.2, 0.5),
        claims.between_in_most_runs(
            f"{home}.alternates", "share of active mode", "alternates", lines["active share"], 1.0, 99.0, "%"
        ),
        claims.in_most_runs(f"{home}.switches", "changes of mode in 38 s, fewer with N_max 8", many, few),
    ]


def _beside_ethernet(home: str, shared: Mapping[str, tuple[float, float]], lines: Traced) -> list[Claim]:
    """A saturating neighbour starves Wi-Fi PSM; BA-TA stays in active mode."""
    psm, ba_ta = (shared[policy][0] / _LINE_MBPS for policy in ("psm", "ba-ta"))
    return [
        claims.between(f"{home}.psm", "Wi-Fi PSM's share of the DSL line", "nearly 0", psm, 0.0, 0.1),
        claims.between(f"{home}.ba-ta", "BA-TA's share of the DSL line", "most", ba_ta, 0.5, 1.0),
        claims.between(f"{home}.above", "BA-TA over Wi-Fi PSM", "far above 1", ba_ta / max(psm, 1e-9), 5.0, 1e9),
        claims.between_in_most_runs(
            f"{home}.active", "share of active mode", "mostly", lines["active share"], 50.0, 100.0, "%"
        ),
    ]


def _sharing(place: str, shows: str, joins_s: int, end_s: int, *, ethernet: bool) -> Reproduction:
    measured = ("measure_from", f"{joins_s + _SETTLED_S}s")
    points = {
        policy: Point("fast-dsl", (*_overrides(policy, joins_s, end_s, ethernet), measured), measure, 0.6)
        for policy in _POLICIES
    }
    pictured = {
        policy: Point(
            "fast-dsl",
            _overrides(policy, _PICTURE_JOINS_S, _PICTURE_S, ethernet),
            measure,
            1.5,
            traced=throughputs,
            only_first=policy == "psm",
        )
        for policy in _PICTURED
    }
    few_attempts = replace(
        pictured["ba-ta"], overrides=_overrides("ba-ta", _PICTURE_JOINS_S, _PICTURE_S, ethernet, n_max=2)
    )
    further = () if ethernet else (few_attempts,)

    def compute(item: Reproduction, results: Results) -> Outcome:
        outcome, rows = Outcome(), []
        shared: dict[str, tuple[float, float]] = {}
        for policy, point in points.items():
            own, other = (results.column(point, f"measured {index}") for index in (0, 1))
            shared[policy] = (mean_ci95(own)[0], mean_ci95(other)[0])
            for who, samples in (("station", own), ("active station", other)):
                at: dict[str, str | float] = {"policy": NAMES[policy], "flow": who}
                outcome.values.append(Value("throughput", at, *mean_ci95(samples), "Mbps"))
            rows.append([NAMES[policy], mean_text(own), mean_text(other)])
        outcome.values += _lines(results, pictured)
        lines = {name: results.column(pictured["ba-ta"], name) for name in ("active share", "switches")}
        for few in further:
            lines["switches, n_max 2"] = results.column(few, "switches")
        home = f"ba-ta/{item.place}"
        outcome.claims += (_beside_ethernet if ethernet else _on_one_line)(home, shared, lines)
        outcome.tables.append(Table(["policy", "its throughput", "active station's"], rows))
        return outcome

    x_label = f"time (s), the first seed's run, joined at {_PICTURE_JOINS_S} s"
    picture = Lines("line", "time_s", ("policy", "line"), x_label, "throughput (Mb/s), interval (ms)", scale="linear")
    return Reproduction(place, shows, compute, (*points.values(), *pictured.values(), *further), picture)


FIGURE_12 = (
    _sharing("fig12a", "A station beside an active one on fast DSL, 232 to 300 s", 230, 300, ethernet=False),
    _sharing(
        "fig12b",
        "A station on fast DSL beside an active one on 100 Mb/s Ethernet, 302 to 350 s",
        300,
        350,
        ethernet=True,
    ),
)
