"""What single transfers show over time: windows, acknowledgements, throughput and current.

Figures 1, 3, 7, 8, 14 to 16 and 23 to 25, table 6, section 5.5.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from airwatt._core import Run
from airwatt.reproductions import claims
from airwatt.reproductions.ba_ta.dynamics import STEPS, grid, held_over, tables
from airwatt.reproductions.publication import (
    At,
    Bars,
    Claim,
    Lines,
    Numbers,
    Outcome,
    Point,
    Reproduction,
    Results,
    Table,
    Value,
)
from airwatt.reproductions.singh_2002.setup import (
    LABELS,
    LAPTOP_W,
    NAMES,
    RADIO_LISTEN_W,
    TCPS,
    UNITS,
    Settings,
    loss,
    lossy,
    point,
)
from airwatt.statistics import mean_ci95

_RTT_MS = 40
_MTU = 1500
_SEGMENT = _MTU - 40
_ACK_BYTES = 40
"""An acknowledgement without options."""


def _window(run: Run) -> tuple["np.ndarray", "np.ndarray", float]:
    """Times in s, the congestion window in segments, and the end."""
    (windows,) = tables(run, "congestion_window")
    time = windows["time_ns"] / 1e9
    return time, windows["congestion_window_bytes"] / _SEGMENT, float(time[-1])


def _acknowledgements(run: Run) -> tuple["np.ndarray", "np.ndarray"]:
    """When acknowledgements arrived at the sender, in s, and how many SACK blocks each carries."""
    (frames,) = tables(run, "frames")
    last_hop = (frames["kind"] == "data") & (frames["to"] == "station 0") & frames["received"].astype(bool)
    time = (frames["time_ns"] + frames["duration_ns"])[last_hop] / 1e9
    options = frames["packet_bytes"][last_hop].astype(int) - _ACK_BYTES
    return time, np.where(options >= 12, (options - 4) // 8, 0)


def window_and_gaps(run: Run) -> Numbers:
    """The mean window, and the longest times without an acknowledgement."""
    time, window, end = _window(run)
    numbers: Numbers = {"end": end, "window": held_over(time, window, 0.0, end, lambda level: level)}
    grid(numbers, "line window", time, window, end)
    arrivals, _ = _acknowledgements(run)
    gaps = np.sort(np.diff(arrivals))[::-1]
    numbers["longest gap"] = float(gaps[0])
    numbers["gaps over 1 s"] = float(gaps[gaps > 1].sum())
    count = np.searchsorted(arrivals, np.linspace(0, end, STEPS + 1), side="right")
    for step in range(STEPS + 1):
        numbers[f"line acks {step}"] = float(count[step])
    return numbers


def throughput(run: Run) -> Numbers:
    """The window, and what arrived in each 100 ms."""
    time, window, end = _window(run)
    numbers: Numbers = {"end": end}
    grid(numbers, "line window", time, window, _SHOWN_S)
    for at in (2.0, 5.0):
        # The window that the failure finds, and what follows until the next one.
        first = max(int(np.searchsorted(time, at)) - 1, 0)
        last = max(int(np.searchsorted(time, at + 3)), first + 1)
        numbers[f"least window {at:g}"] = float(window[first:last].min())
    (deliveries,) = tables(run, "deliveries")
    arrived, size = deliveries["time_ns"] / 1e9, deliveries["bytes"].astype(float)
    for step in range(int(_SHOWN_S / _BIN_S)):
        within = (arrived >= step * _BIN_S - 1e-9) & (arrived < (step + 1) * _BIN_S - 1e-9)
        numbers[f"bin {step}"] = 8e-3 * float(size[within].sum()) / _BIN_S
    return numbers


def slow_start(run: Run) -> Numbers:
    """When the window first had 2, 4, 8 and 16 segments, in s."""
    time, window, _ = _window(run)
    return {f"reaches {size}": float(time[np.argmax(window >= size)]) for size in _DOUBLED}


def acknowledgements(run: Run) -> Numbers:
    """When the first acknowledgement with SACK blocks came, and the numbers of blocks."""
    time, blocks = _acknowledgements(run)
    numbers: Numbers = {"acks": float(len(time)), "most blocks": float(blocks.max())}
    first = int(np.argmax(blocks > 0))
    numbers["first sack"] = float(time[first])
    numbers["with sack"] = float((blocks > 0).sum())
    shown = min(len(time), _SHOWN_ACKS)
    for index in range(_SHOWN_ACKS):
        at = min(index, shown - 1)
        numbers[f"ack {index}"], numbers[f"blocks {index}"] = float(time[at]), float(blocks[at])
    around = np.arange(first - 5, first - 5 + _ENLARGED).clip(0, len(time) - 1)
    for index, place in enumerate(around):
        numbers[f"near {index}"], numbers[f"near blocks {index}"] = float(time[place]), float(blocks[place])
    return numbers


def current(run: Run) -> Numbers:
    """The current of the laptop in each ms of half a second, in A at 15 V."""
    (states,) = tables(run, "radio_states")
    own = states["station"] == 0
    begin = states["time_ns"][own] / 1e6
    end = begin + states["duration_ns"][own] / 1e6
    state = states["state"][own]
    samples = np.full(_SAMPLES, LAPTOP_W)
    for name, watts in (("transmit", 4.74 * 0.284), ("receive", 4.74 * 0.190)):
        _add(samples, begin[state == name], end[state == name], watts - RADIO_LISTEN_W)
    (frames,) = tables(run, "frames")
    data = (frames["kind"] == "data") & ~frames["retry"].astype(bool)
    for node, before in (("from", True), ("to", False)):
        mine = data & (frames[node] == "station 0")
        work_ms = 1e-3 * (33 + 1e-3 * frames["packet_bytes"][mine] * (127.5 + 36.8))
        start = frames["time_ns"][mine] / 1e6
        start = start - work_ms if before else start + frames["duration_ns"][mine] / 1e6
        _add(samples, start, start + work_ms, _WORK_W)
    return {f"sample {index}": float(value) / _VOLT for index, value in enumerate(samples)}


def _add(samples: "np.ndarray", begin: "np.ndarray", end: "np.ndarray", watts: float) -> None:
    """Adds a power during intervals in ms to the means of the milliseconds from `_FIRST_MS` on."""
    for first, last in zip(begin - _FIRST_MS, end - _FIRST_MS, strict=True):
        for index in range(max(int(first), 0), min(int(last) + 1, _SAMPLES)):
            samples[index] += watts * max(0.0, min(last, index + 1) - max(first, index))


_DOUBLED = (2, 4, 8, 16)
_LONG_RTT_MS = 130
_SHOWN_S = 10.0
_BIN_S = 0.1
_SHOWN_ACKS = 150
_ENLARGED = 20
_SAMPLES = 200
_FIRST_MS = 500
_VOLT = 15.0
_WORK_W = 10.0
"""What the host laptop-2002 draws more when it works."""


def _outages(*times_s: float, length_ms: int) -> Settings:
    listed = ", ".join(f'{{ at = "{round(1000 * at)}ms", length = "{length_ms}ms" }}' for at in times_s)
    return (("node.c.program.impairment.outage", f"[{listed}]"),)


_FAILURES = _outages(2.0, 5.0, length_ms=1000)
"""Route failures at 2.00 and 5.00 s; their length is not given."""
_LOSSES = _outages(2.0, 4.0, 6.0, length_ms=8)
"""Losses of one segment or two, for the three fast retransmits of figure 3. The first time is printed."""


def _traced(transport: str, read: Callable[[Run], Numbers], settings: Settings, rtt: float = _RTT_MS) -> Point:
    return point(transport, rtt, _MTU, settings, read, cost_s=0.1)


_SLOW_START = _traced("newreno", slow_start, (("tcp.delayed_ack", "false"),), _LONG_RTT_MS)
_RETRANSMITS = {tcp: _traced(tcp, throughput, _LOSSES) for tcp in TCPS}
_ROUTE = {tcp: _traced(tcp, throughput, _FAILURES) for tcp in TCPS}
_VALID = _traced("sack", acknowledgements, loss(2))
_CURRENT = _traced("sack", current, loss(2))
_FIVE = {tcp: _traced(tcp, window_and_gaps, loss(5)) for tcp in TCPS}


def _lines(
    results: Results, points: Mapping[str, Point], name: str, unit: str, end_s: float | None = None
) -> list[Value]:
    """The first seed's line of every TCP."""
    values = []
    for tcp, point_ in points.items():
        end = results.first(point_, "end") if end_s is None else end_s
        for step in range(STEPS + 1):
            at: At = {"transport": tcp, "time_s": end * step / STEPS}
            values.append(Value(name, at, results.first(point_, f"line {name} {step}"), None, unit))
    return values


