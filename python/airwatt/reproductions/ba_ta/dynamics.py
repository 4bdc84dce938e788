"""Figures 3, 8b and 10: what goes on over time, from the traces of runs.

A picture shows the run of the first seed: the least and the most of each line in equal intervals of time, because a
buffer that fills and runs empty once a beacon interval would look constant at single times. Claims are about all seeds.
`airwatt run --plot` draws the same runs with everything in them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from airwatt._core import Run
from airwatt.reproductions import claims
from airwatt.reproductions.ba_ta.setup import point
from airwatt.reproductions.publication import At, Claim, Lines, Numbers, Outcome, Point, Reproduction, Results, Value
from airwatt.statistics import mean_ci95

STEPS = 120
"""Intervals of a picture."""
ENDS = ("most", "least")
_KINDS = {"i64": "<i8", "u32": "<u4", "bool": "u1", "code": "<u4"}


def tables(run: Run, *names: str) -> list[dict[str, np.ndarray]]:
    """Some of a run's traces, each as columns by name."""
    tables = dict(run.traces())
    return [_columns(tables[name]) for name in names]


def _columns(table: Sequence[Any]) -> dict[str, np.ndarray]:
    columns = {}
    for column in table:
        values = np.frombuffer(column.data, dtype=_KINDS[column.kind])
        columns[column.name] = np.asarray(column.labels, dtype=object)[values] if column.kind == "code" else values
    return columns


def held_over(
    time: np.ndarray, level: np.ndarray, start: float, end: float, amount: Callable[[np.ndarray], np.ndarray]
) -> float:
    """The mean of `amount` of a step line over a time."""
    knots = np.append(time, end)
    spans = np.clip(knots[1:], start, end) - np.clip(knots[:-1], start, end)
    amounts = amount(level)
    # A mean lies between the values that it is of, which rounding would hide.
    return float(np.clip((spans * amounts).sum() / max(end - start, 1e-9), amounts.min(), amounts.max()))


def grid(numbers: Numbers, name: str, time: np.ndarray, level: np.ndarray, end: float) -> None:
    """Keeps the step line at the times of a picture, for lines that stay as they are for longer than its steps."""
    for step in range(STEPS + 1):
        index = int(np.searchsorted(time, end * step / STEPS, side="right")) - 1
        numbers[f"{name} {step}"] = float(level[index]) if index >= 0 else 0.0


def extent(numbers: Numbers, name: str, time: np.ndarray, level: np.ndarray, end: float) -> None:
    """Keeps the least and the most that the step line has in each interval of a picture; it is 0 before it begins."""
    knots = np.searchsorted(time, end * np.arange(STEPS + 1) / STEPS, side="right")
    for step in range(STEPS):
        within = level[max(knots[step] - 1, 0) : knots[step + 1]]
        if not knots[step]:
            within = np.append(within, 0.0)
        numbers[f"{name} most {step}"], numbers[f"{name} least {step}"] = float(within.max()), float(within.min())


def control(run: Run) -> Numbers:
    """The controller's lines: interval in ms, rates in Mb/s, and what they come to."""
    (traces,) = tables(run, "adaptations")
    time = traces["time_ns"] / 1e9
    interval, peak = traces["interval_ns"] / 1e6, traces["peak_rate_bps"] / 1e6
    throughput, active = traces["throughput_bps"] / 1e6, traces["active"].astype(float)
    end = float(time[-1])
    numbers: Numbers = {"end": end, "peak": float(peak.max())}
    for name, level in (
        ("interval", interval),
        ("peak rate", peak),
        ("throughput", throughput),
        ("active", 100 * active),
    ):
        extent(numbers, f"line {name}", time, level, end)
    half = end / 2
    numbers["settled interval"] = held_over(time, interval, half, end, lambda level: level)
    numbers["least interval"] = float(interval.min())
    numbers["settled throughput"] = held_over(time, throughput, half, end, lambda level: level)
    numbers["first interval"] = float(interval[0])
    numbers["active share"] = 100 * held_over(time, active, half, end, lambda level: level)
    numbers["falls of the estimate"] = float((np.diff(peak[peak > 0]) < 0).sum())
    return numbers


