"""The process of the program: how it begins, how it ends, and what Ctrl-C does in between.

An interrupt ends the program at once, wherever it is: status 130 and one line. Only where there is something to keep
or to clear away (`interruptible`) does it arrive as `KeyboardInterrupt`; a second one then ends the program at once.
The script `airwatt` starts the interpreter with SIGINT blocked, so that none arrives before `prepare` can handle it.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

from airwatt.cli.status import INTERRUPTED


def prepare() -> None:
    """Makes standard streams usable and interrupts end the program. Called first, by the program alone."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        # Whoever starts a program with interrupts ignored, as a shell does in the background, means it.
        signal.signal(signal.SIGINT, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    _open_standard_streams()
    # The allocator that Arrow brings reserves 24 MB more than it uses. Arrow reads this as it is imported.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Pictures are files. What a notebook sets for its own process may not be installed beside this one, and
    # matplotlib could then not be imported.
    os.environ["MPLBACKEND"] = "agg"


def finish(status: int) -> None:
    """Ends the process, without the time that an interpreter takes to put everything away."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if sys.flags.dev_mode:
        sys.exit(status)
    os._exit(status)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Has the first interrupt raise `KeyboardInterrupt` inside, so that work can be kept or cleared away."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)


@contextlib.contextmanager
def clearing_away() -> Iterator[None]:
    """Has SIGTERM end the work inside as an interrupt does, so that a temporary folder does not stay."""
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _end(_signal: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"airwatt: interrupted\n")
    os._exit(INTERRUPTED)


def _open_standard_streams() -> None:
    """Fills in for standard streams that were closed, so that no file that is opened gets their numbers.

    Reading from or writing to the substitute fails, as it would with the closed stream; messages are dropped.
    """
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdout is None or isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # With PYTHONUNBUFFERED a text is one write(2), and what a disk that fills up does not take of it is lost
        # without an error.
        sys.stdout = open(1, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115 - it lives as long as the process
    elif isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files may be no text in the encoding of the terminal.
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - it lives as long as the process