def _means(results: Results, points: Mapping[str, Point], what: str, unit: str) -> list[Value]:
    return [Value(what, {"transport": tcp}, *mean_ci95(results.column(one, what)), unit) for tcp, one in points.items()]


def _table(results: Results, points: Mapping[str, Point], heads: Mapping[str, str]) -> Table:
    rows = [
        [title, *(claims.number(mean_ci95(results.column(one, key))[0]) for one in points.values())]
        for key, title in heads.items()
    ]
    return Table(["mean of the runs", *(NAMES[tcp] for tcp in points)], rows)


def _order(results: Results, what: str) -> dict[str, Sequence[float]]:
    return {name: results.column(_FIVE[tcp], what) for tcp, name in NAMES.items()}


def _fig1(item: Reproduction, results: Results) -> Outcome:
    values, judged = [], []
    # The 1500 bytes of a segment take some ms on each hop, and the last segments of a window wait for the first.
    round_s = 1e-3 * _LONG_RTT_MS
    for size in _DOUBLED:
        samples = results.column(_SLOW_START, f"reaches {size}")
        values.append(Value("window reached", {"segments": size}, *mean_ci95(samples), "s"))
    for size, low, high in zip(_DOUBLED[1:], values, values[1:], strict=False):
        text = f"round trips in which the window doubles to {size} segments, every segment acknowledged"
        rounds = (high.value - low.value) / round_s
        judged.append(claims.between(f"singh-2002/{item.place}.doubles.{size}", text, "1", rounds, 0.8, 1.3))
    return Outcome(values, judged)


