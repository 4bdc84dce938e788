"""The few forms that claims have: a number within a tolerance, an order at every point, an order of averages.

An order is one of means over the seeds. Where a publication itself calls a difference slight, `slight=True` takes an
order as missed only if the opposite is beyond chance: the seeds are the same for all curves, so that differences are
paired and their 95 % interval is the measure.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from airwatt.reproductions.publication import Claim
from airwatt.reproductions.series import Series
from airwatt.statistics import mean_ci95

ON_MEANS = "order of means"
SLIGHT = "missed only if reversed beyond the paired 95 % interval"


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


def lower_everywhere(id_: str, lower: Series, higher: Sequence[Series], slight: bool = False) -> Claim:
    """`lower` lies below all of `higher` at every point."""
    reversed_at = []
    for x in lower.xs:
        if any(not _below(lower, other, x, slight) for other in higher):
            reversed_at.append(x)
    names = ", ".join(other.name for other in higher)
    here = f"at {len(lower.xs) - len(reversed_at)} of {len(lower.xs)} points"
    if reversed_at:
        here += f"; not at {', '.join(f'{x:g}' for x in reversed_at)}"
    text = f"{lower.name} lower than {names} at every point"
    return Claim(id_, text, "everywhere", here, SLIGHT if slight else ON_MEANS, not reversed_at)


def _below(lower: Series, higher: Series, x: float, slight: bool) -> bool:
    if not slight:
        return lower.mean(x) < higher.mean(x)
    differences = [b - a for a, b in zip(lower.samples[x], higher.samples[x], strict=True)]
    mean, ci95 = mean_ci95(differences)
    return mean >= -(ci95 or 0.0)


def ascending(id_: str, text: str, averages: Mapping[str, Sequence[float]], slight: bool = False) -> Claim:
    """Averages in strictly ascending order, given as samples over the seeds."""
    names = list(averages)
    means = {name: mean_ci95(list(samples))[0] for name, samples in averages.items()}
    holds = all(_precedes(averages[a], averages[b], slight) for a, b in pairwise(names))
    here = ", ".join(f"{name} {number(means[name])}" for name in sorted(names, key=means.__getitem__))
    return Claim(id_, text, " < ".join(names), here, SLIGHT if slight else ON_MEANS, holds)


def _precedes(first: Sequence[float], second: Sequence[float], slight: bool) -> bool:
    mean, ci95 = mean_ci95([b - a for a, b in zip(first, second, strict=True)])
    return mean >= -(ci95 or 0.0) if slight else mean > 0


def rises(id_: str, series: Series, slight: bool = True) -> Claim:
    """The curve rises along its axis, from its first point to its last; chance may hide single steps."""
    bad = []
    for a, b in pairwise(series.xs):
        differences = [late - early for early, late in zip(series.samples[a], series.samples[b], strict=True)]
        mean, ci95 = mean_ci95(differences)
        if mean < -(ci95 or 0.0) if slight else mean <= 0:
            bad.append(b)
    first, last = series.mean(series.xs[0]), series.mean(series.xs[-1])
    here = f"from {number(first)} to {number(last)}" + (f"; falls at {', '.join(f'{x:g}' for x in bad)}" if bad else "")
    text = f"{series.name} rises from the first point to the last"
    return Claim(id_, text, "rises", here, SLIGHT if slight else ON_MEANS, not bad and last > first)
