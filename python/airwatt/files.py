"""Output files: replaced as a whole, or left as they were. And temporary folders, and JSON of others.

A file is written without a name (`O_TMPFILE`) in the folder of the old one, flushed to the disk, and then takes its
name. Whatever ends the program before that, SIGKILL included, leaves the old file as it was and nothing beside it. It
takes its name in two steps, as a whole file with a hidden name (`.NAME.XXXXXXXX.part`) between them: SIGINT and SIGTERM
wait for the second step, SIGKILL can leave that file behind. On a file system without unnamed files the new one has the
hidden name from the beginning, and SIGTERM, too, leaves it behind. A link's target is replaced, not the link; a file
keeps its mode and, where that is allowed, its owner.

Whatever is no regular file (a pipe, a terminal, `/dev/null`) and standard output and error are written directly. Left
out: access control lists and extended attributes of the old file; other hard links to it keep its old content.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

_BUFFER_BYTES = 1 << 20


DOCUMENT_BYTES = 1 << 28
"""Size in bytes above which a file is no document of ours: one of hundreds of stations is far below."""


def document_of(path: Path) -> Any:
    """The JSON document in a file of somebody. Raises `OSError`, and `ValueError` if it holds none or has no end."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        # Files of /proc are of this kind, and reading /proc/kmsg waits for the kernel's next line.
        if stat.S_ISREG(about.st_mode) and about.st_size == 0:
            raise ValueError("an empty file")
        return document_in(file)


def document_in(file: BinaryIO) -> Any:
    """The JSON document that a file of somebody holds. Raises as [`document_of`][]."""
    text = file.read(DOCUMENT_BYTES + 1)
    if len(text) > DOCUMENT_BYTES:
        raise ValueError(f"more than {DOCUMENT_BYTES >> 20} MiB")
    return parsed(text)


def parsed(text: str | bytes) -> Any:
    """JSON that comes from elsewhere. Raises `ValueError`, also for NaN, 1e999 and what is nested too deeply."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_fitting)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that fits")
    return number


def _fitting(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"{text[:20]}... is no number that fits")
    return int(text)


_DIGITS = 300
"""An integer with no more of them has a floating-point number beside it."""


def _no_number(name: str) -> None:
    raise ValueError(f"expected JSON, got {name}, which is none of its numbers")


# What `O_TMPFILE` gives where it is not known: to the file system, or to the kernel.
_NO_UNNAMED_FILES = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces `path` at the end, or nothing if an exception ends the block.

    Raises `OSError` with the number that says why.
    """
    path = Path(path)
    old = _status(path)
    if old is not None and (not stat.S_ISREG(old.st_mode) or _standard_stream(old) is not None):
        with _direct(path, old) as out:
            yield out
        return
    target = path.resolve()
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _replacing(_Draft(folder, target.name, old)) as out:
            yield out
    finally:
        os.close(folder)


@contextlib.contextmanager
def replacing_in(folder: int, name: str) -> Iterator[BinaryIO]:
    """Opens a file for writing that replaces `name` in an open folder. A link of that name is replaced, not its target.

    Raises `OSError`.
    """
    with _replacing(_Draft(folder, name, None)) as out:
        yield out


@contextlib.contextmanager
def _replacing(draft: _Draft) -> Iterator[BinaryIO]:
    with draft:
        with draft.file:
            yield draft.file
            draft.finish()
        draft.take_name()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replaces a file by a text in UTF-8. Raises `OSError`."""
    with replacing(path) as out:
        out.write(text.encode())


class _Draft:
    """The new file while it is written, unnamed if that is possible; its folder is open as long."""

    def __init__(self, folder: int, target: str, old: os.stat_result | None) -> None:
        self._folder = folder
        self._target = target
        self._name: str | None = None
        number = self._open_unnamed()
        if number is None:
            self._name = self._hidden_name()
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            number = os.open(self._name, flags, 0o666, dir_fd=folder)
        self.file = open(number, "wb", buffering=_BUFFER_BYTES)  # noqa: PTH123, SIM115 - closed by `_replacing`
        self._keep = os.dup(number)
        if old is not None:
            # The owner first: to change it clears bits of the mode.
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                with contextlib.suppress(OSError):
                    os.fchown(number, old.st_uid, old.st_gid)
            os.fchmod(number, stat.S_IMODE(old.st_mode))

    def __enter__(self) -> _Draft:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._keep)
        if self._name is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)

    def finish(self) -> None:
        """Brings the content to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def take_name(self) -> None:
        """Puts the file in the place of the old one."""
        folder = self._folder
        with _signals_later():
            if self._name is None:
                name = self._hidden_name()
                # With descriptors Python calls the `linkat` that follows links.
                unnamed = f"/proc/self/fd/{self._keep}"
                os.link(unnamed, name, src_dir_fd=self._keep, dst_dir_fd=folder, follow_symlinks=True)
                self._name = name
            os.replace(self._name, self._target, src_dir_fd=folder, dst_dir_fd=folder)
            self._name = None
        # The name, too, shall survive a power cut; some file systems cannot promise it.
        with contextlib.suppress(OSError):
            os.fsync(folder)

    def _open_unnamed(self) -> int | None:
        if not Path("/proc/self/fd").exists():
            return None
        try:
            return os.open(".", os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o666, dir_fd=self._folder)
        except OSError as error:
            if error.errno in _NO_UNNAMED_FILES:
                return None
            raise

    def _hidden_name(self) -> str:
        return f".{self._target[:80]}.{os.urandom(4).hex()}.part"


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    """Has SIGINT and SIGTERM arrive after the block. Only the main thread can; elsewhere they arrive at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    # A handler that Python did not install (None) cannot be put back, and stays.
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not None]
    before = {number: signal.signal(number, lambda number, _frame: held.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in held:
            signal.raise_signal(late)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of its own under `TMPDIR`, removed at the end of the block; SIGINT and SIGTERM do not leave it behind.

    They wait while the folder is made and while it is removed, since neither has a moment that is safe.
    """

    def remove() -> None:
        with _signals_later():
            folder.cleanup()

    with contextlib.ExitStack() as stack:
        with _signals_later():
            folder = tempfile.TemporaryDirectory(prefix="airwatt-")
            stack.callback(remove)
        yield Path(folder.name)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _standard_stream(status: os.stat_result) -> int | None:
    """Returns the number of the standard stream that the file is, if it is one."""
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                return number
    return None


@contextlib.contextmanager
def _direct(path: Path, status: os.stat_result) -> Iterator[BinaryIO]:
    stream = _standard_stream(status)
    # What a standard stream holds already stays: opened again, a file would be written from its beginning.
    number = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if stream is None else os.dup(stream)
    with open(number, "wb", buffering=_BUFFER_BYTES) as out:  # noqa: PTH123
        yield out
