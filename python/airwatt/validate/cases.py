"""What a validation is made of: cases, each with its runs, and figures by both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from airwatt.reproductions.publication import At, Numbers, Point
from airwatt.statistics import mean_ci95

Samples = Sequence[Sequence[Numbers]]
"""For each point of a case the numbers of its runs, in the order of the seeds."""


@dataclass(frozen=True)
class Figure:
    """One number by the runs and by the model."""

    what: str
    unit: str
    run: float
    ci95: float | None
    model: float
    bounds: tuple[float, float]
    """The stated accuracy: how far below and above the runs the model may be, as shares of them."""

    @property
    def difference(self) -> float:
        """By how much the model is above the runs, as a share of them."""
        return self.model / self.run - 1.0

    @property
    def holds(self) -> bool:
        """Whether the stated accuracy is kept: false if it is not for any mean within the runs' 95 % interval."""
        margin, (low, high) = self.ci95 or 0.0, self.bounds
        return (1.0 + low) * (self.run - margin) <= self.model <= (1.0 + high) * (self.run + margin)


def figure(
    what: str, unit: str, run: Sequence[float], model: float | Sequence[float], bounds: tuple[float, float]
) -> Figure:
    """A figure of several runs; a model that takes something from each run has a value for each."""
    mean, ci95 = mean_ci95(list(run))
    return Figure(what, unit, mean, ci95, model if isinstance(model, float) else fmean(model), bounds)


@dataclass(frozen=True)
class Case:
    """One place in the model's region, with the points that are simulated there."""

    at: At
    points: tuple[Point, ...]
    compare: Callable[[Samples], list[Figure]]


@dataclass(frozen=True)
class Validation:
    """A model against the simulator."""

    model: str
    against: str
    """What is simulated, in a sentence or two."""
    cases: Callable[[Path], list[Case]]
    """The cases; scenario files that they need go into the folder."""
    axis: str
    """The parameter of `At` along which a picture is drawn."""
    runs: int = 1
    """How many runs of each point the stated accuracy is for."""
    logarithmic: bool = False
    """Whether the figures of a picture are on a logarithmic axis."""
    drawn: tuple[tuple[str, str | float], ...] = ()
    """Only cases with these parameters are in the picture, where all would be too many."""
    note: str = ""
    """What to know of the differences."""
