"""What holds for all runs together, and what can be counted.

The abstract, chapter 7, the equation, section 2.7 and table 1.
"""

import json
import math
from collections.abc import Mapping, Sequence

from airwatt import _core
from airwatt.reproductions import claims
from airwatt.reproductions.publication import Outcome, Reproduction, Results, Table, Value
from airwatt.reproductions.singh_2002 import impaired, loss
from airwatt.reproductions.singh_2002.figures import Curves, averages, mean
from airwatt.reproductions.singh_2002.setup import LAPTOP_W, RADIO_LISTEN_W
from airwatt.reproductions.singh_2002.traces import MANY_BLOCKS
from airwatt.statistics import mean_ci95

_CASES: dict[str, Curves] = {
    **{f"{mtu} bytes, {per_cent} % loss": curves for (per_cent, mtu), curves in loss.CURVES.items()},
    "bursts": impaired.BURSTY,
    **{
        f"{mtu} bytes, {reorder} % reordered, {per_cent} % loss": curves
        for (reorder, per_cent, mtu), curves in impaired.REORDERED.items()
    },
}
"""The three TCPs in every case of tables 3 to 5, over round-trip times."""
_POINTS = (*loss.POINTS, *impaired.POINTS)
_LINE_BPS = 11e6

Averages = Mapping[str, Mapping[str, Sequence[float]]]
"""By the case and the name of the TCP."""


def _first(found: Mapping[str, Sequence[float]], sign: int) -> str:
    """The TCP with the least mean, or with `sign` -1 the one with the largest."""
    return min(found, key=lambda name: sign * mean(found[name]))


def _head(item: Reproduction, results: Results) -> Outcome:
    home = f"singh-2002/{item.place}"
    total = {case: averages(curves, results, "total") for case, curves in _CASES.items()}
    ideal = {case: averages(curves, results, "idealized") for case, curves in _CASES.items()}

    def share(found: Averages, low: str, high: str) -> float:
        return sum(mean(one[low]) < mean(one[high]) for one in found.values()) / len(found)

    def ends(found: Averages, highest: bool) -> float:
        first = [_first(one, -1 if highest else 1) for one in found.values()]
        return first.count("SACK") / len(found)

    def least_in_run(found: Averages) -> list[float]:
        """The share of cases in which SACK has the least energy, for each seed."""
        seeds = range(len(next(iter(found.values()))["SACK"]))
        least = [[min(one, key=lambda name: one[name][seed]) for one in found.values()] for seed in seeds]
        return [names.count("SACK") / len(found) for names in least]

    values, judged = [], []
    for low, high in (("SACK", "NewReno"), ("NewReno", "Reno")):
        part = share(total, low, high)
        values.append(Value("share of cases", {"order": f"total: {low} < {high}"}, part, None, ""))
        text = f"share of the {len(_CASES)} cases in which {low} has less total energy than {high}"
        judged.append(claims.between(f"{home}.total.{low.lower()}", text, "most", part, 0.5, 1.0))
    often = ends(ideal, highest=True)
    values.append(Value("share of cases", {"order": "idealized: SACK highest"}, often, None, ""))
    text = "share of cases in which SACK has the highest idealized energy"
    judged.append(claims.between(f"{home}.idealized", text, "often", often, 1 / 3, 1.0))
    least = ends(ideal, highest=False), ends(total, highest=False)
    for what, part in zip(("idealized", "total"), least, strict=True):
        values.append(Value("share of cases", {"order": f"{what}: SACK lowest"}, part, None, ""))
    text = "SACK has the least energy in more cases by total than by idealized energy"
    by_run = [least_in_run(found) for found in (ideal, total)]
    here = f"{mean(by_run[1]):.2f} by total, {mean(by_run[0]):.2f} by idealized, shares of single runs"
    judged.append(claims.ordered(f"{home}.rule", text, "low idle power: not SACK", here, [(by_run[0], by_run[1])]))
    rows = [[str(value.at["order"]), f"{value.value:.2f}"] for value in values]
    return Outcome(values, judged, [Table(["order", "share of cases"], rows)])


