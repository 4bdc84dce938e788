"""Chapter 3: what a client's radio spends on an upload, always awake and with ideal sleep between bursts.

`validation` has table 3.1 and figure 3.6, which stand against the simulator.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from airwatt import models
from airwatt.reproductions import claims
from airwatt.reproductions.hashimoto_2013.solved import curve, grid, solved, value
from airwatt.reproductions.publication import Claim, Lines, Outcome, Results, Table, Value

P = tuple(float(f"{p:.4g}") for p in np.geomspace(1e-4, 1e-1, 31))
"""Loss probabilities of the figures over p; their range is not given."""
RTTS_MS = (50.0, 100.0, 200.0, 300.0)
BURSTS = (1, 2, 3, 5, 10)
ALL_BURSTS = tuple(float(m) for m in range(1, 11))
Q = tuple(round(0.1 * step, 1) for step in range(8))
SURFACE_P = tuple(float(f"{p:.4g}") for p in np.geomspace(1e-4, 1e-1, 16))
SURFACE_RTTS_MS = (10.0, 20.0, 50.0, 75.0, 100.0, 150.0, 200.0, 250.0, 300.0)
MULTIPLIERS = tuple(float(f"{k:.4g}") for k in np.geomspace(1e-3, 1e3, 37))


def _fig37(home: str, _results: Results) -> Outcome:
    values, columns = [], {}
    energies: dict[str, list[Any]] = {"cam": [], "sleep": []}
    for rtt in RTTS_MS:
        got = models.tcp_energy(p=P, rtt_s=rtt / 1e3)
        for mode, name in (("cam", "cam_j"), ("sleep", "ideal_j")):
            values += curve("energy", "J", "p", P, got[name], rtt_ms=rtt, mode=mode)
            energies[mode].append(got[name])
            columns[f"{mode} {rtt:g} ms"] = got[name]
    judged = []
    for mode, rows in energies.items():
        rising = np.diff(np.array(rows), axis=0) > 0
        here = f"at {int(rising.all(axis=0).sum())} of {len(P)} loss probabilities"
        text = f"energy of mode {mode} falls as the RTT falls, 300 ms to 50 ms"
        judged.append(claims.true(f"{home}.{mode}.rtt", text, "everywhere", here, "every p", bool(rising.all())))
    middle = models.tcp_energy(p=[1e-4, 0.05], rtt_s=0.1).ratio
    text = "energy asleep over energy awake at p = 0.0001, RTT 100 ms"
    judged.append(claims.between(f"{home}.small", text, "about 1", float(middle[0]), 0.9, 1.0))
    text = "energy asleep over energy awake at p = 0.05, RTT 100 ms"
    judged.append(claims.between(f"{home}.large", text, "far below 1", float(middle[1]), 0.0, 0.3))
    values += curve("energy ratio", "", "p", [1e-4, 0.05], middle, rtt_ms=100.0)
    return Outcome(values, judged, [grid("p", P, columns, every=5)])


def _fig38(home: str, _results: Results) -> Outcome:
    values, columns = [], {}
    judged = []
    for q in Q:
        got = models.tcp_energy(p=P, rtt_s=0.1, q=q)
        values += curve("energy ratio", "", "p", P, got.ratio, q=q, m=1.0)
        values.append(value("least p", float(got.air_loss[0]), "", q=q))
        columns[f"q = {q:g}"] = got.ratio
        text = f"least p at q = {q:g}: q^8"
        judged.append(claims.within(f"{home}.least.{q:g}", text, q**8, float(got.air_loss[0]), 1e-6))
    place = P.index(1e-2)
    at_q = [float(ratio[place]) for name, ratio in columns.items() if float(name[4:]) ** 8 <= P[place]]
    rises = bool((np.diff(at_q) > 0).all())
    here = ", ".join(f"{ratio:.3f}" for ratio in at_q)
    added = float(columns["q = 0.3"][place] - columns["q = 0"][place])
    of_p = float(np.ptp(columns["q = 0"]))
    judged += [
        claims.true(f"{home}.rises", "the ratio at p = 0.01 rises with q", "rises slightly", here, "exact", rises),
        claims.between(f"{home}.slightly", "what q = 0.3 adds to it", "slightly", added, 0.0, 0.1),
        claims.between(f"{home}.p", "that over what p changes at q = 0", "far below 1", added / of_p, 0.0, 0.2),
    ]
    note = "What the air alone loses, q^8, is the least p that can be at a q: 0.0039 at q = 0.5, 0.058 at 0.7."
    return Outcome(values, judged, [grid("p", P, columns, every=5)], notes=[note])


def _surface_claims(home: str, surfaces: dict[int, dict[float, Any]]) -> list[Claim]:
    """Where bursts of five gain most: at short RTTs and little loss, unless the pipe is full."""
    rtts = [rtt for rtt in SURFACE_RTTS_MS if rtt >= _LEAST_RTT_MS]
    gain = {rtt: surfaces[1][rtt] - surfaces[5][rtt] for rtt in rtts}
    share = float(np.mean([gain[rtt] > 0 for rtt in rtts]))
    over_rtt = all(
        bool((np.diff([gain[rtt][place] for rtt in rtts]) < 0).all()) for place, p in enumerate(SURFACE_P) if p >= 3e-3
    )
    over_p = all(
        bool((np.diff([g for p, g in zip(SURFACE_P, gain[rtt], strict=True) if p >= 1e-3]) < 0).all())
        for rtt in rtts
        if rtt >= 200
    )
    yes = {True: "yes", False: "no"}
    text = "the gain of m = 5 over m = 1 falls with"
    return [
        claims.between(
            f"{home}.lower", "share of the plane where m = 5 spends less than m = 1", "most", share, 0.9, 1.0
        ),
        claims.true(f"{home}.rtt", f"{text} the RTT, p from 0.003 on", "yes", yes[over_rtt], "exact", over_rtt),
        claims.true(f"{home}.p", f"{text} p, from 0.001 and 200 ms on", "yes", yes[over_p], "exact", over_p),
    ]


_LEAST_RTT_MS = 50.0
"""Below it the timeout, which is not in the source, decides more than the RTT."""


def _fig39(home: str, _results: Results) -> Outcome:
    values, tables = [], []
    surfaces: dict[int, dict[float, Any]] = {}
    for m in (1, 5):
        columns = {}
        for rtt in SURFACE_RTTS_MS:
            ratio = models.tcp_energy(p=SURFACE_P, rtt_s=rtt / 1e3, m=m).ratio
            values += curve("energy ratio", "", "p", SURFACE_P, ratio, rtt_ms=rtt, m=float(m))
            columns[f"{rtt:g}"] = ratio
            surfaces.setdefault(m, {})[rtt] = ratio
        table = grid("p", SURFACE_P, columns, every=3)
        tables.append(Table(table.heads, table.rows, f"energy ratio with m = {m}, over RTT in ms"))
    note = "Below RTTs of 50 ms the timeout of 3 s, which is not in the source, decides more than the RTT."
    return Outcome(values, _surface_claims(home, surfaces), tables, notes=[note])


def _diminishing(ratios: Sequence[float]) -> bool:
    """Whether each further packet in a burst saves, and less than the one before."""
    saved = -np.diff(np.array(ratios)) / np.diff(np.array(BURSTS, dtype=float))
    return bool((saved > 0).all() and (np.diff(saved) < 0).all())


def _fig310(home: str, _results: Results) -> Outcome:
    ratios = {m: models.tcp_energy(p=P, rtt_s=0.1, m=m).ratio for m in BURSTS}
    values: list[Value] = []
    for m, ratio in ratios.items():
        values += curve("energy ratio", "", "p", P, ratio, m=float(m))
    first, fifth = (float(ratios[m][P.index(1e-3)]) for m in (1, 5))
    printed = [value("energy ratio", 0.9, "", m=1.0, p=1e-3), value("energy ratio", 0.4, "", m=5.0, p=1e-3)]
    numbers = (
        ("m1", "reduction with m = 1 at p = 0.001", 10.0, 100 * (1 - first)),
        ("m5", "further reduction with m = 5 at p = 0.001", 50.0, 100 * (first - fifth)),
    )
    judged = [
        Claim(f"{home}.{name}", text, paper, here, "5 points", abs(here - paper) <= 5.0, "points")
        for name, text, paper, here in numbers
    ]
    at_p = [float(ratio[P.index(1e-3)]) for ratio in ratios.values()]
    text = "the saving grows with m at p = 0.001, each further packet in a burst adding less"
    here = ", ".join(f"{ratio:.3f}" for ratio in at_p)
    judged.append(claims.true(f"{home}.diminishing", text, "falls, ever less", here, "exact", _diminishing(at_p)))
    columns = {f"m = {m}": ratio for m, ratio in ratios.items()}
    note = (
        "Below p = 0.0005 a loss-free window fills the pipe, and short bursts leave no gap to sleep in; above 0.02 a "
        "window is shorter than ten packets. There the increments are not in order, and small."
    )
    return Outcome(values, judged, [grid("p", P, columns, every=5)], printed, [note])


def _over_m(name: str) -> dict[float, Any]:
    """A result over the burst at p = 0.01, by the RTT in ms."""
    ms = [int(m) for m in ALL_BURSTS]
    return {rtt: models.tcp_energy(p=0.01, rtt_s=rtt / 1e3, m=ms)[name] for rtt in RTTS_MS}


def _fig311(home: str, _results: Results) -> Outcome:
    ratios = _over_m("ratio")
    values = [v for rtt, ys in ratios.items() for v in curve("energy ratio", "", "m", ALL_BURSTS, ys, rtt_ms=rtt)]
    at_one = {f"{rtt:g} ms": [float(ys[0])] for rtt, ys in reversed(ratios.items())}
    gains = {f"{rtt:g} ms": [float(ys[0] - ys[-1])] for rtt, ys in reversed(ratios.items())}
    judged = [
        claims.ascending(f"{home}.m1", "ratio at m = 1: the longer the RTT, the lower", at_one),
        claims.ascending(f"{home}.gain", "what m = 10 takes off it: the longer the RTT, the less", gains),
    ]
    for rtt, ys in ratios.items():
        steps = np.abs(np.diff(ys))
        text = f"converges in m, RTT {rtt:g} ms: the last step over the first"
        judged.append(claims.between(f"{home}.converges.{rtt:g}", text, "flat", float(steps[-1] / steps[0]), 0.0, 0.1))
    return Outcome(values, judged, [grid("m", ALL_BURSTS, {f"{rtt:g} ms": ys for rtt, ys in ratios.items()})])


def _fig312(home: str, _results: Results) -> Outcome:
    times = _over_m("burst_total_s")
    values = [v for rtt, ys in times.items() for v in curve("latency", "s", "m", ALL_BURSTS, ys, rtt_ms=rtt)]
    slopes = {f"{rtt:g} ms": [float(np.mean(np.diff(ys)))] for rtt, ys in times.items()}
    judged = [claims.ascending(f"{home}.slope", "latency that a packet in a burst adds grows with the RTT", slopes)]
    for rtt, ys in times.items():
        bend = float(np.max(np.abs(np.diff(ys, 2))) / np.mean(np.diff(ys)))
        text = f"linear in m, RTT {rtt:g} ms: the largest second difference over the slope"
        judged.append(claims.between(f"{home}.linear.{rtt:g}", text, "linear", bend, 0.0, 1e-6))
    return Outcome(values, judged, [grid("m", ALL_BURSTS, {f"{rtt:g} ms": ys for rtt, ys in times.items()})])


def _summary(home: str, _results: Results) -> Outcome:
    large = models.tcp_energy(p=0.05, rtt_s=0.1, m=[1, 10])
    small = models.tcp_energy(p=0.001, rtt_s=0.1, m=[1, 10])
    far, near = (models.tcp_energy(p=0.01, rtt_s=rtt, m=[1, 10]) for rtt in (0.3, 0.05))
    values = [
        value("reduction", 1 - solution.ratio[index], "", p=p, rtt_ms=rtt, m=m)
        for p, rtt, solution in ((0.05, 100.0, large), (0.001, 100.0, small), (0.01, 300.0, far), (0.01, 50.0, near))
        for index, m in enumerate((1.0, 10.0))
    ]
    saved = {name: [float(s.ratio[0] - s.ratio[1])] for name, s in (("300 ms", far), ("50 ms", near))}
    added = {name: [float(np.diff(s.burst_total_s)[0])] for name, s in (("50 ms", near), ("300 ms", far))}
    values += [value("delay added", added[name][0], "s", p=0.01, rtt_ms=rtt) for name, rtt in _NEAR_FAR]
    reductions = [float(1 - ratio) for ratio in (large.ratio[0], small.ratio[0], small.ratio[1] - small.ratio[0] + 1)]
    judged = [
        claims.between(f"{home}.large-p", "reduction of m = 1 at p = 0.05", "effective", reductions[0], 0.7, 1.0),
        claims.between(f"{home}.small-p", "reduction of m = 1 at p = 0.001", "little", reductions[1], 0.0, 0.2),
        claims.between(f"{home}.bursts", "further reduction of m = 10 there", "needed", reductions[2], 0.3, 1.0),
        claims.ascending(f"{home}.saving", "further reduction of m = 10 at p = 0.01, by RTT", saved),
        claims.ascending(f"{home}.delay", "delay that m = 10 adds at p = 0.01, by RTT", added),
    ]
    rows = [[f"{v.at.get('p')}", f"{v.at['rtt_ms']:g} ms", _label(v), f"{v.value:.3g} {v.unit}"] for v in values]
    return Outcome(values, judged, [Table(["p", "RTT", "what", "here"], rows)])


_NEAR_FAR = (("50 ms", 50.0), ("300 ms", 300.0))


def _label(item: Value) -> str:
    return f"{item.what}, m = {item.at['m']:g}" if "m" in item.at else f"{item.what} by m = 10"


_RADIO = models.radio("ar5004")
_CRITICAL = {
    "P^s": ("sleep_w", 1.0),
    "P^as": ("to_sleep_w", 100.0),
    "P^sa": ("wake_up_w", 0.05),
    "T^as": ("to_sleep_s", 100.0),
    "T^sa": ("wake_up_s", 0.05),
}
"""By the symbol: the model's parameter and the critical multiplier that the text names."""


