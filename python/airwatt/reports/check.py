"""Whether result documents that a user hands in have the types that their schema says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airwatt.threshold import schema_of_runs

_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("an object", (dict,)),
    "array": ("a list", (list,)),
    "string": ("a text", (str,)),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
}


def mistake(document: Any) -> str | None:
    """The first place of a run's document with a value of a wrong type; None if there is none.

    What an earlier version did not have yet may be absent.
    """
    schema = schema_of_runs()
    return _mistake(document, schema, schema, "")


def _mistake(value: Any, node: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str | None:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "anyOf" in node:
        found = [_mistake(value, part, schema, place) for part in node["anyOf"]]
        return None if None in found else found[0]
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_fits(value, kind) for kind in kinds):
        expected = " or ".join(_KINDS[kind][0] for kind in kinds)
        return f"{place or 'a run'}: expected {expected}, got {json.dumps(value)[:60]}"
    inner: list[tuple[str, Any, Any]] = []
    if isinstance(value, dict):
        known, other = node.get("properties", {}), node.get("additionalProperties")
        inner = [(key, below, known.get(key, other)) for key, below in value.items()]
    elif isinstance(value, list):
        inner = [(str(index), below, node.get("items")) for index, below in enumerate(value)]
    for key, below, part in inner:
        if isinstance(part, Mapping):
            wrong = _mistake(below, part, schema, f"{place}.{key}" if place else key)
            if wrong is not None:
                return wrong
    return None


def _fits(value: Any, kind: str) -> bool:
    # In Python truths are whole numbers.
    return isinstance(value, _KINDS[kind][1]) and (kind == "boolean" or not isinstance(value, bool))
