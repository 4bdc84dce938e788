"""Writes the Python types of what Rust describes by a schema.

* python/airwatt/_settings.pyi: the keys of a scenario.
* python/airwatt/_documents.py: the document of a run.

`python .ci/schema_types.py` writes the files, `--check` only says whether they are up to date. Left out: ranges; and
which keys of a scenario are required, because a scenario with `base` has all of them; and classes in files, which a
type checker could not tell from misspelt names.
"""

import json
import keyword
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from airwatt import _core

PACKAGE = Path(__file__).parents[1] / "python" / "airwatt"
SETTINGS = '''\
"""The keys of a scenario, for `airwatt.Scenario.of`. Written by `make docs` from the schema of scenarios."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from airwatt._core import Quantity

'''
DOCUMENTS = '''\
"""The document of a run, typed. Written by `make docs` from the schema of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from airwatt.record import Record

'''
Node = dict[str, Any]


class Types:
    """The types that a schema describes, by the names of its definitions."""

    def __init__(self, document: Node, sequence: str = "Sequence") -> None:
        self._document = document
        self._definitions: dict[str, Node] = document["$defs"]
        self._sequence = sequence

    def settings(self) -> str:
        """Returns a stub with a class for each table, and one for each variant of a tagged table."""
        parts = []
        for name, node in self._definitions.items():
            if _names_class(node):
                continue
            if _is_table(node):
                parts.append(self._table(name, node))
            elif _is_tagged(node):
                parts.append(self._variants(name, node))
        scenario = dict(self._document["properties"])
        scenario["base"] = {"type": "string", "description": "The scenario that this one starts from."}
        # The name of a shipped set, as the description of the key says.
        scenario["wifi"] = {**scenario["wifi"], "anyOf": [*scenario["wifi"]["anyOf"], {"type": "string"}]}
        parts.append(self._table("Scenario", {"description": "A scenario.", "properties": scenario}))
        return _formatted(SETTINGS + "\n".join(parts), "_settings.pyi")

    def documents(self) -> str:
        """Returns a module with a class for each object, those that others consist of first."""
        objects = {name: node for name, node in self._definitions.items() if _is_table(node)}
        objects[self._document["title"]] = self._document
        ordered: list[str] = []
        while len(ordered) < len(objects):
            ordered += [
                name
                for name, node in objects.items()
                if name not in ordered and set(self._parts(node).values()) <= set(ordered)
            ]
        return _formatted(
            DOCUMENTS + "\n\n".join(self._record(name, objects[name]) for name in ordered), "_documents.py"
        )

    def _record(self, name: str, node: Node) -> str:
        lines = [f"class {name}(Record):", *_doc(node), "    __slots__ = ()"]
        parts = self._parts(node)
        if parts:
            shown = ", ".join(f'"{key}": {part}' for key, part in parts.items())
            lines.append(f"    _parts: ClassVar[Mapping[str, type[Record]]] = {{{shown}}}")
        required = node.get("required", ())
        for key, value in node["properties"].items():
            if keyword.iskeyword(key) or not key.isidentifier():
                continue
            kind = self._type(value)
            if kind != "None" and (key not in required or _is_nullable(value)):
                kind += " | None"
            lines += [f"    {key}: {kind}", *_doc(value)]
        return "\n".join(lines) + "\n"

    def _parts(self, node: Node) -> dict[str, str]:
        """Returns the classes of the fields that are objects, or lists of them."""
        parts = {}
        for key, value in node["properties"].items():
            nodes = [value, value.get("items", {}), *value.get("anyOf", ())]
            for name in (_referred(each) for each in nodes if "$ref" in each):
                if _is_table(self._definitions[name]):
                    parts[key] = name
        return parts

    def _table(self, name: str, node: Node) -> str:
        lines = [f"class {name}(TypedDict, total=False):", *_doc(node)]
        for key, value in sorted(node["properties"].items()):
            if keyword.iskeyword(key) or not key.isidentifier():
                continue
            lines += [f"    {key}: {self._type(value)}", *_doc(value)]
        return "\n".join(lines) + "\n"

    def _variants(self, name: str, node: Node) -> str:
        """Returns a class for each variant, and their union under the name of the table."""
        tables = {}
        for variant in node["oneOf"]:
            parts = [self._resolved(part) for part in [variant, *variant.get("allOf", [])]]
            properties = {key: value for part in parts for key, value in part.get("properties", {}).items()}
            tags = [value["const"] for value in properties.values() if "const" in value]
            tables[_class_name(name, *tags)] = {**variant, "properties": properties}
        classes = [self._table(each, table) for each, table in tables.items()]
        return "\n".join([*classes, f"{name}: TypeAlias = {' | '.join(tables)}\n"])

    def _resolved(self, node: Node) -> Node:
        """Returns the definition that a node refers to, or the node; a part beside others may itself refer."""
        if "$ref" in node:
            return {**self._definitions[_referred(node)], **{key: node[key] for key in node if key != "$ref"}}
        return node

    def _type(self, node: Node) -> str:
        if "$ref" in node:
            name = _referred(node)
            definition = self._definitions[name]
            return name if _is_table(definition) or _is_tagged(definition) else self._type(definition)
        for union in ("anyOf", "oneOf", "allOf"):
            if union in node:
                parts = [part for part in node[union] if part.get("type") != "null"]
                parts = [part for part in parts if not _names_class(self._resolved(part))]
                if all("const" in part for part in parts):
                    return f"Literal[{', '.join(repr(part['const']) for part in parts)}]"
                return " | ".join(dict.fromkeys(map(self._type, parts)))
        if "enum" in node:
            return f"Literal[{', '.join(map(repr, node['enum']))}]"
        if "const" in node:
            return f"Literal[{node['const']!r}]"
        if node.get("format") == "quantity":
            return "str | Quantity"
        kinds = node.get("type", "object")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " | ".join(self._plain(kind, node) for kind in kinds if kind != "null")

    def _plain(self, kind: str, node: Node) -> str:
        if kind == "array":
            items = self._type(node["items"]) if "items" in node else "object"
            return f"{self._sequence}[{items}]"
        if kind == "object" and isinstance(node.get("additionalProperties"), dict):
            return f"Mapping[str, {self._type(node['additionalProperties'])}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind, "dict[str, object]")


