"""The few forms that claims have: a number within a tolerance, an order at every point, an order of averages.

An order is one of means over the seeds. The seeds are the same for all curves, so that differences are paired: if the
95 % interval of a difference contains zero, the order is a tie, whatever the means are. A tie does not hold where the
publication claims an order; where it calls the difference slight itself (`slight=True`), it does. A single run has no
interval, and its numbers are compared as they are.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from airwatt.reproductions.publication import Claim
from airwatt.reproductions.series import Series
from airwatt.statistics import mean_ci95

_ON_MEANS = "order of means"
SLIGHT = "missed only if reversed beyond the paired 95 % interval"

Samples = Sequence[float]
"""One number of each run, in the order of the seeds."""


def number(value: float) -> str:
    """Three digits or so, for texts."""
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def within(id_: str, text: str, paper: float, here: float, share: float, unit: str = "") -> Claim:
    """A number within a share of the printed one: 0.3 is 30 %."""
    holds = abs(here - paper) <= share * abs(paper)
    return Claim(id_, text, paper, here, f"{100 * share:g} %", holds, unit)


def by_factor(id_: str, text: str, paper: float, here: float, factor: float, unit: str = "") -> Claim:
    """A number within a factor of the printed one, either way."""
    holds = paper / factor <= here <= paper * factor
    return Claim(id_, text, paper, here, f"factor {factor:g}", holds, unit)


def between(id_: str, text: str, paper: str, here: float, low: float, high: float, unit: str = "") -> Claim:
    """A number between two bounds."""
    return Claim(id_, text, paper, here, f"{low:g} to {high:g}", low <= here <= high, unit)


def exactly(id_: str, text: str, paper: float | str, here: float | str, unit: str = "") -> Claim:
    """What can be counted, to rounding."""
    if isinstance(paper, str) or isinstance(here, str):
        return Claim(id_, text, paper, here, "exact", paper == here, unit)
    return Claim(id_, text, paper, here, "exact", abs(here - paper) <= 1e-9 * max(1.0, abs(paper)), unit)


def rounded(id_: str, text: str, paper: float, here: float, half: float, unit: str = "") -> Claim:
    """What can be counted and was printed rounded: within `half` of the last digit's step."""
    return Claim(id_, text, paper, here, f"±{half:g}, rounded", abs(here - paper) <= half + 1e-9, unit)


def true(id_: str, text: str, paper: str, here: str, tolerance: str, holds: bool) -> Claim:
    """Whatever has no other form."""
    return Claim(id_, text, paper, here, tolerance, holds)


def order(lower: Samples, higher: Samples) -> str:
    """How two means stand: `holds` where the second is larger beyond chance, `tie`, or `missed`."""
    mean, ci95 = mean_ci95(differences(higher, lower))
    if abs(mean) <= (ci95 or 0.0):
        return "tie"
    return "holds" if mean > 0 else "missed"


def ratios(over: Samples, under: Samples) -> list[float]:
    """A ratio of two quantities, run by run."""
    return [a / b for a, b in zip(over, under, strict=True)]


def differences(one: Samples, less: Samples) -> list[float]:
    """A difference of two quantities, run by run."""
    return [a - b for a, b in zip(one, less, strict=True)]


def worst(verdicts: Iterable[str]) -> str:
    """The verdict of a claim that has several parts."""
    found = set(verdicts)
    return next((verdict for verdict in ("missed", "tie") if verdict in found), "holds")


def by_verdict(id_: str, text: str, paper: str, here: str, verdict: str, slight: bool = False, of: str = "") -> Claim:
    """A claim about orders of means whose verdict is known; `of` says more of how it is judged."""
    holds = verdict == "holds" or (slight and verdict == "tie")
    tolerance = (SLIGHT if slight else _ON_MEANS) + (f"; {of}" if of else "")
    return Claim(id_, text, paper, here, tolerance, holds, verdict=verdict)


def ordered(
    id_: str, text: str, paper: str, here: str, pairs: Iterable[tuple[Samples, Samples]], slight: bool = False
) -> Claim:
    """The first of each pair has the smaller mean."""
    verdict = worst(order(lower, higher) for lower, higher in pairs)
    return by_verdict(id_, text, paper, here, verdict, slight)


def by_places(id_: str, text: str, pairs: Mapping[float, tuple[Samples, Samples]], slight: bool = False) -> Claim:
    """The first of each pair has the smaller mean at every place of an axis."""
    verdicts = {x: order(*pair) for x, pair in pairs.items()}
    here = f"at {sum(verdict == 'holds' for verdict in verdicts.values())} of {len(verdicts)} points"
    for verdict, said in (("tie", "a tie at"), ("missed", "not at")):
        places = [f"{x:g}" for x, found in verdicts.items() if found == verdict]
        here += f"; {said} {', '.join(places)}" if places else ""
    return ordered(id_, text, "everywhere", here, pairs.values(), slight)


