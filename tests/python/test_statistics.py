import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airwatt.statistics import leaves, mean_ci95, summarize, t_quantile_975


@pytest.mark.parametrize(
    ("degrees", "published"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (9, 2.262),
        (10, 2.228),
        (30, 2.042),
        (100, 1.984),
        (999, 1.962),
    ],
)
def test_student_quantiles_are_those_of_the_tables(degrees, published):
    assert t_quantile_975(degrees) == pytest.approx(published, abs=5e-4)


def test_interval_of_a_known_sample():
    # Mean 3, standard deviation sqrt(2.5), t(4) = 2.776: 2.776 * 1.5811 / sqrt(5).
    mean, ci95 = mean_ci95([1, 2, 3, 4, 5])
    assert mean == 3
    assert ci95 == pytest.approx(1.9632, abs=1e-4)


def test_a_single_run_has_no_interval():
    assert mean_ci95([7.5]) == (7.5, None)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20))
def test_intervals_are_finite_and_hold_for_shifts(values):
    mean, ci95 = mean_ci95(values)
    assert min(values) - 1e-6 <= mean <= max(values) + 1e-6
    assert math.isfinite(ci95)
    assert ci95 >= 0


def test_leaves_name_numbers_by_path_and_skip_what_was_not_measured():
    document = {"schema": 1, "seed": 3, "wall_s": 1.0, "flows": [{"id": "a", "x": 1, "ok": True, "y": None}]}
    assert dict(leaves(document)) == {"flows.0.x": 1.0, "flows.0.y": None}


def test_a_number_that_one_run_lacks_has_no_mean():
    summary = summarize([{"a": 1, "b": None}, {"a": 3, "b": 2}])
    assert summary["a"]["mean"] == 2
    assert summary["b"] == {"mean": None, "ci95": None}


def test_a_number_that_all_runs_lack_is_left_out():
    assert "b" not in summarize([{"b": None}, {"b": None}])
