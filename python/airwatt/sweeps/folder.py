"""A folder of a store, whose files are opened, replaced and removed without following symbolic links.

A store may come from somebody else, packed with its links. Nothing outside of it may be read in its place, written or
removed: each operation opens the folder itself (`O_NOFOLLOW`), and works relative to its descriptor with regular files
alone. The folders above it, which the user named, may be links.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from airwatt._core import InputError
from airwatt.files import replacing_in

_IS_LINK = (errno.ELOOP, errno.ENOTDIR)


class Folder:
    """One folder. All names are those of files in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Makes it unless it is there. Raises `OSError`, and `InputError` for a link or a file of its name."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            self.path.mkdir()
        with self.opened():
            pass

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """Opens the folder and gives its descriptor. Raises `OSError`, and `InputError` for a link or a file."""
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _IS_LINK and os.path.lexists(self.path):
                raise InputError(f"{self.path}: expected a folder, got a link or a file") from None
            raise
        try:
            yield folder
        finally:
            os.close(folder)

    def names(self) -> list[str]:
        """The names of the regular files, also of hidden ones."""
        with self.opened() as folder, os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    def status(self, name: str) -> os.stat_result:
        """The status of a file. Raises `FileNotFoundError`, also for what is no regular file."""
        with self.opened() as folder:
            return _regular(os.stat(name, dir_fd=folder, follow_symlinks=False), self.path / name)

    def has(self, name: str) -> bool:
        """Whether there is a regular file of this name."""
        try:
            self.status(name)
        except FileNotFoundError:
            return False
        return True

    def exists(self, name: str) -> bool:
        """Whether there is anything of this name, also a link."""
        with self.opened() as folder:
            try:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return False
            return True

    def open(self, name: str, flags: int) -> int:
        """Opens a file; returns its descriptor. Raises `OSError`; `FileNotFoundError` for what is no regular file."""
        with self.opened() as folder:
            try:
                # Without O_NONBLOCK a named pipe would wait for its other end.
                flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                file = os.open(name, flags, 0o666, dir_fd=folder)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                    raise FileNotFoundError(errno.ENOENT, "not a regular file", str(self.path / name)) from None
                raise
            try:
                _regular(os.fstat(file), self.path / name)
            except BaseException:
                os.close(file)
                raise
            return file

    def reading(self, name: str) -> BinaryIO:
        """Opens a file for reading. Raises as `open`."""
        return os.fdopen(self.open(name, os.O_RDONLY), "rb")

    def touch(self, name: str) -> None:
        """Sets the time of a file to now. Raises as `open`."""
        file = self.open(name, os.O_RDONLY)
        try:
            os.utime(file)
        finally:
            os.close(file)

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """Opens a file for writing that replaces `name` at the end, whatever has that name. Raises `OSError`."""
        with self.opened() as folder, replacing_in(folder, name) as out:
            yield out

    def rename(self, name: str, new: str) -> None:
        """Renames a file. Raises `OSError`; `FileNotFoundError` for what is no regular file."""
        self.status(name)
        with self.opened() as folder:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str) -> None:
        """Removes a regular file, if there is one of this name."""
        if self.has(name):
            with self.opened() as folder, contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)

    def link(self, name: str, to: Folder, new: str) -> None:
        """Gives a file a second name in another folder. Raises `OSError`."""
        with self.opened() as here, to.opened() as there:
            os.link(name, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)


def _regular(status: os.stat_result, path: Path) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "not a regular file", str(path))
    return status
