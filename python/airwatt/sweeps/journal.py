"""The journal of a runner: one line a finished or failed run, in the file before the next run begins.

A line is the CRC-32 of a JSON object in hexadecimal, a space, and the object: `point`, `seed`, `wall_s`, and `run`
(the result document) or `error` with `at`, when it failed. A line that does not fit its sum is damaged, and so is one
that becomes no row of the tables; readers skip it and say so. A last line without its end is one that is being written,
or was when its writer was killed.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from airwatt.files import parsed
from airwatt.sweeps import columns
from airwatt.sweeps.folder import Folder
from airwatt.sweeps.plan import MOST_SEEDS


class Entry(NamedTuple):
    """A finished or failed run."""

    point: str
    seed: int
    wall_s: float
    run: Mapping[str, Any] | None
    error: str | None
    at: float | None
    """When a failed run ended, in seconds since 1970: of several failures of a job the last one counts."""


class Read(NamedTuple):
    """What a part of a journal holds."""

    entries: list[Entry]
    damaged: int
    """Lines that were skipped."""
    end: int
    """Where the next part begins."""


def line(point: str, seed: int, wall_s: float, run: str | None, error: str | None) -> bytes:
    """A line; `run` is JSON text already."""
    head = f'{{"point":"{point}","seed":{seed},"wall_s":{wall_s:.6f},'
    body = f'"run":{run}}}' if run is not None else f'"error":{json.dumps(error)},"at":{time.time():.3f}}}'
    return summed((head + body).encode())


def summed(text: bytes) -> bytes:
    """A line with a text behind its sum."""
    return b"%08x %s\n" % (zlib.crc32(text), text)


def unsummed(text: bytes) -> Any:
    """The JSON value of a line, which is given without its end. Raises `ValueError` where it does not fit its sum."""
    if int(text[:8], 16) != zlib.crc32(text[9:]):
        raise ValueError("its sum is another")
    return parsed(text[9:])


def read(folder: Folder, name: str, start: int = 0, *, complete: bool = False) -> Read:
    """Reads a journal from a place to the end of the last whole line. With `complete` nobody writes the file any more.

    Raises `OSError`.
    """
    with folder.reading(name) as file:
        file.seek(start)
        content = file.read()
    entries, damaged = [], 0
    *lines, rest = content.split(b"\n")
    if rest and complete:
        damaged += 1
    for text in lines:
        entry = _entry(text)
        if entry is None:
            damaged += 1
        else:
            entries.append(entry)
    return Read(entries, damaged, start + len(content) - len(rest))


def _entry(text: bytes) -> Entry | None:
    """What a line says; None where it is damaged."""
    try:
        item = unsummed(text)
        entry = Entry(item["point"], item["seed"], item["wall_s"], item.get("run"), item.get("error"), item.get("at"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return entry if _is_right(entry) else None


def _is_right(entry: Entry) -> bool:
    if not (type(entry.seed) is int and 0 <= entry.seed < MOST_SEEDS):
        return False
    if not (columns.is_text(entry.point) and columns.is_number(entry.wall_s)):
        return False
    if entry.run is None:
        return columns.is_text(entry.error) and columns.is_number(entry.at)
    return entry.error is None and columns.has_rows(entry.run)


class Journal:
    """A journal that is being written. Not safe for several threads at once."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.name = name
        self.lines = 0
        self.bytes = 0
        self._file = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)

    def append(self, text: bytes) -> None:
        """Hands a line to the kernel, which keeps it whatever becomes of this process. Raises `OSError`."""
        written = os.write(self._file, text)
        if written != len(text):
            # The disk is full; what was begun is a damaged line.
            os.write(self._file, b"\n")
        self.lines += 1
        self.bytes += len(text)

    def flush(self) -> None:
        """Brings the lines to the disk, for a power cut."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """Ends the journal."""
        os.close(self._file)
