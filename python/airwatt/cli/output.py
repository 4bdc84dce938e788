"""Where commands write: documents and tables to standard output, all else to standard error, files with care."""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from airwatt._core import InputError, RunError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# The device gave out; another name for the file would not have helped.
_DEVICE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_PICTURES = (".png", ".svg", ".pdf")
# Where standard output is no terminal, tables are laid out for one of this width, whatever the environment says.
_COLUMNS = 80


def say(message: str) -> None:
    """Writes one line to standard error."""
    with contextlib.suppress(OSError):
        print(f"airwatt: {' '.join(message.split())}", file=sys.stderr, flush=True)


def note_file(path: Path) -> None:
    """Tells where a file was written, on standard error: standard output may be a document."""
    with contextlib.suppress(OSError):
        print(f"wrote {path}", file=sys.stderr, flush=True)


def print_text(text: str) -> None:
    """Writes to standard output at once; a reader that has gone has read enough."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        closed_pipe()
        raise typer.Exit from None


def print_json(document: Any) -> None:
    """Writes one JSON document to standard output, and nothing else."""
    if isinstance(document, Mapping) and not isinstance(document, dict):
        document = dict(document)
    print_text(json.dumps(document, indent=2, allow_nan=False, default=dict) + "\n")


def console() -> "Console":
    """Standard output for tables: colour on a terminal only, and not where NO_COLOR is set."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else _COLUMNS)


def show(*parts: "RenderableType") -> None:
    """Writes texts and tables to standard output, a blank line between them and none of rich's padding at line ends."""
    screen = console()
    with screen.capture() as captured:
        for index, part in enumerate(parts):
            if index:
                screen.print()
            screen.print(part)
    print_text("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def closed_pipe() -> None:
    """The reader of standard output has gone: what is still buffered must not raise again at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def check_picture(option: str, path: Path | None) -> None:
    """Raises `InputError` before a long run rather than after it."""
    if path is None:
        return
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"{option} {path}: unknown kind of picture; allowed are names that end in .png, .svg, .pdf")
    check_file(option, path)


def check_file(option: str, path: Path | None) -> None:
    """Raises `InputError` where a file cannot be written."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{option} {path}: is a folder; allowed is the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}; allowed is one that exists")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option} {path}: may not be written; allowed is a place with write permission")


@contextlib.contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Turns what goes wrong with a user's file into one line: 2 for a wrong place, 1 for a full disk."""
    try:
        yield
    except OSError as error:
        kind = RunError if error.errno in _DEVICE_ERRORS else InputError
        raise kind(f"{option} {path}: could not be written: {error.strerror or error}") from None
