"""A progress bar on a terminal, once work has lasted a second."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from airwatt.cli.process import interruptible
from airwatt.parallel import Progress

_PATIENCE_S = 1.0


@contextlib.contextmanager
def bar(label: str) -> Iterator[Callable[[Progress], None] | None]:
    """Gives what `airwatt.run` calls with its progress; None where nobody would see a bar.

    Inside, an interrupt raises `KeyboardInterrupt`, so that what is finished can be kept.
    """
    with interruptible():
        if not sys.stderr.isatty():
            yield None
            return
        shown = _Bar(label)
        try:
            yield shown.update
        finally:
            shown.stop()


class _Bar:
    """A bar that is drawn, and whose library is imported, when work has lasted long enough."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._drawn: Any = None
        self._task: Any = None

    def update(self, progress: Progress) -> None:
        if progress.elapsed_s < _PATIENCE_S:
            return
        if self._drawn is None:
            self._start()
        state = f"{progress.done}/{progress.of} runs" if progress.of > 1 else f"{progress.simulated_s:.1f} s simulated"
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
