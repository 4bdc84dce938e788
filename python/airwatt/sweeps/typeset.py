"""The points of a store for a publication: a LaTeX table (booktabs, siunitx), and columns for pgfplots.

Both have a row a point: its settings, how many runs it has, and the mean and the half width of the 95 % interval of
energy, goodput and the time until everything was complete. The table has the half width as siunitx is used to, in units
of the last digits of the mean: 0.7312(14). With a column of half widths it is wider than a page of text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from airwatt.statistics import Estimate
from airwatt.sweeps.frames import Store

_UNITS = {"J": r"\joule", "b/s": r"\bit\per\second", "s": r"\second"}
_PREFIXES = {9: r"\giga", 6: r"\mega", 3: r"\kilo", 0: "", -3: r"\milli", -6: r"\micro"}
_SPECIAL = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"
}  # fmt: skip


class _Points(NamedTuple):
    keys: list[str]
    rows: list[tuple[dict[str, Any], int, list[Estimate]]]
    names: dict[str, tuple[str, str]]
    """Head and unit of each number."""


def points(store: Store) -> tuple[str, str]:
    """The LaTeX table and the columns of a store. Raises `InputError`."""
    goodput, head = store.goodput()
    names = {"energy_j": ("energy", "J"), goodput: (head, "b/s"), "completed_s": ("done at", "s")}
    rows = store.summary(list(names))
    found = _Points(list(rows[0][0]) if rows else [], rows, names)
    return _latex(found), _columns(found)


def _latex(found: _Points) -> str:
    names = list(found.names.values())
    shown = [index for index in range(len(names)) if any(row[2][index].mean is not None for row in found.rows)]
    powers = [_power([row[2][index] for row in found.rows]) for index in shown]
    above = [*map(_escaped, found.keys), "runs", *(f"{{{names[index][0]}}}" for index in shown)]
    units = [
        f"\\unit{{{_PREFIXES[power]}{_UNITS[names[index][1]]}}}" for index, power in zip(shown, powers, strict=True)
    ]
    columns = "".join(
        _column([row[2][index] for row in found.rows], power) for index, power in zip(shown, powers, strict=True)
    )
    lines = [
        "% Means, and half widths of their 95 % intervals in units of the last digits. Needs booktabs, siunitx",
        "% (version 3) and graphicx: what is wider than its place is scaled to it.",
        r"\noindent\sbox0{\small\setlength{\tabcolsep}{4pt}\sisetup{per-mode=symbol, uncertainty-mode=compact}%",
        f"\\begin{{tabular}}{{{'l' * len(found.keys)}r{columns}}}",
        r"\toprule",
        " & ".join(above) + r" \\",
        " & ".join([*[""] * (len(found.keys) + 1), *(f"{{({unit})}}" for unit in units)]).lstrip() + r" \\",
        r"\midrule",
    ]
    for settings, runs, numbers in found.rows:
        cells = [*(_cell(settings[key]) for key in found.keys), str(runs)]
        cells += [_number(numbers[index], power) for index, power in zip(shown, powers, strict=True)]
        lines.append(" & ".join(cells) + r" \\")
    end = r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}%", end, ""])


def _column(numbers: Sequence[Estimate], power: int) -> str:
    """A column that is as wide as its numbers: siunitx has to be told how many digits they have."""
    parts = [_number(number, power).split(" +- ") for number in numbers if number.mean is not None]
    halves = [_significant(part[1]) for part in parts if len(part) > 1]
    half = f"({max(map(len, halves))})" if halves else ""
    return f"S[table-format={_digits(part[0] for part in parts)}{half}]"


def _significant(number: str) -> str:
    """The digits of a half width without leading zeros, which stand in brackets behind the mean."""
    return number.replace(".", "").lstrip("0") or "0"


def _digits(numbers: Iterable[str]) -> str:
    """The most digits before and after the decimal point, as siunitx has them: 2.4."""
    split = [number.lstrip("-").partition(".") for number in numbers]
    return f"{max(len(whole) for whole, _, _ in split)}.{max(len(rest) for _, _, rest in split)}"


def _power(numbers: Sequence[Estimate]) -> int:
    """The power of ten of the prefix that the largest mean has."""
    largest = max((abs(number.mean) for number in numbers if number.mean), default=1.0)
    return min(9, max(-6, 3 * math.floor(math.log10(largest) / 3)))


def _number(number: Estimate, power: int) -> str:
    """A mean with its interval, both to the second digit of the interval; a single run to four digits."""
    if number.mean is None:
        return "{--}"
    mean = number.mean / 10**power
    half = None if number.ci95 is None else number.ci95 / 10**power
    if half:
        digits = max(0, 1 - math.floor(math.log10(half)))
        return f"{mean:.{digits}f} +- {half:.{digits}f}"
    digits = 3 if mean == 0 else max(0, 3 - math.floor(math.log10(abs(mean))))
    return f"{mean:.{digits}f}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return (
        f"\\num{{{_plain(value)}}}"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else _escaped(str(value))
    )


def _plain(value: float) -> str:
    """A setting without the last digits of its conversion from a unit."""
    return f"{value:.12g}"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def _columns(found: _Points) -> str:
    heads = [*found.keys, "runs", *(head for name in found.names for head in (name, f"{name}_ci95"))]
    lines = [" ".join(heads)]
    for settings, runs, numbers in found.rows:
        cells = [_word(settings[key]) for key in found.keys]
        lines.append(" ".join([*cells, str(runs), *_values(numbers)]))
    return "\n".join([*lines, ""])


def _values(numbers: Sequence[Estimate]) -> Iterator[str]:
    for number in numbers:
        for value in number:
            yield "nan" if value is None else repr(value)


def _word(value: Any) -> str:
    """A setting as one word; a missing one is empty in braces, as pgfplotstable reads it."""
    text = "" if value is None else _plain(value) if isinstance(value, float) else str(value)
    return f"{{{text}}}" if not text or any(letter.isspace() for letter in text) else text