def queue(run: Run) -> Numbers:
    """The DSLAM's queue and the windows: how long it was empty, and how long slow start and recovery lasted."""
    queues, windows = tables(run, "queues", "congestion_window")
    of = {name: queues["queue"] == name for name in ("wired down", "power save")}
    time = {name: queues["time_ns"][mask] / 1e9 for name, mask in of.items()}
    level = {name: queues["packets"][mask].astype(float) for name, mask in of.items()}
    end = float(windows["time_ns"][-1] / 1e9)
    # Slow start and the recovery after it are over by then.
    settled = end / 2
    idle = held_over(time["wired down"], level["wired down"], settled, end, lambda packets: packets == 0)
    numbers: Numbers = {"end": end, "idle share": 100 * idle}
    beacons = np.arange(settled, end, 0.1)
    at = np.searchsorted(beacons, time["wired down"][level["wired down"] == 0])
    numbers["beacons with an empty queue"] = 100 * len(np.unique(at[(at > 0) & (at < len(beacons))])) / len(beacons)
    for name, shown in (("wired down", "DSLAM queue"), ("power save", "power-save buffer")):
        extent(numbers, f"line {shown}", time[name], level[name], end)
    window = windows["congestion_window_bytes"] / 1448
    extent(numbers, "line window", windows["time_ns"] / 1e9, window, end)
    # The slow-start threshold is set by the first loss; recovery is over when the window is down to it.
    threshold = windows["slow_start_threshold_bytes"]
    first = int(np.argmax(threshold < threshold[0])) if (threshold < threshold[0]).any() else 0
    after = np.flatnonzero(windows["congestion_window_bytes"][first:] <= threshold[first:])
    over = first + int(after[0]) if len(after) else len(threshold) - 1
    numbers["start-up"] = float(windows["time_ns"][over] / 1e9)
    return numbers


def _traced(access: str, policy: str, read: Callable[[Run], Numbers], *settings: tuple[str, str]) -> Point:
    base = point(access, policy, (("wifi", "fast-wifi"), *settings), cost_s=0.6)
    return replace(base, traced=read)


def _lines(results: Results, point_: Point, names: Mapping[str, str]) -> list[Value]:
    """The first seed's lines, at the middle of each interval."""
    end = results.first(point_, "end")
    values = []
    for name, unit in names.items():
        for of in ENDS:
            for step in range(STEPS):
                at: At = {"line": f"{name} ({unit})", "of": of, "time_s": end * (step + 0.5) / STEPS}
                values.append(Value("line", at, results.first(point_, f"line {name} {of} {step}"), None, unit))
    return values


def _means(results: Results, point_: Point, names: Mapping[str, str], **at: str | float) -> list[Value]:
    return [Value(name, dict(at), *mean_ci95(results.column(point_, name)), unit) for name, unit in names.items()]


ClaimsOf = Callable[[str, Results], list[Claim]]
_CONTROL = {"interval": "ms", "peak rate": "Mbps", "throughput": "Mbps", "active": "%"}
_SETTLES = {"settled interval": "ms", "settled throughput": "Mbps", "peak": "Mbps", "active share": "%"}
_QUEUES = {"DSLAM queue": "packets", "power-save buffer": "packets", "window": "packets"}


def _dynamic(
    place: str,
    shows: str,
    point_: Point,
    lines: Mapping[str, str],
    means: Mapping[str, str],
    claims_of: ClaimsOf,
    *also: Point,
) -> Reproduction:
    def compute(item: Reproduction, results: Results) -> Outcome:
        values = [*_lines(results, point_, lines), *_means(results, point_, means)]
        return Outcome(values, claims_of(f"ba-ta/{item.place}", results))

    # Lines of different units: a panel for each.
    label = f"time (s), the first seed's run, in {STEPS} intervals"
    picture = Lines("line", "time_s", ("line", "of"), label, "", scale="linear")
    return Reproduction(place, shows, compute, (point_, *also), picture)


def _mean(results: Results, point_: Point, name: str) -> float:
    return mean_ci95(results.column(point_, name))[0]


