"""The command line: one file a command, typer for the flags, rich for the tables.

Commands check and present; what they do, `import airwatt` does too. Everything that a user can get wrong ends here as
one line on standard error and an exit status.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from airwatt import _core
from airwatt.cli import (
    advise,
    analyze,
    compare,
    emulate,
    model,
    policies,
    radios,
    reproduce,
    run,
    scenarios,
    transports,
)
from airwatt.cli.output import closed_pipe, say

DONE, FAILED, WRONG_INPUT, THRESHOLD, MISSING_FEATURE, INTERRUPTED = 0, 1, 2, 3, 4, 130

app = typer.Typer(
    name="airwatt",
    help="What a Wi-Fi radio spends on TCP, who gets the bandwidth, and what can be done about it.",
    epilog="\b\nExamples:\n  airwatt compare fast-dsl --policy active,psm\n  airwatt run fast-dsl --policy psm --json",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _module in (run, compare, emulate, analyze, model, advise, reproduce, radios, scenarios, policies, transports):
    app.command(_module.__name__.rpartition(".")[2], epilog=_module.EPILOG)(_module.command)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"airwatt {_core.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """The program: runs a command and exits with its status."""
    sys.exit(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: Sequence[str]) -> int:
    """Runs a command; gives its exit status."""
    try:
        status = app(args=list(arguments), prog_name="airwatt", standalone_mode=False)
        status = status if isinstance(status, int) else DONE
        if status == INTERRUPTED:
            say("interrupted")
        sys.stdout.flush()
    except BrokenPipeError:
        closed_pipe()
        return DONE
    except OSError as error:
        # Files are handled where they are opened: this is standard output itself.
        closed_pipe()
        say(f"standard output: {error.strerror or error}")
        return FAILED
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BaseException as error:
        if sys.flags.dev_mode or isinstance(error, SystemExit):
            raise
        return _explain(error)
    return status


def _explain(error: BaseException) -> int:
    """Says in one line what went wrong; gives the exit status."""
    if isinstance(error, _core.InputError):
        say(str(error))
        return WRONG_INPUT
    if isinstance(error, _core.MissingFeature):
        say(str(error))
        return MISSING_FEATURE
    if isinstance(error, _core.AirwattError):
        say(str(error))
        return FAILED
    if isinstance(error, typer.TyperException):
        say(f"{_lower(error.format_message())} (see --help)")
        return WRONG_INPUT
    # Nothing that a user can do may end here; `python -X dev -m airwatt ...` shows the traceback.
    say(f"internal error, please report it: {type(error).__name__}: {error}")
    return FAILED


def _lower(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