def _reduction(symbol: str, multiplier: float) -> float:
    key = _CRITICAL[symbol][0]
    return float(models.wni_factors(**{**_RADIO, key: _RADIO[key] * multiplier}).reduction_j)


def _fig313(symbols: Sequence[str], home: str) -> Outcome:
    values, columns, judged = [], {}, []
    for symbol in symbols:
        critical = _CRITICAL[symbol][1]
        # What no radio has: asleep it would draw more than awake.
        reductions = [_reduction(symbol, multiplier) for multiplier in MULTIPLIERS]
        values += curve("energy reduction", "J", "multiplier", MULTIPLIERS, reductions, of=symbol)
        columns[symbol] = reductions
        at, limit = _reduction(symbol, critical), _reduction(symbol, 1e-9)
        short = 1 - at / limit
        values += [value("critical multiplier", critical, "", of=symbol), value("shortfall", short, "", of=symbol)]
        text = f"what is missing of the limit at multiplier {critical:g} of {symbol}"
        judged.append(claims.between(f"{home}.{_plain(symbol)}.flat", text, "flat to there", short, -1e-9, 0.025))
        if symbol == "T^as":
            spread = max(reductions) - min(reductions)
            text = "constant in T^as, since the way to sleep costs as much as listening"
            constant = spread <= 1e-12
            judged.append(claims.true(f"{home}.Tas.constant", text, "0", f"{spread:.1g}", "1e-12 J", constant))
            continue
        beyond = 1 - _reduction(symbol, 10 * critical) / limit
        text = f"what is missing at ten times that of {symbol}"
        judged.append(claims.between(f"{home}.{_plain(symbol)}.falls", text, "falls above", beyond, 0.05, 1e9))
    return Outcome(values, judged, [grid("multiplier", MULTIPLIERS, columns, every=3)])


