"""Mean and 95 % confidence interval of repeated runs, number by number.

The runs of one scenario differ in their seeds alone, so their results are independent draws, and the interval of their
mean is Student's. Left out: intervals within one run (batch means), and corrections for comparing many numbers at once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

NOT_MEASURED = frozenset({"schema", "seed", "wall_s", "realtime"})
"""What says which run it was or how long the computer took, not what the run measured."""


class Estimate(NamedTuple):
    """A mean and the half width of its 95 % interval. No mean: absent from some run. No interval: a single run."""

    mean: float | None
    ci95: float | None


def estimate(values: Sequence[float | None]) -> Estimate:
    """Gives the estimate of one number of each run.

    A number that is absent from one run (a transfer that did not complete) has no mean: leaving that run out would
    flatter the result.
    """
    present = [value for value in values if value is not None]
    if not present or len(present) < len(values):
        return Estimate(None, None)
    return Estimate(*mean_ci95(present))


def leaves(document: Any, prefix: str = "") -> Iterator[tuple[str, float | None]]:
    """Yields the numeric leaves of a document as (`stations.0.energy_j`, value); None where a number is absent."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            if not prefix and key in NOT_MEASURED:
                continue
            yield from leaves(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(document, Sequence) and not isinstance(document, str):
        for index, value in enumerate(document):
            yield from leaves(value, f"{prefix}.{index}")
    elif document is None:
        yield prefix, None
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield prefix, float(document)


def summarize(documents: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Gives `{KEY: {"mean", "ci95"}}` over result documents, as they print it.

    A number that is null in every run (an id, or something that never happened) has no place among the numbers.
    """
    columns: dict[str, list[float | None]] = {}
    for document in documents:
        for key, value in leaves(document):
            columns.setdefault(key, []).append(value)
    absent: list[float | None] = [None]
    return {
        key: estimate(column + absent * (len(documents) - len(column)))._asdict()
        for key, column in columns.items()
        if any(value is not None for value in column)
    }


def mean_ci95(values: Sequence[float]) -> tuple[float, float | None]:
    """Gives the mean and the half width of its 95 % confidence interval (None for a single value)."""
    count = len(values)
    if min(values) == max(values):
        # Exactly so, where a sum of rounded squares might leave a residue.
        return float(values[0]), 0.0 if count > 1 else None
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, t_quantile_975(count - 1) * math.sqrt(variance / count)


def t_quantile_975(degrees: int) -> float:
    """Gives the 97.5 % point of Student's distribution: the closed form for whole degrees of freedom, bisected."""
    low, high = 1.9, 13.0  # 1.960 for infinitely many degrees, 12.706 for one
    for _ in range(60):
        middle = (low + high) / 2
        if _t_within(middle, degrees) < 0.95:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_within(t: float, degrees: int) -> float:
    """Probability that Student's t lies within -t..t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    theta = math.atan2(t, math.sqrt(degrees))
    square = math.cos(theta) ** 2
    if degrees == 1:
        return 2 * theta / math.pi
    total = term = 1.0 if degrees % 2 == 0 else math.cos(theta)
    for k in range(2 if degrees % 2 == 0 else 3, degrees - 1, 2):
        term *= square * (k - 1) / k
        total += term
    if degrees % 2 == 0:
        return math.sin(theta) * total
    return 2 / math.pi * (theta + math.sin(theta) * total)
