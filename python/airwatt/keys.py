"""The keys of scenario files, from their schema: what `airwatt keys` lists and `docs/scenario.md` is made of.

Ranges are those of the schema (choices, whole numbers). Left out: bounds that depend on other keys, which the loader
names when one is crossed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from airwatt import _core

Node = Mapping[str, Any]
_FIRST = (
    "name", "description", "source", "duration", "time_limit", "measure_from", "wired", "wifi", "ap", "station", "flow",
    "tcp", "ackloss", "e2tcp", "gateway", "tunnel", "link", "node", "cell", "host",
)  # fmt: skip
"""The tables of a scenario in the order in which a reader meets them; further ones come last."""


class Key(NamedTuple):
    """One key of a scenario file."""

    path: str
    """As `--set` and `--over` take it."""
    kind: str
    """What its value is: a quantity with its units, one of several words, a whole number with its range, ..."""
    default: str
    """As a file has it; empty where there is none, `required` where there has to be a value."""
    belongs_to: str
    """The choices that it has an effect with, as in `policy = "uapsd"`; empty for every one."""
    meaning: str


@functools.cache
def all_keys() -> list[Key]:
    """All keys in the order of the schema. A table that two places share is listed at the first one."""
    schema = json.loads(_core.schema())
    found: dict[tuple[str, str, str, str], Key] = {}
    order = {name: place for place, name in enumerate(_FIRST)}
    properties = dict(sorted(schema["properties"].items(), key=lambda item: order.get(item[0], len(order))))
    for key in _Walk(schema).table("", {**schema, "properties": properties}, None):
        # Variants of a tagged table share keys.
        same = (key.path, key.kind, key.default, key.meaning)
        old = found.get(same)
        choice = key.belongs_to.rpartition(" = ")[2]
        if old is not None and choice in old.belongs_to.replace(",", "").split():
            continue
        if old is not None and choice:
            key = key._replace(belongs_to=f"{old.belongs_to}, {choice}")
        found[same] = key
    base = Key(
        "base", "the name of a scenario that ships, or a file", "", "", "The scenario that this one starts from."
    )
    return [base, *found.values()]


class _Walk:
    def __init__(self, schema: Node) -> None:
        self._definitions: Node = schema["$defs"]
        self._seen: dict[str, str] = {}

    def table(self, prefix: str, node: Node, default: Any, belongs_to: str = "") -> Iterator[Key]:
        """Yields the keys of a table. `default` is the table that stands there without one."""
        required = node.get("required", ())
        for name, value in node["properties"].items():
            if "const" in value:
                continue
            given = value.get("default", default.get(name) if isinstance(default, Mapping) else None)
            yield from self._key(f"{prefix}{name}", value, given, name in required, belongs_to)

    def _key(self, path: str, node: Node, default: Any, required: bool, belongs_to: str) -> Iterator[Key]:
        whole = self._resolved(node)
        meaning = " ".join(str(node.get("description") or whole.get("description", "")).split())
        tables = list(self._tables(node))
        plain = [part for part in self._parts(node) if not _is_table(part) and not _is_tagged(part)]
        shown = _default(default, required)
        if not tables:
            yield Key(path, self._kind(node), shown, belongs_to, meaning)
            return
        for name, table, is_list in tables:
            seen = self._seen.setdefault(name, path)
            kind = "list of tables" if is_list else "table"
            if seen != path:
                yield Key(path, f"{kind} with the keys of `{seen}`", shown, belongs_to, meaning)
                continue
            first = default[0] if isinstance(default, list) and default else default
            if _is_tagged(table):
                takes_class = any(_is_class(part) for part in plain)
                yield from self._variants(path, table, first, belongs_to, meaning, takes_class=takes_class)
                continue
            if any(part.get("type") == "string" or "$ref" in part for part in plain if part.get("type") != "null"):
                yield Key(path, f"{kind}, or {self._kind({'anyOf': plain})}", "", belongs_to, meaning)
            else:
                yield Key(path, kind, "" if isinstance(default, Mapping | list) else shown, belongs_to, meaning)
            yield from self.table(f"{path}.", table, first, belongs_to)

    def _variants(
        self, path: str, node: Node, default: Any, belongs_to: str, meaning: str, *, takes_class: bool
    ) -> Iterator[Key]:
        """A table whose tag says which keys it has, or names a class, if it takes one."""
        tables = []
        for variant in node["oneOf"]:
            beside = [variant] if "$ref" in variant else []
            parts = [variant, *map(self._resolved, (*beside, *variant.get("allOf", ())))]
            properties = {key: value for part in parts for key, value in part.get("properties", {}).items()}
            required = [key for part in parts for key in part.get("required", ())]
            ((tag, value),) = [(key, value["const"]) for key, value in properties.items() if "const" in value]
            tables.append(
                (tag, value, {"properties": properties, "required": required}, variant.get("description", ""))
            )
        tag = tables[0][0]
        given = default.get(tag) if isinstance(default, Mapping) else None
        choices = (
            "one of " + ", ".join(value for _, value, _, _ in tables) + (" or FILE.py:CLASS" if takes_class else "")
        )
        told = "; ".join(f"`{value}` {' '.join(text.split())}" for _, value, _, text in tables if text)
        yield Key(f"{path}.{tag}", choices, given or "", belongs_to, f"{meaning} {told}.")
        for _, value, table, _ in tables:
            yield from self.table(f"{path}.", table, None, f"{tag} = {value}")

    def _tables(self, node: Node) -> Iterator[tuple[str, Node, bool]]:
        for part in self._parts(node):
            if "array" in _types(part) and "items" in part:
                yield from ((name, table, True) for name, table, _ in self._tables(part["items"]))
            elif _is_table(part) or _is_tagged(part):
                yield part["$name"], part, False

    def _parts(self, node: Node) -> Iterator[Node]:
        """What a node may be, each resolved, with its name in the schema as `$name`."""
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            below = self._definitions[name]
            if "anyOf" in below:
                yield from self._parts(below)
            else:
                yield {**below, "$name": name}
        elif "anyOf" in node:
            for part in node["anyOf"]:
                yield from self._parts(part)
        else:
            yield {**node, "$name": str(id(node))}

    def _resolved(self, node: Node) -> Node:
        if "$ref" not in node:
            return node
        below: Node = self._definitions[node["$ref"].rpartition("/")[2]]
        return below

    def _kind(self, node: Node) -> str:
        kinds = []
        for part in self._parts(node):
            kinds_of = [kind for kind in _types(part) if kind != "null"]
            if "oneOf" in part:
                kinds.append("one of " + ", ".join(str(item["const"]) for item in part["oneOf"] if "const" in item))
            elif "enum" in part:
                kinds.append("one of " + ", ".join(map(str, part["enum"])))
            elif part.get("format") in ("quantity", "class"):
                kinds.append(str(part["description"]))
            elif "array" in kinds_of:
                kinds.append(f"list: {self._kind(part['items'])}" if "items" in part else "list")
            elif kinds_of:
                kinds.append(_plain(part))
        return " or ".join(dict.fromkeys(item for item in kinds if item)) or "text"


def _plain(node: Node) -> str:
    kinds = _types(node)
    if "integer" in kinds:
        low, high = node.get("minimum"), node.get("maximum")
        return f"a whole number from {low} to {high}" if high is not None else f"a whole number from {low}"
    return {"number": "a number", "boolean": "true or false", "string": "text"}.get(
        next(kind for kind in kinds if kind != "null"), "table"
    )


def _types(node: Node) -> list[str]:
    kinds = node.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is_table(node: Node) -> bool:
    return "properties" in node and "oneOf" not in node and not _is_class(node)


def _is_class(node: Node) -> bool:
    """Whether a table only names a class in a file."""
    return any(value.get("format") == "class" for value in node.get("properties", {}).values())


def _is_tagged(node: Node) -> bool:
    return any("properties" in variant or "allOf" in variant for variant in node.get("oneOf", ()))


def _default(value: Any, required: bool) -> str:
    if value is None:
        return "required" if required else ""
    if isinstance(value, Mapping | list) and not value:
        return ""
    return json.dumps(value) if not isinstance(value, str) else value


PAGE = """\
# The keys of a scenario

