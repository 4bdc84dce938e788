"""Lays out paragraphs and tables for a given number of columns, without rich, whose import costs more than a short run.

Numbers are never cut. Where a table is too wide, texts wrap between words, a number leaves its unit to the next line,
and headings wrap and are shortened last. A table whose numbers alone are too wide becomes wider than the terminal.
Left out: colour, borders and cells that span columns.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

_DEFAULT_COLUMNS = 80
_NARROWEST, _WIDEST = 20, 10_000
_GAP = "  "
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def columns() -> int:
    """Returns the width in characters for standard output: `COLUMNS`, the terminal's, or 80 for pipes and files."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and _NARROWEST <= int(asked[:6]) <= _WIDEST:
        return int(asked)
    try:
        return max(_NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (AttributeError, OSError, ValueError):
        return _DEFAULT_COLUMNS


_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_UNPRINTABLE_BUT_NEWLINES = re.compile(_UNPRINTABLE.pattern.replace("\x1f", "\x09\x0b-\x1f"))


def printable(text: str, *, newlines: bool = False) -> str:
    """A text without what steers a terminal, breaks a line, turns its direction, or has no place in XML.

    Names of files, networks and devices come from strangers. Such letters are written as escapes; `newlines` keeps
    those of a text that has lines of its own.
    """
    pattern = _UNPRINTABLE_BUT_NEWLINES if newlines else _UNPRINTABLE
    return pattern.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yields the lines of a text, those that are too long broken between words. A number keeps its unit."""
    for line in text.split("\n"):
        yield from _broken(line, width, _with_units(_words(line)))


def filled(text: str, width: int, indent: int = 0) -> str:
    """Breaks a paragraph into lines; all but the first are indented. A number keeps its unit and its interval."""
    kept = _WITHIN_QUANTITY.sub("\N{NO-BREAK SPACE}", text)
    return textwrap.fill(kept, width, subsequent_indent=" " * indent).replace("\N{NO-BREAK SPACE}", " ")


class Table:
    """A table with a rule under its headings. Columns are aligned to the right unless their index is in `left`."""

    def __init__(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        left: Collection[int] = (0,),
        whole: Collection[int] = (),
    ) -> None:
        """Takes headings and rows of texts. Cells of columns in `whole` are wrapped before settings only."""
        self.heads = list(heads)
        self.rows = [list(row) for row in rows]
        self.left = left
        self.whole = whole

    def lines(self, width: int) -> Iterator[str]:
        """Yields the lines of the table, `width` characters wide where its numbers allow that."""
        widths = self._widths(width)
        yield from self._line(self.heads, widths)
        yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        for row in self.rows:
            yield from self._line(row, widths)

    def _widths(self, width: int) -> list[int]:
        cells = [[row[index] for row in self.rows] for index in range(len(self.heads))]
        natural = [max(map(_widest_line, [head, *cells[index]])) for index, head in enumerate(self.heads)]
        # The least that each column can have: with headings that are cut, then with units that leave their numbers.
        bodies, measured = (
            [
                max(map(_widest_part if index in self.whole else widest, column), default=1)
                for index, column in enumerate(cells)
            ]
            for widest in (_widest_word, _widest_quantity)
        )
        headed = [max(body, _widest_word(head)) for body, head in zip(measured, self.heads, strict=True)]
        room = width - len(_GAP) * (len(natural) - 1)
        widths = natural
        for least in (headed, measured, bodies):
            widths = _shrunk(widths, least, room)
        return widths

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
        """Yields the lines of one row."""
        cells = [list(_cell(text, widths[index])) for index, text in enumerate(row)]
        for number in range(max(map(len, cells))):
            parts = []
            for index, lines in enumerate(cells):
                text = lines[number] if number < len(lines) else ""
                space = " " * (widths[index] - display_width(text))
                parts.append(text + space if index in self.left else space + text)
            yield _GAP.join(parts).rstrip(" ")


def _shrunk(widths: list[int], least: Sequence[int], room: int) -> list[int]:
    """Takes from the widest columns, one character at a time, until the table fits or nothing is left to take."""
    widths = list(widths)
    while sum(widths) > room:
        reducible = [index for index, width in enumerate(widths) if width > least[index]]
        if not reducible:
            break
        widest = max(widths[index] for index in reducible)
        # The last of equals: names stand on the left.
        widths[max(index for index in reducible if widths[index] == widest)] -= 1
    return widths


def _cell(text: str, width: int) -> Iterator[str]:
    """Yields the lines of a cell. Only a heading can have a word that is too long; it is cut."""
    for line in text.split("\n"):
        words = _with_units(_words(line))
        if max(map(display_width, words), default=0) > width:
            words = _words(line)
        for part in _broken(line, width, words):
            yield part if display_width(part) <= width else part[: width - 1] + _ELLIPSIS


def _broken(line: str, width: int, words: Sequence[str]) -> Iterator[str]:
    """Yields a line broken between its words if it is too long; a word that is longer than a line keeps its own."""
    if display_width(line) <= width:
        yield line.rstrip(" ")
        return
    current = line[: len(line) - len(line.lstrip(" "))]
    empty = True
    for word in words:
        longer = current + word if empty else f"{current}{_joint(current, word)}{word}"
        if not empty and display_width(longer) > width:
            yield current
            current = word
        else:
            current = longer
        empty = False
    yield current


def _joint(before: str, word: str) -> str:
    """What is between two words of a line: nothing between a name and its settings."""
    return "" if before.endswith(":") and _SETTING.match(word) else " "


def _widest_line(text: str) -> int:
    return max(map(display_width, text.split("\n")))


def _widest_part(text: str) -> int:
    """The widest line of a text that is broken before settings only."""
    return max(map(display_width, _BEFORE_SETTING.sub("\n", text).split("\n")))


def _widest_word(text: str) -> int:
    return max((display_width(word) for line in text.split("\n") for word in _words(line)), default=0)


def _widest_quantity(text: str) -> int:
    return max((display_width(word) for line in text.split("\n") for word in _with_units(_words(line))), default=0)


# A setting behind the name that it belongs to, as in "latency-guard:timeout=2s".
_SETTING = re.compile(r"[a-z_]+=")
_BEFORE_SETTING = re.compile(r"(?<=:)(?=[a-z_]+=)")
_UNIT = re.compile(r"(?:[nµmkMG]?(?:s|J|W|A|Ah|B|V|Hz|b/s)|%)[.,;:)]*")
_WITHIN_QUANTITY = re.compile(rf"(?<=\d) (?=\d{{3}}(?!\d)|± \d|{_UNIT.pattern}(?:\s|$))|(?<=±) (?=\d)")


def _with_units(words: Iterable[str]) -> list[str]:
    """Words with each unit at its number."""
    found: list[str] = []
    for word in words:
        if found and found[-1][-1:].isdigit() and _UNIT.fullmatch(word):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def _words(line: str) -> list[str]:
    """Splits a line at its spaces but those between the thousands of a number, and before the settings of a name."""
    words: list[str] = []
    for word in line.split(" "):
        if words and words[-1][-1:].isdigit() and len(word) == 3 and word.isdigit():
            words[-1] += f" {word}"
        elif word:
            words.extend(_BEFORE_SETTING.split(word))
    return words


def display_width(text: str) -> int:
    """Returns how many columns of a terminal a text takes: two for wide East Asian characters, none for accents."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