_SLOW = _traced("slow", "psm", queue, ("flow.application.size", "5MB"))
_FAST = _traced("fast", "psm", queue, ("flow.application.size", "10MB"))
_START = {p: _traced("wifi", p, queue, ("flow.application.size", "10MB")) for p in ("active", "psm")}
_RATIO = {r: _traced("fast", "ba-ta", control, ("station.power_save.ratio_min", r)) for r in ("0.9", "0.7")}
_WIFI = _traced("wifi", "ba-ta", control)
_SLOW_BA_TA = _traced("slow", "ba-ta", control, ("flow.application.size", "5MB"))
_WEB = _traced(
    "fast",
    "ba-ta",
    control,
    ("wired.rtt", "150ms"),
    ("flow.application.kind", "web"),
    ("flow.application.count", "3"),
    ("flow.application.mean_gap", "1s"),
)


def _fig3a(home: str, results: Results) -> list[Claim]:
    idle = _mean(results, _SLOW, "idle share")
    return [claims.between(f"{home}.idle", "DSLAM's queue empty, second half of 5 MB", "never", idle, 0.0, 2.0, "%")]


def _fig3b(home: str, results: Results) -> list[Claim]:
    share = _mean(results, _FAST, "beacons with an empty queue")
    text = "beacon intervals in which the DSLAM's queue runs empty"
    return [claims.between(f"{home}.empty", text, "often", share, 50.0, 100.0, "%")]


def _fig8b(home: str, results: Results) -> list[Claim]:
    both = {p: results.column(_START[p], "start-up") for p in ("active", "psm")}
    return [claims.ascending(f"{home}.longer", "slow start and fast recovery last longer with PSM", both)]


def _start_up() -> Reproduction:
    """Section 2.1: what power save adds to slow start and recovery, on fast DSL and in the Wi-Fi bottleneck."""
    points = {
        "fast DSL": {"psm": _FAST, "active": _traced("fast", "active", queue, ("flow.application.size", "10MB"))},
        "Wi-Fi bottleneck": _START,
    }

    def compute(item: Reproduction, results: Results) -> Outcome:
        home, outcome, added = f"ba-ta/{item.place}", Outcome(), {}
        for access, two in points.items():
            both = {p: results.column(two[p], "start-up") for p in ("active", "psm")}
            outcome.values += [
                Value("start-up", {"access": access, "policy": p}, *mean_ci95(both[p]), "s") for p in ("active", "psm")
            ]
            text = f"{access}: slow start and fast recovery last longer with PSM"
            outcome.claims.append(claims.ascending(f"{home}.longer.{access.split()[0].lower()}", text, both))
            added[access] = [late - early for early, late in zip(both["active"], both["psm"], strict=True)]
        text = "what PSM adds, in seconds, is more in the Wi-Fi bottleneck than on DSL"
        outcome.claims.append(claims.ascending(f"{home}.larger", text, added))
        return outcome

    all_points = tuple(point_ for two in points.values() for point_ in two.values())
    return Reproduction("sec2.1.fastrec", "Slow start and fast recovery with and without PSM", compute, all_points)


def _fig10a(home: str, results: Results) -> list[Claim]:
    ours = _RATIO["0.9"]
    target = 0.9 * _mean(results, ours, "peak")
    here = _mean(results, ours, "settled throughput")
    return [
        claims.within(f"{home}.settles", "throughput settles at ratio_min of the peak rate", target, here, 0.1, "Mbps"),
        claims.exactly(
            f"{home}.before", "interval before the transfer", 100.0, _mean(results, ours, "first interval"), "ms"
        ),
        claims.within(f"{home}.peak", "estimated peak rate", 16.0, _mean(results, ours, "peak"), 0.1, "Mbps"),
    ]


def _fig10a_07(home: str, results: Results) -> list[Claim]:
    both = {f"ratio_min {r}": results.column(_RATIO[r], "settled interval") for r in ("0.9", "0.7")}
    return [claims.ascending(f"{home}.interval", "the smaller ratio_min settles at the longer interval", both)]