def _plain(symbol: str) -> str:
    return symbol.replace("^", "")


def _conditions(home: str, _results: Results) -> Outcome:
    radio = models.wni_factors(**_RADIO)
    numbers = (
        ("sleep", "P^s / P^l", 0.02, radio.sleep_power_ratio, ""),
        ("to-sleep", "P^as T^as / P^l at 100 times P^as", 1e-4, 100 * radio.to_sleep_cost_s, "s"),
        ("wake-up", "P^sa T^sa / P^l at 0.05 times P^sa", 8.75e-5, 0.05 * radio.wake_up_cost_s, "s"),
    )
    values = [value(text, here, unit) for _, text, _, here, unit in numbers]
    values.append(value("conditions that the AR5004 meets", radio.conditions))
    judged = [claims.exactly(f"{home}.{name}", text, paper, here, unit) for name, text, paper, here, unit in numbers]
    rows = [[v.what, f"{v.value:.4g} {v.unit}".rstrip()] for v in values]
    note = "Printed for the last one is 1e-4, rounded from 8.75e-5."
    return Outcome(values, judged, [Table(["what", "here"], rows)], notes=[note])


_OVER_P = "p, probability of a packet loss"
_RATIO = "J_sleep / J_cam"
_OVER_M = "m, packets in a burst"

