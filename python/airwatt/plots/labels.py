"""Texts along an axis that do not lie on each other."""

from collections.abc import Iterable
from typing import NamedTuple

_ROWS = 2


class Label(NamedTuple):
    """A text, its left end on the axis, and its row, the first next to the marks."""

    left: float
    row: int
    text: str


class Labels:
    """Finds room for the texts of marks: in the row next to them, in the next, or for a shorter text.

    A letter takes `letter` of the axis, which ends at `end`. Text that ends there lies left of its mark.
    """

    def __init__(self, letter: float, end: float) -> None:
        self._letter, self._end = letter, end
        self._taken: list[list[tuple[float, float]]] = [[] for _ in range(_ROWS)]

    def place(self, at: float, texts: Iterable[str]) -> Label | None:
        """Takes room for the first of these texts that has any; None if there is none for all."""
        for text in texts:
            left = min(at, self._end - self._letter * len(text))
            right = left + self._letter * (len(text) + 1)
            for row, taken in enumerate(self._taken):
                if all(right <= begin or end <= left for begin, end in taken):
                    taken.append((left, right))
                    return Label(left, row, text)
        return None