def _fig3(item: Reproduction, results: Results) -> Outcome:
    values = _lines(results, _RETRANSMITS, "window", "segments", _SHOWN_S)
    judged = []
    for tcp, point_ in _RETRANSMITS.items():
        line = [results.first(point_, f"line window {step}") for step in range(STEPS + 1)]
        for at in (2.0, 4.0, 6.0):
            before = line[int(STEPS * at / _SHOWN_S)]
            after = min(line[int(STEPS * at / _SHOWN_S) : int(STEPS * (at + 0.7) / _SHOWN_S)])
            text = f"{NAMES[tcp]}: window after the loss at {at:g} s over that before it"
            judged.append(
                claims.between(f"singh-2002/{item.place}.{tcp}.{at:g}", text, "half", after / before, 0.4, 0.6)
            )
    return Outcome(values, judged)


def _fig7(item: Reproduction, results: Results) -> Outcome:
    values = _lines(results, _ROUTE, "window", "segments", _SHOWN_S)
    judged = []
    for tcp, point_ in _ROUTE.items():
        timeouts = mean_ci95(results.column(point_, "timeouts"))[0]
        text = f"{NAMES[tcp]}: timeouts of a transfer with two failures"
        judged.append(claims.between(f"singh-2002/{item.place}.{tcp}.timeouts", text, "timeouts", timeouts, 2.0, 20.0))
        for at in (2.0, 5.0):
            least = results.column(point_, f"least window {at:g}")
            values.append(Value("least window", {"transport": tcp, "failure_s": at}, *mean_ci95(least), "segments"))
            text = f"{NAMES[tcp]}: largest over the runs of the least window after the failure at {at:g} s"
            id_ = f"singh-2002/{item.place}.{tcp}.window.{at:g}"
            judged.append(claims.between(id_, text, "slow start", max(least), 0.0, 1.0, "segments"))
    return Outcome(values, judged, [_table(results, _ROUTE, {"timeouts": "timeouts"})])


def _fig8(item: Reproduction, results: Results) -> Outcome:
    values, judged = [], []
    bins = int(_SHOWN_S / _BIN_S)
    for tcp, point_ in _ROUTE.items():
        rates = [mean_ci95(results.column(point_, f"bin {index}"))[0] for index in range(bins)]
        for index, rate in enumerate(rates):
            values.append(Value("throughput", {"transport": tcp, "time_s": index * _BIN_S}, rate, None, "kbps"))
        usual = sum(rates[10:20]) / 10
        for at in (2.0, 5.0):
            within = rates[round(at / _BIN_S) + 1 : round((at + 1) / _BIN_S)]
            share = sum(within) / len(within) / usual
            text = f"{NAMES[tcp]}: throughput in the failure at {at:g} s over that before the first"
            judged.append(claims.between(f"singh-2002/{item.place}.{tcp}.{at:g}", text, "almost 0", share, 0.0, 0.1))
    return Outcome(values, judged)


