"""Work in a process of its own, which gives up the privileges of this one.

The child is forked, reports its progress and its result over a pipe, one JSON array a line, and ends with its parent.
It ignores Ctrl-C: the parent handles it and ends the child. Left out: a parent with several threads, of which a fork
copies only one; the command line has one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from airwatt._core import InputError, RunError
from airwatt.parallel import Progress

Report = Callable[[Progress], None]

_ERRORS = {"InputError": InputError, "RunError": RunError}


def in_child(work: Callable[[Report | None], str], on_progress: Report | None) -> str:
    """Does `work` in a child process and returns its text.

    Raises the `InputError`, `RunError` or `OSError` that it raised; `RunError` if the child ended without an answer.
    """
    receiving, sending = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        _serve(work, sending, has_progress=on_progress is not None)
    os.close(sending)
    status = None
    try:
        answer = _receive(receiving, on_progress)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if answer is None:
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        raise RunError(f"the process of the analysis {how}")
    kind, text, number = answer
    if kind == "result":
        return text
    if number is not None:
        # A file of the user could not be written, as of a full disk.
        raise OSError(number, text)
    if kind in _ERRORS:
        raise _ERRORS[kind](text)
    raise RuntimeError(f"{kind}: {text}")


def _receive(pipe: int, on_progress: Report | None) -> tuple[str, str, int | None] | None:
    """Reads to the end of the pipe; the last line is the answer, with the number of an `OSError`."""
    answer = None
    with os.fdopen(pipe, "rb") as lines:
        for line in lines:
            kind, *content = json.loads(line)
            if kind == "progress":
                if on_progress is not None:
                    on_progress(Progress(*content))
            else:
                answer = (kind, content[0], content[1])
    return answer


def _serve(work: Callable[[Report | None], str], pipe: int, *, has_progress: bool) -> NoReturn:
    """The life of the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = 1
    try:
        with os.fdopen(pipe, "wb") as lines:

            def send(*content: Any) -> None:
                lines.write(json.dumps(content).encode() + b"\n")
                lines.flush()

            def report(progress: Progress) -> None:
                send("progress", *progress)

            try:
                send("result", work(report if has_progress else None), None)
            except OSError as error:
                send(type(error).__name__, error.strerror or str(error), error.errno)
            except BaseException as error:  # raised again in the parent
                send(type(error).__name__, str(error), None)
        status = 0
    finally:
        os._exit(status)
