"""Who runs what: several runners on one store take turns at blocks of jobs.

A runner has a file in `runners`, which it keeps locked and whose time it sets every few seconds: its heartbeat. A claim
is a hard link of that file in `claims`, named after the block: to make a link is one operation, which fails if somebody
was first, and the heartbeat is the claim's too. A claim is void when its lock is free, since its runner has ended, or
when its heartbeat is 60 s old, for file systems over a network and runners that hang. If two runners should run a job
at once nevertheless, they get the same result, and readers take one of them.

The store may come from somebody else, with links in it. Nothing is followed out of it, and what is removed are empty
regular files with the names that runners give.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import threading
from pathlib import Path

from airwatt._core import InputError, RunError
from airwatt.parallel import begin
from airwatt.sweeps.folder import Folder
from airwatt.sweeps.store import locked

EXPIRES_S = 60.0
BEAT_S = 5.0
_RUNNER = r"[^/]{1,24}-\d+-[0-9a-f]{6}"
_BLOCK = r"[0-9a-f]{16}-\d+-\d+"
_IS_RUNNER = re.compile(_RUNNER)
_IS_CLAIM = re.compile(rf"\.*{_BLOCK}(\.{_RUNNER})*")
"""A claim, or one that a runner had put aside when it was killed."""


class Runner:
    """One runner: its name, its heartbeat and its claims."""

    def __init__(self, folder: Path) -> None:
        host = os.uname().nodename.partition(".")[0][:24] or "host"
        self.name = f"{host}-{os.getpid()}-{os.urandom(3).hex()}"
        self._claims, self._runners = Folder(folder / "claims"), Folder(folder / "runners")
        self._file = self._runners.open(self.name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        with contextlib.suppress(OSError):
            # Waits if somebody is trying it at this moment, to see whether its runner lives.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        begin(self._thread)

    def claim(self, block: str) -> bool:
        """Takes a block unless a living runner has it. Raises `RunError` on a file system without hard links."""
        for _ in range(2):
            try:
                self._runners.link(self.name, self._claims, block)
                return True
            except FileExistsError:
                if not self._clear(block):
                    return False
            except OSError as error:
                where = self._claims.path
                raise RunError(f"{where}: expected a file system with hard links: {error.strerror}") from None
        return False

    def release(self, block: str) -> None:
        """Gives a block back."""
        self._claims.remove(block)

    def close(self) -> None:
        """Ends the heartbeat; whatever is still claimed is void."""
        self._ended.set()
        self._thread.join()
        self._runners.remove(self.name)
        os.close(self._file)

    def has_ended(self, name: str) -> bool:
        """Whether a runner has ended for certain, however old its heartbeat is."""
        try:
            file = self._runners.open(name, os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            return locked(file)
        finally:
            os.close(file)

    def clear(self) -> None:
        """Removes the claims and the files of runners that have ended."""
        for name in self._claims.names():
            if _IS_CLAIM.fullmatch(name) and self._is_empty(self._claims, name):
                self._clear(name)
        for name in self._runners.names():
            if _IS_RUNNER.fullmatch(name) and self._is_empty(self._runners, name) and self.has_ended(name):
                self._runners.remove(name)

    def _is_alive(self, block: str) -> bool:
        """Whether the runner whose claim this is goes on. A claim that is gone is that of one who has ended."""
        try:
            file = self._claims.open(block, os.O_RDWR)
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

    def _clear(self, block: str) -> bool:
        """Removes a void claim; whether there is none any more."""
        try:
            seen = self._claims.status(block)
            if seen.st_size == 0 and self._is_alive(block):
                return False
            if seen.st_size > 0:
                raise self._foreign(block)
            aside = f".{block}.{self.name}"
            self._claims.rename(block, aside)
        except FileNotFoundError:
            if self._claims.exists(block) and not self._claims.has(block):
                raise self._foreign(block) from None
            return True
        try:
            if os.path.samestat(self._claims.status(aside), seen):
                return True
            # Somebody else was faster and has claimed it anew: it is put back.
            with contextlib.suppress(FileExistsError):
                self._claims.link(aside, self._claims, block)
            return False
        finally:
            self._claims.remove(aside)

    def _foreign(self, block: str) -> InputError:
        path = self._claims.path / block
        return InputError(f"{path}: expected a claim of a runner, got a link or a file with content; hint: remove it")

    @staticmethod
    def _is_empty(folder: Folder, name: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return folder.status(name).st_size == 0
        return False

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with contextlib.suppress(OSError):
                os.utime(self._file)