def _route(item: Reproduction, results: Results) -> Outcome:
    values = _means(results, _ROUTE, "goodput", "kbps") + _means(results, _ROUTE, "total", "uJ/bit")
    means = [mean_ci95(results.column(one, "goodput"))[0] for one in _ROUTE.values()]
    text = "goodput with two route failures: most over least of the three"
    judged = [claims.between(f"singh-2002/{item.place}.alike", text, "equal", max(means) / min(means), 1.0, 1.05)]
    table = _table(results, _ROUTE, {"goodput": "goodput (kb/s)", "total": "energy (uJ/bit)", "timeouts": "timeouts"})
    return Outcome(values, judged, [table])


def _fig14(_item: Reproduction, results: Results) -> Outcome:
    values = [
        Value("current", {"time_ms": _FIRST_MS + index}, results.first(_CURRENT, f"sample {index}"), None, "A")
        for index in range(_SAMPLES)
    ]
    notes = ["Each value is the mean of one ms at 15 V. The idle level is 1.2 A."]
    return Outcome(values, [], notes=notes)


def _acks(item: Reproduction, results: Results, name: str, count: int) -> Outcome:
    values = []
    for index in range(count):
        at: At = {"number": index, "time_s": results.first(_VALID, f"{name} {index}".replace("blocks ", ""))}
        key = f"blocks {index}" if name == "ack" else f"near blocks {index}"
        values.append(Value("SACK blocks", at, results.first(_VALID, key), None, ""))
    first = results.column(_VALID, "first sack")
    values.append(Value("first acknowledgement with SACK", {}, *mean_ci95(first), "s"))
    values.append(Value("acknowledgements with SACK", {}, *mean_ci95(results.column(_VALID, "with sack")), ""))
    judged = []
    if item.place == "fig15":
        text = "first acknowledgement with SACK blocks at 2 % loss, mean of the runs"
        judged.append(claims.by_factor(f"singh-2002/{item.place}.first", text, 0.5, mean_ci95(first)[0], 3, "s"))
    return Outcome(values, judged)


def _fig15(item: Reproduction, results: Results) -> Outcome:
    return _acks(item, results, "ack", _SHOWN_ACKS)


def _fig16(item: Reproduction, results: Results) -> Outcome:
    return _acks(item, results, "near", _ENLARGED)


def _fig23(item: Reproduction, results: Results) -> Outcome:
    values = _lines(results, _FIVE, "window", "segments") + [
        Value("mean window", value.at, value.value, value.ci95, "segments")
        for value in _means(results, _FIVE, "window", "segments")
    ]
    order = _order(results, "window")
    judged = _pairs(f"singh-2002/{item.place}", "mean window over the transfer", "segments", order)
    return Outcome(values, judged, [_table(results, _FIVE, {"window": "mean window (segments)"})])


def _fig24(item: Reproduction, results: Results) -> Outcome:
    values = _lines(results, _FIVE, "acks", "") + _means(results, _FIVE, "longest gap", "s")
    values += _means(results, _FIVE, "gaps over 1 s", "s")
    judged = []
    # The longest single gap is that of the most often doubled timer, which all three meet at the same losses.
    order = _order(results, "gaps over 1 s")
    for other in ("NewReno", "SACK"):
        text = f"time in gaps between acknowledgements of over 1 s: {other} less than Reno"
        id_ = f"singh-2002/{item.place}.{other.lower()}"
        judged.append(claims.in_most_runs(id_, text, (other, order[other]), ("Reno", order["Reno"]), "s"))
    heads = {"longest gap": "longest gap (s)", "gaps over 1 s": "sum of gaps over 1 s (s)"}
    return Outcome(values, judged, [_table(results, _FIVE, heads)])


def _fig25(item: Reproduction, results: Results) -> Outcome:
    values = _means(results, _FIVE, "goodput", "kbps")
    judged = _pairs(f"singh-2002/{item.place}", "throughput", "kb/s", _order(results, "goodput"))
    return Outcome(values, judged, [_table(results, _FIVE, {"goodput": "goodput (kb/s)"})])