def _fig10b_wifi(home: str, results: Results) -> list[Claim]:
    share = _mean(results, _WIFI, "active share")
    text = "share of the second half in active mode"
    return [claims.between(f"{home}.active", text, "all the time", share, 90.0, 100.0, "%")]


def _fig10b_web(home: str, results: Results) -> list[Claim]:
    settled = _mean(results, _WEB, "settled interval")
    text = "interval over the second half of three pages"
    return [claims.between(f"{home}.interval", text, "about 35, 25 to 43.3", settled, 25.0, 43.3, "ms")]


def _sec4_1(home: str, results: Results) -> list[Claim]:
    settled = _mean(results, _SLOW_BA_TA, "settled interval")
    rate = _mean(results, _SLOW_BA_TA, "throughput")
    return [
        claims.between(f"{home}.settled", "interval over the second half", "100", settled, 95.0, 100.0, "ms"),
        claims.between(f"{home}.throughput", "throughput: that of the line", "about 1", rate, 0.9, 1.024, "Mbps"),
    ]


def _estimator() -> Reproduction:
    """Algorithm 1: never above the line's rate, never falling while data comes, and near to it in the end."""
    lines = {"fast DSL": (_RATIO["0.9"], 16.0), "slow DSL": (_SLOW_BA_TA, 1.024)}

    def compute(item: Reproduction, results: Results) -> Outcome:
        home, outcome = f"ba-ta/{item.place}", Outcome()
        for shown, (point_, rate) in lines.items():
            place = shown.split()[0]
            outcome.values += _means(results, point_, {"peak": "Mbps"}, access=shown)
            most = max(results.column(point_, "peak"))
            text = f"{shown}: the largest estimate of all runs over the line's rate"
            outcome.claims.append(claims.between(f"{home}.{place}.bound", text, "1 at most", most / rate, 0.0, 1.01))
            mean = _mean(results, point_, "peak")
            outcome.claims.append(claims.within(f"{home}.{place}.near", f"{shown}: estimate", rate, mean, 0.1, "Mbps"))
            falls = sum(results.column(point_, "falls of the estimate"))
            outcome.claims.append(claims.exactly(f"{home}.{place}.rises", f"{shown}: times that it fell", 0.0, falls))
        return outcome

    points = tuple(point_ for point_, _ in lines.values())
    return Reproduction("alg1", "The estimate of the peak rate against the line's", compute, points)


_IDLE = {"idle share": "%", "beacons with an empty queue": "%"}

FIGURE_3 = (
    _dynamic("fig3a", "Slow DSL with PSM over time: queues and window", _SLOW, _QUEUES, _IDLE, _fig3a),
    _dynamic("fig3b", "Fast DSL with PSM over time: queues and window", _FAST, _QUEUES, _IDLE, _fig3b),
)
FIGURE_8B = _dynamic(
    "fig8b",
    "Slow start and fast recovery with PSM, Wi-Fi bottleneck",
    _START["psm"],
    {"window": "packets"},
    {"start-up": "s"},
    _fig8b,
    _START["active"],
)
FAST_RECOVERY = _start_up()
ESTIMATOR = _estimator()
FIGURE_10 = (
    _dynamic("fig10a.09", "BA-TA on fast DSL over time, ratio_min 0.9", _RATIO["0.9"], _CONTROL, _SETTLES, _fig10a),
    _dynamic(
        "fig10a.07",
        "BA-TA on fast DSL over time, ratio_min 0.7",
        _RATIO["0.7"],
        _CONTROL,
        _SETTLES,
        _fig10a_07,
        _RATIO["0.9"],
    ),
    _dynamic("fig10b.wifi", "BA-TA in the Wi-Fi bottleneck over time", _WIFI, _CONTROL, _SETTLES, _fig10b_wifi),
    _dynamic("fig10b.web", "BA-TA with three pages over time, RTT 150 ms", _WEB, _CONTROL, _SETTLES, _fig10b_web),
    _dynamic("sec4.1.slow", "BA-TA on slow DSL over time", _SLOW_BA_TA, _CONTROL, _SETTLES, _sec4_1),
)
