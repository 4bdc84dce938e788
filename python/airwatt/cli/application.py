"""The command line as a typer program: help, every unusual way to write a line, and what is wrong with one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from airwatt.cli import COMMANDS
from airwatt.cli.parameters import Option, Parameter, declared

UsageError = typer.TyperException
"""What a line raises that cannot be read; `format_message()` says why."""


def run(arguments: Sequence[str]) -> int | None:
    """Reads a line and runs its command; returns the exit status if there is one. Raises `UsageError`."""
    try:
        status = _whole()(args=list(arguments), prog_name="airwatt", standalone_mode=False)
    except SystemExit:  # what typer makes of a reader of its help that has gone, which is no failure
        return None
    return status if isinstance(status, int) else None


@functools.cache
def _whole() -> Callable[..., Any]:
    """The program of all commands, made once for all lines that a process reads."""
    modules = {name: import_module(f"airwatt.cli.{name}") for name in COMMANDS}
    commands = {name: (module.command, module.EPILOG) for name, module in modules.items()}
    return typer.main.get_command(program(commands))


def program(commands: Mapping[str, tuple[Callable[..., None], str]]) -> typer.Typer:
    """Makes the program of commands by name, each with the text after its options."""
    made = typer.Typer(
        name="airwatt",
        help="What a Wi-Fi radio spends on TCP, who gets the bandwidth, and what can be done about it.",
        epilog="\b\nExamples:\n  airwatt compare fast-dsl --policy active,psm\n"
        "  airwatt run fast-dsl --policy psm --json",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_root)
    for name, (command, epilog) in commands.items():
        made.command(name, epilog=epilog)(_as_typer(command))
    return made


def _as_typer(command: Callable[..., None]) -> Callable[..., None]:
    """Wraps a command so that typer finds its own kind of declarations."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name],
            annotation=Annotated[kind, _declaration(parameter)],
        )
        for name, (kind, parameter) in declared(command).items()
    ]

    def wrapped(**arguments: Any) -> None:
        command(**arguments)

    wrapped.__doc__ = command.__doc__
    wrapped.__name__ = command.__name__
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _declaration(parameter: Parameter) -> Any:
    kind = typer.Option if isinstance(parameter, Option) else typer.Argument
    return kind(*parameter.names, **parameter.attributes)


def _print_version(asked: bool) -> None:
    if asked:
        from airwatt.cli import version

        print(version.text(verbose=False))
        raise typer.Exit


def _root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit; after -v with what a report of a fault needs.",
        ),
    ] = False,
    # Read before typer is asked; here for --help.
    _verbose: Annotated[
        int,
        typer.Option("--verbose", "-v", count=True, help="Write what happens to standard error; -vv for more."),
    ] = 0,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
