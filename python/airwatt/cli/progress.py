"""A progress bar on a terminal, once work has lasted a second."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from airwatt.parallel import Progress

_PATIENCE_S = 1.0


@contextlib.contextmanager
def bar(label: str) -> Iterator[Callable[[Progress], None] | None]:
    """Gives what `airwatt.run` calls with its progress; None where nobody would see a bar."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    drawn = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = drawn.add_task(label, total=1.0, state="")

    def show(progress: Progress) -> None:
        if progress.elapsed_s < _PATIENCE_S:
            return
        if not drawn.live.is_started:
            drawn.start()
        state = f"{progress.done}/{progress.of} runs" if progress.of > 1 else f"{progress.simulated_s:.1f} s simulated"
        drawn.update(
            task,
            total=1.0,
            completed=progress.fraction,
            state=state,
        )

    try:
        yield show
    finally:
        if drawn.live.is_started:
            drawn.stop()
