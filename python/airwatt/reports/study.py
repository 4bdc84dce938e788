"""What a page shows of one scenario, sweep or capture: the question, the choices in numbers, tables and time lines.

A study is plain data, which `to_dict` gives to the page as JSON. Numbers are SI; what a number is called and its unit
stand in a `Column`, so that the script only draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airwatt.reports.matched import Sample
from airwatt.statistics import Estimate


@dataclass(frozen=True)
class Column:
    """A number of each choice, or a column of a table."""

    key: str
    label: str
    unit: str = ""
    """An SI unit, `%` for a share of 1, `x` for a ratio, `lasting` for a lifetime, or empty for a count."""
    help: str = ""
    kind: str = "number"
    """`number` or `text`."""
    wrap: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As the script reads it."""
        return dict(vars(self))


@dataclass
class Choice:
    """One of the things that are compared: a policy, a transport, a point of a grid."""

    label: str
    metrics: dict[str, Estimate]
    """Mean and 95 % interval by the key of a column."""
    values: dict[str, list[float]] = field(default_factory=dict)
    """The numbers of single runs, where every run has one."""
    causes: dict[str, float] = field(default_factory=dict)
    """Mean energy in joules by cause; packets of all flows are `flow`."""
    states: dict[str, float] = field(default_factory=dict)
    """Mean time in seconds in each state, summed over stations."""
    band: tuple[float, float] | None = None
    """The least and the greatest energy that unknowns of a capture leave."""
    is_bound: bool = False
    """Whether it has perfect knowledge, which no device has."""
    best: bool = False
    sample: Sample | None = None
    """The energies of its single runs, where they can be compared in pairs."""
    delivered: Sample | None = None
    """The bytes that its single runs delivered."""
    profile: Mapping[str, Any] | None = None
    """The profile of its radio with regard to its energy, as in a result."""
    lasts: str = ""
    """How long a battery lasts, as people say it: a range where the profile leaves too much open for one number."""

    def mean(self, key: str) -> float | None:
        """The mean of a number; None without one."""
        found = self.metrics.get(key)
        return None if found is None else found.mean

    def to_dict(self) -> dict[str, Any]:
        """As the script reads it."""
        return {
            "label": self.label,
            "metrics": {key: [finite(number.mean), finite(number.ci95)] for key, number in self.metrics.items()},
            "values": self.values,
            "causes": self.causes,
            "states": self.states,
            "band": self.band,
            "best": self.best,
        }


@dataclass
class Table:
    """A table below the pictures."""

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    text: str = ""
    """What a reader has to know of it."""

    def to_dict(self) -> dict[str, Any]:
        """As the script reads it."""
        return {
            "id": self.id,
            "title": self.title,
            "text": self.text,
            "columns": [column.to_dict() for column in self.columns],
            "rows": [[finite(cell) if isinstance(cell, float) else cell for cell in row] for row in self.rows],
        }


@dataclass
class Study:
    """Everything that is shown of one scenario, sweep or capture."""

    kind: str
    """`runs`, `sweep` or `capture`."""
    title: str
    question: str
    choices: list[Choice]
    columns: list[Column]
    answers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bound: str = ""
    """What the lower bound is; empty if there is none."""
    tables: list[Table] = field(default_factory=list)
    timelines: list[dict[str, Any]] = field(default_factory=list)
    sweep: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As the script reads it."""
        present = [
            column for column in self.columns if any(choice.mean(column.key) is not None for choice in self.choices)
        ]
        return {
            "kind": self.kind,
            "title": self.title,
            "question": self.question,
            "answers": self.answers,
            "notes": self.notes,
            "bound": self.bound,
            "columns": [column.to_dict() for column in present],
            "choices": [choice.to_dict() for choice in self.choices],
            "tables": [table.to_dict() for table in self.tables if table.rows],
            "timelines": self.timelines,
            "sweep": self.sweep,
        }


def finite(value: float | None) -> float | None:
    """A number that JSON can hold: a battery that lasts for ever, and what is not a number, are 1e300 and None."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else math.copysign(1e300, value)
