"""Lists and ranges of values as a user writes them: `10ms:300ms:10ms`, `1ms:1s:x10`, `20packets,50packets`.

Arithmetic is decimal and in the unit that was written, so that the values of a range are the texts that a user would
type. Values of a factor are rounded to what the quantity can be (whole nanoseconds, bytes, bits per second and packets;
between whole numbers whole numbers), and equal ones are one. Left out: expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from airwatt._core import InputError, Quantity

MAX_VALUES = 1_000_000
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ%/]*)\s*")
_STEPS = {"s": Decimal("1e-9"), "B": Decimal(1), "b/s": Decimal(1)}
"""The least steps of quantities in SI units."""
_FORM = "FROM:TO:STEP as in 10ms:300ms:10ms, FROM:TO:xFACTOR as in 1ms:1s:x10, or V1,V2,..."


def values_of(key: str, text: str) -> list[str]:
    """Gives the values of a list whose items may be ranges, in order. Raises `InputError`."""
    values: list[str] = []
    for item in text.split(","):
        if not item.strip():
            raise InputError(f"{key}: expected {_FORM}, got an empty value in {text!r}")
        values += _range(key, item) if item.count(":") == 2 and _is_range(item) else [item.strip()]
    repeated = next((value for value in values if values.count(value) > 1), None) if len(values) < 10_000 else None
    if repeated is not None:
        raise InputError(f"{key}: expected each value once, got {repeated} twice")
    return values


def between(key: str, text: str) -> Callable[[float], str]:
    """Reads `FROM:TO` or `FROM:TO:log`; gives the value at a share of it from 0 to 1. Raises `InputError`.

    Between two whole numbers the values are whole too.
    """
    parts = text.split(":")
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2].strip() != "log"):
        raise InputError(f"{key}: expected FROM:TO or FROM:TO:log, got {text!r}")
    (low, low_unit), (high, high_unit) = (_number(key, part, text) for part in parts[:2])
    low = _converted(key, low, low_unit, high_unit, text)
    if low >= high:
        raise InputError(f"{key}: expected FROM below TO, got {text!r}")
    logarithmic = len(parts) == 3
    if logarithmic and low <= 0:
        raise InputError(f"{key}: expected FROM above 0 for a logarithmic range, got {text!r}")
    is_whole = low == low.to_integral_value() and high == high.to_integral_value() and high_unit in ("", "packets")

    def value(share: float) -> str:
        if is_whole:
            # Each whole number has the same share, the last one too.
            return f"{min(int(low) + int(share * (int(high - low) + 1)), int(high))}{high_unit}"
        first, last = float(low), float(high)
        exact = first * (last / first) ** share if logarithmic else first + (last - first) * share
        return _text(Decimal(f"{exact:.6g}"), high_unit)

    return value


def _is_range(item: str) -> bool:
    return _NUMBER.fullmatch(item.split(":")[0]) is not None


def _range(key: str, text: str) -> list[str]:
    first, last, by = text.split(":")
    start, start_unit = _number(key, first, text)
    end, end_unit = _number(key, last, text)
    if by.strip().startswith("x"):
        factor, _ = _number(key, by.strip()[1:], text)
        end = _converted(key, end, end_unit, start_unit, text)
        if factor <= 1 or start <= 0 or end < start:
            raise InputError(f"{key}: expected 0 < FROM <= TO and a factor above 1, got {text!r}")
        _check_count(key, int((end / start).ln() / factor.ln()) + 1)
        is_whole = start == start.to_integral_value() and end == end.to_integral_value()
        step = _resolution(start_unit, is_whole=is_whole)
        values: dict[str, None] = {}
        while start <= end:
            values[_text(start if step is None else (start / step).to_integral_value() * step, start_unit)] = None
            start *= factor
        return list(values)
    step, unit = _number(key, by, text)
    start = _converted(key, start, start_unit, unit, text)
    end = _converted(key, end, end_unit, unit, text)
    if step == 0 or (end - start) / step < 0:
        raise InputError(f"{key}: expected a step that leads from FROM to TO, got {text!r}")
    count = int((end - start) / step) + 1
    _check_count(key, count)
    return [_text(start + index * step, unit) for index in range(count)]


def _check_count(key: str, count: int) -> None:
    if count > MAX_VALUES:
        raise InputError(f"{key}: expected at most {MAX_VALUES} values, got {count}")


def _number(key: str, part: str, text: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(part)
    if match is None:
        raise InputError(f"{key}: expected {_FORM}, got {text!r}")
    try:
        return Decimal(match[1]), match[2]
    except InvalidOperation:
        raise InputError(f"{key}: expected {_FORM}, got {text!r}") from None


def _converted(key: str, number: Decimal, unit: str, to: str, text: str) -> Decimal:
    if unit == to or number == 0 == len(unit):
        return number
    try:
        one, other = Quantity(f"1{unit}"), Quantity(f"1{to}")
    except InputError:
        raise InputError(f"{key}: expected one unit throughout, got {text!r}") from None
    if one.unit != other.unit:
        raise InputError(f"{key}: expected one unit throughout, got {text!r}")
    # The text of a float is the shortest that denotes it: a power of ten stays one.
    return number * Decimal(repr(one.value)) / Decimal(repr(other.value))


def _resolution(unit: str, *, is_whole: bool) -> Decimal | None:
    """The least step of a quantity in a unit; None if there is none."""
    if unit in ("", "packets"):
        return Decimal(1) if is_whole or unit else None
    try:
        one = Quantity(f"1{unit}")
    except InputError:
        return None
    step = _STEPS.get(one.unit)
    return None if step is None else step / Decimal(repr(one.value))


def _text(number: Decimal, unit: str) -> str:
    return f"{number.normalize():f}{unit}"
