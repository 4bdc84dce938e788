import pytest

from airwatt import InputError
from airwatt.threshold import Threshold, numbers

VALUES = {
    "stations.0.energy_j": 5.0,
    "stations.1.energy_j": 15.0,
    "flows.0.completed_s": None,
    "a.always-active": 1.0,
}


@pytest.mark.parametrize(
    ("text", "tripped"),
    [
        ("stations.0.energy_j > 4", 1),
        ("stations.0.energy_j > 5", 0),
        ("stations.0.energy_j >= 5", 1),
        ("stations.0.energy_j==5", 1),
        ("stations.0.energy_j != 5", 0),
        ("stations.0.energy_j < 1e1", 1),
        ("stations.*.energy_j > 10", 1),
        ("stations.*.energy_j > 1", 2),
        ("a.always-active<=1.0", 1),
        ("flows.0.completed_s > 1000", 1),  # it never completed
    ],
)
def test_expressions(text, tripped):
    assert len(Threshold.parse(text).trips(VALUES)) == tripped


@pytest.mark.parametrize(
    "text",
    ["", "x", "x >", "> 3", "x > y", "x = 3", "x > 1.2.3", "x > inf", "x > nan", "x > 3 and y > 4", "x > 3J"],
)
def test_what_is_no_comparison_is_refused(text):
    with pytest.raises(InputError, match="allowed is KEY OP NUMBER"):
        Threshold.parse(text)


def test_an_unknown_key_names_those_near_it():
    with pytest.raises(InputError, match=r"no number stations\.0\.energi_j; near it are stations\.0\.energy_j"):
        Threshold.parse("stations.0.energi_j > 1").trips(VALUES)


def test_rows_of_a_comparison_are_held_one_by_one():
    row = {"choice": {"policy": "psm"}, "runs": [], "summary": {"x": {"mean": 2.0, "ci95": None}}}
    assert numbers({"rows": [row]}) == [("psm: ", {"x": 2.0})]
