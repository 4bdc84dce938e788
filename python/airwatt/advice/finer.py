"""Values between those that are tried anyway: the best of a few lies beside the best of all.

Where a candidate that differs from the advice in one value spends less and is late, the value that is best within the
budget is between both. The one in the middle is run, and then what is in the middle of the half that is left, `ROUNDS`
times at most. Left out: two values at once, and values beyond the least and the greatest that are tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from airwatt._core import InputError, Quantity
from airwatt.advice.answer import Row

if TYPE_CHECKING:
    from airwatt.advice.answer import Advice
    from airwatt.advice.candidate import Candidate

ROUNDS = 3
_SECOND_MS = 1000
_STEPS_MS = (10, 100)
"""Times are whole multiples of the first, which every platform can set, and above a second of the other."""


def rows(advice: Advice) -> list[Row]:
    """What is to run next to find a better value of the advice; nothing if no value is left between two."""
    if not advice.ranked:
        return []
    best = advice.ranked[0]
    late = [row for row in advice.rows if _spends_less_and_is_late(advice, row, best)]
    known = {row.candidate for row in advice.rows if row.simulation or row.failure}
    between = [*_times(best.candidate, late), *_listen_intervals(advice.usual_beacons, best.candidate, late)]
    found = [each for each in between if each not in known and advice.can_set(each)]
    return [_row(advice, candidate) for candidate in dict.fromkeys(found)]


def _row(advice: Advice, candidate: Candidate) -> Row:
    """That of a candidate, which may be among the rows with a model alone."""
    there = next((row for row in advice.rows if row.candidate == candidate), None)
    if there is None:
        there = Row(candidate)
        advice.rows.append(there)
    there.confirm = True
    return there


def _spends_less_and_is_late(advice: Advice, row: Row, best: Row) -> bool:
    if row.simulation is None or best.simulation is None:
        return False
    verdict = advice.verdict(row)
    is_late = verdict is not None and verdict["reason"] == "late"
    return is_late and row.simulation.energy_j < best.simulation.energy_j


def _times(best: Candidate, late: list[Row]) -> Iterator[Candidate]:
    """The middle between a time that is a parameter of the best and the next one, on either side."""
    for place, (_, value) in enumerate(best.parameters):
        own_ms = _milliseconds(value)
        if own_ms is None:
            continue
        others = {
            each_ms
            for row in late
            for _, text in row.candidate.parameters[place : place + 1]
            if row.candidate == _with_value(best, place, text) and (each_ms := _milliseconds(text)) is not None
        }
        for next_ms in _nearest(own_ms, others):
            middle_ms = int((own_ms + next_ms) / 2)
            middle_ms -= middle_ms % _STEPS_MS[middle_ms > _SECOND_MS]
            if min(own_ms, next_ms) < middle_ms < max(own_ms, next_ms):
                yield _with_value(best, place, str(Quantity(f"{middle_ms}ms")))


def _with_value(candidate: Candidate, place: int, value: str) -> Candidate:
    parameters = list(candidate.parameters)
    parameters[place] = (parameters[place][0], value)
    return replace(candidate, parameters=tuple(parameters))


def _listen_intervals(usual: int, best: Candidate, late: list[Row]) -> Iterator[Candidate]:
    """The middle between its listen interval and the next longer one, in beacons."""
    own = best.listen_interval or usual
    others = {
        beacons
        for row in late
        if (beacons := row.candidate.listen_interval) and row.candidate == replace(best, listen_interval=beacons)
    }
    for nearest in _nearest(own, others):
        middle = (own + int(nearest)) // 2
        if min(own, nearest) < middle < max(own, nearest):
            yield replace(best, listen_interval=middle)


def _nearest(own: float, others: Collection[float]) -> list[float]:
    """The greatest below it and the least above it, as far as there are any."""
    below, above = [one for one in others if one < own], [one for one in others if one > own]
    return [*([max(below)] if below else []), *([min(above)] if above else [])]


def _milliseconds(text: str) -> float | None:
    """A parameter that is a time, in ms."""
    try:
        return 1000.0 * float(Quantity(text, "time").value)
    except InputError:
        return None
