"""Values between those that are tried anyway: the best of a few lies beside the best of all.

Of two candidates that differ in one value, where one is within the budget and the other is late and spends less, there
is a value in between that is just within. The one in the middle is run where it may be better than the advice: where
what is interpolated between both spends less. So it goes on with the half that is left, `_ROUNDS` times at most, with
the most promising ones. Left out: values beyond the least and the greatest that are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from airwatt._core import InputError, Quantity
from airwatt.advice.answer import Row

if TYPE_CHECKING:
    from airwatt.advice.answer import Advice
    from airwatt.advice.candidate import Candidate

_ROUNDS = 3
_AT_ONCE = 3
"""The most candidates that a round runs."""
_SECOND_MS = 1000
_STEPS_MS = (10, 100)
"""Times are whole multiples of the first, which every platform can set, and above a second of the other."""


class _Value(NamedTuple):
    """A value in which candidates may differ: a time in ms, or a listen interval in beacons."""

    own: float
    others: dict[float, Row]
    """What ran and differs from a candidate in this value alone."""
    having: Callable[[int], Candidate]
    """The candidate with another value."""
    is_time: bool

    def linear(self, value: float) -> float:
        """That in which energies are about linear: a beacon costs the same, however rare it is."""
        return value if self.is_time else 1 / value

    def middle(self, other: float) -> int:
        """What is in the middle between a candidate's value and another one, rounded down."""
        middle = int((self.own + other) / 2)
        return middle - middle % _STEPS_MS[middle > _SECOND_MS] if self.is_time else middle


def seek(advice: Advice, run: Callable[[list[Row]], None]) -> None:
    """Runs what may be better than the advice, and decides anew, until nothing is. `run` enters its figures."""
    for _ in range(_ROUNDS):
        rows = _next(advice)
        if not rows:
            return
        run(rows)
        advice.decide(advice.target)


def _next(advice: Advice) -> list[Row]:
    """The rows that are to run next; none if no value is left that may be better than the advice."""
    if not advice.ranked or advice.ranked[0].simulation is None:
        return []
    least_j = advice.ranked[0].simulation.energy_j
    known = {row.candidate for row in advice.rows if row.simulation or row.failure}
    found: dict[Candidate, float] = {}
    for row in advice.ranked:
        for candidate, energy_j in _between(advice, row):
            if energy_j < least_j and candidate not in known and advice.can_set(candidate):
                found[candidate] = min(energy_j, found.get(candidate, energy_j))
    return [_row(advice, candidate) for candidate in sorted(found, key=lambda each: found[each])[:_AT_ONCE]]


def _row(advice: Advice, candidate: Candidate) -> Row:
    """That of a candidate, which may be among the rows with a model alone."""
    there = next((row for row in advice.rows if row.candidate == candidate), None)
    if there is None:
        there = Row(candidate)
        advice.rows.append(there)
    there.confirm = True
    return there


def _between(advice: Advice, row: Row) -> Iterator[tuple[Candidate, float]]:
    """What is between a candidate and its neighbours that are late, with an estimate of its energy in J."""
    assert row.simulation is not None
    for value in _values(advice, row.candidate):
        below = [each for each in value.others if each < value.own]
        above = [each for each in value.others if each > value.own]
        for nearest in [*([max(below)] if below else []), *([min(above)] if above else [])]:
            other, middle = value.others[nearest], value.middle(nearest)
            verdict = advice.verdict(other)
            is_late = verdict is not None and verdict["reason"] == "late"
            if (
                other.simulation is None
                or not is_late
                or not min(value.own, nearest) < middle < max(value.own, nearest)
            ):
                continue
            own, end = value.linear(value.own), value.linear(nearest)
            share = (value.linear(middle) - own) / (end - own)
            more_j = other.simulation.energy_j - row.simulation.energy_j
            yield value.having(middle), row.simulation.energy_j + share * more_j


def _values(advice: Advice, candidate: Candidate) -> Iterator[_Value]:
    """The values of a candidate."""
    ran = [row for row in advice.rows if row.simulation is not None and row.candidate != candidate]
    for place, (_, text) in enumerate(candidate.parameters):
        own_ms = _milliseconds(text)
        if own_ms is None:
            continue
        times = {
            each_ms: row
            for row in ran
            for _, each in row.candidate.parameters[place : place + 1]
            if row.candidate == _with_value(candidate, place, each) and (each_ms := _milliseconds(each)) is not None
        }
        yield _Value(own_ms, times, partial(_with_time, candidate, place), is_time=True)
    intervals: dict[float, Row] = {
        beacons: row
        for row in ran
        if (beacons := row.candidate.listen_interval) and row.candidate == candidate.listening(beacons)
    }
    yield _Value(candidate.listen_interval or advice.usual_beacons, intervals, candidate.listening, is_time=False)


def _with_time(candidate: Candidate, place: int, time_ms: int) -> Candidate:
    return _with_value(candidate, place, str(Quantity(f"{time_ms}ms")))


def _with_value(candidate: Candidate, place: int, value: str) -> Candidate:
    parameters = list(candidate.parameters)
    parameters[place] = (parameters[place][0], value)
    return replace(candidate, parameters=tuple(parameters))


def _milliseconds(text: str) -> float | None:
    """A parameter that is a time, in ms."""
    try:
        return 1000.0 * float(Quantity(text, "time").value)
    except InputError:
        return None
