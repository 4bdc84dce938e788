"""What both documents count on paper: tables of indices, the properties that they are to have, and buffer estimates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from airwatt import fairness, models
from airwatt.reproductions import claims
from airwatt.reproductions.publication import Bars, Claim, Outcome, Reproduction, Results, Table, Value

CAPACITY = 30.0
HALF = 0.005
"""Half of the last printed digit."""


@dataclass(frozen=True)
class Case:
    """An allocation with its printed indices."""

    name: str
    flows: tuple[float, ...]
    jain: float
    index: float


def _cases(*rows: tuple[Sequence[float], float, float]) -> tuple[Case, ...]:
    return tuple(
        Case(str(number), tuple(map(float, flows)), jain, index)
        for number, (flows, jain, index) in enumerate(rows, start=1)
    )


PHD_CASES = _cases(
    ([3] * 10, 1.0, 1.0),
    ([2] * 10, 1.0, 0.9),
    ([1] * 10, 1.0, 0.69),
    ([1] * 9 + [6], 0.5, 0.67),
    ([1] * 8 + [6, 6], 0.5, 0.64),
    ([2] * 9 + [12], 0.5, 0.5),
    ([1] * 6 + [2, 3, 3, 6], 0.62, 0.73),
    ([1, 1, 1, 3, 3, 3, 3, 4, 5, 6], 0.78, 0.78),
)
MASTER_CASES = _cases(
    ([3] * 10, 1.0, 1.0),
    ([2] * 10, 1.0, 0.6),
    ([1] * 10, 1.0, 0.23),
    ([30] + [0] * 9, 0.1, 0.1),
    ([15] + [0] * 9, 0.1, 0.14),
    ([1] + [0] * 9, 0.1, 0.02),
    ([0, 0, 1, 1, 2, 2, 2, 4, 4, 4], 0.65, 0.49),
    ([3, 3, 2, 2, 2, 2, 2, 2, 1, 1], 0.91, 0.58),
    ([1, 1, 1, 2, 2, 2, 3, 3, 3, 12], 0.48, 0.48),
    ([1, 1, 1, 3, 3, 3, 3, 4, 5, 6], 0.78, 0.78),
)


def phd(flows: Sequence[float], capacity: float = CAPACITY) -> float:
    """The index of 2013."""
    return fairness.fair_utilization(flows, capacity)


def master(flows: Sequence[float], capacity: float = CAPACITY) -> float:
    """The index of 2010."""
    return fairness.fair_utilization_alpha(flows, capacity)


def _table(document: str, cases: Sequence[Case], newer: bool) -> tuple[Outcome, list[float]]:
    index = phd if newer else master
    values, published, rows, ours = [], [], [], []
    judged: list[Claim] = []
    for case in cases:
        here = (fairness.jain(case.flows), index(case.flows))
        ours.append(here[1])
        for what, number, printed in zip(("Jain", "index"), here, (case.jain, case.index), strict=True):
            values.append(Value(what, {"case": case.name}, number, None, ""))
            published.append(Value(what, {"case": case.name}, printed, None, ""))
            id_ = f"{document}.{what.lower()}.{case.name}"
            judged.append(claims.rounded(id_, f"{what}, case {case.name}", printed, number, HALF))
        total = f"{sum(case.flows):g}"
        rows.append([case.name, total, f"{here[0]:.4f}", f"{case.jain:g}", f"{here[1]:.4f}", f"{case.index:g}"])
    shown = Table(["case", "total", "Jain here", "paper", "index here", "paper"], rows)
    return Outcome(values, judged, [shown], published), ours


def _tab21(item: Reproduction, _results: Results) -> Outcome:
    home = f"hashimoto-2013/{item.place}"
    outcome, ours = _table(home, PHD_CASES, newer=True)
    jain = [fairness.jain(case.flows) for case in PHD_CASES]
    alike = all(jain[a] >= jain[b] and ours[a] > ours[b] for a, b in ((1, 6),)) and ours[1] > ours[6]
    text = "cases 2 and 7: the same order under both indices"
    outcome.claims.append(claims.true(f"{home}.order", text, "same", "same" if alike else "not", "exact", alike))
    full = [abs(jain[case] - ours[case]) for case in (0, 5, 7)]
    text = "cases 1, 6, 8, which fill the capacity: largest difference of the two indices"
    outcome.claims.append(claims.between(f"{home}.full", text, "0", max(full), 0.0, 1e-9))
    return outcome


def _tab1(item: Reproduction, _results: Results) -> Outcome:
    home = f"hashimoto-2010/{item.place}"
    outcome, ours = _table(home, MASTER_CASES, newer=False)
    jain = [fairness.jain(case.flows) for case in MASTER_CASES]
    alike = jain[1] > jain[7] > jain[6] and ours[1] > ours[7] > ours[6]
    text = "cases 2, 8, 7: the same order under both indices"
    outcome.claims.append(claims.true(f"{home}.order", text, "same", "same" if alike else "not", "exact", alike))
    full = max(abs(jain[case] - ours[case]) for case in (3, 8, 9))
    text = "cases 4, 9, 10, which fill the capacity: largest difference of the two indices"
    outcome.claims.append(claims.between(f"{home}.full", text, "0", full, 0.0, 1e-9))
    text = "case 5 above case 4, although it uses half as much"
    judged = ours[4] > ours[3]
    outcome.claims.append(claims.true(f"{home}.fifth", text, "above", f"{ours[4]:.3f}, {ours[3]:.3f}", "exact", judged))
    return outcome


def _jain(home: str, flows: Sequence[float]) -> Claim:
    text = f"Jain's index of {', '.join(f'{x:g}' for x in flows)}"
    return claims.rounded(f"{home}.jain", text, 0.82, fairness.jain(flows), HALF)


def _sec241(item: Reproduction, _results: Results) -> Outcome:
    home = f"hashimoto-2013/{item.place}"
    same = fairness.jain([100, 300, 400]) - fairness.jain([10, 30, 40])
    text = "the same allocation ten times as large: difference of Jain's indices"
    judged = [_jain(home, [10, 30, 40]), claims.between(f"{home}.scale", text, "0", same, -1e-12, 1e-12)]
    return Outcome([Value("Jain", {}, fairness.jain([10, 30, 40]), None, "")], judged)


def _properties(item: Reproduction, _results: Results) -> Outcome:
    """Over the allocations of both tables, scaled to equal totals."""
    home = f"hashimoto-2013/{item.place}"
    scaled = []
    for case in PHD_CASES + MASTER_CASES:
        scale = 20 / sum(case.flows)
        scaled.append([scale * x for x in case.flows])
    scaled.sort(key=fairness.jain)
    pairs = list(pairwise(scaled))
    ordered = all(phd(a) <= phd(b) + 1e-12 for a, b in pairs)
    equal = all(abs(phd(a) - phd(b)) < 1e-9 for a, b in pairs if abs(fairness.jain(a) - fairness.jain(b)) < 1e-12)
    full = max(abs(phd(flows, 20) - fairness.jain(flows)) for flows in scaled)
    alone = phd([30.0] + [0.0] * 9)
    yes = {True: "yes", False: "no"}
    judged = [
        claims.true(f"{home}.1", "equal totals: ordered as by Jain's index", "yes", yes[ordered], "exact", ordered),
        claims.true(f"{home}.2", "equal totals and Jain's index: equal", "yes", yes[equal], "exact", equal),
        claims.between(f"{home}.3", "full capacity: largest difference from Jain's index", "0", full, 0.0, 1e-9),
        claims.exactly(f"{home}.alone", "one flow of ten takes the capacity", 0.1, alone),
    ]
    return Outcome([Value("index", {"flows": "one takes all"}, alone, None, "")], judged)


def _variance(item: Reproduction, _results: Results) -> Outcome:
    home = f"hashimoto-2013/{item.place}"
    values: list[Value] = []
    judged: list[Claim] = []
    for number, printed in ((4, 2.25), (5, 4.0), (6, 9.0)):
        flows = PHD_CASES[number - 1].flows
        mean = sum(flows) / len(flows)
        variance = sum((x - mean) ** 2 for x in flows) / len(flows)
        values.append(Value("variance", {"case": str(number)}, variance, None, ""))
        judged.append(claims.exactly(f"{home}.{number}", f"variance of case {number}", printed, variance))
    four, five, six = (phd(PHD_CASES[number - 1].flows) for number in (4, 5, 6))
    here = f"{four:.3f}, {five:.3f}, {six:.3f}"
    judged.append(claims.true(f"{home}.falls", "index of cases 4, 5, 6", "falls", here, "exact", four > five > six))
    return Outcome(values, judged)


def _sec31h(item: Reproduction, _results: Results) -> Outcome:
    """The core without the factor of utilization, which is the index of 2013."""
    home = f"hashimoto-2010/{item.place}"
    values: list[Value] = []
    judged: list[Claim] = []
    for flows in ([3, 1, 1, 1, 1], [3, 3, 1, 1, 1]):
        name = ",".join(map(str, flows))
        number = phd(flows, 10)
        values.append(Value("h", {"flows": name}, number, None, ""))
        judged.append(claims.exactly(f"{home}.{len(judged) + 1}", f"h of {name} in 10", 0.8, number))
    return Outcome(values, judged)


def _sec31(item: Reproduction, _results: Results) -> Outcome:
    home = f"hashimoto-2010/{item.place}"
    scaled = sorted(([20 / sum(case.flows) * x for x in case.flows] for case in MASTER_CASES), key=fairness.jain)
    ordered = all(master(a) <= master(b) + 1e-12 for a, b in pairwise(scaled))
    case_4, case_5 = (master(MASTER_CASES[number].flows) for number in (3, 4))
    grows = case_4 > case_5
    full = max(abs(master(flows, 20) - fairness.jain(flows)) for flows in scaled)
    here = f"{case_4:.3f} with all of the capacity, {case_5:.3f} with half of it"
    text = "(i) equal Jain's index: the larger total has the larger index (cases 4 and 5)"
    yes = "yes" if ordered else "no"
    judged = [
        claims.true(f"{home}.i", text, "larger", here, "exact", grows),
        claims.true(f"{home}.ii", "(ii) equal totals: ordered as by Jain's index", "yes", yes, "exact", ordered),
        claims.between(f"{home}.full", "full capacity: largest difference from Jain's index", "0", full, 0.0, 1e-9),
    ]
    notes = ["Property (i) does not follow for alpha = 1: the thesis's own table 1 has a case against it."]
    return Outcome([Value("index", {"case": "4"}, case_4, None, "")], judged, notes=notes)


_MEASURED = {
    "Buffalo": (118_003, 21.8e6, 0.975e-3, 76.9, 78.9),
    "NEC": (76_719, 19.6e6, 0.563e-3, 50.2, 51.5),
    "Corega": (366_826, 20.2e6, 0.674e-3, 243.4, 250.0),
}
"""Bytes at the first loss, throughput in bit/s, least round trip in s, buffers printed in 2013 and 2010."""


def _buffers(document: str, newer: bool) -> Outcome:
    estimate = models.ap_buffer
    values, published, judged, rows = [], [], [], []
    for name, (overflow, rate, rtt, *printed) in _MEASURED.items():
        reading = {} if newer else {"mss_bytes": 1460, "megabit": "binary", "digits": "cut"}
        solution = estimate(overflow_bytes=overflow, throughput_bps=rate, min_rtt_s=rtt, **reading)
        here, paper = float(solution.buffer_packets), printed[0 if newer else 1]
        at = {"access_point": name}
        values.append(Value("buffer", dict(at), here, None, "packets"))
        published.append(Value("buffer", dict(at), paper, None, "packets"))
        half = 0.05 if newer else 0.0
        judged.append(claims.rounded(f"{document}.{name.lower()}", f"buffer of {name}", paper, here, half, "packets"))
        rows.append([name, f"{here:.2f}", f"{paper:g}"])
    found = {value.at["access_point"]: value.value for value in values}
    order = found["NEC"] < found["Buffalo"] < found["Corega"]
    shown = ", ".join(f"{name} {number:.1f}" for name, number in found.items())
    text = "from small to large"
    judged.append(claims.true(f"{document}.order", text, "NEC, Buffalo, Corega", shown, "exact", order))
    return Outcome(values, judged, [Table(["access point", "packets here", "paper"], rows)], published)


def _tab23(item: Reproduction, _results: Results) -> Outcome:
    return _buffers(f"hashimoto-2013/{item.place}", newer=True)


def _tab3(item: Reproduction, _results: Results) -> Outcome:
    return _buffers(f"hashimoto-2010/{item.place}", newer=False)


_PICTURE = Bars("index", "case", (), "index")
_BUFFERS = Bars("buffer", "access_point", (), "buffer (packets)")

OF_2013 = (
    Reproduction("sec2.4.1.jain", "Jain's index sees proportions alone", _sec241),
    Reproduction("sec2.4.2.properties", "What the index has to satisfy", _properties),
    Reproduction("tab2.1", "Jain's index and the proposed one, ten flows in 30 Mb/s", _tab21, picture=_PICTURE),
    Reproduction("sec2.4.3.variance", "Why the index falls as the total rises", _variance),
    Reproduction("tab2.3", "Buffers of three access points, estimated", _tab23, picture=_BUFFERS),
)


def _sec3(item: Reproduction, _results: Results) -> Outcome:
    flows = [30, 40, 10]
    return Outcome([Value("Jain", {}, fairness.jain(flows), None, "")], [_jain(f"hashimoto-2010/{item.place}", flows)])


OF_2010 = (
    Reproduction("sec3.jain", "Jain's index of an example", _sec3),
    Reproduction("sec3.1.h", "Why the core of the index does not suffice", _sec31h),
    Reproduction("sec3.1.properties", "What the index has to satisfy", _sec31),
    Reproduction("tab1", "Jain's index and the proposed one, ten flows in 30 Mb/s", _tab1, picture=_PICTURE),
    Reproduction("tab3", "Buffers of three access points, estimated", _tab3, picture=_BUFFERS),
)
