"""How evenly flows share a bottleneck: three indices, for any list or array of throughputs, and over sliding windows.

>>> from airwatt import fairness
>>> fairness.jain([10, 30, 40])
0.8205128205128205
>>> round(fairness.fair_utilization([1.0] * 10, capacity=30), 2)
0.69

* `jain`: Jain's index. It sees the spread alone.
* `fair_utilization`: Hashimoto 2013, eq. 2.10. It counts the distance from the fair share of a capacity; equal to
  Jain's where the flows fill it.
* `fair_utilization_alpha`: Hashimoto 2010, eq. 6 and 7. The same times the utilization to the power of alpha. Values of
  this one and of the one before are not to be compared with each other.
* `sliding_window`: any of them, averaged over all positions of a window of time: short windows tell of short-term
  fairness, long ones of long-term fairness.

Throughputs and capacity have one unit, whichever. What has no index raises `InputError`: no flow, a negative or
infinite number or one that is none, flows that together exceed the capacity, a window longer than the trace. A flow
that never sends is a throughput of zero. Flows that are all at zero give 1, 1/2 and 0 in the order above.
"""

import math
from collections.abc import Iterable

from airwatt import _core
from airwatt._core import InputError

__all__ = ["fair_utilization", "fair_utilization_alpha", "jain", "sliding_window"]


def jain(throughputs: Iterable[float]) -> float:
    """(sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one flow has everything."""
    return _core.fairness_index(_numbers("throughputs", throughputs))


def fair_utilization(throughputs: Iterable[float], capacity: float) -> float:
    """1 when every flow has its fair share of the capacity, 1/n when one flow has all of it."""
    return _core.fairness_index(_numbers("throughputs", throughputs), _number("capacity", capacity))


def fair_utilization_alpha(throughputs: Iterable[float], capacity: float, alpha: float = 1.0) -> float:
    """`fair_utilization` times (sum x / capacity)^alpha: 0 when nobody sends."""
    return _core.fairness_index(
        _numbers("throughputs", throughputs), _number("capacity", capacity), _number("alpha", alpha)
    )


def sliding_window(
    amounts: Iterable[Iterable[float]],
    bin_s: float,
    window_s: float,
    capacity: float | None = None,
    alpha: float | None = None,
) -> float:
    """The mean of an index over all positions of a window that slides by one bin.

    `amounts` has a row for each flow: what it carried in each bin of `bin_s` seconds, in bits if the capacity is in
    bit/s.
    Without a capacity the index is Jain's, with one `fair_utilization`, with alpha too `fair_utilization_alpha`. In
    single windows flows may exceed the capacity, as what waited behind a gap is delivered at once; over the trace not.
    """
    if alpha is not None and capacity is None:
        raise InputError("alpha: given without a capacity")
    bin_s, window_s = _number("bin_s", bin_s), _number("window_s", window_s)
    if not (bin_s > 0 and 0 < window_s < math.inf and window_s / bin_s < math.inf):
        raise InputError(f"window_s: expected values above zero, got {window_s:g} of bins of {bin_s:g} s")
    window = round(window_s / bin_s)
    if abs(window * bin_s - window_s) > 1e-9 * window_s:
        raise InputError(f"window_s: expected a multiple of bin_s, {bin_s:g}, got {window_s:g}")
    rows = [_numbers(f"amounts[{number}]", row) for number, row in enumerate(amounts)]
    return _core.fairness_sliding(
        rows,
        bin_s,
        window,
        None if capacity is None else _number("capacity", capacity),
        None if alpha is None else _number("alpha", alpha),
    )


def _numbers(name: str, values: Iterable[float]) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: expected a list of numbers, got one without: {error}") from None


def _number(name: str, value: float) -> float:
    return _numbers(name, [value])[0]
