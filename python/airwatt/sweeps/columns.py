"""From result documents to columns: one row a run, a flow or a station, names as in the document joined by dots.

Types come from the schema of results, so that every file of a store has the same type for a column even where all its
values are null.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airwatt import aggregates
from airwatt._documents import RunResult
from airwatt.record import flat
from airwatt.threshold import below, resolved, schema_of_runs

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("runs", "flows", "stations")
KEY = ("point", "seed")
"""The columns that name a job."""
AGGREGATES: dict[str, aggregates.Number] = {
    "energy_j": aggregates.energy_j,
    "goodput_bps": aggregates.goodput_bps,
    "measured_bps": aggregates.measured_bps,
    "completed_s": aggregates.completed_s,
}
"""Numbers of a run that are sums over its stations and flows, at the front of each row of runs."""
_HALF = re.compile("[\ud800-\udfff]")
_LEFT_OUT = frozenset({"schema", "version", "seed", "flows", "stations"})


def rows(what: str, point: str, seed: int, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the rows of one run in a table."""
    origin = {"point": point, "seed": seed}
    if what == "runs":
        numbers = {name: number(RunResult(document)) for name, number in AGGREGATES.items()}
        if numbers["measured_bps"] is None:
            del numbers["measured_bps"]
        rest = {key: value for key, value in document.items() if key not in _LEFT_OUT}
        yield {**origin, **numbers, **dict(flat(rest, lists=True))}
        return
    for item in document[what]:
        yield {**origin, **dict(flat(item, lists=True))}


def has_rows(document: Any) -> bool:
    """Whether what somebody says to be a result document becomes rows of every table."""
    try:
        return all(
            value is None or _check(what, name)(value)
            for what in TABLES
            for row in rows(what, "", 0, document)
            for name, value in row.items()
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
        return False


def is_result(document: object) -> bool:
    """Whether what somebody says to be a result document of this core library has all that one has."""
    return _fits(document, schema_of_runs()) and has_rows(document)


def _fits(value: object, node: Mapping[str, Any]) -> bool:
    """Whether a value has the required parts of a schema, each of them of a type that it may have."""
    for found in resolved(node, schema_of_runs()):
        given = found.get("type", ())
        kinds = [given] if isinstance(given, str) else given
        if isinstance(value, Mapping) and "object" in kinds:
            fields = found.get("properties", {})
            whole = all(name in value for name in found.get("required", ()))
            return whole and all(_fits(item, fields[name]) for name, item in value.items() if name in fields)
        if isinstance(value, list) and "array" in kinds:
            return all(_fits(item, found.get("items", {})) for item in value)
        if any(isinstance(value, _TYPES[kind]) for kind in kinds) and not isinstance(value, Mapping | list):
            return True
    return False


_TYPES: Mapping[str, Any] = {
    "string": str, "number": int | float, "integer": int, "boolean": bool, "null": type(None), "object": Mapping,
    "array": list,
}  # fmt: skip


def is_text(value: object) -> bool:
    """Whether a value is a text that a table can have: half of a surrogate pair is none."""
    return isinstance(value, str) and (value.isascii() or not _HALF.search(value))


def is_number(value: object) -> bool:
    """Whether a value is a number that a table can have as a floating-point one."""
    return type(value) is float or (type(value) is int and abs(value) <= 1 << 53)


def _is_integer(value: object) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


@functools.cache
def _check(what: str, name: str) -> Callable[[object], bool]:
    """Whether a value is of the type of a column."""
    import pyarrow as pa

    checks: dict[pa.DataType, Callable[[object], bool]] = {
        pa.string(): is_text, pa.float64(): is_number, pa.bool_(): lambda value: type(value) is bool
    }  # fmt: skip
    return checks.get(kind(what, name), _is_integer)


def number(document: Mapping[str, Any], name: str) -> float | None:
    """One number of a run by the name of its column, or by its path in the document; None if it is null there.

    Raises `KeyError` if the run has no such number.
    """
    if name in AGGREGATES:
        return AGGREGATES[name](RunResult(document))
    value: Any = document
    for part in name.split("."):
        value = value[int(part)] if isinstance(value, Sequence) else value[part]
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise KeyError(name)
    return None if value is None else float(value)


def table(what: str, found: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Makes a table of rows."""
    import pyarrow as pa

    names = list(dict.fromkeys((*KEY, *(name for row in found for name in row))))
    arrays = [pa.array([row.get(name) for row in found], kind(what, name)) for name in names]
    return pa.table(arrays, names=names)


@functools.cache
def kind(what: str, name: str) -> pa.DataType:
    """The type of a column."""
    import pyarrow as pa

    if name == "point":
        return pa.string()
    if name == "seed":
        return pa.uint64()
    if name in AGGREGATES and what == "runs":
        return pa.float64()
    schema = schema_of_runs()
    nodes: list[Mapping[str, Any]] = [schema]
    path = name if what == "runs" else f"{what}.0.{name}"
    for part in path.split("."):
        nodes = [item for node in nodes for item in below(node, part, schema)]
    kinds: set[str] = set()
    for node in nodes:
        given = node.get("type", ())
        kinds.update([given] if isinstance(given, str) else given)
    if "number" in kinds:
        return pa.float64()
    if "integer" in kinds:
        return pa.int64()
    return pa.bool_() if "boolean" in kinds else pa.string()
