"""Values between those that are tried anyway: the best of a few lies beside the best of all.

Of two candidates that differ in one value, where one is within the budget and the other is late and spends less, there
is a value in between that is just within. The one in the middle is run where it may be better than the advice: where
what is interpolated between both spends less. So it goes on with the half that is left, `ROUNDS` times at most, with
the most promising ones. Left out: values beyond the least and the greatest that are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from airwatt._core import InputError, Quantity
from airwatt.advice.answer import Row

if TYPE_CHECKING:
    from airwatt.advice.answer import Advice
    from airwatt.advice.candidate import Candidate

ROUNDS = 3
_AT_ONCE = 3
"""How many are run in a round."""
_SECOND_MS = 1000
_STEPS_MS = (10, 100)
"""Times are whole multiples of the first, which every platform can set, and above a second of the other."""


class _Value(NamedTuple):
    """A value in which candidates may differ: a time in ms, or a listen interval in beacons."""

    own: float
    others: dict[float, Row]
    """Those that ran and differ from a candidate in this value alone."""
    middle: Callable[[float], Candidate | None]
    """The candidate in the middle between its own value and another one, if there is one."""
    scale: Callable[[float], float]
    """In what energies are about linear."""


def rows(advice: Advice) -> list[Row]:
    """What is to run next to find a better value; nothing if none is left that may be better than the advice."""
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
            other = value.others[nearest]
            verdict, middle = advice.verdict(other), value.middle(nearest)
            if other.simulation is None or verdict is None or verdict["reason"] != "late" or middle is None:
                continue
            own, end = value.scale(value.own), value.scale(nearest)
            share = (value.scale((value.own + nearest) / 2) - own) / (end - own)
            more_j = other.simulation.energy_j - row.simulation.energy_j
            yield middle, row.simulation.energy_j + share * more_j


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

        def middle_of_times(other_ms: float, place: int = place, own_ms: float = own_ms) -> Candidate | None:
            middle_ms = int((own_ms + other_ms) / 2)
            middle_ms -= middle_ms % _STEPS_MS[middle_ms > _SECOND_MS]
            is_between = min(own_ms, other_ms) < middle_ms < max(own_ms, other_ms)
            return _with_value(candidate, place, str(Quantity(f"{middle_ms}ms"))) if is_between else None

        yield _Value(own_ms, times, middle_of_times, lambda time_ms: time_ms)
    own = candidate.listen_interval or advice.usual_beacons
    intervals: dict[float, Row] = {
        beacons: row
        for row in ran
        if (beacons := row.candidate.listen_interval) and row.candidate == replace(candidate, listen_interval=beacons)
    }

    def middle_of_intervals(other: float) -> Candidate | None:
        middle = int(own + other) // 2
        is_between = min(own, other) < middle < max(own, other)
        return replace(candidate, listen_interval=middle) if is_between else None

    yield _Value(own, intervals, middle_of_intervals, lambda beacons: 1 / beacons)


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