def lower_everywhere(id_: str, lower: Series, higher: Sequence[Series], slight: bool = False) -> Claim:
    """`lower` lies below all of `higher` at every point."""
    pairs = {x: (lower.samples[x], _nearest(lower.samples[x], [o.samples[x] for o in higher])) for x in lower.xs}
    names = ", ".join(other.name for other in higher)
    return by_places(id_, f"{lower.name} lower than {names} at every point", pairs, slight)


def _nearest(lower: Samples, others: Sequence[Samples]) -> Samples:
    """Of those that are to lie above, the one that does so least clearly."""
    rank = {"missed": 0, "tie": 1, "holds": 2}
    return min(others, key=lambda other: rank[order(lower, other)])


def ascending(id_: str, text: str, averages: Mapping[str, Samples], slight: bool = False) -> Claim:
    """Averages in strictly ascending order, given as samples over the seeds."""
    means = {name: mean_ci95(list(samples))[0] for name, samples in averages.items()}
    here = ", ".join(f"{name} {number(means[name])}" for name in sorted(averages, key=means.__getitem__))
    return ordered(id_, text, " < ".join(averages), here, pairwise(averages.values()), slight)


def ratio(
    id_: str, text: str, paper: str, over: Samples, under: Samples, low: float, high: float, slight: bool = False
) -> Claim:
    """The ratio of two means between two bounds, one of them 1: there it is an order, which is judged as one."""
    here = mean_ci95(list(over))[0] / mean_ci95(list(under))[0]
    verdict = order(under, over) if low == 1.0 else order(over, under)
    if not (here <= high if low == 1.0 else here >= low):
        verdict = "missed"
    claim = by_verdict(id_, text, paper, "", verdict, slight, f"{low:g} to {high:g}")
    return replace(claim, here=here)


def in_most_runs(id_: str, text: str, lower: tuple[str, Samples], higher: tuple[str, Samples], unit: str = "") -> Claim:
    """An order that is printed for a single run: the share of our runs that have it, and how far single runs spread."""
    (low, first), (high, second) = lower, higher
    apart = differences(second, first)
    share = sum(difference > 0 for difference in apart) / len(apart)
    mean, _ = mean_ci95(apart)
    here = f"in {100 * share:.0f} % of the runs; {high} less {low}: {number(mean)} {unit}".rstrip()
    if len(apart) > 1:
        # Of one run, not of the mean.
        spread = (math.fsum((one - mean) ** 2 for one in apart) / (len(apart) - 1)) ** 0.5
        here += f", ±{number(spread)} from run to run"
    verdict = "tie" if share == 0.5 else "holds" if share > 0.5 else "missed"
    return Claim(id_, text, f"{low} < {high}", here, "more than half of the runs", share > 0.5, verdict=verdict)


def between_in_most_runs(
    id_: str, text: str, paper: str, samples: Samples, low: float, high: float, unit: str = ""
) -> Claim:
    """What is read from a single run lies between two bounds: the share of our runs in which it does."""
    share = sum(low <= value <= high for value in samples) / len(samples)
    of = f"{number(min(samples))} to {number(max(samples))} {unit}".rstrip()
    here = f"in {100 * share:.0f} % of the runs; {of}"
    verdict = "tie" if share == 0.5 else "holds" if share > 0.5 else "missed"
    tolerance = f"{low:g} to {high:g} in more than half of the runs"
    return Claim(id_, text, paper, here, tolerance, share > 0.5, verdict=verdict)


def undecidable(claim: Claim, reason: str) -> Claim:
    """The claim as it came out, but counted apart: the document does not say what decides it."""
    return replace(claim, verdict="undecidable", text=f"{claim.text} ({reason})")


def calibrated(claim: Claim) -> Claim:
    """The claim as it came out, but counted apart: a setting was chosen with its outcome in view."""
    return replace(claim, calibrated=True)


def rises(id_: str, series: Series) -> Claim:
    """The curve rises along its axis, from its first point to its last; chance may hide single steps."""
    bad = [b for a, b in pairwise(series.xs) if order(series.samples[a], series.samples[b]) == "missed"]
    first, last = series.mean(series.xs[0]), series.mean(series.xs[-1])
    here = f"from {number(first)} to {number(last)}" + (f"; falls at {', '.join(f'{x:g}' for x in bad)}" if bad else "")
    text = f"{series.name} rises from the first point to the last"
    verdict = "missed" if bad else order(series.samples[series.xs[0]], series.samples[series.xs[-1]])
    return Claim(id_, text, "rises", here, SLIGHT, verdict == "holds", verdict=verdict)
