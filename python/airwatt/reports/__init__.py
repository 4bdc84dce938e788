"""Reports: one HTML file that shows results, and the page of `airwatt explore`.

`sources` reads or simulates what was given, `runs`, `capture` and `sweep` make a study of it each, `page` puts studies,
style and script into one file. Numbers are computed here; the script in `assets/` draws them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airwatt.files import write_text

if TYPE_CHECKING:
    from airwatt.reports.sources import Options


def write(
    path: str | os.PathLike[str], sources: Sequence[str], options: Options | None = None, *, made: str = "report"
) -> None:
    """Replaces a file by the report of sources. Raises `InputError`, `RunError`, `OSError`, or `Interrupted`."""
    from airwatt.reports.pack import Pack
    from airwatt.reports.page import report
    from airwatt.reports.sources import studies_of

    pack = Pack()
    studies = studies_of(sources, options, pack)
    write_text(path, report(studies, pack, made))
