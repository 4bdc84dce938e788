"""Who runs what: several runners on one store take turns at blocks of jobs.

A runner has a file in `runners`, which it keeps locked and whose time it sets every few seconds: its heartbeat. A claim
is a hard link of that file in `claims`, named after the block: to make a link is one operation, which fails if somebody
was first, and the heartbeat is the claim's too. A claim is void when its lock is free, since its runner has ended, or
when its heartbeat is 60 s old, for file systems over a network and runners that hang. If two runners should run a job
at once nevertheless, they get the same result, and readers take one of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path

from airwatt._core import RunError
from airwatt.sweeps.store import locked

EXPIRES_S = 60.0
BEAT_S = 5.0


class Runner:
    """One runner: its name, its heartbeat and its claims."""

    def __init__(self, folder: Path) -> None:
        self.name = f"{os.uname().nodename.partition('.')[0][:24]}-{os.getpid()}-{os.urandom(3).hex()}"
        self._claims = folder / "claims"
        self._path = folder / "runners" / self.name
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(OSError):
            # Waits if somebody is trying it at this moment, to see whether its runner lives.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def claim(self, block: str) -> bool:
        """Takes a block unless a living runner has it. Raises `RunError` on a file system without hard links."""
        for _ in range(2):
            try:
                os.link(self._path, self._claims / block)
                return True
            except FileExistsError:
                if not self._clear(block):
                    return False
            except OSError as error:
                raise RunError(f"{self._claims}: expected a file system with hard links: {error.strerror}") from None
        return False

    def release(self, block: str) -> None:
        """Gives a block back."""
        with contextlib.suppress(FileNotFoundError):
            (self._claims / block).unlink()

    def close(self) -> None:
        """Ends the heartbeat; whatever is still claimed is void."""
        self._ended.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)
        os.close(self._file)

    def is_alive(self, path: Path) -> bool:
        """Whether the runner whose file or claim this is goes on. A file that is gone is that of one who has ended."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            mine, other = os.fstat(self._file), os.fstat(file)
            if os.path.samestat(mine, other):
                return True
            # Both times are those of the file system, whatever clocks the machines have.
            return not locked(file) and mine.st_mtime - other.st_mtime < EXPIRES_S
        finally:
            os.close(file)

    def has_ended(self, path: Path) -> bool:
        """Whether the runner with this file has ended for certain, however old its heartbeat is."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            return locked(file)
        finally:
            os.close(file)

    def clear(self) -> None:
        """Removes the claims and the files of runners that have ended."""
        for path in self._claims.iterdir():
            self._clear(path.name)
        for path in self._path.parent.iterdir():
            if path.name[0] != "." and self.has_ended(path):
                path.unlink(missing_ok=True)

    def _clear(self, block: str) -> bool:
        """Removes a void claim; whether there is none any more."""
        path = self._claims / block
        try:
            seen = path.stat()
            if self.is_alive(path):
                return False
            aside = self._claims / f".{block}.{self.name}"
            path.rename(aside)
        except FileNotFoundError:
            return True
        try:
            if os.path.samestat(aside.stat(), seen):
                return True
            # Somebody else was faster and has claimed it anew: it is put back.
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
            return False
        finally:
            aside.unlink()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with contextlib.suppress(OSError):
                os.utime(self._file)
