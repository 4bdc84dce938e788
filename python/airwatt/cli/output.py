"""Where commands write: documents and tables to standard output, all else to standard error, files with care."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from airwatt._core import InputError, RunError
from airwatt.cli.process import interruptible
from airwatt.files import replacing
from airwatt.layout import printable

if TYPE_CHECKING:
    from airwatt.layout import Table

# The device gave out; another name for the file would not have helped.
_DEVICE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
# A path may be this long; a number or a name never is.
_LONG_WORD = 160
_LONG_MESSAGE = 2_000
_PICTURES = (".png", ".svg", ".pdf")


def say(message: str) -> None:
    """Writes one line to standard error."""
    with contextlib.suppress(OSError):
        print(f"airwatt: {shortened(printable(' '.join(message.split())))}", file=sys.stderr, flush=True)


def shortened(text: str) -> str:
    """Returns a text whose long words, and whose middle if it is long as a whole, are left out.

    A message repeats what the user gave, which may be 100 kB or a number of 308 digits.
    """
    if len(text) <= _LONG_WORD:
        return text
    words = " ".join(_without_middle(word, _LONG_WORD) for word in text.split(" "))
    return _without_middle(words, _LONG_MESSAGE)


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = most // 2 - 16
    return f"{text[:kept]}...({len(text) - 2 * kept} more)...{text[-kept:]}"


def note_file(path: Path) -> None:
    """Tells where a file was written, on standard error: standard output may be a document."""
    with contextlib.suppress(OSError):
        print(f"wrote {printable(str(path))}", file=sys.stderr, flush=True)


def print_text(text: str) -> None:
    """Writes to standard output at once. A reader that has closed it is no error, and changes no status."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        closed_pipe()


def print_json(document: Any) -> None:
    """Writes one JSON document to standard output, and nothing else. After the version comes the commit, if known."""
    if isinstance(document, Mapping):
        document = _with_commit(document)
    print_text(json.dumps(document, indent=2, allow_nan=False, default=dict) + "\n")


def _with_commit(document: Mapping[str, Any]) -> dict[str, Any]:
    from airwatt.built import commit

    known = commit() if "version" in document else None
    head = {key: document[key] for key in ("schema", "version") if key in document}
    return {**head, **({} if known is None else {"commit": known}), **document}


def show(*parts: str | Table) -> None:
    """Writes texts and tables to standard output, a blank line between them, in the width that there is."""
    from airwatt import layout

    width = layout.columns()
    texts = ("\n".join(layout.wrapped(part, width) if isinstance(part, str) else part.lines(width)) for part in parts)
    print_text(printable("\n\n".join(texts), newlines=True) + "\n")


def prints_aside() -> contextlib.AbstractContextManager[object]:
    """Has what own mechanisms print inside go to standard error: a document alone goes to standard output."""
    return contextlib.redirect_stdout(sys.stderr)


def closed_pipe() -> None:
    """Discards what is still buffered for a reader of standard output that has gone, so that nothing raises at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def check_picture(option: str, path: Path | None) -> None:
    """Raises `InputError` before a long run rather than after it."""
    if path is None:
        return
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"{option}: expected a name that ends in .png, .svg or .pdf, got {path}")
    check_file(option, path)


def check_file(option: str, path: Path | None) -> None:
    """Raises `InputError` where a file cannot be written or replaced."""
    if path is None:
        return
    if str(path) == "-":
        raise InputError(f"{option}: expected the name of a file, got -; hint: /dev/stdout is standard output")
    try:
        is_folder = path.is_dir()
    except OSError as error:  # a name that no file can have, such as one of 300 letters
        raise InputError(f"{option} {path}: {error.strerror}") from None
    if is_folder:
        raise InputError(f"{option}: expected the name of a file, got folder {path}")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: expected a folder that exists, got {path.parent}")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{option}: expected a file with write permission, got {path}")
    # A regular file is written beside the old one and then replaces it.
    folder = path.resolve().parent
    if (path.is_file() or not path.exists()) and not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: expected a folder with write permission, got {folder}")


def check_distinct(outputs: Mapping[str, Path | None], *inputs: object) -> None:
    """Raises `InputError` where an output would replace something that is read, or another output."""
    # Unlike that of a path, this says no of a name that no file can have.
    files = (str(given) for given in inputs if given is not None)
    read = {Path(file).resolve() for file in files if os.path.isfile(file)}  # noqa: PTH113
    written: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or (path.exists() and not path.is_file()):
            continue
        place = path.resolve()
        if place in read:
            raise InputError(f"{option} {path}: expected another file than what is read, which it would replace")
        if place in written:
            raise InputError(f"{option} {path}: expected another file than {written[place]} writes")
        written[place] = option


@contextlib.contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Turns what goes wrong with a user's file into one line: 2 for a wrong place, 1 for a full disk.

    Inside, an interrupt raises `KeyboardInterrupt`, so that the file that was begun is cleared away.
    """
    try:
        with interruptible():
            yield
    except OSError as error:
        kind = RunError if error.errno in _DEVICE_ERRORS else InputError
        raise kind(f"{option} {path}: could not be written: {error.strerror or error}") from None


@contextlib.contextmanager
def streaming(option: str, path: Path | None) -> Iterator[BinaryIO | None]:
    """Opens a user's file that is written while the block runs and replaced at its end; None if there is none."""
    if path is None:
        yield None
        return
    with writing(option, path), replacing(path) as out:
        yield out
    note_file(path)