def _is_table(node: Node) -> bool:
    return "properties" in node and "oneOf" not in node


def _names_class(node: Node) -> bool:
    """Whether a node is a class in a file, or a table that has nothing but one."""
    return any(one.get("format") == "class" for one in (node, *node.get("properties", {}).values()))


def _is_tagged(node: Node) -> bool:
    return any("properties" in variant for variant in node.get("oneOf", ()))


def _referred(node: Node) -> str:
    return str(node["$ref"].rpartition("/")[2])


def _class_name(name: str, *tags: str) -> str:
    """`ApplicationConfig` and `request-response` make `RequestResponseApplication`."""
    words = [word for tag in tags for word in tag.replace("+", "-").split("-")]
    return "".join(word.capitalize() for word in words) + name.removesuffix("Config")


def _doc(node: Node) -> list[str]:
    description = " ".join(node.get("description", "").split())
    if not description:
        return []
    return textwrap.wrap(f'"""{description}"""', 112, initial_indent="    ", subsequent_indent="    ")


def _is_nullable(node: Node) -> bool:
    kinds = node.get("type", "")
    return "null" in kinds or any(part.get("type") == "null" for part in node.get("anyOf", ()))


def _formatted(source: str, name: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "format", "--stdin-filename", str(PACKAGE / name), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Returns 1 if a file has to be written and `--check` says not to."""
    texts = {
        "_settings.pyi": Types(json.loads(_core.schema())).settings(),
        "_documents.py": Types(json.loads(_core.result_schema()), "list").documents(),
    }
    status = 0
    for name, text in texts.items():
        path = PACKAGE / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{name}: is not what its schema gives; make docs writes it anew", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