FIGURES = (
    solved(
        "fig3.7",
        "Energy of a 10 MB upload, awake and with ideal sleep",
        _fig37,
        Lines("energy", "p", ("rtt_ms", "mode"), _OVER_P, "energy (J)", log_y=True, scale="log"),
    ),
    solved(
        "fig3.8",
        "Energy ratio for several q",
        _fig38,
        Lines("energy ratio", "p", ("q",), _OVER_P, _RATIO, scale="log"),
    ),
    solved(
        "fig3.9",
        "Energy ratio over RTT and p, m = 1 and m = 5",
        _fig39,
        Lines("energy ratio", "p", ("rtt_ms", "m"), _OVER_P, _RATIO, scale="log"),
    ),
    solved(
        "fig3.10",
        "Energy ratio for several m, RTT 100 ms",
        _fig310,
        Lines("energy ratio", "p", ("m",), _OVER_P, _RATIO, scale="log"),
    ),
    solved(
        "fig3.11",
        "Energy ratio over m, p = 0.01",
        _fig311,
        Lines("energy ratio", "m", ("rtt_ms",), _OVER_M, _RATIO, scale="linear"),
    ),
    solved(
        "fig3.12",
        "Transfer latency over m, p = 0.01",
        _fig312,
        Lines("latency", "m", ("rtt_ms",), _OVER_M, "latency (s)", scale="linear"),
    ),
    solved("sec3.5.summary", "Where bursts are worth their delay", _summary),
    solved(
        "fig3.13a",
        "Energy reduction over multiples of the radio's powers",
        lambda home, _: _fig313(("P^s", "P^as", "P^sa"), home),
        Lines("energy reduction", "multiplier", ("of",), "multiplier", "energy reduction (J)", scale="log"),
    ),
    solved(
        "fig3.13b",
        "Energy reduction over multiples of the radio's transition times",
        lambda home, _: _fig313(("T^as", "T^sa"), home),
        Lines("energy reduction", "multiplier", ("of",), "multiplier", "energy reduction (J)", scale="log"),
    ),
    solved("eq3.47-49", "Design conditions of a radio", _conditions),
)
