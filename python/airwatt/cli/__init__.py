"""The command line: one file a command, declared once, read without typer where the line is in the usual form.

Commands check and present; what they do, `import airwatt` does too. Everything that a user can get wrong ends here as
one line on standard error and an exit status. Only what the command needs is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from airwatt.cli import process
from airwatt.cli.status import DONE, FAILED, INTERRUPTED, MISSING_FEATURE, WRONG_INPUT

COMMANDS = (
    "run",
    "compare",
    "emulate",
    "analyze",
    "model",
    "advise",
    "reproduce",
    "sweep",
    "archive",
    "rerun",
    "report",
    "explore",
    "radios",
    "scenarios",
    "policies",
    "transports",
    "keys",
    "cite",
    "init",
    "completion",
    "help",
)
"""The commands in the order of `--help`; each is a module here with a `command` and an `EPILOG`."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The program: runs a command and exits with its status."""
    process.prepare()
    process.finish(status_of(sys.argv[1:] if arguments is None else arguments))


def status_of(arguments: Sequence[str]) -> int:
    """Runs a command; returns its exit status."""
    from airwatt.cli.output import closed_pipe, say

    try:
        status = _run(arguments)
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
        return _explain(error, arguments)
    return status


def _run(arguments: Sequence[str]) -> int:
    from airwatt.cli.parameters import Exit

    try:
        return _quick(arguments) or DONE
    except Exit as end:
        return end.status


EXTRAS = {"distributed": "cluster", "matplotlib": "plots", "pandas": "pandas", "pyarrow": "tables"}
"""The packages that only some options need, and the extra that brings each."""

_VERBOSITY = {"-v": "info", "--verbose": "info", "-vv": "debug"}


def _quick(arguments: Sequence[str]) -> int | None:
    """Runs a line in the usual form with what its command needs; hands every other one to typer."""
    levels = os.environ.get("AIRWATT_LOG")
    verbose = bool(arguments) and arguments[0] in _VERBOSITY
    while arguments and arguments[0] in _VERBOSITY:
        levels, arguments = _VERBOSITY[arguments[0]], arguments[1:]
    if levels:
        from airwatt import _core

        _core.log_to_stderr(levels)
    if arguments and arguments[0] == "--version" and all(word in _VERBOSITY for word in arguments[1:]):
        from airwatt.cli import version

        print(version.text(verbose=len(arguments) > 1 or verbose))
        return None
    if arguments and arguments[0] in COMMANDS:
        from importlib import import_module

        from airwatt.cli import quick

        command = import_module(f"airwatt.cli.{arguments[0]}").command
        given = quick.read(command, arguments[1:])
        if given is not None:
            command(**given)
            return None
    from airwatt.cli import application

    return application.run(arguments)


def _explain(error: BaseException, arguments: Sequence[str]) -> int:
    """Says in one line what went wrong; returns the exit status."""
    from airwatt import _core
    from airwatt.cli.output import say

    kinds = ((_core.InputError, WRONG_INPUT), (_core.MissingFeature, MISSING_FEATURE), (_core.AirwattError, FAILED))
    for kind, status in kinds:
        if isinstance(error, kind):
            # A file with several errors has a line for each.
            for line in str(error).splitlines() or [""]:
                say(line)
            return status
    extra = EXTRAS.get((error.name or "").partition(".")[0]) if isinstance(error, ModuleNotFoundError) else None
    if extra is not None:
        assert isinstance(error, ModuleNotFoundError)
        package = (error.name or "").partition(".")[0]
        say(f"{package} is not installed; `pip install 'airwatt[{extra}]'` or the system's python3-{package} brings it")
        return MISSING_FEATURE
    # Only a line that typer read can raise its errors.
    application = sys.modules.get("airwatt.cli.application")
    if application is not None and isinstance(error, application.UsageError):
        say(f"{_lower(error.format_message())} (see --help)")
        return WRONG_INPUT
    if isinstance(error, UnicodeEncodeError):
        # Bytes that are no UTF-8 are lone surrogates in Python. In the name of a file they are all right.
        for argument in arguments:
            if not argument.isascii() and any("\ud800" <= letter <= "\udfff" for letter in argument):
                say(f"{argument!r}: expected UTF-8, got other bytes")
                return WRONG_INPUT
    # Nothing that a user can do may end here; `python -X dev -m airwatt ...` shows the traceback.
    say(f"internal error, please report it: {type(error).__name__}: {error}")
    return FAILED


def _lower(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
