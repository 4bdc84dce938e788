"""How numbers look in tables: three or four digits, a unit with its prefix."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from airwatt.layout import Table

if TYPE_CHECKING:
    from airwatt.statistics import Estimate

NOTHING = "-"
_NAME = 24
"""Cells up to this many characters are names, which are never wrapped."""
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, also_left: Sequence[int] = ()
) -> Table:
    """Makes a table: the first `left` columns and `also_left` are aligned to the left. Short names stay whole."""
    cells = [list(row) for row in rows]
    names = range(min(left, len(columns)))
    whole = {index for index in names if max((len(row[index]) for row in cells), default=0) <= _NAME}
    return Table(columns, cells, left={*names, *also_left}, whole=whole)


def quantity(value: float | None, unit: str, ci95: float | None = None, *, short: bool = False) -> str:
    """Writes `14.61 Mb/s`, or `14.6 Mb/s`; with an interval, `± 0.02` below it, in the same unit."""
    if value is None:
        return NOTHING
    factor, prefix = _scale(value)
    if (unit == "s" and factor > 1) or (unit == "b/s" and factor < 1):
        factor, prefix = 1.0, ""  # nobody says kiloseconds, and mb/s would be taken for Mb/s
    number = _digits(value / factor, short=short)
    text = f"{number} {prefix}{unit}".rstrip()
    return text if ci95 is None else f"{text}\n± {_digits(ci95 / factor, like=number)}"


def span(low: float | None, high: float | None, unit: str) -> str:
    """Writes `0.99 to 2.96 J`: both ends in the unit of the larger one, with three digits, since a band is rough."""
    if low is None or high is None:
        return ""
    factor, prefix = _scale(high)
    top = _digits(high / factor, short=True)
    return f"{_digits(low / factor, like=top)} to {top} {prefix}{unit}"


def estimate(numbers: "Estimate", unit: str, *, short: bool = False) -> str:
    """Writes a mean with its interval."""
    return quantity(numbers[0], unit, numbers[1], short=short)


def count(value: float | None, ci95: float | None = None) -> str:
    """Writes a count, with thin groups from 10 000 on; a mean of counts with its interval."""
    if value is None:
        return NOTHING
    if ci95:
        return f"{value:.1f}\n± {ci95:.1f}"
    if value >= 10_000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def percent(share: float | None) -> str:
    """Writes a share from 0 to 1 as `12.3 %`."""
    return NOTHING if share is None else f"{100 * share:z.1f} %"


def _scale(value: float) -> tuple[float, str]:
    size = abs(value)
    if size == 0:
        return 1.0, ""
    # 999.95 would print as 1000: it belongs to the next prefix.
    return next(((f, p) for f, p in PREFIXES if size >= 0.9995 * f), PREFIXES[-1])


def _digits(value: float, like: str | None = None, *, short: bool = False) -> str:
    if like is not None:
        return f"{value:.{len(like.partition('.')[2])}f}"
    size = abs(value)
    if short and size >= 0.9995:
        decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    else:
        decimals = 3 if size < 0.9995 else 2 if size < 100 else 1
    return "0" if value == 0 else f"{value:.{decimals}f}"
