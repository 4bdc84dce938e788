"""Writes python/airwatt/_settings.pyi, the types of a scenario's keys, from the schema of scenario files.

`python .ci/settings_stub.py` writes the file, `--check` only says whether it is up to date. Left out: ranges, and which
keys are required, because a scenario with `base` has all of them.
"""

import keyword
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from airwatt import schema

STUB = Path(__file__).parents[1] / "python" / "airwatt" / "_settings.pyi"
HEAD = '''"""The keys of a scenario, for `airwatt.Scenario.of`. Written by `make docs` from the schema of scenarios."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from airwatt._core import Quantity

'''
Node = dict[str, Any]


class Stub:
    """The classes of a schema: one for each table, and one for each variant of a tagged table."""

    def __init__(self, document: Node) -> None:
        self._document = document
        self._definitions: dict[str, Node] = document["$defs"]

    def text(self) -> str:
        """Returns the whole stub, formatted."""
        parts = []
        for name, node in self._definitions.items():
            if _is_table(node):
                parts.append(self._table(name, node))
            elif _is_tagged(node):
                parts.append(self._variants(name, node))
        scenario = dict(self._document["properties"])
        scenario["base"] = {"type": "string", "description": "The scenario that this one starts from."}
        # The name of a shipped set, as the description of the key says.
        scenario["wifi"] = {**scenario["wifi"], "anyOf": [*scenario["wifi"]["anyOf"], {"type": "string"}]}
        parts.append(self._table("Scenario", {"description": "A scenario.", "properties": scenario}))
        return _formatted(HEAD + "\n".join(parts))

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
            return f"Sequence[{self._type(node['items']) if 'items' in node else 'object'}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind, "dict[str, object]")


def _is_table(node: Node) -> bool:
    return "properties" in node and "oneOf" not in node


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


def _formatted(source: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Returns 1 if the file has to be written and `--check` says not to."""
    text = Stub(schema()).text()
    if "--check" not in sys.argv[1:]:
        STUB.write_text(text, encoding="utf-8")
    elif not STUB.exists() or STUB.read_text(encoding="utf-8") != text:
        print(f"{STUB.name}: is not what the schema of scenarios gives; make docs writes it anew", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
