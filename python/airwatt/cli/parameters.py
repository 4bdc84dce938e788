"""How commands declare their options and arguments: once, in the signature, for two readers.

`quick` reads the usual command line with these declarations alone. `application` makes a typer program of them, which
prints help and explains what is wrong. typer itself is not imported here: its import takes longer than a short run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints


class Parameter:
    """What is declared of a parameter beside its type and its default: typer's names and attributes."""

    __slots__ = ("attributes", "names")

    def __init__(self, *names: str, **attributes: Any) -> None:
        self.names = names
        self.attributes = attributes


class Option(Parameter):
    """`Option("--seed", metavar="N", help=...)`: a flag if its type is bool, repeatable if it is a list."""

    __slots__ = ()


class Argument(Parameter):
    """`Argument(metavar="FILE", help=...)`: takes words that are no options, in the order of declaration."""

    __slots__ = ()


class Exit(Exception):  # noqa: N818 - it is an end, not an error
    """Ends the command with an exit status; what is to be said about it has been said."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


def declared(command: Callable[..., Any]) -> dict[str, tuple[Any, Parameter]]:
    """Gives the type and the declaration of each parameter of a command, by name, in order."""
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    found = {}
    for name, hint in hints.items():
        assert get_origin(hint) is Annotated, name
        kind, *declarations = get_args(hint)
        (parameter,) = (item for item in declarations if isinstance(item, Parameter))
        found[name] = (kind, parameter)
    return found
