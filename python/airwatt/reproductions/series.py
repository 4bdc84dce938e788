"""A curve: samples over the seeds at each place of an axis."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from airwatt.reproductions.publication import At, Value
from airwatt.statistics import mean_ci95


@dataclass(frozen=True)
class Series:
    """One curve of a figure."""

    name: str
    what: str
    unit: str
    at: At
    axis: str
    """The parameter along the curve."""
    samples: dict[float, list[float]]
    """By the axis, in its order along the picture; each list in the order of the seeds."""

    @property
    def xs(self) -> list[float]:
        """The values of the parameter along the axis, in its order."""
        return list(self.samples)

    def mean(self, x: float) -> float:
        """The mean over the seeds at one value."""
        return mean_ci95(self.samples[x])[0]

    def average(self, xs: Iterable[float] | None = None) -> list[float]:
        """The average over places of the axis (all of them), for each seed."""
        columns = [self.samples[x] for x in (self.xs if xs is None else xs)]
        return [math.fsum(row) / len(row) for row in zip(*columns, strict=True)]

    def values(self) -> list[Value]:
        """All points, as a document has them."""
        values = []
        for x, samples in self.samples.items():
            mean, ci95 = mean_ci95(samples)
            values.append(Value(self.what, {**self.at, self.axis: x}, mean, ci95, self.unit))
        return values

    def mapped(self, what: str, unit: str, change: Callable[[float], float]) -> "Series":
        """The same curve of another quantity, computed run by run."""
        samples = {x: [change(value) for value in column] for x, column in self.samples.items()}
        return Series(self.name, what, unit, self.at, self.axis, samples)


def mean_text(samples: Sequence[float]) -> str:
    """A mean with its interval, as a table shows it."""
    mean, ci95 = mean_ci95(list(samples))
    decimals = 3 if abs(mean) < 1 else 2 if abs(mean) < 10 else 1 if abs(mean) < 1000 else 0
    return f"{mean:.{decimals}f}" + ("" if ci95 is None else f" ±{ci95:.{decimals}f}")