def _inverse(item: Reproduction, results: Results) -> Outcome:
    """Energy per bit times goodput is the mean power of the laptop."""
    watts = {
        case: [
            1e-3 * energy * goodput
            for curve in curves.values()
            for one in curve.points()
            for energy, goodput in zip(results.column(one, "total"), results.column(one, "goodput"), strict=True)
        ]
        for case, curves in _CASES.items()
    }
    every = [watt for column in watts.values() for watt in column]
    values = [Value("mean power", {"case": case}, *mean_ci95(column), "W") for case, column in watts.items()]
    home = f"singh-2002/{item.place}"
    text = "energy per bit times goodput, mean over all runs"
    judged = [claims.within(f"{home}.mean", text, LAPTOP_W, math.fsum(every) / len(every), 0.1, "W")]
    far = max(every, key=lambda watt: abs(watt - LAPTOP_W))
    text = "the run farthest from it"
    judged.append(claims.within(f"{home}.farthest", text, LAPTOP_W, far, 0.1, "W"))
    return Outcome(values, judged)


def _equation(item: Reproduction, results: Results) -> Outcome:
    """The printed equation beside the ledgers: it has neither the work of the host nor receptions nor headers."""
    transmit_w = 4.74 * 0.284 - RADIO_LISTEN_W
    off, values = 0.0, []
    for case, curves in _CASES.items():
        printed, here = [], []
        for curve in curves.values():
            for one in curve.points():
                printed += [
                    1e3 * LAPTOP_W / kbps + 1e6 * transmit_w / _LINE_BPS for kbps in results.column(one, "goodput")
                ]
                here += results.column(one, "total")
        ratios = [a / b for a, b in zip(here, printed, strict=True)]
        off = max(off, *(abs(ratio - 1) for ratio in ratios))
        values.append(Value("ledgers over equation", {"case": case}, *mean_ci95(ratios), ""))
    text = "largest difference of a run's energy from (B/thr) P_idle + (B/r) (P_Tx - P_idle)"
    return Outcome(values, [claims.between(f"singh-2002/{item.place}.difference", text, "none", off, 0.0, 0.1)])


def _table1(item: Reproduction, _results: Results) -> Outcome:
    """The currents of the card, and the power of the laptop."""
    radio = json.loads(_core.radio("lucent-wavelan"))
    values, judged = [], []
    for state, printed in (("sleep", 10), ("listen", 156), ("receive", 190), ("transmit", 284)):
        here = 1e3 * float(radio[f"{state}_w"]) / 4.74
        values.append(Value("current", {"state": state}, here, None, "mA"))
        judged.append(
            claims.rounded(f"singh-2002/{item.place}.{state}", f"current: {state}", printed, here, 1e-6, "mA")
        )
    return Outcome(values, judged)


def _blocks(item: Reproduction, results: Results) -> Outcome:
    """Blocks that fit into 40 bytes of options, and what acknowledgements on the air carried."""
    home = f"singh-2002/{item.place}"
    most = max(results.column(MANY_BLOCKS, "most blocks"))
    values = [
        Value("most blocks", {"options": "none"}, most, None, ""),
        Value("room for blocks", {"options": "none"}, (40 - 2) // 8, None, ""),
        Value("room for blocks", {"options": "timestamps"}, (40 - 12 - 2) // 8, None, ""),
    ]
    judged = [
        claims.exactly(f"{home}.timestamps", "blocks beside timestamps", 3, (40 - 12 - 2) // 8),
        claims.exactly(f"{home}.most", "most blocks of an acknowledgement without timestamps, 10 % loss", 4, most),
    ]
    return Outcome(values, judged)


HEAD = Reproduction("head", "The abstract: ranks over all cases", _head, _POINTS)
INVERSE = Reproduction("ch7.inverse", "Energy is inverse to throughput", _inverse, _POINTS)
EQUATION = Reproduction("eq.E", "The printed equation beside the ledgers", _equation, _POINTS)
TABLE1 = Reproduction("tab1", "Currents of the card", _table1)
BLOCKS = Reproduction("sec2.7.blocks", "Limits of the SACK option", _blocks, (MANY_BLOCKS,))
