"""What chapters 3 and 4 share: values and tables from a model's solution, and one form of a reproduction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from airwatt.reproductions.publication import At, Bars, Lines, Outcome, Point, Reproduction, Results, Table, Value

Solved = Callable[[str, Results], Outcome]
"""Gives what came out, for the id that claims begin with."""


def solved(
    place: str, shows: str, solve: Solved, picture: Lines | Bars | None = None, points: tuple[Point, ...] = ()
) -> Reproduction:
    """A reproduction that is computed from models, and from runs where it has points."""

    def compute(item: Reproduction, results: Results) -> Outcome:
        return solve(f"hashimoto-2013/{item.place}", results)

    return Reproduction(place, shows, compute, points, picture)


def value(what: str, number: float, unit: str = "", **at: float | str) -> Value:
    """One value, with where it belongs."""
    return Value(what, dict(at), float(number), None, unit)


def curve(what: str, unit: str, axis: str, xs: Sequence[float], ys: Any, **at: float | str) -> list[Value]:
    """The values of one curve."""
    place: At = dict(at)
    numbers = np.broadcast_to(np.asarray(ys, dtype=float), len(xs))
    return [Value(what, {**place, axis: x}, float(y), None, unit) for x, y in zip(xs, numbers, strict=True)]


def grid(head: str, xs: Sequence[float], columns: Mapping[str, Sequence[float]], every: int = 1) -> Table:
    """A table of curves beside each other, every so many places."""
    rows = []
    for index in range(0, len(xs), every):
        rows.append([f"{xs[index]:.3g}", *(f"{column[index]:.3g}" for column in columns.values())])
    return Table([head, *columns], rows)
