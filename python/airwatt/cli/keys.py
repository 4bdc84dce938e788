"""`airwatt keys`: what a scenario file can say."""

import difflib
import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from airwatt import keys as schema
from airwatt._core import SCHEMA, InputError, __version__
from airwatt.cli import options
from airwatt.cli.output import print_json, print_text, show
from airwatt.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from airwatt.layout import Table

EPILOG = """\b
Examples:
  airwatt keys
  airwatt keys wired.rtt
  airwatt keys queue
"""

_FEW = 12
"""So many keys are shown with their meaning."""


def command(
    pattern: Annotated[
        str | None,
        Argument(help="Part of a key's name or meaning, or a pattern such as 'wifi.*'.", show_default=False),
    ] = None,
    markdown: Annotated[bool, Option("--markdown", help="Print docs/scenario.md.")] = False,
    json: options.Json = False,
) -> None:
    """List the keys of scenario files, as --set and --over take them: values, units, defaults and meaning."""
    if markdown:
        if pattern is not None or json:
            raise InputError("keys: --markdown: expected alone, got a pattern or --json beside it")
        print_text(schema.page())
        return
    found = schema.all_keys() if pattern is None else _matching(pattern)
    if json:
        document = [
            {**key._asdict(), "default": key.default or None, "belongs_to": key.belongs_to or None} for key in found
        ]
        print_json({"schema": SCHEMA, "version": __version__, "keys": document})
    elif len(found) > _FEW:
        from airwatt.tables import table

        rows = [[key.path, key.default if len(key.default) < 20 else "...", _kind(key)] for key in found]
        show(table(["key", "default", "value"], rows, left=3))
    else:
        show(*_described(found))


def _matching(pattern: str) -> list[schema.Key]:
    """The keys that a pattern is about: by their names, or else by their meanings. Raises `InputError`."""
    known = schema.all_keys()
    text = pattern.lower()
    exact = [key for key in known if key.path == text]
    by_name = [key for key in known if text in key.path or fnmatch.fnmatchcase(key.path, text)]
    found = exact or by_name or [key for key in known if text in key.meaning.lower()]
    if found:
        return found
    close = difflib.get_close_matches(text, [key.path for key in known], n=3, cutoff=0.5)
    hint = f"hint: near it are {', '.join(close)}" if close else "hint: airwatt keys lists all"
    raise InputError(f"keys {pattern!r}: expected part of the name or meaning of a key, got one of none; {hint}")


def _described(found: Sequence[schema.Key]) -> "list[str | Table]":
    parts: list[str | Table] = []
    for key in found:
        lines = [
            key.path,
            f"  {key.kind}" + (f"; default {key.default}" if key.default not in ("", "required") else ""),
        ]
        if key.default == "required":
            lines[1] += "; required"
        if key.belongs_to:
            lines.append(f"  with {key.belongs_to}")
        parts.append("\n".join([*lines, f"  {key.meaning}"]))
    return parts


def _kind(key: schema.Key) -> str:
    """What fits a table: without the list of units, which the meaning of one key has."""
    return key.kind.partition(" with its unit")[0].partition(": packets, or bytes")[0]
