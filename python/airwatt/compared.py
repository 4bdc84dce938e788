"""A row of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from airwatt._documents import RunResult
from airwatt.record import Record


class ComparedRow(Record):
    """One choice: `.choice` by the name of what is chosen, `.runs`, `.summary`, and `.energy_per_bit_j`.

    The last is the energy of all stations by the payload of all flows, in joules a bit: mean and half width of the 95 %
    interval, null if a run delivered none.
    """

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Record]]] = {"runs": RunResult}
    choice: Mapping[str, str]
    runs: list[RunResult]


def names_of(choice: Mapping[str, str]) -> list[str]:
    """Gives the names of a row: policies and transports by their own, values of other keys with the key."""
    return [value if key in ("policy", "transport") else f"{key}={value}" for key, value in choice.items()]
