"""Conditions on the points of a grid: `wired.rtt < 200ms and policy != psm or wired.down.queue == 50packets`.

`and` binds closer than `or`. Quantities are compared as such, numbers as numbers, all else as text. Left out:
parentheses, and keys that the grid does not vary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from airwatt._core import InputError, Quantity
from airwatt.threshold import OPERATORS

_FORM = re.compile(r"\s*(?P<key>[\w.-]+)\s*(?P<op><=|>=|==|!=|<|>)\s*(?P<value>[^<>=!]+?)\s*")


class _Comparison(NamedTuple):
    key: str
    op: str
    value: str

    def holds(self, point: Mapping[str, str]) -> bool:
        """Whether it does at a point. Raises `InputError` for what cannot be compared."""
        mine, other = point[self.key], self.value.strip("'\"")
        for kind in (_quantity, float):
            try:
                return OPERATORS[self.op](kind(mine), kind(other))
            except (ValueError, InputError):
                continue
        if self.op not in ("==", "!="):
            raise InputError(f"where: expected == or != between texts, got {mine} {self.op} {other}")
        return OPERATORS[self.op](mine, other)


def _quantity(text: str) -> tuple[str, float]:
    quantity = Quantity(text)
    return quantity.unit, quantity.value


class Condition:
    """One condition, read from a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._any_of = [
            [self._comparison(part) for part in re.split(r"\s+and\s+", alternative)]
            for alternative in re.split(r"\s+or\s+", text)
        ]

    def _comparison(self, part: str) -> _Comparison:
        match = _FORM.fullmatch(part)
        if match is None:
            expected = "comparisons KEY OP VALUE joined by `and` and `or`, as in 'wired.rtt < 200ms'"
            raise InputError(f"where: expected {expected}, got {self.text!r}")
        return _Comparison(match["key"], match["op"], match["value"])

    def check(self, keys: Iterable[str]) -> None:
        """Raises `InputError` for a key that is not one of these."""
        known = list(keys)
        for comparison in (one for alternative in self._any_of for one in alternative):
            if comparison.key not in known:
                raise InputError(f"where: expected a key that is varied ({', '.join(known)}), got {comparison.key}")

    def holds(self, point: Mapping[str, str]) -> bool:
        """Whether it holds at a point. Raises `InputError`."""
        return any(all(one.holds(point) for one in alternative) for alternative in self._any_of)
