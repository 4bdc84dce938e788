"""Reads command lines that are in the usual form; leaves every other one to typer.

A line is in the usual form if each word is understood here without doubt: long options by their full names, values that
do not begin with a dash, as many arguments as are declared. Whatever else there is (a short option, `--help`, a number
that is none) gives None, and typer reads the line again: so every error and every page of help is typer's. Where a line
is read here, typer would read the same; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from airwatt.cli.parameters import Argument, Option, Parameter, declared

_NO_BOUND = frozenset({"help", "metavar", "show_default"})
"""Attributes of a declaration that do not restrict its values."""


class _UnusualError(Exception):
    """Raised for a line that is left to typer."""


def read(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """Reads the words after a command's name into its keyword arguments; None if typer has to."""
    try:
        given = _read(declared(command), words)
    except _UnusualError:
        return None
    code, defaults = command.__code__, command.__defaults__ or ()
    required = code.co_varnames[: code.co_argcount - len(defaults)]
    return given if given.keys() >= set(required) else None


def _read(parameters: dict[str, tuple[Any, Parameter]], words: Sequence[str]) -> dict[str, Any]:
    options = {name: key for key, (_, item) in parameters.items() if isinstance(item, Option) for name in item.names}
    given: dict[str, Any] = {}
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            arguments += rest
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            if name not in options:
                raise _UnusualError
            key = options[name]
            if parameters[key][0] is bool:
                if equals:
                    raise _UnusualError
                given[key] = True
                continue
            if not equals:
                value = next(rest, "-")
            _put(given, key, parameters[key], _plain(value))
        else:
            arguments.append(_plain(word, alone=True))
    _fill(given, parameters, arguments)
    return given


def _plain(word: str, *, alone: bool = False) -> str:
    """Returns a word that cannot be an option; a lone dash is an argument: standard input."""
    if word.startswith("-") and not (alone and word == "-"):
        raise _UnusualError
    return word


def _fill(given: dict[str, Any], parameters: dict[str, tuple[Any, Parameter]], words: Sequence[str]) -> None:
    """Gives words to arguments in order; the last one may take several."""
    left = list(words)
    for key, (kind, parameter) in parameters.items():
        if not isinstance(parameter, Argument):
            continue
        if _is_list(kind):
            for word in left:
                _put(given, key, (kind, parameter), word)
            left = []
        elif left:
            _put(given, key, (kind, parameter), left.pop(0))
    if left:
        raise _UnusualError


def _put(given: dict[str, Any], key: str, declaration: tuple[Any, Parameter], word: str) -> None:
    kind, parameter = declaration
    if not parameter.attributes.keys() <= _NO_BOUND:
        raise _UnusualError
    if _is_list(kind):
        (of,) = get_args(_without_none(kind))
        given.setdefault(key, []).append(_value(of, word))
    else:
        given[key] = _value(_without_none(kind), word)


def _value(kind: Any, word: str) -> Any:
    if kind is str:
        return word
    if kind is Path:
        return Path(word)
    if kind is int and word.isascii() and word.isdigit() and len(word) <= 20:
        return int(word)
    raise _UnusualError


def _without_none(kind: Any) -> Any:
    """Gives `str` of `str | None`."""
    if get_origin(kind) is not UnionType:
        return kind
    (inner,) = (item for item in get_args(kind) if item is not NoneType)
    return inner


def _is_list(kind: Any) -> bool:
    return get_origin(_without_none(kind)) is list
