"""What a reproduction is made of: points, values, claims, pictures, and the document that they belong to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from airwatt._core import Run, Scenario

Numbers = dict[str, float]
"""The few numbers that are kept of a run."""

Measure = Callable[[Mapping[str, Any]], Numbers]
"""Reads them from the run's result document. A function of a module, so that equal points are one."""

At = dict[str, str | float]
"""Where a value belongs: parameters by name, as in `{"error": "A", "good_s": 10}`."""


@dataclass(frozen=True)
class Point:
    """A scenario with overrides, to be run with each seed, and what is kept of each run."""

    scenario: str | Scenario
    overrides: tuple[tuple[str, str], ...]
    measure: Measure
    cost_s: float = 0.01
    """About how long one run takes on one core; for `list` only."""
    traced: Callable[[Run], Numbers] | None = None
    """Reads further numbers from the run's traces, which are kept for it. A function of a module."""
    only_first: bool = False
    """Only the first seed is run: it is for a picture of one run, or nothing in it is random."""


class Results:
    """The numbers of each point's runs, in the order of their seeds."""

    def __init__(
        self,
        runs: Mapping[Point, Sequence[Numbers]],
        failures: Mapping[Point, str] | None = None,
        damaged_readings: int = 0,
    ) -> None:
        self._runs = runs
        self.failures = failures or {}
        self.damaged_readings = damaged_readings
        """How many readings of a store were damaged; their runs were made again."""

    def __contains__(self, point: Point) -> bool:
        return point in self._runs

    def __getitem__(self, point: Point) -> Sequence[Numbers]:
        return self._runs[point]

    def replaced(self, points: Iterable[Point], again: "Results") -> "Results":
        """These with those of some points from `again`, which were made anew; readings that differ were damaged."""
        points = set(points)
        failures = {point: error for point, error in self.failures.items() if point not in points}
        runs = {point: found for point, found in self._runs.items() if point not in points}
        pairs = [(self._runs[point], again[point]) for point in points if point in self and point in again]
        differ = sum(one != other for before, after in pairs for one, other in zip(before, after, strict=True))
        return Results(runs | dict(again._runs), failures | dict(again.failures), self.damaged_readings + differ)

    def has(self, point: Point, key: str) -> bool:
        """Whether every run of a point has this number."""
        return all(key in numbers for numbers in self._runs[point])

    def column(self, point: Point, key: str) -> list[float]:
        """One number of every run of a point."""
        return [numbers[key] for numbers in self._runs[point]]

    def first(self, point: Point, key: str) -> float:
        """One number of a point's first run, the only one where only that was traced."""
        return self._runs[point][0][key]


@dataclass(frozen=True)
class Value:
    """One number of a figure or table, with the half width of its 95 % interval where it is a mean."""

    what: str
    at: At
    value: float
    ci95: float | None
    unit: str


@dataclass(frozen=True)
class Claim:
    """Something that was printed, held against what came out. `paper` and `here` are numbers or texts."""

    id: str
    text: str
    paper: float | str
    here: float | str
    tolerance: str
    holds: bool
    unit: str = ""
    verdict: str = ""
    """`holds`, `missed`, `tie` (an order of means that the runs do not decide) or `undecidable` (the document does not
    say what decides it). By default what `holds` says."""
    calibrated: bool = False
    """A setting was chosen so that numbers like this one come out as printed: it is evidence of nothing else."""

    def __post_init__(self) -> None:
        if not self.verdict:
            object.__setattr__(self, "verdict", "holds" if self.holds else "missed")

    def amount(self, of: Literal["paper", "here"], number: Callable[[float], str]) -> str:
        """What is printed or came out with its unit, which a text has only behind a number: `often`, but `0 to 2 %`."""
        value = self.paper if of == "paper" else self.here
        text = value if isinstance(value, str) else number(value)
        return f"{text} {self.unit}".rstrip() if text[-1:].isdigit() else text


VERDICTS = ("holds", "missed", "tie", "undecidable")


@dataclass(frozen=True)
class Tally:
    """How many claims have each verdict, without those that are calibrated."""

    claims: int
    holds: int
    missed: int
    tie: int
    undecidable: int
    strict_ties: int
    """Ties where a strict order is claimed, which do not hold."""
    calibrated: int
    calibrated_holds: int

    def __str__(self) -> str:
        strict = f", {self.strict_ties} of them against a strict order" if self.strict_ties else ""
        open_ = f", {self.undecidable} undecidable" if self.undecidable else ""
        beside = f"; beside them {self.calibrated} calibrated: {self.calibrated_holds} hold" if self.calibrated else ""
        return f"{self.claims} claims: {self.holds} hold, {self.missed} missed, {self.tie} ties{strict}{open_}{beside}"


def tally(claims: Sequence[Claim]) -> Tally:
    """Counts claims by their verdicts, calibrated ones apart."""
    judged = [claim for claim in claims if not claim.calibrated]
    counts = {verdict: sum(claim.verdict == verdict for claim in judged) for verdict in VERDICTS}
    strict = sum(claim.verdict == "tie" and not claim.holds for claim in judged)
    held = sum(claim.calibrated and claim.holds for claim in claims)
    return Tally(len(judged), **counts, strict_ties=strict, calibrated=len(claims) - len(judged), calibrated_holds=held)


@dataclass(frozen=True)
class Table:
    """A table for the eye; the first column to the left."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""


@dataclass(frozen=True)
class Panel:
    """One of several axes of a picture, one above another."""

    what: str
    y_label: str
    where: tuple[tuple[str, str | float], ...] = ()
    """Only values with these parameters."""


@dataclass(frozen=True)
class Lines:
    """A picture of curves: one for each combination of `by`, over the parameter `x`. Values of `what` only."""

    what: str
    x: str
    by: Sequence[str]
    x_label: str
    y_label: str
    """Empty for curves in several units, which have a panel for each unit."""
    falling: bool = False
    """The axis runs from large to small."""
    log_y: bool = False
    scale: str = "places"
    """The axis: `places` (logarithmic, a tick at each), `log` or `linear`."""
    where: tuple[tuple[str, str | float], ...] = ()
    """Only values with these parameters, where a document has more than its picture."""
    panels: tuple[Panel, ...] = ()
    """Axes that take the place of the one of `what`."""


@dataclass(frozen=True)
class Bars:
    """A picture of grouped bars: groups by the parameter `group`, one bar in each for each combination of `by`."""

    what: str
    group: str
    by: Sequence[str]
    y_label: str


@dataclass
class Outcome:
    """What came of a reproduction. `published` has the printed numbers that belong beside our values."""

    values: list[Value] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    published: list[Value] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reproduction:
    """One table, figure or printed number of a document."""

    place: str
    """Where it stands: `tab5.3`, `fig5.13`, `sec4.2.4`."""
    shows: str
    compute: Callable[["Reproduction", Results], Outcome]
    points: tuple[Point, ...] = ()
    picture: Lines | Bars | None = None
    calibrated: str = ""
    """Which setting was chosen so that its numbers come out, if one was: its claims are counted apart."""


@dataclass(frozen=True)
class Document:
    """A publication: its reproductions in the order of its pages."""

    name: str
    number: str
    """As in the ids of the list of claims: `s002`."""
    citation: str
    configuration: str
    """What all reproductions share and the publication leaves open, each with its reason."""
    reproductions: tuple[Reproduction, ...]

    def id(self, reproduction: Reproduction) -> str:
        """As in `e2tcp/tab5.3`."""
        return f"{self.name}/{reproduction.place}"