A scenario is a TOML file. Most begin from one that ships (`airwatt scenarios` lists them) and change a few keys:

```toml
base = "fast-dsl"        # everything that is not said below is as there

[wired]
rtt = "50ms"

[[station]]              # lists of tables are replaced as a whole
radio = "ar5004"
power_save = { policy = "timeout", timeout = "50ms" }
```

`airwatt init FILE` writes one with comments, `airwatt run FILE --show-config` prints a file with every key of its
form. Keys with the same names change a run without a file: `--set wired.rtt=50ms`, `airwatt sweep ... --over
wired.rtt=10ms:300ms:10ms`. A key into a list without a number (`station.radio`) means every table of it;
`station.0.radio` the first one; `link.NAME.delay` the one with that name. `policy` and `transport` stand for those of
all stations and flows.

Quantities are texts with a unit. kB, MB and GB are powers of ten, KiB, MiB and GiB powers of two. A key that has no
effect on what is configured is an error, as is one that does not exist; the error names the key and what is expected.

This page is written by `airwatt keys --markdown` from the schema (`airwatt scenarios --schema`), which the loader
checks files with. A default that is empty is said under the meaning, or there is none; **required** keys have to be
in the file or its base.

"""


def page() -> str:
    """The page `docs/scenario.md`."""
    parts = []
    section = None
    for key in all_keys():
        table = key.path.partition(".")[0] if "." in key.path or key.kind.startswith(("table", "list of")) else ""
        if table != section:
            section = table
            heading = f"## `{section}`" if section else "## The whole scenario"
            parts.append(f"\n{heading}\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n")
        default = (
            f"**{key.default}**" if key.default == "required" else f"`{_short(key.default)}`" if key.default else ""
        )
        meaning = f"With `{key.belongs_to}`: {key.meaning}" if key.belongs_to else key.meaning
        parts.append(f"| `{key.path}` | {_cell(key.kind)} | {default} | {_cell(meaning)} |\n")
    return PAGE.rstrip("\n") + "\n" + "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _short(text: str) -> str:
    return text if len(text) < 40 else "..."
