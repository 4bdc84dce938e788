"""A progress bar on a terminal, once work has lasted a second; elsewhere, as in a log, a line each minute."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from airwatt.cli.output import prints_aside, say
from airwatt.cli.process import interruptible
from airwatt.parallel import Progress

_PATIENCE_S = 1.0
_LINE_S = 60.0
"""How often a log gets a line."""
_WINDOW_S = 30.0
"""The rate is that of so long a time, and so follows runs that take longer and runners that join."""


@contextlib.contextmanager
def bar(label: str) -> Iterator[Callable[[Progress], None] | None]:
    """Gives what `airwatt.run` calls with its progress.

    Inside, an interrupt raises `KeyboardInterrupt`, so that what is finished can be kept, and what own mechanisms print
    goes to standard error.
    """
    with interruptible(), prints_aside():
        if not sys.stderr.isatty():
            yield _Lines(label).update
            return
        shown = _Bar(label)
        try:
            yield shown.update
        finally:
            shown.stop()


class _Rate:
    """How fast runs finish, from those of the last half minute."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, int]] = []

    def text(self, progress: Progress) -> str:
        """How many runs are done, how many a second, and how long the rest takes at that rate."""
        state = f"{progress.done}/{progress.of} runs"
        now = (progress.elapsed_s, progress.done)
        if self._seen and progress.done < self._seen[-1][1]:
            self._seen.clear()
        if not self._seen or now[0] - self._seen[-1][0] >= 1.0:
            self._seen.append(now)
        # The oldest is needed while fewer than two runs have finished since the next one.
        while len(self._seen) > 2 and now[0] - self._seen[1][0] >= _WINDOW_S and now[1] - self._seen[1][1] >= 2:
            del self._seen[0]
        made, elapsed_s = now[1] - self._seen[0][1], now[0] - self._seen[0][0]
        if made < 2 or elapsed_s <= 0 or progress.done >= progress.of:
            return state
        left_s = (progress.of - progress.done) * elapsed_s / made
        return f"{state}, {made / elapsed_s:.3g}/s, {duration(left_s)} left"


class _Lines:
    """Lines for a log."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._rate = _Rate()
        self._next_s = _LINE_S

    def update(self, progress: Progress) -> None:
        state = self._rate.text(progress)
        if progress.elapsed_s < self._next_s:
            return
        self._next_s = progress.elapsed_s + _LINE_S
        if progress.of <= 1:
            state = _reading(progress) if progress.bytes_read else f"{progress.simulated_s:.1f} s simulated"
        say(f"{self._label}: {duration(progress.elapsed_s)}: {state}")


def _share(progress: Progress) -> float:
    """The share that is done: of the file until it is read, then of what is replayed."""
    if progress.fraction or not progress.bytes_total:
        return progress.fraction
    return min(progress.bytes_read / progress.bytes_total, 1.0)


def _reading(progress: Progress) -> str:
    """What is under way with a capture: reading in bytes, then replays."""
    if progress.fraction:
        return f"{100 * progress.fraction:.0f} % of the replays"
    read = f"{progress.bytes_read / 1e6:.1f}"
    return f"{read} of {progress.bytes_total / 1e6:.1f} MB read" if progress.bytes_total else f"{read} MB read"


class _Bar:
    """A bar that is drawn, and whose library is imported, when work has lasted long enough."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._drawn: Any = None
        self._task: Any = None
        self._rate = _Rate()

    def update(self, progress: Progress) -> None:
        if progress.elapsed_s < _PATIENCE_S:
            return
        if self._drawn is None:
            self._start()
        if progress.bytes_read:
            self._drawn.update(self._task, total=1.0, completed=_share(progress), state=_reading(progress))
            return
        state = self._rate.text(progress) if progress.of > 1 else f"{progress.simulated_s:.1f} s simulated"
        self._drawn.update(self._task, total=1.0, completed=progress.fraction, state=state)

    def stop(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._drawn = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._drawn.add_task(self._label, total=1.0, state="")
        self._drawn.start()


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"
