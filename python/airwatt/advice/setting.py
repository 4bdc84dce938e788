"""How a platform is set."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """How a platform is set: lines as they are typed or written into a file, and what has to be known with them."""

    lines: tuple[str, ...] = ()
    note: str = ""
    whole: bool = True
    """Whether the lines set all of a candidate, rather than only a part that it needs."""

    def __str__(self) -> str:
        return "; ".join([*(line.removesuffix(";") for line in self.lines), *([self.note] if self.note else [])])
