"""Fairness of any array: both published tables of indices, limits, and a clear error for input without an index."""

import numpy as np
import pytest

from airwatt import InputError, fairness
from airwatt.reproductions.hashimoto_2010 import indices


@pytest.mark.parametrize("case", indices.PHD_CASES, ids=lambda case: case.name)
def test_the_table_of_2013(case):
    assert fairness.jain(case.flows) == pytest.approx(case.jain, abs=0.00501)
    assert fairness.fair_utilization(case.flows, 30) == pytest.approx(case.index, abs=0.00501)


@pytest.mark.parametrize("case", indices.MASTER_CASES, ids=lambda case: case.name)
def test_the_table_of_2010(case):
    assert fairness.jain(case.flows) == pytest.approx(case.jain, abs=0.00501)
    assert fairness.fair_utilization_alpha(case.flows, 30) == pytest.approx(case.index, abs=0.00501)


def test_any_array_will_do():
    assert fairness.jain(np.full(7, 2.5)) == 1.0
    assert fairness.jain(x for x in (1, 0, 0, 0)) == 0.25
    assert fairness.fair_utilization(np.zeros(4), 1) == 0.5
    assert fairness.fair_utilization_alpha([0, 0], 1) == 0.0
    assert fairness.jain([0, 0]) == 1.0


def test_windows():
    turns = np.array([[8.0, 0.0] * 10, [0.0, 8.0] * 10])
    assert fairness.sliding_window(turns, 0.1, 0.1) == pytest.approx(0.5)
    assert fairness.sliding_window(turns, 0.1, 0.2) == pytest.approx(1.0)
    assert fairness.sliding_window(turns, 0.1, 0.2, capacity=80) == pytest.approx(1.0)
    assert fairness.sliding_window(turns, 0.1, 2.0, capacity=160, alpha=1) == pytest.approx(0.8 * 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fairness.jain([]), "throughputs: expected one or more, got none"),
        (lambda: fairness.jain([1, -2]), r"throughputs\[1\]: expected .* got -2"),
        (lambda: fairness.jain([float("nan")]), r"throughputs\[0\]: expected .* got NaN"),
        (lambda: fairness.jain(["much"]), "expected a list of numbers"),
        (lambda: fairness.jain(3), "expected a list of numbers"),
        (
            lambda: fairness.fair_utilization([1, 2.5], 3),
            "capacity: expected the sum of the throughputs, 3.5, or more, got 3",
        ),
        (lambda: fairness.fair_utilization([1], 0), "capacity: expected .* got 0"),
        (lambda: fairness.fair_utilization_alpha([1], 1, -1), "alpha: expected .* got -1"),
        (lambda: fairness.sliding_window([], 0.1, 0.1), "got none"),
        (lambda: fairness.sliding_window([[1, 1]], 0.1, 0.3), "window: expected 1 to 2 bins, .* got 3"),
        (lambda: fairness.sliding_window([[1, 1]], 0.1, 0.15), "multiple of bin_s"),
        (lambda: fairness.sliding_window([[1, 1]], 0.0, 0.1), "above zero"),
        (lambda: fairness.sliding_window([[1, 1], [1]], 0.1, 0.1), r"amounts\[1\]: expected 2 bins, .* got 1"),
        (lambda: fairness.sliding_window([[1, 1]], 1, 1, capacity=0.5), "capacity: expected .* got 0.5"),
        (lambda: fairness.sliding_window([[1, 1]], 1, 1, alpha=1), "alpha: given without a capacity"),
    ],
)
def test_what_has_no_index_says_why(call, message):
    with pytest.raises(InputError, match=message):
        call()
