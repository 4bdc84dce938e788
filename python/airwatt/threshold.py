"""`--fail-if 'EXPRESSION'`: a number of the result, held against a threshold.

`KEY OP NUMBER`, as in `stations.0.energy_j > 20`: KEY is a path into the result document, `*` stands for every index or
name, OP is one of < <= > >= == !=, NUMBER is in the unit that the key names. With several runs the means are compared,
in a comparison each row's. Left out: arithmetic and `and`; the option may be given several times instead.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from airwatt._core import InputError
from airwatt.statistics import leaves

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([\w.*+-]+?)\s*(<=|>=|==|!=|<|>)\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*")


class Threshold(NamedTuple):
    """One parsed expression."""

    text: str
    key: str
    compare: Callable[[float, float], bool]
    limit: float

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Raises `InputError` unless the text is `KEY OP NUMBER`."""
        match = _FORM.fullmatch(text)
        try:
            limit = float(match[3]) if match else math.nan
        except ValueError:
            limit = math.nan
        if match is None or not math.isfinite(limit):
            allowed = "KEY OP NUMBER, as in 'stations.0.energy_j > 20'"
            raise InputError(f"--fail-if {text!r}: not a comparison; allowed is {allowed}")
        return cls(text.strip(), match[1], _OPERATORS[match[2]], limit)

    def trips(self, values: Mapping[str, float | None]) -> list[str]:
        """Says for which keys the expression is true, one text each. Raises `InputError` where no key fits.

        A number that is absent, as the completion of a transfer that did not complete, trips every threshold: what
        was to be held did not happen.
        """
        pattern = re.compile(r"[^.]+".join(re.escape(part) for part in self.key.split("*")))
        fitting = {key: value for key, value in values.items() if pattern.fullmatch(key)}
        if not fitting:
            near = _near(self.key, values)
            raise InputError(f"--fail-if {self.text!r}: the result has no number {self.key}; {near}")
        return [
            f"{key} is {'absent' if value is None else f'{value:g}'}"
            for key, value in fitting.items()
            if value is None or self.compare(value, self.limit)
        ]


def numbers(document: Mapping[str, Any]) -> list[tuple[str, dict[str, float | None]]]:
    """What thresholds are held against: (label, numbers by key) for a result, for runs, or for each row."""
    if "rows" in document:
        rows: Sequence[Mapping[str, Any]] = document["rows"]
        return [(", ".join(row["choice"].values()) + ": ", _means(row["summary"])) for row in rows]
    if "runs" in document:
        return [("", _means(document["summary"]))]
    return [("", dict(leaves(document)))]


def _means(summary: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    return {key: estimate["mean"] for key, estimate in summary.items()}


def _near(key: str, values: Mapping[str, Any]) -> str:
    import difflib

    close = difflib.get_close_matches(key, list(values), n=3, cutoff=0.5)
    return f"near it are {', '.join(close)}" if close else f"there are {', '.join(list(values)[:3])}, ..."
