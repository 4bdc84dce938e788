"""`--fail-if 'EXPRESSION'`: a number of the result, held against a threshold.

`KEY OP NUMBER`, as in `stations.0.energy_j > 20`: KEY is a path into the result document, `*` stands for every index or
name, OP is one of < <= > >= == !=, NUMBER is in the unit that the key names. With several runs the means are compared.
In a comparison each row's numbers are, or those of the rows that `ROW: KEY OP NUMBER` names by their choices, as in
`psm: stations.0.energy_j > 20` or `psm, wired.rtt=20ms: ...`. Left out: arithmetic and `and`; the option may be given
several times instead.
"""

import functools
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from airwatt import _core
from airwatt._core import InputError
from airwatt.compared import names_of
from airwatt.results import Comparison, Runs
from airwatt.statistics import NOT_MEASURED, leaves, summarize

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(
    r"\s*(?:(?P<row>\S.*?):\s+)?(?P<key>[\w.*+-]+?)\s*(?P<op><=|>=|==|!=|<|>)"
    r"\s*(?P<limit>[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*"
)


@functools.cache
def schema_of_runs() -> Mapping[str, Any]:
    """The JSON schema of a run's document."""
    schema: Mapping[str, Any] = json.loads(_core.result_schema())
    return schema


class Threshold(NamedTuple):
    """One parsed expression."""

    text: str
    key: str
    compare: Callable[[float, float], bool]
    limit: float
    row: tuple[str, ...] = ()
    """The choices that name the rows; empty for all of them."""

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Raises `InputError` unless the text is `KEY OP NUMBER`, or that behind `ROW: `."""
        match = _FORM.fullmatch(text)
        try:
            limit = float(match["limit"]) if match else math.nan
        except ValueError:
            limit = math.nan
        if match is None or not math.isfinite(limit):
            raise InputError(f"--fail-if: expected KEY OP NUMBER, as in 'stations.0.energy_j > 20', got {text!r}")
        row = tuple(part.strip() for part in match["row"].split(",")) if match["row"] else ()
        return cls(text.strip(), match["key"], OPERATORS[match["op"]], limit, row)

    def check_rows(self, rows: Iterable[Mapping[str, str]]) -> None:
        """Raises `InputError` before anything runs, unless the expression names one of these rows or all of them."""
        labels = [names_of(choice) for choice in rows]
        if self.row and not any(self._names(parts) for parts in labels):
            there = "; ".join(", ".join(parts) for parts in labels[:6]) or "none: rows are those of a comparison"
            raise InputError(f"--fail-if {self.text!r}: no row is {', '.join(self.row)}; there are {there}")

    def check_key(self, option: str = "--fail-if", text: str = "") -> None:
        """Raises `InputError` before anything runs, unless the document of a run has numbers at the key.

        `text` is what the user wrote, if it is more than this expression.
        """
        schema = schema_of_runs()
        names = self.key.split(".")
        # What every run has; the rest is known afterwards.
        if names[0] in _OF_EMULATION:
            return
        nodes: list[Mapping[str, Any]] = [schema]
        for name in names:
            known = [key for node in nodes for key in node.get("properties", ()) if key not in NOT_MEASURED]
            nodes = [item for node in nodes for item in below(node, name, schema)]
            if not nodes:
                break
        if names[0] in NOT_MEASURED or not any(map(_is_number, nodes)):
            reason = f"the result has no number {self.key}{_near(name, known)}"
            raise InputError(f"{option} {(text or self.text)!r}: {reason}")

    def _names(self, parts: Sequence[str]) -> bool:
        return set(self.row) <= set(parts)

    def holds_for(self, choice: Mapping[str, str]) -> bool:
        """Whether the expression is about the row of these choices."""
        return self._names(names_of(choice))

    def trips(self, values: Mapping[str, float | None]) -> list[str]:
        """Says for which keys the expression is true, one text each. Raises `InputError` where no key fits.

        A number that is absent, as the completion of a transfer that did not complete, trips every threshold: what
        was to be held did not happen.
        """
        pattern = re.compile(r"[^.]+".join(re.escape(part) for part in self.key.split("*")))
        fitting = {key: value for key, value in values.items() if pattern.fullmatch(key)}
        if not fitting:
            raise InputError(
                f"--fail-if {self.text!r}: the result has no number {self.key}{_near(self.key, list(values))}"
            )
        return [
            f"{key} is {'absent' if value is None else f'{value:g}'}"
            for key, value in fitting.items()
            if value is None or self.compare(value, self.limit)
        ]


class RowNumbers(NamedTuple):
    """What a threshold is held against: the numbers of a run, the means of runs, or those of a row."""

    choice: Mapping[str, str]
    values: Mapping[str, float | None]


def numbers(result: Mapping[str, Any]) -> list[RowNumbers]:
    """Gives the numbers of a result by key, in a comparison those of each row."""
    if isinstance(result, Comparison):
        return [RowNumbers(row.choice, _means(row.runs)) for row in result.rows]
    if isinstance(result, Runs):
        return [RowNumbers({}, _means(result.runs))]
    return [RowNumbers({}, dict(leaves(result)))]


def _means(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    return {key: estimate["mean"] for key, estimate in summarize(runs).items()}


_OF_EMULATION = ("realtime", "command")


def below(node: Mapping[str, Any], name: str, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Gives the schemas of what a path leads to from a node by one name, an index, or `*`."""
    found = []
    if name == "*" or name.isdigit():
        found.append(node.get("items"))
    fields = node.get("properties", {})
    found += [value for key, value in fields.items() if name in ("*", key)]
    if name not in fields:
        found.append(node.get("additionalProperties"))
    return [whole for each in found if isinstance(each, Mapping) for whole in resolved(each, schema)]


def resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Gives the schemas that a node may be: what it refers to, and each of its alternatives."""
    if "$ref" in node:
        return resolved(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
    return [node, *(whole for part in node.get("anyOf", ()) for whole in resolved(part, schema))]


def _is_number(node: Mapping[str, Any]) -> bool:
    kinds = node.get("type", ())
    return bool({"number", "integer"}.intersection([kinds] if isinstance(kinds, str) else kinds))


def _near(key: str, keys: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(key, keys, n=3, cutoff=0.5)
    if close:
        return f"; near it are {', '.join(close)}"
    return f"; there are {', '.join(keys[:3])}, ..." if keys else ""
