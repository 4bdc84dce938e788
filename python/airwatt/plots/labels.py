"""Texts along an axis that do not lie on each other."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_ROWS = 2
_NEAR = 2
"""Letters by which a text has to begin beside a mark that is not its own."""


class Label(NamedTuple):
    """A text, its left end on the axis, and its row, the first next to the marks."""

    left: float
    row: int
    text: str


class Labels:
    """Finds room for the texts of marks: in the row next to them, in the next, or for a shorter text.

    A letter takes `letter` of the axis, which ends at `end`. A text begins at its mark. Where the axis is over before
    the text it ends there, unless it would begin at another one of the marks, and be taken for the text of that.
    """

    def __init__(self, letter: float, end: float) -> None:
        self._letter, self._end = letter, end
        self._taken: list[list[tuple[float, float]]] = [[] for _ in range(_ROWS)]

    def place(self, at: float, texts: Iterable[str], marks: Sequence[float] = ()) -> Label | None:
        """Takes room for the first of these texts that has any; None if there is none for all."""
        for text in texts:
            width = self._letter * len(text)
            left = at if at + width <= self._end else at - width
            if left < at and any(abs(mark - left) < _NEAR * self._letter for mark in marks):
                continue
            right = left + width + self._letter
            for row, taken in enumerate(self._taken):
                if all(right <= begin or end <= left for begin, end in taken):
                    taken.append((left, right))
                    return Label(left, row, text)
        return None