def _pairs(home: str, what: str, unit: str, order: Mapping[str, Sequence[float]]) -> list[Claim]:
    """SACK above NewReno above Reno, in a trace of each."""
    pairs = (("Reno", "NewReno"), ("NewReno", "SACK"))
    return [
        claims.in_most_runs(
            f"{home}.{low.lower()}", f"{what}: {high} above {low}", (low, order[low]), (high, order[high]), unit
        )
        for low, high in pairs
    ]


_TABLE6 = {mtu: lossy(5, mtu) for mtu in (512, 1500)}


def _tab6(_item: Reproduction, results: Results) -> Outcome:
    values, rows = [], []
    for mtu, curves in _TABLE6.items():
        for rtt in (15, 40, 70, 100, 130):
            row = [f"{mtu} bytes, {rtt} ms"]
            for tcp, curve in curves.items():
                for what in ("timeouts", "retransmitted"):
                    samples = curve.series(results, what).samples[float(rtt)]
                    at: At = {"transport": tcp, "mtu": mtu, "rtt_ms": rtt}
                    values.append(Value(what, at, *mean_ci95(samples), UNITS[what]))
                    row.append(f"{mean_ci95(samples)[0]:.1f}")
            rows.append(row)
    heads = ["", *(f"{NAMES[tcp]} {what}" for tcp in TCPS for what in ("timeouts", "resent"))]
    notes = ["The published outcome, its RTT and its MTU are not known here."]
    return Outcome(values, [], [Table(heads, rows)], notes=notes)


def _over_time(what: str, label: str) -> Lines:
    return Lines(what, "time_s", ("transport",), "time (s)", label, scale="linear")


def _all(points: Mapping[str, Point]) -> tuple[Point, ...]:
    return tuple(points.values())


_WINDOW = "congestion window (segments)"
FIG1 = Reproduction("fig1", "Slow start, 130 ms", _fig1, (_SLOW_START,))
FIG3 = Reproduction("fig3", "Three fast retransmits", _fig3, _all(_RETRANSMITS), _over_time("window", _WINDOW))
FIG7 = Reproduction("fig7", "Windows with route failures", _fig7, _all(_ROUTE), _over_time("window", _WINDOW))
FIG8 = Reproduction(
    "fig8", "Throughput with route failures", _fig8, _all(_ROUTE), _over_time("throughput", "throughput (kb/s)")
)
ROUTE = Reproduction("sec5.5.route", "Route failures: all three alike", _route, _all(_ROUTE))
FIG14 = Reproduction(
    "fig14",
    "Current of the sender at 2 % loss, 200 ms of a run",
    _fig14,
    (_CURRENT,),
    Lines("current", "time_ms", (), "time (ms)", "current (A)", scale="linear"),
)
FIG15 = Reproduction(
    "fig15",
    "Arrival of acknowledgements, SACK, 2 % loss, 40 ms",
    _fig15,
    (_VALID,),
    Lines("SACK blocks", "time_s", (), "time (s)", "SACK blocks of the acknowledgement", scale="linear"),
)
FIG16 = Reproduction(
    "fig16",
    "The same around the first SACK block",
    _fig16,
    (_VALID,),
    Lines("SACK blocks", "time_s", (), "time (s)", "SACK blocks of the acknowledgement", scale="linear"),
)
FIG23 = Reproduction("fig23", "Windows at 5 % loss, 40 ms", _fig23, _all(_FIVE), _over_time("window", _WINDOW))
FIG24 = Reproduction(
    "fig24", "Acknowledgements at 5 % loss, 40 ms", _fig24, _all(_FIVE), _over_time("acks", "acknowledgements so far")
)
FIG25 = Reproduction(
    "fig25",
    "Throughput at 5 % loss, 40 ms",
    _fig25,
    _all(_FIVE),
    Bars("goodput", "transport", ("transport",), LABELS["goodput"]),
)
TABLE6 = Reproduction(
    "tab6",
    "Timeouts and retransmitted packets at 5 % loss",
    _tab6,
    tuple(one for curves in _TABLE6.values() for curve in curves.values() for one in curve.points()),
)
MANY_BLOCKS = point("sack", 130, 512, loss(10), acknowledgements, cost_s=0.1)
"""A transfer whose windows have many gaps."""
